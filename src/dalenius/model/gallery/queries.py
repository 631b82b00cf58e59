"""The named queries. Each returns a Query; n records, datasets uniform unless stated otherwise."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from numbers import Integral, Real
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InputError, nearest, refuse, show
from dalenius.model import checks
from dalenius.model.channels.real_records import RealQuery, real_query
from dalenius.model.datasets import combined, commas
from dalenius.model.gallery import parameters
from dalenius.model.query import Name, Query, Steps, UnlistedQuery
from dalenius.model.statistic import Histogram, Sum, Table

MOST_WEIGHTED = 2**20  # datasets of a weighted sum, which are listed; as many as a function of the user as secret

Names = Sequence[str] | None


@parameters.documented_query
def modular_sum(n: int, modulus: int, *, names: Names = None) -> Query:
    """f(x) = x_1 + ... + x_n mod modulus, for bits. Its sensitivity is 1 where n < modulus, else modulus - 1.

    Args:
        modulus: what the sum is taken modulo; the range is 0..modulus-1.

    Example:
        >>> dl.queries.modular_sum(n=4, modulus=2).outputs
        (0, 1)
    """
    n, modulus = checks.whole("n", n), checks.whole("modulus", modulus)
    statistic = Sum(n, (0, 1), modulus)
    sensitivity = 1 if n < modulus else modulus - 1
    arguments, called = _called(names, 2, n=n, modulus=modulus)
    answers, outputs = statistic.values.copy(), _integers(0, modulus - 1)
    return Query("modular_sum", arguments, statistic, answers, outputs, sensitivity, names=called)


@parameters.documented_query
def count(n: int, *, names: Names = None) -> Query:
    """f(x) = x_1 + ... + x_n, for bits: how many said yes. It has the range 0..n and sensitivity 1.

    Example:
        >>> dl.queries.count(n=4).outputs
        (0, 1, 2, 3, 4)
    """
    return _summed("count", Sum(checks.whole("n", n), (0, 1)), names, n=int(n))


@parameters.documented_query
def pairs(n: int, *, names: Names = None) -> Query:
    """f(x) = sum over i < j of x_i x_j = t(t-1)/2 for t ones: the number of pairs of ones.

    It has the range 0..n(n-1)/2 and sensitivity n - 1.

    Example:
        >>> dl.queries.pairs(n=3).outputs
        (0, 1, 2, 3)
    """
    statistic = Sum(checks.whole("n", n), (0, 1))
    t = statistic.values
    arguments, called = _called(names, 2, n=int(n))
    outputs = _integers(0, n * (n - 1) // 2)
    return Query("pairs", arguments, statistic, t * (t - 1) // 2, outputs, n - 1, names=called)


@parameters.documented_query
def total(n: int, values: Sequence[int], *, names: Names = None) -> Query:
    """f(x) = v_{x_1} + ... + v_{x_n}: each record takes one of the listed values, which add up.

    The sensitivity is the largest value less the smallest.

    Args:
        values: the integer that each value of a record adds. A number may occur more than once: values that add the
            same are still different values of a record.

    Example:
        >>> dl.queries.total(n=2, values=[0, 5, 10]).sensitivity
        10
    """
    n = checks.whole("n", n)
    listed = checks.integers("values", values)
    return _summed("total", Sum(n, listed), names, n=n, values=listed)


def _summed(name: str, statistic: Sum, names: Names, **given: object) -> Query:
    n, low, high = statistic.n, min(statistic.contributions), max(statistic.contributions)
    arguments, called = _called(names, len(statistic.contributions), **given)
    if not statistic.listed:
        return UnlistedQuery(name, arguments, statistic, high - low, called)
    outputs = _integers(n * low, n * high)
    return Query(name, arguments, statistic, statistic.values.copy(), outputs, high - low, names=called)


@parameters.documented_query
def mean(n: int, low: int, high: int, step: int = 1, *, names: Names = None) -> Query:
    """f(x) = (v_{x_1} + ... + v_{x_n}) / n, for records with the values low, low + step, ..., high.

    Integer noise and rounding are in steps of step/n; epsilon, scale, sigma and sensitivity are in units of the mean.
    So with the same epsilon it leaks what the total of records with the values 0..(high - low)/step leaks.

    Args:
        step: how far neighbouring values are apart; answers are low, low + step/n, ..., high.

    Example:
        >>> len(dl.queries.mean(n=4, low=0, high=10).outputs)
        41
    """
    n, step = checks.whole("n", n), checks.whole("step", step)
    low, high = checks.integer("low", low), checks.integer("high", high)
    if low >= high:
        refuse(f"low = {low} is not below high = {high}; records need two values or more")
    if (high - low) % step:
        refuse(
            f"step = {show(step)} does not divide the range from {low} to {high}; use high = "
            f"{high - (high - low) % step} or another step"
        )
    k = (high - low) // step + 1
    if k > checks.MOST_CLASSES:
        refuse(f"records have {k} values, above the limit of {checks.MOST_CLASSES}; use a larger step")
    statistic = Sum(n, tuple(range(k)))
    added = (("n", n), ("values", statistic.contributions))
    whole = Query("total", added, statistic, statistic.values.copy(), _integers(0, n * (k - 1)), k - 1, named=False)
    given = {"n": n, "low": low, "high": high} | ({"step": step} if step > 1 else {})
    arguments, called = _called(names, k, **given)
    # n low + step x is exact in floats up to 2^53, and division rounds correctly.
    answers, outputs = (
        tuple(((n * low + step * np.asarray(steps, dtype=np.int64)) / n).tolist())
        for steps in (whole.answers, whole.outputs)
    )
    steps = Steps(whole, Fraction(step, n), low)
    return Query("mean", arguments, statistic, answers, outputs, (high - low) / n, names=called, steps=steps)


@parameters.documented_query
def real_sum(n: int, low: float, high: float) -> RealQuery:
    """f(x) = x_1 + ... + x_n, for records that are real numbers from low to high.

    Laplace and Gaussian noise are added as they are: outputs are real numbers, and audits are about the real record.
    The sensitivity is high - low.

    Example:
        >>> dl.queries.real_sum(n=3, low=0, high=100).sensitivity
        100.0
    """
    return real_query("real_sum", n, low, high)


@parameters.documented_query
def real_mean(n: int, low: float, high: float) -> RealQuery:
    """f(x) = (x_1 + ... + x_n) / n, for records that are real numbers from low to high; see `real_sum`.

    Example:
        >>> dl.queries.real_mean(n=4, low=0, high=100).sensitivity
        25.0
    """
    return real_query("real_mean", n, low, high)


@parameters.documented_query
def weighted_sum(weights: Sequence[int], *, names: Names = None) -> Query:
    """f(x) = w_1 x_1 + ... + w_n x_n, for bits with whole-number weights.

    Args:
        weights: one integer per record. Datasets are listed one by one, so at most 20 records.

    Example:
        >>> dl.queries.weighted_sum([2, 1, 1]).outputs
        (0, 1, 2, 3, 4)
    """
    listed = checks.integers("weights", weights)
    records = (2,) * len(listed)
    checks.universe(records, MOST_WEIGHTED)
    sums = combined(np.array([0, w]) for w in listed)
    answers, classes = np.unique(sums, return_inverse=True)
    arguments, called = _called(names, 2, weights=listed)
    outputs, spread = _integers(int(answers[0]), int(answers[-1])), max(map(abs, listed))
    return Query("weighted_sum", arguments, Table(records, classes), answers, outputs, spread, names=called)


@parameters.documented_query
def histogram(n: int, k: int, *, names: Names = None) -> Query:
    """f(x) = how many records equal v, for each v in 0..k-1; the range is the count vectors that sum to n.

    For very many records these are not listed, and only noise on every count separately can be added.

    Args:
        k: number of values of a record.

    Example:
        >>> len(dl.queries.histogram(n=3, k=2).outputs)
        4
    """
    return _counts("histogram", Histogram(n, k), names, n=int(n), k=int(k))


@parameters.documented_query
def table(n: int, shape: Sequence[int], *, names: Names = None) -> Query:
    """f(x) = how many records are in each cell of a contingency table.

    A record is a cell, 0..k-1 with k the product of the shape: its attributes in lexicographic order, the last fastest.
    Datasets may also list a tuple of attributes for every record. secret="0.1" of an audit is attribute 1 of record 0.

    Args:
        shape: number of values of each attribute; answers are those of histogram(n, k).

    Example:
        >>> dl.queries.table(n=3, shape=(2, 3)).records
        (6, 6, 6)
    """
    sizes = checks.integers("shape", shape)
    if min(sizes) < 1:
        refuse(f"shape = {list(sizes)} must list the number of values of each attribute, 1 or more")
    return _counts("table", Histogram(n, math.prod(sizes)), names, n=int(n), shape=sizes)


def _counts(name: str, statistic: Histogram, names: Names, **given: object) -> Query:
    arguments, called = _called(names, statistic.k, **given)
    shape = cast("tuple[int, ...]", given.get("shape", ()))
    if not statistic.listed:
        return UnlistedQuery(name, arguments, statistic, 2, called, shape)
    outputs, answers = tuple(map(tuple, statistic.counts.tolist())), statistic.counts.copy()
    spread = 2 if statistic.k > 1 else 0
    return Query(name, arguments, statistic, answers, outputs, spread, names=called, shape=shape)


@parameters.documented_query
def identity(k: int, *, names: Names = None) -> Query:
    """f(x) = x: one record with values 0..k-1.

    Args:
        k: number of values.

    Example:
        >>> dl.queries.identity(k=3).records
        (3,)
    """
    k = checks.whole("k", k)
    if k > checks.MOST_CLASSES:
        refuse(f"k = {show(k)} is above the limit of {checks.MOST_CLASSES} values")
    statistic = Sum(1, tuple(range(k)))
    arguments, called = _called(names, k, k=k)
    answers, outputs = statistic.values.copy(), _integers(0, k - 1)
    return Query("identity", arguments, statistic, answers, outputs, k - 1, names=called)


def _called(names: Names, many: int, /, **given: object) -> tuple[tuple[tuple[str, object], ...], tuple[str, ...]]:
    """Return the arguments with the names of values, if there are any, and these names, checked."""
    arguments = tuple(given.items())
    if names is None:
        return arguments, ()
    listed = checks.listed(names, f"names = {show(names)} must list what the values of a record are called")
    found = tuple(name for name in listed if isinstance(name, str) and name and name.isprintable())
    if len(found) < len(listed) or len(set(found)) < len(found) or len(found) != many:
        refuse(f"names = {show(list(listed))} must list {many} different texts, one for each value of a record")
    return (*arguments, ("names", found)), found


@parameters.documented_query
def function(records: Sequence[int], f: Callable[[tuple[int, ...]], object], *, names: Names = None) -> Query:
    """f(x) for any Python function. It has no call string, so certificates carry its answers.

    Args:
        records: alphabet size of each record.
        f: called once on every dataset, a tuple of record values. Integer answers range over every integer between the
            least and the greatest; other answers over those that occur.

    Example:
        >>> majority = dl.queries.function([2, 2, 2], lambda x: int(sum(x) >= 2))
        >>> majority.outputs
        (0, 1)
    """
    sizes = checks.alphabets(records)
    checks.universe(sizes)
    if not callable(f):
        refuse(f"f = {show(f)} is not a function of a dataset; it is called with a tuple of the records' values")
    found = [_answer(f, x) for x in product(*map(range, sizes))]
    if names is not None and len(set(sizes)) > 1:
        refuse(f"names are for records that all have the same values; records = {list(sizes)} differ")
    # The function need not pickle: its name stands for it.
    arguments, called = _called(names, sizes[0], records=sizes, f=Name(getattr(f, "__name__", "f")))
    answers: NDArray[Any] | tuple[object, ...]
    if all(isinstance(y, int) for y in found):
        answers, classes = np.unique(np.array(found, dtype=np.int64), return_inverse=True)
        outputs: tuple[object, ...] = _integers(int(answers[0]), int(answers[-1]))
        spread = _sensitivity(np.array(found, dtype=np.int64).reshape(sizes))
    else:
        real = all(isinstance(y, (int, float)) for y in found)
        found = list(map(float, cast("list[float]", found))) if real else found
        answers = outputs = _ordered(set(found))
        rank = {y: j for j, y in enumerate(outputs)}
        classes = np.array([rank[y] for y in found])
        far = _sensitivity(np.array(found if real else classes, dtype=float).reshape(sizes))
        spread = far if real else float(far > 0)
    return Query("function", arguments, Table(sizes, classes), answers, outputs, spread, named=False, names=called)


def _answer(f: Callable[[tuple[int, ...]], object], x: tuple[int, ...]) -> object:
    """The answer as a Python int, float or whatever hashable label it is."""
    try:
        answer = f(x)
    except Exception as error:
        message = (
            f"the function failed at x = {commas(x)}: {type(error).__name__}: {error}; it is called with a tuple of "
            "the records' values"
        )
        raise InputError(message) from error
    if isinstance(answer, np.ndarray) and answer.ndim == 0:
        answer = answer.item()
    if isinstance(answer, (Integral, np.bool_)):
        return int(answer)
    if isinstance(answer, Real):
        if not math.isfinite(answer):
            refuse(f"function returned {answer}; answers must be finite")
        return float(answer)
    try:
        hash(answer)
    except TypeError as error:
        refuse(f"function returned {answer!r}; answers must be numbers, texts or tuples", error)
    return answer


def _integers(low: int, high: int, most: int = 10**7) -> tuple[int, ...]:
    if high - low >= most:
        many = high - low + 1
        refuse(
            f"the answers range over {many} integers, above the limit of {most}; use fewer records or rounder values"
        )
    return tuple(range(low, high + 1))


def _sensitivity(answers: NDArray[np.int64] | NDArray[np.float64]) -> float:
    """max |f(x) - f(x')| over x, x' that differ in one record: the largest spread along an axis."""
    return float(max(np.ptp(answers, axis=i).max() for i in range(answers.ndim)))


def _ordered(labels: set[object]) -> tuple[object, ...]:
    try:
        return tuple(sorted(labels))  # type: ignore[type-var]
    except TypeError:  # mixed kinds
        return tuple(sorted(labels, key=repr))


def __getattr__(name: str) -> NoReturn:
    """Say which query may have been meant."""
    from dalenius.model.gallery.parse import OWN_STATISTICS, QUERIES

    hint = "write it as dl.queries.function(records, f), or as a histogram with then(f)"
    if name not in OWN_STATISTICS:
        hint = nearest(name, (*QUERIES, "function"))
    message = f"there is no query {name!r}; {hint}; `dalenius list` names them all"
    raise AttributeError(message)
