"""Limits of time and nodes, progress, Ctrl-C, and the threads that work off trees: one object has them all."""

import math
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Given = TypeVar("Given")
Found = TypeVar("Found")

# Worker processes have one thread each: with more, their linear algebra would compete for the cores.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass
class Crew:
    """Threads that work off the parts of a tree; what comes of it does not depend on how many there are.

    Kernels in C let go of the interpreter's lock, so that they run beside each other.
    """

    jobs: int = 1
    _pool: "ThreadPoolExecutor | None" = field(init=False, default=None)

    def map(self, function: Callable[[Given], Found], work: Sequence[Given]) -> list[Found]:
        """The function of every item, in order."""
        if self.jobs == 1 or len(work) == 1:
            return [function(item) for item in work]
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self.jobs)
        return list(self._pool.map(function, work))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


@dataclass(frozen=True)
class Progress:
    """What a progress display shows, in nats."""

    record: int
    records: int
    lower: float
    upper: float
    nodes: int
    seconds: float
    stage: str


def _now() -> float:
    """Read the clock; every deadline reads it here, so that tests can replace it."""
    return time.monotonic()


@dataclass
class Deadline:
    """A deadline, a Ctrl-C that lets the work end in order first, and the reports on the way.

    Used as a context manager around the whole audit. The first SIGINT sets `interrupted`; a second
    one raises KeyboardInterrupt. Outside the main thread signals are left alone.
    """

    time_limit: float
    report: Callable[[Progress], None] | None = None
    began: float = field(default_factory=_now)
    interrupted: bool = False
    nodes: int = 0
    parent: "Deadline | None" = None
    # A limit on work that does not depend on how fast or how busy the machine is.
    most_nodes: float = math.inf
    # Who works off the parts of trees.
    crew: Crew = field(default_factory=Crew)
    # The trees of the audit that are alive: they have one limit on memory together.
    trees: "WeakSet[Any]" = field(default_factory=WeakSet)
    # Seconds that are kept for writing down what was found.
    reserved: float = 0.0
    _previous: Any = None

    def __enter__(self) -> Self:
        ours = threading.current_thread() is threading.main_thread()
        # Where Ctrl-C is ignored, as in the workers of a study, it stays ignored: the process above decides.
        if ours and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._previous = signal.getsignal(signal.SIGINT)
            # Work around this one was interrupted while nothing listened: then this one need not begin.
            self.interrupted = self.interrupted or (self._outer is not None and self._outer.interrupted)
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        # An audit inside longer work, which is to stop as well.
        if self._outer is not None:
            self._outer.interrupted = True

    @property
    def _outer(self) -> "Deadline | None":
        """The deadline of longer work around this one, in which it waits for Ctrl-C."""
        outer = getattr(self._previous, "__self__", None)
        return outer if isinstance(outer, Deadline) else None

    @property
    def broken_off(self) -> bool:
        """Whether Ctrl-C has ended this work, or the work of which it is a part."""
        return self.interrupted or (self.parent is not None and self.parent.broken_off)

    @property
    def seconds(self) -> float:
        return _now() - self.began

    @property
    def left(self) -> float:
        return self.time_limit - self.reserved - self.seconds

    def part(self, seconds: float) -> "Deadline":
        """Return a deadline for a part of the work, which ends no later than the whole; it reports nothing."""
        return Deadline(max(0.0, seconds), parent=self, crew=self.crew, trees=self.trees)

    def expired(self) -> bool:
        """Whether the work at hand must stop now."""
        whole = self.parent is not None and self.parent.expired()
        return whole or self.interrupted or self.nodes >= self.most_nodes or self.left < 0

    def report_progress(self, record: int, records: int, lower: float, upper: float, stage: str) -> None:
        """Report progress, if anyone listens."""
        if self.report is not None:
            self.report(Progress(record, records, lower, upper, self.nodes, self.seconds, stage))
