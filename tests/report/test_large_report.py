"""Reports on audits of very many records: the picture shows where the mass is, words promise nothing more."""

import numpy as np
import pytest
from large_samples import both

import dalenius as dl
from dalenius.report.plots import FINEST, likely
from dalenius.results.audit import Audit
from dalenius.settings import without


@pytest.fixture(scope="module")
def audit() -> Audit:
    formulas = dl.Settings(portfolio=without("window"))
    mechanism = both("geometric(epsilon=1)", "count(n=800)")[0]
    return dl.audit(mechanism, knowledge=0.5, time_limit=600, settings=formulas)


def test_the_heat_map_leaves_out_classes_without_mass(audit: Audit) -> None:
    first, end = likely(audit.prior.masses)
    assert audit.prior.masses[:, first:end].sum() == pytest.approx(1, abs=2.1e-4)
    assert 300 < first < 400 < end < 500
    witness = audit.plot().axes[0]
    picture = witness.images[0].get_array()
    assert picture.shape[1] <= FINEST
    assert picture.sum() == pytest.approx(1, abs=2.1e-4)
    assert next(label.get_text() for label in witness.get_xticklabels()) == str(first)


def test_a_single_heavy_class_is_kept() -> None:
    masses = np.zeros((2, 1000))
    masses[1, 0] = 0.5
    masses[0, 999] = 0.5
    assert likely(masses) == (0, 1000)
    masses[:] = 0
    masses[0, 400] = 1.0
    assert likely(masses) == (400, 401)


def test_words_do_not_promise_that_time_helps(audit: Audit) -> None:
    text = audit.summary()
    assert audit.stopped == "method"
    assert "every bound that applies was tried (sibson, " in text
    assert "window" not in audit.tried
    assert "more time may close it" not in text
    assert "upper bound by the order-alpha bound (sibson); see Mathematics 4.8" in text
    assert "799 other records leak the same" in text
    assert "I = " in repr(audit.prior)
