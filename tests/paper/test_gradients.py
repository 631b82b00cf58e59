"""The theorems on derivatives against finite differences; what is printed wrong is shown to be wrong."""

from collections.abc import Callable

import numpy as np
import pytest

from dalenius.paper import gradients
from dalenius.paper.universe import Floats, Universe, answers, entropy, leakages

STEP = 1e-6
RECORDS = (2, 3, 2)


def sample(seed: int) -> tuple[Universe, Floats, Floats]:
    rng = np.random.default_rng(seed)
    universe = Universe(RECORDS)
    prior = rng.dirichlet(np.ones(universe.size))
    return universe, rng.dirichlet(np.ones(4), size=universe.size), prior


def differences(f: Callable[[Floats], float], x: Floats) -> Floats:
    """Central differences of a scalar function along every entry."""
    result = np.empty_like(x)
    for at in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += STEP
        down[at] -= STEP
        result[at] = (f(up) - f(down)) / (2 * STEP)
    return result


def loose_information(marginal: Floats, given: Floats) -> float:
    """I as a function of numbers that need not be normalised: sum p(x_i) p(y|x_i) log p(y|x_i) / p(y)."""
    return float((marginal[:, None] * given * np.log(given / (marginal @ given))).sum())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("i", range(3))
def test_information_by_channel(seed: int, i: int) -> None:
    universe, q, p = sample(seed)
    slope = differences(lambda x: leakages(universe, x, p)[i], q)
    # off the simplex the joint law does not sum to one; its excess adds p(x) to every entry alike
    moved = slope - slope.mean(axis=1, keepdims=True)
    mine = gradients.information_by_channel(universe, q, p, i)
    np.testing.assert_allclose(mine - mine.mean(axis=1, keepdims=True), moved, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("i", range(3))
def test_information_by_marginal_and_conditional(seed: int, i: int) -> None:
    universe, q, p = sample(seed)
    marginal, conditionals = universe.split(p, i)
    rows = universe.of(q, i)
    given = answers(conditionals, rows)
    by_marginal = differences(lambda x: loose_information(x, given), marginal)
    np.testing.assert_allclose(gradients.information_by_marginal(marginal, given), by_marginal, atol=1e-8)
    by_conditional = differences(lambda x: loose_information(marginal, answers(x, rows)), conditionals)
    np.testing.assert_allclose(gradients.information_by_conditional(marginal, given, rows), by_conditional, atol=1e-8)


def test_the_printed_conditional_gradient_as_its_formula() -> None:
    universe, q, p = sample(7)
    marginal, conditionals = universe.split(p, 1)
    rows = universe.of(q, 1)
    given = answers(conditionals, rows)
    p_y = marginal @ given
    a, m = 2, 3
    logs = (rows[a, m] * np.log(given[a] / p_y)).sum()
    lost = (given[a] * rows[a, m] / p_y).sum()
    expected = marginal[a] + marginal[a] * logs - marginal[a] ** 2 * lost
    assert gradients.information_by_conditional_printed(marginal, given, rows)[a, m] == pytest.approx(expected)


@pytest.mark.parametrize("i", range(3))
def test_entropy_gradients(i: int) -> None:
    universe, _, p = sample(3)
    np.testing.assert_allclose(gradients.entropy_by_joint(p), differences(entropy, p), atol=1e-6)
    marginal, conditionals = universe.split(p, i)

    def by_marginal(x: Floats) -> float:  # the chain rule, as the paper writes H
        return entropy(x) + sum(w * entropy(row) for w, row in zip(x, conditionals, strict=True))

    np.testing.assert_allclose(
        gradients.entropy_by_marginal(marginal, conditionals), differences(by_marginal, marginal), atol=1e-6
    )
    by_conditional = differences(lambda x: entropy(marginal[:, None] * x), conditionals)
    np.testing.assert_allclose(gradients.entropy_by_conditional(marginal, conditionals), by_conditional, atol=1e-6)
