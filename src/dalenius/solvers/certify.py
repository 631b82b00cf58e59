"""From brackets to certificates: the proof of each record in plain data, over the original outputs.

Solvers work on merged outputs; a certificate speaks of the channel as described. Merged outputs are one
group of proportional columns, whose within-group channel is constant, so the same bound holds with
r split in proportion: rho_y = rho_merged + log(share of column y).
"""

import math
from typing import Any

import numpy as np

from dalenius.model.adversary import Adversary
from dalenius.model.mechanism import Mechanism
from dalenius.model.prior import Prior
from dalenius.reductions.lump import Lift
from dalenius.solvers.audit import Audited
from dalenius.solvers.box_bound import Frame, Point
from dalenius.solvers.branch_and_bound import Search
from dalenius.solvers.cells import Floats
from dalenius.solvers.choices import Choices
from dalenius.solvers.record import Proof, Reference, Trivial

UNUSED = 30.0  # log r of an output that never occurs lies this far below the rest
PROPORTIONAL = 1e-12  # contraction coefficient claimed for proportional columns, whose true one is 0
MARGIN_DOWN, MARGIN_UP = 1e-12, 1e-11
ROUNDING = 2e-15
KINDS = {Trivial: "trivial", Reference: "reference", Choices: "choices", Search: "boxes"}


def stated(mechanism: Mechanism, item: Audited) -> tuple[Proof, float]:
    """Return the proof, and its bound raised by how far rounding in its float evaluation may reach.

    The log reference masses are good to about ROUNDING (10 + log|X|), and enter multiplied by s. Where
    that reaches above the trivial bound, the trivial bound is stated.
    """
    proof, trivial = item.audit.proof, Trivial(math.nextafter(item.audit.trivial, math.inf))
    upper = proof.upper + MARGIN_UP
    if isinstance(proof, Search):
        s = max(float(point.s[0]) for _, point in proof.frontier.leaf.values())
        upper += s * ROUNDING * (10 + mechanism.log_universe)
    return (trivial, trivial.upper) if upper >= trivial.upper else (proof, upper)


def prior_of(mechanism: Mechanism, item: Audited) -> Prior:
    """Return the witness over pairs of a record's value and a class."""
    masses = item.lift.masses(item.audit.pi)
    return Prior(mechanism, item.record, masses / masses.sum())


def certificate_data(
    adversary: Adversary, witness: Prior, bracket: tuple[float, float], found: list[Audited]
) -> dict[str, Any]:
    """Return the certificate: the problem, the witness, and one proof for each orbit of records."""
    return {
        "format": "dalenius/audit-certificate",
        "version": 1,
        "problem": witness.mechanism.describe(),
        "adversary": {adversary.given: adversary.value},
        "lower": bracket[0],
        "upper": bracket[1],
        "witness": {"record": witness.record, "masses": witness.masses.tolist()},
        "proofs": [_proof(witness.mechanism, item) for item in sorted(found, key=lambda f: f.record)],
    }


def _proof(mechanism: Mechanism, item: Audited) -> dict[str, Any]:
    (proof, upper), outputs = stated(mechanism, item), _Outputs(mechanism.rows, item.lift)
    said = {"record": item.record, "upper": upper, "kind": KINDS[type(proof)]}
    if isinstance(proof, Choices):
        said["tree"] = [
            outputs.split(entry) if isinstance(entry, tuple) else {"rho": outputs.rho(entry)}
            for entry in proof.frontier.preorder()
        ]
    if isinstance(proof, Search):
        frame = proof.frame
        groups = [outputs.groups(row) for row in frame.groups]
        said["groups"] = groups
        said["eta"] = [
            max(float(eta), 0.0 if len(set(row)) == len(row) else PROPORTIONAL)
            for eta, row in zip(frame.eta, groups, strict=True)
        ]
        said["tree"] = [
            list(entry) if isinstance(entry, tuple) else _leaf(frame, entry, outputs)
            for entry in proof.frontier.preorder()
        ]
    return said


def _leaf(frame: Frame, x: Point, outputs: "_Outputs") -> dict[str, Any]:
    mu = (x.mu_hi - x.mu_lo)[0]
    leaf: dict[str, Any] = {"s": float(x.s[0]), "rho": outputs.rho(x.rho[0])}
    if frame.g_size > 1:
        sizes = [max(row) + 1 for row in frame.groups]
        leaf["mu"] = [row[:size].tolist() for row, size in zip(mu, sizes, strict=True)]
        leaf["kappa"] = [row[:size].tolist() for row, size in zip(x.kappa[0], sizes, strict=True)]
        if frame.tangent:
            leaf["omega"] = [row[:size].tolist() for row, size in zip(x.omega[0], sizes, strict=True)]
    if frame.tangent:
        leaf["lam"] = [outputs.spread(row) for row in x.lam[0]]
    if (frame.theta < 1).any():
        leaf["theta"] = frame.theta.tolist()
    return leaf


class _Outputs:
    """Carries vectors over merged outputs back to the original ones."""

    def __init__(self, rows: Floats, lift: Lift) -> None:
        self.merged = lift.outputs
        self.alive = self.merged >= 0
        column = rows.sum(axis=0)
        total = np.zeros(int(self.merged.max()) + 1)
        np.add.at(total, self.merged[self.alive], column[self.alive])
        self.share = np.where(self.alive, column / total[self.merged], 0.0)
        order = np.argsort(self.share, kind="stable")
        order = order[self.alive[order]]
        self.heaviest = np.zeros(total.size, dtype=np.int64)
        self.heaviest[self.merged[order]] = order  # the last one written is the heaviest

    def spread(self, values: Floats) -> list[float]:
        """A value per merged output, repeated for its members."""
        return np.where(self.alive, values[self.merged], 0.0).tolist()  # type: ignore[no-any-return]

    def rho(self, rho: Floats) -> list[float]:
        """Log weights, split in proportion to the columns."""
        with np.errstate(divide="ignore"):
            own = rho[self.merged] + np.log(self.share)
        return np.where(self.alive, own, rho.min() - UNUSED).tolist()  # type: ignore[no-any-return]

    def groups(self, row: list[int]) -> list[int]:
        """The group of each original output; outputs that never occur join the first."""
        return [row[m] if m >= 0 else 0 for m in self.merged.tolist()]

    def split(self, entry: tuple[int, int, float]) -> list[float]:
        """A threshold on a merged output, said of its heaviest member."""
        row, merged, at = entry
        y = int(self.heaviest[merged])
        return [row, y, at * float(self.share[y])]
