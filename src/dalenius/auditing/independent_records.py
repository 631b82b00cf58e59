"""Audits against an adversary with independent records: which way serves which release, and what is found."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.auditing.all_records import by_records
from dalenius.auditing.independent import (
    IndependentRecord,
    Question,
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
from dalenius.certificates.audits import MARGIN_DOWN, MARGIN_UP, Found
from dalenius.certificates.question import independent_prior, law_of
from dalenius.errors import InputError, refuse
from dalenius.model import secret as secrets
from dalenius.model.problem import AuditProblem
from dalenius.model.statistic import Blocks
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
    noisy = None if mechanism.has_rows else mechanism.as_sum
    if mechanism.as_real is not None or (noisy is not None and as_sum(noisy) is None):
        refuse(
            f'adversary="independent" needs a mechanism whose rows can be written out, integer noise on a sum of '
            f"records or on every count, or a channel for each record; {mechanism.name} of {mechanism.query} is none "
            "of these: leave output='real' out, or use fewer records"
        )
    if isinstance(mechanism.statistic, Blocks):
        refuse(
            f'adversary="independent" needs one row for every answer of {mechanism.query}, and this mechanism has one '
            'for every block of answers; design it with adversary="independent", or give entropy= or knowledge='
        )
    orbits: tuple[Any, ...] = ((secret,),) if isinstance(secret, int) else problem.reference.orbits(mechanism.statistic)
    found = []
    for k, members in enumerate(orbits):
        part = deadline.part(deadline.left / (len(orbits) - k))
        found.append(_bracket(Question(problem, members, part)))
        deadline.nodes += part.nodes
    return _found(problem, found)


def _bracket(question: Question) -> IndependentRecord:
    mechanism, adversary = question.mechanism, question.problem.adversary
    if not (adversary.unlimited or adversary.free):
        return _in_the_ball(question)
    follows = not (adversary.reference.uniform or adversary.free)
    if follows and (mechanism.has_rows or mechanism.as_sum is not None):
        return averaged(question)[0]
    alone = _alone(question)
    # What holds whatever the others are holds where they follow a law.
    return _seen_at_a_count(question, alone) if follows and mechanism.as_counts is not None else alone


def _alone(question: Question) -> IndependentRecord:
    """Independence alone: by one law for all sums of the others, or where that stays open by one for each."""
    mechanism = question.mechanism
    if (counts := as_counts(mechanism)) is not None:
        return by_counts(counts, question)
    records = mechanism.as_records
    if records is not None and not mechanism.has_rows:
        return by_own_channel(records, question)
    noisy = as_sum(mechanism)
    shifted = None if noisy is None else by_shift(noisy, question)
    if shifted is not None and (not mechanism.has_rows or shifted.upper - shifted.lower <= question.problem.tolerance):
        return shifted
    try:
        return by_lines(question)
    except InputError:
        if shifted is None:
            raise
        return shifted


def _in_the_ball(question: Question) -> IndependentRecord:
    """Independent records and a limit of knowledge: at most the lesser of both, which need not be attained."""
    deadline = question.deadline
    first, refused = replace(question, deadline=deadline.part(deadline.left / 2)), None
    try:
        alone = (by_lines if question.mechanism.has_rows else _alone)(first)
    except InputError as error:
        refused, alone = error, IndependentRecord(question.members, 0.0, math.inf, np.zeros(0), None, {})
    below = _from_below(first, alone)
    # A look at the ball takes a moment even where no time is left for a search.
    rest = deadline.part(deadline.left / 2)
    proof = None if refused is None and rest.expired() else _by_knowledge(replace(question, deadline=rest))
    deadline.nodes += rest.nodes
    if proof is not None and proof["upper"] < alone.upper + MARGIN_UP:
        return replace(below, lower=min(below.lower, proof["upper"]), upper=proof["upper"] - MARGIN_UP, proof=proof)
    if refused is not None:
        raise refused
    return replace(below, lower=min(below.lower, alone.upper), upper=alone.upper, proof=alone.proof)


def _by_knowledge(question: Question) -> dict[str, Any] | None:
    """A proof about all priors within the knowledge; None where it is about blocks of classes, not about rows."""
    problem = question.problem
    bounded = replace(problem, adversary=replace(problem.adversary, kind="bounded"), secret=question.record)
    found = by_records(bounded, question.deadline, 0)
    coarse = problem.mechanism.has_rows and "blocks" in found.witness
    return None if coarse else found.proofs[0][1]


def _from_below(question: Question, alone: IndependentRecord) -> IndependentRecord:
    """A prior with independent records within the knowledge: the record leaves the reference, or all others do too."""
    mechanism, record, problem = question.mechanism, question.record, question.problem
    records = None if mechanism.has_rows else mechanism.as_records
    if mechanism.as_counts is not None and not mechanism.has_rows:
        return _seen_at_a_count(question, alone)
    own = np.array(law_of(problem.reference, record, mechanism.records[record]))
    if records is not None:
        law, lower = within(records.rows, alone.law, own, problem.knowledge)
        return replace(alone, lower=lower, law=law, others=None)
    with_law, rows = averaged(question)
    law, lower = within(rows, with_law.law, own, problem.knowledge)
    found = replace(with_law, lower=lower, law=law)
    if mechanism.has_rows:
        for leaked, leaned, beside in tilted(question, (0.5, 1.0)):
            if leaked > found.lower:
                found = replace(found, lower=leaked, law=leaned, beside=beside)
    return found


def _seen_at_a_count(question: Question, alone: IndependentRecord) -> IndependentRecord:
    """The same upper bound, and from below what one noisy count tells where the others follow the reference."""
    mechanism, adversary = question.mechanism.as_counts, question.problem.adversary
    assert mechanism is not None  # for the type checker: it has counts
    own = np.array(law_of(adversary.reference, question.record, mechanism.k))
    found = []
    for cell in sorted({int(np.abs(own - 0.5).argmin()), int(own.argmin())}):
        with_law, rows = averaged(question, mechanism.cell(cell))
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
