"""Outputs processed one by one: what rounding, perturbation tables and suppression make of any release of numbers."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written, outputs_of
from dalenius.model.datasets import commas

SUPPRESSED = "suppressed"
# Vectors that one vector of counts may become.
MOST_VECTORS = 2**12

# The law of what becomes of an output.
Law = Mapping[Any, Fraction]
Kernel = Callable[[Any], Law]


@dataclass(frozen=True, eq=False, repr=False)
class Processed(Written):
    """rows = before.rows K, where row y of K is the law of what becomes of output y of `before`.

    The laws are exact, and of several kernels in a row the product is taken exactly: rows that are equal stay equal.
    """

    before: Written | None = None
    laws: tuple[Law, ...] = ()


def process(mechanism: Mechanism, kernel: Kernel, name: str | None) -> Processed:
    """Return a mechanism whose outputs go through a kernel; of count vectors every count goes through it by itself.

    New outputs ascend, SUPPRESSED first.
    """
    given = mechanism.written()
    before = given.before if isinstance(given, Processed) and given.before is not None else given
    first: tuple[Law, ...] = (
        given.laws if isinstance(given, Processed) else tuple({y: Fraction(1)} for y in outputs_of(given))
    )
    after = {y: _through(kernel, y) for y in dict.fromkeys(y for law in first for y in law)}
    laws = tuple(_composed(law, after) for law in first)
    outputs = sorted({z for law in laws for z in law}, key=_place)
    checks.entries(len(laws), len(outputs), f"the table from outputs of {mechanism.name} to new ones")
    column, matrix = {z: j for j, z in enumerate(outputs)}, np.zeros((len(laws), len(outputs)))
    for row, law in zip(matrix, laws, strict=True):
        for z, p in law.items():
            row[column[z]] = p
    labels = tuple(commas(z) if isinstance(z, tuple) else z for z in outputs)
    return Processed(before.statistic, before.rows @ matrix, labels, before.query, name, before=before, laws=laws)


def _through(kernel: Kernel, output: Any) -> Law:
    if not isinstance(output, tuple):
        return _one(kernel, output)
    laws = [[(z, p) for z, p in _one(kernel, y).items() if p] for y in output]
    checks.entries(1, math.prod(map(len, laws)), f"what may become of the counts {commas(output)}", MOST_VECTORS)
    found: dict[Any, Fraction] = {}
    for parts in product(*laws):
        chance = Fraction(1)
        for _, p in parts:
            chance *= p
        found[tuple(z for z, _ in parts)] = chance
    return found


def _one(kernel: Kernel, output: Any) -> Law:
    """The law of what becomes of one number; what was suppressed stays so."""
    if output == SUPPRESSED:
        return {output: Fraction(1)}
    if isinstance(output, bool) or not isinstance(output, (int, float)):
        refuse(f"the output {output!r} is not a number; only numbers are rounded, perturbed or suppressed")
    return kernel(output)


def _composed(law: Law, after: Mapping[Any, Law]) -> Law:
    found: dict[Any, Fraction] = {}
    for y, p in law.items():
        for z, q in after[y].items():
            found[z] = found.get(z, Fraction(0)) + p * q
    return {z: p for z, p in found.items() if p}


def _place(output: Any) -> tuple[Any, ...]:
    parts = output if isinstance(output, tuple) else (output,)
    return tuple((0, 0) if y == SUPPRESSED else (1, y) for y in parts)
