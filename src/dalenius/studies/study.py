"""A study: one question asked at every point of a grid, with results that survive whatever happens to the run."""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model.files import path_of, write
from dalenius.results.result import Result, frame
from dalenius.search.helper import cores
from dalenius.studies import store as stores
from dalenius.studies.checking import check_numbers, mismatch
from dalenius.studies.grid import COLUMNS, STATUS, Point, check_points, place_words, read_grid
from dalenius.studies.running import Report, Run, silent
from dalenius.studies.store import Entry, Store
from dalenius.studies.words import Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FROM_STORE = "as the store states them, certificates not checked: sweep --verify, report --verify, or verify()"


@dataclass(frozen=True, eq=False)
class Study(Result):
    """A grid of questions, and the answers found so far.

    Attributes:
        name: what the study is called.
        points: the questions.
        store: the file that keeps the answers.
        verified: what `verify` found; None before. Until then every number is as the store states it.

    Example:
        >>> study = dl.Study.load("examples/study.toml")
        >>> len(study.points), study.complete
        (12, False)
    """

    source: Source
    name: str
    points: tuple[Point, ...]
    store: Path
    entries: Mapping[str, Entry] = field(default_factory=dict)
    interrupted: bool = False
    verified: "Verified | None" = field(default=None, init=False)  # what `verify` found, of these entries

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Study":
        """Read a study: its TOML file, with the answers that its store already holds, or a store.

        The store of `name.toml` is `name.db` in the same directory.
        """
        given = path_of(path)
        if given.suffix == ".db":
            meta = stores.check(given, remedy="read it with that version, or run the study again")
            if not meta.get("toml"):
                holds = f"the points of {meta['study']}" if "study" in meta else "nothing yet"
                refuse(f"{given} holds {holds}, and no study that could be read from it")
            # Files are named from the folder of the TOML file, which need not be that of the store.
            stood = path_of(given.parent / meta.get("folder", ".") / given.name)
            return cls.of(Source.parsed(stood, meta["toml"]), given).refreshed()
        study = cls.of(Source.read(given), given.with_suffix(".db"))
        try:
            return study.refreshed() if study.store.exists() else study
        except InputError:
            # Its results are of another study or version; `run` says so, unless it is given another store.
            return study

    @classmethod
    def of(cls, source: Source, store: Path) -> "Study":
        """Return the study that a TOML file describes; one InputError lists all mistakes in it."""
        head, points = read_grid(source)
        return cls(source, head.name, points, store)

    def refreshed(self) -> "Study":
        """Return this study with what its store holds."""
        stores.check(self.store, self.name)
        with stores.reading(self.store) as open_store:
            return replace(self, entries=self._sound(open_store.entries()))

    def _sound(self, entries: Mapping[str, Entry]) -> Mapping[str, Entry]:
        """Return these entries, or refuse the numbers of one that no answer has."""
        for point in self.points:
            entry = entries.get(point.key)
            if entry is not None and entry.status == "done":
                try:
                    check_numbers(point.work.task, entry.numbers)
                except InputError as error:
                    refuse(f"store {self.store}, at {place_words(point.varied)}: {error}; {stores.ANOTHER}", error)
        return entries

    def run(
        self,
        *,
        store: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        dask: str | None = None,
        progress: Report | None = None,
    ) -> "Study":
        """Answer every point that the store lacks, and return the study with all answers.

        store: where results are kept, default the TOML file's name with .db. jobs: processes, default one per core;
        results do not depend on it. dask: the address of a scheduler, or "local:4" for a cluster of 4 processes on this
        machine. progress: receives a Progress as points end. Points that failed before are tried again. Ctrl-C stops
        after what is running, a second one at once; the same call continues from there.
        """
        study = self if store is None else replace(self, store=path_of(store))
        workers = cores() if jobs is None else checks.jobs(jobs)
        check_points(study.source, study.points)
        if dask is not None:
            from dalenius.studies.cluster import check_installed

            check_installed()
        with Store.open(study.store, study.name, study.source.text, folder=study.folder) as open_store:
            kept = study._sound(open_store.entries())  # noqa: SLF001 - of this class
            there = {key: entry for key, entry in kept.items() if entry.status == "done"}
            missing = {point.key: point.work for point in study.points if point.key not in there}
            names = {point.key: place_words(point.varied) for point in study.points}
            run = Run(names, progress or silent, open_store.put)
            for key in run.names.keys() & there.keys():
                run.count(there[key])
            stopped = False
            if missing:
                stopped = run.here(missing, workers) if dask is None else run.on_cluster(missing, dask)
            return replace(study, entries=open_store.entries(), interrupted=stopped)

    @property
    def folder(self) -> str:
        """The folder of its TOML file as seen from its store."""
        try:
            return os.path.relpath(self.source.path.absolute().parent, self.store.absolute().parent)
        except ValueError:
            # On another drive.
            return str(self.source.path.absolute().parent)

    @property
    def failed(self) -> int:
        """Points that failed."""
        return sum(entry.status == "failed" for entry in map(self._entry, self.points) if entry is not None)

    @property
    def complete(self) -> bool:
        """Whether every point has ended."""
        return all(point.key in self.entries for point in self.points)

    def _entry(self, point: Point) -> Entry | None:
        return self.entries.get(point.key)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per point that has ended: the varied keys, the numbers, status, reason, seconds.

        Where a varied key has the name of a number, as nodes or distortion, the number is called `found_nodes`.
        """
        ended = [(point.varied, entry) for point in self.points if (entry := self._entry(point)) is not None]
        extra = sorted({name for _, entry in ended for name in entry.numbers} - set(COLUMNS))
        return [
            {
                **varied,
                **{_column(name, varied): entry.numbers.get(name) for name in (*COLUMNS, *extra)},
                "status": entry.status,
                "reason": entry.reason,
                "seconds": entry.seconds,
            }
            for varied, entry in ended
        ]

    def _labelled(self) -> list[dict[str, Any]]:
        """Rows whose varied values can label a place: as texts where a key has lists, or texts beside numbers."""
        rows = self.rows()
        for name in self.points[0].varied:
            kinds = {type(row[name]) for row in rows}
            if list in kinds or (str in kinds and len(kinds) > 1):
                rows = [row | {name: str(row[name])} for row in rows]
        return rows

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per point."""
        return frame(self._labelled())

    def to_xarray(self) -> Any:
        """Return an xarray Dataset whose coordinates are the varied keys."""
        need("xarray", "to_xarray")
        table = self.to_frame()
        names = list(self.points[0].varied)
        if table.duplicated(names).any():
            refuse(f"two points have the same {', '.join(names)}; a labelled array needs one value a place")
        return table.set_index(names).to_xarray()

    def to_csv(self) -> str:
        """Return the table as CSV text; floats by their shortest exact form."""
        rows = self.rows()
        return csv_text(rows, list(rows[0]) if rows else [*COLUMNS, *STATUS])

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the table as .csv, .parquet or .nc (netCDF), by the ending of the name."""
        target = path_of(path)
        if target.suffix == ".csv":
            write(target, self.to_csv().encode())
        elif target.suffix == ".parquet":
            need("pyarrow", "a Parquet file")
            buffer = io.BytesIO()
            self.to_frame().to_parquet(buffer, index=False)
            write(target, buffer.getvalue())
        elif target.suffix == ".nc":
            need("netCDF4", "a netCDF file")
            write(target, bytes(self.to_xarray().to_netcdf(engine="netcdf4")))
        else:
            refuse(f"{target} has ending {target.suffix!r}; tables are written as .csv, .parquet or .nc")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copy the store, certificates included; `Study.load` and `dl.load` read it."""
        target = path_of(path)
        if not self.store.exists():
            refuse(f"there is nothing to save: {self.store} does not exist; run the study first")
        if target.suffix != ".db":
            refuse(
                f"{target} has ending {target.suffix!r}; a study is saved as .db, and exported as .csv, .parquet or .nc"
            )
        with stores.reading(self.store) as open_store:
            write(target, open_store.copy())

    def verify(self, *, time_limit: float = 60.0, memory: int | None = None) -> "Verified":
        """Check the certificate of every point that is done, and that it is about the question of its point.

        time_limit and memory are for each. What was found becomes `verified`.
        """
        from dalenius.verifier.kernel.limits import MEMORY
        from dalenius.verifier.verify import verify

        done = {point.key: point for point in self.points if (e := self._entry(point)) and e.status == "done"}
        refused = dict.fromkeys(done, "it has no certificate")
        with stores.reading(self.store) as open_store:
            for key, data in open_store.certificates():
                if key in done:
                    verdict = verify(data, time_limit=time_limit, memory=MEMORY if memory is None else memory)
                    why = mismatch(done[key].work, self.entries[key].numbers, data)
                    refused[key] = why if verdict.verified else verdict.reason
        found = Verified(len(done), tuple((done[key].varied, why) for key, why in refused.items() if why))
        object.__setattr__(self, "verified", found)  # studies are frozen: whether they were checked becomes known later
        return found

    def plot(self, x: str, y: str = "upper", hue: str | None = None) -> "Figure":
        """Draw y against x, one line per value of hue; the bracket as a band where y is lower or upper."""
        from dalenius.report.drawn import study_chart
        from dalenius.report.plots import draw

        rows = [row for row in self._labelled() if row["status"] == "done"]
        dual = any(point.work.task.dual for point in self.points)
        bracket = "distortion" if dual else "leakage L"
        return draw(study_chart(rows, x, y, hue, varied=list(self.points[0].varied), bracket=bracket))

    def check_words(self) -> str:
        """Return whether the certificates were checked, and where the numbers are from."""
        return f"numbers are {FROM_STORE}" if self.verified is None else str(self.verified)

    def __repr__(self) -> str:
        ended = sum(point.key in self.entries for point in self.points)
        checked = "" if self.verified else ", not checked"
        return f"<Study {self.name}: {ended} of {len(self.points)} points, {self.failed} failed{checked}>"


