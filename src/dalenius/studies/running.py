"""Running a study: every point that the store lacks, in processes here or on a cluster, kept as it ends."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

from dalenius.errors import InputError
from dalenius.studies.pool import Pool, first_interrupt_stops
from dalenius.studies.store import Entry, packed
from dalenius.studies.task import Answered, Work

STOPPING = "stopping after what is running; Ctrl-C again stops at once"


class Question(Protocol):
    """What a point asks: plain data that any process can answer."""

    def answer(self) -> Answered:
        """Answer it."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: points done and failed, seconds left if known, the widest gap so far, and at times words."""

    done: int
    failed: int
    total: int
    left: float | None = None
    gap: float = 0.0
    text: str = ""


Report = Callable[[Progress], None]


@dataclass
class Run:
    """One run: answers are kept as they come, and progress goes to whoever listens.

    names: in words, of every point by its key. keep: writes what has ended, and may have something to say about it.
    """

    names: Mapping[str, str]
    report: Report
    keep: Callable[[list[Entry]], str | None]
    # Counts over the points of this study.
    done: int = 0
    failed: int = 0
    widest: float = 0.0
    # Answered in this run.
    answered: int = 0
    noticed: bool = False
    began: float = field(default_factory=time.monotonic)

    def here(self, missing: Mapping[str, Question], workers: int) -> bool:
        """Answer in processes on this machine, in this order; whether it was stopped before the end."""
        pool: Pool[tuple[str, Question], Entry] = Pool(answer, workers)
        pool.died = self._say_death
        self._say(f"{self.done} of {len(self.names)} points are done; {len(missing)} to go, {workers} at a time")
        with first_interrupt_stops(pool.stop), closing(pool.run(missing.items())) as ended:
            for few in ended:
                self._keep([_dead(one.item[0], one.died) if one.result is None else one.result for one in few])
                self._notice(pool.stopping)
        return pool.stopping and self._open > 0

    def on_cluster(self, missing: Mapping[str, Work], address: str) -> bool:
        """Answer on a Dask cluster; whether it was stopped before the end."""
        from dalenius.studies.cluster import connected

        with connected(address) as cluster:
            self._say(f"{self.done} of {len(self.names)} points are done; {len(missing)} to go on {cluster.words}")
            with first_interrupt_stops(cluster.stop):
                for few in cluster.answers(missing):
                    self._keep(few)
                    self._notice(cluster.stopping)
            return cluster.stopping and self._open > 0

    def count(self, entry: Entry) -> None:
        """Count a point that has ended."""
        self.failed += entry.status == "failed"
        self.done += entry.status == "done"
        self.widest = max(self.widest, entry.numbers.get("gap") or 0.0)

    def _keep(self, entries: list[Entry]) -> None:
        """Write what has ended, then report it."""
        if not entries:
            return
        words = self.keep(entries)
        for entry in entries:
            self.count(entry)
        self.answered += len(entries)
        self._say(words or "")

    def _notice(self, stopping: bool) -> None:  # noqa: FBT001 - what the pool says
        """Say once that a stop was asked for."""
        if stopping and not self.noticed:
            self.noticed = True
            self._say(STOPPING)

    def _say_death(self, item: tuple[str, Question], times: int) -> None:
        self._say(
            f"the process that answered {self.names[item[0]]} died{'; trying once more' if times == 1 else ' again'}"
        )

    @property
    def _open(self) -> int:
        """How many points have not ended."""
        return len(self.names) - self.done - self.failed

    def _say(self, text: str = "") -> None:
        pace = (time.monotonic() - self.began) / self.answered if self.answered else None
        left = None if pace is None else pace * self._open
        self.report(Progress(self.done, self.failed, len(self.names), left, self.widest, text))


def answer(item: tuple[str, Question]) -> Entry:
    """Answer one point; what is wrong with it becomes the reason why it failed."""
    key, question = item
    began = time.monotonic()
    try:
        found = question.answer()
        certificate = packed(found.certificate)
    except InputError as error:
        return Entry(key, "failed", str(error), {}, time.monotonic() - began)
    except MemoryError:
        return Entry(key, "failed", "this point needs more memory than there is", {}, time.monotonic() - began)
    except Exception as error:  # noqa: BLE001 - a defect at one point must not cost the others
        return Entry(key, "failed", f"{type(error).__name__}: {error}", {}, time.monotonic() - began)
    return Entry(key, "done", "", found.numbers, found.seconds, certificate)


def _dead(key: str, times: int) -> Entry:
    reason = f"its process died {times} times, perhaps because memory ran out; try it with fewer jobs"
    return Entry(key, "failed", reason, {}, 0.0)


def silent(_: Progress) -> None:
    """Report nothing."""
