"""Audits as files: JSON that holds the mechanism, the numbers and the certificate with its witness."""

import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError
from dalenius.model import storage
from dalenius.model.adversary import Adversary
from dalenius.model.prior import Prior
from dalenius.results import Audit, Extremes, Group, Records, finite

FORMAT = "dalenius/audit"
VERSION = 1
PLAIN: dict[str, tuple[type, ...]] = {  # fields that are stored as they are, and their types
    "unit": (str,),
    "lower": (float, int),
    "upper": (float, int),
    "stopped": (str,),
    "proved": (str,),
    "record": (int,),
    "tolerance": (float, int),
    "seed": (int,),
    "seconds": (float, int),
    "nodes": (int,),
    "bounds": (str,),
}
ALLOWED = {
    "unit": ("nats", "bits"),
    "stopped": ("gap", "time_limit", "interrupted", "method"),
    "proved": ("both", "lower"),
}


def save(audit: Audit, path: str | os.PathLike[str]) -> None:
    """Write an audit; the file appears whole or not at all."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "mechanism": json.loads(storage.mechanism_text(audit.mechanism)),
        "adversary": asdict(audit.adversary),
        **{key: getattr(audit, key) for key in PLAIN},
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
        "certificate": audit.certificate.data,
    }
    storage.write(Path(path), (json.dumps(content, allow_nan=False, separators=(",", ":")) + "\n").encode())


def load(path: str | os.PathLike[str]) -> Audit:
    """Rebuild an audit; anything malformed is an InputError that names the file."""
    content = storage.read_format(Path(path), "a saved audit", FORMAT, VERSION)
    try:
        return _rebuild(content)
    except KeyError as error:
        message = f"{path} is not a whole audit: {error} is missing"
        raise InputError(message) from error
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        message = f"{path} is not a sound audit: {error}"
        raise InputError(message) from error


def _rebuild(content: dict[str, Any]) -> Audit:
    for key, types in PLAIN.items():
        value = content[key]
        if type(value) not in types or (key in ALLOWED and value not in ALLOWED[key]):
            message = f'"{key}" cannot be {value!r}'
            raise InputError(message)
    mechanism = storage.mechanism_from(content["mechanism"])
    witness = content["certificate"]["witness"]
    low, high, uniform = (math.nan if x is None else x for x in content["extremes"])
    records = Records(tuple(_orbit(orbit) for orbit in content["orbits"]))
    if len(records) != mechanism.n:
        message = f"it has brackets of {len(records)} records where the mechanism has {mechanism.n}"
        raise InputError(message)
    return Audit(
        mechanism=mechanism,
        adversary=Adversary(**content["adversary"]),
        records=records,
        prior=Prior(mechanism, witness["record"], witness["masses"]),
        certificate=Certificate.of(content["certificate"]),
        extremes=Extremes((low, high), uniform),
        **{key: content[key] for key in PLAIN},
    )


def _orbit(orbit: dict[str, Any]) -> Group:
    members = range(*orbit["records"]) if orbit["range"] else tuple(orbit["records"])
    return members, orbit["lower"], orbit["upper"]
