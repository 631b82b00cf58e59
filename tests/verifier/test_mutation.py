"""Real certificates with one number changed: whatever is still accepted must be true.

Judged by brute force over all datasets and by closed forms, never by the solver. Every subject is given as a full
matrix, so a certificate can be read here without the package: masses[a][x] is the mass of dataset x.
"""

import copy
import io
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import brute_force
import numpy as np
import pytest
from cases import LN2, erased_parity_leakage, named, parity_leakage, random_channel
from kinds import Floats, Json

import dalenius as dl
from dalenius.bounds.trees.posteriors import PosteriorSearch
from dalenius.bounds.trees.rows import RowSearch
from dalenius.model.channels.mechanism import Mechanism
from dalenius.settings import without
from dalenius.verifier.verify import verify_here, verify_stream

Path_ = tuple[str | int, ...]
SLACK = 1e-12  # rounding of the judge, who computes in floats


@dataclass(frozen=True)
class Subject:
    """A problem, how it is asked, and its truth as a function of the entropy where that is known."""

    build: Callable[[], Mechanism]
    adversary: dict[str, float]
    tolerance: float
    proof: str
    truth: Callable[[float], float] | None = None


def erased() -> Mechanism:
    rows = [[0.75, 0.0, 0.25], [0.0, 0.75, 0.25]]
    return dl.Mechanism.from_rows(dl.queries.modular_sum(n=2, modulus=2), rows)


SUBJECTS = {
    "choices": Subject(
        lambda: named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.2)"),
        {"entropy": 1.0},
        1e-6,
        "choices",
        lambda b: parity_leakage(3, 0.2, b),
    ),
    "convex": Subject(lambda: named("count(n=3)", "geometric(epsilon=1)"), {"entropy": 1.7}, 1e-4, "convex"),
    "contraction": Subject(lambda: random_channel([3, 2], 3, 2), {"entropy": 1.523}, 1e-5, "convex"),
    "simplices": Subject(
        lambda: named("modular_sum(n=2, modulus=2)", "symmetric(flip=0.1)"),
        {"entropy": 1.2 * LN2},
        1e-4,
        "simplices",
        lambda b: parity_leakage(2, 0.1, b),
    ),
    "simplices of three outputs": Subject(
        erased, {"knowledge": 0.5 * LN2}, 1e-3, "simplices", lambda b: erased_parity_leakage(2, 0.25, b)
    ),
    "simplices of a count": Subject(
        lambda: named("count(n=3)", "geometric(epsilon=1)"), {"entropy": 1.7}, 1e-4, "simplices"
    ),
    "posteriors": Subject(
        lambda: named("modular_sum(n=2, modulus=2)", "symmetric(flip=0.1)"),
        {"entropy": 1.2 * LN2},
        1e-4,
        "posteriors",
        lambda b: parity_leakage(2, 0.1, b),
    ),
    "posteriors in groups": Subject(
        lambda: named("count(n=3)", "geometric(epsilon=0.7)"), {"knowledge": 0.3}, 1e-3, "posteriors"
    ),
    "rows": Subject(lambda: named("count(n=3)", "geometric(epsilon=1)"), {"entropy": 1.7}, 1e-4, "rows"),
    "several records": Subject(lambda: random_channel([2, 3], 3, 1), {"entropy": 1.523}, 1e-3, "convex"),
    "no constraint": Subject(lambda: random_channel([2, 2], 3, 5), {"knowledge": 2.0}, 1e-6, "choices"),
    "reference": Subject(lambda: random_channel([2, 2], 3, 5), {"knowledge": 0.0}, 1e-6, "reference"),
}


@cache
def mechanism_of(name: str) -> Mechanism:
    given = SUBJECTS[name].build()
    return Mechanism.from_matrix(given.matrix(), records=given.records)


@cache
def certificate_of(name: str) -> Json:
    subject = SUBJECTS[name]
    routes = {"rows", "simplices", "posteriors", "monotone", "convex"}  # the others would close the gap first
    settings = dl.Settings(portfolio=without(*(routes - {subject.proof})), parts=(RowSearch(values=2),))
    if name == "posteriors in groups":
        settings = settings.having(PosteriorSearch(ungrouped_outputs=1, grouped_share=0.95))
    audit = dl.audit(mechanism_of(name), **subject.adversary, tolerance=subject.tolerance, settings=settings)
    return json.loads(audit.certificate.text())


