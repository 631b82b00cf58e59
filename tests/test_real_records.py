"""Real-valued records: the inequalities, the brackets against quadrature and brute force, and what is refused."""

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds import Floats
from pandas_like import Column
from refusals import refuses

import dalenius as dl
from dalenius.model.channels.density import Density, histogram
from dalenius.reductions.real_records import rounded_together
from dalenius.verifier.forms import real_records as verifier
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.steps.rounding import one_coin


def laplace(y: Floats, rate: float) -> Floats:
    return np.asarray(rate / 2 * np.exp(-rate * np.abs(y)))


def normal(y: Floats, variance: float) -> Floats:
    return np.asarray(np.exp(-(y**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance))


Y = np.linspace(-40, 40, 4001)


def test_laplace_noise_around_a_point_dominates_that_around_its_neighbours() -> None:
    rng = np.random.default_rng(1)
    for rate, x in rng.uniform((0.01, 0), (4, 1), (200, 2)):
        mixed = (1 - x) * laplace(Y, rate) + x * laplace(Y - 1, rate)
        assert (mixed <= math.sinh(rate) / rate * laplace(Y - x, rate) * (1 + 1e-12)).all()


def test_laplace_noise_is_geometric_noise_and_a_jitter() -> None:
    for rate in (0.1, 1.0, 3.0):
        tent = np.clip(1 - np.abs(Y[:, None] - np.arange(-60, 61)), 0, None)
        jitter = np.sinh(rate * tent) * (tent > 0) * rate / 2 / (math.tanh(rate / 2) * math.sinh(rate))
        mass = math.tanh(rate / 2) * np.exp(-rate * np.abs(np.arange(-60, 61)))
        assert jitter @ mass == pytest.approx(laplace(Y, rate), rel=1e-9, abs=1e-15)


def test_places_in_a_cell_and_coins_widen_gaussian_noise_as_stated() -> None:
    rng = np.random.default_rng(2)
    for v, x in rng.uniform((0.3, 0), (9, 1), (200, 2)):
        mixed = (1 - x) * normal(Y + x, v) + x * normal(Y + x - 1, v)
        wider = v * v / (v - 0.25)
        assert (mixed <= math.sqrt(wider / v) * normal(Y, wider) * (1 + 1e-12) + 1e-300).all()
        places = np.linspace(-0.5, 0.5, 2001)[:-1] + 1 / 4000
        averaged = normal(Y[::50, None] - places, v).mean(axis=1)
        wider = v * v / (v - 1 / 12)
        assert (averaged <= math.sqrt(wider / v) * normal(Y[::50], wider) * (1 + 1e-6) + 1e-300).all()


def test_a_place_in_a_cell_that_an_edge_cuts_widens_noise_as_stated() -> None:
    rng = np.random.default_rng(3)
    places = np.linspace(-0.5, 0.5, 401)[:-1] + 1 / 800
    for cut, share, rate in rng.uniform((0.05, 0.05, 0.01), (0.95, 0.95, 3), (100, 3)):
        law = np.where(places < cut - 0.5, share / cut, (1 - share) / (1 - cut))
        law /= law.sum()
        far = np.abs(law - 1 / law.size).sum() / 2
        t = np.linspace(-8, 8, 81)
        moment = np.exp(t[:, None] * places) @ law
        assert (moment <= (1 + 2 * math.exp(1.5) * far) * np.exp(t**2 / 24) * (1 + 1e-9)).all()
        most = math.sinh(rate / 2) / (rate / 2) + 2 * far * math.sinh(rate / 2)
        assert (laplace(Y[::20, None] - places, rate) @ law <= most * laplace(Y[::20], rate) * (1 + 1e-9)).all()


def uniform_leakage(scale: float = 1.0) -> float:
    """I(X;Y) of a uniform record in [0, 1] with Laplace noise: h(Y) - log(2 e scale), by the trapezoidal rule."""
    y = np.linspace(-30 * scale, 1 + 30 * scale, 400_001)
    below, above = np.minimum(np.maximum(y, 0), 1), np.maximum(np.minimum(y, 1), 0)
    inside = 1 - (np.exp(-below / scale) + np.exp(-(1 - above) / scale)) / 2
    left = (1 - math.exp(-1 / scale)) / 2 * np.exp(-np.maximum(-y, 0) / scale)
    right = (1 - math.exp(-1 / scale)) / 2 * np.exp(-np.maximum(y - 1, 0) / scale)
    density = np.where(y < 0, left, np.where(y > 1, right, inside))
    h = -np.trapezoid(density * np.log(density), y)
    return float(h - 1 - math.log(2 * scale))


def test_a_uniform_record_with_laplace_noise_has_its_quadrature_inside_a_narrow_bracket() -> None:
    mechanism = dl.mechanisms.laplace(dl.queries.real_sum(1, 0, 1), scale=1)
    truth = uniform_leakage()
    assert truth == pytest.approx(0.0342129, abs=1e-7)
    coarse = dl.audit(mechanism, knowledge=0, tolerance=5e-3)
    assert coarse.lower <= truth <= coarse.upper
    assert coarse.gap <= 5e-3
    assert coarse.stopped == "gap"
    assert coarse.verified
    told = dl.leakage(mechanism, ([0, 1], [1.0]))
    assert told.lower <= truth <= told.upper
    assert told.upper - told.lower < 1e-3


@pytest.mark.nightly
def test_the_default_tolerance_ends_at_a_gap_near_2e_5() -> None:
    audit = dl.audit(dl.mechanisms.laplace(dl.queries.real_sum(1, 0, 1), scale=1), knowledge=0, relative=0)
    assert audit.lower <= uniform_leakage() <= audit.upper
    assert audit.gap < 3e-5
    assert audit.stopped == "method"


def test_independent_records_leak_what_one_record_leaks_whatever_their_number() -> None:
    one, many = (
        dl.audit(
            dl.mechanisms.laplace(dl.queries.real_sum(n, -1, 3), epsilon=1), adversary="independent", tolerance=5e-3
        )
        for n in (1, 1000)
    )
    assert (one.lower, one.upper) == (many.lower, many.upper)
    # Two values at the ends, half each, are near the best; their leakage through Laplace noise is a closed form.
    z = np.linspace(-40, 41, 200_001)
    p, q = laplace(z, 1), laplace(z - 1, 1)
    assert one.upper >= np.trapezoid(p * np.log(2 * p / (p + q)), z)
    assert one.gap <= 5e-3
    assert many.verify().verified


def leaked(masses: Floats, m: int, noise: Callable[[Floats], Floats]) -> float:
    """I(X_0;Y) of a prior on two records at the middles of fine cells, by fine outputs."""
    y = np.linspace(-8, 10, 361)
    places = (np.arange(m) + 0.5) / m
    rows = noise(y - places[:, None, None] - places[None, :, None])
    joint = np.einsum("ab,aby->ay", masses, rows) * (y[1] - y[0])
    p, q = joint.sum(axis=1), joint.sum(axis=0)
    held = joint > 0
    return float((joint[held] * np.log((joint / np.outer(p, q))[held])).sum() / joint.sum() + math.log(joint.sum()))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_no_prior_on_far_finer_cells_leaks_more_than_the_upper_bound(family: str) -> None:
    rng = np.random.default_rng(4)
    query, knowledge, m = dl.queries.real_sum(2, 0, 1), 0.7, 24
    if family == "laplace":
        mechanism, noise = dl.mechanisms.laplace(query, epsilon=3), lambda y: laplace(y, 3.0)
    else:
        mechanism, noise = dl.mechanisms.gaussian(query, sigma=0.4), lambda y: normal(y, 0.16)
    audit = dl.audit(mechanism, knowledge=knowledge, tolerance=5e-2)
    assert audit.upper_by == "rounded"
    assert audit.verify().verified
    place = np.arange(m)
    best = 0.0
    for k in range(12):
        # Ties of the record to the other, of its last digits to the other, and clusters.
        tie = rng.normal(0, 2, (m, m)) if k % 3 == 0 else -np.abs(place[:, None] - place) * rng.uniform(0, 0.5)
        digits = 3.0 * ((place[:, None] * 7) % m > place) if k % 3 == 1 else 0.0
        prior = np.exp(tie + digits + rng.normal(0, 0.3, (m, m)))
        prior /= prior.sum()
        for _ in range(60):
            far = float((prior * np.log(prior * m * m)).sum())
            if far <= knowledge:
                break
            prior = 0.9 * prior + 0.1 / m**2
        best = max(best, leaked(prior, m, noise))
    assert best <= audit.upper + 1e-9
    assert best > 0.2 * audit.lower


def test_masses_of_cells_and_grid_points_are_the_verifiers() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        inner = np.unique(rng.integers(1, 60, 3) / 60).tolist()
        masses = rng.dirichlet(np.ones(len(inner) + 1)).tolist()
        density = Density.of(([0, *inner, 1], masses), 0, 1)
        other = verifier.Density(*density.parts())
        for m in (1, 7, 12):
            assert (cells := other.cells(m))[0] == density.cells(m)
            assert float(cells[1]) == density.uneven(m)
            assert other.points(m) == density.points(m)
            assert sum(density.points(m)) == 1
            mean = sum(Fraction(k, m) * p for k, p in enumerate(density.points(m)))
            edges, parts = density.parts()
            assert mean == sum(p * (a + b) / 2 for a, b, p in zip(edges[:-1], edges[1:], parts, strict=True))


def test_a_column_becomes_a_histogram_without_gaps() -> None:
    rng = np.random.default_rng(6)
    data = [*rng.uniform(2, 3, 300), *rng.uniform(8, 9, 100)]
    edges, masses = histogram(Column(data), 0, 10)
    assert edges[0] == 0
    assert edges[-1] == 10
    assert math.fsum(masses) == pytest.approx(1)
    assert min(masses) > 0
    mechanism = dl.mechanisms.laplace(dl.queries.real_sum(1, 0, 10), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.1, reference=Column(data), tolerance=2e-2)
    assert audit.verify().verified
    assert audit.to_dict()["reference"] == "density"


def test_the_mechanism_answers_what_is_asked_of_it() -> None:
    mechanism = dl.mechanisms.laplace(dl.queries.real_mean(4, 0, 8), epsilon=2)
    assert mechanism.dp_epsilon() == 2
    assert mechanism.expected_distortion() == pytest.approx(1.0)
    drawn = mechanism.sample([0, 2, 4, 8], size=4000, rng=0)
    assert drawn.mean() == pytest.approx(3.5, abs=0.1)
    assert np.abs(drawn - 3.5).mean() == pytest.approx(1, abs=0.1)
    assert dl.mechanisms.gaussian(dl.queries.real_sum(2, 0, 1), sigma=1).dp_epsilon() == math.inf


REFUSED: list[tuple[Any, str]] = [
    (lambda: dl.queries.real_sum(2, 1, 1), "not below"),
    (lambda: dl.queries.real_mean(2, 3, -1), "not below"),
    (lambda: dl.queries.mean(2, 0, 10, 3), "does not divide"),
    (lambda: dl.mechanisms.geometric(dl.queries.real_sum(1, 0, 1), epsilon=1, step=0.3), "use step = 0.25, or"),
    (lambda: dl.mechanisms.geometric(dl.queries.real_sum(1, 0, 1), epsilon=1, step=1e-4), "at most 1000 steps"),
    (lambda: dl.mechanisms.geometric(dl.queries.real_sum(1, 0, 1), epsilon=1, step=0), "above 0"),
    (lambda: dl.mechanisms.geometric(dl.queries.real_sum(1, 0, 1), epsilon=1, clamp=False), "leaks the same"),
    (lambda: dl.mechanisms.geometric(dl.queries.count(3), epsilon=1, step=1), "whole numbers already"),
    (
        lambda: dl.audit(_stepped(2, 0.25), knowledge=0, secret={"record": 0, "edges": [0.4]}),
        "such as 0.375",
    ),
    (lambda: dl.mechanisms.laplace(dl.queries.real_sum(1, 0, 1), epsilon=1, output="integer"), "neither rounded"),
    (lambda: dl.mechanisms.symmetric(dl.queries.real_sum(1, 0, 1), flip=0.1), "real numbers"),
    (lambda: _one().profile(), "has no table"),
    (lambda: _one().sample([2.0]), "from 0 to 1"),
    (lambda: dl.audit(_one(), entropy=1.0), "no entropy"),
    (lambda: dl.audit(_one()), "give knowledge="),
    (lambda: dl.audit(_one(), knowledge=math.inf), "knowledge"),
    (lambda: dl.audit(_one(), knowledge=0, secret=[0, 1]), "one record"),
    (lambda: dl.audit(_one(), knowledge=0, secret=1), "one record"),
    (lambda: dl.audit(_one(), knowledge=0, secret={"record": 0}), "must hold"),
    (lambda: dl.audit(_one(), knowledge=0, secret={"record": 0, "edges": [0, 1]}), "edges that ascend"),
    (lambda: dl.audit(_one(), knowledge=0, secret={"record": 0, "edges": [2]}), "edge 0 of the secret"),
    (lambda: dl.audit(_one(), knowledge=0, secret={"record": 0, "edges": [0.12345]}), "need 20000 cells"),
    (lambda: dl.audit(_one(), adversary="independent", secret={"record": 0, "edges": [0.5]}), "single records"),
    (lambda: dl.audit(_one(), knowledge=0, reference=([0, 0.5, 1], [0.5, 0.4])), "integrates to 0.9"),
    (lambda: dl.audit(_one(), knowledge=0, reference=([0, 0.5], [1.0])), "gaps"),
    (lambda: dl.audit(_one(), knowledge=0, reference=([0, 0.3, 0.6, 1], [0.5, 0.0, 0.5])), "gap from 0.3 to 0.6"),
    (lambda: dl.audit(_one(), knowledge=0, reference=([0, 0.6, 0.3, 1], [0.5, 0.2, 0.3])), "ascend"),
    (lambda: dl.audit(_one(), knowledge=0, reference=([0, 1], [0.5, 0.5])), "2 masses"),
    (lambda: dl.audit(_one(), knowledge=0, reference=[0.5, 0.5]), "not a list"),
    (lambda: dl.audit(_one(), knowledge=0, reference=Column([0.5, 1.5])), "holds 1.5"),
    (lambda: dl.audit(_one(), knowledge=0, method="paper"), "table"),
]


def _stepped(n: int, step: float, **options: Any) -> dl.Mechanism:
    return dl.mechanisms.geometric(dl.queries.real_sum(n, 0, 1), step=step, **(options or {"epsilon": 1}))


def _one() -> dl.Mechanism:
    return dl.mechanisms.laplace(dl.queries.real_sum(1, 0, 1), epsilon=1)


@pytest.mark.parametrize(("build", "words"), REFUSED)
def test_bad_input_is_refused_with_a_reason(build: Callable[[], object], words: str) -> None:
    refuses(words, build)


def test_one_coin_for_the_others_is_compared_with_a_coin_for_each_by_enumeration() -> None:
    m, n = 4, 4
    density = Density.of(([0, 0.5, 1], [0.3, 0.7]), 0, 1)
    found = rounded_together(density, m, n, 2**28)
    # Three others at fine places: their sum rounded by one coin, and each rounded by its own.
    fine = 40
    law = np.repeat(np.array([float(p) for p in density.cells(m)]) / fine, fine)
    sums = np.convolve(np.convolve(law, law), law)
    places = (np.arange(len(sums)) + 1.5) / fine
    single = [float(sums @ np.clip(1 - np.abs(places - k), 0, None)) for k in range(3 * m + 1)]
    points = np.array([float(p) for p in density.points(m)])
    each = np.convolve(np.convolve(points, points), points)
    assert found == pytest.approx(math.log(max(np.array(single) / each)), abs=1e-3)
    with precision():
        assert float(one_coin(verifier.Density(*density.parts()), m, n)) == pytest.approx(math.exp(found), abs=1e-9)
    assert rounded_together(Density.of(([0, 0.3, 1], [0.3, 0.7]), 0, 1), m, n, 2**28) is None


@pytest.mark.slow
def test_two_hundred_records_are_bracketed_where_nothing_else_is_known() -> None:
    mechanism = dl.mechanisms.laplace(dl.queries.real_sum(200, 0, 1), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.0, tolerance=1e-2, verify=False)
    # Nearly Gaussian: half the logarithm of 1 + (1/12) / (199/12 + 2).
    assert audit.lower <= 0.5 * math.log1p(1 / (199 + 24)) + 1e-4
    assert audit.upper >= 0.5 * math.log1p(1 / (199 + 24)) - 1e-4
    assert audit.upper < 0.03


def bins_leakage(scale: float = 1.0) -> float:
    """I(A;Y) of which half a uniform record in [0, 1] lies in, with Laplace noise, by fine places and outputs."""
    y = np.linspace(-25, 26, 20_001)
    places = (np.arange(400) + 0.5) / 400
    rows = laplace(y - places[:, None], 1 / scale).reshape(2, 200, -1).mean(axis=1) / 2
    total = rows.sum(axis=0)
    return float(np.trapezoid((rows * np.log(2 * rows / total)).sum(axis=0), y))


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_the_bin_of_a_record_is_bracketed(family: str, tmp_path: Path) -> None:
    query = dl.queries.real_sum(1, 0, 1)
    noise = {
        "laplace": lambda: dl.mechanisms.laplace(query, scale=1),
        "gaussian": lambda: dl.mechanisms.gaussian(query, sigma=1),
    }
    mechanism, secret = noise[family](), {"record": 0, "edges": [0.5]}
    audit = dl.audit(mechanism, knowledge=0, secret=secret, tolerance=1e-2)
    whole = dl.audit(mechanism, knowledge=0, tolerance=1e-2)
    assert audit.verify().verified
    assert audit.upper_by == "snapped"
    assert audit.lower <= whole.upper
    if family == "laplace":
        assert audit.lower <= bins_leakage() <= audit.upper
    audit.save(path := tmp_path / "audit.json")
    assert dl.load(path, verify=True).upper == audit.upper
    assert "the bin of record 0: 0 to 0.5" in audit.summary()


def test_noise_on_real_valued_records_is_calibrated() -> None:
    found = dl.calibrate("laplace", dl.queries.real_sum(1, 0, 1), leakage=0.05, knowledge=0.1, accuracy=0.1)
    assert found.leakage.upper <= 0.05
    assert found.leakage.verify().verified


@pytest.mark.parametrize("knowledge", [0.3, 2.0])
def test_digits_that_are_rounded_away_may_be_tied_to_others_and_are_covered(knowledge: float) -> None:
    """Records on six places, which steps round to two points: they leak no more than is claimed of real numbers."""
    mine = dl.audit(_stepped(2, 1.0), knowledge=knowledge)
    fine = np.array([0, 0, 0, 1, 1, 1])  # points of places in [0, 1], six of equal mass
    rows = np.array([[math.exp(-abs(y - a - b)) for y in range(-30, 33)] for a in fine for b in fine])
    truth = dl.audit(
        dl.Mechanism.from_matrix(rows / rows.sum(axis=1, keepdims=True), [6, 6]),
        knowledge=knowledge,
        tolerance=1e-2,
        time_limit=0.3,
    )
    whole = dl.audit(dl.mechanisms.geometric(dl.queries.count(2), epsilon=1), knowledge=knowledge, tolerance=1e-4)
    assert whole.lower - 1e-9 <= mine.lower <= truth.upper + 1e-9
    assert truth.lower <= mine.upper + 1e-9
    assert mine.verify().verified


def test_records_in_steps_leak_what_whole_numbers_leak_where_digits_cannot_be_tied(tmp_path: Path) -> None:
    density = ([0, 0.5, 1], [0.8, 0.2])
    assert [float(p) for p in Density.of(density, 0, 1).nearest(4)] == pytest.approx([0.2, 0.4, 0.25, 0.1, 0.05])
    law = [0.2, 0.4, 0.25, 0.1, 0.05]
    whole = dl.mechanisms.geometric(dl.queries.total(2, range(5)), epsilon=1)
    for asked in ({"knowledge": 0.0}, {"adversary": "independent"}):
        known = {"reference": density} if "knowledge" in asked else {}
        mine = dl.audit(_stepped(2, 0.25), **asked, **known)
        other = dl.audit(whole, **asked, **({"reference": law} if known else {}))
        assert mine.lower == pytest.approx(other.lower, abs=1e-6)
        assert mine.upper == pytest.approx(other.upper, abs=1e-6)
        assert dl.verify(mine, mechanism=mine.mechanism)
    bins = dl.audit(_stepped(2, 0.25, scale=0.3), knowledge=0.3, secret={"record": 1, "edges": [0.375]})
    assert 0 < bins.lower <= bins.upper < bins.lower + 1e-4
    bins.save(path := tmp_path / "bins.json")
    assert dl.load(path, verify=True).upper == bins.upper
    assert whole.dp_delta(0.2) == pytest.approx(_stepped(1, 0.25).dp_delta(0.2))
    drawn = _stepped(3, 0.25).sample([0.1, 0.13, 0.9], size=4000, rng=0)
    assert set(drawn) == set(np.arange(0, 3.1, 0.25))
    assert np.median(drawn) == 1.25
