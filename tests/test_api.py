"""The whole audit: invariants as properties, extremes, limits and refusals."""

import itertools
import math
import time
import warnings

import brute_force
import numpy as np
import pytest
from cases import LN2, named, parity_leakage, random_channel
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import Floats
from refusals import refuses
from verdicts import holds

import dalenius as dl
from dalenius.results.audit import Audit
from dalenius.search.deadline import Progress

few = settings(max_examples=5)
TOLERANCE = 1e-3  # of properties: they are about brackets, and those are quick
SHAPES = [((2, 2), 2), ((2, 2), 3), ((3, 2), 2), ((2, 3), 3), ((2, 2, 2), 2), ((4,), 3), ((1, 2, 2), 2)]


@st.composite
def channels(draw: st.DrawFn) -> tuple[Floats, tuple[int, ...], float]:
    """A small channel, its records, and a share of log|X|; some entries are zero, some rows equal."""
    records, outputs = draw(st.sampled_from(SHAPES))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = rng.dirichlet(np.full(outputs, draw(st.sampled_from([0.3, 1.0]))), size=math.prod(records))
    if draw(st.booleans()):
        rows[rng.integers(len(rows)), rng.integers(outputs)] = 0
        rows[-1] = rows[0]
        rows /= rows.sum(axis=1, keepdims=True)
    return rows, records, draw(st.sampled_from([0.0, 0.3, 0.6, 0.85, 0.97]))


def audited(rows: Floats, records: tuple[int, ...], entropy: float, tolerance: float = TOLERANCE) -> Audit:
    mechanism = dl.Mechanism.from_matrix(rows, records=records)
    audit = dl.audit(mechanism, entropy=entropy, tolerance=tolerance, time_limit=20)
    assert 0 <= audit.lower <= audit.upper
    return audit


def meet(one: Audit, other: Audit) -> bool:
    """Whether both brackets may hold the same number, and both are narrow."""
    return max(one.lower, other.lower) <= min(one.upper, other.upper) and max(one.gap, other.gap) <= TOLERANCE


@few
@given(channels())
def test_brackets_hold_what_brute_force_finds_and_certificates_are_verified(
    drawn: tuple[Floats, tuple[int, ...], float],
) -> None:
    rows, records, share = drawn
    b = share * math.log(len(rows))
    audit = audited(rows, records, b)
    best = brute_force.attained(rows, records, b, starts=4)
    assert audit.upper >= best - 1e-10
    assert audit.gap <= TOLERANCE
    assert audit.lower >= best - TOLERANCE
    answer = holds(audit, audit.mechanism)
    assert (answer.lower, answer.upper) == (audit.lower, audit.upper)
    weights = audit.prior.weights()
    assert brute_force.entropy(weights) >= b - 1e-10
    assert brute_force.leaks(weights, rows, records) >= audit.lower - 1e-12


@pytest.mark.slow
@few
@given(channels())
def test_leakage_falls_as_entropy_rises(drawn: tuple[Floats, tuple[int, ...], float]) -> None:
    rows, records, _ = drawn
    most = math.log(len(rows))
    curve = [audited(rows, records, share * most) for share in (0.0, 0.6, 0.95)]
    for k, earlier in enumerate(curve):
        for later in curve[k:]:
            assert later.lower <= earlier.upper


@few
@given(channels())
def test_leakage_is_at_most_the_logarithms(drawn: tuple[Floats, tuple[int, ...], float]) -> None:
    rows, records, share = drawn
    audit = audited(rows, records, share * math.log(len(rows)))
    assert audit.upper <= math.log(min(max(records), rows.shape[1])) + 1e-10
    for bracket in audit.records:
        assert bracket.upper <= math.log(records[bracket.record]) + 1e-10 if records[bracket.record] > 1 else 1e-10
        assert bracket.lower <= audit.upper
        assert bracket.upper <= audit.upper


@pytest.mark.slow
@few
@given(channels(), st.integers(0, 1000))
def test_names_do_not_matter(drawn: tuple[Floats, tuple[int, ...], float], seed: int) -> None:
    rows, records, share = drawn
    rng = np.random.default_rng(seed)
    b = share * math.log(len(rows))
    first = audited(rows, records, b)
    assert meet(first, audited(rows[:, rng.permutation(rows.shape[1])], records, b))
    cube = rows.reshape(*records, -1)
    for j, k in enumerate(records):  # the values of each record
        cube = np.take(cube, rng.permutation(k), axis=j)
    assert meet(first, audited(cube.reshape(rows.shape), records, b))
    order = rng.permutation(len(records))  # the records
    turned = rows.reshape(*records, -1).transpose(*order, len(records)).reshape(rows.shape)
    assert meet(first, audited(turned, tuple(records[i] for i in order), b))


