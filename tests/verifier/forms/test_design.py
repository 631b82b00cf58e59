"""Design certificates written by hand: closed forms, the formula recomputed in floats, refusals and forgeries."""

import copy
import json
import math
import random
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from pathlib import Path

import brute_force
import numpy as np
import pytest
from cases import LN2, binary_entropy, parity_leakage
from damage import golden
from kinds import Floats, Json
from numpy.typing import ArrayLike
from verdicts import accepted, by_hand, holds, refused

import dalenius as dl
from dalenius.certificates.certificate import Certificate
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.gallery.parse import parse_query
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Histogram, Statistic, Sum, Table
from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.verify import verify_here

Maps = list[tuple[int, ...]]  # permutations of the pairs (class, output), outputs fastest


def certificate(audit: Json, problem: Json, budget: Json, pool: Json, **more: Json) -> Json:
    """A design certificate; by default its bounds claim nothing and its distortion is the budget."""
    (spent,) = budget.values()
    data = {
        "format": "dalenius/design-certificate", "version": 2,
        "problem": {"distribution": "uniform", **problem}, "adversary": audit["adversary"], "budget": budget,
        "lower": 0.0, "upper": audit["upper"], "distortion": spent, "pool": pool, "audit": audit,
    }  # fmt: skip
    if "distortion" in budget:
        data["multiplier"] = 0.0
    return copy.deepcopy({**data, **more})


def audited(mechanism: Mechanism, **adversary: float) -> Json:
    return json.loads(dl.audit(mechanism, **adversary).certificate.text())


def unproved(mechanism: Mechanism, adversary: Json) -> Json:
    """The audit certificate of any mechanism that proves the trivial bounds."""
    masses = np.exp(UNIFORM.log_joint(mechanism.statistic, 0)).tolist()
    records = range(1 if len(mechanism.statistic.orbits) == 1 else mechanism.n)
    different = len(np.unique(mechanism.rows, axis=0))
    most = [math.log(min(mechanism.records[i], mechanism.rows.shape[1], different)) + 1e-12 for i in records]
    proofs = [{"record": i, "upper": x, "kind": "trivial"} for i, x in zip(records, most, strict=True)]
    return by_hand(mechanism.describe(), adversary, masses, *proofs)


def prior(record: int, masses: ArrayLike, ratios: ArrayLike, weight: float) -> Json:
    return {
        "record": record,
        "masses": np.asarray(masses).tolist(),
        "ratios": np.asarray(ratios).tolist(),
        "weight": weight,
    }


# Parity: the optimum is the binary symmetric channel (MATH 7).


def parity_mechanism(n: int, flip: float) -> Mechanism:
    """One row per count vector (zeros, ones), by ascending zeros."""
    query = dl.queries.modular_sum(n=n, modulus=2)
    rows = [[1 - flip, flip] if (n - zeros) % 2 == 0 else [flip, 1 - flip] for zeros in range(n + 1)]
    return Written(Histogram(n, 2), np.array(rows), (0, 1), query)


def parity_pool(n: int, flip: float, weight: float = 1.0) -> Json:
    """The priors under which the others have even, and odd, parity."""
    same, other = math.log(2 * (1 - flip)), math.log(2 * flip)
    pool = []
    for odd in range(2):
        masses = [
            [math.comb(n - 1, n - zeros - a) if 0 <= n - zeros - a < n and (n - zeros - a) % 2 == odd else 0
             for zeros in range(n + 1)]
            for a in range(2)
        ]  # fmt: skip
        ratios = [[same if y == (a + odd) % 2 else other for y in range(2)] for a in range(2)]
        pool.append(prior(0, masses, ratios, weight))
    return pool if n > 1 else pool[:1]


@cache
def parity_audit(n: int, flip: float, b: float) -> Json:
    return audited(parity_mechanism(n, flip), entropy=b)


def parity(n: int = 3, flip: float = 0.1, b: float = 1.0, **changes: Json) -> Json:
    truth = LN2 - binary_entropy(flip)
    problem = {"query": f"modular_sum(n={n}, modulus=2)", "distortion": "absolute"}
    more = {"lower": truth - 1e-13, "multiplier": math.log((1 - flip) / flip)}
    data = certificate(parity_audit(n, flip, b), problem, {"distortion": flip}, parity_pool(n, flip), **more)
    # A few units more than the budget, as for any mechanism whose rows are rounded.
    return {**data, "distortion": flip + 1e-15, **copy.deepcopy(changes)}


def dual_parity(n: int = 3, flip: float = 0.1, b: float = 1.0, **changes: Json) -> Json:
    problem = {"query": f"modular_sum(n={n}, modulus=2)", "distortion": "absolute"}
    audit = parity_audit(n, flip, b)
    pool = parity_pool(n, flip, 0.5 / math.log((1 - flip) / flip))
    more = {"lower": flip - 1e-6, "upper": flip + 1e-15, "distortion": flip + 1e-15}
    return {**certificate(audit, problem, {"leakage": audit["upper"]}, pool, **more), **copy.deepcopy(changes)}


