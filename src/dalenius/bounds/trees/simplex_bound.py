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

from dalenius.numerics import compiled
from dalenius.numerics.information import TINY, lse, phi, safe_log
from dalenius.numerics.iterations import RIDGE, inside, put, solve, take
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class SimplexSearch(Part):
    """Simplices: how their relaxations are solved, and how they are cut."""

    # Cells up to which a batch is cheap.
    few_vertices: int = 16
    # Cells beyond which a node, a matrix over cells, costs too much.
    most_vertices: int = 40
    # Nodes that are split in one batch, where memory allows.
    batch: int = 256
    # A split stays this share of an edge of a simplex away from its ends.
    edge: float = 0.25
    # The same for edges that the relaxation hardly uses.
    unused_edge: float = 1e-9
    # The numbers of a leaf are rounded to this share of the tolerance.
    digits: float = 0.003
    # How far a child of a simplex starts towards its centre.
    recentred: float = 0.3
    # Share of the way to the boundary that a step may go.
    inside: float = 0.9
    # Rounds at most.
    rounds: int = 40
    # Share of what contraction allows that is used on the way, so that the relaxation stays concave.
    share: float = 0.95
    # Starts of the multipliers of m, of s, and of the slack of D <= K.
    start_mu: float = 0.03
    start: float = 0.1
    # Complementarity aimed at, as a share of today's: at first; usually; after a step below `short`; after one above
    # `long` this times the last; never outside the range.
    first_centre: float = 0.1
    centre: float = 0.15
    short_centre: float = 0.5
    short: float = 0.3
    long: float = 0.8
    long_factor: float = 0.5
    centre_range: tuple[float, float] = (0.03, 0.5)
    # A relaxation is solved to this share of what is left to the target, but not below the second number.
    close: float = 0.3
    least_gap: float = 1e-12
    # A node whose s grows beyond this holds no prior within the knowledge.
    largest_s: float = 1e9

    @property
    def numbers(self) -> Floats:
        """What the kernel takes, in its order."""
        steps = self.rounds, self.share, self.start_mu, self.start
        centres = self.first_centre, self.centre, self.short_centre, self.short, self.long, self.long_factor
        ends = *self.centre_range, self.close, self.least_gap, self.largest_s, self.inside, RIDGE
        return np.array([*steps, *centres, *ends])


