"""The row bound: what it bounds, where it is tight, and what the verifier makes of it."""

import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from posterior_trees import packed, unpacked
from verdicts import refused

import dalenius as dl
from dalenius.bounds.trees.rows import Row, Rows, RowSearch
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import ascend, random_priors
from dalenius.search.deadline import Deadline
from dalenius.settings import without
from dalenius.verifier.kernel import doubles
from dalenius.verifier.verify import verify_here


def count_cells(n: int, epsilon: float, knowledge: float) -> Cells:
    return Cells(lump(dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=epsilon), 0)[0], knowledge)


def grown(cells: Cells, tolerance: float = 1e-4) -> tuple[Rows, float]:
    found = ascend(cells, Deadline(10), np.random.default_rng(0))
    rows = Rows.at(cells, found.pi, found.s, tolerance, np.random.default_rng(0))
    for _ in rows.grow(Deadline(60)):
        pass
    return rows, found.value


@pytest.mark.parametrize(("n", "epsilon", "knowledge"), [(4, 1.0, 0.5), (5, 0.5, 0.3), (6, 0.3, 0.1)])
def test_where_rows_are_globally_best_the_prior_is(n: int, epsilon: float, knowledge: float) -> None:
    rows, value = grown(count_cells(n, epsilon, knowledge))
    assert rows.goal == pytest.approx(value, abs=1e-8)
    assert value - 1e-9 <= rows.upper <= value + 1.1e-4


@pytest.mark.parametrize("seed", range(5))
def test_no_prior_leaks_more_than_the_bound_at_any_r_and_s(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mechanism = dl.Mechanism.from_matrix(rng.dirichlet(np.full(3, 0.5), size=8), [2, 2, 2])
    cells = Cells(lump(mechanism, 0)[0], 0.4)
    best = ascend(cells, Deadline(5), rng).value
    for pi, s in zip(random_priors(cells, 3, rng), (0.1, 0.3, 0.9), strict=True):
        rows = Rows.at(cells, pi, s, 1e-3, rng)
        assert rows.upper == np.inf
        for _ in itertools.islice(rows.grow(Deadline(3)), 40):
            assert rows.upper >= best - 1e-9
        assert rows.upper >= rows.goal - 1e-9


def test_a_climb_never_falls_and_the_bracket_bounds_every_conditional() -> None:
    rng = np.random.default_rng(3)
    cells = count_cells(6, 1.0, 0.5)
    found = ascend(cells, Deadline(5), rng)
    rows = Rows.at(cells, found.pi, found.s, 1e-4, rng)
    part = cells.slices[0]
    row = Row(rows.trees[0].problem.cells, rows.log_r, found.s)
    w = rng.dirichlet(np.ones(part.stop - part.start), size=50)
    assert (row.values(row.climb(w, 20)) >= row.values(w) - 1e-9).all()
    for _ in itertools.islice(rows.grow(Deadline(20)), 20):
        pass
    assert row.values(w).max() <= rows.trees[0].upper + 1e-9


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=5), epsilon=0.5)
    settings = dl.Settings(portfolio=without("monotone", "posteriors"), parts=(RowSearch(values=2),))
    audit = dl.audit(mechanism, knowledge=0.3, tolerance=1e-4, settings=settings)
    assert audit.upper_by == "rows"
    data: dict[str, Any] = audit.certificate.data
    return data


def one_leaf() -> dict[str, Any]:
    """A tree that is one leaf, without multipliers."""
    return {"tree": packed(bytes([6])), "leaves": {"scale": packed(bytes(1)), "m": packed(bytes(6)), "bytes": 1}}


def repacked(text: str, change: Callable[[bytes], bytes]) -> str:
    return packed(change(unpacked(text)))


def test_in_balls_as_in_doubles(certificate: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert verify_here(certificate)
    monkeypatch.setattr(doubles, "numpy", lambda *_: None)
    assert verify_here(certificate)


def test_the_certificate_verifies_and_claims_no_less(certificate: dict[str, Any]) -> None:
    assert dl.verify(certificate)
    less = copy.deepcopy(certificate)
    less["upper"] = less["proofs"][0]["upper"] = certificate["lower"] + 1e-6
    assert not dl.verify(less)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p.update(s=-0.1), "s = -0.1 is not between"),
        (lambda p: p.update(s=1e30), "s = 1e+30 is not between"),
        (lambda p: p.update(s=p["s"] / 2), "exceeds claimed"),
        (lambda p: p["rows"].pop(), "rows"),
        (lambda p: p["rows"][0].update(tree=repacked(p["rows"][0]["tree"], lambda codes: codes[:-1])), "ends before"),
        (lambda p: p["rows"][1].update(tree=repacked(p["rows"][1]["tree"], lambda codes: codes + b"0")), "goes on"),
        (lambda p: p["rows"][0].update(one_leaf()), "exceeds claimed"),
        (lambda p: p.update(rho=[0.0, 0.0, 0.0, 0.0, 0.0, -9.0]), "exceeds claimed"),
    ],
)
def test_a_tampered_certificate_is_refused(certificate: dict[str, Any], change: Any, words: str) -> None:
    forged = copy.deepcopy(certificate)
    change(forged["proofs"][0])
    refused(forged, words)
