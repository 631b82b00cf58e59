"""Truth or decoy: a bound for channels that tell the truth with some chance, and else a decoy (MATH 4.15).

A row is q_t = e_t delta_own(t) + sum_j alpha_j(t) nu_j: its own output with chance e_t, else something from a few laws
nu_j that all rows share, or differences of such laws. With W_j = sum_t alpha_j(t) w(t) in a box, D(wq || r) is at most
its largest value at a corner of the box with W held there, and what is left is a sum over outputs of functions of one
w(t) each. So a bound over all priors needs neither a tree nor more than one supremum on an interval for each output.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np

from dalenius.bounds.closing import Formula, close
from dalenius.numerics.information import TINY
from dalenius.numerics.types import Bools, Floats, Ints

# Steps of bisections, and of the search for the tilt that encloses W; margins for their rounding.
HALVINGS = 80
TILTS = np.exp(np.linspace(-6.0, 5.0, 300))
MARGIN = 1e-9
# Shares and probabilities that count as 0 when a channel's form is looked for.
NOTHING = 1e-13


@dataclass(frozen=True, eq=False)
class Decoys:
    """A channel: the output own(t) of every row, alpha (J, T) and nu (J, Y)."""

    own: Ints
    alpha: Floats
    nu: Floats

    @cached_property
    def truth(self) -> Floats:
        """e_t, (T,)."""
        return np.asarray(1.0 - self.nu.sum(axis=1) @ self.alpha)

    @cached_property
    def rows(self) -> Floats:
        """(T, Y)."""
        rows = self.alpha.T @ self.nu
        rows[np.arange(self.own.size), self.own] += self.truth
        return np.asarray(rows)

    @cached_property
    def mirrored(self) -> bool:
        """Whether rows and outputs in reverse order are the same channel."""
        pairs = zip((self.alpha, self.nu), self._reversed, strict=True)
        return np.array_equal(self.own + self.own[::-1], np.full_like(self.own, self.nu.shape[1] - 1)) and all(
            np.array_equal(*pair) for pair in pairs
        )

    @property
    def _reversed(self) -> tuple[Floats, Floats]:
        """Alpha and nu of the mirror image, where the first of several coordinates changes its sign."""
        sign = np.ones((len(self.alpha), 1))
        sign[0] = -1.0 if len(sign) > 1 else 1.0
        return sign * self.alpha[:, ::-1], sign * self.nu[:, ::-1]

    def evened(self, near: float = 1e-9) -> "Decoys":
        """The same, or its mean with its mirror image where they are near each other."""
        pairs = list(zip((self.alpha, self.nu), self._reversed, strict=True))
        same = all(np.allclose(*pair, rtol=0.0, atol=near * np.abs(pair[0]).max()) for pair in pairs)
        alpha, nu = ((one + other) / 2 for one, other in pairs)
        return replace(self, alpha=alpha, nu=nu) if same else self


@dataclass(frozen=True, eq=False)
class Feasible:
    """What a prior within the knowledge K allows given a value a of the secret: rho (A, T) is the reference."""

    rho: Floats
    knowledge: float

    @cached_property
    def values(self) -> Floats:
        """rho(a), (A,)."""
        return np.asarray(self.rho.sum(axis=1))

    @cached_property
    def given(self) -> Floats:
        """rho_a(t), (A, T)."""
        return np.asarray(self.rho / self.values[:, None])

    @cached_property
    def most(self) -> Floats:
        """K_a, (A,): at least D(w_a || rho_a)."""
        p = self.values
        room = 1 - (1 - p) * np.exp(self.knowledge)
        with np.errstate(all="ignore"):
            found = self.knowledge + np.log(p) - np.log(room)
        return np.where(room > MARGIN, found * (1 + MARGIN) + MARGIN, np.inf)

    @cached_property
    def top(self) -> Floats:
        """kappa, (A, T): at least w_a(t)."""
        low, high, rho = self.given.copy(), np.ones_like(self.given), np.maximum(self.given, TINY)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            with np.errstate(all="ignore"):
                apart = middle * np.log(middle / rho) + np.where(
                    middle < 1, (1 - middle) * np.log((1 - middle) / (1 - rho)), 0.0
                )
            over = apart > self.most[:, None]
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        return np.where(self.given > 0, np.minimum(1.0, high * (1 + MARGIN) + 1e-15), 0.0)

    def ends(self, a: int, alpha: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
        """Bounds on sum_t alpha(t) w_a(t) from below and above, and the tilts (0: none) by which Gibbs proves them."""
        (low, down), (high, up) = self._above(a, -alpha), self._above(a, alpha)
        return (-low, high), (down, up)

    def _above(self, a: int, alpha: Floats) -> tuple[float, float]:
        held = self.given[a] > 0
        best = float(alpha[held].max())
        if not np.isfinite(self.most[a]) or best <= float(alpha[held].min()):
            return best, 0.0
        x, p = alpha[held] - best, self.given[a][held]
        bounds = best + TILTS * (self.most[a] + np.log(np.exp(x / TILTS[:, None]) @ p))
        k = int(bounds.argmin())
        return (float(bounds[k]) + MARGIN, float(TILTS[k])) if bounds[k] + MARGIN < best else (best, 0.0)


@dataclass(frozen=True, eq=False)
class Corners:
    """The pieces of a bound about a value a of the secret: every corner of every box of a grid over W.

    grid: its points by coordinate, both ends included. tilts: see Feasible.ends. box: low and high ends (P, J, 2).
    at: the corners (P, J). Multipliers are lam (P,) and mu (P, J).
    """

    value: int
    grid: tuple[Floats, ...]
    tilts: tuple[tuple[float, float], ...]
    box: Floats
    at: Floats

    @classmethod
    def of(cls, feasible: Feasible, value: int, alpha: Floats, parts: int) -> "Corners":
        """A grid of so many equal parts of the first coordinate, and one of others; what is constant has one point."""
        grid, tilts = list[Floats](), []
        for row in alpha:
            ends, tilt = feasible.ends(value, row)
            grid.append(np.linspace(*ends, parts + 1 if not grid and ends[0] < ends[1] else 2))
            tilts.append(tilt)
        boxes = product(*(pairwise(points.tolist()) for points in grid))
        pieces = [(box, corner) for box in boxes for corner in product(*(sorted(set(ends)) for ends in box))]
        return cls(value, tuple(grid), tuple(tilts), np.array([b for b, _ in pieces]), np.array([c for _, c in pieces]))


@dataclass(frozen=True, eq=False)
class Multipliers:
    """lam (P,) and mu (P, J) of the pieces of one value."""

    lam: Floats
    mu: Floats


@dataclass(frozen=True, eq=False)
class Suprema:
    """Of every piece and row: where the concave part of f has its maximum, (P, T); the bounds, (P,)."""

    points: Floats
    bounds: Floats
    # The points at which f is largest.
    worst: Floats


def suprema(decoys: Decoys, feasible: Feasible, r: Floats, s: float, part: tuple[Corners, Multipliers]) -> Suprema:
    """Evaluate the bound on sup_w D(wq || r) - s D(w || rho_a), piece by piece."""
    corners, multipliers = part
    a, e, alpha = corners.value, decoys.truth, decoys.alpha
    rho, top = feasible.given[a], feasible.top[a]
    base = np.maximum(corners.at @ decoys.nu, 0.0)  # (P, Y)
    c, log_r = base[:, decoys.own], np.log(r[decoys.own])
    price = multipliers.lam[:, None] + multipliers.mu @ alpha  # (P, T)
    log_rho = np.log(np.maximum(rho, TINY))

    def value(x: Floats) -> Floats:
        u = e * x + c
        with np.errstate(all="ignore"):
            own = np.where(u > 0, u * (np.log(np.maximum(u, TINY)) - log_r), 0.0)
            return np.asarray(own - (price + e) * x - np.where(x > 0, s * x * (np.log(x) - log_rho), 0.0))

    def slope(x: Floats) -> Floats:
        return np.asarray(e * (np.log(e * x + c) - log_r) - price - s * (np.log(x) - log_rho) - s)

    with np.errstate(all="ignore"):
        concave = np.where(e > s, s * c / (e * (e - s)), np.inf)
    end = np.minimum(concave, top)
    low, high = np.log(np.maximum(end, TINY)) - 60.0, np.log(np.maximum(end, TINY))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rising = slope(np.exp(middle)) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    x = np.where(end > 0, np.exp((low + high) / 2) * (1 - 1e-12), 0.0)
    held = (rho > 0) & (x > 0)
    # Tangent at x over the concave part, and the end of the convex one.
    tangent = value(np.maximum(x, TINY)) + np.maximum(
        slope(np.maximum(x, TINY)) * (end - x), -slope(np.maximum(x, TINY)) * x
    )
    inner = np.where(held, tangent, value(np.zeros_like(x)))
    last = value(np.broadcast_to(top, x.shape))
    outside = np.setdiff1d(np.arange(r.size), decoys.own)
    with np.errstate(all="ignore"):
        rest = np.where(base > 0, base * (np.log(np.maximum(base, TINY)) - np.log(r)), 0.0)[:, outside].sum(axis=1)
    ends = corners.box * multipliers.mu[:, :, None]
    mass = decoys.nu.sum(axis=1)
    bounds = multipliers.lam + ends.max(axis=2).sum(axis=1) - corners.at @ mass + 1 + rest
    bounds = bounds + np.maximum(inner, last).sum(axis=1)
    return Suprema(x, bounds, np.where(last > inner, top, x))


def decoy_proof(
    decoys: Decoys, feasible: Feasible, r: Floats, s: float, parts: list[tuple[Corners, Multipliers]]
) -> Formula:
    """The bound with all values of the secret, in the order of `parts`, and its data for a certificate."""
    gains, listed = [], list[dict[str, Any]]()
    for corners, multipliers in parts:
        found = suprema(decoys, feasible, r, s, (corners, multipliers))
        gains.append(found.bounds.max())
        listed.append({
            "top": feasible.top[corners.value].tolist(),
            "tilts": [list(pair) for pair in corners.tilts],
            "grid": [points.tolist() for points in corners.grid],
            "lam": multipliers.lam.tolist(),
            "mu": multipliers.mu.tolist(),
            "points": found.points.tolist(),
        })  # fmt: skip
    upper = float(close(np.log(feasible.values), np.array(gains), feasible.knowledge, s=s))
    data = {
        "own": decoys.own.tolist(), "alpha": decoys.alpha.tolist(), "nu": decoys.nu.tolist(),
        "r": r.tolist(), "s": s, "values": listed,
    }  # fmt: skip
    return Formula("decoy", upper, data, s=s, doubt=1e-10, written=True)


def stated(proof: Formula, order: Ints, outputs: Ints, width: int) -> Formula:
    """A proof as certificates have it, about all outputs: these are its own, and the rows are its blocks in this order.

    Outputs that never occur have hardly any weight together.
    """
    data = dict(proof.data)
    data["own"] = outputs[order].tolist()
    data["alpha"] = np.array(data["alpha"])[:, order].tolist()
    data["nu"] = [_spread(law, outputs, width, 0.0) for law in data["nu"]]
    data["r"] = _spread(data["r"], outputs, width, 1e-13 / width)
    data["values"] = [
        {**value, "top": np.array(value["top"])[order].tolist(), "points": np.array(value["points"])[:, order].tolist()}
        for value in data["values"]
    ]
    return replace(proof, data=data)


def _spread(values: list[float], places: Ints, width: int, rest: float) -> list[float]:
    spread = np.full(width, rest)
    spread[places] = values
    return spread.tolist()


def recognised(rows: Floats, near: float = 1e-9) -> tuple[Decoys, float] | None:
    """The form of a channel of different rows, one or two laws of decoys and a constant, and b; None where it has none.

    Every entry of the channel is at least 1 - b times that of the form. The own output of a row is where it exceeds
    other rows most; what is left of the rows are multiples of one of them, or sums of multiples of two.
    """
    places = np.arange(len(rows))
    first, second = np.sort(rows, axis=0)[-1:-3:-1]
    excess = np.where(rows == first, rows - second, -1.0)
    own = excess.argmax(axis=1)
    if len(set(own.tolist())) < own.size or not (excess[places, own] > 0).all():
        return None
    told = np.zeros(rows.shape, dtype=bool)
    told[places, own] = True
    # A constant may be mixed in: where it is, nothing is asked of the rows.
    at = int(np.argmax(rows.mean(axis=0)))
    open_ = ~told
    open_[:, at] = False
    for many in (1, 2):
        shares = _multiples(rows, open_, many)
        if shares is not None:
            break
    else:
        return None
    laws, constant = np.zeros((many, rows.shape[1])), 0.0
    for y in range(rows.shape[1]):
        held = ~told[:, y]
        columns = np.c_[shares[held], np.ones(held.sum())] if y == at else shares[held]
        solved = np.linalg.lstsq(columns, rows[held, y], rcond=None)[0]
        laws[:, y] = np.where(np.abs(solved[:many]) > NOTHING, solved[:many], 0.0)
        constant += float(solved[many:].sum())
    if (masses := laws.sum(axis=1)).min() <= 0:
        return None
    shares, laws = (shares * masses).T, laws / masses[:, None]
    if many == 2:
        shares = np.stack([shares[0] - shares[1], shares.sum(axis=0)])
        laws = np.stack([laws[0] - laws[1], laws.sum(axis=0)]) / 2
    shares = np.where(np.ptp(shares, axis=1, keepdims=True) <= near * np.abs(shares).max(), shares[:, :1], shares)
    if abs(constant) > near:
        shares, laws = np.r_[shares, np.full((1, len(rows)), constant)], np.r_[laws, np.eye(rows.shape[1])[at][None]]
    found = Decoys(own, shares, laws).evened()
    made = np.where(np.abs(found.rows) > NOTHING, found.rows, 0.0)
    with np.errstate(all="ignore"):
        missed = max(0.0, float(np.where(made > 0, 1 - rows / made, 0.0).max()))
    return (found, missed) if missed <= near and found.truth.min() >= 0 and made.min() >= 0 else None


def _multiples(rows: Floats, open_: Bools, many: int) -> Floats | None:
    """(T, many) how much of each of so many rows every row has, where it is open; None where that is not all of it."""
    chosen = [int(np.argmax(np.where(open_, rows, 0.0).sum(axis=1)))]
    while True:
        shares, left = np.zeros((len(rows), len(chosen))), np.zeros(len(rows))
        for t, row in enumerate(rows):
            held = open_[t] & open_[chosen].all(axis=0)
            shares[t] = np.linalg.lstsq(rows[np.ix_(chosen, held)].T, row[held], rcond=None)[0]
            shares[t] = np.where(np.abs(shares[t]) > NOTHING, shares[t], 0.0)
            left[t] = np.abs(row[held] - shares[t] @ rows[np.ix_(chosen, held)]).max(initial=0.0)
        if left.max() <= NOTHING:
            return shares
        if len(chosen) == many:
            return None
        chosen.append(int(left.argmax()))
