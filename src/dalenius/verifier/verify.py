"""Re-checking an audit or a design certificate: `verify(path)`.

Shares no code with the solver: the standard library and python-flint alone. The channel and the
multiplicities are rebuilt from the problem's description, then in ball arithmetic
1. the witness is a prior that the adversary may hold, and leaks at least `lower`;
2. every record has a proof, or is interchangeable with one that has, and each proof is re-derived;
   in a certificate about one secret, that secret has its proof;
3. lower <= upper.
A design certificate carries an audit certificate of its mechanism; the rest is in design.py. Noise on sums of very
many records, whose rows would not fit, is checked in unwritten_sums.py, noise on every count of a histogram in
unwritten_histograms.py, channels that each record has to itself in products.py, one record through a symmetric
channel in symmetric.py; real outputs are in real.py, real-valued records in
continuous.py.
Whatever is wrong inside a certificate is an answer (verified is False), not an error; only a file that
cannot be read raises OSError.
"""

import html
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Protocol

from flint import arb

from . import design, independent, joint, reference, saved, secret
from .balls import ZERO, Ball, precision, short
from .channels import (
    continuous,
    one_record,
    products,
    real,
    real_records,
    symmetric,
    unwritten_histograms,
    unwritten_sums,
)
from .channels.channel import Channel, rebuild
from .channels.counting import Statistic
from .limits import LARGEST, LONGEST, MEMORY, SLACK, TIME_LIMIT, NotChecked, tick, within
from .proofs import check
from .question import Audited, Knowledge, Question, held, information, prior_of
from .reading import AUDIT, DESIGN, JOINT, Refused, field, mapping, number, read, refuse, sequence, show
from .reference import UNIFORM, Reference
from .secret import Group, Secret

VERSION = 1
NO_CHILD = (
    "checked in this process, as none can be started here: a single step may overrun the time limit, and memory is not "
    "limited"
)
Check = Callable[[Secret, dict[str, Any], str], float]  # secret, proof, words for it -> the bound it claims
Description = dict[str, object]  # of a channel, in plain data
Given = Description | list[Description] | None  # the channel that a certificate is to be about, or all of them
# Channels that are not written out against independent records, by the kind of their proofs.
INDEPENDENT: dict[str, Callable[[dict[str, Any]], independent.Unwritten]] = {
    "shift": one_record.shifted,
    "indicators": one_record.counts,
}
# What a witness says of a channel that is never written out.
BESIDE: dict[object, Callable[[dict[str, Any]], independent.Unwritten]] = {
    "sum": one_record.shifted,
    "counts": one_record.counts,
    "own": one_record.own,
}


class Describes(Protocol):
    """Anything that describes a channel, such as a Mechanism."""

    def describe(self) -> dict[str, object]:
        """Return the problem in plain data."""


@dataclass(frozen=True, repr=False)
class Verification:
    """The verdict on a certificate; true in a condition when verified.

    Attributes:
        verified: whether the certificate proves its bounds.
        lower: the lower bound it states; None where the file states none.
        upper: the upper bound, likewise.
        reason: what was proved, or why not; "not checked: ..." where the limits ended the check.
        problem: what the certificate is about, in words.
        quantity: what the bounds are about: the leakage "L" of a mechanism, or an optimum, the least leakage
            "eps(D,b)" or the least distortion "D(L,b)".
        unit: nats; empty for distortions.

    Example:
        >>> bool(dl.verify(dl.audit(dl.mechanisms.constant(dl.queries.count(n=2)), knowledge=0.5)))
        True
    """

    verified: bool
    lower: float | None
    upper: float | None
    reason: str
    problem: str
    seconds: float
    quantity: str = "L"
    unit: str = "nats"
    # With which confidence the upper bound holds, of a mechanism known by samples; None where it holds for certain.
    confidence: float | None = None

    def __bool__(self) -> bool:
        return self.verified

    def __repr__(self) -> str:
        bounds = f"{self.lower!r} <= {self.quantity} <= {self.upper!r} {self.unit}".rstrip()
        bounds += "" if self.confidence is None else f" with confidence {self.confidence!r}"
        verdict = f"verified {bounds}" if self.verified else "NOT verified"
        return f"<Verification: {verdict}: {self.reason}. Problem: {self.problem or 'unknown'}>"

    def _repr_html_(self) -> str:
        bounds = repr(self)[len("<Verification: ") :].split(": ")[0]
        rows = [("verdict", bounds), ("problem", self.problem or "unknown"), ("reason", self.reason)]
        style = "text-align:left;white-space:pre-wrap"
        cells = "".join(
            f'<tr><th style="{style}">{name}</th><td style="{style}">{html.escape(words)}</td></tr>'
            for name, words in rows
        )
        return f"<table>{cells}</table>"


