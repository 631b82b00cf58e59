"""Honest certificates beside other questions: parts of curves, frontiers, calibrations and studies, exchanged.

Every certificate in the pool is honest, so that each verifies. A case puts some beside a question that they are not
about, edits numbers, or both. What is then said to be verified must be true of the question that is shown.
"""

import copy
import json
import math
import random
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import numpy as np
from kinds import Json

import dalenius as dl
from dalenius.certificates.audits import adversary_data
from dalenius.results.archive import content_of
from dalenius.studies import running
from dalenius.studies.store import Store, packed
from dalenius.studies.study import Study
from fuzz.inputs import clear

NEAR = 1e-9
QUERY = dl.queries.count(n=2)
LOUD, QUIET = (dl.mechanisms.geometric(QUERY, epsilon=epsilon) for epsilon in (0.2, 1.0))
QUICK: Json = {"tolerance": 1e-2, "verify": False}
STUDY = """
[study]
name = "beside"
[fix]
query = "count(n=2)"
tolerance = 1e-2
{fix}
[vary]
knowledge = [0.2, 0.6]
"""
ASKED = {
    "audit": 'mechanism = "geometric(epsilon=1)"',
    "louder": 'mechanism = "geometric(epsilon=0.2)"',
    "secret": 'mechanism = "geometric(epsilon=1)"\nsecret = 0',
    "bits": 'mechanism = "geometric(epsilon=1)"\nunit = "bits"',
    "independent": 'mechanism = "geometric(epsilon=1)"\nadversary = "independent"',
    "design": 'task = "design"\ndistortion = 0.3',
    "dual": 'task = "design"\nleakage = 0.1',
    "calibrate": 'task = "calibrate"\nfamily = "geometric"\nleakage = 0.1',
}


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz")


@cache
def audits() -> list[str]:
    """Saved audits that differ in one respect or in several."""
    limits: list[Json] = [
        {"entropy": 1.0}, {"entropy": 1.2}, {"knowledge": 0.3}, {"adversary": "independent"},
        {"knowledge": 0.3, "reference": [0.7, 0.3]}, {"entropy": 1.0, "secret": 0}, {"entropy": 1.2, "unit": "bits"},
    ]  # fmt: skip
    return [json.dumps(content_of(dl.audit(m, **limit, **QUICK))) for m in (LOUD, QUIET) for limit in limits]


@cache
def designs() -> list[str]:
    """Saved designs against two adversaries, with two budgets, of two measures."""
    return [
        json.dumps(content_of(dl.design(QUERY, distortion=d, entropy=b, measure=measure, **QUICK)))
        for d in (0.1, 0.3)
        for b in (0.8, 1.2)
        for measure in ("absolute", "zero-one")
    ]


@cache
def saved() -> dict[str, str]:
    """Saved results that are made of several parts."""
    ledger = dl.Ledger(QUERY, knowledge=0.5, budget=0.3)
    ledger.release(dl.mechanisms.geometric(QUERY, epsilon=0.3))
    made: dict[str, Json] = {
        "curve": dl.curve(QUIET, entropies=[1.0, 1.2], tolerance=1e-2),
        "profile": QUIET.profile([1.0, 1.2], tolerance=1e-2),
        "calibration": dl.calibrate("geometric", QUERY, leakage=0.1, entropy=1.0, accuracy=0.2),
        "together": ledger.calibrate("geometric", QUERY, accuracy=0.2),
        "frontier": dl.frontier(QUERY, entropy=0.8, points=2, tolerance=1e-2),
        "beside": ledger.design(QUERY, tolerance=1e-2),
    }
    found = {}
    for name, result in made.items():
        result.save(Path(folder().name) / "r.json")
        found[name] = (Path(folder().name) / "r.json").read_text()
    return found


