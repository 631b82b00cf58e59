"""Profiles: closed forms, inequalities between the measures, and a naive implementation over all datasets."""

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from cases import random_channel
from kinds import Floats
from large_samples import both
from matplotlib.figure import Figure
from refusals import refuses

import dalenius as dl
from dalenius.api import audits
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.problem import Adversary, AuditProblem
from dalenius.model.statistic import Table
from dalenius.numerics.information import entropy
from dalenius.results.audit import Audit
from dalenius.results.options import Options
from dalenius.results.profile import Profile
from dalenius.search.deadline import Deadline
from dalenius.tools.profile import audited

MECHANISMS = [
    dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=2), flip=0.3),
    dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1),
    dl.mechanisms.exponential(dl.queries.total(n=2, values=[0, 1, 3]), epsilon=2),
    dl.mechanisms.geometric(dl.queries.histogram(n=2, k=2), epsilon=1),
    dl.mechanisms.randomized_response(dl.queries.count(n=2), epsilon=1),
    dl.mechanisms.symmetric(dl.queries.count(n=3), flip=0),
    dl.mechanisms.constant(dl.queries.count(n=3)),
    random_channel([2, 2], 3, 1),
    random_channel([3, 2], 2, 2),
]

# Channels and what the package qif 1.6 says of them in bits: capacity (shannon.add_capacity, stopping at 1e-13)
# and min-entropy leakage for the uniform prior (bayes_vuln.min_entropy_leakage), of the whole dataset and of its most
# exposed record, the others uniform. bench/peers.py compares more of them where qif is installed.
PEER = [
    ([2], [[0.9, 0.1], [0.2, 0.8]], [0.39775434656852937, 0.7655347463629772, 0.7655347463629772]),
    ([2], [[1, 0], [0.5, 0.5]], [0.32192809488736235, 0.5849625007211562, 0.5849625007211562]),
    (
        [2, 2],
        [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.3, 0.3, 0.4]],
        [0.3640548974560671, 1.0, 0.43295940727610627],
    ),
    (
        [3, 2],
        [
            *([0.4, 0.3, 0.2, 0.1], [0, 0.5, 0.25, 0.25], [0.1, 0.1, 0.1, 0.7]),
            *([0.6, 0.4, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.05, 0.05, 0.8, 0.1]),
        ],
        [0.8994571691577602, 1.3785116232537298, 0.7004397181410922],
    ),
    (
        [2, 2, 2],
        [[q, 1 - q] for q in (0.9, 0.8, 0.7, 0.55, 0.5, 0.35, 0.2, 0.05)],
        [0.6209279473591027, 0.8875252707415875, 0.548436624696042],
    ),
]


def quick(mechanism: Mechanism, **options: Any) -> Profile:
    """A profile with coarse audits, or none to speak of."""
    return mechanism.profile(**{"entropies": [mechanism.log_universe], "tolerance": 1e-2, **options})


def drawn(seed: int, records: list[int], outputs: int) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(outputs, 0.7), size=math.prod(records))


def naive(matrix: Floats, records: list[int]) -> list[float]:
    """Capacity, maximal leakage, the record's min-entropy leakage, epsilon, delta at 1: loops over everything."""
    datasets = list(itertools.product(*map(range, records)))
    outputs = range(matrix.shape[1])
    p = [1 / len(datasets)] * len(datasets)
    value = 0.0
    for _ in range(4000):
        r = [sum(p[x] * matrix[x, y] for x in range(len(datasets))) for y in outputs]
        d = [sum(q * math.log(q / r[y]) for y, q in enumerate(row)) for row in matrix.tolist()]
        value = sum(a * b for a, b in zip(p, d, strict=True))
        p = [a * math.exp(b) for a, b in zip(p, d, strict=True)]
        p = [a / sum(p) for a in p]
    maximal = math.log(sum(max(matrix[:, y]) for y in outputs))
    record = 0.0
    for i, k in enumerate(records):
        given = [
            [np.mean([matrix[x, y] for x, z in enumerate(datasets) if z[i] == a]) for y in outputs] for a in range(k)
        ]
        record = max(record, math.log(sum(max(row[y] for row in given) for y in outputs)))
    near = [
        (x, z)
        for x, z in itertools.permutations(range(len(datasets)), 2)
        if sum(a != b for a, b in zip(datasets[x], datasets[z], strict=True)) == 1
    ]
    epsilon = max(math.log(matrix[x, y] / matrix[z, y]) for x, z in near for y in outputs)
    delta = max(sum(max(0.0, matrix[x, y] - math.e * matrix[z, y]) for y in outputs) for x, z in near)
    return [value, maximal, record, epsilon, delta]


