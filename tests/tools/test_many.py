"""Many audits in one call: results of single audits, errors that name the mechanism, no hole after Ctrl-C or deaths."""

from typing import Any

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.model.problem import AuditProblem
from dalenius.search.helper import Helper
from dalenius.tools import many

M, Q = dl.mechanisms, dl.queries
QUICK: dict[str, Any] = {"tolerance": 1e-3, "jobs": 1}


def mixed() -> tuple[list[dl.Mechanism], list[float]]:
    """Problems of several shapes: counts, a parity, a matrix, a prior without a choice."""
    rows = np.random.default_rng(1).dirichlet(np.ones(3), 4)
    counts = [M.geometric(Q.count(n=3), epsilon=epsilon) for epsilon in (0.4, 1.2, 2.0)]
    others = [M.symmetric(Q.modular_sum(n=3, modulus=2), flip=0.2), dl.Mechanism.from_matrix(rows, [2, 2])]
    return [*counts, *others, M.gaussian(Q.count(n=2), sigma=1.0)], [0.3, 0.5, 0.4, 0.5, 0.1, 0.0]


def test_each_result_is_that_of_a_single_audit_certificate_included() -> None:
    mechanisms, knowledge = mixed()
    found = dl.audit_many(mechanisms, knowledge=knowledge, **QUICK)
    for mechanism, own, audit in zip(mechanisms, knowledge, found, strict=True):
        single = dl.audit(mechanism, knowledge=own, tolerance=1e-3)
        assert audit.certificate.data == single.certificate.data
        assert (audit.lower, audit.upper, audit.nodes) == (single.lower, single.upper, single.nodes)
        assert (audit.stopped, audit.verified, audit.mechanism) == ("gap", True, mechanism)


def test_one_adversary_for_all_and_options_of_an_audit() -> None:
    mechanisms = [M.symmetric(Q.modular_sum(n=2, modulus=2), flip=flip) for flip in (0.1, 0.3)]
    told: list[Any] = []
    found = dl.audit_many(mechanisms, entropy=1.5, unit="bits", secret=0, verify=False, progress=told.append, **QUICK)
    assert [audit.entropy for audit in found] == pytest.approx([1.5, 1.5])
    assert [(audit.unit, audit.secret, audit.verified) for audit in found] == [("bits", 0, None)] * 2
    assert sorted(progress.record for progress in told) == [0, 1]
    limited = dl.audit_many([M.geometric(Q.count(n=4), epsilon=2)], knowledge=0.5, nodes=100, verify=False, jobs=1)
    assert limited[0].stopped == "nodes"
    assert dl.audit_many([], knowledge=0.5) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"knowledge": [0.5, -1.0]}, "mechanism 1: knowledge = -1"),
        ({"knowledge": [0.5]}, "knowledge lists 1 values for 2 mechanisms"),
        ({"knowledge": 0.5, "secret": 7}, "mechanism 0: "),
        ({}, "mechanism 0: give exactly one of knowledge and entropy"),
        ({"knowledge": 0.5, "jobs": 0}, "jobs = 0"),
        ({"mechanisms": M.geometric(Q.count(n=2), epsilon=1), "knowledge": 1}, "for one mechanism, call dl.audit"),
        ({"mechanisms": [M.geometric(Q.count(n=2), epsilon=1), "count"], "knowledge": 1}, "mechanism 1: audit needs a"),
    ],
)
def test_an_error_names_the_mechanism_before_any_work(arguments: dict[str, Any], words: str) -> None:
    given = {"mechanisms": [M.geometric(Q.count(n=2), epsilon=epsilon) for epsilon in (1, 2)], **arguments}
    refuses(words, dl.audit_many, given.pop("mechanisms"), **given)


def test_options_that_no_audit_has_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'tolerence'"):
        dl.audit_many([], knowledge=0.5, tolerence=1e-3)


def test_an_error_of_the_search_itself_names_the_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanisms, knowledge = mixed()
    solve = many.solve

    def refuse(problem: AuditProblem, *given: Any, **options: Any) -> dl.Audit:
        if problem.mechanism == mechanisms[2]:
            message = "too large"
            raise dl.InputError(message)
        return solve(problem, *given, **options)

    monkeypatch.setattr(many, "solve", refuse)
    refuses("mechanism 2: too large", dl.audit_many, mechanisms, knowledge=knowledge, **QUICK)


def test_a_process_that_dies_leaves_its_part_to_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every helper is dead before it is asked."""

    class Dead(Helper):
        def __init__(self) -> None:
            super().__init__()
            self.end()

    monkeypatch.setattr(many, "Helper", Dead)
    monkeypatch.setattr(many, "PART", 2)
    mechanisms, knowledge = mixed()
    found = dl.audit_many(mechanisms, knowledge=knowledge, tolerance=1e-3, verify=False, jobs=3)
    assert [audit.stopped for audit in found] == ["gap"] * len(mechanisms)


@pytest.mark.slow
def test_two_processes_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "PART", 2)
    mechanisms, knowledge = mixed()
    one, two = (dl.audit_many(mechanisms, knowledge=knowledge, tolerance=1e-3, jobs=jobs) for jobs in (1, 2))
    assert [audit.certificate.data for audit in one] == [audit.certificate.data for audit in two]
    assert all(audit.verified for audit in two)
