"""Capacity and min-entropy leakage beside the package qif, which has both: differences in bits, times as ratios.

python bench/peers.py       prints the table; `pip install qif` first (1.6 was used), else it says that it is missing
"""

import importlib.util
import math
import time
from collections.abc import Callable, Iterator

import numpy as np

import dalenius as dl
from dalenius.bounds.capacity import capacity

TITLE = "Capacity and min-entropy leakage beside qif (bits)"
HEAD = ["channel", "rows x outputs", "capacity", "qif's", "apart", "time / qif's"]
HEAD += ["min-entropy leakage", "qif's", "apart", "of one record", "qif's", "apart"]
MISSING = "qif is not installed: `pip install qif` to compare capacity and min-entropy leakage with it"
CLOSE = 1e-13  # qif's stopping rule; its default of 1e-7 leaves some 1e-8


FLOW_TITLE = "Leakage of one prior beside qif (bits; ratios; gains)"
FLOW_HEAD = ["channel", "I(X;Y)", "apart", "Bayes, ratio", "apart", "Bayes, difference", "apart"]
FLOW_HEAD += ["drawn gains, ratio", "apart", "difference", "apart", "after post-processing", "apart"]


def drawn(seed: int, records: tuple[int, ...], outputs: int) -> "dl.Mechanism":
    """A full matrix with rows drawn from Dirichlet(1/2)."""
    rows = np.random.default_rng(seed).dirichlet(np.full(outputs, 0.5), size=math.prod(records))
    return dl.Mechanism.from_matrix(rows, records)


CHANNELS: tuple[tuple[str, Callable[[], "dl.Mechanism"]], ...] = (
    ("parity of 4, flip 0.3", lambda: dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=0.3)),
    ("count of 4, geometric(1)", lambda: dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)),
    ("count of 10, geometric(0.3)", lambda: dl.mechanisms.geometric(dl.queries.count(n=10), epsilon=0.3)),
    ("pairs of 5, laplace(2)", lambda: dl.mechanisms.laplace(dl.queries.pairs(n=5), epsilon=2)),
    (
        "randomised response of 3",
        lambda: dl.mechanisms.randomized_response(dl.queries.count(n=3), epsilon=1),
    ),
    ("random 3 x 2 values, 4 outputs", lambda: drawn(12, (3, 2), 4)),
    ("random 2^8 rows, 8 outputs", lambda: drawn(3, (2,) * 8, 8)),
)


def rows() -> Iterator[list[str]]:
    """Every channel as a full matrix, one row per dataset, in both packages."""
    import qif

    for name, build in CHANNELS:
        mechanism = build()
        matrix = np.ascontiguousarray(mechanism.matrix())
        full = dl.Mechanism.from_matrix(matrix, mechanism.records)
        begin = time.perf_counter()
        ours = capacity(full)
        seconds = time.perf_counter() - begin
        begin = time.perf_counter()
        theirs, _ = qif.measure.shannon.add_capacity(matrix, CLOSE, CLOSE)
        ratio = seconds / (time.perf_counter() - begin)
        bits = (ours.lower + ours.upper) / 2 / math.log(2)
        profile = full.profile([full.log_universe], unit="bits", tolerance=0.1)
        whole = qif.measure.bayes_vuln.min_entropy_leakage(np.full(len(matrix), 1 / len(matrix)), matrix)
        record = max(_record_leakage(qif, matrix, full.records, i) for i in range(full.n))
        yield [
            name,
            f"{matrix.shape[0]} x {matrix.shape[1]}",
            *_compared(bits, theirs),
            f"{ratio:.1f}",
            *_compared(profile.min_entropy_leakage, whole),
            *_compared(profile.record_min_entropy_leakage, record),
        ]


def flow_rows() -> Iterator[list[str]]:
    """What a drawn prior leaks: mutual information, Bayes vulnerability, drawn gains, and after post-processing."""
    import qif

    rng = np.random.default_rng(7)
    for name, build in CHANNELS:
        mechanism = build()
        matrix = np.ascontiguousarray(mechanism.matrix())
        prior = rng.dirichlet(np.ones(len(matrix)))
        gains = np.ascontiguousarray(rng.random((40, len(matrix))) ** 6)
        post = rng.dirichlet(np.ones(3), size=matrix.shape[1])
        # About the whole dataset: it is one record.
        whole = dl.Mechanism.from_matrix(matrix, [len(matrix)])
        told = dl.leakage(whole, prior, unit="bits")
        bayes, given = qif.measure.bayes_vuln, qif.measure.g_vuln
        after = np.ascontiguousarray(matrix @ post)
        pairs = (
            ((told.lower + told.upper) / 2, qif.measure.shannon.add_leakage(prior, matrix)),
            (dl.g_leakage(whole, prior), bayes.mult_leakage(prior, matrix)),
            (dl.g_leakage(whole, prior, kind="additive"), bayes.add_leakage(prior, matrix)),
            (dl.g_leakage(whole, prior, gains), given.mult_leakage(gains, prior, matrix)),
            (dl.g_leakage(whole, prior, gains, "additive"), given.add_leakage(gains, prior, matrix)),
            (dl.g_leakage(whole.then(post), prior, gains), given.mult_leakage(gains, prior, after)),
        )
        yield [name, *(text for ours, theirs in pairs for text in (f"{ours:.10f}", f"{abs(ours - theirs):.1e}"))]


def _record_leakage(qif, matrix: np.ndarray, records: tuple[int, ...], i: int) -> float:  # noqa: ANN001 - a module
    """qif's min-entropy leakage of the channel from one record, the others uniform."""
    cube = matrix.reshape(*records, -1)
    others = tuple(j for j in range(len(records)) if j != i)
    given = np.ascontiguousarray(cube.mean(axis=others))
    return float(qif.measure.bayes_vuln.min_entropy_leakage(np.full(records[i], 1 / records[i]), given))


def _compared(ours: float, theirs: float) -> list[str]:
    return [f"{ours:.10f}", f"{theirs:.10f}", f"{abs(ours - theirs):.1e}"]


def installed() -> bool:
    """Whether qif can be imported."""
    return importlib.util.find_spec("qif") is not None


def main() -> None:
    """Print the table, or what is missing."""
    if not installed():
        print(MISSING)
        return
    for head, lines in ((HEAD, rows), (FLOW_HEAD, flow_rows)):
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        for row in lines():
            print("| " + " | ".join(row) + " |", flush=True)
        print()


if __name__ == "__main__":
    main()
