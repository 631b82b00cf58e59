r"""Proofs by branch and bound over the laws of grouped outputs ("boxes").

A secret is fixed. Cells c = (a,t) have reference mass rho_c and row q_c; a prior gives them
pi_c = p_a w_c, with D(pi || rho) <= K. phi(u) = u log u, u_a = sum_c w_c q_c, v = sum_a p_a u_a.
For every row a the outputs are split into groups G; Q_cG = sum_{y in G} q_cy, U_a = sum_c w_c Q_c.
The tree splits the box of all U_a(G); a prior belongs to some leaf (where p_a = 0 take any point
mass for w_a), and at a leaf lo <= U_a(G) <= hi. Why the bound of a leaf holds there:

1. I = sum_a p_a sum_y phi(u_a) - sum_y v log v, and by Gibbs -sum v log v <= LSE(r) - sum_y v_y r_y for
   any numbers r (`rho` in the certificate). Adding s (K - D(pi || rho)) >= 0 leaves, in w_a for each a,
       F(w) - w.(q r) + s( H(w) + w.log rho ),   F(w) = sum_y phi(u(y)),
   then s H(p) and the constants LSE(r) + s K. Maximising over p gives s LSE_a( g_a / s ) if every row's
   expression is at most g_a.
2. (1-theta) F <= (1-theta) sum_c w_c sum_y phi(q_cy), by convexity (Jensen).
3. Let 0 <= eta <= 1 bound the contraction of all within-group channels. By the chain rule, on
   (group, output) and on (cell, group),
       D(u||u0) = D(U||U0) + sum_G U_G D(u|G || u0|G) <= D(U||U0) + eta sum_G U_G D(w|G || w0|G)
                = (1-eta) D(U||U0) + eta D(w||w0).
   So Psi = F - (1-eta) F_coarse + eta H, F_coarse = sum_G phi(U_G), is concave: the three divergences are
   what it differs by from its tangent at w0. That tangent is the linear function with coefficients
       sum_y q_cy log u0(y) - (1-eta) sum_G Q_cG log U0_G - eta log w0_c,
   unchanged when w0 is scaled, so w0 need not be normalised here: w0_c = rho_c exp(zeta_c),
   zeta_c = q_c.lam + sum_G omega_G phi(Q_cG).
4. theta F = theta Psi + theta (1-eta) F_coarse - theta eta H. Since 1-eta >= 0, phi(U_G) may be replaced by
   anything above it: its secant on [lo,hi], the linear alpha U + beta, or Jensen's sum_c w_c phi(Q_cG), or
   a mixture, kappa in [0,1].
5. For any signs, sum_G max(mu hi, mu lo) - sum_G mu U_G >= 0 is added.
6. What is left in w is linear, plus (s - theta eta) H(w) = sigma H(w). Collecting log rho_c, too,
       max_w { sum_c w_c (h_c + sigma log rho_c) + sigma H(w) } = sigma LSE_c( log rho_c + h_c / sigma ) = g_a.

eta above 1 counts as 1, which every channel satisfies; step 4 would be false with 1-eta < 0.
For singleton groups eta = 0 holds trivially, Psi = 0, and the tangent is left out.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from flint import arb

from .balls import ONE, ZERO, Ball, Rows, float_above, float_below, log_sum_exp, xlogx
from .cells import Channel, Question
from .closing import close, gain
from .contraction import contracts
from .limits import tick
from .order import products
from .reading import field as entry
from .reading import number, numbers, refuse, sequence, whole
from .tree import leaves


class Multipliers(NamedTuple):
    """What a leaf says about one row; None stands for the default (mu 0, kappa 1, lam 0, omega 0)."""

    theta: float
    mu: list[float] | None
    kappa: list[float] | None
    lam: list[float] | None
    omega: list[float] | None


class Interval:
    """lo <= U(G) <= hi for the groups of one row; floats, rounded outward."""

    __slots__ = ("_secants", "_tight", "high", "low")

    def __init__(self, low: list[float], high: list[float]) -> None:
        """Take the ends as they are."""
        self.low = low
        self.high = high
        self._tight: Interval | None = None
        self._secants: dict[int, tuple[Ball, Ball]] = {}

    @property
    def empty(self) -> bool:
        """Whether no U lies here."""
        return any(high < low for low, high in zip(self.low, self.high, strict=True))

    def split(self, group: int, cut: float) -> tuple["Interval", "Interval"]:
        """Return the parts U(group) <= cut and U(group) >= cut of the tightened box."""
        box = self.tightened()
        high, low = box.high.copy(), box.low.copy()
        high[group] = min(high[group], cut)
        low[group] = max(low[group], cut)
        return Interval(box.low, high), Interval(low, box.high)

    def tightened(self, rounds: int = 3) -> "Interval":
        """Guarantee: holds every U of this box that sums to one; a step outward covers the rounding."""
        if self._tight is None:
            low, high = self.low, self.high
            for _ in range(rounds):
                before = low, high
                high = [min(end, math.nextafter(_left_over(low, g), 2.0)) for g, end in enumerate(high)]
                low = [max(end, math.nextafter(_left_over(high, g), -2.0)) for g, end in enumerate(low)]
                if before == (low, high):
                    break
            self._tight = Interval(low, high)
        return self._tight

    def secant(self, group: int) -> tuple[Ball, Ball]:
        """Guarantee: alpha U + beta >= U log U on [lo,hi]."""
        if group not in self._secants:
            self._secants[group] = secant(self.low[group], self.high[group])
        return self._secants[group]


def secant(low: float, high: float) -> tuple[Ball, Ball]:
    """Guarantee: alpha u + beta >= u log u on [low,high]. Any alpha serves, as u log u is convex: beta decides."""
    at_low, at_high = xlogx(arb(low)), xlogx(arb(high))
    slope = 1 + math.log(low) if low > 0 else 0.0
    if high > low:
        slope = float((at_high - at_low) / (arb(high) - arb(low)))
    alpha = arb(slope if math.isfinite(slope) else 0.0)
    return alpha, (at_low - alpha * low).max(at_high - alpha * high)


def _logs(law: list[Ball]) -> list[Ball]:
    """log u, and 0 for an exact zero, whose coefficients are then zero as well."""
    return [ZERO if u.is_zero() else u.log() for u in law]


def _left_over(ends: list[float], group: int) -> float:
    """Return 1 minus all ends but one, rounded once (fsum adds without loss)."""
    tick()
    return math.fsum((1.0, ends[group], *(-x for x in ends)))


class Row:
    """The cells of one secret value, their groups of outputs, and the linear algebra of steps 2 to 6."""

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
        self._default: tuple[list[Ball], list[Ball]] | None = None

    def sums(self, q: Sequence[Ball]) -> list[Ball]:
        """Return the sum over each group of what is given for each output."""
        sums = [ZERO] * self.size
        for x, g in zip(q, self.groups, strict=True):
            sums[g] = x if sums[g] is ZERO else sums[g] + x
        return sums

    @cached_property
    def phi_coarse(self) -> Rows:
        """phi(Q_cG)."""
        return Rows([[xlogx(x) for x in sums] for sums in self.coarse])

    def phi(self) -> list[Ball]:
        """Return sum_y q log q of every cell."""
        return [self._channel.phi(r) for r in self._cell]

    def hull(self) -> Interval:
        """Return the least box that holds every U, rounded outward."""
        if self.size == 1:
            return Interval([1.0], [1.0])
        low = [max(0.0, min(map(float_below, sums))) for sums in zip(*self.coarse, strict=True)]
        return Interval(low, [max(map(float_above, sums)) for sums in zip(*self.coarse, strict=True)])

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

    def _laws(self, lam: list[float] | None, omega: list[float] | None) -> tuple[list[Ball], list[Ball]]:
        """log u0(y) and log U0_G of w0 = rho exp(zeta)."""
        if lam is None and omega is None and self._default is not None:
            return self._default
        weights = self.rho
        if lam is not None or omega is not None:
            zeta = [ZERO] * len(self.rows)
            if lam is not None:
                zeta = self.fine.times(lam)
            if omega is not None:
                zeta = [z + o for z, o in zip(zeta, self.phi_coarse.times(omega), strict=True)]
            weights = [r * z.exp() for r, z in zip(self.rho, zeta, strict=True)]
        fine = self.fine.combined(weights)
        coarse = self.sums(fine) if self.size > 1 else [sum(weights, ZERO)]
        laws = _logs(fine), _logs(coarse)
        if lam is None and omega is None:
            self._default = laws
        return laws

    def value(self, box: Interval, s: Ball, eta: float, fine: list[Ball], leaf: Multipliers) -> Ball:
        """Guarantee: the result holds g_a of steps 2 to 6; `fine` are the coefficients -r of step 1."""
        theta, pull = arb(leaf.theta), arb(leaf.theta) * arb(eta)
        mixed = theta - pull if eta < 1 else ZERO
        linear, curved, constant = self._coarse_terms(box, mixed, leaf)
        if not pull.is_zero():
            fine, linear, curved = self._tangent(fine, linear, curved, (theta, pull, mixed), leaf)
        coefficients = [x + linear[g] for x, g in zip(fine, self.groups, strict=True)]
        h = self.fine.times(coefficients)
        if not all(x.is_zero() for x in curved):
            h = [x + y for x, y in zip(h, self.phi_coarse.times(curved), strict=True)]
        if leaf.theta < 1:
            rest = 1 - theta
            h = [x + rest * p for x, p in zip(h, self.phi(), strict=True)]
        return gain(self.log_rho, h, s, pull) + constant

    def _tangent(
        self,
        fine: list[Ball],
        linear: list[Ball],
        curved: list[Ball],
        weights: tuple[Ball, Ball, Ball],
        leaf: Multipliers,
    ) -> tuple[list[Ball], list[Ball], list[Ball]]:
        """Step 3: add the tangent at w0 to the coefficients; weights are theta, theta eta and theta (1-eta)."""
        theta, pull, mixed = weights
        log_fine, log_coarse = self._laws(leaf.lam, leaf.omega)
        fine = [x + theta * u for x, u in zip(fine, log_fine, strict=True)]
        if not mixed.is_zero():
            linear = [x - mixed * u for x, u in zip(linear, log_coarse, strict=True)]
        if leaf.lam is not None:
            fine = [x - pull * arb(m) for x, m in zip(fine, leaf.lam, strict=True)]
        if leaf.omega is not None:
            curved = [x - pull * arb(m) for x, m in zip(curved, leaf.omega, strict=True)]
        return fine, linear, curved

    def _coarse_terms(self, box: Interval, mixed: Ball, leaf: Multipliers) -> tuple[list[Ball], list[Ball], Ball]:
        """Steps 4 and 5: coefficients of Q_cG and of phi(Q_cG), and a constant; mixed = theta (1-eta)."""
        linear, curved, constant = [ZERO] * self.size, [ZERO] * self.size, ZERO
        for g, mu in enumerate(leaf.mu or ()):
            if mu:
                constant += arb(mu) * arb(box.high[g] if mu > 0 else box.low[g])
                linear[g] = -arb(mu)
        if mixed.is_zero():
            return linear, curved, constant
        for g, kappa in enumerate(leaf.kappa or [1.0] * self.size):
            if kappa < 1:
                alpha, beta = box.secant(g)
                weight = mixed * (1 - arb(kappa))
                linear[g] += weight * alpha
                constant += weight * beta
            if kappa > 0:
                curved[g] = mixed * arb(kappa)
        return linear, curved, constant


class Boxes:
    """A "boxes" proof for one secret: its groups and eta checked, its leaves evaluated on demand."""

    def __init__(self, cells: list[dict[int, Ball]], channel: Channel, knowledge: Ball, proof: dict[str, Any]) -> None:
        """Read and check what all leaves share."""
        many, self.outputs, self.knowledge = len(cells), channel.outputs, knowledge
        groups = sequence(entry(proof, "groups", "it"), "groups", many)
        etas = numbers(entry(proof, "eta", "it"), many, "eta", low=0.0)
        self.rows: list[Row] = []
        self.eta = [min(1.0, eta) for eta in etas]
        for a, cell in enumerate(cells):
            named = sequence(groups[a], f"groups of value {a}", self.outputs)
            listed = [whole(g, f"a group of value {a}", 0, self.outputs - 1) for g in named]
            row = Row(channel, cell, listed)
            row.check_contraction(self.eta[a], f"value {a}")
            self.rows.append(row)

        self.size = sum(row.size for row in self.rows)

    @property
    def root(self) -> list[Interval]:
        """The box that every prior lies in."""
        return [row.hull() for row in self.rows]

    def split(self, box: list[Interval], cut: Any) -> tuple[list[Interval], list[Interval]]:  # noqa: ANN401 - JSON
        """Return the two halves of a box at [secret value, group, number]; together they cover it."""
        a, g, c = sequence(cut, "a split", 3)
        whole(a, "the secret value of a split", 0, len(self.rows) - 1)
        whole(g, "the group of a split", 0, self.rows[a].size - 1)
        left, right = box[a].split(g, number(c, "the number of a split"))
        return [*box[:a], left, *box[a + 1 :]], [*box[:a], right, *box[a + 1 :]]

    def bound(self, box: list[Interval], leaf: dict[str, Any]) -> Ball | None:
        """Guarantee: I <= result for every prior in this box; None when the box is empty."""
        if any(side.empty or side.tightened().empty for side in box):
            return None
        s = arb(number(entry(leaf, "s", "it"), "s"))
        if not s > 0:
            refuse("s must be above 0")
        rho = [arb(r) for r in numbers(entry(leaf, "rho", "it"), self.outputs, "rho")]
        fine = [-r for r in rho]
        theta = numbers(leaf["theta"], len(self.rows), "theta", 0.0, 1.0) if "theta" in leaf else None
        values = []
        for a, row in enumerate(self.rows):
            multipliers = Multipliers(
                1.0 if theta is None else theta[a],
                _listed(leaf, "mu", a, row.size),
                _listed(leaf, "kappa", a, row.size),
                _listed(leaf, "lam", a, self.outputs),
                _listed(leaf, "omega", a, row.size),
            )
            if multipliers.kappa is not None and not all(0 <= k <= 1 for k in multipliers.kappa):
                refuse("kappa must lie between 0 and 1")
            values.append(row.value(box[a].tightened(), s, self.eta[a], fine, multipliers))
        return close(values, s, self.knowledge) + log_sum_exp(rho)


def _listed(leaf: dict[str, Any], key: str, a: int, length: int) -> list[float] | None:
    """Return the multipliers of row a under this key, None when the leaf leaves them out."""
    if key not in leaf:
        return None
    rows = sequence(leaf[key], key)
    if a >= len(rows):
        refuse(f"{key} has {len(rows)} rows, too few")
    return numbers(rows[a], length, key)


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield place and bound of every leaf."""
    tree = Boxes(question.cells, question.channel, question.knowledge.most, proof)
    return leaves(proof, tree, where)
