"""What noise on every count of a histogram leaves of a divergence from independent records (MATH 4.8).

For geometric noise of rate c, or noise that is such noise and more: D(p q || W q) <= eta D(p || W) for every law p of
the records and every W under which they are independent.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from dalenius.numerics.types import Floats

# Parts of the range of log u to either side of 0; steps of beta, by a factor, up to the last; the lean of lines: as a
# verifier's.
PARTS = 24
STEP, LAST = 1.1, 256.0
LEAN = 0.6
# From the first rate on there is the crude theta only, and above the second one next to everything is left; a rate
# below the third tells no more than that.
LARGE, HUGE, SMALL = 2.0, 20.0, 1e-8
# Rounds of Newton's method, what is added to the result, and of what lambda is a power, as a verifier's.
ROUNDS = 6
NEAR = 1e-9
LADDER = 1.005


def contraction(rate: float, records: Sequence[tuple[int, Floats]]) -> float:
    """Return eta, for records of several laws: how many there are of each, and the masses of their values.

    log(1/eta) is the integral of 1 / (beta (1 + beta Theta)) over beta >= 1, with a constant in place of Theta on every
    step of beta, and a cruder one beyond the last.
    """
    listed = [(many, np.unique(law[law > 0])) for many, law in records if np.count_nonzero(law) > 1]
    if rate > HUGE or not listed:
        return 1.0 if listed else 0.0
    rate = max(rate, SMALL)
    kept, first = 0.0, 1.0
    for step in steps(rate, listed) if rate < LARGE else ():
        kept, first = kept + step.gained, step.last
    total = first * sum(many for many, _ in listed) * crude(rate, min(rate, 2 * rate * math.exp(kept) / first))
    return math.exp(-kept) * total / (1 + total)


@dataclass(frozen=True)
class Step:
    """A step of beta: no |log u| is above `top`; theta of a record of each law, and that of all records."""

    first: float
    last: float
    top: float
    thetas: tuple[float, ...]
    total: float

    @property
    def gained(self) -> float:
        """The integral over the step."""
        return math.log(self.last / self.first * (1 + self.first * self.total) / (1 + self.last * self.total))


def steps(c: float, listed: Sequence[tuple[int, Floats]]) -> Iterator[Step]:
    """Go through the steps; listed: how many records have one law, and its different masses.

    |log a| is at most c and 2 c mu / beta, where log mu is the integral so far.
    """
    square, most = math.sinh(c) ** 2, crude(c, c)
    rungs = [math.floor(math.log(masses.max()) / math.log(LADDER)) for _, masses in listed]
    kept, first = 0.0, 1.0

    def step(last: float, top: float) -> Step:
        thetas = tuple(min(most, square * LADDER**rung) for rung in rungs)
        return Step(first, last, top, thetas, sum(many * t for (many, _), t in zip(listed, thetas, strict=True)))

    while first < LAST:
        last = min(2.0 if first < 2 else LAST, first * STEP)
        # Theta does not fall, so that log mu gains no more than by the one before.
        top = c * min(last, 2 * math.exp(kept + step(last, 0.0).gained))
        rungs = [_rung(rung, c, (first, last), top, masses) for rung, (_, masses) in zip(rungs, listed, strict=True)]
        found = step(last, top)
        yield found
        kept, first = kept + found.gained, last


def crude(c: float, widest: float) -> float:
    """A theta for every law and beta, where no log a is beyond `widest`."""
    lean = widest / -math.expm1(-widest)
    return math.sinh(c) ** 2 * (2 * math.cosh(c) - math.exp(-widest)) * math.exp(widest) * lean**2 / 2


def _rung(rung: int, c: float, step: tuple[float, float], top: float, masses: Floats) -> int:
    """The least power of LADDER, from `rung` on, that serves as lambda on a step: no part and no mass asks for more.

    What there is for lambda is concave in it: the tangent at one that does not serve asks for no more than serves.
    """
    first, last = step
    j, p = np.arange(-PARTS, PARTS), masses[:, None]
    low, high, above = top * j / PARTS, top * (j + 1) / PARTS, j >= 0
    late, early = np.where(above, last, first), np.where(above, first, last)
    if last <= 2:
        kappa = _kappa(1.0, low / late) ** (2 - late) * _kappa(2.0, high / late) ** (late - 1)
    else:
        kappa = _kappa(late, high / late)
    z = 2 / (early * np.expm1(np.where(above, high, low) / early)) ** 2
    own = np.exp(np.minimum.reduce([y - 2 * y / b for b in step for y in (low, high)]))
    least, most = np.exp(low), p * np.exp(high)
    rest, price = (1 - p) * np.exp(-top), 1 / (p * math.cosh(c) ** 2)
    zeta = min(LEAN, top * (1 - 1 / last))
    # Means m of 1 or more.
    w = np.clip(1 - rest, p * least, most)
    m = np.maximum(1.0, w + rest)
    asked = float(((kappa - z * _phi(m)) / (own + (m - w) * price)).max())
    # Lower means, with u above 1 and below.
    start = (p * least + rest)[:, PARTS:]
    while True:
        given = LADDER**rung
        for side, means in (
            (slice(PARTS, None), _above(given * price / z[PARTS:], least[PARTS:], zeta, z[PARTS:], start)),
            (slice(PARTS), _below(given * price, z[:PARTS], least[:PARTS], zeta)),
        ):
            for held, mean in means:
                slope = own[side] + (mean - most[:, side]) * price
                wanted = (kappa[side] - held) / np.where(slope > 0, slope, 1e-300)
                asked = max(asked, float(wanted.max()))
        if asked * (1 + NEAR) <= given:
            return rung
        rung = max(rung + 1, math.floor(math.log(asked) / math.log(LADDER)))


def _above(gain: Floats, least: Floats, zeta: float, z: Floats, start: Floats) -> Iterator[tuple[Floats, Floats]]:
    """The worst mean, and what there is beside lambda: Newton's method from 1. gain: lambda / (p C z)."""
    m = np.ones_like(gain)
    for _ in range(ROUNDS):
        step = gain + (1 + zeta) * np.log(m) + zeta * (1 - least / m)
        m = np.clip(m - step * m / (1 + zeta + zeta * least / m), np.minimum(1.0, start), 1.0)
    # There are none where this part and its mass have a mean of 1 or more by themselves.
    yield np.where(start < 1, z * (_phi(m) - zeta * (least - m) * np.log(m)), np.inf), m


