"""The secret A = secret(X): a record, a group of records, or any function of the dataset.

The values of a group are numbered lexicographically, last record fastest; those of a function in the order in which
they first appear among the datasets, which are in lexicographic order.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.model.datasets import checked, commas, values_of
from dalenius.model.query import Query, set_state
from dalenius.numerics.types import Floats, Ints

MOST_DATASETS = 2**20  # whose values are listed one by one
MOST_VALUES = 2**16


@dataclass(frozen=True)
class Group:
    """Two records or more, ascending: the secret is all their values together."""

    records: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the dataset: its value 0..A-1 at every dataset, and what the values are called."""

    values: Ints
    names: tuple[object, ...]

    __setstate__ = set_state

    def __post_init__(self) -> None:
        self.values.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Attributes(Function):
    """A function of the values of one record or more: attributes of records of a table, or any other.

    values: its value for every combination of the values of these records, in lexicographic order. Datasets are not
    listed, so that there may be any number of other records. words: what it is called itself.
    """

    records: tuple[int, ...]
    words: tuple[str, ...]

    @property
    def whole(self) -> int | Group:
        """All values of these records."""
        return self.records[0] if len(self.records) == 1 else Group(self.records)

    def merged(self, log_joint: Floats) -> Floats:
        """Return log masses by the values of the secret, of those by the values of its records."""
        found = np.full((len(self.names), log_joint.shape[1]), -np.inf)
        np.logaddexp.at(found, self.values, log_joint)
        return found


@dataclass(frozen=True, eq=False)
class Bins(Function):
    """The bin in which a real-valued record lies; edges from low to high. There are no datasets to list."""

    bin_of: int
    edges: tuple[float, ...]

    @classmethod
    def of(cls, record: int, edges: tuple[float, ...]) -> "Bins":
        """Return the secret of edges that were checked."""
        names = tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))
        return cls(np.arange(len(names)), names, record, edges)

    @property
    def words(self) -> str:
        """Return what it is called."""
        return f"the bin of record {self.bin_of}"


Secret = int | Group | Function  # an int is the index of a record


def from_user(  # noqa: PLR0911 - one for each form
    secret: object, records: tuple[int, ...], query: Query | None = None
) -> Secret:
    """Return the secret of an index, a list of indices, a callable or Query, or one value per dataset (an array).

    query: the one that the mechanism answers. Where it is a table, "0.1" is attribute 1 of record 0.
    """
    listed = [secret] if isinstance(secret, str) else list(secret) if isinstance(secret, (list, tuple)) else []
    if any(isinstance(part, str) for part in listed):
        return _attributes(listed, records, query)
    if isinstance(secret, Function):
        about = secret.records if isinstance(secret, Attributes) else range(len(records))[:64]
        fits = about[-1] < len(records) and secret.values.size == math.prod(records[i] for i in about)
        return secret if fits else _of_array(secret.values, records)
    if isinstance(secret, (int, np.integer)):
        return _index(secret, len(records))
    if isinstance(secret, Query):
        return _of_query(secret, records)
    if isinstance(secret, np.ndarray) or type(secret).__module__.startswith("pandas"):
        return _of_array(np.asarray(secret), records)
    if callable(secret):
        return _of_callable(secret, records)
    group = secret.records if isinstance(secret, Group) else secret
    if isinstance(group, Iterable) and not isinstance(group, bytes):
        return _group(tuple(group), records)
    refuse(
        f"secret = {show(secret)} is not a secret; give the index of a record, a list of indices such as [0, 1], of a "
        'table an attribute such as "0.1", a function of the dataset, or a numpy array with one value per dataset'
    )


def members(secret: Secret) -> tuple[int, ...] | None:
    """Return the records whose values are the secret; None for a function of the dataset."""
    if isinstance(secret, Function):
        return None
    return secret.records if isinstance(secret, Group) else (secret,)


def size(secret: Secret, records: tuple[int, ...]) -> int:
    """Return A, the number of values of the secret."""
    if isinstance(secret, Function):
        return len(secret.names)
    return math.prod(records[i] for i in members(secret) or ())


