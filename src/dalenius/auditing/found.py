"""What every road of an audit returns: a bracket in nats, the prior, and the proofs that its certificate carries."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from dalenius.certificates.audits import certificate_data
from dalenius.model import secret as secrets
from dalenius.model.prior import Prior
from dalenius.model.problem import AuditProblem
from dalenius.reductions.way_back import WayBack

Members = range | tuple[int | None, ...]  # None stands for a secret that is not a record
Group = tuple[Members, float, float]


@dataclass(frozen=True, eq=False)
class Found:
    """lower <= L <= upper, in nats, and what proves it.

    record: that of the witness; None for a secret that is not a record.
    witness, proofs: as certificates have them, proofs with the record that each is about.
    brackets: of every orbit of records.
    extremes: bounds of L(0), and what the reference prior leaks; None where they are not known.
    finished: whether the search did all that it can, if it says so.
    channel: what the certificate says of the channel beside its description.
    tried: the names of the bounds that were tried; none where a formula answers.
    """

    lower: float
    upper: float
    prior: Prior
    record: int | None
    witness: dict[str, Any]
    proofs: tuple[tuple[int, dict[str, Any]], ...]
    brackets: tuple[Group, ...]
    upper_by: str
    extremes: tuple[float, float, float] | None = None
    proved: Literal["both", "lower", "upper"] = "both"
    finished: bool | None = None
    channel: dict[str, Any] = field(default_factory=dict)
    tried: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """How far apart the bounds are."""
        return self.upper - self.lower

    def through(self, back: WayBack, problem: AuditProblem) -> Self:
        """Return what this bracket of an easier question says of the question itself, which is `problem`."""
        brackets = tuple(
            (members, back.lower(low), min(back.upper(high), _most(problem, members)))
            for members, low, high in self.brackets
        )
        lower, upper, extremes = back.lower(self.lower), max(high for _, _, high in brackets), self.extremes
        if extremes is not None:
            low, high, uniform = extremes
            most = max(_most(problem, members) for members, _, _ in brackets)
            extremes = max(lower, back.lower(low)), max(upper, min(back.upper(high), most)), uniform
        return replace(
            self,
            lower=lower,
            upper=max(lower, upper),
            prior=back.prior(self.prior),
            brackets=brackets,
            extremes=extremes,
            proved=self.proved if back.proved == "both" else back.proved,
            channel={**self.channel, **back.to_certificate()},
        )

    def certificate(self, problem: AuditProblem) -> dict[str, Any]:
        """Return the certificate of this bracket of the question."""
        return certificate_data(
            problem, (self.lower, self.upper), (self.record, self.witness), self.proofs, self.channel
        )


def _most(problem: AuditProblem, members: Members) -> float:
    """The most that these records, or the secret, can hold."""
    about = members[0] if problem.secret is None else problem.secret
    assert about is not None  # for the type checker: every record has an index
    return math.nextafter(math.log(secrets.size(about, problem.mechanism.records)), math.inf)
