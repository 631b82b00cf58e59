"""What all nodes of a tree of posteriors share: cells, groups of outputs, tangents and ratios (MATH 4.10).

With v(a|y) = z_ay / z_y the posterior, I(A;Y) = H(A) + sum_y z_y sum_a phi(v(a|y)) with phi(v) = v log v, and only the
posteriors stand between I and a concave function of the prior. A box low <= v(a|G) <= high is bounded by

    bound = (1+sigma) log sum_a exp( sigma/(1+sigma) log sum_{c of a} rho_c e^{h_c/sigma} ) + (sigma+eta) K
    h_c   = sum_G Q_cG [ (1-eta) ( alpha_aG + sum_b beta_bG ) + sum_b max(m high, m low)_bG - m_aG ] + g_c

for any multipliers m and any sigma > 0, where alpha v + beta is the secant of phi on the box. A binary secret has boxes
of v(1|G) alone, and those of v(0|G) are what is left; other secrets have a box for every value.

Outputs may be in groups G, with eta the largest contraction coefficient of a within-group channel. Then
-H(A|Y) + (1-eta) H(A|G) + eta H(pi) is concave and lies below its tangent at any prior pi0 = rho exp(q.lam) / M,

    g_c = sum_y q_cy [ log v0(a|y) - (1-eta) log v0(a|G) - eta lam_ay ] + eta log M .

A tree has a table of such tangents for all nodes, to which those of single leaves may be added. Single outputs have
eta = 0, and need none.

The row bound (MATH 4.2) has trees of the same shape, over the output law u = w q of one value of the secret:

    max_w { D(u || r) - s D(w || rho) }  <=  s log sum_c rho_c e^{h_c/s}
    h_c = sum_y q_cy [ alpha_y - log r_y - m_y ] + sum_y [ beta_y + max(m high, m low)_y ],

with secants of phi on a box of u. As q_c sums to one, that is the formula above for one value, with sums over all
outputs in place of sums over values, g_c = -q_c.log r, sigma = s fixed and K = 0.
"""

import ctypes
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalenius.numerics import compiled
from dalenius.numerics.information import lse, safe_log
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.cells import Cells

# Chances below this one, and factors between odds beyond it or its inverse, say nothing, as a verifier has it: else
# quotients would leave the range of doubles. tree.c has the same numbers.
LEAST, MOST = 1e-140, 1e140


