"""Certificates with one thing wrong: problem, adversary, secret, joint releases, designs; and what is too large."""

import io
import re
from types import SimpleNamespace
from typing import Any

import pytest
from damage import GONE, Described, damaged, golden, reason
from flint import arb

from dalenius.verifier import verify as checking
from dalenius.verifier.forms import design, sums
from dalenius.verifier.forms.counting import Records
from dalenius.verifier.forms.reference import UNIFORM, universe
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.forms.written import Audited, Knowledge, rebuild
from dalenius.verifier.kernel import balls
from dalenius.verifier.kernel.limits import NotChecked, sized
from dalenius.verifier.kernel.reading import Refused, read
from dalenius.verifier.verify import Verification, verify_here, verify_stream


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("plain", {"lower": 0.8}, "exceeds upper"),
        ("plain", {"format": "dalenius/mechanism"}, "this is not a certificate"),
        ("plain", {"adversary.reference": {"law": [0.5, 0.5]}}, "it needs one of marginal, marginals, weights"),
        ("plain", {"adversary.reference": {"marginal": [0.5, 0.4]}}, "sum to 0.9, not to 1"),
        ("plain", {"problem.rows": []}, "which describe no channel"),
        ("reference", {"problem.rows.0": [0.5, 0.25, 0.2]}, "row 0 sums to 0.95, not to 1"),
        ("group", {"secret": {"record": 0}}, "the secret lacks 'kind'"),
        ("group", {"secret": {"kind": "bin", "record": 0, "edges": []}}, "which is none of records, function"),
        ("group", {"secret": {"kind": "records", "values": [0]}}, "not those of the kind records"),
        ("group", {"secret": {"kind": "records", "records": [1, 0]}}, "must ascend, one or more of them"),
        ("function", {"secret.values": [0, 0, 2, 2]}, "no dataset has the secret value 1"),
        ("design", {"audit": golden("samples")}, "it is of the form samples; a design states its mechanism by rows"),
        ("plain", {"version": 1}, "has version 1, which dalenius 0.1.0 reads; this verifier reads version 2"),
        ("plain", {"version": 3}, "has version 3; this verifier reads version 2"),
        ("plain", {"version": [1]}, "has version a list; this verifier reads version 2"),
        ("plain", {"form": GONE}, "the certificate lacks 'form'"),
        ("plain", {"adversary": {"entropy": 0.1, "reference": {"marginal": [0.5, 0.5]}}}, "needs 'knowledge'"),
        ("plain", {"adversary": {"entropy": 9.0}}, "no prior has entropy 9.0 nats"),
        ("plain", {"adversary": {}}, "needs either 'entropy' or 'knowledge'"),
        (
            "plain",
            {"problem": {"query": "histogram(n=3, k=2)", "mechanism": "noisy_max(epsilon=1)"}},
            "there is no dataset",
        ),
        (
            "plain",
            {"problem": {"query": "weighted_sum(weights=[1, 2])", "mechanism": "constant()"}},
            "there is no dataset",
        ),
        ("group", {"witness.record": 0}, "the witness names a record"),
        ("group", {"proofs.0.record": 0}, "it names a record"),
        ("two_records", {"proofs.1": GONE}, "record 1 has no proof"),
        ("two_records", {"proofs.1.record": 0}, "record 0 is proved twice"),
        ("two_records", {"upper": 0.1, "lower": 0.0}, "exceeds the certificate's 0.1"),
        ("large-trivial", {"lower": 0.9}, "exceeds upper"),
        (
            "blend",
            {
                "adversary.reference": {"marginal": [1.0, 0.0]},
                "lower": 0.0,
                "witness.blocks": [0],
                "witness.masses": [[1.0], [0.0]],
            },
            "the reference leaves a class without mass",
        ),
        ("plain", {"witness.masses": [[0.0] * 4] * 2}, "the witness has no mass"),
        ("two_records", {"adversary.reference": {"marginal": [0.5, 0.5]}}, "records of the same number of values"),
        ("monotone", {"proofs.0.steps": [{"step": "points", "first": 0}]}, "none of grid, window, order"),
        ("monotone_points", {"proofs.0.steps.0.step": "grid"}, "its step is 'grid', not points"),
        ("monotone_points", {"proofs.0.steps": [{"step": "points", "first": 0}]}, "lacks 'every'"),
        ("joint", {"releases": []}, "there are no releases"),
        ("joint", {"lower": 0.2}, "exceeds upper"),
        ("joint", {"columns": {}}, "there are 0 columns"),
        ("joint", {"adversary": {"entropy": 0.0}}, "has 'independent' true, or 'knowledge'"),
        ("joint", {"people": 31}, "is about 30 people, the certificate about 31"),
        ("joint", {"columns.y": 3}, "is about 4 values, and its columns have 6"),
        ("joint", {"upper": 0.1}, "add up to 0.142"),
        ("joint", {"lower": 0.1}, "less than the claimed lower bound"),
        ("joint", {"releases.0.columns": []}, "looks at nothing"),
        ("joint", {"releases.0.columns": [["y", "z"]]}, "and not at columns of the certificate"),
        ("joint", {"releases.0.columns": [["y", "y"]]}, "looks at a column twice"),
        ("joint", {"releases.0.audit.format": "dalenius/audit"}, "has no audit certificate"),
        ("joint", {"releases.0.audit.secret": {"kind": "records", "records": [0]}}, "must be of every record"),
        ("joint", {"releases.0.audit.problem": {"records": [2, 3]}}, "must have the same values"),
        ("joint", {"releases.0.audit.problem": {"records": [4] * 30}}, "the audit of whole numbers inside"),
        ("joint", {"releases.0.audit.lower": 0.2, "releases.0.audit.upper": 0.3}, "inside: the witness leaks"),
        ("design_beside", {"symmetries": [{}]}, "has no symmetries"),
        ("design_beside", {"beside": 5}, "no first part of 5"),
        ("design_beside", {"budget": {"distortion": 1.0}}, "has a budget of leakage"),
        ("design", {"audit.secret": {"kind": "records", "records": [0]}}, "it is about one secret"),
        (
            "design-independent",
            {"audit.adversary.knowledge": 0.5},
            "a design against independent records takes neither 'knowledge' nor a 'reference'",
        ),
        ("design-private", {"problem.max_epsilon": 0.3}, "the mechanism is not 0.3-differentially private"),
        ("design-private", {"problem.max_epsilon": -1.0}, "max_epsilon is -1.0"),
        # What no mechanism of a class can do is no bound for a class that holds more.
        ("design-private", {"problem.max_epsilon": 3.0}, "proves a lower bound of"),
        ("design-private", {"problem.max_epsilon": GONE}, "whose datasets are not neighbours"),
        ("design-private", {"prices.0": [0, 2, 0, 0.1]}, "classes 0 and 2, whose datasets are not neighbours"),
        ("design-private", {"prices.0": [0, 3, 0, 0.1]}, "a class of price 0"),
        ("design-private", {"prices.0": [0, 1, 3, 0.1]}, "the output of price 0"),
        ("design-private", {"prices.0.3": -0.1}, "the weight of price 0 is -0.1"),
        ("design-private", {"prices.0": [0, 1]}, "where 4 are needed"),
        ("design-private", {"prices.0.3": 40.0}, "proves a lower bound of"),
        ("design-floor", {"problem.floor": 0.2}, "an output of probability below 0.2"),
        ("design-floor", {"problem.floor": GONE}, "proves a lower bound of"),
        ("design-floor", {"problem.floor": -0.1}, "floor is -0.1"),
        ("design-unbiased", {"problem.unbiased": False}, "are true where they are stated"),
        ("design-unbiased", {"problem.unbiased": GONE}, "where 4 are needed"),
        ("design-unbiased", {"problem.within": 3.0}, "proves a lower bound of"),
        ("design-unbiased", {"problem.within": 1.0}, "has an output that class 0 must not have"),
        ("design-unbiased", {"problem.outputs.0": -0.5}, "the mechanism is biased by"),
        ("design-unbiased", {"problem.outputs.0": 0.0}, "has an output that class 0 must not have"),
        (
            "design-unbiased",
            {"problem.query": GONE, "problem.outputs": GONE, "problem.distortion": [[0.0] * 5] * 3},
            "within needs a query by name whose answers are numbers",
        ),
        ("design-unbiased", {"prices.0": [3, 0.1]}, "the class of price 0"),
        ("design-unbiased", {"prices.0.1": 40.0}, "proves a lower bound of"),
        ("design-zeros", {"problem.within": 0.5, "problem.keep_zero": GONE}, "must not have"),
        ("design-zeros", {"problem.keep_zero": GONE}, "proves a lower bound of"),
        (
            "design-zeros",
            {"problem.outputs": [0.0, 1.0, 1.5], "problem.within": 0.25},
            "the constraints leave class 2 no output",
        ),
        (
            "design-zeros",
            {"symmetries": [{"values": [1, 0], "outputs": [2, 1, 0]}]},
            "does not leave the constraints alone",
        ),
        ("design_beside", {"problem.max_epsilon": 1.0}, "a design after earlier releases has no max_epsilon"),
        ("design-independent", {"pool.0.others": [2, 0]}, "are 2 records, not 1"),
        ("design-independent", {"pool.0.others": [0, 1]}, "proves a lower bound of"),
        ("design-independent", {"pool.0.law": [1.0]}, "where 2 are needed"),
        ("design-independent", {"pool.0.law": [1.0, 0.0]}, "proves a lower bound of"),
        ("design-independent", {"pool.0.ratios.0": [0.0, 0.0]}, "where 3 are needed"),
        ("design-independent", {"pool.0.weight": -1.0}, "the weight of prior 0 of the pool is -1.0"),
        ("design-independent", {"pool.0.weight": 50.0}, "proves a lower bound of"),
        ("design-independent", {"budget.leakage": 0.09}, "more than the budget 0.09"),
        ("design", {"budget.distortion": 0.29}, "exceeds the budget 0.29"),
        ("design", {"budget": {}}, "needs either 'distortion' or 'leakage'"),
        ("design", {"distortion": 0.29}, "more than the claimed 0.29"),
        ("design", {"problem.noise": 1}, "which describe no design"),
        ("design", {"problem.distribution": [0.5] * 3}, "the entries of the distribution sum to 1.5"),
        ("design", {"problem.distribution": [0.3, 0.5, 0.2], "distortion": 0.3}, "which has another probability"),
        ("design", {"problem.distortion": "cubic"}, "the distortion is 'cubic'"),
        ("design", {"problem.query": "count(n=3)"}, "about another query than count(n=3)"),
        ("design", {"problem.outputs": [0.0, 0.5, 2.0]}, "more than the claimed"),
        ("design", {"symmetries.0.records": [0, 1]}, "not those of its domain"),
        ("design", {"symmetries.0.outputs": [0, 1, 2]}, "where the distortions are others"),
        ("design", {"symmetries.0.outputs": [0, 0, 2]}, "are not a permutation"),
        ("design", {"adversary": {"entropy": 0.4}}, "about another adversary than the design"),
        ("design_beside", {"problem.outputs": [0, 1, 2]}, "with a named query only"),
        ("dual_design", {"upper": 0.3908}, "is not the upper bound 0.3908"),
        ("dual_design", {"budget.leakage": 0.09}, "more than the budget 0.09"),
        ("design", {"lower": 0.2}, "exceeds upper"),
    ],
)
def test_a_damaged_certificate_is_refused(name: str, changes: dict[str, object], words: str) -> None:
    assert words in reason(name, changes)


