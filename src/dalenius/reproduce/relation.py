"""The page 'Relation to the paper': which function is which algorithm, errata, claims and numbers of one run."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from dalenius.model import storage
from dalenius.report.numbers import short, short_up
from dalenius.reproduce.findings import below_knee, bracket, finding, is_rounded, percent
from dalenius.reproduce.page import leakage_table
from dalenius.reproduce.rows import Row, groups, having, missed, rising

MARK = "<!-- written by dalenius reproduce; do not edit -->"
SHORT = 0.01  # a start that stays this share below the certified leakage has not found it
ALGORITHMS = (
    ("maximal leakage by alternating optimisation", "leakage", "maximal_leakage"),
    ("Blahut-Arimoto for the marginal, with an entropy constraint", "leakage", "modified_blahut_arimoto"),
    ("coordinate ascent for the conditionals", "leakage", "projected_gradient_coordinate_ascent"),
    ("projection to the simplex", "leakage", "project_to_simplex"),
    ("projection to an entropy", "leakage", "project_to_entropy"),
    ("least leakage at a distortion", "primal", "leakage_distortion_tradeoff"),
    ("its mechanism update, by a penalty", "primal", "adaptive_smooth_penalty"),
    ("its descent", "primal", "exponentiated_gradient_descent"),
    ("least distortion at a leakage", "dual", "minimal_distortion"),
    ("its mechanism update, by a penalty", "dual", "dual_adaptive_smooth_penalty"),
    ("its descent", "dual", "dual_exponentiated_gradient_descent"),
)
ERRATA = (
    (
        "gradient of $I$ in $p(x_{-i} \\mid x_i)$",
        "leaves out that $p(y)$ also stands in the terms of the other values of $x_i$",
        "$p(x_i) \\sum_y q(y \\mid x) \\log \\frac{p(y \\mid x_i)}{p(y)}$; `paper/gradients.py` has both",
    ),
    (
        "entropy $c_i^k$ that a row must hold",
        "its sum runs over all rows, so that it is never positive where $H(X) \\geq b$",
        "the sum runs over the other rows",
    ),
    (
        "Algorithm 3, row after row",
        "after one sweep each row holds exactly the entropy it needs, and no entropy can move from one row to another",
        "none, kept as it is: one reason why Algorithm 1 reports too little",
    ),
    (
        "Algorithm 5, softmax of $\\beta v$",
        "is no projection: it moves far for a small change of entropy, and a solution need not exist",
        "$v^\\beta$, normalised; it is $v$ itself at $\\beta = 1$",
    ),
    ("start from the uniform prior", "is stationary with $I = 0$: nothing ever moves", "random starts"),
    (
        "Algorithm 2",
        "stops when $I$ stops changing, whether $H(X) \\geq b$ or not; uses $\\log p(x_i)$ of its start",
        "uses the current iterate, backs off towards the marginal it began with until it is feasible; capped",
    ),
    (
        "Algorithm 1",
        "accepts candidates with $H(X) < b$; does not say what INFEASIBLE leads to",
        "only feasible candidates are accepted; INFEASIBLE skips the record",
    ),
    (
        "step test of Algorithms 8 and 11",
        "asks for a decrease that no step of this kind can reach",
        "the usual sufficient decrease along the step taken, with a bounded number of halvings",
    ),
    (
        "previous values of distortion and leakage",
        "are overwritten just before they are compared; loops without an end",
        "compared first; every loop is capped",
    ),
    (
        "penalty softplus$(z)^2$",
        "still pushes where the constraint holds, so that the answer lies far inside",
        "$\\max(0, z)^2$, and the best among feasible iterates",
    ),
    (
        "Algorithms 6 and 9, alternation",
        "a mechanism is fitted to one prior, and the report is for a prior that was worst for the mechanism before",
        "none inside the algorithms; the mechanism returned is always audited again",
    ),
    (
        "Algorithms 9 and 10",
        "both set the penalty; the first relative change is infinite divided by infinite",
        "one owner of the penalty; the first change is counted from 0",
    ),
)

CLAIMS = (
    ("The leakage constraint is not convex in the mechanism.", "A maximum of convex functions is convex."),
    (
        "Information is convex in each row of conditionals, but not in the whole matrix.",
        "For a fixed marginal it is convex in all rows jointly.",
    ),
    (
        "Algorithms 6 and 9 are monotone and end at stationary points.",
        "Each step improves against one prior only; the tables below show what comes of it.",
    ),
)


def write_relation(path: Path, results: dict[str, list[Row]]) -> None:
    """Write the page, whole or not at all."""
    storage.write(path, relation_text(results).encode())


def relation_text(results: dict[str, list[Row]]) -> str:
    """Return the page in Markdown; every measured or printed number in it comes from the rows."""
    table = leakage_table(results.get("table", []))
    parts = [MARK, "# Relation to the paper", _INTRODUCTION, "## The eleven algorithms", _algorithms()]
    parts += ["## The leakage table", _TABLE, _grid(table.heading, table.rows)]
    parts += ["## Claims that are not so", _claims(results)]
    parts += ["## Least leakage at a distortion (Algorithm 6)", _PRIMAL, _designs(results.get("primal", []), "D")]
    parts += ["## Least distortion at a leakage (Algorithm 9)", _DUAL, _designs(results.get("dual", []), "L")]
    parts += ["## Where the text had to be repaired", _ERRATA, _errata()]
    parts += [
        "## Our reading of the algorithms",
        f"{_READING} {_nearer(results)} {_feasible(results)}",
        "## What the paper gets right",
        _right(results),
    ]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
The paper poses three problems: the largest leakage about a record over all priors of a given entropy, the mechanism
that leaks least at a given distortion, and the one that distorts least at a given leakage. This library answers the
same problems with proved bounds, and ships the paper's algorithms beside them, in `dalenius.paper`, with
`method="paper"` in `dl.audit` and `dl.design` and `--method paper` on the command line. `dalenius reproduce` runs the
whole evaluation with both. The numbers below are from one such run. They are in nats; brackets are certified,
rounded outward, and verified by `dalenius verify`; the numbers of the paper's method are medians over random starts,
with the least and the greatest."""

