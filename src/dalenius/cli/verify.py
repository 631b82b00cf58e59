"""dalenius verify: re-check a certificate in ball arithmetic."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalenius.cli.common import AS_JSON, FILE, print_json
from dalenius.errors import printable, refuse
from dalenius.verifier.kernel.limits import MEMORY, TIME_LIMIT

if TYPE_CHECKING:
    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.verifier.verify import Verification


@click.command()
@click.argument("certificate", type=FILE)
@click.option(
    "--mechanism",
    "mechanisms",
    metavar="FILE|CALL",
    multiple=True,
    help="Also check that the certificate is about this mechanism: a saved one (.json), or with --query a call such as "
    '"geometric(epsilon=1)". For several releases, one for each.',
)
@click.option("--query", metavar="CALL", help='What the mechanisms answer, such as "count(n=4)".')
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
def verify(
    *,
    certificate: Path,
    mechanisms: tuple[str, ...],
    query: str | None,
    memory: int,
    time_limit: float,
    as_json: bool,
) -> int:
    """Re-check the certificate of an audit or a design with directed rounding, sharing no code with the solver.

    \b
      dalenius audit --query "count(n=4)" --mechanism "geometric(epsilon=1)" --knowledge 0.5 --certificate proof.json
      dalenius verify proof.json
      dalenius verify proof.json --query "count(n=4)" --mechanism "geometric(epsilon=1)"

    Exit code 0: it proves its bounds. 1: it does not, or the limits ended the check. 2: it cannot be read.
    """
    about = [_mechanism(text, query) for text in mechanisms] or None
    if query is not None and about is None:
        refuse(f"--query {query!r} says what a mechanism answers; name it too, as --mechanism 'geometric(epsilon=1)'")
    from dalenius.verifier.verify import verify as check

    verdict = check(certificate, mechanism=about, memory=memory, time_limit=time_limit)
    if as_json:
        keys = ["verified", "lower", "upper", "reason", "problem", "quantity", "unit", "confidence", "rested_on"]
        keys += ["seconds"]
        print_json({key: _plain(getattr(verdict, key)) for key in keys})
    else:
        click.echo(_words(verdict))
    return 0 if verdict.verified else 1


def _mechanism(text: str, query: str | None) -> "Mechanism":
    """The mechanism that a certificate is to be about: by its call and its query, or in a file."""
    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.gallery.parse import parse_mechanism, parse_query

    if query is not None:
        return parse_mechanism(text, parse_query(query))
    path = Path(text)
    if "(" in text and not path.exists():
        refuse(f"--mechanism {text!r} is a call; say also what it answers, as --query 'count(n=4)'")
    if path.suffix.lower() != ".json" and path.exists():
        refuse(
            f"--mechanism {text} is not a saved mechanism (.json); save it first, by mechanism.save in Python, or name "
            "it by --query and --mechanism"
        )
    return Mechanism.load(path)


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
            f"Rested on  {printable(verdict.rested_on)}: the parts of the verifier that this check used",
        ]
    )


def _problem(text: str, longest: int = 300) -> str:
    """The problem in at most this many characters."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _plain(value: object) -> object:
    """Non-finite numbers are null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
