"""Releases that are never written out x questions: each answer meets that of the same release with its rows.

And the prior of each is one on datasets, within the knowledge, that leaks through the whole release what it is said to.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from large_samples import HISTOGRAMS, PAIRS, both, both_histograms, both_local
from refusals import refuses
from verdicts import holds

import dalenius as dl
from dalenius.bounds.counted import CountedSearch
from dalenius.model.counted import CountedPrior
from dalenius.numerics.information import mutual_information
from dalenius.settings import without

LOCAL = [
    ("randomized_response(epsilon=1)", "histogram(n=3, k=3)"),
    ("unary_encoding(epsilon=2)", "histogram(n=3, k=2)"),
]
# Audits that end by themselves: windows are for rows that matter among very many.
SUMS = dl.Settings(portfolio=without("window"))
ONE_COUNT = dl.Settings(parts=(CountedSearch(few=0, outputs=0),))
MAKERS: dict[str, tuple[Callable[..., tuple[dl.Mechanism, dl.Mechanism]], Any, dl.Settings | None]] = {
    **{f"{call[0]} of {call[1]}": (both, call, SUMS) for call in PAIRS},
    **{f"{call[0]} of {call[1]}": (both_histograms, call, None) for call in HISTOGRAMS},
    **{f"{call[0]} of {call[1]}, by one count": (both_histograms, call, ONE_COUNT) for call in HISTOGRAMS[:3]},
    **{f"{call[0]} of {call[1]}": (both_local, call, None) for call in LOCAL},
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "nothing": {"knowledge": 0.0},
    "next to nothing": {"knowledge": 1e-11},
    "some": {"knowledge": 0.3},
    "much": {"knowledge": 1.0},
    "beyond a law": {"knowledge": 0.3, "reference": True},
    "of two records": {"knowledge": 0.3, "secret": [0, 1], "reference": True},
    "independent": {"adversary": "independent"},
    "independent, a law": {"adversary": "independent", "reference": True},
    "independent, knowing": {"adversary": "independent", "knowledge": 0.2, "reference": True},
}


@cache
def made(name: str) -> tuple[dl.Mechanism, dl.Mechanism]:
    make, call, _ = MAKERS[name]
    return make(*call)


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_it_is_answered_as_with_its_rows(name: str, question: str) -> None:
    (large, dense), settings, asked = made(name), MAKERS[name][2], dict(QUESTIONS[question])
    k, secret = large.records[0], asked.get("secret", [0])
    if len(secret) > large.n or (len(secret) > 1 and large.as_counts is not None):
        return  # groups of a histogram need its rows
    if "reference" in asked:
        asked["reference"] = (np.arange(1, k + 1) / np.arange(1, k + 1).sum()).tolist()
    if "adversary" in asked and name.endswith("pairs(n=7)"):
        refuses("is none of these", dl.audit, large, **asked)
        return
    mine = dl.audit(large, **asked, tolerance=1e-3, relative=0.3, settings=settings, verify=False)
    exact = dl.audit(dense, **asked, tolerance=1e-2, time_limit=0.1, verify=False)
    assert mine.lower <= exact.upper + 1e-9
    assert exact.lower <= mine.upper + 1e-9
    holds(mine)
    alone = question == "independent" and large.as_counts is not None  # it takes all counts to see as much
    if not alone:
        assert mine.lower <= mine.prior.leakage() + 1e-9
    if "knowledge" in asked:
        assert mine.prior.divergence() <= asked["knowledge"] + 1e-9
    weights = mine.prior.weights()
    assert weights.sum() == pytest.approx(1)
    values = k ** len(secret)
    joint = np.zeros((values, weights.size))
    joint[np.arange(weights.size) // (weights.size // values), np.arange(weights.size)] = weights
    assert mine.lower - 1e-9 <= float(mutual_information(joint @ dense.matrix())) <= mine.upper + 1e-9


@pytest.mark.parametrize("call", HISTOGRAMS)
def test_without_a_limit_a_histogram_is_not_overstated(call: tuple[str, str]) -> None:
    large, dense = both_histograms(*call)
    audit = dl.audit(large, knowledge=0.1, relative=0.3)
    assert isinstance(audit.prior, CountedPrior)  # a table of few people
    low, high = audit.extremes.unconstrained
    exact = dl.audit(dense, entropy=0, tolerance=1e-2, time_limit=0.1)
    assert low <= exact.upper + 1e-12
    assert exact.lower <= high + 1e-12
