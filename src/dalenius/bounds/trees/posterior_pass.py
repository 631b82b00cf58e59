"""A pass through a tree of posteriors, and its leaves rounded for a certificate: by numerics/tree.c, or by NumPy.

The two take the same steps; what they are, and why, stands in tree.c. NumPy's is for machines without a compiler: it
takes one node after the other, and is some two hundred times slower on small problems.

A leaf is a row of numbers: low (V), high (V), m (V), and those of `Column`. Leaves stand in order, and `CUT` says where
the node between a leaf and the next one was cut: an inorder walk needs no more.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalenius.bounds.trees.posterior_problem import LEAST, MOST, PosteriorProblem
from dalenius.numerics import compiled
from dalenius.numerics.information import TINY, lse, phi
from dalenius.numerics.types import Floats, Ints

Codes = NDArray[np.int32]
# Scales of a certificate: m in multiples of 16^-(scale+1), sigma with 3 (scale+1) bits.
SCALES = 4
# By how much ends that ratios give are moved outward, as a verifier moves them.
OUTWARD = 2.0**-46


class Column(IntEnum):
    """The numbers of a leaf after 3 V others, counted from the end."""

    SIGMA = -6
    TANGENT = -5
    # The best bound of the leaf, which may be its parent's; that at its own m and sigma, infinite before evaluation.
    BOUND = -4
    OWN = -3
    DEPTH = -2
    CUT = -1


class Passed(NamedTuple):
    """Leaves that some leaves became, how many those were, and how many nodes that took."""

    leaves: Floats
    taken: int
    nodes: int


class Limits(NamedTuple):
    """One node: the least and the largest sigma, how many evaluations, and the scale that numbers are rounded to.

    fresh: the sigma from which a search that was lost begins again.
    """

    least: float
    most: float = 1e4
    evaluations: int = 16
    scale: int = 0
    fresh: float = 0.3


def root(problem: PosteriorProblem, sigma: float) -> Floats:
    """The one leaf that holds every prior."""
    size = problem.size
    return np.concatenate([np.zeros(size), np.ones(size), np.zeros(size), [sigma, 0, np.inf, np.inf, 0, -1]])[None]


def run(problem: PosteriorProblem, leaves: Floats, target: float, nodes: int, limits: Limits) -> Passed:
    """Bring leaves to the target, or cut them, depth first, until so many nodes are done."""
    if compiled.library() is not None:
        return Passed(*compiled.tree_pass(problem.compiled, leaves, target, nodes, limits))
    search = Search(problem, limits)
    found: list[Floats] = []
    done = taken = 0
    while taken < len(leaves) and done < nodes:
        stack = [leaves[taken].copy()]
        taken += 1
        while stack:
            leaf = stack.pop()
            cut = None
            if leaf[Column.BOUND] > target and done < nodes:
                done += 1
                search.last = done >= nodes
                cut = search.work_off(leaf, target)
            if cut is None:
                found.append(leaf)
            else:
                stack += search.halves(leaf, cut)
    return Passed(np.stack(found), taken, done)


def rounded(  # noqa: C901 - the loop of tree.c
    problem: PosteriorProblem, leaves: Floats, upper: float, limits: Limits
) -> tuple[Codes, Floats, Floats]:
    """Scale, sigma and multipliers of every leaf as whole numbers (n, V + 2), what they prove, and the leaves.

    Each at the coarsest scale that proves `upper`. Leaves that none brings there are searched again and, at last, prove
    what they can; empty ones prove -inf.
    """
    leaves = np.array(leaves, order="C")
    if compiled.library() is not None:
        return (*compiled.tree_round(problem.compiled, leaves, upper, limits), leaves)
    search, size = Search(problem, limits), problem.size
    codes, proved = np.zeros((len(leaves), size + 2), dtype=np.int32), np.full(len(leaves), -np.inf)
    for k, leaf in enumerate(leaves):
        if leaf[Column.BOUND] == -np.inf:
            continue
        for again in (False, True):
            if again and proved[k] <= upper + 1e-8 * (1 + abs(upper)):
                break  # close enough
            if again:
                search.again(leaf, upper - 1e-9 * (1 + abs(upper)), upper)
            scales = range(SCALES - 1 if again and leaf[Column.OWN] > upper else 0, SCALES)
            for scale in scales:
                codes[k] = _code(leaf[2 * size : 3 * size], leaf[Column.SIGMA], scale)
                m, sigma = decoded(codes[k])
                if problem.row:
                    sigma, codes[k, 1] = float(leaf[Column.SIGMA]), 0
                known = sigma == leaf[Column.SIGMA] and np.array_equal(m, leaf[2 * size : 3 * size])
                known = known and leaf[Column.OWN] <= upper
                proved[k] = leaf[Column.OWN] if known else search.at(leaf, m, sigma, int(leaf[Column.TANGENT])).bound
                if proved[k] <= upper:
                    break
            if proved[k] <= upper:
                break
    return codes, proved, leaves


def _code(m: Floats, sigma: float, scale: int) -> Codes:
    bits = 3 * (scale + 1)
    fraction, exponent = np.frexp(sigma)
    code = (int(exponent) - 1) * 2**bits + round(float(np.ldexp(2 * fraction, bits))) - 2**bits
    whole = np.clip(np.rint(m * 16.0 ** (scale + 1)), -2e9, 2e9)
    return np.concatenate([[scale, code], whole]).astype(np.int32)


def decoded(code: Codes) -> tuple[Floats, float]:
    """The multipliers and sigma of a code."""
    scale, number = int(code[0]), int(code[1])
    exponent, fraction = divmod(number, 2 ** (3 * (scale + 1)))
    return code[2:] / 16.0 ** (scale + 1), (1 + fraction / 2 ** (3 * (scale + 1))) * 2.0**exponent


class _Evaluation(NamedTuple):
    """The bound, and of the prior that attains it p (A,), w (C,), u (A, G), and the tilt t = h/sigma (C,), lz (A,)."""

    bound: float
    p: Floats
    w: Floats
    u: Floats
    t: Floats
    lz: Floats


class Search:
    """The steps of tree.c by NumPy, on one leaf at a time."""

    def __init__(self, problem: PosteriorProblem, limits: Limits) -> None:
        """Take the problem, and the limits of a node."""
        self.problem, self.limits, self.cells = problem, limits, problem.cells
        self.own = problem.boxed.start
        # The axis of boxes that make up a law: posteriors at a group, or the output law of a row.
        self.law = -1 if problem.row else -2
        self.seen: _Evaluation
        # The multipliers and sigma that halves begin with, where these are not their whole's.
        self.heir: tuple[Floats, float] | None = None
        # Whether the halves are for another pass: they begin with numbers that were evaluated.
        self.last = False

    def _boxes(self, leaf: Floats) -> tuple[Floats, Floats]:
        """The ends of every box, (..., boxes, G)."""
        size, shape = self.problem.size, (*leaf.shape[:-1], -1, self.problem.n_groups)
        return leaf[..., :size].reshape(shape), leaf[..., size : 2 * size].reshape(shape)

    def at(self, leaf: Floats, m: Floats, sigma: float, tangent: int) -> _Evaluation:
        """Evaluate the bound."""
        problem, cells = self.problem, self.cells
        t = self._tilts(self._coefficients(leaf, m), np.int64(tangent)) / sigma
        w, lz = cells.row_laws(cells.log_rho + t)
        log_p = sigma / (1 + sigma) * lz
        total = float(lse(log_p))
        bound = (1 + sigma) * total + (sigma + problem.eta) * cells.knowledge
        u = np.stack([problem.columns[:, part] @ w[part] for part in cells.slices])
        return _Evaluation(np.inf if np.isnan(bound) else bound, np.exp(log_p - total), w, u, t, lz)

    def priors(self, leaves: Floats) -> Floats:
        """The priors at which leaves attain their bounds, (B, C)."""
        size, cells, sigma = self.problem.size, self.cells, leaves[:, Column.SIGMA, None]
        tangent = leaves[:, Column.TANGENT].astype(np.int64)
        h = self._tilts(self._coefficients(leaves, leaves[:, 2 * size : 3 * size]), tangent)
        w, lz = cells.row_laws(cells.log_rho + h / sigma)
        log_p = sigma / (1 + sigma) * lz
        return np.asarray(np.exp(log_p - lse(log_p)[:, None])[:, cells.secret] * w)

    def touching(self, leaf: Floats) -> Floats:
        """lam of a tangent nearer to the prior at which a leaf attains its bound, (A, Y).

        At that prior itself the bound would be best. It is rho exp( h/sigma ), h being linear in q, and is reached step
        by step: eta of s = sigma + eta is spent on staying near the tangent that the leaf has now.
        """
        problem, cells, size = self.problem, self.cells, self.problem.size
        # For the type checker: outputs are in groups.
        assert problem.lam is not None
        assert problem.lines is not None
        m, sigma, tangent = leaf[2 * size : 3 * size], leaf[Column.SIGMA], int(leaf[Column.TANGENT])
        here, coefficients = problem.lam[tangent], self._coefficients(leaf, m)
        whole = coefficients[:, problem.groups] + problem.lines[tangent]
        lam = (whole + problem.eta * here) / (sigma + problem.eta)
        # The values of the secret have the chances that the leaf gives them.
        _, log_mass = cells.row_laws(cells.log_rho + cells.means(lam[None])[0])
        _, lz = cells.row_laws(cells.log_rho + self._tilts(coefficients, np.int64(tangent)) / sigma)
        log_p = sigma / (1 + sigma) * lz
        return np.asarray(lam + (np.maximum(log_p - lse(log_p), np.log(TINY)) - log_mass)[:, None])

    def _tilts(self, lam: Floats, tangent: Ints | np.int64) -> Floats:
        """h_c of the coefficients of one leaf or of several, (..., C)."""
        problem = self.problem
        parts = [lam[..., a, :] @ problem.columns[:, part] for a, part in enumerate(self.cells.slices)]
        h = np.concatenate(parts, axis=-1)
        return h if problem.tangents is None else h + problem.tangents[tangent]

    def _coefficients(self, leaf: Floats, m: Floats) -> Floats:
        """What h has for every value and group, (..., A, G), the tangent left out."""
        problem = self.problem
        low, high = self._boxes(leaf)
        m = m.reshape(low.shape)
        ends = (low, high)
        if self.own:
            ends = (np.concatenate([1 - high, low], axis=-2), np.concatenate([1 - low, high], axis=-2))
        alpha = chord(*ends)
        lam = (1 - problem.eta) * (alpha + (phi(ends[0]) - alpha * ends[0]).sum(axis=self.law, keepdims=True))
        lam += np.maximum(m * low, m * high).sum(axis=self.law, keepdims=True)
        lam[..., self.own :, :] -= m
        return np.asarray(lam)

    def _z(self, seen: _Evaluation) -> Floats:
        """What secants are multiplied by: the output law; 1 where boxes are of that law itself."""
        return np.ones(self.problem.n_groups) if self.problem.row else np.maximum(seen.p @ seen.u, 1e-290)

    def lower(  # noqa: C901 - the loop of tree.c, step by step
        self, leaf: Floats, target: float, *, any_tangent: bool = True
    ) -> float:
        """Lower the bound of a leaf until it is at the target, or a step promises too little for that."""
        size, limits = self.problem.size, self.limits
        m, sigma, tangent = leaf[2 * size : 3 * size], max(leaf[Column.SIGMA], limits.least), int(leaf[Column.TANGENT])
        m[:], sigma = self._snapped(m, sigma)
        self.heir = None
        seen = self.at(leaf, m, sigma, tangent)
        if seen.bound > target and any_tangent and self.problem.tangents is not None:
            for k in range(len(self.problem.tangents)):
                other = self.at(leaf, m, sigma, k)
                if other.bound < seen.bound:
                    seen, tangent = other, k
        radius, evaluations, first = 2.0, 0, True
        while seen.bound > target and evaluations < limits.evaluations:
            active, gradient, hessian = self._newton(leaf, m, sigma, seen)
            tried, step, gain = None, np.zeros(0), 0.0
            while evaluations < limits.evaluations:
                step, gain = confined(hessian, gradient, radius)
                if seen.bound - 2 * gain > target and not (first and (tried is not None or self.last)):
                    self.heir = self._moved(m, sigma, active, gradient, step) if first else None
                    break
                new_m, new_sigma = self._moved(m, sigma, active, gradient, step)
                if seen.bound - gain <= target:
                    # Where the step should do, what a certificate will hold of it is tried first.
                    short_m, short_sigma = self._snapped(new_m, new_sigma)
                    tried = self.at(leaf, short_m, short_sigma, tangent)
                    evaluations += 1
                    if tried.bound <= target:
                        new_m, new_sigma = short_m, short_sigma
                        break
                tried = self.at(leaf, new_m, new_sigma, tangent)
                evaluations += 1
                if tried.bound < seen.bound - 0.1 * gain or tried.bound <= target:
                    break
                radius *= 0.3
            if tried is None or tried.bound >= seen.bound:
                break
            radius *= 2 if seen.bound - tried.bound > 0.7 * gain else 1
            seen, sigma, first = tried, new_sigma, False
            m[:] = new_m
        leaf[Column.SIGMA], leaf[Column.TANGENT], leaf[Column.OWN] = sigma, tangent, seen.bound
        leaf[Column.BOUND] = min(leaf[Column.BOUND], seen.bound)
        self.seen = seen
        return seen.bound

    def _snapped(self, m: Floats, sigma: float) -> tuple[Floats, float]:
        """What a certificate holds of them; sigma of a row is written once, with all its digits."""
        m, rounded_sigma = decoded(_code(m, sigma, self.limits.scale))
        return m, sigma if self.problem.row else rounded_sigma

    def _newton(self, leaf: Floats, m: Floats, sigma: float, seen: _Evaluation) -> tuple[Ints, Floats, Floats]:
        """The multipliers that are not at rest at 0; gradient and Hessian of these and, last, of log sigma."""
        problem, groups = self.problem, self.problem.n_groups
        low, high = (end.ravel() for end in self._boxes(leaf))
        value, group = np.divmod(np.arange(problem.size), groups)
        z, za = self._z(seen)[group], seen.p[value + self.own] * seen.u[value + self.own, group]
        active = np.flatnonzero((m != 0) | (za > high * z) | (za < low * z))
        above = np.where(m == 0, za > high * z, m > 0)[active]
        end = np.where(above, high[active], low[active])
        value, group = value[active] + self.own, group[active]
        # f_i of every value and cell is (end - [a = b]) Q, and that of sigma -(log p + t - lz)
        factors = end[:, None] - (np.arange(self.cells.n_secrets) == value[:, None])
        if problem.row:
            # f is end - Q, and sigma is fixed
            factors[:] = -1.0
        mean, inside = [], np.zeros((len(active) + 1,) * 2)
        for a, part in enumerate(self.cells.slices):
            f = np.vstack([factors[:, a, None] * problem.columns[group][:, part], -seen.t[part]])
            mean.append(f @ seen.w[part])
            centred = f - mean[-1][:, None]
            inside += seen.p[a] * (centred * seen.w[part]) @ centred.T
        means = np.stack(mean)
        means[:, -1] += seen.lz - np.log(np.maximum(seen.p, TINY))
        if problem.row:
            return active, end + means[0, :-1], inside[:-1, :-1] / sigma
        gradient = seen.p @ means
        between = (means - gradient).T * seen.p @ (means - gradient)
        gradient[-1] += self.cells.knowledge
        hessian = inside / sigma + between / (1 + sigma)
        hessian[-1] *= sigma
        hessian[:, -1] *= sigma
        gradient[-1] *= sigma
        return active, gradient, hessian

    def _moved(self, m: Floats, sigma: float, active: Ints, gradient: Floats, step: Floats) -> tuple[Floats, float]:
        """Take the step: no multiplier goes beyond 0, and sigma stays within its limits."""
        new, many = m.copy(), len(active)
        sign = np.where(m[active] != 0, m[active], -gradient[:many])
        moved = m[active] + step[:many]
        new[active] = np.where(moved * sign > 0, moved, 0.0)
        if self.problem.row:
            return new, sigma
        least = max(sigma / 4, self.limits.least)
        return new, float(min(max(sigma * (1 + step[-1]), least), self.limits.most))

    def work_off(self, leaf: Floats, target: float) -> int | None:
        """Bring a leaf to the target, or say which box to cut; None as well where all are points.

        Where no cuts can take as much off the bound as is wanted, the search was lost, and begins afresh.
        """
        if self.lower(leaf, target) <= target or leaf[Column.BOUND] <= target:
            return None
        cut, hope = self.widest(leaf)
        if leaf[Column.OWN] - hope > target:
            self._afresh(leaf, target)
            cut = self.widest(leaf)[0] if leaf[Column.BOUND] > target else None
        return cut

    def _afresh(self, leaf: Floats, target: float) -> float:
        leaf[2 * self.problem.size : 3 * self.problem.size] = 0.0
        leaf[Column.SIGMA] = self.limits.fresh
        return self.lower(leaf, target)

    def again(self, leaf: Floats, target: float, upper: float) -> None:
        """Search a leaf that does not prove `upper`: from where it begins, with its own tangent, and then afresh."""
        reached, before = self.lower(leaf, target, any_tangent=False), leaf.copy()
        if reached > upper and self._afresh(leaf, target) > reached:
            leaf[:] = before

    def widest(self, leaf: Floats) -> tuple[int | None, float]:
        """The box to cut, where z_G times the largest distance of secant and phi is largest; and the sum of these."""
        low, high = self._boxes(leaf)
        excess = _excess(low, high) + (_excess(1 - high, 1 - low) if self.own else 0.0)
        measure = np.where(high - low < 1e-10, 0.0, self._z(self.seen) * excess).ravel()  # noqa: PLR2004 - as in tree.c
        best = int(measure.argmax())
        return best if measure[best] > 0 else None, float(measure.sum())

    def halves(self, leaf: Floats, i: int) -> Iterator[Floats]:
        """The right half, and then the left one; an empty one has the bound -inf."""
        size = self.problem.size
        at = middle(leaf[i], leaf[size + i])
        leaf[Column.OWN] = np.inf
        if self.heir is not None:
            leaf[2 * size : 3 * size], leaf[Column.SIGMA] = self.heir
        right, left = leaf.copy(), leaf.copy()
        left[Column.CUT] = i
        right[i] = left[size + i] = at
        for half, upper in ((right, False), (left, True)):
            half[Column.DEPTH] += 1
            if not self._tighten(half, i, upper=upper):
                half[Column.BOUND] = -np.inf
            yield half

    def _tighten(self, leaf: Floats, i: int, *, upper: bool) -> bool:
        """Carry the new end of a box to other groups, and to other values; whether anything is left."""
        low, high = self._boxes(leaf)
        b, g = divmod(i, self.problem.n_groups)
        if self.problem.ratios is not None:
            factor = self.problem.ratios[int(upper)][b, g]
            v = high[b, g] if upper else low[b, g]
            usable = (factor < MOST) & (v < 1) if upper else (factor > LEAST) & (v > LEAST)
            usable[g] = False
            at = max(v, LEAST)
            carried = at / (at + (1 - at) / np.clip(factor, LEAST, MOST)) * (1 + (OUTWARD if upper else -OUTWARD))
            end = np.minimum(high[b], carried) if upper else np.maximum(low[b], carried)
            (high if upper else low)[b, usable] = end[usable]
        if not self.own:
            lows, highs = low.sum(axis=self.law, keepdims=True), high.sum(axis=self.law, keepdims=True)
            if (lows > 1 + 1e-12).any() or (highs < 1 - 1e-12).any():
                return False
            slack = (low.shape[self.law] + 1) ** 2 * 2.0**-52
            most, least = 1 - (lows - low) + slack, 1 - (highs - high) - slack
            np.minimum(high, most, out=high)
            np.maximum(low, least, out=low)
        crossed = bool((low > high + 1e-12).any())
        np.minimum(low, high, out=low)
        return not crossed


def chord(low: Floats, high: Floats) -> Floats:
    """Slope of the chord of phi; of its tangent where the interval is a point."""
    point = high - low < 1e-13  # noqa: PLR2004 - rounding
    slope = (phi(high) - phi(low)) / np.where(point, 1.0, high - low)
    return np.where(point, 1 + np.log(np.maximum(low, TINY)), slope)


def _excess(low: Floats, high: Floats) -> Floats:
    """The largest distance of the chord from phi."""
    slope = chord(low, high)
    v = np.clip(np.exp(slope - 1), low, high)
    return np.where(high - low < 1e-12, 0.0, phi(low) + slope * (v - low) - phi(v))  # noqa: PLR2004 - rounding


def middle(low: float, high: float) -> float:
    """Half way in arcsin sqrt(v), in which the excess depends on the width alone; square roots are all it takes."""
    at = (1 - (np.sqrt((1 - low) * (1 - high)) - np.sqrt(low * high))) / 2
    return float(at) if low < at < high else (low + high) / 2


def confined(hessian: Floats, gradient: Floats, radius: float) -> tuple[Floats, float]:
    """The step of at most this length that lowers a quadratic model most, about (More and Sorensen); by how much."""
    mu = 1e-9 * max(float(hessian.diagonal().max(initial=0.0)), 0.0)
    step = gradient
    for _ in range(8):
        factor = _cholesky(hessian + mu * np.eye(len(gradient)))
        step = np.linalg.solve(factor.T, np.linalg.solve(factor, gradient))
        length = float(np.sqrt(step @ step))
        if length <= 1.1 * radius:
            break
        half = np.linalg.solve(factor, step)
        mu += length * length / float(half @ half) * (length / radius - 1)
    length = float(np.sqrt(step @ step))
    step = -step * min(1.0, radius / max(length, TINY))
    return step, float(-step @ (gradient + hessian @ step / 2))


def _cholesky(matrix: Floats) -> Floats:
    """Cholesky's factor; small pivots are raised."""
    factor = np.zeros_like(matrix)
    for i in range(len(matrix)):
        for j in range(i + 1):
            s = matrix[i, j] - factor[i, :j] @ factor[j, :j]
            factor[i, j] = np.sqrt(max(s, 1e-16)) if i == j else s / factor[j, j]
    return factor
