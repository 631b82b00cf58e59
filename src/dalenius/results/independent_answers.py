"""Audits against an adversary with independent records: from brackets of capacities to `Audit` and its certificate."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.auditing.independent import (
    IndependentRecord,
    as_counts,
    as_sum,
    averaged,
    by_indicators,
    by_lines,
    by_shift,
    within,
)
from dalenius.certificates.audits import MARGIN_DOWN, MARGIN_UP
from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError
from dalenius.model import secret as secrets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy_histogram import NoisyHistogram
from dalenius.model.prior import Prior
from dalenius.model.problem import AuditProblem
from dalenius.model.reference import Reference
from dalenius.model.statistic import Histogram, Sum
from dalenius.results.answers import Run, certified_answer, ended
from dalenius.results.audit import Audit, Records, Stopped
from dalenius.results.units import down, up
from dalenius.search.deadline import Deadline


def independent_answer(problem: AuditProblem, deadline: Deadline, run: Run) -> Audit:
    """Bracket what a prior with independent records leaks, of every record or of one."""
    secret, mechanism = problem.secret, problem.mechanism
    if secret is not None and not isinstance(secret, int):
        message = (
            f'adversary="independent" audits single records, not {secrets.name(secret)}; give the index of a record, '
            "or leave secret out for all of them"
        )
        raise InputError(message)
    if mechanism.route not in ("rows", "sum") and as_counts(mechanism) is None:
        message = (
            f'adversary="independent" needs a mechanism whose rows can be written out, integer noise on a sum, or '
            f"geometric noise on every count; {mechanism.name} of {mechanism.query} is neither: use fewer records, or "
            "leave output='real' out"
        )
        raise InputError(message)
    orbits: tuple[Any, ...] = ((secret,),) if isinstance(secret, int) else problem.reference.orbits(mechanism.statistic)
    found = [_bracket(problem, members, deadline) for members in orbits]
    return _answer(problem, found, run)


def _bracket(problem: AuditProblem, members: Any, deadline: Deadline) -> IndependentRecord:  # noqa: ANN401 - indices
    mechanism, adversary, tolerance = problem.mechanism, problem.adversary, problem.tolerance
    if not (adversary.unlimited or adversary.free):
        return _in_the_ball(problem, members, deadline)
    if not (adversary.reference.uniform or adversary.free):
        _check_written(mechanism, "others that follow a reference")
        return averaged(mechanism, members[0], members, adversary.reference, tolerance)[0]
    return _alone(problem, members, deadline)


def _alone(problem: AuditProblem, members: Any, deadline: Deadline) -> IndependentRecord:  # noqa: ANN401 - indices
    """Independence alone: by one law for all sums of the others, or where that stays open by one for each."""
    mechanism, settings, tolerance = problem.mechanism, problem.settings, problem.tolerance
    counts = as_counts(mechanism)
    if counts is not None:
        return by_indicators(counts, members)
    noisy = as_sum(mechanism)
    found = None if noisy is None else by_shift(noisy, members, tolerance, deadline, settings)
    if found is not None and (mechanism.route == "sum" or found.upper - found.lower <= tolerance):
        return found
    try:
        return by_lines(mechanism, members, tolerance, deadline, settings)
    except InputError:
        if found is None:
            raise
        return found


def _check_written(mechanism: Mechanism, what: str) -> None:
    if mechanism.route != "rows":
        message = (
            f"{what} need the rows of the channel, and {mechanism.name} of {mechanism.query} has too many to write "
            "out; use fewer records"
        )
        raise InputError(message)


def _in_the_ball(problem: AuditProblem, members: Any, deadline: Deadline) -> IndependentRecord:  # noqa: ANN401
    """Independent records and a limit of knowledge: at most the lesser of both, which need not be attained."""
    mechanism, adversary = problem.mechanism, problem.adversary
    _check_written(mechanism, "independent records within a limit of knowledge")
    record, reference = members[0], adversary.reference
    bounded = replace(problem, adversary=replace(adversary, kind="bounded"), secret=record)
    part = Deadline(deadline.left / 2, parent=deadline)
    ball = certified_answer(bounded, part, Run("nats", problem.tolerance, 0, part))
    proof = ball.certificate.data["proofs"][0]
    alone = by_lines(mechanism, members, problem.tolerance, deadline, problem.settings)
    with_law, rows = averaged(mechanism, record, members, reference, problem.tolerance)
    own = np.exp(np.logaddexp.reduce(reference.log_joint(mechanism.statistic, record), axis=1))
    law, lower = within(rows, with_law.law, own, adversary.knowledge)
    of_ball = "blocks" not in ball.certificate.data["witness"] and proof["upper"] < alone.upper + MARGIN_UP
    upper, data = (proof["upper"] - MARGIN_UP, proof) if of_ball else (alone.upper, alone.proof)
    return IndependentRecord(members, lower, upper, law, None, data)


def _answer(problem: AuditProblem, found: list[IndependentRecord], run: Run, tie: float = 1e-9) -> Audit:
    """Return the bracket of the worst record with its certificate; ties go to the lowest index."""
    mechanism, adversary, nats = problem.mechanism, problem.adversary, run.nats
    best = max(item.lower for item in found)
    worst = min((item for item in found if item.lower >= best - tie), key=lambda item: item.record)
    lower = max(0.0, worst.lower - MARGIN_DOWN)
    uppers = {item.record: item.upper + MARGIN_UP for item in found}
    upper = max(*uppers.values(), lower)
    named = problem.secret is None
    data = {
        "format": "dalenius/audit-certificate",
        "version": 1,
        "problem": mechanism.describe(),
        "adversary": adversary_data(problem),
        **({} if problem.secret is None else {"secret": secrets.describe(problem.secret)}),
        "lower": lower,
        "upper": upper,
        "witness": {
            **({"record": worst.record} if named else {}),
            "law": worst.law.tolist(),
            **({} if worst.others is None else {"others": list(worst.others)}),
            **({} if worst.reach is None else {"reach": worst.reach}),
        },
        "proofs": [
            {**item.proof, "upper": uppers[item.record]} | ({"record": item.record} if named else {})
            for item in sorted(found, key=lambda item: item.record)
        ],
    }
    orbits = tuple(
        (item.members, down(max(0.0, item.lower - MARGIN_DOWN), nats), up(uppers[item.record], nats)) for item in found
    )
    low, high = down(lower, nats), up(upper, nats)
    law = worst.law.tolist()
    return Audit(
        mechanism=mechanism,
        adversary=adversary,
        unit=run.unit,
        lower=low,
        upper=high,
        stopped=_stopped(high - low, run),
        proved="both",
        record=worst.record,
        records=Records(orbits),
        prior=witness_prior(mechanism, worst.record, law, worst.others, adversary.reference),
        certificate=Certificate.of(data),
        extremes=None,
        tolerance=run.tolerance,
        relative=run.relative,
        seed=run.seed,
        seconds=run.deadline.seconds,
        nodes=run.deadline.nodes,
        upper_by=str(max(found, key=lambda item: item.upper).proof["kind"]),
        secret=problem.secret,
    )


def _stopped(gap: float, run: Run) -> Stopped:
    return "gap" if gap <= run.tolerance else ended(run.deadline, finished=run.deadline.left > 0)


def adversary_data(problem: AuditProblem) -> dict[str, Any]:
    """Return the adversary in plain data, as certificates carry it."""
    adversary = problem.adversary
    known = adversary.reference.describe()
    return {
        "independent": True,
        **({} if adversary.unlimited else {"knowledge": adversary.value}),
        **({"reference": known} if known else {}),
    }


def witness_prior(
    mechanism: Mechanism,
    record: int,
    law: Sequence[float],
    others: Sequence[int] | None,
    reference: Reference,
) -> Prior:
    """Return the prior of a witness: a law for every record, those of the others certain where they are known.

    others: how many of the other records have each value, or what they are; None where they follow the reference.
    """
    records = mechanism.records
    if others is None:
        laws = [_law(reference, i, size) for i, size in enumerate(records)]
    elif isinstance(mechanism.statistic, (Sum, Histogram)):
        values = [v for v, many in enumerate(others) for _ in range(many)]
        values.insert(record, 0)
        certain = {v: _certain(v, records[0]) for v in set(values)}
        laws = [certain[v] for v in values]
    else:
        laws = [_certain(v, size) for v, size in zip(others, records, strict=True)]
    laws[record] = tuple(float(p) for p in law)
    held = Reference(tuple(laws))
    # Of noisy counts that are never written out, the prior is held by one of them.
    told = mechanism.cell(0) if isinstance(mechanism, NoisyHistogram) else mechanism
    masses = np.exp(held.log_joint(told.statistic, record))
    return Prior(told, record, masses / masses.sum(), held)


def _law(reference: Reference, record: int, size: int) -> tuple[float, ...]:
    if not reference.laws:
        return (1 / size,) * size
    return reference.laws[0] if len(reference.laws) == 1 else reference.laws[record]


def _certain(value: int, size: int) -> tuple[float, ...]:
    return tuple(float(v == value) for v in range(size))
