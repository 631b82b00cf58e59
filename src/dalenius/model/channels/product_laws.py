"""What noise on every count of a histogram leaves of a divergence from independent records (MATH 4.8).

For geometric noise of rate c, or noise that is such noise and more: D(p q || W q) <= eta D(p || W) for every law p of
the records and every W under which they are independent.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dalenius.numerics.types import Floats

# Parts of the range of log a to either side of 0, steps of beta, their end, and the lean of lines: as a verifier's.
PARTS = 24
STEP = 1.08
LAST = 64.0
LEAN, MOST_LEAN = 1.0, 0.6
# From the first rate on there is the crude theta only, and above the second one next to everything is left; a rate
# below the third tells no more than that.
LARGE, HUGE, SMALL = 2.0, 20.0, 1e-8
# Rounds in which lambda and the worst means come nearer to each other, what is added to the result, and of what lambda
# is a power, as a verifier's.
ROUNDS = 8
NEAR = 1e-9
LADDER = 1.005


def contraction(rate: float, records: Sequence[tuple[int, Floats]]) -> float:
    """Return eta, for records of several laws: how many there are of each, and the masses of their values.

    log(1/eta) is the integral of 1 / (beta (1 + beta Theta)) over beta >= 1, with a constant in place of Theta on every
    step of beta, and a cruder one beyond the last.
    """
    listed = [(many, law[law > 0]) for many, law in records if np.count_nonzero(law) > 1]
    if rate > HUGE or not listed:
        return 1.0 if listed else 0.0
    rate = max(rate, SMALL)
    crude = math.exp(2 * rate) * math.sinh(rate) ** 2 * (rate / -math.expm1(-rate)) ** 2 / 2
    ends = steps() if rate < LARGE else np.ones(1)
    thetas = sum(many * np.minimum(crude, _thetas(rate, ends, np.unique(law))) for many, law in listed)
    first, last = ends[:-1], ends[1:]
    kept = float(np.log(last / first * (1 + first * thetas) / (1 + last * thetas)).sum())
    total = float(ends[-1]) * sum(many for many, _ in listed) * crude
    return math.exp(-kept) * total / (1 + total)


def steps() -> Floats:
    """Where steps of beta begin and end; 2 is among them."""
    found = [1.0]
    while found[-1] < LAST:
        found.append(min(2.0 if found[-1] < 2 else LAST, found[-1] * STEP))
    return np.array(found)


def _thetas(c: float, ends: Floats, masses: Floats) -> Floats:
    """At least theta on every step: the lambda of which no part and no mass asks for more, by step, mass and part.

    What there is for lambda is concave in it, so that lambda comes from below.
    """
    first, last = ends[:-1, None, None], ends[1:, None, None]
    j, p = np.arange(-PARTS, PARTS), masses[:, None]
    low, high, above = c * j / PARTS, c * (j + 1) / PARTS, j >= 0
    one, two = _kappa(1.0, low), _kappa(2.0, high)
    kappa = np.where(
        last <= 2,
        np.maximum(one ** (2 - first) * two ** (first - 1), one ** (2 - last) * two ** (last - 1)),
        np.where(above, _kappa(last, high), _kappa(first, high)),
    )
    z = 2 / (last * np.expm1(np.where(above, high, low))) ** 2
    own = np.exp(np.minimum.reduce([(b - 2) * x for b in (first, last) for x in (low, high)]))
    least, most = np.exp(np.where(above, first, last) * low), p * np.exp(np.where(above, last, first) * high)
    rest, price = (1 - p) * np.exp(-last * c), 1 / (p * math.cosh(c) ** 2)
    zeta = np.minimum(MOST_LEAN, LEAN * (last - 1) * c)
    # Means m of 1 or more.
    w = np.clip(1 - rest, p * least, most)
    m = np.maximum(1.0, w + rest)
    found = (kappa - z * _phi(m)) / (own + (m - w) * price)
    # Lower means, with a^beta above 1 and below.
    start = p * least + rest
    for _ in range(ROUNDS):
        for up, part in ((True, slice(PARTS, None)), (False, slice(PARTS))):
            given = [x[..., part] for x in np.broadcast_arrays(found, z, least, price, zeta)]
            for held, mean in _above(*given, start=start[..., part]) if up else _below(*given):
                slope = own[..., part] + (mean - most[..., part]) * price
                asked = (kappa[..., part] - held) / np.where(slope > 0, slope, 1e-300)
                np.maximum(found[..., part], asked, out=found[..., part])
    rungs = np.ceil(np.log(np.maximum(found.max(axis=(1, 2)), masses.max()) * (1 + NEAR)) / math.log(LADDER))
    return np.asarray(LADDER ** np.maximum.accumulate(rungs) * math.sinh(c) ** 2)


def _above(
    found: Floats, z: Floats, least: Floats, price: Floats, zeta: Floats, *, start: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """The worst mean at this lambda, and what there is beside lambda: Newton's method from 1."""
    m = np.ones_like(found)
    for _ in range(ROUNDS):
        step = found * price / z + (1 + zeta) * np.log(m) + zeta * (1 - least / m)
        m = np.clip(m - step * m / (1 + zeta + zeta * least / m), np.minimum(1.0, start), 1.0)
    # There are none where this part and its mass have a mean of 1 or more by themselves.
    yield np.where(start < 1, z * (_phi(m) - zeta * (least - m) * np.log(m)), np.inf), m


def _below(found: Floats, z: Floats, least: Floats, price: Floats, zeta: Floats) -> Iterator[tuple[Floats, Floats]]:
    """The same: means below a^beta, and above it, as shares t of what it is below 1."""
    m = np.exp(-found * price / z)
    yield z * _phi(m), m
    apart, square = 1 - least, 1 + 2 * zeta * least
    gain, turn, ratio = found * price * apart, np.minimum(1.0, 2 * zeta / square), apart**2 * z / 2
    t = np.minimum(turn, (2 * zeta + gain) / (2 * square))
    yield square * t**2 - 2 * zeta * t, 1 - t * apart
    t = np.clip((2 * zeta + gain / ratio) / (2 * square), turn, 1.0)
    yield ratio * (square * t**2 - 2 * zeta * t), 1 - t * apart


def _phi(m: Floats) -> Floats:
    """m log m - m + 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(m > 0, m * np.log(m), 0.0) - m + 1


def _kappa(b: Floats | float, log: Floats) -> Floats:
    """2 ( b x^b log x - x^b + 1 ) / ( b^2 (x-1)^2 ) as a mean over points between 1 and x, which loses no digits."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    share = (nodes + 1) / 2
    apart = np.expm1(log)[..., None]
    between = np.log1p(share * apart)
    ratio = np.divide(between, share * apart, out=np.ones_like(between), where=apart != 0)
    return np.asarray((np.exp((np.asarray(b)[..., None] - 1) * between) * ratio * share) @ weights)
