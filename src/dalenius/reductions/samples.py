"""A mechanism known by samples, in place of the channel above it: upper bounds hold of both, and nothing from below.

Statement and proof are in docs/mathematics.md 12.
"""

from dataclasses import dataclass
from typing import Any

from dalenius.model.channels.sampled import Sampled
from dalenius.model.channels.written import Written
from dalenius.model.prior import Prior


@dataclass(frozen=True)
class BelowChannel:
    """The way back from the channel above."""

    def lower(self, leaked: float) -> float:  # noqa: ARG002 - as every way back
        """Return 0: the mechanism may leak less than the channel above it."""
        return 0.0

    def upper(self, bound: float) -> float:
        """Guarantee: the mechanism leaks no more than the bound, with its confidence."""
        return bound

    def prior(self, witness: Prior) -> Prior:
        """Return the witness of the channel above: it is not known what it leaks through the mechanism."""
        return witness

    def to_certificate(self) -> dict[str, Any]:
        """Return nothing: the description of the mechanism has its samples."""
        return {}


def channel_above(mechanism: Sampled) -> tuple[Written, BelowChannel]:
    """Return the channel of which the mechanism is a degraded version, and the way back."""
    return mechanism.above, BelowChannel()
