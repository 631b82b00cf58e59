"""Very many equal things in a row."""

import pickle

import pytest

from dalenius.model.alike import Runs, tally


def test_runs_are_what_a_tuple_of_them_is() -> None:
    runs, plain = Runs((2, 3), (5, 0), (7, 2)), (2, 2, 2, 7, 7)
    assert runs == plain
    assert (len(runs), list(runs), runs[0], runs[3], runs[-1]) == (5, list(plain), 2, 7, 7)
    for kept in (slice(1, 4), slice(None, 2), slice(4, None), slice(3, 1), slice(None, None, 2), slice(None, None, -1)):
        assert tuple(runs[kept]) == plain[kept]
    assert tally(runs) == tally(plain) == {2: 3, 7: 2}
    assert not any(runs == other for other in (Runs((2, 3)), [2, 2, 2, 7, 7], (2, 2)))
    assert pickle.loads(pickle.dumps(runs)) == runs
    assert hash(runs) == hash(Runs((2, 3), (7, 2)))
    with pytest.raises(IndexError):
        runs[5]
