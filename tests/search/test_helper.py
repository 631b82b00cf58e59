"""A process that answers questions: events before the answer, one that is given up, one that dies, one left alone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from dalenius.search.helper import Helper, Line, NoAnswerError


def counted(most: int, line: Line) -> str:
    """Tell numbers, as long as somebody listens."""
    for number in range(most):
        line.tell(number)
        line.stop()
        time.sleep(0.01)
    return "all"


def noted(path: Path) -> partial[None]:
    """What is done when the other process is gone."""
    return partial(path.write_text, "gone")


@pytest.fixture
def helper() -> Iterator[Helper]:
    one = Helper()
    yield one
    one.end()
    one.close()


def test_it_calls_a_function_and_lives_on(helper: Helper) -> None:
    assert [helper.call(abs, -k) for k in range(3)] == [0, 1, 2]
    assert helper.alive


def test_events_come_before_the_answer(helper: Helper) -> None:
    helper.ask(counted, 2, talks=True)
    assert [helper.read() for _ in range(3)] == [("event", 0), ("event", 1), ("answer", "all")]


def test_a_question_can_be_given_up(helper: Helper) -> None:
    helper.ask(counted, 10**6, talks=True)
    assert helper.read() == ("event", 0)
    helper.cancel()
    message = helper.read()
    while message[0] == "event":
        message = helper.read()
    assert message == ("answer", None)
    assert helper.call(abs, -1) == 1


def test_what_an_old_question_says_is_not_heard(helper: Helper) -> None:
    helper.ask(counted, 3, talks=True)
    assert helper.call(abs, -7) == 7


@pytest.mark.parametrize(
    ("function", "given", "how"),
    [(os._exit, 3, "ended with exit code 3"), (signal.raise_signal, signal.SIGKILL, "was ended by SIGKILL")],
)
def test_a_death_says_how(helper: Helper, function: object, given: object, how: str) -> None:
    with pytest.raises(NoAnswerError, match=how):
        helper.call(function, given)
    assert not helper.alive
    with pytest.raises(NoAnswerError, match=how):
        helper.call(abs, -1)


def test_an_exception_and_a_question_that_cannot_be_sent_have_no_answer(helper: Helper) -> None:
    with pytest.raises(NoAnswerError, match="cannot be asked"):
        helper.call(lambda _: 1, 0)
    assert helper.call(abs, -1) == 1
    with pytest.raises(NoAnswerError, match="ended with exit code 1"):
        helper.call(int, "no number")


def test_it_ends_with_the_process_that_asks(tmp_path: Path) -> None:
    script = (
        "import os, sys; from functools import partial; from pathlib import Path\n"
        "from search.test_helper import counted, noted; from dalenius.search.helper import Helper\n"
        "helper = Helper(partial(noted, Path(sys.argv[1])))\n"
        "helper.ask(counted, 10**6, talks=True); helper.read(); print(helper.pid, flush=True); os._exit(0)\n"
    )
    mark = tmp_path / "mark"
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script, mark], env=where, capture_output=True, text=True, check=True)
    pid, end = int(done.stdout), time.monotonic() + 20
    while time.monotonic() < end and (not mark.exists() or Path(f"/proc/{pid}/cmdline").exists()):
        time.sleep(0.05)
    assert mark.read_text() == "gone"
