"""dalenius frontier: the least leakage against the distortion allowed."""

from pathlib import Path

import click

from dalenius.cli import common


@click.command(short_help="Draw the least leakage against the distortion allowed.")
@common.QUERY
@click.option("--points", type=int, default=20, show_default=True, help="Designs along the curve.")
@common.REFERENCE
@common.adversary("Any prior that knows at most K, any prior under which the records are independent, or both.", "both")
@click.option("--named/--no-named", default=True, show_default=True, help="Also place mechanisms of the gallery.")
@common.solving(tolerance=1e-3, time_limit=300.0)
@common.writing("save", plot="the curve")
@common.AS_JSON
def frontier(*, query: str, reference: Path | None, files: common.Files, as_json: bool, **asked: common.Asked) -> int:
    """Design mechanisms along the distortion budget: the least leakage at each, with its certified band.

    With --adversary both the curve against independent records stands beside that against limited knowledge.
    The time limit is for everything together; points that it leaves no time for are left out.

    \b
      dalenius frontier --query "count(n=2)" --knowledge 0.5 --points 3 --no-named --time-limit 20
    """
    common.check_outputs(files, [reference])
    common.check_limit(asked)

    from dalenius.model.gallery.parse import parse_query

    about = parse_query(query)

    from dalenius.api import designs

    return common.finish(common.answered(designs.frontier, about, reference, asked), files, as_json=as_json)
