"""The named mechanisms: each turns a query into a channel q(y | f(x)).

Sensitivity is the query's unless overridden; sigma and flip are never scaled.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import nearest, refuse, show
from dalenius.model import checks
from dalenius.model.channels.density import decimal
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noise import DiscreteGaussian, Gaussian, Geometric, Laplace, Noise, times
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.channels.per_record import PerRecord, Symmetric
from dalenius.model.channels.real import Real
from dalenius.model.channels.real_records import RealQuery, RealRecords, Steps
from dalenius.model.channels.written import Written
from dalenius.model.datasets import commas
from dalenius.model.gallery import releases
from dalenius.model.gallery.parameters import asked, call, documented_mechanism, documented_response
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Table
from dalenius.numerics.types import Floats

# Datasets of randomized_response with a matrix, which has their square.
MOST_RESPONSES = 2**12
# Values of a record of unary_encoding, whose channel has 2^k outputs.
MOST_BITS = 10
# Steps that real-valued records are rounded to, from low to high: where nothing is given, and at most.
# Rates of noise that floats hold.
LEAST_RATE = Fraction(1, 10**300)
STEPS = 100
MOST_STEPS = 1000
# The largest sigma of discrete Gaussian noise, whose tails are sums.
MOST_SIGMA = 50_000

# Offered here under their names.
exact, rounding, random_rounding = releases.exact, releases.rounding, releases.random_rounding
cell_key, suppressed = releases.cell_key, releases.suppressed
subsampled, shuffled_response = releases.subsampled, releases.shuffled_response


@documented_mechanism
def symmetric(query: Query, *, flip: float) -> Mechanism:
    """The answer with probability 1 - flip, and every other value of the range with equal probability.

    q(y|x) = 1 - flip at y = f(x), flip / (|range| - 1) elsewhere. For an identity with too many values for a matrix
    only the two numbers are kept.

    Args:
        flip: probability of another value, from 0 to 1.

    Example:
        >>> dl.mechanisms.symmetric(dl.queries.count(n=4), flip=0.4).name
        'symmetric(flip=0.4)'
    """
    asked(query)
    p = checks.real("flip", flip, 0.0, 1.0)
    others = len(query.outputs) - 1
    if others == 0 and p > 0:
        refuse(f"flip = {flip}: {query} has a single answer, so there is nothing to flip to; use flip=0")
    name = call("symmetric", flip=flip)
    if Symmetric.fits(query) and query.records[0] ** 2 > checks.MOST_ENTRIES:
        return Symmetric(query, name, 1 - p, p / others, query.labels, answers=True)
    rows = np.where(query.distance() == 0, 1 - p, p / max(others, 1))
    return Written(query.statistic, rows, query.labels, query, name)


@documented_mechanism
def geometric(
    query: Query,
    *,
    epsilon: float | None = None,
    scale: float | None = None,
    sensitivity: float | None = None,
    clamp: bool = True,
    step: float | None = None,
) -> Mechanism:
    """Two-sided geometric noise, P(d) = (1-alpha)/(1+alpha) alpha^|d|, clamped to the range.

    alpha = exp(-epsilon/sensitivity), or exp(-1/scale); the mass beyond an end point is put on it. Real-valued records
    are rounded to the nearest of low, low + step, ..., high, halves up, before they are added up; noise is then in
    steps, and alpha = exp(-epsilon step/sensitivity).

    Args:
        scale: instead of epsilon, the scale of the noise, sensitivity/epsilon.
        clamp: False for outputs over all integers. That leaks the same: outputs beyond the range are proportional to
            its ends.
        step: of real-valued records only, what they are rounded to; it must divide the range from low to high, and is
            a hundredth of it where nothing is given.

    Example:
        >>> dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1).dp_epsilon()
        1.0
    """
    given = {"epsilon": epsilon, "sensitivity": sensitivity, "scale": scale}
    if isinstance(query, RealQuery):
        if not checks.flag("clamp", clamp):
            refuse(f"clamp=False: noise on {query} is clamped to the answers, which leaks the same; leave it out")
        ratio, steps = _real_rate(query, **given), _steps(query, step)
        return RealRecords(query, call("geometric", **given, step=step), Steps(float(ratio), steps), ratio)
    noise = Geometric(_rate(query, **given))
    if step is not None:
        refuse(f"step = {show(step)}: the records of {query} are whole numbers already; leave it out")
    return _noisy(query, noise, "geometric", given, clamp=clamp)


@documented_mechanism
def laplace(
    query: Query,
    *,
    epsilon: float | None = None,
    scale: float | None = None,
    sensitivity: float | None = None,
    output: str | None = None,
    clamp: bool = True,
) -> Mechanism:
    """Laplace noise of scale sensitivity/epsilon, rounded to the nearest integer and clamped.

    Args:
        scale: instead of epsilon, the scale of the noise, sensitivity/epsilon.
        output: "real" for the real number itself, neither rounded nor clamped; the only choice for real-valued records.
        clamp: False for rounded outputs over all integers. Those beyond the range are proportional to one another, not
            to its ends, so it may leak a little more.

    Example:
        >>> dl.mechanisms.laplace(dl.queries.count(n=4), epsilon=1, output="real").dp_epsilon()
        1.0
    """
    given = {"epsilon": epsilon, "sensitivity": sensitivity, "scale": scale}
    if isinstance(query, RealQuery):
        _only_real(query, output, clamp=clamp)
        ratio = _real_rate(query, **given)
        return RealRecords(query, call("laplace", **given), Laplace(float(ratio)), ratio)
    noise = Laplace(_rate(query, **given))
    if _is_real(output):
        return Real(query, call("laplace", **given, output="real"), noise)
    return _noisy(query, noise, "laplace", given, clamp=clamp)


@documented_mechanism
def gaussian(query: Query, *, sigma: float, output: str | None = None) -> Mechanism:
    """Gaussian noise, rounded to the nearest integer and clamped.

    Args:
        sigma: standard deviation, not scaled by the sensitivity.
        output: "real" for the real number itself, neither rounded nor clamped; the only choice for real-valued records.

    Example:
        >>> dl.mechanisms.gaussian(dl.queries.count(n=4), sigma=2).name
        'gaussian(sigma=2)'
    """
    if isinstance(query, RealQuery):
        _only_real(query, output)
        ratio = Fraction(checks.positive("sigma", sigma)) / query.spread
        return RealRecords(query, call("gaussian", sigma=sigma), Gaussian(float(ratio)), ratio)
    noise = Gaussian(_sigma(query, sigma))
    if _is_real(output):
        return Real(query, call("gaussian", sigma=sigma, output="real"), noise)
    return _noisy(query, noise, "gaussian", {"sigma": sigma})


@documented_mechanism
def discrete_gaussian(query: Query, *, sigma: float, clamp: bool = False) -> Mechanism:
    """Discrete Gaussian noise, P(d) proportional to exp( -d^2 / (2 sigma^2) ) on all integers.

    Audits merge outputs beyond 7.5 standard deviations, and raise the upper bound by the most that they can reveal,
    less than 1e-13 log|A|.

    Args:
        sigma: not scaled by the sensitivity.
        clamp: True to clamp to the range.

    Example:
        >>> dl.mechanisms.discrete_gaussian(dl.queries.count(n=4), sigma=2).name
        'discrete_gaussian(sigma=2)'
    """
    steps = _sigma(query, sigma)
    if steps > MOST_SIGMA:
        refuse(f"sigma = {sigma} is {steps:g} steps of the answers, above the limit of {MOST_SIGMA}; use gaussian")
    return _noisy(query, DiscreteGaussian(steps), "discrete_gaussian", {"sigma": sigma}, clamp=clamp, default=False)


@documented_mechanism
def noisy_max(query: Query, *, epsilon: float, noise: str = "gumbel") -> Written:
    """The most frequent value of a histogram or table, with noise: outputs are the values of a record.

    Args:
        epsilon: privacy parameter.
        noise: "gumbel": P(y) proportional to exp(epsilon c_y / 2), c the counts. "permute_and_flip": values in random
            order, each taken with probability exp( epsilon (c_y - max c) / 2 ) until one is [mckenna20].

    Example:
        >>> dl.mechanisms.noisy_max(dl.queries.histogram(n=3, k=2), epsilon=1).n_outputs
        2
    """
    asked(query)
    rate = checks.positive("epsilon", epsilon)
    law = checks.choice("noise", noise, ("gumbel", "permute_and_flip"))
    if not query.vector:
        refuse(f"noisy_max chooses among the values of a histogram or a table, not for {query}")
    counts = np.asarray(query.answers, dtype=float)
    chance = np.exp(rate / 2 * (counts - counts.max(axis=1, keepdims=True)))
    rows = chance / chance.sum(axis=1, keepdims=True) if law == "gumbel" else _flipped(chance)
    rows /= rows.sum(axis=1, keepdims=True)
    values = range(counts.shape[1])
    labels = tuple(map(query.words, values)) if query.names or query.shape else tuple(values)
    name = call("noisy_max", epsilon=epsilon, noise=None if law == "gumbel" else law)
    return Written(query.statistic, rows, labels, query, name)


def _flipped(chance: Floats) -> Floats:
    """p_y int_0^1 prod_{v != y} (1 - t p_v) dt, by a rule of Gauss that is exact for polynomials of this degree."""
    nodes, weights = np.polynomial.legendre.leggauss(chance.shape[1] // 2 + 1)
    result = np.zeros_like(chance)
    for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
        left = 1 - t * chance
        result += w * chance * left.prod(axis=1, keepdims=True) / left
    return result


@documented_mechanism
def exponential(query: Query, *, epsilon: float, sensitivity: float | None = None) -> Written:
    """The exponential mechanism: q(y|x) proportional to exp( -epsilon d(f(x), y) / (2 sensitivity) ) over the range.

    Example:
        >>> dl.mechanisms.exponential(dl.queries.count(n=4), epsilon=1).n_outputs
        5
    """
    rate = _rate(query, epsilon, sensitivity)
    # The nearest value, f(x), has weight 1.
    weights = np.exp(-times(rate / 2, query.integers.distance()))
    rows = weights / weights.sum(axis=1, keepdims=True)
    name = call("exponential", epsilon=epsilon, sensitivity=sensitivity)
    return Written(query.statistic, rows, query.labels, query, name, falls_off=True)


@documented_response
def randomized_response(query: Query, *, epsilon: float) -> Mechanism:
    """The whole noisy dataset: each record kept with probability e^epsilon / (e^epsilon + k - 1).

    Otherwise it becomes another value of its alphabet, uniformly. Beyond 2^12 datasets, or for an identity with more
    than 2^8 values, there is no matrix: each record goes through its own channel.

    Returns:
        A Mechanism.

    Example:
        >>> dl.mechanisms.randomized_response(dl.queries.count(n=4), epsilon=1).n_outputs
        16
    """
    rate, k = _of_record(query, epsilon)
    name = call("randomized_response", epsilon=epsilon)
    if Symmetric.fits(query) and k**2 > PerRecord.most_local:
        kept = 1 / (1 + (k - 1) * math.exp(-rate))
        labels = tuple(map(query.words, range(k)))
        return Symmetric(query, name, kept, math.exp(-rate) * kept, labels, answers=False)
    if PerRecord.fits(query):
        channel = PerRecord(query, name, response(k, rate), tuple(map(query.words, range(k))))
        few = checks.log_universe(query.records) <= math.log(MOST_RESPONSES) + 1e-9
        return channel.written(MOST_RESPONSES**2) if few else channel
    checks.universe(query.records, MOST_RESPONSES)
    matrix: Floats = np.ones((1, 1))
    for k in query.records:
        matrix = np.asarray(np.kron(matrix, response(k, rate)), dtype=float)
    labels = tuple(commas(map(query.words, x)) for x in product(*map(range, query.records)))
    return Written(Table.everything(query.records), matrix, labels, query, name)


def response(k: int, epsilon: float) -> Floats:
    """Return the channel of one record of `randomized_response`."""
    checks.entries(k, k, f"the channel of a record of {k} values", PerRecord.most_local)
    kept = 1 / (1 + (k - 1) * math.exp(-epsilon))
    return np.where(np.eye(k) > 0, kept, math.exp(-epsilon) * kept)


@documented_response
def unary_encoding(query: Query, *, epsilon: float, optimised: bool = False) -> PerRecord:
    """Every record as k noisy bits: bit v is whether the record equals v; each is kept or flipped independently.

    Kept with probability e^(epsilon/2) / (1 + e^(epsilon/2)), so that epsilon is per record: two bits change.

    Args:
        optimised: True to keep the bit of the record's value with probability 1/2, and the other bits, which are 0,
            with probability e^epsilon / (1 + e^epsilon) [wang17].

    Example:
        >>> dl.mechanisms.unary_encoding(dl.queries.count(n=4), epsilon=1).name
        'unary_encoding(epsilon=1)'
    """
    rate, k = _of_record(query, epsilon)
    if k > MOST_BITS:
        refuse(f"unary_encoding of records of {k} values has 2^{k} outputs each; at most {MOST_BITS} values")
    best = checks.flag("optimised", optimised)
    kept = 1 / (1 + math.exp(-rate if best else -rate / 2))
    lost = math.exp(-rate if best else -rate / 2) * kept
    bits = np.array(list(product((0, 1), repeat=k)))
    own = np.eye(k, dtype=bool)[:, None]
    rows = np.where(own, 0.5 if best else np.where(bits, kept, lost), np.where(bits, lost, kept)).prod(axis=2)
    return PerRecord(query, call("unary_encoding", epsilon=epsilon, optimised=best or None), rows, _texts(bits))


@documented_response
def hadamard_response(query: Query, *, epsilon: float) -> PerRecord:
    """Every record as one column of a Hadamard matrix of K = 2^m > k rows: of row x + 1, one with a 1 or one with a -1.

    One of the K/2 columns with a 1 with probability e^epsilon / (1 + e^epsilon), uniformly, else one of the others
    [acharya19].

    Example:
        >>> dl.mechanisms.hadamard_response(dl.queries.identity(k=3), epsilon=1).rows.shape
        (3, 4)
    """
    rate, k = _of_record(query, epsilon)
    columns = 2 ** k.bit_length()
    checks.entries(k, columns, f"the channel of a record of {k} values", PerRecord.most_local)
    ones = np.array([[(row & y).bit_count() % 2 == 0 for y in range(columns)] for row in range(1, k + 1)])
    kept = 1 / (1 + math.exp(-rate))
    rows = np.where(ones, kept, math.exp(-rate) * kept) * 2 / columns
    return PerRecord(query, call("hadamard_response", epsilon=epsilon), rows, tuple(map(str, range(columns))))


@documented_response
def subset_selection(query: Query, *, epsilon: float) -> PerRecord:
    """Every record as a set of w values, w the whole number nearest to k / (1 + e^epsilon), at least 1.

    A set with the record's value is e^epsilon times as likely as one without it; labels have a 1 for each value in the
    set [barg18].

    Example:
        >>> dl.mechanisms.subset_selection(dl.queries.identity(k=4), epsilon=0.1).rows.shape
        (4, 6)
    """
    rate, k = _of_record(query, epsilon)
    inside = max(1, math.floor(k * math.exp(-rate) / (1 + math.exp(-rate)) + 0.5))
    checks.entries(k, math.comb(k, inside), f"the channel of a record of {k} values", PerRecord.most_local)
    sets = np.array([[v in chosen for v in range(k)] for chosen in combinations(range(k), inside)], dtype=int)
    with_it, without = math.comb(k - 1, inside - 1), math.comb(k - 1, inside)
    kept = 1 / (with_it + without * math.exp(-rate))
    rows = np.where(sets.T > 0, kept, math.exp(-rate) * kept)
    return PerRecord(query, call("subset_selection", epsilon=epsilon), rows, _texts(sets))


def _of_record(query: Query, epsilon: object) -> tuple[float, int]:
    """Epsilon, checked, and how many values a record has; 1 where its query has no name, which no channel takes."""
    asked(query)
    return checks.positive("epsilon", epsilon), query.records[0] if query.named else 1


def _texts(bits: NDArray[np.int64]) -> tuple[str, ...]:
    """Rows of bits as texts such as 0110."""
    return tuple("".join(map(str, row)) for row in bits.tolist())


@documented_mechanism
def constant(query: Query) -> Written:
    """Always the value of the range with the least expected distance to f(x), x uniform; the lowest on ties.

    Example:
        >>> dl.audit(dl.mechanisms.constant(dl.queries.count(n=4)), knowledge=0.5).upper < 1e-9
        True
    """
    asked(query)
    expected = np.exp(UNIFORM.log_classes(query.statistic)) @ query.distance()
    best = int(np.argmax(expected <= expected.min() + 1e-12 * (1 + expected.min())))
    rows = np.zeros((query.statistic.size, len(query.outputs)))
    rows[:, best] = 1.0
    return Written(query.statistic, rows, query.labels, query, call("constant"))


def _noisy(
    query: Query, noise: Noise, family: str, given: Mapping[str, object], *, clamp: bool = True, default: bool = True
) -> Mechanism:
    """Integer noise on the answer; on histograms on every count by itself, clamped to 0..n.

    default: what clamp is where the call string does not say.
    """
    name = call(family, **given, clamp=None if checks.flag("clamp", clamp) == default else clamp)
    if query.vector and not clamp:
        refuse(f"{name} of {query}: clamp=False is for answers that are numbers; use clamp=True")
    return NoisyCounts(query, name, noise) if query.vector else NoisySum(query, name, noise, clamp)


def _rate(query: Query, epsilon: float | None, sensitivity: float | None, scale: float | None = None) -> float:
    """epsilon / sensitivity, or 1 / scale, in steps of the answers; infinite, that is no noise, for a single answer."""
    asked(query, real=True)
    unit = float(query.unit)
    checks.exactly_one(", how much noise there is", epsilon=epsilon, scale=scale)
    if scale is not None:
        if sensitivity is not None:
            refuse(f"scale = {scale} already fixes how much noise there is; leave sensitivity = {sensitivity} out")
        rate = unit / checks.positive("scale", scale)
        if not 0 < rate < math.inf:
            refuse(f"scale = {scale} is beyond what a float holds; use another one")
        return rate
    number = checks.positive("epsilon", epsilon)
    spread: float = query.integers.sensitivity
    if sensitivity is not None:
        spread = checks.positive("sensitivity", sensitivity) / unit
    rate = number / spread if spread > 0 else math.inf
    if rate == 0:
        refuse(f"epsilon = {epsilon} over a sensitivity of {spread} is too small for a float; use a larger epsilon")
    return rate


def _sigma(query: Query, sigma: float) -> float:
    """sigma in steps of the answers."""
    asked(query)
    return checks.positive("sigma", sigma) / float(query.unit)


def _is_real(output: str | None) -> bool:
    return output is not None and checks.choice("output", output, ("integer", "real")) == "real"


def _only_real(query: RealQuery, output: object, *, clamp: bool = True) -> None:
    """Refuse rounded and clamped outputs of real-valued records."""
    real = output is None or (isinstance(output, str) and output == "real")
    if not real or not checks.flag("clamp", clamp):
        what = "clamp=False" if real else f"output={show(output)}"
        refuse(f"{what}: the outputs of {query} are real numbers, neither rounded nor clamped; leave it out")


def _steps(query: RealQuery, step: float | None) -> int:
    """Return how many steps there are from low to high."""
    if step is None:
        return STEPS
    wide = decimal(query.high) - decimal(query.low)
    many = wide / decimal(checks.positive("step", step))
    if many.denominator != 1 or not 1 <= many <= MOST_STEPS:
        # The nearest that has a whole number of steps as it is written.
        near = sorted(range(1, MOST_STEPS + 1), key=lambda k: abs(many - k))
        good = next(float(wide / k) for k in near if decimal(float(wide / k)) * k == wide)
        limit = f" into at most {MOST_STEPS} steps" if many > MOST_STEPS else ""
        refuse(
            f"step = {step} does not divide the range from {query.low} to {query.high}{limit}; use step = {good!r}, or "
            "another step"
        )
    return int(many)


def _real_rate(query: RealQuery, epsilon: float | None, sensitivity: float | None, scale: float | None) -> Fraction:
    """epsilon over what one record can change, as an exact number."""
    # The same checks, and the same messages, as of a query with one answer more or less.
    _rate(query, epsilon, sensitivity, scale)
    wide = query.spread
    if scale is not None:
        ratio = wide / Fraction(float(scale))
    else:
        ratio = Fraction(float(epsilon or 0)) / (wide if sensitivity is None else Fraction(float(sensitivity))) * wide
    if not LEAST_RATE <= ratio <= 1 / LEAST_RATE:
        noise = call("the family", epsilon=epsilon, sensitivity=sensitivity, scale=scale)
        refuse(f"the noise of {noise} on {query} is beyond what a float holds; use another one")
    return ratio


def __getattr__(name: str) -> Callable[..., Mechanism]:
    """Return a mechanism that another distribution offers under this name."""
    if not name.startswith("_"):
        from dalenius.model.gallery import plugins

        if name in plugins.names():
            return plugins.load(name)
    from dalenius.model.gallery.families import FAMILIES

    message = f"there is no mechanism {name!r}; {nearest(name, FAMILIES)}; `dalenius list` names them all"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """What is here, and what other distributions offer."""
    from dalenius.model.gallery import plugins

    return sorted({*globals(), *plugins.names()})
