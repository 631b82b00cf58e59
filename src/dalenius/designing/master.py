"""The master problem of a design: the best mechanism against a pool of priors (MATH 6), by Clarabel [goulart24].

With many parameters interior_master.py solves it in a tenth of the time; where it breaks down, Clarabel does.

Over mechanisms q, one parameter u per orbit of pairs (class, output), with z_k(a,y) = sum_c pi_k(a,c) q(y|c):

    I_k = sum_{a,y} z log( z / (p_k(a) sum_a z) ),      e >= z log(z/v)  <=>  (-e, z, v) in the exponential cone

and one of the objectives: least max_k I_k, least distortion, or the mechanism nearest to a centre, with
bounds on leakage and distortion. Only the mechanism is taken from the solver, never its objective.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from dalenius.designing.interior_master import InteriorMaster, InteriorSearch, Pool, Task
from dalenius.designing.linear_limits import LinearLimits
from dalenius.numerics.conic import Conic
from dalenius.numerics.information import TINY
from dalenius.numerics.types import Bools, Floats
from dalenius.reductions.symmetry import Domain
from dalenius.settings import DEFAULT, Part, Settings


@dataclass(frozen=True, kw_only=True)
class MasterSearch(Part):
    """The master problem."""

    # Accuracy asked of Clarabel (the lower bound rests on ratios of probabilities, small ones too);
    # largest |log ratio| taken from its multipliers; how far rows of an accepted mechanism may be from summing to one.
    accuracy: float = 1e-10
    largest_log_ratio: float = 30.0
    largest_row_error: float = 1e-5
    # Parameters of a mechanism from which the master has an interior-point method of its own: it took 0.03 s where
    # Clarabel took 0.09 for count(10), with 61, and 0.2 where that took 3 for count(24), with 313.
    parameters: int = 40


Matrix = Any  # a NumPy array or a SciPy sparse matrix, which ships no types


@dataclass(frozen=True, eq=False)
class Plane:
    """A prior in the pool: z(a,y) and v(a,y) = p(a) sum_a z(a,y) as matrices over the parameters u."""

    record: int
    masses: Floats  # (A, K)
    z: Matrix = field(init=False)  # (A Y, P)
    v: Matrix = field(init=False)

    @classmethod
    def of(cls, domain: Domain, record: int, masses: Floats) -> "Plane":
        """Build the two matrices."""
        plane = cls(record, masses)
        many, (size, width) = masses.shape[0], domain.orbit.shape
        # m runs over the outputs of what was released before, if anything was: z(a,m,y) = sum_c pi(a,c) q_1(m|c) q(y|c)
        first = np.ones((size, 1)) if domain.first is None else domain.first
        before = first.shape[1]
        a, m, y, c = np.meshgrid(*map(np.arange, (many, before, width, size)), indexing="ij")
        shape = (many * before * width, int(domain.orbit.max()) + 1)
        rows, columns = ((a * before + m) * width + y).ravel(), domain.orbit[c, y].ravel()
        weights = (masses[a, c] * first[c, m]).ravel()
        joint = scipy.sparse.csr_matrix((weights, (rows, columns)), shape=shape)
        output = scipy.sparse.kron(np.ones((many, many)), scipy.sparse.eye(before * width)) @ joint
        p = np.repeat(masses.sum(axis=1), before * width)
        object.__setattr__(plane, "z", joint)
        object.__setattr__(plane, "v", scipy.sparse.csr_matrix(scipy.sparse.diags(p) @ output))
        return plane


@dataclass(frozen=True, eq=False)
class Best:
    """A mechanism, and the log ratios of every prior that the solver's multipliers tell.

    Where an output is hardly used, P(y|a)/P(y) of Clarabel's mechanism is noise; its multipliers are not. None of the
    interior-point method, whose mechanism has exact ratios everywhere.
    """

    rows: Floats  # (K, Y)
    ratios: list[Floats]  # (A, Y) of each prior in the pool


@dataclass(frozen=True, eq=False)
class Master:
    """The convex problem over mechanisms of a domain, in variables x = (u, t, e): parameters, leakage, terms."""

    domain: Domain
    allowed: Bools  # (P,) whether a parameter may be positive
    settings: Settings = DEFAULT
    limits: LinearLimits | None = None
    # Whether only nearest outputs are allowed, so that any budget of distortion is met.
    nearest_only: bool = False

    def least_leakage(self, pool: list[Plane], distortion: float) -> Best | None:
        """argmin_q max_k I_k over E d <= distortion, or None when the solver fails."""
        if (found := self._interior(pool, height=1.0, distortion=distortion)) is not None:
            return found
        return self._solve(pool, np.inf, distortion)

    def least_distortion(self, pool: list[Plane], leakage: float) -> Best | None:
        """argmin_q E d over I_k <= leakage."""
        if (found := self._interior(pool, linear=self._cost, leakage=leakage)) is not None:
            return found
        return self._solve(pool, leakage, np.inf, linear=self._cost)

    def nearest(self, pool: list[Plane], leakage: float, distortion: float, centre: Floats) -> Best | None:
        """The mechanism nearest to the centre with I_k <= leakage and E d <= distortion."""
        times = np.bincount(self.domain.orbit.ravel())[self.allowed].astype(np.float64)
        middle = np.asarray(np.bincount(self.domain.orbit.ravel(), weights=centre.ravel())[self.allowed], dtype=float)
        found = self._interior(pool, linear=-middle, quadratic=times, leakage=leakage, distortion=distortion)
        if found is not None:
            return found
        return self._solve(pool, leakage, distortion, linear=-middle, quadratic=times)

    def _interior(
        self,
        pool: list[Plane],
        *,
        linear: Floats | float = 0.0,
        quadratic: Floats | float = 0.0,
        height: float = 0.0,
        leakage: float = 0.0,
        distortion: float = np.inf,
    ) -> Best | None:
        """The answer of the interior-point method; None where it is not tried, or breaks down."""
        few = self.allowed.size < self.settings.of(MasterSearch).parameters
        barred = not self.allowed.all() or self.limits is not None
        if few or not pool or barred or self.domain.first is not None:
            return None
        full = np.ones(self.allowed.size)
        task = Task(linear * full, quadratic * full, height, leakage, distortion)
        solver = InteriorMaster(self.domain, self._cost, self._sums, self.settings.of(InteriorSearch))
        u = solver.solve(Pool.of_priors([plane.masses for plane in pool]), task)
        return None if u is None else self._mechanism(u, [])

    @cached_property
    def _cost(self) -> Floats:
        """Expected distortion per unit of each allowed parameter."""
        total = np.bincount(self.domain.orbit.ravel(), weights=self.domain.cost.ravel())
        return np.asarray(total[self.allowed], dtype=float)

    @cached_property
    def _sums(self) -> Floats:
        """Rows of a mechanism sum to one: which parameters a row adds up, each different row once."""
        size, width = self.domain.orbit.shape
        sums = np.zeros((size, self.allowed.size))
        np.add.at(sums, (np.repeat(np.arange(size), width), self.domain.orbit.ravel()), 1.0)
        return np.unique(sums[:, self.allowed], axis=0)

    def _programme(self, pool: list[Plane], leakage: float, distortion: float) -> tuple[Conic, slice]:
        """The programme without its objective, and which of its rows are the cones of terms."""
        u, limits, sums = np.arange(int(self.allowed.sum())), self.limits, scipy.sparse.coo_matrix(self._sums)
        sizes = [plane.z.shape[0] for plane in pool]
        t, term = u.size, np.arange(sum(sizes))
        conic = Conic(t + 1 + term.size)
        conic.equal(np.ones(len(self._sums)), (sums.row, sums.col, sums.data))
        conic.at_most(np.full(u.size, 0.0 if limits is None else -limits.floor), (u, u, -1.0))
        if np.isfinite(distortion) and not self.nearest_only:
            conic.at_most(np.array([distortion]), (0, u, self._cost))
        if limits is not None:
            limits.add(conic, self.allowed)
        if np.isfinite(leakage):
            conic.at_most(np.array([leakage]), (0, np.array([t]), 1.0))
        if not pool:
            return conic, slice(0)
        # The terms of a prior add up to t at most; (-e, z, v) of one term after another.
        of, e = np.repeat(np.arange(len(pool)), sizes), t + 1 + term
        conic.at_most(np.zeros(len(pool)), (of, e, 1.0), (np.arange(len(pool)), np.full(len(pool), t), -1.0))
        z, v = (
            scipy.sparse.coo_matrix(scipy.sparse.vstack([getattr(plane, name) for plane in pool])[:, self.allowed])
            for name in ("z", "v")
        )
        joint, output = (3 * z.row + 1, z.col, -z.data), (3 * v.row + 2, v.col, -v.data)
        return conic, conic.entropies(np.zeros(3 * term.size), (3 * term, e, 1.0), joint, output)

    def _solve(
        self,
        pool: list[Plane],
        leakage: float,
        distortion: float,
        *,
        linear: Floats | None = None,
        quadratic: Floats | None = None,
    ) -> Best | None:
        """Minimise <linear, u> + <quadratic, u^2> / 2, or t where neither is given; None when the solver fails.

        The multipliers of a term's cone are proportional to (-1, -(r+1), exp r) for r = log(z/v).
        """
        chosen, (conic, cones) = self.settings.of(MasterSearch), self._programme(pool, leakage, distortion)
        many = int(self.allowed.sum())
        objective, square = np.zeros(conic.width), np.zeros(conic.width)
        objective[:many] = 0.0 if linear is None else linear
        objective[many] = linear is None
        square[:many] = 0.0 if quadratic is None else quadratic
        solved = conic.solve(objective, chosen.accuracy, quadratic=square)
        if solved is None:
            return None
        of_cones = solved.z[cones].reshape(-1, 3)
        most = chosen.largest_log_ratio
        log_ratios = np.clip(of_cones[:, 1] / np.minimum(of_cones[:, 0], -TINY) - 1, -most, most)
        ends = np.cumsum([plane.z.shape[0] for plane in pool])[:-1]
        parts = np.split(log_ratios, ends) if pool else []
        ratios = [part.reshape(plane.masses.shape[0], -1) for part, plane in zip(parts, pool, strict=True)]
        return self._mechanism(solved.x[:many], ratios)

    def _mechanism(self, u: Floats, ratios: list[Floats]) -> Best | None:
        parameters = np.zeros(self.allowed.size)
        parameters[self.allowed] = np.maximum(u, 0.0)
        rows = parameters[self.domain.orbit]
        total = rows.sum(axis=1, keepdims=True)
        if not np.abs(total - 1).max() < self.settings.of(MasterSearch).largest_row_error:
            return None
        return Best(np.asarray(rows / total), ratios)
