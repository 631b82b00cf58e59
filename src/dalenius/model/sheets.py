"""Tables of numbers as people keep them: commas, semicolons, tabs or blanks, decimal commas, headers, an index column.

A reading is a choice of these. Among the readings that a file allows, the one is taken that gives a table of numbers
with the number of rows asked for. Where none does, or two that differ, the message says what the file looks like, and
the option that decides.
"""

import csv
import io
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model.files import read_bytes
from dalenius.numerics.types import Floats

NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", " ": "blanks", "|": "bars"}
# What may stand in a line that holds nothing.
MARKS = "".join(NAMES)
# Bytes of a workbook when unpacked, which openpyxl reads in some seconds; rows of a sheet, as in Excel.
MOST_UNPACKED = 2**26
MOST_ROWS = 2**20

Label = str | int
# The numbers, the names of the columns where there are any, and those of the rows, of which there may be none.
Sheet = tuple[Floats, list[Label] | None, list[Any]]
# Reads the rows that hold anything from the beginning, each with its line.
Table = Callable[[], Iterable[tuple[int, list[str]]]]


@dataclass(frozen=True)
class Reading:
    """How a file is to be read; None: find out."""

    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    index: bool | None = None

    @classmethod
    def from_user(cls, delimiter: Any = None, decimal: Any = None, header: Any = None, index: Any = None) -> "Reading":
        """Check what was given."""
        for name, sign, known in (("delimiter", delimiter, tuple(NAMES)), ("decimal", decimal, (".", ","))):
            if sign is not None:
                checks.choice(name, sign, known)
        for name, given in (("header", header), ("index", index)):
            if given is not None:
                checks.flag(name, given)
        if delimiter == decimal == ",":
            refuse("delimiter = ',' and decimal = ',' cannot both hold; give the delimiter that stands between numbers")
        return cls(delimiter, decimal, header, index)

    @property
    def words(self) -> str:
        """The reading as options."""
        return f"delimiter={self.delimiter!r}, decimal={self.decimal!r}"


class Unfit(Exception):  # noqa: N818 - no error: another reading may fit
    """A reading does not fit. far: how far it got, so that the nearest reading is named; line: where it failed."""

    def __init__(self, message: str, far: float, line: int | None = None) -> None:
        """What is wrong, in words that follow the number of the line."""
        super().__init__(message)
        self.far, self.line = far, line


def read_sheet(path: Path, rows: int | None, wanted: Reading) -> Sheet:
    """Return the numbers of a text file, its header and index; rows: how many there must be, None for any number."""
    text = _decoded(path)
    if not text.strip(MARKS + "\n"):
        refuse(f"{path} holds no numbers")
    failures: list[tuple[Unfit, Reading]] = []
    # Blanks may stand beside any other delimiter: they are one where nothing else is.
    for blanks in (False, True):
        found: dict[bytes, tuple[Reading, Sheet]] = {}
        for reading in _candidates(text, wanted):
            if (reading.delimiter == " ") is blanks:
                try:
                    sheet = _read(partial(_rows, text, reading.delimiter or ","), rows, reading)
                except Unfit as failure:
                    failures.append((failure, reading))
                else:
                    found.setdefault(sheet[0].tobytes(), (reading, sheet))
        if len(found) == 1:
            return next(iter(found.values()))[1]
        if found:
            ways = " or as ".join(f"{matrix.shape} numbers with {r.words}" for r, (matrix, *_) in found.values())
            refuse(f"{path} can be read as {ways}; give these options (--delimiter, --decimal)")
    # Where every reading fails alike, the file looks like the delimiter that it has most of.
    nearest, reading = max(failures, key=lambda failure: (failure[0].far, text.count(failure[1].delimiter or ",")))
    place = ":" if nearest.line is None else f", line {nearest.line}"
    commas = " and decimal commas" if reading.decimal == "," else ""
    message = (
        f"{path}{place} {nearest}; this looks like {NAMES[reading.delimiter or ',']} between numbers{commas}. "
        "delimiter=, decimal=, header= and index= change that (--delimiter and so on)"
    )
    if nearest.far == 0:
        message = (
            f"{path}: {nearest}. A channel has one row of probabilities per dataset; for a file that lists people, "
            "name a query and a mechanism instead (--query, --mechanism)"
        )
    raise InputError(message)


