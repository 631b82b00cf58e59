"""Monotone rows: the theorem on random channels, where the bound is tight, and which orders are found."""

import numpy as np
import pytest
from verdicts import holds

import dalenius as dl
from dalenius.bounds.monotone import Chains, Scan
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Merged, lump
from dalenius.reductions.order import Order, ordered, runs_of
from dalenius.search.ascent import ascend
from dalenius.search.deadline import Deadline
from dalenius.settings import Settings, only

Q, M = dl.queries, dl.mechanisms


def monotone_channel(rows: int, outputs: int, rng: np.random.Generator) -> Floats:
    """A channel whose log ratios grow from row to row by random steps, some of them 0."""
    steps = rng.exponential(1.0, (rows, outputs)) * (rng.random((rows, outputs)) < 0.7)
    log_q = np.cumsum(np.cumsum(steps, axis=0), axis=1) + rng.normal(0, 1, outputs)
    q = np.exp(log_q - log_q.max(axis=1, keepdims=True))
    return np.asarray(q / q.sum(axis=1, keepdims=True))


def chains(rng: np.random.Generator) -> Chains:
    rows, outputs = rng.integers(2, 7, 2)
    q = monotone_channel(rows, outputs, rng)
    rho = np.log(rng.dirichlet(np.full(rows, 0.5)) + 1e-9)
    rho -= np.logaddexp.reduce(rho)
    return Chains(
        q, [np.arange(rows)], [rho], np.log(rng.dirichlet(np.ones(outputs)) + 1e-6), rng.choice([0.1, 0.4, 1.0])
    )


