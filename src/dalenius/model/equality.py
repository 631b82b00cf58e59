"""What values have in common: they are equal by what they are, and stay read-only in another process."""

from functools import cached_property
from typing import Any

import numpy as np


class Described:
    """Two are equal, and have the same hash, where what they say of themselves is the same."""

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        """What it says of itself."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Described) and self._identity == other._identity)

    def __hash__(self) -> int:
        return hash(self._identity)


def set_state(self: Any, state: dict[str, Any]) -> None:
    """Take over the fields, arrays read-only, which pickle forgets; meant as the `__setstate__` of a class."""
    for value in state.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    self.__dict__.update(state)
