"""Running the experiments: points over processes, each kept as it ends; pictures and pages when all are there."""

import math
import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import active_children, connection, get_context, parent_process
from pathlib import Path
from typing import Any

from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.reproduce.experiments import EXPERIMENTS, Experiment, chosen
from dalenius.reproduce.points import Measured, Point, measure
from dalenius.reproduce.rows import Row, finest, gap, having, missed
from dalenius.reproduce.store import Store

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
NEEDED = ("table", "entropy", "closed-forms", "primal", "dual")  # by the page on the relation to the paper
EFFORT = {
    "primal": 30,
    "dual": 30,
    "convergence": 10,
    "pairs": 3,
    "modular": 3,
    "text": 0.001,
}  # of a start, by experiment, where others take 1

Finished = Generator[tuple[Point, Measured, float], None, None]


@dataclass(frozen=True)
class Progress:
    """What a listener is told: so many points of so many are kept, and at times something in words."""

    done: int
    total: int
    text: str = ""


Report = Callable[[Progress], None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: what was finished is kept."""

    def __init__(self, kept: int, total: int) -> None:
        """Of `total` points `kept` are there."""
        super().__init__(f"interrupted: {kept} of {total} points are kept; the same command goes on")


@dataclass(frozen=True)
class Summary:
    """What an experiment came to."""

    name: str
    points: int
    gap: float  # the widest certified bracket
    missed: float  # largest share of the leakage that the paper's method misses, in the median over its starts
    verified: bool
    seconds: float  # of all its points together, in whichever run


@dataclass(frozen=True)
class Reproduction:
    """A finished run: one summary an experiment, and where to look."""

    out: Path
    experiments: tuple[Summary, ...]
    seconds: float

    @property
    def verified(self) -> bool:
        """Whether the verifier agrees with every certificate."""
        return all(one.verified for one in self.experiments)

    @property
    def index(self) -> Path:
        """The page that shows everything."""
        return self.out / "index.html"

    def summary(self) -> str:
        """Return the run in plain words."""
        from dalenius.numerics.rounding import short_up  # noqa: PLC0415

        width = max(len(one.name) for one in self.experiments)
        lines = [
            f"{one.name:{width}}  {one.points:4} points, widest certified gap {short_up(one.gap)}, "
            f"the paper's method misses up to {one.missed:.0%}"
            for one in self.experiments
        ]
        failed = [one.name for one in self.experiments if not one.verified]
        verdict = f"NOT every certificate was verified: {', '.join(failed)}" if failed else "every certificate verified"
        return "\n".join([*lines, f"{verdict}; {self.seconds:.0f} s", f"Look at   {self.index}"])

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the command line."""
        return {
            "experiments": [asdict(one) for one in self.experiments],
            "verified": self.verified,
            "seconds": self.seconds,
            "index": str(self.index),
        }


def reproduce(  # noqa: PLR0913 - the options of the command
    out: str | os.PathLike[str],
    only: Iterable[str] | None = None,
    *,
    quick: bool = False,
    jobs: int | None = None,
    seed: int = 0,
    report: Report | None = None,
) -> Reproduction:
    """Measure the experiments of the paper's evaluation into a folder; what is there is not measured again.

    only: names of experiments, default all. quick: coarser grids. jobs: processes, default one per core; the numbers
    do not depend on it. After Ctrl-C (Interrupted) the same call goes on where it was.
    """
    began = time.monotonic()
    wanted = chosen(only)
    workers = cores() if jobs is None else checks.whole("jobs", jobs)
    store = Store.open(Path(out), quick=quick, seed=checks.whole("seed", seed, 0))
    total = _measure_missing(store, wanted, workers, report or _silent)
    results = {one.name: store.rows(one.name, one.points(quick)) for one in EXPERIMENTS.values()}
    there = {name: rows for name, rows in results.items() if rows}
    (report or _silent)(Progress(total, total, "drawing the pictures"))
    try:
        _publish(store, [one.name for one in wanted], there)
    except KeyboardInterrupt:
        raise Interrupted(total, total) from None
    summaries = tuple(_summary(store, one.name, there[one.name]) for one in wanted)
    return Reproduction(store.out, summaries, time.monotonic() - began)


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _silent(_: Progress) -> None:
    """Tell nobody."""


def _measure_missing(store: Store, wanted: list[Experiment], workers: int, report: Report) -> int:
    """Measure and keep what is not there yet; return how many points there are in all."""
    points = [point for one in wanted for point in one.points(store.run["quick"])]
    kept = {one.name: store.kept(one.name) for one in wanted}
    missing = [point for point in points if point.key not in kept[point.experiment]]
    left = Counter(point.experiment for point in missing)
    total, done = len(points), len(points) - len(missing)
    there = f"{done} of {total} points are there already; " if done else ""
    report(Progress(done, total, f"{there}{len(missing)} to measure with {workers} at a time, the longest first"))
    queue = deque(sorted(missing, key=_effort, reverse=True))
    seed = store.run["seed"]

    def say(text: str) -> None:
        report(Progress(done, total, text))

    try:
        with closing(_here(queue, seed) if workers == 1 else _lanes(queue, seed, workers, say)) as finished:
            for point, measured, seconds in finished:
                store.keep(point, measured, seconds)
                done += 1
                left[point.experiment] -= 1
                if left[point.experiment]:
                    say("")
                    continue
                own = [other for other in points if other.experiment == point.experiment]
                store.write_table(point.experiment, store.rows(point.experiment, own))
                say(f"{point.experiment}: measured, {done} of {total} points in all")
    except KeyboardInterrupt:
        raise Interrupted(done, total) from None
    return total


def _effort(point: Point) -> float:
    """A guess of how long a point takes; the longest go first, so that no process is left with one at the end."""
    return EFFORT.get(point.experiment, 1) * point.starts


def _timed(point: Point, seed: int) -> tuple[Measured, float]:
    began = time.monotonic()
    return measure(point, seed), time.monotonic() - began


def _here(queue: deque[Point], seed: int) -> Finished:
    """Measure in this process, one after the other."""
    while queue:
        point = queue.popleft()
        yield point, *_timed(point, seed)


def _lanes(queue: deque[Point], seed: int, workers: int, say: Callable[[str], None]) -> Finished:
    """Measure in so many processes, each with one point at a time: of one that dies it is known which point it had.

    Such a point is tried once more in a fresh process.
    """
    strangers = set(active_children())
    lanes = [_lane() for _ in range(min(workers, len(queue)))]
    running: dict[Future[tuple[Measured, float]], tuple[int, Point]] = {}
    died: Counter[tuple[str, str]] = Counter()
    try:
        with _environment(ONE_THREAD):  # processes start as they are given work, and inherit it
            while queue or running:
                for number in set(range(len(lanes))) - {number for number, _ in running.values()}:
                    if queue:
                        point = queue.popleft()
                        running[lanes[number].submit(_timed, point, seed)] = number, point
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number, point = running.pop(future)
                    try:
                        measured, seconds = future.result()
                    except BrokenProcessPool:
                        died[point.experiment, point.key] += 1
                        _after_death(point, died[point.experiment, point.key], say)
                        lanes[number] = _lane()
                        queue.appendleft(point)
                    else:
                        yield point, measured, seconds
    finally:
        if running:  # stopped on the way: what is half done is not waited for
            for child in set(active_children()) - strangers:
                child.terminate()
        for lane in lanes:
            lane.shutdown(cancel_futures=True)


def _lane() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin_worker)


