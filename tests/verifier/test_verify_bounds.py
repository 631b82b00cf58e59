"""The bounds of proofs: what they are, that no prior exceeds them, and that eta is really checked."""

import itertools
import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from flint import arb
from kinds import Floats, Json
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.forms.written import Asked, rebuild
from dalenius.verifier.kernel import convex
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.choices import Choices
from dalenius.verifier.kernel.contraction import pair_contracts
from dalenius.verifier.kernel.reading import Refused

pytestmark = pytest.mark.usefixtures("precise")


SHAPES = [([2, 2], 3), ([2, 3], 4), ([3, 2], 3), ([2, 2, 2], 4)]


def phi(u: Floats) -> Floats:
    return u * np.log(np.where(u > 0, u, 1))


class Case:
    """A random channel over datasets, record 0 secret; rows of one value a are cells of equal reference mass."""

    def __init__(self, rng: np.random.Generator, sharp: float = 1.0) -> None:
        self.records, self.outputs = SHAPES[rng.integers(len(SHAPES))]
        many = math.prod(self.records)
        rows = rng.dirichlet(np.full(self.outputs, sharp), many)
        if rng.random() < 0.3:
            rows[rng.integers(many), rng.integers(self.outputs)] = 0
            rows /= rows.sum(1, keepdims=True)
        self.channel = rebuild({"records": self.records, "classes": None, "rows": rows.tolist()})
        self.A = self.records[0]
        self.q = np.array([[float(x) for x in self.channel.rows[r]] for r in self.channel.row_of]).reshape(
            self.A, -1, self.outputs
        )
        self.T = self.q.shape[1]
        self.rho = np.full((self.A, self.T), 1 / many)
        self.knowledge = float(rng.uniform(0.01, 1) * math.log(many))
        self.cells = self.channel.cells(self.channel.statistic.shares(0))

    def information(self, pi: Floats) -> float:
        z = np.einsum("at,aty->ay", pi, self.q)
        return phi(z).sum() - phi(z.sum(0)).sum() - phi(z.sum(1)).sum()

    def divergence(self, pi: Floats) -> float:
        return float((phi(pi) - pi * np.log(self.rho)).sum())

    def priors(self, rng: np.random.Generator, many: int) -> Iterator[Floats]:
        """Random priors, some with little entropy, drawn towards the reference until they are allowed."""
        for _ in range(many):
            pi = rng.dirichlet(np.full(self.rho.size, rng.choice([0.05, 0.3, 1]))).reshape(self.rho.shape)
            yield self.allowed(pi)

    def allowed(self, pi: Floats) -> Floats:
        if self.divergence(pi) <= self.knowledge:
            return pi
        low, high = 0.0, 1.0
        for _ in range(50):
            mid = (low + high) / 2
            low, high = (
                (mid, high) if self.divergence(mid * pi + (1 - mid) * self.rho) <= self.knowledge else (low, mid)
            )
        return low * pi + (1 - low) * self.rho

    def step(self, c: Floats, s: float) -> Floats:
        score = np.log(self.rho) + c / s
        row = logsumexp(score, axis=1, keepdims=True)
        return np.exp(score - row + s / (1 + s) * row - logsumexp(s / (1 + s) * row))

    def climb(self, pi: Floats, steps: int = 60) -> Floats:
        """Blahut-Arimoto steps towards more leakage (MATH 3), kept allowed."""
        for _ in range(steps):
            z = np.einsum("at,aty->ay", pi, self.q) + 1e-300
            c = np.einsum("aty,ay->at", self.q, np.log(z / z.sum(0)))
            for s in (0.01, 0.1, 0.3, 1.0, 3.0, 30.0):
                new = self.step(c, s)
                if self.divergence(new) <= self.knowledge:
                    break
            else:
                return pi
            if self.information(new) <= self.information(pi):
                return pi
            pi = new
        return pi


