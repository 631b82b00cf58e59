"""Real-valued records become whole numbers: cells for a bound from below, grid points for one from above.

Lengths are in steps of a grid of m cells. Statement and proof are in docs/mathematics.md 11 and in the verifier's
continuous.py and others.py. With n records, rate H or deviation s in steps, M the integral of the largest density:

    I' - log(1 + n H^2/24)  <=  L  <=  (1-b) I'' + b log(M/b),

I' what a prior on cells leaks through the noise, rounded, and I'' at most what priors on grid points leak through a
little less noise on the grid. b is of the order H^2 where the sum of the other records is rounded as one, and n H^2
where every record is.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from dalenius.errors import refuse
from dalenius.model.channels.density import Density
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.real_records import RealRecords
from dalenius.model.gallery import mechanisms, queries
from dalenius.numerics.rounding import float_above, float_below

# More than floats lose on the way.
ROUNDED = 1e-12
# Bits beside those that the least coefficient of a power needs.
SPARE_BITS = 128


@dataclass(frozen=True, eq=False)
class Whole:
    """A mechanism on whole numbers in place of real-valued records, and the laws of a record under the density.

    hidden: b, the share of the release that is not seen. law: exact.
    """

    mechanism: Mechanism
    cells: int
    law: list[Fraction]
    hidden: float
    log_most: float
    # For Gaussian noise from above: the deviation of the noise that is added to the one on the grid.
    spread: float | None = None
    # From below, where records are uniform inside their cells: what their places there hide at most.
    places: float | None = None
    # From above: log( 1 + eta ), where the sum of the other records was rounded as one.
    together: float | None = None

    @cached_property
    def stated(self) -> tuple[float, ...]:
        """The law in floats."""
        return tuple(map(float, self.law))

    @property
    def margin(self) -> float:
        """b log( M / b )."""
        return self.hidden * (self.log_most - math.log(self.hidden)) if self.hidden > 0 else 0.0

    @property
    def ratios(self) -> tuple[Fraction, Fraction]:
        """The least and the greatest ratio of the law to the one stated."""
        total = sum(map(Fraction, self.stated))
        found = [p * total / Fraction(q) for p, q in zip(self.law, self.stated, strict=True)]
        return min(found), max(found)

    def share(self, n: int) -> tuple[float, float]:
        """Return (1-beta)^n and H(E) of a stated law in place of the true one, where nothing else is known."""
        least = float(self.ratios[0] ** n)
        lost = 1 - least
        return least, (-lost * math.log(lost) if lost > 0 else 0.0) + lost

    def lower(self, leaked: float, n: int, *, exact: bool) -> float:
        """Guarantee: result <= I(X_i;Y) where a prior on cells leaks at least `leaked` of whole numbers."""
        if exact:
            share, coin = self.share(n)
            leaked = share * leaked - coin
        return max(0.0, (leaked - self.margin) / (1 - self.hidden) - (self.places or 0.0) - ROUNDED)

    def upper(self, bound: float, n: int, *, exact: bool) -> float:
        """Guarantee: I(X_i;Y) <= result where `bound` holds on grid points."""
        # Outputs that were put together tell at most what the sum does.
        bound += self.mechanism.lost * math.log(n * self.cells + 1)
        if exact:
            share, coin = self.share(n)
            bound = share * bound + coin + (1 - share) * math.log(self.cells + 1)
            if self.together is not None:
                # The law of a sum of rounded records is a mixture in which the true one has the share 1/(1 + eta).
                lost = -math.expm1(-self.together)
                bound = math.exp(self.together) * (bound + _coin(lost))
        return (1 - self.hidden) * bound + self.margin + ROUNDED * (1 + bound)


def below(mechanism: RealRecords, density: Density, m: int, n: int, *, points: bool = False) -> Whole:
    """Return cells of the records, for a bound from below; refused where the grid is too coarse.

    points: priors on grid points are allowed, and are used in place of cells.
    """
    if mechanism.steps is not None:
        return _in_steps(mechanism, density, n, points=points, epsilon=float_below(mechanism.exact))
    query, far = queries.total(n, range(m + points)), 0.0 if points else density.uneven(m)
    averaged = 0 if points else n
    law = [Fraction(1)] * (m + 1) if points else density.cells(m)
    if mechanism.laplace:
        rate, epsilon = float(mechanism.exact) / m, float_below(mechanism.exact)
        places = math.log1p(averaged * rate**2 / 24)
        lost = averaged * math.log(math.sinh(rate / 2) / (rate / 2) + 2 * far * math.sinh(rate / 2))
        lost += math.log(mechanism.exact / Fraction(epsilon))
        most = math.log1p(epsilon * n / 2)
        finite: Mechanism = mechanisms.laplace(query, epsilon=epsilon, sensitivity=m)
        # Where records are uniform inside their cells, their places there hide more than noise that is a little less.
        hidden = lost if far else None
    else:
        variance = float(mechanism.exact * m) ** 2
        places = math.log1p(averaged / (12 * variance)) / 2
        averaged = averaged if far else 0
        tau = math.sqrt(_widened(variance, 1 / 12, averaged + 1)) * (1 + ROUNDED)
        hidden = math.log(tau / math.sqrt(variance)) + averaged * math.log1p(2 * math.exp(1.5) * far) + _poisson(tau)
        most = math.log1p(n * m / (tau * math.sqrt(2 * math.pi)))
        finite = mechanisms.discrete_gaussian(query, sigma=tau)
    return _whole(finite, m, law, hidden, most, places=None if far else places)


def above(
    mechanism: RealRecords, density: Density, m: int, n: int, together: float | None = None, *, middles: bool = False
) -> Whole:
    """Return grid points of the records, for a bound from above; refused where the grid is too coarse.

    together: of `rounded_together`, where the sum of the other records is rounded by one coin.
    middles: the middles of cells in place of points, for a function of cells; what moving records there costs is
    `moving`.
    """
    if mechanism.steps is not None:
        return _in_steps(mechanism, density, n, points=False, epsilon=float_above(mechanism.exact))
    query, most = queries.total(n, range(m + 1 - middles)), mechanism.log_maximal(n)
    law = density.cells(m) if middles else density.points(m)
    coins, spread = 0 if middles else n if together is None else 2, None
    if mechanism.laplace:
        epsilon = float_above(mechanism.exact)
        rate = epsilon / m
        lost = coins * math.log(math.sinh(rate) / rate) + math.log(Fraction(epsilon) / mechanism.exact)
        finite: Mechanism = mechanisms.geometric(query, epsilon=epsilon, sensitivity=m)
    else:
        deviation = float(mechanism.exact * m)
        variance = deviation**2 * (1 - ROUNDED)
        variance = _narrowed(variance, 1 / 4, coins) if coins else variance
        spread = min(1.0, math.sqrt(variance / 2))
        tau = math.sqrt(variance - spread**2)
        lost = math.log(deviation) - math.log(variance) / 2 + _poisson(tau * spread / math.sqrt(variance))
        finite = mechanisms.discrete_gaussian(query, sigma=tau)
    return _whole(finite, m, law, lost, most, spread=spread, together=together)


def moving(mechanism: RealRecords, m: int, n: int) -> float:
    """Return what moving records to the middles of their cells costs at most.

    The answer moves by at most n/2 steps, and every secret's information by at most that times the root of the
    Fisher information of the noise.
    """
    slope = float_above(mechanism.exact) / m if mechanism.laplace else 1 / float(mechanism.exact * m)
    return n / 2 * slope * (1 + ROUNDED)


def _in_steps(mechanism: RealRecords, density: Density, n: int, *, points: bool, epsilon: float) -> Whole:
    """Records that the mechanism rounds to steps itself: whole numbers, of which nothing is hidden.

    epsilon: of noise that leaks no more, or no less. points: every prior on them is allowed.
    """
    m = mechanism.steps or 1
    law = [Fraction(1)] * (m + 1) if points else density.nearest(m)
    finite = mechanisms.geometric(queries.total(n, range(m + 1)), epsilon=epsilon, sensitivity=m)
    return _whole(finite, m, law, None, 0.0)


def rounded_together(density: Density, m: int, n: int, most_bits: int) -> float | None:
    """Return log( 1 + eta ): the most that one coin for the sum of n - 1 records makes likelier than a coin for each.

    With p the generating function of the cells, p^(n-1) E against p^(n-1) ((1+z)/2)^(n-1), E that of a sum of n - 1
    uniform numbers rounded by a coin, Eulerian numbers over n!. None where an edge cuts a cell, or the powers would
    have more than these bits.
    """
    others = n - 1
    cells = density.cells(m)
    bits = SPARE_BITS + math.ceil(others * (1 + math.log2(1 / min(cells))))
    if others <= 1 or density.uneven(m) or others * m * bits > most_bits:
        return None
    from flint import arb, arb_poly, ctx

    before, ctx.prec = ctx.prec, bits
    try:
        power = arb_poly([arb(p.numerator) / p.denominator for p in cells]) ** others
        zero, one = arb(0), [arb(1)]
        for j in range(1, others + 1):
            # A(j+1,k) = (k+1) A(j,k) + (j+1-k) A(j,k-1)
            one = [
                ((k + 1) * (one[k] if k < j else zero) + (j + 1 - k) * (one[k - 1] if k else zero)) / (j + 1)
                for k in range(j + 1)
            ]
        single = (power * arb_poly(one)).coeffs()
        each = (power * arb_poly([0.5, 0.5]) ** others).coeffs()
        ratio = max(float((s / t).upper()) for s, t in zip(single, each, strict=True))
    finally:
        ctx.prec = before
    return math.log(ratio) + ROUNDED if 1 <= ratio < math.inf else None


def _whole(finite: Mechanism, m: int, law: list[Fraction], lost: float | None, most: float, **rest: Any) -> Whole:
    hidden = 0.0 if lost is None else -math.expm1(-lost * (1 + ROUNDED) - ROUNDED * 1e-3)
    return Whole(finite, m, law, hidden, most + ROUNDED, **rest)


def _coin(share: float) -> float:
    """The entropy of a coin."""
    return -share * math.log(share) - (1 - share) * math.log1p(-share) if 0 < share < 1 else 0.0


def _poisson(c: float) -> float:
    """At least log sum_k exp(-2 pi^2 c^2 k^2) over all integers."""
    r = math.exp(-2 * (math.pi * c) ** 2)
    return math.log1p(2 * r / (1 - r))


def _widened(variance: float, step: float, n: int) -> float:
    """v + n d v/(v - d): at least the variance after n records whose places in cells were averaged."""
    _check_fine(variance > 2 * step)
    return variance + n * step * variance / (variance - step)


def _narrowed(most: float, step: float, n: int) -> float:
    """The largest v with v + n d v/(v - d) <= most, less a little."""
    # v^2 + v (d (n-1) - most) + d most = 0
    b = most - step * (n - 1)
    root = b * b - 4 * step * most
    _check_fine(b > 0 and root > 0)
    variance = (b + math.sqrt(root)) / 2 * (1 - ROUNDED)
    _check_fine(variance > 2 * step)
    return variance


def _check_fine(enough: bool) -> None:  # noqa: FBT001 - what is checked
    if not enough:
        refuse("the noise is less than the grid can show")
