"""dalenius curve: the leakage about a record along what the adversary may know."""

from pathlib import Path

import click

from dalenius.cli.common import (
    AS_JSON,
    FILE,
    REFERENCE,
    SEED,
    UNIT,
    Source,
    about_a_mechanism,
    check_outputs,
    finish,
    numbers_from,
    progress_line,
    reference_from,
    secret_from,
    write_picture,
)
from dalenius.errors import InputError


@click.command(short_help="Bound the leakage along what the adversary may know.")
@about_a_mechanism
@click.option("--entropies", metavar="B,B,...", help="Least entropies of the adversary's prior, such as 0,1,2.")
@click.option("--knowledges", metavar="K,K,...", help="The most that the adversary knows, such as 0.1,0.5,1.")
@click.option("--secret", metavar="RECORDS", help="Records that form one secret, such as 0,1; default: each record.")
@REFERENCE
@UNIT
@click.option("--tolerance", type=float, default=1e-6, show_default=True, help="Gap at which an audit stops.")
@click.option("--time-limit", type=float, metavar="S", help="Seconds for all points together; default: 60 per point.")
@SEED
@click.option("--save", type=FILE, help="Write the whole answer here (.json); dl.load reads it.")
@click.option("--plot", type=FILE, help="Draw the curve here (.png, .svg, .pdf).")
@AS_JSON
def curve(  # noqa: PLR0913 - one parameter per option
    *,
    source: Source,
    entropies: str | None,
    knowledges: str | None,
    secret: str | None,
    reference: Path | None,
    unit: str,
    tolerance: float,
    time_limit: float | None,
    seed: int,
    save: Path | None,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Bound the maximal leakage about a record at several values of what the adversary may know.

    \b
      dalenius curve --query "count(n=4)" --mechanism "geometric(epsilon=1)" --knowledges 0.1,0.5,1
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    check_outputs([("--save", save), ("--plot", plot)], [*source.files, reference])
    if (entropies is None) == (knowledges is None):
        how = "neither was given" if entropies is None else "both were given"
        message = f"give exactly one of --entropies and --knowledges; {how}"
        raise InputError(message)
    points = numbers_from("--entropies", entropies), numbers_from("--knowledges", knowledges)
    described = source.described()
    known = reference_from(reference, described)

    from dalenius import api  # noqa: PLC0415 - scipy

    limit = {} if time_limit is None else {"time_limit": time_limit}
    with progress_line(unit) as listener:
        answer = api.curve(
            described,
            points[0],
            knowledges=points[1],
            unit=unit,
            secret=secret_from(secret),
            reference=known,
            tolerance=tolerance,
            seed=seed,
            progress=listener,
            **limit,
        )
    files = [(save, answer.save), (plot, write_picture(answer.plot))]
    return finish(answer, as_json=as_json, certificate=None, files=files)
