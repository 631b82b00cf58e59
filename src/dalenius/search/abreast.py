"""Searches abreast: many small ones, of which those that ask for the same kind of work are answered in one batch.

Each search runs in a thread of its own, and only one of them runs at a time: it goes on until it asks for work, and
then waits. Once all wait, requests of one kind and shape are worked off together, and each search goes on with its own
part. Nothing in a search knows of the others, so that it finds what it would find alone.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dalenius.search.crew import Crew, Kernel
from dalenius.search.deadline import Deadline

Answer = TypeVar("Answer")
Group = list["_Lane[Answer]"]


@dataclass(eq=False)
class _Lane(Crew, Generic[Answer]):
    """One search: its thread, and the crew that its kernels ask."""

    search: Callable[[Crew], Answer] = field(kw_only=True)
    whole: Deadline = field(kw_only=True)
    # Seconds of work done together that count as this search's own.
    share: float = 0.0
    # What it waits for; None once it has ended.
    kernel: Kernel | None = None
    given: tuple[Any, ...] = ()
    found: Any = None
    ended: Answer | None = None
    failed: BaseException | None = None

    def __post_init__(self) -> None:
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._go.acquire()
        try:
            self.ended = self.search(self)
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits for this search
            self.failed = error
        self.kernel = None
        self._stopped.release()

    def advance(self, found: object = None) -> None:
        """Hand over what was found, and wait until the search asks for more, or has ended."""
        self.found = found
        self._go.release()
        self._stopped.acquire()

    def ask(self, kernel: Kernel, *given: Any) -> Any:  # noqa: ANN401 - as the kernel
        """Wait for the others, and return this search's part of what was found."""
        if kernel.key(*given) is None:
            return kernel.alone(*given)
        self.kernel, self.given, began = kernel, given, self.whole.seconds
        self._stopped.release()
        self._go.acquire()
        self.kernel, found, self.found = None, self.found, None
        others = self.whole.seconds - began - self.share
        kernel.deadline(*given).waited(others, interrupted=self.whole.interrupted)
        if isinstance(found, BaseException):
            raise found
        return found


def abreast(
    searches: Sequence[Callable[[Crew], Answer]], crew: Crew, whole: Deadline, most: int
) -> Iterator[tuple[int, Answer | Exception]]:
    """Run searches, at most this many at once; yield the number of each that has ended, and its answer or its error.

    crew: what rounds of large trees have. whole: the deadline of all, whose interruption reaches every search.
    """
    todo = iter(enumerate(searches))
    lanes: dict[int, _Lane[Answer]] = {}
    while True:
        for k, search in todo:
            lanes[k] = _Lane(crew.nodes, crew.batches, search=search, whole=whole)
            lanes[k].advance()
            if len(lanes) >= most:
                break
        if not lanes:
            return
        for k in [k for k, lane in lanes.items() if lane.kernel is None]:
            lane = lanes.pop(k)
            if lane.failed is not None and not isinstance(lane.failed, Exception):
                raise lane.failed
            yield k, lane.failed or lane.ended  # type: ignore[misc] # a search that has not failed has ended
        for group in _groups(list(lanes.values())):
            _answer(group, whole)


def _groups(lanes: "Group[Answer]") -> "list[Group[Answer]]":
    """Searches that ask for the same kind of work on problems of the same shape."""
    found: dict[Hashable, Group[Answer]] = defaultdict(list)
    for lane in lanes:
        assert lane.kernel is not None  # noqa: S101 - for the type checker: it waits
        found[lane.kernel, lane.kernel.key(*lane.given)].append(lane)
    return list(found.values())


def _answer(group: "Group[Answer]", whole: Deadline) -> None:
    """Work off the requests of a group, and let each search go on.

    The clock of a search counts the time that it runs, and its share of work that is done together.
    """
    kernel = group[0].kernel
    assert kernel is not None  # noqa: S101 - for the type checker: it waits
    began = whole.seconds
    try:
        left = max(kernel.deadline(*lane.given).left for lane in group)
        found: Sequence[object] = kernel.together([lane.given for lane in group], Deadline(left, parent=whole))
    except Exception as error:  # noqa: BLE001 - raised again in every search of the group
        found = [error] * len(group)
    share = (whole.seconds - began) / len(group)
    for lane, answer in zip(group, found, strict=True):
        lane.share = share
        lane.advance(answer)
