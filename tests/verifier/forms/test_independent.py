"""Certificates against independent records: what is damaged or asks for more than its witness holds is refused."""

import pytest
from damage import GONE, Described, damaged, reason

from dalenius.verifier.forms import sums
from dalenius.verifier.forms.counting import Histogram, Sum
from dalenius.verifier.forms.independent import Independent, lines
from dalenius.verifier.forms.reference import UNIFORM, Product
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")

EVEN = {"marginal": [1 / 3] * 3}


@pytest.mark.parametrize(
    "adversary",
    [{"reference": EVEN}, {"knowledge": 0.0}, {"knowledge": 0.01}, {"knowledge": 0.01, "reference": EVEN}],
    ids=["the others follow a law", "nothing known", "little known", "little beyond a law"],
)
def test_a_witness_that_knows_the_counts_of_the_others_is_not_for_an_adversary_that_does_not(
    adversary: dict[str, object],
) -> None:
    # Geometric noise on every count: it was accepted, and its lower bound is above what such a prior leaks.
    changes = {"adversary": {"independent": True, **adversary}}
    assert "the witness knows the other records" in reason("independent-indicators", changes)
    unlimited = {"adversary": {"independent": True, "knowledge": 2.2}}  # 2 log 3 is all that there is to know
    assert verify_here(damaged("independent-indicators", unlimited)).verified


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("independent", {"adversary.reference": {"marginal": [0.5, 0.5]}}, "the witness knows the other records"),
        ("independent", {"adversary.reference": {"weights": [0.25] * 4}}, "not weights of datasets"),
        ("independent", {"adversary.independent": False}, "has 'independent' true"),
        ("independent", {"adversary.entropy": 1.0}, "at most 'reference' and 'knowledge'"),
        ("independent", {"secret": {"kind": "records", "records": [0, 1]}}, "audited one by one"),
        ("independent", {"secret": {"kind": "attributes", "records": [0], "values": [0, 1]}}, "audited one by one"),
        ("independent", {"lower": 0.6, "upper": 0.59}, "exceeds upper"),
        ("independent", {"witness.law": [0.0, 0.0]}, "the law of the witness has no mass"),
        ("independent", {"witness.others": GONE}, "the witness lacks 'others'"),
        ("independent", {"witness.kind": "following"}, "does not state what the other records are"),
        ("independent", {"lower": 0.5801, "upper": 0.6}, "less than the claimed lower bound"),
        ("independent", {"proofs.0.weights": [[0.5, 0.5]], "proofs.0.upper": 2.0}, "fewer than what the others may be"),
        ("independent", {"proofs.0.weights": [[0.5, 0.5]] * 3, "proofs.0.upper": 2.0, "upper": 2.0}, "3 laws for 2"),
        ("independent", {"proofs.0.kind": "averaged"}, "the others do not follow the reference"),
        ("independent", {"proofs.0.kind": "trivial"}, "its kind is none of lines"),
        ("independent", {"proofs.0.kind": "indicators"}, "for noise on every count"),
        ("independent", {"form": "histogram"}, "for a mechanism given by its name"),
        ("independent-indicators", {"form": "rows"}, "for noise on every count"),
        ("independent", {"form": "one-record"}, "which is none of rows"),
        ("independent", {"form": "real-outputs"}, "are not audited against independent records"),
        ("independent", {"form": "samples"}, "where the problem has samples"),
        ("independent", {"proofs.0.steps": []}, "of this form takes no steps"),
        ("independent", {"form": "sum"}, "for a mechanism given by its name"),
        ("independent-shift", {"problem.query": "pairs(n=3)"}, "for noise on sums of records, not for pairs"),
        ("independent-shift", {"problem.mechanism": "exponential(epsilon=1)"}, "adds no integer noise"),
        ("independent-shift", {"witness.others": [3, 0]}, "are 3 records, not 2"),
        (
            "independent-shift",
            {"witness.kind": "following", "adversary.knowledge": 9.0},
            "less than the claimed lower bound",
        ),
        ("independent-shift", {"lower": 0.12, "upper": 0.13}, "less than the claimed lower bound"),
        ("independent-indicators", {"witness.law": [0.5, 0.25, 0.25]}, "the same chance for every value"),
        (
            "independent-indicators",
            {"problem.mechanism": "laplace(epsilon=1)", "lower": 0.0},
            "for geometric noise, not for laplace",
        ),
        ("independent-indicators", {"proofs.0.kind": "averaged"}, "by indicators or"),
        ("independent-counts", {"form": "counts"}, "the form of the certificate is 'counts', which is none of"),
        ("independent-counts", {"form": ["rows"]}, "the form of the certificate is a list"),
        ("independent-counts", {"proofs.0.share": 1.0}, "its share must be above 0 and below 1"),
        ("independent-counts", {"problem.mechanism": "laplace(epsilon=1500)", "lower": 0.1}, "exceeds claimed"),
        ("independent-counts", {"problem.mechanism": "geometric(epsilon=0.4)"}, "less than the claimed lower bound"),
        ("independent-one_count", {"proofs.0.kind": "blend", "proofs.0.order": 0.5, "proofs.0.share": 1}, "above 1"),
        ("independent-one_count", {"witness.cell": 3}, "must be a whole number from 0 to 2"),
        (
            "independent-sum",
            {
                "adversary.knowledge": 0.3,
                "lower": 0.0,
                "proofs.0": {"kind": "sibson", "order": 0.5, "upper": 1, "record": 0},
            },
            "the order",
        ),
        (
            "independent-knowledge",
            {
                "problem": {"records": [3, 2], "classes": None, "rows": [[0.5, 0.5]] * 6},
                "witness.kind": "leaning",
                "witness.beside": [0.5, 0.5],
                "witness.law": [0.5, 0.5],
                "witness.record": 1,
            },
            "no law in common",
        ),
        ("independent-sum", {"proofs.0.kind": "counts"}, "for noise on every count"),
        ("independent-sum", {"proofs.0.kind": "shift"}, "its kind is none of lines"),
        ("independent-own", {"proofs.0.kind": "averaged"}, "tell nothing of a record"),
        ("independent-own", {"proofs.0.kind": "bellman", "adversary.knowledge": 9.0}, "among bits"),
        ("independent-own", {"proofs.0.kind": "bellman"}, "its kind is none of lines"),
        (
            "independent-own",
            {"witness.kind": "known", "witness.others": [0, 0, 1]},
            "tell nothing of a record with its own channel",
        ),
        ("independent-leaning", {"witness.beside": [0.5, 0.5]}, "less than the claimed lower bound"),
        ("independent-leaning", {"witness.beside": [1e-9, 1.0]}, "where at most 1 is allowed"),
        (
            "independent-leaning",
            {"adversary.reference": {"marginals": [[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]]}},
            "all follow",
        ),
        ("independent-leaning", {"proofs.0.kind": "counts"}, "for noise on every count"),
        ("independent-knowledge", {"witness.law": [1.0, 0.0]}, "where at most 0.2 is allowed"),
        (
            "independent-leaning",
            {"adversary.knowledge": 9.0, "witness.beside": [1.0, 0.0]},
            "value 1 of record 0 has no mass under the reference",
        ),
    ],
)
def test_a_damaged_certificate_is_refused(name: str, changes: dict[str, object], words: str) -> None:
    assert words in reason(name, changes)


