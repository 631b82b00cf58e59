"""Outputs drawn from exactly the channel that a certificate is about, with bits of the operating system.

Rows given as numbers are whole numbers but for a common factor: one integer below their sum picks the output.
A named mechanism is certified by its formula, whose probabilities are real numbers. There U, uniform on [0, 1), is
revealed bit by bit, the formula is evaluated in balls by the verifier's own code, and the output is the least j with
U < P(Y <= j). A comparison that the bits known so far do not decide asks for more of them and for narrower balls.

Guarantee: given uniform random bits, outputs are independent and follow the certified channel without any rounding:
the distance in total variation is 0, not merely below some 2^-k. How long a draw takes depends on what is drawn.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
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
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.channels.per_record import PerRecord, Symmetric
from dalenius.model.channels.tables import integer_row
from dalenius.numerics.types import Ints
from dalenius.verifier.forms import named, per_record
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, precision
from dalenius.verifier.kernel.reading import Refused

Draw = Callable[[], Any]
Chances = Callable[[int, int], Ball]  # (j, bits of precision) -> P(Y <= j)
Tail = Callable[[int, int], Ball]  # (k, bits of precision) -> P(noise >= k)


def draws(mechanism: Mechanism, dataset: Ints, size: int, rng: object) -> list[Any]:
    """Return independent outputs on a dataset, as the mechanism numbers them; rng is only there to be refused."""
    if rng is not None:
        refuse(f"rng = {show(rng)} with secure=True, whose bits come from the operating system; leave rng out")
    many = checks.size(size, 1)
    try:
        draw = _draw(mechanism, dataset)  # what the verifier refuses it refuses now
    except Refused as reason:
        message = (
            "secure=True draws from the channel that the verifier rebuilds, but the verifier refuses it: "
            f"{reason}; change the parameters (large ones are floats, as 1e20), since no certificate would be accepted "
            "either"
        )
        raise InputError(message) from reason
    return [draw() for _ in range(many)]


def _draw(mechanism: Mechanism, dataset: Ints) -> Draw:
    """The way to an output: by structure, by the formula that the verifier knows, or by the row of the class."""
    structure = mechanism.whole or mechanism
    if (symmetric := mechanism.as_symmetric) is not None and not mechanism.has_rows:
        return _symmetric(symmetric, int(dataset[0]))
    if not (mechanism.by_formula or not mechanism.has_rows):
        sums = list(accumulate(integer_row(mechanism.written().given[_class(mechanism, dataset)].tolist())))
        return lambda: bisect_right(sums, randbelow(sums[-1]))
    if isinstance(structure, NoisySum):
        return _noisy_sum(structure, dataset, columns=mechanism.has_rows)
    if isinstance(structure, NoisyCounts):
        return _parts(_noisy_counts(structure, dataset), (structure.n + 1,) * structure.k, mechanism)
    if (records := structure.as_records) is not None:
        return _parts(_local(records, dataset), (len(records.parts),) * records.n, mechanism)
    query, name, t = named.query(str(mechanism.query)), mechanism.name, _class(mechanism, dataset)
    named.mechanism(name, query)

    @cache
    def cumulative(_: int) -> list[Ball]:
        sums = list(accumulate(named.mechanism(name, query)[1][t]))
        return [c / sums[-1] for c in sums]

    many = len(mechanism.written().labels)
    return lambda: least(many, lambda j, bits: cumulative(bits)[j])


def _class(mechanism: Mechanism, dataset: Ints) -> int:
    return int(mechanism.statistic.class_of(dataset))


def _parts(draw: Callable[[], list[int]], shape: Sequence[int], mechanism: Mechanism) -> Draw:
    """An output of several parts: the list of them, or its column in lexicographic order where there are rows."""
    return (lambda: int(np.ravel_multi_index(tuple(draw()), tuple(shape)))) if mechanism.has_rows else draw


def _tail(mechanism: NoisySum | NoisyCounts, *, listed: bool = True) -> Tail:
    """The tail of noise as the verifier has it, every number once for a precision."""
    query = named.query(str(mechanism.query), listed=listed)
    noise = cache(lambda _: named.added(mechanism.name, query).tail)
    noise(0)
    return cache(lambda k, bits: noise(bits)(k))


def _noisy_sum(mechanism: NoisySum, dataset: Ints, *, columns: bool) -> Draw:
    """Integer noise around the answer: any integer, or clamped to the outputs, of which a row has the columns."""
    answer, tail = int(np.asarray(mechanism.answers)[_class(mechanism, dataset)]), _tail(mechanism)
    if not mechanism.clamp:
        return lambda: answer + _any_integer(lambda k, bits: tail(-k, bits) if k < 0 else ONE - tail(k + 1, bits))
    low, width = mechanism.low, int(mechanism.n_outputs)
    return lambda: (0 if columns else low) + _clamped(tail, answer - low, width)


def _noisy_counts(mechanism: NoisyCounts, dataset: Ints) -> Callable[[], list[int]]:
    """A list of noisy counts."""
    counts, tail = np.bincount(dataset, minlength=mechanism.k).tolist(), _tail(mechanism, listed=False)
    return lambda: [_clamped(tail, t, mechanism.n + 1) for t in counts]


def _clamped(tail: Tail, f: int, width: int) -> int:
    """Draw integer noise around f, clamped to 0..width-1.

    P(Y <= y) = P(noise <= y - f), which is tail(f - y) to the left of f and 1 - tail(y - f + 1) from f on.
    """
    return least(width, lambda y, bits: tail(f - y, bits) if y < f else ONE - tail(y - f + 1, bits))


def _local(mechanism: PerRecord, dataset: Ints) -> Callable[[], list[int]]:
    """A list of the output of every record."""
    exact, many = per_record.rebuild(mechanism.describe()).exact, len(mechanism.parts)

    @cache
    def cumulative(_: int) -> list[list[Ball]]:
        return [list(accumulate(row)) for row in per_record.local_rows(*exact, mechanism.k)]

    def output(value: int) -> int:
        return least(many, lambda y, bits: cumulative(bits)[value][y])

    cumulative(0)
    return lambda: list(map(output, dataset.tolist()))


def _symmetric(mechanism: Symmetric, value: int) -> Draw:
    """An output of a symmetric channel on one record."""
    exact = per_record.rebuild(mechanism.describe()).exact
    at = cache(lambda _: per_record.response(*exact, mechanism.k))

    def chance(y: int, bits: int) -> Ball:
        """P(Y <= y): that many others, and the value itself from there on."""
        kept, other = at(bits)
        return other * (y + 1) + (kept - other if y >= value else ZERO)

    return lambda: least(mechanism.k, chance)


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
