"""Printed digits that stay true: lower bounds are rounded down, upper bounds up."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

DECIMALS = 6


def float_below(exact: Fraction | Decimal) -> float:
    """Return the greatest float that is not above this number."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= Fraction(exact) else math.nextafter(nearest, -math.inf)


def float_above(exact: Fraction | Decimal) -> float:
    """Return the least float that is not below this number."""
    # As a Fraction: the sign of a Decimal would be changed with the digits of the context that the user has.
    return -float_below(-Fraction(exact))


def decimals(x: float, most: int = 18) -> int:
    """Return how many decimals to print of a number of the size of x: 6, or more, up to `most`, when below 1e-3."""
    if not 0 < abs(x) < 1e-3:  # noqa: PLR2004 - three decimals fewer than are printed
        return DECIMALS
    return min(most, DECIMALS - 3 + math.ceil(-math.log10(abs(x))))


def places(unit: float) -> int:
    """Return the number of decimals at which numbers that differ by this unit differ."""
    return math.ceil(-math.log10(unit))


def round_down(x: float, digits: int = DECIMALS) -> str:
    """Return x with this number of decimals, never above x."""
    return _rounded(x, digits, ROUND_FLOOR)


def round_up(x: float, digits: int = DECIMALS) -> str:
    """Return x with this number of decimals, never below x."""
    return _rounded(x, digits, ROUND_CEILING)


def outward(lower: float, upper: float, digits: int | None = None) -> tuple[str, str]:
    """Return both ends of a bracket, never narrower than it is; by default with the decimals of the upper end."""
    digits = decimals(upper) if digits is None else digits
    return round_down(lower, digits), round_up(upper, digits)


def short(x: float) -> str:
    """Return x with four significant digits and no trailing zeros, never in powers of ten for ordinary sizes."""
    return f"{x:.4g}" if abs(x) < 1e4 else f"{x:,.0f}"  # noqa: PLR2004


def short_up(x: float) -> str:
    """Return x with two significant digits, never below x: for gaps."""
    if not x:
        return "0"
    return f"{Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(x)):.1e}" if math.isfinite(x) else str(x)


def epsilon_up(x: float) -> str:
    """Return x with four significant digits and no trailing zeros, never below x: for a privacy that is promised."""
    if not math.isfinite(x):
        return str(x)
    digits = Context(prec=4, rounding=ROUND_CEILING).create_decimal(repr(float(x)))
    return f"{float(digits):.4g}"


def written_up(x: float) -> str:
    """Return x as people write it, with at most seven digits, never below its shortest decimal form: 0.1 is 0.1."""
    return _written(x, ROUND_CEILING)


def written_down(x: float) -> str:
    """Return x as people write it, with at most seven digits, never above its shortest decimal form."""
    return _written(x, ROUND_FLOOR)


def _written(x: float, rounding: str) -> str:
    if not math.isfinite(x):
        return str(x)
    return f"{Context(prec=7, rounding=rounding).create_decimal(repr(float(x))).normalize():f}"


def _rounded(x: float, digits: int, rounding: str) -> str:
    if not math.isfinite(x):
        return str(x)
    text = f"{Decimal(x).quantize(Decimal(1).scaleb(-digits), rounding, Context(prec=400)):f}"
    return text.removeprefix("-") if not float(text) else text
