"""Truth or decoy: mechanisms that are their own certificates, for any number of people (MATH 6.13).

Answers are clamped and put into blocks t = 0..T-1, each with an output of its own. A mechanism tells the block with
chance e_t, and else an output from one law nu, or from one of two laws, by which side of the middle t is on:

    q_t = e_t delta_t + (1 - e_t) [ beta_t nu_right + (1 - beta_t) nu_left ],     beta = 1 before the middle, 0 beyond.

The bound of bounds/decoy.py is jointly convex in the laws nu and r, s and the multipliers, and with one law and the same
e for all blocks in e, too: the best certified mechanism of the family is a programme with exponential cones, solved by
Clarabel [goulart24]. A supremum over w in it is a maximum over points that grow as they are found.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import clarabel
import numpy as np
import scipy

from dalenius.bounds.closing import Formula
from dalenius.bounds.decoy import Corners, Decoys, Feasible, Multipliers, decoy_proof, suprema
from dalenius.designing.master import ACCEPTED
from dalenius.numerics.types import Floats, Ints
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class DecoySearch(Part):
    """Truth or decoy."""

    # Blocks at most, and how many standard deviations of the answer they reach.
    blocks: int = 41
    widths: float = 2.8
    # Parts of the grid over W: of the difference of the two sides, and of the sum.
    sides: int = 4
    # Rounds of new points, and the share of the leakage by which a programme may be below its bound in the end.
    rounds: int = 12
    near: float = 3e-3
    accuracy: float = 1e-7
    # Points kept of each supremum; least probability of an output in r, as a share of uniform.
    points: int = 8
    least: float = 1e-5


# Multiples: of chances of truth, and of the laws of decoys. Rows are then multiples of 2^-32, exactly.
TRUTHS, LAWS = 2.0**-9, 2.0**-22


@dataclass(frozen=True, eq=False)
class Blocks:
    """The task on blocks: rho (A, T), cost (T, T) of block t with the output of block y, knowledge, the constant's."""

    rho: Floats
    cost: Floats
    knowledge: float

    @cached_property
    def feasible(self) -> Feasible:
        """What priors allow."""
        return Feasible(self.rho, self.knowledge)

    @property
    def size(self) -> int:
        """T."""
        return self.rho.shape[1]

    @cached_property
    def mirrored(self) -> bool:
        """Whether the values and the blocks in reverse order are the same task."""
        return bool(
            np.allclose(self.rho, self.rho[::-1, ::-1], rtol=1e-9) and np.allclose(self.cost, self.cost[::-1, ::-1])
        )

    @cached_property
    def values(self) -> list[int]:
        """The values a that the programme looks at: where the task is its own mirror image, half of them."""
        many = len(self.rho)
        return list(range(many // 2, many)) if self.mirrored else list(range(many))


@dataclass(frozen=True, eq=False)
class Found:
    """A mechanism on blocks, its bound, its cost, and at what the programme found it."""

    decoys: Decoys
    proof: Formula
    cost: float
    truth: Floats
    # The programme's variables, multipliers and points.
    solved: tuple[Floats, Floats, tuple[Ints, Ints, Floats]]


@dataclass(frozen=True, eq=False)
class Conic:
    """Minimise objective x + constant with right - matrix x in cones."""

    objective: Floats
    constant: float
    matrix: "scipy.sparse.csc_matrix"
    right: Floats
    kinds: list[object]

    def lagrange(self, x: Floats, z: Floats) -> float:
        """The Lagrange function."""
        return float(self.objective @ x + self.constant + z @ (self.matrix @ x - self.right))


@dataclass(eq=False)
class Programme:
    """The best mechanism with these chances of truth e_t; None: the same one for all blocks, to be found."""

    blocks: Blocks
    truth: Floats | None
    goal: str
    budget: float
    chosen: DecoySearch

    def __post_init__(self) -> None:
        blocks, size = self.blocks, self.blocks.size
        t = np.arange(size)
        self.tie = np.minimum(t, size - 1 - t) if blocks.mirrored else t
        if self.truth is None:
            # One law, of mass 1 - e, that all rows share: W = 1, the one corner there is.
            self.alpha = np.ones((1, size))
            parts: tuple[int, ...] = (1,)
        else:
            # Coordinates are the difference of the two sides and their sum.
            side = np.sign((size - 1) / 2 - t)
            self.alpha = np.stack([(1 - self.truth) * side, 1 - self.truth])
            parts = (self.chosen.sides, 1)
        self.corners = [Corners.of(blocks.feasible, a, self.alpha, parts) for a in blocks.values]

    # Places of the variables: s, e, U, V, nu (right, then left), r, and by piece lam, mu, tau; then one for each point.

    def design(self, deadline: Deadline) -> Found | None:
        """Solve, add the points at which suprema are attained, until the programme's bound is the true one."""
        best: Found | None = None
        points = self._first_points()
        for _ in range(self.chosen.rounds):
            solved = self._solve(points)
            if solved is None:
                break
            found, bound, worst = self._evaluated(*solved, points)
            if best is None or self._worth(found) < self._worth(best):
                best = found
            aimed = solved[0][self.iU]
            if bound - aimed <= self.chosen.near * max(aimed, 1e-12) or deadline.expired():
                break
            points = self._more(points, worst)
        return best

    def _worth(self, found: Found) -> float:
        """What is minimised; with a leakage budget after mixing in a constant."""
        if self.goal == "leakage":
            return found.proof.upper
        share = min(1.0, self.budget / found.proof.upper)
        return share * found.cost + (1 - share) * self.constant

    @cached_property
    def constant(self) -> float:
        """The cost of the best constant."""
        return float(self.blocks.cost.sum(axis=0).min())

    @property
    def pieces(self) -> int:
        return sum(len(c.at) for c in self.corners)

    def _first_points(self) -> tuple[Ints, Ints, Floats]:
        """(piece, block, w): none, the reference, three times it, and the most."""
        found, first = [], 0
        for corners in self.corners:
            rho, top = self.blocks.feasible.given[corners.value], self.blocks.feasible.top[corners.value]
            held = np.flatnonzero(rho > 0)
            for w, ts in (
                (0 * rho, np.arange(rho.size)), (rho, held), (np.minimum(3 * rho, top), held), (top, held),
            ):  # fmt: skip
                p, t = np.meshgrid(first + np.arange(len(corners.at)), ts, indexing="ij")
                found.append((p.ravel(), t.ravel(), w[t.ravel()]))
            first += len(corners.at)
        p, t, w = (np.concatenate(part) for part in zip(*found, strict=True))
        return p, t, w

    def _more(self, points: tuple[Ints, Ints, Floats], worst: Floats) -> tuple[Ints, Ints, Floats]:
        """Add the worst w of every piece and block that are not there; drop the oldest but the first, 0."""
        p, t, w = points
        far = np.ones(worst.shape, dtype=bool)
        near = np.abs(worst[p, t] - w) <= 1e-4 * np.maximum(w, 1e-12)
        far[p[near], t[near]] = False
        new = np.nonzero(far)
        p, t, w = np.append(p, new[0]), np.append(t, new[1]), np.append(w, worst[new])
        key = p * self.blocks.size + t
        # The place of each point among those of its supremum, from the newest.
        order = np.argsort(key[::-1], kind="stable")
        starts = np.r_[0, np.flatnonzero(np.diff(key[::-1][order])) + 1]
        rank = np.arange(key.size) - np.repeat(starts, np.diff(np.r_[starts, key.size]))
        age = np.empty(key.size, dtype=int)
        age[order] = rank
        keep = (age[::-1] < self.chosen.points) | (w == 0)
        return p[keep], t[keep], w[keep]

    def _conic(self, points: tuple[Ints, Ints, Floats]) -> "Conic":
        """The programme in Clarabel's form."""
        blocks, size, many = self.blocks, self.blocks.size, self.pieces
        p, t, w = points
        two, laws = self.truth is not None, int(self.tie.max()) + 1
        coordinates = len(self.alpha)
        # With one law, nu has its symmetry; the left law of two is the right one's mirror image, or its own.
        self.iS, self.iE, self.iU, self.iV = range(4)
        self.nu_right = 4 + (np.arange(size) if two else self.tie)
        count = size if two else laws
        self.nu_left = self.nu_right[::-1] if two and blocks.mirrored else self.nu_right + (count if two else 0)
        count *= 1 if blocks.mirrored or not two else 2
        self.iR = 4 + count + self.tie
        iL = 4 + count + laws
        iM, iT = iL + many, iL + many * (1 + coordinates)
        iP = iT + many * size
        width = iP + p.size
        box, at = (np.concatenate([getattr(c, name) for c in self.corners]) for name in ("box", "at"))
        value = np.concatenate([np.full(len(c.at), c.value) for c in self.corners])
        rho = blocks.feasible.given[value]
        rows = _Rows()
        e = np.zeros(size) if self.truth is None else self.truth
        # Equations: laws sum to one.
        one = np.zeros(width)
        np.add.at(one, self.nu_right, 1.0)
        one[self.iE] = 0.0 if two else 1.0
        rows.add(one[None], [1.0])
        if two and not blocks.mirrored:
            one = np.zeros(width)
            np.add.at(one, self.nu_left, 1.0)
            rows.add(one[None], [1.0])
        one = np.zeros(width)
        np.add.at(one, self.iR, 1.0)
        rows.add(one[None], [1.0])
        if two:
            one = np.zeros(width)
            one[self.iE] = 1.0
            rows.add(one[None], [0.0])
        equations = rows.height
        # Signs.
        rows.sparse(np.arange(4 + count), np.r_[[self.iS, self.iE, self.iV], 4 + np.arange(count)], -1.0, height=3 + count)
        rows.sparse(np.arange(laws), 4 + count + np.arange(laws), -1.0, right=np.full(laws, -self.chosen.least / size))
        # Costs.
        paid = self._paid()
        told = float((e * np.diag(blocks.cost)).sum())
        cost = np.zeros(width)
        cost[: paid.size] = paid
        unit = self.constant
        if self.goal == "leakage":
            rows.add(cost[None] / unit, [(self.budget - told) / unit])
            objective = np.zeros(width)
            objective[self.iU] = 1.0 / self.budget_scale
        else:
            limit = np.zeros(width)
            limit[self.iU], limit[self.iV] = 1.0, -1.0
            rows.add(limit[None], [self.budget])
            objective = cost / unit
            objective[self.iV] = 1.3 / self.budget
        # Pieces: s K + lam + sum_j mu_j (either end) + sum_t tau + 1 - sum_j m_j c_j <= U.
        less = 1 - at[:, -1] if two else np.zeros(many)
        for pick in np.ndindex(*(2,) * (coordinates if two else 0)):
            k = np.arange(many)
            table = scipy.sparse.lil_matrix((many, width))
            table[k, self.iS] = blocks.knowledge
            table[k, iL + k] = 1.0
            table[k, self.iU] = -1.0
            for j, end in enumerate(pick):
                table[k, iM + j * many + k] = box[:, j, end]
            for y in range(size):
                table[k, iT + k * size + y] = 1.0
            rows.matrix(table.tocsr(), -less)
        if not two:
            k = np.arange(many)
            table = scipy.sparse.lil_matrix((many, width))
            table[k, iM + k] = 1.0
            rows.matrix(table.tocsr(), np.zeros(many))
            rows.matrix(-table.tocsr(), np.zeros(many))
        # Points: E - w s log(w/rho) - (lam + sum_j mu_j alpha_j + e) w <= tau.
        k = np.arange(p.size)
        with np.errstate(all="ignore"):
            tilt = np.where(w > 0, w * np.log(w / rho[p, t]), 0.0)
        columns = [(iP + k, 1.0), (iT + p * size + t, -1.0), (np.full(p.size, self.iS), -tilt), (iL + p, -w)]
        columns += [(iM + j * many + p, -self.alpha[j, t] * w) for j in range(coordinates)]
        rows.sparse(
            np.tile(k, len(columns)),
            np.concatenate([c for c, _ in columns]),
            np.concatenate([np.broadcast_to(v, k.shape) for _, v in columns]),
            right=e[t] * w,
        )
        inequalities = rows.height - equations
        # Cones (-E, e w + c, r).
        right = np.zeros(3 * p.size)
        right[1::3] = e[t] * w
        if two:
            share = (at[p, 1] + at[p, 0]) / 2, (at[p, 1] - at[p, 0]) / 2
        else:
            share = np.ones(p.size), np.zeros(p.size)
        entries = [(3 * k, iP + k, 1.0), (3 * k + 1, self.nu_right[t], -share[0]), (3 * k + 1, self.nu_left[t], -share[1])]
        entries += [(3 * k + 2, self.iR[t], -1.0)] + ([] if two else [(3 * k + 1, np.full(p.size, self.iE), -w)])
        rows.sparse(
            np.concatenate([r for r, _, _ in entries]),
            np.concatenate([c for _, c, _ in entries]),
            np.concatenate([np.broadcast_to(v, k.shape) for _, _, v in entries]),
            right=right,
        )
        kinds = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(inequalities)]
        kinds += [clarabel.ExponentialConeT()] * p.size
        self.iL, self.iM = iL, iM
        matrix, bound = rows.built(width)
        return Conic(objective, told / unit if self.goal == "distortion" else 0.0, matrix, bound, kinds)

    def _solve(self, points: tuple[Ints, Ints, Floats]) -> "tuple[Floats, Floats] | None":
        """Return Clarabel's variables and multipliers."""
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, 120
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = self.chosen.accuracy
        conic = self._conic(points)
        quadratic = scipy.sparse.csc_matrix((conic.objective.size, conic.objective.size))
        solver = clarabel.DefaultSolver(quadratic, conic.objective, conic.matrix, conic.right, conic.kinds, settings)
        solved = solver.solve()
        if str(solved.status) not in ACCEPTED:
            return None
        return np.array(solved.x), np.array(solved.z)

    def slope(self, x: Floats, z: Floats, points: tuple[Ints, Ints, Floats], step: float = 1e-5) -> Floats:
        """The derivative of the least value by e_t: that of the Lagrange function, at its solution."""
        assert self.truth is not None
        size, found = self.blocks.size, np.zeros(self.blocks.size)
        for t in range(size):
            twin = size - 1 - t if self.blocks.mirrored else t
            if twin < t:
                found[t] = found[twin]
                continue
            values = []
            for change in (step, -step):
                truth = self.truth.copy()
                truth[[t, twin]] += change
                values.append(replace(self, truth=truth)._conic(points).lagrange(x, z))
            found[t] = (values[0] - values[1]) / (2 * step)
        return found

    budget_scale = 0.05

    def _paid(self) -> Floats:
        """The cost of each probability of the laws; with one law their mass is 1 - e."""
        cost, size = self.blocks.cost, self.blocks.size
        paid = np.zeros(4 + max(int(self.nu_right.max()), int(self.nu_left.max())) - 3)
        if self.truth is None:
            np.add.at(paid, self.nu_right, cost.sum(axis=0))
            paid[self.iE] = np.diag(cost).sum()
            return paid
        right = (self.alpha[1] + self.alpha[0]) / 2
        np.add.at(paid, self.nu_right, right @ cost)
        np.add.at(paid, self.nu_left, (self.alpha[1] - right) @ cost)
        return paid

    def _evaluated(self, x: Floats, z: Floats, points: tuple[Ints, Ints, Floats]) -> tuple[Found, float, Floats]:
        """The mechanism on its grid, its true bound, and the points at which suprema are attained."""
        blocks, size = self.blocks, self.blocks.size
        right, left = (_law(x[place]) for place in (self.nu_right, self.nu_left))
        r = np.maximum(x[self.iR], self.chosen.least / size)
        r /= r.sum()
        s = float(max(x[self.iS], 1e-6))
        if self.truth is None:
            e = TRUTHS * np.clip(np.rint(x[self.iE] / TRUTHS), 1, 1 / TRUTHS - 1)
            truth, alpha, nu = np.full(size, e), np.full((1, size), 1 - e), right[None]
        else:
            truth, alpha, nu = self.truth, self.alpha, np.stack([(right - left) / 2, (right + left) / 2])
        decoys = Decoys(np.arange(size), alpha, nu)
        first, parts, worst = 0, [], []
        for corners in self.corners:
            here = slice(first, first + len(corners.at))
            first += len(corners.at)
            many = self.pieces
            lam = x[self.iL : self.iL + many][here]
            mu = x[self.iM : self.iM + many * len(self.alpha)].reshape(-1, many).T[here]
            if self.truth is None:
                # The constant 1 - e in place of W = 1: F has 1 - e - W more, which is 0.
                ends = np.full((1, 1, 2), 1 - e)
                corners = replace(corners, grid=(ends[0, 0],), box=ends, at=ends[:, :, 0])
                lam, mu = lam - e, np.zeros((1, 1))
            multipliers = Multipliers(lam, mu)
            worst.append(suprema(decoys, blocks.feasible, corners, r, s, multipliers).worst)
            parts.append((corners, multipliers))
            if blocks.mirrored and 2 * corners.value + 1 > len(blocks.rho):
                parts.append(_mirror(corners, multipliers, len(blocks.rho)))
        parts.sort(key=lambda part: part[0].value)
        proof = decoy_proof(decoys, blocks.feasible, r, s, parts)
        cost = float((blocks.cost * decoys.rows).sum())
        return Found(decoys, proof, cost, truth, (x, z, points)), proof.upper, np.concatenate(worst)


def _mirror(corners: Corners, multipliers: Multipliers, values: int) -> tuple[Corners, Multipliers]:
    """The same about the mirror image of a value: differences of the two sides change their sign."""
    if len(corners.grid) == 1:
        return replace(corners, value=values - 1 - corners.value), multipliers
    sign = np.array([-1.0, 1.0])
    grid = (-corners.grid[0][::-1], corners.grid[1])
    tilts = (corners.tilts[0][::-1], corners.tilts[1])
    box, at = corners.box * sign[:, None], corners.at * sign
    box[:, 0] = box[:, 0, ::-1]
    # In the order of the mirrored grid.
    order = np.lexsort((at[:, 1], at[:, 0], box[:, 1, 0], box[:, 0, 0]))
    mirrored = Corners(values - 1 - corners.value, grid, tilts, box[order], at[order])
    return mirrored, Multipliers(multipliers.lam[order], (multipliers.mu * sign)[order])


def _law(weights: Floats) -> Floats:
    """A law in multiples of LAWS."""
    weights = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
    whole = np.floor(weights / LAWS)
    whole[weights.argmax()] += 1 / LAWS - whole.sum()
    return np.asarray(whole * LAWS)


class _Rows:
    """Rows of a sparse matrix, block by block, with their right-hand sides."""

    def __init__(self) -> None:
        self.entries: list[tuple[Ints, Ints, Floats]] = []
        self.right: list[Floats] = []
        self.height = 0

    def sparse(self, rows: Ints, columns: Ints, values: Floats | float, *, right: Floats | None = None, height: int = 0) -> None:
        """Add rows by their entries."""
        many = height if right is None else right.size
        self.entries.append((rows[: columns.size] + self.height, columns, np.broadcast_to(values, columns.shape)))
        self.right.append(np.zeros(many) if right is None else right)
        self.height += many

    def add(self, table: Floats, right: list[float]) -> None:
        """Add rows that are written out."""
        self.matrix(scipy.sparse.csr_matrix(table), np.array(right))

    def matrix(self, table: "scipy.sparse.csr_matrix", right: Floats) -> None:
        """Add the rows of a matrix."""
        coo = table.tocoo()
        self.sparse(coo.row, coo.col, coo.data, right=right)

    def built(self, width: int) -> "tuple[scipy.sparse.csc_matrix, Floats]":
        """Return the matrix and the right-hand sides."""
        rows, columns, values = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        return scipy.sparse.csc_matrix((values, (rows, columns)), shape=(self.height, width)), np.concatenate(self.right)
