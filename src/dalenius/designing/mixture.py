"""Mixtures inherit their parts' certificates (MATH 6.5): L(c q + (1-c) const) <= c L(q) + (1-c) L(const).

So a mechanism whose audit proves U, above the budget L, becomes one within it without another audit: the share L/U of
it, mixed with a constant.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from dalenius.certificates.audits import MARGIN_DOWN, Found
from dalenius.model.channels.written import Written
from dalenius.model.prior import Prior
from dalenius.numerics.types import Floats

# Shares are multiples of the inverse, and probabilities of parts of 1 / PART_GRID: those of a mixture are then
# multiples of 2^-52, and a verifier finds them exactly.
SHARES = 2**20
PART_GRID = 2.0**32


@dataclass(frozen=True, eq=False)
class Part:
    """The release of one part, with its proofs by record; none where it is constant."""

    share: float
    rows: Floats
    proofs: dict[int, dict[str, Any]]

    def bound(self, record: int) -> float:
        """What the part leaks of a record at most."""
        return float(self.proofs[record]["upper"]) if self.proofs else 0.0

    def to_certificate(self, record: int) -> dict[str, Any]:
        """Return the part of a proof about a record."""
        proof = {"proof": self.proofs[record]} if self.proofs else {}
        return {"share": self.share, "rows": self.rows.tolist(), **proof}


def largest_share(leakage: float, constant: float, budget: float) -> float:
    """The largest share of a mechanism, rounded down, with which its mixture with a constant keeps the budget.

    constant: what the constant leaks together with what was released before, if anything was.
    """
    if leakage <= budget:
        return 1.0
    return max(0, math.floor(SHARES * (budget - constant) / (leakage - constant) * (1 - 1e-12))) / SHARES


def mixed(found: Found, mechanism: Written, parts: tuple[Part, ...], room: float = 1e-14) -> Found:
    """Return what is known of a mixture of parts.

    found: the audit of its main part, whose worst prior serves as witness and whose orbits of records are meant.
    """
    prior = Prior(mechanism, found.prior.secret, found.prior.masses, found.prior.reference)
    lower = max(0.0, prior.leakage() - MARGIN_DOWN)
    records = [record for record, _ in found.proofs]
    # Sums of a few floats, and entries of a joint release that miss those of the mixture by rounding, take less room.
    upper = {r: math.fsum(p.share * p.bound(r) for p in parts) + room for r in records}
    proofs = tuple(
        (r, {"upper": upper[r], "kind": "mixture", "parts": [part.to_certificate(r) for part in parts]})
        for r in records
    )
    brackets = tuple(
        (members, lower if found.record in members else 0.0, upper[members[0] or 0]) for members, _, _ in found.brackets
    )
    most = max(upper.values())
    return replace(
        found, lower=min(lower, most), upper=most, prior=prior, proofs=proofs, brackets=brackets,
        upper_by="mixture", extremes=None,
    )  # fmt: skip
