"""What the verifier must say, in tests."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from damage import Place
from kinds import Json

import dalenius as dl
from dalenius.verifier.verify import Verification, verify_here


def holds(result: Any, mechanism: Any = None) -> Verification:
    """Return the verdict on a result; one that is refused fails the test."""
    answer = dl.verify(result, mechanism)
    assert answer.verified, answer.reason
    return answer


def meet(one: dl.Audit, two: dl.Audit) -> None:
    """Fail unless both brackets may hold the same number."""
    assert max(one.lower, two.lower) <= min(one.upper, two.upper)


def accepted(data: Json, mechanism: Any = None) -> Verification:
    """Return the verdict on a certificate, found in this process; one that is refused fails the test."""
    answer = verify_here(data, mechanism)
    assert answer.verified, answer.reason
    return answer


def refused(data: Json, words: str = "", mechanism: Any = None) -> None:
    """Fail unless a certificate is refused with these words, and not because the verifier broke."""
    answer = verify_here(data, mechanism)
    assert not answer.verified
    assert words in answer.reason
    assert "cannot be checked" not in answer.reason


def by_hand(problem: Json, adversary: Json, masses: Any, *proofs: Json, **more: Json) -> Json:
    """An audit certificate with a witness about record 0 and a proof of every record; it claims nothing from below."""
    return copy.deepcopy({
        "format": "dalenius/audit-certificate", "version": 2, "form": "rows",
        "problem": problem, "adversary": adversary,
        "lower": 0.0, "upper": max(proof["upper"] for proof in proofs),
        "witness": {"record": 0, "kind": "masses", "masses": np.asarray(masses).tolist()},
        "proofs": [{"record": i, **proof} for i, proof in enumerate(proofs)],
        **more,
    })  # fmt: skip


def places(value: Json, path: Place = ()) -> Iterator[Place]:
    """Every place in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield (*path, key)
        yield from places(child, (*path, key))


def at(value: Json, path: Place) -> Json:
    for key in path:
        value = value[key]
    return value
