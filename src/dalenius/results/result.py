"""What results have in common: words, pictures, files and pages; a bracket with its certificate; several in a row."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, cast

import numpy as np

from dalenius.certificates import certificate as certificates
from dalenius.certificates.certificate import Certificate
from dalenius.errors import refuse
from dalenius.model.problem import Adversary, in_unit, is_closed
from dalenius.numerics.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.verifier.verify import Verification

Stopped = Literal["gap", "nearly", "time_limit", "nodes", "interrupted", "method"]


def _report() -> ModuleType:
    """Words, pictures and pages of results: a later room, found by its name when a result is to be shown."""
    return import_module("dalenius.report.document")


@dataclass(frozen=True)
class Step:
    """One outer iteration of the paper's Algorithm 1, 6 or 9, from one random start."""

    start: int
    iteration: int
    value: float  # leakage (Algorithms 1 and 6), expected distortion (Algorithm 9)
    improvement: float  # relative, |v_k - v_(k-1)| / (|v_k| + delta)
    violation: float  # |H(X) - b| (Algorithm 1), |E - D| (6), |I - L| (9)
    gradient: float  # norm of the gradient along the simplex
    # What Algorithm 1 found the mechanism of the round before to leak (Algorithms 6 and 9); its own value (1).
    worst: float = math.inf
    penalty: float = math.inf  # lambda of Algorithm 9 in this round; inf where there is none


class Shown:
    """What shows itself: in words, in a notebook, as a row of a table."""

    def summary(self) -> str:
        """Return the answer in plain words, digits rounded outward."""
        return str(_report().summary_of(self))

    def _repr_html_(self) -> str:
        return str(_report().html_of(self))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row: the numbers of this result."""
        return frame([flat(cast("Any", self).to_dict())])


class Result(Shown):
    """What users hold: it also becomes a file or a page."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON, certificates included; the file appears whole or not at all."""
        from dalenius.results.archive import save

        save(self, path)

    def report(
        self,
        path: str | os.PathLike[str],
        title: str | None = None,
        *,
        author: str | None = None,
        purpose: str | None = None,
    ) -> None:
        """Write one self-contained HTML page: the verdict in plain words, what it is not, then charts and proof.

        author, purpose: who answers for the page, and what it is for. Beside report.html stands report.evidence.json:
        question, assumptions, bounds, versions and digests as data.
        """
        _report().write_document([self], path, title, author=author, purpose=purpose)


class Drawn(Result):
    """A result with a picture."""

    def plot(self, ax: Any = None) -> "Figure":
        """Draw the result; return the figure.

        ax: axes to draw on, by default of a new figure. An audit or a design has two pictures: give two axes, or one
        for the bracket alone.
        """
        return cast("Figure", _report().picture_of(self, ax))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Certified(Drawn):
    """lower <= a number <= upper, with the certificate of both; what an audit and a design have in common."""

    adversary: Adversary
    unit: str
    lower: float
    upper: float
    certificate: Certificate
    stopped: Stopped
    proved: Literal["both", "lower", "upper"]
    tolerance: float
    seed: int
    seconds: float
    history: tuple[Step, ...] = ()  # iterations of the paper's algorithm, all starts
    repairs: tuple[str, ...] = ()  # of the paper's text, by name: those that were made, with method "paper"
    relative: float = 0.0  # the share of upper at which a gap was to end the search as well
    loaded: bool = False  # read from a file: what the certificate does not carry is as the file says
    refused: str = field(default="", init=False, compare=False)  # set by checking.py alone

    @property
    def verified(self) -> Literal[True] | None:
        """True once the verifier has accepted the certificate in this process; None before, and if it was changed."""
        return certificates.accepted(self)

    @property
    def method(self) -> Literal["certified", "paper"]:
        """How the result was found: "certified" or "paper"."""
        return "paper" if self.history else "certified"

    @property
    def gap(self) -> float:
        """How far apart the bounds are."""
        return self.upper - self.lower

    @property
    def closed(self) -> bool:
        """Whether the gap is within the tolerance, or within the relative tolerance."""
        return is_closed(self.lower, self.upper, self.tolerance, self.relative)

    @property
    def entropy(self) -> float:
        """b, the least entropy of the adversary's prior; nan where there is a reference prior."""
        return in_unit(self.adversary.entropy, self.unit)

    @property
    def knowledge(self) -> float:
        """log|X| - b, the most that the adversary knows; with a reference prior rho, the limit on D(p || rho)."""
        return in_unit(self.adversary.knowledge, self.unit)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False) -> Self:
        """Read what save wrote; see `dalenius.load`."""
        from dalenius.results.archive import load_as

        return load_as(cls, path, verify=verify)

    def verify(self, time_limit: float = 60.0, memory: int = 4096) -> "Verification":
        """Check the certificate within these seconds and MiB; if it is accepted, `verified` is True afterwards."""
        from dalenius.results.answers import check

        return check(cast("Any", self), time_limit, memory)

    def _found(self) -> dict[str, Any]:
        """By which method it was found, and what the verifier said, as plain data."""
        repairs = list(self.repairs) if self.method == "paper" else None
        return {**values(self, "method", "verified"), "repairs": repairs, "refused": self.refused or None}

    def _note(self) -> str:
        """How the short form ends."""
        return (", NOT verified" if self.refused else "") + origin(self)


