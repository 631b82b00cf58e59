"""What all named queries and mechanisms share: how they are documented, refused and called."""

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import TypeVar

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels.real_records import RealQuery
from dalenius.model.query import Query, call_string

Built = TypeVar("Built", bound=Callable[..., object])


def _documented(arguments: Mapping[str, str], **sections: str) -> Callable[[Built], Built]:
    """Give a docstring the arguments and sections that it lacks, arguments in the order of the signature."""

    def documented(build: Built) -> Built:
        about, *parts = re.split(r"\n\n(Args|Returns|Raises|Example):\n", inspect.cleandoc(build.__doc__ or ""))
        found = sections | dict(zip(parts[::2], map(textwrap.dedent, parts[1::2]), strict=True))
        own = re.split(r"(?m)^(\w+): ", found.get("Args", ""))[1:]
        described = {**arguments, **dict(zip(own[::2], map(str.strip, own[1::2]), strict=True))}
        taken = inspect.signature(build).parameters
        found["Args"] = "\n".join(f"{name}: {described[name]}" for name in taken if name in described)
        indented = (
            f"\n\n{key}:\n" + re.sub(r"(?m)^(?=.)", "    ", found[key])
            for key in ("Args", "Returns", "Raises", "Example")
            if key in found
        )
        build.__doc__ = about + "".join(indented)
        return build

    return documented


_NOISE = {
    "query": "what is answered.",
    "epsilon": "privacy parameter; the noise scales with the query's sensitivity.",
    "sensitivity": "takes the place of the query's.",
    "mechanism": "whose outputs are changed; by default the exact answer.",
}
_REFUSED = "InputError: a parameter is out of range, or does not fit the query."

documented_mechanism = _documented(_NOISE, Returns="A Mechanism.", Raises=_REFUSED)
documented_response = _documented(
    _NOISE | {"epsilon": "privacy parameter per record, not scaled."},
    Returns="A Mechanism in which each record has its own channel.",
    Raises=_REFUSED,
)
documented_query = _documented(
    {
        "n": "number of records.",
        "low": "smallest value of a record.",
        "high": "largest value of a record.",
        "names": 'what the values of a record are called, such as ["no", "yes"]; reports print them.',
    },
    Returns="A Query.",
    Raises="InputError: an argument is wrong, or there are too many records or values.",
)


def call(family: str, **arguments: object) -> str:
    """Return the call string of a mechanism; arguments that are None are left out."""
    return call_string(family, [(key, checks.plain(value)) for key, value in arguments.items() if value is not None])


def asked(query: object, *, real: bool = False) -> None:
    """Refuse what is not a query; real-valued records too, where there is no mechanism for them."""
    if not isinstance(query, Query):
        refuse(f"a mechanism answers a Query, not {type(query).__name__}; see dl.queries")
    if isinstance(query, RealQuery) and not real:
        query.refuse()
