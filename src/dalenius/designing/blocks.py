"""Truth or decoy: mechanisms that come with their certificates, for any number of people (MATH 6.14).

Answers are clamped and put into blocks t = 0..T-1, each with an output of its own. A mechanism tells the block with
chance e_t, and else an output from one law nu, or from one of two, by the side of the middle that t is on:

    q_t = e_t delta_t + (1 - e_t) nu,    or    q_t = e_t delta_t + (1 - e_t) (nu_right before the middle, else nu_left).

For given e_t the best of them is a programme (bounds/decoys/programme.py); chances e_t that differ from block to block
go down the slope of its value.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dalenius.bounds.closing import Formula
from dalenius.bounds.decoys.bound import stated
from dalenius.bounds.decoys.programme import TRUTHS, DecoySearch, Found, Programme, Task
from dalenius.designing.problem import Problem
from dalenius.model.problem import DesignProblem
from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Blocks, Sum
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.symmetry import Domain
from dalenius.search.deadline import Deadline


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
        return stated(found.proof, order, self.outputs, width)


def _added(block: Ints, weights: Floats) -> Floats:
    return np.bincount(block, weights=weights).astype(np.float64)


def layout(problem: Problem, chosen: DecoySearch) -> Layout | None:
    """Put the classes of a design into blocks by their nearest outputs; None where there are no two blocks."""
    domain, cost = problem.domain, problem.domain.cost
    place = np.unique(domain.distance.argmin(axis=1), return_inverse=True)[1]
    already = isinstance(domain.statistic, Blocks)
    grouped = place if already else _runs(_added(place, domain.weights), chosen)
    if grouped is None:
        return None
    block = grouped[place]
    many, width = int(block.max()) + 1, cost.shape[1]
    paid = np.zeros((many, width))
    np.add.at(paid, block, cost)
    # On ties the outer one, on both sides.
    low, high = paid.argmin(axis=1), width - 1 - paid[:, ::-1].argmin(axis=1)
    outputs = np.where(np.arange(many) < many / 2, low, high)
    if np.unique(outputs).size < many:
        return None
    rho = np.stack([_added(block, row) for row in domain.masses])
    task = Task(rho, paid[:, outputs], problem.knowledge, problem.goal, problem.budget)
    return Layout(block, outputs, task)


def in_blocks(asked: DesignProblem, chosen: DecoySearch) -> tuple[DesignProblem, Problem] | None:
    """A design for a count of very many people on blocks of its answers, each with one output; None for others.

    Mechanisms on blocks are some of all mechanisms: no lower bound but 0 is looked for.
    """
    query, task = asked.query, asked.distortion
    counted = query.name == "count" and isinstance(query.statistic, Sum) and task.outputs == query.outputs
    plain = task.data.uniform and task.measure in ("absolute", "squared") and not asked.constraints.given
    adversary = asked.adversary
    if not (
        counted and plain and adversary.kind == "bounded" and adversary.reference.uniform and adversary.knowledge > 0
    ):
        return None
    statistic = query.statistic
    assert isinstance(statistic, Sum)  # for the type checker: it is counted
    weights = np.exp(UNIFORM.log_classes(statistic))
    block = _runs(weights, chosen)
    if block is None:
        return None
    starts = np.unique(block, return_index=True)[1]
    answers, mass = statistic.values, _added(block, weights)
    # The middle of every block: its median, or its mean.
    if task.measure == "absolute":
        below = np.cumsum(weights) - np.r_[0.0, np.cumsum(mass)][block]
        centres = np.array([np.searchsorted(below[block == b], mass[b] / 2) for b in range(starts.size)]) + starts
    else:
        centres = np.rint(_added(block, weights * answers) / mass).astype(np.int64)
    half = starts.size // 2
    centres[-half:] = answers.size - 1 - centres[:half][::-1]
    power = 1 if task.measure == "absolute" else 2
    cost = np.stack([_added(block, weights * np.abs(answers - y) ** power) for y in centres], axis=1)
    size = starts.size
    orbit = np.arange(size * size).reshape(size, size)
    coarse = Blocks(statistic, tuple(starts.tolist()))
    domain = Domain(coarse, mass, uniform=True, distance=cost / mass[:, None], orbit=orbit, symmetries=())
    outputs = tuple(int(y) for y in centres)
    problem = Problem(domain, adversary.knowledge, asked.goal, asked.budget, asked.settings)
    return replace(asked, distortion=replace(task, outputs=outputs)), problem


def _runs(mass: Floats, chosen: DecoySearch) -> Ints | None:
    """The run of every place, given their masses: runs of one width, those at the ends with all beyond."""
    place = np.arange(mass.size)
    middle = float(mass @ place) / float(mass.sum())
    reach = chosen.widths * math.sqrt(float(mass @ (place - middle) ** 2))
    # They lie evenly about the centre of all places where that is the mean, so that mirror images are runs again.
    own = (mass.size - 1) / 2
    centre = own if abs(middle - own) < 1e-6 * mass.size else float(round(middle))
    even = (2 * centre) % 2 != 0
    wide = max(1, math.ceil((2 * reach + 1) / chosen.blocks))
    wide += wide % 2 == 0 and not even
    many = min(max(2, round((2 * reach + 1) / wide)), mass.size // wide)
    many += (many * wide) % 2 == even
    if many < 2:
        return None
    return np.clip(np.floor((place - centre + many * wide / 2) / wide), 0, many - 1).astype(np.int64)


def truth_or_decoy(task: Task, chosen: DecoySearch, deadline: Deadline) -> Found | None:
    """Return the best mechanism found: of one law, then of two with chances e_t that go down the slope."""
    found = Programme(task, chosen).best(deadline)
    if found is None or task.size < 4 or deadline.expired():
        return found
    apart = np.abs(np.linspace(-1.0, 1.0, task.size))
    truth = found.decoys.truth + chosen.middle - chosen.ends * apart
    step, before, idle = np.full(task.size, chosen.step), np.zeros(task.size), 0
    for _ in range(chosen.changes):
        truth = TRUTHS * np.rint(np.clip(truth, 0.02, 0.97) / TRUTHS)
        programme = Programme(task, chosen, truth)
        here = programme.best(deadline)
        if here is None:
            break
        idle = 0 if here.worth < (1 - chosen.gain) * found.worth else idle + 1
        found = min(found, here, key=lambda item: item.worth)
        if idle == 3 or deadline.expired():
            break
        # Rprop: steps grow while the slope keeps its sign, and shrink where it changes.
        slope = programme.slope(*here.solution)
        turned = slope * before
        grown = np.minimum(step * chosen.factors[0], chosen.largest_step)
        step = np.where(turned > 0, grown, np.where(turned < 0, step * chosen.factors[1], step))
        before = np.where(turned < 0, 0.0, slope)
        truth = truth - step * np.sign(slope)
    return found
