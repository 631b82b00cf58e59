"""Designs on fewer outputs: which are kept, and that a design that stays open tries them."""

from dataclasses import replace

import numpy as np
import pytest
from design_problems import problem_of

import dalenius as dl
from dalenius.designing.designer import DesignSearch
from dalenius.designing.problem import Fewer, Problem
from dalenius.settings import DEFAULT


def count(n: int, budget: float) -> Problem:
    return problem_of(dl.queries.count(n=n), 0.5, "leakage", budget)


def test_the_outputs_used_most_are_kept_with_their_mirror_images() -> None:
    problem = count(6, 1.0)
    rows = problem.domain.averaged(np.random.default_rng(0).dirichlet([0.1, 3, 1, 2, 0.2, 0.3, 0.1], size=7))
    use = problem.domain.weights @ rows
    fewer = Fewer.of(problem, rows, 4)
    assert fewer is not None
    kept = fewer.kept.tolist()
    assert sorted(6 - y for y in kept) == kept
    assert len(kept) in (3, 4)
    assert use[kept].min() > max(use[y] for y in (set(range(7)) - set(kept)) - {3})
    narrow = fewer.problem.domain
    assert np.array_equal(narrow.distance, problem.domain.distance[:, kept])
    # Pairs are tied as they were.
    before, after = problem.domain.orbit[:, kept].ravel(), narrow.orbit.ravel()
    assert np.array_equal(before[:, None] == before, after[:, None] == after)
    wide = fewer.widened(np.full((7, len(kept)), 1 / len(kept)))
    assert np.array_equal(np.flatnonzero(wide.sum(axis=0)), kept)
    assert np.allclose(wide.sum(axis=1), 1)


def test_none_where_nothing_is_left_out_or_the_budget_needs_all() -> None:
    rows = np.full((4, 4), 0.25)
    assert Fewer.of(count(3, 1.0), rows, 4) is None
    assert Fewer.of(count(3, 0.2), rows, 2) is None
    assert Fewer.of(count(3, 1.0), rows, 1) is None


@pytest.mark.slow
def test_an_open_design_tries_them_and_keeps_its_budget() -> None:
    """Without trees, so that the audit of all outputs stays open."""
    closed_forms = dl.Settings(
        portfolio=replace(DEFAULT.portfolio, opening=("choices",), general=(), few=()),
        parts=(DesignSearch(fewer_outputs=(3,)),),
    )
    asked = {"distortion": 0.5, "entropy": 2.0, "tolerance": 1e-2, "time_limit": 30, "settings": closed_forms}
    design = dl.design(dl.queries.count(n=4), **asked)
    assert design.distortion <= 0.5
    used = np.flatnonzero(design.mechanism.rows.sum(axis=0))
    assert used.tolist() == [1, 2, 3]
    whole = dl.design(
        dl.queries.count(n=4),
        **{**asked, "settings": closed_forms.having(DesignSearch(fewer_outputs=(5,)))},
    )
    assert design.upper < whole.upper
    assert design.lower <= whole.upper
    assert design.verify().verified
