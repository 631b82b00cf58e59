"""Re-checking an audit or a design certificate: `verify(path)`.

Shares no code with the solver: the standard library and python-flint alone. The channel and the multiplicities are
rebuilt from the problem's description, then in ball arithmetic
1. the witness is a prior that the adversary may hold, and leaks at least `lower`;
2. every record has a proof, or is interchangeable with one that has, and each proof is re-derived;
   in a certificate about one secret, that secret has its proof;
3. lower <= upper. Whatever is wrong inside a certificate is an answer (verified is False), not an error; only a file
that cannot be read raises OSError.
"""

import html
import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from flint import arb

from . import saved
from .forms import named, reference, secret
from .forms.counting import Statistic
from .forms.reference import UNIFORM, Reference
from .forms.secret import Secret
from .forms.written import Asked, Audited, Unwritten
from .kernel.balls import ZERO, precision, short
from .kernel.cells import Knowledge
from .kernel.limits import LARGEST, LONGEST, MEMORY, SLACK, TIME_LIMIT, NotChecked, tick, within
from .kernel.reading import AUDIT, DESIGN, JOINT, Refused, field, mapping, number, read, refuse, sequence, show
from .proofs import rested_on

VERSION = 2
# Which version of this package reads an older format.
READERS = {1: "0.1.0"}
NO_CHILD = (
    "checked in this process, as none can be started here: a single step may overrun the time limit, and memory is not "
    "limited"
)
Description = dict[str, object]  # of a channel, in plain data
Given = Description | list[Description] | None  # the channel that a certificate is to be about, or all of them


class Form(NamedTuple):
    """What rebuilds a form of releases and checks its witness and proofs; real-valued records are checked apart."""

    file: str
    witnesses: tuple[str, ...]
    # Whether the rows of the channel are written out; whether independent records are audited too.
    written: bool = False
    independent: bool = True

    @property
    def module(self) -> Any:
        """Its file, loaded with the first certificate of this form: all of them take longer than a small check."""
        return import_module(f".{self.file}", __package__)


