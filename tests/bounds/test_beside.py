"""A sum beside local randomisers: the bound beside random priors and ascents, and forged proofs."""

import copy
import json

import numpy as np
import pytest
from large_samples import feasible
from verdicts import refused

import dalenius as dl
from dalenius.bounds import beside
from dalenius.numerics.information import mutual_information
from dalenius.reductions.order import Beside
from dalenius.search.deadline import Deadline
from dalenius.settings import only


def count_and_response(n: int, count: float = 1.0, response: float = 1.0, *, swapped: bool = False) -> dl.Mechanism:
    query = dl.queries.count(n=n)
    parts = [dl.mechanisms.geometric(query, epsilon=count), dl.mechanisms.randomized_response(query, epsilon=response)]
    return dl.compose(*(parts[::-1] if swapped else parts))


def random_parts(n: int, rng: np.random.Generator) -> Beside:
    """Rows with likelihood ratios that rise, and any channel of a bit."""
    outputs = int(rng.integers(2, 5))
    ratios = np.cumsum(rng.exponential(rng.uniform(0.05, 1.0), size=(n + 1, outputs - 1)), axis=0)
    logs = np.concatenate([np.zeros((n + 1, 1)), np.cumsum(ratios - ratios.mean(), axis=1)], axis=1)
    release = np.exp(logs - logs.max(axis=1, keepdims=True))
    chance = rng.uniform(0.05, 0.95, size=2)
    return Beside(release / release.sum(axis=1, keepdims=True), np.stack([1 - chance, chance], axis=1), first=True)


def matrix(parts: Beside) -> np.ndarray:
    rows = []
    for x in np.ndindex(*(2,) * parts.n):
        row = parts.release[sum(x)]
        for bit in x:
            row = np.kron(row, parts.local[bit])
        rows.append(row)
    return np.array(rows)


def leaked(pi: np.ndarray, q: np.ndarray) -> float:
    half = len(pi) // 2
    return mutual_information(np.stack([pi[:half] @ q[:half], pi[half:] @ q[half:]]))


@pytest.mark.parametrize("seed", range(12))
def test_no_prior_leaks_more_whatever_the_parts_the_law_and_mu(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 2 + seed % 3
    parts, chance = random_parts(n, rng), float(rng.uniform(0.1, 0.9))
    law, q, rho = np.array([1 - chance, chance]), matrix(parts), np.ones(1)
    for _ in range(n):
        rho = np.kron(rho, law)
    mechanism = dl.Mechanism.from_matrix(q, [2] * n)
    for knowledge in (0.02, 0.3, 1.0):
        search = beside._Search(parts, law, knowledge, Deadline(60))
        least = min(search.at(mu * (1 - search.sigma)) for mu in (0.05, 0.2, 0.4, 0.7, 1.0))
        assert search.found.upper == least
        attack = dl.audit(mechanism, knowledge=knowledge, reference=law, secret=0, relative=0.9, verify=False).lower
        random = max(leaked(feasible(rho, knowledge, rng), q) for _ in range(40))
        assert max(attack, random) <= least + 1e-9


def test_the_list_has_it_within_five_percent() -> None:
    audit = dl.audit(count_and_response(4), knowledge=0.3, relative=0.1)
    assert audit.upper_by == "beside"
    assert dl.verify(audit)
    assert audit.gap < 0.05 * audit.upper


@pytest.mark.parametrize(
    "build",
    [
        lambda q, m: dl.compose(m.geometric(q.count(n=3), epsilon=1), m.geometric(q.count(n=3), epsilon=0.5)),
        lambda q, m: m.randomized_response(q.count(n=3), epsilon=1),
        lambda q, m: m.geometric(q.count(n=3), epsilon=1),
        lambda q, m: dl.compose(
            m.symmetric(q.modular_sum(n=3, modulus=2), flip=0.2), m.randomized_response(q.count(n=3), epsilon=1)
        ),
        lambda q, m: dl.compose(
            m.geometric(q.total(n=2, values=[0, 1, 2]), epsilon=1),
            m.randomized_response(q.total(n=2, values=[0, 1, 2]), epsilon=1),
        ),
    ],
)
def test_other_releases_are_not_taken_for_one(build: object) -> None:
    assert Beside.of(build(dl.queries, dl.mechanisms)) is None


def test_groups_laws_of_their_own_and_weights_are_left_to_other_bounds() -> None:
    mechanism, alone = count_and_response(2), dl.Settings(portfolio=only("beside"))
    for options in (
        {"secret": [0, 1]},
        {"reference": [[0.8, 0.2], [0.3, 0.7]]},
        {"reference": [0.1, 0.2, 0.3, 0.4]},
    ):
        assert dl.audit(mechanism, knowledge=0.1, settings=alone, time_limit=5, **options).upper_by != "beside"


@pytest.mark.parametrize("reference", [None, [0.8, 0.2]])
def test_every_record_has_the_bound_and_it_is_checked(reference: list[float] | None) -> None:
    alone = dl.Settings(portfolio=only("beside"))
    audit = dl.audit(count_and_response(3, 0.7, 1.3), knowledge=0.2, reference=reference, settings=alone)
    assert audit.upper_by == "beside"
    proofs = json.loads(audit.certificate.text())["proofs"]
    assert [proof["kind"] for proof in proofs] == ["beside"] * 3
    assert len({proof["upper"] for proof in proofs}) == 1


@pytest.fixture(scope="module")
def sound() -> dict:
    audit = dl.audit(count_and_response(2), knowledge=0.3, settings=dl.Settings(portfolio=only("beside")))
    return json.loads(audit.certificate.text())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: p.update(upper=p["upper"] - 1e-4), "exceeds claimed"),
        (lambda p: p.update(eta=0.9 * p["eta"]), "not shown to contract"),
        (lambda p: p.update(sigma=1.1 * p["sigma"]), "not shown to keep"),
        (lambda p: p.update(law=[0.3, 0.7]), ""),
        (lambda p: p.update(mu=0.9 * p["mu"]), "exceeds claimed"),
        (lambda p: p.update(rounds=0), "exceeds claimed"),
        (lambda p: p.update(first=False), "exceeds claimed"),
        (lambda p: p["local"].reverse(), ""),
        (lambda p: p["release"].reverse(), "not monotone"),
        (lambda p: p["release"][1].__setitem__(0, 0.2), ""),
        (lambda p: p["heights"].__setitem__(0, p["heights"][0] + 0.3), "exceeds claimed"),
        (lambda p: p["laws"][1][0].__setitem__(0, 3.0), "exceeds claimed"),
        (lambda p: p["laws"].pop(), "laws"),
    ],
)
def test_a_forged_proof_is_refused(sound: dict, change: object, reason: str) -> None:
    data = copy.deepcopy(sound)
    for proof in data["proofs"]:
        change(proof)
    data["upper"] = max(proof["upper"] for proof in data["proofs"])
    refused(data, reason)
