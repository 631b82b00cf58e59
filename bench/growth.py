"""How audits grow with records, outputs, values of a record and rows, and designs with records."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import large
import unstructured
from measure import Section, alone, memory, timed

import dalenius as dl
from dalenius.model.query import Query
from dalenius.results.audit import Audit
from dalenius.results.design import Design

TEXT = """Processor seconds of one thread and the most memory of a process that does nothing else; "times" is the
growth of the seconds from the first closed line of a kind. What is "open" was ended by its limit (of the clock on the
wall): its seconds say nothing about growth, its gap does."""
HEAD = ["kind", "size", "bracket", "gap", "bound", "s", "times", "MiB"]
AUDIT, DESIGN = 1e-4, 1e-3  # tolerances
KNOWLEDGE = 0.5


def audit(kind: str, size: int, limit: float) -> dict[str, Any]:
    """One audit."""
    build: Callable[[], dl.Mechanism] = {
        "count(n), geometric(1), against n": lambda: large.count(size),
        "random, 2^6 rows, against outputs": lambda: _random([2] * 6, size),
        "random, (k, 4) values, 4 outputs, against k": lambda: _random([size, 4], 4),
        "random, 2^k rows, 4 outputs, against rows": lambda: _random([2] * round(math.log2(size)), 4),
    }[kind]
    mechanism = build()
    found, seconds = timed(
        lambda: dl.audit(mechanism, knowledge=KNOWLEDGE, tolerance=AUDIT, time_limit=limit, verify=False),
        4 * limit + 60,
    )
    return _answer(found, found.upper_by, seconds)


def design(kind: str, size: int, limit: float) -> dict[str, Any]:
    """One design."""
    tasks: dict[str, tuple[Callable[..., Query], float]] = {
        "design of parity, D = 0.1, against n": (partial(dl.queries.modular_sum, modulus=2), 0.1),
        "design of the sum mod 3, D = 0.3, against n": (partial(dl.queries.modular_sum, modulus=3), 0.3),
        "design of a count, D = 0.5, against n": (dl.queries.count, 0.5),
    }
    query, distortion = tasks[kind]
    found, seconds = timed(
        lambda: dl.design(
            query(n=size), distortion=distortion, knowledge=KNOWLEDGE, tolerance=DESIGN, time_limit=limit, verify=False
        ),
        4 * limit + 60,
    )
    return _answer(found, f"{found.rounds} rounds", seconds)


def _random(records: list[int], outputs: int) -> "dl.Mechanism":
    return dl.Mechanism.from_matrix(unstructured.channel(records, outputs, 0.5), records)


def _answer(found: Audit | Design, bound: str, seconds: float) -> dict[str, Any]:
    closed = found.closed
    bracket = {"lower": found.lower, "upper": found.upper, "bound": bound, "closed": closed}
    return bracket | {"seconds": seconds, "memory": memory()}


KINDS: tuple[tuple[Callable[..., dict[str, Any]], str, tuple[int, ...]], ...] = (
    (audit, "count(n), geometric(1), against n", (10, 100, 1000, 10**4, 10**5, 10**6)),
    (audit, "random, 2^6 rows, against outputs", (2, 8, 32, 128, 512)),
    (audit, "random, (k, 4) values, 4 outputs, against k", (2, 4, 8, 16, 32)),
    (audit, "random, 2^k rows, 4 outputs, against rows", (2**8, 2**12, 2**16, 2**20)),
    (design, "design of parity, D = 0.1, against n", (3, 6, 12, 24)),
    (design, "design of the sum mod 3, D = 0.3, against n", (3, 6, 12, 24)),
    (design, "design of a count, D = 0.5, against n", (3, 6, 12, 24)),
)


def section(*, quick: bool) -> Section:
    """Every kind, or two sizes of each."""
    limit = 5.0 if quick else 30.0
    rows = []
    for measured, kind, sizes in KINDS:
        first = math.nan
        for size in sizes[:2] if quick else sizes:
            found = alone(measured, kind=kind, size=size, limit=limit)
            if "failed" in found:
                rows.append([kind, str(size), found["failed"], *[""] * 5])
                continue
            closed = found["closed"]
            first = found["seconds"] if math.isnan(first) and closed else first
            low, high = found["lower"], found["upper"]
            bracket = [f"{low:.6f} to {high:.6f}", f"{high - low:.0e}", found["bound"]]
            cost = [
                f"{found['seconds']:.2f}",
                f"{found['seconds'] / first:.3g}" if closed else "open",
                str(found["memory"]),
            ]
            rows.append([kind, str(size), *bracket, *cost])
    return Section("Growth", f"{TEXT} Limit: {limit:g} s.", [], HEAD, rows)
