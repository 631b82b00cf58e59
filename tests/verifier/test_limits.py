"""Whatever a file holds, the verifier answers: within its memory and its time, and without taking the caller along."""

import json
import math
import os
import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx
from fuzz.bombs import BOMBS, Asked
from kinds import Json

import dalenius as dl
from dalenius.errors import InputError
from dalenius.results.audit import Audit
from dalenius.verifier.forms import offices
from dalenius.verifier.kernel import limits
from dalenius.verifier.kernel.balls import ZERO, Rows, float_above, float_below, precision
from dalenius.verifier.kernel.limits import NotChecked, sized, tick, ticking, within
from dalenius.verifier.verify import verify, verify_here

COUNT = dl.queries.count(n=3)
SMALL = dl.audit(dl.mechanisms.geometric(COUNT, epsilon=1), knowledge=0.2, tolerance=1e-3)


def plain(audit: Audit) -> Json:
    return json.loads(audit.certificate.text())


@pytest.mark.parametrize(
    "ball", [arb(1 / 3, 0.3), arb.nan(), arb.pos_inf(), arb.neg_inf(), arb(0, 1) / arb(0, 1), arb(1e308) ** 9]
)
def test_ends_of_any_ball_are_floats_around_it(ball: Json) -> None:
    with precision():
        low, high = float_below(ball), float_above(ball)
    assert not math.isnan(low)
    assert low <= high
    assert not ball < low
    assert not ball > high
    if not ball.is_finite():
        assert (low, high) == (-math.inf, math.inf)


@pytest.mark.parametrize("points", [{"angle": 1e-300}, {"edges": [0.0, 5e-324, 1.0, 2.0, 3.0]}, {"slack": 0.5}])
def test_points_that_make_no_sense_end(points: Json) -> None:
    real = dl.audit(dl.mechanisms.laplace(COUNT, epsilon=1, output="real"), knowledge=0.2, tolerance=1e-3)
    data = plain(real)
    data["problem"]["quadrature"] |= points
    if "quadrature" in data["witness"]:
        data["witness"]["quadrature"] |= points
    assert not verify_here(data).verified


@pytest.mark.parametrize("epsilon", ["1e300", "1e-300", "1.7e308"])
def test_noise_at_the_edge_of_floats_ends(epsilon: str) -> None:
    data = plain(dl.audit(dl.mechanisms.laplace(COUNT, epsilon=1, output="real"), knowledge=0.2, tolerance=1e-3))
    data["problem"]["mechanism"] = f"laplace(epsilon={epsilon}, output='real')"
    assert not verify_here(data).verified


def test_the_clock_ends_work_in_loops() -> None:
    with within(1e-9), pytest.raises(NotChecked, match=r"^not checked: the time limit"):
        tick()
    with within(60):
        tick()
        with within(1e-9), pytest.raises(NotChecked):
            list(ticking(range(10)))
        with within(1e9):
            tick()


def test_every_bomb_is_answered_within_its_limits() -> None:
    """Each took minutes, gigabytes, or both, while certificates that are data were checked in the caller's process."""
    limits = {"time_limit": 0.05, "memory": 128}
    answers = Asked([(bomb(2048), limits) for bomb in BOMBS.values()]).answers  # none verified, each within its limits
    reasons = dict(zip(BOMBS, (reason for _, reason, _, _ in answers), strict=True))
    # Which others are refused before their time is up depends on the machine.
    assert reasons["power"].startswith("not checked: the time limit"), reasons


def test_a_slow_file_is_answered_within_a_second_of_its_limit(tmp_path: Path) -> None:
    # It was killed five seconds after the limit.
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(BOMBS["power"](2048)))
    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    verdict = dl.verify(path, time_limit=0.1)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin < 1.1
    assert verdict.reason == "not checked: the time limit was reached; allow more with time_limit= (--time-limit)"


def test_data_that_are_longer_written_down_than_held_are_not_written_down() -> None:
    data: Json = [0.5] * 1000
    for _ in range(20):
        data = [data] * 1000
    assert dl.verify({"proofs": data}, memory=2).reason.startswith("not checked: it needs about")
    assert dl.verify({"proofs": data}, time_limit=0.1).reason.startswith("not checked: the time limit")


