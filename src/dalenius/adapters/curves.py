"""A privacy curve delta(epsilon) of an accountant, as the mechanism that leaks most among all that keep it."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.types import Floats

Point = tuple[Fraction, Fraction]
# Shares of a release that tells everything, mixed in so that rounding to floats never falls below the curve.
SPARE = (1e-12, 1e-9, 1e-6)
# Beyond it e^epsilon overflows.
MOST_EPSILON = 700.0


def from_privacy_curve(epsilons: Iterable[float], deltas: Iterable[float]) -> Mechanism:
    """Return the mechanism about one person's membership that leaks most among all with this privacy curve.

    Guarantee: whatever is (epsilon, delta)-differentially private at all these points, in both directions, is a
    function of this mechanism's output and of chance, so it leaks no more about membership.

    By Blackwell's theorem that holds where H(x) = sum_y max(0, P(y) - x Q(y)) is at least delta at x = e^epsilon, for
    every x >= 0. H is convex, so between points it is at most the chord. Chords belong to a pair (P, Q) of their own:
    likelihood ratios x_i, where Q has as much mass as the slope changes there. Below x = 1 the curve is that of the
    other direction, H(1/x) = 1 - 1/x + delta/x. Numbers are rounded so that no point lies above the curve of the
    mechanism.

    Args:
        epsilons: points of the curve, as an accountant gives them.
        deltas: one delta for each epsilon.

    Returns:
        A Mechanism over one record with two values: whether somebody took part.

    Raises:
        InputError: the lists differ in length, or a number is out of range.

    Example:
        >>> worst = dl.from_privacy_curve(epsilons=[0, 1, 2], deltas=[0.4, 0.05, 1e-5])
        >>> round(dl.audit(worst, adversary="independent").upper, 3)
        0.109
    """
    points = _points(epsilons, deltas)
    q = _masses(points)
    p = [mass * x for mass, (x, _) in zip(q, points, strict=True)]
    # The last output tells everything: delta beyond the last epsilon.
    exact = np.array([[float(mass) for mass in (*p, points[-1][1])], [float(mass) for mass in (*q, 0)]])
    exact /= exact.sum(axis=1, keepdims=True)
    everything = np.array([[0.0] * len(p) + [1.0], [1.0] + [0.0] * len(p)])
    for spare in SPARE:
        rows = (1 - spare) * exact + spare * everything
        rows = rows[:, rows.sum(axis=0) > 0]
        if _above(rows, points):
            return Mechanism.from_matrix(rows, records=[2])
    refuse("the curve is too steep for floats: it falls by nearly all of delta between two neighbouring numbers")


def _points(epsilons: Iterable[float], deltas: Iterable[float]) -> list[Point]:
    """(e^epsilon, delta) from x = 0 on, both directions, convex; checked."""
    first, second = (
        checks.listed(given, f"{name} must be a list of numbers")
        for name, given in (("epsilons", epsilons), ("deltas", deltas))
    )
    if len(first) != len(second) or not first:
        refuse(f"there are {len(first)} epsilons and {len(second)} deltas; give one delta for each epsilon")
    eps = [checks.real(f"epsilon {k}", e, 0.0, MOST_EPSILON) for k, e in enumerate(first)]
    dlt = [checks.real(f"delta {k}", d, 0.0, 1.0) for k, d in enumerate(second)]
    order = sorted(range(len(eps)), key=eps.__getitem__)
    for i, j in pairwise(order):
        if eps[i] == eps[j] or dlt[j] > dlt[i]:
            refuse(
                f"delta = {dlt[j]} at epsilon = {eps[j]} is not below delta = {dlt[i]} at epsilon = {eps[i]}; a "
                "privacy curve falls, and has one delta for each epsilon"
            )
    # The float above e^epsilon or below it would move a point along the curve: above, delta is claimed farther out.
    above = [(Fraction(math.nextafter(math.exp(eps[k]), math.inf)), Fraction(dlt[k])) for k in order]
    below = [(1 / x, 1 - (1 - delta) / x) for x, delta in reversed(above) if x > 1]
    return _convex([(Fraction(0), Fraction(1)), *below, *above])


def _convex(points: Sequence[Point]) -> list[Point]:
    """Raise points until slopes grow: the curve of a pair is convex, and 1 at x = 0."""
    falling = list(accumulate(reversed(points), lambda after, point: (point[0], max(after[1], point[1]))))
    raised = _raised(falling)[::-1]
    # Points on the left are raised, which moves fewer of an accountant's; where that is too much, those on the right.
    return raised if raised[0][1] <= 1 else _raised(falling[::-1])


def _raised(points: Sequence[Point]) -> list[Point]:
    """No point is below the line through the two before it."""
    raised = list(points[:2])
    for x, delta in points[2:]:
        (a, f), (b, g) = raised[-2:]
        raised.append((x, max(delta, g + (g - f) / (b - a) * (x - b))))
    return raised


def _masses(points: Sequence[Point]) -> list[Fraction]:
    """The mass of Q at every likelihood ratio: by how much the slope changes there, from -1 to 0."""
    slopes = [Fraction(-1)] + [(d - c) / (y - x) for (x, c), (y, d) in pairwise(points)] + [Fraction(0)]
    return [max(Fraction(0), after - before) for before, after in pairwise(slopes)]


def _above(rows: Floats, points: Sequence[Point]) -> bool:
    """Whether H of these rows, divided by their sums, is nowhere below the chords: exactly, in rational numbers.

    H and the chords are linear between likelihood ratios and points, so that these are all there is to look at, and
    what is left beyond the last of them.
    """
    p, q = ([Fraction(float(entry)) for entry in row] for row in rows)
    p, q = [a / sum(p) for a in p], [b / sum(q) for b in q]
    # H(x) = sum over ratios above x of P - x Q
    finite = sorted((a / b, a, b) for a, b in zip(p, q, strict=True) if b > 0)
    certain = sum((a for a, b in zip(p, q, strict=True) if b == 0), Fraction(0))
    ratios = [ratio for ratio, _, _ in finite]
    above = [*accumulate(((a, b) for _, a, b in reversed(finite)), _added, initial=(certain, Fraction(0)))][::-1]
    places = [x for x, _ in points]

    def chord(x: Fraction) -> Fraction:
        k = bisect_right(places, x)
        if k == len(points):
            return points[-1][1]
        (low, c), (high, d) = points[k - 1 : k + 1]
        return c + (d - c) * (x - low) / (high - low)

    def curve(x: Fraction) -> Fraction:
        mass, other = above[bisect_right(ratios, x)]
        return mass - x * other

    return certain >= points[-1][1] and all(curve(x) >= chord(x) for x in (*places, *ratios))


def _added(total: Point, one: Point) -> Point:
    return total[0] + one[0], total[1] + one[1]
