"""Functions as scipy has them. A small audit needs none of scipy's parts, each of which takes longer to load than it.

`import scipy` loads none of its parts; naming one does. So what every audit calls is written with numpy here, others
load their part at the first call, and a test keeps `from scipy.part import name` out of the heads of files.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike


def xlogy(x: ArrayLike, y: ArrayLike) -> Any:
    """x log y, with 0 log y = 0."""
    x = np.asarray(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x == 0, 0.0, x * np.log(y))[()]


def entr(x: ArrayLike) -> Any:
    """- x log x, with 0 log 0 = 0."""
    return scipy.special.entr(x)


def rel_entr(x: ArrayLike, y: ArrayLike) -> Any:
    """x log(x / y), with 0 log(0 / y) = 0; infinite where y = 0 < x."""
    return scipy.special.rel_entr(x, y)


def logsumexp(a: ArrayLike, axis: int | None = None, b: ArrayLike = 1.0, *, keepdims: bool = False) -> Any:
    """log sum b exp(a), along an axis."""
    a = np.asarray(a, dtype=float)
    peak = np.max(a, axis=axis, keepdims=True, initial=-np.inf)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        total = np.log(np.sum(b * np.exp(a - peak), axis=axis, keepdims=True)) + peak
    return (total if keepdims else np.squeeze(total, axis=axis))[()]


def gammaln(x: ArrayLike) -> Any:
    """log |Gamma(x)|."""
    return scipy.special.gammaln(x)


def comb(n: ArrayLike, k: ArrayLike) -> Any:
    """Binomial coefficients n over k, in floats."""
    return scipy.special.comb(n, k)


def ndtr(x: ArrayLike) -> Any:
    """P(Z <= x) of a standard normal Z."""
    return scipy.special.ndtr(x)


def log_ndtr(x: ArrayLike) -> Any:
    """log P(Z <= x) of a standard normal Z."""
    return scipy.special.log_ndtr(x)


def k1(x: float, points: int = 4096) -> float:
    """The modified Bessel function K of order 1, the integral of exp( -x cosh t ) cosh t over t > 0.

    It falls so steeply that sums at equal steps are exact but for rounding.
    """
    t, step = np.linspace(0.0, math.acosh(1 + 750 / x), points, retstep=True)  # exp(-750) is 0
    terms = np.exp(-x * np.cosh(t)) * np.cosh(t)
    return float(step * (terms.sum() - terms[0] / 2))


def minimize(function: Callable[..., Any], start: ArrayLike, **options: Any) -> Any:
    """Minimise a function of several numbers; options and result as scipy's."""
    return scipy.optimize.minimize(function, start, **options)


def linprog(cost: ArrayLike, **options: Any) -> Any:
    """Solve a linear program; options and result as scipy's."""
    return scipy.optimize.linprog(cost, **options)


def brentq(function: Callable[[float], float], low: float, high: float, **options: Any) -> Any:
    """A root of a function between two points where its signs differ; options and result as scipy's."""
    return scipy.optimize.brentq(function, low, high, **options)


def dpotrf(matrix: ArrayLike, **options: Any) -> Any:
    """Factorise a positive definite matrix; returns (Cholesky factor, LAPACK's info)."""
    return scipy.linalg.lapack.dpotrf(matrix, **options)


def dgetrf(matrix: ArrayLike, **options: Any) -> Any:
    """Factorise a square matrix; returns (factors, pivots, LAPACK's info)."""
    return scipy.linalg.lapack.dgetrf(matrix, **options)


def dgetrs(factors: ArrayLike, pivots: ArrayLike, right: ArrayLike, **options: Any) -> Any:
    """Solve a square system, or its transpose, by its factors; returns (solution, LAPACK's info)."""
    return scipy.linalg.lapack.dgetrs(factors, pivots, right, **options)


def dpotrs(factor: ArrayLike, right: ArrayLike) -> Any:
    """Solve a positive definite system by its Cholesky factor; returns (solution, LAPACK's info)."""
    return scipy.linalg.lapack.dpotrs(factor, right)
