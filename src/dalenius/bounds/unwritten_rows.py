"""Monotone rows for noise on a sum that is never written out, on points between which answers are mixtures (MATH 4.11).

Geometric and Laplace noise of rate c: an answer f between the points x and x + step has the row

    q_f = A q_x + B q_(x+step) + (1 - A - B) (a law between the points),     A = sinh(c (x + step - f)) / sinh(c step),

B the same from the other side. With 1 - A - B made the same b for all f, L <= L' + b log|A|, where L' is about the
points alone, on which the noise is geometric with factor exp(-c step). Answers beyond the outermost points are told
apart in full: they are so rare that it costs nothing.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.bounds.closed_forms import Formula
from dalenius.bounds.monotone import Monotone, Scan
from dalenius.bounds.proof import Rounding
from dalenius.model.additive import Additive
from dalenius.model.noise import Geometric, Laplace
from dalenius.numerics.deferred import logsumexp
from dalenius.numerics.types import Bools, Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Lumped
from dalenius.reductions.order import Order
from dalenius.reductions.outputs import OriginalOutputs
from dalenius.search.ascent import climb
from dalenius.search.deadline import Deadline
from dalenius.settings import Settings


@dataclass(frozen=True)
class PointRows(Formula):
    """The row bound on points first, first + step, ..., reached after so many steps of the chains."""

    kind = "monotone"
    rows: Monotone | None = None
    first: int = 0
    step: int = 1
    beyond: float = 0.0

    def claim(self, rounding: Rounding) -> float:
        """Rounding as for written rows; there are far more classes than points."""
        assert self.rows is not None  # noqa: S101 - for the type checker
        return self.upper + 100 * rounding.bound + 10 * rounding.mass * max(self.rows.s, 1.0)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:  # noqa: ARG002 - none is written out
        """Return the points, the output law on them, the share of answers beyond, s, and the number of steps."""
        assert self.rows is not None  # noqa: S101 - for the type checker
        return {
            "first": self.first,
            "step": self.step,
            "rho": self.rows.log_r.tolist(),
            "beyond": self.beyond,
            "s": self.rows.s,
            "rounds": self.rows.rounds,
        }


@dataclass(eq=False)
class Points:
    """The problem on points: where they are, and what the reference gives to pairs of a secret value and a point."""

    mechanism: Additive
    log_joint: Floats
    knowledge: float
    settings: Settings
    deadline: Deadline
    rate: float = field(init=False)

    def __post_init__(self) -> None:
        noise = self.mechanism.noise
        assert isinstance(noise, (Geometric, Laplace))  # noqa: S101 - `suits` was asked
        self.rate = noise.rate
        self.log_p = logsumexp(self.log_joint, axis=1)
        self.log_joint = self.log_joint[np.isfinite(self.log_p)]
        self.log_p = self.log_p[np.isfinite(self.log_p)]
        answers, weight = self.mechanism.answers, np.exp(logsumexp(self.log_joint, axis=0))
        self.mean = float(weight @ answers)
        self.spread = math.sqrt(float(weight @ (answers - self.mean) ** 2))

    def best(self) -> PointRows | None:
        """Refine the points while what they lose is more than a small share of the bound."""
        settings = self.settings.monotone
        found: PointRows | None = None
        step = max(1, int(self.spread / settings.points_per_spread))
        width, whole = settings.spreads, int(self.mechanism.answers[-1] - self.mechanism.answers[0])
        for _ in range(settings.refinements):
            if self.deadline.expired():
                break
            tried, lost = self._at(step, width)
            if tried is None:
                break
            found = tried if found is None or tried.upper < found.upper else found
            share = settings.lost * tried.upper
            if lost[1] > share and width * self.spread < whole:
                # Where s is small, answers beyond cost too much: the points reach as far as the answers do.
                width, step = whole / self.spread, max(step, -(-whole // settings.most_points))
            elif (
                lost[0] > share and step > 1 and min(whole, 2 * width * self.spread) / step <= settings.most_points / 2
            ):
                step //= 2
            else:
                break
        return found

    def _at(self, step: int, width: float) -> tuple[PointRows | None, tuple[float, float]]:
        """The bound on these points, and what it loses between them and beyond them."""
        answers = self.mechanism.answers
        first = max(int(answers[0]), math.floor(self.mean - width * self.spread))
        many = -(-(min(int(answers[-1]), math.ceil(self.mean + width * self.spread)) - first) // step) + 1
        inside = (answers >= first) & (answers <= first + (many - 1) * step)
        reference = self._reference(first, step, many, inside)
        cells = self._cells(reference, step)
        rows = self._rows(cells)
        if rows is None:
            return None, (0.0, 0.0)
        outside = int((~inside).sum())
        between = between_points(self.rate, step) * math.log(len(self.log_p))
        beyond = self.settings.monotone.beyond if outside else 0.0
        upper, rare = self._with_outside(rows, inside, beyond, outside)
        upper += between
        return PointRows(upper, rows, first, step, beyond), (between, rare)

    def _reference(self, first: int, step: int, many: int, inside: Bools) -> Floats:
        """(A, J) log mass of pairs of a value and a point."""
        place = self.mechanism.answers[inside] - first
        j, offset = np.divmod(place, step)
        j, offset = np.where(j == many - 1, j - 1, j), np.where(j == many - 1, step, offset)
        left = np.sinh(self.rate * (step - offset)) / (
            np.sinh(self.rate * (step - offset)) + np.sinh(self.rate * offset)
        )
        points = np.zeros((len(self.log_p), many))
        for a, log_law in enumerate(self.log_joint[:, inside]):
            law = np.exp(log_law)
            points[a] += np.bincount(j, weights=law * left, minlength=many)
            points[a] += np.bincount(j + 1, weights=law * (1 - left), minlength=many)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(points))

    def _cells(self, log_reference: Floats, step: int) -> Cells:
        a, j = np.nonzero(np.isfinite(log_reference))
        log_rho = log_reference[a, j]
        log_rho -= logsumexp(log_rho)
        places = np.arange(float(log_reference.shape[1]))
        channel = Geometric(self.rate * step).rows(places[:, None], places)
        lumped = Lumped(a, channel, log_rho, len(log_reference), j)
        return Cells(lumped, self.knowledge, self.settings)

    def _rows(self, cells: Cells) -> Monotone | None:
        """The best prior on the points, and the row bound near its output law and multiplier."""
        closed = self.settings.closed_forms
        x = cells.lumped.row - float(cells.rho @ cells.lumped.row)
        lean = cells.secret - float(cells.rho @ cells.secret)
        both = (x / math.sqrt(float(cells.rho @ x**2))) * (lean / max(math.sqrt(float(cells.rho @ lean**2)), 1e-9))
        tilts = np.array(closed.sum_tilts)[:, None] * math.sqrt(2 * self.knowledge)
        log_pi = cells.log_rho + tilts * both
        starts = np.exp(log_pi - logsumexp(log_pi, axis=1, keepdims=True))
        pi, value, s = climb(cells, starts, self.deadline, closed.sum_rounds, still=closed.sum_still)
        k = int(np.argmax(value))
        if s[k] <= closed.row_least_s:
            return None
        order = Order(np.arange(len(cells.lumped.channel)))
        tolerance = self.settings.monotone.near * float(value[k])
        return Scan(cells, order, self.deadline).run(pi[k], float(s[k]), float(value[k]), tolerance)

    def _with_outside(self, rows: Monotone, inside: Bools, beyond: float, outside: int) -> tuple[float, float]:
        """s LSE_a( log rho(a) + G_a / s ) + s K with answers beyond the points, and what they add."""
        s = rows.s
        # The bound on points alone has the reference inside as a law of its own.
        log_inside = float(logsumexp(self.log_joint[:, inside]))
        alone = rows.upper / s - self.knowledge + log_inside
        if not outside:
            return s * (alone + self.knowledge), 0.0
        far = float(logsumexp(self.log_joint[:, ~inside])) + (math.log(outside) - math.log(beyond)) / s
        near = alone - math.log1p(-beyond) / s
        return s * (float(np.logaddexp(near, far)) + self.knowledge), s * float(np.logaddexp(near, far) - near)


def between_points(rate: float, step: int) -> float:
    """The chance b that an answer gives an output between its points in the worst place."""
    return 1 - math.cosh(rate * 0.5 * (step % 2)) / math.cosh(rate * step / 2)


def suits(mechanism: Additive) -> bool:
    """Whether the noise is of a kind whose rows are mixtures of rows at points."""
    return isinstance(mechanism.noise, (Geometric, Laplace)) and math.isfinite(mechanism.noise.rate)
