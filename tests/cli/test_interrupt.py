"""Ctrl-C before there is anything to show: exit code 130, and no traceback, whatever is being imported."""

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("target", ["dalenius.cli", "click", "numpy", "scipy.special._ufuncs", "dalenius.api", "flint"])
def test_an_interrupt_while_importing_ends_quietly(target: str) -> None:
    command = [sys.executable, "-c", HOOK.format(target=target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own interpreter
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_package_itself_imports_nothing() -> None:
    code = "import sys; before = set(sys.modules); import dalenius; print(*set(sys.modules) - before)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own interpreter
    assert done.stdout.split() == ["dalenius"]