_TABLE = """\
Parity of four bits, $\\epsilon = 1$. The leakage does not depend on $b$ up to $(n-1) \\ln 2$: the adversary may be
sure of the parity of the other records and still be as uncertain as $b$ asks."""

_PRIMAL = """\
Algorithm 6 reports the leakage against the last prior of its alternation. The mechanism it returns may leak more to
another prior; what it leaks is certified in the fourth column, and the best that any mechanism can do in the last."""

_DUAL = """\
Algorithm 9 reports the distortion, and the leakage against its last prior. A distortion below the certified least one
means that the mechanism does not keep the budget."""

_ERRATA = """\
Comments "repair" in the source name a row of this table. Each repair is the smallest that lets the text run and keeps
its idea."""

_READING = """\
The text leaves some things open, and each choice moves the numbers: how a random prior is drawn and made feasible
(ours: uniformly from the simplex, mixed with the uniform prior as little as necessary), when loops stop, how steps
shrink, and which of several extreme points is taken where $b \\leq H(X_i)$. Another reading may find more or less than
ours; none can find more than the certified upper bound. Where our medians lie above the printed numbers, they lie
nearer to the truth."""


def _algorithms() -> str:
    lines = (
        (str(number), what, f"`dalenius.paper.{module}.{name}`")
        for number, (what, module, name) in enumerate(ALGORITHMS, start=1)
    )
    return _grid(("algorithm", "what it does", "function"), lines)


def _errata() -> str:
    lines = ((str(number), *words) for number, words in enumerate(ERRATA, start=1))
    return _grid(("row", "where", "what is wrong", "repair"), lines)


def _claims(results: dict[str, list[Row]]) -> str:
    names = ("entropy", "epsilon", "distortion", "primal", "dual", "table", "closed-forms", "modular")
    found = [finding(name, results[name]) for name in names if results.get(name)]
    free = ("Without entropy constraint Algorithm 1 finds the global optimum.", _global(results))
    claims = [free, *CLAIMS, *((one.says, one.true) for one in found)]
    return "\n".join(f"- *Said:* {says}\\\n  *True:* {true}" for says, true in claims)


def _global(results: dict[str, list[Row]]) -> str:
    """Count the starts at b = 0 that stay short of the certified leakage."""
    rows = [row for ours in results.values() for row in having(ours, "b", "paper_values") if row["b"] == 0]
    shares = [float(value) / row["lower"] for row in rows if row["lower"] > 0 for value in row["paper_values"].split()]
    short_of = sum(share < 1 - SHORT for share in shares)
    worst = f"; the worst reaches {min(shares):.3f} of it" if short_of else ""
    return (
        f"In this run {short_of} of {len(shares)} starts at b = 0 stay more than {SHORT:.0%} below the certified "
        f"leakage{worst}. An alternation of this kind has no such guarantee."
    )


def _designs(rows: list[Row], budget: str) -> str:
    goal, other = ("leakage", "distortion") if budget == "D" else ("distortion", "leakage")
    leaks, least = "the mechanisms leak (certified)", f"least {goal}, certified"
    heading = (budget, f"reported {goal}", f"achieved {other}", leaks, least)
    lines = (
        (short(row[budget]), _span(row, "reported"), _span(row, "achieved"), _span(row, "leaks"), bracket(row))
        for row in rising(rows, budget)
    )
    return _grid(heading, lines)


def _right(results: dict[str, list[Row]]) -> str:
    values = having(results.get("closed-forms", []), "printed", "value")
    exact = sum(map(is_rounded, values))
    points = [
        "The three problems, and an adversary whose prior keeps some entropy: they can be asked and answered exactly.",
        "The structure: $I(X_i; Y)$ is concave in the marginal, convex in the conditionals and in the mechanism.",
        "On a binary answer Laplace and exponential noise are binary symmetric channels, with the flips given.",
        f"Of the {len(values)} printed values of closed forms {exact} are right to their last digit.",
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
    return f"{row[f'{name}_median']:.4f} [{row[f'{name}_min']:.4f}, {row[f'{name}_max']:.4f}]"


def _grid(heading: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown; bars inside of cells are kept from ending them."""
    rows = [heading, ("---",) * len(heading), *(tuple(map(_cell, line)) for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(words: str) -> str:
    return words.replace("|", "\\|")
