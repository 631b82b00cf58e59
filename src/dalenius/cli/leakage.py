"""dalenius leakage: what one given prior learns."""

from dataclasses import asdict
from pathlib import Path

import click

from dalenius.cli import common


@click.command(short_help="Enclose the leakage of one given prior.")
@common.about_a_mechanism
@click.option(
    "--prior",
    type=common.FILE,
    help="The prior (.csv, .npy, .json): one law, one per record, or weights of datasets; default: uniform.",
)
@common.SECRET
@common.UNIT
@common.AS_JSON
def leakage(*, source: common.Source, prior: Path | None, as_json: bool, **asked: common.Asked) -> int:
    """Enclose the leakage of a mechanism about a record under one given prior.

    \b
      dalenius leakage --query "count(n=4)" --mechanism "geometric(epsilon=1)"
    """
    common.check_outputs({}, [*source.files, prior])
    described = source.described()
    belief = common.reference_from(prior, described)

    from dalenius.numerics.rounding import outward
    from dalenius.tools.measures import leakage as enclosed

    answer = enclosed(described, belief, **asked)
    if as_json:
        common.print_json(asdict(answer))
        return 0
    low, high = outward(answer.lower, answer.upper, 9)
    whose = "the secret" if answer.record is None else f"record {answer.record}, which leaks most"
    click.echo(f"Leakage    {low} <= I <= {high} {answer.unit} about {whose}")
    click.echo(f"Prior      {'uniform' if prior is None else prior}")
    return 0
