import json
import math
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command_line import command

import dalenius as dl
from dalenius.model.gallery import mechanisms, queries
from dalenius.verifier.__main__ import main as alone

GOOD = {
    "verified": True,
    "lower": 0.07372611,
    "upper": 0.07372612,
    "reason": "Both bounds hold.",
    "problem": "symmetric(flip=0.3) of modular_sum(n=4, modulus=2), H(X) >= 2.2",
    "seconds": 0.01,
    "quantity": "L",
    "unit": "nats",
    "confidence": None,
    "rested_on": "kernel",
}
KEYS = ["verified", "lower", "upper", "reason", "problem", "quantity", "unit", "confidence", "rested_on", "seconds"]
FORGED = {**GOOD, "verified": False, "lower": math.nan, "upper": math.inf, "reason": "The prior attains only 0.07."}


class Verifier:
    """Stands for the verifier: reads the file, and answers what it was told to."""

    def __init__(self) -> None:
        self.answer: dict[str, Any] = GOOD
        self.asked: list[object] = []
        self.limits: dict[str, object] = {}

    def verify(self, path: Path, mechanism: object = None, **limits: object) -> SimpleNamespace:
        path.read_bytes()
        self.asked, self.limits = [path, mechanism], limits
        return SimpleNamespace(**self.answer)


@pytest.fixture
def verifier(monkeypatch: pytest.MonkeyPatch) -> Verifier:
    stand_in = Verifier()
    module = SimpleNamespace(verify=stand_in.verify)
    monkeypatch.setitem(sys.modules, "dalenius.verifier.verify", module)
    return stand_in


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "c.json"
    path.write_text("{}")
    return path


run = partial(command, "verify")


@pytest.mark.usefixtures("verifier")
def test_a_sound_certificate_says_what_it_proves(certificate: Path) -> None:
    result = run(certificate)
    assert result.exit_code == 0
    assert "modular_sum(n=4, modulus=2), H(X) >= 2.2" in result.stdout
    assert "0.073726 <= L <= 0.073727 nats" in result.stdout
    assert "VERIFIED in 0.01 s: Both bounds hold." in result.stdout
    assert "NOT" not in result.stdout


@pytest.mark.parametrize(
    ("quantity", "unit", "words"),
    [
        ("eps(D,b)", "nats", "0.073726 <= eps(D,b) <= 0.073727 nats\n"),
        ("D(L,b)", "", "0.073726 <= D(L,b) <= 0.073727\n"),
    ],
)
def test_the_bounds_are_those_of_the_quantity(
    verifier: Verifier, certificate: Path, quantity: str, unit: str, words: str
) -> None:
    verifier.answer = {**GOOD, "quantity": quantity, "unit": unit}
    assert words in run(certificate).stdout


def constant_design() -> dict[str, Any]:
    """The constant mechanism leaks nothing and has the least distortion of those that leak nothing: 1/2."""
    audit = {
        "format": "dalenius/audit-certificate", "version": 2, "form": "rows",
        "adversary": {"entropy": 0.5}, "lower": 0.0, "upper": 0.0,
        "problem": {"query": "count(n=2)", "rows": [[0.0, 1.0, 0.0]] * 3},
        "witness": {"record": 0, "kind": "masses", "masses": [[1, 1, 0], [0, 1, 1]]},
        "proofs": [{"record": 0, "upper": 0.0, "kind": "trivial"}],
    }  # fmt: skip
    return {
        "format": "dalenius/design-certificate", "version": 2,
        "problem": {"query": "count(n=2)", "distribution": "uniform", "distortion": "absolute"},
        "adversary": {"entropy": 0.5}, "budget": {"leakage": 0.0}, "pool": [],
        "lower": 0.0, "upper": 0.5000001, "distortion": 0.5000001, "audit": audit,
    }  # fmt: skip


