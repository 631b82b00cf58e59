import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses_saying

from dalenius.errors import InputError
from dalenius.model.gallery.parse import parse_mechanism, parse_query, with_tables

COUNT = parse_query("count(n=3)")


def test_positions_spaces_and_bare_names_are_read() -> None:
    assert str(parse_query("  modular_sum( 4 , modulus = 2 ) ")) == "modular_sum(n=4, modulus=2)"
    assert parse_mechanism("constant", COUNT).name == "constant()"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cuont(n=4)", "no query 'cuont'; did you mean 'count'?"),
        ("wxyz(n=4)", "must be one of modular_sum, count"),
        ("modular_sum(n=4, modulos=2)", "no argument 'modulos'; did you mean 'modulus'?"),
        ("modular_sum(n=4)", "lacks modulus; write modular_sum(modulus=...)"),
        ("count()", "lacks n"),
        ("count(1, 2)", "takes 1 arguments (n)"),
        ("count(1, n=2)", "gives 'n' twice"),
        ("count(n=4", "cannot read the query"),
        ("", "cannot read the query"),
        ("a.count(n=4)", "is not a call"),
        ("count(n=__import__('os').getpid())", "only those are read"),
        ("count(n=True)", "not a whole number"),
        ("count(**{'n': 4})", "only those are read"),
        ("count(n='4')", "not a whole number"),
        ("count(n=-4)", "n = -4 is too small"),
        (f"count(n=0x{'f' * 5000})", "has more than 1024 bits"),
        ("function(records=[2], f='sum')", "not available as a string"),
        ("count(n=" + "(" * 5000 + ")", "cannot read"),
        ("x" * 20_000, "20000 characters"),
    ],
)
def test_bad_query_strings_are_refused(text: str, says: str) -> None:
    refuses_saying(says, parse_query, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("geometrc(epsilon=1)", "did you mean 'geometric'"),
        ("geometric(eps=1)", "no argument 'eps'"),
        ("geometric()", "exactly one of epsilon and scale"),
        ("geometric(epsilon=0)", "epsilon = 0"),
        ("geometric(query=1, epsilon=1)", "no argument 'query'"),
        ("constant(x=1)", "it takes none"),
        ("laplace(epsilon=1, output='foo')", "output = 'foo' is unknown"),
    ],
)
def test_bad_mechanism_strings_are_refused(text: str, says: str) -> None:
    refuses_saying(says, parse_mechanism, text, COUNT)


@pytest.mark.parametrize(
    ("text", "renamed"),
    [
        ("geometric( 1 )", "geometric( 1 )"),
        ("cell_key('t', 'geometric(1)')", "cell_key('new t', 'geometric(1)')"),
        ("cell_key(table='t')", "cell_key(table='new t')"),
        ("rounding(5, mechanism=\"cell_key('t')\")", "rounding(5, mechanism=\"cell_key('new t')\")"),
        # Nothing is left out, whether the gallery knows it or not.
        ("cell_key('t', 'exact()', 3)", "cell_key('new t', 'exact()', 3)"),
        ("cell_key('t', table='s')", "cell_key('new t', table='new s')"),
        ("own(3, mechanism=\"cell_key('t')\")", "own(3, mechanism=\"cell_key('new t')\")"),
    ],
)
def test_tables_get_other_names_and_all_else_stays(text: str, renamed: str) -> None:
    assert with_tables(text, "new {}".format) == renamed


@given(st.text(max_size=60))
def test_any_text_is_a_query_or_an_input_error(text: str) -> None:
    try:
        query = parse_query(text)
    except InputError:
        return
    assert query.n >= 1  # hypothesis also tries texts that it finds in our sources
