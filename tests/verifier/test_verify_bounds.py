"""The bounds of proofs: what they are, that no prior exceeds them, and that eta is really checked."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from dalenius.verifier.forms.asked import Asked
from dalenius.verifier.forms.secret import Group
from dalenius.verifier.forms.written import rebuild
from dalenius.verifier.kernel.balls import FEW_BITS, PRECISION, precision
from dalenius.verifier.kernel.boxes import Boxes, Interval
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.choices import Choices
from dalenius.verifier.kernel.contraction import pair_contracts
from dalenius.verifier.kernel.reading import Refused, refuse
from dalenius.verifier.proofs import twice

Floats = NDArray[np.float64]
Json = Any
Node = tuple[list[float] | None, list[Interval] | None]  # a split, or the box of a leaf

SHAPES = [([2, 2], 3), ([2, 3], 4), ([3, 2], 3), ([2, 2, 2], 4)]


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    with precision():
        yield


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


def random_groups(rng: np.random.Generator, outputs: int) -> list[int]:
    named = rng.integers(0, rng.integers(1, outputs + 1), outputs)
    order = {g: i for i, g in enumerate(dict.fromkeys(named.tolist()))}
    return [order[g] for g in named.tolist()]


def random_proof(case: Case, rng: np.random.Generator) -> Json:
    groups = [random_groups(rng, case.outputs) for _ in range(case.A)]
    eta = []
    for a in range(case.A):
        least = contraction(case.q[a], groups[a])
        alone = len(set(groups[a])) == case.outputs
        eta.append(
            float(rng.choice([0.0, 0.1, 1.0]))
            if alone
            else float(rng.choice([least + 1e-9, (least + 1) / 2, 1.0, 1.7]))
        )
    return {"groups": groups, "eta": eta}


def random_leaf(case: Case, proof: Json, rng: np.random.Generator, pi: Floats | None = None) -> Json:
    """Random multipliers; with a prior given, those that are natural there and so nearly tight."""
    sizes = [max(g) + 1 for g in proof["groups"]]
    theta = rng.choice([1.0, 1.0, float(rng.random()), 0.0], case.A)
    least = max(t * min(e, 1) for t, e in zip(theta, proof["eta"], strict=True))
    s = least + float(rng.choice([0.01, 0.1, 0.5, 2.0]))
    leaf = {"s": s, "rho": rng.normal(0, 0.5, case.outputs).tolist(), "theta": theta.tolist()}
    if pi is not None:
        z = np.einsum("at,aty->ay", pi, case.q) + 1e-12
        leaf["rho"] = np.log(z.sum(0)).tolist()
        leaf["lam"] = (np.log(z / z.sum(0)) / s).tolist()
    elif rng.random() < 0.6:
        leaf["lam"] = rng.normal(0, 1, (case.A, case.outputs)).tolist()
    if rng.random() < 0.6:
        leaf["mu"] = [rng.normal(0, 0.3, size).tolist() for size in sizes]
    if rng.random() < 0.7:
        leaf["kappa"] = [rng.choice([0.0, 1.0, float(rng.random())], size).tolist() for size in sizes]
    if rng.random() < 0.4:
        leaf["omega"] = [rng.normal(0, 0.5, size).tolist() for size in sizes]
    if rng.random() < 0.3:
        del leaf["theta"]
        leaf["s"] = max(min(e, 1) for e in proof["eta"]) + s
    return leaf


def by_formula(case: Case, proof: Json, leaf: Json, box: list[tuple[list[float], list[float]]]) -> mpmath.mpf:
    """The bound of a leaf straight from its formula, in mpmath; box[a] = (lo, hi) after tightening."""
    mpf, log, exp = mpmath.mpf, mpmath.log, mpmath.exp
    f = lambda u: u * log(u) if u > 0 else mpf(0)  # noqa: E731
    s = mpf(leaf["s"])
    g_of_a = []
    for a in range(case.A):
        groups, eta = proof["groups"][a], mpf(min(1.0, proof["eta"][a]))
        size = max(groups) + 1
        get = lambda key, default, length: leaf.get(key, [[default] * length] * case.A)[a]  # noqa: B023, E731
        mu, kappa, omega = (get(key, d, size) for key, d in (("mu", 0.0), ("kappa", 1.0), ("omega", 0.0)))
        lam = get("lam", 0.0, case.outputs)
        theta = mpf(leaf.get("theta", [1.0] * case.A)[a])
        sigma = s - theta * eta
        q = [[mpf(float(x)) for x in row] for row in case.q[a]]
        coarse = [[sum(x for x, g in zip(row, groups, strict=True) if g == k) for k in range(size)] for row in q]
        zeta = [
            sum(x * m for x, m in zip(row, lam, strict=True)) + sum(o * f(x) for o, x in zip(omega, sums, strict=True))
            for row, sums in zip(q, coarse, strict=True)
        ]
        rho = [mpf(1) / case.rho.size] * case.T
        z = log(sum(r * exp(x) for r, x in zip(rho, zeta, strict=True)))
        zeta = [x - z for x in zeta]
        w0 = [r * exp(x) for r, x in zip(rho, zeta, strict=True)]
        u0 = [sum(w * row[y] for w, row in zip(w0, q, strict=True)) for y in range(case.outputs)]
        big0 = [sum(w * sums[k] for w, sums in zip(w0, coarse, strict=True)) for k in range(size)]
        x = []
        for c in range(case.T):
            h = -sum(v * r for v, r in zip(q[c], leaf["rho"], strict=True))
            for k in range(size):
                lo, hi = (mpf(end[k]) for end in box[a])
                alpha = (f(hi) - f(lo)) / (hi - lo) if hi > lo else (log(lo) + 1 if lo > 0 else mpf(0))
                beta = f(lo) - alpha * lo
                h += -mu[k] * coarse[c][k] + max(mu[k] * hi, mu[k] * lo)
                h += theta * (1 - eta) * ((1 - kappa[k]) * (alpha * coarse[c][k] + beta) + kappa[k] * f(coarse[c][k]))
                h -= theta * (1 - eta) * (coarse[c][k] * log(big0[k]) if coarse[c][k] > 0 else 0)
            h += theta * sum(v * log(u) for v, u in zip(q[c], u0, strict=True) if v > 0) - theta * eta * zeta[c]
            h += (1 - theta) * sum(f(v) for v in q[c])
            x.append(log(rho[c]) + h / sigma)
        g_of_a.append(sigma * log(sum(map(exp, x))))
    total = s * log(sum(exp(g / s) for g in g_of_a)) + log(sum(exp(mpf(r)) for r in leaf["rho"]))
    return total + s * mpf(case.knowledge)


def tight(side: Interval) -> tuple[list[float], list[float]]:
    """Tightening in plain floats, written a second time."""
    lo, hi = list(side.low), list(side.high)
    for _ in range(3):
        hi = [min(h, 1 - sum(lo[:k] + lo[k + 1 :])) for k, h in enumerate(hi)]
        lo = [max(x, 1 - sum(hi[:k] + hi[k + 1 :])) for k, x in enumerate(lo)]
    return lo, hi


def random_tree(
    boxes: Boxes, box: list[Interval], rng: np.random.Generator, splits: int
) -> list[tuple[list[float] | None, list[Interval] | None]]:
    """Return a preorder tree of random splits and the boxes of its leaves."""
    if splits == 0:
        return [(None, box)]
    a = int(rng.integers(len(boxes.rows)))
    g = int(rng.integers(boxes.rows[a].size))
    lo, hi = box[a].low[g], box[a].high[g]
    cut = [a, g, float(rng.uniform(min(lo, hi) - 0.02, max(lo, hi) + 0.02))]
    left, right = boxes.split(box, cut)
    share = int(rng.integers(splits))
    return [(cut, None), *random_tree(boxes, left, rng, share), *random_tree(boxes, right, rng, splits - 1 - share)]


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_of_a_leaf_is_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = Case(rng)
    proof = random_proof(case, rng)
    boxes = Boxes(case.cells, case.channel, arb(case.knowledge), proof)
    for _, box in random_tree(boxes, boxes.root, rng, 2):
        if box is None:
            continue
        leaf = random_leaf(case, proof, rng)
        found = boxes.bound(box, leaf)
        if found is None:
            assert any(h < x for side in box for x, h in zip(*tight(side), strict=True)) or any(s.empty for s in box)
            continue
        expected = by_formula(case, proof, leaf, [tight(side) for side in box])
        assert float(found) == pytest.approx(float(expected), abs=1e-9)
        assert float(found.rad()) < 1e-25 * max(1, abs(float(found)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_no_prior_leaks_more_than_a_single_leaf_allows(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    case = Case(rng, sharp=float(rng.choice([0.3, 1.0, 3.0])))
    proof = random_proof(case, rng)
    boxes = Boxes(case.cells, case.channel, arb(case.knowledge), proof)
    priors = list(case.priors(rng, 40))
    best = max((case.climb(pi) for pi in priors[:10]), key=case.information)
    assert case.divergence(best) <= case.knowledge + 1e-12
    leaks = max(case.information(pi) for pi in [*priors, best])
    for j in range(8):
        leaf = random_leaf(case, proof, rng, best if j % 2 else None)
        assert float(boxes.bound(boxes.root, leaf)) >= leaks - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_every_prior_is_bounded_by_the_leaf_it_lies_in(seed: int) -> None:
    rng = np.random.default_rng(2000 + seed)
    case = Case(rng, sharp=float(rng.choice([0.3, 1.0])))
    proof = random_proof(case, rng)
    boxes = Boxes(case.cells, case.channel, arb(case.knowledge), proof)
    leaves = [box for _, box in random_tree(boxes, boxes.root, rng, 6) if box is not None]
    for pi in list(case.priors(rng, 25)) + [case.climb(p) for p in case.priors(rng, 5)]:
        w = pi / pi.sum(1, keepdims=True)
        u = np.einsum("at,aty->ay", w, case.q)
        inside = [box for box in leaves if lies_in(u, box, proof["groups"])]
        assert inside
        for box in inside:
            leaf = random_leaf(case, proof, rng, pi if rng.random() < 0.7 else None)
            bound = boxes.bound(box, leaf)
            assert bound is not None
            assert float(bound) >= case.information(pi) - 1e-12


def lies_in(u: Floats, box: list[Interval], groups: list[list[int]]) -> bool:
    for a, side in enumerate(box):
        sums = np.bincount(groups[a], weights=u[a])
        if (sums < np.array(side.low) - 1e-13).any() or (sums > np.array(side.high) + 1e-13).any():
            return False
    return True


def test_bounds_of_natural_leaves_are_not_vacuous() -> None:
    """At a stationary point with s above eta, groups and all, the bound meets the prior's own leakage."""
    rng = np.random.default_rng(7)
    gaps = []
    for _ in range(5):
        case = Case(rng, sharp=3.0)
        groups = [[0] * case.outputs] * case.A
        eta = [contraction(q, [0] * case.outputs) + 1e-9 for q in case.q]
        s = 1.3 * max(eta)
        v = np.ones((case.A, case.outputs)) + rng.random((case.A, case.outputs))
        for _ in range(1500):
            pi = case.step(np.einsum("aty,ay->at", case.q, np.log((v + 1e-300) / v.sum(0))), s)
            v = np.einsum("at,aty->ay", pi, case.q)
        case.knowledge = case.divergence(pi)
        leaf = {"s": s, "rho": np.log(v.sum(0)).tolist(), "lam": (np.log(v / v.sum(0)) / s).tolist()}
        boxes = Boxes(case.cells, case.channel, arb(case.knowledge), {"groups": groups, "eta": eta})
        gaps.append(float(boxes.bound(boxes.root, leaf)) - case.information(pi))
    assert min(gaps) >= -1e-12
    assert max(gaps) <= 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_choices_bound_every_prior(seed: int) -> None:
    rng = np.random.default_rng(3000 + seed)
    case = Case(rng, sharp=0.5)
    case.knowledge = 99.0
    choices = Choices(Asked(case.channel, Group((0,)), Knowledge(arb(0), none=False, free=True)).question)
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
    # Its place is 1.2e-8 from one end: near 1 floats were too coarse, and a certificate of our own was refused.
    p, q = [arb(0.9240917164668867), arb(1) - arb(0.9240917164668867)], [1 - arb(1e-17), arb(1e-17)]
    assert pair_contracts(p, q, arb(0.07590828187))
    assert pair_contracts(q, p, arb(0.07590828187))
    assert not pair_contracts(q, p, arb(0.07590828185))


