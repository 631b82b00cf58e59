"""Audits of sums of very many records: no channel is written out, and no search is needed.

Lower bound: ascents (MATH 3) on coarse classes and outputs (MATH 2.1), from the reference tilted towards the secret.
Upper bound: the trivial one; or knowledge and what the sum itself tells under the reference (MATH 4.8), which nearly
meets the lower bound where the noise is small beside the spread of the sum, blended with the entropy of the secret
where the reference is skewed, and with what the noise takes of a divergence where it is wide; or how far the rows are
from a law by steps (MATH 4.9): the capacity, with and without limited knowledge.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dalenius.auditing import portfolio
from dalenius.auditing.audited import Audited
from dalenius.auditing.one_secret import SecretAudit
from dalenius.bounds import stationary
from dalenius.bounds.closed_forms import SumSearch, blend, sibson
from dalenius.bounds.closing import Formula
from dalenius.bounds.on_points import OnPoints, on_points
from dalenius.bounds.output_law import laws_below
from dalenius.bounds.power import power
from dalenius.bounds.proof import Proof
from dalenius.bounds.trees.choices import obvious
from dalenius.bounds.trees.grid_rows import Inner
from dalenius.bounds.trees.window import InWindow, Window, WindowSearch
from dalenius.bounds.unwritten_rows import PointRows, Points
from dalenius.errors import InputError
from dalenius.model import secret as secrets
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.datasets import combined
from dalenius.model.problem import AuditProblem
from dalenius.model.secret import Attributes, Function, Secret
from dalenius.model.statistic import Sum
from dalenius.numerics.information import entropy, logsumexp, mutual_information
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.coarse import Coarseness, Grid, coarsen
from dalenius.reductions.lump import Lift, Lumped
from dalenius.search.ascent import SMALL_KNOWLEDGE, ascend, climb, feasible, polish, random_priors
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
    found = from_below(problem, mechanism, about, deadline, proofs=proofs, outputs=mechanism.n_outputs)
    audit, entries = found.audit, len(found.lift.cell_of) * mechanism.n_outputs
    if problem.knowledge <= 0 and audit.open and entries <= problem.settings.of(SumSearch).told_entries:
        joint = mechanism.convolved(np.exp(problem.reference.log_joint(mechanism.statistic, about)))
        audit.try_formulas(Formula("reference", float(mutual_information(joint / joint.sum()))))
    # Points lose this share: nothing is to be gained where the formulas come as near.
    lost = problem.settings.of(PointRows).lost * audit.upper
    hope = audit.worth_more and audit.gap > lost and not deadline.expired()
    if hope and (rows := on_few_points(problem, mechanism, about, deadline, lower=audit.lower)) is not None:
        audit.try_formulas(rows)
        deadline.report_progress(0, 1, audit.lower, audit.upper, "monotone rows")
    _ascend_again(problem, audit, deadline)
    return _finer(problem, mechanism, about, deadline, found)


def _finer(problem: AuditProblem, mechanism: NoisySum, about: Secret, deadline: Deadline, first: Audited) -> Audited:
    """Cuts between all outputs where there is room for them, and points that lose a part of the gap to reach."""
    if not first.audit.worth_more or deadline.expired():
        return first
    cuts = replace(problem.settings.of(Coarseness), fineness=mechanism.n_outputs)
    fine = replace(problem, settings=problem.settings.having(cuts))
    start, proofs = first.masses, [first.audit.proof]
    found = from_below(fine, mechanism, about, deadline, proofs=proofs, outputs=mechanism.n_outputs, start=start)
    best = max(first, found, key=lambda tried: tried.audit.lower)
    audit, audit.tried = best.audit, first.audit.tried
    # What points lose is a small share, so that finer ones close a small gap alone; points at all answers, which other
    # noise has, lose nothing.
    if mechanism.rate is not None and audit.gap > problem.settings.of(PointRows).mended * audit.upper:
        _in_windows(problem, mechanism, about, deadline, best)
    if audit.worth_more and not deadline.expired():
        rows = on_few_points(problem, mechanism, about, deadline, lower=audit.lower, fine=audit.tolerance)
        audit.try_formulas(*([] if rows is None else [rows]))
        deadline.report_progress(0, 1, audit.lower, audit.upper, "monotone rows")
        _ascend_again(problem, audit, deadline)
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
            inner.try_formulas(stationary.steep(cells, inner.pi, inner.s, deadline))
        open_routes = portfolio.routes(plan, inner, deadline)
        best = inner.lower
        for _ in portfolio.take_turns(open_routes, inner, lambda: None):
            deadline.report_progress(0, 1, audit.lower, min(audit.upper, inner.upper), "window")
            if inner.lower > best:
                best = inner.lower
                masses = np.zeros((1, *lift.cell_of.shape))
                masses[0, alive] = window.back(log_joint, inner.pi)
                home = lift.cells(masses, audit.cells.size)
                _raise(problem, audit, home, deadline)
            if inner.upper <= audit.lower + audit.tolerance or deadline.expired():
                break
        audit.try_formulas(InWindow(window, inner.proof))


def _ascend_again(problem: AuditProblem, audit: SecretAudit, deadline: Deadline, idle_rounds: int = 3) -> None:
    """Ascents around the best prior and from anywhere, until the bracket closes or some in a row gain nothing."""
    cells, rng, idle = audit.cells, np.random.default_rng(0), 0
    while audit.worth_more and idle < idle_rounds and not deadline.expired():
        around = audit.pi * np.exp(rng.normal(size=(2, cells.size)))
        starts = np.concatenate([around / around.sum(axis=1, keepdims=True), random_priors(cells, 2, rng)])
        before = audit.lower
        _raise(problem, audit, starts, deadline)
        idle = idle + 1 if audit.lower <= before * (1 + problem.settings.of(SumSearch).gain) else 0
        deadline.report_progress(0, 1, audit.lower, audit.upper, "ascent")


def _raise(problem: AuditProblem, audit: SecretAudit, starts: Floats, deadline: Deadline) -> None:
    """Climb from these priors, and keep the best of them where it leaks more than the one that is known."""
    cells, settings = audit.cells, problem.settings.of(SumSearch)
    pi, value, _ = climb(cells, starts, deadline, settings.rounds, still=settings.still)
    best = int(np.argmax(value))
    lower, found = float(value[best]), pi[best]
    if problem.relative > 0:
        # Room for masses of few digits, of which a certificate consists: knowledge, and what they leak.
        room = settings.digits_share * problem.relative
        found = feasible(cells, pi[best : best + 1], room)[0]
        lower = (1 - room) * float(cells.leakage(found[None])[0])
    if lower > audit.lower:
        audit.pi, audit.lower = found, lower


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


def on_few_points(
    problem: AuditProblem,
    mechanism: NoisySum,
    about: Secret,
    deadline: Deadline,
    *,
    lower: float,
    fine: float = 0.0,
    noise: OnPoints | None = None,
) -> Formula | None:
    """Monotone rows on points. fine: the gap that they are to leave. noise: in place of the mechanism's own."""
    settings, noise = problem.settings, noise or on_points(mechanism)
    log_joint = problem.reference.log_joint(mechanism.statistic, about)
    few = len(log_joint) * settings.of(PointRows).least <= settings.of(PointRows).cells
    tried = "monotone" in settings.portfolio.bounds and problem.knowledge > SMALL_KNOWLEDGE
    if noise is None or not (few and tried and len(log_joint) > 1 and mechanism.answers.size > 1):
        return None
    answers = np.asarray(mechanism.answers)
    return Points(
        answers, noise, log_joint, problem.knowledge, settings, deadline, problem.relative, lower, fine
    ).best()


