"""What is audited can be verified: the solver's side allows no more than the verifier rebuilds."""

import numpy as np
import pytest

import dalenius as dl
from dalenius.gallery import mechanisms
from dalenius.model import checks
from dalenius.settings import DEFAULT
from dalenius.verifier.limits import largest


def test_the_model_allows_no_more_than_the_verifier() -> None:
    assert largest().records >= checks.MOST_RECORDS
    assert largest().classes >= checks.MOST_CLASSES
    assert min(largest().shared_entries, largest().own_entries) >= checks.MOST_ENTRIES
    assert largest().responses >= mechanisms.MOST_RESPONSES
    assert largest().histogram_pairs >= DEFAULT.closed_forms.count_pairs
    assert largest().histogram_terms >= DEFAULT.closed_forms.count_terms


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
        build()  # type: ignore[operator]


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


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-12, 1e-15, 1e-300])
def test_a_tolerance_below_rounding_still_answers(tolerance: float) -> None:
    matrix = np.random.default_rng(0).dirichlet([0.5] * 3, size=8)
    mechanism = dl.Mechanism.from_matrix(matrix, [2, 2, 2])
    audit = dl.audit(mechanism, entropy=1, tolerance=tolerance, time_limit=2)
    assert 0 < audit.lower <= audit.upper < np.log(2)
    assert dl.verify(audit, mechanism=mechanism).verified
