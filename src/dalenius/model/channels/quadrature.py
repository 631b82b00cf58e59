"""Real noise seen through finitely many points: a finite channel that leaks almost exactly as much.

Y = f(x) + noise has densities p_t(y), one per answer f_t. For a prior pi on pairs of a secret value and a class write
z_a(y) = sum_t pi(a,t) p_t(y), z = sum_a z_a and p_a for the mass of a. Then

    I(A;Y) = integral of F,      F(y) = sum_a z_a log( z_a / (p_a z) ) >= 0,

and F is analytic between the points where a density has a corner, for every prior at once. So a quadrature rule with
weights w_k at points y_k integrates F with an error that falls exponentially in the number of points, and the sum of
w_k F(y_k) is what a finite channel with probabilities w_k p_t(y_k) leaks.

Guarantee: | I(A;Y) - sum_k w_k F(y_k) | <= error, up to a part between 0 and skipped x log K that the sum leaves out,
for every secret and every prior; K is the number of different answers, `skipped` the mass beyond the points.

Proof. Move y to y + i v. The densities of all answers are multiplied by one common number, which leaves the ratios in F
alone, and by phases that lie within an angle of 2 beta < pi. So |z_a| and |z|, divided by that number, lie between
cos(beta) and 1 times their values at y, no logarithm meets its branch point, and

    |F(y + i v)| <= |common number| x sum_a z_a(y) ( |log u_a(y)| + log sec beta + 2 beta ),      u_a = z_a / (p_a z).

Here sum_a z_a |log u_a| = sum_a z_a log u_a + 2 sum_a p_a z u_a max(0, -log u_a) <= z D(posterior || prior) + 2 z/e,
as u log 1/u <= 1/e. D of the secret is at most D of the answer T (data processing), and z times that is at most
sum_t P(t) p_t log 1/P(t). So |F| <= |common number| x Z C where no density is above Z, and the integral of |F| along
the line is at most |common number| x C, with

    C = log K + 2/e + log sec beta + 2 beta.

Laplace of rate r: between neighbouring answers p_t is a multiple of exp(-r y) or of exp(+r y), so the phases are -r v
and +r v, beta = r v, and the common number is 1. On an interval of half-width w the m-point rule of Gauss and
Legendre is exact for polynomials of degree 2m-1, and F is bounded by Z C in the ellipse with foci at its ends and
half-axes w a, w b, where b = beta/(r w), a = sqrt(1+b^2), rho = a+b; Z = r/2 exp( r w (a-1) ), as the ellipse reaches
that far beyond the ends. The Chebyshev coefficients of F are at most 2 Z C rho^-k and the rule errs on T_k by at most
2 + 2/(k^2-1) <= 32/15 for even k >= 4, and not at all for odd k: the error is at most w (64/15) Z C rho^(-2m) / (1 -
rho^-2) for m >= 2. Below the least and above the greatest answer all densities are proportional: one output for each
side, without any error.

Gaussian of deviation sigma: |exp( -(y + i v - f)^2 / 2 sigma^2 )| is exp( v^2 / 2 sigma^2 ) times its value at v = 0,
with the phase (f - y) v / sigma^2: beta = M v / (2 sigma^2) for answers that span M. The trapezoidal rule of step h
on the whole line then errs by at most 2 C exp( v^2 / 2 sigma^2 ) / ( exp(2 pi v / h) - 1 ). What the points beyond
the first and the last would add lies between 0 and their mass times log K, and a sum over the tail of a falling
density is below its integral.
"""

import math
from dataclasses import dataclass

import numpy as np

from dalenius.errors import refuse
from dalenius.numerics.types import Floats

ANGLES = np.linspace(0.02, 0.98, 49) * (math.pi / 2)
ROUNDING = 1 + 1e-9  # how much the floats below may have lost


@dataclass(frozen=True, eq=False)
class Quadrature:
    """The points of a rule, what it misses at most, and the numbers from which a verifier rebuilds it."""

    masses: Floats  # (answers, outputs): w_k p_t(y_k), and the two sides of Laplace noise
    error: float
    skipped: float
    description: dict[str, object]


def spread(error: float, answers: int) -> float:
    """Return the share of `error` for the rule itself: the whole bracket is then wider by at most `error`."""
    return error / (2 + 4 * math.log(answers))


