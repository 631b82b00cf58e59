"""What reaches a terminal, and where files go: names from files have no control characters, devices stay devices."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from dalenius.cli import main
from dalenius.model.channels.mechanism import Mechanism

EVIL = "\x1b[2J\x1b]0;x\x07\u202e"
QUICK = ["--tolerance", "1e-2", "--time-limit", "2"]


def clean(text: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in text)


def channel(folder: Path, first: str = "0.9,0.1") -> Path:
    path = folder / "channel.csv"
    path.write_text(f"{EVIL}no,{EVIL}yes\n{first}\n0.2,0.8\n", encoding="utf-8")
    return path


def test_labels_of_a_channel(tmp_path: Path) -> None:
    source = ["--channel", str(channel(tmp_path)), "--records", "2"]
    for command in (["audit", *source, "--knowledge", "0.3", *QUICK], ["profile", *source, *QUICK]):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0
        assert clean(done.stdout)


def test_errors_about_a_file(tmp_path: Path) -> None:
    source = ["--channel", str(channel(tmp_path, f"0.9,{EVIL}")), "--records", "2"]
    done = CliRunner().invoke(main, ["audit", *source, "--knowledge", "0.3"])
    assert done.exit_code == 2
    assert clean(done.stderr)
    assert len(done.stderr.splitlines()) == 1
    done = CliRunner().invoke(main, ["audit", "--query", f"{EVIL}\ncount(n=2)", "--mechanism", "x", "--entropy", "1"])
    assert clean(done.stderr)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("key", ["format", "problem", "adversary", "witness", "proofs"])
def test_verdicts(key: str, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    arguments = ["audit", "--query", "count(n=2)", "--mechanism", "geometric(epsilon=1)", "--entropy", "1", *QUICK]
    assert CliRunner().invoke(main, [*arguments, "--certificate", str(path)]).exit_code == 0
    content = json.loads(path.read_text())
    for value in (
        EVIL,
        {EVIL: EVIL},
        [EVIL],
        [{EVIL: 1, "kind": EVIL, "record": EVIL}],
        {"query": f"count(n={EVIL})", "mechanism": EVIL},
    ):
        path.write_text(json.dumps({**content, key: value}))
        done = CliRunner().invoke(main, ["verify", str(path)])
        assert done.exit_code == 1
        assert clean(done.stdout)


@pytest.mark.parametrize("option", ["--certificate", "--save", "--out", "--table", "--plot"])
def test_a_target_that_is_no_regular_file_is_refused_before_any_work(option: str, tmp_path: Path) -> None:
    ending = {"--table": ".csv", "--plot": ".png"}.get(option, ".json")
    pipe = tmp_path / f"pipe{ending}"
    os.mkfifo(pipe)
    arguments = ["design", "--query", "count(n=2)", "--distortion", "0.3", "--entropy", "0.5", *QUICK]
    for target, words in ((pipe, "a FIFO"), (Path(os.devnull), "a device"), (tmp_path, "a directory")):
        done = CliRunner().invoke(main, [*arguments, option, str(target)])
        assert done.exit_code == 2
        assert f"it is {words}; name a file" in done.stderr
        assert done.stdout == ""
    assert pipe.is_fifo()


def test_names_of_files_and_tables_of_labels(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["audit", "--load", str(tmp_path / f"{EVIL}\nm.json"), "--entropy", "1"])
    assert done.exit_code == 2
    assert clean(done.stderr)
    assert len(done.stderr.splitlines()) == 1
    table = Mechanism.from_matrix([[0.9, 0.1], [0.2, 0.8]], [2], labels=[f"{EVIL}\nno", "yes"]).table()
    assert clean(table)
    assert len(table.splitlines()) == 3
