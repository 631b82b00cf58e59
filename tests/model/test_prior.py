import math

import numpy as np
import pytest
from refusals import refuses

from dalenius.model.gallery import mechanisms, queries
from dalenius.model.prior import Prior
from dalenius.numerics.information import entropy


def test_a_universe_too_large_to_list_still_has_entropy_and_leakage() -> None:
    n, p = 100_000, 0.3
    mechanism = mechanisms.symmetric(queries.modular_sum(n=n, modulus=2), flip=p)
    prior = Prior(mechanism, 0, np.array([[0.5, 0.0], [0.0, 0.5]]))  # the other records sum to an even number
    assert prior.entropy() == pytest.approx((n - 1) * math.log(2), rel=1e-14)
    assert prior.leakage() == pytest.approx(math.log(2) - entropy([p, 1 - p]), abs=1e-14)
    refuses(r"about 10\^30103 datasets", prior.weights)


@pytest.mark.parametrize("masses", [[[1.0, 0.0]], [[0.5, 0.2], [0.1, 0.1]], [[1.5, 0.0], [0.0, -0.5]]])
def test_bad_masses_are_refused(masses: list[list[float]]) -> None:
    refuses("masses", Prior, mechanisms.symmetric(queries.modular_sum(n=3, modulus=2), flip=0.1), 0, np.array(masses))


def test_mass_where_no_dataset_is() -> None:
    refuses(
        "vanish where no dataset is", Prior, mechanisms.geometric(queries.count(n=4), epsilon=1), 0, np.eye(2, 5)[::-1]
    )
