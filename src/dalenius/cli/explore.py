"""dalenius explore: a page on the user's own machine."""

import threading

import click

from dalenius.cli.common import INTERRUPTED
from dalenius.errors import refuse

MOST_PORT = 65_535


@click.command(short_help="Open a page with controls for everything.")
@click.option(
    "--port",
    type=click.IntRange(0, MOST_PORT),
    default=0,
    show_default=True,
    help="Port to listen on; 0 takes any free one.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def explore(*, port: int, no_browser: bool) -> int:
    """Open a page on this machine: turn the knobs and see what a release leaks.

    \b
      dalenius explore --no-browser

    The address is printed on a line of its own. It holds a token, without which the server answers nothing. It works on
    this machine only, until Ctrl-C. The command needs the extra `explore`: pip install "dalenius[explore]".
    """
    try:
        from dalenius.explore.server import serve
    except ImportError as error:
        refuse(f'dalenius explore needs {error.name}, which is not installed; pip install "dalenius[explore]"')

    def announce(address: str) -> None:
        click.echo(address)
        if not no_browser:
            threading.Thread(target=click.launch, args=(address,), daemon=True).start()

    try:
        serve(port, announce)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
