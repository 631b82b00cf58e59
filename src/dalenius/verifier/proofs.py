"""Proofs of an upper bound for one secret, each re-derived from the channel: one file of `kinds` for each kind."""

from collections.abc import Callable
from typing import Any, TypeVar

from .balls import FEW_BITS, Ball, precision, short
from .kinds import KINDS, Kind
from .question import Question
from .reading import Refused, number, refuse
from .reading import field as entry

T = TypeVar("T")


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
        _ = question.cells  # with all bits
        twice(lambda: _check(question, KINDS[kind], proof, upper, where))
    except Refused as reason:
        text = str(reason)
        raise Refused(text if text.startswith(where) else f"{where}: {text}") from None
    return upper


def _check(question: Question, kind: Kind, proof: dict[str, Any], upper: float, where: str) -> None:
    for place, bound in kind(question, proof, where):
        compare(bound + question.lost, upper, place)


def twice(check: Callable[[], T]) -> T:
    """Try a check with few bits, which is faster, and where that shows nothing with all of them.

    Balls hold the true numbers whatever their bits are, so that either will do.
    """
    try:
        with precision(FEW_BITS):
            return check()
    except Refused:
        return check()


def compare(bound: Ball, upper: float, where: str) -> None:
    """Refuse a claim that is not shown to be at least the bound."""
    if not bound <= upper:
        refuse(f"{where}: bound {short(bound)} exceeds claimed {upper:.10g}")
