"""dalenius reproduce: the paper's figures and table, measured again beside certified brackets."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalenius.cli.common import AS_JSON, FILE, INTERRUPTED, print_json

if TYPE_CHECKING:
    from dalenius.reproduce.run import Progress, Report

UNVERIFIED = 1


@click.command(short_help="Measure the paper's figures and table again.")
@click.option("--out", type=FILE, required=True, metavar="DIR", help="Where everything is written.")
@click.option("--only", multiple=True, metavar="NAME", help="Only this experiment; may be repeated.")
@click.option("--quick", is_flag=True, help="Coarser grids: about two minutes instead of twenty, on two cores.")
@click.option("--jobs", type=int, metavar="N", help="Processes; default one per core.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random starts.")
@AS_JSON
def reproduce(  # noqa: PLR0913 - one parameter per option
    *, out: Path, only: tuple[str, ...], quick: bool, jobs: int | None, seed: int, as_json: bool
) -> int:
    """Run the evaluation of the paper: its own algorithms, as printed and with repairs, beside certified brackets.

    Writes DIR/index.html, and for every experiment pictures, a CSV of every number, and certificates. An
    interrupted run goes on when the same command is given again. Experiments:

    \b
      saddle entropy epsilon distortion primal dual table closed-forms pairs modular
      convergence global text

    Exit codes: 0 done, 1 a certificate was not verified, 2 bad input, 130 interrupted.
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    from dalenius.reproduce.run import Interrupted  # noqa: PLC0415 - numpy, scipy
    from dalenius.reproduce.run import reproduce as run_experiments  # noqa: PLC0415 - the same

    try:
        with _listener() as report:
            answer = run_experiments(out, only or None, quick=quick, jobs=jobs, seed=seed, report=report)
    except Interrupted as interruption:
        click.echo(f"dalenius: {interruption}", err=True)
        return INTERRUPTED
    print_json(answer.to_dict()) if as_json else click.echo(answer.summary())
    return 0 if answer.verified else UNVERIFIED


@contextmanager
def _listener() -> "Iterator[Report]":
    """Yield what shows progress on standard error: a bar on a terminal, else a line now and then."""
    if not sys.stderr.isatty():
        yield _lines
        return
    from rich.console import Console  # noqa: PLC0415 - 100 ms that pipes need not pay
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - the same
    from rich.progress import Progress as Bar  # noqa: PLC0415 - the same

    columns = (TextColumn("points"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("points")

        def listen(state: "Progress") -> None:
            bar.update(task, completed=state.done, total=state.total)
            if state.text:
                bar.console.print(state.text, highlight=False)

        yield listen


def _lines(state: "Progress") -> None:
    if state.text:
        click.echo(state.text, err=True)
