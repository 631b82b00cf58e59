"""What several releases tell about one person, by what each tells beside all others; with its certificate.

The statement and its proof are in docs/mathematics.md 10.1.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dalenius.api.audits import solve
from dalenius.certificates.audits import VERSION
from dalenius.certificates.certificate import Certificate
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import Adversary
from dalenius.model.reference import UNIFORM
from dalenius.numerics.rounding import float_above, float_below
from dalenius.results.audit import Audit
from dalenius.results.options import Options

Run = tuple[Audit, tuple[str, ...]]  # the audit of a release alone, and the columns that it looks at


def alone(mechanism: Mechanism, options: Options) -> Audit:
    """Return the audit of one release against independent records; of one record, against any prior."""
    if len(mechanism.records) == 1:
        anybody = Adversary.from_user(mechanism.records, entropy=0.0)
    else:
        anybody = Adversary.independent(mechanism.records, None, "nats", UNIFORM)
    return solve(options.audit(mechanism, anybody), options)


def bracket(runs: Sequence[Run], sizes: Mapping[str, int], knowledge: float | None) -> tuple[float, float]:
    """Guarantee: lower <= max I(X_i; all outputs) <= upper in nats, over priors with independent records.

    With knowledge, over priors that know so much beyond independence; lower is 0 then. Sums are exact, and rounded out.
    """
    lows = [Fraction(audit.certificate.lower) for audit, _ in runs]
    high = sum((Fraction(audit.certificate.upper) for audit, _ in runs), Fraction(knowledge or 0.0))
    names = [name for _, columns in runs for name in columns]
    # What releases tell adds up where they look at different columns of one and the same person.
    apart = len(set(names)) == len(names) and len({audit.record for audit, _ in runs}) == 1
    low = (sum(lows, Fraction(0)) if apart else max(lows)) if knowledge is None else Fraction(0)
    trivial = sum(math.log(k) for k in sizes.values()) * (1 + 1e-14)
    upper = min(float_above(high), trivial)
    return min(float_below(low), upper), upper


def certificate(runs: Sequence[Run], sizes: Mapping[str, int], people: int, knowledge: float | None) -> Certificate:
    """Return the certificate of `bracket`: the audit of every release, once, with the columns of all its runs."""
    lower, upper = bracket(runs, sizes, knowledge)
    grouped: dict[int, tuple[Audit, list[list[str]]]] = {}
    for audit, columns in runs:
        grouped.setdefault(id(audit), (audit, []))[1].append(list(columns))
    data: dict[str, Any] = {
        "format": "dalenius/joint-certificate",
        "version": VERSION,
        "adversary": {"independent": True} if knowledge is None else {"knowledge": knowledge},
        "people": people,
        "columns": dict(sizes),
        "lower": lower,
        "upper": upper,
        "releases": [{"columns": of, "audit": audit.certificate.data} for audit, of in grouped.values()],
    }
    return Certificate.written(data)
