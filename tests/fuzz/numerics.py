"""Hard numbers: an audit returns without a warning, its bracket is sane and its certificate verifies."""

import math
import random
from typing import Any

import dalenius as dl

TINY = [0.0, 5e-324, 1e-308, 1e-300, 1e-200, 1e-100, 1e-17, 1e-16, 1e-12]
NEAR = [0.0, 5e-324, 1e-300, 1e-16, 1e-15, 1e-13, 1e-12, 1e-10, 1e-9]


def tiny_rows(rng: random.Random, many: int, outputs: int) -> list[list[float]]:
    """One large entry a row, the others next to nothing or ordinary."""
    result = []
    for _ in range(many):
        row = [rng.choice(TINY) if rng.random() < 0.7 else rng.random() / outputs for _ in range(outputs)]
        row[rng.randrange(outputs)] = 0.0
        largest = rng.randrange(outputs)
        row[largest] = 0.0
        row[largest] = max(0.0, 1.0 - math.fsum(row))
        result.append(row)
    return result


def equal_rows(rng: random.Random, many: int, outputs: int) -> list[list[float]]:
    """Rows equal up to about 1e-15."""
    row = [rng.random() + 0.01 for _ in range(outputs)]
    row = [p / sum(row) for p in row]
    return [[max(0.0, p + rng.choice([0, 1e-15, -1e-15, 1e-16, 1e-14])) for p in row] for _ in range(many)]


def near_identity(rng: random.Random, many: int, outputs: int) -> list[list[float]]:
    """Almost noiseless; outputs beyond the datasets never occur."""
    slip = rng.choice([0.0, 1e-300, 1e-15, 1e-8])
    rows = [[0.0] * outputs for _ in range(many)]
    for x, row in enumerate(rows):
        row[x % outputs] = 1.0 - slip
        row[(x + 1) % outputs] += slip
    return rows


def wide_rows(rng: random.Random, many: int, _: int) -> list[list[float]]:
    """Ten thousand outputs, a few of which ever occur."""
    rows = [[0.0] * 10_000 for _ in range(many)]
    for row in rows:
        places = rng.sample(range(10_000), 50)
        for y in places:
            row[y] = 1 / len(places)
    return rows


def budget(rng: random.Random, records: list[int]) -> dict[str, float]:
    """An entropy or knowledge next to a threshold: 0, log|X|, what the other records hold, no constraint."""
    most = math.log(math.prod(records))
    others = most - math.log(rng.choice(records))
    threshold = rng.choice([0.0, most, others, rng.random() * most])
    value = max(0.0, threshold + rng.choice([-1, 1]) * rng.choice(NEAR))
    if rng.random() < 0.5:
        return {"knowledge": value}
    return {"entropy": min(value, most * (1 + 1e-12))}


def reference(rng: random.Random, records: list[int]) -> dict[str, Any]:
    """Nothing, or laws with masses next to nothing."""
    if rng.random() < 0.7:
        return {}
    return {"reference": [tiny_rows(rng, 1, k)[0] if k > 1 else [1.0] for k in records]}


def case(rng: random.Random) -> str:
    records = rng.choice([[1], [2], [1, 2], [2, 1, 2], [2, 2], [3, 2], [2, 2, 2], [1, 1]])
    build = rng.choices([tiny_rows, equal_rows, near_identity, wide_rows], [6, 3, 3, 0.2])[0]
    rows = build(rng, math.prod(records), rng.choice([1, 2, 3, 5]))
    options: dict[str, Any] = {**budget(rng, records), **reference(rng, records)}
    if "reference" in options and "entropy" in options:
        options["knowledge"] = options.pop("entropy")
    shown = rows if len(rows[0]) < 100 else build.__name__
    said = f"records={records}, rows={shown}, {options}"
    try:
        audit = dl.audit(dl.Mechanism.from_matrix(rows, records=records), **options, tolerance=1e-4, time_limit=0.5)
    except dl.InputError:
        return "refused"
    except Exception as error:
        message = f"{said}: {type(error).__name__}: {error}"
        raise AssertionError(message) from error
    trivial = math.log(min(max(records), len(rows[0])))
    assert 0 <= audit.lower <= audit.upper <= trivial + 1e-12, f"{said}: [{audit.lower!r}, {audit.upper!r}]"
    verdict = dl.verify(audit.certificate, audit.mechanism)
    if verdict.reason.startswith("not checked:"):
        return "not checked"  # thousands of leaves with ten thousand outputs each take longer than a minute
    assert verdict.verified, f"{said}: {verdict.reason}"
    return audit.stopped
