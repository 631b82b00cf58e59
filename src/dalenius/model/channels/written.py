"""A mechanism that is written out: one row of probabilities per class of a statistic."""

import json
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius import shown
from dalenius.errors import InputError, refuse, show
from dalenius.model import checks, files, storage
from dalenius.model.channels import neighbours, tables
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Blocks, Histogram, Statistic, Table, classes_in
from dalenius.numerics.types import Floats

# Rows and outputs that a notebook shows.
SHOWN = 8
# Tuples label joint releases.
Label = str | int | float | tuple["Label", ...]


@dataclass(frozen=True, eq=False, repr=False)
class Written(Mechanism):
    """q(y | x) = rows[T(x), y] for a statistic T.

    Rows within 1e-9 of sum one are accepted and divided by their sum; `given` keeps them as they came. whole: the
    mechanism whose structure these rows follow, or of which they show a part; None where rows are all that is known.
    falls_off: whether q(y|x) is by its formula a law of the exponential mechanism, whose score falls with distance.
    """

    statistic: Statistic
    rows: Floats
    labels: tuple[Label, ...]
    query: Query | None = None
    name: str | None = None
    whole: Mechanism | None = None
    falls_off: bool = False
    given: Floats = field(init=False)
    has_rows = True

    def __post_init__(self) -> None:
        if not hasattr(self.statistic, "class_of"):
            refuse(
                f"{self.statistic!r} is not a statistic; build mechanisms by from_matrix, from_rows or dl.mechanisms"
            )
        given = _numbers(self.rows)
        object.__setattr__(self, "labels", _listed(self.labels))
        if given.ndim != 2 or given.shape[1] == 0:  # a matrix
            refuse(f"a channel is a matrix of rows and outputs; got an array of shape {given.shape}")
        if given.shape[0] != self.statistic.size:
            counted = f"{given.shape[0]} rows for {self.statistic.size} classes; give one row per class of the query"
            if isinstance(self.statistic, Table) and self.statistic.finest:
                counted = (
                    f"the matrix has {given.shape[0]} rows, but {self.statistic.size} datasets are described by "
                    f"records {list(self.statistic.records)}; give one row per dataset in lexicographic order"
                )
            raise InputError(counted)
        if len(self.labels) != given.shape[1]:
            refuse(f"{len(self.labels)} labels for {given.shape[1]} outputs; give one per column")
        rows = _normalised(given, self.statistic)
        for array in (given, rows):
            array.flags.writeable = False
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "labels", tuple(map(_label, self.labels)))

    @property
    def rises(self) -> bool:
        """True of the exponential mechanism, and of rows that follow a structure with monotone ratios."""
        own = self.falls_off and self.query is not None and self.query.rises
        return own or (self.whole is not None and self.whole.rises)

    @property
    def n_outputs(self) -> int:
        return len(self.labels)

    def written(self) -> "Written":
        return self

    def _drawn(self, x: NDArray[Any], size: int, source: np.random.Generator) -> NDArray[np.int64]:
        row = self.rows[int(self.statistic.class_of(x))]
        return source.choice(row.size, size=size, p=row)

    def _labelled(self, outputs: Any) -> NDArray[np.generic]:
        kinds, picks = {type(label) for label in self.labels}, np.asarray(outputs, dtype=np.int64)
        if len(kinds) > 1 or tuple in kinds:
            return np.fromiter(self.labels, dtype=object, count=len(self.labels))[picks]
        return np.array(self.labels)[picks]

    def dp_epsilon(self) -> float:
        """Return max log( q(y|x) / q(y|x') ) over outputs y and datasets x, x' that differ in one record.

        Infinite where one of them can give an output that the other cannot; computed from `rows`, in
        which a probability too small for a float is zero.
        """
        return neighbours.dp_epsilon(self.statistic, self.rows)

    def dp_delta(self, epsilon: float = 1.0) -> float:
        return neighbours.dp_delta(self.statistic, self.rows, checks.real("epsilon", epsilon, 0.0, math.inf))

    def expected_distortion(self) -> float | None:
        """Return E d(f(X), Y) for X uniform.

        Outputs are the query's range, or what the structure of the mechanism makes of it. None without a query, with
        other outputs, and where rows are not known to be at least as fine as answers.
        """
        query = self.query
        if self.whole is not None:
            return self.whole.expected_distortion()
        if query is None or self.labels != query.labels:
            return None
        classes = classes_in(query.statistic, self.statistic)
        if classes is None:
            return None
        return float(np.exp(UNIFORM.log_classes(self.statistic)) @ (self.rows * query.distance()[classes]).sum(axis=1))

    def describe(self) -> dict[str, object]:
        """Return the problem in plain data, as certificates carry it.

        Named mechanisms by their call strings, others by their rows as given, before they are
        divided by their sums: one per class of the query, or per count vector of the records
        (`statistic` histogram), or per run of answers (`blocks`: the first of each), or per class of a table, where
        `classes` null means that every dataset has its own row.
        """
        if self.by_formula:
            return super().describe()
        named = self.query is not None and self.query.named
        about: dict[str, object] = {"query": str(self.query)} if named else {"records": list(self.records)}
        rows = self.given.tolist()
        if named and self.query is not None and self.statistic == self.query.statistic:
            return {**about, "rows": rows}
        if isinstance(self.statistic, Histogram):
            return {**about, "statistic": "histogram", "rows": rows}
        if isinstance(self.statistic, Blocks):
            return {**about, "blocks": list(self.statistic.starts), "rows": rows}
        finest = isinstance(self.statistic, Table) and self.statistic.finest
        classes = None if finest else self.statistic.class_table().tolist()
        return {"records": list(self.records), "classes": classes, "rows": rows}

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        if self.looked_at is not None:  # a part of a release
            return (id(self),)
        if self.by_formula:
            return super()._identity
        about = {name: value for name, value in self.describe().items() if name != "rows"}
        # + 0: a zero has no sign.
        return json.dumps(about, sort_keys=True), self.labels, self.given.shape, (self.given + 0.0).tobytes()

    def stored(self) -> dict[str, object]:
        # Of a named mechanism the rows are a check.
        return {"labels": list(self.labels), "rows": self.given.tolist()}

    def __repr__(self) -> str:
        what = self.name or "channel"
        of = f" of {self.query}" if self.query is not None else ""
        return f"<Mechanism {what}{of}: {self.n} records, {self.rows.shape[0]} rows x {self.rows.shape[1]} outputs>"

    def _repr_html_(self) -> str:
        many = min(SHOWN, self.statistic.size)
        named = zip(tables.row_names(self, many), self.rows[:many, :SHOWN].tolist(), strict=True)
        head = ("", *map(str, self.labels[:SHOWN]))
        return shown.table(head, [(name, *row) for name, row in named], repr(self)[1:-1])


