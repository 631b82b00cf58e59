"""A prior on datasets that follows the reference inside every pair of a secret value and a class."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalenius import shown
from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model import secret as secrets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.query import set_state
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Secret
from dalenius.numerics.information import xlogy
from dalenius.numerics.types import Floats

# D(p || rho) of floats that state rho itself.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Prior:
    """p(x) = masses[a, t] rho(x) / rho(a, t) for a = secret(x) and t = T(x), rho the reference prior.

    Attributes:
        mechanism: what it is a prior for.
        secret: what it is about.
        masses: mass of every cell, one row per value of the secret, one column per class.
        reference: rho.

    Example:
        >>> audit = dl.audit(dl.mechanisms.symmetric(dl.queries.modular_sum(n=2, modulus=2), flip=0.3), knowledge=0.5)
        >>> round(audit.prior.leakage(), 4), round(audit.prior.entropy(), 4)
        (0.0668, 0.8863)
    """

    mechanism: Mechanism
    secret: Secret
    masses: Floats
    reference: Reference = UNIFORM
    # Datasets that are listed one by one.
    most_weights: ClassVar[int] = 2**22

    __setstate__ = set_state

    def __post_init__(self) -> None:
        log_rho = self.log_reference()
        masses = np.array(self.masses, dtype=float)
        if masses.shape != log_rho.shape:
            refuse(f"masses have shape {masses.shape}; {secrets.name(self.secret)} needs {log_rho.shape}")
        impossible = (masses > 0) & ~np.isfinite(log_rho)
        if not (masses >= 0).all() or impossible.any() or abs(masses.sum() - 1) > checks.SUM_TOLERANCE:
            refuse("masses of a prior are not negative, sum to 1, and vanish where no dataset is")
        masses.flags.writeable = False
        object.__setattr__(self, "masses", masses)

    @classmethod
    def on_blocks(
        cls,
        mechanism: Mechanism,
        secret: Secret,
        starts: ArrayLike,
        masses: ArrayLike,
        reference: Reference = UNIFORM,
    ) -> "Prior":
        """Return the prior with masses (A, B) on blocks of neighbouring classes, as the reference inside (a, block).

        starts: the first class of each block.
        """
        log_rho = reference.log_joint(mechanism.statistic, secret)
        first, given = np.asarray(starts, dtype=np.int64), np.asarray(masses, dtype=float)
        log_block = np.logaddexp.reduceat(log_rho, first, axis=1)
        block_of = np.repeat(np.arange(first.size), np.diff(np.append(first, log_rho.shape[1])))
        alive = np.isfinite(log_rho)
        share = np.exp(np.where(alive, log_rho, 0.0) - np.where(alive, log_block[:, block_of], 0.0)) * alive
        spread = given[:, block_of] * share
        if not spread.sum() > 0:
            refuse("the blocks of a prior have no mass")
        return cls(mechanism, secret, spread / spread.sum(), reference)

    @property
    def record(self) -> int | None:
        """The record that is the secret; None for a group or a function of the dataset."""
        return self.secret if isinstance(self.secret, int) else None

    @property
    def complete(self) -> bool:
        """Whether leakage() is that of the whole release, not of a part of it and not a lower bound."""
        return self.mechanism.part is None

    @property
    def tied(self) -> bool:
        """Whether the classes are counts of the value that the secret has (TiedPrior)."""
        return False

    @classmethod
    def uniform(cls, mechanism: Mechanism) -> "Prior":
        """Return the uniform prior on the one record of a mechanism with one class."""
        return cls(mechanism, 0, np.full((mechanism.k, 1), 1 / mechanism.k))

    @property
    def even(self) -> bool:
        """Whether it is the uniform prior on the one record of a symmetric channel that is never written out."""
        return self.mechanism.as_symmetric is not None

    def log_reference(self) -> Floats:
        """Return log rho(a,t) of every cell."""
        return self.reference.log_joint(self.mechanism.statistic, self.secret)

    def weights(self) -> Floats:
        """Return p(x) for every dataset, in the order of the matrix rows; raise InputError if there are too many."""
        records = self._listed()
        values = secrets.table(self.secret, records)
        excess = self._log_excess()[values, self.mechanism.statistic.class_table()]
        return np.asarray(np.exp(excess + self.reference.log_table(records)))

    def _listed(self) -> tuple[int, ...]:
        """The alphabet sizes of the records; refused where their datasets are too many to list."""
        records = self.mechanism.records
        if self.mechanism.log_universe > np.log(self.most_weights) + 1e-9:
            refuse(
                f"the prior is over {checks.size_text(records)} datasets, above the limit of {self.most_weights}; use "
                "prior.probability(dataset) or prior.masses"
            )
        return records

    def probability(self, dataset: ArrayLike) -> float:
        """Return p(x) of one dataset; it may underflow to 0 where there are very many."""
        statistic = self.mechanism.statistic
        x = self.mechanism.dataset(dataset)
        a, t = secrets.value(self.secret, x, statistic.records), int(statistic.class_of(x))
        return float(np.exp(self._log_excess()[a, t] + self.reference.log_probability(x, statistic.records)))

    def entropy(self) -> float:
        """Return H(X), in nats: log|X| - D(p || rho), or of rho where p is rho; else by the weights of all datasets."""
        divergence = self.divergence()
        if self.reference.uniform:
            return max(0.0, self.mechanism.log_universe - divergence)
        if self.reference.laws and divergence < ROUNDING:
            return self.reference.entropy(self.mechanism.n)
        p = self.weights()
        return float(-xlogy(p, p).sum())

    def divergence(self) -> float:
        """Return D(p || rho) = sum masses log( masses / rho(a,t) ), in nats."""
        positive = self.masses > 0
        return max(0.0, float(self.masses[positive] @ self._log_excess()[positive]))

    def joint(self) -> Floats:
        """Return P(secret = a, Y = y) as (A, Y)."""
        return self.mechanism.joint(self.masses)

    def leakage(self) -> float:
        """Return I(secret; Y), in nats."""
        return self.mechanism.leakage(self.masses)

    def __repr__(self) -> str:
        cells = int(np.count_nonzero(self.masses))
        known = (
            f"H = {self.entropy():.6g}" if self.reference.uniform else f"D from the reference = {self.divergence():.6g}"
        )
        return f"<Prior on {cells} cells of {secrets.name(self.secret)}: {known}, I = {self.leakage():.6g} nats>"

    def _repr_html_(self, most: int = 8) -> str:
        """The heaviest cells."""
        heaviest = np.argsort(-self.masses, axis=None, kind="stable")[: min(most, int(np.count_nonzero(self.masses)))]
        where = zip(*(axis.tolist() for axis in np.unravel_index(heaviest, self.masses.shape)), strict=True)
        rows = [(str(a), self.mechanism.statistic.class_name(t), float(self.masses[a, t])) for a, t in where]
        return shown.table((secrets.name(self.secret), "datasets", "mass"), rows, repr(self)[1:-1])

    def _log_excess(self) -> Floats:
        """log p(x) / rho(x) in every cell."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.masses > 0, np.log(self.masses) - self.log_reference(), -np.inf)
