"""Brackets on the capacity: closed forms, a plain Blahut-Arimoto iteration beside them, and what must not change it."""

import math

import numpy as np
import pytest
from cases import random_channel
from kinds import Floats

from dalenius.bounds.capacity import capacity
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.numerics.information import entropy, mutual_information
from dalenius.search.deadline import Deadline


def channel(rows: list[list[float]] | Floats) -> Mechanism:
    return Mechanism.from_matrix(rows, [len(rows)])


def slow_capacity(rows: Floats, rounds: int = 20_000) -> tuple[float, float]:
    """The textbook's iteration and its two bounds, in plain numpy."""
    p = np.full(len(rows), 1 / len(rows))
    for _ in range(rounds):
        with np.errstate(divide="ignore", invalid="ignore"):
            d = np.where(rows > 0, rows * np.log(rows / (p @ rows)), 0.0).sum(axis=1)
        if d.max() - p @ d < 1e-13:
            break
        p = p * np.exp(d - d.max())
        p /= p.sum()
    return float(p @ d), float(d.max())


def z_channel(p: float) -> tuple[Mechanism, float]:
    return channel([[1, 0], [p, 1 - p]]), math.log(1 + (1 - p) * p ** (p / (1 - p)))


def erasure(k: int, share: float) -> tuple[Mechanism, float]:
    rows = np.hstack([(1 - share) * np.eye(k), np.full((k, 1), share)])
    return channel(rows), (1 - share) * math.log(k)


CLOSED_FORMS = [
    *((channel([[1 - p, p], [p, 1 - p]]), math.log(2) - float(entropy([p, 1 - p]))) for p in (0.0, 0.01, 0.3, 0.4999)),
    *(z_channel(p) for p in (0.01, 0.3, 0.5, 0.9)),
    *(erasure(k, share) for k, share in ((2, 0.5), (5, 0.1))),
    (channel(np.eye(7)), math.log(7)),
    (channel([[0.2, 0.3, 0.5]] * 4), 0.0),
    (channel([[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5], [0.5, 0, 0, 0.5]]), math.log(2)),
    (channel([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.4, 0.3, 0.3]]), math.log(3)),  # the last row is of no use
    (mechanisms.symmetric(queries.modular_sum(n=10**6, modulus=2), flip=0.3), math.log(2) - float(entropy([0.3, 0.7]))),
    (mechanisms.symmetric(queries.count(n=9), flip=0), math.log(10)),
    (mechanisms.symmetric(queries.total(n=3, values=[2]), flip=0), 0.0),
    (mechanisms.symmetric(queries.identity(k=6), flip=0.4), math.log(6) - float(entropy([0.6, *[0.08] * 5]))),
    (
        mechanisms.randomized_response(queries.count(n=3), epsilon=1),
        3 * (math.log(2) - float(entropy([1 / (1 + math.e), math.e / (1 + math.e)]))),
    ),
]


@pytest.mark.parametrize(("mechanism", "value"), CLOSED_FORMS, ids=lambda x: repr(x)[:60])
def test_closed_forms_lie_in_the_bracket(mechanism: Mechanism, value: float) -> None:
    found = capacity(mechanism)
    assert found.lower <= value <= found.upper
    assert found.gap <= 1e-9


@pytest.mark.parametrize(
    "mechanism",
    [
        *(random_channel([k], outputs, 300 + k) for k, outputs in ((2, 5), (9, 4), (4, 9), (30, 6))),
        mechanisms.geometric(queries.count(n=12), epsilon=1),
        mechanisms.gaussian(queries.count(n=20), sigma=4),
        mechanisms.exponential(queries.pairs(n=6), epsilon=2),
        channel(0.999 * np.full((4, 3), 1 / 3) + 0.001 * np.random.default_rng(1).dirichlet(np.ones(3), size=4)),
    ],
    ids=repr,
)
def test_it_agrees_with_the_textbook_iteration(mechanism: Mechanism) -> None:
    low, high = slow_capacity(mechanism.rows)
    found = capacity(mechanism)
    assert found.gap <= 1e-9
    assert found.lower <= high + 1e-12
    assert found.upper >= low - 1e-12


@pytest.mark.parametrize("seed", range(30))
def test_every_random_channel_closes_however_degenerate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, outputs = rng.integers(1, 25, size=2)
    rows = rng.dirichlet(np.full(outputs, [0.003, 0.05, 0.3, 1.0][seed % 4]), size=k)
    if seed % 3 == 0:
        rows = np.abs(rows[:1] * 0.9999 + rows * 1e-4)  # nearly nothing gets through
    if seed % 5 == 0:
        rows[-1] = rows[: max(1, k // 2)].mean(axis=0)  # a row that can never help
    if seed % 7 == 0:
        rows = rows**4 * 1e-200
        rows[:, 0] = 1
    found = capacity(channel(rows / rows.sum(axis=1, keepdims=True)), tolerance=1e-10)
    assert 0 <= found.lower <= found.upper
    # Rounding ends some of these searches, at up to 1.7e-10 on one kind of processor.
    assert found.gap <= 1e-9
    assert found.upper <= math.log(min(k, outputs)) + 1e-15


def test_the_prior_attains_the_lower_bound() -> None:
    for mechanism in (random_channel([3, 3], 4, 5), mechanisms.geometric(queries.count(n=5), epsilon=1)):
        found = capacity(mechanism)
        assert found.prior.sum() == pytest.approx(1, abs=1e-12)
        assert (found.prior >= 0).all()
        attained = float(mutual_information(found.prior[:, None] * mechanism.rows))
        assert attained == pytest.approx(found.lower, abs=1e-11)
        assert attained >= found.lower


def test_order_names_and_copies_of_rows_and_outputs_change_nothing() -> None:
    rng = np.random.default_rng(4)
    rows = rng.dirichlet(np.ones(5), size=6)
    found = capacity(channel(rows))
    split = np.hstack([rows[:, :4], 0.25 * rows[:, 4:], 0.75 * rows[:, 4:], np.zeros((6, 1))])
    for other in (rows[rng.permutation(6)][:, rng.permutation(5)], np.vstack([rows, rows[2:4]]), split):
        same = capacity(channel(other))
        assert max(same.lower, found.lower) <= min(same.upper, found.upper)
        assert same.gap <= 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_what_is_done_to_the_output_never_adds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, after = rng.dirichlet(np.ones(4), size=5), rng.dirichlet(np.ones(3), size=4)
    assert capacity(channel(rows @ after)).upper <= capacity(channel(rows)).lower
    assert capacity(channel(rows[:4])).lower <= capacity(channel(rows)).upper  # nor do fewer inputs


def test_no_time_still_gives_a_true_bracket() -> None:
    mechanism = mechanisms.geometric(queries.count(n=30), epsilon=1)
    hurried, done = capacity(mechanism, Deadline(0.0)), capacity(mechanism)
    assert hurried.lower < done.lower <= done.upper < hurried.upper
