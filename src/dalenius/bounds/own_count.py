"""Tables of few people, from above: the reference tilted along the own count, through the noise (MATH 4.8).

All values of a record are alike. With h(t) = h(t_a) + sum_{b != a} g(t_b), w0(t) = rho(t|a) exp(h(t)) / Z, U_a = w0 q,
r = sum_b U_b / k and s > 1

    I(A;Y) <= s K + (s-1) log sum_t rho(t|a) exp( Psi(t) / (s-1) ),
    Psi(t) = sum_y q(y|t) log( U_a(y) / r(y) ) - h(t) + log Z,

up to counts above `top`. Count vectors with such a count are revealed, which can only tell more: at them

    Psi(t) = log( k F(t_a) / sum_b F(t_b) ) - h(t) + log Z,       F(t) = t exp( h(t) - g(t) ),

with h = log k and g as at `top` for far counts. Beyond all counts the law of geometric and Laplace noise falls by the
same factor for each of them, so that the outputs above `top` are as good as one. All sums are over one value's count
and the multiset of the others: count vectors and outputs up to order.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from dalenius.bounds.closing import MANY_TERMS, TOGETHER, Formula, close
from dalenius.model.channels.noise import Geometric, Laplace
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.counting import log_binomial
from dalenius.numerics.deferred import gammaln, logsumexp
from dalenius.numerics.types import Floats, Ints
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class OwnCountSearch(Part):
    """Tables of few people, from above, by a tilt of the own count."""

    # Multipliers s that are tried, and rounds of the tilt at each.
    s: tuple[float, ...] = (1.6, 1.3, 1.15, 1.08, 1.04, 1.02, 1.01)
    rounds: int = 4
    # Outputs, up to order, up to which no count is far.
    few: int = 2**17
    # With more outputs, counts rarer than this are far: the first that leaves at most `outputs`. With 1e-4 a table of
    # 16 people and 6 cells loses 0.15 % and takes a quarter of the time.
    rare: tuple[float, ...] = (1e-5, 1e-4, 1e-3)
    outputs: int = 2**20
    # Count vectors, up to order, at most.
    vectors: int = 2**17


def own_count(mechanism: NoisyCounts, knowledge: float, deadline: Deadline, settings: OwnCountSearch) -> Formula | None:
    """Choose h by fixed-point rounds, and s among a few; None where the table is too large."""
    table = _Table.of(mechanism, settings)
    if table is None or knowledge <= 0:
        return None
    best: Formula | None = None
    h, g = np.zeros(table.top + 1), np.zeros(table.top + 1)
    for s in settings.s:
        for _ in range(settings.rounds):
            if deadline.expired():
                return best
            told = table.divergences(h, g)
            upper = table.bound(told, h, g, s, knowledge)
            if best is None or upper < best.upper:
                # h at the counts from 1 to `top`; no share of the reference for counts beyond.
                data = {"s": s, "outside": 0.0, "tilt": h[1:].tolist(), "others": g.tolist()}
                best = Formula("own-count", upper, data, s, doubt=MANY_TERMS)
            h, g = table.next_tilt(h, g, told, s)
    return best


def _outputs(n: int, top: int, k: int) -> int:
    """Outputs up to order: the own one, and the multiset of the others."""
    high = min(n, top + 1)
    return math.comb(high + k - 1, k - 1) * (high + 1)


def _vectors(n: int, k: int) -> float:
    """Count vectors as own count and multiset of the others, at least: the others' orders are (k-1)! at most."""
    return math.comb(n + k - 1, k - 1) / math.factorial(k - 1)


