"""The exceptions a user of dalenius is meant to see, and text that is safe to show."""

import re
from collections.abc import Iterable
from typing import NoReturn

LONG_LIST = re.compile(r"(\[(?:-?\d+, ){3})(?:-?\d+, ){12,}(-?\d+)\]")


class InputError(ValueError):
    """Something that the user gave cannot be used; the message names value, place and remedy.

    Example:
        >>> try:
        ...     dl.queries.count(n=0)
        ... except dl.InputError as error:
        ...     print(error)
        n = 0 is too small; give an integer of at least 1
    """

    def __str__(self) -> str:
        # Messages quote names from files, and end on a terminal; call strings may list hundreds of values.
        return printable(LONG_LIST.sub(r"\1..., \2]", super().__str__()))


def refuse(message: str, cause: Exception | None = None) -> NoReturn:
    """Raise InputError with a sentence that names value, place and remedy; cause: the error that it explains."""
    raise InputError(message) from cause


class BudgetError(InputError):
    """A release would leak more than the budget of a ledger; nothing was recorded.

    Example:
        >>> query = dl.queries.count(n=4)
        >>> try:
        ...     dl.Ledger(query, knowledge=0.5, budget=0.01).release(dl.mechanisms.geometric(query, epsilon=1))
        ... except dl.BudgetError:
        ...     print("refused")
        refused
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `did you mean 'count'?`, or the whole list where nothing is near."""
    import difflib

    listed = list(known)
    close = difflib.get_close_matches(name, listed, n=1, cutoff=0.5)
    return (
        f"did you mean {close[0]!r}?"
        if close
        else f"it must be one of {', '.join(listed)}"
        if listed
        else "it takes none"
    )


def printable(text: str) -> str:
    r"""Return one line without control characters: each stands as its escape, such as \x1b or \n.

    Labels and names come from files that anybody may have written. Raw, they could move the cursor, colour the screen,
    turn the direction of the text, or begin a line that looks like one of ours.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def show(value: object, longest: int = 200) -> str:
    """Return any value as one short line, to be quoted in a message; its own repr may fail or have no end."""
    try:
        text = printable(repr(value))
    except Exception:  # noqa: BLE001 - of an integer of 5,000 digits, or of a stranger's class
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
