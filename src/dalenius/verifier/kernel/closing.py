"""The closing formula: from a majorant of I(A;Y) to a bound for every prior that the adversary may hold.

Let R be a set of priors pi(a,t) = p_a w_a(t), theta >= 0, eta_a >= 0, and h a function of cells with values below
infinity, such that on R

    (M)   I(A;Y) <= theta H(p) + sum_{a,t} pi(a,t) h(a,t) + sum_a p_a eta_a D(w_a || rho_a).

Then for every s >= max_a eta_a, with sigma_a = s - eta_a, every pi in R with D(pi || rho) <= K has

    (C)   I(A;Y) <= s K + (theta + s) log sum_a exp( (s log rho(a) + G_a) / (theta + s) ),
          G_a = sigma_a log sum_t rho_a(t) exp( h(a,t) / sigma_a ),

G_a = max_t h(a,t) over all cells with mass where sigma_a = 0, and max_a G_a for (C) where theta + s = 0. G_a may be
anything that is at least sum_t w_a h - sigma_a D(w_a || rho_a) for the w_a that occur in R, and rho need not sum to
one. If finitely many R cover a dense set of priors, L is at most the largest (C), each with its s. With joint masses s
log rho(a) + G_a = eta_a log rho(a) + g_a, g_a the same as G_a with rho(a,t) in place of rho_a(t). Where theta = 0 and
every eta is 0, cells of all values may go into one sum. Proof: docs/mathematics.md, 1.1.
"""

from collections.abc import Iterable, Sequence
from functools import reduce

from flint import arb

from .balls import ZERO, Ball, log_sum_exp
from .reading import refuse


def close(exponents: Iterable[Ball], s: Ball, knowledge: Ball, theta: Ball = ZERO, eta: Ball = ZERO) -> Ball:
    """Return (C), from the exponents s log rho(a) + G_a, or more, of all values a with mass.

    eta: the largest eta_a, to be given where s >= eta does not follow from how s was formed.
    """
    if not (theta >= 0 and eta >= 0 and s >= eta):
        refuse("theta and eta must not be below 0, nor s below eta")
    listed, share = list(exponents), theta + s
    if share.is_zero():
        return largest_of(listed)
    return s * knowledge + share * log_sum_exp(x / share for x in listed)


def gain(log_masses: Sequence[Ball], h: Sequence[Ball], s: Ball, eta: Ball = ZERO) -> Ball:
    """Return sigma log sum_t exp( log_masses(t) + h(t) / sigma ), sigma = s - eta; where that is 0, the largest h."""
    sigma = s - eta
    if sigma.is_zero():
        return largest_of(h)
    if not sigma > 0:
        refuse("s must exceed eta")
    inverse = 1 / sigma
    return sigma * log_sum_exp([p + x * inverse for p, x in zip(log_masses, h, strict=True)])


def largest_of(balls: Iterable[Ball]) -> Ball:
    """Guarantee: result >= every one of these balls, of which there is at least one; not a number if one of them is."""
    return reduce(arb.max, balls)
