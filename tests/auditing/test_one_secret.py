"""One record's bracket: it holds after every stage, and the proofs on offer belong to their bounds."""

import itertools

import brute_force
import numpy as np
import pytest
from cases import LN2, named, parity_leakage, posed, random_channel

import dalenius as dl
from dalenius.auditing.all_records import audit_records, bracket
from dalenius.auditing.one_secret import SecretAudit
from dalenius.bounds.trees.posterior_tree import PosteriorTree
from dalenius.model.channels.mechanism import Mechanism
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT, Settings, only


def begun(
    mechanism: Mechanism, knowledge: float, record: int = 0, tolerance: float = 1e-6, settings: Settings = DEFAULT
) -> tuple[SecretAudit, Deadline]:
    lumped, _ = lump(mechanism, record)
    trivial = float(np.log(min(lumped.secrets, len(mechanism.labels))))
    audit, deadline = SecretAudit(Cells(lumped, knowledge, settings), trivial, tolerance), Deadline(60.0)
    rng = np.random.default_rng(0)
    audit.open_bracket(deadline, rng)
    audit.climb(deadline, rng)
    return audit, deadline


@pytest.mark.parametrize("seed", range(3))
def test_the_bracket_holds_after_every_stage(seed: int) -> None:
    records, outputs = [([2, 2], 3), ([3, 2], 2), ([2, 2, 2], 2), ([2, 3], 3)][seed]
    mechanism = random_channel(records, outputs, 50 + seed)
    b = 0.7 * mechanism.log_universe
    truth = brute_force.best_prior(mechanism.matrix(), records, b, 0, starts=4, seed=0)[0]
    audit, deadline = begun(mechanism, mechanism.log_universe - b, tolerance=1e-4)
    seen = [(audit.lower, audit.upper)]
    audit.finish(deadline, 0.0, lambda: seen.append((audit.lower, audit.upper)))
    seen.append((audit.lower, audit.upper))
    assert all(lower <= truth + 1e-5 for lower, _ in seen)
    assert all(upper >= truth - 1e-10 for _, upper in seen)
    assert all(a[1] >= b[1] - 1e-12 and a[0] <= b[0] + 1e-12 for a, b in itertools.pairwise(seen))
    assert audit.gap <= 1e-4


def test_a_record_that_cannot_be_the_worst_is_left() -> None:
    mechanism = random_channel([3, 3], 3, 1)
    audit, deadline = begun(mechanism, mechanism.log_universe - 1.8)
    before = deadline.nodes
    audit.finish(deadline, audit.upper, lambda: None)
    assert deadline.nodes == before
    assert audit.gap > 1e-4


def test_one_audit_per_orbit_of_interchangeable_records() -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=1)")
    found = audit_records(posed(mechanism, 1.0, 1e-1), Deadline(60.0), 0)
    assert [list(item.members) for item in found] == [[0, 1, 2, 3]]
    unlike = random_channel([2, 3], 2, 0)
    found = audit_records(posed(unlike, 0.3, 1e-1), Deadline(60.0), 0)
    assert sorted(item.record for item in found) == [0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_simplices_and_posteriors_meet(seed: int) -> None:
    mechanism = random_channel(*[([2, 2], 3), ([3, 2], 2), ([2, 3], 3)][seed], 60 + seed)
    knowledge = 0.3 * mechanism.log_universe
    every, deadline = begun(mechanism, knowledge, tolerance=1e-4)
    every.finish(deadline, 0.0, lambda: None)
    found = [every]
    for kind in ("simplices", "posteriors"):
        audit, deadline = begun(mechanism, knowledge, tolerance=1e-4, settings=Settings(portfolio=only(kind)))
        audit.finish(deadline, 0.0, lambda: None)
        assert audit.proof.kind == kind
        found.append(audit)
    assert max(audit.lower for audit in found) <= min(audit.upper for audit in found) + 1e-12
    assert all(audit.gap <= 1e-4 for audit in found)


def test_simplices_need_the_cells_that_a_verifier_finds() -> None:
    settings = Settings(portfolio=only("simplices", "posteriors"))
    mechanism = named("count(n=3)", "geometric(epsilon=1)")
    lumped, _ = lump(mechanism, 0)
    audit, deadline = SecretAudit(Cells(lumped, 0.4, settings), LN2, 1e-4, exact_cells=False), Deadline(60.0)
    rng = np.random.default_rng(0)
    audit.open_bracket(deadline, rng)
    audit.climb(deadline, rng)
    audit.finish(deadline, 0.0, lambda: None)
    assert isinstance(audit.proof, PosteriorTree)
    assert audit.gap <= 1e-4


def test_an_upper_bound_that_is_enough_ends_the_audit() -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=1)")
    knowledge = mechanism.log_universe - 2.0
    deadline = Deadline(60.0)
    enough = 0.45
    found = audit_records(posed(mechanism, knowledge, 1e-7), deadline, 0, enough=enough)
    low, high = bracket(found)
    assert high <= enough
    assert low <= 0.37404711931908063 + 5e-5
    finer = Deadline(60.0)
    found = audit_records(posed(mechanism, knowledge, 1e-3), finer, 0)
    assert deadline.nodes < finer.nodes
    assert bracket(found)[1] - bracket(found)[0] <= 1e-3


