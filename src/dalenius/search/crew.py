"""Who bounds the batches of a round: here this process alone; search/processes.py has others.

The tree stays in one process. A round has a fixed number of batches whoever bounds them, and what a batch comes to
depends on the batch alone: the certificate is the same for any number of processes.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from dalenius.search.best_first import BestFirst, Leaf
    from dalenius.search.deadline import Deadline

# Regions, and the bound and proof of each one's parent.
Batch = tuple[Any, list[tuple[float, Any]]]
# Of processes beside each other each has one thread: linear algebra that takes more would have them wait.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, eq=False)
class Kernel:
    """Work on a batch that can be done for several searches together: what a row of a batch comes to is its own.

    key: what requests have in common that can be answered together; None where this one is better answered alone.
    """

    alone: Callable[..., Any]
    together: "Callable[[list[Any], Deadline], list[Any]]"
    key: Callable[..., Hashable]
    deadline: "Callable[..., Deadline]"


@dataclass
class Crew:
    """This process alone.

    nodes, batches: a tree of so many nodes takes so many batches a round, a smaller one takes one: it would gain
    nothing from other processes.
    """

    nodes: int = 0
    batches: int = 1

    def round_of(self, size: int) -> int:
        """How many batches a tree of this size takes at once."""
        return self.batches if size >= self.nodes else 1

    def bound(
        self, tree: "BestFirst[Any, Any, Any]", batches: Sequence[Batch], deadline: "Deadline"
    ) -> "Iterable[Iterable[Leaf]]":
        """Bound the batches of a round, in their order."""
        return (tree.bound(*batch, deadline) for batch in batches)

    def ask(self, kernel: Kernel, *given: Any) -> Any:  # noqa: ANN401 - as the kernel
        """Do what a kernel does; search/abreast.py does it for several searches at once."""
        return kernel.alone(*given)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing behind."""
