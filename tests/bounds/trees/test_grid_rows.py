"""Bounds through grid rows: above the truth, near it where the grid is fine, and certified."""

import json

import brute_force
import numpy as np
import pytest
from cases import random_channel
from verdicts import holds

import dalenius as dl
from dalenius.bounds.trees.grid_rows import GridSearch, finest
from dalenius.reductions.grid_rows import most_rows
from dalenius.settings import Limits, only

# Every problem counts as one of very many cells.
GRID = dl.Settings(limits=Limits(many_cells=1), portfolio=only("grid"))


@pytest.mark.parametrize(("records", "outputs", "seed"), [([2, 2], 2, 1), ([2, 2, 2], 3, 2), ([2, 3], 2, 3)])
def test_a_grid_bound_is_above_brute_force_near_it_and_verifies(records: list[int], outputs: int, seed: int) -> None:
    mechanism = random_channel(records, outputs, seed)
    audit = dl.audit(mechanism, knowledge=0.4, tolerance=5e-3, time_limit=20, settings=GRID, verify=False)
    truth = brute_force.attained(mechanism.matrix(), mechanism.records, mechanism.log_universe - 0.4, starts=4)
    assert audit.upper >= truth - 1e-9
    assert audit.upper <= truth + 1e-2
    assert {proof["steps"][0]["step"] for proof in audit.certificate.data["proofs"]} == {"grid"}
    holds(audit, mechanism)


def test_the_row_bound_on_grid_rows_closes_votes_and_verifies() -> None:
    # Three candidates and six voters: the rows' own trees prove what the best prior leaks, but for what the grid adds.
    query = dl.queries.histogram(n=6, k=3)
    weights = np.exp(np.asarray(query.answers, dtype=float) / 2)
    mechanism = dl.Mechanism.from_rows(query, weights / weights.sum(axis=1, keepdims=True))
    settings = dl.Settings(limits=Limits(many_cells=1), portfolio=only("grid", "rows"))
    audit = dl.audit(mechanism, knowledge=0.3, relative=0.05, time_limit=20, settings=settings, verify=False)
    assert audit.upper - audit.lower <= 0.05 * audit.upper
    assert [(proof["steps"][0]["step"], proof["kind"]) for proof in audit.certificate.data["proofs"]] == [
        ("grid", "rows")
    ]
    assert dl.verify(audit, mechanism).verified
    spoilt = json.loads(audit.certificate.text())
    spoilt["proofs"][0]["upper"] = spoilt["upper"] = (audit.lower + audit.upper) / 2
    assert "exceeds" in dl.verify(spoilt).reason


def test_very_many_cells_without_a_grid_are_closed_by_their_own_rows() -> None:
    # Rows of a named mechanism are not given as numbers, and have no grid.
    mechanism = dl.mechanisms.noisy_max(dl.queries.histogram(n=6, k=4), epsilon=0.5)
    settings = dl.Settings(limits=Limits(many_cells=1))
    audit = dl.audit(mechanism, knowledge=0.5, relative=0.05, nodes=20_000, settings=settings)
    assert audit.stopped == "gap"
    assert "grid" not in audit.tried
    assert "rows" in audit.tried
    assert audit.verified


def test_rows_on_the_grid_lose_nothing() -> None:
    rows = np.random.default_rng(5).multinomial(8, np.full(3, 1 / 3), size=4) / 8
    mechanism = dl.Mechanism.from_matrix(rows, [2, 2])
    # The first grid is in eighths, and no finer one is needed.
    settings = GRID.having(GridSearch(first_rows=most_rows(3, 8)))
    audit = dl.audit(mechanism, knowledge=0.3, tolerance=2e-3, time_limit=20, settings=settings, verify=False)
    assert audit.stopped == "gap"
    assert {proof["steps"][0]["k"] for proof in audit.certificate.data["proofs"]} == {8}
    assert dl.verify(audit, mechanism).verified


def test_the_finest_grid_is_the_last_that_fits() -> None:
    for outputs, many in ((2, 40), (3, 500), (4, 500), (8, 500)):
        k = finest(outputs, many)
        assert most_rows(outputs, k) <= many < most_rows(outputs, k + 1)
    assert finest(1000, 500) == 0


def test_later_records_begin_from_the_tree_of_the_first() -> None:
    mechanism = random_channel([2] * 6, 3, 4)
    options = {"knowledge": 0.4, "relative": 0.1, "time_limit": 60, "settings": GRID, "verify": False}
    whole = dl.audit(mechanism, **options)
    alone = [dl.audit(mechanism, secret=record, **options) for record in range(6)]
    assert whole.stopped == "gap"
    assert whole.nodes < 0.7 * sum(one.nodes for one in alone)
    # A bound that another record's cuts led to is one about this record all the same.
    assert max(one.lower for one in alone) - 1e-9 <= whole.upper
    assert dl.verify(whole, mechanism).verified
