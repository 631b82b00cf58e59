"""What an audit answers: brackets, records, the witness, and the curve L(b)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby
from operator import itemgetter
from typing import Any, ClassVar, overload

import numpy as np

from dalenius import shown as shown_as
from dalenius.certificates.audits import Group
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.prior import Prior
from dalenius.model.problem import Adversary, in_unit
from dalenius.model.reference import Reference
from dalenius.model.secret import Attributes, Bins, Secret, members, name
from dalenius.numerics.rounding import decimals, round_down, round_up, short_up
from dalenius.results import guess as guesses
from dalenius.results.result import Certified, Series, Stopped, finite, frame, values, worst_end


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
            together = members[0] if len(members) == 1 else tuple(sorted(i for i in chain(*members) if i is not None))
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

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per record, worst first."""
        return frame([{"record": r.record, "lower": r.lower, "upper": r.upper} for r in self])

    def _repr_html_(self, most: int = 20) -> str:
        rows = [(str(r.record), round_down(r.lower), round_up(r.upper)) for r in self[:most]]
        more = "" if len(self) <= most else f"; the first {most}"
        return shown_as.table(("record", "lower", "upper"), rows, f"{len(self)} records, worst first{more}")

    def __repr__(self) -> str:
        shown = ", ".join(f"{r.record}: [{r.lower:.6g}, {r.upper:.6g}]" for r in self[:3])
        return f"<Records of {len(self)}, worst first: {shown}{', ...' if len(self) > 3 else ''}>"


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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Audit(Certified):
    """lower <= L(b) <= upper, with the prior that attains `lower` and the certificate of both.

    Every amount of information is in `unit`, and so is the tolerance; the certificate is in nats, and so is the
    history. The page on results has a table of all fields.

    Attributes:
        lower: what the prior returned leaks at least.
        upper: what no prior leaks more than.
        stopped: "gap" only where `closed` is true; "nearly" where the gap is within 1e-5 and every bound that
            applies was tried; "time_limit", "interrupted" or "method".
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
        tried: the bounds that were tried, and why one ended early; none where a formula answers.
        secret: what was given as `secret=`: None (every record), the index of a record, a Group or a Function.

    Example:
        >>> audit = dl.audit(dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1), knowledge=0.5)
        >>> audit.stopped, audit.proved, audit.record
        ('gap', 'both', 0)
    """

    mechanism: Mechanism
    record: int | None
    records: Records
    prior: Prior
    extremes: Extremes | None
    nodes: int
    upper_by: str
    tried: tuple[str, ...] = ()
    secret: Secret | None = None
    # Records that to_dict lists one by one.
    most_listed: ClassVar[int] = 1000

    @property
    def bounds(self) -> str:
        """The name of `upper_by` in version 0.1."""
        return self.upper_by

    @property
    def confidence(self) -> float | None:
        """The confidence with which `upper` holds for a mechanism known by samples; None if it holds for certain."""
        return self.mechanism.confidence

    def guess(self, before: float = 0.5) -> float:
        """Return the greatest chance of a right guess of the secret after the release, certified by `upper`.

        Args:
            before: the chance of the best guess before the release, above 0 and below 1.

        Returns:
            The p above `before` with p log(p/before) + (1-p) log((1-p)/(1-before)) = upper, in nats, rounded up; 1
            where upper excludes nothing.

        Raises:
            InputError: before is not between 0 and 1.

        Example:
            >>> query = dl.queries.count(n=4)
            >>> audit = dl.audit(dl.mechanisms.geometric(query, epsilon=1), adversary="independent")
            >>> round(audit.guess(before=0.5), 4), round(audit.guess(before=0.1), 4)
            (0.7311, 0.2664)
        """
        return guesses.guess(self.upper, before, self.unit)

    @property
    def priors(self) -> int:
        """How many priors were listed as the adversary's, of which this is the worst; 1 where none were."""
        return 1 + len(self.certificate.data.get("priors", ()))

    @property
    def reference(self) -> Reference:
        """The prior from which knowledge counts: uniform by default."""
        return self.adversary.reference

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the command line; non-finite numbers are None."""
        extremes = self.extremes
        return {
            **values(self, "lower", "upper", "unit", "entropy", "knowledge"),
            "adversary": "listed" if self.priors > 1 else self.adversary.kind,
            "record": self.record,
            "records": self._record_list(),
            "secret": self._secret(),
            "reference": self.reference.kind,
            **values(self, "stopped", "proved", "confidence"),
            **self._found(),
            **values(self, "seconds", "gap", "tolerance", "relative", "seed", "nodes", "upper_by", "bounds"),
            "extremes": extremes
            and {"unconstrained": list(map(finite, extremes.unconstrained)), "uniform": finite(extremes.uniform)},
        }

    def to_frame(self) -> Any:
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

    def __repr__(self) -> str:
        note = ("" if self.closed or self.proved == "upper" else ", gap open") + self._note()
        sure = "" if self.confidence is None else f" with confidence {self.confidence:g}"
        digits = decimals(self.upper)
        knows = (
            f"the worst of {self.priors} priors"
            if self.priors > 1
            else "the listed prior"
            if "priors" in self.certificate.data
            else "independent records"
            if self.adversary.unlimited
            else f"knowledge <= {self.knowledge:.6g}"
            if self.adversary.given == "knowledge"
            else f"H(X) >= {self.entropy:.9g}"
        )
        return (
            f"<Audit {round_down(self.lower, digits)} <= L <= {round_up(self.upper, digits)} {self.unit}{sure} at "
            f"{knows}: {name(self.prior.secret)}, proved {self.proved}, stopped by {self.stopped}{note}>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Series):
    """The leakage along what the adversary may know, each point an audit.

    Attributes:
        entropies: entropy of the prior at each point, log|X| - knowledge, in the unit of the audits.
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
    def _points(self) -> tuple[Audit, ...]:
        return self.audits

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

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per point."""
        return frame([_row(audit) for audit in self.audits])

    def __repr__(self) -> str:
        widest = max(audit.gap for audit in self.audits)
        first = self.audits[0]
        beyond = first.adversary.given == "knowledge" or not math.isfinite(first.entropy)
        along, what = (self.knowledges, "knowledge <=") if beyond else (self.entropies, "H(X) >=")
        ends = [str(round_up(self.upper.max())), str(round_down(self.lower.min()))]
        sure = "" if self.audits[0].confidence is None else f", each with confidence {self.audits[0].confidence:g}"
        return (
            f"<Curve of {len(self.audits)} points, {what} {min(along):.4g} to {max(along):.4g}: "
            f"L from {' to '.join(reversed(ends) if beyond else ends)} {self.unit}, "
            f"widest gap {widest:.1e}{sure}{self._note()}>"
        )


def limit_words(adversary: Adversary, unit: str) -> str:
    """Return `knowledge <= 0.5 nats`, with a reference prior `beyond the reference`; H(X) >= 1.5 nats if so given."""
    if adversary.unlimited:
        return "independent records"
    if adversary.given == "entropy":
        return f"H(X) >= {in_unit(adversary.entropy, unit):.6g} {unit}"
    beyond = "" if adversary.reference.uniform else " beyond the reference"
    return f"knowledge <= {in_unit(adversary.knowledge, unit):.6g} {unit}{beyond}"


def _row(audit: Audit) -> dict[str, Any]:
    columns = ("entropy", "knowledge", "lower", "upper", "unit", "record", "stopped", "proved", "confidence", "seconds")
    return {key: getattr(audit, key) for key in columns}
