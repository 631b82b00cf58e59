"""A limit in nodes: the same answer on every machine, however busy."""

import pytest
from refusals import refuses

import dalenius as dl

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


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    assert dl.audit(MECHANISM, knowledge=0.5, tolerance=1e-3, nodes=10**6, verify=False).stopped == "gap"


@pytest.mark.parametrize("nodes", [0, -1, 1.5, True])
def test_a_limit_is_a_whole_number(nodes: object) -> None:
    refuses("nodes", dl.audit, MECHANISM, knowledge=0.5, nodes=nodes)
