"""What single formulas and tests of the paper do when they are left as printed: the column 'effect' of the errata."""

import math
import statistics
from collections.abc import Callable

import numpy as np

from dalenius.api.audits import audit
from dalenius.errors import refuse
from dalenius.model.channels.mechanism import Mechanism
from dalenius.paper.conditionals import (
    best_extreme_point,
    project_to_entropy,
    projected_gradient_coordinate_ascent,
    row_entropy_printed,
)
from dalenius.paper.descent import Penalty, Subproblem, step
from dalenius.paper.gradients import information_by_conditional, information_by_conditional_printed
from dalenius.paper.leakage import random_prior
from dalenius.paper.marginal import modified_blahut_arimoto
from dalenius.paper.primal import adaptive_smooth_penalty, random_channel
from dalenius.paper.reproduce import recipe
from dalenius.paper.reproduce.rows import Row
from dalenius.paper.universe import Floats, Universe, answers, entropy, information, leakages

RECORDS = (2, 2, 2)
PARITY = (np.arange(2) != (np.indices(RECORDS).reshape(3, -1).sum(axis=0) % 2)[:, None]).astype(float)  # d(f(x), y)


def _instance(seed: int, k: int, b: float = 1.6) -> tuple[Universe, Floats, Floats, np.random.Generator]:
    rng = np.random.default_rng([seed, k])
    universe = Universe(RECORDS)
    return universe, rng.dirichlet(np.full(3, 0.5), size=universe.size), random_prior(rng, universe.size, b), rng


def gradient(seed: int, many: int) -> Row:
    """How far the printed gradient of I in p(x_-i|x_i) is off along the simplex, relatively (row 1)."""
    shares = []
    for k in range(many):
        universe, q, p, _ = _instance(seed, k)
        marginal, conditionals = universe.split(p, 0)
        rows = universe.of(q, 0)
        given = answers(conditionals, rows)
        slopes = [f(marginal, given, rows) for f in (information_by_conditional, information_by_conditional_printed)]
        right, printed = (slope - slope.mean(axis=1, keepdims=True) for slope in slopes)
        shares.append(float(np.linalg.norm(printed - right) / np.linalg.norm(right)))
    return {"tried": many, "median": statistics.median(shares), "most": max(shares)}


def entropy_share(seed: int, many: int) -> Row:
    """How often c_i^k of the theorem is positive at a prior with H(X) >= b (row 2)."""
    found = 0
    for k in range(many):
        universe, _, p, _ = _instance(seed, k)
        marginal, conditionals = universe.split(p, 0)
        found += any(
            row_entropy_printed(marginal, conditionals, min(1.6, entropy(p)), a) > recipe.KNEE for a in range(2)
        )
    return {"tried": many, "counted": found}


def projection(seed: int, many: int, change: float = 1e-3) -> Row:
    """How far softmax(beta v) and v^beta move v, in L1, for a small change of entropy; how often no beta is found."""
    moved: dict[str, list[float]] = {"printed": [], "escort": []}
    failed = 0
    for k in range(many):
        rng = np.random.default_rng([seed, k])
        v = rng.dirichlet(np.ones(int(rng.integers(3, 9))))
        failed += project_to_entropy(v, float(rng.uniform(0.02, 0.98)) * math.log(v.size)) is None
        for name, repairs in (("printed", ()), ("escort", ("escort",))):
            near = project_to_entropy(v, entropy(v) - change, repairs=repairs)
            if near is not None:
                moved[name].append(float(np.abs(near - v).sum()))
    medians = {name: statistics.median(values) for name, values in moved.items()}
    return {"tried": many, "counted": failed, "median": medians["printed"], "other_median": medians["escort"]}


def exits(seed: int, many: int, b: float = 1.9) -> Row:
    """How often Algorithm 2, stopped by its own test, ends with H(X) < b (row 6); b binds: log 8 is 2.08."""
    left = 0
    for k in range(many):
        universe, q, p, _ = _instance(seed, k, b)
        marginal, conditionals = universe.split(p, 0)
        left += modified_blahut_arimoto(marginal, conditionals, universe.of(q, 0), b).left
    return {"tried": many, "counted": left}