class _Report:
    """What is known of a certificate so far, so that a refusal can still say what it was about."""

    lower: float | None = None
    upper: float | None = None
    problem: str = ""
    quantity: str = "L"
    unit: str = "nats"
    confidence: float | None = None
    knowledge: Ball = ZERO
    universe: Ball | None = None  # log|X|, where entropy counts

    def fields(self) -> dict[str, Any]:
        """Return them by name."""
        return {key: getattr(self, key) for key in ("lower", "upper", "problem", "quantity", "unit", "confidence")}


def verify(
    source: Any,  # noqa: ANN401 - path, dict or .data
    mechanism: "Describes | Sequence[Describes] | None" = None,
    *,
    memory: int = MEMORY,
    time_limit: float = TIME_LIMIT,
) -> Verification:
    """Re-check a certificate in a child process: a path, its data as a dict, or an object whose `.data` is that dict.

    With a mechanism also that the certificate is about this channel; of several releases together, with the list of
    them, in any order, one that was run twice twice. memory (MiB) and time_limit (seconds) are for
    reading and checking together; beyond them the answer is `verified = False`, with a reason that begins "not
    checked:". It is there within a second of the time limit. Where no child can be started, the reason says so.
    """
    from . import process  # noqa: PLC0415 - the child needs this module, and not that one

    begin = time.perf_counter()
    described = _described(mechanism)
    limits: dict[str, Any] = {"memory": min(memory, LARGEST), "time_limit": min(time_limit, LONGEST)}
    content = Path(source) if isinstance(source, (str, os.PathLike)) else getattr(source, "data", source)
    if process.available():
        found = process.verdict(content, described, **limits)
    else:
        if isinstance(content, Path):
            with content.open("rb") as file:
                found = _verdict(lambda: read(file, limits["memory"]), lambda: described, **limits)
        else:
            found = _verdict(lambda: content, lambda: described, **limits)
        found["reason"] += f"; {NO_CHILD}"
    return _verification(found, begin)


def verify_here(
    source: Any,  # noqa: ANN401 - dict or .data
    mechanism: Describes | Sequence[Describes] | None = None,
    *,
    time_limit: float = TIME_LIMIT,
) -> Verification:
    """Re-check a certificate that this process has made itself, in this process: as `verify` does, but for limits.

    The clock is read in every loop, but a single call of FLINT may overrun it, and nothing limits memory.
    """
    begin = time.perf_counter()
    described = _described(mechanism)
    limit = min(time_limit, LONGEST)
    found = _verdict(lambda: getattr(source, "data", source), lambda: described, memory=None, time_limit=limit)
    return _verification(found, begin)


def _described(mechanism: "Describes | Sequence[Describes] | None") -> Given:
    if mechanism is None:
        return None
    return [one.describe() for one in mechanism] if isinstance(mechanism, Sequence) else mechanism.describe()


def verify_stream(
    certificate: IO[bytes],
    mechanism: IO[bytes] | None = None,
    *,
    memory: int = MEMORY,
    time_limit: float = TIME_LIMIT,
) -> dict[str, Any]:
    """Read and re-check a certificate in this process; return the fields of a Verification.

    mechanism: JSON, the description of the channel that it is to be about, or the list of all of them.
    """
    about = (lambda: None) if mechanism is None else (lambda: read(mechanism, memory))
    return _verdict(lambda: read(certificate, memory), about, memory=memory, time_limit=time_limit)


def _verification(found: dict[str, Any], begin: float) -> Verification:
    return Verification(**{**_Report().fields(), **found, "seconds": time.perf_counter() - begin})


