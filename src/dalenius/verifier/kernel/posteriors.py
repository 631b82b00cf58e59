"""Proofs by branch and bound over posteriors ("posteriors").

Cells c = (a,t) have reference mass rho_c and row q_c. Outputs are split into groups G, the same for all secret values;
Q_cG is a sum over a group. The tree cuts the box 0 <= v(a|G) <= 1 of all posteriors (cuts.py; with "ratios": true also
ratios.py). eta, at most 1, bounds the contraction of the within-group channels of every value. On a leaf, for sigma >
0, s = sigma + eta, secants alpha v + beta >= v log v, any multipliers m, and pi0_c = rho_c exp(q_c.lam_a) / M with
posteriors v0, closing.py closes with theta = 1 - eta and

    h_c = sum_G Q_cG [ (1-eta) ( alpha_aG + sum_a' beta_a'G ) + sum_a' max(m high, m low)_a'G - m_aG ]
          + sum_y q_cy [ log v0(a|y) - (1-eta) log v0(a|G) - eta lam_ay ] + eta log M,

that is (1+sigma) log sum_a exp( sigma / (1+sigma) LSE_c( log rho_c + h_c / sigma ) ) + s K. For single outputs eta = 0,
and the tangent at pi0 is left out. Proof: docs/mathematics.md, 4.10.

The tree is packed (packed.py). Its leaves are bounded in doubles where NumPy is installed (doubles.py), and in balls
where it is not or where doubles do not suffice.

A "rows" proof is the row bound at one (r, s), every secret value with a tree of its own. For any law r, I(A;Y) <= sum_a
p(a) D(w_a q || r) closes with g_a the maximum over w of D(wq || r) - s sum_t w(t) log( w(t) / rho(a,t) ). The tree of a
row cuts the box 0 <= u(y) <= 1 of its output law u = w q as above those of one group. On a leaf

    h_t = sum_y q_ty [ alpha_y - m_y + sum_x ( beta_x + max(m high, m low)_x ) ] - sum_y q_ty log r_y,

and g_a <= s LSE_t( log rho(a,t) + h_t / s ): the formula for a secret of one value, with sigma = s, K = 0, the second
term of h as its tangent, and sums over outputs in place of sums over values (docs/mathematics.md, 4.2 and 4.5).
"""

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from operator import index
from typing import Any, NamedTuple

from flint import arb

from . import doubles
from .balls import ONE, ZERO, Ball, Rows, float_below, log_sum_exp
from .cells import Channel, Question
from .closing import close, largest_of
from .convex import Row, secant
from .cuts import Box, Frame, Functions, Level, Number, OneByOne, Ratios, Scalars, Together
from .limits import tick, ticking
from .packed import LARGEST_POWER, LEAST_POWER, Leaves, levels, read_leaves
from .reading import field, mapping, number, numbers, refuse, sequence, whole

# Tangents that leaves can name in one byte.
TANGENTS = 2**8
# Secants that are remembered.
SECANTS = 2**16


class Point(NamedTuple):
    """What a leaf says: sigma, its multipliers in the order of the boxes, and which tangent."""

    sigma: float
    m: list[float]
    tangent: int


