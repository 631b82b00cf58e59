"""What commands share: options, where a mechanism comes from, files that are written last, progress."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from dalenius.errors import printable, refuse
from dalenius.model import checks
from dalenius.model.files import not_a_page, obstacle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.query import Query
    from dalenius.model.reference import Reference
    from dalenius.search.deadline import Progress

Command = TypeVar("Command", bound=Callable[..., Any])
Asked = Any  # options that a command passes on by their names: checked where they are used
Files = dict[str, Path | None]  # files that are to be written, by their options

FILE = click.Path(path_type=Path)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
QUERY = click.option("--query", metavar="CALL", required=True, help='A query of the gallery, such as "count(n=4)".')
UNIT = click.option(
    "--unit",
    type=click.Choice(["nats", "bits"]),
    default="nats",
    show_default=True,
    help="Unit of every amount of information.",
)
SEED = click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random starts.")
VERIFIES: dict[str, Literal["auto"] | bool] = {"auto": "auto", "yes": True, "no": False}
VERIFY = click.option(
    "--verify",
    type=click.Choice(list(VERIFIES)),
    default="auto",
    show_default=True,
    callback=lambda _, __, word: VERIFIES[word],
    help="Check the certificate at once; auto does so if the check is quick.",
)
REFERENCE = click.option(
    "--reference",
    type=FILE,
    help="Public frequencies (.csv, .npy, .json): one law for all records, one per record, or weights of datasets.",
)

PICTURES = (".png", ".svg", ".pdf")
INTERRUPTED = 130
SOURCES = "--query with --mechanism, --channel with --records, or --load"
EXAMPLES = {
    "--query": '"count(n=4)"',
    "--mechanism": '"geometric(epsilon=1)"',
    "--channel": "channel.csv",
    "--records": "2,2,2",
}


def options(*listed: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return one decorator of several, in the order in which help lists them."""

    def decorate(command: Command) -> Command:
        for option in reversed(listed):
            command = option(command)
        return command

    return decorate


def limit(default: float | None, words: str) -> Callable[[Command], Command]:
    """Return the option --time-limit with its default and its words."""
    return click.option(
        "--time-limit", type=float, default=default, show_default=default is not None, metavar="S", help=words
    )


def gap(default: float, words: str = "Gap at which to stop.") -> Callable[[Command], Command]:
    """Return the option --tolerance with its default and its words."""
    return click.option("--tolerance", type=float, default=default, show_default=True, help=words)


def relative(default: float = 1e-3) -> Callable[[Command], Command]:
    """Return the option --relative with its default."""
    words = "Also stop at a gap of this share of the upper bound; 0: at the tolerance alone."
    return click.option("--relative", type=float, default=default, show_default=True, metavar="SHARE", help=words)


def adversary(words: str, *more: str) -> Callable[[Command], Command]:
    """Return the option --adversary with its words; more: what it may be beside the two that all commands know."""
    kinds = click.Choice(["bounded", "independent", *more])
    return click.option("--adversary", type=kinds, default="bounded", show_default=True, help=words)


def numbers(option: str, metavar: str, words: str) -> Callable[[Command], Command]:
    """Return an option that lists numbers, such as 0,1.5."""

    def read(_: object, __: object, text: str | None) -> list[float] | None:
        try:
            return None if text is None else [float(part) for part in text.split(",")]
        except ValueError:
            refuse(f"{option} {text!r} is not a list of numbers; write values such as 0,0.5,1")

    return click.option(option, metavar=metavar, callback=read, help=words)


def _secret(_: object, __: object, text: str | None) -> list[int] | list[str] | None:
    """Return [0, 1] for 0,1, and ["0.1"], an attribute of a table, for 0.1."""
    if text is not None and "." in text:
        return text.split(",")
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        refuse(f"--secret {text!r} is not a list of records; write their numbers, counted from 0, such as 0,1")


SECRET = click.option(
    "--secret",
    metavar="RECORDS",
    callback=_secret,
    help="Records that form one secret, such as 0,1, or attributes of a table, such as 0.1; default: each record.",
)


