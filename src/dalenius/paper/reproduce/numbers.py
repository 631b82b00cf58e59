"""The numbers that sentences about a reproduction are made of, by name: "entropy.apart", "text.armijo.counted".

A number that was not measured is missing, and so is then every sentence that needs it (wording.py).
"""

import math
from collections.abc import Callable
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
    grid, (audit,) = having(rows, "information"), having(rows, "lower")
    concave = max((bend for line in groups(grid, "phi").values() for bend in _bends(line, "theta")), default=0.0)
    convex = min((bend for line in groups(grid, "theta").values() for bend in _bends(line, "phi")), default=0.0)
    holds = concave <= recipe.ROUNDING and convex >= -recipe.ROUNDING
    best = max((one["information"] for one in grid if one["entropy"] >= audit["b"]), default=0.0)
    where = "at every point" if holds else "not everywhere"
    return {**audit, "points": len(grid), "where": where, "best": best, "bracket": bracket(audit)}


def _bends(line: list[Row], along: str) -> Any:
    """By how much each point of a line stands below the chord between its neighbours."""
    x, y = (np.array([row[name] for row in rising(line, along)]) for name in (along, "information"))
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    return ((1 - share) * y[:-2] + share * y[2:] - y[1:-1]).tolist()


def _missing(rows: list[Row], prefix: str = "") -> Numbers:
    """The largest share of the leakage that the median start misses, and the best; where loops ran to the finest eps.

    A coarser loop may stop short by itself.
    """
    ours = finest(rows)
    worst = max(ours, key=missed)
    if not missed(worst):
        return {f"{prefix}nothing": "misses nothing here"}
    loops = f"loops run to {worst['eps']:.0e}".replace("e-0", "e-")
    where = f"{called(worst)} of {worst['query']}, b = {short(worst['b'])}; {loops}"
    best = max(missed({**row, "paper_median": row["paper_max"]}) for row in ours)
    return _under(prefix, median=missed(worst), best=best, starts=_starts(worst["starts"]), at=where)


def _starts(many: int) -> str:
    return f"{many} start{'s' * (many > 1)}"


def _under(prefix: str, **named: Any) -> Numbers:
    return {f"{prefix}{name}": value for name, value in named.items()}


def _cause(rows: list[Row]) -> Numbers:
    """What Algorithm 5 does to the fall, where both projections were run."""
    both = finest(having(rows, "escort_median"))
    escort = max(missed({**row, "paper_median": row["escort_median"]}) for row in both)
    return {"both": len(both), "printed": max(map(missed, both)), "escort": escort}


def _entropy(rows: list[Row]) -> Numbers:
    flat = below_knee(rows)
    apart = max(map(spread, groups(flat, "n", "mechanism").values()))
    off = max(max(row["upper"] - row["closed_form"], row["closed_form"] - row["lower"]) for row in rows)
    found = {"flat": len(flat), "apart": apart, "points": len(rows), "off": off}
    return {**found, "flat_curves": int(apart < recipe.CERTIFIED), **_missing(flat), **_cause(flat)}


def _epsilon(rows: list[Row]) -> Numbers:
    grown, steps = growth(rows)
    found: Numbers = {"grown": grown, "steps": steps, **_missing(rows)}
    found |= {"laplace": -2 * math.log(2 * 0.3), "exponential": 2 * math.log(0.7 / 0.3)}  # where they flip with 0.3
    flat = [row for row in below_knee(rows) if row["family"] == "symmetric"]
    found |= {"bracket": bracket(flat[0]), "sizes": listed(str(row["n"]) for row in flat), "apart": spread(flat)}
    (row,) = having(rows, "printed")
    above = row["printed"] / row["upper"] - 1
    return {**found, "printed": row["printed"], "n": row["n"], "above": above if above > 0 else None}


def _distortion(rows: list[Row]) -> Numbers:
    rounded = [row | {"place": round(row["distortion"], 9)} for row in rows]
    shared = [group for group in groups(rounded, "n", "b", "place").values() if len(group) > 1]
    free = [row for row in rows if row["b"] == 0]
    row = min(free, key=lambda one: abs(one["distortion"] - 0.25))
    same = [one for one in free if one["n"] == row["n"] and abs(one["distortion"] - row["distortion"]) < recipe.KNEE]
    return {
        "apart": max(map(spread, shared)),
        **_missing(rows),
        "at_distortion": row["distortion"],
        "dp_epsilon": row["dp_epsilon"],
        "bracket": bracket(row),
        **{one["family"]: one["parameter"] for one in same},
    }


