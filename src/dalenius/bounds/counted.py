"""Tables of few people: the reference tilted along the counts, through the noise (MATH 4.8, 3.1).

p is the law of a record, rho_a the law of count vectors t given that the record is a. Count vectors with no count above
its top are listed, all others are told as they are. For tilts f_a(t) = sum_b f_ab(t_b), w_a = rho_a exp(f_a) / Z_a,
U_a = w_a q, weights c and r = sum_b c_b U_b the prior c_a w_a(t) leaks sum_a c_a <w_a, G_a>, G_a(t) = sum_y q(y|t)
log( U_a(y) / r(y) ), and no prior leaks more than the closing formula with

    h(a,t) = G_a(t) - eta (f_a(t) - log Z_a) - log(1 - e),        e what r gives to count vectors that are not listed.

eta = 1 serves for every tilt. Where the others stay independent under w_a, as with f_a(t) = slope t_a, the contraction
of the noise does, and bounds with s below 1 follow.

Where all values are alike one a stands for all, and count vectors and outputs are listed up to the order of the others.
Beyond all counts the law of geometric and Laplace noise falls by the same factor for each of them, so that the outputs
above the top are as good as one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from dalenius.bounds.closing import MANY_TERMS, S_RANGE, TOGETHER, Formula, least_closed
from dalenius.model.channels.noise import clamped
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.counted import CountedPrior, Tilts
from dalenius.model.counting import log_binomial
from dalenius.model.reference import Reference
from dalenius.model.secret import Secret
from dalenius.numerics.information import gammaln, logsumexp
from dalenius.numerics.iterations import least_between
from dalenius.numerics.types import Floats, Ints
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class CountedSearch(Part):
    """Tables of few people by tilts of the counts."""

    # Rounds of the ascent, and of the tilt at each multiplier s.
    rounds: int = 12
    upper_rounds: int = 4
    # The share of a bound that a turn must gain for another one.
    still: float = 1e-4
    # Multipliers s that are tried with eta = 1, where the best prior has a lower one.
    s: tuple[float, ...] = (1.06, 1.03, 1.015, 1.01)
    # Slopes that are tried, as shares of the one that uses up the knowledge; and how closely the best is found.
    slopes: tuple[float, float] = (0.05, 1.2)
    slope_rounds: int = 9
    # A contraction above this is not worth its search.
    most_contraction: float = 0.97
    # Outputs, up to order, up to which no count is far.
    few: int = 2**17
    # With more outputs, counts rarer than this are far: the first that leaves at most `outputs`. With 1e-4 a table of
    # 16 people and 6 cells loses 0.15 % and takes a quarter of the time.
    rare: tuple[float, ...] = (1e-5, 1e-4, 1e-3)
    # The same where the noise contracts: what is far is added to the law of the outputs there.
    rare_contracting: tuple[float, ...] = (1e-13, 1e-11, 1e-9)
    outputs: int = 2**20
    # Count vectors, up to order, at most.
    vectors: int = 2**17


@dataclass(frozen=True, eq=False)
class Counted:
    """What tilts of the counts found: bounds, and the best prior."""

    uppers: tuple[Formula, ...] = ()
    lower: float = 0.0
    tilts: Tilts | None = None

    def prior(self, mechanism: NoisyCounts, about: Secret, reference: Reference) -> CountedPrior:
        assert self.tilts is not None  # for the type checker: it has a lower bound, and is about a record
        assert isinstance(about, int)
        return CountedPrior.of_tilts(mechanism, about, self.tilts, self.lower, reference)


def counted_bounds(
    mechanism: NoisyCounts, law: Floats, knowledge: float, deadline: Deadline, settings: CountedSearch
) -> Counted:
    """Search for tilts by fixed-point rounds: of the best prior, at multipliers above 1, and along one slope."""
    table = table_of(mechanism, law, settings, settings.rare)
    if table is None or knowledge <= 0:
        return Counted()
    search = _Search(table, knowledge, deadline, settings)
    search.climb()
    search.descend()
    found = [] if search.found is None else [search.found]
    wide = table_of(mechanism, law, settings, settings.rare_contracting)
    if wide is not None and not deadline.expired():
        found += _along_a_slope(mechanism, wide, knowledge, deadline, settings)
    return Counted(tuple(found), search.lower, search.best)


@dataclass(eq=False)
class _Search:
    """The best prior of tilts, and the best bound with eta = 1."""

    table: "Alike | Ordered"
    knowledge: float
    deadline: Deadline
    settings: CountedSearch
    lower: float = 0.0
    best: Tilts | None = None
    found: Formula | None = None

    def __post_init__(self) -> None:
        table = self.table
        self.features = [table.features(a) for a in range(len(table.classes))]
        self.log_c = table.log_p.copy()
        self.tilts = []
        for (counts, log_rho), features in zip(table.classes, self.features, strict=True):
            own = counts[:, 0]
            mean = float(np.exp(log_rho - logsumexp(log_rho)) @ own)
            steep = math.sqrt(2 * self.knowledge / max(mean, 1.0))
            self.tilts.append(np.linalg.lstsq(features, steep * own, rcond=1e-10)[0])
        self.s = 1.0

    def log_z(self, a: int, tilt: Floats) -> float:
        return float(logsumexp(self.table.classes[a][1] + self.features[a] @ tilt))

    def divergence(self, tilts: list[Floats], log_c: Floats) -> float:
        total = 0.0
        for a, tilt in enumerate(tilts):
            lean, log_z = self.features[a] @ tilt, self.log_z(a, tilt)
            w = np.exp(self.table.classes[a][1] + lean - log_z)
            total += math.exp(log_c[a]) * (log_c[a] - self.table.log_p[a] + float(w @ lean) - log_z)
        return total

    def gains(self) -> list[Floats]:
        """G_a at the tilts; a bound with eta = 1 and, where the prior is feasible, what it leaks are kept."""
        table = self.table
        gains = table.gains(self.tilts, self.log_c, np.zeros(len(self.tilts)))
        listed = [self.features[a] @ tilt - self.log_z(a, tilt) for a, tilt in enumerate(self.tilts)]
        closing = Closing(table, [g - x for g, x in zip(gains, listed, strict=True)])
        s, upper = closing.least(self.knowledge)
        if self.found is None or upper < self.found.upper:
            self.found = Formula("counted", upper, {"s": s, **self._stated().to_certificate()}, s, doubt=MANY_TERMS)
        if self.divergence(self.tilts, self.log_c) <= self.knowledge * (1 - 1e-9):
            laws = (np.exp(part[1] + x) for part, x in zip(table.classes, listed, strict=True))
            leaked = float(np.exp(self.log_c) @ [w @ g for w, g in zip(laws, gains, strict=True)])
            if leaked - MANY_TERMS > self.lower:
                self.lower = leaked - MANY_TERMS
                self.best = self._stated()
        return gains

    def _stated(self) -> Tilts:
        parts = (self.table.split(a, tilt) for a, tilt in enumerate(self.tilts))
        tilts = tuple(tuple(tuple(x.tolist()) for x in part) for part in parts)
        return Tilts(self.table.tops, tilts, tuple(np.exp(self.log_c).tolist()))

    def move(self, gains: list[Floats], s: float | None) -> None:
        """Tilt by G_a / s, as near as counts one by one allow; without an s by the least that the knowledge allows.

        The best tilt of all is G_a / s. Rare classes matter, so powers of masses are weights.
        """
        fitted = [self._fitted(a, g) for a, g in enumerate(gains)]

        def at(log_s: float) -> tuple[list[Floats], Floats]:
            s = math.exp(log_s)
            tilts = [x / s for x in fitted]
            log_z = np.array([self.log_z(a, x) for a, x in enumerate(tilts)])
            # The posterior that the gain is about has the weights so far.
            scaled = s / (1 + s) * (self.table.log_p + log_z + self.log_c / s)
            return tilts, scaled - logsumexp(scaled)

        if s is None:
            low, high = math.log(0.02), math.log(200.0)
            for _ in range(30):
                middle = (low + high) / 2
                inside = self.divergence(*at(middle)) <= self.knowledge * (1 - 2e-9)
                low, high = (low, middle) if inside else (middle, high)
            s = math.exp(high)
        self.s = s
        self.tilts, self.log_c = at(math.log(s))

    def _fitted(self, a: int, gain: Floats, power: float = 0.25) -> Floats:
        """The tilt of counts one by one that is nearest to a gain, by weighted least squares."""
        log_rho, features = self.table.classes[a][1], self.features[a]
        log_weight = log_rho + gain / max(self.s, 0.1)
        weighed = features * np.exp(power * (log_weight - log_weight.max()))[:, None]
        normal = weighed.T @ features
        ridge = 1e-10 * np.trace(normal) / len(normal) * np.eye(len(normal))
        return np.asarray(np.linalg.solve(normal + ridge, weighed.T @ gain))

    def climb(self) -> None:
        """Raise the lower bound, in turns of law and tilt; and look at what each tilt proves."""
        self._turns(None, self.settings.rounds)

    def descend(self) -> None:
        """Lower the upper bound where the best prior's s is below 1, at multipliers nearer and nearer to 1."""
        for s in [x for x in self.settings.s if x > self.s]:
            self._turns(s, self.settings.upper_rounds)

    def _turns(self, s: float | None, rounds: int) -> None:
        """As many turns as bring anything; the first two find their way."""
        for turn in range(rounds):
            if self.deadline.expired():
                return
            before = self.lower, math.inf if self.found is None else self.found.upper
            gains = self.gains()
            assert self.found is not None  # for the type checker
            near = 1 - self.settings.still
            if turn > 1 and self.found.upper > near * before[1] and near * self.lower <= before[0]:
                return
            self.move(gains, s)


