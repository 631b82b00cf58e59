"""Whatever a file holds, the verifier answers: within its memory and its time, and without taking the caller along."""

import copy
import json
import math
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from posterior_trees import Leaf, Problem, written

import dalenius as dl
from dalenius.errors import InputError
from dalenius.results.audit import Audit
from dalenius.verifier import limits, process, work
from dalenius.verifier.balls import ZERO, Rows, float_above, float_below, precision
from dalenius.verifier.channels import choosing
from dalenius.verifier.limits import NotChecked, sized, tick, ticking, within

Json = Any

COUNT = dl.queries.count(n=3)
SMALL = dl.audit(dl.mechanisms.geometric(COUNT, epsilon=1), knowledge=0.2, tolerance=1e-3)


def plain(audit: Audit) -> Json:
    return json.loads(audit.certificate.text())


def responses(leaves: int) -> Json:
    """A short certificate about 2^12 datasets whose tree has many leaves, each of which is a pass over the channel."""
    rows = 2**12
    tree: list[Any] = []
    for _ in range(leaves - 1):
        tree.append([0, 0, 0.5])
        tree.append({"s": 1.0, "rho": [0.0] * rows})
    tree.append({"s": 1.0, "rho": [0.0] * rows})
    return {
        "format": "dalenius/audit-certificate",
        "version": 1,
        "problem": {"query": "count(n=12)", "mechanism": "randomized_response(epsilon=1)"},
        "adversary": {"knowledge": 0.1},
        "lower": 0.0,
        "upper": 0.6,
        "witness": {"record": 0, "masses": [[1.0] * rows, [1.0] * rows]},
        "proofs": [
            {"record": 0, "kind": "boxes", "upper": 0.6, "groups": [[0] * rows] * 2, "eta": [1, 1], "tree": tree}
        ],
    }


@pytest.mark.parametrize("ball", [arb.nan(), arb.pos_inf(), arb.neg_inf(), arb(0, 1) / arb(0, 1), arb(1e308) ** 9])
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
    assert not dl.verify(data).verified


@pytest.mark.parametrize("epsilon", ["1e300", "1e-300", "1.7e308"])
def test_noise_at_the_edge_of_floats_ends(epsilon: str) -> None:
    data = plain(dl.audit(dl.mechanisms.laplace(COUNT, epsilon=1, output="real"), knowledge=0.2, tolerance=1e-3))
    data["problem"]["mechanism"] = f"laplace(epsilon={epsilon}, output='real')"
    assert not dl.verify(data).verified


def test_the_clock_ends_work_in_loops() -> None:
    with within(1e-9), pytest.raises(NotChecked, match=r"^not checked: the time limit"):
        tick()
    with within(60):
        tick()
        with within(1e-9), pytest.raises(NotChecked):
            list(ticking(range(10)))
        with within(1e9):
            tick()


@pytest.mark.parametrize("stored", [True, False], ids=["file", "data"])
def test_the_time_limit_ends_a_check(tmp_path: Path, stored: bool) -> None:  # noqa: FBT001 - a case
    data = responses(40)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data))
    verdict = dl.verify(path if stored else data, time_limit=0.05, memory=2**12)
    assert not verdict.verified
    assert verdict.reason.startswith("not checked:")
    assert "time" in verdict.reason


def test_more_leaves_than_there_is_time_for_are_refused_before_the_channel_is_built() -> None:
    verdict = dl.verify(responses(2000), time_limit=5, memory=2**12)
    assert verdict.reason.startswith("not checked: it needs about")
    assert "time_limit=" in verdict.reason


def test_memory_is_estimated_before_anything_is_built() -> None:
    data = plain(SMALL)
    data["problem"]["query"] = "count(n=4000)"
    verdict = dl.verify(data, memory=64)
    assert verdict.reason.startswith("not checked: it needs about")
    assert "memory=" in verdict.reason


