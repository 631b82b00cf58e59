"""Reading and writing channels: text, workbooks, .npy and JSON."""

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.model.files import read_bytes, read_format, read_json
from dalenius.model.statistic import Blocks, Histogram, Sum, Table
from dalenius.numerics.types import Floats

if TYPE_CHECKING:
    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.query import Query

# What numbers are read from.
TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".npy", ".json")
FORMAT = "dalenius/mechanism"
VERSION = 1


def read_matrix(
    path: Path, rows: int | None = None, **reading: object
) -> tuple[Any, Sequence[str | int] | None, Sequence[Any]]:
    """Return the numbers of a file, the labels of its header if it has one, and those of its rows, which may be none.

    rows: how many there must be; None for any number. reading: delimiter, decimal, header, index of a text file or of a
    workbook, where the file itself does not say.
    """
    from dalenius.model.sheets import Reading, read_excel, read_sheet

    wanted = Reading.from_user(**reading)
    if path.suffix == ".npy":
        return _read_npy(path), None, ()
    if path.suffix == ".json":
        matrix = read_json(path)
        if not isinstance(matrix, list):
            refuse(f"{path} holds no list of rows; a saved mechanism is read by Mechanism.load (--load)")
        return matrix, None, ()
    if path.suffix in (".csv", ".tsv", ".txt"):
        return read_sheet(path, rows, wanted)
    if path.suffix == ".xlsx":
        return read_excel(path, rows, wanted)
    refuse(f"{path} has suffix {path.suffix!r}; a channel is read from {', '.join(TABLES)}")


def _read_npy(path: Path) -> NDArray[Any]:
    """Return the array of a .npy file. Its header, a Python text, may claim anything: the bytes after it decide."""
    raw = read_bytes(path)
    file = io.BytesIO(raw)
    try:
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(file)]
        shape, by_columns, kind = read_header(file)
    except Exception as error:  # a damaged header makes its parser raise almost anything
        message = f"{path} is not a .npy array of numbers: its header cannot be read ({type(error).__name__})"
        raise InputError(message) from error
    problem = ""
    if kind.kind not in "biuf":
        problem = f"its entries are {kind}"
    elif not all(type(length) is int and 0 <= length <= len(raw) for length in shape):
        problem = f"its shape is {show(shape)}"
    elif math.prod(shape) * kind.itemsize > len(raw) - file.tell():
        problem = f"it ends before the {math.prod(shape)} entries that its header announces"
    if problem:
        refuse(f"{path} is not a .npy array of numbers: {problem}")
    entries = np.frombuffer(raw, kind, math.prod(shape), file.tell())
    return entries.reshape(shape, order="F" if by_columns else "C")


