"""Newton's method on the box bound, all nodes of a batch at once (MATH 4.5).

The variables are log_r, mu, kappa and s under a log barrier; w0, where it matters, follows the maximiser of
the concave row problems. With features f = d h / d variable, pi the relaxation's prior and S the curvature
of the rows' tangent part (Hessian q S q'), the Hessian of the bound is

    f' (s / diag(pi) - q S q')^-1 f - (f' pi)(f' pi)' / s   =  Cov_pi(f) / s  where nothing is contracted.
"""

from dataclasses import dataclass, replace

import numpy as np

from dalenius.bounds.trees.box_bound import Boxes, BoxProblem, Evaluation, Point, evaluate, gather, row_law, spread
from dalenius.numerics.batch import copy, put, take
from dalenius.numerics.information import TINY, lse, safe_log
from dalenius.numerics.newton import backtrack, longest_inside, shortened, solve
from dalenius.numerics.types import Bools, Floats, Ints
from dalenius.search.deadline import Deadline


def start(problem: BoxProblem, s: float) -> Point:
    """Return a strictly interior point to begin the root from."""
    settings = problem.cells.settings.newton
    a, y, g = problem.cells.n_secrets, problem.cells.n_outputs, problem.n_groups
    mu_lo, mu_hi, kappa = (
        np.full((1, a, g), value) for value in (settings.start_mu, settings.start_mu, settings.start_kappa)
    )
    above = np.array([max(s, settings.start_above_floor * problem.s_floor, settings.start_s)])
    log_r = safe_log(problem.cells.rho @ problem.cells.q)[None]
    return Point(log_r, mu_lo, mu_hi, kappa, above, np.zeros((1, a, y)), np.zeros((1, a, g)))


def restart(problem: BoxProblem, x: Point, s: float) -> Point:
    """Pull a parent's point back into the interior: warm starts on the boundary freeze."""
    settings = problem.cells.settings.newton
    least_s = max(s, settings.warm_s, settings.warm_above_floor * problem.s_floor)
    return replace(
        x,
        mu_lo=np.clip(x.mu_lo, *settings.warm_mu),
        mu_hi=np.clip(x.mu_hi, *settings.warm_mu),
        kappa=np.clip(x.kappa, *settings.warm_kappa),
        s=x.s if problem.fixed else np.maximum(x.s, least_s),
    )


@dataclass(frozen=True, eq=False)
class BoxSolution:
    """Best bounds of a batch with the points that give them and the group laws there."""

    # (B,)
    bound: Floats
    point: Point
    # (B, A) and (B, A, G)
    p: Floats
    u_group: Floats


@dataclass(frozen=True)
class Goal:
    """When to stop: below the target, after a number of rounds, or when the deadline is over."""

    target: float
    # The weight of the barrier, at first and at last.
    barrier: tuple[float, float]
    rounds: int
    deadline: Deadline


def minimise(problem: BoxProblem, boxes: Boxes, x: Point, goal: Goal) -> BoxSolution:
    """Minimise the bound of each node by Newton steps with a log barrier; stop below the target.

    Between dual steps w0 follows the maximiser of the (concave) row problems by its own Newton step.
    """
    settings = problem.cells.settings.newton
    many = x.s.size
    best = BoxSolution(
        np.full(many, np.inf),
        copy(x),
        np.full((many, problem.cells.n_secrets), 1.0 / problem.cells.n_secrets),
        np.zeros((many, problem.cells.n_secrets, problem.n_groups)),
    )
    active, t, mark = np.arange(many), np.full(many, goal.barrier[0]), best.bound.copy()
    now, seen = _look(problem, boxes, x, newton=False)
    for k in range(goal.rounds):
        _keep_best(problem, best, active, now, seen)
        on = (best.bound[active] > goal.target) & np.isfinite(seen.bound)
        # Now and then, let go of nodes that no longer improve.
        if k % settings.slow_rounds == settings.slow_rounds - 1:
            on &= mark[active] - best.bound[active] > settings.slow * np.abs(best.bound[active] - goal.target)
            mark = best.bound.copy()
        if k == goal.rounds - 1 or not on.any() or goal.deadline.expired():
            break
        active, now, seen = active[on], take(now, on), take(seen, on)
        now, seen, length = _newton(problem, take(boxes, active), now, seen, t[active])
        # The barrier falls quickly while steps are long.
        factor = np.where(length > 0.5, settings.barrier_after_long, settings.barrier_after_short)  # noqa: PLR2004
        t[active] = np.maximum(t[active] * factor, goal.barrier[1])
    return best


