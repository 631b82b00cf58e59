"""Releases of statistics offices, rebuilt by their names: as the gallery has them, and by their definitions."""

from fractions import Fraction

import numpy as np
import pytest

import dalenius as dl
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.verifier.forms import offices, per_record
from dalenius.verifier.forms.written import rebuild
from dalenius.verifier.kernel.balls import ONE, precision
from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")

TABLE = "[[0, 0, 1.0], [1, -1, 0.4], [1, 1, 0.4], [1, 2, 0.2], [2, 0, 0.5], [2, -1, 0.25], [2, 1, 0.25]]"
COUNT, CELLS = "count(n=6)", "histogram(n=3, k=3)"


@pytest.mark.parametrize(
    ("query", "mechanism"),
    [
        (COUNT, "exact()"),
        ("pairs(n=4)", "exact()"),
        (CELLS, "exact()"),
        (COUNT, "rounding(base=5)"),
        ("total(n=3, values=[-4, 1])", "rounding(base=4)"),
        (COUNT, "rounding(base=4, midpoint=True)"),
        (COUNT, "random_rounding(base=3)"),
        (CELLS, "random_rounding(base=2)"),
        (COUNT, f"cell_key(table={TABLE})"),
        (CELLS, f"cell_key(table={TABLE})"),
        (COUNT, "suppressed(below=3)"),
        (CELLS, "suppressed(below=2, keep_zero=False)"),
        (COUNT, "suppressed(below=3, mechanism='geometric(epsilon=1)')"),
        (CELLS, "suppressed(below=2, mechanism='geometric(epsilon=1)')"),
        (COUNT, "rounding(base=2, mechanism='suppressed(below=4, mechanism=\"random_rounding(base=3)\")')"),
        (COUNT, "rounding(base=3, mechanism='symmetric(flip=0.2)')"),
        (COUNT, "rounding(base=3, mechanism='exponential(epsilon=1)')"),
        (COUNT, "subsampled(rate=0.25)"),
        ("total(n=3, values=[0, 1, 1])", "subsampled(rate=0.25)"),
        (COUNT, "subsampled(rate=0.25, mechanism='geometric(epsilon=1)')"),
        ("pairs(n=4)", "subsampled(rate=0.25)"),
        (COUNT, "rounding(base=3, mechanism='subsampled(rate=0.5)')"),
        (COUNT, "subsampled(rate=0.5, mechanism='rounding(base=50)')"),
        (COUNT, "shuffled_response(epsilon=1)"),
        (CELLS, "shuffled_response(epsilon=1)"),
    ],
)
def test_both_implementations_agree(query: str, mechanism: str) -> None:
    built = parse_mechanism(mechanism, parse_query(query))
    assert parse_mechanism(str(built.name), built.query).name == built.name
    channel = rebuild({"query": query, "mechanism": built.name})
    found = np.array([[float(q) for q in channel.rows[t]] for t in channel.row_of])
    assert found == pytest.approx(built.rows, abs=1e-14)
    # What the solver puts together, because it is equal, the verifier puts together too.
    assert len(channel.rows) == len(np.unique(built.rows, axis=0))


def test_all_records_kept_is_the_mechanism_itself() -> None:
    inside = dl.mechanisms.rounding(dl.queries.count(n=4), 3)
    assert dl.mechanisms.subsampled(inside.query, 1, mechanism=inside) is inside
    channel = rebuild({"query": "count(n=4)", "mechanism": "subsampled(rate=1, mechanism='rounding(base=3)')"})
    assert [[float(q) for q in channel.rows[t]] for t in channel.row_of] == inside.rows.tolist()


def test_fractions_that_sum_to_one_are_one() -> None:
    """Both multiples become one output: rows of all answers are the same, and no rounding keeps them apart."""
    mechanism = "suppressed(below=9, keep_zero=False, mechanism='random_rounding(base=3)')"
    channel = rebuild({"query": COUNT, "mechanism": mechanism})
    assert len(channel.rows) == 1
    assert channel.rows[0][0] == ONE


