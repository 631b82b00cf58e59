"""Steps in any order, and kinds after them: no prior of the question that was asked leaks more than is bounded."""

from itertools import permutations, product

import numpy as np
import pytest
from flint import arb

from dalenius.numerics.information import mutual_information
from dalenius.verifier.forms.reference import read
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.forms.written import Asked, rebuild
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.kernel.cells import Knowledge, Question
from dalenius.verifier.kernel.order import orders
from dalenius.verifier.kernel.proofs import KINDS
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.proofs import STEPS

Floats = np.ndarray
Rng = np.random.Generator
ROWS, OUTPUTS = 6, 3


def channel(rng: Rng) -> Floats:
    """Six rows; in half of the cases in the order of a noisy answer, but for a little."""
    if rng.random() < 0.5:
        return rng.dirichlet(np.full(OUTPUTS, rng.choice([0.3, 1.0])), size=ROWS)
    places = np.sort(rng.random(ROWS)) * (OUTPUTS - 1)
    rows = np.exp(-rng.uniform(0.2, 2) * (places[:, None] - np.arange(OUTPUTS)) ** 2)
    rows *= np.exp(rng.choice([0.0, 1e-9, 1e-3]) * rng.normal(size=rows.shape))
    return rows / rows.sum(axis=1, keepdims=True)


def a_step(rng: Rng, question: Question) -> tuple[str, dict[str, object]]:
    """A step with numbers that fit the question as it is."""
    rows, outputs = len(question.channel.rows), question.channel.outputs
    name = str(rng.choice(list(STEPS)))
    if name == "grid":
        return name, {"k": int(rng.integers(1, 9))}
    if name == "window":
        first, last = sorted(rng.integers(rows, size=2).tolist())
        low, high = sorted(rng.integers(outputs, size=2).tolist())
        return name, {"rows": [first, last], "outputs": [low, high]}
    order = list(range(rows)) if rng.random() < 0.7 else rng.permutation(rows).tolist()
    ranks = [list(range(outputs)), [0] * outputs, rng.permutation(outputs).tolist()][int(rng.integers(3))]
    return name, {"rows": order, "ranks": [ranks]}


def a_proof(rng: Rng, kind: str, question: Question) -> dict[str, object]:
    """Any numbers will do."""
    outputs, values = question.channel.outputs, len(question.cells)
    law, theta = rng.normal(size=outputs).tolist(), float(rng.choice([0.0, 0.5, 1.0]))
    tilts = rng.normal(size=(values, outputs)).tolist()
    return {
        "convex": {"s": theta + 10.0 ** rng.uniform(-2, 1), "eta": 1.0, "theta": theta, "rho": law, "lam": tilts},
        "choices": {"tree": [{"rho": law}]},
        "monotone": {"s": 10.0 ** rng.uniform(-2, 1), "rho": law, "rounds": int(rng.integers(8))},
    }.get(kind, {})


def leaked(rows: Floats, rho: Floats, knowledge: float, rng: Rng) -> float:
    """The most that some priors within the knowledge leak of the first record, two values with three rows each."""
    best = 0.0
    for _ in range(60):
        prior = rng.dirichlet(np.full(ROWS, rng.choice([0.05, 0.3, 1.0])))
        for share in (1.0, 0.7, 0.4, 0.2, 0.1, 0.05):
            mixed = share * prior + (1 - share) * rho
            held = mixed > 0
            if float((mixed[held] * np.log(mixed[held] / rho[held])).sum()) <= knowledge:
                joint = (mixed[:, None] * rows).reshape(2, 3, OUTPUTS).sum(axis=1)
                best = max(best, float(mutual_information(joint)))
                break
    return best


@pytest.mark.parametrize("seed", range(60))
def test_bounds_after_steps_are_above_every_prior(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, rho = channel(rng), rng.dirichlet(np.full(ROWS, 2.0))
    knowledge = float(rng.choice([0.01, 0.1, 0.5]))
    reference = {"weights": (rho / rho.sum()).tolist()}
    described = rebuild({"records": [2, 3], "classes": None, "rows": rows.tolist()})
    truth = leaked(rows, rho, knowledge, rng)
    followed = 0
    with precision():
        known = Knowledge(arb(knowledge), none=False, free=False)
        question = Asked(described, Secret((0,)), known, read(reference, described.statistic)).question
        for _ in range(int(rng.integers(4))):
            name, stated = a_step(rng, question)
            try:
                question = STEPS[name](question, stated)
                followed += 1
            except Refused:
                continue
        for kind in ("trivial", "choices", "convex", "monotone"):
            try:
                bounds = [b for _, b in KINDS[kind](question, a_proof(rng, kind, question), "it")]
            except Refused:
                assert kind == "monotone"  # of rows in no order
                continue
            assert float((max(bounds, key=float) + question.lost).upper()) >= truth - 1e-9, (kind, followed)


def test_orders_of_ranks_are_counted_without_large_numbers() -> None:
    for ranks in product(range(3), repeat=4):
        assert orders(ranks) == len(set(permutations(ranks)))
    assert orders((0,) * 10**6) == 1  # at once: its factorial takes seconds