def test_enough_is_no_excuse_where_the_truth_is_above_it() -> None:
    mechanism = named("modular_sum(n=3, modulus=2)", "symmetric(flip=0.1)")
    found = audit_records(posed(mechanism, 3 * LN2 - 1.8, 1e-5), Deadline(60.0), 0, enough=0.01)
    low, high = bracket(found)
    assert low - 1e-9 <= parity_leakage(3, 0.1, 1.8) <= high + 1e-9
    assert high - low <= 1e-5


def test_choices_are_not_searched_once_the_bracket_has_closed() -> None:
    audit, deadline = begun(named("count(n=60)", "geometric(epsilon=1)"), 0.1)
    assert audit.gap <= 1e-6
    assert audit.warm.choices is not None
    assert audit.warm.choices.nodes.size == 1  # the root alone
    assert deadline.nodes == 0
    low, high = audit.unconstrained
    assert audit.lower <= low <= high <= audit.trivial


@pytest.mark.parametrize(
    ("records", "outputs", "kind"),
    [([2, 2, 2], 8, "posteriors"), ([2, 2], 9, "simplices"), ([3, 3], 3, "simplices")],
)
def test_simplices_come_first_where_cells_are_fewer_than_boxes(records: list[int], outputs: int, kind: str) -> None:
    audit, deadline = begun(random_channel(records, outputs, 5), 0.4, tolerance=1e-3)
    audit.finish(deadline, 0.0, lambda: None)
    assert audit.proof.kind == kind
    assert audit.gap <= 1e-3


def test_an_audit_goes_on_where_it_was_left() -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=1)")
    whole, deadline = begun(mechanism, mechanism.log_universe - 2.0, tolerance=1e-4)
    spent = whole.finish(deadline, -np.inf, lambda: None)
    parts, other = begun(mechanism, mechanism.log_universe - 2.0, tolerance=1e-4)
    turns = [parts.finish(other, -np.inf, lambda: None, 2) for _ in range(spent)]
    assert sum(turns) == spent
    assert max(turns) == 2
    assert (parts.lower, parts.upper, other.nodes) == (whole.lower, whole.upper, deadline.nodes)


def test_a_record_that_was_left_is_closed_when_it_is_asked_for_again() -> None:
    mechanism = random_channel([3, 3], 3, 1)
    audit, deadline = begun(mechanism, mechanism.log_universe - 1.8, tolerance=1e-4)
    audit.finish(deadline, audit.lower + 0.5 * audit.gap, lambda: None)
    assert audit.gap > 1e-4
    audit.finish(deadline, -np.inf, lambda: None)
    assert audit.gap <= 1e-4


@pytest.mark.slow
def test_chains_do_not_begin_from_rows_that_floats_are_too_short_for() -> None:
    # e^-10000 is 0 in floats. Chains from there met below what a prior leaks, and the audit called its bracket closed.
    mechanism = dl.mechanisms.gaussian(dl.queries.count(n=801), sigma=5)
    alone = Settings(portfolio=only("monotone"))
    audit = dl.audit(mechanism, knowledge=0.5, settings=alone, relative=0.5, verify=False)
    assert audit.upper > audit.lower + 0.01
    assert dl.verify(audit.certificate).verified
