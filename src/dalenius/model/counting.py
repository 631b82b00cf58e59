"""Laws of sums of independent records, uniform or not, in logarithms, never enumerating datasets."""

import math
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from dalenius.errors import refuse
from dalenius.model.checks import MOST_CLASSES
from dalenius.numerics.information import gammaln
from dalenius.numerics.types import Floats, Ints

if TYPE_CHECKING:
    from flint import arb_poly

# Probabilities of a record's values, as given: they stand for themselves over their sum; () is the uniform law.
Law = tuple[float, ...]
Parts = tuple[tuple[Law, int], ...]  # different laws, and how many records have each
# Values of a plain law that is folded into a modular one.
SHORT = 10**4


@lru_cache(maxsize=8)
def sum_law(
    parts: Parts, contributions: tuple[int, ...], modulus: int | None, seen: range | None = None
) -> tuple[Ints, Floats]:
    """Return the values that a sum of independent contributions has with probability above 0, and log P(value).

    A contribution is picked with the law of its record: the product of the laws' generating functions. Values ascend;
    with a modulus they are residues. seen: of a sum of bits of one law, the only values that are returned.
    """
    parts = tuple((law or (1.0,) * len(contributions), many) for law, many in parts or (((), 0),))
    certain = [(law, many) for law, many in parts if sum(p > 0 for p in law) == 1]
    if seen is not None and not certain:
        ((law, many),) = parts
        return _seen(many, law, contributions, seen)
    if certain:
        # Records whose value is certain move the sum, and nothing else.
        moved = sum(many * contributions[max(range(len(law)), key=law.__getitem__)] for law, many in certain)
        rest = tuple(part for part in parts if part not in certain)
        found, log_p = sum_law(rest, contributions, modulus) if rest else (np.zeros(1, dtype=np.int64), np.zeros(1))
        values = found + moved
        if modulus is not None:
            values, log_p = _fold(values, log_p, modulus)
        return values, log_p
    n = sum(many for _, many in parts)
    low, step, shape = _steps(contributions)
    if modulus is None or n * max(shape) <= SHORT:
        grid, log_p = _product(parts, shape)
        values = n * low + step * grid
        if modulus is not None:
            values, log_p = _fold(values, log_p, modulus)
    else:
        values, log_p = _cyclic(parts, contributions, modulus)
    values.flags.writeable = log_p.flags.writeable = False
    return values, log_p


def log_law(law: Law) -> Floats:
    """Return the logarithms of a law that is divided by its exact sum."""
    with np.errstate(divide="ignore"):
        return np.log(np.array(law) / math.fsum(law))


def near(n: int, p: float, spreads: float = 18.0) -> range:
    """The values of a sum of n bits, each 1 with this chance, but for some 2^-230 of them; the same from both ends.

    A verifier looks at 19 standard deviations to either side.
    """
    reach = math.ceil(spreads * math.sqrt(n * p * (1 - p))) + 2
    return range(max(0, math.floor(n * p) - reach), min(n, math.ceil(n * p) + reach) + 1)


def _seen(n: int, law: Law, contributions: tuple[int, ...], seen: range) -> tuple[Ints, Floats]:
    """Some values of a sum of n bits of one law, and log P(value)."""
    none, one = (math.fsum(p for c, p in zip(contributions, law, strict=True) if c == v) for v in (0, 1))
    inside = range(max(seen.start, 0), min(seen.stop, n + 1))
    return np.arange(inside.start, inside.stop), log_binomial(n, (none, one), inside)


