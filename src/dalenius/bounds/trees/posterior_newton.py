"""The least bound of boxes of posteriors, by Newton's method in (m, log sigma) for a batch of nodes (MATH 4.10).

The bound is smooth but for the corner of max(m high, m low) = m centre + |m| half at m = 0; |m| is rounded off to
sqrt(m^2 + rounding^2), which lies above it, and made sharper as the minimum comes near.

As sigma falls to 0 the bound becomes a maximum over cells, whose corners stop Newton's method far above its minimum.
That happens where the knowledge constrains nothing, as with designed mechanisms. So sigma stays above a floor: sigma K,
what it costs, is a share of what is left to the target, and becomes smaller with it and with the rounding.
"""

from dataclasses import dataclass, replace

import numpy as np

from dalenius.bounds.trees.posterior_bound import Boxes, Evaluation, Point, PosteriorProblem, Relaxed, evaluate, tangent
from dalenius.numerics.batch import copy, put, take
from dalenius.numerics.information import TINY, safe_log
from dalenius.numerics.newton import backtrack, shortened, solve
from dalenius.numerics.types import Bools, Floats, Ints
from dalenius.search.deadline import Deadline
from dalenius.settings import Newton


@dataclass(frozen=True)
class Goal:
    """When to stop: below the target, after a number of rounds, or when the deadline is over.

    rounding: of the corner at m = 0, at first; as the settings have it unless given.
    """

    target: float
    rounds: int
    deadline: Deadline
    rounding: float | None = None


@dataclass(frozen=True, eq=False)
class PosteriorSolution:
    """The best bound of every node, and where it is attained."""

    bound: Floats
    point: Point


def _derivatives(
    problem: PosteriorProblem, nodes: Relaxed, x: Point, seen: Evaluation, rounding: Floats
) -> tuple[Floats, Floats, Bools]:
    """Gradient and Hessian in (m, log sigma), and the groups whose m they are about.

    What log sigma takes from its own curvature is left out, and so are groups that hardly any prior of the batch uses.
    """
    cells, sigma = problem.cells, x.sigma
    laws, mean_h = problem.laws(seen.w), cells.row_sum(seen.w * seen.h)
    # z_G of the relaxation
    z = (seen.p[:, :, None] * laws).sum(axis=1)
    used = _used(z, cells.settings.newton)
    nodes, m, laws, z = (
        Relaxed(nodes.linear, nodes.centre[..., used], nodes.half[..., used]),
        x.m[..., used],
        laws[..., used],
        z[:, used],
    )
    many, values, width = m.shape
    size = values * width
    hessian = np.zeros((many, size + 1, size + 1))
    gradient = np.zeros((many, size + 1))

    # d max(m high, m low) / dm = centre + half m / |m|, with |m| rounded off
    corner = np.sqrt(m**2 + np.reshape(rounding, (-1, 1, 1)) ** 2)
    slope = nodes.centre + nodes.half * m / corner
    means = []
    for a, part in enumerate(cells.slices):
        # d h_c / d m_a'G = e_a'G Q_cG, e = slope - [a = a']
        e = slope.copy()
        if a > 0:
            e[:, a - 1] -= 1
        p, w, u, q = seen.p[:, a], seen.w[:, part], laws[:, a], problem.coarse[part][:, used]
        # by m, m:   p_a e e' Cov_w(Q) / sigma
        spread = _second_moments(w, q) - u[:, :, None] * u[:, None, :]
        inside = e[:, :, :, None, None] * spread[:, None, :, None, :] * e[:, None, None, :, :]
        hessian[:, :size, :size] += (p / sigma)[:, None, None] * inside.reshape(many, size, size)
        # by m, sigma:   -p_a e Cov_w(Q, h) / sigma^2
        off = seen.h[:, part] - mean_h[:, a, None]
        cross = -(e * ((w * off) @ q)[:, None, :]).reshape(many, size) / (sigma**2)[:, None]
        hessian[:, :size, size] += p[:, None] * cross
        # by sigma, sigma:   p_a Var_w(h) / sigma^3
        hessian[:, size, size] += p * (w * off**2).sum(axis=1) / sigma**3
        means.append((e * u[:, None, :]).reshape(many, size))

    # d bound / dm = E_p E_w( e Q ); its spread between rows adds Cov_p( E_w(e Q) ) / (1+sigma)
    mean = np.stack(means, axis=1)
    gradient[:, :size] = (seen.p[:, :, None] * mean).sum(axis=1)
    apart = mean - gradient[:, None, :size]
    hessian[:, :size, :size] += (seen.p[:, :, None] * apart).transpose(0, 2, 1) @ apart / (1 + sigma)[:, None, None]
    # d log p / d sigma = log Z / (1+sigma)^2 - E_w h / (sigma (1+sigma)), centred under p
    s = sigma[:, None]
    moved = seen.log_z / (1 + s) ** 2 - mean_h / (s * (1 + s))
    moved -= (seen.p * moved).sum(axis=1, keepdims=True)
    hessian[:, :size, size] += ((seen.p * moved)[:, :, None] * apart).sum(axis=1)
    hessian[:, size, size] += (1 + sigma) * (seen.p * moved**2).sum(axis=1)
    # d bound / d sigma = K - D of the relaxation's prior, D = sum_a p [ E_w h / sigma - log Z + log p ]
    known = (seen.p * (mean_h / s - seen.log_z + safe_log(seen.p))).sum(axis=1)
    gradient[:, size] = cells.knowledge - known
    # The rounded corner: z_G half rounding^2 / |m|^3 on the diagonal
    curved = z[:, None, :] * nodes.half * np.reshape(rounding, (-1, 1, 1)) ** 2 / corner**3
    diagonal = np.arange(size)
    hessian[:, diagonal, diagonal] += curved.reshape(many, size)
    hessian[:, size, :size] = hessian[:, :size, size]

    # From sigma to log sigma: d/d log sigma = sigma d/d sigma
    gradient[:, size] *= sigma
    hessian[:, size, :] *= s
    hessian[:, :, size] *= s
    hessian[:, size, size] += np.maximum(gradient[:, size], 0.0)
    return gradient, hessian, used


