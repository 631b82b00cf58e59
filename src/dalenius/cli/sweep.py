"""dalenius sweep: one question at every point of a grid."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalenius.cli.common import AS_JSON, FILE, INTERRUPTED, check_outputs, print_json
from dalenius.errors import InputError, printable

if TYPE_CHECKING:
    from dalenius.studies.running import Progress, Report

SOME_FAILED = 1


@click.command(short_help="Ask one question at every point of a grid.")
@click.argument("study", type=FILE)
@click.option("--store", type=FILE, help="Where results are kept; default: the study's name with .db.")
@click.option("--jobs", type=int, metavar="N", help="Processes; default one per core. Results do not depend on it.")
@click.option("--dask", metavar="ADDRESS", help="A Dask scheduler, such as tcp://host:8786, or local:4.")
@click.option("--csv", "table", type=FILE, help="Write the table here (.csv).")
@click.option("--parquet", type=FILE, help="Write the table here (.parquet).")
@click.option("--verify", "verifies", is_flag=True, help="Check the certificate of every point afterwards.")
@AS_JSON
def sweep(  # noqa: PLR0913 - one parameter per option
    *,
    study: Path,
    store: Path | None,
    jobs: int | None,
    dask: str | None,
    table: Path | None,
    parquet: Path | None,
    verifies: bool,
    as_json: bool,
) -> int:
    """Answer an audit, a design or a calibration at every point of the grid that a TOML file describes.

    Results are kept as they come, with their certificates: a run that was stopped or killed goes on when the same
    command is given again, and repeats nothing. Points that failed are tried again.

    \b
      dalenius sweep examples/study.toml --csv table.csv

    Exit codes: 0 all points done, 1 some point failed, 2 bad input, 130 interrupted.
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    check_outputs([("--csv", table), ("--parquet", parquet)], [study, store])
    for path, ending in ((table, ".csv"), (parquet, ".parquet")):
        if path is not None and path.suffix != ending:
            message = f"{path} does not end in {ending}"
            raise InputError(message)
    from dalenius.studies.study import Study  # noqa: PLC0415 - pydantic

    try:
        with _listener() as report:
            answered = Study.load(study).run(store=store, jobs=jobs, dask=dask, progress=report)
    except KeyboardInterrupt:
        click.echo("dalenius: interrupted: what had ended is kept; the same command goes on", err=True)
        return INTERRUPTED
    for path in (table, parquet):
        if path is not None:
            answered.export(path)
    verdict = answered.verify() if verifies else None
    if as_json:
        ended = [answered.name, len(answered.points), answered.failed]
        print_json(
            dict(zip(("study", "points", "failed"), ended, strict=True))
            | {
                "verified": None if verdict is None else bool(verdict),
                "store": str(answered.store),
                "rows": answered.rows(),
            }
        )
    else:
        click.echo("\n".join(map(printable, answered.summary().splitlines())))
        if verdict is not None:
            click.echo(f"Check      {printable(str(verdict))}")
    if answered.interrupted:
        return INTERRUPTED
    return SOME_FAILED if answered.failed or (verdict is not None and not verdict) else 0


@contextmanager
def _listener() -> "Iterator[Report]":
    """Yield what shows progress on standard error: a bar on a terminal, else a line every few seconds."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console  # noqa: PLC0415 - 100 ms that pipes need not pay
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn  # noqa: PLC0415 - the same
    from rich.progress import Progress as Bar  # noqa: PLC0415 - the same

    columns = (TextColumn("points"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[words]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("points", total=None, words="")

        def listen(state: "Progress") -> None:
            bar.update(task, completed=state.done + state.failed, total=state.total, words=_words(state))
            if state.text:
                bar.console.print(printable(state.text), highlight=False, markup=False)

        yield listen


class _Lines:
    """Plain lines where there is no terminal: everything said in words, and now and then how far it is."""

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
