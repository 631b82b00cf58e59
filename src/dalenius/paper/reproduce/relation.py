"""The page 'Relation to the paper': which function is which algorithm, errata, claims and numbers of one run."""

from collections.abc import Callable, Iterable
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from dalenius.model import storage
from dalenius.numerics.rounding import short, short_up
from dalenius.paper.reproduce.effects import EFFECTS, effect
from dalenius.paper.reproduce.errata import CLAIMS, ERRATA, KINDS, OPEN, Erratum
from dalenius.paper.reproduce.findings import finding
from dalenius.paper.reproduce.page import leakage_table
from dalenius.paper.reproduce.recipe import Close
from dalenius.paper.reproduce.rows import (
    Row,
    below_knee,
    bracket,
    called,
    groups,
    having,
    is_rounded,
    missed,
    percent,
    rising,
)

MARK = "<!-- written by dalenius reproduce; do not edit -->"
ALGORITHMS = (
    ("maximal leakage by alternating optimisation", "leakage", "maximal_leakage"),
    ("Blahut-Arimoto for the marginal, with an entropy constraint", "marginal", "modified_blahut_arimoto"),
    ("coordinate ascent for the conditionals", "conditionals", "projected_gradient_coordinate_ascent"),
    ("projection to the simplex", "conditionals", "project_to_simplex"),
    ("projection to an entropy", "conditionals", "project_to_entropy"),
    ("least leakage at a distortion", "primal", "leakage_distortion_tradeoff"),
    ("its mechanism update, by a penalty", "primal", "adaptive_smooth_penalty"),
    ("its descent", "primal", "exponentiated_gradient_descent"),
    ("least distortion at a leakage", "dual", "minimal_distortion"),
    ("its mechanism update, by a penalty", "dual", "dual_adaptive_smooth_penalty"),
    ("its descent", "dual", "dual_exponentiated_gradient_descent"),
)


def write_relation(path: Path, results: dict[str, list[Row]]) -> None:
    """Write the page, whole or not at all."""
    storage.write(path, relation_text(results).encode())


def relation_text(results: dict[str, list[Row]]) -> str:
    """Return relation.md with its places filled in; every measured or printed number comes from the rows."""
    table = leakage_table(results.get("table", []))
    values = having(results.get("closed-forms", []), "printed", "value")
    filled = {
        "exact": str(sum(map(is_rounded, values))),
        "values": str(len(values)),
        "comparisons": "\n".join(f"- {words}" for words in _comparisons(results)),
        "algorithms": _algorithms(),
        "table": grid(table.heading, table.rows),
        "why": _why(results),
        "claims": _claims(results),
        "primal": _budgets(results.get("primal", []), "D", PRIMAL),
        "dual": _budgets(results.get("dual", []), "L", DUAL),
        "errata": _errata(results),
        "nearer": _nearer(results),
        "feasible": _feasible(results),
        "open": _open(),
    }
    text = files("dalenius.paper.reproduce").joinpath("relation.md").read_text(encoding="utf-8")
    for name, words in filled.items():
        text = text.replace(f"<<{name}>>", words)
    return f"{MARK}\n\n{text}"


def _algorithms() -> str:
    lines = (
        (str(number), what, f"`dl.paper.algorithm_{number}`", f"`dalenius.paper.{module}.{name}`")
        for number, (what, module, name) in enumerate(ALGORITHMS, start=1)
    )
    return grid(("algorithm", "what it does", "by number", "function"), lines)


def _errata(results: dict[str, list[Row]]) -> str:
    lines = []
    for one in ERRATA:
        name = f"`{one.name}`" if one.name else ""
        words = (one.where, one.what, one.repair, _effect(one, results))
        lines.append((str(one.row), KINDS[one.row], name, *words))
    heading = ("row", "kind", "name", "where", "what is wrong", "repair", "effect when left as printed")
    return grid(heading, lines)


