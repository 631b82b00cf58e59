"""Algorithm 2: the marginal p(x_i) of largest I(X_i;Y), by Blahut-Arimoto with a multiplier for the entropy."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dalenius.model import checks
from dalenius.paper import parameters
from dalenius.paper.gradients import log_ratios
from dalenius.paper.history import CAPPED, CONVERGED, INFEASIBLE
from dalenius.paper.universe import SLACK, Floats, answers, entropy, floored, information, softmax


@dataclass(frozen=True, eq=False)
class Marginal:
    """What Algorithm 2 returns: p*(x_i), I*, how it ended, and I at its start and after every update."""

    marginal: Floats
    value: float
    status: str  # "converged", "T_max" or "INFEASIBLE", and a remark where p_start has H(X) < b
    history: tuple[float, ...]
    multiplier: float  # s, the last
    left: bool = False  # whether the loop ended with H(X) < b, so that it was moved back (repair 6)


def modified_blahut_arimoto(
    p_start: ArrayLike,
    conditionals: ArrayLike,
    rows: ArrayLike,
    b: float,
    *,
    eps: float = 1e-6,
    alpha: float = 0.1,
    T_max: int = 300,
) -> Marginal:
    """Algorithm 2: the marginal p(x_i) of largest I(X_i;Y) with H(X) >= b, for fixed conditionals.

    log p <- log p + D/(1+s) + s/(1+s) (H(X_-i|x_i) - log p), normalised, with D = sum_y p(y|x_i) log p(y|x_i)/p(y);
    and s <- max(0, s - alpha (H(X) - b)); until |dI| < eps. alpha = 0.1 is the paper's; eps and T_max, which it leaves
    open, are 1e-6 nats and a cap that seldom decides.

    p_start is p^(0)(x_i) as (A,), conditionals p(x_-i|x_i) as (A, M), rows q(y|x) as (A, M, Y); `split` and `of`
    of a `Universe` make them. A p_start with H(X) < b is allowed, as in the paper, and the status records it.
    """
    parameters.positive(eps=eps, alpha=alpha)
    parameters.counts(T_max=T_max)
    b = checks.real("b", b, 0.0, math.inf)
    conditionals = parameters.shaped("conditionals", conditionals, (None, None))
    rows = parameters.shaped("rows", rows, (*conditionals.shape, None))
    start = parameters.distribution("p_start", p_start, (conditionals.shape[0],))
    spread = scipy.special.entr(conditionals).sum(axis=1)
    given = answers(conditionals, rows)

    def held(marginal: Floats) -> float:
        return entropy(marginal) + float(marginal @ spread)

    p, s = floored(start), 0.0
    history = [float(information(p, given))]
    status = CAPPED
    for _ in range(T_max):  # repair 6: capped
        divergence = (given * log_ratios(p, given)).sum(axis=1)
        log_p = np.log(p)  # repair 6: of the current iterate
        p = floored(softmax(log_p + divergence / (1 + s) + s / (1 + s) * (spread - log_p)))
        s = max(0.0, s - alpha * (held(p) - b))
        history.append(float(information(p, given)))
        if abs(history[-1] - history[-2]) < eps:
            status = CONVERGED
            break
    if held(p) >= b:
        found = p
    elif held(start) >= b - SLACK:
        # Repair 6: the multiplier has not brought it back to H(X) >= b, so go back towards the start until it is.
        found = backed_off(p, start, lambda x: held(x) >= b)
    else:
        found, status = p, INFEASIBLE
    if held(start) < b - SLACK:
        status += f"; p_start has H(X) = {held(start):.6g} < b"
    return Marginal(found, float(information(found, given)), status, tuple(history), s, found is not p)


def backed_off(wanted: Floats, safe: Floats, allowed: Callable[[Floats], bool], *, halvings: int = 60) -> Floats:
    """The point nearest to `wanted` on the segment from `safe` that is allowed; `safe` if none is found."""
    if allowed(wanted):
        return wanted
    low, high = 0.0, 1.0
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(safe + middle * (wanted - safe)) else (low, middle)
    return safe + low * (wanted - safe)
