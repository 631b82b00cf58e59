"""dalenius profile: the usual measures of a mechanism side by side."""

from pathlib import Path

import click

from dalenius.cli import common


@click.command()
@common.about_a_mechanism
@common.REFERENCE
@common.numbers("--knowledges", "K,K,...", "What the adversary may know; default: nothing, 0.05 to 3 nats, everything.")
@common.numbers("--entropies", "B,B,...", "The same as entropies of its prior, B = log|X| - K.")
@click.option(
    "--epsilon", type=float, metavar="E", help="Epsilon (natural logarithm) at which delta is computed; default: 1."
)
@common.UNIT
@common.gap(1e-4, "Gap at which an audit stops.")
@common.limit(60.0, "Seconds for everything together.")
@common.SEED
@common.writing("save", plot="L(b) below the other measures")
@common.AS_JSON
def profile(
    *, source: common.Source, reference: Path | None, files: common.Files, as_json: bool, **asked: common.Asked
) -> int:
    """Show the usual measures of a mechanism side by side.

    Leakage about a record by what the adversary knows and with independent records, capacity, maximal and min-entropy
    leakage, differential privacy, distortion.

    \b
      dalenius profile --query "count(n=4)" --mechanism "geometric(epsilon=1)"
      dalenius profile --channel examples/channel.csv --records 2,2,2 --knowledges 0.1,0.5,1
    """
    common.check_outputs(files, [*source.files, reference])
    described = source.described()

    from dalenius.tools.profile import profile as profiled

    return common.finish(common.answered(profiled, described, reference, asked), files, as_json=as_json)