FORMS = {
    "rows": Form("proofs", ("masses",), written=True),
    "samples": Form("proofs", ("masses",), written=True),
    "real-outputs": Form("steps.real_outputs", ("masses",), written=True, independent=False),
    "real-records": Form("steps.rounding", ("cells",)),
    "sum": Form("forms.sums", ("blocks",)),
    "releases": Form("forms.releases", ("blocks",), independent=False),
    "histogram": Form("forms.histograms", ("blocks", "tied", "counted")),
    "per-record": Form("forms.per_record", ("part", "uniform")),
}
# Kinds of witness against independent records, but for real-valued ones.
BESIDE = ("known", "following", "leaning")


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
        rested_on: which parts of the verifier it was checked by: "kernel", and others that it needed.

    Example:
        >>> bool(dl.verify(dl.audit(dl.mechanisms.constant(dl.queries.count(n=2)), knowledge=0.5)))
        True
    """

    verified: bool
    lower: float | None = None
    upper: float | None = None
    reason: str = ""
    problem: str = ""
    seconds: float = 0.0
    quantity: str = "L"
    unit: str = "nats"
    # With which confidence the upper bound holds, of a mechanism known by samples; None where it holds for certain.
    confidence: float | None = None
    # "kernel", and the names of the forms, steps and special bounds that were used beside it; empty where not verified.
    rested_on: str = ""

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
        rows += [("rested on", self.rested_on)] if self.rested_on else []
        style = "text-align:left;white-space:pre-wrap"
        cells = "".join(
            f'<tr><th style="{style}">{name}</th><td style="{style}">{html.escape(words)}</td></tr>'
            for name, words in rows
        )
        return f"<table>{cells}</table>"


@dataclass
class _Report:
    """What is known of a certificate so far, so that a refusal can still say what it was about."""

    lower: float | None = None
    upper: float | None = None
    problem: str = ""
    quantity: str = "L"
    unit: str = "nats"
    confidence: float | None = None


def verify(
    source: Any,
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
    from . import process

    begin = time.perf_counter()
    described = _described(mechanism)
    limits: dict[str, Any] = {"memory": min(memory, LARGEST), "time_limit": min(time_limit, LONGEST)}
    content = Path(source) if isinstance(source, (str, os.PathLike)) else getattr(source, "data", source)
    if process.available():
        found = process.verdict(content, described, **limits)
    else:
        with content.open("rb") if isinstance(content, Path) else nullcontext() as file:
            given = content if file is None else None
            found = _verdict(lambda: (given if file is None else read(file, limits["memory"]), described), **limits)
        found["reason"] += f"; {NO_CHILD}"
    return Verification(**found, seconds=time.perf_counter() - begin)


def verify_here(
    source: Any,
    mechanism: Describes | Sequence[Describes] | None = None,
    *,
    time_limit: float = TIME_LIMIT,
) -> Verification:
    """Re-check a certificate that this process has made itself, in this process: as `verify` does, but for limits.

    The clock is read in every loop, but a single call of FLINT may overrun it, and nothing limits memory.
    """
    begin = time.perf_counter()
    described, limit = _described(mechanism), min(time_limit, LONGEST)
    found = _verdict(lambda: (getattr(source, "data", source), described), memory=None, time_limit=limit)
    return Verification(**found, seconds=time.perf_counter() - begin)


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
    return _verdict(
        lambda: (read(certificate, memory), None if mechanism is None else read(mechanism, memory)),
        memory=memory,
        time_limit=time_limit,
    )


def _verdict(source: Callable[[], tuple[object, Given]], *, memory: int | None, time_limit: float) -> dict[str, Any]:
    """Check what source returns, a certificate and the channel that it is to be about: the fields of a Verification."""
    report, rested = _Report(), ""
    try:
        with precision(), within(time_limit):
            given, mechanism = source()
            content = mapping(given, "the certificate")
            stored = isinstance(content.get("format"), str) and content["format"] in saved.FORMATS
            certificate = saved.certificate_of(content) if stored else content
            reason = _check(certificate, mechanism, report)
            tick()
        rested = rested_on(certificate)
    except (Refused, NotChecked) as refusal:
        reason = str(refusal)
    except MemoryError:
        allowed = "" if memory is None else f", {memory} MiB are allowed; allow more with memory= (--memory)"
        reason = f"not checked: memory ran out{allowed}"
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        # Nothing above should raise these; if it does, the certificate is not verified, and the user has no traceback.
        reason = f"it cannot be checked ({type(error).__name__}: {show(str(error))})"
    return {**vars(report), "verified": bool(rested), "reason": reason, "rested_on": rested}


def _check(content: dict[str, Any], mechanism: Given, report: _Report) -> str:
    """Return what a certificate of any format establishes."""
    form = content.get("format")
    if form == JOINT:
        return _joint(content, [mechanism] if isinstance(mechanism, dict) else mechanism, report)
    if isinstance(mechanism, list):
        if len(mechanism) != 1:
            refuse(f"the certificate is about one mechanism, and {len(mechanism)} were given")
        mechanism = mechanism[0]
    if form == DESIGN:
        return _design(content, mechanism, report)
    bounds = _bounds(content, AUDIT, report)
    if _form(content) == "real-records":
        return _continuous_audit(content, mechanism, report, *bounds)
    return _audit(content, mechanism, report, *bounds).reason


def _form(content: dict[str, Any]) -> str:
    """Return the form of the release that a certificate states, its witness being of a kind that goes with it."""
    form = field(content, "form", "the certificate")
    if not isinstance(form, str) or form not in FORMS:
        refuse(f"the form of the certificate is {show(form)}, which is none of {', '.join(FORMS)}")
    problem, adversary, witness = (
        mapping(field(content, key, "the certificate"), f"the {key}") for key in ("problem", "adversary", "witness")
    )
    alone = "independent" in adversary
    if alone and not FORMS[form].independent:
        refuse(f"releases of the form {form} are not audited against independent records")
    if ("samples" in problem) != (form == "samples"):
        refuse("the form is 'samples' where the problem has samples, and nowhere else")
    kind = field(witness, "kind", "the witness")
    kinds = BESIDE if alone and form != "real-records" else FORMS[form].witnesses
    if kind not in kinds:
        refuse(f"the witness is of the kind {show(kind)}, which is none of {', '.join(kinds)}")
    return form


def _bounds(content: dict[str, Any], expected: str, report: _Report) -> tuple[float, float]:
    """Return `lower` and `upper` of a certificate of the format and version that this verifier reads."""
    if content.get("format") != expected:
        refuse(f'this is not a certificate: it has no "format": "{expected}"')
    version = content.get("version")
    if type(version) is not int or version != VERSION:
        older = READERS.get(version) if type(version) is int else None
        read = "" if older is None else f", which dalenius {older} reads"
        refuse(f"the certificate has version {show(version)}{read}; this verifier reads version {VERSION}")
    lower, upper = (number(field(content, key, "the certificate"), f"'{key}'") for key in ("lower", "upper"))
    report.lower, report.upper = lower, upper
    if lower > upper:
        refuse(f"lower {lower!r} exceeds upper {upper!r}")
    return lower, upper


@dataclass(frozen=True)
class _Posed:
    """What a certificate is about; secret is None when it is about every record."""

    form: Form
    channel: Any
    secret: Secret | None
    about: Secret  # of the witness
    knowledge: Any  # None where independence is the only limit
    reference: Any
    independent: bool
    follows: bool  # the others follow the reference exactly

    def ask(self, about: Secret) -> Any:
        """Return what is asked about a secret."""
        if self.independent:
            from .forms.independent import Independent

            return Independent(self.channel, self.reference, self.follows, self.knowledge, about)
        if self.form.written:
            return self.form.module.Written(self.channel, about, self.knowledge, self.reference)
        asked = self.form.module.ask(self.channel, about, self.reference)
        return Unwritten(self.form.module, asked, self.knowledge)


def _posed(content: dict[str, Any], report: _Report) -> _Posed:
    """Rebuild the channel, read secret and adversary, and write the problem down in words."""
    form, witness = FORMS[content["form"]], content["witness"]
    channel = form.module.rebuild(content["problem"])
    statistic = channel.statistic
    report.problem = channel.text
    asked = secret.read(content["secret"], statistic) if "secret" in content else None
    if asked is not None:
        report.problem += f"; the secret is {asked.text}"
    adversary = content["adversary"]
    prior = reference.read(adversary["reference"], statistic) if "reference" in adversary else UNIFORM
    knowledge, words = _believed(adversary, statistic, prior, asked)
    report.problem += f"; {words}"
    if asked is not None and "record" in witness:
        refuse("the witness names a record, but the certificate is about the secret that it states")
    about = secret.of_record(witness, statistic, "the witness") if asked is None else asked
    follows = knowledge is None and "reference" in adversary
    return _Posed(form, channel, asked, about, knowledge, prior, "independent" in adversary, follows)


def _believed(
    adversary: dict[str, Any], statistic: Statistic, prior: Reference, asked: Secret | None
) -> tuple[Knowledge | None, str]:
    """Return what limits the adversary's prior, None where independence alone does, and words for the adversary."""
    if "independent" not in adversary:
        return _knowledge(adversary, statistic, prior)
    if not (adversary["independent"] is True and set(adversary) <= {"independent", "reference", "knowledge"}):
        refuse("an adversary with independent records has 'independent' true, and at most 'reference' and 'knowledge'")
    if isinstance(prior, reference.Weights):
        refuse("independent records have a law each, not weights of datasets")
    if asked is not None and (asked.labels or len(asked.records) > 1):
        refuse("independent records are audited one by one; the secret must be a record")
    words = "an adversary under whose prior the records are independent"
    if "knowledge" in adversary:
        limit = {key: x for key, x in adversary.items() if key != "independent"}
        knowledge, more = _knowledge(limit, statistic, prior)
        return knowledge, f"{words}, and {more}"
    follows = f", the others following the reference exactly: {prior.text}" if "reference" in adversary else ""
    return None, words + follows


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
    if set(adversary) != {"entropy"}:
        refuse("the adversary needs either 'entropy' or 'knowledge'")
    most, b = reference.log_universe(statistic), number(adversary["entropy"], "the adversary's entropy", low=0.0)
    with precision(512):  # no float is the logarithm of an integer above 1: this many bits tell them apart
        left = reference.log_universe(statistic) - arb(b)
        if left < -SLACK.entropy * max(1.0, float(most)):
            refuse(f"no prior has entropy {b!r} nats; log|X| is {short(most)}")
    none = bool(left <= 0)
    if not (none or left > 0):
        refuse(f"the entropy {b!r} nats cannot be distinguished from log|X|")
    knowledge = Knowledge(ZERO if none else +left, none=none, free=b == 0)
    return knowledge, f"an adversary whose prior has entropy at least {b!r} nats"