def armijo(seed: int, many: int) -> Row:
    """How often a step passes the printed test of Algorithm 8, and the largest share of the asked decrease (row 8)."""
    passed, most = 0, 0.0
    penalty = Penalty()
    for k in range(many):
        rng = np.random.default_rng([seed, k])
        task = Subproblem(Universe(RECORDS), random_prior(rng, 8, 1.0), PARITY / 8, 0.2)
        q, weight = rng.dirichlet(np.ones(2), size=8), float(10 ** rng.uniform(-2, 2))
        slope = task.gradient(q, weight, penalty)
        eta = float(10 ** rng.uniform(-6, 0))
        before, after = (task.objective(channel, weight, penalty) for channel in (q, step(q, slope, eta)))
        asked = eta / 2 * float((slope**2).sum())
        passed += before - after >= asked
        most = max(most, (before - after) / asked)
    return {"tried": many, "counted": passed, "most": most}


def penalty(seed: int, many: int) -> Row:
    """The distortion of what Algorithm 7 returns as printed, where it is asked for 0.1 (row 10)."""
    asked, found = 0.1, []
    for k in range(many):
        rng = np.random.default_rng([seed, k])
        prior, start = random_prior(rng, 8, 1.5), random_channel(rng, PARITY / 8, asked)
        returned = adaptive_smooth_penalty(prior, PARITY, RECORDS, asked, q_start=start).channel
        found.append(float((returned * PARITY).sum() / 8))
    return {"tried": many, "asked": asked, "least": min(found), "median": statistics.median(found), "most": max(found)}


def alternation(_seed: int, _many: int, b: float = 0.5, D: float = 0.25) -> Row:
    """One round of Algorithm 6 with both subproblems solved exactly, on the parity of two bits (Theorem 6, part 1).

    The prior is uniform on {00, 01}, a worst one for the binary symmetric channel of flip D. The least leakage against
    it is 0, where q(.|00) = q(.|01); their parities differ, so this alone has E = 1/4 = D, and 10 and 11 must be
    answered truthfully.
    """
    flips = np.array([[1 - D, D], [D, 1 - D], [D, 1 - D], [1 - D, D]])
    exact = np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    prior, universe = np.array([0.5, 0.5, 0.0, 0.0]), Universe((2, 2))
    before, after = (audit(Mechanism.from_matrix(q, [2, 2]), entropy=b, tolerance=1e-6) for q in (flips, exact))
    attacked, reported = (float(leakages(universe, q, prior).max()) for q in (flips, exact))
    if not (before.lower <= attacked + recipe.CERTIFIED and after.lower > before.upper):
        refuse("the prior is not a worst one, or the worst case does not rise")
    return {"b": b, "D": D, "before": before.upper, "reported": reported, "after": after.lower}


def rows_alone(seed: int, many: int) -> Row:
    """How often Algorithm 3 without active constraint ends below the best extreme point, and the worst share."""
    stuck, worst = 0, 1.0
    for k in range(many):
        rng = np.random.default_rng([seed, k])
        rows, marginal = rng.dirichlet(np.full(3, 0.5), size=(3, 3)), rng.dirichlet(np.ones(3))
        start = rng.dirichlet(np.ones(3), size=3)
        found = projected_gradient_coordinate_ascent(marginal, start, rows, 0.0, tau=1e-12)
        best = float(information(marginal, answers(best_extreme_point(marginal, rows), rows)))
        stuck += found.value < best - recipe.KNEE
        worst = min(worst, found.value / best)
    return {"tried": many, "counted": stuck, "least": worst}


MEASURES: dict[str, Callable[[int, int], Row]] = {
    "gradient": gradient,
    "entropy_share": entropy_share,
    "projection": projection,
    "exits": exits,
    "armijo": armijo,
    "penalty": penalty,
    "rows_alone": rows_alone,
    "alternation": alternation,
}
