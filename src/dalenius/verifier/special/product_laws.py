"""What noise on every count of a histogram leaves of a divergence from independent records.

Geometric noise of rate c is on every count, or noise that is such noise and more. Under W records are independent, and
record i has the law p_i. Then D(p q || W q) <= eta D(p || W) for every law p of the records, with

    log(1/eta) = integral over beta >= 1 of 1 / ( beta (1 + beta Theta(beta)) ),     Theta = sum_i theta_i(beta),
    theta_i <= crude = e^2c sinh(c)^2 ( c / (1 - e^-c) )^2 / 2,

and where e^2c <= 2 + sqrt 8, for beta <= b, b >= 2, p* and p_* the largest and the least of k masses, at the worst M,

    theta_i <= sinh(c)^2 p* kappa s / ( k p_* M / (2 cosh c - M) - 2 p* sinh(c) e^c (e^c/M)^(b-2) ),
    s = (2 cosh c - M - 1/M) / (2 cosh c - 2),      kappa = max( kappa_b(e^c/M), kappa_1(e^-c/M) if beta < 2 ),
    kappa_b(x) = 2 ( b x^b log x - x^b + 1 ) / ( b^2 (x-1)^2 ),

if the denominator is above 0. Proof: docs/proofs/product-laws.md.
"""

from collections.abc import Sequence
from functools import reduce

from flint import arb

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.closing import largest
from dalenius.verifier.kernel.limits import tick

# Parts of the range of log M to either side of 0; steps of beta, by a factor, up to the last.
PARTS = 48
STEP = 1.125
LAST = 4096.0
# Up to which e^2c a function is convex: 2 + sqrt 8 = 4.828..
CONVEX = 4.828


def contraction(rate: Ball, records: Sequence[tuple[int, Sequence[Ball]]]) -> Ball:
    """Guarantee: D(p q || W q) <= result x D(p || W) for every law p of the records, W their product law.

    records: how many have one law, and the masses of the values that they can have.
    """
    # A record of one value tells nothing.
    listed = [(many, masses) for many, masses in records if len(masses) > 1]
    crude = (2 * rate).exp() * rate.sinh() ** 2 * (rate / -(-rate).expm1()) ** 2 / 2
    total = sum(many for many, _ in listed) * crude
    if total.is_zero():
        return ZERO
    before, kept = arb(1), ZERO
    after = arb(2)
    laws = [(many, largest(masses), reduce(arb.min, masses), len(masses)) for many, masses in listed]
    while (2 * rate).exp() <= CONVEX and after <= LAST:
        tick()
        theta = sum((many * _theta(rate, after, *law, crude=crude) for many, *law in laws), ZERO)
        if not theta < total:
            break
        kept += (after / before * (1 + before * theta) / (1 + after * theta)).log()
        before, after = after, after * STEP
    return (-kept).exp() * before * total / (1 + before * total)


def _theta(c: Ball, b: Ball, most: Ball, least: Ball, k: int, *, crude: Ball) -> Ball:
    """Guarantee: result >= theta for every beta of the step that ends in b; the first begins with 1.

    Of every part of the range of M one end serves for each factor: s rises up to M = 1 and falls from there.
    """
    high, both, top = c.exp(), 2 * c.cosh(), ZERO
    first = b <= 2
    for j in range(-PARTS, PARTS):
        low, upper = (c * j / PARTS).exp(), (c * (j + 1) / PARTS).exp()
        below = k * least * low / (both - low) - 2 * most * c.sinh() * high * (high / low) ** (b - 2)
        near = low if j >= 0 else upper
        kappa = _kappa(b, high / low)
        if first:
            kappa = kappa.max(_kappa(ONE, 1 / (high * upper)))
        spread = (both - near - 1 / near) / (both - 2) if j not in (-1, 0) else ONE
        found = c.sinh() ** 2 * most * kappa * spread / below if below > 0 else crude
        top = top.max(min(crude, found))
    return top


def _kappa(b: Ball, x: Ball) -> Ball:
    log = x.log()
    power = (b * log).exp()
    return 2 * (b * power * log - power + 1) / (b * (x - 1)) ** 2