@dataclass(frozen=True, eq=False)
class Closing:
    """The closing formula for h of all listed classes, with what is not listed (MATH 4.8)."""

    table: "Alike | Ordered"
    h: list[Floats]
    eta: float = 1.0

    @cached_property
    def far(self) -> tuple[float, Floats]:
        """What r gives to count vectors that are not listed, and their share of rho_a at most."""
        return far(self.table, self.eta)

    def gains(self, sigma: float) -> Floats:
        unlisted, outside = self.far
        found = []
        for (_, log_rho), h, beyond in zip(self.table.classes, self.h, outside, strict=True):
            inside = float(logsumexp(log_rho + h / sigma)) - math.log1p(-unlisted) / sigma
            found.append(sigma * float(np.logaddexp(inside, math.log(beyond) if beyond else -math.inf)))
        return np.array(found)

    def least(self, knowledge: float) -> tuple[float, float]:
        if self.far[0] >= 1:
            return 1.0 + self.eta, math.inf
        # One that stands for all has the masses of all.
        log_p = self.table.log_p if len(self.h) > 1 else TOGETHER
        return least_closed(log_p, self.gains, knowledge, eta=self.eta, s_range=(1e-3, S_RANGE[1]))


def far(table: "Alike | Ordered", eta: float) -> tuple[float, Floats]:
    """e, and at most rho_a of all count vectors that are not listed, for every a that stands for others.

    e = ( m sum_b P_b(t_b > top_b) )^eta N^(1-eta), N the number of all count vectors: at them r is the power eta of m
    times the sum of rho_b over the values b whose counts are above their tops, and m makes that no less than any rho_a.
    """
    n, k = table.n, table.law.size
    tops = table.tops * (k if len(table.tops) == 1 else 1)
    cut = [b for b in range(k) if tops[b] < n]
    ratio = max((tops[a] / table.law[a] * table.law[b] / (tops[b] + 1) for a in range(k) for b in cut), default=1.0)
    outside = np.array([_outside(table, table.law, a) for a in range(len(table.log_p))])
    own = [_tail(n - 1, table.law[b], tops[b] - 1) for b in range(k)]
    log_all = gammaln(n + k) - gammaln(n + 1.0) - gammaln(float(k))
    total = max(1.0, ratio) * sum(own)
    return float(total**eta * math.exp((1 - eta) * log_all)) if cut else 0.0, outside


