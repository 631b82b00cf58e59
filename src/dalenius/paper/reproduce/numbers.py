"""The numbers that sentences about a reproduction are made of, by name: "entropy.apart", "text.armijo.counted".

A number that was not measured is missing, and so is then every sentence that needs it (wording.py).
"""

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from dalenius.model.gallery.parse import parse_query
from dalenius.numerics.rounding import short
from dalenius.paper.reproduce import recipe
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
    reached,
    rising,
    spread,
)

Numbers = dict[str, Any]
Results = dict[str, list[Row]]


def numbers(results: Results) -> Numbers:
    """Return every number that the rows hold, as "experiment.name"; what is missing or None is left out."""
    found = {f"{name}.{key}": value for name, rows in results.items() if rows for key, value in OF[name](rows).items()}
    found |= {f"all.{key}": value for key, value in _together(results).items()}
    return {key: value for key, value in found.items() if value is not None}


def _saddle(rows: list[Row]) -> Numbers:
    grid, audits = having(rows, "information"), having(rows, "b", "lower")
    concave = max((bend for line in groups(grid, "phi").values() for bend in _bends(line, "theta")), default=0.0)
    convex = min((bend for line in groups(grid, "theta").values() for bend in _bends(line, "phi")), default=0.0)
    holds = concave <= recipe.ROUNDING and convex >= -recipe.ROUNDING
    found: Numbers = {"points": len(grid), "where": "at every point" if holds else "not everywhere"}
    for row in audits[:1]:
        best = max((one["information"] for one in grid if one["entropy"] >= row["b"]), default=0.0)
        found |= {**row, "best": best, "bracket": bracket(row)}
    return found


def _bends(line: list[Row], along: str) -> Any:
    """By how much each point of a line stands below the chord between its neighbours."""
    x, y = (np.array([row[name] for row in rising(line, along)]) for name in (along, "information"))
    if x.size < 3:  # a chord and a point
        return []
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    return ((1 - share) * y[:-2] + share * y[2:] - y[1:-1]).tolist()


def _missing(rows: Iterable[Row], prefix: str = "") -> Numbers:
    """The largest share of the leakage that the median start misses, and the best; where loops ran to the finest eps.

    A coarser loop may stop short by itself.
    """
    ours = finest(having(rows, "paper_median", "lower"))
    worst = max(ours, key=missed, default=None)
    if worst is None or not missed(worst):
        return {f"{prefix}nothing": "misses nothing here"}
    where = f"{called(worst)} of {worst['query']}, b = {short(worst['b'])}" if worst.get("query") else worst["key"]
    loops = "" if worst.get("eps") is None else f"; loops run to {worst['eps']:.0e}".replace("e-0", "e-")
    best = max(missed({**row, "paper_median": row["paper_max"]}) for row in ours)
    many = worst.get("starts")
    starts = None if many is None else _starts(many)
    return _under(prefix, median=missed(worst), best=best, starts=starts, at=where + loops)


def _starts(many: int) -> str:
    return f"{many} start{'s' * (many > 1)}"


def _under(prefix: str, **named: Any) -> Numbers:
    return {f"{prefix}{name}": value for name, value in named.items()}


def _cause(rows: list[Row]) -> Numbers:
    """What Algorithm 5 does to the fall, where both projections were run."""
    both = finest(having(rows, "escort_median", "paper_median", "lower"))
    if not both:
        return {}
    escort = max(missed({**row, "paper_median": row["escort_median"]}) for row in both)
    return {"both": len(both), "printed": max(map(missed, both)), "escort": escort}


def _entropy(rows: list[Row]) -> Numbers:
    flat, forms = below_knee(rows), having(rows, "closed_form", "lower")
    apart = max(map(spread, groups(flat, "n", "mechanism").values()), default=None)
    off = (max(row["upper"] - row["closed_form"], row["closed_form"] - row["lower"]) for row in forms)
    found = {"flat": len(flat), "apart": apart, "points": len(rows), "off": max(off, default=0.0)}
    return {
        **found,
        "flat_curves": int(apart is not None and apart < recipe.CERTIFIED),
        **_missing(flat),
        **_cause(flat),
    }