def _primal(rows: list[Row]) -> Numbers:
    worst = max(rows, key=lambda row: float(row["leaks_median"] - row["upper"]))
    believed = max(rows, key=lambda row: float(row["leaks_median"] - row["reported_median"]))
    more = sum(row["leaks_median"] > row["reported_median"] + recipe.RETURNED_TOLERANCE for row in rows)
    return {
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
        **_times("ours", rows, "ours_leaks_median"),
        "others": _others(rows),
        "each": listed(_starts(row["starts"]) for row in rows),
        **{name: sum(row[name] for row in rows) for name in ("rising", "settled", "starts")},
        "rounds_min": min(row["rounds_min"] for row in rows),
        "rounds": max(row["rounds"] for row in rows),
    }


def _others(rows: list[Row]) -> int:
    """How many starts the runs have that are not as printed."""
    return max(len(row["ours_values"].split()) for row in rows)


def _times(name: str, rows: list[Row], column: str) -> Numbers:
    """How many times the least possible: from, and to."""
    times = [row[column] / row["upper"] for row in rows]
    return {f"{name}_from": min(times), f"{name}_to": max(times)}


def _along(rows: list[Row], words: Callable[[Row], str]) -> str:
    return listed(f"{words(row)} at L = {short(row['L'])}" for row in rows)


def _dual(rows: list[Row]) -> Numbers:
    costly = max(rows, key=lambda row: float(row["reported_median"] / row["upper"]))
    worst = max(rows, key=lambda row: float(row["strict_leaks_median"] / row["L"]))
    return {
        "budgets": len(rows),
        "over": sum(row["leaks_median"] - recipe.RETURNED_TOLERANCE > row["L"] for row in rows),
        "excess": max(0.0, *(row["leaks_median"] - row["L"] for row in rows)),
        "excess_best": max(0.0, *(row["leaks_min"] - row["L"] for row in rows)),
        "leaks": _along(rows, lambda row: f"{row['leaks_median']:.4f}"),
        "ended": _along(rows, lambda row: f"{row['settled']} of {row['starts']}"),
        **{name: sum(row[name] for row in rows) for name in ("rising", "starts", "fine_settled")},
        **{name: costly[name] for name in ("L", "reported_median", "reported_min")},
        "bracket": bracket(costly),
        **_times("kept", having(rows, "kept_least"), "kept_least"),
        "loose": _along(rows, lambda row: f"{row['loose_leaks_median']:.4f}"),
        "loose_excess": max(0.0, *(row["loose_leaks_median"] - row["L"] for row in rows)),
        "others": _others(rows),
        "fine_both": sum(row["fine_late_min"] <= row["L"] <= row["fine_late_max"] for row in rows),
        "broken": sum(row["strict_leaks_min"] > row["L"] for row in rows),
        "strict_leaks": worst["strict_leaks_median"],
        "strict_best": worst["strict_leaks_min"],
        "strict_L": worst["L"],
        "strict_bracket": bracket(worst),
        "strict_proof": worst["leaks_median"],
        "strict_ours": worst["ours_leaks_median"],
    }


def _table(rows: list[Row]) -> Numbers:
    flat, printed = below_knee(rows), having(rows, "printed")
    falls, flats = [], []
    for ours in groups(rows, "mechanism").values():
        first, *_, last = rising(having(ours, "printed"), "b")
        falls.append(
            f"from {first['printed']:.3f} at b = {short(first['b'])} to {last['printed']:.3f} at b = "
            f"{short(last['b'])} nats for {called(first)}"
        )
        flats.append(f"in {bracket(ours[0])} for {called(ours[0])}")
    low = max(rows, key=lambda row: factor(row) or 0.0)
    ahead = [short(row["b"]) for row in rows if row["uniform"] > row["paper_median"] + recipe.RISE]
    return {
        "falls": listed(falls),
        "flats": listed(flats),
        "too_low": sum(row["printed"] < 0.9 * row["lower"] and not _in_digits(row) for row in printed),
        "knee_printed": max(max(0.0, 1 - row["printed"] / row["lower"]) for row in below_knee(printed)),
        **_missing(rows),
        **_missing(flat, "knee_"),
        **_cause(flat),
        **_moved(rows, "literal", "gradient"),
        **_moved(flat, "escort", "escort"),
        "still": sum(row["uniform"] < recipe.KNEE < row["lower"] for row in rows),
        "rows": len(rows),
        "ahead": listed(ahead) if ahead else None,
        "low_b": low["b"],
        "low": called(low),
        "low_times": factor(low),
    }


