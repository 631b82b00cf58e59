"""What no channel can do better than: weak duality, for designs.

A channel q(y|c) takes classes c to outputs y. Let pi(a,c) be a prior that the adversary may hold about a secret A, p(a)
= sum_c pi(a,c), and r(a,y) numbers with sum_a p(a) exp r(a,y) <= 1 for every y. Then L >= I(A;Y) >= sum pi q r. With
weights lam >= 0 over such (pi, r), W(c,y) = sum_k lam_k sum_a pi_k(a,c) r_k(a,y), and costs C(c,y) whose mean sum q C
is the distortion,

    least leakage at distortion D     >= sum_c min_y [ W + nu C ] - nu D        (sum lam = 1, nu >= 0)
    least distortion at leakage L     >= sum_c min_y [ W + C ] - L sum lam.

Where q may be taken constant on orbits of pairs (c,y), the bracket may be averaged over them. Where rows hold at least
`floor` of each of Y outputs, and nothing of those barred, their least mean of the bracket is (1 - Y floor) min_y +
floor sum_y, the minimum over outputs that are not barred. Proofs: docs/mathematics.md, 6.3 and 6.12.
"""

from collections.abc import Collection, Sequence
from functools import reduce

from flint import arb

from .balls import ZERO, Ball, Matrix, log_sum_exp, matrix
from .cells import Shares
from .limits import ticking
from .reading import numbers, sequence

Pairs = Sequence[Ball]  # one entry for every (c,y), y fastest


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