def _effect(one: Erratum, results: dict[str, list[Row]]) -> str:
    """Say what an erratum does when left as printed, from the rows where it was measured."""
    measured = {row["key"]: row for row in results.get("text", [])}
    words = [effect(one.effect, measured)] if one.effect in EFFECTS else [one.effect]
    if one.effect in ABOUT:
        words = [ABOUT[one.effect](results)]
    if one.name == "gradient":
        words.append(_moved(results, "literal", "gradient"))
    if one.name == "escort":
        words.append(_moved(results, "escort", "Algorithm 5"))
    return "; ".join(word for word in words if word) or "seen in the table above"


def _moved(results: dict[str, list[Row]], series: str, what: str) -> str:
    """Set two series of the table side by side where they differ most."""
    rows = having(results.get("table", []), f"{series}_median", "paper_median", "lower")
    # The escort runs to 1e-5, so that it is looked at where the leakage is large: up to (n-1) ln 2.
    rows = [row for row in below_knee(rows) if series == "escort"] or rows
    rows = [row for row in rows if row["lower"] > 10 * (row["upper"] - row["lower"])]
    if not rows:
        return ""
    row = max(rows, key=lambda row: abs(row[f"{series}_median"] - row["paper_median"]) / row["lower"])
    ways = {"literal": ("printed", "right"), "escort": ("repaired", "printed")}[series]
    return (
        f"in the table at b = {short(row['b'])} the median is {row[f'{series}_median']:.4f} with the {ways[0]} {what}, "
        f"{row['paper_median']:.4f} with the {ways[1]} one ({called(row)})"
    )


def _from_uniform(results: dict[str, list[Row]]) -> str:
    rows = having(results.get("table", []), "uniform", "lower")
    still = [row for row in rows if row["uniform"] < Close.knee and row["lower"] > Close.knee]
    return f"from the uniform prior Algorithm 1 stays at 0 in {len(still)} of {len(rows)} rows of the table"


def _believed(results: dict[str, list[Row]]) -> str:
    rows = having(results.get("primal", []), "leaks_median")
    if not rows:
        return ""
    row = max(rows, key=lambda row: float(row["leaks_median"] - row["reported_median"]))
    return f"at D = {short(row['D'])} it reports {row['reported_median']:.4f} and leaks {row['leaks_median']:.4f}"


def _readings(results: dict[str, list[Row]]) -> str:
    rows = having(results.get("dual", []), "strict_leaks_median", "ours_leaks_median")
    if not rows:
        return ""
    row = min(rows, key=lambda row: float(row["L"]))
    return (
        f"at L = {short(row['L'])} the proof's reading leaks {row['leaks_median']:.3f}, the strict one "
        f"{row['strict_leaks_median']:.3f}, ours {row['ours_leaks_median']:.3f}"
    )


ABOUT: dict[str, Callable[[dict[str, list[Row]]], str]] = {
    "uniform": _from_uniform,
    "primal": _believed,
    "dual": _readings,
}


def _why(results: dict[str, list[Row]]) -> str:
    """Say what makes the printed numbers fall."""
    rows = having(below_knee(results.get("table", [])), "escort_median")
    if not rows:
        return ""
    escort = max(missed({**row, "paper_median": row["escort_median"]}) for row in rows)
    return (
        f"**Why the printed numbers fall.** Up to $(n-1) \\ln 2$ the medians as printed miss up to "
        f"{percent(max(map(missed, rows)))} of the leakage; with Algorithm 5 repaired, and nothing else, up to "
        f"{percent(escort)}. Whenever the entropy of a row is corrected by a little, the printed softmax moves the row "
        "far from where the gradient step has put it (row 4 of the errata). In our runs this makes $L(b)$ "
        "decline below $(n-1) \\ln 2$, as it does in the printed table and in Figure 3. The printed numbers lie lower "
        "still; we do not know why."
    )


def _claims(results: dict[str, list[Row]]) -> str:
    names = ("entropy", "epsilon", "distortion", "primal", "dual", "table", "closed-forms", "modular", "convergence")
    found = [finding(name, results[name]) for name in ("global", *names) if results.get(name)]
    measured = {row["key"]: row for row in results.get("text", [])}
    claims = [(one.says, one.true) for one in found]
    if "rows_alone" in measured:
        words = effect("rows_alone", measured)
        says = "Theorem 5, part 3: where no row constraint is active, choosing row by row gives the global maximum."
        claims.append((says, f"The rows do not separate, since all share $p(y)$: {words}."))
    return "\n".join(f"- *Claimed:* {says}\\\n  *True:* {true}" for says, true in [*claims, *CLAIMS])


