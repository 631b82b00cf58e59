"""Golden certificates with something changed, and what the verifier says of them."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path

from kinds import Json

from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.verify import verify_here

GOLDEN = Path(__file__).parent / "golden"
GONE = object()
Place = tuple[str | int, ...]


class Described:
    """A mechanism, as far as the verifier looks at one."""

    def __init__(self, **description: object) -> None:
        self._description = description

    def describe(self) -> dict[str, object]:
        return self._description


def golden(name: str) -> Json:
    """Return the data of a golden certificate."""
    return json.loads((GOLDEN / f"{name}.json").read_text())


def put(data: Json, place: str | Place, value: object) -> None:
    """Change, add or take away what stands at a place such as "proofs.0.upper"; value: a function of what is there."""
    listed = place.split(".") if isinstance(place, str) else place
    *way, last = (int(key) if str(key).lstrip("-").isdigit() else key for key in listed)
    part = data
    for key in way:
        part = part[key]
    if value is GONE:
        del part[last]
    else:
        part[last] = value(part[last]) if callable(value) else copy.deepcopy(value)


def changed(data: Json, changes: Mapping[str | Place, object]) -> Json:
    """Return a copy with these changes, by place."""
    result = copy.deepcopy(data)
    for place, value in changes.items():
        put(result, place, value)
    return result


def damaged(name: str, changes: dict[str, object]) -> Json:
    """Return a golden certificate with these changes, by place."""
    return changed(golden(name), changes)


def reason(
    name: str, changes: dict[str, object], mechanism: Described | None = None, sizes: dict[str, int] | None = None
) -> str:
    """Return why a damaged certificate is refused; one that is accepted fails the test."""
    with sized(**(sizes or {})):
        answer = verify_here(damaged(name, changes), mechanism)
    assert not answer.verified, answer
    return answer.reason