def _verdict(
    source: Callable[[], object], mechanism: Callable[[], Given], *, memory: int | None, time_limit: float
) -> dict[str, Any]:
    report = _Report()
    verified = False
    try:
        with precision(), within(time_limit):
            content = mapping(source(), "the certificate")
            stored = isinstance(content.get("format"), str) and content["format"] in saved.FORMATS
            certificate = saved.certificate_of(content) if stored else content
            reason = _check(certificate, mechanism(), report)
            if stored:
                saved.check_knowledge(content, report.knowledge, report.universe)
            tick()
        verified = True
    except (Refused, NotChecked) as refusal:
        reason = str(refusal)
    except MemoryError:
        allowed = "" if memory is None else f", {memory} MiB are allowed; allow more with memory= (--memory)"
        reason = f"not checked: memory ran out{allowed}"
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        # Nothing above should raise these; if it does, the certificate is not verified, and the user has no traceback.
        reason = f"it cannot be checked ({type(error).__name__}: {show(str(error))})"
    return {**report.fields(), "verified": verified, "reason": reason}


def _check(content: dict[str, Any], mechanism: Given, report: _Report) -> str:
    """Return what a certificate of either kind establishes."""
    if content.get("format") == JOINT:
        return _joint(content, [mechanism] if isinstance(mechanism, dict) else mechanism, report)
    if isinstance(mechanism, list):
        if len(mechanism) != 1:
            refuse(f"the certificate is about one mechanism, and {len(mechanism)} were given")
        mechanism = mechanism[0]
    return _of_one(content, mechanism, report)


def _of_one(content: dict[str, Any], mechanism: Description | None, report: _Report) -> str:
    """Return what a certificate about one channel establishes."""
    if content.get("format") == DESIGN:
        return _design(content, mechanism, report)
    if "cells" in mapping(content.get("witness", {}), "the witness"):
        return _continuous_audit(content, mechanism, report)
    if "independent" in mapping(content.get("adversary", {}), "the adversary"):
        return _independent_audit(content, mechanism, report)
    if {"blocks", "kind", "part", "uniform"} & mapping(content.get("witness", {}), "the witness").keys():
        return _large_audit(content, mechanism, report)
    if "quadrature" in mapping(content.get("problem", {}), "the problem"):
        return _real_audit(content, mechanism, report)
    return _audit(content, mechanism, report).reason


def _bounds(content: dict[str, Any], expected: str, report: _Report) -> tuple[float, float]:
    """Return `lower` and `upper` of a certificate of the format and version that this verifier reads."""
    if content.get("format") != expected:
        refuse(f'this is not a certificate: it has no "format": "{expected}"')
    version = content.get("version")
    if type(version) is not int or version != VERSION:
        refuse(f"the certificate has version {show(version)}; this verifier reads version {VERSION}")
    report.lower = number(field(content, "lower", "the certificate"), "'lower'")
    report.upper = number(field(content, "upper", "the certificate"), "'upper'")
    return report.lower, report.upper


@dataclass(frozen=True)
class _Posed:
    """What a certificate is about besides its channel; secret is None when it is about every record."""

    secret: Secret | None
    about: Secret  # of the witness
    knowledge: Knowledge
    reference: Reference


def _posed(content: dict[str, Any], statistic: Statistic, channel: str, report: _Report) -> _Posed:
    """Read secret, reference and knowledge, and write the problem down in words."""
    witness = mapping(field(content, "witness", "the certificate"), "the witness")
    adversary = mapping(field(content, "adversary", "the certificate"), "the adversary")
    report.problem = channel
    asked = secret.read(content["secret"], statistic) if "secret" in content else None
    if asked is not None:
        report.problem += f"; the secret is {asked.text}"
    prior = reference.read(adversary["reference"], statistic) if "reference" in adversary else UNIFORM
    knowledge, words = _knowledge(adversary, statistic, prior)
    report.knowledge = knowledge.most
    report.universe = None if "reference" in adversary else statistic.log_universe()
    report.problem += f"; {words}"
    if asked is None:
        return _Posed(None, secret.of_record(witness, statistic, "the witness"), knowledge, prior)
    if "record" in witness:
        refuse("the witness names a record, but the certificate is about the secret that it states")
    return _Posed(asked, asked, knowledge, prior)


def _audit(content: dict[str, Any], mechanism: Description | None, report: _Report) -> Audited:
    """Check an audit certificate.

    Guarantee: lower <= L <= upper, the leakage of the channel that it describes, about every record or the secret.
    """
    lower, upper = _bounds(content, AUDIT, report)
    description = mapping(field(content, "problem", "the certificate"), "the problem")
    channel = rebuild(description)
    posed = _posed(content, channel.statistic, channel.text, report)
    if mechanism is not None:
        _same_channel(description, channel, mechanism)
    if lower > upper:
        refuse(f"lower {lower!r} exceeds upper {upper!r}")
    report.confidence = _nothing_from_below(channel, lower)
    question = Question(channel, posed.about, posed.knowledge, posed.reference)
    _witness(content["witness"], question, lower)
    reason = _established(lower, upper, posed, _proved(content, posed, question, upper), channel.confidence)
    return Audited(channel, posed.knowledge, posed.reference, upper, reason, report.problem)