def _span(row: Row, name: str) -> str:
    if row.get(f"{name}_median") is None:
        return ""
    return f"{row[f'{name}_median']:.4f} [{row[f'{name}_min']:.4f}, {row[f'{name}_max']:.4f}]"


# Columns of the tables of designs: which numbers of the starts they span, or what they say of a row.
Columns = dict[str, str | Callable[[Row], str]]
PRIMAL: Columns = {
    "reported leakage": "reported",
    "achieved distortion": "achieved",
    "leaks (certified)": "leaks",
    "with our repairs leaks": "ours_leaks",
    "least, certified": bracket,
}
DUAL: Columns = {
    "proof's reading: leaks (certified)": "leaks",
    "starts that end by their own test": lambda row: f"{row['settled']} of {row['starts']}",
    "tolerances 1e-9: last ten rounds": "fine_late",
    "distortion": "reported",
    "best that keeps L": lambda row: "none met" if row.get("kept_least") is None else f"{row['kept_least']:.4f}",
    "strict: leaks": "strict_leaks",
    "strict: distortion": "strict_reported",
    "ours: leaks": "ours_leaks",
    "least distortion, certified": bracket,
}


def _budgets(rows: list[Row], along: str, columns: Columns) -> str:
    """A line for every budget."""
    lines = (
        (short(row[along]), *(_span(row, of) if isinstance(of, str) else of(row) for of in columns.values()))
        for row in rising(rows, along)
    )
    return grid((along, *columns), lines)


def _open() -> str:
    lines = ((what, how, f"[here]({place})" if place else "") for what, how, place in OPEN)
    return grid(("left open", "now", "where"), lines)


def _comparisons(results: dict[str, list[Row]]) -> list[str]:
    """Count the comparisons of the paper's that the brackets prove."""
    curves = groups(having(results.get("entropy", []), "lower"), "n", "b").values()
    noisier = [pair for curve in curves for pair in pairwise(rising(curve, "parameter"))]
    rows = having([*results.get("table", []), *results.get("epsilon", [])], "lower")
    groups_of = groups((row for row in rows if row["family"] != "symmetric"), "n", "b", "parameter").values()
    both = [{row["family"]: row for row in one} for one in groups_of]
    pairs = [(one["laplace"], one["exponential"]) for one in both if len(one) > 1]
    return [
        f"{claim} (certified in {sum(after['upper'] < before['lower'] for before, after in compared)} of "
        f"{len(compared)} comparisons{where})."
        for claim, compared, where in (
            ("More noise leaks less", noisier, "; at b = log|X| nothing leaks in either case"),
            ("At the same epsilon exponential noise leaks less than Laplace noise", pairs, ""),
        )
        if compared
    ]


def _nearer(results: dict[str, list[Row]]) -> str:
    """Set the largest shares missed up to (n-1) ln 2 in the table side by side: printed, and by our medians."""
    rows = having(below_knee(results.get("table", [])), "printed")
    printed = max((max(0.0, 1 - row["printed"] / row["lower"]) for row in rows), default=0.0)
    return (
        f"In the table, up to (n-1) ln 2, the printed numbers miss up to {percent(printed)} of the leakage and our "
        f"medians up to {percent(max(map(missed, rows), default=0.0))}."
    )


def _feasible(results: dict[str, list[Row]]) -> str:
    rows = [row for ours in results.values() for row in having(ours, "b", "paper_entropy_min")]
    short_of = max((row["b"] - row["paper_entropy_min"] for row in rows), default=0.0)
    words = short_up(short_of) if short_of > 0 else "0"
    return f"No prior found in this run is short of the entropy b by more than {words} nats."


def grid(heading: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown; bars inside of cells are kept from ending them."""
    rows = [heading, ("---",) * len(heading), *(tuple(map(_cell, line)) for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(words: str) -> str:
    return words.replace("|", "\\|")
