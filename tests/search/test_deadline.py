"""Limits and Ctrl-C: the first one asks, the second one raises, and the handler is put back."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from dalenius.search.deadline import Deadline, Progress


def test_a_limit_expires() -> None:
    deadline = Deadline(3600.0)
    assert not deadline.expired()
    assert 0 < deadline.left <= 3600.0
    # As if it had begun longer ago than its limit.
    deadline.began -= 3601.0
    assert deadline.expired()
    assert deadline.left < 0
    assert deadline.seconds >= 3601.0


def test_a_part_ends_with_the_whole() -> None:
    told: list[Progress] = []
    whole = Deadline(60.0, told.append)
    part, empty = whole.part(30.0), whole.part(-1.0)
    assert 29 < part.left <= 30
    assert not part.expired()
    time.sleep(0.001)
    assert empty.expired()
    part.report_progress(0, 1, 0.0, 1.0, "boxes")
    assert told == []  # a part speaks of its own bracket, not of the whole one
    whole.interrupted = True
    assert part.expired()
    inner = part.part(10.0)
    assert inner.expired()
    whole.interrupted = False
    whole.time_limit = 0.0
    assert part.expired()


def test_an_interrupt_of_an_inner_watch_reaches_the_outer_one() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Deadline(60.0) as outer:
        with Deadline(60.0) as inner:
            signal.raise_signal(signal.SIGINT)
            assert inner.interrupted
        assert outer.interrupted
        assert outer.part(1.0).expired()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_first_interrupt_asks_and_the_second_raises() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Deadline(60.0) as deadline:
        os.kill(os.getpid(), signal.SIGINT)
        assert deadline.interrupted
        assert deadline.expired()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


# A problem that stays open for long, interrupted once branch and bound has begun.
SCRIPT = """
    import json, os, signal, sys, threading, time
    import dalenius as dl

    def interrupt(times):
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(float(sys.argv[2]))

    told = []
    def progress(p):
        if p.stage == "branch and bound" and not told:
            told.append(p)
            threading.Thread(target=interrupt, args=(int(sys.argv[1]),), daemon=True).start()
        if told and int(sys.argv[1]) > 1:
            time.sleep(0.5)  # leave the second signal its time

    mechanism = dl.mechanisms.geometric(dl.queries.count(n=12), epsilon=2)
    try:
        audit = dl.audit(mechanism, entropy=6.0, progress=progress, time_limit=30, tolerance=1e-12)
    except KeyboardInterrupt:
        print(json.dumps({"stopped": "raised"}))
    else:
        answer = dl.verify(audit, mechanism)
        print(json.dumps({"stopped": audit.stopped, "lower": audit.lower, "upper": audit.upper,
                          "seconds": audit.seconds, "verified": answer.verified, "reason": answer.reason}))
"""


def run(times: int, pause: float) -> dict[str, object]:
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(times), str(pause)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(answer.stdout)


def test_an_interrupted_audit_returns_its_bracket() -> None:
    answer = run(1, 0.0)
    assert answer["stopped"] == "interrupted"
    assert answer["verified"], answer["reason"]
    assert 0 < answer["lower"] < answer["upper"]


def test_a_second_interrupt_raises() -> None:
    assert run(2, 0.05)["stopped"] == "raised"
