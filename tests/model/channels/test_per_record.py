"""Records that each go through their own channel, and one of very many values, beside the release with its rows."""

import math
from itertools import product

import numpy as np
import pytest
from large_samples import both_local, both_symmetric
from refusals import refuses

import dalenius as dl
from dalenius.errors import InputError
from dalenius.model.channels.parts import Part
from dalenius.model.channels.per_record import PerRecord, Symmetric
from dalenius.model.prior import Prior
from dalenius.model.reference import UNIFORM, Reference
from dalenius.search.deadline import Deadline
from dalenius.tools.composition import information_bound

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


SYMMETRIC = [
    ("symmetric(flip=0.02)", "identity(k=5)"),
    ("symmetric(flip=0.5)", "identity(k=2)"),
    ("symmetric(flip=0)", "identity(k=3)"),
    ("symmetric(flip=1)", "identity(k=4)"),
    ("symmetric(flip=0.7)", "identity(k=50)"),
    ("symmetric(flip=0.98)", "identity(k=50)"),
    ("randomized_response(epsilon=2)", "identity(k=5)"),
    ("randomized_response(epsilon=0.01)", "identity(k=50)"),
]


@pytest.mark.parametrize(("mechanism", "query"), SYMMETRIC)
@pytest.mark.parametrize("knowledge", [0.1, 50.0])
def test_the_closed_form_is_what_the_rows_leak(mechanism: str, query: str, knowledge: float) -> None:
    large, dense = both_symmetric(mechanism, query)
    audit = dl.audit(large, knowledge=knowledge)
    truth = dl.audit(dense, knowledge=knowledge)
    assert audit.verified
    assert audit.gap <= 2e-11
    assert audit.lower <= truth.upper
    assert truth.lower <= audit.upper
    assert truth.lower == pytest.approx(audit.lower, abs=2e-6)
    assert audit.upper <= math.nextafter(math.log(large.k), math.inf)


def test_three_thousand_values() -> None:
    mechanism = dl.mechanisms.symmetric(dl.queries.identity(k=3000), flip=0.02)
    assert isinstance(mechanism, Symmetric)
    audit = dl.audit(mechanism, entropy=0)
    told = math.log(3000) + 0.98 * math.log(0.98) + 0.02 * math.log(0.02 / 2999)
    assert audit.lower <= told <= audit.upper
    assert audit.gap <= 2e-11
    assert audit.verified
    assert (audit.stopped, audit.upper_by, audit.record) == ("gap", "symmetric", 0)
    assert "the uniform prior attains the lower bound" in audit.summary()
    assert audit.plot() is not None
    refuses("3000 x 3000 entries, above the limit", mechanism.matrix)


def test_randomised_response_of_a_browser() -> None:
    mechanism = dl.mechanisms.randomized_response(dl.queries.identity(k=2925), epsilon=14)
    audit = dl.audit(mechanism, entropy=0, unit="bits")
    assert audit.lower <= 11.461727965384876 <= audit.upper
    assert audit.verified
    query = dl.queries.identity(k=2106)
    found = dl.calibrate("randomized_response", query, leakage=6.5, entropy=0, unit="bits", accuracy=1e-6)
    assert found.value <= 8.3669003 == pytest.approx(found.value, rel=1e-6)


def test_the_uniform_prior() -> None:
    prior = dl.audit(dl.mechanisms.symmetric(dl.queries.identity(k=3000), flip=0.5), entropy=0).prior
    assert prior.weights().sum() == pytest.approx(1)
    assert prior.probability([5]) == pytest.approx(1 / 3000)
    assert prior.entropy() == pytest.approx(math.log(3000))
    assert prior.divergence() == 0
    refuses("too many pairs to list", prior.joint)


def test_profiles_and_ledgers_have_the_closed_form() -> None:
    large = dl.mechanisms.symmetric(dl.queries.identity(k=3000), flip=0.5)
    profile = large.profile(entropies=[0.0])
    assert profile.capacity is not None
    assert profile.capacity.lower <= large.capacity() <= profile.capacity.upper
    assert profile.dp_epsilon == pytest.approx(math.log(2999))
    bound = information_bound(large, 1.0, Deadline(1.0))
    assert large.capacity() < bound < large.capacity() + 1e-10


def test_what_needs_the_table_is_refused_with_its_size() -> None:
    large = dl.mechanisms.symmetric(dl.queries.identity(k=3000), flip=0.5)
    with pytest.raises(InputError, match=r"a secret other than the record needs the table .* for 3000 values"):
        dl.audit(large, entropy=0, secret=lambda x: x[0] % 2)
    with pytest.raises(InputError, match="a reference other than the uniform one needs the table"):
        dl.audit(large, knowledge=1, reference=[2 / 3001, *[1 / 3001] * 2999])
    refuses("single answer", dl.mechanisms.symmetric, dl.queries.identity(k=1), flip=0.5)
