"""What the paper says about each experiment, and what is true: sentences whose numbers come from the rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dalenius.gallery.parse import parse_query
from dalenius.report.numbers import decimals, round_down, round_up, short, short_up
from dalenius.reproduce.points import RETURNED_TOLERANCE
from dalenius.reproduce.rows import Row, called, groups, having, listed, missed, rising, spread

LN2 = math.log(2)
FLAT = 1e-9  # b counts as (n-1) ln 2 up to this
ROUNDING = 1e-12


@dataclass(frozen=True)
class Finding:
    """Two sentences, or a few: what the paper says, and what is true."""

    says: str
    true: str


def finding(name: str, rows: list[Row]) -> Finding:
    """Return the finding of an experiment that has rows; it stays true when the grid is coarse or not yet whole."""
    return FINDINGS[name](rows)


def bracket(row: Row) -> str:
    """Return [lower, upper], rounded outward."""
    places = decimals(row["upper"])
    return f"[{round_down(row['lower'], places)}, {round_up(row['upper'], places)}]"


def percent(share: float) -> str:
    """Return a share as a percentage, never too small."""
    return f"{math.ceil(1000 * share - ROUNDING) / 10:g} %"


def factor(row: Row) -> float | None:
    """Certified lower bound / printed number: how many times too low the latter is at least; None without one."""
    return row["lower"] / row["printed"] if row.get("printed") else None


def decimals_of(printed: float) -> int:
    """Return how many decimals a printed number has."""
    return len(f"{float(printed)!r}".partition(".")[2])


def is_rounded(row: Row) -> bool:
    """Say whether the printed number is the exact one, rounded to the printed digits."""
    return abs(float(row["printed"] - row["value"])) <= 0.5 * 10.0 ** -decimals_of(row["printed"]) + ROUNDING


def below_knee(rows: list[Row]) -> list[Row]:
    """Return the audits with b <= (n-1) ln 2, where the leakage of a parity does not depend on b."""
    return [row for row in having(rows, "b", "n", "lower") if row["b"] <= (row["n"] - 1) * LN2 + FLAT]


def most_missed(rows: list[Row]) -> str:
    """Return in words the largest share of the leakage that the median of the starts misses."""
    worst = max(having(rows, "paper_median", "lower"), key=missed, default=None)
    if worst is None or not missed(worst):
        return "The paper's method misses nothing here"
    where = f"{called(worst)} of {worst['query']}, b = {short(worst['b'])}" if worst.get("query") else worst["key"]
    return f"The median of the paper's method misses up to {percent(missed(worst))} of the leakage ({where})"


def _saddle(rows: list[Row]) -> Finding:
    says = (
        "The information I(X_1; Y) is concave in the marginal p(x_1) and convex in the conditional p(x_2|x_1), and "
        "H(X) >= b cuts the allowed region out of this saddle."
    )
    grid, audits = having(rows, "information"), having(rows, "b", "lower")
    concave = max((bend for line in groups(grid, "phi").values() for bend in _bends(line, "theta")), default=0.0)
    convex = min((bend for line in groups(grid, "theta").values() for bend in _bends(line, "phi")), default=0.0)
    holds = concave <= ROUNDING and convex >= -ROUNDING
    true = [f"Both hold {'at every point' if holds else 'not everywhere'} of this grid of {len(grid)} priors."]
    for row in audits[:1]:
        best = max((one["information"] for one in grid if one["entropy"] >= row["b"]), default=0.0)
        true.append(
            f"With b = {short(row['b'])} the best allowed point of the grid has {best:.6f} nats; over all priors the "
            f"maximum is certified to be in {bracket(row)}, and the paper's method finds {row['paper_median']:.6f} "
            f"(median of {row['starts']} starts; {row['paper_min']:.6f} to {row['paper_max']:.6f})."
        )
    return Finding(says, " ".join(true))


def _entropy(rows: list[Row]) -> Finding:
    says = (
        "Leakage falls as b grows, from b = 0 on, for every n and every flip probability; where a curve does not fall, "
        "the optimisation has met a local optimum."
    )
    flat = below_knee(rows)
    curves = groups(flat, "n", "mechanism").values()
    apart = max(map(spread, curves), default=0.0)
    true = (
        "Up to b = (n-1) ln 2 the leakage does not depend on b: on each curve the certified values there lie within "
        f"{short_up(apart)} nats of one another ({len(flat)} points), and all {len(rows)} brackets are within "
        f"{short_up(_from_closed_form(rows))} nats of the closed form. {most_missed(flat)}: a fall in this range is "
        "the method's, not the leakage's."
    )
    return Finding(says, true)


def _epsilon(rows: list[Row]) -> Finding:
    printed = having(rows, "printed")
    number = f"{printed[0]['printed']:g} nats at b = 0 for n = {printed[0]['n']}" if printed else "the same at b = 0"
    says = (
        "The capacity of Laplace and exponential noise falls as epsilon grows. BSC(0.3) has about "
        f"{number}, and less for larger n and larger b."
    )
    curves = groups((row for row in rows if row["family"] != "symmetric"), "n", "b", "family").values()
    steps = [step for curve in curves for step in pairwise(rising(curve, "parameter"))]
    rises = sum(after["lower"] > before["upper"] for before, after in steps)
    true = [f"Leakage grows with epsilon: certified in {rises} of {len(steps)} steps of the grid."]
    flat = [row for row in below_knee(rows) if row["family"] == "symmetric"]
    if flat:
        true.append(
            f"BSC(0.3) leaks {bracket(flat[0])} nats at every b up to (n-1) ln 2, for n = "
            f"{listed(str(row['n']) for row in flat)} alike (within {short_up(spread(flat))} nats)."
        )
    true += [
        f"The printed {row['printed']:g} is {percent(row['printed'] / row['upper'] - 1)} above it."
        for row in printed
        if row["printed"] > row["upper"]
    ]
    return Finding(says, f"{' '.join(true)} {most_missed(rows)}.")


def _distortion(rows: list[Row]) -> Finding:
    says = (
        "At equal distortion the binary symmetric channel leaks less than Laplace noise, and that less than "
        "exponential noise, where the mutual information of the first and the DP epsilon of the others share one axis."
    )
    rounded = [row | {"place": round(row["distortion"], 9)} for row in rows]
    shared = [group for group in groups(rounded, "n", "b", "place").values() if len(group) > 1]
    apart = max(map(spread, shared), default=0.0)
    true = (
        "On one scale the three are the same: at equal distortion they are one channel, and their certified leakages "
        f"at equal n, b and distortion lie within {short_up(apart)} nats of one another."
    )
    free = [row for row in rows if row["b"] == 0]
    if free:
        row = min(free, key=lambda one: abs(one["distortion"] - 0.25))
        true += (
            f" DP epsilon is another quantity: at distortion {short(row['distortion'])} it is "
            f"{short(row['dp_epsilon'])}, while at b = 0 the channel leaks {bracket(row)} nats."
        )
    return Finding(says, f"{true} A larger b lowers the leakage only beyond (n-1) ln 2. {most_missed(rows)}.")


def _primal(rows: list[Row]) -> Finding:
    says = (
        "Algorithm 6 computes the least leakage at each distortion D; what it achieves stays just below D, and the "
        "mechanisms are near the best."
    )
    kept = sum(row["achieved_max"] <= row["D"] + FLAT for row in rows)
    worst = max(rows, key=lambda row: float(row["leaks_median"] - row["upper"]))
    true = (
        f"The distortion is kept at {kept} of {len(rows)} budgets, but the report is for a prior that was the worst "
        f"for an earlier mechanism. At D = {short(worst['D'])} the algorithm reports {worst['reported_median']:.4f} "
        f"nats; its mechanisms leak {worst['leaks_median']:.4f} (medians; the latter certified), "
        f"{_times(worst['leaks_median'], worst['upper'])} times the least possible, {bracket(worst)}."
    )
    return Finding(says, true)


def _dual(rows: list[Row]) -> Finding:
    says = (
        "Algorithm 9 finds mechanisms that satisfy the leakage bound L, slightly below it, while minimising distortion."
    )
    over = [row for row in rows if row["leaks_median"] - RETURNED_TOLERANCE > row["L"]]
    worst = max(rows, key=lambda row: row["leaks_median"] / row["L"] if row["L"] else 0.0)
    true = (
        f"At {len(over)} of {len(rows)} budgets the mechanisms leak more than L (median, certified). At L = "
        f"{short(worst['L'])} they leak {worst['leaks_median']:.4f} nats, while the algorithm reports "
        f"{worst['achieved_median']:.4f}; they distort by {worst['reported_median']:.4f}, and the least distortion of "
        f"any mechanism that does keep this budget is in {bracket(worst)}."
    )
    return Finding(says, true)


def _table(rows: list[Row]) -> Finding:
    falls, flats = [], []
    for ours in groups(rows, "mechanism").values():
        printed = rising(having(ours, "printed"), "b")
        if printed:
            first, last = printed[0], printed[-1]
            falls.append(
                f"from {first['printed']:.3f} at b = {short(first['b'])} to {last['printed']:.3f} at b = "
                f"{short(last['b'])} nats for {called(first)}"
            )
        flats += [f"in {bracket(row)} for {called(row)}" for row in below_knee(ours)[:1]]
    low = max((row for row in rows if factor(row)), key=lambda row: factor(row) or 0.0, default=None)
    true = [f"Up to b = (n-1) ln 2 the leakage stays the same: {listed(flats)}."] if flats else []
    if low is not None:
        times = f"{factor(low):.1f}"
        true.append(f"At b = {short(low['b'])} the number printed for {called(low)} is low by a factor of {times}.")
    return Finding(f"Leakage falls steadily with b: {listed(falls)}.", f"{' '.join(true)} {most_missed(rows)}.")


def _closed_forms(rows: list[Row]) -> Finding:
    rows = having(rows, "printed", "value")
    wrong = [row for row in rows if not is_rounded(row)]
    others = listed(f"{row['name']} (printed {row['printed']:g}, exact {row['value']:.5f})" for row in wrong)
    true = f"{len(rows) - len(wrong)} of {len(rows)} are right to their last digit"
    true += f"; not so: {others}." if wrong else "."
    audits = having(rows, "lower")
    if audits:
        apart = max(max(row["upper"] - row["value"], row["value"] - row["lower"]) for row in audits)
        true += f" The certified brackets of those that are leakages are within {short_up(apart)} of the closed forms."
    return Finding(f"The appendix and a caption print {len(rows)} values of closed forms.", true)


def _pairs(rows: list[Row]) -> Finding:
    says = (
        "The sum over pairs of records is defined as the non-linear query, and its evaluation is left to future work."
    )
    return Finding(says, f"{_ends(rows)} {most_missed(rows)}.")


def _modular(rows: list[Row]) -> Finding:
    says = "Sums modulo m are defined for every m, said to have sensitivity 1, and evaluated for m = 2 only."
    sensitive = listed(f"{parse_query(query).sensitivity:g} for {query}" for (query,) in groups(rows, "query"))
    return Finding(says, f"The sensitivity is {sensitive}. {_ends(rows)} {most_missed(rows)}.")


def _ends(rows: list[Row]) -> str:
    """Say where the certified curves begin."""
    first = [rising(curve, "b")[0] for curve in groups(having(rows, "lower"), "query", "mechanism").values()]
    words = listed(f"{bracket(row)} for {called(row)} of {row['query']}" for row in first)
    return f"Leakage in nats at b = {short(min(row['b'] for row in first))}, certified: {words}."


def _bends(line: list[Row], along: str) -> Any:  # noqa: ANN401
    """Return by how much each point of a line stands below the chord between its neighbours."""
    x, y = (np.array([row[name] for row in rising(line, along)]) for name in (along, "information"))
    if x.size < 3:  # noqa: PLR2004 - a chord and a point
        return []
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    return ((1 - share) * y[:-2] + share * y[2:] - y[1:-1]).tolist()


def _from_closed_form(rows: list[Row]) -> float:
    ours = having(rows, "closed_form", "lower")
    return max((max(row["upper"] - row["closed_form"], row["closed_form"] - row["lower"]) for row in ours), default=0.0)


def _times(one: float, other: float) -> str:
    return f"{one / other:.2f}" if other else "infinitely many"


FINDINGS: dict[str, Callable[[list[Row]], Finding]] = {
    "saddle": _saddle,
    "entropy": _entropy,
    "epsilon": _epsilon,
    "distortion": _distortion,
    "primal": _primal,
    "dual": _dual,
    "table": _table,
    "closed-forms": _closed_forms,
    "pairs": _pairs,
    "modular": _modular,
}
