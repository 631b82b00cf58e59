"""dalenius profile: the usual measures of a mechanism side by side."""

from pathlib import Path

import click

from dalenius.cli.common import (
    AS_JSON,
    REFERENCE,
    SEED,
    UNIT,
    Asked,
    Files,
    Source,
    about_a_mechanism,
    check_outputs,
    finish,
    gap,
    limit,
    numbers,
    progress_line,
    reference_from,
    writing,
)


@click.command()
@about_a_mechanism
@REFERENCE
@numbers("--entropies", "B,B,...", "Values of b; default: 0, 1/4, 1/2, 3/4, 0.9 and 1 times log|X|.")
@click.option(
    "--epsilon", type=float, metavar="E", help="Epsilon (natural logarithm) at which delta is computed; default: 1."
)
@UNIT
@gap(1e-4, "Gap at which an audit stops.")
@limit(60.0, "Seconds for everything together.")
@SEED
@writing(plot="L(b) below the other measures")
@AS_JSON
def profile(*, source: Source, reference: Path | None, files: Files, as_json: bool, **asked: Asked) -> int:
    """Show the usual measures of a mechanism side by side.

    Leakage about a record at several b and with independent records, capacity, maximal and min-entropy leakage,
    differential privacy, distortion.

    \b
      dalenius profile --query "count(n=4)" --mechanism "geometric(epsilon=1)"
      dalenius profile --channel examples/channel.csv --records 2,2,2 --entropies 0,1,2
    """
    check_outputs(files, [*source.files, reference])
    described = source.described()
    known = reference_from(reference, described)
    with progress_line(asked["unit"]) as listener:
        answer = described.profile(reference=known, progress=listener, **asked)
    return finish(answer, files, as_json=as_json)
