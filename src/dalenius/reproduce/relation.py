"""The page 'Relation to the paper': which function is which algorithm, errata, claims and numbers of one run."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

from dalenius.model import storage
from dalenius.numerics.rounding import short, short_up
from dalenius.reproduce.effects import EFFECTS, effect
from dalenius.reproduce.errata import CLAIMS, ERRATA, KINDS, OPEN, Erratum
from dalenius.reproduce.findings import finding
from dalenius.reproduce.page import leakage_table
from dalenius.reproduce.recipe import Close
from dalenius.reproduce.rows import (
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
    """Return the page in Markdown; every measured or printed number in it comes from the rows."""
    table = leakage_table(results.get("table", []))
    parts = [MARK, "# Relation to the paper", _INTRODUCTION, "## What the paper gets right", _right(results)]
    parts += ["## The eleven algorithms", _HOW, _algorithms()]
    parts += ["## The leakage table (Table 3)", _TABLE, grid(table.heading, table.rows), _why(results)]
    parts += ["## Claims that do not hold", _CLAIMS, _claims(results)]
    parts += ["## Least leakage at a distortion (Algorithm 6, Figure 6)", _PRIMAL, _primal(results.get("primal", []))]
    parts += ["## Least distortion at a leakage (Algorithm 9, Figure 7)", _DUAL, _dual(results.get("dual", []))]
    parts += ["## Errata", _ERRATA, _errata(results)]
    parts += ["## Our reading of the algorithms", f"{_READING} {_nearer(results)} {_feasible(results)}"]
    parts += ["## What the paper left open", _OPEN, _open()]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
The paper, *Computing Maximal Per-Record Leakage and Leakage-Distortion Functions for Privacy Mechanisms under
Entropy-Constrained Adversaries*, poses the right problems: the largest leakage about a record over all priors of a
given entropy, the mechanism that leaks least at a given distortion, and the one that distorts least at a given
leakage. This library answers them with proved bounds, and also has the paper's eleven algorithms, as they
are printed and with every parameter. `dalenius reproduce` runs the whole evaluation with both. The numbers below are
from one such run. They are in nats; brackets are certified, rounded outward, and verified by `dalenius verify`; the
numbers of the paper's method are medians over random starts, with the least and the greatest. Loops of Algorithm 1 run
until they change by less than 1e-9 in the table, without entropy constraint, and on the curve of each figure that a
sentence below rests on; by 1e-7 along the rest of the figures' grids, by 1e-6 inside Algorithms 6 and 9 (whose
convergence is also studied with 1e-9), and by 1e-5 with the repair "escort".
[The map](paper-map.md) has a row for every definition, theorem, algorithm, figure and table of the paper.

In the words of the paper a mechanism is *epsilon-Dalenius secure* against $H(X) \\geq b$ when
$L(b) \\leq \\epsilon$. A certified audit proves it where `audit.upper <= epsilon`, and refutes it where
`audit.lower > epsilon`."""

_HOW = """\
Each has its number and its own name, in `dl.paper`, with the REQUIRE list as keyword arguments; results carry the
optimum, how the loop ended ("converged", "T_max", "time", "INFEASIBLE") and the history of every loop, inner ones in
`inner`. `method="paper"` in `dl.audit` and `dl.design` (`--method paper`) runs 1, 6 and 9 from many starts.

`repairs=` chooses what is not run as printed. None: steps that cannot run, and wrong formulas. `()`: only steps that
cannot run. Names from the errata below: these, and steps that cannot run. `reading="proof"` or `"strict"` chooses
which lambda drives Algorithm 10."""

_TABLE = """\
Parity of four bits, $\\epsilon = 1$. The leakage does not depend on $b$ up to $(n-1) \\ln 2$: the adversary may be
sure of the parity of the other records and still be as uncertain as $b$ requires. *As printed* is Algorithm 1 with the
printed Algorithm 5 and the right gradient (`repairs=None`), *gradient too* with the printed gradient (`repairs=()`),
*escort* with Algorithm 5 repaired, *uniform* from the uniform prior that the text names."""

_CLAIMS = """\
For a claim in a theorem the place is named; for a claim that rests on an experiment the evidence is this run's."""

_PRIMAL = """\
Algorithm 6 reports the leakage against the last prior of its alternation. The mechanism it returns may leak more to
another prior; what it leaks is certified, as is the least leakage of any mechanism. As printed a mechanism may also
distort more than $D$; `dl.design` moves it back, this table does not."""

_DUAL = """\
Two readings of the text, and what is left of it with our repairs. In the proof's reading lines 6 to 11 of Algorithm 9
own lambda. How near to $L$ it ends depends on $\\epsilon_{constraint}$, which the paper leaves open. We take
$2\\delta$: then the margin of lines 7 and 9, $\\epsilon_{constraint} / 2$, is the $\\delta$ that the paper gives for
the same rule in Algorithm 10; $\\epsilon_{outer}$ is $10^{-3}$. For small $L$ the mechanisms then leak near $L$. Where
one step of lambda, a factor of $\\mu$, moves the leakage by more than the margin, it alternates between values on
both sides of $L$ up to the last round, the zigzag that the paper mentions. With tolerances of 1e-9 it does so at every
$L$: the column *tolerances 1e-9* is the leakage over the last ten rounds, as Algorithm 1 finds it. A distortion below
the certified least one means that the budget is not kept."""

