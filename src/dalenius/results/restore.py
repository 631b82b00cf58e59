"""Saved audits and designs: a certificate, and notes of what it does not carry.

A file does not repeat what its certificate states, so that nothing can contradict it: mechanism, adversary, secret,
bounds and budget are read from the certificate. Notes are checked as far as they can be; whatever is unsound raises.
Files of earlier versions state more, which has to agree.
"""

import math
from collections.abc import Sequence
from dataclasses import MISSING, astuple, fields
from functools import cache
from itertools import pairwise, product
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from dalenius.certificates.audits import Group
from dalenius.certificates.certificate import Certificate
from dalenius.certificates.question import adversary_of, secret_of, witness_of
from dalenius.errors import refuse, show
from dalenius.model import checks, storage
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.distortion import MEASURES, Distortion, measure_name, output_labels
from dalenius.model.problem import NATS_PER_UNIT, Adversary, down, in_unit, is_closed, up
from dalenius.model.query import Query
from dalenius.model.secret import Attributes, Function
from dalenius.results.audit import Audit, Extremes, Records
from dalenius.results.design import Design
from dalenius.results.result import Step, finite

PLAIN = (bool, int, float, str, NoneType)
# Fields that are plain data, and follow from other fields, or from where a result was found.
DERIVED = ("entropies", "loaded")
BOUNDS = ("lower", "upper")
# What the certificate of a kept design states, and that of another.
STATED = {True: (*BOUNDS, "goal", "budget", "distortion"), False: ("lower", "goal")}
# Numbers that may be negative; the most that others, and the least that whole numbers, may be.
SIGNED = ("value", "too_little")
MOST = {"relative": 1.0, "dp_delta": 1.0}
LEAST = {"audits": 1}
# Forms whose proofs are about the release itself, and not about a channel that a step leads to.
DIRECT = ("rows", "samples", "sum", "releases", "histogram", "per-record", "real-records")
NEAR = 1e-9  # relative: by how much bounds of real outputs may differ that were rounded on different ways
LONGEST = 40  # characters of the name of a bound


# Notes: fields of a result that are plain data, under their names.


@cache
def _plain_fields(kind: Any, left_out: tuple[str, ...]) -> dict[str, tuple[Any, Any]]:
    """Type and default of every field that is plain data."""
    hints = get_type_hints(kind)
    return {
        field.name: (hints[field.name], field.default)
        for field in fields(kind)
        if field.init and field.name not in (*DERIVED, *left_out) and _is_plain(hints[field.name])
    }


def _is_plain(hint: Any) -> bool:
    inside = [part for part in get_args(hint) if part is not Ellipsis]
    return get_origin(hint) is Literal or hint in PLAIN or (len(inside) > 0 and all(map(_is_plain, inside)))


def notes(result: Any, *left_out: str) -> dict[str, Any]:
    """Return the fields that are plain data, but for those that have their default; null stands for infinity."""
    plain = _plain_fields(result.__class__, left_out).items()
    found = {name: getattr(result, name) for name, (_, default) in plain if getattr(result, name) != default}
    found |= {name: None for name, x in found.items() if isinstance(x, float) and not math.isfinite(x)}
    return {name: list(x) if isinstance(x, tuple) else x for name, x in found.items()}


def read_notes(kind: type, content: dict[str, Any], *left_out: str) -> dict[str, Any]:
    """Return the fields of a result that are plain data, each of its type; KeyError where one is missing.

    A field that has a default is left out in place of null.
    """
    return {
        name: _typed(hint, content[name], name, null=default is MISSING)
        for name, (hint, default) in _plain_fields(kind, left_out).items()
        if default is MISSING or name in content
    }


def _typed(hint: Any, value: Any, name: str, *, null: bool = False) -> Any:  # noqa: PLR0911 - JSON; by type
    inside = get_args(hint)
    if get_origin(hint) is Literal:
        return checks.choice(f'"{name}"', value, inside)
    if get_origin(hint) is tuple:
        hints = inside[:1] * len(value) if Ellipsis in inside else inside
        if type(value) is not list or len(value) != len(hints):
            refuse(f'"{name}" = {show(value)} is not a list of the right length')
        return tuple(_typed(one, x, name) for one, x in zip(hints, value, strict=True))
    if NoneType in inside:
        return None if value is None and null else _typed(inside[inside[0] is NoneType], value, name)
    if hint is float:
        return checks.real(f'"{name}"', value, -math.inf if name in SIGNED else 0.0, MOST.get(name, math.inf))
    if hint is int:
        return checks.whole(f'"{name}"', value, LEAST.get(name, 0))
    if hint is bool:
        return checks.flag(f'"{name}"', value)
    if not isinstance(value, str) or not value.isprintable():
        refuse(f'"{name}" = {show(value)} is not a text of one line')
    return value


