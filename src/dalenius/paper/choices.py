"""Which repairs of the paper's text are made, and how Algorithms 9 and 10 are read.

Rows are those of the errata in docs/relation-to-the-paper.md.
"""

import difflib
from collections.abc import Iterable
from typing import Literal, get_args

from dalenius.errors import InputError, refuse, show
from dalenius.model import checks

Reading = Literal["proof", "strict"]

READINGS: tuple[Reading, ...] = get_args(Reading)
# The text cannot run without these, or says a thing in two ways (start): they are always made.
ALWAYS = {"start": 5, "current_iterate": 6, "infeasible": 7, "armijo": 8, "previous": 9}
# A formula is wrong; made unless repairs= says otherwise. Algorithm 3 itself, line 9, prints the sum of row 2 right:
# only the theorem before it is wrong, so that "entropy_share" changes nothing in the algorithms.
WRONG = {"gradient": 1, "entropy_share": 2}
# The text runs as printed, and these do something else; made only where repairs= names them.
BETTER = {"escort": 4, "hinge": 10, "penalty_owner": 12}

ROWS = {**ALWAYS, **WRONG, **BETTER}
DEFAULT = frozenset(WRONG)


def repairs_from(repairs: Iterable[str] | None) -> frozenset[str]:
    """Return the names of the repairs that are made by choice; None means those of wrong formulas.

    A text lists names between commas, as on the command line. Names of repairs that are always made are allowed.
    """
    if repairs is None:
        return DEFAULT
    if isinstance(repairs, str):
        repairs = [name.strip() for name in repairs.split(",") if name.strip()]
    names = checks.listed(
        repairs, f"repairs = {show(repairs)} must list names of repairs, such as {{'gradient', 'escort'}}"
    )
    for name in names:
        if not isinstance(name, str) or name not in ROWS:
            raise InputError(_unknown(name))
    return frozenset(map(str, names)) - ALWAYS.keys()


def made(repairs: frozenset[str]) -> tuple[str, ...]:
    """Return the names of all repairs that are made, those that always are included, in the order of their rows."""
    return tuple(sorted({*ALWAYS, *repairs}, key=lambda name: ROWS[name]))


def reading_from(reading: str | None, repairs: frozenset[str] = DEFAULT) -> Reading:
    """Return how Algorithms 9 and 10 share the penalty; None means "proof"."""
    if reading is None:
        return "proof"
    checks.choice("reading", reading, READINGS)
    if reading == "strict" and "penalty_owner" in repairs:
        refuse("reading = 'strict' and the repair 'penalty_owner' both choose who sets the penalty; give one of them")
    return "strict" if reading == "strict" else "proof"


def _unknown(name: object) -> str:
    close = difflib.get_close_matches(show(name).strip("'"), ROWS, n=1)
    hint = f"did you mean {show(close[0])}? " if close else ""
    by_choice = ", ".join([*WRONG, *BETTER])
    return f"there is no repair {show(name)}; {hint}by choice: {by_choice}; always made: {', '.join(ALWAYS)}"
