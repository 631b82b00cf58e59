"""KL contraction coefficients of channels, and coarse outputs they allow (MATH 4.3, 4.6).

eta = sup D(wq || w0 q) / D(w || w0). Binary inputs suffice [ordentlich20]:

    eta = max over pairs of rows P, Q of  1 - min_lam h(lam),   h(lam) = sum_y P Q / (lam P + (1-lam) Q),

and h is convex, so its tangents bound it from below. h rises with every entry of P and Q. So rows that are nearly equal
may be bundled: the least entries of a bundle stand for all of its rows, and two rows of one bundle have at least their
sum for h. Noise on a sum has few different laws within a group of outputs, however many the answers.

With the outputs in groups, U the group law and eta the largest coefficient of a within-group channel,

    D(u || u0) <= (1 - eta) D(U || U0) + eta D(w || w0).
"""

from dataclasses import dataclass, field

import numpy as np

from dalenius.numerics.information import TINY
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells

# Pairs of rows x outputs held at once; beyond it contraction is not used.
PAIR_ENTRIES = 400_000
# Rows x outputs up to which outputs are put in groups. That takes 2 s for a window of a count of 5,600, which has 634
# cells and 377 outputs.
GROUPED_ENTRIES = 2**19
# Groups of outputs up to which any two may be joined; beyond it only neighbours.
JOINED_GROUPS = 12


def coefficient(rows: Floats, margin: float = 1e-11, rounds: int = 50, most: float = np.inf) -> float:
    """Return eta of the channel with these rows, which need not be normalised.

    Guarantee: result >= eta up to rounding below `margin`. lam is found by Newton's method, by bisection where that
    leaves its bracket, in at most so many rounds; the tangent at the last one pays for what is left. 1, which is always
    true, where pairs of rows x outputs are more than `most`.
    """
    rows = rows[rows.sum(axis=1) > 0]
    rows = rows / rows.sum(axis=1, keepdims=True)
    if rows.shape[1] == 2 < len(rows):  # over two outputs
        # All rows are mixtures of two, and mixing raises no divergence.
        rows = rows[[rows[:, 0].argmin(), rows[:, 0].argmax()]]
    rows, apart = _bundled(np.unique(rows, axis=0))
    if len(rows) < 2 or rows.shape[1] < 2:  # nothing to tell apart
        return margin + apart
    if len(rows) ** 2 * rows.shape[1] > most:
        return 1.0
    i, j = np.triu_indices(len(rows), 1)
    p, q = rows[i], rows[j]
    product, difference = p * q, p - q
    low, high, lam = np.zeros(len(p)), np.ones(len(p)), np.full(len(p), 0.5)
    for _ in range(rounds):
        height, slope, curvature = _derivatives(product, difference, q, lam)
        # h >= h(lam) + h'(lam) (x - lam) for x in [0, 1]
        slack = np.maximum(slope * lam, -slope * (1 - lam))
        if slack.max() <= margin / 10:
            break
        low, high = np.where(slope < 0, lam, low), np.where(slope < 0, high, lam)
        new = lam - slope / curvature
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        # One that is near enough stays: rounding would throw it back to the middle of its bracket.
        lam = np.where(slack <= margin / 10, lam, new)
    return float(min(1.0, max(apart, (1 - height + slack).max()) + margin))


def _bundled(rows: Floats, few: int = 8, decimals: int = 10) -> tuple[Floats, float]:
    """The least entries of rows that agree to some decimals, and how much mass that leaves out; few rows stay apart."""
    if len(rows) <= few:
        return rows, 0.0
    bundle = np.unique(rows.round(decimals), axis=0, return_inverse=True)[1].reshape(-1)
    least = np.full((bundle.max() + 1, rows.shape[1]), np.inf)
    np.minimum.at(least, bundle, rows)
    return least, float(1 - least.sum(axis=1).min())


def _derivatives(product: Floats, difference: Floats, q: Floats, lam: Floats) -> tuple[Floats, Floats, Floats]:
    """h(lam) = sum_y P Q / (lam P + (1-lam) Q) of each pair, h' and h''."""
    # So far from 0 that its third power is still a number
    mixed = np.maximum(lam[:, None] * difference + q, TINY ** (1 / 3))
    ratio = difference / mixed
    terms = product / mixed
    height = np.add.reduce(terms, axis=1)
    terms *= ratio
    slope = -np.add.reduce(terms, axis=1)
    terms *= ratio
    return height, slope, np.maximum(2 * np.add.reduce(terms, axis=1), TINY)


def affordable(cells: Cells) -> bool:
    """Whether every pair of rows can be looked at."""
    most = max(s.stop - s.start for s in cells.slices)
    return bool(most**2 * cells.n_outputs <= PAIR_ENTRIES)


@dataclass(frozen=True, eq=False)
class Joined:
    """Coefficients of groups of outputs, each computed once; 1 where pairs of rows x outputs are more than `most`."""

    rows: Floats
    most: float = np.inf
    found: dict[frozenset[int], float] = field(default_factory=dict)

    @classmethod
    def of(cls, cells: Cells) -> "Joined":
        """All rows as one channel."""
        return cls(np.unique(cells.q, axis=0), PAIR_ENTRIES)

    def __call__(self, members: frozenset[int]) -> float:
        """The coefficient of the channel within a group."""
        if members not in self.found:
            self.found[members] = coefficient(self.rows[:, sorted(members)], most=self.most)
        return self.found[members]


def coarsen_together(joined: Joined, limit: float, few: int = JOINED_GROUPS) -> tuple[list[int], float]:
    """Group the outputs alike for all rows; the coefficient is that of all rows as one channel, which bounds each.

    Of more than `few` groups only neighbours are joined.
    """
    if joined.rows.size > GROUPED_ENTRIES:
        return list(range(joined.rows.shape[1])), 0.0
    many = joined.rows.shape[1]
    everything = joined(frozenset(range(many)))
    if everything <= limit:
        return [0] * many, everything

    parts = [frozenset([y]) for y in range(many)]
    eta = 0.0
    while len(parts) > 1:
        # Answers that are numbers blur into their neighbours, so that with many outputs only neighbours are tried.
        reach = len(parts) if len(parts) <= few else 1
        cost, i, j = min(
            (joined(parts[i] | parts[j]), i, j) for i in range(len(parts)) for j in range(max(0, i - reach), i)
        )
        if cost > limit:
            break
        eta = max(eta, cost)
        parts[j] = parts[j] | parts[i]
        del parts[i]
        parts.sort(key=min)
    labels = [next(g for g, part in enumerate(parts) if y in part) for y in range(many)]
    return labels, eta
