"""The REQUIRE lists of the algorithms: each parameter checked where a user gives it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalenius.errors import refuse, show
from dalenius.model import checks, datasets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.paper.universe import SLACK, Floats, entropy

# Parameters of the algorithms that another one calls, by number: {2: {"alpha": 0.2}}.
Inner = Mapping[int, Mapping[str, Any]]

# What may be passed on to an algorithm that another one calls.
OF = {
    1: ("eps", "T_max", "inner"),
    2: ("eps", "alpha", "T_max"),
    3: ("tau", "T_max", "eta_0", "beta", "max_inner", "tau_H", "beta_range"),
    **dict.fromkeys((7, 10), ("eps", "lambda_0", "mu", "delta", "T_max")),
    **dict.fromkeys((8, 11), ("eta_0", "beta", "c", "eps", "T_max")),
}


@dataclass(frozen=True)
class PenaltyLoop:
    """The parameters of Algorithms 7 and 10; lambda_0, mu and delta are the paper's, it leaves the others open."""

    eps: float = 1e-4  # of the changes of E or I, and of how far they are from the budget
    lambda_0: float = 1.0  # the first penalty
    mu: float = 1.5  # the factor that adjusts it
    delta: float = 0.01  # constraint margin: within it the penalty stays
    T_max: int = 30

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        positive(eps=self.eps, lambda_0=self.lambda_0)
        growing(self.mu)
        counts(T_max=self.T_max)
        checks.real("delta", self.delta, 0.0, math.inf)

    def adjusted(self, penalty: float, excess: float) -> float:
        """Lambda times mu where the excess is above delta, divided by mu where it is below -delta."""
        return penalty * self.mu if excess > self.delta else penalty / self.mu if excess < -self.delta else penalty


@dataclass(frozen=True)
class LineSearch:
    """The parameters of Algorithms 8 and 11; eta_0, beta and c are the paper's, it leaves the others open."""

    eta_0: float = 1.0  # the first learning rate, eta_0 / sqrt(t + 1) in step t
    beta: float = 0.5  # the backtracking factor
    c: float = 0.5  # the constant of the Armijo condition: which share of the promised decrease is enough
    eps: float = 1e-4  # of ||q - q_before||_1
    T_max: int = 60

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        positive(eta_0=self.eta_0, eps=self.eps)
        shrinking(self.beta)
        counts(T_max=self.T_max)
        if not 0 < checks.real("c", self.c, 0.0, 1.0) < 1:
            refuse(f"c = {self.c} is not above 0 and below 1; the paper's is 0.5")


def positive(**values: float) -> None:
    """Refuse a parameter that is not above 0."""
    for name, value in values.items():
        checks.real(name, value, 0.0, math.inf, open_low=True)


def counts(**values: int) -> None:
    """Refuse a number of iterations that is not at least 1."""
    for name, value in values.items():
        checks.whole(name, value)


def shrinking(beta: float) -> None:
    """Refuse a backtracking factor outside of (0, 1)."""
    if not 0 < checks.real("beta", beta, 0.0, 1.0) < 1:
        refuse(f"beta = {beta} does not shrink a step; it must be above 0 and below 1, such as 0.5")


def growing(mu: float) -> None:
    """Refuse an adjustment factor of the penalty that is not above 1."""
    if checks.real("mu", mu, 0.0, math.inf) <= 1:
        refuse(f"mu = {mu} does not change the penalty; it must be above 1, such as 1.5")


def interval(beta_range: Sequence[float]) -> tuple[float, float]:
    """Return [beta_min, beta_max] of Algorithm 5."""
    try:
        low, high = beta_range
    except (TypeError, ValueError):
        refuse(f"beta_range = {show(beta_range)} must be two numbers (low, high), such as (0, 1e6)")
    low, high = (checks.real("an end of beta_range", end, -math.inf, math.inf) for end in (low, high))
    if low >= high:
        refuse(f"beta_range = ({low:g}, {high:g}) is empty; give the smaller end first")
    return low, high


