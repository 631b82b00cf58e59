"""From the content of a file to the audit or the design that it holds; whatever is unsound raises.

Bounds, mechanism, adversary, secret and budget have been compared with the certificate (verifier/saved.py); here
they are rebuilt, and what the certificate does not carry is checked as far as it can be.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError
from dalenius.gallery.parse import parse_mechanism, parse_query
from dalenius.model import checks, storage
from dalenius.model.adversary import Adversary
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.real_records import RealRecords
from dalenius.model.channels.symmetric import EvenPrior
from dalenius.model.channels.written import Written
from dalenius.model.distortion import MEASURES, Distortion, measure_name, output_labels
from dalenius.model.prior import Prior
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Attributes, Bins, Function, Secret, describe, from_user, members
from dalenius.model.statistic import Table
from dalenius.model.tied import Decoder, TiedPrior
from dalenius.results.audit import Audit, Extremes, Group, Records, is_closed
from dalenius.results.design import Design
from dalenius.results.history import Step
from dalenius.results.independent_answers import witness_prior
from dalenius.results.units import up
from dalenius.verifier import saved

Plain = dict[str, tuple[type, ...]]  # fields that are stored as they are, and their types

COMMON: Plain = {
    "unit": (str,),
    "lower": (float, int),
    "upper": (float, int),
    "stopped": (str,),
    "proved": (str,),
    "tolerance": (float, int),
    "seed": (int,),
    "seconds": (float, int),
}
OF_AUDIT: Plain = {**COMMON, "record": (int,), "nodes": (int,), "upper_by": (str,)}
OF_ADVERSARY: Plain = {
    "knowledge": (float, int),
    "entropy": (float, int, type(None)),
    "given": (str,),
    "value": (float, int),
}
OF_DESIGN: Plain = {
    **COMMON,
    "goal": (str,),
    "budget": (float, int),
    "distortion": (float, int),
    "rounds": (int,),
    "distortion_name": (str,),
}
ALLOWED = {
    "unit": ("nats", "bits"),
    "stopped": ("gap", "nearly", "time_limit", "nodes", "interrupted", "method"),
    "proved": ("both", "lower", "upper"),
    "goal": ("leakage", "distortion"),
    "given": ("entropy", "knowledge"),
    "distortion_name": ("absolute error", "squared error", "share of wrong answers", "distortion"),
    "reading": ("proof", "strict"),
}
NOT_NEGATIVE = {"tolerance", "seconds", "seed", "nodes", "rounds", "budget", "distortion"}
NEAR = 1e-9  # relative: by how much bounds of real outputs may differ that were rounded on different ways


def _adversary(
    content: dict[str, Any], certificate: dict[str, Any], records: tuple[int, ...], rounding: float = 8 * 2.0**-52
) -> Adversary:
    """The adversary of the certificate; refused where the file says another.

    log|X| - b in bits is rounded once more than in nats: by a relative `rounding`.
    """
    reference = _reference(certificate, records)
    if "independent" in certificate["adversary"]:
        # Compared with the certificate before (verifier/saved.py).
        return Adversary.independent(records, certificate["adversary"].get("knowledge"), "nats", reference)
    plain = _plain(content, OF_ADVERSARY)
    found = Adversary.from_user(records, **{plain["given"]: plain["value"]}, reference=reference)
    stored = math.nan if plain["entropy"] is None else plain["entropy"]
    most = checks.log_universe(records) if reference.uniform else -reference.log_least(records)
    slack = rounding * max(1.0, most)
    free = content.get("free", stored == 0)  # older files do not say it
    agree = abs(plain["knowledge"] - found.knowledge) <= slack and math.isnan(stored) == math.isnan(found.entropy)
    agree = agree and not abs(stored - found.entropy) > slack
    if not agree or type(free) is not bool or (free != found.free and abs(most - found.knowledge) > slack):
        message = f"its adversary is not that of the certificate, {plain['given']} {plain['value']!r} nats"
        raise InputError(message)
    return replace(found, knowledge=plain["knowledge"], entropy=stored)


def _reference(certificate: dict[str, Any], records: tuple[int, ...]) -> Reference:
    described = certificate["adversary"].get("reference")
    if described is None:
        return UNIFORM
    (listed,) = described.values()
    reference = Reference.from_user(listed, records)
    if reference.describe() != described:
        message = "the reference prior of its certificate is not one of these records"
        raise InputError(message)
    return reference


def _secret(content: dict[str, Any], certificate: dict[str, Any], records: tuple[int, ...]) -> Secret | None:
    """What the certificate says of the secret, and what its values were called."""
    described = certificate.get("secret")
    if described is None:
        return None
    if set(described) == {"records", "values"}:
        return _attributes(content, described, records)
    if "records" in described:
        secret = from_user(described["records"], records)
        if describe(secret) != described:
            message = "the secret of its certificate does not list records in ascending order"
            raise InputError(message)
        return secret
    values, names = described["values"], content["names"]
    many = max(values) + 1
    if len(values) != checks.universe(records) or set(values) != set(range(many)) or not _whole_numbers(values):
        message = "the secret of its certificate is not one value for every dataset"
        raise InputError(message)
    if type(names) is not list or len(names) != many or any(type(name) is not str for name in names):
        message = f'"names" must list {many} texts, one for each value of the secret'
        raise InputError(message)
    return Function(np.array(values, dtype=np.int64), tuple(names))


def _attributes(content: dict[str, Any], described: dict[str, Any], records: tuple[int, ...]) -> Attributes:
    """A function of some records' values; what its values were called is from the file."""
    group, labels, names = described["records"], described["values"], content["names"]
    words = content.get("words", [f"a function of record {i}" for i in group])
    many = max(labels) + 1
    whole = _whole_numbers(labels) and set(labels) == set(range(many))
    sizes = math.prod(records[i] for i in group)
    if not whole or len(labels) != sizes or describe(from_user(group, records))["records"] != group:
        message = "the secret of its certificate is not one value for all values of its records"
        raise InputError(message)
    listed = [names, words]
    if any(type(part) is not list or any(type(x) is not str for x in part) for part in listed) or len(names) != many:
        message = f'"names" must list {many} texts, one for each value of the secret'
        raise InputError(message)
    return Attributes(records, tuple(group), labels, tuple(names), tuple(words))


