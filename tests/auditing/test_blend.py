"""The blend of what the sum tells with the entropy of the secret: above I for every prior that is allowed."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dalenius as dl
from dalenius.bounds.closed_forms import blend, sibson
from dalenius.model.reference import UNIFORM
from dalenius.numerics.information import mutual_information
from dalenius.settings import without
from dalenius.verifier.verify import verify_here

SKEWED = [0.99, 0.01]


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.sampled_from([0.01, 0.1, 0.5, 2.0]))
def test_no_allowed_prior_tells_more(seed: int, values: int, knowledge: float) -> None:
    rng = np.random.default_rng(seed)
    rho = rng.dirichlet(np.full(values * 6, 0.5)).reshape(values, 6) + 1e-12
    rho /= rho.sum()
    bound = blend(np.log(rho), knowledge).upper
    for _ in range(20):
        tilted = rho * np.exp(rng.normal(scale=rng.choice([0.1, 1.0, 5.0]), size=rho.shape))
        prior: NDArray[np.float64] = tilted / tilted.sum()
        for share in (1.0, 0.5, 0.1, 0.01):
            mixed = share * prior + (1 - share) * rho
            if (mixed * np.log(mixed / rho)).sum() <= knowledge:
                assert mutual_information(mixed) <= bound + 1e-10


def test_it_is_the_better_one_where_the_reference_is_skewed() -> None:
    query = dl.queries.count(n=4000)
    uniform = UNIFORM.log_joint(query.statistic, 0)
    assert sibson(uniform, 0.3).upper < blend(uniform, 0.3).upper
    formulas = dl.Settings(portfolio=without("window"))
    audit = dl.audit(dl.mechanisms.geometric(query, epsilon=1), knowledge=1.0, reference=SKEWED, settings=formulas)
    assert audit.bounds == "blend"
    assert audit.upper < 0.6 < np.log(2)
    assert dl.verify(audit)


@pytest.fixture(scope="module")
def certificate() -> str:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=4000), epsilon=1)
    formulas = dl.Settings(portfolio=without("window"))
    return dl.audit(mechanism, knowledge=1.0, reference=SKEWED, secret=[0, 1], settings=formulas).certificate.text()


def test_other_parameters_prove_less(certificate: str) -> None:
    data = json.loads(certificate)
    assert verify_here(data)
    for key in ("order", "share"):
        for factor in (0.9, 1.1):
            changed = json.loads(certificate)
            changed["proofs"][0][key] = min(changed["proofs"][0][key] * factor, 1.0 if key == "share" else 99.0)
            if changed != data:
                assert not verify_here(changed)
