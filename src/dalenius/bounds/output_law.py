"""An output law by steps, for noise on a sum that is never written out (MATH 4.2 with the dataset as the secret).

For every law r of outputs, s > 0 and rho(t) the reference mass of the class t,

    I(A;Y) <= I(X;Y) <= sum_t pi(t) D_t <= s K + s log sum_t rho(t) exp( D_t / s ),     D_t = D( q(.|t) || r ),

and at most max_t D_t, which is the limit s -> 0 and needs no limit on knowledge: with the best r it is the capacity.
Here r is constant between cuts, so that a certificate holds some hundred numbers however many outputs there are.
"""

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.bounds.capacity import best_multiplier, bracket
from dalenius.bounds.closed_forms import Formula
from dalenius.bounds.convolution import own_terms
from dalenius.bounds.proof import Rounding
from dalenius.bounds.whole import alternate
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.reference import UNIFORM, Reference
from dalenius.numerics.deferred import logsumexp
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.outputs import OriginalOutputs
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT, ClosedForms


@dataclass(frozen=True, eq=False)
class OutputLaw(Formula):
    """s K + s log sum_t rho(t) exp( D_t / s ), or max_t D_t where s = 0; r constant between cuts."""

    kind = "law"
    cuts: Ints
    log_r: Floats  # of every group of outputs, together
    s: float
    classes: int

    def claim(self, rounding: Rounding) -> float:
        """Sums over classes and outputs round once for each term."""
        return super().claim(rounding) + rounding.bound * (1 + self.s) + sys.float_info.epsilon * self.classes

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:  # noqa: ARG002 - none is written out
        """Return the steps of r, and s."""
        return {"cuts": self.cuts.tolist(), "log_r": self.log_r.tolist(), "s": self.s}

    @classmethod
    def best(
        cls,
        mechanism: NoisySum,
        knowledge: float,
        deadline: Deadline,
        reference: Reference = UNIFORM,
        settings: ClosedForms = DEFAULT.closed_forms,
    ) -> "OutputLaw":
        """Return the better of two laws: one for this knowledge, one for knowledge without limit."""
        return min(cls.below(mechanism, knowledge, deadline, reference, settings), key=lambda law: law.upper)

    @classmethod
    def below(  # noqa: PLR0913 - a problem, and a bound
        cls,
        mechanism: NoisySum,
        knowledge: float,
        deadline: Deadline,
        reference: Reference = UNIFORM,
        settings: ClosedForms = DEFAULT.closed_forms,
        *,
        known: float = math.inf,
    ) -> list["OutputLaw"]:
        """Choose laws on a few rows and groups of outputs, and evaluate on all rows those that may be below `known`.

        Few rows show what a law is worth to some per cent. One that is far above `known` would cost passes over all
        rows for nothing.
        """
        cuts = _cuts(mechanism, max(4, min(settings.law_groups, settings.law_terms // mechanism.answers.size)))
        log_rho = reference.log_classes(mechanism.statistic)
        starts = np.unique(np.linspace(0, log_rho.size, settings.law_rows + 1).astype(np.int64)[:-1])
        # A class in the middle of each block stands for it, the first and the last class for the outermost.
        chosen = (starts + np.append(starts[1:], log_rho.size) - 1) // 2
        chosen[[0, -1]] = 0, log_rho.size - 1
        channel = np.diff(mechanism.below(cuts - 1 - mechanism.answers[chosen, None]), prepend=0.0, append=1.0)
        channel = np.maximum(channel, 0.0)
        limited = alternate(channel, np.logaddexp.reduceat(log_rho, starts), knowledge, deadline)
        unlimited = bracket(channel, settings.law_accuracy, deadline)
        log_law = np.log(np.maximum(unlimited.law, sys.float_info.min))
        worth = ((limited.log_r, limited.bound), (log_law, unlimited.lower))
        laws = [log_r for log_r, few in worth if few < settings.law_hope * known]
        if not laws:
            return []
        own = own_terms(mechanism)
        return [
            cls._with(mechanism, knowledge, log_rho, own, cuts=cuts, log_r=log_r, settings=settings) for log_r in laws
        ]

    @classmethod
    def _with(  # noqa: PLR0913 - the parts of the formula
        cls,
        mechanism: NoisySum,
        knowledge: float,
        log_rho: Floats,
        own: Floats,
        *,
        cuts: Ints,
        log_r: Floats,
        settings: ClosedForms,
    ) -> "OutputLaw":
        """Evaluate a law on all rows, with the best s."""
        log_r = log_r - logsumexp(log_r)
        divergence = own - _mean_log(mechanism, cuts, log_r)
        s, upper = best_multiplier(log_rho, divergence, knowledge, (settings.least_s, settings.most_s))
        most = float(divergence.max())
        upper, s = (most, 0.0) if most <= upper else (upper, s)
        return cls(upper, cuts, log_r, s, log_rho.size)


def _cuts(mechanism: NoisySum, groups: int) -> Ints:
    """Cuts of equal distance; the ends of the range, where clamped outputs pile up, are groups of their own."""
    inner = np.linspace(mechanism.low + 1, mechanism.high, groups - 1)
    return np.unique(np.rint(inner).astype(np.int64))


def _mean_log(mechanism: NoisySum, cuts: Ints, log_r: Floats, *, chunk: int = 2**14) -> Floats:
    """Return sum_y q(y|t) log r(y) of every class t.

    With l_j the log density of group j it is l_0 + sum_j P(Y >= c_j | t) (l_j - l_(j-1)), and P(Y >= c | t) depends on
    c - f(t) alone.
    """
    sizes = np.diff(np.concatenate([[mechanism.low], cuts, [mechanism.high + 1]]))
    density = log_r - np.log(sizes)
    width = mechanism.high - mechanism.low
    # P(noise >= k) for k from -width to width.
    least = np.arange(-width, width + 1)
    above = 1 - mechanism.below(least - 1)
    steps, answers = np.diff(density), mechanism.answers
    parts = [above[cuts + width - answers[i : i + chunk, None]] @ steps for i in range(0, answers.size, chunk)]
    return np.asarray(density[0] + np.concatenate(parts))
