"""Laplace and Gaussian noise as it is added: outputs are real numbers, neither rounded nor clamped."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noise import Gaussian, Laplace, RealNoise
from dalenius.model.query import Query
from dalenius.model.statistic import Statistic
from dalenius.numerics.types import Floats


class RealOutputs(Mechanism):
    """What mechanisms with real outputs have in common: noise as it is added, and answers of neighbours `apart`."""

    name: str
    noise: RealNoise
    # The least and the largest parameter of the noise.
    limits: ClassVar[tuple[float, float]]
    # What can be drawn exactly instead.
    drawn_exactly: ClassVar[str]

    @property
    @abstractmethod
    def apart(self) -> float:
        """The largest distance of the answers of two neighbouring datasets, in units of the noise."""

    @property
    def n_outputs(self) -> float:
        """Infinite: there is one for every real number."""
        return math.inf

    def dp_epsilon(self) -> float:
        """Return sup log( p(y|x) / p(y|x') ) over outputs y and datasets x, x' that differ in one record."""
        return self.noise.dp_epsilon(self.apart)

    def dp_delta(self, epsilon: float = 1.0) -> float:
        """Return the least delta for which the mechanism is (epsilon, delta)-differentially private.

        It grows with the distance of the answers, so that the two farthest of neighbouring datasets have it.
        """
        return self.noise.dp_delta(self.apart, checks.real("epsilon", epsilon, 0.0, math.inf))

    def _exact(self, x: NDArray[Any], size: int, rng: object) -> NoReturn:
        """Raise InputError.

        A float is not a real number: which floats answer + noise can be depends on the answer, so that the last bits of
        an output may tell it, whatever was certified [mironov12].
        """
        refuse(
            f"secure=True: {self.name} has real outputs, and the last bits of a float may reveal the hidden answer; "
            f"{self.drawn_exactly}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Real(RealOutputs):
    """Y = f(x) + noise, a real number; f is a named query with integer answers.

    `name` is the call string of the mechanism. Audits see it through finitely many points, see quadrature.py.
    """

    query: Query
    name: str
    noise: Laplace | Gaussian
    statistic: Statistic = field(init=False)
    form = "real-outputs"
    # Accuracy at which a single prior's leakage is computed: the first whose points fit.
    accuracies: ClassVar[tuple[float, ...]] = (1e-11, 1e-7, 1e-3)
    limits: ClassVar[tuple[float, float]] = (1e-100, 1e100)
    drawn_exactly: ClassVar[str] = "leave output='real' out, which rounds the output and is drawn exactly"

    def __post_init__(self) -> None:
        query, noise = self.query, self.noise
        if not (query.integers.numeric and query.named):
            refuse(
                f"output='real' adds noise to a named query with integer answers (count, total, modular_sum, pairs, "
                f"identity), not to {query}; leave output out for rounded answers"
            )
        if len(query.outputs) == 1:
            refuse(f"{query} has a single answer, which noise does not change; leave output='real' out")
        checks.real(noise.parameter, noise.value, *self.limits)
        object.__setattr__(self, "statistic", query.statistic)

    @property
    def answers(self) -> Floats:
        """f of every class, in steps of the answers where they are not whole numbers."""
        return np.asarray(self.query.integers.answers, dtype=float)

    @property
    def as_real(self) -> "Real":
        """Itself."""
        return self

    @property
    def apart(self) -> float:
        """The sensitivity of the query, in steps of the answers."""
        return self.query.integers.sensitivity

    def written(self) -> NoReturn:
        """Raise InputError: there is one output for every real number."""
        refuse(
            f"the outputs of {self.name} are real numbers and have no table; the mechanism can be audited, "
            "run and saved, and for anything else leave output='real' out"
        )

    def joint(self, masses: Floats) -> Floats:
        """A finite table (A, points) that leaks what P(A = a, Y) does, up to some 1e-11, for masses (A, K)."""
        return np.asarray(masses @ self._fine)

    def _drawn(self, x: NDArray[Any], size: int, source: np.random.Generator) -> Floats:
        drawn = self.answers[int(self.statistic.class_of(x))] + self.noise.sample(source, size)
        return drawn if self.query.steps is None else self._in_units(drawn)

    def _in_units(self, steps: Floats) -> Floats:
        """Return outputs in units of the answer, of a mean."""
        low = float(self.query.outputs[0])  # type: ignore[arg-type]
        return low + float(self.query.unit) * steps

    def __repr__(self) -> str:
        return f"<Real {self.name} of {self.query}: {self.n} records, {self.statistic.size} classes, real outputs>"

    @cached_property
    def _fine(self) -> Floats:
        for error in self.accuracies[:-1]:
            try:
                return self.noise.quadrature(self.answers, error).masses
            except InputError:
                continue  # too many points
        return self.noise.quadrature(self.answers, self.accuracies[-1]).masses
