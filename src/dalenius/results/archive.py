"""Audits and designs as files: JSON that holds the mechanism, the numbers and the certificate.

A file is read with suspicion. Bounds, mechanism, adversary, secret and budget must be those of the certificate inside
(verifier/saved.py). What the certificate does not carry is checked as far as it can be, and results say that it is
from the file: extremes, brackets of other records, labels, names, history, and how the search ended.
"""

import json
import math
import os
from collections.abc import Callable
from dataclasses import astuple
from typing import Any, TypeVar

import numpy as np

from dalenius import __version__
from dalenius.errors import InputError
from dalenius.model import storage
from dalenius.model.adversary import Adversary
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.query import Query
from dalenius.model.secret import Attributes, Function
from dalenius.results.audit import Audit, Extremes, finite
from dalenius.results.design import Design
from dalenius.results.history import Step
from dalenius.results.restore import OF_ADVERSARY, OF_AUDIT, OF_DESIGN, audit_of, design_of
from dalenius.verifier import saved
from dalenius.verifier.kernel.reading import Refused

AUDIT, DESIGN = "dalenius/audit", "dalenius/design"
VERSION = 1
Answer = TypeVar("Answer", Audit, Design)

DAMAGED = (  # what reading a damaged file may raise; StopIteration and RuntimeError come out of iterators
    TypeError, ValueError, LookupError, AttributeError, ArithmeticError, StopIteration, RuntimeError, MemoryError,
    Refused,
)  # fmt: skip


def save_audit(audit: Audit, path: str | os.PathLike[str]) -> None:
    """Write an audit; the file appears whole or not at all."""
    write_content(path, audit_content(audit))


def audit_content(audit: Audit) -> dict[str, Any]:
    """Return what is saved of an audit."""
    content = {**_of_mechanism(audit.mechanism), **_of_audit(audit), "certificate": audit.certificate.data}
    return {"format": AUDIT, "version": VERSION, **content}


def load_audit(path: str | os.PathLike[str], *, verify: bool = False) -> Audit:
    """Rebuild an audit; anything malformed is an InputError that names the file."""
    content = storage.read_format(storage.path_of(path), "a saved audit", AUDIT, VERSION)
    return _rebuilt(path, content, audit_of, verify=verify)


def save_design(design: Design, path: str | os.PathLike[str]) -> None:
    """Write a design; the file appears whole or not at all."""
    write_content(path, design_content(design))


def design_content(design: Design) -> dict[str, Any]:
    """Return what is saved of a design.

    Of a design beside earlier releases the mechanism is the joint release, and "released" the one to run.
    Its audit is kept as a saved audit without the mechanism, which is the design's, and without the
    certificate, which is the "audit" of the design's, or all of it where the budget is not kept.
    """
    content = {
        **_of_mechanism(design.leakage.mechanism if design.beside else design.mechanism),
        **({"released": _of_mechanism(design.mechanism)["mechanism"]} if design.beside else {}),
        "query": query_content(design.query),
        "adversary": _of_adversary(design.adversary),
        **{key: getattr(design, key) for key in OF_DESIGN},
        **({"relative": design.relative} if design.relative else {}),
        **_of_history(design.history, design.repairs),
        **({} if design.reading is None else {"reading": design.reading}),
        **({} if design.reported is None else {"reported": design.reported}),
        "leakage": _of_audit(design.leakage),
        "certificate": design.certificate.data,
    }
    return {"format": DESIGN, "version": VERSION, **content}


def load_design(path: str | os.PathLike[str], *, verify: bool = False) -> Design:
    """Rebuild a design; anything malformed is an InputError that names the file."""
    content = storage.read_format(storage.path_of(path), "a saved design", DESIGN, VERSION)
    return _rebuilt(path, content, design_of, verify=verify)


def part_of(path: str | os.PathLike[str], content: object, *, verify: bool) -> Audit | Design:
    """Rebuild an audit or a design that stands in this file, alone or inside another result."""
    kind = content.get("format") if isinstance(content, dict) else None
    if not isinstance(content, dict) or kind not in (AUDIT, DESIGN):
        message = f'{path} is neither a saved audit nor a saved design: it has no "format": "{AUDIT}" or "{DESIGN}"'
        raise InputError(message)
    if kind == AUDIT:
        return _rebuilt(path, content, audit_of, verify=verify)
    return _rebuilt(path, content, design_of, verify=verify)


