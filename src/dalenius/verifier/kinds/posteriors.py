r"""Proofs by branch and bound over posteriors ("posteriors").

A secret is fixed. Cells c = (a,t) have reference mass rho_c and row q_c; a prior pi over cells has
D(pi || rho) <= K, z_ay = sum_{c of a} pi_c q_cy, and posteriors v(a|y) = z_ay / z_y. phi(v) = v log v. The outputs are
split into groups G, the same for all secret values; Q_cG and z_aG are sums over a group, v(a|G) = z_aG / z_G.
The tree splits the box 0 <= v(a|G) <= 1 of the secret values a = 1, 2, ... (v(0|G) is what they leave); every
prior belongs to some leaf (where z_G = 0 take any posterior). Why the bound of a leaf holds there:

1. I = H(A) - H(A|Y).
2. Let 0 <= eta <= 1 bound the contraction of the within-group channels of every secret value. For any two priors, with
   D(.) the divergence of what is named under the first from the same under the second, the chain rule gives
       D(A,Y) - D(Y) = [ D(A,G) - D(G) ] + [ D(Y|A,G) - D(Y|G) ]  <=  D(A,G) - D(G) + D(Y|A,G),
       D(Y|A,G) <= eta D(X|A,G) = eta ( D(X) - D(A,G) ),
   X being the cell, which decides A; G given X has the same law under both. As D(G) >= 0,
       D(A,Y) - D(Y) <= (1-eta) ( D(A,G) - D(G) ) + eta D(X).
   The left side is what -H(A|Y) differs by from its tangent at the second prior, the right side the same of
   -(1-eta) H(A|G) - eta H(pi). So
       -H(A|Y) + (1-eta) H(A|G) + eta H(pi)
   lies below its tangent at any prior pi0 > 0, the linear function with coefficients
       sum_y q_cy log v0(a|y) - (1-eta) sum_G Q_cG log v0(a|G) - eta log pi0_c.
   pi0_c = rho_c exp(q_c.lam_a) / M, with M such that it sums to one; the posteriors v0 do not depend on M.
3. -(1-eta) H(A|G) = (1-eta) sum_G z_G sum_a phi(v(a|G)), and phi lies below its secant alpha v + beta on a leaf: that
   is at most (1-eta) sum_{a,G} z_aG ( alpha_aG + sum_a' beta_a'G ), linear in pi.
4. For any signs, sum_G ( z_G max(m high, m low) - m z_aG ) >= 0 is added for a = 1, 2, ...
5. Adding s ( K - D(pi || rho) ) >= 0, with sigma = s - eta > 0, leaves
   H(A) + sum_c pi_c h_c - sigma D(pi || rho) + s K with
       h_c = sum_G Q_cG [ (1-eta) ( alpha_aG + sum_a' beta_a'G ) + sum_a' max(m high, m low)_a'G - m_aG ]
             + sum_y q_cy [ log v0(a|y) - (1-eta) log v0(a|G) - eta lam_ay ] + eta log M.
   Maximising over the conditionals gives sigma lz_a - sigma log p_a, lz_a = LSE_c( log rho_c + h_c / sigma ), and then
   over p
       (1+sigma) log sum_a exp( sigma / (1+sigma) lz_a ) + s K.

With "ratios": true every cut is carried to the other groups (`ratios.py`), and where there are more than two secret
values no posterior is above what the lower ends of the others leave: the parts of a box get smaller, and still hold
every prior that the box holds, of those that are positive on all cells.

eta above 1 counts as 1, which every channel satisfies; step 3 would be false with 1-eta < 0.
For single outputs eta = 0 holds trivially, both sides of 2 agree, and the tangent is left out.
"""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from flint import arb

from dalenius.verifier.balls import ONE, ZERO, Ball, Rows, log_sum_exp
from dalenius.verifier.channels.channel import Channel
from dalenius.verifier.kinds.boxes import Row, secant
from dalenius.verifier.kinds.ratios import Ratios
from dalenius.verifier.kinds.tree import leaves
from dalenius.verifier.limits import largest
from dalenius.verifier.question import Question
from dalenius.verifier.reading import field as entry
from dalenius.verifier.reading import number, numbers, refuse, sequence, whole

Ends = list[float]  # one per group


