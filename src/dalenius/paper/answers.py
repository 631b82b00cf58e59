"""From what the paper's search found to what users hold."""

from dataclasses import replace

from dalenius.auditing.evidence import found_of
from dalenius.designing.cutting_planes import Problem
from dalenius.model.problem import AuditProblem, DesignProblem
from dalenius.paper.method import Alternated, Searched
from dalenius.results.answers import Run, audit_answer, design_answer, why_stopped
from dalenius.results.audit import Audit
from dalenius.results.design import Design


def paper_audit_answer(problem: AuditProblem, searched: Searched, run: Run) -> Audit:
    """Return what the paper's search proves: its witness below, the trivial bound above."""
    found = found_of(problem, searched.found, searched.witness)
    answer = audit_answer(problem, replace(found, proved="lower", finished=searched.finished), run)
    return replace(answer, history=searched.history, repairs=searched.repairs)


def paper_design_answer(
    asked: DesignProblem, problem: Problem, found: Alternated, *, budget: float, run: Run
) -> Design:
    """Return the mechanism of the paper's alternation with what its audit proves; budget as the user gave it.

    Where the audit does not prove that a leakage budget is kept, the least distortion is still at most that of the
    best constant, which leaks nothing, and what is certified is the leakage of the mechanism.
    """
    answer = design_answer(asked, problem, found.designed, budget=budget, run=run)
    if not (problem.goal == "leakage" or _kept(problem, answer.leakage)):
        upper = _rounded_up(problem.distortion(problem.constant()))
        answer = replace(answer, upper=upper, certificate=answer.leakage.certificate)
    finished = found.finished and run.deadline.left > 0
    return replace(
        answer,
        proved="upper",
        stopped=why_stopped((answer.lower, answer.upper), run, finished=finished),
        history=found.history,
        reported=found.reported / run.nats,
        repairs=found.repairs,
        reading=found.reading,
    )


def _rounded_up(distortion: float, rounding: float = 1e-12) -> float:
    """Add more, relatively, than the sum of a distortion over datasets can lose."""
    return distortion * (1 + rounding)


def _kept(problem: Problem, leakage: Audit) -> bool:
    """Whether a verifier agrees that the leakage budget is kept: a constant leaks nothing, whatever is stated."""
    rows = leakage.mechanism.written().rows
    constant = bool((rows == rows[0]).all())
    slack = problem.settings.designing.no_leakage if problem.budget == 0 and problem.knowledge == 0 else 0.0
    return constant or leakage.certificate.upper <= problem.budget + slack