def _look(problem: BoxProblem, boxes: Boxes, x: Point, *, newton: bool) -> tuple[Point, Evaluation]:
    """Let w0 follow, where it matters, and evaluate."""
    x = _follow(problem, boxes, x, newton=newton) if problem.follows else x
    return x, evaluate(problem, boxes, x)


def _keep_best(problem: BoxProblem, best: BoxSolution, active: Ints, now: Point, seen: Evaluation) -> None:
    better = seen.bound < best.bound[active]
    spot = active[better]
    best.bound[spot], best.p[spot] = seen.bound[better], seen.p[better]
    best.u_group[spot] = gather(problem, row_law(problem, seen.w[better]))
    put(best.point, spot, take(now, better))


def _curvature(problem: BoxProblem, z: Floats, p: Floats) -> Floats:
    """S with Hessian of the tangent part = q S q' in row a: theta( 1/z - (1-eta)/Z - eta/p ), (B, A, Y, Y)."""
    inverse, inverse_group = (np.where(law > TINY, 1 / np.maximum(law, TINY), 0.0) for law in (z, gather(problem, z)))
    eye = np.eye(z.shape[-1])
    # 1/Z of the group that two outputs share
    same = np.einsum("bag,ayg,axg->bayx", inverse_group, problem.membership, problem.membership)
    theta, eta = problem.theta[:, None, None], problem.eta[:, None, None]
    return np.asarray(
        theta * (inverse[..., None] * eye - (1 - eta) * same - eta / np.maximum(p, TINY)[..., None, None])
    )


def _response(problem: BoxProblem, w: Floats, p: Floats, s: Floats) -> Floats:
    """S (I - M S / s)^-1 with M = q' diag(pi) q: how the rows bend the plain covariance (Woodbury), (B, A, Y, Y)."""
    cells = problem.cells
    pi = p[:, cells.secret] * w
    bend = _curvature(problem, cells.joint(pi), p)
    moments = np.stack([(cells.q[part].T * pi[:, None, part]) @ cells.q[part] for part in cells.slices], axis=1)
    inside = np.eye(cells.n_outputs) - bend @ moments / s[:, None, None, None]
    try:
        return np.asarray(np.linalg.solve(inside, bend))
    except np.linalg.LinAlgError:
        # A row on the edge of concavity: the plain covariance is left.
        return np.zeros_like(bend)


def _follow(problem: BoxProblem, boxes: Boxes, x: Point, *, newton: bool) -> Point:
    """Move w0 towards the maximiser of the row problems for the dual variables at hand.

    Stationarity: log(w/rho_ref) = [ h without tangent + theta( q.log u - (1-eta) Q.log U ) ] / s + const.
    """
    cells = problem.cells
    seen = evaluate(problem, boxes, x)
    u = row_law(problem, seen.w)
    slope, _ = boxes.secant()
    curved, theta = problem.curved[:, None], problem.theta[:, None]
    s = x.s[:, None, None]
    log_u, log_group = safe_log(u), safe_log(gather(problem, u))
    # lam = [ theta(1-eta)( (1-kappa) alpha - log U ) - mu - log r + theta log u ] / s,   omega = theta(1-eta) kappa / s
    mu = x.mu_hi - x.mu_lo
    lam = (spread(problem, curved * ((1 - x.kappa) * slope - log_group) - mu) - x.log_r[:, None, :] + theta * log_u) / s
    omega = curved * x.kappa / s
    if newton:
        # With e = lam' - lam the residual of stationarity: lam'' = lam' + S (I - M S / s)^-1 q' diag(pi) (q e) / s
        residual = cells.dot_rows(cells.q, lam - x.lam) + cells.dot_rows(problem.phi_group, omega - x.omega)
        residual -= cells.row_sum(seen.w * residual)[:, cells.secret]
        drive = cells.joint(seen.p[:, cells.secret] * seen.w * residual)
        push = (_response(problem, seen.w, seen.p, x.s) @ drive[..., None])[..., 0] / s
        size = np.abs(push).max(axis=(1, 2), keepdims=True)
        lam = lam + push * shortened(size, cells.settings.newton.longest_tilt)
    return replace(x, lam=lam, omega=np.broadcast_to(omega, x.omega.shape).copy())


