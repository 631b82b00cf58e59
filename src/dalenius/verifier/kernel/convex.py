"""Proofs by one point of the convex bound ("convex"), and the cells that other kinds share with it.

With phi(u) = u log u and u_a = sum_c w_c q_c, the golden formula leaves F(w) = sum_y phi(u_a(y)) of every value a, of
which a share 1 - theta is bounded by Jensen, a share theta by contraction with eta at w0_c = rho_c exp(zeta_c), zeta_c
= q_c.lam + omega sum_y phi(q_cy), u0 = w0 q. So closing.py closes with sigma = s - theta eta and

    h_c = q_c.( theta log u0 - theta eta lam - r ) + ( 1 - theta - theta eta omega ) sum_y phi(q_cy)
          - theta (1-eta) log W0,                                        W0 the sum of w0, which need not be one.

r are any numbers (`rho` in the certificate), and LSE(r) is added. eta above 1 counts as 1, which every channel
satisfies. Proof: docs/mathematics.md, 1.3, 4.3, 4.4 and "The one bound".
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from flint import arb

from .balls import ONE, ZERO, Ball, log_sum_exp, xlogx
from .cells import Channel, Question, products
from .closing import close, gain
from .contraction import contracts
from .limits import tick
from .reading import above_zero, field, number, numbers, refuse, sequence


def secant(low: float, high: float) -> tuple[Ball, Ball]:
    """Guarantee: alpha u + beta >= u log u on [low,high]. Any alpha serves, as u log u is convex: beta decides."""
    at_low, at_high = xlogx(arb(low)), xlogx(arb(high))
    slope = 1 + math.log(low) if low > 0 else 0.0
    if high > low:
        slope = float((at_high - at_low) / (arb(high) - arb(low)))
    alpha = arb(slope if math.isfinite(slope) else 0.0)
    return alpha, (at_low - alpha * low).max(at_high - alpha * high)


class Row:
    """The cells of one secret value, their groups of outputs, and products with their rows."""

    def __init__(self, channel: Channel, cell: dict[int, Ball], groups: list[int]) -> None:
        """Sum up the groups of every cell."""
        self.rows, self.rho, self.groups = [channel.rows[r] for r in cell], list(cell.values()), groups
        self._channel, self._cell = channel, cell
        logs = {id(x): x.log() for x in {id(x): x for x in self.rho}.values()}  # tables share few masses
        self.log_rho = [logs[id(x)] for x in self.rho]
        self.size = max(groups) + 1
        self.singletons = len(set(groups)) == len(groups)
        self.coarse = [self.sums(q) for q in self.rows] if self.size > 1 else [[ONE]] * len(self.rows)
        self.fine = products(channel, cell)

    def sums(self, q: Sequence[Ball]) -> list[Ball]:
        """Return the sum over each group of what is given for each output."""
        sums = [ZERO] * self.size
        for x, g in zip(q, self.groups, strict=True):
            sums[g] = x if sums[g] is ZERO else sums[g] + x
        return sums

    def phi(self) -> list[Ball]:
        """Return sum_y q log q of every cell."""
        return [self._channel.phi(r) for r in self._cell]

    def check_contraction(self, eta: float, where: str) -> None:
        """Refuse unless eta bounds the contraction of every within-group channel."""
        if self.singletons or eta >= 1:
            return
        if eta == 0:
            refuse(f"{where}: eta = 0 needs groups of one output each")
        limit = arb(eta)
        for g in range(self.size):
            tick()
            inside = [y for y, group in enumerate(self.groups) if group == g]
            pairs = zip(self.rows, self.coarse, strict=True)
            laws = {tuple(id(q[y]) for y in inside): (q, sums[g]) for q, sums in pairs}
            if not all(mass.is_zero() or mass > 0 for _, mass in laws.values()):
                refuse(f"{where}: a group has a mass too small to distinguish from zero")
            within = [[q[y] / mass for y in inside] for q, mass in laws.values() if not mass.is_zero()]
            if len(inside) > 1 and not contracts(within, limit):
                refuse(f"{where}: eta = {eta} is not shown to bound the contraction coefficient of group {g}")


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield the one bound."""
    outputs, cells = question.channel.outputs, question.cells
    s = arb(above_zero(proof, "s", where))
    eta = min(1.0, number(field(proof, "eta", "it"), "eta", low=0.0))
    theta = arb(number(field(proof, "theta", "it"), "theta", low=0.0, high=1.0))
    omega = arb(number(proof.get("omega", 0.0), "omega"))
    rho = [arb(r) for r in numbers(field(proof, "rho", "it"), outputs, "rho")]
    lam: list[list[Ball]] = []
    if not theta.is_zero():
        listed = sequence(field(proof, "lam", "it"), "lam", len(cells))
        lam = [[arb(x) for x in numbers(row, outputs, "lam")] for row in listed]
    values = []
    for a, cell in enumerate(cells):
        row = Row(question.channel, cell, [0] * outputs)
        if lam:
            row.check_contraction(eta, f"value {a}")
        values.append(_row_value(row, s, (theta, theta * eta, omega), rho, lam[a] if lam else None))
    yield where, close(values, s, question.knowledge.most) + log_sum_exp(rho)


def _row_value(row: Row, s: Ball, shares: tuple[Ball, Ball, Ball], rho: list[Ball], lam: list[Ball] | None) -> Ball:
    """Guarantee: the result holds sigma LSE_c( log rho_c + h_c / sigma ); shares are theta, theta eta and omega."""
    theta, pull, omega = shares
    phi, fine, curved, constant = row.phi(), [-r for r in rho], ONE - theta, ZERO
    if lam is not None:
        zeta = [x + omega * p for x, p in zip(row.fine.times(lam), phi, strict=True)]
        weights = [mass * z.exp() for mass, z in zip(row.rho, zeta, strict=True)]
        # log u0, and 0 for an exact zero, whose coefficients are then zero as well
        log_law = [ZERO if u.is_zero() else u.log() for u in row.fine.combined(weights)]
        fine = [x + theta * u - pull * m for x, u, m in zip(fine, log_law, lam, strict=True)]
        curved -= pull * omega
        constant = (pull - theta) * sum(weights, ZERO).log()
    h = [x + curved * p for x, p in zip(row.fine.times(fine), phi, strict=True)]
    return gain(row.log_rho, h, s, ZERO if lam is None else pull) + constant
