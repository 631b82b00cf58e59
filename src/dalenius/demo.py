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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.model.query import Query
    from dalenius.report.page import Picture, Section
    from dalenius.results.audit import Audit, Curve
    from dalenius.results.design import Design

TITLE = "dalenius: what a release can teach about one record"
QUESTION = """
A release depends on everybody's data. How much can it teach about one person, in the worst case over what its reader
believed before? Leakage is the mutual information between that person's record and the output, in nats: 0 is
nothing, and a yes or no holds log 2 = 0.6931.

The adversary may believe anything, as long as its prior over all datasets keeps entropy H(X) >= b. The two extremes
are b = 0, where it may already know everybody else, and b = log|X|, where it knows nothing at all.

Every answer is a bracket with a certificate: the lower bound is attained by a prior, the upper bound is proved. A
verifier that shares no code with the solver re-checks both. It was run on the two audits and on the design, and its
verdict is shown with each; the points of the frontier and of the curve were not checked one by one.
"""
ENTROPY = 2.2
GAP = 2e-4  # of the design, in nats; smaller ones take longer
POINTS, POINT_GAP = 7, 2e-3  # of the frontier
SURVEY = """
Four people answer yes or no. The release is how many said yes, with geometric noise (epsilon = 1). The adversary lacks
at least 2.2 of the 2.773 nats that four unknown answers hold.

The worst prior expects most people to give the same answer: then the count gives the one person away. Noise that is
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
LOTTERY = """
Each of four players puts in a secret bit; the sum modulo 3 names the winner. With probability 0.2 one of the two other
numbers is announced instead. The same adversary wants one player's bit.

The rule is unchanged when all bits are swapped, but the worst prior is not: an audit that grants the adversary only
symmetric priors reports too little.
"""
CURVE = """
The same lottery against adversaries of every strength. On the left they may know everything else, on the right
nothing. Up to the bend the limit on their knowledge protects nobody: the worst prior meets it already.
Since L never rises with b, neighbouring points also bound everything between them (shaded).
"""
SHARES = (0, 0.2, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.84, 0.88, 0.92, 0.96, 0.98, 1)  # of log|X|; L bends at the end


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

    query = dl.queries.count(n=4)
    count = dl.audit(dl.mechanisms.geometric(query, epsilon=1), entropy=ENTROPY, verify=False)
    modular = dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=3), flip=0.2)
    asked = Section("What is asked", _paragraphs(QUESTION))
    survey, sound = _audited("survey", _paragraphs(SURVEY), count, out)
    better, sound_too = _better(query, count, out)
    frontier = _frontier(query)
    drawn = dl.audit(modular, entropy=ENTROPY, verify=False)
    lottery, sound_as_well = _audited("lottery", _paragraphs(LOTTERY), drawn, out)
    write_report(out / "report.html", TITLE, [asked, survey, better, frontier, lottery, _curve(modular)])
    return sound and sound_too and sound_as_well


def _audited(name: str, story: tuple[str, ...], audit: "Audit", out: Path) -> "tuple[Section, bool]":
    """Save and verify the certificate of an audit; print it and return its part of the page."""
    from dalenius.report.page import Section

    proof, verified = _verified(name, audit, out)
    click.echo("\n".join([name.upper(), *map(textwrap.fill, story), "", audit.summary(), proof, ""]))
    caption = "Left: the prior that attains the lower bound. Right: the bounds next to the two extremes."
    return Section(f"A {name}", (*story, proof), audit.summary(), (_picture(audit.plot(), caption),)), verified


def _better(query: "Query", standard: "Audit", out: Path) -> "tuple[Section, bool]":
    """Design the least leaking mechanism at the distortion of a standard one; compare the two."""
    from dalenius.report.design_plots import plot_channels
    from dalenius.report.page import Section

    geometric = standard.mechanism.written()
    error = _expected_error(query, geometric)
    design = dl.design(query, distortion=error, entropy=ENTROPY, tolerance=GAP, verify=False)
    proof, verified = _verified("design", design, out)
    story = (*_paragraphs(BETTER), _comparison(standard, design))
    click.echo("\n".join(["A BETTER SURVEY", *map(textwrap.fill, story), "", design.summary(), proof, ""]))
    channels = plot_channels([(str(geometric.name), geometric), ("designed: least leakage", design.mechanism)])
    pictures = (
        _picture(channels, "How each true count (framed) is answered, at the same expected error."),
        _picture(design.plot(), "Left: the mechanism. Right: where it stands, and where no mechanism can."),
    )
    return Section("A better survey", (*story, proof), design.summary(), pictures), verified


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

    frontier = dl.frontier(query, entropy=ENTROPY, points=POINTS, tolerance=POINT_GAP)
    table = frontier.summary()
    click.echo(f"FRONTIER: the least leakage at every precision\n{table}\n")
    caption = "The least leakage at every expected error, and where named mechanisms stand."
    pictures = (_picture(frontier.plot(), caption),)
    return Section("The least leakage at every precision", _paragraphs(FRONTIER), table, pictures)


def _curve(mechanism: "dl.Mechanism") -> "Section":
    """Draw L(b): the more the adversary must not know, the less it learns."""
    from dalenius.report.page import Section

    most = mechanism.log_universe
    curve = dl.curve(mechanism, entropies=[most * share for share in SHARES])
    table = _table(curve)
    click.echo(f"CURVE: the lottery against adversaries of every strength\n{table}")
    caption = "Certified bounds on the leakage against the least entropy of the adversary's prior."
    pictures = (_picture(curve.plot(), caption),)
    return Section("From knowing everything to knowing nothing", _paragraphs(CURVE), table, pictures)


def _table(curve: "Curve") -> str:
    """The points of a curve, digits rounded outward."""
    from dalenius.numerics.rounding import round_down, round_up

    head = "H(X) >= b   knows at most   leakage L(b)"
    points = [(a.entropy, a.knowledge, round_down(a.lower), round_up(a.upper)) for a in curve.audits]
    rows = [f"{b:9.4f}   {known:13.4f}   {low} to {high} {curve.unit}" for b, known, low, high in points]
    return "\n".join([head, *rows])


def _verified(name: str, answer: "Audit | Design", out: Path) -> tuple[str, bool]:
    """Save a certificate and verify it; return what to say, and whether it holds."""
    path = out / f"{name}-certificate.json"
    answer.certificate.save(path)
    checked = answer.verify()
    verdict = "verified" if checked.verified else f"NOT VERIFIED, {checked.reason}"
    return f"Certificate {path.name}: {verdict}. Check it yourself: {_command()} verify {path}", checked.verified


def _command() -> str:
    """The command of this environment, as it is typed from here."""
    command = Path(sys.executable).with_name("dalenius")
    here = Path.cwd()
    return (
        str(command.relative_to(here) if command.is_relative_to(here) else command) if command.exists() else "dalenius"
    )


def _expected_error(query: "Query", mechanism: "dl.Mechanism") -> float:
    """E |y - f(x)| of uniform data."""
    rows, shares = mechanism.written().rows, [math.exp(share) for share in mechanism.statistic.log_class_sizes()]
    return math.fsum(share * float(row @ far) for share, row, far in zip(shares, rows, query.distance(), strict=True))


def _picture(figure: "Figure", caption: str) -> "Picture":
    from dalenius.report.page import Picture
    from dalenius.report.plots import image

    return Picture(image(figure), caption)


def _paragraphs(text: str) -> tuple[str, ...]:
    """Texts separated by empty lines, each on one line."""
    return tuple(" ".join(part.split()) for part in text.strip().split("\n\n"))


if __name__ == "__main__":
    sys.exit(main())
