"""Windows of rows and outputs: beside the whole channel, and forged proofs."""

import copy
import json

import numpy as np
import pytest
from flint import arb
from fuzz.pool import WINDOW
from large_samples import feasible

import dalenius as dl
from dalenius.bounds.trees.window import Window
from dalenius.numerics.information import kl, mutual_information
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Merged, lump
from dalenius.verifier.forms.asked import Asked
from dalenius.verifier.forms.secret import Group
from dalenius.verifier.forms.written import rebuild
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.steps.window import inside
from dalenius.verifier.verify import verify_here


@pytest.fixture(scope="module")
def mechanism() -> dl.Mechanism:
    return dl.mechanisms.geometric(dl.queries.count(n=20), epsilon=1)


def cells_of(mechanism: dl.Mechanism) -> Cells:
    lumped, _ = lump(mechanism, 0, Merged.of(mechanism))
    return Cells(lumped, 0.5, WINDOW)


def joint(cells: Cells, pi: np.ndarray) -> np.ndarray:
    z = np.zeros((cells.n_secrets, cells.n_outputs))
    np.add.at(z, cells.secret, pi[:, None] * cells.q)
    return z


def test_no_prior_tells_more_by_the_whole_channel_and_none_is_farther_from_the_reference(
    mechanism: dl.Mechanism,
) -> None:
    cells = cells_of(mechanism)
    window = Window.around(cells)
    assert 0 < window.rows[0] < window.rows[1] < 20
    small = Cells(window.reduced(cells.lumped), 0.5, WINDOW)
    assert small.q.sum(axis=1) == pytest.approx(1)
    assert small.rho.sum() == pytest.approx(1)
    rng = np.random.default_rng(3)
    for knowledge in (0.01, 0.3, 2.0, 8.0):
        pi = feasible(cells.rho[None], knowledge, rng)[0]
        there = window.there(cells.lumped, pi)
        assert kl(there, small.rho) <= kl(pi, cells.rho) + 1e-12
        assert mutual_information(joint(cells, pi)) <= mutual_information(joint(small, there)) + 1e-12


def test_the_verifier_makes_the_same_window(mechanism: dl.Mechanism) -> None:
    cells = cells_of(mechanism)
    window = Window.around(cells)
    small = Cells(window.reduced(cells.lumped), 0.5, WINDOW)
    asked = Asked(rebuild(dict(mechanism.describe())), Group((0,)), Knowledge(arb(0.5), none=False, free=False))
    (first, last), (low, high) = window.rows, window.outputs
    found = inside(asked.question, range(first, last + 1), range(low, high + 1))
    assert np.array([[float(x) for x in row] for row in found.channel.rows]) == pytest.approx(small.q, abs=1e-12)
    assert [float(x) for cell in found.cells for x in cell.values()] == pytest.approx(small.rho, abs=1e-12)


@pytest.fixture(scope="module")
def sound(mechanism: dl.Mechanism) -> dict:
    audit = dl.audit(mechanism, knowledge=0.7, tolerance=0.008, settings=WINDOW)
    assert audit.upper_by == "window"
    assert dl.verify(audit)
    return json.loads(audit.certificate.text())


def step(proof: dict) -> dict:
    return proof["steps"][0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: p.update(upper=p["upper"] - 1e-4), "exceeds claimed"),
        (lambda p: step(p).update(rows=[step(p)["rows"][0] + 1, step(p)["rows"][1]]), ""),
        (lambda p: step(p).update(rows=step(p)["rows"][::-1]), "end before"),
        (lambda p: step(p).update(rows=[0, 21]), "'rows'"),
        (lambda p: step(p).update(rows=[3]), "'rows'"),
        (lambda p: step(p).update(outputs=[y + 1 for y in step(p)["outputs"]]), ""),
        (lambda p: step(p).update(outputs=[step(p)["outputs"][0], step(p)["outputs"][1] + 1]), "groups"),
        (lambda p: step(p).update(outputs=[-1, 5]), "'outputs'"),
        (lambda p: p.update(kind="convex"), "lacks 's'"),
        (lambda p: p.update(kind="window"), "its kind is none of"),
        (lambda p: p.update(tree=p["tree"][:-8]), ""),
        (lambda p: p.pop("steps"), ""),
        # The values of the secret are outputs now, and the window is another one.
        (lambda p: p.update(steps=p["steps"] * 2), ""),
    ],
)
def test_a_forged_proof_is_refused(sound: dict, change: object, reason: str) -> None:
    data = copy.deepcopy(sound)
    change(data["proofs"][0])
    verdict = verify_here(data)
    assert not verdict
    assert reason in verdict.reason
