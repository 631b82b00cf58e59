"""Majorants by formula, most of them for channels of any size (MATH 4.8, 4.9, 4.13); `closing` makes bounds of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from dalenius.bounds.closing import S_RANGE, TOGETHER, Formula, close, least_closed
from dalenius.model.channels.noise import Noise, over_integers
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.counting import log_binomial
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.statistic import Sum
from dalenius.numerics.information import logsumexp, lse
from dalenius.numerics.iterations import least_between
from dalenius.numerics.types import Floats, Ints
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class SumSearch(Part):
    """Bounds by formula, and ascents on the coarse problem of a sum."""

    # A contraction above this is not worth a bound of its own.
    least_contraction_used: float = 0.999
    # Share of the time for upper bounds by formula of noise on sums that are never written out: of 10^6 records each
    # takes half a second or more, and 3 s ended without an ascent.
    formula_share: float = 0.4
    # Rounds of an ascent on the coarse problem of a sum, and the gain of a round that is not worth another.
    rounds: int = 400
    still: float = 1e-9
    # Ascents start from the reference tilted by these shares of the tilt that uses up the knowledge, and from a secret
    # that follows the sum up and down, once in every wave.
    tilts: tuple[float, ...] = (0.1, 0.5, 1.0)
    waves: tuple[int, ...] = (2, 5, 16, 64)
    steepest_wave: float = 3.0
    # The share by which further ascents must raise the lower bound, else some in a row end them.
    gain: float = 1e-4
    # The part of a share that is asked for by which a prior stays inside its knowledge and below what it leaks, so that
    # a certificate can state its masses with few digits: 330 kB of ages of 150 become 163.
    digits_share: float = 1e-4
    # Values of a record or a group of records: a verifier takes no more.
    values: int = 2**10
    # Values x classes. Ages of 200 people, 101 values and 20,001 classes, take a minute with their check.
    pairs: int = 2**24
    # Values that are allowed whatever the number of classes.
    few_values: int = 128
    # Values of the secret x outputs of a sum that are added up one by one where nothing is known: 7 s of checking.
    told_entries: int = 2**18


# Classes this many nats below the likeliest one: which order they are taken with changes nothing that is printed.
RARE_NATS = 80.0
ONCE = np.ones(1, dtype=np.int64)


def sibson(log_reference: Floats, knowledge: float) -> Formula:
    """order/(order-1) K + I_order(A;T) at the reference: Sibson's information [sibson69], for log rho(a,t) as (A, K).

    I_order = s log sum_t ( sum_a rho(a) rho(t|a)^order )^(1/order) with s = order/(order-1), eta = 1 (MATH 4.8). In
    rare classes max_a rho(t|a) stands for the mean of that order, which it bounds.
    """
    log_p = logsumexp(log_reference, axis=1, keepdims=True)
    log_p, log_reference = log_p[np.isfinite(log_p[:, 0])], log_reference[np.isfinite(log_p[:, 0])]
    given = log_reference - log_p
    top = given.max(axis=0)
    common = top > top.max() - RARE_NATS
    rest, given = np.logaddexp.reduce(top[~common], initial=-np.inf), given[:, common]

    def gain(sigma: float) -> Floats:
        order = 1 + 1 / sigma
        means = lse((log_p + order * given).T) / order
        return (1 + sigma) * np.logaddexp(lse(means), rest)[None]

    s, upper = least_closed(TOGETHER, gain, knowledge, eta=1.0)
    return Formula("sibson", upper, {"order": s / (s - 1)}, s)


def blend(log_reference: Floats, knowledge: float, eta: float = 1.0) -> Formula:
    """share I(A;Y) + (1 - share) H(A), for log rho(a,t) as (A, K); rare classes come in blocks (MATH 4.8).

    eta: how much of a divergence the noise leaves, or 1. G_a = (order-1) log sum_t rho(t|a) ( rho(t|a) / rho(t)
    )^(1/(order-1)), theta = 1 - share, and s = share x order x eta, which is as large as the majorant's eta.
    """
    log_a = logsumexp(log_reference, axis=1)
    alive = np.isfinite(log_a)
    log_a, joint = log_a[alive], log_reference[alive]
    given, ratio = in_blocks(joint - log_a[:, None], logsumexp(joint, axis=0))
    known = np.isfinite(given)

    def log_gain(power: float) -> Floats:
        return lse(np.where(known, given + power * ratio, -np.inf)) / power

    return _best_blend(log_a, log_gain, knowledge, eta)


def blend_of_counts(n: int, knowledge: float, law: Floats, eta: float = 1.0) -> Formula:
    """A blend where G_a is an expectation over one count, (order-1) log E( (1 + B) / (n p_a) )^(1/(order-1)).

    B ~ Binomial(n-1, p_a). Where all values have the same probability a share below 1 only mixes in the trivial bound.
    """
    masses, place = np.unique(law, return_inverse=True)
    parts = [one_count(n, p) for p in masses.tolist()]

    def log_gain(power: float) -> Floats:
        return np.array([part(power) for part in parts])[place]

    return _best_blend(np.log(law), log_gain, knowledge, eta, shares=masses.size > 1)


def one_count(n: int, p: float) -> Callable[[float], float]:
    """G_a by 1/(order-1), for a value of probability p."""
    given = log_binomial(n - 1, (1 - p, p))
    ratio = np.log(np.arange(1.0, n + 1)) - math.log(n * p)
    log_p, log_ratio = (part[0] for part in in_blocks(given[None], given - ratio))
    return lambda power: float(lse(log_p + power * log_ratio)) / power


def blended(log_a: Floats, log_gain: Floats, eta: float, knowledge: float, *, power: float, share: float) -> float:
    """The bound of a blend, power = 1/(order-1), log_gain = G_a."""
    s = share * (1 + 1 / power) * eta
    return float(close(log_a, share * eta * log_gain, knowledge, s=s, theta=1 - share, eta=s))


def _best_blend(
    log_a: Floats,
    log_gain: Callable[[float], Floats],
    knowledge: float,
    eta: float,
    *,
    shares: bool = True,
    starts: tuple[tuple[float, float], ...] = ((-1.0, -3.0), (1.0, -3.0), (5.0, -6.0), (1.0, -1.0)),
    most_log_odds: float = 30.0,
) -> Formula:
    """Choose the order, and the share unless it is 1, for log rho(a) and G_a by 1/(order-1).

    starts: log odds of the share and log(order - 1), two parameters without a gradient; from one start alone the search
    misses the best share now and then. The share stays within 1 / (1 + e^30) and its complement.
    """

    def blend_at(share: float, log_order: float) -> float:
        power = math.exp(-log_order)
        return blended(log_a, log_gain(power), eta, knowledge, power=power, share=share)

    box = [(-most_log_odds, most_log_odds), (math.log(S_RANGE[0]), math.log(S_RANGE[1]))]
    if shares:
        found = [
            scipy.optimize.minimize(
                lambda x: blend_at(1 / (1 + math.exp(-x[0])), x[1]), start, method="Nelder-Mead", bounds=box
            )
            for start in starts
        ]
        best = min(found, key=lambda f: float(f.fun))
        upper, share, order = float(best.fun), 1 / (1 + math.exp(-float(best.x[0]))), 1 + math.exp(float(best.x[1]))
    else:
        # As s = order x eta, and order - 1 is what is searched.
        log_order, upper = least_between(lambda x: blend_at(1.0, x), *box[1])
        share, order = 1.0, 1 + math.exp(log_order)
    return Formula("blend", upper, {"order": order, "share": share}, 1 - share + share * order * eta)


def in_blocks(given: Floats, log_t: Floats, many: int = 200) -> tuple[Floats, Floats]:
    """log rho(t|a) and the log ratio to rho(t): of single classes, and where they are rare of blocks of classes.

    A block has the sum of its masses and its largest ratio; there are so many on either side.
    """
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isfinite(given), given - log_t, -np.inf)
    likely = np.flatnonzero(given.max(axis=0) > given.max() - RARE_NATS)
    first, end, size = int(likely[0]), int(likely[-1]) + 1, given.shape[1]
    inner = np.arange(first, end)
    outer = [
        np.unique(np.linspace(low, high, many, endpoint=False).astype(int))
        for low, high in ((0, first), (end, size))
        if high > low
    ]
    starts = np.unique(np.concatenate([inner, *outer]))
    return np.logaddexp.reduceat(given, starts, axis=1), np.maximum.reduceat(ratio, starts, axis=1)


def centre(mechanism: NoisySum, knowledge: float, reference: Reference = UNIFORM) -> float:
    """Noise around the mean answer of a sum as the law r of outputs (MATH 4.9): what all records together tell."""
    log_size, answers = reference.log_classes(mechanism.statistic), mechanism.answers
    middle = round(float(np.exp(log_size) @ answers))
    return _around(mechanism.noise, log_size[None], answers[None] - middle, knowledge)


def centre_of_counts(mechanism: NoisyCounts, knowledge: float, law: Floats) -> float:
    """The same around the mean count of every value: rows and r are products over the counts."""
    n = mechanism.n
    masses, times = np.unique(law, return_counts=True)
    log_size = np.stack([log_binomial(n, (1 - p, p)) for p in masses.tolist()])
    middles = np.rint(n * masses).astype(np.int64)
    return _around(mechanism.noise, log_size, np.arange(n + 1) - middles[:, None], knowledge, times)


def _around(noise: Noise, log_size: Floats, apart: Ints, knowledge: float, times: Ints = ONCE) -> float:
    """s K + sum_v (s/k) log sum_t P_v(t) exp( k D(t - c_v) / s ), D that of the noise, v one of k counts.

    D(q_t || r) <= sum_v D(t_v - c_v), then Hoelder's inequality for the product of the k exponentials.
    times: how many counts have each of these laws P_v.
    """
    k = int(times.sum())
    with np.errstate(over="ignore"):
        far = noise.divergence(np.abs(apart).astype(float))

    def gain(s: float) -> Floats:
        return np.asarray((s / k) * (times @ logsumexp(log_size + k * far / s, axis=1))[None])

    return least_closed(TOGETHER, gain, knowledge)[1]


def power(mechanism: NoisySum, knowledge: float, reference: Reference, s1: float = 1.0) -> Formula | None:
    """Entropy power: Gaussian or discrete Gaussian noise on a count of bits (docs/mathematics.md 4.13).

    L is at most

        max_m (1/2) log[ (m + sqrt(m + 1/12 - E(m)) + 1/4 + sigma^2) / (E(m)/S^2 + sigma^2 - s1) ].

    None where the noise is too narrow, or it is not Gaussian noise on a count of bits. Discrete Gaussian noise is, but
    for a small chance, rounded normal noise of a variance that is 1/12 less. s1: the variance of the noise that makes a
    count smooth, 5e-9 lost at 1.
    """
    normal, statistic = mechanism.noise.normal, mechanism.statistic
    bits = isinstance(statistic, Sum) and statistic.contributions == (0, 1) and statistic.modulus is None
    if normal is None or not (bits and mechanism.n > 1 and str(mechanism.query).startswith("count")):
        return None
    variance, chance = normal
    p = math.exp(float(reference.log_law_of(0, 2)[1]))
    # Where the variance is not a float, nothing leaks anyway.
    if not (s1 < variance < math.inf and 0 < p < 1):
        return None
    found = _Curve(mechanism.n - 1, p, math.sqrt(variance), knowledge, s1).highest()
    # All of one bit is told where the noise is not rounded normal noise.
    return None if found is None else replace(found, upper=chance * found.upper + (1 - chance) * math.log(2))


@dataclass(frozen=True)
class _Curve:
    """The bound as a function of m, and its slope."""

    others: int
    p: float
    sigma: float
    knowledge: float
    s1: float

    @property
    def beta(self) -> float:
        return math.log1p(2 / self.others)

    @property
    def centre(self) -> float:
        return self.others * self.p

    @property
    def alpha(self) -> float:
        """min_j of -log rho(j) - beta (j-c)^2, which is convex in j: near the centre by its differences."""
        n, odds = self.others, math.log(self.p) - math.log1p(-self.p)

        def rises(j: int) -> float:
            return math.log((j + 1) / (n - j)) - odds - self.beta * (2 * (j - self.centre) + 1)

        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if rises(middle) >= 0 else (middle + 1, high)

        # The difference of log-gamma functions would lose the digits that matter.
        beside = range(max(0, low - 2), min(n, low + 2) + 1)
        log_rho = log_binomial(n, (1 - self.p, self.p), beside)
        return min(float(-x) - self.beta * (j - self.centre) ** 2 for j, x in zip(beside, log_rho, strict=True))

    def highest(self, width: float = 1e-6) -> Formula | None:
        """The maximum between two places this share of it apart, and the tangent there."""
        alpha, beta = self.alpha, self.beta
        total = over_integers(self.s1)

        def parts(m: float) -> tuple[float, float]:
            exponent = 2 * (alpha + beta * m - self.knowledge)
            # Far outside, where exp is not a float, there is no room in any case.
            e = math.inf if exponent > 700 else math.exp(exponent) / (2 * math.pi * math.e)  # exp(709)
            return e, m + 1 / 12 - e

        def at(m: float) -> tuple[float, float]:
            e, room = parts(m)
            if room <= 0:
                return -math.inf, math.nan
            above, below = m + math.sqrt(room) + 0.25 + self.sigma**2, e / total**2 + self.sigma**2 - self.s1
            rise = 1 + (1 - 2 * beta * e) / (2 * math.sqrt(room))
            return math.log(above / below) / 2, (rise / above - 2 * beta * e / total**2 / below) / 2

        # E(m) - m is convex with its least value where 2 beta E = 1: there m can be attained if anywhere.
        middle = (math.log(math.pi * math.e / beta) / 2 + self.knowledge - alpha) / beta
        if not (middle > 0 and parts(middle)[1] > 0):
            return None
        # The slope falls from +inf to -inf over the m that can be attained.
        low, high = self._ends(parts, middle)
        for _ in range(200):
            m = (low + high) / 2
            slope = at(m)[1]
            low, high = (m, high) if slope > 0 else (low, m)
        m = (low + high) / 2
        ends = m * (1 - width), m * (1 + width)
        (value, slope), (_, last) = at(ends[0]), at(ends[1])
        if not (slope >= 0 >= last):
            return None
        data = {"s1": self.s1, "centre": self.centre, "m": list(ends)}
        return Formula("power", value + slope * (ends[1] - ends[0]), data)

    @staticmethod
    def _ends(parts: Callable[[float], tuple[float, float]], middle: float) -> tuple[float, float]:
        """The least and the greatest m with E(m) <= m + 1/12, found from one inside."""
        found = []
        for outside in (0.0, 4 * middle):
            inside, beyond = middle, outside
            if parts(outside)[1] > 0:
                found.append(outside)
                continue
            for _ in range(200):
                m = (inside + beyond) / 2
                inside, beyond = (m, beyond) if parts(m)[1] > 0 else (inside, m)
            found.append(inside)
        return found[0], found[1]
