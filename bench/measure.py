"""One measurement: a process of its own, one thread, processor seconds, a limit that ends any library.

python bench/measure.py MODULE FUNCTION ARGUMENTS    what `alone` runs: one function of bench/, its answer as JSON
"""

import importlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

LAZY = ("scipy.special", "scipy.optimize", "scipy.linalg", "scipy.sparse")  # dalenius loads them at the first call
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
THREADS["DIT_N_JOBS"] = "1"
MEMORY = 6 * 2**30  # bytes of address space; beyond, a library fails instead of the machine
BRIEF = 0.3  # seconds: what takes less is repeated, as clocks of processor time may tick coarsely
MOST = 10_000
RUNS = "DALENIUS_BENCH_RUNS"  # the variable that hands `--runs` down

T = TypeVar("T")


@dataclass(frozen=True)
class Section:
    """One part of the results: what it says in short, and its table."""

    title: str
    text: str
    short: list[list[str]]  # lines of SHORT
    head: list[str]
    rows: list[list[str]]


SHORT = ["what", "against", "cases", "time ratio, geometric mean", "least", "greatest", "aim"]


def alone(function: Callable[..., dict[str, Any]], **arguments: object) -> dict[str, Any]:
    """Call a function of this folder in processes of their own; where it does not answer, {"failed": why}.

    As often as `run.py --runs` says, one after the other: the answer with the least processor seconds is kept, because
    other work on the machine only ever adds to them.
    """
    answers = [_alone(function, arguments) for _ in range(int(os.environ.get(RUNS, "1")))]
    return min(answers, key=lambda answer: answer.get("seconds", math.inf))


def _alone(function: Callable[..., dict[str, Any]], arguments: dict[str, object]) -> dict[str, Any]:
    name = function.__module__
    module = os.path.basename(sys.argv[0]).removesuffix(".py") if name == "__main__" else name  # noqa: PTH119
    command = [sys.executable, __file__, module, function.__name__, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | THREADS, check=False)
    if done.returncode == 0:
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer
    if done.returncode == -signal.SIGXCPU:
        return {"failed": "limit"}
    last = (done.stderr.strip().splitlines() or ["no word"])[-1]
    short = "memory" if "MemoryError" in last or "bad_alloc" in last or done.returncode == -signal.SIGKILL else last
    missing = "not installed" if "ModuleNotFoundError" in last else short
    return {"failed": missing[:80]}


def timed(work: Callable[[], T], limit: float, most: int = MOST) -> tuple[T, float]:
    """Return what the work answers and its processor seconds: the mean of as many runs as fill a third of a second.

    Imports are not counted. At the limit the system ends this process, whatever the library is doing.
    """
    for part in LAZY:
        importlib.import_module(part)
    begin, runs, spent = time.process_time(), 0, 0.0
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(begin + BRIEF + limit), resource.RLIM_INFINITY))
    while runs < most and spent < BRIEF:
        answer = work()
        runs, spent = runs + 1, time.process_time() - begin
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return answer, spent / runs


def memory() -> int:
    """The most memory that this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def mean(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def short(what: str, against: str, found: list[tuple[float, str]], aim: str) -> list[str]:
    """One line of SHORT, of ratios with their marks: ">" the peer was ended at its limit, "<" we were."""
    if not found:
        return [what, against, "0", "", "", "", aim]
    marks = {mark for _, mark in found} - {""}
    mark = marks.pop() if len(marks) == 1 else "about " if marks else ""
    ends = [f"{mark}{ratio:.3g}" for ratio, mark in (min(found), max(found))]
    return [what, against, str(len(found)), f"{mark}{mean(ratio for ratio, _ in found):.3g}", *ends, aim]


def renew(page: Path, mark: str, text: str) -> None:
    """Put a text between its marks on a page."""
    begin, end = f"<!-- {mark} -->\n", "<!-- end -->\n"
    before, rest = page.read_text().split(begin)
    page.write_text(before + begin + "\n" + text + "\n" + end + rest.split(end, 1)[1])


def main() -> None:
    """Run what `alone` asks for."""
    module, function, arguments = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    print(json.dumps(getattr(importlib.import_module(module), function)(**json.loads(arguments))))


if __name__ == "__main__":
    main()