def _epsilon(rows: list[Row]) -> Numbers:
    grown, steps = growth(rows)
    found: Numbers = {"grown": grown, "steps": steps, **_missing(rows)}
    found |= {"laplace": -2 * math.log(2 * 0.3), "exponential": 2 * math.log(0.7 / 0.3)}  # where they flip with 0.3
    flat = [row for row in below_knee(rows) if row["family"] == "symmetric"]
    if flat:
        sizes = listed(str(row["n"]) for row in flat)
        found |= {"bracket": bracket(flat[0]), "sizes": sizes, "apart": spread(flat)}
    for row in having(rows, "printed"):
        above = row["printed"] / row["upper"] - 1
        found |= {"printed": row["printed"], "n": row["n"], "above": above if above > 0 else None}
    return found


def _distortion(rows: list[Row]) -> Numbers:
    rounded = [row | {"place": round(row["distortion"], 9)} for row in rows]
    shared = [group for group in groups(rounded, "n", "b", "place").values() if len(group) > 1]
    found: Numbers = {"apart": max(map(spread, shared), default=0.0), **_missing(rows)}
    free = [row for row in rows if row["b"] == 0]
    if free:
        row = min(free, key=lambda one: abs(one["distortion"] - 0.25))
        found |= {"at_distortion": row["distortion"], "dp_epsilon": row["dp_epsilon"], "bracket": bracket(row)}
        same = [
            one for one in free if one["n"] == row["n"] and abs(one["distortion"] - row["distortion"]) < recipe.KNEE
        ]
        found |= {one["family"]: one["parameter"] for one in same}
    return found


def _primal(rows: list[Row]) -> Numbers:
    worst = max(rows, key=lambda row: float(row["leaks_median"] - row["upper"]))
    believed = max(rows, key=lambda row: float(row["leaks_median"] - row["reported_median"]))
    more = sum(row["leaks_median"] > row["reported_median"] + recipe.RETURNED_TOLERANCE for row in rows)
    found = {
        "kept": sum(row["achieved_max"] <= row["D"] + recipe.KNEE for row in rows),
        "budgets": len(rows),
        "more": more,
        **{name: worst[name] for name in ("D", "reported_median", "leaks_median", "leaks_min")},
        "bracket": bracket(worst),
        "believed_D": believed["D"],
        "believed": believed["reported_median"],
        "real": believed["leaks_median"],
        **_times("median", rows, "leaks_median"),
        **_times("best", rows, "leaks_min"),
        **_times("ours", having(rows, "ours_leaks_median"), "ours_leaks_median"),
        "others": _others(rows),
        "each": listed(_starts(row["starts"]) for row in having(rows, "starts")),
    }
    if len(having(rows, "rising", "settled", "rounds_min")) == len(rows):
        found |= {name: sum(row[name] for row in rows) for name in ("rising", "settled", "starts")}
        found |= {"rounds_min": min(row["rounds_min"] for row in rows), "rounds": max(row["rounds"] for row in rows)}
    return found


def _others(rows: list[Row]) -> int | None:
    """How many starts the runs have that are not as printed."""
    return max((len(row["ours_values"].split()) for row in having(rows, "ours_values")), default=None)


def _times(name: str, rows: list[Row], column: str) -> Numbers:
    """How many times the least possible: from, and to."""
    times = [row[column] / row["upper"] for row in rows if row["upper"] > 0]
    return {f"{name}_from": min(times), f"{name}_to": max(times)} if times else {}


def _along(rows: list[Row], words: Callable[[Row], str]) -> str | None:
    return listed(f"{words(row)} at L = {short(row['L'])}" for row in rows) if rows else None