def load_study(path: Path, *, verify: bool = False) -> Study:
    """Read a study for its answers: its store must be there, and of this version."""
    study = Study.load(path)
    if path.suffix == ".toml":
        if not study.store.exists():
            refuse(f"{path}: nothing is answered yet, there is no {study.store}; run: dalenius sweep {path}")
        study = study.refreshed()
    if verify and not (verdict := study.verify()):
        refuse(f"{path}: {verdict}")
    return study


@dataclass(frozen=True)
class Verified:
    """What a check of every certificate came to; true where all were accepted."""

    checked: int
    refused: tuple[tuple[dict[str, Any], str], ...]

    def __bool__(self) -> bool:
        return not self.refused

    def __str__(self) -> str:
        if not self.refused:
            return (
                f"all {self.checked} certificates verified" if self.checked else "no point is done: nothing to verify"
            )
        first = f"{place_words(self.refused[0][0])}: {self.refused[0][1]}"
        return f"{len(self.refused)} of {self.checked} certificates NOT verified; the first at {first}"


def _column(name: str, varied: Mapping[str, Any]) -> str:
    """The column of a number: what was asked keeps its name. The unit is the one that was asked for."""
    return f"found_{name}" if name in varied and name != "unit" else name


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return a table as CSV text: floats by their shortest exact form, nothing where there is no number."""
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def need(package: str, what: str) -> None:
    """Refuse what an optional package is missing for."""
    if find_spec(package) is None:
        refuse(f"{what} needs {package}, which is not installed; pip install 'dalenius[studies]'")