def of_matrix(
    matrix: ArrayLike | str | os.PathLike[str],
    records: Iterable[int],
    labels: Sequence[Label] | None,
    *,
    names: Sequence[str] | None = None,
    normalize: bool = False,
    counts: bool = False,
    **reading: object,
) -> Written:
    """Return the mechanism of a full matrix, of a frame or sparse matrix, or of a file that holds one."""
    statistic = Table.everything(records)
    named = isinstance(matrix, (str, os.PathLike))
    if named:
        content, header, index = storage.read_matrix(files.path_of(matrix), statistic.size, **reading)
    else:
        given = next((name for name, option in reading.items() if option is not None), None)
        if given is not None:
            refuse(f"{given} = {show(reading[given])} is about a file; a matrix or a frame is read as it is")
        content, header, index = _held(matrix)
    try:
        order = row_order(index, statistic.records, names)
        content = content if order is None else np.asarray(content)[order]
        rows = _scaled(_numbers(content), statistic, normalize=normalize, counts=counts)
        if labels is None:
            labels = header or range(rows.shape[1] if rows.ndim > 1 else 0)
        return Written(statistic, rows, _listed(labels))
    except InputError as error:
        if not named:
            raise
        message = f"{os.fspath(matrix)}: {error}{_likely(content)}"  # type: ignore[arg-type]
        raise InputError(message) from error


