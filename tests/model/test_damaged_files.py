"""Files that are damaged, hostile or not files: one InputError that names them, in seconds."""

import io
import os
import sqlite3
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.errors import InputError
from dalenius.model import files
from dalenius.model.channels.density import Density
from dalenius.studies.gate import read_checks
from dalenius.studies.store import Entry, Store, packed, reading

SECONDS = 5.0  # of the processor, for any file
READERS: dict[str, Callable[[Path], object]] = {
    ".json": dl.load,
    ".mechanism.json": dl.Mechanism.load,
    ".ledger.json": dl.Ledger.load,
    ".certificate.json": dl.Certificate.load,
    ".density.json": lambda path: Density.from_file(path, 0.0, 1.0),
    ".csv": lambda path: dl.Mechanism.from_matrix(path, records=[2, 2]),
    ".tsv": lambda path: dl.Mechanism.from_matrix(path, records=[2, 2]),
    ".txt": lambda path: dl.Mechanism.from_matrix(path, records=[2, 2]),
    ".npy": lambda path: dl.Mechanism.from_matrix(path, records=[2, 2]),
    ".toml": dl.Study.load,
    ".check.toml": read_checks,
    ".db": dl.load,
}
STUDY = """
[study]
name = "one"
[fix]
query = "count(n=2)"
mechanism = "geometric(epsilon=1)"
[vary]
knowledge = [0.1]
"""


