"""dalenius frontier: the least leakage against the distortion allowed."""

from pathlib import Path

import click

from dalenius.cli.common import (
    AS_JSON,
    FILE,
    REFERENCE,
    check_outputs,
    exactly_one,
    finish,
    progress_line,
    reference_from,
    solving,
    write_picture,
)


@click.command(short_help="Draw the least leakage against the distortion allowed.")
@click.option("--query", metavar="CALL", required=True, help='A query of the gallery, such as "count(n=4)".')
@click.option("--points", type=int, default=20, show_default=True, help="Designs along the curve.")
@REFERENCE
@click.option("--named/--no-named", default=True, show_default=True, help="Also place mechanisms of the gallery.")
@solving(tolerance=1e-3, time_limit=300.0, methods=["certified"])
@click.option("--save", type=FILE, help="Write the whole answer here (.json); dl.load reads it.")
@click.option("--plot", type=FILE, help="Draw the curve here (.png, .svg, .pdf).")
@AS_JSON
def frontier(  # noqa: PLR0913 - one parameter per option
    *,
    query: str,
    points: int,
    reference: Path | None,
    named: bool,
    entropy: float | None,
    knowledge: float | None,
    unit: str,
    method: str,  # noqa: ARG001 - certified is the only one
    tolerance: float,
    time_limit: float,
    seed: int,
    save: Path | None,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Design mechanisms along the distortion budget: the least leakage at each, with its certified band.

    The time limit is for everything together; points that it leaves no time for are left out.

    \b
      dalenius frontier --query "count(n=2)" --knowledge 0.5 --points 3 --no-named --time-limit 20
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    check_outputs([("--save", save), ("--plot", plot)], [reference])
    exactly_one(entropy=entropy, knowledge=knowledge)

    from dalenius.gallery.parse import parse_query  # noqa: PLC0415 - numpy

    asked = parse_query(query)
    known = reference_from(reference, asked)

    from dalenius import api  # noqa: PLC0415 - scipy

    with progress_line(unit) as listener:
        answer = api.frontier(
            asked,
            entropy=entropy,
            knowledge=knowledge,
            points=points,
            unit=unit,
            reference=known,
            tolerance=tolerance,
            time_limit=time_limit,
            seed=seed,
            named=named,
            progress=listener,
        )
    files = [(save, answer.save), (plot, write_picture(answer.plot))]
    return finish(answer, as_json=as_json, certificate=None, files=files)
