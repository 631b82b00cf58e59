"""Proofs that are one formula: "trivial", "sibson" and "reference"."""

from collections.abc import Iterator
from typing import Any

from flint import arb

from .balls import ZERO, Ball, log_sum_exp
from .cells import Question, Shares
from .closing import close, gain
from .limits import ticking
from .reading import field as entry
from .reading import number, refuse
from .witness import information

Proof = dict[str, Any]
Bounds = Iterator[tuple[str, Ball]]


def trivial(question: Question, _: Proof, where: str) -> Bounds:
    """I <= log|A|, log|Y|, and the log of the number of different rows."""
    yield where, arb(min(len(question.cells), question.channel.outputs, len(question.channel.rows))).log()


def sibson(question: Question, proof: Proof, where: str) -> Bounds:
    """For every prior pi with D(pi || rho) <= K, T the row of the channel and r any law of rows.

        I(A;Y) <= I(A;T) <= sum pi log( pi(t|a) / r(t) ) = sum_a p_a D(w_a || rho_a) + sum pi log( rho(t|a) / r(t) ),
    a majorant with eta = 1 (closing.py). The best r(t) for s = order / (order - 1) is proportional to
    m(t) = ( sum_a rho(a) rho(t|a)^order )^(1/order), and (C) is then at most s K + s log sum_t m(t), the second part
    of which is Sibson's information of that order [sibson69].
    """
    order = number(entry(proof, "order", "it"), "the order", 1.0)
    yield where, told_by_rows(question.cells, question.knowledge.most, order)


def told_by_rows(shares: list[Shares], knowledge: Ball, order: float) -> Ball:
    """The same from the cells alone, which may be those of a channel that is never written out."""
    if order <= 1:
        refuse("the order must be above 1")
    nu = arb(order)
    sigma = 1 / (nu - 1)
    s = 1 + sigma
    masses = [sum(cell.values(), ZERO).log() for cell in shares]
    cells = [
        {row: rho.log() - log_rho for row, rho in ticking(cell.items())}
        for cell, log_rho in zip(shares, masses, strict=True)
    ]
    # log rho(a) and log rho(t|a), of every row t and all values a.
    given: dict[int, list[tuple[Ball, Ball]]] = {}
    for log_rho, cell in zip(masses, cells, strict=True):
        for row, x in cell.items():
            given.setdefault(row, []).append((log_rho, x))
    log_r = {row: log_sum_exp(p + nu * x for p, x in pairs) / nu for row, pairs in given.items()}
    total = log_sum_exp(log_r.values())
    exponents = (
        s * log_rho + gain(list(cell.values()), [x - log_r[row] + total for row, x in cell.items()], sigma)
        for log_rho, cell in zip(masses, cells, strict=True)
    )
    return close(exponents, s, knowledge)


def reference(question: Question, _: Proof, where: str) -> Bounds:
    """With no knowledge at all the prior is the reference, and I is what it is there."""
    if not question.knowledge.none or question.raised:
        refuse("a proof by reference is for an adversary without knowledge only, and for masses that are the reference")
    yield where, information(question.channel, question.cells)
