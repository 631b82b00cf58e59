"""Audits of sums of very many records: no channel is written out, and no search is needed.

Lower bound: ascents (MATH 3) on coarse classes and outputs (MATH 2.1), from the reference tilted towards the secret.
Upper bound: the trivial one; or knowledge and what the sum itself tells under the reference (MATH 4.8), which nearly
meets the lower bound where the noise is small beside the spread of the sum, blended with the entropy of the secret
where the reference is skewed, and with what the noise takes of a divergence where it is wide; or how far the rows are
from the noise around the mean (MATH 4.9).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.auditing.one_secret import LEAST_ORDER_S, MOST_ORDER_S, RARE, Maximal, SecretAudit, Sibson
from dalenius.bounds.choices import obvious
from dalenius.errors import InputError
from dalenius.model import secret as secrets
from dalenius.model.additive import Additive
from dalenius.model.reference import UNIFORM, Reference, group_sums
from dalenius.model.secret import Function, Secret
from dalenius.model.statistic import Sum
from dalenius.numerics.deferred import entr, logsumexp, minimize, minimize_scalar
from dalenius.reductions.cells import Cells, Floats
from dalenius.reductions.coarse import Grid, coarsen
from dalenius.reductions.lump import Lift
from dalenius.search.ascent import SMALL_KNOWLEDGE, ascend, climb
from dalenius.search.deadline import Deadline

ROUNDS = 400
STILL = 1e-9  # a gain per round that is not worth another
TILTS = (0.1, 0.5, 1.0)  # of the tilt that uses up the knowledge
WAVES = (2, 5, 16, 64)  # of a secret that follows the sum up and down
RARE_BLOCKS = 200  # of rare classes on either side
MOST_VALUES = 64  # of a group of records
NOISY = 0.999  # contraction that is worth a bound
SHARES = 30.0  # shares of a blend lie between 1 / (1 + e^30) and its complement
BLENDS = ((-1.0, -3.0), (1.0, -3.0), (5.0, -6.0), (1.0, -1.0))  # where to begin: log odds of the share, log(order - 1)


@dataclass(frozen=True)
class Blend(Maximal):
    """share I(A;Y) + (1 - share) H(A), paid for with share x order x eta of knowledge (MATH 4.8).

    eta: how much of a divergence the noise leaves, or 1. With lam = share x order x eta and c = 1 - share + lam it is
    lam K + c log sum_a rho(a)^(lam/c) exp( share G_a / c ),
    G_a = (order-1) log sum_t rho(t|a) ( rho(t|a) / rho(t) )^(1/(order-1)).
    """

    order: float = 2.0
    share: float = 1.0

    @classmethod
    def best(cls, log_reference: Floats, knowledge: float, eta: float = 1.0) -> "Blend":
        """Choose order and share, for log rho(a,t) as (A, K). Rare classes come in blocks, by their largest ratio."""
        log_a = logsumexp(log_reference, axis=1)
        held = np.isfinite(log_a)
        log_a, joint = log_a[held], log_reference[held]
        given, ratio = in_blocks(joint - log_a[:, None], logsumexp(joint, axis=0))

        def told(power: float) -> Floats:
            return np.asarray(logsumexp(np.where(np.isfinite(given), given + power * ratio, -np.inf), axis=1) / power)

        return cls.chosen(log_a, told, knowledge, eta)

    @classmethod
    def chosen(cls, log_a: Floats, told: Callable[[float], Floats], knowledge: float, eta: float) -> "Blend":
        """Choose order and share, for log rho(a) and G_a by 1/(order-1)."""

        def bound(at: Floats) -> float:
            share, power = 1 / (1 + math.exp(-at[0])), math.exp(-at[1])
            return blended(log_a, told(power), eta, knowledge, power=power, share=share)

        box = [(-SHARES, SHARES), (math.log(LEAST_ORDER_S), math.log(MOST_ORDER_S))]
        found = [minimize(bound, at, method="Nelder-Mead", bounds=box) for at in BLENDS]
        at = min(found, key=lambda f: float(f.fun))
        return cls(float(at.fun), 1 + math.exp(float(at.x[1])), 1 / (1 + math.exp(-float(at.x[0]))))


def blended(log_a: Floats, told: Floats, eta: float, knowledge: float, *, power: float, share: float) -> float:  # noqa: PLR0913 - the formula
    """The bound of a Blend, power = 1/(order-1), told = G_a."""
    lam = share * (1 + 1 / power) * eta
    total = 1 - share + lam
    return lam * knowledge + total * float(logsumexp((share * told + lam * log_a) / total))


def in_blocks(given: Floats, log_t: Floats) -> tuple[Floats, Floats]:
    """log rho(t|a) and the log ratio to rho(t): of single classes, and where they are rare of blocks of classes.

    A block has the sum of its masses and its largest ratio.
    """
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isfinite(given), given - log_t, -np.inf)
    likely = np.flatnonzero(given.max(axis=0) > given.max() - RARE)
    first, end, size = int(likely[0]), int(likely[-1]) + 1, given.shape[1]
    inner = np.arange(first, end)
    outer = [
        np.unique(np.linspace(low, high, RARE_BLOCKS, endpoint=False).astype(int))
        for low, high in ((0, first), (end, size))
        if high > low
    ]
    starts = np.unique(np.concatenate([inner, *outer]))
    return np.logaddexp.reduceat(given, starts, axis=1), np.maximum.reduceat(ratio, starts, axis=1)


@dataclass(frozen=True)
class Centre(Maximal):
    """s K + s log sum_t rho(t) exp( D(q_t || r) / s ), r the noise around an integer (MATH 4.9)."""

    centre: int = 0
    s: float = 1.0

    @classmethod
    def best(cls, mechanism: Additive, knowledge: float, reference: Reference = UNIFORM) -> "Centre":
        """Put r around the mean answer, and choose s."""
        log_size, answers = reference.log_classes(mechanism.statistic), mechanism.answers
        centre = round(float(np.exp(log_size) @ answers))
        with np.errstate(over="ignore"):
            far = mechanism.noise.divergence(np.abs(answers - centre).astype(float))

        def bound(log_s: float) -> float:
            s = math.exp(log_s)
            return s * (knowledge + float(logsumexp(log_size + far / s)))

        found = minimize_scalar(bound, bounds=(math.log(LEAST_ORDER_S), math.log(MOST_ORDER_S)), method="bounded")
        return cls(float(found.fun), centre, math.exp(float(found.x)))


def audit_large(  # noqa: PLR0913 - a problem, and how hard to try
    mechanism: Additive,
    knowledge: float,
    tolerance: float,
    deadline: Deadline,
    *,
    secret: Secret,
    reference: Reference = UNIFORM,
) -> tuple[SecretAudit, Lift, Grid]:
    """Bracket max I(secret;Y), with the way from coarse cells to classes."""
    if (reason := refusal(mechanism, secret, reference)) is not None:
        raise InputError(reason)
    proofs, outputs = closed_forms(mechanism, knowledge, secret, reference), len(mechanism.labels)
    return from_below(
        mechanism, knowledge, tolerance, deadline, secret=secret, reference=reference, proofs=proofs, outputs=outputs
    )


def closed_forms(mechanism: Additive, knowledge: float, secret: Secret, reference: Reference) -> list[Maximal]:
    """Upper bounds of I(secret;Y) that need no rows."""
    log_joint = reference.log_joint(mechanism.statistic, secret)
    proofs: list[Maximal] = [Sibson.best(log_joint, knowledge), Centre.best(mechanism, knowledge, reference)]
    if not reference.uniform:  # without one every value is as likely, and Sibson's choice of r is the better
        proofs.append(Blend.best(log_joint, knowledge))
    if (eta := mechanism.contraction()) < NOISY:
        proofs.append(Blend.best(log_joint, knowledge, eta))
    return proofs


def from_below(  # noqa: PLR0913 - a problem, and how hard to try
    mechanism: Additive,
    knowledge: float,
    tolerance: float,
    deadline: Deadline,
    *,
    secret: Secret,
    reference: Reference,
    proofs: Sequence[Maximal],
    outputs: float,
    known: Floats | None = None,
) -> tuple[SecretAudit, Lift, Grid]:
    """Bracket max I(secret;Y) between the best prior on coarse cells and the best of these proofs.

    outputs: how many the release has, of which the mechanism may be a part. known: a prior over values of the secret
    and classes, from which to begin as well.
    """
    lumped, lift, grid = coarsen(mechanism, secret, knowledge, reference)
    cells = Cells(lumped, knowledge)
    trivial = min(math.log(lumped.secrets), math.log(outputs))
    audit = SecretAudit(cells, trivial, tolerance)
    audit.proofs = [min(audit.proof, *proofs, key=lambda p: p.upper)]
    deadline.report_progress(0, 1, 0.0, audit.upper, "coarse classes")
    if knowledge < SMALL_KNOWLEDGE:
        found = ascend(cells, deadline, np.random.default_rng(0))
        audit.pi, audit.lower = found.pi, found.value
    else:
        weight = np.exp(reference.log_classes(mechanism.statistic))
        starts = _starts(mechanism, weight, _sums(mechanism, secret), lift, cells)
        if known is not None:
            held = lift.cell_of >= 0
            start = np.bincount(lift.cell_of[held], weights=known[held], minlength=cells.size)
            starts = np.concatenate([starts, start[None] / start.sum()])
        pi, value, _ = climb(cells, starts, deadline, ROUNDS, still=STILL)
        best = int(np.argmax(value))
        audit.pi, audit.lower = pi[best], float(value[best])
    audit.unconstrained = (max(audit.lower, _apart(mechanism, np.isfinite(lift.log_share)), obvious(cells)), trivial)
    deadline.report_progress(0, 1, audit.lower, audit.upper, "ascent")
    return audit, lift, grid


def refusal(mechanism: Additive, secret: Secret, reference: Reference) -> str | None:
    """Why not: other secrets than groups, and other references than one law for all, need a list of datasets."""
    if isinstance(secret, Function) or reference.kind in ("marginals", "weights"):
        what = "a secret that is a function" if isinstance(secret, Function) else f"a reference of {reference.kind}"
        return (
            f"{what} needs a channel that is written out, and {mechanism.name} of {mechanism.query} is not; name a "
            "group of records, give one law for all records, or use fewer records"
        )
    if secrets.size(secret, mechanism.records) > MOST_VALUES:
        return (
            f"{secrets.name(secret)} have {secrets.size(secret, mechanism.records)} values, above the limit of "
            f"{MOST_VALUES} for so many records; name fewer"
        )
    return None


def _starts(mechanism: Additive, weight: Floats, sums: Floats, lift: Lift, cells: Cells) -> Floats:
    """rho exp( secret x sum ), both centred: tilts use up to all knowledge; and waves along the sum.

    Values of the secret are taken by what they add to the sum, and, where several add the same, also by their number.
    """
    shape = lift.cell_of.shape
    place = _centred(mechanism.answers.astype(float), weight)
    place, phase = np.broadcast_to(place, shape), np.broadcast_to(np.cumsum(weight), shape)

    def mean(x: Floats) -> Floats:
        total = np.zeros(cells.size)
        for row, cell, log_share in zip(x, lift.cell_of, lift.log_share, strict=True):
            held = cell >= 0
            total += np.bincount(cell[held], weights=(row * np.exp(log_share))[held], minlength=cells.size)
        return total

    x, u = mean(place), mean(phase)
    most = math.sqrt(2 * cells.knowledge)
    powers: list[Floats] = []
    orders = [sums] if np.unique(sums).size == sums.size else [sums, np.argsort(np.argsort(sums, kind="stable"))]
    for order in orders:
        lean = mean(np.broadcast_to(_centred(np.asarray(order, dtype=float))[:, None], shape))
        powers += [tilt * most * lean * x for tilt in TILTS]
        powers += [min(most, 3.0) * lean * np.cos(math.pi * waves * u) for waves in WAVES]
    log_pi = cells.log_rho + np.stack(powers)
    return np.asarray(np.exp(log_pi - logsumexp(log_pi, axis=1, keepdims=True)))


def _centred(x: Floats, weight: Floats | None = None) -> Floats:
    """Mean 0 and standard deviation 1; all 0 where there is nothing to tell apart."""
    x = x - np.average(x, weights=weight)
    spread = math.sqrt(float(np.average(x**2, weights=weight)))
    return x / spread if spread > 0 else x


def _sums(mechanism: Additive, secret: Secret) -> Floats:
    """What each value of the secret adds to the sum."""
    statistic = mechanism.statistic
    assert isinstance(statistic, Sum)  # noqa: S101 - for the type checker: an Additive has no other
    return group_sums(statistic.contributions, len(secrets.members(secret) or ())).astype(float)


def _apart(mechanism: Additive, alive: NDArray[np.bool_]) -> float:
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
    """Guarantee: result <= I(A;Y) where A has this many values, all as likely, and is guessed wrong no oftener.

    The bound falls while the chance of a wrong guess is below 1 - 1/many; beyond it nothing is known.
    """
    e = min(error, 1 - 1 / many)
    return max(0.0, math.log(many) - float(entr(e) + entr(1 - e)) - e * math.log(max(many - 1, 1)))
