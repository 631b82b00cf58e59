"""Figures that others rely on: what was published, or promised, is inside a verified bracket."""

import pytest

import dalenius as dl


@pytest.mark.slow
def test_randomised_response_of_a_thousand_people() -> None:
    mechanism = dl.mechanisms.randomized_response(dl.queries.count(n=1000), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.5, verify=False)
    assert 0.186 <= audit.lower <= audit.upper <= 0.2015
    assert audit.verify().verified


@pytest.mark.parametrize("n", [4, 1000])
def test_independent_records_and_a_noisy_count(n: int) -> None:
    audit = dl.audit(dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=1), adversary="independent")
    assert audit.lower <= 0.110945
    assert audit.upper >= 0.110944
    assert audit.gap < 1e-5
    assert audit.verify().verified
