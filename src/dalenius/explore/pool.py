"""Solver processes: a few, each with one question at a time, that are told to stop, and killed where they do not."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dalenius.search.crew import ONE_THREAD

# Characters of one event: a chart, a table, or the Python of a long question.
LONGEST_LINE = 2**25
# Seconds within which a solver that was told to stop must have stopped, and within which every answer must be there.
PATIENCE, MOST_SECONDS = 0.5, 150.0
# Questions after which a process is replaced, so that its memory goes back to where it was.
MOST_QUESTIONS = 100


class Busy(Exception):  # noqa: N818 - no error: come again
    """Too many questions wait already."""


class Died(Exception):  # noqa: N818 - a fact about a process
    """The solver process ended on the way, or was too slow; the message says how."""


@dataclass(eq=False)
class Solver:
    """One process."""

    process: asyncio.subprocess.Process
    number: int = 0
    busy: bool = False

    @classmethod
    async def start(cls, folder: Path) -> "Solver":
        """Start a process, which loads what it needs while nobody waits for it."""
        path = os.pathsep.join(entry for entry in sys.path if entry)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "dalenius.explore.worker",
            str(folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": path},
            # A terminal's Ctrl-C is for the server.
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        return cls(process)

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self.process.returncode is None

    async def ask(self, question: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of an answer."""
        self.number += 1
        self.busy = True
        await self._write({**question, "number": self.number})
        while (message := await self._read()) is not None:
            if message.get("number") != self.number:
                continue
            if message.get("end"):
                self.busy = False
                return
            yield message["event"]
        raise Died(await self._how())

    async def settle(self) -> None:
        """Stop what nobody waits for: politely, then for good."""
        if self.busy and self.alive:
            try:
                await self._write({"cancel": self.number})
                async with asyncio.timeout(PATIENCE):
                    while self.busy and (message := await self._read()) is not None:
                        self.busy = not (message.get("end") and message.get("number") == self.number)
            except (TimeoutError, Died):
                pass
        if self.busy or self.number >= MOST_QUESTIONS:
            await self.end()

    async def end(self) -> None:
        """End the process, whatever it does."""
        if self.alive:
            self.process.kill()
        await self.process.wait()

    async def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None  # noqa: S101 - for the type checker: it was asked for
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            await self.process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise Died(await self._how()) from None

    async def _read(self) -> dict[str, Any] | None:
        assert self.process.stdout is not None  # noqa: S101 - the same
        line = await self.process.stdout.readline()
        found: dict[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
        return found

    async def _how(self) -> str:
        code = await self.process.wait()
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"


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
        solver = None
        self.running += 1
        try:
            solver = await self._take()
            yield solver
        finally:
            self.running -= 1
            task = asyncio.ensure_future(self._give_back(solver))
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

    async def _give_back(self, solver: Solver | None) -> None:
        try:
            if solver is not None:
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
