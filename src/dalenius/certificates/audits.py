"""The certificate of an audit as plain data: what was asked, both bounds, the witness and the proofs."""

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from dalenius.model import secret as secrets
from dalenius.model.adversary import Adversary
from dalenius.model.problem import AuditProblem
from dalenius.numerics.types import Floats

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


def adversary_data(adversary: Adversary) -> dict[str, Any]:
    """Return the number that was given, the reference if there is one, and whether records are independent."""
    known = adversary.reference.describe()
    return {
        **({"independent": True} if adversary.kind == "independent" else {}),
        **({} if adversary.unlimited else {adversary.given: adversary.value}),
        **({"reference": known} if known else {}),
    }


def asked_data(problem: AuditProblem) -> dict[str, Any]:
    """Return what an audit is asked, as its certificate carries it: the mechanism, the adversary and the secret."""
    secret = {} if problem.secret is None else {"secret": secrets.describe(problem.secret)}
    return {"problem": problem.mechanism.describe(), "adversary": adversary_data(problem.adversary), **secret}


def certificate_data(
    problem: AuditProblem,
    bracket: tuple[float, float],
    witness: tuple[int | None, dict[str, Any]],
    proofs: Iterable[tuple[int, dict[str, Any]]],
    channel: dict[str, Any],
) -> dict[str, Any]:
    """Return the certificate: problem, form, witness, and one proof for each orbit of records, or for the secret.

    Witness and proofs name the record that they are about where every record is a secret. channel: what is said of the
    channel beside its description.
    """
    asked = asked_data(problem)
    every = problem.secret is None
    described = {**asked["problem"], **channel}
    return {
        "format": "dalenius/audit-certificate",
        "version": VERSION,
        "form": problem.mechanism.form or _form(witness[1]),
        **asked,
        "problem": described,
        "lower": bracket[0],
        "upper": bracket[1],
        "witness": {
            **({"record": witness[0]} if every else {}),
            **{key: x for key, x in witness[1].items() if key != "form"},
        },
        "proofs": [{**({"record": record} if every else {}), **proof} for record, proof in proofs],
    }


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
