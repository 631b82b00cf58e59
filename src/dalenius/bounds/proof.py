"""What every upper bound hands over: a number, what it claims beyond rounding, and its data for a certificate."""

from dataclasses import dataclass
from typing import Any, Protocol

from dalenius.reductions.lump import OriginalOutputs


@dataclass(frozen=True)
class Rounding:
    """How far an evaluation in floats may be off.

    bound: any bound. mass: a log reference mass; it enters a bound multiplied by s.
    """

    bound: float
    mass: float


class Proof(Protocol):
    """A proved upper bound. A verifier knows its kind, and needs nothing but `to_certificate`."""

    @property
    def kind(self) -> str:
        """The word by which certificates name it."""

    @property
    def upper(self) -> float:
        """Guarantee: result >= I(A;Y) of every prior the adversary may hold, up to rounding."""

    @property
    def name(self) -> str:
        """The bound in a report: the kind, or what is special about it."""

    def claim(self, rounding: Rounding) -> float:
        """Return the bound raised by how far rounding may reach: what the certificate claims."""

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return the data that prove the claim, over the original outputs; None where no channel is written out."""