def log_binomial(n: int, law: Law = (0.5, 0.5), seen: range | None = None) -> Floats:
    """Return log( C(n,t) p^t q^(n-t) ) for t = 0..n and law = (q, p), to about one rounding error of the result.

    seen: the only t that are looked at. Loader's saddle point form [loader00]: with delta the error of Stirling's
    formula and d(t) = t log(t/(np)) + (n-t) log((n-t)/(nq)) it is delta(n) - delta(t) - delta(n-t) - d(t) + log(n/(2 pi
    t (n-t)))/2.
    """
    q, p = (x / math.fsum(law) for x in law)
    seen = range(n + 1) if seen is None else seen
    result = np.full(len(seen), -np.inf)
    for end, mass in ((0, q), (n, p)):
        if end in seen:
            result[end - seen.start] = 0.0 if n == 0 else n * math.log(mass) if mass > 0 else -np.inf
    inner = range(max(seen.start, 1), min(seen.stop, n))
    t = np.arange(inner.start, inner.stop, dtype=float)
    if t.size and p > 0 and q > 0:
        deviance = _deviance(t, n * p) + _deviance(n - t, n * q)
        stirling = _stirling_error(np.array([float(n)])) - _stirling_error(t) - _stirling_error(n - t)
        result[inner.start - seen.start :][: t.size] = (
            stirling - deviance + 0.5 * np.log(n / (2 * math.pi * t * (n - t)))
        )
    return result


def _deviance(t: Floats, mean: float) -> Floats:
    """t log(t / mean)."""
    x = (t - mean) / mean
    near = np.abs(x) < 0.5  # noqa: PLR2004 - where log1p loses nothing
    return np.asarray(t * np.where(near, np.log1p(np.where(near, x, 0.0)), np.log(t / mean)))


def several_runs(size: int, often: int) -> tuple[Ints, Floats]:
    """(Y, often) the outputs of several runs of a release of this many outputs, ascending, in lexicographic order.

    And the logarithm of how many orders each has.
    """
    runs = np.array(list(combinations_with_replacement(range(size), often)), dtype=np.int64)
    counts = np.zeros((len(runs), size), dtype=np.int64)
    np.add.at(counts, (np.arange(len(runs))[:, None], runs), 1)
    return runs, log_multinomial(counts)


def log_multinomial(counts: Ints) -> Floats:
    """Return log( n! / prod_v c_v! ) along the last axis."""
    return np.asarray(gammaln(counts.sum(axis=-1) + 1.0) - gammaln(counts + 1.0).sum(axis=-1))


def _stirling_error(k: Floats) -> Floats:
    """Return log k! - log( sqrt(2 pi k) (k/e)^k ) for k >= 1."""
    small = np.minimum(k, 16.0)
    log_factorial = np.array([math.lgamma(j + 1) for j in range(17)])[small.astype(int)]
    table = log_factorial - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    u = 1 / (k * k)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - u / 1188) * u) * u) * u) / k
    return np.where(k <= small, table, series)


