"""A "rows" proof: the row bound at one (r, s), every secret value with a tree of its own.

For every prior pi(a,t) = p(a) w(t|a) and any law r, with rho(a,t) the reference and D(pi || rho) <= K,

    I(A;Y) <= sum_a p(a) D(w_a q || r)                                           (r is not the law of Y: only more)
           <= s LSE_a( g_a / s ) + s K,                                          (closing.py, s > 0)

g_a the maximum over w of the bracket D(wq || r) - s sum_t w(t) log( w(t) / rho(a,t) ). A leaf bounds the bracket for
the w whose group law lies in its box, by boxes.Row.value; the leaves of a row cover all w, so the largest of their
bounds is one on g_a.
"""

from collections.abc import Iterator
from typing import Any

from flint import arb

from .balls import Ball, log_sum_exp
from .boxes import Interval, Multipliers, Row
from .cells import Channel, Question
from .closing import close, largest
from .reading import field as entry
from .reading import mapping, number, numbers, refuse, sequence, whole
from .tree import leaves


class OneRow:
    """One secret value: its groups and eta checked, its leaves evaluated on demand."""

    def __init__(
        self, channel: Channel, cell: dict[int, Ball], s: Ball, fine: list[Ball], stated: dict[str, Any]
    ) -> None:
        """Read and check what all leaves share; fine are the coefficients -log r."""
        self.outputs, self.s, self.fine = channel.outputs, s, fine
        named = sequence(entry(stated, "groups", "it"), "groups", self.outputs)
        self.row = Row(channel, cell, [whole(g, "a group", 0, self.outputs - 1) for g in named])
        self.eta = min(1.0, number(entry(stated, "eta", "it"), "eta", low=0.0))
        self.row.check_contraction(self.eta, "it")
        self.size = self.row.size

    @property
    def root(self) -> Interval:
        """The box that every conditional lies in."""
        return self.row.hull()

    def split(self, box: Interval, cut: Any) -> tuple[Interval, Interval]:  # noqa: ANN401 - JSON
        """Return the two halves of a box at [group, number]; together they cover it."""
        group, at = sequence(cut, "a split", 2)
        whole(group, "the group of a split", 0, self.row.size - 1)
        return box.split(group, number(at, "the number of a split"))

    def bound(self, box: Interval, leaf: dict[str, Any]) -> Ball | None:
        """Guarantee: the bracket <= result for every conditional in this box; None when the box is empty."""
        if box.empty or box.tightened().empty:
            return None
        given = {key: numbers(leaf[key], self.row.size, key) for key in ("mu", "kappa", "omega") if key in leaf}
        lam = numbers(leaf["lam"], self.outputs, "lam") if "lam" in leaf else None
        kappa = given.get("kappa")
        if kappa is not None and not all(0 <= k <= 1 for k in kappa):
            refuse("kappa must lie between 0 and 1")
        multipliers = Multipliers(1.0, given.get("mu"), kappa, lam, given.get("omega"))
        return self.row.value(box.tightened(), self.s, self.eta, self.fine, multipliers)


def read(
    cells: list[dict[int, Ball]], channel: Channel, proof: dict[str, Any]
) -> tuple[Ball, Ball, list[tuple[OneRow, dict[str, Any]]]]:
    """Return s, log of the sum of r as given, and every row with what the proof states about it."""
    s = arb(number(entry(proof, "s", "it"), "s"))
    if not s > 0:
        refuse("s must be above 0")
    rho = [arb(r) for r in numbers(entry(proof, "rho", "it"), channel.outputs, "rho")]
    fine = [-r for r in rho]
    listed = sequence(entry(proof, "rows", "it"), "rows", len(cells))
    stated = [mapping(item, f"row {a}") for a, item in enumerate(listed)]
    rows = [(OneRow(channel, cell, s, fine, item), item) for cell, item in zip(cells, stated, strict=True)]
    return s, log_sum_exp(rho), rows


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield the one bound: the largest bound of a row's leaves bounds that row."""
    s, total, stated = read(question.cells, question.channel, proof)
    gains = []
    for a, (row, item) in enumerate(stated):
        values = [value for _, value in leaves(item, row, f"{where}, row {a}")]
        if not values:
            refuse(f"row {a} has no leaf that is not empty")
        gains.append(largest(values))
    yield where, close(gains, s, question.knowledge.most) + total