@pytest.mark.parametrize(("n", "flip", "b"), [(1, 0.2, 0.3), (2, 0.1, 0.0), (3, 0.1, 1.0), (6, 0.3, 3.4)])
def test_the_least_leakage_of_a_parity_is_that_of_the_symmetric_channel(n: int, flip: float, b: float) -> None:
    data = parity(n, flip, b)
    answer = accepted(data, parity_mechanism(n, flip))
    truth = LN2 - binary_entropy(flip)
    assert answer.lower <= truth <= answer.upper
    assert answer.upper - answer.lower < 2e-6
    assert (answer.quantity, answer.unit) == ("eps(D,b)", "nats")
    assert f"<= eps(D,b) <= {answer.upper!r} nats" in repr(answer)
    refused({**data, "lower": truth + 1e-12}, "less than the claimed")
    refused({**data, "lower": 0.0, "upper": data["audit"]["upper"] - 1e-9}, "proved to leak")


@pytest.mark.parametrize(("n", "flip", "b"), [(2, 0.1, 0.0), (3, 0.1, 1.0), (5, 0.3, 2.0)])
def test_the_least_distortion_of_a_parity_inverts_it(n: int, flip: float, b: float) -> None:
    data = dual_parity(n, flip, b)
    answer = accepted(data)
    assert (answer.quantity, answer.unit) == ("D(L,b)", "")
    assert f"<= D(L,b) <= {data['upper']!r}:" in repr(answer)
    refused({**data, "lower": flip + 1e-12, "upper": flip + 1e-9, "distortion": flip + 1e-9}, "less than the claimed")
    below = data["budget"]["leakage"] - 1e-5
    refused({**data, "budget": {"leakage": below}}, "more than the budget")


def test_beyond_the_flat_part_no_more_is_needed_than_the_prior_that_leaks_most() -> None:
    # b > (n-1) ln 2: the pair of priors mixed with the uniform one, ratios of BSC(s * D).
    n, flip, mix = 3, 0.1, 0.05
    b = (n - 1) * LN2 + binary_entropy(mix) - 1e-12
    total = mix * (1 - flip) + flip * (1 - mix)
    pool = parity_pool(n, total)
    even, odd = (np.array(item["masses"]) for item in pool)
    pool[0]["masses"], pool[1]["masses"] = (
        ((1 - mix) * even + mix * odd).tolist(),
        ((1 - mix) * odd + mix * even).tolist(),
    )
    slope = (1 - 2 * mix) * math.log((1 - total) / total)
    data = parity(n, flip, b, pool=pool, multiplier=slope, lower=parity_leakage(n, flip, b) - 1e-11)
    accepted(data)
    refused({**data, "lower": parity_leakage(n, flip, b) + 1e-11}, "less than the claimed")
    refused({**data, "pool": parity_pool(n, flip)}, "divergence")


def test_a_symmetry_stands_for_the_prior_that_it_maps_to() -> None:
    # Flipping all bits of an even number of them keeps the parity and takes the even prior to the odd one.
    whole, flipped = parity(4), {"values": [1, 0], "outputs": [0, 1]}
    half = {**whole, "pool": whole["pool"][:1]}
    refused(half, "less than the claimed")
    accepted({**half, "symmetries": [flipped]})
    accepted({**half, "symmetries": [flipped, {"values": [0, 1], "outputs": [0, 1]}, flipped]})
    refused({**half, "symmetries": [{"values": [1, 0], "outputs": [1, 0]}]}, "distortions are others")
    odd = parity(3)
    accepted({**odd, "symmetries": [{"values": [1, 0], "outputs": [1, 0]}]})
    refused({**odd, "symmetries": [flipped]}, "distortions are others")


def test_the_distribution_is_divided_by_its_exact_sum() -> None:
    weights = [0.125 * (1 + 8e-10), 0.375, 0.375 * (1 + 4e-10), 0.125]
    problem = {**parity()["problem"], "distribution": weights}
    accepted(parity(problem=problem, lower=0.3))
    refused(parity(problem={**problem, "distribution": [w * (1 + 1e-9) for w in weights]}, lower=0.3), "sum to")


def test_what_was_established_is_said() -> None:
    answer = accepted(parity())
    for words in ("the mechanism is a channel", "expected distortion at most 0.1000", "leaks at most", "none of"):
        assert words in answer.reason
    for words in (
        "3 records of 2 values",
        "modular_sum(n=3, modulus=2)",
        "one row per count vector",
        "entropy at least",
    ):
        assert words in answer.problem
    assert "the least leakage at an expected absolute error, data uniform, of at most 0.1" in answer.problem
    dual = accepted(dual_parity())
    assert "none that leaks at most" in dual.reason
    assert "the least expected absolute error" in dual.problem


