"""python -m dalenius.demo: two audits, their certificates verified, one curve, one page to look at."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

import dalenius as dl
from dalenius.errors import InputError

if TYPE_CHECKING:
    from dalenius.report.page import Section
    from dalenius.results import Audit

SURVEY = "A survey of four people publishes how many said yes, with geometric noise (epsilon = 1)."
LOTTERY = "The sum of four bits modulo 3 is published, replaced by another value with probability 0.2."
POINTS = 12


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
    from dalenius.report.page import write_report  # noqa: PLC0415 - after the options are read

    count = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
    modular = dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=3), flip=0.2)
    sections, sound = [], True
    for name, story, mechanism in (("survey", SURVEY, count), ("lottery", LOTTERY, modular)):
        audit = dl.audit(mechanism, entropy=2.2)
        section, verified = _audited(name, story, audit, out)
        sections.append(section)
        sound = sound and verified
    sections.append(_curve(modular))
    write_report(out / "report.html", "dalenius: what a release can teach about one record", sections)
    return sound


def _audited(name: str, story: str, audit: "Audit", out: Path) -> "tuple[Section, bool]":
    """Save and verify the certificate of an audit; print it and return its part of the page."""
    from dalenius.report.page import Picture, Section  # noqa: PLC0415 - the same
    from dalenius.report.plots import image  # noqa: PLC0415 - matplotlib

    path = out / f"{name}-certificate.json"
    audit.certificate.save(path)
    checked = dl.verify(path, mechanism=audit.mechanism)
    verdict = "verified" if checked.verified else f"NOT VERIFIED, {checked.reason}"
    proof = f"Certificate {path.name}: {verdict}."
    click.echo(f"{story}\n{audit.summary()}\n{proof}\n")
    caption = "Left: the adversary's prior that attains the lower bound. Right: the bounds beside the two extremes."
    pictures = (Picture(image(audit.plot()), caption),)
    return Section(name.capitalize(), (story, proof), audit.summary(), pictures), checked.verified


def _curve(mechanism: "dl.Mechanism") -> "Section":
    """Draw L(b): the more the adversary must not know, the less it learns."""
    from dalenius.report.page import Picture, Section  # noqa: PLC0415 - the same
    from dalenius.report.plots import image  # noqa: PLC0415 - the same

    most = mechanism.log_universe
    curve = dl.curve(mechanism, entropies=[most * i / (POINTS - 1) for i in range(POINTS)])
    words = (
        "The same sum against adversaries of every strength. To the left the adversary may know everything "
        "else; to the right it knows nothing and its prior is uniform."
    )
    click.echo(f"The whole curve: {curve!r}")
    caption = "Certified bounds on the leakage against the least entropy of the adversary's prior."
    return Section("Leakage and knowledge", (words,), repr(curve), (Picture(image(curve.plot()), caption),))


if __name__ == "__main__":
    sys.exit(main())
