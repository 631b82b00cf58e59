"""A mechanism: a channel q(y|x) from datasets to outputs, and what every one of them can do."""

import html
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import refuse, show
from dalenius.model import checks, datasets, files, storage
from dalenius.model.channels import tables
from dalenius.model.query import Described, Query, set_state
from dalenius.model.statistic import Statistic
from dalenius.numerics.information import mutual_information
from dalenius.numerics.types import Floats

if TYPE_CHECKING:
    from dalenius.model.channels.joint import Joint
    from dalenius.model.channels.noisy_counts import NoisyCounts
    from dalenius.model.channels.noisy_sum import NoisySum
    from dalenius.model.channels.parts import Part
    from dalenius.model.channels.per_record import PerRecord, Symmetric
    from dalenius.model.channels.real import Real
    from dalenius.model.channels.real_records import RealRecords
    from dalenius.model.channels.sampled import Sampled
    from dalenius.model.channels.written import Label, Written


# What other rooms do for a mechanism: they know of mechanisms, and are loaded when they are asked for.
LATER = {"profile": "dalenius.tools.profile", "draws": "dalenius.tools.exact_sampling"}


def later(name: str, *arguments: Any, **options: Any) -> Any:
    """Call the function of this name in the room that has it."""
    return getattr(import_module(LATER[name]), name)(*arguments, **options)


