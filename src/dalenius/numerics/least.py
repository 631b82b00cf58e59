"""The least value of a function of one number between two ends, by Brent's method [brent73].

Golden sections, and parabolas through the three best points where these promise more. scipy has the same; importing its
optimisation takes longer than most audits.
"""

import math
from collections.abc import Callable

# A golden section: the share of an interval that is cut off.
GOLDEN = (3 - math.sqrt(5)) / 2


def least_between(
    function: Callable[[float], float], low: float, high: float, accuracy: float = 1e-5, most: int = 500
) -> tuple[float, float]:
    """Return (place, value) of the least value seen; the place is good to `accuracy` where there is one valley."""
    x = second = third = low + GOLDEN * (high - low)
    fx = f_second = f_third = function(x)
    step = before = 0.0
    for _ in range(most):
        middle, least = (low + high) / 2, 1e-8 * abs(x) + accuracy / 3
        if abs(x - middle) <= 2 * least - (high - low) / 2:
            break
        # The lowest point of a parabola through the three, if it lies inside and steps become shorter.
        r, q = (x - second) * (fx - f_third), (x - third) * (fx - f_second)
        p, q = (x - third) * q - (x - second) * r, 2 * (q - r)
        p, q = (-p, q) if q > 0 else (p, -q)
        inside = q > 0 and abs(p) < q * abs(before) / 2 and q * (low - x) < p < q * (high - x)
        if inside:
            before, step = step, p / q
            if min(x + step - low, high - x - step) < 2 * least:
                step = math.copysign(least, middle - x)
        else:
            before = (low if x >= middle else high) - x
            step = GOLDEN * before
        there = x + math.copysign(max(abs(step), least), step)
        value = function(there)
        if value <= fx:
            low, high = (x, high) if there >= x else (low, x)
            third, f_third, second, f_second, x, fx = second, f_second, x, fx, there, value
        else:
            low, high = (there, high) if there < x else (low, there)
            if value <= f_second or second == x:
                third, f_third, second, f_second = second, f_second, there, value
            elif value <= f_third or third in (x, second):
                third, f_third = there, value
    return x, fx
