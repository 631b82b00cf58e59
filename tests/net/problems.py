"""Some sixty problems of every class, small enough that no time limit cuts them."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import dalenius as dl

LIMIT = 1e6  # seconds: nothing here is to end by the clock
FORMULAS = dl.Settings(portfolio=dl.settings.without("window"))
Q, M = dl.queries, dl.mechanisms
Problem = Callable[[], "dl.Audit | dl.Design"]


def matrix(records: list[int], outputs: int, seed: int, spread: float = 1.0) -> dl.Mechanism:
    """A random channel without structure."""
    rng = np.random.default_rng(seed)
    return dl.Mechanism.from_matrix(rng.dirichlet(np.full(outputs, spread), size=int(np.prod(records))), records)


def _audit(make: Callable[[], dl.Mechanism], **options: Any) -> dl.Audit:
    return dl.audit(make(), **{"time_limit": LIMIT, "tolerance": 1e-4, "relative": 0.0, "verify": False, **options})


def _audit_few(make: Callable[[], dl.Mechanism], **options: Any) -> dl.Audit:
    """Brackets that stay open: trees end by a limit on their nodes."""
    return _audit(make, nodes=200, **options)


def _design(make: Callable[[], dl.Query], **options: Any) -> dl.Design:
    return dl.design(make(), **{"time_limit": LIMIT, "tolerance": 1e-3, "verify": False, **options})


def _modular() -> Iterator[tuple[str, Problem]]:
    for n, modulus, b in ((3, 2, 1.2), (4, 2, 2.2), (4, 3, 2.0), (3, 3, 0.5)):
        yield (
            f"modular_sum n={n} modulus={modulus} b={b}",
            partial(_audit, partial(M.symmetric, Q.modular_sum(n, modulus), flip=0.3), entropy=b),
        )


def _counts() -> Iterator[tuple[str, Problem]]:
    for n, epsilon, knowledge in ((2, 1.0, 0.5), (4, 1.0, 0.8), (6, 0.5, 0.3), (12, 1.0, 0.2), (60, 1.0, 0.1)):
        yield (
            f"count n={n} geometric({epsilon}) K={knowledge}",
            partial(_audit, partial(M.geometric, Q.count(n), epsilon=epsilon), knowledge=knowledge),
        )
    for family, parameter in (
        ("laplace", {"epsilon": 1.0}),
        ("gaussian", {"sigma": 1.0}),
        ("exponential", {"epsilon": 1.0}),
    ):
        yield (
            f"count n=5 {family} K=0.4",
            partial(_audit, partial(getattr(M, family), Q.count(5), **parameter), knowledge=0.4),
        )
    yield "pairs n=3", partial(_audit, partial(M.geometric, Q.pairs(3), epsilon=1.0), knowledge=0.4)
    yield "total of 0, 1, 3", partial(_audit, partial(M.geometric, Q.total(2, [0, 1, 3]), epsilon=1.0), knowledge=0.4)
    yield "no limit", partial(_audit, partial(M.geometric, Q.count(5), epsilon=1.0), knowledge=50.0)
    yield "no knowledge", partial(_audit, partial(M.geometric, Q.count(5), epsilon=1.0), knowledge=0.0)
    yield (
        "little knowledge",
        partial(_audit, partial(M.geometric, Q.count(5), epsilon=1.0), knowledge=1e-7, tolerance=1e-9),
    )
    yield "fine tolerance", partial(_audit, partial(M.geometric, Q.count(4), epsilon=1.0), entropy=2.0, tolerance=1e-7)


def _matrices() -> Iterator[tuple[str, Problem]]:
    shapes = (
        ([2, 2], 2, 1, 0.3), ([2, 2], 4, 2, 0.5), ([3, 3], 3, 3, 0.4), ([3, 3], 2, 4, 1.0), ([2, 2, 2], 2, 5, 0.4),
        ([2, 2, 2], 3, 6, 0.2), ([2, 3, 2], 2, 7, 0.3), ([4, 2], 2, 8, 0.3), ([2] * 4, 2, 9, 0.2), ([5, 5], 2, 10, 0.2),
        ([6], 3, 11, 0.3), ([2, 2], 12, 12, 0.3),
    )  # fmt: skip
    for records, outputs, seed, knowledge in shapes:
        name = f"matrix {'x'.join(map(str, records))} outputs={outputs} K={knowledge}"
        yield name, partial(_audit, partial(matrix, records, outputs, seed), knowledge=knowledge, tolerance=1e-3)
    yield "nearly deterministic", partial(_audit, partial(matrix, [2, 2, 2], 3, 13, 0.1), knowledge=0.5, tolerance=1e-3)
    yield "very many cells", partial(_audit, partial(matrix, [2] * 15, 2, 5), knowledge=0.1, tolerance=1e-2, secret=0)
    yield (
        "zeros",
        partial(
            _audit, lambda: dl.Mechanism.from_matrix([[1, 0], [0.5, 0.5], [0.5, 0.5], [0, 1]], [2, 2]), knowledge=0.4
        ),
    )
    yield "responses", partial(_audit, partial(M.randomized_response, Q.count(2), epsilon=1.0), knowledge=0.5)
    yield "constant", partial(_audit, partial(M.constant, Q.count(3)), knowledge=0.5)
    yield "identity", partial(_audit, partial(M.symmetric, Q.identity(6), flip=0.4), knowledge=0.3)


def _secrets_and_references() -> Iterator[tuple[str, Problem]]:
    count = partial(M.geometric, Q.count(3), epsilon=1.0)
    yield "group", partial(_audit, count, knowledge=0.3, secret=[0, 1])
    yield "function", partial(_audit, count, knowledge=0.3, secret=lambda x: int(sum(x) > 1))
    yield "one record", partial(_audit, partial(matrix, [2, 3], 3, 21), knowledge=0.3, secret=1)
    yield "one law", partial(_audit, count, knowledge=0.3, reference=[0.8, 0.2])
    yield "marginals", partial(_audit, count, knowledge=0.3, reference=[[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]])
    weights = np.random.default_rng(22).dirichlet(np.ones(8)).tolist()
    yield "weights", partial(_audit, count, knowledge=0.2, reference=weights)
    rare = [[0.99, 0.01], [0.5, 0.5], [0.7, 0.3]]
    yield "a rare value", partial(_audit, count, knowledge=0.3, reference=rare)


def _large() -> Iterator[tuple[str, Problem]]:
    yield "many outputs", partial(_audit, partial(M.geometric, Q.count(420), epsilon=0.01), knowledge=0.1)
    yield (
        "many outputs, a law",
        partial(_audit, partial(M.geometric, Q.count(420), epsilon=0.1), knowledge=0.2, reference=[0.9, 0.1]),
    )
    for n, epsilon, knowledge in ((5000, 0.1, 0.3), (5000, 0.001, 0.1), (100_000, 0.01, 0.5)):
        yield (
            f"sum n={n} geometric({epsilon}) K={knowledge}",
            partial(_audit_few, partial(M.geometric, Q.count(n), epsilon=epsilon), knowledge=knowledge),
        )
    yield "sum gaussian", partial(_audit_few, partial(M.gaussian, Q.count(4000), sigma=40.0), knowledge=0.2)
    yield "sum laplace", partial(_audit_few, partial(M.laplace, Q.count(4000), epsilon=0.05), knowledge=0.2)
    yield (
        "sum of 0, 1, 2",
        partial(_audit_few, partial(M.geometric, Q.total(3000, [0, 1, 2]), epsilon=0.1), knowledge=0.2),
    )
    yield (
        "sum, a law",
        partial(_audit_few, partial(M.geometric, Q.count(5000), epsilon=0.05), knowledge=0.2, reference=[0.95, 0.05]),
    )
    yield (
        "sum, a group",
        partial(
            _audit, partial(M.geometric, Q.count(5000), epsilon=0.1), knowledge=0.2, secret=[0, 1], settings=FORMULAS
        ),
    )
    yield (
        "histogram",
        partial(_audit, partial(M.geometric, Q.histogram(2, 3), epsilon=1.0), knowledge=0.2, tolerance=1e-2),
    )
    yield "large histogram", partial(_audit, partial(M.geometric, Q.histogram(500, 3), epsilon=0.5), knowledge=0.2)
    yield (
        "real laplace",
        partial(_audit, partial(M.laplace, Q.count(2), epsilon=1.0, output="real"), knowledge=0.3, tolerance=1e-2),
    )
    yield (
        "real gaussian",
        partial(_audit, partial(M.gaussian, Q.count(2), sigma=1.0, output="real"), knowledge=0.3, tolerance=1e-2),
    )
    yield (
        "two releases",
        partial(
            _audit,
            lambda: dl.compose(M.geometric(Q.count(3), epsilon=0.5), M.geometric(Q.count(3), epsilon=1.0)),
            knowledge=0.3,
            tolerance=1e-2,
        ),
    )


def _designs() -> Iterator[tuple[str, Problem]]:
    yield "primal count", partial(_design, partial(Q.count, 2), distortion=0.2, entropy=0.8)
    yield "primal modular", partial(_design, partial(Q.modular_sum, 2, 2), distortion=0.1, entropy=0.5)
    yield "primal, no limit", partial(_design, partial(Q.count, 2), distortion=0.3, entropy=0.0)
    yield "dual count", partial(_design, partial(Q.count, 2), leakage=0.1, entropy=0.8)
    yield "dual modular", partial(_design, partial(Q.modular_sum, 3, 2), leakage=0.05, entropy=1.0)
    yield "rate distortion", partial(_design, partial(Q.identity, 3), distortion=0.2, knowledge=0.0)
    yield "design, a law", partial(_design, partial(Q.count, 2), distortion=0.2, knowledge=0.3, reference=[0.8, 0.2])


PROBLEMS: dict[str, Problem] = dict(
    [*_modular(), *_counts(), *_matrices(), *_secrets_and_references(), *_large(), *_designs()]
)
