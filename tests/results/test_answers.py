"""Why a search is said to have ended."""

import pytest
from cases import named, posed

from dalenius.auditing.all_records import audit_records, found_of
from dalenius.auditing.audited import Audited
from dalenius.model.problem import Adversary, AuditProblem
from dalenius.results.answers import audit_answer
from dalenius.results.options import Options
from dalenius.search.deadline import Deadline

MECHANISM = named("modular_sum(n=4, modulus=2)", "symmetric(flip=0.3)")
PROBLEM = AuditProblem(MECHANISM, Adversary.from_user(MECHANISM.records, entropy=2.2), tolerance=1e-9)
CLOSED, OPEN = 1e-6, 1e-15  # tolerances above and below the gap that rounding leaves


def options(unit: str, tolerance: float) -> Options:
    return Options.from_user(unit=unit, tolerance=tolerance, time_limit=60.0, seed=0, progress=False)


@pytest.fixture(scope="module")
def found() -> list[Audited]:
    return audit_records(PROBLEM, Deadline(60.0), 0)


@pytest.mark.parametrize("unit", ["nats", "bits"])
@pytest.mark.parametrize(
    ("tolerance", "limit", "interrupted", "stopped"),
    [
        (CLOSED, 60.0, False, "gap"),
        (CLOSED, -1.0, False, "gap"),
        (CLOSED, 60.0, True, "gap"),
        (OPEN, 60.0, False, "nearly"),
        (OPEN, -1.0, False, "time_limit"),
        (OPEN, 60.0, True, "interrupted"),
    ],
)
def test_the_gap_is_the_reason_only_where_it_is_within_the_tolerance(
    found: list[Audited], unit: str, tolerance: float, limit: float, stopped: str, *, interrupted: bool
) -> None:
    deadline = Deadline(limit, interrupted=interrupted)
    audit = audit_answer(PROBLEM, found_of(PROBLEM, found), options(unit, tolerance), deadline)
    assert audit.stopped == stopped
    assert audit.closed == (stopped == "gap")
    assert 0 < audit.gap < 1e-5


def test_a_wide_gap_is_not_nearly_closed() -> None:
    problem = posed(named("count(n=6)", "geometric(epsilon=1)"), 1.0, 1e-9)
    open_gap = audit_records(problem, Deadline(0.0), 0)
    audit = audit_answer(problem, found_of(problem, open_gap), options("nats", 1e-6), Deadline(60.0))
    assert audit.gap > 1e-3
    assert (audit.stopped, audit.upper_by) == ("method", audit.bounds)
    assert audit.to_dict()["upper_by"] == audit.to_dict()["bounds"] == audit.upper_by
