"""The audit of one orbit of records, or of another secret, as its road leaves it; and what certificates carry of it.

Witness and proof are over the original outputs, or over the coarse classes and the part of the release that the road
looked at.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.auditing.one_secret import SecretAudit
from dalenius.bounds.closing import Formula
from dalenius.bounds.proof import Proof, Rounding
from dalenius.certificates.audits import MARGIN_UP, listed
from dalenius.model import reference as rho
from dalenius.model import secret as secrets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.prior import Prior
from dalenius.model.secret import Function, Group, Secret
from dalenius.numerics.types import Floats
from dalenius.reductions.lump import Lift, OriginalOutputs

if TYPE_CHECKING:
    from dalenius.model.channels.parts import Part
    from dalenius.model.channels.per_record import SomeRecords
    from dalenius.model.counted import CountedPrior, TiedPrior
    from dalenius.reductions.coarse import Grid

# Digits of a witness on blocks, the fewest first; and how far within its knowledge it is to be, as a share.
DIGITS = (5, 6, 7, 8)
FEASIBLE = 1e-9
ROUNDING = 2e-15


@dataclass(frozen=True, eq=False)
class Audited:
    """The audit of one orbit of records, through its first member; or of another secret."""

    audit: SecretAudit
    lift: Lift
    grid: "Grid | None" = None  # where the cells are coarse
    # The part of a release that the cells are about: one noisy count of a histogram, or a few records.
    part: "NoisySum | SomeRecords | None" = None
    # A better prior of a noisy histogram than any on the cells.
    better: "CountedPrior | TiedPrior | None" = None
    members: range | tuple[int, ...] = ()  # none where the secret is not a record
    other: Group | Function | None = None  # the secret that is not a record

    @property
    def record(self) -> int:
        """The member that was audited; 0 where the secret is not a record."""
        return self.members[0] if self.members else 0

    @property
    def masses(self) -> Floats:
        """(A, K) the best prior, over values of the secret and classes."""
        return self.lift.masses(self.audit.pi)

    @property
    def secret(self) -> Secret:
        return self.record if self.other is None else self.other

    def claim(self, mechanism: Mechanism, reference: rho.Reference = rho.UNIFORM) -> tuple[Proof, float]:
        """Return the proof, and its bound raised by how far rounding in its float evaluation may reach.

        The log reference masses are good to about ROUNDING (10 + log(1/rho_min)), and enter multiplied by s. Where
        that reaches above the trivial bound, the trivial bound is stated.
        """
        proof, trivial = self.audit.proof, Formula("trivial", math.nextafter(self.audit.trivial, math.inf))
        upper = proof.claim(Rounding(MARGIN_UP, ROUNDING * (10 - reference.log_least(mechanism.records))))
        upper += mechanism.lost * math.log(secrets.size(self.secret, mechanism.records))
        return (trivial, trivial.upper) if upper >= trivial.upper else (proof, upper)

    def prior(self, mechanism: Mechanism, reference: rho.Reference = rho.UNIFORM) -> Prior:
        """Return the witness over pairs of a secret value and a class; of a noisy histogram a class of one count."""
        if self.better is not None:
            return self.better
        about, masses = self.part or mechanism, self.masses
        if self.grid is not None and self.audit.cells.knowledge <= 0:
            # The only prior there is, with the blocks that the cells leave out.
            masses = np.exp(reference.log_joint(about.statistic, self.secret))
        return Prior(about, self.secret, masses / masses.sum(), reference)

    def witness(self, prior: Prior) -> dict[str, Any]:
        """Return the prior as certificates have it; one on coarse classes with the cuts that tell what is claimed."""
        if (looked_at := prior.mechanism.looked_at) is not None:
            return _some_records(prior, looked_at)
        if self.grid is None:
            return {"kind": "masses", "masses": listed(prior.masses)}
        if prior is self.better:
            return self.better.to_certificate()
        masses = self._in_few_digits(np.add.reduceat(prior.masses, self.grid.starts, axis=1), self.grid)
        # For a noisy histogram it is about the count of one value.
        cell = {} if prior.mechanism.part is None else {"cell": prior.mechanism.part}
        # The first block takes in what is not seen before it, the last one what is not seen after it.
        first = getattr(prior.mechanism.statistic, "first", 0)
        starts = [0, *(self.grid.starts[1:] + first).tolist()]
        return {"kind": "blocks", **cell, "blocks": starts, "masses": masses.tolist(), "cuts": self.grid.listed}

    def _in_few_digits(self, masses: Floats, grid: "Grid") -> Floats:
        """Masses by value and block with the fewest digits that leave the prior feasible, and what it leaks as claimed.

        Only where a share was asked for there is room for that.
        """
        cells = self.audit.cells
        cell = np.maximum.reduceat(self.lift.cell_of, grid.starts, axis=1)
        inside = cell >= 0
        for digits in DIGITS if self.audit.relative > 0 else ():
            short = np.array([float(f"{x:.{digits - 1}e}") for x in masses.ravel()]).reshape(masses.shape)
            pi = np.zeros((1, cells.size))
            pi[0, cell[inside]] = short[inside]
            pi /= pi.sum()
            feasible = cells.divergence(pi)[0] <= (1 - FEASIBLE) * cells.knowledge
            if feasible and cells.leakage(pi)[0] >= self.audit.lower:
                return short
        return masses

    def proof_data(self, mechanism: Mechanism, proof: Proof, upper: float) -> dict[str, Any]:
        """Return the proof as certificates have it."""
        coarse = self.grid is not None or self.part is not None
        outputs = None if coarse else OriginalOutputs(mechanism.written().rows, self.lift)
        return {"upper": upper, "kind": proof.kind, **proof.to_certificate(outputs)}


def _some_records(witness: Prior, part: "Part") -> dict[str, Any]:
    """The first few others, counted or not, and masses by the values of the records and what is looked at of others.

    A class is both; of the secret's values it has one.
    """
    masses = witness.masses.sum(axis=0).reshape(part.values, part.inside)
    looked_at = {"others": len(part.others), "counted": part.counted}
    return {"kind": "part", "part": looked_at, "masses": masses.tolist()}
