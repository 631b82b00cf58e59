"""dalenius audit: the maximal leakage about a record, with both bounds."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalenius.cli.common import check_outputs, mechanism_from, print_json, progress_line
from dalenius.errors import InputError

if TYPE_CHECKING:
    from dalenius.results import Audit

FILE = click.Path(path_type=Path)
PICTURES = (".png", ".svg", ".pdf")
INTERRUPTED = 130


@click.command()
@click.option("--query", metavar="CALL", help='A query of the gallery, such as "count(n=4)".')
@click.option("--mechanism", metavar="CALL", help='Its mechanism, such as "geometric(epsilon=1)".')
@click.option("--channel", type=FILE, help="A matrix in .csv, .npy or .json: one row per dataset, last record fastest.")
@click.option("--records", metavar="SIZES", help="Alphabet sizes of the channel's records, such as 2,2,2.")
@click.option("--load", type=FILE, help="A saved mechanism (.json).")
@click.option("--entropy", type=float, metavar="B", help="Least entropy of the adversary's prior.")
@click.option("--knowledge", type=float, metavar="K", help="Most the adversary knows: entropy = log|X| - K.")
@click.option("--unit", type=click.Choice(["nats", "bits"]), default="nats", show_default=True, help="Of every number.")
@click.option(
    "--method", type=click.Choice(["certified"]), default="certified", show_default=True, help="How to solve."
)
@click.option("--tolerance", type=float, default=1e-6, show_default=True, help="Gap at which to stop.")
@click.option(
    "--time-limit",
    type=float,
    default=60.0,
    show_default=True,
    metavar="S",
    help="Seconds after which the best bracket so far is the answer.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random starts.")
@click.option("--certificate", type=FILE, help="Write the certificate here (.json); `dalenius verify` checks it.")
@click.option("--save", type=FILE, help="Write the whole answer here (.json); dl.load reads it.")
@click.option("--plot", type=FILE, help="Draw the worst prior and the bracket here (.png, .svg, .pdf).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def audit(  # noqa: PLR0913 - one parameter per option
    *,
    query: str | None,
    mechanism: str | None,
    channel: Path | None,
    records: str | None,
    load: Path | None,
    entropy: float | None,
    knowledge: float | None,
    unit: str,
    method: str,  # noqa: ARG001 - certified is the only one so far
    tolerance: float,
    time_limit: float,
    seed: int,
    certificate: Path | None,
    save: Path | None,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Bound the maximal leakage about a record from both sides.

    The adversary may have any prior whose entropy is at least B (or that knows at most K).

    \b
      dalenius audit --query "count(n=4)" --mechanism "geometric(epsilon=1)" --entropy 2.2
      dalenius audit --channel channel.csv --records 2,2,2 --knowledge 0.5
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    check_outputs([("--certificate", certificate), ("--save", save), ("--plot", plot)], [channel, load])
    if plot is not None and plot.suffix.lower() not in PICTURES:
        message = f"--plot {plot}: pictures end in {', '.join(PICTURES)}"
        raise InputError(message)
    if (entropy is None) == (knowledge is None):
        message = "give exactly one of --entropy and --knowledge; " + (
            "neither was given" if entropy is None else "both were given"
        )
        raise InputError(message)
    described = mechanism_from(query, mechanism, channel, records, load)

    from dalenius import api  # noqa: PLC0415 - scipy

    with progress_line(unit) as listener:
        answer = api.audit(
            described,
            entropy=entropy,
            knowledge=knowledge,
            unit=unit,
            tolerance=tolerance,
            time_limit=time_limit,
            seed=seed,
            progress=listener,
        )
    try:
        written = _write(answer, certificate, save, plot)
    finally:  # a full disk does not cost the answer
        print_json(answer.to_dict()) if as_json else click.echo(answer.summary())
    if not as_json:
        for line in written:
            click.echo(line)
    return INTERRUPTED if answer.stopped == "interrupted" else 0


def _write(answer: "Audit", certificate: Path | None, save: Path | None, plot: Path | None) -> list[str]:
    """Write the files asked for; each appears whole or not at all."""
    written = []
    if certificate is not None:
        answer.certificate.save(certificate)
        written.append(f"Wrote      {certificate}; check it with: dalenius verify {certificate}")
    if save is not None:
        answer.save(save)
        written.append(f"Wrote      {save}")
    if plot is not None:
        from dalenius.model.storage import write  # noqa: PLC0415 - numpy
        from dalenius.report.plots import image  # noqa: PLC0415 - matplotlib

        write(plot, image(answer.plot(), plot.suffix.lower()[1:]))
        written.append(f"Wrote      {plot}")
    return written