@pytest.mark.parametrize("lam", [0.05, 0.3, 0.7, 0.95])
def test_contraction_is_safe_wherever_the_search_ends(lam: float) -> None:
    rng = np.random.default_rng(14)
    for _ in range(50):
        p, q = rng.dirichlet(np.ones(4), 2)
        balls = [[arb(float(x)) for x in v] for v in (p, q)]
        assert not pair_contracts(*balls, arb(pair_eta(p, q) - 1e-9), lam)


def test_an_eta_too_small_is_refused() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        case = Case(rng)
        groups = [[0] * case.outputs] * case.A
        least = [contraction(q, groups[0]) for q in case.q]
        good = [e + 1e-7 for e in least]
        Boxes(case.cells, case.channel, arb(1), {"groups": groups, "eta": good})
        for a in range(case.A):
            bad = [*good[:a], least[a] - 1e-7, *good[a + 1 :]]
            with pytest.raises(Refused, match="contraction"):
                Boxes(case.cells, case.channel, arb(1), {"groups": groups, "eta": bad})
        with pytest.raises(Refused, match="one output each"):
            Boxes(case.cells, case.channel, arb(1), {"groups": groups, "eta": [0.0] * case.A})


def test_eta_above_one_counts_as_one() -> None:
    case = Case(np.random.default_rng(12))
    groups = [[0] * case.outputs] * case.A
    leaf = {"s": 3.0, "rho": [0.0] * case.outputs}
    bounds = []
    for eta in (1.0, 1.5, 2.9):
        boxes = Boxes(case.cells, case.channel, arb(1), {"groups": groups, "eta": [eta] * case.A})
        bounds.append(float(boxes.bound(boxes.root, leaf)))
    assert bounds[0] == bounds[1] == bounds[2]


