"""A bound on what a noisy histogram tells: counts moved by a few people, through the noise, "moved".

All k values of a record are alike. With m(t) = mu^t e^-mu / t!, mu = n/k, rho_a(t) = c t_a prod_b m(t_b) is the law of
count vectors given that the record is a; p is the law of the noise, g a tilt of the counts 0..n, Omega(t) = exp(g(t))
m(t) there and 0 elsewhere, and o_0, v_0 > 0, o_j, v_i >= 0 are weights. With

    A(t,y) = sum_j o_j Omega(t-j) p(y-t+j),        B(t,y) = sum_i v_i Omega(t+i) p(y-t-i),
    N = [x^n] o(x) v(1/x)^(k-1) P(x)^k,            P(x) = sum_t Omega(t) x^t,
    alpha(t) = sum_d p(d) log( A(t,t+d) / (m(t) p(d)) ),     beta(t) the same of B,
    Q(x) = sum_t m(t) exp( -beta(t) / (s-1) ) x^t,

a dominated joint law (eta = 1) closes (kernel/closing.py) with s > 1 as

    I(A;Y) <= s K + log(c N) + (s-1) log sum_t c t m(t) exp( (log t - alpha(t)) / (s-1) ) [x^(n-t)] Q(x)^(k-1) .

Lower bounds of alpha and beta serve: the terms with j = 0 and i = 0 alone are one, log o_0 + g(t) and log v_0 + g(t).
They stand for counts whose tilt is not listed, and for noise beyond `reach`. Proof: docs/proofs/histograms.md, 5 to 7.
"""

from typing import Any

from flint import arb, arb_poly

from dalenius.verifier.kernel.balls import ONE, PRECISION, ZERO, Ball, precision
from dalenius.verifier.kernel.closing import close
from dalenius.verifier.kernel.limits import largest, tick, ticking
from dalenius.verifier.kernel.reading import field, fits, number, numbers, refuse, sequence, whole


def bound(channel: Any, knowledge: Ball, proof: dict[str, Any], where: str) -> Ball:
    """Guarantee: I <= result for every prior with D(pi || rho) <= knowledge."""
    if len(set(channel.masses)) != 1:
        refuse(f"{where}: it is for a record whose values are all equally likely")
    if channel.noise.parameter is None:
        refuse(f"{where}: it is for noise that can be any whole number")
    n, k = channel.statistic.n, channel.statistic.k
    s = arb(number(field(proof, "s", where), f"s of {where}"))
    if not s > 1:
        refuse(f"{where}: s must be above 1")
    first = whole(field(proof, "first", where), f"the first count of {where}", 0, n)
    listed = sequence(field(proof, "tilt", where), f"the tilt of {where}")
    if not 1 <= len(listed) <= n + 1 - first:
        refuse(f"{where}: a tilt of {len(listed)} counts from {first} on does not fit {n} records")
    tilt = [arb(x) for x in numbers(listed, len(listed), f"the tilt of {where}")]
    weights = []
    for key in ("own", "others"):
        given = sequence(field(proof, key, where), f"'{key}' of {where}")
        weights.append([arb(x) for x in numbers(given, len(given), f"'{key}' of {where}", low=0.0)])
        if not weights[-1] or not weights[-1][0] > 0:
            refuse(f"{where}: the first of '{key}' must be above 0")
    own, others = weights
    reach = whole(field(proof, "reach", where), f"'reach' of {where}", 0, largest().numbers)
    fits(len(tilt) * (2 * reach + 1) * (len(own) + len(others)) + n * k + k * len(others), where)
    g = [tilt[min(max(t - first, 0), len(tilt) - 1)] for t in range(n + 1)]
    sums = _Sums(n, k, g, range(first, first + len(tilt)), channel.noise, reach)
    # Powers of polynomials lose digits where their coefficients differ much.
    with precision(2 * PRECISION):
        return close([sums.log_norm(own, others) + sums.log_total(own, others, s)], s, knowledge, eta=ONE)


