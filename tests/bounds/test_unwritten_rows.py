"""Monotone rows on points: the mixtures they rest on, bounds beside those of written rows, and what is refused."""

import copy
from typing import Any

import numpy as np
import pytest
from damage import changed
from large_samples import both
from verdicts import holds, refused

import dalenius as dl
from dalenius.bounds.monotone import Chains
from dalenius.bounds.on_points import between_points
from dalenius.bounds.unwritten_rows import PointRows
from dalenius.model.channels.joint import Joint
from dalenius.model.channels.noise import Geometric, clamped
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.settings import only
from dalenius.verifier.verify import verify_here


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        ("geometric(epsilon=0.05)", {"knowledge": 0.3}),
        ("laplace(epsilon=0.1)", {"knowledge": 0.2, "reference": [0.8, 0.2]}),
        ("geometric(epsilon=0.2)", {"knowledge": 0.3, "secret": [0, 1]}),
    ],
)
def test_rows_on_points_bound_what_written_rows_leak(mechanism: str, options: dict[str, Any]) -> None:
    large, dense = both(mechanism, "count(n=60)")
    alone = dl.Settings(portfolio=only("monotone", "formulas"))
    audit = dl.audit(large, **options, settings=alone, verify=False)
    truth = dl.audit(dense, **options, tolerance=1e-4)
    assert audit.upper_by == "monotone"
    assert truth.lower - 1e-9 <= audit.upper <= 1.02 * truth.upper
    holds(audit, large)


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        ("geometric(epsilon=0.05)", {"knowledge": 0.3}),
        ("laplace(epsilon=0.1)", {"knowledge": 0.2, "reference": [0.7, 0.3], "secret": [0, 3]}),
    ],
)
def test_rows_that_are_written_out_go_to_points_as_well(mechanism: str, options: dict[str, Any]) -> None:
    alone = dl.Settings(portfolio=only("monotone"), parts=(PointRows(rows=50),))
    asked = parse_mechanism(mechanism, parse_query("count(n=90)"))
    audit = dl.audit(asked, **options, relative=0.02, settings=alone, verify=False)
    truth = dl.audit(asked, **options, tolerance=1e-4, settings=dl.Settings(portfolio=only("monotone")))
    proof = audit.certificate.data["proofs"][0]
    assert proof["kind"] == "monotone"
    assert [step["step"] for step in proof["steps"]] == ["points"]
    assert truth.lower - 1e-9 <= audit.upper <= 1.02 * truth.upper
    holds(audit)
    refused(changed(audit.certificate.data, {"proofs.0.upper": truth.lower * 0.999, "upper": truth.lower * 0.999}))


def test_records_of_many_values_beside_written_rows() -> None:
    """Ages: the answer tells less than all values, and points that are far apart use that."""
    large, dense = both("laplace(epsilon=2)", f"total(n=4, values={list(range(30))})")
    far = PointRows(points_per_spread=3.0)
    settings = dl.Settings(portfolio=only("monotone", "formulas"), parts=(far,))
    audit = dl.audit(large, knowledge=0.3, relative=0.1, settings=settings)
    truth = dl.audit(dense, knowledge=0.3, tolerance=1e-3, settings=dl.Settings(portfolio=only("monotone")))
    assert audit.upper_by == "monotone"
    assert "order" in audit.certificate.data["proofs"][0]["steps"][0]
    assert audit.lower <= truth.upper
    assert truth.lower <= audit.upper <= 1.1 * truth.upper


def test_a_mirror_image_has_the_same_row_problem() -> None:
    """The verifier takes one of two values where points and r are symmetric; with other points it takes both."""
    large, _ = both("geometric(epsilon=0.2)", "total(n=20, values=[0, 1, 2])")
    alone = dl.Settings(portfolio=only("monotone", "formulas"))
    data = dl.audit(large, knowledge=0.3, relative=0.05, settings=alone, verify=False).certificate.data
    proof = data["proofs"][0]
    assert proof["rho"] == proof["rho"][::-1]
    assert verify_here(data).verified
    uneven = copy.deepcopy(data)
    uneven["proofs"][0]["rho"][0] *= 1 + 1e-15
    assert uneven["proofs"][0]["rho"] != proof["rho"]
    assert dl.verify(uneven).verified
    assert not dl.verify(changed(data, {"adversary.reference": {"marginal": [0.2, 0.2, 0.6]}})).verified


