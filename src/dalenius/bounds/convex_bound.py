"""The convex bound for very many cells (MATH 4.4), by Newton's method on passes over the channel.

For s >= theta, 0 <= theta <= 1, the function I(X;Y) - theta I(X;Y|A) - s D(pi || rho) is concave in pi, since no
channel expands divergences, and L <= its maximum + s K. With r the output law and u_a the law of row a, it is where

    w(t|a) ~ rho exp( [ q.( theta log u_a - log r ) + (1 - theta) sum_y phi(q) ] / s ),   p(a) ~ normaliser of w,
    u_a = w q_a,   r = sum_a p(a) u_a,

A + 1 laws over outputs, however many cells there are. Newton's method on these equations needs the covariance of q
under w: one pass a step. theta = 0 is the constrained capacity of the whole channel, the same for every secret; larger
theta are better, up to s. The bound falls along s while D + theta'(s) I(X;Y|A) > K, and is convex.
"""

from dataclasses import dataclass, replace

import numpy as np

from dalenius.bounds.box_bound import TINY, BoxProblem, Point
from dalenius.bounds.stationary import LEAST_S
from dalenius.numerics.batch import take
from dalenius.reductions.cells import Cells, Floats, lse, phi, solve
from dalenius.search.deadline import Deadline
from dalenius.search.tilted import Tilted, neg_entropies, tilt

SMALLEST_S, LARGEST_S = 1e-7, 1e6
ROUNDS = 20  # of Newton's method
QUICK = 0.1  # by how much a step is shorter than the last, where covariances are good enough
STILL = 1e-6  # movement of the logarithms at which it ends; the bound is off by its square over s - theta
LONGEST, FARTHEST = 1.5, 8.0  # step of a logarithm of r and u, and of w
SEARCHES = 40  # of multipliers
FAR, NEAR = 1.6, 1.05  # factors between them at first: from nowhere, and from what a sample of the cells tells
SAMPLE = 2**15  # cells
LEAST_KNOWN_S = 1e-2  # below it a sample knows too little of the rare rows that matter
HOPE = 1.05  # times the bound so far: a sample that tells more promises nothing
FINE = 1e-9  # relative width of the interval of s at which the search ends
GAIN = 1e-8  # twice what is left to gain, by the slope and its change, at which it ends
LEAST_U = 1e-15  # of an output's share; rarer ones stay where they are


@dataclass(frozen=True, eq=False)
class Dual:
    """A point of the bound."""

    log_r: Floats  # (Y,)
    log_u: Floats  # (A, Y)
    s: float
    theta: float
    covariance: Floats  # (A, Y, Y) of q under w, near here; for Newton's steps

    @classmethod
    def start(cls, cells: Cells, *, whole: bool) -> "Dual":
        """The laws of the reference; `whole` asks for the constrained capacity."""
        z = np.maximum(cells.joint(cells.rho[None])[0], TINY)
        log_u = np.log(z / z.sum(axis=1, keepdims=True))
        return cls(np.log(z.sum(axis=0)), log_u, LEAST_S, 0.0 if whole else 1.0, np.empty(0))

    def at(self, s: float) -> "Dual":
        """The same laws for another multiplier, theta as large as it allows."""
        covariance = self.covariance if 1 / NEAR <= s / self.s <= NEAR else np.empty(0)
        return replace(self, s=s, theta=min(1.0, s / LEAST_S) if self.theta else 0.0, covariance=covariance)

    @property
    def lam(self) -> Floats:
        """(A, Y) of log(w/rho) = q.lam + omega sum_y phi(q) + const."""
        return (self.theta * self.log_u - self.log_r) / self.s

    @property
    def omega(self) -> float:
        """See lam."""
        return (1 - self.theta) / self.s

    def problem(self, cells: Cells) -> BoxProblem:
        """Single outputs where log w needs phi of each, one group else; theta below s, eta = 1."""
        groups = list(range(cells.n_outputs)) if 0 < self.theta < 1 else [0] * cells.n_outputs
        ones = np.ones(cells.n_secrets)
        return BoxProblem(cells, [groups] * cells.n_secrets, ones, self.theta * ones, self.theta)

    def point(self, problem: BoxProblem) -> Point:
        """The same as box bounds have it."""
        none = np.zeros((1, problem.cells.n_secrets, problem.n_groups))
        lam = self.lam if self.theta else np.zeros_like(self.log_u)
        return Point(self.log_r[None], none, none, none + 1, np.array([self.s]), lam[None], none + self.omega)


