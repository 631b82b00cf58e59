import math

import mpmath
import pytest
from refusals import refuses

from dalenius.model.problem import Adversary
from dalenius.model.reference import Reference


def test_entropy_and_knowledge_add_up_to_the_universe() -> None:
    adversary = Adversary.from_user((2, 3, 4), entropy=1.5)
    assert (adversary.given, adversary.value, adversary.entropy) == ("entropy", 1.5, 1.5)
    assert adversary.knowledge == pytest.approx(math.log(24) - 1.5, abs=1e-15)
    other = Adversary.from_user((2, 3, 4), knowledge=1.5)
    assert (other.given, other.value, other.knowledge) == ("knowledge", 1.5, 1.5)
    assert other.entropy == pytest.approx(math.log(24) - 1.5, abs=1e-15)


def test_knowledge_is_right_to_the_last_bit_for_a_million_records() -> None:
    entropy = 693147.1805
    with mpmath.workdps(60):
        exact = float(10**6 * mpmath.log(2) - mpmath.mpf(entropy))
    assert Adversary.from_user((2,) * 10**6, entropy=entropy).knowledge == exact


def test_bits_are_nats_times_log_two() -> None:
    bits = Adversary.from_user((2, 2, 2), entropy=2.0, unit="bits")
    assert bits.value == pytest.approx(2 * math.log(2), abs=1e-16)
    assert bits.knowledge == pytest.approx(math.log(2), abs=1e-16)
    assert Adversary.from_user((2, 2, 2), knowledge=1.0, unit="bits").knowledge == math.log(2)


@pytest.mark.parametrize("n", [1, 3, 5, 10, 1000])
def test_all_bits_mean_the_uniform_prior_exactly(n: int) -> None:
    adversary = Adversary.from_user((2,) * n, entropy=float(n), unit="bits")
    assert adversary.knowledge == 0.0
    with mpmath.workdps(60):
        assert mpmath.mpf(adversary.value) >= n * mpmath.log(2)


def test_just_above_the_universe_means_uniform_and_keeps_the_number() -> None:
    top = math.log(8)
    adversary = Adversary.from_user((2, 2, 2), entropy=top + 2e-9)
    assert adversary.knowledge == 0.0
    assert adversary.value == top + 2e-9
    refuses("not between 0 and log", Adversary.from_user, (2, 2, 2), entropy=top + 2.2e-9)
    just_below = Adversary.from_user((2, 2, 2), entropy=top - 1e-9)
    assert just_below.knowledge == pytest.approx(1e-9, rel=1e-6)


def test_too_much_knowledge_is_no_constraint() -> None:
    for knowledge in (math.log(8) + 1, math.inf):
        adversary = Adversary.from_user((2, 2, 2), knowledge=knowledge)
        assert (adversary.knowledge, adversary.entropy) == (pytest.approx(math.log(8), abs=1e-15), 0.0)
        assert math.isfinite(adversary.value)
        assert adversary.value >= math.log(8)


def test_knowledge_beyond_a_reference() -> None:
    rho = Reference.from_user([0.9, 0.1], (2, 2, 2))
    some = Adversary.from_user((2, 2, 2), knowledge=0.5, reference=rho)
    assert (some.knowledge, some.value, some.free) == (0.5, 0.5, False)
    assert math.isnan(some.entropy)
    most = 3 * math.log(10)
    for much in (most * (1 + 1e-12), 100.0, math.inf):
        free = Adversary.from_user((2, 2, 2), knowledge=much, reference=rho)
        assert free.free
        assert free.knowledge == pytest.approx(most)
        assert free.value >= most
        assert math.isfinite(free.value)
    bits = Adversary.from_user((2, 2, 2), knowledge=0.5, unit="bits", reference=rho)
    assert bits.knowledge == pytest.approx(0.5 * math.log(2), rel=1e-15)
    refuses("entropy counts from the uniform prior", Adversary.from_user, (2, 2, 2), entropy=1.0, reference=rho)
