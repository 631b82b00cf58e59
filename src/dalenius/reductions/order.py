"""Orders of rows and outputs in which likelihood ratios never fall: what monotone rows need (MATH 4.11).

Row t of a channel is above row t' where q(y'|t)/q(y|t) does not fall from t' to t for outputs y <= y'. Noise with a
log-concave law on a sum has such rows by its name, in the order of the answers. For any other channel the order is
looked for: outputs are ranked once, or once for each part of a joint release, whose outputs are tuples.
"""

from dataclasses import dataclass, field

import numpy as np

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.statistic import Sum
from dalenius.numerics.information import safe_log
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import Merged
from dalenius.settings import Limits

# Families whose rows are ordered by the answers: log-concave noise of full support, rounded and clamped, and the
# exponential mechanism, whose score falls with distance.
MONOTONE = ("geometric", "laplace", "gaussian", "discrete_gaussian", "exponential")


@dataclass(frozen=True, eq=False)
class Order:
    """Rows in ascending order, and the rank of every output."""

    # (R,) the rows of the merged channel, ascending.
    rows: Ints
    # For every part of a joint release the rank of each original output, -1 where it never occurs; None where the name
    # of the mechanism says it.
    parts: tuple[Ints, ...] | None = None
    # Geometric and Laplace noise: its rate, and the answer that each of these rows has.
    rate: float | None = None
    answers: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def rank(self) -> Ints:
        """(R,) the place of every row in that order."""
        rank = np.empty_like(self.rows)
        rank[self.rows] = np.arange(self.rows.size)
        return rank


def ordered(mechanism: Mechanism, merged: Merged, limits: Limits, slack: float = 1e-9) -> Order | None:
    """Return the order of a channel's rows, or None where there is none, or none is found.

    slack: how far a log ratio may fall, which rounding explains; a verifier makes up for it.
    """
    if by_name(mechanism):
        return Order(np.arange(len(merged.channel)))
    if merged.channel.size > limits.ordered_entries or len(merged.channel) < 2:  # noqa: PLR2004 - nothing to order
        return None
    if (merged.channel <= 0).any():
        return None
    written = mechanism.written()
    if (parts := parts_of(written.labels)) is not None and (merged.outputs >= 0).all():
        return _joint(written.rows[merged.first], parts, slack)
    rows, columns = _found(merged.channel)
    if not _ascending(merged.channel[rows][:, columns], slack):
        return None
    rank = np.empty_like(columns)
    rank[columns] = np.arange(columns.size)
    return Order(rows, (np.where(merged.outputs >= 0, rank[merged.outputs], -1),))


def by_name(mechanism: Mechanism) -> bool:
    """Whether the name of the noise implies it: on a sum, not a remainder, with answers that never fall along it."""
    query, name = mechanism.query, mechanism.name
    if name is None or query is None or not (query.named and query.numeric):
        return False
    # Points in place of real outputs have rows, and the name of the real mechanism.
    if name.split("(")[0] not in MONOTONE or "output=" in name:
        return False
    statistic = query.statistic
    if not isinstance(statistic, Sum) or statistic.modulus is not None:
        return False
    return bool((np.diff(np.asarray(query.answers)) >= 0).all())


def parts_of(labels: tuple[object, ...]) -> list[Ints] | None:
    """The rank of every output in each part of a joint release, where all tuples of parts are there."""
    tuples = [label for label in labels if isinstance(label, tuple)]
    if len(tuples) < len(labels) or len({len(label) for label in tuples}) != 1:
        return None
    parts, many = [], 1
    for column in zip(*tuples, strict=True):
        place = {label: k for k, label in enumerate(dict.fromkeys(column))}
        parts.append(np.array([place[label] for label in column]))
        many *= len(place)
    return parts if many == len(tuples) and len(parts) > 1 else None


def _joint(rows: Floats, parts: list[Ints], slack: float) -> Order | None:
    """The order of independent releases of the same sum: every part has the same order of rows."""
    order: Ints | None = None
    ranks = []
    product = np.ones_like(rows)
    for part in parts:
        own = np.stack([rows[:, part == k].sum(axis=1) for k in range(int(part.max()) + 1)], axis=1)
        product *= own[:, part]
        found, columns = _found(own)
        order = found if order is None else order
        if not _ascending(own[order][:, columns], slack):
            columns = columns[::-1]
        if not _ascending(own[order][:, columns], slack):
            return None
        rank = np.empty_like(columns)
        rank[columns] = np.arange(columns.size)
        ranks.append(rank[part])
    if order is None or (np.abs(product / rows - 1) > slack).any():
        return None
    return Order(order, tuple(ranks))


def _found(channel: Floats) -> tuple[Ints, Ints]:
    """An order of rows and of outputs that is the right one if there is any.

    In the right orders the second pair of singular vectors of the channel, scaled to rows and columns of equal sums,
    is monotone. Then outputs are ordered by the mean rank of the row that they point at, and rows by the mean rank of
    their output: both rise with the order, and lose no digits.
    """
    weight = channel.sum(axis=0)
    left = np.linalg.svd(channel / np.sqrt(weight), full_matrices=False)[0]
    rank = np.empty(len(channel))
    rank[np.argsort(left[:, 1] if left.shape[1] > 1 else left[:, 0], kind="stable")] = np.arange(len(channel))
    if rank[0] > rank[-1]:
        rank = len(channel) - 1 - rank
    columns = np.argsort(rank @ channel / weight, kind="stable")
    place = np.empty(columns.size)
    place[columns] = np.arange(columns.size)
    return np.argsort(channel @ place, kind="stable"), columns


def _ascending(channel: Floats, slack: float) -> bool:
    """Whether no log ratio of neighbouring outputs falls from a row to the next, but for rounding."""
    ratios = np.diff(safe_log(channel), axis=1)
    return bool((np.diff(ratios, axis=0) >= -slack).all())