class _Sums:
    """Sums over count vectors, as coefficients of powers."""

    def __init__(self, n: int, k: int, g: list[Ball], window: range, noise: Any, reach: int) -> None:  # noqa: PLR0917
        self.n, self.k, self.g, self.window, self.noise, self.reach = n, k, g, window, noise, reach
        self.mean = arb(n) / k
        log = self.mean.log()
        self.masses = [(t * log - self.mean - arb(t + 1).lgamma()).exp() for t in ticking(range(n + 1))]

    def log_norm(self, own: list[Ball], others: list[Ball]) -> Ball:
        """log(c N)."""
        n, k = self.n, self.k
        moves = arb_poly(others) ** (k - 1)
        omega = arb_poly([m * x.exp() for m, x in zip(self.masses, ticking(self.g), strict=True)])
        power = _power(omega, k, n + len(moves.coeffs()) + 1)
        total = ZERO
        for j, o in enumerate(own):
            tick()
            total += o * sum((v * power[n - j + i] for i, v in enumerate(moves.coeffs()) if n - j + i >= 0), ZERO)
        return (total * self._scale()).log()

    def _scale(self) -> Ball:
        """c = (n-1)! k^(1-n) e^n / mu^n."""
        n, k = self.n, self.k
        return (arb(n).lgamma() - (n - 1) * arb(k).log() + n - n * self.mean.log()).exp()

    def log_total(self, own: list[Ball], others: list[Ball], s: Ball) -> Ball:
        """(s-1) log sum_t rho_a(t) exp( ( log t_a - alpha(t_a) - sum beta(t_b) ) / (s-1) )."""
        n, k, power = self.n, self.k, 1 / (s - 1)
        law = self.noise.masses(self.reach + max(len(own), len(others)) + 1)[0]
        alpha, beta = self._told(own, law, 1), self._told(others, law, -1)
        tilted = arb_poly([m * (-power * b).exp() for m, b in zip(self.masses, ticking(beta), strict=True)])
        rest = _power(tilted, k - 1, n + 1)
        terms = (
            t * self.masses[t] * (power * (arb(t).log() - alpha[t])).exp() * rest[n - t].nonnegative_part()
            for t in ticking(range(1, n + 1))
        )
        return (s - 1) * (self._scale() * sum(terms, ZERO)).log()

    def _told(self, weights: list[Ball], law: list[Ball], sign: int) -> list[Ball]:
        """At most alpha (sign 1) or beta (sign -1), for every count."""
        result = [weights[0].log() + x for x in self.g]
        seen = range(-self.reach, self.reach + 1)
        rest = (1 - sum((law[abs(d)] for d in seen), ZERO)).nonnegative_part()
        moved = [[law[abs(d + sign * j)] / law[abs(d)] for j in range(len(weights))] for d in ticking(seen)]
        for t in self.window:
            tick()
            scale = [
                w * self.g[t - sign * j].exp() * self.masses[t - sign * j] / self.masses[t]
                for j, w in enumerate(weights)
                if 0 <= t - sign * j <= self.n
            ]
            logs = (law[abs(d)] * _dot(scale, ratios).log() for d, ratios in zip(seen, moved, strict=True))
            # Indices that leave the range are at the end of the list of moves: no weight is met by another's ratio.
            result[t] = sum(logs, ZERO) + rest * result[t]
        return result


def _dot(weights: list[Ball], ratios: list[Ball]) -> Ball:
    return sum((w * x for w, x in zip(weights, ratios, strict=False)), ZERO)


def _power(poly: Any, power: int, size: int) -> Any:
    """The first coefficients of a power, digit by digit of its exponent."""
    result = arb_poly([1])
    for digit in f"{power:b}":
        tick()
        result = (result * result).truncate(size)
        if digit == "1":
            result = (result * poly).truncate(size)
    return result
