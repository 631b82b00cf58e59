"""dalenius report: results as one page to send."""

from pathlib import Path

import click

from dalenius.cli.common import FILE, check_outputs
from dalenius.errors import printable, refuse
from dalenius.model.files import PAGES, __version__, read_json


@click.command(short_help="Write results as one page to send.")
@click.argument("results", type=FILE, nargs=-1, required=True)
@click.option("--out", type=FILE, required=True, help="The page (.html).")
@click.option("--title", help="Its title; default: what was audited.")
@click.option("--author", help="Who answers for it.")
@click.option("--purpose", help="What it is for.")
@click.option("--verify", "verifies", is_flag=True, help="Check every certificate first.")
def report(*, results: tuple[Path, ...], out: Path, verifies: bool, title: str | None, **details: str | None) -> int:
    """Write saved results as one self-contained HTML page that opens from disk and loads nothing else.

    RESULTS are what save() and --save wrote, ledgers, and studies (.toml, or their stores, .db). The page has the
    verdict in plain words, what the number is not, charts, how to reproduce them, and the certificates for download.
    Beside it stands the evidence as data: page.evidence.json for page.html.

    \b
      dalenius audit --query "count(n=4)" --mechanism "geometric(epsilon=1)" --knowledge 0.5 --save audit.json
      dalenius report audit.json --out report.html
    """
    check_outputs({"out": out}, list(results), pages=True)
    if out.suffix.lower() not in PAGES:
        refuse(f"--out {out}: a report ends in .html")
    from dalenius.report.document import evidence_path, write_document
    from dalenius.studies.loading import load

    loaded = [load(path, verify=verifies) for path in results]
    write_document(loaded, out, title, **details, computed_by=_version(results))
    click.echo(f"Wrote      {printable(str(out))}")
    click.echo(f"Wrote      {printable(str(evidence_path(out)))}")
    return 0


def _version(results: tuple[Path, ...]) -> str:
    """Return the version that computed all these results; InputError if there are two (a study has ours)."""
    found = {
        path: __version__ if path.suffix in (".db", ".toml") else read_json(path).get("dalenius", "0.1 or earlier")
        for path in results
    }
    if len(set(found.values())) > 1:
        said = ", ".join(f"{path} by {version}" for path, version in found.items())
        refuse(
            f"these results were computed by different versions of dalenius: {said}; make one report each, or compute "
            "them again with one version"
        )
    return str(found[results[0]])
