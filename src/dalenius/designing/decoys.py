"""Truth or decoy: mechanisms that come with their certificates, for any number of people (MATH 6.14).

Answers are clamped and put into blocks t = 0..T-1, each with an output of its own. A mechanism tells the block with
chance e_t, and else an output from one law nu, or from one of two, by the side of the middle that t is on:

    q_t = e_t delta_t + (1 - e_t) nu,    or    q_t = e_t delta_t + (1 - e_t) (nu_right before the middle, else nu_left).

The bound of bounds/decoy.py is jointly convex in the laws of decoys, r, s and the multipliers, and with one law and one
e for all blocks in e, too. So the best certified mechanism of the family is a programme with exponential cones,
solved by Clarabel [goulart24]; suprema over w in it are maxima over points that are added where they are attained.
Chances e_t that differ from block to block go down the slope of its value.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import clarabel
import numpy as np
import scipy

from dalenius.bounds.closing import Formula
from dalenius.bounds.decoy import Corners, Decoys, Feasible, Multipliers, decoy_proof, suprema
from dalenius.designing.master import ACCEPTED
from dalenius.model.problem import Goal
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
    """What is asked of a mechanism on blocks: rho (A, T) is the reference, cost (T, T) that of block t and output y."""

    rho: Floats
    cost: Floats
    knowledge: float
    goal: Goal
    budget: float

    @cached_property
    def feasible(self) -> Feasible:
        """What priors allow."""
        return Feasible(self.rho, self.knowledge)

    @property
    def size(self) -> int:
        """T."""
        return int(self.rho.shape[1])

    @cached_property
    def mirrored(self) -> bool:
        """Whether values and blocks in reverse order pose the same task."""
        same = np.allclose(self.rho, self.rho[::-1, ::-1], rtol=1e-7)
        return bool(same and np.allclose(self.cost, self.cost[::-1, ::-1], rtol=1e-7))

    @cached_property
    def values(self) -> list[int]:
        """The values a that the programme looks at: half of them where the task is its own mirror image."""
        many = len(self.rho)
        return list(range(many // 2 if self.mirrored else 0, many))

    @cached_property
    def constant(self) -> float:
        """The cost of the best constant."""
        return float(self.cost.sum(axis=0).min())

    def worth(self, cost: float, leakage: float) -> float:
        """What is minimised, of a mechanism; with a budget of leakage after a constant is mixed in."""
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


def best(task: Task, chosen: DecoySearch, deadline: Deadline) -> Found | None:
    """Return the best mechanism found: of one law, then of two with chances e_t that go down the slope."""
    found = Programme(task, None, chosen).design(deadline)
    if found is None or task.size < 4 or deadline.expired():
        return found
    apart = np.abs(np.linspace(-1.0, 1.0, task.size))
    truth = found.decoys.truth + chosen.middle - chosen.ends * apart
    step, before, idle = np.full(task.size, chosen.step), np.zeros(task.size), 0
    for _ in range(chosen.changes):
        truth = TRUTHS * np.rint(np.clip(truth, 0.02, 0.97) / TRUTHS)
        programme = Programme(task, truth, chosen)
        here = programme.design(deadline)
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


@dataclass(frozen=True, eq=False)
class Conic:
    """Minimise objective x + constant with right - matrix x in cones."""

    objective: Floats
    constant: float
    matrix: "scipy.sparse.csc_matrix"
    right: Floats
    kinds: list[object]

    def solve(self, accuracy: float) -> tuple[Floats, Floats] | None:
        """Return x and its multipliers."""
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, 120
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
        none = scipy.sparse.csc_matrix((self.objective.size, self.objective.size))
        solved = clarabel.DefaultSolver(none, self.objective, self.matrix, self.right, self.kinds, settings).solve()
        return (np.array(solved.x), np.array(solved.z)) if str(solved.status) in ACCEPTED else None

    def lagrange(self, x: Floats, z: Floats) -> float:
        """The Lagrange function."""
        return float(self.objective @ x + self.constant + z @ (self.matrix @ x - self.right))


@dataclass(eq=False)
class Programme:
    """The best mechanism of two laws with these chances e_t; or, without any, of one law and one e.

    Variables: s, e, U, V; the laws of decoys; r; by piece lam, mu, and tau of every block; the term of every point.
    """

    task: Task
    truth: Floats | None
    chosen: DecoySearch

    def __post_init__(self) -> None:
        task, size, t = self.task, self.task.size, np.arange(self.task.size)
        self.two = self.truth is not None
        self.told = np.zeros(size) if self.truth is None else self.truth
        # Coordinates of W: the difference of the two sides, and their sum. One law has the mass 1 - e, and W = 1.
        side = np.sign((size - 1) / 2 - t)
        self.alpha = np.stack([(1 - self.told) * side, 1 - self.told]) if self.two else np.ones((1, size))
        parts = (self.chosen.sides, 1) if self.two else (1,)
        self.corners = [Corners.of(task.feasible, a, self.alpha, parts) for a in task.values]
        self.at, self.box = (np.concatenate([getattr(c, name) for c in self.corners]) for name in ("at", "box"))
        self.rho = np.concatenate([task.feasible.given[[c.value] * len(c.at)] for c in self.corners])
        self.many = len(self.at)
        # Where the task is its own mirror image, so are r and one law, and the left law is that of the right.
        tie = np.minimum(t, size - 1 - t) if task.mirrored else t
        self.right = 4 + (t if self.two else tie)
        self.left = self.right if not self.two else self.right[::-1] if task.mirrored else self.right + size
        self.r = int(max(self.right.max(), self.left.max())) + 1 + tie
        self.lam = int(self.r.max()) + 1
        self.mu = self.lam + self.many
        self.tau = self.mu + self.many * len(self.alpha)
        self.terms = self.tau + self.many * size

    def design(self, deadline: Deadline) -> Found | None:
        """Solve, and add points where suprema are attained, until the programme's bound is the true one."""
        found: Found | None = None
        points = self._first_points()
        for _ in range(self.chosen.rounds):
            solved = self._conic(points).solve(self.chosen.accuracy)
            if solved is None:
                break
            here, worst = self._evaluated(*solved, points)
            found = here if found is None or here.worth < found.worth else found
            aimed = solved[0][2]
            if here.proof.upper - aimed <= self.chosen.near * max(aimed, 1e-12) or deadline.expired():
                break
            points = self._more(points, worst)
        return found

    def slope(self, x: Floats, z: Floats, points: Points, step: float = 1e-5) -> Floats:
        """The derivative of the least value by every e_t: that of the Lagrange function at the solution."""
        size, found = self.task.size, np.zeros(self.task.size)
        for t in range((size + 1) // 2 if self.task.mirrored else size):
            both = [t, size - 1 - t] if self.task.mirrored else [t]
            values = []
            for change in (step, -step):
                truth = self.told.copy()
                truth[both] += change
                values.append(replace(self, truth=truth)._conic(points).lagrange(x, z))  # noqa: SLF001 - its own
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

    def _conic(self, points: Points) -> Conic:
        """The programme in Clarabel's form."""
        task, size, many = self.task, self.task.size, self.many
        (p, t, w), k, piece = points, np.arange(points[0].size), np.arange(many)
        width = self.terms + k.size
        rows, paid, told = _Rows(), self._paid(), float(self.told @ np.diag(task.cost)) / task.constant
        zero, one = np.zeros(1, dtype=np.int64), np.ones(1)
        # Laws sum to one; with one law of decoys e is the rest, and there is no mu.
        rows.add(one, (0, self.r, 1.0))
        rows.add(one, (0, self.right, 1.0), (zero, zero + 1, 0.0 if self.two else 1.0))
        if self.two:
            rows.add(np.zeros(1), (zero, zero + 1, 1.0))
        else:
            rows.add(np.zeros(many), (piece, self.mu + piece, 1.0))
        if self.two and not task.mirrored:
            rows.add(one, (0, self.left, 1.0))
        equations = rows.height
        # Nothing is below 0, but U; r has its least mass.
        signs = np.r_[0, 1, 3 : self.r.min()]
        rows.add(np.zeros(signs.size), (np.arange(signs.size), signs, -1.0))
        laws = np.unique(self.r)
        rows.add(np.full(laws.size, -self.chosen.least / size), (np.arange(laws.size), laws, -1.0))
        objective, places = np.zeros(width), np.arange(paid.size)
        if task.goal == "leakage":
            rows.add(np.array([(1 - ROOM) * task.budget / task.constant - told]), (0 * places, places, paid))
            objective[2] = 1.0
        else:
            rows.add(np.array([task.budget]), (zero, zero + 2, 1.0), (zero, zero + 3, -1.0))
            objective[: paid.size], objective[3] = paid, 1.3 / task.budget
        # s K + lam + sum_j mu_j (either end) + sum_t tau + 1 - (mass of decoys at the corner) <= U.
        less = 1 - self.at[:, -1] if self.two else np.zeros(many)
        for ends in product(range(2), repeat=len(self.alpha) if self.two else 0):
            columns = [(piece, self.mu + j * many + piece, self.box[:, j, end]) for j, end in enumerate(ends)]
            tau = np.repeat(piece, size), self.tau + np.arange(many * size), 1.0
            lam = (piece, self.lam + piece, 1.0), (piece, 0 * piece, task.knowledge), (piece, 0 * piece + 2, -1.0)
            rows.add(-less, *columns, tau, *lam)
        # E - s w log(w/rho) - (lam + sum_j mu_j alpha_j + e) w <= tau at every point.
        with np.errstate(all="ignore"):
            tilt = np.where(w > 0, w * np.log(w / self.rho[p, t]), 0.0)
        columns = [(k, self.mu + j * many + p, -row[t] * w) for j, row in enumerate(self.alpha)]
        at = (k, self.terms + k, 1.0), (k, self.tau + p * size + t, -1.0)
        rows.add(self.told[t] * w, *columns, *at, (k, 0 * k, -tilt), (k, self.lam + p, -w))
        inequalities = rows.height - equations
        # E >= u log(u/r): (-E, u, r) in the cone, u = e w + (right) nu_right + (left) nu_left at the corner.
        weight = np.stack([self.at[:, 1] + self.at[:, 0], self.at[:, 1] - self.at[:, 0]]) / 2 if self.two else None
        share = np.stack([np.ones(many), np.zeros(many)]) if weight is None else weight
        bound = np.zeros(3 * k.size)
        bound[1::3] = self.told[t] * w
        laws_of = [(3 * k + 1, law[t], -part[p]) for law, part in zip((self.right, self.left), share, strict=True)]
        truth = 3 * k + 1, 0 * k + 1, 0.0 if self.two else -w
        rows.add(bound, (3 * k, self.terms + k, 1.0), *laws_of, truth, (3 * k + 2, self.r[t], -1.0))
        kinds = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(inequalities)]
        kinds += [clarabel.ExponentialConeT()] * k.size
        return Conic(objective, told if task.goal == "distortion" else 0.0, *rows.built(width), kinds)

    def _paid(self) -> Floats:
        """The cost of every probability of the laws, in that of the constant; of e where it is a variable."""
        cost, paid = self.task.cost, np.zeros(int(self.r.min()))
        if self.two:
            before = (self.alpha[1] + self.alpha[0]) / 2
            np.add.at(paid, self.right, before @ cost)
            np.add.at(paid, self.left, (self.alpha[1] - before) @ cost)
        else:
            np.add.at(paid, self.right, cost.sum(axis=0))
            paid[1] = np.trace(cost)
        return paid / self.task.constant

    def _evaluated(self, x: Floats, z: Floats, points: Points) -> tuple[Found, Floats]:
        """The mechanism on its grid with its true bound, and the points at which suprema are attained."""
        task, size = self.task, self.task.size
        right, left = _law(x[self.right]), _law(x[self.left])
        r = np.maximum(x[self.r], self.chosen.least / size)
        r /= r.sum()
        s, e = max(float(x[0]), 1e-6), TRUTHS * float(np.clip(np.rint(x[1] / TRUTHS), 1, 1 / TRUTHS - 1))
        nu = np.stack([(right - left) / 2, (right + left) / 2]) if self.two else right[None]
        decoys = Decoys(np.arange(size), self.alpha if self.two else np.full((1, size), 1 - e), nu)
        lam, mu = x[self.lam : self.mu], x[self.mu : self.tau].reshape(-1, self.many).T
        parts, worst, first = [], [], 0
        for corners in self.corners:
            here = slice(first, first + len(corners.at))
            first = here.stop
            multipliers = Multipliers(lam[here], mu[here])
            if not self.two:
                # W = 1 - e in place of 1: what is added to F, 1 - e - W, is 0 there, as is mu.
                ends = np.full((1, 1, 2), 1 - e)
                corners = replace(corners, grid=(ends[0, 0],), box=ends, at=ends[:, :, 0])  # noqa: PLW2901
                multipliers = Multipliers(lam[here] - e, np.zeros((1, 1)))
            worst.append(suprema(decoys, task.feasible, r, s, (corners, multipliers)).worst)
            parts.append((corners, multipliers))
            if task.mirrored and 2 * corners.value + 1 > len(task.rho):
                parts.append(_mirror(corners, multipliers, len(task.rho)))
        proof = decoy_proof(decoys, task.feasible, r, s, sorted(parts, key=lambda part: part[0].value))
        if (self.at @ nu if self.two else nu).min() < 0:
            # No bound: decoys have a negative weight at a corner.
            proof = replace(proof, upper=np.inf)
        worth = task.worth(float((task.cost * decoys.rows).sum()), proof.upper)
        return Found(decoys, proof, worth, (x, z, points)), np.concatenate(worst)


