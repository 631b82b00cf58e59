"""LeakageTransformer: categorical columns released value by value within a leakage budget."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dalenius.adapters.learning import columns
from dalenius.adapters.learning.columns import Values
from dalenius.api.designs import design
from dalenius.errors import refuse
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.numerics.types import Floats, Ints
from dalenius.tools.calibration import calibrate
from dalenius.tools.ledger import Ledger

# Debiasing divides by the channel; beyond this condition number only rounding is left.
WORST_CONDITION = 1e12
# Share of the budget that is kept for the margins of the certificates.
SPARED = 1e-9


@dataclass(frozen=True)
class Channel:
    """What one column goes through; flip: the chance of another value, where all others are alike, else None."""

    k: int
    mechanism: Mechanism
    flip: float | None = None

    def drawn(self, codes: Ints, source: np.random.Generator) -> Ints:
        """Return noisy values."""
        if self.flip is not None:
            moved = source.random(codes.size) < self.flip
            return np.asarray((codes + moved * source.integers(1, max(self.k, 2), size=codes.size)) % self.k)
        released = codes.copy()
        for value, row in enumerate(self.mechanism.matrix()):
            here = np.flatnonzero(codes == value)
            released[here] = source.choice(self.k, size=here.size, p=row / row.sum())
        return released

    def undone(self, seen: Floats, name: str) -> Floats:
        """Return the frequencies whose mean after the noise is this one."""
        if self.flip is not None:
            other = self.flip / max(self.k - 1, 1)
            return np.asarray((seen - other) / (1 - self.flip - other))
        rows = self.mechanism.matrix()
        if np.linalg.cond(rows) > WORST_CONDITION:
            refuse(
                f"the channel of {name} drops categories, so its frequencies cannot be estimated; give more leakage, "
                "or leave p0 out"
            )
        return np.asarray(np.linalg.solve(rows.T, seen), dtype=float)


class LeakageTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace every value of a categorical column by a noisy one, so that a row leaks at most `leakage` nats.

    Each column has a channel of its own: the value is kept, or replaced by any other category with equal chance. All
    columns of a row together leak at most the sum of what the channels leak, whatever is believed about the row before
    and however its columns depend on each other. That is certified (`certificate_`), and covers a person's own row:
    rows of other people that depend on it may reveal more, and so does a second transform of the same row.

    Args:
        leakage: the budget of a whole row, in nats, above 0. It is shared evenly among the columns; what a column
            of few categories cannot use goes to the others.
        categories: "auto" takes the values found in fit, which then count as public; or one list for each column.
        p0: public frequencies of the categories, one law for each column. The channels are then the best ones for
            them (dl.design): the least chance of a wrong value within the budget. None: every category counts the same,
            and the best channel replaces a value by any other with equal chance.
        random_state: None draws from the operating system; an int or a RandomState repeats its draws, which is for
            tests: whoever knows it can undo the noise.

    After fit: categories_, mechanisms_ (a dl.Mechanism each), leakage_ (certified, in nats), audit_, certificate_.
    """

    def __init__(
        self,
        *,
        leakage: float = 1.0,
        categories: Any = "auto",
        p0: Any = None,
        random_state: Any = None,
    ) -> None:
        """Take the parameters as they are, as scikit-learn asks for; fit checks them."""
        self.leakage = leakage
        self.categories = categories
        self.p0 = p0
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the categories, and choose and certify the channels."""
        total = columns.budget("leakage", self.leakage)
        values = columns.checked(self, X, reset=True)
        self.categories_ = columns.learned(self, values, self.categories)
        columns.encoded(self, values, self.categories_)
        sizes = [len(listed) for listed in self.categories_]
        laws = [None] * len(sizes) if self.p0 is None else list(self.p0)
        if len(laws) != len(sizes):
            refuse(f"p0 has {len(laws)} laws for {len(sizes)} columns; give one for each")
        shares = shared(total * (1 - SPARED), sizes)
        self._channels = [_channel(k, share, law) for k, share, law in zip(sizes, shares, laws, strict=True)]
        self.mechanisms_ = [channel.mechanism for channel in self._channels]
        called = [str(j) for j in range(len(sizes))]
        ledger = Ledger(columns=dict(zip(called, sizes, strict=True)), n=1, adversary="independent", budget=total)
        for name, mechanism in zip(called, self.mechanisms_, strict=True):
            ledger.release(mechanism, columns=[name])
        self.audit_ = ledger.account()
        self.leakage_ = self.audit_.upper
        self.certificate_ = self.audit_.certificate
        return self

    def transform(self, X: Any) -> Values:
        """Return noisy values, of the same categories. Every call is a release of its own about these rows."""
        check_is_fitted(self)
        values = columns.checked(self, X, reset=False)
        codes = columns.encoded(self, values, self.categories_)
        source = columns.generator(self.random_state)
        released = np.empty_like(values)
        for j, (channel, listed) in enumerate(zip(self._channels, self.categories_, strict=True)):
            released[:, j] = listed[channel.drawn(codes[:, j], source)]
        return np.asarray(released)

    def frequencies(self, X: Any) -> list[Floats]:
        """Return estimates of the frequencies of all categories, column by column, from released rows.

        Unbiased: the frequencies seen are those of the data seen through the channel, which is undone. So they may be
        below 0 or above 1, by the noise.
        """
        check_is_fitted(self)
        values = columns.released(self, X)
        codes = columns.encoded(self, values, self.categories_)
        found = []
        for j, (channel, name) in enumerate(zip(self._channels, columns.names(self), strict=True)):
            seen = np.bincount(codes[:, j], minlength=channel.k) / len(codes)
            found.append(channel.undone(seen, name))
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = True
        return tags


def shared(total: float, sizes: Sequence[int]) -> list[float]:
    """Share a budget evenly among columns of which none can use more than the logarithm of its categories."""
    shares, left = [0.0] * len(sizes), total
    order = sorted(range(len(sizes)), key=lambda j: sizes[j])
    for place, j in enumerate(order):
        shares[j] = min(math.log(sizes[j]), left / (len(order) - place))
        left -= shares[j]
    return shares


def _channel(k: int, leakage: float, law: Any) -> "Channel":
    """The channel of one column: the value itself, the best channel for a law, or a symmetric one."""
    if leakage >= math.log(k):
        return Channel(k, mechanisms.symmetric(queries.identity(k=k), flip=0.0), 0.0)
    if law is None:
        return _symmetric(k, leakage)
    best = design(queries.identity(k=k), leakage=leakage, entropy=0.0, measure="zero-one", p0=law)
    return Channel(k, best.mechanism)


@lru_cache(maxsize=256)
def _symmetric(k: int, leakage: float) -> "Channel":
    """The symmetric channel of least noise that certifiably leaks no more against any prior."""
    found = calibrate("symmetric", queries.identity(k=k), leakage=leakage, entropy=0.0)
    return Channel(k, found.mechanism, found.value)
