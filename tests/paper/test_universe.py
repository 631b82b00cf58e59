import numpy as np
import pytest

from dalenius.paper.universe import FLOOR, Universe, entropy, floored

RECORDS = (2, 3, 2)


@pytest.mark.parametrize("i", range(3))
def test_seen_from_a_record_and_back(i: int) -> None:
    universe = Universe(RECORDS)
    rng = np.random.default_rng(i)
    p, q = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(4), size=12)
    marginal, conditionals = universe.split(p, i)
    np.testing.assert_allclose(conditionals.sum(axis=1), 1)
    np.testing.assert_allclose(universe.join(marginal, conditionals, i), p)
    np.testing.assert_array_equal(universe.back(universe.of(q, i), i), q)
    x = np.stack(np.unravel_index(np.arange(12), RECORDS))
    np.testing.assert_allclose(marginal, np.bincount(x[i], weights=p))


def test_a_value_that_never_occurs_has_uniform_conditionals() -> None:
    p = np.array([0.5, 0.5, 0.0, 0.0])
    marginal, conditionals = Universe((2, 2)).split(p, 0)
    assert marginal.tolist() == [1, 0]
    assert conditionals[1].tolist() == [0.5, 0.5]


def test_floors_and_entropies() -> None:
    assert entropy(np.array([1.0, 0.0])) == 0
    assert entropy(np.full(8, 1 / 8)) == pytest.approx(np.log(8))
    p = floored(np.array([1.0, 0.0, 0.0]))
    assert p.min() >= FLOOR / 2
    assert p.sum() == pytest.approx(1, abs=1e-15)