ENTROPY = click.option(
    "--entropy", type=float, metavar="B", help="The same in the paper's form: the entropy of its prior, log|X| - K."
)
KNOWING = options(
    click.option("--knowledge", type=float, metavar="K", help="The most that the adversary knows before the release."),
    ENTROPY,
)
PAPER = options(
    click.option(
        "--method",
        type=click.Choice(["certified", "paper"]),
        default="certified",
        show_default=True,
        help="How to solve: with both bounds, or by the paper's local search.",
    ),
    click.option(
        "--repairs",
        metavar="NAMES",
        help='With --method paper: repairs to apply to its text, such as gradient,escort; "" for none.',
    ),
    click.option(
        "--reading",
        metavar="proof|strict",
        help="With --method paper: how Algorithms 9 and 10 share their penalty.",
    ),
)
# Commands that know one method take its name, so that scripts need not tell commands apart.
CERTIFIED = click.option(
    "--method",
    type=click.Choice(["certified"]),
    default="certified",
    show_default=True,
    expose_value=False,
    help="How to solve.",
)


def solving(tolerance: float, time_limit: float | None, *, paper: bool = False) -> Callable[[Command], Command]:
    """Return the options of every command that solves: the adversary, the method, and how long to try."""
    none = "; default 60, with --nodes none." if time_limit is None else "."
    seconds = limit(time_limit, f"Seconds after which the search returns the best bracket so far{none}")
    return options(KNOWING, UNIT, PAPER if paper else CERTIFIED, gap(tolerance), seconds, SEED)


@dataclass(frozen=True)
class Source:
    """What a command is about, in one of three ways, and how a file with numbers is to be read."""

    query: str | None
    mechanism: str | None
    channel: Path | None
    records: str | None
    load: Path | None
    delimiter: str | None
    decimal: str | None
    header: bool | None
    index: bool | None
    normalize: bool
    counts: bool

    @property
    def files(self) -> list[Path | None]:
        """The files that it reads."""
        return [self.channel, self.load]

    def _check_one_way(self) -> None:
        """Raise InputError unless exactly one source is named in full."""
        given = {f"--{name}": getattr(self, name) for name in ("query", "mechanism", "channel", "records", "load")}
        named = {name for name, value in given.items() if value is not None}
        for first, second in (("--query", "--mechanism"), ("--channel", "--records")):
            if len(named & {first, second}) == 1:
                here = (named & {first, second}).pop()
                missing = ({first, second} - {here}).pop()
                refuse(f"{here} needs {missing} beside it, such as {missing} {EXAMPLES[missing]}")
        if named not in ({"--query", "--mechanism"}, {"--channel", "--records"}, {"--load"}):
            refuse(
                f"name what to audit in exactly one way: {SOURCES}; given: {', '.join(sorted(named)) or 'none of them'}"
            )

    def described(self) -> "Mechanism":
        """Return the mechanism that exactly one source describes."""
        self._check_one_way()
        reading = {name: getattr(self, name) for name in READING}
        if self.channel is None and any(reading.values()):
            name = next(name for name, value in reading.items() if value)
            refuse(f"--{name} is about how --channel is read; leave it out")

        from dalenius.model.channels.mechanism import Mechanism
        from dalenius.model.gallery.parse import parse_mechanism, parse_query

        if self.query is not None and self.mechanism is not None:
            return parse_mechanism(self.mechanism, parse_query(self.query))
        if self.channel is not None and self.records is not None:
            reading["delimiter"] = DELIMITERS.get(self.delimiter or "", self.delimiter)
            return Mechanism.from_matrix(self.channel, alphabet_sizes(self.records), **reading)
        return Mechanism.load(self.load or "")


READING = ("delimiter", "decimal", "header", "index", "normalize", "counts")
# A shell makes these hard to type.
DELIMITERS = {"tab": "\t", "\\t": "\t", "blank": " ", "space": " "}


