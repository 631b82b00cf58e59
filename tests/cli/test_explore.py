"""dalenius explore, before any server is there."""

import sys

import pytest
from click.testing import CliRunner

from dalenius.cli import main


def test_without_its_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("uvicorn", "starlette", "dalenius.explore.server"):
        monkeypatch.setitem(sys.modules, name, None)
    done = CliRunner().invoke(main, ["explore", "--no-browser"])
    assert done.exit_code == 2
    assert 'pip install "dalenius[explore]"' in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_cannot_be_is_refused(port: str) -> None:
    done = CliRunner().invoke(main, ["explore", "--port", port])
    assert done.exit_code == 2
    assert "--port" in done.stderr
