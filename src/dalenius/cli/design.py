"""dalenius design: the least leaking mechanism at a distortion, or the least distorting one at a leakage."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalenius.cli import common
from dalenius.errors import refuse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MEASURES = ("absolute", "squared", "zero-one")
TABLES = (".csv", ".npy", ".json")


@click.command(short_help="Find the best mechanism; bound what any can reach.")
@common.QUERY
@click.option("--distortion", type=float, metavar="D", help="The most expected distortion; the leakage is minimised.")
@click.option("--leakage", type=float, metavar="L", help="The most leakage; the expected distortion is minimised.")
@click.option(
    "--measure",
    default="absolute",
    show_default=True,
    metavar="WORD|FILE",
    help=f"Measure of distortion: {', '.join(MEASURES)}, or a table in {', '.join(TABLES)}: "
    "one row per class of the query, one column per output.",
)
@click.option(
    "--p0",
    type=common.FILE,
    help=f"Distribution of the data ({', '.join(TABLES)}): one number per dataset or per class of the query, "
    "or one line of probabilities per record. Uniform by default.",
)
@click.option(
    "--outputs",
    metavar="LIST",
    help='What may be released: "0,1,2", or "2,0; 1,1; 0,2" for a histogram. The range of the query by default.',
)
@click.option(
    "--max-epsilon",
    type=float,
    metavar="E",
    help="The mechanism is also E-differentially private. Without this its epsilon may be infinite.",
)
@click.option("--floor", type=float, metavar="P", help="Every output has at least this probability, whatever the data.")
@click.option("--unbiased", is_flag=True, help="The expected output is the answer, whatever the data.")
@click.option("--within", type=float, metavar="W", help="No output is further than this from the answer.")
@click.option("--keep-zero", is_flag=True, help="An answer of 0 is released as 0.")
@common.solving(tolerance=1e-4, time_limit=300.0, paper=True)
@common.relative(0.0)
@common.REFERENCE
@common.adversary("Any prior that knows at most K, or any prior under which the records are independent.")
@common.VERIFY
@common.writing("certificate", "out", "table", "save", plot="the mechanism and the bracket")
@common.AS_JSON
def design(
    *,
    query: str,
    measure: str,
    p0: Path | None,
    outputs: str | None,
    reference: Path | None,
    files: common.Files,
    as_json: bool,
    **asked: common.Asked,
) -> int:
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
    named, leakage = measure in MEASURES, asked["leakage"]
    common.check_outputs(files, [p0, reference, None if named else Path(measure)])
    common.exactly_one(distortion=asked["distortion"], leakage=leakage)
    common.check_limit(asked)

    from dalenius.model.gallery.parse import parse_query

    about = parse_query(query)
    asked |= {
        "outputs": None if outputs is None else output_list(outputs),
        "p0": None if p0 is None else _distribution(p0),
        "measure": measure if named else _measure(measure),
    }

    from dalenius.api import designs

    shown = (asked["unit"], "least leakage") if leakage is None else ("", "least distortion")
    return common.finish(common.answered(designs.design, about, reference, asked, *shown), files, as_json=as_json)


def output_list(text: str) -> list[Any]:
    """Return [0, 1, 2.5] for "0,1,2.5" and [(2, 0), (1, 1)] for "2,0; 1,1"."""
    try:
        if ";" in text:
            return [tuple(int(part) for part in vector.split(",")) for vector in text.split(";") if vector.strip()]
        return [_number(part) for part in text.split(",")]
    except ValueError:
        refuse(f'--outputs {text!r} is not a list of outputs; write numbers such as 0,1,2 or count vectors "2,0; 1,1"')


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


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
