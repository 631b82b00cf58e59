"""The named queries. Each returns a Query; n records, datasets uniform unless stated otherwise."""

import math
from collections.abc import Callable, Sequence
from itertools import product
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.datasets import commas
from dalenius.model.query import Name, Query, UnlistedHistogram
from dalenius.model.statistic import Histogram, Sum, Table

Ints = NDArray[np.int64]


def modular_sum(n: int, modulus: int) -> Query:
    """f(x) = x_1 + ... + x_n mod modulus, of bits. Range 0..modulus-1."""
    n, modulus = checks.whole("n", n), checks.whole("modulus", modulus)
    statistic = Sum(n, (0, 1), modulus)
    sensitivity = 1 if n < modulus else modulus - 1
    outputs = _integers(0, modulus - 1)
    return Query(
        "modular_sum", (("n", n), ("modulus", modulus)), statistic, statistic.values.copy(), outputs, sensitivity
    )


def count(n: int) -> Query:
    """f(x) = x_1 + ... + x_n, of bits. Range 0..n."""
    statistic = Sum(checks.whole("n", n), (0, 1))
    return Query("count", (("n", int(n)),), statistic, statistic.values.copy(), _integers(0, n), 1)


def pairs(n: int) -> Query:
    """f(x) = sum over i < j of x_i x_j = t(t-1)/2, t the count of ones. Range 0..n(n-1)/2."""
    statistic = Sum(checks.whole("n", n), (0, 1))
    t = statistic.values
    return Query("pairs", (("n", int(n)),), statistic, t * (t - 1) // 2, _integers(0, n * (n - 1) // 2), n - 1)


def total(n: int, values: Sequence[int]) -> Query:
    """f(x) = v_{x_1} + ... + v_{x_n}: each record takes one of the listed distinct integers."""
    n = checks.whole("n", n)
    listed = checks.integers("values", values)
    if len(set(listed)) < len(listed):
        message = f"values = {list(listed)} repeats a number; list each value once"
        raise InputError(message)
    statistic = Sum(n, listed)
    low, high = min(listed), max(listed)
    outputs = _integers(n * low, n * high)
    return Query("total", (("n", n), ("values", listed)), statistic, statistic.values.copy(), outputs, high - low)


def histogram(n: int, k: int) -> Query:
    """f(x) = how many records equal v, for each v in 0..k-1. Range: count vectors that sum to n.

    Of very many records they are not listed, and only noise on every count by itself can be added.
    """
    statistic = Histogram(n, k)
    if not statistic.listed:
        return UnlistedHistogram(statistic)
    outputs = tuple(map(tuple, statistic.counts.tolist()))
    return Query(
        "histogram", (("n", int(n)), ("k", int(k))), statistic, statistic.counts.copy(), outputs, 2 if k > 1 else 0
    )


def identity(k: int) -> Query:
    """f(x) = x: one record with values 0..k-1."""
    k = checks.whole("k", k)
    if k > checks.MOST_CLASSES:
        message = f"k = {k} is above the limit of {checks.MOST_CLASSES} values"
        raise InputError(message)
    statistic = Sum(1, tuple(range(k)))
    return Query("identity", (("k", k),), statistic, statistic.values.copy(), _integers(0, k - 1), k - 1)


def function(records: Sequence[int], f: Callable[[tuple[int, ...]], object]) -> Query:
    """f(x) of any Python function, called once on every dataset (a tuple of record values).

    Integer answers range over every integer between the least and the greatest; other real answers
    and labels over those that occur.
    """
    sizes = checks.alphabets(records)
    checks.universe(sizes)
    if not callable(f):
        message = f"f = {f!r} is not a function of a dataset; it is called with a tuple of the records' values"
        raise InputError(message)
    found = [_plain(_answer(f, x)) for x in product(*map(range, sizes))]
    arguments = (("records", sizes), ("f", Name(getattr(f, "__name__", "f"))))  # the function need not pickle
    if all(isinstance(y, int) for y in found):
        values = np.array(found, dtype=np.int64)
        distinct, classes = np.unique(values, return_inverse=True)
        outputs = _integers(int(distinct[0]), int(distinct[-1]))
        spread = _sensitivity(values.reshape(sizes))
        return Query("function", arguments, Table(sizes, classes), distinct, outputs, spread, named=False)
    real = all(isinstance(y, (int, float)) for y in found)
    if real:
        found = [_finite(y) for y in found]
    labels = _ordered(set(found))
    rank = {y: j for j, y in enumerate(labels)}
    classes = np.array([rank[y] for y in found])
    if real:
        spread = _sensitivity(np.array(found, dtype=float).reshape(sizes))
    else:
        spread = float(_sensitivity(classes.reshape(sizes)) > 0)
    return Query("function", arguments, Table(sizes, classes), labels, labels, spread, named=False)


def _answer(f: Callable[[tuple[int, ...]], object], x: tuple[int, ...]) -> object:
    try:
        return f(x)
    except Exception as error:
        message = (
            f"the function failed at x = {commas(x)}: {type(error).__name__}: {error}; it is called with a tuple of "
            "the records' values"
        )
        raise InputError(message) from error


def _integers(low: int, high: int, most: int = 10**7) -> tuple[int, ...]:
    if high - low >= most:
        message = (
            f"the answers range over {high - low + 1} integers, above the limit of {most}; "
            "use fewer records or rounder values"
        )
        raise InputError(message)
    return tuple(range(low, high + 1))


def _sensitivity(answers: NDArray[np.int64] | NDArray[np.float64]) -> float:
    """max |f(x) - f(x')| over x, x' that differ in one record: the largest spread along an axis."""
    return float(max(np.ptp(answers, axis=i).max() for i in range(answers.ndim)))


def _plain(answer: object) -> object:
    """An answer as a Python int, float or whatever hashable label it is."""
    if isinstance(answer, np.ndarray) and answer.ndim == 0:
        answer = answer.item()
    if isinstance(answer, (Integral, np.bool_)):
        return int(answer)
    if isinstance(answer, Real):
        return float(answer)
    try:
        hash(answer)
    except TypeError as error:
        message = f"function returned {answer!r}; answers must be numbers, texts or tuples"
        raise InputError(message) from error
    return answer


def _finite(answer: Any) -> float:  # noqa: ANN401 - an int or a float
    if not math.isfinite(answer):
        message = f"function returned {answer}; answers must be finite"
        raise InputError(message)
    return float(answer)


def _ordered(labels: set[object]) -> tuple[object, ...]:
    try:
        return tuple(sorted(labels))  # type: ignore[type-var]
    except TypeError:  # mixed kinds
        return tuple(sorted(labels, key=repr))
