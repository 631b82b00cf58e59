"""Trees on the rows and outputs that matter, where all are too many: what is far tells the secret itself (MATH 2.4)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.bracket import Bound, Bracket
from dalenius.bounds.proof import Proof, Rounding
from dalenius.bounds.trees.grid_rows import Inner
from dalenius.bounds.trees.posterior_tree import PosteriorTree
from dalenius.bounds.trees.posteriors import PosteriorSearch, descend, problems
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Lumped, OriginalOutputs
from dalenius.search.ascent import polish
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class WindowSearch(Part):
    """A window of rows and outputs."""

    # Standard deviations of the reference to both sides.
    spreads: float = 4.2
    # What its outermost rows may have beyond the outputs that are kept. What is far tells the secret: count(n=2800),
    # epsilon .3, has 225 rows and 283 outputs, and its bracket comes to 1.8 %.
    rest: float = 1e-4
    # Values of the secret at most.
    values: int = 4


class _AsTheyAre(OriginalOutputs):
    """Outputs of a window are written as they are."""

    def __init__(self) -> None:
        """Nothing was merged."""

    def groups(self, row: list[int]) -> list[int]:
        """The group of each output."""
        return row

    def spread(self, values: Floats) -> list[float]:
        """A value per output."""
        return values.tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class InWindow:
    """Guarantee: upper >= I(A;Y) of every prior the adversary may hold, since the bound inside is that of Y'."""

    kind: ClassVar[str] = "window"
    rows: tuple[int, int]
    outputs: tuple[int, int]
    inside: PosteriorTree

    @property
    def upper(self) -> float:
        """The bound inside."""
        return self.inside.upper

    @property
    def name(self) -> str:
        """The kind."""
        return self.kind

    def claim(self, rounding: Rounding) -> float:
        """Masses of far rows are sums of masses."""
        return self.inside.claim(rounding)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return the first and the last row and output that are kept, and the proof about them."""
        step = {"step": "window", "rows": list(self.rows), "outputs": list(self.outputs)}
        return {"steps": [step], "kind": self.inside.kind, **self.inside.to_certificate(_AsTheyAre())}


@dataclass(frozen=True, eq=False)
class Window:
    """Rows and outputs from the first to the last, of a channel in the order of its answers."""

    rows: tuple[int, int]
    outputs: tuple[int, int]

    @classmethod
    def around(cls, cells: Cells) -> "Window":
        """As many spreads of the reference's row to both sides, and outputs that those rows have but for a rest."""
        settings, channel = cells.settings.of(WindowSearch), cells.lumped.channel
        mean = float(cells.rho @ cells.lumped.row)
        spread = float(np.sqrt(cells.rho @ (cells.lumped.row - mean) ** 2))
        first = max(0, int(np.floor(mean - settings.spreads * spread)))
        last = min(len(channel) - 1, int(np.ceil(mean + settings.spreads * spread)))
        low = int(np.searchsorted(np.cumsum(channel[first]), settings.rest))
        high = channel.shape[1] - 1 - int(np.searchsorted(np.cumsum(channel[last][::-1]), settings.rest))
        return cls((first, last), (low, max(low, high)))

    @property
    def width(self) -> int:
        """How many outputs are kept."""
        return self.outputs[1] - self.outputs[0] + 1

    def reduced(self, lumped: Lumped) -> Lumped:
        """The cells inside, and one for the far rows of every value; outputs, and then the values themselves."""
        (first, last), (low, high) = self.rows, self.outputs
        kept = (lumped.row >= first) & (lumped.row <= last)
        secrets, rows, log_rho = [], [], []
        for a in range(lumped.secrets):
            here = np.flatnonzero(kept & (lumped.secret == a))
            told = np.zeros((here.size + 1, self.width + lumped.secrets))
            told[:-1, : self.width] = lumped.channel[lumped.row[here], low : high + 1]
            told[:, self.width + a] = np.maximum(1 - told.sum(axis=1), 0.0)
            far = lumped.log_reference[(lumped.secret == a) & ~kept]
            many = here.size + (far.size > 0)
            secrets.append(np.full(many, a))
            rows.append(told[:many])
            masses = lumped.log_reference[here]
            log_rho.append(np.append(masses, np.logaddexp.reduce(far)) if far.size else masses)
        size = sum(map(len, rows))
        return Lumped(
            np.concatenate(secrets), np.concatenate(rows), np.concatenate(log_rho), lumped.secrets, np.arange(size)
        )

    def there(self, lumped: Lumped, pi: Floats) -> Floats:
        """A prior with its far cells put together."""
        kept = (lumped.row >= self.rows[0]) & (lumped.row <= self.rows[1])
        parts = []
        for a in range(lumped.secrets):
            here = lumped.secret == a
            far = pi[here & ~kept]
            parts.append(np.append(pi[here & kept], far.sum()) if far.size else pi[here & kept])
        return np.concatenate(parts)


class WindowBound(Bound):
    """Trees of posteriors on a window of an ordered channel with too many outputs."""

    def possible(self, bracket: Bracket) -> bool:
        """Whether rows and outputs stand in the order of the answers, and a window of them is far smaller."""
        cells, settings = bracket.cells, bracket.cells.settings.portfolio
        order = getattr(bracket, "order", None)
        if (
            order is None
            or order.answers.size == 0
            or cells.many
            or cells.n_secrets > bracket.cells.settings.of(WindowSearch).values
        ):
            return False
        rows = np.arange(len(order.rows))
        # An output for every answer: none was merged with another.
        plain = np.array_equal(order.rows, rows) and np.array_equal(order.answers - order.answers[0], rows)
        if not plain or cells.n_outputs != rows.size:
            return False
        width = Window.around(cells).width
        return width <= settings.most_outputs and (
            width <= cells.n_outputs / 2 or cells.n_outputs > settings.most_outputs
        )

    def grow(self, bracket: Bracket, deadline: Deadline) -> Iterator[Proof]:
        """Ever finer groups of outputs of the window."""
        cells = bracket.cells
        window = Window.around(cells)
        small = Cells(window.reduced(cells.lumped), cells.knowledge, cells.settings)
        inner = Inner(small, bracket.trivial, 0.0, exact_cells=False, given=bracket)
        start = window.there(cells.lumped, bracket.pi)
        inner.keep_lower(polish(small, start[None], deadline, rounds=cells.settings.effort.relaxed_rounds))
        for problem in problems(inner):
            hint = max(bracket.s, inner.s, cells.settings.of(PosteriorSearch).least_hint)
            tree = PosteriorTree(problem, hint)
            proof = InWindow(window.rows, window.outputs, tree)
            for _ in descend(inner, tree, deadline):
                bracket.keep_growing(proof)
                yield proof
            bracket.keep_finished(proof)