@pytest.mark.slow
@few
@given(channels(), st.integers(0, 1000))
def test_post_processing_never_raises_leakage(drawn: tuple[Floats, tuple[int, ...], float], seed: int) -> None:
    rows, records, share = drawn
    b = share * math.log(len(rows))
    after = rows @ np.random.default_rng(seed).dirichlet(np.ones(3), size=rows.shape[1])
    assert audited(after, records, b).lower <= audited(rows, records, b).upper


@pytest.mark.slow
@few
@given(channels(), st.sampled_from([0.1, 0.5, 0.9]))
def test_mixing_with_a_constant_scales_leakage_down(drawn: tuple[Floats, tuple[int, ...], float], c: float) -> None:
    rows, records, share = drawn
    b = share * math.log(len(rows))
    before = audited(rows, records, b)
    mixed = (1 - c) * rows
    mixed[:, 0] += c
    assert audited(mixed, records, b).lower <= (1 - c) * before.upper
    erased = np.column_stack([(1 - c) * rows, np.full(len(rows), c)])  # an output of its own: exactly the factor
    told = audited(erased, records, b)
    assert told.lower <= (1 - c) * before.upper + 1e-12
    assert told.upper >= (1 - c) * before.lower - 1e-12


@pytest.mark.slow
@few
@given(channels())
def test_splitting_an_output_changes_nothing(drawn: tuple[Floats, tuple[int, ...], float]) -> None:
    rows, records, share = drawn
    b = share * math.log(len(rows))
    split = np.column_stack([rows[:, 0] * 0.25, rows[:, 1:], rows[:, 0] * 0.75, np.zeros(len(rows))])
    one, two = audited(rows, records, b), audited(split, records, b)
    assert meet(one, two)
    assert dl.verify(two, two.mechanism).verified


@pytest.mark.parametrize(
    ("query", "mechanism", "b"),
    [
        ("count(n=3)", "geometric(epsilon=1)", 1.2),
        ("modular_sum(n=4, modulus=2)", "symmetric(flip=0.2)", 2.3),
        pytest.param("modular_sum(n=4, modulus=3)", "symmetric(flip=0.2)", 2.0, marks=pytest.mark.slow),
        pytest.param("pairs(n=3)", "exponential(epsilon=2)", 1.5, marks=pytest.mark.slow),
        pytest.param("total(n=2, values=[0, 1, 3])", "laplace(epsilon=2)", 1.6, marks=pytest.mark.slow),
        pytest.param("histogram(n=2, k=2)", "geometric(epsilon=1)", 1.0, marks=pytest.mark.slow),
        ("count(n=2)", "randomized_response(epsilon=1)", 1.0),
    ],
)
def test_lumped_answers_equal_those_on_the_full_matrix(query: str, mechanism: str, b: float) -> None:
    lumped = named(query, mechanism)
    full = dl.Mechanism.from_matrix(lumped.matrix(), records=lumped.records)
    one, two = (dl.audit(m, entropy=b, tolerance=TOLERANCE) for m in (lumped, full))
    assert meet(one, two)
    for audit, mechanism_ in ((one, lumped), (two, full)):
        holds(audit, mechanism_)


def test_numpy_random_state_is_left_alone() -> None:
    np.random.seed(1)
    before = np.random.random(3)
    np.random.seed(1)
    dl.audit(random_channel([2, 2], 2, 0), entropy=0.5, tolerance=1e-2)
    assert (np.random.random(3) == before).all()


@pytest.mark.parametrize("limit", [1e-9, 1e-3, 0.05])
def test_the_shortest_limit_still_gives_a_true_bracket(limit: float) -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=1)")
    audit = dl.audit(mechanism, entropy=2.0, time_limit=limit, tolerance=1e-9, relative=0)
    assert audit.stopped in ("time_limit", "nearly")
    assert audit.lower - 5e-5 <= 0.37404711931908063 <= audit.upper + 5e-5
    assert audit.upper <= LN2 + 1e-10
    holds(audit, mechanism)