def test_a_key_that_the_check_does_not_read_does_not_hide_what_it_needs() -> None:
    data = responses(1)
    for bait in ({"certificate": plain(SMALL)}, {"audit": plain(SMALL)}):
        assert work.estimate({**data, **bait}) == work.estimate(data)
    assert work.estimate(data).bytes > 100 * 2**20


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


def test_a_file_is_verified_in_this_process_where_no_other_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "certificate.json"
    SMALL.certificate.save(path)
    monkeypatch.setattr(sys, "executable", "")
    assert dl.verify(path).verified


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs on this system")
def test_a_fifo_without_a_writer_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "not valid JSON" in dl.verify(tmp_path / "fifo").reason


def test_what_cannot_be_opened_is_an_error_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        dl.verify(tmp_path / "none.json")
    with pytest.raises(IsADirectoryError):
        dl.verify(tmp_path)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("import os; os.abort()", "memory="),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "memory="),
        ("raise SystemExit(3)", "exit code 3"),
        ("print('neither JSON')", "exit code 0"),
        ("while True: pass", "time_limit="),
    ],
)
def test_a_child_that_dies_or_hangs_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, says: str
) -> None:
    path = tmp_path / "certificate.json"
    SMALL.certificate.save(path)
    started = subprocess.Popen

    def other(command: list[str], **options: Json) -> Json:
        return started([command[0], "-c", body], **options)

    monkeypatch.setattr(subprocess, "Popen", other)
    verdict = process.verdict(path, None, memory=448, time_limit=0.5, grace=0.5)
    assert not verdict["verified"]
    assert verdict["reason"].startswith("not checked:")
    assert says in verdict["reason"]


@pytest.mark.skipif(sys.platform != "linux", reason="the system limits memory so on Linux")
def test_an_abort_of_flint_is_survived(tmp_path: Path) -> None:
    """The estimate is switched off, as if it were wrong: FLINT ends the child, and the caller has an answer."""
    data = responses(1)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data))
    child = (
        "import sys\n"
        "from dalenius.verifier import process, work\n"
        "work.admit = lambda *_: None\n"
        "sys.exit(process.main(sys.argv[1:]))\n"
    )
    with path.open("rb") as file:
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-c", child, "64", "60.0"], stdin=file, capture_output=True, check=False
        )
    if done.returncode == 0:  # Python's own memory ran out first
        assert json.loads(done.stdout)["reason"].startswith("not checked: memory ran out")
    else:
        assert done.returncode == -signal.SIGABRT


def test_matrices_that_are_not_held_give_the_same_products() -> None:
    rows = [[arb(3 * i + j) / 7 for j in range(3)] for i in range(5)]
    vector, weights = [arb(j) / 3 for j in range(3)], [arb(i) / 5 for i in range(5)]
    with precision():
        held = Rows(rows)
        with sized(held=1, part=6):
            parts = Rows(rows)
        times = [sum((q * x for q, x in zip(row, vector, strict=True)), ZERO) for row in rows]
        combined = [sum((w * row[j] for w, row in zip(weights, rows, strict=True)), ZERO) for j in range(3)]
        for matrix in (held, parts):
            assert all(a.overlaps(b) for a, b in zip(matrix.times(vector), times, strict=True))
            assert all(a.overlaps(b) for a, b in zip(matrix.combined(weights), combined, strict=True))


@pytest.mark.parametrize("change", [None, "rows", 7, [], {}, [None], [{}], {"kind": "boxes"}, 1e308, -1, "\ud800"])
def test_an_estimate_of_nonsense_is_a_number(change: Json) -> None:
    data = plain(SMALL)
    for key in data:
        changed = copy.deepcopy(data)
        changed[key] = change
        found = work.estimate(changed)
        assert found.bytes >= 0
        assert found.seconds >= 0


def certificate(problem: Json, adversary: Json = None, **fields: Json) -> Json:
    """A certificate that claims hardly anything, about any problem."""
    return {
        "format": "dalenius/audit-certificate",
        "version": 1,
        "lower": 0.0,
        "upper": 1e3,
        "problem": problem,
        "adversary": adversary or {"entropy": 0.0},
        "witness": {"record": 0, "masses": [[1.0]]},
        "proofs": [{"record": 0, "kind": "trivial", "upper": 1e3}],
        **fields,
    }


