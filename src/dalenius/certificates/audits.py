"""From brackets to certificates: the proof of each record in plain data, over the original outputs.

Solvers work on merged outputs; a certificate speaks of the channel as described. Merged outputs are one
group of proportional columns, whose within-group channel is constant, so the same bound holds with
r split in proportion: rho_y = rho_merged + log(share of column y).
"""

import math
from typing import Any

import numpy as np

from dalenius.auditing.all_records import Audited
from dalenius.auditing.one_secret import Maximal, Proof, Reference, Sibson, Trivial
from dalenius.auditing.unwritten_histograms import Centres
from dalenius.auditing.unwritten_sums import Blend, Centre
from dalenius.bounds.box_bound import BoxProblem, Point
from dalenius.bounds.box_tree import BoxTree
from dalenius.bounds.choices import Choices
from dalenius.bounds.posterior_bound import Point as Posterior
from dalenius.bounds.posterior_tree import PosteriorTree
from dalenius.bounds.rows import Rows
from dalenius.bounds.simplex_tree import SimplexTree
from dalenius.model import reference as rho
from dalenius.model import secret as secrets
from dalenius.model.adversary import Adversary
from dalenius.model.mechanism import Mechanism
from dalenius.model.prior import Prior
from dalenius.model.secret import Secret
from dalenius.reductions.cells import Floats
from dalenius.reductions.lump import Lift

UNUSED = 30.0  # log r of an output that never occurs lies this far below the rest
PROPORTIONAL = 1e-12  # contraction coefficient claimed for proportional columns, whose true one is 0
MARGIN_DOWN, MARGIN_UP = 1e-12, 1e-11
MARGIN_COARSE = 1e-10  # more, where a verifier leaves out the far tails of the noise
ROUNDING = 2e-15
KINDS = {
    Trivial: "trivial",
    Reference: "reference",
    Maximal: "maximal",
    Sibson: "sibson",
    Blend: "blend",
    Centre: "centre",
    Centres: "centre",
    Choices: "choices",
    BoxTree: "boxes",
    SimplexTree: "simplices",
    PosteriorTree: "posteriors",
    Rows: "rows",
}


def with_rounding_margin(
    mechanism: Mechanism, item: Audited, reference: rho.Reference = rho.UNIFORM
) -> tuple[Proof, float]:
    """Return the proof, and its bound raised by how far rounding in its float evaluation may reach.

    The log reference masses are good to about ROUNDING (10 + log(1/rho_min)), and enter multiplied by s. Where
    that reaches above the trivial bound, the trivial bound is stated.
    """
    proof, trivial = item.audit.proof, Trivial(math.nextafter(item.audit.trivial, math.inf))
    upper, rounding = proof.upper + MARGIN_UP, ROUNDING * (10 - reference.log_least(mechanism.records))
    if isinstance(proof, (Sibson, Blend)):
        upper += MARGIN_UP * (1 + 1 / (proof.order - 1) + proof.order)
    elif isinstance(proof, (Centre, Centres)):
        upper += MARGIN_UP * (1 + proof.s)
    elif isinstance(proof, Maximal):
        upper += rounding
    if isinstance(proof, Rows):
        upper += (1 + len(proof.trees)) * rounding * max(proof.s, 1.0)
    if isinstance(proof, (BoxTree, SimplexTree)):
        leaves = proof.nodes.leaf.values()
        upper = max(upper, *(bound + rounding * float(dual.s[0]) + MARGIN_UP for bound, dual in leaves))
    if isinstance(proof, PosteriorTree):
        margin = MARGIN_UP + PROPORTIONAL * proof.problem.cells.knowledge
        told = proof.nodes.leaf.values()
        upper = max(upper, *(bound + rounding * (1 + float(point.sigma[0])) + margin for bound, point in told))
    return (trivial, trivial.upper) if upper >= trivial.upper else (proof, upper)


def prior_of(mechanism: Mechanism, item: Audited, reference: rho.Reference = rho.UNIFORM) -> Prior:
    """Return the witness over pairs of a secret value and a class; of a noisy histogram a class of one count."""
    masses = item.lift.masses(item.audit.pi)
    return Prior(item.count or mechanism, item.secret, masses / masses.sum(), reference)


