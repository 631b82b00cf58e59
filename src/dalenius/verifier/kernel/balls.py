"""Ball arithmetic for the verifier: a ball is an interval of reals that surely holds the true number.

Floats become exact balls; every operation of python-flint's `arb` widens the ball by its own rounding.
`x <= y` between balls is true only when it holds for all numbers in them, so a comparison that
cannot be decided counts against the certificate.
"""

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeAlias

from flint import arb, arb_mat, ctx

from .limits import largest, tick

Ball: TypeAlias = Any  # flint.arb, which ships no types
Matrix: TypeAlias = Any  # flint.arb_mat

# Bits of a ball: what two machine words hold, so no slower than 65.
PRECISION = 128
ZERO = arb(0)
ONE = arb(1)


_one_at_a_time = threading.RLock()  # FLINT's precision belongs to the process, not to a thread


@contextmanager
def precision(bits: int = PRECISION) -> Iterator[None]:
    """Work with balls of this many bits, then return to the caller's precision. Other threads wait."""
    with _one_at_a_time:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def xlogx(x: Ball) -> Ball:
    """Guarantee: the result holds u log u for every u >= 0 in x, with 0 log 0 = 0."""
    if x > 0:
        return x * x.log()
    top = x.upper()
    if not top > 0:
        return ZERO if x.is_finite() else x
    end = top * top.log()
    # u log u falls from 0 to -1/e at u = 1/e and rises from there.
    return end.union(ZERO) if top < 0.36 else end.union(ZERO).union(arb(-0.37))  # noqa: PLR2004 - 1/e = 0.367..


def divergence(p: Iterable[Ball], q: Iterable[Ball]) -> Ball:
    """Return sum p log(p/q); exact zeros of p are left out."""
    return sum((xlogx(x) - x * y.log() for x, y in zip(p, q, strict=True) if not x.is_zero()), ZERO)


def mixed(law: Sequence[Ball], rows: Sequence[Sequence[Ball]]) -> list[Ball]:
    """Return the mean of some rows."""
    return [sum((p * q for p, q in zip(law, column, strict=True)), ZERO) for column in zip(*rows, strict=True)]


def log_sum_exp(xs: Iterable[Ball]) -> Ball:
    """Guarantee: the result holds log sum_i exp(x_i); not a number when an x_i is none."""
    tick()
    terms = list(xs)
    # Exponents of balls are whole numbers of any size, so that this hardly ever overflows.
    total = sum(map(arb.exp, terms), ZERO)
    if total.is_finite() and total > 0:
        return total.log()
    shift = max(map(float, terms))
    if not math.isfinite(shift):
        return arb.nan()
    top = arb(shift)
    return top + sum(((x - top).exp() for x in terms), ZERO).log()


def float_above(x: Ball) -> float:
    """Guarantee: result >= every number in x; inf where x is not finite."""
    if not x.is_finite():
        return math.inf
    guess = float(x)
    if not x <= guess:
        guess = max(math.nextafter(guess, math.inf), float(x.upper()))
    # The nearest float is at most a step away; inf is above every number, so the loop ends.
    while not x <= guess:
        guess = math.nextafter(guess, math.inf)
    return guess


def float_below(x: Ball) -> float:
    """Guarantee: result <= every number in x; -inf where x is not finite."""
    return -float_above(-x)


def column(entries: Sequence[Ball]) -> Matrix:
    """Return a column vector."""
    return arb_mat(len(entries), 1, entries)


def matrix(rows: Sequence[Sequence[Ball]]) -> Matrix:
    """Return the matrix of these rows, of which there is at least one."""
    return arb_mat(len(rows), len(rows[0]), [x for row in rows for x in row])


class Rows:
    """The matrix of some rows, for products with vectors.

    FLINT's matrices hold 48 bytes an entry, and rows share their balls. So a large matrix is never held: it is made
    anew for every product, a few rows at a time.
    """

    def __init__(self, rows: Sequence[Sequence[Ball]]) -> None:
        """Take at least one row."""
        self._rows, large = rows, len(rows) * len(rows[0]) > largest().joint
        self._step = max(1, largest().part // len(rows[0])) if large else len(rows)
        self._held = None if large else [(0, matrix(rows))]

    def times(self, vector: Sequence[Any]) -> list[Ball]:
        """Return the product with a column of balls or floats."""
        other = column(vector)
        result: list[Ball] = []
        for _, block in self._blocks():
            result += (block * other).entries()
        return result

    def combined(self, weights: Sequence[Ball]) -> list[Ball]:
        """Return the sum of the rows, each times its weight."""
        total = arb_mat(1, len(self._rows[0]))
        for start, block in self._blocks():
            total += matrix([weights[start : start + self._step]]) * block
        return list(total.entries())

    def _blocks(self) -> Iterator[tuple[int, Matrix]]:
        starts = range(0, len(self._rows), self._step)
        for part in self._held or ((start, matrix(self._rows[start : start + self._step])) for start in starts):
            tick()
            yield part


def exact(x: Fraction | float) -> Ball:
    """The ball around a number that is known exactly."""
    return arb(x.numerator) / x.denominator if isinstance(x, Fraction) else arb(x)


def short(x: Ball) -> str:
    """Return the middle of a ball in few digits, for messages."""
    return f"{float(x):.10g}" if x.is_finite() else "not a finite number"
