"""Whatever is given, the answer is a result or an InputError, and nothing is written to standard error."""

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalenius as dl

COUNT = dl.queries.count(n=3)
MECHANISM = dl.mechanisms.geometric(COUNT, epsilon=1)
LARGE = dl.mechanisms.geometric(dl.queries.count(n=5000), epsilon=0.5)
HISTOGRAM = dl.mechanisms.geometric(dl.queries.histogram(n=2000, k=3), epsilon=1)
REAL = dl.mechanisms.laplace(COUNT, epsilon=1, output="real")
QUICK: dict[str, Any] = {"tolerance": 1e-1, "time_limit": 0.2}
JUNK: list[Any] = [
    None, "x", b"x", object(), [], {}, set(), np.array([0.1, 0.2]), np.array(0.3), np.array([]), np.eye(2), math.nan,
    -1, 10**400, 1j, [[1, 0, 1]], [None], ["a"], [[0.5, 0.5], [1]], [1e308] * 4, "a\0b", "\x1b[31m", [[]], 2**63, int,
    np.array(["a"]), np.datetime64("2020"), 5e-324,
]  # fmt: skip


def released(**given: Any) -> object:  # noqa: ANN401 - anything
    return dl.Ledger(COUNT, entropy=1.0, **QUICK).release(**given)


CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "audit": (
        dl.audit,
        {
            "mechanism": MECHANISM,
            "knowledge": 0.3,
            "unit": "nats",
            "secret": None,
            "reference": None,
            "method": "certified",
            "seed": 0,
            **QUICK,
        },
    ),
    "audit at an entropy": (dl.audit, {"mechanism": MECHANISM, "entropy": 0.3, **QUICK}),
    "many audits": (dl.audit_many, {"mechanisms": [MECHANISM], "knowledge": 0.3, "jobs": 1, **QUICK}),
    "curve": (dl.curve, {"mechanism": MECHANISM, "entropies": [0.5], **QUICK}),
    "design": (
        dl.design,
        {
            "query": dl.queries.count(n=2),
            "distortion": 0.3,
            "entropy": 0.5,
            "p0": None,
            "measure": "absolute",
            "outputs": None,
            "method": "certified",
            **QUICK,
        },
    ),
    "frontier": (dl.frontier, {"query": dl.queries.count(n=2), "entropy": 0.5, "points": 2, "named": False, **QUICK}),
    "calibrate": (
        dl.calibrate,
        {"family": "geometric", "query": COUNT, "leakage": 0.1, "entropy": 1.0, "accuracy": 0.1, "unit": "nats"},
    ),
    "load": (dl.load, {"path": "none.json", "verify": False}),
    "ledger": (dl.Ledger, {"data": [2, 2], "knowledge": 0.5, "unit": "nats", "tolerance": 0.1, "most_entries": 9}),
    "release": (released, {"mechanism": MECHANISM, "name": "a"}),
    "compose": (lambda first, times: dl.compose(first, times=times), {"first": MECHANISM, "times": 2}),
    "from_matrix": (dl.Mechanism.from_matrix, {"matrix": [[0.5, 0.5]] * 4, "records": [2, 2], "labels": ["a", "b"]}),
    "from_rows": (
        dl.Mechanism.from_rows,
        {"query": dl.queries.count(n=1), "rows": [[0.5, 0.5]] * 2, "labels": ["a", "b"]},
    ),
    "total": (dl.queries.total, {"n": 3, "values": [0, 1]}),
    "function": (dl.queries.function, {"records": [2, 2], "f": lambda x: x[0]}),
    "symmetric": (dl.mechanisms.symmetric, {"query": COUNT, "flip": 0.1}),
    "laplace": (dl.mechanisms.laplace, {"query": COUNT, "epsilon": 1, "sensitivity": 1, "output": "integer"}),
    "gaussian": (dl.mechanisms.gaussian, {"query": COUNT, "sigma": 1, "output": "integer"}),
    "constant": (dl.mechanisms.constant, {"query": COUNT}),
    "table": (MECHANISM.table, {"digits": 3}),
    **{
        f"sample of {m.n}, {type(m).__name__}": (m.sample, {"dataset": [0] * m.n, "size": 1, "rng": 0, "secure": False})
        for m in (MECHANISM, LARGE, HISTOGRAM, REAL)
    },
    "sample in earnest": (MECHANISM.sample, {"dataset": [0, 1, 0], "size": 1, "secure": True}),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_kind_of_wrong_argument_is_an_input_error(name: str) -> None:
    call, good = CALLS[name]
    for argument in good:
        for junk in JUNK:
            try:
                call(**{**good, argument: junk})
            except dl.InputError as error:
                assert str(error).isprintable()  # noqa: PT017 - most raise, some are good arguments
            except Exception as error:
                message = f"{name}({argument}={junk!r}): {type(error).__name__}: {error}"
                raise AssertionError(message) from error


@pytest.mark.parametrize("junk", ["x.png", 3, [], [None], np.array([1, 2])])
def test_pictures_are_drawn_on_axes_alone(junk: object) -> None:
    audit = dl.audit(MECHANISM, knowledge=0.3, **QUICK)
    for result in (audit, dl.curve(MECHANISM, [0.5], **QUICK), MECHANISM.profile([0.5], **QUICK)):
        with pytest.raises(dl.InputError, match="is not matplotlib axes"):
            result.plot(junk)


def test_draws_are_whole_numbers_of_one_dataset() -> None:
    for mechanism in (MECHANISM, LARGE, HISTOGRAM, REAL):
        with pytest.raises(dl.InputError, match="size = -1 is too small"):
            mechanism.sample([0] * mechanism.n, size=-1)
        with pytest.raises(dl.InputError, match="give one dataset"):
            mechanism.sample([[0] * mechanism.n])
    prior = dl.audit(MECHANISM, knowledge=0.3, **QUICK).prior
    with pytest.raises(dl.InputError, match="size = -1"):
        prior.sample(size=-1)
    with pytest.raises(dl.InputError, match="give one dataset"):
        prior.probability([[0, 0, 0]])


def test_a_frontier_has_a_limit_of_points() -> None:
    with pytest.raises(dl.InputError, match="above the limit"):
        dl.frontier(dl.queries.count(n=2), entropy=0.5, points=10**9)


@pytest.mark.parametrize(
    "code",
    [
        "dl.mechanisms.gaussian(dl.queries.count(n=3), sigma=5e-324)",
        "dl.audit(dl.mechanisms.geometric(dl.queries.count(3), epsilon=1), entropy=1, tolerance=1e-299, time_limit=.3)",
        "dl.audit(dl.mechanisms.laplace(dl.queries.count(n=3), epsilon=1e-300), knowledge=5e-324, time_limit=0.3)",
    ],
)
def test_no_warning_reaches_standard_error(code: str) -> None:
    command = [sys.executable, "-W", "always", "-c", f"import dalenius as dl; {code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own interpreter
    assert done.stderr == ""
