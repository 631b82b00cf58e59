"""Proofs by posteriors: in balls they are the float bound, and a spoilt one is refused or still true."""

import copy
import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import brute_force
import numpy as np
import pytest
from cases import LN2, named, parity_leakage, random_channel
from flint import arb
from numpy.typing import NDArray

import dalenius as dl
from dalenius.bounds.contraction import coefficient
from dalenius.bounds.trees.posterior_bound import Boxes, Point, PosteriorProblem, Relaxed, evaluate, tangent
from dalenius.model.channels.mechanism import Mechanism
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.settings import only
from dalenius.verifier.balls import precision
from dalenius.verifier.channels.channel import Channel, rebuild
from dalenius.verifier.kinds.posteriors import Box, Posteriors
from dalenius.verifier.kinds.ratios import Ratios
from dalenius.verifier.limits import sized
from dalenius.verifier.reading import Refused
from dalenius.verifier.verify import verify_here

Floats = NDArray[np.float64]
Json = Any


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    with precision():
        yield


def split_outputs() -> Mechanism:
    """Proportional columns, one that never occurs, and equal rows."""
    rows = np.random.default_rng(3).dirichlet([0.5] * 2, size=4)
    rows[3] = rows[0]
    wide = np.column_stack([0.25 * rows[:, 0], np.zeros(4), rows[:, 1], 0.75 * rows[:, 0]])
    return Mechanism.from_matrix(wide, records=[2, 2])


WITH_ZEROS = [[0.6, 0.4, 0, 0], [0, 0.3, 0.7, 0], [0.2, 0, 0.5, 0.3], [0, 0, 0.1, 0.9]]
SUBJECTS = {
    "parity": (lambda: named("modular_sum(n=2, modulus=2)", "symmetric(flip=0.1)"), 1.2 * LN2, 1e-4),
    "count": (lambda: named("count(n=3)", "geometric(epsilon=1)"), 1.7, 1e-4),
    "groups": (lambda: named("count(n=3)", "geometric(epsilon=0.7)"), 1.78, 1e-4),
    "three values": (lambda: random_channel([3, 2], 2, 42), 1.25, 3e-3),
    "zeros": (lambda: Mechanism.from_matrix(WITH_ZEROS, records=[2, 2]), 0.7, 1e-4),
    "split outputs": (split_outputs, 1.1, 1e-4),
}


@cache
def mechanism_of(name: str) -> Mechanism:
    return SUBJECTS[name][0]()  # type: ignore[no-untyped-call]


@cache
def _text(name: str) -> str:
    """An audit that has nothing but posteriors to close its gap."""
    _, b, tolerance = SUBJECTS[name]
    audit = audited(mechanism_of(name), entropy=b, tolerance=tolerance)
    assert audit.gap <= tolerance
    return str(audit.certificate.text())


def audited(mechanism: Mechanism, **asked: Any) -> Any:  # noqa: ANN401 - as for dl.audit
    return dl.audit(mechanism, **asked, settings=dl.Settings(portfolio=only("posteriors")))


def certificate_of(name: str) -> Json:
    return json.loads(_text(name))


def posteriors_of(data: Json) -> Json:
    return next(proof for proof in data["proofs"] if proof["kind"] == "posteriors")


@cache
def attained(name: str) -> float:
    mechanism, b = mechanism_of(name), SUBJECTS[name][1]
    return brute_force.attained(mechanism.matrix(), mechanism.records, b, starts=3)


@pytest.mark.parametrize("name", SUBJECTS)
def test_certificates_are_verified_and_true(name: str) -> None:
    data = certificate_of(name)
    proof = posteriors_of(data)
    answer = verify_here(data, mechanism_of(name))
    assert answer.verified, answer.reason
    assert data["lower"] - 1e-9 <= attained(name) <= data["upper"] + 1e-12
    assert any(isinstance(item, list) for item in proof["tree"])
    if name == "groups":
        assert 0.01 < proof["eta"] < 1
    if name == "parity":
        truth = parity_leakage(2, 0.1, 1.2 * LN2)
        assert data["lower"] <= truth <= data["upper"]