def _proved(content: dict[str, Any], posed: _Posed, question: Question, upper: float) -> str:
    """Check all proofs; return how many in words.

    Guarantee: L <= upper, the leakage of the question's channel, about every record or the secret.
    """

    def check_one(about: Secret, proof: dict[str, Any], where: str) -> float:
        return check(question if about == question.secret else replace(question, secret=about), proof, where)

    listed = field(content, "proofs", "the certificate")
    return _proofs(listed, posed, question.channel.statistic, check_one, upper)


def _independent_audit(content: dict[str, Any], mechanism: Description | None, report: _Report) -> str:
    """Check an audit certificate against an adversary whose records are independent; see independent.py.

    Guarantee: lower <= L <= upper, L the most that such a prior leaks of any record, or of the one that is the secret.
    """
    lower, upper = _bounds(content, AUDIT, report)
    description = mapping(field(content, "problem", "the certificate"), "the problem")
    witness = mapping(field(content, "witness", "the certificate"), "the witness")
    listed = sequence(field(content, "proofs", "the certificate"), "proofs")
    kinds = [mapping(proof, "a proof").get("kind") for proof in listed]
    build: Callable[[dict[str, Any]], Channel | independent.Unwritten] = next(
        (build for kind, build in INDEPENDENT.items() if kind in kinds), rebuild
    )
    if "unwritten" in witness:
        if witness["unwritten"] not in list(BESIDE):
            refuse(f"the witness is about a release of an unknown form, {show(witness['unwritten'])}")
        build = BESIDE[witness["unwritten"]]
    channel = build(description)
    report.problem = channel.text
    asked = _independent(mapping(content["adversary"], "the adversary"), channel, report)
    if mechanism is not None and mechanism != description:
        _same_independent(description, channel, mechanism)
    if lower > upper:
        refuse(f"lower {lower!r} exceeds upper {upper!r}")
    report.confidence = _nothing_from_below(channel, lower) if isinstance(channel, Channel) else None
    about = secret.read(content["secret"], channel.statistic) if "secret" in content else None
    if about is not None and (not isinstance(about, Group) or len(about.records) > 1):
        refuse("independent records are audited one by one; the secret must be a record")
    of = secret.of_record(witness, channel.statistic, "the witness") if about is None else about
    posed = _Posed(about, of, Knowledge(ZERO, none=True, free=False), asked.reference)
    asked.check_witness(witness, of.records[0], lower)

    def check_one(one: Secret, proof: dict[str, Any], where: str) -> float:
        assert isinstance(one, Group)  # noqa: S101 - for the type checker
        return asked.check_proof(proof, one.records[0], where)

    proofs = _proofs(listed, posed, channel.statistic, check_one, upper)
    return _established(lower, upper, posed, proofs, report.confidence)


def _independent(
    adversary: dict[str, Any], channel: Channel | independent.Unwritten, report: _Report
) -> independent.Independent:
    """Read what the adversary with independent records may hold, and write it down in words."""
    if adversary["independent"] is not True or not set(adversary) <= {"independent", "reference", "knowledge"}:
        refuse("an adversary with independent records has 'independent' true, and at most 'reference' and 'knowledge'")
    statistic = channel.statistic
    rho = reference.read(adversary["reference"], statistic) if "reference" in adversary else UNIFORM
    if isinstance(rho, reference.Weights):
        refuse("independent records have a law each, not weights of datasets")
    words = "an adversary under whose prior the records are independent"
    if "knowledge" not in adversary:
        follows = "reference" in adversary
        words += f", the others following the reference exactly: {rho.text}" if follows else ""
        report.problem += f"; {words}"
        return independent.Independent(channel, rho, follows, None)
    knowledge, more = _knowledge({key: adversary[key] for key in adversary if key != "independent"}, statistic, rho)
    report.knowledge = knowledge.most
    report.universe = None if "reference" in adversary else statistic.log_universe()
    report.problem += f"; {words}, and {more}"
    return independent.Independent(channel, rho, follows=False, knowledge=knowledge)


