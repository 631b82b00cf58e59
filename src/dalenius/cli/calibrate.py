"""dalenius calibrate: the least noise of a named mechanism that meets a leakage budget."""

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


@click.command(short_help="Find the least noise that meets a leakage budget.")
@click.option("--family", metavar="NAME", required=True, help="A mechanism of the gallery, such as geometric.")
@QUERY
@click.option(
    "--leakage", type=float, metavar="L", required=True, help="The most leakage about a record that is allowed."
)
@click.option(
    "--accuracy", type=float, default=1e-3, show_default=True, help="Relative accuracy of the parameter found."
)
@REFERENCE
@solving(tolerance=1e-6, time_limit=300.0)
@writing(
    "certificate",
    "out",
    "save",
    save="Write the audit of the mechanism here (.json); dl.load reads it.",
    plot="that audit",
)
@AS_JSON
def calibrate(*, family: str, query: str, reference: Path | None, files: Files, as_json: bool, **asked: Asked) -> int:
    """Find the least noise of a named mechanism whose certified leakage is at most L.

    The certificate is that of the audit of the mechanism found.

    \b
      dalenius calibrate --family geometric --query "count(n=4)" --leakage 0.05 --entropy 2
    """
    check_outputs(files, [reference])
    exactly_one(entropy=asked["entropy"], knowledge=asked["knowledge"])

    from dalenius.model.gallery.parse import parse_query

    named = parse_query(query)

    from dalenius.tools.calibration import calibrate as least_noise

    with progress_line(asked["unit"]) as listener:
        known = reference_from(reference, named)
        answer = least_noise(family, named, reference=known, progress=listener, **asked)
    return finish(answer, files, as_json=as_json, about=answer.leakage)