def _agree(mechanism: Description | None, description: Description) -> None:
    """Refuse a mechanism that is not the channel of the certificate."""
    if mechanism is not None and not named.same(mechanism, description):
        refuse(f"the certificate is about another channel than the mechanism given, {saved.words(mechanism)}")


def _audit(
    content: dict[str, Any], mechanism: Description | None, report: _Report, lower: float, upper: float
) -> Audited:
    """Check an audit certificate of any form but real-valued records.

    Guarantee: lower <= L <= upper, the leakage of the channel that it describes, about every record or the secret;
    against independent records the most that such a prior leaks.
    """
    posed = _posed(content, report)
    _agree(mechanism, content["problem"])
    confidence = report.confidence = getattr(posed.channel, "confidence", None)
    if confidence is not None and lower > 0:
        # The channel above the true one leaks more, so that no prior bounds that from below.
        refuse(f"samples show nothing from below, and the lower bound is {lower!r}")
    asked = posed.ask(posed.about)
    asked.check_witness(content["witness"], lower)
    proofs = _proofs(content, posed, asked, asked.most(upper) if isinstance(asked, Asked) else upper)

    of, no_more = (posed.about.text, "of any record") if posed.secret is None else ("the secret", "of it")
    shown, then = f"a prior that leaks at least {lower!r} nats of {of}", ""
    if confidence is not None:
        shown = "lower limits from counts of samples, below none of which the truth lies "
        shown, then = f"{shown}with confidence {confidence!r}", " then"
    reason = f"every number was recomputed: {shown}, and {proofs} that{then} no prior leaks more than {upper!r} nats "
    reason += no_more
    if "priors" in content:
        reason += _other_priors(content, posed, report)
    return Audited(posed.channel, posed.knowledge, posed.reference, upper, reason, report.problem)


