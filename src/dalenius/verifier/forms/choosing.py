"""The most frequent value with noise, noisy_max: P(y) of every count vector, in balls."""

from collections.abc import Sequence

from flint import arb_poly

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, precision
from dalenius.verifier.kernel.limits import tick, ticking


def gumbel(counts: Sequence[int], epsilon: Ball) -> list[Ball]:
    """P(y) proportional to exp(epsilon c_y / 2): the largest count after Gumbel noise of scale 2 / epsilon."""
    tick()
    weights = [(epsilon * (c - max(counts)) / 2).exp() for c in counts]
    total = sum(weights, ZERO)
    return [w / total for w in weights]


def permute_and_flip(counts: Sequence[int], epsilon: Ball) -> list[Ball]:
    """Values in random order, each taken with probability p_v = exp( epsilon (c_v - max c) / 2 ) until one is.

    A random order is that of uniform arrival times. Given that y arrives at t it is the one taken where no other value
    both arrives before t and is taken when it does:

        P(y) = p_y int_0^1 prod_{v != y} (1 - t p_v) dt,

    a polynomial. Its coefficients alternate in sign, and none exceeds 2^(k-1): that many bits are added.
    """
    tick()
    with precision(2 * len(counts) + 192):
        p = [(epsilon * (c - max(counts)) / 2).exp() for c in counts]
        chance: dict[int, Ball] = {}
        for y, c in enumerate(counts):
            if c not in chance:
                product = arb_poly([ONE])
                for v, q in ticking(enumerate(p), every=64):
                    if v != y:
                        product *= arb_poly([ONE, -q])
                area = sum((a / (j + 1) for j, a in enumerate(product.coeffs())), ZERO)
                chance[c] = p[y] * area
    return [(+chance[c]).nonnegative_part() for c in counts]


LAWS = {"gumbel": gumbel, "permute_and_flip": permute_and_flip}
