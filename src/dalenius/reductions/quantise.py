"""Real outputs become finitely many, and brackets find their way back.

With the rule of model/channels/real.py the finite channel

    q(k|t) = c w_k p_t(y_k),      q(rest|t) = 1 - sum_k q(k|t),      c = 1 - slack,

is proper where no row of the rule sums to more than 1/c, and for every secret and prior, K answers, rest the largest
q(rest|t),

    (I(A;J) - rest log K)/c - error  <=  I(A;Y)  <=  I(A;J)/c + error + skipped log K,

as the term of the rest in I(A;J) lies between 0 and rest x log K.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalenius.model.channels.real import Quadrature, Real
from dalenius.model.channels.written import Written
from dalenius.model.prior import Prior
from dalenius.reductions.way_back import WayBack

# More than the sums of a row can lose by rounding.
ROUNDED = 1e-13


@dataclass(frozen=True, eq=False)
class Quantised(WayBack):
    """A finite channel in place of a real one, and the way back: how far the two can differ."""

    mechanism: Real
    rule: Quadrature
    channel: Written
    # K, 1 - c, and the largest q(rest|t)
    answers: int
    slack: float
    rest: float

    def lower(self, leaked: float) -> float:
        """Guarantee: result <= I(A;Y) for every prior whose I(A;J) is at least `leaked`."""
        found = (leaked - self.rest * math.log(self.answers)) / (1 - self.slack) - self.rule.error
        return max(0.0, found - ROUNDED)

    def upper(self, bound: float) -> float:
        """Guarantee: I(A;Y) <= result for every prior whose I(A;J) is at most `bound`."""
        hidden = self.rule.error + self.rule.skipped * math.log(self.answers)
        return min(bound / (1 - self.slack) + hidden + ROUNDED, math.nextafter(math.log(self.answers), math.inf))

    def prior(self, witness: Prior) -> Prior:
        return replace(witness, mechanism=self.mechanism)

    def to_certificate(self) -> dict[str, Any]:
        return {"quadrature": self.rule.description}


def quantise(mechanism: Real, error: float) -> Quantised:
    """Return the finite channel that widens a bracket by about `error`, on the classes of the query."""
    rule = mechanism.rule(error)
    slack = float(rule.description["slack"])  # type: ignore[arg-type]
    inner = (1 - slack) * rule.masses
    rest = np.maximum(1 - inner.sum(axis=1), 0.0)
    rows = np.column_stack([inner, rest])
    channel = Written(mechanism.statistic, rows, tuple(range(rows.shape[1])), mechanism.query, mechanism.name)
    return Quantised(mechanism, rule, channel, np.unique(mechanism.answers).size, slack, float(rest.max()) + ROUNDED)
