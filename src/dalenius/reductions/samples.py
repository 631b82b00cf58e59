"""A mechanism known by samples, through the channel above it: upper bounds hold of both, and nothing from below.

Statement and proof are in docs/mathematics.md 12. The witness is that of the channel above, as nobody knows what it
leaks through the mechanism.
"""

from dataclasses import replace

from dalenius.model.problem import AuditProblem
from dalenius.reductions.way_back import WayBack


class BelowChannel(WayBack):
    """The way back from the channel above, of which the mechanism is a degraded version."""

    proved = "upper"

    def lower(self, leaked: float) -> float:
        """Return 0: the mechanism may leak less than the channel above it."""
        return 0.0


def step(problem: AuditProblem) -> tuple[AuditProblem, WayBack] | None:
    """Ask about the channel of which a mechanism known by samples is a degraded version."""
    samples = problem.mechanism.as_samples
    return None if samples is None else (replace(problem, mechanism=samples.above), BelowChannel())