def inner_of(inner: Any, allowed: tuple[int, ...]) -> dict[int, dict[str, Any]]:
    """Return the parameters of inner algorithms by number, none for those not named."""
    found: dict[int, dict[str, Any]] = {number: {} for number in allowed}
    given = {} if inner is None else inner
    if not isinstance(given, Mapping) or not all(isinstance(one, Mapping) for one in given.values()):
        refuse(f"inner = {show(inner)} must give parameters by number and name, such as {{2: {{'alpha': 0.2}}}}")
    for number, parameters in given.items():
        if number not in found:
            listed = ", ".join(map(str, allowed))
            refuse(f"inner = {{{show(number)}: ...}} names no algorithm that this one calls; those are {listed}")
        for name in parameters:
            if name not in OF[number]:
                refuse(f"Algorithm {number} has no parameter {name!r} to pass on; it has {', '.join(OF[number])}")
        found[number] = dict(parameters)
    return found


def numbers(name: str, given: ArrayLike) -> Floats:
    """Return an array of floats."""
    return checks.array(given, f"{name} = {show(given)} must be an array of numbers").astype(float, copy=False)


def vector(name: str, given: ArrayLike, largest: float = 1e100) -> Floats:
    """Return a list of one or more numbers, which can be added up."""
    found = shaped(name, given, (None,))
    if np.abs(found).max() > largest:
        refuse(f"{name} = {show(given)} holds a number beyond {largest:g}")
    return found


def shaped(name: str, given: ArrayLike, shape: tuple[int | None, ...]) -> Floats:
    """Return finite numbers of this shape; None stands for any length of at least 1."""
    found = numbers(name, given)
    fits = all(has and want in (None, has) for has, want in zip(found.shape, shape, strict=False))
    if len(shape) != found.ndim or not fits or not np.isfinite(found).all():
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        refuse(f"{name} has shape {found.shape}; it must hold finite numbers in shape ({wanted})")
    return found


def generator(rng: object) -> np.random.Generator:
    """Return the source of random numbers; the same numbers each time where none is given."""
    return datasets.generator(0 if rng is None else rng)


def distribution(name: str, given: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return probabilities of this shape; along the last axis they must sum to one within 1e-9."""
    table = numbers(name, given)
    if table.shape != shape:
        refuse(f"{name} has shape {table.shape}; it must have shape {shape}")
    sums = table.sum(axis=-1)
    if not np.isfinite(table).all() or table.min() < 0 or np.abs(sums - 1).max() > SLACK:
        refuse(f"{name} is not a distribution: entries must be at least 0 and sum to one")
    return np.asarray(table / sums[..., None])


def mechanism_matrix(channel: Mechanism | ArrayLike, records: Sequence[int] | None) -> tuple[Floats, tuple[int, ...]]:
    """Return q(y|x), one row per dataset, and the alphabet sizes of the records."""
    if isinstance(channel, Mechanism):
        return channel.matrix(), channel.records
    if records is None:
        refuse("records is missing; list one alphabet size per record, such as [2, 2, 2]")
    sizes = checks.alphabets(records)
    checks.universe(sizes)
    table = numbers("q", channel)
    if table.ndim != 2 or table.shape[0] != math.prod(sizes):  # datasets x outputs
        refuse(f"q has shape {table.shape}; it needs one row per dataset, {math.prod(sizes)} of them")
    distribution("q", table, table.shape)
    return table, sizes


def prior_from(p_start: ArrayLike, size: int, b: float) -> Floats:
    """Return p^(0)(x), refused where H(X) < b: line 1 of Algorithm 1 asks for a feasible one."""
    prior = distribution("p_start", p_start, (size,))
    if entropy(prior) < b - SLACK:
        refuse(
            f"p_start has H(X) = {entropy(prior):.6g} < b = {b:.6g}, and Algorithm 1 starts from a prior with "
            "H(X) >= b; give another one, or a smaller b"
        )
    return prior


def entropy_bound(b: float, size: int) -> float:
    """Return b, refused where no prior has so much entropy."""
    b = checks.real("b", b, 0.0, math.inf)
    if b > math.log(size) * (1 + SLACK) + SLACK:
        refuse(f"b = {b:.6g} is above log|X| = {math.log(size):.6g}: no prior on {size} datasets has H(X) >= b")
    return min(b, math.log(size))