def _in_digits(row: Row) -> bool:
    """Whether the printed number is the certified one to its three digits."""
    return abs(float(row["printed"]) - float(row["lower"] + row["upper"]) / 2) <= 0.5e-3  # noqa: PLR2004 - three digits


def _moved(rows: list[Row], series: str, name: str) -> Numbers:
    """Two series of the table where they differ most, among rows whose bracket is far narrower than the leakage."""
    ours = [row for row in rows if row["lower"] > 10 * (row["upper"] - row["lower"])]
    row = max(ours, key=lambda row: float(abs(row[f"{series}_median"] - row["paper_median"]) / row["lower"]))
    return _under(f"{name}_", other=row[f"{series}_median"], printed=row["paper_median"], b=row["b"], of=called(row))


def _closed_forms(rows: list[Row]) -> Numbers:
    wrong = [row for row in rows if not is_rounded(row)]
    others = listed(f"{row['name']} (printed {row['printed']:g}, exact {row['value']:.5f})" for row in wrong)
    off = max(max(row["upper"] - row["value"], row["value"] - row["lower"]) for row in having(rows, "lower"))
    exact = {"values": len(rows), "exact": len(rows) - len(wrong), "wrong": len(wrong), "apart": off}
    return {**exact, "others": others if wrong else None}


def _curves(rows: list[Row]) -> Numbers:
    first = [rising(curve, "b")[0] for curve in groups(rows, "query", "mechanism").values()]
    starts = listed(f"{bracket(row)} for {called(row)} of {row['query']}" for row in first)
    sensitive = listed(f"{parse_query(query).sensitivity:g} for {query}" for (query,) in groups(rows, "query"))
    return {"b": min(row["b"] for row in first), "ends": starts, "sensitive": sensitive, **_missing(rows)}


def _convergence(rows: list[Row]) -> Numbers:
    found: Numbers = {}
    for number, column in ((1, "value"), (6, "worst"), (9, "value")):
        mine = [row for row in rows if row["algorithm"] == number]
        paths = [rising(path, "iteration") for path in groups(mine, "reading", "budget", "start").values()]
        moves = [after[column] - before[column] for path in paths for before, after in pairwise(path)]
        wrong = sum(move < -recipe.ROUNDING if number == 1 else move > recipe.KNEE for move in moves)
        ended = sum(path[-1]["status"] == "converged" for path in paths)
        many = {"wrong": wrong, "moves": len(moves), "ended": ended, "paths": len(paths)}
        found |= {f"{name}_{number}": value for name, value in many.items()}
        if number == 1:
            found["rate_1"] = _rate([row["value"] for row in paths[0]])
    return found


def _rate(values: list[float]) -> float | None:
    """The factor by which the change shrinks from round to round, over the last half of a run."""
    changes = [after - before for before, after in pairwise(values) if after - before > recipe.ROUNDING]
    half = len(changes) // 2
    return (changes[-1] / changes[half]) ** (1 / (len(changes) - 1 - half)) if half > 1 else None


def _global(rows: list[Row]) -> Numbers:
    (rational,) = (row for row in rows if row["draw"] is None)
    found: Numbers = {}
    for kind, ours in (("random", having(rows, "draw")), ("rational", [rational]), ("all", rows)):
        shares = reached(ours)
        behind, done = sum(share < 1 - recipe.SHORT for share in shares), sum(row["converged"] for row in ours)
        best = min(max(reached([row])) for row in ours)
        found |= _under(f"{kind}_", behind=behind, done=done, starts=len(shares), worst=min(shares), best=best)
    values = [round(float(value), 6) for value in rational["paper_values"].split()]
    common = max(values, key=values.count)
    of = {"often": values.count(common), "of": len(values)}
    return {**found, "bracket": bracket(rational), "common": common, **of}


def _text(rows: list[Row]) -> Numbers:
    found = {f"{row['key']}.{name}": value for row in rows for name, value in row.items()}
    return {**found, "entropy_share.never": found["entropy_share.tried"] - found["entropy_share.counted"]}


def _together(results: Results) -> Numbers:
    """Counts over several experiments: comparisons of the paper's that brackets prove, and priors short of b."""
    curves = groups(results.get("entropy", []), "n", "b").values()
    noisier = [pair for curve in curves for pair in pairwise(rising(curve, "parameter"))]
    rows = (row for name in ("table", "epsilon") for row in results.get(name, []) if row["family"] != "symmetric")
    both = [{row["family"]: row for row in one} for one in groups(rows, "n", "b", "parameter").values()]
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
