"""Proofs that are one formula: "trivial", "maximal", "sibson" and "reference"."""

from collections.abc import Iterator
from typing import Any

from flint import arb

from dalenius.verifier.balls import ZERO, Ball
from dalenius.verifier.limits import tick, ticking
from dalenius.verifier.question import Question, information
from dalenius.verifier.reading import field as entry
from dalenius.verifier.reading import number, refuse

Proof = dict[str, Any]
Bounds = Iterator[tuple[str, Ball]]


def trivial(question: Question, _: Proof, where: str) -> Bounds:
    """I <= log|A|, log|Y|, and the log of the number of different rows."""
    yield where, arb(min(len(question.cells), question.channel.outputs, len(question.channel.rows))).log()


def maximal(question: Question, _: Proof, where: str) -> Bounds:
    """For every prior pi with D(pi || rho) <= K, T the row of the channel and r any law of rows.

        I(A;Y) <= I(A;T) <= sum pi log( pi(t|a) / r(t) )
                         = D(pi || rho) - D(pi_A || rho_A) + sum pi log( rho(t|a) / r(t) )
                         <= K + max_{a,t} log( rho(t|a) / r(t) );
    with r(t) proportional to max_a rho(t|a) that is K + log sum_t max_a rho(t|a).
    """
    largest: dict[int, Ball] = {}
    for cell in question.cells:
        total = sum(cell.values(), ZERO)
        for row, rho in cell.items():
            given = rho / total
            largest[row] = largest[row].max(given) if row in largest else given
    yield where, question.knowledge.most + sum(largest.values(), ZERO).log()


def sibson(question: Question, proof: Proof, where: str) -> Bounds:
    """The last step of `maximal` with more care: with g = log( rho(t|a) / r(t) ) and any s > 0 [donsker75].

        sum pi g <= s D(pi || rho) + s log sum rho exp(g/s),
    and the best r(t) is proportional to m(t) = ( sum_a rho(a) rho(t|a)^order )^(1/order), order = 1 + 1/s:
        I(A;Y) <= (1+s) K + (1+s) log sum_t m(t).
    The second part is Sibson's information of that order [sibson69]; the limit of great orders is "maximal".
    """
    order = number(entry(proof, "order", "it"), "the order", 1.0)
    if order <= 1:
        refuse("the order must be above 1")
    alpha = arb(order)
    given: dict[int, list[tuple[Ball, Ball]]] = {}
    for cell in question.cells:
        total = sum(cell.values(), ZERO)
        for row, rho in ticking(cell.items()):
            given.setdefault(row, []).append((total, rho / total))
    means = sum((mean_of_order(pairs, alpha) for pairs in given.values()), ZERO)
    yield where, alpha / (alpha - 1) * (question.knowledge.most + means.log())


def mean_of_order(pairs: list[tuple[Ball, Ball]], order: Ball) -> Ball:
    """( sum_j w_j p_j^order )^(1/order) of pairs (w, p) of positive balls."""
    tick()
    top = pairs[0][1]
    powers = sum((w * ((p / top).log() * order).exp() for w, p in pairs), ZERO)
    return top * (powers.log() / order).exp()


def reference(question: Question, _: Proof, where: str) -> Bounds:
    """With no knowledge at all the prior is the reference, and I is what it is there."""
    if not question.knowledge.none:
        refuse("a proof by reference is for an adversary without knowledge only")
    yield where, information(question.channel, question.cells)
