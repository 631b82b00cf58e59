"""Re-checking an audit certificate: `verify(path)`.

Shares no code with the solver: the standard library and python-flint alone. The channel and the
multiplicities are rebuilt from the problem's description, then in ball arithmetic
1. the witness is a prior that the adversary may hold, and leaks at least `lower`;
2. every record has a proof, or is interchangeable with one that has, and each proof is re-derived;
3. lower <= upper.
Whatever is wrong inside a certificate is an answer (verified is False), not an error; only a file that
cannot be read raises OSError.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flint import arb

from .balls import ZERO, Ball, precision, short
from .channel import Channel, rebuild
from .proofs import Knowledge, Question, check, information
from .reading import Refused, field, mapping, number, numbers, read, refuse, sequence, show, whole

FORMAT = "dalenius/audit-certificate"
SAVED_AUDIT = "dalenius/audit"  # carries its certificate
VERSION = 1
ENTROPY_SLACK = 1e-9  # by which an entropy may exceed log|X| and mean it
NEAR = 1e-9  # relative distance at which masses pass for the reference prior
LEAST = 1e-290  # masses below it may have lost their digits in floats


class Describes(Protocol):
    """Anything that describes a channel, such as a Mechanism."""

    def describe(self) -> dict[str, object]:
        """Return the problem in plain data."""


@dataclass(frozen=True, repr=False)
class Verification:
    """The verdict on a certificate; true in a condition when verified. Bounds in nats."""

    verified: bool
    lower: float | None
    upper: float | None
    reason: str
    problem: str
    seconds: float

    def __bool__(self) -> bool:
        return self.verified

    def __repr__(self) -> str:
        verdict = f"verified {self.lower!r} <= L <= {self.upper!r} nats" if self.verified else "NOT verified"
        return f"<Verification: {verdict}: {self.reason}. Problem: {self.problem or 'unknown'}>"


class _Report:
    """What is known of a certificate so far, so that a refusal can still say what it was about."""

    lower: float | None = None
    upper: float | None = None
    problem: str = ""


def verify(source: Any, mechanism: Describes | None = None) -> Verification:  # noqa: ANN401 - path, dict or .data
    """Re-check a certificate: a path, its data as a dict, or an object whose `.data` is that dict.

    With a mechanism also that the certificate is about this channel.
    """
    begin = time.perf_counter()
    report = _Report()
    try:
        content = read(Path(source)) if isinstance(source, (str, os.PathLike)) else getattr(source, "data", source)
        with precision():
            reason = _check(mapping(content, "the certificate"), mechanism, report)
        verified = True
    except Refused as refusal:
        verified, reason = False, str(refusal)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError) as error:
        # Nothing above should raise these; if it does, the certificate is not verified, and the user has no traceback.
        verified, reason = False, f"it cannot be checked ({type(error).__name__}: {show(str(error))})"
    seconds = time.perf_counter() - begin
    return Verification(verified, report.lower, report.upper, reason, report.problem, seconds)


def _check(content: dict[str, Any], mechanism: Describes | None, report: _Report) -> str:
    if content.get("format") == SAVED_AUDIT:
        content = mapping(field(content, "certificate", "the saved audit"), "the certificate")
    if content.get("format") != FORMAT:
        refuse(f'this is not a certificate: it has no "format": "{FORMAT}"')
    version = content.get("version")
    if version != VERSION or isinstance(version, bool):
        refuse(f"the certificate has version {show(version)}; this verifier reads version {VERSION}")
    report.lower = number(field(content, "lower", "the certificate"), "'lower'")
    report.upper = number(field(content, "upper", "the certificate"), "'upper'")
    description = mapping(field(content, "problem", "the certificate"), "the problem")
    adversary = mapping(field(content, "adversary", "the certificate"), "the adversary")
    channel = rebuild(description)
    report.problem = channel.text
    knowledge, words = _knowledge(adversary, channel)
    report.problem = f"{channel.text}; {words}"
    if mechanism is not None:
        _same_channel(description, channel, mechanism)
    if report.lower > report.upper:
        refuse(f"lower {report.lower!r} exceeds upper {report.upper!r}")
    question = _witness(field(content, "witness", "the certificate"), channel, knowledge, report.lower)
    proofs = _proofs(field(content, "proofs", "the certificate"), question, report.upper)
    return (
        f"every number was recomputed: a prior that leaks at least {report.lower!r} nats of record "
        f"{question.record}, and {proofs} that no prior leaks more than {report.upper!r} nats of any record"
    )


def _knowledge(adversary: dict[str, Any], channel: Channel) -> tuple[Knowledge, str]:
    """Return what bounds D(prior || uniform), also in words. No prior reaches beyond log|X|."""
    most = channel.statistic.log_universe()
    if set(adversary) == {"knowledge"}:
        k = number(adversary["knowledge"], "the adversary's knowledge", low=0.0)
        free = bool(most <= k)
        knowledge = Knowledge(most if free else arb(k), none=k == 0 or most.is_zero(), free=free)
        return knowledge, f"an adversary that knows at most {k!r} nats"
    if set(adversary) != {"entropy"}:
        refuse("the adversary needs either 'entropy' or 'knowledge'")
    b = number(adversary["entropy"], "the adversary's entropy", low=0.0)
    with precision(512):  # no float is the logarithm of an integer above 1: this many bits tell them apart
        left = channel.statistic.log_universe() - arb(b)
        if left < -ENTROPY_SLACK * max(1.0, float(most)):
            refuse(f"no prior has entropy {b!r} nats; log|X| is {short(most)}")
    none = not left > 0
    knowledge = Knowledge(ZERO if none else +left, none=none, free=b == 0)
    return knowledge, f"an adversary whose prior has entropy at least {b!r} nats"


def _same_channel(description: dict[str, Any], channel: Channel, mechanism: Describes) -> None:
    """Refuse unless the mechanism is the channel that the certificate is about."""
    expected = mechanism.describe()
    if expected == description:
        return
    difference = channel.difference(rebuild(mapping(expected, "the mechanism's description")))
    if difference is not None:
        refuse(f"the certificate is about another channel than the mechanism given: {difference}")


def _witness(value: object, channel: Channel, knowledge: Knowledge, lower: float) -> Question:
    """Check the lower bound and return the question that the witness answers.

    Masses m over cells c are divided by their sum S; D(m/S || rho) = sum m log(m/rho) / S - log S.
    Classes that share a row are put together: the prior is then uniform inside.
    """
    witness = mapping(value, "the witness")
    record = whole(field(witness, "record", "the witness"), "the record of the witness", 0, channel.statistic.n - 1)
    question = Question(channel, record, knowledge)
    masses = sequence(field(witness, "masses", "the witness"), "masses of the witness", len(question.cells))
    prior: list[dict[int, Ball]] = []
    for a, share in enumerate(question.shares):
        listed = numbers(masses[a], channel.statistic.size, f"masses of value {a}", low=0.0)
        law: dict[int, Ball] = {}
        for t, m in enumerate(listed):
            if m > 0:
                if t not in share:
                    refuse(f"the witness has mass on value {a}, class {t}, where there is no dataset")
                row = channel.row_of[t]
                law[row] = law[row] + arb(m) if row in law else arb(m)
        prior.append(law)
    total = sum((m for law in prior for m in law.values()), ZERO)
    if not total > 0:
        refuse("the witness has no mass")
    prior = [{row: m / total for row, m in law.items()} for law in prior]
    if knowledge.none:
        _is_reference(prior, question.cells)
        prior = question.cells
    elif not knowledge.free:
        pairs = zip(prior, question.cells, strict=True)
        divergence = sum((p * (p / cell[r]).log() for law, cell in pairs for r, p in law.items()), ZERO)
        if not divergence <= knowledge.most:
            refuse(f"the witness has divergence {short(divergence)} where at most {short(knowledge.most)} is allowed")
    leaked = information(channel, prior)
    if lower > 0 and not leaked >= lower:
        refuse(f"the witness leaks {short(leaked)}, less than the claimed lower bound {lower!r}")
    return question


def _is_reference(prior: list[dict[int, Ball]], cells: list[dict[int, Ball]]) -> None:
    """Refuse a prior that is not the reference, the only one left without any knowledge."""
    for a, (law, cell) in enumerate(zip(prior, cells, strict=True)):
        for row, rho in cell.items():
            if not abs(law.get(row, ZERO) - rho) <= NEAR * rho + LEAST:
                refuse(f"the witness at value {a} is not the uniform prior, the only one the adversary may hold")


def _proofs(value: object, asked: Question, upper: float) -> str:
    """Check all proofs and that they cover all records; return how many in words."""
    listed = sequence(value, "proofs")
    statistic = asked.channel.statistic
    covered = set()
    for j, item in enumerate(listed):
        proof = mapping(item, f"proof {j}")
        record = whole(field(proof, "record", f"proof {j}"), f"the record of proof {j}", 0, statistic.n - 1)
        where = f"proof of record {record}"
        if record in covered:
            refuse(f"record {record} is proved twice")
        question = asked if record == asked.record else Question(asked.channel, record, asked.knowledge)
        claimed = check(question, proof, where)
        if claimed > upper:
            refuse(f"{where}: its bound {claimed!r} exceeds the certificate's {upper!r}")
        covered.add(record)
    if not covered or (not statistic.interchangeable and len(covered) < statistic.n):
        missing = next(i for i in range(statistic.n) if i not in covered)
        refuse(f"record {missing} has no proof")
    return f"{len(listed)} proof{'s' if len(listed) > 1 else ''}"
