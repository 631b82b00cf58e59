"""A "rows" proof: the row bound at one (r, s), every secret value with a tree of its own.

For any law r, I(A;Y) <= sum_a p(a) D(w_a q || r) closes with g_a the maximum over w of D(wq || r) - s sum_t w(t) log(
w(t) / rho(a,t) ). The tree of a row cuts the box 0 <= u(y) <= 1 of its output law u = w q; the boxes are those of one
law, as at one group of a tree of posteriors (cuts.py). On a leaf, with secants and multipliers as there,

    h_t = sum_y q_ty [ alpha_y - m_y + sum_x ( beta_x + max(m high, m low)_x ) ] - sum_y q_ty log r_y,

and g_a <= s LSE_t( log rho(a,t) + h_t / s ): the formula of a tree of posteriors for a secret of one value, with sigma
= s, K = 0, the second term of h as its tangent, and sums over outputs in place of sums over values (4.2 and 4.5).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from flint import arb

from . import posteriors
from .balls import ZERO, Ball, log_sum_exp
from .cells import Channel, Question
from .closing import close, largest_of
from .convex import Row, secant
from .cuts import Frame
from .packed import LARGEST_POWER, LEAST_POWER
from .reading import field, mapping, number, numbers, refuse, sequence


class OneRow(posteriors.Posteriors):
    """One secret value: boxes are of its output law, and sums over values become sums over outputs."""

    def __init__(self, channel: Channel, cell: dict[int, Ball], s: float, fine: list[Ball]) -> None:
        """Take the cells of the value; fine are the coefficients -log r."""
        self.outputs = self.many = channel.outputs
        self.groups = list(range(self.many))
        self.rows = [Row(channel, cell, self.groups)]
        self.single, self.eta, self.knowledge, self.s = True, 0.0, ZERO, s
        self.frame = Frame(self.many, 1, None, paired=False)
        self.tangents = [[self.rows[0].fine.times(fine)]]
        self.secant = lru_cache(posteriors.SECANTS)(secant)

    @property
    def shape(self) -> tuple[int, int]:
        """One value, and all outputs."""
        return 1, self.many


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield the one bound: the largest bound of a row's leaves bounds that row."""
    s = number(field(proof, "s", "it"), "s")
    if not 2.0**LEAST_POWER <= s <= 2.0**LARGEST_POWER:
        refuse(f"s = {s!r} is not between 2^{LEAST_POWER} and 2^{LARGEST_POWER}")
    rho = [arb(r) for r in numbers(field(proof, "rho", "it"), question.channel.outputs, "rho")]
    fine = [-r for r in rho]
    listed = sequence(field(proof, "rows", "it"), "rows", len(question.cells))
    gains = []
    for a, (cell, item) in enumerate(zip(question.cells, listed, strict=True)):
        problem, place = OneRow(question.channel, cell, s, fine), f"{where}, row {a}"
        values = [value for _, value in posteriors.Tree(problem, mapping(item, f"row {a}"), place).bounds(float("inf"))]
        if not values:
            refuse(f"row {a} has no leaf that is not empty")
        gains.append(largest_of(values))
    yield where, close(gains, arb(s), question.knowledge.most) + log_sum_exp(rho)
