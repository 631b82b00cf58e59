"""Audits of a fixed list of instances; a local search beside some, told which record is the worst one."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr, rel_entr

import dalenius as dl

TITLE = "Audits, their verification, and a local search beside some"
STARTS = 20
SHORT = 1e-3  # a start that misses more than this share of the leakage falls short
TINY = 1e-12


@dataclass(frozen=True)
class Instance:
    """What is audited; `slsqp` asks for the local search too (small universes only)."""

    name: str
    build: Callable[[], "dl.Mechanism"]
    entropy: float | None = None
    knowledge: float | None = None
    slsqp: bool = False
    slow: bool = False


def parity() -> "dl.Mechanism":
    """The parity of four bits, flipped with probability 0.3: the answer has a closed form."""
    return dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=0.3)


def modular(n: int, modulus: int) -> "dl.Mechanism":
    """A sum modulo more than two, where local search stops at poor maxima."""
    return dl.mechanisms.symmetric(dl.queries.modular_sum(n=n, modulus=modulus), flip=0.2)


def count(n: int) -> "dl.Mechanism":
    """A count with geometric noise."""
    return dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=1)


def drawn(seed: int, records: tuple[int, ...], outputs: int) -> "dl.Mechanism":
    """A full matrix whose rows are drawn at random, many of them lopsided (Dirichlet, 1/2)."""
    rows = np.random.default_rng(seed).dirichlet(np.full(outputs, 0.5), size=int(np.prod(records)))
    return dl.Mechanism.from_matrix(rows, records)


HEAD = ["instance", "bracket (nats)", "gap", "bound", "nodes", "audit s", "verify s", "verify / audit", "verified"]
HEAD += ["SLSQP starts short", "worst misses", f"best of {STARTS} misses", "SLSQP time / audit"]
INSTANCES = (
    *(Instance(f"parity of 4, b = {b}", parity, entropy=b, slsqp=b > 0) for b in (0.0, 2.2, 2.5, 2.7)),
    *(Instance(f"sum mod 3 of 4, b = {b}", lambda: modular(4, 3), entropy=b, slsqp=True) for b in (2.0, 2.5)),
    *(Instance(f"sum mod 4 of 5, b = {b}", lambda: modular(5, 4), entropy=b, slsqp=True) for b in (2.5, 3.0)),
    *(Instance(f"count of 4, b = {b}", lambda: count(4), entropy=b, slsqp=True) for b in (2.0, 2.5)),
    Instance("count of 6, b = 3.5", lambda: count(6), entropy=3.5, slsqp=True, slow=True),
    *(
        Instance(
            f"random 3 x 3 values, 3 outputs, seed {k}, b = 1.8",
            lambda k=k: drawn(k, (3, 3), 3),
            1.8,
            slsqp=True,
            slow=k > 0,
        )
        for k in range(3)
    ),
    Instance(
        "parity of 10^6, knowledge 0.5",
        lambda: dl.mechanisms.symmetric(dl.queries.modular_sum(n=10**6, modulus=2), flip=0.3),
        knowledge=0.5,
    ),
    Instance("count of 10, b = 5.5", lambda: count(10), 5.5, slow=True),
    Instance("random 4 x 4 values, 4 outputs, b = 1.9", lambda: drawn(1, (4, 4), 4), 1.9, slow=True),
    Instance("random 2^16 rows, 4 outputs, knowledge 0.5", lambda: drawn(0, (2,) * 16, 4), knowledge=0.5, slow=True),
)


def local_search(mechanism: "dl.Mechanism", record: int, b: float) -> tuple[np.ndarray, float]:
    """Maximise I(X_record;Y) over priors on all datasets by SLSQP with exact gradients; values, seconds."""
    q = mechanism.matrix()
    own = np.arange(len(q)) // int(np.prod(mechanism.records[record + 1 :])) % mechanism.records[record]
    indicator = np.eye(mechanism.records[record])[own].T

    def negative(p: np.ndarray) -> tuple[float, np.ndarray]:
        p = np.maximum(p, TINY)
        joint = indicator @ (p[:, None] * q)
        product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        gradient = (q * np.log(np.maximum(joint, TINY) / np.maximum(product, TINY))[own]).sum(axis=1) - 1
        return -float(rel_entr(joint, product).sum()), -gradient

    constraints = (
        {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
        {"type": "ineq", "fun": lambda p: entr(p).sum() - b, "jac": lambda p: -1 - np.log(np.maximum(p, TINY))},
    )
    rng, begin, values = np.random.default_rng(0), time.perf_counter(), []
    for _ in range(STARTS):
        found = minimize(
            negative,
            rng.dirichlet(np.ones(len(q))),
            jac=True,
            bounds=[(0, 1)] * len(q),
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        p = np.maximum(found.x, 0) / np.maximum(found.x, 0).sum()
        values.append(-negative(p)[0] if entr(p).sum() >= b - 1e-7 else 0.0)  # infeasible counts as nothing
    return np.array(values), time.perf_counter() - begin


def row(instance: Instance) -> list[str]:
    """Audit, verify, and search locally; one line of the table."""
    mechanism = instance.build()
    answer = dl.audit(mechanism, entropy=instance.entropy, knowledge=instance.knowledge, verify=False)
    verdict = dl.verify(answer)
    bracket = f"{answer.lower:.7f} to {answer.upper:.7f}"
    times = [f"{answer.seconds:.2f}", f"{verdict.seconds:.2f}", f"{verdict.seconds / answer.seconds:.2f}"]
    cells = [instance.name, bracket, f"{answer.gap:.1e}", answer.upper_by, str(answer.nodes), *times]
    cells.append("yes" if verdict else f"NO: {verdict.reason}")
    if not instance.slsqp or instance.entropy is None:
        return [*cells, *[""] * 4]
    values, seconds = local_search(mechanism, answer.record, instance.entropy)
    missed = np.maximum(0.0, 1 - values / answer.lower)
    short = f"{(missed > SHORT).sum()} of {STARTS}"
    return [*cells, short, f"{missed.max():.1%}", f"{missed.min():.1%}", f"{seconds / answer.seconds:.2f}"]


def rows(*, quick: bool) -> Iterator[list[str]]:
    """The list, without the slow ones when quick."""
    yield from (row(instance) for instance in INSTANCES if not (quick and instance.slow))
