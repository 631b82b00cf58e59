"""The registry of named mechanisms: one line for each family, and whatever depends on a family is read from it."""

from collections.abc import Callable
from dataclasses import dataclass

from dalenius.errors import nearest, refuse, show
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms
from dalenius.model.gallery.parameters import Epsilon, Flip, Parameter, Rate, Sigma
from dalenius.model.query import Query


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
    "symmetric": Family(mechanisms.symmetric, Flip(), integers=False, shown=(0.1, 0.25, 0.5, 0.75)),
    "geometric": Family(mechanisms.geometric, Epsilon(), shown=(0.5, 1.0, 2.0, 4.0)),
    "laplace": Family(mechanisms.laplace, Epsilon(80.0), shown=(0.5, 1.0, 2.0, 4.0)),
    "exponential": Family(mechanisms.exponential, Epsilon(80.0), integers=False, shown=(1.0, 2.0, 4.0, 8.0)),
    "randomized_response": Family(mechanisms.randomized_response, Epsilon(of_record=True), integers=False),
    "unary_encoding": Family(mechanisms.unary_encoding, Epsilon(of_record=True), integers=False),
    "discrete_gaussian": Family(mechanisms.discrete_gaussian, Sigma()),
    "noisy_max": Family(mechanisms.noisy_max, Epsilon(80.0, of_record=True), integers=False),
    "gaussian": Family(mechanisms.gaussian, Sigma(), shown=(0.4, 0.7, 1.2, 2.0)),
    "constant": Family(mechanisms.constant, integers=False),
    "exact": Family(mechanisms.exact, integers=False),
    "rounding": Family(mechanisms.rounding),
    "random_rounding": Family(mechanisms.random_rounding),
    "cell_key": Family(mechanisms.cell_key),
    "suppressed": Family(mechanisms.suppressed),
    "subsampled": Family(mechanisms.subsampled, Rate()),
    "shuffled_response": Family(mechanisms.shuffled_response, Epsilon(of_record=True)),
    "hadamard_response": Family(mechanisms.hadamard_response, Epsilon(of_record=True), integers=False),
    # Its sets change size with epsilon, so that less noise need not leak more.
    "subset_selection": Family(mechanisms.subset_selection, integers=False),
}


def with_noise() -> list[str]:
    """Return the names of the families whose noise can be more or less."""
    return [name for name, family in FAMILIES.items() if family.parameter is not None]


def family_of(name: object) -> tuple[Family, Parameter]:
    """Return the family that a user names, and its parameter."""
    known = with_noise()
    found = FAMILIES.get(name) if isinstance(name, str) else None
    if found is not None and found.parameter is not None:
        return found, found.parameter
    if found is not None:
        refuse(f"{name} has no number that makes its noise more or less; calibrate one of {', '.join(known)}")
    refuse(f"there is no family {show(name)}; {nearest(show(name), known)}")


def shown_on_frontiers(query: Query) -> list[tuple[str, Mechanism]]:
    """Return the mechanisms of a query that a frontier shows, by family."""
    return [
        (name, family.with_parameter(query, value))
        for name, family in FAMILIES.items()
        if query.numeric or not family.integers
        for value in family.shown
    ]
