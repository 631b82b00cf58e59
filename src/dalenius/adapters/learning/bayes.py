"""NoisyCategoricalNB: naive Bayes from noisy counts, whose leakage about one person is certified."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dalenius.adapters.learning import columns
from dalenius.adapters.learning.columns import Values
from dalenius.auditing.independent import seen_through_bits
from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.gallery.mechanisms import geometric
from dalenius.model.query import UnlistedQuery
from dalenius.model.statistic import MOST_VALUES, Histogram
from dalenius.numerics.information import logsumexp
from dalenius.numerics.types import Floats
from dalenius.tools.ledger import Ledger

# A table with this epsilon has no noise to speak of.
LARGEST_EPSILON = 60.0
# What the certificate of one table adds to its leakage, in nats, and more.
MARGIN = 2e-11
DIGITS = 6


class NoisyCategoricalNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes for categorical columns that sees the data through noisy counts only.

    For every column the table of counts (class x category) is released with geometric noise on every cell; the model is
    made of these tables. What all of them together leak about one person's row, class included, is at most `leakage`
    nats, certified by a dl.Ledger against the adversary chosen.

    Args:
        leakage: the budget, in nats, above 0. The noise is the least that keeps it, the same for all tables.
        knowledge: what an adversary knows at most beyond independent people, in nats; with it the adversary is
            "bounded". Its leakage covers everything that the model reveals about a person, also through other people,
            and is above the knowledge: such an adversary may have spent it all on how people depend on each other.
        adversary: "independent": any prior under which people are independent, however much is known of the others.
            Its leakage covers what the model reveals about a person's own row. None: "bounded" where knowledge is
            given, else "independent".
        categories: "auto" takes the values found in fit, which then count as public, as the classes and the number of
            people do; or one list for each column.
        alpha: added to every noisy count, as in CategoricalNB.
        random_state: None draws from the operating system; an int or a RandomState repeats its draws, which is for
            tests: whoever knows it can undo the noise.

    After fit: classes_, categories_, counts_ (noisy, clamped to 0..n), epsilon_ (of each table), leakage_ (certified,
    in nats), audit_ (the account of the ledger), certificate_ (dl.verify checks it), ledger_.
    """

    def __init__(
        self,
        *,
        leakage: float = 1.0,
        knowledge: float | None = None,
        adversary: str | None = None,
        categories: Any = "auto",
        alpha: float = 1.0,
        random_state: Any = None,
    ) -> None:
        """Take the parameters as they are, as scikit-learn asks for; fit checks them."""
        self.leakage = leakage
        self.knowledge = knowledge
        self.adversary = adversary
        self.categories = categories
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Count, add noise, certify; only the noisy counts are kept."""
        total = columns.budget("leakage", self.leakage)
        smoothing = checks.positive("alpha", self.alpha)
        values, target = columns.checked(self, X, y, reset=True)
        check_classification_targets(target)
        adversary, left = columns.against(self.adversary, self.knowledge, total)
        self.classes_, labels = np.unique(target, return_inverse=True)
        self.categories_ = columns.learned(self, values, self.categories)
        codes = columns.encoded(self, values, self.categories_)
        sizes, classes, people = [len(listed) for listed in self.categories_], len(self.classes_), len(codes)
        self._check_sizes(sizes, classes)
        self.epsilon_ = least_noise(left, [classes * k for k in sizes])
        called = {"class": classes} | {str(j): k for j, k in enumerate(sizes)}
        self.ledger_ = Ledger(columns=called, n=people, budget=total, **adversary)  # type: ignore[arg-type]
        source = columns.generator(self.random_state)
        self.counts_ = []
        for j, k in enumerate(sizes):
            exact = np.bincount(labels * k + codes[:, j], minlength=classes * k)
            self.counts_.append(self._released(exact, str(j), source).reshape(classes, k))
        self.audit_ = self.ledger_.account()
        self.leakage_ = self.audit_.upper
        self.certificate_ = self.audit_.certificate
        self._learn(smoothing)
        return self

    def _check_sizes(self, sizes: Sequence[int], classes: int) -> None:
        for k, name in zip(sizes, columns.names(self), strict=True):
            if classes * k > MOST_VALUES:
                refuse(
                    f"{name} has {k} categories, and with {classes} classes {classes * k} cells, above the limit of "
                    f"{MOST_VALUES}; put rare categories together"
                )

    def _released(self, exact: Values, column: str, source: np.random.Generator) -> Floats:
        """Return the noisy counts of one table, and have the ledger count them."""
        people, cells = int(exact.sum()), exact.size
        if cells == 1:
            return exact.astype(float)
        # Count vectors are not listed, however few they are.
        query = UnlistedQuery("histogram", (("n", people), ("k", cells)), Histogram(people, cells), 2)
        mechanism = geometric(query, epsilon=self.epsilon_).as_counts
        assert mechanism is not None  # for the type checker: noise on a histogram
        self.ledger_.release(mechanism, columns=["class", column])
        one = mechanism.cell(0)
        return np.array([one.around(int(t), source.random(1))[0] for t in exact], dtype=float)

    def _learn(self, smoothing: float) -> None:
        """Probabilities from the noisy counts; a class has the mean of its sums, those of less noise counting more."""
        weights = np.array([1 / table.shape[1] for table in self.counts_])
        sums = np.stack([table.sum(axis=1) for table in self.counts_])
        self.class_count_ = np.maximum(weights @ sums / weights.sum(), 0.0)
        prior = self.class_count_ + smoothing
        self.class_log_prior_ = np.log(prior / prior.sum())
        likely = [table + smoothing for table in self.counts_]
        self.feature_log_prob_ = [np.log(table / table.sum(axis=1, keepdims=True)) for table in likely]

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log P(class) + sum_j log P(x_j | class) of every row."""
        check_is_fitted(self)
        values = columns.checked(self, X, reset=False)
        codes = columns.encoded(self, values, self.categories_)
        found = np.tile(self.class_log_prior_, (len(codes), 1))
        for j, table in enumerate(self.feature_log_prob_):
            found += table[:, codes[:, j]].T
        return found

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(class | row)."""
        joint = self.predict_joint_log_proba(X)
        return np.asarray(joint - np.asarray(logsumexp(joint, axis=1))[:, None])

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row)."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> Values:
        """Return the most likely class of every row."""
        joint = self.predict_joint_log_proba(X)
        return np.asarray(self.classes_[joint.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        # On the few rows of scikit-learn's checks the noise may hide the classes.
        tags.classifier_tags.poor_score = True
        return tags


def least_noise(leakage: float, cells: Sequence[int]) -> float:
    """Return the largest epsilon, to six digits, with which tables of so many cells leak no more in sum.

    Each is seen as noisy bits (docs/mathematics.md 10); epsilon moves two counts by one.
    """
    target = leakage - MARGIN * len(cells)

    def told(epsilon: float) -> float:
        return math.fsum(seen_through_bits(k, epsilon / 2) for k in cells if k > 1)

    low, high = 0.0, LARGEST_EPSILON
    if told(high) <= target:
        return high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if told(middle) <= target else (low, middle)
    if low == 0 or target <= 0:
        refuse(f"a leakage of {leakage:g} nats for {len(cells)} tables is too small to be certified; give more")
    digits = DIGITS - 1 - math.floor(math.log10(low))
    return math.floor(low * 10.0**digits) / 10.0**digits