class Mechanism(Described, ABC):
    """A channel q(y | x), which depends on x through a statistic T alone.

    Build one by `from_matrix`, `from_rows`, `from_samples`, `load` or dl.mechanisms. A mechanism with all
    its rows is a `Written`. Noise on very many records, or with real outputs, has no rows: `written` raises InputError
    with the reason.

    Attributes:
        statistic: T, which groups datasets into classes with equal rows.
        query: what is answered; None where there is only a matrix.
        name: the call string, such as "geometric(epsilon=1)"; None where there is none.

    Example:
        >>> mechanism = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
        >>> mechanism.sample([0, 1, 1, 0], size=3, rng=0).tolist()
        [2, 2, 0]
    """

    statistic: Statistic
    query: Query | None
    name: str | None
    # Whether its rows are few enough to be written out; audits, files and pages then go by them.
    has_rows: bool = False
    # The release whose rows these are, or of which this is a part: it describes both.
    whole: "Mechanism | None" = None
    # The value whose noisy count this is, where it is a part of a larger release.
    part: int | None = None
    # The form under which certificates hold it, where a step leads to the channel that is audited; None for rows, and
    # for what its witness shows.
    form: ClassVar[str | None] = None
    # With which confidence upper bounds hold, where only samples are known; None where they hold for certain.
    confidence: float | None = None
    # Limits of the full matrix and of the digits in a table.
    most_entries: ClassVar[int] = 2**24
    most_digits: ClassVar[int] = 50

    __setstate__ = set_state

    @classmethod
    def from_matrix(
        cls,
        matrix: ArrayLike | str | os.PathLike[str],
        records: Iterable[int],
        labels: "Sequence[Label] | None" = None,
        *,
        names: Sequence[str] | None = None,
        normalize: bool = False,
        counts: bool = False,
        delimiter: str | None = None,
        decimal: str | None = None,
        header: bool | None = None,
        index: bool | None = None,
    ) -> "Written":
        """Return the mechanism of a full matrix, or of a file that holds one.

        Args:
            matrix: rows are datasets in lexicographic order (last record fastest), columns are outputs. A matrix of
                numpy or scipy; a frame of pandas or polars, whose columns name the outputs; or a file: .csv, .tsv,
                .txt, .xlsx, .npy, .json. Rows within 1e-9 of sum one are divided by their exact sum.
            records: alphabet size of each record, such as [2, 2, 2].
            labels: names of the outputs.
            names: names of the values of a record, where the index of a frame or file names datasets by them, as
                "no,yes" or "no yes". Rows whose labels name datasets, also as "0,1", (0, 1) or by number, are put into
                their order. Without names, such words are refused where their order is not that of datasets.
            normalize: True to divide rows within 1 % of one by their sum.
            counts: True for rows of counts.
            delimiter: what separates numbers, where a text file can be read in two ways.
            decimal: decimal sign, a point or a comma, where it can be read in two ways.
            header: whether the first line names the outputs.
            index: whether the first column names the rows.

        Returns:
            A Mechanism with these rows.

        Raises:
            InputError: a row does not sum to one, the number of rows is not that of datasets, or a file has two
                readings.

        Example:
            >>> dl.Mechanism.from_matrix([[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.1, 0.9]], records=[2, 2]).n_outputs
            2
        """
        from dalenius.model.channels.written import of_matrix

        reading = {"delimiter": delimiter, "decimal": decimal, "header": header, "index": index}
        return of_matrix(matrix, records, labels, names=names, normalize=normalize, counts=counts, **reading)

    @classmethod
    def from_rows(cls, query: Query, rows: ArrayLike, labels: "Sequence[Label] | None" = None) -> "Written":
        """Return the mechanism that answers a query with one row of probabilities per class.

        Args:
            query: whose statistic the mechanism looks at, and nothing else of the data.
            rows: one row per class, in ascending order of the statistic; columns are outputs.
            labels: names of the outputs.

        Returns:
            A Mechanism.

        Raises:
            InputError: a row does not sum to one, or there is not one row per class.

        Example:
            >>> dl.Mechanism.from_rows(dl.queries.count(n=2), [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]).records
            (2, 2)
        """
        from dalenius.model.channels.written import of_rows

        return of_rows(query, rows, labels)

    @classmethod
    def from_samples(
        cls,
        samples: "Mapping[Any, Any] | Callable[..., Any]",
        query: Query,
        confidence: float = 0.999,
        *,
        draws: int = 100_000,
        outputs: "Sequence[Label] | None" = None,
        seed: int = 0,
    ) -> "Sampled":
        """Return a mechanism that is known by its samples alone: audits bound it from above.

        Guarantee: with a chance of at least `confidence` over the draws, no audit's upper bound is below the truth.
        `lower` is 0 and `proved` is "upper": samples do not show that anything leaks.

        Args:
            samples: a dict from every answer of the query to outputs drawn independently at one dataset with that
                answer; or a function (dataset, size) that draws them, called with one dataset of every class and size
                = draws. All datasets with the same answer must have the same law of outputs; nothing checks that, so
                give a finer query if they have not.
            query: what the mechanism looks at.
            confidence: chance that the upper bounds hold.
            draws: how many outputs a function is to draw at each dataset.
            outputs: those to be counted, listed before anything was drawn; other outputs count as if they revealed the
                answer. By default the query's range; a tenth of the draws, chosen by chance, shows which others there
                are, and these are counted in the rest. Real numbers have to be rounded or put into bins first.
            seed: seed of that choice.

        Returns:
            A Mechanism that can be audited, not sampled.

        Raises:
            InputError: an answer has no samples, or an argument is wrong.

        Example:
            >>> import numpy as np
            >>> coin = lambda dataset, size: (np.random.default_rng(dataset[0]).random(size) < 0.5) ^ bool(dataset[0])
            >>> sampled = dl.Mechanism.from_samples(coin, dl.queries.identity(k=2), draws=2000)
            >>> dl.audit(sampled, knowledge=0.5).proved
            'upper'
        """
        from dalenius.model.channels.sampled import of_samples

        return of_samples(samples, query, confidence=confidence, draws=draws, outputs=outputs, seed=seed)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Mechanism":
        """Read what save wrote as JSON."""
        return storage.load_mechanism(files.path_of(path))

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        # A named mechanism differs from its own matrix.
        return (json.dumps(self.describe(), sort_keys=True),) if self.name is None else (str(self.query), self.name)

    @property
    def records(self) -> tuple[int, ...]:
        """Alphabet size of each record."""
        return self.statistic.records

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.records)

    @property
    def lost(self) -> float:
        """An upper bound on the probability of merged outputs that differ in what they reveal."""
        return 0.0 if self.whole is None else self.whole.lost

    def dataset(self, dataset: ArrayLike) -> NDArray[np.int64]:
        """Return one dataset as whole numbers; names and tuples of attributes become the values that they name."""
        return datasets.one(dataset if self.query is None else self.query.coded(dataset), self.records)  # type: ignore[arg-type]

    @property
    def log_universe(self) -> float:
        """Return log|X|."""
        return self.statistic.log_universe

    @property
    def k(self) -> int:
        """How many values a record has, where all records are alike."""
        return self.records[0]

    @property
    def by_formula(self) -> bool:
        """Whether certificates are about the formula of a named mechanism, not about rows."""
        return self.name is not None and self.query is not None and self.query.named

    @property
    def rises(self) -> bool:
        """Whether, by its formula, likelihood ratios of outputs never fall along the answers."""
        return False

    @property
    def looked_at(self) -> "Part | None":
        """The partition of the datasets by the few records that this part of a release looks at; else None."""
        return None

    # What a mechanism is, for whoever can make use of it: each is None unless it is that.

    @property
    def as_sum(self) -> "NoisySum | None":
        """Integer noise on a sum of a named query."""
        return None if self.whole is None else self.whole.as_sum

    @property
    def as_counts(self) -> "NoisyCounts | None":
        """Integer noise on every count of a named histogram."""
        return None if self.whole is None else self.whole.as_counts

    @property
    def as_records(self) -> "PerRecord | None":
        """A channel that every record goes through by itself."""
        return None if self.whole is None else self.whole.as_records

    @property
    def as_symmetric(self) -> "Symmetric | None":
        """One record through a symmetric channel of two numbers."""
        return None

    @property
    def as_real(self) -> "Real | None":
        """Noise on integer answers whose outputs are real numbers."""
        return None

    @property
    def as_real_records(self) -> "RealRecords | None":
        """Noise on a sum or mean of real-valued records."""
        return None

    @property
    def as_joint(self) -> "Joint | None":
        """Several releases of one sum that are never written out."""
        return None

    @property
    def as_samples(self) -> "Sampled | None":
        """A mechanism that is known by samples alone."""
        return None

    @abstractmethod
    def written(self) -> "Written":
        """Return the mechanism with its rows; raise InputError with the reason if it has none."""

    # What follows from the rows; a mechanism that has a formula, or no rows, overrides it.

    @property
    def n_outputs(self) -> float:
        """The number of outputs; infinite where they are real numbers."""
        return self.written().n_outputs

    def dp_epsilon(self) -> float:
        """Return max log( q(y|x) / q(y|x') ) over outputs y and datasets x, x' that differ in one record."""
        return self.written().dp_epsilon()

    def dp_delta(self, epsilon: float = 1.0) -> float:
        """Return max sum_y max(0, q(y|x) - e^epsilon q(y|x')) over datasets x, x' that differ in one record.

        It is the least delta for which the mechanism is (epsilon, delta)-differentially private.
        """
        return self.written().dp_delta(epsilon)

    def expected_distortion(self) -> float | None:
        """Return E d(f(X), Y) for X uniform; None without a query, or where outputs are not answers to it."""
        return None

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
        x = self.dataset(dataset)
        if checks.flag("secure", secure):
            return self._labelled(self._exact(x, size, rng))
        return self._labelled(self._drawn(x, checks.size(size), datasets.generator(rng)))

    def _drawn(self, x: NDArray[Any], size: int, source: np.random.Generator) -> Any:
        """Draw outputs on a dataset in floats, as this mechanism numbers them."""
        return self.written().sample(x, size, source)

    def _exact(self, x: NDArray[Any], size: int, rng: object) -> Any:
        """Draw outputs on a dataset without any rounding; rng is only there to be refused."""
        return later("draws", self, x, size, rng)

    def _labelled(self, outputs: Any) -> NDArray[np.generic]:
        """Return outputs as the labels that they have."""
        return np.asarray(outputs)

    def joint(self, masses: Floats) -> Floats:
        """Return P(A = a, Y = y) as (A, Y), for masses P(A = a, T(X) = t) as (A, K)."""
        return np.asarray(masses @ self.written().rows)

    def leakage(self, masses: Floats) -> float:
        """Return I(A;Y) in nats, for masses P(A = a, T(X) = t) as (A, K)."""
        return float(mutual_information(self.joint(masses)))

    def log_most_likely(self) -> float:
        """Return the maximal leakage, log sum_y max_x q(y|x)."""
        return math.log(self.written().rows.max(axis=0).sum())

    def describe(self) -> dict[str, object]:
        """Return the problem in plain data, as certificates carry it: a named mechanism by its call strings.

        A part of a release is described by the whole of it: what the part tells, the whole tells.
        """
        return {"query": str(self.query), "mechanism": self.name} if self.whole is None else self.whole.describe()

    def stored(self) -> dict[str, object]:
        """Return what a file carries besides the description; nothing if the name alone describes the mechanism."""
        return {}

    def matrix(self) -> Floats:
        """Return the full matrix, datasets in lexicographic order; raise InputError if it would not fit."""
        written = self.written()
        rows = written.rows
        if self.log_universe + np.log(rows.shape[1]) > np.log(self.most_entries) + 1e-9:
            refuse(
                f"the full matrix has {checks.size_text(self.records)} rows of {rows.shape[1]} outputs, above the "
                f"limit of {self.most_entries} entries; use mechanism.rows, one row per class"
            )
        return np.asarray(rows[written.statistic.class_table()])

    def then(self, post: "ArrayLike | Callable[[Label], Label]") -> "Written":
        """Return this mechanism with its output processed further; that never leaks more.

        post: a matrix with one row per output and one column per new output, or a function of the output: a number, a
        tuple of counts, or the label where outputs are not those of the query.
        """
        from dalenius.model.channels.written import processed

        return processed(self, post)

    def suppress(self, below: int, *, keep_zero: bool = True) -> "Written":
        """Return this mechanism with small numbers published as 'suppressed'; that never leaks more.

        Args:
            below: outputs from 1 to below - 1 become one output, 'suppressed'; of a table every count by itself.
            keep_zero: False to suppress 0 as well.

        Returns:
            A Mechanism; a named one has a name, `suppressed(...)`.

        Raises:
            InputError: below is less than 1, or outputs are not numbers.

        Example:
            >>> dl.mechanisms.exact(dl.queries.count(n=4)).suppress(below=3).labels
            ('suppressed', 0, 3, 4)
        """
        from dalenius.model.gallery.releases import suppressed

        if self.query is None:
            refuse("suppress needs a query that says what the outputs are; use Mechanism.from_rows, or then(...)")
        return suppressed(self.query, below, keep_zero=keep_zero, mechanism=self)

    def profile(
        self,
        entropies: Iterable[float] | None = None,
        *,
        knowledges: Iterable[float] | None = None,
        epsilon: float | None = None,
        unit: str = "nats",
        reference: object = None,
        tolerance: float = 1e-4,
        time_limit: float = 60.0,
        seed: int = 0,
        progress: bool | Callable[[Any], None] = False,
    ) -> Any:
        """Return a `dl.Profile`: the usual measures of this mechanism side by side.

        knowledges: what the adversary may know at each point, in `unit`; by default everything, 3, 1, 0.5, 0.2,
        0.05 and 0 nats, and below 8 records everything, 3/4, 1/2, 1/4, 1/10 and nothing of log|X|.
        entropies: the same as entropies of the prior, log|X| - knowledge; give one of the two.
        reference: what everybody knows, as for dl.audit; knowledge then counts from it, entropies
        raise InputError, and the other records of an independent adversary follow it.
        epsilon: at which dp_delta is taken, by default 1; a natural logarithm whatever the unit.
        `tolerance` and `seed` are those of each audit. `time_limit` is for everything together except the
        comparison of neighbours, which its size limits (some 15 s at most); Ctrl-C returns what there is.
        """
        about = {"knowledges": knowledges, "epsilon": epsilon, "unit": unit, "reference": reference}
        limits = {"tolerance": tolerance, "time_limit": time_limit, "seed": seed, "progress": progress}
        return later("profile", self, entropies, **about, **limits)

    def table(self, digits: int = 4) -> str:
        """Return the rows as text for people: aligned, rounded to this number of decimals, long ones cut.

        0 and 1 stand only where a probability is exactly that.
        """
        decimals = checks.whole("digits", digits)
        if decimals > self.most_digits:
            refuse(f"digits = {show(decimals)} is above the limit of {self.most_digits}")
        return tables.table_text(self.written(), decimals)

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
        return [tables.integer_row(row) for row in self.written().given.tolist()]

    def save_table(self, path: str | os.PathLike[str]) -> None:
        """Write `integer_rows` as CSV, for use by any program; the file appears whole or not at all.

        The header is class, the labels of the outputs, total; every line names a class of datasets,
        and holds its weights and their sum. To answer on a dataset: find the line of its class, draw
        an integer r uniformly from 0..total-1 (any source of random integers will do, such as
        secrets.randbelow(total) in Python), add up the weights from the left, and return the label of
        the first column at which the sum is above r. That is exactly the channel, with no rounding.
        The weights have as many digits as they need: read them as integers of any size, not as floats.
        """
        files.write(files.path_of(path), tables.integer_csv(self.written()).encode())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to .json; or the full matrix to .csv or .npy. The file appears whole or not at all."""
        target = files.path_of(path)
        if target.suffix == ".csv":
            files.write(target, storage.csv_text(self.matrix(), self.written().labels).encode())
        elif target.suffix == ".npy":
            files.write(target, storage.npy_bytes(self.matrix()))
        else:
            files.write(target, storage.mechanism_text(self).encode())

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>"
