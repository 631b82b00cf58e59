"""Designs with constraints: they hold exactly, and both bounds are about the mechanisms that keep them."""

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.designing.linear_limits import LinearLimits
from dalenius.model.channels.neighbours import dp_epsilon
from dalenius.model.distortion import Constraints, Distortion
from dalenius.model.reference import UNIFORM
from dalenius.reductions.symmetry import symmetrise

WIDE = list(range(-2, 6))
CASES = [
    ({"leakage": 0.05, "knowledge": 0.3}, {"max_epsilon": 0.5}),
    ({"leakage": 0.05, "knowledge": 0.3}, {"max_epsilon": 2.0}),
    ({"distortion": 0.5, "knowledge": 0.3}, {"max_epsilon": 1.0}),
    ({"leakage": 0.02, "adversary": "independent"}, {"max_epsilon": 0.4}),
    ({"distortion": 0.55, "adversary": "independent"}, {"max_epsilon": 1.0}),
    ({"leakage": 0.05, "knowledge": 0.3}, {"floor": 0.03}),
    ({"distortion": 0.5, "adversary": "independent"}, {"floor": 0.03, "max_epsilon": 3.0}),
    ({"distortion": 0.5, "knowledge": 0.3}, {"within": 1, "keep_zero": True}),
    ({"distortion": 0.9, "knowledge": 0.3, "outputs": WIDE}, {"unbiased": True, "floor": 0.01}),
    ({"distortion": 0.9, "knowledge": 0.3, "outputs": WIDE}, {"unbiased": True, "max_epsilon": 2.0}),
    ({"leakage": 0.35, "knowledge": 0.3, "outputs": WIDE}, {"unbiased": True, "within": 2}),
    ({"leakage": 0.2, "adversary": "independent", "outputs": WIDE}, {"unbiased": True, "within": 2}),
    ({"distortion": 0.5, "adversary": "independent"}, {"unbiased": True, "keep_zero": True}),
]


@pytest.mark.parametrize(("options", "constraints"), CASES)
def test_constraints_are_kept_and_the_bracket_closes(
    options: dict[str, object], constraints: dict[str, object]
) -> None:
    query = dl.queries.count(n=3)
    design = dl.design(query, **constraints, **options, tolerance=1e-2, time_limit=20, verify=True)
    assert design.verified
    assert design.gap <= 1e-2
    rows = design.mechanism.rows
    errors = np.asarray(options.get("outputs", range(4))) - np.arange(4)[:, None]
    assert design.mechanism.dp_epsilon() <= constraints.get("max_epsilon", np.inf)
    assert rows.min() >= constraints.get("floor", 0.0)
    assert not (rows > 0)[np.abs(errors) > constraints.get("within", np.inf)].any()
    if "keep_zero" in constraints:
        assert rows[0].tolist() == [1.0] + [0.0] * (rows.shape[1] - 1)
    if "unbiased" in constraints:
        assert (rows * errors).sum(axis=1) == pytest.approx(np.zeros(4), abs=1e-8)
    free = dl.design(query, **options, tolerance=1e-2, time_limit=20)
    assert free.lower <= design.upper + 1e-9


def test_the_limit_costs_what_geometric_noise_does_at_most() -> None:
    # Without any limit of leakage the best private mechanism is at least as good as geometric noise.
    query, epsilon = dl.queries.count(n=3), 0.7
    design = dl.design(query, leakage=0.7, knowledge=0.1, max_epsilon=epsilon, tolerance=1e-4, time_limit=20)
    noise = dl.mechanisms.geometric(query, epsilon=epsilon).expected_distortion()
    assert noise is not None
    assert design.lower <= noise + 1e-9
    rng = np.random.default_rng(0)
    limits = LinearLimits(symmetrise(Distortion.from_user(query)), Constraints(max_epsilon=epsilon))
    weights, distance = np.exp(UNIFORM.log_classes(query.statistic)), query.distance()
    inner = limits.inner
    assert inner is not None
    for _ in range(50):
        rows = (rng.dirichlet(np.full(4, 0.5), size=4) + 2 * np.eye(4) * rng.random()) / 3
        rows = limits.repaired(1e-3 * rows / rows.sum(axis=1, keepdims=True) + (1 - 1e-3) * inner)
        assert dp_epsilon(query.statistic, rows) <= epsilon
        assert float((weights[:, None] * distance * rows).sum()) >= design.lower - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_no_mechanism_within_the_constraints_is_below_the_bound(seed: int) -> None:
    # Random mechanisms that keep all constraints, at their own distortion, against the certified line.
    rng = np.random.default_rng(seed)
    query = dl.queries.count(n=2)
    constraints = {"unbiased": True, "within": 2.0, "floor": 0.0}
    outputs = [-1, 0, 1, 2, 3]
    design = dl.design(query, distortion=0.8, knowledge=0.3, outputs=outputs, **constraints, tolerance=1e-3)
    task = Distortion.from_user(query, outputs=outputs)
    kept = Constraints(**constraints)
    limits = LinearLimits(symmetrise(task, constraints=kept), kept)
    inner = limits.inner
    assert inner is not None
    rows = limits.repaired(0.7 * inner + 0.3 * limits.truthful)
    share = rng.random()
    rows = limits.repaired((1 - share) * rows + share * inner)
    distortion = float((np.exp(UNIFORM.log_classes(query.statistic))[:, None] * task.table * rows).sum())
    mechanism = dl.Mechanism.from_matrix(rows[[0, 1, 1, 2]], records=[2, 2])
    audit = dl.audit(mechanism, knowledge=0.3, tolerance=1e-4)
    assert audit.upper >= design.lower_at([distortion])[0] - 1e-9


