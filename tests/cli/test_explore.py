"""dalenius explore, before any server is there."""

import pytest
from click.testing import CliRunner

from dalenius.cli import main


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_cannot_be_is_refused(port: str) -> None:
    done = CliRunner().invoke(main, ["explore", "--port", port])
    assert done.exit_code == 2
    assert "--port" in done.stderr
