"""Proofs of an upper bound about cells: one file of this folder for each kind, and the table of them.

A kind is a function of the question, the proof's data and words for the place. It yields bounds, each with its place;
all of them must be at most the claim. Guarantee: I(A;Y) <= the largest of them for every prior the adversary may hold.
To add one: a file here, a line below.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flint import arb

from . import chains, choices, convex, posteriors, simplices
from .balls import Ball, short
from .cells import Question, information
from .reading import field, number, refuse

Bounds = Iterator[tuple[str, Ball]]
# What is asked, the proof, and words for its place.
Compute = Callable[..., Ball]
Kind = Callable[[Question, dict[str, Any], str], Bounds]


def trivial(question: Question, _: dict[str, Any], where: str) -> Bounds:
    """I <= log|A|, log|Y|, and the log of the number of different rows."""
    yield where, arb(min(len(question.cells), question.channel.outputs, len(question.channel.rows))).log()


def reference(question: Question, _: dict[str, Any], where: str) -> Bounds:
    """With no knowledge at all the prior is the reference, and I is what it is there."""
    if not question.knowledge.none or question.raised:
        refuse("a proof by reference is for an adversary without knowledge only, and for masses that are the reference")
    yield where, information(question.channel, question.cells)


KINDS: dict[str, Kind] = {
    "trivial": trivial,
    "reference": reference,
    "choices": choices.bounds,
    "convex": convex.bounds,
    "simplices": simplices.bounds,
    "posteriors": posteriors.bounds,
    "rows": posteriors.rows_bounds,
    "monotone": chains.bounds,
}


def shown(question: Question, kind: str, proof: dict[str, Any], upper: float, where: str) -> None:
    """Refuse a claim that is less than what a kind shows about cells, and what was lost on the way to them."""
    for place, bound in KINDS[kind](question, proof, where):
        compare(bound + question.lost, upper, place)


def claimed(
    kinds: Mapping[str, Callable[..., Ball]], asked: tuple[Any, ...], proof: dict[str, Any], where: str
) -> float:
    """Return the bound that a proof about a channel that is never written out claims, or refuse it.

    kinds: by name, what computes the bound, of what is asked, the proof and words for its place.
    """
    upper = number(field(proof, "upper", where), f"'upper' of {where}")
    kind = field(proof, "kind", where)
    if not isinstance(kind, str) or kind not in kinds:
        refuse(f"{where}: its kind is none of {', '.join(kinds)}, which are for this question")
    compare(kinds[kind](*asked, proof, where), upper, where)
    return upper


def compare(bound: Ball, upper: float, where: str) -> None:
    """Refuse a claim that is not shown to be at least the bound."""
    if not bound <= upper:
        refuse(f"{where}: bound {short(bound)} exceeds claimed {upper:.10g}")
