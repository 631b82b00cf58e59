"""Upper bounds on simplices of conditionals, with contraction inside (MATH 4.7).

A node holds, for every row a, a simplex of conditionals w(.|a) with as many vertices V_j as the row has
cells; U_j = V_j q is the output law of a vertex, F_j = sum_y phi(U_jy), and a prior of the node is
pi = sum_j m_j V_j, m >= 0. Convexity puts F at or below its interpolation; contraction,
D(u || u0) <= eta_a D(w || w0), lets a share e_a = min(1, s/eta_a) of the interpolation error be taken
back; and Gibbs' inequality holds for any law r and any prior pi0 (u0, w0 are its conditionals). So

    bound = max_j [ F_j - e_a D(U_j || u0_a) - <U_j, log r> - s <V_j, log pi0/rho> ] + s K     for any s >= 0.

It is tight at a maximum of the relaxation, which an interior-point method finds for all nodes of a batch:

    max_m  sum_j (1-e_a) m_j F_j + sum_a e_a p_a F(u_a) + H(v)   over   D(pi || rho) <= K.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.numerics.batch import put, take
from dalenius.reductions.cells import Cells, Floats, lse, phi, solve
from dalenius.search.deadline import Deadline

TINY = 1e-300
SHARE = 0.95  # of what contraction allows is used on the way, so that the relaxation stays concave
BOUNDARY = 0.9  # of the way to the boundary a step may go
CENTRE = 0.15  # complementarity aimed at, as a share of what it is
CLOSE = 0.3  # of what a node has left to its target is as near as its relaxation need be solved
LEAST_GAP = 1e-12
ROUNDS = 40
LARGEST_S = 1e9


@dataclass(frozen=True, eq=False)
class Simplices:
    """The vertices of a batch of nodes and what follows from them."""

    vertices: Floats  # (B, C, C) V_j over cells, zero outside its row
    laws: Floats  # (B, C, Y) U_j
    f: Floats  # (B, C) F_j

    @classmethod
    def of(cls, cells: Cells, vertices: Floats) -> "Simplices":
        """Compute the laws of the vertices."""
        laws = vertices @ cells.q
        return cls(vertices, laws, phi(laws).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Dual:
    """What proves a bound: a multiplier, a law and a prior, both as logarithms up to a constant."""

    s: Floats  # (B,)
    log_r: Floats  # (B, Y)
    log_pi: Floats  # (B, C)


@dataclass(frozen=True, eq=False)
class SimplexSolution:
    """Bounds of a batch of nodes, what proves them, and the weights m of the relaxation."""

    bound: Floats  # (B,)
    dual: Dual
    m: Floats  # (B, C)


@dataclass(frozen=True, eq=False)
class SimplexProblem:
    """The lumped problem with the contraction coefficient of every row."""

    cells: Cells
    eta: Floats  # (A,)

    @cached_property
    def member(self) -> Floats:
        """(C, A) which row a cell is in."""
        return np.asarray(np.eye(self.cells.n_secrets)[self.cells.secret])

    @cached_property
    def same_row(self) -> Floats:
        """(C, C) whether two cells are in one row."""
        return np.asarray(self.member @ self.member.T)

    def share(self, s: Floats) -> Floats:
        """(B, C) e_a = min(1, s / eta_a) for the row of each vertex."""
        return np.asarray(np.minimum(1.0, s[:, None] / np.maximum(self.eta, TINY))[:, self.cells.secret])


def evaluate(problem: SimplexProblem, nodes: Simplices, dual: Dual) -> Floats:
    """Guarantee: bound >= I(A;Y) of every prior of the node with D(pi || rho) <= K, up to rounding."""
    cells = problem.cells
    log_r = dual.log_r - lse(dual.log_r)[:, None]
    log_pi = dual.log_pi - lse(dual.log_pi)[:, None]
    log_u = _log_law(problem, np.exp(log_pi))
    gain = problem.share(dual.s) * (nodes.f - (nodes.laws * log_u).sum(axis=-1))
    output = (nodes.laws @ log_r[..., None])[..., 0]
    prior = (nodes.vertices @ (log_pi - cells.log_rho)[..., None])[..., 0]
    bound = (nodes.f - gain - output - dual.s[:, None] * prior).max(axis=1) + dual.s * cells.knowledge
    return np.where(np.isnan(bound), np.inf, bound)


def _log_law(problem: SimplexProblem, pi: Floats) -> Floats:
    """log u_a(y) of the row of every vertex, (B, C, Y)."""
    joint = problem.cells.joint(pi)
    log_u = np.log(np.maximum(joint, TINY)) - np.log(np.maximum(joint.sum(axis=-1, keepdims=True), TINY))
    return np.asarray(log_u[:, problem.cells.secret])


def maximise(
    problem: SimplexProblem, nodes: Simplices, m: Floats, target: float, deadline: Deadline
) -> SimplexSolution:
    """Solve the relaxation of every node from weights m > 0, as far as deciding about it needs.

    A primal-dual interior-point method that may start outside D(pi || rho) <= K. A node is done once its
    bound is at or below the target, or nearly as small as the relaxation allows; one without any prior
    within K sees s grow and its bound fall without end.
    """
    size, cells = len(m), problem.cells
    m = m / m.sum(axis=1, keepdims=True)
    here = _State(nodes, m, 0.03 / (m * m.shape[1]), np.full(size, 0.1), np.full(size, 0.1), np.full(size, 0.1))
    empty = Dual(np.zeros(size), np.zeros((size, cells.n_outputs)), np.zeros(m.shape))
    best = SimplexSolution(np.full(size, np.inf), empty, m.copy())
    active = np.arange(size)
    for _ in range(ROUNDS):
        here, dual, value = _newton(problem, here)
        bound = evaluate(problem, here.nodes, dual)
        better = bound < best.bound[active]
        put(best, active[better], take(SimplexSolution(bound, dual, here.m), better))
        left = best.bound[active] - target
        near = best.bound[active] - value < np.maximum(CLOSE * left, LEAST_GAP)
        done = (left <= 0) | (np.isfinite(left) & near) | (here.s > LARGEST_S)
        if done.all() or deadline.expired():
            break
        if done.any():
            active, here = active[~done], take(here, ~done)
    return best


@dataclass(frozen=True, eq=False)
class _State:
    """Weights m, their multipliers mu, the entropy's multiplier s and slack, and how much to centre."""

    nodes: Simplices
    m: Floats  # (B, C)
    mu: Floats  # (B, C)
    s: Floats  # (B,)
    room: Floats  # (B,) slack of D(pi || rho) <= K
    centre: Floats  # (B,)


