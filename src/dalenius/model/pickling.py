"""What pickle forgets: arrays of a frozen object are read-only, also in the process that it was sent to."""

from typing import Any

import numpy as np


def set_state(self: Any, state: dict[str, Any]) -> None:
    """Take over the fields, arrays read-only; meant as the `__setstate__` of a class."""
    for value in state.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    self.__dict__.update(state)
