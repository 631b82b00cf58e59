"""What the builders of named mechanisms share: the call string, and the first look at a query."""

from collections.abc import Mapping

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels.real_records import RealQuery
from dalenius.model.query import Query, call_string


def call(family: str, arguments: Mapping[str, object]) -> str:
    """Return the call string of a mechanism; arguments that are None are left out."""
    return call_string(family, [(key, checks.plain(value)) for key, value in arguments.items() if value is not None])


def asked(query: object, *, real: bool = False) -> None:
    """Refuse what is not a query; real-valued records too, where there is no mechanism for them."""
    if not isinstance(query, Query):
        refuse(f"a mechanism answers a Query, not {type(query).__name__}; see dl.queries")
    if isinstance(query, RealQuery) and not real:
        query.refuse()