@pytest.mark.parametrize(
    ("name", "sizes", "words"),
    [
        ("plain", {"numbers": 20}, "record 0 takes more"),
        ("large", {"numbers": 5}, "too many to check"),
        ("group", {"numbers": 9}, "the channel takes more"),
        ("weights", {"numbers": 2}, "the table of the problem takes more"),
        ("design", {"numbers": 2}, "too many to check"),
    ],
)
def test_what_is_too_large_is_refused(name: str, sizes: dict[str, int], words: str) -> None:
    assert words in reason(name, {}, sizes=sizes)


def test_datasets_that_are_too_many_to_list_are_refused() -> None:
    weights = {"adversary.reference": {"weights": [0.125] * 8}}
    assert "too many to check" in reason("plain", weights, sizes={"numbers": 2})


def test_a_group_of_many_records_is_named_by_its_fingerprint() -> None:
    assert Secret(tuple(range(21))).text.startswith("21 records (sha256 ")


def test_a_joint_certificate_is_about_a_mechanism_for_each_release() -> None:
    assert "about 3 releases, and 1 mechanisms" in reason("joint", {}, Described(query="count(n=2)"))


def test_a_joint_release_that_is_no_product_is_refused() -> None:
    problem = golden("design_beside")["audit"]["problem"]["rows"]
    row = [*problem[0]]
    row[0], row[1] = row[0] + 4e-12, row[1] - 4e-12
    assert "is not the product of what was released before" in reason(
        "design_beside", {"audit.problem.rows": [row, *problem[1:]]}
    )


