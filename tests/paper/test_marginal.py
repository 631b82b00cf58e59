"""Algorithm 2: it reaches capacity, stays feasible, and says where it began."""

import math

import numpy as np
import pytest

import dalenius as dl
from dalenius.paper import marginal
from dalenius.paper.leakage import random_prior
from dalenius.paper.universe import Floats, Universe, answers, entropy, information


def random_channel(seed: int, records: tuple[int, ...] = (2, 2, 2), outputs: int = 3) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(outputs, 0.4), size=math.prod(records))


def test_without_constraint_the_marginal_reaches_capacity() -> None:
    rows = np.array([[0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.9, 0.1]]).reshape(2, 2, 2)
    deterministic = np.array([[1.0, 0.0], [1.0, 0.0]])  # x_2 = 0: a binary symmetric channel
    p = marginal.modified_blahut_arimoto(np.array([0.2, 0.8]), deterministic, rows, 0.0, eps=1e-12)
    assert p.status == "converged"
    assert p.value == pytest.approx(float(information(p.marginal, answers(deterministic, rows))), abs=1e-15)
    assert p.value == pytest.approx(math.log(2) + 0.9 * math.log(0.9) + 0.1 * math.log(0.1), abs=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_the_marginal_stays_feasible(seed: int) -> None:
    rng = np.random.default_rng(seed)
    universe, q = Universe((3, 2, 2)), random_channel(seed, (3, 2, 2), 3)
    b = 0.9 * math.log(12)
    first, conditionals = universe.split(random_prior(rng, 12, b), 0)
    p = marginal.modified_blahut_arimoto(first, conditionals, universe.of(q, 0), b)
    assert entropy(universe.join(p.marginal, conditionals, 0)) >= b - 1e-9


def test_a_start_below_the_entropy_is_allowed_and_said() -> None:
    """The REQUIRE list of Algorithm 2 asks nothing of p^(0)(x_i)."""
    rows = random_channel(4).reshape(2, 4, 3)
    conditionals = np.full((2, 4), 0.25)
    found = marginal.modified_blahut_arimoto(np.array([0.999, 0.001]), conditionals, rows, math.log(4) + 0.5)
    assert "; p_start has H(X) = 1.39" in found.status
    feasible = marginal.modified_blahut_arimoto(np.array([0.5, 0.5]), conditionals, rows, math.log(4) + 0.5)
    assert "p_start" not in feasible.status
    impossible = marginal.modified_blahut_arimoto(
        np.array([0.999, 0.001]), np.eye(4)[:2], rows, math.log(2) + 0.1, T_max=1
    )
    assert impossible.status.startswith("INFEASIBLE; p_start has H(X)")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eps": -1.0}, "eps = -1.0 is out of range"),
        ({"alpha": 0.0}, "alpha = 0.0 is out of range"),
        ({"T_max": 1.5}, "T_max = 1.5 is not a whole number"),
        ({"p_start": np.array([0.5, 0.4])}, "p_start is not a distribution"),
    ],
)
def test_parameters_out_of_range_are_named(options: dict[str, object], words: str) -> None:
    asked = {"p_start": np.array([0.5, 0.5]), **options}
    with pytest.raises(dl.InputError, match=words):
        marginal.modified_blahut_arimoto(
            conditionals=np.full((2, 4), 0.25), rows=random_channel(4).reshape(2, 4, 3), b=1.0, **asked
        )
