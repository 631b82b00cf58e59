"""Queries and mechanisms are equal, and have equal hashes, when they are the same description."""

import pickle

import numpy as np
import pytest

import dalenius as dl

COUNT = dl.queries.count(n=3)
ROWS = [[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.1, 0.9]]


def built() -> list[object]:
    """Different things, each made anew at every call."""
    query = dl.queries.count(n=3)
    return [
        query,
        dl.queries.count(n=4),
        dl.queries.count(n=3, names=["no", "yes"]),
        dl.queries.function([2, 2], min),
        dl.queries.function([2, 2], max),
        dl.mechanisms.geometric(query, epsilon=1),
        dl.mechanisms.geometric(query, epsilon=2),
        dl.mechanisms.geometric(query, epsilon=1, clamp=False),
        dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1),
        dl.mechanisms.geometric(dl.queries.count(n=10**5), epsilon=1),
        dl.mechanisms.laplace(query, epsilon=1, output="real"),
        dl.mechanisms.randomized_response(dl.queries.count(n=50), epsilon=1),
        dl.mechanisms.symmetric(dl.queries.identity(k=3000), flip=0.1),
        dl.Mechanism.from_matrix(dl.mechanisms.geometric(query, epsilon=1).matrix(), records=[2, 2, 2]),
        dl.Mechanism.from_matrix(ROWS, records=[2, 2]),
        dl.Mechanism.from_matrix(ROWS, records=[4]),
        dl.Mechanism.from_matrix(ROWS, records=[2, 2], labels=["no", "yes"]),
        dl.Mechanism.from_rows(query, ROWS),
    ]


def test_what_is_made_twice_is_equal_and_nothing_else_is() -> None:
    one, two = built(), built()
    assert [[x == y for y in two] for x in one] == np.eye(len(one), dtype=bool).tolist()
    assert [hash(x) for x in one] == [hash(x) for x in two]
    assert len({*one, *two}) == len(one)
    assert one[0] != "count(n=3)"


def test_a_copy_from_another_process_is_equal() -> None:
    for thing in built():
        try:
            copy = pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own
        except (pickle.PicklingError, AttributeError):
            continue
        assert copy == thing


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_zero_has_no_sign(zero: float) -> None:
    assert dl.Mechanism.from_matrix([[1, zero]], records=[1]) == dl.Mechanism.from_matrix([[1, 0]], records=[1])