@dataclass(frozen=True, eq=False)
class Bounds:
    """The convex bounds of one problem; neg_entropy is that of the channel's different rows."""

    cells: Cells
    neg_entropy: Floats

    def value(self, x: Dual) -> float:
        """Guarantee: the result is at least I(A;Y) of every prior with D(pi || rho) <= K, up to rounding.

        It is the one bound of `box_bound` at this point, whatever the laws are.
        """
        seen = self._tilt(x.lam, x.omega)
        inner, sigma = seen.log_z, x.s - x.theta
        if x.theta:
            log_u = np.log(np.maximum(seen.law, TINY))
            by_output = x.theta * (log_u - x.lam) - x.log_r
            inner = self._tilt(by_output / sigma, (1 - x.theta - x.theta * x.omega) / sigma).log_z
            inner = inner + x.theta * seen.log_z / sigma
        outer = sigma * inner / x.s
        return float(x.s * lse(outer[None])[0] + lse(x.log_r[None])[0] + x.s * self.cells.knowledge)

    def search(self, x: Dual, deadline: Deadline, factor: float = FAR) -> Dual:
        """Settle at one s after another, until the least bound along s is enclosed; between them by false position.

        The first steps go by `factor`. None crosses LEAST_S, where theta reaches 1 and the slope jumps.
        """
        ends: dict[bool, tuple[float, float]] = {}
        for _ in range(SEARCHES):
            x, slope = self.settle(x, deadline)
            t = np.log(x.s)
            ends[slope > 0] = (t, slope)
            if slope == 0 or deadline.expired():
                break
            if len(ends) > 1:
                (above, rise), (below, fall) = ends[True], ends[False]
                width = above - below
                if slope**2 * width / (rise - fall) * x.s < GAIN or width < FINE:
                    break
                t = below + width * float(np.clip(-fall / (rise - fall), 0.05, 0.95))
            else:
                t, factor = t - np.copysign(np.log(factor), slope), min(factor**1.5, 2.0)
            s = float(np.clip(np.exp(t), SMALLEST_S, LARGEST_S))
            if s == x.s:
                break
            x = x.at(LEAST_S if x.theta and (s - LEAST_S) * (x.s - LEAST_S) < 0 else s)
        return x

    def settle(self, x: Dual, deadline: Deadline) -> tuple[Dual, float]:
        """Newton's method at fixed s, and the slope of the bound along s; 0 where it has its kink at LEAST_S.

        Covariances cost as much again as the rest of a pass, and are taken anew where steps no longer shrink quickly.
        """
        last, slow = np.inf, not x.covariance.size
        for _ in range(ROUNDS):
            seen = self._tilt(x.lam, x.omega, second=slow)
            if slow:
                x = replace(x, covariance=seen.second - seen.law[:, :, None] * seen.law[:, None, :])
            new, moved = _newton(x, seen)
            if moved < STILL or deadline.expired():
                break
            slow, last, x = moved > QUICK * last, moved, new
        p = np.exp(seen.log_z - lse(seen.log_z[None])[0])
        divergence = float(p @ (np.log(np.maximum(p, TINY)) + seen.mean - seen.log_z))
        inside = float(p @ (seen.neg_entropy - phi(seen.law).sum(axis=1)))
        up = self.cells.knowledge - divergence
        down = up - inside / LEAST_S if 0 < x.s <= LEAST_S and x.theta else up
        if x.s < LEAST_S:
            return x, down
        return x, (up if up < 0 else max(down, 0.0))

    def _tilt(self, lam: Floats, omega: float, *, second: bool = False) -> Tilted:
        """One law for every row: a batch of one, without its axis."""
        beta = np.full((1, self.cells.n_secrets), omega)
        return take(tilt(self.cells, lam[None], beta, self.neg_entropy, second=second), 0)


