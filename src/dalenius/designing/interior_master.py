"""The master problem of a design by an interior-point method of its own, where there are many parameters (MATH 6).

Over the parameters u of mechanisms, q(y|c) = u(orbit(c,y)), with z(a,y) = sum_c pi(a,c) q(y|c) and v(y) = sum_a z(a,y):

    I_k = sum_{a,y} z log( z / (p(a) v) ),      dI_k/dq(y|c) = sum_a pi(a,c) log( z / (p(a) v) ),
    d2I_k/dq(y|c)dq(y|c') = sum_a pi(a,c) pi(a,c') / z(a,y) - m(c) m(c') / v(y),      m(c) = sum_a pi(a,c).

The Hessian does not mix outputs: it is a small matrix for each of them, which a general solver with a cone for each
term does not see. With slacks S of I_k <= t and of E d <= D, Newton's method on

    grad + J' lambda - zeta + A' nu = 0,   g + S = 0,   A u = 1,   lambda S = mu,   u zeta = mu

with falling mu gives a mechanism with all probabilities positive. Its own ratios z / (p v) are evidence for a lower
bound that is as near as mu is small: zeta >= 0 says that they are feasible for weak duality. That needs an accurate
gradient also where an output is hardly used, so mu waits until the gradient is small.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.linalg import LinAlgError

from dalenius.numerics.information import TINY, safe_log
from dalenius.numerics.iterations import centring, longest_inside, slack_step
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.symmetry import Domain
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class InteriorSearch(Part):
    """The interior-point method of the master problem."""

    # Rounds at most.
    rounds: int = 150
    # Gap and error of the equations at which it ends.
    accuracy: float = 1e-9
    # Share of the way to the boundary that a step may go.
    inside: float = 0.95
    # First slack, at least.
    slack: float = 0.1
    # Gradient, in units of the gap, above which mu waits.
    ratio: float = 20.0


@dataclass(frozen=True, eq=False)
class Pool:
    """The priors of a pool, one row for each value of each: what the derivatives need of them."""

    masses: Floats  # (R, K)
    totals: Floats  # (M, K), summed over values
    of: Ints  # (R,) the prior that a row belongs to
    log_p: Floats  # (R,)

    @classmethod
    def of_priors(cls, priors: list[Floats]) -> "Pool":
        """Stack priors (A, K); values without mass leak nothing."""
        kept = [pi[pi.sum(axis=1) > 0] for pi in priors]
        masses = np.concatenate(kept)
        of = np.repeat(np.arange(len(kept)), [len(pi) for pi in kept])
        return cls(masses, np.stack([pi.sum(axis=0) for pi in priors]), of, np.log(masses.sum(axis=1)))

    def leakage(self, rows: Floats) -> tuple[Floats, Floats]:
        """I_k, (M,), and its gradient, (M, K, Y)."""
        z, v = self.masses @ rows, self.totals @ rows
        log_ratio = safe_log(z) - safe_log(v)[self.of] - self.log_p[:, None]
        starts = np.searchsorted(self.of, np.arange(len(self.totals)))
        leaks = np.add.reduceat((z * log_ratio).sum(axis=1), starts)
        gradient = np.add.reduceat(self.masses[:, :, None] * log_ratio[:, None], starts)
        return leaks, gradient

    def curvature(self, rows: Floats, weights: Floats) -> Floats:
        """sum_k weights_k d2I_k, (Y, K, K)."""
        z, v = np.maximum(self.masses @ rows, TINY), np.maximum(self.totals @ rows, TINY)
        inner, outer = weights[self.of][:, None] / z, weights[:, None] / v
        return np.asarray(
            self.masses.T @ (inner.T[:, :, None] * self.masses) - self.totals.T @ (outer.T[:, :, None] * self.totals)
        )


@dataclass(frozen=True, eq=False)
class Task:
    """Minimise <linear, u> + <quadratic, u^2>/2 + height t over I_k <= height t + leakage and E d <= distortion.

    height: 1 where the largest leakage is minimised, and `leakage` is 0 then; else 0. distortion may be infinite.
    """

    linear: Floats  # (P,)
    quadratic: Floats  # (P,)
    height: float
    leakage: float
    distortion: float


@dataclass(frozen=True, eq=False)
class _Point:
    """Parameters and multipliers, all positive but t and nu."""

    u: Floats  # (P,)
    t: float
    slack: Floats  # (G,) of the bounds on leakage, and the last on distortion, if there is one
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
    rows: Floats  # (E,) A u - 1
    jacobian: Floats  # (G, P)
    high: Floats  # (G,) -dg/dt
    curvature: Floats  # (P, P) of the Lagrangian

    @property
    def off(self) -> float:
        """The largest of them."""
        parts = (self.gradient, self.bounds, self.rows)
        return max(abs(self.height), *(float(np.abs(part).max()) for part in parts))


@dataclass(frozen=True, eq=False)
class InteriorMaster:
    """The convex problem over mechanisms of a domain."""

    domain: Domain
    cost: Floats  # (P,) expected distortion per unit of each parameter
    sums: Floats  # (E, P) rows of a mechanism: which parameters each adds up
    settings: InteriorSearch

    def solve(self, pool: Pool, task: Task) -> Floats | None:
        """Return the parameters of the best mechanism, or None where Newton's method breaks down."""
        chosen, point, length = self.settings, self._start(pool, task), 1.0
        for _ in range(chosen.rounds):
            equations, gap = self._equations(pool, task, point), point.gap
            if max(gap, equations.off) < chosen.accuracy:
                return point.u
            # mu stays where it is until the gradient is about as small as the gap
            waits = np.abs(equations.gradient).max() > chosen.ratio * gap
            mu = (1.0 if waits else centring(length)) * gap / (point.slack.size + point.u.size)
            try:
                step = self._step(point, equations, task, mu)
            except LinAlgError:
                return None
            point, length = point.moved(step, chosen.inside)
            if not (point.sound and length > 0):
                return None
        return None

    def _start(self, pool: Pool, task: Task) -> _Point:
        """Every output alike; slacks that need not fit."""
        many, least = self.cost.size, self.settings.slack
        u = np.full(many, 1.0 / self.domain.orbit.shape[1])
        leaks, _ = pool.leakage(u[self.domain.orbit])
        t = task.height * float(leaks.max())
        slack = np.maximum(t + task.leakage - leaks, least)
        if np.isfinite(task.distortion):
            slack = np.append(slack, max(task.distortion - self.cost @ u, least))
        dual = np.full(slack.size, 1.0 / slack.size)
        return _Point(u, t, slack, dual, np.full(many, 1.0 / many), np.zeros(len(self.sums)))

    def _equations(self, pool: Pool, task: Task, x: _Point) -> _Equations:
        rows = x.u[self.domain.orbit]
        leaks, gradient = pool.leakage(rows)
        # g = (I_k - height t - leakage, E d - distortion)
        above, jacobian = leaks - task.height * x.t - task.leakage, self._over_parameters(gradient)
        high = np.full(leaks.size, task.height)
        if np.isfinite(task.distortion):
            above = np.append(above, self.cost @ x.u - task.distortion)
            jacobian, high = np.vstack([jacobian, self.cost]), np.append(high, 0.0)
        curvature = self._scattered(pool.curvature(rows, x.dual[: leaks.size]))
        curvature.flat[:: len(curvature) + 1] += task.quadratic
        return _Equations(
            gradient=task.linear + task.quadratic * x.u + jacobian.T @ x.dual - x.zeta + self.sums.T @ x.nu,
            height=task.height - float(high @ x.dual),
            bounds=above + x.slack,
            rows=self.sums @ x.u - 1,
            jacobian=jacobian,
            high=high,
            curvature=curvature,
        )

    def _step(self, x: _Point, at: _Equations, task: Task, mu: float) -> _Point:
        """Newton's step, with slacks and multipliers of bounds eliminated: a system in u, t and nu."""
        many, equal = x.u.size, len(self.sums)
        stiff = x.dual / x.slack
        # what lambda moves by where u and t stay
        push = mu / x.slack - x.dual + stiff * at.bounds
        tied = -at.jacobian.T @ (stiff * at.high)
        # ( H + zeta/u + J' (lambda/S) J   -J' (lambda/S) high   A' )
        matrix = np.zeros((many + 1 + equal, many + 1 + equal))
        matrix[:many, :many] = at.curvature + at.jacobian.T @ (stiff[:, None] * at.jacobian)
        matrix.flat[: many * (many + 2 + equal) : many + 2 + equal] += x.zeta / x.u
        matrix[:many, many] = matrix[many, :many] = tied
        matrix[many, many] = float(at.high @ (stiff * at.high)) if task.height else 1.0
        matrix[:many, many + 1 :], matrix[many + 1 :, :many] = self.sums.T, self.sums
        in_u = mu / x.u - x.zeta - at.gradient - at.jacobian.T @ push
        right = np.concatenate([in_u, [float(at.high @ push) - at.height], -at.rows])
        du, dt, d_nu = np.split(np.linalg.solve(matrix, right), [many, many + 1])
        d_slack = at.high * dt - at.bounds - at.jacobian @ du
        return _Point(
            du,
            float(dt[0]),
            d_slack,
            slack_step(x.slack, x.dual, d_slack, mu),
            slack_step(x.u, x.zeta, du, mu),
            d_nu,
        )

    @cached_property
    def _places(self) -> Ints:
        """Where the Hessian over parameters holds each entry of the blocks of outputs, (Y, K, K)."""
        at = self.domain.orbit.T
        return np.asarray(at[:, :, None] * self.cost.size + at[:, None, :])

    def _over_parameters(self, gradient: Floats) -> Floats:
        """Gradients over parameters, (M, P), from those over pairs, (M, K, Y)."""
        many, size = len(gradient), self.cost.size
        index = np.arange(many)[:, None] * size + self.domain.orbit.ravel()
        summed = np.bincount(index.ravel(), weights=gradient.ravel(), minlength=many * size)
        return np.asarray(summed.reshape(many, size), dtype=float)

    def _scattered(self, blocks: Floats) -> Floats:
        """The Hessian over parameters, (P, P), from one block for each output, (Y, K, K)."""
        size = self.cost.size
        summed = np.bincount(self._places.ravel(), weights=blocks.ravel(), minlength=size * size)
        return np.asarray(summed.reshape(size, size), dtype=float)
