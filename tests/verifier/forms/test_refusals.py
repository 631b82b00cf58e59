"""Certificates of channels that are not written out, or known by samples: what is damaged is refused."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from damage import GONE, Described, damaged, golden, reason
from flint import arb

from dalenius.verifier.forms import histograms, sums
from dalenius.verifier.forms.reference import UNIFORM, Product
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.limits import NotChecked, sized, within
from dalenius.verifier.kernel.proofs import claimed
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.special import counted
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")

MARGINALS = {"marginals": [[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.7, 0.3]]}


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        # One by one: randomized response and its like.
        ("local", {"problem.mechanism": "randomized_response(epsilon=0)"}, "epsilon is 0; it must be above 0"),
        ("local", {"problem.mechanism": "geometric(epsilon=1)"}, "mechanisms that treat each by itself"),
        ("local", {"problem.rows": []}, "for a mechanism given by its name"),
        ("local", {"adversary.reference": {"weights": [1 / 32] * 32}}, "not for weights of datasets"),
        (
            "local",
            {"secret": {"kind": "function", "values": [0, 1] * 16}, "witness.record": GONE},
            "is asked about records",
        ),
        ("local", {"witness.part.counted": 1}, "must be true or false"),
        ("local", {"witness.part.others": 5}, "from 0 to 4"),
        ("local", {"lower": 0.165, "upper": 0.17}, "less than the claimed lower bound"),
        ("local", {"witness.masses": [[0.0] * 16] * 2}, "the witness has no mass"),
        ("local-reference", {"proofs.0.kind": "trivial"}, "bound 0.6931471806 exceeds claimed"),
        ("local", {"proofs.0.kind": "reference"}, "bounds an adversary without knowledge only"),
        ("local", {"proofs.0.kind": "law"}, "its kind is none of trivial, reference, product"),
        ("local", {"proofs.0.eta": 0.1}, "is not shown to contract divergence"),
        ("local", {"proofs.0.sigma": 0.9}, "is not shown to keep sigma"),
        ("local", {"proofs.0.law": [1.0, 0.0]}, "must be above 0"),
        (
            "local",
            {
                "problem.query": "count(n=1)",
                "witness.part.others": 0,
                "witness.masses": [[0.5], [0.5]],
                "lower": 0.0,
                "proofs.0.sigma": 0.0,
                "proofs.0.lambda": 0.0,
            },
            "sigma + lambda must be above 0",
        ),
        (
            "local",
            {
                "secret": {"kind": "records", "records": [0, 1]},
                "witness": {"kind": "part", "part": {"others": 0, "counted": True}, "masses": [[0.25]] * 4},
                "proofs": [{}],
            },
            "counts others is about one record",
        ),
        (
            "local",
            {
                "secret": {"kind": "records", "records": [0, 1]},
                "lower": 0.0,
                "witness": {"kind": "part", "part": {"others": 0, "counted": False}, "masses": [[0.25]] * 4},
                "proofs": [
                    {"kind": "product", "upper": 0.2, "eta": 0.3, "sigma": 0.1, "lambda": 0.3, "law": [0.25] * 4}
                ],
            },
            "sigma must be 0 for a group",
        ),
        ("local-reference", {"adversary.reference": MARGINALS}, "the channel of record 4 is not shown to contract"),
        ("local-reference", {"adversary.reference": {"marginal": [1.0, 0.0]}}, "no dataset of positive reference"),
        ("local-looks", {"problem.mechanism": "unary_encoding(epsilon=1)", "lower": 0.0}, "a symmetric channel"),
        ("local-values", {"proofs.0.kind": "bellman"}, "a bit, among bits with two outputs"),
        ("local-values", {"proofs.0.kind": "looks"}, "a bit through a symmetric channel"),
        # Sums.
        ("large", {"problem.rows": []}, "for a mechanism given by its name"),
        ("large", {"problem.query": "modular_sum(n=12, modulus=13)"}, "is for noise on sums"),
        ("large", {"lower": 0.8}, "exceeds upper"),
        (
            "large",
            {"adversary.reference": {"marginals": [[0.5, 0.5]] * 11 + [[0.4, 0.6]]}},
            "one marginal of all records",
        ),
        (
            "large",
            {"secret": {"kind": "function", "values": [0, 1] * 2048}, "witness.record": GONE},
            "not for functions of them",
        ),
        ("large", {"witness.blocks": list(range(1, 14))}, "from 0 to 12"),
        ("large", {"witness.blocks": [1, 2], "witness.masses": [[0.5, 0.5]] * 2}, "do not begin with class 0"),
        ("large", {"witness.blocks": [0, 3, 2]}, "do not ascend"),
        ("large", {"witness.masses": [[0.0] * 13] * 2}, "the witness has no mass"),
        ("large", {"lower": 0.172975}, "less than the claimed lower bound"),
        ("large", {"witness.masses.0": [1.0] * 13}, "where there is no dataset of positive reference"),
        ("large", {"proofs.0.kind": "rows", "proofs.0.steps": GONE}, "its kind is none of trivial, reference, sibson"),
        ("large", {"problem.query": "total(n=12, values=[4])"}, "cuts of the witness must be"),
        ("blend", {"proofs.0.order": 1.0}, "the order must be above 1"),
        ("large-sibson", {"proofs.0.order": 1.0}, "the order must be above 1"),
        ("large-trivial", {"adversary.reference": {"marginal": [1.0, 0.0]}}, "no dataset of positive reference"),
        ("law", {"proofs.0.cuts": [], "proofs.0.log_r": [0.0]}, "exceeds claimed"),
        ("monotone_points", {"proofs.0.rho": [0.0]}, "fewer than two points"),
        ("monotone_points", {"proofs.0.s": 0.0}, "s must be above 0"),
        ("monotone_points", {"proofs.0.rho": [0.0] * 5}, "'beyond' leaves them nothing"),
        ("monotone_points", {"proofs.0.rho": [0.0] * 5, "proofs.0.steps.0.beyond": 0.1}, "exceeds claimed"),
        (
            "monotone_points",
            {"proofs.0.steps.0.every": 3, "proofs.0.rho": [0.0] * 5, "proofs.0.steps.0.order": 2.0},
            "exceeds claimed",
        ),
        (
            "monotone_points",
            {"proofs.0.steps.0.first": 12, "proofs.0.rho": [0.0] * 2, "proofs.0.steps.0.beyond": 0.1},
            "without mass",
        ),
        ("blend", {"proofs.0.kind": "monotone", "proofs.0.s": 1.0}, "lacks 'steps'"),
        # Histograms.
        ("large-nothing_known", {"adversary.knowledge": 0.1}, "an adversary without knowledge only"),
        ("histogram", {"problem.rows": []}, "for a mechanism given by its name"),
        ("histogram", {"problem.query": "count(n=4)"}, "for histograms of two values or more"),
        ("histogram", {"problem.mechanism": "geometric(epsilon=1, clamp=False)"}, "for answers that are numbers"),
        (
            "histogram",
            {"secret": {"kind": "records", "records": [0, 1]}, "witness.record": GONE, "proofs.0.record": GONE},
            "single records",
        ),
        (
            "histogram",
            {"adversary.reference": {"marginals": [[0.2, 0.3, 0.5]] * 3 + [[0.5, 0.3, 0.2]]}},
            "one marginal",
        ),
        ("histogram", {"proofs.0.kind": "maximal"}, "counted, moved, which are for this question"),
        ("histogram", {"witness.cell": 3}, "from 0 to 2"),
        ("tied", {"adversary.reference": {"marginal": [0.5, 0.3, 0.2]}}, "whose values are equally likely"),
        ("tied", {"witness.cuts": [2, 1]}, "cuts of the witness do not ascend"),
        ("tied", {"witness.window": [3, 2]}, "ends before it begins"),
        ("tied", {"lower": 0.2}, "less than the claimed lower bound"),
        ("tied", {"witness.first": 2}, "masses of counts above 4"),
        ("tied", {"witness.masses": [0.0] * 4}, "the witness has no mass"),
        ("tied", {"witness.kind": "bound"}, "is of the kind 'bound', which is none of"),
        ("counted", {"proofs.0.s": 1.0}, "s must be above the contraction, which is 1"),
        ("counted-slope", {"proofs.0.s": 0.5}, "s must be above the contraction"),
        ("counted-slope", {"problem.mechanism": "geometric(epsilon=1e300)", "lower": 0.0}, "s must be above"),
        ("counted-slope", {"problem.mechanism": "gaussian(sigma=1)", "lower": 0.0}, "exceeds claimed"),
        ("counted", {"proofs.0.tops": [1], "proofs.0.tilts": [[[0.0] * 2] * 2]}, "too much mass to be told"),
        ("counted", {"proofs.0.weights": [0.0]}, "the weights of proof of record 0 has no mass"),
        ("counted", {"witness.tops": [8], "problem.mechanism": "gaussian(sigma=1)"}, "geometric and Laplace noise"),
        ("counted", {"adversary.knowledge": 0.0}, "the reference is the only prior"),
        ("counted", {"adversary.knowledge": 0.04}, "the witness has divergence"),
        ("counted", {"lower": 0.2, "upper": 0.3}, "less than the claimed lower bound"),
        ("counted", {"witness.tilts.0.1": GONE}, "the tilts of the witness"),
        ("counted-law", {"adversary.reference.marginal": [0.5, 0.25, 0.25]}, ""),
        ("counted-law", {"adversary.reference": GONE}, "the tops of"),
        # Samples.
        ("samples", {"problem.samples.more": 1}, "and nothing else"),
        ("samples", {"problem.samples.rows": []}, "there are 0 sets of samples for 3 classes"),
        ("samples", {"problem.samples.rows.2": GONE}, "nothing assigns sets to classes"),
        ("samples", {"problem.samples.confidence": 1.0}, "gives a confidence of 1"),
        ("samples", {"problem.samples.confidence": 0.0}, "a confidence of 0 says nothing"),
        ("samples", {"problem.samples.counted.0.share": 0.95}, "add up to more than 1"),
        ("samples", {"problem.samples.counted.0.counts.0.0": 1999}, "counts more outputs than there were draws"),
        ("samples", {"problem.samples.counted.0.counts.0.0": 100}, "above the lower limit of an output seen 100 times"),
        ("samples", {"problem.samples.counted.0.counts.0.0": 0}, "above the lower limit of an output seen 0 times"),
        ("samples", {"problem.samples.rows.0.0": 0.5}, "row 0 of the samples sums to"),
        (
            "samples",
            {"problem.samples.rows.0.-1": 0.14454061732409118, "problem.samples.rows.0.-3": 0.0},
            "another set",
        ),
        ("samples", {"lower": 0.1}, "samples show nothing from below"),
        ("samples", {"problem.samples.counted.0.outputs.0": 1.0}, "the output 1 is counted twice"),
        ("samples", {"problem.samples.counted.1.outputs.0": 2}, "the output 2 is counted twice"),
        ("samples", {"problem.samples.counted.1.outputs.0": [2, None]}, "the name of an output"),
        ("samples", {"problem.samples.counted.1.outputs.0": GONE}, "has 7 entries where 8 are needed"),
        ("samples", {"problem.samples.counted.1.outputs": GONE}, "counted samples lacks 'outputs'"),
    ],
)
def test_a_damaged_certificate_is_refused(name: str, changes: dict[str, object], words: str) -> None:
    assert words in reason(name, changes)


@pytest.mark.parametrize(
    ("name", "sizes", "words"),
    [
        ("local", {"numbers": 3}, "the channel of one record takes more"),
        ("local", {"numbers": 63}, "a witness that looks at 4 others takes more"),
        ("large", {"numbers": 1}, "too many to check"),
        ("moved", {"numbers": 1000}, "proof of record 0 takes more"),
        ("histogram", {"numbers": 3}, "too many to check"),
        ("counted", {"numbers": 200}, "the witness takes more"),
        ("samples", {"numbers": 40}, "too many to check"),
    ],
)
def test_what_is_too_large_is_refused(name: str, sizes: dict[str, int], words: str) -> None:
    assert words in reason(name, {}, sizes=sizes)


@pytest.mark.parametrize(("name", "cuts"), [("large", [6]), ("blend", list(range(1, 13)))])
def test_chances_that_are_too_many_to_remember_are_computed_again(name: str, cuts: list[int]) -> None:
    with sized(joint=2):
        assert verify_here(damaged(name, {"witness.cuts": cuts, "lower": 0.0})).verified


def test_a_witness_may_leave_out_a_block() -> None:
    apart = [0.25, *[0.0] * 4, 0.25, *[0.0] * 7]
    assert verify_here(damaged("law", {"witness.masses.0": apart, "lower": 0.05})).verified


def test_a_witness_may_count_the_others_that_equal_the_record() -> None:
    listed = golden("local-nothing_known")
    # The number of four other bits that equal this one, in place of their values: the same prior.
    binomial = [1 / 32, 4 / 32, 6 / 32, 4 / 32, 1 / 32]
    counted = {"witness.part.counted": True, "witness.masses": [binomial, binomial]}
    assert verify_here(damaged("local-nothing_known", counted)).verified
    assert "less than the claimed" in reason("local-nothing_known", counted | {"lower": listed["upper"]})
    bits = damaged("local", {"witness.part.counted": True})["witness"]["masses"]
    by_count: list[list[float]] = [[0.0] * 5, [0.0] * 5]
    for a, row in enumerate(bits):
        for t, mass in enumerate(row):
            by_count[a][sum(int(b) == a for b in f"{t:04b}")] += mass
    assert verify_here(damaged("local", {"witness.part.counted": True, "witness.masses": by_count})).verified


def test_a_table_known_by_samples_needs_a_proof_of_every_record() -> None:
    samples = golden("samples")["problem"]["samples"]
    table = {"records": [2, 2], "classes": [0, 1, 1, 2], "samples": samples}
    assert reason("samples", {"problem": table}) == "record 1 has no proof"


def test_answers_that_repeat_have_no_contraction_of_their_own() -> None:
    problem = {"query": "pairs(n=5)", "mechanism": "gaussian(sigma=2)"}
    assert sums.rebuild(problem).contraction() == 1
    assert sums.rebuild(problem | {"query": "count(n=5)"}).contraction() < 1


def test_sums_that_do_not_occur_add_nothing_to_an_order() -> None:
    channel = sums.rebuild({"query": "total(n=3, values=[0, 2, 5])", "mechanism": "geometric(epsilon=1)"})
    given: dict[int, list[int]] = {}
    for first, *others in product((0, 2, 5), repeat=3):
        given.setdefault(first + sum(others), [0] * 3)[(0, 2, 5).index(first)] += 1
    expected = sum((sum((arb(x) / 9) ** 2 for x in law) / 3).sqrt() for law in given.values())
    assert abs(sums._sibson(sums.ask(channel, Secret((0,)), UNIFORM), arb(0), 2.0) - 2 * expected.log()) < 1e-25


def test_what_the_reference_tells_is_enclosed() -> None:
    channel = sums.rebuild({"query": "count(n=5)", "mechanism": "geometric(epsilon=1)"})
    asked = sums.ask(channel, Secret((0,)), UNIFORM)
    found = sums.told(asked)
    assert 0 < found < 0.1
    with sized(numbers=3), pytest.raises(Refused, match="more than 3 numbers"):
        sums.told(asked)


def test_a_single_answer_tells_nothing() -> None:
    single = sums.rebuild({"query": "total(n=3, values=[2])", "mechanism": "geometric(epsilon=1)"})
    assert list(sums._own(single)) == [0]


def test_counts_above_the_tops_are_added_up_and_the_clock_is_read() -> None:
    law = [arb(1) / 4] * 4
    table = counted._Table(9, law, [2] * 4, [[[arb(1)] * 4] * 3] * 4, alike=True)
    tail = sum(Fraction(math.comb(8, j) * 3 ** (8 - j), 4**8) for j in range(2, 9))
    found = table._tail(0, 1)
    assert found.overlaps(arb(tail.numerator) / tail.denominator)
    assert found.rad() < 1e-30
    with within(-1.0), pytest.raises(NotChecked):
        counted._Table(20_000, law[:2], [1] * 2, [[[arb(1)] * 3] * 2] * 2, alike=True)._tail(0, 1)


def test_own_counts_that_the_tops_of_others_cannot_fill_up_are_left_out() -> None:
    channel = histograms.rebuild({"query": "histogram(n=6, k=3)", "mechanism": "geometric(epsilon=1)"})
    channel = histograms.ask(channel, Secret((0,)), Product(((0.96, 0.02, 0.02),)))

    def bound(tops: list[int]) -> arb:
        tilts = [[[0.0] * (top + 1) for top in tops]] * 3
        proof = {"s": 2.0, "tops": tops, "tilts": tilts, "weights": [0.96, 0.02, 0.02]}
        return counted.bound(channel, arb("0.05"), proof, "it")

    whole = bound([6, 6, 6])
    assert whole < bound([6, 2, 2]) < whole + arb("0.1")


def test_the_clock_is_read_while_the_law_of_the_noise_is_made() -> None:
    noise = histograms.rebuild(golden("moved")["problem"]).noise
    with within(-1.0), pytest.raises(NotChecked):
        noise.masses(10)


def test_a_certificate_of_local_records_is_about_its_own_channel() -> None:
    same, other = (Described(query="count(n=5)", mechanism=f"randomized_response(epsilon={e})") for e in ("1.0", 2))
    assert verify_here(golden("local"), same).verified
    assert "another channel" in reason("local", {}, other)


@pytest.mark.parametrize(("n", "p"), [(5, "0.3"), (3000, "0.5"), (3000, "1")])
def test_the_mean_of_a_count_is_added_up_as_far_as_it_matters(n: int, p: str) -> None:
    share = arb(p)
    found = histograms._moment(n, share, 1 - share, arb(1))
    mean = (1 + (n - 1) * share) / (n * share)
    assert found - mean < 1e-20
    assert found > mean - arb("1e-30")


def test_an_attribute_of_a_noisy_histogram_has_bounds_of_its_own() -> None:
    blend = {"kind": "blend", "order": 2.0, "share": 1.0, "upper": 0.9}
    assert verify_here(damaged("histogram-attributes", {"proofs.0": blend, "upper": 0.9})).verified
    # A value that nobody has is left out, and with it the label that only this value has.
    channel = histograms.rebuild(damaged("histogram-attributes", {})["problem"])
    asked = replace(channel, reference=Product(((0.5, 0.25, 0.25, 0.0),)), labels=(0, 1, 0, 2))
    trivial = {"kind": "trivial", "upper": 0.694}
    knows = Knowledge(arb(0.2), none=False, free=False)
    assert claimed(histograms.KINDS, (asked, knows), trivial, "it") == 0.694
    about = {
        "secret": {"kind": "attributes", "records": [0], "values": [0, 0, 1]},
        "witness.record": GONE,
        "proofs.0.record": GONE,
    }
    assert "whose values are equally likely" in reason("tied", about)
