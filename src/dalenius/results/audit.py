"""What an audit answers: brackets, records, the witness, and the curve L(b)."""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import accumulate, chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from dalenius import shown as shown_as
from dalenius.certificates import made
from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError
from dalenius.model.adversary import Adversary
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.prior import Prior
from dalenius.model.reference import Reference
from dalenius.model.secret import Attributes, Bins, Secret, members, name
from dalenius.numerics.rounding import decimals, round_down, round_up, short_up
from dalenius.results.history import Step
from dalenius.results.units import in_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.verifier.verify import Verification

Floats = NDArray[np.float64]
Members = range | tuple[int | None, ...]  # None stands for a secret that is not a record
Group = tuple[Members, float, float]
Stopped = Literal["gap", "nearly", "time_limit", "nodes", "interrupted", "method"]


def is_closed(lower: float, upper: float, tolerance: float, relative: float) -> bool:
    """Whether a bracket is as narrow as was asked: in absolute terms, or as a share of its upper bound.

    This alone decides `closed`, and whether a search was stopped by its gap.
    """
    return upper - lower <= max(tolerance, relative * upper)


@dataclass(frozen=True)
class RecordBracket:
    """lower <= max leakage about this record, or this secret where record is None, <= upper."""

    record: int | None
    lower: float
    upper: float


@dataclass(frozen=True, repr=False)
class Records(Sequence[RecordBracket]):
    """Every record's bracket, worst first: by upper, then lower, then index.

    Kept as one bracket per orbit of interchangeable records, so that a million of them cost nothing.
    """

    orbits: tuple[Group, ...]

    def __post_init__(self) -> None:
        if len(self.orbits) > 1:
            ordered = sorted(self.orbits, key=lambda group: (-group[2], -group[1], group[0][0]))
            object.__setattr__(self, "orbits", tuple(ordered))

    @cached_property
    def _blocks(self) -> tuple[list[Group], list[int]]:
        """Orbits with tied brackets become one block in the order of indices; and where blocks end."""
        blocks: list[Group] = []
        for (lower, upper), tied in groupby(self.orbits, key=itemgetter(1, 2)):
            members = [group[0] for group in tied]
            together = members[0] if len(members) == 1 else tuple(sorted(chain(*members), key=_index))
            blocks.append((together, lower, upper))
        return blocks, list(accumulate(len(block[0]) for block in blocks))

    def orbit_of(self, record: int | None) -> Group:
        """Return the orbit of a record: its members, and their common lower and upper."""
        return next(group for group in self.orbits if record in group[0])

    def __len__(self) -> int:
        return sum(len(group[0]) for group in self.orbits)

    @overload
    def __getitem__(self, index: int) -> RecordBracket: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RecordBracket, ...]: ...
    def __getitem__(self, index: int | slice) -> RecordBracket | tuple[RecordBracket, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(len(self))[index])
        place = range(len(self))[index]
        blocks, ends = self._blocks
        block = int(np.searchsorted(ends, place, side="right"))
        members, lower, upper = blocks[block]
        return RecordBracket(members[place - ends[block] + len(members)], lower, upper)

    def __iter__(self) -> Iterator[RecordBracket]:
        return (RecordBracket(i, lower, upper) for members, lower, upper in self._blocks[0] for i in members)

    def to_frame(self) -> Any:  # noqa: ANN401 - a pandas.DataFrame, if pandas is there
        """Return a pandas DataFrame with one row per record, worst first."""
        return frame([{"record": r.record, "lower": r.lower, "upper": r.upper} for r in self])

    def _repr_html_(self, most: int = 20) -> str:
        rows = [(str(r.record), round_down(r.lower), round_up(r.upper)) for r in self[:most]]
        more = "" if len(self) <= most else f"; the first {most}"
        return shown_as.table(("record", "lower", "upper"), rows, f"{len(self)} records, worst first{more}")

    def __repr__(self) -> str:
        shown = ", ".join(f"{r.record}: [{r.lower:.6g}, {r.upper:.6g}]" for r in self[:3])
        return f"<Records of {len(self)}, worst first: {shown}{', ...' if len(self) > 3 else ''}>"  # noqa: PLR2004


