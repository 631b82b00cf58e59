"""Integer noise on the answer of a query of so many records that its channel is never written out."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InputError
from dalenius.model.mechanism import Floats, Mechanism
from dalenius.model.query import Query
from dalenius.model.statistic import Sum

Ints = NDArray[np.int64]
Law = Callable[[Floats], Floats]

MOST_VALUES = 64  # of a record
NEGLIGIBLE = 2.0**-60  # mass of the noise that is left out of sight


@dataclass(frozen=True)
class Noise:
    """Integer noise that is symmetric around 0, by what audits ask of it."""

    tail: Law  # P(noise >= k) for k >= 1
    divergence: Law  # at least D(f + noise || f' + noise) for |f - f'| = d


class Additive(Mechanism):
    """Y = f(x) + noise, clamped to the range of f: a mechanism whose rows are too many to write out.

    f is a numeric query of a sum. Clamping puts what falls beyond the range on its ends, so that for every cut c inside
    P(Y < c | f) = P(noise <= c - 1 - f). It is a Mechanism, so that it can stand where one is asked for; whoever
    needs `rows` or `given` is told that they are not there.
    """

    noise: Noise

    def __init__(self, query: Query, name: str, noise: Noise) -> None:
        """Take the query, the call string of the mechanism, and its noise."""
        if not self.fits(query):
            message = f"noise is added without writing out its channel to counts and totals only, not to {query}"
            raise InputError(message)
        for key, value in (("statistic", query.statistic), ("query", query), ("name", name), ("noise", noise)):
            object.__setattr__(self, key, value)

    @staticmethod
    def fits(query: Query) -> bool:
        """Whether a query can be answered this way: an integer sum of records of few values."""
        statistic = query.statistic
        plain = isinstance(statistic, Sum) and statistic.modulus is None
        return plain and query.numeric and query.records[0] <= MOST_VALUES

    @property
    def answers(self) -> Ints:
        """f of every class, ascending."""
        return np.asarray(self._query.answers)

    @property
    def low(self) -> int:
        """The least output."""
        return self.labels[0]

    @property
    def high(self) -> int:
        """The greatest output."""
        return self.labels[-1]

    @property
    def labels(self) -> tuple[int, ...]:
        """The outputs, every integer of the range."""
        return self._query.outputs  # type: ignore[return-value]

    @property
    def rows(self) -> Floats:
        """Refused: they would not fit."""
        message = (
            f"{self.name} of {self.query} has {self.answers.size} rows of {len(self.labels)} outputs, too many to "
            "write out; it can be audited, run and saved, and for anything else use fewer records"
        )
        raise InputError(message)

    @property
    def given(self) -> Floats:
        """Refused, as the rows."""
        return self.rows

    def below(self, k: Ints) -> Floats:
        """P(noise <= k)."""
        k = np.asarray(k)
        small = self.noise.tail(np.where(k < 0, -k, k + 1).astype(float))
        return np.where(k < 0, small, 1 - small)

    def reach(self) -> int:
        """The least k with P(noise >= k) negligible, or the width of the range if that is less."""
        low, high = 0, self.high - self.low + 1
        while high - low > 1:
            middle = (low + high) // 2
            hidden = float(self.noise.tail(np.array([float(middle)]))[0]) <= NEGLIGIBLE
            low, high = (low, middle) if hidden else (middle, high)
        return high

    def joint(self, masses: Floats) -> Floats:
        """P(A = a, Y = y) as (A, Y) of masses (A, K), by convolution: good to some 1e-16 in every entry."""
        reach, width = self.reach(), self.high - self.low + 1
        d = np.arange(-reach, reach + 1)
        law = self.below(d) - self.below(d - 1)
        law[[0, -1]] = self.noise.tail(np.array([float(reach)]))[0]  # all that is farther
        at = np.zeros((masses.shape[0], width))
        for row, law_of_a in zip(at, masses, strict=True):
            np.add.at(row, self.answers - self.low, law_of_a)
        from scipy.signal import fftconvolve  # noqa: PLC0415 - it loads scipy.stats

        wide: Floats = np.maximum(fftconvolve(at, law[None], axes=1), 0.0)
        inside = wide[:, reach : reach + width].copy()
        inside[:, 0] += wide[:, :reach].sum(axis=1)
        inside[:, -1] += wide[:, reach + width :].sum(axis=1)
        return inside

    def sample(
        self, dataset: ArrayLike, size: int = 1, rng: np.random.Generator | int | None = None
    ) -> NDArray[np.generic]:
        """Run the mechanism on a dataset: `size` independent outputs.

        By inversion of P(noise <= k), bisecting for the least k with P(noise <= k) >= u.
        """
        answer = int(self.answers[int(self.statistic.class_of(dataset))])
        u = np.random.default_rng(rng).random(size)
        low = np.full(size, self.low - answer - 1)
        high = np.full(size, self.high - answer)
        while (wide := high - low > 1).any():
            middle = (low + high) // 2
            enough = self.below(middle) >= u
            low, high = np.where(wide & ~enough, middle, low), np.where(wide & enough, middle, high)
        return np.asarray(answer + high)

    def __repr__(self) -> str:
        return (
            f"<Additive {self.name} of {self.query}: {self.n} records, {self.answers.size} classes, "
            f"{len(self.labels)} outputs, never written out>"
        )

    def _repr_html_(self) -> str:
        return f"<p>{repr(self)[1:-1]}</p>"

    @property
    def _query(self) -> Query:
        assert self.query is not None  # noqa: S101 - for the type checker: __init__ sees to it
        return self.query
