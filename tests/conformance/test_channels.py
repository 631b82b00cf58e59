"""Every channel keeps the same laws, whatever its structure: a table of channels, and one test for each law.

A channel of finitely many outputs stands here twice at most: as the gallery builds it, and without its rows, as it is
where they are too many. Both are compared with the rows that the verifier rebuilds in balls from the description, and
with definitions that list every dataset.
"""

import math
import pickle
from collections.abc import Callable
from inspect import isabstract
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from kinds import Floats
from large_samples import both, both_histograms, both_local, both_symmetric
from refusals import refuses

import dalenius as dl
from dalenius.errors import InputError
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.per_record import SomeRecords
from dalenius.model.channels.written import Written
from dalenius.model.gallery.families import FAMILIES
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Blocks, Histogram, Sum
from dalenius.numerics.information import mutual_information
from dalenius.verifier.forms.written import rebuild


def named(mechanism: str, query: str) -> Callable[[], dl.Mechanism]:
    """A mechanism as the gallery builds it."""
    return lambda: parse_mechanism(mechanism, parse_query(query))


ROWS = [[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.1, 0.9]]
# Channels with rows: call strings, or how they are made.
CALLS = [
    ("symmetric(flip=0.3)", "modular_sum(n=3, modulus=2)"),
    ("symmetric(flip=0.4)", "identity(k=4, names=['a', 'b', 'c', 'd'])"),
    ("geometric(epsilon=0.7)", "count(n=4)"),
    ("geometric(epsilon=2, sensitivity=3)", "count(n=1)"),
    ("geometric(epsilon=1)", "total(n=3, values=[5])"),
    ("geometric(epsilon=0.01)", "count(n=7)"),
    ("geometric(scale=2.0, clamp=False)", "count(n=3)"),
    ("geometric(epsilon=1)", "modular_sum(n=3, modulus=3)"),
    ("geometric(epsilon=1)", "mean(n=3, low=0, high=2)"),
    ("geometric(epsilon=1)", "weighted_sum(weights=[2, 1, 1])"),
    ("laplace(epsilon=0.5)", "total(n=3, values=[-3, 0, 4])"),
    ("laplace(epsilon=1.3)", "total(n=3, values=[0, 1, 0])"),
    ("laplace(scale=2.0, clamp=False)", "count(n=3)"),
    ("laplace(scale=2.0, clamp=False)", "mean(n=2, low=-1, high=1)"),
    ("gaussian(sigma=1.5)", "pairs(n=4)"),
    ("gaussian(sigma=0.7)", "count(n=3)"),
    ("discrete_gaussian(sigma=1.3)", "count(n=3)"),
    ("discrete_gaussian(sigma=1.3, clamp=True)", "count(n=3)"),
    ("geometric(epsilon=1)", "histogram(n=3, k=3)"),
    ("gaussian(sigma=1.5)", "table(n=2, shape=[2, 2])"),
    ("gaussian(sigma=2)", "histogram(n=3, k=1)"),
    ("exponential(epsilon=1)", "count(n=3)"),
    ("exponential(epsilon=2)", "histogram(n=2, k=2)"),
    ("noisy_max(epsilon=1.4)", "histogram(n=3, k=3)"),
    ("noisy_max(epsilon=1.4, noise='permute_and_flip')", "histogram(n=3, k=2)"),
    ("randomized_response(epsilon=1)", "count(n=3)"),
    ("randomized_response(epsilon=0.4)", "histogram(n=2, k=3)"),
    ("constant()", "count(n=3)"),
    ("exact()", "count(n=3)"),
    ("rounding(base=2)", "count(n=4)"),
    ("rounding(base=3, midpoint=True, mechanism='geometric(epsilon=1)')", "count(n=3)"),
    ("random_rounding(base=3)", "histogram(n=2, k=2)"),
    ("cell_key(table=[[0, 0, 1.0], [1, -1, 0.25], [1, 0, 0.5], [1, 1, 0.25]])", "count(n=3)"),
    ("suppressed(below=2)", "histogram(n=3, k=2)"),
    ("suppressed(below=2, keep_zero=False, mechanism='rounding(base=2)')", "count(n=4)"),
    ("subsampled(rate=0.3)", "count(n=3)"),
    ("subsampled(rate=0.3, mechanism='geometric(epsilon=1)')", "count(n=3)"),
    ("shuffled_response(epsilon=1)", "histogram(n=2, k=3)"),
]
MADE: dict[str, Callable[[], dl.Mechanism]] = {
    "noise on a function": lambda: dl.mechanisms.geometric(dl.queries.function([2, 3], sum), epsilon=1),
    "flips of a function": lambda: dl.mechanisms.symmetric(dl.queries.function([2, 2], max), flip=0.25),
    "a matrix": lambda: dl.Mechanism.from_matrix(ROWS, records=[2, 2], labels=["no", "yes"]),
    "rows of a query": lambda: dl.Mechanism.from_rows(dl.queries.count(n=3), ROWS),
    "a joint release": lambda: dl.compose(
        dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1),
        dl.mechanisms.symmetric(dl.queries.modular_sum(n=2, modulus=2), flip=0.2),
    ),
    "rows per count vector": lambda: Written(Histogram(3, 2), ROWS, (0, 0.5)),
    "rows of runs": lambda: Written(Blocks(Sum(3, (0, 1)), (0, 1, 3)), ROWS[:3], (0, 1), dl.queries.count(n=3)),
    "outputs processed": lambda: dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1).then(lambda y: y > 1),
}
WRITTEN = {f"{mechanism} of {query}": named(mechanism, query) for mechanism, query in CALLS} | MADE
# The same without rows, as they are where there are too many.
MAKERS = {
    both: [
        ("geometric(epsilon=0.7)", "count(n=12)"),
        ("geometric(epsilon=2)", "total(n=4, values=[-3, 0, 4])"),
        ("geometric(scale=2.0, clamp=False)", "count(n=5)"),
        ("laplace(epsilon=0.3)", "count(n=9)"),
        ("laplace(epsilon=3)", "pairs(n=7)"),
        ("laplace(scale=2.0, clamp=False)", "count(n=2)"),
        ("gaussian(sigma=1.5)", "mean(n=3, low=0, high=2)"),
        ("gaussian(sigma=40)", "total(n=4, values=[0, 1, 7])"),
        ("discrete_gaussian(sigma=3)", "count(n=4)"),
    ],
    both_histograms: [
        ("geometric(epsilon=1)", "histogram(n=4, k=3)"),
        ("laplace(epsilon=0.8)", "histogram(n=6, k=2)"),
        ("gaussian(sigma=1.5)", "histogram(n=3, k=4)"),
        ("geometric(epsilon=0.3)", "histogram(n=1, k=3)"),
    ],
    both_local: [
        ("randomized_response(epsilon=1)", "count(n=4)"),
        ("randomized_response(epsilon=0.4)", "histogram(n=3, k=3)"),
        ("unary_encoding(epsilon=1.5)", "histogram(n=2, k=3)"),
        ("unary_encoding(epsilon=1.5, optimised=True)", "histogram(n=2, k=2)"),
        ("hadamard_response(epsilon=1)", "histogram(n=2, k=3)"),
        ("subset_selection(epsilon=1)", "histogram(n=2, k=4)"),
    ],
    both_symmetric: [
        ("symmetric(flip=0.02)", "identity(k=5)"),
        ("symmetric(flip=0)", "identity(k=3)"),
        ("symmetric(flip=1)", "identity(k=4)"),
        ("symmetric(flip=0.7)", "identity(k=30)"),
        ("randomized_response(epsilon=2)", "identity(k=5)"),
    ],
}
UNWRITTEN: dict[str, Callable[[], tuple[dl.Mechanism, dl.Mechanism]]] = {
    f"{call[0]} of {call[1]}": lambda make=make, call=call: make(*call)
    for make, calls in MAKERS.items()
    for call in calls
}