@dataclass(frozen=True, eq=False)
class _Table:
    """Counts 0..top, and rows of the noise; count vectors as (own count, sorted others)."""

    n: int
    k: int
    top: int
    rows: Floats

    @classmethod
    def of(cls, mechanism: NoisyCounts, settings: OwnCountSearch) -> "_Table | None":
        n, k = mechanism.n, mechanism.k
        # Beyond all counts other noise still tells them apart.
        falling = isinstance(mechanism.noise, (Geometric, Laplace)) and _vectors(n, k) <= settings.vectors
        tops = [n] if _outputs(n, n, k) <= (settings.few if falling else settings.outputs) else []
        if falling:
            tail = np.cumsum(np.exp(log_binomial(n, (1 - 1 / k, 1 / k)))[::-1])[::-1]
            tops += [min(n, int(np.searchsorted(-tail, -rare))) for rare in settings.rare]
        top = next((top for top in tops if _outputs(n, top, k) <= settings.outputs), None)
        if top is None:
            return None
        high = min(n, top + 1)
        noise = mechanism.noise
        return cls(n, k, top, noise.rows(np.arange(top + 1.0)[:, None], np.arange(high + 1.0)))

    @cached_property
    def wide(self) -> int:
        return int(self.rows.shape[1])

    def multisets(self, size: int) -> Ints:
        """All sorted tuples of outputs of this size."""
        listed = list(combinations_with_replacement(range(self.wide), size))
        return np.array(listed, dtype=np.int64).reshape(len(listed), size)

    @cached_property
    def places(self) -> list[Ints]:
        """places[j][z, y]: the place of z and y together among the multisets of size j+1."""
        return [self._extended(j) for j in range(self.k)]

    def _extended(self, size: int) -> Ints:
        base = self.wide ** np.arange(size + 1)
        keys = self.multisets(size + 1) @ base
        order = np.argsort(keys)
        small = np.repeat(self.multisets(size)[:, None, :], self.wide, axis=1)
        added = np.broadcast_to(np.arange(self.wide)[None, :, None], (small.shape[0], self.wide, 1))
        together = np.sort(np.concatenate([small, added], axis=2), axis=2) @ base
        found: Ints = order[np.searchsorted(keys, together, sorter=order)]
        return found

    def others(self, g: Floats) -> Floats:
        """P(outputs Y, total N of the other counts) exp(sum g), as (multisets Y, N), times k^(n-1) / (n-1)!."""
        one = self.rows * np.exp(g - gammaln(np.arange(self.top + 1) + 1.0))[:, None]
        found = np.zeros((1, self.n + 1))
        found[0, 0] = 1.0
        for size in range(self.k - 1):
            more = np.zeros((math.comb(self.wide + size, size + 1), self.n + 1))
            for y in range(self.wide):
                product = np.zeros_like(found)
                for t in range(self.top + 1):
                    product[:, t:] += one[t, y] * found[:, : self.n + 1 - t]
                more[self.places[size][:, y]] = product
            found = more
        return found

    @cached_property
    def classes(self) -> tuple[Ints, Floats]:
        """Count vectors up to order as (own count, rising others), and log rho(t|a) of all their orders together."""
        return self._weighed(np.array(list(self._listed((), self.n)), dtype=np.int64))

    @cached_property
    def far(self) -> tuple[Ints, Floats]:
        """The same of those with a count above `top`."""
        if self.top == self.n:
            return np.zeros((0, self.k), dtype=np.int64), np.zeros(0)
        everything = _Table(self.n, self.k, self.n, self.rows)
        counts = np.array(list(everything._listed((), self.n)), dtype=np.int64)
        return self._weighed(counts[counts.max(axis=1) > self.top])

    def _weighed(self, counts: Ints) -> tuple[Ints, Floats]:
        orders = gammaln(float(self.k))
        for t in range(self.n + 1):
            orders = orders - gammaln((counts[:, 1:] == t).sum(axis=1) + 1.0)
        log_rho = gammaln(float(self.n)) - (self.n - 1) * math.log(self.k) + orders
        return counts, log_rho - gammaln(counts[:, 0]) - gammaln(counts[:, 1:] + 1.0).sum(axis=1)

    def farther(self, h: Floats, g: Floats) -> tuple[Floats, Floats]:
        """Tilts of all counts: beyond `top` log k, and as at `top`."""
        more = self.n - self.top
        return np.append(h, np.full(more, math.log(self.k))), np.append(g, np.full(more, g[-1]))

    def revealed(self, h: Floats, g: Floats) -> Floats:
        """Psi less log Z of far count vectors, where they are told."""
        h, g = self.farther(h, g)
        counts, tilted = self.far[0], np.arange(self.n + 1) * np.exp(h - g)
        told = np.log(self.k * tilted[counts[:, 0]] / tilted[counts].sum(axis=1))
        return np.asarray(told - h[counts[:, 0]] - g[counts[:, 1:]].sum(axis=1))

    def log_z(self, h: Floats, g: Floats) -> tuple[float, float]:
        """Log Z within `top`, and of all count vectors."""
        (near, log_near), (far, log_far) = self.classes, self.far
        inside = float(logsumexp(log_near + h[near[:, 0]] + g[near[:, 1:]].sum(axis=1)))
        if not len(far):
            return inside, inside
        h, g = self.farther(h, g)
        return inside, float(np.logaddexp(inside, logsumexp(log_far + h[far[:, 0]] + g[far[:, 1:]].sum(axis=1))))

    def span(self, counts: tuple[int, ...]) -> range:
        """The counts that may come next, so that all that follow fit."""
        left, size = self.n - sum(counts), self.k - len(counts)
        if not counts:
            return range(1, self.top + 1)
        first = max(counts[-1] if len(counts) > 1 else 0, left - (size - 1) * self.top)
        if size == 1:
            return range(left, left + 1) if first <= left <= self.top else range(0)
        return range(first, min(self.top, left // size) + 1)

    def _listed(self, counts: tuple[int, ...], left: int) -> Iterator[tuple[int, ...]]:
        if len(counts) == self.k:
            yield counts
            return
        for t in self.span(counts):
            yield from self._listed((*counts, t), left - t)

    def divergences(self, h: Floats, g: Floats) -> Floats:
        """sum_y q(y|t) log( U_a(y) / r(y) ) - h(t) + log Z within `top` for every class there."""
        counts, _ = self.classes
        tilt = h[counts[:, 0]] + g[counts[:, 1:]].sum(axis=1)
        log_z, _ = self.log_z(h, g)
        t = np.arange(1, self.top + 1)
        weight = np.exp(h[1:] - log_z + gammaln(float(self.n)) - (self.n - 1) * math.log(self.k) - gammaln(t))
        u = (self.others(g)[:, self.n - t] * weight) @ self.rows[1:]
        together = np.zeros(math.comb(self.wide + self.k - 1, self.k))
        places = self.places[self.k - 1]
        many = (self.multisets(self.k - 1)[:, None, :] == np.arange(self.wide)[None, :, None]).sum(axis=2) + 1
        np.add.at(together, places, many * u)
        ratio = np.log(np.maximum(u, 1e-300)) - np.log(np.maximum(together[places] / self.k, 1e-300))
        found: list[float] = []
        for own in t.tolist():
            self._descend((own,), ratio @ self.rows[own], found)
        return np.asarray(np.array(found) - tilt + log_z)

    def _descend(self, counts: tuple[int, ...], values: Floats, found: list[float]) -> None:
        """Contract one output after the other with the count that it comes from, others rising."""
        if len(counts) == self.k:
            found.append(float(values[0]))
            return
        span = self.span(counts)
        if not span:
            return
        columns = values[self.places[self.k - len(counts) - 1]] @ self.rows[span.start : span.stop].T
        for j, count in enumerate(span):
            self._descend((*counts, count), columns[:, j], found)

    def bound(self, told: Floats, h: Floats, g: Floats, s: float, knowledge: float) -> float:
        """The bound, far counts included."""
        total = float(logsumexp(self.classes[1] + told / (s - 1)))
        if self.top < self.n:
            inside, everywhere = self.log_z(h, g)
            far = self.far[1] + (self.revealed(h, g) + everywhere) / (s - 1)
            total = float(logsumexp([total + (everywhere - inside) / (s - 1), logsumexp(far)]))
        return float(close(TOGETHER, np.array([(s - 1) * total]), knowledge, s=s, eta=1.0))

    def next_tilt(self, h: Floats, g: Floats, told: Floats, s: float, power: float = 0.25) -> tuple[Floats, Floats]:
        """The tilts nearest to G(t) / s, G(t) = sum_y q(y|t) log( U_a(y) / r(y) ), by weighted least squares.

        The best tilt of all is G / s. Rare classes matter, as Psi is divided by s - 1: so powers of masses are weights;
        0.25 was a little better than 0.5 and 1.
        """
        counts, log_rho = self.classes
        tilt = h[counts[:, 0]] + g[counts[:, 1:]].sum(axis=1)
        wanted = (told + tilt) / s
        weight = np.exp(power * (log_rho + wanted - np.max(log_rho + wanted)) / 2)
        many = np.stack([(counts[:, 1:] == t).sum(axis=1) for t in range(self.top + 1)], axis=1)
        features = np.concatenate([counts[:, :1] == np.arange(1, self.top + 1), many], axis=1).astype(float)
        found = np.linalg.lstsq(features * weight[:, None], wanted * weight, rcond=1e-10)[0]
        return np.append(0.0, found[: self.top]), np.asarray(found[self.top :])
