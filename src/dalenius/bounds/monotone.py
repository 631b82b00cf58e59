"""Monotone rows: the row bound at one (r, s) where likelihood ratios are monotone, without a tree (MATH 4.11).

    L <= s LSE_a( log rho(a) + g_a / s ) + s K,     g_a = max_w { D(wq || r) - s D(w || rho_a) }.

With the cells of a value in the order of the channel, h = log(w / rho_a) and d its increments, every stationary w is a
fixed point of

    Theta(d)_t = (1/s) sum_y ( q(y|t+1) - q(y|t) ) log( u_y / r_y ),      u = wq,

which rises with d. So the chains U <- Theta(U) from u = q(.|last cell) and D <- Theta(D) from u = q(.|first cell) stay
above and below every stationary d, and with c between them

    g_a <= s log sum_t rho_a(t) exp( sum_y q(y|t) log(u_c/r)(y) / s ) + (a bound on D(w || w_c)).
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.bounds.closed_forms import Formula
from dalenius.bounds.proof import Rounding
from dalenius.numerics.information import TINY, lse, safe_log
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.cells import Cells
from dalenius.reductions.order import Order
from dalenius.reductions.outputs import OriginalOutputs
from dalenius.search.deadline import Deadline
from dalenius.settings import MonotoneRows

# A channel that is ordered but for rounding is taken as one that is: what a verifier may add for each entry.
REPAIR = 4e-16


@dataclass(frozen=True)
class Monotone(Formula):
    """The row bound at (r, s), reached after so many steps of both chains of every value."""

    kind = "monotone"
    s: float = 1.0
    log_r: Floats = field(default_factory=lambda: np.zeros(1))
    rounds: int = 0
    order: Order | None = None
    # Rows x outputs whose order a verifier establishes by itself, and has to repair; 0 where a name says it.
    repaired: int = 0

    def claim(self, rounding: Rounding) -> float:
        """The log masses enter multiplied by s; repairs let through as much as log|A|."""
        lost = self.repaired * REPAIR * (1 + abs(self.upper))
        return self.upper + 10 * rounding.bound + 4 * rounding.mass * max(self.s, 1.0) + lost

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return s, r and the number of steps; and the order, where no name says it."""
        assert outputs is not None  # noqa: S101 - for the type checker: rows need rows
        data = {"s": self.s, "rho": outputs.log_r(self.log_r), "rounds": self.rounds}
        if self.order is None or self.order.parts is None:
            return data
        return {**data, "order": self.order.rows.tolist(), "ranks": [part.tolist() for part in self.order.parts]}


