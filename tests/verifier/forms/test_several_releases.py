"""Several releases of one sum that are never written out: what is accepted, and what is refused."""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb
from verdicts import accepted, refused

import dalenius as dl
from dalenius.model.channels.joint import Adaptive, Joint
from dalenius.verifier.forms import named, releases, sums, together
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.chains import OneValue
from dalenius.verifier.kernel.doubles import Chain
from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.kernel.order import count
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.steps import points, several
from dalenius.verifier.verify import verify_here

M = dl.mechanisms
SMALL = dl.queries.count(n=5)
Change = Callable[[dict[str, Any]], object]


def certificate(*parts: dl.Mechanism) -> dict[str, Any]:
    """The certificate of an audit of these releases by their structure."""
    joint = Joint.of(parts)
    assert joint is not None
    return dl.audit(joint, knowledge=0.5, time_limit=20, verify=False).certificate.data


@pytest.fixture(scope="module")
def falling() -> dict[str, Any]:
    """Two equal releases and a third."""
    one = M.geometric(SMALL, epsilon=0.6)
    return certificate(one, one, M.laplace(SMALL, epsilon=0.3, output="real"))


@pytest.fixture(scope="module")
def normal() -> dict[str, Any]:
    """Gaussian noise, rounded and discrete."""
    return certificate(M.gaussian(SMALL, sigma=2.5), M.discrete_gaussian(SMALL, sigma=3.0))


@pytest.fixture(scope="module")
def by_cone(falling: dict[str, Any]) -> dict[str, Any]:
    """The same as `falling`, by one release of the summed rate."""
    data = copy.deepcopy(falling)
    joint = Joint.of(tuple(M.geometric(SMALL, epsilon=c) for c in (1.5, 0.001)))
    assert joint is not None
    single = dl.audit(joint, knowledge=0.5, time_limit=20, verify=False).certificate.data
    proof = {"record": 0, "upper": 0.6931471805599454, "kind": "trivial", "steps": [{"step": "cone", "rate": 1.6}]}
    data["proofs"], data["upper"] = [proof], max(0.6931471805599454, single["upper"])
    return data


def test_both_are_verified_and_hold_what_the_written_release_leaks(
    falling: dict[str, Any], normal: dict[str, Any]
) -> None:
    one = M.geometric(SMALL, epsilon=0.6)
    exact = dl.audit(dl.compose(one, one, M.laplace(SMALL, epsilon=0.3)), knowledge=0.5, time_limit=20, verify=False)
    # Rounding and clamping the third release loses a little.
    assert falling["lower"] <= exact.upper
    assert falling["upper"] >= exact.lower
    assert falling["upper"] - falling["lower"] < 0.05 * falling["upper"]
    for data, words in ((falling, "points"), (normal, "mean")):
        found = accepted(data)
        assert words in found.rested_on


FEW_ANSWERS: list[tuple[list[float], list[dl.Mechanism]]] = [
    ([0.0002, 0.9998], [M.laplace(dl.queries.count(n=1), epsilon=e) for e in (1.0, 2.0)]),
    ([0.5, 0.0, 0.5], [M.gaussian(dl.queries.total(n=1, values=[0, 0, 1]), sigma=s) for s in (0.8, 3.0)]),
]


@pytest.mark.parametrize(("law", "parts"), FEW_ANSWERS)
def test_one_answer_for_each_value_is_enough(law: list[float], parts: list[dl.Mechanism]) -> None:
    """Points have one row for each value of the secret; what is lost is of values with mass."""
    joint = Joint.of(tuple(parts))
    assert joint is not None
    found = dl.audit(joint, knowledge=0.3, reference=law, time_limit=20, verify=False)
    accepted(found.certificate.data)
    assert found.upper >= dl.audit(dl.compose(*parts), knowledge=0.3, reference=law, verify=False).lower


