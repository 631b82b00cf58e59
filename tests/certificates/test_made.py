"""What this process has made itself is checked here, and everything else in a child."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dalenius as dl
from dalenius.certificates import certificate as certificates
from dalenius.certificates.certificate import Certificate
from dalenius.results.audit import Audit
from dalenius.tools import many
from dalenius.verifier import verify as verifier

MECHANISM = dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where certificates were checked, in the order of the checks."""
    found: list[str] = []
    child, here = verifier.verify, verifier.verify_here

    def there(*arguments: Any, **options: Any) -> verifier.Verification:
        found.append("child")
        return child(*arguments, **options)

    def in_process(*arguments: Any, **options: Any) -> verifier.Verification:
        found.append("here")
        return here(*arguments, **options)

    monkeypatch.setattr(verifier, "verify", there)
    monkeypatch.setattr(verifier, "verify_here", in_process)
    return found


def audit() -> Audit:
    return dl.audit(MECHANISM, knowledge=0.2, tolerance=1e-3, verify=False)


def test_what_a_solver_returned_is_checked_here(places: list[str]) -> None:
    found = audit()
    assert all([dl.verify(found), dl.verify(found.certificate, MECHANISM), found.verify()])
    design = dl.design(dl.queries.modular_sum(n=2, modulus=2), distortion=0.1, entropy=0.5, verify=False)
    assert all([design.verify(), dl.verify(design.leakage)])
    assert set(places) == {"here"}


def edited(certificate: Certificate) -> Certificate:
    """The same object with other content."""
    certificate.data["proofs"][0]["upper"] += 1e-9
    return certificate


def unwritable(certificate: Certificate) -> Certificate:
    """The same object with content that no file can have."""
    certificate.data["lower"] = object()
    return certificate


@pytest.mark.parametrize(
    "taken",
    [
        lambda certificate: certificate.data,
        lambda certificate: Certificate(certificate.data),
        lambda certificate: Certificate.of(json.loads(certificate.text())),
        lambda certificate: pickle.loads(pickle.dumps(certificate)),
        copy.copy,
        copy.deepcopy,
        edited,
        unwritable,
    ],
)
def test_what_came_another_way_is_checked_in_a_child(places: list[str], taken: Callable[[Certificate], object]) -> None:
    found = audit()
    given = taken(found.certificate)
    assert dl.verify(given).verified == (taken not in (edited, unwritable))
    assert places == ["child"]


def test_a_loaded_result_is_checked_in_a_child(places: list[str], tmp_path: Path) -> None:
    audit().save(tmp_path / "audit.json")
    loaded = dl.load(tmp_path / "audit.json")
    assert isinstance(loaded, Audit)
    assert loaded.verify()
    assert places == ["child"]


def test_an_edit_that_was_undone_is_none(places: list[str]) -> None:
    found = audit()
    upper = found.certificate.data["upper"]
    found.certificate.data["upper"] = 0.0
    assert not certificates.made_here(found.certificate)
    found.certificate.data["upper"] = upper
    assert dl.verify(found)
    assert places == ["here"]


def test_what_is_forgotten_makes_room() -> None:
    found = audit()
    key = id(found.certificate)
    assert key in certificates._digests
    del found
    assert key not in certificates._digests


class Worker:
    """A worker process, as far as answers arrive from one: as other objects."""

    def call(self, function: Callable[[Any], Any], given: object) -> Any:
        return pickle.loads(pickle.dumps(function(given)))

    def end(self) -> None:
        pass

    close = end


def test_answers_of_our_own_workers_are_ours(places: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "Helper", Worker)
    monkeypatch.setattr(many._Many, "_work", lambda _: None)  # all is left to the worker
    mechanisms = [MECHANISM] * (many.PART + 1)
    audits = dl.audit_many(mechanisms, knowledge=0.2, tolerance=1e-2, jobs=2, verify=True)
    assert audits[-1].verified  # there, and this process takes their word
    places.clear()
    assert dl.verify(audits[-1])
    assert places == ["here"]
