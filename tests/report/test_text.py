import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import built, parity

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.numerics.rounding import decimals, epsilon_up, round_down, round_up, short_up
from dalenius.report.text import class_words
from dalenius.results.audit import Extremes, Records
from dalenius.results.result import Step

SIZES = st.floats(min_value=-1e7, max_value=1e7)


@given(SIZES, st.integers(0, 15))
def test_printed_digits_stay_true(x: float, digits: int) -> None:
    down, up = Fraction(round_down(x, digits)), Fraction(round_up(x, digits))
    assert down <= Fraction(x) <= up
    assert up - down <= Fraction(1, 10**digits)


@given(st.floats(min_value=0, max_value=1e7))
def test_gaps_are_rounded_up(x: float) -> None:
    assert Fraction(x) <= Fraction(short_up(x))


def test_no_gap_is_a_plain_zero() -> None:
    assert short_up(0.0) == "0"


@pytest.mark.parametrize(
    ("x", "down", "up"),
    [
        (0.1, "0.100000", "0.100001"),
        (0.25, "0.250000", "0.250000"),
        (0.0, "0.000000", "0.000000"),
        (math.inf, "inf", "inf"),
    ],
)
def test_rounding_examples(x: float, down: str, up: str) -> None:
    assert (round_down(x), round_up(x)) == (down, up)


def test_small_numbers_get_more_decimals() -> None:
    assert decimals(0.5) == decimals(0.0) == 6
    assert round_down(1.2345678e-9, decimals(1e-9)) == "0.000000001234"


def test_the_summary_says_what_matters_in_plain_words() -> None:
    text = parity().summary()
    for words in (
        "symmetric(flip=0.3) of modular_sum(n=4, modulus=2): 4 records, 16 datasets",
        "0.073726 <= L <= 0.073727 nats",
        "the gap is at most 2.0e-9; certificate attached, not yet checked",
        "record 0; the 3 other records leak the same",
        "knows at most 0.5726 of 2.773 nats: H(X) >= 2.2",
        "without any limit on its knowledge an adversary could learn 0.082282 to 0.082283 nats",
        "this one could learn between 89.6 % and 89.7 % of that",
        "one that knows nothing before the release would learn 0.000000 nats",
        "record 0 = 0 and sum mod 2 = 0: 0.487",
        "the gap is within the tolerance 1e-06",
    ):
        assert words in text


def test_the_summary_tells_of_open_gaps_and_why() -> None:
    wide = {"upper": 0.09, "nodes": 77}
    limit = parity(**wide, stopped="time_limit").summary()
    assert "the time limit was reached" in limit
    assert "gap of 1.7e-2 is open" in limit
    assert "it was interrupted" in parity(**wide, stopped="interrupted").summary()
    nearly = parity(upper=parity().lower + 5e-6, stopped="nearly").summary()
    assert "the gap is small but above the tolerance 1e-06, and every bound that applies was tried" in nearly
    assert "only the lower bound is proved" in parity(**wide, stopped="method", proved="lower").summary()


def test_the_summary_of_the_papers_method_claims_no_more_than_it_proves() -> None:
    history = tuple(Step(start, k, 0.07, 0.1, 0.0, 0.1) for start in range(20) for k in range(3))
    paper = {"upper": math.log(2), "proved": "lower", "stopped": "method", "history": history, "nodes": 60}
    text = parity(**paper, extremes=Extremes((0.0737, math.log(2)), 0.0)).summary()
    for words in (
        "0.073726 <= L <= 0.693148 nats, by the paper's method: only the lower bound is proved",
        'local search may miss worse priors; method="certified" bounds the leakage from above',
        "one that knows nothing before the release would learn 0.000000 nats",
        "60 iterations of Algorithm 1 from 20 random starts",
    ):
        assert words in text
    for words in ("certified to", "both bounds", "%", "without any limit", "just as much", "may close it", "nodes"):
        assert words not in text
    one = parity(**{**paper, "history": history[:3], "stopped": "time_limit"}).summary()
    assert "the time limit was reached" in one
    assert "from 1 random start\n" in one + "\n"
    dense = Mechanism.from_matrix(np.random.default_rng(2).dirichlet(np.ones(3), size=12), [2, 3, 2])
    assert "record 1 attains the lower bound\n" in built(dense, 1.0, record=1, **paper).summary()


