"""What is audited can be verified: no more is allowed than the verifier rebuilds, and time limits hold."""

import time
from collections.abc import Callable

import numpy as np
import pytest

import dalenius as dl
from dalenius.model import checks
from dalenius.model.gallery import mechanisms
from dalenius.verifier.kernel.limits import largest


def test_the_model_allows_no_more_than_the_verifier() -> None:
    assert largest().records >= checks.MOST_RECORDS
    assert largest().numbers >= max(checks.MOST_CLASSES, checks.MOST_ENTRIES, mechanisms.MOST_RESPONSES**2)


@pytest.mark.parametrize(
    "build",
    [
        lambda: dl.queries.modular_sum(n=10**9, modulus=2),
        lambda: dl.queries.modular_sum(n=4, modulus=10**400),
        lambda: dl.queries.histogram(n=10**6, k=10**6),
        lambda: dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=10**400),
    ],
)
def test_what_is_too_large_is_refused_at_once(build: object) -> None:
    with pytest.raises(dl.InputError):
        build()


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 2000])
def test_the_lower_bound_outlives_the_underflow_of_rare_cells(n: int) -> None:
    # 2^-2000 is no float; the leakage of a smooth binary answer hardly depends on n all the same.
    t = (np.arange(n + 1) - n / 2) / np.sqrt(n)
    yes = 1 / (1 + np.exp(-t))
    mechanism = dl.Mechanism.from_rows(dl.queries.count(n), np.stack([yes, 1 - yes], axis=1))
    audit = dl.audit(mechanism, knowledge=0.5, tolerance=1e-3)
    assert audit.gap <= 1e-3
    assert audit.lower > 0.02
    assert dl.verify(audit).verified


@pytest.mark.parametrize(
    ("mechanism", "known"),
    [
        # What these leak at least, with all the time they want: .1114 and .5036.
        (dl.mechanisms.geometric(dl.queries.count(n=2 * 10**4), epsilon=0.01), 0.11),
        (dl.mechanisms.geometric(dl.queries.histogram(n=10**4, k=3), epsilon=1), 0.5),
    ],
    ids=["count", "histogram"],
)
def test_a_witness_is_good_although_the_time_is_over_at_once(mechanism: dl.Mechanism, known: float) -> None:
    audit = dl.audit(mechanism, knowledge=0.5, time_limit=1e-9, verify=False)
    assert audit.stopped == "time_limit"
    assert audit.lower > known


@pytest.mark.parametrize(
    "build",
    [
        lambda: random_matrix(2**13, 16),
        lambda: dl.mechanisms.geometric(dl.queries.count(n=60), epsilon=0.3),
        lambda: dl.mechanisms.laplace(dl.queries.total(n=20, values=range(31)), epsilon=1),
    ],
    ids=["many cells", "tree", "sum"],
)
def test_an_audit_and_its_check_keep_the_time_limit(
    build: Callable[[], dl.Mechanism], monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism, limit = build(), 0.2
    dl.audit(build(), knowledge=0.3, time_limit=limit, verify=True)  # loads what is imported late
    # Every deadline reads this clock; one of processor time does not mind what else the machine does.
    monkeypatch.setattr(time, "monotonic", time.process_time)
    began = time.process_time()
    audit = dl.audit(mechanism, knowledge=0.3, time_limit=limit, verify=True)
    assert time.process_time() - began < 1.2 * limit + 1
    assert 0 < audit.lower < audit.upper


@pytest.mark.parametrize("epsilon", [1e-17, 1e-300])
@pytest.mark.parametrize("n", [3, 12])
def test_rows_that_are_equal_in_floats_alone_are_not_taken_as_one(n: int, epsilon: float) -> None:
    """At once, where no bound but those of the reference had its turn."""
    mechanism = dl.mechanisms.laplace(dl.queries.count(n=n), epsilon=epsilon)
    for limit in (1e-6, 5.0):
        assert dl.audit(mechanism, knowledge=0.1, time_limit=limit, verify=True).verified


def random_matrix(rows: int, outputs: int) -> dl.Mechanism:
    """Rows of Dirichlet(1) law."""
    drawn = np.random.default_rng(1).dirichlet(np.ones(outputs), size=rows)
    return dl.Mechanism.from_matrix(drawn, [2] * (rows.bit_length() - 1))
