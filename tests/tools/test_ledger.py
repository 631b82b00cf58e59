import json
import math
from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
from cases import product_matrix
from large_samples import both
from refusals import refuses

import dalenius as dl

RECORDS = (2, 2, 2)
TOLERANCE = 1e-3
PARITY = dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=2), flip=0.2)
COUNT = dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=0.7)
THIRDS = dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=3), flip=0.4)
CONSTANT = dl.mechanisms.constant(dl.queries.count(n=3))


def ledger(entropy: float = 1.3, **options: Any) -> dl.Ledger:
    return dl.Ledger(RECORDS, entropy=entropy, **{"tolerance": TOLERANCE, "time_limit": 20, **options})


def filled(*mechanisms: dl.Mechanism, **options: Any) -> dl.Ledger:
    book = ledger(**options)
    for mechanism in mechanisms:
        book.release(mechanism)
    return book


def test_an_empty_ledger_has_leaked_nothing() -> None:
    account = ledger().account()
    assert (account.lower, account.upper, account.entropy_left, account.releases) == (0.0, 0.0, 1.3, 0)
    assert account.exact


def test_accounts_are_audits_of_the_composition_and_rise() -> None:
    book, parts, before = ledger(), [], ledger().account()
    for mechanism in (THIRDS, PARITY, COUNT):
        parts.append(mechanism)
        promised = book.what_if(mechanism)
        assert len(book.releases) == len(parts) - 1
        assert book.account().lower == before.lower
        account = book.release(mechanism)
        assert account.to_dict() == promised.to_dict()
        assert account.exact
        assert account.audit is not None
        assert dl.verify(account.audit).verified
        direct = dl.audit(dl.compose(*parts), entropy=1.3, tolerance=TOLERANCE, time_limit=20)
        assert max(direct.lower, account.lower) <= min(direct.upper, account.upper)
        assert account.gap <= TOLERANCE
        assert before.lower <= account.lower
        assert before.upper <= account.upper + TOLERANCE
        assert account.entropy_left < before.entropy_left
        assert account.added == (max(0.0, account.lower - before.upper), account.upper - before.lower)
        before = account
    assert [r.mechanism for r in book.releases] == parts


@pytest.mark.parametrize("entropy", [0.0, 1.9])
def test_the_chain_rule_bounds_what_the_audit_finds(entropy: float) -> None:
    parts = (THIRDS, PARITY, COUNT)
    exact, bounded = ledger(entropy), ledger(entropy, most_entries=1)
    for k, mechanism in enumerate(parts):
        truth, bound = exact.release(mechanism), bounded.release(mechanism)
        assert truth.lower <= bound.upper
        assert bound.lower <= truth.upper
        assert bound.entropy_left <= truth.entropy_left + 1e-9
        assert bound.exact == (k == 0)
        assert bound.upper <= math.log(2) * (1 + 1e-12)
    assert brute_force.attained(product_matrix(*parts), RECORDS, entropy, starts=2) <= bounded.account().upper


def test_the_chain_rule_is_one_audit_and_the_capacities_of_the_rest() -> None:
    book = filled(COUNT, THIRDS, most_entries=1)
    capacity = {r.mechanism: r.capacity for r in book.releases}
    uppers = [
        dl.audit(one, entropy=1.3, tolerance=TOLERANCE).upper + capacity[other]
        for one, other in ((COUNT, THIRDS), (THIRDS, COUNT))
    ]
    account = book.account()
    assert account.bound == "chain rule"
    assert account.audit is None
    assert min(uppers) - 2 * TOLERANCE <= account.upper <= max(uppers) + 2 * TOLERANCE
    assert account.entropy_left == pytest.approx(1.3 - sum(capacity.values()), abs=1e-9)


def test_as_much_as_fits_is_audited_together() -> None:
    parts = (PARITY, PARITY, PARITY, THIRDS)
    tight, loose, exact = (filled(*parts, entropy=1.9, most_entries=most).account() for most in (1, 8, 2**20))
    assert exact.exact
    assert not loose.exact
    assert exact.lower <= loose.upper < tight.upper
    assert exact.entropy_left >= loose.entropy_left > tight.entropy_left


def test_repeated_releases_go_through_counts() -> None:
    book = filled(*[PARITY] * 8)
    account = book.account()
    assert account.exact
    assert account.audit is not None
    assert account.audit.mechanism.rows.shape == (2, 9)