def _decoded(path: Path) -> str:
    """The text without marks of how it is encoded, each line ended in one way."""
    raw = read_bytes(path)
    wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = raw.decode("utf-16") if wide else raw.decode("utf-8-sig", "replace")
    except UnicodeDecodeError as error:
        refuse(f"{path} is not a text file: {error}", error)
    if "\0" in text:
        refuse(f"{path} is not a text file: it holds null bytes")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Excel writes what stands between cells in a line of its own.
    return re.sub(r"\Asep=.\n", "\n", text)


def _candidates(text: str, wanted: Reading) -> Iterator[Reading]:
    """Every reading that the last line allows: what stands nowhere in it separates nothing."""
    last = text.rstrip(MARKS + "\n").rpartition("\n")[2]
    delimiters = [wanted.delimiter] if wanted.delimiter else [d for d in NAMES if d in last] or [","]
    decimals = [wanted.decimal] if wanted.decimal else [".", ","]
    for delimiter, decimal in product(delimiters, decimals):
        # Without a comma inside cells both decimals are the same reading.
        if delimiter != decimal and (decimal == "." or wanted.decimal or "," in text):
            yield replace(wanted, delimiter=delimiter, decimal=decimal)


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text that hold anything, with the lines in which they end."""
    lines: Iterable[str] = io.StringIO(text)
    if delimiter == " ":
        lines = (" ".join(line.split()) for line in lines)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        for cells in reader:
            if any(cell.strip(MARKS) for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        message = f"it is not a CSV file: {error}"
        raise Unfit(message, 0.0) from error


def _read(table: Table, rows: int | None, reading: Reading) -> Sheet:
    """The numbers and the names of their columns and rows, where this reading fits."""
    firsts = [cells[0] for _, cells in table()]
    if not firsts:
        message = "it holds no numbers"
        raise Unfit(message, 0.0)
    head = next(iter(table()))[1]
    header = _has_header(head, len(firsts), rows, reading)
    sample = next(islice(table(), header, None), (0, [""]))[1]
    index = _has_index(firsts[header:], head if header else None, sample, reading)
    width = len(sample) - index
    numbers, plain = array("d"), reading.decimal == "."
    for line, cells in islice(table(), header, None):
        if len(cells) != width + index:
            message = f"has {len(cells)} columns where others have {width + index}"
            raise Unfit(message, 2.0, line)
        try:
            numbers.extend(map(float, cells[index:] if plain else [_point(cell, reading) for cell in cells[index:]]))
        except ValueError:
            column = next(j for j in range(index, len(cells)) if not _is_number(cells[j], reading))
            empty = "the cell is empty; fill it or drop the row"
            what = f"{cells[column]!r} is not a number" if cells[column].strip() else empty
            message = f"column {column + 1}: {what}"
            raise Unfit(message, 1.0 + (column + 1) / (width + 1), line) from None
    matrix = np.array(numbers).reshape(-1, width)
    return matrix, _names(head, width, index=index) if header else None, list(map(_named, firsts[header:])) * index


def _has_header(head: list[str], lines: int, rows: int | None, reading: Reading) -> bool:
    """Whether the first line names the columns: there is one line too many, or a name stands in it."""
    texts = [cell for cell in head if cell.strip() and not _is_number(cell, reading)]
    header = reading.header
    if rows is None:
        # The first cell may be the name of a row.
        return any(cell in texts for cell in head[1:] or head) if header is None else header
    # A line of names is none of the rows, however many were asked for.
    named = texts == [cell for cell in head if cell.strip()] and any(cell[0].isalpha() for cell in texts)
    names = named or (len(head) > 1 and not head[0].strip())
    data = _is_law(head, reading) or len(set(head)) < len(head)  # numbers that name columns are different
    header = names or (lines == rows + 1 and not data) if header is None else header
    if lines - header == rows:
        return header
    found = lines - (header or (bool(texts) and not data))
    what = f"it has {found} {'row' if found == 1 else 'rows'}{' below a header' if found < lines else ''}"
    bits = found.bit_length() - 1
    fitting = f" ({bits} {'record' if bits == 1 else 'records'} of 2 values would have {2**bits})"
    fitting = fitting if found == 2**bits > 1 else ""
    message = f"{what} where the records have {rows} datasets{fitting}; check records= (--records)"
    raise Unfit(message, 0.0)


def _is_law(cells: list[str], reading: Reading) -> bool:
    """Whether these are probabilities that sum to one, or nearly, and not all whole numbers, which may be names.

    The first of them may name a row.
    """
    for part in (cells, cells[1:]):
        found = [float(_point(cell, reading)) for cell in part if _is_number(cell, reading)]
        if len(found) == len(part) and any(p % 1 for p in found) and abs(sum(found) - 1) <= checks.NEARLY:
            return True
    return False


def _names(head: list[str], width: int, *, index: bool) -> list[Label]:
    """The names of the columns, as whole numbers where all of them are."""
    if len(head) not in (width, width + index):
        message = f"has {len(head)} names for {width} columns of numbers"
        raise Unfit(message, 1.0, 1)
    labels = [_named(cell) for cell in head[-width:]]
    whole = all(re.fullmatch(r"-?\d{1,15}", label) for label in labels)
    return [int(label) if whole else label for label in labels]


def _named(cell: str) -> str:
    """The name in a cell, in one line."""
    return cell.replace("\n", " ").strip()


def _has_index(firsts: list[str], head: list[str] | None, sample: list[str], reading: Reading) -> bool:
    """Whether the first column names the rows: nothing stands above it, or its cells are texts."""
    if reading.index is not None or len(sample) == 1:
        return bool(reading.index)
    # R leaves the name of the index out.
    if head is not None and (len(head) == len(sample) - 1 or (len(head) == len(sample) and not head[0].strip())):
        return True
    return not any(_is_number(cell, reading) for cell in firsts)


def _point(cell: str, reading: Reading) -> str:
    """The cell with a decimal point; one that has a point where commas are decimal is not a number."""
    return cell.replace(".", "x").replace(",", ".") if reading.decimal == "," else cell


def _is_number(cell: str, reading: Reading) -> bool:
    return checks.is_number(_point(cell, reading))


def read_excel(path: Path, rows: int | None, wanted: Reading) -> Sheet:
    """Return the numbers of the first sheet of a workbook, its header and index."""
    try:
        import openpyxl
    except ImportError:
        refuse(f"{path}: workbooks need openpyxl; install dalenius[excel], or save the sheet as .csv")
    raw = read_bytes(path)
    try:
        _check_archive(raw)
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        texts = list(_filled_rows(book.worksheets[0]))
    except Exception as error:  # whatever makes zipfile, zlib, expat or openpyxl stumble
        message = f"{path} is not a workbook that can be read: {str(error) or type(error).__name__}"
        raise InputError(message) from error
    if not texts:
        refuse(f"{path} holds no numbers")
    try:
        return _read(lambda: enumerate(texts, 1), rows, replace(wanted, delimiter=",", decimal="."))
    except Unfit as failure:
        refuse(f"{path}, {'' if failure.line is None else f'row {failure.line} '}{failure}")


def _check_archive(raw: bytes) -> None:
    """Refuse a workbook that is small in its file and huge outside: a reader of a part stops at the size stated."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if sum(part.file_size for part in archive.infolist()) > MOST_UNPACKED:
            refuse(f"it takes more than {MOST_UNPACKED >> 20} MiB unpacked; save the sheet as .csv")


