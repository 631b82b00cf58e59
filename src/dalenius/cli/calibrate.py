"""dalenius calibrate: the least noise of a named mechanism that meets a leakage budget."""

from pathlib import Path

import click

from dalenius.cli.common import (
    AS_JSON,
    CERTIFICATE,
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


@click.command(short_help="Find the least noise that meets a leakage budget.")
@click.option("--family", metavar="NAME", required=True, help="A mechanism of the gallery, such as geometric.")
@click.option("--query", metavar="CALL", required=True, help='A query of the gallery, such as "count(n=4)".')
@click.option(
    "--leakage", type=float, metavar="L", required=True, help="The most leakage about a record that is allowed."
)
@click.option(
    "--accuracy", type=float, default=1e-3, show_default=True, help="Relative accuracy of the parameter found."
)
@REFERENCE
@solving(tolerance=1e-6, time_limit=300.0, methods=["certified"])
@CERTIFICATE
@click.option("--out", type=FILE, help="Write the mechanism here (.json); dalenius audit --load reads it.")
@click.option("--save", type=FILE, help="Write the audit of the mechanism here (.json); dl.load reads it.")
@click.option("--plot", type=FILE, help="Draw that audit here (.png, .svg, .pdf).")
@AS_JSON
def calibrate(  # noqa: PLR0913 - one parameter per option
    *,
    family: str,
    query: str,
    leakage: float,
    accuracy: float,
    reference: Path | None,
    entropy: float | None,
    knowledge: float | None,
    unit: str,
    method: str,  # noqa: ARG001 - certified is the only one
    tolerance: float,
    time_limit: float,
    seed: int,
    certificate: Path | None,
    out: Path | None,
    save: Path | None,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Find the least noise of a named mechanism whose certified leakage is at most L.

    The certificate is that of the audit of the mechanism found.

    \b
      dalenius calibrate --family geometric --query "count(n=4)" --leakage 0.05 --entropy 2
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    check_outputs([("--certificate", certificate), ("--out", out), ("--save", save), ("--plot", plot)], [reference])
    exactly_one(entropy=entropy, knowledge=knowledge)

    from dalenius.gallery.parse import parse_query  # noqa: PLC0415 - numpy

    asked = parse_query(query)

    from dalenius.tools.calibration import calibrate as least_noise  # noqa: PLC0415 - scipy

    with progress_line(unit) as listener:
        answer = least_noise(
            family,
            asked,
            leakage=leakage,
            entropy=entropy,
            knowledge=knowledge,
            unit=unit,
            reference=reference_from(reference, asked),
            tolerance=tolerance,
            accuracy=accuracy,
            time_limit=time_limit,
            seed=seed,
            progress=listener,
        )
    audit = answer.leakage
    return finish(
        answer,
        as_json=as_json,
        certificate=certificate,
        files=[
            (certificate, audit.certificate.save),
            (out, answer.mechanism.save),
            (save, audit.save),
            (plot, write_picture(audit.plot)),
        ],
    )