def _steps(contributions: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
    """Contributions as low + step x shape, shape with least 0 and without a common divisor."""
    low = min(contributions)
    step = math.gcd(*(c - low for c in contributions)) or 1
    return low, step, tuple((c - low) // step for c in contributions)


def unlisted(
    n: int, contributions: tuple[int, ...], most_degree: int = 2 * 10**5, most_bits: int = 2**28
) -> str | None:
    """Why the values of a sum of n contributions are not listed with their law; None where they are.

    Beyond this degree of the exact polynomial power, and these bits that its coefficients may occupy.
    """
    _, _, shape = _steps(contributions)
    span = max(shape)
    if n == 1:
        return None
    if n * span >= MOST_CLASSES:
        return (
            f"a sum of n = {n} records spans {n * span + 1} values, above the limit of {MOST_CLASSES} to list; use "
            "fewer records or a modular_sum"
        )
    bits = n * span * n * math.log2(len(shape)) if len(shape) > 1 else 0
    if span <= 1 or (n * span <= most_degree and bits <= most_bits):
        return None
    many, what, most = (
        (n * span, "answers", most_degree) if n * span > most_degree else (int(bits), "bits of counts", most_bits)
    )
    return (
        f"a sum of n = {n} records with values spread over {span} steps has {many} {what}, above the limit of "
        f"{most} for exact counting; use fewer records, rounder values or a modulus"
    )


def _fold(values: Ints, log_p: Floats, modulus: int) -> tuple[Ints, Floats]:
    """Law of a value modulo m: log-sum-exp over each residue."""
    residues = values % modulus
    order = np.argsort(residues, kind="stable")
    distinct, first = np.unique(residues[order], return_index=True)
    return distinct, np.logaddexp.reduceat(log_p[order], first)


def _power(law: Law, n: int, shape: tuple[int, ...]) -> tuple[Ints, Floats] | None:
    """Law of a sum of n picks of one law: of one pick, a binomial, or of whole numbers where all values are alike."""
    alike = len(set(law)) == 1
    if n == 1:
        grid, place = np.unique(np.array(shape, dtype=np.int64), return_inverse=True)
        masses = np.bincount(place, weights=law)
        return grid[masses > 0], np.log(masses[masses > 0] / math.fsum(law))
    if alike and (reason := unlisted(n, shape)) is not None:
        refuse(reason)
    if max(shape) <= 1:
        none, one = (math.fsum(p for v, p in zip(shape, law, strict=True) if v == step) for step in (0, 1))
        log_p = log_binomial(n, (none, one)) if one else np.zeros(1)
        grid = np.flatnonzero(np.isfinite(log_p))
        return grid, log_p[grid]
    if alike:
        from flint import fmpz_poly

        counts = map(int, (fmpz_poly(np.bincount(shape).tolist()) ** n).coeffs())
        listed = [(t, math.log(c) - n * math.log(len(shape))) for t, c in enumerate(counts) if c]
        return np.array([t for t, _ in listed], dtype=np.int64), np.array([logarithm for _, logarithm in listed])
    return None


def _product(
    parts: Parts, shape: tuple[int, ...], most_degree: int = 4 * 10**4, precision: int = 128
) -> tuple[Ints, Floats]:
    """Law of a sum of picks from shape (least 0, gcd 1): a product of polynomials in balls.

    The product takes seconds at `most_degree`, and some 20 bits of the precision are lost there.
    """
    if len(parts) == 1 and (found := _power(*parts[0], shape)) is not None:
        return found
    n = sum(many for _, many in parts)
    if n * max(shape) > most_degree:
        refuse(
            f"a sum of n = {n} records with given laws and values spread over {max(shape)} steps has "
            f"{n * max(shape)} answers, above the limit of {most_degree} for exact counting; use fewer records, "
            "one law for all, or no reference"
        )
    from flint import arb, arb_poly, ctx

    with ctx.workprec(precision):
        factors = [arb_poly([arb(1)])]
        for law, many in parts:
            total, coefficients = sum(map(arb, law), arb(0)), [arb(0)] * (max(shape) + 1)
            for value, mass in zip(shape, law, strict=True):
                coefficients[value] += arb(mass) / total
            factors.append(arb_poly(coefficients) ** many)
        while len(factors) > 1:  # short ones first
            factors.append(factors.pop(0) * factors.pop(0))
        return _logarithms(factors[0])


def _cyclic(
    parts: Parts, contributions: tuple[int, ...], modulus: int, most: int = 5000, precision: int = 128
) -> tuple[Ints, Floats]:
    """Law modulo m: products of polynomials in balls modulo x^m - 1, powers by repeated squaring."""
    if modulus > most:
        refuse(
            f"modulus = {modulus} with n = {sum(many for _, many in parts)} records is too large for exact counting "
            f"(at most {most}); use a smaller modulus or fewer records"
        )
    from flint import arb, arb_poly, ctx

    def product(f: arb_poly, g: arb_poly) -> arb_poly:
        coefficients = (f * g).coeffs()
        return arb_poly(coefficients[:modulus]) + arb_poly(coefficients[modulus:])

    with ctx.workprec(precision):
        total = arb_poly([1])
        for law, many in parts:
            picked = [arb(0)] * modulus
            for c, mass in zip(contributions, law, strict=True):
                picked[c % modulus] += arb(mass) / sum(map(arb, law), arb(0))
            power = arb_poly([1])
            for bit in f"{many:b}":
                power = product(power, power)
                power = product(power, arb_poly(picked)) if bit == "1" else power
            total = product(total, power)
        return _logarithms(total)


def _logarithms(law: "arb_poly") -> tuple[Ints, Floats]:
    """Exponents with a coefficient above 0, and its logarithm."""
    listed = [(t, float(c.log().mid())) for t, c in enumerate(law.coeffs()) if c > 0]
    return np.array([t for t, _ in listed], dtype=np.int64), np.array([logarithm for _, logarithm in listed])
