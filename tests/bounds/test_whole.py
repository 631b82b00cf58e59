"""Bounds of many outputs: true, as good as Newton's method finds them, and certified."""

import numpy as np
import pytest
from cases import cells_of, named
from verdicts import holds

import dalenius as dl
from dalenius.bounds import capacity, output_law
from dalenius.bounds.capacity import InteriorPoint, bracket, interior_point
from dalenius.bounds.convex import LEAST_S, Dual, SharedBounds
from dalenius.bounds.trees.choices import ChoiceSearch
from dalenius.search.deadline import Deadline
from dalenius.settings import Portfolio

FEW_ROWS = InteriorPoint(all_rows=10, first_rows=5)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_the_capacity_by_few_rows_is_that_of_all(epsilon: float) -> None:
    rows = np.ascontiguousarray(named("count(n=80)", f"geometric(epsilon={epsilon})").rows)
    all_rows = interior_point(rows, 1e-10, Deadline(60.0))
    few = bracket(rows, 1e-9, Deadline(60.0), method=FEW_ROWS)
    assert few.upper - few.lower <= 1e-8
    assert few.lower <= all_rows.upper + 1e-12
    assert few.upper >= all_rows.lower - 1e-12


@pytest.mark.parametrize("knowledge", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("mechanism", ["geometric(epsilon=0.02)", "exponential(epsilon=0.2)"])
def test_the_constrained_capacity_is_what_newtons_method_finds(mechanism: str, knowledge: float) -> None:
    cells = cells_of(named("count(n=40)", mechanism), knowledge)
    _, bound = output_law.constrained(cells, Deadline(60.0))
    bounds = SharedBounds().bounds(cells)
    best = bounds.value(bounds.search(Dual.of_prior(cells, cells.rho, LEAST_S, 0.0), Deadline(60.0)))
    assert bound >= best - 1e-5 * best
    assert bound <= 1.02 * best


@pytest.mark.slow
# Noise that forgets the answer hardly contracts in a way that these bounds see.
@pytest.mark.parametrize(
    ("mechanism", "factor"),
    [("geometric(epsilon=0.02)", 2), ("exponential(epsilon=0.2)", 2), ("symmetric(flip=0.97)", 8)],
)
@pytest.mark.parametrize("knowledge", [0.1, 30.0])
def test_channels_of_many_outputs_have_certified_bounds(mechanism: str, factor: float, knowledge: float) -> None:
    given = named("count(n=40)", mechanism)
    best = dl.audit(given, knowledge=knowledge, time_limit=3, tolerance=1e-4)
    settings = dl.Settings(portfolio=Portfolio(most_outputs=20), parts=(ChoiceSearch(most=20),))
    audit = dl.audit(given, knowledge=knowledge, tolerance=1e-4, settings=settings)
    assert audit.upper >= best.lower
    assert audit.upper <= factor * best.upper
    assert audit.upper <= capacity.capacity(given).upper + 1e-9
    holds(audit, given)
