"""Packed trees of posteriors: doubles are never below balls, boxes cover every prior, what is wrong is refused."""

import base64
import copy
import ctypes
import json
import math
import platform
import tracemalloc
import zlib
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from flint import arb
from kinds import Floats, Json
from posterior_trees import Leaf, Problem, packed, prove, sigma_of, unpacked, written
from verdicts import accepted, refused

from dalenius.verifier import process
from dalenius.verifier.forms.written import Channel, rebuild
from dalenius.verifier.kernel import doubles, posteriors
from dalenius.verifier.kernel import packed as packed_trees
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.kernel.cuts import (
    LEAST,
    Frame,
    OneByOne,
    Ratios,
    Scalars,
    Together,
    carried_down,
    carried_up,
    left_over,
    middle,
)
from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.kernel.packed import levels
from dalenius.verifier.kernel.posteriors import Point, Posteriors, Tree
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")


def without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubles, "numpy", lambda *_: None)


def always_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubles, "numpy", lambda *_: np)


WAYS = [always_numpy, without_numpy]
Way = Callable[[pytest.MonkeyPatch], None]


def channel_of(rows: Floats, values: int) -> tuple[Channel, list[dict[int, Any]]]:
    channel = rebuild({"records": [values, len(rows) // values], "classes": None, "rows": rows.tolist()})
    return channel, channel.cells(channel.statistic.shares(0))


def problem_of(channel: Channel, cells: list[dict[int, Any]], knowledge: float, **more: Json) -> Problem:
    laws = [np.array([[float(x) for x in channel.rows[r]] for r in cell]) for cell in cells]
    return Problem(laws, [np.array([float(x) for x in cell.values()]) for cell in cells], knowledge, **more)


def in_groups(rng: np.random.Generator, many: int, groups: list[int]) -> Floats:
    """Rows whose laws within groups resemble each other, so that these contract."""
    inside = rng.dirichlet(np.full(len(groups), 30.0), size=many)
    coarse = rng.dirichlet(np.ones(max(groups) + 1), size=many)
    rows = np.empty_like(inside)
    for y, g in enumerate(groups):
        rows[:, y] = coarse[:, g] * inside[:, y] / inside[:, np.array(groups) == g].sum(axis=1)
    return rows


GROUPS = [0, 1, 1, 0]
# Values of the secret, cells of each, outputs, how far the claim is from the root's bound, and what more a proof has.
SUBJECTS: dict[str, tuple[int, int, int, float, dict[str, Json]]] = {
    "one value": (1, 4, 3, 2.0, {}),
    "two values": (2, 3, 3, 0.25, {}),
    "two values with ratios": (2, 3, 3, 0.25, {"ratios": True}),
    "three values": (3, 2, 2, 0.3, {}),
    "three values with ratios": (3, 2, 2, 0.3, {"ratios": True}),
    "four values": (4, 2, 2, 0.4, {}),
    "groups": (2, 3, 4, 0.25, {"groups": GROUPS, "eta": 0.1, "tangents": 1}),
    "groups with ratios": (2, 3, 4, 0.25, {"groups": GROUPS, "eta": 0.1, "tangents": 3, "ratios": True}),
    "groups of three values": (3, 2, 4, 0.35, {"groups": GROUPS, "eta": 0.1, "tangents": 2}),
    "nothing contracts": (2, 3, 4, 1.05, {"groups": GROUPS, "eta": 1.0, "tangents": 2}),
}
KNOWLEDGE = 0.1


@cache
def subject(name: str) -> tuple[Floats, Channel, list[dict[int, Any]], Problem, Json]:
    """Rows, channel, cells, the problem in floats, and a proof."""
    values, cells, outputs, share, more = SUBJECTS[name]
    rng = np.random.default_rng(values)
    many = values * cells
    rows = in_groups(rng, many, more["groups"]) if "groups" in more else rng.dirichlet(np.ones(outputs), size=many)
    with precision():
        channel, shares = channel_of(rows, values)
        tangents = [0.4 * t * rng.normal(size=(values, outputs)) for t in range(more.get("tangents", 0))]
        settings = {"groups": list(range(outputs)), **more, "tangents": tangents}
        problem = problem_of(channel, shares, KNOWLEDGE, **settings)
        ends = np.zeros((problem.boxed, problem.many))
        choices = [(sigma_of(0, s), t) for s in range(-40, 8) for t in range(max(1, len(tangents)))]
        root = min(problem.bound(ends, ends + 1, ends, s, t) for s, t in choices)
        return rows, channel, shares, problem, prove(problem, share * root + 1e-8)


def tree_of(name: str, proof: Json | None = None) -> Tree:
    _, channel, cells, _, own = subject(name)
    proof = own if proof is None else proof
    return Tree(Posteriors(cells, channel, arb(KNOWLEDGE), proof), proof, "it")


def certificate(rows: Floats, values: int, proof: Json, knowledge: float = KNOWLEDGE) -> Json:
    """A certificate that claims nothing from below."""
    many = len(rows) // values
    return {
        "format": "dalenius/audit-certificate",
        "version": 2,
        "form": "rows",
        "problem": {"records": [values, many], "classes": None, "rows": np.asarray(rows).tolist()},
        "adversary": {"knowledge": knowledge},
        "secret": {"kind": "records", "records": [0]},
        "lower": 0.0,
        "upper": proof["upper"],
        # The reference: class a many + t has the value a.
        "witness": {
            "kind": "masses",
            "masses": [[float(t // many == a) for t in range(values * many)] for a in range(values)],
        },
        "proofs": [proof],
    }


def certified(name: str, **changes: Json) -> Json:
    rows, _, cells, _, proof = subject(name)
    return certificate(rows, len(cells), {**copy.deepcopy(proof), **changes})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_trees_are_verified_with_numpy_and_without(name: str, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    way(monkeypatch)
    accepted(certified(name))


@pytest.mark.parametrize("name", SUBJECTS)
def test_both_ways_find_the_same_bounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tree_of(name)
    upper = subject(name)[-1]["upper"]
    always_numpy(monkeypatch)
    doubled = max(float(x) for _, x in tree.bounds(upper))
    without_numpy(monkeypatch)
    ball = max(float(x) for _, x in tree.bounds(upper))
    assert ball <= doubled <= ball + 1e-10


@pytest.mark.parametrize("way", WAYS)
def test_a_claim_below_the_worst_leaf_is_refused_at_that_leaf(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    way(monkeypatch)
    worst, place = max((float(x), place) for place, x in tree_of("three values").bounds(math.inf))
    refused(certified("three values", upper=worst - 1e-7), f"leaf {place.rpartition(' ')[2]}: bound")


def test_what_doubles_cannot_show_balls_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim between the true bound and what doubles make of it."""
    always_numpy(monkeypatch)
    tree = tree_of("two values")
    doubled = max(float(x) for _, x in tree.bounds(1.0))
    without_numpy(monkeypatch)
    ball = max(float(x) for _, x in tree.bounds(1.0))
    assert ball < doubled
    monkeypatch.undo()
    always_numpy(monkeypatch)
    assert verify_here(certified("two values", upper=math.nextafter(ball, 1.0) + (doubled - ball) / 8)).verified
    assert not verify_here(certified("two values", upper=ball - 1e-12)).verified


def test_where_doubles_show_nothing_every_leaf_is_looked_at_in_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tree_of("three values")
    always_numpy(monkeypatch)
    again = [(place, float(x)) for place, x in tree.bounds(-1.0)]
    without_numpy(monkeypatch)
    assert again == [(place, float(x)) for place, x in tree.bounds(-1.0)]


def test_a_problem_beyond_the_notes_is_checked_in_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    always_numpy(monkeypatch)
    monkeypatch.setattr(doubles, "MOST_VALUES", 1)
    assert len(list(tree_of("two values").bounds(1.0))) == tree_of("two values").size


def leak(pi: list[Floats], laws: list[Floats]) -> float:
    z = np.stack([w @ q for w, q in zip(pi, laws, strict=True)])
    product = z.sum(axis=1, keepdims=True) * z.sum(axis=0)
    return float((z[z > 0] * np.log(z[z > 0] / product[z > 0])).sum())


def prior_within(rng: np.random.Generator, problem: Problem) -> list[Floats]:
    """A prior whose divergence is as near to K as the segment from the reference to a random one allows."""
    rho = np.concatenate(problem.rho)
    far = rng.dirichlet(np.full(len(rho), rng.choice([0.1, 0.5, 2.0])))
    low, high = 0.0, 1.0
    for _ in range(20):
        x = (low + high) / 2
        pi = (1 - x) * rho + x * far
        inside = float((pi[pi > 0] * np.log(pi[pi > 0] / rho[pi > 0])).sum()) <= problem.knowledge
        low, high = (x, high) if inside else (low, x)
    pi = (1 - low) * rho + low * far
    return np.split(pi, np.cumsum([len(r) for r in problem.rho])[:-1])


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_prior_leaks_more_than_an_accepted_claim(name: str) -> None:
    _, _, _, problem, proof = subject(name)
    rng = np.random.default_rng(1)
    assert max(leak(prior_within(rng, problem), problem.laws) for _ in range(250)) <= proof["upper"]


def posterior(problem: Problem, pi: list[Floats]) -> Floats:
    z = np.stack([w @ q for w, q in zip(pi, problem.coarse, strict=True)])
    v = z / np.maximum(z.sum(axis=0), 1e-300)
    return v[1:] if problem.boxed == 1 < len(v) else v


def random_codes(rng: np.random.Generator, boxes: int, leaves: int) -> list[list[int]]:
    found, many, total = [], 1, 1
    while many:
        codes = rng.integers(0, boxes, size=many)
        codes[rng.random(many) < (0.1 if total < leaves else 1.1)] = boxes
        found.append(codes.tolist())
        cuts = int((codes < boxes).sum())
        many, total = 2 * cuts, total + cuts
    return found


def spoilt_rows(rng: np.random.Generator, many: int, outputs: int) -> Floats:
    """Laws with zeros, with entries near the least doubles, and an output that hardly occurs."""
    rows = rng.dirichlet(np.full(outputs, 0.5), size=many)
    rows[rng.random(rows.shape) < 0.2] = 0.0
    for tiny in (1e-300, 1.4e-309, 1e-150):
        rows[rng.random(rows.shape) < 0.1] = tiny
    rows[rows.sum(axis=1) < 0.01, 0] = 1.0
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("ratios", [False, True])
@pytest.mark.parametrize("values", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_boxes_cover_every_prior_and_are_the_same_both_ways(seed: int, values: int, ratios: bool) -> None:
    rng = np.random.default_rng([seed, values])
    outputs = 4
    channel, cells = channel_of(spoilt_rows(rng, 3 * values, outputs), values)
    problem = problem_of(channel, cells, 1.0, groups=[0, 1, 2, 3])
    codes = random_codes(rng, problem.boxes, 300)
    flat = [code for level in codes for code in level]
    leaves = [Leaf(0, 0, [0] * problem.boxes, 0)] * flat.count(problem.boxes)
    problem.ratios = ratios
    proof = written(problem, flat, leaves, 9.0)
    tree = Tree(Posteriors(cells, channel, arb(1), proof), proof, "it")
    one = [box for level in tree._walk(OneByOne(tree.problem.frame)) for box in level]
    arrays = list(tree._walk(Together(tree.problem.frame, np)))
    low, high, empty = (np.concatenate([level[i] for level in arrays]) for i in range(3))
    assert np.array_equal(low.reshape(len(one), -1), np.array([box.low for box in one]))
    assert np.array_equal(high.reshape(len(one), -1), np.array([box.high for box in one]))
    assert empty.tolist() == [box.empty for box in one]
    assert (low >= 0).all() and (low <= high).all() and (high <= 1).all()  # noqa: PT018
    rho = np.concatenate(problem.rho)
    for _ in range(200):
        # All cells have mass: what ratios say is about such priors.
        pi = rng.dirichlet(np.full(len(rho), 0.3)) + 1e-12
        v = posterior(problem, np.split(pi / pi.sum(), np.cumsum([len(r) for r in problem.rho])[:-1]))
        inside = ((low - 1e-12 <= v) & (v <= high + 1e-12)).all(axis=(1, 2))
        assert (inside & ~empty).any()


def ball_bound(problem: Posteriors, low: Floats, high: Floats, point: Point) -> Any:
    """The bound with the slopes that doubles chose: any slope is valid."""
    boxes = [(low, high)]
    if problem.frame.values == 2:
        boxes.append((np.maximum(1 - high - doubles.U, 0), np.minimum(1 - low + doubles.U, 1)))
    chosen: dict[tuple[float, float], tuple[Any, Any]] = {}
    with precision(400):
        for lows, highs in boxes:
            slopes, _ = doubles.line(lows, highs, np)
            for x, y, slope in zip(lows.ravel().tolist(), highs.ravel().tolist(), slopes.ravel().tolist(), strict=True):
                starts = [arb(v) * arb(v).log() - arb(slope) * v if v else arb(0) for v in (x, y)]
                chosen[x, y] = arb(slope), starts[0].max(starts[1])
        problem.secant = lambda low, high: chosen[low, high]
        return problem.bound(posteriors.Box(low.ravel().tolist(), high.ravel().tolist(), empty=False), point)


def ends(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Boxes of all widths, at the ends of [0,1] and among the least doubles too."""
    kind = rng.integers(0, 8, size=shape)
    x, y = np.sort(rng.random((2, *shape)), axis=0)
    thin = 10.0 ** -rng.uniform(1, 17, size=shape)
    tiny = 10.0 ** -rng.uniform(1, 323.5, size=shape)
    low = np.choose(kind, [x, x, 0 * x, x, 0 * x, tiny, x, 1 - tiny])
    high = np.choose(kind, [y, np.minimum(x + thin, 1), 0 * x, x, tiny, tiny * (1 + thin), 0 * x + 1, 0 * x + 1])
    return np.minimum(low, high), np.maximum(low, high)


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("name", [*SUBJECTS, "zeros", "zeros of three values"])
def test_doubles_are_never_below_balls(name: str, extreme: bool) -> None:
    """Random leaves, not those of a tree: any box, multipliers and sigma."""
    rng = np.random.default_rng(len(name))
    if name in SUBJECTS:
        _, channel, cells, _, proof = subject(name)
    else:
        values = 2 if name == "zeros" else 3
        channel, cells = channel_of(spoilt_rows(rng, 3 * values, 4), values)
        proof = {"groups": [0, 1, 2, 3], "eta": 0.0, "ratios": False}
    problem = Posteriors(cells, channel, arb(KNOWLEDGE), proof)
    arithmetic = problem.in_doubles(np)
    assert arithmetic.usable
    many = 150
    low, high = ends(rng, (many, problem.frame.boxed, problem.many))
    if not extreme:
        low, high = np.sort(rng.random((2, *low.shape)), axis=0)
    codes = rng.integers(-480, 480, many) if extreme else rng.integers(-40, 16, many)
    m = (
        rng.integers(-(2**31), 2**31, low.shape) * 2.0 ** -rng.integers(4, 40, (many, 1, 1))
        if extreme
        else rng.normal(size=low.shape)
    )
    sigma = np.array([sigma_of(0, int(n)) for n in codes])
    tangent = rng.integers(0, max(1, len(problem.tangents)), many)
    found = arithmetic.bounds(low, high, m, sigma, tangent)
    for i in range(many):
        point = Point(float(sigma[i]), m[i].ravel().tolist(), int(tangent[i]))
        ball = ball_bound(problem, low[i], high[i], point)
        assert arb(float(found[i])) >= ball
        if not extreme:
            assert found[i] <= float(ball) + 1e-9 / min(1.0, sigma[i])


def test_exponentials_and_logarithms_are_as_near_as_stated() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([-(10.0 ** rng.uniform(-18, 2.845, 3000)), [0.0, -700.0, -0.34657359027997264, -5e-324]])
    for at, e in zip(x.tolist(), doubles.exp(np.maximum(x, -700.0).copy(), np).tolist(), strict=True):
        assert abs(arb(e) / arb(max(at, -700.0)).exp() - 1) < 1e-15
    assert doubles.exp(np.zeros(1), np).tolist() == [1.0]
    x = np.concatenate([10.0 ** rng.uniform(-307, 308, 3000), 1 + rng.normal(size=500) * 1e-8, [1.0, 2.0**-1022]])
    for at, found in zip(x.tolist(), doubles.log(x, np).tolist(), strict=True):
        exact = arb(at).log()
        assert abs(found - exact) < 1e-15 * (1 + abs(exact))


def test_lines_are_above_what_they_bound() -> None:
    rng = np.random.default_rng(0)
    low, high = ends(rng, (3000,))
    for x, y, slope, start in zip(low, high, *doubles.line(low, high, np), strict=True):
        assert math.isfinite(slope)
        for v in (float(x), float(y)):
            assert arb(float(slope)) * v + arb(float(start)) >= (arb(v) * arb(v).log() if v else 0)
    # And not far above, in the middle of boxes that are not wide.
    slope, start = doubles.line(np.array([0.3]), np.array([0.3 + 1e-9]), np)
    assert 0.3 * slope[0] + start[0] == pytest.approx(0.3 * math.log(0.3), abs=1e-12)


def test_a_cut_is_inside_its_box() -> None:
    low, high = ends(np.random.default_rng(0), (3000,))
    cuts = middle(low, high, np)
    assert ((low <= cuts) & (cuts <= high)).all()
    assert cuts.tolist() == [middle(x, y, Scalars) for x, y in zip(low.tolist(), high.tolist(), strict=True)]


def test_what_other_values_leave_is_rounded_outward() -> None:
    rng = np.random.default_rng(0)
    for values in (1, 2, 3, 9, 60):
        v = rng.dirichlet(np.ones(values))
        low, high = np.maximum(v - 0.1 * rng.random(values), 0), np.minimum(v + 0.1 * rng.random(values), 1)
        lower, upper, empty = left_over(low.tolist(), high.tolist(), Scalars)
        exact_low, exact_high = list(map(Fraction, low.tolist())), list(map(Fraction, high.tolist()))
        assert not empty
        for a in range(values):
            assert Fraction(lower[a]) <= max(exact_low[a], 1 - sum(exact_high) + exact_high[a])
            assert Fraction(upper[a]) >= min(exact_high[a], 1 - sum(exact_low) + exact_low[a])
    assert left_over([0.5, 0.25, 0.25 + 1e-12], [1.0] * 3, Scalars)[2]
    assert not left_over([0.5, 0.25, 0.25], [1.0] * 3, Scalars)[2]
    assert left_over([0.0] * 3, [0.5, 0.25, 0.25 - 1e-12], Scalars)[2]
    assert left_over([0.6, 0.0, 0.0], [0.5, 1.0, 1.0], Scalars)[2]


def probabilities(entries: list[list[str]]) -> list[list[Any]]:
    return [[arb(x) for x in row] for row in entries]


def highest(ratios: Ratios, value: int, group: int, at: float) -> list[float]:
    return [carried_up(at, factor, Scalars) for factor in ratios.between(value, group)[1]]


def lowest(ratios: Ratios, value: int, group: int, at: float) -> list[float]:
    return [carried_down(at, factor, Scalars) for factor in ratios.between(value, group)[0]]


def test_ratios_are_those_of_exact_arithmetic() -> None:
    rows = [[["0.5", "0.3", "0.2"], ["0.25", "0.25", "0.5"]], [["0.1", "0.6", "0.3"], ["0.2", "0.2", "0.6"]]]
    ratios = Ratios([probabilities(value) for value in rows])
    exact = [[[Fraction(x) for x in cell] for cell in value] for value in rows]
    for group in range(3):
        for at in (Fraction(1, 10), Fraction(7, 8)):
            top_ends, bottom_ends = highest(ratios, 1, group, float(at)), lowest(ratios, 1, group, float(at))
            for other in range(3):
                own, rest = ([cell[other] / cell[group] for cell in value] for value in reversed(exact))
                odds = Fraction(float(at)) / (1 - Fraction(float(at)))
                top, bottom = odds * max(own) / min(rest), odds * min(own) / max(rest)
                assert 0 <= Fraction(top_ends[other]) - top / (1 + top) < Fraction(1, 10**13)
                assert 0 <= bottom / (1 + bottom) - Fraction(bottom_ends[other]) < Fraction(1, 10**13)


def test_ratios_of_zeros_say_what_is_stated() -> None:
    """Output 3 never occurs, 0 never under value 1, 2 only under value 1; a ball around 0 may be a zero or not."""
    rows = [[["0.5", "0.5", "0", "0"], ["0.25", "0.75", "0", "0"]], [["0", "0.5", "0.5", "0"]]]
    ratios = Ratios([probabilities(value) for value in rows])
    # At output 1 anything may be true; at 0 the posterior of 1 is then 0, and at 2 it is 1.
    assert highest(ratios, 1, 1, 0.5)[0] < 1e-100
    assert lowest(ratios, 1, 1, 0.5)[2] == pytest.approx(1.0)
    assert highest(ratios, 1, 1, 0.5)[2:] == [1.0, 1.0]
    assert lowest(ratios, 1, 1, 0.5)[0] == lowest(ratios, 1, 1, 0.5)[3] == 0.0
    assert highest(ratios, 1, 3, 0.5) == [1.0] * 4
    assert lowest(ratios, 1, 3, 0.5) == [0.0] * 4
    assert lowest(ratios, 1, 0, 0.0) == [0.0] * 4
    assert highest(ratios, 1, 2, 1.0) == [1.0] * 4
    wide = arb(0, 1e-30)
    balls = Ratios([[[arb(0.5), wide]], [[arb(0.25), arb(0.75)]]])
    assert highest(balls, 1, 0, 0.5)[1] == 1.0
    assert lowest(balls, 1, 1, 0.5)[0] == 0.0
    assert lowest(balls, 1, 0, 0.5)[1] > 1 - 1e-13


def test_numbers_at_the_edge_of_floats_stay_outward() -> None:
    rows = [[["1e-300", "0.5"], ["1e-310", "0.5"]], [["0.5", "1e-305"]]]
    ratios = Ratios([probabilities(value) for value in rows])
    for at in (5e-324, 1e-200, 0.5, 1 - 2.0**-53, 1.0):
        assert all(0 <= x <= 1 for x in (*highest(ratios, 1, 0, at), *lowest(ratios, 1, 1, at)))
        # Odds of value 1 at output 1 are those at 0 times at least 2e-305 * 1e-310 / 0.5 and at most that of 1e-300.
        assert highest(ratios, 1, 0, at)[1] >= min(at * 1e-280, 1e-290)
        assert lowest(ratios, 1, 0, at)[1] <= 1e-290
    factors = np.array([0.0, 1e-300, LEAST, 1.0, 1e139, 1e200, math.inf])
    for at in (0.0, 5e-324, 1e-141, 0.5, 1.0):
        for carried in (carried_up, carried_down):
            one = [carried(at, factor, Scalars) for factor in factors.tolist()]
            assert carried(np.full(7, at), factors, np).tolist() == one


# Rows whose ratio is beyond the range of doubles: without clamps a tree of ratios lost the prior that leaks most.
STEEP = np.array([[0.2, 0.1, 0.5, 0.2], [0.1, 0.5, 1.4e-309, 0.4]])


@pytest.mark.parametrize("way", WAYS)
def test_a_tree_that_only_overflow_would_prove_is_refused(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    way(monkeypatch)
    channel, cells = channel_of(STEEP, 2)
    problem = problem_of(channel, cells, 1e-4, groups=[0, 1, 2, 3], ratios=True)
    true = leak(problem.rho, problem.laws)
    assert true == pytest.approx(0.2715, abs=1e-3)
    # Down to the least doubles at output 2; in every right half output 1 is cut twice, and the part with the posteriors
    # of the uniform prior is named empty: the odds there are beyond doubles, and without clamps its upper end was 0.
    depth, level = 1060, [2, 1, 4, 1, 5, 4]
    codes = [2, 2, 1, *level[:4], *level * depth, 4, *[4] * 3, 5, 4]
    leaves = [Leaf(0, 0, [0] * 4, 0)] * codes.count(4)
    answer = verify_here(certificate(STEEP, 2, written(problem, codes, leaves, 0.2), 1e-4))
    assert "is named empty, and is not shown to be" in answer.reason
    proof = prove(problem, 0.28)
    assert verify_here(certificate(STEEP, 2, proof, 1e-4)).verified
    assert not verify_here(certificate(STEEP, 2, {**proof, "upper": 0.2}, 1e-4)).verified


def test_clamps_keep_a_posterior_among_the_least_doubles() -> None:
    channel, cells = channel_of(STEEP, 2)
    problem = Posteriors(cells, channel, arb(1e-4), {"groups": [0, 1, 2, 3], "eta": 0.0, "ratios": True})
    first, second = ([Fraction(x) for x in row] for row in STEEP.tolist())
    v = [y / (x + y) for x, y in zip(first, second, strict=True)]
    boxes = OneByOne(problem.frame)
    box = boxes.root[0]
    for cut in [2] * 1040 + [1] * 3 + [0, 3, 2]:
        left, right = boxes._cut(box, cut)
        box = left if v[cut] <= Fraction(left.high[cut]) else right
        assert not box.empty
        assert all(Fraction(x) <= y <= Fraction(z) for x, y, z in zip(box.low, v, box.high, strict=True))
    assert 0 < box.high[2] < 1e-300


def test_factors_are_for_every_value() -> None:
    """Factors for all values but the first, handed over as those of all, lost the prior in most walks."""
    channel, cells = channel_of(np.random.default_rng(0).dirichlet(np.ones(3), size=9), 3)
    problem = Posteriors(cells, channel, arb(1), {"groups": [0, 1, 2], "eta": 0.0, "ratios": True})
    assert problem.frame.ratios is not None
    for box in range(9):
        assert problem.frame.factors(box) == problem.frame.ratios.between(box // 3, box % 3)
    assert Frame(2, 3, problem.frame.ratios).factors(2) == problem.frame.ratios.between(1, 2)


Change = Callable[[Json], object]


def stream(key: str, change: Callable[[bytes], bytes]) -> Change:
    """Change the bytes of a stream."""

    def changed(proof: Json) -> None:
        part = proof if key == "tree" else proof["leaves"]
        part[key] = packed(change(unpacked(part[key])))

    return changed


def leaf_field(key: str, value: Json) -> Change:
    return lambda proof: proof["leaves"].update({key: value})


def raw(key: str, change: Callable[[str], Json]) -> Change:
    """Change the text of a stream."""

    def changed(proof: Json) -> None:
        part = proof if key == "tree" else proof["leaves"]
        part[key] = change(part[key])

    return changed


def code(n: int) -> bytes:
    return int(n).to_bytes(4, "little", signed=True)


BOMB = packed(bytes(10**7))
SPOILT: dict[str, tuple[str, Change, str]] = {
    "tree is a list": ("two values", lambda p: p.update(tree=[0]), "must be a text of base64"),
    "tree is not base64": ("two values", raw("tree", lambda x: "!" + x), "the tree is not base64"),
    "tree has blanks": ("two values", raw("tree", lambda x: x[:4] + "\n" + x[4:]), "the tree is not base64"),
    "tree beyond ASCII": ("two values", raw("tree", lambda x: x + "é"), "the tree is not base64"),
    "tree is not zlib": ("two values", raw("tree", lambda _: "AAAA"), "the tree is not what zlib writes"),
    "tree is empty": ("two values", raw("tree", lambda _: ""), "the tree is cut off"),
    "tree cut off": ("two values", stream("tree", lambda x: x[:-1]), "ends before its last number"),
    "checksum cut off": ("two values", raw("tree", lambda x: x[: len(x) // 4 * 4 - 8]), "the tree"),
    "a code too many": ("two values", stream("tree", lambda x: x + b"\3"), "the tree goes on"),
    "bytes after the end": ("two values", raw("tree", lambda x: x.rstrip("=") + "AAAA" * 5), "the tree"),
    "another stream after the end": (
        "two values", lambda p: p.update(tree=_twice(p["tree"])), "the tree goes on",
    ),
    "a code beyond the last": ("two values", stream("tree", lambda x: b"\5" + x[1:]), "where 4 is the last"),
    "the root is empty": ("two values", stream("tree", lambda _: b"\4"), "of the leaves goes on"),
    "scale too short": ("two values", stream("scale", lambda x: x[:-1]), "'scale' of the leaves ends"),
    "scale too long": ("two values", stream("scale", lambda x: x + b"\0"), "'scale' of the leaves goes on"),
    "scale beyond the last": ("two values", stream("scale", lambda x: b"\4" + x[1:]), "where 3 is the last"),
    "scale of another size": ("two values", stream("scale", lambda x: b"\3" * len(x)), "exceeds"),
    "sigma too short": ("two values", stream("sigma", lambda x: x[:-4]), "'sigma' of the leaves ends"),
    "sigma below": ("two values", stream("sigma", lambda x: code(-61 * 8) + x[4:]), "sigma of a leaf is not between"),
    "sigma above": ("two values", stream("sigma", lambda x: code(61 * 8) + x[4:]), "sigma of a leaf is not between"),
    "sigma far below": ("two values", stream("sigma", lambda x: code(-(2**31)) + x[4:]), "is not between"),
    "sigma far above": ("two values", stream("sigma", lambda x: code(2**31 - 1) + x[4:]), "is not between"),
    "sigma another": ("two values", stream("sigma", lambda x: code(80) + x[4:]), "exceeds"),
    "m too short": ("two values", stream("m", lambda x: x[:-1]), "'m' of the leaves ends"),
    "m too long": ("two values", stream("m", lambda x: x + b"\0"), "'m' of the leaves goes on"),
    "m huge": ("two values", stream("m", lambda x: b"\x7f" * len(x)), "exceeds"),
    "a bomb of m": ("two values", leaf_field("m", BOMB), "'m' of the leaves goes on"),
    "a bomb of scales": ("two values", leaf_field("scale", BOMB), "'scale' of the leaves goes on"),
    "a bomb of a tree": ("two values", lambda p: p.update(tree=BOMB), "the tree"),
    "three bytes": ("two values", leaf_field("bytes", 3), "none of 1, 2 and 4"),
    "eight bytes": ("two values", leaf_field("bytes", 8), "from 1 to 4"),
    "more bytes": ("two values", leaf_field("bytes", 2), "'m' of the leaves ends"),
    "a tangent too many": ("two values", leaf_field("tangent", packed(b"")), "where there is no choice"),
    "one tangent named": ("groups", leaf_field("tangent", packed(b"")), "where there is no choice"),
    "tangent missing": ("groups with ratios", lambda p: p["leaves"].pop("tangent"), "lacks 'tangent'"),
    "tangent beyond the last": ("groups with ratios", stream("tangent", lambda x: b"\3" + x[1:]), "2 is the last"),
    "no tangents": ("groups", lambda p: p.update(tangents=[]), "where 1 to 256 are needed"),
    "very many tangents": ("groups", lambda p: p.update(tangents=[0] * 257), "where 1 to 256 are needed"),
    "tangent of one value": ("groups", lambda p: p["tangents"][0].pop(), "tangent 0 has 1 entries"),
    "tangent too short": ("groups", lambda p: p["tangents"][0][0].pop(), "tangent 0, value 0 has 3 entries"),
    "tangent of all": ("groups", lambda p: p["tangents"][0][0].__setitem__(0, 1e300), "exceeds"),
    "eta negative": ("groups", lambda p: p.update(eta=-1.0), "not between"),
    "eta too small": ("groups", lambda p: p.update(eta=0.001), "not shown to bound the contraction"),
    "eta zero": ("groups", lambda p: p.update(eta=0.0), "needs groups of one output each"),
    "eta of all": ("groups", lambda p: p.update(eta=2.0), "exceeds"),
    "groups too short": ("groups", lambda p: p["groups"].pop(), "groups has 3 entries"),
    "group out of range": ("groups", lambda p: p["groups"].__setitem__(0, 4), "a group must be a whole number"),
    "groups changed": ("groups", lambda p: p.update(groups=[0, 0, 1, 1]), "not shown to bound the contraction"),
    "more groups": ("groups", lambda p: p.update(groups=[0, 1, 2, 3]), ""),
    "ratios are a number": ("two values", lambda p: p.update(ratios=1), "is neither true nor false"),
    "ratios left out": ("two values with ratios", lambda p: p.update(ratios=False), ""),
}  # fmt: skip


def _twice(text: str) -> str:
    """A stream with another one behind it."""
    return base64.b64encode(base64.b64decode(text) * 2).decode()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", SPOILT)
def test_a_spoilt_tree_is_refused(kind: str, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    way(monkeypatch)
    name, change, words = SPOILT[kind]
    data = certified(name)
    change(data["proofs"][0])
    answer = verify_here(data)
    assert not answer.verified
    assert words in answer.reason
    assert "cannot be checked" not in answer.reason


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"numbers": 20}, "too many nodes to check"),
        ({"nodes": 2}, "more than the 2 bytes that it may have"),
        ({"levels": 1}, "more than 1 levels"),
        ({"packed_bytes": 5}, "too many multipliers to check"),
    ],
)
def test_trees_beyond_the_sizes_are_refused(sizes: dict[str, int], words: str) -> None:
    with sized(**sizes):
        assert words in verify_here(certified("two values")).reason


def test_a_bomb_is_inflated_no_farther_than_its_codes_imply(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    inflated = packed_trees.inflated

    def noted(content: object, name: str, most: int) -> bytes:
        seen.append(most)
        return inflated(content, name, most)

    monkeypatch.setattr(packed_trees, "inflated", noted)
    data = certified("two values")
    data["proofs"][0]["leaves"]["m"] = BOMB
    tracemalloc.start()
    try:
        assert "goes on" in verify_here(data).reason
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert seen[-1] < 10**4


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_box_that_is_not_empty_is_not_taken_for_empty(name: str, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    way(monkeypatch)
    rows, _, cells, problem, _ = subject(name)
    leaf = Leaf(0, 0, [0] * problem.boxes, 0)
    for codes in ([0, problem.boxes, problem.boxes + 1], [0, problem.boxes + 1, problem.boxes]):
        # With one value the posterior is 1, and the left half is empty.
        empty = name == "one value" and codes[1] > problem.boxes
        answer = verify_here(certificate(rows, len(cells), written(problem, codes, [leaf], 9.0)))
        assert answer.verified == empty
        assert empty or "depth 1 of the tree is named empty, and is not" in answer.reason


def test_codes_of_many_boxes_take_two_bytes() -> None:
    many = 300
    codes = [[299], [300, 300]]
    flat = np.array([299, 300, 300], "<u2").tobytes()
    assert [list(level) for level in levels(packed(flat), many)] == codes
    with pytest.raises(Refused, match="codes name at most 65534"):
        list(levels(packed(flat), 2**16))


def test_wider_multipliers_mean_the_same() -> None:
    _, _, _, problem, proof = subject("two values")
    content = unpacked(proof["leaves"]["m"])
    for wide in (2, 4):
        m = packed(np.frombuffer(content, "<i1").astype(f"<i{wide}").tobytes())
        data = certified("two values", leaves={**proof["leaves"], "m": m, "bytes": wide})
        assert verify_here(data).verified
    # A finer scale: the same numbers.
    sigma = np.frombuffer(unpacked(proof["leaves"]["sigma"]), "<i4") * 8**3
    fine = {
        "scale": packed(b"\3" * len(sigma)),
        "sigma": packed(sigma.astype("<i4").tobytes()),
        "m": packed((np.frombuffer(content, "<i1").astype("<i4") * 16**3).tobytes()),
        "bytes": 4,
    }
    assert problem.boxes * len(sigma) == len(content)
    assert verify_here(certified("two values", leaves=fine)).verified


def test_few_leaves_do_not_load_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doubles.numpy(15, 10**9) is None
    assert doubles.numpy(16, 1) is np
    monkeypatch.delitem(doubles.sys.modules, "numpy")
    assert doubles.numpy(16, 1) is None
    monkeypatch.setitem(doubles.sys.modules, "numpy", None)
    assert doubles.numpy(10**6, 10**6) is None


@pytest.mark.parametrize("memory", [100, 448])
def test_a_file_is_checked_with_little_memory_too(memory: int, tmp_path: Any) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(certified("groups with ratios")))
    found = process.verdict(path, None, memory=memory, time_limit=60.0)
    assert found["verified"], found["reason"]


@pytest.mark.skipif(
    platform.machine() not in {"x86_64", "AMD64"} or platform.libc_ver()[0] != "glibc", reason="the layout of fenv_t"
)
@pytest.mark.parametrize("bits", [0x8040, 0x2000, 0x4000], ids=["flush to zero", "round down", "round up"])
def test_arithmetic_of_another_kind_is_refused(bits: int) -> None:
    libm = ctypes.CDLL("libm.so.6")
    before, after = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
    data = certified("two values")
    libm.fegetenv(before)
    control = int.from_bytes(before.raw[28:32], "little") | bits
    after.raw = before.raw[:28] + control.to_bytes(4, "little")
    libm.fesetenv(after)
    try:
        usual = doubles.ordinary()
        answer = verify_here(data)
    finally:
        libm.fesetenv(before)
    assert not usual
    assert doubles.ordinary()
    assert "rounds numbers in another way" in answer.reason


def test_arithmetic_is_looked_at_after_numpy_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that is loaded with it may flush denormal numbers to zero."""
    usual = [True]
    monkeypatch.setattr(doubles, "numpy", lambda *_: usual.clear())
    monkeypatch.setattr(doubles, "ordinary", lambda: bool(usual))
    assert "rounds numbers in another way" in verify_here(certified("two values")).reason


def test_a_tree_of_very_many_levels_takes_little_memory() -> None:
    """Two codes a level, a cut and an empty box, which zlib makes a thousandth of."""
    chain = zlib.compress(bytes([0]) + bytes([0, 3]) * 2**20, 9)
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match="more than 65536 levels"):
            list(levels(base64.b64encode(chain).decode(), 2))
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_ends_that_cross_are_seen_before_they_are_raised() -> None:
    """With ratios all groups are tightened at once, in place; a box that was empty was then no longer seen to be."""
    boxes = Together(Frame(2, 1, None), np)
    for changed in ((slice(None),) * 4, (np.arange(1), slice(None), slice(None), np.zeros(1, dtype=int))):
        low, high = np.full((1, 2, 1, 1), 0.6), np.full((1, 2, 1, 1), 0.5)
        assert boxes._whole(low, high, changed).all()