@dataclass(frozen=True, eq=False)
class PosteriorProblem:
    """The cells, the group of every output (Y,), eta of the groups, and lam of every tangent (T, A, Y).

    log_r: that of the row bound, where the tree is over the output law of the one value that the cells have.
    own_tangents: how many more tangents may be added for single leaves.
    """

    cells: Cells
    groups: Ints
    eta: float = 0.0
    lam: Floats | None = None
    log_r: Floats | None = None
    own_tangents: int = 0

    @property
    def row(self) -> bool:
        """Whether boxes are of one output law."""
        return self.log_r is not None

    @property
    def n_groups(self) -> int:
        """Number of groups G."""
        return int(self.groups.max()) + 1

    @property
    def boxed(self) -> range:
        """The secret values that have boxes."""
        return range(int(self.cells.n_secrets == 2), self.cells.n_secrets)  # a binary secret

    @property
    def size(self) -> int:
        """Number of boxes V of a node."""
        return len(self.boxed) * self.n_groups

    @cached_property
    def columns(self) -> Floats:
        """Q_cG, (G, C)."""
        return np.ascontiguousarray((self.cells.q @ self.membership).T)

    @cached_property
    def membership(self) -> Floats:
        """Whether an output is in a group, (Y, G)."""
        return np.eye(self.n_groups)[self.groups]

    @cached_property
    def lines(self) -> Floats | None:
        """What every tangent has for a value and an output, (T, A, Y): g_c is its sum over the outputs of c."""
        return None if self.lam is None else np.stack([self._line(lam) for lam in self.lam])

    @cached_property
    def tangents(self) -> Floats | None:
        """g_c of every tangent, (T, C)."""
        if self.log_r is not None:
            return -(self.cells.q @ self.log_r)[None]
        return None if self.lines is None else self.cells.means(self.lines)

    def touching(self, lam: Floats) -> "PosteriorProblem":
        """The same problem with this tangent alone, (A, Y); nothing else is computed again."""
        alone = replace(self, lam=lam[None])
        alone.__dict__.update(columns=self.columns, membership=self.membership, ratios=self.ratios)
        return alone

    def with_tangent_of(self, alone: "PosteriorProblem") -> "PosteriorProblem":
        """The same problem with the tangent of another one at the end of its table."""
        more = replace(alone, own_tangents=self.own_tangents - 1)
        more.__dict__.update(
            (name, np.concatenate([getattr(self, name), getattr(alone, name)])) for name in ("lam", "lines", "tangents")
        )
        more.__dict__.update(columns=self.columns, membership=self.membership, ratios=self.ratios)
        return more

    def _line(self, lam: Floats) -> Floats:
        cells = self.cells
        # pi0 = rho exp(q.lam) / M
        log_pi = cells.log_rho + cells.means(lam[None])[0]
        log_total = lse(log_pi[None])[0]
        z = cells.joint(np.exp(log_pi - log_total)[None])[0]
        grouped = z @ self.membership
        coarse = (1 - self.eta) * _log_posterior(grouped)[:, self.groups]
        return np.asarray(_log_posterior(z) - coarse - self.eta * (lam - log_total))

    @cached_property
    def ratios(self) -> tuple[Floats, Floats] | None:
        """By which factors the odds of a value may grow from one group to another, each (boxes, G, G').

        z(a,G')/z(a,G) is an average of Q(G'|t)/Q(G|t) over the cells t of a. So with the odds o_a = v_a / (1 - v_a),
        and least and most over cells with Q(G|t) + Q(G'|t) > 0,

            least_a / most_(not a)  <=  o_a(G') / o_a(G)  <=  most_a / least_(not a) .

        None where looking at all pairs costs too much, or none says anything.
        """
        cells, groups = self.cells, self.n_groups
        if self.row or cells.size * groups**2 > cells.settings.limits.ratio_entries:
            return None
        low, high = (np.empty((cells.n_secrets, groups, groups)) for _ in range(2))
        with np.errstate(all="ignore"):
            for a, part in enumerate(cells.slices):
                own = self.columns[:, part]
                # A verifier knows of tiny chances only that they lie between 0 and LEAST.
                below, above = np.where(own < LEAST, 0.0, own), np.where(own > 0, np.maximum(own, LEAST), 0.0)
                for g in range(groups):
                    # x/0 is infinite, and 0/0 says nothing where both are exact zeros.
                    least, most = below / above[g], np.where(below[g] > 0, above / below[g], np.inf)
                    most[(above == 0) & (above[g] == 0)] = np.nan
                    low[a, g], high[a, g] = np.fmin.reduce(least, axis=1), np.fmax.reduce(most, axis=1)
            others = [[b for b in range(cells.n_secrets) if b != a] for a in self.boxed]
            least = low[self.boxed] / np.stack([np.fmax.reduce(high[rest], axis=0) for rest in others])
            most = high[self.boxed] / np.stack([np.fmin.reduce(low[rest], axis=0) for rest in others])
        least, most = np.where(np.isnan(least), 0.0, least), np.where(np.isnan(most), np.inf, most)
        apart = ~np.eye(groups, dtype=bool)
        return (least, most) if ((least > 0) | (most < np.inf))[:, apart].any() else None

    @cached_property
    def compiled(self) -> "compiled.Tree":
        """The problem as numerics/tree.c takes it; arrays live as long as this object does."""
        cells, ratios = self.cells, self.ratios
        # The structure holds addresses; the arrays must not be collected.
        arrays = [
            np.ascontiguousarray(cells.first),
            self.columns,
            np.ascontiguousarray(cells.log_rho),
            self.tangents,
            *(ratios or (None, None)),
        ]
        tree = compiled.Tree(
            cells.n_secrets,
            self.n_groups,
            cells.size,
            0 if self.tangents is None else len(self.tangents),
            int(self.row),
            *(None if x is None else ctypes.c_void_p(x.ctypes.data) for x in arrays),
            cells.knowledge,
            self.eta,
        )
        tree.arrays = arrays
        return tree


def _log_posterior(z: Floats) -> Floats:
    """log( z_ay / z_y ), (A, Y), and 0 where z is."""
    return np.where(z > 0, safe_log(z) - safe_log(z.sum(axis=0)), 0.0)
