"""dalenius audit: the maximal leakage about a record, with both bounds."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from dalenius.cli.common import (
    AS_JSON,
    CERTIFICATE,
    FILE,
    INTERRUPTED,
    REFERENCE,
    RELATIVE,
    VERIFIES,
    VERIFY,
    Source,
    about_a_mechanism,
    check_outputs,
    exactly_one,
    finish,
    progress_line,
    reference_from,
    secret_from,
    solving,
    write_picture,
)

if TYPE_CHECKING:
    from dalenius.results.audit import Audit


@click.command()
@about_a_mechanism
@click.option(
    "--secret",
    metavar="RECORDS",
    help="Records that form one secret, such as 0,1, or attributes of a table, such as 0.1; default: each record.",
)
@REFERENCE
@click.option(
    "--adversary",
    type=click.Choice(["bounded", "independent"]),
    default="bounded",
    show_default=True,
    help="Any prior that knows at most K, or any prior under which the records are independent.",
)
@solving(tolerance=1e-6, time_limit=None)
@RELATIVE
@click.option(
    "--nodes", type=int, metavar="N", help="Stop after this many nodes of search trees, however fast the machine is."
)
@click.option(
    "--jobs",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Threads that share the work on long search trees.",
)
@click.option("--at-most", type=float, metavar="L", help="A budget; exit code 0: kept, 1: exceeded, 3: undecided.")
@CERTIFICATE
@VERIFY
@click.option("--save", type=FILE, help="Write the whole answer here (.json); dl.load reads it.")
@click.option("--plot", type=FILE, help="Draw the worst prior and the bracket here (.png, .svg, .pdf).")
@AS_JSON
def audit(  # noqa: PLR0913 - one parameter per option
    *,
    source: Source,
    secret: str | None,
    reference: Path | None,
    entropy: float | None,
    knowledge: float | None,
    unit: str,
    method: Literal["certified", "paper"],
    repairs: str | None,
    reading: Literal["proof", "strict"] | None,
    tolerance: float,
    relative: float,
    nodes: int | None,
    jobs: int,
    at_most: float | None,
    time_limit: float | None,
    seed: int,
    certificate: Path | None,
    adversary: Literal["bounded", "independent"],
    verify: str,
    save: Path | None,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Bound the maximal leakage about a record from both sides.

    The adversary may have any prior whose entropy is at least B (or that knows at most K). With --adversary independent
    it may have any prior under which the records are independent, and neither B nor K is needed.

    With --at-most L the exit code is the verdict: 0 if the upper bound is within L, 1 if the lower bound is above it,
    3 if neither is proved.

    With --secret the leakage is about these records together. With --reference the knowledge K counts from that prior
    instead of the uniform one; the file has one law for all records on one line, one law per line, or one weight per
    dataset.

    --method paper runs the paper's local search, which proves the lower bound only. By default it repairs steps of the
    text that cannot run and formulas that are wrong; --repairs makes another choice out of gradient, entropy_share,
    escort, hinge, penalty_owner.

    \b
      dalenius audit --query "count(n=4)" --mechanism "geometric(epsilon=1)" --entropy 2.2
      dalenius audit --query "count(n=4)" --mechanism "geometric(epsilon=1)" --secret 0,1 --knowledge 0.5
      dalenius audit --channel examples/channel.csv --records 2,2,2 --knowledge 0.5
    """  # noqa: D301 - \b is click's mark for lines kept as they are
    check_outputs([("--certificate", certificate), ("--save", save), ("--plot", plot)], [*source.files, reference])
    if adversary == "bounded":
        exactly_one(entropy=entropy, knowledge=knowledge)
    group = secret_from(secret)
    if at_most is not None:
        from dalenius.studies.gate import checked_budget  # noqa: PLC0415 - pydantic

        checked_budget(at_most)
    described = source.described()
    known = reference_from(reference, described)

    from dalenius import api  # noqa: PLC0415 - scipy

    with progress_line(unit) as listener:
        answer = api.audit(
            described,
            entropy=entropy,
            knowledge=knowledge,
            adversary=adversary,
            unit=unit,
            secret=group,
            reference=known,
            method=method,
            repairs=repairs,
            reading=reading,
            tolerance=tolerance,
            relative=relative,
            nodes=nodes,
            jobs=jobs,
            time_limit=time_limit,
            seed=seed,
            progress=listener,
            verify=VERIFIES[verify],
        )
    code = finish(
        answer,
        as_json=as_json,
        more={} if at_most is None else _verdict(answer, at_most),
        certificate=certificate,
        files=[(certificate, answer.certificate.save), (save, answer.save), (plot, write_picture(answer.plot))],
    )
    return code if at_most is None or code == INTERRUPTED else _decide(answer, at_most, as_json=as_json)


def _verdict(answer: "Audit", budget: float) -> dict[str, Any]:
    """Return what JSON says of a budget."""
    from dalenius.studies.gate import verdict_of  # noqa: PLC0415 - pydantic

    return {"budget": budget, "verdict": verdict_of(answer.lower, answer.upper, budget)}


def _decide(answer: "Audit", budget: float, *, as_json: bool) -> int:
    """Print whether the budget is kept, unless JSON is wanted, and return the exit code that says so."""
    from dalenius.studies.gate import EXIT, verdict_of, words  # noqa: PLC0415 - pydantic

    verdict = verdict_of(answer.lower, answer.upper, budget)
    if not as_json:
        said = words(answer.lower, answer.upper, budget, answer.unit, answer.stopped, answer.confidence)
        click.echo(f"Verdict    {verdict}: {said}")
    return EXIT[verdict]
