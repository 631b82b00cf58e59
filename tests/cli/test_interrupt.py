"""Ctrl-C before there is anything to show: exit code 130, and no traceback, whatever is being imported."""

import json
import os
import signal
import subprocess
import sys
from importlib import import_module

import pytest
from click.testing import CliRunner

import dalenius as dl
from dalenius.cli import main
from dalenius.search.deadline import Deadline

HOOK = """
import os, runpy, signal, sys

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == {target!r}:
            os.kill(os.getpid(), signal.SIGINT)
        return None

sys.meta_path.insert(0, Hook())
sys.argv = ["dalenius", "audit", "--query", "count(n=2)", "--mechanism", "geometric(epsilon=1)", "--entropy", "1"]
runpy.run_module("dalenius", run_name="__main__")
"""


@pytest.mark.parametrize(
    "target", ["dalenius.cli", "click", "numpy", "dalenius.verifier.verify", "dalenius.api", "flint"]
)
def test_an_interrupt_while_importing_ends_quietly(target: str) -> None:
    command = [sys.executable, "-c", HOOK.format(target=target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_whole_curve_has_no_mark() -> None:
    curve = dl.curve(dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1), knowledges=[0.1], tolerance=1e-2)
    assert (curve.missing, curve.stopped) == (0, "gap")
    assert "missing" not in curve.summary()


def test_work_inside_work_that_was_interrupted_does_not_begin_in_earnest() -> None:
    with Deadline(60.0) as outer:
        os.kill(os.getpid(), signal.SIGINT)
        assert outer.interrupted
        with Deadline(60.0) as inner:
            assert inner.expired()
    part = Deadline(60.0, parent=outer)
    assert part.broken_off
    assert not part.interrupted


CURVE = ("curve", "--query", "count(n=2)", "--mechanism", "geometric(epsilon=1)", "--knowledges", "0.1,0.2,0.3")
FRONTIER = ("frontier", "--query", "count(n=2)", "--knowledge", "0.5", "--points", "3", "--no-named")


@pytest.mark.parametrize(
    ("command", "function"), [(CURVE, "dalenius.api.audits.solve"), (FRONTIER, "dalenius.api.designs.design_answer")]
)
def test_the_commands_exit_with_130_and_print_what_is_there(
    command: tuple[str, ...], function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, name = function.rpartition(".")
    answer = getattr(import_module(module), name)

    def interrupted(*given: object, **options: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        return answer(*given, **options)

    monkeypatch.setattr(function, interrupted)
    done = CliRunner().invoke(main, [*command, "--json"])
    assert done.exit_code == 130
    said = json.loads(done.stdout)
    assert (said["stopped"], said["missing"], len(said["points"])) == ("interrupted", 2, 1)
