"""What one prior leaks, g-leakage, and outputs that are processed further."""

import math
from typing import Any

import numpy as np
import pytest
from large_samples import both
from refusals import refuses

import dalenius as dl
from dalenius.errors import InputError

PARITY = dl.mechanisms.symmetric(dl.queries.modular_sum(2, 2), flip=0.1)
COUNT = dl.mechanisms.geometric(dl.queries.count(3), epsilon=1.0)


def test_the_leakage_of_a_witness_is_the_lower_bound() -> None:
    audit = dl.audit(COUNT, knowledge=0.3)
    found = dl.leakage(COUNT, audit.prior)
    # The prior's own figure is in floats.
    assert found.lower - 1e-14 <= audit.prior.leakage() <= found.upper + 1e-14
    assert found.upper - found.lower < 1e-12
    assert found.lower == pytest.approx(audit.lower, abs=1e-9)
    bits = dl.leakage(COUNT, audit.prior, unit="bits")
    assert bits.lower == pytest.approx(found.lower / math.log(2))


def test_laws_weights_and_secrets() -> None:
    alone = dl.leakage(PARITY, [0.5, 0.5])
    assert alone.upper < 1e-15
    entropy = math.log(2) + 0.1 * math.log(0.1) + 0.9 * math.log(0.9)
    pair = dl.leakage(PARITY, [0.5, 0.5], secret=[0, 1])
    assert pair.lower <= entropy <= pair.upper
    assert pair.record is None
    sure = dl.leakage(PARITY, [[1.0, 0.0], [0.5, 0.5]])
    assert sure.record == 1
    assert sure.lower <= entropy <= sure.upper
    equal = dl.leakage(PARITY, [0.5, 0.0, 0.0, 0.5])
    assert equal.upper < 1e-15


@pytest.mark.parametrize("noise", ["geometric(epsilon=0.7)", "gaussian(sigma=2)", "discrete_gaussian(sigma=2)"])
@pytest.mark.parametrize(("law", "secret"), [([0.7, 0.3], None), (None, [0, 3]), ([0.0, 1.0], None)])
def test_a_sum_that_is_never_written_out_leaks_what_its_rows_do(noise: str, law: Any, secret: Any) -> None:
    large, dense = (dl.leakage(m, law, secret) for m in both(noise, "count(n=12)"))
    assert max(large.lower, dense.lower) <= min(large.upper, dense.upper)
    assert large.upper - large.lower <= 1e-12
    assert large.record == dense.record


def test_ten_thousand_people_in_a_count() -> None:
    count = dl.mechanisms.geometric(dl.queries.count(n=10_000), epsilon=1)
    found, audit = dl.leakage(count, [0.7, 0.3]), dl.audit(count, knowledge=0, reference=[0.7, 0.3])
    assert found.upper - found.lower <= 1e-8 * found.upper
    assert audit.lower <= found.upper
    assert found.lower <= audit.upper
    refuses("one marginal of all records", dl.leakage, count, [[0.7, 0.3]] * 9_999 + [[0.6, 0.4]])


def test_g_leakage_by_hand() -> None:
    uniform = [0.5, 0.5]
    # Bayes: the best of four guesses after parity is right half the time if the parity is, before a quarter.
    assert dl.g_leakage(PARITY, uniform) == pytest.approx(1.8)
    assert dl.g_leakage(PARITY, uniform, kind="additive") == pytest.approx(0.2)
    assert dl.g_leakage(PARITY, uniform, gain=np.eye(4)) == pytest.approx(1.8)
    assert dl.g_leakage(PARITY, uniform, gain=lambda w, x: float(w[0] == x[0])) == pytest.approx(1.0)
    for bad in (np.eye(3), -np.eye(4), "shannon"):
        with pytest.raises(InputError):
            dl.g_leakage(PARITY, uniform, gain=bad)
    refuses("no ratio", dl.g_leakage, PARITY, uniform, gain=np.zeros((1, 4)))


def test_processed_outputs_never_leak_more() -> None:
    coarse = COUNT.then(lambda y: "few" if y < 2 else "many")
    assert coarse.labels == ("few", "many")
    assert np.allclose(coarse.rows[:, 0], COUNT.rows[:, :2].sum(axis=1))
    rng = np.random.default_rng(0)
    mixed = COUNT.then(rng.dirichlet(np.ones(3), size=4))
    for _ in range(20):
        weights = rng.dirichlet(np.ones(8))
        told = dl.leakage(COUNT, weights).upper
        assert dl.leakage(mixed, weights).lower <= told
        assert dl.leakage(coarse, weights).lower <= told
    assert dl.verify(dl.audit(coarse, knowledge=0.3).certificate, coarse)
    for bad in (np.eye(3), [[0.5, 0.4]] * 4):
        with pytest.raises(InputError):
            COUNT.then(bad)
    refuses("all integers", dl.mechanisms.geometric(dl.queries.count(3), epsilon=1.0, clamp=False).then, abs)
