"""Histograms from above by moved counts: beside all count vectors and outputs, random priors, and forged proofs."""

import copy
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from damage import changed
from flint import arb
from fuzz.pool import MOVED
from large_samples import both_histograms, feasible
from verdicts import refused

import dalenius as dl
from dalenius.auditing import unwritten_histograms
from dalenius.bounds.moved_counts import MovedCounts, MovedSearch
from dalenius.bounds.moved_counts import moved_counts as solved
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.numerics.information import mutual_information
from dalenius.search.deadline import Deadline
from dalenius.verifier.forms import histograms
from dalenius.verifier.forms.reference import UNIFORM
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.special import moved
from dalenius.verifier.verify import verify_here

TABLES = [
    ("geometric(epsilon=1)", "histogram(n=4, k=3)"),
    ("laplace(epsilon=0.8)", "histogram(n=7, k=2)"),
    ("gaussian(sigma=1.5)", "histogram(n=3, k=4)"),
]
SETTINGS = MovedSearch(steps=60, own=3, others=2)


def best(mechanism: NoisyCounts, knowledge: float, settings: MovedSearch = SETTINGS) -> MovedCounts:
    found = solved(mechanism, knowledge, Deadline(60), settings)
    assert found is not None
    return found


def checked(mechanism: NoisyCounts, knowledge: float, found: MovedCounts) -> float:
    described = histograms.rebuild(dict(mechanism.describe()))
    channel = histograms.ask(described, Secret((0,)), UNIFORM)
    return float(moved.bound(channel, arb(knowledge), found.to_certificate(None), "it"))


@pytest.mark.parametrize("table", TABLES[:2])
def test_the_bound_is_its_formula_over_all_count_vectors_and_outputs(table: tuple[str, str]) -> None:
    large, _ = both_histograms(*table)
    n, k, knowledge, wide = large.n, large.k, 0.2, 40
    found = best(large, knowledge, replace(SETTINGS, unseen=1e-3))
    vectors = np.array([t for t in product(range(n + 1), repeat=k) if sum(t) == n])
    # Outputs far beyond all counts, where the noise of any count has nothing left that matters.
    tails = large.noise.tail(np.arange(1.0, 3 * wide))
    side = np.append(1 - 2 * tails[0], tails[:-1] - tails[1:])
    noise = np.concatenate([side[:0:-1], side])
    middle, outputs = noise.size // 2, np.arange(-wide, n + wide + 1)
    rows = noise[middle + outputs[None, :] - np.arange(n + 1)[:, None]]
    g = np.interp(np.arange(n + 1), found.data["first"] + np.arange(len(found.data["tilt"])), found.data["tilt"])
    omega = np.exp(g) * [(n / k) ** t * math.exp(-n / k) / math.factorial(t) for t in range(n + 1)]
    moved = {}
    for name, weights, sign in (("own", found.data["own"], 1), ("others", found.data["others"], -1)):
        table_of = np.zeros_like(rows)
        for t, (j, w) in product(range(n + 1), enumerate(weights)):
            if 0 <= t - sign * j <= n:
                table_of[t] += w * omega[t - sign * j] * rows[t - sign * j]
        moved[name] = table_of
    # The outputs of J_a have a law of which nothing depends on a, and that is never below them.
    total = np.polynomial.polynomial.polypow(omega, k)
    spread = np.polynomial.polynomial.polypow(found.data["others"], k - 1)
    norm = sum(
        o * v * total[n - j + i]
        for (j, o), (i, v) in product(enumerate(found.data["own"]), enumerate(spread))
        if 0 <= n - j + i < total.size
    )
    given = [math.factorial(n - 1) / k ** (n - 1) * t[0] / math.prod(map(math.factorial, t)) for t in vectors.tolist()]
    psi, sums = [], 0.0
    for t, rho in zip(vectors.tolist(), given, strict=True):
        parts = [moved["own"][t[0]], *(moved["others"][b] for b in t[1:])]
        sums += math.prod(part.sum() for part in parts) / norm
        if rho > 0:
            told = sum(float(rows[c] @ np.log(part / rows[c])) for c, part in zip(t, parts, strict=True))
            psi.append(math.log(rho) + math.log(norm) - told)
    assert sums <= 1 + 1e-9
    weights = np.array([rho for rho in given if rho > 0])
    exact = found.s * knowledge + (found.s - 1) * math.log(weights @ np.exp(np.array(psi) / (found.s - 1)))
    # Noise beyond the reach counts as if nothing moved.
    assert exact - 1e-3 <= found.upper <= exact + 0.05
    assert checked(large, knowledge, found) == pytest.approx(found.upper, rel=1e-9)


