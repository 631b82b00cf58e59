"""The commands that show what there is to ask about: list, on a terminal, and explore, on a page of one's own."""

import inspect
import threading
from collections.abc import Callable
from typing import Any

import click

from dalenius.cli.common import AS_JSON, INTERRUPTED, print_json

MOST_PORT = 65_535


@click.command("list", short_help="List named queries and mechanisms, units and limits.")
@AS_JSON
def listing(*, as_json: bool) -> int:
    """List the queries and mechanisms that --query and --mechanism know, with their arguments, units and limits.

    \b
      dalenius list
    """
    from dalenius.model import checks
    from dalenius.model.gallery import plugins
    from dalenius.model.gallery.families import FAMILIES
    from dalenius.model.gallery.parse import QUERIES
    from dalenius.model.problem import NATS_PER_UNIT

    found: dict[str, Any] = {
        "queries": [_entry(name, build) for name, build in QUERIES.items()],
        "mechanisms": [
            *(_entry(name, family.build, skip=1) for name, family in FAMILIES.items()),
            *map(_other, plugins.names()),
        ],
        "units": list(NATS_PER_UNIT),
        "limits": {
            "datasets that are listed one by one": checks.MOST_DATASETS,
            "classes of a query": checks.MOST_CLASSES,
            "entries of a channel that is written out": checks.MOST_ENTRIES,
            "records": checks.MOST_RECORDS,
        },
    }
    if as_json:
        print_json(found)
        return 0
    for title in ("queries", "mechanisms"):
        click.echo(title.capitalize())
        for entry in found[title]:
            click.echo(f"  {entry['call']}\n      {entry['about']}")
    click.echo(f"Units\n  {', '.join(found['units'])}")
    click.echo("Limits")
    for what, most in found["limits"].items():
        click.echo(f"  {what}: {most}")
    return 0


def _other(name: str) -> dict[str, str]:
    """A mechanism of another distribution, or why it cannot be used."""
    from dalenius.errors import InputError
    from dalenius.model.gallery import plugins

    try:
        return _entry(name, plugins.load(name), skip=1)
    except (InputError, ValueError, TypeError) as error:  # the latter two: it has no signature
        return {"name": name, "call": name, "about": f"{error}."}


def _entry(name: str, build: Callable[..., object], skip: int = 0) -> dict[str, str]:
    """The call with its arguments, and the first sentence of its documentation."""
    parameters = [
        one.name if one.default is inspect.Parameter.empty else f"{one.name}={one.default!r}"
        for one in list(inspect.signature(build).parameters.values())[skip:]
    ]
    about = (inspect.getdoc(build) or "").split("\n\n")[0].replace("\n", " ")
    return {"name": name, "call": f"{name}({', '.join(parameters)})", "about": about}


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
    this machine only, until Ctrl-C.
    """
    from dalenius.explore.server import serve

    def announce(address: str) -> None:
        click.echo(address)
        if not no_browser:
            threading.Thread(target=click.launch, args=(address,), daemon=True).start()

    try:
        serve(port, announce)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
