"""Designs against an adversary who knows a reference prior: closed forms, orbits, symmetries, forgeries."""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import binary_entropy
from kinds import Floats, Json
from verdicts import accepted, by_hand, refused

from dalenius.verifier.forms.counting import Histogram, Sum, Table, classes_are_orbits
from dalenius.verifier.forms.reference import UNIFORM, Product, Reference, Weights
from dalenius.verifier.verify import verify_here


def design(inside: Json, problem: Json, spent: float, pool: Json, **more: Json) -> Json:
    return copy.deepcopy({
        "format": "dalenius/design-certificate", "version": 2,
        "problem": {"distribution": "uniform", **problem}, "adversary": inside["adversary"],
        "budget": {"distortion": spent}, "lower": 0.0, "upper": inside["upper"], "distortion": spent,
        "multiplier": 0.0, "pool": pool, "audit": inside, **more,
    })  # fmt: skip


# One record and no knowledge beyond its public law: rate-distortion theory.


def bernoulli(p: float, distortion: float) -> Json:
    """R(D) = H_b(p) - H_b(D) of a biased bit; the data follow the public law as well."""
    law = np.array([1 - p, p])
    r = (law - distortion) / (1 - 2 * distortion)
    back = np.array([[1 - distortion, distortion], [distortion, 1 - distortion]])
    rows = r * back / law[:, None]
    rows /= rows.sum(axis=1, keepdims=True)
    truth = binary_entropy(p) - binary_entropy(distortion)
    inside = by_hand(
        {"query": "identity(k=2)", "rows": rows.tolist()},
        {"knowledge": 0.0, "reference": {"marginal": law.tolist()}},
        np.diag(law), {"kind": "reference", "upper": truth + 1e-12},
    )  # fmt: skip
    pool = [{"record": 0, "weight": 1.0, "masses": np.diag(law).tolist(), "ratios": np.log(rows / r).tolist()}]
    problem = {"query": "identity(k=2)", "distortion": "zero-one", "distribution": law.tolist()}
    spent = distortion + 1e-15
    slope = math.log((1 - distortion) / distortion)
    return design(inside, problem, spent, pool, lower=truth - 1e-12, multiplier=slope)


@pytest.mark.parametrize(("p", "distortion"), [(0.5, 0.1), (0.2, 0.1), (0.3, 0.05), (0.9, 0.02)])
def test_rate_distortion_of_a_biased_bit(p: float, distortion: float) -> None:
    data = bernoulli(p, distortion)
    answer = accepted(data)
    assert "independent records with law" in answer.problem
    refused({**data, "lower": data["lower"] + 3e-12, "upper": data["upper"] + 1e-9}, "less than the claimed")
    refused({**data, "lower": 0.0, "upper": data["upper"] - 3e-12}, "proved to leak")
    wider = copy.deepcopy(data)
    wider["adversary"] = {"knowledge": 0.0, "reference": {"marginal": [0.5, 0.5]}}
    if p != 0.5:
        refused(wider, "another adversary than the design")
        wider["audit"]["adversary"] = wider["adversary"]
        refused(wider, "not the reference prior")


def test_uniform_data_stay_uniform_whatever_is_public() -> None:
    """The expected distortion is over P0, not over the reference."""
    data = bernoulli(0.2, 0.1)
    data["problem"]["distribution"] = "uniform"
    rows = np.array(data["audit"]["problem"]["rows"])
    spent = float((rows[0, 1] + rows[1, 0]) / 2)
    for shift, fine in ((1e-12, True), (-1e-12, False)):
        told = {"lower": 0.0, "distortion": spent + shift, "budget": {"distortion": spent + shift}}
        assert bool(verify_here({**data, **told})) == fine


# The lower bound recomputed in floats.

ROWS = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.1, 0.7, 0.2], [0.05, 0.05, 0.9]])
BUDGET = 0.29  # of distortion, which they spend under the uniform distribution
DISTANCES = np.array([[0, 1, 2], [1, 0, 1], [1, 0.5, 1], [2, 1, 0]])
BIT = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
SINGLE = {"records": [2, 2], "classes": None, "rows": ROWS.tolist()}
KNOWLEDGE = 0.2


def weights_of(rho: Json) -> Floats:
    if "weights" in rho:
        return np.array(rho["weights"])
    first, second = rho["marginals"] if "marginals" in rho else [rho["marginal"]] * 2
    return np.outer(first, second).ravel()


