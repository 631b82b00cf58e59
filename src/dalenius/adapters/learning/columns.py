"""What estimators share: budgets, adversaries, and categorical columns as scikit-learn hands them over."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.numerics.types import Ints

Values = NDArray[Any]
Against = dict[str, object]  # the arguments of a Ledger


def budget(name: str, value: object) -> float:
    """Return a budget of leakage, in nats; refused unless it is positive."""
    found = checks.real(name, value, -math.inf, math.inf)
    if found <= 0:
        refuse(f"{name} = {found:g} allows no release: only a constant leaks nothing; give a positive number of nats")
    return found


def against(adversary: object, knowledge: object, leakage: float) -> tuple[Against, float]:
    """Return the adversary as a ledger takes it, and the leakage that all releases may add up to.

    Under independent records they add up. An adversary of bounded knowledge may have spent that knowledge on how
    people depend on each other, and learns so much more (docs/mathematics.md 10.1).
    """
    if adversary is not None:
        checks.choice("adversary", adversary, ("bounded", "independent"))
    limit = None if knowledge is None else checks.real("knowledge", knowledge, 0.0, math.inf)
    if adversary == "independent" or (adversary is None and limit is None):
        return {"adversary": "independent"}, leakage
    if limit is None:
        refuse('adversary="bounded" needs knowledge=, what the adversary knows at most, in nats')
    if leakage <= limit:
        refuse(
            f"leakage = {leakage:g} cannot be certified against an adversary that knows {limit:g} nats: it may know "
            "how a person depends on all others, and what is released of the others then reveals that much about the "
            'person, unless noise hides it; give a leakage above the knowledge, or adversary="independent"'
        )
    return {"knowledge": limit}, leakage - limit


def generator(random_state: object) -> np.random.Generator:
    """Return a source of randomness: fresh from the operating system for None, else as scikit-learn seeds it."""
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_random_state(random_state).randint(2**32, size=4, dtype=np.uint64))


def checked(estimator: Any, X: Any, *y: Any, reset: bool) -> Any:
    """Return X (and y) as arrays after scikit-learn's own checks; refused where values are missing."""
    found = validate_data(estimator, X, *y, reset=reset, dtype=None, ensure_all_finite=False)
    _check_missing(estimator, found[0] if y else found)
    return found


def released(estimator: Any, X: Any) -> Values:
    """Return rows that the estimator released, as an array: what it gives out need not have names of columns."""
    found = check_array(X, dtype=None, ensure_all_finite=False)
    if found.shape[1] != estimator.n_features_in_:
        refuse(f"the rows have {found.shape[1]} columns; {estimator.n_features_in_} were released")
    _check_missing(estimator, found)
    return np.asarray(found)


def _check_missing(estimator: Any, X: Values) -> None:
    if X.dtype.kind in "fc":
        missing = ~np.isfinite(X)
    elif X.dtype.kind == "O":
        missing = np.asarray(np.frompyfunc(_missing, 1, 1)(X), dtype=bool)
    else:
        return
    if missing.any():
        row, column = (int(place[0]) for place in np.nonzero(missing))
        refuse(
            f"row {row} of {names(estimator)[column]} is {X[row, column]}: Input contains NaN, infinity or a missing "
            "value; drop such rows, or make missing a category of its own before"
        )


def _missing(value: object) -> bool:
    """None, NaN of any kind, and infinity; pandas' NA is not equal to anything, and says so by no bool at all."""
    if isinstance(value, (float, np.floating)):
        return not math.isfinite(value)
    if isinstance(value, (str, int, np.integer)):
        return False
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def names(estimator: Any) -> list[str]:
    """Return words for its columns: their names, or their numbers."""
    given = getattr(estimator, "feature_names_in_", None)
    return [f"column {j}" if given is None else f"column {given[j]!r}" for j in range(estimator.n_features_in_)]


def learned(estimator: Any, X: Values, categories: object) -> list[Values]:
    """Return the categories of every column: those given, or the different values in sorted order."""
    called = names(estimator)
    if isinstance(categories, str) and categories == "auto":
        return [_sorted(X[:, j], called[j]) for j in range(X.shape[1])]
    if isinstance(categories, str) or not isinstance(categories, Sequence) or len(categories) != X.shape[1]:
        refuse(f"categories = {categories!r} must be 'auto', or list those of each of the {X.shape[1]} columns")
    found = []
    for listed, name in zip(categories, called, strict=True):
        values = np.asarray(listed, dtype=object if X.dtype.kind == "O" else None)
        if values.ndim != 1 or not values.size or len(set(values.tolist())) < values.size:
            refuse(f"the categories of {name} must be a list of different values, not {listed!r}")
        found.append(values)
    return found


def _sorted(column: Values, name: str) -> Values:
    try:
        return np.unique(column)
    except TypeError as error:
        refuse(
            f"{name} has values that cannot be sorted, such as texts and numbers; make them all texts or numbers", error
        )


def encoded(estimator: Any, X: Values, categories: Sequence[Values]) -> Ints:
    """Return the number of the category of every value; refused where a value is none of them."""
    codes = np.empty(X.shape, dtype=np.int64)
    for j, (values, name) in enumerate(zip(categories, names(estimator), strict=True)):
        different, place = np.unique(X[:, j], return_inverse=True)
        code = {value: i for i, value in enumerate(values.tolist())}
        unknown = [value for value in different.tolist() if value not in code]
        if unknown:
            refuse(
                f"{name} has {unknown[0]!r}, which is not among its {len(code)} categories; categories must be known "
                "before the data: list them all with categories=[...]"
            )
        codes[:, j] = np.array([code[value] for value in different.tolist()], dtype=np.int64)[place.ravel()]
    return codes
