"""Integer noise on the answers of a query: written out where its rows are few, by its formula everywhere else."""

from abc import abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import refuse
from dalenius.model.channels.mechanism import Floats, Mechanism
from dalenius.model.channels.noise import Noise
from dalenius.model.channels.written import Label, Written
from dalenius.model.query import Query


class Noisy(Mechanism):
    """What noise on a sum and noise on every count have in common.

    `name` is the call string of the mechanism, `noise` the law of what is added to one number.
    """

    query: Query
    name: str
    noise: Noise
    clamp: bool

    @abstractmethod
    def _written(self) -> Written:
        """Compute the rows."""

    @property
    @abstractmethod
    def _size(self) -> str:
        """Words for how many rows and outputs there are."""

    @cached_property
    def _rows(self) -> Written:
        return self._written()

    def written(self) -> Written:
        """Return the mechanism with its rows; refused where they would not fit."""
        if not self.has_rows:
            refuse(
                f"{self.name} of {self.query} has {self._size}, too many to write out; it can be audited, profiled, "
                "run and saved, and for anything else use fewer records"
            )
        return self._rows

    @property
    def rows(self) -> Floats:
        """One row of probabilities for every class of the query."""
        return self.written().rows

    @property
    def given(self) -> Floats:
        """The rows before they were divided by their sums."""
        return self.written().given

    @property
    def labels(self) -> tuple[Label, ...]:
        """The outputs."""
        return self.written().labels

    def describe(self) -> dict[str, object]:
        """Return the problem in plain data: by its call strings where the query has one, else by its rows."""
        by_name = self.by_formula or self.whole is not None
        return super().describe() if by_name else self.written().describe()

    def stored(self) -> dict[str, object]:
        """Return labels and rows, a check of the name; nothing where they are too many."""
        return self.written().stored() if self.has_rows else {}

    @cached_property
    def _identity(self) -> tuple[object, ...]:  # type: ignore[override]
        return super()._identity if self.by_formula or not self.has_rows else self.written()._identity  # noqa: SLF001

    def sample(
        self, dataset: ArrayLike, size: int = 1, rng: np.random.Generator | int | None = None, *, secure: bool = False
    ) -> NDArray[np.generic]:
        """Run the mechanism on a dataset, as `Mechanism.sample` says: by its row, if that holds all outputs."""
        by_row = self.has_rows and self.clamp
        run = self.written().sample if by_row else super().sample
        return run(dataset, size, rng, secure=secure)

    def _repr_html_(self) -> str:
        return self.written()._repr_html_() if self.has_rows else super()._repr_html_()

    def __repr__(self) -> str:
        if self.has_rows:
            return repr(self.written())
        return f"<{type(self).__name__} {self.name} of {self.query}: {self.n} records, {self._size}, never written out>"
