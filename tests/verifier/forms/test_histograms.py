"""Certificates of histograms whose count vectors are never listed: right ones pass, forged ones are refused."""

import copy
import math
from itertools import product

import numpy as np
import pytest
from damage import changed
from flint import arb
from kinds import Json
from large_samples import HISTOGRAMS, both_histograms

import dalenius as dl
from dalenius.bounds.closed_forms import blend_of_counts, blended, one_count
from dalenius.bounds.moved_counts import MovedSearch
from dalenius.search.tied import TiedSearch
from dalenius.verifier.forms import histograms
from dalenius.verifier.forms.counting import Sum
from dalenius.verifier.forms.reference import UNIFORM, Product
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.proofs import claimed
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")

LAWS = {2: [0.8, 0.2], 3: [0.6, 0.3, 0.1], 4: [0.1, 0.2, 0.3, 0.4]}


@pytest.mark.parametrize("contributions", [(0, 0, 1), (1, 0, 1, 0), (1, 0)])
@pytest.mark.parametrize("law", [None, (0.5, 0.2, 0.2, 0.1)])
def test_the_law_of_a_count_is_that_of_all_datasets(
    contributions: tuple[int, ...], law: tuple[float, ...] | None
) -> None:
    n, k = 4, len(contributions)
    given = None if law is None else (*law[: k - 1], 1 - sum(law[: k - 1]))
    statistic = Sum(n, contributions)
    found = statistic.law(UNIFORM if given is None else Product((given,)), (0,))
    masses = given or (1 / k,) * k
    expected = [0.0] * n
    for x in product(range(k), repeat=n - 1):
        expected[sum(contributions[v] for v in x)] += math.prod(masses[v] for v in x)
    assert [float(found[t]) for t in range(n)] == pytest.approx(expected, rel=1e-13)
    assert list(statistic.values) == list(range(n + 1))


@pytest.mark.parametrize("n", [1, 2, 60])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.98])
@pytest.mark.parametrize("power", [1e-3, 0.4, 1.0, 30.0, 1e4])
def test_moments_of_a_count_enclose_the_sum_of_all_terms(n: int, p: float, power: float) -> None:
    mass, rest = arb(p), 1 - arb(p)
    found = histograms._moment(n, mass, rest, arb(power))
    terms = (
        math.comb(n - 1, j) * mass**j * rest ** (n - 1 - j) * (arb(j + 1) / (n * mass)) ** arb(power) for j in range(n)
    )
    exact = sum(terms, arb(0))
    assert abs(found / exact - 1) <= 1e-25
    assert not found < exact


def test_moments_of_a_million_records() -> None:
    found = histograms._moment(10**6, arb(1) / 3, arb(2) / 3, arb(1))
    assert abs(found - (1 + arb(2) / 10**6)) <= 1e-25  # E(1 + B) / (n p) = (1 + (n-1) p) / (n p)
    assert histograms._moment(9, arb(1), arb(0), arb(3)) == 1


@pytest.mark.parametrize(("mechanism", "query"), HISTOGRAMS)
@pytest.mark.parametrize(("knowledge", "skewed"), [(0.0, True), (0.05, False), (2.0, True)])
def test_bounds_in_balls_are_those_of_the_solver(mechanism: str, query: str, knowledge: float, skewed: bool) -> None:
    mine = both_histograms(mechanism, query)[0]
    law = np.array(LAWS[mine.k]) if skewed else np.full(mine.k, 1 / mine.k)
    channel = histograms.rebuild(dict(mine.describe()))
    channel = histograms.ask(channel, Secret((0,)), Product((tuple(law.tolist()),)) if skewed else UNIFORM)
    allowed = Knowledge(arb(knowledge), none=knowledge == 0, free=False)
    told = blend_of_counts(mine.n, knowledge, law, mine.contraction([(mine.n, law)]))
    power, share = 1 / (told.data["order"] - 1), told.data["share"]
    g = np.array([one_count(mine.n, p)(power) for p in law.tolist()])
    either = [
        blended(np.log(law), g, eta, knowledge, power=power, share=share)
        for eta in (mine.contraction([(mine.n, law)]), 1.0)
    ]
    assert told.upper == pytest.approx(either[0], abs=1e-12)
    for upper, proof in (
        (min(either), {"kind": "blend", **told.data}),
        (math.log(mine.k), {"kind": "trivial"}),
    ):
        close = 1e-9 * max(1.0, upper)
        given = {**proof, "upper": upper + close}
        assert claimed(histograms.KINDS, (channel, allowed), given, "it") == upper + close
        with pytest.raises(Refused, match="exceeds claimed"):
            claimed(histograms.KINDS, (channel, allowed), {**proof, "upper": upper - close}, "it")


