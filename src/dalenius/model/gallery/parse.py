"""Call strings such as `count(n=4)`: parsed, never evaluated."""

import ast
import inspect
from collections.abc import Callable, Mapping
from itertools import zip_longest
from types import NoneType, UnionType
from typing import Any, cast, get_args

from dalenius.errors import nearest, refuse
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import plugins, queries
from dalenius.model.gallery.families import FAMILIES
from dalenius.model.query import Query

QUERIES: dict[str, Callable[..., Query]] = {
    f.__name__: f
    for f in (
        queries.modular_sum,
        queries.count,
        queries.pairs,
        queries.total,
        queries.mean,
        queries.real_sum,
        queries.real_mean,
        queries.weighted_sum,
        queries.histogram,
        queries.table,
        queries.identity,
    )
}
# Statistics that people ask for, and whose names are near to those of other queries.
OWN_STATISTICS = ("median", "quantile", "max", "maximum", "min", "minimum", "mode", "variance", "sum_of_squares")
# Bits of a whole number: beyond, it is no float.
LONGEST = 1024
_KINDS = {int: "a whole number", float: "a number", bool: "True or False", str: "a text"}
MECHANISMS: dict[str, Callable[..., Mechanism]] = {name: family.build for name, family in FAMILIES.items()}


def parse_query(text: str) -> Query:
    """Return the query that a call string names, such as `modular_sum(n=4, modulus=2)`."""
    build, arguments = _call(text, "query")
    return cast("Query", build(**arguments))


def parse_mechanism(text: str, query: Query) -> Mechanism:
    """Return the mechanism that a call string names, such as `geometric(epsilon=1)`, of a query."""
    build, arguments = _call(text, "mechanism")
    return cast("Mechanism", build(query, **arguments))


def check_call(text: str, what: str) -> None:
    """Refuse the call string of a query or a mechanism whose name, arguments or types are wrong; nothing is built."""
    build, arguments = _call(text, what)
    parameters = inspect.signature(build).parameters
    for name, value in arguments.items():
        taken = parameters[name].annotation
        # A list of whole numbers has int inside, and is something else.
        kinds = [k for k in (get_args(taken) if isinstance(taken, UnionType) else (taken,)) if k is not NoneType]
        # As far as the builder says what it takes: a whole number is a number too, but True is none.
        fits = type(value) in kinds or (float in kinds and type(value) is int)
        if all(kind in _KINDS for kind in kinds) and not fits:
            refuse(f"{name} = {value!r} in {text!r} is not {' or '.join(_KINDS[kind] for kind in kinds)}")


def with_tables(text: str, change: Callable[[str], str]) -> str:
    """Return the call string of a mechanism with other names of the perturbation tables that it reads from files."""
    name, positional, keywords = _parts(text, "mechanism")
    parameters = list(inspect.signature(MECHANISMS[name]).parameters)[1:] if name in MECHANISMS else []
    # Every argument stays, one too many as well: what was refused before is refused afterwards.
    given = [*zip_longest(parameters[: len(positional)], positional), *keywords]
    changed = [
        change(value)
        if (name, key) == ("cell_key", "table") and isinstance(value, str)
        else with_tables(value, change)  # what is changed, or drawn a sample for
        if key == "mechanism" and isinstance(value, str)
        else value
        for key, value in given
    ]
    if changed == [value for _, value in given]:
        return text
    words = [f"{key}={value!r}" for (key, _), value in zip(given, changed, strict=True)]
    words[: len(positional)] = map(repr, changed[: len(positional)])
    return f"{name}({', '.join(words)})"


def _call(text: str, what: str) -> tuple[Callable[..., object], dict[str, Any]]:
    """The builder and its keyword arguments."""
    name, positional, keywords = _parts(text, what)
    build = _builder(name, what)
    # A mechanism's first parameter is the query, which its call does not name.
    parameters = list(inspect.signature(build).parameters.values())[what == "mechanism" :]
    names = [p.name for p in parameters]
    # Names of values are given by their keyword.
    listed = [key for key in names if key != "names"]
    if len(positional) > len(listed):
        refuse(f"{name} takes {len(listed)} arguments ({', '.join(listed)}); {text!r} gives more")
    arguments = dict(zip(names, positional, strict=False))
    for key, value in keywords:
        if key not in names:
            refuse(f"{name} has no argument {key!r}; {nearest(key, names)}")
        if key in arguments:
            refuse(f"{text!r} gives {key!r} twice")
        arguments[key] = value
    missing = [p.name for p in parameters if p.default is p.empty and p.name not in arguments]
    if missing:
        refuse(f"{text!r} lacks {', '.join(missing)}; write {name}({', '.join(f'{m}=...' for m in missing)})")
    return build, arguments


def _builder(name: str, what: str) -> Callable[..., object]:
    """What the gallery builds under a name; a mechanism of another distribution where it has none."""
    if name == "function":
        refuse("function is not available as a string; build it in Python and pass a matrix or a saved mechanism")
    if what == "query" and name in OWN_STATISTICS:
        refuse(f"there is no query {name!r}; write it in Python, as dl.queries.function(records, f)")
    known: Mapping[str, Callable[..., object]] = QUERIES if what == "query" else MECHANISMS
    if name in known:
        return known[name]
    others = plugins.names() if what == "mechanism" else []
    if name in others:
        return plugins.load(name)
    refuse(f"there is no {what} {name!r}; {nearest(name, [*known, *others])}")


def _parts(text: str, what: str, longest: int = 10_000) -> tuple[str, list[Any], list[tuple[str, Any]]]:
    """Name, positional values and keyword values of a call written in literals."""
    if len(text) > longest:
        refuse(f"the {what} string has {len(text)} characters; at most {longest} are read")
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        refuse(f"cannot read the {what} {text!r}; write a call such as {_example(what)}")
    if isinstance(call, ast.Name):
        call = ast.Call(call, [], [])
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        refuse(f"the {what} {text!r} is not a call; write one such as {_example(what)}")
    positional = [_literal(node, text) for node in call.args]
    keywords = [(word.arg or "**", _literal(word.value, text)) for word in call.keywords]
    return call.func.id, positional, keywords


def _literal(node: ast.expr, text: str) -> Any:
    """A number, a text, or a list of them."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bool):
        # In hexadecimal it may be longer than what Python writes in decimal.
        if isinstance(node.value, int) and node.value.bit_length() > LONGEST:
            refuse(f"a whole number in {text[:60]!r} has more than {LONGEST} bits; use a number of ordinary size")
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _literal(node.operand, text)
        if isinstance(value, (int, float)):
            return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_literal(item, text) for item in node.elts]
    refuse(f"{ast.unparse(node)!r} in {text!r} is not a number, text or list; only those are read")


def _example(what: str) -> str:
    return "count(n=4)" if what == "query" else "geometric(epsilon=1)"
