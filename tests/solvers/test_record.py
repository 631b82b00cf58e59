"""One record's bracket: it holds after every stage, and the proofs on offer belong to their bounds."""

import itertools

import brute_force
import numpy as np
import pytest
from cases import named, random_channel

from dalenius.model.mechanism import Mechanism
from dalenius.reductions.lump import lump
from dalenius.solvers.audit import audit_records
from dalenius.solvers.cells import Cells
from dalenius.solvers.record import Record, Reference
from dalenius.solvers.watch import Watch


def begun(mechanism: Mechanism, knowledge: float, record: int = 0, tolerance: float = 1e-6) -> tuple[Record, Watch]:
    lumped, _ = lump(mechanism, record)
    trivial = float(np.log(min(lumped.secrets, len(mechanism.labels))))
    audit, watch = Record(Cells(lumped, knowledge), trivial, tolerance), Watch(60.0)
    audit.begin(watch, np.random.default_rng(0))
    return audit, watch


@pytest.mark.parametrize("seed", range(3))
def test_the_bracket_holds_after_every_stage(seed: int) -> None:
    records, outputs = [([2, 2], 3), ([3, 2], 2), ([2, 2, 2], 2), ([2, 3], 3)][seed]
    mechanism = random_channel(records, outputs, 50 + seed)
    b = 0.7 * mechanism.log_universe
    truth = brute_force.best_prior(mechanism.matrix(), records, b, 0, starts=4, seed=0)[0]
    audit, watch = begun(mechanism, mechanism.log_universe - b, tolerance=1e-4)
    seen = [(audit.lower, audit.upper)]
    audit.finish(watch, 0.0, lambda: seen.append((audit.lower, audit.upper)))
    seen.append((audit.lower, audit.upper))
    assert all(lower <= truth + 1e-5 for lower, _ in seen)
    assert all(upper >= truth - 1e-10 for _, upper in seen)
    assert all(a[1] >= b[1] - 1e-12 and a[0] <= b[0] + 1e-12 for a, b in itertools.pairwise(seen))
    assert audit.gap <= 1e-4


def test_the_best_bound_so_far_is_kept_while_a_tree_grows() -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=1)")
    audit, watch = begun(mechanism, mechanism.log_universe - 2.0, tolerance=3e-3)
    uppers = [audit.upper]
    audit.finish(watch, 0.0, lambda: uppers.append(audit.upper))
    assert len(uppers) > 5
    assert all(later <= earlier for earlier, later in itertools.pairwise(uppers))


def test_without_knowledge_the_reference_answers() -> None:
    mechanism = random_channel([2, 2], 3, 1)
    audit, _ = begun(mechanism, 0.0)
    at_uniform = brute_force.information(brute_force.joint_of(np.full(4, 0.25), mechanism.matrix(), [2, 2], 0))
    assert isinstance(audit.proof, Reference)
    assert audit.lower == pytest.approx(at_uniform, abs=1e-14)
    assert audit.upper == pytest.approx(at_uniform, abs=1e-14)


def test_a_record_that_cannot_be_the_worst_is_left() -> None:
    mechanism = random_channel([3, 3], 3, 1)
    audit, watch = begun(mechanism, mechanism.log_universe - 1.8)
    before = watch.nodes
    audit.finish(watch, audit.upper, lambda: None)
    assert watch.nodes == before
    assert audit.gap > 1e-4


def test_one_audit_per_orbit_of_interchangeable_records() -> None:
    mechanism = named("count(n=4)", "geometric(epsilon=1)")
    found = audit_records(mechanism, 1.0, 1e-1, Watch(60.0), 0)
    assert [list(item.members) for item in found] == [[0, 1, 2, 3]]
    unlike = random_channel([2, 3], 2, 0)
    found = audit_records(unlike, 0.3, 1e-1, Watch(60.0), 0)
    assert sorted(item.record for item in found) == [0, 1]