def test_a_saved_design_carries_its_certificate(tmp_path: Path) -> None:
    path = tmp_path / "design.json"
    dl.design(dl.queries.count(n=1), distortion=0.2, entropy=0, tolerance=1e-2).save(path)
    answer = holds(path)
    assert answer.quantity == "eps(D,b)"
    refused({"format": "dalenius/design", "version": 2}, "'certificate'")
    assert "eps(D,b)" in repr(Certificate(parity()))
    assert repr(Certificate(dual_parity())).endswith("<= D(L,b) <= 0.100000000000001>")


def test_the_mechanism_given_must_be_the_one_designed() -> None:
    refused(parity(), "another channel", mechanism=parity_mechanism(3, 0.11))
    accepted(parity(), parity_mechanism(3, 0.1))


# One record without any knowledge: rate-distortion theory.


def hamming(k: int, distortion: float, *, finest: bool = False, outputs: Sequence[float] | None = None) -> Json:
    """R(D) = log k - H_b(D) - D log(k-1) of the uniform source, at the symmetric channel."""
    rows = np.full((k, k), distortion / (k - 1))
    np.fill_diagonal(rows, 1 - distortion)
    query = dl.queries.identity(k)
    problem: Json = {"query": f"identity(k={k})", "distortion": "zero-one"}
    mechanism = Mechanism.from_rows(query, rows)
    if finest:
        mechanism = Mechanism.from_matrix(rows, records=[k])
        problem = {"distortion": (1 - np.eye(k)).tolist()}
    if outputs is not None:
        problem["outputs"] = outputs
    audit = audited(mechanism, entropy=math.log(k))
    truth = math.log(k) - binary_entropy(distortion) - distortion * math.log(k - 1)
    pool = [prior(0, np.eye(k) / k, np.log(k * rows), 1.0)]
    slope = math.log((k - 1) * (1 - distortion) / distortion)
    return certificate(audit, problem, {"distortion": distortion + 1e-15}, pool, lower=truth - 1e-13, multiplier=slope)


@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("finest", [False, True])
def test_rate_distortion_of_the_uniform_source(k: int, finest: bool) -> None:
    data = hamming(k, 0.15, finest=finest)
    answer = accepted(data)
    assert answer.upper - answer.lower < 2e-6
    refused({**data, "lower": data["lower"] + 1e-12}, "less than the claimed")
    cycle = [*range(1, k), 0]
    symmetry: Json = {"values": cycle, "outputs": cycle}
    if finest:
        symmetry = {"records": [0], "values": [cycle], "outputs": cycle}
    accepted({**data, "symmetries": [symmetry]})
    lopsided = copy.deepcopy(data)
    lopsided["pool"][0]["masses"][0][0] *= 1 + 1e-10
    accepted({**lopsided, "symmetries": [symmetry]})
    lopsided["pool"][0]["masses"][0][0] *= 2
    refused(lopsided)


def test_masses_near_the_uniform_prior_are_replaced_by_it() -> None:
    data = hamming(3, 0.15)
    data["pool"][0]["masses"][0][0] *= 1 + 3e-10
    refused({**data, "lower": data["lower"] + 2e-13}, "less than the claimed")
    accepted(data)


def rate_distortion(p0: Floats, d: Floats, slope: float) -> tuple[Floats, Floats]:
    """Blahut-Arimoto: min I(X;Y) + slope E_p0 d, X uniform; the channel and its output law."""
    k, r = len(d), np.full(d.shape[1], 1 / d.shape[1])
    for _ in range(20_000):
        q = r * np.exp(-slope * k * p0[:, None] * d)
        q /= q.sum(1, keepdims=True)
        r = q.mean(0)
    return q, r


def general(problem: Json, p0: Floats, d: Floats, query: str | None = None, slope: float = 8.0) -> Json:
    """The certificate of the least leakage about one record at knowledge 0, from Blahut-Arimoto."""
    k = len(d)
    q, r = rate_distortion(p0, d, slope)
    spent = float((p0[:, None] * q * d).sum())
    if query is None:
        mechanism = Mechanism.from_matrix(q, records=[k])
    else:
        mechanism = Mechanism.from_rows(parse_query(query), q, labels=range(d.shape[1]))
    audit = audited(mechanism, knowledge=0.0)
    ratios = np.log(np.maximum(q, 1e-300) / np.maximum(r, 1e-300))
    leaked = float((q * ratios).sum() / k)
    class_of = mechanism.statistic.class_of(np.arange(k)[:, None])
    pool = [prior(0, np.eye(k)[class_of], ratios[class_of], 3.0)]
    more = {"lower": leaked - 1e-6, "multiplier": slope, "distortion": spent * (1 + 5e-13)}
    return certificate(audit, problem, {"distortion": spent}, pool, **more)