@pytest.mark.parametrize("most", [1, 2**20])
@pytest.mark.parametrize("entropy", [0.4, 1.9])
def test_entropy_left_is_below_what_every_prior_keeps(most: int, entropy: float) -> None:
    parts = (COUNT, PARITY, THIRDS)
    left = filled(*parts, entropy=entropy, most_entries=most).account().entropy_left
    matrix, rng = product_matrix(*parts), np.random.default_rng(3)
    for concentration in np.repeat([0.1, 0.3, 1.0], 40):
        prior = brute_force.allowed(rng.dirichlet(np.full(8, concentration)), entropy)
        joint = prior[:, None] * matrix
        kept = brute_force.entropy(joint) - brute_force.entropy(joint.sum(axis=0))
        assert left <= kept + 1e-9


def test_a_constant_changes_no_account() -> None:
    book = filled(PARITY)
    before, after = book.account(), book.release(CONSTANT)
    assert after.exact
    assert before.lower <= after.lower
    assert after.upper <= before.upper + TOLERANCE
    assert after.entropy_left == pytest.approx(before.entropy_left, abs=1e-9)
    assert book.releases[1].capacity == pytest.approx(0.0, abs=1e-9)


def test_knowledge_without_limit_leaves_nothing_to_promise() -> None:
    book = dl.Ledger(dl.queries.count(n=3), knowledge=math.inf, tolerance=TOLERANCE)
    account = book.release(PARITY)
    assert account.entropy_left == 0.0
    assert account.lower <= math.log(2) - brute_force.entropy(np.array([0.2, 0.8])) <= account.upper


@pytest.mark.nightly
def test_noise_on_very_many_records_is_bounded_by_the_chain_rule(tmp_path: Path) -> None:
    count = dl.queries.count(n=4000)
    faint, clear = (dl.mechanisms.geometric(count, epsilon=epsilon) for epsilon in (0.001, 1))
    book = dl.Ledger(count, knowledge=0.3)
    first, second = book.release(faint), book.release(faint)
    audit = dl.audit(faint, knowledge=0.3)
    told = book.releases[0].capacity
    assert first.lower == second.lower == audit.lower
    assert first.upper == pytest.approx(min(audit.upper, told), rel=1e-9)
    assert (second.bound, second.upper) == ("chain rule", pytest.approx(first.upper + told, rel=1e-9))
    assert second.entropy_left == pytest.approx(4000 * math.log(2) - 0.3 - 2 * told, abs=1e-9)
    assert second.upper < 0.01  # what an attack may reach at most, though nothing was written out
    book.save(tmp_path / "ledger.json")
    after = dl.Ledger.load(tmp_path / "ledger.json").what_if(clear)
    assert dl.audit(clear, knowledge=0.3).lower <= after.lower
    assert after.upper <= math.log(2) * (1 + 1e-12)


def test_few_records_never_written_out_leak_as_the_joint_release_does() -> None:
    large, dense = zip(*(both(f"geometric(epsilon={e})", "count(n=6)") for e in (0.2, 0.1)), strict=True)
    bounded, exact = (dl.Ledger([2] * 6, knowledge=0.3, tolerance=1e-2, most_entries=most) for most in (1, 2**20))
    for one, other in zip(large, dense, strict=True):
        bounded.release(one)
        exact.release(other)
    joint = dl.audit(dl.compose(*dense), knowledge=0.3, tolerance=1e-3)
    assert bounded.account().bound == "audit"  # of one sum: nothing is written out
    assert bounded.account().lower <= joint.upper
    assert joint.lower <= bounded.account().upper < math.log(2)
    assert bounded.account().entropy_left <= exact.account().entropy_left + 1e-6


@pytest.mark.parametrize("most", [1, 2**20])
def test_saved_ledgers_go_on_where_they_were(most: int, tmp_path: Path) -> None:
    book = ledger(most_entries=most)
    book.release(PARITY, name="first")
    book.release(COUNT)
    book.save(tmp_path / "ledger.json")
    again = dl.Ledger.load(tmp_path / "ledger.json")
    assert [r.name for r in again.releases] == ["first", "geometric(epsilon=0.7) of count(n=3)"]
    assert again.account().to_dict() == book.account().to_dict()
    assert again.account().audit is None
    assert again.release(PARITY).to_dict() == book.release(PARITY).to_dict()


def test_knowledge_without_limit_is_saved(tmp_path: Path) -> None:
    dl.Ledger(RECORDS, knowledge=math.inf).save(tmp_path / "ledger.json")
    assert dl.Ledger.load(tmp_path / "ledger.json").adversary.entropy == 0.0