def from_below(
    problem: AuditProblem,
    mechanism: NoisySum,
    about: Secret,
    deadline: Deadline,
    *,
    proofs: Sequence[Proof],
    outputs: float,
    start: Floats | None = None,
    coarse: tuple[Lumped, Lift, Grid] | None = None,
) -> Audited:
    """Bracket max I(about;Y) between the best prior on coarse cells and the best of these proofs.

    mechanism: a part of the release, which has this many outputs, or all of it. start: a prior over values of the
    secret and classes, from which to begin as well. coarse: the coarse problem, where it is that of several releases.
    """
    knowledge, reference, settings = problem.knowledge, problem.reference, problem.settings
    lumped, lift, grid = coarse or coarsen(mechanism, about, knowledge, reference, settings.of(Coarseness))
    cells = Cells(lumped, knowledge, settings)
    trivial = min(math.log(lumped.secrets), math.log(outputs)) + mechanism.lost * math.log(lumped.secrets)
    audit = SecretAudit(cells, trivial, problem.tolerance, relative=problem.relative)
    audit.try_formulas(*proofs)
    deadline.report_progress(0, 1, 0.0, audit.upper, "coarse classes")
    if knowledge < SMALL_KNOWLEDGE:
        found = ascend(cells, deadline, np.random.default_rng(0))
        audit.pi, audit.lower = found.pi, found.value
    else:
        weight = np.exp(reference.log_classes(mechanism.statistic))
        starts = _starts(mechanism, weight, _sums(mechanism, about), lift, cells)
        if start is not None:
            (on_cells,) = lift.cells(start[None], cells.size)
            starts = np.concatenate([starts, on_cells[None] / on_cells.sum()])
        _raise(problem, audit, starts, deadline)
    audit.unconstrained = (max(audit.lower, _apart(mechanism, np.isfinite(lift.log_share)), obvious(cells)), trivial)
    deadline.report_progress(0, 1, audit.lower, audit.upper, "ascent")
    return Audited(audit, lift, grid)


