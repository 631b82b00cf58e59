"""What the server keeps has names of its own, and an end."""

from pathlib import Path

import pytest
from refusals import refuses

from dalenius.errors import InputError
from dalenius.explore.page import page_html, style
from dalenius.explore.shelf import MOST_UPLOADS, Shelf, key_of


def test_names_from_the_page_never_become_paths(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for name in ("../../x.csv", "/etc/x.csv", "C:\\x.csv", "..\\x.CSV"):
        identity = shelf.put(name, b"1\n")
        assert shelf.uploads[identity].name.lower() == "x.csv"
        assert shelf.uploads[identity].path.parent == tmp_path
    for name in ("x", "x.py", "", "x.csv/"):
        with pytest.raises(InputError, match="is not a file that this page reads"):
            shelf.put(name, b"1") if name != "x.csv/" else shelf.put("x.csv/y", b"1")
    for name in ("", "../x", "a" * 32):
        refuses("no longer here", shelf.result, name, "certificate")


def test_old_files_go(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for k in range(MOST_UPLOADS + 3):
        shelf.put("a.csv", str(k).encode())
    assert len(list(tmp_path.iterdir())) == len(shelf.uploads) == MOST_UPLOADS
    for k in range(40):
        (tmp_path / f"{k}.certificate").touch()
        shelf.keep_result(str(k))
        shelf.keep_answer(key_of({"k": k}), [b"x"])
    assert len(shelf.results) == len(shelf.answers) == 32
    assert not (tmp_path / "0.certificate").exists()
    assert shelf.result("39", "certificate").exists()


def test_the_page_has_no_inline_script_or_style_and_every_control_a_label() -> None:
    page = page_html("t0ken").decode()
    assert "{{" not in page
    assert "t0ken" in page
    assert "<style" not in page
    assert " style=" not in page
    assert " on" not in {word[:3] for word in page.split("<")}
    assert page.count("<script") == 1
    assert b"(prefers-color-scheme: dark)" in style()
