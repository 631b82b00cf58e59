import numpy as np
import pytest
from refusals import refuses, refuses_saying

from dalenius.errors import InputError
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.statistic import Histogram, Sum, Table

EYE = np.eye(4)


def test_rows_are_divided_by_their_sums_and_kept_as_given() -> None:
    rows = np.array([[0.5, 0.5 + 5e-10], [0.25, 0.75]])
    mechanism = Mechanism.from_matrix(rows, [2])
    np.testing.assert_array_equal(mechanism.given, rows)
    np.testing.assert_allclose(mechanism.rows.sum(axis=1), 1, rtol=0, atol=2e-16)
    assert mechanism.rows[0, 1] == pytest.approx((0.5 + 5e-10) / (1 + 5e-10), abs=1e-16)
    with pytest.raises(ValueError, match="read-only"):
        mechanism.rows[0, 0] = 1


def test_the_callers_array_is_neither_frozen_nor_followed() -> None:
    rows = np.eye(2)
    mechanism = Mechanism.from_matrix(rows, [2])
    rows[0] = 0.5
    assert mechanism.rows[0, 0] == 1


def test_matrix_lists_datasets_with_the_last_record_fastest() -> None:
    query = queries.function([2, 3], lambda x: 3 * x[0] + x[1])
    np.testing.assert_array_equal(mechanisms.symmetric(query, flip=0).matrix(), np.eye(6))
    count = mechanisms.symmetric(queries.count(n=2), flip=0)
    np.testing.assert_array_equal(count.matrix(), np.eye(3)[[0, 1, 1, 2]])


def test_the_matrix_of_a_large_universe_is_refused_with_its_size() -> None:
    mechanism = mechanisms.symmetric(queries.modular_sum(n=1000, modulus=2), flip=0.1)
    refuses(r"about 10\^301 rows of 2 outputs.*mechanism\.rows", mechanism.matrix)


def test_descriptions() -> None:
    query = queries.count(n=2)
    assert mechanisms.geometric(query, epsilon=1, sensitivity=2).describe() == {
        "query": "count(n=2)",
        "mechanism": "geometric(epsilon=1, sensitivity=2)",
    }
    rows = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    assert Mechanism.from_rows(query, rows).describe() == {"query": "count(n=2)", "rows": rows}
    assert Mechanism.from_matrix(EYE, [2, 2]).describe() == {
        "records": [2, 2],
        "classes": None,
        "rows": EYE.tolist(),
    }
    own = mechanisms.symmetric(queries.function([2, 2], max), flip=0.25)
    assert own.describe() == {
        "records": [2, 2],
        "classes": [0, 1, 1, 1],
        "rows": [[0.75, 0.25], [0.25, 0.75]],
    }


def test_descriptions_of_rows_per_count_vector() -> None:
    rows, labels = np.eye(3).tolist(), (0, 0.5, 1)
    parity = queries.modular_sum(n=2, modulus=2)
    assert Written(Histogram(2, 2), np.eye(3), labels, parity).describe() == {
        "query": "modular_sum(n=2, modulus=2)",
        "statistic": "histogram",
        "rows": rows,
    }
    plain = {"records": [2, 2], "statistic": "histogram", "rows": rows}
    assert Written(Histogram(2, 2), np.eye(3), labels).describe() == plain
    assert Written(Histogram(2, 2), np.eye(3), labels, queries.function([2, 2], max)).describe() == plain
    own = queries.histogram(n=2, k=2)
    assert Written(Histogram(2, 2), np.eye(3), labels, own).describe() == {"query": str(own), "rows": rows}
    again = Written(Sum(2, (0, 1)), np.eye(3), labels, queries.count(n=2))
    assert again.describe() == {"query": "count(n=2)", "rows": rows}


def test_labels_are_texts_and_finite_numbers() -> None:
    mechanism = Mechanism.from_matrix([[0.5, 0.5]], [1], labels=[np.float64(0.5), np.int64(2)])
    assert mechanism.labels == (0.5, 2)
    assert [type(label) for label in mechanism.labels] == [float, int]
    assert set(mechanism.sample([0], size=50, rng=1)) == {0.5, 2}
    for bad in (np.nan, float("inf"), None, ()):
        with pytest.raises(InputError, match="cannot label an output; labels are texts and finite numbers"):
            Mechanism.from_matrix([[0.5, 0.5]], [1], labels=[0, bad])


def test_representations() -> None:
    mechanism = mechanisms.geometric(queries.count(n=4), epsilon=1)
    assert repr(mechanism) == "<Mechanism geometric(epsilon=1) of count(n=4): 4 records, 5 rows x 5 outputs>"
    assert "<td" in mechanism._repr_html_()
    assert "&lt;b&gt;" in Mechanism.from_matrix([[1, 0]], [1], labels=["<b>", "c"])._repr_html_()


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        ([[1, 0], [1, 0], [1, 0], [0.5, 0.48]], "row 3 (x = 1,1) sums to 0.98; rows of a channel must sum to 1"),
        ([[1, 0], [1, 0], [1.5, -0.5], [1, 0]], "row 2 (x = 1,0) holds -0.5 in column 1"),
        ([[1, 0], [np.nan, 1], [1, 0], [1, 0]], "row 1 (x = 0,1) holds nan in column 0"),
        ([[1, 0], [np.inf, 1], [1, 0], [1, 0]], "holds inf"),
        ([[1, 0], [1, 2e-9], [1, 0], [1, 0]], "row 1 (x = 0,1) sums to 1.000000002"),
        ([[1, 0]] * 3, "the matrix has 3 rows, but 4 datasets"),
        ([1, 0, 0, 1], "shape (4,)"),
        (np.zeros((4, 0)), "shape (4, 0)"),
        ([[1, 0], [1], [1, 0], [1, 0]], "rows of equal length"),
        ([["1", "0"]] * 4, "not a matrix of numbers"),
        (np.full((4, 1), 1 + 0j), "not a matrix of numbers"),
    ],
)
def test_bad_channels_are_refused_by_place(matrix: object, says: str) -> None:
    refuses_saying(says, Mechanism.from_matrix, matrix, [2, 2])


def test_other_bad_mechanisms() -> None:
    refuses("3 labels for 4 outputs", Mechanism.from_matrix, EYE, [2, 2], labels=["a", "b", "c"])
    refuses("2 rows for 3 classes", Mechanism.from_rows, queries.count(n=2), np.eye(2))
    refuses("datasets with sum 1", Mechanism.from_rows, queries.count(n=1), [[1, 0], [0.5, 0]])
    with pytest.raises(InputError, match=r"the class of x = 0,1\) sums to 0"):
        Written(Table((2, 2), np.array([0, 1, 1, 1])), np.array([[1.0], [0.0]]), (0,))
    refuses("too many to enumerate", Mechanism.from_matrix, EYE, [2] * 30)


def test_a_mechanism_is_not_built_directly() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Mechanism()