class Box(NamedTuple):
    """low <= v(a|G) <= high for the secret values a = 1, 2, ..."""

    low: list[Ends]
    high: list[Ends]

    def rest(self, group: int) -> tuple[float, float]:
        """Guarantee: v(0|G) lies between the two; a step outward covers the rounding (fsum adds without loss)."""
        low = math.nextafter(math.fsum((1.0, *(-ends[group] for ends in self.high))), -2.0)
        high = math.nextafter(math.fsum((1.0, *(-ends[group] for ends in self.low))), 2.0)
        return max(0.0, low), min(1.0, high)


class Posteriors:
    """A "posteriors" proof for one secret: its groups and eta checked, its leaves evaluated on demand."""

    def __init__(self, cells: list[dict[int, Ball]], channel: Channel, knowledge: Ball, proof: dict[str, Any]) -> None:
        """Read and check what all leaves share."""
        self.outputs, self.knowledge = channel.outputs, knowledge
        named = sequence(entry(proof, "groups", "it"), "groups", self.outputs)
        groups = [whole(g, "a group", 0, self.outputs - 1) for g in named]
        eta = min(1.0, number(entry(proof, "eta", "it"), "eta", low=0.0))
        self.rows = [Row(channel, cell, groups) for cell in cells]
        for a, row in enumerate(self.rows):
            row.check_contraction(eta, f"value {a}")
        self.groups, self.many = groups, max(groups) + 1
        self.eta = ZERO if self.rows[0].singletons else arb(eta)
        self.size = len(self.rows) * self.many
        self._secants: dict[tuple[float, float], tuple[Ball, Ball]] = {}
        tightens = proof.get("ratios", False)
        if not isinstance(tightens, bool):
            refuse(f"ratios = {tightens!r} is neither true nor false")
        self._ratios = Ratios([row.coarse for row in self.rows]) if tightens else None

    @property
    def root(self) -> Box:
        """The box that every prior lies in."""
        others = len(self.rows) - 1
        return Box([[0.0] * self.many] * others, [[1.0] * self.many] * others)

    def split(self, box: Box, cut: Any) -> tuple[Box, Box]:  # noqa: ANN401 - JSON
        """Return the two halves of a box at [secret value, group, number]; together they cover it."""
        a, g, c = sequence(cut, "a split", 3)
        whole(a, "the secret value of a split", 1, len(self.rows) - 1)
        whole(g, "the group of a split", 0, self.many - 1)
        at = number(c, "the number of a split", 0.0, 1.0)
        low, high = list(box.low), list(box.high)
        low[a - 1], high[a - 1] = low[a - 1].copy(), high[a - 1].copy()
        low[a - 1][g], high[a - 1][g] = max(low[a - 1][g], at), min(high[a - 1][g], at)
        if self._ratios is not None:
            high[a - 1] = list(map(min, high[a - 1], self._ratios.highest(a, g, high[a - 1][g])))
            low[a - 1] = list(map(max, low[a - 1], self._ratios.lowest(a, g, low[a - 1][g])))
            if len(low) > 1:
                return Box(box.low, _left_over(box.low, high)), Box(low, _left_over(low, box.high))
        return Box(box.low, high), Box(low, box.high)

    def bound(self, box: Box, leaf: dict[str, Any]) -> Ball | None:
        """Guarantee: I <= result for every prior in this box; None when the box is empty."""
        rest = [box.rest(g) for g in range(self.many)]
        low, high = [[x for x, _ in rest], *box.low], [[x for _, x in rest], *box.high]
        if any(x > y for lows, highs in zip(low, high, strict=True) for x, y in zip(lows, highs, strict=True)):
            return None
        sigma = arb(number(entry(leaf, "sigma", "it"), "sigma"))
        if not sigma > 0:
            refuse("sigma must be above 0")
        linear, inverse = self._linear(low, high, self._multipliers(leaf)), 1 / sigma
        fine = self._tangent(leaf) if not self.eta.is_zero() else None
        values, share = [], sigma / (1 + sigma)
        for a, row in enumerate(self.rows):
            if fine is None:
                lz = self.log_mass(a, [x * inverse for x in linear[a]])
            else:
                coefficients = [x + linear[a][g] for x, g in zip(fine[a], self.groups, strict=True)]
                h = row.fine.times(coefficients)
                lz = log_sum_exp([p + x * inverse for p, x in zip(row.log_rho, h, strict=True)])
            values.append(share * lz)
        return (1 + sigma) * log_sum_exp(values) + (sigma + self.eta) * self.knowledge

    def log_mass(self, a: int, coefficients: list[Ball]) -> Ball:
        """Guarantee: the result holds log sum_c rho_c exp( sum_G Q_cG coefficient_G ) over the cells of a."""
        return log_sum_exp(self._coarse[a].times([*coefficients, ONE]))

    @cached_property
    def _coarse(self) -> list[Rows]:
        """Q_cG and log rho_c of every secret value."""
        pairs = (zip(row.coarse, row.log_rho, strict=True) for row in self.rows)
        return [Rows([[*sums, log_rho] for sums, log_rho in cells]) for cells in pairs]

    def _multipliers(self, leaf: dict[str, Any]) -> list[list[float]]:
        listed = sequence(entry(leaf, "m", "it"), "m", len(self.rows) - 1)
        return [numbers(m, self.many, f"m of value {a + 1}") for a, m in enumerate(listed)]

    def _linear(self, low: list[Ends], high: list[Ends], m: list[list[float]]) -> list[list[Ball]]:
        """Steps 3 and 4: the coefficients of Q_cG in h, by secret value."""
        share = None if self.eta.is_zero() else ONE - self.eta
        result: list[list[Ball]] = [[] for _ in self.rows]
        for g in range(self.many):
            lines = [self._secant(lows[g], highs[g]) for lows, highs in zip(low, high, strict=True)]
            if share is not None:
                lines = [(share * alpha, share * beta) for alpha, beta in lines]
            common = sum([beta for _, beta in lines], ZERO)
            slopes = [alpha for alpha, _ in lines]
            for a, row in enumerate(m, start=1):
                if row[g]:
                    x = arb(row[g])
                    common += x * (high[a][g] if row[g] > 0 else low[a][g])
                    slopes[a] -= x
            for coefficients, slope in zip(result, slopes, strict=True):
                coefficients.append(common + slope)
        return result

    def _secant(self, low: float, high: float) -> tuple[Ball, Ball]:
        if (low, high) not in self._secants:
            if len(self._secants) >= largest().secants:
                self._secants.clear()
            self._secants[low, high] = secant(low, high)
        return self._secants[low, high]

    def _tangent(self, leaf: dict[str, Any]) -> list[list[Ball]]:
        """Step 2: the coefficients of q_cy in h, by secret value, the constant included as each row sums to one."""
        many = len(self.rows)
        listed = sequence(leaf["lam"], "lam", many) if "lam" in leaf else [[0.0] * self.outputs] * many
        lam = [[arb(x) for x in numbers(row, self.outputs, f"lam of value {a}")] for a, row in enumerate(listed)]
        fine: list[list[Ball]] = []
        total = ZERO
        for row, tilt in zip(self.rows, lam, strict=True):
            zeta = row.fine.times(tilt)
            weights = [rho * z.exp() for rho, z in zip(row.rho, zeta, strict=True)]
            total += sum(weights, ZERO)
            fine.append(row.fine.combined(weights))
        coarse = [row.sums(z) for row, z in zip(self.rows, fine, strict=True)]
        log_v, log_group, log_total = _log_posteriors(fine), _log_posteriors(coarse), total.log()
        share = ONE - self.eta
        return [
            [
                v - share * log_group[a][g] + self.eta * (log_total - x)
                for v, g, x in zip(log_v[a], self.groups, lam[a], strict=True)
            ]
            for a in range(many)
        ]


def _left_over(low: list[Ends], high: list[Ends]) -> list[Ends]:
    """Guarantee: v(a|G) <= result for a = 1, 2, ...: what the lower ends of the others leave; a step outward each."""
    result = [ends.copy() for ends in high]
    for g in range(len(low[0])):
        for a, ends in enumerate(result):
            others = (-lows[g] for b, lows in enumerate(low) if b != a)
            ends[g] = min(ends[g], math.nextafter(math.fsum((1.0, *others)), 2.0))
    return result


def _log_posteriors(z: list[list[Ball]]) -> list[list[Ball]]:
    """log( z_ay / z_y ), and 0 for an exact zero, whose coefficients are then zero as well."""
    totals = [sum(column_, ZERO) for column_ in zip(*z, strict=True)]
    return [[ZERO if x.is_zero() else (x / t).log() for x, t in zip(row, totals, strict=True)] for row in z]


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield place and bound of every leaf."""
    tree = Posteriors(question.cells, question.channel, question.knowledge.most, proof)
    return leaves(proof, tree, where)
