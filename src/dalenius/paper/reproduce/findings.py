"""What the paper says about each experiment, and what is true: sentences whose numbers come from the rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dalenius.model.gallery.parse import parse_query
from dalenius.numerics.rounding import short, short_up
from dalenius.paper.reproduce.effects import EFFECTS, effect
from dalenius.paper.reproduce.recipe import Close, Precision
from dalenius.paper.reproduce.rows import (
    Row,
    below_knee,
    bracket,
    called,
    factor,
    finest,
    groups,
    growth,
    having,
    is_rounded,
    listed,
    missed,
    most_missed,
    percent,
    reached,
    rising,
    spread,
)


@dataclass(frozen=True)
class Finding:
    """Two sentences, or a few: what the paper says, and what is true."""

    says: str
    true: str


def finding(name: str, rows: list[Row]) -> Finding:
    """Return the finding of an experiment that has rows; it stays true when the grid is coarse or not yet whole."""
    return FINDINGS[name](rows)


def _saddle(rows: list[Row]) -> Finding:
    says = (
        "The information I(X_1; Y) is concave in the marginal p(x_1) and convex in the conditional p(x_2|x_1), and "
        "H(X) >= b cuts the allowed region out of this saddle."
    )
    grid, audits = having(rows, "information"), having(rows, "b", "lower")
    concave = max((bend for line in groups(grid, "phi").values() for bend in _bends(line, "theta")), default=0.0)
    convex = min((bend for line in groups(grid, "theta").values() for bend in _bends(line, "phi")), default=0.0)
    holds = concave <= Close.rounding and convex >= -Close.rounding
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
    return Finding(says, " ".join([true, *_cause(flat)]))


def _cause(rows: list[Row]) -> list[str]:
    """Say what Algorithm 5 does to the fall, where both projections were run."""
    both = finest(having(rows, "escort_median", "paper_median", "lower"))
    if not both:
        return []
    escort = [{**row, "paper_median": row["escort_median"]} for row in both]
    printed, repaired = (max(map(missed, ours)) for ours in (both, escort))
    words = (
        f"A cause of the fall is Algorithm 5: with the printed softmax the medians of {len(both)} points miss up to "
        f"{percent(printed)}, with the escort in its place, and nothing else changed, up to {percent(repaired)}."
    )
    return [words]


def _epsilon(rows: list[Row]) -> Finding:
    printed = having(rows, "printed")
    number = f"{printed[0]['printed']:g} nats at b = 0 for n = {printed[0]['n']}" if printed else "the same at b = 0"
    says = (
        "The capacity of Laplace and exponential noise falls as epsilon grows, and for a fixed epsilon is higher than "
        f"that of BSC(0.3). BSC(0.3) has about {number}, and less for larger n and larger b."
    )
    true = ["Leakage grows with epsilon: certified in {} of {} steps of the grid.".format(*growth(rows))]
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
    true.append(
        f"Laplace noise leaks more than BSC(0.3) only from epsilon = {-2 * math.log(2 * 0.3):.3f} on, exponential "
        f"noise from {2 * math.log(0.7 / 0.3):.3f} on, where they flip with probability 0.3."
    )
    return Finding(says, f"{' '.join(true)} {most_missed(rows)}.")


def _distortion(rows: list[Row]) -> Finding:
    says = (
        "At equal distortion the binary symmetric channel leaks less than Laplace noise, and that less than "
        "exponential noise, where the mutual information of the first and the DP epsilon of the others share one axis; "
        "at the same privacy level epsilon Laplace noise distorts strictly less than exponential noise."
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
        same = {
            one["family"]: one["parameter"]
            for one in free
            if one["n"] == row["n"] and abs(one["distortion"] - row["distortion"]) < Close.knee
        }
        if {"laplace", "exponential"} <= same.keys():
            true += (
                f" The parameter of a mechanism is not its privacy level either: at that distortion the parameters are "
                f"{short(same['laplace'])} (Laplace) and {short(same['exponential'])} (exponential), and the channel "
                "is the same."
            )
    return Finding(says, f"{true} A larger b lowers the leakage only beyond (n-1) ln 2. {most_missed(rows)}.")


def _primal(rows: list[Row]) -> Finding:
    says = (
        "Algorithm 6 computes the least leakage at each distortion D; what it achieves stays just below D, the "
        "worst-case leakage does not rise from round to round, and the mechanisms are near the best."
    )
    kept = sum(row["achieved_max"] <= row["D"] + Close.knee for row in rows)
    worst = max(rows, key=lambda row: float(row["leaks_median"] - row["upper"]))
    kept_words = (
        f"As printed the distortion is kept by all starts at {kept} of {len(rows)} budgets: Algorithm 7 returns the "
        "iterate of least J, and a J with a small lambda is small whatever it distorts."
    )
    report = (
        f"The report is for a prior that was the worst for an earlier mechanism. At D = {short(worst['D'])} the "
        f"algorithm reports {worst['reported_median']:.4f} nats; its mechanisms leak {worst['leaks_median']:.4f} "
        f"(medians; the latter certified), {_times(worst['leaks_median'], worst['upper'])} times the least possible, "
        f"{bracket(worst)}."
    )
    true = [kept_words, report]
    if having(rows, "rising"):
        starts = sum(row["starts"] for row in rows)
        true.append(
            f"In {sum(row['rising'] for row in rows)} of {starts} starts the worst-case leakage, as Algorithm 1 finds "
            f"it, rises in some round; {sum(row['settled'] for row in rows)} end by their own test, the rest at T_max."
        )
    ours = having(rows, "ours_leaks_median")
    if ours:
        times = [row["ours_leaks_median"] / row["upper"] for row in ours]
        true.append(
            f"With all repairs by choice D is kept, and the mechanisms leak {min(times):.2f} to {max(times):.2f} times "
            "the least possible."
        )
    return Finding(says, " ".join(true))


def _dual(rows: list[Row]) -> Finding:
    says = (
        "Algorithm 9 finds mechanisms that satisfy the leakage bound L, slightly below it, near-optimal, with a "
        "distortion that does not rise; the penalty makes its curves zigzag."
    )
    over = sum(row["leaks_median"] - Precision.returned_tolerance > row["L"] for row in rows)
    leaks = listed(f"{row['leaks_median']:.3f} at L = {short(row['L'])}" for row in rows)
    ended = listed(f"{row['settled']} of {row['starts']} at L = {short(row['L'])}" for row in rows)
    read = (
        "It depends on the reading. As its proof reads it, lambda of lines 6 to 11 drives Algorithm 10; with the "
        "margin that the paper prints for this rule the mechanisms leak near L where L is small, as the paper says: "
        f"{leaks} (median, certified; above L at {over} of {len(rows)} budgets). Starts that end by their own test: "
        f"{ended}; the others zigzag until T_max. In {sum(row['rising'] for row in rows)} of "
        f"{sum(row['starts'] for row in rows)} starts the distortion rises in some round."
    )
    true = [read, *_finer(rows)]
    best = having(rows, "kept_least")
    if best:
        times = [row["kept_least"] / row["upper"] for row in best if row["upper"] > 0]
        true.append(
            "The best mechanism that any start meets and that keeps L, as far as Algorithm 1 sees, distorts "
            f"{min(times):.2f} to {max(times):.2f} times the least possible."
        )
    strict = having(rows, "strict_leaks_median")
    if strict:
        worst = max(strict, key=lambda row: row["strict_leaks_median"] / row["L"] if row["L"] else 0.0)
        broken = sum(row["strict_leaks_min"] > row["L"] for row in strict)
        true.append(
            f"Read strictly, line 1 of Algorithm 10 resets lambda: then at {broken} of {len(strict)} budgets every "
            f"start leaks more than L, {worst['strict_leaks_median']:.4f} nats at L = {short(worst['L'])}, while the "
            f"least distortion of any mechanism that keeps this budget is in {bracket(worst)}."
        )
    return Finding(says, " ".join(true))


def _finer(rows: list[Row]) -> list[str]:
    """Say what the proof's reading of Algorithm 9 does with tolerances of 1e-9."""
    fine = having(rows, "fine_late_min", "fine_late_max")
    if not fine:
        return []
    both = sum(row["fine_late_min"] <= row["L"] <= row["fine_late_max"] for row in fine)
    words = (
        f"With every tolerance at 1e-9 lambda never rests, and {sum(row['fine_settled'] for row in fine)} starts end "
        f"by their own test: over the last ten rounds the leakage lies on both sides of L at {both} of {len(fine)} "
        "budgets, and what the last round leaves is a matter of chance."
    )
    return [words]


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
    true += _cause(below_knee(rows))
    return Finding(f"Leakage falls steadily with b: {listed(falls)}.", f"{' '.join(true)} {most_missed(rows)}.")