def _same_independent(
    description: dict[str, Any], channel: Channel | independent.Unwritten, mechanism: Description
) -> None:
    """Refuse unless the mechanism is the channel that the certificate is about."""
    if isinstance(channel, Channel):
        _same_channel(description, channel, mechanism)
        return
    builds: dict[type, Callable[[dict[str, Any]], Any]] = {
        one_record.Shifted: one_record.shifted,
        one_record.Counts: one_record.counts,
        one_record.Own: one_record.own,
    }
    compared: Any = channel
    difference = compared.difference(builds[type(channel)](dict(mechanism)))
    if difference is not None:
        refuse(f"the certificate is about another channel than the mechanism given: {difference}")


def _real_audit(content: dict[str, Any], mechanism: Description | None, report: _Report) -> str:
    """Check an audit certificate of a mechanism with real outputs; see real.py.

    Guarantee: lower <= L <= upper, the leakage of the channel that it describes, about every record or the secret.
    """
    lower, upper = _bounds(content, AUDIT, report)
    description = mapping(content["problem"], "the problem")
    channel, margins = real.rebuild(description)
    posed = _posed(content, channel.statistic, channel.text, report)
    if mechanism is not None:
        told_apart = real.difference(description, mechanism)
        if told_apart is not None:
            refuse(f"the certificate is about another channel than the mechanism given: {told_apart}")
    if lower > upper:
        refuse(f"lower {lower!r} exceeds upper {upper!r}")
    question = Question(channel, posed.about, posed.knowledge, posed.reference)
    witness = mapping(content["witness"], "the witness")
    if "quadrature" in witness:  # points of its own
        finer, finer_margins = real.rebuild({**description, "quadrature": witness["quadrature"]})
        _witness(witness, replace(question, channel=finer), finer_margins.least(lower))
    else:
        _witness(witness, question, margins.least(lower))
    values = len(question.shares)  # those without mass counted: as many for every record
    trivial = arb(min(values, len(channel.rows))).log()  # a secret, or an answer, holds no more
    most = math.inf if trivial <= upper else margins.most(upper)
    return _established(lower, upper, posed, _proved(content, posed, question, most))


def _continuous_audit(content: dict[str, Any], mechanism: Description | None, report: _Report) -> str:
    """Check an audit certificate of real-valued records, with two about whole numbers inside; see continuous.py.

    Guarantee: lower <= L <= upper, the leakage of the mechanism that it describes about every record.
    """
    lower, upper = _bounds(content, AUDIT, report)
    problem = real_records.rebuild(mapping(field(content, "problem", "the certificate"), "the problem"))
    report.problem = problem.text
    adversary = mapping(field(content, "adversary", "the certificate"), "the adversary")
    asked, words = real_records.believed(adversary, problem)
    report.knowledge = ZERO if asked.knowledge is None else asked.knowledge
    report.problem += f"; {words}"
    if mechanism is not None and mechanism != content["problem"]:
        difference = problem.difference(real_records.rebuild(dict(mechanism)))
        if difference is not None:
            refuse(f"the certificate is about another channel than the mechanism given: {difference}")
    if lower > upper:
        refuse(f"lower {lower!r} exceeds upper {upper!r}")

    # Records have one law and are interchangeable, so that one of them stands for all.
    about = secret.alone(content.get("secret"), problem.n)
    asked = real_records.with_bins(asked, content.get("secret"), problem)
    continuous.check_witness(mapping(content["witness"], "the witness"), problem, asked, lower, _inner)
    proofs = sequence(field(content, "proofs", "the certificate"), "proofs", 1)
    claimed = continuous.check_proof(mapping(proofs[0], "the proof"), problem, asked, _inner, "the proof")
    if claimed > upper:
        refuse(f"the proof: its bound {claimed!r} exceeds the certificate's {upper!r}")
    of = "any record" if about is None else f"record {about}"
    of = of if asked.bins is None else f"the bin of {of}"
    report.problem += "" if asked.bins is None else f"; the secret is {of}"
    return (
        f"every number was recomputed: a prior that leaks at least {lower!r} nats of a real-valued record, and a proof "
        f"that no prior leaks more than {upper!r} nats of {of}"
    )