class Posteriors:
    """A "posteriors" proof for one secret: its groups and eta checked, its leaves evaluated on demand."""

    # The sigma of all leaves, where they do not say it (`OneRow`).
    s: float | None = None

    def __init__(self, cells: list[dict[int, Ball]], channel: Channel, knowledge: Ball, proof: dict[str, Any]) -> None:
        """Read and check what all leaves share."""
        self.outputs, self.knowledge = channel.outputs, knowledge
        named = sequence(field(proof, "groups", "it"), "groups", self.outputs)
        groups = [whole(g, "a group", 0, self.outputs - 1) for g in named]
        eta = min(1.0, number(field(proof, "eta", "it"), "eta", low=0.0))
        self.rows = [Row(channel, cell, groups) for cell in cells]
        for a, row in enumerate(self.rows):
            row.check_contraction(eta, f"value {a}")
        self.groups, self.many = groups, max(groups) + 1
        self.single = self.rows[0].singletons
        self.eta = 0.0 if self.single else eta
        self.secant: Callable[[float, float], tuple[Ball, Ball]] = lru_cache(SECANTS)(secant)
        tightens = field(proof, "ratios", "it")
        if not isinstance(tightens, bool):
            refuse(f"ratios = {tightens!r} is neither true nor false")
        # A secret of one value has no odds.
        ratios = Ratios([row.coarse for row in self.rows]) if tightens and len(self.rows) > 1 else None
        self.frame = Frame(len(self.rows), self.many, ratios)
        self.tangents = [] if self.single else self._tangents(proof)

    @property
    def shape(self) -> tuple[int, int]:
        """Values with boxes, and groups: the boxes of a leaf in their order."""
        return self.frame.boxed, self.many

    def bound(self, box: Box, leaf: Point) -> Ball:
        """Guarantee: I <= result for every prior in this box."""
        low, high = ([x[i : i + self.many] for i in range(0, len(x), self.many)] for x in (box.low, box.high))
        m = [leaf.m[i : i + self.many] for i in range(0, len(leaf.m), self.many)]
        if len(m) < len(self.rows):
            # Two values: the first has what the second leaves (doubles.py has the same numbers), and no multiplier.
            low.insert(0, [max(1.0 - x - doubles.U, 0.0) for x in high[0]])
            high.insert(0, [min(1.0 - x + doubles.U, 1.0) for x in low[1]])
            m.insert(0, [0.0] * self.many)
        sigma = arb(leaf.sigma)
        inverse = 1 / sigma
        linear = self._linear(low, high, m)
        values = []
        for a in range(len(self.rows)):
            constant = self.tangents[leaf.tangent][a] if self.tangents else None
            values.append(sigma * self.log_mass(a, [x * inverse for x in linear[a]], constant, inverse))
        eta = arb(self.eta)
        return close(values, sigma + eta, self.knowledge, theta=1 - eta)

    def log_mass(self, a: int, coefficients: list[Ball], constant: list[Ball] | None, inverse: Ball) -> Ball:
        """Guarantee: the result holds log sum_c rho_c exp( sum_G Q_cG coefficient_G + constant_c inverse )."""
        exponents = self._coarse[a].times([*coefficients, ONE])
        if constant is not None:
            exponents = [x + g * inverse for x, g in zip(exponents, constant, strict=True)]
        return log_sum_exp(exponents)

    def in_doubles(self, np: Any) -> doubles.Doubles:
        """The same problem in doubles."""
        coarse, rho = [row.coarse for row in self.rows], [row.rho for row in self.rows]
        return doubles.Doubles(np, coarse, rho, self.eta, self.knowledge, self.tangents, across=self.frame.paired)

    @cached_property
    def _coarse(self) -> list[Rows]:
        """Q_cG and log rho_c of every secret value."""
        pairs = (zip(row.coarse, row.log_rho, strict=True) for row in self.rows)
        return [Rows([[*sums, log_rho] for sums, log_rho in cells]) for cells in pairs]

    def _linear(self, low: list[list[float]], high: list[list[float]], m: list[list[float]]) -> list[list[Ball]]:
        """The coefficients of Q_cG in h, by secret value."""
        share = None if self.single else ONE - self.eta
        result: list[list[Ball]] = [[] for _ in self.rows]
        commons: list[Ball] = []
        for g in range(self.many):
            lines = [self.secant(lows[g], highs[g]) for lows, highs in zip(low, high, strict=True)]
            if share is not None:
                lines = [(share * alpha, share * beta) for alpha, beta in lines]
            common = sum([beta for _, beta in lines], ZERO)
            slopes = [alpha for alpha, _ in lines]
            for a, row in enumerate(m):
                if row[g]:
                    x = arb(row[g])
                    common += x * (high[a][g] if row[g] > 0 else low[a][g])
                    slopes[a] -= x
            commons.append(common)
            for coefficients, slope in zip(result, slopes, strict=True):
                coefficients.append(slope)
        if not self.frame.paired:
            # Of one law over outputs (`OneRow`).
            commons = [sum(commons, ZERO)] * self.many
        return [[x + common for x, common in zip(row, commons, strict=True)] for row in result]

    def _tangents(self, proof: dict[str, Any]) -> list[list[list[Ball]]]:
        """g of every tangent, secret value and cell."""
        listed = sequence(field(proof, "tangents", "it"), "tangents")
        if not 1 <= len(listed) <= TANGENTS:
            refuse(f"there are {len(listed)} tangents, where 1 to {TANGENTS} are needed")
        return [self._tangent(lam, f"tangent {t}") for t, lam in enumerate(listed)]

    def _tangent(self, value: object, where: str) -> list[list[Ball]]:
        """What the tangent adds to h, by secret value and cell; the rows sum to one, so eta log M is in it."""
        tick()
        many = len(self.rows)
        listed = sequence(value, where, many)
        lam = [[arb(x) for x in numbers(row, self.outputs, f"{where}, value {a}")] for a, row in enumerate(listed)]
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
        coefficients = (
            [
                v - share * log_group[a][g] + self.eta * (log_total - x)
                for v, g, x in zip(log_v[a], self.groups, lam[a], strict=True)
            ]
            for a in range(many)
        )
        return [row.fine.times(column) for row, column in zip(self.rows, coefficients, strict=True)]