def _dual(rows: list[Row]) -> Numbers:
    costly = max(rows, key=lambda row: row["reported_median"] / row["upper"] if row["upper"] else 0.0)
    best, loose = having(rows, "kept_least"), having(rows, "loose_leaks_median")
    strict, fine = having(rows, "strict_leaks_median"), having(rows, "fine_late_min", "fine_late_max")
    found = {
        "budgets": len(rows),
        "over": sum(row["leaks_median"] - recipe.RETURNED_TOLERANCE > row["L"] for row in rows),
        "excess": max(0.0, *(row["leaks_median"] - row["L"] for row in rows)),
        "excess_best": max(0.0, *(row["leaks_min"] - row["L"] for row in rows)),
        "leaks": _along(rows, lambda row: f"{row['leaks_median']:.4f}"),
        "ended": _along(rows, lambda row: f"{row['settled']} of {row['starts']}"),
        **{name: sum(row[name] for row in rows) for name in ("rising", "starts")},
        **{name: costly[name] for name in ("L", "reported_median", "reported_min")},
        "bracket": bracket(costly),
        **_times("kept", best, "kept_least"),
        "loose": _along(loose, lambda row: f"{row['loose_leaks_median']:.4f}"),
        "loose_excess": max((max(0.0, row["loose_leaks_median"] - row["L"]) for row in loose), default=None),
        "others": _others(rows),
    }
    if fine:
        both = sum(row["fine_late_min"] <= row["L"] <= row["fine_late_max"] for row in fine)
        found |= {"fine_settled": sum(row["fine_settled"] for row in fine), "fine_both": both, "fine": len(fine)}
    if strict:
        worst = max(strict, key=lambda row: row["strict_leaks_median"] / row["L"] if row["L"] else 0.0)
        found |= {"broken": sum(row["strict_leaks_min"] > row["L"] for row in strict), "strict": len(strict)}
        found |= {"strict_leaks": worst["strict_leaks_median"], "strict_best": worst["strict_leaks_min"]}
        found |= {"strict_L": worst["L"], "strict_bracket": bracket(worst)}
        found |= {"strict_proof": worst["leaks_median"], "strict_ours": worst.get("ours_leaks_median")}
    return found


def _table(rows: list[Row]) -> Numbers:
    falls, flats = [], []
    for ours in groups(rows, "mechanism").values():
        printed = rising(having(ours, "printed"), "b")
        falls += [
            f"from {first['printed']:.3f} at b = {short(first['b'])} to {last['printed']:.3f} at b = "
            f"{short(last['b'])} nats for {called(first)}"
            for first, last in [(printed[0], printed[-1])] * bool(printed)
        ]
        flats += [f"in {bracket(row)} for {called(row)}" for row in below_knee(ours)[:1]]
    flat, printed = below_knee(rows), having(rows, "printed", "lower")
    low = max((row for row in rows if factor(row)), key=lambda row: factor(row) or 0.0, default=None)
    started = having(rows, "uniform", "lower")
    found: Numbers = {
        "falls": listed(falls) if falls else None,
        "flats": listed(flats) if flats else None,
        "too_low": sum(row["printed"] < 0.9 * row["lower"] and not _in_digits(row) for row in printed),
        "knee_printed": max((max(0.0, 1 - row["printed"] / row["lower"]) for row in below_knee(printed)), default=None),
        **_missing(rows),
        **_missing(flat, "knee_"),
        **_cause(flat),
        **_moved(rows, "literal", "gradient"),
        **_moved(flat, "escort", "escort"),
    }
    if started:
        still = [row for row in started if row["uniform"] < recipe.KNEE < row["lower"]]
        ahead = [short(row["b"]) for row in started if row["uniform"] > row["paper_median"] + recipe.RISE]
        found |= {"still": len(still), "rows": len(started), "ahead": listed(ahead) if ahead else None}
    if low is not None:
        found |= {"low_b": low["b"], "low": called(low), "low_times": factor(low)}
    return found


def _in_digits(row: Row) -> bool:
    """Whether the printed number is the certified one to its three digits."""
    return abs(float(row["printed"]) - float(row["lower"] + row["upper"]) / 2) <= 0.5e-3  # noqa: PLR2004 - three digits


def _moved(rows: list[Row], series: str, name: str) -> Numbers:
    """Two series of the table where they differ most, among rows whose bracket is far narrower than the leakage."""
    ours = having(rows, f"{series}_median", "paper_median", "lower")
    ours = [row for row in ours if row["lower"] > 10 * (row["upper"] - row["lower"])]
    row = max(ours, key=lambda row: abs(row[f"{series}_median"] - row["paper_median"]) / row["lower"], default=None)
    if row is None:
        return {}
    return _under(f"{name}_", other=row[f"{series}_median"], printed=row["paper_median"], b=row["b"], of=called(row))


def _closed_forms(rows: list[Row]) -> Numbers:
    rows = having(rows, "printed", "value")
    wrong = [row for row in rows if not is_rounded(row)]
    others = listed(f"{row['name']} (printed {row['printed']:g}, exact {row['value']:.5f})" for row in wrong)
    off = [max(row["upper"] - row["value"], row["value"] - row["lower"]) for row in having(rows, "lower")]
    exact = {"values": len(rows), "exact": len(rows) - len(wrong), "wrong": len(wrong)}
    return {**exact, "others": others if wrong else None, "apart": max(off, default=None)}