def _used(z: Floats, settings: Newton) -> Bools:
    """The groups that some prior of the batch uses; all of them where they are few."""
    few = z.shape[1] <= settings.few_groups
    return np.ones(z.shape[1], dtype=bool) if few else np.asarray((z > settings.used_group).any(axis=0))


def _spread(step: Floats, used: Bools, values: int) -> Floats:
    """A step in the multipliers of used groups as one in all, log sigma last."""
    if used.all():
        return step
    whole = np.zeros((len(step), values, len(used)))
    whole[..., used] = step[:, :-1].reshape(len(step), values, -1)
    return np.concatenate([whole.reshape(len(step), -1), step[:, -1:]], axis=1)


def _second_moments(w: Floats, q: Floats, narrow: int = 8) -> Floats:
    """E_w( Q Q' ) of every node, (B, G, G); of few groups by one product, which took a quarter of the time."""
    if q.shape[1] > narrow:
        return np.asarray((w[:, :, None] * q).transpose(0, 2, 1) @ q)
    pairs = (q[:, :, None] * q[:, None, :]).reshape(len(q), -1)
    return np.asarray((w @ pairs).reshape(len(w), q.shape[1], q.shape[1]))


def _moved(problem: PosteriorProblem, x: Point, step: Floats, length: Floats, floor: Floats) -> Point:
    """The point after a step in (m, log sigma), sigma not below the floor unless it was."""
    size, (least, most) = x.m[0].size, problem.cells.settings.newton.sigma_range
    m = x.m + (length[:, None] * step[:, :size]).reshape(x.m.shape)
    lowest = np.maximum(np.minimum(floor, x.sigma), least)
    return replace(x, m=m, sigma=np.clip(x.sigma * np.exp(length * step[:, size]), lowest, most))


def _hold_sigma(gradient: Floats, hessian: Floats, held: Bools) -> None:
    """Leave log sigma, the last variable, out of the step of these nodes."""
    gradient[held, -1] = 0.0
    hessian[held, -1, :] = 0.0
    hessian[held, :, -1] = 0.0
    hessian[held, -1, -1] = 1.0


def _towards(problem: PosteriorProblem, x: Point, seen: Evaluation) -> Floats:
    """The lam of a prior nearer to the one that attains the bound, where the tangent would be tight.

    That prior has log(pi/rho) = h/sigma - log_z + log p, linear in the outputs. As h holds -eta lam, going there at
    once would overshoot by a factor up to eta/sigma; sigma/(sigma+eta) of the way does not.
    """
    log_p = np.maximum(safe_log(seen.p), -problem.cells.settings.newton.rarest_log_p)
    sigma = x.sigma[:, None, None]
    there = seen.by_output / sigma + (log_p - seen.log_z)[:, :, None]
    return np.asarray(x.lam + sigma / (sigma + problem.eta) * (there - x.lam))


