"""A release of a sum beside local randomisers, from above (docs/mathematics.md 4.12, kind `beside`).

Bits of one law rho, each through its own W, and C, which depends on their sum. With j ones among the outputs of the m
others, rho_j the law of their sum given j, P(j) its chance, laws r_j0, r_j1 of C, and eta, sigma, u, D_a of 4.12,

    g_aj = D_a + max_w { sum_y W(y|a) D(w C_a || r_jy) - mu D(w || rho_j) },     lam = mu + eta (1 - sigma - mu),
    L <= lam K + tau log sum_a u_a^(sigma/tau) rho(a)^(lam/tau) e^(h_a/tau)
         + (1-sigma) log sum_j P(j) e^(G_j/(1-sigma)),

tau = sigma + lam, G_j = max_a (g_aj - h_a), 0 < mu <= 1 - sigma. The maximum over w is that of monotone rows (4.11).
All j are worked on at once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.bounds.closing import Formula, close
from dalenius.bounds.products import contraction, expansion
from dalenius.model.counting import log_binomial
from dalenius.numerics.information import lse, safe_log, xlogy
from dalenius.numerics.iterations import least_between
from dalenius.numerics.types import Floats
from dalenius.reductions.order import Beside
from dalenius.search.deadline import Deadline


@dataclass(frozen=True)
class BesideSearch:
    """How laws and mu are found. Count and randomised response of 4 bits, epsilon 1, knowledge 0.3: 0.337 in 0.3 s."""

    # Least mu, and the accuracy of its logarithm.
    least_mu: float = 0.02
    accuracy: float = 0.02
    # Rounds until the law of the secret settles, halvings for every number of ones, steps of the laws between two.
    balances: int = 6
    halvings: int = 10
    steps: int = 25
    # Steps of the chains, how near they come, and how many more a verifier may take.
    rounds: int = 120
    close: float = 2e-3
    spare: int = 5


SEARCH = BesideSearch()


@dataclass(eq=False)
class SharedBeside:
    """The bound of every record of a release: records are alike, and it is found once."""

    parts: Beside
    law: Floats
    found: Formula | None = None

    def best(self, knowledge: float, deadline: Deadline) -> Formula | None:
        """Choose mu by a line search; None where a value of a record never occurs or the time is over."""
        if self.found is None and knowledge > 0 and self.law.min() > 0 and not deadline.expired():
            search = _Search(self.parts, self.law, knowledge, deadline)
            low, high = np.log(SEARCH.least_mu), np.log(1 - search.sigma)
            least_between(lambda log_mu: search.at(float(np.exp(log_mu))), float(low), float(high), SEARCH.accuracy)
            self.found = search.found
        return self.found


@dataclass(eq=False)
class _Search:
    """The bound as a function of mu; it keeps the best."""

    parts: Beside
    law: Floats
    knowledge: float
    deadline: Deadline
    found: Formula | None = None

    @cached_property
    def eta(self) -> float:
        return contraction(self.parts.local, self.law)

    @cached_property
    def sigma(self) -> float:
        return expansion(self.parts.local, self.law)

    @cached_property
    def divergence_at_reference(self) -> Floats:
        w = self.parts.local
        return np.asarray((xlogy(w, w) - w * np.log(self.law @ w)).sum(axis=1))

    @cached_property
    def rows(self) -> Floats:
        """(2, m+1, R) the rows of C for a and the sum of the others."""
        n = self.parts.n
        return np.stack([self.parts.release[a : a + n] for a in range(2)])

    @cached_property
    def log_rho(self) -> Floats:
        """(j, sum) log rho_j: the others' bits are independent given their outputs."""
        joint = self.law[:, None] * self.parts.local
        chance = joint[1] / joint.sum(axis=0)
        m = self.parts.n - 1
        found = np.ones((m + 1, 1))
        for i in range(m):
            p = np.where(np.arange(m + 1) > i, chance[1], chance[0])[:, None]
            empty = np.zeros((m + 1, 1))
            found = np.hstack([found * (1 - p), empty]) + np.hstack([empty, found * p])
        return safe_log(found)

    @cached_property
    def log_chance(self) -> Floats:
        out = self.law @ self.parts.local
        return log_binomial(self.parts.n - 1, (float(out[0]), float(out[1])))

    def at(self, mu: float) -> float:
        """The bound at mu; infinite where the time is over."""
        if self.deadline.expired():
            return np.inf
        log_r = self._laws(mu)
        gains, rounds = self._gains(log_r, mu)
        heights = self._heights(gains)
        most = (gains - heights).max(axis=1)
        sigma, lam = self.sigma, self._lam(mu)
        # One closing over the secret, with u = rho, and one over the outputs of the others.
        own = close(np.log(self.law), heights + sigma * np.log(self.law), self.knowledge, s=lam, theta=sigma)
        upper = float(own + close(self.log_chance, most, 0.0, s=1 - sigma))
        if self.found is None or upper < self.found.upper:
            data = {
                "first": self.parts.first,
                "local": self.parts.local.tolist(),
                "release": self.parts.release.tolist(),
                "eta": self.eta,
                "sigma": sigma,
                "mu": mu,
                "law": self.law.tolist(),
                "heights": heights.tolist(),
                "laws": log_r.tolist(),
                "rounds": rounds + SEARCH.spare,
            }
            # A verifier adds what the matrix is off its two parts, some roundings for each record.
            self.found = Formula("beside", upper, data, doubt=1e-11 * (1 + upper))
        return upper

    def _laws(self, mu: float) -> Floats:
        """(j, y, R) laws of C at which one value of the secret gains as much more than the other for every j.

        How much more follows from the law of the secret that is best then; it is found for one chance of the value 1,
        the same for all j, and then that chance is halved in for every j.
        """
        many = self.parts.n
        # The others lean towards the secret's value.
        lean = np.linspace(-1.0, 1.0, many)
        log_w = self.log_rho[:, None, :] + np.stack([-lean, lean])
        log_w -= lse(log_w)[..., None]
        v, more = np.full(many, self.law[1]), 0.0
        log_r = np.zeros((many, 2, self.parts.release.shape[1]))
        for _ in range(SEARCH.balances):
            log_r, log_w = self._settled(v, log_w, mu)
            heights = self._heights(self._gained(log_r, log_w, mu))
            more = float(heights[1] - heights[0])
            log_p = self._log_prior(heights, mu)
            v = (v + np.exp(log_p[1] - lse(log_p))) / 2
        low, high = np.full(many, 1e-3), np.full(many, 1 - 1e-3)
        for _ in range(SEARCH.halvings):
            log_r, log_w = self._settled(v, log_w, mu)
            gain = self._gained(log_r, log_w, mu)
            short = gain[:, 1] - gain[:, 0] > more
            low, high = np.where(short, v, low), np.where(short, high, v)
            v = (low + high) / 2
        return log_r

    def _gained(self, log_r: Floats, log_w: Floats, mu: float) -> Floats:
        """(j, a) what conditionals gain at these laws of C."""
        w = np.exp(log_w)
        u = self._combined(w)
        divergence = (w * (log_w - self.log_rho[:, None, :])).sum(axis=2)
        gained = (xlogy(u, u) - u * (self.parts.local @ log_r)).sum(axis=2)
        return np.asarray(self.divergence_at_reference + gained - mu * divergence)

    def _heights(self, gains: Floats) -> Floats:
        return np.asarray(np.exp(self.log_chance) @ gains)

    def _log_prior(self, heights: Floats, mu: float) -> Floats:
        """The summands of the middle term: u = rho, so that rho has the power one."""
        return np.asarray(np.log(self.law) + heights / (self.sigma + self._lam(mu)))

    def _lam(self, mu: float) -> float:
        return mu + self.eta * (1 - self.sigma - mu)

    def _settled(self, v: Floats, log_w: Floats, mu: float) -> tuple[Floats, Floats]:
        """Alternate between the laws of C that the conditionals w have, and the w that gain most from these."""
        local = self.parts.local
        weights = np.stack([1 - v, v], axis=1)[:, :, None] * local
        share = weights / weights.sum(axis=1, keepdims=True)
        log_r = np.zeros((len(v), 2, self.parts.release.shape[1]))
        for _ in range(SEARCH.steps):
            u = self._combined(np.exp(log_w))
            log_r = safe_log(share.transpose(0, 2, 1) @ u)
            log_w = self._tilted(safe_log(u) - local @ log_r, mu)
        return log_r, log_w

    def _tilted(self, log_ratio: Floats, mu: float) -> Floats:
        x = self.log_rho[:, None, :] + self._means(log_ratio) / mu
        return np.asarray(x - lse(x)[..., None])

    def _gains(self, log_r: Floats, mu: float) -> tuple[Floats, int]:
        """(j, a) g_aj by both chains of monotone rows, and how many steps they took."""
        mean = self.parts.local @ log_r
        ends = [safe_log(np.broadcast_to(self.rows[:, k], mean.shape)) for k in (-1, 0)]
        up, down = (self._increments(log_u - mean, mu) for log_u in ends)
        rounds = 0
        while rounds < SEARCH.rounds and (up - down).sum(axis=2).max() > SEARCH.close:
            up, down = (self._increments(self._outputs(d) - mean, mu) for d in (up, down))
            rounds += 1
        middle = (up + down) / 2
        gained = self._means(self._outputs(middle) - mean) / mu
        radius = np.maximum(up - middle, middle - down).sum(axis=2)
        return self.divergence_at_reference + mu * lse(self.log_rho[:, None, :] + gained) + radius**2 / 8, rounds

    def _increments(self, log_ratio: Floats, mu: float) -> Floats:
        return np.asarray(np.diff(self._means(log_ratio) / mu, axis=2))

    def _outputs(self, increments: Floats) -> Floats:
        start = np.zeros((*increments.shape[:2], 1))
        x = self.log_rho[:, None, :] + np.concatenate([start, np.cumsum(increments, axis=2)], axis=2)
        return safe_log(self._combined(np.exp(x - lse(x)[..., None])))

    def _means(self, vectors: Floats) -> Floats:
        """(j, a, sum) the mean of a vector over C of every (j, a), for every sum."""
        return np.asarray((self.rows[None] @ vectors[..., None])[..., 0])

    def _combined(self, weights: Floats) -> Floats:
        """(j, a, R) the rows of every (j, a), added up with these weights."""
        return np.asarray((weights[:, :, None, :] @ self.rows[None])[:, :, 0, :])
