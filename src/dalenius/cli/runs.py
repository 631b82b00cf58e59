"""The commands that run many questions: check, sweep and reproduce."""

from pathlib import Path

import click

from dalenius.cli.common import AS_JSON, FILE, INTERRUPTED, SEED, check_outputs, print_json
from dalenius.cli.progress import listener
from dalenius.errors import printable, refuse

# Exit codes of sweep and reproduce.
SOME_FAILED, UNVERIFIED = 1, 1


@click.command(short_help="Decide whether releases keep their leakage budgets.")
@click.argument("spec", type=FILE)
@AS_JSON
def check(*, spec: Path, as_json: bool) -> int:
    """Decide, by certified bounds, whether every release of a TOML file keeps its leakage budget.

    Each release has one [[check]] table: budget, what is released (query and mechanism, channel and records, or
    load), and the adversary (knowledge or entropy). name is optional, certificate names a file for the proof. nodes = N
    limits the work by its amount and not by the clock, so that a busy machine does not change the answer.

    \b
      dalenius check examples/gate.toml

    Exit codes: 0 every upper bound is within its budget, 1 some lower bound is above it, 3 undecided within the
    limits, 2 bad input (found before any work), 130 interrupted.
    """
    from dalenius.studies.gate import exit_code, read_checks, run_checks

    done = []
    for checked in run_checks(read_checks(spec)):
        done.append(checked)
        if not as_json:
            click.echo(printable(str(checked)))
    interrupted = done[-1].stopped == "interrupted"
    code = INTERRUPTED if interrupted else exit_code([one.verdict for one in done])
    if as_json:
        print_json({"checks": [one.to_dict() for one in done], "exit": code})
    return code


@click.command(short_help="Ask one question at every point of a grid.")
@click.argument("study", type=FILE)
@click.option("--store", type=FILE, help="Where results are kept; default: the study's name with .db.")
@click.option("--jobs", type=int, metavar="N", help="Processes; default: one per core. Results do not depend on it.")
@click.option("--dask", metavar="ADDRESS", help="A Dask scheduler, such as tcp://host:8786, or local:4.")
@click.option("--csv", "table", type=FILE, help="Write the table here (.csv).")
@click.option("--parquet", type=FILE, help="Write the table here (.parquet).")
@click.option("--verify", "verifies", is_flag=True, help="Check the certificate of every point afterwards.")
@AS_JSON
def sweep(
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

    Every result is kept as soon as it is there, with its certificate. A run that was stopped or killed continues when
    the same command is given again, and repeats nothing. It tries failed points again.

    \b
      dalenius sweep examples/study.toml --csv table.csv

    Exit codes: 0 all points done, 1 some point failed, 2 bad input, 130 interrupted.
    """
    check_outputs({"csv": table, "parquet": parquet}, [study, store])
    for path, ending in ((table, ".csv"), (parquet, ".parquet")):
        if path is not None and path.suffix != ending:
            refuse(f"{path} does not end in {ending}")
    from dalenius.studies.study import Study, need

    if parquet is not None:
        need("pyarrow", "a Parquet file")

    try:
        with listener() as report:
            answered = Study.load(study).run(store=store, jobs=jobs, dask=dask, progress=report)
    except KeyboardInterrupt:
        click.echo("dalenius: interrupted: finished points are kept; the same command continues", err=True)
        return INTERRUPTED
    for path in (table, parquet):
        if path is not None:
            answered.export(path)
    verified = bool(answered.verify()) if verifies else None
    if as_json:
        counts = {"study": answered.name, "points": len(answered.points), "failed": answered.failed}
        print_json({**counts, "verified": verified, "store": str(answered.store), "rows": answered.rows()})
    else:
        click.echo("\n".join(map(printable, answered.summary().splitlines())))
    if answered.interrupted:
        return INTERRUPTED
    return SOME_FAILED if answered.failed or verified is False else 0


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
