"""Local randomisers from above, by formula: any number of records (docs/mathematics.md 4.12).

Record i has the channel W_i and the law rho_i, all independent. With

    eta   = sup D(w W || rho_i W) / D(w || rho_i) over the records outside the secret,
    sigma = inf D(v W_0 || u W_0) / D(v || u) for a law u of the secret,    D_a = D(W_0(.|a) || u W_0),

every prior of knowledge K leaks at most, for lam >= (1-sigma) eta and tau = sigma + lam,

    lam K + tau log sum_a u_a^(sigma/tau) rho_0(a)^(lam/tau) e^(D_a/tau).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from dalenius.bounds.closing import Formula, close
from dalenius.bounds.contraction import coefficient
from dalenius.model.channels.per_record import PerRecord
from dalenius.model.counting import log_binomial
from dalenius.model.reference import Reference
from dalenius.numerics.information import lse, xlogy
from dalenius.numerics.types import Floats

# Ratios of divergences below this are mostly rounding; the limit at 0 has a formula.
NEAR = 1e-9
# Coefficients are moved outward by this share, so that the verifier confirms them.
OUTWARD = 1e-7


def product(mechanism: PerRecord, members: tuple[int, ...], knowledge: float, reference: Reference) -> Formula:
    """Choose u and lam."""
    w, k = mechanism.rows, mechanism.k
    laws = [np.exp(reference.log_law_of(i, k)) for i in members]
    eta = max((contraction(w, law) for law in _other_laws(mechanism, members, reference)), default=0.0)
    rows: Floats = np.ones((1, 1))
    rho: Floats = np.ones(1)
    for law in laws:
        rows, rho = np.asarray(np.kron(rows, w), dtype=float), np.asarray(np.kron(rho, law), dtype=float)
    return _Choice(rows, rho, eta, knowledge).best(alone=len(members) == 1)


def all_looks(mechanism: PerRecord) -> Formula:
    """The capacity of n looks at one bit through a symmetric channel: what an adversary without limits learns.

    I(A;Y) is convex in the laws of the others given A, so at a fixed dataset of theirs for each value of A; a record
    that is the same in both tells nothing, and one that differs is one more look.
    """
    return Formula("looks", looks(mechanism.n, float(mechanism.rows[0, 1])))


def looks(n: int, flip: float) -> float:
    """Capacity of n looks at one bit, each wrong with this probability."""
    log_p = log_binomial(n, (flip, 1 - flip))
    return max(0.0, math.log(2) - float(np.exp(log_p) @ np.logaddexp(0.0, log_p[::-1] - log_p)))


def symmetric_bits(mechanism: PerRecord) -> bool:
    """Whether W is a symmetric channel on bits."""
    w = mechanism.rows
    return w.shape == (2, 2) and bool(w[0, 0] == w[1, 1] and w[0, 1] == w[1, 0])


def _other_laws(mechanism: PerRecord, members: tuple[int, ...], reference: Reference) -> list[Floats]:
    if len(reference.laws) <= 1:
        return [np.exp(reference.log_law_of(0, mechanism.k))] if mechanism.n > len(members) else []
    different = {law: i for i, law in enumerate(reference.laws) if i not in members}
    return [np.exp(reference.log_law_of(i, mechanism.k)) for i in different.values()]


def contraction(w: Floats, law: Floats) -> float:
    """Return at least sup D(v W || law W) / D(v || law) over laws v, up to rounding and a share of margin.

    Bits, and k-ary randomised response at the uniform law, in one variable; else the coefficient over all laws.
    """
    margin, k = 1 + OUTWARD, len(w)
    kept = _kept(w)
    if w.shape == (2, 2):
        largest = -_least(lambda x: -_ratio(np.stack([1 - x, x], axis=1), w, law), 0.0, 1.0)
        return min(1.0, margin * max(largest, _local(w, law)))
    if kept is None or not _even(law):
        return min(1.0, margin * coefficient(w))

    def apart(x: Floats) -> Floats:
        """Laws (x, y, .., y)."""
        others = np.repeat((1 - x[:, None]) / (k - 1), k - 1, axis=1)
        return -_ratio(np.concatenate([x[:, None], others], axis=1), w, law)

    return min(1.0, margin * max(-_least(apart, 1 / k, 1.0), kept**2))


def expansion(w: Floats, law: Floats) -> float:
    """Return at most inf D(v W || law W) / D(v || law) over laws v, up to rounding and a share of margin; 0 serves."""
    margin, k = 1 - OUTWARD, len(w)
    kept = _kept(w)
    if w.shape == (2, 2):
        ends = _divergence(w, law @ w) / -np.log(law)
        return max(0.0, margin * min(float(ends.min()), _local(w, law)))
    if kept is None or not _even(law):
        return 0.0

    def apart(y: Floats, j: int) -> Floats:
        """Laws (x, .., x, y, 0, .., 0) with j entries x."""
        laws = np.zeros((y.size, k))
        laws[:, :j], laws[:, j] = ((1 - y) / j)[:, None], y
        return _ratio(laws, w, law)

    least = min(_least(lambda y, j=j: apart(y, j), 0.0, 1 / (j + 1)) for j in range(1, k))  # type: ignore[misc]
    return max(0.0, margin * min(least, kept**2))


def _even(law: Floats) -> bool:
    return bool(np.ptp(law) <= 1e-15 * law.max())


def _ratio(laws: Floats, w: Floats, law: Floats) -> Floats:
    """D(v W || law W) / D(v || law) of every v; nan so near the law that it would be rounding."""
    apart = _divergence(laws, law)
    near = apart < NEAR
    return np.where(near, np.nan, _divergence(laws @ w, law @ w) / np.where(near, 1.0, apart))


def _least(f: Callable[[Floats], Floats], low: float, high: float, points: int = 1001, rounds: int = 3) -> float:
    """The least value of f on a grid, then on finer ones around it, to some 1e-9; inf where f is nan everywhere."""
    best = math.inf
    for _ in range(rounds):
        share = (1 - np.cos(math.pi * np.linspace(0.0, 1.0, points))) / 2
        x = low + (high - low) * share
        values = np.where(np.isnan(y := f(x)), np.inf, y)
        at = int(values.argmin())
        best = min(best, float(values[at]))
        low, high = float(x[max(at - 1, 0)]), float(x[min(at + 1, x.size - 1)])
    return best


def _kept(w: Floats) -> float | None:
    """c where W = c I + (1-c) U, the uniform U: randomised response; else None."""
    k = len(w)
    if w.shape != (k, k) or np.ptp(np.diag(w)) > 0 or np.ptp(w[~np.eye(k, dtype=bool)]) > 0:
        return None
    return float(w[0, 0] - w[0, 1])


def _local(w: Floats, law: Floats) -> float:
    """The limit of the ratio of divergences at laws near this one; two values."""
    out, step = law @ w, w[1] - w[0]
    return float((step**2 / out).sum() * law[0] * law[1])


def _divergence(laws: Floats, law: Floats) -> Floats:
    return np.asarray((xlogy(laws, laws) - xlogy(laws, law)).sum(axis=-1))


@dataclass(frozen=True)
class _Choice:
    """The bound as a function of u and lam."""

    rows: Floats
    rho: Floats
    eta: float
    knowledge: float

    def at(self, law: Floats, sigma: float, excess: float, least: float = 1e-9) -> Formula:
        """The majorant theta = sigma, G_a = D_a + sigma log u_a, closed at s = lam = (1-sigma) eta + excess.

        least: lam of one record alone where sigma is 0 in floats, as of 50 values at epsilon 0.01. The theorem asks for
        sigma + lam > 0; it costs this share of the knowledge.
        """
        eta = (1 - sigma) * self.eta
        lam = eta + excess
        lam = lam if sigma + lam > 0 else least
        divergence = (xlogy(self.rows, self.rows) - xlogy(self.rows, law @ self.rows)).sum(axis=1)
        gain = divergence + sigma * np.log(law)
        upper = float(close(np.log(self.rho), gain, self.knowledge, s=lam, theta=sigma, eta=eta))
        data = {"eta": self.eta, "sigma": sigma, "lambda": lam, "law": law.tolist()}
        # The margin is that of h alone, which has sufficed so far: lam may be as large as e^20.
        return Formula("product", upper, data)

    def best(self, *, alone: bool) -> Formula:
        """u = rho and the least lam, and what a search from there finds; with and without sigma."""
        uses = [True, False] if alone else [False]
        found = [item for use in uses for item in self._searched(use_sigma=use)]
        return min(found, key=lambda proof: proof.upper)

    def _searched(
        self,
        *,
        use_sigma: bool,
        values: int = 8,
        starts: tuple[float, ...] = (0.3, 1e-6),
        most_log_excess: float = 20.0,
    ) -> list[Formula]:
        """Bounds at u = rho, and at the u that are found from there.

        values: of the secret, up to which u is searched: with more, and a symmetric channel, u = rho is best. starts:
        of lam above the least; one alone missed the best of skewed laws. most_log_excess: without knowledge the bound
        falls for ever as lam grows. At e^20 it is 2e-9 above its limit, and further out sums of floats cancel.
        """

        def proof(point: Floats) -> Formula:
            law = np.exp(point[1:] - lse(point[1:]))
            law = np.maximum(law, 1e-12) / np.maximum(law, 1e-12).sum()
            sigma = expansion(self.rows, law) if use_sigma else 0.0
            excess = math.exp(min(point[0], most_log_excess)) if point[0] > -25 else 0.0  # as good as none
            return self.at(law, sigma, excess)

        start = np.log(self.rho)
        found = [proof(np.append(-30.0, start))]
        # With sigma the law has to stay uniform but for bits.
        if (use_sigma and self.rows.shape != (2, 2)) or self.rho.size > values:
            return found
        for excess in starts:
            got = scipy.optimize.minimize(
                lambda x: proof(x).upper,
                np.append(math.log(excess), start),
                method="Nelder-Mead",
                options={"maxiter": 400, "xatol": 1e-7, "fatol": 1e-12},
            )
            found.append(proof(np.asarray(got.x)))
        return found
