"""Certificates with one thing wrong: problem, adversary, secret, joint releases, designs; and what is too large."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
from damage import GONE, Described, damaged, golden, reason
from flint import arb

from dalenius.verifier import balls
from dalenius.verifier import verify as checking
from dalenius.verifier.channels import unwritten_sums
from dalenius.verifier.limits import NotChecked
from dalenius.verifier.reading import read
from dalenius.verifier.verify import Verification, verify


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("sibson", {"lower": 0.8}, "exceeds upper"),
        ("sibson", {"version": 2}, "has version 2; this verifier reads version 1"),
        ("sibson", {"adversary": {"entropy": 0.1, "reference": {"marginal": [0.5, 0.5]}}}, "needs 'knowledge'"),
        ("sibson", {"adversary": {"entropy": 9.0}}, "no prior has entropy 9.0 nats"),
        ("sibson", {"adversary": {}}, "needs either 'entropy' or 'knowledge'"),
        (
            "sibson",
            {"problem": {"query": "histogram(n=3, k=2)", "mechanism": "noisy_max(epsilon=1)"}},
            "there is no dataset",
        ),
        (
            "sibson",
            {"problem": {"query": "weighted_sum(weights=[1, 2])", "mechanism": "constant()"}},
            "there is no dataset",
        ),
        ("group", {"witness.record": 0}, "the witness names a record"),
        ("group", {"proofs.0.record": 0}, "it names a record"),
        ("two_records", {"proofs.1": GONE}, "record 1 has no proof"),
        ("two_records", {"proofs.1.record": 0}, "record 0 is proved twice"),
        ("two_records", {"upper": 0.1, "lower": 0.0}, "exceeds the certificate's 0.1"),
        ("large-maximal", {"lower": 0.9}, "exceeds upper"),
        (
            "large-maximal",
            {
                "adversary.reference": {"marginal": [1.0, 0.0]},
                "lower": 0.0,
                "witness.blocks": [0],
                "witness.masses": [[1.0], [0.0]],
            },
            "the reference leaves a class without mass",
        ),
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
        ("joint", {"releases.0.audit.secret": {"records": [0]}}, "must be of every record"),
        ("joint", {"releases.0.audit.problem": {"records": [2, 3]}}, "must have the same values"),
        ("joint", {"releases.0.audit.problem": {"records": [4] * 30}}, "the audit of whole numbers inside"),
        ("joint", {"releases.0.audit.lower": 0.2, "releases.0.audit.upper": 0.3}, "inside: the witness leaks"),
        ("design_beside", {"symmetries": [{}]}, "has no symmetries"),
        ("design_beside", {"beside": 5}, "no first part of 5"),
        ("design_beside", {"budget": {"distortion": 1.0}}, "has a budget of leakage"),
        ("design", {"audit.secret": {"records": [0]}}, "it is about one secret"),
        ("design", {"lower": 0.2}, "exceeds upper"),
    ],
)
def test_a_damaged_certificate_is_refused(name: str, changes: dict[str, object], words: str) -> None:
    assert words in reason(name, changes)


@pytest.mark.parametrize(
    ("name", "sizes", "words"),
    [
        ("sibson", {"secret_entries": 1}, "too many cells to check"),
        ("group", {"secret_pairs": 1}, "too many"),
        ("weights", {"datasets": 2}, "too many"),
        ("design", {"design_pairs": 2}, "too large to check"),
    ],
)
def test_what_is_too_large_is_refused(name: str, sizes: dict[str, int], words: str) -> None:
    assert words in reason(name, {}, sizes=sizes)


def test_a_joint_certificate_is_checked_without_a_mechanism() -> None:
    assert "check it without a mechanism" in reason("joint", {}, Described(query="count(n=2)"))


def test_a_joint_release_that_is_no_product_is_refused() -> None:
    problem = golden("design_beside")["audit"]["problem"]["rows"]
    row = [*problem[0]]
    row[0], row[1] = row[0] + 4e-12, row[1] - 4e-12
    assert "is not the product of what was released before" in reason(
        "design_beside", {"audit.problem.rows": [row, *problem[1:]]}
    )


def test_attributes_may_count_from_weights_of_datasets() -> None:
    even = {"adversary.reference": {"weights": [1 / 16] * 16}}
    assert verify(damaged("attributes", even)).verified


def test_an_entropy_that_cannot_be_told_from_the_most_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "precision", lambda bits=128: balls.precision(min(bits, 128) if bits < 512 else 8))
    assert "cannot be distinguished from log|X|" in reason("sibson", {"adversary": {"entropy": 2.0794415416798357}})


class Raises:
    """Data that cannot be had."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    @property
    def data(self) -> Any:  # noqa: ANN401 - nothing
        raise self.error


def test_what_is_raised_while_checking_is_an_answer() -> None:
    assert verify(Raises(MemoryError())).reason.startswith("not checked: memory ran out, 448 MiB")
    assert verify(Raises(ValueError("no"))).reason == "it cannot be checked (ValueError: 'no')"
    assert verify(SimpleNamespace(data=[])).reason == "the certificate must be an object, not a list"


def test_files_too_large_for_the_memory_are_not_read() -> None:
    with pytest.raises(NotChecked, match="of memory, and 2 are allowed"):
        read(io.BytesIO(b" " * 2**21), memory=2)
    with pytest.raises(NotChecked, match="of memory, and 2 are allowed"):
        read(io.BytesIO(b"[" * 40_000), memory=2)


def test_a_verdict_is_shown_as_a_table() -> None:
    answer = Verification(True, 0.0, 1.0, "x < y", "", 0.1, confidence=0.9)  # noqa: FBT003
    page = answer._repr_html_()
    assert "x &lt; y" in page
    assert "with confidence 0.9" in page
    assert "unknown" in page


def test_masses_that_hide_in_the_noise_are_enclosed_together() -> None:
    first, last = unwritten_sums._held([arb(0)] * 3)
    assert first == last
    assert unwritten_sums._held([arb(1), arb(1), arb(0)]) == (0, 2)
