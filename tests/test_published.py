"""Figures that others rely on: what was published, or promised, is inside a verified bracket."""

import pytest

import dalenius as dl


@pytest.mark.slow
def test_randomised_response_of_a_thousand_people() -> None:
    mechanism = dl.mechanisms.randomized_response(dl.queries.count(n=1000), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.5, verify=False)
    assert 0.186 <= audit.lower <= audit.upper <= 0.2015
    assert audit.verify().verified


@pytest.mark.nightly
def test_ages_of_two_hundred_people() -> None:
    mechanism = dl.mechanisms.laplace(dl.queries.total(n=200, values=list(range(101))), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.5, verify=False)
    # A prior of this knowledge that leaks 0.469 nats is known, and none that leaks 0.4707.
    assert audit.lower <= 0.4707
    assert audit.upper >= 0.469
    assert audit.upper < 0.6
    assert audit.verify(time_limit=300).verified