REFUSED: list[tuple[str, Change, str]] = [
    ("rounds", lambda d: d["proofs"][0].update(rounds=0), "exceeds claimed"),
    ("upper", lambda d: (d["proofs"][0].update(upper=d["lower"]), d.update(upper=d["lower"])), "exceeds claimed"),
    ("lower", lambda d: d.update(lower=d["upper"]), "leaks"),
    ("step", lambda d: d["proofs"][0]["steps"][0].update(step="window"), "none of cone, mean, points"),
    ("kind", lambda d: d["proofs"][0].update(kind="rows"), "points come before monotone rows only"),
    ("no step", lambda d: d["proofs"][0].pop("steps"), "takes one of the steps"),
    ("groups", lambda d: d["proofs"][0]["steps"][0].update(releases=[[0, 1]]), "every release once"),
    ("no group", lambda d: d["proofs"][0]["steps"][0].update(releases=[[0, 1], [2], []]), "every release once"),
    ("rates", lambda d: d["proofs"][0]["steps"][0].update(releases=[[0, 2], [1]]), "have different rates"),
    ("points", lambda d: d["proofs"][0]["steps"][0].update(points=2**15), "rho has"),
    ("one point", lambda d: d["proofs"][0]["steps"][0].update(points=1), "'points' of"),
    ("outputs", lambda d: d["proofs"][0]["steps"][0].update(outputs=2), "not among every 2"),
    ("fewer", lambda d: d["proofs"][0]["rho"].pop(), "rho has"),
    ("first", lambda d: d["proofs"][0]["steps"][0].update(first=1), "'beyond' leaves them nothing"),
    ("order", lambda d: d["witness"]["cuts"][0].reverse(), "cuts of release 0 do not ascend"),
    ("cuts", lambda d: d["witness"]["cuts"].pop(), "cuts of the witness"),
    ("inside", lambda d: d["witness"]["cuts"][0].insert(0, -1), "cuts of release 0"),
    ("blocks", lambda d: d["witness"].update(blocks=[1]), "do not begin with class 0"),
    ("many", lambda d: d["witness"].update(cuts=[list(range(1, 6))] * 2 + [list(range(-6, 6))] * 62), "cuts of the"),
    ("one release", lambda d: d["problem"]["releases"].__setitem__(slice(1, 3), []), "the form is for 2 to 64"),
    ("query", lambda d: d["problem"].update(query="modular_sum(n=5, modulus=3)"), "noise on sums of records"),
    ("keys", lambda d: d["problem"].update(rows=[]), "described by 'query' and 'releases'"),
    ("noise", lambda d: d["problem"]["releases"].__setitem__(0, "constant()"), "adds no integer noise"),
    (
        "not log-concave",
        lambda d: (d["problem"]["releases"].__setitem__(1, "gaussian(sigma=2.0)"), d.update(lower=0.0)),
        "release 1, gaussian(sigma=2.0), has no columns that are log-concave",
    ),
]


@pytest.mark.parametrize(("change", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_damaged_certificates_are_refused(falling: dict[str, Any], change: Change, reason: str) -> None:
    data = copy.deepcopy(falling)
    change(data)
    refused(data, reason)


def test_a_lying_rate_is_refused(by_cone: dict[str, Any]) -> None:
    assert verify_here(by_cone)
    by_cone["proofs"][0]["steps"][0]["rate"] = 1.4999
    assert "its rate 1.4999 is below 1.5, the sum of the releases' rates" in verify_here(by_cone).reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: s.update(sigma=100.0), "must be above 0 and below"),
        (lambda s: s.update(sigma=0.0), "must be above 0 and below"),
        (lambda s: s.update(lattice=65), "the lattice of"),
    ],
)
def test_a_lattice_that_takes_nothing_is_refused(normal: dict[str, Any], change: Change, reason: str) -> None:
    data = copy.deepcopy(normal)
    change(data["proofs"][0]["steps"][0])
    assert reason in verify_here(data).reason


def test_the_mean_is_for_gaussian_noise_on_sums(normal: dict[str, Any]) -> None:
    data = copy.deepcopy(normal)
    data["problem"]["releases"][0] = "geometric(epsilon=1)"
    data["witness"] |= {"cuts": [[1], [1]]}
    assert "has no Gaussian noise" in verify_here(data | {"lower": 0.0}).reason
    pairs = releases.rebuild({"query": "pairs(n=4)", "releases": ["gaussian(sigma=1)"] * 2})
    with precision(), pytest.raises(Refused, match="the mean is for these"):
        releases._single(pairs, {"step": "mean"}, "it")


