"""The folder of a reproduction: what is measured is kept at once, and results of two kinds are never mixed.

run.json                          which run this is: version, recipe, quick, seed
points.db                         every point as it ends, in the store of a study
certificates/<experiment>/*.json  what `dalenius verify` checks
<experiment>.csv                  every number, in the order of the grid, when all are there
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dalenius.errors import refuse
from dalenius.model.files import __version__, read_json, write
from dalenius.paper.reproduce.experiments import RECIPE
from dalenius.paper.reproduce.points import Point
from dalenius.paper.reproduce.rows import Row
from dalenius.studies.store import Entry, Store
from dalenius.studies.study import csv_text

FORMAT = "dalenius/reproduction"
RUN = "run.json"
POINTS = "points.db"


@dataclass(frozen=True)
class Folder:
    """A folder that holds one run, and its open store."""

    out: Path
    run: dict[str, Any]
    store: Store

    @classmethod
    @contextmanager
    def open(cls, out: Path, *, quick: bool, seed: int) -> "Iterator[Folder]":
        """Take up a run, or begin one; refused, with nothing written, where the folder holds something else."""
        run = {"format": FORMAT, "version": __version__, "recipe": RECIPE, "quick": quick, "seed": seed}
        if out.exists():
            _check_folder(out, run)
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            refuse(f"cannot write to {out}: {error.strerror or error}; choose another directory with --out", error)
        if not (out / RUN).exists():
            write(out / RUN, (json.dumps(run, indent=2) + "\n").encode())
        remedy = "delete it, and its points are measured again"
        with Store.open(out / POINTS, "dalenius reproduce", "", remedy) as store:
            yield cls(out, run, store)

    def key(self, point: Point) -> str:
        """What the numbers of a point depend on, in one digest."""
        stated = {"point": asdict(point), "seed": self.run["seed"], "recipe": self.run["recipe"]}
        text = json.dumps(stated, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def kept(self) -> dict[str, Entry]:
        """What was measured, by key."""
        return {key: entry for key, entry in self.store.entries().items() if entry.status == "done"}

    def keep(self, ended: Sequence[tuple[Point, Entry]]) -> None:
        """Write points that have ended, after their certificates, so that a kept point always has them."""
        for point, entry in ended:
            found: dict[str, Any] = entry.certificate_data() or {}
            folder = self.out / "certificates" / point.experiment
            if found:
                folder.mkdir(parents=True, exist_ok=True)
            for ending, data in found.items():
                text = json.dumps(data, allow_nan=False, separators=(",", ":")) + "\n"
                write(folder / f"{point.key}{ending}.json", text.encode())
        self.store.put([replace(entry, certificate=None) for _, entry in ended])

    def rows(self, points: Iterable[Point]) -> list[Row]:
        """All rows of these points, in their order; none of them while one is missing."""
        found, keys = self.kept(), [self.key(point) for point in points]
        if not all(key in found for key in keys):
            return []
        return [row for key in keys for row in found[key].numbers["rows"]]

    def write_table(self, experiment: str, rows: list[Row]) -> None:
        """Write the CSV of an experiment."""
        columns = list(dict.fromkeys(name for row in rows for name in row))
        write(self.out / f"{experiment}.csv", csv_text(rows, columns).encode())


def _check_folder(out: Path, run: dict[str, Any]) -> None:
    """Refuse a file, a folder of something else, and a folder of another run."""
    if not out.is_dir():
        refuse(f"--out {out} is a file; name a directory")
    if not (out / RUN).exists():
        if any(out.iterdir()):
            refuse(f"{out} is not empty and holds no {RUN} of dalenius reproduce; name a new or an empty directory")
        return
    if read_json(out / RUN) != run:
        asked = ", ".join(f"{name} {value}" for name, value in run.items())
        refuse(
            f"{out / RUN} is of another run than this one ({asked}), and results are not mixed: name another "
            "directory, or delete that one"
        )
