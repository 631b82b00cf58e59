"""What a matrix shows of its structure: orders in which likelihood ratios never fall, and parts of joint releases.

Monotone rows need such an order (MATH 4.11). Row t of a channel is above row t' where q(y'|t)/q(y|t) does not fall from
t' to t for outputs y <= y'. Noise with a log-concave law on a sum has such rows by its formula (`Mechanism.rises`), in
the order of the answers. For any other channel the order is looked for: outputs are ranked once, or once for each part
of a joint release, whose outputs are tuples. A part that is several runs of one mechanism has counts of its outputs in
place of a tuple of them; the runs have one ranking.

A joint release of a sum of bits and of a local randomiser of the same bits, q(c, y | x) = C(c | x_1 + ... + x_n)
prod_i W(y_i|x_i), is found in its matrix too (MATH 4.12): the parts are independent given the data.
"""

import math
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.counting import log_multinomial
from dalenius.numerics.information import safe_log
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import Merged


@dataclass(frozen=True, eq=False)
class Order:
    """Rows in ascending order, and the rank of every output."""

    # (R,) the rows of the merged channel, ascending.
    rows: Ints
    # For every run of every part of a joint release the rank of each original output, -1 where it never occurs; None
    # where the name of the mechanism says it.
    parts: tuple[Ints, ...] | None = None
    # How many of these runs each part has, one after the other: runs of one part are not told apart.
    often: tuple[int, ...] = (1,)
    # Geometric and Laplace noise: its rate, and the answer that each of these rows has.
    rate: float | None = None
    answers: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def rank(self) -> Ints:
        """(R,) the place of every row in that order."""
        return np.argsort(self.rows)


def ordered(mechanism: Mechanism, merged: Merged, slack: float = 1e-9) -> Order | None:
    """Return the order of a channel's rows, or None where there is none.

    slack: how far a log ratio may fall, which rounding explains; a verifier makes up for it.
    """
    if mechanism.rises:
        return Order(np.arange(len(merged.channel)))
    if len(merged.channel) < 2 or (merged.channel <= 0).any():  # nothing to order
        return None
    written = mechanism.written()
    if (runs := runs_of(written.labels)) is not None and (merged.outputs >= 0).all():
        return _joint(written.rows[merged.first], runs, slack)
    if (ranked := _ranked(merged.channel, None, slack)) is None:
        return None
    rows, rank = ranked
    return Order(rows, (np.where(merged.outputs >= 0, rank[merged.outputs], -1),))


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


def runs_of(labels: tuple[object, ...]) -> list[Ints] | None:
    """For every part of a joint release (runs, Y): the output of each run, of every output of the release.

    A part whose labels are counts of outputs is as many runs as they add up to, whose order nobody sees.
    """
    if (runs := _repeated(labels)) is not None:
        return [runs]
    if (parts := parts_of(labels)) is None:
        return None
    found = []
    for part, column in zip(parts, zip(*labels, strict=True), strict=True):
        inside = _repeated(tuple(dict.fromkeys(column)))
        found.append(part[None] if inside is None else inside[:, part])
    return found


def _repeated(labels: tuple[object, ...], most: int = 2**22) -> Ints | None:
    """(k, Y) the outputs of k runs in ascending order, where labels are all counts of more than two outputs in k runs.

    With two outputs the counts are in a line by themselves. most: numbers in what is returned.
    """
    if not all(isinstance(label, tuple) and all(type(c) is int for c in label) for label in labels):
        return None
    if len({len(label) for label in labels}) != 1:  # type: ignore[arg-type]
        return None
    counts = np.array(labels, dtype=np.int64)
    often, size = int(counts[0].sum()), counts.shape[1]
    if size <= 2 or often < 2 or often * len(labels) > most:  # a line of two, one run
        return None
    complete = len(set(labels)) == len(labels) == math.comb(often + size - 1, often)
    if not complete or (counts < 0).any() or (counts.sum(axis=1) != often).any():
        return None
    outputs = np.repeat(np.tile(np.arange(size), len(labels)), counts.ravel())
    return outputs.reshape(len(labels), often).T


