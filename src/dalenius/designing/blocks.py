"""Answers in blocks, for mechanisms that tell the truth or a decoy: which answers share a row, and what that costs."""

import math
from dataclasses import dataclass

import numpy as np

from dalenius.bounds.closing import Formula
from dalenius.designing.decoys import DecoySearch, Found, Task
from dalenius.model.problem import Goal
from dalenius.numerics.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Layout:
    """Blocks t = 0..T-1 of classes: the block of every class (K,), and the output of every block (T,)."""

    block: Ints
    outputs: Ints
    task: Task

    def rows(self, found: Found, width: int) -> Floats:
        """The mechanism on blocks with all outputs, (T, Y)."""
        rows = np.zeros((self.outputs.size, width))
        rows[:, self.outputs] = found.decoys.rows
        return rows

    def proof(self, found: Found, width: int, order: Ints) -> Formula:
        """Its bound as certificates have it: about all outputs, and rows in this order of blocks."""
        data = dict(found.proof.data)
        data["own"] = self.outputs[order].tolist()
        data["alpha"] = found.decoys.alpha[:, order].tolist()
        data["nu"] = [_spread(law, self.outputs, width, 0.0) for law in data["nu"]]
        # Outputs that never occur have hardly any weight together.
        data["r"] = _spread(data["r"], self.outputs, width, 1e-13 / width)
        data["values"] = [
            {**value, "top": np.array(value["top"])[order].tolist(),
             "points": np.array(value["points"])[:, order].tolist()}
            for value in data["values"]
        ]  # fmt: skip
        return Formula("decoy", found.proof.upper, data, s=found.proof.s, doubt=1e-10, written=True)


def _spread(values: list[float], places: Ints, width: int, rest: float) -> list[float]:
    spread = np.full(width, rest)
    spread[places] = values
    return spread.tolist()  # type: ignore[no-any-return]


def layout(
    near: Ints, weights: Floats, cost: Floats, masses: Floats, about: tuple[float, Goal, float], chosen: DecoySearch
) -> Layout | None:
    """Put classes into blocks by their nearest outputs (K,), which are in the order of numbers.

    weights (K,): P0. cost (K, Y): P0(c) d(c,y). masses (A, K): the reference. about: knowledge, goal and budget. None
    where fewer than two blocks are left.
    """
    keys, place = np.unique(near, return_inverse=True)
    mass = np.bincount(place, weights=weights)
    place_of = np.arange(keys.size)
    middle = mass @ place_of
    reach = chosen.widths * math.sqrt(mass @ (place_of - middle) ** 2)
    # Blocks lie evenly about the centre of all places where that is the mean, so that mirror images are blocks again.
    centre = (keys.size - 1) / 2 if abs(middle - (keys.size - 1) / 2) < 1e-6 * keys.size else round(middle)
    even = (2 * centre) % 2 != 0
    wide = max(1, math.ceil((2 * reach + 1) / chosen.blocks))
    wide += wide % 2 == 0 and not even
    many = min(max(2, round((2 * reach + 1) / wide)), keys.size // wide)
    many += (many * wide) % 2 == even
    if many < 2:  # noqa: PLR2004 - one block is a constant
        return None
    block = np.clip(np.floor((place_of - centre + many * wide / 2) / wide), 0, many - 1).astype(np.int64)[place]
    paid = np.zeros((many, cost.shape[1]))
    np.add.at(paid, block, cost)
    # On ties the outer one, on both sides.
    low, high = paid.argmin(axis=1), cost.shape[1] - 1 - paid[:, ::-1].argmin(axis=1)
    outputs = np.where(np.arange(many) < many / 2, low, high)
    if np.unique(outputs).size < many:
        return None
    knowledge, goal, budget = about
    rho = np.stack([np.bincount(block, weights=row, minlength=many) for row in masses])
    return Layout(block, outputs, Task(rho, paid[:, outputs], knowledge, goal, budget))