WEIGHTS = np.array([0.1, 0.2, 0.3, 0.4])
EVEN = np.full(4, 0.25)
OUTPUTS = [0, 0.75, 2.5, 3, 7]
ABSOLUTE = np.abs(np.subtract.outer(np.arange(4.0), np.array(OUTPUTS)))
TABLE = np.array([[0, 1, 2], [1, 0, 1.5], [2, 1.25, 0], [0.5, 0.5, 2]])
CUSTOM: dict[str, Callable[[], Json]] = {
    "weights": lambda: general(
        {"query": "identity(k=4)", "distortion": "absolute", "distribution": WEIGHTS.tolist()},
        WEIGHTS, np.abs(np.subtract.outer(np.arange(4.0), np.arange(4))), "identity(k=4)",
    ),
    "outputs": lambda: general(
        {"query": "identity(k=4)", "distortion": "absolute", "outputs": OUTPUTS}, EVEN, ABSOLUTE, "identity(k=4)"
    ),
    "squared": lambda: general(
        {"query": "identity(k=4)", "distortion": "squared", "outputs": OUTPUTS}, EVEN, ABSOLUTE**2, "identity(k=4)"
    ),
    "zero-one": lambda: general(
        {"query": "identity(k=4)", "distortion": "zero-one", "outputs": OUTPUTS},
        EVEN, (ABSOLUTE > 0) * 1.0, "identity(k=4)",
    ),
    "table": lambda: general({"distortion": TABLE.tolist()}, EVEN, TABLE),
    "table of a query": lambda: general(
        {"query": "identity(k=4)", "distortion": TABLE.tolist(), "outputs": [1, 2, 3],
         "distribution": WEIGHTS.tolist()},
        WEIGHTS, TABLE, "identity(k=4)",
    ),
    "weights and table": lambda: general(
        {"distortion": TABLE.tolist(), "distribution": WEIGHTS.tolist()}, WEIGHTS, TABLE
    ),
    "histogram": lambda: general(
        {"query": "histogram(n=1, k=4)", "distortion": "absolute"},
        EVEN, 2 - 2 * np.eye(4), "histogram(n=1, k=4)",
    ),
    "vectors": lambda: general(
        {"query": "histogram(n=1, k=2)", "distortion": "absolute", "outputs": [[0.5, 0.5], [0, 1], [1, 0]]},
        EVEN[:2] * 2, np.array([[1.0, 0, 2], [1, 2, 0]]), "histogram(n=1, k=2)",
    ),
    "values out of order": lambda: general(
        {"query": "total(n=1, values=[5, 2, 3, 4])", "distortion": "absolute"},
        EVEN, np.abs(np.subtract.outer(np.arange(2, 6), np.arange(2.0, 6))), "total(n=1, values=[5, 2, 3, 4])",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CUSTOM)
def test_any_distortion_distribution_and_outputs(name: str) -> None:
    data = CUSTOM[name]()
    answer = accepted(data)
    assert answer.lower > 0.03
    assert answer.upper - answer.lower < 3e-6
    spent = data["distortion"]
    refused({**data, "distortion": spent - 1e-9}, "expected distortion")
    refused({**data, "budget": {"distortion": spent - 1e-9}}, "exceeds the budget")
    refused({**data, "lower": data["lower"] + 2e-6, "upper": 5.0}, "less than the claimed")
    if data["problem"]["distribution"] != "uniform":
        refused({**data, "problem": {**data["problem"], "distribution": WEIGHTS[::-1].tolist()}})


# The formula, recomputed in floats.


def group(maps: Maps, size: int) -> Maps:
    found = {tuple(range(size))}
    fresh = set(found)
    while fresh:
        fresh = {tuple(g[j] for j in f) for f in fresh for g in maps} - found
        found |= fresh
    return sorted(found)


def formula(  # noqa: PLR0917 - everything that a lower bound needs
    pool: Json, p0: Floats, d: Floats, kind: str, budget: float, nu: float, maps: Maps
) -> float:
    gains, total = np.zeros(d.shape), 0.0
    for item in pool:
        pi, r = np.array(item["masses"], dtype=float), np.array(item["ratios"], dtype=float)
        pi /= pi.sum()
        r = r - np.log((pi.sum(1)[:, None] * np.exp(r)).sum(0))
        gains += item["weight"] * pi.T @ r
        total += item["weight"]
    if kind == "primal":
        gains, spent = gains / total + nu * p0[:, None] * d, nu * budget
    else:
        gains, spent = gains + p0[:, None] * d, total * budget
    if maps:
        flat, everything = gains.ravel(), group(maps, gains.size)
        gains = np.mean([flat[list(g)] for g in everything], axis=0).reshape(gains.shape)
    return float(gains.min(1).sum() - spent)


def random_pool(statistic: Statistic, rows: Floats, rng: np.random.Generator) -> Json:
    """Priors near the uniform one with the ratios that a noisy mechanism has under them, and some noise."""
    pool = []
    for _ in range(3):
        record = int(rng.integers(len(statistic.records)))
        rho = np.exp(UNIFORM.log_joint(statistic, record))
        pi = rho * rng.uniform(0.5, 1.5, rho.shape)
        z = pi @ rows
        ratios = np.log(z / pi.sum(1)[:, None] / z.sum(0)) + rng.normal(0, 0.01, z.shape)
        pool.append(prior(record, pi, ratios, float(rng.uniform(0.5, 2))))
    return pool


def noisy(d: Floats, noise: float) -> Floats:
    q = np.exp(-d / noise)
    return np.asarray(q / q.sum(1, keepdims=True))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["primal", "dual"])
