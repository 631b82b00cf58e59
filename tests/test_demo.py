from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from design_samples import any_design
from samples import built

import dalenius
from dalenius import demo
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms
from dalenius.model.query import Query
from dalenius.results.audit import Audit, Curve
from dalenius.results.design import Design, Frontier


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A solver that invents and a verifier that says what it is told."""
    verdict = SimpleNamespace(verified=True, reason="it was changed")

    def audit(mechanism: Mechanism, knowledge: float, *, verify: bool = False) -> Audit:
        assert not verify
        return built(mechanism, knowledge)

    def curve(mechanism: Mechanism, knowledges: list[float]) -> Curve:
        entropies = tuple(mechanism.log_universe - known for known in knowledges)
        return Curve(entropies, tuple(audit(mechanism, known) for known in knowledges))

    def design(query: Query, distortion: float, knowledge: float, tolerance: float, *, verify: bool) -> Design:
        assert not verify
        counts = np.indices((2, 2, 2, 2)).sum(axis=0).reshape(16, 1)
        matrix = mechanisms.geometric(query, epsilon=1).matrix()
        assert distortion == pytest.approx((matrix * abs(counts - np.arange(5))).sum() / 16)
        assert knowledge == 0.5
        return any_design(query, budget=distortion, distortion=distortion, tolerance=tolerance)

    def frontier(query: Query, knowledge: float, points: int, tolerance: float) -> Frontier:
        assert knowledge == 0.5
        designs = tuple(
            any_design(query, budget=d / points, distortion=d / points, tolerance=tolerance) for d in range(points)
        )
        return Frontier(query, designs)

    invented = {"audit": audit, "curve": curve, "design": design, "frontier": frontier}
    for name, function in invented.items():
        monkeypatch.setitem(vars(dalenius), name, function)
    for result in (Audit, Design):
        monkeypatch.setattr(result, "verify", lambda _: verdict)
    return verdict


@pytest.mark.usefixtures("stand_ins")
def test_the_demo_writes_its_page_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--out", str(tmp_path / "a" / "demo")]) == 0
    names = sorted(path.name for path in (tmp_path / "a" / "demo").iterdir())
    assert names == [
        "design-certificate.json",
        "report.html",
        "rounded-count-certificate.json",
        "survey-certificate.json",
    ]
    printed = capsys.readouterr().out
    assert printed.endswith(f"The report: {tmp_path / 'a' / 'demo' / 'report.html'}\n")
    assert printed.count(": verified.") == 3
    assert (tmp_path / "a" / "demo" / "report.html").read_text().count("<img") == 6


def test_the_demo_admits_a_certificate_that_fails(
    stand_ins: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_ins.verified = False
    assert demo.main(["--out", str(tmp_path)]) == 1
    assert "NOT VERIFIED, it was changed" in capsys.readouterr().out


@pytest.mark.usefixtures("stand_ins")
def test_a_folder_that_cannot_be_made_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert demo.main(["--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("dalenius: ")


@pytest.mark.nightly
def test_the_real_demo_finds_a_better_mechanism(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "8" in printed.split(" % less")[0][-5:]
    assert "chance at most 77 % after it" in " ".join(printed.split())
    assert [line for line in printed.splitlines() if len(line) > 96 and "verify " not in line and "/" not in line] == []
    assert printed.count(": verified.") == 3