NOISE = "geometric(epsilon=1)"
LARGE_GROUP = {"problem": {"query": "count(n=4000)", "mechanism": NOISE}, "secret": {"records": list(range(11))}}


@pytest.mark.parametrize(
    "bait",
    [
        {"proofs": [{"kind": "trivial", "upper": 1e3}, 0]},
        {"proofs": [{"kind": "rows", "rows": [{"tree": [], "groups": []}]}]},
        {"witness": {"masses": [[1.0]], "quadrature": 0}},
        {"witness": {"masses": [[1.0]], "quadrature": {"count": -(10**9)}}},
        {"proofs": [{"kind": "posteriors", "groups": [-(10**12)], "tree": [{}]}]},
    ],
)
def test_nonsense_beside_it_does_not_hide_a_channel_that_is_too_large(bait: Json) -> None:
    assert work.estimate(certificate(**{**LARGE_GROUP, **bait})).bytes > 2**32


def on_blocks(**fields: Json) -> Json:
    """Four million records and a witness on one block."""
    witness = {"record": 0, "blocks": [0], "cuts": [1], "masses": [[0.5], [0.5]]}
    return certificate({"query": "count(n=4000000)", "mechanism": NOISE}, **{"witness": witness, **fields})


def without_blocks(**fields: Json) -> Json:
    """A record of very many values beside others that are known, seen through a wide window."""
    problem = {"query": f"total(n=3, values={list(range(1500))})", "mechanism": NOISE}
    witness = {"record": 0, "law": [1.0] * 1500, "others": [2], "reach": 2**15}
    return certificate(problem, {"independent": True}, **{"witness": witness, **fields})


def inside(audit: Json, beside: Json) -> Json:
    """A joint certificate whose first release is too large."""
    first = {"columns": [["a"]], "audit": audit}
    return {**certificate({}), "format": "dalenius/joint-certificate", "releases": [first, *beside]}


def on_cells(audit: Json, proof: Json) -> Json:
    """A certificate of real-valued records whose witness is too large."""
    return certificate({}, {"knowledge": 0.1}, witness={"cells": 4, "audit": audit}, proofs=proof)


TOO_LARGE = certificate(**LARGE_GROUP)
SHIFT = {"record": 0, "kind": "shift", "upper": 1.0}


@pytest.mark.parametrize(
    "hidden",
    [
        certificate(**{**LARGE_GROUP, "secret": {"values": ["x"]}}, witness=7),
        on_blocks(proofs=[{"kind": "law"}]),
        on_blocks(proofs=[{"kind": "moved"}, {"kind": "own-count"}, {"kind": "monotone"}]),
        on_blocks(proofs=7),
        on_blocks(secret={"records": 7}),
        on_blocks(witness={"record": 0, "blocks": [0], "cuts": 7}),
        on_blocks(witness={"record": 0, "kind": "tied"}),
        without_blocks(proofs=[SHIFT]),
        without_blocks(proofs=[SHIFT, {}]),
        inside(TOO_LARGE, [7]),
        inside(TOO_LARGE, [{"columns": 7, "audit": {}}]),
        {**inside(TOO_LARGE, []), "releases": [{"columns": 7, "audit": TOO_LARGE}]},
        on_cells(TOO_LARGE, 7),
        on_cells(TOO_LARGE, [{"kind": "rounded", "cells": 10**400}]),
        on_cells(TOO_LARGE, [{"kind": "rounded", "cells": 4, "together": True, "audit": {"witness": None}}]),
        {"format": "dalenius/design-certificate", "audit": TOO_LARGE, "pool": 7},
    ],
)
def test_what_makes_no_sense_later_on_does_not_hide_what_is_checked_before(hidden: Json) -> None:
    # Each of them took up to three times its memory, as the estimate ended where the check did not yet.
    assert work.estimate(hidden).bytes > 2**29


