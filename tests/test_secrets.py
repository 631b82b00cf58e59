"""Audits of groups of records and of functions of the dataset."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brute_force import information
from large_samples import both_histograms, both_local
from refusals import refuses
from verdicts import meet

import dalenius as dl
from dalenius.bounds.capacity import capacity
from dalenius.model import secret as secrets
from dalenius.numerics.information import mutual_information
from dalenius.results.audit import Audit
from dalenius.verifier.verify import verify_here

SMALL = [
    dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1),
    dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=3), flip=0.3),
    dl.mechanisms.geometric(dl.queries.total(n=3, values=[0, 1, 3]), epsilon=1),
    dl.mechanisms.exponential(dl.queries.histogram(n=3, k=2), epsilon=2),
]
every = pytest.mark.parametrize("mechanism", SMALL, ids=lambda m: str(m.query))


def audited(mechanism: dl.Mechanism, **options: Any) -> Audit:
    return dl.audit(mechanism, **{"knowledge": 0.4, "tolerance": 5e-3, "time_limit": 10.0, **options})


@every
def test_a_group_agrees_with_the_channel_written_out(mechanism: dl.Mechanism) -> None:
    dense = dl.Mechanism.from_matrix(mechanism.matrix(), mechanism.records)
    one, two = audited(mechanism, secret=[0, 2]), audited(dense, secret=(2, 0))
    meet(one, two)
    assert one.gap < 1e-2
    for answer in (one, two):
        assert dl.verify(answer).verified


@every
def test_a_group_leaks_more_than_its_members_and_no_more_than_what_they_add(mechanism: dl.Mechanism) -> None:
    one, both = audited(mechanism, secret=0), audited(mechanism, secret=[0, 1])
    assert both.upper >= one.lower
    assert both.lower <= one.upper + math.log(mechanism.records[1])


@every
def test_all_records_without_limit_is_the_capacity_of_the_channel(mechanism: dl.Mechanism) -> None:
    answer = audited(mechanism, secret=range(mechanism.n), knowledge=math.inf)
    whole = capacity(mechanism)
    assert answer.lower <= whole.upper
    assert answer.upper >= whole.lower
    assert answer.gap < 2e-3


def test_one_index_asks_for_that_record_alone() -> None:
    mechanism = SMALL[0]
    one, every_record = audited(mechanism, secret=2), audited(mechanism)
    assert one.secret == 2
    assert one.record == 2
    assert [r.record for r in one.records] == [2]
    assert one.certificate.data["secret"] == {"kind": "records", "records": [2]}
    assert "record" not in one.certificate.data["witness"]
    assert every_record.secret is None
    assert "secret" not in every_record.certificate.data
    assert (one.lower, one.upper) == pytest.approx((every_record.lower, every_record.upper), abs=5e-3)
    assert audited(mechanism, secret=[2]).certificate.data == one.certificate.data


def test_the_value_of_a_record_as_a_function_is_the_record() -> None:
    mechanism = SMALL[0]
    index, function = audited(mechanism, secret=1), audited(mechanism, secret=lambda x: x[1])
    assert (function.lower, function.upper) == pytest.approx((index.lower, index.upper), abs=1e-9)
    assert function.record is None


def test_parity_of_two_records_hides_in_parity_of_three() -> None:
    """Given the parity of three bits, that of two is another uniform bit: only a prior that ties them can tell."""
    mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=2), flip=0.2)

    def parity(x: tuple[int, ...]) -> str:
        return ("even", "odd")[(x[0] + x[1]) % 2]

    at_uniform = audited(mechanism, secret=parity, knowledge=0)
    assert at_uniform.upper == pytest.approx(0, abs=1e-9)
    free = audited(mechanism, secret=parity, knowledge=math.inf)
    assert free.lower == pytest.approx(math.log(2) + 0.2 * math.log(0.2) + 0.8 * math.log(0.8), abs=1e-4)
    # Each parity of two is four datasets in two classes, as the parity of two bits has it for one bit.
    twin = dl.mechanisms.symmetric(dl.queries.modular_sum(n=2, modulus=2), flip=0.2)
    meet(audited(mechanism, secret=parity, knowledge=0.3), audited(twin, secret=0, knowledge=0.3))


def test_knowledge_zero_is_the_information_under_the_uniform_prior() -> None:
    mechanism = SMALL[2]
    answer = audited(mechanism, secret=[0, 1], knowledge=0)
    joint = mechanism.matrix().reshape(9, 3, -1).sum(axis=1) / 27
    assert answer.lower == pytest.approx(information(joint), abs=1e-9)
    assert answer.gap < 1e-9


def test_a_constant_secret_has_nothing_to_leak() -> None:
    answer = audited(SMALL[0], secret=lambda _: "same")
    assert answer.upper == pytest.approx(0, abs=1e-9)
    assert "1 value: same" in answer.summary()


@pytest.mark.parametrize("secret", [[0, 1], lambda x: x[0] == x[1], 3], ids=["group", "function", "index"])
def test_an_audit_says_what_its_secret_is(secret: object) -> None:
    answer = audited(SMALL[0], secret=secret)
    said = answer.to_dict()
    assert said["secret"] == ("function" if callable(secret) else [3] if secret == 3 else secret)
    if secret != 3:
        assert (said["record"], [r["record"] for r in said["records"]]) == (None, [None])
    assert ("records 0 and 1" in repr(answer)) == (secret == [0, 1])


@pytest.mark.nightly
@pytest.mark.parametrize("n", [4000])
def test_groups_among_very_many_records(n: int) -> None:
    """With little noise beside the spread of the sum, what is known is what leaks, up to what the group can hold."""
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=1)
    for knowledge, most in ((0.1, 0.1), (1.0, 1.0), (3.0, math.log(4))):
        answer = dl.audit(mechanism, knowledge=knowledge, secret=[0, n - 1])
        assert answer.lower == pytest.approx(most, rel=0.15)
        assert answer.gap <= 0.02
        assert dl.verify(answer).verified
    refuses("2048 values, above the limit of 1024", dl.audit, mechanism, knowledge=0.1, secret=range(11))


def attributes(shape: tuple[int, ...], *pairs: tuple[int, int]) -> Any:
    return lambda x: tuple(int(np.unravel_index(x[i], shape)[j]) for i, j in pairs)


@pytest.mark.parametrize(("secret", "pairs"), [("0.1", [(0, 1)]), (["1.1", "0.0"], [(0, 0), (1, 1)])])
def test_attributes_of_a_table_are_functions_of_its_records(
    secret: object, pairs: list[tuple[int, int]], tmp_path: Path
) -> None:
    mechanism = dl.mechanisms.exponential(dl.queries.table(2, (2, 3)), epsilon=2)
    law = [0.3, 0.1, 0.2, 0.15, 0.05, 0.2]
    options = {"knowledge": 0.2, "reference": law, "tolerance": 1e-2, "time_limit": 1.0}
    audit, other = (audited(mechanism, secret=s, **options) for s in (secret, attributes((2, 3), *pairs)))
    meet(audit, other)
    assert audit.lower == pytest.approx(other.lower, abs=1e-4)
    assert audit.verify().verified
    assert audit.prior.weights().sum() == pytest.approx(1)
    assert audit.prior.entropy() == pytest.approx(-float(_plogp(audit.prior.weights()).sum()))
    audit.save(path := tmp_path / "audit.json")
    again = dl.load(path, verify=True)
    assert (
        again.to_dict()["secret"]
        == audit.to_dict()["secret"]
        == sorted([secret] if isinstance(secret, str) else secret)
    )
    assert "attribute 1 of record" in again.summary()
    told = dl.leakage(mechanism, law, secret=secret)
    assert told.lower <= told.upper <= audit.upper


def _plogp(p: Any) -> Any:
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0.0)


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ("0.2", "attribute 2 of record 0 does not exist"),
        ("2.0", "record 2 does not exist"),
        ("0", "is not an attribute"),
        ("0.-1", "is not an attribute"),
        (["0.1", 1], "is not an attribute"),
        (["0.1", "0.1"], "twice"),
    ],
)
def test_attributes_that_do_not_exist_are_refused(secret: object, words: str) -> None:
    refuses(words, audited, dl.mechanisms.exponential(dl.queries.table(2, (2, 3)), epsilon=2), secret=secret)


def test_attributes_are_of_tables_and_of_one_record_where_counts_are_not_listed() -> None:
    refuses("is not a table", audited, SMALL[0], secret=["0.1"])
    with pytest.raises(dl.InputError, match="attributes of one record at a time"):
        audited(dl.mechanisms.geometric(dl.queries.table(50, (2, 3)), epsilon=1), secret=["0.1", "1.1"])


UNWRITTEN = [
    (both_histograms, "geometric(epsilon=1)", "table(n=3, shape=[2, 2])", "0.1", None),
    (both_histograms, "gaussian(sigma=6)", "table(n=3, shape=[2, 2])", "2.0", [0.1, 0.2, 0.3, 0.4]),
    (both_local, "randomized_response(epsilon=1)", "table(n=2, shape=[2, 2])", "1.1", [0.1, 0.2, 0.3, 0.4]),
    (both_local, "randomized_response(epsilon=1)", "table(n=3, shape=[2, 2])", ["0.0", "2.1"], None),
]


@pytest.mark.parametrize(("both_kinds", "mechanism", "query", "secret", "law"), UNWRITTEN)
def test_attributes_of_releases_that_are_never_written_out(
    both_kinds: Any,
    mechanism: str,
    query: str,
    secret: object,
    law: list[float] | None,
) -> None:
    large, dense = both_kinds(mechanism, query)
    mine = dl.audit(large, knowledge=0.3, secret=secret, reference=law)
    labels = secrets.table(mine.secret, large.records)
    exact = dl.audit(dense, knowledge=0.3, secret=labels, reference=law, tolerance=1e-2, time_limit=0.3)
    meet(mine, exact)
    assert 0 < mine.lower < mine.upper
    # The prior is on datasets, and leaks through the whole release what it is said to.
    weights = mine.prior.weights()
    joint = np.zeros((len(mine.secret.names), weights.size))
    joint[labels, np.arange(weights.size)] = weights
    told = float(mutual_information(joint @ dense.matrix()))
    assert mine.lower <= told <= mine.upper
    assert mine.verify().verified
    data = json.loads(mine.certificate.text())
    nothing = {**data["secret"], "values": [0] * len(data["secret"]["values"])}
    assert not verify_here({**data, "secret": nothing})
    assert not verify_here({**data, "lower": (told + mine.upper) / 2})


def test_an_attribute_of_a_large_table_leaks_less_than_the_record(tmp_path: Path) -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.table(600, (2, 3)), epsilon=1)
    attribute, record = (dl.audit(mechanism, knowledge=0.1, secret=s, tolerance=0.03) for s in ("0.1", 0))
    assert attribute.upper < record.upper
    assert attribute.gap < 0.03
    assert dl.audit(mechanism, knowledge=9, secret=["0.0"]).upper == pytest.approx(math.log(2), abs=1e-9)
    response = dl.mechanisms.randomized_response(dl.queries.table(300, (2, 3)), epsilon=1)
    for audit in (attribute, dl.audit(response, knowledge=0.0, secret=["0.1"])):
        audit.save(path := tmp_path / "audit.json")
        assert dl.load(path, verify=True).prior.leakage() == pytest.approx(audit.prior.leakage())


def test_values_are_called_by_their_names_where_a_prior_is_printed() -> None:
    def words(mechanism: dl.Mechanism, **options: Any) -> str:
        return audited(mechanism, tolerance=5e-2, time_limit=1.0, **options).summary()

    count = dl.mechanisms.geometric(dl.queries.count(3, names=["no", "yes"]), epsilon=1)
    assert "record 0 = yes and sum = 3" in words(count)
    assert "records 0 and 1 = yes,yes and sum = 3" in words(count, secret=[0, 1])
    pets = dl.mechanisms.exponential(dl.queries.histogram(3, 2, names=["cat", "dog"]), epsilon=1)
    assert "record 0 = cat and counts = 3 of cat" in words(pets)
    assert "x = yes,yes" in words(
        dl.mechanisms.randomized_response(dl.queries.count(2, names=["no", "yes"]), epsilon=1)
    )
    assert "record 0 = 0,1 and counts = 2 of 0,1" in words(
        dl.mechanisms.exponential(dl.queries.table(2, (2, 2)), epsilon=1)
    )
