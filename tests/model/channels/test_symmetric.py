"""One record through a symmetric channel that is never written out: everything as with its rows, and closed forms."""

import math

import pytest
from large_samples import both_symmetric
from refusals import refuses

import dalenius as dl
from dalenius.errors import InputError
from dalenius.model.channels.per_record import Symmetric
from dalenius.search.deadline import Deadline
from dalenius.tools.composition import information_bound

CASES = [
    ("symmetric(flip=0.02)", "identity(k=5)"),
    ("symmetric(flip=0.5)", "identity(k=2)"),
    ("symmetric(flip=0)", "identity(k=3)"),
    ("symmetric(flip=1)", "identity(k=4)"),
    ("symmetric(flip=0.7)", "identity(k=50)"),
    ("symmetric(flip=0.98)", "identity(k=50)"),
    ("randomized_response(epsilon=2)", "identity(k=5)"),
    ("randomized_response(epsilon=0.01)", "identity(k=50)"),
]


@pytest.mark.parametrize(("mechanism", "query"), CASES)
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
