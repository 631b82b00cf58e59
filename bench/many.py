"""Many small audits: what each costs, by NumPy alone and with kernels in C, and what 2,000 of them take."""

import os
import time
from dataclasses import replace
from typing import Any

from measure import THREADS, Section

HEAD = [
    "what",
    "audits",
    "NumPy alone, ms each",
    "kernels, ms each",
    "ratio",
    "same nodes",
    "2,000 in s on 2 cores",
    "aim",
]
TEXT = """Processor milliseconds of `dl.audit` with settings that leave the kernels in C out, and of
`dl.audit_many(..., jobs=1)` with them, in turns in one process, least of two; certificates are written and not checked
(`verify=False`). The seconds for 2,000 on two cores are those of one call, for 2,000 and divided by two. Parities have
flip 0.05 to 0.45 at knowledge 0.5, where a tree closes them, and knowledge 0.05 to 2 at flip 0.3, where choices close
most; counts have epsilon 0.2 to 3 and knowledge 0.05 to 1.55 at tolerance 1e-4; random channels have rows of
Dirichlet(1/2) law, knowledge 0.5 and tolerance 1e-4."""


def cases(many: int) -> dict[str, tuple[list[Any], Any, dict[str, float], str]]:
    """Mechanisms, what is known, options, and the aim for 2,000."""
    import audits

    import dalenius as dl

    parity, count = dl.queries.modular_sum(n=4, modulus=2), dl.queries.count(n=4)
    shares = [k / many for k in range(many)]
    mixed = [(7 * k % many) / many for k in range(many)]
    rough = {"tolerance": 1e-4}
    return {
        "parities of 4, any flip": (
            [dl.mechanisms.symmetric(parity, flip=0.05 + 0.4 * t) for t in shares], 0.5, {}, "5 s",
        ),
        "parities of 4, any knowledge": (
            [dl.mechanisms.symmetric(parity, flip=0.3)] * many, [0.05 + 1.95 * t for t in shares], {}, "5 s",
        ),
        "counts of 4": (
            [dl.mechanisms.geometric(count, epsilon=0.2 + 2.8 * t) for t in shares],
            [0.05 + 1.5 * t for t in mixed], rough, "60 s",
        ),
        "random, 3 x 3 values, 3 outputs": ([audits.drawn(k, (3, 3), 3) for k in range(many // 8)], 0.5, rough, ""),
        "random, 2 x 2 x 2 values, 3 outputs": (
            [audits.drawn(k, (2, 2, 2), 3) for k in range(many // 8)], 0.5, rough, "",
        ),
    }  # fmt: skip


def section(*, quick: bool) -> Section:
    """Both ways, in turns."""
    os.environ.update(THREADS)
    import dalenius as dl
    from dalenius.settings import DEFAULT

    without = replace(DEFAULT, limits=replace(DEFAULT.limits, compiled_simplices=0, compiled_ascents=0))
    rows = []
    for what, (mechanisms, knowledge, options, aim) in cases(32 if quick else 64).items():
        many = len(mechanisms)
        known = knowledge if isinstance(knowledge, list) else [knowledge] * many
        least, nodes = [float("inf")] * 2, [0, 0]
        for _ in range(2):
            for k, settings in enumerate((without, DEFAULT)):
                began = time.process_time()
                found = dl.audit_many(mechanisms, knowledge=known, verify=False, jobs=1, settings=settings, **options)
                least[k] = min(least[k], (time.process_time() - began) / many)
                nodes[k] = sum(audit.nodes for audit in found)
        plain, compiled = least
        same = "yes" if nodes[0] == nodes[1] else f"{nodes[0]} and {nodes[1]}"
        times = [f"{1e3 * plain:.1f}", f"{1e3 * compiled:.1f}", f"{plain / compiled:.2f}"]
        rows.append([what, str(many), *times, same, f"{compiled * 2000 / 2:.0f}", aim])
    return Section("Many audits", TEXT, [], HEAD, rows)
