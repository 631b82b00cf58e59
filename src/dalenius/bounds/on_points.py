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

# Several releases: microseconds that a step of a chain may take in balls, of which there are few, in a first look and
# later (three counts of 1,000, epsilon .05: 6.2 % with an eighth of it); how many a product, an output and a pair of
# halves take; points x outputs, so that a search has time for all steps; outputs of one release, and every how many of
# the points has one.
FIRST, MOST = 15_000.0, 1_200_000.0
PRODUCT, OUTPUT, PAIR = 0.026, 6.0, 0.3
SEVERAL_ENTRIES, MOST_OUTPUTS, MOST_APART = 2**23, 200, 8
# Gaussian noise: the chance at which outputs far away are put together, and points x outputs.
PUT_TOGETHER, ENTRIES = 1e-12, 2**19
# Beyond this cosh is no float.
LARGEST = 700.0


@dataclass(frozen=True)
class Place:
    """How far points are apart, how far they reach from the mean to either side, and every how many have outputs."""

    step: int
    reach: float
    apart: int = 1


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
        """Points that reach as far as that, no more than `most` of them."""
        return Place(max(place.step, math.ceil(2 * reach / most)), reach)

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
        return self._with(place.reach, FIRST)

    def farther(self, place: Place, reach: float, most: int) -> Place:
        return self._with(reach, MOST)

    def finer(self, place: Place, many: int, most: int) -> Place | None:
        nearer = self._with(place.reach, MOST)
        return nearer if self.between(nearer) < self.between(place) else None

    def _with(self, reach: float, most: float) -> Place:
        """The points that reach as far and lose least, of those for which a verifier takes no longer than this."""
        places = []
        for apart in range(1, MOST_APART + 1):
            all_gaps = range(MOST_OUTPUTS, 0, -1)
            gaps = next((g for g in all_gaps if not self._too_much(g * apart + 1, g + 1, most)), 1)
            places.append(Place(max(1, math.ceil(2 * reach / (gaps * apart))), reach, apart))
        return min(places, key=self.between)

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
        return PRODUCT * pairs * many + OUTPUT * every + PAIR * pairs > most or every * many > SEVERAL_ENTRIES

    def between(self, place: Place) -> float:
        """The chance that the answer is not a mixture of the points, or that a release of a point is not."""
        kept = 1 - super().between(place)
        for rate, places in self.groups:
            kept *= (1 - between_points(rate, place.step, place.apart)) ** len(places)
        return 1 - kept

    def channel(self, first: int, many: int, place: Place) -> Floats:
        """The order of runs with one rate is not told."""
        rows = np.ones((many, 1))
        for rate, places in self.groups:
            part = self._one(rate, many, place)
            runs, orders = several_runs(part.shape[1], len(places))
            law = np.exp(orders) * np.prod([part[:, run] for run in runs.T], axis=0)
            rows = (rows[:, :, None] * law[:, None, :]).reshape(many, -1)
        return rows

    @staticmethod
    def _one(rate: float, many: int, place: Place) -> Floats:
        """The law of one run at every point."""
        outputs = np.arange(float((many - 1) // place.apart + 1))
        laws = clamped(Geometric(rate * place.step * place.apart), outputs[:, None], outputs)
        j, offset = np.divmod(np.arange(many), place.apart)
        near = np.sinh(rate * place.step * offset)
        share = 1 - near / (near + np.sinh(rate * place.step * (place.apart - offset)))
        return np.asarray(share[:, None] * laws[j] + (1 - share)[:, None] * laws[np.minimum(j + 1, outputs.size - 1)])

    def log_orders(self, many: int, place: Place) -> Floats:
        total = np.zeros(1)
        for _, places in self.groups:
            total = (total[:, None] + several_runs((many - 1) // place.apart + 1, len(places))[1]).ravel()
        return total

    def mirror(self, many: int, place: Place) -> Ints:
        size, found = (many - 1) // place.apart + 1, np.zeros(1, dtype=np.int64)
        for _, places in self.groups:
            runs = several_runs(size, len(places))[0]
            turned = {tuple(run): i for i, run in enumerate(runs.tolist())}
            own = np.array([turned[tuple(size - 1 - y for y in reversed(run))] for run in runs.tolist()])
            found = (found[:, None] * len(runs) + own).ravel()
        return found

    def stated(self, many: int, place: Place) -> dict[str, Any]:
        groups = [list(places) for _, places in self.groups]
        return {"releases": groups, "points": many, "outputs": place.apart}


@dataclass(frozen=True)
class Answers(OnPoints):
    """Noise with another log-concave law: all answers between the outermost points are points.

    Outputs farther away than `reach` are put together; that chance is nothing beside rounding.
    """

    noisy: NoisySum
    reach: int
    on_answers: ClassVar[bool] = True
    # Far out the divergence of Gaussian rows grows faster than the reference falls, and chains do not meet.
    beyond: ClassVar[float] = 0.0005
    # Nearer to the best multiplier than some of these chains do not meet; how near they do differs.
    factors: ClassVar[tuple[float, ...]] = (1.1, 1.07, 1.06, 1.055, 1.05, 1.03)
    shares: ClassVar[tuple[float, ...]] = (1e-3,)

    def first(self, place: Place, answers: Ints) -> Place:
        return Place(math.gcd(*np.diff(answers).tolist()), place.reach)

    def finer(self, place: Place, many: int, most: int) -> None:
        """Every answer is a point already."""

    def farther(self, place: Place, reach: float, most: int) -> Place:
        return Place(place.step, reach)

    def between(self, place: Place) -> float:
        return 0.0

    def lost(self, place: Place) -> float:
        return 2 * self.noisy.tail(self.reach)

    def _outputs(self, many: int, place: Place) -> int:
        return (many - 1) * place.step + 1 + 2 * self.reach

    def channel(self, first: int, many: int, place: Place) -> Floats:
        centres = first + place.step * np.arange(float(many))
        outputs = first - self.reach + np.arange(float(self._outputs(many, place)))
        return np.asarray(clamped(self.noisy.noise, centres[:, None], outputs))

    def mirror(self, many: int, place: Place) -> Ints:
        return np.arange(self._outputs(many, place))[::-1]

    def work(self, cells: int, many: int, place: Place) -> int:
        """A product with a matrix takes less for each entry."""
        return cells * (1 + (self._outputs(many, place) - 1) // 400)

    def too_many(self, many: int, place: Place, most: int) -> bool:
        return many > most or many * self._outputs(many, place) > ENTRIES

    def stated(self, many: int, place: Place) -> dict[str, Any]:
        return {"points": many, "reach": self.reach}


def between_points(rate: float, unit: int, steps: int) -> float:
    """The chance b of an output between points that are so many units apart, at whole units, in the worst place."""
    if steps == 1 or rate * unit * steps / 2 > LARGEST:
        return float(steps > 1)
    return 1 - math.cosh(rate * unit * 0.5 * (steps % 2)) / math.cosh(rate * unit * steps / 2)


def on_points(mechanism: NoisySum) -> OnPoints | None:
    """The noise of a sum on points; None where there is no noise."""
    if (rate := mechanism.rate) is not None:
        return OnPoints(rate)
    return None if mechanism.noise.normal is None else Answers(1.0, mechanism, mechanism.reach(PUT_TOGETHER))
