"""The folder of a reproduction: what is measured is kept at once, and results of two kinds are never mixed.

run.json                          which run this is: version, recipe, quick, seed
points/<experiment>.jsonl         a line for every point, as it ends
certificates/<experiment>/*.json  what `dalenius verify` checks
<experiment>.csv                  every number, in the order of the grid, when all are there
"""

import csv
import io
import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius import __version__
from dalenius.errors import InputError
from dalenius.model.storage import read_bytes, read_json, write
from dalenius.reproduce.experiments import RECIPE
from dalenius.reproduce.points import Measured, Point
from dalenius.reproduce.rows import Row

FORMAT = "dalenius/reproduction"
RUN = "run.json"


@dataclass(frozen=True)
class Kept:
    """A point that was measured: its rows, and how long it took."""

    rows: tuple[Row, ...]
    seconds: float


@dataclass(frozen=True)
class Store:
    """A folder that holds one run."""

    out: Path
    run: dict[str, Any]

    @classmethod
    def open(cls, out: Path, *, quick: bool, seed: int) -> "Store":
        """Take up a run, or begin one; refused, with nothing written, where the folder holds something else."""
        run = {"format": FORMAT, "version": __version__, "recipe": RECIPE, "quick": quick, "seed": seed}
        if out.exists():
            _check_folder(out, run)
        store = cls(out, run)
        try:
            out.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=out):
                pass
            (out / "points").mkdir(exist_ok=True)
        except OSError as error:
            message = f"cannot write to {out}: {error.strerror or error}; choose another directory with --out"
            raise InputError(message) from error
        if not (out / RUN).exists():
            write(out / RUN, (json.dumps(run, indent=2) + "\n").encode())
        return store

    def kept(self, experiment: str) -> dict[str, Kept]:
        """What is there of an experiment, by key; a last line that a kill has torn is dropped from the file."""
        path = self._lines(experiment)
        if not path.exists():
            return {}
        content = read_bytes(path)
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            write(path, whole)
        found: dict[str, Kept] = {}
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = json.loads(line)
                found[entry["key"]] = Kept(tuple(entry["rows"]), float(entry["seconds"]))
            except (ValueError, TypeError, KeyError):
                message = f"{path}, line {number} is damaged; delete the file, and its points are measured again"
                raise InputError(message) from None
        return found

    def keep(self, point: Point, measured: Measured, seconds: float) -> None:
        """Append a point that has ended, after its certificates, so that a kept point always has them."""
        folder = self.out / "certificates" / point.experiment
        if measured.certificates:
            folder.mkdir(parents=True, exist_ok=True)
        for ending, data in measured.certificates.items():
            text = json.dumps(data, allow_nan=False, separators=(",", ":")) + "\n"
            write(folder / f"{point.key}{ending}.json", text.encode())
        entry = {"key": point.key, "rows": measured.rows, "seconds": round(seconds, 3)}
        with self._lines(point.experiment).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, allow_nan=False) + "\n")

    def rows(self, experiment: str, points: Iterable[Point]) -> list[Row]:
        """All rows of an experiment in the order of its points; none of them while one is missing."""
        found = self.kept(experiment)
        keys = [point.key for point in points]
        if not all(key in found for key in keys):
            return []
        return [row for key in keys for row in found[key].rows]

    def write_table(self, experiment: str, rows: list[Row]) -> None:
        """Write the CSV of an experiment: floats by their shortest exact form, nothing where there is no number."""
        columns = list(dict.fromkeys(name for row in rows for name in row))
        file = io.StringIO()
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write(self.out / f"{experiment}.csv", file.getvalue().encode())

    def _lines(self, experiment: str) -> Path:
        return self.out / "points" / f"{experiment}.jsonl"


def _check_folder(out: Path, run: dict[str, Any]) -> None:
    """Refuse a file, a folder of something else, and a folder of another run."""
    if not out.is_dir():
        message = f"--out {out} is a file; name a directory"
        raise InputError(message)
    if not (out / RUN).exists():
        if any(out.iterdir()):
            message = f"{out} is not empty and holds no {RUN} of dalenius reproduce; name a new or an empty directory"
            raise InputError(message)
        return
    there = read_json(out / RUN)
    if not isinstance(there, dict) or there.get("format") != FORMAT:
        message = f'{out / RUN} is not of dalenius reproduce: it has no "format": "{FORMAT}"; name another directory'
        raise InputError(message)
    differs = [name for name in run if there.get(name) != run[name]]
    if differs:
        old = ", ".join(f"{name} {_word(there.get(name))}" for name in differs)
        new = ", ".join(f"{name} {_word(run[name])}" for name in differs)
        message = (
            f"{out} holds results of {old}, and this run is of {new}; they are not mixed: name another directory, "
            "or delete this one"
        )
        raise InputError(message)


def _word(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