ALL = 99.0  # nats: more than there is to know
FIRST = {"marginal": [1.0, 0.0]}
TWO_OF_THREE = {"marginal": [0.5, 0.5, 0.0]}
THIRD_CERTAIN = {"marginals": [[0.5, 0.5], [0.4, 0.6], [1.0, 0.0]]}


@pytest.mark.parametrize(
    ("name", "reference", "changes", "words"),
    [  # every form of witness, with a law, others, or a law of others outside of the support
        ("independent-shift", FIRST, {}, "the law of the witness has mass on value 1"),
        ("independent-shift", FIRST, {"witness.law": [1.0, 0.0]}, "knows of the others has mass on value 1"),
        ("independent-shift", THIRD_CERTAIN, {"witness.others": [0, 1, 1]}, "the witness knows value 1 of record 2"),
        ("independent-shift", THIRD_CERTAIN, {"witness.others": [1, 1]}, "has 2 entries"),
        ("independent-shift", THIRD_CERTAIN, {"witness.others": [0, 1, 0], "witness.record": 2}, "law of the witness"),
        ("independent", {"marginals": [[0.5, 0.5], [1.0, 0.0]]}, {}, "reference of record 1 gives none"),
        (
            "independent",
            {"marginals": [[1.0, 0.0], [0.5, 0.5]]},
            {"witness.others": [1, 0]},
            "knows value 1 of record 0",
        ),
        ("independent-indicators", TWO_OF_THREE, {}, "the law of the witness has mass on value 2"),
        ("independent-counts", TWO_OF_THREE, {}, "the law of the witness has mass on value 2"),
        (
            "independent-counts",
            {"marginals": [[0.3, 0.3, 0.4], [0.5, 0.5, 0.0]]},
            {"witness.others": [0, 2]},
            "the witness knows value 2 of record 1",
        ),
        ("independent-one_count", TWO_OF_THREE, {}, "the law of the witness has mass on value 2"),
        ("independent-own", TWO_OF_THREE, {}, "the law of the witness has mass on value 2"),
        ("independent-sum", FIRST, {}, "the law of the witness has mass on value 1"),
        ("independent-reference", FIRST, {}, "the law of the witness has mass on value 1"),
        ("independent-leaning", FIRST, {}, "the law of the witness has mass on value 1"),
        ("independent-leaning", FIRST, {"witness.law": [1.0, 0.0]}, "the law of the others of the witness has mass on"),
    ],
)
def test_no_record_of_a_witness_is_where_the_reference_has_no_mass(
    name: str, reference: dict[str, object], changes: dict[str, object], words: str
) -> None:
    adversary = {"independent": True, "knowledge": ALL, "reference": reference}
    assert words in reason(name, {"adversary": adversary, **changes})


