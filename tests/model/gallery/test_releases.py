"""Rounded, perturbed, suppressed, sampled and shuffled numbers: what is refused, files, names, draws."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl

COUNT = dl.queries.count(n=3)
CELLS = dl.queries.histogram(n=2, k=3)
M = dl.mechanisms


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: M.rounding(COUNT, 1), "base = 1 is too small; give an integer of at least 2"),
        (lambda: M.random_rounding(COUNT, 2.5), "base = 2.5 is not a whole number"),
        (lambda: M.rounding(COUNT, 5, midpoint=1), "midpoint = 1 must be True or False"),
        (lambda: M.exact(COUNT).suppress(0), "below = 0 is too small"),
        (lambda: M.subsampled(COUNT, 0), "rate = 0 is out of range; it must be above 0 and at most 1"),
        (lambda: M.subsampled(CELLS, 0.5), "subsampled is for counts of records, not for histogram"),
        (lambda: M.subsampled(COUNT, 0.5, mechanism="randomized_response(epsilon=1)"), "looks at more than the count"),
        (lambda: M.shuffled_response(dl.queries.total(2, [0, 3]), epsilon=1), "use histogram"),
        (lambda: M.cell_key(COUNT, [(0, 0, 1), (2, 0, 1)]), "no row for the answer 1"),
        (lambda: M.cell_key(COUNT, [(0, 0, 0.9), (0, 1, 0.2)]), "for the answer 0 sum to 1.1, not to 1"),
        (lambda: M.cell_key(COUNT, [(0, 0, 1.1), (0, 1, -0.1)]), "has the probability -0.1 for the answer 0"),
        (lambda: M.cell_key(COUNT, [(0, 0, 0.5), (0, 0, 0.5)]), "has the change 0 of the answer 0 twice"),
        (lambda: M.cell_key(COUNT, [(0, 0)]), "has 2 entries, not answer, change, probability"),
        (lambda: M.cell_key(COUNT, []), "has no rows"),
        (lambda: M.cell_key(COUNT, 5), "must be a file, or rows of"),
        (lambda: M.cell_key(COUNT, "none.csv"), "none.csv"),
        (lambda: M.rounding(dl.queries.mean(2, 0, 1), 2), "the output 0.0 is not a whole number"),
        (lambda: M.exact(dl.queries.identity(2, names=["no", "yes"])).suppress(2), "the output 'no' is not a number"),
        (lambda: M.geometric(COUNT, epsilon=1, clamp=False).suppress(2), "has all integers as outputs"),
        (lambda: M.rounding(COUNT, 2, mechanism=M.exact(CELLS)), "does not answer count"),
        (lambda: M.rounding(COUNT, 2, mechanism="exat()"), "did you mean 'exact'"),
        (
            lambda: M.cell_key(dl.queries.histogram(6, 6), [(0, 0, 1), *((1, v, 0.2) for v in range(5))]),
            "the limit of 4096",
        ),
        (lambda: dl.Mechanism.from_matrix([[1, 0], [0, 1]], [2]).suppress(2), "suppress needs a query"),
        (lambda: M.subset_selection(dl.queries.identity(40), epsilon=0.1), "above the limit"),
        (lambda: M.unary_encoding(COUNT, epsilon=1, optimised="yes"), "optimised = 'yes' must be True or False"),
    ],
)
def test_what_makes_no_sense_is_refused(build: object, says: str) -> None:
    with pytest.raises(dl.InputError, match=says.replace("(", r"\(")):
        build()  # type: ignore[operator]


def test_a_sample_and_a_shuffle_by_brute_force() -> None:
    """Over all ways in which records are kept or changed."""
    n, rate, kept = 3, 0.3, np.e / (np.e + 1)
    sampled, shuffled = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    for t in range(n + 1):
        records = [1] * t + [0] * (n - t)
        for changes in product((0, 1), repeat=n):
            hits = sum(changes)
            sampled[t, sum(x * c for x, c in zip(records, changes, strict=True))] += rate**hits * (1 - rate) ** (
                n - hits
            )
            flipped = sum(x ^ c for x, c in zip(records, changes, strict=True))
            shuffled[t, flipped] += (1 - kept) ** hits * kept ** (n - hits)
    assert M.subsampled(COUNT, rate).rows == pytest.approx(sampled, abs=1e-15)
    assert M.shuffled_response(COUNT, epsilon=1).rows == pytest.approx(shuffled, abs=1e-15)
    inside = M.geometric(COUNT, epsilon=1)
    assert M.subsampled(COUNT, rate, mechanism=inside).rows == pytest.approx(sampled @ inside.written().rows, abs=1e-15)


def test_shuffled_counts_of_three_values() -> None:
    query, kept, other = dl.queries.histogram(n=2, k=3), np.e / (np.e + 2), 1 / (np.e + 2)
    counts = [tuple(c) for c in np.asarray(query.answers).tolist()]
    rows = M.shuffled_response(query, epsilon=1).rows
    for t, values in enumerate(counts):
        records = [v for v, many in enumerate(values) for _ in range(many)]
        law = dict.fromkeys(counts, 0.0)
        for y in product(range(3), repeat=2):
            chance = np.prod([kept if x == z else other for x, z in zip(records, y, strict=True)])
            law[tuple(y.count(v) for v in range(3))] += chance
        assert rows[t] == pytest.approx(list(law.values()), abs=1e-15)


def test_ptable_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ptable.csv"
    path.write_text(
        "i;j;p;v;p_int_lb;p_int_ub\n0;0;1;0;0;1\n1;0;0.25;-1;0;0.25\n1;1;0.5;0;0.25;0.75\n1;2;0.25;1;0.75;1\n"
    )
    found = M.cell_key(COUNT, path)
    assert found.name == "cell_key(table=[[0, 0, 1.0], [1, -1, 0.25], [1, 0, 0.5], [1, 1, 0.25]])"
    assert found.labels == (0, 1, 2, 3, 4)
    assert found.rows[3].tolist() == [0, 0, 0.25, 0.5, 0.25]


def test_key_files_are_read(tmp_path: Path) -> None:
    """0 stays, and of 750 answers the last 250 serve all larger ones in turn."""
    path = tmp_path / "keys.csv"
    rows = [f"{y},{key},{key - 1 if y == 501 else 0}" for y in range(1, 751) for key in (0, 1)]
    path.write_text("\n".join(["pcv, ckey, pvalue", *rows]))
    found = M.cell_key(dl.queries.count(n=800), path)
    assert found.name is None  # too long for a name: certificates carry its rows
    at = {y: found.rows[y, found.labels.index(y)] for y in (0, 500, 501, 750, 751, 752)}
    assert at == {0: 1, 500: 1, 501: 0.5, 750: 1, 751: 0.5, 752: 1}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n", "has the columns a, b; a perturbation table has i, j and p"),
        ("", "has the columns none"),
        ("i,j,p\n0,0,1\n1,x,1\n", "line 3 has no number in the column j: '1,x,1'"),
        ("i,j,p\n0,0,1\n1,1\n", "line 3 has no number in the column p"),
        ("i,j,p\n0,0.5,1\n", "has 0.5 where a whole number belongs"),
        ("i,j,p\n0,0,nan\n", "has the probability nan for the answer 0"),
        ("i,j,p\n0,0,0.5\n", "ptable.csv: the probabilities of the perturbation table for the answer 0 sum to 0.5"),
        ("pcv,ckey,pvalue\n0,0,0\n0,1,0\n1,0,0\n", "the answer 1 has 1 of 2 keys"),
    ],
)
def test_files_that_make_no_sense_are_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "ptable.csv"
    path.write_text(text)
    refuses(says, M.cell_key, COUNT, path)


def test_functions_of_outputs_get_them_as_the_query_has_them() -> None:
    seen: list[object] = []
    M.geometric(CELLS, epsilon=1).then(lambda y: seen.append(y) or "all")
    assert seen[:2] == [(0, 0, 0), (0, 0, 1)]
    assert M.exact(CELLS).then(max).labels == (2, 1)
    assert M.exact(COUNT).then(lambda y: y > 1).labels == (False, True)
    named = dl.queries.identity(2, names=["no", "yes"])
    assert M.exact(named).then(len).labels == (2, 3)
    assert M.exact(CELLS).suppress(2).then(str).labels[0] == "('suppressed', 'suppressed', 0)"