def test_words() -> None:
    book = ledger()
    book.release(PARITY, name="parity of March")
    text = book.summary()
    assert "1. parity of March: at most" in text
    how = "account().audit.verify() or dalenius ledger show FILE --verify checks it"
    assert f"by an audit of all releases together; certificate attached, not yet checked: {how}" in text
    assert "an average over outputs, not for every output" in text
    assert "3 records of 2 values" in repr(book)
    assert "parity of March" in book._repr_html_()
    assert "1 release:" in repr(book.account())
    assert "by the last release" in book.account().summary()
    assert book.account()._repr_html_().startswith("<table>")


def test_bad_input() -> None:
    book = ledger()
    with pytest.raises(dl.InputError, match="2 records of 2 values, the ledger over 3 records"):
        book.release(dl.mechanisms.geometric(dl.queries.count(n=2), epsilon=1))
    refuses("not str", book.what_if, "parity")
    refuses("not a text", book.release, PARITY, name=3)
    assert book.releases == ()
    refuses("exactly one", dl.Ledger, RECORDS)
    refuses("exactly one", dl.Ledger, RECORDS, entropy=1, knowledge=1)
    for options in ({"tolerance": 0}, {"time_limit": -1}, {"most_entries": 0}, {"unit": "bytes"}, {"entropy": 9}):
        with pytest.raises(dl.InputError):
            ledger(**{"entropy": 1.0, **options})
    refuses("records", dl.Ledger, "222", entropy=1)


@pytest.mark.parametrize(
    "change",
    [
        {"account": {"lower": 2.0, "upper": 1.0}},
        {"account": {"bound": "none"}},
        {"account": {"releases": 2}},
        {"account": {"added": [0.0]}},
        {"account": {"upper": "much"}},
        {"account": {"upper": 10**400}},
        {"account": {"upper": 5.0}},
        {"account": {"lower": 0.6, "upper": 0.6}},
        {"account": {"entropy_left": 99.0}},
        {"account": {"added": [0.2, 0.1]}},
        {"adversary": {"entropy": 1, "knowledge": 1}},
        {"adversary": {}},
        {"unit": "bits"},
        {"records": [2, 2]},
        {"adversary": {"wisdom": 1}},
        {"adversary": []},
        {"releases": [{}]},
        {"releases": 3},
        {"tolerance": None},
    ],
)
def test_altered_files_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    filled(PARITY).save(path)
    content = json.loads(path.read_text())
    for key, value in change.items():
        content[key] = {**content[key], **value} if key == "account" else value
    path.write_text(json.dumps(content))
    refuses(r"ledger\.json is not a", dl.Ledger.load, path)


