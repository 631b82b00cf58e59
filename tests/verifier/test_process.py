"""The child that checks certificates, from inside: what the system limits, and how its end is told."""

import errno
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from damage import GOLDEN, damaged, golden

from dalenius.verifier import __main__ as alone
from dalenius.verifier import process
from dalenius.verifier.kernel.limits import NotChecked, within
from dalenius.verifier.kernel.reading import write
from dalenius.verifier.verify import verify

FILE = GOLDEN / "plain.json"
Say = pytest.CaptureFixture[str]


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """What a child would limit itself to; this process stays as it is."""
    found: dict[int, int] = {}
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", lambda what, pair: found.update({what: pair[0]}))
    monkeypatch.setattr(signal, "setitimer", lambda what, seconds: found.update({-what - 1: seconds}))
    return found


def asked(capsys: Say, *files: Path, memory: int = 100) -> dict[str, Any]:
    """What the child would answer; it runs in this process."""
    process.check([os.open(file, os.O_RDONLY) for file in files], memory, 2.5)
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_a_child_limits_itself_and_answers(limits: dict[int, int], capsys: Say) -> None:
    before = time.process_time()
    assert asked(capsys, FILE)["verified"]
    assert limits[-signal.ITIMER_REAL - 1] == 3.5
    assert before + 3.5 <= limits[resource.RLIMIT_CPU] < time.process_time() + 4.5
    assert limits[resource.RLIMIT_CORE] == 0
    assert limits[resource.RLIMIT_AS] < 2**36


def test_memory_that_a_child_takes_itself_counts(
    monkeypatch: pytest.MonkeyPatch, limits: dict[int, int], capsys: Say, tmp_path: Path
) -> None:
    page = resource.getpagesize()
    monkeypatch.setattr(process, "STATM", tmp_path / "statm")
    for resident, left in ((40, 60), (140, 0)):
        (tmp_path / "statm").write_text(f"{2**30 // page} {resident * 2**20 // page} 5")
        asked(capsys, FILE)
        assert limits[resource.RLIMIT_AS] == 2**30 + left * 2**20


def test_a_child_compares_with_the_mechanism_in_a_second_file(
    limits: dict[int, int], capsys: Say, tmp_path: Path
) -> None:
    path = tmp_path / "mechanism.json"
    path.write_text(json.dumps({"query": "count(n=3)", "mechanism": "geometric(epsilon=2)"}))
    assert "another channel" in asked(capsys, FILE, path)["reason"]
    assert limits
    # It is read within the limits too.
    path.write_text(json.dumps([[]] * 10**5))
    assert asked(capsys, FILE, path, memory=4)["reason"].startswith("not checked: it needs about")
    path.write_text("[")
    assert asked(capsys, FILE, path)["reason"].startswith("not valid JSON")


def test_a_limit_is_never_raised_and_no_limit_is_none(
    monkeypatch: pytest.MonkeyPatch, limits: dict[int, int], tmp_path: Path
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (5, 7))
    process._limit(2**60, 100)
    assert limits[resource.RLIMIT_CPU] == limits[resource.RLIMIT_AS] == 7
    limits.clear()
    monkeypatch.setattr(process, "STATM", tmp_path / "none")
    process._limit(10, 100)
    assert resource.RLIMIT_AS not in limits  # nobody says how much it has


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("import os; os.abort()", "more than 448 MiB"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "the time limit was reached"),
        ("raise SystemExit(3)", "exit code 3"),
        ("print('no JSON')", "exit code 0"),
        ("import time; time.sleep(60)", "the time limit was reached"),
    ],
)
def test_a_child_that_dies_or_hangs_is_an_answer(monkeypatch: pytest.MonkeyPatch, body: str, says: str) -> None:
    monkeypatch.setattr(process, "CHILD", body)
    answer = process.verdict(FILE, None, memory=448, time_limit=0.01)
    assert not answer["verified"]
    assert answer["reason"].startswith("not checked:")
    assert says in answer["reason"]


def test_a_child_that_cannot_be_started_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert process.verdict(FILE, None, memory=448, time_limit=1)["reason"].startswith(
        "not checked: no process could be started to check it in ("
    )


def test_what_cannot_be_written_down_for_a_child_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    answer = process.verdict(golden("plain"), None, memory=448, time_limit=1)
    assert answer["reason"].startswith("not checked: there is no room to write it down")
    assert "Too many open files" in answer["reason"]


def test_writing_a_mechanism_down_keeps_the_limits() -> None:
    """Its description may be much longer than it is; of certificates the same is in test_limits.py."""
    shared: Any = [0.5] * 1000
    for _ in range(6):
        shared = [shared] * 8
    reason = process.verdict(FILE, shared, memory=448, time_limit=0.05)["reason"]
    assert reason.startswith("not checked: the time limit")
    reason = process.verdict(FILE, shared, memory=2, time_limit=99)["reason"]
    assert reason.startswith("not checked: it needs about")


def test_the_clock_is_read_while_data_are_written() -> None:
    file = io.BytesIO()
    with within(-1), pytest.raises(NotChecked, match="the time limit"):
        write([1e-300] * 10**5, file)
    assert not file.getvalue()


