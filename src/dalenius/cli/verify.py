"""dalenius verify: re-check a certificate in ball arithmetic."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalenius.cli.common import AS_JSON, FILE, print_json
from dalenius.errors import printable
from dalenius.verifier.kernel.limits import MEMORY, TIME_LIMIT

if TYPE_CHECKING:
    from dalenius.verifier.verify import Verification


@click.command()
@click.argument("certificate", type=FILE)
@click.option(
    "--mechanism",
    "mechanisms",
    type=FILE,
    multiple=True,
    help="A saved mechanism (.json); also check that the certificate is about it. Of several releases, one for each.",
)
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    default=MEMORY,
    show_default=True,
    metavar="MIB",
    help="The most memory that reading and checking may take.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=TIME_LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="The most time that reading and checking may take.",
)
@AS_JSON
def verify(*, certificate: Path, mechanisms: tuple[Path, ...], memory: int, time_limit: float, as_json: bool) -> int:
    """Re-check the certificate of an audit or a design with directed rounding, sharing no code with the solver.

    \b
      dalenius audit --query "count(n=4)" --mechanism "geometric(epsilon=1)" --knowledge 0.5 --certificate proof.json
      dalenius verify proof.json

    Exit code 0: it proves its bounds. 1: it does not, or the limits ended the check. 2: it cannot be read.
    """
    about = None
    if mechanisms:
        from dalenius.model.channels.mechanism import Mechanism

        about = [Mechanism.load(path) for path in mechanisms]
    from dalenius.verifier.verify import verify as check

    verdict = check(certificate, mechanism=about, memory=memory, time_limit=time_limit)
    if as_json:
        keys = ["verified", "lower", "upper", "reason", "problem", "quantity", "unit", "confidence", "rested_on"]
        keys += ["seconds"]
        print_json({key: _plain(getattr(verdict, key)) for key in keys})
    else:
        click.echo(_words(verdict))
    return 0 if verdict.verified else 1


def _words(verdict: "Verification") -> str:
    """What was checked, the bounds and the verdict; digits rounded outward."""
    from dalenius.numerics.rounding import outward

    lines = [f"Problem    {_problem(printable(verdict.problem))}"] if verdict.problem else []
    if not verdict.verified or verdict.lower is None or verdict.upper is None:
        return "\n".join([*lines, f"Verdict    NOT VERIFIED: {printable(verdict.reason)}"])
    bounds = f" <= {verdict.quantity} <= ".join(outward(verdict.lower, verdict.upper))
    bounds = f"{bounds} {verdict.unit}".rstrip()
    bounds += "" if verdict.confidence is None else f" with confidence {verdict.confidence:.12g}"
    return "\n".join(
        [
            *lines,
            f"Bounds     {bounds}",
            f"Verdict    VERIFIED in {verdict.seconds:.3g} s: {printable(verdict.reason)}",
            f"Rested on  {printable(verdict.rested_on)}",
        ]
    )


def _problem(text: str, longest: int = 300) -> str:
    """The problem in at most this many characters."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _plain(value: object) -> object:
    """Non-finite numbers are null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