def table(secret: Secret, records: tuple[int, ...]) -> Ints:
    """Return the value of the secret at every dataset, in lexicographic order."""
    if isinstance(secret, Attributes):
        _check_listable(records)
        return np.asarray(secret.values[table(secret.whole, records)])
    if isinstance(secret, Function):
        return secret.values
    value = np.zeros(math.prod(records), dtype=np.int64)
    for i in members(secret) or ():
        value = value * records[i] + values_of(i, records)
    return value


def value(secret: Secret, dataset: ArrayLike, records: tuple[int, ...]) -> int:
    """Return the value of the secret at one dataset."""
    x = checked(dataset, records)
    if isinstance(secret, Attributes):
        return int(secret.values[value(secret.whole, x, records)])
    group = list(members(secret) or range(len(records)))
    place = int(np.ravel_multi_index(tuple(x[group]), tuple(records[i] for i in group)))
    return int(secret.values[place]) if isinstance(secret, Function) else place


def values(secret: Secret, a: int, records: tuple[int, ...]) -> tuple[int, ...]:
    """Return the values of the records of a group when the secret is a."""
    return tuple(int(v) for v in np.unravel_index(a, tuple(records[i] for i in members(secret) or ())))


def name(secret: Secret, shown: int = 6) -> str:
    """Return `record 0`, `records 0 and 1`, `the secret (3 values)`; of a group at most `shown` records."""
    if isinstance(secret, Bins):
        return secret.words
    if isinstance(secret, Attributes):
        return " and ".join(map(_attribute_words, secret.words))
    if isinstance(secret, Function):
        many = len(secret.names)
        return f"the secret ({many} value{'' if many == 1 else 's'})"
    if isinstance(secret, int):
        return f"record {secret}"
    group = secret.records
    if len(group) > shown:
        return f"records {commas(group[: shown - 2])},...,{group[-1]} ({len(group)} of them)"
    return f"records {', '.join(map(str, group[:-1]))} and {group[-1]}"


def describe(secret: Secret) -> dict[str, Any]:
    """Return the secret in plain data, as certificates carry it."""
    if isinstance(secret, Bins):
        return {"kind": "bin", "record": secret.bin_of, "edges": list(secret.edges)}
    if isinstance(secret, Attributes):
        return {"kind": "attributes", "records": list(secret.records), "values": secret.values.tolist()}
    if isinstance(secret, Function):
        return {"kind": "function", "values": secret.values.tolist()}
    return {"kind": "records", "records": list(members(secret) or ())}


def _attributes(listed: list[object], records: tuple[int, ...], query: Query | None) -> Attributes:
    """Return the secret of texts such as "0.1", attribute 1 of record 0 of a table; several are one secret together."""
    shape = () if query is None else query.shape
    if not shape:
        what = "this mechanism has no query" if query is None else f"{query} is not a table"
        refuse(
            f'secret = {listed} is not a secret: texts such as "0.1" name attributes of a table, but {what}; give the '
            "index of a record, or use queries.table"
        )
    pairs = sorted({_attribute(text, len(records), shape) for text in listed})
    if len(pairs) < len(listed):
        refuse(f"secret = {listed} names an attribute twice; name each once")
    group = tuple(sorted({record for record, _ in pairs}))
    _group(group, records)
    # Every attribute of these records, for every combination of their cells, and those asked for.
    every = np.unravel_index(np.arange(math.prod(shape) ** len(group)), shape * len(group))
    asked, sizes = [every[group.index(i) * len(shape) + j] for i, j in pairs], tuple(shape[j] for _, j in pairs)
    names: tuple[object, ...] = tuple(x[0] if len(x) == 1 else x for x in np.ndindex(*sizes))
    words = tuple(f"{i}.{j}" for i, j in pairs)
    return Attributes(np.ravel_multi_index(tuple(asked), sizes), names, group, words)


def _attribute_words(text: str) -> str:
    """Return `attribute 1 of record 0` of "0.1"; other words as they are."""
    record, _, attribute = text.partition(".")
    return f"attribute {attribute} of record {record}" if record.isdecimal() and attribute.isdecimal() else text