def test_values_without_mass_are_left_out() -> None:
    whole = histograms.rebuild({"query": "histogram(n=9, k=2)", "mechanism": "geometric(epsilon=1)"})
    more = histograms.rebuild({"query": "histogram(n=9, k=3)", "mechanism": "geometric(epsilon=1)"})
    whole = histograms.ask(whole, Secret((0,)), Product(((0.25, 0.75),)))
    more = histograms.ask(more, Secret((0,)), Product(((0.25, 0.0, 0.75),)))
    knows = arb(0.1)
    for kind, one, two in (
        ("trivial", {}, {}),
        ("blend", *({"order": 1.5, "share": 0.5},) * 2),
    ):
        bound = histograms.BOUNDS[kind]
        mine, theirs = (
            float(bound(*asked, proof, "it")) for *asked, proof in ((whole, knows, one), (more, knows, two))
        )
        assert mine == pytest.approx(theirs, abs=1e-12)
        assert 0 < mine < 10


@pytest.fixture(scope="module")
def sound() -> Json:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=300, k=3), epsilon=1)
    one_count = dl.Settings(parts=(TiedSearch(rounds=0), MovedSearch(room=0)))
    data = copy.deepcopy(dl.audit(mechanism, knowledge=0.4, settings=one_count).certificate.data)
    assert verify_here(data)
    return data


@pytest.fixture(scope="module")
def tied() -> Json:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=300, k=3), epsilon=1)
    data = copy.deepcopy(dl.audit(mechanism, knowledge=0.4).certificate.data)
    assert data["witness"]["kind"] == "tied"
    assert verify_here(data)
    return data


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        ({"lower": lambda x: x + 1e-6}, "the witness leaks"),
        ({"proofs.0.upper": lambda x: x - 1e-4}, "exceeds claimed"),
        ({"proofs.0.order": lambda x: 1.3 * x}, "exceeds claimed"),
        ({"proofs.0.share": 0.5}, "exceeds claimed"),
        ({"proofs.0.kind": "trivial"}, "exceeds claimed"),
        ({"adversary.knowledge": 0.39}, "has divergence"),
        ({"problem.query": "histogram(n=299, k=3)"}, "the witness"),
        ({"problem.query": "histogram(n=30000, k=3)"}, "the witness"),
        ({"problem.query": "histogram(n=300, k=200000)"}, "takes more"),
        ({"problem.query": "histogram(n=50000000, k=3)"}, "takes more"),
        ({"problem.query": "histogram(n=4000000, k=64)"}, "takes more"),
        ({"problem.mechanism": "geometric(epsilon=0.9)"}, "the witness leaks"),
        ({"witness.cell": 1}, "has divergence"),
        ({"witness.masses.0.50": lambda x: x + 0.1}, "the witness"),
    ],
)
def test_what_was_forged_is_refused(sound: Json, tamper: Json, reason: str) -> None:
    verdict = verify_here(changed(sound, tamper), time_limit=1e6)  # what is too large is refused all the same
    assert not verdict
    assert reason in verdict.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        ({"lower": lambda x: x + 1e-6}, "the witness leaks"),
        ({"adversary.knowledge": 0.39}, "has divergence"),
        ({"problem.query": "histogram(n=300, k=4)"}, "has divergence"),
        ({"problem.mechanism": "geometric(epsilon=0.9)"}, "the witness leaks"),
        ({"witness.first": lambda t: t + 1}, "the witness"),
        ({"witness.masses.100": lambda x: x + 0.1}, "has divergence"),
        ({"witness.cuts": lambda c: c[1:]}, "are needed"),
        ({"witness.weights": lambda e: e[::-1]}, "the witness leaks"),
        ({"witness.weights.0": 0}, "whole number from 1"),
        ({"witness.weights.-1": 2**16}, "the witness"),
        ({"witness.nodes": []}, "the witness"),
        ({"witness.nodes": lambda u: u * 10**5}, "too many to check"),
        ({"witness.step": 10.0}, "the witness leaks"),
        ({"witness.window": [95, 105], "witness.tilt": lambda h: h[95:106]}, "the witness"),
        ({"witness.window": [95, 105]}, "entries where 11 are needed"),
    ],
)
def test_a_forged_tie_is_refused(tied: Json, tamper: Json, reason: str) -> None:
    verdict = verify_here(changed(tied, tamper), time_limit=1e6)
    assert not verdict
    assert reason in verdict.reason
