"""Crews of more than this process: others beside it, or the workers of a Dask cluster."""

import contextlib
import os
import pickle
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

import numpy as np

from dalenius.numerics.batch import packed, unpacked
from dalenius.search.best_first import BestFirst, Leaf, Parts
from dalenius.search.crew import ONE_THREAD, Crew, Task
from dalenius.search.deadline import Deadline

Domain = BestFirst[Any, Any, Any]
# Batches that a process has at a time: one that it bounds, and others, so that it need not wait while this process is
# at something longer than a batch.
_HELD = 3
# Trees whose domain a process keeps.
_TREES = 8
# Bytes of a pipe, where the system allows it: as large as the batches in it, so that neither side waits for the other.
_PIPE = 1 << 20


@dataclass
class Processes(Crew):
    """So many processes, this one included. The others start shortly before they have work, and end with the crew."""

    jobs: int = 2
    _others: "list[Other]" = field(default_factory=list)

    def batches_of(self, size: int) -> int:
        """Start the others early enough for them to have loaded what they need by the time there is work.

        A process for each batch under way is enough: another one would find nothing to do.
        """
        if size >= self.nodes / 4:
            while len(self._others) < min(self.jobs, self.batches) - 1:
                self._others.append(Other())
        return super().batches_of(size)

    def bounded(self, tasks: Sequence[Task], deadline: Deadline) -> Parts:
        """Every process takes the next batch that nobody has; so does this one, where the first is not back yet."""
        first = tasks[0]
        self._hand_out(tasks, deadline)
        while first.found is None:
            free = next((task for task in tasks if task.found is None and not self._has(task)), None)
            if free is not None:
                free.found = free.run(deadline)
            else:
                next(other for other in self._others if first in other.held).receive()
            self._hand_out(tasks, deadline)
        return first.found

    def _hand_out(self, tasks: Sequence[Task], deadline: Deadline) -> None:
        """Take what has come back, and give every process something to do; what one that died had is free again."""
        for other in self._others:
            other.receive_all()
        self._others = [other for other in self._others if other.alive]
        if len(tasks) == 1:
            return
        for task in tasks:
            least = min(self._others, key=lambda other: len(other.held), default=None)
            if least is None or len(least.held) >= _HELD:
                return
            if task.found is None and not self._has(task):
                least.ask(task, deadline)

    def _has(self, task: Task) -> bool:
        return any(task in other.held for other in self._others if other.alive)

    def __exit__(self, *_: object) -> None:
        for other in self._others:
            other.end()
        self._others.clear()


@dataclass
class Cluster(Crew):
    """The workers of a Dask client."""

    client: Any = None
    _futures: dict[Task, Any] = field(default_factory=dict)

    def bounded(self, tasks: Sequence[Task], deadline: Deadline) -> Parts:
        """Every batch is a task of the cluster; one whose worker is lost is tried again elsewhere."""
        if len(tasks) == 1 and tasks[0] not in self._futures:
            return super().bounded(tasks, deadline)
        for task in tasks:
            if task not in self._futures:
                work = task.domain, packed(task.regions), _packed_leaves(task.parents), deadline.left
                self._futures[task] = self.client.submit(_bounded, work, pure=False, retries=2)
        return _unpacked_parts(self.client.gather(self._futures.pop(tasks[0])))

    def __exit__(self, *_: object) -> None:
        self._futures.clear()


