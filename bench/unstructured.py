"""Channels without structure, up to 2^20 rows x 8 outputs: brackets, seconds, memory; passes against one product q @ v.

python bench/unstructured.py            prints both tables, each line in a process of its own
python bench/unstructured.py --quick    2^16 rows only

A step of the ascent and one of the bounds are a pass over the matrix each; their time is divided by that of one
matrix-vector product over the same matrix in the same process. Set OPENBLAS_NUM_THREADS=1 for one core.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import dalenius as dl
from dalenius.bounds.convex import LEAST_S, Dual
from dalenius.numerics.information import neg_entropies
from dalenius.reductions.cells import Cells, tilt
from dalenius.reductions.lump import lump
from dalenius.search.ascent import prior_step
from dalenius.search.deadline import Deadline

CASES = (  # records, outputs, concentration of the rows, knowledge, seconds
    ([2] * 18, 4, 1.0, 0.5, 60),
    ([2] * 20, 2, 1.0, 0.5, 60),
    ([2] * 20, 8, 1.0, 0.5, 60),
    ([2] * 20, 8, 1.0, 0.5, 10),
    ([2] * 20, 8, 0.5, 0.1, 60),
    ([2] * 20, 8, 0.5, 2.0, 60),
    ([4, 2, 8, 2, 4, 2, 2, 16, 4, 4, 2], 8, 1.0, 0.5, 60),
)
QUICK = (([2] * 16, 8, 1.0, 0.5, 20),)
SEED = 0


def channel(records: list[int], outputs: int, concentration: float) -> np.ndarray:
    """Rows drawn from a Dirichlet law."""
    rng = np.random.default_rng(SEED)
    return rng.dirichlet(np.full(outputs, concentration), size=math.prod(records))


def audits(records: list[int], outputs: int, concentration: float, knowledge: float, limit: float) -> dict[str, object]:
    """Audit with everything a user does; memory is the most that the process ever had."""
    mechanism = dl.Mechanism.from_matrix(channel(records, outputs, concentration), records)
    begin, busy = time.perf_counter(), time.process_time()
    audit = dl.audit(mechanism, knowledge=knowledge, time_limit=limit, verify=False)
    return {
        "rows x outputs": f"2^{round(math.log2(math.prod(records)))} x {outputs}",
        "records": len(records),
        "Dirichlet": concentration,
        "knowledge": knowledge,
        "limit": limit,
        "bracket": f"{audit.lower:.6f} to {audit.upper:.6f}",
        "bound": audit.upper_by,
        "stopped": audit.stopped,
        "seconds": f"{time.perf_counter() - begin:.0f}",
        "of a core": f"{time.process_time() - busy:.0f}",
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def passes(
    records: list[int], outputs: int, concentration: float, knowledge: float, _limit: float
) -> dict[str, object]:
    """Time a step of each kind, for the first record, whose rows lie together, and the last, whose rows alternate."""
    q = channel(records, outputs, concentration)
    mechanism = dl.Mechanism.from_matrix(q, records)
    v = np.random.default_rng(SEED).random(outputs)
    product = _least(lambda: q @ v)
    line: dict[str, object] = {
        "rows x outputs": f"2^{round(math.log2(len(q)))} x {outputs}",
        "q @ v, ms": f"{1e3 * product:.1f}",
    }
    for record in (0, len(records) - 1):
        cells = Cells(lump(mechanism, record)[0], knowledge)
        for starts in (1, 4):
            line[f"ascent, record {record}, {starts} starts"] = _ascent(cells, starts, product)
        line[f"bound, record {record}"] = _bound(cells, product, second=False)
        line[f"with covariances, record {record}"] = _bound(cells, product, second=True)
    return line


def _ascent(cells: Cells, starts: int, product: float) -> str:
    """One step of the ascent, per start."""
    v = np.random.default_rng(SEED).dirichlet(np.ones(cells.n_secrets), size=(starts, cells.n_outputs))
    log_v, clock = np.moveaxis(np.log(v), 2, 1), Deadline(math.inf)
    _, s = prior_step(cells, log_v, np.ones(starts), clock)
    return f"{_least(lambda: prior_step(cells, log_v, s, clock)) / starts / product:.1f}"


def _bound(cells: Cells, product: float, *, second: bool) -> str:
    """One step of Newton's method on the constrained capacity."""
    x, entropies = Dual.of_prior(cells, cells.rho, LEAST_S, 0.0), neg_entropies(cells.lumped.channel)
    return f"{_least(lambda: tilt(cells, x.lam, x.omega, entropies, second=second)) / product:.1f}"


def _least(work: Callable[[], object], times: int = 9) -> float:
    """The least time of several runs: the machine may be busy with something else."""
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def main() -> None:
    """Print the tables, or run one line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2^16 rows only")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps({"audits": audits, "passes": passes}[asked.one[0]](*json.loads(asked.one[1]))))
        return
    for table in ("passes", "audits"):
        for k, case in enumerate(QUICK if asked.quick else CASES if table == "audits" else CASES[:3]):
            command = [sys.executable, __file__, "--one", table, json.dumps(case)]
            line = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if k == 0:
                print("\n| " + " | ".join(line) + " |\n|" + "---|" * len(line))
            print("| " + " | ".join(map(str, line.values())) + " |", flush=True)


if __name__ == "__main__":
    main()
