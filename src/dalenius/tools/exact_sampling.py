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
from fractions import Fraction
from functools import cache
from itertools import accumulate
from secrets import randbelow, randbits
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dalenius.errors import InputError, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy import Noisy
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.per_record import PerRecord
from dalenius.model.channels.symmetric import Symmetric
from dalenius.model.channels.tables import integer_row
from dalenius.model.query import Query
from dalenius.verifier.balls import ONE, ZERO, Ball, precision
from dalenius.verifier.channels import named, products, symmetric
from dalenius.verifier.reading import Refused, number

Draw = Callable[[], int]
Chances = Callable[[int, int], Ball]  # (j, bits of precision) -> P(Y <= j)
Tails = Callable[[], Callable[[int], Ball]]  # P(noise >= k) by k, as fine as the balls of the moment


def columns(mechanism: Mechanism, dataset: ArrayLike, size: int, rng: object) -> list[int]:
    """Return the columns of `size` independent outputs on a dataset; rng is only there to be refused."""
    _check_bits(rng)
    many = checks.size(size, 1)
    t = int(mechanism.statistic.class_of(mechanism.dataset(dataset)))
    draw = _by_formula(mechanism, t) if mechanism.by_formula else _by_row(mechanism, t)
    return [draw() for _ in range(many)]


def noisy_counts(mechanism: NoisyCounts, counts: Sequence[int], size: int, rng: object) -> list[list[int]]:
    """Return `size` independent lists of noisy counts; rng is only there to be refused."""
    _check_bits(rng)
    many, name, query = checks.size(size, 1), mechanism.name, str(mechanism.query)
    try:
        asked = named.query(query, listed=False)
        named.added(name, asked)  # what it refuses it refuses now
    except Refused as reason:
        raise InputError(_refusal(reason)) from reason
    clamped = _clamped(lambda: named.added(name, asked).tail)
    return [[clamped(t, mechanism.n + 1) for t in counts] for _ in range(many)]


def local_outputs(mechanism: PerRecord, dataset: Sequence[int], size: int, rng: object) -> list[list[int]]:
    """Return `size` independent lists of the output of every record; rng is only there to be refused."""
    _check_bits(rng)
    many = checks.size(size, 1)
    try:
        family, given = named.call(mechanism.name, named.MECHANISMS, "the mechanism")
        products.local_rows(family, given, mechanism.k)  # what it refuses it refuses now
    except Refused as reason:
        raise InputError(_refusal(reason)) from reason

    @cache
    def cumulative(_: int) -> list[list[Ball]]:
        return [list(accumulate(row)) for row in products.local_rows(family, given, mechanism.k)]

    def answer(value: int) -> int:
        return least(len(mechanism.parts), lambda y, bits: cumulative(bits)[value][y])

    return [[answer(value) for value in dataset] for _ in range(many)]


def symmetric_outputs(mechanism: Symmetric, value: int, size: int, rng: object) -> list[int]:
    """Return `size` independent outputs of a symmetric channel on one record; rng is only there to be refused."""
    _check_bits(rng)
    many, described = checks.size(size, 1), mechanism.describe()
    try:
        symmetric.rebuild(described)  # what it refuses it refuses now
    except Refused as reason:
        raise InputError(_refusal(reason)) from reason
    at = cache(lambda _: symmetric.rebuild(described))

    def chance(y: int, bits: int) -> Ball:
        """P(Y <= y): that many others, and the value itself from there on."""
        channel = at(bits)
        return channel.other * (y + 1) + (channel.kept - channel.other if y >= value else ZERO)

    return [least(mechanism.k, chance) for _ in range(many)]


