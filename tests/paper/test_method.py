"""Audits and designs by the paper's method: true whatever the search misses, and honest about what it proves."""

import math

import brute_force
import numpy as np
import pytest
from cases import LN2, named, parity_distortion, parity_leakage, random_channel
from refusals import refuses
from verdicts import holds

import dalenius as dl
from dalenius.model.gallery.parse import parse_query
from dalenius.results.audit import Audit
from dalenius.results.design import Design

LAPLACE = named("modular_sum(n=4, modulus=2)", "laplace(epsilon=1)")
PARITY = parse_query("modular_sum(n=2, modulus=2)")
OURS = ("gradient", "escort", "hinge", "penalty_owner")  # all repairs by choice
SMALL = named("modular_sum(n=3, modulus=2)", "laplace(epsilon=1)")
FEW_STARTS = dl.paper.Method(starts=3)
ONE_START = dl.paper.Method(design_starts=1, check_starts=1)


def checked(audit: Audit) -> Audit:
    """What holds of every audit by the paper's method: a verified witness, and nothing claimed above."""
    assert (audit.method, audit.proved, audit.bounds) == ("paper", "lower", "trivial")
    nats = 1.0 if audit.unit == "nats" else LN2
    mechanism = audit.mechanism
    ceilings = [math.log(min(k, len(mechanism.labels))) / nats for k in mechanism.records]
    assert audit.upper == pytest.approx(max(ceilings), abs=1e-12)
    assert audit.upper >= max(ceilings)
    holds(audit, mechanism)
    weights = audit.prior.weights()
    assert brute_force.entropy(weights) >= audit.adversary.entropy - 1e-10
    assert audit.lower <= audit.prior.leakage() / nats <= audit.lower + 2e-12 / nats
    assert audit.extremes.unconstrained[0] >= audit.lower - 1e-12
    for bracket in audit.records:
        assert 0 <= bracket.lower <= audit.lower + 1e-15
        assert ceilings[bracket.record] <= bracket.upper <= ceilings[bracket.record] + 1e-12
    assert audit.nodes == len(audit.history)
    return audit


def designed(design: Design) -> Design:
    """What holds of every design by the paper's method: a verified mechanism, and no bound from below."""
    assert (design.method, design.proved, design.lower) == ("paper", "upper", 0.0)
    assert (design.leakage.method, design.leakage.proved) == ("certified", "both")
    assert design.rounds == len(design.history)
    answer = holds(design, design.mechanism)
    holds(design.leakage, design.mechanism)
    if design.goal == "leakage":
        assert design.distortion <= design.budget
        assert design.upper == design.leakage.upper
        assert answer.quantity == "eps(D,b)"
    elif design.kept:
        assert design.upper == design.distortion
        assert answer.quantity == "D(L,b)"
    else:
        assert design.leakage.upper > design.budget
        assert answer.quantity == "L"
        assert "budget NOT kept" in repr(design)
    return design


@pytest.mark.parametrize(("records", "outputs", "seed"), [([2, 3], 4, 0), ([2, 2], 3, 1), ([4], 3, 2), ([1, 2], 2, 3)])
def test_every_record_has_its_own_bracket_and_none_is_above_the_truth(
    records: list[int], outputs: int, seed: int
) -> None:
    mechanism = random_channel(records, outputs, seed)
    found = checked(dl.audit(mechanism, knowledge=0.3, method=FEW_STARTS))
    truth = {r.record: r for r in dl.audit(mechanism, knowledge=0.3, tolerance=1e-3).records}
    assert sorted(r.record for r in found.records) == list(range(len(records)))
    for r in found.records:
        assert r.lower <= truth[r.record].upper + 1e-12  # of other records than the worst the prior is not kept
    assert found.lower <= max(r.upper for r in truth.values())


def test_tied_records_are_named_by_the_lowest_index() -> None:
    both = dl.Mechanism.from_matrix([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]], records=[2, 2])
    assert checked(dl.audit(both, knowledge=0.0, method="paper")).record == 0
    last = dl.Mechanism.from_matrix([[0.9, 0.1], [0.1, 0.9]] * 2, records=[2, 2])
    audit = checked(dl.audit(last, entropy=0.5, method="paper"))
    assert (audit.record, audit.records[0].record) == (1, 1)


@pytest.mark.parametrize("knowledge", [0.0, 1e-15, 1e-12, 1e-9, 1e-6, math.inf])
def test_witnesses_are_allowed_at_the_ends(knowledge: float) -> None:
    audit = checked(dl.audit(SMALL, knowledge=knowledge, method=FEW_STARTS))
    b = max(0.0, 3 * LN2 - knowledge)
    assert audit.lower <= parity_leakage(3, float(SMALL.rows[0, 1]), b) + 1e-12
    if knowledge == 0:
        np.testing.assert_allclose(audit.prior.weights(), 1 / 8, rtol=1e-12)
    mechanism = named("count(n=3)", "geometric(epsilon=1)")
    leaky = checked(dl.audit(mechanism, knowledge=knowledge, method=FEW_STARTS))
    assert leaky.extremes.uniform == pytest.approx(brute_force.leaks(np.full(8, 1 / 8), mechanism.matrix(), [2] * 3))
    if knowledge <= 1e-9:
        assert leaky.lower == pytest.approx(leaky.extremes.uniform, abs=1e-3)