def test_attributes_may_count_from_weights_of_datasets() -> None:
    even = {"adversary.reference": {"weights": [1 / 16] * 16}}
    assert verify_here(damaged("attributes", even)).verified
    with sized(numbers=15), pytest.raises(Refused, match="a list of the datasets takes more"):
        universe(Records(2, 4))


def designed(problem: dict[str, Any], described: dict[str, Any], **more: Any) -> Any:
    """What is read of a design whose audit is taken on trust."""
    with balls.precision():
        channel = rebuild(described)
        audited = Audited(channel, Knowledge(arb(0), none=True, free=False), UNIFORM, 1.0, "", "")
        problem = {"distribution": "uniform", "distortion": "absolute", **problem}
        content = {"problem": problem, "adversary": {}, "audit": {"adversary": {}, "problem": described}, **more}
        return design.read(content | {"budget": {"leakage": 1.0}}, audited)


def rows(many: int, width: int) -> list[list[float]]:
    return [[1.0, *[0.0] * (width - 1)]] * many


HISTOGRAM = "histogram(n=1, k=2)"


@pytest.mark.parametrize(
    ("problem", "described", "words"),
    [
        ({}, {"query": "total(n=2, values=[0, 1, 2])", "rows": rows(5, 2)}, "one row per count vector"),
        ({"query": "count(n=2)"}, {"query": "count(n=2)", "rows": rows(3, 2)}, "2 outputs where count(n=2) has 3"),
        (
            {"query": "count(n=2)", "outputs": [0, 1, 2]},
            {"query": "count(n=2)", "mechanism": "geometric(epsilon=1)"},
            "a named mechanism has its own outputs",
        ),
        (
            {"query": HISTOGRAM, "outputs": [[0.5], [0.5]]},
            {"query": HISTOGRAM, "rows": rows(2, 2)},
            "1 entries where 2",
        ),
    ],
)
def test_a_design_names_the_outputs_that_its_mechanism_has(
    problem: dict[str, Any], described: dict[str, Any], words: str
) -> None:
    with pytest.raises(Refused, match=re.escape(words)):
        designed(problem, described)


