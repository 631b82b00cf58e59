"""The adversary under whose prior the records are independent: closed forms, brute force, certificates, refusals."""

import json
import math
from itertools import product
from typing import Any

import brute_force
import numpy as np
import pytest
from cases import random_channel
from refusals import refuses

import dalenius as dl
from dalenius.auditing import independent
from dalenius.bounds.capacity import CapacityBracket, bracket
from dalenius.cli import main
from dalenius.errors import InputError
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.numerics.information import mutual_information
from dalenius.search.deadline import Deadline
from dalenius.verifier.forms.independent import lines
from dalenius.verifier.forms.written import rebuild
from dalenius.verifier.verify import verify_here

M, Q = dl.mechanisms, dl.queries


def binary_capacity(flip: float) -> float:
    """Of a channel that flips a bit with this chance."""
    return math.log(2) + flip * math.log(flip) + (1 - flip) * math.log(1 - flip)


@pytest.mark.parametrize("n", [1, 4, 1000, 10**5])
def test_geometric_noise_on_a_count_leaks_the_same_for_any_number_of_people(n: int) -> None:
    audit = dl.audit(M.geometric(Q.count(n), epsilon=1.0), adversary="independent", verify=True)
    # A bit through geometric noise is a bit that is flipped with chance alpha / (1 + alpha).
    exact = binary_capacity(math.exp(-1) / (1 + math.exp(-1)))
    assert exact == pytest.approx(0.110944, abs=1e-6)
    assert audit.lower <= exact <= audit.upper
    assert audit.gap < 1e-9
    assert audit.verified
    assert audit.prior.leakage() == pytest.approx(exact, abs=1e-9)


def test_the_parity_of_independent_bits() -> None:
    audit = dl.audit(M.symmetric(Q.modular_sum(4, 2), flip=0.3), adversary="independent", verify=True)
    assert audit.lower <= binary_capacity(0.3) <= audit.upper
    assert audit.verified


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_channels_without_structure_by_brute_force(seed: int) -> None:
    records = [[2, 3], [3, 2, 2], [2, 2, 2]][seed % 3]
    mechanism = random_channel(records, 3, seed)
    audit = dl.audit(mechanism, adversary="independent", verify=True)
    cube = mechanism.matrix().reshape(*records, -1)
    best = max(
        brute_force.capacity(np.moveaxis(cube, i, 0)[(slice(None), *others)])[0]
        for i in range(len(records))
        for others in product(*(range(k) for j, k in enumerate(records) if j != i))
    )
    assert audit.lower - 1e-9 <= best + 1e-6
    assert best <= audit.upper
    assert audit.gap <= 1e-6
    assert audit.verified
    # No random product prior leaks more.
    rng = np.random.default_rng(seed)
    for _ in range(50):
        laws = [rng.dirichlet(np.ones(k) * 0.3) for k in records]
        joint = cube.copy()
        for i, law in enumerate(laws):
            joint = joint * law.reshape([-1 if j == i else 1 for j in range(len(records) + 1)])
        for i in range(len(records)):
            told = np.moveaxis(joint, i, 0).reshape(records[i], -1, joint.shape[-1]).sum(axis=1)
            assert mutual_information(told) <= audit.upper + 1e-12


@pytest.mark.parametrize(
    ("query", "mechanism"),
    [
        ("count(n=3)", "laplace(epsilon=1)"),
        ("total(n=3, values=[0, 1, 5])", "gaussian(sigma=1)"),
        ("mean(n=3, low=0, high=2)", "discrete_gaussian(sigma=0.4)"),
        ("pairs(n=3)", "exponential(epsilon=1)"),
        ("histogram(n=3, k=3)", "geometric(epsilon=1)"),
        ("table(n=2, shape=[2, 2])", "noisy_max(epsilon=1)"),
        ("modular_sum(n=5, modulus=3)", "geometric(epsilon=1)"),
        ("weighted_sum(weights=[1, 2, 4])", "laplace(scale=1.5)"),
        ("count(n=2)", "randomized_response(epsilon=1)"),
    ],
)
def test_named_mechanisms_are_certified(query: str, mechanism: str) -> None:
    built = parse_mechanism(mechanism, parse_query(query))
    audit = dl.audit(built, adversary="independent", verify=True)
    assert audit.verified
    assert audit.gap <= 1e-6
    assert audit.prior.leakage() == pytest.approx(audit.lower, abs=1e-9)
    rows, statistic = built.rows, built.statistic
    found = list(statistic.neighbours())
    best = max(brute_force.capacity(rows[line], 1e-6)[0] for array in found for line in array)
    assert best <= audit.upper + 1e-9
    mine = [line.tolist() for line in found[0]]
    assert mine == list(lines(rebuild(audit.certificate.data["problem"]).statistic, 0))