def _newton(
    problem: BoxProblem, boxes: Boxes, x: Point, seen: Evaluation, t: Floats
) -> tuple[Point, Evaluation, Floats]:
    """One Newton step on bound + barrier in (log_r, mu, kappa, s), shortened until it descends."""
    settings = problem.cells.settings.newton
    step = _direction(problem, boxes, x, seen, t)
    length = _longest(problem, x, step)
    before = _merit(problem, x, seen, t)
    new, found = copy(x), copy(seen)

    def descends(todo: Ints) -> Bools:
        tried = _moved(problem, take(x, todo), step[todo] * length[todo, None])
        point, value = _look(problem, take(boxes, todo), tried, newton=True)
        put(new, todo, point)
        put(found, todo, value)
        return np.asarray(_merit(problem, point, value, t[todo]) <= before[todo] + settings.box_rise)

    backtrack(length, descends, factor=settings.box_shorter, most=settings.tries)
    return new, found, length


def _merit(problem: BoxProblem, x: Point, seen: Evaluation, t: Floats) -> Floats:
    """The bound plus the log barrier."""
    free = problem.box_variables
    # bound - t [ log(s - floor) + sum log mu_lo + log mu_hi + log kappa + log(1 - kappa) ]
    inside = np.log(x.s - problem.s_floor)
    if free:
        logs = np.log(x.mu_lo) + np.log(x.mu_hi) + np.log(x.kappa) + np.log1p(-x.kappa)
        inside = inside + logs.sum(axis=(1, 2))
    return np.asarray(seen.bound - t * inside)


def _longest(problem: BoxProblem, x: Point, step: Floats) -> Floats:
    """The longest step, at most 1, that stays inside and moves no log r by too much."""
    settings = problem.cells.settings.newton
    y, free = problem.cells.n_outputs, problem.box_variables
    boxed, above = _inside(problem, x)
    # mu_lo, mu_hi, kappa, s - floor >= 0, and 1 - kappa >= 0
    room = longest_inside(above, step[:, y:])
    room_up = longest_inside(1 - boxed[:, 2 * free :], -step[:, y + 2 * free : -1])
    length = np.minimum(1.0, settings.inside * np.minimum(room, room_up))
    return np.asarray(np.minimum(length, shortened(np.abs(step[:, :y]).max(axis=1), settings.longest_log_r)))


def _inside(problem: BoxProblem, x: Point) -> tuple[Floats, Floats]:
    """The box variables as (B, 3 A G), and with s - floor appended: what the barrier keeps positive."""
    n, free = x.s.size, problem.box_variables
    boxed = np.concatenate([v.reshape(n, -1)[:, :free] for v in (x.mu_lo, x.mu_hi, x.kappa)], axis=1)
    return boxed, np.concatenate([boxed, (x.s - problem.s_floor)[:, None]], axis=1)


def _moved(problem: BoxProblem, x: Point, step: Floats) -> Point:
    y = problem.cells.n_outputs
    log_r = x.log_r + step[:, :y]
    new = replace(x, log_r=log_r - log_r.max(axis=1, keepdims=True), s=x.s + step[:, -1])
    if not problem.box_variables:
        return copy(new)
    lo, hi, kappa = (v.reshape(x.kappa.shape) for v in np.split(_inside(problem, x)[0] + step[:, y:-1], 3, axis=1))
    largest = problem.cells.settings.newton.largest_mu
    return copy(replace(new, mu_lo=np.minimum(lo, largest), mu_hi=np.minimum(hi, largest), kappa=kappa))


