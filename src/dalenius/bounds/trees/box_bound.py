"""The one upper bound of the tree: rows in boxes, contraction, secants and Jensen's cut (MATH 4.2-4.6).

Fix a row a. Its outputs are in groups G with contraction coefficient eta inside the groups, u = w q is
its output law, U its group law, F = sum_y phi(u_y), Fc = sum_G phi(U_G), phi(u) = u log u. Then

    F - (1-eta) Fc + eta H(w)  is concave in w, so it lies under its tangent at any w0;
    phi(U_G) <= (1-kappa)(alpha U_G + beta) + kappa sum_t w_t phi(Q_tG)     on lo <= U_G <= hi,

(secant of phi on the box, Jensen's cut), and a share 1-theta of F may be left to Jensen's cut alone.
What remains is linear in w but for sigma H(w), sigma = s - theta eta > 0. With r = softmax(log_r),
multipliers mu of the box and w0 ~ rho_ref exp(q.lam + phi(Q).omega) the maximum over priors is

    h = -q.log_r - mu.Q + max(mu lo, mu hi) + theta(1-eta) sum_G[...] + theta[ q.log u0 - (1-eta) Q.log U0
        - eta log(w0/rho_ref) ] + (1-theta) sum_y phi(q)
    bound = s LSE_a( sigma_a LSE_t( log rho_ref + h/sigma_a ) / s ) + LSE(log_r) + s K.

One group and eta < s is the contraction certificate (4.3), single outputs and eta = 0 the plain box
bound (4.5), theta < 1 or kappa = 1 at the root the convex bound (4.4). Every iterate is a valid bound.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.numerics.information import ROUNDING, lse, phi, safe_log
from dalenius.numerics.types import Bools, Floats
from dalenius.reductions.cells import Cells


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """A problem with its outputs grouped: what all nodes of one tree share."""

    cells: Cells
    # The group of each output, by row.
    groups: list[list[int]]
    # (A,) contraction coefficient inside the groups, and share of F that is not left to Jensen's cut.
    eta: Floats
    theta: Floats
    # s stays above it; at least max(theta eta).
    s_floor: float
    # Whether r and s stay as they are given.
    fixed: bool = False

    @cached_property
    def n_groups(self) -> int:
        """Most groups of any row."""
        return max(max(row) + 1 for row in self.groups)

    @cached_property
    def membership(self) -> Floats:
        """(A, Y, G) 1 where an output is in a group of its row."""
        return np.asarray(np.eye(self.n_groups)[np.array(self.groups)])

    @cached_property
    def q_group(self) -> Floats:
        """(C, G) group law of each cell, by the groups of its row."""
        parts = [self.cells.q[part] @ self.membership[a] for a, part in enumerate(self.cells.slices)]
        return np.concatenate(parts)

    @cached_property
    def phi_group(self) -> Floats:
        """(C, G) phi of the group law."""
        return phi(self.q_group)

    @cached_property
    def tau(self) -> Floats:
        """(A,) entropy spent on contraction, theta eta."""
        return np.asarray(self.theta * self.eta)

    @cached_property
    def curved(self) -> Floats:
        """(A,) weight theta (1 - eta) of phi(U_G), which boxes must bound."""
        return np.asarray(self.theta * (1 - self.eta))

    @cached_property
    def box_variables(self) -> int:
        """Number of box multipliers of one kind: A x G, or 0 where one group per row leaves nothing to bound."""
        return self.cells.n_secrets * self.n_groups if self.n_groups > 1 else 0

    @cached_property
    def tangent(self) -> bool:
        """Whether any row spends entropy on contraction, so that the bound has a tangent at w0."""
        return bool((self.tau > 0).any())

    @cached_property
    def follows(self) -> bool:
        """Whether w0 matters: where it stands for rounding only, it stays at the reference."""
        return bool((self.tau > self.cells.settings.newton.negligible_tau).any())

    def hull(self) -> "Boxes":
        """The root: the range of each group's probability over the cells of a row."""
        low = np.minimum.reduceat(self.q_group, self.cells.starts, axis=0)
        high = np.maximum.reduceat(self.q_group, self.cells.starts, axis=0)
        return Boxes(low[None], high[None]).tightened()


@dataclass(frozen=True, eq=False)
class Point:
    """Dual variables of a batch of nodes; mu = mu_hi - mu_lo."""

    # (B, Y) log r, not normalised
    log_r: Floats
    # (B, A, G) multipliers of low <= U and U <= high, and Jensen's share
    mu_lo: Floats
    mu_hi: Floats
    kappa: Floats
    # (B,)
    s: Floats
    # (B, A, Y) and (B, A, G): log(w0 / rho_ref) = q.lam + phi(Q).omega + const
    lam: Floats
    omega: Floats


