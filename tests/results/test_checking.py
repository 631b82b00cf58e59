"""Whether certificates are checked, when, and what results then say."""

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.certificates import certificate as certificates
from dalenius.certificates.certificate import Certificate
from dalenius.results import answers
from dalenius.results.audit import Audit
from dalenius.verifier.verify import Verification

UNCHECKED = "certificate attached, not yet checked"


def parity(flip: float = 0.3) -> dl.Mechanism:
    return dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=flip)


def spoilt(result: Audit) -> Audit:
    """The same result with a certificate that claims a little too much."""
    data = result.certificate.data
    witness = {**data["witness"], "masses": (0.5 * np.asarray(data["witness"]["masses"]) + 1 / 8).tolist()}
    return replace(result, certificate=Certificate({**data, "witness": witness}))


def test_a_quick_certificate_is_checked_and_the_words_say_so() -> None:
    audit = dl.audit(parity(), entropy=2.2)
    assert audit.verified is True
    assert audit.to_dict()["verified"] is True
    assert "; verified\n" in audit.summary()
    assert UNCHECKED not in audit.summary()


def test_what_was_not_checked_is_not_called_checked_and_can_be_checked_later() -> None:
    audit = dl.audit(parity(), entropy=2.2, verify=False)
    assert audit.verified is None
    assert audit.to_dict()["verified"] is None
    assert UNCHECKED in audit.summary()
    assert "verified" not in audit.summary()
    verdict = audit.verify()
    assert isinstance(verdict, Verification)
    assert verdict.verified
    assert audit.verified is True
    assert "; verified\n" in audit.summary()


@pytest.mark.parametrize("taken", [copy.copy, copy.deepcopy, lambda audit: pickle.loads(pickle.dumps(audit))])
def test_copies_are_not_verified(taken: Callable[[Audit], Audit]) -> None:
    audit = dl.audit(parity(), entropy=2.2, verify=True)
    again = taken(audit)
    assert (again.verified, audit.verified) == (None, True)
    assert UNCHECKED in again.summary()
    assert again.verify()
    assert again.verified is True


def test_a_certificate_that_was_changed_is_no_longer_verified() -> None:
    audit = dl.audit(parity(), entropy=2.2, verify=True)
    upper = audit.certificate.data["upper"]
    audit.certificate.data["upper"] = 0.0
    assert audit.verified is None
    assert UNCHECKED in audit.summary()
    assert not audit.verify()
    assert "NOT verified" in audit.summary()
    audit.certificate.data["upper"] = upper
    assert audit.verify()
    assert audit.verified is True
    design = dl.design(dl.queries.modular_sum(n=2, modulus=2), distortion=0.1, entropy=0.5, verify=True)
    assert (design.verified, design.leakage.verified) == (True, True)
    design.certificate.data["audit"]["witness"]["masses"][0][0] /= 2
    assert (design.verified, design.leakage.verified) == (None, None)


def test_only_the_check_sets_it() -> None:
    audit = dl.audit(parity(), entropy=2.2, verify=True)
    with pytest.raises(FrozenInstanceError):
        audit.verified = None
    assert replace(audit, upper=0.0).verified is None  # another claim, which nobody has checked


@pytest.mark.parametrize(
    ("estimate", "took", "expected"), [(0.1, 0.0, True), (0.11, 0.0, None), (0.9, 5.0, True), (1.1, 5.0, None)]
)
def test_auto_checks_what_is_quick_beside_the_work(estimate: float, took: float, *, expected: bool | None) -> None:
    audit = replace(dl.audit(parity(), entropy=2.2, verify=False), seconds=took)
    assert answers.checked(audit, "auto", 60.0, estimate=lambda _: estimate).verified is expected
    assert answers.checked(audit, verify=True, left=60.0).verified is True


