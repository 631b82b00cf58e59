"""Measurements of OpenDP as mechanisms.

OpenDP (0.12 and later) leaves in every object how it was made: `__opendp_dict__` names the constructor and its
arguments. A chain is walked to its leaf, the noise; transformations before it are run on datasets and compared with the
query, so that the mechanism is about this measurement and no other. Tested with OpenDP 0.16.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dalenius.adapters.answers import check_whole
from dalenius.errors import InputError, refuse
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms
from dalenius.model.query import Query
from dalenius.numerics.types import Ints
from dalenius.tools.composition import compose

Foreign = Any  # an object of OpenDP, which is optional
# Datasets up to which all are compared, and how many otherwise.
ALL_DATASETS = 4096
SOME_DATASETS = 2000
WRAPPERS = ("make_pureDP_to_zCDP", "make_zCDP_to_approxDP", "make_fix_delta", "make_fixed_approxDP_to_approxDP",
            "make_approximate")  # fmt: skip
COMPOSITIONS = ("make_composition", "make_basic_composition")


def from_opendp(measurement: Foreign, query: Query) -> Mechanism:
    """Return an OpenDP measurement as a mechanism, for data as the query describes them.

    Args:
        measurement: a measurement of OpenDP 0.12 or later. Laplace and geometric noise on whole numbers, discrete
            Gaussian noise, the same on real numbers, randomised response of one value, noisy max, and compositions of
            these are supported.
        query: what the transformations before the noise compute. That is compared on all datasets up to 4,096 of them,
            and on 2,000 otherwise.

    Returns:
        A Mechanism.

    Raises:
        InputError: the measurement is of another kind, or computes something other than the query.

    Example:
        `dl.from_opendp(measurement, dl.queries.count(n=4))`; the page on coming from OpenDP has the whole example.
    """
    if not isinstance(query, Query):
        refuse(f"from_opendp needs a Query as its second argument, not {type(query).__name__}; see dl.queries")
    name, given = _made(measurement)
    if name in WRAPPERS:
        return from_opendp(given["measurement"], query)
    if name in COMPOSITIONS:
        return compose(*(from_opendp(part, query) for part in given["measurements"]))
    if name == "make_chain_pm":
        refuse(
            "the measurement ends with a post-processing function, which cannot be looked into; convert the one before "
            "it, and process that: dl.from_opendp(measurement, query).then(function)"
        )
    if name == "make_chain_mt":
        _check_same_answers(given["transformation0"], query)
        name, given = _made(given["measurement1"])
        if name in WRAPPERS:
            name, given = _made(given["measurement"])
    if name not in LEAVES:
        supported = ", ".join(sorted(LEAVES))
        refuse(f"{name} of OpenDP is not supported; from_opendp reads {supported}, and chains and compositions of them")
    return LEAVES[name](query, given)


def _made(thing: Foreign) -> tuple[str, dict[str, Any]]:
    """The constructor and its arguments."""
    made = getattr(thing, "__opendp_dict__", None)
    if not isinstance(made, dict) or "__function__" not in made:
        refuse(
            f"{type(thing).__name__} does not record how it was made; from_opendp reads measurements of OpenDP 0.12 or "
            "later, built by its constructors"
        )
    return str(made["__function__"]), dict(made.get("__kwargs__", {}))


def _check_same_answers(transformation: Foreign, query: Query) -> None:
    """Refuse a transformation that answers another question, or data of another size."""
    domain = str(transformation.input_domain)
    size = re.search(r"size=(\d+)", domain)
    if size is not None and int(size[1]) != query.n:
        refuse(f"the measurement is over {size[1]} records, and {query} over {query.n}")
    for dataset in _datasets(query):
        data = [_value(query, int(code), domain) for code in dataset]
        expected = np.asarray(query.answers)[query.statistic.class_of(dataset[None])[0]]
        try:
            found = np.asarray(transformation(data))
        except Exception as error:
            message = f"the measurement does not take the dataset {data} of {query}: {error}"
            raise InputError(message) from error
        # A mean is a float, which two programs may round differently.
        same = found.shape == expected.shape and (
            np.allclose(found, expected, rtol=1e-12, atol=0) if query.steps is not None else (found == expected).all()
        )
        if not same:
            refuse(
                f"the measurement is about another query: for the dataset {data} its transformation gives "
                f"{found.tolist()}, but {query} gives {expected.tolist()}"
            )


def _datasets(query: Query) -> Iterator[Ints]:
    sizes = np.array(query.records)
    if query.log_universe <= math.log(ALL_DATASETS) + 1e-9:
        yield from np.stack(np.unravel_index(np.arange(sizes.prod()), sizes), axis=1)
        return
    rng = np.random.default_rng(0)
    for value in range(sizes.max()):
        yield np.minimum(value, sizes - 1)
    for _ in range(SOME_DATASETS):
        # Mixtures of any kind, not only those near the mean.
        a, b = rng.uniform(0.1, 3, 2)
        yield np.floor(sizes * rng.beta(a, b, size=len(sizes))).astype(np.int64).clip(0, sizes - 1)


def _value(query: Query, code: int, domain: str) -> object:
    """The value of a record as OpenDP's data hold it."""
    if "T=bool" in domain:
        return bool(code)
    if query.names and "T=String" in domain:
        return query.names[code]
    arguments = dict(query.arguments)
    if query.name == "total":
        return list(arguments["values"])[code]  # type: ignore[call-overload]
    if query.name == "mean":
        return arguments["low"] + code * arguments.get("step", 1)  # type: ignore[operator]
    return code


