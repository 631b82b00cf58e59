"""Kinds of bounds in words: every kind has them, its anchor in the docs, and a section that exists."""

import re
from pathlib import Path

import pytest

import dalenius as dl
from dalenius.report.proofs import KINDS, bound_words
from dalenius.verifier.forms.independent import KINDS as INDEPENDENT
from dalenius.verifier.kernel.proofs import KINDS as IN_CELLS
from dalenius.verifier.proofs import OTHERS

CHECKED = {*IN_CELLS, *OTHERS, "grid", "window"}
DOCS = Path(__file__).parents[2] / "docs"
BOUNDS = [path.read_text() for path in (Path(str(dl.__file__)).parent / "bounds").rglob("*.py")]
VERIFIER = [path.read_text() for path in (Path(str(dl.__file__)).parent / "verifier").rglob("*.py")]
GUARANTEES, MATHEMATICS = ((DOCS / name).read_text() for name in ("guarantees.md", "mathematics.md"))


def test_every_kind_of_proof_has_words() -> None:
    # Points of the convex bound go by the name of what they are then; kinds that need no rows are checked elsewhere.
    single = {"capacity", "contraction"}
    unwritten = set(KINDS) - {*CHECKED, *single, *INDEPENDENT}
    assert set(KINDS) >= {*CHECKED, *single, *INDEPENDENT, "blend", "law"}
    assert all(any(f'"{kind}"' in text for text in VERIFIER) for kind in unwritten)
    named = r'^    kind(?:: ClassVar\[str\])? = "([\w-]+)"|Formula\("([\w-]+)"'
    written = {a or b for path in BOUNDS for a, b in re.findall(named, path, re.MULTILINE)}
    assert {"convex", "sibson"} < written <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_anchor_and_its_section(kind: str) -> None:
    about = KINDS[kind]
    line = next(line for line in GUARANTEES.splitlines() if f'<a id="bound-{kind}"></a>' in line)
    assert about.name in line
    assert f"[{about.section}](mathematics.md#" in line
    assert re.search(rf"^#+ {re.escape(about.section)}\.? ", MATHEMATICS, re.MULTILINE)


def test_a_kind_that_is_not_listed_is_named() -> None:
    assert bound_words("mine") == "the bound (mine)"


def test_reports_say_by_which_bound_and_where_it_is_explained() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.4, tolerance=1e-3)
    about = KINDS[audit.upper_by]
    assert f"upper bound by {about.name} ({audit.upper_by}); see Mathematics {about.section}" in audit.summary()
    page = audit._repr_html_()
    assert f'<abbr title="{about.states}' in page.replace("&#x27;", "'")
    assert audit.to_dict()["upper_by"] == audit.upper_by