def _attribute(text: object, n: int, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return record and attribute of "0.1"."""
    parts = text.split(".") if isinstance(text, str) else []
    if len(parts) != 2 or not all(part.isdecimal() and len(part) < 10 for part in parts):  # as "0.1"
        refuse(f'{text!r} is not an attribute of a record; write "0.1" for attribute 1 of record 0')
    record, attribute = map(int, parts)
    _index(record, n)
    if attribute >= len(shape):
        refuse(
            f"attribute {attribute} of record {record} does not exist; attributes are numbered 0 to {len(shape) - 1}"
        )
    return record, attribute


def _index(index: object, n: int) -> int:
    if isinstance(index, (bool, np.bool_)) or not isinstance(index, (int, np.integer)):
        refuse(f"{show(index)} is not the index of a record; give a whole number from 0 to {n - 1}")
    if not 0 <= index < n:
        refuse(f"record {show(index)} does not exist; records are numbered 0 to {n - 1}")
    return int(index)


def _group(listed: Sequence[object], records: tuple[int, ...]) -> int | Group:
    if not listed:
        refuse("the group of records is empty; list the indices of one record or more, such as [0, 1]")
    if len(listed) > len(records) and len(listed) == math.prod(records[:64]):
        refuse(f"{len(listed)} values look like one per dataset; give them as a numpy array, a list names records")
    group = sorted(_index(i, len(records)) for i in listed)
    twice = next((i for i, j in pairwise(group) if i == j), None)
    if twice is not None:
        refuse(f"record {twice} is listed twice; a group names each of its records once")
    sizes = [records[i] for i in group]
    if checks.log_universe(sizes) > math.log(MOST_VALUES) + 1e-9:
        many = checks.size_text(sizes)
        refuse(f"a group of {len(group)} records has {many} values, above the limit of {MOST_VALUES}; name fewer")
    return Group(tuple(group)) if len(group) > 1 else group[0]


def _of_callable(function: Callable[..., object], records: tuple[int, ...]) -> Function:
    _check_listable(records)
    found = []
    for x in product(*map(range, records)):
        try:
            one, two = function(x), function(x)
            same = bool(one == two) and hash(one) == hash(two)
        except Exception as error:
            message = f"the secret failed at x = {commas(x)}: {type(error).__name__}: {error}; {REMEDY}"
            raise InputError(message) from error
        if not same:
            refuse(f"the secret is not a function of the dataset: at x = {commas(x)} it gave {one!r}, then {two!r}")
        found.append(one)
    return _numbered(found)


REMEDY = "it is called with a tuple of the records' values and returns a number, a text or a tuple of them"


def _of_query(query: Query, records: tuple[int, ...]) -> Function:
    if query.records != records:
        refuse(
            f"{query} is about {len(query.records)} records of other data than the mechanism; a secret is a function "
            "of the same dataset"
        )
    _check_listable(records)
    answers = [tuple(f.tolist()) if isinstance(f, np.ndarray) else f for f in query.answers]
    return _numbered([answers[t] for t in query.statistic.class_table().tolist()])


def _of_array(listed: NDArray[np.generic], records: tuple[int, ...]) -> Function:
    _check_listable(records)
    many = math.prod(records)
    if listed.shape != (many,):
        refuse(
            f"the array of the secret has shape {listed.shape}; give one value for each of the {many} datasets, or a "
            "list such as [0, 1] to name records"
        )
    found = listed.tolist()
    if any(v != v for v in found):  # noqa: PLR0124 - NaN alone differs from itself
        refuse("the array of the secret holds NaN; give every dataset a value of the secret")
    try:
        return _numbered(found)
    except TypeError as error:
        refuse(f"the array of the secret holds something that is not a value: {error}; use numbers or texts", error)


def _check_listable(records: tuple[int, ...]) -> None:
    if checks.log_universe(records) > math.log(MOST_DATASETS) + 1e-9:
        refuse(
            f"a function of the dataset is listed for all {checks.size_text(records)} datasets, above the limit of "
            f"{MOST_DATASETS}; name a group of records instead, such as secret=[0, 1], or use fewer records"
        )


def _numbered(found: Sequence[object]) -> Function:
    number: dict[object, int] = {}
    numbered = np.array([number.setdefault(v, len(number)) for v in found], dtype=np.int64)
    if len(number) > MOST_VALUES:
        refuse(f"the secret has {len(number)} values, above the limit of {MOST_VALUES}; use a coarser one")
    return Function(numbered, tuple(number))