def _curves(rows: list[Row]) -> Numbers:
    first = [rising(curve, "b")[0] for curve in groups(having(rows, "lower"), "query", "mechanism").values()]
    starts = listed(f"{bracket(row)} for {called(row)} of {row['query']}" for row in first)
    sensitive = listed(f"{parse_query(query).sensitivity:g} for {query}" for (query,) in groups(rows, "query"))
    return {"b": min(row["b"] for row in first), "ends": starts, "sensitive": sensitive, **_missing(rows)}


def _convergence(rows: list[Row]) -> Numbers:
    found: Numbers = {}
    for number, column in ((1, "value"), (6, "worst"), (9, "value")):
        mine = [row for row in rows if row["algorithm"] == number]
        paths = [rising(path, "iteration") for path in groups(mine, "reading", "budget", "start").values()]
        moves = [after[column] - before[column] for path in paths for before, after in pairwise(path)]
        if moves:
            wrong = sum(move < -recipe.ROUNDING if number == 1 else move > recipe.KNEE for move in moves)
            ended = sum(path[-1]["status"] == "converged" for path in paths)
            many = {"wrong": wrong, "moves": len(moves), "ended": ended, "paths": len(paths)}
            found |= {f"{name}_{number}": value for name, value in many.items()}
            found["rate_1"] = found.get("rate_1") or _rate([row["value"] for row in paths[0]])
    return found


def _rate(values: list[float]) -> float | None:
    """The factor by which the change shrinks from round to round, over the last half of a run."""
    changes = [after - before for before, after in pairwise(values) if after - before > recipe.ROUNDING]
    half = len(changes) // 2
    return (changes[-1] / changes[half]) ** (1 / (len(changes) - 1 - half)) if half > 1 else None


def _global(rows: list[Row]) -> Numbers:
    found: Numbers = {}
    for kind, ours in (
        ("random", [row for row in rows if row.get("draw") is not None]),
        ("rational", [row for row in rows if row.get("draw") is None]),
        ("all", rows),
    ):
        shares = reached(ours)
        if shares:
            behind, done = sum(share < 1 - recipe.SHORT for share in shares), sum(row["converged"] for row in ours)
            best = min(max(reached([row])) for row in ours)
            of = {"starts": len(shares), "worst": min(shares), "best": best}
            found |= _under(f"{kind}_", behind=behind, done=done, **of)
    for row in (row for row in rows if row.get("draw") is None):
        values = [round(float(value), 6) for value in row["paper_values"].split()]
        common = max(values, key=values.count)
        found |= {"bracket": bracket(row), "common": common, "often": values.count(common), "of": len(values)}
    return found


def _text(rows: list[Row]) -> Numbers:
    found = {f"{row['key']}.{name}": value for row in rows for name, value in row.items() if name != "key"}
    share = found.get("entropy_share.counted")
    return {**found, "entropy_share.never": None if share is None else found["entropy_share.tried"] - share}


def _together(results: Results) -> Numbers:
    """Counts over several experiments: comparisons of the paper's that brackets prove, and priors short of b."""
    curves = groups(having(results.get("entropy", []), "lower"), "n", "b").values()
    noisier = [pair for curve in curves for pair in pairwise(rising(curve, "parameter"))]
    rows = having([*results.get("table", []), *results.get("epsilon", [])], "lower")
    alike = groups((row for row in rows if row["family"] != "symmetric"), "n", "b", "parameter").values()
    both = [{row["family"]: row for row in one} for one in alike]
    pairs = [(one["laplace"], one["exponential"]) for one in both if len(one) > 1]
    found: Numbers = {}
    for name, compared in (("noisier", noisier), ("calmer", pairs)):
        if compared:
            found |= {name: sum(after["upper"] < before["lower"] for before, after in compared)}
            found |= {f"{name}_of": len(compared)}
    priors = [row for ours in results.values() for row in having(ours, "b", "paper_entropy_min")]
    short_of = max((row["b"] - row["paper_entropy_min"] for row in priors), default=0.0)
    return {**found, "short_of": max(0.0, short_of)}


OF: dict[str, Callable[[list[Row]], Numbers]] = {
    "saddle": _saddle,
    "entropy": _entropy,
    "epsilon": _epsilon,
    "distortion": _distortion,
    "primal": _primal,
    "dual": _dual,
    "table": _table,
    "closed-forms": _closed_forms,
    "pairs": _curves,
    "modular": _curves,
    "convergence": _convergence,
    "global": _global,
    "text": _text,
}