def _direction(problem: BoxProblem, boxes: Boxes, x: Point, seen: Evaluation, t: Floats) -> Floats:
    """The Newton direction of bound + barrier: features' covariance under pi over s, bent by the rows."""
    cells, y = problem.cells, problem.cells.n_outputs
    settings = cells.settings.newton
    pi = seen.p[:, cells.secret] * seen.w
    f = _features(problem, boxes)
    # d bound / ds = K - sum_c pi log(pi / rho_ref)
    f[:, :, -1] = -(safe_log(seen.p)[:, cells.secret] + seen.zeta)

    # gradient = E_pi f,   Hessian = Cov_pi(f) / s
    mean = np.einsum("bc,bcd->bd", pi, f)
    weighted = f * pi[:, :, None]
    s = x.s[:, None, None]
    hessian = (np.swapaxes(weighted, 1, 2) @ f - mean[:, :, None] * mean[:, None, :]) / s
    if problem.follows:
        # + f' diag(pi) q S (I - M S / s)^-1 q' diag(pi) f / s^2 from every row
        bend = _response(problem, seen.w, seen.p, x.s)
        for row, part in enumerate(cells.slices):
            load = np.einsum("cy,bcd->byd", cells.q[part], weighted[:, part])
            hessian += np.swapaxes(load, 1, 2) @ bend[:, row] @ load / s**2
    gradient = mean
    gradient[:, -1] += cells.knowledge

    # LSE(log r) has gradient r and Hessian diag(r) - r r'; the bound does not change with a constant in log r
    r = np.exp(x.log_r - lse(x.log_r)[:, None])
    gradient[:, :y] += r
    hessian[:, :y, :y] += (
        np.eye(y) * (r[:, None, :] + settings.ridge_log_r) - r[:, :, None] * r[:, None, :] + settings.ridge_constant
    )

    # -t log x has gradient -t/x and Hessian t/x^2, -t log(1 - kappa) has t/(1-kappa) and t/(1-kappa)^2
    free = problem.box_variables
    boxed, above = _inside(problem, x)
    below = 1 - boxed[:, 2 * free :]
    tt = t[:, None]
    gradient[:, y:] -= tt / above
    gradient[:, y + 2 * free : -1] += tt / below
    extra = tt / above**2
    extra[:, 2 * free : -1] += tt / below**2
    diagonal = np.arange(f.shape[2])
    hessian[:, diagonal, diagonal] += settings.ridge
    hessian[:, diagonal[y:], diagonal[y:]] += extra

    step = np.zeros_like(gradient)
    moving = slice(y, -1) if problem.fixed else slice(None)
    step[:, moving] = -solve(hessian[:, moving, moving], gradient[:, moving])
    step[~np.isfinite(step).all(axis=1)] = 0.0
    return np.asarray(step)


def _features(problem: BoxProblem, boxes: Boxes) -> Floats:
    """d h / d (log_r, mu_lo, mu_hi, kappa) of every cell, and a last column for s: (B, C, variables)."""
    cells, n, free = problem.cells, boxes.low.shape[0], problem.box_variables
    y = cells.n_outputs
    f = np.empty((n, cells.size, y + 3 * free + 1))
    f[:, :, :y] = -cells.q
    if free:
        # h by mu_lo: Q - low,   by mu_hi: high - Q,   by kappa: theta(1-eta) ( phi(Q) - alpha Q - beta )
        slope, intercept = boxes.secant()
        own = np.zeros((n, cells.size, cells.n_secrets, problem.n_groups))
        secret, at = cells.secret, np.arange(cells.size)
        excess = problem.phi_group - slope[:, secret] * problem.q_group - intercept[:, secret]
        for k, feature in enumerate(
            (
                problem.q_group - boxes.low[:, secret],
                boxes.high[:, secret] - problem.q_group,
                problem.curved[secret, None] * excess,
            )
        ):
            own[:, at, secret] = feature
            f[:, :, y + k * free : y + (k + 1) * free] = own.reshape(n, cells.size, free)
    return f
