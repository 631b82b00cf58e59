"""A bound on what a noisy histogram of few people tells: the reference tilted along the own count, "own-count".

All k values of a record are alike. With rho_a the law of count vectors t given that the record is a, and tilts h and g,

    w0_a(t) = rho_a(t) exp( h(t_a) + sum_{b != a} g(t_b) ) / Z  on count vectors within `top`,   U_a = w0_a q,
    r0 = sum_b U_b / k,         J_a(t,y) = (1-e) r0(y) w0_a(t) q(y|t) / U_a(y)  +  e rho(t) q(y|t)

is a joint law with the same outputs for every a (eta = 1), and closes (kernel/closing.py) with s > 1 as

    I(A;Y) <= s K + (s-1) log sum_t rho_a(t) exp( Psi_a(t) / (s-1) ) .

Within `top` Psi_a(t) <= sum_y q(y|t) log( U_a(y) / r0(y) ) - h(t_a) - sum g(t_b) + log Z - log(1-e). Beyond it, where
e > 0, Psi_a(t) <= log( k t_a / (n e) ); where e = 0 these count vectors are revealed, with h(t) = log k, g(t) = g(top)
for t > top and F(t) = t exp(h - g)(t), and Psi_a(t) = log( k F(t_a) / sum_b F(t_b) ) - h(t_a) - sum g(t_b) + log Z.
Outputs from top + 1 on are put together where the noise is geometric or Laplace. All sums run over t_a, or y_a, and the
others up to order. Proof: docs/proofs/histograms.md, 1 to 4.
"""

from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Any

from flint import arb, arb_mat, arb_poly

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.closing import close
from dalenius.verifier.kernel.limits import largest, tick, ticking
from dalenius.verifier.kernel.reading import field, number, numbers, refuse, sequence

Counts = tuple[int, ...]


def bound(channel: Any, knowledge: Ball, proof: dict[str, Any], where: str) -> Ball:
    """Guarantee: I <= result for every prior with D(pi || rho) <= knowledge."""
    if len(set(channel.masses)) != 1:
        refuse(f"{where}: it is for a record whose values are all equally likely")
    n, k = channel.statistic.n, channel.statistic.k
    s = arb(number(field(proof, "s", where), f"s of {where}"))
    share = number(field(proof, "outside", where), f"'outside' of {where}", 0.0, 0.5)
    listed = sequence(field(proof, "tilt", where), f"the tilt of {where}")
    top = len(listed)
    own = numbers(listed, top, f"the tilt of {where}")
    others = numbers(field(proof, "others", where), top + 1, f"'others' of {where}")
    if not s > 1:
        refuse(f"{where}: s must be above 1")
    # Only these have outputs beyond the counts that may be put together.
    proportional = channel.noise.family in ("geometric", "laplace")
    if not 1 <= top <= n or (top < n and not proportional):
        refuse(f"{where}: a tilt of {top} counts does not cover {n} records with this noise and 'outside' {share!r}")
    wide = min(n, top + 1) + 1
    if comb(wide + k - 2, k - 1) * wide > (most := largest().own_outputs):
        refuse(f"{where}: outputs up to order are too many to check; at most {most}")
    if top < n and share == 0 and vectors(n, k) > (most := largest().own_vectors):
        refuse(f"{where}: count vectors beyond its tilt are too many to check; at most {most}")
    table = _Table(n, k, top, channel.noise.rows(range(top + 1), 0, wide - 1))
    total = table.total([ZERO, *map(arb, own)], list(map(arb, others)), s, share)
    return close([(s - 1) * total.log()], s, knowledge, eta=ONE)


def vectors(n: int, k: int) -> int:
    """How many count vectors there are, as own count and the others up to order; where they are too many, too many.

    Rising lists of k - 1 counts with the sum m are the partitions of m into parts of at most k - 1.
    """
    if n > largest().own_vectors:
        return n
    ways = [1] + [0] * (n - 1)
    for part in ticking(range(1, k)):
        for m in range(part, n):
            ways[m] += ways[m - part]
        if sum(ways) > largest().own_vectors:
            break
    return sum(ways)


