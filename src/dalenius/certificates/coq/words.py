"""Numbers and lists in Coq's words, and refusals."""

from collections.abc import Iterable
from fractions import Fraction
from typing import NoReturn

from dalenius.errors import InputError


def refuse(reason: str) -> NoReturn:
    """Raise InputError: this has no proof in Coq."""
    message = f"this certificate has no proof in Coq: {reason}; `dalenius verify` checks it"
    raise InputError(message)


def number(x: float | Fraction) -> str:
    """A number exactly: a float is z / 2^k."""
    exact = Fraction(x)
    z, d = exact.numerator, exact.denominator
    top = f"({z})" if z < 0 else f"{z}"
    if d == 1:
        return f"(Whole {top})"
    if d & (d - 1) == 0:
        return f"(Binary {top} {d.bit_length() - 1})"
    return f"(Over (Whole {top}) (Whole {d}))"


def assumptions(*theorems: str) -> list[str]:
    """Have Coq print what theorems rest on, all at once: looking for axioms takes seconds each time."""
    return [f"Definition proved := ({', '.join(theorems)}).", "Print Assumptions proved."]


def defined(name: str, x: float | Fraction) -> str:
    """The definition of a number."""
    return f"Definition {name} : number := {number(Fraction(x))}."


def table(rows: Iterable[Iterable[float | Fraction]]) -> str:
    """A list of lists of numbers, one a line."""
    return "[\n" + ";\n".join(f"  {listed(map(number, row))}" for row in rows) + "]"


def listed(items: Iterable[object]) -> str:
    """A list."""
    return f"[{'; '.join(map(str, items))}]"
