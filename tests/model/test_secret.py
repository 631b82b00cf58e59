"""Secrets as users give them: what is accepted, how values are numbered, what is refused."""

from itertools import product

import numpy as np
import pytest
from pandas_like import Column
from refusals import refuses

from dalenius.model import secret as secrets
from dalenius.model.gallery import queries
from dalenius.model.secret import Function, Group, from_user

RECORDS = (2, 3, 2)
DATASETS = list(product(*map(range, RECORDS)))


@pytest.mark.parametrize("one", [1, np.int64(1), [1], (1,), range(1, 2), {1}])
def test_one_index_is_that_record(one: object) -> None:
    assert from_user(one, RECORDS) == 1


@pytest.mark.parametrize("group", [[2, 0], (0, 2), range(0, 3, 2), [np.int32(0), 2], Group((0, 2))])
def test_a_group_is_ascending(group: object) -> None:
    assert from_user(group, RECORDS) == Group((0, 2))


def test_values_of_a_group_are_lexicographic_with_the_last_record_fastest() -> None:
    group = Group((0, 1))
    assert secrets.size(group, RECORDS) == 6
    assert secrets.table(group, RECORDS).tolist() == [3 * x[0] + x[1] for x in DATASETS]
    assert [secrets.value(group, x, RECORDS) for x in DATASETS] == secrets.table(group, RECORDS).tolist()
    assert [secrets.values(group, a, RECORDS) for a in range(6)] == list(product(range(2), range(3)))


@pytest.mark.parametrize(
    "given_as",
    [
        lambda x: ("low", "high")[x[0] + x[1] > 1],
        np.array([("low", "high")[x[0] + x[1] > 1] for x in DATASETS]),
        Column([("low", "high")[x[0] + x[1] > 1] for x in DATASETS]),
        queries.function(RECORDS, lambda x: ("low", "high")[x[0] + x[1] > 1]),
    ],
    ids=["callable", "array", "series", "query"],
)
def test_a_function_numbers_its_values_as_they_appear(given_as: object) -> None:
    secret = from_user(given_as, RECORDS)
    assert isinstance(secret, Function)
    assert secret.names == ("low", "high")
    assert secret.values.tolist() == [int(x[0] + x[1] > 1) for x in DATASETS]
    assert [secrets.value(secret, x, RECORDS) for x in DATASETS] == secret.values.tolist()
    assert from_user(secret, RECORDS) is secret


def test_answers_of_a_query_that_agree_are_one_value() -> None:
    secret = from_user(queries.pairs(n=3), (2, 2, 2))  # counts 0 and 1 both have no pair
    assert isinstance(secret, Function)
    assert secret.names == (0, 1, 3)
    histogram = from_user(queries.histogram(n=2, k=2), (2, 2))
    assert isinstance(histogram, Function)
    assert histogram.values.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        ([0, 0], "record 0 is listed twice"),
        ([0, 3], "record 3 does not exist; records are numbered 0 to 2"),
        (-1, "record -1 does not exist"),
        ([-1, 0], "record -1 does not exist"),
        ([], "empty"),
        (True, "True is not the index"),
        ([0, True], "True is not the index"),
        ([0, 1.0], "1.0 is not the index"),
        (1.5, "1.5 is not a secret"),
        ("0,1", "is not a secret"),
        (np.arange(5), r"shape \(5,\); give one value for each of the 12 datasets"),
        (np.array([0, 1]), "list such as"),
        (np.full(12, np.nan), "NaN"),
        ([0] * 12, "give them as a numpy array"),
        (lambda x: 1 / x[0], "failed at x = 0,0,0: ZeroDivisionError"),
        (lambda x: [x[0]], "failed at x = 0,0,0: TypeError"),
        (lambda: 0, "failed at x = 0,0,0: TypeError"),
        (np.array, "failed at x = 0,0,0: ValueError"),
        (queries.count(n=3), "other data"),
    ],
)
def test_what_is_no_secret_is_refused_in_a_sentence(secret: object, says: str) -> None:
    refuses(says, from_user, secret, RECORDS)


def test_a_secret_that_changes_its_mind_is_no_function() -> None:
    calls = iter(range(10**6))
    refuses("not a function of the dataset: at x = 0,0,0 it gave 0, then 1", from_user, lambda _: next(calls), RECORDS)


def test_what_is_too_large_is_refused_before_it_is_built() -> None:
    refuses(r"2097152 datasets.*name a group of records", from_user, lambda x: x[0], (2,) * 21)
    refuses("about 10", from_user, np.zeros(3), (2,) * 10**6)
    refuses("131072 values, above the limit", from_user, range(17), (2,) * 10**6)


def test_names_are_words() -> None:
    assert secrets.name(3) == "record 3"
    assert secrets.name(Group((0, 1))) == "records 0 and 1"
    assert secrets.name(Group((0, 1, 5))) == "records 0, 1 and 5"
    assert secrets.name(Group(tuple(range(10)))) == "records 0,1,2,3,...,9 (10 of them)"
    assert secrets.name(Function(np.array([0, 1]), ("a", "b"))) == "the secret (2 values)"
