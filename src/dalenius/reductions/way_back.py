"""Steps to an easier question, and the way back from it to the question itself.

A way back as it stands is that of an exact step which changes nothing of the prior: each overrides what it changes.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from dalenius.model.prior import Prior
from dalenius.model.problem import AuditProblem


class WayBack:
    """What a bracket of the easier question says of the question itself."""

    # Which bounds of the easier question say something of the question itself.
    proved: ClassVar[Literal["both", "lower", "upper"]] = "both"

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


# An easier question and the way back; None where the step does not apply.
Step = Callable[[AuditProblem], tuple[AuditProblem, WayBack] | None]


class BelowChannel(WayBack):
    """The way back from a channel of which the mechanism is a degraded version (docs/mathematics.md 12).

    The witness is that of the channel, as nobody knows what it leaks through the mechanism.
    """

    proved = "upper"

    def lower(self, leaked: float) -> float:
        """Return 0: the mechanism may leak less than the channel above it."""
        return 0.0