def _mirror(corners: Corners, multipliers: Multipliers, values: int) -> tuple[Corners, Multipliers]:
    """The same about the mirror image of a value: the difference of the two sides changes its sign."""
    value = values - 1 - corners.value
    if len(corners.grid) == 1:
        return replace(corners, value=value), multipliers
    sign = np.array([-1.0, 1.0])
    grid, tilts = (-corners.grid[0][::-1], corners.grid[1]), (corners.tilts[0][::-1], corners.tilts[1])
    box, at = corners.box * sign[:, None], corners.at * sign
    box[:, 0] = box[:, 0, ::-1]
    # In the order of the mirrored grid.
    order = np.lexsort((at[:, 1], at[:, 0], box[:, 1, 0], box[:, 0, 0]))
    mirrored = Corners(value, grid, tilts, box[order], at[order])
    return mirrored, Multipliers(multipliers.lam[order], (multipliers.mu * sign)[order])


def _law(weights: Floats) -> Floats:
    """A law in multiples of LAWS."""
    weights = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
    whole = np.floor(weights / LAWS)
    whole[weights.argmax()] += 1 / LAWS - whole.sum()
    return np.asarray(whole * LAWS)


Entries = tuple[Ints | int, Ints, Floats | float]  # rows, columns, values


class _Rows:
    """Rows of a sparse matrix, added in groups, with their right-hand sides."""

    def __init__(self) -> None:
        self.entries: list[tuple[Ints, Ints, Floats]] = []
        self.groups: list[Floats] = []

    @property
    def height(self) -> int:
        return sum(group.size for group in self.groups)

    def add(self, right: Floats, *entries: Entries) -> None:
        """Add as many rows as there are right-hand sides; rows of entries are counted from the first of them."""
        for rows, columns, values in entries:
            shape = columns.shape
            self.entries.append((np.broadcast_to(rows, shape) + self.height, columns, np.broadcast_to(values, shape)))
        self.groups.append(right)

    def built(self, width: int) -> "tuple[scipy.sparse.csc_matrix, Floats]":
        """Return the matrix and the right-hand sides."""
        rows, columns, values = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        matrix = scipy.sparse.csc_matrix((values, (rows, columns)), shape=(self.height, width))
        return matrix, np.concatenate(self.groups)