def test_the_check_counts_against_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def verify(source: Any, mechanism: Any, *, time_limit: float, memory: int) -> Verification:
        limits.append(time_limit)
        return Verification(verified=False, lower=None, upper=None, reason="not checked: slow", problem="", seconds=9.0)

    monkeypatch.setattr(certificates, "verify", verify)
    audit = dl.audit(parity(), entropy=2.2, time_limit=3.0, verify=True)
    assert 0 < limits[0] <= 3.0 - audit.seconds
    assert (audit.verified, audit.refused) == (None, "")
    assert UNCHECKED in audit.summary()
    # A fifth of the audit's time, but no time is left.
    answers.checked(replace(audit, seconds=100.0), "auto", 1.0, estimate=lambda _: 2.0)
    assert len(limits) == 1


def test_memory_for_a_check_can_be_allowed_as_the_reason_says(tmp_path: Path) -> None:
    dl.audit(parity(), entropy=2.2, verify=False).save(tmp_path / "audit.json")
    audit = dl.load(tmp_path / "audit.json")
    reason = audit.verify(memory=0).reason
    assert reason.startswith("not checked:")
    assert "memory=" in reason
    assert (audit.verified, audit.refused) == (None, "")
    assert inspect.signature(Audit.verify).parameters["memory"].default == answers.MEMORY
    assert audit.verify(memory=448).verified


def test_a_part_of_the_limit_is_kept_for_the_check() -> None:
    assert answers.searching(10.0, verify=False) == 10.0
    assert answers.searching(10.0, "auto") == answers.searching(10.0, verify=True) == pytest.approx(9.0)


def test_nothing_is_begun_after_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = replace(dl.audit(parity(), entropy=2.2, verify=False), stopped="interrupted")
    assert answers.checked(audit, verify=True, left=60.0).verified is None

    def interrupted(*_: object, **__: object) -> Verification:
        raise KeyboardInterrupt

    monkeypatch.setattr(certificates, "verify", interrupted)
    assert dl.audit(parity(), entropy=2.2).verified is None  # the answer is not lost


def test_a_certificate_of_ours_that_is_refused_is_said_aloud() -> None:
    audit = spoilt(dl.audit(parity(), entropy=2.2, verify=False))
    with pytest.warns(RuntimeWarning, match="NOT verified: the witness leaks .*; please report"):
        answers.checked(audit, "auto", 60.0)
    assert audit.verified is None
    assert "NOT verified: the witness leaks" in audit.summary()
    assert "please report" in audit.summary()
    assert "NOT verified" in repr(audit)
    assert "the witness leaks" in audit.to_dict()["refused"]
    assert not audit.verify().verified


def test_a_result_with_another_question_or_other_bounds_than_its_certificate_is_not_verified() -> None:
    for unit in ("nats", "bits"):
        audit = dl.audit(parity(), entropy=2.2, unit=unit, verify=True)
        assert audit.verified
        for key, claim in (("upper", audit.upper - 1e-9), ("lower", audit.lower + 1e-9)):
            verdict = replace(audit, **{key: claim}).verify()
            assert not verdict.verified
            assert f"the result's {key} bound is {claim!r} where the certificate has" in verdict.reason
    audit, weaker = (dl.audit(parity(), entropy=b, verify=False) for b in (2.2, 2.5))
    assert "the result's limit is entropy 2.5" in replace(audit, adversary=weaker.adversary).verify().reason
    assert "the result's secret is" in replace(audit, secret=0).verify().reason
    assert not replace(audit, mechanism=parity(0.2)).verify().verified


def test_unknown_words_are_refused() -> None:
    refuses("verify = 'yes' is unknown", dl.audit, parity(), entropy=2.2, verify="yes")
    refuses("verify = 1 is unknown", dl.design, dl.queries.count(n=2), distortion=0.5, entropy=0.5, verify=1)
    refuses("a curve does not check its points", dl.curve, parity(), [1.0], verify=True)