def _outside(table: "Alike | Ordered", law: Floats, a: int) -> float:
    """What count vectors above the tops have at most, where one record is a and the others have this law."""
    tops = table.tops * (law.size if len(table.tops) == 1 else 1)
    return sum(_tail(table.n - 1, p, top - (b == a)) for b, (p, top) in enumerate(zip(law.tolist(), tops, strict=True)))


def _tail(n: int, p: float, top: int) -> float:
    """P(Binomial(n, p) > top)."""
    return float(np.exp(log_binomial(n, (1 - p, p))[top + 1 :]).sum()) if p < 1 else float(top < n)


def _along_a_slope(
    mechanism: NoisyCounts, table: "Alike | Ordered", knowledge: float, deadline: Deadline, settings: CountedSearch
) -> list[Formula]:
    """The bound with the contraction of the noise, by the slope of the own count under the tilt."""
    n, law, many = table.n, table.law, len(table.classes)

    def laws(slope: float) -> list[Floats]:
        tilted = [law * np.where(np.arange(law.size) == a, math.exp(slope), 1.0) for a in range(many)]
        return [x / x.sum() for x in tilted]

    def contraction(slope: float) -> float:
        return max(mechanism.contraction([(n - 1, x)]) for x in laws(slope))

    if contraction(0.0) > settings.most_contraction:
        return []
    features = [table.features(a) for a in range(many)]
    steep = np.array(
        [
            np.linalg.lstsq(x, c[:, 0].astype(float), rcond=1e-10)[0]
            for x, (c, _) in zip(features, table.classes, strict=True)
        ]
    )
    best: Formula | None = None

    def bound(slope: float) -> float:
        nonlocal best
        if deadline.expired():
            return math.inf
        eta = contraction(slope)
        # All count vectors, listed or not.
        log_z = slope + (n - 1) * np.log1p(law[:many] * math.expm1(slope))
        listed = [slope * c[:, 0] for c, _ in table.classes]
        inside = [float(logsumexp(r + x)) for (_, r), x in zip(table.classes, listed, strict=True)]
        # No less than what is outside of the tops, which a difference alone says with errors above what there is.
        most = np.array([max(_outside(table, x, a), 1e-15) for a, x in enumerate(laws(slope))])
        beyond = np.minimum(most, np.maximum(-np.expm1(np.array(inside) - log_z), 0.0) + 1e-12)
        gains = table.gains(list(slope * steep), table.log_p, beyond)
        h = [g - eta * (x - z) for g, x, z in zip(gains, listed, log_z, strict=True)]
        s, upper = Closing(table, h, eta).least(knowledge)
        if best is None or upper < best.upper:
            data = {"s": s, "tops": list(table.tops), "slope": slope, "weights": np.exp(table.log_p).tolist()}
            best = Formula("counted", upper, data, s, doubt=MANY_TERMS)
        return upper

    whole = math.sqrt(2 * knowledge / (n * float(law.max())))
    least_between(bound, settings.slopes[0] * whole, settings.slopes[1] * whole, most=settings.slope_rounds)
    return [] if best is None else [best]


