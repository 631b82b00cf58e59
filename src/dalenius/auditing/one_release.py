"""One release in place of several of the same sum: all of them together are a function of it, with chance.

Geometric and Laplace noise of the rates c_1, c_2, ... is a function of geometric noise of the rate c_1 + c_2 + ... on
the same answer (the cone, MATH 4.14). Gaussian noise of the variances v_1, v_2, ... is one of Gaussian noise of the
variance v, 1/v = 1/v_1 + 1/v_2 + ..., as the weighted mean is sufficient; and that, but for a tiny chance, of discrete
Gaussian noise of a little less variance on a lattice, which is what is audited. From below neither says anything.
"""

import math
from dataclasses import dataclass
from typing import Any

from dalenius.bounds.proof import Proof, Rounding
from dalenius.model.channels.joint import Joint
from dalenius.model.channels.noise import DiscreteGaussian, Gaussian, Geometric
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.gallery import queries
from dalenius.model.statistic import Sum
from dalenius.reductions.lump import OriginalOutputs

# Above the sum of the rates, so that rounding does not bring it below.
ROUNDED_UP = 1 + 1e-13
# What the lattice may take of the variance, as a share, and the finest one. What it takes is TAKEN / g^2: the sum over
# the lattice of a density of that variance is 1 within 1e-6.
SHARE, FINEST, TAKEN = 0.002, 16, 0.75


@dataclass(frozen=True, eq=False)
class OneRelease:
    """The release, and the way back for upper bounds: the chance `kept` that all releases are a function of it."""

    channel: NoisySum
    step: dict[str, Any]
    kept: float = 1.0

    def proof(self, inside: Proof, values: int) -> "ThroughOne":
        """The proof about several releases that one about this makes; the secret has so many values."""
        return ThroughOne(inside, self, (1 - self.kept) * math.log(values))


@dataclass(frozen=True, eq=False)
class ThroughOne:
    """Guarantee: upper >= I(A;Y_1,Y_2,...) of every prior the adversary may hold."""

    inside: Proof
    one: OneRelease
    added: float

    @property
    def kind(self) -> str:
        """The kind of the proof inside."""
        return self.inside.kind

    @property
    def name(self) -> str:
        """The step, and the bound inside."""
        return f"{self.one.step['step']}, {self.inside.name}"

    @property
    def upper(self) -> float:
        """The bound."""
        return self.one.kept * self.inside.upper + self.added

    def claim(self, rounding: Rounding) -> float:
        """What the proof inside claims, and what the coin tells."""
        return self.one.kept * self.inside.claim(rounding) + self.added + rounding.bound

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return the proof inside, after one more step."""
        data = self.inside.to_certificate(outputs)
        return {**data, "steps": [self.one.step, *data.get("steps", ())]}


def one_release(joint: Joint) -> OneRelease:
    """Return the release that stands for all parts of a joint one."""
    if joint.rates:
        rate = math.fsum(joint.rates) * ROUNDED_UP
        channel = NoisySum(joint.query, f"geometric(rate={rate!r})", Geometric(rate))
        return OneRelease(channel, {"step": "cone", "rate": rate})
    precision, kept = 0.0, 1.0
    for part in joint.rounded:
        assert isinstance(part.noise, (Gaussian, DiscreteGaussian))  # for the type checker: no other
        variance = part.noise.sigma**2
        if isinstance(part.noise, DiscreteGaussian):
            # Rounded noise of this variance, but for a small chance.
            rounded = variance / 2 * (1 + math.sqrt(max(0.0, 1 - 1 / (3 * variance))))
            kept, variance = kept * math.sqrt(rounded / variance) / over_integers(variance), rounded
        precision += 1 / variance
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


def over_integers(variance: float) -> float:
    """The sum over all integers of the density of a normal law, by Poisson's formula."""
    return 1 + 2 * math.fsum(math.exp(-2 * math.pi**2 * variance * k * k) for k in range(1, 40))
