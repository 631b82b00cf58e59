"""Audits and designs as files: JSON that holds the mechanism, the numbers and the certificate."""

import json
import math
import os
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dalenius.certificates.certificate import Certificate
from dalenius.design_results import Design
from dalenius.errors import InputError
from dalenius.gallery.parse import parse_query
from dalenius.model import storage
from dalenius.model.adversary import Adversary
from dalenius.model.mechanism import Mechanism
from dalenius.model.noisy_histogram import NoisyHistogram
from dalenius.model.prior import Prior
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Function, Secret, from_user
from dalenius.model.statistic import Table
from dalenius.paper.history import Step
from dalenius.results import Audit, Extremes, Group, Records, finite

AUDIT, DESIGN = "dalenius/audit", "dalenius/design"
VERSION = 1
Plain = dict[str, tuple[type, ...]]  # fields that are stored as they are, and their types
Answer = TypeVar("Answer", Audit, Design)

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
OF_AUDIT: Plain = {**COMMON, "record": (int,), "nodes": (int,), "bounds": (str,)}
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
    "stopped": ("gap", "time_limit", "interrupted", "method"),
    "proved": ("both", "lower", "upper"),
    "goal": ("leakage", "distortion"),
}


def save_audit(audit: Audit, path: str | os.PathLike[str]) -> None:
    """Write an audit; the file appears whole or not at all."""
    _write(path, AUDIT, {**_of_mechanism(audit.mechanism), **_of_audit(audit), "certificate": audit.certificate.data})


def load_audit(path: str | os.PathLike[str]) -> Audit:
    """Rebuild an audit; anything malformed is an InputError that names the file."""
    content = storage.read_format(Path(path), "a saved audit", AUDIT, VERSION)
    return _rebuilt(path, "audit", lambda: _audit(content, storage.mechanism_from(content["mechanism"])))


def save_design(design: Design, path: str | os.PathLike[str]) -> None:
    """Write a design; the file appears whole or not at all.

    Its audit is kept as a saved audit without the mechanism, which is the design's, and without the
    certificate, which is the "audit" of the design's, or all of it where the budget is not kept.
    """
    content = {
        **_of_mechanism(design.mechanism),
        "query": _of_query(design.query),
        "adversary": _of_adversary(design.adversary),
        **{key: getattr(design, key) for key in OF_DESIGN},
        **_of_history(design.history),
        **({} if design.reported is None else {"reported": design.reported}),
        "leakage": _of_audit(design.leakage),
        "certificate": design.certificate.data,
    }
    _write(path, DESIGN, content)


def load_design(path: str | os.PathLike[str]) -> Design:
    """Rebuild a design; anything malformed is an InputError that names the file."""
    content = storage.read_format(Path(path), "a saved design", DESIGN, VERSION)
    return _rebuilt(path, "design", lambda: _design(content))


def load_any(path: str | os.PathLike[str]) -> Audit | Design:
    """Read what `save` of an audit or of a design wrote."""
    content = storage.read_json(Path(path))
    kind = content.get("format") if isinstance(content, dict) else None
    if kind not in (AUDIT, DESIGN):
        message = f'{path} is neither a saved audit nor a saved design: it has no "format": "{AUDIT}" or "{DESIGN}"'
        raise InputError(message)
    return load_audit(path) if kind == AUDIT else load_design(path)


def _write(path: str | os.PathLike[str], kind: str, content: dict[str, Any]) -> None:
    text = json.dumps({"format": kind, "version": VERSION, **content}, allow_nan=False, separators=(",", ":"))
    storage.write(Path(path), f"{text}\n".encode())


def _rebuilt(path: str | os.PathLike[str], what: str, build: Callable[[], Answer]) -> Answer:
    try:
        return build()
    except KeyError as error:
        message = f"{path} is not a whole {what}: {error} is missing"
        raise InputError(message) from error
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        message = f"{path} is not a sound {what}: {error}"
        raise InputError(message) from error


def _of_mechanism(mechanism: Mechanism) -> dict[str, Any]:
    return {"mechanism": json.loads(storage.mechanism_text(mechanism))}


def _of_audit(audit: Audit) -> dict[str, Any]:
    """An audit without its mechanism and its certificate."""
    return {
        "adversary": _of_adversary(audit.adversary),
        **{key: getattr(audit, key) for key in OF_AUDIT},
        "orbits": [
            {
                "records": [members.start, members.stop] if isinstance(members, range) else list(members),
                "range": isinstance(members, range),
                "lower": lower,
                "upper": upper,
            }
            for members, lower, upper in audit.records.orbits
        ],
        "extremes": [*map(finite, audit.extremes.unconstrained), finite(audit.extremes.uniform)],
        **({"names": list(map(str, audit.secret.names))} if isinstance(audit.secret, Function) else {}),
        **_of_history(audit.history),
    }


def _of_adversary(adversary: Adversary) -> dict[str, Any]:
    """Its numbers; its reference is in the certificate."""
    numbers = {key: getattr(adversary, key) for key in OF_ADVERSARY}
    return {**numbers, "entropy": finite(adversary.entropy), "free": adversary.free}


def _adversary(content: dict[str, Any], certificate: dict[str, Any], records: tuple[int, ...]) -> Adversary:
    plain = _plain(content, OF_ADVERSARY)
    described = certificate.get("adversary", {}).get("reference")
    reference = UNIFORM if described is None else Reference.from_user(next(iter(described.values())), records)
    entropy = math.nan if plain["entropy"] is None else plain["entropy"]
    free = bool(content.get("free", entropy == 0))  # older files do not say it
    return Adversary(**{**plain, "entropy": entropy}, reference=reference, free=free)


