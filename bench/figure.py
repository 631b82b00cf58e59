"""The paper's first figure: the certified curve beside one start of the paper's method at each point."""

import math
from typing import Any

import numpy as np
from measure import Section, alone, short, timed

import dalenius as dl
from dalenius.paper.leakage import maximal_leakage

SIZES, FLIPS = (4, 5, 6), (0.1, 0.2, 0.3, 0.4)
FLAT, FALLING = 16, 9  # points up to (n-1) ln 2, where the curve is flat, and from there to n ln 2
SOME = 1e-9  # leakages below are nothing to be missed
SHORT = 1e-2
TEXT = """Parity of n bits with symmetric noise along b: `dl.curve` with default settings (tolerance 1e-6), against one
random start of the paper's Algorithm 1 at each b, with Algorithm 5 repaired ("escort"), which misses least, and loops
run to 1e-6. Missed is the share of the certified leakage that this start does not find, where there is any."""
HEAD = [
    "n",
    "flip",
    "points",
    "curve s",
    "largest gap",
    "paper's method s",
    "paper's / curve",
    "missed, mean",
    "missed, most",
]
HEAD += [f"points that miss over {SHORT:.0%}"]


def entropies(n: int, flat: int, falling: int) -> list[float]:
    """Values of b from 0 to n ln 2, closer where the curve falls."""
    edge = (n - 1) * math.log(2)
    beyond = [edge + math.log(2) * k / (falling - 1) for k in range(falling)]
    return [edge * k / flat for k in range(flat)] + beyond


def _parity(n: int, flip: float) -> "dl.Mechanism":
    return dl.mechanisms.symmetric(dl.queries.modular_sum(n=n, modulus=2), flip=flip)


def curve(n: int, flip: float, points: list[float], limit: float) -> dict[str, Any]:
    """Return the certified curve."""
    dl.audit(_parity(2, 0.3), entropy=1.0, verify=False)  # imports
    found, seconds = timed(lambda: dl.curve(_parity(n, flip), entropies=points), limit)
    return {
        "lower": [audit.lower for audit in found.audits],
        "gap": max(audit.gap for audit in found.audits),
        "seconds": seconds,
    }


def paper(n: int, flip: float, points: list[float], limit: float) -> dict[str, Any]:
    """One start of Algorithm 1 at every point."""
    mechanism = _parity(n, flip)
    channel, records = mechanism.matrix(), mechanism.records

    def start(k: int) -> float:
        rng = np.random.default_rng(k)
        return maximal_leakage(channel, records, points[k], rng=rng, repairs=("gradient", "escort"), eps=1e-6).value

    found, seconds = timed(lambda: [start(k) for k in range(len(points))], limit, most=1)
    return {"found": found, "seconds": seconds}


def section(*, quick: bool) -> Section:
    """Every size and noise, or a thinner grid."""
    ratios: list[tuple[float, str]] = []
    rows: list[list[str]] = []
    for n in SIZES[:1] if quick else SIZES:
        for flip in FLIPS[::2] if quick else FLIPS:
            points = entropies(n, *((3, 3) if quick else (FLAT, FALLING)))
            own = alone(curve, n=n, flip=flip, points=points, limit=1200.0)
            peer = alone(paper, n=n, flip=flip, points=points, limit=1200.0)
            begin = [str(n), str(flip), str(len(points))]
            if "failed" in own or "failed" in peer:
                rows.append([*begin, own.get("failed", ""), "", peer.get("failed", ""), *[""] * 4])
                continue
            ratios.append((peer["seconds"] / own["seconds"], ""))
            lower = np.array(own["lower"])
            there = lower > SOME
            missed = np.maximum(0.0, 1 - np.array(peer["found"])[there] / lower[there])
            cells = [f"{own['seconds']:.2f}", f"{own['gap']:.0e}", f"{peer['seconds']:.2f}", f"{ratios[-1][0]:.3g}"]
            counted = f"{(missed > SHORT).sum()} of {missed.size}"
            rows.append([*begin, *cells, f"{missed.mean():.1%}", f"{missed.max():.1%}", counted])
    summary = [short("certified curve, parity", "the paper's method, one start a point", ratios, "above 1")]
    return Section("The paper's figure", TEXT, summary, HEAD, rows)
