import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb
from real_leakage import drawn, leakage
from verdicts import accepted, refused

import dalenius as dl
from dalenius.model.channels.real import Real
from dalenius.model.gallery import mechanisms, queries
from dalenius.numerics.information import mutual_information
from dalenius.reductions.quantise import quantise
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.steps import real_outputs
from dalenius.verifier.verify import verify_here

COUNT = queries.count(n=2)
LAPLACE = mechanisms.laplace(COUNT, epsilon=1, output="real")
GAUSSIAN = mechanisms.gaussian(COUNT, sigma=1, output="real")
CASES = [
    LAPLACE,
    GAUSSIAN,
    mechanisms.laplace(queries.total(n=2, values=[0, 1, 7]), epsilon=20, output="real"),
    mechanisms.laplace(queries.pairs(n=3), epsilon=1, sensitivity=3, output="real"),
    mechanisms.gaussian(queries.total(n=2, values=[-3, 0, 1]), sigma=0.6, output="real"),
]
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def certificates() -> dict[str, dict[str, Any]]:
    return {
        name: dl.audit(mechanism, entropy=0.5, tolerance=1e-4).certificate.data
        for name, mechanism in (("laplace", LAPLACE), ("gaussian", GAUSSIAN))
    }


@pytest.mark.parametrize("mechanism", CASES, ids=str)
@pytest.mark.parametrize("error", [0.3, 1e-3, 1e-7])
def test_the_verifier_builds_the_same_channel_and_margins(mechanism: Real, error: float) -> None:
    """Two codes from one statement: floats there, balls here."""
    seen = quantise(mechanism, error)
    with precision():
        channel = real_outputs.rebuild({**mechanism.describe(), "quadrature": seen.rule.description})
        margins = channel.margins
        rows = np.array([[float(q) for q in channel.rows[t]] for t in channel.row_of])
        above, below = float(margins.above), float(margins.below)
    assert np.abs(rows - seen.channel.rows).max() < 1e-14
    assert above == pytest.approx(seen.upper(0.0), rel=1e-6, abs=1e-12)
    lost = seen.rest * math.log(seen.answers) / (1 - seen.slack)
    assert below == pytest.approx(seen.rule.error + lost, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("mechanism", CASES, ids=str)
@pytest.mark.parametrize("error", [0.3, 1e-5])
def test_margins_hold_what_integration_finds(mechanism: Real, error: float) -> None:
    with precision():
        described = {**mechanism.describe(), "quadrature": quantise(mechanism, error).rule.description}
        channel = real_outputs.rebuild(described)
        margins = channel.margins
        rows = np.array([[float(q) for q in channel.rows[t]] for t in channel.row_of])
        rng = np.random.default_rng(6)
        for _ in range(3):
            masses = drawn(mechanism, rng)
            leaked = float(mutual_information(masses @ rows))
            truth = leakage(mechanism, masses)
            assert leaked <= margins.least(truth) + 1e-10
            assert leaked >= margins.most(truth) - 1e-10


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_audits_are_verified(name: str, certificates: dict[str, dict[str, Any]]) -> None:
    mechanism = LAPLACE if name == "laplace" else GAUSSIAN
    verdict = accepted(certificates[name], mechanism=mechanism)
    assert "output='real'" in verdict.problem


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (mechanisms.laplace(COUNT, epsilon=1.0000001, output="real"), "laplace(epsilon=1.0000001"),
        (mechanisms.laplace(COUNT, epsilon=1), "laplace(epsilon=1"),
        (GAUSSIAN, "gaussian(sigma"),
        (mechanisms.laplace(queries.count(n=3), epsilon=1, output="real"), "of count(n=3)"),
        (mechanisms.laplace(queries.modular_sum(n=5, modulus=3), epsilon=2, output="real"), "of modular_sum"),
        (dl.Mechanism.from_matrix([[1, 0], [0, 1]], records=[2]), "a channel by its rows"),
    ],
)
def test_other_mechanisms_are_told_apart(
    other: dl.Mechanism, says: str, certificates: dict[str, dict[str, Any]]
) -> None:
    verdict = verify_here(certificates["laplace"], mechanism=other)
    assert not verdict
    assert "another channel than the mechanism given" in verdict.reason
    assert says in verdict.reason


