"""dalenius explore: a page on one's own machine."""

import threading

import click

from dalenius.cli.common import INTERRUPTED
from dalenius.errors import InputError

MOST_PORT = 65_535


@click.command(short_help="Open a page where one turns the knobs.")
@click.option(
    "--port",
    type=click.IntRange(0, MOST_PORT),
    default=0,
    show_default=True,
    help="Where to listen; 0 for any free port.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def explore(*, port: int, no_browser: bool) -> int:
    """Open a page on this machine: turn the knobs, and see what a release tells.

    \b
      dalenius explore --no-browser

    The address is printed alone on one line. It holds a token, without which nothing is answered, and works on this
    machine only, until Ctrl-C. Needs the extra `explore`: pip install "dalenius[explore]".
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    try:
        from dalenius.explore.server import serve  # noqa: PLC0415 - optional, and a third of a second
    except ImportError as error:
        message = f'dalenius explore needs {error.name}, which is not installed; pip install "dalenius[explore]"'
        raise InputError(message) from None

    def announce(address: str) -> None:
        click.echo(address)
        if not no_browser:
            threading.Thread(target=click.launch, args=(address,), daemon=True).start()

    try:
        serve(port, announce)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
