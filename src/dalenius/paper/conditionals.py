"""Algorithms 3 to 5: the conditionals p(x_-i|x_i) row by row, each kept on the boundary of its entropy constraint.

Comments "repair k" mark where the text is not run as printed; k is a row of the errata in
docs/relation-to-the-paper.md, and choices.py says which repairs are always made and which by choice.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dalenius.model import checks
from dalenius.paper import parameters
from dalenius.paper.choices import repairs_from
from dalenius.paper.gradients import information_by_conditional, information_by_conditional_printed
from dalenius.paper.history import CAPPED, CONVERGED, EXPIRED, INFEASIBLE
from dalenius.paper.universe import FLOOR, SLACK, Floats, answers, entropy, information, never, softmax

# A row that is projected to where it was does not lose information; what a sum loses by rounding counts as nothing.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Conditionals:
    """What Algorithm 3 returns: p*(x_-i|x_i) and I*, or (None, -inf, "INFEASIBLE"); I at its start and per sweep."""

    conditionals: Floats | None
    value: float
    status: str
    history: tuple[float, ...]


def projected_gradient_coordinate_ascent(
    marginal: ArrayLike,
    p_start: ArrayLike,
    rows: ArrayLike,
    b: float,
    *,
    tau: float = 1e-6,
    T_max: int = 100,
    eta_0: float = 1.0,
    beta: float = 0.5,
    max_inner: int = 10,
    tau_H: float = 1e-9,
    beta_range: Sequence[float] = (0.0, 1e6),
    repairs: Iterable[str] | None = None,
    expired: Callable[[], bool] = never,
) -> Conditionals:
    """Algorithm 3: the rows p(x_-i|x_ik) one after the other, each on the boundary H = c_k, until |dI| <= tau.

    marginal is p(x_i) as (A,), p_start the first p(x_-i|x_i) as (A, M), rows q(y|x) as (A, M, Y). After the first sweep
    every row holds just the entropy it needs, so no later sweep can move any from one row to another. This is kept as
    printed (row 3 of the errata); it is one reason why the method reports too little. eta_0 and beta are the paper's;
    it leaves the other parameters open.
    """
    parameters.positive(tau=tau, eta_0=eta_0, tau_H=tau_H)
    parameters.counts(T_max=T_max, max_inner=max_inner)
    parameters.shrinking(beta)
    choice, ends = repairs_from(repairs), parameters.interval(beta_range)
    b = checks.real("b", b, 0.0, math.inf)
    p = parameters.shaped("p_start", p_start, (None, None)).copy()
    marginal = parameters.shaped("marginal", marginal, p.shape[:1])
    rows = parameters.shaped("rows", rows, (*p.shape, None))

    def project(v: Floats) -> Floats | None:
        return _on_entropy(_on_simplex(v), needed, tau_H, ends, escort="escort" in choice)

    search = eta_0, beta, max_inner
    history = [float(information(marginal, answers(p, rows)))]
    best, kept, status = -math.inf, p, CAPPED
    nothing = marginal <= 2 * FLOOR
    order = [*np.flatnonzero(nothing).tolist(), *np.flatnonzero(~nothing).tolist()]
    for _ in range(T_max):
        for k in order:
            if expired():
                return Conditionals(p, history[-1], EXPIRED, tuple(history))
            needed = row_entropy(marginal, p, b, k)
            if needed > math.log(p.shape[1]) + SLACK:
                return Conditionals(None, -math.inf, INFEASIBLE, tuple(history))
            if needed <= SLACK:  # a row whose target is 0 comes out as 0 or a rounding above
                p[k] = best_unit_vector(marginal, answers(p, rows), rows, k)
            else:
                p[k] = _row_step(marginal, p[k], answers(p, rows), rows, k, project, search, choice)
        history.append(float(information(marginal, answers(p, rows))))
        if history[-1] > best:
            best, kept = history[-1], p.copy()
        if abs(history[-1] - history[-2]) <= tau:
            status = CONVERGED
            break
    return Conditionals(kept, best, status, tuple(history))


def _row_step(
    marginal: Floats,
    row: Floats,
    given: Floats,
    rows: Floats,
    k: int,
    project: Callable[[Floats], Floats | None],
    search: tuple[float, float, int],
    choice: frozenset[str],
) -> Floats:
    """Row k after p + eta dI/dp, projected to the simplex and to its entropy; eta falls until I does not."""
    value = float(information(marginal, given))
    # Repair 1 by choice: the printed gradient leaves out a share of p(y).
    gradient = information_by_conditional if "gradient" in choice else information_by_conditional_printed
    slope = gradient(marginal, given, rows)[k]
    tried = given.copy()
    eta, beta, most = search
    for _ in range(most):
        moved = project(row + eta * slope)
        if moved is not None:
            tried[k] = moved @ rows[k]
            if float(information(marginal, tried)) >= value - ROUNDING:
                return moved
        eta *= beta
    return row


def row_entropy(marginal: Floats, conditionals: Floats, b: float, k: int) -> float:
    """c_k = ( b - H(X_i) - sum_{l != k} p(x_il) H(X_-i|x_il) ) / p(x_ik): what row k must hold; -inf if p(x_ik) = 0.

    As line 9 of Algorithm 3 prints it.
    """
    if marginal[k] <= 2 * FLOOR:
        return -math.inf
    others = marginal @ scipy.special.entr(conditionals).sum(axis=1) - marginal[k] * entropy(conditionals[k])
    return float((b - entropy(marginal) - others) / marginal[k])


def row_entropy_printed(marginal: Floats, conditionals: Floats, b: float, k: int) -> float:
    """c_k as Theorem 3 prints it, with the sum over all l: (b - H(X)) / p(x_ik), at most 0 wherever H(X) >= b.

    Row 2 of the errata: the theorem is wrong, line 9 of the algorithm is right.
    """
    return float((b - entropy(marginal) - marginal @ scipy.special.entr(conditionals).sum(axis=1)) / marginal[k])


def project_to_simplex(v: ArrayLike) -> Floats:
    """Algorithm 4: the nearest probability vector, max(v - theta, 0) with theta by sorting."""
    return _on_simplex(parameters.vector("v", v))


def _on_simplex(v: Floats) -> Floats:
    falling = np.sort(v)[::-1]
    theta = (falling.cumsum() - 1) / np.arange(1, v.size + 1)
    return np.asarray(np.maximum(v - theta[np.count_nonzero(falling > theta) - 1], 0.0))


def project_to_entropy(
    v: ArrayLike,
    target: float,
    *,
    eps: float = 1e-9,
    T_max: int = 100,
    beta_range: Sequence[float] = (0.0, 1e6),
    repairs: Iterable[str] | None = None,
) -> Floats | None:
    """Algorithm 5: softmax(beta v) of entropy `target`, beta by Brent's method; None where there is no such beta.

    v itself where its entropy is within eps of the target. With the repair "escort" (row 4) v^beta / sum v^beta, which
    is v itself at beta = 1, while softmax(beta v) is v only where v takes at most two values, and else may move far.
    """
    parameters.positive(eps=eps)
    parameters.counts(T_max=T_max)
    checks.real("target", target, -math.inf, math.inf)
    escort = "escort" in repairs_from(repairs)
    ends = parameters.interval(beta_range)
    return _on_entropy(parameters.vector("v", v), target, eps, ends, most=T_max, escort=escort)


def _on_entropy(
    v: Floats,
    target: float,
    eps: float,
    beta_range: tuple[float, float],
    *,
    escort: bool,
    most: int = 100,
    floor: float = 1e-12,
) -> Floats | None:
    """In the log domain, with z = v (or log v) counted from its maximum: H = log Z - beta mean(z) under e^(beta z) / Z.

    most: steps of Brent's method. floor: of probabilities whose logarithm the escort takes.
    """
    if abs(entropy(v) - target) < eps:
        return v
    z = np.log(np.maximum(v, floor)) if escort else v
    z = z - z.max()
    low, high = beta_range
    root = _newton(z, target) if low >= 0 else math.nan
    if low <= root <= high:
        return softmax(root * z)

    def excess(beta: float) -> float:
        exponents = beta * (z if beta > 0 else z - z.min())
        weights = np.exp(exponents)
        total = float(weights.sum())
        return math.log(total) - float(weights @ exponents) / total - target

    first = excess(low)
    if abs(first) < eps:
        return softmax(low * z)
    if first * excess(high) > 0:
        return None
    return softmax(scipy.optimize.brentq(excess, low, high, xtol=1e-13, rtol=1e-13, maxiter=most, disp=False) * z)


def _newton(z: Floats, target: float, *, most: int = 20) -> float:
    """The root that Brent's method finds for beta >= 0, in a third of the time; nan where it does not settle.

    On log H, which is nearly a line where H is small: dH/dbeta = -beta var(z) under e^(beta z) / Z. It begins where a
    parabola at beta = 0 has this entropy.
    """
    powers = np.stack([np.ones(z.size), z, z * z])
    _, mean, square = (powers.sum(axis=1) / z.size).tolist()
    room = math.log(z.size) - target
    if min(room, target, square - mean * mean) <= 0:
        return math.nan
    beta = math.sqrt(2 * room / (square - mean * mean))
    for _ in range(most):
        total, mean, square = (powers @ np.exp(beta * z)).tolist()
        mean, square = mean / total, square / total
        held, slope = math.log(total) - beta * mean, beta * (square - mean * mean)
        if held <= 0 or slope <= 0:
            break
        move = max(held * math.log(held / target) / slope, -beta / 2)
        beta += move
        if abs(move) <= 1e-13 * beta:
            return float(beta)
    return math.nan


def best_unit_vector(marginal: Floats, given: Floats, rows: Floats, k: int) -> Floats:
    """The unit vector as row k of p(x_-i|x_i) that makes I(X_i;Y) largest."""
    tried = np.repeat(given[None], rows.shape[1], axis=0)
    tried[:, k] = rows[k]
    return np.asarray(np.eye(rows.shape[1])[int(np.argmax(information(marginal, tried)))])


def best_extreme_point(marginal: Floats, rows: Floats, *, most: int = 2**16) -> Floats:
    """The deterministic conditionals of largest I(X_i;Y): all of them tried, or row by row above `most` of them."""
    values, others = rows.shape[:2]
    if others == 1:
        return np.ones((values, 1))
    if others**values <= most:
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
