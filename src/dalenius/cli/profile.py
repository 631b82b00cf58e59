"""dalenius profile: the usual measures of a mechanism side by side."""

from pathlib import Path

import click

from dalenius.cli.common import (
    AS_JSON,
    FILE,
    REFERENCE,
    Source,
    about_a_mechanism,
    check_outputs,
    finish,
    progress_line,
    reference_from,
    write_picture,
)
from dalenius.errors import InputError


@click.command()
@about_a_mechanism
@REFERENCE
@click.option("--entropies", metavar="B,B,...", help="Values of b; default: 0, 1/4, 1/2, 3/4, 0.9 and 1 times log|X|.")
@click.option(
    "--epsilon", type=float, metavar="E", help="Epsilon (natural logarithm) at which delta is computed; default: 1."
)
@click.option(
    "--unit",
    type=click.Choice(["nats", "bits"]),
    default="nats",
    show_default=True,
    help="Unit of every amount of information.",
)
@click.option("--tolerance", type=float, default=1e-4, show_default=True, help="Gap at which an audit stops.")
@click.option(
    "--time-limit", type=float, default=60.0, show_default=True, metavar="S", help="Seconds for everything together."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random starts.")
@click.option("--plot", type=FILE, help="Draw L(b) below the other measures here (.png, .svg, .pdf).")
@AS_JSON
def profile(  # noqa: PLR0913 - one parameter per option
    *,
    source: Source,
    reference: Path | None,
    entropies: str | None,
    epsilon: float | None,
    unit: str,
    tolerance: float,
    time_limit: float,
    seed: int,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Show the usual measures of a mechanism side by side.

    Leakage about a record at several b and with independent records, capacity, maximal and min-entropy leakage,
    differential privacy, distortion.

    \b
      dalenius profile --query "count(n=4)" --mechanism "geometric(epsilon=1)"
      dalenius profile --channel examples/channel.csv --records 2,2,2 --entropies 0,1,2
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    check_outputs([("--plot", plot)], [*source.files, reference])
    points = None if entropies is None else numbers(entropies)
    described = source.described()
    known = reference_from(reference, described)
    with progress_line(unit) as listener:
        answer = described.profile(
            points,
            epsilon=epsilon,
            unit=unit,
            reference=known,
            tolerance=tolerance,
            time_limit=time_limit,
            seed=seed,
            progress=listener,
        )
    return finish(answer, as_json=as_json, certificate=None, files=[(plot, write_picture(answer.plot))])


def numbers(text: str) -> list[float]:
    """Return [0.0, 1.5] for 0,1.5."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        message = f"--entropies {text!r} is not a list of numbers; write values of b such as 0,0.5,1"
        raise InputError(message) from None
