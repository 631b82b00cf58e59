"""Every ground truth and every instance that must close, by default settings, certificates verified."""

import pytest
from cases import CLOSED_FORM, MUST_CLOSE, TRUTH, Case, Instance

import dalenius as dl
from dalenius.model.channels.mechanism import Mechanism
from dalenius.results.audit import Audit

pytestmark = pytest.mark.slow


def checked(mechanism: Mechanism, entropy: float) -> Audit:
    """Audit to the tolerance; the certificate must be verified for this mechanism."""
    audit = dl.audit(mechanism, entropy=entropy, relative=0)
    answer = dl.verify(audit, mechanism)
    assert answer.verified, answer.reason
    assert (answer.lower, answer.upper) == (audit.lower, audit.upper)
    assert audit.stopped == "gap"
    assert audit.proved == "both"
    return audit


def holds(audit: Audit, case: Case) -> None:
    assert audit.lower <= case.value + case.known_to
    assert audit.upper >= case.value - case.known_to
    if case.known_to < 1e-6:
        assert audit.lower >= case.value - 1e-6
        assert audit.upper <= case.value + 1e-6
    assert audit.gap <= 1e-5


@pytest.mark.parametrize("case", CLOSED_FORM, ids=repr)
def test_closed_forms(case: Case) -> None:
    holds(checked(case.build(), case.entropy), case)


@pytest.mark.parametrize("case", TRUTH, ids=repr)
def test_truth(case: Case) -> None:
    holds(checked(case.build(), case.entropy), case)


# Those that take ten seconds.
NIGHTLY = ("random 3,3,3 x 2 seed 1", "random 3,3,3 x 2 seed 0 b=0", "random 3,3,3 x 2 seed 0 b=1")


@pytest.mark.parametrize(
    "instance",
    [
        pytest.param(instance, marks=[pytest.mark.nightly] if repr(instance).startswith(NIGHTLY) else [])
        for instance in MUST_CLOSE
    ],
    ids=repr,
)
def test_must_close(instance: Instance) -> None:
    assert checked(instance.build(), instance.entropy).gap <= 1e-5