def pair_eta(p: Floats, q: Floats) -> float:
    shared = (p > 0) & (q > 0)
    p, q = p[shared], q[shared]
    if not shared.any():
        return 1.0
    h = lambda t: (p * q / (t * p + (1 - t) * q)).sum()  # noqa: E731
    found = minimize_scalar(h, bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    return 1 - min(found.fun, h(1e-12), h(1 - 1e-12))


def contraction(rows: Floats, groups: list[int]) -> float:
    """The largest eta of a within-group channel."""
    best = 0.0
    for g in set(groups):
        part = rows[:, [y for y, of in enumerate(groups) if of == g]]
        part = part[part.sum(1) > 0]
        part = part / part.sum(1, keepdims=True)
        if part.shape[1] > 1:
            best = max([best, *(pair_eta(p, q) for p, q in itertools.combinations(part, 2))])
    return best


def random_proof(case: Case, rng: np.random.Generator, pi: Floats | None = None) -> Json:
    """A point at random; with a prior given, one that is natural there and so nearly tight."""
    least = max(contraction(q, [0] * case.outputs) for q in case.q)
    eta = float(rng.choice([least + 1e-9, (least + 1) / 2, 1.0, 1.7]))
    theta = float(rng.choice([1.0, 1.0, float(rng.random()), 0.0]))
    s = theta * min(eta, 1) + float(rng.choice([0.01, 0.1, 0.5, 2.0]))
    proof = {"s": s, "eta": eta, "theta": theta, "rho": rng.normal(0, 0.5, case.outputs).tolist()}
    lam = rng.normal(0, 1, (case.A, case.outputs))
    if pi is not None:
        z = np.einsum("at,aty->ay", pi, case.q) + 1e-12
        proof["rho"], lam = np.log(z.sum(0)).tolist(), np.log(z / z.sum(0)) / s
    if theta or rng.random() < 0.2:
        proof["lam"] = lam.tolist()
    if rng.random() < 0.4:
        proof["omega"] = float(rng.normal(0, 0.5))
    return proof


def bound(case: Case, proof: Json) -> arb:
    asked = Asked(case.channel, Secret((0,)), Knowledge(arb(case.knowledge), none=False, free=False))
    [(_, found)] = convex.bounds(asked.question, proof, "it")
    return found


def by_formula(case: Case, proof: Json) -> mpmath.mpf:
    """The bound straight from its formula, in mpmath."""
    mpf, log, exp = mpmath.mpf, mpmath.log, mpmath.exp
    f = lambda u: u * log(u) if u > 0 else mpf(0)  # noqa: E731
    s, theta, eta = mpf(proof["s"]), mpf(proof["theta"]), mpf(min(1.0, proof["eta"]))
    omega, sigma = mpf(proof.get("omega", 0.0)), s - theta * eta
    g_of_a = []
    for a in range(case.A):
        lam = proof["lam"][a] if theta else [0.0] * case.outputs
        q = [[mpf(float(x)) for x in row] for row in case.q[a]]
        zeta = [sum(x * m for x, m in zip(row, lam, strict=True)) + omega * sum(map(f, row)) for row in q]
        rho = [mpf(1) / case.rho.size] * case.T
        z = log(sum(r * exp(x) for r, x in zip(rho, zeta, strict=True)))
        w0 = [r * exp(x - z) for r, x in zip(rho, zeta, strict=True)]
        u0 = [sum(w * row[y] for w, row in zip(w0, q, strict=True)) for y in range(case.outputs)]
        x = []
        for c in range(case.T):
            h = -sum(v * r for v, r in zip(q[c], proof["rho"], strict=True)) + (1 - theta) * sum(map(f, q[c]))
            h += theta * sum(v * log(u) for v, u in zip(q[c], u0, strict=True) if v > 0) - theta * eta * (zeta[c] - z)
            x.append(log(rho[c]) + h / sigma)
        g_of_a.append(sigma * log(sum(map(exp, x))))
    total = s * log(sum(exp(g / s) for g in g_of_a)) + log(sum(exp(mpf(r)) for r in proof["rho"]))
    return total + s * mpf(case.knowledge)


@pytest.mark.parametrize("seed", range(40))
def test_the_convex_bound_is_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = Case(rng)
    proof = random_proof(case, rng)
    found = bound(case, proof)
    assert float(found) == pytest.approx(float(by_formula(case, proof)), abs=1e-9)
    assert float(found.rad()) < 1e-25 * max(1, abs(float(found)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_no_prior_leaks_more_than_the_convex_bound(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    case = Case(rng, sharp=float(rng.choice([0.3, 1.0, 3.0])))
    priors = list(case.priors(rng, 40))
    best = max((case.climb(pi) for pi in priors[:10]), key=case.information)
    assert case.divergence(best) <= case.knowledge + 1e-12
    leaks = max(case.information(pi) for pi in [*priors, best])
    for j in range(8):
        assert float(bound(case, random_proof(case, rng, best if j % 2 else None))) >= leaks - 1e-12


def test_bounds_at_natural_points_are_not_vacuous() -> None:
    """At a stationary point with s above eta the bound meets the prior's own leakage."""
    rng = np.random.default_rng(7)
    gaps = []
    for _ in range(3):
        case = Case(rng, sharp=3.0)
        eta = max(contraction(q, [0] * case.outputs) + 1e-9 for q in case.q)
        s = 1.3 * eta
        v = np.ones((case.A, case.outputs)) + rng.random((case.A, case.outputs))
        for _ in range(1500):
            pi = case.step(np.einsum("aty,ay->at", case.q, np.log((v + 1e-300) / v.sum(0))), s)
            v = np.einsum("at,aty->ay", pi, case.q)
        case.knowledge = case.divergence(pi)
        lam = (np.log(v / v.sum(0)) / s).tolist()
        proof = {"s": s, "eta": eta, "theta": 1.0, "rho": np.log(v.sum(0)).tolist(), "lam": lam}
        gaps.append(float(bound(case, proof)) - case.information(pi))
    assert min(gaps) >= -1e-12
    assert max(gaps) <= 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_choices_bound_every_prior(seed: int) -> None:
    rng = np.random.default_rng(3000 + seed)
    case = Case(rng, sharp=0.5)
    case.knowledge = 99.0
    choices = Choices(Asked(case.channel, Secret((0,)), Knowledge(arb(0), none=False, free=True)).question)
    leaves, pending = [], [choices.root]
    while pending:
        state = pending.pop()
        if len(leaves) + len(pending) < 5:
            cut = [int(rng.integers(case.A)), int(rng.integers(case.outputs)), float(rng.random())]
            pending += choices.split(state, cut)
        else:
            leaves.append(state)
    bounds = []
    for state in leaves:
        bound = choices.bound(state, {"rho": rng.normal(0, 0.5, case.outputs).tolist()})
        assert (bound is None) == (not all(state))
        bounds.append(-math.inf if bound is None else float(bound))
    for pi in case.priors(rng, 20):
        assert max(bounds) >= case.information(pi) - 1e-12
    for pick in itertools.product(range(case.T), repeat=case.A):
        pi = np.zeros_like(case.rho)
        for a, t in enumerate(pick):
            pi[a, t] = 1 / case.A
        holding = [
            b for b, state in zip(bounds, leaves, strict=True) if all(t in s for t, s in zip(pick, state, strict=True))
        ]
        assert holding
        assert min(holding) >= case.information(pi) - 1e-12


@pytest.mark.parametrize("seed", range(40))
def test_contraction_is_certified_closely_and_never_below_the_truth(seed: int) -> None:
    rng = np.random.default_rng(4000 + seed)
    p, q = rng.dirichlet(np.full(rng.integers(2, 6), rng.choice([0.3, 1.0, 5.0])), 2)
    if seed % 3 == 0:
        p[0] = 0
        p /= p.sum()
    least = pair_eta(p, q)
    balls = [[arb(float(x)) / arb(float(np.sum(v))) for x in v] for v in (p, q)]
    assert pair_contracts(*balls, arb(least + 1e-7))
    assert not pair_contracts(*balls, arb(least - 1e-7))
    # D(wP || w0P) <= eta D(w || w0), tried on random pairs of priors.
    for w, w0 in rng.random((50, 2)):
        kl = lambda x, y: float((phi(x) - x * np.log(np.where(y > 0, y, 1))).sum())  # noqa: E731
        inner = kl(np.array([w, 1 - w]), np.array([w0, 1 - w0]))
        outer = kl(w * p + (1 - w) * q, w0 * p + (1 - w0) * q)
        assert outer <= (least + 1e-7) * inner + 1e-12


def test_contraction_of_rows_whose_squares_are_below_all_floats() -> None:
    p, q = [arb(0.75), arb(1e-308), arb(0.25)], [arb(0.25), arb(1e-200), arb(0.75)]
    assert pair_contracts(p, q, arb(0.25 + 1e-9))  # a binary symmetric channel: (1 - 2 flip)^2
    assert not pair_contracts(p, q, arb(0.25 - 1e-9))


def test_a_tangent_next_to_either_end_is_as_good() -> None:
    # Its place is 1.2e-8 from one end: lam itself, near 1, is too coarse in floats, its odds are not.
    p, q = [arb(0.9240917164668867), arb(1) - arb(0.9240917164668867)], [1 - arb(1e-17), arb(1e-17)]
    assert pair_contracts(p, q, arb(0.07590828187))
    assert pair_contracts(q, p, arb(0.07590828187))
    assert not pair_contracts(q, p, arb(0.07590828185))


@pytest.mark.parametrize("odds", [-3.0, -0.8, 0.8, 3.0])
def test_contraction_is_safe_wherever_the_search_ends(odds: float) -> None:
    rng = np.random.default_rng(14)
    for _ in range(50):
        p, q = rng.dirichlet(np.ones(4), 2)
        balls = [[arb(float(x)) for x in v] for v in (p, q)]
        assert not pair_contracts(*balls, arb(pair_eta(p, q) - 1e-9), odds)


def test_an_eta_too_small_is_refused() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        case = Case(rng)
        least = max(contraction(q, [0] * case.outputs) for q in case.q)
        proof = {"s": 3.0, "theta": 1.0, "rho": [0.0] * case.outputs, "lam": [[0.0] * case.outputs] * case.A}
        bound(case, {**proof, "eta": least + 1e-7})
        with pytest.raises(Refused, match="contraction"):
            bound(case, {**proof, "eta": least - 1e-7})
        with pytest.raises(Refused, match="one output each"):
            bound(case, {**proof, "eta": 0.0})


def test_eta_above_one_counts_as_one() -> None:
    case = Case(np.random.default_rng(12))
    proof = {"s": 3.0, "theta": 1.0, "rho": [0.0] * case.outputs, "lam": [[0.0] * case.outputs] * case.A}
    first, *others = (float(bound(case, {**proof, "eta": eta})) for eta in (1.0, 1.5, 2.9))
    assert others == [first, first]


def test_narrow_boxes_keep_their_secants() -> None:
    for lo, hi in (
        (0.3, math.nextafter(0.3, 1)),
        (0.3, 0.3),
        (0.0, 0.0),
        (0.0, 5e-324),
        (0.0, 1.0),
        (1.0, math.nextafter(1.0, 2)),
    ):
        alpha, beta = convex.secant(lo, hi)
        for u in (lo, hi, (lo + hi) / 2):
            ball = arb(u)
            gap = alpha * ball + beta - (ball * ball.log() if u > 0 else 0)
            assert float(gap.lower()) >= -1e-35
            if hi - lo < 1e-12:
                assert float(gap.upper()) < 1e-15
