"""References that give no mass to some values, against brute force over all datasets, for both adversaries."""

import json
import math
import random
from collections.abc import Iterable
from itertools import product

import brute_force
import numpy as np
import pytest
from damage import Json
from fuzz.judge import Posed, labels_of, rho_of
from kinds import Floats

import dalenius as dl
from dalenius.errors import InputError
from dalenius.verifier.verify import verify_here

SLACK = 1e-9
M, Q = dl.mechanisms, dl.queries
SUMS = [Q.total(2, [0, 1, 2, 3, 4]), Q.total(3, [0, 1, 2]), Q.modular_sum(4, 2), Q.total(3, [0, 1, 1])]


def drawn(rng: np.random.Generator) -> tuple[dl.Mechanism, list[list[float]]]:
    """A small mechanism, and laws of its records with a zero in some of them under which every class has mass."""
    while True:
        if rng.random() < 0.5:
            query = SUMS[rng.integers(len(SUMS))]
        else:
            records = [[3, 3], [3, 2, 2], [4, 2]][rng.integers(3)]
            answers = dict(zip(product(*map(range, records)), rng.integers(0, 3, math.prod(records)), strict=True))
            query = Q.function(records, lambda x, answers=answers: int(answers[x]))
        build = [M.geometric, M.exponential][rng.integers(2)]
        mechanism = build(query, epsilon=float(rng.choice([0.5, 2.0])))
        sizes = mechanism.records
        laws = [rng.dirichlet(np.ones(k)) * (rng.random(k) < 0.6) for k in sizes]
        if len(set(sizes)) == 1 and rng.random() < 0.5:
            laws = laws[:1] * len(sizes)
        total = [law.sum() for law in laws]
        if min(total) == 0 or not any(0 in law for law in laws):
            continue
        laws = [(law / s).tolist() for law, s in zip(laws, total, strict=True)]
        try:
            dl.audit(mechanism, adversary="independent", knowledge=0.0, reference=laws, time_limit=0.01, verify=False)
        except InputError:  # a class without mass
            continue
        return mechanism, laws


def seen(mechanism: dl.Mechanism, record: int, others: tuple[int, ...]) -> Floats:
    """The rows of a record whose others are these."""
    cube = mechanism.matrix().reshape(*mechanism.records, -1)
    return np.moveaxis(cube, record, 0)[(slice(None), *others)]


def largest(channels: Iterable[Floats]) -> tuple[float, float]:
    """A bracket of the largest capacity."""
    lows, highs = zip(*(brute_force.capacity(rows, 1e-6) for rows in channels), strict=True)
    return max(lows), max(highs)


def best_known(mechanism: dl.Mechanism, laws: list[list[float]]) -> tuple[float, float]:
    """The most that a prior with independent records leaks whose records all have values with mass."""
    support = [np.flatnonzero(law) for law in laws]
    return largest(
        seen(mechanism, i, others)[support[i]]
        for i in range(len(laws))
        for others in product(*(values for j, values in enumerate(support) if j != i))
    )


def best_averaged(mechanism: dl.Mechanism, laws: list[list[float]]) -> tuple[float, float]:
    """The most that is told of a record of any law whose others follow theirs."""
    channels = []
    for i, own in enumerate(laws):
        rows = np.zeros((len(own), mechanism.n_outputs))
        rest = [law for j, law in enumerate(laws) if j != i]
        for others in product(*(range(len(law)) for law in rest)):
            rows += math.prod(law[v] for law, v in zip(rest, others, strict=True)) * seen(mechanism, i, others)
        channels.append(rows)
    return largest(channels)


def together(laws: list[Floats]) -> Floats:
    weights = np.ones(1)
    for law in laws:
        weights = np.outer(weights, law).ravel()
    return weights


