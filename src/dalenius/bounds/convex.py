"""The convex bound for very many cells (MATH 4.4), by Newton's method on passes over the channel.

For s >= theta eta, 0 <= theta <= 1, the function I(X;Y) - theta I(X;Y|A) - s D(pi || rho) is concave in pi, where eta
bounds how much of a divergence the rows of a value leave, 1 at most, and L <= its maximum + s K. With r the output law
and u_a the law of row a, it is where

    w(t|a) ~ rho exp( [ q.( theta log u_a - log r ) + (1 - theta) sum_y phi(q) ] / s ),   p(a) ~ normaliser of w,
    u_a = w q_a,   r = sum_a p(a) u_a,

A + 1 laws over outputs, however many cells there are. Newton's method on these equations needs the covariance of q
under w: one pass a step. theta = 0 is the constrained capacity of the whole channel, the same for every secret; larger
theta are better, up to s / eta. The bound falls along s while D + theta'(s) I(X;Y|A) > K, and is convex.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket
from dalenius.bounds.closing import close
from dalenius.bounds.proof import Proof, Rounding
from dalenius.numerics.information import TINY, lse, neg_entropies, phi, safe_log
from dalenius.numerics.iterations import overshoot, solve
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells, Tilted, tilt
from dalenius.reductions.lump import OriginalOutputs
from dalenius.search.deadline import Deadline

# With eta = 1 the least s. Nearer to 1 the bound is a maximum over cells, which rounding in rare ones decides.
LEAST_S = 1.001


@dataclass(frozen=True)
class ConvexSearch:
    """How the bound is searched."""

    # The share of the contraction coefficient from which on s lets this bound come before trees.
    promise: float = 0.6
    # Added to a Hessian everywhere on its diagonal, and along the constant that log r is free to move by.
    ridge: float = 1e-12
    ridge_constant: float = 1e-3
    # Range of s; Newton rounds at one s; movement of the logarithms at which they end (the bound is off by its square
    # over s - theta); longest step of log r and log u, and of log w.
    s_range: tuple[float, float] = (1e-7, 1e6)
    rounds: int = 20
    still: float = 1e-6
    longest: float = 1.5
    longest_tilt: float = 8.0
    # A step shorter than this times the last shows that old covariances are good enough.
    quick: float = 0.1
    # Values of s at most; factor between the first ones, from nowhere and from what a sample of the cells gives; the
    # power and the limit by which it grows; how near to its ends false position may go.
    searches: int = 40
    far: float = 1.6
    near: float = 1.05
    growth: float = 1.5
    farthest: float = 2.0
    edge: float = 0.05
    # The search along s ends at this relative width, or where slope and curvature leave less than half this to gain.
    width: float = 1e-9
    gain: float = 1e-8
    # Cells of the sample; least s to believe of it, since it knows too little of the rare rows that matter below; a
    # sample whose bound is above this times the best so far promises nothing.
    sample: int = 2**15
    sample_s: float = 1e-2
    hope: float = 1.05
    # Share of an output below which its law stays where it is.
    rarest: float = 1e-15


SEARCH = ConvexSearch()


@dataclass(frozen=True, eq=False)
class Dual:
    """A point of the bound."""

    # (Y,) and (A, Y)
    log_r: Floats
    log_u: Floats
    s: float
    theta: float
    # (A, Y, Y) of q under w, near here, for Newton's steps; empty where it is to be taken anew.
    covariance: Floats
    # How much of a divergence the rows of a value leave at most.
    eta: float = 1.0

    @classmethod
    def of_prior(cls, cells: Cells, pi: Floats, s: float, theta: float, eta: float = 1.0) -> "Dual":
        """The laws of a prior (C,): a valid point for any, and the best one at a prior that is stationary for s."""
        z = np.maximum(cells.joint(pi[None])[0], TINY)
        law = z.sum(axis=0)
        return cls(np.log(law / law.sum()), np.log(z / z.sum(axis=1, keepdims=True)), s, theta, np.empty(0), eta)

    def at(self, s: float) -> "Dual":
        """The same laws for another multiplier, theta as large as it allows."""
        alike = 1 / SEARCH.near <= s / self.s <= SEARCH.near
        covariance = self.covariance if alike else np.empty(0)
        theta = min(1.0, s / (self.eta * LEAST_S)) if self.theta else 0.0
        return replace(self, s=s, theta=theta, covariance=covariance)

    @property
    def lam(self) -> Floats:
        """(A, Y) of log(w/rho) = q.lam + omega sum_y phi(q) + const."""
        return (self.theta * self.log_u - self.log_r) / self.s

    @property
    def omega(self) -> float:
        return (1 - self.theta) / self.s


@dataclass(frozen=True, eq=False)
class Bounds:
    """The convex bounds of one problem; neg_entropy is that of the channel's different rows."""

    cells: Cells
    neg_entropy: Floats

    def value(self, x: Dual) -> float:
        """Guarantee: the result is at least I(A;Y) of every prior with D(pi || rho) <= K, up to rounding.

        It holds whatever the laws are.
        """
        seen = tilt(self.cells, x.lam, x.omega, self.neg_entropy)
        pull = x.theta * x.eta
        inner, sigma = seen.log_z, x.s - pull
        if x.theta:
            # h = q.( theta (log u0 - eta lam) - log r ) + (1 - theta - theta eta omega) sum_y phi(q) + theta eta log Z0
            by_output = x.theta * safe_log(seen.law) - pull * x.lam - x.log_r
            by_entropy = 1 - x.theta - pull * x.omega
            inner = tilt(self.cells, by_output / sigma, by_entropy / sigma, self.neg_entropy).log_z
            inner = inner + pull * seen.log_z / sigma
        # The masses of values are in what is inside already, and log r is not normalised.
        gain = sigma * inner
        closed = close(np.zeros_like(gain), gain, self.cells.knowledge, s=x.s, eta=pull)
        return float(closed + lse(x.log_r[None])[0])

    def search(self, x: Dual, deadline: Deadline, factor: float = SEARCH.far) -> Dual:
        """Settle at one s after another, until the least bound along s is enclosed; between them by false position.

        The first steps go by `factor`, by default as from nowhere. None crosses the s at which theta reaches 1, where
        the slope jumps.
        """
        kink = x.eta * LEAST_S
        ends: dict[bool, tuple[float, float]] = {}
        for _ in range(SEARCH.searches):
            x, slope = self.settle(x, deadline)
            t = np.log(x.s)
            ends[slope > 0] = (t, slope)
            if slope == 0 or deadline.expired():
                break
            if len(ends) > 1:
                (above, rise), (below, fall) = ends[True], ends[False]
                width = above - below
                # slope^2 / (2 curvature) is left to gain, the curvature by the two slopes
                if slope**2 * width / (rise - fall) * x.s < SEARCH.gain or width < SEARCH.width:
                    break
                edge = SEARCH.edge
                t = below + width * float(np.clip(-fall / (rise - fall), edge, 1 - edge))
            else:
                t -= np.copysign(np.log(factor), slope)
                factor = min(factor**SEARCH.growth, SEARCH.farthest)
            s = float(np.clip(np.exp(t), *SEARCH.s_range))
            if s == x.s:
                break
            x = x.at(kink if x.theta and (s - kink) * (x.s - kink) < 0 else s)
        return x

    def settle(self, x: Dual, deadline: Deadline) -> tuple[Dual, float]:
        """Newton's method at fixed s, and the slope of the bound along s; 0 at its kink, where theta reaches 1.

        Covariances cost as much again as the rest of a pass, and are taken anew where steps no longer shrink quickly.
        """
        kink = x.eta * LEAST_S
        last, slow = np.inf, not x.covariance.size
        for _ in range(SEARCH.rounds):
            seen = tilt(self.cells, x.lam, x.omega, self.neg_entropy, second=slow)
            if slow:
                x = replace(x, covariance=seen.second - seen.law[:, :, None] * seen.law[:, None, :])
            new, moved = _newton(x, seen)
            if moved < SEARCH.still or deadline.expired():
                break
            slow, last, x = moved > SEARCH.quick * last, moved, new
        # d bound / ds = K - D, less theta'(s) I(X;Y|A) where theta grows with s
        p = np.exp(seen.log_z - lse(seen.log_z[None])[0])
        divergence = float(p @ (safe_log(p) + seen.mean - seen.log_z))
        inside = float(p @ (seen.neg_entropy - phi(seen.law).sum(axis=1)))
        up = self.cells.knowledge - divergence
        down = up - inside / kink if 0 < x.s <= kink and x.theta else up
        if x.s < kink:
            return x, down
        return x, (up if up < 0 else max(down, 0.0))