class Series(Drawn):
    """Audits or designs in a row. missing: how many were asked for and are not there; interrupted: by Ctrl-C."""

    missing: int
    interrupted: bool

    @property
    def _points(self) -> Sequence[Certified]:
        raise NotImplementedError

    @property
    def _parts(self) -> Sequence[Certified]:
        """The points, and what stands beside them."""
        return self._points

    @property
    def unit(self) -> str:
        """Unit of every amount of information."""
        return self._points[0].unit

    @property
    def loaded(self) -> bool:
        """Whether a part of it was read from a file: what certificates do not carry is as the file says."""
        return any(part.loaded for part in self._parts)

    @property
    def lower(self) -> Floats:
        """Lower bound at each point."""
        return np.array([point.lower for point in self._points])

    @property
    def upper(self) -> Floats:
        """Upper bound at each point."""
        return np.array([point.upper for point in self._points])

    def _note(self) -> str:
        """How the short form ends."""
        return origin(self) + missing_words(self.missing, worst_end(self._parts, interrupted=self.interrupted), ", ")


class Loaded(Protocol):
    """A result that may have been read from a file."""

    @property
    def loaded(self) -> bool:
        """Whether it was."""


def origin(result: Loaded) -> str:
    """Return how the short form of a result that was read from a file ends."""
    return ", read from a file" if result.loaded else ""


def worst_end(parts: Iterable[Any], *, interrupted: bool = False, missing: int = 0) -> Stopped:
    """Return why work of several parts ended. missing: how many there was no time for."""
    reasons = {part.stopped for part in parts} | ({"interrupted"} if interrupted else set())
    reasons |= {"time_limit"} if missing else set()
    order: tuple[Stopped, ...] = ("interrupted", "time_limit", "nodes", "method", "nearly")
    return next((why for why in order if why in reasons), "gap")


def missing_words(missing: int, stopped: str, before: str = "") -> str:
    """Return what is to be said of points that are not there; nothing where all are."""
    if not missing:
        return ""
    why = "it was interrupted" if stopped == "interrupted" else "the time limit was reached"
    return f"{before}{missing} {'point is' if missing == 1 else 'points are'} missing: {why}"


def finite(x: float) -> float | None:
    """Return x, or None where JSON has no number for it."""
    return float(x) if math.isfinite(x) else None


def values(result: object, *names: str) -> dict[str, Any]:
    """Return fields by name as plain data; non-finite numbers are None."""
    found = {name: getattr(result, name) for name in names}
    return {name: finite(x) if isinstance(x, float) else x for name, x in found.items()}


def frame(rows: list[dict[str, Any]]) -> Any:
    """Return rows as a pandas DataFrame, if pandas is there."""
    try:
        pd = import_module("pandas")  # optional
    except ImportError:
        refuse("to_frame needs pandas, which is not installed; pip install 'dalenius[pandas]'")
    return pd.DataFrame(rows)


def flat(content: dict[str, Any]) -> dict[str, Any]:
    """Return plain data as one row: what is inside has both names, as leakage_upper; lists become texts."""
    row: dict[str, Any] = {}
    for key, value in content.items():
        inside = value if isinstance(value, dict) else {}
        row |= {f"{key}_{name}": x for name, x in inside.items()}
        if not inside:
            row[key] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return row
