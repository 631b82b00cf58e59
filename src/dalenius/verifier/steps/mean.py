"""Several releases of one answer with Gaussian noise, bounded by one on a lattice: the step "mean".

1. The weighted mean of real outputs is sufficient: releases of the variances v_j are one real release of the variance
   v, 1/v = sum_j 1/v_j. Rounded and clamped outputs are functions of real ones. Discrete Gaussian noise of variance w,
   3w > 1, is rounded noise of variance v_j, the larger root of 1/v_j - 1/(12 v_j^2) = 1/w, with a chance of
   sqrt(v_j/w) / S, S the sum of the density of N(0, w) over the integers, and some other law else (4.13).
2. Let h = 1/g for a whole g, 0 < u < v, r = u (v - u) / v, and V(x|t) proportional to the density of N(t, u) at x in
   hZ, in which all answers t lie: discrete Gaussian noise, in units of h on the answers g t. The real release is
   V + N(0, v - u) with a chance of 1 / (1 + d), d = 2 sum_{k>=1} exp(-2 pi^2 r g^2 k^2), and some other law else.
3. A release that is chosen by the output of the first one is, whatever that output, a function of real noise of the
   least variance among the choices, with the least of their chances.
4. L <= kept L(V) + (1 - kept) log|A|, kept the product of the chances. Proof: docs/mathematics.md, 4.14.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from flint import arb

from dalenius.verifier.forms.discrete import over_integers
from dalenius.verifier.forms.named import Added
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.reading import field, number, refuse, whole

# Lattices finer than a 64th of an answer are not needed for anything.
FINEST = 64


def lattice(parts: Sequence[Sequence[Added]], stated: dict[str, Any], where: str) -> tuple[int, float, Ball]:
    """Return g, the sigma of V in units of h, and the chance with which all releases are a function of V.

    parts: of every release the laws that may be chosen for it.
    """
    kept, precision = ONE, ZERO
    for j, choices in enumerate(parts):
        normals = [_normal(part, f"{where}: release {j}") for part in choices]
        precision += 1 / reduce(arb.min, (variance for variance, _ in normals))
        kept *= reduce(arb.min, (chance for _, chance in normals))
    g = whole(field(stated, "lattice", where), f"the lattice of {where}", 1, FINEST)
    sigma = number(field(stated, "sigma", where), f"sigma of {where}")
    v, u = 1 / precision, (arb(sigma) / g) ** 2
    if not (sigma > 0 and u < v):
        refuse(f"{where}: sigma is {sigma!r}, and must be above 0 and below {float(v.sqrt() * g):.10g}")
    return g, sigma, kept / over_integers(u * (v - u) / v * g**2)


def _normal(part: Added, where: str) -> tuple[Ball, Ball]:
    """The variance of the normal law of which noise is a function, and with what chance."""
    if part.normal is None:
        refuse(f"{where}, {part.text}, has no Gaussian noise, and the mean is not sufficient")
    return part.normal