def _filled_rows(sheet: Any) -> Iterator[list[str]]:
    """Yield the rows of a sheet that hold anything, as texts.

    Cells between the first one and one far away are present and empty. They count towards the limit, so that reading
    ends.
    """
    # Otherwise every row is filled up to the width that the sheet states.
    sheet.reset_dimensions()
    seen = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        seen += len(row)
        if number > MOST_ROWS or seen > checks.MOST_ENTRIES:
            refuse(f"it has a cell beyond {number} rows and {seen} cells; save the numbers alone as .csv")
        if any(cell is not None for cell in row):
            yield ["" if cell is None else str(cell) for cell in row]


def of_frame(frame: Any) -> Sheet:
    """Return the numbers of a pandas or polars frame, and the names of its columns and rows."""
    try:
        columns = list(frame.columns)
        matrix = np.asarray(frame.to_numpy(), dtype=float)
    except (TypeError, ValueError) as error:
        refuse(
            f"the frame holds a value that is not a number ({error}); give one column of probabilities per output",
            error,
        )
    if np.isnan(matrix).any():
        row, column = (int(k[0]) for k in np.nonzero(np.isnan(matrix)))
        refuse(f"the frame misses the value at row {row}, column {columns[column]!r}; fill it or drop the row")
    plain = [c if isinstance(c, (str, int)) and not isinstance(c, bool) else str(c) for c in columns]
    return matrix, plain, list(getattr(frame, "index", ()))