@dataclass
class SharedBounds:
    """What all secrets of an audit share: entropies of the channel's rows, its constrained capacity, a first ascent."""

    neg_entropy: Floats | None = None
    whole: tuple[Dual, float] | None = None
    climbed: bool = False  # whether a secret has had its ascent

    def bounds(self, cells: Cells) -> Bounds:
        """The convex bounds of this problem."""
        if self.neg_entropy is None:
            self.neg_entropy = neg_entropies(cells.lumped.channel)
        return Bounds(cells, self.neg_entropy)

    def capacity(self, cells: Cells, deadline: Deadline, rng: np.random.Generator) -> tuple[Dual, float]:
        """The constrained capacity of the whole channel: a dual point and its bound, found for the first secret."""
        if self.whole is None:
            few = cells.sample(SAMPLE, rng)
            self.whole = self._best(cells, self.bounds(few).search(Dual.start(few, whole=True), deadline), deadline)
        x, bound = self.whole
        return replace(x, log_u=np.zeros((cells.n_secrets, cells.n_outputs))), bound

    def convex(self, cells: Cells, below: float, deadline: Deadline, rng: np.random.Generator) -> tuple[Dual, float]:
        """The best convex bound of a secret: a dual point and its bound.

        It is searched on a sample, which tells the neighbourhood, and on all cells only if it promises to be `below`.
        """
        few = self.bounds(cells.sample(SAMPLE, rng))
        near = few.search(Dual.start(few.cells, whole=False), deadline)
        return self._best(cells, near, deadline) if few.value(near) < HOPE * below else (near, np.inf)

    def _best(self, cells: Cells, near: Dual, deadline: Deadline) -> tuple[Dual, float]:
        bounds = self.bounds(cells)
        x = bounds.search(near.at(max(near.s, LEAST_KNOWN_S)), deadline, NEAR)
        return x, bounds.value(x)


def _newton(x: Dual, seen: Tilted) -> tuple[Dual, float]:
    """One Newton step on log u_a = log w q_a and r = sum p(a) u_a in log u and log r, and how far it goes.

    With C_a the covariance of q under w and v_a = w q_a, dlog u_a = S_a^-1 ( v_a log(v_a/u_a) - C_a dlog r / s ), where
    S_a = diag(v_a) - theta C_a / s is positive, since C_a <= diag(v_a).
    """
    p, law, s = np.exp(seen.log_z - lse(seen.log_z[None])[0]), seen.law, x.s
    covariance = x.covariance / s
    eye = np.eye(law.shape[1])
    u = np.maximum(law, LEAST_U)
    right = np.concatenate([(u * (np.log(u) - x.log_u))[:, :, None], covariance], axis=2)
    bent = _solved(u[:, :, None] * eye - x.theta * covariance, right) if x.theta else np.zeros_like(right)
    own, by_r = bent[:, :, 0], bent[:, :, 1:]
    gain = x.theta * np.einsum("ay,ay->a", law, own) / s
    by_gain = (law + x.theta * np.einsum("ay,ayx->ax", law, by_r)) / s
    moved = law + x.theta * np.einsum("ayx,ax->ay", covariance, own) + (gain - p @ gain)[:, None] * law
    by_moved = covariance @ (eye + x.theta * by_r) + law[:, :, None] * (by_gain - p @ by_gain)[:, None, :]
    r = np.exp(x.log_r - lse(x.log_r[None])[0])
    matrix = np.diag(r) - np.outer(r, r) + np.einsum("a,ayx->yx", p, by_moved) + 1e-3 + 1e-12 * eye
    d_r = solve(matrix[None], (p @ moved - r)[None])[0]
    d_u = (own - by_r @ d_r) * (u > LEAST_U) if x.theta else np.zeros_like(law)
    size = max(float(np.abs(d_r).max()), float(np.abs(d_u).max()))
    reach = float(np.ptp(x.theta * d_u - d_r, axis=1).max()) / s  # a step that changes log w by more leaves the model
    share = 1 / max(1.0, size / LONGEST, reach / FARTHEST)
    log_r, log_u = x.log_r + share * d_r, x.log_u + share * d_u
    new = replace(x, log_r=log_r - lse(log_r[None])[0], log_u=log_u - lse(log_u)[:, None])
    return new, size


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Solve for a search direction; where old covariances make the matrix singular, by its diagonal alone."""
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        return np.asarray(right / np.einsum("ayy->ay", matrix)[:, :, None])
