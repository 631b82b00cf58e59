"""Rows as `dalenius reproduce` writes them, from closed forms and seeded noise: what shows them needs no solver."""

import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from design_samples import least_leakage, noise
from samples import binary
from scipy.optimize import brentq

Row = dict[str, Any]
LN2 = math.log(2)
MARGIN = 4e-7
TABLE = {
    "laplace": {0: 0.079, 0.5: 0.062, 1: 0.041, 1.5: 0.022, 2: 0.009, 2.77: 0.0},
    "exponential": {0: 0.032, 0.5: 0.024, 1: 0.015, 1.5: 0.008, 2: 0.003, 2.77: 0.0},
}
PARAMETER = {"symmetric": "flip", "laplace": "epsilon", "exponential": "epsilon"}


def flip_of(family: str, parameter: float) -> float:
    """The flip probability of a binary answer under a mechanism of this family."""
    if family == "laplace":
        return 0.5 * math.exp(-parameter / 2)
    return 1 / (1 + math.exp(parameter / 2)) if family == "exponential" else parameter


def parameter_of(family: str, flip: float) -> float:
    """The inverse of flip_of."""
    if family == "laplace":
        return -2 * math.log(2 * flip)
    return 2 * math.log(1 / flip - 1) if family == "exponential" else flip


def audit_row(  # noqa: PLR0917 - the columns
    experiment: str,
    n: int,
    family: str,
    parameter: float,
    b: float,
    rng: np.random.Generator,
    *,
    starts: int = 5,
    query: str | None = None,
    truth: float | None = None,
    printed: float | None = None,
) -> Row:
    """An audit of the parity of n bits, or of another query whose leakage is given."""
    p = flip_of(family, parameter)
    value = least_leakage(p, noise(n, b)) if truth is None else truth
    share = np.clip(1 - 0.45 * (b / (n * LN2)) * rng.uniform(0.3, 1.4, starts), 0, 1) if b else np.ones(starts)
    found = value * share * (1 - 1e-6)
    query = query or f"modular_sum(n={n}, modulus=2)"
    return {
        "experiment": experiment,
        "key": f"{query}-{family}-{parameter:.4g}-b{b:.4f}".replace("(", "-").replace(")", "").replace(" ", ""),
        "n": n,
        "query": query,
        "mechanism": f"{family}({PARAMETER[family]}={parameter:.6g})",
        "family": family,
        "parameter": parameter,
        "b": b,
        "distortion": p,
        "dp_epsilon": math.log(1 / p - 1),
        "lower": max(0.0, value - MARGIN),
        "upper": value + MARGIN,
        "verified": True,
        "closed_form": value if truth is None else None,
        "starts": starts,
        "paper_min": found.min(),
        "paper_median": float(np.median(found)),
        "paper_max": found.max(),
        "paper_values": " ".join(map(repr, found.tolist())),
        "paper_entropy_min": b,
        "printed": printed,
    }


def saddle(rng: np.random.Generator, size: int = 21) -> list[Row]:
    rows: list[Row] = []
    for theta in np.linspace(0, 1, size).tolist():
        for phi in np.linspace(0, 1, size).tolist():
            s = phi * 0.9 + 0.1 * (1 - phi)
            information = binary(theta * (1 - s) + s * (1 - theta)) - binary(s)
            rows.append(
                {
                    "experiment": "saddle",
                    "key": f"{theta:.3f}-{phi:.3f}",
                    "theta": theta,
                    "phi": phi,
                    "information": information,
                    "entropy": binary(theta) + binary(phi),
                }
            )
    return [*rows, audit_row("saddle", 2, "symmetric", 0.1, 1.0, rng, starts=20) | {"key": "audit"}]


def entropy(rng: np.random.Generator, ns: Iterable[int] = (4, 5, 6), flips: Iterable[float] = (0.1, 0.3)) -> list[Row]:
    rows = []
    for n in ns:
        grid = np.union1d(np.linspace(0, n * LN2, 9), [(n - 1) * LN2]).tolist()
        rows += [
            audit_row("entropy", n, "symmetric", p, b, rng) | (_three("escort", _better(n, p, b)) if p == 0.3 else {})
            for p in flips
            for b in grid
        ]
    return rows


def _better(n: int, flip: float, b: float) -> Any:
    return least_leakage(flip, noise(n, b)) * np.array([0.97, 0.98, 0.99])


def epsilon(rng: np.random.Generator) -> list[Row]:
    rows = []
    for n in (4, 5, 6):
        for b in (0, 0.5, 1, 1.5, 2, 2.5):
            printed = 0.0931 if n == 4 and b == 0 else None
            rows.append(audit_row("epsilon", n, "symmetric", 0.3, b, rng, printed=printed))
            for family in ("laplace", "exponential"):
                rows += [audit_row("epsilon", n, family, e, b, rng) for e in np.geomspace(0.1, 10, 10).tolist()]
    return rows


