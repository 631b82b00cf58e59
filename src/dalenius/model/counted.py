"""Priors on the counts of a histogram with noise on every count, which leaks at least what is said with them.

`CountedPrior` tilts all counts one by one; `TiedPrior` ties every value of a record to its own count.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from dalenius.errors import refuse
from dalenius.model import secret as secrets
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.counting import log_binomial
from dalenius.model.datasets import one
from dalenius.model.prior import Prior
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Attributes, Secret
from dalenius.numerics.information import gammaln
from dalenius.numerics.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Tilts:
    """The prior c_a rho_a(t) exp( sum_b f_ab(t_b) ) / Z_a on count vectors t with no count above its top.

    tilts[a][b][t] is f_ab(t). Where all values are alike one a stands for all, and has a tilt of the own count and one
    of each other. Values without mass are left out.
    """

    tops: tuple[int, ...]
    tilts: tuple[tuple[tuple[float, ...], ...], ...]
    weights: tuple[float, ...]

    def to_certificate(self) -> dict[str, Any]:
        """Return plain data."""
        tilts = [[list(tilt) for tilt in part] for part in self.tilts]
        return {"tops": list(self.tops), "tilts": tilts, "weights": list(self.weights)}

    @classmethod
    def from_certificate(cls, data: Mapping[str, Any]) -> Self:
        """Return those of plain data."""
        tilts = tuple(tuple(tuple(tilt) for tilt in part) for part in data["tilts"])
        return cls(tuple(data["tops"]), tilts, tuple(data["weights"]))

    def masses(self, counts: Floats, log_joint: Floats) -> Floats:
        """Return the prior on classes with these count vectors, (K, k), log_joint those of the reference, (k, K)."""
        alive = np.flatnonzero(np.isfinite(log_joint).any(axis=1)).tolist()
        alike = len(self.tops) == 1
        tops = self.tops * (len(alive) if alike else 1)
        inside = np.all([counts[:, b] <= top for b, top in zip(alive, tops, strict=True)], axis=0)
        result = np.zeros(log_joint.shape)
        for j, a in enumerate(alive):
            tilts = [self.tilts[0][int(b != a)] for b in alive] if alike else self.tilts[j]
            lean = sum(
                np.asarray(tilt)[np.minimum(counts[:, b], len(tilt) - 1)] for b, tilt in zip(alive, tilts, strict=True)
            )
            kept = inside & np.isfinite(log_joint[a])
            log_w = np.where(kept, log_joint[a] + lean, -np.inf)
            weight = 1 / len(alive) if alike else self.weights[j] / math.fsum(self.weights)
            result[a] = weight * np.exp(log_w - np.logaddexp.reduce(log_w))
        return result


@dataclass(frozen=True, eq=False, repr=False)
class PriorOnCounts(Prior):
    """A prior on counts of which `leaked` is what the noisy counts tell at least: their values are too many to list."""

    mechanism: NoisyCounts
    leaked: float = field(kw_only=True)

    @property
    def complete(self) -> bool:
        """False: what it tells is known from below only."""
        return False

    def joint(self) -> NoReturn:
        """Raise InputError: there are too many outputs."""
        refuse(
            f"the noisy counts of {self.mechanism.query} have too many values to list; they leak at least "
            "prior.leakage()"
        )

    def leakage(self) -> float:
        """Return what the noisy counts tell at least of the record, in nats."""
        return self.leaked


@dataclass(frozen=True, eq=False, repr=False)
class CountedPrior(PriorOnCounts):
    """masses[a, t] for count vectors t."""

    tilts: Tilts = field(kw_only=True)

    @classmethod
    def of_tilts(
        cls, mechanism: NoisyCounts, secret: int, tilts: Tilts, leaked: float, reference: Reference = UNIFORM
    ) -> "CountedPrior":
        """The prior of these tilts."""
        log_joint = reference.log_joint(mechanism.statistic, secret)
        masses = tilts.masses(np.asarray(mechanism.query.answers), log_joint)
        return cls(mechanism, secret, masses, reference, tilts=tilts, leaked=leaked)

    def to_certificate(self) -> dict[str, Any]:
        """Return the tilts."""
        return {"kind": "counted", **self.tilts.to_certificate()}


@dataclass(frozen=True)
class Decoder:
    """The guess v(a|y) = E(y_a) / sum_b E(y_b), E >= 1 whole and constant between cuts, and what its check needs.

    weights[j] is E(y) for cuts[j-1] <= y < cuts[j]. window: counts of the other values that are added up. With
    nodes u_j and the step c, log x <= C - c sum_j exp(-u_j x) for all whole x that sum_b E can be, for some C. With
    `scores` the secret is a function of the record: E is of how many of them the noisy counts of its values reach.
    """

    cuts: tuple[int, ...]
    weights: tuple[int, ...]
    window: tuple[int, int]
    nodes: tuple[float, ...]
    step: float
    scores: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class OtherCounts:
    """The counts of the k-1 other values, tilted: multinomial, times exp(tilt) of each, inside a window of counts.

    tilt[j] is that of the count low + j. Sums over count vectors are coefficients of powers of one polynomial, in the
    scale of a Poisson law of mean n/k.
    """

    n: int
    k: int
    low: int
    tilt: Floats

    @cached_property
    def weights(self) -> Floats:
        """Weights of each count in the window, before others take what is left."""
        t = np.arange(self.low, self.low + self.tilt.size)
        return np.exp(log_poisson(t, self.n / self.k) + self.tilt)

    @cached_property
    def powers(self) -> list[Floats]:
        """Weights of the sum of 0, 1, ..., k-1 counts, above so many times the lowest."""
        found = [np.ones(1)]
        for _ in range(self.k - 1):
            found.append(np.convolve(found[-1], self.weights))
        return found

    def places(self, own: Ints) -> Ints:
        """Where the others' sum n - own is in the last power."""
        return np.asarray(self.n - own - (self.k - 1) * self.low)

    def possible(self, own: Ints) -> Bools:
        """Whether the others can have the rest, for counts of the own value."""
        places = self.places(own)
        inside = (places >= 0) & (places < self.powers[-1].size)
        return np.asarray(inside & (self.powers[-1][np.where(inside, places, 0)] > 0))

    def log_mean(self, own: Ints) -> Floats:
        """log E exp(sum of tilts) under the reference, where they are held."""
        mean = (self.k - 1) * self.n / self.k
        return np.log(self.powers[-1][self.places(own)]) - log_poisson(self.n - own, mean)

    def divergence(self, own: Ints) -> Floats:
        """D from the reference of the others' counts, given each own count."""
        tilted = np.convolve(self.powers[-2], self.weights * self.tilt)[self.places(own)]
        found = (self.k - 1) * tilted / self.powers[-1][self.places(own)] - self.log_mean(own)
        return np.maximum(found, 0.0)

    def marginal(self, own: Ints, law: Floats) -> Floats:
        """The law of one other count, in the window, under a law of the own one."""
        spread = np.zeros(self.powers[-1].size)
        spread[self.places(own)] = law / self.powers[-1][self.places(own)]
        return np.asarray(self.weights * np.correlate(spread, self.powers[-2], "valid"))

    def log_excess(self, counts: Ints) -> Floats:
        """Sum of tilts of vectors (..., k-1) of counts; -inf outside of the window."""
        place = counts - self.low
        inside = (place >= 0) & (place < self.tilt.size)
        return np.asarray(np.where(inside, self.tilt[np.where(inside, place, 0)], -np.inf).sum(axis=-1))