def row_order(labels: Sequence[Any], records: tuple[int, ...], names: Sequence[str] | None) -> list[int] | None:
    """Return where the row of every dataset stands, by labels that name datasets; None where they name none."""
    message = f"names = {show(names)} must list texts"
    listed = () if names is None else tuple(checks.listed(names, message))
    named = tuple(name for name in listed if isinstance(name, str))
    if len(named) < len(listed):
        refuse(message)
    if len(labels) != math.prod(records):
        return None
    # Values of a single record may be called by numbers.
    called = all(isinstance(label, str) and label in named for label in labels)
    found = (not called and _numbered(labels)) or [_dataset_number(label, records, named) for label in labels]
    if all(place is None for place in found):
        _check_words(labels, records)
        return None
    first = {place: k for k, place in reversed(list(enumerate(found)))}
    bad = next((k for k, place in enumerate(found) if place is None or first[place] != k), None)
    if bad is not None:
        why = "names no dataset" if found[bad] is None else "names a dataset that another row has"
        refuse(
            f"row {bad} is called {show(labels[bad])}, which {why}, while other rows name datasets; name each once, "
            "such as 0,1, say how values are called by names=, or leave the labels out"
        )
    return sorted(range(len(found)), key=lambda k: cast("int", found[k]))


def _numbered(labels: Sequence[Any]) -> list[int | None]:
    """The number of every dataset where rows are numbered, from 0 or, as R does, from 1; else nothing."""
    places = {str(k): k for k in range(len(labels) + 1)}
    # Programs that know floats alone write 1.0 for 1.
    found = [places.get(str(label).removesuffix(".0"), -1) for label in labels]
    least = min(found)
    counted = least >= 0 and len(set(found)) == len(found) == max(found) - least + 1
    return [k - least for k in found] if counted else []


def _check_words(labels: Sequence[Any], records: tuple[int, ...]) -> None:
    """Refuse rows called by a word for every record that nothing explains, in an order that cannot be that of datasets.

    In the order of datasets such labels are sorted by the word of the first record, then by that of the second; which
    word comes first is not known, so that they are compared with the order in which words first appear.
    """
    split = [_words(label, len(records)) for label in labels]
    if any(len(words) != len(records) for words in split) or len(set(split)) < len(split):
        return
    called = [tuple(dict.fromkeys(column)) for column in zip(*split, strict=True)]
    if tuple(map(len, called)) != records:
        return
    # Records that take the same words take them in one order.
    orders = {frozenset(words): words for words in reversed(called)}
    expected = list(product(*(orders[frozenset(words)] for words in called)))
    bad = next((k for k, words in enumerate(split) if words != expected[k]), None)
    if bad is not None:
        named = f"say in Python how the values are called by names=, such as {list(called[0])}, or "
        named = named if len(orders) == 1 else ""
        refuse(
            f"row {bad} is called {show(labels[bad])}, where rows in the order of datasets, the last record fastest, "
            f"would have {show(' '.join(expected[bad]))}; {named}put the rows into that order"
        )


def _words(label: Any, many: int) -> tuple[str, ...]:
    """The words of a label, one for each record, if it has as many."""
    if isinstance(label, tuple):
        return tuple(map(str, label))
    text = str(label).strip()
    parts = (tuple(part.strip() for part in re.split(mark, text)) for mark in (",", ";", r"[/|+]", r"\s+", "[-_]"))
    return next((found for found in parts if len(found) == many), tuple(text))


