"""Running the experiments, as a study: points over processes, each kept as it ends; then pictures and pages."""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.files import write
from dalenius.paper.reproduce.experiments import EXPERIMENTS, Experiment, chosen
from dalenius.paper.reproduce.folder import Folder
from dalenius.paper.reproduce.numbers import Results
from dalenius.paper.reproduce.points import Measured, Point, measure
from dalenius.paper.reproduce.rows import gap, having
from dalenius.search.helper import cores
from dalenius.studies.running import Progress, Report, Run, silent
from dalenius.studies.store import Entry
from dalenius.studies.task import Answered

NEEDED = ("table", "entropy", "closed-forms", "primal", "dual")  # by the page on the relation to the paper
# Of a start, by experiment, where others take 1.
EFFORT = {"primal": 30, "dual": 30, "convergence": 10, "pairs": 3, "modular": 3, "text": 0.001}


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
        from dalenius.numerics.rounding import short_up

        width = max(len(one.name) for one in self.experiments)
        lines = [
            f"{one.name:{width}}  {one.points:4} points, "
            + (f"widest certified gap {short_up(one.gap)}" if one.gap else "no certified bounds")
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


def publish(folder: Folder, names: list[str], results: Results) -> None:
    """Write pictures of these experiments, and the pages about all that is there."""
    from dalenius.paper.reproduce.figures.figures import PICTURES, draw
    from dalenius.paper.reproduce.page import write_index
    from dalenius.paper.reproduce.relation import map_text, relation_text

    for name in PICTURES:
        if name in {*names, "algorithms"}:
            draw(name, results.get(name, []), folder.out)
    write_index(folder.out, results, folder.run)
    write(folder.out / "map.md", map_text(results).encode())
    if all(name in results for name in NEEDED):
        write(folder.out / "relation.md", relation_text(results).encode())


@dataclass(frozen=True)
class Plan:
    """What a reproduction is made of: its experiments, how a point is measured, and what is made of the rows."""

    experiments: Mapping[str, Experiment] = field(default_factory=lambda: EXPERIMENTS)
    measure: Callable[[Point, int], Measured] = measure
    publish: Callable[[Folder, list[str], Results], None] = publish


@dataclass(frozen=True)
class Measurement:
    """A point as a question of a study."""

    point: Point
    seed: int
    measure: Callable[[Point, int], Measured]

    def answer(self) -> Answered:
        """Measure it. Its rows are its numbers."""
        began = time.monotonic()
        found = self.measure(self.point, self.seed)
        numbers = {"rows": list(found.rows), "gap": gap(found.rows)}
        return Answered(numbers, time.monotonic() - began, found.certificates)


def reproduce(
    out: str | os.PathLike[str],
    only: Iterable[str] | None = None,
    *,
    quick: bool = False,
    jobs: int | None = None,
    seed: int = 0,
    report: Report | None = None,
    plan: Plan | None = None,
) -> Reproduction:
    """Measure the experiments of the paper's evaluation into a folder; what is there is not measured again.

    only: names of experiments, default all. quick: coarser grids. jobs: processes, default one per core; the numbers
    do not depend on it. After Ctrl-C (Interrupted) the same call goes on where it was. plan: other experiments.
    """
    began, listener, plan = time.monotonic(), report or silent, plan or Plan()
    wanted = chosen(only, plan.experiments)
    workers = cores() if jobs is None else checks.jobs(jobs)
    with Folder.open(Path(out), quick=quick, seed=checks.whole("seed", seed, 0)) as folder:
        total = _measure_missing(folder, plan, wanted, workers, listener)
        results = {name: folder.rows(one.points(quick)) for name, one in plan.experiments.items()}
        there = {name: rows for name, rows in results.items() if rows}
        for one in wanted:
            folder.write_table(one.name, there[one.name])
        listener(Progress(total, 0, total, text="drawing the pictures"))
        try:
            plan.publish(folder, [one.name for one in wanted], there)
        except KeyboardInterrupt:
            raise Interrupted(total, total) from None
        summaries = tuple(_summary(folder, one.name, one.points(quick)) for one in wanted)
    return Reproduction(folder.out, summaries, time.monotonic() - began)


def _measure_missing(folder: Folder, plan: Plan, wanted: list[Experiment], workers: int, report: Report) -> int:
    """Measure and keep what is not there yet; return how many points there are in all."""
    points = {folder.key(point): point for one in wanted for point in one.points(folder.run["quick"])}
    there = folder.kept()
    # The longest first, as far as that can be guessed, so that no process is left with one at the end.
    effort = {key: EFFORT.get(point.experiment, 1) * point.starts for key, point in points.items()}
    order = sorted(points.keys() - there.keys(), key=lambda key: (-effort[key], key))
    missing = {key: Measurement(points[key], folder.run["seed"], plan.measure) for key in order}
    failed: dict[str, str] = {}

    def keep(ended: list[Entry]) -> None:
        folder.keep([(points[entry.key], entry) for entry in ended])
        failed.update({entry.key: entry.reason for entry in ended if entry.status == "failed"})

    run = Run({key: f"{point.key} of {point.experiment}" for key, point in points.items()}, report, keep)
    for key in points.keys() & there.keys():
        run.count(there[key])
    try:
        stopped = run.here(missing, workers)
    except KeyboardInterrupt:
        stopped = True
    if stopped:
        raise Interrupted(run.done, len(points))
    if failed:
        key, reason = next(iter(failed.items()))
        refuse(
            f"{len(failed)} of {len(points)} points failed, the first of them {run.names[key]}: {reason}; what is "
            "finished is kept: the same command tries them again"
        )
    return len(points)


def _summary(folder: Folder, name: str, points: list[Point]) -> Summary:
    rows, kept = folder.rows(points), folder.kept()
    return Summary(
        name,
        len(points),
        gap=gap(rows),
        verified=all(row["verified"] for row in having(rows, "lower")),
        seconds=math.fsum(kept[folder.key(point)].seconds for point in points),
    )