def adversary_data(adversary: Adversary) -> dict[str, Any]:
    """Return the number that was given, and the reference if there is one."""
    known = adversary.reference.describe()
    return {adversary.given: adversary.value, **({"reference": known} if known else {})}


def certificate_data(
    adversary: Adversary,
    witness: Prior,
    bracket: tuple[float, float],
    found: list[Audited],
    secret: Secret | None = None,
) -> dict[str, Any]:
    """Return the certificate: the problem, the witness, and one proof for each orbit of records, or for the secret.

    A witness on coarse classes is given by them, with the cuts between the groups of outputs that tell as much as is
    claimed; of a noisy histogram with the value whose count is meant.
    """
    return {
        "format": "dalenius/audit-certificate",
        "version": 1,
        "problem": witness.mechanism.describe(),
        "adversary": adversary_data(adversary),
        **({} if secret is None else {"secret": secrets.describe(secret)}),
        "lower": bracket[0],
        "upper": bracket[1],
        "witness": {**({"record": witness.record} if secret is None else {}), **_witness(witness, found)},
        "proofs": [
            {**({"record": item.record} if secret is None else {}), **_proof(witness, item)}
            for item in sorted(found, key=lambda f: f.record)
        ],
    }


def _witness(witness: Prior, found: list[Audited]) -> dict[str, Any]:
    grid = next((item.grid for item in found if item.secret == witness.secret), None)
    if grid is None:
        return {"masses": witness.masses.tolist()}
    masses = np.add.reduceat(witness.masses, grid.starts, axis=1)
    part = witness.mechanism.part
    cell = {} if part is None else {"cell": part}
    return {**cell, "blocks": grid.starts.tolist(), "masses": masses.tolist(), "cuts": grid.cuts.tolist()}


def _proof(witness: Prior, item: Audited) -> dict[str, Any]:
    mechanism = witness.mechanism
    proof, upper = with_rounding_margin(mechanism, item, witness.reference)
    said: dict[str, Any] = {"upper": upper, "kind": KINDS[type(proof)]}
    if isinstance(proof, (Sibson, Blend)):
        said["order"] = proof.order
    if isinstance(proof, Blend):
        said["share"] = proof.share
    if isinstance(proof, (Centre, Centres)):
        said |= {"centre": list(proof.centre) if isinstance(proof, Centres) else proof.centre, "s": proof.s}
    if item.grid is not None:
        return said
    outputs = _Outputs(mechanism.written().rows, item.lift)
    if isinstance(proof, Choices):
        said["tree"] = [
            outputs.split(entry) if isinstance(entry, tuple) else {"rho": outputs.rho(entry)}
            for entry in proof.nodes.preorder()
        ]
    if isinstance(proof, SimplexTree):
        said["eta"] = proof.problem.eta.tolist()
        said["tree"] = _simplices(proof, item, outputs)
    if isinstance(proof, PosteriorTree):
        group = outputs.groups(proof.problem.groups.tolist())
        single = len(set(group)) == len(group)
        said |= {"groups": group, "eta": max(proof.problem.eta, 0.0 if single else PROPORTIONAL)}
        said["tree"] = [
            list(entry) if isinstance(entry, tuple) else _posterior(proof, entry, outputs)
            for entry in proof.nodes.preorder()
        ]
    if isinstance(proof, Rows):
        said |= {"s": proof.s, "rho": outputs.rho(proof.log_r), "rows": [_row(tree, outputs) for tree in proof.trees]}
    if isinstance(proof, BoxTree):
        problem = proof.problem
        groups = [outputs.groups(row) for row in problem.groups]
        said["groups"] = groups
        said["eta"] = [
            max(float(eta), 0.0 if len(set(row)) == len(row) else PROPORTIONAL)
            for eta, row in zip(problem.eta, groups, strict=True)
        ]
        said["tree"] = [
            list(entry) if isinstance(entry, tuple) else _leaf(problem, entry, outputs)
            for entry in proof.nodes.preorder()
        ]
    return said


