from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import accumulate, count
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import arb
from refusals import refuses
from scipy.stats import chisquare

import dalenius as dl
from dalenius.errors import InputError
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.channels.per_record import PerRecord
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.tools import exact_sampling
from dalenius.verifier.forms import named, written
from dalenius.verifier.kernel.balls import precision

FINE = 400  # bits of the balls that truths are taken from
NUMERIC = [
    ("count(n=4)", "geometric(epsilon=1)", [1, 0, 1, 1]),
    ("count(n=4)", "geometric(epsilon=0.001, sensitivity=3)", [0, 0, 0, 0]),
    ("modular_sum(n=3, modulus=3)", "laplace(epsilon=0.7)", [1, 1, 1]),
    ("pairs(n=4)", "gaussian(sigma=1.3)", [1, 1, 1, 0]),
    ("total(n=2, values=[-2, 3])", "exponential(epsilon=2.5)", [0, 1]),
    ("histogram(n=3, k=3)", "exponential(epsilon=1.5)", [0, 2, 2]),
    ("identity(k=3)", "exponential(epsilon=1.5, sensitivity=0.7)", [1]),
    ("mean(n=3, low=2, high=4)", "exponential(epsilon=1.5, sensitivity=0.7)", [0, 1, 2]),
    ("mean(n=3, low=2, high=4)", "laplace(scale=0.6)", [0, 1, 2]),
    ("weighted_sum(weights=[1, 4, -2])", "geometric(scale=2.0)", [0, 1, 1]),
    ("count(n=4)", "discrete_gaussian(sigma=1.1, clamp=True)", [0, 1, 0, 0]),
    ("histogram(n=3, k=3)", "noisy_max(epsilon=1.2)", [0, 2, 2]),
    ("count(n=3)", "random_rounding(base=3)", [0, 1, 0]),
    ("count(n=3)", "subsampled(rate=0.3)", [1, 1, 1]),
    ("count(n=3)", "shuffled_response(epsilon=1)", [0, 1, 0]),
    ("count(n=1)", "cell_key(table=[[0, 0, 0.1], [0, 1, 0.9], [1, 0, 0.2], [1, -1, 0.8]])", [1]),
]
OTHERS = [
    ("histogram(n=2, k=2)", "geometric(epsilon=1)", [0, 1]),
    ("histogram(n=2, k=2)", "gaussian(sigma=0.8)", [1, 1]),
    ("histogram(n=2, k=2)", "symmetric(flip=0.3)", [1, 0]),
    ("identity(k=5)", "symmetric(flip=0.7)", [4]),
    ("count(n=2)", "randomized_response(epsilon=0.5)", [0, 1]),
    ("identity(k=3)", "randomized_response(epsilon=1.5)", [1]),
    ("histogram(n=3, k=3)", "noisy_max(epsilon=1.2, noise='permute_and_flip')", [0, 2, 2]),
]


def _mechanism(query: str, mechanism: str) -> Mechanism:
    return parse_mechanism(mechanism, parse_query(query))


def _certified(mechanism: Mechanism, dataset: list[int]) -> list[Any]:
    """The row of the dataset, rebuilt by the verifier from what a certificate would say."""
    rebuilt = written.rebuild(mechanism.describe())
    return rebuilt.rows[rebuilt.row_of[int(mechanism.statistic.class_of(dataset))]]


def _fraction(ball: Any) -> Fraction:
    """The middle of a ball."""
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _bits_of(u: Fraction) -> Callable[[int], int]:
    """A source whose bits are those of u."""
    rest = u

    def randbits(k: int) -> int:
        nonlocal rest
        rest *= 2**k
        bits = int(rest)
        rest -= bits
        return bits

    return randbits


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Random(20)
    monkeypatch.setattr(exact_sampling, "randbits", source.getrandbits)
    monkeypatch.setattr(exact_sampling, "randbelow", source.randrange)


