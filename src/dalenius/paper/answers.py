"""From what the paper's search found to what users hold."""

from dataclasses import replace

from dalenius.designing.cutting_planes import Problem
from dalenius.designing.designer import NOTHING
from dalenius.model.adversary import Adversary
from dalenius.model.distortion import Distortion
from dalenius.model.mechanism import Mechanism
from dalenius.paper.method import Alternated, Searched
from dalenius.results.answers import Run, audit_of_witness, design_answer, ended
from dalenius.results.audit import Audit
from dalenius.results.design import Design


def paper_audit_answer(mechanism: Mechanism, adversary: Adversary, searched: Searched, run: Run) -> Audit:
    """Return what the paper's search proves: its witness below, the trivial bound above."""
    answer = audit_of_witness(mechanism, adversary, searched.found, searched.witness, run)
    stopped = ended(run.deadline, finished=searched.finished)
    return replace(answer, proved="lower", stopped=stopped, history=searched.history, repairs=searched.repairs)


def paper_design_answer(  # noqa: PLR0913 - what was asked, and what was found
    distortion: Distortion, adversary: Adversary, problem: Problem, found: Alternated, *, budget: float, run: Run
) -> Design:
    """Return the mechanism of the paper's alternation with what its audit proves; budget as the user gave it.

    Where the audit does not prove that a leakage budget is kept, the least distortion is still at most that of the
    best constant, which leaks nothing, and what is certified is the leakage of the mechanism.
    """
    answer = design_answer(distortion, adversary, problem, found.designed, budget=budget, run=run)
    stopped = ended(run.deadline, finished=found.finished and run.deadline.left > 0)
    answer = replace(
        answer,
        proved="upper",
        stopped=stopped,
        history=found.history,
        reported=found.reported / run.nats,
        repairs=found.repairs,
        reading=found.reading,
    )
    if problem.goal == "leakage" or _kept(problem, answer.leakage):
        return answer
    upper = _rounded_up(problem.distortion(problem.constant()))
    return replace(answer, upper=upper, certificate=answer.leakage.certificate)


def _rounded_up(distortion: float, rounding: float = 1e-12) -> float:
    """Add more, relatively, than the sum of a distortion over datasets can lose."""
    return distortion * (1 + rounding)


def _kept(problem: Problem, leakage: Audit) -> bool:
    """Whether a verifier agrees that the leakage budget is kept: a constant leaks nothing, whatever is stated."""
    constant = bool((leakage.mechanism.rows == leakage.mechanism.rows[0]).all())
    slack = NOTHING if problem.budget == 0 and problem.knowledge == 0 else 0.0
    return constant or leakage.certificate.upper <= problem.budget + slack
