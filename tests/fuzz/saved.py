"""Saved results forged by a stranger: what dl.load shows as certified is what the certificate inside says.

Half of the cases change one field on purpose, to a value that looks right: a tighter bound beside the certificate or in
it, another secret, extremes and brackets that flatter. The rest are damaged at random. Whatever is
loaded must agree with the certificate in the file; `verify` of the file must agree too; anything else is an InputError.
"""

import copy
import json
import math
import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from cases import named, random_channel
from kinds import Json

import dalenius as dl
from dalenius.results.audit import Audit
from fuzz.certificates import CHANGES, as_bytes, cut, literal, repeat_key
from fuzz.inputs import clear

Forgery = Callable[[random.Random, Json], None]
UNITS = {"nats": 1.0, "bits": math.log(2)}
NEAR = 1e-9
LARGEST = 200_000  # bytes of a file
MARK = "(from the file)"


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz")


def path() -> Path:
    return Path(folder().name) / "saved.json"


@cache
def samples() -> dict[str, Json]:
    """Saved results of every kind, by name."""
    parity = named("modular_sum(n=2, modulus=2)", "symmetric(flip=0.1)")
    count = named("count(n=3)", "geometric(epsilon=1)")
    small, two = random_channel([2, 2], 3, 5), dl.queries.count(n=2)
    pairs = dl.queries.function([2, 2], lambda x: x[0] + 2 * x[1])
    quick: Json = {"tolerance": 1e-2, "time_limit": 3}
    ledger = dl.Ledger([2, 2, 2], entropy=1.0, tolerance=1e-2)
    ledger.release(count, name="first")
    ledger.release(named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.2)"))
    built = {
        "audit": dl.audit(parity, entropy=0.8, **quick),
        "bits": dl.audit(parity, entropy=1.2, unit="bits", **quick),
        "two records": dl.audit(small, knowledge=0.3, **quick),
        "group": dl.audit(small, knowledge=0.3, secret=[0, 1], **quick),
        "index": dl.audit(small, knowledge=0.3, secret=1, **quick),
        "function": dl.audit(small, knowledge=0.3, secret=lambda x: x[0] ^ x[1], unit="bits", **quick),
        "reference": dl.audit(count, knowledge=0.3, reference=[0.8, 0.2], **quick),
        "weights": dl.audit(small, knowledge=0.2, reference=[0.1, 0.2, 0.3, 0.4], **quick),
        "real": dl.audit(named("count(n=2)", "laplace(epsilon=1, output='real')"), entropy=0.5, **quick),
        "large": dl.audit(named("count(n=3000)", "geometric(epsilon=0.7)"), knowledge=0.2, **quick),
        "histogram": dl.audit(named("histogram(n=200, k=3)", "geometric(epsilon=1)"), knowledge=0.2, **quick),
        "paper": dl.audit(count, entropy=1.0, method="paper", time_limit=0.3),
        "design": dl.design(two, distortion=0.3, entropy=0.5, **quick),
        "dual design": dl.design(two, leakage=0.1, entropy=0.5, unit="bits", **quick),
        "table design": dl.design(two, distortion=0.3, knowledge=0.5, p0=[[0.5, 0.5], [0.3, 0.7]], **quick),
        "function's design": dl.design(pairs, distortion=0.3, knowledge=0.5, **quick),
        "paper design": dl.design(two, leakage=0.02, entropy=0.2, method="paper", time_limit=0.5),
        "ledger": ledger,
    }  # fmt: skip
    found = {}
    for name, result in built.items():
        result.save(path())
        found[name] = json.loads(path().read_text())
    return found


# Forgeries. Each takes the content of a saved result and changes it in place.


def parts(data: Json) -> list[Json]:
    """The result, and the audit inside a design."""
    return [data, data["leakage"]] if "leakage" in data else [data]


def stated(rng: random.Random, data: Json) -> None:
    """What the certificate says, said again and perhaps otherwise."""
    certificate, part = data["certificate"], rng.choice(parts(data))
    key = rng.choice(["upper", "lower", "adversary", "mechanism", "record", "budget", "goal", "distortion"])
    part[key] = {
        "upper": rng.uniform(0, 1) * certificate["upper"],
        "lower": rng.choice([0.0, certificate["lower"], 1.0]),
        "adversary": {"given": rng.choice(["entropy", "knowledge"]), "value": rng.choice([None, 0.0, rng.random()])},
        "mechanism": rng.choice([certificate["problem"], {"query": "count(n=9)", "mechanism": "constant()"}, 7]),
        "goal": rng.choice(["leakage", "distortion", 3]),
    }.get(key, rng.choice([None, 0, 1, 2, -1, True, 0.3]))


