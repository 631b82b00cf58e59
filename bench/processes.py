"""Several threads and processes: one hard audit whose tree threads share, and a sweep of many small ones.

Elapsed time is what they save, so that this part, alone in this folder, goes by the wall clock. It is
worth reading only where nothing else runs: the load of the machine before it began stands in the table.
"""

import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import THREADS, Section

HEAD = ["what", "workers", "elapsed s", "busy s", "busy / elapsed", "ratio", "aim", "load before"]
TEXT = """Elapsed seconds of the same work with one worker and with two, and processor seconds of all of them
together. The tree is that of a random 64 x 8 channel, to a limit of nodes, and its workers are threads; both
certificates are the same. The workers of the sweep are processes. It is of small counts; each audit is kept on the
disk as it ends, and the machinery is what a point takes beyond its audit."""


def _busy() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def tree(jobs: int, nodes: int) -> tuple[float, float, float, Any]:
    """Elapsed and busy seconds of one audit, those of this process, and its certificate."""
    import dalenius as dl

    rows = np.random.default_rng(3).dirichlet(np.full(8, 0.7), 64)
    mechanism = dl.Mechanism.from_matrix(rows, records=[4, 4, 4])
    began, busy, own = time.monotonic(), _busy(), time.process_time()
    found = dl.audit(mechanism, knowledge=0.5, secret=0, nodes=nodes, time_limit=3600, jobs=jobs, verify=False)
    elapsed, spent, here = time.monotonic() - began, _busy() - busy, time.process_time() - own
    return elapsed, spent, here, (found.nodes, found.certificate.data)


def sweep(jobs: int, points: int) -> tuple[float, float, float]:
    """Elapsed and busy seconds of a study, and the seconds that its audits say they took."""
    import dalenius as dl

    text = f"""
[study]
name = "small"
[fix]
query = "count(n=3)"
mechanism = "geometric(epsilon=1)"
tolerance = 1e-3
[vary]
knowledge = {{ from = 0.01, to = 2.0, steps = {points} }}
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.toml"
        path.write_text(text)
        began, busy = time.monotonic(), _busy()
        study = dl.Study.load(path).run(jobs=jobs)
        elapsed, spent = time.monotonic() - began, _busy() - busy
        return elapsed, spent, sum(row["seconds"] for row in study.rows())


def section(*, quick: bool) -> Section:
    """One tree and one sweep, with one worker and with two."""
    os.environ.update(THREADS)
    load = f"{os.getloadavg()[0]:.2f}"
    nodes, points = (20_000, 200) if quick else (1_000_000, 2000)
    alone, two = (tree(jobs, nodes) for jobs in (1, 2))
    if alone[3] != two[3]:
        message = "the certificates of one and of two threads differ"
        raise AssertionError(message)
    rows = [
        [
            f"a tree of {nodes} nodes",
            str(jobs),
            f"{run[0]:.1f}",
            f"{run[1]:.1f}",
            f"{run[1] / run[0]:.2f}",
            f"{alone[0] / run[0]:.2f}",
            aim,
            load,
        ]
        for jobs, run, aim in ((1, alone, ""), (2, two, "1.8"))
    ]
    runs = [sweep(jobs, points) for jobs in (1, 2)]
    for jobs, (elapsed, busy, audits) in zip((1, 2), runs, strict=True):
        over = f"{points} small audits ({1000 * (busy - audits) / points:.1f} ms of machinery a point)"
        ratio, aim = f"{runs[0][0] / elapsed:.2f}", "1.7 busy" if jobs > 1 else ""
        rows.append([over, str(jobs), f"{elapsed:.1f}", f"{busy:.1f}", f"{busy / elapsed:.2f}", ratio, aim, load])
    return Section("Several processes", TEXT, [], HEAD, rows)
