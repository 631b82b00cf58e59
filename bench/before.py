"""What closed in an older version, and is it slower now? Processor seconds of both, in turns.

python bench/before.py OLD        OLD is the src folder of the older version (of a git worktree); prints a table

Each audit runs in processes of its own, old and new in turns, three each; the least seconds of each count. Imports are
not counted, and certificates not checked.
"""

import argparse
import importlib
import inspect
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from measure import LAZY, THREADS, mean

NEW = Path(__file__).parent.parent / "src"
ALLOWED = 1.3
LIMIT = 60.0
TURNS = 3
GEOMETRIC = "dl.mechanisms.geometric(dl.queries.count(n={}), epsilon={})"
MODULAR = "dl.mechanisms.symmetric(dl.queries.modular_sum(n={}, modulus={}), flip={})"
DRAWN = (
    "dl.Mechanism.from_matrix(np.random.default_rng({}).dirichlet(np.full({}, 0.5), size=int(np.prod({}))), list({}))"
)


def drawn(seed: int, records: tuple[int, ...], outputs: int) -> str:
    """Return rows that are drawn at random, as an expression."""
    return DRAWN.format(seed, outputs, records, records)


AUDITS: dict[str, tuple[str, dict[str, float]]] = {
    "parity of 4, b = 0": (MODULAR.format(4, 2, 0.3), {"entropy": 0.0}),
    "parity of 4, b = 2.2": (MODULAR.format(4, 2, 0.3), {"entropy": 2.2}),
    "sum mod 3 of 4, b = 2": (MODULAR.format(4, 3, 0.2), {"entropy": 2.0}),
    "sum mod 3 of 4, b = 2.5": (MODULAR.format(4, 3, 0.2), {"entropy": 2.5}),
    "sum mod 4 of 5, b = 2.5": (MODULAR.format(5, 4, 0.2), {"entropy": 2.5}),
    "sum mod 4 of 5, b = 3": (MODULAR.format(5, 4, 0.2), {"entropy": 3.0}),
    "sum mod 3 of 1000, knowledge 0.5": (MODULAR.format(1000, 3, 0.2), {"knowledge": 0.5}),
    "parity of 10^6, knowledge 0.5": (MODULAR.format(10**6, 2, 0.3), {"knowledge": 0.5}),
    "count of 4, b = 2": (GEOMETRIC.format(4, 1), {"entropy": 2.0}),
    "count of 4, b = 2.5": (GEOMETRIC.format(4, 1), {"entropy": 2.5}),
    "count of 5, b = 2.08": (GEOMETRIC.format(5, 1), {"entropy": 2.08}),
    "count of 6, b = 3.5": (GEOMETRIC.format(6, 1), {"entropy": 3.5}),
    "count of 10, epsilon 0.3, b = 3.47": (GEOMETRIC.format(10, 0.3), {"entropy": 3.466}),
    "count of 10, epsilon 0.3, b = 6.24": (GEOMETRIC.format(10, 0.3), {"entropy": 6.238}),
    "count of 10, epsilon 1, b = 4.85": (GEOMETRIC.format(10, 1), {"entropy": 4.852}),
    "count of 50, epsilon 1, b = 10.4": (GEOMETRIC.format(50, 1), {"entropy": 10.397}),
    "count of 100, knowledge 0.01, epsilon 0.1": (GEOMETRIC.format(100, 0.1), {"knowledge": 0.01}),
    "random 3 x 3 values, 3 outputs, seed 0": (drawn(0, (3, 3), 3), {"entropy": 1.8}),
    "random 3 x 3 values, 3 outputs, seed 1": (drawn(1, (3, 3), 3), {"entropy": 1.8}),
    "random 2 x 2 x 2 values, 4 outputs": (drawn(3, (2, 2, 2), 4), {"entropy": 1.5}),
    "random 16 rows, 3 outputs": (drawn(4, (2, 2, 2, 2), 3), {"knowledge": 0.5}),
    "random 4 x 4 values, 4 outputs, b = 1.9": (drawn(1, (4, 4), 4), {"entropy": 1.9}),
}


def one(build: str, options: dict[str, float]) -> dict[str, Any]:
    """Audit once, with whichever version this process imports."""
    for part in LAZY:
        importlib.import_module(part)
    import numpy as np

    import dalenius as dl

    mechanism = eval(build, {"dl": dl, "np": np})  # noqa: S307 - our own list
    plain: dict[str, Any] = {"verify": False} if "verify" in inspect.signature(dl.audit).parameters else {}
    begin = time.process_time()
    audit = dl.audit(mechanism, **options, time_limit=LIMIT, **plain)
    return {"seconds": time.process_time() - begin, "lower": audit.lower, "upper": audit.upper, "nodes": audit.nodes}


def alone(source: Path, build: str, options: dict[str, float]) -> dict[str, Any]:
    """Audit once in a process that imports dalenius from there."""
    command = [sys.executable, __file__, "--one", build, json.dumps(options)]
    environment = os.environ | THREADS | {"PYTHONPATH": str(source)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def line(name: str, old: Path, turns: int) -> tuple[list[str], float]:
    """One row of the table, and new seconds over old ones."""
    build, options = AUDITS[name]
    then, now = [], []
    for _ in range(turns):
        then.append(alone(old, build, options))
        now.append(alone(NEW, build, options))
    a, b = (min(found, key=lambda answer: answer["seconds"]) for found in (then, now))
    ratio = b["seconds"] / a["seconds"]
    gaps = [f"{answer['upper'] - answer['lower']:.1e}" for answer in (a, b)]
    closed = a["upper"] - a["lower"] <= 1e-5  # noqa: PLR2004 - what an audit calls nearly
    seconds = [f"{answer['seconds']:.2f}" for answer in (a, b)]
    cells = [name, gaps[0], seconds[0], str(a["nodes"]), gaps[1], seconds[1], str(b["nodes"]), f"{ratio:.2f}"]
    return cells, ratio if closed else math.nan


def main() -> None:
    """Compare all, or some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", nargs="?", type=Path, help="src of the older version")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only audits whose name has these letters")
    parser.add_argument("--turns", type=int, default=TURNS, help="runs of each version")
    parser.add_argument("--one", nargs=2, metavar=("BUILD", "OPTIONS"), help="one audit as JSON")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(one(asked.one[0], json.loads(asked.one[1]))))
        return
    print("| audit | old gap | old s | old nodes | gap | s | nodes | s / old s |\n|" + "---|" * 8, flush=True)
    ratios = []
    for name in (name for name in AUDITS if asked.only in name):
        cells, ratio = line(name, asked.old.resolve(), asked.turns)
        print("| " + " | ".join(cells) + " |", flush=True)
        ratios.append(ratio)
    closed = [ratio for ratio in ratios if not math.isnan(ratio)]
    slower = sum(ratio > ALLOWED for ratio in closed)
    print(f"\n{len(closed)} closed before; geometric mean of ratios {mean(closed):.2f}, {slower} above {ALLOWED}.")


if __name__ == "__main__":
    main()