def unclamped(mechanism: Mechanism, dataset: ArrayLike, size: int, rng: object) -> list[int]:
    """Return `size` independent outputs of noise that is not clamped, any integer; rng is only there to be refused."""
    _check_bits(rng)
    many, name, query = checks.size(size, 1), mechanism.name, mechanism.query
    assert query is not None  # noqa: S101 - for the type checker: it has a formula
    answer = _answer(query.integers, int(mechanism.statistic.class_of(mechanism.dataset(dataset))))
    try:
        asked = named.query(str(query))
        named.added(name, asked)  # what it refuses it refuses now
    except Refused as reason:
        raise InputError(_refusal(reason)) from reason
    noise_at = cache(lambda _: named.added(name, asked).tail)
    tail = cache(lambda k, bits: noise_at(bits)(k))
    return [
        answer + _any_integer(lambda k, bits: tail(-k, bits) if k < 0 else ONE - tail(k + 1, bits)) for _ in range(many)
    ]


def _check_bits(rng: object) -> None:
    if rng is not None:
        message = f"rng = {show(rng)} with secure=True, whose bits come from the operating system; leave rng out"
        raise InputError(message)


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
    assert query is not None  # noqa: S101 - for the type checker: it has a formula
    try:
        asked = named.query(str(query))
        family, given = named.call(name, named.MECHANISMS, "the mechanism")
        if isinstance(mechanism.whole or mechanism, Noisy):
            named.added(name, asked)  # what it refuses it refuses now
            return _additive(query, t, lambda: named.added(name, asked).tail)
        if family == "exponential":
            return _exponential(query.integers, t, named.exact_rate(given, asked))
        if family == "noisy_max":
            return _noisy_max(_answer(query, t), given)
        if family == "randomized_response":
            return _randomized_response(np.unravel_index(t, mechanism.records), mechanism.records, given)
    except Refused as reason:
        raise InputError(_refusal(reason)) from reason
    if family == "symmetric":
        return _symmetric(query.integers, t, Fraction(given["flip"]))
    # What is left is `constant`: zeros and a one.
    return _by_row(mechanism, t)


def _refusal(reason: Refused) -> str:
    return (
        f"secure=True draws from the channel that the verifier rebuilds, but the verifier refuses it: {reason}; "
        "change the parameters (large ones are floats, as 1e20), since no certificate would be accepted either"
    )


def least(many: int, chances: Chances, *, step: int = 64, guard: int = 64) -> int:
    """Return the least j < many with U < C(j), where C rises to C(many-1) = 1 and U is uniform on [0, 1).

    step: bits of U to begin with, and once more whenever they do not decide.
    guard: bits by which balls are finer than U.
    """
    # u <= 2^bits U < u + 1
    bits, u = step, randbits(step)
    low, high = -1, many - 1
    while high - low > 1:
        middle = (low + high) // 2
        with precision(bits + guard):
            edge = chances(middle, bits) * arb(2) ** bits
            above, below = arb(u + 1) <= edge, edge <= arb(u)
        if above:
            high = middle
        elif below:
            low = middle
        else:
            bits, u = bits + step, (u << step) | randbits(step)
    return high


def _any_integer(chances: Chances, *, step: int = 64, guard: int = 64) -> int:
    """Return the least integer k with U < C(k), where C rises from 0 to 1 and U is uniform on [0, 1).

    step, guard: as for `least`.
    """
    # u <= 2^bits U < u + 1
    bits, u = step, randbits(step)

    def below(k: int) -> bool:
        """Whether U < C(k)."""
        nonlocal bits, u
        while True:
            with precision(bits + guard):
                edge = chances(k, bits) * arb(2) ** bits
                above, beneath = arb(u + 1) <= edge, edge <= arb(u)
            if above or beneath:
                return bool(above)
            bits, u = bits + step, (u << step) | randbits(step)

    low, high = -1, 1
    while below(low):
        low *= 2
    while not below(high):
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if below(middle) else (middle, high)
    return high


def _clamped(noise: Tails) -> Callable[[int, int], int]:
    """Draw integer noise around f, clamped to 0..width-1.

    P(Y <= y) = P(noise <= y - f), which is tail(f - y) to the left of f and 1 - tail(y - f + 1) from f on.
    """
    noise_at = cache(lambda _: noise())
    tail = cache(lambda k, bits: noise_at(bits)(k))

    def clamped(f: int, width: int) -> int:
        return least(width, lambda y, bits: tail(f - y, bits) if y < f else ONE - tail(y - f + 1, bits))

    return clamped