def _closed_forms(rows: list[Row]) -> Finding:
    rows = having(rows, "printed", "value")
    wrong = [row for row in rows if not is_rounded(row)]
    others = listed(f"{row['name']} (printed {row['printed']:g}, exact {row['value']:.5f})" for row in wrong)
    true = f"{len(rows) - len(wrong)} of {len(rows)} are right to their last digit"
    true += f"; the exceptions are {others}." if wrong else "."
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
    says = "Sums modulo m are defined for every m, claimed to have sensitivity 1, and evaluated for m = 2 only."
    sensitive = listed(f"{parse_query(query).sensitivity:g} for {query}" for (query,) in groups(rows, "query"))
    return Finding(says, f"The sensitivity is {sensitive}. {_ends(rows)} {most_missed(rows)}.")


def _convergence(rows: list[Row]) -> Finding:
    says = (
        "Algorithm 1 improves in every round; the worst-case leakage of Algorithm 6 and the distortion of Algorithm 9 "
        "do not rise, and both converge."
    )
    true = []
    for number, name, column in (
        (1, "leakage", "value"),
        (6, "worst-case leakage", "worst"),
        (9, "distortion", "value"),
    ):
        mine = (row for row in rows if row["algorithm"] == number)
        paths = groups(mine, "reading", "budget", "start").values()
        moves = [
            after[column] - before[column] for path in paths for before, after in pairwise(rising(path, "iteration"))
        ]
        if moves:
            wrong = sum(move < -Close.rounding if number == 1 else move > Close.knee for move in moves)
            word = "falls" if number == 1 else "rises"
            ended = sum(path[-1]["status"] == "converged" for path in paths)
            true.append(
                f"In Algorithm {number} the {name} {word} in {wrong} of {len(moves)} rounds, and {ended} of "
                f"{len(paths)} runs end by their own test."
            )
    return Finding(says, " ".join(true) or "Nothing was run.")


