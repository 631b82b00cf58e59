"""Ratio tightening: what the posterior at one group of outputs says about the posterior at another (MATH 4.10).

z(a,G')/z(a,G) is an average of Q(G'|t)/Q(G|t) over the cells t of a, with weights pi(a,t) Q(G|t). So with the odds
o_a(G) = v(a|G) / (1 - v(a|G)), and least and most over cells with Q(G|t) + Q(G'|t) > 0,

    least_a / most_(not a)  <=  o_a(G') / o_a(G)  <=  most_a / least_(not a) .

These factors obey a triangle inequality: least and most of a product are within the products of least and most. So
after a cut at one group its new end, carried once to every other group, leaves nothing that a second pass would
tighten.
"""

from dataclasses import dataclass

import numpy as np

from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.cells import Cells


@dataclass(frozen=True, eq=False)
class Ratios:
    """Factors between the odds at two groups, each (A-1, G, G'): from G to G' they grow by `least` to `most`."""

    least: Floats
    most: Floats

    @classmethod
    def of(cls, cells: Cells, coarse: Floats) -> "Ratios":
        """Pass over all cells once for every group and secret value; a factor that says nothing is 0, or infinite."""
        groups = coarse.shape[1]
        # (A, G, G') of the cells of one value alone
        low, high = (np.empty((cells.n_secrets, groups, groups)) for _ in range(2))
        with np.errstate(all="ignore"):
            for a, part in enumerate(cells.slices):
                own = coarse[part]
                for g in range(groups):
                    # x/0 is infinite; 0/0 is no number, and says nothing
                    ratio = own / own[:, g : g + 1]
                    low[a, g], high[a, g] = np.fmin.reduce(ratio, axis=0), np.fmax.reduce(ratio, axis=0)
            others = [[b for b in range(cells.n_secrets) if b != a] for a in range(1, cells.n_secrets)]
            least = low[1:] / np.stack([np.fmax.reduce(high[rest], axis=0) for rest in others])
            most = high[1:] / np.stack([np.fmin.reduce(low[rest], axis=0) for rest in others])
        return cls(np.where(np.isnan(least), 0.0, least), np.where(np.isnan(most), np.inf, most))

    def tightened(self, low: Floats, high: Floats, value: Ints, group: Ints, at: Floats) -> tuple[Floats, Floats]:
        """Carry the cut of every node to its other groups; all left halves come first, then all right ones.

        low, high: (2B, A-1, G), new arrays, with the cut in them. Where there are more than two secret values, what the
        lower ends of the others leave is an upper end as well.
        """
        many = len(at)
        left, right = np.arange(many), np.arange(many, 2 * many)
        carried = _carried(at, self.most[value, group])
        high[left, value] = np.minimum(high[left, value], np.where(np.isnan(carried), 1.0, carried))
        carried = _carried(at, self.least[value, group])
        low[right, value] = np.maximum(low[right, value], np.where(np.isnan(carried), 0.0, carried))
        if low.shape[1] > 1:
            high = np.minimum(high, 1 - (low.sum(axis=1, keepdims=True) - low))
        return low, high


def _carried(at: Floats, factor: Floats) -> Floats:
    """The posterior whose odds are `factor` times those of `at`: v / (v + (1-v) / factor)."""
    v = at[:, None]
    with np.errstate(all="ignore"):
        return np.asarray(v / (v + (1 - v) / factor))
