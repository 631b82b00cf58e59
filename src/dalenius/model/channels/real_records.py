"""Records that are real numbers: their sums and means, released with Laplace, Gaussian or geometric noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels.density import Density, decimal
from dalenius.model.channels.noise import Gaussian, Laplace
from dalenius.model.channels.parts import Everything
from dalenius.model.channels.real import RealOutputs
from dalenius.model.query import UnlistedQuery
from dalenius.model.secret import Bins


class RealQuery(UnlistedQuery):
    """f(x) = the sum, or the mean, of n real numbers in [low, high]."""

    low: float
    high: float

    def __init__(self, name: Literal["real_sum", "real_mean"], n: int, low: float, high: float) -> None:
        """Take what was checked."""
        spread = (high - low) / n if name == "real_mean" else high - low
        super().__init__(name, (("n", n), ("low", low), ("high", high)), Everything(n, None), spread)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def spread(self) -> Fraction:
        """By how much one record can change the answer."""
        return (decimal(self.high) - decimal(self.low)) / (self.n if self.name == "real_mean" else 1)

    def density(self, reference: object) -> Density:
        return Density.of(reference, self.low, self.high)

    def refuse(self) -> NoReturn:
        refuse(
            f"the answers of {self} are real numbers; add laplace, gaussian or geometric noise, or round the records "
            "with queries.total or queries.mean"
        )

    def __repr__(self) -> str:
        return f"<Query {self}: {self.n} real-valued record{'' if self.n == 1 else 's'}>"


def real_query(name: Literal["real_sum", "real_mean"], n: object, low: object, high: object) -> RealQuery:
    """Return the query, or refuse it."""
    many = checks.records(n)
    ends = [checks.real(what, x, -math.inf, math.inf) for what, x in (("low", low), ("high", high))]
    if not ends[0] < ends[1]:
        refuse(f"low = {low} is not below high = {high}; records are real numbers between the two")
    # Whole numbers stay whole in the call string.
    kept = [int(x) if isinstance(given, (int, np.integer)) else x for x, given in zip(ends, (low, high), strict=True)]
    return RealQuery(name, many, *kept)


@dataclass(frozen=True)
class Steps:
    """Two-sided geometric noise in steps of what one record can change, which is so many of them.

    Records are rounded to steps before they are added up: P(d steps) is proportional to exp( -rate |d| / steps ).
    """

    rate: float
    steps: int

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw noise: the difference of two numbers of failures."""
        found = rng.geometric(-math.expm1(-self.rate / self.steps), size=(2, size))
        return np.asarray((found[0] - found[1]) / self.steps)

    def dp_epsilon(self, apart: float) -> float:
        """Largest log ratio of the chances of two answers so far apart."""
        return self.rate * apart

    def dp_delta(self, apart: float, epsilon: float) -> float:
        """P(N <= t) - e^epsilon P(N <= t - m), t the last of the steps at which the log ratio, r (m - 2t), is above."""
        m, rate = round(apart * self.steps), self.rate / self.steps
        t = math.ceil((m - epsilon / rate) / 2) - 1
        if t < 0:
            return 0.0
        # With alpha = exp(-rate), P(N <= -k) = alpha^k / (1 + alpha) for k >= 0, and P(N > t) = P(N <= -t - 1).
        beyond = math.exp(-rate * (t + 1)) + math.exp(epsilon + rate * (t - m))
        return max(0.0, 1 - beyond / (1 + math.exp(-rate)))