def _begin_worker() -> None:
    """Leave Ctrl-C to the process that started this one, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(parent: int) -> None:
    connection.wait([parent])
    os._exit(1)


def _after_death(point: Point, times: int, say: Callable[[str], None]) -> None:
    what = f"the process that measured {point.key} of {point.experiment} died"
    if times > 1:
        message = f"{what} twice, perhaps for want of memory; what is finished is kept: try again with fewer --jobs"
        raise InputError(message)
    say(f"{what}; trying once more")


@contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _publish(store: Store, names: list[str], results: dict[str, list[Row]]) -> None:
    """Write tables and pictures of these experiments, and the pages about all that is there."""
    from dalenius.reproduce.figures import draw, draw_dependencies  # noqa: PLC0415 - matplotlib
    from dalenius.reproduce.page import write_index  # noqa: PLC0415 - the same
    from dalenius.reproduce.paper_map import write_map  # noqa: PLC0415
    from dalenius.reproduce.relation import write_relation  # noqa: PLC0415

    for name in names:
        store.write_table(name, results[name])
        draw(name, results[name], store.out)
    draw_dependencies(store.out)
    write_index(store.out, results, store.run)
    write_map(store.out / "map.md", results)
    if all(name in results for name in NEEDED):
        write_relation(store.out / "relation.md", results)


def _summary(store: Store, name: str, rows: list[Row]) -> Summary:
    brackets = having(rows, "lower")
    kept = store.kept(name).values()
    return Summary(
        name,
        len(kept),
        gap=gap(rows),
        missed=max(map(_missed, finest(brackets)), default=0.0),
        verified=all(row["verified"] for row in brackets),
        seconds=math.fsum(one.seconds for one in kept),
    )


def _missed(row: Row) -> float:
    """In an audit the share of the certified leakage; in a design, of what the mechanisms returned leak."""
    if "leaks_median" not in row:
        return missed(row)
    reported = row["reported_median" if "D" in row else "achieved_median"]
    return max(0.0, 1 - float(reported / row["leaks_median"]))