def about_a_mechanism(command: Callable[..., int]) -> Callable[..., int]:
    """The options that say which mechanism a command is about; it receives them as one `source`."""

    @wraps(command)
    def gathered(**given: Asked) -> int:
        source = Source(**{item.name: given.pop(item.name) for item in fields(Source)})
        return command(source=source, **given)

    return options(
        click.option("--query", metavar="CALL", help='A query of the gallery, such as "count(n=4)".'),
        click.option("--mechanism", metavar="CALL", help='Its mechanism, such as "geometric(epsilon=1)".'),
        click.option(
            "--channel",
            type=FILE,
            help="A matrix in .csv, .tsv, .txt, .xlsx, .npy or .json: one row per dataset, last record fastest.",
        ),
        click.option("--records", metavar="SIZES", help="Alphabet sizes of the channel's records, such as 2,2,2."),
        click.option("--load", type=FILE, help="A saved mechanism (.json)."),
        click.option(
            "--delimiter",
            metavar="D",
            help="What separates the columns of --channel, if it is not obvious: , ; | tab blank.",
        ),
        click.option("--decimal", metavar="D", help="Decimal sign of --channel, a point or a comma."),
        click.option(
            "--header/--no-header", default=None, help="Whether the first line of --channel names the outputs."
        ),
        click.option("--index/--no-index", default=None, help="Whether the first column of --channel names the rows."),
        click.option("--normalize", is_flag=True, help="Divide each row by its sum, which must be within 1 % of one."),
        click.option("--counts", is_flag=True, help="The rows of --channel are counts; divide each by its sum."),
    )(gathered)


WRITTEN = {
    "certificate": "Write the certificate here (.json); `dalenius verify` checks it.",
    "out": "Write the mechanism here (.json); dalenius audit --load reads it.",
    "table": "Write the exact table of the mechanism here (.csv), for deployment.",
    "save": "Write the whole answer here (.json); dl.load reads it.",
    "plot": "Draw {} here (.png, .svg, .pdf).",
}


