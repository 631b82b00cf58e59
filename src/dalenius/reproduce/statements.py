"""What the paper states, entry by entry, where it is in this library, and our verdict."""

from dataclasses import dataclass

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

    Where a run measures it (EVIDENCE of paper_map.py has its place), the verdict stands only if the run agrees: else
    it is "holds".
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
        "the worst-case leakage constraint is convex as well: Section 3.3 denies it",
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
        "dalenius.reproduce.figures.saddle_figure.surface",
        _reproduce("saddle"),
        RIGHT,
        "drawn as contours and as a surface",
    ),
    Entry(
        "Figure 2",
        "dependency graph of the algorithms",
        "dalenius.reproduce.figures.loop_figures.dependencies",
        "`dalenius reproduce --quick --out DIR`",
        RIGHT,
        "drawn by our code",
    ),
    Entry(
        "Figure 3",
        "$L(b)$ against $b$",
        "dalenius.reproduce.figures.audit_figures.entropy",
        _reproduce("entropy"),
        WRONG,
        "flat up to $(n-1) \\ln 2$; the decline before is that of Algorithm 5",
    ),
    Entry(
        "Figure 4",
        "three mechanisms against epsilon",
        "dalenius.reproduce.figures.audit_figures.epsilon",
        _reproduce("epsilon"),
        WRONG,
        "capacity grows with epsilon; the number of the caption is too high",
    ),
    Entry(
        "Figure 5",
        "distortion against epsilon",
        "dalenius.reproduce.figures.audit_figures.distortion_printed",
        _reproduce("distortion"),
        WRONG,
        "two quantities on one axis: at equal distortion it is one channel",
    ),
    Entry(
        "Figure 6",
        "least leakage at $D$",
        "dalenius.reproduce.figures.comparison_figures.primal",
        _reproduce("primal"),
        WRONG,
        "what is drawn is the report; the mechanisms leak more",
    ),
    Entry(
        "Figure 7",
        "least distortion at $L$",
        "dalenius.reproduce.figures.comparison_figures.dual",
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
        "dalenius.reproduce.figures.comparison_figures.table",
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
    Entry("Section 6", "continuous domains", "dalenius.model.channels.real", "", DONE, 'real outputs: `output="real"`'),
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