def _real_secret(mechanism: RealRecords, certificate: dict[str, Any]) -> int | Bins | None:
    """The record that is the secret, of real-valued ones, or its bin; None for all of them."""
    n = mechanism.n
    if "secret" not in certificate:
        return None
    if "edges" in certificate["secret"]:
        return mechanism.secret(certificate["secret"])
    (record,) = certificate["secret"]["records"]
    if checks.whole("the record", record, 0) >= n:
        message = f"its secret is record {record}, of {n}"
        raise InputError(message)
    return int(record)


def _real_adversary(mechanism: RealRecords, certificate: dict[str, Any]) -> Adversary:
    """The adversary of real-valued records; compared with the file before (verifier/saved.py)."""
    given = certificate["adversary"]
    described = given.get("reference")
    rho = mechanism.density(None if described is None else (described["edges"], described["masses"]))
    kind: Literal["bounded", "independent"] = "independent" if "independent" in given else "bounded"
    return Adversary.of_reals(given.get("knowledge"), "nats", rho, kind)


def _real_witness(audit: dict[str, Any]) -> Prior:
    """The prior on cells, or grid points, of the certificate about whole numbers inside."""
    whole = parse_mechanism(audit["problem"]["mechanism"], parse_query(audit["problem"]["query"]))
    about: Secret = audit["witness"].get("record", 0)
    if "secret" in audit:
        about = _attributes(
            {"names": [str(v) for v in range(max(audit["secret"]["values"]) + 1)]}, audit["secret"], whole.records
        )
    return _witness(whole, about, audit, _reference(audit, whole.records))


def _whole_numbers(listed: Sequence[object]) -> bool:
    return all(type(value) is int for value in listed)