def test_points_that_a_certificate_picks_do_not_hide_another_scale() -> None:
    """Points so far out that every density is the same ball there; the witness has points of its own."""
    sharp, wide = (mechanisms.gaussian(COUNT, sigma=sigma, output="real") for sigma in (0.1, 10))
    audit = dl.audit(sharp, knowledge=0.5, tolerance=1e-3)
    data = copy.deepcopy(audit.certificate.data)
    data["witness"]["quadrature"] = data["problem"]["quadrature"]
    data["problem"]["quadrature"] = {"first": -1e200, "step": 2e200, "count": 2, "angle": 1.0, "slack": 0.0}
    data["upper"], data["proofs"] = 0.7, [{"record": 0, "kind": "trivial", "upper": 0.6931471805599454}]
    assert verify_here(data, mechanism=sharp)
    refused(data, "gaussian(sigma=10", mechanism=wide)


def test_the_same_channel_in_other_words(certificates: dict[str, dict[str, Any]]) -> None:
    assert verify_here(
        certificates["laplace"], mechanism=mechanisms.laplace(COUNT, epsilon=2, sensitivity=2, output="real")
    )


def _rule(**changes: object) -> Change:
    return lambda data: data["problem"]["quadrature"].update(changes)


def _edge(place: int, value: float) -> Change:
    return lambda data: data["problem"]["quadrature"]["edges"].__setitem__(place, value)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("laplace", lambda data: data.update(upper=data["proofs"][0]["upper"]), "exceeds the certificate's"),
        ("gaussian", lambda data: data.update(upper=data["proofs"][0]["upper"]), "exceeds the certificate's"),
        ("laplace", lambda data: data.update(lower=data["lower"] + 1e-10), "less than the claimed lower bound"),
        ("gaussian", lambda data: data.update(lower=data["lower"] + 1e-10), "less than the claimed lower bound"),
        ("laplace", _edge(1, 0.5), "hold every answer"),
        ("laplace", _edge(0, -1.0), "hold every answer"),
        ("laplace", _edge(2, 3.0), "hold every answer"),
        ("laplace", _edge(1, 0.0), "do not ascend"),
        ("laplace", _rule(edges=[]), ""),
        ("laplace", _rule(points=1), "whole number from 2"),
        ("laplace", _rule(points=5000), "whole number"),
        ("laplace", _rule(points=2), ""),  # fewer points err more, and the proofs do not fit
        ("laplace", _rule(angle=0.0), "above 0"),
        ("laplace", _rule(angle=1.58), "not between"),
        ("laplace", _rule(angle=1e-3), "claimed lower bound"),  # a poor contour bounds poorly
        ("laplace", _rule(slack=-1e-3), "not between"),
        ("laplace", _rule(slack=0.01), "claimed lower bound"),
        ("laplace", _rule(step=1.0), "must hold angle, edges, points, slack"),
        ("gaussian", _rule(first=0.5), "begin below the least answer"),
        ("gaussian", _rule(step=0.0), "above 0"),
        ("gaussian", _rule(count=3), "end above the greatest"),
        ("gaussian", _rule(count=10**6), "whole number"),
        ("gaussian", _rule(angle=1e-3), "claimed lower bound"),
        ("gaussian", lambda data: data["problem"].update(rows=[]), "are described by"),
        ("gaussian", lambda data: data["problem"].update(mechanism="gaussian(sigma=1)"), "not a mechanism with real"),
        ("gaussian", lambda data: data["problem"].update(mechanism="gaussian(sigma=1, output='foo')"), "real outputs"),
        ("gaussian", lambda data: data["problem"].update(mechanism="gaussian(sigma=1.1, output='real')"), ""),
        ("gaussian", lambda data: data["problem"].update(query="histogram(n=2, k=2)"), "not known to this verifier"),
        ("gaussian", lambda data: data["problem"].update(query="identity(k=1)"), "single answer"),
        ("laplace", lambda data: data["problem"].update(query="identity(k=1)"), "no noise at all"),
        ("laplace", lambda data: data["problem"].update(mechanism="symmetric(flip=0.1)"), "not a mechanism with real"),
        ("laplace", lambda data: data["problem"].update(query="count(n=100000)"), ""),
        ("laplace", lambda data: data["witness"].update(quadrature={"slack": 0}), "must hold"),
    ],
)  # fmt: skip
def test_forgeries_are_refused(name: str, change: Change, says: str, certificates: dict[str, dict[str, Any]]) -> None:
    data = copy.deepcopy(certificates[name])
    change(data)
    verdict = verify_here(data)
    assert not verdict
    assert says in verdict.reason
    assert "cannot be checked" not in verdict.reason