def _agree(content: dict[str, Any], stated: dict[str, Any]) -> None:
    """Refuse a file that states something else than its certificate does."""
    for key, value in stated.items():
        if key in content and (content[key] != value or isinstance(content[key], bool)):
            refuse(f"the saved {key} is {show(content[key])} where the certificate has {show(value)}")


# Audits


def audit_content(audit: Audit) -> dict[str, Any]:
    """Return what is saved of an audit."""
    return {**_labels(audit.mechanism), **_beside_audit(audit), "certificate": audit.certificate.data}


def _labels(mechanism: Mechanism) -> dict[str, Any]:
    """The labels of outputs where a description has rows: a name says what they are."""
    return {"labels": mechanism.stored()["labels"]} if "rows" in mechanism.describe() else {}


def _beside_audit(audit: Audit) -> dict[str, Any]:
    extremes, secret = audit.extremes, audit.secret
    return {
        **notes(audit, *BOUNDS, "record"),
        "orbits": [
            {
                "records": [members.start, members.stop] if isinstance(members, range) else list(members),
                "range": isinstance(members, range),
                "lower": lower,
                "upper": upper,
            }
            for members, lower, upper in audit.records.orbits
        ],
        "extremes": None if extremes is None else [*map(finite, extremes.unconstrained), finite(extremes.uniform)],
        **({"names": list(map(str, secret.names))} if isinstance(secret, Function) else {}),
        **({"words": list(secret.words)} if isinstance(secret, Attributes) else {}),
        **_history(audit),
    }


def _history(result: Audit | Design) -> dict[str, Any]:
    """The iterations of the paper's method, if it was that; null where a number is infinite."""
    lines = [[x if math.isfinite(x) else None for x in astuple(step)] for step in result.history]
    return {"history": lines} if lines else {}


def audit_of(content: dict[str, Any]) -> Audit:
    """Rebuild a saved audit."""
    certificate = content["certificate"]
    return _audit(content, certificate, _mechanism(content, certificate, content.get("labels")))


def _mechanism(content: dict[str, Any], certificate: dict[str, Any], labels: object) -> Mechanism:
    """The mechanism of a certificate; files of earlier versions have it, too, with its labels."""
    problem = {key: x for key, x in certificate["problem"].items() if key != "quadrature"}
    mechanism = storage.mechanism_from(content.get("mechanism", {"labels": labels, **problem}))
    if mechanism.describe() != problem:
        refuse("its mechanism is not the one that its certificate is about")
    return mechanism


def _audit(content: dict[str, Any], certificate: dict[str, Any], mechanism: Mechanism) -> Audit:
    # "bounds" is the name of `upper_by` in version 0.1.
    found = read_notes(
        Audit, {"upper_by": content["bounds"], **content} if "bounds" in content else content, *BOUNDS, "record"
    )
    sampled = mechanism.as_samples is not None
    names = (found["upper_by"], *found.get("tried", ()))
    if (found["proved"] == "upper") != sampled or max(map(len, names)) > LONGEST or len(names) > LONGEST:
        refuse(f"it is proved {found['proved']!r}, the upper bound by {show(found['upper_by'])}")
    nats, secret = NATS_PER_UNIT[found["unit"]], secret_of(content, certificate, mechanism)
    about, record = certificate.get("secret", {}), certificate["witness"].get("record")
    if secret is not None:
        record = about["records"][0] if about["kind"] == "records" and len(about["records"]) == 1 else None
    stated = {"lower": down(certificate["lower"], nats), "upper": up(certificate["upper"], nats), "record": record}
    _agree(content, stated)
    found |= stated
    adversary = _adversary(content, certificate, mechanism)
    return Audit(
        mechanism=mechanism,
        adversary=adversary,
        records=_records(content, found, certificate, mechanism.n),
        secret=secret,
        prior=witness_of(mechanism, secret, certificate, adversary.reference),
        certificate=Certificate.of(certificate),
        extremes=_extremes(content["extremes"]),
        **_ended(found, content),
    )


def _adversary(content: dict[str, Any], certificate: dict[str, Any], mechanism: Mechanism) -> Adversary:
    """The adversary of a certificate; files of earlier versions have its number, too."""
    found = adversary_of(certificate, mechanism)
    if "adversary" in content:
        stated = {
            "kind": found.kind,
            "value": finite(found.value),
            **({} if found.unlimited else {"given": found.given}),
        }
        _agree({"kind": "bounded", **content["adversary"]}, stated)
    return found