def _secret(content: dict[str, Any], records: tuple[int, ...]) -> Secret | None:
    """What the certificate says of the secret, and what its values were called."""
    described = content["certificate"].get("secret")
    if described is None:
        return None
    if "records" in described:
        return from_user(described["records"], records)
    return Function(np.array(described["values"], dtype=np.int64), tuple(content["names"]))


def _of_history(history: tuple[Step, ...]) -> dict[str, Any]:
    """The iterations of the paper's method, if it was that; null where a number is infinite."""
    return {"history": [list(map(_finite, astuple(step))) for step in history]} if history else {}


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _history(content: dict[str, Any]) -> tuple[Step, ...]:
    return tuple(_step(*line) for line in content.get("history", ()))


def _step(start: int, iteration: int, *numbers: float | None) -> Step:
    """One iteration; files of version 0.1 have neither the worst-case leakage nor the penalty."""
    if len(numbers) not in {4, 6}:
        message = f"an iteration has {len(numbers) + 2} numbers in place of 8"
        raise ValueError(message)
    return Step(int(start), int(iteration), *(math.inf if x is None else float(x) for x in numbers))


def _audit(content: dict[str, Any], mechanism: Mechanism) -> Audit:
    secret = _secret(content, mechanism.records)
    one = secret is None or isinstance(secret, int)
    plain = _plain(content, {**OF_AUDIT, "record": (int if one else type(None),)})
    witness = content["certificate"]["witness"]
    low, high, uniform = (math.nan if x is None else x for x in content["extremes"])
    records = Records(tuple(_orbit(orbit) for orbit in content["orbits"]))
    if len(records) != (mechanism.n if secret is None else 1):
        message = f"it has brackets of {len(records)} records where the mechanism has {mechanism.n}"
        raise InputError(message)
    adversary = _adversary(content["adversary"], content["certificate"], mechanism.records)
    return Audit(
        mechanism=mechanism,
        adversary=adversary,
        records=records,
        secret=secret,
        prior=_witness(mechanism, witness["record"] if secret is None else secret, witness, adversary.reference),
        certificate=Certificate.of(content["certificate"]),
        extremes=Extremes((low, high), uniform),
        history=_history(content),
        **plain,
    )


def _witness(mechanism: Mechanism, secret: Secret, witness: dict[str, Any], reference: Reference) -> Prior:
    if "blocks" in witness:
        if isinstance(mechanism, NoisyHistogram):
            mechanism = mechanism.cell(witness["cell"])
        return Prior.on_blocks(mechanism, secret, witness["blocks"], witness["masses"], reference)
    return Prior(mechanism, secret, witness["masses"], reference)


def _design(content: dict[str, Any]) -> Design:
    plain = _plain(content, OF_DESIGN)
    query = _query(content["query"])
    mechanism = storage.mechanism_from(content["mechanism"])
    if mechanism.query is None:  # a function of the user's: files keep its answers beside the mechanism
        own = np.array_equal(mechanism.statistic.class_table(), query.statistic.class_table())
        statistic = query.statistic if own else mechanism.statistic
        mechanism = Mechanism(statistic, mechanism.given, mechanism.labels, query)
    certificate = Certificate.of(content["certificate"])
    inside = certificate.data.get("audit", certificate.data)  # of its mechanism; all of it where no budget is kept
    return Design(
        query=query,
        adversary=_adversary(content["adversary"], inside, mechanism.records),
        mechanism=mechanism,
        leakage=_audit({**content["leakage"], "certificate": inside}, mechanism),
        certificate=certificate,
        history=_history(content),
        **(_plain(content, {"reported": (float, int)}) if "reported" in content else {}),
        **plain,
    )


def _plain(content: dict[str, Any], fields: Plain) -> dict[str, Any]:
    for key, types in fields.items():
        value = content[key]
        if type(value) not in types or (key in ALLOWED and value not in ALLOWED[key]):
            message = f'"{key}" cannot be {value!r}'
            raise InputError(message)
    return {key: content[key] for key in fields}


def _of_query(query: Query) -> str | dict[str, Any]:
    """A named query by its call string, a function by its answers."""
    if query.named:
        return str(query)
    return {
        "records": list(query.records),
        "classes": query.statistic.class_table().tolist(),
        "answers": list(map(_json, query.answers)),
        "outputs": list(map(_json, query.outputs)),
        "sensitivity": query.sensitivity,
    }


def _query(content: str | dict[str, Any]) -> Query:
    if isinstance(content, str):
        return parse_query(content)
    records, answers = tuple(content["records"]), content["answers"]
    whole = all(type(y) is int for y in answers)
    return Query(
        name="function",
        arguments=(("records", records),),
        statistic=Table(records, np.array(content["classes"])),
        answers=np.array(answers, dtype=np.int64) if whole else tuple(map(_hashable, answers)),
        outputs=tuple(map(_hashable, content["outputs"])),
        sensitivity=float(content["sensitivity"]),
        named=False,
    )


def _json(answer: object) -> object:
    """A number, a text, or a list of them; anything else by its words."""
    plain = answer.item() if isinstance(answer, np.generic) else answer
    if isinstance(plain, tuple):
        return list(map(_json, plain))
    return plain if isinstance(plain, (int, float, str)) else str(plain)


def _hashable(answer: object) -> object:
    return tuple(map(_hashable, answer)) if isinstance(answer, list) else answer


def _orbit(orbit: dict[str, Any]) -> Group:
    members = range(*orbit["records"]) if orbit["range"] else tuple(orbit["records"])
    return members, orbit["lower"], orbit["upper"]
