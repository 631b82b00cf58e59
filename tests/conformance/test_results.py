"""Every kind of result x the same laws: it comes back from a file and from another process, and is plain JSON."""

import json
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import named, random_channel

import dalenius as dl
from dalenius.report.text import BY_FILE, UNCHECKED
from dalenius.settings import without

M, Q = dl.mechanisms, dl.queries
TWO, COUNT = Q.count(n=2), M.geometric(Q.count(n=4), epsilon=1)
SMALL, PARITY = random_channel([2, 3], 3, 8), named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.1)")
RESPONSE, LARGE = M.randomized_response(Q.count(n=2), epsilon=1), M.symmetric(Q.identity(k=3000), flip=0.25)
REAL, TIED = M.gaussian(TWO, sigma=1, output="real"), M.laplace(Q.histogram(n=90, k=5), epsilon=1)
SAMPLED = dl.Mechanism.from_samples({a: np.random.default_rng(a).integers(0, 3, 500) for a in range(3)}, TWO)
QUICK: dict[str, Any] = {"tolerance": 1e-2, "time_limit": 5}
PAPER: dict[str, Any] = {"method": dl.paper.Method(starts=2, design_starts=1, check_starts=1)}
VECTORS = np.array([[0, 2], [1, 1], [2, 0]])
MIXED = [[0.8, 0.2], [0.5, 0.5]]


def audit(mechanism: dl.Mechanism, **asked: Any) -> dl.Audit:
    return dl.audit(mechanism, **{"knowledge": 0.3, **QUICK, **asked})


def ledger() -> dl.Ledger:
    book = dl.Ledger(PARITY.query, entropy=1.0, tolerance=1e-2)
    book.release(PARITY, name="parity of March")
    return book


def beside() -> dl.Design:
    book = dl.Ledger(TWO, knowledge=0.5, budget=0.1, tolerance=1e-3)
    book.release(dl.Mechanism.from_matrix([[0.5, 0.5], [0.6, 0.4], [0.5, 0.5], [0.7, 0.3]], records=[2, 2]))
    return book.design(TWO, **QUICK)


def calibrated() -> dl.Calibration:
    book = dl.Ledger(TWO, knowledge=0.5, budget=0.1, tolerance=1e-3)
    book.release(M.geometric(TWO, epsilon=0.2))
    return book.calibrate("geometric", TWO, accuracy=0.1)


# How to make it, and what its summary must hold.
RESULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "audit": (lambda: audit(SMALL, entropy=1.2, knowledge=None), "H(X) >= 1.2"),
    "bits": (lambda: audit(SMALL, unit="bits"), "bits"),
    "relative": (lambda: audit(SMALL, relative=0.1, tolerance=1e-9), "within 10 % of the upper bound"),
    "group": (lambda: audit(PARITY, secret=[0, 1]), "records 0 and 1 together, 4 values"),
    "function": (lambda: audit(PARITY, secret=lambda x: x[0] == x[1]), "a function of the dataset with 2 values: True"),
    "index": (lambda: audit(COUNT, secret=3), "record 3; other records were not audited"),
    "law": (lambda: audit(RESPONSE, reference=[0.8, 0.2]), "independent records with law 0.8,0.2 each"),
    "laws": (lambda: audit(RESPONSE, reference=MIXED), "independent records, each with its own law"),
    "weights": (lambda: audit(RESPONSE, reference=[0.4, 0.3, 0.2, 0.1]), "given weights of the data"),
    "independent": (lambda: dl.audit(COUNT, adversary="independent"), "independent"),
    "independent, knowing": (lambda: audit(COUNT, adversary="independent"), "independent"),
    "independent, law": (lambda: dl.audit(COUNT, adversary="independent", reference=[0.9, 0.1]), "independent"),
    "listed priors": (lambda: dl.audit(SMALL, adversary=[[1 / 6] * 6, [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]]), "listed prior"),
    "real outputs": (lambda: audit(REAL), "output='real'"),
    "real records": (lambda: audit(M.gaussian(Q.real_mean(2, 0, 10), sigma=5), knowledge=0.1,
                                   reference=([0, 5, 10], [0.3, 0.7]), tolerance=3e-2, secret=1), "real-valued"),
    "samples": (lambda: audit(SAMPLED), "confidence"),
    "never written out": (lambda: audit(M.geometric(Q.count(n=5000), epsilon=1), relative=0.3,
                                        settings=dl.Settings(portfolio=without("monotone", "window"))), "10^1505 data"),
    "tie": (lambda: audit(TIED, relative=0.5), "ties every value of the record to its own count"),
    "very many values": (lambda: dl.audit(LARGE, entropy=0.0), "identity(k=3000)"),
    "very many values, one secret": (lambda: audit(LARGE, secret=0), "identity(k=3000)"),
    "paper": (lambda: audit(PARITY, **PAPER), "paper"),
    "curve": (lambda: dl.curve(COUNT, [0.5, 1.0], unit="bits", **QUICK), "bits"),
    "curve of samples": (lambda: dl.curve(SAMPLED, knowledges=[0.1, 0.2], **QUICK), "with confidence 0.999"),
    "design": (lambda: dl.design(Q.histogram(n=2, k=2), distortion=0.6, knowledge=0.3, outputs=VECTORS, **QUICK), ""),
    "dual": (lambda: dl.design(TWO, leakage=0.1, entropy=0.5, unit="bits", **QUICK), "bits"),
    "design with a law": (lambda: dl.design(TWO, leakage=0.1, knowledge=0.4, reference=[0.8, 0.2], **QUICK),
                          "beyond the reference"),
    "design of a function": (lambda: dl.design(Q.function([2, 2], lambda x: x[0] + x[1]), distortion=0.3, entropy=0.5,
                                               **QUICK), ""),
    "design beside others": (beside, "together with an earlier release of"),
    "design of the paper": (lambda: dl.design(Q.modular_sum(n=2, modulus=2), distortion=0.1, entropy=0.5, **PAPER),
                            "the alternation reports"),
    "budget not kept": (lambda: dl.design(Q.modular_sum(n=2, modulus=2), leakage=0.1, entropy=0.0, **PAPER,
                                          repairs=("gradient", "escort", "hinge", "penalty_owner")), "exceeds its"),
    "frontier": (lambda: dl.frontier(TWO, entropy=0.5, points=2, **QUICK), ""),
    "calibration": (calibrated, "together with what was released before"),
    "profile": (lambda: COUNT.profile([1.0, 1.1], **QUICK), "believes that records are independent"),
    "profile of no noise": (lambda: M.symmetric(TWO, flip=0).profile([1.0], **QUICK), "epsilon"),
    "profile of a law": (lambda: M.geometric(TWO, epsilon=1).profile(reference=[0.9, 0.1], **QUICK), "knowledge = "),
    "ledger": (ledger, "parity of March"),
    "account": (lambda: ledger().account(), "1 release"),
}  # fmt: skip
# Loaded without a check as well.
UNCHECKED_TOO = ("audit", "real records", "dual", "curve", "calibration")
SAVED = [name for name in RESULTS if name not in ("ledger", "account")]  # a ledger goes on: tests/tools