def window(values: int, groups: Json) -> Json:
    """One record of very many values, nearly all of which are far: each becomes an output."""
    rows = [[1.0, 0.0], [0.0, 1.0]]
    proof = {"kind": "posteriors", "groups": groups, "eta": 0.0, "tree": [0]}
    return certificate(
        {"records": [values], "classes": [0] + [1] * (values - 1), "rows": rows},
        proofs=[{"record": 0, "kind": "window", "upper": 0.6, "rows": [0, 0], "outputs": [0, 0], "proof": proof}],
    )


@pytest.mark.parametrize("groups", [[0], [], 7, list(range(9001))])
def test_a_window_counts_in_the_memory_whatever_it_says_of_groups(groups: Json) -> None:
    assert work.estimate(window(9000, groups)).bytes > 9000 * 9001 * 8


def test_a_window_is_estimated_near_what_it_takes() -> None:
    golden = json.loads((Path(__file__).parents[1] / "golden" / "window.json").read_text())
    assert work.estimate(golden).bytes < 2**27


def test_no_tree_hides_the_cells_of_a_proof() -> None:
    data = responses(2)
    data["proofs"][0]["tree"] = 7
    # A part of a FLINT matrix, at least.
    assert work.estimate(data).bytes > 2**22 + work.estimate({**data, "proofs": []}).bytes


def test_a_grid_of_a_very_large_number_is_refused_at_once() -> None:
    # The number of its rows was worked out first, which takes minutes.
    rows = [[1.0] + [0.0] * 2999, [0.0] * 2999 + [1.0]]
    inner = {"kind": "posteriors", "groups": [0] * 3000, "eta": 0.0, "tree": [{}]}
    proofs = [{"record": 0, "kind": "grid", "k": 10**4000, "upper": 0.6, "proof": inner}]
    data = certificate({"records": [2], "classes": [0, 1], "rows": rows}, proofs=proofs)
    data["witness"]["masses"] = [[0.5, 0.0], [0.0, 0.5]]
    assert "k of the grid must be a whole number" in dl.verify(data).reason


def test_moves_through_much_noise_count_in_the_memory() -> None:
    proof = {"kind": "moved", "tilt": [0.0], "own": [1.0] * 2000, "others": [1.0], "reach": 1000}
    data = certificate(
        {"query": "histogram(n=1000, k=2)", "mechanism": NOISE},
        witness={"record": 0, "cell": 0, "blocks": [0], "cuts": [1]},
        proofs=[proof],
    )
    # 466 MiB were taken.
    assert work.estimate(data).bytes > 466 * 2**20
    proof["reach"] = 10**400
    assert work.estimate(data).bytes < 2**24


@pytest.mark.parametrize(
    "greedy",
    [
        certificate({"query": "histogram(n=4194303, k=1)", "mechanism": "symmetric(flip=0)"}),
        certificate(
            {"query": "histogram(n=11, k=4)", "mechanism": "constant()"},
            {"knowledge": 0.1, "reference": {"marginals": [[0.1, 0.2, 0.3, 0.4 + i * 1e-12] for i in range(11)]}},
        ),
        certificate(
            {
                "query": "count(n=20000000)",
                "mechanism": "laplace(epsilon=1, output='real')",
                "quadrature": {"count": 10**9},
            }
        ),
    ],
    ids=["powers of a histogram", "datasets one by one", "answers of real outputs"],
)
def test_small_files_that_need_much_memory_are_not_checked(greedy: Json) -> None:
    assert dl.verify(greedy).reason.startswith("not checked: it")


