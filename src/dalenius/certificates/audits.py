"""What every road of an audit returns, and the certificate of it as plain data: question, bounds, witness, proofs."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, cast

import numpy as np

from dalenius.model import secret as secrets
from dalenius.model.prior import Prior
from dalenius.model.problem import Adversary, AuditProblem
from dalenius.numerics.types import Floats
from dalenius.reductions.way_back import WayBack

MARGIN_DOWN, MARGIN_UP = 1e-12, 1e-11
VERSION = 2  # of the format of certificates
# The form of a release that is not written out, by the kind of its witness.
FORMS = {
    "blocks": "sum",
    "tied": "histogram",
    "counted": "histogram",
    "part": "per-record",
    "uniform": "per-record",
    "cells": "real-records",
}
Members = range | tuple[int | None, ...]  # None stands for a secret that is not a record
Group = tuple[Members, float, float]


def adversary_data(adversary: Adversary) -> dict[str, Any]:
    """Return the number that was given, the reference if there is one, and whether records are independent."""
    known = adversary.reference.describe()
    return {
        **({"independent": True} if adversary.kind == "independent" else {}),
        **({} if adversary.unlimited else {adversary.given: adversary.value}),
        **({"reference": known} if known else {}),
    }


def question_data(problem: AuditProblem) -> dict[str, Any]:
    """Return what an audit is asked, as its certificate carries it: the mechanism, the adversary and the secret."""
    secret = {} if problem.secret is None else {"secret": secrets.describe(problem.secret)}
    return {"problem": problem.mechanism.describe(), "adversary": adversary_data(problem.adversary), **secret}


@dataclass(frozen=True, eq=False)
class Found:
    """lower <= L <= upper, in nats, and what proves it.

    record: that of the witness; None for a secret that is not a record.
    witness, proofs: as certificates have them, proofs with the record that each is about.
    brackets: of every orbit of records.
    extremes: bounds of L(0), and what the reference prior leaks; None where they are not known.
    finished: whether the search did all that it can, if it says so.
    channel: what the certificate says of the channel beside its description.
    tried: the bounds that were tried, and why one ended early; none where a formula answers.
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
        """Return the certificate of this bracket, with a proof for each orbit of records, or one for the secret.

        Witness and proofs name the record that they are about where every record is a secret.
        """
        question, every = question_data(problem), problem.secret is None
        stated = {key: x for key, x in self.witness.items() if key != "form"}
        return {
            "format": "dalenius/audit-certificate",
            "version": VERSION,
            "form": problem.mechanism.form or _form(self.witness),
            **question,
            "problem": {**question["problem"], **self.channel},
            "lower": self.lower,
            "upper": self.upper,
            "witness": {"record": self.record, **stated} if every else stated,
            "proofs": [{"record": record, **proof} if every else proof for record, proof in self.proofs],
        }


def _most(problem: AuditProblem, members: Members) -> float:
    """The most that these records, or the secret, can hold."""
    about = members[0] if problem.secret is None else problem.secret
    assert about is not None  # for the type checker: every record has an index
    return math.nextafter(math.log(secrets.size(about, problem.mechanism.records)), math.inf)


def _form(witness: dict[str, Any]) -> str:
    """How the release is held; a witness against independent records says it, as its kind does not."""
    if "form" in witness:
        return str(witness["form"])
    return "histogram" if "cell" in witness else FORMS.get(witness["kind"], "rows")


def listed(masses: Floats, sparse: float = 0.1) -> list[list[float]]:
    """Return masses as lists. Where few are not zero, the zeros are one object: a tenth of the time, and of the memory.

    sparse: the share of entries up to which that is worth it.
    """
    if np.count_nonzero(masses) > sparse * masses.size:
        return cast("list[list[float]]", masses.tolist())
    rows = [[0.0] * masses.shape[1] for _ in range(len(masses))]
    places = np.nonzero(masses)
    for a, t, mass in zip(*(axis.tolist() for axis in places), masses[places].tolist(), strict=True):
        rows[a][t] = mass
    return rows
