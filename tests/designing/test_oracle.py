"""The adversary's answers: priors it may hold, what they leak, and no worse than what is known."""

import itertools
import math

import brute_force
import numpy as np
import pytest
from cases import named, parity_leakage, random_channel

from dalenius.designing.oracle import Attack, Oracle, OracleSearch
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.prior import Prior
from dalenius.search.deadline import Deadline


def attacks(
    mechanism: Mechanism, knowledge: float, known: list[Attack] | None = None, starts: int = 32
) -> list[Attack]:
    oracle = Oracle(mechanism.statistic, knowledge, np.random.default_rng(0))
    return oracle.attack(mechanism.rows, known or [], starts, Deadline(60.0))


CASES = [
    (named("count(n=3)", "geometric(epsilon=1)"), 1.0),
    (named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.1)"), 0.5),
    (random_channel([2, 3], 3, 1), 0.4),
    (random_channel([2, 2, 2], 2, 2), 0.8),
    (random_channel([3], 3, 3), 0.2),
]


@pytest.mark.parametrize(("mechanism", "knowledge"), CASES)
def test_priors_are_allowed_different_and_leak_what_they_say(mechanism: Mechanism, knowledge: float) -> None:
    found = attacks(mechanism, knowledge)
    assert all(one.leakage >= other.leakage for one, other in itertools.pairwise(found))
    for attack in found:
        prior = Prior(mechanism, attack.record, attack.masses)
        assert prior.entropy() >= mechanism.log_universe - knowledge - 1e-12
        assert prior.leakage() == pytest.approx(attack.leakage, abs=1e-12)
    for members in mechanism.statistic.orbits:
        own = [attack for attack in found if attack.record == members[0]]
        assert 1 <= len(own) <= OracleSearch().priors_taken
        for one, other in itertools.combinations(own, 2):
            assert np.abs(one.masses - other.masses).sum() > 1e-4


@pytest.mark.parametrize(("mechanism", "knowledge"), CASES)
def test_the_worst_prior_is_as_bad_as_any_other_search_finds(mechanism: Mechanism, knowledge: float) -> None:
    b = mechanism.log_universe - knowledge
    best = brute_force.attained(mechanism.matrix(), mechanism.records, b, starts=4)
    assert attacks(mechanism, knowledge)[0].leakage >= best - 1e-6


def test_known_priors_are_only_improved_on() -> None:
    mechanism = named("modular_sum(n=4, modulus=3)", "symmetric(flip=0.2)")
    good = attacks(mechanism, 4 * math.log(2) - 2.0, starts=64)[0]
    again = attacks(mechanism, 4 * math.log(2) - 2.0, [good], starts=1)
    assert again[0].leakage >= good.leakage - 1e-9
    assert good.leakage == pytest.approx(0.29040340425615385, abs=1e-4)


def test_parity() -> None:
    mechanism = named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.1)")
    for knowledge in (0.1, 0.5, 1.0):
        truth = parity_leakage(3, 0.1, 3 * math.log(2) - knowledge)
        assert attacks(mechanism, knowledge)[0].leakage == pytest.approx(truth, abs=1e-7)


def test_without_knowledge_there_is_one_prior_of_each_record() -> None:
    mechanism = random_channel([2, 3], 3, 1)
    found = attacks(mechanism, 0.0)
    assert sorted(attack.record for attack in found) == [0, 1]
    for attack in found:
        assert attack.masses.sum(axis=0) == pytest.approx(np.full(6, 1 / 6), abs=1e-14)


def test_an_expired_watch_still_gives_allowed_priors() -> None:
    mechanism = random_channel([2, 2], 3, 1)
    found = Oracle(mechanism.statistic, 0.3, np.random.default_rng(0)).attack(mechanism.rows, [], 8, Deadline(0.0))
    assert found
    for attack in found:
        prior = Prior(mechanism, attack.record, attack.masses)
        assert prior.entropy() >= mechanism.log_universe - 0.3 - 1e-12
        assert prior.leakage() == pytest.approx(attack.leakage, abs=1e-12)


def test_a_constant_leaks_nothing() -> None:
    mechanism = named("count(n=3)", "constant()")
    assert attacks(mechanism, 1.0)[0].leakage == pytest.approx(0, abs=1e-12)
