import numpy as np
import pytest

from dalenius.model.gallery import mechanisms, queries
from dalenius.reductions.quantise import quantise

CASES = {
    "laplace": mechanisms.laplace(queries.count(n=3), epsilon=1.3, output="real"),
    "steep laplace": mechanisms.laplace(queries.identity(k=3), epsilon=30, output="real"),
    "gaussian": mechanisms.gaussian(queries.count(n=3), sigma=0.8, output="real"),
    "narrow gaussian": mechanisms.gaussian(queries.modular_sum(n=4, modulus=3), sigma=0.3, output="real"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_finite_channel_is_proper_and_keeps_the_classes(name: str) -> None:
    mechanism = CASES[name]
    seen = quantise(mechanism, 1e-5)
    assert (seen.channel.given >= 0).all()
    assert (seen.channel.given[:, -1] > 0).all()  # the rest: nothing was cut off at zero
    assert seen.channel.statistic == mechanism.statistic
    assert np.allclose(seen.channel.given.sum(axis=1), 1, atol=1e-14)
    assert seen.channel.describe() == mechanism.describe()