@pytest.mark.parametrize(
    ("query", "mechanism", "words"),
    [
        (COUNT, "rounding(base=1)", "base .* 2 to"),
        (COUNT, "rounding(base=5, midpoint=1)", "midpoint is 1; it must be True or False"),
        (COUNT, "random_rounding(base=0)", "base .* 2 to"),
        (COUNT, "suppressed(below=0)", "below .* 1 to"),
        (COUNT, "suppressed(below=3, keep_zero=0)", "keep_zero is 0; it must be True or False"),
        (COUNT, "cell_key(table=[[0, 0]])", "3 are needed"),
        (COUNT, "cell_key(table=[[0, 0, 1.0]])", None),
        (COUNT, "cell_key(table=[])", "no row for the answer 0"),
        (COUNT, "cell_key(table=[[0, 0, 1.0], [2, 0, 1.0]])", "no row for the answer 1"),
        (COUNT, "cell_key(table=[[0, 0, 0.5], [0, 0, 0.5]])", "a change of the answer 0 twice"),
        (COUNT, "cell_key(table=[[0, 0, 0.5], [0, 1, 0.4]])", "for the answer 0 do not sum to 1"),
        (COUNT, "cell_key(table=[[0, 0, 1.5], [0, 1, -0.5]])", "a probability of the perturbation table"),
        (COUNT, "subsampled(rate=0)", "rate is 0; it must be above 0"),
        (COUNT, "subsampled(rate=2)", "rate"),
        (CELLS, "subsampled(rate=0.5)", "subsampled is for counts of records"),
        ("modular_sum(n=3, modulus=2)", "subsampled(rate=0.5)", "subsampled is for counts of records"),
        ("total(n=3, values=[0, 2])", "subsampled(rate=0.5)", "subsampled is for counts of records"),
        ("total(n=3, values=[1, 1])", "subsampled(rate=0.5)", "subsampled is for counts of records"),
        ("total(n=3, values=[0, 1])", "shuffled_response(epsilon=1)", "for counts and histograms"),
        ("mean(n=2, low=0, high=2)", "rounding(base=2)", "not numbers that are processed further"),
        (COUNT, "suppressed(below=2, mechanism='geometric(epsilon=1, clamp=False)')", "not numbers that are processed"),
        (
            COUNT,
            "suppressed(below=2, mechanism='laplace(epsilon=1, output=\"real\")')",
            "not numbers that are processed",
        ),
        (COUNT, "suppressed(below=2, mechanism='randomized_response(epsilon=1)')", "not numbers that are processed"),
        (CELLS, "suppressed(below=2, mechanism='noisy_max(epsilon=1)')", "not numbers that are processed"),
        (COUNT, "suppressed(below=2, mechanism=3)", "the mechanism inside must be a text"),
        (COUNT, "hadamard_response(epsilon=1)", "no table of the whole release"),
    ],
)
def test_what_makes_no_sense_is_refused(query: str, mechanism: str, words: str | None) -> None:
    problem = {"query": query, "mechanism": mechanism}
    if words is None:
        assert rebuild(problem).outputs == 7
        return
    with pytest.raises(Refused, match=words):
        rebuild(problem)


def test_what_is_too_large_is_refused() -> None:
    with sized(numbers=7), pytest.raises(Refused, match="what a vector of counts is processed into takes more"):
        offices._through((1, 1, 1), offices.KERNELS["random_rounding"]({"base": 2}))
    with sized(numbers=20), pytest.raises(Refused, match="takes more than 20 numbers"):
        rebuild({"query": COUNT, "mechanism": "rounding(base=3)"})


LOCAL = {
    "unary_encoding(epsilon=1.5)": 2**5,
    "unary_encoding(epsilon=1.5, optimised=True)": 2**5,
    "hadamard_response(epsilon=1.5)": 8,
    "subset_selection(epsilon=0.5)": 10,
    "subset_selection(epsilon=3)": 5,
}


@pytest.mark.parametrize(("mechanism", "outputs"), LOCAL.items())
def test_channels_of_one_record(mechanism: str, outputs: int) -> None:
    query = dl.queries.histogram(n=3, k=5)
    built = parse_mechanism(mechanism, query)
    local = per_record.rebuild({"query": str(query), "mechanism": mechanism})
    rows = np.array([[float(q) for q in row] for row in local.rows])
    assert rows.shape == (5, outputs)
    assert rows == pytest.approx(built.rows, abs=1e-15)
    assert local.response == (mechanism == "subset_selection(epsilon=3)")
    epsilon = Fraction(mechanism.partition("epsilon=")[2].rstrip(")").partition(",")[0])
    assert built.dp_epsilon() == pytest.approx(float(epsilon))
    audit = dl.audit(built, knowledge=0.1, relative=0.1, verify=False)
    assert verify_here(audit.certificate.data).verified


def test_channels_of_one_record_that_make_no_sense() -> None:
    problem = {"query": "identity(k=5)", "mechanism": "unary_encoding(epsilon=1, optimised=1)"}
    with pytest.raises(Refused, match="optimised is 1; it must be True or False"):
        per_record.rebuild(problem)
    with sized(numbers=20), pytest.raises(Refused, match="the channel of one record takes more"):
        _ = per_record.rebuild(problem | {"mechanism": "hadamard_response(epsilon=1)"}).rows
    with precision(4), pytest.raises(Refused, match="too near to the middle of two whole numbers"):
        per_record.subset_size(Fraction(1), 50)


@pytest.mark.parametrize(
    ("mechanism", "other"),
    [
        ("random_rounding(base=3)", "random_rounding(base=4)"),
        ("suppressed(below=3)", "suppressed(below=4)"),
        ("suppressed(below=3)", "suppressed(below=3, keep_zero=False)"),
        (f"cell_key(table={TABLE})", f"cell_key(table={TABLE.replace('-0.4', '0.4').replace('0.5', '0.50001')})"),
        ("subsampled(rate=0.25)", "subsampled(rate=0.26)"),
        ("shuffled_response(epsilon=1)", "shuffled_response(epsilon=2)"),
        ("rounding(base=3, mechanism='subsampled(rate=0.5)')", "rounding(base=3)"),
    ],
)
def test_a_certificate_of_another_release_is_refused(mechanism: str, other: str) -> None:
    audit = dl.audit(parse_mechanism(mechanism, dl.queries.count(n=5)), knowledge=0.3, verify=False)
    data = audit.certificate.data
    assert verify_here(data).verified
    assert not verify_here({**data, "problem": {**data["problem"], "mechanism": other}}).verified
