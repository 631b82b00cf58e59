"""The next release of a ledger, designed so that everything released together keeps the budget."""

import copy

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.search.deadline import Deadline
from dalenius.settings import only

COUNT = dl.queries.count(n=2)
FIRST = dl.Mechanism.from_matrix([[0.5, 0.5], [0.6, 0.4], [0.5, 0.5], [0.7, 0.3]], records=[2, 2])
OPTIONS = {"tolerance": 1e-2, "time_limit": 20, "verify": False}


@pytest.fixture(scope="module")
def book() -> dl.Ledger:
    ledger = dl.Ledger(COUNT, knowledge=0.5, budget=0.1, tolerance=1e-4)
    ledger.release(FIRST)
    return ledger


@pytest.fixture(scope="module")
def design(book: dl.Ledger) -> dl.Design:
    return book.design(COUNT, **OPTIONS)


def test_it_keeps_the_budget_and_is_verified(book: dl.Ledger, design: dl.Design) -> None:
    assert design.verify().verified
    assert design.gap <= 1e-2
    assert design.beside == 2
    assert design.leakage.upper <= 0.1
    joint = dl.audit(dl.compose(FIRST, design.mechanism), knowledge=0.5, tolerance=1e-4)
    assert max(joint.lower, design.leakage.lower) <= min(joint.upper, design.leakage.upper)
    assert design.mechanism.expected_distortion() == pytest.approx(design.distortion, rel=1e-9)
    alone = dl.design(COUNT, leakage=0.1, knowledge=0.5, tolerance=1e-2, time_limit=20, verify=False)
    assert alone.lower < design.upper
    assert "together with an earlier release of 2 outputs" in design.summary()
    assert book.what_if(design.mechanism).upper == design.leakage.upper


def test_nothing_better_keeps_the_budget(design: dl.Design) -> None:
    rng = np.random.default_rng(5)
    rows, first = design.mechanism.matrix(), FIRST.matrix()
    kept = 0
    for _ in range(300):
        q = np.abs(rows + rng.normal(0, rng.choice([0.01, 0.1, 0.4]), rows.shape))
        q /= q.sum(axis=1, keepdims=True)
        mechanism = dl.Mechanism.from_matrix(q, records=[2, 2])
        spread = float((q * np.abs(np.arange(3) - np.array([0, 1, 1, 2])[:, None])).sum() / 4)
        if spread >= design.lower:
            continue
        kept += 1
        joint = (first[:, :, None] * q[:, None, :]).reshape(4, -1)
        audit = dl.audit(dl.Mechanism.from_matrix(joint, records=[2, 2]), knowledge=0.5, tolerance=1e-3, verify=False)
        assert audit.upper > 0.1, mechanism
        if kept == 4:
            break
    assert kept == 4


def test_many_releases_of_one_count_are_bounded_by_one_that_tells_no_less() -> None:
    """Six counts of six people have too many outputs for a design; one of six times the rate stands for them."""
    count = dl.queries.count(n=6)
    weak = dl.mechanisms.geometric(count, epsilon=0.05)
    ledger = dl.Ledger(count, knowledge=0.3, budget=0.25, tolerance=1e-2, time_limit=5)
    for _ in range(6):
        ledger.release(weak)
    book = copy.copy(ledger)
    found = book.design(count, tolerance=0.3, time_limit=15, verify=False)
    assert found.beside == 7
    assert found.verify().verified
    assert found.leakage.upper <= 0.25
    account = book.release(found.mechanism)
    assert account.bound == "one release"
    assert account.certificate is None
    assert account.upper <= 0.25
    # Less than the truth: one of them and the design, which fit a table.
    part = dl.audit(dl.compose(weak, found.mechanism), knowledge=0.3, tolerance=1e-2, verify=False)
    assert part.lower <= account.upper
    assert account.lower <= account.upper
    ledger.budget = ledger.account().upper + 1e-3
    with pytest.raises(dl.BudgetError, match="nothing of the budget is left"):
        ledger.design(count)


def test_one_release_stands_for_counts_where_a_table_of_all_would_be_too_large() -> None:
    count = dl.queries.count(n=6)
    ledger = dl.Ledger(count, knowledge=0.3, tolerance=1e-2, most_entries=1000)
    for _ in range(3):
        before = ledger.release(dl.mechanisms.geometric(count, epsilon=0.2))
    parity = dl.mechanisms.symmetric(dl.queries.modular_sum(n=6, modulus=2), flip=0.1)
    account = ledger.what_if(parity)
    assert account.bound == "one release"
    exact = dl.Ledger(count, knowledge=0.3, tolerance=1e-2)
    exact.release(dl.compose(dl.mechanisms.geometric(count, epsilon=0.2), times=3))
    assert exact.what_if(parity).lower <= account.upper < before.upper + ledger._capacity(parity, Deadline(60.0))


def test_without_releases_it_is_the_design() -> None:
    book = dl.Ledger(COUNT, knowledge=0.5, budget=0.1)
    found, plain = book.design(COUNT, **OPTIONS), dl.design(COUNT, leakage=0.1, knowledge=0.5, **OPTIONS)
    assert found.certificate.data == plain.certificate.data
    assert book.release(found.mechanism).upper == found.leakage.upper


def test_bad_input(book: dl.Ledger) -> None:
    refuses("a design is about whole records", book.design, dl.queries.count(n=3))
    refuses("needs a Query", book.design, "count")
    spent = dl.Ledger(COUNT, knowledge=0.5, budget=0.01, tolerance=1e-3)
    spent.release(FIRST, force=True)
    with pytest.raises(dl.BudgetError, match="nothing of the budget is left"):
        spent.design(COUNT)
    refuses("no budget", dl.Ledger(COUNT, knowledge=0.5).design, COUNT)


def test_an_audit_that_stays_open_is_answered_by_a_mixture_not_by_a_constant() -> None:
    # Without trees no audit of the best mechanism comes within the budget.
    loose = dl.Settings(portfolio=only("convex"))
    found = dl.design(COUNT, leakage=0.1, knowledge=0.3, tolerance=1e-2, time_limit=20, verify=False, settings=loose)
    assert found.leakage.lower < 0.75 * found.leakage.upper  # what is known of it is far from what is proved
    assert found.leakage.upper <= 0.1
    assert found.upper < 0.48  # a constant has 0.5
