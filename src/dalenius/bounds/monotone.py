"""Monotone rows: the row bound at one (r, s) where likelihood ratios are monotone, without a tree (MATH 4.11).

    L <= s LSE_a( log rho(a) + g_a / s ) + s K,     g_a = max_w { D(wq || r) - s D(w || rho_a) }.

With the cells of a value in the order of the channel, h = log(w / rho_a) and d its increments, every stationary w is a
fixed point of

    Theta(d)_t = (1/s) sum_y ( q(y|t+1) - q(y|t) ) log( u_y / r_y ),      u = wq,

which rises with d. So the chains U <- Theta(U) from u = q(.|last cell) and D <- Theta(D) from u = q(.|first cell) stay
above and below every stationary d, and with c between them

    g_a <= s log sum_t rho_a(t) exp( sum_y q(y|t) log(u_c/r)(y) / s ) + (a bound on D(w || w_c)).
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.bounds.closing import MANY_TERMS, Formula, close
from dalenius.numerics.information import TINY, lse, safe_log
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import OriginalOutputs
from dalenius.reductions.order import Order
from dalenius.search.ascent import at_multiplier, log_posterior
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class MonotoneRows(Part):
    """At which output laws and multipliers chains of monotone rows are run."""

    # Multipliers as multiples of the best prior's; shares of a flat law in its output law. Counts of 10 to 50 close at
    # the first pair; wide noise wants a larger s, and much knowledge a share.
    factors: tuple[float, ...] = (1.0, 1.02, 1.05, 1.1, 1.2)
    shares: tuple[float, ...] = (0.0, 1e-4, 1e-3, 1e-2)
    # Least s. Wide noise has a small one, which costs nothing: count(n=400) with epsilon = .001 has 5e-4.
    least_s: float = 1e-12
    # Cells up to which pairs are left out that cannot close the bracket, as trees follow that are sure to.
    closing_cells: int = 9


# Where no name says that a channel is ordered a verifier repairs it, and adds up to this for each entry.
REPAIR = 4e-16


@dataclass(frozen=True)
class ChainSearch:
    """How long chains are run, and which pairs of a multiplier and a share are left out."""

    # Multipliers where a quick answer will do, the largest first, which takes the fewest steps. 1.1 times the best s
    # costs 8 % of the bound on count(n=10^5). Those that are too large are seen in a few steps.
    factors_quick: tuple[float, ...] = (1.2, 1.15, 1.1, 1.07, 1.05, 1.02, 1.0)
    # Cells x outputs up to which only the first pair is tried: a small tree takes less time than twenty pairs, 0.13 s
    # on the parity of four bits, whose tree takes 0.04.
    small: int = 100
    # Steps at most; where their distance costs more than this share of what it did so many steps before, chains will
    # not meet.
    rounds: int = 1000
    patience: int = 20
    progress: float = 0.64
    # The same where few pairs are tried.
    progress_slow: float = 0.95
    # A multiplier whose bound is this many times the best will not become the best with another share of a flat law.
    hopeless: float = 1.5
    # Steps from the best prior's conditionals, after which a multiplier that cannot close the bracket is seen to be so.
    hopeless_steps: int = 12
    # What the distance of the chains may cost, as a share of the tolerance: it falls by a factor a step, so that little
    # is gained by more. Where a share of the bound is asked for, and a verifier is to have little to repeat.
    close: float = 0.02
    close_quick: float = 0.4
    # Products of a chain's number and an entry of the channel, for all pairs together: some seconds.
    products: int = 2 * 10**10


SEARCH = ChainSearch()


@dataclass(frozen=True)
class Monotone(Formula):
    """The row bound at (r, s), reached after so many steps of both chains of every value."""

    log_r: Floats = field(default_factory=lambda: np.zeros(1))
    rounds: int = 0
    order: Order | None = None

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return s, r and the number of steps; and the order, where no name says it."""
        assert outputs is not None  # for the type checker: rows need rows
        data: dict[str, Any] = {"s": self.s, "rho": outputs.log_r(self.log_r), "rounds": self.rounds}
        if self.order is None or self.order.parts is None:
            return data
        step = {"step": "order", "rows": self.order.rows.tolist(), "ranks": [run.tolist() for run in self.order.parts]}
        step |= {} if set(self.order.often) == {1} else {"often": list(self.order.often)}
        # Outputs that never occur have no rank, and are left out.
        data["rho"] = [r for r, rank in zip(data["rho"], step["ranks"][0], strict=True) if rank >= 0]
        return {"steps": [step], **data}


