"""dalenius list names everything that a call string may name, and nothing else."""

import json

from click.testing import CliRunner

from dalenius.cli import main
from dalenius.model.gallery.families import FAMILIES
from dalenius.model.gallery.parse import QUERIES


def test_every_name_is_listed_with_its_arguments() -> None:
    found = json.loads(CliRunner().invoke(main, ["list", "--json"]).stdout)
    assert [entry["name"] for entry in found["queries"]] == list(QUERIES)
    assert [entry["name"] for entry in found["mechanisms"]] == list(FAMILIES)
    assert found["units"] == ["nats", "bits"]
    assert all(entry["about"].endswith((".", ":")) for kind in ("queries", "mechanisms") for entry in found[kind])
    calls = {entry["name"]: entry["call"] for kind in ("queries", "mechanisms") for entry in found[kind]}
    assert calls["count"].startswith("count(n")
    assert calls["symmetric"] == "symmetric(flip)"


def test_people_read_the_same() -> None:
    text = CliRunner().invoke(main, ["list"]).stdout
    assert all(f"  {name}(" in text for name in [*QUERIES, *FAMILIES])
    assert "Limits" in text
