"""Run work in several processes. If one dies, its item is tried again and the others continue."""

import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from dalenius.search.helper import Helper, NoAnswerError

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ended(Generic[Item, Result]):
    """An item that has ended: with its result, or without one where its process died too often."""

    item: Item
    result: Result | None
    died: int = 0


@dataclass
class Lane(Generic[Item]):
    """A process, and the item that it has; deaths: how often processes with that item have died."""

    helper: Helper
    item: Item | None = None
    deaths: int = 0
    waiting: threading.Thread | None = None

    def end(self) -> None:
        """End the process, and let go of it."""
        self.helper.end()
        if self.waiting is not None:
            self.waiting.join()
        self.helper.close()


@dataclass
class Pool(Generic[Item, Result]):
    """Processes that hold one item each, so that the item of a process that dies is known.

    tries: how often processes may die with an item before it is given up.
    """

    function: Callable[[Item], Result]
    workers: int
    tries: int = 2
    stopping: bool = False
    died: Callable[[Item, int], None] | None = None
    # Lanes whose item has ended, with its result; None where the process died.
    _ended: "SimpleQueue[tuple[Lane[Item], tuple[Result] | None]]" = field(default_factory=SimpleQueue)

    def stop(self) -> None:
        """Begin no further item."""
        self.stopping = True

    def run(self, items: Iterable[Item]) -> Generator[list[Ended[Item, Result]], None, None]:
        """Yield items that have ended, a few at a time or none; the next ones begin first, so that no process waits.

        It yields every half second, so that the caller notices a stop.
        """
        queue = deque((item, 0) for item in items)
        lanes: list[Lane[Item]] = [Lane(Helper()) for _ in range(min(self.workers, len(queue)))]
        try:
            while (queue and not self.stopping) or any(lane.item is not None for lane in lanes):
                self._submit(queue, lanes)
                ended = self._collect(queue)
                self._submit(queue, lanes)
                yield ended
        finally:
            # If the caller leaves early, unfinished items are not waited for.
            for lane in lanes:
                lane.end()

    def _submit(self, queue: deque[tuple[Item, int]], lanes: list[Lane[Item]]) -> None:
        for lane in lanes:
            if lane.item is None and queue and not self.stopping:
                if not lane.helper.alive:
                    # It died while idle: no item is to blame.
                    lane.end()
                    lane.helper = Helper()
                lane.item, lane.deaths = queue.popleft()
                lane.waiting = threading.Thread(target=self._wait, args=(lane, lane.item), daemon=True)
                lane.waiting.start()

    def _wait(self, lane: Lane[Item], item: Item) -> None:
        try:
            self._ended.put((lane, (lane.helper.call(self.function, item),)))
        except NoAnswerError:
            self._ended.put((lane, None))

    def _collect(self, queue: deque[tuple[Item, int]]) -> list[Ended[Item, Result]]:
        try:
            # A short wait, so that a signal that asks to stop is seen.
            lane, result = self._ended.get(timeout=0.5)
        except Empty:
            return []
        item, deaths = lane.item, lane.deaths + 1
        assert item is not None  # for the type checker: what has ended was begun
        lane.item = None
        if result is not None:
            return [Ended(item, *result)]
        if self.died is not None:
            self.died(item, deaths)
        if deaths >= self.tries:
            return [Ended(item, None, deaths)]
        queue.appendleft((item, deaths))
        return []


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