@dataclass
class SharedBounds:
    """What all secrets of an audit share: entropies of the channel's rows, its constrained capacity, a first ascent."""

    neg_entropy: Floats | None = None
    whole: tuple[Dual, float] | None = None
    # Whether a secret has had its ascent.
    climbed: bool = False

    def bounds(self, cells: Cells) -> Bounds:
        if self.neg_entropy is None:
            self.neg_entropy = neg_entropies(cells.lumped.channel, cells.settings.limits.chunk_entries)
        return Bounds(cells, self.neg_entropy)

    def capacity(self, cells: Cells, deadline: Deadline, rng: np.random.Generator) -> tuple[Dual, float]:
        """The constrained capacity of the whole channel: a dual point and its bound, found for the first secret."""
        if self.whole is None:
            self.whole = self._best(cells, self._near(cells, 0.0, deadline, rng)[1], deadline)
        x, bound = self.whole
        return replace(x, log_u=np.zeros((cells.n_secrets, cells.n_outputs))), bound

    def convex(self, cells: Cells, below: float, deadline: Deadline, rng: np.random.Generator) -> tuple[Dual, float]:
        """The best convex bound of a secret: a dual point and its bound.

        A sample of the cells shows where to search, and whether the bound promises to be `below`; only then it is
        searched on all cells.
        """
        few, near = self._near(cells, 1.0, deadline, rng)
        hopeful = few.value(near) < SEARCH.hope * below
        return self._best(cells, near, deadline) if hopeful else (near, np.inf)

    def _near(self, cells: Cells, theta: float, deadline: Deadline, rng: np.random.Generator) -> tuple[Bounds, Dual]:
        """The best point of a sample of the cells, from the reference on."""
        few = self.bounds(cells.sample(SEARCH.sample, rng))
        return few, few.search(Dual.of_prior(few.cells, few.cells.rho, LEAST_S, theta), deadline)

    def _best(self, cells: Cells, near: Dual, deadline: Deadline) -> tuple[Dual, float]:
        bounds = self.bounds(cells)
        begin = near.at(max(near.s, SEARCH.sample_s))
        x = bounds.search(begin, deadline, SEARCH.near)
        return x, bounds.value(x)


