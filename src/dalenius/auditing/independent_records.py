"""Audits against an adversary with independent records: which way serves which release, and what is found."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.auditing.evidence import by_records
from dalenius.auditing.independent import (
    IndependentRecord,
    as_counts,
    as_sum,
    averaged,
    by_counts,
    by_lines,
    by_own_channel,
    by_shift,
    tilted,
    within,
)
from dalenius.certificates.asked import independent_prior, law_of, one_by_one
from dalenius.certificates.audits import MARGIN_DOWN, MARGIN_UP, Found
from dalenius.errors import InputError, refuse
from dalenius.model import secret as secrets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import AuditProblem
from dalenius.model.reference import UNIFORM, Reference
from dalenius.numerics.types import Ints
from dalenius.search.deadline import Deadline


def independent_records(problem: AuditProblem, deadline: Deadline) -> Found:
    """Bracket what a prior with independent records leaks, of every record or of one."""
    secret, mechanism = problem.secret, problem.mechanism
    if secret is not None and not isinstance(secret, int):
        refuse(
            f'adversary="independent" audits single records, not {secrets.name(secret)}; give the index of a record, '
            "or leave secret out for all of them"
        )
    if mechanism.as_symmetric is not None:
        refuse(
            f"{mechanism.name} of {mechanism.query} has a table too large to write out, and a single record, so "
            "independence excludes nothing: give entropy=0, which allows the same priors"
        )
    if mechanism.as_real is not None:
        refuse(
            f'adversary="independent" needs a mechanism whose rows can be written out, integer noise on a sum or on '
            f"every count, or a channel for each record; {mechanism.name} of {mechanism.query} is none of these: leave "
            "output='real' out, or use fewer records"
        )
    orbits: tuple[Any, ...] = ((secret,),) if isinstance(secret, int) else problem.reference.orbits(mechanism.statistic)
    found = []
    for k, members in enumerate(orbits):
        part = deadline.part(deadline.left / (len(orbits) - k))
        found.append(_bracket(problem, members, part))
        deadline.nodes += part.nodes
    return _found(problem, found)


def _bracket(problem: AuditProblem, members: Any, deadline: Deadline) -> IndependentRecord:
    mechanism, adversary, tolerance = problem.mechanism, problem.adversary, problem.tolerance
    if not (adversary.unlimited or adversary.free):
        return _in_the_ball(problem, members, deadline)
    follows = not (adversary.reference.uniform or adversary.free)
    if follows and (mechanism.has_rows or mechanism.as_sum is not None):
        _check_averaged(mechanism, adversary.reference)
        return averaged(mechanism, members, adversary.reference, _values(problem, members[0]), tolerance, deadline)[0]
    alone = _alone(problem, members, deadline)
    # What holds whatever the others are holds where they follow a law.
    return _seen_at_a_count(problem, alone, members, deadline) if follows and mechanism.as_counts is not None else alone


def _support(problem: AuditProblem) -> Reference:
    """The reference outside of whose support no prior has mass: that of the knowledge, if there is any."""
    return UNIFORM if problem.adversary.unlimited else problem.adversary.reference


def _values(problem: AuditProblem, record: int) -> Ints:
    """The values that a record may have; where the others follow the reference exactly its own law is free."""
    return _support(problem).values(record, problem.mechanism.records[record])


def _alone(problem: AuditProblem, members: Any, deadline: Deadline) -> IndependentRecord:
    """Independence alone: by one law for all sums of the others, or where that stays open by one for each."""
    mechanism, settings, tolerance = problem.mechanism, problem.settings, problem.tolerance
    support = _support(problem)
    counts = as_counts(mechanism)
    if counts is not None:
        found = by_counts(counts, members, settings)
        assert found.others is not None  # for the type checker
        return replace(found, others=one_by_one(found.others, members[0])) if len(support.laws) > 1 else found
    records = mechanism.as_records
    if records is not None and not mechanism.has_rows:
        return by_own_channel(records, members, tolerance, deadline)
    noisy = as_sum(mechanism)
    shifted = None if noisy is None else by_shift(noisy, members, tolerance, deadline, settings, support)
    if shifted is not None and (not mechanism.has_rows or shifted.upper - shifted.lower <= tolerance):
        return shifted
    try:
        return by_lines(mechanism, members, tolerance, deadline, settings, support)
    except InputError:
        if shifted is None:
            raise
        return shifted


def _check_averaged(mechanism: Mechanism, reference: Reference) -> None:
    """Refuse others that follow what needs a list of datasets."""
    if not mechanism.has_rows and reference.kind in ("marginals", "weights"):
        refuse(
            f"a reference of {reference.kind} needs the rows of the channel, and {mechanism.name} of {mechanism.query} "
            "has too many to write out; give one law for all records, or use fewer records"
        )


def _in_the_ball(problem: AuditProblem, members: Any, deadline: Deadline) -> IndependentRecord:
    """Independent records and a limit of knowledge: at most the lesser of both, which need not be attained."""
    part, refused = deadline.part(deadline.left / 2), None
    try:
        alone = (_by_any_line if problem.mechanism.has_rows else _alone)(problem, members, part)
    except InputError as error:
        refused, alone = error, IndependentRecord(members, 0.0, math.inf, np.zeros(0), None, {})
    below = _from_below(problem, alone, members, part)
    # A look at the ball takes a moment even where no time is left for a search.
    rest = deadline.part(deadline.left / 2)
    proof = None if refused is None and rest.expired() else _by_knowledge(problem, members, rest)
    deadline.nodes += rest.nodes
    if proof is not None and proof["upper"] < alone.upper + MARGIN_UP:
        return replace(below, lower=min(below.lower, proof["upper"]), upper=proof["upper"] - MARGIN_UP, proof=proof)
    if refused is not None:
        raise refused
    return replace(below, lower=min(below.lower, alone.upper), upper=alone.upper, proof=alone.proof)


def _by_knowledge(problem: AuditProblem, members: Any, deadline: Deadline) -> dict[str, Any] | None:
    """A proof about all priors within the knowledge; None where it is about blocks of classes, not about rows."""
    bounded = replace(problem, adversary=replace(problem.adversary, kind="bounded"), secret=members[0])
    found = by_records(bounded, deadline, 0)
    coarse = problem.mechanism.has_rows and "blocks" in found.witness
    return None if coarse else found.proofs[0][1]


def _by_any_line(problem: AuditProblem, members: Any, deadline: Deadline) -> IndependentRecord:
    """By lines, with the law of noise on a sum among those that are tried."""
    mechanism, settings, tolerance = problem.mechanism, problem.settings, problem.tolerance
    noisy, support = as_sum(mechanism), _support(problem)
    known = None if noisy is None else by_shift(noisy, members, tolerance, deadline, settings, support).law
    return by_lines(mechanism, members, tolerance, deadline, settings, support, known)


def _from_below(
    problem: AuditProblem,
    alone: IndependentRecord,
    members: Any,
    deadline: Deadline,
) -> IndependentRecord:
    """A prior with independent records within the knowledge: the record leaves the reference, or all others do too."""
    mechanism, adversary, record = problem.mechanism, problem.adversary, members[0]
    reference = adversary.reference
    records = None if mechanism.has_rows else mechanism.as_records
    if mechanism.as_counts is not None and not mechanism.has_rows:
        return _seen_at_a_count(problem, alone, members, deadline)
    if records is not None:
        own = np.array(law_of(reference, record, records.k))
        law, lower = within(records.rows, alone.law, own, adversary.knowledge)
        return replace(alone, lower=lower, law=law, others=None)
    _check_averaged(mechanism, reference)
    values = _values(problem, record)
    with_law, rows = averaged(mechanism, members, reference, values, problem.tolerance, deadline)
    own = np.array(law_of(reference, record, mechanism.records[record]))
    law, lower = within(rows, with_law.law, own, adversary.knowledge)
    found = replace(with_law, lower=lower, law=law)
    if mechanism.has_rows:
        for told, leaned, beside in tilted(mechanism, record, reference, adversary.knowledge, (0.5, 1.0), deadline):
            if told > found.lower:
                found = replace(found, lower=told, law=leaned, beside=beside)
    return found


def _seen_at_a_count(
    problem: AuditProblem,
    alone: IndependentRecord,
    members: Any,
    deadline: Deadline,
) -> IndependentRecord:
    """The same upper bound, and from below what one noisy count tells where the others follow the reference."""
    mechanism, adversary, record = problem.mechanism.as_counts, problem.adversary, members[0]
    reference = adversary.reference
    assert mechanism is not None  # for the type checker: it has counts
    if reference.kind in ("marginals", "weights"):
        refuse(
            f"a reference of {reference.kind} needs the rows of the channel, and {mechanism.name} of {mechanism.query} "
            "has too many to write out; give one law for all records, or use fewer records"
        )
    own, values = np.array(law_of(reference, record, mechanism.k)), _values(problem, record)
    found = []
    for cell in sorted({int(np.abs(own - 0.5).argmin()), int(own.argmin())}):
        with_law, rows = averaged(mechanism.cell(cell), members, reference, values, problem.tolerance, deadline)
        free = adversary.unlimited or adversary.free
        law, lower = (with_law.law, with_law.lower) if free else within(rows, with_law.law, own, adversary.knowledge)
        found.append(replace(alone, lower=lower, law=law, others=None, cell=cell, unwritten="counts"))
    return max(found, key=lambda item: item.lower)


def _form(named: list[str | None]) -> str:
    """How the release is held, by what the witness is about and the kinds of the proofs."""
    forms = {"sum": "sum", "counts": "histogram", "own": "per-record", "indicators": "histogram"}
    return next((forms[name] for name in named if name in forms), "rows")


def _found(problem: AuditProblem, records: list[IndependentRecord], tie: float = 1e-9) -> Found:
    """Return the bracket of the worst record; ties go to the lowest index."""
    best = max(item.lower for item in records)
    worst = min((item for item in records if item.lower >= best - tie), key=lambda item: item.record)
    lower = max(0.0, worst.lower - MARGIN_DOWN)
    named = {"reach": worst.reach, "beside": worst.beside, "cell": worst.cell}
    kind = "known" if worst.others is not None else "following" if worst.beside is None else "leaning"
    form = _form([worst.unwritten, *(item.unwritten for item in records), *(item.proof["kind"] for item in records)])
    stated = {"form": form, "kind": kind, "law": worst.law.tolist(), "others": worst.others, **named}
    witness = {key: list(x) if isinstance(x, tuple) else x for key, x in stated.items() if x is not None}
    in_order = sorted(records, key=lambda item: item.record)
    highest = max(records, key=lambda item: item.upper)
    return Found(
        lower,
        max(lower, highest.upper + MARGIN_UP),
        independent_prior(problem.mechanism, worst.record, witness, problem.reference),
        worst.record,
        witness,
        tuple((item.record, {**item.proof, "upper": item.upper + MARGIN_UP}) for item in in_order),
        tuple((item.members, max(0.0, item.lower - MARGIN_DOWN), item.upper + MARGIN_UP) for item in records),
        str(highest.proof["kind"]),
    )
