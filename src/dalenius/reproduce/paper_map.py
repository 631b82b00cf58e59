"""The map from the paper to this library: a row for everything it states, with code, command and verdict."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from dalenius.model import storage
from dalenius.numerics.rounding import short_up
from dalenius.reproduce.effects import effect
from dalenius.reproduce.experiments import EXPERIMENTS
from dalenius.reproduce.findings import below_knee
from dalenius.reproduce.recipe import Close, Precision
from dalenius.reproduce.relation import ALGORITHMS, MARK, grid
from dalenius.reproduce.rows import Row, groups, having, rising, spread

Results = dict[str, list[Row]]
Evidence = Callable[[Results], tuple[int, str]]  # how much speaks against what the paper states, and what was measured

RIGHT, PART, WRONG, RUNS, DONE, NOT = (
    "holds",
    "holds in part",
    "does not hold",
    "runs as printed",
    "delivered",
    "not done",
)


@dataclass(frozen=True)
class Entry:
    """What the paper states, where it is here, how to run it, and what is true of it.

    Where a run measures it (EVIDENCE has its place), the verdict stands only if the run agrees: else it is "holds".
    """

    place: str
    what: str
    code: str  # dotted names that exist, or pages, separated by commas
    command: str
    verdict: str
    why: str


def _reproduce(name: str) -> str:
    return f"`dalenius reproduce --only {name} --out DIR`"


AUDIT = '`dalenius audit --query "..." --mechanism "..." --entropy B`'
LEAST = '`dalenius design --query "..." --distortion D --entropy B`'
DUAL = '`dalenius design --query "..." --leakage L --entropy B`'

DEFINITIONS = (
    Entry(
        "Definition 2.1",
        "maximal per-record leakage $L(b)$",
        "dalenius.api.audit",
        AUDIT,
        RIGHT,
        "answered with a certified bracket",
    ),
    Entry(
        "Section 2.1",
        "epsilon-Dalenius security",
        "dalenius.results.audit.Audit",
        AUDIT,
        RIGHT,
        "proved where `audit.upper <= epsilon`, refuted where `audit.lower > epsilon`",
    ),
    Entry(
        "Section 2.1",
        "product priors, the adversaries of differential privacy",
        "dalenius.model.reference.Reference",
        "",
        PART,
        "as a public reference that knowledge counts from; as a class of adversaries not offered",
    ),
    Entry(
        "Definition 2.2", "$\\epsilon(D, b)$", "dalenius.api.design", LEAST, RIGHT, "answered with a certified bracket"
    ),
    Entry("Definition 2.3", "$D(L, b)$", "dalenius.api.design", DUAL, RIGHT, "answered with a certified bracket"),
    Entry(
        "Section 2.2",
        "the Pareto frontier",
        "dalenius.api.frontier",
        "",
        RIGHT,
        "points and a certified band between them",
    ),
    Entry(
        "Definition 3.1",
        "block-wise stationary point",
        "dalenius.paper.leakage.maximal_leakage",
        "",
        RIGHT,
        "well defined; it may lie far below the maximum",
    ),
    Entry(
        "Assumption 1",
        "exact subproblems",
        "dalenius.paper.marginal.modified_blahut_arimoto",
        "",
        WRONG,
        "Algorithm 2 stops before its constraint holds, Algorithm 3 at points that are not stationary (row 3)",
    ),
    Entry("Assumption 2", "regularity", "", "", RIGHT, "harmless, and used by no bound here"),
)

THEOREMS = (
    Entry(
        "Theorem 1",
        "convexity and concavity of $I(X_i; Y)$",
        "dalenius.numerics.information",
        _reproduce("saddle"),
        RIGHT,
        "jointly in all rows of conditionals, not only row by row",
    ),
    Entry(
        "Theorem 2",
        "convex constraint sets",
        "docs/mathematics.md",
        "",
        RIGHT,
        "the worst-case leakage constraint is convex, too: Section 3.3 says it is not",
    ),
    Entry(
        "Lemma 1",
        "an entropy super-level set is the hull of its boundary",
        "docs/mathematics.md",
        "",
        RIGHT,
        "no defect met",
    ),
    Entry(
        "Theorem 3",
        "a row lies on its entropy boundary",
        "dalenius.paper.conditionals.row_entropy",
        _reproduce("text"),
        PART,
        "the sum of $c_i^k$ must leave out row $k$, as Algorithm 3 does (row 2)",
    ),
    Entry(
        "Theorem 4",
        "convergence of Algorithm 1",
        "dalenius.paper.leakage.maximal_leakage",
        _reproduce("global"),
        PART,
        "monotone; the global optimum at $b = 0$ is not reached in general",
    ),
    Entry(
        "Theorem 5",
        "convergence of Algorithm 3",
        "dalenius.paper.conditionals.projected_gradient_coordinate_ascent",
        _reproduce("text"),
        PART,
        "non-decreasing; row by row is not the global maximum (part 3)",
    ),
    Entry(
        "Theorem 6",
        "convergence of Algorithm 6",
        "dalenius.paper.primal.leakage_distortion_tradeoff",
        _reproduce("primal"),
        WRONG,
        "with its subproblems solved as Algorithms 1 and 7 solve them, the worst-case leakage rises",
    ),
    Entry(
        "Theorem 7",
        "convergence of Algorithm 9",
        "dalenius.paper.dual.minimal_distortion",
        _reproduce("dual"),
        PART,
        "the proof's reading hovers about $L$ and seldom settles; the strict one breaks $L$",
    ),
    Entry(
        "Theorem 8",
        "gradients of information",
        "dalenius.paper.gradients.information_by_conditional",
        _reproduce("text"),
        PART,
        "parts 1 and 2 hold, part 3 leaves out a share of $p(y)$ (row 1)",
    ),
    Entry(
        "Theorem 9",
        "gradients of entropy",
        "dalenius.paper.gradients.entropy_by_conditional",
        "",
        RIGHT,
        "agree with finite differences",
    ),
)

FIGURES = (
    Entry(
        "Figure 1",
        "the saddle",
        "dalenius.reproduce.saddle_figure.surface",
        _reproduce("saddle"),
        RIGHT,
        "drawn as contours and as a surface",
    ),
    Entry(
        "Figure 2",
        "dependency graph of the algorithms",
        "dalenius.reproduce.loop_figures.dependencies",
        "`dalenius reproduce --quick --out DIR`",
        RIGHT,
        "drawn by our code",
    ),
    Entry(
        "Figure 3",
        "$L(b)$ against $b$",
        "dalenius.reproduce.audit_figures.entropy",
        _reproduce("entropy"),
        WRONG,
        "flat up to $(n-1) \\ln 2$; the decline before is that of Algorithm 5",
    ),
    Entry(
        "Figure 4",
        "three mechanisms against epsilon",
        "dalenius.reproduce.audit_figures.epsilon",
        _reproduce("epsilon"),
        WRONG,
        "capacity grows with epsilon; the number of the caption is too high",
    ),
    Entry(
        "Figure 5",
        "distortion against epsilon",
        "dalenius.reproduce.audit_figures.distortion_printed",
        _reproduce("distortion"),
        WRONG,
        "two quantities on one axis: at equal distortion it is one channel",
    ),
    Entry(
        "Figure 6",
        "least leakage at $D$",
        "dalenius.reproduce.comparison_figures.primal",
        _reproduce("primal"),
        WRONG,
        "what is drawn is the report; the mechanisms leak more",
    ),
    Entry(
        "Figure 7",
        "least distortion at $L$",
        "dalenius.reproduce.comparison_figures.dual",
        _reproduce("dual"),
        PART,
        "depends on the reading of Algorithms 9 and 10",
    ),
)

TABLES = (
    Entry("Table 1", "nomenclature", "docs/notation.md", "", RIGHT, "our names beside the paper's"),
    Entry(
        "Table 2",
        "channel capacity, rate-distortion and its dual",
        "dalenius.designing.rate_distortion",
        "",
        RIGHT,
        "for one record the problems are these, and are solved as such",
    ),
    Entry(
        "Table 3",
        "leakage at epsilon = 1",
        "dalenius.reproduce.comparison_figures.table",
        _reproduce("table"),
        WRONG,
        "the printed numbers fall where the leakage does not",
    ),
    Entry(
        "Section 7.2",
        "closed forms of binary mechanisms",
        "dalenius.reproduce.printed.capacity",
        _reproduce("closed-forms"),
        PART,
        "the formulas are right, some printed values are not",
    ),
    Entry(
        "Section 4.1",
        "queries and their sensitivity",
        "dalenius.gallery.queries",
        _reproduce("modular"),
        PART,
        "a sum modulo $m > 2$ has sensitivity $m - 1$ from $n \\geq m$ records on, not 1",
    ),
)

ADVICE = (
    Entry("Section 3.4", "several random starts", "dalenius.paper.leakage.restarts", "", RIGHT, "twenty by default"),
    Entry(
        "Section 3.4",
        "extreme points for small alphabets",
        "dalenius.paper.conditionals.best_extreme_point",
        "",
        RIGHT,
        "all of them, up to a limit",
    ),
    Entry(
        "Section 3.4",
        "log domain, clipping of small probabilities",
        "dalenius.paper.universe.floored",
        "",
        RIGHT,
        "as printed",
    ),
    Entry(
        "Section 3.4",
        "diagnostics of convergence",
        "dalenius.results.history.Step",
        _reproduce("convergence"),
        RIGHT,
        "`history` of every result; the loops stop by the printed absolute tests",
    ),
    Entry("Section 3.4", "default parameters", "dalenius.paper", "", RIGHT, "the defaults of every algorithm here"),
    Entry("Section 6", "large datasets", "dalenius.model.counting", AUDIT, DONE, "classes instead of datasets"),
    Entry("Section 6", "continuous domains", "dalenius.model.real", "", DONE, 'real outputs: `output="real"`'),
    Entry(
        "Section 6",
        "evolving knowledge",
        "dalenius.tools.ledger.Ledger, dalenius.tools.composition.compose",
        "",
        DONE,
        "several releases about the same data",
    ),
    Entry("Section 6", "machine learning pipelines", "", "", NOT, ""),
    Entry(
        "Code availability", "the authors' repository", "", "", NOT, "was not available to us; all code here is ours"
    ),
)


def _short(results: Results) -> tuple[int, str]:
    rows = having(results.get("global", []), "paper_values", "upper")
    shares = [float(value) / row["upper"] for row in rows for value in row["paper_values"].split()]
    behind = sum(share < 1 - Close.short for share in shares)
    return behind, f"{behind} of {len(shares)} starts at $b = 0$ end more than {Close.short:.0%} short"


def _measured(name: str, *, wrong: Callable[[Row], bool]) -> Evidence:
    def words(results: Results) -> tuple[int, str]:
        measured = {row["key"]: row for row in results.get("text", [])}
        return int(name in measured and wrong(measured[name])), effect(name, measured)

    return words


def _rising(experiment: str, what: str) -> Evidence:
    def words(results: Results) -> tuple[int, str]:
        rows = having(results.get(experiment, []), "rising", "starts")
        rises, starts = (sum(row[name] for row in rows) for name in ("rising", "starts"))
        return rises, f"{what} rises in {rises} of {starts} starts"

    return words


def _low(results: Results) -> tuple[int, str]:
    rows = [row for row in having(results.get("table", []), "printed", "lower") if row["printed"] < 0.9 * row["lower"]]
    return len(rows), f"{len(rows)} printed numbers are more than a tenth too low"


def _flat(results: Results) -> tuple[int, str]:
    rows = below_knee(results.get("entropy", []))
    curves = groups(rows, "n", "mechanism").values()
    apart = max(map(spread, curves), default=1.0)
    return int(
        apart < Close.certified
    ), f"certified values up to $(n-1) \\ln 2$ within {short_up(apart)} nats of one another"


def _grows(results: Results) -> tuple[int, str]:
    rows = [row for row in having(results.get("epsilon", []), "lower") if row["family"] != "symmetric"]
    curves = groups(rows, "n", "b", "family").values()
    steps = [step for curve in curves for step in pairwise(rising(curve, "parameter"))]
    rises = sum(after["lower"] > before["upper"] for before, after in steps)
    return rises, f"it grows in {rises} of {len(steps)} certified steps"


def _leaks(results: Results) -> tuple[int, str]:
    rows = having(results.get("primal", []), "leaks_median", "reported_median")
    more = sum(row["leaks_median"] > row["reported_median"] + Precision.returned_tolerance for row in rows)
    return more, f"at {more} of {len(rows)} budgets mechanisms leak more than reported (median)"


EVIDENCE: dict[str, Evidence] = {
    "Theorem 3": _measured("entropy_share", wrong=lambda row: row["counted"] < row["tried"]),
    "Theorem 4": _short,
    "Theorem 5": _measured("rows_alone", wrong=lambda row: row["counted"] > 0),
    "Theorem 6": _rising("primal", "the worst-case leakage"),
    "Theorem 7": _rising("dual", "the distortion"),
    "Theorem 8": _measured("gradient", wrong=lambda row: row["median"] > Close.certified),
    "Figure 3": _flat,
    "Figure 4": _grows,
    "Figure 6": _leaks,
    "Table 3": _low,
}


# Where an algorithm cannot run as printed: rows of the errata.
REPAIRED = {1: "rows 5 and 7", 2: "row 6", 6: "row 9", 7: "row 9", 8: "row 8", 10: "row 9", 11: "row 8"}


def algorithms() -> tuple[Entry, ...]:
    """Return a row for each of the eleven algorithms."""
    runs = {
        1: "`dalenius audit ... --method paper`",
        6: "`dalenius design --distortion D ... --method paper`",
        9: "`dalenius design --leakage L ... --method paper`",
    }
    why = {4: "exactly right", 5: "the cause of the printed decline of $L(b)$ (row 4)"}
    why |= {9: "`reading=` says whose lambda counts (row 12)", 3: "row by row at fixed entropy (row 3)"}
    found = []
    for number, (what, module, name) in enumerate(ALGORITHMS, start=1):
        needed = REPAIRED.get(number)
        verdict = f"runs, repaired in {needed}" if needed else RUNS
        code = f"dalenius.paper.{module}.{name}, dalenius.paper.algorithm_{number}"
        found.append(Entry(f"Algorithm {number}", what, code, runs.get(number, ""), verdict, why.get(number, "")))
    return tuple(found)


def entries() -> tuple[Entry, ...]:
    """Return the whole map."""
    return (*DEFINITIONS, *THEOREMS, *algorithms(), *FIGURES, *TABLES, *ADVICE)


_ABOUT = """\
Everything the paper states, and where it is here. *holds in part* and *does not hold* are shown with numbers in
[Relation to the paper](relation-to-the-paper.md); rows in brackets are those of its errata. Section, theorem, figure
and table numbers are the paper's."""