def _below(gain: Floats, z: Floats, least: Floats, zeta: float) -> Iterator[tuple[Floats, Floats]]:
    """The same: means below u, and above it, as shares t of what it is below 1. gain: lambda / (p C)."""
    m = np.exp(-gain / z)
    yield z * _phi(m), m
    apart, square = 1 - least, 1 + 2 * zeta * least
    lost, ratio = gain * apart, apart**2 * z / 2
    turn = np.minimum(1.0, 2 * zeta / square)
    t = np.minimum(turn, (2 * zeta + lost) / (2 * square))
    yield square * t**2 - 2 * zeta * t, 1 - t * apart
    t = np.clip((2 * zeta + lost / ratio) / (2 * square), turn, 1.0)
    yield ratio * (square * t**2 - 2 * zeta * t), 1 - t * apart


def _phi(m: Floats) -> Floats:
    """m log m - m + 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(m > 0, m * np.log(m), 0.0) - m + 1


def _kappa(b: Floats | float, log: Floats) -> Floats:
    """2 ( b x^b log x - x^b + 1 ) / ( b^2 (x-1)^2 ) as a mean over points between 1 and x, which loses no digits."""
    nodes, weights = _gauss()
    share = (nodes + 1) / 2
    apart = np.expm1(log)[..., None]
    between = np.log1p(share * apart)
    ratio = np.divide(between, share * apart, out=np.ones_like(between), where=apart != 0)
    return np.asarray((np.exp((np.asarray(b)[..., None] - 1) * between) * ratio * share) @ weights)


@cache
def _gauss() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(24)
