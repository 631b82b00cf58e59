"""The way back from an easier question to the question itself, which every step returns.

As it stands it is that of an exact step which changes nothing of the prior: each step overrides what it changes.
"""

from typing import Any

from dalenius.model.prior import Prior


class WayBack:
    """What a bracket of the easier question says of the question itself."""

    def lower(self, leaked: float) -> float:
        """Guarantee: some prior leaks at least the result, where one leaks `leaked` in the easier question."""
        return leaked

    def upper(self, bound: float) -> float:
        """Guarantee: no prior leaks more than the result, where none leaks more than `bound` in the easier question."""
        return bound

    def prior(self, witness: Prior) -> Prior:
        """Return the witness as a prior of the question itself."""
        return witness

    def to_certificate(self) -> dict[str, Any]:
        """Return what the certificate says of the channel, beside its description."""
        return {}
