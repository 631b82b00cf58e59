"""Everything public can be sent to another process."""

import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest

import dalenius as dl

COUNT = dl.queries.count(n=3)
PARITY = dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=2), flip=0.1)
LARGE = dl.queries.count(n=5000)
QUICK: dict[str, Any] = {"tolerance": 1e-2, "time_limit": 3}
MECHANISMS = {
    "rows": PARITY,
    "geometric": dl.mechanisms.geometric(LARGE, epsilon=0.5),
    "laplace": dl.mechanisms.laplace(LARGE, epsilon=0.5),
    "gaussian": dl.mechanisms.gaussian(LARGE, sigma=3),
    "histogram": dl.mechanisms.geometric(dl.queries.histogram(n=2000, k=3), epsilon=1),
    "real": dl.mechanisms.laplace(COUNT, epsilon=1, output="real"),
    "function": dl.mechanisms.symmetric(dl.queries.function([2, 3], lambda x: "ab"[x[0] * x[1] % 2]), flip=0.1),
    "joint": dl.compose(PARITY, PARITY),
}


def ledger() -> dl.Ledger:
    book = dl.Ledger(COUNT, entropy=1.0, tolerance=1e-2)
    book.release(PARITY)
    return book


RESULTS: dict[str, Callable[[], Any]] = {
    "audit": lambda: dl.audit(PARITY, entropy=1.0, **QUICK),
    "audit of a secret": lambda: dl.audit(PARITY, knowledge=0.3, secret=lambda x: x[0] ^ x[1], **QUICK),
    "audit of very many": lambda: dl.audit(MECHANISMS["histogram"], knowledge=0.1, **QUICK),
    "audit of real outputs": lambda: dl.audit(MECHANISMS["real"], knowledge=0.3, **QUICK),
    "curve": lambda: dl.curve(PARITY, [0.0, 1.0], **QUICK),
    "design": lambda: dl.design(dl.queries.count(n=2), distortion=0.3, entropy=0.5, **QUICK),
    "design of a function": lambda: dl.design(
        dl.queries.function([2, 2], lambda x: x[0] + x[1]), distortion=0.3, entropy=0.5, **QUICK
    ),
    "frontier": lambda: dl.frontier(dl.queries.count(n=2), entropy=0.5, points=2, **QUICK),
    "calibration": lambda: dl.calibrate("geometric", COUNT, leakage=0.05, entropy=1.0, accuracy=0.1, tolerance=1e-3),
    "profile": lambda: PARITY.profile([0.5], **QUICK),
    "ledger": ledger,
    "account": lambda: ledger().account(),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_pickles(name: str) -> None:
    result = RESULTS[name]()
    again = pickle.loads(pickle.dumps(result))
    assert repr(again) == repr(result)
    # It has yet to be checked in the process that it was sent to.
    if hasattr(result, "summary"):
        assert again.summary() == re.sub(
            r"\bverified\b", "certificate attached, not yet checked by verify()", result.summary()
        )
    if hasattr(result, "to_dict"):
        assert unchecked(again.to_dict()) == unchecked(result.to_dict())


def unchecked(data: Any) -> Any:
    """The same without what the verifier has said."""
    if isinstance(data, dict):
        return {key: unchecked(value) for key, value in data.items() if key != "verified"}
    return [unchecked(value) for value in data] if isinstance(data, list) else data