def test_others_that_differ_are_known_one_by_one() -> None:
    laws = {"marginals": [[0.5, 0.5], [0.4, 0.6], [0.3, 0.7]]}
    shift = damaged("independent-shift", {})["proofs"][0]
    changes = {
        "adversary": {"independent": True, "knowledge": ALL, "reference": laws},
        "proofs": [{**shift, "record": i} for i in range(3)],
        "witness.others": [0, 0, 1],
    }
    assert verify_here(damaged("independent-shift", changes)).verified
    # Of what is certain nothing leaks, and so little need be shown of it.
    certain = {"marginals": [[0.5, 0.5], [0.4, 0.6], [1.0, 0.0]]}
    changes["adversary"] = {"independent": True, "knowledge": ALL, "reference": certain}
    changes["witness.others"] = [0, 1, 0]
    changes["proofs"] = [shift, {**shift, "record": 1}, {**shift, "record": 2, "weights": [[1.0, 0.0]], "upper": 1e-30}]
    assert verify_here(damaged("independent-shift", changes)).verified
    changes["adversary"] = {"independent": True}
    changes["witness.others"] = [1, 1]
    assert "exceeds claimed 1e-30" in reason("independent-shift", changes)


def test_lines_are_about_what_the_others_may_be() -> None:
    known = {"independent": True, "knowledge": ALL, "reference": {"marginals": [[0.5, 0.5], [1.0, 0.0]]}}
    data = damaged("independent", {})
    first, second = data["proofs"]
    one = {
        "adversary": known,
        "witness": {"record": 0, "kind": "known", "law": [0.5, 0.5], "others": [0, 0]},
        "lower": 0.0,
        "proofs": [
            {**first, "weights": first["weights"][:1]},
            {**second, "weights": [[1.0, 0.0], [1.0, 0.0]], "upper": 1e-30},
        ],
    }
    assert verify_here(damaged("independent", one)).verified
    # The others follow the reference: the record's own law is free, and all that they may be is to be shown.
    one["adversary"] = {"independent": True, "reference": known["reference"]}
    one["witness"] = {"record": 0, "kind": "following", "law": [0.5, 0.5]}
    assert "1 laws, fewer than what the others may be" in reason("independent", one)