def _history(content: dict[str, Any]) -> tuple[Step, ...]:
    return tuple(_step(*line) for line in content.get("history", ()))


def _repairs(content: dict[str, Any]) -> tuple[str, ...]:
    """Names of repairs of the paper's text; older files do not have them."""
    listed = content.get("repairs", [])
    if type(listed) is not list or any(type(name) is not str or not name.isidentifier() for name in listed):
        message = '"repairs" must list names of repairs'
        raise InputError(message)
    return tuple(listed)


def _step(start: object, iteration: object, *numbers: object) -> Step:
    """One iteration; files of version 0.1 have neither the worst-case leakage nor the penalty."""
    if len(numbers) not in {4, 6}:
        message = f"an iteration has {len(numbers) + 2} numbers in place of 8"
        raise InputError(message)
    return Step(checks.whole("a start", start, 0), checks.whole("an iteration", iteration, 0), *map(_measured, numbers))


def _measured(x: object) -> float:
    return math.inf if x is None else checks.real("a number of the history", x, -math.inf, math.inf)


def audit_of(content: dict[str, Any]) -> Audit:
    """Rebuild a saved audit."""
    return _audit(content, content["certificate"], storage.mechanism_from(content["mechanism"]))


def _audit(content: dict[str, Any], certificate: dict[str, Any], mechanism: Mechanism) -> Audit:
    _check_described(mechanism, certificate)
    reals, samples = mechanism.as_real_records, mechanism.as_samples
    secret = _secret(content, certificate, mechanism.records) if reals is None else _real_secret(reals, certificate)
    one = secret is None or isinstance(secret, int)
    if "bounds" in content:
        content = {"upper_by": content["bounds"], **content}  # its name in version 0.1
    plain = _plain(content, {**OF_AUDIT, "record": (int if one else type(None),)})
    if (plain["proved"] == "upper") != (samples is not None) or _short(plain["upper_by"]) != plain["upper_by"]:
        message = f"it is proved {plain['proved']!r}, the upper bound by {plain['upper_by']!r}"
        raise InputError(message)
    witness = certificate["witness"]
    if reals is not None:
        adversary, prior = _real_adversary(reals, certificate), _real_witness(witness["audit"])
    else:
        adversary = _adversary(content["adversary"], certificate, mechanism.records)
        about = witness["record"] if secret is None else secret
        prior = _witness(mechanism if samples is None else samples.above, about, certificate, adversary.reference)
    return Audit(
        mechanism=mechanism,
        adversary=adversary,
        records=_records(content, certificate, None if secret is None else plain["record"], mechanism.n),
        secret=secret,
        prior=prior,
        certificate=Certificate.of(certificate),
        extremes=_extremes(content["extremes"]),
        history=_history(content),
        repairs=_repairs(content),
        loaded=True,
        **_ended(plain, content),
    )