@cache
def result(name: str) -> Any:
    return RESULTS[name][0]()


def plain(data: Any) -> Any:
    """The same without what the verifier has said."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items() if key != "verified"}
    return [plain(value) for value in data] if isinstance(data, list) else data


def words(made: dl.Audit | dl.Design) -> list[str]:
    """What a copy says, which is neither checked nor from a file, but for the name of its query."""
    if isinstance(made, dl.Design):
        made = replace(made, leakage=replace(made.leakage, loaded=False))
    return replace(made, loaded=False).summary().splitlines()[1:]


@pytest.mark.parametrize("name", SAVED)
def test_it_comes_back_from_a_file_and_verifies(name: str, tmp_path: Path) -> None:
    made, path = result(name), tmp_path / "result.json"
    made.save(path)
    assert path.stat().st_size < 200_000
    for verify in (False, True) if name in UNCHECKED_TOO else (True,):
        again = dl.load(path, verify=verify)
        assert type(again) is type(made)
        assert again.loaded
        assert plain(again.to_dict()) == plain(made.to_dict())
        assert "read from a file" in repr(again)
        if isinstance(again, dl.Audit | dl.Design):
            assert again.verified is (True if verify else None)
            assert ("which was verified (rested on: " if verify else "was not verified") in again.summary()
            assert "(from the file)" in again._repr_html_()
            assert again.certificate == made.certificate
            assert (again.history, again.repairs) == (made.history, made.repairs)
            assert words(again) == words(made)
            assert again.mechanism.describe() == made.mechanism.describe()
        if isinstance(again, dl.Audit):
            assert type(again.prior) is type(made.prior)
            assert again.prior.leakage() == pytest.approx(made.prior.leakage(), abs=1e-6)
            assert again.prior.divergence() == pytest.approx(made.prior.divergence(), abs=1e-6)
            assert type(again.secret) is type(made.secret)
        if isinstance(again, dl.Design):
            assert (again.leakage.mechanism is again.mechanism) == (made.leakage.mechanism is made.mechanism)
            assert again.query.outputs == made.query.outputs
            np.testing.assert_array_equal(again.query.distance(), made.query.distance())
    if isinstance(made, dl.Audit | dl.Design) and not getattr(made, "beside", 0):  # there the channel is the joint one
        assert dl.verify(made, mechanism=made.mechanism).verified
    if name in ("audit", "design"):  # of other kinds a file is the same
        assert dl.verify(path).verified
        made.certificate.save(tmp_path / "certificate.json")
        assert dl.verify(tmp_path / "certificate.json").upper == made.certificate.upper


@pytest.mark.parametrize("name", RESULTS)
def test_it_is_sent_to_another_process(name: str) -> None:
    made = result(name)
    again = pickle.loads(pickle.dumps(made))
    assert repr(again) == repr(made)
    # It has yet to be checked there.
    assert again.summary() == re.sub(r"\bverified\b", f"{UNCHECKED}: {BY_FILE} checks it", made.summary())
    if hasattr(made, "to_dict"):
        assert plain(again.to_dict()) == plain(made.to_dict())


@pytest.mark.parametrize("name", RESULTS)
def test_it_has_words_and_is_plain_json(name: str) -> None:
    made = result(name)
    assert RESULTS[name][1] in " ".join(made.summary().split())
    assert all(c.isprintable() or c == "\n" for c in made.summary())
    if hasattr(made, "to_dict"):
        json.dumps(made.to_dict(), allow_nan=False)
    if isinstance(made, dl.Audit):
        assert made.plot().axes