def test_outputs_of_a_design_may_be_any_vectors() -> None:
    described = {"query": HISTOGRAM, "rows": rows(2, 2)}
    task = designed({"query": HISTOGRAM, "outputs": [[0.5, 0.5], [1.0, 0.0]]}, described)
    assert [list(map(float, row)) for row in task.distances] == [[1.0, 2.0], [1.0, 0.0]]


def test_a_symmetry_takes_records_to_records_with_as_many_values() -> None:
    described = {"records": [2, 3], "classes": None, "rows": rows(6, 2)}
    task = designed({"distortion": [[0.0, 1.0]] * 6}, described)
    moved = {"records": [1, 0], "values": [[0, 1], [0, 1, 2]], "outputs": [0, 1]}
    with balls.precision(), pytest.raises(Refused, match="another number of values"):
        task._lower_bound({"symmetries": [moved], "pool": []})


def test_a_prior_next_to_the_reference_stands_for_it() -> None:
    # Rounding alone takes it farther from the reference than this adversary may be.
    masses = [[0.25, 0.25000000000000006, 0.0, 0.0], [0.0, 0.0, 0.25, 0.25]]
    witness = {"witness.record": 0, "witness.masses": masses, "adversary.knowledge": 1e-40, "lower": 0.0}
    assert verify_here(damaged("trivial", witness)).verified
    masses[0][0] = 0.2500001
    assert "where at most 1e-40 is allowed" in reason("trivial", witness)