def measures(profile: Profile) -> list[float | None]:
    capacity = (profile.capacity.lower + profile.capacity.upper) / 2
    others = ("maximal_leakage", "record_min_entropy_leakage", "dp_epsilon", "dp_delta")
    return [capacity, *(getattr(profile, name) for name in others)]


@pytest.mark.parametrize(("seed", "records", "outputs"), [(11, [2, 2], 3), (12, [3, 2], 4), (13, [2, 2, 2], 3)])
def test_agreement_with_the_naive_implementation(seed: int, records: list[int], outputs: int) -> None:
    matrix = drawn(seed, records, outputs)
    assert measures(quick(Mechanism.from_matrix(matrix, records))) == pytest.approx(naive(matrix, records), abs=1e-8)


@pytest.mark.parametrize(("records", "matrix", "qif"), PEER)
def test_agreement_with_qif(records: list[int], matrix: list[list[float]], qif: list[float]) -> None:
    profile = quick(Mechanism.from_matrix(matrix, records), unit="bits")
    assert profile.capacity.gap <= 2e-9
    assert profile.capacity.lower - 1e-9 <= qif[0] <= profile.capacity.upper + 1e-9
    assert [profile.min_entropy_leakage, profile.record_min_entropy_leakage] == pytest.approx(qif[1:], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_measures_stand_in_their_order(mechanism: Mechanism) -> None:
    profile = mechanism.profile(tolerance=1e-3)
    assert profile.stopped in {"gap", "method"}
    shares = [b / mechanism.log_universe for b in profile.leakage.entropies]
    assert shares == pytest.approx([0, 0.25, 0.5, 0.75, 0.9, 1], abs=1e-12)
    assert (profile.leakage.lower <= profile.capacity.upper).all()
    assert (profile.leakage.lower <= profile.record_entropy).all()
    assert profile.capacity.gap <= 1e-9
    assert profile.capacity.lower <= profile.maximal_leakage
    assert profile.min_entropy_leakage == profile.maximal_leakage
    assert profile.leakage.lower[-1] <= profile.record_min_entropy_leakage + 1e-9
    assert profile.record_min_entropy_leakage <= min(profile.maximal_leakage, profile.record_entropy) + 1e-12
    assert profile.dp_epsilon is not None
    assert profile.leakage.lower[0] <= mechanism.n * profile.dp_epsilon  # a correlated prior moves all records
    assert profile.leakage.lower[-1] <= profile.dp_epsilon  # datasets with and without a record are neighbours
    assert profile.dp_delta is not None
    assert (profile.dp_delta == 0) == (profile.dp_epsilon <= 1 + 1e-12)


def test_one_record_is_its_own_neighbour_so_epsilon_bounds_everything() -> None:
    profile = dl.mechanisms.exponential(dl.queries.identity(k=3), epsilon=1).profile([0])
    assert profile.leakage.lower[0] == pytest.approx(profile.capacity.upper, abs=1e-3)
    assert profile.capacity.upper <= profile.maximal_leakage <= (profile.dp_epsilon or 0)


def test_closed_forms_of_parity() -> None:
    flip = 0.2
    profile = dl.mechanisms.symmetric(dl.queries.modular_sum(n=10**5, modulus=2), flip=flip).profile(
        epsilon=0.5, knowledges=[1e5, 3, 1, 0]
    )
    value = math.log(2) - float(entropy([flip, 1 - flip]))
    assert profile.capacity.lower <= value <= profile.capacity.upper
    assert (profile.leakage.lower <= value).all()
    assert profile.leakage.upper[:3] == pytest.approx(value, abs=1e-4)
    assert profile.leakage.upper[3] < 1e-9
    assert profile.maximal_leakage == pytest.approx(math.log(2 - 2 * flip), abs=1e-12)
    assert profile.record_min_entropy_leakage == pytest.approx(0, abs=1e-12)
    assert profile.dp_epsilon == pytest.approx(math.log(4), abs=1e-12)
    assert profile.dp_delta == pytest.approx(0.8 - math.exp(0.5) * 0.2, abs=1e-12)
    assert profile.distortion == pytest.approx(flip, abs=1e-12)


def test_extremes() -> None:
    count = dl.queries.count(n=3)
    everything = quick(dl.mechanisms.symmetric(count, flip=0))
    assert everything.capacity.lower <= math.log(4) <= everything.capacity.upper
    assert everything.maximal_leakage == pytest.approx(math.log(4), abs=1e-12)
    assert (everything.dp_epsilon, everything.dp_delta, everything.distortion) == (math.inf, 1.0, 0.0)
    nothing = quick(dl.mechanisms.constant(count))
    assert nothing.capacity.upper <= 1e-11
    assert measures(nothing)[1:] == [0, 0, 0, 0]
    assert nothing.distortion == pytest.approx(0.75, abs=1e-12)
    single = dl.mechanisms.symmetric(dl.queries.total(n=2, values=[3]), flip=0).profile()
    assert single.leakage.entropies == (0.0,)
    assert (single.capacity.upper, single.record_entropy) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("mechanism", "query"),
    [
        ("geometric(epsilon=1)", "count(n=60)"),
        ("gaussian(sigma=4)", "total(n=6, values=[0, 1, 5])"),
        ("laplace(epsilon=2)", "pairs(n=8)"),
    ],
)
def test_what_is_never_written_out_has_the_profile_of_its_rows(mechanism: str, query: str) -> None:
    large, dense = (quick(m, epsilon=0.4, tolerance=0.1) for m in both(mechanism, query))
    assert measures(large)[1:] == pytest.approx(measures(dense)[1:], abs=1e-12)
    assert large.distortion == pytest.approx(dense.distortion, abs=1e-12)
    assert large.capacity.lower <= dense.capacity.upper
    assert dense.capacity.lower <= large.capacity.upper
    assert large.capacity.gap <= 4e-3
    assert all(note.startswith("independent was left out") for note in large.notes)