@pytest.mark.parametrize(("mechanism", "query"), TABLES)
@pytest.mark.parametrize("knowledge", [0.01, 0.3, 2.0])
def test_no_prior_leaks_more(mechanism: str, query: str, knowledge: float) -> None:
    large, dense = both_histograms(mechanism, query)
    upper = best(large, knowledge).upper
    rng = np.random.default_rng(5)
    vectors = [t for t in product(range(large.n + 1), repeat=large.k) if sum(t) == large.n]
    mass = [math.factorial(large.n) / math.prod(map(math.factorial, t)) / large.k**large.n for t in vectors]
    rho = np.array([[m * t[a] / large.n for t, m in zip(vectors, mass, strict=True)] for a in range(large.k)])
    for _ in range(20):
        assert float(mutual_information(feasible(rho, knowledge, rng) @ dense.rows)) <= upper + 1e-12
    assert dl.audit(dense, knowledge=knowledge, tolerance=1e-3, time_limit=0.3).lower <= upper + 1e-12


@pytest.fixture(scope="module")
def sound() -> dict:
    mechanism = dl.mechanisms.laplace(dl.queries.histogram(n=60, k=8), epsilon=1)
    with pytest.MonkeyPatch.context() as patch:  # so that the witness is the one that tilts the others' counts
        patch.setattr(unwritten_histograms, "tie", lambda *_: None)
        audit = dl.audit(mechanism, knowledge=0.5, relative=0.3, settings=MOVED)
    assert audit.upper_by == "moved"
    assert "tilt" in audit.certificate.data["witness"]
    assert audit.upper - audit.lower < 0.3 * audit.upper
    return audit.certificate.data


@pytest.mark.parametrize(
    ("key", "change", "reason"),
    [
        ("upper", lambda x: x - 1e-6, "exceeds claimed"),
        ("s", lambda s: 1 + 3 * (s - 1), "exceeds claimed"),
        ("s", lambda _: 1.0, "s must be above 1"),
        ("s", lambda _: float("nan"), "s of"),
        ("first", lambda t: t + 1, "exceeds claimed"),
        ("first", lambda _: 61, "first count"),
        ("tilt", lambda _: [], "does not fit"),
        ("tilt", lambda g: g * 4, "does not fit"),
        ("tilt", lambda g: g[::-1], "exceeds claimed"),
        ("tilt", lambda g: [float("inf"), *g[1:]], "the tilt"),
        ("own", lambda o: o[:2], "exceeds claimed"),
        ("own", lambda o: [0.0, *o[1:]], "the first of 'own'"),
        ("own", lambda o: [o[0], -o[1], *o[2:]], "'own'"),
        ("own", lambda _: [], "the first of 'own'"),
        ("others", lambda v: [*v, 0.5], "exceeds claimed"),
        ("others", lambda v: [0.0, *v[1:]], "the first of 'others'"),
        ("reach", lambda _: 3, "exceeds claimed"),
        ("reach", lambda _: -1, "'reach'"),
        ("reach", lambda _: 10**5, "too many to check"),
    ],
)
def test_a_forged_proof_is_refused(sound: dict, key: str, change: object, reason: str) -> None:
    refused(changed(sound, {f"proofs.0.{key}": change}), reason)


@pytest.mark.parametrize(
    ("key", "change", "reason"),
    [
        ("tilt", lambda h: [1.05 * x for x in h], "divergence"),
        ("tilt", lambda h: h[1:], "tilt of the witness"),
        ("tilt", lambda h: [-x for x in h], "divergence"),
        ("tilt", lambda h: [float("nan"), *h[1:]], "tilt of the witness"),
        ("window", lambda w: [w[0] + 1, w[1] + 1], "the witness"),
        ("window", lambda w: [w[1] - 1, w[1]], "tilt of the witness"),
        ("masses", lambda m: m[::-1], "divergence"),
    ],
)
def test_a_forged_witness_is_refused(sound: dict, key: str, change: object, reason: str) -> None:
    assert verify_here(sound)
    refused(changed(sound, {f"witness.{key}": change}), reason)


def test_other_questions_are_refused(sound: dict) -> None:
    for key, value in (("mechanism", "laplace(epsilon=1.2)"), ("query", "histogram(n=60, k=7)")):
        refused(changed(sound, {f"problem.{key}": value}))
    data = copy.deepcopy(sound)
    data["adversary"]["knowledge"] = 0.51
    assert "exceeds claimed" in verify_here(data).reason
    data["adversary"] |= {"knowledge": 0.5, "reference": {"marginal": [0.3, *[0.1] * 7]}}
    assert not verify_here(data)


@pytest.mark.parametrize("knowledge", [0.01, 0.05])
def test_next_to_s_1_nothing_is_lost_below_the_least_float(knowledge: float) -> None:
    """Powers of 1/(s-1) are beyond floats there: bounds came out too low by up to 1e-4, and were refused."""
    large, _ = both_histograms("geometric(epsilon=1)", "histogram(n=4, k=3)")
    found = best(large, knowledge)
    assert found.s < 1.01
    assert checked(large, knowledge, found) == pytest.approx(found.upper, abs=1e-11)