def test_a_certificate_is_about_these_releases_in_any_order(falling: dict[str, Any]) -> None:
    one, other = M.geometric(SMALL, epsilon=0.6), M.laplace(SMALL, epsilon=0.3, output="real")
    assert verify_here(falling, Joint.of((other, one, one)))
    found = verify_here(falling, Joint.of((other, one)))
    assert "another channel than the mechanism given" in found.reason


def test_products_are_those_of_all_tuples() -> None:
    rng = np.random.default_rng(0)
    laws = [rng.dirichlet(np.ones(3), size=4), rng.dirichlet(np.ones(2), size=4)]
    often = [3, 1]
    sizes = list(zip((3, 2), often, strict=True))
    balls = [([[arb(x) for x in row] for row in law], k) for law, k in zip(laws, often, strict=True)]
    both = together.Together(balls)
    outputs = list(together.listed(sizes))
    assert len(both.pair) == len(outputs) == count(sizes, 10**6)
    tuples = np.array([[laws[0][t][list(y[0])].prod() * laws[1][t][y[1][0]] for y in outputs] for t in range(4)])
    orders = np.array([together.orders(y) for y in outputs])
    np.testing.assert_allclose((tuples * orders).sum(axis=1), 1)
    vector, weights = rng.normal(size=len(outputs)), rng.dirichlet(np.ones(4))
    found = [float(x) for x in both.times([arb(x) for x in vector])]
    np.testing.assert_allclose(found, (tuples * orders) @ vector)
    np.testing.assert_allclose([float(x) for x in both.combined([arb(w) for w in weights])], weights @ tuples)
    assert count([(2**40, 2**40)], 1000) == 1001
    assert count([(5, 40)], 1000) == 1001


def test_the_cone_has_the_kernel_that_its_proof_says() -> None:
    """A joint release of small rates is geometric noise of the sum, and a channel on its outputs."""
    rates, size = (0.3, 0.5), 6
    t = np.arange(size)
    noise = [np.array([[float(q) for q in row] for row in _rows(c, size)]) for c in rates]
    joint = (noise[0][:, :, None] * noise[1][:, None, :]).reshape(size, -1)
    total = sum(rates)
    single = np.exp(-total * np.abs(t[:, None] - t))
    kernel = np.linalg.solve(single, joint)
    assert kernel.min() > -1e-12
    assert (np.linalg.solve(np.exp(-(total - 0.1) * np.abs(t[:, None] - t)), joint)).min() < -1e-3


def _rows(rate: float, size: int) -> list[list[Any]]:
    with precision():
        return named.geometric(arb(rate), "it").rows(range(size), 0, size - 1)


def test_real_gaussian_noise_is_nearly_a_function_of_the_lattice() -> None:
    """Density of V plus the rest of the noise over that of the real release: never above 1 / kept."""
    with precision():
        parts = [named.added("gaussian(sigma=1.0, output='real')", named.query("count(n=2)"), rounded=True)] * 2
        g, sigma, kept = several.mean([[part] for part in parts], {"lattice": 1, "sigma": 0.5}, "it")
    v, u = 0.5, (sigma / g) ** 2
    x, y = np.arange(-30, 31) / g, np.linspace(-3, 3, 301)
    law = np.exp(-(x**2) / (2 * u))
    law /= law.sum()
    rest = np.exp(-((y[:, None] - x) ** 2) / (2 * (v - u))) / math.sqrt(2 * math.pi * (v - u))
    density = np.exp(-(y**2) / (2 * v)) / math.sqrt(2 * math.pi * v)
    ratio = (rest @ law / density).max()
    assert ratio <= 1 / float(kept) + 1e-9
    assert ratio > 1.0001


def test_noise_that_is_none_has_no_rate() -> None:
    asked = named.query("total(n=2, values=[1])")
    with pytest.raises(Refused, match="release 0"):
        several.strongest([[named.added("geometric(epsilon=1)", asked)]], "it")


def test_bounds_in_which_noise_has_no_part_need_no_step(falling: dict[str, Any]) -> None:
    data = copy.deepcopy(falling)
    data["proofs"], data["upper"] = [{"record": 0, "upper": 0.7, "kind": "trivial"}], 0.7
    assert verify_here(data)


def test_a_witness_of_too_many_groups_is_refused(falling: dict[str, Any]) -> None:
    data = copy.deepcopy(falling)
    data["witness"]["cuts"][2] = list(range(-20000, 20000))
    with sized(numbers=2**15):
        assert "what the witness sees of all releases takes more" in verify_here(data).reason