def test_a_design_certificate_is_checked(certificate: Path, tmp_path: Path) -> None:
    certificate.write_text(json.dumps(constant_design()))
    result = run(certificate)
    assert result.exit_code == 0
    assert "0.000000 <= D(L,b) <= 0.500001\n" in result.stdout
    assert "the mechanism is a channel of expected distortion at most 0.5000001" in result.stdout
    content = json.loads(run(certificate, "--json").stdout)
    assert list(content) == KEYS
    dl.Mechanism.from_rows(queries.count(n=2), [[0.0, 1.0, 0.0]] * 3).save(tmp_path / "m.json")
    assert run(certificate, "--mechanism", tmp_path / "m.json").exit_code == 0
    mechanisms.constant(queries.count(n=2)).save(tmp_path / "m.json")
    assert run(certificate, "--mechanism", tmp_path / "m.json").exit_code == 1
    certificate.write_text(json.dumps({**constant_design(), "upper": 0.4, "distortion": 0.4}))
    result = run(certificate)
    assert result.exit_code == 1
    assert "NOT VERIFIED: the mechanism has expected distortion 0.5" in result.stdout


def test_a_forged_certificate_is_exit_code_1(verifier: Verifier, certificate: Path) -> None:
    verifier.answer = FORGED
    result = run(certificate)
    assert result.exit_code == 1
    assert "NOT VERIFIED: The prior attains only 0.07" in result.stdout
    assert "<= L <=" not in result.stdout


@pytest.mark.parametrize(("answer", "code"), [(GOOD, 0), (FORGED, 1)])
def test_json_has_the_agreed_keys(verifier: Verifier, certificate: Path, answer: dict[str, Any], code: int) -> None:
    verifier.answer = answer
    result = run(certificate, "--json")
    assert result.exit_code == code
    content = json.loads(result.stdout)
    assert list(content) == KEYS
    assert content["verified"] is answer["verified"]
    assert content["lower"] == (None if code else GOOD["lower"])
    assert result.stderr == ""


def test_the_mechanism_reaches_the_verifier(verifier: Verifier, certificate: Path, tmp_path: Path) -> None:
    mechanisms.geometric(queries.count(n=3), epsilon=1).save(tmp_path / "m.json")
    assert run(certificate, "--mechanism", tmp_path / "m.json").exit_code == 0
    assert "geometric(epsilon=1)" in repr(verifier.asked[1])


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", "\x00", '{"lower": NaN}', "[" * 100_000], ids=lambda text: repr(text[:9])
)
def test_the_real_verifier_refuses_what_is_no_certificate(text: str, certificate: Path) -> None:
    certificate.write_text(text)
    result = run(certificate, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["verified"] is False
    assert result.stderr == ""
    assert "NOT VERIFIED: " in run(certificate).stdout


def test_of_several_releases_a_mechanism_is_given_for_each(tmp_path: Path) -> None:
    ledger = dl.Ledger(columns={"a": 3, "b": 2}, n=1, adversary="independent")
    for k, column in ((3, "a"), (2, "b")):
        released = mechanisms.symmetric(queries.identity(k), flip=0.2)
        released.save(tmp_path / f"{column}.json")
        certificate = ledger.release(released, columns=[column]).certificate
    assert certificate is not None
    certificate.save(tmp_path / "c.json")
    a, b = (["--mechanism", str(tmp_path / f"{name}.json")] for name in "ab")
    right = run(tmp_path / "c.json", *b, *a)
    assert right.exit_code == alone([str(tmp_path / "c.json"), *a, *b]) == 0
    assert "release 1: symmetric(flip=0.2) of identity(k=3), of 'a'; release 2:" in right.stdout
    wrong = run(tmp_path / "c.json", *a, *a)
    assert wrong.exit_code == 1
    assert "is about another channel than mechanism 2" in wrong.stdout


def test_the_mechanism_that_a_saved_design_releases_comes_back(tmp_path: Path) -> None:
    query = queries.count(n=2)
    ledger = dl.Ledger(query, knowledge=0.5, budget=0.3)
    ledger.release(mechanisms.geometric(query, epsilon=0.3))
    made = ledger.design(query, tolerance=1e-2, time_limit=2)
    made.save(tmp_path / "d.json")
    assert run(tmp_path / "d.json").exit_code == 0
    assert np.array_equal(dl.load(tmp_path / "d.json").mechanism.rows, made.mechanism.rows)