def _rising(counts: Counts, left: int, size: int) -> Iterator[Counts]:
    """All rising lists of so many counts with this sum."""
    if size == 1:
        yield (*counts, left)
        return
    for t in range(counts[-1] if counts else 0, left // size + 1):
        yield from _rising((*counts, t), left - t, size - 1)


class _Table:
    """Counts 0..top, outputs 0..wide-1, and multisets of outputs."""

    def __init__(self, n: int, k: int, top: int, rows: list[list[Ball]]) -> None:
        self.n, self.k, self.top, self.rows, self.wide = n, k, top, rows, len(rows[0])
        self.places = [self._extended(size) for size in range(k)]

    def _extended(self, size: int) -> list[list[int]]:
        """For every multiset of this size and every output the place of both together, among those of one more."""
        place = {z: j for j, z in enumerate(combinations_with_replacement(range(self.wide), size + 1))}
        return [
            [place[tuple(sorted((*z, y)))] for y in range(self.wide)]
            for z in ticking(combinations_with_replacement(range(self.wide), size))
        ]

    def total(self, h: list[Ball], g: list[Ball], s: Ball, share: float) -> Ball:
        """At least sum_t rho_a(t) exp( Psi_a(t) / (s-1) )."""
        # Counts whose vectors are revealed: none of very many records.
        far = self.n - self.top if share == 0 else 0
        all_h, all_g = [*h, *[arb(self.k).log()] * far], [*g, *[g[-1]] * far]
        log_z = self._normaliser(all_h, all_g).log()
        by_own = self._by_own(self._ratios(h, g, log_z))
        power, inside = 1 / (s - 1), (1 - arb(share)).log()
        total = ZERO
        scale = self._scale()
        for own in range(1, self.top + 1):
            for others, value in self._contracted((), own, by_own[own - 1]):
                tick()
                psi = value - h[own] - sum((g[b] for b in others), ZERO) + log_z - inside
                total += scale * self._share(own, others) * (power * psi).exp()
        return total + (self._revealed(all_h, all_g, log_z, power) if far else self._far(power, share))

    def _revealed(self, h: list[Ball], g: list[Ball], log_z: Ball, power: Ball) -> Ball:
        """Count vectors beyond top that are told: sum of rho_a(t) exp( Psi_a(t) power )."""
        scale = self._scale()
        tilted = [t * (x - y).exp() for t, (x, y) in enumerate(zip(h, g, strict=True))]
        total = ZERO
        for own in range(1, self.n + 1):
            for others in _rising((), self.n - own, self.k - 1):
                if max(own, others[-1]) <= self.top:
                    continue
                tick()
                told = self.k * tilted[own] / (tilted[own] + sum((tilted[b] for b in others), ZERO))
                psi = told.log() - h[own] - sum((g[b] for b in others), ZERO) + log_z
                total += scale * self._share(own, others) * (power * psi).exp()
        return total

    def _share(self, own: int, others: Counts) -> Ball:
        """rho_a of all count vectors with this own count and these others in any order, but for `_scale`."""
        ways = factorial(self.k - 1) // prod(factorial(others.count(b)) for b in set(others))
        return arb(ways) / (factorial(own - 1) * prod(map(factorial, others)))

    def _by_own(self, ratios: list[list[Ball]]) -> list[list[Ball]]:
        """The sums over the own output, for every own count from 1 on; it uses the table up, a part at a time."""
        rows = arb_mat([[self.rows[t][y] for t in range(1, self.top + 1)] for y in range(self.wide)])
        result: list[list[Ball]] = [[] for _ in range(self.top)]
        step = max(1, largest().part // self.wide)
        while ratios:
            tick()
            part = ratios[-step:]
            del ratios[-step:]
            entries = (arb_mat(len(part), self.wide, [x for row in part for x in row]) * rows).entries()
            for own in range(self.top):
                result[own].extend(reversed(entries[own :: self.top]))
        for held in result:
            held.reverse()
        return result

    def _normaliser(self, h: list[Ball], g: list[Ball]) -> Ball:
        """Z: sum of rho_a(t) exp( h(t_a) + sum g(t_b) ) within the counts that have tilts."""
        weights = [x.exp() / factorial(t) for t, x in enumerate(g)]
        power = arb_poly(weights) ** (self.k - 1)
        terms = (h[t].exp() / factorial(t - 1) * power[self.n - t] for t in range(1, len(h)))
        return sum(terms, ZERO) * self._scale()

    def _scale(self) -> Ball:
        """(n-1)! / k^(n-1), by logarithms: of many people both are numbers of very many digits."""
        return (arb(self.n).lgamma() - (self.n - 1) * arb(self.k).log()).exp()

    def _ratios(self, h: list[Ball], g: list[Ball], log_z: Ball) -> list[list[Ball]]:
        """log( U_a(y) / r0(y) ) for every multiset of the others' outputs, and every own output."""
        n, k, top = self.n, self.k, self.top
        weights = [x.exp() / factorial(t) for t, x in enumerate(g)]
        single = [arb_poly([w * row[y] for w, row in zip(weights, self.rows, strict=True)]) for y in range(self.wide)]
        products = [arb_poly([1])]
        for size in range(k - 1):
            more: list[Any] = [None] * comb(self.wide + size, size + 1)
            for z, places in enumerate(self.places[size]):
                tick()
                for y, place in enumerate(places):
                    if more[place] is None:
                        product = products[z] * single[y]
                        more[place] = arb_poly(product.coeffs()[: n + 1])
            products = more
        scale = self._scale() / log_z.exp()
        counts = range(1, top + 1)
        tilted = arb_mat([[scale * h[t].exp() / factorial(t - 1) * q for q in self.rows[t]] for t in counts])
        told: list[list[Ball]] = []
        for poly in products:
            tick()
            told.append((arb_mat([[poly[n - t] for t in counts]]) * tilted).entries())
        del products
        together = [ZERO] * comb(self.wide + k - 1, k)
        multisets = combinations_with_replacement(range(self.wide), k - 1)
        for others, places, values in zip(multisets, self.places[k - 1], told, strict=True):
            for y, (place, value) in enumerate(zip(places, values, strict=True)):
                together[place] += (others.count(y) + 1) * value
        logs = [(x / k).log() for x in ticking(together)]
        # In place: the table is the largest thing that is held.
        for j, places in enumerate(ticking(self.places[k - 1])):
            told[j] = [value.log() - logs[place] for place, value in zip(places, told[j], strict=True)]
        return told

    def _contracted(self, others: Counts, own: int, values: list[Ball]) -> Any:
        """The sum over the others' outputs, for all their counts in rising order: one output after the other."""
        size, left = self.k - 1 - len(others), self.n - own - sum(others)
        if size == 0:
            yield others, values[0]
            return
        first = max(others[-1] if others else 0, left - (size - 1) * self.top)
        last = min(self.top, left // size)
        if size == 1:
            first, last = (left, left) if first <= left <= self.top else (1, 0)
        if last < first:
            return
        tick()
        places = self.places[size - 1]
        part = arb_mat(len(places), self.wide, [values[place] for row in places for place in row])
        rows = arb_mat([[self.rows[t][y] for t in range(first, last + 1)] for y in range(self.wide)])
        entries, many = (part * rows).entries(), last - first + 1
        for j in range(many):
            yield from self._contracted((*others, first + j), own, entries[j::many])

    def _far(self, power: Ball, share: float) -> Ball:
        """Count vectors beyond top: the own count, or one of the others."""
        n, k, top = self.n, self.k, self.top
        if top == n:
            return ZERO
        # The law of t - 1 others that have a value, from t - 1 = top on, each term from the one before.
        chance = (arb(n).lgamma() - arb(top + 1).lgamma() - arb(n - top).lgamma()).exp()
        chance *= ((n - 1 - top) * arb(k - 1).log() - (n - 1) * arb(k).log()).exp()
        own = other = ZERO
        for t in ticking(range(top + 1, n + 1)):
            own += chance * (arb(k * t) / n) ** power
            chance = chance * (n - t) / (t * (k - 1))
            other += chance
        other = other * (k - 1) * (arb(k * max(n - top - 1, 1)) / n) ** power
        return (own + other) * (ONE / arb(share)) ** power
