"""Monotone rows on points: the mixtures they rest on, bounds beside those of written rows, and what is refused."""

import copy
from typing import Any

import numpy as np
import pytest
from large_samples import both

import dalenius as dl
from dalenius.bounds.unwritten_rows import between_points
from dalenius.model.channels.noise import Geometric
from dalenius.settings import only


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        ("geometric(epsilon=0.05)", {"knowledge": 0.3}),
        ("laplace(epsilon=0.1)", {"knowledge": 0.2, "reference": [0.8, 0.2]}),
        ("geometric(epsilon=0.2)", {"knowledge": 0.3, "secret": [0, 1]}),
    ],
)
def test_rows_on_points_bound_what_written_rows_leak(mechanism: str, options: dict[str, Any]) -> None:
    large, dense = both(mechanism, "count(n=60)")
    alone = dl.Settings(portfolio=only("monotone", "formulas"))
    audit = dl.audit(large, **options, settings=alone, verify=False)
    truth = dl.audit(dense, **options, tolerance=1e-4)
    assert audit.upper_by == "monotone"
    assert truth.lower - 1e-9 <= audit.upper <= 1.02 * truth.upper
    answer = dl.verify(audit, large)
    assert answer.verified, answer.reason


@pytest.mark.parametrize("rate", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("step", [1, 2, 3, 8])
def test_rows_are_mixtures_of_those_at_points(rate: float, step: int) -> None:
    places = np.arange(3.0 * step + 1)
    rows = Geometric(rate).rows(places[:, None], places)
    least = 1 - between_points(rate, step)
    for f in range(step + 1):
        left, right = (np.sinh(rate * k) for k in (step - f, f))
        mixture = (left * rows[step] + right * rows[2 * step]) / (left + right)
        assert (rows[step + f] >= least * mixture - 1e-13).all()
    # and so are the columns of rows at points, all with the same weights
    kernel = np.exp(-rate * np.abs(places[::step, None] - places))
    for y in range(step + 1):
        left, right = (np.sinh(rate * k) / np.sinh(rate * step) for k in (step - y, y))
        assert np.allclose(kernel[:, step + y], left * kernel[:, step] + right * kernel[:, 2 * step], rtol=1e-9)


def test_points_that_make_no_sense_are_refused() -> None:
    large, _ = both("geometric(epsilon=0.2)", "count(n=60)")
    alone = dl.Settings(portfolio=only("monotone", "formulas"))
    data = dl.audit(large, knowledge=0.3, settings=alone, verify=False).certificate.data
    for key, value, reason in (
        ("s", 0.0, "s must be above 0"),
        ("step", 0, "the step of"),
        ("step", 7, ""),
        ("first", -1, "the first point"),
        ("rho", [0.0], "fewer than two points"),
        ("beyond", 0.9, "'beyond' of"),
        ("rounds", 0, "exceeds claimed"),
        ("rounds", -1, "rounds of"),
    ):
        forged = copy.deepcopy(data)
        forged["proofs"][0][key] = value
        answer = dl.verify(forged)
        assert not answer.verified
        assert reason in answer.reason
    forged = copy.deepcopy(data)
    forged["problem"]["mechanism"] = "gaussian(sigma=3)"
    assert not dl.verify(forged).verified
