"""From audits of records to what is found: the witness and one proof for each orbit, over the original outputs."""

import math
from typing import Any

import numpy as np

from dalenius.auditing.all_records import Audited, audit_records
from dalenius.auditing.one_secret import WarmStart
from dalenius.bounds.closing import Formula
from dalenius.bounds.counted import Counted
from dalenius.bounds.proof import Proof, Rounding
from dalenius.certificates.audits import MARGIN_DOWN, MARGIN_UP, Found, listed
from dalenius.model import reference as rho
from dalenius.model import secret as secrets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.parts import Part
from dalenius.model.counted import CountedPrior
from dalenius.model.prior import Prior
from dalenius.model.problem import AuditProblem
from dalenius.model.tied import TiedPrior
from dalenius.numerics.types import Floats
from dalenius.reductions.coarse import Grid
from dalenius.reductions.lump import OriginalOutputs
from dalenius.search.deadline import Deadline

# Digits of a witness on blocks, the fewest first; and how far within its knowledge it is to be, as a share.
DIGITS = (5, 6, 7, 8)
FEASIBLE = 1e-9
MARGIN_COARSE = 1e-10  # more, where a verifier leaves out the far tails of the noise
ROUNDING = 2e-15


def by_records(
    problem: AuditProblem, deadline: Deadline, seed: int, known: dict[int, WarmStart] | None = None
) -> Found:
    """Search every record, or the one secret, and return the bracket of the worst."""
    return found_of(problem, audit_records(problem, deadline, seed, known=known))


def found_of(problem: AuditProblem, audited: list[Audited], witness: Audited | None = None, tie: float = 1e-9) -> Found:
    """Return the bracket of the worst record, or of the one secret that was asked for.

    witness: the one whose prior is shown. By default the worst: records within `tie` of it are tied, and the lowest
    index is named.
    """
    mechanism, adversary = problem.mechanism, problem.adversary
    if witness is None:
        best = max(item.audit.lower for item in audited)
        witness = min((item for item in audited if item.audit.lower >= best - tie), key=lambda item: item.record)
    prior = prior_of(mechanism, witness, adversary.reference)
    leaked = prior.leakage() if witness.grid is None else witness.audit.lower - MARGIN_COARSE
    lower = max(0.0, leaked - MARGIN_DOWN)
    in_order = sorted(audited, key=lambda item: item.record)
    proofs = {item.record: with_rounding_margin(mechanism, item, adversary.reference) for item in in_order}
    highest = max((proofs[item.record] for item in audited), key=lambda proof: proof[1])
    upper = max(highest[1], lower)
    lowers = {item.record: max(0.0, item.audit.lower - MARGIN_DOWN) for item in audited} | {witness.record: lower}
    return Found(
        lower,
        upper,
        prior,
        prior.record,
        _witness(prior, witness),
        tuple((item.record, _proof(prior.mechanism, item, *proofs[item.record])) for item in in_order),
        tuple((item.members or (None,), lowers[item.record], proofs[item.record][1]) for item in audited),
        highest[0].name,
        _extremes(audited, (lower, upper), free=adversary.free),
        tried=tuple(dict.fromkeys(name for item in audited for name in item.audit.tried)),
    )


def _extremes(audited: list[Audited], bracket: tuple[float, float], *, free: bool) -> tuple[float, float, float]:
    """What is known of the extreme adversaries: L(0) is never below L(b), and is L(b) where there is no limit."""
    low, high = (max(item.audit.unconstrained[k] for item in audited) for k in (0, 1))
    low, high = max(0.0, low - MARGIN_DOWN, bracket[0]), high + MARGIN_DOWN
    if free:
        high = min(high, bracket[1])
    return low, max(low, high), max(item.audit.cells.reference_leakage for item in audited)


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
        assert counts is not None and isinstance(item.secret, int)  # noqa: PT018 - no other has one
        if isinstance(item.tied, Counted):
            assert item.tied.tilts is not None  # for the type checker: it has a lower bound
            return CountedPrior.of_tilts(counts, item.secret, item.tied.tilts, item.tied.lower, reference)
        law, decoder, told, tilt = item.tied.law, item.tied.decoder, item.tied.lower, item.tied.tilt
        return TiedPrior.of_counts(counts, item.secret, law, decoder=decoder, told=told, tilt=tilt, reference=reference)
    masses = item.lift.masses(item.audit.pi)
    return Prior(item.count or mechanism, item.secret, masses / masses.sum(), reference)


def _witness(witness: Prior, item: Audited) -> dict[str, Any]:
    """The prior; one on coarse classes by these, with the cuts between groups of outputs that tell what is claimed.

    For a noisy histogram it is about the count of one value.
    """
    if (looked_at := witness.mechanism.looked_at) is not None:
        return _some_records(witness, looked_at)
    grid = item.grid
    if grid is None:
        return {"kind": "masses", "masses": listed(witness.masses)}
    if isinstance(witness, TiedPrior):
        return _tied(witness)
    if isinstance(witness, CountedPrior):
        return {"kind": "counted", **witness.tilts.to_certificate()}
    masses = _in_few_digits(np.add.reduceat(witness.masses, grid.starts, axis=1), item, grid)
    part = witness.mechanism.part
    cell = {} if part is None else {"cell": part}
    blocks = {"blocks": grid.starts.tolist(), "masses": masses.tolist(), "cuts": grid.listed}
    return {"kind": "blocks", **cell, **blocks}


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
    looked_at = {"others": len(part.others), "counted": part.counted}
    return {"kind": "part", "part": looked_at, "masses": masses.tolist()}


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


def _proof(mechanism: Mechanism, item: Audited, proof: Proof, upper: float) -> dict[str, Any]:
    coarse = item.grid is not None or item.count is not None
    outputs = None if coarse else OriginalOutputs(mechanism.written().rows, item.lift)
    return {"upper": upper, "kind": proof.kind, **proof.to_certificate(outputs)}
