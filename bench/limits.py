"""Whether audits keep their time limits, the check of the certificate included.

python bench/limits.py                 limits of 1 and 5 s, every kind of channel
python bench/limits.py --limit 1       one limit
python bench/limits.py --wall          seconds of the clock; without it, of the processor, for a machine that is busy

An audit is to return within 1.2 times its limit plus a second. What builds a mechanism is not counted. Linear algebra
has one thread: a second one that waits counts as processor time, and on a busy machine doubles it.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded

import numpy as np

import dalenius as dl

Asked = tuple[str, Callable[[], Any], dict[str, Any]]


def random_rows(rows: int, outputs: int, records: list[int]) -> Any:
    """Rows of Dirichlet(1) law."""
    return dl.Mechanism.from_matrix(np.random.default_rng(1).dirichlet(np.ones(outputs), size=rows), records)


def noisy(kind: str, query: Any, **noise: Any) -> Callable[[], Any]:
    """A mechanism of the gallery, built later."""
    return lambda: getattr(dl.mechanisms, kind)(query, **noise)


Q = dl.queries
ASKED: list[Asked] = [
    ("matrix 64x8", lambda: random_rows(64, 8, [2] * 6), {"knowledge": 0.5}),
    ("matrix 1024x8", lambda: random_rows(1024, 8, [2] * 10), {"knowledge": 0.3}),
    ("matrix 2^16x4", lambda: random_rows(2**16, 4, [2] * 16), {"knowledge": 0.5}),
    ("matrix 2^16x64", lambda: random_rows(2**16, 64, [2] * 16), {"knowledge": 0.5}),
    ("count of 30", noisy("geometric", Q.count(n=30), epsilon=1), {"knowledge": 0.5}),
    ("count of 300", noisy("geometric", Q.count(n=300), epsilon=1), {"knowledge": 0.5}),
    ("count of 2800", noisy("geometric", Q.count(n=2800), epsilon=0.3), {"knowledge": 0.5}),
    ("count of 10^5", noisy("geometric", Q.count(n=10**5), epsilon=0.0045), {"knowledge": 0.5}),
    ("count of 10^6", noisy("geometric", Q.count(n=10**6), epsilon=1), {"knowledge": 0.5}),
    ("Gaussian count of 10^6", noisy("gaussian", Q.count(n=10**6), sigma=500), {"knowledge": 0.3}),
    ("ages of 150", noisy("laplace", Q.total(n=150, values=range(101)), epsilon=1), {"knowledge": 0.3}),
    ("histogram of 20, 6 values", noisy("geometric", Q.histogram(n=20, k=6), epsilon=1), {"knowledge": 0.05}),
    ("histogram of 1000, 10 values", noisy("geometric", Q.histogram(n=1000, k=10), epsilon=1), {"knowledge": 0.5}),
    ("histogram of 10^6, 3 values", noisy("geometric", Q.histogram(n=10**6, k=3), epsilon=1), {"knowledge": 0.5}),
    ("randomised response of 12", noisy("randomized_response", Q.count(n=12), epsilon=1), {"knowledge": 0.5}),
    ("randomised response of 2000", noisy("randomized_response", Q.count(n=2000), epsilon=1.5), {"knowledge": 0.3}),
    ("real Laplace, count of 25", noisy("laplace", Q.count(n=25), epsilon=0.5, output="real"), {"knowledge": 0.3}),
    ("couple, count of 500", noisy("geometric", Q.count(n=500), epsilon=0.5), {"knowledge": 0.3, "secret": [0, 1]}),
    (
        "whether two agree, count of 9",
        noisy("geometric", Q.count(n=9), epsilon=1),
        {"knowledge": 0.5, "secret": lambda x: x[0] == x[1]},
    ),
    ("independent, 2^12x8", lambda: random_rows(2**12, 8, [2] * 12), {"adversary": "independent"}),
    ("independent, count of 10^6", noisy("geometric", Q.count(n=10**6), epsilon=1), {"adversary": "independent"}),
    ("two counts of 10", lambda: dl.compose(*[_half()] * 2), {"knowledge": 0.4}),
]


def _half() -> Any:
    return dl.mechanisms.geometric(Q.count(n=10), epsilon=0.5)


def main() -> None:
    """Print seconds over limit, worst last, and how many are beyond."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, action="append")
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--only", action="append", help="words of names")
    asked = parser.parse_args()
    if not asked.wall:
        time.monotonic = time.process_time  # every deadline reads this clock
    clock = time.monotonic
    dl.audit(dl.mechanisms.geometric(dl.queries.count(n=3), epsilon=1), knowledge=0.1)  # imports what is deferred
    beyond = 0
    for name, build, arguments in ASKED:
        if asked.only and not any(word in name for word in asked.only):
            continue
        mechanism = build()
        for limit in asked.limit or (1.0, 5.0):
            began = clock()
            audit = dl.audit(mechanism, time_limit=limit, verify=True, **arguments)
            taken = clock() - began
            late = taken > 1.2 * limit + 1
            beyond += late
            print(
                f"{name:32} limit {limit:3g} took {taken:6.2f} = {taken / limit:5.2f} limits, verified "
                f"{audit.verified}, {audit.lower:.6f} to {audit.upper:.6f}{'  BEYOND' if late else ''}",
                flush=True,
            )
    print(f"{beyond} beyond 1.2 limits and a second")


if __name__ == "__main__":
    main()
