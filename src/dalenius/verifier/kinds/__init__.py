"""The kinds of proof: what each certificate may say of an upper bound, one file a kind, with statement and proof.

A kind is a function of the question, the proof's data and words for the place. It yields bounds, each with its place;
all of them must be at most the claim. Guarantee: I(A;Y) <= the largest of them for every prior the adversary may hold.
To add one: a file here, a line below.
"""

from collections.abc import Callable, Iterator
from typing import Any

from dalenius.verifier.balls import Ball
from dalenius.verifier.kinds import (
    beside,
    choices,
    closed_forms,
    convex,
    grid,
    monotone,
    posteriors,
    rows,
    simplices,
    window,
)
from dalenius.verifier.question import Question

Bounds = Iterator[tuple[str, Ball]]
Kind = Callable[[Question, dict[str, Any], str], Bounds]

KINDS: dict[str, Kind] = {
    "trivial": closed_forms.trivial,
    "maximal": closed_forms.maximal,
    "sibson": closed_forms.sibson,
    "reference": closed_forms.reference,
    "choices": choices.bounds,
    "convex": convex.bounds,
    "simplices": simplices.bounds,
    "posteriors": posteriors.bounds,
    "rows": rows.bounds,
    "monotone": monotone.bounds,
    "grid": grid.bounds,
    "window": window.bounds,
    "beside": beside.bounds,
}
