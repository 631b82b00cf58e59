"""What is asked, as one object that travels."""

import pickle
from dataclasses import FrozenInstanceError, replace

import pytest
from cases import named, posed

import dalenius as dl
from dalenius.model.adversary import Adversary
from dalenius.model.distortion import Distortion
from dalenius.model.problem import DesignProblem
from dalenius.model.reference import Reference
from dalenius.settings import DEFAULT

MECHANISM = named("count(n=3)", "geometric(epsilon=1)")


def test_an_audit_problem_names_what_its_adversary_knows() -> None:
    reference = Reference.from_user([0.8, 0.2], MECHANISM.records)
    problem = posed(MECHANISM, 0.3, 1e-4, 0, reference)
    assert (problem.knowledge, problem.reference, problem.secret) == (0.3, reference, 0)
    assert problem.settings is DEFAULT
    with pytest.raises(FrozenInstanceError):
        problem.tolerance = 1.0
    again = pickle.loads(pickle.dumps(problem))
    assert again.mechanism.describe() == MECHANISM.describe()
    assert again.adversary.knowledge == 0.3


def test_a_design_audits_against_its_own_adversary() -> None:
    query = dl.queries.count(n=3)
    settings = dl.Settings(tolerance_share=0.5)
    adversary = Adversary.from_user(query.records, entropy=1.0)
    asked = DesignProblem(Distortion.from_user(query), adversary, "leakage", 0.3, 1e-3, settings)
    assert asked.query is query
    audit = asked.audit(MECHANISM, 1e-5)
    assert (audit.mechanism, audit.adversary, audit.secret) == (MECHANISM, adversary, None)
    assert (audit.tolerance, audit.settings) == (1e-5, settings)
    assert replace(asked, budget=0.5).budget == 0.5
