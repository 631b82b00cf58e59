"""dalenius curve: the leakage about a record along what the adversary may know."""

from pathlib import Path

import click

from dalenius.cli.common import (
    AS_JSON,
    REFERENCE,
    SECRET,
    SEED,
    UNIT,
    Asked,
    Files,
    Source,
    about_a_mechanism,
    check_outputs,
    exactly_one,
    finish,
    gap,
    limit,
    numbers,
    progress_line,
    reference_from,
    writing,
)


@click.command(short_help="Bound the leakage along what the adversary may know.")
@about_a_mechanism
@numbers("--entropies", "B,B,...", "Least entropies of the adversary's prior, such as 0,1,2.")
@numbers("--knowledges", "K,K,...", "The most that the adversary knows, such as 0.1,0.5,1.")
@SECRET
@REFERENCE
@UNIT
@gap(1e-6, "Gap at which an audit stops.")
@limit(None, "Seconds for all points together; default: 60 per point.")
@SEED
@writing("save", plot="the curve")
@AS_JSON
def curve(*, source: Source, reference: Path | None, files: Files, as_json: bool, **asked: Asked) -> int:
    """Bound the maximal leakage about a record at several values of what the adversary may know.

    \b
      dalenius curve --query "count(n=4)" --mechanism "geometric(epsilon=1)" --knowledges 0.1,0.5,1
    """
    check_outputs(files, [*source.files, reference])
    exactly_one(entropies=asked["entropies"], knowledges=asked["knowledges"])
    described = source.described()
    known = reference_from(reference, described)

    from dalenius.api import audits

    with progress_line(asked["unit"]) as listener:
        answer = audits.curve(described, reference=known, progress=listener, **asked)
    return finish(answer, files, as_json=as_json)