def _proofs(content: dict[str, Any], posed: _Posed, asked: Any, upper: float) -> str:
    """Check all proofs and that they cover the secret, or all records; return how many in words."""
    statistic, covered = posed.channel.statistic, set[Secret]()
    listed = sequence(field(content, "proofs", "the certificate"), "proofs", None if posed.secret is None else 1)
    for j, item in enumerate(listed):
        proof = mapping(item, f"proof {j}")
        about = posed.secret or secret.of_record(proof, statistic, f"proof {j}")
        where = f"proof of {about.text if posed.secret is None else 'the secret'}"
        if posed.secret is not None and "record" in proof:
            refuse(f"{where}: it names a record, but the certificate is about the secret that it states")
        if about in covered:
            refuse(f"{about.text} is proved twice")
        claimed = (asked if about == posed.about else posed.ask(about)).check_proof(proof, where)
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
    known = {alike(i) for about in covered for i in about.records}
    for i in range(statistic.n):
        if alike(i) not in known:
            refuse(f"record {i} has no proof")


def _other_priors(content: dict[str, Any], posed: _Posed, report: _Report) -> str:
    """Check the audits of the other priors of a list, each about the same channel and secret; return words for it.

    Guarantee: none of them leaks more than the upper bound. An adversary that knows nothing beyond a reference is that
    prior alone.
    """
    if posed.independent or not posed.knowledge.none:
        refuse("a list of priors is for adversaries that know nothing beyond their reference")
    listed = sequence(content["priors"], "the other priors")
    for k, item in enumerate(listed):
        other = mapping(item, f"prior {k}")
        adversary = mapping(field(other, "adversary", f"prior {k}"), f"the adversary of prior {k}")
        if "priors" in other or "independent" in adversary or adversary.get("knowledge") != 0:
            refuse(f"prior {k} of the list is not the certificate of one prior, with knowledge 0 beyond it")
        if any(other.get(key) != content.get(key) for key in ("format", "problem", "secret")):
            refuse(f"prior {k} of the list is about another channel or another secret")
        _, most = _inner(other)
        if most > content["upper"]:
            refuse(f"prior {k} of the list may leak {most!r} nats, more than the upper bound")
    report.problem += f"; the worst of {len(listed) + 1} listed priors"
    return f"; nor does any of {len(listed)} other listed priors leak more"


