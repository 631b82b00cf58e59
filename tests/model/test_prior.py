import math

import numpy as np
import pytest
from refusals import refuses

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.prior import Prior
from dalenius.model.reference import UNIFORM
from dalenius.numerics.information import entropy, mutual_information

MECHANISMS = [
    mechanisms.geometric(queries.count(n=4), epsilon=1),
    mechanisms.symmetric(queries.modular_sum(n=3, modulus=3), flip=0.2),
    mechanisms.exponential(queries.histogram(n=3, k=3), epsilon=2),
    mechanisms.laplace(queries.total(n=3, values=[0, 1, 5]), epsilon=2),
    Mechanism.from_matrix(np.random.default_rng(2).dirichlet(np.ones(3), size=12), [2, 3, 2]),
]


def _random(mechanism: Mechanism, record: int, seed: int) -> Prior:
    finite = np.isfinite(UNIFORM.log_joint(mechanism.statistic, record))
    masses = np.where(finite, np.random.default_rng(seed).exponential(size=finite.shape), 0.0)
    return Prior(mechanism, record, masses / masses.sum())


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("record", [0, 1, 2])
def test_everything_agrees_with_the_explicit_weights(mechanism: Mechanism, record: int) -> None:
    prior = _random(mechanism, record, seed=record)
    weights = prior.weights()
    x = np.array(np.unravel_index(np.arange(weights.size), mechanism.records)).T
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert prior.entropy() == pytest.approx(entropy(weights), abs=1e-12)
    joint = np.zeros((mechanism.records[record], mechanism.rows.shape[1]))
    np.add.at(joint, x[:, record], weights[:, None] * mechanism.matrix())
    np.testing.assert_allclose(prior.joint(), joint, atol=1e-14)
    assert prior.leakage() == pytest.approx(mutual_information(joint), abs=1e-12)
    np.testing.assert_allclose([prior.probability(row) for row in x], weights, rtol=1e-12)


def test_samples_follow_the_weights() -> None:
    prior = _random(MECHANISMS[1], 0, seed=7)
    drawn = prior.sample(2000, rng=1)
    index = np.ravel_multi_index(tuple(drawn.T), (2, 2, 2))
    np.testing.assert_allclose(np.bincount(index, minlength=8) / 2000, prior.weights(), atol=0.05)


def test_a_universe_too_large_to_list_still_has_entropy_leakage_and_samples() -> None:
    n, p = 100_000, 0.3
    mechanism = mechanisms.symmetric(queries.modular_sum(n=n, modulus=2), flip=p)
    prior = Prior(mechanism, 0, np.array([[0.5, 0.0], [0.0, 0.5]]))  # the other records sum to an even number
    assert prior.entropy() == pytest.approx((n - 1) * math.log(2), rel=1e-14)
    assert prior.leakage() == pytest.approx(math.log(2) - entropy([p, 1 - p]), abs=1e-14)
    assert (prior.sample(3, rng=0)[:, 1:].sum(axis=1) % 2 == 0).all()
    refuses(r"about 10\^30103 datasets", prior.weights)


@pytest.mark.parametrize("masses", [[[1.0, 0.0]], [[0.5, 0.2], [0.1, 0.1]], [[1.5, 0.0], [0.0, -0.5]]])
def test_bad_masses_are_refused(masses: list[list[float]]) -> None:
    refuses("masses", Prior, mechanisms.symmetric(queries.modular_sum(n=3, modulus=2), flip=0.1), 0, np.array(masses))


def test_mass_where_no_dataset_is() -> None:
    refuses("vanish where no dataset is", Prior, MECHANISMS[0], 0, np.eye(2, 5)[::-1])


def test_a_prior_that_is_right_by_how_it_was_made_is_the_same_prior() -> None:
    mechanism = Mechanism.from_matrix([[0.2, 0.8], [0.6, 0.4]], [2])
    masses = np.diag([0.3, 0.7])
    checked, certain = Prior(mechanism, 0, masses), Prior.certain(mechanism, 0, masses.copy())
    assert certain.leakage() == checked.leakage()
    assert certain.weights().tolist() == checked.weights().tolist()
    assert repr(certain) == repr(checked)
    assert not certain.masses.flags.writeable
