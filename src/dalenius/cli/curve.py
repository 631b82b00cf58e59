"""dalenius curve: the leakage about a record along what the adversary may know."""

from pathlib import Path

import click

from dalenius.cli import common


@click.command(short_help="Bound the leakage along what the adversary may know.")
@common.about_a_mechanism
@common.numbers("--knowledges", "K,K,...", "The most that the adversary knows, such as 0.1,0.5,1.")
@common.numbers("--entropies", "B,B,...", "The same as entropies of its prior, B = log|X| - K.")
@common.SECRET
@common.REFERENCE
@common.UNIT
@common.gap(1e-6, "Gap at which an audit stops.")
@common.relative()
@common.limit(None, "Seconds for all points together; default: 60 per point.")
@common.SEED
@common.writing("save", plot="the curve")
@common.AS_JSON
def curve(
    *, source: common.Source, reference: Path | None, files: common.Files, as_json: bool, **asked: common.Asked
) -> int:
    """Bound the maximal leakage about a record at several values of what the adversary may know.

    \b
      dalenius curve --query "count(n=4)" --mechanism "geometric(epsilon=1)" --knowledges 0.1,0.5,1
    """
    common.check_outputs(files, [*source.files, reference])
    common.exactly_one(knowledges=asked["knowledges"], entropies=asked["entropies"])
    described = source.described()

    from dalenius.api import audits

    return common.finish(common.answered(audits.curve, described, reference, asked), files, as_json=as_json)