def _continuous_audit(
    content: dict[str, Any], mechanism: Description | None, report: _Report, lower: float, upper: float
) -> str:
    """Check an audit certificate of real-valued records, with two about whole numbers inside; see rounding.py.

    Guarantee: lower <= L <= upper, the leakage of the mechanism that it describes about every record.
    """
    from .forms import real_records
    from .steps import rounding

    if "priors" in content:
        refuse("a list of priors is for records of finitely many values")
    problem = real_records.rebuild(content["problem"])
    asked, words = real_records.believed(content["adversary"], problem)
    report.problem = f"{problem.text}; {words}"
    _agree(mechanism, content["problem"])

    # Records have one law and are interchangeable, so that one of them stands for all.
    asked, about = real_records.about(asked, content.get("secret"), problem)
    rounding.check_witness(content["witness"], problem, asked, lower, _inner)
    proofs = sequence(field(content, "proofs", "the certificate"), "proofs", 1)
    claimed = rounding.check_proof(mapping(proofs[0], "the proof"), problem, asked, _inner, "the proof")
    if claimed > upper:
        refuse(f"the proof: its bound {claimed!r} exceeds the certificate's {upper!r}")
    of = "any record" if about is None else f"record {about}"
    if asked.bins is not None:
        of = f"the bin of {of}"
        report.problem += f"; the secret is {of}, with edges {', '.join(map(repr, content['secret']['edges']))}"
    return (
        f"every number was recomputed: a prior that leaks at least {lower!r} nats of a real-valued record, and a proof "
        f"that no prior leaks more than {upper!r} nats of {of}"
    )


def _inner(audit: dict[str, Any]) -> tuple[float, float]:
    """Check an audit inside another certificate, and return its bounds."""
    inside = _Report()
    try:
        _check(audit, None, inside)
    except Refused as reason:
        refuse(f"the audit of {inside.problem or 'whole numbers'} inside: {reason}")
    if inside.confidence is not None:
        refuse("the audit inside is of a mechanism known by samples, and holds with a confidence only")
    assert inside.lower is not None and inside.upper is not None  # noqa: PT018 - a certificate has both
    return inside.lower, inside.upper


def _joint(content: dict[str, Any], mechanisms: list[Description] | None, report: _Report) -> str:
    """Check the certificate of several releases together; see joint.py.

    Guarantee: lower <= L <= upper, the most that all of them together leak of any record.
    """
    from .forms import joint

    lower, upper = _bounds(content, JOINT, report)
    asked = joint.Joint(content)
    report.problem = asked.text
    return asked.check(lower, upper, _inner, mechanisms)


def _design(content: dict[str, Any], mechanism: Description | None, report: _Report) -> str:
    """Check a design certificate, beginning with the audit of its mechanism.

    Guarantee: lower <= optimum <= upper, where the mechanism attains `upper`.
    """
    from .forms import design

    lower, upper = _bounds(content, DESIGN, report)
    inside = _Report()
    try:
        audit = mapping(field(content, "audit", "the certificate"), "it")
        if "secret" in audit:
            refuse("it is about one secret; a design bounds the leakage of every record")
        bounds = _bounds(audit, AUDIT, inside)
        if (form := _form(audit)) != "rows":
            refuse(f"it is of the form {form}; a design states its mechanism by rows")
        if "independent" in audit["adversary"] and set(audit["adversary"]) != {"independent"}:
            refuse("a design against independent records takes neither 'knowledge' nor a 'reference'")
        audited = _audit(audit, mechanism, inside, *bounds)
    except Refused as reason:
        refuse(f"the audit of the mechanism: {reason}")
    finally:
        report.problem = inside.problem
    task = design.read(content, audited)
    report.problem, report.quantity, report.unit = task.text, task.quantity, task.unit
    return task.check(content, lower, upper)
