"""Guesses before and after a release."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR

import pytest
from flint import arb, ctx

import dalenius as dl
from dalenius.results.guess import _percent, guess, sentence


@pytest.mark.parametrize(
    ("leaked", "after"),
    [
        (0.110945, (0.7311, 0.2664, 0.0856)),
        (0.311313, (0.8724, 0.4000, 0.1619)),
        (0.05, (0.6568, 0.2067, 0.0551)),
        (0.01, (0.5706, 0.1450, 0.0270)),
        (0.0, (0.5, 0.1, 0.01)),
    ],
)
def test_published_figures(leaked: float, after: tuple[float, ...]) -> None:
    assert [guess(leaked, g) for g in (0.5, 0.1, 0.01)] == pytest.approx(after, abs=1e-4)


@pytest.mark.parametrize("before", [0.5, 1 / 3, 0.97, 1e-9, 1 - 2**-53])
@pytest.mark.parametrize("leaked", [0.0, 1e-12, 0.11, 0.6931471805599453, 5.0])
@pytest.mark.parametrize("unit", ["nats", "bits"])
def test_never_below_the_root(leaked: float, before: float, unit: str) -> None:
    """By balls of another library: d(p || before) >= leaked at the answer, and not yet at the float below it."""
    found = guess(leaked, before, unit)
    with ctx.workprec(300):
        given, limit = arb(repr(before)), arb(leaked) * (arb(2).log() if unit == "bits" else 1)

        def divergence(p: arb) -> arb:
            return p * (p / given).log() + ((1 - p) * ((1 - p) / (1 - given)).log() if p != 1 else arb(0))

        assert found == 1 or divergence(arb(found)) >= limit
        below = math.nextafter(found, 0)
        assert below <= before or divergence(arb(below)) < limit


def test_chances_too_small_for_the_digits_are_rounded_up() -> None:
    """ROUNDING is more than d(p || before) at p = 10^-60."""
    assert 1e-300 < guess(0.0, 1e-300) < 1e-52
    assert guess(5e-324, 5e-324) > 5e-324


@pytest.mark.parametrize("before", [0, 1, -0.1, 1.5, math.nan, "half", True])
def test_before_must_be_a_chance(before: object) -> None:
    with pytest.raises(dl.InputError, match="before = "):
        guess(0.1, before)  # type: ignore[arg-type]


def test_sentences_round_to_the_safe_side() -> None:
    end = "before the release guesses right with chance at most"
    assert sentence(0.110945) == f"whoever guesses right with chance 50 % {end} 73.2 % after it"
    assert sentence(0.01, 1 / 3) == f"whoever guesses right with chance 33.3 % {end} 40.1 % after it"
    assert sentence(0.69314) == f"whoever guesses right with chance 50 % {end} 99.99996 % after it"
    # The float that prints as 0.55 is above 0.55.
    assert _percent(0.55, ROUND_CEILING) == "55.1 %"
    assert _percent(0.55, ROUND_FLOOR) == "55 %"
    assert sentence(math.inf).endswith("may be certain after it; this bound does not exclude that")


def test_summaries_speak_of_equal_chances_and_of_public_frequencies() -> None:
    query = dl.queries.count(n=3)
    mechanism = dl.mechanisms.geometric(query, epsilon=0.5)
    plain = dl.audit(mechanism, knowledge=0.1).summary()
    assert plain.count("whoever guesses right with chance 50 %") == 1
    assert "public frequencies" not in plain
    public = dl.audit(mechanism, knowledge=0.1, reference=[0.9, 0.1], unit="bits").summary()
    assert "whoever goes by the public frequencies and guesses right with chance 90 % before" in public
    values = dl.audit(dl.mechanisms.randomized_response(dl.queries.identity(k=4), epsilon=1), knowledge=0.1)
    assert "right with chance 25 % before" in values.summary()
    bits = dl.audit(mechanism, knowledge=0.1, unit="bits", verify=False)
    nats = dl.audit(mechanism, knowledge=0.1 * math.log(2), verify=False)
    assert bits.guess() == pytest.approx(nats.guess(), abs=1e-4)


def test_nothing_to_guess() -> None:
    mechanism = dl.Mechanism.from_matrix([[0.5, 0.5]], records=[1])
    assert "guesses" not in dl.audit(mechanism, knowledge=0.1).summary()


def test_real_numbers() -> None:
    query = dl.queries.real_sum(n=1, low=0, high=1)
    audit = dl.audit(dl.mechanisms.laplace(query, epsilon=1), adversary="independent")
    assert "whoever guesses right with chance 50 %" in audit.summary()
