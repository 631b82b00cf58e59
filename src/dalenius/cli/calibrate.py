"""dalenius calibrate: the least noise of a named mechanism that meets a leakage budget."""

from functools import partial
from pathlib import Path

import click

from dalenius.cli import common


@click.command(short_help="Find the least noise that meets a leakage budget.")
@click.option("--family", metavar="NAME", required=True, help="A mechanism of the gallery, such as geometric.")
@common.QUERY
@click.option(
    "--leakage", type=float, metavar="L", required=True, help="The most leakage about a record that is allowed."
)
@click.option(
    "--accuracy", type=float, default=1e-3, show_default=True, help="Relative accuracy of the parameter found."
)
@common.REFERENCE
@common.adversary("Any prior that knows at most K, or any prior under which the records are independent.")
@common.solving(tolerance=1e-6, time_limit=300.0)
@common.writing(
    "certificate",
    "out",
    "save",
    plot="the audit of the mechanism",
)
@common.AS_JSON
def calibrate(
    *, family: str, query: str, reference: Path | None, files: common.Files, as_json: bool, **asked: common.Asked
) -> int:
    """Find the least noise of a named mechanism whose certified leakage is at most L.

    The certificate is that of the audit of the mechanism found.

    \b
      dalenius calibrate --family geometric --query "count(n=4)" --leakage 0.05 --knowledge 0.5
    """
    common.check_outputs(files, [reference])
    common.check_limit(asked)

    from dalenius.model.gallery.parse import parse_query

    about = parse_query(query)

    from dalenius.tools.calibration import calibrate as least_noise

    answer = common.answered(partial(least_noise, family), about, reference, asked)
    return common.finish(answer, files, as_json=as_json, about=answer.leakage)