@dataclass(eq=False)
class Chains:
    """Both chains of every secret value at several pairs (r, s); all in one product with the channel's rows."""

    channel: Floats
    # For every value its rows, ascending, and the logarithm of its law of them.
    rows: list[Ints]
    log_rho: list[Floats]
    # (P, Y) and (P,)
    log_r: Floats
    s: Floats
    # (P, A, 2, T-1), T rows of the value with most: increments from above and from below, 0 beyond the last row.
    increments: Floats = field(init=False)
    rounds: Ints = field(init=False)

    def __post_init__(self) -> None:
        many, longest = len(self.channel), max(map(len, self.rows))
        values = len(self.rows)
        # (A, T): where the rows of a value are taken from, where its law is put, and the law; -inf beyond the last row.
        self._taken, self._put = (np.full((values, longest), many) for _ in range(2))
        self._log_rho = np.full((values, longest), -np.inf)
        for k, (rows, log_rho) in enumerate(zip(self.rows, self.log_rho, strict=True)):
            self._taken[k], self._put[k, : rows.size] = rows[-1], rows
            self._taken[k, : rows.size], self._log_rho[k, : rows.size] = rows, log_rho
        self.rounds = np.zeros(len(self.s), dtype=int)
        log_u = safe_log(self.channel[self._ends])
        self.increments = np.diff(self._gains(np.broadcast_to(log_u, (len(self.s), *log_u.shape))), axis=-1)

    @property
    def _ends(self) -> Ints:
        """(A, 2) the last row of every value, and the first."""
        return np.array([[rows[-1], rows[0]] for rows in self.rows])

    def taken(self, index: Any) -> "Chains":  # noqa: ANN401 - a mask, or an index array
        """Return the chains of some pairs."""
        some = copy(self)
        for name in ("log_r", "s", "increments", "rounds"):
            setattr(some, name, getattr(self, name)[index])
        return some

    @property
    def stated(self) -> Ints:
        """The steps that a verifier is told to take: more, where floats are too short for the rows at the ends.

        Its chains begin farther out there, and come nearer by the same factor a step.
        """
        enough = self.channel[self._ends].min() > TINY
        return self.rounds if enough else self.rounds + self.rounds // 4 + 10

    def advance(self) -> None:
        """One step of every chain: d <- Theta(d)."""
        log_u = safe_log(self._outputs(self._laws(self.increments)))
        self.increments = np.diff(self._gains(log_u), axis=-1)
        self.rounds = self.rounds + 1

    def costs(self) -> Floats:
        """(P, A) how far a stationary w may be from the middle c: a bound on D(w || w_c), up to rounding.

        log(w / w_c) oscillates by rad at most, so rad^2 / 8 is one. From a cell t0 to t it grows by G(t) at most, and
        every law between w and w_c is between those of the chains in likelihood ratio: the mean of G^2 / 2 under the
        upper law from t0 on, and under the lower law before, is another.
        """
        laws, middle = self._laws(self.increments), self._laws(self._middle())[..., 0, :]
        apart = np.abs(self.increments[..., 0, :] - self.increments[..., 1, :]) / 2
        grown = _from_zero(apart)
        t0 = (np.cumsum(middle, axis=-1) < 0.5).sum(axis=-1, keepdims=True)  # noqa: PLR2004 - the median
        last = middle.shape[-1] - 1
        squares = (grown - np.take_along_axis(grown, np.minimum(t0, last), axis=-1)) ** 2
        spread = (np.where(np.arange(last + 1) >= t0, laws[..., 0, :], laws[..., 1, :]) * squares).sum(axis=-1)
        return np.asarray(np.minimum(grown[..., -1] ** 2 / 8, spread / 2))

    def values(self) -> Floats:
        """Guarantee: result >= g_a, up to rounding, for every value; (P, A)."""
        gains = self._gains(safe_log(self._outputs(self._laws(self._middle()))))[..., 0, :]
        return np.asarray(self.s[:, None] * lse(self._log_rho + gains) + self.costs())

    def _middle(self) -> Floats:
        return np.asarray(self.increments.mean(axis=2, keepdims=True))

    def _laws(self, increments: Floats) -> Floats:
        """The laws w of increments, (P, A, any, T)."""
        x = self._log_rho[:, None] + _from_zero(increments)
        x = np.exp(x - x.max(axis=-1, keepdims=True))
        return np.asarray(x / x.sum(axis=-1, keepdims=True))

    def _outputs(self, laws: Floats) -> Floats:
        """Their output laws u = wq, (P, A, any, Y)."""
        many = len(self.channel)
        # Beyond the last row of a value its law is 0: that goes to a column that is left out.
        w = np.zeros((*laws.shape[:-1], many + 1))
        np.put_along_axis(w, np.broadcast_to(self._put[:, None], laws.shape), laws, axis=-1)
        return np.asarray(w[..., :many].reshape(-1, many) @ self.channel).reshape(*laws.shape[:-1], -1)

    def _gains(self, log_u: Floats) -> Floats:
        """(1/s) sum_y q(y|t) log( u_y / r_y ) at the rows of every value, (P, A, any, T)."""
        tilt = log_u - self.log_r[:, None, None]
        gains = (tilt.reshape(-1, tilt.shape[-1]) @ self.channel.T).reshape(*tilt.shape[:-1], -1)
        at = np.broadcast_to(self._taken[:, None], (*tilt.shape[:-1], self._taken.shape[1]))
        return np.asarray(np.take_along_axis(gains, at, axis=-1) / self.s[:, None, None, None])


def _from_zero(increments: Floats) -> Floats:
    """Running sums along the last axis, 0 first."""
    sums = np.zeros((*increments.shape[:-1], increments.shape[-1] + 1))
    np.cumsum(increments, axis=-1, out=sums[..., 1:])
    return sums


