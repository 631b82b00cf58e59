"""The programme of truth or decoy: the best bound of a channel, or the best mechanism with its bound (MATH 4.15, 6.14).

Classes are blocks t = 0..T-1, each with an output of its own, or outputs that belong to no class. The bound of
bound.py is jointly convex in the laws of decoys, r, s and the multipliers, and with one law and one e for all
blocks in e, too. So the best bound of a channel, and the best certified mechanism of a family, is a programme with
exponential cones; suprema over w in it are maxima over points that are added where they are attained.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from dalenius.bounds.closing import Formula
from dalenius.bounds.decoys.bound import Corners, Decoys, Feasible, Multipliers, decoy_proof, stated, suprema
from dalenius.model.problem import Goal
from dalenius.numerics.conic import Conic
from dalenius.numerics.types import Floats, Ints
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class DecoySearch(Part):
    """Truth or decoy."""

    # Blocks at most, and how many standard deviations of the answer they reach.
    blocks: int = 41
    widths: float = 2.8
    # Parts of the range of the difference of the two sides.
    sides: int = 4
    # Rounds of new points, and the share of its bound that a programme may leave open in the end.
    rounds: int = 12
    near: float = 3e-3
    accuracy: float = 1e-7
    # Points kept of each supremum; the least probability of an output in r, as a share of the uniform one.
    points: int = 8
    least: float = 1e-5
    # Changes of e_t: how many, the first step, the factors after equal and opposite signs, the largest step, and the
    # relative gain below which three in a row end the search.
    changes: int = 24
    step: float = 0.025
    factors: tuple[float, float] = (1.4, 0.5)
    largest_step: float = 0.08
    gain: float = 1e-3
    # Where e_t begins: so much more in the middle than with one law, and so much less at the ends than there.
    middle: float = 0.06
    ends: float = 0.2


# Chances of truth are multiples of the first, and laws of decoys of the second: rows are multiples of 2^-32, exactly.
TRUTHS, LAWS = 2.0**-9, 2.0**-22
# Distortion budgets are met after rounding to these.
ROOM = 1e-4


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked: rho (A, T) is the reference on blocks, cost (T, T) that of block t and output y.

    Without a cost nothing but the bound of a given channel is looked for.
    """

    rho: Floats
    cost: Floats | None
    knowledge: float
    goal: Goal = "leakage"
    budget: float = np.inf

    @cached_property
    def feasible(self) -> Feasible:
        return Feasible(self.rho, self.knowledge)

    @property
    def size(self) -> int:
        return int(self.rho.shape[1])

    @cached_property
    def mirrored(self) -> bool:
        """Whether values and blocks in reverse order pose the same task."""
        tables = (self.rho,) if self.cost is None else (self.rho, self.cost)
        return all(np.allclose(table, table[::-1, ::-1], rtol=1e-7) for table in tables)

    @cached_property
    def constant(self) -> float:
        """The cost of the best constant."""
        return 1.0 if self.cost is None else float(self.cost.sum(axis=0).min())

    def worth(self, rows: Floats, leakage: float) -> float:
        """What is minimised, of a mechanism; with a budget of leakage after a constant is mixed in."""
        cost = 0.0 if self.cost is None else float((self.cost * rows).sum())
        if self.goal == "leakage":
            return leakage if cost <= self.budget else np.inf
        share = min(1.0, self.budget / leakage)
        return share * cost + (1 - share) * self.constant


Points = tuple[Ints, Ints, Floats]  # piece, block, w


@dataclass(frozen=True, eq=False)
class Found:
    """A mechanism on blocks, its bound, what it is worth, and the programme's solution: x, z and the points."""

    decoys: Decoys
    proof: Formula
    worth: float
    solution: tuple[Floats, Floats, Points]