@cache
def best_prior(name: str) -> Floats:
    """The most telling prior that brute force finds, a lower bound that no upper bound may undercut."""
    mechanism, records = mechanism_of(name), mechanism_of(name).records
    b = least_entropy(certificate_of(name))
    found = [brute_force.best_prior(mechanism.matrix(), records, b, i, starts=8, seed=1) for i in range(len(records))]
    return max(found, key=lambda item: item[0])[1]


def least_entropy(data: Json) -> float:
    most = math.log(math.prod(data["problem"]["records"]))
    adversary = data["adversary"]
    return float(max(0.0, adversary["entropy"] if "entropy" in adversary else most - adversary["knowledge"]))


def judge(name: str, data: Json) -> None:
    """Assert that an accepted certificate is true."""
    records = data["problem"]["records"]
    rows = np.array(data["problem"]["rows"])
    assert rows.min() >= 0
    assert np.abs(rows.sum(axis=1) - 1).max() <= 1.1e-9
    matrix = rows / rows.sum(axis=1, keepdims=True)
    b = least_entropy(data)
    masses = np.array(data["witness"]["masses"])
    weights = masses.sum(axis=0) / masses.sum()
    record = data["witness"]["record"]
    assert brute_force.entropy(weights) >= b - 1e-9 * (b > 0.999 * math.log(len(rows))) - SLACK
    leaked = brute_force.information(brute_force.joint_of(weights, matrix, records, record))
    assert leaked >= data["lower"] - SLACK - 1e-9 * (SUBJECTS[name].proof == "reference")
    assert data["lower"] <= data["upper"]
    best = brute_force.leaks(brute_force.allowed(best_prior(name), b), matrix, records)
    assert data["upper"] >= best - SLACK
    truth = SUBJECTS[name].truth
    if truth is not None and np.abs(matrix - mechanism_of(name).matrix()).max() < 1e-14:
        assert data["lower"] - SLACK <= truth(b) <= data["upper"] + SLACK


