"""dalenius frontier: the least leakage against the distortion allowed."""

from pathlib import Path

import click

from dalenius.cli.common import (
    AS_JSON,
    QUERY,
    REFERENCE,
    Asked,
    Files,
    check_outputs,
    exactly_one,
    finish,
    progress_line,
    reference_from,
    solving,
    writing,
)


@click.command(short_help="Draw the least leakage against the distortion allowed.")
@QUERY
@click.option("--points", type=int, default=20, show_default=True, help="Designs along the curve.")
@REFERENCE
@click.option("--named/--no-named", default=True, show_default=True, help="Also place mechanisms of the gallery.")
@solving(tolerance=1e-3, time_limit=300.0)
@writing("save", plot="the curve")
@AS_JSON
def frontier(*, query: str, reference: Path | None, files: Files, as_json: bool, **asked: Asked) -> int:
    """Design mechanisms along the distortion budget: the least leakage at each, with its certified band.

    The time limit is for everything together; points that it leaves no time for are left out.

    \b
      dalenius frontier --query "count(n=2)" --knowledge 0.5 --points 3 --no-named --time-limit 20
    """
    check_outputs(files, [reference])
    exactly_one(entropy=asked["entropy"], knowledge=asked["knowledge"])

    from dalenius.gallery.parse import parse_query

    about = parse_query(query)
    known = reference_from(reference, about)

    from dalenius.api import designs

    with progress_line(asked["unit"]) as listener:
        answer = designs.frontier(about, reference=known, progress=listener, **asked)
    return finish(answer, files, as_json=as_json)
