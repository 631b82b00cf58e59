"""The results of a study in one SQLite file: what has ended is on the disk, with its certificate.

The writer is one process, the one that runs the study; a second run is refused while it lasts. Write-ahead logging lets
others read meanwhile; every commit is brought to the disk (synchronous=FULL), since a killed machine may not lose what
was reported as done.
"""

import json
import math
import shutil
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dalenius.errors import InputError, refuse
from dalenius.model.files import __version__, json_of, obstacle

FORMAT = "dalenius/study"
# A disk with fewer bytes than these counts as full: SQLite's log takes that much.
LEAST_FREE = 1 << 20
# Seconds after which a lock of another process is given up: a run waits longer than somebody who looks.
WAIT = {"ro": 5.0, "rwc": 30.0}
# The most bytes of a certificate, and how long reading may take: seconds, bytes of the file for each more, and steps of
# SQLite from one look at the clock to the next.
MOST_UNPACKED = 2**27
SECONDS = 4.0
BYTES_PER_SECOND = 10**7
STEPS = 10_000
ANOTHER = "name another file with --store"
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE points (
    key TEXT PRIMARY KEY,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    reason TEXT NOT NULL,
    numbers TEXT NOT NULL,
    seconds REAL NOT NULL,
    certificate BLOB
);
"""


@dataclass(frozen=True)
class Entry:
    """A point that has ended. numbers: the same in every run; reason: why it failed."""

    key: str
    status: str
    reason: str
    numbers: dict[str, Any]
    seconds: float
    # zlib of JSON, as processes hand it over and the file holds it.
    certificate: bytes | None = None

    def certificate_data(self) -> Any:
        """The certificate as data; None where the point failed."""
        return None if self.certificate is None else unpacked(self.certificate, f"the certificate of {self.key}")


@dataclass(frozen=True)
class Store:
    """An open file of results of one study."""

    path: Path
    connection: sqlite3.Connection

    @classmethod
    @contextmanager
    def open(cls, path: Path, name: str, text: str, remedy: str = ANOTHER, folder: str = ".") -> "Iterator[Store]":
        """Open the store of this study, or begin it; refused where the file is something else, or cannot be written.

        text: the study's TOML, kept so that the store says by itself what it holds. remedy: what to do where the file
        is something else. folder: where that TOML file stands, seen from the store.
        """
        fresh = not path.exists()
        if problem := obstacle(path):
            refuse(f"store {path}: {problem}")
        if problem := _unwritable(path):
            refuse(f"store {path}: {problem}; {remedy}")
        if not fresh:
            check(path, name, remedy)
        with _alone(path), _connected(path, "rwc") as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            meta = {"format": FORMAT, "version": __version__, "study": name, "toml": text, "folder": folder}
            with connection:
                # One transaction: a kill leaves either no table or all of them.
                connection.execute("BEGIN IMMEDIATE")
                if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                    for statement in filter(str.strip, SCHEMA.split(";")):
                        connection.execute(statement)
                connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
            yield cls(path, connection)
            # Whole in one file when nobody writes: it can be copied, and read where nothing can be written.
            with suppress(sqlite3.Error):
                connection.execute("PRAGMA busy_timeout=200")
                connection.execute("PRAGMA journal_mode=DELETE")

    def put(self, entries: Iterable[Entry]) -> None:
        """Write what has ended, in one transaction."""
        with _told(self.path), self.connection:
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.executemany(
                "INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (e.key, e.status, e.reason, json.dumps(e.numbers, allow_nan=False), e.seconds, e.certificate)
                    for e in entries
                ],
            )

    def entries(self) -> dict[str, Entry]:
        """Everything that has ended, by key, without certificates."""
        found: dict[str, Entry] = {}
        with _told(self.path), _in_time(self.path, self.connection):
            for row in self.connection.execute("SELECT key, status, reason, numbers, seconds FROM points"):
                entry = _entry(self.path, row)
                if entry.key in found:
                    # Pages that stand in the file once can be reached many times, without an end.
                    raise _damaged(self.path, f"the point {entry.key[:64]} is there twice")
                found[entry.key] = entry
        return found

    def certificates(self) -> Iterator[tuple[str, Any]]:
        """Keys and certificates of all points that are done, one at a time."""
        done = sorted(key for key, entry in self.entries().items() if entry.status == "done")
        for key in done:
            with _told(self.path), _in_time(self.path, self.connection):
                row = self.connection.execute("SELECT certificate FROM points WHERE key = ?", (key,)).fetchone()
            if row is None or not isinstance(row[0], bytes):
                raise _damaged(self.path, f"the point {key[:64]} has no certificate")
            yield key, unpacked(row[0], f"store {self.path}: the certificate of {key[:64]}")

    def copy(self) -> bytes:
        """The whole file, with what still stands in its log."""
        with _told(self.path), closing(sqlite3.connect(":memory:")) as memory:
            self.connection.backup(memory)
            return memory.serialize()


def packed(certificate: dict[str, Any]) -> bytes:
    """Return a certificate as the store holds it; refused where it could not be read again."""
    text = json.dumps(certificate, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > MOST_UNPACKED:
        refuse(f"its certificate takes {len(text) >> 20} MiB, above {MOST_UNPACKED >> 20}; allow a wider gap")
    return zlib.compress(text, 6)


def unpacked(certificate: bytes, place: str) -> Any:
    """Return the data of a certificate as the store holds it."""
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(certificate, MOST_UNPACKED)
    except zlib.error as error:
        refuse(f"{place} cannot be unpacked: {error}", error)
    if not unpacking.eof:
        refuse(f"{place} is cut off, or takes more than {MOST_UNPACKED >> 20} MiB")
    return json_of(text, place)


def _entry(path: Path, row: tuple[Any, ...]) -> Entry:
    """Return the point of a row, whose columns may hold anything."""
    key, status, reason, numbers, seconds = row
    texts = all(isinstance(text, str) for text in (key, status, reason, numbers))
    if not texts or status not in ("done", "failed") or type(seconds) is not float or not math.isfinite(seconds):
        raise _damaged(path, "a point holds something else than a store writes")
    content = json_of(numbers, f"store {path}: what the point {key[:64]} holds")
    if not isinstance(content, dict):
        raise _damaged(path, f"the point {key[:64]} holds no numbers by name")
    return Entry(key, status, reason, content, seconds)


def _damaged(path: Path, what: str) -> InputError:
    return InputError(f"store {path} is damaged: {what}")


@contextmanager
def _in_time(path: Path, connection: sqlite3.Connection) -> Iterator[None]:
    """Within: SQLite gives up after some seconds, more for a large file, since a damaged one can lead it in circles."""
    end = time.monotonic() + SECONDS + path.stat().st_size / BYTES_PER_SECOND
    connection.set_progress_handler(lambda: time.monotonic() > end, STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_INTERRUPT:
            raise
        raise _damaged(path, "reading it does not end") from error
    finally:
        connection.set_progress_handler(None, 0)


@contextmanager
def reading(path: Path) -> Iterator[Store]:
    """Open a store to read only."""
    check(path)
    with _connected(path, "ro") as connection:
        yield Store(path, connection)


def check(path: Path, name: str | None = None, remedy: str = ANOTHER) -> dict[str, str]:
    """Return what a store says of itself; refused where it is none, of another version, or of another study."""
    for ending in ("", "-wal", "-shm", "-journal"):
        if problem := obstacle(path.with_name(path.name + ending)):
            refuse(f"cannot read {path}{ending}: {problem}")
    if not path.exists():
        refuse(f"cannot read {path}: there is no such file")
    try:
        with _connected(path, "ro") as connection, _in_time(path, connection):
            schema = {tuple(row) for row in connection.execute("SELECT type, name, sql FROM sqlite_master LIMIT 100")}
            # A view or a virtual table runs whatever its author wrote: nothing is read from tables that are not ours.
            ours = schema == _schema()
            meta = dict(connection.execute("SELECT name, value FROM meta LIMIT 100")) if ours else {}
    except InputError:
        refuse(f"{path} is not a store of a study; {remedy}")
    if not schema:
        # A kill between the creation of the file and its first transaction.
        return {}
    if not all(isinstance(text, str) for pair in meta.items() for text in pair):
        raise _damaged(path, "what it says of itself is not text")
    if meta.get("format") != FORMAT:
        refuse(f"{path} is not a store of a study: it does not name {FORMAT}; {remedy}")
    if meta.get("version") != __version__:
        refuse(
            f"{path} was written by dalenius {meta.get('version')}, and this is {__version__}; results of two versions "
            f"are not mixed: {remedy}"
        )
    if name is not None and meta.get("study") != name:
        refuse(
            f"{path} holds the study {meta.get('study')!r}, and this is {name!r}; {remedy}, or give the study that name"
        )
    return meta


@cache
def _schema() -> set[tuple[Any, ...]]:
    """What SQLite lists of the tables of a store."""
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.executescript(SCHEMA)
        return {tuple(row) for row in memory.execute("SELECT type, name, sql FROM sqlite_master")}


def _unwritable(path: Path) -> str:
    """Return why nothing can be written beside this file, or nothing: SQLite keeps its log there."""
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"there is no directory {folder}"
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f"nothing can be written in {folder}: {error.strerror}"


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Refuse a second run on one store: it would answer every point once more.

    A lock of the system on a file beside it, which ends with the process, however that ends.
    """
    lock = path.absolute().with_name(f"{path.name}-lock")
    if problem := obstacle(lock):
        refuse(f"store {path}: its lock {lock} cannot be used: {problem}")
    with _told(path), closing(sqlite3.connect(lock, timeout=0.0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA journal_mode=OFF")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            refuse(
                f"store {path}: another run is writing to it; wait until that has ended and give the same command "
                "again, which then answers what is missing"
            )
        try:
            yield
        finally:
            # Elsewhere than here a file that is open cannot be removed: then it stays, empty and without a lock.
            with suppress(OSError):
                lock.unlink()


@contextmanager
def _connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    with _told(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=WAIT[mode], isolation_level=None
        )
    try:
        with _told(path):
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_UNPACKED)
            yield connection
    finally:
        connection.close()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what SQLite says of the file into a sentence."""
    try:
        yield
    except sqlite3.Error as error:
        # SQLite calls a full disk an I/O error where it is its log that does not fit.
        free = shutil.disk_usage(path.absolute().parent).free
        full = f" ({free} bytes are free on its disk: make room)" if free < LEAST_FREE else ""
        refuse(f"store {path}: {error}{full}; points that were finished are kept", error)
