"""Estimators for scikit-learn (the extra `sklearn`), which is imported when one of them is first asked for.

LeakageTransformer: categorical columns, each value through a noisy channel, within a leakage budget.
NoisyCategoricalNB: naive Bayes from noisy counts with a certified leakage.
NoisyVotingClassifier: answers by the noisy vote of teachers that learned from disjoint parts of the data.
"""

# Inside this package `import sklearn` is scikit-learn: imports are absolute.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dalenius.adapters.learning.bayes import NoisyCategoricalNB
    from dalenius.adapters.learning.transformer import LeakageTransformer
    from dalenius.adapters.learning.voting import NoisyVotingClassifier

__all__ = ["LeakageTransformer", "NoisyCategoricalNB", "NoisyVotingClassifier"]

_HOME = {"LeakageTransformer": "transformer", "NoisyCategoricalNB": "bayes", "NoisyVotingClassifier": "voting"}


def __getattr__(name: str) -> "Any":
    """Import an estimator when it is first asked for (PEP 562)."""
    if name not in _HOME:
        message = f"module 'dalenius.sklearn' has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module
    from importlib.util import find_spec

    if find_spec("sklearn") is None:
        message = f"dalenius.sklearn.{name} needs scikit-learn: pip install 'dalenius[sklearn]'"
        raise ImportError(message)
    return getattr(import_module(f"dalenius.adapters.learning.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    """Public names only."""
    return list(__all__)
