"""Knowledge in words: what a belief costs in nats, its divergence from the uniform prior, for `knowledge=`.

An adversary with knowledge K may hold every belief that costs at most K, and worse ones of the same price: an audit
finds the worst. Beliefs about unrelated people add up.
"""

import math
from typing import NoReturn

from dalenius.errors import nearest
from dalenius.model import checks


def rumour(odds: float = 4.0, values: int = 2) -> float:
    """Return the nats that a rumour of odds r to 1 costs, about one of several equally likely values.

    It gives one value the chance p = r/(1+r) and leaves the others equally likely. With k values its divergence from
    the uniform law is sum p log(p k):

        D = p log(k p) + (1-p) log( k (1-p) / (k-1) ),      log 2 - h(p) for a bit.

    The value may be fixed, or tied to the answers of the others, as in 'she goes with the majority, 4 to 1'.

    Args:
        odds: r, at least 1; 1 to 1 among two values says nothing.
        values: k, how many values there are.

    Raises:
        InputError: odds below 1, or fewer than two values.

    Example:
        >>> round(dl.knowledge.rumour(odds=4), 4)
        0.1927
    """
    r, k = checks.real("odds", odds, 1.0, math.inf), _size("values", values, 2)
    p, rest = r / (1 + r), 1 / (1 + r)
    return max(0.0, p * math.log(k * p) + rest * math.log(k * rest / (k - 1)))


def sure_of(records: int, values: int = 2) -> float:
    """Return the nats that certainty about some records costs: m log k for m records of k values.

    A prior that is sure of a value which the uniform one gives chance 1/k has divergence log(1/(1/k)) = log k, and
    certainties about several records add up.

    Args:
        records: m, how many records it is sure of.
        values: k, how many values each has.

    Raises:
        InputError: a number is not whole, or too small.

    Example:
        >>> round(dl.knowledge.sure_of(records=3, values=2), 4)
        2.0794
    """
    return _size("records", records, 0) * math.log(_size("values", values, 1))


def total(n: int, count: int | None = None) -> float:
    """Return the nats that knowing how many of n people say yes costs.

    The prior is uniform on the datasets with this count, C(n, c) out of 2^n: its divergence from the uniform prior is
    minus the logarithm of the count's probability,

        D = n log 2 - log C(n, c),      about log(2.5 sd) with sd = sqrt(n)/2 for a count near n/2.

    Args:
        n: how many people.
        count: c; by default n/2 rounded down, which costs least.

    Raises:
        InputError: count is not from 0 to n.

    Example:
        >>> round(dl.knowledge.total(n=8), 4)
        1.2967
    """
    many = checks.records(n)
    c = many // 2 if count is None else checks.whole("count", count, 0)
    if c > many:
        checks.real("count", c, 0, many)
    chosen = math.lgamma(many + 1) - math.lgamma(c + 1) - math.lgamma(many - c + 1)
    return max(0.0, many * math.log(2) - chosen)


def __getattr__(name: str) -> NoReturn:
    """Say which words may have been meant."""
    message = f"dl.knowledge has no {name!r}; {nearest(name, ('rumour', 'sure_of', 'total'))}"
    raise AttributeError(message)


def _size(name: str, value: object, least: int) -> int:
    return checks.integer(name, checks.whole(name, value, least))
