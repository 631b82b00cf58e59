"""A limit in nodes: the same answer on every machine, however busy."""

import pytest
from cases import random_channel
from refusals import refuses

import dalenius as dl
from dalenius.settings import only
from dalenius.verifier.verify import verify_here

MECHANISM = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=2)


def test_a_limit_in_nodes_ends_the_search_and_says_so() -> None:
    first, second = (dl.audit(MECHANISM, knowledge=0.5, tolerance=1e-7, nodes=200, verify=False) for _ in range(2))
    assert first.stopped == "nodes"
    assert 200 <= first.nodes <= 1000
    assert first.certificate.data == second.certificate.data
    assert "the limit on nodes was reached" in first.summary()
    whole = dl.audit(MECHANISM, knowledge=0.5, tolerance=1e-5, verify=False)
    assert first.lower <= whole.upper
    assert whole.lower <= first.upper


CUT_OFF = {
    "count": (dl.mechanisms.geometric(dl.queries.count(n=12), epsilon=0.5), 0.5, (3, 40, 300)),
    "sum": (dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=3), flip=0.2), 0.5, (3, 40, 300)),
    "binary": (random_channel([2] * 6, 8, 1), 0.4, (3, 40, 300)),
    "three values": (random_channel([4, 3, 2], 3, 2), 0.4, (3, 40, 300)),
    # Leaves with tangents of their own, in a window.
    "window": (dl.mechanisms.laplace(dl.queries.count(n=500), epsilon=1), 0.5, (40,)),
}


@pytest.mark.parametrize(("mechanism", "knowledge", "limits"), CUT_OFF.values(), ids=CUT_OFF.keys())
def test_a_tree_that_is_cut_off_is_verified(mechanism: dl.Mechanism, knowledge: float, limits: tuple[int, ...]) -> None:
    settings = dl.Settings(portfolio=only("posteriors", "window"))
    for nodes in limits:
        found = dl.audit(mechanism, knowledge=knowledge, relative=1e-6, nodes=nodes, settings=settings, verify=False)
        assert found.nodes >= nodes
        verdict = verify_here(found.certificate)
        assert verdict, verdict


@pytest.mark.parametrize("nodes", [0, -1, 1.5, True])
def test_a_limit_is_a_whole_number(nodes: object) -> None:
    refuses("nodes", dl.audit, MECHANISM, knowledge=0.5, nodes=nodes)