@dataclass(frozen=True, eq=False)
class Boxes:
    """low <= U(a, G) <= high of a batch of nodes, (B, A, G)."""

    low: Floats
    high: Floats

    def tightened(self) -> "Boxes":
        """Shrink by sum_G U_G = 1: three rounds, upper ends first. Empty boxes stay empty."""
        low, high = self.low, self.high
        for _ in range(3):
            high = np.minimum(high, 1 - (low.sum(axis=-1, keepdims=True) - low))
            low = np.maximum(low, 1 - (high.sum(axis=-1, keepdims=True) - high))
        return Boxes(low, high)

    @property
    def empty(self) -> Bools:
        """Nodes that hold no prior: an end is beyond its opposite, by more than rounding."""
        return np.asarray((self.high < self.low - ROUNDING).any(axis=(1, 2)))

    def secant(self, no_width: float = 1e-13) -> tuple[Floats, Floats]:
        """Slope and intercept of the line through phi at both ends; it lies above phi between them.

        Below `no_width` any line through the point will do: the multiplier of the box does the rest.
        """
        width = self.high - self.low
        point = width < no_width
        rise = (phi(self.high) - phi(self.low)) / np.where(point, 1.0, width)
        slope = np.where(point, safe_log(self.high), rise)
        return slope, phi(self.low) - slope * self.low


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A bound and the prior (p, w) at which the relaxation attains it."""

    # (B,)
    bound: Floats
    # (B, A)
    p: Floats
    # (B, C) conditional within each row, w0 where a tangent is used; and log(w / rho_ref)
    w: Floats
    zeta: Floats


def evaluate(problem: BoxProblem, boxes: Boxes, x: Point) -> Evaluation:
    """Guarantee: bound >= I(A;Y) of every prior in the box with D(pi || rho) <= K, up to rounding."""
    cells = problem.cells
    slope, intercept = boxes.secant()
    curved, theta, eta, tau = (v[:, None] for v in (problem.curved, problem.theta, problem.eta, problem.tau))

    # Coefficients of h, by output, by phi of a group, and by row:
    #     -log r - mu + theta(1-eta)(1-kappa) alpha,   theta(1-eta) kappa,
    #     theta(1-eta)(1-kappa) beta + mu_hi high - mu_lo low
    mu = x.mu_hi - x.mu_lo
    by_output = spread(problem, curved * (1 - x.kappa) * slope - mu) - x.log_r[:, None, :]
    by_phi = curved * x.kappa
    constant = (curved * (1 - x.kappa) * intercept + x.mu_hi * boxes.high - x.mu_lo * boxes.low).sum(axis=-1)

    # The tangent at w0: theta [ q.log u0 - (1-eta) Q.log U0 - eta log(w0/rho_ref) ]
    w = zeta = np.empty(0)
    if problem.tangent:
        w, zeta, normaliser = _conditional(problem, x)
        u = row_law(problem, w)
        log_u, log_group = safe_log(u), safe_log(gather(problem, u))
        by_output = by_output + theta * (log_u - eta * x.lam) - spread(problem, curved * log_group)
        by_phi = by_phi - tau * x.omega
        constant = constant + problem.tau * normaliser

    # h_c = q_c . by_output + phi(Q_c) . by_phi + constant + (1-theta) sum_y phi(q_cy)
    h = cells.dot_rows(cells.q, by_output) + cells.dot_rows(problem.phi_group, by_phi) + constant[:, cells.secret]
    h += ((1 - problem.theta)[cells.secret]) * cells.neg_entropy

    # bound = s LSE_a( sigma_a LSE_t( log rho_ref + h/sigma_a ) / s ) + LSE(log r) + s K
    sigma = x.s[:, None] - problem.tau
    exponent = h / sigma[:, cells.secret] + cells.log_rho
    inner = cells.row_lse(exponent)
    outer = sigma * inner / x.s[:, None]
    total = lse(outer)
    bound = x.s * total + lse(x.log_r) + x.s * cells.knowledge
    if not problem.follows:
        zeta = exponent - cells.log_rho - inner[:, cells.secret]
        w = np.exp(exponent - inner[:, cells.secret])
    return Evaluation(np.where(np.isnan(bound), np.inf, bound), np.exp(outer - total[:, None]), w, zeta)


def spread(problem: BoxProblem, by_group: Floats) -> Floats:
    """(B, A, G) -> (B, A, Y): the value of each output's group."""
    return np.asarray(np.einsum("bag,ayg->bay", by_group, problem.membership))


def gather(problem: BoxProblem, by_output: Floats) -> Floats:
    """(B, A, Y) -> (B, A, G): the sum over each group."""
    return np.asarray(np.einsum("bay,ayg->bag", by_output, problem.membership))


def _conditional(problem: BoxProblem, x: Point) -> tuple[Floats, Floats, Floats]:
    """w0 ~ rho_ref exp(q.lam + phi(Q).omega), log(w0/rho_ref), and the log normaliser of each row."""
    cells = problem.cells
    tilt = cells.dot_rows(cells.q, x.lam) + cells.dot_rows(problem.phi_group, x.omega)
    normaliser = cells.row_lse(tilt + cells.log_rho)
    zeta = tilt - normaliser[:, cells.secret]
    return np.exp(zeta + cells.log_rho), zeta, normaliser


def row_law(problem: BoxProblem, w: Floats) -> Floats:
    """u(a, y) = sum_t w(t|a) q(y|a,t): (B, C) -> (B, A, Y)."""
    return problem.cells.joint(w)
