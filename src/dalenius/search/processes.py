"""Crews of more than this process: others beside it, or the workers of a Dask cluster."""

import copy
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from dalenius.search.best_first import BestFirst, Leaf
from dalenius.search.crew import ONE_THREAD, Batch, Crew
from dalenius.search.deadline import Deadline

Domain = BestFirst[Any, Any, Any]
Leaves = Iterable[Iterable[Leaf]]


@dataclass
class Processes(Crew):
    """So many processes, this one included. The others start shortly before the first round, and end with the crew."""

    jobs: int = 2
    _others: "list[Other]" = field(default_factory=list)

    def bound(self, tree: Domain, batches: Sequence[Batch], deadline: Deadline) -> Leaves:
        """Every process takes each batch that is its turn; what one that died had is bounded here."""
        if len(batches) > 1 or tree.nodes.size >= self.nodes / 4:
            # Before their first round, so that they have loaded what they need by then.
            while len(self._others) < self.jobs - 1:
                self._others.append(Other())
        if len(batches) == 1:
            return super().bound(tree, batches, deadline)
        domain, left = without_nodes(tree), deadline.left
        parts = [(domain, batches[k :: self.jobs], left) for k in range(1, self.jobs)]
        asked = [other.ask((bounded, part)) for other, part in zip(self._others, parts, strict=False)]
        found: list[Any] = [None] * len(batches)
        found[0 :: self.jobs] = [list(leaves) for leaves in super().bound(tree, batches[0 :: self.jobs], deadline)]
        for k, (other, sent) in enumerate(zip(self._others, asked, strict=True), start=1):
            answer = other.answer() if sent else None
            if answer is None:
                answer = [list(leaves) for leaves in super().bound(tree, batches[k :: self.jobs], deadline)]
            found[k :: self.jobs] = answer
        self._others = [other for other in self._others if other.alive]
        return found

    def __exit__(self, *_: object) -> None:
        for other in self._others:
            other.end()
        self._others.clear()


@dataclass
class Cluster(Crew):
    """The workers of a Dask client."""

    client: Any = None

    def bound(self, tree: Domain, batches: Sequence[Batch], deadline: Deadline) -> Leaves:
        """Every batch is a task; one whose worker is lost is tried again elsewhere."""
        if len(batches) == 1:
            return super().bound(tree, batches, deadline)
        domain, left = without_nodes(tree), deadline.left
        tasks = [self.client.submit(bounded, (domain, [batch], left), pure=False, retries=2) for batch in batches]
        found: list[list[list[Leaf]]] = self.client.gather(tasks)
        return [leaves for (leaves,) in found]


class Other:
    """A process that works for this one: asked through its standard input, which ends when this process does."""

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

    @property
    def pid(self) -> int:
        """The number by which the operating system knows it."""
        return self._process.pid

    def ask(self, work: tuple[Callable[[Any], Any], object]) -> bool:
        """Hand it a function and what that is to be called with; whether it arrived."""
        try:
            _send(self._process.stdin, work)
        except OSError:
            self.end()
        return self.alive

    def answer(self) -> Any:  # noqa: ANN401 - as the function
        """What it found; None where it died."""
        try:
            return pickle.load(self._process.stdout)  # type: ignore[arg-type]  # noqa: S301 - our own process
        except (OSError, EOFError, pickle.UnpicklingError):
            self.end()
            return None

    def end(self) -> None:
        """End it, whatever it does."""
        self.alive = False
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        self._process.wait()


def _send(pipe: IO[bytes] | None, what: object) -> None:
    assert pipe is not None  # noqa: S101 - for the type checker: it was asked for
    pipe.write(pickle.dumps(what, protocol=pickle.HIGHEST_PROTOCOL))
    pipe.flush()


def serve() -> None:
    """Answer what comes in, until nothing more can come."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever is printed on the way must not stand among the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            function, given = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
        except EOFError:
            return
        _send(answers, function(given))


def bounded(work: tuple[Domain, Sequence[Batch], float]) -> list[list[Leaf]]:
    """The leaves of every batch."""
    domain, batches, left = work
    with np.errstate(all="ignore"):
        return [list(domain.bound(*batch, Deadline(left))) for batch in batches]


def without_nodes(tree: Domain) -> Domain:
    """The domain alone: what bounding a batch takes."""
    domain = copy.copy(tree)
    domain.nodes = type(tree.nodes)()
    return domain


def crew_of(jobs: Any, nodes: int, batches: int) -> Crew:  # noqa: ANN401 - a number, or a Dask client
    """The crew for so many processes, or for a Dask client."""
    return Processes(nodes, batches, jobs) if isinstance(jobs, int) else Cluster(nodes, batches, jobs)