@pytest.mark.slow
def test_a_profile_of_very_many_records() -> None:
    profile = dl.mechanisms.geometric(dl.queries.count(n=3000), epsilon=1).profile(
        unit="bits", tolerance=0.03, time_limit=600
    )
    known = [audit.knowledge * math.log(2) for audit in profile.leakage.audits]
    assert known == pytest.approx([3000 * math.log(2), 3, 1, 0.5, 0.2, 0.05, 0])
    assert profile.leakage.lower[:3] == pytest.approx(1, abs=0.03)
    assert profile.leakage.upper[-1] < 0.03
    assert profile.record_min_entropy_leakage < profile.capacity.lower < profile.maximal_leakage
    assert (profile.dp_epsilon, profile.dp_delta) == (pytest.approx(1), 0)
    assert profile.distortion == pytest.approx(1 / math.sinh(1), abs=1e-12)
    text = profile.summary()
    assert "knowledge =  0.7213 bits: " in text  # values of b would all read 3000
    assert "b = 3000" not in text
    axes = profile.plot().axes[0]
    assert axes.get_xscale() == "symlog"
    assert axes.get_ylim()[1] > profile.maximal_leakage
    assert "knowledge = " not in dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1).profile([0, 1]).summary()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_done_to_the_output_never_adds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = drawn(20 + seed, [2, 2], 4)
    before = quick(Mechanism.from_matrix(matrix, [2, 2]))
    after = quick(Mechanism.from_matrix(matrix @ rng.dirichlet(np.ones(3), size=4), [2, 2]))
    for less, more in zip(measures(after), measures(before), strict=True):
        assert less is not None
        assert more is not None
        assert less <= more + 1e-9


