"""Joint releases of a sum of bits and of a local randomiser of the same bits, found in their matrix (MATH 4.12).

q(c, y | x) = C(c | x_1 + ... + x_n) prod_i W(y_i|x_i): two parts that are independent given the data, of which one is a
product over the records.
"""

from dataclasses import dataclass

import numpy as np

from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.information import safe_log
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.order import parts_of


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
    release, each = _marginal(rows, one), _marginal(rows, other)
    bits = np.stack(np.unravel_index(np.arange(2**n), (2,) * n), axis=1)
    # P(y_0 = 1 | x) of the first and the last dataset.
    last = each @ bits[:, 0]
    local = np.array([[1 - last[0], last[0]], [1 - last[-1], last[-1]]])
    product = np.ones((2**n, 2**n))
    for i in range(n):
        product *= local[np.ix_(bits[:, i], bits[:, i])]
    sums = bits.sum(axis=1)
    by_sum = np.stack([release[int(np.flatnonzero(sums == t)[0])] for t in range(n + 1)])
    made = by_sum[sums][:, one] * product[:, other]
    if (rows <= 0).any() or (local <= 0).any() or (np.abs(made / rows - 1) > slack).any():
        return None
    falls = np.diff(np.diff(safe_log(by_sum), axis=1), axis=0) < -slack
    return None if falls.any() else (by_sum, local)


def _marginal(rows: Floats, part: Ints) -> Floats:
    return np.stack([rows[:, part == k].sum(axis=1) for k in range(int(part.max()) + 1)], axis=1)
