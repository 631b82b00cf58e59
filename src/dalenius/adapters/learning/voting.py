"""NoisyVotingClassifier: teachers learn from disjoint parts of the data, and answer by a noisy vote."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dalenius.adapters.learning import columns
from dalenius.adapters.learning.columns import Values
from dalenius.certificates.certificate import Certificate
from dalenius.errors import BudgetError, refuse
from dalenius.model import checks
from dalenius.model.gallery import queries
from dalenius.tools.account import Account
from dalenius.tools.ledger import Ledger


class NoisyVotingClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Answer each question by the noisy vote of teachers, each of whom learned from a part of the data of its own.

    A teacher's vote is all that a question learns of its part, so that the leakage is about the part as a whole: every
    person of it, all of them together. Every row given to predict is one question, and one release; when those that
    the budget was made for have been asked, predict refuses.

    Args:
        estimator: what a teacher is, cloned for each; GaussianNB() by default.
        n_teachers: into how many parts the rows are divided, at random.
        leakage: what all answers together may leak about one part, in nats, above 0.
        questions: how many answers the budget is for; each has the same share of it.
        knowledge, adversary: as for NoisyCategoricalNB; the records are the parts.
        random_state: as for NoisyCategoricalNB; it also divides the rows.

    After fit: classes_, teachers_, mechanism_ (the noisy vote), ledger_, and as far as questions have been asked
    leakage_, audit_, certificate_, and questions_left_.
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        n_teachers: int = 10,
        leakage: float = 1.0,
        questions: int = 100,
        knowledge: float | None = None,
        adversary: str | None = None,
        random_state: Any = None,
    ) -> None:
        """Take the parameters as they are, as scikit-learn asks for; fit checks them."""
        self.estimator = estimator
        self.n_teachers = n_teachers
        self.leakage = leakage
        self.questions = questions
        self.knowledge = knowledge
        self.adversary = adversary
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Divide the rows, have every teacher learn its part, and choose the noise of an answer."""
        total = columns.budget("leakage", self.leakage)
        many, asked = checks.whole("n_teachers", self.n_teachers), checks.whole("questions", self.questions)
        values, target = validate_data(self, X, y, dtype=None, ensure_all_finite=False)
        check_classification_targets(target)
        self.classes_ = np.unique(target)
        if len(self.classes_) == 1 or len(values) < many:
            what = f"{len(self.classes_)} class" if len(self.classes_) == 1 else f"{len(values)} rows"
            refuse(f"{what} for {many} teachers; there must be two classes or more, and a row for each teacher")
        adversary, left = columns.against(self.adversary, self.knowledge, total)
        votes = queries.histogram(n=many, k=len(self.classes_))
        # Each answer has its share; what is left over by rounding goes to nobody.
        share = Ledger(votes, adversary="independent", budget=left / asked * (1 - 1e-9))
        self.mechanism_ = share.calibrate("noisy_max", votes).mechanism
        called = {str(j): len(self.classes_) for j in range(asked)}
        # No two answers are audited together: each counts for what it tells beside all other parts.
        self.ledger_ = Ledger(columns=called, n=many, budget=total, most_entries=1, **adversary)  # type: ignore[arg-type]
        self._source = columns.generator(self.random_state)
        teacher = GaussianNB() if self.estimator is None else self.estimator
        parts = np.array_split(self._source.permutation(len(values)), many)
        self.teachers_ = [clone(teacher).fit(values[part], target[part]) for part in parts]
        return self

    def predict(self, X: Any) -> Values:
        """Answer every row by a noisy vote; raise BudgetError before any answer if the budget is too small."""
        check_is_fitted(self)
        values = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        if len(values) > self.questions_left_:
            message = (
                f"{len(values)} more question{'s' * (len(values) > 1)}: the budget of {self.leakage:g} nats is for "
                f"{self.questions}, and {self.questions_left_} are left; give fewer rows, or fit again, which is a new "
                "release of the data"
            )
            raise BudgetError(message)
        votes = np.searchsorted(self.classes_, np.stack([teacher.predict(values) for teacher in self.teachers_]))
        answers = []
        for vote in votes.T:
            self.ledger_.release(self.mechanism_, columns=[str(len(self.ledger_.releases))])
            answers.append(int(self.mechanism_.sample(vote, rng=self._source)[0]))
        return np.asarray(self.classes_[answers])

    @property
    def questions_left_(self) -> int:
        """How many questions may still be asked."""
        return int(self.questions) - len(self.ledger_.releases)

    @property
    def audit_(self) -> Account:
        """What the answers so far have leaked about one part."""
        return self.ledger_.account()

    @property
    def leakage_(self) -> float:
        """The certified leakage of the answers so far, in nats."""
        return self.audit_.upper

    @property
    def certificate_(self) -> Certificate | None:
        """The certificate of it; None before the first question."""
        return self.audit_.certificate
