"""A point of the convex bound as a proof, and the search for the best one as a route of a plan (MATH 4.3, 4.4)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from dalenius.bounds.bracket import Bound, Bracket
from dalenius.bounds.convex_bound import LEAST_S, SEARCH, Dual, SharedBounds
from dalenius.bounds.proof import Proof, Rounding
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import OriginalOutputs
from dalenius.search.deadline import Deadline


@dataclass(frozen=True, eq=False)
class Convex:
    """Guarantee: upper >= I(A;Y) of every prior with D(pi || rho) <= K, up to rounding."""

    kind: ClassVar[str] = "convex"
    upper: float
    x: Dual

    @classmethod
    def at(cls, cells: Cells, x: Dual) -> "Convex":
        """The bound at a point."""
        return cls(SharedBounds().bounds(cells).value(x), x)

    @property
    def name(self) -> str:
        """The constrained capacity, contraction where no part is left to Jensen's inequality, or something between."""
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
        """One search, from the laws of the reference."""
        cells, bounds = bracket.cells, SharedBounds().bounds(bracket.cells)
        eta = float(bracket.contraction.max())
        x = bounds.search(Dual.of_prior(cells, cells.rho, eta * LEAST_S, 1.0, eta), deadline)
        proof = Convex(bounds.value(x), x)
        bracket.keep_growing(proof)
        bracket.keep_finished(proof)
        yield proof