def _joint(rows: Floats, runs: list[Ints], slack: float) -> Order | None:
    """The order of independent releases of the same sum: every part has the same order of rows."""
    order: Ints | None = None
    ranks: list[Ints] = []
    product = np.ones_like(rows)
    for part in runs:
        own = _one_run(rows, part)
        # The outputs of the runs have k! / prod_y c_y! orders.
        counts = np.stack([(part == y).sum(axis=0) for y in range(own.shape[1])], axis=1)
        product *= np.exp(log_multinomial(counts)) * np.prod(own[:, part], axis=1)
        if (ranked := _ranked(own, order, slack)) is None:
            return None
        order, rank = ranked
        ranks += list(rank[part])
    if order is None or (np.abs(product / rows - 1) > slack).any():
        return None
    return Order(order, tuple(ranks), tuple(map(len, runs)))


def _one_run(rows: Floats, part: Ints) -> Floats:
    """(R, P) the law of one run of a part: all runs have it."""
    own = np.zeros((int(part.max()) + 1, len(rows)))
    for run in part:
        np.add.at(own, run, rows.T / len(part))
    return own.T


def _ranked(channel: Floats, rows: Ints | None, slack: float) -> tuple[Ints, Ints] | None:
    """An order of rows, the one given if there is one, and the ranks of outputs along which it is right."""
    found, columns = _found(channel)
    rows = found if rows is None else rows
    for one in (columns, columns[::-1]):
        # No log ratio of neighbouring outputs falls from a row to the next, but for rounding.
        ratios = np.diff(safe_log(channel[rows][:, one]), axis=1)
        if (np.diff(ratios, axis=0) >= -slack).all():
            return rows, np.argsort(one)
    return None


def _found(channel: Floats) -> tuple[Ints, Ints]:
    """An order of rows and of outputs that is the right one if there is any.

    In the right order D(q_e || q_t) rises with the distance of t from e: for e < t < t' it grows by
    sum_y q_e log(q_t/q_t'), whose logarithm falls in y, so by D(q_t || q_t') or more. The row farthest from any one is
    thus at an end, and the row farthest from that at the other. The ratio of both rises strictly along outputs whose
    columns are not proportional, and the mean rank of the output along rows.
    """
    log_q = np.log(channel)

    def farthest(row: int) -> int:
        return int(np.argmin(log_q @ channel[row]))

    end = farthest(0)
    first, last = sorted((end, farthest(end)))
    columns = np.argsort(log_q[last] - log_q[first], kind="stable")
    return np.argsort(channel @ np.argsort(columns), kind="stable"), columns


@dataclass(frozen=True, eq=False)
class Beside:
    """C and W, and which of them changes slowest in the order of the outputs."""

    # (n+1, R) the law of the release for every sum of the bits; likelihood ratios never fall along it.
    release: Floats
    # (2, 2) the channel of every record.
    local: Floats
    first: bool

    @property
    def n(self) -> int:
        """How many records there are."""
        return len(self.release) - 1

    @classmethod
    def of(cls, mechanism: Mechanism, slack: float = 1e-9, most: int = 2**22) -> "Beside | None":
        """Return both parts of a joint release, or None where it is not that."""
        n = mechanism.n
        if not mechanism.has_rows or n < 2 or set(mechanism.records) != {2}:  # bits, and others
            return None
        written = mechanism.written()
        if written.n_outputs % 2**n or 2**n * written.n_outputs > most:
            return None
        parts = parts_of(written.labels)
        if parts is None or len(parts) != 2:  # two parts
            return None
        rows = written.rows[written.statistic.class_table()]
        for first, (one, other) in ((True, parts), (False, parts[::-1])):
            found = _split(rows, one, other, n, slack)
            if found is not None:
                return cls(*found, first)
        return None


def _split(rows: Floats, one: Ints, other: Ints, n: int, slack: float) -> tuple[Floats, Floats] | None:
    """(C, W) where the second part is a product over records and the first depends on the sum."""
    if int(other.max()) + 1 != 2**n:
        return None
    release, each = _one_run(rows, one[None]), _one_run(rows, other[None])
    bits = np.stack(np.unravel_index(np.arange(2**n), (2,) * n), axis=1)
    # P(y_0 = 1 | x) of the first and the last dataset.
    last = each @ bits[:, 0]
    local = np.array([[1 - last[0], last[0]], [1 - last[-1], last[-1]]])
    product = reduce(np.kron, [local] * n)
    sums = bits.sum(axis=1)
    by_sum = release[np.unique(sums, return_index=True)[1]]
    made = by_sum[sums][:, one] * product[:, other]
    if (rows <= 0).any() or (local <= 0).any() or (np.abs(made / rows - 1) > slack).any():
        return None
    falls = np.diff(np.diff(safe_log(by_sum), axis=1), axis=0) < -slack
    return None if falls.any() else (by_sum, local)
