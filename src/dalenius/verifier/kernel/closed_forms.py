"""Proofs that are one formula: "trivial", "maximal", "sibson" and "reference"."""

from collections.abc import Callable, Iterator
from typing import Any

from flint import arb

from .balls import ZERO, Ball, log_sum_exp
from .cells import Question
from .closing import close, gain, largest
from .limits import ticking
from .reading import field as entry
from .reading import number, refuse
from .witness import information

Proof = dict[str, Any]
Bounds = Iterator[tuple[str, Ball]]
Pairs = list[tuple[Ball, Ball]]  # log rho(a) and log rho(t|a), of one row t and all values a


def trivial(question: Question, _: Proof, where: str) -> Bounds:
    """I <= log|A|, log|Y|, and the log of the number of different rows."""
    yield where, arb(min(len(question.cells), question.channel.outputs, len(question.channel.rows))).log()


def maximal(question: Question, _: Proof, where: str) -> Bounds:
    """The limit of "sibson" for great orders: r(t) proportional to max_a rho(t|a), and s = 1.

    That is at most K + log sum_t max_a rho(t|a).
    """
    yield where, _by_rows(question, ZERO, lambda pairs: largest(x for _, x in pairs))


def sibson(question: Question, proof: Proof, where: str) -> Bounds:
    """For every prior pi with D(pi || rho) <= K, T the row of the channel and r any law of rows.

        I(A;Y) <= I(A;T) <= sum pi log( pi(t|a) / r(t) ) = sum_a p_a D(w_a || rho_a) + sum pi log( rho(t|a) / r(t) ),
    a majorant with eta = 1 (closing.py). The best r(t) for s = order / (order - 1) is proportional to
    m(t) = ( sum_a rho(a) rho(t|a)^order )^(1/order), and (C) is then at most s K + s log sum_t m(t), the second part
    of which is Sibson's information of that order [sibson69].
    """
    order = number(entry(proof, "order", "it"), "the order", 1.0)
    if order <= 1:
        refuse("the order must be above 1")
    nu = arb(order)
    yield where, _by_rows(question, 1 / (nu - 1), lambda pairs: log_sum_exp(p + nu * x for p, x in pairs) / nu)


def _by_rows(question: Question, sigma: Ball, mean: Callable[[Pairs], Ball]) -> Ball:
    """(C) of this majorant at s = 1 + sigma; mean: log r(t), up to a constant."""
    s = 1 + sigma
    masses = [sum(cell.values(), ZERO).log() for cell in question.cells]
    cells = [
        {row: rho.log() - log_rho for row, rho in ticking(cell.items())}
        for cell, log_rho in zip(question.cells, masses, strict=True)
    ]
    given: dict[int, Pairs] = {}
    for log_rho, cell in zip(masses, cells, strict=True):
        for row, x in cell.items():
            given.setdefault(row, []).append((log_rho, x))
    log_r = {row: mean(pairs) for row, pairs in given.items()}
    total = log_sum_exp(log_r.values())
    exponents = (
        s * log_rho + gain(list(cell.values()), [x - log_r[row] + total for row, x in cell.items()], sigma)
        for log_rho, cell in zip(masses, cells, strict=True)
    )
    return close(exponents, s, question.knowledge.most)


def reference(question: Question, _: Proof, where: str) -> Bounds:
    """With no knowledge at all the prior is the reference, and I is what it is there."""
    if not question.knowledge.none or question.raised:
        refuse("a proof by reference is for an adversary without knowledge only, and for masses that are the reference")
    yield where, information(question.channel, question.cells)
