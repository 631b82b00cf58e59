"""Domains: their classes are orbits, their maps leave the problem alone, and nothing else is tied."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

import dalenius as dl
from dalenius.model.distortion import Distortion
from dalenius.model.query import Query
from dalenius.model.statistic import Histogram, Sum, Table
from dalenius.reductions.symmetry import Domain, beside, symmetrise
from dalenius.settings import DEFAULT


def partly(x: tuple[int, ...]) -> int:
    """Records 0 and 1 are interchangeable, record 2 is not."""
    return x[0] + x[1] + 2 * x[2]


def image(domain: Domain, symmetry: dict[str, list]) -> list[int]:
    """Where a map takes each class, through a dataset of it."""
    statistic = domain.statistic
    n = len(statistic.records)
    to = symmetry.get("records", list(range(n)))
    values = symmetry["values"] if "records" in symmetry else [symmetry["values"]] * n
    found = {}
    for x in product(*map(range, statistic.records)):
        moved = [0] * n
        for i, v in enumerate(x):
            moved[to[i]] = values[i][v]
        c = int(statistic.class_of(x))
        assert found.setdefault(c, int(statistic.class_of(moved))) == int(statistic.class_of(moved))
    return [found[c] for c in range(statistic.size)]


def invariant(domain: Domain) -> None:
    """Every map listed leaves d and P0 alone, and the orbits are those that the maps generate."""
    joined: dict[tuple[int, int], set[tuple[int, int]]] = {}
    size, width = domain.distance.shape
    for symmetry in domain.symmetries:
        to, outputs = image(domain, symmetry), symmetry["outputs"]
        assert sorted(to) == list(range(size))
        assert sorted(outputs) == list(range(width))
        assert (domain.distance[np.ix_(to, outputs)] == domain.distance).all()
        assert domain.weights[to] == pytest.approx(domain.weights, rel=1e-13)
        for c, y in product(range(size), range(width)):
            joined.setdefault((c, y), set()).add((to[c], outputs[y]))
            joined.setdefault((to[c], outputs[y]), set()).add((c, y))
    left, label = set(product(range(size), range(width))), {}
    while left:
        orbit, todo = set(), [min(left)]
        while todo:
            pair = todo.pop()
            if pair not in orbit:
                orbit.add(pair)
                todo += joined.get(pair, ())
        label |= dict.fromkeys(orbit, min(orbit))
        left -= orbit
    pairs = list(label)
    mine = np.array([domain.orbit[pair] for pair in pairs])
    theirs = np.unique([pair[0] * width + pair[1] for pair in label.values()], return_inverse=True)[1]
    assert len(set(zip(mine.tolist(), theirs.tolist(), strict=True))) == len(set(mine.tolist())) == theirs.max() + 1
    assert domain.orbit.max() + 1 == theirs.max() + 1


def domain_of(query: Query, *, symmetric: bool = True, **arguments: object) -> Domain:
    return symmetrise(Distortion.from_user(query, **arguments), symmetric=symmetric)


@pytest.mark.parametrize(
    ("query", "kind", "parameters"),
    [
        (dl.queries.count(n=3), Sum, 8),  # one row per count, tied to its mirror image
        (dl.queries.pairs(n=3), Sum, 16),  # of ones: 0 of them and 1 have the same answer
        (dl.queries.identity(k=3), Sum, 2),  # zero-one: the right answer and the others
        (dl.queries.modular_sum(n=3, modulus=2), Sum, 4),  # the two parities: flipping two bits leads everywhere
        (dl.queries.modular_sum(n=4, modulus=3), Histogram, 15),
        (dl.queries.histogram(n=2, k=2), Histogram, 5),
        (dl.queries.total(n=2, values=[0, 1, 3]), Sum, 6 * 7),
        (dl.queries.function([2, 2, 2], partly), Table, None),
        (dl.queries.function([2, 3], lambda x: x[0] + x[1]), Table, None),
        (dl.queries.function([2, 2, 2], sum), Histogram, 8),  # symmetric, and seen to be
    ],
    ids=str,
)
def test_the_domain_is_the_coarsest_of_its_kind(query: Query, kind: type, parameters: int | None) -> None:
    domain = domain_of(query, measure="zero-one" if query.name == "identity" else "absolute")
    assert isinstance(domain.statistic, kind)
    if isinstance(domain.statistic, Table):
        assert domain.statistic.finest
    elif query.arguments == (("n", 3), ("modulus", 2)):
        assert domain.statistic.size == 2
    else:
        assert domain.statistic.size == math.comb(query.n + query.records[0] - 1, query.records[0] - 1)
    if parameters is not None:
        assert domain.orbit.max() + 1 == parameters
    assert math.fsum(domain.weights.tolist()) == pytest.approx(1, abs=1e-14)
    assert domain.uniform
    invariant(domain)


def test_a_partly_symmetric_function_keeps_its_symmetries() -> None:
    domain = domain_of(dl.queries.function([2, 2, 2], partly))
    assert [1, 0, 2] in [symmetry["records"] for symmetry in domain.symmetries]
    assert [2, 1, 0] not in [symmetry["records"] for symmetry in domain.symmetries]
    assert domain.orbit.max() + 1 < domain.orbit.size / 2


def test_what_has_no_symmetry_is_left_alone() -> None:
    answers = np.random.default_rng(0).permutation(8)
    query = dl.queries.function([2, 2, 2], lambda x: int(answers[4 * x[0] + 2 * x[1] + x[2]] ** 2))
    table = np.random.default_rng(1).random((8, 3))
    domain = domain_of(query, measure=table, outputs=[0, 1, 2])
    assert isinstance(domain.statistic, Table)
    assert domain.symmetries == ()
    assert domain.orbit.size == domain.orbit.max() + 1 == 24


def test_the_two_parities_need_data_that_do_not_tell_them_further_apart() -> None:
    query = dl.queries.modular_sum(n=3, modulus=2)
    assert domain_of(query, p0=[0.3, 0.7]).weights.tolist() == [0.3, 0.7]
    skewed = domain_of(query, p0=[[0.25, 0.75]] * 3)
    assert isinstance(skewed.statistic, Histogram)
    assert isinstance(domain_of(query, p0=np.arange(8) / 28).statistic, Table)
    large = domain_of(dl.queries.modular_sum(n=10**5, modulus=2))
    assert large.weights == pytest.approx([0.5, 0.5], abs=1e-9)
    assert domain_of(dl.queries.modular_sum(n=3, modulus=4)).statistic.size == 4


def test_data_break_symmetries() -> None:
    query = dl.queries.function([2, 2], lambda x: x[0] ^ x[1])
    free = domain_of(query)
    skewed = domain_of(query, p0=[[0.25, 0.75]] * 2)
    unlike = domain_of(query, p0=[[0.25, 0.75], [0.5, 0.5]])
    assert len(skewed.symmetries) < len(free.symmetries)
    assert isinstance(skewed.statistic, Histogram)
    assert isinstance(unlike.statistic, Table)
    for domain in (free, skewed, unlike):
        invariant(domain)
    assert not skewed.uniform
    assert not unlike.uniform


def test_the_same_data_in_every_form_give_the_same_domain() -> None:
    query = dl.queries.count(n=3)
    marginal = [0.25, 0.75]  # products of these are exact
    joint = np.array([math.prod(marginal[v] for v in x) for x in product(range(2), repeat=3)])
    by_class = [math.comb(3, t) * 0.75**t * 0.25 ** (3 - t) for t in range(4)]
    domains = [domain_of(query, p0=p0) for p0 in (joint, by_class, [marginal] * 3)]
    for domain in domains:
        assert isinstance(domain.statistic, Sum)
        assert domain.weights == pytest.approx(by_class, rel=1e-13)
        assert (domain.orbit == domains[0].orbit).all()
    even = [domain_of(query, p0=p0) for p0 in (None, "uniform", [0.125] * 8, [[0.5, 0.5]] * 3)]
    for domain in even:
        assert domain.weights == pytest.approx([1 / 8, 3 / 8, 3 / 8, 1 / 8], rel=1e-13)
    assert [domain.uniform for domain in even] == [True, True, False, False]


@settings(max_examples=25)
@given(
    st.sampled_from([(2, 2), (3, 3), (2, 3), (2, 2, 2), (4,), (1, 2)]),
    st.integers(0, 10**6),
    st.sampled_from([None, "datasets", "marginals", "equal"]),
)
def test_every_map_of_random_problems_leaves_them_alone(records: tuple[int, ...], seed: int, kind: str | None) -> None:
    rng = np.random.default_rng(seed)
    answers = rng.integers(0, 3, size=math.prod(records))
    cube = answers.reshape(records)
    query = dl.queries.function(records, lambda x: int(cube[tuple(x)]))
    table = rng.integers(0, 2, size=(query.statistic.size, 3)).astype(float)
    quarters = [rng.permutation([0.25] * min(k, 4) + [0.0] * (k - min(k, 4))) for k in records]
    p0 = {
        None: None,
        "datasets": rng.permutation([0.5, *[0.5 / (answers.size - 1)] * (answers.size - 1)]),
        "marginals": [(q / q.sum()).tolist() for q in quarters],
        "equal": [[1 / k] * k for k in records],
    }[kind]
    domain = domain_of(query, measure=table, outputs=[0, 1, 2], p0=p0)
    invariant(domain)
    # The average over orbits is a mechanism of the same expected distortion, and averaging again changes nothing.
    rows = rng.dirichlet(np.ones(3), size=domain.statistic.size)
    mean = domain.averaged(rows)
    assert mean.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert (domain.cost * mean).sum() == pytest.approx((domain.cost * rows).sum(), abs=1e-12)
    assert domain.averaged(mean) == pytest.approx(mean, abs=1e-15)
    for symmetry in domain.symmetries:
        assert (mean[np.ix_(image(domain, symmetry), symmetry["outputs"])] == mean).all()


@pytest.mark.parametrize(
    "query",
    [
        dl.queries.count(n=200),
        dl.queries.modular_sum(n=10**5, modulus=3),
        dl.queries.histogram(n=20, k=4),
        dl.queries.function([200, 200], lambda x: int(x[0] < x[1])),
    ],
    ids=["count", "sum mod 3", "histogram", "function"],
)
def test_what_is_too_large_is_refused_with_the_limit(query: Query) -> None:
    refuses(f"above the limit of {DEFAULT.limits.design_pairs}", domain_of, query)


@pytest.mark.parametrize(
    ("asked", "before"),
    [
        (dl.queries.count(n=3), "count"),
        (dl.queries.modular_sum(n=3, modulus=2), "count"),
        (dl.queries.modular_sum(n=3, modulus=2), "parity"),
        (dl.queries.count(n=3), "parity"),
        (dl.queries.count(n=3), "matrix"),
    ],
    ids=str,
)
def test_a_domain_beside_earlier_releases_carries_them(asked: Query, before: str) -> None:
    rng = np.random.default_rng(3)
    first = {
        "count": dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=0.5),
        "parity": dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=2), flip=0.2),
        "matrix": dl.Mechanism.from_matrix(rng.dirichlet(np.ones(3), 8), records=[2, 2, 2]),
    }[before].written()
    domain = beside(Distortion.from_user(asked, "absolute", None, None), first)
    assert domain.first is not None
    classes = domain.statistic.class_table()
    assert np.allclose(domain.first[classes], first.matrix(), rtol=1e-15)
    assert np.array_equal(domain.orbit.ravel(), np.arange(domain.distance.size))
    rows = rng.dirichlet(np.ones(domain.distance.shape[1]), domain.statistic.size)
    second = dl.Mechanism.from_matrix(rows[classes], records=[2, 2, 2])
    assert np.allclose(domain.joint(rows)[classes], dl.compose(first, second).matrix(), rtol=1e-14)