def test_distortion_wherever_the_outputs_are_answers() -> None:
    count = dl.queries.count(n=4)
    geometric = dl.mechanisms.geometric(count, epsilon=1)
    sizes = np.array([1, 4, 6, 4, 1]) / 16
    error = float(sizes @ (geometric.rows * np.abs(np.subtract.outer(np.arange(5), np.arange(5)))).sum(axis=1))
    assert quick(geometric).distortion == pytest.approx(error, abs=1e-12)
    design = dl.design(dl.queries.count(n=2), distortion=0.3, knowledge=0.5, tolerance=0.05)  # rows by counts of values
    assert quick(design.mechanism).distortion == pytest.approx(design.distortion, abs=1e-9)
    pair = dl.queries.count(n=2)
    wrong_once = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1.0]])  # one row per dataset, 1,0 answered with 2
    full = Written(Table.everything((2, 2)), wrong_once, pair.labels, pair)
    assert quick(full).distortion == pytest.approx(0.25, abs=1e-12)
    assert quick(dl.mechanisms.randomized_response(count, epsilon=1)).distortion is None
    assert quick(random_channel([2, 2], 3, 1)).distortion is None
    assert quick(Mechanism.from_rows(count, np.eye(5), labels=list("abcde"))).distortion is None


def test_a_measure_that_would_not_fit_is_left_out_and_the_rest_stays() -> None:
    unwritten = dl.mechanisms.geometric(dl.queries.histogram(n=10_000, k=3), epsilon=1)
    profile = unwritten.profile(entropies=[unwritten.log_universe], tolerance=1e-2)
    assert profile.dp_epsilon == pytest.approx(1.0)
    assert profile.dp_delta is None
    left_out = [note for note in profile.notes if note.startswith("dp_delta was left out: ")]
    assert len(left_out) == 1
    assert "too many to write out" in left_out[0]
    assert left_out[0] in profile.summary()
    assert profile.to_dict()["dp_delta"] is None
    assert "capacity not computed" in repr(profile)


def test_the_dictionary_is_json_and_says_everything() -> None:
    profile = dl.mechanisms.symmetric(dl.queries.count(n=2), flip=0).profile([0, 1.0])
    said = json.loads(json.dumps(profile.to_dict(), allow_nan=False))
    assert set(said) >= {"unit", "leakage", "independent", "capacity", "distortion", "notes", "stopped", "seconds"}
    assert said["dp_epsilon"] is None  # infinite
    assert [point["entropy"] for point in said["leakage"]] == [0, 1]
    assert said["capacity"]["lower"] <= math.log(3) <= said["capacity"]["upper"]
    assert said["min_entropy_leakage"] == said["maximal_leakage"]


def test_words_and_html_name_every_measure_and_its_unit() -> None:
    profile = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1).profile([0, 1], unit="bits")
    text = profile.summary()
    for words in ("geometric(epsilon=1) of count(n=2)", "I(X_i;Y)", "max I(X;Y)", "maximal leakage", "min-entropy"):
        assert words in text
    assert "epsilon = 1: max log" in text
    assert "delta = 0 at epsilon = 1" in text
    assert "expected |y - f(x)|" in text
    assert "nats" not in text
    assert "  entropy = 0 bits: " in text
    assert "<table>" in profile._repr_html_()
    assert repr(profile).startswith("<Profile of <Mechanism geometric(epsilon=1) of count(n=2)")
    assert "bits" in repr(profile)


def test_the_picture_has_a_line_for_each_other_measure() -> None:
    profile = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1).profile([0, 1])
    axes = profile.plot().axes[0]
    labels = axes.get_legend_handles_labels()[1]
    levels = [float(np.asarray(line.get_ydata())[0]) for line in axes.lines if len(set(line.get_ydata())) == 1]
    for level in (profile.capacity.upper, profile.maximal_leakage, profile.record_entropy):
        assert level in levels
        assert level < axes.get_ylim()[1]
    assert sum(name.startswith(("capacity", "maximal leakage", "log|A|")) for name in labels) == 3
    mine = Figure().subplots()
    assert profile.plot(mine) is mine.figure


