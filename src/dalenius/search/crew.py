"""Who bounds the batches of a tree: here this process alone; search/processes.py has others.

The tree stays in one process. What a batch comes to depends on the batch alone, and batches are taken and filed in an
order that does not depend on who bounds them: the certificate is the same for any number of processes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from dalenius.search.best_first import BestFirst, Parts
    from dalenius.search.deadline import Deadline

# Of processes beside each other each has one thread: linear algebra that takes more would have them wait.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(eq=False)
class Task:
    """A batch that was taken from a tree: nodes with their regions, and with their bounds and proofs, worst first.

    domain: as the tree was when it was taken, without its nodes. tree: the number of that tree.
    """

    domain: "BestFirst[Any, Any, Any]"
    tree: int
    taken: list[tuple[int, Any]]
    parents: list[tuple[float, Any]]
    found: "Parts | None" = None

    @property
    def worst(self) -> float:
        """The largest bound of its nodes."""
        return self.parents[0][0]

    @property
    def regions(self) -> list[Any]:
        """What is to be split."""
        return [region for _, region in self.taken]

    def run(self, deadline: "Deadline") -> "Parts":
        """Split and bound it here."""
        return self.domain.parts(self.regions, self.parents, deadline)


@dataclass
class Crew:
    """This process alone.

    nodes, batches: a tree of so many nodes has so many batches under way, a smaller one has one: it would gain nothing
    from other processes.
    """

    nodes: int = 0
    batches: int = 1

    def batches_of(self, size: int) -> int:
        """How many batches a tree of this size has under way."""
        return self.batches if size >= self.nodes else 1

    def bounded(self, tasks: Sequence[Task], deadline: "Deadline") -> "Parts":
        """Bound the first of a tree's batches; the others may be bounded as well, if there is anyone to do it."""
        return tasks[0].run(deadline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind."""
