"""Mechanisms that other distributions offer under the entry-point group dalenius.mechanisms."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from refusals import refuses

import dalenius as dl
from dalenius.cli import main
from dalenius.model.gallery.parse import parse_mechanism

CODE = '''
import dalenius as dl
import numpy as np


def lazy(query, *, share, spread=1):
    """Answer truly with this share, else any value of the range alike."""
    k = len(query.outputs)
    truth = np.asarray(query.distance() == 0, dtype=float)
    return dl.Mechanism.from_rows(query, share * truth + (1 - share) / k)


def own_name(query):
    """A mechanism with a name that only we know."""
    found = lazy(query, share=0.5)
    return type(found)(found.statistic, found.given, found.labels, query, "own_name()")


def loud(query, *, noise):
    """One of the gallery."""
    return dl.mechanisms.geometric(query, epsilon=1 / noise)


def number(query):
    """No mechanism."""
    return 7


def failing(query):
    """Fails."""
    return 1 / 0


something = 7
'''
NAMES = {name: f"their_code:{name}" for name in ("lazy", "own_name", "loud", "number", "failing", "something")} | {
    "absent": "their_missing_code:absent",
    "geometric": "their_code:lazy",
}


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "their_code.py").write_text(CODE)
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {place}" for name, place in NAMES.items())
    (about / "entry_points.txt").write_text(f"[dalenius.mechanisms]\n{lines}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_code", raising=False)
    return tmp_path


@pytest.mark.usefixtures("theirs")
def test_a_plug_in_is_a_mechanism_like_any_other() -> None:
    query = dl.queries.count(n=2)
    found = parse_mechanism("lazy(share=0.8)", query)
    assert found == parse_mechanism("lazy(0.8)", query) == dl.mechanisms.lazy(query, share=0.8)
    assert "lazy" in dir(dl.mechanisms)
    assert "rows" in found.describe()
    audit = dl.audit(found, knowledge=0.3, verify=True)
    assert audit.verified
    assert "rows" in audit.certificate.data["problem"]
    # A name that the verifier does not know is left out, one of the gallery stays.
    own = dl.mechanisms.own_name(query)
    assert own.name is None
    assert dl.audit(own, knowledge=0.3, verify=True).verified
    assert dl.mechanisms.loud(query, noise=2).name == "geometric(epsilon=0.5)"


@pytest.mark.usefixtures("theirs")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("absent()", r"'absent' of the distribution 'theirs' cannot be used: ModuleNotFoundError.*update or uninstall"),
        ("something()", r"'something' of .* is not a function, but int"),
        ("number()", "returned int, and not a Mechanism"),
        ("failing()", r"'failing' of the distribution 'theirs' failed at count\(n=2\): ZeroDivisionError"),
        ("lazy()", r"'lazy\(\)' lacks share"),
        ("lazy(shared=1)", r"lazy has no argument 'shared'; did you mean 'share'"),
        ("lasy(share=1)", "did you mean 'lazy'"),
    ],
)
def test_a_broken_plug_in_is_a_sentence(text: str, words: str) -> None:
    refuses(words, parse_mechanism, text, dl.queries.count(n=2))
    # And nothing else breaks.
    assert parse_mechanism("geometric(epsilon=1)", dl.queries.count(n=2)).name == "geometric(epsilon=1)"


@pytest.mark.usefixtures("theirs")
def test_they_are_listed_with_what_is_wrong() -> None:
    found = json.loads(CliRunner().invoke(main, ["list", "--json"]).stdout)["mechanisms"]
    entries = {entry["name"]: entry for entry in found}
    assert entries["lazy"]["call"] == "lazy(share, spread=1)"
    assert entries["lazy"]["about"].startswith("Answer truly")
    assert "cannot be used: ModuleNotFoundError" in entries["absent"]["about"]
    assert entries["geometric"]["call"].startswith("geometric(epsilon")
    assert len(found) == len(entries)
    assert "cannot be used" in CliRunner().invoke(main, ["list"]).stdout


def test_a_query_is_needed_and_other_names_are_not_there(theirs: Path) -> None:
    refuses("lazy needs a Query, not int", dl.mechanisms.lazy, 3, share=1)
    with pytest.raises(AttributeError, match="there is no mechanism 'nothing'"):
        _ = dl.mechanisms.nothing
    command = ["audit", "--query", "count(n=2)", "--mechanism", "lazy(share=0.5)", "--knowledge", "0.1", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "dalenius", *command], env={"PYTHONPATH": str(theirs)}, capture_output=True, check=True
    )
    assert json.loads(done.stdout)["proved"] == "both"
