"""Extrapolation of fixed-point iterations x -> f(x): SQUAREM and Anderson's [anderson65].

A leap may be worse than the plain step: the iteration keeps one only where it is not.
"""

from dataclasses import dataclass, field

import numpy as np

from dalenius.numerics.information import TINY
from dalenius.numerics.types import Floats


def squarem(x0: Floats, x1: Floats, x2: Floats, longest: float) -> Floats:
    """Leap from two steps x0 -> x1 -> x2 of a batch, (B, ...) (Varadhan and Roland 2008, scheme S3).

        x0 + 2 t r + t^2 v,   r = x1 - x0,   v = x2 - 2 x1 + x0,   t = |r| / |v|

    t is at least 1, which is the plain step, and at most `longest`.
    """
    first, second = x1 - x0, x2 - 2 * x1 + x0
    axes = tuple(range(1, x0.ndim))
    ratio = np.sqrt((first**2).sum(axis=axes) / np.maximum((second**2).sum(axis=axes), TINY))
    step = np.clip(ratio, 1.0, longest).reshape(-1, *[1] * len(axes))
    return np.asarray(x0 + 2 * step * first + step**2 * second)


@dataclass
class Anderson:
    """Anderson's extrapolation: the point at which the last steps, if the map were linear, would not move."""

    depth: int
    points: list[Floats] = field(default_factory=list)
    images: list[Floats] = field(default_factory=list)

    def add(self, x: Floats, fx: Floats) -> None:
        """Remember a step x -> fx, and forget those more than `depth` ago."""
        self.points, self.images = [*self.points, x][-self.depth :], [*self.images, fx][-self.depth :]

    def leap(self, x: Floats, fx: Floats, rcond: float = 1e-8) -> Floats:
        """Return where to go next after x -> fx.

        f(x) - sum_k c_k d f_k, where c minimises | g - sum_k c_k d g_k | for the moves g = f(x) - x.
        """
        self.add(x, fx)
        images = np.stack(self.images)
        moves = images - np.stack(self.points)
        share = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=rcond)[0]
        return np.asarray(fx - share @ np.diff(images, axis=0))
