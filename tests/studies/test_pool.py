"""Processes that may die: what they had is tried again, twice dead is given up, and the rest goes on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dalenius.studies.pool import Ended, Pool


def double(x: int) -> int:
    return 2 * x


def die_at(item: tuple[int, str]) -> int:
    """Kill the process at 3: the first time only where the file is missing, else always."""
    number, path = item
    if number == 3:
        if path == "always":
            os.kill(os.getpid(), signal.SIGKILL)
        if not Path(path).exists():
            Path(path).touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return number


def ended(pool: Pool, items: list) -> list[Ended]:
    return [one for few in pool.run(items) for one in few]


@pytest.mark.slow
def test_everything_is_answered_once() -> None:
    found = ended(Pool(double, 2), list(range(20)))
    assert sorted((one.item, one.result) for one in found) == [(x, 2 * x) for x in range(20)]


@pytest.mark.slow
@pytest.mark.parametrize("always", [False, True])
def test_a_process_that_dies_costs_its_own_point_at_most(tmp_path: Path, always: bool) -> None:
    path, deaths = "always" if always else str(tmp_path / "died"), []
    pool = Pool(die_at, 2, died=lambda item, times: deaths.append((item[0], times)))
    found = {one.item[0]: one for one in ended(pool, [(number, path) for number in range(6)])}
    assert set(found) == set(range(6))
    assert all(one.result == number for number, one in found.items() if number != 3)
    assert deaths == ([(3, 1), (3, 2)] if always else [(3, 1)])
    assert (found[3].result, found[3].died) == ((None, 2) if always else (3, 0))


@pytest.mark.slow
def test_a_pool_that_is_stopped_begins_nothing_more() -> None:
    pool = Pool(double, 1)
    found = []
    for few in pool.run(list(range(50))):
        found += few
        pool.stop()
    assert 1 <= len(found) <= 3


@pytest.mark.slow
def test_a_script_need_not_guard_itself_against_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from dalenius.studies.pool import Pool\n"
        "print('began')\n"
        "print([one.result for few in Pool(abs, 1).run([-1]) for one in few], __file__ != '')\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("began\n[1] True\n", "")
