"""Which road answers which audit; every road returns what it found."""

from dataclasses import replace

from dalenius.auditing.evidence import by_records
from dalenius.auditing.found import Found
from dalenius.auditing.independent_records import independent_records
from dalenius.auditing.one_record import one_record, symmetric
from dalenius.auditing.one_secret import WarmStart
from dalenius.auditing.real_outputs import real_outputs
from dalenius.auditing.real_records import real_records
from dalenius.model.problem import AuditProblem
from dalenius.reductions.samples import channel_above
from dalenius.search.deadline import Deadline


def find(problem: AuditProblem, deadline: Deadline, seed: int, known: dict[int, WarmStart] | None = None) -> Found:
    """Bracket what is asked, within a deadline.

    known: what was found against other adversaries of the same mechanism, secret and reference.
    """
    mechanism = problem.mechanism
    if (samples := mechanism.as_samples) is not None:
        channel, back = channel_above(samples)
        above = replace(problem, mechanism=channel)
        found = find(above, deadline, seed, known)
        # Where the search above is done, none narrows this bracket further: more draws would.
        done = True if above.closed(found.lower, found.upper) else None
        return replace(found.through(back, problem), proved="upper", finished=done)
    if mechanism.as_real_records is not None:
        return real_records(problem, deadline, seed)
    if problem.adversary.kind == "independent":
        return independent_records(problem, deadline)
    if mechanism.as_real is not None:
        return real_outputs(problem, deadline, seed)
    if (even := mechanism.as_symmetric) is not None:
        return symmetric(problem, even)
    return one_record(problem, deadline) or by_records(problem, deadline, seed, known)
