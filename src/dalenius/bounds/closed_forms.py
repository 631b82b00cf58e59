"""Upper bounds by formula, most of them for channels of any size (MATH 4.8, 4.9).

Each is a frozen proof: the number, the parameters that were chosen to make it small, and what a certificate holds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.proof import Rounding
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.counting import log_binomial
from dalenius.model.reference import UNIFORM, Reference
from dalenius.numerics.deferred import logsumexp, minimize
from dalenius.numerics.information import lse
from dalenius.numerics.least import least_between
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.outputs import OriginalOutputs
from dalenius.settings import DEFAULT, ClosedForms


@dataclass(frozen=True)
class Formula:
    """What all of them share: a number, and no more to say than their kind."""

    kind: ClassVar[str]
    upper: float

    @property
    def name(self) -> str:
        """The kind."""
        return self.kind

    def claim(self, rounding: Rounding) -> float:
        """Return the bound raised by how far rounding may reach."""
        return self.upper + rounding.bound

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:  # noqa: ARG002 - a formula needs none
        """Return the parameters of the formula."""
        return {}


def least_along_s(bound: Callable[[float], float], settings: ClosedForms) -> tuple[float, float]:
    """Return the least value of a bound along s > 0, and that s."""
    low, high = math.log(settings.least_s), math.log(settings.most_s)
    log_s, value = least_between(lambda log_s: bound(math.exp(log_s)), low, high)
    return value, math.exp(log_s)


@dataclass(frozen=True)
class Trivial(Formula):
    """min(log|A|, log|Y|)."""

    kind = "trivial"


@dataclass(frozen=True)
class AtReference(Formula):
    """I(A;Y) at the only prior there is: knowledge 0 leaves the reference alone."""

    kind = "reference"


@dataclass(frozen=True)
class Maximal(Formula):
    """K + log sum_t max_a rho(t|a): knowledge, and the maximal leakage of the reference (MATH 4.8)."""

    kind = "maximal"

    def claim(self, rounding: Rounding) -> float:
        """The log masses of rows enter as they are."""
        return super().claim(rounding) + rounding.mass

    @classmethod
    def of(cls, cells: Cells) -> "Maximal":
        """Every row t of the channel counts with the value a under which it is likeliest."""
        given = cells.log_rho - cells.log_rows[cells.secret]
        likeliest = np.full(len(cells.lumped.channel), -np.inf)
        np.maximum.at(likeliest, cells.lumped.row, given)
        return cls(cells.knowledge + float(np.logaddexp.reduce(likeliest)))


@dataclass(frozen=True)
class Sibson(Formula):
    """order/(order-1) K + I_order(A;T) at the reference: Sibson's information [sibson69], T the sum (MATH 4.8)."""

    kind = "sibson"
    order: float = math.inf

    def claim(self, rounding: Rounding) -> float:
        """Powers of the order magnify rounding."""
        return super().claim(rounding) + rounding.bound * (1 + 1 / (self.order - 1) + self.order)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:  # noqa: ARG002 - no outputs enter
        """Return the order."""
        return {"order": self.order}

    @classmethod
    def of(cls, cells: Cells) -> "Sibson":
        """The rows of the channel as T."""
        log_reference = np.full((cells.n_secrets, len(cells.lumped.channel)), -np.inf)
        log_reference[cells.secret, cells.lumped.row] = cells.log_rho
        rows = log_reference[:, np.unique(cells.lumped.row)]
        return cls.best(rows, cells.knowledge, cells.settings.closed_forms)

    @classmethod
    def best(cls, log_reference: Floats, knowledge: float, settings: ClosedForms = DEFAULT.closed_forms) -> "Sibson":
        """Choose the order, for log rho(a,t) as (A, K).

        I_order = order/(order-1) log sum_t ( sum_a rho(a) rho(t|a)^order )^(1/order). In rare classes max_a rho(t|a)
        stands for the mean of that order, which it bounds.
        """
        log_p = logsumexp(log_reference, axis=1, keepdims=True)
        log_p, log_reference = log_p[np.isfinite(log_p[:, 0])], log_reference[np.isfinite(log_p[:, 0])]
        given = log_reference - log_p
        top = given.max(axis=0)
        common = top > top.max() - settings.rare_nats
        rest, given = np.logaddexp.reduce(top[~common], initial=-np.inf), given[:, common]

        def bound(s: float) -> float:
            means = lse((log_p + (1 + 1 / s) * given).T) / (1 + 1 / s)
            return (1 + s) * (knowledge + float(np.logaddexp(lse(means), rest)))

        upper, s = least_along_s(bound, settings)
        return cls(upper, 1 + 1 / s)


