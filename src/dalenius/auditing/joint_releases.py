"""Audits of several releases of one sum that are never written out.

Lower bound: ascents on coarse classes, and on groups of outputs of every release. Upper bound: that of one release from
which all of them can be drawn; where the bracket stays open, and the noise falls by a factor a step, monotone rows on
points.

Geometric and Laplace noise of the rates c_1, c_2, ... is a function of geometric noise of the rate c_1 + c_2 + ... on
the same answer (the cone, MATH 4.14). Gaussian noise of the variances v_1, v_2, ... is one of Gaussian noise of the
variance v, 1/v = 1/v_1 + 1/v_2 + ..., as the weighted mean is sufficient; and that, but for a tiny chance, of discrete
Gaussian noise of a little less variance on a lattice, which is what is audited. Neither gives a lower bound.

A second release that is chosen by the first output is bounded from above by one that is not, with the least noise that
may be chosen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalenius.auditing.audited import Audited
from dalenius.auditing.from_below import from_below, of_sum
from dalenius.auditing.unwritten_sums import audit_large, refusal, try_points
from dalenius.bounds.closing import Formula, Stepped
from dalenius.bounds.on_points import Several
from dalenius.bounds.proof import Proof
from dalenius.errors import InputError
from dalenius.model.channels.joint import Joint
from dalenius.model.channels.noise import DiscreteGaussian, Geometric, over_integers
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.gallery import queries
from dalenius.model.problem import AuditProblem
from dalenius.model.query import Query
from dalenius.model.secret import Secret
from dalenius.model.statistic import Sum
from dalenius.reductions.coarse import Coarseness, coarsen_releases
from dalenius.search.deadline import Deadline

# Factor that keeps the sum of the rates from being rounded down.
ROUNDED_UP = 1 + 1e-13
# Largest share of the variance that the lattice may take, and the finest lattice. It takes TAKEN / g^2: the sum over
# the lattice of a density of that variance is 1 within 1e-6.
SHARE, FINEST, TAKEN = 0.002, 16, 0.75


@dataclass(frozen=True, eq=False)
class OneRelease:
    """The one release, and the way back for upper bounds: with chance `kept` all releases can be drawn from it."""

    channel: NoisySum
    step: dict[str, Any]
    kept: float = 1.0

    def proof(self, inside: Proof, values: int) -> Stepped:
        """Turn a proof about this release into one about all of them; values: how many the secret has."""
        lost = (1 - self.kept) * math.log(values)
        return Stepped(inside, self.step, f"{self.step['step']}, {inside.name}", self.kept, lost)


def of_all_rates(query: Query, rates: Sequence[float]) -> OneRelease:
    """Return the release that stands for releases of one sum with geometric or Laplace noise of these rates."""
    rate = math.fsum(rates) * ROUNDED_UP
    channel = NoisySum(query, f"geometric(rate={rate!r})", Geometric(rate))
    return OneRelease(channel, {"step": "cone", "rate": rate})


def one_release(joint: Joint) -> OneRelease:
    """Return the release from which all parts of a joint one can be drawn."""
    if joint.rates:
        return of_all_rates(joint.query, joint.rates)
    precision, kept = 0.0, 1.0
    for part in joint.rounded:
        assert part.noise.normal is not None  # for the type checker: no other
        variance, chance = part.noise.normal
        kept, precision = kept * chance, precision + 1 / variance
    v = 1 / precision
    g = min(FINEST, max(1, math.ceil(math.sqrt(TAKEN / (SHARE * v)))))
    u = v - min(TAKEN / g**2, v / 2)
    sigma = g * math.sqrt(u)
    kept *= (1 - 1e-12) / over_integers(u * (v - u) / v * g**2)
    statistic = joint.statistic
    assert isinstance(statistic, Sum)  # for the type checker: a joint release is of a sum
    query = queries.total(n=statistic.n, values=[g * c for c in statistic.contributions])
    channel = NoisySum(query, f"discrete_gaussian(sigma={sigma!r})", DiscreteGaussian(sigma), clamp=False)
    return OneRelease(channel, {"step": "mean", "lattice": g, "sigma": sigma}, kept)


# Share of the time for the audit of the one release; for Gaussian noise it gives the only upper bound.
ONE_SHARE, ONLY_SHARE = 0.3, 0.7


def audit_joint(problem: AuditProblem, joint: Joint, about: Secret, deadline: Deadline) -> Audited:
    """Bracket max I(about;Y_1,Y_2,...), with the way from coarse cells to classes."""
    noisy = joint.rounded[0]
    if (reason := refusal(problem, noisy, about)) is not None:
        raise InputError(reason)
    one = one_release(joint)
    share = deadline.part((ONE_SHARE if joint.rates else ONLY_SHARE) * deadline.left)
    single = audit_large(replace(problem, mechanism=one.channel), one.channel, about, share)
    coarse = coarsen_releases(joint, about, problem.knowledge, problem.reference, problem.settings.of(Coarseness))
    look = of_sum(problem, noisy, about, coarse=coarse, start=single.masses)
    proofs: list[Proof] = [one.proof(single.audit.proof, look.lumped.secrets)]
    if problem.knowledge <= 0:
        proofs.append(Formula("trivial", single.audit.trivial))
    joined = from_below(problem, about, [look], deadline, proofs=proofs)
    if not single.audit.open:
        joined.audit.tried[proofs[0].name] = "all that one release tells"
    if joint.rates:
        try_points(problem, noisy, about, deadline, joined.audit, noise=Several.of(joint))
    return joined
