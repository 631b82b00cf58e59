"""Entropy, Kullback-Leibler divergence and mutual information, in nats, with 0 log 0 = 0."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, rel_entr


def entropy(p: ArrayLike, axis: int = -1) -> Any:  # noqa: ANN401 - a float or an array, as numpy's sums
    """H(p) = - sum p log p along an axis."""
    return np.sum(entr(np.asarray(p, dtype=float)), axis=axis)


def kl(p: ArrayLike, r: ArrayLike, axis: int | tuple[int, ...] = -1) -> Any:  # noqa: ANN401 - a float or an array
    """D(p || r) = sum p log(p / r) along an axis; infinite where r = 0 < p."""
    return np.sum(rel_entr(np.asarray(p, dtype=float), np.asarray(r, dtype=float)), axis=axis)


def mutual_information(joint: ArrayLike) -> Any:  # noqa: ANN401 - a float or an array
    """I(A;Y) = D( z || z_a z_y ) of joint laws z(..., a, y); leading axes are a batch."""
    z = np.asarray(joint, dtype=float)
    product = z.sum(axis=-1, keepdims=True) * z.sum(axis=-2, keepdims=True)
    return np.maximum(kl(z, product, axis=(-2, -1)), 0.0)
