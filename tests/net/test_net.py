"""A change of the solver leaves the answers where they were: kinds of proof, nodes within 2 %, bounds as on record."""

import pytest

from net import answers
from net.problems import PROBLEMS


def test_every_problem_is_on_record() -> None:
    assert set(answers.on_record()) == set(PROBLEMS)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_an_answer_stays_where_it_was(name: str) -> None:
    assert answers.difference(answers.on_record()[name], answers.of(PROBLEMS[name]())) == ""
