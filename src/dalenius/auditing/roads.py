"""Steps to an easier question, as long as one applies; then the road that answers it, which returns what it found.

A road is loaded when a release takes it, here and in `all_records.py`: all of them take longer to load than most small
audits take.

One record needs no search. Every value of it has one row. Without a limit L is then the capacity of these rows
(MATH 4.1), and where nothing is known it is I(X;Y) at the uniform prior. An entropy of log|X| in floats leaves some
1e-16 nats of knowledge, for which there is a closed form. Certificates are those of the general way: `choices` with one
leaf, `reference`, or `boxes` with one leaf. A symmetric channel of very many values has a closed form whatever is
known, `symmetric`.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalenius.auditing.all_records import by_records
from dalenius.auditing.one_secret import WarmStart
from dalenius.bounds.capacity import CapacityBracket, bracket, two_rows
from dalenius.bounds.trees.choices import ChoiceSearch
from dalenius.certificates.audits import MARGIN_DOWN, MARGIN_UP, Found, listed
from dalenius.errors import refuse
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.per_record import Symmetric
from dalenius.model.prior import Prior
from dalenius.model.problem import AuditProblem
from dalenius.numerics.information import even_information, phi, safe_log
from dalenius.numerics.types import Floats
from dalenius.reductions.way_back import BelowChannel, Step, WayBack
from dalenius.search.ascent import NO_KNOWLEDGE
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


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


# Values x outputs up to which one Newton run answers before Ctrl-C is looked after, some 2 ms at most.
TINY_ENTRIES = 2**12
# Outputs up to which two rows are gone through in numbers, not in arrays.
SCALAR_OUTPUTS = 16
# The largest multiplier s where next to nothing is known: it loses less than 1e-12 nats, and one without limit
# would leave no digits to those who check it.
LARGEST_S = 1e12


@dataclass(frozen=True, kw_only=True)
class OneRecordSearch(Part):
    """One record, of which all may be known or nothing."""

    # Values or outputs up to which one Newton run answers.
    values: int = 2**12


def tiny(problem: AuditProblem) -> bool:
    """Whether there is one record, of so few values and outputs that nobody waits for the answer."""
    mechanism = problem.mechanism
    alone = len(mechanism.records) == 1 and mechanism.has_rows
    return alone and mechanism.records[0] * mechanism.n_outputs <= TINY_ENTRIES


def one_record(problem: AuditProblem, deadline: Deadline) -> Found | None:
    """Return what is found of one record, or None where the question is another one, or an output never occurs."""
    if not _possible(problem):
        return None
    rows = _rows(problem.mechanism)
    most = _capacity(problem, rows, deadline)
    unconstrained = max(0.0, most.lower - MARGIN_DOWN), most.upper + MARGIN_UP
    if not problem.adversary.free:
        return at_reference(problem, rows, unconstrained)
    if not np.minimum.reduce(most.law) > 0:
        return None
    extremes = *unconstrained, even_information(rows)
    return _found(problem, rows, unconstrained, most.prior, ("choices", _one_leaf(most.law)), extremes)


def at_reference(problem: AuditProblem, rows: Floats, unconstrained: tuple[float, float] | None = None) -> Found | None:
    """Return what is found where nothing is known of one record, but for rounding; None where that leaves a gap.

    unconstrained: what is known of L(0), if anything.
    """
    knowledge, many = problem.knowledge, len(rows)
    log_r = safe_log(np.add.reduce(rows, axis=0) / many)
    # D( q(.|x) || r ), whose mean is I
    divergence = np.add.reduce(phi(rows), axis=1) - rows.dot(log_r)
    leaked = max(0.0, float(np.add.reduce(divergence)) / many)
    upper, kind, proof = leaked, "reference", dict[str, Any]()
    if knowledge > 0:
        upper, s = near_reference(divergence, knowledge)
        kind, proof = "convex", {"s": s, "eta": 1.0, "theta": 0.0, "rho": log_r.tolist()}
    bracket = max(0.0, leaked - MARGIN_DOWN), upper + MARGIN_UP
    if knowledge > 0 and bracket[1] - bracket[0] > problem.tolerance:
        return None
    low, high = unconstrained or (0.0, math.log(many))
    extremes = max(low, bracket[0]), max(high, bracket[0]), leaked
    return _found(problem, rows, bracket, np.full(many, 1 / many), (kind, proof), extremes)


def _found(  # noqa: PLR0917 - what was found
    problem: AuditProblem,
    rows: Floats,
    bracket: tuple[float, float],
    law: Floats,
    proof: tuple[str, dict[str, Any]],
    extremes: tuple[float, float, float],
) -> Found:
    """law: of the record, which attains the lower bound."""
    mechanism, values = problem.mechanism, len(rows)
    (lower, upper), (kind, data) = bracket, proof
    if upper >= (trivial := math.nextafter(math.log(min(rows.shape)), math.inf)):
        upper, kind, data = trivial, "trivial", {}
    masses = np.zeros((values, mechanism.statistic.size))
    masses[np.arange(values), mechanism.statistic.class_table()] = law
    prior = Prior(mechanism, 0, masses)
    low, high, uniform = extremes
    extremes = low, min(upper, high) if problem.adversary.free else high, uniform
    return _alone(prior, (lower, upper), {"kind": "masses", "masses": listed(masses)}, {"kind": kind, **data}, extremes)


def _alone(
    prior: Prior,
    bracket: tuple[float, float],
    witness: dict[str, Any],
    proof: dict[str, Any],
    extremes: tuple[float, float, float],
) -> Found:
    """Return the bracket of the one record there is."""
    proofs = ((0, {"upper": bracket[1], **proof}),)
    return Found(*bracket, prior, 0, witness, proofs, (((0,), *bracket),), proof["kind"], extremes)


def symmetric(problem: AuditProblem, mechanism: Symmetric) -> Found:
    """Return the capacity, which the uniform prior attains, whatever the adversary knows (docs/mathematics.md 4.12)."""
    _check_symmetric(problem, mechanism)
    value, most = mechanism.capacity(), math.nextafter(math.log(mechanism.k), math.inf)
    lower, upper = max(0.0, value - MARGIN_DOWN), min(value + MARGIN_UP, most)
    kind = "symmetric" if upper < most else "trivial"
    prior = Prior.uniform(mechanism)
    return _alone(prior, (lower, upper), {"kind": "uniform"}, {"kind": kind}, (lower, upper, value))


def _check_symmetric(problem: AuditProblem, mechanism: Symmetric) -> None:
    """Refuse other secrets than the record and other references than the uniform one: they need the rows."""
    uniform = problem.reference.uniform
    if uniform and problem.secret in (None, 0):
        return
    what = "a secret other than the record" if uniform else "a reference other than the uniform one"
    refuse(
        f"{what} needs the table of the channel, and that of {mechanism.name} of {mechanism.query} is not written out "
        f"for {mechanism.k} values; leave it out, or use fewer values"
    )


def _rows(mechanism: Mechanism) -> Floats:
    """One row for every value of the record."""
    return np.asarray(mechanism.written().rows[mechanism.statistic.class_table()])


def near_reference(divergence: Floats, knowledge: float) -> tuple[float, float]:
    """Guarantee: no prior with D(p || uniform) <= knowledge leaks more than the bound, up to rounding; and its s.

    L <= s K + s log( mean_x exp( D_x / s ) ) for D_x = D( q(.|x) || r ) and any s > 0 (MATH 4.4 with theta = 0), which
    is I + s K + Var D / 2s + ... at r the mean row; s is where that is least.
    """
    many = len(divergence)
    mean = float(np.add.reduce(divergence)) / many
    apart = divergence - mean
    s = min(max(1.0, math.sqrt(float(apart.dot(apart)) / many / (2 * knowledge))), LARGEST_S)
    above = s * math.log1p(float(np.add.reduce(np.expm1(apart / s))) / many)
    return mean + above + s * knowledge, s


def _possible(problem: AuditProblem) -> bool:
    """Whether there is one record, written out, and an adversary who may know all of it or nothing."""
    mechanism, adversary, settings = problem.mechanism, problem.adversary, problem.settings
    records = mechanism.records
    return (
        len(records) == 1
        and mechanism.has_rows
        and adversary.kind == "bounded"
        and (adversary.free or adversary.knowledge <= NO_KNOWLEDGE)
        and adversary.reference.uniform
        and (problem.secret is None or problem.secret == 0)
        and max(records[0], mechanism.n_outputs) <= settings.of(OneRecordSearch).values
        and "choices" in settings.portfolio.opening
        and mechanism.lost == 0
    )


def _capacity(problem: AuditProblem, rows: Floats, deadline: Deadline) -> CapacityBracket:
    """As close as the root of the choices is."""
    settings = problem.settings
    tolerance = max(settings.of(ChoiceSearch).tolerance * problem.tolerance, settings.of(ChoiceSearch).finest)
    accuracy = settings.of(ChoiceSearch).accuracy * tolerance
    if len(rows) == 2 and rows.shape[1] <= SCALAR_OUTPUTS:  # two rows
        return two_rows(rows, accuracy)
    return bracket(rows, accuracy, deadline)


def _one_leaf(law: Floats) -> dict[str, Any]:
    log_r = np.log(law)
    return {"tree": [{"rho": (log_r - np.maximum.reduce(log_r)).tolist()}]}
