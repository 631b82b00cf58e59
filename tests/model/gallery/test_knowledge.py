"""What beliefs cost, against priors on all datasets."""

import math

import numpy as np
import pytest

import dalenius as dl


def cost(weights: np.ndarray) -> float:
    """D(p || uniform)."""
    p = weights / weights.sum()
    return float(math.log(p.size) + p[p > 0] @ np.log(p[p > 0]))


def test_a_rumour_and_certainty() -> None:
    assert dl.knowledge.rumour(odds=4) == pytest.approx(cost(np.array([4.0, 1.0])))
    assert dl.knowledge.rumour(odds=3, values=5) == pytest.approx(cost(np.array([0.75, *[0.25 / 4] * 4])))
    assert dl.knowledge.sure_of(records=3, values=2) == pytest.approx(cost(np.eye(8)[0]))
    assert dl.knowledge.rumour(odds=1) == dl.knowledge.sure_of(records=0) == 0


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"dl\.knowledge has no 'rumor'; did you mean 'rumour'\?"):
        dl.knowledge.rumor  # noqa: B018


@pytest.mark.parametrize(("n", "count"), [(8, None), (5, None), (6, 1), (6, 0), (6, 6)])
def test_a_public_total(n: int, count: int | None) -> None:
    ones = np.array([x.bit_count() for x in range(2**n)])
    known = (ones == (n // 2 if count is None else count)).astype(float)
    assert dl.knowledge.total(n, count) == pytest.approx(cost(known))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: dl.knowledge.rumour(odds=0.5),
        lambda: dl.knowledge.rumour(odds=2, values=1),
        lambda: dl.knowledge.sure_of(records=-1),
        lambda: dl.knowledge.sure_of(records=1, values=0),
        lambda: dl.knowledge.total(0),
        lambda: dl.knowledge.total(4, count=5),
        lambda: dl.knowledge.total(4, count=-1),
    ],
)
def test_numbers_that_make_no_sense_are_refused(ask: object) -> None:
    with pytest.raises(dl.InputError):
        ask()  # type: ignore[operator]
