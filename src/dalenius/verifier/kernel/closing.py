"""From evidence to bounds: the closing formula, and weak duality for designs.

The closing formula leads from a majorant of I(A;Y) to a bound for every prior that the adversary may hold.

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

Weak duality says what no channel can do better than. A channel q(y|c) takes classes c to outputs y. Let pi(a,c) be a
prior that the adversary may hold about a secret A, p(a) = sum_c pi(a,c), and r(a,y) numbers with sum_a p(a) exp r(a,y)
<= 1 for every y. Then L >= I(A;Y) >= sum pi q r. With
weights lam >= 0 over such (pi, r), W(c,y) = sum_k lam_k sum_a pi_k(a,c) r_k(a,y), and costs C(c,y) whose mean sum q C
is the distortion,

    least leakage at distortion D     >= sum_c min_y [ W + nu C ] - nu D        (sum lam = 1, nu >= 0)
    least distortion at leakage L     >= sum_c min_y [ W + C ] - L sum lam.

Where q may be taken constant on orbits of pairs (c,y), the bracket may be averaged over them. Where rows hold at least
`floor` of each of Y outputs, and nothing of those barred, their least mean of the bracket is (1 - Y floor) min_y +
floor sum_y, the minimum over outputs that are not barred. Proofs: docs/mathematics.md, 6.3 and 6.12.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import reduce

from flint import arb

from .balls import ZERO, Ball, Matrix, log_sum_exp, matrix
from .cells import Shares
from .limits import ticking
from .reading import numbers, refuse, sequence

Pairs = Sequence[Ball]  # one entry for every (c,y), y fastest


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


def gains(prior: list[Shares], ratios: object, shape: tuple[int, int], where: str) -> Matrix:
    """Return sum_a pi(a,c) r(a,y) of a prior and log ratios as a certificate gives them; shape: classes, outputs."""
    classes, width = shape
    made = matrix(legal(prior, ratios, width, where))
    return matrix([[law.get(c, ZERO) for c in range(classes)] for law in prior]).transpose() * made


def legal(prior: list[Shares], ratios: object, width: int, where: str) -> list[list[Ball]]:
    """Return log ratios as a certificate gives them, made legal: less log sum_a p(a) exp r(a,y), so that any will do.

    Those of values without mass do not matter, and are 0.
    """
    listed = sequence(ratios, f"ratios of {where}", len(prior))
    given = [numbers(row, width, f"ratios of {where}, value {a}") for a, row in enumerate(listed)]
    log_p = [sum(law.values(), ZERO).log() if law else None for law in prior]
    excess = [
        log_sum_exp(p + row[y] for p, row in zip(log_p, given, strict=True) if p is not None) for y in range(width)
    ]
    none, rows = [ZERO] * width, zip(log_p, given, strict=True)
    return [none if p is None else [r - x for r, x in zip(row, excess, strict=True)] for p, row in rows]


def least(
    terms: Pairs, width: int, maps: Sequence[Sequence[int]], floor: float = 0.0, barred: Collection[int] = ()
) -> Ball:
    """Return sum_c min_y of the terms, each first replaced by the mean over its orbit under the maps of pairs.

    floor: what rows hold of every output at least. barred: pairs that they hold nothing of; maps keep these together.
    """
    result = list(terms)
    seen = bytearray(len(result))
    for start in ticking(range(len(result))) if maps else ():
        if not seen[start]:
            orbit = _orbit(start, maps, seen)
            mean = sum((terms[j] for j in orbit), ZERO) / len(orbit)
            for j in orbit:
                result[j] = mean
    total = ZERO
    for start in range(0, len(result), width):
        pairs = range(start, start + width)
        lowest = reduce(arb.min, (result[j] for j in pairs if j not in barred))
        total += (1 - arb(floor) * width) * lowest + floor * sum((result[j] for j in pairs), ZERO) if floor else lowest
    return total


def _orbit(start: int, maps: Sequence[Sequence[int]], seen: bytearray) -> list[int]:
    orbit = [start]
    seen[start] = True
    for j in orbit:  # which grows
        for image in maps:
            if not seen[image[j]]:
                seen[image[j]] = True
                orbit.append(image[j])
    return orbit
