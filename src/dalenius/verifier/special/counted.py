"""Noisy histograms of few people: the reference tilted along the counts, a bound and a witness of the kind "counted".

p is the law of a record, rho_a the law of count vectors t given that the record is a. With tilts f_ab of the counts

    w_a(t) = rho_a(t) exp( sum_b f_ab(t_b) ) / Z_a  on count vectors with no count above its top,   U_a = w_a q,
    r = sum_b c_b U_b,        G_a(t) = sum_y q(y|t) log( U_a(y) / r(y) ).

The prior c_a w_a(t) leaks sum_a c_a sum_y U_a log( U_a / r ). And h(a,t) = G_a(t) - eta log( w_a(t) / rho_a(t) ) -
log(1 - e) closes for every s > eta, e what r has of count vectors above the tops, where h <= 0. eta = 1 serves for
every tilt; with a `slope` of the own count alone it is the contraction of the noise, and U_a has at most `beyond` more
at every output. Where all values are alike one of them stands for all, and sums run over its own count, or output, and
the others up to order. Values without mass are left out. Proof: docs/proofs/histograms.md, 1 to 4.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, combinations_with_replacement, pairwise, product
from math import comb, factorial, prod
from operator import mul
from typing import Any

from flint import arb, arb_mat, arb_poly

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, matrix, precision, short
from dalenius.verifier.kernel.cells import Knowledge, allowed, attains, law_of
from dalenius.verifier.kernel.closing import close, largest_of
from dalenius.verifier.kernel.limits import largest, tick, ticking
from dalenius.verifier.kernel.order import orders
from dalenius.verifier.kernel.reading import field, fits, number, numbers, refuse, sequence, whole

Counts = tuple[int, ...]
Tilts = list[list[Ball]]

# Bits of a ball, one machine word: sums here are of terms above 0, and the claims leave room for far more rounding.
BITS = 64


@precision(BITS)
def bound(channel: Any, knowledge: Ball, proof: dict[str, Any], where: str) -> Ball:
    """Guarantee: I <= result for every prior with D(pi || rho) <= knowledge."""
    table = _table(channel, proof, where)
    s, eta = arb(number(field(proof, "s", where), f"s of {where}")), ONE
    if "slope" in proof:
        slope = arb(number(proof["slope"], f"the slope of {where}"))
        laws = [table.sloped(a, slope) for a in table.stand_ins]
        eta = largest_of(channel.contraction([(table.n - 1, x.tilted)]) for x in laws).min(ONE)
    else:
        laws = [_Law(table, a, tilts) for a, tilts in zip(table.stand_ins, _tilts(table, proof, where), strict=True)]
    if not s > eta:
        refuse(f"{where}: s must be above the contraction, which is {short(eta)}")
    told, outside = table.far(eta)
    if not told < 1:
        refuse(f"{where}: count vectors above its tops have too much mass to be told")
    power, inside = 1 / (s - eta), (1 - told).log()
    outputs, logs = table.outputs(laws, law_of(field(proof, "weights", where), len(laws), f"the weights of {where}"))
    exponents = []
    for law, values, beyond in zip(laws, outputs, outside, strict=True):
        table.ratios(law, values, logs)
        total = beyond
        for counts, mass, value in table.contracted(law.own, values):
            total += mass * (power * (value - eta * (law.lean(counts) - law.log_z) - inside)).exp()
        log_p = ZERO if table.alike else table.law[law.own].log()
        exponents.append(s * log_p + total.log() / power)
    return close(exponents, s, knowledge, eta=eta)


@precision(BITS)
def check_witness(witness: dict[str, Any], channel: Any, knowledge: Knowledge, lower: float) -> None:
    """Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret."""
    where = "the witness"
    table = _table(channel, witness, where)
    laws = [_Law(table, a, tilts) for a, tilts in zip(table.stand_ins, _tilts(table, witness, where), strict=True)]
    weights = law_of(field(witness, "weights", where), len(laws), f"the weights of {where}")
    if knowledge.none:
        refuse("the witness tilts counts where the reference is the only prior that the adversary may hold")
    spent = ZERO
    for c, law in zip(weights, laws, strict=True):
        spent += c * (law.divergence() + (ZERO if table.alike else (c / table.law[law.own]).log()))
    allowed(spent, knowledge, where)
    outputs, logs = table.outputs(laws, weights)
    leaked = sum((c * table.mean(x, values, logs) for c, x, values in zip(weights, laws, outputs, strict=True)), ZERO)
    attains(leaked, lower)


def _table(channel: Any, data: dict[str, Any], where: str) -> "_Table":
    """The counts that are listed, and the noise on them."""
    n, masses = channel.statistic.n, channel.masses
    law = [p for p, mass in zip(channel.reference.law(0, len(masses)), masses, strict=True) if mass > 0]
    alike = len({mass for mass in masses if mass > 0}) == 1
    listed = sequence(field(data, "tops", where), f"the tops of {where}", 1 if alike else len(law))
    tops = [whole(top, f"the tops of {where}", 1, n) for top in listed] * (len(law) if alike else 1)
    # Only these have outputs beyond the counts that may be put together.
    if min(tops) < n and channel.noise.family not in ("geometric", "laplace"):
        refuse(f"{where}: tops below {n} are for geometric and Laplace noise")
    wide = [min(n, top + 1) + 1 for top in tops]
    outputs = comb(wide[0] + len(law) - 2, len(law) - 1) * wide[0] if alike else len(law) * prod(wide)
    fits(outputs, where)
    rows = {x: channel.noise.rows(range(x + 1), 0, min(n, x + 1)) for x in set(tops)}
    return _Table(n, law, tops, [rows[x] for x in tops], alike=alike)


def _tilts(table: "_Table", data: dict[str, Any], where: str) -> list[Tilts]:
    """For every value that stands for others the tilt of every count."""
    given = sequence(field(data, "tilts", where), f"the tilts of {where}", len(table.stand_ins))
    found = []
    for parts in given:
        tops = table.tops[:2] if table.alike else table.tops
        listed = sequence(parts, f"the tilts of {where}", len(tops))
        read = [numbers(x, top + 1, f"the tilts of {where}") for x, top in zip(listed, tops, strict=True)]
        tilts = [list(map(arb, x)) for x in read]
        found.append([tilts[0], *[tilts[1]] * (len(table.law) - 1)] if table.alike else tilts)
    return found


class _Table:
    """Counts 0..top of every value, outputs 0..wide-1, and the law of a record."""

    def __init__(self, n: int, law: list[Ball], tops: list[int], rows: list[list[list[Ball]]], *, alike: bool) -> None:
        self.n, self.law, self.tops, self.rows, self.alike = n, law, tops, rows, alike
        self.k, self.wide = len(law), [len(x[0]) for x in rows]
        self.stand_ins = range(1 if alike else self.k)
        # (n-1)!, by a logarithm: of many people it is a number of very many digits.
        self.scale = arb(n).lgamma().exp()

    def others(self, a: int) -> list[int]:
        return [b for b in range(self.k) if b != a]

    def lists(self, a: int) -> Iterator[Counts]:
        """All outputs of the others; up to order if alike."""
        if self.alike:
            return combinations_with_replacement(range(self.wide[0]), self.k - 1)
        return product(*(range(self.wide[b]) for b in self.others(a)))

    def places(self, a: int) -> list[list[list[int]]]:
        """For outputs of the first few others, and of the next, the place of both together; up to order if alike."""
        if self.alike:
            return self._alike_places
        sizes = [1, *accumulate((self.wide[b] for b in self.others(a)), mul)]
        return [[list(range(z * y // x, (z + 1) * y // x)) for z in ticking(range(x))] for x, y in pairwise(sizes)]

    @cached_property
    def _alike_places(self) -> list[list[list[int]]]:
        found, each = [], range(self.wide[0])
        for many in range(1, self.k + 1):
            place = {z: i for i, z in enumerate(combinations_with_replacement(each, many))}
            lists = ticking(combinations_with_replacement(each, many - 1))
            found.append([[place[tuple(sorted((*z, y)))] for y in each] for z in lists])
        return found

    def spots(self, a: int) -> Iterator[list[int]]:
        """For outputs of all others, and every own one, where they stand among all."""
        if self.alike:
            yield from self.places(a)[-1]
            return
        steps = [prod(self.wide[b + 1 :]) for b in range(self.k)]
        for z in self.lists(a):
            first = sum(y * steps[b] for y, b in zip(z, self.others(a), strict=True))
            yield [first + y * steps[a] for y in range(self.wide[a])]

    def outputs(self, laws: "list[_Law]", weights: list[Ball]) -> tuple[list[list[list[Ball]]], list[Ball]]:
        """U_a for every law, all outputs of the others, and every own output; and log r for all outputs together."""
        size = comb(self.wide[0] + self.k - 1, self.k) if self.alike else prod(self.wide)
        together, found = [ZERO] * size, []
        for law, c in zip(laws, weights, strict=True):
            found.append(law.outputs())
            for places, z, values in zip(self.spots(law.own), self.lists(law.own), found[-1], strict=True):
                for place, value in zip(places, values, strict=True):
                    together[place] += value if self.alike else c * value
                # Where others have the own output it is that of one of them as well.
                for y in z if self.alike else ():
                    together[places[y]] += values[y]
        # One law that stands for all has the weight of all.
        return found, [(x / self.k if self.alike else x).log() for x in ticking(together)]

    def ratios(self, law: "_Law", outputs: list[list[Ball]], logs: list[Ball]) -> None:
        """Put log( U_a(y) / r(y) ) in the place of U_a(y): the table is the largest thing that is held."""
        for j, places in enumerate(ticking(self.spots(law.own))):
            outputs[j] = [(u + law.beyond).log() - logs[x] for x, u in zip(places, outputs[j], strict=True)]

    def mean(self, law: "_Law", outputs: list[list[Ball]], logs: list[Ball]) -> Ball:
        """sum_y U_a(y) log( U_a(y) / r(y) )."""
        total = ZERO
        for z, places, values in zip(self.lists(law.own), self.spots(law.own), ticking(outputs), strict=True):
            total += (orders(z) if self.alike else 1) * sum(
                (u * (u.log() - logs[x]) for x, u in zip(places, values, strict=True)), ZERO
            )
        return total

    def contracted(self, a: int, ratios: list[list[Ball]]) -> Iterator[tuple[Counts, Ball, Ball]]:
        """Every count vector within the tops, its own count first, rho_a of all its orders, and G_a there."""
        rows, places, wide = self.rows[a], self.places(a), self.wide[a]
        columns = matrix(rows[1 : self.tops[a] + 1]).transpose()
        by_own: list[list[Ball]] = [[] for _ in range(self.tops[a])]
        step = max(1, largest().part // wide)
        for first in range(0, len(ratios), step):
            tick()
            part = ratios[first : first + step]
            entries = (arb_mat(len(part), wide, [x for row in part for x in row]) * columns).entries()
            for own, held in enumerate(by_own):
                held.extend(entries[own :: self.tops[a]])
        for own, held in enumerate(by_own, 1):
            yield from self._next((own,), a, held, places)

    def _next(self, counts: Counts, a: int, values: list[Ball], places: Any) -> Iterator[tuple[Counts, Ball, Ball]]:
        """The sum over the others' outputs, the last one first; counts of others that are alike rise."""
        size, left = self.k - len(counts), self.n - sum(counts)
        if size == 0:
            tick()
            yield counts, self._mass(a, counts), values[0]
            return
        rest = self.others(a)[:size]
        top = self.tops[rest[-1]]
        first = max(0, left - sum(self.tops[b] for b in rest[:-1]))
        last = min(top, left)
        if self.alike:
            first, last = max(first, counts[-1] if len(counts) > 1 else 0), min(last, left // size)
        if size == 1:
            first = max(first, left)
        if last < first:
            return
        tick()
        wide, rows = self.wide[rest[-1]], self.rows[rest[-1]]
        part = arb_mat(len(places[size - 1]), wide, [values[x] for row in places[size - 1] for x in row])
        columns = matrix(rows[first : last + 1]).transpose()
        entries, many = (part * columns).entries(), last - first + 1
        for j in range(many):
            yield from self._next((*counts, first + j), a, entries[j::many], places)

    def _mass(self, a: int, counts: Counts) -> Ball:
        """rho_a of a count vector, its own count first and the others from the last to the first; of all orders."""
        masses = (self.masses[b][t] for b, t in zip(reversed(self.others(a)), counts[1:], strict=True))
        return (
            self.scale * (orders(counts[1:]) if self.alike else 1) * prod(masses, start=self.masses[a][counts[0] - 1])
        )

    @cached_property
    def masses(self) -> list[list[Ball]]:
        """p_b^t / t! for every value and count."""
        found = []
        for p, top in zip(self.law, self.tops, strict=True):
            found.append([p**t / factorial(t) for t in range(top + 1)])
        return found

    def far(self, eta: Ball) -> tuple[Ball, list[Ball]]:
        """What r has of count vectors above the tops, at least as much as rho_a^eta at each; and rho_a of them all."""
        n, k, tops = self.n, self.k, self.tops
        cut = [b for b in range(k) if tops[b] < n]
        if not cut:
            return ZERO, [ZERO for _ in self.stand_ins]
        more = [tops[a] / self.law[a] * self.law[b] / (tops[b] + 1) for a in range(k) for b in cut]
        own, other = ([self._tail(b, tops[b] - more_of) for b in range(k)] for more_of in (1, 0))
        total = largest_of([*more, ONE]) * sum(own, ZERO)
        outside = [own[a] + sum((other[b] for b in range(k) if b != a), ZERO) for a in self.stand_ins]
        return total**eta * arb(comb(n + k - 1, k - 1)) ** (1 - eta), outside

    def _tail(self, b: int, top: int) -> Ball:
        """P(Binomial(n-1, p_b) > top)."""
        m, p = self.n - 1, self.law[b]
        q = sum((x for v, x in enumerate(self.law) if v != b), ZERO)
        terms = (arb(comb(m, j)) * p**j * q ** (m - j) for j in ticking(range(top + 1, m + 1)))
        return sum(terms, ZERO)

    def sloped(self, a: int, slope: Ball) -> "_Law":
        """The law with a slope of the own count, among all count vectors; all records but one are independent."""
        law = _Law(self, a, [[slope * t if b == a else ZERO for t in range(x + 1)] for b, x in enumerate(self.tops)])
        weights = [p * slope.exp() if b == a else p for b, p in enumerate(self.law)]
        total = sum(weights, ZERO)
        law.tilted = [x / total for x in weights]
        inside, whole_of = law.log_z, slope + (self.n - 1) * total.log()
        law.log_z, law.beyond = whole_of, (1 - (inside - whole_of).exp()).nonnegative_part().upper()
        return law


class _Law:
    """w_a for one value a."""

    beyond = ZERO
    tilted: list[Ball]

    def __init__(self, table: _Table, own: int, tilts: Tilts) -> None:
        """Tilts of the counts of all values, the own among them; where values are alike the own is the first."""
        self.table, self.own, self.tilts = table, own, tilts
        self.weights = [
            [m * x.exp() for m, x in zip(masses, tilt, strict=True)]
            for masses, tilt in zip(table.masses, tilts, strict=True)
        ]
        # t p^(t-1) / t! for the own count.
        own_masses = table.masses[own]
        self.own_weights = [ZERO, *(m * x.exp() for m, x in zip(own_masses, tilts[own][1:], strict=False))]
        self.log_z = (table.scale * self._sum(self.own_weights, self._power([]))).log()

    def _power(self, instead: list[tuple[int, list[Ball]]]) -> Any:
        """The polynomial of the others' counts; with these weights of a value in place of its own."""
        polys = {b: arb_poly(self.weights[b]) for b in self.table.others(self.own)} | {
            b: arb_poly(x) for b, x in instead
        }
        result = arb_poly([1])
        for poly in polys.values():
            tick()
            result = (result * poly).truncate(self.table.n + 1)
        return result

    def _sum(self, own: list[Ball], others: Any) -> Ball:
        return sum((x * others[self.table.n - t] for t, x in enumerate(own)), ZERO)

    def lean(self, counts: Counts) -> Ball:
        """The tilt of a count vector, the own count first and the others from the last to the first."""
        others = reversed(self.table.others(self.own))
        return sum((self.tilts[b][t] for b, t in zip(others, counts[1:], strict=True)), self.tilts[self.own][counts[0]])

    def divergence(self) -> Ball:
        """D(w_a || rho_a): the mean tilt, less log Z."""
        table, tilts = self.table, self.tilts
        others = table.others(self.own)
        mean = self._sum([x * w for x, w in zip(tilts[self.own], self.own_weights, strict=True)], self._power([]))
        # Others that are alike have the same mean.
        for b in others[:1] if table.alike else others:
            tilted = [x * w for x, w in zip(tilts[b], self.weights[b], strict=True)]
            mean += (len(others) if table.alike else 1) * self._sum(self.own_weights, self._power([(b, tilted)]))
        return table.scale * mean / self.log_z.exp() - self.log_z

    def outputs(self) -> list[list[Ball]]:
        """U_a: for all outputs of the others, and every own output."""
        table, n = self.table, self.table.n
        products = [arb_poly([1])]
        for b, each in zip(table.others(self.own), table.places(self.own), strict=False):
            rows = table.rows[b]
            single = [
                arb_poly([w * row[y] for w, row in zip(self.weights[b], rows, strict=True)])
                for y in range(table.wide[b])
            ]
            more: list[Any] = [None] * (1 + max(map(max, each)))
            for z, places in enumerate(each):
                tick()
                for y, place in enumerate(places):
                    if more[place] is None:
                        more[place] = (products[z] * single[y]).truncate(n + 1)
            products = more
        counts, scale = range(1, table.tops[self.own] + 1), table.scale / self.log_z.exp()
        tilted = arb_mat([[scale * self.own_weights[t] * q for q in table.rows[self.own][t]] for t in counts])
        found: list[list[Ball]] = []
        for poly in products:
            tick()
            found.append((arb_mat([[poly[n - t] for t in counts]]) * tilted).entries())
        return found