def table_of(
    mechanism: NoisyCounts, law: Floats, settings: CountedSearch, rare: Sequence[float]
) -> "Alike | Ordered | None":
    """The table with the highest tops that fit; None where there are none."""
    n, positive = mechanism.n, law[law > 0]
    alike = np.unique(positive).size == 1
    # Beyond all counts other noise still tells them apart.
    falling = mechanism.noise.rate is not None
    choices = [(n,) * positive.size]
    if falling:
        tails = [np.cumsum(np.exp(log_binomial(n, (1 - p, p)))[::-1])[::-1] for p in positive.tolist()]
        choices += [tuple(min(n, int(np.searchsorted(-tail, -x))) for tail in tails) for x in rare]
    for j, tops in enumerate(choices):
        most = settings.few if falling and j == 0 else settings.outputs
        wide = [min(n, top + 1) + 1 for top in tops]
        if alike and _vectors(n, positive.size) <= settings.vectors and _outputs(wide[0], positive.size) <= most:
            return Alike.of(mechanism, positive, tops[0])
        if not alike and math.prod(wide) <= most:
            return Ordered.of(mechanism, positive, tops)
    return None


def _outputs(wide: int, k: int) -> int:
    """Outputs up to order: the own one, and the multiset of the others."""
    return math.comb(wide + k - 2, k - 1) * wide