def distortion(rng: np.random.Generator) -> list[Row]:
    rows = []
    for n in (4, 5, 6):
        for b in (0, 1, 2, 2.5, *([] if n == 4 else [(n - 1) * LN2 + 0.35])):
            for family in PARAMETER:
                flips = np.linspace(0.05, 0.47, 7).tolist()
                rows += [audit_row("distortion", n, family, parameter_of(family, p), b, rng) for p in flips]
    return rows


def _three(name: str, values: Any) -> Row:
    return {f"{name}_min": min(values), f"{name}_median": float(np.median(values)), f"{name}_max": max(values)}


def _design(reported: Any, achieved: Any, leaks: Any, prefix: str = "") -> Row:
    parts = {"reported": reported, "achieved": achieved, "leaks": leaks, "late": [0.6 * min(leaks), *leaks]}
    row: Row = {}
    for name, values in parts.items():
        row |= _three(f"{prefix}{name}", values)
    row |= {
        f"{prefix}rounds_min": 3,
        f"{prefix}rounds": 12,
        f"{prefix}settled": 1,
        f"{prefix}rising": 4,
        f"{prefix}kept_least": None,
    }
    words = " ".join(f"{r}:{a}:{k}" for r, a, k in zip(reported, achieved, leaks, strict=True))
    return row | {f"{prefix}values": words}


def primal(rng: np.random.Generator) -> list[Row]:
    rows = []
    for d in np.arange(0.05, 0.46, 0.05).round(2).tolist():
        truth = least_leakage(d, noise(3, 1.5))
        row = {"experiment": "primal", "key": f"D{d}", "n": 3, "b": 1.5, "D": d, "lower": truth - 5e-6}
        row |= {"upper": truth + 5e-6, "verified": True, "closed_form": truth, "starts": 5, "printed": None}
        reported, leaks = truth * rng.uniform(0.4, 0.9, 5), np.minimum(LN2, truth * rng.uniform(1.1, 1.9, 5) + 0.02)
        row |= _design(reported, d * rng.uniform(0.93, 1, 5), leaks) | {"audits": 7}
        rows.append(row | _design(reported[:2], [d, d], np.minimum(LN2, 1.5 * leaks[:2]), "ours_"))
    return rows


def dual(rng: np.random.Generator) -> list[Row]:
    rows = []
    for budget in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        truth = float(brentq(lambda d, budget=budget: least_leakage(d) - budget, 1e-12, 0.5))
        row = {"experiment": "dual", "key": f"L{budget}", "n": 2, "b": 0, "L": budget, "lower": truth - 5e-6}
        row |= {"upper": truth + 5e-6, "verified": True, "closed_form": truth, "starts": 5, "printed": None}
        leaks = np.minimum(LN2, budget * rng.uniform(1.1, 2.5, 5))
        row |= _design(truth * rng.uniform(0.7, 1, 5), budget * rng.uniform(0.9, 1, 5), leaks) | {"audits": 9}
        for prefix, value in (("strict_", 0.69), ("ours_", 0.6)):
            row |= _design([0.4 * truth] * 2, [budget] * 2, [value, value - 1e-3], prefix)
        row |= _design([truth] * 2, [budget] * 2, [1.2 * budget, 0.9 * budget], "fine_")
        row |= _design([truth] * 2, [budget] * 2, [1.4 * budget, 1.4 * budget], "loose_")
        rows.append(row | {"kept_least": 1.3 * truth if budget < 0.5 else None})
    return rows


def table(rng: np.random.Generator) -> list[Row]:
    return [
        audit_row("table", 4, family, 1.0, b, rng, starts=20, printed=printed.get(b))
        | _three("escort", _better(4, flip_of(family, 1.0), b))
        | _three("literal", 0.8 * _better(4, flip_of(family, 1.0), b) * (1 - b / 4))
        | {"uniform": 1.3e-4 if b > 1.7 else 0.5 * least_leakage(flip_of(family, 1.0), noise(4, b))}
        for family, printed in TABLE.items()
        for b in (0, 0.5, 1, 1.5, 2, 2.5, 2.77)
    ]


def closed_forms(rng: np.random.Generator) -> list[Row]:
    laplace, exponential = flip_of("laplace", 1), flip_of("exponential", 1)
    plain = [
        ("flip probability of laplace(epsilon=1)", "exp(-epsilon/2)/2", "", 0.3033, laplace),
        ("flip probability of exponential(epsilon=1)", "1/(exp(epsilon/2) + 1)", "", 0.3775, exponential),
        ("binary entropy of p_L", "H_b(p_L)", "nats", 0.614, binary(laplace)),
        ("binary entropy of p_E", "H_b(p_E)", "nats", 0.661, binary(exponential)),
        ("capacity of BSC(0.1)", "ln 2 - H_b(p)", "bits", 0.531, least_leakage(0.1) / LN2),
        ("capacity of BSC(0.3)", "ln 2 - H_b(p)", "bits", 0.1187, least_leakage(0.3) / LN2),
    ]
    audited = [
        ("capacity of BSC(0.1)", 0.368, "symmetric", 0.1),
        ("capacity of BSC(0.3)", 0.0823, "symmetric", 0.3),
        ("BSC(0.3) in the caption", 0.0931, "symmetric", 0.3),
        ("L(0) of laplace(epsilon=1)", 0.079, "laplace", 1.0),
        ("L(0) of exponential(epsilon=1)", 0.032, "exponential", 1.0),
    ]
    rows = [
        {"name": name, "formula": formula, "unit": unit, "printed": printed, "value": value, "lower": None}
        | {"upper": None, "verified": None, "paper_median": None}
        for name, formula, unit, printed, value in plain
    ]
    for name, printed, family, parameter in audited:
        row = audit_row("closed-forms", 4, family, parameter, 0.0, rng, printed=printed)
        rows.append(row | {"name": name, "formula": "ln 2 - H_b(p)", "unit": "nats", "value": row["closed_form"]})
    return [row | {"experiment": "closed-forms", "key": f"value-{place}"} for place, row in enumerate(rows)]


