"""Tilted laws of very many cells, and their moments, in one pass over the channel.

On a problem with very many cells the solvers use nothing but laws

    w(t|a) ~ rho(a,t) exp( x ),   x(a,t) = q(.|a,t) . alpha_a + beta_a sum_y phi( q(y|a,t) ),

such as the best prior for a posterior, and the maximiser of a convex bound. A pass takes the rows of
the channel in chunks that stay in the processor's cache, for all laws of a batch at once, and keeps sums only: besides
the channel, which all secrets share, nothing is as large as it.
"""

from dataclasses import dataclass

import numpy as np

from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells


@dataclass(frozen=True, eq=False)
class Tilted:
    """Laws of a batch and their moments in every row."""

    # (B, A) log sum_t rho exp(x)
    log_z: Floats
    # (B, A, Y) u(a, y) = sum_t w q
    law: Floats
    # (B, A) mean and variance of x under w; no variance where second moments are computed
    mean: Floats
    variance: Floats
    # (B, A) sum_t w sum_y phi(q), where beta is given
    neg_entropy: Floats
    # (B, A, Y, Y) sum_t w q q', where second=True
    second: Floats


def tilt(
    cells: Cells, alpha: Floats, beta: Floats | None = None, neg_entropy: Floats | None = None, *, second: bool = False
) -> Tilted:
    """Return the laws of alpha (B, A, Y) and beta (B, A), which comes with sum_y phi(q) of the channel's rows.

    Sums are kept relative to the greatest exponent so far, so that nothing overflows and no row is empty.
    """
    many, y = len(alpha), cells.n_outputs
    shape = (many, cells.n_secrets)
    peak, z, two, own = np.full(shape, -np.inf), *np.zeros((3, *shape))
    law, moment = np.zeros((*shape, y)), np.zeros((*shape, y, y) if second else (*shape, 0, 0))
    for a, here, q, taken in cells.chunks(many):
        # x = q . alpha_a + beta_a sum_y phi(q)
        x = alpha[:, a] @ q.T
        if beta is not None and neg_entropy is not None:
            entropies = neg_entropy[taken]
            x += beta[:, a, None] * entropies
        weight = x if cells.even is not None else x + cells.log_rho[here]
        # A larger exponent than all before it: what was summed up shrinks by exp(old - new).
        top = weight.max(axis=1)
        if (top > peak[:, a]).any():
            top = np.maximum(top, peak[:, a])
            shrink = np.exp(peak[:, a] - top)
            peak[:, a] = top
            for total in (z, two, own, law, moment):
                total[:, a] *= shrink.reshape(-1, *[1] * (total.ndim - 2))
        # weight = rho exp( x - peak )
        weight = weight - peak[:, a, None]
        np.exp(weight, out=weight)
        z[:, a] += weight.sum(axis=1)
        law[:, a] += weight @ q
        if beta is not None:
            own[:, a] += weight @ entropies
        if second:
            moment[:, a] += (q * weight[:, :, None]).transpose(0, 2, 1) @ q
        else:
            weight *= x
            two[:, a] += np.einsum("bc,bc->b", weight, x)
    wide = z[..., None]
    law, own = law / wide, own / z
    # E_w x = alpha . u + beta E_w sum_y phi(q),   Var_w x = E_w x^2 - (E_w x)^2
    mean = (alpha * law).sum(axis=2) + (0.0 if beta is None else beta * own)
    variance = np.maximum(two / z - mean**2, 0.0)
    return Tilted(peak + np.log(z) + (cells.even or 0.0), law, mean, variance, own, moment / wide[..., None])


def density(cells: Cells, alpha: Floats, log_scale: Floats) -> Floats:
    """rho exp( q . alpha_a + log_scale_a ) of every cell, (C,), for alpha (A, Y) and log_scale (A,)."""
    pi = np.empty(cells.size)
    for a, here, q, _ in cells.chunks():
        pi[here] = np.exp(q @ alpha[a] + cells.log_rho[here] + log_scale[a])
    return pi