class Other:
    """A process that bounds batches: asked through its standard input, which ends when this process does."""

    def __init__(self) -> None:
        """Start it. A terminal's Ctrl-C is for the process that owns the tree."""
        command = [sys.executable, "-c", "from dalenius.search.processes import serve; serve()"]
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(  # noqa: S603 - this very program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": path},
            start_new_session=True,
        )
        self.alive = True
        # What it was asked and has not answered, in this order: so it will answer.
        self.held: list[Task] = []
        # The trees whose domain it has.
        self._trees: dict[int, None] = {}
        self._answers: SimpleQueue[Any] = SimpleQueue()
        _widen(self._process.stdin)
        _widen(self._process.stdout)
        # It may have answered while this process is at something else, and must not wait for that.
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The number by which the operating system knows it."""
        return self._process.pid

    def ask(self, task: Task, deadline: Deadline) -> None:
        """Hand it a batch. Of a tree that it knows it needs the target alone."""
        domain, until = task.domain, time.monotonic() + deadline.left
        whole = None if task.tree in self._trees else domain
        batch = packed(task.regions), _packed_leaves(task.parents)
        try:
            _send(self._process.stdin, (task.tree, whole, (domain.lower, domain.tolerance), batch, until))
        except OSError:
            self.end()
            return
        _remember(self._trees, task.tree, None)
        self.held.append(task)

    def receive(self) -> None:
        """Wait for its next answer; there is none where it died."""
        answer = self._answers.get()
        if answer is None:
            self.end()
        else:
            self.held.pop(0).found = _unpacked_parts(answer)

    def receive_all(self) -> None:
        """Take the answers that are there."""
        while self.alive and not self._answers.empty():
            self.receive()

    def _read(self) -> None:
        try:
            while True:
                self._answers.put(pickle.load(self._process.stdout))  # type: ignore[arg-type]  # noqa: S301 - our own process
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            self._answers.put(None)

    def end(self) -> None:
        """End it, whatever it does."""
        self.alive = False
        self.held.clear()
        self._process.kill()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()


def _remember(trees: dict[int, Any], tree: int, domain: Domain | None) -> None:
    """Keep the latest trees, the same ones on both sides."""
    trees.setdefault(tree, domain)
    if len(trees) > _TREES:
        del trees[next(iter(trees))]


def _widen(pipe: IO[bytes] | None) -> None:
    """Give a pipe more room, where that is possible."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl  # noqa: PLC0415 - not on every system

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)  # type: ignore[arg-type]


def _send(pipe: IO[bytes] | None, what: object) -> None:
    assert pipe is not None  # noqa: S101 - for the type checker: it was asked for
    pickle.dump(what, pipe, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def serve() -> None:
    """Bound what comes in, until nothing more can come."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever is printed on the way must not stand among the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    domains: dict[int, Domain] = {}
    # Its input ends, or nobody reads its answers, where the process above has ended.
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            tree, whole, target, batch, until = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process above
            _remember(domains, tree, whole)
            domain = domains[tree]
            domain.lower, domain.tolerance = target
            _send(answers, _bounded((domain, *batch, until - time.monotonic())))


def _bounded(work: tuple[Domain, Any, Any, float]) -> Any:  # noqa: ANN401 - packed
    """The parts of a batch, as they travel."""
    domain, regions, (bounds, proofs), left = work
    parents = list(zip(bounds, unpacked(proofs), strict=True))
    with np.errstate(all="ignore"):
        cuts, leaves = domain.parts(unpacked(regions), parents, Deadline(left))
    return cuts, _packed_leaves([(leaf.bound, leaf.proof) for leaf in leaves]), packed([leaf.region for leaf in leaves])


def _packed_leaves(leaves: list[tuple[float, Any]]) -> tuple[list[float], Any]:
    return [bound for bound, _ in leaves], packed([proof for _, proof in leaves])


def _unpacked_parts(found: Any) -> Parts:  # noqa: ANN401 - packed
    cuts, (bounds, proofs), regions = found
    return cuts, list(map(Leaf, bounds, unpacked(proofs), unpacked(regions)))


def crew_of(jobs: Any, nodes: int, batches: int) -> Crew:  # noqa: ANN401 - a number, or a Dask client
    """The crew for so many processes, or for a Dask client."""
    return Processes(nodes, batches, jobs) if isinstance(jobs, int) else Cluster(nodes, batches, jobs)