def _inner(audit: dict[str, Any], mechanism: Description | None = None) -> tuple[float, float]:
    """Check an audit inside another certificate, of this channel if one is given, and return its bounds."""
    inside = _Report()
    try:
        _check(audit, mechanism, inside)
    except Refused as reason:
        refuse(f"the audit of {inside.problem or 'whole numbers'} inside: {reason}")
    if inside.confidence is not None:
        refuse("the audit inside is of a mechanism known by samples, and holds with a confidence only")
    assert inside.lower is not None and inside.upper is not None  # noqa: S101, PT018 - a certificate has both
    return inside.lower, inside.upper


def _joint(content: dict[str, Any], mechanisms: list[Description] | None, report: _Report) -> str:
    """Check the certificate of several releases together; see joint.py.

    Guarantee: lower <= L <= upper, the most that all of them together leak of any record.
    """
    lower, upper = _bounds(content, JOINT, report)
    asked = joint.Joint(content)
    report.problem = asked.text
    if lower > upper:
        refuse(f"lower {lower!r} exceeds upper {upper!r}")
    return asked.check(lower, upper, _inner, mechanisms)


def _large_audit(content: dict[str, Any], mechanism: Description | None, report: _Report) -> str:
    """Check an audit certificate whose witness is on blocks of classes, on some records, or uniform.

    Guarantee: lower <= L <= upper, the leakage of the channel that it describes, about every record or the secret.
    """
    lower, upper = _bounds(content, AUDIT, report)
    description = mapping(field(content, "problem", "the certificate"), "the problem")
    keys = mapping(content["witness"], "the witness").keys()
    counts = {"cell", "kind"} & keys
    unwritten = unwritten_histograms if counts else unwritten_sums
    by_records = products if "part" in keys else symmetric
    kind: Any = unwritten if {"blocks", "kind"} & keys else by_records
    channel = kind.rebuild(description)
    posed = _posed(content, channel.statistic, channel.text, report)
    if mechanism is not None and mechanism != description:
        difference = channel.difference(kind.rebuild(mechanism))
        if difference is not None:
            refuse(f"the certificate is about another channel than the mechanism given: {difference}")
    if lower > upper:
        refuse(f"lower {lower!r} exceeds upper {upper!r}")
    asked = kind.ask(channel, posed.about, posed.reference)
    kind.check_witness(content["witness"], asked, posed.knowledge, lower)

    def check_one(about: Secret, proof: dict[str, Any], where: str) -> float:
        this = asked if about == posed.about else kind.ask(channel, about, posed.reference)
        bound: float = kind.check_proof(this, posed.knowledge, proof, where)
        return bound

    proofs = _proofs(field(content, "proofs", "the certificate"), posed, channel.statistic, check_one, upper)
    return _established(lower, upper, posed, proofs)


def _nothing_from_below(channel: Channel, lower: float) -> float | None:
    """Return the confidence of a channel above the true one; it leaks more, so that no prior bounds that from below."""
    if channel.confidence is not None and lower > 0:
        refuse(f"samples show nothing from below, and the lower bound is {lower!r}")
    return channel.confidence


def _established(lower: float, upper: float, posed: _Posed, proofs: str, confidence: float | None = None) -> str:
    of, no_more = (posed.about.text, "of any record") if posed.secret is None else ("the secret", "of it")
    if confidence is not None:
        return (
            f"every number was recomputed: lower limits from counts of samples, below none of which the truth lies "
            f"with confidence {confidence!r}, and {proofs} that then no prior leaks more than {upper!r} nats {no_more}"
        )
    return (
        f"every number was recomputed: a prior that leaks at least {lower!r} nats of {of}, "
        f"and {proofs} that no prior leaks more than {upper!r} nats {no_more}"
    )


def _design(content: dict[str, Any], mechanism: Description | None, report: _Report) -> str:
    """Check a design certificate, beginning with the audit of its mechanism.

    Guarantee: lower <= optimum <= upper, where the mechanism attains `upper`.
    """
    lower, upper = _bounds(content, DESIGN, report)
    inside = _Report()
    try:
        audit = mapping(field(content, "audit", "the certificate"), "it")
        if "secret" in audit:
            refuse("it is about one secret; a design bounds the leakage of every record")
        audited = _audit(audit, mechanism, inside)
        if audited.channel.confidence is not None:
            refuse("it is of a mechanism known by samples; a design states its mechanism")
    except Refused as reason:
        report.problem = inside.problem
        refuse(f"the audit of the mechanism: {reason}")
    report.problem, report.knowledge, report.universe = inside.problem, inside.knowledge, inside.universe
    task = design.read(content, audited)
    report.problem, report.quantity, report.unit = task.text, task.quantity, task.unit
    if lower > upper:
        refuse(f"lower {lower!r} exceeds upper {upper!r}")
    return task.check(content, lower, upper)