def _dataset_number(label: Any, records: tuple[int, ...], names: tuple[str, ...]) -> int | None:
    """The number of the dataset that a label names: itself, a tuple of values, or a text of them."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, int) and not isinstance(plain, bool):
        return plain if 0 <= plain < math.prod(records) else None
    if isinstance(plain, str):
        plain = _words(plain, len(records))
    if not isinstance(plain, tuple) or len(plain) != len(records):
        return None
    number = 0
    for value, k in zip(map(str, plain), records, strict=True):
        place = names.index(value) if value in names else int(value) if value.isdecimal() and len(value) < 10 else k
        if place >= k:
            return None
        number = number * k + place
    return number


def _held(matrix: Any) -> tuple[Any, Sequence[str | int] | None, Sequence[Any]]:
    """The numbers of a matrix, a frame or a sparse matrix, and the names of a frame's columns and rows."""
    if hasattr(matrix, "collect") and hasattr(matrix, "collect_schema"):
        refuse("a lazy frame holds no numbers yet; collect it first: matrix.collect()")
    if hasattr(matrix, "columns") and hasattr(matrix, "to_numpy"):
        from dalenius.model.sheets import of_frame

        return of_frame(matrix)
    if hasattr(matrix, "tocsr") and hasattr(matrix, "toarray"):
        checks.entries(matrix.shape[0], matrix.shape[1], "the matrix")
        return matrix.toarray(), None, ()
    return matrix, None, ()


def _likely(content: object) -> str:
    """What the numbers of a file may be where they are not a channel, and the option that reads them so."""
    try:
        numbers = _numbers(content)  # type: ignore[arg-type]
    except InputError:
        numbers = np.empty(0)
    if numbers.ndim != 2 or not len(numbers) or numbers.shape[1] < 2 or _law(numbers):  # no matrix, or a sound one
        return ""
    if _law(numbers[:, 1:]):
        return ". The first column looks like an index: index=True (--index) leaves it out"
    several = next((j for j in range(2, numbers.shape[1]) if _law(numbers[:, j:])), None)
    if several is not None:
        return (
            f". The first {several} columns look like an index: write the file without them, as by to_csv(index=False)"
        )
    if (numbers == np.rint(numbers)).all() and (numbers >= 0).all():
        halves = numbers.shape[1] % 2 == 0 and (numbers[:, ::2] <= 1).all()
        decimal = ", or decimal commas between commas, which no option can distinguish" if halves else ""
        return f". These look like counts, which counts=True (--counts) takes{decimal}"
    if np.abs(numbers.sum(axis=1) - 1).max() <= checks.NEARLY:
        return ", or give normalize=True (--normalize)"
    return ""


def _law(numbers: Floats) -> bool:
    """Whether every row sums to one."""
    return bool(np.abs(numbers.sum(axis=1) - 1).max() <= checks.SUM_TOLERANCE)


def _scaled(rows: Floats, statistic: Statistic, *, normalize: bool, counts: bool) -> Floats:
    """Rows divided by their sums where that was asked for: rows of counts, or rows that miss one by little."""
    if not (checks.flag("normalize", normalize) | checks.flag("counts", counts)) or rows.ndim != 2:  # a matrix
        return rows
    sums = rows.sum(axis=1)
    if counts:
        bad = ~((rows >= 0).all(axis=1) & (sums > 0) & np.isfinite(sums) & (rows == np.rint(rows)).all(axis=1))
        what = "counts are whole numbers, not negative and not all zero"
    else:
        bad = ~(np.abs(sums - 1) <= checks.NEARLY)
        near = f"normalize takes rows within {checks.NEARLY:.0%} of a sum of one"
        what = f"{near}; counts=True (--counts) takes rows of counts"
    if bad.any():
        row = int(np.argmax(bad))
        name = statistic.class_name(row) if row < statistic.size else "beyond the last dataset"
        refuse(f"row {row} ({name}) sums to {sums[row]:.12g}; {what}")
    return np.asarray(rows / sums[:, None])


