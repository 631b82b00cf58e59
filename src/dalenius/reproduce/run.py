"""Running the experiments: points over processes, each kept as it ends; pictures and pages when all are there."""

import math
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.reproduce.experiments import EXPERIMENTS, Experiment, chosen
from dalenius.reproduce.points import Measured, Point, measure
from dalenius.reproduce.rows import Row, finest, gap, having, missed
from dalenius.reproduce.store import Store
from dalenius.studies.pool import Pool, cores

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
    """What a listener receives: how many points are kept, out of how many, and sometimes a sentence."""

    done: int
    total: int
    text: str = ""


Report = Callable[[Progress], None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: what was finished is kept."""

    def __init__(self, kept: int, total: int) -> None:
        """The number of points kept, out of `total`."""
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


def _silent(_: Progress) -> None:
    """Report nothing."""


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
        with closing(_here(queue, seed) if workers == 1 else _in_processes(queue, seed, workers, say)) as finished:
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


def _in_processes(queue: deque[Point], seed: int, workers: int, say: Callable[[str], None]) -> Finished:
    """Measure in several processes; a point whose process died is tried once more."""
    pool: Pool[Point, tuple[Measured, float]] = Pool(partial(_timed, seed=seed), workers)
    pool.died = partial(_after_death, say=say)
    with closing(pool.run(queue)) as ended:
        for one in chain.from_iterable(ended):
            if one.result is not None:
                yield one.item, *one.result


def _after_death(point: Point, times: int, say: Callable[[str], None]) -> None:
    what = f"the process that measured {point.key} of {point.experiment} died"
    if times > 1:
        message = f"{what} twice, perhaps because memory ran out; what is finished is kept: try again with fewer --jobs"
        raise InputError(message)
    say(f"{what}; trying once more")


def _publish(store: Store, names: list[str], results: dict[str, list[Row]]) -> None:
    """Write tables and pictures of these experiments, and the pages about all that is there."""
    from dalenius.reproduce.figures.figures import draw, draw_dependencies  # noqa: PLC0415 - matplotlib
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