@pytest.fixture(scope="module")
def gaussian() -> dict[str, Any]:
    """One Gaussian count of 240 people, on the answers that matter."""
    mechanism = M.gaussian(dl.queries.count(n=240), sigma=9.0)
    data: dict[str, Any] = dl.audit(mechanism, knowledge=0.2, time_limit=20, verify=False).certificate.data
    return data


def test_gaussian_noise_on_the_answers_that_matter(gaussian: dict[str, Any]) -> None:
    assert gaussian["proofs"][0]["steps"][0]["reach"] > 0
    assert gaussian["upper"] < 1.02 * gaussian["lower"]
    assert verify_here(gaussian)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: s.update(every=2), "rho has"),
        (lambda s: s.update(reach=s["reach"] + 1), "rho has"),
        (lambda s: s.update(every=2, points=s["points"] // 2 + 1), "an answer lies between the points"),
    ],
)
def test_damaged_points_of_gaussian_noise_are_refused(gaussian: dict[str, Any], change: Change, reason: str) -> None:
    data = copy.deepcopy(gaussian)
    change(data["proofs"][0]["steps"][0])
    assert reason in verify_here(data).reason


def test_noise_without_full_support_has_no_chains() -> None:
    none = named.added("geometric(epsilon=1)", named.query("total(n=2, values=[1])"))
    placed = points._Added(none, 0, 1, 3, 2)
    with pytest.raises(Refused, match="full support"):
        placed.rows({0: arb(1)})


def test_answers_without_noise_have_no_points() -> None:
    still = sums.rebuild({"query": "total(n=3, values=[1])", "mechanism": "geometric(epsilon=1)"})
    with pytest.raises(Refused, match="answers with noise"):
        sums.noisy(still, Knowledge(arb(1), none=False, free=False), "it")


def test_chances_of_discrete_noise_keep_their_digits_thirty_sigmas_away() -> None:
    """Points far apart compare outputs whose chance is 1e-200; a lump of them would be a ball around 0."""
    with precision():
        noise = named.added("discrete_gaussian(sigma=9.5)", named.query("count(n=400)"))
        inside, beyond = noise.masses(300)
        for d in (20, 150, 299):
            expected = inside[0] * (-arb(d * d) / (2 * arb(9.5) ** 2)).exp()
            assert abs(inside[d] / expected - 1) < 1e-15
            assert beyond[d] > inside[d] > 0


class TestRoundsInDoubles:
    """Note C of docs/proofs/leaves-in-doubles.md: increments in doubles are beside those in balls."""

    s = 0.7

    def placed(self, many: int = 9) -> points._Several:
        """Three releases of two rates at these points."""
        return points._Several([(arb(0.2), 2), (arb(0.1), 1)], 0, 2, many, 2)

    def both(self, many: int = 9, rounds: int = 100) -> tuple[OneValue, Chain | None]:
        """The same with a reference and an output law, in balls and in doubles."""
        placed = self.placed(many)
        rng = np.random.default_rng(3)
        laws = {j: arb(x) for j, x in enumerate(rng.dirichlet(np.ones(many)))}
        rho = list(laws.values())
        log_r = [arb(x) for x in rng.normal(-9, 2, size=len(placed.orders))]
        chain = placed.chain(laws, rho, log_r, arb(self.s), rounds)
        return OneValue(placed.rows(laws), rho, log_r, arb(self.s), chain), chain

    def test_what_they_enclose_is_what_balls_find(self) -> None:
        with precision():
            value, chain = self.both()
            assert chain is not None
            for given in np.random.default_rng(1).normal(0, 0.3, size=(4, 8)):
                exact = value.increments(value.outputs([arb(x) for x in given]))
                found = chain.increments(given)
                assert found is not None
                assert all(
                    arb(x) <= y <= arb(z) for x, y, z in zip(found[0].tolist(), exact, found[1].tolist(), strict=True)
                )
                assert (found[1] - found[0]).max() < 1e-11
                # The slack is not wider than rounding explains.
                assert min(float(abs(y - x)) for x, y in zip(found[0].tolist(), exact, strict=True)) < 1e-11

    def test_a_bound_is_the_same_with_and_without_them(self) -> None:
        with precision():
            value = self.both()[0]
            bounds = [value.bound(rounds) for rounds in (0, 3, 40)]
            value.quick = None
            slow = value.bound(40)
        assert abs(float(bounds[2] - slow)) < 1e-9
        assert bounds[0] > bounds[1] > bounds[2]

    def test_where_the_note_is_not_stated_balls_go_on(self) -> None:
        with precision():
            value, chain = self.both()
            assert chain is not None
            assert chain.increments(np.full(8, -200.0)) is None
            law, chain.law = chain.law, chain.law * 1e-285
            assert chain.increments(np.zeros(8)) is None
            chain.law, chain.orders = law, chain.orders * 1e290
            assert chain.increments(np.zeros(8)) is None
            found = value.bound(2)
            value.quick = None
            assert abs(found - value.bound(2)) < 1e-12
            chain.orders, chain.error = chain.orders * 1e-290, 1e-5
            assert chain.increments(np.zeros(8)) is None
            assert self.both(rounds=3)[1] is None


