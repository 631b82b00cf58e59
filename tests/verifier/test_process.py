"""The child that checks a file, from inside: what the system limits, and how its end is told."""

import io
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from damage import GOLDEN, golden

from dalenius.verifier import __main__ as alone
from dalenius.verifier import process

FILE = GOLDEN / "sibson.json"


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """What a child would limit itself to; this process stays as it is."""
    found: dict[int, int] = {}
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", lambda what, pair: found.update({what: pair[1]}))
    monkeypatch.setattr(signal, "setitimer", lambda what, seconds: found.update({-what - 1: seconds}))
    return found


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What the child would print of the certificate."""
    with FILE.open("rb") as file:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(file.read())))
    assert process.main(list(arguments)) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_a_child_limits_itself_and_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], limits: dict[int, int]
) -> None:
    assert run(monkeypatch, capsys, "100", "2.5")["verified"]
    assert limits[resource.RLIMIT_CPU] == limits[-signal.ITIMER_REAL - 1] == 13
    assert limits[resource.RLIMIT_CORE] == 0
    assert 164 * 2**20 < limits[resource.RLIMIT_AS] < 2**36


def test_a_child_is_told_of_the_mechanism_by_a_descriptor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], limits: dict[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "mechanism.json"
    path.write_text(json.dumps({"query": "count(n=3)", "mechanism": "geometric(epsilon=2)"}))
    answer = run(monkeypatch, capsys, "100", "2.5", str(os.open(path, os.O_RDONLY)))
    assert "another channel" in answer["reason"]
    assert limits


def test_a_limit_is_never_raised_and_no_limit_is_none(
    monkeypatch: pytest.MonkeyPatch, limits: dict[int, int], tmp_path: Path
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (5, 7))
    monkeypatch.setattr(process, "STATM", tmp_path / "none")
    process._limit(10, 100)
    assert limits[resource.RLIMIT_CPU] == 7
    assert resource.RLIMIT_AS not in limits
    limits.clear()
    process._lower(resource.RLIMIT_AS, 2**62)
    assert not limits


def test_the_end_of_a_child_is_told_by_its_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    for ended, words in (
        (-signal.SIGXCPU, "the time limit was reached"),
        (-signal.SIGABRT, "more than 9 MiB"),
        (3, "3"),
    ):
        code = f"import os, sys; sys.exit({ended}) if {ended} > 0 else os.kill(os.getpid(), {-ended})"
        monkeypatch.setattr(process, "CHILD", code)
        assert words in process.verdict(FILE, None, memory=9, time_limit=5)["reason"]


def test_a_child_does_not_outlive_an_interrupted_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def communicate(self, *_: object, **__: object) -> tuple[bytes, bytes]:
            started.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    monkeypatch.setattr(process, "CHILD", "import time; time.sleep(60)")
    with pytest.raises(KeyboardInterrupt):
        process.verdict(FILE, None, memory=9, time_limit=5)
    assert started[0].poll() == -signal.SIGKILL


def say(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the verifier's own command in this process, files too."""
    monkeypatch.setattr(process, "available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["verifier", *arguments])
    return alone.main()


def test_the_verifier_alone_prints_its_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert say(monkeypatch, str(FILE)) == 0
    assert capsys.readouterr().out.startswith("VERIFIED 0.152817327951791 <= L <= 0.7 nats: every number")
    assert say(monkeypatch, str(GOLDEN / "samples.json")) == 0
    assert "nats with confidence 0.9:" in capsys.readouterr().out
    assert say(monkeypatch, str(FILE), "--json") == 0
    assert json.loads(capsys.readouterr().out)["verified"] is True
    data = golden("sibson") | {"problem": {"query": "count(n=3)\x1b", "mechanism": "\x1b"}}
    (tmp_path / "odd.json").write_text(json.dumps(data))
    assert say(monkeypatch, str(tmp_path / "odd.json")) == 1
    out = capsys.readouterr().out
    assert out.startswith("NOT VERIFIED: ")
    assert "\x1b" not in out


def test_the_verifier_alone_compares_with_a_saved_mechanism(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
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
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "deep").write_text("[" * 10**5)
    for name, words in (("fifo", "is not a file"), ("deep", "recursion"), ("none", "No such file")):
        assert say(monkeypatch, str(FILE), "--mechanism", str(tmp_path / name)) == 2
        assert words in capsys.readouterr().err
