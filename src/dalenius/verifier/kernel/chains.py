"""A "monotone" proof: the row bound at one (r, s) of a channel whose likelihood ratios are monotone, without a tree.

g_a = max_w { D(wq || r) - s D(w || rho_a) } closes by closing.py, rho_a being the law of the cells t = 0, 1, ... of a
in the order of the rows (order.py). With d the increments of log(w / rho_a), u = wq and

    Theta(d)_t = (1/s) sum_y ( q(y|t+1) - q(y|t) ) log( u_y / r_y ):

(a) a maximiser has d = Theta(d); (b) Theta rises with d; (c) D <= d <= U, where U is Theta at u = q(.|last cell), D at
q(.|first cell), or what Theta makes of them; (d) for any increments c with law w_c, u_c = w_c q and rad = sum_t
apart_t, apart = max(U - c, c - D),  g_a <= s log sum_t rho_a(t) exp( sum_y q(y|t) log(u_c / r)(y) / s ) + rad^2 / 8;
(e) in place of rad^2 / 8 there may be half of the mean of G(t)^2, G(t) the sum of apart between a cell t0 and t, from
t0 on under the law of max(U, c), before it under that of min(D, c). Proof: docs/mathematics.md, 4.11.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

from flint import arb

from .balls import ONE, ZERO, Ball, float_above, float_below, log_sum_exp
from .cells import Channel, Products, Question, Shares, products
from .closing import close
from .doubles import Chain, chain_of, near_rows
from .limits import largest, tick
from .order import in_order
from .reading import above_zero, field, number, numbers, whole

# Chains as near as this need no more rounds: what (d) adds is below 1e-15.
ENOUGH = 1e-7


class OneValue:
    """The chains of one secret value."""

    def __init__(
        self, products: Products, rho: Sequence[Ball], log_r: Sequence[Ball], s: Ball, quick: Chain | None = None
    ) -> None:
        """Take the products of its rows, in order, and its law of them; quick: the same in doubles."""
        self.products, self.rho, self.log_r, self.s, self.quick = products, rho, log_r, s, quick
        self.inverse = 1 / s

    def increments(self, log_u: Sequence[Ball]) -> list[Ball]:
        """Theta at the output law u, or at a multiple of it: rows sum to one, and their differences to nothing."""
        gains = self.products.times([x - y for x, y in zip(log_u, self.log_r, strict=True)])
        return [(y - x) * self.inverse for x, y in pairwise(gains)]

    def outputs(self, increments: Sequence[Ball]) -> list[Ball]:
        """log u of increments, plus a constant."""
        return list(map(arb.log, self.products.combined(self.weights(increments))))

    def bound(self, rounds: int) -> Ball:
        """Guarantee: g_a <= result."""
        alone = [ZERO] * (len(self.rho) - 1)
        up, down = (
            self.increments([u.log() for u in self.products.combined(weights)])
            for weights in ([*alone, ONE], [ONE, *alone])
        )
        up, down, rounds = self._in_doubles([x.upper() for x in up], [x.lower() for x in down], rounds)
        for _ in range(rounds):
            if sum(up, ZERO) - sum(down, ZERO) < ENOUGH:
                break
            up = [x.upper() for x in self.increments(self.outputs(up))]
            down = [x.lower() for x in self.increments(self.outputs(down))]
        middle = [((x + y) / 2).mid() for x, y in zip(up, down, strict=True)]
        apart = [(u - c).max(c - d) for u, c, d in zip(up, middle, down, strict=True)]
        log_u = [u.log() for u in self.products.combined(self.law(middle))]
        gains = self.products.times([x - y for x, y in zip(log_u, self.log_r, strict=True)])
        total = sum((rho * (x / self.s).exp() for rho, x in zip(self.rho, gains, strict=True)), ZERO)
        return self.s * total.log() + self._distance(up, middle, down, apart)

    def _in_doubles(self, up: list[Ball], down: list[Ball], rounds: int) -> tuple[list[Ball], list[Ball], int]:
        """As many rounds as doubles serve for, which take a hundredth of the time; and how many are left."""
        chain = self.quick
        if chain is None:
            return up, down, rounds
        ends = [chain.np.array([f(x) for x in part]) for f, part in ((float_above, up), (float_below, down))]
        while rounds and not (ends[0] - ends[1]).sum() < ENOUGH:
            tick()
            found = [chain.increments(part) for part in ends]
            if found[0] is None or found[1] is None:
                break
            ends, rounds = [found[0][1], found[1][0]], rounds - 1
        return [arb(x) for x in ends[0].tolist()], [arb(x) for x in ends[1].tolist()], rounds

    def law(self, increments: Sequence[Ball]) -> list[Ball]:
        """The law w of increments."""
        weights = self.weights(increments)
        total = sum(weights, ZERO)
        return [w / total for w in weights]

    def weights(self, increments: Sequence[Ball]) -> list[Ball]:
        """A multiple of it."""
        tilts = map(arb.exp, accumulate(increments, initial=ZERO))
        return [rho * x for rho, x in zip(self.rho, tilts, strict=True)]

    def _distance(
        self, up: Sequence[Ball], middle: Sequence[Ball], down: Sequence[Ball], apart: Sequence[Ball]
    ) -> Ball:
        """Guarantee: D(w || w_c) <= result for every stationary w: the better of (d) and (e)."""
        grown = list(accumulate(apart, initial=ZERO))
        by_radius = grown[-1] * grown[-1] / 8
        # The median; any cell would do.
        t0 = bisect_left(list(accumulate(map(float, self.law(middle)))), 0.5, 0, len(grown) - 1)
        squares = [(g - grown[t0]) * (g - grown[t0]) for g in grown]
        # The middle is rounded, and may lie outside of chains that are very near each other.
        above, below = self.law(list(map(arb.max, up, middle)))[t0:], self.law(list(map(arb.min, down, middle)))[:t0]
        mean = sum(map(mul, above, squares[t0:]), ZERO) + sum(map(mul, below, squares[:t0]), ZERO)
        return by_radius.min(mean / 2) if mean.is_finite() else by_radius


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield the one bound."""
    channel = question.channel
    s = arb(above_zero(proof, "s", where))
    given = [arb(r) for r in numbers(field(proof, "rho", where), channel.outputs, "rho")]
    rounds = whole(field(proof, "rounds", where), "rounds", 0, largest().chain_rounds)
    total = log_sum_exp(given)
    in_order(channel)
    log_r = [x - total for x in given]
    # Where recursions take the place of products of matrices balls are quick enough.
    recursions = channel.falling is not None and channel.falling.width > 0
    near = near_rows(channel.rows) if rounds and not recursions else []
    bound = _closed(question, log_r, s, rounds, near)
    if near and not bound + question.lost <= number(field(proof, "upper", where), f"'upper' of {where}"):
        bound = _closed(question, log_r, s, rounds, [])  # chains in doubles do not come as near to each other
    yield where, bound


