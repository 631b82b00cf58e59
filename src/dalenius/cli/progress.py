"""Progress on standard error: a line with the bracket of one search, a bar or plain lines for a run of many points."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dalenius.errors import printable

if TYPE_CHECKING:
    from dalenius.search import deadline
    from dalenius.studies.running import Progress, Report


@contextmanager
def progress_line(unit: str, symbol: str = "L") -> Iterator[Any]:
    """Yield a listener that keeps one line on standard error up to date, or False where that is not a terminal.

    unit: nats, bits, or nothing for a bracket that is not of information.
    """
    if not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from dalenius.model.problem import NATS_PER_UNIT
    from dalenius.numerics.rounding import short_up

    scale = NATS_PER_UNIT.get(unit, 1.0)
    with Live(console=Console(stderr=True), transient=True, refresh_per_second=8) as live:

        def listen(state: "deadline.Progress") -> None:
            lower, upper = state.lower / scale, state.upper / scale
            bracket = f"{lower:.6f} <= {symbol} <= {upper:.6f} {unit}".rstrip()
            whose = f"record {state.record} ({state.records} in all), " if state.records > 1 else ""
            who = f"{whose}{state.nodes} nodes, " if symbol == "L" else ""
            live.update(Text(f"{state.stage}: {bracket}, gap {short_up(upper - lower)}, {who}{state.seconds:.1f} s"))

        yield listen


@contextmanager
def listener() -> "Iterator[Report]":
    """Yield what shows progress on standard error: a bar on a terminal, else a line every few seconds."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("points"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[words]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("points", total=None, words="")

        def listen(state: "Progress") -> None:
            bar.update(task, completed=state.done + state.failed, total=state.total, words=_words(state))
            if state.text:
                bar.console.print(printable(state.text), highlight=False, markup=False)

        yield listen


class _Lines:
    """Plain lines where there is no terminal: every message, and now and then how far the run is."""

    def __init__(self, pause: float = 5.0) -> None:
        self.pause, self.last = pause, time.monotonic()

    def __call__(self, state: "Progress") -> None:
        now = time.monotonic()
        if state.text:
            click.echo(printable(state.text), err=True)
        elif now - self.last >= self.pause:
            self.last = now
            click.echo(f"{state.done + state.failed} of {state.total} points, {_words(state)}", err=True)


def _words(state: "Progress") -> str:
    left = "" if state.left is None else f"about {_time(state.left)} left, "
    failed = f"{state.failed} failed, " if state.failed else ""
    return f"{failed}{left}widest gap {state.gap:.2g}"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
