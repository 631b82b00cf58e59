"""The least value of a function of one number, against closed forms."""

import math

import pytest

from dalenius.numerics.iterations import least_between


@pytest.mark.parametrize(
    ("function", "low", "high", "place"),
    [
        (lambda x: (x - 0.3) ** 2, -2.0, 5.0, 0.3),
        (lambda x: math.exp(x) + math.exp(-2 * x), -9.0, 9.0, math.log(2) / 3),
        (lambda x: abs(x - 1.7), -13.8, 4.6, 1.7),
        (lambda x: -x, 0.0, 2.0, 2.0),
        (lambda x: math.inf if x < 1 else x, 0.0, 4.0, 1.0),
    ],
)
def test_the_place_is_found(function: object, low: float, high: float, place: float) -> None:
    seen: list[float] = []

    def counted(x: float) -> float:
        seen.append(x)
        return function(x)  # type: ignore[operator, no-any-return]

    x, value = least_between(counted, low, high)
    assert x == pytest.approx(place, abs=2e-5)
    assert value == counted(x)
    assert min(seen) >= low
    assert max(seen) <= high
    assert len(seen) < 70
