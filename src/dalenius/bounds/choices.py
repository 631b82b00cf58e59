"""L(0), and with it the flat part of the curve (MATH 4.1).

Without an entropy constraint the best conditionals are deterministic: L(0) is the best capacity over
choices t(a) of one cell per row. A node is a set S of candidate cells; its bound is the capacity of the
channel that may use all of them,

    C(S) = min_r max_{c in S} D(q_c || r),     r = softmax(log_r),

which is attained by a choice once each row uses one cell only. Nodes are split on a row's candidates by
the probability of one output, so a tree of a few splits stands for the whole product of choices.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dalenius.bounds.capacity import interior_point
from dalenius.bounds.proof import Rounding
from dalenius.numerics.deferred import xlogy
from dalenius.reductions.cells import Cells, Floats, lse, solve
from dalenius.reductions.outputs import OriginalOutputs
from dalenius.search.deadline import Deadline
from dalenius.search.tree import SearchTree

Bools = NDArray[np.bool_]

MOST_NODES = 4000
MOST_BATCH_ENTRIES = 4_000_000
TINY = 1e-300
UNUSED = -60.0  # log r of such outputs
USED = 1e-6  # a cell counts as used by the relaxation above this share
MOST_CANDIDATES = 512  # cells, in all, that opposite choices are made of
MOST_PRODUCTS = 2**26  # of candidates x candidates x outputs
STARTS = 16  # pairs of cells that are completed to choices
MOST_LAWS = 2**18  # entries of the output laws of all these choices
ROUNDS = 100  # of Blahut-Arimoto for the shares of a choice's cells


@dataclass
class Choices:
    """Best-first search over sets of candidate cells; a bracket [lower, upper] on L(0)."""

    kind: ClassVar[str] = "choices"
    cells: Cells
    tolerance: float
    lower: float = 0.0
    prior: Floats = field(default_factory=lambda: np.empty(0))
    nodes: SearchTree[Floats, tuple[Bools, Floats]] = field(default_factory=SearchTree)

    @property
    def upper(self) -> float:
        """The bound of the whole tree so far."""
        return self.nodes.upper

    @property
    def name(self) -> str:
        """The kind."""
        return self.kind

    def claim(self, rounding: Rounding) -> float:
        """No reference mass enters."""
        return self.upper + rounding.bound

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return splits, and the output law of every leaf."""
        assert outputs is not None  # noqa: S101 - for the type checker: choices need rows
        return {
            "tree": [
                outputs.threshold(entry) if isinstance(entry, tuple) else {"rho": outputs.log_r(entry)}
                for entry in self.nodes.preorder()
            ]
        }

    def open_root(self, deadline: Deadline) -> None:
        """Bound the root: the capacity with every cell as an input."""
        cells = self.cells
        found = interior_point(cells.q, 0.1 * self.tolerance, deadline)
        log_r = np.log(np.maximum(found.law, TINY))
        everything = np.ones((1, cells.size), dtype=bool)
        self._enter([0], everything, (log_r - log_r.max())[None], found.prior[None])
        if self.upper > self.lower + self.tolerance:
            self._improve(opposites(cells))

    def close_root(self, log_r: Floats) -> None:
        """Bound the root by this law of outputs, as it is; there is no prior with it, and nothing to split."""
        score = float((self.cells.neg_entropy - self.cells.q @ log_r).max())
        self.nodes.file(0, score + float(lse(log_r[None])[0]), log_r, None)

    def run(self, deadline: Deadline, most_nodes: int = MOST_NODES) -> None:
        """Search until the bracket closes or the limits are reached; a tree that has grown goes on."""
        if not self.nodes.leaf:
            self.open_root(deadline)
        while self.nodes.heap and self.nodes.size < most_nodes and not deadline.expired():
            self._step(deadline)

    def _step(self, deadline: Deadline) -> None:
        cells = self.cells
        most = max(1, min(64, MOST_BATCH_ENTRIES // (cells.size * cells.n_outputs)))
        nodes: list[int] = []
        sets: list[Bools] = []
        for node, (candidates, pi) in self.nodes.pop(most, self.lower + self.tolerance):
            row, y, at = _split(cells, candidates, pi)
            here = cells.secret == row
            nodes += self.nodes.grow(node, (row, y, at))
            sets += [candidates & ~(here & (cells.q[:, y] > at)), candidates & ~(here & (cells.q[:, y] < at))]
        deadline.nodes += len(nodes)
        if nodes:
            self._file(nodes, np.stack(sets), deadline)

    def _file(self, nodes: list[int], candidates: Bools, deadline: Deadline) -> None:
        self._enter(nodes, candidates, *capacity(self.cells, candidates, 0.1 * self.tolerance, deadline))

    def _enter(self, nodes: list[int], candidates: Bools, log_r: Floats, pi: Floats) -> None:
        cells = self.cells
        score = np.where(candidates, cells.neg_entropy - log_r @ cells.q.T, -np.inf)
        size = cells.row_sum(candidates.astype(float))
        empty = (size == 0).any(axis=1)  # no choice is left
        bounds = np.where(empty, -np.inf, score.max(axis=1) + lse(log_r))
        self._improve(pi[~empty])
        for k, node in enumerate(nodes):
            split = bounds[k] > self.lower + self.tolerance and size[k].max() > 1
            self.nodes.file(node, float(bounds[k]), log_r[k], (candidates[k], pi[k]) if split else None)

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
    none = np.empty((0, cells.size))
    if cells.many or cells.n_secrets in (1, cells.size):  # very many cells, or nothing to choose
        return none
    candidates = _extreme_cells(cells)
    rows = cells.secret[candidates]
    if candidates.size > MOST_CANDIDATES:
        return none
    roots = np.sqrt(cells.q[candidates])
    alike = roots @ roots.T
    pairs = np.where(rows[:, None] < rows[None, :], alike, np.inf)
    many = min(STARTS, int(np.isfinite(pairs).sum()), max(1, MOST_LAWS // (cells.n_secrets * cells.n_outputs)))
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
    np.put_along_axis(priors, chosen, _shares(cells.q[chosen]), axis=1)
    return priors


def obvious(cells: Cells) -> float:
    """Guarantee: result <= L(0), up to rounding; by the best of the opposite choices, 0 without any."""
    return float(max(cells.leakage(opposites(cells)), default=0.0))


def _extreme_cells(cells: Cells) -> NDArray[np.int64]:
    """The cells of each row that give some output most or least often; all where they are few."""
    most = min(MOST_CANDIDATES, int((MOST_PRODUCTS / cells.n_outputs) ** 0.5))
    if cells.size <= most:
        return np.arange(cells.size)
    each = max(1, most // (2 * cells.n_secrets))
    outputs = np.unique(np.linspace(0, cells.n_outputs - 1, min(each, cells.n_outputs)).astype(np.int64))
    extreme = []
    for part in cells.slices:
        q = cells.q[part][:, outputs]
        extreme += [part.start + q.argmax(axis=0), part.start + q.argmin(axis=0)]
    return np.unique(np.concatenate(extreme))


def _shares(q: Floats) -> Floats:
    """Return input laws near the capacities of a batch of channels, by Blahut-Arimoto: (B, A, Y) -> (B, A)."""
    p = np.full(q.shape[:2], 1.0 / q.shape[1])
    information = xlogy(q, q).sum(axis=2)
    for _ in range(ROUNDS):
        law = np.einsum("ba,bay->by", p, q)
        told = information - (q * np.log(np.maximum(law, TINY))[:, None]).sum(axis=2)
        p = p * np.exp(told - told.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
    return p


def _split(cells: Cells, candidates: Bools, pi: Floats) -> tuple[int, int, float]:
    """Return the row, output and threshold that part the cells the relaxation uses most widely."""
    used = candidates & (pi > USED)
    many = cells.row_sum(used.astype(float))[cells.secret] > 1
    if not (used & many).any():  # only lighter cells are left to part
        used, many = candidates, cells.row_sum(candidates.astype(float))[cells.secret] > 1
    used = used & many
    q = np.where(used[:, None], cells.q, np.nan)
    with np.errstate(all="ignore"):
        low = np.fmin.reduceat(q, cells.starts, axis=0)
        high = np.fmax.reduceat(q, cells.starts, axis=0)
    width = np.nan_to_num(high - low, nan=-1.0) * cells.row_sum(np.where(used, pi + 1e-12, 0.0))[:, None]
    row, y = np.unravel_index(int(width.argmax()), width.shape)
    at = (low[row, y] + high[row, y]) / 2
    return int(row), int(y), float(at)


def capacity(cells: Cells, candidates: Bools, accuracy: float, deadline: Deadline) -> tuple[Floats, Floats]:
    """Return log_r with max_{c in S} D(q_c || softmax(log_r)) near its least value, and the input law.

    The maximum is smoothed to s LSE(. / s) and s driven to 0; each s takes damped Newton steps.
    """
    many, y = candidates.shape[0], cells.n_outputs
    unused = candidates.astype(float) @ (cells.q > 0) == 0  # outputs that no candidate gives need no mass
    log_r = np.where(unused, UNUSED, np.zeros((many, y)))
    s = 0.5
    eye = np.eye(y)
    pi = np.empty((many, cells.size))
    for _ in range(400):
        for _ in range(6):
            score = np.where(candidates, cells.neg_entropy - log_r @ cells.q.T, -np.inf) / s
            top = score.max(axis=1, keepdims=True)
            top = np.where(np.isfinite(top), top, 0.0)
            pi = np.exp(score - top)
            pi /= np.maximum(pi.sum(axis=1, keepdims=True), 1e-300)
            r = np.exp(log_r - lse(log_r)[:, None])
            law = pi @ cells.q
            gradient = r - law
            if np.abs(gradient).sum(axis=1).max() < 1e-3 * min(1.0, s * 100):
                break
            second = (pi[:, None, :] * cells.q.T) @ cells.q - law[:, :, None] * law[:, None, :]
            hessian = second / s + eye * (r[:, None, :] + 1e-10) - r[:, :, None] * r[:, None, :] + 1e-2
            step = -solve(hessian, gradient)
            # a step that moves the candidates' scores by more than s leaves the region where the model holds
            change = np.where(candidates, step @ cells.q.T, 0.0)
            reach = np.maximum(np.ptp(change, axis=1) / (4 * s), np.abs(step).max(axis=1) / 3)
            log_r = log_r + step / np.maximum(1.0, reach)[:, None]
        if s * np.log(cells.size + 1) < accuracy or deadline.expired():
            break
        s *= 0.3
    return log_r - log_r.max(axis=1, keepdims=True), pi
