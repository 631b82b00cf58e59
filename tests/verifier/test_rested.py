"""What a verdict rested on: the kernel alone, or which forms, steps and special bounds beside it."""

import pytest
from damage import damaged, golden

from dalenius.verifier.proofs import rested_on
from dalenius.verifier.verify import verify_here


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("two_records", "kernel"),
        ("plain", "kernel, names"),
        ("grid", "kernel, grid"),
        ("monotone_numbers", "kernel, order"),
        ("window", "kernel, names, window"),
        ("large", "kernel, sum, names, points"),
        ("monotone_points", "kernel, sum, names, points"),
        ("releases", "kernel, releases, names, points"),
        ("releases-cone", "kernel, releases, names, cone"),
        ("releases-mean", "kernel, releases, names, mean"),
        ("moved", "kernel, histogram, names, tied, moved"),
        ("beside", "kernel, beside"),
        ("independent-own", "kernel, per-record, names, independent"),
        ("samples", "kernel, samples, names"),
        ("real", "kernel, real-outputs, names"),
        ("design", "kernel, design, names"),
        ("mixture", "kernel, names, mixture"),
        ("saved", "kernel, names"),
    ],
)
def test_a_verdict_says_what_it_rested_on(name: str, words: str) -> None:
    verdict = verify_here(golden(name))
    assert verdict.rested_on == words
    assert words in verdict._repr_html_()


@pytest.mark.parametrize(
    ("name", "words"),
    [("joint", "kernel, joint, histogram, names, independent"), ("real_records", "kernel, real-records, names")],
)
def test_certificates_inside_count(name: str, words: str) -> None:
    assert verify_here(golden(name)).rested_on.startswith(words)


def test_proofs_of_the_parts_of_a_mixture_count() -> None:
    data = golden("mixture")
    assert verify_here(data).verified
    data["proofs"][0]["parts"][0]["proof"]["steps"] = [{"step": "window", "rows": [0, 2], "outputs": [0, 1]}]
    assert rested_on(data) == "kernel, names, mixture, window"
    constant = golden("mixture")
    constant["proofs"][0]["parts"][1]["proof"] = {"kind": "beside"}
    assert verify_here(constant).rested_on == "kernel, names, mixture"


def test_what_is_not_verified_rests_on_nothing() -> None:
    verdict = verify_here(damaged("plain", {"proofs.0.upper": 0.0}))
    assert not verdict.rested_on
    assert "rested on" not in verdict._repr_html_()


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("convex", {"witness.steps": [{"step": "reviewed by somebody"}]}),
        ("convex", {"proofs.0.audit": {"format": "dalenius/audit-certificate", "form": "my own"}}),
    ],
)
def test_words_of_others_are_not_repeated(name: str, changes: dict[str, object]) -> None:
    assert verify_here(damaged(name, changes)).rested_on == verify_here(golden(name)).rested_on


def test_a_joint_verdict_spells_its_mechanisms_itself() -> None:
    data = golden("joint")
    audit = data["releases"][0]["audit"]
    audit["problem"]["mechanism"] += "  # checked by somebody"
    verdict = verify_here(data)
    assert verdict.verified
    assert "somebody" not in verdict.problem