@pytest.mark.parametrize("value", [object(), 1j, b"x", 10**5000, np.int64(3)], ids=type)
def test_data_that_are_not_plain_are_refused(value: object) -> None:
    assert dl.verify({"lower": value}).reason.startswith("it cannot be written as JSON: ")


def test_data_inside_themselves_are_refused() -> None:
    data: Json = {"proofs": [[]]}
    data["proofs"][0].append(data)
    assert dl.verify(data, memory=2).reason.startswith("it cannot be written as JSON: Circular")


@pytest.mark.parametrize(
    "limit", [{"memory": 0}, {"memory": 1.5}, {"time_limit": 0}, {"time_limit": -1}, {"time_limit": math.nan}]
)
def test_limits_that_are_none_are_refused(limit: Json) -> None:
    with pytest.raises(InputError):
        dl.verify(SMALL, **limit)


def test_no_limit_at_all_is_a_limit() -> None:
    assert dl.verify(SMALL, time_limit=math.inf)
    assert dl.verify(SMALL, time_limit=1e300)


def test_a_file_is_verified_like_its_data(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    SMALL.certificate.save(path)
    for mechanism in (None, SMALL.mechanism, dl.mechanisms.geometric(COUNT, epsilon=2)):
        stored, held = dl.verify(path, mechanism), dl.verify(SMALL, mechanism)
        assert (stored.verified, stored.reason, stored.problem) == (held.verified, held.reason, held.problem)
        assert (stored.lower, stored.upper, stored.unit, stored.quantity) == (held.lower, held.upper, "nats", "L")


@pytest.mark.parametrize("where", [{"executable": ""}, {"platform": "emscripten"}, {"frozen": True}], ids=str)
def test_where_no_child_can_be_started_the_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: Json
) -> None:
    path = tmp_path / "certificate.json"
    SMALL.certificate.save(path)
    for name, value in where.items():
        monkeypatch.setattr(sys, name, value, raising=False)
    for given in (path, plain(SMALL)):
        verdict = dl.verify(given)
        assert verdict.verified
        assert verdict.reason.endswith("may overrun the time limit, and memory is not limited")
    assert "in this process" not in dl.verify(SMALL).reason  # as everywhere


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs on this system")
def test_a_fifo_without_a_writer_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "not valid JSON" in dl.verify(tmp_path / "fifo").reason


def test_what_cannot_be_opened_is_an_error_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        verify("a\0b")
    with pytest.raises(IsADirectoryError):
        verify(tmp_path)
    for path in (tmp_path / "none.json", tmp_path, "a\0b", "\ud800"):
        with pytest.raises(InputError):
            dl.verify(path)


def test_matrices_that_are_not_held_give_the_same_products() -> None:
    rows = [[arb(3 * i + j) / 7 for j in range(3)] for i in range(5)]
    vector, weights = [arb(j) / 3 for j in range(3)], [arb(i) / 5 for i in range(5)]
    with precision():
        held = Rows(rows)
        with sized(joint=1, part=6):
            parts = Rows(rows)
        times = [sum((q * x for q, x in zip(row, vector, strict=True)), ZERO) for row in rows]
        combined = [sum((w * row[j] for w, row in zip(weights, rows, strict=True)), ZERO) for j in range(3)]
        for matrix in (held, parts):
            assert all(a.overlaps(b) for a, b in zip(matrix.times(vector), times, strict=True))
            assert all(a.overlaps(b) for a, b in zip(matrix.combined(weights), combined, strict=True))


def test_the_clock_is_read_inside_a_row_of_a_noisy_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count()
    # A second passes whenever it is read: the limit is set, the row begins, and then time is over.
    monkeypatch.setattr(limits.time, "monotonic", lambda: next(clock))
    with precision(), within(1.5), pytest.raises(NotChecked):
        offices.permute_and_flip([1] + [0] * 200, arb(1))


def test_threads_do_not_disturb_each_other() -> None:
    """The precision of FLINT belongs to the process: a short check must not end inside a long one."""
    rows = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25], [0.2, 0.2, 0.6]]
    mechanism = dl.Mechanism.from_matrix(rows, records=[2, 2])
    data = plain(dl.audit(mechanism, knowledge=0.1, tolerance=1e-2))
    before = ctx.prec
    with ThreadPoolExecutor(4) as pool:
        verdicts = list(pool.map(lambda _: verify_here(data, mechanism), range(200)))
    assert all(verdicts)
    assert ctx.prec == before
