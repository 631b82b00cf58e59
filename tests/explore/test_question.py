"""Fields of the page's address become questions of the library, or a sentence."""

import math
from inspect import signature

import pytest
from refusals import refuses

from dalenius.errors import InputError
from dalenius.explore.controls import CONTROLS, MECHANISMS, QUERIES, fits
from dalenius.explore.question import Question, as_sentence
from dalenius.model.gallery.families import FAMILIES
from dalenius.model.gallery.parse import parse_mechanism, parse_query


def call(query: str, mechanism: str) -> Question:
    return Question.from_fields({"query": query, "mechanism": mechanism})


@pytest.mark.parametrize("query", [one.name for one in QUERIES])
def test_the_page_offers_exactly_the_mechanisms_that_the_gallery_has_for_a_query(query: str) -> None:
    offered = {one.name for one in MECHANISMS}
    assert offered == set(FAMILIES)
    for mechanism in offered:
        asked = call(query, mechanism)
        try:
            parse_mechanism(str(asked.mechanism), parse_query(str(asked.query)))
        except InputError:
            assert not fits(query, mechanism)
        else:
            assert fits(query, mechanism)


def test_controls_are_named_as_the_arguments_are() -> None:
    for mechanism in MECHANISMS:
        family = FAMILIES[mechanism.name]
        assert set(mechanism.takes) <= set(signature(family.build).parameters)
        assert family.parameter is None or mechanism.takes == (family.parameter.name,)
    assert {name for one in (*QUERIES, *MECHANISMS) for name in one.takes} == set(CONTROLS)


def test_a_perturbation_table_is_written_in_rows() -> None:
    asked = Question.from_fields({"mechanism": "cell_key", "table": "0 0 1; 1, -1, .25; 1 0 .5; 1 1 .25;"})
    assert asked.mechanism == "cell_key(table=[[0, 0, 1], [1, -1, 0.25], [1, 0, 0.5], [1, 1, 0.25]])"
    for wrong, words in (("0 0", "has the row '0 0'; a row is answer, change"), ("0 0 x", "'x' is not a number")):
        with pytest.raises(InputError, match=words):
            Question.from_fields({"mechanism": "cell_key", "table": wrong})


def test_fields_of_another_query_are_left_out_and_names_are_texts() -> None:
    asked = Question.from_fields({"query": "count", "n": "3", "modulus": "7", "names": 'no, "yes"', "flip": "0.2"})
    assert asked.query == 'count(n=3, names=["no", "\\"yes\\""])'
    assert parse_query(asked.query).names == ("no", '"yes"')
    assert asked.mechanism == "geometric(epsilon=1)"
    assert asked.against == {"knowledge": 0.5}


def test_no_limit_and_independence_and_public_frequencies() -> None:
    assert Question.from_fields({"knowledge": "inf"}).knowledge == math.inf
    asked = Question.from_fields({"adversary": "independent", "reference": "0.9, 0.1"})
    assert asked.against == {"adversary": "independent", "reference": [0.9, 0.1]}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"n": "x"}, "n = 'x' is not a number; write one such as 4"),
        ({"n": "2.5"}, "n = 2.5 is not a whole number"),
        ({"n": "1e9"}, "is above 1e\\+06"),
        ({"n": "nan"}, "is not a number"),
        ({"query": "total", "values": "1,b"}, "is not a list of whole numbers"),
        ({"query": "nothing"}, "query = 'nothing' is unknown; it must be one of count"),
        ({"knowledge": "-1"}, "is below 0"),
        ({"reference": "0.9;x"}, "public frequencies = 'x'"),
        ({"reference": "0," * 300}, "list 301 numbers"),
        ({"tolerance": "1e-30"}, "tolerance = '1e-30' is unknown"),
        ({"channel": "/etc/passwd"}, "there is no field 'channel'"),
        ({"load": "x"}, "there is no field 'load'"),
        ({"knowlege": "1"}, "did you mean 'knowledge'"),
    ],
)
def test_what_cannot_be_asked_is_refused(fields: dict[str, str], sentence: str) -> None:
    refuses(sentence, Question.from_fields, fields)


def test_sentences_begin_with_a_capital_but_names_of_fields_stay() -> None:
    assert as_sentence("say it") == "Say it"
    assert as_sentence("n = 3 is odd") == "n = 3 is odd"