def chosen() -> dl.Mechanism:
    """A second release of the same count, by what the first said."""
    weak, strong = (dl.mechanisms.geometric(dl.queries.count(n=500), epsilon=epsilon) for epsilon in (0.1, 0.2))
    return dl.adaptive(weak, lambda y: strong if y < 250 else weak)


# Very many records, values or outputs, and real numbers: what can be asked of them is checked, rows have they none.
LARGE = {
    **{
        f"{mechanism} of {query}": named(mechanism, query)
        for mechanism, query in (
            ("geometric(epsilon=0.5)", "count(n=3000)"),
            ("discrete_gaussian(sigma=30)", "count(n=3000)"),
            ("geometric(epsilon=0.1)", "histogram(n=300, k=3)"),
            ("randomized_response(epsilon=1)", "count(n=50)"),
            ("symmetric(flip=0.25)", "identity(k=3000)"),
            ("laplace(epsilon=1, output='real')", "count(n=3)"),
            ("gaussian(sigma=0.7, output='real')", "total(n=2, values=[0, 3])"),
            ("laplace(epsilon=1)", "real_sum(n=2, low=0, high=1)"),
            ("gaussian(sigma=0.5)", "real_mean(n=2, low=0, high=1)"),
            ("geometric(epsilon=1, step=0.25)", "real_sum(n=2, low=0, high=1)"),
        )
    },
    "several releases": lambda: dl.compose(*[dl.mechanisms.geometric(dl.queries.count(n=120), epsilon=0.1)] * 3),
    "chosen releases": chosen,
    "samples": lambda: dl.Mechanism.from_samples({0: [0] * 90 + [1] * 10, 1: [1] * 80 + [0] * 20}, dl.queries.count(1)),
}
ALL = {**WRITTEN, **{name: lambda name=name: UNWRITTEN[name]()[0] for name in UNWRITTEN}, **LARGE}