def map_text(results: Results) -> str:
    """Return the page in Markdown; what a run can measure is from its rows."""
    parts = [MARK, "# Map of the paper", _ABOUT]
    chapters = (
        ("Definitions and assumptions", DEFINITIONS),
        ("Theorems", THEOREMS),
        ("Algorithms", algorithms()),
        ("Figures", FIGURES),
        ("Tables, queries and closed forms", TABLES),
        ("Recommendations and future work", ADVICE),
    )
    heading = ("in the paper", "what", "here", "command", "verdict", "in what way")
    for title, chapter in chapters:
        lines = [(one.place, one.what, _code(one.code), one.command, *_verdict(one, results)) for one in chapter]
        parts += [f"## {title}", grid(heading, lines)]
    listed = ", ".join(f"`{name}` ({one.place})" for name, one in EXPERIMENTS.items())
    parts.append(f"The experiments of `dalenius reproduce` by place: {listed}.")
    return "\n\n".join(parts) + "\n"


def _verdict(one: Entry, results: Results) -> tuple[str, str]:
    """Return the verdict and its reason, with what this run measured."""
    if one.place not in EVIDENCE:
        return one.verdict, one.why
    against, words = EVIDENCE[one.place](results)
    return (one.verdict if against else RIGHT), "; ".join(word for word in (one.why if against else "", words) if word)


def _code(code: str) -> str:
    names = [name.strip() for name in code.split(",") if name.strip()]
    return ", ".join(
        f"[{Path(name).stem}]({Path(name).name})" if name.endswith(".md") else f"`{name}`" for name in names
    )


def write_map(path: Path, results: Results) -> None:
    """Write the page, whole or not at all."""
    storage.write(path, map_text(results).encode())
