"""A "monotone" proof: the row bound at one (r, s) of a channel whose likelihood ratios are monotone, without a tree.

For every prior pi(a,t) = p(a) w(t|a) with D(pi || rho) <= K, any law r > 0 and s > 0 (see rows.py)

    I(A;Y) <= s LSE_a( log rho(a) + g_a / s ) + s K,        g_a = max_w { D(wq || r) - s D(w || rho_a) },

rho_a the law of the cells of a. Let these cells t = 0, 1, ... be ordered such that q > 0 and
(i) q(y'|t) / q(y|t) does not fall in t for outputs y <= y', (ii) q(.|t+1) is stochastically above q(.|t);
outputs may be partially ordered, as tuples of outputs of independent releases are. (i) gives (ii) where outputs are in
a line, and products of laws in a line inherit both. With h = log(w / rho_a), d its increments, u = wq and

    Theta(d)_t = (1/s) sum_y ( q(y|t+1) - q(y|t) ) log( u_y / r_y ):

(a) A maximiser w of g_a has d = Theta(d). As q > 0, the gradient of D(wq || r) is finite while that of -s w log w is
    infinite at 0, so w > 0, and s h = sum_y q(y|.) log(u_y / r_y) + const.
(b) If d <= d' entrywise, Theta(d) <= Theta(d'). Then h' - h does not fall, and log u'_y / u_y is the logarithm of the
    mean of exp(h' - h) under mu_y, proportional to rho_a e^h q(y|.) up to a constant; by (i) mu_y' is above mu_y in
    likelihood ratio for y <= y', so log u'_y / u_y does not fall in y, and by (ii) its mean rises with t.
(c) Let U be Theta with u = q(.|last cell) and D with u = q(.|first cell). D <= d <= U for every d of (a): u is a
    mixture of rows, and by (i) log( q(y|last) / u_y ) does not fall in y, log( q(y|first) / u_y ) does not rise. By (b)
    this stays so when U is replaced by anything at least Theta(U), D by anything at most Theta(D).
(d) For any increments c with law w_c and u_c = w_c q, and rad = sum_t max(U - c, c - D)_t,
        g_a <= s log sum_t rho_a(t) exp( sum_y q(y|t) log(u_c / r)(y) / s ) + rad^2 / 8,
    for D(wq || r) = sum_y (wq) log(u_c / r) + D(wq || u_c), the first two terms of g_a are at most the logarithm
    (Gibbs), and D(wq || u_c) <= D(w || w_c). Along w_x ~ w_c (w / w_c)^x it is the integral of x Var_x( log w/w_c )
    over [0, 1], and log w/w_c oscillates by rad at most, so its variance is at most rad^2 / 4.

Where numbers are given, the rows are monotone but for rounding. q' is then a channel next to it that is monotone, with
q = (1 - lost) q' + lost q'' for some channel q''. Who also sees which of the two was used knows no less, so
L(q) <= L(q') + lost log|A|.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from flint import arb

from dalenius.verifier.balls import ZERO, Ball, log_sum_exp
from dalenius.verifier.channels.ordering import Ordered, Products, by_name, repaired
from dalenius.verifier.limits import largest
from dalenius.verifier.question import Question
from dalenius.verifier.reading import field, number, numbers, refuse, whole


class OneValue:
    """The chains of one secret value."""

    def __init__(self, products: Products, rho: Sequence[Ball], log_r: Sequence[Ball], s: Ball) -> None:
        """Take the products of its rows, in order, and its law of them."""
        self.products, self.rho, self.log_r, self.s = products, rho, log_r, s

    def increments(self, log_u: Sequence[Ball]) -> list[Ball]:
        """Theta at the output law u."""
        gains = self.products.times([x - y for x, y in zip(log_u, self.log_r, strict=True)])
        return [(y - x) / self.s for x, y in pairwise(gains)]

    def outputs(self, increments: Sequence[Ball]) -> list[Ball]:
        """log u of increments."""
        h, weights = ZERO, [self.rho[0]]
        for d, rho in zip(increments, self.rho[1:], strict=True):
            h += d
            weights.append(rho * h.exp())
        log_total = sum(weights, ZERO).log()
        return [u.log() - log_total for u in self.products.combined(weights)]

    def bound(self, first: Sequence[Ball], last: Sequence[Ball], rounds: int) -> Ball:
        """Guarantee: g_a <= result. first, last: its rows at both ends of the order."""
        return self.bound_from([q.log() for q in first], [q.log() for q in last], rounds)

    def bound_from(self, first: Sequence[Ball], last: Sequence[Ball], rounds: int) -> Ball:
        """The same, for the logarithms of these rows."""
        up = [x.upper() for x in self.increments(last)]
        down = [x.lower() for x in self.increments(first)]
        for _ in range(rounds):
            up = [x.upper() for x in self.increments(self.outputs(up))]
            down = [x.lower() for x in self.increments(self.outputs(down))]
        middle = [((x + y) / 2).mid() for x, y in zip(up, down, strict=True)]
        radius = sum(((u - c).max(c - d) for u, c, d in zip(up, middle, down, strict=True)), ZERO)
        log_u = self.outputs(middle)
        gains = self.products.times([x - y for x, y in zip(log_u, self.log_r, strict=True)])
        total = sum((rho * (x / self.s).exp() for rho, x in zip(self.rho, gains, strict=True)), ZERO)
        return self.s * total.log() + radius * radius / 8


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield the one bound."""
    channel = question.channel
    s = arb(number(field(proof, "s", where), "s"))
    if not s > 0:
        refuse("s must be above 0")
    given = [arb(r) for r in numbers(field(proof, "rho", where), channel.outputs, "rho")]
    rounds = whole(field(proof, "rounds", where), "rounds", 0, largest().chain_rounds)
    total = log_sum_exp(given)
    if "order" in proof or "ranks" in proof:
        ordered = repaired(channel, field(proof, "order", where), field(proof, "ranks", where))
    else:
        ordered = by_name(channel)
    log_r = [given[y] - total for y in ordered.outputs]
    known: dict[Any, Ball] = {}
    values = []
    for cell in question.cells:
        # Values of a group with the same sum have the same cells.
        key = tuple((t, rho.mid().man_exp(), rho.rad().man_exp()) for t, rho in sorted(cell.items()))
        if key not in known:
            known[key] = _value(ordered, cell, log_r, s, rounds)
        values.append(known[key])
    upper = s * (log_sum_exp(values) + question.knowledge.most)
    yield where, upper + ordered.lost * arb(len(question.cells)).log()


def _value(ordered: Ordered, cell: dict[int, Ball], log_r: list[Ball], s: Ball, rounds: int) -> Ball:
    """log rho(a) + g_a / s of one value, or above."""
    rows = sorted(cell, key=lambda t: ordered.place[t])
    log_p = sum(cell.values(), ZERO).log()
    total = log_p.exp()
    one = OneValue(ordered.products(rows), [cell[t] / total for t in rows], log_r, s)
    return log_p + one.bound(ordered.rows[rows[0]], ordered.rows[rows[-1]], rounds) / s