def test_the_limit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that moves a millisecond whenever it is read: soon after the limit nobody reads it any more."""
    readings = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(readings) / 1000)
    mechanism = named("count(n=12)", "geometric(epsilon=2)")
    audit = dl.audit(mechanism, entropy=6.0, time_limit=1.0, tolerance=1e-12, relative=0, verify=False)
    assert audit.stopped == "time_limit"
    assert 1000 <= next(readings) < 1100


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-7])
def test_the_tolerance_is_honoured(tolerance: float) -> None:
    mechanism = named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.1)")
    audit = dl.audit(mechanism, entropy=1.5, tolerance=tolerance, relative=0)
    assert audit.stopped == "gap"
    assert audit.gap <= tolerance
    assert audit.closed
    assert audit.lower <= 0.3276104430948443 <= audit.upper
    if tolerance >= 1e-3:
        assert audit.nodes < dl.audit(mechanism, entropy=1.5, tolerance=1e-7, relative=0).nodes


def test_records_of_different_alphabets() -> None:
    # Record 1 alone reaches the output, so record 0 leaks by being correlated with it.
    rows = np.kron(np.ones((2, 1)), [[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]])
    audit = audited(rows, (2, 3), 0.0, 1e-6)
    low, high = brute_force.capacity(rows[:3])
    assert audit.record == 1
    assert audit.lower - 1e-9 <= high
    assert audit.upper + 1e-9 >= low
    assert audit.gap <= 1e-6
    binary = max(brute_force.capacity(rows[[i, j]])[0] for i in range(3) for j in range(i))
    told = {r.record: r for r in audit.records}
    assert told[0].lower <= binary + 1e-9 <= told[0].upper + 2e-9
    assert [r.record for r in audit.records] == [1, 0]


def test_the_lowest_of_tied_records_is_named() -> None:
    one = [[0.9, 0.1], [0.1, 0.9]]
    rows = np.array([np.outer(one[a], one[b]).ravel() for a in range(2) for b in range(2)])
    for seed in range(2):
        audit = dl.audit(dl.Mechanism.from_matrix(rows, records=[2, 2]), entropy=1.2, tolerance=1e-3, seed=seed)
        assert audit.record == 0
        assert audit.prior.record == 0
        assert audit.certificate.data["witness"]["record"] == 0


def test_the_extremes_enclose_the_answer() -> None:
    mechanism = random_channel([2, 3], 3, 8)
    audit = dl.audit(mechanism, entropy=1.2, tolerance=TOLERANCE)
    low, high = audit.extremes.unconstrained
    cube = mechanism.matrix().reshape(2, 3, 3)
    brackets = [brute_force.best_choice(list(rows)) for rows in (cube, cube.transpose(1, 0, 2))]
    assert low <= max(b[1] for b in brackets)
    assert high >= max(b[0] for b in brackets)
    assert audit.lower <= high
    assert audit.extremes.uniform == pytest.approx(
        brute_force.leaks(np.full(6, 1 / 6), mechanism.matrix(), [2, 3]), abs=1e-12
    )
    assert audit.extremes.uniform <= audit.upper


@pytest.mark.parametrize("last", [[1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0]])
def test_the_extremes_are_numbers(last: list[float]) -> None:
    # Zeros drive masses of the unconstrained optimum below 1e-200, where products of them vanish.
    rows = [[0.4413417462502209, 0.5586582537497792, 0.0], [1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0], last]
    audit = dl.audit(dl.Mechanism.from_matrix(rows, records=[2, 2]), entropy=0.7 * math.log(4))
    low, high = audit.extremes.unconstrained
    assert audit.lower <= high
    assert 0 <= low <= high <= LN2 + 1e-10


def test_a_curve_falls() -> None:
    mechanism = named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.2)")
    entropies = np.linspace(0, 3 * LN2, 7)
    curve = dl.curve(mechanism, entropies=entropies, tolerance=1e-5, relative=0)
    truth = np.array([parity_leakage(3, 0.2, min(b, 3 * LN2)) for b in entropies])
    assert (curve.lower <= truth + 1e-8).all()
    assert (curve.upper >= truth - 1e-8).all()
    assert (np.diff(curve.lower) <= 1e-5).all()
    assert (curve.upper - curve.lower <= 1e-5).all()
    known = dl.curve(mechanism, knowledges=np.array([0.1, 0.5]), tolerance=1e-5)
    assert known.knowledges == pytest.approx([0.1, 0.5])
    refuses("entropies", dl.curve, mechanism, entropies=[])
    refuses("between 0 and", dl.curve, mechanism, entropies=[0.0, 9.0])


def neighbours(x: float) -> list[float]:
    return [math.nextafter(x, 0), x, math.nextafter(x, 9), x + 1e-9]


@pytest.mark.parametrize("b", neighbours(math.log(6)))
def test_entropy_at_and_about_its_most(b: float) -> None:
    mechanism = random_channel([2, 3], 3, 2)
    audit = dl.audit(mechanism, entropy=b)
    at_uniform = brute_force.leaks(np.full(6, 1 / 6), mechanism.matrix(), [2, 3])
    assert audit.lower - 1e-7 <= at_uniform <= audit.upper + 1e-12
    assert audit.gap <= 1e-5
    holds(audit, mechanism)


@pytest.mark.parametrize("knowledge", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
def test_a_little_knowledge_goes_as_its_root(knowledge: float) -> None:
    # Parity leaks nothing to an adversary that knows nothing; then L = 2 (1-2p)^2 K + o(K) for it, and
    # for a channel that leaks at the uniform prior L - I(uniform) moves like the root of K.
    parity = named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.1)")
    audit = dl.audit(parity, knowledge=knowledge)
    truth = parity_leakage(3, 0.1, 3 * LN2 - knowledge)
    assert audit.lower <= truth + 1e-9
    assert audit.upper >= truth - 1e-9
    assert audit.gap <= 1e-5
    assert dl.verify(audit, parity).verified

    mechanism = random_channel([2, 2], 3, 3)
    audit = dl.audit(mechanism, knowledge=knowledge)
    at_uniform = brute_force.leaks(np.full(4, 1 / 4), mechanism.matrix(), [2, 2])
    assert audit.upper >= at_uniform - 1e-14
    assert audit.lower <= at_uniform + 3 * math.sqrt(knowledge)
    if knowledge >= 1e-9:
        assert audit.lower >= at_uniform + 0.05 * math.sqrt(knowledge)
    assert audit.gap <= 1e-5
    holds(audit, mechanism)


@pytest.mark.parametrize(
    ("rows", "records", "value"),
    [
        ([[1.0]], [1], 0.0),
        ([[0.4, 0.6]], [1, 1], 0.0),
        ([[1.0]] * 4, [2, 2], 0.0),
        ([[1.0, 0.0]] * 4, [2, 2], 0.0),
        ([[1.0, 0.0], [0.0, 1.0]], [2], LN2),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [1, 2], LN2),
        (np.eye(4).tolist(), [2, 2], LN2),
        (np.eye(9)[:, ::-1].tolist(), [3, 3], math.log(3)),
        ([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [2, 2], LN2),
    ],
)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
def test_noiseless_constant_and_single_valued(
    rows: list[list[float]], records: list[int], value: float, tolerance: float
) -> None:
    mechanism = dl.Mechanism.from_matrix(rows, records=records)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit = dl.audit(mechanism, entropy=0.0, tolerance=tolerance)
    assert audit.lower <= value <= audit.upper
    assert audit.gap <= tolerance
    assert audit.extremes.unconstrained[0] <= value <= audit.extremes.unconstrained[1]
    holds(audit, mechanism)


@pytest.mark.parametrize("flip", [0.0, 1e-300, 1e-17, 1e-12, 1e-6])
@pytest.mark.parametrize("b", [0.0, 1.7])
def test_nearly_noiseless(flip: float, b: float) -> None:
    mechanism = named("modular_sum(n=3, modulus=2)", f"symmetric(flip={flip})")
    audit = dl.audit(mechanism, entropy=b, relative=0)
    truth = parity_leakage(3, flip, b)
    assert audit.lower <= truth + 1e-12
    assert audit.upper >= truth - 1e-12
    assert audit.gap <= 1e-5
    holds(audit, mechanism)


@pytest.mark.parametrize("epsilon", [1e-8, 1e-4, 50.0, 800.0])
def test_extreme_noise(epsilon: float) -> None:
    mechanism = named("count(n=3)", f"geometric(epsilon={epsilon})")
    audit = dl.audit(mechanism, entropy=1.0)
    best = brute_force.attained(mechanism.matrix(), [2] * 3, 1.0, starts=4)
    assert audit.upper >= best - 1e-10
    assert audit.gap <= 1e-5
    holds(audit, mechanism)


def test_a_million_records() -> None:
    mechanism = named("modular_sum(n=1000000, modulus=2)", "symmetric(flip=0.1)")
    audit = dl.audit(mechanism, entropy=999_999.5 * LN2, relative=0)
    assert audit.lower == pytest.approx(parity_leakage(10, 0.1, 9.5 * LN2), abs=1e-6)
    assert audit.gap <= 1e-5
    assert len(audit.records) == 10**6
    assert dl.verify(audit, mechanism).verified


def test_progress_is_told_and_narrows() -> None:
    told: list[Progress] = []
    audit = dl.audit(named("count(n=4)", "geometric(epsilon=1)"), entropy=2.5, tolerance=1e-4, progress=told.append)
    assert told
    assert all(p.lower <= audit.upper for p in told)
    assert all(p.upper >= audit.lower for p in told)
    assert all(a.upper >= b.upper and a.lower <= b.lower for a, b in itertools.pairwise(told))


def test_progress_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    dl.audit(named("count(n=3)", "geometric(epsilon=1)"), entropy=1.0, tolerance=1e-2, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "[0." in captured.err


@pytest.mark.parametrize(
    "answers",
    [[(), (0,), (0, 1)], [0, "0", (1,)], [1, "1", "a"], [1.5, 2.5, 4.0]],
    ids=["ragged", "mixed", "texts", "reals"],
)
def test_answers_of_any_kind(answers: list[object]) -> None:
    query = dl.queries.function([2, 2], lambda x: answers[sum(x)])
    mechanism = dl.mechanisms.symmetric(query, flip=0.2)
    audit = dl.audit(mechanism, knowledge=0.3, tolerance=TOLERANCE)
    same = dl.audit(named("count(n=2)", "symmetric(flip=0.2)"), knowledge=0.3, tolerance=TOLERANCE)
    assert meet(audit, same)
    holds(audit, mechanism)


@pytest.mark.parametrize(("records", "seed"), [([2, 2], 3), ([3], 4)])
def test_a_tolerance_below_rounding_leaves_a_verified_bracket(records: list[int], seed: int) -> None:
    mechanism = random_channel(records, 3, seed)
    audit = dl.audit(mechanism, knowledge=0.2, tolerance=1e-13, time_limit=0.2)
    b = mechanism.log_universe - 0.2
    assert audit.upper >= brute_force.attained(mechanism.matrix(), records, b, starts=4) - 1e-10
    holds(audit, mechanism)


@pytest.mark.parametrize("shares", [[0.0, 0.3, 0.6, 0.8, 0.95, 1.0], [1.0, 0.8, 0.6, 0.3, 0.0]], ids=["up", "down"])
def test_a_curve_says_what_its_audits_say(shares: list[float]) -> None:
    """Whatever one point hands to the next, every point has a proof of its own."""
    for mechanism in (random_channel((2, 3), 3, 4), dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=0.7)):
        points = [share * mechanism.log_universe for share in shares]
        curve = dl.curve(mechanism, entropies=points, tolerance=1e-5, relative=0)
        for b, point in zip(points, curve.audits, strict=True):
            alone = dl.audit(mechanism, entropy=b, tolerance=1e-5, relative=0)
            assert point.gap <= 1e-5
            assert max(point.lower, alone.lower) <= min(point.upper, alone.upper)
            holds(point, mechanism)


def test_by_default_a_gap_of_a_thousandth_ends_an_audit() -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=1)")
    usual, fine = dl.audit(mechanism, knowledge=1.0), dl.audit(mechanism, knowledge=1.0, relative=0)
    assert usual.stopped == fine.stopped == "gap"
    assert 1e-6 < usual.gap <= 1e-3 * usual.upper
    assert fine.gap <= 1e-6
    assert "within 0.1 % of the upper bound" in usual.summary()


def test_progress_never_shows_more_than_the_secret_holds() -> None:
    seen: list[float] = []
    for mechanism in (named("count(n=20)", "geometric(epsilon=1)"), named("count(n=300)", "laplace(epsilon=1)")):
        dl.audit(mechanism, knowledge=0.5, relative=0.05, progress=lambda state: seen.append(state.upper))
    assert len(seen) > 2
    assert max(seen) <= LN2 + 1e-9
