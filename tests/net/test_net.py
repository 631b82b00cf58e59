"""A change of the solver leaves the answers where they were: kinds of proof, nodes within 2 %, bounds as on record."""

import pytest

from net import answers
from net.problems import PROBLEMS


def test_every_problem_is_on_record() -> None:
    assert set(answers.on_record()) == set(PROBLEMS)


# Three to twelve seconds of processor each, and smaller problems of their kind are beside them.
LARGE = (
    "large histogram",
    "sum n=5000 geometric(0.001) K=0.1",
    "sum n=5000 geometric(0.1) K=0.3",
    "sum n=100000 geometric(0.01) K=0.5",
    "sum gaussian",
    "sum of 0, 1, 2",
    "sum, a group",
    "sum, a law",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name in LARGE)) for name in PROBLEMS]
)
def test_an_answer_stays_where_it_was(name: str) -> None:
    assert answers.difference(answers.on_record()[name], answers.of(PROBLEMS[name]())) == ""