@dataclass(eq=False)
class Programme:
    """The best mechanism of two laws with these chances e_t; without any, of one law and one e; or a given one's bound.

    Variables: s, e, U, V; the laws of decoys; r; by piece lam, mu, and tau of every block; the term of every point.
    """

    task: Task
    chosen: DecoySearch
    truth: Floats | None = None
    given: Decoys | None = None

    def __post_init__(self) -> None:
        task, size, t = self.task, self.task.size, np.arange(self.task.size)
        self.one = self.truth is None and self.given is None
        # Coordinates of W: the difference of the two sides, and their sum. One law has the mass 1 - e, and W = 1.
        if self.given is not None:
            self.told, self.alpha = self.given.truth, self.given.alpha
        else:
            self.told = np.zeros(size) if self.truth is None else self.truth
            side = np.sign((size - 1) / 2 - t)
            self.alpha = np.ones((1, size)) if self.one else np.stack([(1 - self.told) * side, 1 - self.told])
        self.mirrored = task.mirrored and (self.given is None or self.given.mirrored)
        # The values a that the programme looks at: half of them where the task is its own mirror image.
        values = range(len(task.rho) // 2 if self.mirrored else 0, len(task.rho))
        self.corners = [Corners.of(task.feasible, a, self.alpha, self.chosen.sides) for a in values]
        self.at, self.box = (np.concatenate([getattr(c, name) for c in self.corners]) for name in ("at", "box"))
        self.rho = np.concatenate([task.feasible.given[[c.value] * len(c.at)] for c in self.corners])
        self.many = len(self.at)
        # Where the task is its own mirror image, so are r and one law, and the left law is that of the right.
        tie = np.minimum(t, size - 1 - t) if self.mirrored else t
        self.right = 4 + (tie if self.one else t)
        self.left = self.right if self.one else self.right[::-1] if self.mirrored else self.right + size
        # The laws that are variables with their shares at every corner, what is fixed there, and the mass of both.
        self.laws = [(self.right, np.ones(self.many))]
        self.fixed, self.mass = np.zeros((self.many, size)), np.ones(self.many)
        if self.given is not None:
            self.fixed, self.laws = np.maximum(self.at @ self.given.nu, 0.0), []
            self.mass = self.at @ self.given.nu.sum(axis=1)
        elif not self.one:
            shares = (self.at[:, 1] + self.at[:, 0]) / 2, (self.at[:, 1] - self.at[:, 0]) / 2
            self.laws, self.mass = list(zip((self.right, self.left), shares, strict=True)), self.at[:, 1]
        self.r = (int(max(law.max() for law, _ in self.laws)) + 1 if self.laws else 4) + tie
        self.lam = int(self.r.max()) + 1
        self.mu = self.lam + self.many
        self.tau = self.mu + self.many * len(self.alpha)
        self.terms = self.tau + self.many * size

    def best(self, deadline: Deadline) -> Found | None:
        """Solve, and add points where suprema are attained, until the programme's bound is the true one."""
        found: Found | None = None
        points = self._first_points()
        for _ in range(self.chosen.rounds):
            conic, objective, _ = self._conic(points)
            solved = conic.solve(objective, self.chosen.accuracy, time_limit=max(deadline.left, 1.0))
            if solved is None:
                break
            here, worst = self._evaluated(solved.x, solved.z, points)
            found = here if found is None or here.worth < found.worth else found
            aimed = solved.x[2]
            if here.proof.upper - aimed <= self.chosen.near * max(aimed, 1e-12) or deadline.expired():
                break
            points = self._more(points, worst)
        return found

    def slope(self, x: Floats, z: Floats, points: Points, step: float = 1e-5) -> Floats:
        """The derivative of the least value by every e_t: that of the Lagrange function at the solution."""
        size, found = self.task.size, np.zeros(self.task.size)
        for t in range((size + 1) // 2 if self.mirrored else size):
            both = [t, size - 1 - t] if self.mirrored else [t]
            values = []
            for change in (step, -step):
                truth = self.told.copy()
                truth[both] += change
                conic, objective, constant = replace(self, truth=truth)._conic(points)  # noqa: SLF001 - its own
                values.append(float(objective @ x + constant + z @ (conic.matrix @ x - conic.right)))
            found[both] = (values[0] - values[1]) / (2 * step)
        return found

    def _first_points(self) -> Points:
        """No mass, that of the reference, three times it, and the most."""
        top = np.concatenate([self.task.feasible.top[[c.value] * len(c.at)] for c in self.corners])
        tables = (np.zeros_like(top), self.rho, np.minimum(3 * self.rho, top), top)
        p, t = (index.ravel() for index in np.indices(top.shape))
        held = self.rho.ravel() > 0
        kept = [np.flatnonzero(held | (k == 0)) for k in range(len(tables))]
        return (
            np.concatenate([p[k] for k in kept]),
            np.concatenate([t[k] for k in kept]),
            np.concatenate([w.ravel()[k] for w, k in zip(tables, kept, strict=True)]),
        )

    def _more(self, points: Points, worst: Floats) -> Points:
        """Add the worst w of every piece and block where it is new; keep 0 and the newest."""
        p, t, w = points
        new = np.ones(worst.shape, dtype=bool)
        same = np.abs(worst[p, t] - w) <= 1e-4 * np.maximum(w, 1e-12)
        new[p[same], t[same]] = False
        p, t, w = np.append(p, np.nonzero(new)[0]), np.append(t, np.nonzero(new)[1]), np.append(w, worst[new])
        # The place of every point among those of its supremum, from the newest.
        key = (p * self.task.size + t)[::-1]
        order = np.argsort(key, kind="stable")
        first = np.searchsorted(key[order], key[order])
        age = np.empty(key.size, dtype=np.int64)
        age[order] = np.arange(key.size) - first
        keep = (age[::-1] < self.chosen.points) | (w == 0)
        return p[keep], t[keep], w[keep]

    def _conic(self, points: Points) -> tuple[Conic, Floats, float]:
        """The programme, its objective, and what that leaves out."""
        task, size, many = self.task, self.task.size, self.many
        (p, t, w), k, piece = points, np.arange(points[0].size), np.arange(many)
        conic = Conic(self.terms + k.size)
        objective, constant = self._aim(conic)
        zero, one = np.zeros(1, dtype=np.int64), np.ones(1)
        # Laws sum to one; with one law of decoys e is the rest, and there is no mu.
        conic.equal(one, (0, self.r, 1.0))
        if self.one:
            conic.equal(one, (0, self.right, 1.0), (zero, zero + 1, 1.0))
            conic.equal(np.zeros(many), (piece, self.mu + piece, 1.0))
        else:
            conic.equal(np.zeros(1), (zero, zero + 1, 1.0))
            for law, _ in self.laws[: 1 if self.mirrored else 2]:
                conic.equal(one, (0, law, 1.0))
        # Nothing is below 0, but U; r has its least mass.
        signs = np.r_[0, 1, 3 : self.r.min()]
        conic.at_most(np.zeros(signs.size), (np.arange(signs.size), signs, -1.0))
        laws = np.unique(self.r)
        conic.at_most(np.full(laws.size, -self.chosen.least / size), (np.arange(laws.size), laws, -1.0))
        # s K + lam + sum_j mu_j (either end) + sum_t tau + 1 - (mass of decoys at the corner) <= U.
        for ends in product(range(2), repeat=0 if self.one else len(self.alpha)):
            columns = [(piece, self.mu + j * many + piece, self.box[:, j, end]) for j, end in enumerate(ends)]
            tau = np.repeat(piece, size), self.tau + np.arange(many * size), 1.0
            lam = (piece, self.lam + piece, 1.0), (piece, 0 * piece, task.knowledge), (piece, 0 * piece + 2, -1.0)
            conic.at_most(self.mass - 1, *columns, tau, *lam)
        # E - s w log(w/rho) - (lam + sum_j mu_j alpha_j + e) w <= tau at every point.
        with np.errstate(all="ignore"):
            tilt = np.where(w > 0, w * np.log(w / self.rho[p, t]), 0.0)
        columns = [(k, self.mu + j * many + p, -row[t] * w) for j, row in enumerate(self.alpha)]
        at = (k, self.terms + k, 1.0), (k, self.tau + p * size + t, -1.0)
        conic.at_most(self.told[t] * w, *columns, *at, (k, 0 * k, -tilt), (k, self.lam + p, -w))
        # E >= u log(u/r), u = e w + decoys at the corner.
        bound = np.zeros(3 * k.size)
        bound[1::3] = self.told[t] * w + self.fixed[p, t]
        laws_of = [(3 * k + 1, law[t], -part[p]) for law, part in self.laws]
        truth = 3 * k + 1, 0 * k + 1, -w if self.one else 0.0
        conic.entropies(bound, (3 * k, self.terms + k, 1.0), *laws_of, truth, (3 * k + 2, self.r[t], -1.0))
        return conic, objective, constant

    def _aim(self, conic: Conic) -> tuple[Floats, float]:
        """What is minimised, and what that leaves out: U, or the cost with a price for what U is above the budget."""
        task, objective, zero = self.task, np.zeros(conic.width), np.zeros(1, dtype=np.int64)
        if task.goal == "leakage":
            objective[2] = 1.0
        if task.cost is None:
            return objective, 0.0
        paid, told = self._paid(task.cost), float(self.told @ np.diag(task.cost)) / task.constant
        places = np.arange(paid.size)
        if task.goal == "leakage":
            conic.at_most(np.array([(1 - ROOM) * task.budget / task.constant - told]), (0 * places, places, paid))
            return objective, 0.0
        conic.at_most(np.array([task.budget]), (zero, zero + 2, 1.0), (zero, zero + 3, -1.0))
        objective[: paid.size], objective[3] = paid, 1.3 / task.budget
        return objective, told

    def _paid(self, cost: Floats) -> Floats:
        """The cost of every probability of the laws, in that of the constant; of e where it is a variable."""
        paid = np.zeros(int(self.r.min()))
        if self.one:
            np.add.at(paid, self.right, cost.sum(axis=0))
            paid[1] = np.trace(cost)
        else:
            before = (self.alpha[1] + self.alpha[0]) / 2
            np.add.at(paid, self.right, before @ cost)
            np.add.at(paid, self.left, (self.alpha[1] - before) @ cost)
        return paid / self.task.constant

    def _evaluated(self, x: Floats, z: Floats, points: Points) -> tuple[Found, Floats]:
        """The mechanism on its grid with its true bound, and the points at which suprema are attained."""
        task, size = self.task, self.task.size
        r = np.maximum(x[self.r], self.chosen.least / size)
        r /= r.sum()
        s, e = max(float(x[0]), 1e-6), TRUTHS * float(np.clip(np.rint(x[1] / TRUTHS), 1, 1 / TRUTHS - 1))
        decoys = self.given
        if decoys is None:
            right, left = _law(x[self.right]), _law(x[self.left])
            nu = right[None] if self.one else np.stack([(right - left) / 2, (right + left) / 2])
            decoys = Decoys(np.arange(size), np.full((1, size), 1 - e) if self.one else self.alpha, nu)
        lam, mu = x[self.lam : self.mu], x[self.mu : self.tau].reshape(-1, self.many).T
        parts, worst, first, least = list[tuple[Corners, Multipliers]](), [], 0, np.inf
        for corners in self.corners:
            here = slice(first, first + len(corners.at))
            first = here.stop
            multipliers = Multipliers(lam[here], mu[here])
            if self.one:
                # W = 1 - e in place of 1: what is added to F, 1 - e - W, is 0 there, as is mu.
                ends = np.full((1, 1, 2), 1 - e)
                corners = replace(corners, grid=(ends[0, 0],), box=ends, at=ends[:, :, 0])  # noqa: PLW2901
                multipliers = Multipliers(lam[here] - e, np.zeros((1, 1)))
            least = min(least, float((corners.at @ decoys.nu).min()))
            worst.append(suprema(decoys, task.feasible, r, s, (corners, multipliers)).worst)
            parts.append((corners, multipliers))
            if self.mirrored and 2 * corners.value + 1 > len(task.rho):
                parts.append(_mirror(corners, multipliers, len(task.rho)))
        proof = decoy_proof(decoys, task.feasible, r, s, sorted(parts, key=lambda part: part[0].value))
        if least < 0:
            # No bound: decoys have a negative weight at a corner.
            proof = replace(proof, upper=np.inf)
        return Found(decoys, proof, task.worth(decoys.rows, proof.upper), (x, z, points)), np.concatenate(worst)


def _mirror(corners: Corners, multipliers: Multipliers, values: int) -> tuple[Corners, Multipliers]:
    """The same about the mirror image of a value: the difference of the two sides changes its sign."""
    value = values - 1 - corners.value
    if len(corners.grid) == 1:
        return replace(corners, value=value), multipliers
    sign = np.r_[-1.0, np.ones(len(corners.grid) - 1)]
    grid, tilts = (-corners.grid[0][::-1], *corners.grid[1:]), (corners.tilts[0][::-1], *corners.tilts[1:])
    box, at = corners.box * sign[:, None], corners.at * sign
    box[:, 0] = box[:, 0, ::-1]
    # In the order of the mirrored grid.
    order = np.lexsort((*at.T[::-1], *box[:, ::-1, 0].T))
    mirrored = Corners(value, grid, tilts, box[order], at[order])
    return mirrored, Multipliers(multipliers.lam[order], (multipliers.mu * sign)[order])


def _law(weights: Floats) -> Floats:
    """A law in multiples of LAWS."""
    weights = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
    whole = np.floor(weights / LAWS)
    whole[weights.argmax()] += 1 / LAWS - whole.sum()
    return np.asarray(whole * LAWS)


def best_bound(
    channel: Decoys, rho: Floats, knowledge: float, chosen: DecoySearch, deadline: Deadline
) -> Formula | None:
    """The best bound of a channel of this form, rho (A, T) on its rows; None where corners allow none."""
    used = np.flatnonzero(channel.rows.any(axis=0))
    order = np.searchsorted(used, channel.own)
    spread = np.zeros((len(rho) + len(channel.alpha), used.size))
    spread[:, order] = np.concatenate([rho, channel.alpha])
    given = Decoys(np.arange(used.size), spread[len(rho) :], channel.nu[:, used])
    programme = Programme(Task(spread[: len(rho)], None, knowledge), chosen, given=given)
    if (programme.at @ given.nu).min() < 0:
        return None
    found = programme.best(deadline)
    return None if found is None else stated(found.proof, order, used, channel.nu.shape[1])
