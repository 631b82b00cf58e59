"""All records together: what is tried of a channel that is held in another way, and who has its turn when."""

from dataclasses import replace

import numpy as np
import pytest
from cases import named, posed, random_channel
from verdicts import holds

import dalenius as dl
from dalenius.auditing.all_records import audit_records, bracket
from dalenius.model.reference import Reference
from dalenius.search.deadline import Deadline
from dalenius.settings import only


@pytest.mark.parametrize(
    ("secret", "reference", "sigma", "kind"),
    [
        (None, None, 20, "power"),
        (None, None, 60, "blend"),
        ([0, 1], None, 60, "blend"),
        (None, [0.8, 0.2], 60, "blend"),
    ],
)
def test_written_noise_on_a_sum_has_the_closed_forms_too(
    secret: list[int] | None, reference: list[float] | None, sigma: int, kind: str
) -> None:
    mechanism = named("count(n=450)", f"gaussian(sigma={sigma})")
    settings = dl.Settings(portfolio=only("formulas"))
    given = {"secret": secret, "reference": reference, "settings": settings}
    audit = dl.audit(mechanism, knowledge=0.05, **given)
    assert audit.bounds == kind
    assert 0 < audit.lower < audit.upper < 0.05
    assert audit.prior.leakage() >= audit.lower - 1e-9
    assert audit.extremes.unconstrained[0] >= audit.lower - 1e-12
    holds(audit, mechanism)


def test_what_needs_rows_keeps_them() -> None:
    mechanism = named("count(n=420)", "gaussian(sigma=60)")
    laws = [[0.5, 0.5]] * 210 + [[0.6, 0.4]] * 210
    reference = Reference.from_user(laws, mechanism.records)
    found = audit_records(posed(mechanism, 0.05, 1e-6, 0, reference), Deadline(60.0), 0)
    assert all(item.grid is None for item in found)
    assert bracket(found)[1] < 0.051


def test_the_brackets_of_all_records_are_closed() -> None:
    found = audit_records(posed(random_channel([2, 3], 3, 1), 0.3, 1e-4), Deadline(60.0), 0)
    low, high = bracket(found)
    assert high - low <= 1e-4
    assert all(item.audit.gap <= 1e-4 for item in found)


def test_every_target_is_reached_by_all_records_before_the_next() -> None:
    problem = replace(posed(random_channel([2] * 5, 6, 3), 0.4, 1e-9), relative=0.02)
    found = audit_records(problem, Deadline(60.0, most_nodes=3000), 0)
    low, high = bracket(found)
    uppers = sorted(item.audit.upper for item in found)
    assert high > low / 0.98  # the nodes did not suffice
    # One by one, some records would be closed and others not begun.
    assert uppers[0] > low / 0.98
    assert uppers[-1] - low < 2.5 * (uppers[0] - low)


def test_every_record_has_an_upper_bound_when_the_time_is_short() -> None:
    mechanism = random_channel([2] * 8, 3, 0)
    found = audit_records(posed(mechanism, 0.2, 1e-6), Deadline(0.05), 0)
    assert len(found) == 8
    assert all(np.isfinite(item.audit.upper) for item in found)
    assert all(item.audit.lower <= item.audit.upper for item in found)


def test_local_randomisers_without_their_formulas_have_other_bounds() -> None:
    """With no formula at all the best of one proof was asked for, which raised TypeError."""
    mechanism = dl.mechanisms.randomized_response(dl.queries.count(n=3), epsilon=1)
    settings = dl.Settings(portfolio=only("posteriors"))
    audit = dl.audit(mechanism, knowledge=0.3, relative=0.05, settings=settings, verify=False)
    assert audit.upper_by == "posteriors"
