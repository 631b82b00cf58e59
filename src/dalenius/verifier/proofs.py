"""Proofs of an upper bound for one secret, each re-derived from the channel: one file of `kinds` for each kind."""

from typing import Any

from .balls import Ball, short
from .kinds import KINDS
from .question import Question
from .reading import Refused, number, refuse
from .reading import field as entry


def check(question: Question, proof: dict[str, Any], where: str) -> float:
    """Return the bound that a proof claims, or refuse it.

    Guarantee: I(A;Y) <= result for every prior the adversary may hold. What outputs that were put together may tell
    beside their sum is added to every bound.
    """
    upper = number(entry(proof, "upper", where), f"'upper' of {where}")
    kind = entry(proof, "kind", where)
    try:
        if not isinstance(kind, str) or kind not in KINDS:
            refuse(f"its kind is none of {', '.join(KINDS)}")
        for place, bound in KINDS[kind](question, proof, where):
            compare(bound + question.lost, upper, place)
    except Refused as reason:
        text = str(reason)
        raise Refused(text if text.startswith(where) else f"{where}: {text}") from None
    return upper


def compare(bound: Ball, upper: float, where: str) -> None:
    """Refuse a claim that is not shown to be at least the bound."""
    if not bound <= upper:
        refuse(f"{where}: bound {short(bound)} exceeds claimed {upper:.10g}")