def write_content(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write a result as compact JSON; the file appears whole or not at all."""
    # The version of the program beside that of the format: results of two versions are not shown on one page.
    named = {**content, "dalenius": __version__}
    text = json.dumps(named, allow_nan=False, separators=(",", ":"))
    storage.write(storage.path_of(path), f"{text}\n".encode())


def check_version(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Refuse a file whose version of dalenius is no text; files of 0.1 state none."""
    if not isinstance(content.get("dalenius", ""), str):
        message = f'{path} is not a sound result: its "dalenius" is {content["dalenius"]!r}, and no version'
        raise InputError(message)


def _rebuilt(
    path: str | os.PathLike[str], content: dict[str, Any], build: Callable[[dict[str, Any]], Answer], *, verify: bool
) -> Answer:
    """Return the result of a file whose certificate states the same, and verifies if that is asked for."""
    check_version(path, content)
    if not isinstance(verify, bool):
        message = f"verify = {verify!r} must be True or False"
        raise InputError(message)
    what = saved.FORMATS[content["format"]]
    try:
        saved.certificate_of(content)
        answer = build(content)
        repr(answer)
    except KeyError as error:
        message = f"{path} is not a whole {what}: {error} is missing"
        raise InputError(message) from error
    except DAMAGED as error:
        message = f"{path} is not a sound {what}: {str(error) or type(error).__name__}"
        raise InputError(message) from error
    return _verified(path, answer) if verify else answer


def _verified(path: str | os.PathLike[str], answer: Answer) -> Answer:
    verdict = answer.verify()
    if not verdict:
        message = f"{path}: its certificate does not verify: {verdict.reason}"
        raise InputError(message)
    return answer


def _of_mechanism(mechanism: Mechanism) -> dict[str, Any]:
    return {"mechanism": json.loads(storage.mechanism_text(mechanism))}


def _of_audit(audit: Audit) -> dict[str, Any]:
    """An audit without its mechanism and its certificate."""
    extremes: Extremes | None = audit.extremes
    return {
        "adversary": _of_adversary(audit.adversary),
        **{key: getattr(audit, key) for key in OF_AUDIT},
        **({"relative": audit.relative} if audit.relative else {}),
        "orbits": [
            {
                "records": [members.start, members.stop] if isinstance(members, range) else list(members),
                "range": isinstance(members, range),
                "lower": lower,
                "upper": upper,
            }
            for members, lower, upper in audit.records.orbits
        ],
        "extremes": [*map(finite, extremes.unconstrained), finite(extremes.uniform)] if extremes is not None else None,
        **({"names": list(map(str, audit.secret.names))} if isinstance(audit.secret, Function) else {}),
        **({"words": list(audit.secret.words)} if isinstance(audit.secret, Attributes) else {}),
        **_of_history(audit.history, audit.repairs),
    }


def _of_adversary(adversary: Adversary) -> dict[str, Any]:
    """Its numbers; its reference is in the certificate."""
    if adversary.kind == "independent":
        numbers = {key: finite(getattr(adversary, key)) for key in ("knowledge", "entropy", "value")}
        return {**numbers, "kind": adversary.kind, "given": adversary.given, "free": adversary.free}
    numbers = {key: getattr(adversary, key) for key in OF_ADVERSARY}
    return {**numbers, "entropy": finite(adversary.entropy), "free": adversary.free}


def _of_history(history: tuple[Step, ...], repairs: tuple[str, ...]) -> dict[str, Any]:
    """The iterations of the paper's method and the repairs of its text, if it was that; null where one is infinite."""
    if not history:
        return {}
    return {"history": [list(map(_finite, astuple(step))) for step in history], "repairs": list(repairs)}


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def query_content(query: Query) -> str | dict[str, Any]:
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


def _json(answer: object) -> object:
    """A number, a text, or a list of them; anything else by its words."""
    plain = answer.item() if isinstance(answer, np.generic) else answer
    if isinstance(plain, tuple):
        return list(map(_json, plain))
    return plain if isinstance(plain, (int, float, str)) else str(plain)
