"""Lower limits of a probability from counts."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from dalenius.numerics.binomial import log_tail, lower_limits


@pytest.mark.parametrize("draws", [1, 10, 1000, 10**5, 10**7])
@pytest.mark.parametrize("error", [1e-2, 1e-4, 1e-9])
def test_limits_are_those_of_clopper_and_pearson_but_for_little(draws: int, error: float) -> None:
    counts = np.unique(np.geomspace(1, draws, 12).astype(int))
    found = lower_limits(np.array(draws), counts, error)
    # Not scipy.special.betaincinv: of SciPy 1.11 it returns .9375 where 1e-9^(1/draws) is the limit, near 1.
    exact = beta.ppf(error, counts, draws - counts + 1)
    assert (found <= exact).all()
    # The distance from the observed share grows by little.
    assert (counts / draws - found <= 1.03 * (counts / draws - exact) + 1e-9).all()
    assert (binom.sf(counts - 1, draws, found) <= error).all()


def test_what_was_never_seen_has_no_limit_above_zero() -> None:
    assert lower_limits(np.array([[10], [20]]), np.array([[0, 10], [0, 3]]), 0.01)[:, 0].tolist() == [0, 0]


def test_the_tail_is_never_below_the_truth() -> None:
    rng = np.random.default_rng(0)
    n = rng.integers(1, 10**6, 500)
    c = np.ceil(n * rng.random(500)).clip(1, n)
    p = c / n * rng.random(500) ** 0.1
    assert (log_tail(n.astype(float), c, p) >= binom.logsf(c - 1, n, p) - 1e-6 * np.abs(binom.logsf(c - 1, n, p))).all()