def _log_posteriors(z: list[list[Ball]]) -> list[list[Ball]]:
    """log( z_ay / z_y ), and 0 for an exact zero, whose coefficients are then zero as well."""
    totals = [sum(column_, ZERO) for column_ in zip(*z, strict=True)]
    return [[ZERO if x.is_zero() else (x / t).log() for x, t in zip(row, totals, strict=True)] for row in z]


class OneRow(Posteriors):
    """One secret value: boxes are of its output law, and sums over values become sums over outputs."""

    def __init__(self, channel: Channel, cell: dict[int, Ball], s: float, fine: list[Ball]) -> None:
        """Take the cells of the value; fine are the coefficients -log r."""
        self.outputs = self.many = channel.outputs
        self.groups = list(range(self.many))
        self.rows = [Row(channel, cell, self.groups)]
        self.single, self.eta, self.knowledge, self.s = True, 0.0, ZERO, s
        self.frame = Frame(self.many, 1, None, paired=False)
        self.tangents = [[self.rows[0].fine.times(fine)]]
        self.secant = lru_cache(SECANTS)(secant)

    @property
    def shape(self) -> tuple[int, int]:
        """One value, and all outputs."""
        return 1, self.many


def multiplier(scale: Number, code: Number, of: Functions) -> tuple[Number, Number]:
    """Return sigma of a code at a scale, both whole, and the unit of m there; both are doubles exactly."""
    bits = 3 * (scale + 1)
    power = code >> bits
    return of.ldexp(1.0 + of.ldexp(1.0 * (code - (power << bits)), -bits), power), of.ldexp(1.0, -4 * (scale + 1))


