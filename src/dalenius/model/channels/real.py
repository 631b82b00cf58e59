"""Laplace and Gaussian noise as it is added: outputs are real numbers, neither rounded nor clamped.

Audits see real outputs through finitely many points. Put z_a(y) = sum_t pi(a,t) p_t(y) for a prior pi on pairs of a
secret value and a class whose density of outputs is p_t, z = sum_a z_a, and p_a for the mass of a. A rule with weights
w_k at points y_k integrates

    I(A;Y) = integral of F,      F(y) = sum_a z_a log( z_a / (p_a z) ) >= 0,

and the sum of w_k F(y_k) is what a finite channel with probabilities w_k p_t(y_k) leaks.

Guarantee: | I(A;Y) - sum_k w_k F(y_k) | <= error, up to a part between 0 and skipped x log K that the sum leaves out,
for every secret and every prior; K is the number of different answers, `skipped` the mass beyond the points. Proof in
docs/mathematics.md 2.2, whose letters the bounds below have.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Union

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noise import Gaussian, Laplace
from dalenius.model.query import Query
from dalenius.model.statistic import Statistic
from dalenius.numerics.types import Floats

if TYPE_CHECKING:
    from dalenius.model.channels.real_records import Steps

ANGLES = np.linspace(0.02, 0.98, 49) * (math.pi / 2)
ROUNDING = 1 + 1e-9  # how much the floats below may have lost
# Accuracy at which a single prior's leakage is computed: the first whose points fit.
ACCURACIES = (1e-11, 1e-7, 1e-3)


class RealOutputs(Mechanism):
    """What mechanisms with real outputs have in common: noise as it is added, and answers of neighbours `apart`."""

    name: str
    noise: Union[Laplace, Gaussian, "Steps"]
    # What can be drawn exactly instead.
    drawn_exactly: ClassVar[str]

    @property
    @abstractmethod
    def apart(self) -> float:
        """The largest distance of the answers of two neighbouring datasets, in units of the noise."""

    def _check_noise(self, low: float, high: float) -> None:
        """Refuse noise that is too wide or too narrow."""
        noise = self.noise
        wide = ("sigma", noise.sigma) if isinstance(noise, Gaussian) else ("epsilon/sensitivity", noise.rate)
        checks.real(*wide, low, high)

    @property
    def n_outputs(self) -> float:
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
    """Y = f(x) + noise, a real number; f is a named query with integer answers. `name` is its call string."""

    query: Query
    name: str
    noise: Laplace | Gaussian
    statistic: Statistic = field(init=False)
    form = "real-outputs"
    drawn_exactly = "leave output='real' out, which rounds the output and is drawn exactly"

    def __post_init__(self) -> None:
        query = self.query
        if not (query.integers.numeric and query.named):
            refuse(
                f"output='real' adds noise to a named query with integer answers (count, total, modular_sum, pairs, "
                f"identity), not to {query}; leave output out for rounded answers"
            )
        if len(query.outputs) == 1:
            refuse(f"{query} has a single answer, which noise does not change; leave output='real' out")
        self._check_noise(1e-100, 1e100)
        object.__setattr__(self, "statistic", query.statistic)

    @property
    def answers(self) -> Floats:
        """f of every class, in steps of the answers where they are not whole numbers."""
        return np.asarray(self.query.integers.answers, dtype=float)

    @property
    def as_real(self) -> "Real":
        return self

    @property
    def apart(self) -> float:
        return self.query.integers.sensitivity

    def written(self) -> NoReturn:
        refuse(
            f"the outputs of {self.name} are real numbers and have no table; the mechanism can be audited, "
            "run and saved, and for anything else leave output='real' out"
        )

    def rule(self, error: float) -> "Quadrature":
        """Return the rule that widens a bracket by at most `error`."""
        if isinstance(self.noise, Laplace):
            return laplace(self.answers, self.noise.rate, error)
        return gaussian(self.answers, self.noise.sigma, error)

    def joint(self, masses: Floats) -> Floats:
        """A finite table (A, points) that leaks what P(A = a, Y) does, up to some 1e-11, for masses (A, K)."""
        return np.asarray(masses @ self._fine)

    @cached_property
    def _fine(self) -> Floats:
        for error in ACCURACIES[:-1]:
            try:
                return self.rule(error).masses
            except InputError:
                continue  # too many points
        return self.rule(ACCURACIES[-1]).masses

    def _drawn(self, x: NDArray[Any], size: int, source: np.random.Generator) -> Floats:
        drawn = self.answers[int(self.statistic.class_of(x))] + self.noise.sample(source, size)
        # Of a mean the steps are counted from its least value.
        low = 0.0 if self.query.steps is None else float(self.query.outputs[0])  # type: ignore[arg-type]
        return np.asarray(low + float(self.query.unit) * drawn)

    def __repr__(self) -> str:
        return f"<Real {self.name} of {self.query}: {self.n} records, {self.statistic.size} classes, real outputs>"


@dataclass(frozen=True, eq=False)
class Quadrature:
    """The points of a rule, what it misses at most, and the numbers from which a verifier rebuilds it."""

    masses: Floats  # (answers, outputs): w_k p_t(y_k), and the two sides of Laplace noise
    error: float
    skipped: float
    description: dict[str, object]


def spread(error: float, answers: int) -> float:
    """Return the share of `error` for the rule itself: the whole bracket is then wider by at most `error`."""
    return error / (2 + 4 * math.log(answers))


def laplace(f: Floats, rate: float, error: float, widest: float = 8.0, most_per_piece: int = 256) -> Quadrature:
    """Return the rule for Laplace noise of this rate (1/scale) around the answers f.

    Pieces between answers are at most `widest`/rate wide and have fewer than `most_per_piece` points.
    """
    distinct = np.unique(f)
    gaps = np.diff(distinct)
    pieces = np.maximum(1, np.ceil(gaps * (rate / widest)))
    _fits(2 * float(pieces.sum()), f.size)
    inside = [
        np.linspace(a, b, int(k), endpoint=False) for a, b, k in zip(distinct, distinct[1:], pieces, strict=False)
    ]
    edges = np.append(np.concatenate(inside), distinct[-1])
    half = np.diff(edges) / 2
    target = spread(error, distinct.size)
    # The bound on the error of all pieces together, for every angle.
    x, beta = rate * half, ANGLES[:, None]
    log_rho = np.arcsinh(beta / x)
    for m in range(2, most_per_piece):
        tail = np.exp(np.hypot(x, beta) - x - 2 * m * log_rho) / -np.expm1(-2 * log_rho)
        errors = (x / 2 * tail).sum(axis=1) * (64 / 15) * _constant(ANGLES, distinct.size)
        best = int(np.argmin(errors))
        if errors[best] <= target:
            break
    _fits(float(m * half.size), f.size)
    nodes, weights = np.polynomial.legendre.leggauss(m)
    points = ((edges[:-1] + edges[1:]) / 2)[:, None] + half[:, None] * nodes
    weights = half[:, None] * weights * (rate / 2)
    inner = weights.ravel() * np.exp(-rate * np.abs(points.ravel() - f[:, None]))
    sides = 0.5 * np.exp(-rate * np.abs(f[:, None] - distinct[[0, -1]]))
    description = {"edges": edges.tolist(), "points": m, "angle": float(ANGLES[best]), "slack": target}
    return Quadrature(
        np.column_stack([sides[:, 0], inner, sides[:, 1]]), float(errors[best]) * ROUNDING, 0.0, description
    )


def gaussian(f: Floats, sigma: float, error: float) -> Quadrature:
    """Return the rule for Gaussian noise of deviation sigma around the answers f."""
    from scipy.special import log_ndtr, ndtri_exp

    distinct = np.unique(f)
    low, high = float(distinct[0]), float(distinct[-1])
    target = spread(error, distinct.size)
    v = np.minimum(ANGLES * 2 * sigma * (sigma / (high - low)), 12 * sigma * ANGLES)
    angles = v / sigma * ((high - low) / (2 * sigma))
    constant = 2 * _constant(angles, distinct.size) * np.exp((v / sigma) ** 2 / 2)
    steps = 2 * math.pi * v / np.log1p(constant / target)
    best = int(np.argmax(steps))
    reach = -float(ndtri_exp(math.log(target / 4))) * sigma
    many = math.ceil(((high - low + 2 * reach) / steps[best]) + 1)
    _fits(float(many), f.size)
    step = float(steps[best])
    first = (low + high) / 2 - (many - 1) / 2 * step
    points = first + np.arange(many) * step
    masses = np.exp(-(((points - f[:, None]) / sigma) ** 2) / 2) * (step / (sigma * math.sqrt(2 * math.pi)))
    rule = constant[best] / math.expm1(2 * math.pi * v[best] / step)
    ends = (float(points[-1]) - high, low - first)
    skipped = sum(math.exp(float(log_ndtr(-end / sigma))) for end in ends)
    description = {"first": first, "step": step, "count": many, "angle": float(angles[best]), "slack": target}
    return Quadrature(masses, float(rule) * ROUNDING, skipped * ROUNDING, description)


def _constant(angles: Floats, answers: int) -> Floats:
    """C of the proof."""
    return np.asarray(math.log(answers) + 2 / math.e - np.log(np.cos(angles)) + 2 * angles)


def _fits(points: float, rows: int, most: int = 2**14, most_entries: int = 2**20) -> None:
    """Refuse more points, or answers x points, than can be worked on."""
    if not (points <= most and points * rows <= most_entries):
        refuse(
            f"noise with real outputs on these {rows} answers needs about {points:.3g} points, above the limit of "
            f"{min(most, most_entries // rows)}; use fewer records or more noise, or leave output='real' out: "
            "rounded outputs are audited at any size"
        )
