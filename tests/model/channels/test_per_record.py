"""Records that each go through their own channel, beside the same release with its rows."""

from itertools import product

import numpy as np
import pytest
from large_samples import both_local
from refusals import refuses

import dalenius as dl
from dalenius.model.channels.parts import Part
from dalenius.model.channels.per_record import PerRecord
from dalenius.model.prior import Prior
from dalenius.model.reference import UNIFORM, Reference

CASES = [
    ("randomized_response(epsilon=1)", "count(n=4)"),
    ("randomized_response(epsilon=0.4)", "histogram(n=3, k=3)"),
    ("unary_encoding(epsilon=1.5)", "histogram(n=2, k=3)"),
]
LAWS = {2: [0.8, 0.2], 3: [0.6, 0.3, 0.1]}


@pytest.mark.parametrize(("mechanism", "query"), CASES)
def test_profiles_agree(mechanism: str, query: str) -> None:
    mine, its = (m.profile(entropies=[0.0], time_limit=0.3) for m in both_local(mechanism, query))
    assert mine.capacity is not None
    assert its.capacity is not None
    assert mine.capacity.lower <= its.capacity.upper
    assert its.capacity.lower <= mine.capacity.upper
    assert mine.capacity.upper == pytest.approx(its.capacity.upper, rel=1e-6)
    assert mine.record_min_entropy_leakage == pytest.approx(its.record_min_entropy_leakage, rel=1e-12)


def test_randomised_response_of_a_million_people() -> None:
    mechanism = dl.mechanisms.randomized_response(dl.queries.count(n=10**6), epsilon=1)
    assert isinstance(mechanism, PerRecord)
    assert mechanism.dp_epsilon() == pytest.approx(1.0)
    label = str(mechanism.sample([0, 1] * 500_000, rng=1)[0]).split(",")
    kept = np.mean([int(y) == i % 2 for i, y in enumerate(label)])
    assert kept == pytest.approx(mechanism.rows[0, 0], abs=0.005)
    refuses("too many to write out; it can be audited", mechanism.matrix)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("given", [None, "law"])
@pytest.mark.parametrize(("mechanism", "query"), CASES)
def test_a_prior_on_some_records_is_the_prior_on_all_datasets(
    mechanism: str,
    query: str,
    given: str | None,
    counted: bool,
) -> None:
    """Weights, leakage, divergence and entropy, all worked out dataset by dataset with the whole matrix."""
    local, dense = both_local(mechanism, query)
    law = LAWS[local.k] if given else None
    reference = Reference.from_user(law, local.records)
    part = local.look_at((1,), local.n - 1, counted=counted, law=None if law is None else np.array(law))
    rng = np.random.default_rng(0)
    log_rho = reference.log_joint(part.statistic, 1)
    masses = np.where(np.isfinite(log_rho), rng.random(log_rho.shape), 0.0)
    prior = Prior(part, 1, masses / masses.sum(), reference)
    p, rho = prior.weights(), np.exp(reference.log_table(local.records))
    assert p.sum() == pytest.approx(1.0)
    assert prior.divergence() == pytest.approx(float(p @ np.log(p / rho)), abs=1e-12)
    assert prior.entropy() == pytest.approx(float(-p @ np.log(p)), abs=1e-12)
    values = np.array([x[1] for x in product(range(local.k), repeat=local.n)])
    joint = np.stack([p[values == a] @ dense.matrix()[values == a] for a in range(local.k)])
    exact = joint * np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))
    assert prior.leakage() == pytest.approx(float(exact.sum()), abs=1e-12)
    assert prior.probability((1,) * local.n) == pytest.approx(p[np.ravel_multi_index((1,) * local.n, local.records)])
    assert prior.reference.log_classes(part.statistic) == pytest.approx(np.logaddexp.reduce(log_rho, axis=0))


def test_a_partition_knows_what_it_is_about() -> None:
    part = Part(5, 2, (1,), (0, 2), counted=True)
    assert part.class_name(4) == "the datasets with record 1 = 1 and 1 of 2 others equal"
    assert Part(5, 2, (1,), (0, 2)).class_name(5) == "the datasets with record 1 = 1 and records 0,2 = 0,1"
    assert Part(5, 2, (1, 3), ()).class_name(2) == "the datasets with records 1,3 = 1,0"
    refuses("about the records 1, not about", UNIFORM.log_joint, part, 0)