_ERRATA = """\
Comments "repair" in the source name a row of this table. Three kinds: the text *cannot run* as printed, and these
repairs are always made; a *formula is wrong*, and it is corrected unless `repairs=` leaves it out; it runs, and *we
chose something else* in version 0.1, which is now used only if it is named. Two rows are kept as printed."""

_READING = """\
The text leaves some things open, and each choice moves the numbers: how a random prior is drawn and made feasible
(ours: uniformly from the simplex, mixed with the uniform prior as little as necessary), tolerances and caps of loops,
the interval for $\\beta$ of Algorithm 5, the initial mechanism of Algorithm 7 (ours: the one before), and which of
several extreme points is taken where $b \\leq H(X_i)$. In the proof's reading Algorithm 10 has no lambda to adjust,
and so it runs Algorithm 11 once; the choice of $\\epsilon_{constraint}$ is explained above. $\\delta$ of the relative
improvement in `history` is that of Algorithms 7 and 10; the loops stop by the printed absolute tests. The exponential
mechanism of the gallery scores by $-|y - f(x)|$, the appendix by equality; on binary answers they are the same. The
authors' own code was not available to us. Another reading may find more or less than ours; none can find more than the
certified upper bound."""

_OPEN = """\
The paper ends with what it leaves to future work. Most of it can be done now:"""


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


def _primal(rows: list[Row]) -> str:
    found = ("reported leakage", "achieved distortion", "leaks (certified)", "with our repairs leaks")
    heading = ("D", *found, "least, certified")
    lines = (
        (
            short(row["D"]),
            _span(row, "reported"),
            _span(row, "achieved"),
            _span(row, "leaks"),
            _span(row, "ours_leaks"),
            bracket(row),
        )
        for row in rising(rows, "D")
    )
    return grid(heading, lines)


def _dual(rows: list[Row]) -> str:
    heading = (
        "L",
        "proof's reading: leaks (certified)",
        "starts that end by their own test",
        "tolerances 1e-9: last ten rounds",
        "distortion",
        "best that keeps L",
        "strict: leaks",
        "strict: distortion",
        "ours: leaks",
        "least distortion, certified",
    )
    lines = (
        (
            short(row["L"]),
            _span(row, "leaks"),
            f"{row['settled']} of {row['starts']}",
            _span(row, "fine_late"),
            _span(row, "reported"),
            "none met" if row.get("kept_least") is None else f"{row['kept_least']:.4f}",
            _span(row, "strict_leaks"),
            _span(row, "strict_reported"),
            _span(row, "ours_leaks"),
            bracket(row),
        )
        for row in rising(rows, "L")
    )
    return grid(heading, lines)


def _open() -> str:
    lines = ((what, how, f"[here]({place})" if place else "") for what, how, place in OPEN)
    return grid(("left open", "now", "where"), lines)


def _right(results: dict[str, list[Row]]) -> str:
    values = having(results.get("closed-forms", []), "printed", "value")
    exact = sum(map(is_rounded, values))
    points = [
        "The three problems, and an adversary whose prior keeps some entropy: they can be asked and answered exactly.",
        "Theorem 1: $I(X_i; Y)$ is concave in the marginal, convex in the conditionals and in the mechanism.",
        "Theorem 2: the sets of $H(X) \\geq b$ and of a leakage bound at one prior are convex. Lemma 1: no defect met.",
        "The derivatives of Theorems 8 and 9, but for one (row 1 of the errata): they agree with finite differences.",
        "Algorithm 1 never loses what it has found. Line 10 of Algorithm 3, and Algorithm 4, are exactly right.",
        "Extreme points for $b \\leq H(X_i)$, several random starts, probabilities in the log domain: sound advice.",
        "On a binary answer Laplace and exponential noise are binary symmetric channels, with the flips given.",
        f"{exact} of the {len(values)} printed values of closed forms are right to their last digit.",
        *_comparisons(results),
        "Leakage never grows with b, and for parities a b beyond (n-1) ln 2 does protect.",
    ]
    return "\n".join(f"- {point}" for point in points)


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


def _span(row: Row, name: str) -> str:
    if row.get(f"{name}_median") is None:
        return ""
    return f"{row[f'{name}_median']:.4f} [{row[f'{name}_min']:.4f}, {row[f'{name}_max']:.4f}]"


def grid(heading: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown; bars inside of cells are kept from ending them."""
    rows = [heading, ("---",) * len(heading), *(tuple(map(_cell, line)) for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(words: str) -> str:
    return words.replace("|", "\\|")
