"""The errata of the paper row by row, claims that need no measurement to be refuted, and what the paper left open."""

from dataclasses import dataclass

from dalenius.paper.choices import ALWAYS
from dalenius.paper.choices import BETTER as BETTER_ROWS
from dalenius.paper.choices import WRONG as WRONG_ROWS


@dataclass(frozen=True)
class Erratum:
    """A row of the errata; its effect is a measure of text.py, or words, or what a function of the results says."""

    row: int
    name: str  # of the repair, nothing where none is made
    where: str
    what: str
    repair: str
    effect: str


CANNOT_RUN, WRONG, BETTER, KEPT = "cannot run", "wrong formula", "we chose something else", "kept as printed"
KINDS = {**dict.fromkeys(ALWAYS.values(), CANNOT_RUN), **dict.fromkeys(WRONG_ROWS.values(), WRONG)}
KINDS |= {**dict.fromkeys(BETTER_ROWS.values(), BETTER), 3: KEPT, 11: KEPT}
ERRATA = (
    Erratum(
        1,
        "gradient",
        "Theorem 8, part 3: gradient of $I$ in $p(x_{-i} \\mid x_i)$",
        "omits that $p(y)$ also occurs in the terms of the other values of $x_i$",
        "$p(x_i) \\sum_y q(y \\mid x) \\log \\frac{p(y \\mid x_i)}{p(y)}$; `paper/gradients.py` has both",
        "gradient",
    ),
    Erratum(
        2,
        "entropy_share",
        "Theorem 3: entropy $c_i^k$ that a row must hold",
        "its sum runs over all rows, so it is never positive where $H(X) \\geq b$; Algorithm 3, line 10, is right",
        "the sum over the other rows, as Algorithm 3 prints it; the algorithms are the same with and without it",
        "entropy_share",
    ),
    Erratum(
        3,
        "",
        "Algorithm 3, row after row",
        "after one sweep each row holds exactly the entropy it needs, and no entropy can move from one row to another",
        "none: one reason why Algorithm 1 reports too little",
        "",
    ),
    Erratum(
        4,
        "escort",
        "Algorithm 5, softmax of $\\beta v$",
        "equals $v$ for no $\\beta$, so it moves far for a small change of entropy; it runs, and finds its root",
        "$v^\\beta$, normalised; it is $v$ itself at $\\beta = 1$",
        "projection",
    ),
    Erratum(
        5,
        "start",
        "Section 3.1: start from the uniform prior",
        "every gradient is 0 there and ties stay ties; Algorithm 1, line 1, says random, and that runs",
        "random starts; `p_start` takes any other",
        "uniform",
    ),
    Erratum(
        6,
        "current_iterate",
        "Algorithm 2, line 10 and its stopping test",
        "does not say which iterate $\\log p(x_i)$ is of; stops when $I$ stops changing, whether $H(X) \\geq b$ or not",
        "the current iterate; a marginal that ends below $b$ goes back towards its start until it is feasible; capped",
        "exits",
    ),
    Erratum(
        7,
        "infeasible",
        "Algorithm 1, lines 13 and 20",
        "accepts candidates with $H(X) < b$; does not say what INFEASIBLE leads to",
        "only feasible candidates are accepted; INFEASIBLE skips the record",
        "it would return priors that the adversary may not hold",
    ),
    Erratum(
        8,
        "armijo",
        "step test of Algorithms 8 and 11",
        "asks for a decrease that no multiplicative step can reach",
        "the usual sufficient decrease along the step taken, with a bounded number of halvings",
        "armijo",
    ),
    Erratum(
        9,
        "previous",
        "$E_{prev}$ and $I_{prev}$ of Algorithms 7 and 10",
        "are overwritten just before they are compared; loops have no limit",
        "compared first; every loop is capped",
        "half of the stopping test is always true",
    ),
    Erratum(
        10,
        "hinge",
        "Algorithms 7 and 10: softplus$(z)^2$, and $q_{best}$ of least $J$",
        "softplus is not an exact penalty (it pushes where the constraint holds); "
        "$J$ of different $\\lambda$ are compared",
        "$\\max(0, z)^2$, and the best among feasible iterates",
        "penalty",
    ),
    Erratum(
        11,
        "",
        "Algorithms 6 and 9, alternation",
        "a mechanism is fitted to one prior, and the report is for a prior that was worst for the mechanism before",
        "none; the mechanism returned is always audited again",
        "primal",
    ),
    Erratum(
        12,
        "penalty_owner",
        "Algorithms 9 and 10",
        "both set the penalty: lines 6 to 11 of the one, line 1 of the other",
        "`reading=` chooses: the proof's, or the strict one; by this repair Algorithm 10 alone keeps it",
        "dual",
    ),
)

CLAIMS = (
    (
        "The leakage constraint is not convex in the mechanism (Section 3.3, Theorem 7).",
        "A maximum of convex functions is convex, so the dual problem is convex, and its optimum can be certified.",
    ),
    (
        "Information is convex in each row of conditionals, but not in the whole matrix (after Theorem 1).",
        "For a fixed marginal it is convex in all rows jointly; the proof of Theorem 1 shows just that.",
    ),
    (
        "softplus squared is an exact penalty (proofs of Theorems 6 and 7).",
        "At $z = 0$ it is $(\\ln 2)^2$, with slope $\\ln 2$: it pushes inwards where the constraint already holds.",
    ),
    (
        "All algorithms enforce $H(X) \\geq b$ during updates (Section 3).",
        "Algorithm 2 does so only in the limit of its multiplier, and stops earlier.",
    ),
    (
        "Problem 3 converges globally (Section 3, Section 6).",
        "The abstract and Theorem 7 say: to a stationary point. The latter is what an alternation can reach at best.",
    ),
    (
        "Case 1 is due to concavity in the conditionals, and unconstrained (Section 3.1).",
        "A slip: it is convexity, as Theorem 1 says, and $H(X_i) \\geq b$ remains as a constraint on the marginal.",
    ),
)

# What the paper names as future work, and where it is now.
OPEN = (
    (
        "large datasets",
        "classes instead of datasets: counts of millions of records",
        "howto/large.md#very-many-records",
    ),
    ("continuous outputs", '`output="real"`, audited without rounding', "howto/large.md#real-outputs"),
    ("other queries", "counts, totals, histograms, pairs, any function", "reference/queries.md"),
    (
        "other adversaries",
        "`reference=`: a prior that is public; `secret=`: groups and functions of records",
        "howto/secrets.md#say-what-everybody-knows",
    ),
    (
        "evolving knowledge",
        "`dl.compose` and `dl.Ledger`: several releases about the same data",
        "howto/budget.md",
    ),
    (
        "a stable solution of the dual problem",
        "`dl.design(leakage=...)`: a certified bracket on the least distortion, and a mechanism that keeps its budget",
        "howto/design.md",
    ),
    ("machine learning pipelines", "not done", ""),
)