def test_a_leaf_is_tight_to_its_claim() -> None:
    """A claim lower than the worst leaf by a little is refused: the leaves are really evaluated."""
    data = certificate_of("parity")
    proof = posteriors_of(data)
    below = copy.deepcopy(data)
    for item in [below, *below["proofs"]]:
        item["upper"] = data["lower"]
    answer = verify_here(below)
    assert not answer.verified
    assert "exceeds claimed" in answer.reason
    assert proof["upper"] > data["lower"]


def rebuilt(mechanism: Mechanism) -> tuple[Channel, list[dict[int, Any]]]:
    channel = rebuild({"records": list(mechanism.records), "classes": None, "rows": mechanism.matrix().tolist()})
    return channel, channel.cells(channel.statistic.shares(0))


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_in_balls_is_that_in_floats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    records, outputs = [([2, 2], 3), ([3, 2], 4), ([2, 2, 2], 4), ([4], 3)][seed % 4]
    mechanism = random_channel(records, outputs, seed)
    cells = Cells(lump(mechanism, 0)[0], 0.4)
    groups = np.arange(outputs) if seed % 3 == 0 else np.sort(rng.integers(0, 2, size=outputs))
    single = len(set(groups.tolist())) == outputs
    inside = [np.flatnonzero(groups == g) for g in set(groups.tolist())]
    eta = 0.0 if single else max(coefficient(cells.q[part][:, y]) for part in cells.slices for y in inside)
    frame = PosteriorProblem(cells, groups, eta)
    shape = (1, cells.n_secrets - 1, frame.n_groups)
    low, high = np.sort(rng.random((2, *shape)) / (cells.n_secrets - 1), axis=0)
    x = Point(rng.normal(size=shape), rng.uniform(0.1, 2, size=1), rng.normal(size=(1, cells.n_secrets, outputs)))
    in_floats = evaluate(frame, Relaxed.of(frame, Boxes(low, high)), x, tangent(frame, x.lam)).bound[0]
    channel, shares = rebuilt(mechanism)
    verifier = Posteriors(shares, channel, arb(0.4), {"groups": groups.tolist(), "eta": eta})
    leaf = {"sigma": float(x.sigma[0]), "m": x.m[0].tolist(), "lam": x.lam[0].tolist()}
    bound = verifier.bound(Box(low[0].tolist(), high[0].tolist()), leaf)
    assert bound is not None
    assert float(bound) == pytest.approx(in_floats, abs=1e-10)
    assert float(bound.rad()) < 1e-25


def information(z: Floats) -> float:
    """I of a joint law (A, Y)."""
    product = z.sum(axis=1, keepdims=True) * z.sum(axis=0)
    return float((z[z > 0] * np.log(z[z > 0] / product[z > 0])).sum())


