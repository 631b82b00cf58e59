"""Proofs that are one formula: "trivial" and "reference"."""

from collections.abc import Iterator
from typing import Any

from flint import arb

from .balls import Ball
from .cells import Question
from .reading import refuse
from .witness import information

Proof = dict[str, Any]
Bounds = Iterator[tuple[str, Ball]]


def trivial(question: Question, _: Proof, where: str) -> Bounds:
    """I <= log|A|, log|Y|, and the log of the number of different rows."""
    yield where, arb(min(len(question.cells), question.channel.outputs, len(question.channel.rows))).log()


def reference(question: Question, _: Proof, where: str) -> Bounds:
    """With no knowledge at all the prior is the reference, and I is what it is there."""
    if not question.knowledge.none or question.raised:
        refuse("a proof by reference is for an adversary without knowledge only, and for masses that are the reference")
    yield where, information(question.channel, question.cells)
