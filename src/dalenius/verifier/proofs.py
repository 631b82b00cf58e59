"""Proofs of an upper bound for one secret of a channel that is written out: steps, and then a kind of the kernel."""

from collections.abc import Callable
from typing import Any

from .forms.asked import Asked
from .kernel.cells import Question
from .kernel.proofs import KINDS, Bounds, compare, twice
from .kernel.reading import Refused, mapping, number, refuse, show
from .kernel.reading import field as entry
from .special import beside
from .steps import grid, points, window

# Steps to an easier question in cells, and the kinds that may prove a bound there.
STEPS: dict[str, tuple[Callable[[Question, dict[str, Any]], Question], tuple[str, ...]]] = {
    # Masses of grid rows are raised: these kinds use of the reference only that D(pi || rho) <= K.
    "grid": (grid.step, ("posteriors", "boxes", "rows")),
    "window": (window.step, ("posteriors",)),
}
# Kinds that need more than cells.
OTHERS: dict[str, Callable[[Asked, dict[str, Any], str], Bounds]] = {"beside": beside.bounds}


def check(asked: Asked, proof: dict[str, Any], where: str) -> float:
    """Return the bound that a proof claims, or refuse it.

    Guarantee: I(A;Y) <= result for every prior the adversary may hold. What outputs that were put together may tell
    beside their sum is added to every bound.
    """
    upper = number(entry(proof, "upper", where), f"'upper' of {where}")
    kind = entry(proof, "kind", where)
    try:
        if not isinstance(kind, str) or kind not in (known := {**KINDS, **STEPS, **OTHERS}):
            refuse(f"its kind is none of {', '.join(known)}")
        _ = asked.question  # with all bits
        twice(lambda: _check(asked, kind, proof, upper, where))
    except Refused as reason:
        text = str(reason)
        raise Refused(text if text.startswith(where) else f"{where}: {text}") from None
    return upper


def _check(asked: Asked, kind: str, proof: dict[str, Any], upper: float, where: str) -> None:
    for place, bound in _bounds(asked, kind, proof, where):
        compare(bound + asked.lost, upper, place)


def _bounds(asked: Asked, kind: str, proof: dict[str, Any], where: str) -> Bounds:
    if kind in OTHERS:
        return OTHERS[kind](asked, proof, where)
    if kind == "monotone" and "first" in proof:
        return points.bounds(asked, proof, where)
    question = asked.question
    if kind in STEPS:
        step, inside = STEPS[kind]
        question = step(question, proof)
        given = mapping(entry(proof, "proof", "it"), f"the proof after the step {kind}")
        last = entry(given, "kind", f"the proof after the step {kind}")
        if last not in inside:
            refuse(f"the proof after the step {kind} has the kind {show(last)}, which is none of {', '.join(inside)}")
        kind, proof = last, {**given, "upper": proof["upper"]}
    return KINDS[kind](question, proof, where)
