"""Mechanisms of diffprivlib, from their attributes.

They are taken as their documentation describes them: samplers of diffprivlib work in floats, so that the law of what
they return is only nearly that. Tested with diffprivlib 0.6.6, which does not import with scikit-learn 1.9 or later.
"""

import math
from collections.abc import Callable
from typing import Any

from dalenius.adapters.answers import check_whole
from dalenius.errors import refuse
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms
from dalenius.model.query import Query

Foreign = Any  # an object of diffprivlib, which is optional


def from_diffprivlib(mechanism: Foreign, query: Query) -> Mechanism:
    """Return a diffprivlib mechanism as ours, run on the query's answer.

    Args:
        mechanism: Geometric, GeometricTruncated to the query's range, Laplace, Gaussian, GaussianAnalytic,
            GaussianDiscrete, or Binary for one record of two values.
        query: what it is run on.

    Returns:
        A Mechanism with the law that the documentation of diffprivlib gives; its samplers follow it only approximately.

    Raises:
        InputError: the object is not supported, or its bounds are not the range of the query.

    Example:
        `dl.from_diffprivlib(Geometric(epsilon=1, sensitivity=1), dl.queries.count(n=4))`
    """
    if not isinstance(query, Query):
        refuse(f"from_diffprivlib needs a Query as its second argument, not {type(query).__name__}; see dl.queries")
    name = type(mechanism).__name__
    if not type(mechanism).__module__.startswith("diffprivlib.") or name not in KNOWN:
        refuse(f"{name} is not supported; from_diffprivlib reads {', '.join(KNOWN)} of diffprivlib.mechanisms")
    return KNOWN[name](mechanism, query)


def _geometric(mechanism: Foreign, query: Query) -> Mechanism:
    return mechanisms.geometric(check_whole(query), scale=mechanism.sensitivity / mechanism.epsilon, clamp=False)


def _truncated(mechanism: Foreign, query: Query) -> Mechanism:
    check_whole(query)
    if query.vector or (mechanism.lower, mechanism.upper) != (query.outputs[0], query.outputs[-1]):
        refuse(
            f"the bounds {mechanism.lower} to {mechanism.upper} are not the range {query.outputs[0]} to "
            f"{query.outputs[-1]} of {query}; use Geometric, which leaks the same, or process it further with .then"
        )
    return mechanisms.geometric(query, scale=mechanism.sensitivity / mechanism.epsilon)


def _laplace(mechanism: Foreign, query: Query) -> Mechanism:
    scale = mechanism.sensitivity / (mechanism.epsilon - math.log(1 - mechanism.delta))
    return mechanisms.laplace(query, scale=scale, output="real")


def _gaussian(mechanism: Foreign, query: Query) -> Mechanism:
    return mechanisms.gaussian(query, sigma=float(mechanism._scale), output="real")  # noqa: SLF001 - nowhere else


def _discrete(mechanism: Foreign, query: Query) -> Mechanism:
    return mechanisms.discrete_gaussian(check_whole(query), sigma=float(mechanism._scale))  # noqa: SLF001 - nowhere else


def _binary(mechanism: Foreign, query: Query) -> Mechanism:
    if query.records != (2,):
        refuse(
            f"Binary is about one value out of 2, and {query} about records {list(query.records)}; use identity(k=2)"
        )
    return mechanisms.symmetric(query, flip=1 / (1 + math.exp(mechanism.epsilon)))


KNOWN: dict[str, Callable[[Any, Query], Mechanism]] = {
    "Geometric": _geometric,
    "GeometricTruncated": _truncated,
    "Laplace": _laplace,
    "Gaussian": _gaussian,
    "GaussianAnalytic": _gaussian,
    "GaussianDiscrete": _discrete,
    "Binary": _binary,
}
