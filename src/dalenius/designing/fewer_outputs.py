"""Designs with fewer outputs: they leak a little more, and their audits end sooner.

Any mechanism on some of the outputs is a mechanism on all of them, so its leakage is an upper bound on the optimum; the
lower bound stays that of all outputs. A tree of posteriors has a dimension for each output: of a count of 24 it closes
with seven outputs, and is far from that with 25.
"""

from dataclasses import dataclass, replace

import numpy as np

from dalenius.designing.problem import Problem
from dalenius.designing.weak_duality import Evidence, LowerBound
from dalenius.numerics.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Fewer:
    """A design problem on some outputs of another."""

    problem: Problem
    kept: Ints
    distance: Floats  # (K, Y) of all outputs

    @classmethod
    def of(cls, whole: Problem, rows: Floats, most: int) -> "Fewer | None":
        """Keep the outputs that a mechanism uses most, at most this many, and all or none that symmetries tie together.

        None where all are kept, or no mechanism on them keeps the distortion budget.
        """
        domain = whole.domain
        use = domain.weights @ rows
        # outputs that a symmetry maps to each other have parameters in common
        tied = domain.orbit.min(axis=0)
        groups = sorted((np.flatnonzero(tied == k) for k in np.unique(tied)), key=lambda ys: (-use[ys].mean(), ys[0]))
        kept: list[int] = []
        for group in groups:
            if len(kept) + len(group) <= most:
                kept += group.tolist()
        if not kept or len(kept) == use.size:
            return None
        columns = np.sort(kept)
        orbit = np.unique(domain.orbit[:, columns], return_inverse=True)[1].reshape(-1, columns.size)
        fields = {name: getattr(domain, name) for name in ("distance", "deviation", "barred")}
        fields = {name: None if table is None else table[:, columns] for name, table in fields.items()}
        problem = replace(whole, domain=replace(domain, orbit=orbit, **fields))
        if problem.limits.given and problem.limits.inner is None:
            return None
        possible = whole.goal == "distortion" or problem.least < whole.budget
        return cls(problem, columns, domain.distance) if possible else None

    def widened_evidence(self, lower: LowerBound) -> tuple[Evidence, ...]:
        """The evidence of a lower bound for all outputs: one that is left out has the ratios of the nearest kept one.

        Legal as they were, since sum_a p(a) R(a,y) <= 1 is about each output by itself.
        """
        apart = np.abs(self.distance[:, :, None] - self.distance[:, None, self.kept]).max(axis=0)
        nearest = apart.argmin(axis=1)
        return tuple(replace(item, ratios=item.ratios[:, nearest]) for item in lower.evidence)

    def widened(self, rows: Floats) -> Floats:
        """The mechanism on all outputs."""
        wide = np.zeros(self.distance.shape)
        wide[:, self.kept] = rows
        return wide
