from dataclasses import replace

import pytest
from design_samples import any_design, parity_design, parity_frontier

import dalenius as dl
from dalenius.certificates.certificate import Certificate
from dalenius.designing import known_others
from dalenius.model.gallery import mechanisms, queries
from dalenius.numerics.rounding import written_up
from dalenius.results.result import Step


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.1, "0.1"),
        (0.0, "0"),
        (0.5819767068693265, "0.5819768"),
        (12.0, "12"),
        (1e-9, "0.000000001"),
        (2e8, "200000000"),
    ],
)
def test_distortions_are_written_as_people_write_them_and_never_below(x: float, text: str) -> None:
    assert written_up(x) == text


def test_the_summary_says_what_was_asked_and_what_was_found() -> None:
    text = parity_design().summary()
    for words in (
        "a mechanism for modular_sum(n=4, modulus=2): 4 records, 16 datasets, 2 outputs",
        "the least leakage about a record with an expected absolute error of at most 0.1",
        "0.324626 <= least leakage <= 0.324629 nats; the gap is at most 2.0e-6; certificate attached, not yet checked",
        "no mechanism with these outputs does better than the one found by more than 0.01 %",
        "leaks 0.324626 to 0.324629 nats about a record\n",
        "its expected absolute error is at most 0.1\n",
        "it is differentially private with epsilon = 2.198",
        "knows at most 0.5726 of 2.773 nats: H(X) >= 2.2",
        "modular_sum = 0  0.9000  0.1000",
        "the gap is within the tolerance 0.0001; 1.25 s, 9 rounds",
    ):
        assert words in text


def test_the_summary_of_the_other_problem_and_unit() -> None:
    text = parity_design(goal="distortion", unit="bits", b=3.5).summary()
    assert "the least expected absolute error with a leakage of at most 0.302685135 bits" in text
    assert "0.099997 <= least absolute error <= 0.100001; the gap" in text
    assert "leaks 0.302683 to 0.302686 bits about a record" in text


def test_the_summary_at_the_ends() -> None:
    noiseless = parity_design(0.0).summary()
    assert "not differentially private at any epsilon" in noiseless
    nothing = parity_design(0.5, lower=0.0).summary()
    assert "epsilon = 0" in nothing
    assert "more than" not in nothing


def test_the_summary_tells_of_open_gaps_and_why() -> None:
    limit = parity_design(lower=0.3, stopped="time_limit").summary()
    assert "the time limit was reached; 1.25 s" in limit
    assert "the gap of 2.5e-2 is open" in limit
    assert "it was interrupted" in parity_design(lower=0.3, stopped="interrupted").summary()
    over = parity_design(lower=0.3, stopped="method").summary()
    assert "no better mechanism or bound was found" in over
    assert "more time" in limit
    assert "more time" not in over


def test_the_summary_of_the_papers_method_claims_no_more_than_it_proves() -> None:
    history = (Step(0, 0, 0.2, 1.0, 0.1, 0.02), Step(1, 0, 0.3, 0.25, 0.0, 0.01))
    paper = {"lower": 0.0, "proved": "upper", "stopped": "method", "history": history, "rounds": 2}
    text = parity_design(**paper, reported=0.1932).summary()
    for words in (
        "least leakage <= 0.324629 nats, attained by this mechanism: only this upper bound is proved",
        'others may do better; method="certified" bounds the least leakage from below',
        "the alternation reports 0.1932 nats; the mechanism it returns leaks 0.324626 to 0.324629 nats about",
        "2 iterations of Algorithm 6 from 2 random starts",
    ):
        assert words in text
    assert "both bounds" not in text
    assert "may close it" not in text

    design = parity_design(goal="distortion", budget=0.2, upper=0.5, reported=0.2, **paper)
    certificate = Certificate({"format": "dalenius/audit-certificate", **design.leakage.certificate.data})
    text = replace(design, certificate=certificate).summary()
    assert "least absolute error <= 0.500000, attained by a constant answer, which leaks nothing: " in text
    assert "only this upper bound is known" in text
    assert "it exceeds its budget of 0.2 nats: do not use it where that must hold" in text
    assert "Algorithm 9" in text
    near = replace(design, certificate=certificate, budget=design.leakage.lower)
    assert "it is not certified to keep its budget" in near.summary()


def test_long_tables_are_cut() -> None:
    lines = any_design(queries.count(n=60), mechanisms.geometric(queries.count(n=60), epsilon=1)).summary().splitlines()
    assert sum("count = " in line for line in lines) == 12
    assert "... 49 more rows and 49 more outputs left out" in "\n".join(lines)
    assert "count = 30" in "\n".join(lines)  # the middle
    assert all(len(line) <= 109 + 11 for line in lines if "count = " in line)


def test_a_frontier_is_a_table_of_true_digits() -> None:
    lines = parity_frontier().summary().splitlines()
    assert lines[0] == "absolute error at most   least leakage of any mechanism (nats)"
    guess = "; a guess right in 50 % is then right in at most 88 %"
    assert lines[2] == f"                   0.1   0.324626 to 0.324629{guess}"
    assert lines[-1] == "certificates attached, not yet checked: verify() or dalenius verify FILE checks them"
    assert " ".join(lines[8].split()) == "mechanism absolute error leaks at most above the best by"
    assert lines[9].split()[:5] == ["symmetric(flip=0.05)", "0.05", "0.430797", "at", "most"]
    assert 0 < float(lines[9].split()[-1]) < 0.02
    frontier = parity_frontier()
    point = frontier.named[0]
    worse = replace(point, leakage=replace(point.leakage, lower=0.6, upper=0.6))
    low, _, high = replace(frontier, named=(worse,)).summary().splitlines()[9].split()[-3:]
    assert 0.6 - 0.4488 <= float(low) <= 0.6 - 0.430798 <= float(high)


def test_a_programme_that_was_not_solved_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    query = dl.queries.histogram(n=3, k=2)
    solved = dl.design(query, adversary="independent", leakage=0.1)
    assert "was not solved" not in solved.summary()
    monkeypatch.setattr(known_others.Programme, "solve", lambda *_: None)
    design = dl.design(query, adversary="independent", leakage=0.1)
    assert design.lower == 0
    assert "the programme over 4 classes of datasets and 4 outputs was not solved" in design.summary()
    assert "fewer records, values or outputs (outputs=) may fit" in design.summary()
