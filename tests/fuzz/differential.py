"""Random small problems: the bracket, its witness and its certificate beside brute force over all datasets."""

import math
import random
from typing import Any

import numpy as np

import dalenius as dl
from fuzz import scip
from fuzz.judge import SLACK, Posed, labels_of, rho_of

RECORDS = [[2], [3], [2, 2], [3, 2], [2, 3], [2, 2, 2], [3, 3], [3, 2, 2]]


def rows(rng: random.Random, many: int, outputs: int) -> list[list[float]]:
    """Rows with zeros, equal rows, rows of one output, and ordinary ones."""
    result: list[list[float]] = []
    for _ in range(many):
        if result and rng.random() < 0.2:
            result.append(rng.choice(result))
            continue
        row = [rng.random() ** rng.choice([1, 4]) for _ in range(outputs)]
        if rng.random() < 0.4:
            row = [p * (rng.random() < 0.5) for p in row]
        total = sum(row)
        result.append([p / total for p in row] if total else [1.0] + [0.0] * (outputs - 1))
    return result


def law(rng: random.Random, size: int) -> list[float]:
    weights = [rng.choice([1e-6, 1.0, 1.0, 3.0]) * rng.random() for _ in range(size)]
    total = sum(weights)
    return [p / total for p in weights] if total else [1 / size] * size


def question(rng: random.Random, records: list[int]) -> tuple[dict[str, Any], Posed]:
    """Options of an audit, and the same question for the judge, who knows nothing of the matrix yet."""
    datasets = math.prod(records)
    options: dict[str, Any] = {}
    secrets = tuple(labels_of(records, [i]) for i in range(len(records)))
    kind = rng.random()
    if kind < 0.2:
        group = sorted(rng.sample(range(len(records)), rng.randint(1, len(records))))
        options["secret"], secrets = group, (labels_of(records, group),)
    elif kind < 0.3:
        values = np.unique([rng.randrange(3) for _ in range(datasets)], return_inverse=True)[1]
        options["secret"], secrets = values, (values,)
    rho = rho_of(records, None)
    if rng.random() < 0.4:
        chosen = rng.random()
        if chosen < 0.5:
            options["reference"] = [law(rng, k) for k in records]
            rho = rho_of(records, {"marginals": options["reference"]})
        else:
            options["reference"] = law(rng, datasets)
            rho = rho_of(records, {"weights": options["reference"]})
    most = float(np.log(1 / rho[rho > 0].min()))
    knowledge = rng.choice([0.0, rng.random() * most, rng.random() * 0.1, most, math.inf])
    if "reference" not in options and rng.random() < 0.5:
        options["entropy"] = max(0.0, most - knowledge)
        knowledge = most - options["entropy"]
    else:
        options["knowledge"] = knowledge
    return options, Posed(np.empty((0, 0)), secrets, rho, knowledge)


def case(rng: random.Random) -> str:
    records, outputs = rng.choice(RECORDS), rng.randint(2, 4)
    matrix = rows(rng, math.prod(records), outputs)
    options, asked = question(rng, records)
    mechanism = dl.Mechanism.from_matrix(matrix, records=records)
    truth = Posed(mechanism.matrix(), asked.secrets, asked.rho, asked.knowledge)
    audit = dl.audit(mechanism, **options, tolerance=1e-3, time_limit=1.0)
    said = f"records={records}, rows={matrix}, {options}: [{audit.lower!r}, {audit.upper!r}]"
    verdict = dl.verify(audit.certificate, mechanism)
    assert verdict.verified, f"{said} not verified: {verdict.reason}"
    prior = audit.prior.weights()
    assert truth.divergence(prior) <= truth.knowledge + SLACK, f"{said}: the witness knows too much"
    leaked = max(truth.leakage(prior, labels) for labels in truth.secrets)
    assert leaked >= audit.lower - SLACK, f"{said}: the witness leaks {leaked!r}"
    best = truth.attained(rng)
    assert best <= audit.upper + SLACK, f"{said}: brute force attains {best!r}"
    if not scip.INSTALLED or not scip.suited(truth):
        return f"{audit.stopped}, {'SCIP not asked' if scip.INSTALLED else 'SCIP not installed'}"
    low, high = scip.bracket(truth)
    assert low <= audit.upper + scip.ACCURACY, f"{said}: SCIP attains {low!r}"
    assert high >= audit.lower - scip.ACCURACY, f"{said}: SCIP bounds it by {high!r}"
    return f"{audit.stopped}, SCIP {'agrees' if high - low < 10 * scip.ACCURACY else 'still open'}"
