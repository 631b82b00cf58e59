"""Certificates of one record through a symmetric channel: forged ones are refused."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from flint import arb
from kinds import Json
from large_samples import both_symmetric
from verdicts import refused

import dalenius as dl
from dalenius.verifier.forms.per_record import capacity
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.verify import verify_here


def certificate(mechanism: str = "symmetric(flip=0.2)", query: str = "identity(k=4)", **options: Json) -> Json:
    large, _ = both_symmetric(mechanism, query)
    return json.loads(dl.audit(large, **(options or {"knowledge": 0.3})).certificate.text())


def claim(data: Json, **values: float) -> None:
    data.update(values)
    data["proofs"][0]["upper"] = data["upper"]


FORGERIES: list[tuple[Callable[[Json], object], str]] = [
    (lambda c: c.update(lower=c["lower"] + 1e-11), "less than the claimed lower bound"),
    (lambda c: claim(c, lower=0.5, upper=c["upper"] - 2e-11), "proof of record 0"),
    (lambda c: c["problem"].update(mechanism="symmetric(flip=0.21)"), "less than the claimed"),
    (lambda c: c["problem"].update(mechanism="symmetric(flip=0.19)"), "proof of record 0"),
    (lambda c: c["problem"].update(mechanism="symmetric(flip=1.2)"), "flip"),
    (lambda c: c["problem"].update(query="identity(k=5)"), "proof of record 0"),
    (lambda c: c["problem"].update(query="identity(k=1)"), "not for symmetric of identity"),
    (lambda c: c["problem"].update(query="count(n=1)"), "not for symmetric of count"),
    (lambda c: c["problem"].update(query="count(n=3)"), "not for symmetric of count"),
    (lambda c: c["witness"].update(kind="masses"), "which is none of part, uniform"),
    (lambda c: c["proofs"][0].update(kind="maximal"), "none of trivial, reference"),
    (
        lambda c: c["adversary"].update(reference={"marginal": [0.4, 0.2, 0.2, 0.2]}),
        "for the uniform prior as the reference",
    ),
]


@pytest.mark.parametrize(("forge", "says"), FORGERIES)
def test_forgeries_are_refused_with_the_place(forge: Callable[[Json], object], says: str) -> None:
    data = certificate()
    assert data["witness"] == {"record": 0, "kind": "uniform"}
    assert data["proofs"][0]["kind"] == "symmetric"
    assert verify_here(data)
    forge(data)
    refused(data, says)


def test_a_secret_that_is_a_function_is_refused() -> None:
    data = certificate(knowledge=0.3, secret=0)
    assert verify_here(data)
    data["secret"] = {"kind": "function", "values": [0, 0, 1, 1]}
    assert "is asked about records" in verify_here(data).reason


def test_an_uniform_witness_of_another_release_is_refused() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1)
    data = json.loads(dl.audit(mechanism, knowledge=0.3).certificate.text())
    data["witness"], data["form"] = {"record": 0, "kind": "uniform"}, "per-record"
    assert "that treat each by itself, not for geometric" in verify_here(data).reason
    data["problem"]["mechanism"] = "randomized_response(epsilon=1)"
    assert "a uniform witness is for one record" in verify_here(data).reason


def test_no_prior_leaks_more_than_the_formula() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        k, kept = int(rng.integers(2, 9)), float(rng.choice([0.0, 1.0, rng.random()]))
        other = (1 - kept) / (k - 1)
        rows = np.where(np.eye(k) > 0, kept, other)
        prior = rng.dirichlet(np.full(k, rng.choice([0.1, 1.0, 100.0])))
        joint, out = prior[:, None] * rows, prior @ rows
        held = joint > 1e-300
        told = float((joint[held] * np.log((rows / np.where(out > 0, out, 1.0))[held])).sum())
        with precision():
            assert told <= float(capacity(k, arb(kept), arb(other))) + 1e-12