@pytest.mark.parametrize(("query", "mechanism", "dataset"), NUMERIC)
def test_named_rows_are_inverted_at_every_edge(
    query: str, mechanism: str, dataset: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """U on either side of an edge by 2^-300 falls on either side: no 2^-k is lost for any k below that."""
    drawn_from = _mechanism(query, mechanism)
    with precision(FINE):
        sums = list(accumulate(_certified(drawn_from, dataset)))
        edges = [_fraction(c) for c in sums[:-1]]
    for j, edge in enumerate(edges):
        for u, column in ((edge - Fraction(2) ** -300, j), (edge + Fraction(2) ** -300, j + 1)):
            monkeypatch.setattr(exact_sampling, "randbits", _bits_of(u))
            assert drawn_from.sample(dataset, secure=True).tolist() == [drawn_from.labels[column]]
            # Three bits at a time: the bits of U are asked for a hundred times.
            monkeypatch.setattr(exact_sampling, "randbits", _bits_of(u))
            assert exact_sampling.least(len(sums), lambda k, _: sums[k], step=3) == column


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize(("query", "mechanism", "dataset"), NUMERIC + OTHERS)
def test_named_samples_follow_the_verifiers_row(query: str, mechanism: str, dataset: list[int]) -> None:
    drawn_from = _mechanism(query, mechanism)
    law = np.array([float(q) for q in _certified(drawn_from, dataset)])
    met = Counter(drawn_from.sample(dataset, size=3000, secure=True).tolist())
    assert set(met) <= set(drawn_from.labels)
    assert chisquare([met[label] for label in drawn_from.labels], 3000 * law / law.sum()).pvalue > 1e-3


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("mechanism", ["constant()", "symmetric(flip=0)", "geometric(epsilon=900)"])
def test_no_noise(mechanism: str) -> None:
    quiet = _mechanism("count(n=3)", mechanism)
    expected = 1 if mechanism == "constant()" else 2
    assert set(quiet.sample([1, 0, 1], size=50, secure=True).tolist()) == {expected}
    assert set(_mechanism("total(n=2, values=[5])", mechanism).sample([0, 0], size=5, secure=True)) == {10}


def test_rows_are_drawn_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every r below the sum, once."""
    mechanism = Mechanism.from_rows(dl.queries.count(n=1), [[0.125, 0, 0.375, 0.5], [0, 0.25, 0.75, 0]], labels="abcd")
    asked = []

    def in_turn(numbers: Iterator[int]) -> Callable[[int], int]:
        def randbelow(total: int) -> int:
            asked.append(total)
            return next(numbers)

        return randbelow

    for dataset, total, expected in (([0], 8, {"a": 1, "c": 3, "d": 4}), ([1], 4, {"b": 1, "c": 3})):
        monkeypatch.setattr(exact_sampling, "randbelow", in_turn(count()))
        assert Counter(mechanism.sample(dataset, size=total, secure=True).tolist()) == expected
        assert set(asked) == {total}
        asked.clear()


@pytest.mark.parametrize("row", [[0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3 + 5e-10], [5e-324, 0.25, 0.75], [1e-300, 0, 1]])
def test_edges_of_rows_are_those_of_the_certified_channel(row: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Mechanism.from_matrix([row], [1])
    exact = [Fraction(q) / sum(map(Fraction, row)) for q in row]
    with precision(1200):
        certified = _certified(mechanism, [0])
        assert all(q.contains(arb(p.numerator) / p.denominator) for p, q in zip(exact, certified, strict=True))
    for j, (p, edge) in enumerate(zip(exact, accumulate(exact), strict=True)):
        if p == 0:
            continue
        for inside in (lambda n, e=edge: int(e * n) - 1, lambda n, e=edge, p=p: int((e - p) * n)):  # last and first
            monkeypatch.setattr(exact_sampling, "randbelow", inside)
            assert mechanism.sample([0], secure=True).tolist() == [j]


@pytest.mark.usefixtures("seeded")
def test_a_query_without_a_name_is_drawn_by_its_rows() -> None:
    mechanism = dl.mechanisms.symmetric(dl.queries.function([2, 2], lambda x: "ab"[max(x)]), flip=0.25)
    assert not mechanism.by_formula
    met = Counter(mechanism.sample([0, 0], size=2000, secure=True).tolist())
    assert chisquare([met["a"], met["b"]], [1500, 500]).pvalue > 1e-3


@pytest.mark.parametrize("mechanism", ["geometric(epsilon=0.01)", "laplace(epsilon=0.5)", "gaussian(sigma=30.0)"])
def test_noise_that_is_never_written_out(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    large = _mechanism("count(n=10000)", mechanism)
    assert isinstance(large, NoisySum)
    dataset = np.repeat([1, 0], [4000, 6000])
    with precision(FINE):
        noise = named.added(mechanism, named.query("count(n=10000)"))
        tails = {k: _fraction(noise.tail(k)) for k in (1, 2, 30, 400)}
    for k, tail in tails.items():
        little = tail / 2**200
        for u, output in (
            (tail - little, 4000 - k),
            (tail + little, 4001 - k),
            (1 - tail - little, 3999 + k),
            (1 - tail + little, 4000 + k),
        ):
            monkeypatch.setattr(exact_sampling, "randbits", _bits_of(u))
            assert large.sample(dataset, secure=True).tolist() == [output]


def test_what_is_refused() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1)
    with pytest.raises(InputError, match="rng = 3 with secure=True, whose bits come from the operating system"):
        mechanism.sample([0, 1], rng=3, secure=True)
    refuses("size = -1 is too small", mechanism.sample, [0, 1], size=-1, secure=True)
    real = dl.mechanisms.laplace(dl.queries.count(n=2), epsilon=1, output="real")
    refuses(r"last bits of a float may reveal .* leave output='real' out", real.sample, [0, 1], secure=True)
    for name in ("geometric", "exponential", "randomized_response"):  # the verifier takes no integer above 2^53
        huge = getattr(dl.mechanisms, name)(dl.queries.count(n=2), epsilon=2**60)
        refuses("but the verifier refuses it: epsilon must be a finite number", huge.sample, [0, 1], secure=True)


def test_bits_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither numpy's nor random's state matters, and the whole source is `secrets`."""
    asked = []

    def urandom(n: int) -> bytes:
        asked.append(n)
        return b"\0" * n

    monkeypatch.setattr("random._urandom", urandom)
    assert dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1).sample([1, 1], 3, secure=True).tolist() == [0] * 3
    assert asked == [8] * 3
    assert Mechanism.from_matrix([[0.5, 0.5]], [1]).sample([0], secure=True).tolist() == [0]


