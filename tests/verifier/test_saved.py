"""Saved audits and designs: whatever is written beside the certificate and says something else is refused."""

import math

import pytest
from damage import GONE, damaged, golden, reason
from kinds import Json

from dalenius.verifier.verify import verify_here

AUDIT = golden("saved")
BITS = {
    "unit": "bits",
    "lower": math.nextafter(AUDIT["lower"] / math.log(2), -math.inf),
    "upper": math.nextafter(AUDIT["upper"] / math.log(2), math.inf),
}
INDEPENDENT = {
    "format": "dalenius/audit",
    "version": 1,
    "mechanism": golden("independent-shift")["problem"],
    "adversary": {"kind": "independent", "given": None, "value": None, "knowledge": None, "entropy": None},
    "unit": "nats",
    "record": 0,
    "lower": golden("independent-shift")["lower"],
    "upper": golden("independent-shift")["upper"],
    "certificate": golden("independent-shift"),
}


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("saved", {"version": 2}, "the saved audit has version 2"),
        ("saved", {"version": True}, "the saved audit has version True"),
        ("saved", {"certificate.format": "dalenius/design-certificate"}, "holds no audit certificate"),
        ("saved", {"mechanism.query": "count(n=4)"}, "the saved mechanism is "),
        ("saved", {"adversary.knowledge": 0.9}, "the saved knowledge is 0.9"),
        ("saved", {"adversary.entropy": 0.9}, "the saved entropy is 0.9"),
        ("saved", {"adversary.value": 0.9}, "the saved limit is entropy 0.9 where the certificate has entropy "),
        ("saved", {"adversary.given": "epsilon"}, "is given by 'epsilon'"),
        ("saved", {"adversary.kind": "independent"}, "the saved adversary is 'independent'"),
        ("saved", {"certificate.adversary.lower": 1}, "the adversary of the certificate has 'lower'"),
        ("saved", {"record": 1}, "the saved record is 1"),
        ("saved", {"names": [["a"]]}, "about another kind of secret"),
        ("saved", {"upper": 0.1}, "the saved upper bound is 0.1"),
        ("saved", {"unit": "bans"}, "it must be nats or bits"),
        ("saved", {**BITS, "upper": AUDIT["upper"] / math.log(2)}, "the saved upper bound is"),
        (
            "saved",
            {"lower": AUDIT["upper"], "upper": AUDIT["lower"], "certificate.lower": AUDIT["upper"],
             "certificate.upper": AUDIT["lower"]},
            "exceeds upper",
        ),
        ("saved_design", {"leakage.unit": "bits"}, "the saved "),
        ("saved_design", {"unit": "bits"}, "the saved unit of the leakage is 'nats'"),
        ("saved_design", {"goal": "speed"}, "it must be leakage or distortion"),
        ("saved_design", {"goal": "distortion"}, "the saved budget is leakage 0.3 where the certificate has"),
        ("saved_design", {"budget": 0.4}, "the saved budget is distortion 0.4 where"),
        ("saved_design", {"distortion": 0.2}, "the saved distortion is 0.2"),
        ("saved_design", {"query": "count(n=3)"}, "the saved query is 'count(n=3)'"),
        ("saved_design", {"leakage.adversary.entropy": 0.6}, "the saved entropy is 0.6"),
    ],
)  # fmt: skip
def test_a_saved_result_that_was_altered_is_refused(name: str, changes: dict[str, object], words: str) -> None:
    assert words in reason(name, changes)


def test_bounds_in_bits_are_rounded_outward() -> None:
    assert verify_here(damaged("saved", BITS)).verified


def test_a_saved_audit_with_a_reference_states_no_entropy() -> None:
    certificate = golden("large-reference")
    saved = {
        **{key: certificate[key] for key in ("lower", "upper")},
        "format": "dalenius/audit",
        "version": 1,
        "mechanism": certificate["problem"],
        "adversary": {"given": "knowledge", "value": 0.2, "knowledge": 0.2, "entropy": None},
        "unit": "nats",
        "record": 0,
        "certificate": certificate,
    }
    assert verify_here(saved).verified
    saved["adversary"]["entropy"] = 1.0
    assert "the saved entropy is 1.0 where the certificate has None" in verify_here(saved).reason


def test_a_saved_audit_of_independent_records_states_no_amount() -> None:
    assert verify_here(INDEPENDENT).verified
    altered = {**INDEPENDENT, "adversary": {**INDEPENDENT["adversary"], "knowledge": 0.5}}
    assert "the saved knowledge is 0.5" in verify_here(altered).reason


def test_a_saved_design_without_a_proof_of_its_optimum_claims_an_upper_bound_only() -> None:
    design = golden("saved_design")
    design |= {"certificate": design["certificate"]["audit"], "goal": "distortion", "proved": "upper", "lower": 0}
    assert verify_here(design).verified
    assert "claims more than its certificate" in verify_here({**design, "lower": 0.1}).reason
    one = {**design["certificate"], "secret": {"kind": "records", "records": [0]}}
    assert "is about one secret" in verify_here({**design, "certificate": one}).reason


def test_what_a_saved_result_lacks_is_named() -> None:
    for key in ("certificate", "mechanism", "adversary", "record", "lower", "unit"):
        assert f"lacks {key!r}" in reason("saved", {key: GONE})


def beside(**changes: object) -> Json:
    """A saved design after an earlier release, with these changes to the mechanism that is to be run."""
    certificate = golden("design_beside")
    audit, parts = certificate["audit"], certificate["beside"]
    joint = audit["problem"]
    rows = [[sum(row[y :: len(row) // parts]) for y in range(len(row) // parts)] for row in joint["rows"]]
    knows = certificate["adversary"]["knowledge"]
    adversary = {"given": "knowledge", "value": knows, "knowledge": knows, "entropy": math.log(4) - knows}
    common = {"unit": "nats", "adversary": adversary}
    return {
        "format": "dalenius/design",
        "version": 1,
        "mechanism": joint,
        "released": {**joint, "rows": rows, "labels": [0, 1, 2], **changes},
        "query": certificate["problem"].get("query"),
        "goal": "distortion",
        "budget": certificate["budget"]["leakage"],
        **{key: certificate[key] for key in ("lower", "upper", "distortion")},
        "leakage": {"record": 0, "lower": audit["lower"], "upper": audit["upper"], **common},
        "certificate": certificate,
        **common,
    }


def test_the_mechanism_that_a_saved_design_releases_is_the_second_part_of_its_joint_release() -> None:
    honest = beside()
    assert verify_here(honest).verified, verify_here(honest).reason
    rows = honest["released"]["rows"]
    other = "is not the second part of the joint release"
    assert other in verify_here(beside(rows=rows[::-1])).reason
    assert other in verify_here(beside(rows=[[1.0] + [0.0] * (len(rows[0]) - 1)] * len(rows))).reason
    assert other in verify_here(beside(query="count(n=3)")).reason
    assert "entries where" in verify_here(beside(rows=rows[:-1])).reason
    assert "entries where" in verify_here(beside(rows=[row[:-1] for row in rows])).reason
    assert "finite number" in verify_here(beside(rows=[[None] * len(rows[0])] * len(rows))).reason
    by_rows = "the saved mechanism is count(n=2) where the certificate has a channel by its rows"
    assert by_rows in verify_here({**honest, "mechanism": {"query": "count(n=2)"}}).reason
    agree = "do not agree whether there were earlier releases"
    del honest["released"]
    assert agree in verify_here(honest).reason
    assert agree in verify_here({**golden("saved_design"), "released": rows}).reason
