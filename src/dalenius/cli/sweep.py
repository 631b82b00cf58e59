"""dalenius sweep: one question at every point of a grid."""

from pathlib import Path

import click

from dalenius.cli.common import AS_JSON, FILE, INTERRUPTED, check_outputs, print_json
from dalenius.cli.points import listener
from dalenius.errors import printable, refuse

SOME_FAILED = 1


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
    if answered.interrupted:
        return INTERRUPTED
    return SOME_FAILED if answered.failed or (verdict is not None and not verdict) else 0
