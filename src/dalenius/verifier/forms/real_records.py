"""Real-valued records as certificates describe them: the query, the noise, the density, and what the adversary knows.

Low, high and edges are the decimals that they are written as. What is proved of them is in rounding.py.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import Ball
from dalenius.verifier.kernel.limits import largest, tick
from dalenius.verifier.kernel.reading import mapping, number, numbers, refuse, sequence, whole

from . import named, secret
from .counting import Sum
from .reference import digest

QUERIES: dict[str, dict[str, Any]] = {
    "real_sum": {"n": ..., "low": ..., "high": ...},
    "real_mean": {"n": ..., "low": ..., "high": ...},
}
MECHANISMS = {
    **{family: {**named.MECHANISMS[family], "output": "real"} for family in ("laplace", "gaussian")},
    "geometric": {**named.MECHANISMS["geometric"], "step": None},
}
# Steps of geometric noise from low to high where no step is given.
STEPS = 100
# Edges of a density, or of bins: a density is gone through for every part of a grid.
MOST_EDGES = 2**7


@dataclass(frozen=True)
class Density:
    """Constant between edges, which go from 0 to 1; masses of the parts, all above 0 and of sum one."""

    edges: tuple[Fraction, ...]
    masses: tuple[Fraction, ...]

    def below(self, x: Fraction) -> tuple[Fraction, Fraction]:
        """P(record <= x), and its integral from 0 to x."""
        mass = area = Fraction(0)
        for (low, high), p in zip(pairwise(self.edges), self.masses, strict=True):
            if x <= low:
                break
            wide = min(x, high) - low
            more = p * wide / (high - low)
            area += (mass + more / 2) * wide
            mass += more
        return mass, area

    def cells(self, m: int) -> tuple[list[Fraction], Fraction]:
        """The masses of m cells, and how far at most, in total variation, the law inside one is from uniform."""
        at = [self.below(Fraction(c, m))[0] for c in range(m + 1)]
        masses = [high - low for low, high in pairwise(at)]
        far = Fraction(0)
        for c in {int(edge * m) for edge in self.edges[1:-1] if (edge * m).denominator != 1}:
            tick()
            inside = sorted(self._between(c, m))
            parts = ((high - low, self.below(high)[0] - self.below(low)[0]) for low, high in pairwise(inside))
            far = max(far, sum((abs(p / masses[c] - wide * m) for wide, p in parts), Fraction(0)) / 2)
        return masses, far

    def _between(self, c: int, m: int) -> set[Fraction]:
        ends = {Fraction(c, m), Fraction(c + 1, m)}
        return ends | {edge for edge in self.edges if min(ends) < edge < max(ends)}

    def points(self, m: int) -> list[Fraction]:
        """The masses of m + 1 grid points, each record at its two neighbours by a coin whose mean is the record."""
        area = [self.below(Fraction(k, m))[1] for k in range(m + 1)]
        inner = [m * (area[k + 1] - 2 * area[k] + area[k - 1]) for k in range(1, m)]
        return [m * area[1], *inner, 1 - m * (area[m] - area[m - 1])]

    def nearest(self, m: int) -> list[Fraction]:
        """The masses of m + 1 grid points, each record at the nearest; where two are as near does not matter."""
        ends = [Fraction(0), *(Fraction(2 * k + 1, 2 * m) for k in range(m)), Fraction(1)]
        return [self.below(high)[0] - self.below(low)[0] for low, high in pairwise(ends)]


@dataclass(frozen=True)
class Problem:
    """Noise on the sum or mean of n records in [low, high]; size: rate, or deviation, in units of high - low.

    steps: of geometric noise, to which records are rounded, from low to high.
    """

    n: int
    low: Fraction
    high: Fraction
    family: str
    size: Fraction
    text: str
    steps: int | None = None


def decimal(value: object, where: str) -> Fraction:
    """Return a number as the decimal that it is written as."""
    return Fraction(repr(number(value, where)))


def rebuild(problem: dict[str, Any]) -> Problem:
    """Return the channel of a description by names."""
    if set(problem) != {"query", "mechanism"}:
        refuse("real-valued records are described by 'query' and 'mechanism'")
    name, given = named.call(problem["query"], QUERIES, "the query")
    n = whole(given["n"], "n of the query", 1, largest().records)
    low, high = (decimal(given[key], f"{key} of the query") for key in ("low", "high"))
    if low >= high:
        refuse("low of the query must be below its high")
    family, noise = named.call(problem["mechanism"], MECHANISMS, "the mechanism")
    if noise.pop("output", "real") != "real":
        refuse("the noisy sum of real-valued records is released as it is: its output is 'real'")
    if noise.get("clamp", True) is not True:
        refuse(f"clamp of {family} noise on real-valued records must be True or left out")
    # The most that a record adds to the answer is the unit of the noise.
    spread = (high - low) / (n if name == "real_mean" else 1)
    size = named.exact_size(noise, named.Query(name, Sum(n, (0, 1)), 2, 1, unit=spread))
    assert size is not None  # for the type checker: records have more than one value
    text = f"{named.spelled(name, given)}; {named.spelled(family, noise)}"
    return Problem(n, low, high, family, size, text, _steps(noise, high - low) if family == "geometric" else None)


def _steps(noise: dict[str, Any], wide: Fraction) -> int:
    """Return how many steps there are from low to high."""
    if noise["step"] is None:
        return STEPS
    step = decimal(noise["step"], "the step")
    many = wide / step if step > 0 else Fraction(0)
    if many.denominator != 1 or not 1 <= many <= largest().parts:
        refuse("the step must divide the range from low to high")
    return int(many)


def density(described: object, problem: Problem) -> Density:
    """Return the density from which knowledge counts; uniform where none is described."""
    if described is None:
        return Density((Fraction(0), Fraction(1)), (Fraction(1),))
    given = mapping(described, "the reference")
    if set(given) != {"edges", "masses"}:
        refuse("the reference of real-valued records needs 'edges' and 'masses'")
    edges = _edges(given["edges"], problem, "the reference", 2)  # one part
    masses = [Fraction(p) for p in numbers(given["masses"], len(edges) - 1, "masses of the reference", low=0.0)]
    total = sum(masses, Fraction(0))
    if not abs(total - 1) <= Fraction(1, 10**9) or min(masses) <= 0:
        refuse("masses of the reference must be above 0 and sum to 1")
    return Density(edges, tuple(p / total for p in masses))


def _edges(value: object, problem: Problem, of: str, least: int) -> tuple[Fraction, ...]:
    """Edges from 0 to 1."""
    listed = sequence(value, f"edges of {of}")
    if not least <= len(listed) <= MOST_EDGES:
        refuse(f"{of} has {len(listed)} edges; it needs {least} to {MOST_EDGES}")
    edges = tuple((decimal(e, f"an edge of {of}") - problem.low) / (problem.high - problem.low) for e in listed)
    if edges[0] != 0 or edges[-1] != 1 or any(low >= high for low, high in pairwise(edges)):
        refuse(f"edges of {of} must ascend from low to high")
    return edges


@dataclass(frozen=True)
class Believed:
    """What the adversary believes: knowledge, none where independence is the only limit; exactly: the others follow."""

    independent: bool
    knowledge: Ball | None
    reference: Density
    many: int  # records that matter: one where the others are known or independent
    exactly: bool
    bins: tuple[Fraction, ...] | None = None  # edges of the bins, from 0 to 1, where the bin of a record is the secret

    @property
    def markov(self) -> bool:
        """Whether a record acts through its own grid point alone."""
        return self.independent or self.many == 1 or self.nothing

    @property
    def nothing(self) -> bool:
        """Whether the prior is the density itself, but for the law of a record whose others follow it."""
        return self.exactly or (self.knowledge is not None and self.knowledge.is_zero())


def believed(adversary: dict[str, Any], problem: Problem) -> tuple[Believed, str]:
    """Read the adversary; also in words."""
    if not set(adversary) <= {"independent", "knowledge", "reference"}:
        refuse("real-valued records have no entropy to count from; the adversary needs 'knowledge'")
    rho = density(adversary.get("reference"), problem)
    alone = "independent" in adversary
    if alone and adversary["independent"] is not True:
        refuse("'independent' of the adversary must be true")
    words = "an adversary under whose prior the records are independent" if alone else "an adversary"
    shown = f"the density given (sha256 {digest(adversary.get('reference'))})"
    counted = f", counted from {shown}" if "reference" in adversary else ""
    if "knowledge" in adversary:
        k = number(adversary["knowledge"], "the adversary's knowledge", low=0.0)
        words += f"{', and knows' if alone else ' that knows at most'} {k!r} nats{counted}"
        return Believed(alone, arb(k), rho, problem.n, exactly=False), words
    if not alone:
        refuse("the adversary needs 'knowledge'")
    if "reference" in adversary:
        return Believed(alone, None, rho, problem.n, exactly=True), f"{words}, the others as {shown}"
    return Believed(alone, None, rho, 1, exactly=False), words


def about(asked: Believed, value: object, problem: Problem) -> tuple[Believed, int | None]:
    """Return what is asked with the bins of the secret, if it is one, and its record; None for all records."""
    if value is None:
        return asked, None
    given = secret.stated(value, "records", "bin")
    if given["kind"] == "records":
        (only,) = sequence(given["records"], "records of the secret", 1)
        return asked, whole(only, "the record of the secret", 0, problem.n - 1)
    record = whole(given["record"], "the record of the secret", 0, problem.n - 1)
    if asked.independent:
        refuse("independent records are audited one by one; the secret must be a record")
    return replace(asked, bins=_edges(given["edges"], problem, "the secret", 3)), record  # two bins


def labels(asked: Believed, m: int, *, half: bool = False) -> list[int] | None:
    """Return the bin of every one of m cells; refused where an edge cuts a cell, None where records are the secret.

    half: of m + 1 cells, those of the numbers that are next to each of m + 1 grid points.
    """
    if asked.bins is None:
        return None
    ends = [edge * m + Fraction(half, 2) for edge in asked.bins[1:-1]]
    if any(end.denominator != 1 for end in ends):
        refuse("an edge of the secret cuts a cell")
    return [sum(c >= end for end in ends) for c in range(m + half)]