def _newton(problem: SimplexProblem, x: _State) -> tuple[_State, Dual, Floats]:
    """One step on the perturbed conditions of optimality; the dual variables there, and the relaxation's value.

    Where the prior is beyond K, the value is less what the excess costs.
    """
    cells, nodes, m, s = problem.cells, x.nodes, x.m, x.s[:, None]
    pi, z, v = _priors(problem, nodes, m)
    p, tilt = z.sum(axis=-1), np.log(pi) - cells.log_rho
    share = SHARE * problem.share(x.s)
    log_u = (np.log(z) - np.log(p)[..., None])[:, cells.secret]
    slope_d = (nodes.vertices @ tilt[..., None])[..., 0] + 1
    slope = (1 - share) * nodes.f + share * (nodes.laws * log_u).sum(axis=-1)
    slope -= (nodes.laws @ np.log(v)[..., None])[..., 0]
    transposed = nodes.laws.transpose(0, 2, 1)
    curvature = (nodes.laws / v[:, None]) @ transposed
    by_row = (nodes.laws / z[:, cells.secret]) @ transposed - 1 / p[:, cells.secret][:, :, None]
    curvature -= share[:, :, None] * problem.same_row * by_row
    curvature += s[..., None] * ((nodes.vertices / pi[:, None]) @ nodes.vertices.transpose(0, 2, 1))

    complementarity = ((m * x.mu).sum(axis=1) + x.s * x.room) / (m.shape[1] + 1)
    t = x.centre * complementarity
    miss = cells.knowledge - (pi * tilt).sum(axis=1) - x.room
    stiff = x.s / x.room
    curvature += stiff[:, None, None] * slope_d[:, :, None] * slope_d[:, None, :]
    right = slope + t[:, None] / m - (t / x.room - stiff * miss)[:, None] * slope_d
    dm = _direction(curvature, right, m, x.mu)
    d_room = miss - (slope_d * dm).sum(axis=1)
    ds = (t - x.s * d_room) / x.room - x.s
    d_mu = (t[:, None] - x.mu * dm) / m - x.mu

    primal = _step(np.concatenate([dm / m, (d_room / x.room)[:, None]], axis=1))
    dual = _step(np.concatenate([d_mu / x.mu, (ds / x.s)[:, None]], axis=1))
    good = np.minimum(primal, dual)
    centre = np.where(good > 0.8, 0.5 * x.centre, np.where(good < 0.3, 0.5, CENTRE)).clip(0.03, 0.5)  # noqa: PLR2004
    new = _State(
        nodes,
        m + primal[:, None] * dm,
        x.mu + dual[:, None] * d_mu,
        x.s + dual * ds,
        x.room + primal * d_room,
        centre,
    )
    pi, z, v = _priors(problem, nodes, new.m)
    dual_point = Dual(new.s, np.log(v), np.log(pi))
    by_row = share[:, cells.starts] * (phi(z).sum(axis=-1) - phi(z.sum(axis=-1)))
    relaxed = ((1 - share) * new.m * nodes.f).sum(axis=1) + by_row.sum(axis=1) - phi(v).sum(axis=1)
    divergence = (pi * (dual_point.log_pi - cells.log_rho)).sum(axis=1)
    return new, dual_point, relaxed + new.s * np.minimum(cells.knowledge - divergence, 0.0)


def _direction(curvature: Floats, right: Floats, m: Floats, mu: Floats) -> Floats:
    """Newton's direction among those that keep sum(m); scaled by m, which tames the boundary."""
    size = m.shape[1]
    system = np.zeros((len(m), size + 1, size + 1))
    system[:, :size, :size] = m[:, :, None] * curvature * m[:, None, :]
    k = np.arange(size)
    system[:, k, k] += m * mu
    system[:, :size, size] = m
    system[:, size, :size] = m
    return np.asarray(m * solve(system, np.concatenate([m * right, np.zeros((len(m), 1))], axis=1))[:, :size])


def _step(relative: Floats) -> Floats:
    """The longest step up to 1 that keeps a positive vector well inside; relative = its change over itself."""
    return np.asarray(np.minimum(1.0, BOUNDARY / np.maximum((-relative).max(axis=1), TINY)))


def _priors(problem: SimplexProblem, nodes: Simplices, m: Floats) -> tuple[Floats, Floats, Floats]:
    """pi (B, C), z(a, y) (B, A, Y) and v(y) (B, Y), kept above zero."""
    pi = np.maximum((m[:, None] @ nodes.vertices)[:, 0], TINY)
    z = np.maximum(problem.member.T @ (m[:, :, None] * nodes.laws), TINY)
    return pi, z, z.sum(axis=1)