def laplace(f: Floats, rate: float, error: float, widest: float = 8.0, most_per_piece: int = 256) -> Quadrature:
    """Return the rule for Laplace noise of this rate (1/scale) around the answers f.

    Pieces between answers are at most `widest`/rate wide and have fewer than `most_per_piece` points.
    """
    distinct = np.unique(f)
    gaps = np.diff(distinct)
    pieces = np.maximum(1, np.ceil(gaps * (rate / widest)))
    _fits(2 * float(pieces.sum()), f.size)
    inside = [
        np.linspace(a, b, int(k), endpoint=False) for a, b, k in zip(distinct, distinct[1:], pieces, strict=False)
    ]
    edges = np.append(np.concatenate(inside), distinct[-1])
    half = np.diff(edges) / 2
    target = spread(error, distinct.size)
    for m in range(2, most_per_piece):
        errors = laplace_error(half, rate, m, distinct.size)
        best = int(np.argmin(errors))
        if errors[best] <= target:
            break
    _fits(float(m * half.size), f.size)
    x, w = np.polynomial.legendre.leggauss(m)
    points = ((edges[:-1] + edges[1:]) / 2)[:, None] + half[:, None] * x
    weights = half[:, None] * w * (rate / 2)
    inner = weights.ravel() * np.exp(-rate * np.abs(points.ravel() - f[:, None]))
    sides = 0.5 * np.exp(-rate * np.abs(f[:, None] - distinct[[0, -1]]))
    description = {"edges": edges.tolist(), "points": m, "angle": float(ANGLES[best]), "slack": target}
    return Quadrature(
        np.column_stack([sides[:, 0], inner, sides[:, 1]]), float(errors[best]) * ROUNDING, 0.0, description
    )


def laplace_error(half: Floats, rate: float, points: int, answers: int) -> Floats:
    """The bound of the module's docstring on the error of all pieces together, for every angle."""
    x, beta = rate * half, ANGLES[:, None]
    log_rho = np.arcsinh(beta / x)
    tail = np.exp(np.hypot(x, beta) - x - 2 * points * log_rho) / -np.expm1(-2 * log_rho)
    return np.asarray((x / 2 * tail).sum(axis=1) * (64 / 15) * _constant(ANGLES, answers))


def gaussian(f: Floats, sigma: float, error: float) -> Quadrature:
    """Return the rule for Gaussian noise of deviation sigma around the answers f."""
    from scipy.special import log_ndtr, ndtri_exp

    distinct = np.unique(f)
    low, high = float(distinct[0]), float(distinct[-1])
    target = spread(error, distinct.size)
    v = np.minimum(ANGLES * 2 * sigma * (sigma / (high - low)), 12 * sigma * ANGLES)
    angles = v / sigma * ((high - low) / (2 * sigma))
    constant = 2 * _constant(angles, distinct.size) * np.exp((v / sigma) ** 2 / 2)
    steps = 2 * math.pi * v / np.log1p(constant / target)
    best = int(np.argmax(steps))
    reach = -float(ndtri_exp(math.log(target / 4))) * sigma
    many = math.ceil(((high - low + 2 * reach) / steps[best]) + 1)
    _fits(float(many), f.size)
    step = float(steps[best])
    first = (low + high) / 2 - (many - 1) / 2 * step
    points = first + np.arange(many) * step
    masses = np.exp(-(((points - f[:, None]) / sigma) ** 2) / 2) * (step / (sigma * math.sqrt(2 * math.pi)))
    rule = constant[best] / math.expm1(2 * math.pi * v[best] / step)
    ends = (float(points[-1]) - high, low - first)
    skipped = sum(math.exp(float(log_ndtr(-end / sigma))) for end in ends)
    description = {"first": first, "step": step, "count": many, "angle": float(angles[best]), "slack": target}
    return Quadrature(masses, float(rule) * ROUNDING, skipped * ROUNDING, description)


def _constant(angles: Floats, answers: int) -> Floats:
    """C of the module's docstring."""
    return np.asarray(math.log(answers) + 2 / math.e - np.log(np.cos(angles)) + 2 * angles)


def _fits(points: float, rows: int, most: int = 2**14, most_entries: int = 2**20) -> None:
    """Refuse more points, or answers x points, than can be worked on."""
    if not (points <= most and points * rows <= most_entries):
        refuse(
            f"noise with real outputs on these {rows} answers needs about {points:.3g} points, above the limit of "
            f"{min(most, most_entries // rows)}; use fewer records or more noise, or leave output='real' out: "
            "rounded outputs are audited at any size"
        )
