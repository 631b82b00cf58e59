"""A prior on datasets, uniform inside every pair of a record's value and a class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InputError
from dalenius.information import entropy, mutual_information
from dalenius.model import checks
from dalenius.model.additive import Additive
from dalenius.model.datasets import checked, values_of
from dalenius.model.mechanism import Mechanism

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_WEIGHTS = 2**22


@dataclass(frozen=True, eq=False, repr=False)
class Prior:
    """p(x) = masses[a, t] / N(a, t) for a = x_record and t = T(x), N the number of such datasets."""

    mechanism: Mechanism
    record: int
    masses: Floats

    def __post_init__(self) -> None:
        log_reference = self.mechanism.statistic.log_reference(self.record)
        masses = np.array(self.masses, dtype=float)
        if masses.shape != log_reference.shape:
            message = f"masses have shape {masses.shape}; record {self.record} needs {log_reference.shape}"
            raise InputError(message)
        impossible = (masses > 0) & ~np.isfinite(log_reference)
        if not (masses >= 0).all() or impossible.any() or abs(masses.sum() - 1) > 1e-9:  # noqa: PLR2004
            message = "masses of a prior are not negative, sum to 1, and vanish where no dataset is"
            raise InputError(message)
        masses.flags.writeable = False
        object.__setattr__(self, "masses", masses)

    @classmethod
    def on_blocks(cls, mechanism: Mechanism, record: int, starts: ArrayLike, masses: ArrayLike) -> "Prior":
        """Return the prior with masses (A, B) on blocks of neighbouring classes, uniform inside (a, block).

        starts: the first class of each block.
        """
        log_rho = mechanism.statistic.log_reference(record)
        first, given = np.asarray(starts, dtype=np.int64), np.asarray(masses, dtype=float)
        log_block = np.logaddexp.reduceat(log_rho, first, axis=1)
        block_of = np.repeat(np.arange(first.size), np.diff(np.append(first, log_rho.shape[1])))
        held = np.isfinite(log_rho)
        share = np.exp(np.where(held, log_rho, 0.0) - np.where(held, log_block[:, block_of], 0.0)) * held
        spread = given[:, block_of] * share
        return cls(mechanism, record, spread / spread.sum())

    def weights(self) -> Floats:
        """Return p(x) for every dataset, in the order of the matrix rows; refused when too many."""
        statistic = self.mechanism.statistic
        if statistic.log_universe > np.log(MOST_WEIGHTS) + 1e-9:
            message = (
                f"the prior is over {checks.size_text(statistic.records)} datasets, above the limit of "
                f"{MOST_WEIGHTS}; use prior.probability(dataset), prior.sample() or prior.masses"
            )
            raise InputError(message)
        values = values_of(self.record, statistic.records)
        return np.asarray(np.exp(self._log_density())[values, statistic.class_table()])

    def probability(self, dataset: ArrayLike) -> float:
        """Return p(x) of one dataset; it may underflow to 0 where there are very many."""
        statistic = self.mechanism.statistic
        x = checked(dataset, statistic.records)
        return float(np.exp(self._log_density()[x[self.record], int(statistic.class_of(x))]))

    def sample(self, size: int = 1, rng: np.random.Generator | int | None = None) -> Ints:
        """Draw `size` datasets, as (size, n)."""
        generator = np.random.default_rng(rng)
        picks = generator.choice(self.masses.size, size=size, p=self.masses.ravel() / self.masses.sum())
        cells = np.stack(np.unravel_index(picks, self.masses.shape), axis=1).tolist()
        statistic = self.mechanism.statistic
        return np.array([statistic.sample(self.record, a, t, generator) for a, t in cells])

    def entropy(self) -> float:
        """Return H(X) = H(masses) + <masses, log N>, in nats."""
        log_n = self.mechanism.statistic.log_reference(self.record) + self.mechanism.log_universe
        held = self.masses > 0
        return float(entropy(self.masses[held]) + self.masses[held] @ log_n[held])

    def joint(self) -> Floats:
        """Return P(X_record = a, Y = y) as (A, Y)."""
        if isinstance(self.mechanism, Additive):
            return self.mechanism.joint(self.masses)
        return np.asarray(self.masses @ self.mechanism.rows)

    def leakage(self) -> float:
        """Return I(X_record; Y), in nats."""
        return float(mutual_information(self.joint()))

    def __repr__(self) -> str:
        cells = int(np.count_nonzero(self.masses))
        return (
            f"<Prior on {cells} cells of record {self.record}: H = {self.entropy():.6g}, I = {self.leakage():.6g} nats>"
        )

    def _log_density(self) -> Floats:
        log_n = self.mechanism.statistic.log_reference(self.record) + self.mechanism.log_universe
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.masses > 0, np.log(self.masses) - log_n, -np.inf)