def _ended(found: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """How it ended. Version 0.1 wrote "gap" also of a gap that was only nearly within the tolerance."""
    if not found["lower"] <= found["upper"]:
        refuse(f"lower {found['lower']!r} exceeds upper {found['upper']!r}")
    closed = is_closed(found["lower"], found["upper"], found["tolerance"], found.get("relative", 0.0))
    if not all(name.isidentifier() for name in found.get("repairs", ())):
        refuse('"repairs" must list names of repairs')
    stopped = "nearly" if found["stopped"] == "gap" and not closed else found["stopped"]
    history = tuple(_step(*line) for line in content.get("history", ()))
    return {**found, "stopped": stopped, "history": history, "loaded": True}


def _step(start: object, iteration: object, *numbers: object) -> Step:
    """One iteration; files of version 0.1 have neither the worst-case leakage nor the penalty."""
    if len(numbers) not in {4, 6}:
        refuse(f"an iteration has {len(numbers) + 2} numbers in place of 8")
    measured = (checks.real("a number of the history", x, -math.inf, math.inf) if x is not None else x for x in numbers)
    whole = checks.whole("a start", start, 0), checks.whole("an iteration", iteration, 0)
    return Step(*whole, *(math.inf if x is None else x for x in measured))


def _extremes(listed: Any) -> Extremes | None:
    if listed is None:  # they were not computed
        return None
    low, high, uniform = (math.nan if x is None else checks.real("an extreme", x, -NEAR, math.inf) for x in listed)
    if low > high:
        refuse(f"its extremes cross: {low!r} > {high!r}")
    return Extremes((low, high), uniform)


def _records(content: dict[str, Any], found: dict[str, Any], certificate: dict[str, Any], n: int) -> Records:
    """Every record's bracket; refused unless they are of all records, and of the certificate as far as it tells.

    It tells the lower bound of the worst record and, where proofs are about the release itself, every upper bound.
    """
    groups, one, record = [_orbit(orbit) for orbit in content["orbits"]], "secret" in certificate, found["record"]
    if not ([group[0] for group in groups] == [(record,)] if one else _cover(groups, n)):
        refuse(f"its brackets are not of {'the secret' if one else f'the {n} records'}")
    records = Records(tuple(groups))
    worst = max(found["lower"], *(upper for _, _, upper in groups))
    sound = abs(worst - found["upper"]) <= NEAR * max(1.0, worst) and records.orbit_of(record)[1] == found["lower"]
    proofs, nats = certificate["proofs"], NATS_PER_UNIT[found["unit"]]
    if proofs and certificate.get("form", "rows") in DIRECT:
        sound = sound and len(proofs) == len(groups) and all(
            records.orbit_of(record if one else proof["record"])[2] == up(proof["upper"], nats) for proof in proofs
        )  # fmt: skip
    if not sound:
        refuse("the brackets of its records are not those of the certificate")
    return records


def _orbit(orbit: dict[str, Any]) -> Group:
    listed = orbit["records"]
    lower, upper = (checks.real("a bound of a record", orbit[key], 0.0, math.inf) for key in BOUNDS)
    if type(listed) is not list or not listed or (listed != [None] and not checks.all_whole(listed)) or lower > upper:
        refuse(f"it has no sound bracket of the records {show(listed)}")
    if orbit["range"] is True:
        first, last = listed
        return range(first, last), lower, upper
    return tuple(listed), lower, upper


def _cover(groups: list[Group], n: int) -> bool:
    """Whether the orbits hold each of the records 0..n-1 once."""
    spans = []
    for members, _, _ in groups:
        ranges = [members] if isinstance(members, range) else [range(i, i + 1) for i in members if i is not None]
        spans += [(span.start, span.stop) for span in ranges if span]
    ends = [(0, 0), *sorted(spans), (n, n)]
    return len(spans) > 0 and all(before[1] == after[0] for before, after in pairwise(ends))


# Designs


def design_content(design: Design) -> dict[str, Any]:
    """Return what is saved of a design; its audit without the certificate, which is inside the design's, or is it."""
    known = design.certificate.data["problem"].get("query")
    return {
        **notes(design, *STATED[design.kept]),
        "labels": list(design.mechanism.labels),
        **({} if known == str(design.query) else {"query": storage.query_content(design.query)}),
        **_history(design),
        "leakage": _beside_audit(design.leakage),
        "certificate": design.certificate.data,
    }


def design_of(content: dict[str, Any]) -> Design:
    """Rebuild a saved design."""
    certificate = Certificate.of(content["certificate"])
    data, kept = certificate.data, "budget" in certificate.data
    inside, named = data.get("audit", data), data["problem"].get("query")  # all of it where no budget is kept
    query = storage.query_from(content.get("query", named))
    if query.named and str(query) != (named or str(query)):
        refuse(f"the saved query is {query} where the certificate has {named}")
    labels, before = content.get("labels"), data.get("beside", 0)
    if before:
        labels = [list(pair) for pair in product(range(before), labels or ())]
    together = _mechanism(content, inside, labels).written()
    if query.records != together.records:
        refuse("its query is not about the records of its mechanism")
    if together.query is None:  # a function of the user's: files keep its answers beside the mechanism
        same = np.array_equal(together.statistic.class_table(), query.statistic.class_table())
        statistic = query.statistic if same and not query.named else together.statistic
        together = Written(statistic, together.given, together.labels, query)
    mechanism = _released(together, before) if before else together
    found = read_notes(Design, content, *STATED[kept])
    stated: dict[str, Any] = {"lower": 0.0, "goal": "distortion"}
    if kept:
        ((budget, amount),) = data["budget"].items()
        primal = budget == "distortion"
        nats = NATS_PER_UNIT[found["unit"]] if primal else 1.0
        stated = {
            "goal": "leakage" if primal else "distortion",
            "budget": amount if primal else in_unit(amount, found["unit"]),
            "distortion": data["distortion"],
            "lower": down(data["lower"], nats),
            "upper": up(data["upper"], nats),
        }
        _check_words(found["distortion_name"], query, mechanism, data["problem"])
    elif found["proved"] != "upper":
        refuse("it claims more than its certificate, which is about the mechanism's leakage alone")
    _agree(content, stated)
    found |= stated
    _agree(content["leakage"], {"unit": found["unit"]})
    design = Design(
        query=query,
        adversary=_adversary(content, inside, mechanism),
        mechanism=mechanism,
        leakage=_audit(content["leakage"], inside, together),
        certificate=certificate,
        **_ended(found, content),
    )
    checks.real("the slope of its certificate", design.slope if design.kept else 0.0, 0.0, math.inf)
    return design


def _released(together: Written, before: int) -> Written:
    """The second part of a joint release, whose outputs are its own fastest: sums over those of the first part.

    Its probabilities are multiples of 2^-52 (designing/mixture.py), so that they come back exactly.
    """
    wide = together.rows.shape[1] // before
    rows = np.rint(together.rows.reshape(-1, before, wide).sum(axis=1) * 2.0**52) / 2.0**52
    largest = np.arange(len(rows)), rows.argmax(axis=1)
    rows[largest] += 1.0 - rows.sum(axis=1)
    labels = tuple(label[1] for label in together.labels[:wide] if isinstance(label, tuple))
    return Written(together.statistic, rows, labels, together.query)


def _check_words(name: str, query: Query, mechanism: Written, problem: dict[str, Any]) -> None:
    """Refuse words for the distortion and labels of outputs other than the certificate's.

    Where it has a table of distortions alone, the table must be that of a named query; reports say in any case that the
    query and the words are from the file.
    """
    stated, listed, possible = problem["distortion"], problem.get("outputs"), [measure_name("table", query)]
    outputs: Sequence[object] = query.outputs if listed is None else tuple(map(storage.answer_from, listed))
    if "query" in problem:
        possible = [measure_name(stated if stated in MEASURES else "table", query)]
        if mechanism.labels != output_labels(query, tuple(outputs)):
            refuse("the labels of its mechanism are not the outputs of the certificate")
    elif not query.named:
        possible += [measure_name(measure, query) for measure in MEASURES]
    elif name not in possible:
        if mechanism.labels != query.labels:
            vectors = [tuple(map(float, str(label).split(","))) for label in mechanism.labels] if query.vector else None
            outputs = vectors or mechanism.labels
        table = np.asarray(stated, dtype=float)[mechanism.statistic.class_table()]
        for measure in MEASURES:
            expected = Distortion.from_user(query, measure, outputs).table[query.statistic.class_table()]
            possible += [measure_name(measure, query)] if np.array_equal(table, expected) else []
    if name not in possible:
        refuse(f'"distortion_name" = {show(name)} is not what the distortion of the certificate is: {possible[0]}')
