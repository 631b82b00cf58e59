import math

import numpy as np
import pytest

import dalenius as dl
from dalenius.certificates.audits import listed


def test_outputs_that_never_occur_weigh_nothing_however_many() -> None:
    """Two rows of 50 outputs that share one, among 10,000: an erasure with probability 1/50."""
    rows = np.zeros((2, 10_000))
    rows[0, :50] = rows[1, 49:99] = 1 / 50
    audit = dl.audit(dl.Mechanism.from_matrix(rows, records=[2]), entropy=0.0)
    verdict = dl.verify(audit.certificate)
    assert verdict.verified, verdict.reason
    assert audit.upper == pytest.approx(0.98 * math.log(2), abs=1e-9)


@pytest.mark.parametrize("density", [0.0, 0.05, 0.5])
def test_masses_are_listed_as_they_are_however_many_are_zero(density: float) -> None:
    rng = np.random.default_rng(0)
    masses = rng.random((7, 30)) * (rng.random((7, 30)) < density)
    assert listed(masses) == masses.tolist()
