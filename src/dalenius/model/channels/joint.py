"""Several releases of one sum, run independently, all outputs seen: a joint release that is never written out."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import refuse
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.query import Query
from dalenius.model.statistic import Statistic, Sum

# Releases at most.
MOST = 64


@dataclass(frozen=True, eq=False, repr=False)
class Joint(Mechanism):
    """Releases of the same sum, with geometric and Laplace noise, or with Gaussian and discrete Gaussian noise.

    Outputs are tuples, one of each part. Audits go by the structure: one release that tells no less (auditing/
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
        whole = tuple(one for part in parts for one in (part.parts if isinstance(part, Joint) else (part,)))
        query = whole[0].query
        if query is None or not (query.named and NoisySum.fits(query)) or not 1 < len(whole) <= MOST:
            return None
        if any(part.name is None or part.query is None or str(part.query) != str(query) for part in whole):
            return None
        rounded = [_rounded(part) for part in whole]
        falling = all(one is not None and one.rate is not None for one in rounded)
        normal = all(one is not None and one.noise.normal is not None for one in rounded)
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
        """Itself."""
        return self

    @property
    def n_outputs(self) -> float:
        """The number of tuples of outputs."""
        return math.prod(part.n_outputs for part in self.parts)

    def written(self) -> NoReturn:
        """Raise InputError: there are too many tuples of outputs."""
        refuse(
            f"{self.name} of {self.query} has {self.statistic.size} rows of {self.n_outputs:.3g} outputs, too many to "
            "write out; it can be audited, run and saved, and for anything else use fewer records"
        )

    def describe(self) -> dict[str, object]:
        """Return the problem in plain data: the query, and the call string of every release."""
        return {"query": str(self.query), "releases": [part.name for part in self.parts]}

    def dp_epsilon(self) -> float:
        """Return the sum over the parts: the same neighbours are the worst of each, at outputs on the same side."""
        return math.fsum(part.dp_epsilon() for part in self.parts)

    def dp_delta(self, epsilon: float = 1.0) -> float:
        """Raise InputError."""
        refuse(f"dp_delta at epsilon = {epsilon} has no closed form for {self.name} of {self.query}; ask its parts")

    def _drawn(self, x: NDArray[Any], size: int, source: np.random.Generator) -> Any:
        return np.stack([part.sample(x, size, source) for part in self.parts], axis=1)

    def _exact(self, x: NDArray[Any], size: int, rng: object) -> Any:
        drawn = [part.sample(x, size, rng, secure=True) for part in self.parts]  # type: ignore[arg-type]
        return np.stack(drawn, axis=1)

    def __repr__(self) -> str:
        return f"<Joint {self.name} of {self.query}: {self.n} records, {self.n_outputs:.3g} outputs, never written out>"


def _rounded(part: Mechanism) -> NoisySum | None:
    """A part as noise on a sum, rounded where its outputs are real; None where it is something else."""
    if (real := part.as_real) is not None:
        return NoisySum(real.query, real.name, real.noise)
    noisy = part.as_sum
    return noisy if noisy is not None and noisy.part is None else None
