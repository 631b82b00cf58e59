"""Noisy sums that are never written out, made of few records, so that the dense channel can stand beside them."""

from unittest.mock import patch

from dalenius.gallery.parse import parse_mechanism, parse_query
from dalenius.model import checks
from dalenius.model.additive import Additive
from dalenius.model.mechanism import Mechanism

PAIRS = [
    ("geometric(epsilon=0.7)", "count(n=12)"),
    ("laplace(epsilon=0.5)", "count(n=12)"),
    ("gaussian(sigma=1.5)", "count(n=12)"),
    ("geometric(epsilon=2)", "total(n=5, values=[-3, 0, 4])"),
    ("laplace(epsilon=3)", "pairs(n=7)"),
]


def both(mechanism: str, query: str) -> tuple[Additive, Mechanism]:
    """The same mechanism without its rows, and with them."""
    with patch.object(checks, "MOST_ENTRIES", 0):
        large = parse_mechanism(mechanism, parse_query(query))
    assert isinstance(large, Additive)
    return large, parse_mechanism(mechanism, parse_query(query))
