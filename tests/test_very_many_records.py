"""Counts and totals of more records than there are answers to list."""

from typing import Any

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.model import counting
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.settings import without
from dalenius.verifier.verify import verify_here

N = 10**8
# Windows and laws of outputs are not for classes near the mean alone.
FORMULAS = dl.Settings(portfolio=without("window"))


def noisy(n: int, epsilon: float = 1.0) -> dl.Mechanism:
    return dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=epsilon)


@pytest.mark.parametrize(("n", "reference"), [(10**7, None), (10**7, [0.97, 0.03])])
def test_so_many_records_are_answered_and_checked(n: int, reference: list[float] | None) -> None:
    audit = dl.audit(noisy(n), knowledge=0.1, reference=reference, verify=True)
    assert audit.verified
    assert audit.stopped == "gap"
    assert 0.1 < audit.lower <= audit.upper < 0.1005
    assert audit.prior.leakage() == pytest.approx(audit.lower, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "asked"),
    [
        ("geometric(epsilon=1)", {"knowledge": 0.5, "relative": 0.05}),
        ("geometric(epsilon=1)", {"knowledge": 0.1, "reference": [0.97, 0.03], "relative": 0.05}),
        ("geometric(epsilon=1)", {"knowledge": 0.5, "secret": [0, 1], "relative": 0.05}),
        ("gaussian(sigma=300)", {"knowledge": 0.5, "relative": 0.02}),
        ("geometric(epsilon=0.1)", {"adversary": "independent", "reference": [0.97, 0.03]}),
    ],
)
def test_answers_that_are_not_listed_tell_what_listed_ones_tell(
    mechanism: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def audit() -> dl.Audit:
        query = parse_query("count(n=6000)")
        return dl.audit(parse_mechanism(mechanism, query), **asked, verify=False, settings=FORMULAS, time_limit=600)

    listed = audit()
    monkeypatch.setattr(counting, "MOST_CLASSES", 6_000)
    near = audit()
    assert verify_here(near.certificate.data).verified
    assert near.lower <= listed.upper
    assert listed.lower <= near.upper
    assert near.lower == pytest.approx(listed.lower, rel=5e-2)
    assert near.upper == pytest.approx(listed.upper, rel=5e-2)


@pytest.mark.parametrize("n", [1000, N])
def test_independent_records_leak_the_same_whatever_their_number(n: int) -> None:
    audit = dl.audit(noisy(n), adversary="independent", verify=True)
    assert audit.verified
    assert audit.upper == pytest.approx(0.1109440717, abs=1e-9)
    assert audit.prior.leakage() == pytest.approx(audit.lower, abs=1e-9)
    assert audit.prior.divergence() == pytest.approx(0, abs=1e-9)
    assert "sum = " in audit.summary()


def test_totals_of_any_number_of_records_are_for_independent_ones() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.total(n=10**7, values=[0, 1, 2]), epsilon=1)
    assert dl.audit(mechanism, adversary="independent", verify=True).verified
    refuses('adversary="independent" needs no list', dl.audit, mechanism, knowledge=0.5)


def test_others_that_follow_a_reference_exactly() -> None:
    audit = dl.audit(noisy(10**6), adversary="independent", reference=[0.97, 0.03], verify=True)
    many = dl.audit(noisy(10**7), adversary="independent", reference=[0.97, 0.03], verify=True)
    assert audit.verified
    assert many.verified
    assert many.upper == pytest.approx(audit.upper / 10, rel=1e-3)


def test_saved_answers_load(tmp_path: object) -> None:
    path = f"{tmp_path}/many.json"
    audit = dl.audit(noisy(10**7), knowledge=0.1, verify=False)
    audit.save(path)
    loaded = dl.load(path, verify=True)
    assert loaded.verified
    np.testing.assert_allclose(loaded.prior.masses.sum(), 1)
    assert loaded.prior.leakage() == pytest.approx(audit.prior.leakage(), rel=1e-3)


def test_what_else_is_asked_of_them() -> None:
    mechanism, few = noisy(N), noisy(1000)
    assert mechanism.dp_epsilon() == pytest.approx(1.0)
    assert mechanism.dp_delta(0.5) == pytest.approx(few.dp_delta(0.5))
    assert mechanism.expected_distortion() == pytest.approx(few.expected_distortion(), rel=1e-9)
    assert mechanism.log_most_likely() == pytest.approx(np.log(1e8 * np.tanh(0.5)), rel=1e-7)
    assert "never listed" in mechanism.query._repr_html_()
    refuses("needs no list", dl.mechanisms.exact, mechanism.query)
    refuses("needs no list", lambda: mechanism.query.labels)
    refuses("too many to write out", mechanism.matrix)