def inside(rng: random.Random, data: Json) -> None:
    """A false bound in the certificate: nothing contradicts it but the proof."""
    certificate = data["certificate"]
    certificate["upper"] = rng.uniform(certificate["lower"], certificate["upper"])


def secret(rng: random.Random, data: Json) -> None:
    part = parts(data)[-1]
    what = rng.randrange(4)
    if what <= 1:
        part["names"] = rng.choice(
            [["0"], ["a", "b"], ["a", "b", "c"], "ab", [], [0, 1], ["\x1b[2J", "x\nLeakage    0"]]
        )
    elif what == 2:
        data["certificate"].get("audit", data["certificate"])["secret"] = rng.choice(
            [{"kind": "records", "records": [0]}, {"kind": "function", "values": [0, 1, 1, 0]}, {}]
        )
    else:
        data["certificate"].pop("secret", None)


def labels(rng: random.Random, data: Json) -> None:
    found = data.get("labels", [0])
    data["labels"] = rng.choice([found[::-1], ["\x1b[31m\n"] * len(found), [None], "abc"])


def flattery(rng: random.Random, data: Json) -> None:
    """What certificates do not carry."""
    part = parts(data)[-1]
    key = rng.choice(
        ["extremes", "orbits", "seconds", "stopped", "tolerance", "bounds", "proved", "history", "nodes", "unit"]
    )
    if key == "orbits":
        orbit = rng.choice(part["orbits"])
        inner = rng.choice(["lower", "upper", "records", "range"])
        orbit[inner] = rng.choice(
            [0.0, orbit["upper"] * rng.random(), [0], [0, 1], [None], [1, 0], [0, 10**30], True, []]
        )
    elif key == "extremes":
        part["extremes"] = rng.choice(
            [[0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [None] * 3, [1e308] * 3, [0.0], None, [rng.random()] * 3]
        )
    else:
        part[key] = rng.choice(
            [0, -1, 1e300, "gap", "both", "upper", "bits", "nats", "\x1b[31m", [[0, 0, 1, 1, 1, 1]], 10**400, None]
        )


def task(rng: random.Random, data: Json) -> None:
    """What a design was asked for."""
    key = rng.choice(["query", "distortion_name", "reported", "rounds", "proved"])
    data[key] = rng.choice([0.0, 0.5, "distortion", "count(n=3)", "squared error", "\x1b]0;", "both", 10**400, {}])


def book(rng: random.Random, data: Json) -> None:
    """A ledger."""
    key = rng.choice(
        ["lower", "upper", "bound", "added", "entropy_left", "releases", "unit", "name", "capacity", "records"]
    )
    value = rng.choice(
        [0.0, 1e-9, 5.0, 1e308, -1.0, "trivial", "audit", [1.0, 0.0], 10**400, None, "\x1b[2J\n", [2, 2], True, 3]
    )
    if key in ("name", "capacity"):
        rng.choice(data["releases"])[key] = value
    elif key == "records":
        data[key] = value
    else:
        data["account"][key] = value


def forgeries(data: Json) -> list[Forgery]:
    if data["format"] == "dalenius/ledger":
        return [book]
    return [stated, inside, secret, labels, flattery, *([task, task] if "rounds" in data else [])]


# The judge.


def in_unit(certificate: Json, nats: float) -> tuple[float, float]:
    """The bounds of a certificate, rounded outward."""
    low, high = float(certificate["lower"]), float(certificate["upper"])
    return (
        (low, high)
        if nats == 1
        else (max(0.0, math.nextafter(low / nats, -math.inf)), math.nextafter(high / nats, math.inf))
    )


def judge_audit(audit: Audit, certificate: Json) -> None:
    """Assert that an audit shows what the certificate states."""
    assert (audit.lower, audit.upper) == in_unit(certificate, UNITS[audit.unit])
    assert audit.lower <= audit.upper
    problem = {key: value for key, value in certificate["problem"].items() if key != "quadrature"}
    assert audit.mechanism.describe() == problem
    limits = {key: value for key, value in certificate["adversary"].items() if key != "reference"}
    assert {audit.adversary.given: audit.adversary.value} == limits
    expected = type(audit.adversary).from_user(audit.mechanism.records, **limits, reference=audit.reference)
    assert math.isclose(audit.adversary.knowledge, expected.knowledge, rel_tol=NEAR, abs_tol=NEAR)
    assert math.isnan(expected.entropy) or math.isclose(
        audit.adversary.entropy, expected.entropy, rel_tol=NEAR, abs_tol=NEAR
    )
    assert audit.reference.describe() == certificate["adversary"].get("reference", {})
    stated = certificate.get("secret", {})
    if "secret" in certificate:
        shown = audit.to_dict()["secret"]
        of_records = stated["kind"] == "records"
        assert shown == stated["records"] if of_records else audit.secret.values.tolist() == stated["values"]
    else:
        assert audit.secret is None
        assert audit.record == certificate["witness"]["record"]
        assert sorted(i for r in audit.records if (i := r.record) is not None) == list(range(audit.mechanism.n))
    assert all(0 <= r.lower <= r.upper <= audit.upper + NEAR for r in audit.records[:50])
    assert audit.closed or audit.stopped != "gap"


def judge_table(design: Json, table: Json) -> None:
    """Assert that words beside a table of distortions are marked, and that a named query has those distortions."""
    text, name = design.summary(), design.distortion_name
    assert text.splitlines()[0].endswith(MARK)
    assert name == "distortion" or f"expected {name} {MARK}" in text
    if design.query.named and name != "distortion":
        of = {"absolute error": lambda e: e, "squared error": lambda e: e * e}.get(name, lambda e: float(e != 0))
        distances = design.query.distance()[design.query.statistic.class_table()]
        assert [[of(e) for e in row] for row in distances.tolist()] == table


def shown(result: Json) -> None:
    """Assert that reports have no control characters and say what is from the file."""
    for text in (result.summary(), repr(result)):
        assert all(c.isprintable() or c == "\n" for c in text), f"control characters in {text!r}"
    lines = {line[:11].strip(): line for line in result.summary().splitlines()}
    for heading in ("Compare", "Stopped") if hasattr(result, "certificate") else ("Leaked", "Added", "Left"):
        assert heading not in lines or lines[heading].endswith(MARK), f"{lines[heading]!r} is not marked"


def load(content: bytes) -> str:
    path().write_bytes(content)
    ledger = b'"dalenius/ledger"' in content
    try:
        result: Any = dl.Ledger.load(path()) if ledger else dl.load(path())
    except dl.InputError as error:
        return clear(error, path().name)
    shown(result)
    if ledger:
        account = result.account()
        assert 0 <= account.lower <= account.upper
        assert account.loaded
        return "loaded"
    assert result.loaded
    assert result.verified is None
    certificate = json.loads(content)["certificate"]
    if isinstance(result, Audit):
        judge_audit(result, certificate)
    else:
        judge_audit(result.leakage, certificate.get("audit", certificate))
        assert result.mechanism.describe() == result.leakage.mechanism.describe()
        if result.kept:
            nats = UNITS[result.unit]
            assert (result.lower, result.upper) == in_unit(certificate, nats if result.goal == "leakage" else 1.0)
            assert certificate["budget"] == (
                {"distortion": result.budget} if result.goal == "leakage" else {"leakage": result.budget * nats}
            )
            assert result.distortion == certificate["distortion"]
            assert certificate["problem"].get("query", str(result.query)) == str(result.query)
            if "query" not in certificate["problem"]:
                judge_table(result, certificate["problem"]["distortion"])
        else:
            assert (result.proved, result.lower) == ("upper", 0)
    return verified(result)


def verified(result: Json) -> str:
    """The file and the certificate have one verdict, and verify=True loads what verifies only."""
    file, alone = dl.verify(path()), dl.verify(result.certificate)
    if file.reason.startswith("not valid JSON: Unexpected UTF-8 BOM"):  # the verifier reads plain UTF-8 alone
        return "loaded, marked as UTF-8"
    # A file that says again what its certificate says is read, but not verified.
    again_said = "beside its certificate" in file.reason
    assert bool(file) == bool(alone) or again_said, f"the file: {file.reason}; its certificate: {alone.reason}"
    try:
        again = dl.load(path(), verify=True)
    except dl.InputError:
        again = None
    assert (again is not None and again.verified is True) == bool(alone), alone.reason
    return "loaded and verified" if alone else "loaded, not verified"


def case(rng: random.Random) -> str:
    data = copy.deepcopy(samples()[rng.choice(sorted(samples()))])
    forged = rng.random() < 0.6
    for _ in range(rng.choice([1, 1, 2])):
        (rng.choice(forgeries(data)) if forged else rng.choice([c for c in CHANGES if c.__name__ != "replace"]))(
            rng, data
        )
    text = json.dumps(data)
    if rng.random() < 0.1:
        text = rng.choice([literal, repeat_key, cut])(rng, text)
    content = bytearray(as_bytes(rng, text[:LARGEST]))
    if not forged and rng.random() < 0.5:
        content[rng.randrange(len(content))] = rng.randrange(256)
    return load(bytes(content))
