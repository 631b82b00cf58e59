from pathlib import Path
from types import SimpleNamespace

import pytest

from dalenius import demo
from dalenius.results.audit import Audit


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"KNOWN": (0, 0.5), "POINTS": 2, "POINT_GAP": 0.1}.items():
        monkeypatch.setattr(demo, name, value)


@pytest.mark.usefixtures("_quick")
def test_the_demo_finds_a_better_mechanism_and_says_where_its_page_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a" / "demo"
    assert demo.main(["--out", str(folder)]) == 0
    certificates = [f"{name}-certificate.json" for name in ("better-survey", "rounded-count", "survey")]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [*certificates, "report.evidence.json", "report.html"]
    )
    printed = capsys.readouterr().out
    assert printed.endswith(f"The report: {folder / 'report.html'}\n")
    assert printed.count(": verified.") == 3
    assert "8" in printed.split(" % less")[0][-5:]
    assert "chance at most 77 % after it" in " ".join(printed.split())
    assert [line for line in printed.splitlines() if len(line) > 96 and "verify " not in line and "/" not in line] == []
    assert (folder / "report.html").read_text().count(". Verdict: ") == 5


@pytest.mark.usefixtures("_quick")
def test_the_demo_admits_a_certificate_that_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = SimpleNamespace(verified=False, reason="it was changed")
    monkeypatch.setattr(Audit, "verify", lambda _: refused)
    assert demo.main(["--out", str(tmp_path)]) == 1
    assert "NOT VERIFIED, it was changed" in capsys.readouterr().out


def test_a_folder_that_cannot_be_made_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert demo.main(["--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("dalenius: ")
