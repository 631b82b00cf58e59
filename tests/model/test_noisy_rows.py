"""Epsilon and delta of integer noise on sums: from the law of the noise, at any number of records."""

import math

import pytest

import dalenius as dl
from dalenius.model.channels import neighbours

QUERIES = [
    dl.queries.count(n=1),
    dl.queries.count(n=5),
    dl.queries.total(n=3, values=[0, 3, 7]),
    dl.queries.total(n=3, values=[0, 1, 0]),
    dl.queries.mean(n=3, low=0, high=2),
    dl.queries.pairs(n=4),
]
NOISES = [("geometric", "epsilon", 0.4), ("laplace", "epsilon", 1.3), ("gaussian", "sigma", 1.0)]


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize(("family", "parameter", "value"), NOISES)
def test_closed_forms_are_what_the_rows_say(query: dl.Query, family: str, parameter: str, value: float) -> None:
    mechanism = getattr(dl.mechanisms, family)(query, **{parameter: value})
    rows = mechanism.written().rows
    assert mechanism.dp_epsilon() == pytest.approx(neighbours.dp_epsilon(mechanism.statistic, rows), rel=1e-9)
    for epsilon in (0.0, 0.01, 0.2, 1.0, 2.5):
        listed = neighbours.dp_delta(mechanism.statistic, rows, epsilon)
        assert mechanism.dp_delta(epsilon) == pytest.approx(listed, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("n", [744, 745, 2000, 10**6])
def test_rows_that_underflow_do_not_make_epsilon_infinite(n: int) -> None:
    query = dl.queries.count(n=n)
    assert dl.mechanisms.geometric(query, epsilon=1).dp_epsilon() == pytest.approx(1.0, rel=1e-12)
    assert dl.mechanisms.laplace(query, epsilon=1).dp_epsilon() == pytest.approx(1.0, rel=1e-12)
    assert math.isfinite(dl.mechanisms.gaussian(query, sigma=5).dp_epsilon())
    few = dl.mechanisms.geometric(dl.queries.count(n=50), epsilon=1).dp_delta(0.5)
    assert dl.mechanisms.geometric(query, epsilon=1).dp_delta(0.5) == pytest.approx(few, rel=1e-9)


def test_messages_about_size_name_the_limit_and_no_long_list() -> None:
    values = list(range(1030))
    with pytest.raises(dl.InputError) as caught:
        dl.mechanisms.geometric(dl.queries.total(n=100, values=values), epsilon=1)
    message = str(caught.value)
    assert "values=[0, 1, 2, ..., 1029]" in message
    assert "records of 1030 values; up to 1024 noise on a sum needs no table" in message
    assert "above the limit of 8388608" in message
    with pytest.raises(dl.InputError, match="above the limit of 4194304 numbers to list"):
        dl.queries.histogram(n=300, k=70)
