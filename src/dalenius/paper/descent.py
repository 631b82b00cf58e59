"""What the primal and the dual share: a mechanism fitted to one prior, by exponentiated gradient descent."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalenius.paper.leakage import BETA, ETA_0, never
from dalenius.paper.universe import Floats, Universe, floored, leakages, softmax

LAMBDA_0, MU = 1.0, 1.5  # first penalty and the factor that adjusts it: the paper's defaults
SUFFICIENT = 1e-4  # share of the decrease along the gradient that a step must reach
TOLERANCE = 1e-4  # of changes of I, of E, and of ||q - q_before||_1, where loops end; the paper leaves it open
MOST_ROUNDS, MOST_PENALTIES, MOST_STEPS, MOST_HALVINGS, MOST_BISECTIONS = 10, 30, 60, 40, 30


@dataclass(frozen=True, eq=False)
class Subproblem:
    """One prior of the adversary, cost[x, y] = p0(x) d(f(x), y), and a budget: D of the primal or L of the dual."""

    universe: Universe
    prior: Floats
    cost: Floats
    budget: float

    def leakages(self, q: Floats) -> Floats:
        """I(X_i;Y) of every record at the prior."""
        return leakages(self.universe, q, self.prior)

    def leakage(self, q: Floats) -> float:
        """max_i I(X_i;Y) at the prior."""
        return float(self.leakages(q).max())

    def distortion(self, q: Floats) -> float:
        """E d(f(X), Y) = sum q cost."""
        return float((q * self.cost).sum())


def descend(
    channel: Floats,
    objective: Callable[[Floats], float],
    gradient: Callable[[Floats], Floats],
    expired: Callable[[], bool] = never,
) -> Floats:
    """q <- q exp(-eta dJ/dq), normalised, with eta from eta_0 / sqrt(t+1) down by beta until J falls enough.

    Repair 8: the printed test J(new) <= J(old) - eta/2 ||g||^2 cannot be passed, since a multiplicative step gains
    less; here J(new) <= J(old) + 1e-4 <g, new - old>, at most 40 halvings.
    """
    q = floored(channel)
    value = objective(q)
    for t in range(MOST_STEPS):  # repair 9: capped
        if expired():
            break
        slope = gradient(q)
        eta = ETA_0 / math.sqrt(t + 1)
        for _ in range(MOST_HALVINGS):
            new = step(q, slope, eta)
            reached = objective(new)
            if reached <= value + SUFFICIENT * float(((new - q) * slope).sum()):
                break
            eta *= BETA
        else:
            break
        moved = float(np.abs(new - q).sum())
        q, value = new, reached
        if moved < TOLERANCE:
            break
    return q


def step(q: Floats, slope: Floats, eta: float) -> Floats:
    """q exp(-eta slope), normalised row by row in the log domain."""
    return floored(softmax(np.log(q) - eta * slope))


def fit(q: Floats, safe: Floats, measure: Callable[[Floats], float], budget: float) -> Floats:
    """q itself where measure(q) <= budget, else mixed with `safe`, which is within it, as little as is enough.

    measure is convex. Part of repair 10.
    """
    if measure(q) <= budget:
        return q
    low, high = 0.0, 1.0
    for _ in range(MOST_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if measure((1 - middle) * q + middle * safe) <= budget else (middle, high)
    return np.asarray((1 - high) * q + high * safe)