FIRST = M.geometric(dl.queries.count(n=3), epsilon=0.5)


def chosen(*epsilons: float, outputs: int = 2) -> Adaptive:
    """A count of three people, then noise of one rate after the first few outputs and of another after the others."""
    weak, strong = (M.geometric(FIRST.query, epsilon=c) for c in epsilons)
    found = Adaptive.choosing(FIRST, [(outputs, weak), (4 - outputs, strong)])
    assert found is not None
    return found


@pytest.fixture(scope="module")
def by_choice() -> dict[str, Any]:
    """A count, and another whose rate depends on it."""
    data: dict[str, Any] = dl.audit(chosen(0.4, 0.7), knowledge=0.5, time_limit=60, verify=False).certificate.data
    return data


def test_a_rule_of_choice_is_verified_and_its_certificate_about_no_other(by_choice: dict[str, Any]) -> None:
    assert accepted(by_choice)
    assert verify_here(by_choice, chosen(0.4, 0.7))
    for other in (chosen(0.7, 0.4), chosen(0.4, 0.7, outputs=1)):
        assert "another channel than the mechanism given" in verify_here(by_choice, other).reason


CHANGES: list[tuple[Change, str]] = [
    (lambda d: d["problem"].update(then=[[2, "geometric(epsilon=0.4)"], [2, "geometric(epsilon=0.9)"]]), "exceeds"),
    (lambda d: d["problem"].update(then=[[2, "geometric(epsilon=0.1)"], [2, "geometric(epsilon=0.7)"]]), "leaks"),
    (lambda d: d["problem"].update(then=[[3, "geometric(epsilon=0.4)"], [1, "geometric(epsilon=0.7)"]]), "leaks"),
    (lambda d: d["problem"]["then"].pop(), "there are choices after 2 outputs of 4"),
    (lambda d: d["problem"]["then"][0].append(1), "a choice"),
    (lambda d: d["problem"]["then"][0].__setitem__(0, 0), "a number of outputs"),
    (
        lambda d: (d["problem"]["then"][0].__setitem__(1, "gaussian(sigma=2)"), d.update(lower=0.0)),
        "release 1, gaussian(sigma=2), has no columns that are log-concave",
    ),
    (lambda d: d["problem"]["then"][0].__setitem__(1, ["geometric(epsilon=0.4)"]), "the mechanism must be a text"),
    (lambda d: d["problem"]["then"][0].__setitem__(1, "geometric(epsilon=0.7)"), "cuts of the witness"),
    (lambda d: d["witness"]["cuts"].pop(), "cuts of the witness"),
    (lambda d: d["witness"]["cuts"][2].insert(0, 0), "cuts of release 2"),
    (lambda d: d["problem"].update(releases=["geometric(epsilon=0.5, clamp=False)"]), "has no list of outputs"),
    (lambda d: d["problem"]["releases"].append("geometric(epsilon=0.4)"), "for 1 to 1 before a choice"),
    (lambda d: d["problem"].pop("then"), "the form is for 2 to 64"),
]


@pytest.mark.parametrize(("change", "reason"), CHANGES, ids=[reason for _, reason in CHANGES])
def test_forged_rules_are_refused(by_choice: dict[str, Any], change: Change, reason: str) -> None:
    data = copy.deepcopy(by_choice)
    change(data)
    refused(data, reason)


