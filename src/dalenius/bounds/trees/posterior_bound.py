r"""A bound on I(A;Y) for priors whose posteriors lie in a box (MATH 4.10).

With v(a|y) = z_ay / z_y the posterior,

    I(A;Y) = H(A) + sum_y z_y sum_a phi(v(a|y)),      phi(v) = v log v,

and only the posteriors stand between I and a concave function of the prior: one number per output for a binary
secret, where the laws of the rows are two. Outputs may be in groups G, with eta the largest contraction coefficient
of a within-group channel: then -H(A|Y) + (1-eta) H(A|G) + eta H(pi) is concave, so that its tangent at any prior pi0
lies above it. On a box low <= v(a|G) <= high the secant alpha v + beta lies above phi, and z_G (alpha v + beta) is
linear in the prior, as is z_G low <= z_aG <= z_G high. With sigma = s - eta > 0, multipliers m of any sign,
pi0 = rho exp(q.lam) / M, and v0 its posterior,

    h_c   = sum_G Q_cG [ (1-eta) ( alpha_aG + sum_a' beta_a'G ) + sum_a' max(m high, m low)_a'G - m_aG ]
            + sum_y q_cy [ log v0(a|y) - (1-eta) log v0(a|G) - eta lam_ay ] + eta log M
    bound = (1+sigma) log sum_a exp( sigma / (1+sigma) LSE_c( log rho_c + h_c / sigma ) ) + s K.

Boxes and multipliers are for the secret values 1, 2, ...; v(0|G) is what these leave. The bound is convex in (m, s) and
holds at every point. The proof, step by step, is in verifier/kinds/posteriors.py.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.bounds.trees.posterior_ratios import Ratios
from dalenius.numerics.information import lse, phi, safe_log
from dalenius.numerics.types import Bools, Floats, Ints
from dalenius.reductions.cells import Cells


def shallow(cells: Cells) -> bool:
    """Whether there are far more cells than outputs, and few posteriors: then every output is a group by itself."""
    settings = cells.settings.portfolio
    few = (cells.n_secrets - 1) * cells.n_outputs <= settings.shallow_posteriors
    return few and cells.size >= settings.shallow_cells * cells.n_outputs


@dataclass(frozen=True, eq=False)
class PosteriorProblem:
    """What all nodes share: the cells, the group of every output, and eta of the groups (0 for single outputs)."""

    cells: Cells
    # (Y,)
    groups: Ints
    eta: float

    @cached_property
    def coarse(self) -> Floats:
        """Q_cG, (C, G)."""
        membership = np.eye(int(self.groups.max()) + 1)[self.groups]
        return np.ascontiguousarray(self.cells.q @ membership)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.groups.max()) + 1

    @cached_property
    def ratios(self) -> Ratios | None:
        """What ratios between groups say; None where looking at all pairs costs too much."""
        affordable = self.cells.size * self.n_groups**2 <= self.cells.settings.limits.ratio_entries
        return Ratios.of(self.cells, self.coarse) if affordable else None

    def laws(self, w: Floats) -> Floats:
        """U_a(G) of conditionals (B, C), as (B, A, G)."""
        return np.stack([w[:, part] @ self.coarse[part] for part in self.cells.slices], axis=1)


@dataclass(frozen=True, eq=False)
class Boxes:
    """low <= v(a|G) <= high for a = 1, 2, ..., each (B, A-1, G)."""

    low: Floats
    high: Floats

    @classmethod
    def everything(cls, problem: PosteriorProblem) -> "Boxes":
        """The box of all priors."""
        shape = (1, problem.cells.n_secrets - 1, problem.n_groups)
        return cls(np.zeros(shape), np.ones(shape))

    def ends(self) -> tuple[Floats, Floats]:
        """The box of every secret value, (B, A, G); that of 0 follows from the others."""
        rest_low = np.clip(1 - self.high.sum(axis=1, keepdims=True), 0.0, 1.0)
        rest_high = np.clip(1 - self.low.sum(axis=1, keepdims=True), 0.0, 1.0)
        return np.concatenate([rest_low, self.low], axis=1), np.concatenate([rest_high, self.high], axis=1)

    def secants(self) -> tuple[Floats, Floats]:
        """Alpha and beta, (B, A, G)."""
        low, high = self.ends()
        at_low, at_high, width = phi(low), phi(high), high - low
        alpha = np.where(width > 0, (at_high - at_low) / np.where(width > 0, width, 1.0), 0.0)
        return alpha, np.maximum(at_low - alpha * low, at_high - alpha * high)

    def empty(self, margin: float) -> Bools:
        """Nodes whose ends cross, or whose lower ends sum to more than one: by a margin, as a verifier's are wider."""
        crossed = self.low * (1 - self.high) > (1 + margin) * self.high * (1 - self.low)
        return np.asarray(crossed.any(axis=(1, 2)) | (self.low.sum(axis=1) > 1 + margin).any(axis=1))


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What the bound needs of boxes: (1-eta) (alpha + sum beta), and the boxes as centre and half width."""

    # (B, A, G)
    linear: Floats
    # (B, A-1, G)
    centre: Floats
    half: Floats

    @classmethod
    def of(cls, problem: PosteriorProblem, boxes: Boxes) -> "Relaxed":
        """Draw the secants."""
        alpha, beta = boxes.secants()
        linear = (1 - problem.eta) * (alpha + beta.sum(axis=1, keepdims=True))
        return cls(linear, (boxes.low + boxes.high) / 2, (boxes.high - boxes.low) / 2)


@dataclass(frozen=True, eq=False)
class Point:
    """Multipliers m (B, A-1, G), sigma (B,), and lam (B, A, Y) of the prior pi0."""

    m: Floats
    sigma: Floats
    lam: Floats

    @classmethod
    def start(cls, problem: PosteriorProblem, sigma: float) -> "Point":
        """No multipliers, and the reference for pi0."""
        cells = problem.cells
        m = np.zeros((1, cells.n_secrets - 1, problem.n_groups))
        return cls(m, np.full(1, sigma), np.zeros((1, cells.n_secrets, cells.n_outputs)))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The bound of every node at a point, with the prior p_a w_c that attains it and what derivatives need."""

    # (B,)
    bound: Floats
    # (B, A) and (B, C)
    p: Floats
    w: Floats
    # (B, C), and the log normaliser of every row, (B, A)
    h: Floats
    log_z: Floats
    # (B, A, Y) coefficients of h
    by_output: Floats