def random_design(rho: Json, seed: int) -> tuple[Json, float]:
    """Two random priors in the ball, about one record each, and the bound that they give."""
    rng = np.random.default_rng(seed)
    base = weights_of(rho)
    lam, nu = rng.dirichlet([1, 1]), float(rng.uniform(0.1, 2))
    gains, pool = np.zeros((4, 3)), []
    for record in (0, 1):
        far = rng.dirichlet(np.ones(4)) * (base > 0)
        p = 0.8 * base + 0.2 * far / far.sum()
        assert (p[p > 0] * np.log(p[p > 0] / base[p > 0])).sum() < KNOWLEDGE
        masses = np.where(np.arange(2)[:, None] == BIT[record], p, 0.0)
        ratios = np.log(masses @ ROWS / masses.sum(axis=1, keepdims=True)) * rng.uniform(0.5, 1)
        legal = ratios - np.log((masses.sum(axis=1)[:, None] * np.exp(ratios)).sum(axis=0))
        gains += lam[record] * masses.T @ legal
        pool.append({
            "record": record, "weight": float(lam[record]), "masses": masses.tolist(), "ratios": ratios.tolist(),
        })  # fmt: skip
    bound = float((gains + nu * DISTANCES / 4).min(axis=1).sum() - nu * BUDGET)
    trivial = {"kind": "trivial", "upper": 0.6931471805599454}
    masses = np.where(np.arange(2)[:, None] == BIT[0], base, 0.0)
    inside = by_hand(SINGLE, {"knowledge": KNOWLEDGE, "reference": rho}, masses, trivial, trivial)
    return design(inside, {"distortion": DISTANCES.tolist()}, BUDGET, pool, multiplier=nu), bound


FORMS = [
    {"marginal": [0.8, 0.2]},
    {"marginals": [[0.8, 0.2], [0.4, 0.6]]},
    {"weights": [0.4, 0.1, 0.3, 0.2]},
    {"weights": [0.5, 0.0, 0.25, 0.25]},
]


@pytest.mark.parametrize("rho", FORMS)
def test_the_lower_bound_is_the_formula(rho: Json) -> None:
    tried = 0
    for seed in range(20):
        data, bound = random_design(rho, seed)
        accepted(data)
        if bound > 1e-6:
            tried += 1
            accepted({**data, "lower": bound - 1e-12})
            refused({**data, "lower": bound + 1e-12}, "less than the claimed")
    assert tried > 5, tried


@pytest.mark.parametrize("rho", FORMS)
def test_priors_of_the_pool_stay_in_the_ball_around_the_reference(rho: Json) -> None:
    data, _ = random_design(rho, 0)
    outside = copy.deepcopy(data)
    outside["pool"][1]["masses"] = [[0, 0, 1, 0], [0, 0, 0, 0]]
    refused(outside, "prior 1 of the pool has divergence")
    if rho == FORMS[-1]:
        outside["pool"][1]["masses"] = [[0, 0, 0.5, 0], [0, 0.1, 0, 0.4]]
        refused(outside, "where there is no dataset of positive reference")
    for other in FORMS:
        if other != rho:
            refused({**data, "adversary": {"knowledge": KNOWLEDGE, "reference": other}}, "another adversary")


def test_the_audit_of_a_design_is_about_every_record() -> None:
    data, _ = random_design(FORMS[0], 0)
    data["audit"]["secret"] = {"kind": "records", "records": [0]}
    del data["audit"]["witness"]["record"], data["audit"]["proofs"][1], data["audit"]["proofs"][0]["record"]
    refused(data, "it is about one secret; a design bounds the leakage of every record")


# Orbits: which domains may have one row for many datasets.

BIASED, EVEN = Product(((0.9, 0.1),)), Product(((0.5, 0.5),))
MIXED = Product(((0.9, 0.1), (0.8, 0.2), (0.7, 0.3)))
LISTED = Weights((0.125,) * 8)
ORBITS: dict[str, tuple[Any, list[Reference]]] = {
    "count": (Sum(3, (0, 1)), [UNIFORM, BIASED, EVEN]),
    "histogram": (Histogram(3, 2), [UNIFORM, BIASED, EVEN]),
    "parity": (Sum(3, (0, 1), 2), [UNIFORM, EVEN]),
    "single datasets": (Table((2, 2, 2), range(8), 8), [UNIFORM, BIASED, EVEN, MIXED, LISTED]),
    "classes of a table": (Table((2, 2, 2), (0, 1, 1, 0, 1, 0, 0, 1), 2), []),
}


@pytest.mark.parametrize("name", ORBITS)
def test_classes_are_orbits_only_of_maps_that_leave_the_reference_alone(name: str) -> None:
    statistic, fine = ORBITS[name]
    for rho in (UNIFORM, BIASED, EVEN, MIXED, LISTED):
        assert classes_are_orbits(statistic, rho) == (rho in fine)


