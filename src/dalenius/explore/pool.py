"""Solver processes: a few, each with one question at a time, that are told to stop, and killed where they do not."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dalenius.explore.worker import answer, begin
from dalenius.search.helper import Helper, Message, NoAnswerError

# Seconds within which a solver that was told to stop must have stopped, and within which every answer must be there.
PATIENCE, MOST_SECONDS = 0.5, 150.0
# Questions after which a process is replaced, so that its memory goes back to where it was.
MOST_QUESTIONS = 100


class Busy(Exception):  # noqa: N818 - no error: come again
    """Too many questions wait already."""


@dataclass(eq=False)
class Solver:
    """One process; a thread waits for what it sends."""

    helper: Helper
    messages: "asyncio.Queue[Message | NoAnswerError]" = field(default_factory=asyncio.Queue)
    asked: int = 0
    busy: bool = False

    @classmethod
    async def start(cls, folder: Path) -> "Solver":
        """Start a process, which loads what it needs while nobody waits for it."""
        solver = cls(await asyncio.to_thread(Helper, partial(begin, folder)))
        threading.Thread(target=solver._listen, args=(asyncio.get_running_loop(),), daemon=True).start()
        return solver

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        message: Message | NoAnswerError = "answer", None
        while not isinstance(message, NoAnswerError):
            try:
                message = self.helper.read()
            except NoAnswerError as ended:
                message = ended
                self.helper.close()
            try:
                loop.call_soon_threadsafe(self.messages.put_nowait, message)
            except RuntimeError:
                # The server has ended.
                return

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self.helper.alive

    async def ask(self, question: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of an answer; NoAnswerError where the process ends on the way."""
        self.asked += 1
        self.busy = True
        self.helper.ask(answer, question, talks=True)
        while self.busy:
            message = await self.messages.get()
            if isinstance(message, NoAnswerError):
                raise message
            kind, content = message
            self.busy = kind != "answer"
            if self.busy:
                yield json.loads(content)

    async def settle(self) -> None:
        """Stop what nobody waits for: politely, then for good."""
        if self.busy and self.alive:
            try:
                self.helper.cancel()
                async with asyncio.timeout(PATIENCE):
                    while self.busy and not isinstance(message := await self.messages.get(), NoAnswerError):
                        self.busy = message[0] != "answer"
            except (TimeoutError, NoAnswerError):
                pass
        if self.busy or self.asked >= MOST_QUESTIONS:
            await self.end()

    async def end(self) -> None:
        """End the process, whatever it does."""
        await asyncio.to_thread(self.helper.end)


@dataclass
class Pool:
    """At most `size` processes, and at most `most_waiting` questions that wait for one."""

    folder: Path
    size: int = 2
    most_waiting: int = 32
    waiting: int = 0
    running: int = 0
    idle: list[Solver] = field(default_factory=list)
    everyone: set[Solver] = field(default_factory=set)
    settling: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.slots = asyncio.Semaphore(self.size)

    async def warm_up(self) -> None:
        """Start the first process before anybody asks."""
        async with self.solver():
            pass

    @asynccontextmanager
    async def solver(self) -> AsyncIterator[Solver]:
        """A process for one question; afterwards it is stopped if need be, and ready for the next."""
        if self.waiting >= self.most_waiting:
            raise Busy
        self.waiting += 1
        try:
            await self.slots.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        taking = asyncio.ensure_future(self._take())
        try:
            # Whoever asks may leave while a process starts: it goes on to start, and serves the next question.
            yield await asyncio.shield(taking)
        finally:
            self.running -= 1
            task = asyncio.ensure_future(self._give_back(taking))
            self.settling.add(task)
            task.add_done_callback(self.settling.discard)

    async def _take(self) -> Solver:
        while self.idle:
            solver = self.idle.pop()
            if solver.alive:
                return solver
            self.everyone.discard(solver)
        solver = await Solver.start(self.folder)
        self.everyone.add(solver)
        return solver

    async def _give_back(self, taking: "asyncio.Future[Solver]") -> None:
        try:
            await asyncio.wait([taking])
            if taking.exception() is None:
                solver = taking.result()
                await solver.settle()
                if solver.alive:
                    self.idle.append(solver)
                else:
                    self.everyone.discard(solver)
        finally:
            self.slots.release()

    async def close(self) -> None:
        """End every process."""
        for task in list(self.settling):
            task.cancel()
        await asyncio.gather(*(solver.end() for solver in self.everyone), return_exceptions=True)
        self.everyone.clear()
        self.idle.clear()
