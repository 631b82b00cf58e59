"""Work in several processes, where any of them may die: what it had is tried again, and the rest goes on."""

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import active_children, connection, get_context, parent_process
from typing import Any, Generic, TypeVar

from dalenius.search.crew import ONE_THREAD

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ended(Generic[Item, Result]):
    """An item that has ended: with its result, or without one where its process died too often."""

    item: Item
    result: Result | None
    died: int = 0


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class Pool(Generic[Item, Result]):
    """Processes with one item at a time each, so that of one that dies it is known which item it had.

    tries: how often the process of one item may die before the item is given up.
    """

    function: Callable[[Item], Result]
    workers: int
    tries: int = 2
    stopping: bool = False
    died: Callable[[Item, int], None] | None = None
    _running: dict[Future[Result], tuple[int, Item, int]] = field(default_factory=dict)

    def stop(self) -> None:
        """Begin no further item."""
        self.stopping = True

    def run(self, items: Iterable[Item]) -> Generator[list[Ended[Item, Result]], None, None]:
        """Yield what has ended, a few at a time or nothing; the next items are begun before, so that no process waits.

        Something is yielded every half second, so that whoever listens learns of a stop.
        """
        queue = deque((item, 0) for item in items)
        strangers = set(active_children())
        lanes = [_lane() for _ in range(min(self.workers, len(queue)))]
        try:
            while (queue and not self.stopping) or self._running:
                self._submit(queue, lanes)
                ended = self._collect(queue, lanes)
                self._submit(queue, lanes)
                yield ended
        finally:
            # Left on the way: what is half done is not waited for.
            if self._running:
                for child in set(active_children()) - strangers:
                    child.terminate()
                self._running.clear()
            for lane in lanes:
                lane.shutdown(cancel_futures=True)

    def _submit(self, queue: deque[tuple[Item, int]], lanes: list[ProcessPoolExecutor]) -> None:
        free = set(range(len(lanes))) - {number for number, _, _ in self._running.values()}
        # Processes start as they are given work, and inherit the environment.
        with environment(ONE_THREAD), script_left_alone():
            for number in sorted(free):
                if queue and not self.stopping:
                    item, deaths = queue.popleft()
                    try:
                        future = lanes[number].submit(self.function, item)
                    except BrokenProcessPool:
                        # It died while it had nothing to do: no point is to blame.
                        lanes[number] = _lane()
                        future = lanes[number].submit(self.function, item)
                    self._running[future] = number, item, deaths

    def _collect(self, queue: deque[tuple[Item, int]], lanes: list[ProcessPoolExecutor]) -> list[Ended[Item, Result]]:
        ended = []
        # A short wait, so that a signal that asks to stop is seen.
        for future in wait(self._running, timeout=0.5, return_when=FIRST_COMPLETED).done:
            number, item, deaths = self._running.pop(future)
            try:
                ended.append(Ended(item, future.result()))
            except BrokenProcessPool:
                lanes[number] = _lane()
                if self.died is not None:
                    self.died(item, deaths + 1)
                if deaths + 1 >= self.tries:
                    ended.append(Ended(item, None, deaths + 1))
                else:
                    queue.appendleft((item, deaths + 1))
        return ended


def _lane() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=begin_worker)


def begin_worker() -> None:
    """Leave Ctrl-C to the process that started this one, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(parent: int) -> None:
    connection.wait([parent])
    os._exit(1)


@contextmanager
def environment(changes: dict[str, str]) -> Iterator[None]:
    """Change the environment for a while."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def script_left_alone() -> Iterator[None]:
    """Within: a process that starts does not run the user's script, which need not guard against that.

    A spawned process imports the module that was started as a program, found by these two names; points need nothing
    of it.
    """
    names = vars(sys.modules["__main__"])
    hidden: dict[str, Any] = {name: names.pop(name) for name in ("__file__", "__spec__") if name in names}
    names["__spec__"] = None
    try:
        yield
    finally:
        names.update(hidden)


@contextmanager
def first_interrupt_stops(stop: Callable[[], None]) -> Iterator[None]:
    """Within: the first Ctrl-C calls `stop`, a second one raises KeyboardInterrupt. Other threads are left alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def interrupted(_signal: int, _frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        stop()

    previous = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
