"""Solver processes: a few, each with one question at a time, that are told to stop, and killed where they do not."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from dalenius.explore.worker import answer, begin
from dalenius.search.helper import Helper, Message, NoAnswerError

# Seconds within which a solver that was told to stop must have stopped, and after which a waiting thread looks up.
PATIENCE, TICK = 0.5, 0.05
# Questions after which a process is replaced, so that its memory goes back to where it was.
MOST_QUESTIONS = 100


class Busy(Exception):  # noqa: N818 - no error: come again
    """Too many questions wait already."""


class Solver:
    """One process; a thread waits for what it sends."""

    def __init__(self, folder: Path) -> None:
        """Start a process, which loads what it needs while nobody waits for it."""
        self.helper = Helper(partial(begin, folder))
        self.messages: SimpleQueue[Message | NoAnswerError] = SimpleQueue()
        self.asked, self.busy = 0, False
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                self.messages.put(self.helper.read())
            except NoAnswerError as ended:
                self.messages.put(ended)
                self.helper.close()
                return

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self.helper.alive

    def ask(self, question: dict[str, Any]) -> Iterator[dict[str, Any] | None]:
        """Yield the events of an answer, and None now and then; NoAnswerError where the process ends on the way."""
        self.asked += 1
        self.busy = True
        self.helper.ask(answer, question, talks=True)
        while self.busy:
            try:
                kind, content = self._next(TICK)
            except Empty:
                yield None
                continue
            self.busy = kind != "answer"
            if self.busy:
                yield json.loads(content)

    def _next(self, seconds: float) -> Message:
        message = self.messages.get(timeout=seconds)
        if isinstance(message, NoAnswerError):
            raise message
        return message

    def settle(self) -> None:
        """Stop what nobody waits for: politely, then for good."""
        try:
            if self.busy:
                self.helper.cancel()
            while self.busy:
                self.busy = self._next(PATIENCE)[0] != "answer"
        except (Empty, NoAnswerError):
            pass
        if self.busy or self.asked >= MOST_QUESTIONS:
            self.end()

    def end(self) -> None:
        """End the process, whatever it does."""
        self.helper.end()


class Pool:
    """At most `size` processes, and at most `most_waiting` questions that wait for one."""

    def __init__(self, folder: Path, size: int = 2, most_waiting: int = 32) -> None:
        """Begin without a process."""
        self.folder, self.most_waiting = folder, most_waiting
        self.waiting = self.running = 0
        self.idle: list[Solver] = []
        self.everyone: set[Solver] = set()
        self._slots, self._lock = threading.Semaphore(size), threading.Lock()

    def warm_up(self) -> None:
        """Start the first process before anybody asks."""
        with self.solver(lambda: False):
            pass

    @contextmanager
    def solver(self, gone: Callable[[], bool]) -> Iterator[Solver]:
        """Hold a process for one question; Busy where too many wait, and NoAnswerError once nobody does."""
        with self._lock:
            if self.waiting >= self.most_waiting:
                raise Busy
            self.waiting += 1
        try:
            while not self._slots.acquire(timeout=TICK):
                if gone():
                    raise NoAnswerError
        finally:
            self.waiting -= 1
        try:
            solver = self._take()
        except OSError:
            self._slots.release()
            raise
        self.running += 1
        try:
            yield solver
        finally:
            self.running -= 1
            # Whoever asked does not wait for the end of what it gave up.
            threading.Thread(target=self._give_back, args=(solver,), daemon=True).start()

    def _take(self) -> Solver:
        with self._lock:
            while self.idle:
                if (solver := self.idle.pop()).alive:
                    return solver
                self.everyone.discard(solver)
            solver = Solver(self.folder)
            self.everyone.add(solver)
            return solver

    def _give_back(self, solver: Solver) -> None:
        solver.settle()
        with self._lock:
            if solver.alive:
                self.idle.append(solver)
            else:
                self.everyone.discard(solver)
        self._slots.release()

    def close(self) -> None:
        """End every process."""
        with self._lock:
            for solver in self.everyone:
                solver.end()