@dataclass(eq=False)
class Chains:
    """Both chains of every secret value at one (r, s); all rows of the channel in one product."""

    channel: Floats
    # For every value its rows, ascending, and the logarithm of its law of them.
    rows: list[Ints]
    log_rho: list[Floats]
    log_r: Floats
    s: float
    # Two arrays a value: increments from above and from below, and the laws w that they belong to.
    increments: list[Floats] = field(init=False)
    laws: list[Floats] = field(init=False)
    rounds: int = 0

    def __post_init__(self) -> None:
        self._move(self._ends)

    @property
    def _ends(self) -> Floats:
        return np.asarray(self.channel[[rows[k] for rows in self.rows for k in (-1, 0)]])

    @property
    def stated(self) -> int:
        """The steps that a verifier is told to take: more, where floats are too short for the rows at the ends.

        Its chains begin farther out there, and come nearer by the same factor a step.
        """
        return self.rounds if self._ends.min() > TINY else self.rounds + self.rounds // 4 + 10

    def advance(self) -> None:
        """One step of every chain: d <- Theta(d)."""
        self._move(self._outputs(self.laws, 2))
        self.rounds += 1

    def _move(self, outputs: Floats) -> None:
        gains = (safe_log(outputs) - self.log_r) @ self.channel.T / self.s
        self.increments = [np.diff(gain[self.rows[k // 2]]) for k, gain in enumerate(gains)]
        self.laws = self._laws(self.increments, 2)

    def costs(self) -> Floats:
        """(A,) how far a stationary w may be from the middle c: a bound on D(w || w_c), up to rounding.

        log(w / w_c) oscillates by rad at most, so rad^2 / 8 is one. From a cell t0 to t it grows by G(t) at most, and
        every law between w and w_c is between those of the chains in likelihood ratio: the mean of G^2 / 2 under the
        upper law from t0 on, and under the lower law before, is another.
        """
        found = []
        laws, middle = self.laws, self._laws(self._middle(), 1)
        for k, law in enumerate(middle):
            up, down = self.increments[2 * k : 2 * k + 2]
            grown = np.concatenate([[0.0], np.cumsum(np.abs(up - down) / 2)])
            t0 = int(np.searchsorted(np.cumsum(law), 0.5))
            squares = (grown - grown[min(t0, law.size - 1)]) ** 2
            spread = laws[2 * k][t0:] @ squares[t0:] + laws[2 * k + 1][:t0] @ squares[:t0]
            found.append(min(grown[-1] ** 2 / 8, spread / 2))
        return np.array(found)

    def values(self) -> Floats:
        """Guarantee: result >= g_a, up to rounding, for every value."""
        outputs = self._outputs(self._laws(self._middle(), 1), 1)
        gains = (safe_log(outputs) - self.log_r) @ self.channel.T / self.s
        tops = [lse(log_rho + gain[rows]) for log_rho, gain, rows in zip(self.log_rho, gains, self.rows, strict=True)]
        return self.s * np.array(tops) + self.costs()

    def _middle(self) -> list[Floats]:
        return [(up + down) / 2 for up, down in zip(self.increments[::2], self.increments[1::2], strict=True)]

    def _laws(self, increments: list[Floats], each: int) -> list[Floats]:
        """The laws w of increments, `each` of them a value."""
        laws = []
        for k, d in enumerate(increments):
            x = np.zeros(d.size + 1)
            np.add.accumulate(d, out=x[1:])
            x += self.log_rho[k // each]
            x = np.exp(x - np.maximum.reduce(x))
            laws.append(x / np.add.reduce(x))
        return laws

    def _outputs(self, laws: list[Floats], each: int) -> Floats:
        w = np.zeros((len(laws), len(self.channel)))
        for k, law in enumerate(laws):
            w[k, self.rows[k // each]] = law
        return np.asarray(w @ self.channel)


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
    # The mirror image of every output, where the problem is its own: so is r then, and a verifier has half as much to
    # repeat.
    mirror: Ints | None = None
    # Whether a quick answer will do: the largest multiplier comes first, which takes the fewest steps.
    quick: bool = False
    # Whether nothing but closing the bracket is wanted: trees follow that are sure to.
    closing: bool = False
    # Multipliers and shares in place of those of the settings, where every pair takes long: each multiplier then has
    # the output law of its own best prior, at which the bound is off by the square of what the multiplier is off.
    factors: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    products: int = SEARCH.products
    best: Monotone | None = None

    def __post_init__(self) -> None:
        rank = self.order.rank
        self.rows, self.log_rho = [], []
        for part, log_p in zip(self.cells.slices, self.cells.log_rows, strict=True):
            rows = self.cells.lumped.row[part]
            sort = np.argsort(rank[rows], kind="stable")
            self.rows.append(rows[sort])
            self.log_rho.append(self.cells.log_rho[part][sort] - log_p)

    def run(self, pi: Floats, s: float, floor: float, tolerance: float) -> Monotone | None:
        """Try all pairs of a factor and a share, until a bound is within the tolerance of the floor."""
        settings, q = self.cells.settings.of(MonotoneRows), self.cells.q
        budget = self.products // max(1, self.cells.lumped.channel.size * 4 * len(self.rows))
        # Where steps are few, factors at which they do not suffice are left out from the second share on.
        factors = self.factors or (SEARCH.factors_quick if self.quick else settings.factors)
        shares = self.shares or settings.shares
        few, reached = self.most < SEARCH.rounds, dict.fromkeys(factors, 0.0)
        trees = "posteriors" in self.cells.settings.portfolio.bounds
        if trees and self.cells.size * q.shape[1] <= SEARCH.small:
            factors, shares = settings.factors[:1], settings.shares[:1]
        for share in shares:
            for factor in factors:
                if budget <= 0 or self.deadline.expired():
                    return self.best
                if few and self.best is not None and reached[factor] > SEARCH.hopeless * self.best.upper:
                    continue
                log_r = self._output_law(pi, factor * s, share)
                if (self.closing or (self.quick and factor > 1)) and self._hopeless(
                    pi, log_r, factor * s, floor + tolerance
                ):
                    continue
                chains = self._try(log_r, factor * s, tolerance, budget, floor + tolerance)
                budget -= chains.rounds + 1
                reached[factor] = self._keep(chains)
                if self.factors and chains.costs().max() <= tolerance:
                    # Larger multipliers only lose.
                    reached.update((other, math.inf) for other in factors if other > factor)
                if self.best is not None and self.best.upper <= floor + tolerance:
                    return self.best
        return self.best

    def _output_law(self, pi: Floats, s: float, share: float) -> Floats:
        """The logarithm of that of a prior, mixed with a flat one."""
        q = self.cells.q
        r, mixed = (self._settled(pi, s) if self.factors else pi) @ q, self.cells.rho @ q + 1 / q.shape[1]
        log_r = safe_log((1 - share) * r + share * mixed / 2)
        log_r = log_r if self.mirror is None else (log_r + log_r[self.mirror]) / 2
        return np.asarray(log_r - lse(log_r))

    def _settled(self, pi: Floats, s: float, rounds: int = 300, still: float = 1e-10) -> Floats:
        """A prior that maximises I - s D, from one nearby."""
        for _ in range(rounds):
            found = at_multiplier(self.cells, log_posterior(self.cells, pi[None]), s)[0]
            moved, pi = float(np.abs(found - pi).max()), found
            if moved < still or self.deadline.expired():
                break
        return pi

    def _hopeless(self, pi: Floats, log_r: Floats, s: float, goal: float) -> bool:
        """Whether every bound at (r, s) is above a goal, since the row problems are at conditionals near a prior's.

        Steps w ~ rho exp( q.log(u/r) / s ) from there raise the row problems, D(u_a || r) - s D(w_a || rho_a).
        """
        cells = self.cells
        w = pi / np.maximum(cells.row_sum(pi), TINY)[cells.secret]
        log_rho = cells.log_rho - cells.log_rows[cells.secret]
        for _ in range(SEARCH.hopeless_steps):
            u = cells.joint(w[None])[0]
            log_ratio = safe_log(u) - log_r
            gains = (u * log_ratio).sum(axis=1) - s * cells.row_sum(w * (safe_log(w) - log_rho))
            if close(cells.log_rows, gains, cells.knowledge, s=s) > goal:
                return True
            w = cells.row_laws(log_rho + cells.means(log_ratio[None])[0] / s)[0]
        return False

    def _try(self, log_r: Floats, s: float, tolerance: float, most: int, goal: float) -> Chains:
        """Run the chains at (r, s) until they meet or come no nearer; to the goal, where a quick answer will do."""
        chains = Chains(self.cells.lumped.channel, self.rows, self.log_rho, log_r, s)
        patience, progress = SEARCH.patience, SEARCH.progress_slow if self.factors else SEARCH.progress
        mark, close = np.inf, (SEARCH.close_quick if self.quick else SEARCH.close) * tolerance
        for k in range(min(most, SEARCH.rounds, self.most)):
            cost = chains.costs().max()
            near = cost <= (tolerance if self.quick else close)
            if (near and (cost <= close or self._value(chains) <= goal)) or self.deadline.expired():
                break
            if k % patience == patience - 1:
                if cost > progress * mark:
                    break
                mark = cost
            chains.advance()
        return chains

    def _keep(self, chains: Chains) -> float:
        """Keep the bound of chains if it is the best, and return it."""
        s, upper = chains.s, self._value(chains)
        if self.best is None or upper < self.best.upper:
            repaired = 0 if self.order.parts is None else chains.channel.size
            # What is repaired tells as much as log|A|.
            doubt = MANY_TERMS + repaired * REPAIR * (1 + abs(upper))
            self.best = Monotone(
                "monotone",
                upper,
                s=s,
                doubt=doubt,
                written=True,
                log_r=chains.log_r,
                rounds=chains.stated,
                order=self.order,
            )
        return upper

    def _value(self, chains: Chains) -> float:
        return float(close(self.cells.log_rows, chains.values(), self.cells.knowledge, s=chains.s))
