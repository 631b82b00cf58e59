"""Releases whose second mechanism is chosen after a look at the first output."""

from pathlib import Path

import brute_force
import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.model.channels.joint import Adaptive
from dalenius.verifier.verify import verify_here

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
    large = dl.mechanisms.gaussian(dl.queries.count(n=200), sigma=1)
    refuses(r"201 rows x 40401 outputs, above the limit of 4194304 entries", dl.adaptive, large, lambda _: large)
    huge = dl.mechanisms.geometric(dl.queries.count(n=2**18), epsilon=1)
    refuses("choose would be called for 262145 outputs", dl.adaptive, huge, lambda _: huge)
    real = dl.mechanisms.gaussian(COUNT, sigma=1, output="real")
    with pytest.raises(dl.InputError):
        dl.adaptive(FIRST, lambda _: real)


def chosen(noise: str, *epsilons: float, outputs: int = 2) -> Adaptive:
    """A count of three people, then noise of one rate after the first few outputs and of another after the others."""
    family = getattr(dl.mechanisms, noise)
    runs = [(outputs, family(COUNT, epsilon=epsilons[0])), (4 - outputs, family(COUNT, epsilon=epsilons[1]))]
    found = Adaptive.choosing(FIRST, runs)
    assert found is not None
    return found


@pytest.mark.parametrize("noise", ["geometric", "laplace"])
def test_the_highest_and_the_lowest_rate_hold_what_the_rule_leaks(noise: str) -> None:
    release = chosen(noise, 0.4, 0.7)
    found = dl.audit(release, knowledge=0.5, time_limit=60, verify=False)
    first, second = release.choices
    written = dl.adaptive(FIRST, lambda y: first[1] if y < 2 else second[1])
    exact = dl.audit(written, knowledge=0.5, tolerance=1e-4)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.gap < 0.6 * found.upper
    assert verify_here(found.certificate.data).verified
    assert release.dp_epsilon() == pytest.approx(1.2)
    assert release.describe()["then"] == [[2, f"{noise}(epsilon=0.4)"], [2, f"{noise}(epsilon=0.7)"]]
    assert release.name == f"adaptive(geometric(epsilon=0.5), then {noise}(epsilon=0.4) or {noise}(epsilon=0.7))"


def test_a_release_too_large_for_a_table_goes_by_its_structure(tmp_path: Path) -> None:
    people = dl.queries.count(n=300)
    weak, strong = (dl.mechanisms.geometric(people, epsilon=e) for e in (0.2, 0.25))
    release = dl.adaptive(weak, lambda y: strong if y < 150 else weak)
    assert isinstance(release, Adaptive)
    assert [many for many, _ in release.choices] == [150, 151]
    audit = dl.audit(release, knowledge=0.3, relative=0.2, time_limit=300, verify=False)
    assert verify_here(audit.certificate.data).verified
    assert audit.lower > 0.75 * audit.upper
    audit.save(tmp_path / "audit.json")
    assert dl.load(tmp_path / "audit.json", verify=True).verified
    release.save(tmp_path / "release.json")
    again = dl.Mechanism.load(tmp_path / "release.json")
    assert again.describe() == release.describe()
    # After a first output below 150 the second has less noise.
    drawn = release.sample([0] * 150 + [1] * 150, size=4000, rng=3)
    after = [drawn[drawn[:, 0] < 150, 1], drawn[drawn[:, 0] >= 150, 1]]
    assert after[0].std() == pytest.approx(5.64, rel=0.1)
    assert after[1].std() == pytest.approx(7.05, rel=0.1)
    assert release.sample([0] * 150 + [1] * 150, size=2, secure=True).shape == (2, 2)
    book = dl.Ledger(people, knowledge=0.3, tolerance=0.1)
    assert book.release(release).bound == "audit"


def test_choices_of_one_name_about_two_queries_are_two_choices() -> None:
    """Noise of one scale on the count tells much less than the same on seven times the count."""
    people, seven = dl.queries.count(n=400), dl.queries.total(n=400, values=[0, 7])
    first, same, more = (dl.mechanisms.geometric(query, scale=20) for query in (people, people, seven))
    assert isinstance(dl.adaptive(first, lambda _: same), Adaptive)
    refuses("above the limit", dl.adaptive, first, lambda y: same if y < 5 else more)


def test_other_choices_have_no_structure() -> None:
    normal = dl.mechanisms.gaussian(COUNT, sigma=1)
    wide = dl.mechanisms.geometric(COUNT, epsilon=0.5, clamp=False)
    assert Adaptive.choosing(FIRST, [(2, SECOND), (2, normal)]) is None
    assert Adaptive.choosing(FIRST, [(2, SECOND), (2, PARITY)]) is None
    assert Adaptive.choosing(FIRST, [(3, SECOND)]) is None
    assert Adaptive.choosing(wide, [(4, SECOND)]) is None
