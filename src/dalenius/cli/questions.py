"""Commands that ask about one mechanism or query: audit, curve, leakage, profile, design, frontier, calibrate."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalenius.cli import common
from dalenius.cli.common import Given, question
from dalenius.errors import refuse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MEASURES = ("absolute", "squared", "zero-one")
TABLES = (".csv", ".npy", ".json")
ADVERSARY = "Any prior that knows at most K, or any prior under which the records are independent."
KNOWLEDGES = "The most that the adversary knows, such as 0.1,0.5,1."
ENTROPIES = common.numbers("--entropies", "B,B,...", "The same as entropies of its prior, B = log|X| - K.")
POINT_GAP = "Gap at which an audit stops."


@question(
    common.SOURCE,
    common.SECRET,
    common.REFERENCE,
    common.adversary(ADVERSARY),
    common.solving(tolerance=1e-6, time_limit=None, paper=True),
    common.relative(),
    common.number("--nodes", "N", "Stop after this many nodes of search trees, however fast the machine is.", int),
    common.number("--jobs", "N", "Threads that share the work on long search trees.", int, 1),
    common.number("--at-most", "L", "A budget; exit code 0: kept, 1: exceeded, 3: undecided."),
    common.number("--guess", "G", "Also say how often a guess that is right with chance G before is after."),
    common.VERIFY,
    files=("certificate", "save"),
    plot="the worst prior and the bracket",
)
def audit(given: Given) -> int:
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
    at_most, guess = given.options.pop("at_most"), given.options.pop("guess")
    given.check()
    if at_most is not None:
        from dalenius.studies.gate import checked_budget

        checked_budget(at_most)
    if guess is not None:
        from dalenius.results import guess as guesses

        guesses.guess(0.0, guess)  # refuses what is not a chance
    about = given.about()

    from dalenius.api import audits

    found = given.answer(audits.audit, about)
    more: dict[str, object] = {} if guess is None else {"guess": {"before": guess, "after": found.guess(guess)}}
    if at_most is not None:
        from dalenius.studies.gate import EXIT, verdict_of, words

        verdict = verdict_of(found.lower, found.upper, at_most)
        more |= {"budget": at_most, "verdict": verdict}
    code = given.finish(found, more=more)
    if guess is not None and not given.as_json:
        click.echo(f"Guess      {guesses.sentence(found.upper, guess, found.unit)}")
    if at_most is None or code == common.INTERRUPTED:
        return code
    if not given.as_json:
        said = words(found.lower, found.upper, at_most, found.unit, found.stopped, found.confidence)
        click.echo(f"Verdict    {verdict}: {said}")
    return EXIT[verdict]


@question(
    common.SOURCE,
    common.numbers("--knowledges", "K,K,...", KNOWLEDGES),
    ENTROPIES,
    common.SECRET,
    common.REFERENCE,
    common.UNIT,
    common.gap(1e-6, POINT_GAP),
    common.relative(),
    common.limit(None, "Seconds for all points together; default: 60 per point."),
    common.SEED,
    files=("save",),
    plot="the curve",
    short="Bound the leakage along what the adversary may know.",
)
def curve(given: Given) -> int:
    """Bound the maximal leakage about a record at several values of what the adversary may know.

    \b
      dalenius curve --query "count(n=4)" --mechanism "geometric(epsilon=1)" --knowledges 0.1,0.5,1
    """
    given.check()
    common.exactly_one(knowledges=given.options["knowledges"], entropies=given.options["entropies"])
    about = given.about()

    from dalenius.api import audits

    return given.finish(given.answer(audits.curve, about))


@question(
    common.SOURCE,
    click.option(
        "--prior",
        type=common.FILE,
        help="The prior (.csv, .npy, .json): one law, one per record, or weights of datasets; default: uniform.",
    ),
    common.SECRET,
    common.UNIT,
    short="Enclose the leakage of one given prior.",
)
def leakage(given: Given) -> int:
    """Enclose the leakage of a mechanism about a record under one given prior.

    \b
      dalenius leakage --query "count(n=4)" --mechanism "geometric(epsilon=1)"
    """
    prior = given.options.pop("prior")
    given.check(prior)
    about: Any = given.about()
    belief = common.reference_from(prior, about)

    from dataclasses import asdict

    from dalenius.numerics.rounding import outward
    from dalenius.tools.measures import leakage as enclosed

    answer = enclosed(about, belief, **given.options)
    if given.as_json:
        common.print_json(asdict(answer))
        return 0
    low, high = outward(answer.lower, answer.upper, 9)
    whose = "the secret" if answer.record is None else f"record {answer.record}, which leaks most"
    click.echo(f"Leakage    {low} <= I <= {high} {answer.unit} about {whose}")
    click.echo(f"Prior      {'uniform' if prior is None else prior}")
    return 0


@question(
    common.SOURCE,
    common.REFERENCE,
    common.numbers(
        "--knowledges", "K,K,...", "What the adversary may know; default: nothing, 0.05 to 3 nats, everything."
    ),
    ENTROPIES,
    common.number("--epsilon", "E", "Epsilon (natural logarithm) at which delta is computed; default: 1."),
    common.UNIT,
    common.gap(1e-4, POINT_GAP),
    common.limit(60.0, "Seconds for everything together."),
    common.SEED,
    files=("save",),
    plot="L(b) below the other measures",
)
def profile(given: Given) -> int:
    """Show the usual measures of a mechanism side by side.

    Leakage about a record by what the adversary knows and with independent records, capacity, maximal and min-entropy
    leakage, differential privacy, distortion.

    \b
      dalenius profile --query "count(n=4)" --mechanism "geometric(epsilon=1)"
      dalenius profile --channel examples/channel.csv --records 2,2,2 --knowledges 0.1,0.5,1
    """
    given.check()
    about = given.about()

    from dalenius.tools.profile import profile as profiled

    return given.finish(given.answer(profiled, about))


@question(
    common.QUERY,
    common.number("--distortion", "D", "The most expected distortion; the leakage is minimised."),
    common.number("--leakage", "L", "The most leakage; the expected distortion is minimised."),
    click.option(
        "--measure",
        default="absolute",
        show_default=True,
        metavar="WORD|FILE",
        help=f"Measure of distortion: {', '.join(MEASURES)}, or a table in {', '.join(TABLES)}: "
        "one row per class of the query, one column per output.",
    ),
    click.option(
        "--p0",
        type=common.FILE,
        help=f"Distribution of the data ({', '.join(TABLES)}): one number per dataset or per class of the query, "
        "or one line of probabilities per record. Uniform by default.",
    ),
    click.option(
        "--outputs",
        metavar="LIST",
        help='What may be released: "0,1,2", or "2,0; 1,1; 0,2" for a histogram. The range of the query by default.',
    ),
    common.number(
        "--max-epsilon",
        "E",
        "The mechanism is also E-differentially private. Without this its epsilon may be infinite.",
    ),
    common.number("--floor", "P", "Every output has at least this probability, whatever the data."),
    click.option("--unbiased", is_flag=True, help="The expected output is the answer, whatever the data."),
    common.number("--within", "W", "No output is further than this from the answer."),
    click.option("--keep-zero", is_flag=True, help="An answer of 0 is released as 0."),
    common.solving(tolerance=1e-4, time_limit=300.0, paper=True),
    common.relative(0.0),
    common.REFERENCE,
    common.adversary(ADVERSARY),
    common.VERIFY,
    files=("certificate", "out", "table", "save"),
    plot="the mechanism and the bracket",
    short="Find the best mechanism; bound what any can reach.",
)
def design(given: Given) -> int:
    """Find the best mechanism for a query, and bound what any mechanism could reach.

    With --distortion D it minimises the leakage about a record at an expected distortion of at most D. With --leakage L
    it minimises the expected distortion at a leakage of at most L. The adversary may have any prior that knows at most
    K; with --adversary independent, any prior under which the records are independent. The mechanism need not be
    differentially private: its epsilon may be infinite, unless --max-epsilon caps it. Bounds are about all mechanisms
    that keep --max-epsilon, --floor, --unbiased, --within and --keep-zero, as far as these are given. --method paper
    runs the paper's alternation, which proves nothing from below and may exceed a leakage budget; --repairs and
    --reading choose how its text is run.

    \b
      dalenius design --query "count(n=4)" --distortion 0.5 --knowledge 0.5 --out mechanism.json
      dalenius design --query "modular_sum(n=2, modulus=2)" --leakage 0.05 --knowledge inf
    """
    options = given.options
    measure, p0, outputs, most = (options[name] for name in ("measure", "p0", "outputs", "leakage"))
    given.check(p0, None if measure in MEASURES else Path(measure))
    common.exactly_one(distortion=options["distortion"], leakage=most)
    about = given.about()
    options |= {
        "outputs": None if outputs is None else output_list(outputs),
        "p0": None if p0 is None else _distribution(p0),
        "measure": measure if measure in MEASURES else _measure(measure),
    }

    from dalenius.api import designs

    shown = (options["unit"], "least leakage") if most is None else ("", "least distortion")
    return given.finish(given.answer(designs.design, about, *shown))


def output_list(text: str) -> list[Any]:
    """Return [0, 1, 2.5] for "0,1,2.5" and [(2, 0), (1, 1)] for "2,0; 1,1"."""
    try:
        if ";" in text:
            return [tuple(int(part) for part in vector.split(",")) for vector in text.split(";") if vector.strip()]
        return [float(part) if set(part) & set(".eE") else int(part) for part in text.split(",")]
    except ValueError:
        refuse(f'--outputs {text!r} is not a list of outputs; write numbers such as 0,1,2 or count vectors "2,0; 1,1"')


def _distribution(path: Path) -> "NDArray[np.float64]":
    """Read one number per dataset or per class, in a line or a column; or one line of probabilities per record."""
    numbers = _read("--p0", path)
    return numbers.ravel() if 1 in numbers.shape else numbers


def _measure(text: str) -> "NDArray[np.float64]":
    path = Path(text)
    if path.suffix not in TABLES:
        refuse(f"--measure {text!r} must be one of {', '.join(MEASURES)}, or a table in {', '.join(TABLES)}")
    return _read("--measure", path)


def _read(option: str, path: Path) -> "NDArray[np.float64]":
    import numpy as np

    from dalenius.model.storage import read_matrix

    content = read_matrix(path)[0]
    try:
        return np.asarray(content, dtype=float)
    except (TypeError, ValueError):
        refuse(f"{option} {path}: its lines are not numbers of equal count; give a plain table of numbers")


@question(
    common.QUERY,
    common.number("--points", "INTEGER", "Designs along the curve.", int, 20),
    common.REFERENCE,
    common.adversary(
        "Any prior that knows at most K, any prior under which the records are independent, or both.", "both"
    ),
    click.option("--named/--no-named", default=True, show_default=True, help="Also place mechanisms of the gallery."),
    common.solving(tolerance=1e-3, time_limit=300.0),
    files=("save",),
    plot="the curve",
    short="Draw the least leakage against the distortion allowed.",
)
def frontier(given: Given) -> int:
    """Design mechanisms along the distortion budget: the least leakage at each, with its certified band.

    With --adversary both the curve against independent records stands beside that against limited knowledge.
    The time limit is for everything together; points that it leaves no time for are left out.

    \b
      dalenius frontier --query "count(n=2)" --knowledge 0.5 --points 3 --no-named --time-limit 20
    """
    given.check()
    about = given.about()

    from dalenius.api import designs

    return given.finish(given.answer(designs.frontier, about))


@question(
    common.QUERY,
    click.option("--family", metavar="NAME", required=True, help="A mechanism of the gallery, such as geometric."),
    click.option(
        "--leakage", type=float, metavar="L", required=True, help="The most leakage about a record that is allowed."
    ),
    common.number("--accuracy", "FLOAT", "Relative accuracy of the parameter found.", default=1e-3),
    common.REFERENCE,
    common.adversary(ADVERSARY),
    common.solving(tolerance=1e-6, time_limit=300.0),
    files=("certificate", "out", "save"),
    plot="the audit of the mechanism",
    short="Find the least noise that meets a leakage budget.",
)
def calibrate(given: Given) -> int:
    """Find the least noise of a named mechanism whose certified leakage is at most L.

    The certificate is that of the audit of the mechanism found.

    \b
      dalenius calibrate --family geometric --query "count(n=4)" --leakage 0.05 --knowledge 0.5
    """
    given.check()
    about = given.about()

    from dalenius.tools.calibration import calibrate as least_noise

    found = given.answer(partial(least_noise, given.options.pop("family")), about)
    return given.finish(found, about=found.leakage)
