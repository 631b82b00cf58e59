"""Laws of sums of independent uniform records, in logarithms, never enumerating datasets."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from dalenius.errors import InputError
from dalenius.model.checks import MOST_CLASSES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_DEGREE = 2 * 10**5  # of the exact polynomial power
MOST_BITS = 2**28  # that its coefficients may occupy
MOST_FOLDED = 10**4  # longest plain law that is folded into a modular one
MOST_MODULUS = 5000  # cyclic convolutions cost its square


@lru_cache(maxsize=8)
def sum_law(n: int, contributions: tuple[int, ...], modulus: int | None) -> tuple[Ints, Floats]:
    """Return the attainable values of a sum of n uniform contributions, and log P(value).

    Values ascend; with a modulus they are residues.
    """
    low = min(contributions)
    step = math.gcd(*(c - low for c in contributions)) or 1
    shape = tuple((c - low) // step for c in contributions)
    if modulus is None or n * max(shape) <= MOST_FOLDED:
        grid, log_p = _plain(n, shape)
        values = n * low + step * grid
        if modulus is not None:
            values, log_p = _fold(values, log_p, modulus)
    else:
        values, log_p = _cyclic(n, contributions, modulus)
    values.flags.writeable = log_p.flags.writeable = False
    return values, log_p


def log_binomial(n: int) -> Floats:
    """Return log( C(n,t) 2^-n ) for t = 0..n, to about one rounding error of the result.

    Loader's saddle point form: with d(t) = t log(2t/n) + n/2 - t and delta the error of
    Stirling's formula, delta(n) - delta(t) - delta(n-t) - d(t) - d(n-t) + log(n/(2 pi t (n-t)))/2.
    """
    result = np.full(n + 1, -n * math.log(2))
    t = np.arange(1, n, dtype=float)
    if t.size:
        x = (t - n / 2) / (n / 2)
        near = np.abs(x) < 0.5  # noqa: PLR2004 - where log1p loses nothing
        deviance = t * np.where(near, np.log1p(x), np.log(2 * t / n))
        deviance += (n - t) * np.where(near, np.log1p(-x), np.log(2 * (n - t) / n))
        stirling = _stirling_error(np.array([float(n)])) - _stirling_error(t) - _stirling_error(n - t)
        result[1:n] = stirling - deviance + 0.5 * np.log(n / (2 * math.pi * t * (n - t)))
    return result


def log_multinomial(counts: Ints) -> Floats:
    """Return log( n! / prod_v c_v! ) along the last axis."""
    return np.asarray(gammaln(counts.sum(axis=-1) + 1.0) - gammaln(counts + 1.0).sum(axis=-1))


def _stirling_error(k: Floats) -> Floats:
    """Return log k! - log( sqrt(2 pi k) (k/e)^k ) for k >= 1."""
    small = np.minimum(k, 16.0)
    table = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    u = 1 / (k * k)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - u / 1188) * u) * u) * u) / k
    return np.where(k <= small, table, series)


def _plain(n: int, shape: tuple[int, ...]) -> tuple[Ints, Floats]:
    """Law of a sum of n uniform picks from shape (least 0, gcd 1), on its attainable values."""
    span = max(shape)
    if n * span >= MOST_CLASSES:
        message = (
            f"a sum of n = {n} records spans {n * span + 1} values, above the limit of "
            f"{MOST_CLASSES}; use fewer records or a modular_sum"
        )
        raise InputError(message)
    if sorted(shape) == [0, 1]:
        return np.arange(n + 1), log_binomial(n)
    bits = n * span * max(n, 1) * math.log2(len(shape)) if len(shape) > 1 else 0
    if n * span > MOST_DEGREE or bits > MOST_BITS:
        message = (
            f"a sum of n = {n} records with values spread over {span} steps is too large for exact "
            f"counting (n x spread at most {MOST_DEGREE}); use fewer records, rounder values or a modulus"
        )
        raise InputError(message)
    from flint import fmpz_poly  # noqa: PLC0415 - 50 ms that most sessions never need

    coefficients = [0] * (span + 1)
    for value in shape:
        coefficients[value] += 1
    power = [int(c) for c in (fmpz_poly(coefficients) ** n).coeffs()]
    grid = np.array([t for t, c in enumerate(power) if c], dtype=np.int64)
    logs = np.array([math.log(c) for c in power if c])
    return grid, logs - n * math.log(len(shape))


def _fold(values: Ints, log_p: Floats, modulus: int) -> tuple[Ints, Floats]:
    """Law of a value modulo m: log-sum-exp over each residue."""
    residues = values % modulus
    order = np.argsort(residues, kind="stable")
    distinct, first = np.unique(residues[order], return_index=True)
    return distinct, np.logaddexp.reduceat(log_p[order], first)


def _cyclic(n: int, contributions: tuple[int, ...], modulus: int) -> tuple[Ints, Floats]:
    """Law modulo m by repeated squaring of cyclic convolutions, renormalised at each step."""
    if modulus > MOST_MODULUS:
        message = (
            f"modulus = {modulus} with n = {n} records is too large for exact counting "
            f"(at most {MOST_MODULUS}); use a smaller modulus or fewer records"
        )
        raise InputError(message)
    counts = np.bincount(np.array([c % modulus for c in contributions]), minlength=modulus)
    with np.errstate(divide="ignore"):
        base = np.log(counts / counts.sum())
    power = np.full(modulus, -np.inf)
    power[0] = 0.0
    for bit in f"{n:b}":
        power = _convolve(power, power)
        if bit == "1":
            power = _convolve(power, base)
    values = np.flatnonzero(np.isfinite(power))
    return values, power[values]


def _convolve(f: Floats, g: Floats) -> Floats:
    """Return log sum_j exp( f(j) + g(i - j mod m) ), normalised; in blocks to bound memory."""
    m = f.size
    source = np.flatnonzero(np.isfinite(f))
    block = max(1, 2**20 // m)
    parts = []
    for start in range(0, m, block):
        i = np.arange(start, min(start + block, m))[:, None]
        parts.append(logsumexp(f[source] + g[(i - source) % m], axis=1))
    result = np.concatenate(parts)
    return np.asarray(result - logsumexp(result))
