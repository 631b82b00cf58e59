"""Divergences, capacity and the bound on information by convolution, beside the same from dense rows."""

import math

import numpy as np
import pytest
from large_samples import PAIRS, both
from scipy.special import rel_entr

from dalenius.bounds.capacity import capacity
from dalenius.bounds.output_law import Rows, capacity_by_convolution, knowledge_bound
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.reference import UNIFORM
from dalenius.search.deadline import Deadline

MORE = [
    *PAIRS,
    ("geometric(epsilon=1)", "count(n=200)"),
    ("gaussian(sigma=20)", "count(n=60)"),
    ("gaussian(sigma=0.1)", "total(n=9, values=[0, 10, 50])"),
    ("geometric(epsilon=1)", "count(n=1)"),
    ("geometric(epsilon=1)", "total(n=4, values=[3])"),
]


@pytest.mark.parametrize(("mechanism", "query"), MORE)
def test_divergences_of_all_rows(mechanism: str, query: str) -> None:
    large, dense = both(mechanism, query)
    rows = Rows.of(large)
    law = np.random.default_rng(0).dirichlet(np.ones(len(large.labels)))
    assert rows.divergence(np.log(law)) == pytest.approx(rel_entr(dense.rows, law).sum(axis=1), abs=1e-13)
    prior = np.random.default_rng(1).dirichlet(np.ones(large.answers.size))
    assert rows.outputs(prior) == pytest.approx(prior @ dense.rows, abs=1e-15)


@pytest.mark.parametrize(("mechanism", "query"), MORE)
def test_the_capacity_is_inside_its_bracket(mechanism: str, query: str) -> None:
    large, dense = both(mechanism, query)
    truth = capacity(dense)
    found = capacity_by_convolution(large, Deadline(20.0), 2e-3)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.gap <= 2.1e-3
    assert found.lower == pytest.approx(_information(dense.rows, found.prior), abs=1e-7)


@pytest.mark.parametrize(("mechanism", "query"), MORE)
@pytest.mark.parametrize("knowledge", [0.0, 0.2, 1.5, 50.0])
def test_no_prior_of_that_knowledge_tells_more(mechanism: str, query: str, knowledge: float) -> None:
    large, dense = both(mechanism, query)
    bound = knowledge_bound(large, knowledge, Deadline(20.0))
    rho = np.exp(UNIFORM.log_classes(large.statistic))
    rng = np.random.default_rng(2)
    for _ in range(40):
        prior = rng.dirichlet(np.full(rho.size, 0.3))
        low, high = 0.0, 1.0  # as much of it as the knowledge allows, by bisection
        for _ in range(40):
            middle = (low + high) / 2
            spent = rel_entr(middle * prior + (1 - middle) * rho, rho).sum()
            low, high = (middle, high) if spent <= knowledge else (low, middle)
        assert _information(dense.rows, low * prior + (1 - low) * rho) <= bound
    if knowledge == 0:
        assert bound == pytest.approx(_information(dense.rows, rho), abs=1e-5)
    assert bound <= large.log_most_likely() + 1e-6


def test_a_hundred_thousand_records() -> None:
    large = mechanisms.geometric(queries.count(n=10**5), epsilon=1)
    assert isinstance(large, NoisySum)
    found = capacity_by_convolution(large, Deadline(60.0), 0.02)
    noise = 2 * (math.exp(-1) / (1 - math.exp(-2))) - math.log((1 - math.exp(-1)) / (1 + math.exp(-1)))  # its entropy
    assert found.lower > math.log(10**5) - noise - 1e-3  # a uniform answer, and noise that the ends hardly touch
    assert found.gap <= 0.021
    sum_entropy = 0.5 * math.log(math.pi * math.e / 2 * 10**5)
    assert knowledge_bound(large, 0.0, Deadline(0.0)) == pytest.approx(sum_entropy - noise, abs=1e-3)


def _information(rows: np.ndarray, prior: np.ndarray) -> float:
    return float(prior @ rel_entr(rows, np.maximum(prior @ rows, 1e-300)).sum(axis=1))
