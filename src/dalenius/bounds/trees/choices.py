"""L(0), and with it the flat part of the curve (MATH 4.1).

Without an entropy constraint the best conditionals are deterministic: L(0) is the best capacity over
choices t(a) of one cell per row. A node is a set S of candidate cells; its bound is the capacity of the
channel that may use all of them,

    C(S) = min_r max_{c in S} D(q_c || r),     r = softmax(log_r),

which is attained by a choice once each row uses one cell only. Nodes are split on a row's candidates by
the probability of one output, so a tree of a few splits stands for the whole product of choices.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dalenius.bounds.capacity import interior_point
from dalenius.bounds.proof import Rounding
from dalenius.numerics.information import TINY, lse, phi, safe_log
from dalenius.numerics.iterations import overshoot, solve
from dalenius.numerics.types import Bools, Floats, Ints
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import OriginalOutputs
from dalenius.search.best_first import BestFirst, Cut, Leaf, SearchTree
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class ChoiceSearch(Part):
    """How choices are searched, and where they are worth it."""

    # Candidate cells that opposite choices are made of; their pairs x outputs; entries of the choices' output laws.
    opposite_candidates: int = 512
    opposite_products: int = 2**26
    opposite_laws: int = 2**18
    # Shares of a choice's cells, by Blahut and Arimoto's iteration: pairs of cells that begin, and rounds.
    opposite_starts: int = 16
    opposite_rounds: int = 100
    # Nodes that are split in one batch, where memory allows.
    batch: int = 64
    # Nodes at most.
    nodes: int = 4000
    # The weight of the width where excesses are equal.
    tie: float = 1e-12
    # Mass from which the relaxation counts as using a cell.
    used: float = 1e-6
    # Accuracy of a node, as a share of the tolerance.
    accuracy: float = 0.1
    # The maximum is smoothed to s LSE(. / s): s at first, its factor, how many s, Newton steps at each.
    s: float = 0.5
    s_factor: float = 0.3
    smoothings: int = 400
    steps: int = 6
    # Imbalance of r at which the steps at one s end, and the multiple of s by which it shrinks where that is below 1.
    still: float = 1e-3
    still_by_s: float = 100.0
    # Longest change of the scores, in units of s, and of log r.
    longest_score: float = 4.0
    longest_log_r: float = 3.0
    # Added to a Hessian everywhere on its diagonal, and along the constant that log r is free to move by.
    ridge: float = 1e-10
    ridge_constant: float = 1e-2
    # log r, as -x, of outputs that no candidate gives.
    unused_log_r: float = 60.0
    # Cells x outputs up to which a few choices cost less than an ascent, and beyond which they are not searched, in
    # general and where every secret value has one cell, so that there is nothing to choose.
    cheap: int = 2**12
    most: int = 200_000
    most_alone: int = 2**24
    # The share of the least knowledge of any choice from which on L(b) may be near L(0), so that choices pay: 64 of
    # them took .2 s a record of 64 rows of 8 outputs, and a tree of posteriors no longer.
    flat_share: float = 0.5
    # The tolerance of choices: a share of the audit's, but no finer than rounding lets them be.
    tolerance: float = 0.3
    finest: float = 1e-10
    # Rounds of an ascent from a new best choice.
    rounds: int = 400


# The candidate cells, and the input law of the relaxation over them, both (C,).
Node = tuple[Bools, Floats]


@dataclass
class Choices(BestFirst[Bools, Node, Floats]):
    """A tree over sets of candidate cells; a bracket [lower, upper] on L(0), where `prior` attains lower."""

    kind: ClassVar[str] = "choices"
    cells: Cells
    tolerance: float
    lower: float = 0.0
    prior: Floats = field(default_factory=lambda: np.empty(0))
    nodes: SearchTree[Floats, Node] = field(default_factory=SearchTree)
    counts_root: ClassVar[bool] = False

    @property
    def batch(self) -> int:
        """A node holds a tilted channel."""
        settings, entries = self.cells.settings, self.cells.size * self.cells.n_outputs
        return min(settings.of(ChoiceSearch).batch, settings.limits.batch_entries // entries)

    def root(self) -> Bools:
        """Every cell is a candidate."""
        return np.ones((1, self.cells.size), dtype=bool)

    def split(self, regions: list[Node]) -> tuple[list[Cut], Bools]:
        """Cut the candidates of one row by the probability of one output; a cell on the cut is on both sides."""
        cuts = [_where_to_split(self.cells, candidates, pi) for candidates, pi in regions]
        sides: tuple[list[Bools], list[Bools]] = ([], [])
        for (candidates, _), (row, y, at) in zip(regions, cuts, strict=True):
            here = self.cells.secret == row
            sides[0].append(candidates & ~(here & (self.cells.q[:, y] > at)))
            sides[1].append(candidates & ~(here & (self.cells.q[:, y] < at)))
        return cuts, np.stack(sides[0] + sides[1])

    def bound(self, regions: Bools, parents: list[tuple[float, Floats]], deadline: Deadline) -> Iterator[Leaf]:
        """Compute the capacity of every set; its input laws are rounded to choices, which may raise `lower`."""
        cells, accuracy = self.cells, self.cells.settings.of(ChoiceSearch).accuracy * self.tolerance
        if parents:
            log_r, pi = capacity(cells, regions, accuracy, deadline)
        else:
            found = interior_point(cells.q, accuracy, deadline)
            log_r, pi = safe_log(found.law)[None], found.prior[None]
            log_r -= log_r.max()
        # max_{c in S} D(q_c || r) = max_c [ sum_y phi(q) - q.log_r ] + LSE(log_r)
        score = np.where(regions, cells.neg_entropy - log_r @ cells.q.T, -np.inf)
        size = cells.row_sum(regions.astype(float))
        # A row without candidates leaves no choice.
        empty = (size == 0).any(axis=1)
        bounds = np.where(empty, -np.inf, score.max(axis=1) + lse(log_r))
        self._improve(pi[~empty])
        for k, bound in enumerate(bounds.tolist()):
            yield Leaf(bound, log_r[k], (regions[k], pi[k]) if size[k].max() > 1 else None)

    def relaxed(self, regions: list[Node], proofs: list[Floats]) -> Floats:
        """The input laws of the capacities, whatever the proofs are."""
        del proofs
        return np.stack([pi for _, pi in regions])

    def open_root(self, deadline: Deadline) -> None:
        """Bound the root: the capacity with every cell as an input. Where a gap is left, try the obvious choices."""
        super().open_root(deadline)
        if self.upper > self.target:
            self._improve(opposites(self.cells))

    def close_root(self, log_r: Floats) -> None:
        """Bound the root by this law of outputs, as it is; there is no prior with it, and nothing to split."""
        score = float((self.cells.neg_entropy - self.cells.q @ log_r).max())
        self.nodes.file(0, score + float(lse(log_r[None])[0]), log_r, None)

    def run(self, deadline: Deadline, most_nodes: int | None = None) -> None:
        """Search until the bracket closes or the limits are reached; a tree that has grown goes on."""
        most_nodes = self.cells.settings.of(ChoiceSearch).nodes if most_nodes is None else most_nodes
        if not self.nodes.leaf:
            self.open_root(deadline)
        while self.nodes.heap and self.nodes.size < most_nodes and not deadline.expired():
            self.step(deadline)

    def claim(self, rounding: Rounding) -> float:
        """No reference mass enters."""
        return self.upper + rounding.bound

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return splits, and the output law of every leaf."""
        assert outputs is not None  # for the type checker: choices need rows
        return {
            "tree": [
                outputs.threshold(entry) if isinstance(entry, tuple) else {"rho": outputs.log_r(entry)}
                for entry in self.nodes.preorder()
            ]
        }

    def _improve(self, pi: Floats) -> None:
        """Round relaxations to choices: every row puts its mass on its heaviest cell."""
        if not len(pi):
            return
        cells = self.cells
        p = cells.row_sum(pi)
        peak = np.maximum.reduceat(pi, cells.starts, axis=1)[:, cells.secret]
        first = (pi == peak) & (pi > 0)
        chosen = (
            np.where(first, p[:, cells.secret], 0.0)
            / np.maximum(cells.row_sum(first.astype(float)), 1)[:, cells.secret]
        )
        for batch in (pi, chosen):
            value = cells.leakage(batch)
            k = int(np.argmax(value))
            if value[k] > self.lower or not self.prior.size:
                self.lower, self.prior = float(value[k]), batch[k]