def test_with_a_reference_the_others_follow_it() -> None:
    mechanism = M.geometric(Q.count(3), epsilon=1.0)
    audit = dl.audit(mechanism, adversary="independent", reference=[0.7, 0.3], verify=True)
    others = np.convolve([0.7, 0.3], [0.7, 0.3])
    rows = np.stack([others @ mechanism.rows[a : a + 3] for a in (0, 1)])
    assert audit.lower - 1e-9 <= brute_force.capacity(rows)[0] <= audit.upper
    assert audit.gap <= 1e-6
    assert audit.verified


def test_a_value_that_the_reference_leaves_out_is_not_left_out_of_the_bound() -> None:
    mechanism, reference = M.symmetric(Q.modular_sum(2, 2), flip=0.1), [[1.0, 0.0], [0.9, 0.1]]
    audit = dl.audit(mechanism, adversary="independent", reference=reference, secret=0, verify=True)
    rows = np.array([[0.9, 0.1], [0.1, 0.9]]) @ np.array([[0.9, 0.1], [0.1, 0.9]])
    assert audit.verified
    assert audit.lower - 1e-9 <= brute_force.capacity(rows)[0] <= audit.upper
    near = dl.audit(mechanism, adversary="independent", reference=[[0.5, 0.5], [0.9, 0.1]], secret=0)
    assert near.lower > 0.2
    data = json.loads(near.certificate.text())
    data["adversary"]["reference"]["marginals"] = reference
    data["proofs"][0] |= {"upper": 1e-9, "weights": [1.0, 0.0]}
    data |= {"lower": 0.0, "upper": 1e-9}
    data["witness"]["law"] = [1.0, 0.0]
    assert "exceeds claimed 1e-09" in verify_here(data).reason


def test_with_knowledge_the_bracket_holds_what_a_product_prior_in_the_ball_leaks() -> None:
    mechanism = M.geometric(Q.count(3), epsilon=1.0)
    audit = dl.audit(mechanism, adversary="independent", knowledge=0.3, verify=True)
    assert "independent, and that knows at most 0.3 nats" in audit.summary()
    assert audit.verified
    assert audit.prior.divergence() <= 1e-9
    alone, ball = dl.audit(mechanism, adversary="independent"), dl.audit(mechanism, knowledge=0.3)
    assert audit.upper <= min(alone.upper, ball.upper) + 1e-9
    rng = np.random.default_rng(4)
    for _ in range(300):
        p = rng.random(3)
        known = sum(math.log(2) + x * math.log(x) + (1 - x) * math.log(1 - x) for x in p)
        if known <= 0.3:
            rest = np.convolve([1 - p[1], p[1]], [1 - p[2], p[2]])
            told = np.stack([w * (rest @ mechanism.rows[a : a + 3]) for a, w in ((0, 1 - p[0]), (1, p[0]))])
            assert mutual_information(told) <= audit.upper
    tiny = dl.audit(mechanism, adversary="independent", knowledge=1e-3, verify=True)
    assert tiny.verified
    assert tiny.upper < alone.lower


def test_answers_name_the_adversary() -> None:
    mechanism = M.geometric(Q.count(4), epsilon=1.0)
    for options in ({}, {"knowledge": 0.2}, {"reference": [0.9, 0.1]}, {"secret": 2}):
        audit = dl.audit(mechanism, adversary="independent", **options)
        assert audit.to_dict()["adversary"] == "independent"
        assert (audit.to_dict()["knowledge"] is None) == ("knowledge" not in options)
        assert "independent" in audit.summary()
    assert dl.audit(mechanism, knowledge=0.2).to_dict()["adversary"] == "bounded"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"entropy": 1.0}, "give knowledge="),
        ({"secret": [0, 1]}, "single records"),
        ({"secret": lambda x: x[0]}, "single records"),
        ({"reference": [1 / 16] * 16}, "a law each"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], says: str) -> None:
    refuses(says, dl.audit, M.geometric(Q.count(4), epsilon=1.0), adversary="independent", **options)


def test_sizes_beyond_the_limit_are_named() -> None:
    refuses("above the limit of 4194304", dl.audit, M.exponential(Q.count(1600), epsilon=1.0), adversary="independent")
    with pytest.raises(InputError, match="leave output='real' out"):
        dl.audit(M.laplace(Q.count(3), epsilon=1.0, output="real"), adversary="independent")


