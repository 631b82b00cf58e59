"""Tables of few people from above: beside all count vectors and outputs, random priors, and forged proofs."""

import copy
import math
from itertools import product

import numpy as np
import pytest
from flint import arb
from large_samples import both_histograms, feasible

import dalenius as dl
from dalenius.bounds.own_count import OwnCountSearch
from dalenius.bounds.own_count import own_count as solved
from dalenius.numerics.information import mutual_information
from dalenius.search.deadline import Deadline
from dalenius.verifier.forms import histograms
from dalenius.verifier.forms.reference import UNIFORM
from dalenius.verifier.forms.secret import Group
from dalenius.verifier.special import own_count
from dalenius.verifier.verify import verify_here

TABLES = [
    ("geometric(epsilon=1)", "histogram(n=4, k=3)"),
    ("laplace(epsilon=0.8)", "histogram(n=7, k=2)"),
    ("gaussian(sigma=1.5)", "histogram(n=3, k=4)"),
]


def joint_reference(n: int, k: int) -> np.ndarray:
    """rho(a,t) over all count vectors, in lexicographic order."""
    vectors = [t for t in product(range(n + 1), repeat=k) if sum(t) == n]
    mass = [math.factorial(n) / math.prod(map(math.factorial, t)) / k**n for t in vectors]
    return np.array([[m * t[a] / n for t, m in zip(vectors, mass, strict=True)] for a in range(k)])


@pytest.mark.parametrize(
    ("table", "top", "options"),
    [
        (TABLES[0], 4, {}),
        (TABLES[1], 7, {}),
        (TABLES[2], 3, {}),
        (TABLES[0], 2, {"few": 1, "rare": (0.41,), "outputs": 40}),
        (TABLES[1], 5, {"few": 1, "rare": (0.23,), "outputs": 49}),
    ],
)
def test_the_bound_is_its_formula_over_all_count_vectors_and_outputs(
    table: tuple[str, str], top: int, options: dict
) -> None:
    large, dense = both_histograms(*table)
    n, k, knowledge = large.n, large.k, 0.2
    found = solved(large, knowledge, Deadline(60), OwnCountSearch(**options))
    assert len(found.data["tilt"]) == top
    vectors = np.array([t for t in product(range(n + 1), repeat=k) if sum(t) == n])
    rho = joint_reference(n, k)
    h, g = np.append(0.0, found.data["tilt"]), np.array(found.data["others"])
    inside = (vectors <= top).all(axis=1)
    kept = vectors.clip(max=top)
    laws = []
    for a in range(k):
        given = rho[a] / rho[a].sum()
        tilt = h[kept[:, a]] + g[kept].sum(axis=1) - g[kept[:, a]]
        laws.append(np.where(inside, given * np.exp(tilt), 0.0))
        laws[-1] /= laws[-1].sum()
    u = np.array(laws) @ dense.rows
    given, tilted = rho[0] * k, laws[0]
    psi = np.where(inside, dense.rows @ np.log(u[0] / u.mean(axis=0)), 0.0)
    alive = (given > 0) & inside
    psi[alive] -= np.log(tilted[alive] / given[alive])
    total = given[alive] @ np.exp(psi[alive] / (found.s - 1))
    exact = found.s * knowledge + (found.s - 1) * math.log(total)
    if inside.all():
        assert found.upper == pytest.approx(exact, rel=1e-10)
    else:
        assert found.upper > exact
    check = own_count.bound(_channel(large), arb(knowledge), found.to_certificate(None), "it")
    assert float(check) == pytest.approx(found.upper, rel=1e-10)


def _channel(mechanism: dl.Mechanism) -> histograms.Noisy:
    return histograms.ask(histograms.rebuild(dict(mechanism.describe())), Group((0,)), UNIFORM)


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "query"), TABLES)
@pytest.mark.parametrize("knowledge", [0.01, 0.3, 2.0])
def test_no_prior_leaks_more(mechanism: str, query: str, knowledge: float) -> None:
    large, dense = both_histograms(mechanism, query)
    upper = solved(large, knowledge, Deadline(60), OwnCountSearch()).upper
    rng, rho = np.random.default_rng(5), joint_reference(large.n, large.k)
    for _ in range(40):
        prior = feasible(rho, knowledge, rng)
        assert float(mutual_information(prior @ dense.rows)) <= upper + 1e-12
    exact = dl.audit(dense, knowledge=knowledge, tolerance=1e-3, time_limit=1)
    assert exact.lower <= upper + 1e-12