@dataclass(frozen=True)
class Blend(Formula):
    """share I(A;Y) + (1 - share) H(A), paid for with share x order x eta of knowledge (MATH 4.8).

    eta: how much of a divergence the noise leaves, or 1. With lam = share x order x eta and c = 1 - share + lam it is
    lam K + c log sum_a rho(a)^(lam/c) exp( share G_a / c ),
    G_a = (order-1) log sum_t rho(t|a) ( rho(t|a) / rho(t) )^(1/(order-1)).
    """

    kind = "blend"
    order: float = 2.0
    share: float = 1.0

    def claim(self, rounding: Rounding) -> float:
        """Powers of the order magnify rounding."""
        return super().claim(rounding) + rounding.bound * (1 + 1 / (self.order - 1) + self.order)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:  # noqa: ARG002 - no outputs enter
        """Return order and share."""
        return {"order": self.order, "share": self.share}

    @classmethod
    def best(
        cls,
        log_reference: Floats,
        knowledge: float,
        eta: float = 1.0,
        settings: ClosedForms = DEFAULT.closed_forms,
    ) -> "Blend":
        """Choose order and share, for log rho(a,t) as (A, K). Rare classes come in blocks, by their largest ratio."""
        log_a = logsumexp(log_reference, axis=1)
        held = np.isfinite(log_a)
        log_a, joint = log_a[held], log_reference[held]
        given, ratio = in_blocks(joint - log_a[:, None], logsumexp(joint, axis=0), settings)
        known = np.isfinite(given)

        def log_gain(power: float) -> Floats:
            return lse(np.where(known, given + power * ratio, -np.inf)) / power

        return cls.chosen(log_a, log_gain, knowledge, eta, settings)

    @classmethod
    def chosen(
        cls, log_a: Floats, log_gain: Callable[[float], Floats], knowledge: float, eta: float, settings: ClosedForms
    ) -> "Blend":
        """Choose order and share, for log rho(a) and G_a by 1/(order-1)."""

        def bound(at: Floats) -> float:
            share, power = 1 / (1 + math.exp(-at[0])), math.exp(-at[1])
            return blended(log_a, log_gain(power), eta, knowledge, power=power, share=share)

        most = settings.most_share_log_odds
        box = [(-most, most), (math.log(settings.least_s), math.log(settings.most_s))]
        # Two parameters and no gradient at hand; from one start alone it misses the best share now and then.
        found = [minimize(bound, at, method="Nelder-Mead", bounds=box) for at in settings.blend_starts]
        at = min(found, key=lambda f: float(f.fun))
        return cls(float(at.fun), 1 + math.exp(float(at.x[1])), 1 / (1 + math.exp(-float(at.x[0]))))


def blended(log_a: Floats, log_gain: Floats, eta: float, knowledge: float, *, power: float, share: float) -> float:  # noqa: PLR0913 - the formula
    """The bound of a Blend, power = 1/(order-1), log_gain = G_a."""
    lam = share * (1 + 1 / power) * eta
    total = 1 - share + lam
    return lam * knowledge + total * float(lse((share * log_gain + lam * log_a) / total))


def in_blocks(given: Floats, log_t: Floats, settings: ClosedForms) -> tuple[Floats, Floats]:
    """log rho(t|a) and the log ratio to rho(t): of single classes, and where they are rare of blocks of classes.

    A block has the sum of its masses and its largest ratio.
    """
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isfinite(given), given - log_t, -np.inf)
    likely = np.flatnonzero(given.max(axis=0) > given.max() - settings.rare_nats)
    first, end, size = int(likely[0]), int(likely[-1]) + 1, given.shape[1]
    inner = np.arange(first, end)
    outer = [
        np.unique(np.linspace(low, high, settings.rare_blocks, endpoint=False).astype(int))
        for low, high in ((0, first), (end, size))
        if high > low
    ]
    starts = np.unique(np.concatenate([inner, *outer]))
    return np.logaddexp.reduceat(given, starts, axis=1), np.maximum.reduceat(ratio, starts, axis=1)