@cache
def answers() -> dict[str, list[tuple[Json, Json]]]:
    """Honest numbers and certificates of every point, by what is asked."""
    found = {}
    for name, fix in ASKED.items():
        path = Path(folder().name) / f"{name}.toml"
        path.write_text(STUDY.format(fix=fix))
        study = Study.load(path)
        entries = [running.answer((point.key, point.work)) for point in study.points]
        found[name] = [(entry.numbers, entry.certificate_data()) for entry in entries]
    return found


# Forgeries.


def edit(rng: random.Random, data: Json) -> None:
    """Change a number or a word that stands beside certificates."""
    key = rng.choice([key for key in data if key not in ("format", "version", "dalenius")])
    if isinstance(data[key], bool) or data[key] is None:
        data[key] = rng.choice([True, False, None, 0, "no"])
    elif isinstance(data[key], (int, float)):
        data[key] = rng.choice([data[key] * rng.uniform(0, 2), 0, -1.0, 5.0, math.inf, math.nan, None, True, "1"])
    elif isinstance(data[key], str):
        data[key] = rng.choice(["bits", "nats", "laplace", "geometric", "sigma", "gap", "count(n=3)", "count(n=2)", 3])
    elif isinstance(data[key], list) and data[key]:
        k = rng.randrange(len(data[key]))
        if isinstance(data[key][k], (int, float)):
            data[key][k] *= rng.uniform(0, 2)
        else:
            data[key] = rng.choice([data[key][::-1], data[key][:1], data[key] * 2, []])


def _many(data: Json, name: str) -> int:
    return len(data[name]) if isinstance(data.get(name), list) else 0  # a calibration counts its audits


def exchange(rng: random.Random, data: Json) -> None:
    """Put an honest part beside another question."""
    audit, design = json.loads(rng.choice(audits())), json.loads(rng.choice(designs()))
    if "certificate" in data:  # a design: what it releases
        data["labels"] = rng.choice([data["labels"][::-1], data["labels"][:1], ["a"] * len(data["labels"])])
        return
    places = [("leakage",)] if "leakage" in data else []
    places += [("independent",)] if "independent" in data else []
    places += [(name, k) for name in ("audits", "designs", "named") for k in range(_many(data, name))]
    for place in rng.sample(places, rng.choice([1, 1, len(places)])):
        if place[0] == "named":
            data["named"][place[1]]["leakage"] = audit
        elif place[0] == "designs":
            data["designs"][place[1]] = design
        elif place[0] == "audits":
            data["audits"][place[1]] = audit
        else:
            data[place[0]] = audit


# The judge.


@cache
def _audited(mechanism: str, query: str, against: str, secret: int | None) -> tuple[float, float]:
    limits = json.loads(against)
    kind = {"adversary": "independent"} if limits.pop("independent", False) else {}
    reference = {"reference": next(iter(known.values()))} if (known := limits.pop("reference", None)) else {}
    found = dl.audit(_named(mechanism, query), **limits, **kind, **reference, secret=secret, verify=False)
    return found.certificate.lower, found.certificate.upper


def _named(mechanism: str, query: str) -> dl.Mechanism:
    from dalenius.model.gallery.parse import parse_mechanism, parse_query

    return parse_mechanism(mechanism, parse_query(query))


def judge(audit: dl.Audit, mechanism: dl.Mechanism, adversary: Json = None, secret: object = None) -> None:
    """Assert that the bounds of an audit are true of a mechanism and an adversary."""
    against = json.dumps(adversary_data(adversary or audit.adversary))
    lower, upper = _audited(str(mechanism.name), str(mechanism.query), against, secret)
    nats = math.log(2) if audit.unit == "bits" else 1.0
    assert audit.lower * nats <= upper + NEAR, f"{audit}: at most {upper}"
    assert audit.upper * nats >= lower - NEAR, f"{audit}: at least {lower}"