@pytest.mark.parametrize(
    ("rows", "records"),
    [([[1.0]], [1]), ([[0.4, 0.6]], [1, 1]), ([[1.0]] * 4, [2, 2]), (np.eye(4).tolist(), [2, 2])],
)
def test_constant_noiseless_and_single_valued(rows: list[list[float]], records: list[int]) -> None:
    audit = checked(dl.audit(dl.Mechanism.from_matrix(rows, records=records), entropy=0.0, method="paper"))
    assert (audit.stopped, audit.closed) == ("gap", True)
    assert audit.lower == pytest.approx(LN2 if len(rows[0]) == 4 else 0.0, abs=1e-4)


def test_a_tiny_time_limit_leaves_a_sound_result() -> None:
    audit = checked(dl.audit(LAPLACE, entropy=2.5, method="paper", time_limit=1e-6))
    assert audit.stopped == "time_limit"
    assert {step.start for step in audit.history} == {0}
    design = designed(dl.design(PARITY, distortion=0.1, entropy=0.0, method="paper", time_limit=1e-6))
    assert design.stopped == "time_limit"
    assert design.upper >= parity_leakage(2, 0.1, 0.0)


def test_what_is_too_large_or_unknown_is_refused_at_once() -> None:
    for mechanism in (
        named("count(n=13)", "geometric(epsilon=1)"),
        named("modular_sum(n=5000, modulus=2)", "symmetric(flip=0.1)"),
    ):
        with pytest.raises(
            dl.InputError, match=r'datasets x \d+ outputs, above its limit of 32768.*method="certified"'
        ):
            dl.audit(mechanism, knowledge=1.0, method="paper")
    with pytest.raises(dl.InputError, match=r"1024 datasets x 2 outputs, above its limit of 1024 entries for a design"):
        dl.design(parse_query("modular_sum(n=10, modulus=2)"), distortion=0.1, knowledge=1.0, method="paper")
    for call in (lambda **o: dl.audit(SMALL, **o), lambda **o: dl.design(PARITY, distortion=0.1, **o)):
        refuses("method = 'papper' is unknown; use 'certified' or 'paper'", call, entropy=1.0, method="papper")


def test_the_alternation_believes_too_little_and_the_audit_says_so() -> None:
    design = designed(dl.design(PARITY, distortion=0.1, entropy=0.0, method="paper", repairs=OURS))
    assert design.reported is not None
    assert design.reported < 0.25 < parity_leakage(2, 0.1, 0.0) < 0.6 < design.leakage.lower
    assert design.stopped == "method"
    assert {step.start for step in design.history} == set(range(5))
    assert (
        f"the alternation reports {design.reported:.4g} nats; the mechanism it returns leaks 0.69" in design.summary()
    )


@pytest.mark.parametrize("distortion", [0.0, pytest.param(0.05, marks=pytest.mark.nightly), 0.5, 3.0])
def test_the_least_leakage_is_bounded_from_above(distortion: float) -> None:
    design = designed(dl.design(PARITY, distortion=distortion, entropy=0.5, method=ONE_START, tolerance=1e-3))
    assert design.upper >= parity_leakage(2, min(distortion, 0.5), 0.5)


def test_a_leakage_budget_that_is_not_kept() -> None:
    design = designed(dl.design(PARITY, leakage=0.1, entropy=0.0, method=ONE_START, repairs=OURS))
    assert not design.kept
    assert design.leakage.lower > design.budget
    assert design.reported == pytest.approx(0.1, abs=1e-6)
    assert design.upper == pytest.approx(0.5)  # what a constant does
    assert design.upper >= parity_distortion(2, 0.1, 0.0)
    assert design.certificate == design.leakage.certificate
    assert "it exceeds its budget of 0.1 nats" in design.summary()
    assert design.to_dict()["kept"] is False


@pytest.mark.parametrize(
    ("asked", "distortion"),
    [
        ({"leakage": 0.7, "entropy": 0.0}, 0.0),  # more than a record holds
        ({"leakage": 1.1, "entropy": 0.0, "unit": "bits"}, 0.0),
        ({"leakage": 0.05, "knowledge": 0.0}, 0.0),  # to the uniform prior a parity tells nothing
        ({"leakage": 0.0, "entropy": 0.0}, 0.5),
        ({"leakage": 0.0, "knowledge": 0.0}, 0.5),
    ],
)
def test_leakage_budgets_that_are_kept(asked: dict[str, float], distortion: float) -> None:
    design = designed(dl.design(PARITY, method=ONE_START, repairs=OURS, **asked))
    assert design.kept
    assert design.upper == pytest.approx(distortion, abs=1e-6)


