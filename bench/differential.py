"""Random small problems: our bracket beside SCIP's. Two proofs of one number must not contradict each other."""

import math
from typing import Any

import numpy as np
from certified import SLIP, scip_bracket
from measure import Section, alone

import dalenius as dl

SHAPES = (((2, 2), 2), ((2, 2), 3), ((2, 2, 2), 2), ((3, 2), 2), ((3,), 3), ((2, 3), 3))
TOLERANCE = 1e-6
LIMIT = 5.0  # seconds of SCIP for each problem; where it is not done, its bounds are true all the same
TEXT = f"""Channels of a few values and outputs, rows drawn from Dirichlet with parameters from 1/10 to 1, at a random
b: `dl.audit` at tolerance {TOLERANCE:g} and SCIP for at most {LIMIT:g} s prove a bracket each, and the two must
overlap (up to {SLIP:g}, which SCIP's own tolerances may cost)."""
HEAD = ["records", "outputs", "problems", "brackets overlap", "ours verified", "SCIP closed", "widest of ours"]


def compare(records: list[int], outputs: int, seeds: list[int]) -> dict[str, Any]:
    """Count what agrees."""
    tally = {"meet": 0, "verified": 0, "closed": 0, "widest": 0.0}
    for seed in seeds:
        rng = np.random.default_rng([seed, outputs, *records])
        rows = rng.dirichlet(np.full(outputs, rng.choice([0.1, 0.3, 1.0])), size=math.prod(records))
        mechanism = dl.Mechanism.from_matrix(rows / rows.sum(axis=1, keepdims=True), records)
        b = float(rng.uniform(0, mechanism.log_universe))
        audit, peer = dl.audit(mechanism, entropy=b, tolerance=TOLERANCE), scip_bracket(mechanism, b, LIMIT)
        tally["meet"] += max(audit.lower, peer["lower"]) <= min(audit.upper, peer["upper"]) + SLIP
        tally["verified"] += bool(dl.verify(audit))
        tally["closed"] += peer["closed"]
        tally["widest"] = max(tally["widest"], audit.gap)
    return tally


def section(*, quick: bool) -> Section:
    """Some problems of every shape."""
    many, rows = (2 if quick else 20), []
    for records, outputs in SHAPES:
        found = alone(compare, records=list(records), outputs=outputs, seeds=list(range(many)))
        size = [" x ".join(map(str, records)), str(outputs), str(many)]
        if "failed" in found:
            rows.append([*size, found["failed"], "", "", ""])
            continue
        counts = [str(found[name]) for name in ("meet", "verified", "closed")]
        rows.append([*size, *counts, f"{found['widest']:.0e}"])
    return Section("Brackets of random problems", TEXT, [], HEAD, rows)
