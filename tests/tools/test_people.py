"""Several releases about the same people: sums of what each tells of one of them, held against brute force."""

import json
import math
from pathlib import Path

import brute_force
import numpy as np
import pytest
from kinds import Floats
from refusals import refuses

import dalenius as dl
from dalenius.errors import BudgetError, InputError
from dalenius.tools.people import bracket

M, Q = dl.mechanisms, dl.queries


def released(epsilon: float = 1.0, **adversary: object) -> dl.Ledger:
    """Two people with columns a and b: the counts of a, and of pairs (a, b)."""
    ledger = dl.Ledger(columns={"a": 2, "b": 2}, n=2, **adversary)
    ledger.release(M.geometric(Q.histogram(n=2, k=2), epsilon=epsilon), columns=["a"])
    ledger.release(M.geometric(Q.histogram(n=2, k=4), epsilon=epsilon), columns=["a", "b"])
    return ledger


def joint_matrix(epsilon: float) -> Floats:
    """q(y, z | x) over the 16 datasets of two people, x = (a, b) each."""
    first = M.geometric(Q.histogram(n=2, k=2), epsilon=epsilon).matrix()
    second = M.geometric(Q.histogram(n=2, k=4), epsilon=epsilon).matrix()
    of = [(x // 4 // 2) * 2 + x % 4 // 2 for x in range(16)]
    return np.stack([np.outer(first[of[x]], second[x]).ravel() for x in range(16)])


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_account_holds_against_brute_force(epsilon: float) -> None:
    rows = joint_matrix(epsilon)
    truth = max(brute_force.capacity(rows[other::4], 1e-8)[0] for other in range(4))
    account = released(epsilon, adversary="independent").account()
    assert account.bound == "people"
    assert account.lower <= truth + 1e-9
    assert truth <= account.upper
    assert account.upper < 1.5 * truth
    assert dl.verify(account).verified


def test_what_is_known_of_how_people_depend_is_added() -> None:
    attained = dl.audit(
        dl.Mechanism.from_matrix(joint_matrix(1.0), records=[4, 4]), knowledge=0.3, time_limit=0.3
    ).lower
    # Rows that are written out are lifted to whole records, and audited together: so both ways are tried.
    histogram = M.geometric(Q.histogram(n=300, k=4), epsilon=1.0)
    ledger = dl.Ledger(columns={"a": 2, "b": 2}, n=300, knowledge=0.3)
    account = ledger.release(histogram, columns=["a", "b"])
    alone = dl.audit(histogram, adversary="independent", verify=False).upper
    assert account.bound == "people"
    assert account.upper == pytest.approx(0.3 + alone, abs=1e-12)
    assert dl.verify(account).verified
    together = released(1.0, adversary="independent").account().upper
    assert attained <= 0.3 + together


def test_releases_about_different_columns_add_up_from_below_too() -> None:
    ledger = dl.Ledger(columns={"a": 3, "b": 4}, n=1, adversary="independent", budget=2.0)
    first, second = M.symmetric(Q.identity(3), flip=0.2), M.symmetric(Q.identity(4), flip=0.3)
    one = ledger.release(first, columns=["a"])
    assert one.exact
    both = ledger.release(second, columns=["b"])
    exact = sum(dl.audit(m, entropy=0.0, verify=False).lower for m in (first, second))
    assert both.lower == pytest.approx(exact, abs=1e-10)
    assert both.gap < 1e-9
    again = ledger.what_if(first, columns=["a"])
    assert again.lower == both.lower
    assert again.upper == pytest.approx(both.upper + one.upper, abs=1e-9)
    verified = dl.verify(again.certificate)
    assert verified.verified
    assert "column" in verified.problem


def test_a_ledger_against_independent_records_is_kept_in_a_file(tmp_path: Path) -> None:
    ledger = released(adversary="independent", unit="bits", budget=1.0)
    ledger.save(path := tmp_path / "ledger.json")
    assert json.loads(path.read_text())["adversary"] == {"independent": True}
    again = dl.Ledger.load(path, verify=True)
    assert again.account().to_dict() == ledger.account().to_dict()
    assert again.account().upper == pytest.approx(
        released(adversary="independent").account().upper / math.log(2), rel=1e-9
    )
    assert "independent" in ledger.summary()
    calibrated = ledger.calibrate("geometric", Q.histogram(n=2, k=2), columns=["b"], accuracy=0.05)
    ledger.release(calibrated.mechanism, columns=["b"])
    assert 0.9 < ledger.account().upper <= 1.0
    with pytest.raises(BudgetError, match="was not recorded"):
        ledger.release(calibrated.mechanism, columns=["b"])


def test_refusals() -> None:
    refuses("independent records has none", dl.Ledger, Q.count(4), adversary="independent", knowledge=0.5)
    refuses(r"use ledger\.calibrate", released(adversary="independent", budget=1.0).design, Q.count(2))
    with pytest.raises(InputError, match="2 records of 4 values; this mechanism is over 2 of 2"):
        released(adversary="independent").release(M.geometric(Q.histogram(n=2, k=2), epsilon=1.0), columns=["a", "b"])


def test_sums_are_rounded_outward() -> None:
    audit = dl.audit(M.symmetric(Q.identity(3), flip=0.2), entropy=0.0, verify=False)
    low, high = bracket([(audit, ("a",))] * 3, {"a": 3, "b": 100}, None)
    assert low <= audit.certificate.lower
    assert high >= 3 * audit.certificate.upper
    assert bracket([(audit, ("a",))] * 9, {"a": 3}, None)[1] == pytest.approx(math.log(3), rel=1e-12)


def test_what_is_told_of_two_people_is_not_added_up() -> None:
    """One release tells of the first person, the other of the second: nobody's record is told by both."""
    clear, faint = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.55, 0.45], [0.45, 0.55]])
    ledger = dl.Ledger(columns={"a": 2, "b": 2}, n=2, adversary="independent")
    first = dl.Mechanism.from_matrix(np.kron(clear, faint), [2, 2])
    second = dl.Mechanism.from_matrix(np.kron(faint, clear), [2, 2])
    one = ledger.release(first, columns=["a"])
    both = ledger.release(second, columns=["b"])
    assert both.lower <= one.lower + 1e-9
    assert both.certificate is not None
    assert dl.verify(both.certificate).verified