@pytest.mark.slow
def test_data_measure_and_outputs_are_those_asked_for() -> None:
    query, options = parse_query("count(n=2)"), {"p0": [[0.8, 0.2]] * 2, "outputs": [0, 0.5, 2], "tolerance": 0.05}
    design = designed(dl.design(query, distortion=0.3, knowledge=0.5, unit="bits", method=ONE_START, **options))
    assert design.mechanism.rows.shape == (4, 3)
    best = dl.design(query, distortion=0.3, knowledge=0.5, unit="bits", **options)
    assert design.upper >= best.lower


@pytest.mark.slow
def test_as_printed_the_mechanism_is_moved_within_its_distortion_and_the_readings_differ() -> None:
    printed = designed(dl.design(PARITY, distortion=0.1, entropy=0.5, method=ONE_START))
    ours = designed(dl.design(PARITY, distortion=0.1, entropy=0.5, method=ONE_START, repairs=OURS))
    assert printed.history != ours.history
    proof = designed(dl.design(PARITY, leakage=0.1, entropy=0.0, method=ONE_START, reading="proof"))
    assert proof.leakage.upper < 0.3
    assert proof.history[-1].penalty > 1
    assert all(math.isfinite(step.worst) for step in proof.history)


def test_the_choice_of_repairs_reaches_algorithm_1() -> None:
    values = {
        repairs: checked(dl.audit(SMALL, entropy=1.0, method=FEW_STARTS, repairs=repairs)).history
        for repairs in (None, (), ("gradient", "entropy_share"), ("gradient", "escort"))
    }
    assert values[None] == values["gradient", "entropy_share"]
    assert len({tuple(history) for history in values.values()}) == 3
    curve = dl.curve(SMALL, [1.0], method=FEW_STARTS, repairs="gradient, escort")
    assert curve.audits[0].history == values["gradient", "escort"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"repairs": ["escort"]}, 'repairs is an option of method="paper"; give that as well, or leave it out'),
        ({"reading": "proof"}, 'reading is an option of method="paper"'),
        ({"method": "paper", "repairs": ["escrot"]}, "no repair 'escrot'; did you mean 'escort'"),
        ({"method": "paper", "repairs": [3]}, "no repair 3; by choice: gradient, entropy_share, escort, hinge"),
        ({"method": "paper", "reading": "loose"}, "reading = 'loose' is unknown; use 'proof' or 'strict'"),
        ({"method": "paper", "reading": "strict", "repairs": "penalty_owner"}, "both choose who sets the penalty"),
    ],
)
def test_choices_that_make_no_sense_are_refused(options: dict[str, object], words: str) -> None:
    for call in (lambda **o: dl.audit(SMALL, **o), lambda **o: dl.design(PARITY, distortion=0.1, **o)):
        refuses(words, call, entropy=1.0, **options)


def test_repairs_that_are_always_made_may_be_named() -> None:
    always = dl.audit(SMALL, entropy=1.0, method="paper", repairs=["armijo", "start"], time_limit=1e-6)
    assert always.history == dl.audit(SMALL, entropy=1.0, method="paper", repairs=(), time_limit=1e-6).history


@pytest.mark.slow
def test_results_say_which_repairs_and_which_reading_ran() -> None:
    always = ["start", "current_iterate", "infeasible", "armijo", "previous"]
    audit = dl.audit(SMALL, entropy=0.5, method=ONE_START, repairs=["escort"])
    assert audit.to_dict()["repairs"] == ["escort", *always]
    strict = dl.design(
        PARITY, leakage=0.3, entropy=0.0, method=ONE_START, repairs=(), reading="strict", time_limit=1e-6
    )
    assert (strict.to_dict()["repairs"], strict.to_dict()["reading"]) == (always, "strict")
    primal = dl.design(PARITY, distortion=0.1, entropy=0.0, method=ONE_START).to_dict()
    assert (primal["repairs"], primal["reading"]) == (["gradient", "entropy_share", *always], None)
    certified = dl.audit(SMALL, entropy=0.5).to_dict()
    assert certified["repairs"] is None


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"starts": 0}, "starts = 0"),
        ({"repairs": ("escrot",)}, "there is no repair 'escrot'; did you mean 'escort'"),
        ({"repairs": ("penalty_owner",), "reading": "strict"}, "both choose who sets the penalty"),
    ],
)
def test_a_method_that_cannot_run_is_refused(wrong: dict[str, object], says: str) -> None:
    refuses(says, dl.paper.Method, **wrong)
    refuses("method = 3", dl.audit, SMALL, entropy=1.0, method=3)
