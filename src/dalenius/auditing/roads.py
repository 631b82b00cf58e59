"""Steps to an easier question, as long as one applies; then the road that answers it, which returns what it found.

A road is loaded when a release takes it, here and in `all_records.py`: all of them take longer to load than most small
audits take.
"""

from dataclasses import replace

from dalenius.auditing.all_records import by_records
from dalenius.auditing.one_record import one_record, symmetric
from dalenius.auditing.one_secret import WarmStart
from dalenius.certificates.audits import Found
from dalenius.model.problem import AuditProblem
from dalenius.reductions.way_back import BelowChannel, Step, WayBack
from dalenius.search.deadline import Deadline


def above_samples(problem: AuditProblem) -> tuple[AuditProblem, WayBack] | None:
    """Ask about the channel of which a mechanism known by samples is a degraded version."""
    samples = problem.mechanism.as_samples
    return None if samples is None else (replace(problem, mechanism=samples.above), BelowChannel())


STEPS: list[Step] = [above_samples]


def find(problem: AuditProblem, deadline: Deadline, seed: int, warm: dict[int, WarmStart] | None = None) -> Found:
    """Bracket what is asked, within a deadline.

    warm: what was found against other adversaries of the same mechanism, secret and reference.
    """
    taken = next(filter(None, (step(problem) for step in STEPS)), None)
    if taken is not None:
        easier, back = taken
        found = find(easier, deadline, seed, warm)
        # Where the easier question is closed, no search narrows this bracket further.
        done = True if easier.closed(found.lower, found.upper) else None
        return replace(found.through(back, problem), finished=done)
    mechanism = problem.mechanism
    if mechanism.as_real_records is not None:
        from dalenius.auditing.real_records import real_records

        return real_records(problem, deadline, seed)
    if problem.adversary.kind == "independent":
        from dalenius.auditing.independent_records import independent_records

        return independent_records(problem, deadline)
    if mechanism.as_real is not None:
        from dalenius.auditing.real_outputs import real_outputs

        return real_outputs(problem, deadline, seed)
    if (even := mechanism.as_symmetric) is not None:
        return symmetric(problem, even)
    return one_record(problem, deadline) or by_records(problem, deadline, seed, warm)
