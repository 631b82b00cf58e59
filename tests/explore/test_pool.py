"""Solver processes of the explorer: none is left that the pool does not know."""

import asyncio
from pathlib import Path

import pytest

from dalenius.explore.pool import Pool, Solver


class Idle:
    """A solver without a process."""

    alive = True

    async def settle(self) -> None:
        """Nothing runs."""


def test_a_process_that_starts_while_its_question_is_given_up_serves_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def run() -> None:
        starting, may_end = asyncio.Event(), asyncio.Event()
        begun: list[Idle] = []

        async def start(_: Path) -> Idle:
            begun.append(Idle())
            starting.set()
            await may_end.wait()
            return begun[-1]

        monkeypatch.setattr(Solver, "start", start)
        pool = Pool(tmp_path, size=1)
        first = asyncio.ensure_future(pool.warm_up())
        await starting.wait()
        first.cancel()
        may_end.set()
        async with pool.solver() as solver:
            assert pool.everyone == {solver} == {*begun}
        await asyncio.gather(*pool.settling)
        assert pool.idle == [solver]

    asyncio.run(run())


def test_a_process_that_cannot_start_leaves_its_place_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def run() -> None:
        async def start(_: Path) -> Idle:
            raise OSError

        monkeypatch.setattr(Solver, "start", start)
        pool = Pool(tmp_path, size=1)
        for _ in range(2):
            with pytest.raises(OSError):  # noqa: PT011 - made above
                await pool.warm_up()
        assert not pool.everyone

    asyncio.run(run())