@dataclass(frozen=True)
class Extremes:
    """Leakage against the two extreme adversaries, in floats and without a certificate.

    unconstrained: no limit (b = 0): L(0) lies between the two numbers. They may be far apart: then no more was found
    than what this audit and the trivial bound say.
    uniform: what the uniform prior learns (b = log|X|), or the reference prior. Where noise is on every count of a
    histogram that is never written out, what it learns from the count that the witness is about: at least this much.
    """

    unconstrained: tuple[float, float]
    uniform: float


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """lower <= L(b) <= upper, with the prior that attains `lower` and the certificate of both.

    Every amount of information is in `unit`, and so is the tolerance; the certificate is in nats, and so is the
    history. The page on results has a table of all fields.

    Attributes:
        lower: what the prior returned leaks at least.
        upper: what no prior leaks more than.
        stopped: "gap" only where `closed` is true; "nearly" where the gap is within 1e-5 and further progress was slow;
            "time_limit", "interrupted" or "method".
        proved: "both"; "lower" with the paper's method, whose upper bound is only the trivial one; "upper" for a
            mechanism known by samples, where `upper` holds with `confidence`, `lower` is 0, and the prior is the worst
            of the channel that stands above the mechanism.
        verified: True once the verifier has accepted the certificate, None before; `verify` checks it. `refused` has
            the reason if it did not accept it, which is a defect of ours. It is None again of a copy of the audit, of
            one that was unpickled, and where the certificate was changed.
        record: the record that attains `lower`; None for a group or a function.
        records: every record's bracket, worst first.
        prior: the witness.
        certificate: the proof of both bounds.
        extremes: leakage without a limit, and under the uniform prior, for orientation; None where nothing is known.
        upper_by: which bound gave `upper`.
        secret: what was given as `secret=`: None (every record), the index of a record, a Group or a Function.

    Example:
        >>> audit = dl.audit(dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1), knowledge=0.5)
        >>> audit.stopped, audit.proved, audit.record
        ('gap', 'both', 0)
    """

    mechanism: Mechanism
    adversary: Adversary
    unit: str
    lower: float
    upper: float
    stopped: Stopped
    proved: Literal["both", "lower", "upper"]
    record: int | None
    records: Records
    prior: Prior
    certificate: Certificate
    extremes: Extremes | None
    tolerance: float
    seed: int
    seconds: float
    nodes: int
    upper_by: str
    history: tuple[Step, ...] = ()  # iterations of the paper's Algorithm 1, all starts
    repairs: tuple[str, ...] = ()  # of the paper's text, by name: those that were made, with method "paper"
    secret: Secret | None = None
    relative: float = 0.0  # the share of upper at which a gap was to end the search as well
    loaded: bool = False  # read from a file: what the certificate does not carry is as the file says
    refused: str = field(default="", init=False, compare=False)  # set by checking.py alone
    # Records that to_dict lists one by one.
    most_listed: ClassVar[int] = 1000

    @property
    def verified(self) -> Literal[True] | None:
        """True once the verifier has accepted the certificate in this process; None before, and if it was changed."""
        return made.accepted(self)

    @property
    def bounds(self) -> str:
        """The name of `upper_by` in version 0.1."""
        return self.upper_by

    @property
    def confidence(self) -> float | None:
        """The confidence with which `upper` holds for a mechanism known by samples; None if it holds for certain."""
        return self.mechanism.confidence

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

    @property
    def reference(self) -> Reference:
        """The prior from which knowledge counts: uniform by default."""
        return self.adversary.reference

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the command line; non-finite numbers are None."""
        return {
            "lower": finite(self.lower),
            "upper": finite(self.upper),
            "unit": self.unit,
            "entropy": finite(self.entropy),
            "knowledge": finite(self.knowledge),
            "adversary": self.adversary.kind,
            "record": self.record,
            "records": self._record_list(),
            "secret": self._secret(),
            "reference": self.reference.kind,
            "stopped": self.stopped,
            "proved": self.proved,
            "confidence": self.confidence,
            "method": self.method,
            "repairs": list(self.repairs) if self.method == "paper" else None,
            "seconds": finite(self.seconds),
            "gap": finite(self.gap),
            "tolerance": finite(self.tolerance),
            "relative": self.relative,
            "seed": self.seed,
            "nodes": self.nodes,
            "upper_by": self.upper_by,
            "bounds": self.upper_by,
            "verified": self.verified,
            "refused": self.refused or None,
            "extremes": self.extremes
            and {
                "unconstrained": [finite(x) for x in self.extremes.unconstrained],
                "uniform": finite(self.extremes.uniform),
            },
        }

    def to_frame(self) -> Any:  # noqa: ANN401 - a pandas.DataFrame, if pandas is there
        """Return a pandas DataFrame with one row: this audit. records.to_frame() has a row for each record."""
        return frame([_row(self)])

    def _record_list(self) -> list[dict[str, float | int | None]]:
        if len(self.records) <= self.most_listed:
            return [{"record": r.record, "lower": finite(r.lower), "upper": finite(r.upper)} for r in self.records]
        return [
            {"record": members[0], "lower": finite(lower), "upper": finite(upper), "count": len(members)}
            for members, lower, upper in self.records.orbits
        ]

    def _secret(self) -> list[int] | list[str] | str | None:
        """None for every record, the records of the secret, words for attributes, or the word "function"."""
        if self.secret is None:
            return None
        if isinstance(self.secret, Bins):
            return self.secret.words
        if isinstance(self.secret, Attributes):
            return list(self.secret.words)
        group = members(self.secret)
        return "function" if group is None else list(group)

    def verify(self, time_limit: float = 60.0, memory: int = 4096) -> "Verification":
        """Check the certificate within these seconds and MiB; if it is accepted, `verified` is True afterwards."""
        from dalenius.results.checking import check  # noqa: PLC0415 - it knows results

        return check(self, time_limit, memory)

    def summary(self) -> str:
        """Return the answer in plain words, digits rounded outward."""
        from dalenius.report.text import facts, stacked  # noqa: PLC0415 - results know of no report until asked

        return stacked(facts(self))

    def plot(self, ax: Any = None) -> "Figure":  # noqa: ANN401 - matplotlib ships no types
        """Draw the witness and the bracket against the extremes; return the figure.

        ax: two axes for the two pictures, or one for the bracket alone; default a new figure.
        """
        from dalenius.report.plots import plot_audit  # noqa: PLC0415 - matplotlib takes a second

        return plot_audit(self, ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole answer as JSON, certificate included; the file appears whole or not at all."""
        from dalenius.results.archive import save_audit  # noqa: PLC0415

        save_audit(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False) -> "Audit":
        """Read what save wrote; see `dalenius.load`."""
        from dalenius.results.archive import load_audit  # noqa: PLC0415

        return load_audit(path, verify=verify)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained HTML page: the verdict first, then numbers, charts and the certificate."""
        from dalenius.report.document import write_document  # noqa: PLC0415 - results know of no report until asked

        write_document([self], path)

    def __repr__(self) -> str:
        note = ("" if self.closed or self.proved == "upper" else ", gap open") + (
            ", NOT verified" if self.refused else ""
        )
        note += origin(self)
        sure = "" if self.confidence is None else f" with confidence {self.confidence:g}"
        digits = decimals(self.upper)
        knows = (
            "independent records"
            if self.adversary.unlimited
            else f"knowledge <= {self.knowledge:.6g}"
            if self.adversary.given == "knowledge"
            else f"H(X) >= {self.entropy:.9g}"
        )
        return (
            f"<Audit {round_down(self.lower, digits)} <= L <= {round_up(self.upper, digits)} {self.unit}{sure} at "
            f"{knows}: {name(self.prior.secret)}, proved {self.proved}, stopped by {self.stopped}{note}>"
        )

    def _repr_html_(self) -> str:
        from dalenius.report.text import as_html, facts  # noqa: PLC0415

        return as_html(facts(self))


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """L(b) along b, each point an audit.

    Attributes:
        entropies: b at each point, in the unit of the audits.
        audits: one per point.
        missing: how many points were asked for and are not there, because Ctrl-C came first.
        interrupted: whether Ctrl-C came.

    Example:
        >>> mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=0.3)
        >>> dl.curve(mechanism, knowledges=[0.1, 0.5]).upper.round(3)
        array([0.016, 0.067])
    """

    entropies: tuple[float, ...]
    audits: tuple[Audit, ...]
    missing: int = 0
    interrupted: bool = False

    @property
    def stopped(self) -> Stopped:
        """Why it ended: "interrupted", or the worst of what ended its audits."""
        return worst_end(self.audits, interrupted=self.interrupted)

    @property
    def unit(self) -> str:
        """Unit of every number."""
        return self.audits[0].unit

    @property
    def loaded(self) -> bool:
        """Whether a part of it was read from a file: what certificates do not carry is as the file says."""
        return any(audit.loaded for audit in self.audits)

    @property
    def lower(self) -> Floats:
        """Lower bound at each entropy."""
        return np.array([audit.lower for audit in self.audits])

    @property
    def upper(self) -> Floats:
        """Upper bound at each entropy."""
        return np.array([audit.upper for audit in self.audits])

    @property
    def knowledges(self) -> tuple[float, ...]:
        """What the adversary knows at each point, in the unit of the audits."""
        return tuple(audit.knowledge for audit in self.audits)

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain data."""
        return {
            "unit": self.unit,
            "stopped": self.stopped,
            "missing": self.missing,
            "points": [audit.to_dict() for audit in self.audits],
        }

    def _repr_html_(self) -> str:
        head = ("entropy", "knowledge", "lower", "upper", "gap", "stopped")
        rows = [
            (a.entropy, a.knowledge, round_down(a.lower, digits), round_up(a.upper, digits), short_up(a.gap), a.stopped)
            for a in self.audits
            for digits in [decimals(a.upper)]
        ]
        return shown_as.table(head, rows, f"{repr(self)[1:-1]}, in {self.unit}")

    def to_frame(self) -> Any:  # noqa: ANN401 - a pandas.DataFrame, if pandas is there
        """Return a pandas DataFrame with one row per point."""
        return frame([_row(audit) for audit in self.audits])

    def summary(self) -> str:
        """Return the points in plain words, digits rounded outward."""
        from dalenius.report.text import curve_facts, stacked  # noqa: PLC0415 - results know of no report until asked

        return stacked(curve_facts(self))

    def plot(self, ax: Any = None) -> "Figure":  # noqa: ANN401 - matplotlib ships no types
        """Draw the certified band of L(b) between its extremes; return the figure."""
        from dalenius.report.plots import plot_curve  # noqa: PLC0415 - matplotlib takes a second

        return plot_curve(self, ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON, certificates included; `dalenius.load` reads it."""
        from dalenius.results.bundles import save_bundle  # noqa: PLC0415

        save_bundle(self, path)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained HTML page: the verdict first, then numbers, charts and the certificate."""
        from dalenius.report.document import write_document  # noqa: PLC0415 - results know of no report until asked

        write_document([self], path)

    def __repr__(self) -> str:
        widest = max(audit.gap for audit in self.audits)
        first = self.audits[0]
        beyond = not first.reference.uniform or not math.isfinite(first.entropy)
        along, what = (self.knowledges, "knowledge <=") if beyond else (self.entropies, "H(X) >=")
        sure = "" if self.audits[0].confidence is None else f", each with confidence {self.audits[0].confidence:g}"
        return (
            f"<Curve of {len(self.audits)} points, {what} {min(along):.4g} to {max(along):.4g}: "
            f"L from {round_up(self.upper.max())} to {round_down(self.lower.min())} {self.unit}, "
            f"widest gap {widest:.1e}{sure}{origin(self)}{missing_words(self.missing, self.stopped, ', ')}>"
        )


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


def _index(record: int | None) -> int:
    return -1 if record is None else record


def limit_words(adversary: Adversary, unit: str) -> str:
    """Return `H(X) >= 1.5 nats`, or with a reference prior `knowledge <= 0.5 nats beyond the reference`."""
    if adversary.reference.uniform:
        return f"H(X) >= {in_unit(adversary.entropy, unit):.6g} {unit}"
    return f"knowledge <= {in_unit(adversary.knowledge, unit):.6g} {unit} beyond the reference"


def _row(audit: Audit) -> dict[str, Any]:
    columns = ("entropy", "knowledge", "lower", "upper", "unit", "record", "stopped", "proved", "confidence", "seconds")
    return {key: getattr(audit, key) for key in columns}


def finite(x: float) -> float | None:
    """Return x, or None where JSON has no number for it."""
    return float(x) if math.isfinite(x) else None


def frame(rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - a pandas.DataFrame
    """Return rows as a pandas DataFrame, if pandas is there."""
    try:
        pd = import_module("pandas")  # optional
    except ImportError:
        message = "to_frame needs pandas, which is not installed; pip install 'dalenius[pandas]'"
        raise InputError(message) from None
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
