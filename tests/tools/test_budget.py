"""Budgets of ledgers: what may still be published, columns, references, files."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl

COUNT = dl.queries.count(n=2)
OLD = Path(__file__).parent / "ledger_of_0_1.json"


def ledger(**options: Any) -> dl.Ledger:
    return dl.Ledger(COUNT, **{"knowledge": 0.5, "budget": 0.1, "tolerance": 1e-3, "time_limit": 20, **options})


def noisy(epsilon: float, query: dl.Query = COUNT) -> dl.Mechanism:
    return dl.mechanisms.geometric(query, epsilon=epsilon)


def test_remaining_is_the_budget_less_the_account_rounded_down() -> None:
    book = ledger()
    assert book.remaining() == 0.1
    account = book.release(noisy(0.2))
    assert 0 < book.remaining() < 0.1 - account.lower
    assert book.remaining() + account.upper <= 0.1
    book.release(noisy(3.0), force=True)
    assert book.remaining() == 0.0
    refuses("no budget", dl.Ledger(COUNT, knowledge=0.5).remaining)


def test_a_release_beyond_the_budget_is_refused_and_not_recorded() -> None:
    book = ledger()
    before = book.release(noisy(0.2))
    with pytest.raises(dl.BudgetError, match=r"geometric\(epsilon=3\.0\).* was not recorded.* force=True") as caught:
        book.release(noisy(3.0))
    assert isinstance(caught.value, dl.InputError)
    assert len(book.releases) == 1
    assert book.account() is before
    assert book.release(noisy(3.0), name="all the same", force=True).upper > 0.1
    assert [r.name for r in book.releases] == ["geometric(epsilon=0.2) of count(n=2)", "all the same"]


def test_calibrations_fill_the_budget_and_are_accepted() -> None:
    book = ledger()
    alone = book.calibrate("geometric", COUNT, accuracy=0.01)
    assert alone.together is None
    book.release(noisy(0.2))
    beside = book.calibrate("geometric", COUNT, accuracy=0.01)
    assert beside.value < alone.value
    assert beside.together is not None
    assert beside.leakage.upper < beside.together[1] <= 0.1
    assert beside.too_little is not None
    joint = dl.audit(dl.compose(noisy(0.2), noisy(beside.too_little)), knowledge=0.5, tolerance=1e-4)
    assert joint.upper > 0.1
    assert book.release(beside.mechanism).upper == beside.together[1]
    book.release(noisy(3.0), force=True)
    with pytest.raises(dl.BudgetError, match="nothing of the budget is left"):
        book.calibrate("geometric", COUNT)


@pytest.mark.parametrize(
    "sequences", [pytest.param(6, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.nightly)]
)
def test_totals_never_exceed_the_budget(sequences: int) -> None:
    rng = np.random.default_rng(20)
    refused = kept = 0
    for _ in range(sequences):
        book = ledger(budget=float(rng.uniform(0.02, 0.3)), knowledge=float(rng.uniform(0.1, 1.2)), tolerance=5e-3)
        for _ in range(3):
            mechanism = noisy(float(rng.choice([0.1, 0.3, 0.8, 2.0])))
            try:
                book.release(mechanism)
                kept += 1
            except dl.BudgetError:
                refused += 1
            assert book.account().upper <= book.budget
            assert 0 <= book.remaining() <= book.budget
        parts = [r.mechanism for r in book.releases]
        if parts:
            prior = rng.dirichlet(np.full(4, 0.7))
            share = 1.0
            while np.sum(prior * np.log(np.maximum(prior, 1e-300) * 4)) > book.adversary.knowledge:
                share *= 0.9
                prior = share * prior + (1 - share) / 4
            assert dl.leakage(dl.compose(*parts), prior).lower <= book.budget
    assert min(refused, kept) > sequences / 4


def test_columns_are_the_mechanism_over_whole_records() -> None:
    book = dl.Ledger(columns={"age": 3, "smokes": 2}, n=2, knowledge=0.5, tolerance=1e-3)
    count, total = dl.queries.count(n=2), dl.queries.total(n=2, values=[5, 0, 7])
    rows = dl.mechanisms.randomized_response(dl.queries.histogram(n=2, k=3), epsilon=0.5)
    swapped = dl.mechanisms.randomized_response(dl.queries.identity(6), epsilon=0.5)
    cases = [
        (noisy(0.4, count), ["smokes"], lambda v: v % 2, 2),
        (noisy(0.4, total), ["age"], lambda v: v // 2, 3),
        (rows, ["age"], lambda v: v // 2, 3),
    ]
    for mechanism, columns, of, k in cases:
        matrix, lifted = mechanism.matrix(), book._lifted(mechanism, columns)[1]
        full = np.stack([matrix[of(a) * k + of(b)] for a in range(6) for b in range(6)])
        assert lifted is not None
        assert lifted.records == (6, 6)
        assert np.allclose(lifted.matrix(), full, atol=1e-15, rtol=1e-13)
    one = dl.Ledger(columns={"age": 3, "smokes": 2}, n=1, knowledge=0.5)
    turned = one._lifted(swapped, ["smokes", "age"])[1]
    assert turned is not None
    order = [s * 3 + a for a in range(3) for s in range(2)]
    assert np.array_equal(turned.matrix(), swapped.matrix()[order])
    refuses("there is no column 'weight'; the columns are age, smokes", book.release, rows, columns=["weight"])
    refuses("over 2 records of 3 values; this mechanism is over 2 of 2", book.release, noisy(0.4), columns=["age"])
    refuses("name the columns that it looks at", book.release, noisy(0.4))
    refuses("this ledger has none", ledger().release, noisy(0.4), columns=["age"])


def test_columns_of_very_many_records() -> None:
    book = dl.Ledger(columns={"age": 8, "smokes": 2}, n=10**4, knowledge=0.3, budget=0.2, time_limit=0.5)
    account = book.release(noisy(0.001, dl.queries.count(n=10**4)), columns=["smokes"])
    assert 0 < account.lower <= account.upper < 0.2


def test_references_count_from_what_everybody_knows(tmp_path: Path) -> None:
    law = [0.9, 0.1]
    book = ledger(reference=law, knowledge=0.2, budget=0.5)
    parts = noisy(0.5), noisy(0.8)
    for mechanism in parts:
        account = book.release(mechanism)
    direct = dl.audit(dl.compose(*parts), knowledge=0.2, reference=law, tolerance=1e-3)
    assert max(account.lower, direct.lower) <= min(account.upper, direct.upper)
    assert math.isnan(account.entropy_left)
    assert account.to_dict()["entropy_left"] is None
    assert "beyond independent records with law 0.9,0.1 each" in book.summary()
    tight = ledger(reference=law, knowledge=0.2, budget=0.5, most_entries=1)
    for mechanism in parts:
        bounded = tight.release(mechanism)
    assert bounded.bound == "chain rule"
    assert direct.lower <= bounded.upper
    path = tmp_path / "ledger.json"
    book.save(path)
    again = dl.Ledger.load(path)
    assert again.account().to_dict() == account.to_dict()
    assert again.adversary.reference.describe() == {"marginal": law}
    refuses("no mass", ledger(reference=[1.0, 0.0]).release, noisy(0.5))
    refuses("entropy counts from the uniform prior", dl.Ledger, COUNT, entropy=0.5, reference=law)


def test_calibrations_take_a_reference() -> None:
    found = dl.calibrate("geometric", COUNT, leakage=0.05, knowledge=0.2, reference=[0.9, 0.1], accuracy=0.01)
    assert found.leakage.upper <= 0.05
    assert dl.audit(found.mechanism, knowledge=0.2, reference=[0.9, 0.1]).lower <= found.leakage.upper
    assert found.too_little is not None
    more = dl.audit(noisy(found.too_little), knowledge=0.2, reference=[0.9, 0.1])
    assert more.upper > 0.05


def test_files_keep_budgets_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    book = dl.Ledger(columns={"age": 3, "smokes": 2}, n=2, knowledge=0.5, budget=0.3, tolerance=1e-2)
    book.release(noisy(0.4), columns=["smokes"])
    book.save(path)
    again = dl.Ledger.load(path)
    assert again.columns == book.columns
    assert again.remaining() == book.remaining()
    assert again.releases[0].columns == ("smokes",)
    assert dl.Ledger.load(path, verify=True).account().to_dict() == book.account().to_dict()
    assert dl.Ledger.load(path, budget=1).budget == 1.0
    with pytest.raises(dl.BudgetError, match=r"budget = 0\.001 nats is below what the releases in"):
        dl.Ledger.load(path, budget=0.001)
    content = json.loads(path.read_text())
    content["columns"]["age"] = 4
    path.write_text(json.dumps(content))
    refuses("not a sound ledger: its records are not those of its columns", dl.Ledger.load, path)


def test_a_file_of_version_0_1_loads() -> None:
    book = dl.Ledger.load(OLD)
    assert book.budget is None
    assert [r.name for r in book.releases] == ["symmetric(flip=0.2) of modular_sum(n=3, modulus=2)"]
    with pytest.raises(dl.BudgetError):
        dl.Ledger.load(OLD, budget=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"data": [2], "columns": {"a": 2}, "n": 2}, "both were given"),
        ({}, "neither was given"),
        ({"columns": {"a": 2}}, "give n="),
        ({"columns": ["a"], "n": 2}, "must give every column its number of values"),
        ({"columns": {"a": 0}, "n": 2}, "the number of values of 'a'"),
        ({"data": [2, 2], "n": 2}, "goes with columns="),
        ({"data": [2, 2], "budget": -0.1}, "budget"),
        ({"data": [2, 2], "budget": "much"}, "budget"),
    ],
)
def test_bad_input(options: dict[str, Any], words: str) -> None:
    refuses(words, dl.Ledger, **options, knowledge=0.5)
