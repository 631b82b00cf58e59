"""The command `dalenius`: heavy imports only where they are used."""

import sys
import warnings
from typing import Any, NoReturn

import click

from dalenius.cli.common import INTERRUPTED, Suggesting
from dalenius.cli.files import compose, prove, report, verify
from dalenius.cli.ledger import ledger
from dalenius.cli.offers import explore, listing
from dalenius.cli.questions import audit, calibrate, curve, design, frontier, leakage, profile
from dalenius.cli.runs import check, reproduce, sweep
from dalenius.errors import InputError, printable
from dalenius.model.files import __version__

BAD_INPUT = 2


class Program(Suggesting):
    """A group whose every failure is one sentence on standard error and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and leave with its exit code: 0 done, 1 no, 2 bad input, 130 interrupted."""
        try:
            with warnings.catch_warnings():
                for kind in (RuntimeWarning, UserWarning):  # of numpy and scipy: what they compute is not trusted
                    warnings.simplefilter("ignore", kind)
                code = super().main(*args, **{"prog_name": "dalenius", **extra, "standalone_mode": False})
        except click.Abort:
            _fail("interrupted before there was a result", INTERRUPTED)
        except click.ClickException as error:
            _fail(error.format_message(), BAD_INPUT)
        except InputError as error:
            _fail(str(error), BAD_INPUT)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _fail(f"{where}{error.strerror or error}", BAD_INPUT)
        except MemoryError:
            _fail("this problem needs more memory than there is; use fewer records or outputs", BAD_INPUT)
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    click.echo(f"dalenius: {printable(message)}", err=True)
    sys.exit(code)


@click.group(cls=Program, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dalenius", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """How much can a release teach about one record, and which release teaches least? Both bounds, with a certificate.

    \b
      dalenius audit --query "count(n=4)" --mechanism "geometric(epsilon=1)" --knowledge 0.5

    Exit codes: 0 done, 1 the answer is no (verify, check), 2 bad input, 3 undecided (check), 130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


COMMANDS = (
    audit, curve, leakage, profile, design, frontier, calibrate, compose, ledger, verify, prove, listing, sweep, check,
    report, explore, reproduce,
)  # fmt: skip
for command in COMMANDS:
    main.add_command(command)
