"""Several releases of one sum, run independently, all outputs seen: a joint release that is never written out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noise import DiscreteGaussian, Geometric
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.datasets import generator
from dalenius.model.query import Query
from dalenius.model.statistic import Statistic, Sum
from dalenius.numerics.types import Ints

# Most releases in one joint release, and most choices that a name lists.
MOST, FEW_CHOICES = 64, 3


@dataclass(frozen=True, eq=False, repr=False)
class Joint(Mechanism):
    """Releases of the same sum, with geometric and Laplace noise, or with Gaussian and discrete Gaussian noise.

    Outputs are tuples, one entry a part. Audits use the structure: one release that reveals no less (auditing/
    joint_releases.py), and points of the answers.
    """

    query: Query
    parts: tuple[Mechanism, ...]
    form = "releases"
    statistic: Statistic = field(init=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "statistic", self.query.statistic)
        object.__setattr__(self, "name", f"compose({', '.join(str(part.name) for part in self.parts)})")

    @classmethod
    def of(cls, parts: "tuple[Mechanism, ...]") -> "Joint | None":
        """The joint release of these, some of which may be joint releases themselves; None where it is not of one sum.

        Noise that falls by a factor a step has one structure, Gaussian noise another; a mixture has none.
        """
        whole = tuple(one for part in parts for one in (part.parts if type(part) is Joint else (part,)))
        query = whole[0].query
        if query is None or not (query.named and NoisySum.fits(query)) or not 1 < len(whole) <= MOST:
            return None
        if any(part.name is None or part.query is None or str(part.query) != str(query) for part in whole):
            return None
        rounded = [_rounded(part) for part in whole]
        falling = all(one is not None and one.rate is not None for one in rounded)
        normal = all(one is not None and _nearly_normal(one) for one in rounded)
        statistic = query.statistic
        plain = isinstance(statistic, Sum) and np.array_equal(np.asarray(query.integers.answers), statistic.values)
        return cls(query, whole) if query.statistic.size > 1 and (falling or (normal and plain)) else None

    @cached_property
    def rounded(self) -> tuple[NoisySum, ...]:
        """The parts with outputs rounded to whole numbers, and clamped."""
        return tuple(noisy for noisy in map(_rounded, self.parts) if noisy is not None)

    @property
    def groups(self) -> list[tuple[NoisySum, list[int]]]:
        """Parts of one name, with their places."""
        names = [part.name for part in self.parts]
        return [
            (self.rounded[names.index(name)], [j for j, other in enumerate(names) if other == name])
            for name in dict.fromkeys(names)
        ]

    @property
    def rates(self) -> list[float]:
        """The rate of every part's noise; none where that is Gaussian."""
        return [one.rate for one in self.rounded if one.rate is not None]

    @property
    def as_joint(self) -> "Joint":
        return self

    @property
    def n_outputs(self) -> float:
        return math.prod(part.n_outputs for part in self.parts)

    def written(self) -> NoReturn:
        refuse(
            f"{self.name} of {self.query} has {self.statistic.size} rows of {self.n_outputs:.3g} outputs, too many to "
            "write out; it can be audited, run and saved, and for anything else use fewer records"
        )

    def describe(self) -> dict[str, object]:
        return {"query": str(self.query), "releases": [part.name for part in self.parts]}

    def dp_epsilon(self) -> float:
        """Return the sum over the parts: the same neighbours are the worst of each, at outputs on the same side."""
        return math.fsum(part.dp_epsilon() for part in self.parts)

    def sample(
        self, dataset: ArrayLike, size: int = 1, rng: np.random.Generator | int | None = None, *, secure: bool = False
    ) -> NDArray[np.generic]:
        source = rng if checks.flag("secure", secure) else generator(rng)
        return np.stack([part.sample(dataset, size, source, secure=secure) for part in self.parts], axis=1)

    def __repr__(self) -> str:
        return f"<Joint {self.name} of {self.query}: {self.n} records, {self.n_outputs:.3g} outputs, never written out>"


