"""Proofs about grid rows: mixtures without rounding, and a spoilt proof is refused with the place."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from cases import random_channel
from damage import golden
from kinds import Json
from posterior_trees import packed
from verdicts import accepted

import dalenius as dl
from dalenius.reductions.cells import Cells
from dalenius.reductions.grid_rows import SharedGrids
from dalenius.reductions.lump import Merged, lump
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.forms.written import Asked, rebuild
from dalenius.verifier.kernel.balls import float_below, precision
from dalenius.verifier.kernel.cells import Falling, Knowledge, Question
from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.steps.grid import corners, step
from dalenius.verifier.verify import verify_here


def certificate() -> Json:
    return golden("grid")


@pytest.mark.parametrize("outputs", [1, 2, 4])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_corners_are_laws_whose_mixture_is_the_row(outputs: int, k: int) -> None:
    rng = np.random.default_rng(outputs)
    tenths = rng.multinomial(10, np.full(outputs, 1 / outputs), size=10) / 10
    for row in np.vstack([rng.dirichlet(np.ones(outputs), size=10), tenths, np.eye(outputs)]).tolist():
        found = list(corners(row, k))
        total = sum(map(Fraction, row))
        assert all(min(law) >= 0 and sum(law) == k for law, _ in found)
        # Weights are rounded up, by no more than two steps.
        for y, q in enumerate(row):
            mixed = sum(Fraction(weight) * law[y] for law, weight in found) / k
            assert Fraction(q) / total <= mixed <= Fraction(q) / total + Fraction(1, 2**50)


def test_masses_are_those_of_the_solver_rounded_up() -> None:
    mechanism = random_channel([2, 2], 3, 7)
    merged = Merged.of(mechanism)
    lumped, _ = lump(mechanism, 0, merged)
    small = Cells(SharedGrids.of(mechanism, merged).at(merged.channel, 6).reduced(lumped), 0.3)
    with precision():
        channel = rebuild(mechanism.describe())
        asked = Asked(channel, Secret((0,)), Knowledge(None, none=False, free=False))
        found = step(asked.question, {"k": 6})
        # Grid rows are not those of the noise that the channel is named after.
        named = replace(channel, falling=Falling())
        assert step(replace(asked, channel=named).question, {"k": 6}).channel.falling is None
        masses = sorted(float(mass) for cell in found.cells for mass in cell.values())
        assert [len(cell) for cell in found.cells] == np.bincount(small.secret).tolist()
    np.testing.assert_allclose(masses, np.sort(small.rho), rtol=1e-12)


def test_masses_are_no_less_than_the_exact_sums_with_and_without_numpy() -> None:
    mechanism = random_channel([2] * 8, 3, 1)
    with precision():
        channel = rebuild(mechanism.describe())
        asked = Asked(channel, Secret((0,)), Knowledge(None, none=False, free=False)).question
        found = {leaves: masses_of(asked, 4, leaves) for leaves in (0, 2**40)}
    assert found[0] == found[2**40]
    assert channel.given is not None
    for a, cell in enumerate(found[0]):
        exact: dict[tuple[Fraction, ...], Fraction] = {}
        for t, rho in asked.cells[a].items():
            row = channel.given[3 * t : 3 * t + 3].tolist()
            for law, weight in corners(row, 4):
                key = tuple(Fraction(x, 4) for x in law)
                exact[key] = exact.get(key, Fraction(0)) + Fraction(float(rho)) * Fraction(weight)
        assert sorted(exact) == sorted(cell)
        assert all(exact[key] <= mass <= exact[key] * (1 + Fraction(1, 2**40)) for key, mass in cell.items())


def masses_of(asked: Question, k: int, leaves: int) -> list[dict[tuple[Fraction, ...], Fraction]]:
    """Masses by grid row; with NumPy where `leaves` is 0, and without where it is very many."""
    with sized(numpy_leaves=leaves):
        found = step(asked, {"k": k})
    rows = [tuple(Fraction(round(float(k * q)), k) for q in row) for row in found.channel.rows]
    return [{rows[j]: Fraction(float_below(mass)) for j, mass in cell.items()} for cell in found.cells]


def spoilt(change: Callable[[Json], None]) -> str:
    data = copy.deepcopy(certificate())
    change(data["proofs"][0])
    answer = verify_here(data)
    assert not answer.verified
    return answer.reason


def test_the_certificate_verifies() -> None:
    assert {step["step"] for proof in certificate()["proofs"] for step in proof["steps"]} == {"grid"}
    assert verify_here(certificate()).verified


def inside(**fields: Json) -> Callable[[Json], None]:
    return lambda proof: proof.update(fields)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda proof: proof["steps"][0].update(k=0), "k of the grid must be a whole number from 1"),
        (lambda proof: proof["steps"][0].update(k=2.0), "k of the grid must be a whole number from 1"),
        (lambda proof: proof["steps"][0].update(k=10**9), "k of the grid must be a whole number from 1"),
        (lambda proof: proof["steps"][0].pop("k"), "lacks 'k'"),
        (lambda proof: proof.update(steps={}), "the steps must be a list"),
        (lambda proof: proof.update(steps=[[]]), "a step must be an object"),
        (lambda proof: proof["steps"][0].pop("step"), "a step lacks 'step'"),
        (lambda proof: proof["steps"][0].update(step="points"), "none of grid, window, order"),
        (lambda proof: proof["steps"][0].update(step=["grid"]), "none of grid, window, order"),
        # Twice: grid rows have no numbers that were given.
        (lambda proof: proof.update(steps=proof["steps"] * 2), "rows are given as numbers"),
        (inside(kind="simplices"), "eta must be a list"),
        (inside(kind="grid"), "its kind is none of"),
        (inside(kind=["posteriors"]), "its kind is none of"),
        # Masses of grid rows are not those of the reference.
        (inside(kind="reference"), "for masses that are the reference"),
        (inside(tree="eJwDAAAAAAE="), "the tree ends before its last number"),
        (inside(groups=[0, 1, 1], eta=1.0, tangents=[[[0.0] * 3] * 2]), "the tree"),
        (lambda proof: proof.update(upper=0.5 * proof["upper"]), "exceeds claimed"),
        # A coarser grid leaks more.
        (lambda proof: proof["steps"][0].update(k=1), "exceeds claimed"),
    ],
)
def test_a_spoilt_proof_is_refused_with_the_place(change: Callable[[Json], None], said: str) -> None:
    reason = spoilt(change)
    assert said in reason
    assert "record 0" in reason


def test_groups_of_outputs_have_no_polynomial() -> None:
    data = certificate()
    leaf = {"scale": packed(b"\0"), "sigma": packed(bytes(4)), "m": packed(b"\0\0"), "bytes": 1}
    for proof in data["proofs"]:
        grouped = {"groups": [0, 1, 1], "eta": 1.0, "tangents": [[[0.0] * 3] * 2], "tree": packed(b"\2")}
        proof.update(grouped, leaves=leaf)
        proof["upper"] = data["upper"] = 1.5
    assert verify_here(data).verified


def test_rows_by_a_formula_have_no_grid() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1)
    data = json.loads(dl.audit(mechanism, knowledge=0.3, tolerance=1e-2, verify=False).certificate.text())
    data["proofs"] = [{**golden("grid")["proofs"][0], "upper": data["upper"]}]
    assert "rows are given as numbers" in verify_here(data).reason


def test_groups_of_outputs_on_grid_rows_have_tangents() -> None:
    data = certificate()
    [proof, *_] = data["proofs"]
    outputs = len(proof["groups"])
    proof |= {
        "kind": "posteriors",
        "groups": [0] * outputs,
        "eta": 1.0,
        "tangents": [[[0.0] * outputs] * 2],
        "ratios": False,
        "tree": packed(bytes([1])),
        "leaves": {"scale": packed(bytes(1)), "sigma": packed(bytes(4)), "m": packed(bytes(1)), "bytes": 1},
    }
    proof["upper"] = data["upper"] = 9.0
    accepted(data)
