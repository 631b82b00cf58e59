"""What commands share: options, where a mechanism comes from, files that are written last."""

import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from dalenius.cli.progress import progress_line
from dalenius.errors import nearest, printable, refuse
from dalenius.model import checks
from dalenius.model.files import not_a_page, obstacle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.query import Query
    from dalenius.model.reference import Reference

Command = TypeVar("Command", bound=Callable[..., Any])
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


class Suggesting(click.Group):
    """A group of commands that suggests the nearest one where there is none of a name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or refuse."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            ctx.fail(f"there is no command {args[0]!r}; {nearest(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


def options(*listed: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return one decorator of several, in the order in which help lists them."""

    def decorate(command: Command) -> Command:
        for option in reversed(listed):
            command = option(command)
        return command

    return decorate


def number(
    option: str, metavar: str, words: str, kind: type = float, default: float | None = None
) -> Callable[[Command], Command]:
    """Return an option that is one number; help shows its default, where it has one."""
    return click.option(
        option, type=kind, default=default, show_default=default is not None, metavar=metavar, help=words
    )


def limit(default: float | None, words: str) -> Callable[[Command], Command]:
    """Return the option --time-limit with its default and its words."""
    return number("--time-limit", "S", words, default=default)


def gap(default: float, words: str = "Gap at which to stop.") -> Callable[[Command], Command]:
    """Return the option --tolerance with its default and its words."""
    return number("--tolerance", "FLOAT", words, default=default)


def relative(default: float = 1e-3) -> Callable[[Command], Command]:
    """Return the option --relative with its default."""
    words = "Also stop at a gap of this share of the upper bound; 0: at the tolerance alone."
    return number("--relative", "SHARE", words, default=default)


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


SEED = number("--seed", "INTEGER", "Seed of the random starts.", int, 0)
SECRET = click.option(
    "--secret",
    metavar="RECORDS",
    callback=_secret,
    help="Records that form one secret, such as 0,1, or attributes of a table, such as 0.1; default: each record.",
)


