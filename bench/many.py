"""Many small audits in one call, beside as many calls of `dl.audit`."""

import os
import time
from typing import Any

from measure import THREADS, Section

HEAD = [
    "what",
    "audits",
    "one by one, s",
    "in one call, s",
    "ratio",
    "equal certificates",
    "2,000 in s on 2 cores",
    "aim",
]
TEXT = """Processor seconds of `dl.audit` called for each mechanism and of `dl.audit_many(..., jobs=1)`, both in one
process, without checks of certificates (`verify=False`), so that searches alone are compared. The seconds for 2,000 on
two cores are those in one call, for 2,000 and divided by two. Parities have flip 0.05 to 0.45 at knowledge 0.5, where a
tree closes them, and knowledge 0.05 to 2 at flip 0.3, where choices close most; counts have epsilon 0.2 to 3 and
knowledge 0.05 to 1.55 at tolerance 1e-4."""


def cases(many: int) -> dict[str, tuple[list[Any], Any, dict[str, float], str]]:
    """Mechanisms, what is known, options, and the aim for 2,000."""
    import dalenius as dl  # noqa: PLC0415 - threads are set first

    parity, count = dl.queries.modular_sum(n=4, modulus=2), dl.queries.count(n=4)
    shares = [k / many for k in range(many)]
    mixed = [(7 * k % many) / many for k in range(many)]
    return {
        "parities of 4, any flip": (
            [dl.mechanisms.symmetric(parity, flip=0.05 + 0.4 * t) for t in shares], 0.5, {}, "5 s",
        ),
        "parities of 4, any knowledge": (
            [dl.mechanisms.symmetric(parity, flip=0.3)] * many, [0.05 + 1.95 * t for t in shares], {}, "5 s",
        ),
        "counts of 4": (
            [dl.mechanisms.geometric(count, epsilon=0.2 + 2.8 * t) for t in shares],
            [0.05 + 1.5 * t for t in mixed],
            {"tolerance": 1e-4},
            "60 s",
        ),
    }  # fmt: skip


def section(*, quick: bool) -> Section:
    """Both ways, one after the other."""
    os.environ.update(THREADS)
    import dalenius as dl  # noqa: PLC0415 - threads are set first

    many, rows = 64 if quick else 256, []
    for what, (mechanisms, knowledge, options, aim) in cases(many).items():
        known = knowledge if isinstance(knowledge, list) else [knowledge] * many
        dl.audit(mechanisms[0], knowledge=known[0], verify=False, **options)
        began = time.process_time()
        pairs = zip(mechanisms, known, strict=True)
        single = [dl.audit(mechanism, knowledge=own, verify=False, **options) for mechanism, own in pairs]
        between = time.process_time()
        together = dl.audit_many(mechanisms, knowledge=known, verify=False, jobs=1, **options)
        ended = time.process_time()
        equal = sum(a.certificate.data == b.certificate.data for a, b in zip(single, together, strict=True))
        alone, joint = between - began, ended - between
        rows.append(
            [
                what,
                str(many),
                f"{alone:.1f}",
                f"{joint:.1f}",
                f"{alone / joint:.2f}",
                f"{equal} of {many}",
                f"{joint * 2000 / many / 2:.0f}",
                aim,
            ]
        )
    return Section("Many audits", TEXT, [], HEAD, rows)
