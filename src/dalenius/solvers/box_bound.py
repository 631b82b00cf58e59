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
from numpy.typing import NDArray

from dalenius.solvers.cells import Cells, Floats, lse, phi

Ints = NDArray[np.int64]

TINY = 1e-300
NEGLIGIBLE = 1e-7
SLOW = 1e-3  # share of its distance to the target that a node must gain in eight rounds
HALVINGS = 5
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
    def box_variables(self) -> int:
        """A x G, or 0 where one group per row leaves nothing to bound."""
        return self.cells.a_size * self.g_size if self.g_size > 1 else 0

    @cached_property
    def tangent(self) -> bool:
        """Whether any row spends entropy on contraction, so that the bound has a tangent at w0."""
        return bool((self.tau > 0).any())

    @cached_property
    def follows(self) -> bool:
        """Whether w0 matters: where it stands for rounding only, it stays at the reference."""
        return bool((self.tau > NEGLIGIBLE).any())

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

    def take(self, index: object) -> "Evaluation":
        """Return the nodes of an index array or mask."""
        return Evaluation(*(getattr(self, f.name)[index] for f in fields(self)))

    def put(self, index: object, other: "Evaluation") -> None:
        """Overwrite the nodes of an index array."""
        for f in fields(self):
            getattr(self, f.name)[index] = getattr(other, f.name)


def evaluate(frame: Frame, low: Floats, high: Floats, x: Point) -> Evaluation:
    """Guarantee: bound >= I(A;Y) of every prior in the box with D(pi || rho) <= K, up to rounding."""
    cells = frame.cells
    slope, intercept = secant(low, high)
    curved, theta, eta, tau = (v[:, None] for v in (frame.curved, frame.theta, frame.eta, frame.tau))
    mu = x.mu_hi - x.mu_lo
    by_output = _spread(frame, curved * (1 - x.kappa) * slope - mu) - x.rho[:, None, :]
    by_phi = curved * x.kappa
    constant = (curved * (1 - x.kappa) * intercept + x.mu_hi * high - x.mu_lo * low).sum(axis=-1)
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
    if not frame.follows:
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


def minimise(  # noqa: PLR0913 - one call per batch
    frame: Frame, low: Floats, high: Floats, x: Point, target: float, barrier: tuple[float, float], rounds: int
) -> Solved:
    """Minimise the bound of each node by Newton steps with a log barrier; stop below the target.

    Between dual steps w0 follows the maximiser of the (concave) row problems by its own Newton step.
    """
    many = x.s.size
    best = Solved(
        np.full(many, np.inf),
        x.copy(),
        np.full((many, frame.cells.a_size), 1.0 / frame.cells.a_size),
        np.zeros((many, frame.cells.a_size, frame.g_size)),
    )
    active, t, mark = np.arange(many), np.full(many, barrier[0]), best.bound.copy()
    now, seen = _look(frame, low, high, x, newton=False)
    for k in range(rounds):
        _keep_best(frame, best, active, now, seen)
        on = (best.bound[active] > target) & np.isfinite(seen.bound)
        if k % 8 == 7:  # noqa: PLR2004 - every so often, let go of nodes that no longer improve
            on &= mark[active] - best.bound[active] > SLOW * np.abs(best.bound[active] - target)
            mark = best.bound.copy()
        if k == rounds - 1 or not on.any():
            break
        active, now, seen = active[on], now.take(on), seen.take(on)
        now, seen, length = _newton(frame, low[active], high[active], now, seen, t[active])
        t[active] = np.maximum(t[active] * np.where(length > 0.5, 0.2, 0.7), barrier[1])  # noqa: PLR2004
    return best


def _look(frame: Frame, low: Floats, high: Floats, x: Point, *, newton: bool) -> tuple[Point, Evaluation]:
    """Let w0 follow, where it matters, and evaluate."""
    x = _follow(frame, low, high, x, newton=newton) if frame.follows else x
    return x, evaluate(frame, low, high, x)


def _keep_best(frame: Frame, best: Solved, active: Ints, now: Point, seen: Evaluation) -> None:
    better = seen.bound < best.bound[active]
    spot = active[better]
    best.bound[spot], best.p[spot] = seen.bound[better], seen.p[better]
    best.u_group[spot] = _gather(frame, _row_law(frame, seen.w[better]))
    best.point.put(spot, now.take(better))


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


def _newton(  # noqa: PLR0913 - one call per batch
    frame: Frame, low: Floats, high: Floats, x: Point, seen: Evaluation, t: Floats
) -> tuple[Point, Evaluation, Floats]:
    """One Newton step on bound + barrier in (rho, mu, kappa, s), halved until it descends."""
    step = _direction(frame, low, high, x, seen, t)
    length = _longest(frame, x, step)
    before = _merit(frame, x, seen, t)
    new, found = _look(frame, low, high, _moved(frame, x, step * length[:, None]), newton=True)
    for _ in range(HALVINGS):
        uphill = np.flatnonzero(~(_merit(frame, new, found, t) <= before + 1e-12))  # noqa: PLR2004 - rounding
        if not uphill.size:
            break
        length[uphill] *= 0.3
        shorter = _moved(frame, x.take(uphill), step[uphill] * length[uphill, None])
        again, seen_again = _look(frame, low[uphill], high[uphill], shorter, newton=True)
        new.put(uphill, again)
        found.put(uphill, seen_again)
    return new, found, length