@dataclass(frozen=True, eq=False)
class Simplices:
    """The vertices of a batch of nodes and what follows from them."""

    # (B, C, C) V_j over cells, zero outside its row
    vertices: Floats
    # (B, C, Y) U_j, and (B, C) F_j
    laws: Floats
    f: Floats

    @classmethod
    def of(cls, cells: Cells, vertices: Floats) -> "Simplices":
        """Compute the laws of the vertices."""
        laws = vertices @ cells.q
        return cls(vertices, laws, phi(laws).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Dual:
    """What proves a bound: a multiplier, a law and a prior, both as logarithms up to a constant."""

    # (B,), (B, Y), (B, C)
    s: Floats
    log_r: Floats
    log_pi: Floats


@dataclass(frozen=True, eq=False)
class SimplexSolution:
    """Bounds of a batch of nodes, (B,), what proves them, and the weights m of the relaxation, (B, C)."""

    bound: Floats
    dual: Dual
    m: Floats


@dataclass(frozen=True, eq=False)
class SimplexProblem:
    """The lumped problem with the contraction coefficient of every row."""

    cells: Cells
    # (A,)
    eta: Floats

    @cached_property
    def membership(self) -> Floats:
        """(C, A) 1 where a cell is in a row."""
        return np.asarray(np.eye(self.cells.n_secrets)[self.cells.secret])

    @cached_property
    def same_row(self) -> Floats:
        """(C, C) whether two cells are in one row."""
        return np.asarray(self.membership @ self.membership.T)

    def share(self, s: Floats) -> Floats:
        """(B, C) e_a = min(1, s / eta_a) for the row of each vertex."""
        return np.asarray(np.minimum(1.0, s[:, None] / np.maximum(self.eta, TINY))[:, self.cells.secret])


def evaluate(problem: SimplexProblem, nodes: Simplices, dual: Dual) -> Floats:
    """Guarantee: bound >= I(A;Y) of every prior of the node with D(pi || rho) <= K, up to rounding."""
    cells = problem.cells
    log_r = dual.log_r - lse(dual.log_r)[:, None]
    log_pi = dual.log_pi - lse(dual.log_pi)[:, None]
    # e_a D(U_j || u0) = e_a ( F_j - <U_j, log u0> )
    log_u = _log_law(problem, np.exp(log_pi))
    gain = problem.share(dual.s) * (nodes.f - (nodes.laws * log_u).sum(axis=-1))
    # max_j [ F_j - e_a D(U_j || u0_a) - <U_j, log r> - s <V_j, log pi0/rho> ] + s K
    output = (nodes.laws @ log_r[..., None])[..., 0]
    prior = (nodes.vertices @ (log_pi - cells.log_rho)[..., None])[..., 0]
    bound = (nodes.f - gain - output - dual.s[:, None] * prior).max(axis=1) + dual.s * cells.knowledge
    return np.where(np.isnan(bound), np.inf, bound)


def _log_law(problem: SimplexProblem, pi: Floats) -> Floats:
    """log u_a(y) of the row of every vertex, (B, C, Y)."""
    joint = problem.cells.joint(pi)
    log_u = safe_log(joint) - safe_log(joint.sum(axis=-1, keepdims=True))
    return np.asarray(log_u[:, problem.cells.secret])


def maximise(
    problem: SimplexProblem, nodes: Simplices, m: Floats, target: float, deadline: Deadline
) -> SimplexSolution:
    """Solve the relaxation of every node from weights m > 0, as far as deciding about it needs.

    A primal-dual interior-point method that may start outside D(pi || rho) <= K. A node is done once its
    bound is at or below the target, or nearly as small as the relaxation allows. In a node without any prior
    within K, s grows and the bound falls without limit.
    """
    size, cells = len(m), problem.cells
    settings = cells.settings.of(SimplexSearch)
    if cells.compiled(cells.settings.limits.compiled_simplices):
        simplices = nodes.vertices, nodes.laws, nodes.f
        given = cells.first, problem.eta, cells.log_rho, cells.knowledge
        bound, s, log_r, log_pi, m = compiled.maximise(given, simplices, m, target, settings.numbers)
        return SimplexSolution(bound, Dual(s, log_r, log_pi), m)
    m = m / m.sum(axis=1, keepdims=True)
    mu = settings.start_mu / (m * m.shape[1])
    s, room, centre = (np.full(size, value) for value in (settings.start, settings.start, settings.first_centre))
    here = _State(nodes, m, mu, s, room, centre)
    empty = Dual(np.zeros(size), np.zeros((size, cells.n_outputs)), np.zeros(m.shape))
    best = SimplexSolution(np.full(size, np.inf), empty, m.copy())
    active = np.arange(size)
    for _ in range(settings.rounds):
        here, dual, value = _newton(problem, here)
        bound = evaluate(problem, here.nodes, dual)
        better = bound < best.bound[active]
        put(best, active[better], take(SimplexSolution(bound, dual, here.m), better))
        left = best.bound[active] - target
        close = np.maximum(settings.close * left, settings.least_gap)
        near = best.bound[active] - value < close
        done = (left <= 0) | (np.isfinite(left) & near) | (here.s > settings.largest_s)
        if done.all() or deadline.expired():
            break
        if done.any():
            active, here = active[~done], take(here, ~done)
    return best


@dataclass(frozen=True, eq=False)
class _State:
    """Weights m, their multipliers mu, the entropy's multiplier s and slack, and how much to centre."""

    nodes: Simplices
    # (B, C)
    m: Floats
    mu: Floats
    # (B,); room is the slack of D(pi || rho) <= K
    s: Floats
    room: Floats
    centre: Floats


def _newton(problem: SimplexProblem, x: _State) -> tuple[_State, Dual, Floats]:
    """One step on the perturbed conditions of optimality; the dual variables there, and the relaxation's value.

    Where the prior is beyond K, the value is less what the excess costs.
    """
    cells, nodes, m, s = problem.cells, x.nodes, x.m, x.s[:, None]
    settings = cells.settings.of(SimplexSearch)
    pi, z, v = _priors(problem, nodes, m)
    p, tilt = z.sum(axis=-1), np.log(pi) - cells.log_rho
    share = settings.share * problem.share(x.s)

    # dD / dm_j = <V_j, log pi/rho> + 1,   dI / dm_j = (1-e) F_j + e <U_j, log u_a> - <U_j, log v>
    log_u = (np.log(z) - np.log(p)[..., None])[:, cells.secret]
    slope_d = (nodes.vertices @ tilt[..., None])[..., 0] + 1
    slope = (1 - share) * nodes.f + share * (nodes.laws * log_u).sum(axis=-1)
    slope -= (nodes.laws @ np.log(v)[..., None])[..., 0]
    # Minus the Hessian of I - s D:   U diag(1/v) U' - e_a ( U diag(1/z_a) U' - 1/p_a ) in each row + s V diag(1/pi) V'
    transposed = nodes.laws.transpose(0, 2, 1)
    curvature = (nodes.laws / v[:, None]) @ transposed
    by_row = (nodes.laws / z[:, cells.secret]) @ transposed - 1 / p[:, cells.secret][:, :, None]
    curvature -= share[:, :, None] * problem.same_row * by_row
    curvature += s[..., None] * ((nodes.vertices / pi[:, None]) @ nodes.vertices.transpose(0, 2, 1))

    # Complementarity m mu = t, s room = t, and D + room = K; s and room are eliminated
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

    # Primal variables go one length, dual ones another, both inside; the next step centres less after long ones
    primal = inside(np.concatenate([dm / m, (d_room / x.room)[:, None]], axis=1), settings.inside)
    dual = inside(np.concatenate([d_mu / x.mu, (ds / x.s)[:, None]], axis=1), settings.inside)
    new = _State(
        nodes,
        m + primal[:, None] * dm,
        x.mu + dual[:, None] * d_mu,
        x.s + dual * ds,
        x.room + primal * d_room,
        _centring(problem, x.centre, np.minimum(primal, dual)),
    )
    dual_point, value = _relaxed(problem, nodes, new, share)
    return new, dual_point, value


def _centring(problem: SimplexProblem, centre: Floats, length: Floats) -> Floats:
    """The complementarity to aim at next, as a share of what it is: little after long steps, more after short ones."""
    settings = problem.cells.settings.of(SimplexSearch)
    otherwise = np.where(length < settings.short, settings.short_centre, settings.centre)
    new = np.where(length > settings.long, settings.long_factor * centre, otherwise)
    return np.asarray(new.clip(*settings.centre_range))


def _relaxed(problem: SimplexProblem, nodes: Simplices, x: _State, share: Floats) -> tuple[Dual, Floats]:
    """The dual variables of a state, and the value of the relaxation there, less s times what D is above K."""
    cells = problem.cells
    pi, z, v = _priors(problem, nodes, x.m)
    dual = Dual(x.s, np.log(v), np.log(pi))
    # sum_j (1-e_a) m_j F_j + sum_a e_a p_a F(u_a) + H(v)
    by_row = share[:, cells.starts] * (phi(z).sum(axis=-1) - phi(z.sum(axis=-1)))
    relaxed = ((1 - share) * x.m * nodes.f).sum(axis=1) + by_row.sum(axis=1) - phi(v).sum(axis=1)
    divergence = (pi * (dual.log_pi - cells.log_rho)).sum(axis=1)
    return dual, relaxed + x.s * np.minimum(cells.knowledge - divergence, 0.0)


def _direction(curvature: Floats, right: Floats, m: Floats, mu: Floats) -> Floats:
    """Newton's direction among those that keep sum(m); scaled by m, which tames the boundary."""
    size = m.shape[1]
    # [ diag(m) C diag(m) + diag(m mu)   m ] [ dm/m ]   [ m right ]
    # [ m'                               0 ] [  .   ] = [    0    ]
    system = np.zeros((len(m), size + 1, size + 1))
    system[:, :size, :size] = m[:, :, None] * curvature * m[:, None, :]
    k = np.arange(size)
    system[:, k, k] += m * mu
    system[:, :size, size] = m
    system[:, size, :size] = m
    return np.asarray(m * solve(system, np.concatenate([m * right, np.zeros((len(m), 1))], axis=1))[:, :size])


def _priors(problem: SimplexProblem, nodes: Simplices, m: Floats) -> tuple[Floats, Floats, Floats]:
    """pi (B, C), z(a, y) (B, A, Y) and v(y) (B, Y), kept above zero."""
    pi = np.maximum((m[:, None] @ nodes.vertices)[:, 0], TINY)
    z = np.maximum(problem.membership.T @ (m[:, :, None] * nodes.laws), TINY)
    return pi, z, z.sum(axis=1)
