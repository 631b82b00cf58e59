import math
from pathlib import Path

import brute_force
import numpy as np
import pytest
from cases import product_matrix
from kinds import Floats
from large_samples import PAIRS as LARGE
from large_samples import both
from refusals import refuses
from verdicts import holds

import dalenius as dl
from dalenius.bounds.capacity import capacity
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.statistic import Histogram, Sum, Table
from dalenius.search.deadline import Deadline
from dalenius.tools.composition import contracted, information_bound

COUNT = dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1.0)
PARITY = dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=2), flip=0.2)
THIRDS = dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=3), flip=0.3)
PAIRS = dl.mechanisms.exponential(dl.queries.pairs(n=3), epsilon=2.0)
WHOLE = dl.mechanisms.randomized_response(dl.queries.count(n=3), epsilon=0.7)
CELLS = dl.mechanisms.symmetric(dl.queries.histogram(n=2, k=3), flip=0.4)
TOTAL = dl.mechanisms.geometric(dl.queries.total(n=2, values=[0, 1, 5]), epsilon=3.0)


def any_channel(seed: int, outputs: int = 3, records: tuple[int, ...] = (2, 2, 2)) -> dl.Mechanism:
    rows = np.random.default_rng(seed).dirichlet(np.full(outputs, 0.5), size=math.prod(records))
    return dl.Mechanism.from_matrix(rows, records)


ANY, OTHER = any_channel(1), any_channel(2, 2)


def leakage(mechanism: dl.Mechanism, entropy: float) -> tuple[float, float]:
    audit = dl.audit(mechanism, entropy=entropy, tolerance=1e-3, time_limit=20)
    assert audit.closed
    return audit.lower, audit.upper


@pytest.mark.parametrize(
    ("parts", "statistic", "classes"),
    [
        ((PARITY, PARITY), Sum, 2),
        ((COUNT, COUNT), Sum, 4),
        ((COUNT, PARITY), Histogram, 4),
        ((PARITY, THIRDS), Histogram, 4),
        ((PARITY, COUNT, PAIRS), Histogram, 4),
        ((CELLS, TOTAL), Histogram, 6),
        ((CELLS, CELLS), Histogram, 6),
        ((COUNT, WHOLE), Table, 8),
        ((PARITY, ANY), Table, 8),
        ((ANY, OTHER), Table, 8),
    ],
)
def test_is_the_product_of_the_full_matrices(parts: tuple[dl.Mechanism, ...], statistic: type, classes: int) -> None:
    joint = dl.compose(*parts)
    assert isinstance(joint.statistic, statistic)
    assert joint.statistic.size == classes
    np.testing.assert_allclose(joint.matrix(), product_matrix(*parts), rtol=1e-13, atol=0)
    assert joint.labels[1] == (*(m.labels[0] for m in parts[:-1]), parts[-1].labels[1])


def test_classes_of_tables_are_pairs_of_classes_and_no_more() -> None:
    first = dl.Mechanism.from_rows(dl.queries.function([2, 3], lambda x: x[0]), [[0.9, 0.1], [0.2, 0.8]])
    second = dl.Mechanism.from_rows(dl.queries.function([2, 3], lambda x: int(x[1] == 2)), [[0.5, 0.5], [0.1, 0.9]])
    joint = dl.compose(first, second)
    assert joint.statistic.size == 4
    np.testing.assert_allclose(joint.matrix(), product_matrix(first, second), rtol=1e-13)
    finest = dl.compose(second, any_channel(3, records=(2, 3)))
    assert isinstance(finest.statistic, Table)
    assert finest.statistic.finest


def test_keeps_the_query_only_when_all_answer_it() -> None:
    same = dl.compose(COUNT, dl.mechanisms.laplace(dl.queries.count(n=3), epsilon=1))
    assert str(same.query) == "count(n=3)"
    assert same.name is None
    assert dl.compose(COUNT, PAIRS).query is None
    assert dl.compose(COUNT, ANY).query is None


@pytest.mark.parametrize("parts", [(COUNT, PARITY), (PARITY, THIRDS), (PARITY, PARITY), (ANY, OTHER), (PARITY, OTHER)])
def test_audits_of_joint_releases_verify(parts: tuple[dl.Mechanism, ...], tmp_path: Path) -> None:
    joint = dl.compose(*parts)
    audit = dl.audit(joint, entropy=1.2, tolerance=1e-3, time_limit=20)
    holds(audit, mechanism=joint)
    audit.save(tmp_path / "a.json")
    assert dl.load(tmp_path / "a.json").mechanism.labels == joint.labels


