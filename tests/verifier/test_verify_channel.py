"""Channels and multiplicities rebuilt in balls agree with the gallery's floats."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from flint import arb

from dalenius.errors import InputError
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Histogram
from dalenius.model.statistic import Statistic as FloatStatistic
from dalenius.verifier.forms.counting import Histogram as BallHistogram
from dalenius.verifier.forms.counting import Statistic, Table, classes_are_orbits, rearranged, relabelled
from dalenius.verifier.forms.counting import Sum as BallSum
from dalenius.verifier.forms.reference import log_universe
from dalenius.verifier.forms.written import rebuild
from dalenius.verifier.kernel.balls import float_above, float_below, log_sum_exp, xlogx
from dalenius.verifier.kernel.reading import Refused

pytestmark = pytest.mark.usefixtures("precise")

QUERIES = [
    "modular_sum(n=1, modulus=1)", "modular_sum(n=4, modulus=2)", "modular_sum(n=3, modulus=7)",
    "modular_sum(n=9, modulus=4)",
    "count(n=1)", "count(n=5)", "pairs(n=1)", "pairs(n=4)", "total(n=3, values=[2, -1, 5])", "total(n=2, values=[4])",
    "histogram(n=3, k=3)", "histogram(n=2, k=1)", "histogram(n=1, k=4)", "identity(k=1)", "identity(k=5)",
]  # fmt: skip
MECHANISMS = [
    "symmetric(flip=0)", "symmetric(flip=0.3)", "symmetric(flip=1)",
    "geometric(epsilon=1)", "geometric(epsilon=0.001)", "geometric(epsilon=30.0, sensitivity=2.5)",
    "laplace(epsilon=1)", "laplace(epsilon=0.01, sensitivity=3)", "laplace(epsilon=40)",
    "gaussian(sigma=0.2)", "gaussian(sigma=1.5)", "gaussian(sigma=1000.0)",
    "exponential(epsilon=1)", "exponential(epsilon=20, sensitivity=0.5)", "constant()",
    "randomized_response(epsilon=0.7)",
]  # fmt: skip


def build(query: str, mechanism: str) -> Mechanism | None:
    try:
        return parse_mechanism(mechanism, parse_query(query))
    except InputError:
        return None


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_rows_and_multiplicities_are_those_of_the_gallery(query: str, mechanism: str) -> None:
    floats = build(query, mechanism)
    if floats is None:
        with pytest.raises(Refused):
            rebuild({"query": query, "mechanism": mechanism})
        return
    balls = rebuild(floats.describe())
    rows = np.array([[float(q) for q in balls.rows[r]] for r in balls.row_of])
    assert rows.shape == floats.rows.shape
    assert rows == pytest.approx(floats.rows, abs=1e-12)
    for row in balls.rows:
        assert max(float(q.rad()) for q in row) < 1e-30
        assert sum(row, arb(0)).overlaps(arb(1))
    assert balls.statistic.n == floats.n
    assert float(log_universe(balls.statistic)) == pytest.approx(floats.log_universe, abs=1e-12)
    check_shares(balls.statistic, floats.statistic)


def check_shares(balls: Statistic, floats: FloatStatistic) -> None:
    for record in {0, floats_n(floats) - 1}:
        expected = np.exp(UNIFORM.log_joint(floats, record))
        found = np.zeros_like(expected)
        for a, share in enumerate(balls.shares(record)):
            for t, rho in share.items():
                found[a, t] = float(rho)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)
        assert (found > 0).tolist() == (expected > 0).tolist()


def floats_n(statistic: FloatStatistic) -> int:
    return len(statistic.records)


@pytest.mark.parametrize(
    "query",
    ["count(n=2000)", "modular_sum(n=12000, modulus=3)", "modular_sum(n=20000, modulus=500)",
     "modular_sum(n=700, modulus=900)",
     "total(n=40, values=[0, 3, 7, 50])", "histogram(n=12, k=4)"],
)  # fmt: skip
def test_multiplicities_of_larger_queries(query: str) -> None:
    floats = parse_query(query)
    text = {"query": query, "rows": [[1.0]] * floats.statistic.size}
    check_shares(rebuild(text).statistic, floats.statistic)


def test_two_ways_of_counting_modulo_agree() -> None:
    for n, modulus in ((10_001, 3), (10_002, 64)):
        by_squaring = BallSum(n + 10, (0, 1), modulus).others
        law = {r: arb(0) for r in range(modulus)}
        p = arb(2) ** -(n + 9)
        for j in range(n + 10):
            law[j % modulus] += p
            p = p * (n + 9 - j) / (j + 1)
        assert all(law[r].overlaps(by_squaring[r]) for r in law)
        assert max(float(x.rad()) for x in by_squaring.values()) < 1e-30


def test_tables_count_datasets_per_value_and_class() -> None:
    rng = np.random.default_rng(3)
    matrix = rng.dirichlet(np.ones(3), 12)
    mechanism = Mechanism.from_matrix(matrix, records=[2, 3, 2])
    balls = rebuild(mechanism.describe())
    assert not balls.statistic.interchangeable
    for record in range(3):
        expected = np.exp(UNIFORM.log_joint(mechanism.statistic, record))
        for a, share in enumerate(balls.statistic.shares(record)):
            assert {t: pytest.approx(float(p)) for t, p in share.items()} == {
                t: p for t, p in enumerate(expected[a]) if p > 0
            }


@pytest.mark.parametrize("query", ["modular_sum(n=4, modulus=3)", "total(n=3, values=[4, -1, 2])", "identity(k=4)"])
def test_count_vectors_have_rows_of_their_own(query: str) -> None:
    floats = parse_query(query)
    statistic = Histogram(floats.n, floats.records[0])
    rows = np.random.default_rng(1).dirichlet(np.ones(2), statistic.size).tolist()
    with_query = {"query": query, "statistic": "histogram", "rows": rows}
    with_records = {"records": list(floats.records), "statistic": "histogram", "rows": rows}
    for description in (with_query, with_records, Written(statistic, np.array(rows), (0, 1), floats).describe()):
        channel = rebuild(description)
        assert channel.statistic.interchangeable
        check_shares(channel.statistic, statistic)
    assert query in rebuild(with_query).text
    assert "one row per count vector; channel of" in rebuild(with_records).text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"statistic": "mean"}, "only 'histogram'"),
        ({"statistic": ["histogram"]}, "only 'histogram'"),
        ({"records": [2, 3]}, "same number"),
        ({"records": []}, "one record or more"),
        ({"records": [0, 0]}, "alphabet"),
        ({"records": 2}, "list"),
        ({"records": ["2", "2"]}, "alphabet"),
        ({"records": [[2], [2]]}, "alphabet"),
        ({"records": [2] * 4}, "5 are needed"),
        ({"records": [100] * 100}, "too many"),
        ({"classes": None}, "describe no channel"),
        ({"rows": None}, "list"),
    ],
)
def test_count_vectors_that_make_no_sense_are_refused(change: dict[str, object], words: str) -> None:
    problem: dict[str, object] = {"records": [2, 2], "statistic": "histogram", "rows": [[0.5, 0.5]] * 3}
    rebuild(problem)
    with pytest.raises(Refused, match=words):
        rebuild({**problem, **change})
    for query in ("count(n=100000000)", "identity(k=16000)", "total(n=100, values=[0, 1, 5, 7, 9, 11])"):
        with pytest.raises(Refused, match="too many"):
            rebuild({"query": query, "statistic": "histogram", "rows": [[1.0]]})


def test_classes_are_orbits_where_each_is_one_count_vector_and_for_parities() -> None:
    for statistic in (BallSum(4, (0, 1)), BallSum(1, (3, 1, 2)), BallSum(3, (0, 1), 5), BallSum(2, (0, 1, 3))):
        assert classes_are_orbits(statistic)
    for statistic in (BallSum(4, (0, 1), 2), BallSum(1, (0, 1), 2)):
        assert classes_are_orbits(statistic)
        flips = [int(sum(x) % 2 != sum(1 - v for v in x) % 2) for x in product(range(2), repeat=statistic.n)]
        assert relabelled(statistic, [1, 0]) == ([1, 0] if flips[0] else [0, 1])
        assert len(set(flips)) == 1
    for statistic in (BallSum(4, (0, 3), 2), BallSum(2, (0, 1, 2)), BallSum(3, (0, 1), 3)):
        assert not classes_are_orbits(statistic)
    assert not classes_are_orbits(BallSum(200, tuple(range(300))))


@pytest.mark.parametrize("values", list(permutations(range(3))))
def test_relabelling_takes_the_class_of_a_dataset_to_the_class_of_its_image(values: tuple[int, ...]) -> None:
    for statistic in (BallSum(2, (5, 1, 0)), BallHistogram(2, 3), BallHistogram(3, 3)):
        datasets = list(product(range(3), repeat=statistic.n))
        class_of = dict(zip(datasets, statistic.datasets(), strict=True))
        moved = relabelled(statistic, values)
        for x in datasets:
            assert moved[class_of[x]] == class_of[tuple(values[v] for v in x)]


def test_rearranging_moves_records_with_their_values() -> None:
    table = Table((2, 3, 2), (5, 4, 3, 2, 1, 0, 6, 7, 8, 9, 11, 10), 12)
    records, values = (2, 1, 0), ((1, 0), (2, 0, 1), (0, 1))
    moved = rearranged(table, records, values)
    datasets = list(product(range(2), range(3), range(2)))
    class_of = dict(zip(datasets, table.classes, strict=True))
    for x in datasets:
        image = [0, 0, 0]
        for i, v in enumerate(x):
            image[records[i]] = values[i][v]
        assert moved[class_of[x]] == class_of[tuple(image)]


def test_equal_rows_are_put_together() -> None:
    rows = [[0.5, 0.5], [0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]
    channel = rebuild({"records": [2, 2], "classes": None, "rows": rows})
    assert len(channel.rows) == 2
    cells = channel.cells(channel.statistic.shares(0))
    assert [[float(p) for p in cell.values()] for cell in cells] == [[0.5], [0.25, 0.25]]


def test_rows_are_divided_by_their_exact_sum() -> None:
    for row in ([0.3, 0.7 + 1e-10], [0.1] * 10, [1 / 3] * 3):
        channel = rebuild({"records": [1], "classes": None, "rows": [row]})
        total = sum(map(Fraction, row))
        assert total != 1
        share = Fraction(row[0]) / total
        assert channel.rows[0][0].contains(arb(share.numerator) / share.denominator)
        assert float(channel.rows[0][0].rad()) < 1e-37


@pytest.mark.parametrize("u", [0.0, 1e-300, 0.1, 0.36, 0.3678794, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("radius", [0.0, 1e-20, 0.05, 0.6])
def test_xlogx_encloses(u: float, radius: float) -> None:
    ball = xlogx(arb(u, radius))
    for v in np.linspace(max(0, u - radius), u + radius, 30):
        inside = arb(float(v))
        exact = inside * inside.log() if v > 0 else arb(0)
        assert ball.overlaps(exact)
        assert float_below(ball) <= float(exact) <= float_above(ball)


def test_rounding_is_outward_and_log_sum_exp_is_stable() -> None:
    x = arb(1) / 3
    assert float_below(x) < float_above(x)
    assert arb(float_below(x)) <= x
    assert x <= arb(float_above(x))
    assert float(log_sum_exp([arb(-5000), arb(-5000)])) == pytest.approx(-5000 + np.log(2))
    assert not log_sum_exp([arb.nan(), arb(1)]).is_finite()
    assert not log_sum_exp([arb(1), arb.nan()]).is_finite()
