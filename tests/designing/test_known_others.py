"""Designs against independent records: closed, verified, below everything that random mechanisms reach."""

import math

import numpy as np
import pytest
from cases import parity_leakage
from refusals import refuses

import dalenius as dl
from dalenius.designing.known_others import KnownOthersSearch
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM

SMALL = [
    (dl.queries.count(n=3), {"leakage": 0.05}),
    (dl.queries.count(n=3), {"distortion": 0.5}),
    (dl.queries.histogram(n=2, k=3), {"leakage": 0.1}),
    (dl.queries.total(n=2, values=[0, 1, 3]), {"leakage": 0.1}),
    (dl.queries.function([2, 3], min), {"distortion": 0.1}),
    (dl.queries.identity(k=3), {"leakage": 0.2}),
]


@pytest.mark.parametrize(("query", "budget"), SMALL, ids=str)
def test_brackets_close_and_no_random_mechanism_is_better(query: Query, budget: dict[str, float]) -> None:
    design = dl.design(query, adversary="independent", **budget, tolerance=1e-5, verify=True)
    assert design.stopped == "gap"
    assert design.verified
    rng, width = np.random.default_rng(0), len(query.outputs)
    task = design.mechanism.statistic
    for k in range(20):
        rows = rng.dirichlet(np.full(width, 0.3 + k / 10), size=task.size)
        mechanism = type(design.mechanism)(task, (rows + design.mechanism.rows) / 2, design.mechanism.labels, query)
        audit = dl.audit(mechanism, adversary="independent")
        share = min(1.0, design.leakage.upper / audit.upper) if "leakage" in budget else 1.0
        mixed = share * mechanism.rows + (1 - share) * np.eye(width)[rng.integers(width)]
        weights = np.exp(UNIFORM.log_classes(task))
        distance = expected_distance(query, design)
        distortion = float((weights[:, None] * distance * mixed).sum())
        if "leakage" in budget:
            assert distortion >= design.lower - 1e-9
        elif distortion <= budget["distortion"]:
            assert audit.upper >= design.lower - 1e-9


def expected_distance(query: Query, design: dl.Design) -> np.ndarray:
    """d(c, y) on the classes of the design."""
    table = query.distance()
    if len(table) == design.mechanism.statistic.size:
        return table
    classes, own = query.statistic.class_table(), design.mechanism.statistic.class_table()
    result = np.empty((design.mechanism.statistic.size, table.shape[1]))
    result[own] = table[classes]
    return result


def test_parity_is_the_symmetric_channel() -> None:
    design = dl.design(dl.queries.modular_sum(n=4, modulus=2), distortion=0.1, adversary="independent")
    assert design.lower - 1e-9 <= parity_leakage(4, 0.1, 0.0) <= design.upper + 1e-9
    assert design.gap < 1e-4


def test_the_more_an_adversary_may_believe_the_dearer() -> None:
    query = dl.queries.count(n=3)
    free = dl.design(query, leakage=0.05, entropy=0.0, tolerance=1e-3, time_limit=20)
    alone = dl.design(query, leakage=0.05, adversary="independent")
    assert alone.lower <= free.upper + 1e-9


def test_windows_lose_next_to_nothing() -> None:
    query = dl.queries.count(n=60)
    narrow = dl.Settings(parts=(KnownOthersSearch(all_outputs=0, clamped=1e-5),))
    windows = dl.design(query, leakage=0.05, adversary="independent", settings=narrow, verify=True)
    whole = dl.design(
        query, leakage=0.05, adversary="independent", settings=dl.Settings(parts=(KnownOthersSearch(clamped=0.0),))
    )
    assert windows.verified
    assert windows.lower <= whole.upper
    assert whole.lower <= windows.upper <= whole.upper + 1e-3
    assert windows.gap < 1e-3


def test_mechanisms_that_see_the_answer_alone_have_an_honest_bracket() -> None:
    coarse = dl.Settings(parts=(KnownOthersSearch(by_answer=0),))
    query = dl.queries.total(n=3, values=[0, 1, 2])
    seen = dl.design(query, leakage=0.1, adversary="independent", settings=coarse, verify=True)
    whole = dl.design(query, leakage=0.1, adversary="independent")
    assert seen.verified
    assert seen.lower <= whole.upper
    assert whole.lower <= seen.upper
    few = dl.Settings(parts=(KnownOthersSearch(terms=10),))
    with pytest.raises(dl.InputError, match="terms, above the limit of 10; use fewer records"):
        dl.design(query, leakage=0.1, adversary="independent", settings=few)


def test_the_unit_of_distortion_does_not_matter() -> None:
    query, table = dl.queries.count(n=2), np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    one = dl.design(query, leakage=0.1, adversary="independent", tolerance=1e-6)
    for scale in (1e-6, 1e6):
        other = dl.design(query, leakage=0.1, adversary="independent", measure=scale * table, tolerance=1e-6 * scale)
        assert other.lower == pytest.approx(scale * one.lower, rel=1e-5)
        assert other.gap <= 1e-5 * other.upper


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"leakage": 0.1, "knowledge": 0.5}, "takes neither knowledge= nor reference="),
        ({"leakage": 0.1, "reference": [0.4, 0.6]}, "takes neither knowledge= nor reference="),
        ({"leakage": 0.0}, "only constant answers leak nothing"),
        ({"leakage": 0.1, "entropy": 1.0}, "entropy"),
        ({"distortion": 0.1, "outputs": [0, 2]}, "is below"),
    ],
)
def test_what_is_refused(options: dict[str, object], words: str) -> None:
    refuses(words, dl.design, dl.queries.count(n=2), adversary="independent", **options)


def test_frontiers_calibrations_and_ledgers_have_the_same_adversary() -> None:
    query = dl.queries.count(n=3)
    frontier = dl.frontier(query, adversary="independent", points=3, time_limit=20)
    assert max(design.gap for design in frontier.designs) < 1e-4
    assert all(frontier.excess(point)[1] >= 0 for point in frontier.named)
    found = dl.calibrate("geometric", query, leakage=0.05, adversary="independent")
    assert found.leakage.upper <= 0.05
    book = dl.Ledger(query, adversary="independent", budget=0.05)
    assert book.design(query).distortion <= frontier.designs[-1].distortion
    assert math.isnan(frontier.designs[0].knowledge)