def _merit(frame: Frame, x: Point, seen: Evaluation, t: Floats) -> Floats:
    """The bound plus the log barrier."""
    free = frame.box_variables
    inside = np.log(x.s - frame.s_floor)
    if free:
        logs = np.log(x.mu_lo) + np.log(x.mu_hi) + np.log(x.kappa) + np.log1p(-x.kappa)
        inside = inside + logs.sum(axis=(1, 2))
    return np.asarray(seen.bound - t * inside)


def _longest(frame: Frame, x: Point, step: Floats) -> Floats:
    """The longest step, at most 1, that stays inside and moves no log r by more than 2."""
    y, free = frame.cells.y_size, frame.box_variables
    boxed, above = _inside(frame, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step[:, y:] < 0, -above / step[:, y:], np.inf).min(axis=1)
        up = step[:, y + 2 * free : -1]
        room_up = np.where(up > 0, (1 - boxed[:, 2 * free :]) / up, np.inf).min(axis=1, initial=np.inf)
    length = np.minimum(1.0, 0.9 * np.minimum(room, room_up))
    return np.minimum(length, 2.0 / np.maximum(np.abs(step[:, :y]).max(axis=1), 1e-9))


def _inside(frame: Frame, x: Point) -> tuple[Floats, Floats]:
    """The box variables as (B, 3 A G), and with s - floor appended: what the barrier keeps positive."""
    n, free = x.s.size, frame.box_variables
    boxed = np.concatenate([v.reshape(n, -1)[:, :free] for v in (x.mu_lo, x.mu_hi, x.kappa)], axis=1)
    return boxed, np.concatenate([boxed, (x.s - frame.s_floor)[:, None]], axis=1)


def _moved(frame: Frame, x: Point, step: Floats) -> Point:
    y = frame.cells.y_size
    rho = x.rho + step[:, :y]
    new = replace(x, rho=rho - rho.max(axis=1, keepdims=True), s=x.s + step[:, -1])
    if not frame.box_variables:
        return new.copy()
    lo, hi, kappa = (v.reshape(x.kappa.shape) for v in np.split(_inside(frame, x)[0] + step[:, y:-1], 3, axis=1))
    return replace(new, mu_lo=np.minimum(lo, LARGEST_MU), mu_hi=np.minimum(hi, LARGEST_MU), kappa=kappa).copy()


def _direction(frame: Frame, low: Floats, high: Floats, x: Point, seen: Evaluation, t: Floats) -> Floats:  # noqa: PLR0913
    """The Newton direction of bound + barrier: features' covariance under pi over s, bent by the rows."""
    cells, y = frame.cells, frame.cells.y_size
    pi = seen.p[:, cells.secret] * seen.w
    f = _features(frame, low, high)
    log_ratio = np.log(np.maximum(seen.p, TINY))[:, cells.secret] + seen.zeta
    f[:, :, -1] = -log_ratio
    mean = np.einsum("bc,bcd->bd", pi, f)
    weighted = f * pi[:, :, None]
    s = x.s[:, None, None]
    hessian = (np.swapaxes(weighted, 1, 2) @ f - mean[:, :, None] * mean[:, None, :]) / s
    if frame.follows:
        bend = _response(frame, seen.w, seen.p, x.s)
        for row, part in enumerate(cells.slices):
            load = np.einsum("cy,bcd->byd", cells.q[part], weighted[:, part])
            hessian += np.swapaxes(load, 1, 2) @ bend[:, row] @ load / s**2
    gradient = mean
    gradient[:, -1] += cells.knowledge
    r = np.exp(x.rho - lse(x.rho)[:, None])
    gradient[:, :y] += r
    hessian[:, :y, :y] += np.eye(y) * (r[:, None, :] + 1e-9) - r[:, :, None] * r[:, None, :] + 1e-3
    free = frame.box_variables
    boxed, above = _inside(frame, x)
    below = 1 - boxed[:, 2 * free :]
    tt = t[:, None]
    gradient[:, y:] -= tt / above
    gradient[:, y + 2 * free : -1] += tt / below
    extra = tt / above**2
    extra[:, 2 * free : -1] += tt / below**2
    diagonal = np.arange(f.shape[2])
    hessian[:, diagonal, diagonal] += 1e-12
    hessian[:, diagonal[y:], diagonal[y:]] += extra
    step = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
    step[~np.isfinite(step).all(axis=1)] = 0.0
    return np.asarray(step)


def _features(frame: Frame, low: Floats, high: Floats) -> Floats:
    """d h / d (rho, mu_lo, mu_hi, kappa) of every cell, and a last column for s: (B, C, variables)."""
    cells, n, free = frame.cells, low.shape[0], frame.box_variables
    y = cells.y_size
    f = np.empty((n, cells.size, y + 3 * free + 1))
    f[:, :, :y] = -cells.q
    if free:
        slope, intercept = secant(low, high)
        own = np.zeros((n, cells.size, cells.a_size, frame.g_size))
        secret, at = cells.secret, np.arange(cells.size)
        excess = frame.phi_group - slope[:, secret] * frame.q_group - intercept[:, secret]
        for k, feature in enumerate(
            (frame.q_group - low[:, secret], high[:, secret] - frame.q_group, frame.curved[secret, None] * excess)
        ):
            own[:, at, secret] = feature
            f[:, :, y + k * free : y + (k + 1) * free] = own.reshape(n, cells.size, free)
    return f