@dataclass(eq=False)
class Scan:
    """The best bound over multipliers near the best prior's, and over shares of a flat law in its output law.

    A larger s takes fewer steps and costs little; where little mass of r lies far out, conditionals far out win, and a
    share of (flat law + what the reference gives) / 2 takes that from them.
    """

    cells: Cells
    order: Order
    deadline: Deadline
    # Steps at most, where a verifier would take too long.
    most: int = 10**9
    # Whether the problem is its own mirror image: so is r then, and a verifier has half as much to repeat.
    even: bool = False
    # Whether a quick answer will do: the largest multiplier comes first, which takes the fewest steps.
    quick: bool = False
    best: Monotone | None = None

    def __post_init__(self) -> None:
        rank = self.order.rank
        self.rows, self.log_rho = [], []
        for part, log_p in zip(self.cells.slices, self.cells.log_rows, strict=True):
            rows = self.cells.lumped.row[part]
            sort = np.argsort(rank[rows], kind="stable")
            self.rows.append(rows[sort])
            self.log_rho.append(self.cells.log_rho[part][sort] - log_p)

    @property
    def settings(self) -> MonotoneRows:
        """What the scan depends on."""
        return self.cells.settings.monotone

    def run(self, pi: Floats, s: float, floor: float, tolerance: float) -> Monotone | None:
        """Try all pairs of a share and a factor, until a bound is within the tolerance of the floor.

        The first pair by itself, which closes most; where the channel is small, all others together: the answer is the
        same as one by one.
        """
        settings, q = self.settings, self.cells.q
        r, mixed = pi @ q, self.cells.rho @ q + 1 / q.shape[1]
        products = self.cells.lumped.channel.size * 4 * len(self.rows)
        budget = settings.products // max(1, products)
        # Where steps are few, factors at which they do not suffice are left out from the second share on.
        few, reached = self.most < settings.rounds, dict.fromkeys(settings.factors, 0.0)
        factors = settings.factors[::-1] if self.quick else settings.factors
        pairs = [(share, factor) for share in settings.shares for factor in factors]
        small = not few and products <= settings.small_products
        for together in [pairs[:1], pairs[1:]] if small else [[pair] for pair in pairs]:
            if budget <= 0 or self.deadline.expired():
                return self.best
            factor = together[0][1]
            if few and self.best is not None and reached[factor] > settings.hopeless * self.best.upper:
                continue
            laws = np.stack([(1 - share) * r + share * mixed / 2 for share, _ in together])
            log_r = safe_log(laws)
            log_r = (log_r + log_r[:, ::-1]) / 2 if self.even else log_r
            multipliers = s * np.array([factor for _, factor in together])
            log_r = log_r - lse(log_r)[:, None]
            chains = Chains(self.cells.lumped.channel, self.rows, self.log_rho, log_r, multipliers)
            for done in self._met(chains, tolerance, budget):
                budget -= int(done.rounds[0]) + 1
                reached[factor] = self._keep(done)
                if self.best is not None and self.best.upper <= floor + tolerance:
                    return self.best
        return self.best

    def _met(self, chains: Chains, tolerance: float, most: int) -> Iterator[Chains]:
        """Run the chains of every pair until they meet or no longer come nearer; yield them pair by pair, in order."""
        settings = self.settings
        done: dict[int, Chains] = {}
        going, waited = np.arange(len(chains.s)), 0
        mark = np.full(len(going), np.inf)
        close = (settings.close_quick if self.quick else settings.close) * tolerance
        last = min(most, settings.rounds, self.most)
        for k in range(last + 1):
            cost = chains.costs().max(axis=1)
            ended = (cost <= close) | (k == last or self.deadline.expired())
            if k % settings.patience == settings.patience - 1:
                ended |= cost > settings.progress * mark
                mark = cost
            if ended.any():
                done |= {int(going[j]): chains.taken([j]) for j in np.flatnonzero(ended)}
                chains, going, mark = chains.taken(~ended), going[~ended], mark[~ended]
                # The first pairs are worth looking at, for the others may then not be wanted.
                while waited in done:
                    yield done.pop(waited)
                    waited += 1
            if not going.size:
                return
            chains.advance()

    def _keep(self, chains: Chains) -> float:
        """Keep the bound of one pair's chains if it is the best, and return it."""
        s = float(chains.s[0])
        upper = s * float(lse((self.cells.log_rows + chains.values()[0] / s)[None])[0]) + s * self.cells.knowledge
        if self.best is None or upper < self.best.upper:
            repaired = 0 if self.order.parts is None else chains.channel.size
            self.best = Monotone(upper, s, chains.log_r[0], int(chains.stated[0]), self.order, repaired)
        return upper
