"""What everybody knows about real-valued records: a density, constant between edges, the same for every record."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model.files import read_json
from dalenius.model.reference import Reference
from dalenius.model.statistic import Statistic

WAYS = "give (edges, masses) with edges from low to high and one mass for every part, or a pandas column of the data"
MOST_EDGES = 128  # as many as the verifier reads


def decimal(value: float) -> Fraction:
    """Return a number as the decimal that it is written as, so that 0.1 is a tenth."""
    return Fraction(repr(value))


@dataclass(frozen=True, eq=False)
class Density(Reference):
    """Records are independent, with this density each; uniform from low to high where nothing was given."""

    low: float = 0.0
    high: float = 1.0
    edges: tuple[float, ...] = ()
    masses: tuple[float, ...] = ()

    @classmethod
    def of(cls, value: object, low: float, high: float) -> "Density":
        """Return the density of None, (edges, masses), or a pandas column."""
        if value is None or isinstance(value, Density):
            return cls(low=low, high=high) if value is None else value
        column = type(value).__module__.startswith("pandas")
        edges, masses = _pair(histogram(value, low, high) if column else value, low, high)
        return cls(low=low, high=high, edges=edges, masses=masses)

    @classmethod
    def from_file(cls, path: Path, low: float, high: float) -> "Density":  # type: ignore[override]
        """Return the density in a .json file, {"edges": [...], "masses": [...]}."""
        content = read_json(path)
        if not isinstance(content, dict) or not {"edges", "masses"} <= content.keys():
            refuse(
                f'{path} holds no density; a reference of real-valued records is {{"edges": [...], "masses": [...]}}'
            )
        try:
            return cls.of((content["edges"], content["masses"]), low, high)
        except InputError as error:
            refuse(f"{path}: {error}", error)

    @property
    def kind(self) -> str | None:
        """None (uniform) or "density"."""
        return "density" if self.edges else None

    def describe(self) -> dict[str, Any]:
        return {"edges": list(self.edges), "masses": list(self.masses)} if self.edges else {}

    def log_least(self, records: Sequence[int]) -> float:
        """Return -inf: no dataset has a probability of its own, and no knowledge is all of it."""
        return -math.inf

    def check(self, statistic: Statistic, *, alone: bool = False) -> None:
        """Every part has mass, and every answer a density."""

    def parts(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return edges from 0 to 1, and masses of sum one, as exact numbers."""
        if not self.edges:
            return (Fraction(0), Fraction(1)), (Fraction(1),)
        low, wide = decimal(self.low), decimal(self.high) - decimal(self.low)
        masses = [Fraction(p) for p in self.masses]
        total = sum(masses)
        return tuple((decimal(e) - low) / wide for e in self.edges), tuple(p / total for p in masses)

    def below(self, places: Sequence[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
        """Return P(record <= x) and its integral from 0 to x, for x in [0, 1] in ascending order."""
        edges, masses = self.parts()
        mass = area = Fraction(0)
        part, chance, areas = 0, [], []
        for x in places:
            while part + 1 < len(masses) and x > edges[part + 1]:
                wide = edges[part + 1] - edges[part]
                area += (mass + masses[part] / 2) * wide
                mass += masses[part]
                part += 1
            wide = x - edges[part]
            more = masses[part] * wide / (edges[part + 1] - edges[part])
            chance.append(mass + more)
            areas.append(area + (mass + more / 2) * wide)
        return chance, areas

    def cells(self, m: int) -> list[Fraction]:
        """Return the masses of m cells of equal width."""
        chance, _ = self.below([Fraction(c, m) for c in range(m + 1)])
        return [high - low for low, high in pairwise(chance)]

    def points(self, m: int) -> list[Fraction]:
        """Return the masses of m + 1 grid points, each record at a neighbour by a coin whose mean is the record."""
        _, area = self.below([Fraction(k, m) for k in range(m + 1)])
        inner = [m * (area[k + 1] - 2 * area[k] + area[k - 1]) for k in range(1, m)]
        return [m * area[1], *inner, 1 - m * (area[m] - area[m - 1])]

    def nearest(self, m: int) -> list[Fraction]:
        """Return the masses of m + 1 grid points, each record at the nearest, halves up."""
        halves = self.cells(2 * m)
        return [halves[0], *(halves[2 * k - 1] + halves[2 * k] for k in range(1, m)), halves[-1]]

    def uneven(self, m: int) -> float:
        """Return the largest distance in variation of the law inside one of m cells from the uniform one."""
        edges, _ = self.parts()
        crossed = sorted({int(e * m) for e in edges if (e * m).denominator != 1})
        far = 0.0
        for c in crossed:
            ends = [Fraction(c, m), *(e for e in edges if Fraction(c, m) < e < Fraction(c + 1, m)), Fraction(c + 1, m)]
            chance, _ = self.below(ends)
            mass = chance[-1] - chance[0]
            parts = zip(pairwise(ends), pairwise(chance), strict=True)
            far = max(far, float(sum(abs((q - p) / mass - (y - x) * m) for (x, y), (p, q) in parts)) / 2)
        return far

    def steps(self, most: int) -> int:
        """Return the least number of cells whose ends hold every edge; 1 where that is above `most`."""
        edges, _ = self.parts()
        found = math.lcm(*(e.denominator for e in edges))
        return found if found <= most else 1


def _pair(value: object, low: float, high: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return edges that ascend from low to high, and a mass for every part between them."""
    listed = checks.listed(value, f"reference = {value!r} is not a density; {WAYS}")
    if len(listed) != 2:  # edges and masses
        refuse(f"the reference of real-valued records has {len(listed)} parts; {WAYS}")
    edges, masses = (
        tuple(
            checks.real(f"{what} {i}", getattr(x, "item", lambda x=x: x)(), -math.inf, math.inf)
            for i, x in enumerate(checks.listed(part, f"the {what}s of the reference are {part!r}, not a list; {WAYS}"))
        )
        for what, part in zip(("edge", "mass"), listed, strict=True)
    )
    if not 2 <= len(edges) <= MOST_EDGES:  # one part
        refuse(f"the reference has {len(edges)} edges; give 2 to {MOST_EDGES}, from low = {low} to high = {high}")
    fall = next((i for i, (a, b) in enumerate(pairwise(edges)) if not a < b), None)
    if fall is not None:
        refuse(f"edge {fall + 1} of the reference is {edges[fall + 1]}, not above {edges[fall]}; edges must ascend")
    if edges[0] != low or edges[-1] != high:
        refuse(
            f"the density of the reference goes from {edges[0]} to {edges[-1]}, but records from {low} to {high}; a "
            "density needs no gaps: begin at low and end at high"
        )
    if len(masses) != len(edges) - 1:
        refuse(f"the reference has {len(masses)} masses for {len(edges) - 1} parts between its edges; give one each")
    bad = next((i for i, p in enumerate(masses) if not p > 0), None)
    if bad is not None:
        refuse(
            f"mass {bad} of the reference is {masses[bad]}, so that the density has a gap from {edges[bad]} to "
            f"{edges[bad + 1]}; give every part some mass, or put it together with its neighbour"
        )
    if abs(math.fsum(masses) - 1) > checks.SUM_TOLERANCE:
        total = f"integrates to {math.fsum(masses):.12g}, not to 1"
        refuse(f"the density of the reference {total}; divide the masses by their sum")
    return edges, masses


def histogram(data: Any, low: float, high: float, most: int = 32) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the histogram of a pandas column: the root of its length in equal parts, empty ones put together."""
    if hasattr(data, "columns"):
        refuse("the reference is a frame; real-valued records have one density: give one column of it")
    try:
        values = np.asarray(data.to_numpy(dtype=float, na_value=np.nan), dtype=float)
    except (TypeError, ValueError, AttributeError):
        refuse("the column of the reference holds no numbers; give real numbers between low and high")
    if values.size == 0 or not np.isfinite(values).all():
        missing = int((~np.isfinite(values)).sum())
        what = f"misses {missing} of {values.size} values" if values.size else "is empty"
        refuse(f"the column of the reference {what}; drop or fill them first (.dropna(), .fillna())")
    if values.min() < low or values.max() > high:
        far = float(values.min() if values.min() < low else values.max())
        refuse(f"the column of the reference holds {far:g}, but records are from {low} to {high}; clip it, or widen")
    parts = max(1, min(most, math.isqrt(values.size)))
    wide = decimal(high) - decimal(low)
    edges = [float(decimal(low) + wide * k / parts) for k in range(parts + 1)]
    edges[0], edges[-1] = low, high
    counts = np.histogram(values, bins=edges)[0]
    kept = [k for k in range(parts) if counts[k] > 0]
    # An empty part belongs to the part before it; those at the beginning to the first that is not empty.
    starts = [0, *kept[1:], parts]
    masses = [float(counts[a:b].sum() / values.size) for a, b in pairwise(starts)]
    return tuple(edges[k] for k in starts), tuple(masses)