def _additive(query: Query, t: int, noise: Tails) -> Draw:
    """Integer noise on the answer, clamped to the range; on histograms on every count by itself."""
    clamped, answer = _clamped(noise), _answer(query.integers, t)
    if query.integers.numeric:
        outputs = query.integers.outputs
        return lambda: clamped(answer - outputs[0], len(outputs))
    shape = (query.n + 1,) * len(answer)
    return lambda: _joined([clamped(c, query.n + 1) for c in answer], shape)


def _symmetric(query: Query, t: int, flip: Fraction) -> Draw:
    """1 - flip on the answer and flip/(|range| - 1) on every other value, as whole numbers."""
    distances = _distances(query, t)
    hit, miss = (1 - flip) * max(len(distances) - 1, 1), flip
    scale = hit.denominator * miss.denominator
    return _by_weights([int(scale * (miss if d else hit)) for d in distances])


def _exponential(query: Query, t: int, rate: Fraction | None) -> Draw:
    """Proportional to exp( -rate d / 2 ) over the range; the answer itself where there is no noise."""
    distances = _distances(query, t)
    if rate is None:
        return lambda: distances.index(0)

    @cache
    def cumulative(_: int) -> list[Ball]:
        weight = {d: (-arb(rate.numerator) / rate.denominator * d / 2).exp() for d in set(distances)}
        sums = list(accumulate(weight[d] for d in distances))
        return [c / sums[-1] for c in sums]

    return lambda: least(len(distances), lambda j, bits: cumulative(bits)[j])


def _noisy_max(counts: Sequence[int], given: dict[str, Any]) -> Draw:
    """The most frequent value with noise: by weights, or one value after the other in random order."""
    epsilon, most = number(given["epsilon"], "epsilon"), max(counts)

    def chance(c: int) -> Ball:
        return (arb(epsilon) * (c - most) / 2).exp()

    def taken(value: int) -> bool:
        return least(2, lambda _, __: chance(counts[value])) == 0

    def flipped() -> int:
        left = list(range(len(counts)))
        while not taken(value := left.pop(randbelow(len(left)))):
            pass
        return value

    @cache
    def cumulative(_: int) -> list[Ball]:
        sums = list(accumulate(chance(c) for c in counts))
        return [c / sums[-1] for c in sums]

    if given["noise"] == "permute_and_flip":
        return flipped
    return lambda: least(len(counts), lambda j, bits: cumulative(bits)[j])


def _randomized_response(dataset: Sequence[np.intp], records: Sequence[int], given: dict[str, Any]) -> Draw:
    """Every record kept with probability 1 / (1 + (k - 1) e^-epsilon), else another value, uniformly."""
    epsilon = number(given["epsilon"], "epsilon")

    def answer(x: int, k: int) -> int:
        changed = least(2, lambda _, __: 1 / (1 + (k - 1) * (-arb(epsilon)).exp()))
        return (x + 1 + randbelow(k - 1)) % k if changed else x

    return lambda: _joined([answer(int(x), k) for x, k in zip(dataset, records, strict=True)], records)


def _answer(query: Query, t: int) -> Any:  # noqa: ANN401 - an integer or a list of counts
    """f of class t."""
    return np.asarray(query.answers)[t].tolist()


def _distances(query: Query, t: int) -> list[int]:
    """d(f, y) of class t and every output, as the verifier has it."""
    answer = _answer(query, t)
    return [named.distance(answer, y) for y in query.outputs]


def _joined(parts: Sequence[int], shape: Sequence[int]) -> int:
    """The column of an output of several parts, in lexicographic order."""
    return int(np.ravel_multi_index(tuple(parts), tuple(shape)))
