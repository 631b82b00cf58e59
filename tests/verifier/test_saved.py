"""Saved audits and designs: a certificate with notes; one that states anything of its own beside it is refused."""

import pytest
from damage import GONE, golden, reason

from dalenius.verifier.verify import verify_here


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("saved", {"version": 1}, "the saved audit has version 1; this verifier reads version 2; dalenius.load reads"),
        ("saved", {"version": 3}, "the saved audit has version 3"),
        ("saved", {"version": True}, "the saved audit has version True"),
        ("saved", {"certificate": GONE}, "lacks 'certificate'"),
        ("saved", {"certificate.format": "dalenius/design-certificate"}, "holds no audit certificate"),
        ("saved_design", {"certificate.format": "dalenius/joint-certificate"}, "holds no design certificate"),
        *(("saved", {key: 0.1}, f"states {key!r} beside") for key in ("lower", "upper", "record", "mechanism")),
        *(("saved_design", {key: 0.1}, f"states {key!r} beside") for key in ("goal", "budget", "distortion")),
        ("saved_design", {"leakage.upper": 0.1}, "states 'upper' beside"),
        ("saved_design", {"leakage": 1}, "the saved leakage"),
    ],
)  # fmt: skip
def test_a_saved_result_that_was_altered_is_refused(name: str, changes: dict[str, object], words: str) -> None:
    assert words in reason(name, changes)


def test_a_saved_design_whose_budget_is_not_kept_states_its_distortion_itself() -> None:
    design = golden("saved_design")
    design |= {"certificate": design["certificate"]["audit"], "budget": 0.1, "upper": 0.5, "distortion": 0.4}
    assert verify_here(design).verified
    assert "states 'lower' beside" in verify_here({**design, "lower": 0.1}).reason