@pytest.mark.parametrize("rounds", [0, 2, 20])
def test_what_chains_bound_is_above_every_stationary_law(rounds: int) -> None:
    """D(w || w_c) by the mean of squares, at laws where it is far below what the radius says."""
    rng = np.random.default_rng(rounds)
    for _ in range(20):
        many, rate, s = int(rng.integers(3, 12)), rng.choice([0.2, 1.0]), rng.choice([0.2, 0.7, 1.5])
        places = np.arange(float(many))
        q = clamped(Geometric(rate), places[:, None], places)
        rho, r = rng.dirichlet(np.full(many, 2.0)), rng.dirichlet(np.full(many, 3.0))
        chains = Chains(q, [np.arange(many)], [np.log(rho)], np.log(r), s)
        for _ in range(rounds):
            chains.advance()
        bound = chains.values()[0]
        for tilt in (-6.0, -1.0, 0.0, 1.0, 6.0):
            log_w = np.log(rho) + tilt * places
            for _ in range(200):
                w = np.exp(log_w - np.logaddexp.reduce(log_w))
                log_w = np.log(rho) + q @ np.log(w @ q / r) / s
            u = w @ q
            assert u @ np.log(u / r) - s * (w @ np.log(np.maximum(w, 1e-300) / rho)) <= bound + 1e-9


@pytest.mark.parametrize("rate", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("step", [1, 2, 3, 8])
def test_rows_are_mixtures_of_those_at_points(rate: float, step: int) -> None:
    places = np.arange(3.0 * step + 1)
    rows = clamped(Geometric(rate), places[:, None], places)
    least = 1 - between_points(rate, 1, step)
    for f in range(step + 1):
        left, right = (np.sinh(rate * k) for k in (step - f, f))
        mixture = (left * rows[step] + right * rows[2 * step]) / (left + right)
        assert (rows[step + f] >= least * mixture - 1e-13).all()
    # and so are the columns of rows at points, all with the same weights
    kernel = np.exp(-rate * np.abs(places[::step, None] - places))
    for y in range(step + 1):
        left, right = (np.sinh(rate * k) / np.sinh(rate * step) for k in (step - y, y))
        assert np.allclose(kernel[:, step + y], left * kernel[:, step] + right * kernel[:, 2 * step], rtol=1e-9)


def test_points_that_make_no_sense_are_refused() -> None:
    large, _ = both("geometric(epsilon=0.2)", "count(n=60)")
    alone = dl.Settings(portfolio=only("monotone", "formulas"))
    data = dl.audit(large, knowledge=0.3, settings=alone, verify=False).certificate.data
    for key, value, reason in (
        ("s", 0.0, "s must be above 0"),
        ("every", 0, "'every' of"),
        ("every", 7, ""),
        ("first", -62, "the first point"),
        ("order", 0.5, "the order"),
        ("rho", [0.0], "fewer than two points"),
        ("beyond", 0.9, "'beyond' of"),
        ("rounds", 0, "exceeds claimed"),
        ("rounds", -1, "rounds of"),
    ):
        forged = copy.deepcopy(data)
        proof = forged["proofs"][0]
        place = proof["steps"][0] if key in ("every", "first", "order", "beyond") else proof
        place[key] = value
        refused(forged, reason)
    refused(changed(data, {"problem.mechanism": "gaussian(sigma=3)"}))


def test_bounds_of_several_releases_have_room_for_chains_in_doubles() -> None:
    """Honest certificates were refused by 3e-10: a verifier repeats none of these chains in balls."""
    query = dl.queries.count(n=30)
    joint = Joint.of(tuple(dl.mechanisms.geometric(query, epsilon=epsilon) for epsilon in (0.3, 0.2)))
    assert joint is not None
    data = dl.audit(joint, knowledge=0.3, verify=False).certificate.data
    assert data["proofs"][0]["steps"][0]["step"] == "points"
    less = data["upper"] - 5e-9
    assert verify_here(changed(data, {"proofs.0.upper": less, "upper": less})).verified


@pytest.mark.parametrize("epsilon", [1e3, 1e7, 1e30])
def test_noise_that_never_reaches_between_points_is_no_error(epsilon: float) -> None:
    """Far apart nothing is a mixture of the points, in floats; and cosh is no float."""
    assert [between_points(epsilon, 1, steps) for steps in (1, 2, 3)] == [0.0, 1.0, 1.0]
    query = dl.queries.total(n=60, values=[0, 1, 7, 1000])
    dl.audit(dl.mechanisms.geometric(query, epsilon=epsilon), knowledge=0.4, time_limit=2, verify=False)
