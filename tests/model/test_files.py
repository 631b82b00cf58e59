import os
from pathlib import Path

import pytest
from refusals import refuses

import dalenius as dl
from dalenius.errors import InputError, printable
from dalenius.model import files

MECHANISM = dl.mechanisms.symmetric(dl.queries.modular_sum(n=2, modulus=2), flip=0.1)


@pytest.mark.parametrize("kind", ["a FIFO", "a directory", "a device", "a FIFO behind a link"])
def test_only_regular_files_are_replaced(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "target.json"
    if kind == "a directory":
        path.mkdir()
    elif kind == "a device":
        path = Path(os.devnull)
    elif kind == "a FIFO":
        os.mkfifo(path)
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    before = path.stat().st_mode
    for write in (lambda: files.write(path, b"x"), lambda: MECHANISM.save(path)):
        refuses(f"it is {kind.split(' behind', maxsplit=1)[0]}; name a file", write)
    assert path.stat().st_mode == before
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_data_reach_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = []
    fsync, replace = os.fsync, Path.replace

    def synced(handle: int) -> None:
        order.append(("fsync", os.fstat(handle).st_size))
        fsync(handle)

    def renamed(self: Path, target: Path) -> Path:
        order.append(("rename", self.stat().st_size))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    files.write(tmp_path / "a", b"12345")
    assert order == [("fsync", 5), ("rename", 5)]
    files.write(tmp_path / "a", b"1")  # what is there is a regular file
    assert (tmp_path / "a").read_bytes() == b"1"


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', '{"a": -Infinity}', '{"a": 1, "a": 2}', '[{"b": {"a": 1, "a": 1}}]', "[" * 10**5]
)
def test_json_with_two_readings_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    refuses(r"a\.json is not valid JSON", files.read_json, tmp_path / "a.json")


@pytest.mark.parametrize("path", [None, 3, b"x", [], "a\0b", object()])
def test_what_is_no_path_is_refused(path: object) -> None:
    for call in (dl.load, dl.Mechanism.load, dl.Ledger.load, MECHANISM.save, MECHANISM.save_table):
        refuses("is not a path", call, path)


def test_errors_quote_names_without_control_characters() -> None:
    assert printable("plain ünïcode") == "plain ünïcode"
    assert printable("a\x1b[31m\n\u202e\x9b\ud800") == "a\\x1b[31m\\n\\u202e\\x9b\\ud800"
    assert str(InputError("label \x1b[2J\nLeakage 0")) == "label \\x1b[2J\\nLeakage 0"