@dataclass(frozen=True, eq=False, repr=False)
class Adaptive(Joint):
    """A second release of the same sum, chosen by the first output: how many outputs in a row have each choice.

    Noise of a lower rate, or of a larger sigma, is noise of the other one and more. So `parts`, the first release and
    independent noise of the highest rate or the least sigma, tell no less.
    """

    choices: tuple[tuple[int, Mechanism], ...] = ()

    @classmethod
    def choosing(cls, first: Mechanism, choices: Sequence[tuple[int, Mechanism]]) -> "Adaptive | None":
        """The release with these choices after so many outputs of the first; None where it has no such structure."""
        joints = [joint for _, mechanism in choices if (joint := Joint.of((first, mechanism))) is not None]
        start = first.as_sum
        if start is None or not start.clamp or first.n_outputs != sum(many for many, _ in choices):
            return None
        if len(joints) < len(choices):
            return None
        return cls(start.query, (first, _strongest([joint.rounded[1] for joint in joints])), tuple(choices))

    def __post_init__(self) -> None:
        super().__post_init__()
        named = list(dict.fromkeys(str(mechanism.name) for _, mechanism in self.choices))
        words = " or ".join(named if len(named) <= FEW_CHOICES else [named[0], f"{len(named) - 1} others"])
        object.__setattr__(self, "name", f"adaptive({self.parts[0].name}, then {words})")

    @cached_property
    def laws(self) -> tuple[NoisySum, ...]:
        """What may be chosen, each once, rounded."""
        named = {mechanism.name: rounded for _, mechanism in self.choices if (rounded := _rounded(mechanism))}
        return tuple(named.values())

    @cached_property
    def rule(self) -> tuple[Ints, Ints]:
        """The first outputs of all runs with the same choice, and the place of that choice in `laws`."""
        place = {name: j for j, name in enumerate(dict.fromkeys(mechanism.name for _, mechanism in self.choices))}
        many = [0, *(many for many, _ in self.choices)]
        return self.rounded[0].low + np.cumsum(many)[:-1], np.array([place[m.name] for _, m in self.choices])

    def describe(self) -> dict[str, object]:
        then = [[many, mechanism.name] for many, mechanism in self.choices]
        return {"query": str(self.query), "releases": [self.parts[0].name], "then": then}

    def sample(
        self, dataset: ArrayLike, size: int = 1, rng: np.random.Generator | int | None = None, *, secure: bool = False
    ) -> NDArray[np.generic]:
        source = rng if checks.flag("secure", secure) else generator(rng)
        first = self.parts[0].sample(dataset, size, source, secure=secure)
        ends = np.cumsum([many for many, _ in self.choices])
        labels = {label: place for place, label in enumerate(self.query.labels)}
        which = np.searchsorted(ends, [labels[y] for y in first.tolist()], side="right")
        second = np.empty_like(first)
        for k in np.unique(which).tolist():
            run = self.choices[k][1].sample
            second[which == k] = run(dataset, int((which == k).sum()), source, secure=secure)
        return np.stack([first, second], axis=1)


def _strongest(seconds: Sequence[NoisySum]) -> NoisySum:
    """Noise of which that of all of these is a function, with more noise: of geometric and Laplace noise or Gaussian.

    Discrete Gaussian noise is that only with a coin, whose chance and variance both fall with sigma.
    """
    least = min(seconds, key=lambda one: -(one.rate or 0.0) or one.noise.sigma)  # type: ignore[attr-defined]
    if least.rate is not None and not isinstance(least.noise, Geometric):
        return NoisySum(least.query, f"geometric(rate={least.rate!r})", Geometric(least.rate))
    if least.rate is None and any(isinstance(one.noise, DiscreteGaussian) for one in seconds):
        sigma: float = least.noise.sigma  # type: ignore[attr-defined]
        return NoisySum(least.query, f"discrete_gaussian(sigma={sigma!r})", DiscreteGaussian(sigma), clamp=False)
    return least


def _nearly_normal(noisy: NoisySum) -> bool:
    """Whether it is rounded normal noise, or that but for a chance, as discrete Gaussian noise that is not narrow."""
    noise = noisy.noise
    return noise.normal is not None and not (isinstance(noise, DiscreteGaussian) and 3 * noise.sigma**2 <= 1)


def _rounded(part: Mechanism) -> NoisySum | None:
    """A part as noise on a sum, rounded where its outputs are real; None where it is something else."""
    if (real := part.as_real) is not None:
        return NoisySum(real.query, real.name, real.noise)
    noisy = part.as_sum
    return noisy if noisy is not None and noisy.part is None else None