def test_a_number_without_a_name_is_refused() -> None:
    mechanism = M.geometric(Q.count(2), epsilon=1.0)
    for call in (
        lambda: dl.audit(mechanism, 0.5),
        lambda: dl.frontier(Q.count(2), 0.5),
        lambda: dl.Ledger(Q.count(2), 0.5),
    ):
        refuses(r"entropy=0.5 or knowledge=0.5", call)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["audit", "--query", "count(n=4)", "--mechanism", "geometric(epsilon=1)", "--adversary", "independent"]
    with pytest.raises(SystemExit) as ended:
        main([*asked, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert ended.value.code in (0, None)
    assert found["adversary"] == "independent"
    assert found["entropy"] is found["knowledge"] is None


def test_a_curve_over_knowledge_with_a_reference_and_a_secret() -> None:
    mechanism = M.geometric(Q.count(3), epsilon=1.0)
    curve = dl.curve(
        mechanism, knowledges=[0.0, 0.2], reference=[0.8, 0.2], secret=[0, 1], tolerance=1e-3, time_limit=20
    )
    assert curve.knowledges == (0.0, 0.2)
    assert curve.upper[0] < curve.lower[1]
    for bad in (
        {},
        {"entropies": [1.0], "knowledges": [0.1]},
        {"knowledges": []},
        {"knowledges": [0.1], "knowledge": 1},
    ):
        with pytest.raises(InputError):
            dl.curve(mechanism, **bad)


def test_a_reference_that_leaves_out_a_value_of_all_records_leaves_the_record_free() -> None:
    for query in (Q.count(3), Q.histogram(3, 2)):
        mechanism = M.exponential(query, epsilon=1.0)
        audit = dl.audit(mechanism, adversary="independent", reference=[1.0, 0.0], verify=True)
        assert audit.verified
        x = [(0, 0, 0), (1, 0, 0)]
        rows = mechanism.rows[[int(mechanism.statistic.class_of(d)) for d in x]]
        assert audit.lower - 1e-9 <= brute_force.capacity(rows)[0] <= audit.upper
        assert audit.gap <= 1e-6


def test_others_that_lean_to_a_value_leak_more_the_more_is_known() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(4), epsilon=1)
    lowers = [dl.audit(mechanism, adversary="independent", knowledge=k).lower for k in (0.0, 0.3, 1.0, 2.0)]
    assert lowers[0] == pytest.approx(0.05263, abs=1e-5)  # all as the reference
    assert np.diff(lowers).min() > 0.005
    assert lowers[-1] > 0.109
    audit = dl.audit(mechanism, adversary="independent", knowledge=1.0)
    weights = audit.prior.weights()
    assert float(np.sum(weights * np.log(weights * 16))) <= 1.0 + 1e-9
    joint = np.zeros((2, 16))
    joint[np.arange(16) // 8, np.arange(16)] = weights
    assert float(mutual_information(joint @ mechanism.matrix())) >= audit.lower
    # Others are independent of the record, and of one another.
    others = weights.reshape(2, 8).sum(axis=0)
    assert weights.reshape(2, 8) == pytest.approx(np.outer(weights.reshape(2, 8).sum(axis=1), others))
    first = others.reshape(2, 4)
    assert first == pytest.approx(np.outer(first.sum(axis=1), first.sum(axis=0)))


def test_many_records_with_knowledge_are_bracketed_at_any_size() -> None:
    for n in (1000, 3000):
        mechanism = dl.mechanisms.geometric(dl.queries.count(n), epsilon=1)
        audit = dl.audit(mechanism, adversary="independent", knowledge=0.3, verify=False, relative=0.5)
        assert 0 < audit.lower < audit.upper < 0.111
    followed = dl.audit(mechanism, adversary="independent", reference=[0.2, 0.8])
    assert followed.lower == pytest.approx(1 / 3840, rel=2e-2)  # 1 / (8 n p q) where noise is little beside the sum
    vote = dl.mechanisms.noisy_max(dl.queries.histogram(150, 3), epsilon=1)
    assert dl.audit(vote, adversary="independent", reference=[0.3, 0.3, 0.4]).gap < 1e-6


def test_one_record_of_very_many_values_is_asked_without_a_limit_instead() -> None:
    response = dl.mechanisms.randomized_response(dl.queries.identity(k=2925), epsilon=14)
    refuses("give entropy=0, which allows the same priors", dl.audit, response, adversary="independent")


@pytest.mark.parametrize("options", [{"reference": [0.7, 0.3]}, {"knowledge": 0.5}, {"knowledge": 0.5, "secret": 0}])
def test_no_part_of_an_audit_has_a_time_limit_of_its_own(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = []

    def noted(rows: np.ndarray, tolerance: float, deadline: Deadline) -> CapacityBracket:
        whole = deadline
        while whole.parent is not None:
            whole = whole.parent
        limits.append(whole.time_limit)
        return bracket(rows, tolerance, deadline)

    monkeypatch.setattr(independent, "bracket", noted)
    dl.audit(M.exponential(Q.count(3), epsilon=1.0), adversary="independent", **options, time_limit=7.0, verify=False)
    assert set(limits) == {7.0}


def test_where_no_time_is_left_there_is_still_a_bracket() -> None:
    asked = {"adversary": "independent", "knowledge": 0.5, "reference": [[0.6, 0.4], [0.5, 0.5], [0.3, 0.7]]}
    mechanism = M.exponential(Q.function([2, 2, 2], lambda x: x[0] + 2 * x[1] + x[2]), epsilon=1.0)
    audit = dl.audit(mechanism, **asked, time_limit=1e-9, verify=False)
    assert audit.stopped == "time_limit"
    assert 0 < audit.lower < audit.upper <= math.log(2)
    assert audit.verify().verified
