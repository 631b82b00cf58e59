import math

import numpy as np
import pytest
from damage import changed
from large_samples import both
from verdicts import holds, refused

import dalenius as dl
from dalenius.certificates.audits import listed


def test_outputs_that_never_occur_weigh_nothing_however_many() -> None:
    """Two rows of 50 outputs that share one, among 10,000: an erasure with probability 1/50."""
    rows = np.zeros((2, 10_000))
    rows[0, :50] = rows[1, 49:99] = 1 / 50
    audit = dl.audit(dl.Mechanism.from_matrix(rows, records=[2]), entropy=0.0)
    holds(audit.certificate)
    assert audit.upper == pytest.approx(0.98 * math.log(2), abs=1e-9)


@pytest.mark.parametrize("density", [0.0, 0.05, 0.5])
def test_masses_are_listed_as_they_are_however_many_are_zero(density: float) -> None:
    rng = np.random.default_rng(0)
    masses = rng.random((7, 30)) * (rng.random((7, 30)) < density)
    assert listed(masses) == masses.tolist()


def test_a_witness_on_blocks_has_as_few_digits_as_a_share_leaves_room_for() -> None:
    mechanism, _ = both("geometric(epsilon=0.5)", "count(n=300)")
    goals = {"relative": 0.1}, {"tolerance": 0.05, "relative": 0}
    rough, fine = (dl.audit(mechanism, knowledge=0.3, **goal, verify=False, time_limit=600) for goal in goals)
    few, many = (
        max(len(f"{x!r}".partition("e")[0].replace(".", "").strip("0")) for row in data["masses"] for x in row)
        for data in (audit.certificate.data["witness"] for audit in (rough, fine))
    )
    assert few <= 8 < many
    assert fine.lower * (1 - 1e-4) <= rough.lower <= fine.lower
    assert rough.upper - rough.lower <= 0.1 * rough.upper
    assert dl.verify(rough, mechanism).verified
    # As much as the prior with all its digits leaks is more than the one with few does.
    refused(changed(rough.certificate.data, {"lower": fine.lower * (1 + 1e-9)}))
