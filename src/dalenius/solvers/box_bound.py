"""The one upper bound of the tree: rows in boxes, contraction, secants and Jensen's cut (MATH 4.2-4.6).

Fix a row a. Its outputs are in groups G with contraction coefficient eta inside the groups, u = w q is
its output law, U its group law, F = sum_y phi(u_y), Fc = sum_G phi(U_G), phi(u) = u log u. Then

    F - (1-eta) Fc + eta H(w)  is concave in w, so it lies under its tangent at any w0;
    phi(U_G) <= (1-kappa)(alpha U_G + beta) + kappa sum_t w_t phi(Q_tG)     on lo <= U_G <= hi,

(secant of phi on the box, Jensen's cut), and a share 1-theta of F may be left to Jensen's cut alone.
What remains is linear in w but for sigma H(w), sigma = s - theta eta > 0. With r = softmax(rho),
multipliers mu of the box and w0 ~ rho_ref exp(q.lam + phi(Q).omega) the maximum over priors is

    h = -q.rho - mu.Q + max(mu lo, mu hi) + theta(1-eta) sum_G[...] + theta[ q.log u0 - (1-eta) Q.log U0
        - eta log(w0/rho_ref) ] + (1-theta) sum_y phi(q)
    bound = s LSE_a( sigma_a LSE_t( log rho_ref + h/sigma_a ) / s ) + LSE(rho) + s K.

One group and eta < s is the contraction certificate (4.3), single outputs and eta = 0 the plain box
bound (4.5), theta < 1 or kappa = 1 at the root the convex bound (4.4). Every iterate is a valid bound.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from dalenius.solvers.cells import Cells, Floats, lse, phi

TINY = 1e-300
LARGEST_MU = 1e3  # the multiplier of a box of no width would grow for ever


@dataclass(frozen=True, eq=False)
class Frame:
    """A problem with its outputs grouped: what all nodes of one tree share."""

    cells: Cells
    groups: list[list[int]]  # group of each output, by row
    eta: Floats  # (A,)
    theta: Floats  # (A,)
    s_floor: float  # s stays above it; at least max(theta eta)

    @cached_property
    def g_size(self) -> int:
        """Most groups of any row."""
        return max(max(row) + 1 for row in self.groups)

    @cached_property
    def e(self) -> Floats:
        """(A, Y, G) membership."""
        return np.eye(self.g_size)[np.array(self.groups)]

    @cached_property
    def q_group(self) -> Floats:
        """(C, G) group law of each cell, by the groups of its row."""
        parts = [self.cells.q[part] @ self.e[a] for a, part in enumerate(self.cells.slices)]
        return np.concatenate(parts)

    @cached_property
    def phi_group(self) -> Floats:
        """(C, G) phi of the group law."""
        return phi(self.q_group)

    @cached_property
    def tau(self) -> Floats:
        """(A,) entropy spent on contraction."""
        return np.asarray(self.theta * self.eta)

    @cached_property
    def curved(self) -> Floats:
        """(A,) weight of phi(U_G) that boxes must bound."""
        return np.asarray(self.theta * (1 - self.eta))

    @cached_property
    def tangent(self) -> bool:
        """Whether any row spends entropy on contraction."""
        return bool((self.tau > 0).any())

    def hull(self) -> tuple[Floats, Floats]:
        """The root box: the range of each group's probability over the cells of a row, (A, G)."""
        low = np.minimum.reduceat(self.q_group, self.cells.starts, axis=0)
        high = np.maximum.reduceat(self.q_group, self.cells.starts, axis=0)
        return tighten(low, high)


@dataclass(frozen=True, eq=False)
class Point:
    """Dual variables of a batch of nodes. Floats: rho (B,Y), lo/hi multipliers, kappa (B,A,G), s (B,) ..."""

    rho: Floats
    mu_lo: Floats
    mu_hi: Floats
    kappa: Floats
    s: Floats
    lam: Floats  # (B, A, Y)
    omega: Floats  # (B, A, G)

    def take(self, index: object) -> "Point":
        """Return the nodes of an index array or mask."""
        return Point(*(getattr(self, f.name)[index] for f in fields(self)))

    def put(self, index: object, other: "Point") -> None:
        """Overwrite the nodes of an index array."""
        for f in fields(self):
            getattr(self, f.name)[index] = getattr(other, f.name)

    def copy(self) -> "Point":
        """Return an independent copy."""
        return Point(*(getattr(self, f.name).copy() for f in fields(self)))

    @staticmethod
    def stack(points: "list[Point]") -> "Point":
        """Join batches."""
        return Point(*(np.concatenate([getattr(p, f.name) for p in points]) for f in fields(Point)))


