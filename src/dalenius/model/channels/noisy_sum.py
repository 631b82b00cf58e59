"""Integer noise on the answer of a query: a number for every class of its statistic."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels import neighbours
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noise import DiscreteGaussian, Noise, clamped, drawn, least_contraction, mean_size, reach
from dalenius.model.channels.written import Label, Written
from dalenius.model.query import Query, UnlistedQuery
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.statistic import MOST_SUM_VALUES, Statistic, Sum
from dalenius.numerics.iterations import bisected
from dalenius.numerics.types import Floats, Ints


class Noisy(Mechanism):
    """What noise on a sum and noise on every count have in common.

    `name` is the call string of the mechanism, `noise` the law of what is added to one number.
    """

    query: Query
    name: str
    noise: Noise
    clamp: bool

    @abstractmethod
    def _table(self) -> tuple[Floats, tuple[Label, ...]]:
        """Compute the rows, and name the outputs."""

    @property
    @abstractmethod
    def _size(self) -> str:
        """Words for how many rows and outputs there are."""

    @cached_property
    def _written(self) -> Written:
        return Written(self.statistic, *self._table(), self.query, self.name, self if self.by_formula else None)

    def written(self) -> Written:
        if not self.has_rows:
            refuse(
                f"{self.name} of {self.query} has {self._size}, too many to write out; it can be audited, profiled, "
                "run and saved, and for anything else use fewer records"
            )
        return self._written

    @property
    def rows(self) -> Floats:
        """One row of probabilities for every class of the query."""
        return self.written().rows

    @property
    def given(self) -> Floats:
        """The rows before they were divided by their sums."""
        return self.written().given

    @property
    def labels(self) -> tuple[Label, ...]:
        """The outputs."""
        return self.written().labels

    def describe(self) -> dict[str, object]:
        """Return the problem in plain data: by its call strings where the query has one, else by its rows."""
        by_name = self.by_formula or self.whole is not None
        return super().describe() if by_name else self.written().describe()

    def stored(self) -> dict[str, object]:
        return self.written().stored() if self.has_rows else {}

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        return super()._identity if self.by_formula or not self.has_rows else self.written()._identity  # noqa: SLF001

    def sample(
        self, dataset: ArrayLike, size: int = 1, rng: np.random.Generator | int | None = None, *, secure: bool = False
    ) -> NDArray[np.generic]:
        """Run the mechanism on a dataset, as `Mechanism.sample` says: by its row, if that holds all outputs."""
        run = self.written().sample if self.has_rows and self.clamp else super().sample
        return run(dataset, size, rng, secure=secure)

    def _repr_html_(self) -> str:
        return self.written()._repr_html_() if self.has_rows else super()._repr_html_()

    def __repr__(self) -> str:
        if self.has_rows:
            return repr(self.written())
        return f"<{type(self).__name__} {self.name} of {self.query}: {self.n} records, {self._size}, never written out>"


@dataclass(frozen=True, eq=False, repr=False)
class NoisySum(Noisy):
    """Y = f(x) + noise for a query with integer answers, or answers in steps.

    Clamping puts what falls beyond the range of f on its ends, so that for every cut c inside
    P(Y < c | f) = P(noise <= c - 1 - f). Without it outputs are all integers, of which those farther from the range
    than `noise.margin` are put together: the ends stand for all beyond. Rows are written out where they are few; where
    they are many, on sums of records of few values, everything comes from the law of the noise.

    whole, part: where it is the noisy count of one value, the release that it is part of, and that value. Its dataset
    is the same, records of k values, and so is every prior on it.
    """

    query: Query
    name: str
    noise: Noise
    clamp: bool = True
    whole: Mechanism | None = None
    part: int | None = None
    statistic: Statistic = field(init=False)
    has_rows: bool = field(init=False)

    def __post_init__(self) -> None:
        query, family = self.query, self.name.split("(")[0]
        if not query.integers.numeric:
            refuse(
                f"{family} adds integer noise, but the answers of {query} are not integers; use symmetric or "
                "exponential"
            )
        object.__setattr__(self, "statistic", query.statistic)
        if not self.fits(query):
            k = query.records[0]
            values = f" (records of {k} values; up to {MOST_SUM_VALUES} noise on a sum needs no table)"
            many = isinstance(query.statistic, Sum) and k > MOST_SUM_VALUES
            checks.entries(self.statistic.size, self.n_outputs, f"{family} noise on {query}{values if many else ''}")
        few = self.statistic.size * self.n_outputs <= checks.MOST_ENTRIES
        object.__setattr__(self, "has_rows", few and self.whole is None)

    def near(self, reference: Reference) -> "NoisySum":
        """The same with the classes that are likely under a law of all records, where all are too many to list."""
        if self.query.listed:
            return self
        statistic = cast("Sum", self.statistic)
        ones = np.array(statistic.contributions) == 1
        return self.between(statistic.near(float(np.exp(reference.log_law_of(0, ones.size))[ones].sum())))

    def between(self, seen: range) -> "NoisySum":
        """The same with these answers as the classes; only where all are too many to list."""
        return replace(self, query=cast("UnlistedQuery", self.query).between(seen))

    @staticmethod
    def fits(query: Query) -> bool:
        """Whether nothing needs the rows: an integer sum of records of few values."""
        statistic = query.statistic
        plain = isinstance(statistic, Sum) and statistic.modulus is None
        return plain and query.integers.numeric and query.records[0] <= MOST_SUM_VALUES

    @property
    def as_sum(self) -> "NoisySum | None":
        """Itself, where a verifier can rebuild it without its rows."""
        return self if self.query.named and self.fits(self.query) else None

    @property
    def rises(self) -> bool:
        """On a sum, not a remainder, with answers that never fall along it: the laws of all noise are log-concave."""
        return self.by_formula and self.query.rises

    @property
    def rate(self) -> float | None:
        """The rate of noise whose rows are mixtures of rows at points; None of any other."""
        rate = self.noise.rate
        return rate if rate is not None and math.isfinite(rate) else None

    @property
    def answers(self) -> Ints:
        """f of every class, ascending where it is a sum."""
        return np.asarray(self.query.integers.answers)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest answer of the range, in steps."""
        outputs = self.query.integers.outputs
        return cast("int", outputs[0]), cast("int", outputs[-1])

    @property
    def low(self) -> int:
        """The least output, in steps of the answers; it stands for all below."""
        return self.ends[0] - (0 if self.clamp else self.noise.margin)

    @property
    def high(self) -> int:
        """The greatest output, in steps of the answers; it stands for all above."""
        return self.ends[1] + (0 if self.clamp else self.noise.margin)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The outputs, every integer of the range, or every step of a mean."""
        if self.clamp:
            return self.query.labels
        shown = self._labelled(np.arange(self.low, self.high + 1)).tolist()
        return (f"<={shown[0]}", *shown[1:-1], f">={shown[-1]}")

    @property
    def n_outputs(self) -> int:
        return self.high - self.low + 1

    @property
    def lost(self) -> float:
        """At most the chance of an output that tells more than the one it was put together with."""
        if self.clamp or not isinstance(self.noise, DiscreteGaussian):
            return 0.0
        return 2.0 * self.tail(self.noise.margin) * (1 + 1e-9)

    @property
    def _size(self) -> str:
        return f"{self.statistic.size} rows of {self.n_outputs} outputs"

    def _table(self) -> tuple[Floats, tuple[Label, ...]]:
        outputs = np.arange(self.low, self.high + 1, dtype=float)
        return clamped(self.noise, self.answers.astype(float)[:, None], outputs), self.labels

    def matrix(self) -> Floats:
        self._check_clamped("make no matrix")
        return super().matrix()

    def then(self, post: object) -> Written:
        self._check_clamped(f"are too many to process by {post!r}")
        return super().then(post)  # type: ignore[arg-type]

    def _check_clamped(self, what: str) -> None:
        if not self.clamp:
            refuse(f"the outputs of {self.name} are all integers and {what}; use clamp=True")

    def below(self, k: Ints) -> Floats:
        """P(noise <= k)."""
        k = np.asarray(k)
        small = self.noise.tail(np.where(k < 0, -k, k + 1).astype(float))
        return np.where(k < 0, small, 1 - small)

    def tail(self, k: int) -> float:
        """P(noise >= k) for k >= 1."""
        return float(self.noise.tail(np.array([float(k)]))[0])

    def reach(self, negligible: float = 2.0**-60) -> int:
        """The least k with P(noise >= k) negligible, or the width of the range if that is less."""
        return reach(self.noise, negligible, self.n_outputs)

    def joint(self, masses: Floats) -> Floats:
        return super().joint(masses) if self.has_rows else self.convolved(masses)

    def convolved(self, masses: Floats) -> Floats:
        """P(A = a, Y = y) as (A, Y) of masses (A, K), by convolution: good to some 1e-16 in every entry.

        Where only likely classes are seen, outputs beyond their reach are put together at both ends.
        """
        reach, first, last = self.reach(), self.low, self.high
        if cast("Sum", self.statistic).seen is not None:
            first = max(first, int(self.answers[0]) - reach - 1)
            last = min(last, int(self.answers[-1]) + reach + 1)
        width = last - first + 1
        d = np.arange(-reach, reach + 1)
        law = self.below(d) - self.below(d - 1)
        law[[0, -1]] = self.tail(reach)  # all that is farther
        at = np.zeros((masses.shape[0], width))
        for row, law_of_a in zip(at, masses, strict=True):
            np.add.at(row, self.answers - first, law_of_a)
        from scipy.signal import fftconvolve

        wide: Floats = np.maximum(fftconvolve(at, law[None], axes=1), 0.0)
        inside = wide[:, reach : reach + width].copy()
        inside[:, 0] += wide[:, :reach].sum(axis=1)
        inside[:, -1] += wide[:, reach + width :].sum(axis=1)
        return inside

    def dp_epsilon(self) -> float:
        """Return max log( q(y|x) / q(y|x') ) over outputs y and datasets x, x' that differ in one record.

        The law of the noise is log-concave, so that for answers f < f' the ratio q(y|f) / q(y|f') falls with y, ends
        of the range included: a ratio of sums is between those of its terms. It is largest at the least output, where

            log P(noise >= k) / P(noise >= k + s),   k = f - low,  s = f' - f,

        and by symmetry at the greatest, k = high - f'. It grows with s: of one line of neighbours the outermost count.
        Rows, which lose probabilities that are too small for a float, are compared only where the query is not a sum.
        """
        if not self.clamp and isinstance(self.noise, DiscreteGaussian) and self.statistic.size > 1:
            return math.inf
        if not self.fits(self.query):
            return neighbours.dp_epsilon(self.statistic, self.rows)
        f, g = self._outermost()
        ratios = np.concatenate([self._drop(f - self.low, g - f), self._drop(self.high - g, g - f)])
        return float(ratios.max(initial=0.0))

    def dp_delta(self, epsilon: float = 1.0) -> float:
        """Return max sum_y max(0, q(y|x) - e^epsilon q(y|x')) over datasets x, x' that differ in one record.

        As q(y|f) / q(y|f') falls with y for f < f', the positive terms are those up to a cut c, and their sum is
        P(Y <= c | f) - e^epsilon P(Y <= c | f'). With d = c - f and s = f' - f that is

            P(noise <= d) - e^epsilon P(noise <= d - s),

        which rises with d as long as P(noise = d) >= e^epsilon P(noise = d - s), then falls. That d is found by
        bisection and brought into low - f <= d < high - f. Other pairs are mirror images; of one line the outermost
        are worst.
        Differences within rounding count as zero.
        """
        e = checks.real("epsilon", epsilon, 0.0, math.inf)
        if not self.fits(self.query):
            return neighbours.dp_delta(self.statistic, self.rows, e)
        f, g = self._outermost()
        shifts, at = np.unique(g - f, return_inverse=True)
        best = self._rising(shifts, e)[at]
        worst = 0.0
        for cut in (np.clip(best, self.low - f, self.high - 1 - f), np.clip(best, g - self.high, g - 1 - self.low)):
            ratio = self._log_ratio(cut, g - f)
            excess = self.below(cut) * -np.expm1(np.minimum(e + neighbours.ROUNDING * (1 + e) - ratio, 0.0))
            worst = max(worst, float(excess.max(initial=0.0)))
        return worst

    def log_most_likely(self) -> float:
        """Return the maximal leakage, log sum_y max_x q(y|x).

        The law of the noise falls with distance, so that at each output the nearest answer is the likeliest: at
        distance 0 where the output is an answer, P(noise >= 0) at both ends; between answers that are g apart
        the distances 1, ..., g/2 come from either side.
        """
        if self.statistic.size == 1:
            return 0.0
        if not self.query.listed and self.query.sensitivity == 1:
            gap, many = np.ones(1), np.array([self.statistic.size - 1])
        else:
            gap, many = np.unique(np.diff(np.unique(self.answers)).astype(float), return_counts=True)
        near, half = self.tail(1), self.noise.tail
        between = 2 * near - half(gap // 2 + 1) - half((gap - 1) // 2 + 1)
        return math.log(2 * (1 - near) + (many.sum() - 1) * (1 - 2 * near) + many @ between)

    def expected_distortion(self) -> float:
        """Return E |Y - f(X)| for X uniform: a sum of tails to either side, E min(noise, m) = sum_{k<=m} P(noise >= k).

        Noise to the right of f is cut at high - f, to the left at f - low; without clamping it is E|noise|.
        """
        if not self.clamp:
            return mean_size(self.noise) * float(self.query.unit)
        if not self.query.listed:
            return self.near(UNIFORM).expected_distortion()
        # What the noise has beyond its reach is not seen in a float.
        reach = min(self.high - self.low, self.reach())
        mean = np.concatenate([[0.0], np.cumsum(self.noise.tail(np.arange(1.0, reach + 1)))])
        weight = np.exp(UNIFORM.log_classes(self.statistic))
        sides = self.high - self.answers, self.answers - self.low
        steps = float(weight @ sum(mean[np.minimum(side, reach)] for side in sides))
        return steps * float(self.query.unit)

    def contraction(self) -> float:
        """Return eta with D(p q || rho q) <= eta D(p || rho) for every prior p and every rho of independent records.

        Noise that is a sum of one independent part for each record makes Y a function of noisy records. A channel that
        treats records one by one contracts divergence from a product as its worst record does, and that one at most by
        1 - BC^2, BC the Bhattacharyya coefficient of two of its rows (MATH 4.8). Only where the answer is the sum.
        Never below 1e-12, which serves as well as 0.
        """
        statistic = self.statistic
        if not isinstance(statistic, Sum) or not np.array_equal(self.answers, statistic.values):
            return 1.0
        spread = max(statistic.contributions) - min(statistic.contributions)
        return least_contraction(self.noise, float(self.n) * spread**2, 1) if spread else 1.0

    def _outermost(self) -> tuple[Ints, Ints]:
        """The least and the greatest answer of every line of neighbouring datasets, where they differ.

        Of counts and totals two lines are enough: all are equally wide, s, and begin at f, the sum of the other
        records. `_drop` never falls with its first argument, the law being log-concave, so that it is largest where f
        is at one end of the range. The best cut d of `dp_delta` lies in low - f <= d < high - f with f at the lower end
        if d >= 0, with f at the upper end if not; where neither holds d, one of the two comes nearest to it, and the
        sum rises up to d and falls beyond.
        """
        if self.query.integers.name in ("count", "total"):
            low, high = self.ends
            spread = (high - low) // self.n
            least = np.array([low, high - spread], dtype=np.int64)
            most = least + spread
        else:
            (lines,) = self.statistic.neighbours()
            least, most = self.answers[lines].min(axis=1), self.answers[lines].max(axis=1)
        return least[least < most], most[least < most]

    def _drop(self, k: Ints, s: Ints) -> Floats:
        """log P(noise >= k) / P(noise >= k + s) for k >= 0, s >= 1."""
        near = self.tail(1)
        with np.errstate(divide="ignore"):
            first = np.log1p(-near) - np.log(near)  # from 0 to 1
        later = self.noise.drop(np.maximum(k, 1).astype(float), np.where(k > 0, s, s - 1).astype(float))
        return np.where(k > 0, later, first + later)

    def _log_ratio(self, d: Ints, s: Ints) -> Floats:
        """log P(noise <= d) / P(noise <= d - s) for s >= 1, d <= s/2."""
        middle = np.log(self.below(np.maximum(d, 0))) - self._log_tail(np.maximum(s - d, 1))
        return np.where(d <= 0, self._drop(np.maximum(-d, 0), s), middle)

    def _rising(self, s: Ints, epsilon: float) -> Ints:
        """The greatest d with P(noise = d) >= e^epsilon P(noise = d - s): it is at most s/2.

        Farther to the left than the reach, whatever d is, next to no noise falls.
        """
        law, factor = self.noise.law, math.exp(min(epsilon, 700.0))
        low, high = np.full_like(s, -self.reach(1e-290)), s // 2 + 1
        return bisected(low, high, lambda d: law(d.astype(float)) < factor * law((d - s).astype(float))) - 1

    def _log_tail(self, k: Ints) -> Floats:
        """log P(noise >= k) for k >= 1, also where the probability is too small for a float."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.tail(1)) - self.noise.drop(np.ones(1), k.astype(float) - 1))

    def _drawn(self, x: NDArray[Any], size: int, source: np.random.Generator) -> Ints:
        """By inversion of P(noise <= k), bisecting for the least k with P(noise <= k) >= u.

        In floats u has 53 bits and tails some 1e-16 of error. Without clamping any integer may come out.
        """
        if not self.query.listed:
            answer = int(np.asarray(cast("Sum", self.statistic).contributions)[x].sum())
        else:
            answer = int(self.answers[int(self.statistic.class_of(x))])
        u = source.random(size)
        return self.around(answer, u) if self.clamp else answer + drawn(self.noise, u)

    def _labelled(self, outputs: Any) -> NDArray[np.generic]:
        """Return integer outputs in units of the answer."""
        steps = self.query.steps
        if steps is None:
            return np.asarray(outputs, dtype=np.int64)
        distinct, at = np.unique(outputs, return_inverse=True)
        return np.array([float(steps.low + steps.unit * int(y)) for y in distinct])[at]

    def around(self, answer: int, u: Floats) -> Ints:
        """The output for every u of (0, 1): the least y with P(Y <= y | answer) >= u."""
        low = np.full(u.size, self.low - answer - 1)
        high = np.full(u.size, self.high - answer)
        return np.asarray(answer + bisected(low, high, lambda k: self.below(k) >= u))
