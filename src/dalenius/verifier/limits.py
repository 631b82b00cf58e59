"""What checking a certificate may take: memory is estimated before anything is built, the clock is read on the way.

The limits are in force inside `within`, like the precision of balls. Beyond them `NotChecked` is raised: nothing was
found wrong, and nothing was shown.
"""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn, TypeVar

MEMORY = 448  # MiB that reading and checking may take by default: with the interpreter less than 512
TIME_LIMIT = 60.0  # seconds by default
LONGEST = 1e6  # seconds: a longer limit is none, and clocks overflow beyond
LARGEST = 2**60  # MiB: the same of memory
MIB = 2**20  # bytes
FAR_TOO_LARGE = 2**20  # MiB that nobody has
EVERY = 1024  # items of a loop between two looks at the clock

T = TypeVar("T")

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


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


def tick() -> None:
    """End the work if its time is over. Every loop of the verifier that may be long calls this."""
    if time.monotonic() > _deadline.get():
        out_of_time()


def ticking(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and tick now and then."""
    for k, item in enumerate(items):
        if not k % EVERY:
            tick()
        yield item


def out_of_time() -> NoReturn:
    """Say that the time limit ended the check."""
    message = "not checked: the time limit was reached; allow more with time_limit= (--time-limit)"
    raise NotChecked(message)


def too_large(mib: float, memory: int) -> NoReturn:
    """Say that checking would need more memory than allowed."""
    if not mib < FAR_TOO_LARGE:
        message = "not checked: it is far too large to be rebuilt"
        raise NotChecked(message)
    message = (
        f"not checked: it needs about {math.ceil(mib)} MiB of memory, and {memory} are allowed; "
        "allow more with memory= (--memory)"
    )
    raise NotChecked(message)


def too_long(seconds: float, time_limit: float) -> NoReturn:
    """Say that checking would need more time than allowed."""
    message = (
        f"not checked: it needs about {seconds:.3g} s, and {time_limit:g} are allowed; "
        "allow more with time_limit= (--time-limit)"
    )
    raise NotChecked(message)
