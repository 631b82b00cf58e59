"""What commands share: where a mechanism comes from, files that are written last, progress."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalenius.errors import InputError

if TYPE_CHECKING:
    from dalenius.model.mechanism import Mechanism
    from dalenius.solvers.watch import Progress

SOURCES = "--query with --mechanism, --channel with --records, or --load"
EXAMPLES = {
    "--query": '"count(n=4)"',
    "--mechanism": '"geometric(epsilon=1)"',
    "--channel": "channel.csv",
    "--records": "2,2,2",
}


def mechanism_from(
    query: str | None, mechanism: str | None, channel: Path | None, records: str | None, load: Path | None
) -> "Mechanism":
    """Return the mechanism that exactly one source describes."""
    given = {"--query": query, "--mechanism": mechanism, "--channel": channel, "--records": records, "--load": load}
    options = {name for name, value in given.items() if value is not None}
    for first, second in (("--query", "--mechanism"), ("--channel", "--records")):
        if len(options & {first, second}) == 1:
            here = (options & {first, second}).pop()
            missing = ({first, second} - {here}).pop()
            message = f"{here} needs {missing} beside it, such as {missing} {EXAMPLES[missing]}"
            raise InputError(message)
    if options not in ({"--query", "--mechanism"}, {"--channel", "--records"}, {"--load"}):
        message = f"say what to audit, in one way: {SOURCES}; given: {', '.join(sorted(options)) or 'none of them'}"
        raise InputError(message)

    from dalenius.gallery.parse import parse_mechanism, parse_query  # noqa: PLC0415 - numpy
    from dalenius.model.mechanism import Mechanism  # noqa: PLC0415 - the same

    if query is not None and mechanism is not None:
        return parse_mechanism(mechanism, parse_query(query))
    if channel is not None and records is not None:
        return Mechanism.from_matrix(channel, alphabet_sizes(records))
    return Mechanism.load(load or "")


def alphabet_sizes(text: str) -> list[int]:
    """Return [2, 2, 2] for 2,2,2."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        message = f"--records {text!r} is not a list of alphabet sizes; write whole numbers such as 2,2,2"
        raise InputError(message) from None


def check_outputs(outputs: Sequence[tuple[str, Path | None]], inputs: Sequence[Path | None]) -> None:
    """Refuse, before any work, a file that could not be written or that would replace an input."""
    taken = {path.resolve(): "an input" for path in inputs if path is not None}
    for option, path in outputs:
        if path is None:
            continue
        problem = _unwritable(path)
        if path.resolve() in taken:
            problem = f"it is also {taken[path.resolve()]}; choose another name"
        if problem:
            message = f"{option} {path}: {problem}"
            raise InputError(message)
        taken[path.resolve()] = f"the file of {option}"


def _unwritable(path: Path) -> str:
    folder = path.parent
    if path.is_dir():
        return "it is a directory; name a file"
    if not folder.is_dir():
        return f"there is no directory {folder}; make it first"
    return "" if os.access(folder, os.W_OK) else f"the directory {folder} cannot be written to"


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(content, allow_nan=False))


@contextmanager
def progress_line(unit: str) -> Iterator[Any]:
    """Yield a listener that keeps one line on standard error up to date, or False where that is no terminal."""
    if not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console  # noqa: PLC0415 - 100 ms that pipes need not pay
    from rich.live import Live  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    from dalenius.report.numbers import short_up  # noqa: PLC0415
    from dalenius.results import NATS_PER_UNIT  # noqa: PLC0415 - numpy

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=8) as live:

        def listen(state: "Progress") -> None:
            lower, upper = state.lower / NATS_PER_UNIT[unit], state.upper / NATS_PER_UNIT[unit]
            live.update(
                Text(
                    f"{state.stage}: {lower:.6f} <= L <= {upper:.6f} {unit}, gap {short_up(upper - lower)}, "
                    f"record {state.record} ({state.records} in all), {state.nodes} nodes, {state.seconds:.1f} s"
                )
            )

        yield listen