@pytest.mark.parametrize("seed", range(40))
def test_chains_bracket_every_stationary_point_and_the_bound_every_conditional(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = chains(rng)
    q, log_rho, s = found.channel, found.log_rho[0], found.s
    w = rng.dirichlet(np.full(len(q), rng.choice([0.1, 1.0])), size=30)
    settled = w
    for _ in range(3000):
        tilt = log_rho + (np.log(settled @ q) - found.log_r) @ q.T / s
        settled = np.exp(tilt - tilt.max(axis=1, keepdims=True))
        settled /= settled.sum(axis=1, keepdims=True)
    increments = np.diff((np.log(settled @ q) - found.log_r) @ q.T / s, axis=1)
    both = np.concatenate([w, settled])
    u = both @ q
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = np.where(both > 0, both * (np.log(both) - log_rho), 0.0).sum(axis=1)
    g = (u * (np.log(u) - found.log_r)).sum(axis=1) - s * cost
    for _ in range(8):
        up, down = found.increments
        assert (increments <= up + 1e-7).all()
        assert (increments >= down - 1e-7).all()
        assert found.values()[0] >= g.max() - 1e-9
        found.advance()


@pytest.mark.parametrize(("n", "epsilon", "knowledge"), [(6, 1.0, 0.5), (20, 0.3, 0.35), (20, 0.1, 3.0)])
def test_at_the_best_prior_the_bound_is_what_it_leaks(n: int, epsilon: float, knowledge: float) -> None:
    mechanism = M.geometric(Q.count(n=n), epsilon=epsilon)
    cells = Cells(lump(mechanism, 0)[0], knowledge)
    best = ascend(cells, Deadline(20), np.random.default_rng(0))
    order = ordered(mechanism, Merged.of(mechanism))
    assert order is not None
    found = Scan(cells, order, Deadline(20)).run(best.pi, best.s, best.value, 1e-4)
    assert found is not None
    assert best.value - 1e-9 <= found.upper <= best.value + 1e-4


def order_of(mechanism: dl.Mechanism) -> Order | None:
    return ordered(mechanism, Merged.of(mechanism))


def shuffled(seed: int = 0) -> tuple[dl.Mechanism, dl.Mechanism]:
    """A noisy count as a table of numbers, rows and outputs mixed up; and the same with one entry that breaks it."""
    rng = np.random.default_rng(seed)
    rows = M.laplace(Q.count(n=7), epsilon=0.7).written().rows[rng.permutation(8)][:, rng.permutation(8)]
    broken = rows.copy()
    broken[2] = broken[2][::-1]
    return dl.Mechanism.from_matrix(rows, [8]), dl.Mechanism.from_matrix(broken, [8])


def test_orders_are_found_where_there_are_any() -> None:
    right, broken = shuffled()
    found = order_of(right)
    assert found is not None
    assert found.parts is not None
    q = Merged.of(right).channel[found.rows][:, np.argsort(found.parts[0])]
    assert (np.diff(np.diff(np.log(q), axis=1), axis=0) >= -1e-9).all()
    assert order_of(broken) is None
    by_name = order_of(M.gaussian(Q.total(n=3, values=[0, 2, 5]), sigma=2))
    assert by_name is not None
    assert by_name.parts is None
    for mechanism in (
        M.symmetric(Q.modular_sum(n=5, modulus=3), flip=0.3),
        M.symmetric(Q.count(n=4), flip=0.3),
        M.randomized_response(Q.count(n=3), epsilon=1),
    ):
        assert order_of(mechanism) is None


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_a_monotone_table_is_found_from_any_row_and_at_every_size(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = M.laplace(Q.count(n=59), epsilon=0.1).written().rows
    shown = rows[rng.permutation(60)][:, rng.permutation(60)]
    found = order_of(dl.Mechanism.from_matrix(shown, [60]))
    assert found is not None
    assert found.parts is not None
    ascending = shown[found.rows][:, np.argsort(found.parts[0])]
    assert np.allclose(ascending, rows) or np.allclose(ascending, rows[::-1, ::-1])


def test_counts_of_outputs_are_runs_of_one_part() -> None:
    base = M.geometric(Q.count(n=3), epsilon=0.5)
    found = order_of(dl.compose(base, times=3))
    assert found is not None
    assert found.parts is not None
    assert found.often == (3,)
    counts = np.stack([(np.stack(found.parts) == k).sum(axis=0) for k in range(4)], axis=1)
    assert counts.tolist() == [list(label) for label in dl.compose(base, times=3).labels]
    both = order_of(dl.compose(dl.compose(base, times=2), base))
    assert both is not None
    assert both.often == (2, 1)


@pytest.mark.parametrize(
    "labels",
    [
        [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 3)],  # three runs
        [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 1, 1)],  # one is missing
        [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (3, -1, 0)],
        [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 2)],
        [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), "c"],
    ],
)
def test_labels_that_are_not_all_counts_are_no_runs(labels: list[object]) -> None:
    assert runs_of(tuple(labels)) is None


@pytest.mark.parametrize(
    "build",
    [
        lambda: dl.compose(M.geometric(Q.count(n=5), epsilon=0.5), M.laplace(Q.count(n=5), epsilon=0.3)),
        lambda: dl.compose(M.geometric(Q.count(n=5), epsilon=0.5), times=2),
        lambda: dl.compose(
            dl.compose(M.geometric(Q.count(n=4), epsilon=0.5), times=3), M.laplace(Q.count(n=4), epsilon=1)
        ),
        lambda: shuffled()[0],
        lambda: M.exponential(Q.count(n=6), epsilon=1),
        lambda: M.laplace(Q.pairs(n=5), epsilon=0.3),
        lambda: M.gaussian(Q.total(n=4, values=[0, 1, 5]), sigma=3),
    ],
    ids=["two releases", "two runs", "three runs and a release", "mixed up", "exponential", "pairs", "gaussian total"],
)
def test_the_bound_closes_and_its_certificate_verifies(build: object) -> None:
    mechanism = build()
    settings = Settings(portfolio=only("monotone"))
    audit = dl.audit(mechanism, knowledge=0.3, tolerance=1e-3, settings=settings, verify=False)
    assert audit.upper_by == "monotone"
    assert audit.gap <= 1e-3
    other = dl.audit(mechanism, knowledge=0.3, tolerance=1e-3, settings=Settings(portfolio=only("capacity")))
    assert audit.upper >= other.lower
    holds(audit, mechanism)
