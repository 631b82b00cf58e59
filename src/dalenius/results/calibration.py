"""What a calibration answers: the noise, what it leaks, and what would be too little."""

from dataclasses import dataclass
from typing import Any, Literal

from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.rounding import decimals, round_up
from dalenius.results.audit import Audit
from dalenius.results.result import Result, finite, origin, values


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """The least noise found whose certified leakage is within the budget: leakage.upper <= budget.

    Two things are proved: the mechanism returned meets the budget, and at `too_little` it is exceeded. Parameters
    between the two may meet the budget or not. Every amount of information is in `unit`.

    Attributes:
        parameter: the name of the parameter, and
        value: what was found.
        mechanism: the mechanism with this parameter.
        leakage: its audit.
        too_little: the nearest parameter with less noise at which the budget is exceeded; None where that was shown for
            none.
        distortion: expected absolute error on uniform data; None where there is none.
        together: from a ledger, the bracket on what everything released before and this mechanism leak together, which
            is what the budget is about. Otherwise None.

    Example:
        >>> found = dl.calibrate("symmetric", dl.queries.modular_sum(n=4, modulus=2), leakage=0.05, knowledge=0.5)
        >>> found.parameter, found.stopped
        ('flip', 'accuracy')
    """

    family: str
    parameter: str
    value: float
    mechanism: Mechanism
    leakage: Audit
    budget: float
    distortion: float | None
    too_little: float | None
    stopped: Literal["accuracy", "time_limit", "interrupted"]
    quietest: bool
    accuracy: float
    audits: int
    seconds: float
    together: tuple[float, float] | None = None

    @property
    def unit(self) -> str:
        """Unit of the budget and the leakage."""
        return self.leakage.unit

    @property
    def loaded(self) -> bool:
        """Whether a part of it was read from a file: what certificates do not carry is as the file says."""
        return self.leakage.loaded

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; non-finite numbers are None."""
        together = {} if self.together is None else dict(zip(("lower", "upper"), self.together, strict=True))
        return {
            **values(self, "family", "parameter", "value"),
            "query": str(self.mechanism.query),
            "mechanism": self.mechanism.name,
            "leakage": values(self.leakage, "lower", "upper"),
            **values(self, "budget"),
            **({"together": together} if together else {}),
            **values(self.leakage, "unit", "entropy", "knowledge"),
            **values(self, "distortion"),
            "dp_epsilon": finite(self.mechanism.dp_epsilon()),
            **values(self, "too_little", "quietest", "stopped", "accuracy", "audits", "seconds"),
        }

    def __repr__(self) -> str:
        most = self.leakage.upper if self.together is None else self.together[1]
        upper = round_up(most, decimals(most))
        return (
            f"<Calibration {self.mechanism.name} of {self.mechanism.query}: leaks at most {upper} {self.unit}"
            f"{' with all before' if self.together else ''}, "
            f"budget {self.budget:.9g}; stopped by {self.stopped}{origin(self)}>"
        )