def test_json_that_is_none_is_refused() -> None:
    for text, words in (
        (b'{"a": NaN}', "NaN is not a number of JSON"),
        (b'{"a": 1, "a": 2}', "names the same key twice"),
        (b"[" * 100_000, "lists within lists too deep"),
        (b"\xff", "not valid JSON"),
    ):
        assert words in checking.verify_stream(io.BytesIO(text))["reason"]


def test_a_sum_of_exponentials_is_known_where_they_overflow_and_nothing_of_what_is_no_number() -> None:
    assert (balls.log_sum_exp([arb(1e300)] * 2) - arb(1e300)).overlaps(arb(2).log())
    assert not balls.log_sum_exp([arb.nan(), arb(1)]).is_finite()


def test_an_entropy_that_cannot_be_told_from_the_most_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "precision", lambda bits=128: balls.precision(min(bits, 128) if bits < 512 else 8))
    assert "cannot be distinguished from log|X|" in reason("plain", {"adversary": {"entropy": 2.0794415416798357}})


class Raises:
    """Data that cannot be had."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    @property
    def data(self) -> Any:
        raise self.error


def test_what_is_raised_while_checking_is_an_answer() -> None:
    assert verify_here(Raises(MemoryError())).reason == "not checked: memory ran out"
    with io.BytesIO() as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("dalenius.verifier.verify.read", lambda *_: Raises(MemoryError()).data)
        assert verify_stream(file)["reason"].startswith("not checked: memory ran out, 448 MiB")
    assert verify_here(Raises(ValueError("no"))).reason == "it cannot be checked (ValueError: 'no')"
    assert verify_here(SimpleNamespace(data=[])).reason == "the certificate must be an object, not a list"


def test_files_too_large_for_the_memory_are_not_read() -> None:
    with pytest.raises(NotChecked, match="of memory, and 2 are allowed"):
        read(io.BytesIO(b" " * 2**21), memory=2)
    with pytest.raises(NotChecked, match="of memory, and 2 are allowed"):
        read(io.BytesIO(b"[" * 40_000), memory=2)


def test_a_verdict_is_shown_as_a_table() -> None:
    answer = Verification(True, 0.0, 1.0, "x < y", "", 0.1, confidence=0.9)
    page = answer._repr_html_()
    assert "x &lt; y" in page
    assert "with confidence 0.9" in page
    assert "unknown" in page


def test_masses_that_hide_in_the_noise_are_enclosed_together() -> None:
    assert sums._held([arb(0)] * 3) == (2, 3)  # one class is there to begin with
    assert sums._held([arb(1), arb(1), arb(0)]) == (0, 2)
