"""Coarse classes and outputs (MATH 2.1): a smaller problem whose leakage is a lower bound of the large one's.

Neighbouring classes are put together in blocks, neighbouring outputs in groups between cuts. A prior on pairs of a
secret value a and a block B, the reference inside, is a prior like any other, with D(pi || rho) taken on blocks; and a
group G of outputs leaks no more than the outputs. So with

    rho(a,B) = sum_{t in B} rho(a,t),    q(G|a,B) = sum_{t in B} rho(t|a,B) P(G|t)

the coarse problem has at most the leakage of the given one, and every prior of it is a witness. Blocks are as fine as
there is room for where an adversary of this knowledge can go, the classes that the reference does not make too
unlikely; what is left on either side is one block.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dalenius.model import secret as secrets
from dalenius.model.channels.joint import Adaptive, Joint
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.counting import several_runs
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Secret
from dalenius.model.statistic import Statistic
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import Lift, Lumped
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class Coarseness(Part):
    """How fine the coarse problem of a sum of very many records is."""

    # Blocks of classes and cuts between outputs at most; products of
    # a class and a cut within the range of the noise, which a verifier adds up; classes at a time.
    blocks: int = 1024
    cuts: int = 2048
    terms: int = 2**23
    chunk: int = 4096
    # Nats below the likeliest class that are split finely, eight standard deviations; cuts within the reach of the
    # noise: finer ones add nothing.
    near: float = 32.0
    fineness: int = 128
    # For several releases: blocks, and groups of outputs of all of them together, at most.
    joint_blocks: int = 256
    joint_groups: int = 8192


FINE = Coarseness()
# Cuts of several releases are few: as far as the likely answers, and noise beyond them with this chance, reach.
DEVIATIONS, REACHED = 4.0, 0.02


@dataclass(frozen=True, eq=False)
class Grid:
    """The first class of every block, from 0 on, and the cuts c: a group ends before each.

    Each of several releases has cuts.
    """

    starts: Ints
    cuts: Ints | tuple[Ints, ...]

    @property
    def listed(self) -> list[Any]:
        """The cuts as plain data."""
        return [c.tolist() for c in self.cuts] if isinstance(self.cuts, tuple) else self.cuts.tolist()


def coarsen(
    mechanism: NoisySum,
    secret: Secret,
    knowledge: float,
    reference: Reference = UNIFORM,
    settings: Coarseness = FINE,
) -> tuple[Lumped, Lift, Grid]:
    """Return the coarse problem of a secret, the way back to classes, and the blocks and cuts."""
    many = secrets.size(secret, mechanism.records)
    # Where a secret has many values, blocks and cuts are fewer: the problem stays as large.
    fewer = math.sqrt(max(many / 2, 1.0))
    log_size = reference.log_classes(mechanism.statistic)
    room = int(settings.blocks / fewer), int(settings.cuts / fewer)
    starts, cuts = _grid(mechanism, log_size, knowledge, (many, room), settings)
    reach = mechanism.reach()

    def law(answers: Ints) -> tuple[Floats, int]:
        """Classes whose noise cannot reach a cut are 0 or 1 there."""
        low, high = np.searchsorted(cuts, [answers[0] - reach, answers[-1] + reach + 2])
        return _groups(mechanism, cuts[low:high], answers), int(low)

    rows = partial(_rows, mechanism.answers, law, cuts.size + 1, chunk=settings.chunk)
    return _on_blocks(mechanism.statistic, secret, reference, Grid(starts, cuts), rows)


def coarsen_releases(
    joint: Joint, secret: Secret, knowledge: float, reference: Reference = UNIFORM, settings: Coarseness = FINE
) -> tuple[Lumped, Lift, Grid]:
    """The same of several releases of one sum: groups of outputs are tuples, of equal releases without their order.

    Blocks of very many classes, all of them unlikely, are left out: no prior on the others has mass there.
    """
    many, log_size = secrets.size(secret, joint.records), reference.log_classes(joint.statistic)
    blocks = max(2, int(settings.joint_blocks / math.sqrt(max(many / 2, 1.0))))

    def near(part: NoisySum) -> tuple[Ints, Ints]:
        """Blocks, and the cuts that a release may have, as far as the likely answers and its noise reach."""
        starts, fine = _grid(part, log_size, knowledge, (many, (blocks, settings.cuts)), settings)
        weight = np.exp(log_size - np.logaddexp.reduce(log_size))
        mean = float(weight @ part.answers)
        deviation = math.sqrt(float(weight @ (part.answers - mean) ** 2))
        inside = fine[np.abs(fine - mean) <= DEVIATIONS * deviation + part.reach(REACHED)]
        return starts, inside if inside.size else fine

    cuts: tuple[Ints, ...]
    if isinstance(joint, Adaptive):
        first, rule = joint.rounded[0], joint.rule
        starts, fine = near(first)
        picks = _spread(fine, math.isqrt(settings.joint_groups))
        # Every choice after one group of first outputs is one group more.
        pairs = np.unique(_refined(picks, rule), axis=1).shape[1]
        each = max(1, settings.joint_groups // pairs)
        seen = [(law, _spread(near(law)[1], each)) for law in joint.laws]
        cuts = (picks, *(own for _, own in seen))
        law = partial(_chosen_law, (first, picks), rule, seen)
    else:
        runs = [len(places) for _, places in joint.groups]
        # As many groups of each release as make no more of all together.
        each = 1
        while math.prod(math.comb(each + k, k) for k in runs) <= settings.joint_groups:
            each += 1
        starts, parts = np.zeros(0, dtype=np.int64), []
        picked: dict[int, Ints] = {}
        for part, places in joint.groups:
            starts, fine = near(part)
            picks = _spread(fine, each)
            picked |= dict.fromkeys(places, picks)
            parts.append((part, picks, len(places)))
        cuts = tuple(picked[j] for j in range(len(joint.parts)))
        law = partial(_joint_law, parts)
    answers, most = joint.rounded[0].answers, settings.chunk
    groups = law(answers[:1])[0].shape[1]
    rows = partial(_rows, answers, law, groups, chunk=settings.chunk // 8, most=most)
    return _on_blocks(joint.statistic, secret, reference, Grid(starts, cuts), rows, most=most)


def _spread(cuts: Ints, groups: int) -> Ints:
    """Cuts of equal distance that make so many groups."""
    places = np.linspace(0, cuts.size - 1, min(groups - 1, cuts.size)).round().astype(int)
    return np.asarray(cuts[np.unique(places)])


def _on_blocks(
    statistic: Statistic,
    secret: Secret,
    reference: Reference,
    grid: Grid,
    rows_of: Callable[[Floats, Ints], Floats],
    *,
    most: float = math.inf,
) -> tuple[Lumped, Lift, Grid]:
    """The problem on blocks. rows_of: of log rho(t|a,B) and the blocks' first classes, q(G|a,B) as (A, B, G).

    Blocks of more than `most` classes, all of them unlikely, are left out: no prior on the others has mass there.
    """
    log_rho = reference.log_joint(statistic, secret)
    log_block = np.logaddexp.reduceat(log_rho, grid.starts, axis=1)
    log_block -= np.logaddexp.reduce(log_block, axis=None)
    block_of = np.repeat(np.arange(grid.starts.size), np.diff(np.append(grid.starts, log_rho.shape[1])))
    kept = np.isfinite(log_block) & (np.bincount(block_of) <= most)
    cell = np.where(kept, np.cumsum(kept).reshape(kept.shape) - 1, -1)
    # log rho(t|a,B), in place: where a secret has many values, memory has no room for a second array.
    log_share = log_rho
    for a, block in enumerate(log_block):
        row = log_share[a]
        with np.errstate(invalid="ignore"):
            row -= block[block_of]
        row[np.isnan(row)] = -np.inf
        # The shares of a block sum to 1 but for rounding of large logarithms.
        total = np.add.reduceat(np.exp(row), grid.starts)
        row -= np.log(np.where(total > 0, total, 1.0))[block_of]
    values, number = np.unique(np.nonzero(kept)[0], return_inverse=True)
    rows = rows_of(log_share, grid.starts)[kept]
    lumped = Lumped(number, rows, log_block[kept], values.size, np.arange(number.size))
    return lumped, Lift(cell[:, block_of], log_share, np.zeros(0, dtype=np.int64)), grid


def _grid(
    mechanism: NoisySum, log_size: Floats, knowledge: float, size: tuple[int, tuple[int, int]], settings: Coarseness
) -> tuple[Ints, Ints]:
    """Blocks of equal width over the likely classes, and cuts of equal distance as far as noise carries them."""
    values, (blocks, cuts) = size
    likely = np.flatnonzero(log_size >= log_size.max() - settings.near - 2 * knowledge)
    first, end = int(likely[0]), int(likely[-1]) + 1
    inner = np.arange(first, end, -(-(end - first) // blocks))
    outer = [0] if first > 0 else [], [end] if end < log_size.size else []
    starts = np.concatenate([outer[0], inner, outer[1]]).astype(np.int64)

    answers, reach = mechanism.answers, mechanism.reach()
    low = max(mechanism.low + 1, int(answers[first]) - reach)
    high = min(mechanism.high, int(answers[end - 1]) + reach)
    met = np.searchsorted(answers, answers[(first + end) // 2] + np.array([-reach, reach]))
    # Tails that fall by one factor a step are added up by recursions, for any number of cuts.
    steady = mechanism.noise.rate is not None
    terms = 1 if steady else values * min(int(met[1] - met[0]) + 1, end - first)
    most = max(2, min(cuts, settings.terms // terms))
    step = max(-(-(high - low + 1) // most), reach // settings.fineness, 1)
    return starts, np.arange(low, high + 1, step)


def _rows(
    answers: Ints,
    law_of: Callable[[Ints], tuple[Floats, int]],
    groups: int,
    log_share: Floats,
    starts: Ints,
    *,
    chunk: int,
    most: float = math.inf,
) -> Floats:
    """q(G|a,B) as (A, B, G), `chunk` classes at a time; blocks of more than `most` classes are left out.

    law_of: of neighbouring answers the chances (answers, some groups) of all groups that they reach, and the first of
    these.
    """
    found = np.zeros((len(log_share), starts.size, groups))
    ends = np.append(starts[1:], answers.size)
    for block, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        for i in range(start, end, chunk) if end - start <= most else ():
            some = slice(i, min(i + chunk, end))
            law, first = law_of(answers[some])
            found[:, block, first : first + law.shape[1]] += np.exp(log_share[:, some]) @ law
    return np.maximum(found, 0.0)


def _groups(part: NoisySum, cuts: Ints, answers: Ints) -> Floats:
    """The chances of the groups between cuts."""
    return np.diff(part.below(cuts - 1 - answers[:, None]), axis=1, prepend=0.0, append=1.0)


def _joint_law(parts: Sequence[tuple[NoisySum, Ints, int]], answers: Ints) -> tuple[Floats, int]:
    """Of releases with their cuts, and how often each is run."""
    law = np.ones((answers.size, 1))
    for part, cuts, often in parts:
        own = _groups(part, cuts, answers)
        runs, orders = several_runs(own.shape[1], often)
        own = np.exp(orders) * np.prod([own[:, run] for run in runs.T], axis=0)
        law = (law[:, :, None] * own[:, None, :]).reshape(len(law), -1)
    return law, 0


def _refined(cuts: Ints, rule: tuple[Ints, Ints]) -> Ints:
    """Between all cuts and ends of runs of the first output which choice follows, and which group it is: (2, parts)."""
    begins, which = rule
    edges = np.union1d(cuts, begins[1:])
    parts = np.append(begins[0], edges)
    return np.stack([which[np.searchsorted(begins, parts, side="right") - 1], np.searchsorted(cuts, parts, "right")])


def _chosen_law(
    first: tuple[NoisySum, Ints], rule: tuple[Ints, Ints], seen: Sequence[tuple[NoisySum, Ints]], answers: Ints
) -> tuple[Floats, int]:
    """Of a first release, and of the one that its output chooses; seen: what may be chosen, with cuts."""
    part, cuts = first
    fine = _groups(part, np.union1d(cuts, rule[0][1:]), answers)
    pairs, place = np.unique(_refined(cuts, rule), axis=1, return_inverse=True)
    both = np.zeros((answers.size, pairs.shape[1]))
    np.add.at(both.T, place.ravel(), fine.T)
    laws = []
    for j, (chosen, chosen_cuts) in enumerate(seen):
        before, own = both[:, pairs[0] == j], _groups(chosen, chosen_cuts, answers)
        laws.append((before[:, :, None] * own[:, None, :]).reshape(answers.size, -1))
    return np.concatenate(laws, axis=1), 0
