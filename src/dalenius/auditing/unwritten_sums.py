"""Audits of sums of very many records: no channel is written out, and no search is needed.

Lower bound: ascents on coarse cells (`from_below.py`). Upper bound: the trivial one; or knowledge and what the sum
itself tells under the reference (MATH 4.8), which nearly meets the lower bound where the noise is small beside the
spread of the sum, blended with the entropy of the secret where the reference is skewed, and with what the noise takes
of a divergence where it is wide; or how far the rows are from a law by steps (MATH 4.9): the capacity, with and without
limited knowledge.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np

from dalenius.auditing import portfolio
from dalenius.auditing.audited import Audited
from dalenius.auditing.from_below import ascend_again, from_below, needs_rows, of_sum, raise_lower
from dalenius.auditing.one_secret import SecretAudit
from dalenius.bounds import output_law
from dalenius.bounds.closed_forms import SumSearch, blend, power, sibson
from dalenius.bounds.closing import Formula
from dalenius.bounds.on_points import OnPoints, on_points
from dalenius.bounds.output_law import laws_below
from dalenius.bounds.trees.grid_rows import Inner
from dalenius.bounds.trees.window import Window, WindowSearch, in_window
from dalenius.bounds.unwritten_rows import PointRows, Points
from dalenius.errors import InputError
from dalenius.model import secret as secrets
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.problem import AuditProblem
from dalenius.model.secret import Function, Secret
from dalenius.model.statistic import Sum
from dalenius.numerics.information import mutual_information
from dalenius.reductions.cells import Cells
from dalenius.reductions.coarse import Coarseness
from dalenius.search.ascent import SMALL_KNOWLEDGE, polish
from dalenius.search.deadline import Deadline


def audit_large(problem: AuditProblem, mechanism: NoisySum, about: Secret, deadline: Deadline) -> Audited:
    """Bracket max I(about;Y), with the way from coarse cells to classes."""
    if (reason := refusal(problem, mechanism, about)) is not None:
        raise InputError(reason)
    if (near := mechanism.near(problem.reference)) is not mechanism:
        return replace(audit_large(problem, near, about, deadline), part=near)
    # A short limit is not for formulas alone: without an ascent there is no lower bound.
    formulas = deadline.part(problem.settings.of(SumSearch).formula_share * deadline.left)
    proofs = closed_forms(problem, mechanism, about, formulas)
    first = from_below(problem, about, [of_sum(problem, mechanism, about)], deadline, proofs=proofs)
    audit, entries = first.audit, len(first.lift.cell_of) * mechanism.n_outputs
    if problem.knowledge <= 0 and audit.open and entries <= problem.settings.of(SumSearch).told_entries:
        joint = mechanism.convolved(np.exp(problem.reference.log_joint(mechanism.statistic, about)))
        audit.try_formulas(Formula("reference", float(mutual_information(joint / joint.sum()))))
    # Points lose this share: nothing is to be gained where the formulas come as near.
    if audit.gap > problem.settings.of(PointRows).lost * audit.upper:
        try_points(problem, mechanism, about, deadline, audit)
    ascend_again(problem, audit, deadline)
    if not audit.worth_more or deadline.expired():
        return first
    # Cuts between all outputs where there is room for them, and points that lose a part of the gap to reach.
    cuts = replace(problem.settings.of(Coarseness), fineness=mechanism.n_outputs)
    fine = replace(problem, settings=problem.settings.having(cuts))
    look = of_sum(fine, mechanism, about, start=first.masses)
    found = from_below(fine, about, [look], deadline, proofs=[audit.proof])
    best = max(first, found, key=lambda tried: tried.audit.lower)
    best.audit.tried = audit.tried
    audit = best.audit
    # What points lose is a small share, so that finer ones close a small gap alone; points at all answers, which other
    # noise has, lose nothing.
    if mechanism.rate is not None and audit.gap > problem.settings.of(PointRows).mended * audit.upper:
        _in_windows(problem, mechanism, about, deadline, best)
    try_points(problem, mechanism, about, deadline, audit, fine=audit.tolerance)
    ascend_again(problem, audit, deadline)
    _in_windows(problem, mechanism, about, deadline, best)
    return best


def _in_windows(problem: AuditProblem, mechanism: NoisySum, about: Secret, deadline: Deadline, first: Audited) -> None:
    """Bounds that need rows, on those that matter: wider windows where the first tell too much by what is far."""
    audit, lift = first.audit, first.lift
    settings, log_joint = problem.settings.of(WindowSearch), problem.reference.log_joint(mechanism.statistic, about)
    alive = np.isfinite(log_joint).any(axis=1)
    log_joint = log_joint[alive]
    plan = problem.settings.portfolio.general
    if len(log_joint) > settings.values or "window" not in problem.settings.portfolio.opening:
        return
    for spreads, rest in zip(settings.spreads, settings.rest, strict=True):
        window = Window.around(mechanism, log_joint, spreads, rest)
        late = not audit.worth_more or deadline.expired()
        if late or len(log_joint) * math.prod(window.size) > settings.entries:
            return
        cells = Cells(window.cells(mechanism, log_joint), problem.knowledge, problem.settings)
        inner = Inner(cells, audit.trivial, 0.0, exact_cells=False, given=audit)
        start = window.there(log_joint, first.masses[alive])
        inner.keep_lower(polish(cells, start[None], deadline, rounds=problem.settings.effort.relaxed_rounds))
        if "stationary" in problem.settings.portfolio.opening:
            inner.try_formulas(output_law.steep(cells, inner.pi, inner.s, deadline))
        open_routes = portfolio.routes(plan, inner, deadline)
        best = inner.lower
        for _ in portfolio.take_turns(open_routes, inner, lambda: None):
            deadline.report_progress(0, 1, audit.lower, min(audit.upper, inner.upper), "window")
            if inner.lower > best:
                best = inner.lower
                masses = np.zeros((1, *lift.cell_of.shape))
                masses[0, alive] = window.back(log_joint, inner.pi)
                home = lift.cells(masses, audit.cells.size)
                raise_lower(problem, audit, home, deadline)
            if inner.upper <= audit.lower + audit.tolerance or deadline.expired():
                break
        audit.try_formulas(in_window(window, inner.proof))


def closed_forms(problem: AuditProblem, mechanism: NoisySum, about: Secret, deadline: Deadline) -> list[Formula]:
    """Upper bounds of I(about;Y) that need no rows."""
    knowledge, reference, settings = problem.knowledge, problem.reference, problem.settings.of(SumSearch)
    if "formulas" not in problem.settings.portfolio.opening:
        return []
    log_joint = reference.log_joint(mechanism.statistic, about)
    forms: list[Callable[[], Formula | None]] = [
        lambda: power(mechanism, knowledge, reference) if isinstance(about, int) else None,
        lambda: sibson(log_joint, knowledge),
    ]
    # Without a reference all values have the same probability, and Sibson's choice of r is better.
    if not reference.uniform:
        forms.append(lambda: blend(log_joint, knowledge))
    if (eta := mechanism.contraction()) < settings.least_contraction_used:
        forms.append(lambda: blend(log_joint, knowledge, eta))
    proofs: list[Formula] = []
    for form in forms:
        # With a million classes each takes half a second or more.
        if proofs and deadline.expired():
            return proofs
        proofs += [found for found in [form()] if found is not None]
    least = min(proof.upper for proof in proofs)
    if cast("Sum", mechanism.statistic).seen is not None:
        # A verifier goes through all classes.
        return proofs
    return [*proofs, *laws_below(mechanism, knowledge, deadline, reference, known=least)]


def try_points(
    problem: AuditProblem,
    mechanism: NoisySum,
    about: Secret,
    deadline: Deadline,
    audit: SecretAudit,
    *,
    noise: OnPoints | None = None,
    fine: float = 0.0,
) -> None:
    """Try monotone rows on points. fine: the gap that they are to leave. noise: in place of the mechanism's own."""
    settings, noise = problem.settings, noise or on_points(mechanism)
    log_joint = problem.reference.log_joint(mechanism.statistic, about)
    few = len(log_joint) * settings.of(PointRows).least <= settings.of(PointRows).cells
    tried = "monotone" in settings.portfolio.bounds and problem.knowledge > SMALL_KNOWLEDGE and audit.worth_more
    if tried and noise and few and len(log_joint) > 1 and mechanism.answers.size > 1 and not deadline.expired():
        given = problem.knowledge, settings, deadline, problem.relative, audit.lower, fine
        found = Points(np.asarray(mechanism.answers), noise, log_joint, *given).best()
        audit.try_formulas(*([] if found is None else [found]))
        deadline.report_progress(0, 1, audit.lower, audit.upper, "monotone rows")


def refusal(problem: AuditProblem, mechanism: NoisySum, secret: Secret) -> str | None:
    """Why not: other secrets than groups, and other references than one law for all, need a list of datasets."""
    reference, settings = problem.reference, problem.settings.of(SumSearch)
    if isinstance(secret, Function) or reference.kind in ("marginals", "weights"):
        what = "a secret that is a function" if isinstance(secret, Function) else f"a reference of {reference.kind}"
        remedy = "name a group of records, give one law for all records, or use fewer records"
        return needs_rows(mechanism, f"{what} needs", remedy)
    # Every value has a law of the classes.
    most = min(max(settings.pairs // mechanism.statistic.size, settings.few_values), settings.values)
    if (values := secrets.size(secret, mechanism.records)) > most:
        return (
            f"{secrets.name(secret)} have {values} values, above the limit of {most} for this number of records; name "
            "fewer"
        )
    return None
