"""Queries are equal, and have equal hashes, when they are the same description; mechanisms: see conformance."""

import numpy as np
import pytest

import dalenius as dl


def built() -> list[object]:
    """Different things, each made anew at every call."""
    return [
        dl.queries.count(n=3),
        dl.queries.count(n=4),
        dl.queries.count(n=3, names=["no", "yes"]),
        dl.queries.function([2, 2], min),
        dl.queries.function([2, 2], max),
    ]


def test_what_is_made_twice_is_equal_and_nothing_else_is() -> None:
    one, two = built(), built()
    assert [[x == y for y in two] for x in one] == np.eye(len(one), dtype=bool).tolist()
    assert [hash(x) for x in one] == [hash(x) for x in two]
    assert len({*one, *two}) == len(one)
    assert one[0] != "count(n=3)"


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_zero_has_no_sign(zero: float) -> None:
    assert dl.Mechanism.from_matrix([[1, zero]], records=[1]) == dl.Mechanism.from_matrix([[1, 0]], records=[1])