@pytest.mark.parametrize("ratios", [False, True])
@pytest.mark.parametrize("values", [1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_no_prior_of_a_box_exceeds_its_bound(seed: int, values: int, ratios: bool) -> None:  # noqa: FBT001 - a case
    """Rows with exact zeros, an output that never occurs, groups with gaps in their numbers, and any leaf at all."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(5, 0.5), size=3 * values)
    rows[rng.random(rows.shape) < 0.2] = 0
    rows[:, 2] = 0
    rows[rows.sum(axis=1) == 0, 0] = 1
    rows /= rows.sum(axis=1, keepdims=True)
    channel, shares = rebuilt(Mechanism.from_matrix(rows, records=[values, 3]))
    groups = [[0, 1, 2, 3, 4], [0, 3, 3, 1, 0], [4, 4, 4, 4, 4]][seed % 3]
    eta = 0.0 if seed % 3 == 0 else 1.0
    laws = [np.array([[float(x) for x in channel.rows[r]] for r in cell]) for cell in shares]
    rho = [np.array([float(x) for x in cell.values()]) for cell in shares]
    for _ in range(15):
        drawn = [rng.dirichlet(np.full(len(q), 0.5)) for q in laws]
        p = rng.dirichlet(np.ones(values))
        pi = [a * w for a, w in zip(p, drawn, strict=True)]
        z = np.stack([w @ q for w, q in zip(pi, laws, strict=True)])
        knowledge = sum((w[w > 0] * np.log(w[w > 0] / r[w > 0])).sum() for w, r in zip(pi, rho, strict=True)) + 1e-12
        verifier = Posteriors(shares, channel, arb(knowledge), {"groups": groups, "eta": eta, "ratios": ratios})
        total = z.sum(axis=0)
        box = verifier.root
        for _ in range(4 if values > 1 else 0):
            a, g = int(rng.integers(1, values)), int(rng.choice(groups))
            members = [y for y in range(5) if groups[y] == g]
            v = float(z[a, members].sum() / total[members].sum()) if total[members].sum() > 0 else 0.0
            # Near the posterior as well: there a cut that is carried too far would leave the prior outside.
            at = float(rng.random()) if rng.random() < 0.5 else min(1.0, max(0.0, v + float(rng.normal(scale=1e-9))))
            box = verifier.split(box, [a, g, at])[0 if v <= at else 1]
        leaf = {
            "sigma": float(rng.choice([0.01, 0.3, 3.0])),
            "m": rng.normal(size=(values - 1, verifier.many)).tolist(),
            "lam": rng.normal(scale=2.0, size=(values, 5)).tolist(),
        }
        bound = verifier.bound(box, leaf)
        assert bound is not None
        assert bound >= information(z) - 1e-9


def probabilities(entries: list[list[str]]) -> list[list[Any]]:
    return [[arb(x) for x in row] for row in entries]


def test_ratios_are_those_of_exact_arithmetic() -> None:
    rows = [[["0.5", "0.3", "0.2"], ["0.25", "0.25", "0.5"]], [["0.1", "0.6", "0.3"], ["0.2", "0.2", "0.6"]]]
    ratios = Ratios([probabilities(value) for value in rows])
    exact = [[[Fraction(x) for x in cell] for cell in value] for value in rows]
    for group in range(3):
        for at in (Fraction(1, 10), Fraction(7, 8)):
            highest, lowest = ratios.highest(1, group, float(at)), ratios.lowest(1, group, float(at))
            for other in range(3):
                own, rest = ([cell[other] / cell[group] for cell in value] for value in reversed(exact))
                odds = Fraction(float(at)) / (1 - Fraction(float(at)))
                top, bottom = odds * max(own) / min(rest), odds * min(own) / max(rest)
                assert 0 <= Fraction(highest[other]) - top / (1 + top) < Fraction(1, 10**13)
                assert 0 <= bottom / (1 + bottom) - Fraction(lowest[other]) < Fraction(1, 10**13)


def test_ratios_of_zeros_say_what_is_stated() -> None:
    """Output 3 never occurs, 0 never under value 1, 2 only under value 1; a ball around 0 may be a zero or not."""
    rows = [[["0.5", "0.5", "0", "0"], ["0.25", "0.75", "0", "0"]], [["0", "0.5", "0.5", "0"]]]
    ratios = Ratios([probabilities(value) for value in rows])
    # At output 1 anything may be true; at 0 the posterior of 1 is then 0, and at 2 it is 1.
    assert ratios.highest(1, 1, 0.5)[0] < 1e-100
    assert ratios.lowest(1, 1, 0.5)[2] == pytest.approx(1.0)
    assert ratios.highest(1, 1, 0.5)[2:] == [1.0, 1.0]
    assert ratios.lowest(1, 1, 0.5)[0] == ratios.lowest(1, 1, 0.5)[3] == 0.0
    assert ratios.highest(1, 3, 0.5) == [1.0] * 4
    assert ratios.lowest(1, 3, 0.5) == [0.0] * 4
    assert ratios.lowest(1, 0, 0.0) == [0.0] * 4
    assert ratios.highest(1, 2, 1.0) == [1.0] * 4
    wide = arb(0, 1e-30)
    balls = Ratios([[[arb(0.5), wide]], [[arb(0.25), arb(0.75)]]])
    assert balls.highest(1, 0, 0.5)[1] == 1.0
    assert balls.lowest(1, 1, 0.5)[0] == 0.0
    assert balls.lowest(1, 0, 0.5)[1] > 1 - 1e-13


def test_numbers_at_the_edge_of_floats_stay_outward() -> None:
    rows = [[["1e-300", "0.5"], ["1e-310", "0.5"]], [["0.5", "1e-305"]]]
    ratios = Ratios([probabilities(value) for value in rows])
    for at in (5e-324, 1e-200, 0.5, 1 - 2.0**-53, 1.0):
        assert all(0 <= x <= 1 for x in (*ratios.highest(1, 0, at), *ratios.lowest(1, 1, at)))
        # Odds of value 1 at output 1 are those at 0 times at least 2e-305 * 1e-310 / 0.5 and at most that of 1e-300.
        assert ratios.highest(1, 0, at)[1] >= min(at * 1e-280, 1e-290)
        assert ratios.lowest(1, 0, at)[1] <= 1e-290 or at == 1.0


def test_splitting_leaves_a_box_as_it_was() -> None:
    channel, shares = rebuilt(random_channel([3, 2], 3, 1))
    verifier = Posteriors(shares, channel, arb(1), {"groups": [0, 1, 2], "eta": 0.0})
    root = verifier.root
    left, right = verifier.split(root, [2, 1, 0.25])
    far = verifier.split(left, [1, 0, 0.75])
    assert root == Box([[0.0] * 3] * 2, [[1.0] * 3] * 2)
    assert left == Box([[0.0] * 3] * 2, [[1.0] * 3, [1.0, 0.25, 1.0]])
    assert right == Box([[0.0] * 3, [0.0, 0.25, 0.0]], [[1.0] * 3] * 2)
    assert far[1] == Box([[0.75, 0.0, 0.0], [0.0] * 3], [[1.0] * 3, [1.0, 0.25, 1.0]])


def test_what_is_left_for_the_first_value_is_rounded_outward() -> None:
    box = Box([[0.1], [0.2]], [[0.3], [0.4]])
    (low,), (high,) = box.rest(1)
    assert low < 1 - Fraction(0.3) - Fraction(0.4)
    assert high > 1 - Fraction(0.1) - Fraction(0.2)
    assert high - low == pytest.approx(0.4, abs=1e-15)
    assert Box([[0.0]], [[1.0]]).rest(1) == ([0.0], [1.0])
    assert Box([], []).rest(2) == ([1.0, 1.0], [1.0, 1.0])


def test_a_box_whose_posteriors_exceed_one_is_empty() -> None:
    channel, shares = rebuilt(random_channel([3, 2], 3, 1))
    verifier = Posteriors(shares, channel, arb(1), {"groups": [0, 1, 2], "eta": 0.0})
    leaf = {"sigma": 1.0, "m": [[0.0] * 3] * 2}
    ones = [[1.0] * 3] * 2
    assert verifier.bound(Box([[0.6, 0.0, 0.0], [0.6, 0.0, 0.0]], ones), leaf) is None
    assert verifier.bound(Box([[0.5, 0.0, 0.0], [0.5, 0.0, 0.0]], ones), leaf) is not None
    assert verifier.bound(Box([[0.6, 0.0, 0.0], [0.0] * 3], [[0.5, 1.0, 1.0], [1.0] * 3]), leaf) is None


def test_a_secret_value_without_mass_is_left_out() -> None:
    mechanism = named("total(n=2, values=[0, 1, 2])", "geometric(epsilon=1)")
    reference = [[0.5, 0.0, 0.5], [0.25, 0.5, 0.25]]
    audit = audited(mechanism, secret=0, knowledge=0.5, reference=reference, tolerance=1e-3)
    data = json.loads(audit.certificate.text())
    proof = posteriors_of(data)
    assert all(len(leaf["m"]) == 1 for leaf in leaves(proof))
    assert verify_here(data, mechanism).verified


Change = Callable[[Json], object]


def first_split(proof: Json) -> Json:
    return next(item for item in proof["tree"] if isinstance(item, list))


def leaves(proof: Json) -> list[Json]:
    return [item for item in proof["tree"] if isinstance(item, dict)]


def put(proof: Json, key: str, value: Json) -> None:
    for leaf in leaves(proof):
        leaf[key] = value


SPOILT: dict[str, Change] = {
    "cut above one": lambda p: first_split(p).__setitem__(2, 1.5),
    "cut below zero": lambda p: first_split(p).__setitem__(2, -0.1),
    "cut is not a number": lambda p: first_split(p).__setitem__(2, math.nan),
    "cut is a word": lambda p: first_split(p).__setitem__(2, "half"),
    "no such group": lambda p: first_split(p).__setitem__(1, 99),
    "negative group": lambda p: first_split(p).__setitem__(1, -1),
    "group is a float": lambda p: first_split(p).__setitem__(1, 0.0),
    "the first value is not split": lambda p: first_split(p).__setitem__(0, 0),
    "no such value": lambda p: first_split(p).__setitem__(0, 7),
    "split of two numbers": lambda p: first_split(p).pop(),
    "split of simplices": lambda p: p["tree"].__setitem__(0, [1, 0, 1, 0.5]),
    "last leaf dropped": lambda p: p["tree"].pop(),
    "first leaf dropped": lambda p: p["tree"].remove(leaves(p)[0]),
    "a leaf too many": lambda p: p["tree"].append(copy.deepcopy(leaves(p)[0])),
    "empty tree": lambda p: p["tree"].clear(),
    "too deep": lambda p: p["tree"].__setitem__(slice(0, 0), [[1, 0, 0.5]] * 20_000),
    "sigma zero": lambda p: put(p, "sigma", 0.0),
    "sigma negative": lambda p: put(p, "sigma", -0.1),
    "sigma infinite": lambda p: put(p, "sigma", math.inf),
    "sigma huge": lambda p: put(p, "sigma", 1e308),
    "sigma missing": lambda p: leaves(p)[0].pop("sigma"),
    "m too short": lambda p: leaves(p)[0]["m"][0].pop(),
    "m too long": lambda p: leaves(p)[0]["m"][0].append(0.0),
    "m of a value too many": lambda p: leaves(p)[0]["m"].append(leaves(p)[0]["m"][0]),
    "m not finite": lambda p: leaves(p)[0]["m"][0].__setitem__(0, math.inf),
    "m huge": lambda p: leaves(p)[0]["m"][0].__setitem__(0, 1e308),
    "m huge and negative": lambda p: leaves(p)[0]["m"][0].__setitem__(0, -1e308),
    "m missing": lambda p: leaves(p)[0].pop("m"),
    "groups too short": lambda p: p["groups"].pop(),
    "group out of range": lambda p: p["groups"].__setitem__(0, 99),
    "group is true": lambda p: p.__setitem__("groups", [True, *p["groups"][1:]]),
    "groups missing": lambda p: p.pop("groups"),
    "one group without contraction": lambda p: p.__setitem__("groups", [0] * len(p["groups"])),
    "eta negative": lambda p: p.__setitem__("eta", -1.0),
    "eta not finite": lambda p: p.__setitem__("eta", math.nan),
    "eta of every value": lambda p: p.__setitem__("eta", [0.5, 0.5]),
    "eta missing": lambda p: p.pop("eta"),
    "ratios is a word": lambda p: p.__setitem__("ratios", "all"),
    "leaf without numbers": lambda p: leaves(p)[0].clear(),
    "leaf is a number": lambda p: p["tree"].__setitem__(-1, 1.0),
}
SPOILT_GROUPS: dict[str, Change] = {
    "eta too small": lambda p: p.__setitem__("eta", 0.9 * p["eta"]),
    "eta zero": lambda p: p.__setitem__("eta", 0.0),
    "lam too short": lambda p: leaves(p)[0]["lam"][0].pop(),
    "lam of one value": lambda p: leaves(p)[0]["lam"].pop(),
    "lam is a word": lambda p: leaves(p)[0]["lam"][0].__setitem__(0, "all"),
    "lam not finite": lambda p: leaves(p)[0]["lam"][0].__setitem__(0, -math.inf),
    "lam huge": lambda p: put(p, "lam", [[1e308] * len(p["groups"]), [-1e308] * len(p["groups"])]),
}


def refer(proof: Json, number: Json) -> None:
    """The first leaf that shares a point refers to another one."""
    tree = proof["tree"]
    tree[next(k for k, item in enumerate(tree) if isinstance(item, int))] = number


def worst_of(points: list[Json]) -> Json:
    """A point that proves little: a large sigma pays for all the knowledge."""
    return {**points[0], "sigma": 50.0}


SPOILT_SHARED: dict[str, Change] = {
    "no such point": lambda p: refer(p, len(p["points"])),
    "negative point": lambda p: refer(p, -1),
    "point is true": lambda p: refer(p, bool(1)),
    "point is a float": lambda p: refer(p, 0.0),
    "point is a word": lambda p: refer(p, "0"),
    "points missing": lambda p: p.pop("points"),
    "points are an object": lambda p: p.__setitem__("points", {"0": p["points"][0]}),
    "a point refers to a point": lambda p: p["points"].__setitem__(0, 1),
    "a point is a split": lambda p: p["points"].__setitem__(0, [1, 0, 0.5]),
    "a point is dropped": lambda p: p["points"].pop(),
    "a point without sigma": lambda p: p["points"][0].pop("sigma"),
    "a point with a short m": lambda p: p["points"][0]["m"][0].pop(),
    "a point of sigma zero": lambda p: p["points"][0].__setitem__("sigma", 0.0),
    "a point that proves less": lambda p: p["points"].__setitem__(0, worst_of(p["points"])),
}
EVERY = [(name, change) for name in ("parity", "count", "groups") for change in SPOILT]
EVERY += [("groups", change) for change in SPOILT_GROUPS]
EVERY += [("count", change) for change in SPOILT_SHARED]


@pytest.mark.parametrize(("name", "change"), EVERY)
def test_what_is_spoilt_is_refused(name: str, change: str) -> None:
    data = certificate_of(name)
    (SPOILT | SPOILT_GROUPS | SPOILT_SHARED)[change](posteriors_of(data))
    answer = verify_here(data)
    assert not answer.verified
    assert answer.reason
    assert "cannot be checked" not in answer.reason


def test_a_shared_point_proves_what_its_copies_prove() -> None:
    """Written out at every leaf, as certificates without points are, the proof is the same."""
    data = certificate_of("count")
    proof = posteriors_of(data)
    points = proof.pop("points")
    proof["tree"] = [copy.deepcopy(points[item]) if isinstance(item, int) else item for item in proof["tree"]]
    assert verify_here(data, mechanism_of("count")).verified
    for item in [data, *data["proofs"]]:
        item["upper"] = data["lower"]
    assert not verify_here(data, mechanism_of("count")).verified


def test_a_kind_that_is_no_word_is_refused() -> None:
    data = certificate_of("parity")
    kinds: list[Json] = [["posteriors"], {}, None, 3]
    for kind in kinds:
        forged = copy.deepcopy(data)
        posteriors_of(forged)["kind"] = kind
        answer = verify_here(forged)
        assert not answer.verified
        assert "its kind is none of" in answer.reason


def moved(proof: Json, seed: int) -> Iterator[Json]:
    """Splits and leaves changed to others that make sense, which may leave a proof or not."""
    rng = np.random.default_rng(seed)
    for kind in 2 * [*range(7)]:
        new = copy.deepcopy(proof)
        splits = [item for item in new["tree"] if isinstance(item, list)]
        listed = leaves(new)
        cut = splits[rng.integers(len(splits))]
        if kind == 0:
            cut[1] = int(rng.integers(max(new["groups"]) + 1))
        elif kind == 1:
            cut[2] = float(rng.random())
        elif kind == 2:
            cut[2] = float(rng.choice([0.0, 1.0]))
        elif kind == 3:
            one, other = rng.integers(len(listed), size=2)
            listed[one].update(copy.deepcopy(listed[other]))
        elif kind == 4:
            listed[rng.integers(len(listed))]["sigma"] *= float(rng.choice([0.5, 0.9, 1.1]))
        elif kind == 5:
            row = listed[rng.integers(len(listed))]["m"][0]
            row[rng.integers(len(row))] += float(rng.choice([-0.1, 1e-6, 0.1]))
        else:
            new["eta"] = min(1.0, 1.001 * new["eta"])
        yield new


@pytest.mark.parametrize("name", ["parity", "count", "groups", "three values"])
def test_what_is_changed_is_refused_or_true(name: str) -> None:
    data = certificate_of(name)
    place = data["proofs"].index(posteriors_of(data))
    for k, proof in enumerate(moved(data["proofs"][place], 1)):
        # Claim as little as may pass: slightly below what brute force attains must always be refused.
        changed = {**data, "proofs": [*data["proofs"][:place], proof, *data["proofs"][place + 1 :]]}
        if verify_here(changed).verified:
            assert data["upper"] >= attained(name) - 1e-12
        false = copy.deepcopy(changed)
        for item in [false, *false["proofs"]]:
            item["upper"] = attained(name) - 1e-7
        false["lower"] = 0.0
        assert not verify_here(false).verified, k


def test_boxes_that_wait_are_bounded_in_number_by_their_size() -> None:
    data = certificate_of("count")
    proof = posteriors_of(data)
    assert verify_here(data).verified
    # two boxes of two values and four outputs
    with sized(waiting_numbers=2 * 4 * 2):
        answer = verify_here(data)
    assert len(leaves(proof)) > 4
    assert not answer.verified
    assert "too deep" in answer.reason


def test_secants_are_forgotten_before_they_fill_the_memory() -> None:
    channel, shares = rebuilt(random_channel([2, 2], 3, 1))
    verifier = Posteriors(shares, channel, arb(1), {"groups": [0, 1, 2], "eta": 0.0})
    leaf, rng = {"sigma": 1.0, "m": [[0.1, 0.2, 0.3]]}, np.random.default_rng(0)
    with sized(secants=8):
        for _ in range(20):
            low, high = np.sort(rng.random((2, 1, 3)), axis=0).tolist()
            verifier.bound(Box(low, high), leaf)
            assert len(verifier._secants) <= 8


def test_groups_need_a_contraction_of_every_value() -> None:
    # The two rows of value 1 are alike inside the group, those of value 0 are not.
    rows = [[0.5, 0.2, 0.3], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.4, 0.4, 0.2]]
    channel, shares = rebuilt(Mechanism.from_matrix(rows, records=[2, 2]))
    eta = coefficient(np.array(rows[:2])[:, :2])
    Posteriors(shares, channel, arb(1), {"groups": [0, 0, 1], "eta": eta + 1e-9})
    with pytest.raises(Refused, match="value 0"):
        Posteriors(shares, channel, arb(1), {"groups": [0, 0, 1], "eta": 0.99 * eta})