def start(frame: Frame, s: float, lam: Floats | None = None) -> Point:
    """Return a strictly interior point to begin the root from."""
    a, y, g = frame.cells.a_size, frame.cells.y_size, frame.g_size
    box = np.full((1, a, g), 1e-2)
    lam = np.zeros((1, a, y)) if lam is None else lam
    above = np.array([max(s, 1.5 * frame.s_floor, 1e-2)])
    return Point(np.zeros((1, y)), box.copy(), box.copy(), np.full((1, a, g), 0.8), above, lam, np.zeros((1, a, g)))


def tighten(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Shrink boxes by sum_G U_G = 1: three rounds, upper ends first. Empty boxes stay empty."""
    for _ in range(3):
        high = np.minimum(high, 1 - (low.sum(axis=-1, keepdims=True) - low))
        low = np.maximum(low, 1 - (high.sum(axis=-1, keepdims=True) - high))
    return low, high


def secant(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Slope and intercept of the line through phi at both ends; it lies above phi between them."""
    width = high - low
    point = width < 1e-13  # noqa: PLR2004 - a point: any line through it, and the box multiplier does the rest
    slope = np.where(point, np.log(np.maximum(high, TINY)), (phi(high) - phi(low)) / np.where(point, 1.0, width))
    return slope, phi(low) - slope * low


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A bound and the prior (p, w) at which the relaxation attains it."""

    bound: Floats  # (B,)
    p: Floats  # (B, A)
    w: Floats  # (B, C) conditional within each row: w0 where a tangent is used
    zeta: Floats  # (B, C) log(w / rho_ref)


def evaluate(frame: Frame, low: Floats, high: Floats, x: Point) -> Evaluation:
    """Guarantee: bound >= I(A;Y) of every prior in the box with D(pi || rho) <= K, up to rounding."""
    cells = frame.cells
    slope, intercept = secant(low, high)
    curved, theta, eta, tau = (v[:, None] for v in (frame.curved, frame.theta, frame.eta, frame.tau))
    mu = x.mu_hi - x.mu_lo
    by_output = _spread(frame, curved * (1 - x.kappa) * slope - mu) - x.rho[:, None, :]
    by_phi = curved * x.kappa
    constant = (curved * (1 - x.kappa) * intercept + np.maximum(mu * low, mu * high)).sum(axis=-1)
    w = zeta = np.empty(0)
    if frame.tangent:
        w, zeta, normaliser = _conditional(frame, x)
        u = _row_law(frame, w)
        log_u = np.log(np.maximum(u, TINY))
        log_group = np.log(np.maximum(_gather(frame, u), TINY))
        by_output = by_output + theta * (log_u - eta * x.lam) - _spread(frame, curved * log_group)
        by_phi = by_phi - tau * x.omega
        constant = constant + frame.tau * normaliser
    h = cells.dot_rows(cells.q, by_output) + cells.dot_rows(frame.phi_group, by_phi) + constant[:, cells.secret]
    h += ((1 - frame.theta)[cells.secret]) * cells.neg_entropy
    sigma = x.s[:, None] - frame.tau
    exponent = h / sigma[:, cells.secret] + cells.log_rho
    inner = cells.row_lse(exponent)
    outer = sigma * inner / x.s[:, None]
    total = lse(outer)
    bound = x.s * total + lse(x.rho) + x.s * cells.knowledge
    if not frame.tangent:
        zeta = exponent - cells.log_rho - inner[:, cells.secret]
        w = np.exp(exponent - inner[:, cells.secret])
    return Evaluation(np.where(np.isnan(bound), np.inf, bound), np.exp(outer - total[:, None]), w, zeta)


def _spread(frame: Frame, by_group: Floats) -> Floats:
    """(B, A, G) -> (B, A, Y): the value of each output's group."""
    return np.asarray(np.einsum("bag,ayg->bay", by_group, frame.e))


def _gather(frame: Frame, by_output: Floats) -> Floats:
    """(B, A, Y) -> (B, A, G): the sum over each group."""
    return np.asarray(np.einsum("bay,ayg->bag", by_output, frame.e))


def _conditional(frame: Frame, x: Point) -> tuple[Floats, Floats, Floats]:
    """w0 ~ rho_ref exp(q.lam + phi(Q).omega), log(w0/rho_ref), and the log normaliser of each row."""
    cells = frame.cells
    tilt = cells.dot_rows(cells.q, x.lam) + cells.dot_rows(frame.phi_group, x.omega)
    normaliser = cells.row_lse(tilt + cells.log_rho)
    zeta = tilt - normaliser[:, cells.secret]
    return np.exp(zeta + cells.log_rho), zeta, normaliser


def _row_law(frame: Frame, w: Floats) -> Floats:
    """u(a, y) = sum_t w(t|a) q(y|a,t): (B, C) -> (B, A, Y)."""
    return frame.cells.joint(w)


@dataclass(frozen=True, eq=False)
class Solved:
    """Best bounds of a batch with the points that give them and the group laws there."""

    bound: Floats  # (B,)
    point: Point
    p: Floats  # (B, A)
    u_group: Floats  # (B, A, G)


def minimise(frame: Frame, low: Floats, high: Floats, x: Point, target: float, barrier: tuple[float, float], rounds: int) -> Solved:  # noqa: E501, PLR0913
    """Minimise the bound of each node by damped Newton steps with a log barrier; stop below the target.

    Between dual steps w0 follows the maximiser of the (concave) row problems by its own Newton step.
    """
    x = x.copy()
    many = x.s.size
    best, best_x = np.full(many, np.inf), x.copy()
    best_p = np.full((many, frame.cells.a_size), 1.0 / frame.cells.a_size)
    best_u = np.zeros((many, frame.cells.a_size, frame.g_size))
    t = np.full(many, barrier[0])
    active = np.arange(many)
    for k in range(rounds):
        now = x.take(active)
        if frame.tangent:
            now = _follow(frame, low[active], high[active], now, newton=k > 1)
        seen = evaluate(frame, low[active], high[active], now)
        better = seen.bound < best[active]
        spot = active[better]
        best[spot], best_p[spot] = seen.bound[better], seen.p[better]
        best_u[spot] = _gather(frame, _row_law(frame, seen.w[better]))
        best_x.put(spot, now.take(better))
        on = (best[active] > target) & np.isfinite(seen.bound)
        if k == rounds - 1 or not on.any():
            break
        active = active[on]
        seen = Evaluation(seen.bound[on], seen.p[on], seen.w[on], seen.zeta[on])
        new, length = _newton(frame, low[active], high[active], now.take(on), seen, t[active])
        x.put(active, new)
        t[active] = np.maximum(t[active] * np.where(length > 0.5, 0.2, 0.7), barrier[1])  # noqa: PLR2004
    return Solved(best, best_x, best_p, best_u)


def _curvature(frame: Frame, z: Floats, p: Floats) -> Floats:
    """S with Hessian of the tangent part = q S q' in row a: theta( 1/z - (1-eta)/Z - eta/p ), (B, A, Y, Y)."""
    inverse = np.where(z > TINY, 1 / np.maximum(z, TINY), 0.0)
    zg = _gather(frame, z)
    inverse_group = np.where(zg > TINY, 1 / np.maximum(zg, TINY), 0.0)
    eye = np.eye(z.shape[-1])
    same = np.einsum("bag,ayg,axg->bayx", inverse_group, frame.e, frame.e)
    theta, eta = frame.theta[:, None, None], frame.eta[:, None, None]
    return np.asarray(theta * (inverse[..., None] * eye - (1 - eta) * same - eta / np.maximum(p, TINY)[..., None, None]))


def _response(frame: Frame, w: Floats, p: Floats, s: Floats) -> Floats:
    """S (I - M S / s)^-1 with M = q' diag(pi) q: how the rows bend the plain covariance (Woodbury), (B, A, Y, Y)."""
    cells = frame.cells
    pi = p[:, cells.secret] * w
    bend = _curvature(frame, cells.joint(pi), p)
    moments = np.stack([np.einsum("bc,cy,cx->byx", pi[:, part], cells.q[part], cells.q[part], optimize=True) for part in cells.slices], axis=1)  # noqa: E501
    inside = np.eye(cells.y_size) - bend @ moments / s[:, None, None, None]
    return np.linalg.solve(inside, bend)


def _follow(frame: Frame, low: Floats, high: Floats, x: Point, *, newton: bool) -> Point:
    """Move w0 towards the maximiser of the row problems for the dual variables at hand.

    Stationarity: log(w/rho_ref) = [ h without tangent + theta( q.log u - (1-eta) Q.log U ) ] / s + const.
    """
    cells = frame.cells
    seen = evaluate(frame, low, high, x)
    u = _row_law(frame, seen.w)
    slope, _ = secant(low, high)
    curved, theta = frame.curved[:, None], frame.theta[:, None]
    s = x.s[:, None, None]
    log_u, log_group = np.log(np.maximum(u, TINY)), np.log(np.maximum(_gather(frame, u), TINY))
    mu = x.mu_hi - x.mu_lo
    lam = (_spread(frame, curved * ((1 - x.kappa) * slope - log_group) - mu) - x.rho[:, None, :] + theta * log_u) / s
    omega = curved * x.kappa / s
    if newton:
        residual = cells.dot_rows(cells.q, lam - x.lam) + cells.dot_rows(frame.phi_group, omega - x.omega)
        residual -= cells.row_sum(seen.w * residual)[:, cells.secret]
        drive = cells.joint(seen.p[:, cells.secret] * seen.w * residual)
        push = (_response(frame, seen.w, seen.p, x.s) @ drive[..., None])[..., 0] / s
        size = np.abs(push).max(axis=(1, 2), keepdims=True)
        lam = lam + push * np.minimum(1.0, 3.0 / np.maximum(size, TINY))
    return replace(x, lam=lam, omega=np.broadcast_to(omega, x.omega.shape).copy())


def _newton(frame: Frame, low: Floats, high: Floats, x: Point, seen: Evaluation, t: Floats) -> tuple[Point, Floats]:
    """One damped Newton step on bound + barrier in (rho, mu, kappa, s); returns the point and the step length."""
    cells, n = frame.cells, x.s.size
    a, y, g = cells.a_size, cells.y_size, frame.g_size
    slope, intercept = secant(low, high)
    pi = seen.p[:, cells.secret] * seen.w
    # features of the cells: d h / d variable
    own = np.zeros((n, cells.size, a, g))
    at = np.arange(cells.size)
    f = np.empty((n, cells.size, y + 3 * a * g + 1))
    f[:, :, :y] = -cells.q
    for k, feature in enumerate(
        (
            frame.q_group - low[:, cells.secret],
            high[:, cells.secret] - frame.q_group,
            frame.curved[cells.secret, None]
            * (frame.phi_group - slope[:, cells.secret] * frame.q_group - intercept[:, cells.secret]),
        )
    ):
        own[:, at, cells.secret] = feature
        f[:, :, y + k * a * g : y + (k + 1) * a * g] = own.reshape(n, cells.size, a * g)
    log_ratio = np.log(np.maximum(seen.p, TINY))[:, cells.secret] + seen.zeta
    f[:, :, -1] = -log_ratio
    mean = np.einsum("bc,bcd->bd", pi, f)
    weighted = f * pi[:, :, None]
    s = x.s[:, None, None]
    hessian = (np.swapaxes(weighted, 1, 2) @ f - mean[:, :, None] * mean[:, None, :]) / s
    if frame.tangent:
        bend = _response(frame, seen.w, seen.p, x.s)
        for row, part in enumerate(cells.slices):
            load = np.einsum("cy,bcd->byd", cells.q[part], weighted[:, part])
            hessian += np.swapaxes(load, 1, 2) @ bend[:, row] @ load / s**2
    gradient = mean
    gradient[:, -1] += cells.knowledge
    r = np.exp(x.rho - lse(x.rho)[:, None])
    gradient[:, :y] += r
    hessian[:, :y, :y] += np.eye(y) * (r[:, None, :] + 1e-9) - r[:, :, None] * r[:, None, :] + 1e-3
    # log barrier: mu > 0, 0 < kappa < 1, s > floor
    mu_lo, mu_hi, kappa = (v.reshape(n, -1) for v in (x.mu_lo, x.mu_hi, x.kappa))
    above = np.concatenate([mu_lo, mu_hi, kappa, (x.s - frame.s_floor)[:, None]], axis=1)
    below = 1 - kappa
    tt = t[:, None]
    gradient[:, y:] -= tt / above
    gradient[:, y + 2 * a * g : -1] += tt / below
    extra = tt / above**2
    extra[:, 2 * a * g : -1] += tt / below**2
    at_diagonal = np.arange(f.shape[2])
    hessian[:, at_diagonal, at_diagonal] += 1e-12
    hessian[:, at_diagonal[y:], at_diagonal[y:]] += extra
    step = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
    bad = ~np.isfinite(step).all(axis=1)
    step[bad] = 0.0
    down, up = step[:, y:], step[:, y + 2 * a * g : -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(down < 0, -above / down, np.inf).min(axis=1)
        room_up = np.where(up > 0, below / up, np.inf).min(axis=1)
    length = np.minimum(1.0, 0.9 * np.minimum(room, room_up))
    length = np.minimum(length, 2.0 / np.maximum(np.abs(step[:, :y]).max(axis=1), 1e-9))
    step = step * length[:, None]
    rho = x.rho + step[:, :y]
    moved = step[:, y:-1].reshape(n, 3, a, g)
    new = replace(
        x,
        rho=rho - rho.max(axis=1, keepdims=True),
        mu_lo=np.minimum(x.mu_lo + moved[:, 0], LARGEST_MU),
        mu_hi=np.minimum(x.mu_hi + moved[:, 1], LARGEST_MU),
        kappa=x.kappa + moved[:, 2],
        s=x.s + step[:, -1],
    )
    return new, length
