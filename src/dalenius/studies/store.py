"""The results of a study in one SQLite file: what has ended is on the disk, with its certificate.

The writer is one process, the one that runs the study; a second run is refused while it lasts. Write-ahead logging lets
others read meanwhile; every commit is brought to the disk (synchronous=FULL), since a killed machine may not lose what
was reported as done.
"""

import json
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius import __version__
from dalenius.errors import InputError
from dalenius.model.files import obstacle

FORMAT = "dalenius/study"
# A disk with fewer bytes than these counts as full: SQLite's log takes that much.
LEAST_FREE = 1 << 20
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

    def certificate_data(self) -> Any:  # noqa: ANN401 - JSON
        """The certificate as data; None where the point failed."""
        return None if self.certificate is None else json.loads(zlib.decompress(self.certificate))


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
            message = f"store {path}: {problem}"
            raise InputError(message)
        if problem := _unwritable(path):
            message = f"store {path}: {problem}; {remedy}"
            raise InputError(message)
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
        with _told(self.path):
            rows = self.connection.execute("SELECT key, status, reason, numbers, seconds FROM points").fetchall()
        return {row[0]: Entry(row[0], row[1], row[2], json.loads(row[3]), row[4]) for row in rows}

    def certificates(self) -> Iterator[tuple[str, Any]]:
        """Keys and certificates of all points that are done, one at a time."""
        with _told(self.path):
            query = "SELECT key, certificate FROM points WHERE status = 'done' ORDER BY key"
            for key, blob in self.connection.execute(query):
                yield key, json.loads(zlib.decompress(blob))

    def copy(self) -> bytes:
        """The whole file, with what still stands in its log."""
        with _told(self.path), closing(sqlite3.connect(":memory:")) as memory:
            self.connection.backup(memory)
            return memory.serialize()


def packed(certificate: dict[str, Any]) -> bytes:
    """Return a certificate as the store holds it."""
    return zlib.compress(json.dumps(certificate, allow_nan=False, separators=(",", ":")).encode(), 6)


@contextmanager
def reading(path: Path) -> Iterator[Store]:
    """Open a store to read only."""
    check(path)
    with _connected(path, "ro") as connection:
        yield Store(path, connection)


def check(path: Path, name: str | None = None, remedy: str = ANOTHER) -> dict[str, str]:
    """Return what a store says of itself; refused where it is none, of another version, or of another study."""
    if not path.exists():
        message = f"cannot read {path}: there is no such file"
        raise InputError(message)
    try:
        with _connected(path, "ro") as connection:
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            meta = dict(connection.execute("SELECT name, value FROM meta")) if "meta" in tables else {}
    except InputError:
        message = f"{path} is not a store of a study; {remedy}"
        raise InputError(message) from None
    if not tables:
        # A kill between the creation of the file and its first transaction.
        return {}
    if meta.get("format") != FORMAT:
        message = f"{path} is not a store of a study: it does not name {FORMAT}; {remedy}"
        raise InputError(message)
    if meta.get("version") != __version__:
        message = (
            f"{path} was written by dalenius {meta.get('version')}, and this is {__version__}; results of two versions "
            f"are not mixed: {remedy}"
        )
        raise InputError(message)
    if name is not None and meta.get("study") != name:
        message = (
            f"{path} holds the study {meta.get('study')!r}, and this is {name!r}; {remedy}, or give the study that name"
        )
        raise InputError(message)
    return meta


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
    with _told(path), closing(sqlite3.connect(lock, timeout=0.0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA journal_mode=OFF")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            message = (
                f"store {path}: another run is writing to it; wait until that has ended and give the same command "
                "again, which then answers what is missing"
            )
            raise InputError(message) from None
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
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=30.0, isolation_level=None
        )
    try:
        with _told(path):
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
        message = f"store {path}: {error}{full}; points that were finished are kept"
        raise InputError(message) from error