def writing(*names: str, plot: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """The options of files that a command writes; it receives them as `files`. plot: what a picture shows."""
    words = {**WRITTEN, "plot": WRITTEN["plot"].format(plot)}

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def gathered(**given: Asked) -> int:
            return command(files={name: given.pop(name) for name in (*names, "plot")}, **given)

        return options(*(click.option(f"--{name}", type=FILE, help=words[name]) for name in (*names, "plot")))(gathered)

    return decorate


def exactly_one(**given: object) -> None:
    """Refuse unless exactly one of two options was given."""
    checks.exactly_one(**{f"--{name}": value for name, value in given.items()})


def check_limit(asked: Mapping[str, Any]) -> None:
    """Refuse unless exactly one of --knowledge and --entropy was given; independent records need neither."""
    if asked.get("adversary", "bounded") != "independent":
        exactly_one(knowledge=asked["knowledge"], entropy=asked["entropy"])


def alphabet_sizes(text: str) -> list[int]:
    """Return [2, 2, 2] for 2,2,2."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        refuse(f"--records {text!r} is not a list of alphabet sizes; write whole numbers such as 2,2,2")


def reference_from(path: Path | None, asked: "Mechanism | Query") -> "Reference | None":
    """Return the reference prior in a file: one line or column of numbers, or one line per record; or a density."""
    if path is None:
        return None
    from dalenius.model.channels.density import Density
    from dalenius.model.channels.real_records import RealQuery
    from dalenius.model.reference import Reference

    query = getattr(asked, "query", asked)
    if isinstance(query, RealQuery):
        return Density.from_file(path, query.low, query.high)
    return Reference.from_file(path, asked.records)


def check_outputs(outputs: Mapping[str, Path | None], inputs: Sequence[Path | None], *, pages: bool = False) -> None:
    """Refuse, before any work, a file that could not be written, has a wrong ending, or would replace an input.

    pages: what is written are pages; else no file may be named like one.
    """
    taken = {os.path.realpath(path): "an input" for path in inputs if path is not None}
    for name, path in outputs.items():
        if path is None:
            continue
        # Arguments have their names in capitals.
        option = name if name.isupper() else f"--{name}"
        problem = _unwritable(path) or _ending(option, path) or ("" if pages else not_a_page(path))
        if (place := os.path.realpath(path)) in taken:
            problem = f"it is also {taken[place]}; choose another name"
        if problem:
            refuse(f"{option} {path}: {problem}")
        taken[place] = f"the file of {option}"


def _unwritable(path: Path) -> str:
    folder = path.parent
    if problem := obstacle(path):
        return problem
    if not folder.is_dir():
        return f"there is no directory {folder}; make it first"
    return "" if os.access(folder, os.W_OK) else f"the directory {folder} cannot be written to"


def _ending(option: str, path: Path) -> str:
    endings = {"--plot": PICTURES, "--table": (".csv",)}.get(option)
    what = {"--plot": "pictures end", "--table": "a table ends"}.get(option)
    return "" if endings is None or path.suffix.lower() in endings else f"{what} in {', '.join(endings)}"


def finish(
    answer: Asked,
    files: Files,
    *,
    as_json: bool,
    about: Asked = None,
    more: Mapping[str, Any] | None = None,
) -> int:
    """Write the files asked for, print the answer whatever happens to them, and return the exit code.

    answer: with summary() and to_dict(). about: whose certificate and picture are written, where that is not the answer
    itself. more: what its JSON says besides.
    """
    if getattr(signal.getsignal(signal.SIGINT), "until_answered", False):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on there is an answer to lose
    written, whose = [], answer if about is None else about
    try:
        for name, path in files.items():
            if path is not None:
                WRITERS[name](answer if name == "save" else whose, path)  # whole or not at all
                check = f"; check it with: dalenius verify {path}" if name == "certificate" else ""
                written.append(f"Wrote      {path}{check}")
    finally:  # a full disk does not cost the answer
        print_json({**answer.to_dict(), **(more or {})}) if as_json else click.echo(answer.summary())
    if not as_json:
        for line in [*written, *_to_check(answer, files)]:
            click.echo(printable(line))
    return INTERRUPTED if getattr(answer, "stopped", "") == "interrupted" else 0


def _to_check(answer: Asked, files: Files) -> list[str]:
    """Say what to type where the certificate of an answer is not checked yet, and nothing was written that names it."""
    unchecked = getattr(answer, "verified", True) is None and not answer.refused
    if not unchecked or any(files.get(name) for name in ("certificate", "save")):
        return []
    at_once = "verify" in click.get_current_context().params
    return [f"To check   {'--verify yes' if at_once else '--save FILE, then: dalenius verify FILE'}"]


def answered(
    ask: Callable[..., Any], about: "Mechanism | Query", reference: Path | None, asked: Mapping[str, Any], *shown: str
) -> Asked:
    """Ask about a mechanism or a query, with the reference of a file, and show progress.

    shown: unit and symbol of the bracket on the way, as for progress_line; default: a leakage.
    """
    law = reference_from(reference, about)
    with progress_line(*(shown or (asked["unit"],))) as listener:
        return ask(about, reference=law, progress=listener, **asked)


def write_picture(figure: "Figure", path: Path) -> None:
    """Write a picture, in the format of the file's ending."""
    from dalenius.model.files import write as write_bytes
    from dalenius.report.plots import image

    write_bytes(path, image(figure, path.suffix.lower()[1:]))


WRITERS: dict[str, Callable[[Any, Path], None]] = {
    "certificate": lambda answer, path: answer.certificate.save(path),
    "out": lambda answer, path: answer.mechanism.save(path),
    "table": lambda answer, path: answer.mechanism.save_table(path),
    "save": lambda answer, path: answer.save(path),
    "plot": lambda answer, path: write_picture(answer.plot(), path),
}


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(content, allow_nan=False))


@contextmanager
def progress_line(unit: str, symbol: str = "L") -> Iterator[Any]:
    """Yield a listener that keeps one line on standard error up to date, or False where that is not a terminal.

    unit: nats, bits, or nothing for a bracket that is not of information.
    """
    if not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from dalenius.model.problem import NATS_PER_UNIT
    from dalenius.numerics.rounding import short_up

    scale = NATS_PER_UNIT.get(unit, 1.0)
    with Live(console=Console(stderr=True), transient=True, refresh_per_second=8) as live:

        def listen(state: "Progress") -> None:
            lower, upper = state.lower / scale, state.upper / scale
            bracket = f"{lower:.6f} <= {symbol} <= {upper:.6f} {unit}".rstrip()
            whose = f"record {state.record} ({state.records} in all), " if state.records > 1 else ""
            who = f"{whose}{state.nodes} nodes, " if symbol == "L" else ""
            live.update(Text(f"{state.stage}: {bracket}, gap {short_up(upper - lower)}, {who}{state.seconds:.1f} s"))

        yield listen