class Tree:
    """A tree of posteriors that was read, and the bounds of its leaves."""

    def __init__(self, problem: Posteriors, proof: dict[str, Any], where: str) -> None:
        """Read the codes and the numbers of the leaves."""
        self.problem, self.where = problem, where
        boxes = problem.frame.boxes
        self.levels = list(levels(field(proof, "tree", "it"), boxes))
        self.size = sum(codes.count(boxes) for codes in self.levels)
        tangents, with_sigma = len(problem.tangents), problem.s is None
        self.read: Leaves = read_leaves(field(proof, "leaves", "it"), self.size, boxes, tangents, with_sigma=with_sigma)
        for n, scale in ticking(zip(self.read.sigma or (), self.read.scale, strict=with_sigma)):
            if not LEAST_POWER <= n >> 3 * (scale + 1) <= LARGEST_POWER:
                refuse(f"sigma of a leaf is not between 2^{LEAST_POWER} and 2^{LARGEST_POWER + 1}")

    def bounds(self, claimed: float) -> Iterator[tuple[str, Ball]]:
        """Yield bounds of all leaves: in doubles where that shows them to be at most this, else in balls."""
        entries = sum(len(row.rho) for row in self.problem.rows) * self.problem.many
        np = doubles.numpy(self.size, entries)
        # After the import, which may bring libraries that change how this process rounds.
        if not doubles.ordinary():
            refuse("this process rounds numbers in another way than IEEE 754 does by default")
        if np is not None:
            arithmetic = self.problem.in_doubles(np)
            if arithmetic.usable:
                yield from self._together(np, arithmetic, claimed)
                return
        first = 0
        for boxes in self._walk(OneByOne(self.problem.frame)):
            for i, box in enumerate(boxes, first):
                yield f"{self.where}, leaf {i}", self.problem.bound(box, self._point(i))
            first += len(boxes)

    def _walk(self, boxes: Any) -> Iterator[Any]:
        """Yield the boxes of the leaves of every level; together with those found empty they cover everything."""
        level = boxes.root
        for depth, codes in enumerate(self.levels):
            tick()
            if not boxes.empty(level, codes):
                refuse(f"{self.where}: a box at depth {depth} of the tree is named empty, and is not shown to be")
            yield boxes.leaves(level, codes)
            level = boxes.halves(level, codes)

    def _point(self, i: int) -> Point:
        """What leaf i says."""
        boxes = self.problem.frame.boxes
        sigma, unit = multiplier(self.read.scale[i], self.read.sigma[i] if self.read.sigma else 0, Scalars)
        sigma = sigma if self.problem.s is None else self.problem.s
        m = [unit * k for k in self.read.m[i * boxes : (i + 1) * boxes]]
        return Point(sigma, m, 0 if self.read.tangent is None else self.read.tangent[i])

    def _together(self, np: Any, arithmetic: doubles.Doubles, claimed: float) -> Iterator[tuple[str, Ball]]:
        """Yield the largest bound of some leaves at a time, and every bound that had to be found in balls."""
        read, first = self.read, 0
        shape = (-1, *self.problem.shape)
        scale = np.frombuffer(read.scale, np.uint8).astype(np.int32)
        sigmas = np.zeros(self.size, np.int32) if read.sigma is None else np.asarray(read.sigma)
        m = np.asarray(read.m).reshape(shape)
        tangents = np.zeros(self.size, np.uint8) if read.tangent is None else np.frombuffer(read.tangent, np.uint8)
        for level in self._walk(Together(self.problem.frame, np)):
            for start in range(0, len(level.low), doubles.LEAVES):
                part = Level(*(x[start : start + doubles.LEAVES] for x in level))
                at = slice(first + start, first + start + len(part.low))
                sigma, unit = multiplier(scale[at], sigmas[at], np)
                if self.problem.s is not None:
                    sigma = np.full_like(sigma, self.problem.s)
                low, high = part.low.reshape(shape), part.high.reshape(shape)
                found = arithmetic.bounds(low, high, m[at] * unit[:, None, None], sigma, tangents[at])
                # Not a number is not shown either.
                shown = found <= claimed
                for i in np.flatnonzero(~shown).tolist():
                    box = Box(part.low[i].ravel().tolist(), part.high[i].ravel().tolist(), empty=False)
                    number_ = at.start + i
                    yield f"{self.where}, leaf {number_}", self.problem.bound(box, self._point(number_))
                if shown.any():
                    worst = index(np.where(shown, found, -np.inf).argmax())
                    yield f"{self.where}, leaf {at.start + worst}", arb(float(found[worst]))
            first += len(level.low)


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield place and bound of the leaves."""
    problem = Posteriors(question.cells, question.channel, question.knowledge.most, proof)
    # It decides which leaves are looked at again in balls.
    upper = number(field(proof, "upper", "it"), "upper")
    return Tree(problem, proof, where).bounds(float_below(arb(upper) - question.lost))


def rows_bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield the one bound: the largest bound of a row's leaves bounds that row."""
    s = number(field(proof, "s", "it"), "s")
    if not 2.0**LEAST_POWER <= s <= 2.0**LARGEST_POWER:
        refuse(f"s = {s!r} is not between 2^{LEAST_POWER} and 2^{LARGEST_POWER}")
    rho = [arb(r) for r in numbers(field(proof, "rho", "it"), question.channel.outputs, "rho")]
    fine = [-r for r in rho]
    listed = sequence(field(proof, "rows", "it"), "rows", len(question.cells))
    gains = []
    for a, (cell, item) in enumerate(zip(question.cells, listed, strict=True)):
        problem, place = OneRow(question.channel, cell, s, fine), f"{where}, row {a}"
        values = [value for _, value in Tree(problem, mapping(item, f"row {a}"), place).bounds(float("inf"))]
        if not values:
            refuse(f"row {a} has no leaf that is not empty")
        gains.append(largest_of(values))
    yield where, close(gains, arb(s), question.knowledge.most) + log_sum_exp(rho)