def last_powers(weights: Floats, power: int) -> tuple[Floats, Floats]:
    """p^(k-1) and p^k of a polynomial, multiplied term by term because FFTs lose small coefficients."""
    before: Floats = np.ones(1)
    square, left = weights, power - 1
    while left:
        if left & 1:
            before = np.convolve(before, square)
        left >>= 1
        if left:
            square = np.convolve(square, square)
    return before, np.asarray(np.convolve(before, weights))


def log_poisson(t: Ints, mean: float) -> Floats:
    """log P(T = t) of a Poisson law."""
    return np.asarray(t * math.log(mean) - mean - gammaln(t + 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class TiedPrior(PriorOnCounts):
    """masses[a, t]: the record has the value a, and t records have that same value; inside as the reference.

    All k values have the same probability. The counts of other values may be tilted. `leaked` is by the decoder. Where
    the secret is a function of the record, a is its value, which as many values of a record have as any other.
    """

    decoder: Decoder = field(kw_only=True)
    # log tilts of the others' counts in the decoder's window; none where they are as the reference.
    tilt: tuple[float, ...] = field(kw_only=True, default=())

    @classmethod
    def of_counts(
        cls,
        mechanism: NoisyCounts,
        secret: Secret,
        law: Floats,
        *,
        decoder: Decoder,
        leaked: float,
        tilt: tuple[float, ...] = (),
        reference: Reference = UNIFORM,
    ) -> "TiedPrior":
        """The law of the own count, the same for every value; law[t] for t = 0..n."""
        many = secrets.size(secret, mechanism.records)
        masses = np.tile(law / (many * law.sum()), (many, 1))
        return cls(mechanism, secret, masses, reference, decoder=decoder, leaked=leaked, tilt=tilt)

    def to_certificate(self) -> dict[str, Any]:
        """Return the law of the own count from its first to its last mass, and the guess."""
        law, decoder = self.masses[0], self.decoder
        nonzero = np.flatnonzero(law)
        return {
            "kind": "tied",
            "first": int(nonzero[0]),
            "masses": law[nonzero[0] : nonzero[-1] + 1].tolist(),
            "cuts": list(decoder.cuts),
            "weights": list(decoder.weights),
            "window": list(decoder.window),
            **({"tilt": list(self.tilt)} if self.tilt else {}),
            "nodes": list(decoder.nodes),
            "step": decoder.step,
            **({"scores": list(decoder.scores)} if decoder.scores else {}),
        }

    @cached_property
    def others(self) -> OtherCounts | None:
        """The counts of other values, where they are tilted."""
        if not self.tilt:
            return None
        return OtherCounts(self.mechanism.n, self.mechanism.k, self.decoder.window[0], np.array(self.tilt))

    @property
    def _held(self) -> Ints:
        """The own counts that have mass."""
        return np.flatnonzero(self.masses[0])

    def divergence(self) -> float:
        """D(p || rho): of the own count, and of the others given it."""
        own = super().divergence()
        if self.others is None:
            return own
        return own + float(self.mechanism.k * self.masses[0, self._held] @ self.others.divergence(self._held))

    def _log_tilt(self, values: Ints, datasets: Ints) -> Floats:
        """What the others' tilts add to the logarithm of datasets (n, many), given their records' values."""
        if self.others is None:
            return np.zeros(values.size)
        k = self.mechanism.k
        counts = np.stack([(datasets == v).sum(axis=0) for v in range(k)], axis=1)
        others = counts[np.arange(k)[None, :] != values[:, None]].reshape(values.size, k - 1)
        mean = np.zeros(self.mechanism.n + 1)
        mean[self._held] = self.others.log_mean(self._held)
        return np.asarray(self.others.log_excess(others) - mean[counts[np.arange(values.size), values]])

    @property
    def tied(self) -> bool:
        """True."""
        return True

    def log_reference(self) -> Floats:
        """log rho(a, own count): of the other records Binomial(n-1, 1/k) have the value as well."""
        n, k = self.mechanism.n, secrets.size(self.secret, self.mechanism.records)
        others = log_binomial(n - 1, (1 - 1 / k, 1 / k))
        return np.tile(np.concatenate([[-np.inf], others - math.log(k)]), (k, 1))

    def probability(self, dataset: ArrayLike) -> float:
        """Return p(x) of one dataset; it may underflow to 0 where there are very many."""
        x = one(dataset, self.mechanism.records)
        return float(self._weights(x[:, None], self.reference.log_probability(x, self.mechanism.records))[0])

    def weights(self) -> Floats:
        """Return p(x) for every dataset, in the order of the matrix rows; raise InputError if there are too many."""
        records = self._listed()
        return self._weights(np.indices(records).reshape(len(records), -1), self.reference.log_table(records))

    def _weights(self, datasets: Ints, log_rho: "Floats | float") -> Floats:
        """p(x) of datasets (n, many), given log rho(x)."""
        values, labels = datasets[self._position], self._labels
        own = (labels[datasets] == labels[values]).sum(axis=0)
        return np.asarray(np.exp(self._log_excess()[labels[values], own] + self._log_tilt(values, datasets) + log_rho))

    @property
    def _labels(self) -> Ints:
        """The value of the secret by the value of its record."""
        return self.secret.values if isinstance(self.secret, Attributes) else np.arange(self.mechanism.k)

    @property
    def _position(self) -> int:
        position = self.secret.whole if isinstance(self.secret, Attributes) else self.secret
        assert isinstance(position, int)  # for the type checker: only single records are asked about
        return position