def test_no_named_mechanism_and_no_kind_of_channel_is_left_out() -> None:
    calls = [call for pairs in (CALLS, *MAKERS.values()) for call, _ in pairs]
    assert {call.split("(")[0] for call in calls} == set(FAMILIES)

    def kinds(kind: type) -> set[type]:
        below = set().union(*map(kinds, kind.__subclasses__()))
        return below if isabstract(kind) else below | {kind}

    # All is built before kinds are listed, as files are loaded on first use. SomeRecords is a part of PerRecord.
    built = {type(build()) for build in ALL.values()} | {SomeRecords}
    assert built == {kind for kind in kinds(dl.Mechanism) if kind.__module__.startswith("dalenius.")}


def matrix(mechanism: dl.Mechanism) -> Floats:
    """One row for every dataset, outputs that were put together included."""
    written = mechanism.written()
    return np.asarray(written.rows[written.statistic.class_table()])


def pairs(mechanism: dl.Mechanism) -> list[tuple[int, int]]:
    """Indices of all ordered pairs of datasets that differ in one record."""
    listed = list(product(*map(range, mechanism.records)))
    return [(i, j) for i, x in enumerate(listed) for j, z in enumerate(listed) if sum(map(int.__ne__, x, z)) == 1]


@pytest.mark.parametrize("name", WRITTEN)
def test_rows_are_those_that_the_verifier_rebuilds(name: str) -> None:
    mechanism = WRITTEN[name]()
    channel = rebuild(mechanism.describe())
    theirs = np.array([[float(q.mid()) for q in channel.rows[r]] for r in channel.row_of])
    np.testing.assert_allclose(mechanism.written().rows, theirs, rtol=1e-9, atol=1e-15)
    assert float(channel.lost.upper()) == pytest.approx(mechanism.lost, rel=1e-6)
    assert mechanism.has_rows
    assert mechanism.n_outputs == len(mechanism.labels) == theirs.shape[1]


@pytest.mark.parametrize(("mechanism", "query"), CALLS)
def test_a_call_string_names_what_it_builds(mechanism: str, query: str) -> None:
    built = named(mechanism, query)()
    assert (built.name, str(built.query)) == (mechanism, query)