def accepted(result: Json) -> None:
    """Assert that what a result shows is true of the question that it shows."""
    if isinstance(result, dl.Design):
        honest = json.loads(saved()["beside"])["certificate"]["audit"]["problem"]["rows"]
        assert np.allclose(result.leakage.mechanism.rows, honest, atol=NEAR)
    elif isinstance(result, dl.Frontier):
        first = result.designs[0]
        for design in result.designs:
            limit = {first.adversary.given: first.adversary.value}
            measure = {"absolute error": "absolute", "share of wrong answers": "zero-one"}[first.distortion_name]
            least, most = _designed(str(result.query), design.budget, json.dumps(limit), measure)
            assert design.lower <= most + NEAR
            assert design.upper >= least - NEAR
        for point in result.named:
            judge(point.leakage, _named(point.name, str(result.query)), first.adversary)
    elif isinstance(result, dl.Calibration):
        family = getattr(dl.mechanisms, result.family)
        judge(result.leakage, family(QUERY, **{result.parameter: result.value}))
        assert (result.together or (0.0, result.leakage.upper))[1] <= result.budget
    else:
        curve = result if isinstance(result, dl.Curve) else result.leakage
        first = curve.audits[0]
        for audit in curve.audits:
            judge(audit, first.mechanism, secret=first.secret)
            assert audit.unit == result.unit
        if curve is not result and result.independent is not None:
            assert result.independent.adversary.kind == "independent"
            judge(result.independent, result.mechanism)


@cache
def _designed(query: str, budget: float, limit: str, measure: str) -> tuple[float, float]:
    from dalenius.model.gallery.parse import parse_query

    found = dl.design(parse_query(query), distortion=budget, **json.loads(limit), measure=measure, tolerance=1e-3)
    return found.certificate.lower, found.certificate.upper


def of_file(rng: random.Random) -> str:
    name = rng.choice(sorted(saved()))
    data = json.loads(saved()[name])
    for forge in rng.choice([[edit], [exchange], [exchange], [exchange, edit], [edit, edit]]):
        forge(rng, data)
    path = Path(folder().name) / "forged.json"
    path.write_text(json.dumps(data))
    try:
        result = dl.load(path, verify=True)
    except dl.InputError as error:
        clear(error, path.name)
        return "refused"
    accepted(result)
    return "accepted"


def of_study(rng: random.Random) -> str:
    """Answers of one study in the store of another, or edited."""
    name = rng.choice(sorted(ASKED))
    pool = [one for listed in answers().values() for one in listed]
    path = Path(folder().name) / f"{name}.toml"
    stored = copy.deepcopy(answers()[name])
    for _ in range(rng.choice([0, 1, 1, 2])):
        k = rng.randrange(len(stored))
        numbers, certificate = stored[k]
        other, theirs = copy.deepcopy(rng.choice([*stored, *pool]))
        if rng.random() < 0.6:
            certificate = theirs
        if rng.random() < 0.7:
            numbers |= {key: value for key, value in other.items() if key in numbers or rng.random() < 0.2}
        if rng.random() < 0.4:
            edit(rng, numbers)
        stored[k] = numbers, certificate
    study = Study.load(path)
    study.store.unlink(missing_ok=True)
    with Store.open(study.store, study.name, study.source.text):
        pass
    with closing(sqlite3.connect(study.store)) as connection, connection:
        for point, (numbers, certificate) in zip(study.points, stored, strict=True):
            row = (point.key, "done", "", json.dumps(numbers), 0.1, packed(certificate))
            connection.execute("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?)", row)
    try:
        verdict = study.refreshed().verify()
    except dl.InputError as error:
        clear(error, study.store.name)
        return "refused"
    if not verdict:
        return "not verified"
    for (numbers, _), (honest, _) in zip(stored, answers()[name], strict=True):
        assert numbers["unit"] == honest["unit"]
        assert numbers["lower"] <= honest["upper"] + NEAR
        assert numbers["upper"] >= honest["lower"] - NEAR
        if name == "calibrate":
            assert numbers["value"] == honest["value"] or numbers["upper"] <= 0.1  # its budget
    return "verified"


def case(rng: random.Random) -> str:
    return of_file(rng) if rng.random() < 0.6 else of_study(rng)