@dataclass(frozen=True, eq=False, repr=False)
class RealRecords(RealOutputs):
    """Y = f(x) + noise of real-valued records, a real number. noise: in units of what one record can change.

    Geometric noise is on records that were rounded, so that Y is a number of steps; it is clamped to the answers.
    """

    query: RealQuery
    name: str
    noise: Laplace | Gaussian | Steps
    # The rate, or the deviation, as an exact number.
    exact: Fraction
    statistic: Everything = field(init=False)
    # Noise is in units of what one record can change.
    apart = 1.0
    drawn_exactly = "round the records with queries.total or queries.mean, whose outputs are drawn exactly"

    def __post_init__(self) -> None:
        self._check_noise(1e-6, 1e6)
        object.__setattr__(self, "statistic", self.query.statistic)

    @property
    def laplace(self) -> bool:
        """Whether the noise is Laplace noise, not Gaussian."""
        return isinstance(self.noise, Laplace)

    @property
    def steps(self) -> int | None:
        """How many steps records are rounded to, from low to high; None where they are not rounded."""
        return self.noise.steps if isinstance(self.noise, Steps) else None

    @property
    def as_real_records(self) -> "RealRecords":
        return self

    def written(self) -> NoReturn:
        refuse(
            f"{self.name} of {self.query} has no table, as its records are real numbers; it can be audited, run and "
            "saved, and for anything else round the records, with queries.total or queries.mean"
        )

    def density(self, reference: object) -> Density:
        return self.query.density(reference)

    def secret(self, secret: object) -> int | Bins | None:
        """Return the record that a user names as the secret, or its bin; None for all of them."""
        if isinstance(secret, Mapping):
            return self._bins(secret)
        one = secret[0] if isinstance(secret, (list, tuple)) and len(secret) == 1 else secret
        if one is None or (isinstance(one, (int, np.integer)) and not isinstance(one, bool) and 0 <= one < self.n):
            return None if one is None else int(one)
        refuse(
            f"secret = {secret!r}: of real-valued records the secret is one record; give its index, 0 to {self.n - 1}, "
            'or {"record": 0, "edges": [...]} for the bin that it lies in'
        )

    def _bins(self, given: Mapping[object, object]) -> Bins:
        """Return the bin of a record, with edges from low to high; the ends may be left out."""
        low, high = self.query.low, self.query.high
        if set(given) != {"record", "edges"}:
            refuse(f'secret = {dict(given)!r} must hold "record" and "edges", and nothing else')
        record = self.secret(given["record"])
        listed = checks.listed(given["edges"], f"the edges of the secret are {given['edges']!r}, not a list of numbers")
        inside = [checks.real(f"edge {i} of the secret", e, low, high) for i, e in enumerate(listed)]
        edges = (low, *(e for e in inside if low < e < high), high)
        one_bin = 2
        if not isinstance(record, int) or len(edges) == one_bin or any(a >= b for a, b in pairwise(edges)):
            refuse(f"the secret needs a record and edges that ascend, one or more between {low} and {high}")
        return Bins.of(record, edges)

    def log_maximal(self, n: int) -> float:
        """Return the maximal leakage of n records, log of the integral of the largest density."""
        if isinstance(self.noise, Steps):
            return math.log1p(n * self.noise.steps * math.tanh(self.noise.rate / self.noise.steps / 2))
        if isinstance(self.noise, Laplace):
            return math.log1p(self.noise.rate * n / 2)
        return math.log1p(n / (self.noise.sigma * math.sqrt(2 * math.pi)))

    def log_most_likely(self) -> float:
        return self.log_maximal(self.n)

    def dataset(self, dataset: ArrayLike) -> NDArray[Any]:
        x = np.asarray(dataset, dtype=float)
        low, high = self.query.low, self.query.high
        if x.shape != (self.n,) or not ((x >= low) & (x <= high)).all():
            refuse(f"the dataset {dataset!r} must list {self.n} real numbers from {low} to {high}")
        return x

    def _drawn(self, x: NDArray[Any], size: int, source: np.random.Generator) -> NDArray[np.float64]:
        query, drawn = self.query, self.noise.sample(source, size)
        if self.steps is not None:
            step = (query.high - query.low) / self.steps
            rounded = np.floor((x - query.low) / step + 0.5).sum() + np.round(drawn * self.steps)
            answers = self.n * query.low + step * np.clip(rounded, 0, self.n * self.steps)
            return np.asarray(answers / (self.n if query.name == "real_mean" else 1))
        answer = float(x.mean() if query.name == "real_mean" else x.sum())
        return np.asarray(answer + float(query.spread) * drawn)

    def expected_distortion(self) -> float:
        """Return E|Y - f(X)|, the mean size of the noise; the rounding of records to steps is not in it."""
        if isinstance(self.noise, Steps):
            mean = 1 / math.sinh(self.noise.rate / self.noise.steps) / self.noise.steps
        else:
            mean = 1 / self.noise.rate if isinstance(self.noise, Laplace) else self.noise.sigma * math.sqrt(2 / math.pi)
        return float(self.query.spread) * mean

    def profile(self, *_: object, **__: object) -> NoReturn:
        """Raise InputError: a profile compares values of b, and real-valued records have no entropy."""
        self.written()

    def __repr__(self) -> str:
        return f"<RealRecords {self.name} of {self.query}: {self.n} real-valued records, real outputs>"