@pytest.mark.parametrize("unit", ["nats", "bits"])
@pytest.mark.parametrize("budget", ["distortion", "leakage"])
def test_designs_are_checked_with_their_audits(unit: str, budget: str) -> None:
    query = dl.queries.modular_sum(n=3, modulus=2)
    asked = {budget: 0.1, "entropy": 1.5, "unit": unit}
    design = dl.design(query, **asked, verify=False)
    assert (design.verified, design.leakage.verified) == (None, None)
    assert UNCHECKED in design.summary()
    assert design.verify().verified
    assert (design.verified, design.leakage.verified) == (True, True)
    other = replace(design, leakage=replace(design.leakage, upper=0.0))
    assert other.verify().verified
    assert other.leakage.verified is None
    assert "; verified\n" in design.summary()
    assert dl.design(query, **asked).verified is True


def test_a_design_that_does_not_keep_its_budget_is_checked_for_its_leakage() -> None:
    query = dl.queries.modular_sum(n=2, modulus=2)
    design = dl.design(query, leakage=0.1, entropy=0.0, method="paper", reading="strict", verify=True, time_limit=1.0)
    assert not design.kept
    assert design.verified is True
    assert "about a record; verified" in design.summary()


def test_audits_inside_other_results_are_not_checked_one_by_one() -> None:
    query, mechanism = dl.queries.modular_sum(n=2, modulus=2), dl.mechanisms.symmetric
    curve = dl.curve(mechanism(query, flip=0.3), [0.5, 1.0])
    assert [audit.verified for audit in curve.audits] == [None, None]
    calibration = dl.calibrate("symmetric", query, leakage=0.05, entropy=0.5, accuracy=0.1)
    assert UNCHECKED in calibration.summary()
    profile = mechanism(query, flip=0.3).profile(entropies=[0.5])
    assert UNCHECKED in profile.summary()
    ledger = dl.Ledger(query, entropy=0.5)
    ledger.release(mechanism(query, flip=0.3))
    assert UNCHECKED in ledger.summary()
    frontier = dl.frontier(query, entropy=0.5, points=2, tolerance=0.01, named=False)
    assert all(design.verified is None for design in frontier.designs)


def test_a_checked_audit_shows_in_what_holds_it() -> None:
    query = dl.queries.modular_sum(n=2, modulus=2)
    calibration = dl.calibrate("symmetric", query, leakage=0.05, entropy=0.5, accuracy=0.1)
    calibration.leakage.verify()
    assert "within the budget; verified" in calibration.summary()
    profile = dl.mechanisms.symmetric(query, flip=0.3).profile(entropies=[0.5])
    profile.leakage.audits[0].verify()
    assert "about one record; verified" in profile.summary()


def test_the_estimate_grows_with_what_a_check_goes_through() -> None:
    """Each of these takes from one to some hundred milliseconds; what is far beyond is not checked by itself."""
    query = dl.queries.count
    quick = [
        dl.audit(parity(), entropy=2.2, verify=False),
        dl.audit(dl.mechanisms.geometric(query(n=4), epsilon=1), adversary="independent", reference=[0.3, 0.7]),
        dl.audit(dl.mechanisms.laplace(query(n=3), epsilon=1, output="real"), knowledge=0.2, tolerance=1e-2),
        dl.audit(dl.mechanisms.symmetric(dl.queries.identity(3000), flip=0.2), knowledge=1.0),
        dl.design(dl.queries.modular_sum(n=2, modulus=2), distortion=0.1, entropy=0.5),
    ]
    assert [0.0 < answers.estimated(result) < 0.1 for result in quick] == [True] * len(quick)
    matrix = np.random.default_rng(0).dirichlet(np.ones(30), size=2**10)
    long = dl.audit(dl.Mechanism.from_matrix(matrix, [2] * 10), knowledge=0.1, time_limit=1e-3, verify=False)
    laws = dl.audit(
        dl.mechanisms.geometric(query(n=400), epsilon=1), adversary="independent", reference=[0.3, 0.7], verify=False
    )
    chains = dl.audit(dl.mechanisms.geometric(query(n=30), epsilon=0.5), knowledge=0.3, tolerance=1e-2, verify=False)
    assert answers.estimated(long) > 0.1
    assert answers.estimated(laws) > 0.05
    assert {proof["kind"] for proof in chains.certificate.data["proofs"]} == {"monotone"}
    assert answers.estimated(chains) > 0.01
