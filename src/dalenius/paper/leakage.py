"""Algorithms 1 to 5: the maximal leakage about a record, by alternating between p(x_i) and p(x_-i|x_i).

A local search: whatever it returns is a lower bound on L(b). It runs on all datasets, as the paper does. Comments
"repair k" mark where the text cannot run as printed; k is a row of the errata in docs/relation-to-the-paper.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import entr

from dalenius.paper.gradients import information_by_conditional, log_ratios, tangent_norm
from dalenius.paper.history import Step, relative_improvement
from dalenius.paper.universe import FLOOR, Floats, Universe, answers, entropy, floored, information, leakages, softmax

ETA_0, BETA, ALPHA = 1.0, 0.5, 0.1  # first step, its shrinking, step of the multiplier: the paper's defaults
STARTS = 20
TOLERANCE = 1e-4  # of the relative improvement of I, where loops end; the paper leaves it open
FEASIBLE = 1e-9  # candidates this little below b are moved back, others rejected
ENTROPY_TOLERANCE = 1e-9  # of the projection to an entropy
ENTROPY_FLOOR = 1e-12  # of probabilities, inside that projection
STEEPEST = 1e4  # the largest exponent of an escort distribution
MOST_ROUNDS, MOST_UPDATES, MOST_SWEEPS, MOST_HALVINGS, MOST_BISECTIONS = 50, 300, 100, 20, 60
MOST_POINTS = 2**16  # extreme points that are enumerated; above, one row at a time


def never() -> bool:
    """Say that time is not up."""
    return False


@dataclass(frozen=True, eq=False)
class Leakage:
    """What one random start of Algorithm 1 found."""

    value: float  # I(X_record; Y) at the prior, in nats
    prior: Floats  # (|X|,), with H(X) >= b
    record: int
    by_record: tuple[float, ...]  # the largest I(X_i;Y) that was met for each record
    history: tuple[Step, ...]


def restarts(  # noqa: PLR0913 - the algorithm's inputs
    channel: Floats,
    records: Sequence[int],
    b: float,
    *,
    starts: int = STARTS,
    seed: int = 0,
    expired: Callable[[], bool] = never,
) -> list[Leakage]:
    """Algorithm 1 from many random starts; fewer when time is up, but at least one."""
    found: list[Leakage] = []
    for start in range(starts):
        rng = np.random.default_rng([seed, start])
        found.append(maximal_leakage(channel, records, b, rng=rng, start=start, expired=expired))
        if expired():
            break
    return found


def maximal_leakage(  # noqa: PLR0913 - the algorithm's inputs
    channel: Floats,
    records: Sequence[int],
    b: float,
    *,
    rng: np.random.Generator,
    start: int = 0,
    expired: Callable[[], bool] = never,
    tolerance: float = TOLERANCE,
    rounds: int = MOST_ROUNDS,
) -> Leakage:
    """Algorithm 1, alternating optimisation: max I(X_i;Y) over i and p(x) with H(X) >= b, from one random start."""
    universe = Universe(tuple(records))
    prior = random_prior(rng, universe.size, b)  # repair 5: the uniform prior is stationary
    met = leakages(universe, channel, prior)
    record = int(np.argmax(met))
    best, worst_prior = float(met[record]), prior
    history: list[Step] = []
    for k in range(rounds):
        before = best
        for i in range(len(universe.records)):
            if expired():
                break
            rows = universe.of(channel, i)
            marginal, conditionals = universe.split(prior, i)
            marginal = modified_blahut_arimoto(floored(marginal), conditionals, rows, b)
            if b > entropy(marginal):
                updated = projected_gradient_coordinate_ascent(marginal, conditionals, rows, b, expired)
            else:
                updated = best_extreme_point(marginal, rows)
            if updated is None:  # repair 7: INFEASIBLE means skip
                continue
            candidate = universe.join(marginal, updated, i)
            if entropy(candidate) < b - FEASIBLE:  # repair 7
                continue
            candidate = _spread(candidate, b)
            value = float(leakages(universe, channel, candidate)[i])
            met[i] = max(met[i], value)
            if value > best:
                best, worst_prior, record = value, candidate, i
        prior = worst_prior
        history.append(
            Step(
                start,
                k,
                best,
                relative_improvement(best, before),
                abs(entropy(prior) - b),
                tangent_norm(_by_dataset(universe, channel, prior, record)),
            )
        )
        if relative_improvement(best, before) <= tolerance or expired():
            break
    return Leakage(best, worst_prior, record, tuple(met.tolist()), tuple(history))


def modified_blahut_arimoto(
    marginal: Floats, conditionals: Floats, rows: Floats, b: float, *, tolerance: float = TOLERANCE
) -> Floats:
    """Algorithm 2: the marginal p(x_i) of largest I(X_i;Y) with H(X) >= b, for fixed conditionals.

    log p <- log p + D/(1+s) + s/(1+s) (H(X_-i|x_i) - log p), normalised, with D = sum_y p(y|x_i) log p(y|x_i)/p(y);
    and s <- max(0, s - alpha (H(X) - b)).
    """
    spread = entr(conditionals).sum(axis=1)
    given = answers(conditionals, rows)
    p, s = marginal, 0.0
    value = float(information(p, given))
    for _ in range(MOST_UPDATES):  # repair 6: capped
        divergence = (given * log_ratios(p, given)).sum(axis=1)
        log_p = np.log(p)  # repair 6: of the current iterate
        p = floored(softmax(log_p + divergence / (1 + s) + s / (1 + s) * (spread - log_p)))
        held = entropy(p) + float(p @ spread)
        s = max(0.0, s - ALPHA * (held - b))
        before, value = value, float(information(p, given))
        if relative_improvement(value, before) <= tolerance:
            break
    return _backed_off(p, marginal, lambda x: entropy(x) + float(x @ spread) >= b)  # repair 6


def projected_gradient_coordinate_ascent(
    marginal: Floats, conditionals: Floats, rows: Floats, b: float, expired: Callable[[], bool] = never
) -> Floats | None:
    """Algorithm 3: the rows p(x_-i|x_ik) one after the other, each on the boundary H = c_k; None if infeasible.

    After the first sweep every row holds just the entropy it needs, so that no later sweep can move any from one row
    to another: kept as printed (row 3 of the errata), and why the method under-reports.
    """
    p = conditionals.copy()
    value, best = float(information(marginal, answers(p, rows))), -math.inf
    kept = p
    for _ in range(MOST_SWEEPS):
        before = value
        for k in range(marginal.size):
            if expired():
                return p
            needed = row_entropy(marginal, p, b, k)
            if needed > math.log(p.shape[1]) + FEASIBLE:
                return None
            if needed <= 0:
                p[k] = best_unit_vector(marginal, answers(p, rows), rows, k)
            else:
                p[k] = _row_step(marginal, p, rows, k, needed)
        value = float(information(marginal, answers(p, rows)))
        if value > best:
            best, kept = value, p.copy()
        if relative_improvement(value, before) <= TOLERANCE:
            break
    return kept


def _row_step(marginal: Floats, conditionals: Floats, rows: Floats, k: int, needed: float) -> Floats:
    """Row k after p + eta dI/dp, projected to the simplex and to its entropy; eta falls until I does not."""
    given = answers(conditionals, rows)
    value = float(information(marginal, given))
    gradient = information_by_conditional(marginal, given, rows)[k]  # repair 1
    eta = ETA_0
    for _ in range(MOST_HALVINGS):
        row = project_to_entropy(project_to_simplex(conditionals[k] + eta * gradient), needed)
        if row is not None:
            given[k] = row @ rows[k]
            if float(information(marginal, given)) >= value:
                return row
        eta *= BETA
    return np.asarray(conditionals[k])


def row_entropy(marginal: Floats, conditionals: Floats, b: float, k: int) -> float:
    """c_k = ( b - H(X_i) - sum_{l != k} p(x_il) H(X_-i|x_il) ) / p(x_ik): what row k must hold; -inf if p(x_ik) = 0.

    Repair 2: the printed sum in the theorem runs over all l, which makes c_k <= 0 wherever H(X) >= b.
    """
    if marginal[k] <= 2 * FLOOR:
        return -math.inf
    held = marginal @ entr(conditionals).sum(axis=1) - marginal[k] * entropy(conditionals[k])
    return float((b - entropy(marginal) - held) / marginal[k])


def row_entropy_printed(marginal: Floats, conditionals: Floats, b: float, k: int) -> float:
    """c_k as the theorem prints it, with the sum over all l: (b - H(X)) / p(x_ik)."""
    return float((b - entropy(marginal) - marginal @ entr(conditionals).sum(axis=1)) / marginal[k])


def project_to_simplex(v: Floats) -> Floats:
    """Algorithm 4: the nearest probability vector, max(v - theta, 0) with theta by sorting."""
    falling = np.sort(v)[::-1]
    theta = (np.cumsum(falling) - 1) / np.arange(1, v.size + 1)
    return np.asarray(np.maximum(v - theta[np.flatnonzero(falling > theta)[-1]], 0.0))


def project_to_entropy(v: Floats, target: float, tolerance: float = ENTROPY_TOLERANCE) -> Floats | None:
    """Algorithm 5: a distribution of entropy `target` near v, or None where there is none.

    Repair 4: the escort distribution v^beta / sum v^beta, which is v itself at beta = 1, and not exp(beta v), which
    moves far for a small change of entropy. beta by Brent's method; in the log domain
    H = log Z - beta sum v^beta log v / Z, with log v counted from its maximum.
    """
    if abs(entropy(v) - target) < tolerance:
        return v
    log_v = np.log(np.maximum(v, ENTROPY_FLOOR))
    log_v -= log_v.max()

    def excess(beta: float) -> float:
        weights = np.exp(beta * log_v)
        total = float(weights.sum())
        return math.log(total) - beta * float(weights @ log_v) / total - target

    low, high = 0.0, 1.0
    if excess(low) < 0:
        return v * 0 + 1 / v.size if excess(low) > -tolerance else None
    while excess(high) > 0:
        low, high = high, 2 * high
        if high > STEEPEST:
            return None
    return softmax(brentq(excess, low, high, xtol=1e-13, rtol=1e-13) * log_v)


def best_unit_vector(marginal: Floats, given: Floats, rows: Floats, k: int) -> Floats:
    """The unit vector as row k of p(x_-i|x_i) that makes I(X_i;Y) largest."""
    tried = np.repeat(given[None], rows.shape[1], axis=0)
    tried[:, k] = rows[k]
    return np.asarray(np.eye(rows.shape[1])[int(np.argmax(information(marginal, tried)))])


def best_extreme_point(marginal: Floats, rows: Floats) -> Floats:
    """The deterministic conditionals of largest I(X_i;Y): all of them tried, or row by row where they are too many."""
    values, others = rows.shape[:2]
    if others == 1:
        return np.ones((values, 1))
    if others**values <= MOST_POINTS:
        choices = np.indices((others,) * values).reshape(values, -1)
        given = np.stack([rows[a][choices[a]] for a in range(values)], axis=1)
        return np.eye(others)[choices[:, int(np.argmax(information(marginal, given)))]]
    given, conditionals = rows.mean(axis=1), np.full((values, others), 1 / others)
    value = -1.0
    while (reached := float(information(marginal, given))) > value:  # ends: there are finitely many points
        value = reached
        for k in range(values):
            conditionals[k] = best_unit_vector(marginal, given, rows, k)
            given[k] = conditionals[k] @ rows[k]
    return conditionals


def random_prior(rng: np.random.Generator, size: int, b: float) -> Floats:
    """A prior drawn uniformly from the simplex, mixed with the uniform one as little as makes H(X) >= b."""
    return _spread(rng.dirichlet(np.ones(size)), b)


def _spread(prior: Floats, b: float) -> Floats:
    """A prior with H(X) >= b: this one, or mixed with the uniform one as little as is enough."""
    return _backed_off(prior, np.full(prior.size, 1 / prior.size), lambda p: entropy(p) >= b)


def _backed_off(wanted: Floats, safe: Floats, allowed: Callable[[Floats], bool]) -> Floats:
    """The point nearest to `wanted` on the segment from `safe` that is allowed; `safe` if none is found."""
    if allowed(wanted):
        return wanted
    low, high = 0.0, 1.0
    for _ in range(MOST_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(safe + middle * (wanted - safe)) else (low, middle)
    return safe + low * (wanted - safe)


def _by_dataset(universe: Universe, channel: Floats, prior: Floats, i: int) -> Floats:
    """dI / dp(x) = sum_y q(y|x) log( p(y|x_i) / p(y) ), up to a constant."""
    marginal, conditionals = universe.split(prior, i)
    rows = universe.of(channel, i)
    return universe.back((rows @ log_ratios(marginal, answers(conditionals, rows))[:, :, None])[:, :, 0], i)
