"""Several releases of one answer, bounded by one: the steps "cone" and "mean". Proofs: docs/mathematics.md, 4.14.

Cone. Let every column q(y|.) > 0 of a release be log-concave in the answer t = 0..R, with slopes of log q(y|.) of at
most C in absolute value. Then the release is a function, with chance, of t + geometric noise of the rate C. Columns of
geometric noise, and of Laplace noise, rounded, clamped or neither, are log-concave with slopes of at most their rate:
both laws are, and so are their sums over intervals. Columns of several releases are products, so that C is the sum of
the rates. Any larger C will do as well. A release that is chosen by the output of the first one is, whatever that
output, a function of geometric noise of the highest rate among the choices.

Mean. 1. The weighted mean of real outputs is sufficient: releases of the variances v_j are one real release of the
variance v, 1/v = sum_j 1/v_j. Rounded and clamped outputs are functions of real ones. Discrete Gaussian noise of
variance w, 3w > 1, is rounded noise of variance v_j, the larger root of 1/v_j - 1/(12 v_j^2) = 1/w, with a chance of
sqrt(v_j/w) / S, S the sum of the density of N(0, w) over the integers, and some other law else (4.13).
2. Let h = 1/g for a whole g, 0 < u < v, r = u (v - u) / v, and V(x|t) proportional to the density of N(t, u) at x in
   hZ, in which all answers t lie: discrete Gaussian noise, in units of h on the answers g t. The real release is
   V + N(0, v - u) with a chance of 1 / (1 + d), d = 2 sum_{k>=1} exp(-2 pi^2 r g^2 k^2), and some other law else.
3. A release that is chosen by the output of the first one is, whatever that output, a function of real noise of the
   least variance among the choices, with the least of their chances.
4. L <= kept L(V) + (1 - kept) log|A|, kept the product of the chances.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from flint import arb

from dalenius.verifier.forms.discrete import over_integers
from dalenius.verifier.forms.named import Added
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, exact
from dalenius.verifier.kernel.reading import field, number, refuse, whole

# Lattices finer than a 64th of an answer are not needed for anything.
FINEST = 64


def strongest(parts: Sequence[Sequence[Added]], where: str) -> list[Added]:
    """Of every release the noise of the highest rate among those that may be chosen for it.

    Refused where one has columns that are not log-concave, or of any slope.
    """
    for j, choices in enumerate(parts):
        for part in choices:
            if not part.steady:
                refuse(
                    f"{where}: release {j}, {part.text}, has no columns that are log-concave with slopes of at most a "
                    "rate; geometric and Laplace noise has"
                )
    return [max(choices, key=_rate) for choices in parts]


def cone(parts: Sequence[Sequence[Added]], stated: dict[str, Any], where: str) -> Ball:
    """Guarantee: all releases together are a function, with chance, of geometric noise of this rate on the answer."""
    total = sum((exact(_rate(part)) for part in strongest(parts, where)), ZERO)
    claimed = arb(number(field(stated, "rate", where), f"the rate of {where}"))
    if not claimed >= total:
        refuse(f"{where}: its rate {float(claimed):.10g} is below {float(total):.10g}, the sum of the releases' rates")
    return claimed


def _rate(part: Added) -> Fraction:
    assert part.size is not None  # for the type checker: it was seen to be steady
    return part.size


def mean(parts: Sequence[Sequence[Added]], stated: dict[str, Any], where: str) -> tuple[int, float, Ball]:
    """Return g, the sigma of V in units of h, and the chance with which all releases are a function of V.

    parts: of every release the laws that may be chosen for it.
    """
    kept, precision = ONE, ZERO
    for j, choices in enumerate(parts):
        normals = []
        for part in choices:
            if part.normal is None:
                refuse(f"{where}: release {j}, {part.text}, has no Gaussian noise, and the mean is not sufficient")
            normals.append(part.normal)
        precision += 1 / reduce(arb.min, (variance for variance, _ in normals))
        kept *= reduce(arb.min, (chance for _, chance in normals))
    g = whole(field(stated, "lattice", where), f"the lattice of {where}", 1, FINEST)
    sigma = number(field(stated, "sigma", where), f"sigma of {where}")
    v, u = 1 / precision, (arb(sigma) / g) ** 2
    if not (sigma > 0 and u < v):
        refuse(f"{where}: sigma is {sigma!r}, and must be above 0 and below {float(v.sqrt() * g):.10g}")
    return g, sigma, kept / over_integers(u * (v - u) / v * g**2)