def csv_text(matrix: Floats, labels: Sequence[object]) -> str:
    """Return the matrix as CSV; labels stand in a header unless one would pass for a number."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if not any(checks.is_number(str(label)) for label in labels):
        writer.writerow(labels)
    writer.writerows(matrix.tolist())
    return file.getvalue()


def npy_bytes(matrix: Floats) -> bytes:
    """Return the matrix as the content of a .npy file."""
    file = io.BytesIO()
    np.save(file, matrix, allow_pickle=False)
    return file.getvalue()


def mechanism_text(mechanism: "Mechanism") -> str:
    """Return the JSON of a mechanism: its description, its labels, and its rows as a check.

    Rows that are never written out are left out here, and the labels with them.
    """
    content = {"format": FORMAT, "version": VERSION, **mechanism.describe()}
    return json.dumps(content | mechanism.stored()) + "\n"


def load_mechanism(path: Path) -> "Mechanism":
    """Rebuild a mechanism from its JSON; anything malformed is an InputError that names the problem."""
    content = read_format(path, "a mechanism file", FORMAT, VERSION)
    try:
        return mechanism_from(content)
    except InputError as error:
        refuse(f"{path}: {error}", error)


def mechanism_from(content: dict[str, Any]) -> "Mechanism":
    """Return the mechanism of parsed JSON, as `mechanism_text` wrote it."""
    kind = next((key for key in READERS if key in content), None)
    return _written(content) if kind is None else READERS[kind](content)


def _joint(content: dict[str, Any]) -> "Mechanism":
    from dalenius.model.channels.joint import Adaptive, Joint
    from dalenius.model.gallery.parse import parse_mechanism

    query = _query(content)
    parts = tuple(parse_mechanism(text, query) for text in _texts(content, "releases"))
    if "then" in content:
        named = [
            (checks.whole("a number of outputs", many, 1), str(name)) for many, name in _field(content, "then", list)
        ]
        adaptive = Adaptive.choosing(parts[0], [(many, parse_mechanism(name, query)) for many, name in named])
        return adaptive or refuse("its releases are not of one sum with a choice for every output of the first")
    joint = Joint.of(parts)
    return joint or refuse("its releases are not of one sum with noise of one kind, two or more of them")


def _named(content: dict[str, Any], largest: float = 1e-9) -> "Mechanism":
    """A mechanism by its call string; rows beside it are a check, within `largest`."""
    from dalenius.model.channels.written import Written
    from dalenius.model.gallery.parse import parse_mechanism

    mechanism = parse_mechanism(_field(content, "mechanism", str), query := _query(content))
    if "rows" in content:
        expected = mechanism.written()
        stored = Written(expected.statistic, _field(content, "rows", list), _labels(content), query).rows
        if stored.shape != expected.rows.shape or np.abs(stored - expected.rows).max() > largest:
            refuse(f"the rows stored are not those of {mechanism.name} of {query}; the file was altered")
    return mechanism


def _written(content: dict[str, Any]) -> "Mechanism":
    """A mechanism by its rows."""
    from dalenius.model.channels.written import Written, of_matrix, of_rows

    own = _query(content) if "query" in content else None
    rows, labels = _field(content, "rows", list), _labels(content)
    if "blocks" in content:
        if own is None or not isinstance(own.statistic, Sum):
            refuse("blocks are of the answers of a count or a total, which the file must name")
        return Written(Blocks(own.statistic, _field(content, "blocks", list)), rows, labels, own)
    if own is not None and "statistic" not in content:
        return of_rows(own, rows, labels)
    if "statistic" not in content and content.get("classes") is None:
        return of_matrix(rows, _field(content, "records", list), labels)
    statistic = _histogram(content, own.records if own else None) if "statistic" in content else _table(content)
    return Written(statistic, rows, labels, own)


def query_content(query: "Query") -> str | dict[str, Any]:
    """A named query by its call string, a function by its answers."""
    if query.named:
        return str(query)
    return {
        "records": list(query.records),
        "classes": query.statistic.class_table().tolist(),
        "answers": list(map(_json, query.answers)),
        "outputs": list(map(_json, query.outputs)),
        "sensitivity": query.sensitivity,
    }


def _json(answer: object) -> object:
    """A number, a text, or a list of them; anything else by its words."""
    plain = answer.item() if isinstance(answer, np.generic) else answer
    if isinstance(plain, tuple):
        return list(map(_json, plain))
    return plain if isinstance(plain, (int, float, str)) else str(plain)


def query_from(content: str | dict[str, Any]) -> "Query":
    """Rebuild a query: by its call, or a function by its answers."""
    from dalenius.model.gallery.parse import parse_query
    from dalenius.model.query import Query

    if isinstance(content, str):
        return parse_query(content)
    records, answers, classes = checks.alphabets(content["records"]), content["answers"], content["classes"]
    if not checks.all_whole(classes):
        refuse('"classes" of the query must be whole numbers')
    return Query(
        name="function",
        arguments=(("records", records),),
        statistic=Table(records, np.array(classes)),
        answers=np.array(answers, dtype=np.int64) if checks.all_whole(answers) else tuple(map(answer_from, answers)),
        outputs=tuple(map(answer_from, content["outputs"])),
        sensitivity=checks.real("sensitivity", content["sensitivity"], 0.0, math.inf),
        named=False,
    )


def answer_from(answer: object) -> object:
    """Return an answer or an output: a text, a finite number, or a tuple of them."""
    if isinstance(answer, list):
        return tuple(map(answer_from, answer))
    if not isinstance(answer, (int, float, str)) or (isinstance(answer, float) and not math.isfinite(answer)):
        refuse("answers and outputs are texts, finite numbers and lists of them")
    return answer


def _table(content: dict[str, Any]) -> Table:
    classes = content.get("classes")
    if not isinstance(classes, list) or not checks.all_whole(classes):
        refuse('"classes" must be null or a list of whole numbers')
    return Table(_field(content, "records", list), np.array(classes))


def _sampled(content: dict[str, Any]) -> "Mechanism":
    from dalenius.model.channels.sampled import restored

    query = _query(content) if "query" in content else None
    statistic = _table(content) if query is None else query.statistic
    try:
        return restored(_field(content, "samples", dict), query, statistic)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        refuse(f'"samples" are not sound ({type(error).__name__}: {error})', error)


# Kinds of mechanisms, by a key that a description of no other kind has; one with none of these is held by its rows.
READERS: dict[str, Callable[[dict[str, Any]], "Mechanism"]] = {
    "releases": _joint,
    "samples": _sampled,
    "mechanism": _named,
}


def _query(content: dict[str, Any]) -> "Query":
    # Only here does the model know of the gallery below it: files name what the gallery builds.
    from dalenius.model.gallery.parse import parse_query

    return parse_query(_field(content, "query", str))


def _histogram(content: dict[str, Any], records: Sequence[int] | None) -> Histogram:
    """Return the count vectors of records of one alphabet, those of the query or those listed."""
    if content["statistic"] != "histogram":
        refuse(f'"statistic" is {content["statistic"]!r}; only "histogram" is known')
    sizes = checks.alphabets(_field(content, "records", list) if records is None else records)
    if len(set(sizes)) > 1:
        refuse(f"count vectors need records of one alphabet size, not {list(sizes)}")
    return Histogram(len(sizes), sizes[0])


def _texts(content: dict[str, Any], key: str) -> list[str]:
    """A list of texts."""
    listed = _field(content, key, list)
    if not all(isinstance(text, str) for text in listed) or not listed:
        refuse(f"{key} must be a list of texts")
    return listed  # type: ignore[no-any-return]


def _field(content: dict[str, Any], key: str, kind: type) -> Any:
    value = content.get(key)
    if not isinstance(value, kind):
        refuse(f'"{key}" is missing' if value is None else f'"{key}" must be a {kind.__name__}')
    return value


def _labels(content: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(map(_label, _field(content, "labels", list)))


def _label(label: object, depth: int = 0, deepest: int = 32) -> object:
    """Return a text, a number, or a list of them, which stands for a tuple: joint releases of joint releases nest."""
    if isinstance(label, list) and label and depth < deepest:
        return tuple(_label(part, depth + 1) for part in label)
    if not isinstance(label, (str, int, float)):
        refuse('"labels" must hold texts, numbers and short lists of them only')
    return label