def test_lines_of_sums_leave_out_what_the_others_cannot_add_up_to() -> None:
    summed = Sum(3, (0, 1, 5))
    assert len(list(lines(summed, 0))) == 6
    law = Product(((0.5, 0.5, 0.0),))
    assert list(lines(summed, 0, law)) == list(lines(summed, 0))[:3]
    assert list(lines(summed, 2, Product(((0.5, 0.0, 0.5), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))))) == [
        list(lines(summed, 0))[1],
        list(lines(summed, 0))[4],
    ]


@pytest.mark.parametrize(("name", "kind"), [("shift", "indicators"), ("indicators", "lines")])
def test_proofs_of_noise_on_a_sum_and_on_counts_do_not_mix(name: str, kind: str) -> None:
    data = damaged(f"independent-{name}", {})
    listed = [data["proofs"][0], {**data["proofs"][0], "record": 1, "kind": kind}]
    assert "are for noise on every count" in reason(f"independent-{name}", {"proofs": listed})


def test_more_outputs_than_can_be_checked_are_refused() -> None:
    assert "takes more than 3 numbers" in reason("independent-sum", {}, sizes={"numbers": 3})


def test_values_of_a_record_that_are_too_far_apart_are_refused() -> None:
    far = {"problem.query": f"total(n=3, values=[0, {2**30}])", "lower": 0.0}
    assert "whose values are far apart takes more" in reason("independent-shift", far)
    channel = sums.rebuild({"query": far["problem.query"], "mechanism": "geometric(epsilon=1)"})
    asked = Independent(channel, UNIFORM, follows=False, knowledge=None, about=Secret((0,)))
    with pytest.raises(Refused, match="whose values are far apart takes more"):
        list(asked._lines(0, {"reach": 1}, "it"))


@pytest.mark.parametrize(
    ("name", "mechanism", "same"),
    [
        ("independent", {"records": [2, 2], "classes": None, "rows": [[0.5, 0.25, 0.25]] * 4}, False),
        ("independent", damaged("independent", {})["problem"], True),
        ("independent-shift", {"query": "count(n=3)", "mechanism": "geometric(epsilon=2, sensitivity=2)"}, True),
        ("independent-shift", {"query": "count(n=3)", "mechanism": "geometric(epsilon=2)"}, False),
        ("independent-shift", {"query": "total(n=3, values=[1, 0])", "mechanism": "geometric(epsilon=1)"}, False),
        ("independent-indicators", {"query": "histogram(2, 3)", "mechanism": "geometric(1.0)"}, True),
        ("independent-indicators", {"query": "histogram(n=2, k=3)", "mechanism": "geometric(epsilon=2)"}, False),
        ("independent-own", {"query": "histogram(n=2, k=3)", "mechanism": "randomized_response(epsilon=2)"}, False),
    ],
)
def test_a_certificate_is_about_its_own_channel(name: str, mechanism: dict[str, object], *, same: bool) -> None:
    answer = verify_here(damaged(name, {}), Described(**mechanism))
    assert answer.verified == same
    assert same or "another channel than the mechanism given" in answer.reason


def test_a_law_that_leaves_out_a_value_says_nothing_of_the_others() -> None:
    # The record's own law is free where the others follow theirs, so that its zero does not matter.
    law = {"independent": True, "reference": {"marginals": [[1.0, 0.0], [0.8, 0.2], [0.8, 0.2]]}}
    changes = {"adversary": law, "proofs": [{**damaged("independent-reference", {})["proofs"][0], "record": 0}]}
    assert reason("independent-reference", changes) == "record 1 has no proof"


def test_lines_of_a_histogram_are_the_count_vectors_of_the_others() -> None:
    histogram = Histogram(3, 3)
    found = list(lines(histogram, 0))
    assert len(found) == 6  # of two others
    for line in found:
        counts = [histogram.counts[t] for t in line]
        others = {tuple(c - (v == a) for v, c in enumerate(count)) for a, count in enumerate(counts)}
        assert len(others) == 1
