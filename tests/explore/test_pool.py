"""Solver processes of the explorer: none is left that the pool does not know."""

from pathlib import Path

import pytest

from dalenius.explore import pool
from dalenius.explore.pool import Busy, Pool


class Idle:
    """A solver without a process."""

    alive = True

    def __init__(self, _: Path) -> None:
        self.settled = 0

    def settle(self) -> None:
        """Nothing runs."""
        self.settled += 1


def given_back(pool: Pool) -> None:
    """Wait until a place is free again: solvers are given back by a thread of their own."""
    assert pool._slots.acquire(timeout=5)
    pool._slots.release()


def test_a_process_serves_one_question_after_the_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pool, "Solver", Idle)
    solvers = Pool(tmp_path, size=1)
    solvers.warm_up()
    given_back(solvers)
    (first,) = solvers.idle
    with solvers.solver(lambda: False) as solver:
        assert solver is first
        assert solvers.everyone == {first}
    given_back(solvers)
    assert solvers.idle == [first]


def test_a_process_that_cannot_start_leaves_its_place_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def start(_: Path) -> Idle:
        raise OSError

    monkeypatch.setattr(pool, "Solver", start)
    solvers = Pool(tmp_path, size=1)
    for _ in range(2):
        with pytest.raises(OSError):  # noqa: PT011 - made above
            solvers.warm_up()
    assert not solvers.everyone


def test_too_many_questions_are_told_to_come_again(tmp_path: Path) -> None:
    with pytest.raises(Busy):
        Pool(tmp_path, most_waiting=0).warm_up()
