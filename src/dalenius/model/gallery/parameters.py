"""Parameters of the named mechanisms: their limits, a common scale of noise, and the call string that they make.

On the scale of noise levels s more is noisier, whatever the parameter: epsilon = exp(-s), sigma = sensitivity exp(s),
flip = top / (1 + exp(-s)), where at top = 1 - 1/|range| the answer is uniform.
"""

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels.real_records import RealQuery
from dalenius.model.query import Query, call_string

Built = TypeVar("Built", bound=Callable[..., object])


def documented_mechanism(build: Built) -> Built:
    """Add what all mechanisms share to a docstring: the query, what is returned, and when it is refused."""
    return _documented(
        build,
        ("query: what is answered.", ""),
        Returns="A Mechanism.",
        Raises="InputError: a parameter is out of range, or does not fit the query.",
    )


def documented_query(build: Built) -> Built:
    """Add what all queries share to a docstring: names of values, and when they are refused."""
    return _documented(
        build,
        ("", 'names: what the values of a record are called, such as ["no", "yes"]; reports print them.'),
        Raises="InputError: an argument is wrong, or there are too many records or values.",
    )


def _documented(build: Built, around: tuple[str, str], **shared: str) -> Built:
    """Put arguments before and after those of a docstring, and give it the sections that it lacks."""
    about, *parts = re.split(r"\n\n(Args|Returns|Raises|Example):\n", inspect.cleandoc(build.__doc__ or ""))
    found = dict(zip(parts[::2], map(inspect.cleandoc, parts[1::2]), strict=True))
    given = found.get("Args", "")
    first = "" if given.startswith("query:") else around[0]
    found["Args"] = "\n".join(filter(None, (first, given, around[1])))
    sections = [(key, text) for key in ("Args", "Returns", "Raises", "Example") if (text := (shared | found).get(key))]
    indented = (f"\n\n{key}:\n" + re.sub(r"(?m)^(?=.)", "    ", text) for key, text in sections)
    build.__doc__ = about + "".join(indented)
    return build


class Parameter(Protocol):
    """The number that says how much noise there is."""

    name: ClassVar[str]

    def checked(self, value: object) -> float:
        """Return the value as a number within its limits."""

    def quietest(self, query: Query) -> float:
        """Return the noise level below which less noise changes nothing that a float shows."""

    def at(self, query: Query, level: float) -> tuple[float, float]:
        """Return the value at a noise level, and the size of a change in it that matters."""


@dataclass(frozen=True)
class Epsilon:
    """How well an output may distinguish two neighbouring datasets; noise is scaled by sensitivity/epsilon.

    faintest: epsilon/sensitivity beyond which noise is practically the least. exp(-40) added to 1 is 1.
    of_record: epsilon is for one record, whatever the sensitivity of the query.
    """

    faintest: float = 40.0
    of_record: bool = False
    name: ClassVar[str] = "epsilon"

    def checked(self, value: object) -> float:
        """Return the value as a number above 0."""
        return checks.real(self.name, value, 0.0, math.inf, open_low=True)

    def quietest(self, query: Query) -> float:
        """Return the noise level at which epsilon is `faintest` times the sensitivity."""
        return -math.log(self.faintest * (1.0 if self.of_record else spread(query)))

    def at(self, query: Query, level: float) -> tuple[float, float]:
        """Return exp(-level), twice."""
        return math.exp(-level), math.exp(-level)


@dataclass(frozen=True)
class Sigma:
    """A standard deviation, in units of the answer.

    faintest: sigma below which there is practically no noise. Rounding to integers hides ten standard deviations.
    """

    faintest: float = 0.05
    name: ClassVar[str] = "sigma"

    def checked(self, value: object) -> float:
        """Return the value as a number above 0."""
        return checks.real(self.name, value, 0.0, math.inf, open_low=True)

    def quietest(self, query: Query) -> float:
        """Return the noise level at which sigma is `faintest`."""
        return math.log(self.faintest / spread(query))

    def at(self, query: Query, level: float) -> tuple[float, float]:
        """Return sensitivity exp(level), twice."""
        sigma = spread(query) * math.exp(level)
        return sigma, sigma


@dataclass(frozen=True)
class Flip:
    """The probability of another value than the answer.

    faintest: the noise level, with its sign turned, below which the answer is the truth: exp(-40) added to 1 is 1.
    """

    faintest: float = 40.0
    name: ClassVar[str] = "flip"

    def checked(self, value: object) -> float:
        """Return the value as a probability."""
        return checks.real(self.name, value, 0.0, 1.0)

    def quietest(self, query: Query) -> float:
        """Return the noise level from which on flip is 0."""
        return -self.faintest

    def at(self, query: Query, level: float) -> tuple[float, float]:
        """Return top / (1 + exp(-level)), and the smaller of its distances from 0 and from top."""
        top = 1 - 1 / len(query.outputs)
        if level <= -self.faintest or top == 0:
            return 0.0, 0.0
        flip = top / (1 + math.exp(-level))
        return flip, min(flip, top / (1 + math.exp(level)))


@dataclass(frozen=True)
class Rate:
    """The share of the records that are kept: rate = exp(-level)."""

    name: ClassVar[str] = "rate"

    def checked(self, value: object) -> float:
        """Return the value as a share above 0."""
        return checks.real(self.name, value, 0.0, 1.0, open_low=True)

    def quietest(self, query: Query) -> float:
        """Return 0, the noise level at which all records are kept."""
        return 0.0

    def at(self, query: Query, level: float) -> tuple[float, float]:
        """Return exp(-level), twice; at most 1."""
        rate = math.exp(-max(level, 0.0))
        return rate, rate


def spread(query: Query) -> float:
    """Return the sensitivity as a scale of noise; 1 for a query with a single answer."""
    return float(query.sensitivity) if query.sensitivity > 0 else 1.0


def call(family: str, arguments: Mapping[str, object]) -> str:
    """Return the call string of a mechanism; arguments that are None are left out."""
    return call_string(family, [(key, checks.plain(value)) for key, value in arguments.items() if value is not None])


def asked(query: object, *, real: bool = False) -> None:
    """Refuse what is not a query; real-valued records too, where there is no mechanism for them."""
    if not isinstance(query, Query):
        refuse(f"a mechanism answers a Query, not {type(query).__name__}; see dl.queries")
    if isinstance(query, RealQuery) and not real:
        query.refuse()
