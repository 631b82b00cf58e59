"""Lower bounds: every prior found is allowed, its leakage is what it says, and easy problems are solved."""

import itertools

import brute_force
import numpy as np
import pytest
from cases import CLOSED_FORM, TRUTH, Case, named, random_channel

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.prior import Prior
from dalenius.model.problem import Adversary
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import Ascent, ascend, climb, feasible, polish, random_priors
from dalenius.search.deadline import Deadline


def cells_of(mechanism: Mechanism, entropy: float, record: int = 0) -> Cells:
    knowledge = Adversary.from_user(mechanism.records, entropy=entropy).knowledge
    return Cells(lump(mechanism, record)[0], knowledge)


def ascent(mechanism: Mechanism, entropy: float, record: int) -> tuple[Ascent, Prior]:
    knowledge = Adversary.from_user(mechanism.records, entropy=entropy).knowledge
    lumped, lift = lump(mechanism, record)
    found = ascend(Cells(lumped, knowledge), Deadline(60.0), np.random.default_rng(0))
    masses = lift.masses(found.pi)
    return found, Prior(mechanism, record, masses / masses.sum())


# With no knowledge to spend there is nothing to ascend: the audit answers by the reference prior.
CASES = [
    case for case in [*CLOSED_FORM, *TRUTH[9::2]] if case.entropy < case.build().log_universe * (1 - 1e-12) - 1e-12
]


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_the_best_prior_is_allowed_and_attains_the_truth(case: Case) -> None:
    mechanism = case.build()
    found = [ascent(mechanism, case.entropy, orbit[0]) for orbit in mechanism.statistic.orbits]
    for ascended, prior in found:
        assert prior.entropy() >= case.entropy - 1e-10 * max(1, mechanism.log_universe)
        assert prior.leakage() == pytest.approx(ascended.value, abs=1e-12)
        assert ascended.value <= case.value + case.known_to + 1e-12
    assert max(ascended.value for ascended, _ in found) >= case.value - max(case.known_to, 1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_no_other_local_search_finds_more(seed: int) -> None:
    records, outputs = [([2, 2], 3), ([3, 2], 2), ([2, 2, 2], 2)][seed % 3]
    mechanism = random_channel(records, outputs, 70 + seed)
    b = (0.4, 0.75)[seed % 2] * mechanism.log_universe
    found = max(ascent(mechanism, b, record)[0].value for record in range(len(records)))
    assert found >= brute_force.attained(mechanism.matrix(), records, b, starts=5) - 1e-7


def test_symmetry_is_not_imposed_on_the_adversary() -> None:
    # MATH 3: for the sum mod 3 of four bits at b = 2 the symmetric prior is 0.65 % short.
    mechanism = named("modular_sum(n=4, modulus=3)", "symmetric(flip=0.2)")
    _, prior = ascent(mechanism, 2.0, 0)
    assert prior.leakage() > 0.29040
    # A symmetric prior would make both values of the record equally likely.
    assert np.abs(prior.masses.sum(axis=1) - 0.5).max() > 1e-2


def test_a_step_never_lowers_the_leakage() -> None:
    cells = cells_of(random_channel([3, 3], 3, 5), 1.6)
    starts = np.random.default_rng(0).dirichlet(np.ones(cells.size), size=1)
    values = [polish(cells, starts, Deadline(60.0), rounds=rounds).value for rounds in (1, 2, 4, 8, 16, 32)]
    assert all(later >= earlier - 1e-10 for earlier, later in itertools.pairwise(values))
    assert values[-1] > values[0] + 1e-6


@pytest.mark.parametrize("knowledge", [1e-12, 1e-6, 0.1, 1.0])
def test_priors_are_mixed_with_the_reference_until_they_are_allowed(knowledge: float) -> None:
    mechanism = random_channel([2, 3], 3, 1)
    cells = Cells(lump(mechanism, 0)[0], knowledge)
    wild = np.random.default_rng(1).dirichlet(np.full(cells.size, 0.2), size=50)
    mended = feasible(cells, wild)
    assert (cells.divergence(mended) <= knowledge).all()
    assert np.allclose(mended.sum(axis=1), 1)
    tame = cells.divergence(wild) <= 0.99 * knowledge
    assert np.allclose(mended[tame], wild[tame], atol=1e-12)


def test_an_expired_watch_still_gives_an_allowed_prior() -> None:
    cells = cells_of(random_channel([3, 3], 3, 2), 1.5)
    found = ascend(cells, Deadline(0.0), np.random.default_rng(0))
    assert cells.divergence(found.pi[None])[0] <= cells.knowledge
    assert found.value == pytest.approx(float(cells.leakage(found.pi[None])[0]), abs=1e-15)


@pytest.mark.parametrize("keep", [1, 4, 12])
def test_climbing_keeps_as_many_as_asked_and_none_falls(keep: int) -> None:
    cells = cells_of(random_channel([3, 3], 3, 5), 1.6)
    starts = random_priors(cells, 24, np.random.default_rng(0))
    assert starts.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert (starts > 0).all()
    pi, value, s = climb(cells, starts, Deadline(60.0), 60, keep=keep)
    assert keep <= len(pi) == len(value) == len(s) <= max(keep, 24)
    assert (cells.divergence(pi) <= cells.knowledge).all()
    assert value == pytest.approx(cells.leakage(pi), abs=1e-14)
    assert value.max() >= cells.leakage(feasible(cells, starts)).max()


def test_a_climb_from_the_best_prior_stays_there() -> None:
    cells = cells_of(random_channel([2, 3], 3, 1), 1.2)
    best = ascend(cells, Deadline(60.0), np.random.default_rng(0))
    _, value, _ = climb(cells, best.pi[None], Deadline(60.0), 60, keep=1, still=1e-9)
    assert value[0] >= best.value - 1e-9
