"""Trees of posteriors on channels at random: the solver of a node is never lost, whatever channel and knowledge."""

import numpy as np
import pytest

import dalenius as dl
from dalenius.settings import without

# Outputs up to which a tree over so many records of so many values closes within the nodes below.
SHAPES = [([2, 2], 6), ([2, 2, 2], 5), ([2] * 5, 4), ([2, 3], 3), ([3, 2, 2], 2), ([2, 4], 2), ([3, 3], 3)]
# Choices would close what is known nearly whole, and simplices what is small.
TREES = dl.Settings(portfolio=without("choices", "simplices", "monotone", "rows"))


def closes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    records, most = SHAPES[seed % len(SHAPES)]
    outputs = int(rng.integers(2, most + 1))
    spread = float(rng.choice([0.2, 0.5, 1.0, 3.0]))
    rows = rng.dirichlet(np.full(outputs, spread), size=int(np.prod(records)))
    if seed % 5 == 0:
        # Some outputs never come of some rows.
        rows[rng.random(rows.shape) < 0.2] = 0.0
        rows[rows.sum(axis=1) == 0, 0] = 1.0
        rows /= rows.sum(axis=1, keepdims=True)
    mechanism = dl.Mechanism.from_matrix(rows, records)
    knowledge = float(rng.choice([0.01, 0.1, 0.5, 0.9])) * mechanism.log_universe
    audit = dl.audit(mechanism, knowledge=knowledge, relative=0.05, nodes=60_000, settings=TREES, verify=False)
    assert audit.stopped == "gap", (seed, records, outputs, spread, knowledge, audit)


@pytest.mark.parametrize("seed", range(28))
def test_a_random_channel_is_closed(seed: int) -> None:
    closes(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(28, 400))
def test_many_more_are_closed(seed: int) -> None:
    closes(seed)