def _global(rows: list[Row]) -> Finding:
    says = "Without entropy constraint Algorithm 1 converges to the global optimum, which is unique."
    true = []
    for kind, ours in (
        ("random channels on two records of three values", [row for row in rows if row.get("draw") is not None]),
        ("a channel with rational entries", [row for row in rows if row.get("draw") is None]),
    ):
        shares = reached(ours)
        if shares:
            behind = sum(share < 1 - Close.short for share in shares)
            done = sum(row["converged"] for row in ours)
            true.append(
                f"On {kind}, with every loop run to 1e-9, {behind} of {len(shares)} starts end more than "
                f"{Close.short:.0%} below the certified leakage ({done} by their own test); the worst reaches "
                f"{min(shares):.3f} of it."
            )
    true += [
        f"There L(0) is in {bracket(row)}, and {_most_common(row)}. A parity has several optima, so none is unique."
        for row in rows
        if row.get("draw") is None
    ]
    return Finding(says, " ".join(true) or "Nothing was run.")


def _most_common(row: Row) -> str:
    values = [round(float(value), 6) for value in row["paper_values"].split()]
    common = max(values, key=values.count)
    return f"{values.count(common)} of {len(values)} starts end at {common:.6f}"


def _text(rows: list[Row]) -> Finding:
    says = "Single formulas and tests, as they are printed."
    measured = {row["key"]: row for row in rows}
    words = [f"{effect(name, measured)}." for name in EFFECTS if name in measured]
    return Finding(says, " ".join(word[0].upper() + word[1:] for word in words) or "Nothing was run.")


def _ends(rows: list[Row]) -> str:
    """Say where the certified curves begin."""
    first = [rising(curve, "b")[0] for curve in groups(having(rows, "lower"), "query", "mechanism").values()]
    words = listed(f"{bracket(row)} for {called(row)} of {row['query']}" for row in first)
    return f"Leakage in nats at b = {short(min(row['b'] for row in first))}, certified: {words}."


def _bends(line: list[Row], along: str) -> Any:
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
    "convergence": _convergence,
    "global": _global,
    "text": _text,
}
