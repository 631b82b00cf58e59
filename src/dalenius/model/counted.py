"""Priors of a record and all counts: the reference tilted by the counts one by one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

import numpy as np

from dalenius.errors import refuse
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.prior import Prior
from dalenius.model.reference import UNIFORM, Reference
from dalenius.numerics.types import Floats


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

    def to_certificate(self) -> dict[str, Any]:
        """Return the prior as certificates have it."""
        raise NotImplementedError


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