def _knowledge(adversary: dict[str, Any], statistic: Statistic, rho: Reference) -> tuple[Knowledge, str]:
    """Return what bounds D(prior || rho), also in words. No prior reaches beyond log(1/rho_min)."""
    if set(adversary) - {"reference"} == {"knowledge"}:
        most = rho.farthest(statistic)
        k = number(adversary["knowledge"], "the adversary's knowledge", low=0.0)
        free = bool(most <= k)
        knowledge = Knowledge(most if free else arb(k), none=k == 0 or most.is_zero(), free=free)
        beyond = f", counted from the reference: {rho.text}" if "reference" in adversary else ""
        return knowledge, f"an adversary that knows at most {k!r} nats{beyond}"
    if set(adversary) == {"entropy", "reference"}:
        refuse("entropy is counted from the uniform prior; an adversary with a reference needs 'knowledge'")
    most = statistic.log_universe()
    if set(adversary) != {"entropy"}:
        refuse("the adversary needs either 'entropy' or 'knowledge'")
    b = number(adversary["entropy"], "the adversary's entropy", low=0.0)
    with precision(512):  # no float is the logarithm of an integer above 1: this many bits tell them apart
        left = statistic.log_universe() - arb(b)
        if left < -SLACK.entropy * max(1.0, float(most)):
            refuse(f"no prior has entropy {b!r} nats; log|X| is {short(most)}")
    none = bool(left <= 0)
    if not (none or left > 0):
        refuse(f"the entropy {b!r} nats cannot be distinguished from log|X|")
    knowledge = Knowledge(ZERO if none else +left, none=none, free=b == 0)
    return knowledge, f"an adversary whose prior has entropy at least {b!r} nats"


def _same_channel(description: dict[str, Any], channel: Channel, mechanism: Description) -> None:
    """Refuse unless the mechanism is the channel that the certificate is about."""
    if mechanism == description:
        return
    difference = channel.difference(rebuild(mechanism))
    if difference is not None:
        refuse(f"the certificate is about another channel than the mechanism given: {difference}")


def _witness(value: object, question: Question, lower: float) -> None:
    """Check the lower bound.

    Classes that share a row are put together: the prior is then the reference inside.
    """
    witness = mapping(value, "the witness")
    given = prior_of(field(witness, "masses", "the witness"), question, "the witness")
    prior = held(question.merged(given), question.cells, question.knowledge, "the witness")
    leaked = information(question.channel, prior)
    if lower > 0 and not leaked >= lower:
        refuse(f"the witness leaks {short(leaked)}, less than the claimed lower bound {lower!r}")


def _proofs(value: object, posed: _Posed, statistic: Statistic, check_one: Check, upper: float) -> str:
    """Check all proofs and that they cover the secret, or all records; return how many in words."""
    listed = sequence(value, "proofs", None if posed.secret is None else 1)
    covered: set[Secret] = set()
    for j, item in enumerate(listed):
        proof = mapping(item, f"proof {j}")
        if posed.secret is None:
            about: Secret = secret.of_record(proof, statistic, f"proof {j}")
            where = f"proof of {about.text}"
        else:
            about, where = posed.secret, "proof of the secret"
            if "record" in proof:
                refuse(f"{where}: it names a record, but the certificate is about the secret that it states")
        if about in covered:
            refuse(f"{about.text} is proved twice")
        claimed = check_one(about, proof, where)
        if claimed > upper:
            refuse(f"{where}: its bound {claimed!r} exceeds the certificate's {upper!r}")
        covered.add(about)
    if posed.secret is None:
        _all_covered(covered, statistic, posed.reference)
    return f"{len(listed)} proof{'s' if len(listed) > 1 else ''}"


def _all_covered(covered: set[Secret], statistic: Statistic, rho: Reference) -> None:
    """Refuse unless every record is covered or may change places with one that is.

    It may where that changes neither the statistic nor the reference.
    """
    if covered and statistic.interchangeable and rho.common:
        return
    alike = rho.alike if statistic.interchangeable else (lambda i: i)
    known = {alike(i) for about in covered if isinstance(about, Group) for i in about.records}
    for i in range(statistic.n):
        if alike(i) not in known:
            refuse(f"record {i} has no proof")