def _ended(plain: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Version 0.1 wrote "gap" also of a gap that was only nearly within the tolerance, and knew no share."""
    relative = checks.real('"relative"', content.get("relative", 0.0), 0.0, 1.0)
    closed = is_closed(plain["lower"], plain["upper"], plain["tolerance"], relative)
    nearly = plain["stopped"] == "gap" and not closed
    return {**plain, "relative": relative, "stopped": "nearly" if nearly else plain["stopped"]}


def _check_described(mechanism: Mechanism, certificate: dict[str, Any]) -> None:
    """Refuse a mechanism that does not describe itself as the certificate does, whatever was stored of it."""
    if mechanism.describe() != {key: x for key, x in certificate["problem"].items() if key != "quadrature"}:
        message = "its mechanism is not the one that its certificate is about"
        raise InputError(message)


def _extremes(listed: Any) -> Extremes | None:  # noqa: ANN401 - JSON
    if listed is None:  # they were not computed
        return None
    low, high, uniform = (math.nan if x is None else checks.real("an extreme", x, -NEAR, math.inf) for x in listed)
    if low > high:
        message = f"its extremes cross: {low!r} > {high!r}"
        raise InputError(message)
    return Extremes((low, high), uniform)


def _records(content: dict[str, Any], certificate: dict[str, Any], record: int | None, n: int) -> Records:
    """Every record's bracket; refused unless they are of all records, and of the certificate as far as it tells.

    It tells the lower bound of the worst record and, but for real outputs, every upper bound.
    """
    groups = [_orbit(orbit) for orbit in content["orbits"]]
    about = "the secret" if "secret" in certificate else f"the {n} records"
    if not ([group[0] for group in groups] == [(record,)] if "secret" in certificate else _cover(groups, n)):
        message = f"its brackets are not of {about}"
        raise InputError(message)
    records = Records(tuple(groups))
    worst = max(content["lower"], *(upper for _, _, upper in groups))
    near = abs(worst - content["upper"]) <= NEAR * max(1.0, worst)
    if not (near and _proved(records, content, certificate, record)):
        message = "the brackets of its records are not those of the certificate"
        raise InputError(message)
    return records


def _proved(records: Records, content: dict[str, Any], certificate: dict[str, Any], record: int | None) -> bool:
    """Whether the brackets of records are those of the certificate, in the unit of the file."""
    one, proofs = "secret" in certificate, certificate["proofs"]
    if records.orbit_of(record if one else certificate["witness"]["record"])[1] != content["lower"]:
        return False
    if "quadrature" in certificate["problem"]:
        return True
    stated = [up(proof["upper"], saved.NATS[content["unit"]]) for proof in proofs]
    found = [records.orbit_of(record if one else proof["record"])[2] for proof in proofs]
    return found == stated and len(proofs) == len(records.orbits)


def _cover(groups: list[Group], n: int) -> bool:
    """Whether the orbits hold each of the records 0..n-1 once."""
    spans = sorted(span for members, _, _ in groups for span in _spans(members))
    ends = [(0, 0), *spans, (n, n)]
    return len(spans) > 0 and all(before[1] == after[0] for before, after in pairwise(ends))


def _short(value: object, longest: int = 40) -> str:
    """The first characters of a text that can be printed."""
    text = str(value)[:longest]
    return text if text.isprintable() else ""


def _orbit(orbit: dict[str, Any]) -> Group:
    listed, spread = orbit["records"], orbit["range"]
    lower, upper = (checks.real("a bound of a record", orbit[key], 0.0, math.inf) for key in ("lower", "upper"))
    if type(listed) is not list or not listed or (listed != [None] and not _whole_numbers(listed)) or lower > upper:
        message = f"it has no sound bracket of the records {_short(listed)}"
        raise InputError(message)
    if spread is True:
        first, last = listed
        return range(first, last), lower, upper
    return tuple(listed), lower, upper


def _spans(members: range | tuple[int | None, ...]) -> list[tuple[int, int]]:
    """Intervals of indices, each from its first to behind its last."""
    if isinstance(members, range):
        return [(members.start, members.stop)] if len(members) else []
    return [(i, i + 1) for i in members if i is not None]


def _witness(mechanism: Mechanism, secret: Secret, certificate: dict[str, Any], reference: Reference) -> Prior:
    witness = certificate["witness"]
    if "law" in witness:
        assert isinstance(secret, int)  # noqa: S101 - for the type checker: the verifier's rule
        return witness_prior(mechanism, secret, witness, reference)
    if "kind" in witness:
        return _tied(mechanism, secret, certificate, reference)
    if "blocks" in witness:
        part = mechanism.witnessed(witness.get("cell"))
        return Prior.on_blocks(part, secret, witness["blocks"], witness["masses"], reference)
    if "uniform" in witness:
        return _even(mechanism, secret)
    if "part" in witness:
        return _on_some_records(mechanism, secret, witness, reference)
    return Prior(mechanism, secret, witness["masses"], reference)


def _on_some_records(mechanism: Mechanism, secret: Secret, witness: dict[str, Any], reference: Reference) -> Prior:
    """The prior on a few records of a local randomiser, its masses by the secret and what is looked at of others."""
    group = members(secret.whole if isinstance(secret, Attributes) else secret)
    whole, about = mechanism.as_records, witness["part"]
    if whole is None or group is None:
        message = "its witness looks at some records, but its mechanism has no channel for each"
        raise InputError(message)
    law = np.exp(reference.log_law_of(0, whole.k))
    part = whole.look_at(group, checks.whole("others", about["others"], 0), counted=about["counted"], law=law)
    looked_at, given = part.looked_at, np.asarray(witness["masses"], dtype=float)
    labels = secret.labels if isinstance(secret, Attributes) else np.arange(looked_at.values)
    masses = np.zeros((int(labels.max()) + 1, looked_at.values, looked_at.inside))
    masses[labels, np.arange(looked_at.values)] = given
    return Prior(part, secret, masses.reshape(len(masses), -1) / given.sum(), reference)


def _even(mechanism: Mechanism, secret: Secret) -> EvenPrior:
    """The uniform prior of one record through a symmetric channel."""
    symmetric = mechanism.as_symmetric
    if symmetric is None or secret != 0:
        message = (
            "its witness is the uniform prior of one record, and its mechanism is not a symmetric channel of one record"
        )
        raise InputError(message)
    return EvenPrior.of(symmetric, 0)


def _tied(mechanism: Mechanism, secret: Secret, certificate: dict[str, Any], reference: Reference) -> TiedPrior:
    """The prior that ties every value to its own count; what it tells is the certificate's lower bound."""
    counts = mechanism.as_counts
    if counts is None or not isinstance(secret, int):
        message = "its witness ties values to their counts, and it is not about a record of a noisy histogram"
        raise InputError(message)
    witness = certificate["witness"]
    law = np.zeros(counts.n + 1)
    listed = np.asarray(witness["masses"], dtype=float)
    law[witness["first"] : witness["first"] + listed.size] = listed
    if not 0 < law.sum() < math.inf or law.min() < 0:
        message = "the masses of its witness are not those of a prior"
        raise InputError(message)
    low, high = witness["window"]
    decoder = Decoder(
        tuple(witness["cuts"]), tuple(witness["weights"]), (low, high), tuple(witness["nodes"]), witness["step"]
    )
    told, tilt = float(certificate["lower"]), tuple(witness.get("tilt", ()))
    if tilt and len(tilt) != high - low + 1:
        message = "the tilt of its witness is not one of the counts in its window"
        raise InputError(message)
    return TiedPrior.of_counts(counts, secret, law, decoder=decoder, told=told, tilt=tilt, reference=reference)


def design_of(content: dict[str, Any]) -> Design:
    """Rebuild a saved design."""
    plain = _plain(content, OF_DESIGN)
    query = query_of(content["query"])
    mechanism = storage.mechanism_from(content["mechanism"]).written()
    if query.records != mechanism.records or plain["proved"] == "lower":
        message = f"its query is not about the records of its mechanism, or it is proved {plain['proved']!r}"
        raise InputError(message)
    if mechanism.query is None:  # a function of the user's: files keep its answers beside the mechanism
        classes = mechanism.statistic.class_table()
        own = not query.named and np.array_equal(classes, query.statistic.class_table())
        statistic = query.statistic if own else mechanism.statistic
        mechanism = Written(statistic, mechanism.given, mechanism.labels, query)
    certificate = Certificate.of(content["certificate"])
    inside = certificate.data.get("audit", certificate.data)  # of its mechanism; all of it where no budget is kept
    together = mechanism
    if "beside" in certificate.data:
        released = storage.mechanism_from(content["released"]).written()
        mechanism = Written(together.statistic, released.given, released.labels, together.query)
    _check_words(plain["distortion_name"], query, mechanism, certificate.data)
    design = Design(
        query=query,
        adversary=_adversary(content["adversary"], inside, mechanism.records),
        mechanism=mechanism,
        leakage=_audit(content["leakage"], inside, together),
        certificate=certificate,
        history=_history(content),
        repairs=_repairs(content),
        loaded=True,
        **(_plain(content, {"reading": (str,)}) if "reading" in content else {}),
        **(_plain(content, {"reported": (float, int)}) if "reported" in content else {}),
        **_ended(plain, content),
    )
    checks.real("the slope of its certificate", design.slope if design.kept else 0.0, 0.0, math.inf)
    return design


def _check_words(name: str, query: Query, mechanism: Written, certificate: dict[str, Any]) -> None:
    """Refuse words for the distortion and labels of outputs other than the certificate's, where it has them.

    Where it has a table of distortions alone, the table must be that of a named query; reports say in any case that the
    query and the words are from the file.
    """
    problem = certificate["problem"]
    if "distortion" not in problem:
        return
    measure = problem["distortion"]
    if "query" not in problem:
        _check_table(name, query, mechanism, measure)
        return
    if name != measure_name(measure if measure in MEASURES else "table", query):
        message = f'"distortion_name" cannot be {name!r} where the certificate has another distortion'
        raise InputError(message)
    listed = problem.get("outputs")
    outputs = query.outputs if listed is None else tuple(map(_hashable, listed))
    if mechanism.labels != output_labels(query, outputs):
        message = "the labels of its mechanism are not the outputs of the certificate"
        raise InputError(message)


def _check_table(name: str, query: Query, mechanism: Written, table: object) -> None:
    """Refuse a table of distortions that is not the one of a named query by a measure of this name."""
    measure = next((word for word in MEASURES if measure_name(word, query) == name), None)
    if measure is None or not query.named:
        return
    outputs: Sequence[object] = mechanism.labels
    if mechanism.labels == query.labels:
        outputs = query.outputs
    elif query.vector:
        outputs = [tuple(map(float, str(label).split(","))) for label in mechanism.labels]
    expected = Distortion.from_user(query, measure, outputs).table[query.statistic.class_table()]
    if not np.array_equal(np.asarray(table, dtype=float)[mechanism.statistic.class_table()], expected):
        message = f"the distortions of its certificate are not the {name} of {query} and the labels of its mechanism"
        raise InputError(message)


def _plain(content: dict[str, Any], fields: Plain) -> dict[str, Any]:
    """Fields as they are stored: of the right type, finite, and not negative where that would mean nothing."""
    found = {}
    for key, types in fields.items():
        value = content[key]
        if type(value) not in types or (key in ALLOWED and value not in ALLOWED[key]):
            message = f'"{key}" cannot be {value!r}'
            raise InputError(message)
        if float in types and value is not None:
            value = checks.real(f'"{key}"', value, 0.0 if key in NOT_NEGATIVE else -math.inf, math.inf)
        elif int in types and value is not None:
            checks.whole(f'"{key}"', value, 0)
        found[key] = value
    return found


def query_of(content: str | dict[str, Any]) -> Query:
    """Rebuild a query: by its call, or a function by its answers."""
    if isinstance(content, str):
        return parse_query(content)
    records, answers, classes = checks.alphabets(content["records"]), content["answers"], content["classes"]
    whole = _whole_numbers(answers)
    if not _whole_numbers(classes):
        message = '"classes" of the query must be whole numbers'
        raise InputError(message)
    return Query(
        name="function",
        arguments=(("records", records),),
        statistic=Table(records, np.array(classes)),
        answers=np.array(answers, dtype=np.int64) if whole else tuple(map(_hashable, answers)),
        outputs=tuple(map(_hashable, content["outputs"])),
        sensitivity=checks.real("sensitivity", content["sensitivity"], 0.0, math.inf),
        named=False,
    )


def _hashable(answer: object) -> object:
    if isinstance(answer, list):
        return tuple(map(_hashable, answer))
    if not isinstance(answer, (int, float, str)) or (isinstance(answer, float) and not math.isfinite(answer)):
        message = "answers and outputs are texts, finite numbers and lists of them"
        raise InputError(message)
    return answer
