"""Programmes over cones, row by row, solved by Clarabel [goulart24].

    minimise  <objective, x> + <quadratic, x^2> / 2    with  right - matrix x  in cones

What a solver says is a suggestion: whoever asks computes what it proves.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
import scipy

from dalenius.numerics.types import Floats, Ints

# Rows (counted from the first of a group), columns and values of a sparse matrix; numbers stand for arrays of them.
Entries = tuple[Ints | int, Ints, Floats | float]

ACCEPTED = ("Solved", "AlmostSolved", "InsufficientProgress")


@dataclass(frozen=True, eq=False)
class Solved:
    """A solution, and the multipliers of all rows."""

    x: Floats
    z: Floats


class Conic:
    """A programme that is built in groups of rows; each group says which rows of the whole it is."""

    def __init__(self, width: int) -> None:
        """Begin one of so many variables."""
        self.width = width
        self.entries: list[tuple[Ints, Ints, Floats]] = []
        self.rights: list[Floats] = []
        self.kinds: list[object] = []
        self.height = 0

    def equal(self, right: Floats, *entries: Entries) -> slice:
        """Add rows with matrix x = right."""
        self.kinds.append(clarabel.ZeroConeT(right.size))
        return self._add(right, entries)

    def at_most(self, right: Floats, *entries: Entries) -> slice:
        """Add rows with matrix x <= right."""
        self.kinds.append(clarabel.NonnegativeConeT(right.size))
        return self._add(right, entries)

    def entropies(self, right: Floats, *entries: Entries) -> slice:
        """Add rows in threes, (-e, u, r) = right - matrix x with e >= u log(u/r)."""
        self.kinds += [clarabel.ExponentialConeT()] * (right.size // 3)
        return self._add(right, entries)

    def _add(self, right: Floats, entries: tuple[Entries, ...]) -> slice:
        for rows, columns, values in entries:
            shape = columns.shape
            self.entries.append((np.broadcast_to(rows, shape) + self.height, columns, np.broadcast_to(values, shape)))
        self.rights.append(right)
        here = slice(self.height, self.height + right.size)
        self.height = here.stop
        return here

    @property
    def right(self) -> Floats:
        """The right-hand sides."""
        return np.concatenate(self.rights)

    @property
    def matrix(self) -> "scipy.sparse.csc_matrix":
        """All rows; entries of one place add up."""
        rows, columns, values = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        return scipy.sparse.csc_matrix((values, (rows, columns)), shape=(self.height, self.width))

    def solve(
        self, objective: Floats, accuracy: float, *, quadratic: Floats | None = None, time_limit: float = np.inf
    ) -> Solved | None:
        """Return the solution, or what there is of it at the time limit; None where the solver fails."""
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
        if time_limit < np.inf:
            settings.time_limit = time_limit
        weights = np.zeros(self.width) if quadratic is None else quadratic
        square = scipy.sparse.csc_matrix(scipy.sparse.diags(weights))
        solved = clarabel.DefaultSolver(square, objective, self.matrix, self.right, self.kinds, settings).solve()
        if str(solved.status) not in (*ACCEPTED, "MaxTime"):
            return None
        return Solved(np.array(solved.x), np.array(solved.z))