def test_a_ledger_from_a_file_says_what_it_trusts_and_computes_it_on_request(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    book = filled(PARITY)
    book.save(path)
    content = json.loads(path.read_text())
    content["account"]["upper"] = content["account"]["lower"] = content["account"]["lower"] / 2  # false, but not absurd
    content["account"]["added"] = [0.0, content["account"]["upper"]]
    content["releases"][0]["name"] = "\x1b[2Jparity\nLeaked     nothing"
    path.write_text(json.dumps(content))
    trusted = dl.Ledger.load(path)
    assert trusted.account().loaded
    assert trusted.release(PARITY).loaded  # it builds on the account of the file
    earlier, now = (line for line in trusted.summary().splitlines() if "about the data" in line and ". " in line)
    assert ("from the file" in earlier, "from the file" in now) == (True, False)
    for text in (trusted.summary(), trusted.account().summary(), repr(trusted), trusted._repr_html_()):
        assert "from the file" in text
        assert all(c.isprintable() or c == "\n" for c in text)
    assert "Ledger.load(path, verify=True)" in trusted.summary()
    checked = dl.Ledger.load(path, verify=True)
    assert not checked.account().loaded
    assert getattr(checked.account().audit, "verified", None)
    assert checked.account().to_dict() == book.account().to_dict()
    assert "from the file" not in checked.summary()
    refuses("must be True or False", dl.Ledger.load, path, verify=1)


def test_an_entropy_is_one_number() -> None:
    refuses(r"entropy = \[1, 2\] is a list; give one number, .* knowledge=", dl.Ledger, RECORDS, entropy=[1, 2])


@pytest.mark.parametrize("key", ["account", "releases", "unit"])
def test_files_with_something_missing_are_refused(key: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    filled(PARITY).save(path)
    content = json.loads(path.read_text())
    del content[key]
    path.write_text(json.dumps(content))
    refuses("missing", dl.Ledger.load, path)


def growing(*knowledge: float, **options: Any) -> dl.Ledger:
    return dl.Ledger(RECORDS, knowledge=list(knowledge), **{"tolerance": TOLERANCE, "time_limit": 20, **options})


def bracket(account: dl.Account) -> tuple[float, float]:
    return account.lower, account.upper


def test_with_growing_knowledge_all_releases_are_counted_at_that_of_the_last() -> None:
    """Knowledge of today also serves to read yesterday's outputs."""
    book = growing(0.2, 0.6, budget=0.9)
    early, late = (growing(k) for k in (0.2, 0.6))
    assert bracket(book.release(COUNT)) == bracket(early.release(COUNT))
    foreseen = book.what_if(PARITY)
    assert bracket(book.account()) == bracket(early.account())  # nothing was recorded
    late.release(COUNT)
    alone, both_late = late.account(), late.release(PARITY)
    account = book.release(PARITY)
    assert account is foreseen
    assert bracket(account) == bracket(both_late)
    assert account.added == both_late.added  # by the release, not by the knowledge
    assert account.lower > early.release(PARITY).upper + 0.01
    assert alone.lower > early.account().lower
    assert dl.verify(account.certificate, mechanism=account.audit.mechanism)
    assert account.certificate.data["adversary"]["knowledge"] == 0.6
    assert bracket(book.release(CONSTANT)) == pytest.approx(bracket(both_late), abs=TOLERANCE)  # the last number stays
    assert "knowledge <= 0.6 (by release: 0.2, 0.6) of 2.079 nats" in book.summary()


def test_no_bound_rests_on_an_account_of_less_knowledge() -> None:
    """Where the chain rule bounds, the part that is audited and the capacities are those of the last knowledge."""
    weak = dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=0.05)
    book = growing(0.0, 0.0, 1.0, most_entries=8)
    book.release(PARITY)
    early = book.release(weak)
    account = book.release(CONSTANT)
    assert {early.bound, account.bound} == {"chain rule"}
    truth = dl.audit(dl.compose(PARITY, weak), knowledge=1.0, tolerance=TOLERANCE)
    assert early.upper < 0.1 < truth.lower <= account.upper < truth.upper + 0.1
    plain = filled(PARITY, weak, CONSTANT, entropy=3 * math.log(2) - 1.0, most_entries=8).account()
    assert account.upper == pytest.approx(plain.upper, abs=1e-9)


def test_calibrations_and_designs_count_the_knowledge_of_the_next_release() -> None:
    for knowledge in ([0.1, 0.7], [0.7]):
        book = growing(*knowledge, budget=0.3)
        book.release(dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=0.3))
        found = book.calibrate("geometric", dl.queries.count(n=3), accuracy=0.05)
        made = book.design(dl.queries.count(n=3), tolerance=1e-2)
        assert made.leakage.adversary.knowledge == 0.7
        assert book.release(found.mechanism).upper <= 0.3
        if len(knowledge) > 1:
            value, distortion = found.value, made.upper
    assert (found.value, made.upper) == pytest.approx((value, distortion), abs=1e-2)


def test_growing_knowledge_is_saved(tmp_path: Path) -> None:
    book = growing(0.2, 0.6, math.inf)
    book.release(COUNT)
    book.release(PARITY)
    book.save(tmp_path / "book.json")
    for verify in (False, True):
        again = dl.Ledger.load(tmp_path / "book.json", verify=verify)
        assert again.adversary.knowledge == 0.6
        assert bracket(again.account()) == bracket(book.account())
        assert bracket(again.what_if(CONSTANT)) == bracket(book.what_if(CONSTANT))


@pytest.mark.parametrize(
    ("knowledge", "words"),
    [
        ([], "an empty schedule"),
        ([0.3, 0.1], "falls to 0.1 at release 2"),
        ([0.1, "much"], "a knowledge of the schedule"),
        ([0.1, -1.0], "a knowledge of the schedule"),
        ([0.1, math.nan], "a knowledge of the schedule"),
    ],
)
def test_schedules_that_are_none_are_refused(knowledge: list[Any], words: str) -> None:
    refuses(words, dl.Ledger, RECORDS, knowledge=knowledge)
    refuses("independent", dl.Ledger, RECORDS, knowledge=[0.1, 0.2], adversary="independent")


def test_a_name_is_given_once(tmp_path: Path) -> None:
    book = ledger()
    for name in ("March", None, None):
        book.release(CONSTANT, name=name)
    refuses("name = 'March' is that of release 1; give every release a name of its own", book.release, PARITY, "March")
    assert len(book.releases) == 3
    book.save(tmp_path / "book.json")
    for verify in (False, True):
        refuses("name = 'March'", dl.Ledger.load(tmp_path / "book.json", verify=verify).release, PARITY, "March")
