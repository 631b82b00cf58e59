"""Mixtures keep their budget by the certificates of their parts, without a second audit."""

from fractions import Fraction

import numpy as np
import pytest

import dalenius as dl
from dalenius.api.designs import reduced
from dalenius.designing.cutting_planes import CuttingPlanes
from dalenius.designing.mixture import SHARES, largest_share
from dalenius.designing.problem import Fewer, best
from dalenius.model.distortion import Distortion
from dalenius.model.problem import Adversary, DesignProblem
from dalenius.search.deadline import Deadline
from dalenius.settings import Effort
from dalenius.verifier.verify import verify_here


def test_an_open_audit_costs_distortion_and_nothing_else() -> None:
    # The audit ends at once, far above the budget: a share of the mechanism is released, the rest is a constant.
    tight = dl.design(dl.queries.count(n=3), leakage=0.05, knowledge=0.2, tolerance=1e-3, time_limit=20, verify=False)
    loose = dl.design(dl.queries.count(n=3), leakage=0.05, knowledge=0.2, tolerance=0.3, time_limit=20, verify=False)
    for design in (tight, loose):
        proof = design.certificate.data["audit"]["proofs"][0]
        assert proof["kind"] == "mixture"
        assert sum(Fraction(part["share"]) for part in proof["parts"]) == 1
        assert design.leakage.upper <= 0.05
        assert verify_here(design.certificate).verified
    assert tight.lower <= loose.upper
    assert tight.upper <= loose.upper + 1e-9
    audit = dl.audit(loose.mechanism, knowledge=0.2, time_limit=10, tolerance=1e-4)
    assert audit.lower <= loose.leakage.upper


def test_a_design_after_a_release_mixes_joint_releases() -> None:
    book = dl.Ledger(dl.queries.count(n=2), knowledge=0.5, budget=0.15, tolerance=1e-3)
    book.release(dl.Mechanism.from_matrix([[0.5, 0.5], [0.7, 0.3], [0.4, 0.6], [0.6, 0.4]], records=[2, 2]))
    design = book.design(
        dl.queries.count(n=2), tolerance=0.2, time_limit=5, settings=dl.Settings(effort=Effort(design_tries=1))
    )
    kinds = {proof["kind"] for proof in design.certificate.data["audit"]["proofs"]}
    assert kinds == {"mixture"}
    assert design.leakage.upper <= 0.15
    assert verify_here(design.certificate).verified


@pytest.mark.parametrize(
    ("leakage", "constant", "budget", "share"), [(0.1, 0.0, 0.2, 1.0), (0.2, 0.1, 0.15, 0.5), (0.2, 0.1, 0.1, 0.0)]
)
def test_shares_are_rounded_down(leakage: float, constant: float, budget: float, share: float) -> None:
    found = largest_share(leakage, constant, budget)
    assert share - 2 / SHARES <= found <= share
    assert (found * SHARES).is_integer()


def test_evidence_on_a_window_loses_what_clamping_costs() -> None:
    query = dl.queries.count(n=8)
    task = Distortion.from_user(query)
    asked = DesignProblem(task, Adversary.from_user(query.records, knowledge=0.3), "distortion", 0.05)
    _, whole = reduced(asked, certified=True)
    fewer = Fewer.of(whole, whole.truthful(), 5)
    assert fewer is not None
    assert fewer.kept.tolist() == [2, 3, 4, 5, 6]
    planes = CuttingPlanes(fewer.problem, np.random.default_rng(0))
    planes.begin(Deadline(5.0))
    planes.run(lambda _: 1e-3, Deadline(2.0), lambda _: None)
    wide = best(whole, fewer.widened_evidence(planes.lower))
    lost = whole.domain.weights @ np.abs(np.arange(9) - np.clip(np.arange(9), 2, 6))
    assert planes.lower.value - lost - 1e-9 <= wide.value <= planes.lower.value + 1e-9
