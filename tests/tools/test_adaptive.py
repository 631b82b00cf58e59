"""Releases whose second mechanism is chosen after a look at the first output."""

import brute_force
import numpy as np
import pytest
from refusals import refuses

import dalenius as dl

COUNT = dl.queries.count(n=3)
FIRST = dl.mechanisms.geometric(COUNT, epsilon=0.5)
PARITY = dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=2), flip=0.3)
SECOND = dl.mechanisms.geometric(COUNT, epsilon=1.0)


@pytest.mark.parametrize("second", [SECOND, PARITY], ids=["same statistic", "another statistic"])
def test_a_constant_choice_is_composition(second: dl.Mechanism) -> None:
    chosen, composed = dl.adaptive(FIRST, lambda _: second), dl.compose(FIRST, second)
    assert chosen.labels == composed.labels
    assert np.array_equal(chosen.matrix(), composed.matrix())
    assert chosen.describe() == composed.describe()


def test_rows_are_products_and_alphabets_may_differ() -> None:
    def choose(y: int) -> dl.Mechanism:
        return SECOND if y == 0 else PARITY

    mechanism = dl.adaptive(FIRST, choose)
    assert mechanism.labels == (*((0, z) for z in range(4)), *((y, z) for y in (1, 2, 3) for z in (0, 1)))
    parts = [FIRST.matrix()[:, [y]] * choose(y).matrix() for y in range(4)]
    assert np.allclose(mechanism.matrix(), np.concatenate(parts, axis=1), rtol=1e-14, atol=0)
    audit = dl.audit(mechanism, knowledge=0.5, tolerance=1e-3)
    assert dl.verify(audit).verified
    assert dl.audit(FIRST, knowledge=0.5, tolerance=1e-4).lower <= audit.upper
    reached = brute_force.attained(mechanism.matrix(), (2, 2, 2), 3 * np.log(2) - 0.5, starts=2)
    assert audit.lower - 1e-3 <= reached <= audit.upper + 1e-9
    assert mechanism.sample([0, 1, 1], size=3, rng=1).shape == (3,)
    book = dl.Ledger(COUNT, knowledge=0.5, tolerance=1e-2)
    assert book.release(mechanism).releases == 1


def test_choices_about_single_records() -> None:
    table = dl.Mechanism.from_matrix(np.random.default_rng(1).dirichlet(np.ones(3), 8), records=[2, 2, 2])
    mechanism = dl.adaptive(PARITY, lambda y: table if y else FIRST)
    parts = [PARITY.matrix()[:, [0]] * FIRST.matrix(), PARITY.matrix()[:, [1]] * table.matrix()]
    assert np.allclose(mechanism.matrix(), np.concatenate(parts, axis=1), rtol=1e-14, atol=0)


def test_bad_input() -> None:
    other = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1)
    with pytest.raises(dl.InputError, match=r"choose\(0\) is a str; it must return a Mechanism over the same records"):
        dl.adaptive(FIRST, lambda _: "parity")  # type: ignore[arg-type, return-value]
    with pytest.raises(dl.InputError, match=r"choose\(2\) is over 2 records of 2 values, the first mechanism over 3"):
        dl.adaptive(FIRST, lambda y: other if y == 2 else FIRST)
    refuses("must be a function", dl.adaptive, FIRST, SECOND)
    refuses("mechanism 0 is a str", dl.adaptive, "count", lambda _: FIRST)
    large = dl.mechanisms.geometric(dl.queries.count(n=200), epsilon=1)
    refuses(r"201 rows x 40401 outputs, above the limit of 4194304 entries", dl.adaptive, large, lambda _: large)
    real = dl.mechanisms.laplace(COUNT, epsilon=1, output="real")
    with pytest.raises(dl.InputError):
        dl.adaptive(FIRST, lambda _: real)