def opposites(cells: Cells) -> Floats:
    """Return priors on one cell per row, cells whose output laws are far apart: the obvious guesses of L(0), (S, C).

    Two laws are the farther apart the smaller sum_y sqrt(q(y) q'(y)) is. Pairs of cells that are farthest apart begin;
    every further row adds the cell that is farthest from the nearest of those chosen. Symmetric channels need this:
    there the relaxation uses all cells alike, and does not say which to choose.
    """
    none, limits = np.empty((0, cells.size)), cells.settings.of(ChoiceSearch)
    # Very many cells, or nothing to choose.
    if cells.many or cells.n_secrets in (1, cells.size):
        return none
    candidates = _extreme_cells(cells)
    rows = cells.secret[candidates]
    if candidates.size > limits.opposite_candidates:
        return none
    roots = np.sqrt(cells.q[candidates])
    alike = roots @ roots.T
    pairs = np.where(rows[:, None] < rows[None, :], alike, np.inf)
    room = max(1, limits.opposite_laws // (cells.n_secrets * cells.n_outputs))
    many = min(cells.settings.of(ChoiceSearch).opposite_starts, int(np.isfinite(pairs).sum()), room)
    first, second = np.unravel_index(np.argpartition(pairs, many - 1, axis=None)[:many], pairs.shape)
    chosen = np.full((many, cells.n_secrets), -1)
    for one in (first, second):
        chosen[np.arange(many), rows[one]] = one
    nearest = np.maximum(alike[first], alike[second])
    for a in range(cells.n_secrets):
        here = np.flatnonzero(rows == a)
        best = here[nearest[:, here].argmin(axis=1)]
        chosen[:, a] = np.where(chosen[:, a] < 0, best, chosen[:, a])
        nearest = np.maximum(nearest, alike[chosen[:, a]])
    chosen = candidates[chosen]
    priors = np.zeros((many, cells.size))
    np.put_along_axis(priors, chosen, _shares(cells.q[chosen], cells.settings.of(ChoiceSearch).opposite_rounds), axis=1)
    return priors


def obvious(cells: Cells) -> float:
    """Guarantee: result <= L(0), up to rounding; by the best of the opposite choices, 0 without any."""
    return float(max(cells.leakage(opposites(cells)), default=0.0))


def _extreme_cells(cells: Cells) -> Ints:
    """The cells of each row that give some output most or least often; all where they are few."""
    limits = cells.settings.of(ChoiceSearch)
    most = min(limits.opposite_candidates, int((limits.opposite_products / cells.n_outputs) ** 0.5))
    if cells.size <= most:
        return np.arange(cells.size)
    each = max(1, most // (2 * cells.n_secrets))
    outputs = np.unique(np.linspace(0, cells.n_outputs - 1, min(each, cells.n_outputs)).astype(np.int64))
    extreme = []
    for part in cells.slices:
        q = cells.q[part][:, outputs]
        extreme += [part.start + q.argmax(axis=0), part.start + q.argmin(axis=0)]
    return np.unique(np.concatenate(extreme))


def _shares(q: Floats, rounds: int, still: float = 1e-9) -> Floats:
    """Return input laws near the capacities of a batch of channels, by Blahut-Arimoto: (B, A, Y) -> (B, A).

    At most so many rounds, and none after one in which no law moved by more than `still`.
    """
    p = np.full(q.shape[:2], 1.0 / q.shape[1])
    neg_entropy = phi(q).sum(axis=2)
    for _ in range(rounds):
        # p(a) ~ p(a) exp D( q_a || r ),   r = p q
        law = np.einsum("ba,bay->by", p, q)
        divergence = neg_entropy - (q * safe_log(law)[:, None]).sum(axis=2)
        before, p = p, p * np.exp(divergence - divergence.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        if np.abs(p - before).max() <= still:
            break
    return p


def _where_to_split(cells: Cells, candidates: Bools, pi: Floats) -> Cut:
    """Return the row, output and threshold that part the cells the relaxation uses most widely."""
    settings = cells.settings.of(ChoiceSearch)
    used = candidates & (pi > settings.used)
    many = cells.row_sum(used.astype(float))[cells.secret] > 1
    # Only lighter cells are left to part.
    if not (used & many).any():
        used, many = candidates, cells.row_sum(candidates.astype(float))[cells.secret] > 1
    used = used & many
    q = np.where(used[:, None], cells.q, np.nan)
    with np.errstate(all="ignore"):
        low = np.fmin.reduceat(q, cells.starts, axis=0)
        high = np.fmax.reduceat(q, cells.starts, axis=0)
    mass = cells.row_sum(np.where(used, pi + settings.tie, 0.0))
    width = np.nan_to_num(high - low, nan=-1.0) * mass[:, None]
    row, y = np.unravel_index(int(width.argmax()), width.shape)
    at = (low[row, y] + high[row, y]) / 2
    return int(row), int(y), float(at)


def capacity(cells: Cells, candidates: Bools, accuracy: float, deadline: Deadline) -> tuple[Floats, Floats]:
    """Return log_r with max_{c in S} D(q_c || softmax(log_r)) near its least value, and the input law.

    The maximum is smoothed to s LSE(. / s) and s driven to 0; each s takes damped Newton steps.
    """
    settings = cells.settings.of(ChoiceSearch)
    many, y = candidates.shape[0], cells.n_outputs
    # Outputs that no candidate gives need no mass.
    unused = candidates.astype(float) @ (cells.q > 0) == 0
    log_r = np.where(unused, -settings.unused_log_r, np.zeros((many, y)))
    s = settings.s
    pi = np.empty((many, cells.size))
    for _ in range(settings.smoothings):
        for _ in range(settings.steps):
            # pi ~ exp( [ sum_y phi(q) - q.log_r ] / s ) on the candidates; the bound is least where r = pi q
            score = np.where(candidates, cells.neg_entropy - log_r @ cells.q.T, -np.inf) / s
            top = score.max(axis=1, keepdims=True)
            top = np.where(np.isfinite(top), top, 0.0)
            pi = np.exp(score - top)
            pi /= np.maximum(pi.sum(axis=1, keepdims=True), TINY)
            r = np.exp(log_r - lse(log_r)[:, None])
            still = settings.still * min(1.0, s * settings.still_by_s)
            if np.abs(r - pi @ cells.q).sum(axis=1).max() < still:
                break
            log_r = log_r + _newton(cells, candidates, pi, r, s)
        if s * np.log(cells.size + 1) < accuracy or deadline.expired():
            break
        s *= settings.s_factor
    return log_r - log_r.max(axis=1, keepdims=True), pi


def _newton(cells: Cells, candidates: Bools, pi: Floats, r: Floats, s: float) -> Floats:
    """A step of log_r on s LSE( score / s ) + LSE(log_r), short enough for its model to hold.

    The gradient is r - pi q, the Hessian Cov_pi(q) / s + diag(r) - r r'; a constant in log_r changes nothing.
    """
    settings = cells.settings.of(ChoiceSearch)
    law = pi @ cells.q
    gradient = r - law
    second = (pi[:, None, :] * cells.q.T) @ cells.q - law[:, :, None] * law[:, None, :]
    diagonal = np.eye(cells.n_outputs) * (r[:, None, :] + settings.ridge)
    hessian = second / s + diagonal - r[:, :, None] * r[:, None, :] + settings.ridge_constant
    step = -solve(hessian, gradient)
    # A step that moves the candidates' scores by more than a few s leaves the region where the model holds.
    change = np.where(candidates, step @ cells.q.T, 0.0)
    by_score = np.ptp(change, axis=1) / (settings.longest_score * s)
    by_log_r = np.abs(step).max(axis=1) / settings.longest_log_r
    return np.asarray(step / overshoot(by_score, by_log_r)[:, None])
