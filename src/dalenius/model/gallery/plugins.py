"""Mechanisms of other distributions: functions that they name under the entry-point group `dalenius.mechanisms`.

    [project.entry-points."dalenius.mechanisms"]
    staircase = "their_package:staircase"

Each is called as those of the gallery, with a query and keyword arguments, and returns a Mechanism. The verifier does
not know their formulas, so certificates carry their rows. They are loaded when they are first named: a broken one is
reported then, and breaks nothing else.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dalenius.errors import InputError, printable, refuse
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.gallery.families import FAMILIES
from dalenius.model.query import Query

GROUP = "dalenius.mechanisms"

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


def _entries() -> "EntryPoints":
    # Loaded when a name is not in the gallery: it takes a tenth of a small audit's time.
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def names() -> list[str]:
    """Return the names that other distributions give; those of the gallery itself are never replaced."""
    return sorted({entry.name for entry in _entries()} - FAMILIES.keys())


def load(name: str) -> Callable[..., Mechanism]:
    """Return a mechanism of another distribution as a function of a query; an InputError says why there is none."""
    entry = next(entry for entry in _entries() if entry.name == name)
    try:
        build = entry.load()
    except Exception as error:
        raise InputError(_broken(entry, f"{type(error).__name__}: {error}")) from error
    if not callable(build):
        raise InputError(_broken(entry, f"{entry.value} is not a function, but {type(build).__name__}"))

    @functools.wraps(build)
    def checked(query: Query, *given: Any, **arguments: Any) -> Mechanism:
        if not isinstance(query, Query):
            refuse(f"{name} needs a Query, not {type(query).__name__}; see dl.queries")
        try:
            found = build(query, *given, **arguments)
        except InputError:
            raise
        except Exception as error:
            message = f"{_whose(entry)} failed at {query}: {type(error).__name__}: {error}"
            raise InputError(message) from error
        if not isinstance(found, Mechanism):
            raise InputError(_broken(entry, f"it returned {type(found).__name__}, and not a Mechanism"))
        if not found.by_formula or str(found.name).split("(")[0] in FAMILIES:
            return found
        # A name that only the plug-in knows is left out: certificates are then about the rows.
        rows = found.written()
        return Written(rows.statistic, rows.given, rows.labels, rows.query)

    return checked


def _whose(entry: "EntryPoint") -> str:
    owner = "an unknown distribution" if entry.dist is None else f"the distribution {entry.dist.name!r}"
    return f"the mechanism {entry.name!r} of {owner}"


def _broken(entry: "EntryPoint", why: str) -> str:
    return f"{_whose(entry)} cannot be used: {printable(why)}; update or uninstall it"
