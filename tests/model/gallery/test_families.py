"""The registry: every family builds its mechanisms, on one scale of noise, and whoever asks for families reads it."""

import math

import pytest
from refusals import refuses, refuses_saying

import dalenius as dl
from dalenius.model.gallery.families import FAMILIES, family_of, shown_on_frontiers, with_noise
from dalenius.model.gallery.parse import MECHANISMS
from dalenius.verifier.forms import named

COUNT = dl.queries.count(n=3)
COUNTS = dl.queries.histogram(n=3, k=4)


def asked(name: str) -> dl.Query:
    """A query that the family answers."""
    return COUNTS if name == "noisy_max" else COUNT


def test_one_table_serves_call_strings_and_the_verifier_knows_the_same_names() -> None:
    assert set(FAMILIES) == set(MECHANISMS) == set(named.MECHANISMS)
    assert all(family.build is getattr(dl.mechanisms, name) for name, family in FAMILIES.items())
    without = {"constant", "exact", "rounding", "random_rounding", "cell_key", "suppressed", "subset_selection"}
    assert set(with_noise()) == set(FAMILIES) - without


@pytest.mark.parametrize("name", with_noise())
def test_more_of_the_noise_level_is_noisier(name: str) -> None:
    family, parameter = family_of(name)
    levels = [parameter.quietest(asked(name)), -1.0, 0.0, 1.0, 3.0]
    values = [parameter.at(asked(name), level)[0] for level in levels]
    told = [family.with_parameter(asked(name), value).log_most_likely() for value in values]
    assert told == sorted(told, reverse=True)
    # An output of hadamard_response is as likely for half of the values, however large epsilon is.
    assert told[0] > math.log(3.3 if name == "hadamard_response" else 3.9)
    assert told[-1] < 1.5


@pytest.mark.parametrize("name", with_noise())
def test_parameters_are_checked_by_their_limits(name: str) -> None:
    family, parameter = family_of(name)
    for bad in (-1.0, math.nan, math.inf, "1", True):
        refuses(f"{parameter.name} = ", family.with_parameter, asked(name), bad)


def test_a_query_with_a_single_answer_has_a_scale_too() -> None:
    single = dl.queries.total(n=2, values=[3])
    for name in with_noise():
        _, parameter = family_of(name)
        assert math.isfinite(parameter.quietest(single))
        assert parameter.at(single, 0.0)[0] >= 0


@pytest.mark.parametrize(
    ("name", "says"), [("geometrc", "did you mean 'geometric'?"), ("constant", "constant has no number that makes")]
)
def test_unknown_families_are_refused(name: str, says: str) -> None:
    refuses_saying(says, family_of, name)


def test_frontiers_show_families_that_fit_the_answers() -> None:
    letters = dl.queries.function([2, 2], lambda x: "abcd"[2 * x[0] + x[1]])
    assert {name for name, _ in shown_on_frontiers(letters)} == {"symmetric", "exponential"}
    numeric = {name for name, _ in shown_on_frontiers(COUNT)}
    assert numeric == {"symmetric", "geometric", "laplace", "exponential", "gaussian"}