KNOWING = options(
    number("--knowledge", "K", "The most that the adversary knows before the release."),
    number("--entropy", "B", "The same in the paper's form: the entropy of its prior, log|X| - K."),
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


# What a command is about, in one of three ways, and how a file with numbers is to be read.
WAYS = {
    "query": click.option("--query", metavar="CALL", help='A query of the gallery, such as "count(n=4)".'),
    "mechanism": click.option("--mechanism", metavar="CALL", help='Its mechanism, such as "geometric(epsilon=1)".'),
    "channel": click.option(
        "--channel",
        type=FILE,
        help="A matrix in .csv, .tsv, .txt, .xlsx, .npy or .json: one row per dataset, last record fastest.",
    ),
    "records": click.option(
        "--records", metavar="SIZES", help="Alphabet sizes of the channel's records, such as 2,2,2."
    ),
    "load": click.option("--load", type=FILE, help="A saved mechanism (.json)."),
}
READING = {
    "delimiter": click.option(
        "--delimiter",
        metavar="D",
        help="What separates the columns of --channel, if it is not obvious: , ; | tab blank.",
    ),
    "decimal": click.option("--decimal", metavar="D", help="Decimal sign of --channel, a point or a comma."),
    "header": click.option(
        "--header/--no-header", default=None, help="Whether the first line of --channel names the outputs."
    ),
    "index": click.option(
        "--index/--no-index", default=None, help="Whether the first column of --channel names the rows."
    ),
    "normalize": click.option(
        "--normalize", is_flag=True, help="Divide each row by its sum, which must be within 1 % of one."
    ),
    "counts": click.option("--counts", is_flag=True, help="The rows of --channel are counts; divide each by its sum."),
}
SOURCE = options(*WAYS.values(), *READING.values())
# A shell makes these hard to type.
DELIMITERS = {"tab": "\t", "\\t": "\t", "blank": " ", "space": " "}


def described(given: dict[str, Any]) -> "Mechanism":
    """Return the mechanism that SOURCE describes in exactly one way, and take its options out of those given."""
    ways, reading = ({name: given.pop(name) for name in part} for part in (WAYS, READING))
    named = {f"--{name}" for name, value in ways.items() if value is not None}
    for pair in ({"--query", "--mechanism"}, {"--channel", "--records"}):
        if len(named & pair) == 1:
            (here,), (missing,) = named & pair, pair - named
            refuse(f"{here} needs {missing} beside it, such as {missing} {EXAMPLES[missing]}")
    if named not in ({"--query", "--mechanism"}, {"--channel", "--records"}, {"--load"}):
        refuse(f"name what to audit in exactly one way: {SOURCES}; given: {', '.join(sorted(named)) or 'none of them'}")
    if "--channel" not in named and (useless := next((name for name, value in reading.items() if value), None)):
        refuse(f"--{useless} is about how --channel is read; leave it out")

    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.gallery.parse import parse_mechanism, parse_query

    if "--query" in named:
        return parse_mechanism(ways["mechanism"], parse_query(ways["query"]))
    if "--channel" in named:
        reading["delimiter"] = DELIMITERS.get(reading["delimiter"], reading["delimiter"])
        return Mechanism.from_matrix(ways["channel"], alphabet_sizes(ways["records"]), **reading)
    return Mechanism.load(ways["load"])


WRITTEN = {
    "certificate": "Write the certificate here (.json); `dalenius verify` checks it.",
    "out": "Write the mechanism here (.json); dalenius audit --load reads it.",
    "table": "Write the exact table of the mechanism here (.csv), for deployment.",
    "save": "Write the whole answer here (.json); dl.load reads it.",
    "plot": "Draw {} here (.png, .svg, .pdf).",
}


class Given:
    """What was given to a command: what it is about, files to write, and how to search.

    inputs: files that it reads. options: all that is left, which go to the function behind the command by their names.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        """Take files and what is not for the function out of the options."""
        self.options = options
        self.as_json: bool = options.pop("as_json")
        self.reference: Path | None = options.pop("reference", None)
        self.files: Files = {name: options.pop(name) for name in WRITTEN if name in options}
        self.inputs = [self.reference, options.get("channel"), options.get("load")]

    def check(self, *inputs: Path | None) -> None:
        """Refuse files that cannot be written, and a limit of knowledge that is missing, before any work."""
        check_outputs(self.files, [*self.inputs, *inputs])
        if {"knowledge", "entropy"} <= self.options.keys():
            check_limit(self.options)

    def about(self) -> "Mechanism | Query":
        """Return the mechanism or the query that the command is about."""
        if "load" in self.options:
            return described(self.options)
        from dalenius.model.gallery.parse import parse_query

        return parse_query(self.options.pop("query"))

    def answer(self, ask: Callable[..., Any], about: "Mechanism | Query", *shown: str) -> Any:
        """Ask with the reference of a file, and show progress. shown: as for progress_line; default: a leakage."""
        law = reference_from(self.reference, about)
        with progress_line(*(shown or (self.options["unit"],))) as listener:
            return ask(about, reference=law, progress=listener, **self.options)

    def finish(self, answer: Any, *, about: Any = None, more: Mapping[str, Any] | None = None) -> int:
        """Write the files asked for, print the answer whatever happens to them, and return the exit code.

        answer: with summary() and to_dict(). about: whose certificate and picture are written, where that is not the
        answer itself. more: what its JSON says besides.
        """
        if getattr(signal.getsignal(signal.SIGINT), "until_answered", False):
            signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on there is an answer to lose
        written, whose = [], answer if about is None else about
        try:
            for name, path in self.files.items():
                if path is not None:
                    WRITERS[name](answer if name == "save" else whose, path)  # whole or not at all
                    check = f"; check it with: dalenius verify {path}" if name == "certificate" else ""
                    written.append(f"Wrote      {path}{check}")
        finally:  # a full disk does not cost the answer
            print_json({**answer.to_dict(), **(more or {})}) if self.as_json else click.echo(answer.summary())
        if not self.as_json:
            for line in [*written, *self._to_check(answer)]:
                click.echo(printable(line))
        return INTERRUPTED if getattr(answer, "stopped", "") == "interrupted" else 0

    def _to_check(self, answer: Any) -> list[str]:
        """Say what to type where the certificate is not checked yet, and nothing was written that names it."""
        unchecked = getattr(answer, "verified", True) is None and not answer.refused
        if not unchecked or any(self.files.get(name) for name in ("certificate", "save")):
            return []
        at_once = "verify" in click.get_current_context().params
        return [f"To check   {'--verify yes' if at_once else '--save FILE, then: dalenius verify FILE'}"]


def question(
    about: Callable[[Any], Any],
    *listed: Callable[[Any], Any],
    files: Sequence[str] = (),
    plot: str = "",
    short: str | None = None,
) -> Callable[[Callable[[Given], int]], click.Command]:
    """Make a command of a function that receives all that was given as one `Given`; its docstring is the help.

    about: SOURCE or QUERY; listed: its other options. files: what it writes; plot: what its picture shows.
    """
    words = {**WRITTEN, "plot": WRITTEN["plot"].format(plot)}
    names = (*files, "plot") if plot else files
    writing = [click.option(f"--{name}", type=FILE, help=words[name]) for name in names]

    def decorate(function: Callable[[Given], int]) -> click.Command:
        def run(**options: Any) -> int:
            return function(Given(options))

        made = click.command(function.__name__, help=function.__doc__, short_help=short)
        return made(options(about, *listed, *writing, AS_JSON)(run))

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