@pytest.mark.parametrize("name", WRITTEN)
def test_epsilon_and_delta_are_the_worst_of_all_neighbouring_datasets(name: str) -> None:
    mechanism = WRITTEN[name]()
    rows, near = matrix(mechanism), pairs(mechanism)
    with np.errstate(divide="ignore"):
        logs = np.log(rows)
    worst = max((float((logs[i, rows[i] > 0] - logs[j, rows[i] > 0]).max()) for i, j in near), default=0.0)
    # Discrete Gaussian noise that is not clamped has outputs, put together here, whose ratio has no limit.
    expected = math.inf if name.startswith("discrete_gaussian(sigma=1.3) ") else max(worst, 0.0)
    assert mechanism.dp_epsilon() == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for epsilon in (0.0, 0.05, 0.5, 2.0):
        excess = [np.maximum(rows[i] - math.exp(epsilon) * rows[j], 0.0).sum() for i, j in near]
        assert mechanism.dp_delta(epsilon) == pytest.approx(max(excess, default=0.0), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", UNWRITTEN)
def test_a_channel_without_its_rows_is_the_same_channel(name: str) -> None:
    large, dense = UNWRITTEN[name]()
    rows = dense.written().rows
    assert not large.has_rows
    assert large.n_outputs == pytest.approx(dense.n_outputs)
    assert large.dp_epsilon() == pytest.approx(dense.dp_epsilon(), rel=1e-9, abs=1e-12)
    for epsilon in (0.0, 0.05, 0.3, 1.0, 3.0, 800.0):
        if large.as_counts is None:
            assert large.dp_delta(epsilon) == pytest.approx(dense.dp_delta(epsilon), abs=1e-12)
        else:
            with pytest.raises(InputError, match="too many to write out"):
                large.dp_delta(epsilon)
    if large.as_counts is None:
        assert large.log_most_likely() == pytest.approx(math.log(rows.max(axis=0).sum()), abs=1e-11)
    if dense.query is not None:
        cost = dense.expected_distortion()
        assert large.expected_distortion() == (None if cost is None else pytest.approx(cost, rel=1e-9))
    assert large.lost == dense.lost


@pytest.mark.parametrize("name", WRITTEN)
def test_a_mean_error_is_that_of_its_rows(name: str) -> None:
    """E d(f(X), Y) by listing classes and outputs; None where outputs are not answers."""
    mechanism = WRITTEN[name]()
    query, rows = mechanism.query, mechanism.written().rows
    if query is not None and mechanism.labels == query.labels:
        distance = query.distance()
    elif isinstance(mechanism, NoisyCounts):
        counts = np.array([[int(c) for c in str(label).split(",")] for label in mechanism.labels])
        distance = np.abs(np.asarray(mechanism.query.answers)[:, None] - counts).sum(axis=2)
    else:
        # Unclamped noise has the error of its law, anything else none.
        assert (mechanism.expected_distortion() is None) == (mechanism.as_sum is None)
        return
    expected = float(np.exp(UNIFORM.log_classes(mechanism.statistic)) @ (rows * distance).sum(axis=1))
    assert mechanism.expected_distortion() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", [*WRITTEN, *(f"{m} of {q}" for m, q in MAKERS[both])])
def test_a_prior_leaks_what_it_leaks_through_the_rows(name: str) -> None:
    mechanism = ALL[name]()
    rows = (UNWRITTEN[name]()[1] if name in UNWRITTEN else mechanism).written().rows
    shape = UNIFORM.log_joint(mechanism.statistic, 0).shape
    masses = np.random.default_rng(0).dirichlet(np.ones(shape[0] * shape[1])).reshape(shape)
    joint = masses @ rows
    assert float(mutual_information(mechanism.joint(masses))) == pytest.approx(float(mutual_information(joint)))


# Exact draws by rows: see tests/tools/test_exact_sampling.py.
@pytest.mark.parametrize(("name", "secure"), [*product([*WRITTEN, *UNWRITTEN], [False]), *product(UNWRITTEN, [True])])
def test_samples_follow_the_row(name: str, secure: bool) -> None:
    mechanism, dense = UNWRITTEN[name]() if name in UNWRITTEN else (WRITTEN[name](),) * 2
    written = mechanism.written() if mechanism.as_records is not None else dense.written()
    dataset = [int(i == 0 and k > 1) for i, k in enumerate(mechanism.records)]
    many = 400 if secure else 4000
    drawn = mechanism.sample(dataset, many, secure=True) if secure else mechanism.sample(dataset, many, rng=3)
    row = matrix(written)[np.ravel_multi_index(dataset, mechanism.records)]
    place = {label: j for j, label in enumerate(written.labels)}
    found = np.bincount([_place(y, place) for y in drawn.tolist()], minlength=row.size)
    # Bits of the system differ from run to run: at eight times its spread a right sampler is never seen.
    spread = np.sqrt(many * row * (1 - row))
    assert (np.abs(found - many * row) <= (8 if secure else 5) * spread + 2).all()
    assert not found[row == 0].any()
    assert mechanism.sample(dataset, 3, rng=4).tolist() == mechanism.sample(dataset, 3, rng=4).tolist()


def _place(y: object, place: dict[object, int]) -> int:
    """The column of an output; of integers beyond the ends that of all beyond."""
    label = tuple(y) if isinstance(y, list) else y
    if label in place:
        return place[label]
    low, high = (float(str(end)[2:]) for end in (min(place, key=place.__getitem__), max(place, key=place.__getitem__)))
    return 0 if float(label) <= low else len(place) - 1 if float(label) >= high else -1


@pytest.mark.parametrize("name", ALL)
def test_what_is_made_twice_or_sent_to_another_process_is_equal(name: str) -> None:
    mechanism, copies = ALL[name](), [ALL[name]()]
    if "function" not in name:  # of this file, which pickle does not find
        copies.append(pickle.loads(pickle.dumps(mechanism)))
    for copy in copies:
        assert copy == mechanism
        assert hash(copy) == hash(mechanism)
        assert (type(copy), repr(copy)) == (type(mechanism), repr(mechanism))
        assert copy.describe() == mechanism.describe()
    assert str(mechanism.n) in mechanism._repr_html_()


@pytest.mark.parametrize("name", [*WRITTEN, *LARGE])
def test_files_give_an_equal_channel(name: str, tmp_path: Path) -> None:
    mechanism = ALL[name]()
    mechanism.save(tmp_path / "m.json")
    loaded = dl.Mechanism.load(tmp_path / "m.json")
    assert loaded == mechanism
    assert loaded.describe() == mechanism.describe()
    if mechanism.has_rows:
        if getattr(mechanism, "clamp", True):
            for suffix in (".csv", ".npy"):
                mechanism.save(tmp_path / f"m{suffix}")
                back = dl.Mechanism.from_matrix(tmp_path / f"m{suffix}", mechanism.records)
                np.testing.assert_array_equal(back.given, mechanism.matrix())
                (tmp_path / f"m{suffix}").unlink()
        np.testing.assert_array_equal(loaded.written().given, mechanism.written().given)
        assert loaded.written().labels == mechanism.written().labels
    elif mechanism.as_samples is None:
        assert (tmp_path / "m.json").stat().st_size < 200  # its name alone
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_different_channels_are_not_equal() -> None:
    made = [ALL[name]() for name in (*WRITTEN, *LARGE)]
    assert len(set(made)) == len(made)
    assert [[x == y for y in made] for x in made] == np.eye(len(made), dtype=bool).tolist()


@pytest.mark.parametrize("name", [name for name in LARGE if name != "samples"])
def test_rows_that_are_not_there_are_refused(name: str) -> None:
    mechanism = LARGE[name]()
    for ask in (mechanism.written, mechanism.matrix, mechanism.table, mechanism.integer_rows):
        refuses(r"too many|no table|no matrix|above the limit", ask)
    with pytest.raises(InputError):
        mechanism.save("never.csv")


@pytest.mark.parametrize("name", ALL)
def test_an_audit_is_verified(name: str) -> None:
    mechanism = ALL[name]()
    audit = dl.audit(mechanism, knowledge=0.2, tolerance=0.05, time_limit=0.5)
    assert dl.verify(audit.certificate, mechanism)
    assert 0 <= audit.lower <= audit.upper