def test_neither_the_current_folder_nor_the_environment_has_a_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("flint", "json", "dalenius", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    for name in ("PYTHONPATH", "PYTHONHOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert process.verdict(FILE, None, memory=448, time_limit=9)["verified"]


def test_a_caller_without_standard_streams_has_an_answer(tmp_path: Path) -> None:
    """Files that are opened then have the numbers of the streams, which the child has of its own."""
    mechanism, found = tmp_path / "mechanism.json", tmp_path / "found"
    mechanism.write_text(json.dumps(golden("plain")["problem"]))
    program = (
        "import os, sys, pathlib; [os.close(k) for k in (0, 1, 2)]\n"
        "certificate, mechanism, found, *sys.path = sys.argv[1:]\n"
        "from dalenius.verifier.verify import verify; from dalenius.verifier.__main__ import _described\n"
        "answer = verify(certificate, _described(pathlib.Path(mechanism)))\n"
        "pathlib.Path(found).write_text(repr(answer))"
    )
    subprocess.run([sys.executable, "-c", program, str(FILE), str(mechanism), str(found), *sys.path], check=True)
    assert "verified 0.15" in found.read_text()


def test_a_mechanism_that_is_not_plain_data_is_refused() -> None:
    assert "cannot be written as JSON" in process.verdict(FILE, {1j}, memory=448, time_limit=9)["reason"]


def test_a_child_does_not_outlive_an_interrupted_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def interrupted(child: subprocess.Popen[bytes], *_: object, **__: object) -> None:
        started.append(child)
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "CHILD", "import time; time.sleep(60)")
    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        process.verdict(FILE, None, memory=9, time_limit=5)
    assert [child.poll() for child in started] == [-signal.SIGKILL]


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[Path]:
    """A file that never ends, and never says more: whoever reads it waits in a single call."""
    path = tmp_path / "endless"
    os.mkfifo(path)
    writing = os.open(path, os.O_RDWR)
    yield path
    os.close(writing)


def test_an_answer_that_is_late_is_not_waited_for(endless: Path) -> None:
    assert verify(endless, time_limit=0.01).reason.startswith("not checked: the time limit")
    assert not verify(damaged("plain", {"upper": 0.1}))


def test_a_child_whose_parent_was_killed_ends_by_itself(endless: Path) -> None:
    """Nobody is left to kill it, and it may be in a single call for ever: the system's alarm ends it."""
    with endless.open("rb") as file:
        code = f"from dalenius.verifier.process import check; check([{file.fileno()}], 448, 0.01)"
        running = subprocess.Popen([sys.executable, "-c", code], pass_fds=[file.fileno()])
        ended = running.wait(30)
    assert ended == -signal.SIGALRM


def say(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the verifier's own command in this process, files too."""
    monkeypatch.setattr(process, "available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["verifier", *arguments])
    return alone.main()


def test_the_verifier_alone_prints_its_verdict(monkeypatch: pytest.MonkeyPatch, capsys: Say, tmp_path: Path) -> None:
    assert say(monkeypatch, str(FILE)) == 0
    assert capsys.readouterr().out.startswith("VERIFIED 0.15281732795190425 <= L <= 0.7 nats: every number")
    assert say(monkeypatch, str(GOLDEN / "samples.json")) == 0
    assert "nats with confidence 0.9:" in capsys.readouterr().out
    assert say(monkeypatch, str(FILE), "--json") == 0
    assert json.loads(capsys.readouterr().out)["verified"] is True
    data = golden("plain") | {"problem": {"query": "count(n=3)\x1b", "mechanism": "\x1b"}}
    (tmp_path / "odd.json").write_text(json.dumps(data))
    assert say(monkeypatch, str(tmp_path / "odd.json")) == 1
    out = capsys.readouterr().out
    assert out.startswith("NOT VERIFIED: ")
    assert "\x1b" not in out


def test_the_verifier_alone_compares_with_a_saved_mechanism(
    monkeypatch: pytest.MonkeyPatch, capsys: Say, tmp_path: Path
) -> None:
    path = tmp_path / "mechanism.json"
    named = {"format": "dalenius/mechanism", "version": 1, "query": "count(n=3)", "labels": [0, 1, 2, 3]}
    for epsilon, code in ((1, 0), (2, 1)):
        path.write_text(json.dumps({**named, "mechanism": f"geometric(epsilon={epsilon})", "rows": []}))
        assert say(monkeypatch, str(FILE), "--mechanism", str(path)) == code
    path.write_text("[]")
    assert say(monkeypatch, str(FILE), "--mechanism", str(path)) == 2
    assert say(monkeypatch, str(tmp_path / "none.json")) == 2
    assert "No such file" in capsys.readouterr().err


def test_the_verifier_alone_takes_no_limits_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (("--memory", "0"), ("--time-limit", "nan")):
        with pytest.raises(SystemExit) as ended:
            say(monkeypatch, str(FILE), *wrong)
        assert ended.value.code == 2


def test_the_verdict_of_the_verifier_alone_outlives_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert say(monkeypatch, str(FILE)) == 0


def test_the_verifier_alone_reads_a_mechanism_from_a_file_only(
    monkeypatch: pytest.MonkeyPatch, capsys: Say, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "deep").write_text("[" * 10**5)
    for name, words in (("fifo", "is not a file"), ("deep", "recursion"), ("none", "No such file")):
        assert say(monkeypatch, str(FILE), "--mechanism", str(tmp_path / name)) == 2
        assert words in capsys.readouterr().err