@pytest.mark.parametrize(
    ("query", "statistic"),
    [
        ("count(n=2)", Sum(2, (0, 1))),
        ("modular_sum(n=2, modulus=2)", Histogram(2, 2)),
        ("total(n=2, values=[0, 1, 2])", Histogram(2, 3)),
        ("pairs(n=3)", Histogram(3, 2)),
        ("pairs(n=3)", Sum(3, (0, 1))),
        ("histogram(n=2, k=2)", Histogram(2, 2)),
    ],
)
def test_the_lower_bound_is_the_formula(query: str, statistic: Statistic, kind: str, seed: int) -> None:
    asked = parse_query(query)
    datasets = list(product(*map(range, statistic.records)))
    classes, own = statistic.class_of(datasets), asked.statistic.class_of(datasets)
    d = np.zeros((statistic.size, len(asked.outputs)))
    d[classes] = asked.distance()[own]
    p0 = np.bincount(classes) / len(datasets)
    check_formula(statistic, asked, {"query": query, "distortion": "absolute"}, p0, d, kind, seed)


def check_formula(  # noqa: PLR0917 - everything that a lower bound needs
    statistic: Statistic,
    query: Query | None,
    problem: Json,
    p0: Floats,
    d: Floats,
    kind: str,
    seed: int,
    chosen: tuple[Json, Maps] = ((), []),
) -> float:
    """Compare with floats at the best of several multipliers, and return the bound.

    The audit's mechanism is nearly noiseless (primal) or constant (dual), so that the budget may be small.
    """
    symmetries, maps = chosen
    rng = np.random.default_rng(seed)
    pool = random_pool(statistic, noisy(d, 0.5), rng)
    rows = noisy(d, 0.01) if kind == "primal" else np.eye(d.shape[1])[[0] * len(d)]
    mechanism = Written(statistic, rows, tuple(range(d.shape[1])), query)
    spent = float((p0[:, None] * mechanism.rows * d).sum()) + 1e-12
    audit = unproved(mechanism, {"knowledge": 1.0})
    scales = np.geomspace(0.01, 100, 200).tolist()
    if kind == "primal":
        limit = spent + 0.001
        bound, nu = max((formula(pool, p0, d, kind, limit, nu, maps), nu) for nu in scales)
        data = certificate(audit, problem, {"distortion": limit}, pool, upper=9.0, multiplier=nu)
    else:
        limit = 0.001
        scaled = ([{**item, "weight": x * item["weight"]} for item in pool] for x in scales)
        bound, pool = max(((formula(pool, p0, d, kind, limit, 0, maps), pool) for pool in scaled), key=lambda t: t[0])
        data = certificate(audit, problem, {"leakage": limit}, pool, upper=spent)
    data |= {"symmetries": list(symmetries), "distortion": spent}
    assert bound > 1e-3
    accepted({**data, "lower": bound - 1e-12})
    refused({**data, "lower": bound + 1e-12}, "less than the claimed")
    return bound


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["primal", "dual"])
def test_symmetries_of_a_finest_table_average_over_the_group(kind: str, seed: int) -> None:
    # Records of 2, 3 and 2 values. The first becomes the last with its bit flipped and back, a cyclic group of order 4;
    # the middle one turns. The distortion is averaged over the group first, so that the maps are symmetries.
    rng = np.random.default_rng(seed)
    sizes, width = (2, 3, 2), 3
    symmetries = [
        {"records": [2, 1, 0], "values": [[1, 0], [0, 1, 2], [0, 1]], "outputs": [0, 1, 2]},
        {"records": [0, 1, 2], "values": [[0, 1], [1, 2, 0], [0, 1]], "outputs": [1, 2, 0]},
    ]
    moves = [lambda x: (x[2], x[1], 1 - x[0]), lambda x: (x[0], (x[1] + 1) % 3, x[2])]
    place = {x: j for j, x in enumerate(product(*map(range, sizes)))}
    maps = [
        tuple(place[move(x)] * width + s["outputs"][y] for x in place for y in range(width))
        for move, s in zip(moves, symmetries, strict=True)
    ]
    everything = group(maps, 12 * width)
    assert len(everything) == 12
    d, p0 = rng.integers(0, 7, 12 * width) * 1.0, rng.integers(1, 9, 12)
    d = np.sum([d[list(g)] for g in everything], axis=0).reshape(12, width) / 16
    rows_of = [[j // width for j in g[::width]] for g in everything]
    p0 = np.sum([p0[rows] for rows in rows_of], axis=0)
    weights = p0 / p0.sum()
    problem = {"distortion": d.tolist(), "distribution": weights.tolist()}
    bounds = []
    for chosen in ([], [0], [1], [0, 1]):
        picked = [symmetries[j] for j in chosen], [maps[j] for j in chosen]
        bounds.append(check_formula(Table.everything(sizes), None, problem, weights, d, kind, seed, picked))
    assert bounds[0] < min(bounds[1:])
    # No mechanism leaks less about the priors and their images than the bound at its own distortion.
    pool = random_pool(Table.everything(sizes), noisy(d, 0.5), rng)
    priors = [np.array(item["masses"]).sum(0) / np.sum(item["masses"]) for item in pool]
    images = [w[rows] for w in priors for rows in rows_of]
    for noise in (0.3, 0.4, 0.5, 0.6, 0.8):
        q = noisy(d + 0.05 * rng.normal(size=d.shape), noise)
        leaked = max(brute_force.leaks(w, q, sizes) for w in images)
        spent = float((weights[:, None] * q * d).sum())
        for nu in np.geomspace(0.5, 5, 10).tolist():
            assert formula(pool, weights, d, "primal", spent, nu, maps) <= leaked + 1e-12
            halved = [{**item, "weight": item["weight"] / nu} for item in pool]
            assert formula(halved, weights, d, "dual", leaked, 0, maps) <= spent + 1e-12


def test_zero_masses_and_huge_ratios_do_no_harm() -> None:
    # The prior leaves out the last value, so that the ratios there do not matter.
    mechanism = Mechanism.from_rows(dl.queries.identity(3), np.eye(3) * 0.85 + 0.05)
    problem = {"query": "identity(k=3)", "distortion": "zero-one"}
    free = certificate(audited(mechanism, entropy=0.0), problem, {"distortion": 0.11}, [], multiplier=2.25)
    ratios = [[0.5, -1.0, 0.0], [-1.0, 0.5, 0.0]]
    bound = LN2 + 0.5 - math.log(math.exp(0.5) + math.exp(-1)) - 2.25 * 0.11
    assert bound > 0.2
    for idle in ([0.0, 0.0, 0.0], [1e308, -1e308, 5.0]):
        data = {**free, "pool": [prior(0, np.diag([1, 1, 0]), [*ratios, idle], 1.0)]}
        accepted({**data, "lower": bound - 1e-12})
        refused({**data, "lower": bound + 1e-12}, "less than the claimed")
    ratios = [[1e308, -1e308, 0], [-1e308, 1e308, 0], [0, 0, 0]]
    data = {**free, "pool": [prior(0, np.diag([1, 1, 0]), ratios, 1.0)]}
    refused({**data, "lower": bound}, "less than the claimed")
    accepted(data)


# Forgeries.


def test_an_empty_pool_proves_nothing_of_leakage() -> None:
    for pool in ([], [{**item, "weight": 0.0} for item in parity_pool(3, 0.1)]):
        accepted(parity(pool=pool, lower=0.0))
        accepted(parity(pool=pool, lower=-1.0))
        refused(parity(pool=pool, lower=1e-12), "less than the claimed")
        refused(dual_parity(pool=pool, lower=1e-12), "less than the claimed")


def test_an_empty_pool_still_proves_the_distortion_that_the_outputs_force() -> None:
    mechanism = Mechanism.from_rows(dl.queries.count(2), [[1.0, 0.0]] * 3, labels=(1, 5))
    problem = {"query": "count(n=2)", "distortion": "absolute", "outputs": [1, 5]}
    bounds = {"lower": 0.5 - 1e-15, "upper": 0.5 + 1e-15, "distortion": 0.5 + 1e-15}
    data = certificate(unproved(mechanism, {"entropy": 0.0}), problem, {"leakage": 0.0}, [], **bounds)
    accepted(data)
    refused({**data, "lower": 0.5 + 1e-15}, "less than the claimed")


def two_parities(n: int, flip: float, **changes: Json) -> Json:
    """The same design with one row for each parity, which two flipped bits do not change."""
    audit = audited(dl.mechanisms.symmetric(dl.queries.modular_sum(n=n, modulus=2), flip=flip), entropy=0.5)
    same, other = math.log(2 * (1 - flip)), math.log(2 * flip)
    pool = [
        prior(0, [[1, 0], [0, 1]], [[same, other], [other, same]], 1.0),
        prior(0, [[0, 1], [1, 0]], [[other, same], [same, other]], 1.0),
    ]
    return {**parity(n, flip, 0.5), "audit": audit, "upper": audit["upper"], "pool": pool, **copy.deepcopy(changes)}


@pytest.mark.parametrize("n", [2, 3, 6])
def test_two_rows_suffice_for_a_parity(n: int) -> None:
    accepted(two_parities(n, 0.1))
    flipped = {"values": [1, 0], "outputs": [1, 0]}
    if n % 2:  # flipping all bits changes the parity, so either prior will do
        accepted(two_parities(n, 0.1, symmetries=[flipped], pool=two_parities(n, 0.1)["pool"][:1]))
    else:
        refused(two_parities(n, 0.1, symmetries=[flipped]), "distortion")
    skewed = {**two_parities(n, 0.1)["problem"], "distribution": [0.75, 0.25]}
    refused(two_parities(n, 0.1, problem=skewed, symmetries=[flipped]))


def partial_table() -> Json:
    mechanism = parity_mechanism(3, 0.1)
    table = Written(Table((2, 2, 2), np.array([0, 1, 1, 2, 1, 2, 2, 3])), mechanism.rows[::-1], (0, 1))
    audit = audited(table, entropy=1.0)
    return parity(audit=audit, problem={"distortion": [[0, 1]] * 4, "distribution": "uniform"}, upper=audit["upper"])


def wider() -> Json:
    mechanism = parity_mechanism(3, 0.1)
    rows = np.hstack([mechanism.rows, np.zeros((4, 1))])
    audit = audited(Written(mechanism.statistic, rows, (0, 1, 2), mechanism.query), entropy=1.0)
    pool = [{**item, "ratios": [[*row, 0.0] for row in item["ratios"]]} for item in parity_pool(3, 0.1)]
    return parity(audit=audit, pool=pool, upper=audit["upper"])


FORGED: dict[str, tuple[Callable[[], Json], str]] = {
    "a column that the query has not": (wider, "3 outputs where modular_sum(n=3, modulus=2) has 2"),
    "a table that is not the finest": (partial_table, "one row per count vector, per dataset or per parity"),
    "a weaker adversary in the audit": (lambda: parity(audit=parity_audit(3, 0.1, 2.0), adversary={"entropy": 1.0}),
                                        "another adversary"),
    "another number of records": (lambda: parity(audit=parity_audit(4, 0.1, 1.0)), "another query"),
    "no audit": (lambda: parity(audit=None), "the audit of the mechanism"),
    "a forged audit": (lambda: parity(audit={**parity_audit(3, 0.1, 1.0), "upper": 0.3}), "the audit of the mechanism"),
    "a design as its own audit": (lambda: parity(audit=parity()), "the audit of the mechanism"),
    "a negative budget": (lambda: parity(budget={"distortion": -0.1}), "between"),
    "a primal proof of the dual": (lambda: parity(budget={"leakage": 0.4}), "is not the upper bound"),
    "a dual proof of the primal": (lambda: dual_parity(budget={"distortion": 0.1}, upper=1.0), "multiplier"),
    "a negative multiplier": (lambda: parity(multiplier=-1e-9), "multiplier"),
    "no multiplier": (lambda: {k: v for k, v in parity().items() if k != "multiplier"}, "multiplier"),
    "a distribution of another length": (lambda: asking(distribution=[0.25] * 3), "distribution"),
    "a negative probability": (lambda: asking(distribution=[0.5, 0.6, -0.1, 0]), "between"),
    "a word for a distribution": (lambda: asking(distribution="normal"), "distribution"),
    "a distortion without a query": (lambda: asking(query=...), "table"),
    "a negative distortion": (lambda: asking(distortion=[[0, 1], [1, -1], [0, 1], [1, 0]]), "between"),
    "a table too short": (lambda: asking(distortion=[[0, 1]] * 3), "table of distortions"),
    "outputs that are texts": (lambda: asking(outputs=["0", "1"]), "outputs"),
    "outputs that are vectors": (lambda: asking(outputs=[[0], [1]]), "outputs"),
    "a prior about no record": (lambda: pooled(record=3), "record"),
    "a prior without mass": (lambda: pooled(masses=[[0] * 4] * 2), "no mass"),
    "a prior where no dataset is": (lambda: pooled(masses=[[1] * 4] * 2), "no dataset"),
    "a prior that knows too much": (lambda: pooled(masses=[[0, 0, 0, 1], [1, 0, 0, 0]]), "divergence"),
    "masses of another shape": (lambda: pooled(masses=[[1, 0], [0, 1]]), "masses"),
    "ratios of another shape": (lambda: pooled(ratios=[[0.0]] * 2), "ratios"),
    "ratios without an end": (lambda: pooled(ratios=[[0.0, -math.inf]] * 2), "ratios"),
    "values taken to one": (lambda: moved(values=[1, 1], outputs=[0, 1]), "permutation"),
    "a value that is none": (lambda: moved(values=[1, 2], outputs=[0, 1]), "values"),
    "outputs of another number": (lambda: moved(values=[1, 0], outputs=[0]), "outputs"),
    "no values": (lambda: moved(outputs=[1, 0]), "fields"),
    "a map that changes the table": (lambda: moved({"distortion": [[1, 0], [0, 1], [1, 0], [5e-324, 1]]},
                                                   values=[1, 0], outputs=[1, 0]), "distortions"),
}  # fmt: skip


def asking(**changes: Json) -> Json:
    problem = {**parity()["problem"], **changes}
    return parity(problem={key: value for key, value in problem.items() if value is not ...})


def pooled(**changes: Json) -> Json:
    first, second = parity_pool(3, 0.1)
    return parity(pool=[first, {**second, **changes}])


def moved(changes: Json = None, **symmetry: Json) -> Json:
    return {**asking(**(changes or {})), "symmetries": [symmetry]}


@pytest.mark.parametrize("name", FORGED)
def test_forgeries_are_refused(name: str) -> None:
    build, words = FORGED[name]
    refused(build(), words)


def test_outputs_of_a_named_mechanism_cannot_be_renamed() -> None:
    audit = audited(dl.mechanisms.symmetric(dl.queries.identity(2), flip=0.1), entropy=LN2)
    problem = {"query": "identity(k=2)", "distortion": "absolute"}
    accepted(certificate(audit, problem, {"distortion": 0.1 + 1e-15}, []))
    refused(certificate(audit, {**problem, "outputs": [1, 0]}, {"distortion": 0.9}, []), "its own outputs")
    response = audited(dl.mechanisms.randomized_response(dl.queries.count(1), epsilon=1), entropy=LN2)
    refused(certificate(response, {**problem, "query": "count(n=1)"}, {"distortion": 0.9}, []), "one row per class")


def test_records_with_other_alphabets_do_not_change_places() -> None:
    mechanism = Mechanism.from_matrix(np.full((6, 1), 1.0), records=[2, 3])
    data = certificate(
        unproved(mechanism, {"entropy": 0}), {"distortion": [[1.0]] * 6}, {"distortion": 1.1}, [],
        symmetries=[{"records": [1, 0], "values": [[0, 1], [0, 1, 2]], "outputs": [0]}],
    )  # fmt: skip
    refused(data, "another number of values")
    data["symmetries"][0]["records"] = [0, 1]
    accepted(data)


def test_what_is_too_large_is_refused() -> None:
    with sized(numbers=7):
        refused(parity(), "too many to check")


def test_the_true_bound_is_all_that_any_pool_can_prove() -> None:
    # Random weights, ratios, multipliers and symmetries, with `lower` just above the optimum.
    rng = random.Random(3)
    for build, above in ((parity, LN2 - binary_entropy(0.1) + 1e-12), (dual_parity, 0.1 + 1e-6)):
        for _ in range(150):
            data = build(lower=above, upper=1.0)
            if build is dual_parity:
                data["distortion"] = 1.0
            for item in data["pool"]:
                item["weight"] *= rng.choice([1, rng.expovariate(1)])
                item["ratios"] = [[r * rng.choice([1, rng.uniform(0, 2)]) for r in row] for row in item["ratios"]]
            if "multiplier" in data:
                data["multiplier"] *= rng.choice([1, rng.expovariate(1)])
            if rng.random() < 0.5:
                data["symmetries"] = [{"values": [1, 0], "outputs": [1, 0]}]
            refused(data, "less than the claimed")


@pytest.mark.parametrize(
    ("query", "statistic", "outputs", "many"),
    [
        ("count(n=1000)", Sum(1000, (0, 1)), [0, 1000], 40),
        ("total(n=14, values=[0, 1, 3])", Histogram(14, 3), range(11), 60),
    ],
)
def test_large_designs_are_checked(query: str, statistic: Statistic, outputs: Sequence[int], many: int) -> None:
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.ones(len(outputs)), statistic.size)
    mechanism = Written(statistic, rows, tuple(outputs), parse_query(query))
    reference = np.exp(UNIFORM.log_joint(statistic, 0))
    shape = (len(reference), len(outputs))
    pool = [
        prior(0, reference * rng.uniform(0.9, 1.1, reference.shape), rng.normal(0, 1, shape), 1.0) for _ in range(many)
    ]
    problem = {"query": query, "distortion": "absolute", "outputs": list(outputs)}
    data = certificate(unproved(mechanism, {"knowledge": 5.0}), problem, {"distortion": 1e4}, pool, multiplier=1.0)
    if query.startswith("count"):
        data["symmetries"] = [{"values": [1, 0], "outputs": [1, 0]}]
    accepted(data)


def test_a_budget_of_no_distortion_is_kept_in_every_unit() -> None:
    mechanism = Mechanism.from_rows(dl.queries.identity(2), [[1.0, 0.0], [1.0, 0.0]])
    problem = {"query": "identity(k=2)", "distortion": [[0, 1e-12], [1e-12, 0]]}
    bounds = {"lower": 0.0, "upper": 1e-11, "distortion": 5.0000005e-13, "multiplier": 0.0}
    audit = unproved(mechanism, {"entropy": 0.0})
    refused(certificate(audit, problem, {"distortion": 0.0}, [], **{**bounds, "upper": audit["upper"]}), "the budget")


@pytest.mark.parametrize("kind", ["design", "dual_design"])
@pytest.mark.parametrize("query", ["mean(n=2, low=0, high=1)", "mean(n=2, low=0, high=1000, step=1000)"])
def test_a_mean_is_not_a_count_of_steps(kind: str, query: str) -> None:
    data = golden(kind)
    data["problem"]["query"] = data["audit"]["problem"]["query"] = query
    assert not verify_here(data).verified


@pytest.mark.parametrize("query", ["mean(n=2, low=-1, high=3, step=2)", "mean(n=3, low=0, high=1)"])
def test_a_design_of_a_mean_is_verified(query: str) -> None:
    for goal in ({"distortion": 0.1}, {"leakage": 0.2}):
        design = dl.design(parse_query(query), knowledge=0.3, **goal, tolerance=3e-2, time_limit=20)
        accepted(json.loads(design.certificate.text()))