def test_studies_keep_their_seeds() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1)
    expected = np.random.default_rng(3).choice(3, size=20, p=mechanism.rows[1])
    assert mechanism.sample([0, 1], 20, 3).tolist() == expected.tolist()


def test_every_family_is_tried_here() -> None:
    """One that exact_sampling does not know would be drawn by its rows of floats."""
    tried = {named.call(mechanism, named.MECHANISMS, "")[0] for _, mechanism, _ in NUMERIC + OTHERS}
    without_chance = {"constant", "exact", "rounding", "suppressed"}
    by_record = {"unary_encoding", "hadamard_response", "subset_selection"}
    assert tried | without_chance | by_record == set(named.MECHANISMS)


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize(
    ("query", "mechanism", "dataset"),
    [
        ("histogram(n=2, k=2)", "unary_encoding(epsilon=1)", [1, 0]),
        ("count(n=13)", "randomized_response(epsilon=1)", [1] * 13),
    ],
)
def test_records_that_have_their_own_channel_follow_it(query: str, mechanism: str, dataset: list[int]) -> None:
    """All outputs of two records; of more, the output of the first, and how many are kept."""
    local = _mechanism(query, mechanism)
    assert isinstance(local, PerRecord)
    drawn = [label.split(",") for label in local.sample(dataset, size=2000, secure=True).tolist()]
    for i in (0, len(dataset) - 1):
        met = Counter(y[i] for y in drawn)
        assert chisquare([met[y] for y in local.parts], 2000 * local.rows[dataset[i]]).pvalue > 1e-3
    both = Counter((y[0], y[-1]) for y in drawn)
    chances = [p * q for p in local.rows[dataset[0]] for q in local.rows[dataset[-1]]]
    pairs = [(y, z) for y in local.parts for z in local.parts]
    assert chisquare([both[pair] for pair in pairs], 2000 * np.array(chances)).pvalue > 1e-3
