"""Windows of rows and outputs: beside the whole channel, and forged proofs."""

import copy
import json

import numpy as np
import pytest
from flint import arb
from fuzz.pool import WINDOW
from large_samples import feasible
from verdicts import refused

import dalenius as dl
from dalenius.bounds.trees.window import Window
from dalenius.model.reference import UNIFORM
from dalenius.numerics.information import kl, mutual_information
from dalenius.reductions.cells import Cells
from dalenius.verifier.forms import sums
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.forms.written import Asked, rebuild
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.steps.window import step as window_step


@pytest.fixture(scope="module")
def mechanism() -> dl.Mechanism:
    return dl.mechanisms.geometric(dl.queries.count(n=20), epsilon=1)


@pytest.fixture(scope="module")
def log_joint(mechanism: dl.Mechanism) -> np.ndarray:
    return UNIFORM.log_joint(mechanism.statistic, 0)


@pytest.fixture(scope="module")
def window(mechanism: dl.Mechanism, log_joint: np.ndarray) -> Window:
    return Window.around(mechanism.as_sum, log_joint, 2.2, 0.04)


@pytest.fixture(scope="module")
def small(mechanism: dl.Mechanism, log_joint: np.ndarray, window: Window) -> Cells:
    return Cells(window.cells(mechanism.as_sum, log_joint), 0.5, WINDOW)


def joint(cells: Cells, pi: np.ndarray) -> np.ndarray:
    z = np.zeros((cells.n_secrets, cells.n_outputs))
    np.add.at(z, cells.secret, pi[:, None] * cells.q)
    return z


def test_no_prior_tells_more_by_the_whole_channel_and_none_is_farther_from_the_reference(
    mechanism: dl.Mechanism, log_joint: np.ndarray, window: Window, small: Cells
) -> None:
    assert 0 < window.rows[0] < window.rows[1] < 20
    assert small.q.sum(axis=1) == pytest.approx(1)
    assert small.rho.sum() == pytest.approx(1)
    reference, rng = np.exp(log_joint), np.random.default_rng(3)
    for knowledge in (0.01, 0.3, 2.0, 8.0):
        masses = feasible(reference.reshape(1, -1), knowledge, rng)[0].reshape(reference.shape)
        there = window.there(log_joint, masses)
        assert kl(there, small.rho) <= kl(masses.ravel(), reference.ravel()) + 1e-12
        told = mutual_information(mechanism.joint(masses))
        assert told <= mutual_information(joint(small, there)) + 1e-12
        assert window.there(log_joint, window.back(log_joint, there)) == pytest.approx(there)


@pytest.mark.parametrize("large", [False, True], ids=["rows", "sum"])
def test_the_verifier_makes_the_same_window(mechanism: dl.Mechanism, window: Window, small: Cells, large: bool) -> None:
    knowledge = Knowledge(arb(0.5), none=False, free=False)
    step = {"rows": list(window.rows), "outputs": list(window.outputs)}
    described = dict(mechanism.describe())
    if large:
        found = sums.in_window(sums.ask(sums.rebuild(described), Secret((0,)), sums.UNIFORM), knowledge, step)
    else:
        found = window_step(Asked(rebuild(described), Secret((0,)), knowledge).question, step)
    assert np.array([[float(x) for x in row] for row in found.channel.rows]) == pytest.approx(small.q, abs=1e-12)
    assert [float(x) for cell in found.cells for x in cell.values()] == pytest.approx(small.rho, abs=1e-12)


def test_what_lies_beyond_a_window_is_never_rounded_to_nothing() -> None:
    # A tree was refused whose boxes were not those of the verifier: for it odds bounded by e^-40 are not free.
    mechanism = dl.mechanisms.laplace(dl.queries.count(n=200), epsilon=1)
    log_joint = UNIFORM.log_joint(mechanism.statistic, 0)
    window = Window.around(mechanism.as_sum, log_joint, 4.2, 1e-4)
    told = window.cells(mechanism.as_sum, log_joint).channel[:, -2:]
    step = {"rows": list(window.rows), "outputs": list(window.outputs)}
    asked = sums.ask(sums.rebuild(dict(mechanism.describe())), Secret((0,)), sums.UNIFORM)
    rows = sums.in_window(asked, Knowledge(arb(0.5), none=False, free=False), step).channel.rows
    assert np.array([[float(x) for x in row[-2:]] for row in rows]) == pytest.approx(told, rel=1e-12, abs=0)
    assert (told.sum(axis=1) > 0).all()
    assert told.min(where=told > 0, initial=1) < 1e-17


def test_small_masses_of_a_window_keep_their_digits() -> None:
    """Laws within groups of outputs that are far from the answer could not be told from anything else."""
    described = dict(dl.mechanisms.laplace(dl.queries.count(n=500), epsilon=1).describe())
    asked = sums.ask(sums.rebuild(described), Secret((0,)), sums.UNIFORM)
    step = {"rows": [100, 400], "outputs": [90, 410]}
    rows = sums.in_window(asked, Knowledge(arb(0.5), none=False, free=False), step).channel.rows
    assert float(rows[0][320]) == pytest.approx(np.exp(-310) * np.sinh(0.5), rel=1e-12)
    assert min(x.rel_accuracy_bits() for x in rows[0][:-2]) > 45


def test_a_window_may_reach_the_ends_of_the_outputs() -> None:
    """There what is beyond the range is put on its last output."""
    described = dict(dl.mechanisms.laplace(dl.queries.count(n=3), epsilon=1).describe())
    asked = sums.ask(sums.rebuild(described), Secret((0,)), sums.UNIFORM)
    knowledge = Knowledge(arb(0.5), none=False, free=False)
    for first, last in ((0, 3), (0, 2), (1, 3)):
        found = sums.in_window(asked, knowledge, {"rows": [0, 3], "outputs": [first, last]}).channel.rows
        whole = dl.mechanisms.laplace(dl.queries.count(n=3), epsilon=1).rows
        for row, expected in zip(found[:3], whole, strict=False):
            assert [float(x) for x in row[:-2]] == pytest.approx(expected[first : last + 1], abs=1e-14)
            assert float(sum(row, arb(0))) == pytest.approx(1)


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
        (lambda p: p.update(kind="window"), "a sum takes the step 'window'"),
        (lambda p: p.update(tree=p["tree"][:-8]), ""),
        (lambda p: p.pop("steps"), ""),
        (lambda p: p.update(steps=p["steps"] * 2), "where 1 are needed"),
        (lambda p: step(p).update(step="grid"), "a sum takes the step 'window'"),
        (lambda p: p.update(kind=["convex"]), "a sum takes the step 'window'"),
    ],
)
def test_a_forged_proof_is_refused(sound: dict, change: object, reason: str) -> None:
    data = copy.deepcopy(sound)
    change(data["proofs"][0])
    refused(data, reason)