@pytest.mark.parametrize("entropy", [0.0, 1.0, 1.8])
def test_joint_leakage_is_between_the_parts_and_brute_force(entropy: float) -> None:
    joint = dl.compose(PARITY, OTHER)
    low, high = leakage(joint, entropy)
    assert all(leakage(part, entropy)[0] <= high for part in (PARITY, OTHER))
    assert low <= capacity(PARITY).upper + capacity(OTHER).upper
    assert brute_force.attained(product_matrix(PARITY, OTHER), [2, 2, 2], entropy, starts=3) <= high + 1e-9


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("mechanism", [PARITY, THIRDS, pytest.param(OTHER, marks=pytest.mark.slow)])
def test_counts_of_outputs_leak_as_much_as_outputs_in_order(mechanism: dl.Mechanism, times: int) -> None:
    counts, ordered = dl.compose(mechanism, times=times), dl.compose(*[mechanism] * times)
    assert counts.rows.shape[1] == math.comb(times + mechanism.rows.shape[1] - 1, times)
    for entropy in (0.0, 1.1, 2.0):
        (low, high), (other_low, other_high) = leakage(counts, entropy), leakage(ordered, entropy)
        assert max(low, other_low) <= min(high, other_high) + 1e-9


def test_counts_gather_the_sequences_with_those_counts() -> None:
    counts, ordered = dl.compose(THIRDS, times=3), dl.compose(THIRDS, THIRDS, THIRDS)
    gathered = dict.fromkeys(counts.labels, 0.0)
    for seen, column in zip(ordered.labels, ordered.matrix().T, strict=True):
        assert isinstance(seen, tuple)
        gathered[tuple(seen.count(v) for v in range(3))] += column
    np.testing.assert_allclose(counts.matrix(), np.transpose(list(gathered.values())), rtol=1e-13)


