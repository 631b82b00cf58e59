"""python -m dalenius.demo: audits, a better design, certificates verified, the frontier, one page to look at."""

import argparse
import math
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

import dalenius as dl
from dalenius.errors import InputError
from dalenius.model.reference import UNIFORM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.model.query import Query
    from dalenius.report.page import Picture, Section
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
verifier that shares no code with the solver re-checks both. It was run on the two audits and on the design, and its
verdict is shown with each; the points of the frontier and of the curve were not checked one by one.
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
The same at every precision. No mechanism lies below the band. The band is proved between the points as well, since two
mechanisms may be mixed and each lower bound is a line that holds everywhere. Named mechanisms stand where their audits
put them: their height above the band is leakage that buys no precision.
"""
CURVE = """
The same survey against adversaries of every strength. On the left they know nothing before, on the right they may know
everything else. Since leakage never falls as knowledge grows, neighbouring points also bound everything between them
(shaded).
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
    from dalenius.report.page import Section, write_report

    asked = Section("What is asked", _paragraphs(QUESTION))
    rounded = dl.mechanisms.random_rounding(dl.queries.count(n=40), base=3)
    office, sound = _audited("rounded count", OFFICE, dl.audit(rounded, knowledge=0.1, verify=False), out)
    query = dl.queries.count(n=4)
    noisy = dl.mechanisms.geometric(query, epsilon=1)
    count = dl.audit(noisy, knowledge=KNOWLEDGE, verify=False)
    survey, sound_too = _audited("survey", SURVEY, count, out)
    better, sound_as_well = _better(query, count, out)
    write_report(out / "report.html", TITLE, [asked, office, survey, better, _frontier(query), _curve(noisy)])
    return sound and sound_too and sound_as_well


def _audited(name: str, words: str, audit: "Audit", out: Path) -> "tuple[Section, bool]":
    """Save and verify the certificate of an audit; print it and return its part of the page."""
    from dalenius.report.page import Section

    story = _paragraphs(words)
    proof, verified = _verified(name.replace(" ", "-"), audit, out)
    click.echo("\n".join([name.upper(), *map(textwrap.fill, story), "", _folded(audit.summary()), proof, ""]))
    caption = "Left: the belief that attains the lower bound. Right: the bounds next to the two extremes."
    return Section(f"A {name}", (*story, proof), _folded(audit.summary()), (_picture(audit.plot(), caption),)), verified


def _better(query: "Query", standard: "Audit", out: Path) -> "tuple[Section, bool]":
    """Design the least leaking mechanism at the distortion of a standard one; compare the two."""
    from dalenius.report.design_plots import plot_channels
    from dalenius.report.page import Section

    geometric = standard.mechanism.written()
    error = _expected_error(query, geometric)
    design = dl.design(query, distortion=error, knowledge=KNOWLEDGE, tolerance=GAP, verify=False)
    proof, verified = _verified("design", design, out)
    story = (*_paragraphs(BETTER), _comparison(standard, design))
    click.echo("\n".join(["A BETTER SURVEY", *map(textwrap.fill, story), "", _folded(design.summary()), proof, ""]))
    channels = plot_channels([(str(geometric.name), geometric), ("designed: least leakage", design.mechanism)])
    pictures = (
        _picture(channels, "How each true count (framed) is answered, at the same expected error."),
        _picture(design.plot(), "Left: the mechanism. Right: where it stands, and where no mechanism can."),
    )
    return Section("A better survey", (*story, proof), _folded(design.summary()), pictures), verified


def _comparison(standard: "Audit", design: "Design") -> str:
    """Say by how much less the designed mechanism leaks, for certain."""
    from dalenius.numerics.rounding import round_down, round_up

    less = round_down(100 * (1 - design.leakage.upper / standard.lower), 1)
    return (
        f"{standard.mechanism.name} leaks at least {round_down(standard.lower)} {design.unit}, the designed mechanism "
        f"at most {round_up(design.leakage.upper)}: {less} % less at the same expected error, {design.distortion:.4f}. "
        f"No mechanism of that error leaks less than {round_down(design.lower)}."
    )


def _frontier(query: "Query") -> "Section":
    """Draw the least leakage against the distortion, with named mechanisms."""
    from dalenius.report.page import Section

    frontier = dl.frontier(query, knowledge=KNOWLEDGE, points=POINTS, tolerance=POINT_GAP)
    table = _folded(frontier.summary())
    click.echo(f"FRONTIER: the least leakage at every precision\n{table}\n")
    caption = "The least leakage at every expected error, and where named mechanisms stand."
    pictures = (_picture(frontier.plot(), caption),)
    return Section("The least leakage at every precision", _paragraphs(FRONTIER), table, pictures)


def _curve(mechanism: "dl.Mechanism") -> "Section":
    """Draw leakage against knowledge: the more the adversary may know, the more it learns."""
    from dalenius.report.page import Section

    curve = dl.curve(mechanism, knowledges=list(KNOWN))
    table = _folded(curve.summary())
    click.echo(f"CURVE: the survey against adversaries of every strength\n{table}")
    pictures = (_picture(curve.plot(), "Certified bounds on the leakage against what the adversary knows."),)
    return Section("From knowing nothing to knowing everything", _paragraphs(CURVE), table, pictures)


def _verified(name: str, answer: "Audit | Design", out: Path) -> tuple[str, bool]:
    """Save a certificate and verify it; return what to say, and whether it holds."""
    path = out / f"{name}-certificate.json"
    answer.certificate.save(path)
    checked = answer.verify()
    verdict = "verified" if checked.verified else f"NOT VERIFIED, {checked.reason}"
    return f"Certificate {path.name}: {verdict}. Check it yourself:\n{_command()} verify {path}", checked.verified


def _command() -> str:
    """The command of this environment, as it is typed from here."""
    command = Path(sys.executable).with_name("dalenius")
    here = Path.cwd()
    return (
        str(command.relative_to(here) if command.is_relative_to(here) else command) if command.exists() else "dalenius"
    )


def _expected_error(query: "Query", mechanism: "dl.Mechanism") -> float:
    """E |y - f(x)| of uniform data."""
    rows, shares = mechanism.written().rows, [math.exp(share) for share in UNIFORM.log_classes(mechanism.statistic)]
    return math.fsum(share * float(row @ far) for share, row, far in zip(shares, rows, query.distance(), strict=True))


def _folded(summary: str) -> str:
    """A summary without lines that run over the edge of the page, or of a usual terminal."""
    lines = (textwrap.wrap(line, 96, subsequent_indent=" " * 11) or [""] for line in summary.splitlines())
    return "\n".join(part for line in lines for part in line)


def _picture(figure: "Figure", caption: str) -> "Picture":
    from dalenius.report.page import Picture
    from dalenius.report.plots import image

    return Picture(image(figure), caption)


def _paragraphs(text: str) -> tuple[str, ...]:
    """Texts separated by empty lines, each on one line."""
    return tuple(" ".join(part.split()) for part in text.strip().split("\n\n"))


if __name__ == "__main__":
    sys.exit(main())