@pytest.mark.parametrize(
    "slow",
    [
        certificate(
            {"query": "total(n=1, values=[0, 16999])", "mechanism": NOISE},
            {"knowledge": 0.1, "reference": {"marginal": [1.0, 0.0]}},
            proofs=[
                {
                    "record": 0, "kind": "boxes", "upper": 1e3, "groups": [list(range(17000))], "eta": [0.0],
                    "tree": [{"s": 1.0, "rho": []}],
                }
            ],
        ),
        certificate(
            {"query": "total(n=355, values=[0, 1, 2])", "mechanism": NOISE},
            {"knowledge": 0.1, "reference": {"marginal": [1 - 1e-10, 1e-300, 1e-10]}},
        ),
        certificate(
            {"query": "count(n=131000)", "mechanism": NOISE},
            secret={"records": list(range(6))},
            witness={"blocks": [0], "cuts": [], "masses": [[1.0]] * 64},
        ),
    ],
    ids=["very many groups", "powers of polynomials", "very many classes"],
)  # fmt: skip
def test_small_files_that_need_much_time_are_not_checked(slow: Json) -> None:
    assert dl.verify(slow, time_limit=1).reason.startswith("not checked:")


def split_everywhere(outputs: int) -> Json:
    """Few rows, and a tree that is cut at every output."""
    rows = np.full((4, outputs), 1.0 / outputs)
    problem = Problem([rows[:2], rows[2:]], [np.full(2, 0.25)] * 2, 1.0, list(range(outputs)))
    codes = [0, *(code for g in range(1, outputs) for code in (g, outputs)), outputs, outputs]
    proof = written(problem, codes, [Leaf(0, 0, [0] * outputs, 0)] * (outputs + 1), 0.7)
    return certificate({"records": [2, 2], "classes": None, "rows": rows.tolist()}, proofs=[{"record": 0, **proof}])


def test_ratios_of_all_pairs_of_outputs_count_in_the_memory() -> None:
    plain, tightened = split_everywhere(1024), split_everywhere(1024)
    tightened["proofs"][0]["ratios"] = True
    # The least and the largest quotients of 1024 x 1024 pairs for two values, and factors of one, 32 bytes each.
    assert work.estimate(tightened).bytes > work.estimate(plain).bytes + 2**20 * 32 * 5
    assert dl.verify(tightened, memory=128, time_limit=1e5).reason.startswith("not checked: it needs about")


def test_the_clock_is_read_inside_a_row_of_a_noisy_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count()
    # A second passes whenever it is read: the limit is set, the row begins, and then time is over.
    monkeypatch.setattr(limits.time, "monotonic", lambda: next(clock))
    with precision(), within(1.5), pytest.raises(NotChecked):
        choosing.permute_and_flip([1] + [0] * 200, arb(1))


def test_threads_do_not_disturb_each_other() -> None:
    """The precision of FLINT belongs to the process: a short check must not end inside a long one."""
    rows = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25], [0.2, 0.2, 0.6]]
    mechanism = dl.Mechanism.from_matrix(rows, records=[2, 2])
    data = plain(dl.audit(mechanism, knowledge=0.1, tolerance=1e-2))
    before = ctx.prec
    with ThreadPoolExecutor(4) as pool:
        verdicts = list(pool.map(lambda _: dl.verify(data, mechanism), range(200)))
    assert all(verdicts)
    assert ctx.prec == before


def test_the_child_imports_nothing_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("print('forged')\nraise SystemExit(0)\n")
    (tmp_path / "certificate.json").write_text(SMALL.certificate.text())
    code = (
        "import sys, os; import dalenius as dl; dl.verify({}); sys.path.insert(0, '')\n"
        f"os.chdir({str(tmp_path)!r}); print(dl.verify('certificate.json').verified)"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONINSPECT": ""},
    )
    assert done.stdout == "True\n"


def test_names_that_no_file_has_are_not_found() -> None:
    with pytest.raises(FileNotFoundError):
        dl.verify("a\0b")


def test_a_child_whose_parent_was_killed_ends_by_itself() -> None:
    """Nobody is left to kill it, and it may wait for ever: the system's alarm ends it."""
    limits = "process._limit(448, 1.0, grace=0.0)"
    script = f"import time; from dalenius.verifier import process; {limits}; time.sleep(600)"
    ended = subprocess.run([sys.executable, "-c", script], check=False, timeout=60)  # noqa: S603 - our own script
    assert ended.returncode == -signal.SIGALRM
