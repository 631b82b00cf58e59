"""A mechanism known by samples, through the channel above it: upper bounds hold of both, and nothing from below.

Statement and proof are in docs/mathematics.md 12. The witness is that of the channel above, as nobody knows what it
leaks through the mechanism.
"""

from dalenius.model.channels.sampled import Sampled
from dalenius.model.channels.written import Written
from dalenius.reductions.way_back import WayBack


class BelowChannel(WayBack):
    """The way back from the channel above, of which the mechanism is a degraded version."""

    def lower(self, leaked: float) -> float:
        """Return 0: the mechanism may leak less than the channel above it."""
        return 0.0


def channel_above(mechanism: Sampled) -> tuple[Written, WayBack]:
    """Return the channel of which the mechanism is a degraded version, and the way back."""
    return mechanism.above, BelowChannel()