def numbers(value: Json, path: Path_ = ()) -> Iterator[Path_]:
    """Where numbers stand."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, (*path, key))
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from numbers(item, (*path, k))
    elif type(value) in (int, float):
        yield path


def changed(data: Json, path: Path_, new: Json) -> Json:
    data = copy.deepcopy(data)
    at = data
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = new
    return data


def value_at(data: Json, path: Path_) -> Json:
    for step in path:
        data = data[step]
    return data


def mutants(data: Json, most: int, seed: int) -> Iterator[Json]:
    """Every number of the head of a certificate and a fixed sample of the rest, each changed in several ways."""
    rng = random.Random(seed)
    paths = list(numbers(data))
    head = [p for p in paths if len(p) <= 2]
    rest = [p for p in paths if len(p) > 2]
    chosen = head + (rest if len(rest) <= most else rng.sample(rest, most))
    for path in chosen:
        x = value_at(data, path)
        other = value_at(data, rng.choice(paths))
        if type(x) is int:
            new: list[Json] = [x + 1, x - 1, 0, other, float(x)]
        else:
            new = [1.01 * x, 0.99 * x, -x, 0.0, 1.0, x + 1e-3, x - 1e-3, other, x * 1e6, 1e308]
            new += [math.nextafter(x, math.inf), math.nextafter(x, -math.inf)]
        for y in new:
            if y != x or type(y) is not type(x):
                yield changed(data, path, y)


def run(name: str, most: int, seed: int) -> None:
    accepted = refused = 0
    for mutant in mutants(certificate_of(name), most, seed):
        if verify_here(mutant).verified:
            accepted += 1
            judge(name, mutant)
        else:
            refused += 1
    assert accepted > 0  # otherwise nothing was judged
    assert refused > 0


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_certificate_is_of_the_kind_that_is_mutated(name: str) -> None:
    data = certificate_of(name)
    answer = verify_here(data, mechanism_of(name))
    assert answer.verified, answer.reason
    judge(name, data)
    proof = SUBJECTS[name].proof
    kinds = {p["kind"] for p in data["proofs"]}
    assert proof in kinds
    if name == "posteriors in groups":
        assert any(0.01 < p["eta"] < 1 for p in data["proofs"] if p["kind"] == "posteriors")
    if proof == "convex":
        assert any("lam" in p for p in data["proofs"])


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_whatever_is_accepted_is_true(name: str) -> None:
    run(name, most=5, seed=0)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SUBJECTS)
def test_whatever_is_accepted_is_true_of_many_more(name: str) -> None:
    run(name, most=30, seed=1)


@pytest.mark.parametrize("name", SUBJECTS)
def test_bounds_beyond_the_truth_are_refused(name: str) -> None:
    data = certificate_of(name)
    best = brute_force.leaks(best_prior(name), mechanism_of(name).matrix(), mechanism_of(name).records)
    for below in (best - 1e-9, 0.5 * best, 0.0, -1.0):
        forged = {**data, "lower": min(data["lower"], below), "upper": below}
        forged["proofs"] = [{**proof, "upper": min(proof["upper"], below)} for proof in data["proofs"]]
        assert not verify_here(forged).verified
        assert not verify_here({**data, "lower": min(data["lower"], below), "upper": below}).verified
    for above in (data["lower"] + 1e-9, data["upper"], 2 * data["upper"]):
        assert not verify_here({**data, "lower": above, "upper": max(above, data["upper"])}).verified


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_proof_serves_an_adversary_that_knows_more(name: str) -> None:
    data = certificate_of(name)
    if "entropy" in data["adversary"]:
        stronger: Json = {"entropy": 0.8 * data["adversary"]["entropy"]}
    else:
        stronger = {"knowledge": data["adversary"]["knowledge"] + 0.1}
    forged = {**data, "adversary": stronger}
    if verify_here(forged).verified:  # on the flat part of the curve it may
        judge(name, forged)
        assert SUBJECTS[name].proof == "choices"


@pytest.mark.parametrize("name", SUBJECTS)
def test_another_problem_is_refused_for_the_mechanism(name: str) -> None:
    data, mechanism = certificate_of(name), mechanism_of(name)
    rows = data["problem"]["rows"]
    for other in (rows[::-1], [row[::-1] for row in rows], [[0.5 * x + 0.5 / len(row) for x in row] for row in rows]):
        if other != rows:
            forged = {**data, "problem": {**data["problem"], "rows": other}}
            answer = verify_here(forged, mechanism)
            assert not answer.verified
            assert "another channel" in answer.reason
            assert not verify_here(data, Mechanism.from_matrix(other, records=mechanism.records)).verified


@pytest.mark.parametrize("name", ["choices", "simplices"])
def test_a_proof_with_parts_missing_is_refused(name: str) -> None:
    data = certificate_of(name)
    tree = data["proofs"][0]["tree"]
    for shorter in ([], tree[:-1], tree[1:], tree[: len(tree) // 2], [*tree, tree[-1]]):
        forged = {**data, "proofs": [{**data["proofs"][0], "tree": shorter}, *data["proofs"][1:]]}
        assert not verify_here(forged).verified
    assert not verify_here({**data, "proofs": []}).verified
    for key in data:
        assert not verify_here({k: v for k, v in data.items() if k != key}).verified


def test_every_record_needs_its_proof() -> None:
    data = certificate_of("several records")
    assert len(data["proofs"]) == 2
    for k in range(2):
        answer = verify_here({**data, "proofs": [data["proofs"][k]]})
        assert not answer.verified
        assert f"record {1 - k} has no proof" in answer.reason


@pytest.mark.parametrize("name", ["choices", "convex"])
def test_truncated_files_are_refused(name: str, tmp_path: Path) -> None:
    text = json.dumps(certificate_of(name), separators=(",", ":"))
    path = tmp_path / "certificate.json"
    path.write_text(text)
    assert dl.verify(path).verified
    for length in {0, 1, 2, *range(3, len(text) - 1, max(1, len(text) // 15)), len(text) - 1}:
        answer = verify_stream(io.BytesIO(text[:length].encode()))
        assert not answer["verified"]
        assert answer["reason"]
    path.write_text(text[:-1])
    assert not dl.verify(path).verified
