"""The bound of a leaf of a tree of posteriors in IEEE doubles, never below the true one, and rounds of chains.

The statements cited as notes E, L, S, M, T and C, with their proofs, are in docs/proofs/leaves-in-doubles.md. They
assume IEEE 754 binary64 with rounding to nearest and denormal numbers, and nothing of a library of functions:
exponentials and logarithms are the polynomials below. Sums may be taken in any order, with or without fused
multiply-adds.
"""

import importlib
import math
import sys
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from operator import truediv
from typing import Any, TypeAlias

from flint import arb

from .balls import ZERO, Ball, float_above
from .limits import largest, tick, ticking

Array: TypeAlias = Any  # numpy.ndarray: NumPy may be missing
Module: TypeAlias = Any

U = 2.0**-53
# Note E and note L: the first 32 bits of log 2, and the rest of it.
LOG_2, LOG_2_REST, PER_LOG_2 = 0.6931471803691238, 1.9082149292705877e-10, 1.4426950408889634
TERMS_OF_EXP, TERMS_OF_LOG = 13, 10
_FACTORIALS = list(accumulate(range(1, TERMS_OF_EXP + 1), truediv, initial=1.0))
# Exponents below this one are raised to it.
LEAST_EXPONENT = -700.0
LEAST_MASS = 1e-290
LEAST_CHANCE = 1e-280
BLOCK = 128
# Boxes of this width, as a share of their upper ends, have slopes of tangents: differences would lose their digits.
THIN = 2.0**-17
# For more values of a secret, and rows that are known less well, the notes are not stated.
MOST_VALUES = 60
MOST_ERROR = 1e-6
# Leaves that are worked on at a time; and their exponents, as many as a processor keeps close by.
LEAVES = 2**9
TOGETHER = 2**14
# How long balls take, in products: of a leaf beside its entries, and of all leaves where NumPy would first be loaded.
OF_A_LEAF, WORTHWHILE = 1000, 2**21


def numpy(leaves: int, entries: int) -> Module | None:
    """Return NumPy where it is installed and saves time with so many leaves of a problem of so many entries."""
    if leaves < largest().numpy_leaves or ("numpy" not in sys.modules and leaves * (entries + OF_A_LEAF) < WORTHWHILE):
        return None
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None


def ordinary() -> bool:
    """Whether this thread computes with denormal numbers, as IEEE 754 demands, and rounds to nearest."""
    least = math.ldexp(1.0, -1022)
    half, tiny = least / 2.0, math.ldexp(1.0, -60)
    return 0.0 < half < least and half + half == least and 1.0 + tiny == 1.0 and 1.0 - tiny == 1.0