def test_the_summary_at_the_extremes() -> None:
    assert "may know everything" in parity(b=0.0).summary()
    assert "this one could learn just as much, within 1.1e-9 nats" in parity(b=1.0).summary()
    coarse = parity(b=2.2, tolerance=0.05).summary()
    assert "just as much" not in coarse
    uniform = parity(b=4 * math.log(2), lower=0.0, upper=0.0, records=Records(((range(4), 0.0, 0.0),)))
    assert "knows nothing before the release" in uniform.summary()
    assert "practically nothing" in dataclasses.replace(uniform, extremes=Extremes((0.0, 0.0), 0.0)).summary()


WIDE = {"lower": 0.2, "upper": 0.3}


@pytest.mark.parametrize(
    ("bounds", "free", "words"),
    [
        ({"lower": 0.3, "upper": 0.3 + 1e-7}, (0.3, 0.3 + 2e-7), "could learn just as much, within 2.1e-7 nats"),
        (WIDE, (0.5, 0.6), "could learn between 33.3 % and 60.0 % of that"),
        (WIDE, (0.31, 0.69), "could learn between 28.9 % and 96.8 % of that"),
        (WIDE, (0.3, 0.32), "could learn at least 62.5 % of that"),
        (WIDE, (0.25, 0.28), "could learn at least 71.4 % of that"),
        (WIDE, (0.2, math.log(2)), None),  # no more than the audit and the trivial bound say
        (WIDE, None, None),
    ],
)
def test_what_is_said_of_no_limit_is_what_is_known(
    bounds: dict[str, float], free: tuple[float, float] | None, words: str | None
) -> None:
    extremes = None if free is None else Extremes(free, 0.0)
    text = parity(**bounds, records=Records(((range(4), *bounds.values()),)), extremes=extremes).summary()
    assert ("without any limit" in text) == (words is not None)
    assert (words or "") in text
    assert ("just as much" in text) == (words is not None and "just as much" in words)
    assert ("Compare" in text) == (free is not None)


def test_shares_are_of_the_record_named_and_never_above_one() -> None:
    bits = parity(upper=math.log(2) + 1e-9, records=Records(((range(4), 0.07, math.log(2) + 1e-9),)))
    assert "that this record can hold" not in bits.summary()
    records = Records((((0,), 0.07, 0.1), ((1, 2, 3), 0.0, 0.9)))  # another record holds more, and may leak more
    assert (
        "at most 14.43 % of the 0.6931 nats that this record can hold"
        in parity(upper=0.9, stopped="method", records=records).summary()
    )


def test_privacy_is_rounded_up() -> None:
    assert [epsilon_up(x) for x in (math.log(9), 0.26186, 1.0, 0.0, math.inf)] == ["2.198", "0.2619", "1", "0", "inf"]


def test_records_that_differ_are_compared() -> None:
    dense = Mechanism.from_matrix(np.random.default_rng(2).dirichlet(np.ones(3), size=12), [2, 3, 2])
    assert (
        "record 1 attains the lower bound; record 0 has the highest upper bound"
        in built(dense, 1.0, record=1).summary()
    )
    text = built(dense, 1.0).summary()
    assert "record 0 attains the lower bound; next is record 1 with at most" in text
    assert "x = 0,0,0: " in text
    alone = built(mechanisms.symmetric(queries.identity(3), flip=0.1), 0.1)
    assert "record 0, the only one" in alone.summary()


def test_classes_are_conditions_on_the_data() -> None:
    assert class_words(queries.count(n=3).statistic, 2) == "sum = 2"
    assert class_words(queries.modular_sum(n=3, modulus=2).statistic, 1) == "sum mod 2 = 1"
    assert class_words(queries.histogram(n=2, k=2).statistic, 0) == "counts = 0,2"
    text = built(mechanisms.laplace(queries.total(n=6, values=[0, 1, 5]), epsilon=2), 1.0).summary()
    assert "record 0 = 2 (adds 5) and sum = 16" in text
