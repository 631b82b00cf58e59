"""Leaves that share parameters: who owns them, and that certificates become shorter and stay true."""

import numpy as np
import pytest
from cases import named
from numpy.typing import NDArray

import dalenius as dl
from dalenius.bounds.trees.sharing import numbered, owners
from dalenius.settings import Trees, only

Ints = NDArray[np.int_]
BOUNDS = np.array([3.0, 9.0, 1.0, 8.0, 2.0, 7.0])


def near(leaves: Ints, owner: int) -> NDArray[np.bool_]:
    """Parameters are good for the next leaf, and for their own."""
    return np.asarray(np.abs(leaves - owner) <= 1)


def test_the_worst_leaf_hands_its_parameters_on() -> None:
    assert owners(BOUNDS, near, 6, 1e9).tolist() == [1, 1, 1, 3, 3, 5]
    assert numbered(np.array([1, 1, 1, 3, 3, 5])) == ([1, 3], {1: 0, 3: 1})


def test_leaves_of_another_chunk_are_not_asked() -> None:
    assert owners(BOUNDS, near, 2, 1e9).tolist() == [1, 1, 3, 3, 5, 5]


def test_without_work_every_leaf_keeps_its_own() -> None:
    assert owners(BOUNDS, near, 6, 5).tolist() == [0, 1, 2, 3, 4, 5]


def test_a_leaf_whose_own_parameters_leave_no_room_keeps_them() -> None:
    assert owners(BOUNDS, lambda leaves, _: np.zeros(len(leaves), dtype=bool), 6, 1e9).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("epsilon", "entropy"), [(1.0, 1.7), (0.7, 1.78)])
def test_a_certificate_is_shorter_and_proves_the_same(epsilon: float, entropy: float) -> None:
    """Single outputs, and groups of outputs, whose points have a tangent as well."""
    mechanism = named("count(n=3)", f"geometric(epsilon={epsilon})")

    def audited(trees: Trees) -> dl.Audit:
        settings = dl.Settings(portfolio=only("posteriors"), trees=trees)
        return dl.audit(mechanism, entropy=entropy, tolerance=1e-3, verify=False, settings=settings)

    long, short = audited(Trees(share_work=0.0, share_decimals=())), audited(Trees())
    assert (short.lower, short.upper, short.nodes) == (long.lower, long.upper, long.nodes)
    assert "points" not in long.certificate.data["proofs"][0]
    assert len(short.certificate.data["proofs"][0]["points"]) < short.nodes / 4
    assert len(short.certificate.text()) < 0.7 * len(long.certificate.text())
    assert dl.verify(long)
    assert dl.verify(short)