def _vectors(n: int, k: int) -> float:
    """Count vectors as own count and multiset of the others, at least: the others' orders are (k-1)! at most."""
    return math.comb(n + k - 1, k - 1) / math.factorial(k - 1)


@dataclass(frozen=True, eq=False)
class Ordered:
    """Values that are not alike: count vectors one by one, and noise applied to one count after the other."""

    n: int
    law: Floats
    tops: tuple[int, ...]
    rows: list[Floats]
    # One for every value.
    counts: Ints

    @classmethod
    def of(cls, mechanism: NoisyCounts, law: Floats, tops: tuple[int, ...]) -> "Ordered":
        n = mechanism.n
        rows = [clamped(mechanism.noise, np.arange(x + 1.0)[:, None], np.arange(min(n, x + 1) + 1.0)) for x in tops]
        first = np.indices([x + 1 for x in tops[:-1]]).reshape(len(tops) - 1, -1)
        last = n - first.sum(axis=0)
        kept = (last >= 0) & (last <= tops[-1])
        return cls(n, law, tops, rows, np.vstack([first, last])[:, kept])

    @property
    def log_p(self) -> Floats:
        return np.log(self.law)

    @cached_property
    def classes(self) -> list[tuple[Ints, Floats]]:
        """Own counts from 1 on."""
        counts, n = self.counts, self.n
        log_rho = gammaln(n + 1.0) - gammaln(counts + 1.0).sum(axis=0) + np.log(self.law) @ counts
        found = []
        for a, p in enumerate(self.law.tolist()):
            alive = counts[a] > 0
            listed = np.concatenate([counts[[a]], np.delete(counts, a, axis=0)])[:, alive].T
            found.append((listed, (log_rho + np.log(np.maximum(counts[a], 1) / (n * p)))[alive]))
        return found

    def features(self, a: int) -> Floats:
        counts = self.counts[:, self.counts[a] > 0]
        parts = [part[:, None] == np.arange(top + 1) for part, top in zip(counts, self.tops, strict=True)]
        return np.concatenate(parts, axis=1).astype(float)

    def split(self, a: int, tilt: Floats) -> list[Floats]:
        return np.split(tilt, np.cumsum([top + 1 for top in self.tops])[:-1])

    def gains(self, tilts: list[Floats], log_c: Floats, beyond: Floats) -> list[Floats]:
        laws = []
        for a, tilt in enumerate(tilts):
            log_w = self.classes[a][1] + self.features(a) @ tilt
            whole = float(logsumexp(log_w)) - math.log1p(-beyond[a])
            law = np.zeros([top + 1 for top in self.tops])
            law[tuple(self.counts[:, self.counts[a] > 0])] = np.exp(log_w - whole)
            for axis, rows in enumerate(self.rows):
                law = np.moveaxis(np.tensordot(law, rows, axes=(axis, 0)), -1, axis)
            laws.append(np.maximum(law, LEAST))
        r = sum(math.exp(c) * law for c, law in zip(log_c, laws, strict=True))
        found = []
        for a, law in enumerate(laws):
            ratio = np.log((law + beyond[a]) / r)
            for axis, rows in enumerate(self.rows):
                ratio = np.moveaxis(np.tensordot(ratio, rows, axes=(axis, 1)), -1, axis)
            found.append(ratio[tuple(self.counts[:, self.counts[a] > 0])])
        return found


LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Alike:
    """Values that are all alike: count vectors as (own count, sorted others)."""

    n: int
    law: Floats
    tops: tuple[int]
    rows: Floats
    log_p: Floats = field(default_factory=lambda: np.zeros(1))

    @classmethod
    def of(cls, mechanism: NoisyCounts, law: Floats, top: int) -> "Alike":
        high = min(mechanism.n, top + 1)
        rows = clamped(mechanism.noise, np.arange(top + 1.0)[:, None], np.arange(high + 1.0))
        return cls(mechanism.n, law, (top,), rows)

    @property
    def k(self) -> int:
        return int(self.law.size)

    @property
    def top(self) -> int:
        return self.tops[0]

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

    @cached_property
    def _times(self) -> Ints:
        """How often each output is among all: the others' multiset, and the own."""
        others = self.multisets(self.k - 1)[:, None, :]
        return np.asarray((others == np.arange(self.wide)[None, :, None]).sum(axis=2) + 1)

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
    def classes(self) -> list[tuple[Ints, Floats]]:
        """Count vectors up to order as (own count, rising others), and log rho_a of all their orders together."""
        counts = np.array(list(self._listed((), self.n)), dtype=np.int64)
        orders = gammaln(float(self.k))
        for t in range(self.n + 1):
            orders = orders - gammaln((counts[:, 1:] == t).sum(axis=1) + 1.0)
        log_rho = gammaln(float(self.n)) - (self.n - 1) * math.log(self.k) + orders
        return [(counts, log_rho - gammaln(counts[:, 0]) - gammaln(counts[:, 1:] + 1.0).sum(axis=1))]

    def features(self, a: int) -> Floats:
        """The own count, and how often others have each count."""
        counts = self.classes[a][0]
        many = np.stack([(counts[:, 1:] == t).sum(axis=1) for t in range(self.top + 1)], axis=1)
        return np.concatenate([counts[:, :1] == np.arange(self.top + 1), many], axis=1).astype(float)

    def split(self, a: int, tilt: Floats) -> list[Floats]:
        return np.split(tilt, 2)

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

    def gains(self, tilts: list[Floats], log_c: Floats, beyond: Floats) -> list[Floats]:
        """One contraction after the other; all values have the same weight."""
        (h, g), (counts, log_rho) = np.split(tilts[0], 2), self.classes[0]
        lean = log_rho + h[counts[:, 0]] + g[counts[:, 1:]].sum(axis=1)
        log_z = float(logsumexp(lean)) - math.log1p(-beyond[0])
        t = np.arange(1, self.top + 1)
        weight = np.exp(h[1:] - log_z + gammaln(float(self.n)) - (self.n - 1) * math.log(self.k) - gammaln(t))
        u = (self.others(g)[:, self.n - t] * weight) @ self.rows[1:]
        together = np.zeros(math.comb(self.wide + self.k - 1, self.k))
        places = self.places[self.k - 1]
        np.add.at(together, places, self._times * u)
        ratio = np.log(np.maximum(u + beyond[0], LEAST)) - np.log(np.maximum(together[places] / self.k, LEAST))
        found: list[float] = []
        for own in t.tolist():
            self._descend((own,), ratio @ self.rows[own], found)
        return [np.array(found)]

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
