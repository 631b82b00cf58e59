"""The commands about files: compose, verify, prove and report."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalenius.cli.common import AS_JSON, FILE, check_outputs, print_json
from dalenius.errors import printable, refuse
from dalenius.model import files
from dalenius.verifier.kernel.limits import MEMORY, TIME_LIMIT

if TYPE_CHECKING:
    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.verifier.verify import Verification

# What the JSON of a verdict holds.
VERDICT = (
    "verified", "lower", "upper", "reason", "problem", "quantity", "unit", "confidence", "rested_on", "seconds",
)  # fmt: skip
LONGEST = 300  # characters of a problem that are shown


@click.command(short_help="Put several releases about the same data together.")
@click.argument("saved", metavar="[FILES]...", nargs=-1, type=FILE)
@click.option("--query", metavar="CALL", help='A query of the gallery, such as "count(n=4)".')
@click.option("--mechanism", "mechanisms", metavar="CALL", multiple=True, help="Its mechanisms; may be repeated.")
@click.option("--times", type=int, default=1, show_default=True, help="How often one mechanism runs.")
@click.option("--out", type=FILE, required=True, help="Write the joint release here (.json).")
@AS_JSON
def compose(
    *, saved: tuple[Path, ...], query: str | None, mechanisms: tuple[str, ...], times: int, out: Path, as_json: bool
) -> int:
    """Put several releases about the same data together, as one mechanism whose outputs are all of theirs.

    FILES are saved mechanisms (.json); others are named by --query and --mechanism. dalenius audit --load reads the
    joint release.

    \b
      dalenius compose --query "count(n=4)" --mechanism "geometric(epsilon=1)" --times 2 --out twice.json
    """
    check_outputs({"out": out}, saved)
    if bool(query) != bool(mechanisms):
        refuse("--query and --mechanism go together: give both, or saved mechanisms")

    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.gallery.parse import parse_mechanism, parse_query

    parts = [Mechanism.load(path) for path in saved]
    parts += [parse_mechanism(text, parse_query(str(query))) for text in mechanisms]

    from dalenius.tools.composition import compose as together

    joint = together(*parts, times=times)
    joint.save(out)
    if as_json:
        print_json({"parts": len(parts) * times, "records": joint.n, "outputs": joint.n_outputs, "out": str(out)})
    else:
        click.echo(f"Composed   {len(parts) * times} releases: {repr(joint)[1:-1]}")
        click.echo(f"Wrote      {out}; audit it with: dalenius audit --load {out} --knowledge 0.5")
    return 0


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
        # Non-finite numbers are null.
        found = {key: getattr(verdict, key) for key in VERDICT}
        print_json({key: None if isinstance(x, float) and not math.isfinite(x) else x for key, x in found.items()})
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

    problem = printable(verdict.problem)
    problem = problem if len(problem) <= LONGEST else f"{problem[: LONGEST - 3]}..."
    lines = [f"Problem    {problem}"] if problem else []
    if not verdict.verified or verdict.lower is None or verdict.upper is None:
        return "\n".join([*lines, f"Verdict    NOT VERIFIED: {printable(verdict.reason)}"])
    bounds = f" <= {verdict.quantity} <= ".join(outward(verdict.lower, verdict.upper))
    bounds = f"{bounds} {verdict.unit}".rstrip()
    bounds += "" if verdict.confidence is None else f" with confidence {verdict.confidence:.12g}"
    lines += [
        f"Bounds     {bounds}",
        f"Verdict    VERIFIED in {verdict.seconds:.3g} s: {printable(verdict.reason)}",
        f"Rested on  {printable(verdict.rested_on)}: the parts of the verifier that this check used",
    ]
    return "\n".join(lines)


@click.command()
@click.argument("certificate", type=FILE)
@click.option("--out", type=FILE, help="Where to write it; else it is printed.")
def prove(*, certificate: Path, out: Path | None) -> None:
    """Write a file that Coq with Coq-Interval accepts exactly if the certificate's bounds are proved.

    \b
      dalenius audit --channel examples/channel.csv --records 2,2,2 --entropy 0 --certificate proof.json
      dalenius prove proof.json --out proof.v
      coqc -R proofs Dalenius proof.v

    The theorems that it rests on are in the folder proofs of the project, which `make prove` compiles. Exit code 2: the
    certificate is of a form that has no proof in Coq yet, or too large for one.
    """
    from dalenius.certificates.certificate import Certificate
    from dalenius.certificates.coq import to_coq

    text = to_coq(Certificate.load(certificate))
    if out is None:
        click.echo(text, nl=False)
    else:
        files.write(out, text.encode())


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
    check_outputs({"out": out}, results, pages=True)
    if out.suffix.lower() not in files.PAGES:
        refuse(f"--out {out}: a report ends in .html")
    from dalenius.report.document import evidence_path, write_document
    from dalenius.studies.loading import load

    loaded = [load(path, verify=verifies) for path in results]
    write_document(loaded, out, title, **details, computed_by=_version(results))
    for path in (out, evidence_path(out)):
        click.echo(f"Wrote      {printable(str(path))}")
    return 0


def _version(results: tuple[Path, ...]) -> str:
    """Return the version that computed all these results; InputError if there are two (a study has ours)."""
    found = {
        path: files.__version__
        if path.suffix in (".db", ".toml")
        else files.read_json(path).get("dalenius", "0.1 or earlier")
        for path in results
    }
    if len(set(found.values())) > 1:
        said = ", ".join(f"{path} by {version}" for path, version in found.items())
        refuse(
            f"these results were computed by different versions of dalenius: {said}; make one report each, or compute "
            "them again with one version"
        )
    return str(found[results[0]])
