"""Counts of 10 to a million records: brackets, seconds and memory.

python bench/large.py                   prints the table, each audit in a process of its own
python bench/large.py --growth          measures time and memory of audit and verification against n for a picture
python bench/large.py --table [PAGE]    prints how far counts of 10, 20 and 50 close, for two noises and six values of
                                        b; with bench/NOTES.md the table there is renewed
python bench/large.py --table --processor     limits count processor seconds, for a machine that is busy
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import renew

if "--processor" in sys.argv:
    # Before dalenius is imported: its deadlines take the clock that they find here.
    time.monotonic = time.process_time

import dalenius as dl

SIZES = (10, 100, 1000, 3000, 10**4, 10**5, 10**6)
KNOWLEDGE = (0.1, 0.5, 1.0, 3.0)
LIMIT = 60.0
GROWING = (10, 30, 100, 300, 1000, 2800, 3000, 10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6)
GROWTH_LIMIT, GROWTH_GAP = 60.0, 0.01  # a gap that every size reaches: the clock then decides nothing
GROWN = Path(__file__).parent / "growth_found.json"
CLOSING = ((1.0, 0.3), (10, 20, 50), (0.3, 0.5, 0.7, 0.8, 0.9, 0.95))  # epsilon, n, b as a share of n ln 2
CLOSED = 0.01  # relative gap
CLOSING_LIMIT = 20.0
MARK = "counts of 10, 20 and 50: bench/large.py --table"


def count(n: int, epsilon: float = 1.0) -> "dl.Mechanism":
    """A count with geometric noise."""
    return dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=epsilon)


def measure(n: int, knowledge: float, limit: float, relative: float) -> dict[str, Any]:
    """Audit and verify; processor seconds, and the largest memory that this process had, in MiB."""
    begin = time.process_time()
    options: dict[str, Any] = {"tolerance": 1e-4, "relative": relative, "time_limit": limit, "verify": False}
    audit = dl.audit(count(n), knowledge=knowledge, **options)
    seconds = time.process_time() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    begin = time.process_time()
    verdict = dl.verify(audit.certificate)
    checking = time.process_time() - begin
    total = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {
        "n": n,
        "knowledge": knowledge,
        "bracket": f"{audit.lower:.6f} to {audit.upper:.6f}",
        "gap": f"{audit.gap:.1e}",
        "bound": audit.upper_by,
        "audit s": round(seconds, 2),
        "audit MiB": memory,
        "verify s": round(checking, 2),
        "both MiB": total,
        "verified": "yes" if verdict else "NO",
    }


def alone(n: int, knowledge: float, limit: float, relative: float = 0.0) -> dict[str, Any]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--one", str(n), str(knowledge), str(limit), str(relative)]
    answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer


def show(answers: Iterator[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """Print a table, each line when it is there; return what it holds, and its text."""
    found, text = [], ""
    for answer in answers:
        head = "" if found else "| " + " | ".join(answer) + " |\n|" + "---|" * len(answer) + "\n"
        line = head + "| " + " | ".join(map(str, answer.values())) + " |\n"
        print(line, end="", flush=True)
        found.append(answer)
        text += line
    return found, text


def closing(limit: float) -> Iterator[dict[str, Any]]:
    """Audit counts that are hard for their size: many outputs, and noise that is neither small nor large."""
    for epsilon in CLOSING[0]:
        for n in CLOSING[1]:
            for share in CLOSING[2]:
                begin = time.process_time()
                audit = dl.audit(count(n, epsilon), entropy=share * n * math.log(2), time_limit=limit, verify=False)
                seconds = time.process_time() - begin
                yield {
                    "epsilon": epsilon,
                    "n": n,
                    "b / (n ln 2)": share,
                    "knowledge": f"{audit.knowledge:.3f}",
                    "bracket (nats)": f"{audit.lower:.6f} to {audit.upper:.6f}",
                    "gap / upper": f"{audit.gap / audit.upper:.1e}",
                    "bound": audit.upper_by,
                    "s": f"{audit.seconds:.1f}",
                    "processor s": f"{seconds:.1f}",
                    "within 1 %": "yes" if audit.gap <= CLOSED * audit.upper else "no",
                }


def growth() -> None:
    """Measure seconds and memory against n, and keep them for docs/draw.py."""
    found, _ = show(alone(n, 0.5, GROWTH_LIMIT, GROWTH_GAP) for n in GROWING)
    GROWN.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--growth", action="store_true", help="measure time and memory against n for a picture instead")
    parser.add_argument("--table", nargs="?", const="", metavar="PAGE", help="show how far counts of 10, 20, 50 close")
    parser.add_argument("--limit", type=float, default=CLOSING_LIMIT, help="seconds for each point of --table")
    parser.add_argument("--processor", action="store_true", help="limits count processor seconds")
    words = "one line as JSON: records, knowledge, limit, relative gap"
    parser.add_argument("--one", nargs=4, type=float, metavar=("N", "K", "S", "R"), help=words)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(int(asked.one[0]), *asked.one[1:])))
    elif asked.growth:
        growth()
    elif asked.table is not None:
        found, text = show(closing(asked.limit))
        text += f"\n{sum(line['within 1 %'] == 'yes' for line in found)} of {len(found)} are within 1 %.\n"
        print(text.splitlines()[-1])
        if asked.table:
            renew(Path(asked.table), MARK, text)
    else:
        show(alone(n, knowledge, LIMIT) for n in SIZES for knowledge in KNOWLEDGE)


if __name__ == "__main__":
    main()
