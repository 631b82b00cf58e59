"""Histograms with noise on every count, from above: counts moved by a few people, through the noise (MATH 4.8).

All k values of a record are alike. p is the law of the noise, outputs are not clamped. With a tilt g of counts 0..n,
Omega(t) = exp(g(t)) m(t), m the Poisson law of mean n/k, and weights o_j, v_i >= 0 put

    J_a(t,y) ~ A(t_a, y_a) prod_{b != a} B(t_b, y_b),
    A(t,y) = sum_j o_j Omega(t-j) p(y-t+j),        B(t,y) = sum_i v_i Omega(t+i) p(y-t-i) .

Its outputs have the same law r for every a: the own count is as if j people fewer had its value, the others' as if i
more had theirs. So I(A;Y) <= s K + (s-1) log sum_t rho_a(t) exp( Psi(t) / (s-1) ) for every s > 1, where Psi(t) is a
function of t_a plus one of each other count, and all sums over count vectors are coefficients of powers of polynomials.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy

from dalenius.bounds.closing import MANY_TERMS, S_RANGE, TOGETHER, Formula, close
from dalenius.model.channels.noise import reach as noise_reach
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.counted import last_powers, log_poisson
from dalenius.numerics.information import gammaln, logsumexp
from dalenius.numerics.types import Floats, Ints
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class MovedSearch(Part):
    """Histograms of more people, from above, by counts moved through the noise."""

    # Moves of the own count and of the others, 0 among them. 1,000 people of 10 values: 0.5738 with 3 own moves, 0.5718
    # with 8, 0.5702 with others' moves.
    own: int = 8
    others: int = 3
    # Steps of the search. The same histogram: 0.5699 with 1,500 steps.
    steps: int = 420
    # Noise that is not added up.
    unseen: float = 1e-7
    # Records x values.
    room: int = 2**17
    # Products of a count, an output and a move.
    terms: int = 2**21


LEAST = 1e-300
# Floats end at 1e-308; all terms of a sum that are lost below it are less than this together. A share that is nothing.
LOG_LOSABLE, LOG_NOTHING = math.log(1e-300), math.log(1e-13)
UNHEARD_OF = 1e6  # nats
# Counts that are added up, and those below and above the mean whose tilt is free, as multiples of their spread.
SPREADS, BELOW, ABOVE = 14.0, 7.0, 9.0
# The largest logarithm of a weight or a tilt, and the least s - 1.
MOST_TILT, LEAST_SIGMA = 30.0, 1e-3
# The factor from one weight to the next at the start, of moves of the own count and of the others.
WEIGHT_OF_OWN, WEIGHT_OF_OTHERS = 0.3, 0.1


@dataclass(frozen=True)
class MovedCounts(Formula):
    """The bound, and the prior that it fits: log F of the own count and log H of each other one, t = 0..n."""

    scores: tuple[Floats, Floats] = field(default_factory=lambda: (np.zeros(1), np.zeros(1)), repr=False, compare=False)


def moved_counts(
    mechanism: NoisyCounts, knowledge: float, deadline: Deadline, settings: MovedSearch
) -> MovedCounts | None:
    """Choose tilt, weights and s together, by their gradient; None where counts are too many, or too wide noise."""
    search = _Search.of(mechanism, knowledge, deadline, settings)
    if search is None or knowledge <= 0 or deadline.expired():
        return None
    # A gradient method: the bound is smooth, and convex in the law J where that is free.
    scipy.optimize.minimize(
        search.value,
        search.start(),
        jac=True,
        method="L-BFGS-B",
        bounds=search.limits(),
        options={"maxiter": settings.steps, "maxcor": 20},
    )
    return search.found


@dataclass(eq=False)
class _Search:
    """The bound as a function of (g, log o, log v, log(s-1)), with its gradient; it keeps the best point.

    `t` are the counts that are added up; `window` of them, from the place `first` on, have tilts of their own. Products
    of polynomials are added up term by term: transforms would lose what is small, and powers of 1/(s-1) need it.
    """

    n: int
    k: int
    knowledge: float
    noise: Floats
    reach: int
    t: Ints
    window: slice
    moves: tuple[int, int]
    least_s: float
    deadline: Deadline
    found: MovedCounts | None = None

    @classmethod
    def of(
        cls, mechanism: NoisyCounts, knowledge: float, deadline: Deadline, settings: MovedSearch
    ) -> "_Search | None":
        n, k = mechanism.n, mechanism.k
        mean, spread = n / k, math.sqrt(n / k)

        def counts(below: float, above: float) -> tuple[int, int]:
            return max(0, math.floor(mean - below * spread)), min(n, math.ceil(mean + above * spread) + 1)

        low, high = counts(SPREADS, SPREADS)
        first, last = counts(BELOW, ABOVE)
        reach = max(1, noise_reach(mechanism.noise, settings.unseen, settings.terms) - 1)
        terms = (last - first + 1) * (2 * reach + 1) * (settings.own + settings.others)
        if n * k > settings.room or terms > settings.terms:
            return None
        moves = (settings.own, settings.others)
        outer = reach + max(moves)
        noise = np.maximum(mechanism.noise.law(np.arange(-outer, outer + 1.0)), LEAST)
        # Rarer counts are left out, and must not weigh: their ratio to the power 1/(s-1) is below what is rare.
        far = 0.0 if high == n else 3 * math.log(high / mean) / SPREADS**2
        window, least = slice(first - low, last - low + 1), max(LEAST_SIGMA, far)
        return cls(n, k, knowledge, noise, reach, np.arange(low, high + 1), window, moves, least, deadline)

    @property
    def size(self) -> int:
        return int(self.window.stop - self.window.start)

    def start(self) -> Floats:
        """No tilt, some weight on moves, and an s as for counts without noise, halfway to 1."""
        own = WEIGHT_OF_OWN ** np.arange(self.moves[0])
        others = WEIGHT_OF_OTHERS ** np.arange(self.moves[1])
        s = 1 + max(0.5 / math.sqrt(2 * self.knowledge * self.n / self.k), self.least_s)
        return np.concatenate([np.zeros(self.size), np.log(own), np.log(others), [math.log(s - 1)]])

    def limits(self) -> list[tuple[float, float]]:
        tilts = [(-MOST_TILT, MOST_TILT)] * (self.size + sum(self.moves))
        return [*tilts, (math.log(self.least_s), math.log(S_RANGE[1]))]

    @cached_property
    def log_poisson(self) -> Floats:
        return np.asarray(log_poisson(self.t, self.n / self.k))

    @cached_property
    def log_own(self) -> Floats:
        """log rho(t_a = t | a)."""
        n, k, t = self.n, self.k, np.maximum(self.t, 1)
        ways = gammaln(float(n)) - gammaln(t) - gammaln(n - t + 1.0)
        return np.where(self.t > 0, ways + (n - t) * math.log1p(-1 / k) - (t - 1) * math.log(k), -np.inf)

    @cached_property
    def ratios(self) -> tuple[Floats, Floats]:
        """p(d+j) / p(d) for own moves j, and p(d-i) / p(d) for others' moves i, as (moves, noise d)."""
        middle = self.noise.size // 2
        d = np.arange(-self.reach, self.reach + 1)
        own = np.array([self.noise[middle + d + j] for j in range(self.moves[0])])
        others = np.array([self.noise[middle + d - i] for i in range(self.moves[1])])
        return own / self.noise[middle + d], others / self.noise[middle + d]

    def value(self, x: Floats) -> tuple[float, Floats]:
        """The bound and its gradient; where floats do not hold it a large number, from which the search turns back."""
        with np.errstate(all="ignore"):
            upper, gradient = self._value(x)
        # The method ends at once where nothing slopes.
        if self.deadline.expired() or not (math.isfinite(upper) and np.isfinite(gradient).all()):
            return (upper if self.deadline.expired() else UNHEARD_OF), np.zeros_like(x)
        return upper, gradient

    def _value(self, x: Floats) -> tuple[float, Floats]:
        n, k, many = self.n, self.k, self.size + self.moves[0]
        g = np.interp(self.t, self.t[self.window], x[: self.size])
        own, others, s = np.exp(x[self.size : many]), np.exp(x[many:-1]), 1 + math.exp(x[-1])
        power = 1 / (s - 1)
        alpha, own_part = self._told(g, own, self.ratios[0], 1)
        beta, others_part = self._told(g, others, self.ratios[1], -1)
        log_norm, by_count, by_own, by_others = self._normaliser(g, own, others)
        # Under the prior that the bound fits the own count has the law `law`, and the others together `marginal`.
        # Their tilts are counted from the mean count on, so that powers stay within floats.
        centre = float(np.interp(n / k, self.t, beta))
        weights, scale = _within_floats(self.log_poisson - power * (beta - centre))
        few, rest = last_powers(weights, k - 1)
        places = n - self.t - (k - 1) * self.t[0]
        inside = (places >= 0) & (places < rest.size) & (self.t > 0)
        rests = np.where(inside, rest[np.where(inside, places, 0)], 0.0)
        plain = log_poisson(n - self.t, (k - 1) * n / k)
        log_t = np.log(np.maximum(self.t, 1) * k / n)
        log_factors = self.log_own + power * (log_t - alpha) + (k - 1) * scale[0] + scale[1] * places - plain
        log_terms = log_factors + np.log(rests)
        total = float(logsumexp(log_terms))
        # Next to s = 1 floats may be too short for these powers, and what they lose would be missing in the bound: a
        # weight or product that is not a float, times at most the power of all weights together.
        lost = LOG_LOSABLE + (k - 2) * math.log(weights.sum()) + float(logsumexp(log_factors[inside]))
        if not lost < total + LOG_NOTHING:
            return math.inf, np.zeros_like(x)
        law = np.exp(log_terms - total)
        gain = np.array([(s - 1) * total - (k - 1) * centre + log_norm])
        upper = float(close(TOGETHER, gain, self.knowledge, s=s, eta=1.0))
        spread = np.zeros(rest.size)
        alive = inside & (rests > 0)
        spread[places[alive]] = law[alive] / rests[alive]
        marginal = (k - 1) * weights * np.correlate(spread, few, "valid")
        if math.isfinite(upper):
            self._keep(upper, s, x, (own, others), (power * (log_t - alpha), -power * (beta - centre)))
        slope = by_count - self._unmoved(law * own_part, 1) - self._unmoved(marginal * others_part, -1)
        inner = slope[self.window].copy()
        inner[0] += slope[: self.window.start].sum()
        inner[-1] += slope[self.window.stop :].sum()
        used = power * (law @ (log_t - alpha) - marginal @ (beta - centre)) - total
        slopes = (by_own - own_part @ law, by_others - others_part @ marginal)
        return upper, np.concatenate([inner, *slopes, np.array([(self.knowledge - used) * (s - 1)])])

    def _told(self, g: Floats, weights: Floats, ratios: Floats, sign: int) -> tuple[Floats, Floats]:
        """E log of the moved law over the unmoved one, for every count; and of the moves the part they have in it.

        Counts outside of the window, and noise beyond its reach, are as if nothing moved.
        """
        middle = self.noise.size // 2
        p = self.noise[middle - self.reach : middle + self.reach + 1]
        log_omega, window = self.log_poisson + g, np.arange(self.window.start, self.window.stop)
        moved = window[None, :] - sign * np.arange(weights.size)[:, None]
        inside = (moved >= 0) & (moved < self.t.size)
        scale = log_omega[np.where(inside, moved, 0)] - self.log_poisson[window]
        terms = (weights[:, None] * np.where(inside, np.exp(scale), 0.0))[:, :, None] * ratios[:, None, :]
        together = terms.sum(axis=0)
        rest = 1 - p.sum()
        gain, part = g + math.log(weights[0]), np.zeros((weights.size, self.t.size))
        part[0] = 1.0
        gain[window] = np.log(together) @ p + rest * gain[window]
        part[:, window] = (terms / together) @ p
        part[0, window] += rest
        return gain, part

    def _normaliser(self, g: Floats, own: Floats, others: Floats) -> tuple[float, Floats, Floats, Floats]:
        """log sum_y r(y) before it is a law, over that without tilt and moves; and its slopes."""
        n, k, low = self.n, self.k, int(self.t[0])
        omega = np.exp(self.log_poisson + g)
        few, power = last_powers(omega, k)
        fewer_moves, moves = last_powers(others, k - 1)

        def at(weights: Floats) -> Floats:
            """[x^(n-j)] of the power times weights of x^-1, for every own move j."""
            places = n - k * low - np.arange(own.size)[:, None] + np.arange(weights.size)
            inside = (places >= 0) & (places < power.size)
            return np.asarray(np.where(inside, power[np.where(inside, places, 0)], 0.0) @ weights)

        by_own = own * at(moves)
        norm = by_own.sum()
        by_others = [(k - 1) * v * own @ at(np.append(np.zeros(i), fewer_moves)) for i, v in enumerate(others.tolist())]
        totals = np.zeros(power.size)
        for j, o in enumerate(own.tolist()):
            places = n - k * low - j + np.arange(moves.size)
            inside = (places >= 0) & (places < power.size)
            totals[places[inside]] += o * moves[inside]
        by_count = k * omega * np.correlate(totals, few, "valid")
        plain = float(log_poisson(np.array(n), float(n)))
        return math.log(norm) - plain, by_count / norm, by_own / norm, np.array(by_others) / norm

    def _unmoved(self, masses: Floats, sign: int) -> Floats:
        """Masses of (move, count), by the count from which they were moved."""
        found: Floats = masses[0].copy()
        for j in range(1, len(masses)):
            kept = max(0, self.t.size - j)
            if sign > 0:
                found[:kept] += masses[j, j:]
            else:
                found[j:] += masses[j, :kept]
        return found

    def _keep(
        self, upper: float, s: float, x: Floats, weights: tuple[Floats, Floats], scores: tuple[Floats, Floats]
    ) -> None:
        if self.found is None or upper < self.found.upper:
            # The tilt is given from the count `first` on, and constant beyond its ends; noise is added up to `reach`.
            data = {
                "s": s,
                "first": int(self.t[self.window.start]),
                "tilt": x[: self.size].tolist(),
                "own": weights[0].tolist(),
                "others": weights[1].tolist(),
                "reach": self.reach,
            }
            own, others = (np.interp(np.arange(self.n + 1), self.t, part) for part in scores)
            self.found = MovedCounts("moved", upper, data, s, doubt=MANY_TERMS, scores=(own, others))


def _within_floats(log_weights: Floats) -> tuple[Floats, tuple[float, float]]:
    """Weights of counts of at most 1, as like each other as a factor for each count can make them.

    scale: (c, d) such that the weight at the place j was exp(c + d j) times as large. Counts add up to one number, so
    that in their products this is one known factor.
    """
    j = np.arange(log_weights.size)
    slope = float(log_weights[-1] - log_weights[0]) / max(1, log_weights.size - 1)
    level = log_weights - slope * j
    top = float(level.max())
    return np.exp(level - top), (top, slope)
