"""Every public object shows itself in a notebook, and every result becomes a frame."""

import re
from functools import cache
from html.parser import HTMLParser
from importlib.util import find_spec
from typing import Any

import pytest
from cases import named
from refusals import refuses

import dalenius as dl
from dalenius import shown
from dalenius.settings import Limits


class Balanced(HTMLParser):
    """Reads HTML, and keeps which tags are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@cache
def things() -> dict[str, Any]:
    query = dl.queries.count(n=2, names=["<no>", "yes & no"])
    mechanism = dl.mechanisms.geometric(query, epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.5)
    ledger = dl.Ledger(query, knowledge=0.5)
    account = ledger.release(mechanism, name="<script>alert(1)</script>")
    return {
        "query": query,
        "unlisted query": dl.queries.histogram(n=10**4, k=10),
        "real query": dl.queries.real_sum(n=2, low=0, high=1),
        "mechanism": mechanism,
        "matrix": dl.Mechanism.from_matrix([[0.5, 0.5], [0.1, 0.9]], [2], labels=["<a>", "b"]),
        "sampled": dl.Mechanism.from_samples({a: [0, 1, 2] * 9 for a in range(3)}, query),
        "real": named("count(n=2)", "laplace(epsilon=1, output='real')"),
        "audit": audit,
        "records": audit.records,
        "prior": audit.prior,
        "adversary": audit.adversary,
        "independent adversary": dl.audit(mechanism, adversary="independent").adversary,
        "certificate": audit.certificate,
        "verdict": dl.verify(audit.certificate),
        "refusal": dl.verify({"format": "<b>"}),
        "curve": dl.curve(mechanism, knowledges=[0.1, 0.5]),
        "design": dl.design(query, distortion=0.4, knowledge=0.5, tolerance=1e-2),
        "frontier": dl.frontier(query, knowledge=0.5, points=2, tolerance=1e-2, named=False),
        "calibration": dl.calibrate("geometric", query, leakage=0.1, knowledge=0.5, accuracy=0.1),
        "profile": mechanism.profile([0.0, 1.0], tolerance=1e-2),
        "ledger": ledger,
        "account": account,
        "leakage": dl.leakage(mechanism, [0.5, 0.5]),
        "settings": dl.Settings(limits=Limits(many_cells=7)),
        "default settings": dl.Settings(),
    }


NAMES = [
    "query", "unlisted query", "real query", "mechanism", "matrix", "sampled", "real", "audit", "records", "prior",
    "adversary", "independent adversary", "certificate", "verdict", "refusal", "curve", "design", "frontier",
    "calibration", "profile", "ledger", "account", "leakage", "settings", "default settings",
]  # fmt: skip
RESULTS = ["audit", "records", "curve", "design", "frontier", "calibration", "profile", "ledger", "account", "leakage"]


@pytest.mark.parametrize("name", NAMES)
def test_it_shows_itself_as_html_that_is_whole_and_escaped(name: str) -> None:
    content = things()[name]._repr_html_()
    parser = Balanced()
    parser.feed(content)
    assert not parser.open
    assert set(re.findall(r"<(\w+)", content)) <= {
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "br",
        "a",
        "abbr",
        "span",
    }
    assert len(content) < 20_000


def test_all_public_classes_are_among_them() -> None:
    shown_types = {type(thing).__mro__ for thing in things().values()}
    classes = {getattr(dl, name) for name in dl.__all__ if isinstance(getattr(dl, name), type)}
    covered = {one for mro in shown_types for one in mro}
    # A study needs a file; its tests are beside it.
    assert {one.__name__ for one in classes - covered} == {"InputError", "BudgetError", "Study"}
    assert hasattr(dl.Study, "_repr_html_")
    assert hasattr(dl.Study, "to_frame")


def test_numbers_of_a_table_stand_to_the_right() -> None:
    content = shown.table(("name", "value"), [("a", 0.5), ("b", "1.25")])
    assert content.count("text-align:right") == content.count("text-align:left") == 3


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.skipif(find_spec("pandas") is not None, reason="pandas is installed")
def test_without_pandas_the_message_names_the_extra(name: str) -> None:
    refuses(r"pip install 'dalenius\[pandas\]'", things()[name].to_frame)


@pytest.mark.extras
@pytest.mark.parametrize("name", RESULTS)
def test_results_become_frames(name: str) -> None:
    pytest.importorskip("pandas")
    frame = things()[name].to_frame()
    assert len(frame) >= 1
    assert frame.to_csv()
    if {"lower", "upper"} <= set(frame.columns):
        assert (frame["lower"] <= frame["upper"]).all()
