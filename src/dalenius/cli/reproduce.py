"""dalenius reproduce: the paper's figures and table, measured again beside certified brackets."""

from pathlib import Path

import click

from dalenius.cli.common import AS_JSON, FILE, INTERRUPTED, SEED, print_json
from dalenius.cli.points import listener

UNVERIFIED = 1


@click.command(short_help="Measure the paper's figures and table again.")
@click.option("--out", type=FILE, required=True, metavar="DIR", help="Directory for everything that is written.")
@click.option("--only", multiple=True, metavar="NAME", help="Only this experiment; may be repeated.")
@click.option("--quick", is_flag=True, help="Coarser grids, fewer starts: a minute or two, not ten to twenty.")
@click.option("--jobs", type=int, metavar="N", help="Processes; default: one per core.")
@SEED
@AS_JSON
def reproduce(*, out: Path, only: tuple[str, ...], quick: bool, jobs: int | None, seed: int, as_json: bool) -> int:
    """Run the evaluation of the paper: its own algorithms, as printed and with repairs, beside certified brackets.

    Writes DIR/index.html, the paper's figures, and for every experiment a CSV of every number, and certificates.
    An interrupted run goes on when the same command is given again. Experiments:

    \b
      saddle entropy epsilon distortion primal dual table closed-forms pairs modular
      convergence global text

    \b
      dalenius reproduce --quick --only saddle --only closed-forms --out paper

    Exit codes: 0 done, 1 a certificate was not verified, 2 bad input, 130 interrupted.
    """
    from dalenius.paper.reproduce.run import Interrupted
    from dalenius.paper.reproduce.run import reproduce as run_experiments

    try:
        with listener() as report:
            answer = run_experiments(out, only or None, quick=quick, jobs=jobs, seed=seed, report=report)
    except Interrupted as interruption:
        click.echo(f"dalenius: {interruption}", err=True)
        return INTERRUPTED
    print_json(answer.to_dict()) if as_json else click.echo(answer.summary())
    return 0 if answer.verified else UNVERIFIED