@pytest.fixture(scope="module")
def by_normal_choice() -> dict[str, Any]:
    """A Gaussian count, and another whose sigma depends on it."""
    first = M.gaussian(FIRST.query, sigma=1.8)
    release = Adaptive.choosing(first, [(2, M.gaussian(FIRST.query, sigma=s)) for s in (2.0, 1.5)])
    assert release is not None
    data: dict[str, Any] = dl.audit(release, knowledge=0.5, time_limit=60, verify=False).certificate.data
    return data


def test_a_choice_of_sigma_is_verified(by_normal_choice: dict[str, Any]) -> None:
    assert "mean" in accepted(by_normal_choice).rested_on
    assert by_normal_choice["proofs"][0]["steps"][0]["step"] == "mean"


def then(*choices: str) -> Change:
    """Other choices after two outputs each, and no claim from below."""
    return lambda d: (d["problem"].update(then=[[2, name] for name in choices]), d.update(lower=0.0))


def step(**stated: object) -> Change:
    """Another lattice."""
    return lambda d: d["proofs"][0]["steps"][0].update(stated)


NORMAL_CHANGES: list[tuple[Change, str]] = [
    # A least sigma that is smaller than the proof's.
    (then("gaussian(sigma=2.0)", "gaussian(sigma=0.5)"), "must be above 0 and below"),
    (then("gaussian(sigma=2.0)", "gaussian(sigma=1.0, output='real')"), "must be above 0 and below"),
    (step(sigma=100.0), "must be above 0 and below"),
    (then("gaussian(sigma=2.0)", "geometric(epsilon=0.1)"), "release 1, geometric(epsilon=0.1), has no Gaussian noise"),
    (then("gaussian(sigma=2.0)", "discrete_gaussian(sigma=0.5)"), "has no Gaussian noise"),
    (then("gaussian(sigma=2.0)"), "there are choices after 2 outputs of 4"),
    (then("gaussian(sigma=2.0)", "gaussian(sigma=1.5)", "gaussian(sigma=2.0)"), "there are choices after 6 outputs"),
    # Chances of discrete noise that are less than the claim counts with.
    (then("gaussian(sigma=2.0)", "discrete_gaussian(sigma=1.6)"), "exceeds claimed"),
]


@pytest.mark.parametrize(("change", "reason"), NORMAL_CHANGES, ids=[reason for _, reason in NORMAL_CHANGES])
def test_forged_choices_of_sigma_are_refused(by_normal_choice: dict[str, Any], change: Change, reason: str) -> None:
    data = copy.deepcopy(by_normal_choice)
    change(data)
    refused(data, reason)


def test_words_tell_rules_with_the_same_choices_apart() -> None:
    one, other = ([[many, "geometric(epsilon=1)"], [6 - many, "geometric(epsilon=2)"]] for many in (2, 3))
    first = {"query": "count(n=5)", "releases": ["geometric(epsilon=1)"]}
    assert releases.rebuild({**first, "then": one}).text != releases.rebuild({**first, "then": other}).text


def test_what_a_rule_shows_is_each_group_with_its_own_choice() -> None:
    """Rows of the first release by group and choice, a group of several intervals where choices alternate."""
    names = ["gaussian(sigma=1)", "geometric(epsilon=0.4)", "gaussian(sigma=1)"]
    channel = releases.rebuild(
        {"query": "count(n=5)", "releases": ["geometric(epsilon=1)"], "then": [[2, name] for name in names]}
    )
    law = named.added("geometric(epsilon=1)", named.query("count(n=5)"))
    with precision():
        given = [releases.Seen(law, [4]), releases.Seen(law, [1]), releases.Seen(law, [])]
        ways = releases._chosen(channel, given)
        rows = [seen.row(2) for (seen, _), _ in ways]
        whole = [float(x) for x in law.rows([2], 0, 5)[0]]
    assert [(seen.edges, seen.groups) for (seen, _), _ in ways] == [([2, 4], [[0], [2]]), ([2, 4], [[1]])]
    assert [other.edges for _, (other, _) in ways] == [[1], []]
    expected = [[sum(whole[:2]), sum(whole[4:])], [sum(whole[2:4])]]
    assert [[float(x) for x in row] for row in rows] == [pytest.approx(row) for row in expected]
