"""Works are cited by key: every key is in docs/references.bib, and every entry there is cited."""

import re
from pathlib import Path

import dalenius

ROOT = Path(__file__).parents[1]
KEY = re.compile(r"(?<!\w)\[([a-z]{3,}\d{2})\]")
ENTRY = re.compile(r"^@\w+\{(\w+),$", re.MULTILINE)
FIELDS = ("author", "title", "year")


def test_every_citation_has_its_entry_and_every_entry_is_cited() -> None:
    sources = [*Path(str(dalenius.__file__)).parent.rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    cited = {key for path in sources for key in KEY.findall(path.read_text())}
    listed = ENTRY.findall((ROOT / "docs" / "references.bib").read_text())
    assert cited == set(listed)


def test_entries_are_in_order_and_say_who_what_and_when() -> None:
    text = (ROOT / "docs" / "references.bib").read_text()
    listed = ENTRY.findall(text)
    assert listed == sorted(set(listed))
    for entry in text.split("\n@")[1:]:
        assert all(re.search(rf"^  {name} += ", entry, re.MULTILINE) for name in FIELDS), entry
