"""Designs that are differentially private as well: limits hold exactly, and both bounds are about such mechanisms."""

import numpy as np
import pytest

import dalenius as dl
from dalenius.designing.ratio_limits import RatioLimits
from dalenius.model.channels.neighbours import dp_epsilon
from dalenius.model.distortion import Distortion
from dalenius.reductions.symmetry import symmetrise

CASES = [
    ({"leakage": 0.05, "knowledge": 0.3}, 0.5),
    ({"leakage": 0.05, "knowledge": 0.3}, 2.0),
    ({"distortion": 0.5, "knowledge": 0.3}, 1.0),
    ({"leakage": 0.02, "adversary": "independent"}, 0.4),
    ({"distortion": 0.55, "adversary": "independent"}, 1.0),
]


@pytest.mark.parametrize(("options", "epsilon"), CASES)
def test_the_limit_is_kept_and_the_bracket_closes(options: dict[str, object], epsilon: float) -> None:
    query = dl.queries.count(n=3)
    design = dl.design(query, max_epsilon=epsilon, **options, tolerance=1e-3, time_limit=20, verify=True)
    assert design.verified
    assert design.gap <= 1e-3
    assert design.mechanism.dp_epsilon() <= epsilon
    free = dl.design(query, **options, tolerance=1e-3, time_limit=20)
    assert free.lower <= design.upper + 1e-9


def test_the_limit_costs_what_geometric_noise_does_at_most() -> None:
    # Without any limit of leakage the best private mechanism is at least as good as geometric noise.
    query, epsilon = dl.queries.count(n=3), 0.7
    design = dl.design(query, leakage=0.7, knowledge=0.1, max_epsilon=epsilon, tolerance=1e-4, time_limit=20)
    noise = dl.mechanisms.geometric(query, epsilon=epsilon).expected_distortion()
    assert noise is not None
    assert design.lower <= noise + 1e-9
    rng = np.random.default_rng(0)
    limits = RatioLimits(symmetrise(Distortion.from_user(query)), epsilon)
    weights, distance = np.exp(query.statistic.log_class_sizes()), query.distance()
    for _ in range(50):
        rows = limits.repaired(rng.dirichlet(np.full(4, 0.5), size=4) + 2 * np.eye(4) * rng.random())
        assert dp_epsilon(query.statistic, rows) <= epsilon
        assert float((weights[:, None] * distance * rows).sum()) >= design.lower - 1e-9


def test_repairs_change_what_keeps_the_limit_by_next_to_nothing() -> None:
    query = dl.queries.count(n=5)
    limits = RatioLimits(symmetrise(Distortion.from_user(query)), 0.5)
    rows = dl.mechanisms.geometric(query, epsilon=0.4).written().rows
    assert limits.repaired(rows) == pytest.approx(rows, abs=1e-9)
    assert dp_epsilon(query.statistic, limits.repaired(np.eye(6))) <= 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"leakage": 0.1, "max_epsilon": 0.0}, "max_epsilon"),
        ({"leakage": 0.1, "max_epsilon": 21.0}, "max_epsilon"),
        ({"distortion": 0.05, "max_epsilon": 0.1}, "with these outputs and this max_epsilon can have"),
        ({"leakage": 0.1, "max_epsilon": 1.0, "method": "paper"}, "an option of the certified method"),
    ],
)
def test_what_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(dl.InputError, match=words):
        dl.design(dl.queries.count(n=2), knowledge=0.5, **options)
