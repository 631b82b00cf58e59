"""What a calibration answers: the noise, what it leaks, and what would be too little."""

import math
import os
from dataclasses import dataclass
from typing import Any, Literal

from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.rounding import decimals, epsilon_up, round_down, round_up, short
from dalenius.results.audit import Audit, finite, flat, frame, origin


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
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
        return {
            "family": self.family,
            "parameter": self.parameter,
            "value": finite(self.value),
            "query": str(self.mechanism.query),
            "mechanism": self.mechanism.name,
            "leakage": {"lower": finite(self.leakage.lower), "upper": finite(self.leakage.upper)},
            "budget": finite(self.budget),
            **(
                {} if self.together is None else {"together": dict(zip(("lower", "upper"), self.together, strict=True))}
            ),
            "unit": self.unit,
            "entropy": finite(self.leakage.entropy),
            "knowledge": finite(self.leakage.knowledge),
            "distortion": None if self.distortion is None else finite(self.distortion),
            "dp_epsilon": finite(self.mechanism.dp_epsilon()),
            "too_little": self.too_little,
            "quietest": self.quietest,
            "stopped": self.stopped,
            "accuracy": finite(self.accuracy),
            "audits": self.audits,
            "seconds": finite(self.seconds),
        }

    def to_frame(self) -> Any:  # noqa: ANN401 - a pandas.DataFrame, if pandas is there
        """Return a pandas DataFrame with one row: the numbers of this calibration."""
        return frame([flat(self.to_dict())])

    def summary(self) -> str:
        """Return the answer in plain words, digits rounded outward."""
        from dalenius.report.text import stacked  # noqa: PLC0415 - results know of no report until asked

        return stacked(self._facts())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON, certificates included; `dalenius.load` reads it."""
        from dalenius.results.archive import save  # noqa: PLC0415 - it knows all results

        save(self, path)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained HTML page: the verdict first, then numbers, charts and the certificate."""
        from dalenius.report.document import write_document  # noqa: PLC0415 - results know of no report until asked

        write_document([self], path)

    def __repr__(self) -> str:
        most = self.leakage.upper if self.together is None else self.together[1]
        upper = round_up(most, decimals(most))
        return (
            f"<Calibration {self.mechanism.name} of {self.mechanism.query}: leaks at most {upper} {self.unit}"
            f"{' with all before' if self.together else ''}, "
            f"budget {self.budget:.9g}; stopped by {self.stopped}{origin(self)}>"
        )

    def _repr_html_(self) -> str:
        from dalenius.report.text import as_html  # noqa: PLC0415

        return as_html(self._facts())

    def _facts(self) -> list[tuple[str, list[str]]]:
        from dalenius.report.text import adversary_words, checked_words, from_file, problem  # noqa: PLC0415

        within = "" if self.together else ", within the budget"
        alone = f"{_between(self.leakage.lower, self.leakage.upper)} {self.unit}{within}; {checked_words(self.leakage)}"
        asked = f"the least {self.family} noise that leaks at most {self.budget:.9g} {self.unit} about a record"
        leaks = [alone]
        if self.together is not None:
            asked += ", together with what was released before"
            both = f"{_between(*self.together)} {self.unit} with all that was released before, within the budget"
            leaks = [*from_file(self, [both]), f"by itself {alone}"]
        return [
            ("Calibrated", [problem(self.mechanism)]),
            ("Asked", from_file(self, [asked])),
            ("Leakage", leaks),
            ("Noise", from_file(self, self._noise())),
            ("Adversary", [adversary_words(self.leakage)]),
            ("Stopped", from_file(self, [self._stopped()])),
        ]

    def _noise(self) -> list[str]:
        lines = [f"{self.parameter} = {self.value!r}"]
        if self.distortion is not None:
            lines[0] += f"; the expected error of an answer is {short(self.distortion)} on uniform data"
        epsilon = self.mechanism.dp_epsilon()
        if math.isfinite(epsilon):
            lines.append(f"it is {epsilon_up(epsilon)}-differentially private")
        if self.quietest:
            return [*lines, "this is practically no noise, the least that is tried"]
        if self.too_little is None:
            return [*lines, "no parameter with less noise was found to leak more than the budget"]
        return [*lines, f"at {self.parameter} = {self.too_little!r} it was found to leak more than the budget"]

    def _stopped(self) -> str:
        reasons = {
            "accuracy": f"the parameter is known to a relative {self.accuracy:.2g}, if more noise leaks less",
            "time_limit": "the time limit was reached; with more time less noise may turn out to be enough",
            "interrupted": "it was interrupted; less noise may turn out to be enough",
        }
        return f"{reasons[self.stopped]}; {self.audits} audits, {self.seconds:.3g} s"


def _between(lower: float, upper: float) -> str:
    digits = decimals(upper)
    return f"{round_down(lower, digits)} <= L <= {round_up(upper, digits)}"