def refused(path: Path, read: Callable[[Path], object]) -> str:
    """Assert that a reader refuses a file in time, in a sentence that names it."""
    began = time.process_time()
    with pytest.raises(InputError) as caught:
        read(path)
    assert time.process_time() - began < SECONDS
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("ending", READERS)
@pytest.mark.parametrize("kind", ["a FIFO", "a device", "a directory", "a loop of links", "nothing", "too long"])
def test_only_regular_files_of_limited_size_are_read(kind: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"file{ending}"
    if kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    elif kind == "a directory":
        path.mkdir()
    elif kind == "a loop of links":
        path.symlink_to(path)
    elif kind == "too long":
        with path.open("wb") as file:
            file.truncate(files.MOST_BYTES + 1)  # without a byte on the disk
    refused(path, READERS[ending])


def test_files_of_proc_have_no_size_and_are_read_as_far_as_allowed() -> None:
    assert files.read_bytes(Path("/proc/self/status")).startswith(b"Name:")
    refuses("it is longer than", files.read_bytes, Path("/proc/self/status"), 10)


def npy(header: bytes, content: bytes = b"\0" * 64) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


SHAPES = (b"(True, 2)", b"(4, -1)", b"(10**9, 4)", b"(99999999999999999999, 4)", b"4", b"(4, 2.0)", b"(4,9)")
HEADERS = [b"{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + b", }" for shape in SHAPES]


@pytest.mark.parametrize(
    "header", [*HEADERS, b"(" * 5000, b"{'descr': '|O', 'fortran_order': False, 'shape': (4, 2)}", b"\xff"]
)
def test_the_header_of_an_array_is_not_believed(header: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(npy(header))
    assert "is not a .npy array of numbers" in refused(tmp_path / "a.npy", READERS[".npy"])


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_as_numpy_saved_them(order: Any, tmp_path: Path) -> None:
    matrix = np.array([[0.25, 0.75], [0.5, 0.5], [1, 0], [0, 1]], order=order)
    np.save(tmp_path / "a.npy", matrix)
    assert np.array_equal(dl.Mechanism.from_matrix(tmp_path / "a.npy", records=[2, 2]).matrix(), matrix)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 10**5,
        "a = " + "9" * 5000,
        "[study]\nname = 'a'\n[fix]\nquery = 'count(n=2)'\nseed = 0x" + "f" * 5000 + "\n[vary]\nknowledge = [0.1]",
        "[vary]\nknowledge = [0x" + "f" * 5000 + "]",
        ".".join(["a"] * 10**5) + " = 1",
        "x" * (2**20 + 1),
        "".join(f"[a{i}]\n" for i in range(20_000)),
        "[[check]]\n" * 5000,
        "a = '\ud800'",
    ],
)
@pytest.mark.parametrize("ending", [".toml", ".check.toml"])
def test_toml_that_is_too_deep_too_long_or_too_large_is_refused(text: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    refused(path, READERS[ending])


# Stores.


def made_store(folder: Path) -> Path:
    """Write a study and a store with its one answer."""
    (folder / "a.toml").write_text(STUDY)
    study = dl.Study.load(folder / "a.toml")
    numbers = {
        "lower": 0.1, "upper": 0.2, "unit": "nats", "gap": 0.1, "stopped": "gap", "proved": "both", "upper_by": "x",
        "nodes": 0,
    }  # fmt: skip
    with Store.open(study.store, study.name, STUDY) as opened:
        opened.put([Entry(study.points[0].key, "done", "", numbers, 0.5, packed({"format": "x"}))])
    return study.store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return made_store(tmp_path)


def whole(path: Path) -> None:
    """Read everything in a store."""
    study = dl.load(path)
    assert isinstance(study, dl.Study)
    study.summary()
    study.rows()
    with reading(path) as opened:
        list(opened.certificates())
    study.report(path.with_suffix(".html"))


COLUMNS = "key, status, reason, numbers, seconds, certificate"
ENDLESS = "WITH RECURSIVE c({0}) AS (SELECT {0} FROM (SELECT 1) UNION ALL SELECT {0} FROM c) SELECT {0} FROM c"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE points SET certificate = x'00'",
        "UPDATE points SET certificate = NULL",
        "UPDATE points SET certificate = 'text'",
        "UPDATE points SET numbers = '['",
        "UPDATE points SET numbers = '[]'",
        "UPDATE points SET numbers = '{}'",
        "UPDATE points SET numbers = x'ff'",
        "UPDATE points SET numbers = replace(numbers, '0.1', 'null')",
        "UPDATE points SET numbers = replace(numbers, '0.1', '1e999')",
        "UPDATE points SET numbers = replace(numbers, '\"nats\"', '\"x\"')",
        "UPDATE points SET numbers = replace(numbers, '\"both\"', '[1]')",
        "UPDATE points SET seconds = 'x'",
        "UPDATE points SET seconds = 9e999",
        "UPDATE points SET key = x'00'",
        "UPDATE points SET reason = x'00'",
        "UPDATE meta SET value = x'00' WHERE name = 'toml'",
        "UPDATE meta SET value = char(0) WHERE name = 'folder'",
        "UPDATE meta SET value = '[' WHERE name = 'toml'",
        "DELETE FROM meta",
        "CREATE INDEX more ON points (status)",
        "CREATE TRIGGER t AFTER INSERT ON points BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE v USING fts5(x)",
        "ALTER TABLE points ADD COLUMN more",
        f"DROP TABLE points; CREATE VIEW points AS {ENDLESS.format(COLUMNS)}",
        f"DROP TABLE meta; CREATE VIEW meta AS {ENDLESS.format('name, value')}",
    ],
)
def test_a_damaged_store_is_refused(change: str, store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript("PRAGMA ignore_check_constraints=ON; " + change)
    refused(store, whole)


@pytest.mark.parametrize("blob", [zlib.compress(b"[" * 10**6), zlib.compress(b"\0" * (2**27 + 1), 1), b"x\x9c\0"])
def test_certificates_that_unpack_to_something_else_are_refused(blob: bytes, store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE points SET certificate = ?", (blob,))
    refused(store, whole)


def test_reading_a_store_in_circles_ends(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalenius.studies.store.SECONDS", -1.0)
    monkeypatch.setattr("dalenius.studies.store.STEPS", 1)
    with pytest.raises(InputError):
        whole(store)


@pytest.mark.parametrize("beside", ["-wal", "-journal", "-lock"])
def test_what_stands_beside_a_store_is_a_file_too(beside: str, store: Path) -> None:
    os.mkfifo(f"{store}{beside}")
    with pytest.raises(InputError, match="a FIFO"), Store.open(store, "one", STUDY):
        pass


# Workbooks.

PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
    'PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main'
    '+xml"/></Types>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://'
    'schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" '
    'r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
    'Target="worksheets/sheet1.xml"/></Relationships>',
}
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SHEET = f'<worksheet xmlns="{MAIN}"><sheetData>{{}}</sheetData></worksheet>'


def workbook(rows: str, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, text in {**PARTS, "xl/worksheets/sheet1.xml": SHEET.format(rows)}.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def row(number: int, *cells: tuple[str, float]) -> str:
    return f'<row r="{number}">' + "".join(f'<c r="{place}"><v>{x}</v></c>' for place, x in cells) + "</row>"


GOOD = "".join(row(k, (f"A{k}", 0.5), (f"B{k}", 0.5)) for k in range(1, 5))
FAR = {
    "far to the right": row(1, ("A1", 0.5), ("XFD1", 0.5)) * 600,
    "far below": row(1, ("A1", 0.5)) + row(10**12, ("A1000000000000", 0.5)),
    "huge": " " * (2**26 + 1),
    "not XML": "<row>",
    "entities": "&a;",
}


def read_book(path: Path) -> object:
    pytest.importorskip("openpyxl")
    return dl.Mechanism.from_matrix(path, records=[2, 2])


@pytest.mark.extras
@pytest.mark.parametrize("what", FAR)
def test_workbooks_that_would_not_end_are_refused(what: str, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(workbook(FAR[what]))
    refused(tmp_path / "a.xlsx", read_book)


@pytest.mark.parametrize("text", ['{"edges": 1, "masses": 2}', "[]", '{"edges": [0, 1]}', '{"edges": [0, 1e999]}', "["])
def test_a_damaged_density_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.density.json").write_text(text)
    refused(tmp_path / "a.density.json", READERS[".density.json"])


@pytest.mark.parametrize("cell", ["9" * 400, "9" * 5000, "1e999", "nan", '"', "0x1"])
def test_a_number_that_no_float_holds_is_refused(cell: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"0.5,0.5\n0.5,0.5\n1,{cell}\n0,1\n")
    refused(tmp_path / "a.csv", READERS[".csv"])
