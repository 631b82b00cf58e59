"""The command line as tests call it."""

from click.testing import CliRunner, Result

from dalenius.cli import main


def command(*arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, list(map(str, arguments)))


def refused(result: Result, *words: str) -> None:
    """One message, exit code 2, nothing on standard output, no traceback."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("dalenius: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
