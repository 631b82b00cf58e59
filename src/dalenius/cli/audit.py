"""dalenius audit: the maximal leakage about a record, with both bounds."""

from pathlib import Path

import click

from dalenius.cli import common


@click.command()
@common.about_a_mechanism
@common.SECRET
@common.REFERENCE
@common.adversary("Any prior that knows at most K, or any prior under which the records are independent.")
@common.solving(tolerance=1e-6, time_limit=None, paper=True)
@common.relative()
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
@click.option(
    "--guess", type=float, metavar="G", help="Also say how often a guess that is right with chance G before is after."
)
@common.VERIFY
@common.writing("certificate", "save", plot="the worst prior and the bracket")
@common.AS_JSON
def audit(
    *,
    source: common.Source,
    reference: Path | None,
    at_most: float | None,
    guess: float | None,
    files: common.Files,
    as_json: bool,
    **asked: common.Asked,
) -> int:
    """Bound the maximal leakage about a record from both sides.

    The adversary may have any prior that knows at most K. With --adversary independent it may have any prior under
    which the records are independent, and K is not needed.

    With --at-most L the exit code is the verdict: 0 if the upper bound is within L, 1 if the lower bound is above it,
    3 if neither is proved.

    With --secret the leakage is about these records together. With --reference the knowledge K counts from that prior
    instead of the uniform one; the file has one law for all records on one line, one law per line, or one weight per
    dataset.

    --method paper runs the paper's local search, which proves the lower bound only. By default it repairs steps of the
    text that cannot run and formulas that are wrong; --repairs makes another choice out of gradient, entropy_share,
    escort, hinge, penalty_owner.

    \b
      dalenius audit --query "count(n=4)" --mechanism "geometric(epsilon=1)" --knowledge 0.5
      dalenius audit --query "count(n=4)" --mechanism "geometric(epsilon=1)" --secret 0,1 --knowledge 0.5
      dalenius audit --channel examples/channel.csv --records 2,2,2 --knowledge 0.5
    """
    common.check_outputs(files, [*source.files, reference])
    common.check_limit(asked)
    if at_most is not None:
        from dalenius.studies.gate import checked_budget

        checked_budget(at_most)
    if guess is not None:
        from dalenius.results import guess as guesses

        guesses.guess(0.0, guess)  # refuses what is not a chance
    described = source.described()

    from dalenius.api import audits

    answer = common.answered(audits.audit, described, reference, asked)
    more: dict[str, object] = {} if guess is None else {"guess": {"before": guess, "after": answer.guess(guess)}}
    if at_most is not None:
        from dalenius.studies.gate import EXIT, verdict_of, words

        verdict = verdict_of(answer.lower, answer.upper, at_most)
        more |= {"budget": at_most, "verdict": verdict}
    code = common.finish(answer, files, as_json=as_json, more=more)
    if guess is not None and not as_json:
        click.echo(f"Guess      {guesses.sentence(answer.upper, guess, answer.unit)}")
    if at_most is None or code == common.INTERRUPTED:
        return code
    if not as_json:
        said = words(answer.lower, answer.upper, at_most, answer.unit, answer.stopped, answer.confidence)
        click.echo(f"Verdict    {verdict}: {said}")
    return EXIT[verdict]