def _closed(
    question: Question, log_r: list[Ball], s: Ball, rounds: int, near: Sequence[tuple[list[float], float]]
) -> Ball:
    """The bound by chains of every value; near: the rows in doubles, if they are to be used."""
    known: dict[Any, Ball] = {}
    for cell in question.cells:
        # Values of a group with the same sum have the same cells.
        if key(cell) not in known:
            known[key(cell)] = _value(question.channel, cell, log_r, s, rounds, near)
    return close([known[key(cell)] for cell in question.cells], s, question.knowledge.most)


def key(cell: Shares) -> tuple[Any, ...]:
    """What tells cells apart: equal balls are one."""
    return tuple((t, rho.mid().man_exp(), rho.rad().man_exp()) for t, rho in sorted(cell.items()))


def _value(  # noqa: PLR0917 - the whole problem
    channel: Channel, cell: Shares, log_r: list[Ball], s: Ball, rounds: int, near: Sequence[tuple[list[float], float]]
) -> Ball:
    """s log rho(a) + g_a of one value, or above; near: the rows in doubles, if they are to be used."""
    rows = sorted(cell)
    log_p = sum(cell.values(), ZERO).log()
    total = log_p.exp()
    law = [cell[t] / total for t in rows]
    quick = chain_of([near[t] for t in rows], law, log_r, float(s), rounds) if near else None
    return s * log_p + OneValue(products(channel, rows), law, log_r, s, quick).bound(rounds)
