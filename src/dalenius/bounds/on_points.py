"""Noise on points of the answers, between which answers are mixtures (MATH 4.11)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalenius.model.channels.joint import Joint
from dalenius.model.channels.noise import Geometric, clamped
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.counting import several_runs
from dalenius.numerics.types import Floats, Ints


@dataclass(frozen=True)
class PointLimits:
    """How much a verifier may have to do for noise on points."""

    # Several releases: microseconds of the steps of a chain in balls, of which there are few, in a first look and later
    # (three counts of 1,000, epsilon .05: 6.2 % with an eighth of it); how many a product, an output and a pair of
    # halves take; and points x outputs, so that a search has time for all steps.
    first: float = 15_000.0
    most: float = 1_200_000.0
    product: float = 0.026
    output: float = 6.0
    pair: float = 0.3
    several: int = 2**23
    # Points at most that have outputs, and every how many of all points they are.
    outputs: int = 200
    apart: int = 8
    # Gaussian noise: the chance at which outputs far away are put together, and points x outputs.
    put_together: float = 1e-12
    entries: int = 2**19


LIMITS = PointLimits()


@dataclass(frozen=True)
class Place:
    """How far points are apart, how far they reach from the mean to either side, and every how many have outputs."""

    step: int
    reach: float
    apart: int = 1

    def farther(self, reach: float, most: int) -> "Place":
        """As far as that, with no more points than these."""
        return Place(max(self.step, math.ceil(2 * reach / most)), reach)


@dataclass(frozen=True)
class OnPoints:
    """Geometric or Laplace noise of a rate: geometric noise on the points."""

    rate: float
    # Whether all points are answers; whether a verifier takes long for every step of the chains.
    on_answers: ClassVar[bool] = False
    dear: ClassVar[bool] = False
    # The share of a lower bound that answers beyond the points may cost; 0 where points may reach as far as they like.
    beyond: ClassVar[float] = 0.0
    # Multipliers and shares of a flat law at which chains are run, in place of those of the settings.
    factors: ClassVar[tuple[float, ...]] = ()
    shares: ClassVar[tuple[float, ...]] = ()

    def first(self, place: Place, answers: Ints) -> Place:
        """Where to begin, in place of this."""
        return place

    def finer(self, place: Place, many: int, most: int) -> Place | None:
        """Points that are nearer to each other, if there may be twice as many."""
        return Place(place.step // 2, place.reach) if place.step > 1 and 2 * many <= most else None

    def farther(self, place: Place, reach: float, most: int) -> Place:
        """Points that reach as far."""
        return place.farther(reach, most)

    def between(self, place: Place) -> float:
        """The chance b that an answer gives an output between its points in the worst place."""
        return between_points(self.rate, 1, place.step)

    def lost(self, place: Place) -> float:
        """The chance of outputs that were put together, and tell more than their sum."""
        return 0.0

    def channel(self, first: int, many: int, place: Place) -> Floats:
        """The law of outputs at every point."""
        places = np.arange(float(many))
        return clamped(Geometric(self.rate * place.step), places[:, None], places)

    def log_orders(self, many: int, place: Place) -> Floats:
        """The logarithm of how many tuples of outputs each output stands for."""
        return np.zeros(1)

    def mirror(self, many: int, place: Place) -> Ints:
        """The mirror image of every output."""
        return np.arange(many)[::-1]

    def work(self, cells: int, many: int, place: Place) -> int:
        """What a step of the chains costs a verifier, in products of a point and a value."""
        return cells

    def too_many(self, many: int, place: Place, most: int) -> bool:
        """Whether so many points are out of the question."""
        return False

    def stated(self, many: int, place: Place) -> dict[str, Any]:
        """What a certificate says of the noise."""
        return {}


@dataclass(frozen=True)
class Several(OnPoints):
    """Several releases, by rate and which of them have it: each has noise of its own on every few of the points."""

    groups: tuple[tuple[float, tuple[int, ...]], ...] = ()
    dear: ClassVar[bool] = True
    beyond: ClassVar[float] = 0.003
    factors: ClassVar[tuple[float, ...]] = (1.08, 1.12, 1.2, 1.3)
    shares: ClassVar[tuple[float, ...]] = (0.0,)

    @classmethod
    def of(cls, joint: Joint) -> "Several":
        """The releases of a joint release."""
        rates = joint.rates
        return cls(math.fsum(rates), tuple((rates[places[0]], tuple(places)) for _, places in joint.groups))

    def first(self, place: Place, answers: Ints) -> Place:
        """A first look at few points."""
        return self._with(place.reach, LIMITS.first)

    def farther(self, place: Place, reach: float, most: int) -> Place:
        """Points that reach as far."""
        return self._with(reach, LIMITS.most)

    def finer(self, place: Place, many: int, most: int) -> Place | None:
        """Points that lose less between them."""
        nearer = self._with(place.reach, LIMITS.most)
        return nearer if self.between(nearer) < self.between(place) else None

    def _with(self, reach: float, most: float) -> Place:
        """The points that reach as far and lose least, of those for which a verifier takes no longer than this."""
        best: tuple[float, Place] | None = None
        for apart in range(1, LIMITS.apart + 1):
            for gaps in range(LIMITS.outputs, 0, -1):
                if self._too_much(gaps * apart + 1, gaps + 1, most) and gaps > 1:
                    continue
                place = Place(max(1, math.ceil(2 * reach / (gaps * apart))), reach, apart)
                lost = self.between(place)
                best = (lost, place) if best is None or lost < best[0] else best
                break
        assert best is not None  # for the type checker: two points will do
        return best[1]

    def _too_much(self, many: int, outputs: int, most: float) -> bool:
        """Whether a step of a chain takes longer, with this many points of which so many have outputs."""
        runs = [len(places) for _, places in self.groups]
        spare, halves = (sum(runs) + 1) // 2, [1, 1]
        for k in runs:
            left = min(k, spare)
            halves[0] *= math.comb(outputs + left - 1, left)
            halves[1] *= math.comb(outputs + k - left - 1, k - left)
            spare -= left
        pairs = halves[0] * halves[1]
        every = math.prod(math.comb(outputs + k - 1, k) for k in runs)
        microseconds = LIMITS.product * pairs * many + LIMITS.output * every + LIMITS.pair * pairs
        return microseconds > most or every * many > LIMITS.several

    def between(self, place: Place) -> float:
        """The chance that the answer is not a mixture of the points, or that a release of a point is not."""
        kept = 1 - super().between(place)
        for rate, places in self.groups:
            kept *= (1 - between_points(rate, place.step, place.apart)) ** len(places)
        return 1 - kept

    def channel(self, first: int, many: int, place: Place) -> Floats:
        """The law of the outputs of all releases at every point; the order of runs with one rate is not told."""
        rows = np.ones((many, 1))
        for rate, places in self.groups:
            part = self._one(rate, many, place)
            runs, orders = several_runs(part.shape[1], len(places))
            law = np.exp(orders) * np.prod([part[:, run] for run in runs.T], axis=0)
            rows = (rows[:, :, None] * law[:, None, :]).reshape(many, -1)
        return rows

    def _one(self, rate: float, many: int, place: Place) -> Floats:
        """The law of one run at every point."""
        wide = place.step * place.apart
        outputs = np.arange(float((many - 1) // place.apart + 1))
        laws = clamped(Geometric(rate * wide), outputs[:, None], outputs)
        j, offset = np.divmod(np.arange(many), place.apart)
        near = np.sinh(rate * place.step * offset)
        share = 1 - near / (near + np.sinh(rate * place.step * (place.apart - offset)))
        mixed = share[:, None] * laws[j] + (1 - share)[:, None] * laws[np.minimum(j + 1, outputs.size - 1)]
        return np.asarray(mixed)

    def log_orders(self, many: int, place: Place) -> Floats:
        """The logarithm of how many tuples of outputs each output stands for."""
        total = np.zeros(1)
        for _, places in self.groups:
            total = (total[:, None] + several_runs((many - 1) // place.apart + 1, len(places))[1]).ravel()
        return total

    def mirror(self, many: int, place: Place) -> Ints:
        """The mirror image of every output."""
        size, found = (many - 1) // place.apart + 1, np.zeros(1, dtype=np.int64)
        for _, places in self.groups:
            runs = several_runs(size, len(places))[0]
            turned = {tuple(run): i for i, run in enumerate(runs.tolist())}
            own = np.array([turned[tuple(size - 1 - y for y in reversed(run))] for run in runs.tolist()])
            found = (found[:, None] * len(runs) + own).ravel()
        return found

    def stated(self, many: int, place: Place) -> dict[str, Any]:
        """The releases of each group, and the points."""
        groups = [list(places) for _, places in self.groups]
        return {"releases": groups, "points": many, "outputs": place.apart}


@dataclass(frozen=True)
class Answers(OnPoints):
    """Noise with another log-concave law: all answers between the outermost points are points."""

    mechanism: NoisySum | None = None
    on_answers: ClassVar[bool] = True
    # Far out the divergence of Gaussian rows grows faster than the reference falls, and chains do not meet.
    beyond: ClassVar[float] = 0.0005
    # Nearer to the best multiplier than some of these chains do not meet; how near they do differs.
    factors: ClassVar[tuple[float, ...]] = (1.1, 1.07, 1.06, 1.055, 1.05, 1.03)
    shares: ClassVar[tuple[float, ...]] = (1e-3,)

    @property
    def _added(self) -> NoisySum:
        assert self.mechanism is not None  # for the type checker
        return self.mechanism

    @property
    def _reach(self) -> int:
        """Outputs that are farther away than this are put together; that chance is nothing beside rounding."""
        return self._added.reach(LIMITS.put_together)

    def first(self, place: Place, answers: Ints) -> Place:
        """Every answer is a point."""
        return Place(math.gcd(*np.diff(answers).tolist()), place.reach)

    def finer(self, place: Place, many: int, most: int) -> None:
        """There are none."""

    def farther(self, place: Place, reach: float, most: int) -> Place:
        """Points that reach as far."""
        return Place(place.step, reach)

    def between(self, place: Place) -> float:
        """Nothing."""
        return 0.0

    def lost(self, place: Place) -> float:
        """The chance of outputs beyond the reach."""
        return 2 * self._added.tail(self._reach)

    def channel(self, first: int, many: int, place: Place) -> Floats:
        """The law of outputs at every point."""
        last = first + (many - 1) * place.step
        centres = np.arange(first, last + 1, place.step, dtype=float)
        outputs = np.arange(first - self._reach, last + self._reach + 1, dtype=float)
        return np.asarray(clamped(self._added.noise, centres[:, None], outputs))

    def mirror(self, many: int, place: Place) -> Ints:
        """The mirror image of every output."""
        return np.arange((many - 1) * place.step + 1 + 2 * self._reach)[::-1]

    def work(self, cells: int, many: int, place: Place) -> int:
        """A product with a matrix takes less for each entry."""
        return cells * (1 + ((many - 1) * place.step + 2 * self._reach) // 400)

    def too_many(self, many: int, place: Place, most: int) -> bool:
        """Whether there are more points than allowed, or products with them take long."""
        return many > most or many * ((many - 1) * place.step + 1 + 2 * self._reach) > LIMITS.entries

    def stated(self, many: int, place: Place) -> dict[str, Any]:
        """The points, and which outputs are put together."""
        return {"points": many, "reach": self._reach}


def between_points(rate: float, unit: int, steps: int) -> float:
    """The chance b of an output between points that are so many units apart, at whole units, in the worst place."""
    return 1 - math.cosh(rate * unit * 0.5 * (steps % 2)) / math.cosh(rate * unit * steps / 2)


def on_points(mechanism: NoisySum) -> OnPoints | None:
    """The noise of a sum on points; None where there is no noise."""
    if (rate := mechanism.rate) is not None:
        return OnPoints(rate)
    return Answers(1.0, mechanism) if mechanism.noise.normal is not None else None
