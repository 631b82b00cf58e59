"""Outputs drawn from exactly the channel that a certificate is about, with bits of the operating system.

Rows given as numbers are whole numbers but for a common factor: one integer below their sum picks the output.
A named mechanism is certified by its formula, whose probabilities are real numbers. There U, uniform on [0, 1), is
revealed bit by bit, the formula is evaluated in balls by the verifier's own code, and the output is the least j with
U < P(Y <= j). A comparison that the bits known so far do not decide asks for more of them and for narrower balls.

Guarantee: given uniform random bits, outputs are independent and follow the certified channel without any rounding:
the distance in total variation is 0, not merely below some 2^-k. How long a draw takes depends on what is drawn.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate
from secrets import randbelow, randbits
from typing import Any

import numpy as np
from flint import arb

from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.noisy_sum import Noisy, NoisySum
from dalenius.model.channels.per_record import PerRecord, Symmetric
from dalenius.model.channels.tables import integer_row
from dalenius.model.query import Query
from dalenius.numerics.types import Ints
from dalenius.verifier.forms import named, per_record
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, precision
from dalenius.verifier.kernel.reading import Refused

Draw = Callable[[], int]
Chances = Callable[[int, int], Ball]  # (j, bits of precision) -> P(Y <= j)
Tails = Callable[[], Callable[[int], Ball]]  # P(noise >= k) by k, as fine as the balls of the moment


def draws(mechanism: Mechanism, dataset: Ints, size: int, rng: object) -> list[Any]:
    """Return independent outputs on a dataset, as the mechanism numbers them; rng is only there to be refused."""
    _check_bits(rng)
    many = checks.size(size, 1)
    try:
        draw = _draw(mechanism, dataset)  # what the verifier refuses it refuses now
    except Refused as reason:
        raise InputError(_refusal(reason)) from reason
    return [draw() for _ in range(many)]


def _draw(mechanism: Mechanism, dataset: Ints) -> Callable[[], Any]:
    """The way to an output: by structure where there are no rows, by the formula or the row of the class else."""
    if not mechanism.has_rows:
        if (counts := mechanism.as_counts) is not None:
            return _noisy_counts(counts, dataset)
        if (records := mechanism.as_records) is not None:
            return _local_outputs(records, dataset)
        if (symmetric := mechanism.as_symmetric) is not None:
            return _symmetric_outputs(symmetric, int(dataset[0]))
    t = int(mechanism.statistic.class_of(dataset))
    if isinstance(mechanism, NoisySum) and not mechanism.clamp:
        return _unclamped(mechanism, t)
    draw = _by_formula(mechanism, t) if mechanism.by_formula else _by_row(mechanism, t)
    noisy = None if mechanism.has_rows else mechanism.as_sum
    # Without rows outputs are integers, not columns.
    return draw if noisy is None else lambda: noisy.low + draw()


def _noisy_counts(mechanism: NoisyCounts, dataset: Ints) -> Callable[[], list[int]]:
    """A list of noisy counts."""
    name, asked = mechanism.name, named.query(str(mechanism.query), listed=False)
    named.added(name, asked)
    counts = np.bincount(dataset, minlength=mechanism.k).tolist()
    clamped = _clamped(lambda: named.added(name, asked).tail)
    return lambda: [clamped(t, mechanism.n + 1) for t in counts]


def _local_outputs(mechanism: PerRecord, dataset: Ints) -> Callable[[], list[int]]:
    """A list of the output of every record."""
    exact = per_record.rebuild(mechanism.describe()).exact
    per_record.local_rows(*exact, mechanism.k)

    @cache
    def cumulative(_: int) -> list[list[Ball]]:
        return [list(accumulate(row)) for row in per_record.local_rows(*exact, mechanism.k)]

    def answer(value: int) -> int:
        return least(len(mechanism.parts), lambda y, bits: cumulative(bits)[value][y])

    return lambda: [answer(value) for value in dataset.tolist()]


def _symmetric_outputs(mechanism: Symmetric, value: int) -> Draw:
    """An output of a symmetric channel on one record."""
    exact = per_record.rebuild(mechanism.describe()).exact
    at = cache(lambda _: per_record.response(*exact, mechanism.k))

    def chance(y: int, bits: int) -> Ball:
        """P(Y <= y): that many others, and the value itself from there on."""
        kept, other = at(bits)
        return other * (y + 1) + (kept - other if y >= value else ZERO)

    return lambda: least(mechanism.k, chance)


def _unclamped(mechanism: NoisySum, t: int) -> Draw:
    """Noise around the answer that is not clamped: any integer."""
    name, query, answer = mechanism.name, mechanism.query, int(mechanism.answers[t])
    asked = named.query(str(query))
    named.added(name, asked)
    noise_at = cache(lambda _: named.added(name, asked).tail)
    tail = cache(lambda k, bits: noise_at(bits)(k))
    return lambda: answer + _any_integer(lambda k, bits: tail(-k, bits) if k < 0 else ONE - tail(k + 1, bits))


def _check_bits(rng: object) -> None:
    if rng is not None:
        refuse(f"rng = {show(rng)} with secure=True, whose bits come from the operating system; leave rng out")


def _by_weights(weights: Sequence[int]) -> Draw:
    """Column j with probability weights[j] / sum(weights)."""
    sums = list(accumulate(weights))
    return lambda: bisect_right(sums, randbelow(sums[-1]))


def _by_row(mechanism: Mechanism, t: int) -> Draw:
    """The row of class t as given, divided by its exact sum."""
    return _by_weights(integer_row(mechanism.written().given[t].tolist()))


def _by_formula(mechanism: Mechanism, t: int) -> Draw:
    """The row of class t of a named mechanism, by the definition that the verifier knows."""
    query, name = mechanism.query, mechanism.name
    assert query is not None  # for the type checker: it has a formula
    asked = named.query(str(query))
    family, given = named.call(name, named.MECHANISMS, "the mechanism")
    structure = mechanism.whole or mechanism
    if isinstance(structure, Noisy):
        named.added(name, asked)  # what it refuses it refuses now
        return _noisy(structure, _answer(query.integers, t), lambda: named.added(name, asked).tail)
    if family == "exponential":
        return _exponential(query.integers, t, named.exact_size(given, asked))
    if (records := structure.as_records) is not None:
        draw = _local_outputs(records, np.array(np.unravel_index(t, mechanism.records)))
        return lambda: _joined(draw(), (len(records.parts),) * records.n)
    return _by_balls(len(mechanism.written().labels), lambda: named.mechanism(name, asked)[1][t])


def _refusal(reason: Refused) -> str:
    return (
        f"secure=True draws from the channel that the verifier rebuilds, but the verifier refuses it: {reason}; "
        "change the parameters (large ones are floats, as 1e20), since no certificate would be accepted either"
    )


class _Uniform:
    """U, uniform on [0, 1) and revealed bit by bit: u <= 2^bits U < u + 1.

    step: bits to begin with, and once more whenever they do not decide. guard: bits by which balls are finer than U.
    """

    def __init__(self, step: int = 64, guard: int = 64) -> None:
        self.bits, self.u, self.step, self.guard = step, randbits(step), step, guard

    def below(self, chances: Chances, k: int) -> bool:
        """Whether U < C(k); bits are revealed until that is decided."""
        while True:
            with precision(self.bits + self.guard):
                edge = chances(k, self.bits) * arb(2) ** self.bits
                above, beneath = arb(self.u + 1) <= edge, edge <= arb(self.u)
            if above or beneath:
                return bool(above)
            self.bits, self.u = self.bits + self.step, (self.u << self.step) | randbits(self.step)

    def least(self, chances: Chances, low: int, high: int) -> int:
        """Return the least k in low+1..high with U < C(k), where C(high) is above U and C(low) is not."""
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.below(chances, middle) else (middle, high)
        return high


def least(many: int, chances: Chances, *, step: int = 64) -> int:
    """Return the least j < many with U < C(j), where C rises to C(many-1) = 1 and U is uniform on [0, 1)."""
    return _Uniform(step).least(chances, -1, many - 1)


def _any_integer(chances: Chances) -> int:
    """Return the least integer k with U < C(k), where C rises from 0 to 1 and U is uniform on [0, 1)."""
    uniform, low, high = _Uniform(), -1, 1
    while uniform.below(chances, low):
        low *= 2
    while not uniform.below(chances, high):
        high *= 2
    return uniform.least(chances, low, high)


def _by_balls(many: int, weights: Callable[[], Iterable[Ball]]) -> Draw:
    """Column j with a probability proportional to its weight, in balls as fine as those of the moment."""

    @cache
    def cumulative(_: int) -> list[Ball]:
        sums = list(accumulate(weights()))
        return [c / sums[-1] for c in sums]

    return lambda: least(many, lambda j, bits: cumulative(bits)[j])


def _clamped(noise: Tails) -> Callable[[int, int], int]:
    """Draw integer noise around f, clamped to 0..width-1.

    P(Y <= y) = P(noise <= y - f), which is tail(f - y) to the left of f and 1 - tail(y - f + 1) from f on.
    """
    noise_at = cache(lambda _: noise())
    tail = cache(lambda k, bits: noise_at(bits)(k))

    def clamped(f: int, width: int) -> int:
        return least(width, lambda y, bits: tail(f - y, bits) if y < f else ONE - tail(y - f + 1, bits))

    return clamped


def _noisy(mechanism: Noisy, answer: Any, noise: Tails) -> Draw:
    """The column of an output: integer noise on the answer, clamped to the outputs; on histograms on every count."""
    clamped = _clamped(noise)
    if isinstance(mechanism, NoisySum):
        low, many = mechanism.low, mechanism.n_outputs
        return lambda: clamped(answer - low, many)
    side = mechanism.n + 1
    return lambda: _joined([clamped(c, side) for c in answer], (side,) * len(answer))


def _exponential(query: Query, t: int, rate: Fraction | None) -> Draw:
    """Proportional to exp( -rate d / 2 ) over the range; the answer itself where there is no noise."""
    distances = _distances(query, t)
    if rate is None:
        return lambda: distances.index(0)

    def weights() -> list[Ball]:
        weight = {d: (-arb(rate.numerator) / rate.denominator * d / 2).exp() for d in set(distances)}
        return [weight[d] for d in distances]

    return _by_balls(len(distances), weights)


def _answer(query: Query, t: int) -> Any:
    """f of class t."""
    return np.asarray(query.answers)[t].tolist()


def _distances(query: Query, t: int) -> list[int]:
    """d(f, y) of class t and every output, as the verifier has it."""
    answer = _answer(query, t)
    return [named.distance(answer, y) for y in query.outputs]


def _joined(parts: Sequence[int], shape: Sequence[int]) -> int:
    """The column of an output of several parts, in lexicographic order."""
    return int(np.ravel_multi_index(tuple(parts), tuple(shape)))
