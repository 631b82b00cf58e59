"""The adversary's answer to a mechanism in a design: the worst priors that local search finds (MATH 3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalenius.model.channels.written import Written
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.statistic import Statistic
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Merged, lump
from dalenius.search.ascent import NO_KNOWLEDGE, climb, random_priors
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT, Part, Settings


@dataclass(frozen=True, kw_only=True)
class OracleSearch(Part):
    """The adversary's answer to a mechanism."""

    # Priors of one record taken in one round; earlier priors to start from.
    priors_taken: int = 6
    warm_starts: int = 40
    # Priors are taken that leak at most this share less than the worst, and differ by more than this, in sum.
    near_worst: float = 0.1
    different: float = 1e-3
    # Rounds of its ascent, and the relative gain below which a start is left.
    rounds: int = 60
    still: float = 1e-9


@dataclass(frozen=True, eq=False)
class Attack:
    """A prior about a record, and what it leaks."""

    leakage: float
    record: int
    masses: Floats  # (A, K)


@dataclass(frozen=True, eq=False)
class Oracle:
    """The adversary of a design: all priors within `knowledge`, one record of each orbit."""

    statistic: Statistic
    knowledge: float
    rng: np.random.Generator
    reference: Reference = UNIFORM
    settings: Settings = DEFAULT

    def attack(self, rows: Floats, known: list[Attack], starts: int, deadline: Deadline) -> list[Attack]:
        """Return different bad priors for a mechanism, worst first; `known` ones are starting points."""
        chosen = self.settings.of(OracleSearch)
        mechanism = Written(self.statistic, rows, tuple(range(rows.shape[1])))
        merged = Merged.of(mechanism)
        found: list[Attack] = []
        for members in self.reference.orbits(self.statistic):
            record = members[0]
            lumped, lift = lump(mechanism, record, merged, self.reference)
            cells = Cells(lumped, self.knowledge, settings=self.settings)
            if self.knowledge <= NO_KNOWLEDGE:
                pi, value = cells.rho[None], cells.leakage(cells.rho[None])
            else:
                warm = [attack.masses for attack in known if attack.record == record][-chosen.warm_starts :]
                begin = random_priors(cells, starts, self.rng)
                if warm:
                    begin = np.concatenate([lift.cells(np.stack(warm), cells.size), begin])
                pi, value, _ = climb(
                    cells, begin, deadline, chosen.rounds, keep=chosen.priors_taken, still=chosen.still
                )
            for k in _different(pi, value, chosen):
                masses = lift.masses(pi[k])
                found.append(Attack(float(value[k]), record, masses / masses.sum()))
        return sorted(found, key=lambda attack: -attack.leakage)


def _different(pi: Floats, value: Floats, chosen: OracleSearch) -> list[int]:
    """The indices of the worst priors that are not near each other."""
    order: NDArray[np.intp] = np.argsort(-value, kind="stable")
    least = value[order[0]] * (1 - chosen.near_worst)
    taken: list[int] = []
    for k in order.tolist():
        if value[k] < least or len(taken) == chosen.priors_taken:
            break
        if all(np.abs(pi[k] - pi[j]).sum() > chosen.different for j in taken):
            taken.append(k)
    return taken