def pairs(rng: np.random.Generator) -> list[Row]:
    mechanisms = [("symmetric", 0.3, 0.31), ("laplace", 1.0, 0.04), ("exponential", 1.0, 0.012)]
    return [
        audit_row("pairs", 4, family, parameter, b, rng, query="pairs(n=4)", truth=top * (1.001 - (b / 4 / LN2) ** 2))
        for family, parameter, top in mechanisms
        for b in np.linspace(0, 4 * LN2, 9).tolist()
    ]


def modular(rng: np.random.Generator) -> list[Row]:
    cases = [(4, 3, "symmetric", 0.2, 0.4), (5, 3, "symmetric", 0.2, 0.4), (4, 4, "symmetric", 0.2, 0.42)]
    rows = []
    for n, modulus, family, parameter, top in [*cases, (4, 3, "laplace", 1.0, 0.06)]:
        query = f"modular_sum(n={n}, modulus={modulus})"
        for b in np.linspace(0, n * LN2, 9).tolist():
            truth = top * (1.001 - (b / n / LN2) ** 4)
            rows.append(audit_row("modular", n, family, parameter, b, rng, query=query, truth=truth))
    return rows


def convergence(rng: np.random.Generator) -> list[Row]:
    rows = []
    runs = [(1, None, None, 6), (6, None, 0.2, 12), (9, "proof", 0.1, 60), (9, "strict", 0.1, 20)]
    for number, reading, budget, rounds in runs:
        for start in range(1 if reading == "strict" else 2):
            for k in range(rounds):
                value = 0.08 * (1 - math.exp(-k - 1)) if number == 1 else float(rng.uniform(0.05, 0.3))
                at = {"experiment": "convergence", "key": f"{number}-{reading}-{start}-{k}", "algorithm": number}
                at |= {"reading": reading, "budget": budget, "start": start, "iteration": k, "status": "T_max"}
                at |= {"value": value, "improvement": 0.1, "violation": 0.01, "gradient": 0.2, "penalty": 1.0}
                rows.append(at | {"worst": value if number == 1 else float(rng.uniform(0.05, 0.4))})
    return rows


def global_optimum(rng: np.random.Generator) -> list[Row]:
    rows = []
    for draw in (None, 0, 1, 2):
        values = 0.399 * np.where(rng.uniform(size=6) < 0.5, 1 - 1e-9, rng.uniform(0.8, 0.98, 6))
        row = {"experiment": "global", "key": "rational" if draw is None else f"draw{draw}", "b": 0.0, "draw": draw}
        row |= {"records": "3x2" if draw is None else "3x3", "lower": 0.399, "upper": 0.399 + 1e-7, "verified": True}
        row |= {"starts": 6, "converged": 6, "paper_values": " ".join(map(repr, values.tolist()))}
        rows.append(row | _three("paper", values.tolist()))
    return rows


def text(_rng: np.random.Generator) -> list[Row]:
    exact = {"experiment": "text", "key": "alternation", "b": 0.5, "D": 0.25, "reported": 0.0123}
    return [
        exact | {"before": 0.13081, "after": 0.69314},
        *(
            {"experiment": "text", "key": key, "tried": 300, "counted": 5, "median": 0.43, "other_median": 0.0123}
            | {"least": 0.087, "most": 0.187, "asked": 0.1}
            for key in ("gradient", "entropy_share", "projection", "exits", "armijo", "penalty", "rows_alone")
        ),
    ]


@cache
def results(seed: int = 0) -> dict[str, list[Row]]:
    """Every experiment, in the order of the command."""
    rng = np.random.default_rng(seed)
    return {
        "saddle": saddle(rng),
        "entropy": entropy(rng),
        "epsilon": epsilon(rng),
        "distortion": distortion(rng),
        "primal": primal(rng),
        "dual": dual(rng),
        "table": table(rng),
        "closed-forms": closed_forms(rng),
        "pairs": pairs(rng),
        "modular": modular(rng),
        "convergence": convergence(rng),
        "global": global_optimum(rng),
        "text": text(rng),
    }