def test_counts_are_exact_to_rounding_for_very_many_runs() -> None:
    mechanism = dl.Mechanism.from_matrix([[0.5, 0.5], [0.25, 0.75]], [2])
    runs = 10**5
    joint = dl.compose(mechanism, times=runs)
    half = dict(zip(joint.labels, joint.rows[0], strict=True))[runs // 2, runs // 2]
    assert half == pytest.approx(math.comb(runs, runs // 2) / 2**runs, rel=1e-11)
    quarter = dict(zip(joint.labels, joint.rows[1], strict=True))
    assert sum(p * c[0] for c, p in quarter.items()) == pytest.approx(runs / 4, rel=1e-9)


def test_counts_of_impossible_outputs_have_no_mass() -> None:
    joint = dl.compose(dl.Mechanism.from_matrix([[1.0, 0.0], [0.5, 0.5]], [2]), times=2)
    assert joint.labels == ((0, 2), (1, 1), (2, 0))
    np.testing.assert_allclose(joint.rows, [[0, 0, 1], [0.25, 0.5, 0.25]], atol=1e-15)


def test_equal_rows_stay_equal() -> None:
    rows = np.repeat(np.random.default_rng(5).dirichlet(np.ones(3), size=2), 32, axis=0)
    joint = dl.compose(dl.Mechanism.from_matrix(rows, [64]), times=9)
    assert len(np.unique(joint.given, axis=0)) == 2


def test_a_million_records() -> None:
    parity = dl.mechanisms.symmetric(dl.queries.modular_sum(n=10**6, modulus=2), flip=0.3)
    twice = dl.compose(parity, parity)
    assert twice.rows.shape == (2, 4)
    audit = dl.audit(twice, knowledge=math.inf, time_limit=20)
    given = np.array([0.49, 0.21, 0.21, 0.09])
    both = (given + given[::-1]) / 2
    truth = brute_force.entropy(both) - brute_force.entropy(given)
    assert audit.lower <= truth <= audit.upper
    assert audit.closed
    assert dl.verify(audit).verified


def test_different_queries_over_more_datasets_than_can_be_listed() -> None:
    count = dl.mechanisms.geometric(dl.queries.count(n=30), epsilon=0.5)
    parity = dl.mechanisms.symmetric(dl.queries.modular_sum(n=30, modulus=2), flip=0.1)
    joint = dl.compose(count, parity)
    ones = [0, 1, 30]
    vectors = [[1] * t + [0] * (30 - t) for t in ones]
    np.testing.assert_allclose(
        joint.rows[joint.statistic.class_of(vectors)],
        [np.kron(count.rows[t], parity.rows[t % 2]) for t in ones],
        rtol=1e-13,
    )
    audit = dl.audit(joint, knowledge=0.0)
    assert dl.verify(audit).verified


def test_tuple_labels_are_saved_shown_and_drawn(tmp_path: Path) -> None:
    joint = dl.compose(dl.compose(PARITY, OTHER), dl.Mechanism.from_matrix([[0.5, 0.5]] * 8, [2] * 3, ["no", "yes"]))
    assert joint.labels[1] == ((0, 0), "yes")
    joint.save(tmp_path / "m.json")
    again = dl.Mechanism.load(tmp_path / "m.json")
    assert again.labels == joint.labels
    np.testing.assert_array_equal(again.matrix(), joint.matrix())
    assert set(joint.sample([0, 1, 1], size=20, rng=0)) <= set(joint.labels)
    assert joint.sample([0, 1, 1], size=3, rng=0).shape == (3,)
    assert "((0, 0), &#x27;yes&#x27;)" in joint._repr_html_()
    dl.compose(PARITY, OTHER).save(tmp_path / "m.csv")
    back = dl.Mechanism.from_matrix(tmp_path / "m.csv", [2, 2, 2])
    assert back.labels == ("(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)")
    assert "(0, 1)" in dl.compose(PARITY, OTHER).table()


@pytest.mark.parametrize("labels", ["[null]", '[{"a": 1}]', "[[[null]]]", "[" * 400 + "]" * 400])
def test_files_with_other_labels_are_refused(labels: str, tmp_path: Path) -> None:
    parts = '"format": "dalenius/mechanism", "version": 1, "records": [2], "classes": null, "rows": [[1], [1]]'
    (tmp_path / "m.json").write_text(f'{{{parts}, "labels": {labels}}}')
    refuses("labels", dl.Mechanism.load, tmp_path / "m.json")


def test_bad_input() -> None:
    refuses("one mechanism or more", dl.compose)
    refuses("mechanism 1 is a str", dl.compose, COUNT, "count")
    refuses("2 records of 3 values, mechanism 0 over 3 records of 2 values", dl.compose, COUNT, CELLS)
    refuses("compose them first", dl.compose, COUNT, PARITY, times=2)
    for times in (0, -1, 1.5, True):
        refuses("times", dl.compose, COUNT, times=times)


COUNT_AND_PART = [[0, 1, 0, 1], [0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("reference", "epsilon", "knowledge"),
    [(UNIFORM, 0.05, 0.05), (Reference(laws=((0.4, 0.3, 0.2, 0.1),)), 0.3, 0.02), (UNIFORM, 0.1, 1.0)],
)
def test_no_count_and_subgroup_leak_more_than_the_contraction_leaves(
    reference: Reference, epsilon: float, knowledge: float
) -> None:
    parts = [
        dl.mechanisms.geometric(dl.queries.total(n=4, values=values), epsilon=epsilon) for values in COUNT_AND_PART
    ]
    law = None if reference.uniform else reference.laws[0]
    audit = dl.audit(dl.compose(*parts), knowledge=knowledge, reference=law, time_limit=1, verify=False)
    assert 0 < audit.lower <= contracted(parts, knowledge, reference) < math.log(4)


def test_where_the_contraction_says_nothing() -> None:
    count = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=0.1)
    table = dl.Mechanism.from_matrix(np.full((16, 2), 0.5), [2] * 4)
    assert contracted([count, table], 0.1, UNIFORM) == math.inf
    assert contracted([count], 0.1, Reference(laws=((0.5, 0.5), (0.4, 0.6), (0.5, 0.5), (0.5, 0.5)))) == math.inf
    assert contracted([count], 0.0, UNIFORM) == math.inf
    assert contracted([dl.mechanisms.geometric(count.query, epsilon=2)], 0.1, UNIFORM) == math.inf
    unclamped = dl.mechanisms.discrete_gaussian(count.query, sigma=3)
    assert contracted([unclamped], 0.1, UNIFORM) == math.inf


def test_an_account_of_wide_noise_on_different_statistics_goes_by_contraction() -> None:
    queries = [dl.queries.total(n=400, values=values) for values in COUNT_AND_PART]
    book = dl.Ledger(queries[0], knowledge=0.01, tolerance=1e-3)
    first, both = (book.release(dl.mechanisms.geometric(query, epsilon=0.01)) for query in queries)
    assert both.bound == "contraction"
    assert first.upper < both.upper < 0.01
    assert "leaves of the adversary's knowledge" in book.summary()


def test_what_does_not_fit_is_refused_before_it_is_built() -> None:
    refuses(r"8 rows x 4782969 outputs.*dl\.Ledger", dl.compose, *[ANY] * 14)
    refuses(r"8 rows x 2000001 outputs.*dl\.Ledger", dl.compose, OTHER, times=2_000_000)
    refuses(r"more than 2\^64 outputs", dl.compose, any_channel(4, outputs=200), times=200)
    refuses(r"more than 2\^64 outputs", dl.compose, *[ANY] * 2000)
    with pytest.raises(dl.InputError, match="8 rows x 1353400 outputs"):  # their counts are 200 numbers each
        dl.compose(any_channel(4, outputs=200), times=3)


def test_noise_on_very_many_records_is_refused_before_it_is_written_out() -> None:
    count = dl.queries.count(n=10**4)
    large = dl.mechanisms.geometric(count, epsilon=1)
    parity = dl.mechanisms.symmetric(dl.queries.modular_sum(n=10**4, modulus=2), flip=0.3)
    refused = r"10001 rows of 10001 outputs, .* use fewer records; or keep a dl\.Ledger"
    refuses(refused, dl.compose, large, dl.mechanisms.gaussian(count, sigma=3))
    for parts in ((large, parity), (parity, large)):
        refuses(refused, dl.compose, *parts)
    # Noise of one kind on one sum needs no table.
    twice = dl.compose(large, times=2)
    assert twice == dl.compose(large, large)
    assert twice.describe() == {"query": "count(n=10000)", "releases": ["geometric(epsilon=1)"] * 2}
    with pytest.raises(dl.InputError, match="joint releases are about the same data"):
        dl.compose(large, dl.mechanisms.geometric(dl.queries.count(n=9999), epsilon=1))
    assert dl.compose(large) is large


@pytest.mark.parametrize(("mechanism", "query"), LARGE)
@pytest.mark.parametrize("knowledge", [0.0, 0.3, 2.0])
def test_the_information_of_noise_that_is_never_written_out(mechanism: str, query: str, knowledge: float) -> None:
    large, dense = both(mechanism, query)
    exact = information_bound(dense, knowledge, Deadline(10.0))
    assert exact - 2e-5 <= information_bound(large, knowledge, Deadline(10.0)) <= 1.6 * exact + 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [ANY, COUNT, PARITY, CELLS])
@pytest.mark.parametrize("knowledge", [0.0, 0.05, 0.6, 2.0])
def test_information_bound_is_above_every_prior_and_near_the_best(mechanism: dl.Mechanism, knowledge: float) -> None:
    matrix, rng = mechanism.matrix(), np.random.default_rng(7)
    bound = information_bound(mechanism, knowledge, Deadline(10.0))
    size, attained = len(matrix), 0.0
    least = math.log(size) - knowledge
    for _ in range(50):
        prior = brute_force.allowed(rng.dirichlet(np.full(size, 0.5)), max(0.0, least))
        attained = max(attained, brute_force.information(prior[:, None] * matrix))
    assert attained <= bound + 1e-12
    assert bound <= capacity(mechanism).upper + 1e-12
    best = blahut_arimoto(matrix, knowledge)
    assert best - 1e-9 <= bound <= best + 1e-5


def blahut_arimoto(matrix: Floats, knowledge: float) -> float:
    """max { I(X;Y) : D(p || uniform) <= knowledge } by the alternating iteration, its step tempered to the limit."""
    size = len(matrix)
    p = np.full(size, 1 / size)
    for _ in range(300):
        law = p @ matrix
        scores = (matrix * np.log(np.where(matrix > 0, matrix, 1) / np.where(law > 0, law, 1))).sum(axis=1)
        low, high = 0.0, 1.0  # share of the plain step p exp(scores) in the exponent; D grows with it
        for _ in range(40):
            middle = (low + high) / 2
            q = _tilted(p, scores, middle)
            low, high = (middle, high) if math.log(size) - brute_force.entropy(q) <= knowledge else (low, middle)
        p = _tilted(p, scores, low)
    return brute_force.information(p[:, None] * matrix)


def _tilted(p: Floats, scores: Floats, share: float) -> Floats:
    """Normalise (p exp(scores))^share: between the uniform prior and the plain step."""
    q = (p * np.exp(scores - scores.max())) ** share
    return np.asarray(q / q.sum())