def _real(given: dict[str, Any]) -> bool:
    return bool(re.search(r"T=f(32|64)", str(given.get("input_domain", ""))))


def _laplace(query: Query, given: dict[str, Any]) -> Mechanism:
    scale = float(given["scale"])
    if _real(given):
        return mechanisms.laplace(query, scale=scale, output="real")
    return mechanisms.geometric(_number(query), scale=scale, clamp=False)


def _geometric(query: Query, given: dict[str, Any]) -> Mechanism:
    bounds = given.get("bounds")
    if bounds is None:
        return mechanisms.geometric(_number(query), scale=float(given["scale"]), clamp=False)
    low, high = (int(bound) for bound in bounds)
    check_whole(query)
    if query.vector or (low, high) != (query.outputs[0], query.outputs[-1]):
        refuse(
            f"the bounds {low} to {high} of make_geometric are not the range {query.outputs[0]} to "
            f"{query.outputs[-1]} of {query}; leave bounds out, which leaks the same, or process it further with .then"
        )
    return mechanisms.geometric(query, scale=float(given["scale"]))


def _number(query: Query) -> Query:
    """Refuse noise that is not clamped on every count of a histogram."""
    if query.vector:
        refuse(
            f"noise on every count of {query} without bounds is not supported; instead of Laplace noise use "
            "dl.mechanisms.geometric(query, scale=...): it is clamped to 0..n, and leaks as much"
        )
    return check_whole(query)


def _gaussian(query: Query, given: dict[str, Any]) -> Mechanism:
    scale = float(given["scale"])
    if _real(given):
        return mechanisms.gaussian(query, sigma=scale, output="real")
    return mechanisms.discrete_gaussian(_number(query), sigma=scale)


def _noise(query: Query, given: dict[str, Any]) -> Mechanism:
    return (_gaussian if "ZeroConcentrated" in str(given.get("output_measure", "")) else _laplace)(query, given)


def _response(query: Query, given: dict[str, Any]) -> Mechanism:
    categories = given.get("categories", [False, True])
    if query.records != (len(categories),):
        refuse(
            f"the measurement is about one value out of {len(categories)}, and {query} about records "
            f"{list(query.records)}; use dl.queries.identity(k={len(categories)})"
        )
    if query.names and "categories" in given and set(map(str, categories)) != set(query.names):
        refuse(
            f"the measurement is about the values {', '.join(map(str, categories))}, and {query} about "
            f"{', '.join(query.names)}; name the values of the query as the measurement does"
        )
    return mechanisms.symmetric(query, flip=1 - float(given["prob"]))


def _noisy_max(query: Query, given: dict[str, Any]) -> Mechanism:
    if given.get("negate") or given.get("optimize") == "min":
        refuse("noisy min is not supported; negate the scores and use noisy max")
    gumbel = "optimize" in given or "ZeroConcentrated" in str(given.get("output_measure", ""))
    return mechanisms.noisy_max(
        query, epsilon=2 / float(given["scale"]), noise="gumbel" if gumbel else "permute_and_flip"
    )


LEAVES: dict[str, Callable[[Query, dict[str, Any]], Mechanism]] = {
    "make_laplace": _laplace,
    "make_geometric": _geometric,
    "make_gaussian": _gaussian,
    "make_noise": _noise,
    "make_randomized_response_bool": _response,
    "make_randomized_response": _response,
    "make_noisy_max": _noisy_max,
    "make_report_noisy_max_gumbel": _noisy_max,
}
