"""Every bound of the table on every case, and the page that adds one more."""

import copy
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
from cases import named, random_channel
from verdicts import holds

import dalenius as dl
from dalenius.auditing import portfolio
from dalenius.settings import Portfolio, Settings, Turn, only
from dalenius.verifier.kernel.proofs import KINDS
from dalenius.verifier.verify import verify_here

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
ALONE = ("choices", "stationary", "monotone", "decoy", "capacity", *portfolio.BOUNDS)
CASES = {
    "parity": (lambda: named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.2)"), 0.6),
    "count": (lambda: named("count(n=4)", "geometric(epsilon=1)"), 0.5),
    "records of three values": (lambda: random_channel([3, 2], 3, 4), 0.4),
    "two records": (lambda: random_channel([2, 2], 2, 5), 0.3),
    "many outputs": (lambda: random_channel([2, 2], 9, 6), 0.3),
    "two outputs": (lambda: random_channel([2, 2, 2], 2, 7), 0.3),
    "truth or decoy": (lambda: named("count(n=4)", "symmetric(flip=0.5)"), 0.3),
    "zeros": (lambda: dl.Mechanism.from_matrix([[1, 0], [0.5, 0.5], [0.5, 0.5], [0, 1]], [2, 2]), 0.4),
}


@cache
def truth(case: str) -> float:
    """The most that brute force finds, over all records."""
    build, knowledge = CASES[case]
    mechanism = build()
    b = mechanism.log_universe - knowledge
    return brute_force.attained(mechanism.matrix(), mechanism.records, b, starts=4)


@pytest.mark.parametrize("bound", ALONE)
@pytest.mark.parametrize("case", CASES)
def test_a_bound_alone_is_above_every_prior_and_its_certificate_verifies(case: str, bound: str) -> None:
    build, knowledge = CASES[case]
    mechanism = build()
    settings = Settings(portfolio=only(bound))
    audit = dl.audit(mechanism, knowledge=knowledge, tolerance=1e-3, time_limit=5, settings=settings, verify=False)
    assert audit.lower <= audit.upper
    assert audit.upper >= truth(case) - 1e-9
    holds(audit, mechanism)


def test_the_table_of_the_page_is_the_one_in_the_code() -> None:
    shown = re.search(r"<!-- the table of plans -->\n(.*?)<!-- end", PAGE.read_text(), re.DOTALL)
    assert shown is not None
    assert shown[1].splitlines()[2:] == [
        f"| {line} | {', '.join(map(_turn, plan))} |" for line, plan in Portfolio().plans.items()
    ]


def _turn(turn: Turn) -> str:
    cheap = "" if turn.if_cheap is None else f" ({turn.if_cheap})"
    return f"{turn.bound}{'*' if turn.doubles else ''} {turn.batches}{cheap}"


def test_every_bound_of_the_plans_is_in_the_table_of_bounds() -> None:
    turns = {turn.bound for plan in Portfolio().plans.values() for turn in plan}
    assert turns == set(portfolio.BOUNDS)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The two files of the page, and their lines in the two tables; every class of problems has the new bound alone."""
    solver, verifier = (dict[str, Any](__name__=f"toy_{k}") for k in range(2))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for names, code in zip((solver, verifier), blocks[:2], strict=True):
        exec(compile(code, str(PAGE), "exec"), names)
    monkeypatch.setitem(portfolio.BOUNDS, "columns", solver["ColumnBound"]())
    monkeypatch.setitem(KINDS, "columns", verifier["columns"])
    plan = (Turn("columns", 1),)
    table: dict[str, Any] = {line: () if line == "first" else plan for line in Portfolio().plans}
    return Settings(portfolio=replace(Portfolio(), opening=(), **table))


@pytest.mark.parametrize("case", CASES)
def test_the_page_adds_a_bound(case: str, toy: Settings) -> None:
    build, knowledge = CASES[case]
    mechanism = build()
    audit = dl.audit(mechanism, knowledge=knowledge, settings=toy, verify=False)
    expected = float(np.log(mechanism.matrix().max(axis=0).sum()))
    assert audit.upper >= truth(case) - 1e-9
    assert audit.upper == pytest.approx(min(expected, np.log(max(mechanism.records)), np.log(mechanism.n_outputs)))
    assert dl.verify(audit, mechanism).verified


def test_a_verifier_refuses_too_small_a_claim_of_the_new_bound(toy: Settings) -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=0.1)")
    audit = dl.audit(mechanism, knowledge=0.5, settings=toy, verify=False)
    assert audit.upper_by == "columns"
    forged = copy.deepcopy(audit.certificate.data)
    forged["upper"] = forged["proofs"][0]["upper"] = 0.99 * audit.upper
    assert "exceeds claimed" in verify_here(forged).reason