def _row(tree: BoxTree, outputs: "_Outputs") -> dict[str, Any]:
    """One row of a row bound: its groups, its contraction coefficient, its splits and leaves."""
    groups = outputs.groups(tree.problem.groups[0])
    whole = len(set(groups)) == len(groups)
    entries: list[Any] = []
    for entry in tree.nodes.preorder():
        if isinstance(entry, tuple):
            entries.append(list(entry[1:]))
        else:
            leaf = _leaf(tree.problem, entry, outputs)
            entries.append({key: leaf[key][0] for key in leaf if key not in ("s", "rho")})
    eta = max(float(tree.problem.eta[0]), 0.0 if whole else PROPORTIONAL)
    return {"groups": groups, "eta": eta, "tree": entries}


def _posterior(proof: PosteriorTree, x: Posterior, outputs: "_Outputs") -> dict[str, Any]:
    leaf: dict[str, Any] = {"sigma": float(x.sigma[0]), "m": x.m[0].tolist()}
    if proof.problem.eta > 0:
        leaf["lam"] = [outputs.spread(row) for row in x.lam[0]]
    return leaf


def _simplices(proof: SimplexTree, item: Audited, outputs: "_Outputs") -> list[Any]:
    """Splits and leaves, the cells of a secret value in the order in which they first appear among the classes."""
    cells = proof.problem.cells
    rows = []
    held = item.lift.cell_of[(item.lift.cell_of >= 0).any(axis=1)]
    for row, part in zip(held, cells.slices, strict=True):
        first = {int(c): t for t, c in reversed(list(enumerate(row))) if c >= 0}
        rows.append(sorted(range(part.start, part.stop), key=lambda c: first[c]))
    place = {c: (a, k) for a, row in enumerate(rows) for k, c in enumerate(row)}
    tree: list[Any] = []
    for entry in proof.nodes.preorder():
        if isinstance(entry, tuple):
            i, j, share = entry
            tree.append([*place[i], place[j][1], share])
        else:
            pi = entry.log_pi[0]
            r = outputs.rho(entry.log_r[0])
            tree.append({"s": float(entry.s[0]), "r": r, "pi": [pi[row].tolist() for row in rows]})
    return tree


def _leaf(problem: BoxProblem, x: Point, outputs: "_Outputs") -> dict[str, Any]:
    mu = (x.mu_hi - x.mu_lo)[0]
    leaf: dict[str, Any] = {"s": float(x.s[0]), "rho": outputs.rho(x.log_r[0])}
    if problem.n_groups > 1:
        sizes = [max(row) + 1 for row in problem.groups]
        leaf["mu"] = [row[:size].tolist() for row, size in zip(mu, sizes, strict=True)]
        leaf["kappa"] = [row[:size].tolist() for row, size in zip(x.kappa[0], sizes, strict=True)]
        if problem.tangent:
            leaf["omega"] = [row[:size].tolist() for row, size in zip(x.omega[0], sizes, strict=True)]
    if problem.tangent:
        leaf["lam"] = [outputs.spread(row) for row in x.lam[0]]
    if (problem.theta < 1).any():
        leaf["theta"] = problem.theta.tolist()
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
        """Log weights, split in proportion to the columns; however many never occur, they weigh nothing together."""
        with np.errstate(divide="ignore"):
            own = rho[self.merged] + np.log(self.share)
        nothing = rho.min() - UNUSED - np.log(self.alive.size)
        return np.where(self.alive, own, nothing).tolist()  # type: ignore[no-any-return]

    def groups(self, row: list[int]) -> list[int]:
        """The group of each original output; outputs that never occur join the first."""
        return [row[m] if m >= 0 else 0 for m in self.merged.tolist()]

    def split(self, entry: tuple[int, int, float]) -> list[float]:
        """A threshold on a merged output, said of its heaviest member."""
        row, merged, at = entry
        y = int(self.heaviest[merged])
        return [row, y, at * float(self.share[y])]