@dataclass(frozen=True)
class Centre(Formula):
    """s K + s log sum_t rho(t) exp( D(q_t || r) / s ), r the noise around an integer (MATH 4.9)."""

    kind = "centre"
    centre: int = 0
    s: float = 1.0

    def claim(self, rounding: Rounding) -> float:
        """Rounding inside the logarithm is multiplied by s."""
        return super().claim(rounding) + rounding.bound * (1 + self.s)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:  # noqa: ARG002 - no outputs enter
        """Return where r stands, and s."""
        return {"centre": self.centre, "s": self.s}

    @classmethod
    def best(
        cls,
        mechanism: NoisySum,
        knowledge: float,
        reference: Reference = UNIFORM,
        settings: ClosedForms = DEFAULT.closed_forms,
    ) -> "Centre":
        """Put r around the mean answer, and choose s."""
        log_size, answers = reference.log_classes(mechanism.statistic), mechanism.answers
        centre = round(float(np.exp(log_size) @ answers))
        with np.errstate(over="ignore"):
            far = mechanism.noise.divergence(np.abs(answers - centre).astype(float))

        def bound(s: float) -> float:
            return s * (knowledge + float(logsumexp(log_size + far / s)))

        upper, s = least_along_s(bound, settings)
        return cls(upper, centre, s)


@dataclass(frozen=True)
class Centres(Formula):
    """s K + sum_v (s/k) log sum_t Bin(t; n, p_v) exp( k D(t - c_v) / s ), D that of the noise (MATH 4.9).

    Rows are products, so that with r the noise around the integers c_v D(q_t || r) <= sum_v D(t_v - c_v); then
    Hoelder's inequality for the product of the k exponentials.
    """

    kind = "centre"
    centre: tuple[int, ...] = ()
    s: float = 1.0

    def claim(self, rounding: Rounding) -> float:
        """Rounding inside the logarithm is multiplied by s."""
        return super().claim(rounding) + rounding.bound * (1 + self.s)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:  # noqa: ARG002 - no outputs enter
        """Return where r stands in every count, and s."""
        return {"centre": list(self.centre), "s": self.s}

    @classmethod
    def best(
        cls, mechanism: NoisyCounts, knowledge: float, law: Floats, settings: ClosedForms = DEFAULT.closed_forms
    ) -> "Centres":
        """Put r around the mean counts, and choose s."""
        n, k = mechanism.n, mechanism.k
        masses, times = np.unique(law, return_counts=True)
        log_size = np.stack([log_binomial(n, (1 - p, p)) for p in masses.tolist()])
        centres = np.rint(n * masses).astype(np.int64)
        with np.errstate(over="ignore"):
            far = mechanism.noise.divergence(np.abs(np.arange(n + 1) - centres[:, None]).astype(float))

        def bound(s: float) -> float:
            return s * (knowledge + float(times @ logsumexp(log_size + k * far / s, axis=1)) / k)

        upper, s = least_along_s(bound, settings)
        places = centres[np.searchsorted(masses, law)].tolist()
        return cls(upper, tuple(places), s)


def blend_of_counts(
    n: int, knowledge: float, law: Floats, eta: float = 1.0, settings: ClosedForms = DEFAULT.closed_forms
) -> Blend:
    """Choose order and share of a blend (MATH 4.8), where G_a is an expectation over one count.

    G_a = (order-1) log E( (1 + B) / (n p_a) )^(1/(order-1)),   B ~ Binomial(n-1, p_a).

    Where all values have the same probability a share below 1 only mixes in the trivial bound.
    """
    masses, place = np.unique(law, return_inverse=True)
    parts = [one_count(n, p, settings) for p in masses.tolist()]

    def log_gain(power: float) -> Floats:
        return np.array([part(power) for part in parts])[place]

    if masses.size > 1:
        return Blend.chosen(np.log(law), log_gain, knowledge, eta, settings)

    def bound(s: float) -> float:
        power = 1 / s
        return blended(np.log(law), log_gain(power), eta, knowledge, power=power, share=1.0)

    upper, s = least_along_s(bound, settings)
    return Blend(upper, 1 + s, 1.0)


def one_count(n: int, p: float, settings: ClosedForms = DEFAULT.closed_forms) -> Callable[[float], float]:
    """G_a by 1/(order-1), for a value of probability p."""
    given = log_binomial(n - 1, (1 - p, p))
    ratio = np.log(np.arange(1.0, n + 1)) - math.log(n * p)
    log_p, log_ratio = (part[0] for part in in_blocks(given[None], given - ratio, settings))
    return lambda power: float(lse(log_p + power * log_ratio)) / power
