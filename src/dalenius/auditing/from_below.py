"""Lower bounds of releases that are never written out: the best prior on the cells of a part of the release.

A part is all of a noisy sum or several, on coarse classes and outputs (MATH 2.1); the count of one value of a
histogram; or a few records. It tells no more than the release. Ascents (MATH 3) begin from the reference, tilted.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.auditing.audited import Audited
from dalenius.auditing.one_secret import SecretAudit
from dalenius.bounds.closed_forms import SumSearch
from dalenius.bounds.proof import Proof
from dalenius.bounds.trees.choices import obvious
from dalenius.model import secret as secrets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.channels.per_record import SomeRecords
from dalenius.model.datasets import combined
from dalenius.model.problem import AuditProblem
from dalenius.model.secret import Attributes, Secret
from dalenius.model.statistic import Sum
from dalenius.numerics.information import entropy, logsumexp
from dalenius.numerics.types import Bools, Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.coarse import Coarseness, Grid, coarsen
from dalenius.reductions.lump import Lift, Lumped
from dalenius.search.ascent import SMALL_KNOWLEDGE, ascend, climb, feasible, random_priors
from dalenius.search.deadline import Deadline


@dataclass(frozen=True, eq=False)
class Look:
    """A part of a release: its cells with the way back, and priors from which ascents begin.

    apart: what an adversary without limits learns of it at least.
    """

    lumped: Lumped
    lift: Lift
    starts: Callable[[Cells], Floats]
    grid: Grid | None = None
    part: NoisySum | SomeRecords | None = None
    apart: float = 0.0


def of_sum(
    problem: AuditProblem,
    noisy: NoisySum,
    about: Secret,
    *,
    part: NoisySum | None = None,
    coarse: tuple[Lumped, Lift, Grid] | None = None,
    start: Floats | None = None,
) -> Look:
    """Return the look at a noisy sum, or at several releases whose coarse problem is given.

    part: the sum, where it is a part of the release. start: a prior over values of the secret and classes, from which
    to begin as well.
    """
    reference, cut = problem.reference, problem.settings.of(Coarseness)
    lumped, lift, grid = coarse or coarsen(noisy, about, problem.knowledge, reference, cut)

    def starts(cells: Cells) -> Floats:
        weight = np.exp(reference.log_classes(noisy.statistic))
        tilted = _tilted(noisy, weight, _sums(noisy, about), lift, cells)
        if start is None:
            return tilted
        on_cells = lift.cells(start[None], cells.size)
        return np.concatenate([tilted, on_cells / on_cells.sum()])

    return Look(lumped, lift, starts, grid, part, _apart(noisy, np.isfinite(lift.log_share)))


def from_below(
    problem: AuditProblem,
    about: Secret,
    looks: Iterable[Look],
    deadline: Deadline,
    *,
    proofs: Sequence[Proof],
) -> Audited:
    """Bracket max I(about;Y) between the best prior at these looks and the best of these proofs."""
    log_values = math.log(secrets.size(about, problem.mechanism.records))
    trivial = min(log_values, math.log(problem.mechanism.n_outputs)) + problem.mechanism.lost * log_values
    best: Audited | None = None
    for look in looks:
        cells = Cells(look.lumped, problem.knowledge, problem.settings)
        audit = SecretAudit(cells, trivial, problem.tolerance, relative=problem.relative)
        audit.try_formulas(*proofs)
        deadline.report_progress(0, 1, 0.0, audit.upper, "coarse classes")
        if problem.knowledge < SMALL_KNOWLEDGE:
            found = ascend(cells, deadline, np.random.default_rng(0))
            audit.pi, audit.lower = found.pi, found.value
        else:
            raise_lower(problem, audit, look.starts(cells), deadline, digits=look.grid is not None)
        audit.unconstrained = (max(audit.lower, look.apart, obvious(cells)), trivial)
        deadline.report_progress(0, 1, audit.lower, audit.upper, "ascent")
        if best is None or audit.lower > best.audit.lower:
            best = Audited(audit, look.lift, look.grid, look.part)
        if not audit.open or deadline.expired():
            break
    assert best is not None  # for the type checker: there is a first look
    return best


def raise_lower(
    problem: AuditProblem, audit: SecretAudit, starts: Floats, deadline: Deadline, *, digits: bool = True
) -> None:
    """Climb from these priors, and keep the best of them where it leaks more than the one that is known.

    digits: whether a certificate states masses with few digits where a share is asked for.
    """
    cells, settings = audit.cells, problem.settings.of(SumSearch)
    pi, value, _ = climb(cells, starts, deadline, settings.rounds, still=settings.still)
    best = int(np.argmax(value))
    lower, found = float(value[best]), pi[best]
    if digits and problem.relative > 0:
        # Room for that: of the knowledge, and of what they leak.
        room = settings.digits_share * problem.relative
        found = feasible(cells, pi[best : best + 1], room)[0]
        lower = (1 - room) * float(cells.leakage(found[None])[0])
    if lower > audit.lower:
        audit.pi, audit.lower = found, lower


def ascend_again(problem: AuditProblem, audit: SecretAudit, deadline: Deadline, idle_rounds: int = 3) -> None:
    """Ascents around the best prior and from anywhere, until the bracket closes or some in a row gain nothing."""
    cells, rng, idle = audit.cells, np.random.default_rng(0), 0
    while audit.worth_more and idle < idle_rounds and not deadline.expired():
        around = audit.pi * np.exp(rng.normal(size=(2, cells.size)))
        starts = np.concatenate([around / around.sum(axis=1, keepdims=True), random_priors(cells, 2, rng)])
        before = audit.lower
        raise_lower(problem, audit, starts, deadline)
        idle = idle + 1 if audit.lower <= before * (1 + problem.settings.of(SumSearch).gain) else 0
        deadline.report_progress(0, 1, audit.lower, audit.upper, "ascent")


def needs_rows(mechanism: Mechanism, what: str, remedy: str) -> str:
    """Say that a question needs a list of datasets."""
    return f"{what} a channel that is written out, and {mechanism.name} of {mechanism.query} is not; {remedy}"


def tilted_by(cells: Cells, powers: Floats) -> Floats:
    """rho exp( powers ), normalised: (B, C)."""
    log_pi = cells.log_rho + powers
    return np.asarray(np.exp(log_pi - logsumexp(log_pi, axis=1, keepdims=True)))


def _tilted(noisy: NoisySum, weight: Floats, sums: Floats, lift: Lift, cells: Cells) -> Floats:
    """rho exp( secret x sum ), both centred: tilts use up to all knowledge; and waves along the sum.

    Values of the secret are taken by what they add to the sum, and, where several add the same, also by their number.
    """
    settings, shape = cells.settings.of(SumSearch), lift.cell_of.shape

    def mean(x: Floats) -> Floats:
        total = np.zeros(cells.size)
        for row, cell, log_share in zip(np.broadcast_to(x, shape), lift.cell_of, lift.log_share, strict=True):
            alive = cell >= 0
            total += np.bincount(cell[alive], weights=(row * np.exp(log_share))[alive], minlength=cells.size)
        return total

    x, u = mean(_centred(noisy.answers.astype(float), weight)), mean(np.cumsum(weight))
    most = math.sqrt(2 * cells.knowledge)
    powers: list[Floats] = []
    orders = [sums] if np.unique(sums).size == sums.size else [sums, np.argsort(np.argsort(sums, kind="stable"))]
    for order in orders:
        lean = mean(_centred(np.asarray(order, dtype=float))[:, None])
        powers += [tilt * most * lean * x for tilt in settings.tilts]
        steep = min(most, settings.steepest_wave)
        powers += [steep * lean * np.cos(math.pi * waves * u) for waves in settings.waves]
    return tilted_by(cells, np.stack(powers))


def _centred(x: Floats, weight: Floats | None = None) -> Floats:
    """Mean 0 and standard deviation 1; all 0 where there is nothing to tell apart."""
    x = x - np.average(x, weights=weight)
    spread = math.sqrt(float(np.average(x**2, weights=weight)))
    return x / spread if spread > 0 else x


def _sums(noisy: NoisySum, secret: Secret) -> Floats:
    """What each value of the secret adds to the sum; an attribute, in the mean of the values that have it."""
    statistic = noisy.statistic
    assert isinstance(statistic, Sum)  # for the type checker: a NoisySum has no other
    if isinstance(secret, Attributes):
        whole = _sums(noisy, secret.whole)
        return np.bincount(secret.values, weights=whole) / np.bincount(secret.values)
    return np.asarray(combined([np.array(statistic.contributions)] * len(secrets.members(secret) or ())), dtype=float)


def _apart(noisy: NoisySum, alive: Bools) -> float:
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
    near = int(np.diff(noisy.answers[places]).min()) // 2 if many > 1 else 0
    e = min(1.0, 2 * float(noisy.noise.tail(np.array([float(near)]))[0])) if near > 0 else 1.0
    return fano(many, e)


def fano(many: int, error: float) -> float:
    """Guarantee: result <= I(A;Y) where A is uniform on this many values and guesses of A err at most this often.

    The bound falls while the chance of a wrong guess is below 1 - 1/many; beyond it nothing is known.
    """
    e = min(error, 1 - 1 / many)
    return max(0.0, math.log(many) - float(entropy([e, 1 - e])) - e * math.log(max(many - 1, 1)))