def test_a_witness_may_have_points_of_its_own(certificates: dict[str, dict[str, Any]]) -> None:
    data = copy.deepcopy(certificates["gaussian"])
    fine = quantise(GAUSSIAN, 1e-9)
    data["witness"]["quadrature"] = fine.rule.description
    masses = np.array(data["witness"]["masses"])
    truth = leakage(GAUSSIAN, masses / masses.sum())
    data["lower"] = truth - 1e-8
    assert verify_here(data)
    data["lower"] = truth + 1e-8
    assert "claimed lower bound" in verify_here(data).reason


def test_what_a_secret_holds_bounds_it_anyway(certificates: dict[str, dict[str, Any]]) -> None:
    """log 2 is claimed without any margin; but not for a secret of which the certificate says nothing more."""
    data = copy.deepcopy(certificates["laplace"])
    data["upper"] = math.nextafter(math.log(2), 1)
    data["proofs"] = [{"record": 0, "upper": math.nextafter(math.log(2), 1), "kind": "trivial"}]
    assert verify_here(data)
    data["upper"] = 0.69
    assert not verify_here(data)


def test_a_design_holds_no_real_outputs(certificates: dict[str, dict[str, Any]]) -> None:
    design = dl.design(queries.count(n=1), distortion=0.3, entropy=0).certificate.data
    verdict = verify_here({**design, "audit": certificates["laplace"]})
    assert not verdict
    assert "of the form real-outputs; a design states its mechanism by rows" in verdict.reason


def test_sizes_are_refused_before_anything_is_built() -> None:
    edges = [float(k) for k in range(5001)]
    rule = {"edges": edges, "points": 6, "angle": 1.0, "slack": 1e-9}
    problem = {"query": "count(n=5000)", "mechanism": "laplace(epsilon=1, output='real')", "quadrature": rule}
    with pytest.raises(Refused, match="too many to check"):
        real_outputs.rebuild(problem)


def test_margins_round_against_the_claim() -> None:
    with precision():
        margins = real_outputs.Margins(arb(1) / 3, arb(1) / 7, arb(1) / 9)
        assert arb(margins.least(0.1)) >= (arb(0.1) + arb(1) / 7) / 3
        assert arb(margins.most(0.5)) <= (arb(0.5) - arb(1) / 9) / 3
        assert margins.least(0.0) == 0.0


def test_points_with_too_much_mass_are_no_channel() -> None:
    """A step of four deviations: the trapezoidal sum of a density centred on a point is 1.6."""
    rule = {"first": -8.0, "step": 4.0, "count": 5, "angle": 1.0, "slack": 1e-3}
    with pytest.raises(Refused, match="more mass than there is"):
        real_outputs.rebuild({**GAUSSIAN.describe(), "quadrature": rule})
