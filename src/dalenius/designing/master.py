"""The master problem of a design: the best mechanism against a pool of priors, by an interior-point method (MATH 6).

Over the parameters u of mechanisms, q(y|c) = u(orbit(c,y)), with z(a,y) = sum_c pi(a,c) q(y|c) and v(y) = sum_a z(a,y):

    I_k = sum_{a,y} z log( z / (p(a) v) ),      dI_k/dq(y|c) = sum_a pi(a,c) log( z / (p(a) v) ),
    d2I_k/dq(y|c)dq(y|c') = sum_a pi(a,c) pi(a,c') / z(a,y) - m(c) m(c') / v(y),      m(c) = sum_a pi(a,c).

The Hessian does not mix outputs: it is a small matrix for each of them, which a general solver with a cone for each
term does not see (Clarabel took 3 s for count(24), with 313 parameters, and this 0.2). After an earlier release q_1 the
terms are z(a,m,y) = sum_c pi(a,c) q_1(m|c) q(y|c). With slacks S of I_k <= t, of E d <= D and of limits G u <= 0,
Newton's method on

    grad + J' lambda - zeta + A' nu = 0,   g + S = 0,   A u = right,   lambda S = mu,   (u - floor) zeta = mu

with falling mu gives a mechanism with all probabilities positive. Its own ratios z / (p v) are evidence for a lower
bound that is as near as mu is small: zeta >= 0 says that they are feasible for weak duality. That needs an accurate
gradient also where an output is hardly used, so mu waits until the gradient is small.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.linalg import LinAlgError

from dalenius.designing.linear_limits import LinearLimits, Matrix
from dalenius.numerics.information import TINY, safe_log
from dalenius.numerics.iterations import centring, longest_inside, slack_step
from dalenius.numerics.types import Bools, Floats, Ints
from dalenius.reductions.symmetry import Domain

# How many rounds in a row may bring a solution no nearer; the error at which it will do where digits run out.
IDLE, NEAR = 8, 1e-6
# Share of the way to the boundary that a step may go; first slack, at least.
INSIDE, SLACK = 0.95, 0.1
# Gradient, in units of the gap, above which mu waits.
RATIO = 20.0
# What is taken off the diagonal of equations, of which some may follow from others.
RIDGE = 1e-12


@dataclass(frozen=True, eq=False)
class Plane:
    """A prior in the pool."""

    record: int
    masses: Floats  # (A, K)


@dataclass(frozen=True, eq=False)
class Pool:
    """The priors of a pool, one row for each value (and output before) of each: what the derivatives need of them."""

    masses: Floats  # (R, K)
    totals: Floats  # (T, K), summed over values
    of: Ints  # (R,) the total that a row belongs to
    prior: Ints  # (T,) the prior that a total belongs to
    log_p: Floats  # (R,)

    @classmethod
    def of_priors(cls, priors: list[Floats], first: Floats | None = None) -> "Pool":
        """Stack priors (A, K), beside what was released before, (K, M); values without mass leak nothing."""
        before = np.ones((1, priors[0].shape[1])) if first is None else first.T
        kept = [pi[pi.sum(axis=1) > 0] for pi in priors]
        masses = np.concatenate([(before[:, None] * pi).reshape(-1, pi.shape[1]) for pi in kept])
        totals = np.concatenate([before * pi.sum(axis=0) for pi in kept])
        prior = np.repeat(np.arange(len(kept)), len(before))
        of = np.repeat(np.arange(prior.size), np.repeat([len(pi) for pi in kept], len(before)))
        log_p = np.concatenate([np.tile(np.log(pi.sum(axis=1)), len(before)) for pi in kept])
        return cls(masses, totals, of, prior, log_p)

    def leakage(self, rows: Floats) -> tuple[Floats, Floats]:
        """I_k, (M,), and its gradient, (M, K, Y)."""
        z, v = self.masses @ rows, self.totals @ rows
        log_ratio = safe_log(z) - safe_log(v)[self.of] - self.log_p[:, None]
        starts = np.searchsorted(self.prior[self.of], np.arange(self.prior[-1] + 1))
        leaks = np.add.reduceat((z * log_ratio).sum(axis=1), starts)
        gradient = np.add.reduceat(self.masses[:, :, None] * log_ratio[:, None], starts)
        return leaks, gradient

    def curvature(self, rows: Floats, weights: Floats) -> Floats:
        """sum_k weights_k d2I_k, (Y, K, K)."""
        z, v, heavy = np.maximum(self.masses @ rows, TINY), np.maximum(self.totals @ rows, TINY), weights[self.prior]
        inner, outer = heavy[self.of][:, None] / z, heavy[:, None] / v
        return np.asarray(
            self.masses.T @ (inner.T[:, :, None] * self.masses) - self.totals.T @ (outer.T[:, :, None] * self.totals)
        )


@dataclass(frozen=True, eq=False)
class Task:
    """Minimise <linear, u> + <quadratic, u^2>/2 + height t over I_k <= height t + leakage and E d <= distortion.

    height: 1 where the largest leakage is minimised, and `leakage` is 0 then; else 0. distortion may be infinite.
    """

    linear: Floats | float = 0.0  # (P,)
    quadratic: Floats | float = 0.0  # (P,)
    height: float = 0.0
    leakage: float = 0.0
    distortion: float = np.inf


@dataclass(frozen=True, eq=False)
class _Point:
    """Parameters above the floor and multipliers, all positive but t and nu."""

    u: Floats  # (P,)
    t: float
    slack: Floats  # (G,) of the bounds on leakage, of that on distortion, if there is one, and of limits
    dual: Floats  # (G,) lambda
    zeta: Floats  # (P,)
    nu: Floats  # (E,)

    @property
    def gap(self) -> float:
        """What complementarity is off in sum: the objective is at most this far from the best, once all else holds."""
        return float(self.dual @ self.slack + self.u @ self.zeta)

    @property
    def sound(self) -> bool:
        """Whether all numbers are finite."""
        return bool(np.isfinite(self.t) and np.isfinite(self.u).all() and np.isfinite(self.dual).all())

    def moved(self, step: "_Point", share: float) -> tuple["_Point", float]:
        """Go along a step, at most `share` of the way to the boundary; and how much of the step that was."""
        positive = ((y, getattr(step, name)) for name, y in self.__dict__.items() if name not in ("t", "nu"))
        length = min(1.0, *(share * float(longest_inside(y, dy)) for y, dy in positive))
        return _Point(**{name: y + length * getattr(step, name) for name, y in self.__dict__.items()}), length


@dataclass(frozen=True, eq=False)
class _Equations:
    """What the equations are off at a point, and what their linearisation needs."""

    gradient: Floats  # (P,) of the Lagrangian
    height: float  # the same in t
    bounds: Floats  # (G,) g + S
    rows: Floats  # (E,) A u - right
    jacobian: Floats  # (G, P) without limits
    high: Floats  # (G,) -dg/dt
    curvature: Floats  # (P, P) of the Lagrangian

    @property
    def off(self) -> float:
        """The largest of them."""
        parts = (self.gradient, self.bounds, self.rows)
        return max(abs(self.height), *(float(np.abs(part).max()) for part in parts))


@dataclass(frozen=True, eq=False)
class Master:
    """The convex problem over mechanisms of a domain."""

    domain: Domain
    allowed: Bools  # whether a parameter may be positive
    limits: LinearLimits
    # Whether only nearest outputs are allowed, so that any budget of distortion is met.
    nearest_only: bool = False
    # Rounds at most; gap and error of the equations at which they end.
    rounds: int = 150
    accuracy: float = 1e-10

    def least_leakage(self, pool: list[Plane], distortion: float) -> Floats | None:
        """argmin_q max_k I_k over E d <= distortion, (K, Y), or None when the solver fails."""
        return self._solve(pool, Task(height=1.0, distortion=distortion))

    def least_distortion(self, pool: list[Plane], leakage: float) -> Floats | None:
        """argmin_q E d over I_k <= leakage."""
        return self._solve(pool, Task(linear=self._cost, leakage=leakage))

    def nearest(self, pool: list[Plane], leakage: float, distortion: float, centre: Floats) -> Floats | None:
        """The mechanism nearest to the centre with I_k <= leakage and E d <= distortion."""
        times, middle = self._added(np.ones_like(centre)), self._added(centre)
        return self._solve(pool, Task(-middle, times, leakage=leakage, distortion=distortion))

    # Numbers that are not finite end the iteration; they need no warning.
    @np.errstate(all="ignore")
    def _solve(self, planes: list[Plane], task: Task) -> Floats | None:
        """Newton's method; where it breaks down near a solution that solution will do."""
        pool = Pool.of_priors([plane.masses for plane in planes], self.domain.first)
        point, length, near, least, idle = self._start(pool, task), 1.0, None, np.inf, 0
        for _ in range(self.rounds):
            equations, gap = self._equations(pool, task, point), point.gap
            error, idle = max(gap, equations.off), idle + 1
            if equations.off < NEAR and error < least:
                near, least, idle = point, error, 0
            if least < self.accuracy or (idle >= IDLE and near is not None):
                break
            # mu stays where it is until the gradient is about as small as the gap
            waits = np.abs(equations.gradient).max() > RATIO * gap
            mu = (1.0 if waits else centring(length)) * gap / (point.slack.size + point.u.size)
            try:
                step = self._step(point, equations, task, mu)
            except LinAlgError:
                break
            point, length = point.moved(step, INSIDE)
            if not (point.sound and length > 0):
                break
        if near is None:
            return None
        rows = self._rows(near.u)
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    def _start(self, pool: Pool, task: Task) -> _Point:
        """Every output alike; slacks that need not fit."""
        many, least = self._cost.size, SLACK
        u = np.full(many, max(1.0 / self.domain.orbit.shape[1] - self.limits.floor, TINY))
        leaks, _ = pool.leakage(self._rows(u))
        t = task.height * float(leaks.max())
        slack = np.maximum(t + task.leakage - leaks, least)
        if self._limited(task):
            slack = np.append(slack, max(task.distortion - float(self._cost @ (u + self.limits.floor)), least))
        slack = np.append(slack, np.maximum(-self._within(u + self.limits.floor), least))
        dual = np.full(slack.size, 1.0 / slack.size)
        return _Point(u, t, slack, dual, np.full(many, 1.0 / many), np.zeros(len(self._right)))

    def _equations(self, pool: Pool, task: Task, x: _Point) -> _Equations:
        u, rows = x.u + self.limits.floor, self._rows(x.u)
        leaks, gradient = pool.leakage(rows)
        # g = (I_k - height t - leakage, E d - distortion, G u)
        above = leaks - task.height * x.t - task.leakage
        jacobian = np.stack([self._added(one) for one in gradient])
        high = np.full(leaks.size, task.height)
        if self._limited(task):
            above = np.append(above, self._cost @ u - task.distortion)
            jacobian = np.vstack([jacobian, self._cost])
        above = np.append(above, self._within(u))
        curvature = self._scattered(pool.curvature(rows, x.dual[: leaks.size]))
        curvature.flat[:: len(curvature) + 1] += task.quadratic
        pushed = jacobian.T @ x.dual[: len(jacobian)] + self._limits.T @ x.dual[len(jacobian) :]
        return _Equations(
            gradient=task.linear + task.quadratic * u + pushed - x.zeta + self._sums.T @ x.nu,
            height=task.height - float(high @ x.dual[: high.size]),
            bounds=above + x.slack,
            rows=self._sums @ u - self._right,
            jacobian=jacobian,
            high=np.append(high, np.zeros(above.size - high.size)),
            curvature=curvature,
        )

    def _step(self, x: _Point, at: _Equations, task: Task, mu: float) -> _Point:
        """Newton's step, with slacks and multipliers of bounds eliminated: a system in u, t and nu."""
        many, equal, few = x.u.size, len(self._right), len(at.jacobian)
        stiff = x.dual / x.slack

        def turned(weights: Floats) -> Floats:
            return np.asarray(at.jacobian.T @ weights[:few] + self._limits.T @ weights[few:])

        # what lambda moves by where u and t stay
        push = mu / x.slack - x.dual + stiff * at.bounds
        tied = -turned(stiff * at.high)
        # ( H + zeta/u + J' (lambda/S) J   -J' (lambda/S) high   A' )
        matrix = np.zeros((many + 1 + equal, many + 1 + equal))
        matrix[:many, :many] = at.curvature + at.jacobian.T @ (stiff[:few, None] * at.jacobian)
        if stiff.size > few:
            matrix[:many, :many] += (self._limits.T @ scipy.sparse.diags(stiff[few:]) @ self._limits).toarray()
        matrix.flat[: many * (many + 2 + equal) : many + 2 + equal] += x.zeta / x.u
        matrix[:many, many] = matrix[many, :many] = tied
        matrix[many, many] = float(at.high @ (stiff * at.high)) if task.height else 1.0
        matrix[:many, many + 1 :], matrix[many + 1 :, :many] = self._sums.T, self._sums
        matrix[many + 1 :, many + 1 :] -= RIDGE * np.eye(equal)
        in_u = mu / x.u - x.zeta - at.gradient - turned(push)
        right = np.concatenate([in_u, [float(at.high @ push) - at.height], -at.rows])
        du, dt, d_nu = np.split(np.linalg.solve(matrix, right), [many, many + 1])
        d_slack = at.high * dt - at.bounds - np.append(at.jacobian @ du, self._within(du))
        return _Point(
            du,
            float(dt[0]),
            d_slack,
            slack_step(x.slack, x.dual, d_slack, mu),
            slack_step(x.u, x.zeta, du, mu),
            d_nu,
        )

    def _limited(self, task: Task) -> bool:
        return bool(np.isfinite(task.distortion)) and not self.nearest_only

    @cached_property
    def _place(self) -> Ints:
        """(K, Y) the place of every pair among the allowed parameters, and after them all that are not."""
        return np.asarray(np.where(self.allowed, np.cumsum(self.allowed) - 1, self.allowed.sum())[self.domain.orbit])

    def _rows(self, u: Floats) -> Floats:
        """The mechanism of parameters above the floor."""
        return np.asarray(np.append(u + self.limits.floor, 0.0)[self._place])

    def _added(self, table: Floats) -> Floats:
        """(P,) the sum of a table (K, Y) over the pairs of every allowed parameter."""
        summed = np.bincount(self._place.ravel(), weights=table.ravel(), minlength=int(self.allowed.sum()) + 1)
        return np.asarray(summed[:-1], dtype=float)

    @cached_property
    def _cost(self) -> Floats:
        """Expected distortion per unit of each allowed parameter."""
        return self._added(self.domain.cost)

    @cached_property
    def _sums(self) -> Floats:
        """(E, P) rows of a mechanism sum to one, each different row once; and limits that are equations."""
        sums = np.unique(np.stack([self._added(one) for one in self._units]), axis=0)
        return np.vstack([sums, self.limits.matrix[self.limits.equal][:, self.allowed].toarray()])

    @property
    def _units(self) -> Floats:
        """(K, K, Y) the tables that are one on one row."""
        size, width = self.domain.orbit.shape
        return np.broadcast_to(np.eye(size)[:, :, None], (size, size, width))

    @cached_property
    def _right(self) -> Floats:
        """(E,) what these are."""
        equal = int(self.limits.equal.sum())
        return np.append(np.ones(len(self._sums) - equal), np.zeros(equal))

    @cached_property
    def _limits(self) -> Matrix:
        """(J, P) limits that are at most 0."""
        return scipy.sparse.csr_matrix(self.limits.matrix[~self.limits.equal][:, self.allowed])

    def _within(self, u: Floats) -> Floats:
        """(J,) G u."""
        return np.asarray(self._limits @ u, dtype=float)

    @cached_property
    def _pairs(self) -> Ints:
        """Where the Hessian over parameters holds each entry of the blocks of outputs, (Y, K, K)."""
        at = self._place.T
        return np.asarray(at[:, :, None] * (self._cost.size + 1) + at[:, None, :])

    def _scattered(self, blocks: Floats) -> Floats:
        """The Hessian over parameters, (P, P), from one block for each output, (Y, K, K)."""
        size = self._cost.size + 1
        summed = np.bincount(self._pairs.ravel(), weights=blocks.ravel(), minlength=size * size)
        return np.array(summed.reshape(size, size)[:-1, :-1], dtype=float)
