"""What a noisy sum of very many records leaks about all of them, by convolutions in the place of a channel.

For every output law r the divergences D_t = D( q(.|t) || r ) of all rows are one convolution with the law of the noise:

    D_t = sum_y q(y|t) log q(y|t) - E log r( clamp(f_t + noise) ).

They bound what the whole channel leaks, as in `bounds.capacity` (MATH 4.2 with the dataset as the secret).
"""

from dataclasses import dataclass

import numpy as np

from dalenius.bounds.capacity import Capacity
from dalenius.bounds.closing import least_closed
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.reference import UNIFORM, Reference
from dalenius.numerics.information import logsumexp, xlogy
from dalenius.numerics.types import Floats
from dalenius.search.deadline import Deadline

# How far rounding and the noise out of sight may reach, relative to 1 + the bound.
MARGIN = 1e-8


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a mechanism that is never written out, by what a convolution gives of them."""

    mechanism: NoisySum
    # The law of the noise from -reach to reach.
    law: Floats
    # sum_y q(y|t) log q(y|t) for every class t
    own: Floats

    @classmethod
    def of(cls, mechanism: NoisySum) -> "Rows":
        """Cut the noise where it is negligible, and add up p log p outward from 0, up to the ends of the range."""
        reach = mechanism.reach()
        law = mechanism.noise.law(np.arange(-reach, reach + 1.0))
        law[[0, -1]] = mechanism.tail(reach)
        return cls(mechanism, law, own_terms(mechanism))

    def outputs(self, prior: Floats, floor: float = 1e-25) -> Floats:
        """The law of Y under a law of the classes; nowhere below what a convolution can tell from 0."""
        r = np.maximum(self.mechanism.convolved(prior[None])[0], floor)
        return np.asarray(r / r.sum())

    def divergence(self, r: Floats) -> Floats:
        """D( q(.|t) || r ) for every class t."""
        from scipy.signal import oaconvolve

        reach = self.law.size // 2
        log_r = np.log(r)
        wide = np.concatenate([np.full(reach, log_r[0]), log_r, np.full(reach, log_r[-1])])
        # The law is its own mirror image.
        mean = oaconvolve(wide, self.law, mode="valid")
        return np.asarray(self.own - mean[self.mechanism.answers - self.mechanism.low])


def own_terms(mechanism: NoisySum) -> Floats:
    """Return sum_y q(y|t) log q(y|t) of every class t, from sums of p log p outward from 0."""
    width, f = mechanism.high - mechanism.low, mechanism.answers
    if not width:
        return np.zeros(f.size)
    inside = mechanism.noise.law(np.arange(width + 1.0))
    added = np.cumsum(xlogy(inside, inside))
    ends = mechanism.noise.tail(np.arange(1.0, width + 1))
    # Beyond f on one side, m steps from that end: outputs inside the range, then all the rest on the end.
    beside = np.concatenate([[0.0], added[:-1] - added[0] + xlogy(ends, ends)])
    centre = np.where((f > mechanism.low) & (f < mechanism.high), added[0], xlogy(*[1 - mechanism.tail(1)] * 2))
    return np.asarray(beside[mechanism.high - f] + beside[f - mechanism.low] + centre)


def capacity_by_convolution(mechanism: NoisySum, deadline: Deadline, gap: float = 1e-3, rounds: int = 200) -> Capacity:
    """Return a bracket on max_p I(X;Y) of the whole channel, by Blahut's and Arimoto's alternating iteration.

    Guarantee: lower <= C <= upper in nats, I(p) <= C <= max_t D_t at every p and r = p q, moved outward by more than
    rounding reaches; upper is at most the maximal leakage. It ends at this gap, since each further digit takes several
    times the rounds, after so many rounds, or when the deadline expires.
    """
    rows = Rows.of(mechanism)
    p = np.full(rows.own.size, 1 / rows.own.size)
    lower, upper, best = 0.0, mechanism.log_most_likely(), p
    for _ in range(rounds):
        divergence = rows.divergence(rows.outputs(p))
        low = float(p @ divergence)
        lower, best = (low, p) if low > lower else (lower, best)
        upper = min(upper, float(divergence.max()))
        if upper - lower <= gap or deadline.expired():
            break
        # p(t) ~ p(t) exp D_t
        p = p * np.exp(divergence - divergence.max())
        p /= p.sum()
    margin = MARGIN * (1 + upper)
    return Capacity(max(0.0, lower - margin), upper + margin, best)


def knowledge_bound(
    mechanism: NoisySum,
    knowledge: float,
    deadline: Deadline,
    reference: Reference = UNIFORM,
    *,
    laws: int = 4,
    mixed: float = 1e-6,
) -> float:
    """Guarantee: result >= I(X;Y) in nats for every prior p with D(p || reference) <= knowledge.

    The least of the maximal leakage and, over s > 0 and a few output laws r, of (see `composition.information_bound`)

        s log( sum_t rho(t) exp(D_t / s) ) + s knowledge,   rho(t) the mass of class t under the reference.

    The first r is what data of the reference give, each further one what the prior rho exp(D/s) of the bound before
    gives: the alternating iteration again, for so many laws. A little of the uniform law is mixed in, so that rare
    outputs do not weigh.
    """
    rows, log_rho = Rows.of(mechanism), reference.log_classes(mechanism.statistic)
    most = best = mechanism.log_most_likely()
    prior = np.exp(log_rho)
    for _ in range(laws):
        r = rows.outputs(prior)
        divergence = rows.divergence((1 - mixed) * r + mixed / r.size)
        s, bound = least_closed(log_rho, divergence, knowledge, s_range=(1e-6, 1e6))
        best = min(best, bound)
        if deadline.expired():
            break
        tilted = log_rho + divergence / s
        prior = np.exp(tilted - logsumexp(tilted))
    return best + MARGIN * (1 + most)