class Doubles:
    """The cells of a problem in doubles, and the bounds of leaves."""

    def __init__(  # noqa: PLR0917 - the whole problem
        self,
        np: Module,
        rows: Sequence[Sequence[Sequence[Ball]]],
        rho: Sequence[Sequence[Ball]],
        eta: float,
        knowledge: Ball,
        tangents: Sequence[Sequence[Sequence[Ball]]],
        *,
        across: bool = True,
    ) -> None:
        """Take the laws of groups of outputs and the reference masses of all cells, by secret value, and eta and K.

        And, by tangent and secret value, g of all cells; no tangent where outputs are single. across: whether boxes
        make up laws across values, and not across outputs (`OneRow` of posteriors.py).
        """
        self.np, self.eta, self.knowledge = np, eta, float_above(knowledge)
        self.values, self.tangents, self.error = len(rows), len(tangents), 0.0
        # The axis of the entries of a law, and how many it has.
        self.axis, self.entries = (1, self.values) if across else (2, len(rows[0][0]))
        self.laws: list[Array] = []
        above = [[[float_above(x) for x in cells] for cells in values] for values in tangents]
        for a, cells in enumerate(rows):
            law, error = _rounded(cells)
            # The tangents stand below the laws, so that one product has both.
            self.laws.append(np.array([*zip(*law, strict=True), *(values[a] for values in above)]))
            self.error = max(self.error, error)
        self.largest = [np.array([max(map(abs, values[a])) for values in above]) for a in range(self.values)]
        self.masses = [np.array([max(LEAST_MASS, float_above(x)) for x in masses]) for masses in rho]

    @property
    def usable(self) -> bool:
        """Whether the notes are stated for this problem."""
        finite = all(self.np.isfinite(x).all() for x in (*self.laws, *self.masses))
        return finite and self.entries <= MOST_VALUES and self.error <= MOST_ERROR

    def bounds(self, low: Array, high: Array, m: Array, sigma: Array, tangent: Array) -> Array:
        """Guarantee: no less than the bound of every leaf. Boxes and m are arrays over leaves, values and groups."""
        np = self.np
        mu = self._multipliers(low, high, m, sigma)
        chosen = (np.arange(self.tangents) == tangent[:, None]) / sigma[:, None]
        sums = [self._log_sum(a, mu[:, a], chosen) for a in range(self.values)]
        # Note T, second part.
        logs = np.stack(sums, axis=1) * (sigma / (1.0 + sigma))[:, None]
        top = logs.max(axis=1)
        total = exp(np.maximum(logs - top[:, None], LEAST_EXPONENT), np).sum(axis=1)
        inner = top + log(total, np) + 3e-13 * (1.0 + np.abs(top))
        return (1.0 + sigma) * inner + (sigma + self.eta) * self.knowledge * (1.0 + 1e-15)

    def _multipliers(self, low: Array, high: Array, m: Array, sigma: Array) -> Array:
        """Note M: coefficients of the laws of groups, by secret value, divided by sigma."""
        np = self.np
        common = np.maximum(m * low, m * high).sum(axis=self.axis, keepdims=True)
        own = m
        if m.shape[1] < self.values:
            # Two values: the first has what the second leaves, and no multiplier.
            low = np.concatenate([np.maximum(1.0 - high - U, 0.0), low], axis=1)
            high = np.concatenate([np.minimum(1.0 - low[:, 1:] + U, 1.0), high], axis=1)
            own = np.concatenate([np.zeros_like(m), m], axis=1)
        alpha, beta = line(low, high, np)
        linear = (1.0 - self.eta) * (alpha + beta.sum(axis=self.axis, keepdims=True)) + (common - own)
        sizes = (np.abs(x).sum(axis=self.axis, keepdims=True) for x in (alpha, m))
        size = self.entries + 2.0 * sum(sizes)
        return (linear + (2.0 * (self.entries + 6) * U) * size) / sigma[:, None, None]

    def _log_sum(self, a: int, mu: Array, chosen: Array) -> Array:
        """Note T, first part: no less than log sum_c rho_c exp( h_c / sigma ) over the cells of a value."""
        np = self.np
        law, masses = self.laws[a], self.masses[a]
        big = np.abs(mu).max(axis=1) + chosen @ self.largest[a]
        coefficients = np.concatenate([mu, chosen], axis=1)
        top, total = np.empty(len(mu)), np.empty(len(mu))
        step = max(1, TOGETHER // len(masses))
        for start in range(0, len(mu), step):
            tick()
            part = slice(start, start + step)
            x = coefficients[part] @ law
            top[part] = x.max(axis=1)
            x -= top[part, None]
            np.maximum(x, LEAST_EXPONENT, out=x)
            total[part] = exp(x, np) @ masses
        total = log(total, np)
        rounding = big * ((len(law) + 8) * 2.0 * U + 2.0 * self.error) + (len(masses) + 4) * 2.0 * U
        return top + total + (rounding + 2e-13 + 4e-14 * np.abs(total))


def exp(x: Array, np: Module) -> Array:
    """Guarantee: e^x (1 + d) with |d| <= 1e-14 for -700 <= x <= 0, and 1 at 0 (note E). Uses x up: new arrays cost."""
    k = x * PER_LOG_2
    np.rint(k, out=k)
    p = k * LOG_2
    x -= p
    np.multiply(k, LOG_2_REST, out=p)
    x -= p
    np.multiply(x, _FACTORIALS[-1], out=p)
    p += _FACTORIALS[-2]
    for c in _FACTORIALS[-3::-1]:
        p *= x
        p += c
    # 2^k, by its bits.
    powers = k.astype(np.int64)
    powers += 1023
    powers <<= 52
    p *= powers.view(np.float64)
    return p


def log(x: Array, np: Module) -> Array:
    """Guarantee: log x, off by at most 1e-14 (1 + |log x|), for normal x > 0 (note L)."""
    f, k = np.frexp(x)
    small = f < math.sqrt(0.5)
    f, k = np.where(small, 2.0 * f, f), k - small
    z = (f - 1.0) / (f + 1.0)
    w = z * z
    p = np.full_like(z, 1.0 / (2 * TERMS_OF_LOG + 1))
    for j in range(TERMS_OF_LOG - 1, -1, -1):
        p = p * w + 1.0 / (2 * j + 1)
    return k * LOG_2 + (k * LOG_2_REST + 2.0 * z * p)


class Chain:
    """Increments of monotone rows (chains.py) in doubles, from both sides."""

    def __init__(  # noqa: PLR0917 - the whole problem
        self, np: Module, law: Array, orders: Array, error: float, rho: Sequence[Ball], log_r: Sequence[Ball], s: float
    ) -> None:
        """Take rows of probabilities within a share `error`, and how many tuples an output stands for.

        rho and log r are those of chains.py, log r of one tuple.
        """
        self.np, self.law, self.orders, self.error, self.s = np, law, orders, error, s
        # Means over outputs are sums of sums of so many: fewer errors than one long sum.
        room = -(-len(orders) // BLOCK) * BLOCK
        self.blocks = np.zeros((len(law), room))
        self.blocks[:, : len(orders)] = law
        self.blocks = self.blocks.reshape(len(law), -1, BLOCK)
        (self.log_rho, self.off_rho), (self.log_r, self.off_r) = (
            (np.array(near), max(map(float_above, off))) for near, off in map(_nearest, ([x.log() for x in rho], log_r))
        )

    def increments(self, given: Array) -> tuple[Array, Array] | None:
        """Guarantee: Theta of these increments is between the results; None where the note is not stated (note C)."""
        np, (cells, outputs), blocks = self.np, self.law.shape, self.blocks.shape[1]
        x = np.concatenate([[0.0], np.cumsum(given)]) + self.log_rho
        large = float(np.abs(given).sum() + np.abs(self.log_rho).max())
        x -= x.max()
        if not (x.min() >= LEAST_EXPONENT and self.law.min() >= LEAST_CHANCE and self.error <= MOST_ERROR):
            return None
        u = (exp(x, np) @ self.law) / self.orders
        if not u.min() >= LEAST_CHANCE:
            return None
        log_u = log(u, np)
        gains = log_u - self.log_r
        most, share = float(np.abs(gains).max()), 1.1 * U
        off_u = 3e-14 + 1.1 * self.error + share * (cells + 4) * (2 + large) + 1.1 * self.off_rho
        off = off_u + 1.1e-14 * (1 + float(np.abs(log_u).max())) + self.off_r + share * most
        off_mean = 1.1 * off + (1.1 * self.error + share * (BLOCK + blocks + 2)) * most
        held = np.zeros((blocks, BLOCK))
        held.ravel()[:outputs] = gains
        found = np.diff(np.einsum("tbk,bk->tb", self.blocks, held).sum(axis=1)) / self.s
        slack = 2.2 * off_mean / self.s + 4 * U * np.abs(found)
        return found - slack, found + slack


def near_rows(rows: Sequence[Sequence[Ball]]) -> list[tuple[list[float], float]]:
    """The nearest doubles of the entries of rows, and no less than the largest share by which one of a row is off."""
    found = []
    for row in ticking(rows):
        near, off = _nearest(row)
        found.append((near, max(float_above(error / x) for x, error in zip(row, off, strict=True))))
    return found


def chain_of(
    rows: Sequence[tuple[list[float], float]], rho: Sequence[Ball], log_r: Sequence[Ball], s: float, rounds: int
) -> Chain | None:
    """Rounds in doubles, by rows of `near_rows`; None where balls are quick enough."""
    np = numpy(rounds, len(rows) * len(log_r))
    if np is None or not ordinary():
        return None
    law, error = np.array([row for row, _ in rows]), max(off for _, off in rows)
    return Chain(np, law, np.ones(len(log_r)), error, rho, log_r, s)


def _nearest(values: Sequence[Ball]) -> tuple[list[float], list[Ball]]:
    """The nearest doubles, and by how much each is off."""
    near = [float(x) for x in values]
    return near, [abs(x - arb(y)) for x, y in zip(values, near, strict=True)]


def line(low: Array, high: Array, np: Module) -> tuple[Array, Array]:
    """Guarantee: alpha v + beta >= v log v on [low, high], inside [0,1] (note S)."""
    at_low, at_high = (x * log(np.maximum(x, 1e-300), np) for x in (low, high))
    width = high - low
    thin = width <= THIN * high
    alpha = (at_high - at_low) / np.where(thin, 1.0, width)
    if thin.any():
        alpha[thin] = 1.0 + log(np.maximum((low[thin] + high[thin]) / 2.0, 1e-300), np)
    beta = np.maximum(at_low - alpha * low, at_high - alpha * high) + 4e-14 * (1.0 + np.abs(alpha))
    return alpha, beta


def _rounded(cells: Sequence[Sequence[Ball]]) -> tuple[list[list[float]], float]:
    """The nearest doubles of some laws, none below 0, and no less than the most by which a law is off, in sum."""
    # Tables share few balls.
    balls = {id(x): x for cell in ticking(cells) for x in cell}
    near = {key: max(0.0, float(x)) for key, x in balls.items()}
    off = {key: abs(x - arb(near[key])).upper() for key, x in balls.items()}
    errors = (sum((off[id(x)] for x in cell), ZERO) for cell in ticking(cells))
    return [[near[id(x)] for x in cell] for cell in ticking(cells)], float_above(reduce(arb.max, errors, ZERO))
