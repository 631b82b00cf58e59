"""dalenius compose: several releases about the same data as one mechanism."""

from pathlib import Path

import click

from dalenius.cli.common import AS_JSON, FILE, check_outputs, print_json
from dalenius.errors import refuse


@click.command(short_help="Put several releases about the same data together.")
@click.argument("files", nargs=-1, type=FILE)
@click.option("--query", metavar="CALL", help='A query of the gallery, such as "count(n=4)".')
@click.option("--mechanism", "mechanisms", metavar="CALL", multiple=True, help="Its mechanisms; may be repeated.")
@click.option("--times", type=int, default=1, show_default=True, help="How often one mechanism runs.")
@click.option("--out", type=FILE, required=True, help="Write the joint release here (.json).")
@AS_JSON
def compose(
    *, files: tuple[Path, ...], query: str | None, mechanisms: tuple[str, ...], times: int, out: Path, as_json: bool
) -> int:
    """Put several releases about the same data together, as one mechanism whose outputs are all of theirs.

    FILES are saved mechanisms (.json); others are named by --query and --mechanism. dalenius audit --load reads the
    joint release.

    \b
      dalenius compose --query "count(n=4)" --mechanism "geometric(epsilon=1)" --times 2 --out twice.json
    """
    check_outputs({"out": out}, list(files))
    if bool(query) != bool(mechanisms):
        refuse("--query and --mechanism go together: give both, or saved mechanisms")

    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.gallery.parse import parse_mechanism, parse_query

    asked = None if query is None else parse_query(query)
    parts = [Mechanism.load(path) for path in files]
    parts += [] if asked is None else [parse_mechanism(text, asked) for text in mechanisms]

    from dalenius.tools.composition import compose as together

    joint = together(*parts, times=times)
    joint.save(out)
    if as_json:
        print_json({"parts": len(parts) * times, "records": joint.n, "outputs": joint.n_outputs, "out": str(out)})
    else:
        click.echo(f"Composed   {len(parts) * times} releases: {repr(joint)[1:-1]}")
        click.echo(f"Wrote      {out}; audit it with: dalenius audit --load {out} --knowledge 0.5")
    return 0
