"""The registry of named mechanisms: one line for each family, and whatever depends on a family is read from it.

On the scale of noise levels s more is noisier, whatever the parameter: epsilon = exp(-s), sigma = sensitivity exp(s),
rate = exp(-s), flip = top / (1 + exp(-s)), where at top = 1 - 1/|range| the answer is uniform.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dalenius.errors import nearest, refuse, show
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms
from dalenius.model.query import Query


@dataclass(frozen=True)
class Parameter:
    """The number that says how much noise there is.

    quietest: the noise level of a query below which less noise changes nothing that a float shows.
    at: the value for a query at a noise level, and the size of a change in it that matters.
    """

    name: str
    quietest: Callable[[Query], float]
    at: Callable[[Query, float], tuple[float, float]]


def _epsilon(faintest: float = 40.0, *, of_record: bool = False) -> Parameter:
    """How well an output may distinguish two neighbouring datasets; noise is scaled by sensitivity/epsilon.

    faintest: epsilon/sensitivity beyond which noise is practically the least. exp(-40) added to 1 is 1.
    of_record: epsilon is for one record, whatever the sensitivity of the query.
    """
    return Parameter(
        "epsilon",
        lambda query: -math.log(faintest * (1.0 if of_record else _spread(query))),
        lambda _, level: (math.exp(-level), math.exp(-level)),
    )


def _sigma(query: Query, level: float) -> tuple[float, float]:
    return _spread(query) * math.exp(level), _spread(query) * math.exp(level)


def _flip(query: Query, level: float, faintest: float = 40.0) -> tuple[float, float]:
    """A change matters by its share of the smaller of the distances from 0 and from top."""
    top = 1 - 1 / len(query.outputs)
    if level <= -faintest or top == 0:
        return 0.0, 0.0
    flip = top / (1 + math.exp(-level))
    return flip, min(flip, top / (1 + math.exp(level)))


def _rate(_: Query, level: float) -> tuple[float, float]:
    return math.exp(-max(level, 0.0)), math.exp(-max(level, 0.0))


def _spread(query: Query) -> float:
    """The sensitivity as a scale of noise; 1 for a query with a single answer."""
    return float(query.sensitivity) if query.sensitivity > 0 else 1.0


EPSILON, FAINT, OF_RECORD = _epsilon(), _epsilon(80.0), _epsilon(of_record=True)
# Rounding to integers hides ten standard deviations.
SIGMA = Parameter("sigma", lambda query: math.log(0.05 / _spread(query)), _sigma)
FLIP = Parameter("flip", lambda _: -40.0, _flip)
RATE = Parameter("rate", lambda _: 0.0, _rate)


@dataclass(frozen=True)
class Family:
    """Named mechanisms that differ in one parameter.

    build: the function of the gallery, which takes a query and keyword arguments.
    parameter: None where there is no choice of noise.
    integers: whether answers must be integers, or vectors of counts.
    shown: parameters at which a frontier shows the family; none where outputs are not the range of the query.
    """

    build: Callable[..., Mechanism]
    parameter: Parameter | None = None
    integers: bool = True
    shown: tuple[float, ...] = ()

    def with_parameter(self, query: Query, value: float) -> Mechanism:
        """Return the mechanism with this much noise."""
        return self.build(query, **({} if self.parameter is None else {self.parameter.name: value}))


FAMILIES: dict[str, Family] = {
    "symmetric": Family(mechanisms.symmetric, FLIP, integers=False, shown=(0.1, 0.25, 0.5, 0.75)),
    "geometric": Family(mechanisms.geometric, EPSILON, shown=(0.5, 1.0, 2.0, 4.0)),
    "laplace": Family(mechanisms.laplace, FAINT, shown=(0.5, 1.0, 2.0, 4.0)),
    "exponential": Family(mechanisms.exponential, FAINT, integers=False, shown=(1.0, 2.0, 4.0, 8.0)),
    "randomized_response": Family(mechanisms.randomized_response, OF_RECORD, integers=False),
    "unary_encoding": Family(mechanisms.unary_encoding, OF_RECORD, integers=False),
    "discrete_gaussian": Family(mechanisms.discrete_gaussian, SIGMA),
    "noisy_max": Family(mechanisms.noisy_max, _epsilon(80.0, of_record=True), integers=False),
    "gaussian": Family(mechanisms.gaussian, SIGMA, shown=(0.4, 0.7, 1.2, 2.0)),
    "constant": Family(mechanisms.constant, integers=False),
    "exact": Family(mechanisms.exact, integers=False),
    "rounding": Family(mechanisms.rounding),
    "random_rounding": Family(mechanisms.random_rounding),
    "cell_key": Family(mechanisms.cell_key),
    "suppressed": Family(mechanisms.suppressed),
    "subsampled": Family(mechanisms.subsampled, RATE),
    "shuffled_response": Family(mechanisms.shuffled_response, OF_RECORD),
    "hadamard_response": Family(mechanisms.hadamard_response, OF_RECORD, integers=False),
    # Its sets change size with epsilon, so that less noise need not leak more.
    "subset_selection": Family(mechanisms.subset_selection, integers=False),
}


def with_noise() -> list[str]:
    """Return the names of the families whose noise can be more or less."""
    return [name for name, family in FAMILIES.items() if family.parameter is not None]


def family_of(name: object) -> tuple[Family, Parameter]:
    """Return the family that a user names, and its parameter."""
    found = FAMILIES.get(name) if isinstance(name, str) else None
    if found is None:
        refuse(f"there is no family {show(name)}; {nearest(show(name), with_noise())}")
    if found.parameter is None:
        known = ", ".join(with_noise())
        refuse(f"{name} has no number that makes its noise more or less; calibrate one of {known}")
    return found, found.parameter


def shown_on_frontiers(query: Query) -> list[tuple[str, Mechanism]]:
    """Return the mechanisms of a query that a frontier shows, by family."""
    return [
        (name, family.with_parameter(query, value))
        for name, family in FAMILIES.items()
        if query.numeric or not family.integers
        for value in family.shown
    ]