@pytest.mark.parametrize(
    ("table", "rare", "top"),
    [(TABLES[0], 0.41, 2), (TABLES[1], 0.23, 5), (("geometric(epsilon=0.5)", "histogram(n=6, k=3)"), 0.2, 4)],
)
def test_count_vectors_beyond_the_top_are_revealed(table: tuple[str, str], rare: float, top: int) -> None:
    large, dense = both_histograms(*table)
    n, k, knowledge = large.n, large.k, 0.2
    settings = OwnCountSearch(few=1, rare=(rare,), s=(1.3, 1.1))
    found = solved(large, knowledge, Deadline(60), settings)
    assert (found.data["outside"], len(found.data["tilt"])) == (0.0, top)
    vectors = np.array([t for t in product(range(n + 1), repeat=k) if sum(t) == n])
    rho, far = joint_reference(n, k), (vectors > top).any(axis=1)
    # Outputs, and then the count vectors that are told.
    rows = np.hstack([dense.rows * ~far[:, None], np.eye(len(vectors)) * far])
    h = np.concatenate([[0.0], found.data["tilt"], np.full(n - top, math.log(k))])
    g = np.concatenate([found.data["others"], np.full(n - top, found.data["others"][-1])])
    laws = np.array(
        [k * rho[a] * np.exp(h[vectors[:, a]] + g[vectors].sum(axis=1) - g[vectors[:, a]]) for a in range(k)]
    )
    laws /= laws.sum(axis=1, keepdims=True)
    u, alive = laws @ rows, rho[0] > 0
    seen = u[0] > 0
    psi = rows[:, seen] @ np.log(u[0][seen] / u.mean(axis=0)[seen])
    psi = psi[alive] - np.log(laws[0][alive] / (k * rho[0][alive]))
    exact = found.s * knowledge + (found.s - 1) * math.log(k * rho[0][alive] @ np.exp(psi / (found.s - 1)))
    assert found.upper == pytest.approx(exact, rel=1e-10)
    check = own_count.bound(_channel(large), arb(knowledge), found.to_certificate(None), "it")
    assert float(check) == pytest.approx(found.upper, rel=1e-10)
    rng = np.random.default_rng(7)
    for much in (0.02, 0.2, 1.0):
        upper = solved(large, much, Deadline(60), settings).upper
        assert all(mutual_information(feasible(rho, much, rng) @ dense.rows) <= upper + 1e-12 for _ in range(40))


@pytest.mark.slow
def test_a_table_that_is_not_small_is_within_a_tenth() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=20, k=4), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.05, relative=0.1)
    assert audit.upper_by == "own-count"
    assert dl.verify(audit)
    assert audit.gap < 0.1 * audit.upper


@pytest.fixture(scope="module")
def sound() -> dict:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=14, k=4), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.05, relative=0.1)
    assert audit.upper_by == "own-count"
    assert audit.upper - audit.lower < 0.1 * audit.upper
    return audit.certificate.data


@pytest.mark.parametrize(
    ("key", "change", "reason"),
    [
        ("upper", lambda x: x - 1e-6, "exceeds claimed"),
        ("s", lambda s: 1 + 3 * (s - 1), "exceeds claimed"),
        ("s", lambda _: 1.0, "s must be above 1"),
        ("s", lambda _: float("nan"), "s of"),
        ("outside", lambda _: 0.4, "exceeds claimed"),
        ("outside", lambda _: -0.1, "'outside'"),
        ("tilt", lambda h: [*h, 0.0], "does not cover"),
        ("tilt", lambda _: [], "does not cover"),
        ("tilt", lambda h: h[::-1], "exceeds claimed"),
        ("tilt", lambda _: 3, "the tilt"),
        ("others", lambda g: g[1:], "'others'"),
        ("others", lambda g: [g[0] + 1, *g[1:]], "exceeds claimed"),
        ("kind", lambda _: "trivial", "exceeds claimed"),
    ],
)
def test_a_forged_proof_is_refused(sound: dict, key: str, change: object, reason: str) -> None:
    assert verify_here(sound)
    data = copy.deepcopy(sound)
    data["proofs"][0][key] = change(data["proofs"][0][key])
    verdict = verify_here(data)
    assert not verdict
    # A tilt of another length makes the other one's length wrong first.
    assert reason in verdict.reason or (key == "tilt" and "'others'" in verdict.reason)


def test_other_channels_are_refused(sound: dict) -> None:
    for key, value in (("mechanism", "geometric(epsilon=1.2)"), ("query", "histogram(n=14, k=5)")):
        data = copy.deepcopy(sound)
        data["problem"][key] = value
        assert not verify_here(data)
    data = copy.deepcopy(sound)
    data["adversary"]["knowledge"] = 0.06
    assert "exceeds claimed" in verify_here(data).reason


def test_outputs_of_noise_that_still_tells_counts_apart_are_not_put_together(sound: dict) -> None:
    data = copy.deepcopy(sound)
    proof = data["proofs"][0]
    proof |= {"tilt": proof["tilt"][:8], "others": proof["others"][:9], "outside": 0.1}
    for mechanism in ("discrete_gaussian(sigma=40.0, clamp=True)", "gaussian(sigma=40.0)"):
        data["problem"]["mechanism"] = mechanism
        data["lower"] = 0.0
        assert "does not cover" in verify_here(data).reason
    noise = dl.mechanisms.discrete_gaussian(dl.queries.histogram(n=14, k=4), sigma=1.0, clamp=True)
    few = OwnCountSearch(few=1, rare=(0.41,), outputs=5000)
    assert solved(noise, 0.05, Deadline(60), few) is None


def test_tables_of_many_people_are_left_to_other_bounds() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=200, k=6), epsilon=1)
    assert solved(mechanism, 0.3, Deadline(60), OwnCountSearch()) is None


def test_noise_that_is_narrow_beside_the_counts_is_checked_to_its_last_tail() -> None:
    # P(Y = 60 | t = 0) is 1e-790: the difference of two numbers near one was a ball around 0.
    large, _ = both_histograms("gaussian(sigma=1)", "histogram(n=60, k=2)")
    found = solved(large, 0.3, Deadline(60), OwnCountSearch(s=(1.3,)))
    check = own_count.bound(_channel(large), arb(0.3), found.to_certificate(None), "it")
    assert float(check) == pytest.approx(found.upper, rel=1e-9)
