"""Priors that tie every value of a record to its own count: the adversary of a histogram with noise on every count."""

import math
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.channels.noisy_histogram import NoisyHistogram
from dalenius.model.counting import log_binomial
from dalenius.model.datasets import generator, one
from dalenius.model.prior import Floats, Ints, Prior
from dalenius.model.reference import UNIFORM, Reference


@dataclass(frozen=True)
class Decoder:
    """The guess v(a|y) = E(y_a) / sum_b E(y_b), E >= 1 whole and constant between cuts, and what its check needs.

    weights[j] is E(y) for cuts[j-1] <= y < cuts[j]. window: counts of the other values that are added up. With
    nodes u_j and the step c, log x <= C - c sum_j exp(-u_j x) for all whole x that sum_b E can be, for some C.
    """

    cuts: tuple[int, ...]
    weights: tuple[int, ...]
    window: tuple[int, int]
    nodes: tuple[float, ...]
    step: float


@dataclass(frozen=True, eq=False, repr=False)
class TiedPrior(Prior):
    """masses[a, t]: the record has the value a, and t records have that same value; inside as the reference.

    All k values have the same probability. `told` is what the noisy counts tell at least under this prior, by the
    decoder: (n+1)^k outputs are too many to add up.
    """

    mechanism: NoisyHistogram
    decoder: Decoder = field(kw_only=True)
    told: float = field(kw_only=True)

    @classmethod
    def of_counts(  # noqa: PLR0913 - a prior, and how it is used
        cls,
        mechanism: NoisyHistogram,
        secret: int,
        law: Floats,
        *,
        decoder: Decoder,
        told: float,
        reference: Reference = UNIFORM,
    ) -> "TiedPrior":
        """The law of the own count, the same for every value; law[t] for t = 0..n."""
        masses = np.tile(law / (mechanism.k * law.sum()), (mechanism.k, 1))
        return cls(mechanism, secret, masses, reference, decoder=decoder, told=told)

    @property
    def complete(self) -> bool:
        """False: what it tells is known from below only."""
        return False

    @property
    def tied(self) -> bool:
        """True."""
        return True

    def log_reference(self) -> Floats:
        """log rho(a, own count): of the other records Binomial(n-1, 1/k) have the value as well."""
        n, k = self.mechanism.n, self.mechanism.k
        others = log_binomial(n - 1, (1 - 1 / k, 1 / k))
        return np.tile(np.concatenate([[-np.inf], others - math.log(k)]), (k, 1))

    def probability(self, dataset: ArrayLike) -> float:
        """Return p(x) of one dataset; it may underflow to 0 where there are very many."""
        records = self.mechanism.records
        x = one(dataset, records)
        value = int(x[self._position])
        own = int(np.count_nonzero(x == value))
        return float(np.exp(self._log_excess()[value, own] + self.reference.log_probability(x, records)))

    def weights(self) -> Floats:
        """Return p(x) for every dataset, in the order of the matrix rows; raise InputError if there are too many."""
        records = self.mechanism.records
        if self.mechanism.log_universe > math.log(self.most_weights) + 1e-9:
            message = (
                f"the prior is over {checks.size_text(records)} datasets, above the limit of {self.most_weights}; use "
                "prior.probability(dataset), prior.sample() or prior.masses"
            )
            raise InputError(message)
        listed = np.indices(records).reshape(len(records), -1)
        values = listed[self._position]
        own = (listed == values).sum(axis=0)
        return np.asarray(np.exp(self._log_excess()[values, own] + self.reference.log_table(records)))

    def sample(self, size: int = 1, rng: np.random.Generator | int | None = None) -> Ints:
        """Draw `size` datasets, as (size, n)."""
        source, n, k = generator(rng), self.mechanism.n, self.mechanism.k
        picks = source.choice(self.masses.size, size=checks.size(size), p=self.masses.ravel() / self.masses.sum())
        drawn = []
        for value, own in zip(*np.unravel_index(picks, self.masses.shape), strict=True):
            # Others that have the value are anywhere; the rest has other values, all alike.
            others = (value + source.integers(1, k, size=n - 1)) % k
            others[source.permutation(n - 1)[: own - 1]] = value
            drawn.append(np.insert(others, self._position, value))
        return np.array(drawn)

    def entropy(self) -> float:
        """Return H(X) = log|X| - D(p || rho), in nats: all values have the same probability under rho."""
        return max(0.0, self.mechanism.log_universe - self.divergence())

    def joint(self) -> NoReturn:
        """Raise InputError: there are too many outputs."""
        message = (
            f"the noisy counts of {self.mechanism.query} have too many values to list; they leak at least "
            "prior.leakage()"
        )
        raise InputError(message)

    def leakage(self) -> float:
        """Return what the noisy counts tell at least of the record, in nats."""
        return self.told

    @property
    def _position(self) -> int:
        assert isinstance(self.secret, int)  # noqa: S101 - for the type checker: only records are asked about
        return self.secret
