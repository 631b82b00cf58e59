"""From brackets to certificates: the proof of each record in plain data, over the original outputs."""

import math
from typing import Any, cast

import numpy as np

from dalenius.auditing.all_records import Audited
from dalenius.bounds.closing import Formula
from dalenius.bounds.proof import Proof, Rounding
from dalenius.model import reference as rho
from dalenius.model import secret as secrets
from dalenius.model.adversary import Adversary
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.parts import Part
from dalenius.model.prior import Prior
from dalenius.model.problem import AuditProblem
from dalenius.model.secret import Secret
from dalenius.model.tied import TiedPrior
from dalenius.numerics.types import Floats
from dalenius.reductions.coarse import Grid
from dalenius.reductions.outputs import OriginalOutputs

MARGIN_DOWN, MARGIN_UP = 1e-12, 1e-11
# Digits of a witness on blocks, the fewest first; and how far within its knowledge it is to be, as a share.
DIGITS = (5, 6, 7, 8)
FEASIBLE = 1e-9
MARGIN_COARSE = 1e-10  # more, where a verifier leaves out the far tails of the noise
ROUNDING = 2e-15


def with_rounding_margin(
    mechanism: Mechanism, item: Audited, reference: rho.Reference = rho.UNIFORM
) -> tuple[Proof, float]:
    """Return the proof, and its bound raised by how far rounding in its float evaluation may reach.

    The log reference masses are good to about ROUNDING (10 + log(1/rho_min)), and enter multiplied by s. Where
    that reaches above the trivial bound, the trivial bound is stated.
    """
    proof, trivial = item.audit.proof, Formula("trivial", math.nextafter(item.audit.trivial, math.inf))
    upper = proof.claim(Rounding(MARGIN_UP, ROUNDING * (10 - reference.log_least(mechanism.records))))
    upper += mechanism.lost * math.log(secrets.size(item.secret, mechanism.records))
    return (trivial, trivial.upper) if upper >= trivial.upper else (proof, upper)


def prior_of(mechanism: Mechanism, item: Audited, reference: rho.Reference = rho.UNIFORM) -> Prior:
    """Return the witness over pairs of a secret value and a class; of a noisy histogram a class of one count."""
    if item.tied is not None:
        counts = mechanism.as_counts
        assert counts is not None and isinstance(item.secret, int)  # noqa: S101, PT018 - no other has one
        law, decoder, told, tilt = item.tied.law, item.tied.decoder, item.tied.lower, item.tied.tilt
        return TiedPrior.of_counts(counts, item.secret, law, decoder=decoder, told=told, tilt=tilt, reference=reference)
    masses = item.lift.masses(item.audit.pi)
    return Prior(item.count or mechanism, item.secret, masses / masses.sum(), reference)


def adversary_data(adversary: Adversary) -> dict[str, Any]:
    """Return the number that was given, the reference if there is one, and whether records are independent."""
    known = adversary.reference.describe()
    return {
        **({"independent": True} if adversary.kind == "independent" else {}),
        **({} if adversary.unlimited else {adversary.given: adversary.value}),
        **({"reference": known} if known else {}),
    }


def asked_data(problem: AuditProblem) -> dict[str, Any]:
    """Return what an audit is asked, as its certificate carries it: the mechanism, the adversary and the secret."""
    secret = {} if problem.secret is None else {"secret": secrets.describe(problem.secret)}
    return {"problem": problem.mechanism.describe(), "adversary": adversary_data(problem.adversary), **secret}


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


def listed(masses: Floats, sparse: float = 0.1) -> list[list[float]]:
    """Return masses as lists. Where few are not zero, the zeros are one object: a tenth of the time, and of the memory.

    sparse: the share of entries up to which that is worth it.
    """
    if np.count_nonzero(masses) > sparse * masses.size:
        return cast("list[list[float]]", masses.tolist())
    rows = [[0.0] * masses.shape[1] for _ in range(len(masses))]
    places = np.nonzero(masses)
    for a, t, mass in zip(*(axis.tolist() for axis in places), masses[places].tolist(), strict=True):
        rows[a][t] = mass
    return rows


def _witness(witness: Prior, found: list[Audited]) -> dict[str, Any]:
    if witness.even:
        return {"uniform": True}
    if (looked_at := witness.mechanism.looked_at) is not None:
        return _some_records(witness, looked_at)
    item = next((item for item in found if item.secret == witness.secret), None)
    if item is None or (grid := item.grid) is None:
        return {"masses": listed(witness.masses)}
    if isinstance(witness, TiedPrior):
        return _tied(witness)
    masses = _in_few_digits(np.add.reduceat(witness.masses, grid.starts, axis=1), item, grid)
    part = witness.mechanism.part
    cell = {} if part is None else {"cell": part}
    return {**cell, "blocks": grid.starts.tolist(), "masses": masses.tolist(), "cuts": grid.cuts.tolist()}


def _in_few_digits(masses: Floats, item: Audited, grid: Grid) -> Floats:
    """Masses by value and block with the fewest digits that leave the prior feasible, and what it leaks as claimed.

    Only where a share was asked for there is room for that.
    """
    cells = item.audit.cells
    cell = np.maximum.reduceat(item.lift.cell_of, grid.starts, axis=1)
    held = cell >= 0
    for digits in DIGITS if item.audit.relative > 0 else ():
        short = np.array([float(f"{x:.{digits - 1}e}") for x in masses.ravel()]).reshape(masses.shape)
        pi = np.zeros((1, cells.size))
        pi[0, cell[held]] = short[held]
        pi /= pi.sum()
        inside = cells.divergence(pi)[0] <= (1 - FEASIBLE) * cells.knowledge
        if inside and cells.leakage(pi)[0] >= item.audit.lower:
            return short
    return masses


def _some_records(witness: Prior, part: Part) -> dict[str, Any]:
    """The first few others, counted or not, and masses by the values of the records and what is looked at of others.

    A class is both; of the secret's values it has one.
    """
    masses = witness.masses.sum(axis=0).reshape(part.values, part.inside)
    return {"part": {"others": len(part.others), "counted": part.counted}, "masses": masses.tolist()}


def _tied(witness: TiedPrior) -> dict[str, Any]:
    """The law of the own count from its first to its last mass, and the guess."""
    law, decoder = witness.masses[0], witness.decoder
    held = np.flatnonzero(law)
    return {
        "kind": "tied",
        "first": int(held[0]),
        "masses": law[held[0] : held[-1] + 1].tolist(),
        "cuts": list(decoder.cuts),
        "weights": list(decoder.weights),
        "window": list(decoder.window),
        **({"tilt": list(witness.tilt)} if witness.tilt else {}),
        "nodes": list(decoder.nodes),
        "step": decoder.step,
    }


def _proof(witness: Prior, item: Audited) -> dict[str, Any]:
    mechanism = witness.mechanism
    proof, upper = with_rounding_margin(mechanism, item, witness.reference)
    outputs = (
        None
        if item.grid is not None or item.count is not None
        else OriginalOutputs(mechanism.written().rows, item.lift)
    )
    return {"upper": upper, "kind": proof.kind, **proof.to_certificate(outputs)}