def test_repairs_change_what_keeps_the_limit_by_next_to_nothing() -> None:
    query = dl.queries.count(n=5)
    limits = LinearLimits(symmetrise(Distortion.from_user(query)), Constraints(max_epsilon=0.5))
    rows = dl.mechanisms.geometric(query, epsilon=0.4).written().rows
    assert limits.repaired(rows) == pytest.approx(rows, abs=1e-9)
    assert dp_epsilon(query.statistic, limits.repaired(np.eye(6))) <= 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"leakage": 0.1, "max_epsilon": 0.0}, "max_epsilon"),
        ({"leakage": 0.1, "max_epsilon": 21.0}, "max_epsilon"),
        ({"distortion": 0.05, "max_epsilon": 0.1}, "with these outputs can have that keeps max_epsilon = 0.1;"),
        ({"leakage": 0.1, "max_epsilon": 1.0, "method": "paper"}, "an option of the certified method"),
        ({"leakage": 0.1, "floor": 0.4}, "floor = 0.4 for each of 3 outputs is 1.2 in every row"),
        ({"leakage": 0.1, "floor": -0.1}, "floor = -0.1"),
        ({"leakage": 0.1, "unbiased": 1}, "unbiased = 1 must be True or False"),
        ({"leakage": 0.1, "floor": 0.1, "within": 1}, "asks for every output in every row, within bars some"),
        ({"leakage": 0.1, "unbiased": True, "outputs": [1, 2]}, "the answer 0 has no outputs for it"),
        ({"leakage": 0.1, "keep_zero": True, "outputs": [1, 2]}, "the answer 0 has no outputs for it"),
        ({"leakage": 0.1, "within": 0.4, "outputs": [0, 2]}, "the answer 1 has no outputs for it"),
        (
            {"leakage": 0.1, "unbiased": True, "max_epsilon": 1.0},
            "no mechanism keeps max_epsilon = 1 and unbiased = True",
        ),
        ({"leakage": 0.1, "unbiased": True}, "below what mechanisms that keep unbiased = True leak: the least is"),
        (
            {"distortion": 0.1, "keep_zero": True, "outputs": [0, 1]},
            "is below 0.25, the least .* that keeps keep_zero = True;",
        ),
    ],
)
def test_what_is_refused(options: dict[str, object], words: str) -> None:
    refuses(words, dl.design, dl.queries.count(n=2), knowledge=0.5, **options)


def test_answers_that_are_no_numbers_have_no_errors() -> None:
    with pytest.raises(dl.InputError, match="unbiased is about answers that are numbers"):
        dl.design(dl.queries.histogram(n=2, k=3), leakage=0.1, knowledge=0.5, unbiased=True)


@pytest.mark.parametrize("against", [{"knowledge": 0.2}, {"adversary": "independent"}])
def test_where_one_mechanism_is_left_its_cost_is_the_bound(against: dict[str, object]) -> None:
    """A count of 0 is told as it is, and no other output is possible for its neighbours, nor for theirs."""
    query = dl.queries.count(n=3)
    design = dl.design(query, leakage=0.2, max_epsilon=1.5, keep_zero=True, **against)  # type: ignore[arg-type]
    assert design.verified
    assert design.lower == pytest.approx(1.5, abs=1e-9)
    assert design.upper == pytest.approx(1.5, abs=1e-9)