def test_narrow_boxes_keep_their_secants() -> None:
    for lo, hi in (
        (0.3, math.nextafter(0.3, 1)),
        (0.3, 0.3),
        (0.0, 0.0),
        (0.0, 5e-324),
        (0.0, 1.0),
        (1.0, math.nextafter(1.0, 2)),
    ):
        alpha, beta = Interval([lo], [hi]).secant(0)
        for u in (lo, hi, (lo + hi) / 2):
            ball = arb(u)
            gap = alpha * ball + beta - (ball * ball.log() if u > 0 else 0)
            assert float(gap.lower()) >= -1e-35
            if hi - lo < 1e-12:
                assert float(gap.upper()) < 1e-15


def test_tightening_loses_no_law() -> None:
    rng = np.random.default_rng(13)
    for _ in range(300):
        u = rng.multinomial(2**45, rng.dirichlet(np.ones(4))) / 2**45  # sums to one exactly
        down, up = rng.choice([0.0, 1e-17, 1e-3, 0.3], (2, 4))
        side = Interval(np.maximum(u - down, 0).tolist(), (u + up).tolist()).tightened()
        assert not side.empty
        assert all(lo <= x <= hi for lo, x, hi in zip(side.low, u, side.high, strict=True))


def test_a_check_is_tried_with_few_bits_and_then_with_all() -> None:
    seen = []

    def check() -> int:
        seen.append(ctx.prec)
        if ctx.prec < PRECISION:
            refuse("the balls are too wide")
        return 7

    with precision():
        assert twice(check) == 7
        assert twice(lambda: 8) == 8
    assert seen == [FEW_BITS, PRECISION]