def counted(statistic: Json, rho: Json, rows: int) -> Json:
    """A design of two bits that claims nothing, on a domain of count vectors or parities."""
    flat = [[0.5, 0.5]] * rows
    base = weights_of(rho)
    classes = np.array([2, 1, 1, 0]) if rows == 3 else np.array([0, 1, 1, 0])
    masses = np.zeros((2, rows))
    for x, t in enumerate(classes):
        masses[x // 2, t] += base[x]
    trivial = {"kind": "trivial", "upper": 0.0}
    problem = {"query": "modular_sum(n=2, modulus=2)", "rows": flat, **statistic}
    inside = by_hand(problem, {"knowledge": 0.1, "reference": rho}, masses, trivial, trivial)
    asked = {"query": "modular_sum(n=2, modulus=2)", "distortion": "absolute"}
    return design(inside, asked, 0.5, [])


@pytest.mark.parametrize(
    ("statistic", "rows", "fine"), [({"statistic": "histogram"}, 3, [0, 1]), ({}, 2, [1])], ids=["counts", "parities"]
)
def test_domains_whose_datasets_the_reference_tells_apart_are_refused(
    statistic: Json, rows: int, fine: list[int]
) -> None:
    forms = [
        {"marginal": [0.9, 0.1]},
        {"marginal": [0.5, 0.5]},
        {"marginals": [[0.9, 0.1], [0.5, 0.5]]},
        {"weights": [0.25] * 4},
    ]
    for j, rho in enumerate(forms):
        data = counted(statistic, rho, rows)
        if j in fine:
            accepted(data)
        else:
            refused(data, "the reference treats datasets of one class differently")


# Symmetries.


def swapped(**more: Json) -> Json:
    return {"records": [1, 0], "values": [[0, 1], [0, 1]], "outputs": [0, 1], **more}


def flat_design(rho: Json) -> Json:
    """Two bits, datasets one by one, any map of the datasets keeps distortions and data."""
    trivial = {"kind": "trivial", "upper": 0.0}
    problem = {"records": [2, 2], "classes": None, "rows": [[0.5, 0.5]] * 4}
    masses = np.where(np.arange(2)[:, None] == BIT[0], weights_of(rho), 0.0)
    inside = by_hand(problem, {"knowledge": 0.1, "reference": rho}, masses, trivial, trivial)
    return design(inside, {"distortion": [[1.0, 1.0]] * 4}, 1.0, [])


FLIPPED = [[1, 0], [1, 0]]
MAPS: list[tuple[Json, Callable[[], Json], bool]] = [
    ({"marginal": [0.9, 0.1]}, swapped, True),
    ({"marginal": [0.9, 0.1]}, lambda: swapped(values=FLIPPED), False),
    ({"marginal": [0.5, 0.5]}, lambda: swapped(values=FLIPPED), True),
    ({"marginal": [0.9, 0.1]}, lambda: swapped(records=[0, 1], values=[[0, 1], [1, 0]]), False),
    ({"marginals": [[0.9, 0.1], [0.1, 0.9]]}, swapped, False),
    ({"marginals": [[0.9, 0.1], [0.1, 0.9]]}, lambda: swapped(values=FLIPPED), True),
    ({"marginals": [[0.9, 0.1], [0.5, 0.5]]}, lambda: swapped(records=[0, 1], values=[[0, 1], [1, 0]]), True),
    ({"marginals": [[0.9, 0.1], [0.5, 0.5]]}, lambda: swapped(records=[0, 1], values=[[1, 0], [0, 1]]), False),
    ({"weights": [0.4, 0.2, 0.2, 0.2]}, swapped, True),
    ({"weights": [0.4, 0.2, 0.1, 0.3]}, swapped, False),
    ({"weights": [0.3, 0.2, 0.2, 0.3]}, lambda: swapped(values=FLIPPED), True),
    ({"weights": [0.4, 0.2, 0.2, 0.2]}, lambda: swapped(values=FLIPPED), False),
]


@pytest.mark.parametrize(("rho", "symmetry", "fine"), MAPS)
def test_a_symmetry_leaves_the_reference_alone(rho: Json, symmetry: Callable[[], Json], fine: bool) -> None:
    data = {**flat_design(rho), "symmetries": [symmetry()]}
    if fine:
        accepted(data)
    else:
        refused(data, "in the reference")


@pytest.mark.parametrize(("rho", "fine"), [({"marginal": [0.5, 0.5]}, True), ({"marginal": [0.9, 0.1]}, False)])
def test_renaming_values_of_count_vectors_needs_an_even_law(rho: Json, fine: bool) -> None:
    data = {**counted({"statistic": "histogram"}, rho, 3), "symmetries": [{"values": [1, 0], "outputs": [0, 1]}]}
    if fine:
        accepted(data)
    else:
        refused(data, "takes a value of record 0 to one of another probability in the reference")
