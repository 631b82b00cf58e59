"""An output law by steps: its bound is that of the dense channel, and next to the capacity where nothing limits."""

import copy
from collections.abc import Callable

import numpy as np
import pytest
from kinds import Json
from large_samples import PAIRS, both, feasible
from scipy.special import logsumexp, rel_entr
from verdicts import refused

import dalenius as dl
from dalenius.bounds.capacity import capacity
from dalenius.bounds.output_law import laws_below
from dalenius.model.reference import UNIFORM
from dalenius.numerics.information import mutual_information
from dalenius.search.deadline import Deadline
from dalenius.verifier.verify import verify_here


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
@pytest.mark.parametrize("knowledge", [0.3, 1e3])
def test_the_bound_is_the_one_of_the_written_channel(mechanism: str, query: str, knowledge: float) -> None:
    mine, dense = both(mechanism, query)
    law = min(laws_below(mine, knowledge, Deadline(60.0), groups=6), key=lambda law: law.upper)
    sizes = np.diff([mine.low, *law.data["cuts"], mine.high + 1])
    r = np.repeat(np.exp(law.data["log_r"]) / sizes, sizes)
    assert r.sum() == pytest.approx(1.0)
    divergence = rel_entr(dense.rows, r).sum(axis=1)
    log_rho = UNIFORM.log_classes(dense.statistic)
    expected = divergence.max() if law.s == 0 else law.s * (knowledge + logsumexp(log_rho + divergence / law.s))
    assert law.upper == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
@pytest.mark.parametrize("seed", range(3))
def test_no_prior_leaks_more(mechanism: str, query: str, seed: int) -> None:
    mine, dense = both(mechanism, query)
    rng, rho = np.random.default_rng(seed), np.exp(UNIFORM.log_joint(mine.statistic, 0))
    for knowledge in (0.05, 0.5):
        pi = feasible(rho, knowledge, rng)
        law = min(laws_below(mine, knowledge, Deadline(60.0), groups=6), key=lambda law: law.upper)
        assert mutual_information(pi @ dense.rows) <= law.upper + 1e-12


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
def test_without_a_limit_on_knowledge_it_is_the_capacity(mechanism: str, query: str) -> None:
    mine, dense = both(mechanism, query)
    law = min(laws_below(mine, 1e3, Deadline(60.0)), key=lambda law: law.upper)
    assert law.upper == pytest.approx(capacity(dense).upper, rel=1e-3)
    assert law.s == 0


@pytest.mark.parametrize(("mechanism", "query"), PAIRS)
def test_laws_that_cannot_help_are_not_evaluated(mechanism: str, query: str) -> None:
    mine, _ = both(mechanism, query)
    best = min(laws_below(mine, 0.5, Deadline(60.0)), key=lambda law: law.upper)
    some = laws_below(mine, 0.5, Deadline(60.0), known=1.001 * best.upper)
    assert min(law.upper for law in some) == best.upper
    assert laws_below(mine, 0.5, Deadline(60.0), known=0.5 * best.upper) == []


@pytest.fixture(scope="module")
def sound() -> Json:
    mechanism, _ = both("geometric(epsilon=0.1)", "count(n=12)")
    return dl.audit(mechanism, knowledge=50.0, tolerance=1e-3).certificate.data


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (lambda p: p.update(upper=0.9 * p["upper"]), "exceeds claimed"),
        (lambda p: p["log_r"].__setitem__(0, p["log_r"][0] + 1.0), "exceeds claimed"),
        (lambda p: p["log_r"].pop(), "log_r"),
        (lambda p: p["log_r"].__setitem__(0, float("nan")), "log_r"),
        (lambda p: p["cuts"].__setitem__(0, p["cuts"][1]), "do not ascend"),
        (lambda p: p["cuts"].__setitem__(0, 0), "cuts"),
        (lambda p: p["cuts"].__setitem__(-1, 13), "cuts"),
        (lambda p: p.update(s=1.0), "exceeds claimed"),
        (lambda p: p.update(s=-1.0), "s of"),
        (lambda p: p.pop("cuts"), "cuts"),
    ],
)
def test_a_tampered_certificate_is_refused(sound: Json, tamper: Callable[[Json], object], reason: str) -> None:
    assert sound["proofs"][0]["kind"] == "law"
    assert verify_here(sound).verified
    forged = copy.deepcopy(sound)
    tamper(forged["proofs"][0])
    refused(forged, reason)