def tangent(problem: PosteriorProblem, lam: Floats) -> Floats:
    """log v0(a|y) - (1-eta) log v0(a|G) - eta lam + eta log M, (B, A, Y); all zero for single outputs."""
    if problem.eta <= 0:
        return np.zeros_like(lam)
    cells = problem.cells
    # pi0 = rho exp(q.lam) / M
    log_pi = cells.log_rho + cells.dot_rows(cells.q, lam)
    total = lse(log_pi)
    pi = np.exp(log_pi - total[:, None])
    log_v = _log_posterior(cells.joint(pi))
    log_group = _log_posterior(problem.laws(pi))
    return np.asarray(
        log_v
        - (1 - problem.eta) * log_group[..., problem.groups]
        - problem.eta * lam
        + problem.eta * total[:, None, None]
    )


def _log_posterior(z: Floats) -> Floats:
    """log( z_ay / z_y ), 0 where z is."""
    total = z.sum(axis=1, keepdims=True)
    return np.where(z > 0, safe_log(z) - safe_log(total), 0.0)


def evaluate(
    problem: PosteriorProblem, nodes: Relaxed, x: Point, touching: Floats, rounding: Floats | float = 0.0
) -> Evaluation:
    """The bound at a point; `touching` is the tangent at its lam, `rounding` smooths the corner at m = 0, upwards."""
    cells, sigma = problem.cells, x.sigma[:, None]
    # Coefficients of h by group: (1-eta)( alpha + sum beta ) + sum_a' max(m high, m low) - m, where
    # max(m high, m low) = m centre + |m| half, and |m| <= sqrt(m^2 + rounding^2)
    corner = np.sqrt(x.m**2 + np.reshape(rounding, (-1, 1, 1)) ** 2)
    by_group = nodes.linear + (x.m * nodes.centre + corner * nodes.half).sum(axis=1, keepdims=True)
    by_group[:, 1:] -= x.m
    by_output = by_group[..., problem.groups] + touching
    h = cells.dot_rows(cells.q, by_output) if problem.eta > 0 else cells.dot_rows(problem.coarse, by_group)
    # w(t|a) ~ rho exp(h / sigma), log Z(a) its normaliser, p(a) ~ exp( sigma / (1+sigma) log Z(a) )
    exponent = cells.log_rho + h / sigma
    w, log_z = cells.row_laws(exponent)
    log_p = sigma / (1 + sigma) * log_z
    # bound = (1+sigma) log sum_a exp( sigma / (1+sigma) log Z(a) ) + s K,   s = sigma + eta
    total = lse(log_p)
    p = np.exp(log_p - total[:, None])
    bound = (1 + x.sigma) * total + (x.sigma + problem.eta) * cells.knowledge
    bound = np.where(np.isnan(bound), np.inf, bound)
    return Evaluation(bound, p, w, h, log_z, by_output)


def inherited(problem: PosteriorProblem, boxes: Boxes, parts: Boxes, m: Floats) -> Floats:
    """Multipliers with which no part of a box has a larger bound than the box has with m, sigma and lam being the same.

    On the part its own secants lie below those of the box, by a linear function of the posterior; multipliers equal to
    the slopes of that function, added to m, take the rest of it away. The function of v(0|G) needs none if it rises
    from v(0|G) = 0, for it is positive then wherever z_0G >= 0 is.
    """
    turned = parts.secants()[0] - boxes.secants()[0]
    rises = (turned[:, :1] < 0) & (parts.ends()[0][:, :1] <= 0)
    return np.asarray(m + (1 - problem.eta) * (turned[:, 1:] - np.where(rises, 0.0, turned[:, :1])))