def some_products(laws: list[list[float]], knowledge: float, rng: np.random.Generator, many: int) -> list[Floats]:
    """Priors of independent records that are nowhere outside of the support, and within the knowledge."""
    rho, found = [np.array(law) for law in laws], []
    for _ in range(many):
        # Most records certain, or nearly so: what leaks most.
        far = [rng.dirichlet(np.full(r.size, rng.choice([0.05, 0.5]))) * (r > 0) + 1e-9 * r for r in rho]
        far = [p / p.sum() for p in far]
        low, high = 0.0, 1.0
        for _ in range(30):
            t = (low + high) / 2
            mixed = [(1 - t) * r + t * p for r, p in zip(rho, far, strict=True)]
            known = sum(float((brute_force.plogp(p) - p * np.log(np.where(r > 0, r, 1))).sum())
                        for p, r in zip(mixed, rho, strict=True))  # fmt: skip
            low, high = (t, high) if known <= knowledge - 1e-9 else (low, t)
        found.append(together([(1 - low) * r + low * p for r, p in zip(rho, far, strict=True)]))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_independent_records_stay_where_the_reference_has_mass(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mechanism, laws = drawn(rng)
    rho, matrix, records = together([np.array(law) for law in laws]), mechanism.matrix(), mechanism.records
    # Everything may be known, where there is mass.
    asked: Json = {"adversary": "independent", "reference": laws, "tolerance": 1e-4}
    free = dl.audit(mechanism, **asked, knowledge=math.inf)
    low, high = best_known(mechanism, laws)
    assert free.lower <= high + SLACK
    assert low <= free.upper + SLACK
    assert free.gap <= 1e-4
    # The others follow their laws, and the record's own law is free: its zeros do not count.
    follows = dl.audit(mechanism, **asked)
    low, high = best_averaged(mechanism, laws)
    assert follows.lower <= high + SLACK
    assert low <= follows.upper + SLACK
    assert follows.gap <= 1e-4
    most = float(np.log(1 / rho[rho > 0].min()))
    knowledge = float(rng.choice([0.0, 0.1, 0.5])) * most
    some = dl.audit(mechanism, **asked, knowledge=knowledge, time_limit=0.2)
    assert some.upper <= free.upper + SLACK
    for prior in some_products(laws, knowledge, rng, 40):
        assert brute_force.leaks(prior, matrix, records) <= some.upper + SLACK
    for audit, known in ((free, most), (some, knowledge)):
        assert audit.verify().verified
        weights = audit.prior.weights()
        assert not weights[rho == 0].any()
        cube = weights.reshape(records)
        marginals = [cube.sum(axis=tuple(j for j in range(len(records)) if j != i)) for i in range(len(records))]
        assert weights == pytest.approx(together(marginals), abs=1e-12)
        assert Posed(matrix, (), rho, known).divergence(weights) <= known + SLACK
        assert brute_force.leaks(weights, matrix, records) >= audit.lower - SLACK
    assert follows.verify().verified


@pytest.mark.parametrize("seed", range(6))
def test_priors_within_a_ball_stay_where_the_reference_has_mass(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    mechanism, laws = drawn(rng)
    records, rho = mechanism.records, rho_of(mechanism.records, {"marginals": laws})
    most = float(np.log(1 / rho[rho > 0].min()))
    knowledge = float(rng.choice([0.1, 0.5, 1.0])) * most
    audit = dl.audit(mechanism, reference=laws, knowledge=knowledge, tolerance=1e-2, time_limit=0.3)
    truth = Posed(mechanism.matrix(), tuple(labels_of(records, [i]) for i in range(len(records))), rho, knowledge)
    attained = truth.attained(random.Random(seed), starts=2)
    assert attained <= audit.upper + SLACK
    weights = audit.prior.weights()
    assert not weights[rho == 0].any()
    assert truth.divergence(weights) <= knowledge + SLACK
    assert brute_force.leaks(weights, truth.matrix, records) >= audit.lower - SLACK
    assert audit.verify().verified


def test_a_reference_that_is_all_that_is_known_is_verified_as_it_was_given() -> None:
    # 0.1078744087877612 is not what the exponential of its logarithm rounds to.
    law = [0.1078744087877612, 0.0, 0.8921255912122388]
    mechanism = M.exponential(Q.function([3, 3], lambda x: int(x in {(0, 0), (0, 2), (2, 1)})), epsilon=0.5)
    assert dl.audit(mechanism, adversary="independent", reference=law, knowledge=0.0).verify().verified


def test_the_two_examples_that_were_above_the_truth() -> None:
    mechanism = M.symmetric(Q.function([3, 3], lambda x: (x[0] + x[1]) % 3), flip=0.05)
    audit = dl.audit(mechanism, adversary="independent", reference=[0.5, 0.5, 0], knowledge=1.5, verify=True)
    assert (audit.lower, audit.upper) == pytest.approx((0.559553, 0.559553), abs=2e-6)
    assert audit.verified
    count = dl.audit(M.geometric(Q.count(3), epsilon=1.0), adversary="independent")
    forged = json.loads(count.certificate.text())
    forged["adversary"] |= {"knowledge": 0.0, "reference": {"marginal": [1.0, 0.0]}}
    assert "has mass on value 1, to which the reference of record 0 gives none" in verify_here(forged).reason
