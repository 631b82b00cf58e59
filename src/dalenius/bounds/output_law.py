"""An output law by steps, for noise on a sum that is never written out (MATH 4.2 with the dataset as the secret).

For every law r of outputs, s > 0 and rho(t) the reference mass of the class t,

    I(A;Y) <= I(X;Y) <= sum_t pi(t) D_t <= s K + s log sum_t rho(t) exp( D_t / s ),     D_t = D( q(.|t) || r ),

and at most max_t D_t, which is the limit s -> 0 and needs no limit on knowledge: with the best r it is the capacity.
Here r is constant between cuts, so that a certificate holds some hundred numbers however many outputs there are.
"""

import math
import sys

import numpy as np

from dalenius.bounds.capacity import bracket
from dalenius.bounds.closing import Formula, close, least_closed
from dalenius.bounds.convolution import own_terms
from dalenius.bounds.whole import alternate
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.reference import UNIFORM, Reference
from dalenius.numerics.information import logsumexp
from dalenius.numerics.types import Floats, Ints
from dalenius.search.deadline import Deadline


def output_law(
    mechanism: NoisySum, knowledge: float, deadline: Deadline, reference: Reference = UNIFORM, *, groups: int = 128
) -> Formula:
    """Return the better of two laws: one for this knowledge, one for knowledge without limit."""
    return min(laws_below(mechanism, knowledge, deadline, reference, groups=groups), key=lambda law: law.upper)


def laws_below(
    mechanism: NoisySum,
    knowledge: float,
    deadline: Deadline,
    reference: Reference = UNIFORM,
    *,
    known: float = math.inf,
    groups: int = 128,
    terms: int = 2**24,
    few_rows: int = 257,
    accuracy: float = 1e-6,
    hope: float = 1.1,
) -> list[Formula]:
    """Choose laws on a few rows and groups of outputs, and evaluate on all rows those that may be below `known`.

    Few rows show what a law is worth to some per cent. One that is far above `known` would cost passes over all rows
    for nothing.

    groups: of outputs. Without a limit on knowledge 32 come within 1e-3 of the best law, at knowledge 1 and 10 it takes
    128 to come within 2 % and 0.4 %. terms: products of a class and a group, which a verifier adds up in a second or
    two; fewer groups where they are more. accuracy: of the best law of few rows, far below what the steps of r cost.
    hope: a law is evaluated where few rows put it below this multiple of `known`. With 1 the best of 28 bounds of four
    sums was lost twice, with 1.1 never in 20; passes over all rows cost up to a third.
    """
    cuts = _cuts(mechanism, max(4, min(groups, terms // mechanism.answers.size)))
    log_rho = reference.log_classes(mechanism.statistic)
    starts = np.unique(np.linspace(0, log_rho.size, few_rows + 1).astype(np.int64)[:-1])
    # A class in the middle of each block stands for it, the first and the last class for the outermost.
    chosen = (starts + np.append(starts[1:], log_rho.size) - 1) // 2
    chosen[[0, -1]] = 0, log_rho.size - 1
    channel = np.diff(mechanism.below(cuts - 1 - mechanism.answers[chosen, None]), prepend=0.0, append=1.0)
    channel = np.maximum(channel, 0.0)
    limited = alternate(channel, np.logaddexp.reduceat(log_rho, starts), knowledge, deadline)
    unlimited = bracket(channel, accuracy, deadline)
    log_law = np.log(np.maximum(unlimited.law, sys.float_info.min))
    worth = ((limited.log_r, limited.bound), (log_law, unlimited.lower))
    laws = [log_r - logsumexp(log_r) for log_r, few in worth if few < hope * known]
    own = own_terms(mechanism) if laws else np.empty(0)
    return [_evaluated(log_rho, own - _mean_log(mechanism, cuts, log_r), knowledge, cuts, log_r) for log_r in laws]


def _evaluated(log_rho: Floats, divergence: Floats, knowledge: float, cuts: Ints, log_r: Floats) -> Formula:
    """The bound of a law on all rows, with the best s; or their largest divergence, with s = 0."""
    s, upper = least_closed(log_rho, divergence, knowledge)
    most = float(close(log_rho, divergence, knowledge, s=0.0))
    upper, s = (most, 0.0) if most <= upper else (upper, s)
    data = {"cuts": cuts.tolist(), "log_r": log_r.tolist(), "s": s}
    # Running sums over the classes round once for each.
    return Formula("law", upper, data, s, doubt=sys.float_info.epsilon * log_rho.size)


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
