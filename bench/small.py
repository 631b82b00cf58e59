"""Small questions: what one call costs, beside the way that larger problems go and beside qif.

Both ways of ours are in this version: settings leave the short one out. All are timed in turns in one process.
"""

import importlib.util
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from classical import GAP, RATE_GAP, channel, distortion_at
from measure import Section, alone, short

import dalenius as dl
from dalenius.auditing.roads import OneRecordSearch
from dalenius.bounds.monotone import MonotoneRows

Ways = dict[str, Callable[[], Any]]
SECONDS, TURNS = 0.1, 3
SHORT, LONG = "short ms", "general ms"
HEAD = ["question", SHORT, LONG, "general / short", "qif ms", "qif / short", "checked as well ms"]
TEXT = f"""Processor milliseconds of one thread, all ways in turns in one process, least of {TURNS} turns of
{SECONDS:g} s each. "General" is the same version with settings that leave the short way out: one Newton run in place
of a search (one record), and monotone rows that leave out multipliers which cannot close the bracket (parities).
Certificates are written in all of our times, and checked in the last column alone. qif has the loosest stopping rule
that reaches a gap of {GAP:g} nats, {RATE_GAP:g} for rates; it writes no certificate."""
WITHOUT = dl.Settings(parts=(OneRecordSearch(values=1), MonotoneRows(closing_cells=0)))


def in_turns(ways: Ways) -> dict[str, float]:
    """Seconds a call of every way, least of its turns."""
    least = dict.fromkeys(ways, math.inf)
    for turn in range(TURNS + 1):
        for name, way in ways.items():
            begin, runs, spent = time.process_time(), 0, 0.0
            while spent < (SECONDS if turn else 0.0) or not runs:
                way()
                runs, spent = runs + 1, time.process_time() - begin
            # The first turn loads what is loaded at a first call.
            least[name] = min(least[name], spent / runs) if turn else least[name]
    return least


def capacity(k: int) -> dict[str, float]:
    """One record of k values, an adversary without limit; two values have the channel of qif's own test."""
    rows = np.array([[0.8, 0.2], [0.3, 0.7]]) if k == 2 else channel(k)  # two values
    return in_turns(
        _audits(dl.Mechanism.from_matrix(rows, [k]), entropy=0.0, tolerance=GAP) | _qif_capacity(np.asarray(rows))
    )


def nothing(k: int) -> dict[str, float]:
    """One record of k values, nothing known."""
    return in_turns(_audits(dl.Mechanism.from_matrix(channel(k), [k]), knowledge=0.0))


def parity(n: int, knowledge: float) -> dict[str, float]:
    """The parity of n bits, flipped with probability 0.3."""
    mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=n, modulus=2), flip=0.3)
    return in_turns(_audits(mechanism, knowledge=knowledge))


def rate(k: int, slope: float) -> dict[str, float]:
    """Rate and distortion of k values, at the point with this slope."""
    query, at = dl.queries.identity(k), distortion_at(k, slope)
    asked = {"distortion": at, "entropy": math.log(k), "tolerance": RATE_GAP}
    ways: Ways = {
        SHORT: lambda: dl.design(query, verify=False, **asked),
        LONG: lambda: dl.design(query, verify=False, settings=WITHOUT, **asked),
    }
    return in_turns(ways | _qif_rate(k, slope))


def _audits(mechanism: dl.Mechanism, **asked: float) -> Ways:
    return {
        SHORT: lambda: dl.audit(mechanism, verify=False, **asked),
        LONG: lambda: dl.audit(mechanism, verify=False, settings=WITHOUT, **asked),
        HEAD[-1]: lambda: dl.audit(mechanism, **asked),
    }


def _qif_capacity(rows: np.ndarray) -> Ways:
    if importlib.util.find_spec("qif") is None:
        return {}
    import qif
    from classical import LADDER, capacity_gap

    rows = np.ascontiguousarray(rows)

    def law(rule: float) -> np.ndarray:
        return np.asarray(qif.measure.shannon.add_capacity(rows, rule / math.log(2), 0.0)[1]).ravel()

    rule = next((GAP * s for s in LADDER if capacity_gap(law(GAP * s), rows) <= GAP), GAP * LADDER[-1])
    return {"qif ms": lambda: law(rule)}


def _qif_rate(k: int, slope: float) -> Ways:
    if importlib.util.find_spec("qif") is None or slope * k < SLOW:
        return {}
    import qif
    from classical import LADDER, distances, lagrangian

    p, make = np.full(k, 1 / k), qif.mechanism.shannon.max_entropy_given_same_loss

    def law(rule: float) -> np.ndarray:
        return np.asarray(p @ np.asarray(make(p, p, lambda x, y: slope * abs(x - y), rule, 0.0)))

    def reached(rule: float) -> bool:
        r = np.maximum(law(rule), 0)
        lower, upper, _ = lagrangian(distances(k), r / r.sum(), slope)
        return upper - lower <= RATE_GAP

    rule = next((RATE_GAP * s for s in LADDER if reached(RATE_GAP * s)), RATE_GAP * LADDER[-1])
    return {"qif ms": lambda: law(rule)}


SLOW = 16.0  # slope x values below which qif takes many seconds from 128 values on; bench/classical.py has them


def section(*, quick: bool) -> Section:
    """One record of 2 to 64 values, parities, rates at a slope of 1 and of 8/k."""
    sizes = (2, 8, 16) if quick else (2, 4, 8, 16, 32, 64)
    cases: list[tuple[str, Callable[..., dict[str, float]], dict[str, float]]] = [
        (f"capacity, {k} values", capacity, {"k": k}) for k in sizes
    ]
    cases += [(f"nothing known, {k} values", nothing, {"k": k}) for k in sizes[:2]]
    cases += [(f"parity of 4, knowledge {b:g}", parity, {"n": 4, "knowledge": b}) for b in (0.05, 0.5)]
    sizes = (16, 64) if quick else (16, 32, 64, 128, 256, 512)
    cases += [(f"rate, {k} values, slope {b:g}", rate, {"k": k, "slope": b}) for k in sizes for b in (1.0, 8 / k)]
    rows, before, beside = [], [], []
    for name, function, arguments in cases:
        found = alone(function, **arguments)
        ours, qif = found[SHORT], found.get("qif ms")
        before.append((found[LONG] / ours, ""))
        beside += [] if qif is None else [(qif / ours, "")]
        checked = found.get(HEAD[-1])
        rows.append(
            [name, f"{1e3 * ours:.3g}", f"{1e3 * found[LONG]:.3g}", f"{found[LONG] / ours:.3g}"]
            + (["", ""] if qif is None else [f"{1e3 * qif:.3g}", f"{qif / ours:.3g}"])
            + ["" if checked is None else f"{1e3 * checked:.3g}"]
        )
    lines = [
        short("Small questions", "the general way", before, "above 1"),
        short("Small questions", "qif", beside, "above 1"),
    ]
    return Section("Small questions", TEXT, lines, HEAD, rows)
