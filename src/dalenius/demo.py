"""python -m dalenius.demo: audits, a better design, certificates verified, the frontier, one page to look at."""

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dalenius as dl
from dalenius.errors import InputError
from dalenius.numerics.rounding import round_down, round_up
from dalenius.report.document import write_document

if TYPE_CHECKING:
    from dalenius.results.audit import Audit
    from dalenius.results.design import Design

TITLE = "dalenius: what a release can teach about one record"
QUESTION = """
A release depends on everybody's data. How much can it teach about one person, in the worst case over what its reader
believed before? Leakage is the mutual information between that person's record and the output, in nats: 0 is
nothing, and a yes or no holds log 2 = 0.6931.

The adversary may believe anything, as long as its knowledge has a limit: its beliefs about all records together are at
most so many nats away from knowing nothing.

Every answer is a bracket with a certificate: the lower bound is attained by a belief, the upper bound is proved. A
verifier that shares no code with the solver re-checks both.
"""
KNOWLEDGE = 0.5
GAP = 2e-4  # of the design, in nats; smaller ones take longer
POINTS, POINT_GAP = 7, 2e-3  # of the frontier
OFFICE = """
A statistics office publishes how many of 40 people in a block have a condition, rounded at random to a multiple of 3:
a count of 7 becomes 6 with chance 2/3 and 9 with chance 1/3. Differential privacy cannot rate this release: its
epsilon is infinite. Its leakage has a bound. The adversary knows 0.1 nats in all.
"""
SURVEY = """
Four people answer yes or no. The release is how many said yes, with geometric noise (epsilon = 1). The adversary knows
at most 0.5 of the 2.773 nats that four answers hold.

The worst belief expects most people to give the same answer: then the count gives the one person away. Noise that is
scaled to one record does not hide what correlated records share.
"""
BETTER = """
Can the count be answered with the same expected error and give away less? Of all mechanisms with that error this one
leaks least, up to the gap: a lower bound proves that no other does better by more.

It often answers 2, the most likely count, and seldom gives away that all people gave the same answer. An expected
error is all that it has to keep. If you need rare counts to be right, choose another distortion, such as the squared
error.
"""
FRONTIER = """
The same at every precision. No mechanism leaks less than the least leakage, and this is proved between the points as
well. How far named mechanisms are above it is leakage that buys no precision.
"""
CURVE = """
The same survey against adversaries of every strength, from those who know nothing before to those who may know
everything else.
"""
KNOWN = (0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.4, 2, 2.7)  # nats


def main(arguments: Sequence[str] | None = None) -> int:
    """Write certificates and report.html, and say in plain words what was found."""
    parser = argparse.ArgumentParser(prog="python -m dalenius.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for the results (default: out/demo)")
    out = parser.parse_args(arguments).out
    try:
        out.mkdir(parents=True, exist_ok=True)
        ok = _run(out)
    except (InputError, OSError) as error:
        click.echo(f"dalenius: {error}", err=True)
        return 2
    click.echo(f"\nThe report: {out / 'report.html'}")
    return 0 if ok else 1


def _run(out: Path) -> bool:
    rounded = dl.mechanisms.random_rounding(dl.queries.count(n=40), base=3)
    office = dl.audit(rounded, knowledge=0.1, verify=False)
    proved = [_told("A rounded count", f"{QUESTION}\n{OFFICE}", office, out)]
    query = dl.queries.count(n=4)
    noisy = dl.mechanisms.geometric(query, epsilon=1)
    survey = dl.audit(noisy, knowledge=KNOWLEDGE, verify=False)
    proved.append(_told("A survey", SURVEY, survey, out))
    error = noisy.expected_distortion() or 0.0
    design = dl.design(query, distortion=error, knowledge=KNOWLEDGE, tolerance=GAP, verify=False)
    proved.append(_told("A better survey", f"{BETTER}\n{_comparison(survey, design)}", design, out))
    frontier = dl.frontier(query, knowledge=KNOWLEDGE, points=POINTS, tolerance=POINT_GAP)
    _told("The least leakage at every precision", FRONTIER, frontier)
    curve = dl.curve(noisy, knowledges=list(KNOWN))
    _told("From knowing nothing to knowing everything", CURVE, curve)
    write_document([office, survey, design, frontier, curve], out / "report.html", TITLE)
    return all(proved)


def _told(title: str, words: str, answer: Any, out: Path | None = None) -> bool:
    """Print an answer under its title; save and verify its certificate where there is a folder for that."""
    story = [textwrap.fill(" ".join(part.split())) for part in words.strip().split("\n\n")]
    click.echo("\n".join([title.upper(), *story, "", _folded(answer.summary())]))
    if out is None:
        click.echo()
        return True
    path = out / f"{title.removeprefix('A ').replace(' ', '-')}-certificate.json"
    answer.certificate.save(path)
    checked = answer.verify()
    verdict = "verified" if checked.verified else f"NOT VERIFIED, {checked.reason}"
    click.echo(f"Certificate {path.name}: {verdict}. Check it yourself:\n{_command()} verify {path}\n")
    return bool(checked.verified)


def _comparison(standard: "Audit", design: "Design") -> str:
    """Say by how much less the designed mechanism leaks, for certain."""
    less = round_down(100 * (1 - design.leakage.upper / standard.lower), 1)
    return (
        f"{standard.mechanism.name} leaks at least {round_down(standard.lower)} {design.unit}, the designed mechanism "
        f"at most {round_up(design.leakage.upper)}: {less} % less at the same expected error, {design.distortion:.4f}. "
        f"No mechanism of that error leaks less than {round_down(design.lower)}."
    )


def _command() -> str:
    """The command of this environment, as it is typed from here."""
    command, here = Path(sys.executable).with_name("dalenius"), Path.cwd()
    if not command.exists():
        return "dalenius"
    return str(command.relative_to(here) if command.is_relative_to(here) else command)


def _folded(summary: str) -> str:
    """A summary without lines that run over the edge of a usual terminal."""
    lines = (textwrap.wrap(line, 96, subsequent_indent=" " * 11) or [""] for line in summary.splitlines())
    return "\n".join(part for line in lines for part in line)


if __name__ == "__main__":
    sys.exit(main())