def _newton(x: Dual, seen: Tilted) -> tuple[Dual, float]:
    """One Newton step on log u_a = log w q_a and r = sum p(a) u_a in log u and log r, and how far it goes.

    With C_a the covariance of q under w and v_a = w q_a, dlog u_a = S_a^-1 ( v_a log(v_a/u_a) - C_a dlog r / s ), where
    S_a = diag(v_a) - theta C_a / s is positive, since C_a <= diag(v_a).
    """
    p, law, s = np.exp(seen.log_z - lse(seen.log_z[None])[0]), seen.law, x.s
    covariance = x.covariance / s
    eye = np.eye(law.shape[1])
    # own = S^-1 v log(v/u) and by_r = S^-1 C/s: dlog u = own - by_r dlog r
    u = np.maximum(law, SEARCH.rarest)
    right = np.concatenate([(u * (np.log(u) - x.log_u))[:, :, None], covariance], axis=2)
    bent = _solved(u[:, :, None] * eye - x.theta * covariance, right) if x.theta else np.zeros_like(right)
    own, by_r = bent[:, :, 0], bent[:, :, 1:]
    # How sum_a p(a) v_a moves, by itself and with log r: p(a) ~ Z(a) moves with theta v.dlog u - v.dlog r over s
    gain = x.theta * np.einsum("ay,ay->a", law, own) / s
    by_gain = (law + x.theta * np.einsum("ay,ayx->ax", law, by_r)) / s
    moved = law + x.theta * np.einsum("ayx,ax->ay", covariance, own) + (gain - p @ gain)[:, None] * law
    by_moved = covariance @ (eye + x.theta * by_r) + law[:, :, None] * (by_gain - p @ by_gain)[:, None, :]
    # [ diag(r) - r r' + sum_a p(a) by_moved ] dlog r = sum_a p(a) moved - r
    r = np.exp(x.log_r - lse(x.log_r[None])[0])
    matrix = np.diag(r) - np.outer(r, r) + np.einsum("a,ayx->yx", p, by_moved)
    matrix = matrix + SEARCH.ridge_constant + SEARCH.ridge * eye
    d_r = solve(matrix[None], (p @ moved - r)[None])[0]
    d_u = (own - by_r @ d_r) * (u > SEARCH.rarest) if x.theta else np.zeros_like(law)
    # A step that changes log w by more leaves the region where the model holds.
    size = max(float(np.abs(d_r).max()), float(np.abs(d_u).max()))
    tilted = np.ptp(x.theta * d_u - d_r, axis=1).max() / s
    share = 1 / float(overshoot(np.asarray(size / SEARCH.longest), tilted / SEARCH.longest_tilt))
    log_r, log_u = x.log_r + share * d_r, x.log_u + share * d_u
    new = replace(x, log_r=log_r - lse(log_r[None])[0], log_u=log_u - lse(log_u)[:, None])
    return new, size


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Solve for a search direction; where old covariances make the matrix singular, by its diagonal alone."""
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        return np.asarray(right / np.einsum("ayy->ay", matrix)[:, :, None])


@dataclass(frozen=True, eq=False)
class Convex:
    """Guarantee: upper >= I(A;Y) of every prior with D(pi || rho) <= K, up to rounding."""

    kind: ClassVar[str] = "convex"
    upper: float
    x: Dual

    @classmethod
    def at(cls, cells: Cells, x: Dual) -> "Convex":
        return cls(SharedBounds().bounds(cells).value(x), x)

    @property
    def name(self) -> str:
        return {0.0: "capacity", 1.0: "contraction"}.get(self.x.theta, self.kind)

    def claim(self, rounding: Rounding) -> float:
        """The log masses enter the bound multiplied by s."""
        return self.upper + rounding.mass * self.x.s + rounding.bound

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return r, s, eta, theta, and where theta is above 0 the tilt of w0."""
        assert outputs is not None  # for the type checker: the bound needs rows
        x = self.x
        point: dict[str, Any] = {"s": x.s, "eta": x.eta, "theta": x.theta, "rho": outputs.log_r(x.log_r)}
        if x.theta:
            point["lam"] = [outputs.spread(row) for row in x.lam]
        return {**point, "omega": x.omega} if 0 < x.theta < 1 else point


class ConvexBound(Bound):
    """The best point, with the contraction of the rows: where s is above that, it closes the gap by itself."""

    def possible(self, bracket: Bracket) -> bool:
        """A Newton step takes the cube of the number of outputs; whole.py has the same bound without contraction."""
        return bracket.cells.n_outputs <= bracket.cells.settings.portfolio.most_outputs

    def promising(self, bracket: Bracket) -> bool:
        """Where s is near what the rows contract by: a count of 400 closes at once, random matrices never do."""
        if bracket.few_cells:
            return False
        return bracket.s >= SEARCH.promise * float(bracket.contraction.max())

    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        cells, bounds = bracket.cells, SharedBounds().bounds(bracket.cells)
        eta = float(bracket.contraction.max())
        x = bounds.search(Dual.of_prior(cells, cells.rho, eta * LEAST_S, 1.0, eta), deadline)
        proof = Convex(bounds.value(x), x)
        bracket.keep_growing(proof)
        bracket.keep_finished(proof)
        yield proof