def refusal(problem: AuditProblem, mechanism: NoisySum, secret: Secret) -> str | None:
    """Why not: other secrets than groups, and other references than one law for all, need a list of datasets."""
    reference, settings = problem.reference, problem.settings.of(SumSearch)
    # Every value has a law of the classes.
    many = settings.pairs // mechanism.statistic.size
    most = min(max(many, settings.few_values), settings.values)
    if isinstance(secret, Function) or reference.kind in ("marginals", "weights"):
        what = "a secret that is a function" if isinstance(secret, Function) else f"a reference of {reference.kind}"
        return (
            f"{what} needs a channel that is written out, and {mechanism.name} of {mechanism.query} is not; name a "
            "group of records, give one law for all records, or use fewer records"
        )
    if secrets.size(secret, mechanism.records) > most:
        return (
            f"{secrets.name(secret)} have {secrets.size(secret, mechanism.records)} values, above the limit of "
            f"{most} for this number of records; name fewer"
        )
    return None


def _starts(mechanism: NoisySum, weight: Floats, sums: Floats, lift: Lift, cells: Cells) -> Floats:
    """rho exp( secret x sum ), both centred: tilts use up to all knowledge; and waves along the sum.

    Values of the secret are taken by what they add to the sum, and, where several add the same, also by their number.
    """
    settings, shape = cells.settings.of(SumSearch), lift.cell_of.shape
    place = _centred(mechanism.answers.astype(float), weight)
    place, phase = np.broadcast_to(place, shape), np.broadcast_to(np.cumsum(weight), shape)

    def mean(x: Floats) -> Floats:
        total = np.zeros(cells.size)
        for row, cell, log_share in zip(x, lift.cell_of, lift.log_share, strict=True):
            alive = cell >= 0
            total += np.bincount(cell[alive], weights=(row * np.exp(log_share))[alive], minlength=cells.size)
        return total

    x, u = mean(place), mean(phase)
    most = math.sqrt(2 * cells.knowledge)
    powers: list[Floats] = []
    orders = [sums] if np.unique(sums).size == sums.size else [sums, np.argsort(np.argsort(sums, kind="stable"))]
    for order in orders:
        lean = mean(np.broadcast_to(_centred(np.asarray(order, dtype=float))[:, None], shape))
        powers += [tilt * most * lean * x for tilt in settings.tilts]
        steep = min(most, settings.steepest_wave)
        powers += [steep * lean * np.cos(math.pi * waves * u) for waves in settings.waves]
    log_pi = cells.log_rho + np.stack(powers)
    return np.asarray(np.exp(log_pi - logsumexp(log_pi, axis=1, keepdims=True)))


def _centred(x: Floats, weight: Floats | None = None) -> Floats:
    """Mean 0 and standard deviation 1; all 0 where there is nothing to tell apart."""
    x = x - np.average(x, weights=weight)
    spread = math.sqrt(float(np.average(x**2, weights=weight)))
    return x / spread if spread > 0 else x


def _sums(mechanism: NoisySum, secret: Secret) -> Floats:
    """What each value of the secret adds to the sum; an attribute, in the mean of the values that have it."""
    statistic = mechanism.statistic
    assert isinstance(statistic, Sum)  # for the type checker: a NoisySum has no other
    if isinstance(secret, Attributes):
        whole = _sums(mechanism, secret.whole)
        return np.bincount(secret.values, weights=whole) / np.bincount(secret.values)
    return np.asarray(combined([np.array(statistic.contributions)] * len(secrets.members(secret) or ())), dtype=float)


def _apart(mechanism: NoisySum, alive: NDArray[np.bool_]) -> float:
    """Return what an adversary learns that knows one sum for each value, as far apart as can be.

    alive: which values of the secret each sum can have. With a chance e of a wrong guess
    I >= log A - h(e) - e log(A - 1) (Fano), where that is above 0.
    """
    alive = alive[alive.any(axis=1)]
    common = np.flatnonzero(alive.all(axis=0))  # sums that every value can have part in
    many = len(alive)
    if common.size < many:
        return 0.0
    places = common[np.linspace(0, common.size - 1, many).astype(int)]
    near = int(np.diff(mechanism.answers[places]).min()) // 2 if many > 1 else 0
    e = min(1.0, 2 * float(mechanism.noise.tail(np.array([float(near)]))[0])) if near > 0 else 1.0
    return fano(many, e)


def fano(many: int, error: float) -> float:
    """Guarantee: result <= I(A;Y) where A is uniform on this many values and guesses of A err at most this often.

    The bound falls while the chance of a wrong guess is below 1 - 1/many; beyond it nothing is known.
    """
    e = min(error, 1 - 1 / many)
    return max(0.0, math.log(many) - float(entropy([e, 1 - e])) - e * math.log(max(many - 1, 1)))
