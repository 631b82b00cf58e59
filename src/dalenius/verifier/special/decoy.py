"""A bound for channels that tell the truth or a decoy, "decoy": no tree, one supremum for each row and corner.

The channel is m_t = e_t delta_own(t) + sum_j alpha_j(t) nu_j, no two rows with the same own output, e_t >= 0; or every
entry of it is at least 1 - b times that of m, which costs b log|A|. For a value a of the secret, K_a = K + log rho(a) -
log(1 - (1 - rho(a)) e^K) bounds D(w_a || rho_a), hence w_a(t) <= top(t) and W_j = sum_t alpha_j(t) w_a(t), by Gibbs.
A grid of boxes covers the W. For a law r > 0, s > 0, and at every corner c of every box any lam and mu_j,

    g_a = max over corners of  lam + sum_j ( max(mu_j low_j, mu_j high_j) - M_j c_j ) + 1 + sum_y sup_x f_y(x),
    f(x) = u log(u/r) - (lam + e + sum_j mu_j alpha_j) x - s x log(x/rho_a),   u = e x + sum_j c_j nu_j(y) >= 0,

x = w_a(t) in [0, top], y = own(t), M_j = sum_y nu_j(y), is at least D(w_a m || r) - s D(w_a || rho_a), which closes
(kernel/closing.py). f is concave up to end = s c / (e (e - s)), c = u(0), or everywhere if e <= s, and convex beyond:
it is at most the larger of f(top) and of its tangent at a point of the concave part. Proof: docs/proofs/decoys.md.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any

from flint import arb

from dalenius.verifier.forms.written import Asked
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, divergence, log_sum_exp, matrix
from dalenius.verifier.kernel.cells import Shares
from dalenius.verifier.kernel.closing import close, largest_of
from dalenius.verifier.kernel.limits import tick
from dalenius.verifier.kernel.reading import above_zero, field, mapping, number, numbers, refuse, sequence, whole

Balls = Sequence[Ball]


class _Channel:
    """m, read from a proof: own, alpha (J x T), nu (J x Y), M, e, r, s."""

    def __init__(self, proof: dict[str, Any], size: int, width: int) -> None:
        self.own = [whole(y, "an own output", 0, width - 1) for y in sequence(field(proof, "own", "it"), "own", size)]
        if len(set(self.own)) < size:
            refuse("two rows have the same own output")
        listed = sequence(field(proof, "alpha", "it"), "alpha")
        self.alpha = [[arb(x) for x in numbers(row, size, "alpha")] for row in listed]
        laws = sequence(field(proof, "nu", "it"), "nu", len(listed))
        self.nu = [[arb(x) for x in numbers(row, width, "nu")] for row in laws]
        self.mass = [sum(row, ZERO) for row in self.nu]
        self.truth = [ONE - _dot(self.mass, column) for column in zip(*self.alpha, strict=True)]
        weights = [arb(x) for x in numbers(field(proof, "r", "it"), width, "r", low=0.0)]
        total = sum(weights, ZERO)
        self.r = [x / total for x in weights]
        self.s = arb(above_zero(proof, "s", "it"))
        if not listed or not all(e >= 0 for e in self.truth) or not all(x > 0 for x in self.r):
            refuse("it needs a decoy, chances of truth that are not below 0, and r above 0")

    def left_out(self, rows: list[list[Ball]]) -> Ball:
        """Return b, at least 1 - q/m wherever m has mass."""
        most, made = ZERO, (matrix(self.alpha).transpose() * matrix(self.nu)).tolist()
        for row, m, own, e in zip(rows, made, self.own, self.truth, strict=True):
            tick()
            m[own] += e
            if not all(x >= 0 for x in m):
                refuse("a row has a probability below 0")
            most = largest_of([most, *(1 - q / x for q, x in zip(row, m, strict=True) if not x.is_zero())])
        return most


def bound(asked: Asked, proof: dict[str, Any], where: str) -> Ball:
    """Guarantee: I(A;Y) <= result for every prior that the adversary may hold."""
    rows, cells = asked.question.channel.rows, asked.question.cells
    channel, most = _Channel(proof, len(rows), len(rows[0])), asked.knowledge.most
    differs = channel.left_out(rows)
    exponents = []
    listed = sequence(field(proof, "values", where), "the values", len(cells))
    for masses, value in zip(cells, listed, strict=True):
        share = sum(masses.values(), ZERO)
        law = {t: mass / share for t, mass in masses.items()}
        room = 1 - (1 - share) * most.exp()
        # Where nothing bounds D(w_a || rho_a), the range of alpha bounds W.
        limit = most + share.log() - room.log() if room > 0 else None
        gain = largest_of(_gains(channel, law, limit, mapping(value, "a value")))
        exponents.append(channel.s * share.log() + gain)
    return close(exponents, channel.s, most) + differs * arb(len(cells)).log()


def _gains(channel: _Channel, law: Shares, limit: Ball | None, value: dict[str, Any]) -> Iterator[Ball]:
    """Yield the bound on D(w m || r) - s D(w || rho_a) of every corner of every box."""
    size, many = len(channel.own), len(channel.alpha)
    top = [arb(x) for x in numbers(field(value, "top", "a value"), size, "top", low=0.0)]
    for t, rho in law.items():
        if not (
            top[t] >= 1
            or (limit is not None and top[t] > rho and divergence((top[t], 1 - top[t]), (rho, 1 - rho)) >= limit)
        ):
            refuse(f"row {t} may have more mass than its top")
    boxes = [list(pairwise(points)) for points in _grid(channel, law, limit, value)]
    # Counted before any is made: few numbers can make very many corners.
    count = prod(sum(len(set(ends)) for ends in pairs) for pairs in boxes)
    multipliers = [sequence(field(value, key, "a value"), key, count) for key in ("lam", "mu", "points")]
    corners = ((box, at) for box in product(*boxes) for at in product(*(sorted(set(ends)) for ends in box)))
    unowned = set(range(len(channel.r))) - set(channel.own)
    for (box, at), lam, listed, points in zip(corners, *multipliers, strict=True):
        tick()
        mu = [arb(x) for x in numbers(listed, many, "mu")]
        x = numbers(points, size, "points", low=0.0)
        base = (matrix([list(map(arb, at))]) * matrix(channel.nu)).entries()
        if not all(c >= 0 for c in base):
            refuse("decoys have a negative weight at a corner")
        price = arb(number(lam, "lam"))
        total = price + 1 - _dot(channel.mass, list(map(arb, at)))
        for m, ends in zip(mu, box, strict=True):
            total += (m * ends[0]).max(m * ends[1])
        total += sum((_term(base[y], channel.r[y]) for y in unowned), ZERO)
        for t, y in enumerate(channel.own):
            cost = price + _dot(mu, [row[t] for row in channel.alpha])
            about = channel.truth[t], base[y], channel.r[y], cost, channel.s
            total += _supremum(*about, law[t], top[t], arb(x[t])) if t in law else _term(base[y], channel.r[y])
        yield total


def _grid(channel: _Channel, law: Shares, limit: Ball | None, value: dict[str, Any]) -> Iterator[list[float]]:
    """Yield the grid of every coordinate, whose ends enclose W_j."""
    grids = sequence(field(value, "grid", "a value"), "the grid", len(channel.alpha))
    tilts = sequence(field(value, "tilts", "a value"), "the tilts", len(channel.alpha))
    for alpha, points, pair in zip(channel.alpha, grids, tilts, strict=True):
        grid = numbers(points, len(sequence(points, "the grid")), "the grid")
        down, up = numbers(pair, 2, "the tilts", low=0.0)
        if len(grid) < 2 or sorted(grid) != grid:
            refuse("a grid needs two points or more, ascending")
        if not (-grid[0] >= _most(law, [-x for x in alpha], limit, down) and grid[-1] >= _most(law, alpha, limit, up)):
            refuse("a grid does not enclose what priors allow")
        yield grid


def _most(law: Shares, alpha: Balls, limit: Ball | None, tilt: float) -> Ball:
    """Guarantee: sum_t alpha(t) w(t) <= result where D(w || rho_a) <= limit."""
    if tilt == 0 or limit is None:
        return largest_of(alpha[t] for t in law)
    return tilt * (limit + log_sum_exp(rho.log() + alpha[t] / tilt for t, rho in law.items()))


def _supremum(  # noqa: PLR0917 - the letters of the formula
    e: Ball, c: Ball, r: Ball, price: Ball, s: Ball, rho: Ball, top: Ball, x: Ball
) -> Ball:
    """Guarantee: f <= result on [0, top]; x: a point of the concave part, or 0 where there is none."""

    def f(x: Ball) -> Ball:
        return _term(e * x + c, r) - (price + e) * x - s * x * (x / rho).log()

    if x.is_zero() and c.is_zero() and e > s:
        return f(top).max(ZERO)
    end = top if e <= s else arb.min(top, s * c / (e * (e - s)))
    if not (x > 0 and x <= end):
        refuse("a point is not in the concave part")
    slope = (ZERO if e.is_zero() else e * ((e * x + c) / r).log()) - price - s * (x / rho).log() - s
    return f(top).max(f(x) + (slope * (end - x)).max(-slope * x))


def _term(u: Ball, r: Ball) -> Ball:
    return ZERO if u.is_zero() else u * (u / r).log()


def _dot(xs: Balls, ys: Balls) -> Ball:
    return sum((x * y for x, y in zip(xs, ys, strict=True)), ZERO)
