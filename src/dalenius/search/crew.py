"""Who works off the parts of a tree: this thread alone, or several. What comes of it does not depend on how many."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Self, TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")

# Of processes beside each other each has one thread: linear algebra that takes more would have them wait.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass
class Crew:
    """So many threads. Kernels in C let go of the interpreter's lock, so that they run beside each other."""

    jobs: int = 1
    _pool: ThreadPoolExecutor | None = field(init=False, default=None)

    def map(self, function: Callable[[Given], Found], work: Sequence[Given]) -> list[Found]:
        """The function of every item, in order."""
        if self.jobs == 1 or len(work) == 1:
            return [function(item) for item in work]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.jobs)
        return list(self._pool.map(function, work))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
