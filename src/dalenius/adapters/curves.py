"""A privacy curve delta(epsilon) of an accountant, as the mechanism that leaks most among all that keep it."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.types import Floats

Point = tuple[Fraction, Fraction]
# Mixed in by an output that tells everything, so that rounding to floats never falls below the curve.
SPARE = 1e-12
# Beyond it e^epsilon is no float.
MOST_EPSILON = 700.0


def from_privacy_curve(epsilons: Iterable[float], deltas: Iterable[float]) -> Mechanism:
    """Return the mechanism over one record with two values, whether somebody took part, that a privacy curve allows.

    Guarantee: whatever is (epsilon, delta)-differentially private at all these points, in both directions, is a
    function of this mechanism's output and of chance, so that it leaks no more about membership.

    By Blackwell's theorem that holds where H(x) = sum_y max(0, P(y) - x Q(y)) is at least delta at x = e^epsilon, for
    every x >= 0. H is convex, so between points it is at most the chord. Chords belong to a pair (P, Q) of their own:
    likelihood ratios x_i, of which Q has as much as the slope changes there. Below x = 1 the curve is that of the other
    direction, H(1/x) = 1 - 1/x + delta/x. Numbers are rounded so that no point lies above the curve of the mechanism.
    """
    points = _points(epsilons, deltas)
    q = _masses(points)
    p = [mass * x for mass, (x, _) in zip(q, points, strict=True)]
    # The last output tells everything: delta beyond the last epsilon.
    rows = np.array([[float(mass) for mass in (*p, points[-1][1])], [float(mass) for mass in (*q, 0)]])
    rows /= rows.sum(axis=1, keepdims=True)
    rows = (1 - SPARE) * rows + SPARE * np.array([[0.0] * len(p) + [1.0], [1.0] + [0.0] * len(p)])
    kept = rows.sum(axis=0) > 0
    found = Mechanism.from_matrix(rows[:, kept], records=[2])
    assert all(_hockey_stick(rows, x) >= delta for x, delta in points), "rounded below the curve"  # noqa: S101
    return found


def _points(epsilons: Iterable[float], deltas: Iterable[float]) -> list[Point]:
    """(e^epsilon, delta) from x = 0 on, both directions, convex; checked."""
    first, second = (
        checks.listed(given, f"{name} must be a list of numbers")
        for name, given in (("epsilons", epsilons), ("deltas", deltas))
    )
    if len(first) != len(second) or not first:
        message = f"there are {len(first)} epsilons and {len(second)} deltas; give one delta for each epsilon"
        raise InputError(message)
    eps = [checks.real(f"epsilon {k}", e, 0.0, MOST_EPSILON) for k, e in enumerate(first)]
    dlt = [checks.real(f"delta {k}", d, 0.0, 1.0) for k, d in enumerate(second)]
    order = sorted(range(len(eps)), key=eps.__getitem__)
    for i, j in pairwise(order):
        if eps[i] == eps[j] or dlt[j] > dlt[i]:
            message = (
                f"delta = {dlt[j]} at epsilon = {eps[j]} is not below delta = {dlt[i]} at epsilon = {eps[i]}; a "
                "privacy curve falls, and has one delta for each epsilon"
            )
            raise InputError(message)
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


def _hockey_stick(rows: Floats, x: Fraction) -> Fraction:
    """sum_y max(0, P(y) - x Q(y)), exactly, of rows divided by their sums."""
    p, q = ([Fraction(float(entry)) for entry in row] for row in rows)
    total_p, total_q = sum(p), sum(q)
    return sum((max(Fraction(0), a / total_p - x * b / total_q) for a, b in zip(p, q, strict=True)), Fraction(0))