def processed(mechanism: Mechanism, post: object) -> Written:
    """Return a mechanism whose output is processed by a matrix or by a function of its label."""
    before = mechanism.written()
    if callable(post):
        found = [_label(checks.called(post, output, "post")) for output in outputs_of(before)]
        labels: tuple[Label, ...] = tuple(dict.fromkeys(found))
        matrix = (np.array([[y == z for z in labels] for y in found])).astype(float)
    else:
        matrix = _numbers(post)  # type: ignore[arg-type]
        if matrix.ndim != 2 or matrix.shape[0] != before.n_outputs:  # a matrix
            refuse(f"post has shape {matrix.shape}; give one row for each of the {before.n_outputs} outputs")
        Written(Table.everything([matrix.shape[0]]), matrix, tuple(range(matrix.shape[1])))
        labels = tuple(range(matrix.shape[1]))
    return Written(before.statistic, before.rows @ matrix, labels, before.query)


def outputs_of(mechanism: Written) -> list[Any]:
    """Return the outputs as the query has them, numbers and tuples of counts, where labels are texts of those."""
    query, labels = mechanism.query, mechanism.labels
    if query is None or (query.names and query.name == "identity"):
        return list(labels)
    if labels == query.labels:
        return list(query.outputs)
    if not query.vector:
        return list(labels)

    def vector(text: str) -> tuple[int | str, ...]:
        """Counts, and words that stand in their place."""
        return tuple(int(y) if y.removeprefix("-").isdecimal() else y for y in text.split(","))

    return [vector(label) if isinstance(label, str) else label for label in labels]


def of_rows(query: Query, rows: ArrayLike, labels: Sequence[Label] | None) -> Written:
    """Return the mechanism with one row per class of a query."""
    if not isinstance(query, Query):
        refuse(f"from_rows needs a Query, not {type(query).__name__}; see dl.queries")
    matrix = _numbers(rows)
    if labels is None:
        columns = matrix.shape[1] if matrix.ndim > 1 else 0
        labels = query.labels if columns == len(query.outputs) else range(columns)
    return Written(query.statistic, matrix, _listed(labels), query)


def _numbers(matrix: ArrayLike) -> Floats:
    """Return a fresh array of floats; texts, ragged rows and complex numbers are refused."""
    return checks.array(matrix, "the channel is not a matrix of numbers; give rows of equal length").astype(float)


def _listed(labels: object) -> tuple[Any, ...]:
    # A text is one letter for each output.
    if isinstance(labels, (str, tuple, list)):
        return tuple(labels)
    return checks.listed(labels, f"labels = {show(labels)} must be a list, one label for each output")


def _label(label: Label) -> Label:
    """Return a label as a text, a number or a tuple of plain Python, so that a file can hold it."""
    if isinstance(label, tuple) and label:
        return tuple(map(_label, label))
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, (str, int, float)) or (isinstance(plain, float) and not math.isfinite(plain)):
        refuse(f"{label!r} cannot label an output; labels are texts and finite numbers, or tuples of them")
    return plain


def _normalised(given: Floats, statistic: Statistic) -> Floats:
    # Long doubles: the exact sums, nearly always rounded right.
    sums = given.sum(axis=1, dtype=np.longdouble).astype(float)
    bad = ~(np.isfinite(given) & (given >= 0))
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        refuse(
            f"row {row} ({statistic.class_name(row)}) holds {given[row, column]} in column {column}; "
            "entries of a channel are finite and not negative"
        )
    off = np.abs(sums - 1) > checks.SUM_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        refuse(
            f"row {row} ({statistic.class_name(row)}) sums to {sums[row]:.12g}; rows of a channel must sum to 1 "
            f"within {checks.SUM_TOLERANCE:g}: give more digits, or divide each row by its sum"
        )
    return np.asarray(given / sums[:, None])
