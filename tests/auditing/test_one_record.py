"""Audits that one Newton run answers are those of the general way."""

import math
from typing import Any

import numpy as np
import pytest

import dalenius as dl
from dalenius.auditing.roads import OneRecordSearch
from dalenius.settings import Settings, without

GENERAL = Settings(parts=(OneRecordSearch(values=1),))


def channel(k: int, outputs: int, seed: int = 0, spread: float = 0.5) -> dl.Mechanism:
    rows = np.random.default_rng(seed).dirichlet(np.full(outputs, spread), size=k)
    return dl.Mechanism.from_matrix(rows, [k])


CHANNELS = {
    "2x2": channel(2, 2),
    "2x3": channel(2, 3, 1),
    "2x40": channel(2, 40, 2),
    "5x3": channel(5, 3, 3),
    "70x70": channel(70, 70),
    "3x5 with zeros": channel(3, 5, 4, 0.02),
    "without noise": dl.Mechanism.from_matrix(np.eye(3), [3]),
    "two rows apart": dl.Mechanism.from_matrix(np.eye(2), [2]),
    "equal rows": dl.Mechanism.from_matrix([[0.3, 0.7]] * 2, [2]),
    "two of three rows equal": dl.Mechanism.from_matrix([[0.3, 0.7], [0.3, 0.7], [0.9, 0.1]], [3]),
    "one row of two values": dl.mechanisms.geometric(dl.queries.function([3], lambda x: x[0] // 2), epsilon=1),
    "z": dl.Mechanism.from_matrix([[1, 0], [0.5, 0.5]], [2]),
    "an output that never occurs": dl.Mechanism.from_matrix([[0.2, 0.8, 0], [0.6, 0.4, 0]], [2]),
    "identity": dl.mechanisms.geometric(dl.queries.identity(4), epsilon=1),
    "bits": dl.mechanisms.symmetric(dl.queries.modular_sum(n=1, modulus=2), flip=0.3),
    "one value": dl.Mechanism.from_matrix([[0.3, 0.7]], [1]),
}


@pytest.mark.parametrize("asked", [{"entropy": 0.0}, {"knowledge": 0.0}, {"knowledge": 9.0, "secret": 0}], ids=str)
@pytest.mark.parametrize("name", CHANNELS)
def test_the_short_way_answers_as_the_general_one(name: str, asked: dict[str, Any]) -> None:
    short = dl.audit(CHANNELS[name], relative=0, **asked)
    general = dl.audit(CHANNELS[name], relative=0, settings=GENERAL, **asked)
    assert short.verified
    for key in ("stopped", "record", "upper_by", "nodes", "secret", "proved"):
        assert getattr(short, key) == getattr(general, key), key
    assert (short.lower, short.upper) == pytest.approx((general.lower, general.upper), abs=1e-7)
    assert short.extremes is not None
    assert general.extremes is not None
    assert short.extremes.unconstrained == pytest.approx(general.extremes.unconstrained, abs=1e-7)
    assert short.extremes.uniform == pytest.approx(general.extremes.uniform, abs=1e-12)
    assert short.records.orbits == (((0,), short.lower, short.upper),)


@pytest.mark.parametrize("knowledge", [1e-300, 1e-40, 1e-20, 1e-16, 1e-14])
@pytest.mark.parametrize("name", ["2x2", "2x40", "5x3", "3x5 with zeros", "equal rows", "identity", "without noise"])
def test_next_to_nothing_known_leaks_next_to_nothing_more(name: str, knowledge: float) -> None:
    """I(p) is concave and moves by sqrt(2 K Var D) at most, to first order; a prior that uses K attains half of it."""
    nothing, little = (dl.audit(CHANNELS[name], knowledge=b) for b in (0.0, knowledge))
    assert little.verified
    assert little.upper_by == ("convex" if name != "without noise" else "trivial")
    assert nothing.lower == little.lower
    assert little.gap <= 2e-11 + 4 * knowledge**0.5
    # tilting the uniform prior towards the rows that tell most
    rows = CHANNELS[name].written().rows
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.where(rows > 0, rows * np.log(rows / rows.mean(axis=0)), 0.0).sum(axis=1)
    apart = (told - told.mean()) / max(float(np.std(told)), 1e-300)
    gained = 0.5 * float(np.sqrt(2 * knowledge)) * float(apart @ told) / len(rows)
    assert little.upper >= nothing.lower + gained


def test_knowledge_that_leaves_a_gap_is_searched() -> None:
    audit = dl.audit(CHANNELS["5x3"], knowledge=1e-14, tolerance=1e-10)
    assert audit.verified
    assert audit.upper_by != "convex"


def test_two_rows_of_the_least_floats_have_an_answer() -> None:
    rows = [[1e-300, 0.0, 0.98, 0.02, 1e-200], [0.02, 5e-324, 0.98, 1e-16, 0.0]]
    for knowledge in (0.0, 1.0):
        audit = dl.audit(dl.Mechanism.from_matrix(rows, records=[2]), knowledge=knowledge)
        assert 0 < audit.lower <= audit.upper < math.log(2)
        assert dl.verify(audit).verified


def test_two_rows_have_the_capacity_that_has_a_formula() -> None:
    """qif's test: 0.19123813831431799 bits."""
    audit = dl.audit(dl.Mechanism.from_matrix([[0.8, 0.2], [0.3, 0.7]], [2]), entropy=0, unit="bits", tolerance=1e-9)
    assert audit.lower <= 0.19123813831431799 <= audit.upper
    assert audit.stopped == "gap"


def test_settings_that_leave_choices_out_are_kept() -> None:
    audit = dl.audit(CHANNELS["2x2"], entropy=0, settings=Settings(portfolio=without("choices")), verify=False)
    assert audit.upper_by != "choices"
