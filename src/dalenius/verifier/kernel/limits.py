"""What checking a certificate may take: the largest sizes, and a clock that is read on the way.

The limits are in force inside `within`, like the precision of balls. Beyond them `NotChecked` is raised: nothing was
found wrong, and nothing was shown. The system's own limits of memory and time stand behind them (process.py).
"""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import islice
from typing import NoReturn, TypeVar

# MiB that reading and checking may take by default: with the interpreter less than 512. Seconds by default.
MEMORY = 448
TIME_LIMIT = 60.0
# A longer limit, in seconds, is none, and clocks overflow beyond; the same of memory, in MiB.
LONGEST = 1e6
LARGEST = 2**60
# Bytes.
MIB = 2**20

T = TypeVar("T")


@dataclass(frozen=True)
class Sizes:
    """The largest certificate that is checked; a larger one is refused before anything large is built.

    None of these numbers decides whether a proof holds, nor do they limit time or memory: the clock does, and the
    system. They say at once what these would say later, and which of several ways to compute the same is taken.
    """

    # Characters of a call string; records; contribution of one record to a sum; values of one record of a symmetric
    # channel, whose bound is a formula of two numbers.
    call: int = 10_000
    records: int = 10**8
    contribution: int = 2**40
    symmetric_values: int = 2**53
    # Numbers that a check goes through, or holds.
    numbers: int = 2**25
    # Numbers of a matrix that is held (48 MiB), or compared, and of a polynomial in place of a sum; entries of a part
    # of a larger matrix.
    joint: int = 2**20
    part: int = 2**17
    # Outputs around the answers of one record, and points; parts of a grid.
    reach: int = 2**15
    parts: int = 2**12
    # Trees: nodes; how many may wait; levels; bytes of multipliers.
    nodes: int = 2**26
    waiting: int = 10_000
    levels: int = 2**16
    packed_bytes: int = 2**27
    # Leaves from which on a tree is checked with NumPy, if that is installed: with fewer balls are faster.
    numpy_leaves: int = 16
    # Steps of the chains of monotone rows.
    chain_rounds: int = 10**6


@dataclass(frozen=True)
class Slacks:
    """How far numbers that were rounded to floats may be off and still mean what they stand for.

    Where one is used, the check says what the number is then taken for.
    """

    # The sum of a law, or of a row, may miss 1 by this; it is normalised.
    law_sum: float = 1e-9
    # An entropy may exceed log|X| by this, relatively, and mean log|X|.
    entropy: float = 1e-9
    # Masses this near, relatively, pass for the reference prior; below the second number they may have lost digits.
    reference: float = 1e-9
    least_mass: float = 1e-290
    # Rounded rows of a design may exceed a distortion budget by this, relatively; a leakage budget of 0 by this, in
    # nats, against an adversary without knowledge only.
    distortion: float = 1e-12
    leakage: float = 1e-9
    # A mean of outputs may miss its answer by this share of the largest error and pass for unbiased; so may those of
    # all mechanisms that a lower bound is about.
    mean: float = 1e-9
    # Entries of a joint release may miss the product of its two parts by this; it is audited as it stands.
    product: float = 1e-12
    # Outputs whose expected distortions differ by less tie; only the mechanism `constant` asks.
    tie: float = 1e-12


SLACK = Slacks()

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)
_sizes: ContextVar[Sizes] = ContextVar("sizes", default=Sizes())  # noqa: B039 - frozen


class NotChecked(Exception):  # noqa: N818 - an answer, not an error
    """The certificate may be right or wrong: the limits ended the check first."""


@contextmanager
def within(time_limit: float) -> Iterator[None]:
    """Let `tick` end the work after this many seconds."""
    token = _deadline.set(min(_deadline.get(), time.monotonic() + time_limit))
    try:
        yield
    finally:
        _deadline.reset(token)


def largest() -> Sizes:
    """The sizes in force."""
    return _sizes.get()


@contextmanager
def sized(**sizes: int) -> Iterator[None]:
    """Put other sizes in force, such as smaller ones, which are reached sooner."""
    token = _sizes.set(replace(_sizes.get(), **sizes))
    try:
        yield
    finally:
        _sizes.reset(token)


def tick() -> None:
    """End the work if its time is over. Every loop of the verifier that may be long calls this."""
    if time.monotonic() > _deadline.get():
        message = "not checked: the time limit was reached; allow more with time_limit= (--time-limit)"
        raise NotChecked(message)


def ticking(items: Iterable[T], every: int = 1024) -> Iterator[T]:
    """Yield the items, and tick before every 1024th."""
    source = iter(items)
    while part := list(islice(source, every)):
        tick()
        yield from part


def too_large(mib: float, memory: int) -> NoReturn:
    """Say that reading would need more memory than allowed."""
    message = (
        f"not checked: it needs about {math.ceil(mib)} MiB of memory, and {memory} are allowed; "
        "allow more with memory= (--memory)"
    )
    raise NotChecked(message)
