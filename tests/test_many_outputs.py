"""Channels on either side of what is written out, or searched: every bound that applies is tried, so nothing jumps."""

import itertools
import math
from dataclasses import replace

import pytest

import dalenius as dl
from dalenius.errors import InputError
from dalenius.results.audit import Audit
from dalenius.settings import Settings, only
from dalenius.tools import calibration

COUNT = dl.queries.count


def upper(n: int, epsilon: float, knowledge: float, family: str = "geometric") -> Audit:
    build = {"geometric": lambda q: dl.mechanisms.geometric(q, epsilon=epsilon)}.get(
        family, lambda q: dl.mechanisms.gaussian(q, sigma=1 / epsilon)
    )
    return dl.audit(build(COUNT(n)), knowledge=knowledge, tolerance=1e-9, relative=0.3, time_limit=600)


def test_wide_noise_on_five_hundred_records_is_certified_to_leak_little() -> None:
    audit = upper(500, 0.001, 0.1)
    assert audit.upper < 2e-4
    assert dl.verify(audit).verified


def test_the_lower_bound_is_found_before_the_time_is_over_where_rows_are_many() -> None:
    """Random ascents over 8 million probabilities had no time to begin: the lower bound was 1.2e-7 after 4 s."""
    mechanism = dl.mechanisms.geometric(COUNT(2889), epsilon=0.001)
    assert dl.audit(mechanism, knowledge=0.1, time_limit=2, verify=False).lower > 7e-5


def test_rows_that_are_written_and_rows_that_are_not_lead_to_the_same_bracket() -> None:
    """One road for a sum of any size: nothing changes where rows become too many to be written out."""
    gaps = []
    for n in (2889, 2896):
        mechanism = dl.mechanisms.geometric(COUNT(n), epsilon=1)
        assert mechanism.has_rows == (n == 2889)
        audit = dl.audit(mechanism, knowledge=0.01, time_limit=20, verify=False)
        gaps.append(audit.gap)
        assert dl.verify(audit)
    assert max(gaps) < 1e-6
    assert max(gaps) < 1.5 * min(gaps)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "relative"), [((398, 400), 3e-3), ((2889, 2896), 0.02)], ids=["outputs", "rows"])
def test_trees_close_on_either_side_of_a_size(sizes: tuple[int, int], relative: float) -> None:
    """Outputs of 2,889 people were too many to be put in groups, which left 4.6 % open after a minute."""
    limits = {"relative": relative, "nodes": 2000, "time_limit": 600}
    found = [
        dl.audit(dl.mechanisms.geometric(COUNT(n), epsilon=0.3), knowledge=0.5, verify=False, **limits) for n in sizes
    ]
    for one, other in itertools.permutations(found):
        assert one.closed
        assert 0 < one.gap < 1.5 * other.gap
        assert 0 < one.nodes < 3 * other.nodes


def test_a_window_is_taken_of_an_unwritten_sum() -> None:
    mechanism = dl.mechanisms.geometric(COUNT(3000), epsilon=0.3)
    settings = Settings(portfolio=only("window", "convex"))
    audit = dl.audit(mechanism, knowledge=0.5, relative=0.06, time_limit=20, settings=settings)
    assert audit.upper_by == "window"
    assert audit.closed
    assert audit.verified


@pytest.mark.slow
@pytest.mark.parametrize("knowledge", [0.05, 1.0])
def test_the_bound_does_not_jump_along_epsilon(knowledge: float) -> None:
    for epsilon in (0.003, 0.1):
        a, b = upper(450, epsilon, knowledge).upper, upper(450, 1.1 * epsilon, knowledge).upper
        assert 0.5 <= a / b <= 2, (epsilon, a, b)


@pytest.mark.parametrize(
    "mechanism",
    [
        dl.mechanisms.geometric(COUNT(450), epsilon=0.001),
        pytest.param(dl.mechanisms.exponential(COUNT(450), epsilon=0.001), marks=pytest.mark.nightly),
        pytest.param(dl.mechanisms.symmetric(COUNT(450), flip=0.99), marks=pytest.mark.nightly),
    ],
    ids=str,
)
def test_nothing_leaks_more_than_the_capacity(mechanism: dl.Mechanism) -> None:
    profile = mechanism.profile([0.0, 200.0], time_limit=600)
    assert profile.capacity is not None
    for audit in profile.leakage.audits:
        assert audit.upper <= profile.capacity.upper + 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(dl.mechanisms.geometric(COUNT(2896), epsilon=0.001), marks=pytest.mark.nightly),
        pytest.param(dl.mechanisms.laplace(COUNT(20_000), epsilon=0.0001), marks=pytest.mark.nightly),
        dl.mechanisms.gaussian(COUNT(5000), sigma=2000),
        dl.mechanisms.geometric(dl.queries.total(700, [0, 1, 5]), epsilon=0.002),
    ],
    ids=str,
)
def test_nothing_leaks_more_than_the_capacity_where_no_row_is_written(mechanism: dl.Mechanism) -> None:
    # The uniform prior alone: its audit costs next to nothing.
    capacity = mechanism.profile([mechanism.statistic.log_universe]).capacity
    assert capacity is not None
    for knowledge in (10.0, math.inf):
        audit = dl.audit(mechanism, knowledge=knowledge, tolerance=1e-3)
        assert audit.upper <= 1.002 * capacity.upper
        assert dl.verify(audit).verified
    # Two datasets that differ in everything tell nearly all there is where the noise is that wide.
    assert audit.lower >= 0.95 * audit.upper


@pytest.mark.slow
def test_a_survey_of_five_hundred_can_be_calibrated() -> None:
    found = dl.calibrate("geometric", COUNT(500), leakage=0.05, knowledge=0.1, accuracy=0.3)
    assert found.leakage.upper <= 0.05
    assert found.value > 0.01
    assert dl.verify(found.leakage, found.mechanism).verified


def test_a_calibration_says_when_there_was_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "LOUDEST", math.log(10))
    # Few outputs count as too many, so that each level has one audit.
    settings = Settings(portfolio=replace(only("formulas"), most_outputs=20))
    with pytest.raises(
        InputError, match=r"could be certified to leak at most 0\.02 nats: with epsilon = 0\.1 it leaks"
    ):
        dl.calibrate("geometric", COUNT(40), leakage=0.02, knowledge=0.1, settings=settings)
    with pytest.raises(InputError, match=r"leakage = 0\.01 nats is too small"):
        dl.calibrate("geometric", COUNT(40), leakage=0.01, knowledge=0.1, settings=settings)
