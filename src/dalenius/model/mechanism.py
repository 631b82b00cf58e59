"""A mechanism: the channel q(y|x), one row per class of a statistic."""

import html
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InputError
from dalenius.model import checks, datasets, neighbours, storage, tables
from dalenius.model.pickling import set_state
from dalenius.model.query import Query
from dalenius.model.statistic import Histogram, Statistic, Table

if TYPE_CHECKING:
    from dalenius.results.profile import Profile
    from dalenius.search.deadline import Progress

Floats = NDArray[np.float64]
Label = str | int | float | tuple["Label", ...]  # tuples label joint releases

ROW_TOLERANCE = 1e-9
MOST_MATRIX = 2**24
SHOWN = 8
MOST_DIGITS = 50


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism:
    """q(y | x) = rows[T(x), y] for a statistic T.

    Rows within 1e-9 of sum one are accepted and divided by their sum; `given` keeps them as they came.
    """

    statistic: Statistic
    rows: Floats
    labels: tuple[Label, ...]
    query: Query | None = None
    name: str | None = None
    given: Floats = field(init=False)

    __setstate__ = set_state

    def __post_init__(self) -> None:
        if not hasattr(self.statistic, "class_of"):
            message = f"{self.statistic!r} is no statistic; build mechanisms by from_matrix, from_rows or dl.mechanisms"
            raise InputError(message)
        given = _numbers(self.rows)
        object.__setattr__(self, "labels", _listed(self.labels))
        if given.ndim != 2 or given.shape[1] == 0:  # noqa: PLR2004 - a matrix
            message = f"a channel is a matrix of rows and outputs; got an array of shape {given.shape}"
            raise InputError(message)
        if given.shape[0] != self.statistic.size:
            raise InputError(_misfit(given.shape[0], self.statistic))
        if len(self.labels) != given.shape[1]:
            message = f"{len(self.labels)} labels for {given.shape[1]} outputs; give one per column"
            raise InputError(message)
        rows = _normalised(given, self.statistic)
        for array in (given, rows):
            array.flags.writeable = False
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "labels", tuple(map(_label, self.labels)))

    @classmethod
    def from_matrix(
        cls,
        matrix: ArrayLike | str | os.PathLike[str],
        records: Iterable[int],
        labels: Sequence[Label] | None = None,
    ) -> "Mechanism":
        """Return the mechanism of a full matrix, or of a .csv, .npy or .json file that holds one.

        Rows are datasets in lexicographic order (last record fastest), columns outputs.
        """
        statistic = Table.everything(records)
        header: Sequence[str] | None = None
        content: Any = matrix
        if isinstance(matrix, (str, os.PathLike)):
            content, header = storage.read_matrix(storage.path_of(matrix))
        try:
            rows = _numbers(content)
            if labels is None:
                labels = header or range(rows.shape[1] if rows.ndim > 1 else 0)
            return cls(statistic, rows, _listed(labels))
        except InputError as error:
            if not isinstance(matrix, (str, os.PathLike)):
                raise
            message = f"{os.fspath(matrix)}: {error}"
            raise InputError(message) from error

    @classmethod
    def from_rows(cls, query: Query, rows: ArrayLike, labels: Sequence[Label] | None = None) -> "Mechanism":
        """Return the mechanism that answers a query with one row of probabilities per class."""
        if not isinstance(query, Query):
            message = f"from_rows needs a Query, not {type(query).__name__}; see dl.queries"
            raise InputError(message)
        matrix = _numbers(rows)
        if labels is None:
            columns = matrix.shape[1] if matrix.ndim > 1 else 0
            labels = query.labels if columns == len(query.outputs) else range(columns)
        return cls(query.statistic, matrix, _listed(labels), query)

    @property
    def records(self) -> tuple[int, ...]:
        """Alphabet size of each record."""
        return self.statistic.records

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.records)

    @property
    def log_universe(self) -> float:
        """Return log|X|."""
        return self.statistic.log_universe

    @property
    def by_formula(self) -> bool:
        """Whether certificates are about the formula of a named mechanism, not about rows."""
        return self.name is not None and self.query is not None and self.query.named

    def matrix(self) -> Floats:
        """Return the full matrix, datasets in lexicographic order; refused when it would not fit."""
        width = self.rows.shape[1]
        if self.log_universe + np.log(width) > np.log(MOST_MATRIX) + 1e-9:
            message = (
                f"the full matrix has {checks.size_text(self.records)} rows of {width} outputs, above the "
                f"limit of {MOST_MATRIX} entries; use mechanism.rows, one row per class"
            )
            raise InputError(message)
        return np.asarray(self.rows[self.statistic.class_table()])

    def sample(
        self, dataset: ArrayLike, size: int = 1, rng: np.random.Generator | int | None = None, *, secure: bool = False
    ) -> NDArray[np.generic]:
        """Run the mechanism on a dataset: `size` independent outputs, as labels.

        By default with numpy's generator and in floats, for studies; a seed repeats the draw.

        secure=True is for releases. Random bits come from the operating system, so that rng must be left out.
        Guarantee: given uniform bits, the outputs follow exactly the channel that certificates are about, the
        rows as given divided by their exact sums, or the formula of a named mechanism; no 2^-k is lost to
        rounding. How long a draw takes is not hidden: keep timings from whoever must not learn the answer.
        """
        if checks.flag("secure", secure):
            from dalenius.tools.exact_sampling import columns  # noqa: PLC0415 - the verifier's formulas, and flint

            picks = np.array(columns(self, dataset, size, rng), dtype=np.int64)
        else:
            row = self.rows[int(self.statistic.class_of(datasets.one(dataset, self.records)))]
            picks = datasets.generator(rng).choice(row.size, size=checks.size(size), p=row)
        kinds = {type(label) for label in self.labels}
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
        """Return max sum_y max(0, q(y|x) - e^epsilon q(y|x')) over datasets x, x' that differ in one record.

        It is the least delta for which the mechanism is (epsilon, delta)-differentially private.
        """
        return neighbours.dp_delta(self.statistic, self.rows, checks.real("epsilon", epsilon, 0.0, math.inf))

    def profile(  # noqa: PLR0913 - the public surface
        self,
        entropies: Iterable[float] | None = None,
        *,
        epsilon: float | None = None,
        unit: str = "nats",
        tolerance: float = 1e-4,
        time_limit: float = 60.0,
        seed: int = 0,
        progress: "bool | Callable[[Progress], None]" = False,
    ) -> "Profile":
        """Return the usual measures of this mechanism side by side; see `dalenius.tools.profile.Profile` for each.

        entropies: values of b at which L(b) is bracketed, in `unit`; default 0, 1/4, 1/2, 3/4, 0.9 and 1 of
        log|X|, or all, 3, 1, 0.5, 0.1 and 0 nats less than log|X| where rows are too many to write out.
        epsilon: at which dp_delta is taken, by default 1; a natural logarithm whatever the unit.
        `tolerance` and `seed` are those of each audit. `time_limit` is for everything together, but for the
        comparison of neighbours, which its size limits (some 15 s at most); Ctrl-C returns what there is.
        """
        from dalenius.tools.profile import profile  # noqa: PLC0415 - the solvers, which know of mechanisms

        return profile(
            self,
            entropies,
            epsilon=epsilon,
            unit=unit,
            tolerance=tolerance,
            time_limit=time_limit,
            seed=seed,
            progress=progress,
        )

    def table(self, digits: int = 4) -> str:
        """Return the rows as text for people: aligned, rounded to so many decimals, long ones cut.

        0 and 1 stand only where a probability is exactly that.
        """
        decimals = checks.whole("digits", digits)
        if decimals > MOST_DIGITS:
            message = f"digits = {decimals} is above the limit of {MOST_DIGITS}"
            raise InputError(message)
        return tables.table_text(self, decimals)

    def integer_rows(self) -> list[list[int]]:
        """Return every row as whole numbers exactly proportional to it.

        Each row as given times the least power of two that makes it whole: weights / sum(weights) is
        the row divided by its exact sum, which is the channel that a certificate with rows is about.
        To sample without any rounding, draw r uniformly from 0..sum(weights)-1 and take the first
        output whose cumulative sum of weights is above r; sample(secure=True) does so.

        A named mechanism is certified by its formula, from which its rows differ by rounding (some
        1e-16 of each entry). Where that matters sample(secure=True), which draws from the formula, or
        audit Mechanism.from_rows(query, mechanism.given).
        """
        return [tables.integer_row(row) for row in self.given.tolist()]

    def save_table(self, path: str | os.PathLike[str]) -> None:
        """Write `integer_rows` as CSV, for use by any program; the file appears whole or not at all.

        The header is class, the labels of the outputs, total; every line names a class of datasets,
        and holds its weights and their sum. To answer on a dataset: find the line of its class, draw
        an integer r uniformly from 0..total-1 (any source of random integers will do, such as
        secrets.randbelow(total) in Python), add up the weights from the left, and return the label of
        the first column at which the sum is above r. That is exactly the channel, with no rounding.
        The weights have as many digits as they need: read them as integers of any size, not as floats.
        """
        storage.write(storage.path_of(path), tables.integer_csv(self).encode())

    def describe(self) -> dict[str, object]:
        """Return the problem in plain data, as certificates carry it.

        Named mechanisms by their call strings, others by their rows as given, before they are
        divided by their sums: one per class of the query, or per count vector of the records
        (`statistic` histogram), or per class of a table, where `classes` null means that every
        dataset has its own row.
        """
        named = self.query is not None and self.query.named
        about: dict[str, object] = {"query": str(self.query)} if named else {"records": list(self.records)}
        if self.by_formula:
            return {**about, "mechanism": self.name}
        rows = self.given.tolist()
        if named and self.query is not None and self.statistic == self.query.statistic:
            return {**about, "rows": rows}
        if isinstance(self.statistic, Histogram):
            return {**about, "statistic": "histogram", "rows": rows}
        finest = isinstance(self.statistic, Table) and self.statistic.finest
        classes = None if finest else self.statistic.class_table().tolist()
        return {"records": list(self.records), "classes": classes, "rows": rows}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to .json; or the full matrix to .csv or .npy. The file appears whole or not at all."""
        target = storage.path_of(path)
        if target.suffix == ".csv":
            storage.write(target, storage.csv_text(self.matrix(), self.labels).encode())
        elif target.suffix == ".npy":
            storage.write(target, storage.npy_bytes(self.matrix()))
        else:
            storage.write(target, storage.mechanism_text(self).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Mechanism":
        """Read what save wrote as JSON."""
        return storage.load_mechanism(storage.path_of(path))

    def __repr__(self) -> str:
        what = self.name or "channel"
        of = f" of {self.query}" if self.query is not None else ""
        return f"<Mechanism {what}{of}: {self.n} records, {self.rows.shape[0]} rows x {self.rows.shape[1]} outputs>"

    def _repr_html_(self) -> str:
        names = tables.row_names(self, min(SHOWN, self.statistic.size))
        head = "".join(f"<th>{html.escape(str(label))}</th>" for label in self.labels[:SHOWN])
        body = "".join(
            f"<tr><th>{html.escape(name)}</th>" + "".join(f"<td>{q:.4g}</td>" for q in row) + "</tr>"
            for name, row in zip(names, self.rows[:SHOWN, :SHOWN], strict=True)
        )
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table><tr><th></th>{head}</tr>{body}</table>"


def _numbers(matrix: ArrayLike) -> Floats:
    """Return a fresh array of floats; texts, ragged rows and complex numbers are refused."""
    message = "the channel is not a matrix of numbers; give rows of equal length"
    try:
        array = np.asarray(matrix)
    except ValueError as error:
        raise InputError(message) from error
    if array.dtype.kind not in "biuf":
        raise InputError(message)
    return array.astype(float)


def _listed(labels: object) -> tuple[Any, ...]:
    if isinstance(labels, str):  # one letter for each output
        return tuple(labels)
    return checks.listed(labels, f"labels = {labels!r} must be a list, one label for each output")


def _label(label: Label) -> Label:
    """Return a label as a text, a number or a tuple of plain Python, so that a file can hold it."""
    if isinstance(label, tuple) and label:
        return tuple(map(_label, label))
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, (str, int, float)) or (isinstance(plain, float) and not math.isfinite(plain)):
        message = f"{label!r} cannot label an output; labels are texts and finite numbers, or tuples of them"
        raise InputError(message)
    return plain


def _misfit(rows: int, statistic: Statistic) -> str:
    if isinstance(statistic, Table) and statistic.finest:
        return (
            f"the matrix has {rows} rows, but {statistic.size} datasets are described by records "
            f"{list(statistic.records)}; give one row per dataset in lexicographic order"
        )
    return f"{rows} rows for {statistic.size} classes; give one row per class of the query"


def _normalised(given: Floats, statistic: Statistic) -> Floats:
    sums = given.sum(axis=1, dtype=np.longdouble).astype(float)  # the exact sums, nearly always rounded right
    bad = ~(np.isfinite(given) & (given >= 0))
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        message = (
            f"row {row} ({statistic.class_name(row)}) holds {given[row, column]} in column {column}; "
            "entries of a channel are finite and not negative"
        )
        raise InputError(message)
    off = np.abs(sums - 1) > ROW_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        message = (
            f"row {row} ({statistic.class_name(row)}) sums to {sums[row]:.12g}; rows of a channel must sum to 1 "
            f"within {ROW_TOLERANCE:g}: give more digits, or divide each row by its sum"
        )
        raise InputError(message)
    return np.asarray(given / sums[:, None])
