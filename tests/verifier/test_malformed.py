"""Certificates that are cut, emptied or filled with something else are answered in a sentence."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from damage import GONE, Place, changed

from dalenius.verifier.verify import verify_here

GOLDEN = {
    path.stem: json.loads(path.read_text()) for path in sorted((Path(__file__).parents[1] / "golden").glob("*.json"))
}
WRONG = (GONE, None, "x", -1, 0, 2.5, 10**9, 1e300, True, [], [[]], {}, [0.5, 0.5], [-1, 3, 0], ["0"], "count(n=2)")


def places(data: Any, depth: int) -> Iterator[Place]:
    """Every key of a certificate; of a list its ends."""
    if depth == 0:
        return
    items = data.items() if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    for key, value in list(items)[:: max(1, len(items) - 1)] if isinstance(data, list) else items:
        yield (key,)
        for rest in places(value, depth - 1):
            yield (key, *rest)


def attack(name: str, step: int) -> int:
    """Put wrong values everywhere, or every step-th of them; how many were tried."""
    cases = [(place, value) for place in places(GOLDEN[name], 6) for value in WRONG]
    begin = len(name) % step
    for place, value in cases[begin::step]:
        answer = verify_here(changed(GOLDEN[name], {place: value}), time_limit=5)
        # What is accepted still proves its own claim; tests/fuzz judges that.
        assert answer.verified or answer.reason, (place, value)
        assert "cannot be checked" not in answer.reason, (place, value)  # refused on purpose, not by catching
    return len(cases[begin::step])


@pytest.mark.parametrize("name", GOLDEN)
def test_a_wrong_value_anywhere_ends_in_a_sentence(name: str) -> None:
    assert attack(name, step=97) > 0


@pytest.mark.nightly
@pytest.mark.parametrize("name", GOLDEN)
def test_every_wrong_value_everywhere_ends_in_a_sentence(name: str) -> None:
    assert attack(name, step=1) > 200
