"""The least bound of boxes of posteriors, by Newton's method in (m, log sigma) for a batch of nodes (MATH 4.10).

The bound is smooth but for the corner of max(m high, m low) = m centre + |m| half at m = 0; |m| is rounded off to
sqrt(m^2 + rounding^2), which lies above it, and made sharper as the minimum comes near.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalenius.bounds.posterior_bound import TINY, Boxes, Evaluation, Point, PosteriorProblem, Relaxed, evaluate, tangent
from dalenius.numerics.batch import copy, put, take
from dalenius.reductions.cells import Floats, solve
from dalenius.search.deadline import Deadline

LEAST_LOG_P = -200.0  # log p0(a) of secret values that the relaxation hardly uses
LEAST_SIGMA, MOST_SIGMA = 1e-5, 1e3
FIRST_ROUNDING, LAST_ROUNDING = 0.1, 1e-6  # of the corner at m = 0
SETTLED = 1e-3  # of the rounding: a step that promises less has found the minimum, and the corner is made sharper
SHARPER = 0.1
LONGEST_STEP = 1.0  # in log sigma
SHORTER = 0.25
ENOUGH = 1e-4  # of what a step promises
REGULAR = 1e-10
SEARCHES = 6  # of a shorter step
HOPELESS = 0.1  # of the way to the target: a node that has no more than this to gain is split
UPDATES = 3  # of pi0 for every step of Newton's


@dataclass(frozen=True)
class Goal:
    """When to stop: below the target, after so many rounds, or when the deadline is over."""

    target: float
    rounds: int
    deadline: Deadline


@dataclass(frozen=True, eq=False)
class PosteriorSolution:
    """The best bound of every node, and where it is attained."""

    bound: Floats
    point: Point


def _derivatives(
    problem: PosteriorProblem, nodes: Relaxed, x: Point, seen: Evaluation, rounding: Floats
) -> tuple[Floats, Floats]:
    """Gradient and Hessian in (m, log sigma); what log sigma takes from its own curvature is left out."""
    cells, sigma = problem.cells, x.sigma
    many, values, width = x.m.shape
    size = values * width
    corner = np.sqrt(x.m**2 + np.reshape(rounding, (-1, 1, 1)) ** 2)
    slope = nodes.centre + nodes.half * x.m / corner  # of max(m high, m low)
    hessian = np.zeros((many, size + 1, size + 1))
    gradient = np.zeros((many, size + 1))
    laws, mean_h = problem.laws(seen.w), cells.row_sum(seen.w * seen.h)
    means = []
    for a, part in enumerate(cells.slices):
        e = slope.copy()  # of h_c by m_a'G, in units of Q_cG
        if a > 0:
            e[:, a - 1] -= 1
        p, w, u, q = seen.p[:, a], seen.w[:, part], laws[:, a], problem.coarse[part]
        spread = (w[:, :, None] * q).transpose(0, 2, 1) @ q - u[:, :, None] * u[:, None, :]
        inside = e[:, :, :, None, None] * spread[:, None, :, None, :] * e[:, None, None, :, :]
        hessian[:, :size, :size] += (p / sigma)[:, None, None] * inside.reshape(many, size, size)
        off = seen.h[:, part] - mean_h[:, a, None]
        cross = -(e * ((w * off) @ q)[:, None, :]).reshape(many, size) / (sigma**2)[:, None]
        hessian[:, :size, size] += p[:, None] * cross
        hessian[:, size, size] += p * (w * off**2).sum(axis=1) / sigma**3
        means.append((e * u[:, None, :]).reshape(many, size))
    mean = np.stack(means, axis=1)
    gradient[:, :size] = (seen.p[:, :, None] * mean).sum(axis=1)
    apart = mean - gradient[:, None, :size]
    hessian[:, :size, :size] += (seen.p[:, :, None] * apart).transpose(0, 2, 1) @ apart / (1 + sigma)[:, None, None]
    s = sigma[:, None]
    moved = seen.log_z / (1 + s) ** 2 - mean_h / (s * (1 + s))  # of log p by sigma, but for a constant
    moved -= (seen.p * moved).sum(axis=1, keepdims=True)
    hessian[:, :size, size] += ((seen.p * moved)[:, :, None] * apart).sum(axis=1)
    hessian[:, size, size] += (1 + sigma) * (seen.p * moved**2).sum(axis=1)
    log_p = np.log(np.maximum(seen.p, TINY))
    known = (seen.p * (mean_h / s - seen.log_z + log_p)).sum(axis=1)
    gradient[:, size] = cells.knowledge - known
    z = (seen.p[:, :, None] * laws).sum(axis=1)[:, None, :]
    curved = z * nodes.half * np.reshape(rounding, (-1, 1, 1)) ** 2 / corner**3
    diagonal = np.arange(size)
    hessian[:, diagonal, diagonal] += curved.reshape(many, size)
    hessian[:, size, :size] = hessian[:, :size, size]
    gradient[:, size] *= sigma  # from here on by log sigma
    hessian[:, size, :] *= s
    hessian[:, :, size] *= s
    hessian[:, size, size] += np.maximum(gradient[:, size], 0.0)
    return gradient, hessian


def _moved(x: Point, step: Floats, length: Floats) -> Point:
    """The point after a step in (m, log sigma)."""
    size = x.m[0].size
    m = x.m + (length[:, None] * step[:, :size]).reshape(x.m.shape)
    sigma = np.clip(x.sigma * np.exp(length * step[:, size]), LEAST_SIGMA, MOST_SIGMA)
    return replace(x, m=m, sigma=sigma)


def _towards(problem: PosteriorProblem, x: Point, seen: Evaluation) -> Floats:
    """The lam of a prior nearer to the one that attains the bound, where the tangent would be tight.

    That prior has log(pi/rho) = h/sigma - log_z + log p, linear in the outputs. As h holds -eta lam, going there at
    once would overshoot by a factor up to eta/sigma; sigma/(sigma+eta) of the way does not.
    """
    log_p = np.maximum(np.log(np.maximum(seen.p, TINY)), LEAST_LOG_P)
    sigma = x.sigma[:, None, None]
    there = seen.by_output / sigma + (log_p - seen.log_z)[:, :, None]
    return np.asarray(x.lam + sigma / (sigma + problem.eta) * (there - x.lam))


def minimise(problem: PosteriorProblem, boxes: Boxes, x: Point, goal: Goal) -> PosteriorSolution:
    """Lower the bounds of a batch of nodes by Newton's method, each until it is below the target or hardly falls.

    Between steps pi0 is moved towards the prior that attains the bound.
    """
    many = len(x.sigma)
    best = PosteriorSolution(np.full(many, np.inf), copy(x))
    index, rounding = np.arange(many), np.full(many, FIRST_ROUNDING)
    nodes, touching = Relaxed.of(problem, boxes), tangent(problem, x.lam)
    for _ in range(goal.rounds):
        before = best.bound[index]
        seen = evaluate(problem, nodes, x, touching, rounding)
        _keep(best, index, x, seen)
        gradient, hessian = _derivatives(problem, nodes, x, seen, rounding)
        scale = 1 + np.abs(hessian).max(axis=(1, 2), keepdims=True)
        step = -solve(hessian + REGULAR * scale * np.eye(hessian.shape[1]), gradient)
        promised = -(step * gradient).sum(axis=1)
        x, moved = _searched(problem, nodes, x, (touching, rounding), (seen.bound, step, promised))
        settled = ~moved | (promised < SETTLED * rounding)
        rounding = np.where(settled, np.maximum(SHARPER * rounding, LAST_ROUNDING), rounding)
        for _ in range(UPDATES if problem.eta > 0 else 0):
            seen = evaluate(problem, nodes, x, touching, rounding)
            _keep(best, index, x, seen)
            x = replace(x, lam=_towards(problem, x, seen))
            touching = tangent(problem, x.lam)
        left = best.bound[index] - goal.target
        gain = np.maximum(promised + rounding, np.minimum(before - best.bound[index], 1.0) if problem.eta > 0 else 0.0)
        going = (left > 0) & ((gain > HOPELESS * left) | ~settled) & ((rounding > LAST_ROUNDING) | (problem.eta > 0))
        if not going.any() or goal.deadline.expired():
            break
        index, rounding, touching = index[going], rounding[going], touching[going]
        nodes, x = take(nodes, going), take(x, going)
    return best


def _searched(
    problem: PosteriorProblem,
    nodes: Relaxed,
    x: Point,
    at: tuple[Floats, Floats],
    towards: tuple[Floats, Floats, Floats],
) -> tuple[Point, NDArray[np.bool_]]:
    """Go along a step as far as the bound falls; whether each node moved."""
    (touching, rounding), (bound, step, promised) = at, towards
    length = np.minimum(1.0, LONGEST_STEP / np.maximum(np.abs(step[:, -1]), TINY))
    found = Point(x.m.copy(), x.sigma.copy(), x.lam)
    moved = np.zeros(len(bound), dtype=bool)
    for _ in range(SEARCHES):
        todo = np.flatnonzero(~moved)
        tried = _moved(take(x, todo), step[todo], length[todo])
        seen = evaluate(problem, take(nodes, todo), tried, touching[todo], rounding[todo])
        falls = seen.bound <= bound[todo] - ENOUGH * length[todo] * promised[todo]
        found.m[todo[falls]], found.sigma[todo[falls]] = tried.m[falls], tried.sigma[falls]
        moved[todo[falls]] = True
        if moved.all():
            break
        length = np.where(moved, length, SHORTER * length)
    return found, moved


def _keep(best: PosteriorSolution, index: NDArray[np.int64], x: Point, seen: Evaluation) -> None:
    better = seen.bound < best.bound[index]
    put(best, index[better], PosteriorSolution(seen.bound[better], take(x, better)))