def test_time_is_shared_and_every_point_has_a_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def solve(problem: AuditProblem, options: Options) -> Audit:
        limits.append(options.time_limit)
        return audits.solve(problem, options)

    monkeypatch.setattr("dalenius.tools.profile.solve", solve)
    mechanism = MECHANISMS[1]
    options = Options.from_user(unit="nats", tolerance=0.1, time_limit=60.0, seed=0, progress=False)
    points = [Adversary.from_user(mechanism.records, entropy=b) for b in (0, 1, 2)]
    with Deadline(1e-3) as deadline:
        assert len(audited(mechanism, points, options, deadline)) == 3
    assert limits == [0.05, 0.05, 0.05]
    with Deadline(40.0) as deadline:
        audited(mechanism, points[:2], options, deadline)
    assert 15 < limits[3] <= 20
    assert 20 < limits[4] <= 40
    assert len(mechanism.profile([0, 1, 2], time_limit=1e-3).leakage.audits) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entropies": []}, "entropies is empty"),
        ({"entropies": 3}, r"entropies = 3 must list values of b, such as \[0, 0.5, 1\]"),
        ({"entropies": [0, 9]}, "entropy = 9.0 nats is not between 0 and log"),
        ({"entropies": ["a"]}, "entropy = 'a' is not a number"),
        ({"epsilon": -1}, "epsilon = -1 is out of range"),
        ({"unit": "bytes", "entropies": [0]}, "unit = 'bytes' is unknown"),
    ],
)
def test_bad_input_is_refused_before_any_work(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dalenius.tools.profile.capacity", None)
    refuses(message, MECHANISMS[0].profile, **options)


def test_both_adversaries_stand_side_by_side() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
    found = mechanism.profile([1.0], tolerance=1e-3, time_limit=20)
    assert found.independent is not None
    # Records independent and a count with geometric noise of epsilon 1: the same at every n.
    assert found.independent.lower <= 0.110944 + 1e-6
    assert found.independent.upper >= 0.110944 - 1e-6
    assert found.independent.gap < 1e-5
    words = found.summary()
    assert "may believe that records depend on each other in any way, but its knowledge is limited" in words
    assert "believes that records are independent, and may know every record but one" in words
    assert found.to_dict()["independent"]["upper"] == found.independent.upper


def test_a_reference_is_where_knowledge_counts_from() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1)
    law = [0.9, 0.1]
    found = mechanism.profile(reference=law, tolerance=1e-3, time_limit=20)
    for audit in found.leakage.audits:
        again = dl.audit(mechanism, knowledge=audit.knowledge, reference=law, tolerance=1e-3)
        assert max(audit.lower, again.lower) <= min(audit.upper, again.upper)
    exact = dl.audit(mechanism, adversary="independent", reference=law)
    assert found.independent is not None
    assert found.independent.upper == pytest.approx(exact.upper, abs=1e-3)
    assert "knowledge = " in found.summary()
    assert "follow the reference independently" in found.summary()
    refuses("entropy counts from the uniform prior", mechanism.profile, [0.5], reference=law)


def test_points_may_be_given_as_knowledge_and_are_near_one_record_by_default() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=8), epsilon=1)
    found = mechanism.profile(tolerance=1e-2)
    assert [round(k, 3) for k in found.leakage.knowledges[1:]] == [3.0, 1.0, 0.5, 0.2, 0.05, 0.0]
    chosen = mechanism.profile(knowledges=[0.1, 0.4], unit="bits", tolerance=1e-2)
    assert chosen.leakage.knowledges == pytest.approx((0.1, 0.4))
    assert "knowledge = 0.1 bits" in chosen.summary()
    refuses("entropies and knowledges were both given", mechanism.profile, [1.0], knowledges=[0.1])