def minimise(problem: PosteriorProblem, boxes: Boxes, x: Point, goal: Goal) -> PosteriorSolution:
    """Lower the bounds of a batch of nodes by Newton's method, each until it is below the target or hardly falls.

    Between steps pi0 is moved towards the prior that attains the bound. A sigma held at its floor is left out of the
    step.
    """
    settings = problem.cells.settings.newton
    many = len(x.sigma)
    best = PosteriorSolution(np.full(many, np.inf), copy(x))
    first = settings.first_rounding if goal.rounding is None else goal.rounding
    index, rounding = np.arange(many), np.full(many, first)
    nodes, touching = Relaxed.of(problem, boxes), tangent(problem, x.lam)
    for _ in range(goal.rounds):
        before = best.bound[index]
        seen = evaluate(problem, nodes, x, touching, rounding)
        _keep(best, index, x, seen)
        # sigma K >= a share of what is left, smaller once the corner is sharper; only a start can be below
        share = np.where(rounding < first, settings.last_floor, settings.first_floor)
        floor = share * np.maximum(best.bound[index] - goal.target, 0.0) / max(problem.cells.knowledge, TINY)
        if (x.sigma < floor).any():
            x = replace(x, sigma=np.maximum(x.sigma, floor))
            seen = evaluate(problem, nodes, x, touching, rounding)
        # step = -H^-1 g, which promises to gain g' H^-1 g
        gradient, hessian, used = _derivatives(problem, nodes, x, seen, rounding)
        held = (x.sigma <= floor) & (gradient[:, -1] > 0)
        _hold_sigma(gradient, hessian, held)
        scale = 1 + np.abs(hessian).max(axis=(1, 2), keepdims=True)
        step = -solve(hessian + settings.posterior_ridge * scale * np.eye(hessian.shape[1]), gradient)
        promised = -(step * gradient).sum(axis=1)
        step = _spread(step, used, x.m.shape[1])
        x, moved = _searched(problem, nodes, x, (touching, rounding, floor), (seen.bound, step, promised))
        # A step that promises little has found the minimum: the corner is made sharper.
        settled = ~moved | (promised < settings.settled * rounding)
        rounding = np.where(settled, np.maximum(settings.sharper * rounding, settings.last_rounding), rounding)
        for _ in range(settings.tangent_updates if problem.eta > 0 else 0):
            seen = evaluate(problem, nodes, x, touching, rounding)
            _keep(best, index, x, seen)
            x = replace(x, lam=_towards(problem, x, seen))
            touching = tangent(problem, x.lam)
        # A node goes on while it is above the target, and may gain a share of what is left.
        left = best.bound[index] - goal.target
        promised = promised + rounding + np.where(held, share * left, 0.0)
        gain = np.maximum(promised, np.minimum(before - best.bound[index], 1.0) if problem.eta > 0 else 0.0)
        unsharp = (rounding > settings.last_rounding) | (problem.eta > 0)
        going = (left > 0) & ((gain > settings.hopeless * left) | ~settled) & unsharp
        if not going.any() or goal.deadline.expired():
            break
        index, rounding, touching = index[going], rounding[going], touching[going]
        nodes, x = take(nodes, going), take(x, going)
    return best


def _searched(
    problem: PosteriorProblem,
    nodes: Relaxed,
    x: Point,
    at: tuple[Floats, Floats, Floats],
    towards: tuple[Floats, Floats, Floats],
) -> tuple[Point, Bools]:
    """Go along a step as far as the bound falls; whether each node moved."""
    settings = problem.cells.settings.newton
    (touching, rounding, floor), (bound, step, promised) = at, towards
    length = shortened(np.abs(step[:, -1]), settings.longest_log_sigma)
    found = Point(x.m.copy(), x.sigma.copy(), x.lam)

    def falls(todo: Ints) -> Bools:
        tried = _moved(problem, take(x, todo), step[todo], length[todo], floor[todo])
        seen = evaluate(problem, take(nodes, todo), tried, touching[todo], rounding[todo])
        # Armijo: the bound falls by a share of what the step promises
        enough = seen.bound <= bound[todo] - settings.posterior_descent * length[todo] * promised[todo]
        found.m[todo[enough]], found.sigma[todo[enough]] = tried.m[enough], tried.sigma[enough]
        return np.asarray(enough)

    moved = backtrack(length, falls, factor=settings.posterior_shorter, most=settings.tries)
    return found, moved


def _keep(best: PosteriorSolution, index: Ints, x: Point, seen: Evaluation) -> None:
    better = seen.bound < best.bound[index]
    put(best, index[better], PosteriorSolution(seen.bound[better], take(x, better)))
