"""Tables of few people by tilted counts: beside all count vectors and outputs, random priors, and forged proofs."""

import copy
import math
from itertools import product

import numpy as np
import pytest
from damage import changed, golden
from flint import arb
from large_samples import both_histograms, feasible
from refusals import refuses
from verdicts import refused

import dalenius as dl
from dalenius.bounds.counted import CountedSearch, far, table_of
from dalenius.bounds.counted import counted_bounds as solved
from dalenius.model.counted import CountedPrior
from dalenius.numerics.information import mutual_information
from dalenius.search.deadline import Deadline
from dalenius.verifier.forms import histograms
from dalenius.verifier.forms.reference import UNIFORM, Product
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.special import counted
from dalenius.verifier.verify import verify_here

TABLES = [
    ("geometric(epsilon=1)", "histogram(n=4, k=3)", (1 / 3,) * 3),
    ("laplace(epsilon=0.8)", "histogram(n=7, k=2)", (0.5,) * 2),
    ("gaussian(sigma=1.5)", "histogram(n=3, k=4)", (0.25,) * 4),
    ("geometric(epsilon=1)", "histogram(n=5, k=3)", (0.6, 0.3, 0.1)),
    ("laplace(epsilon=1)", "histogram(n=4, k=3)", (0.7, 0.0, 0.3)),
]
FEW = CountedSearch(rounds=4, upper_rounds=2, s=(1.3, 1.1), slope_rounds=4)


def vectors(n: int, k: int) -> np.ndarray:
    """All count vectors, in lexicographic order."""
    return np.array([t for t in product(range(n + 1), repeat=k) if sum(t) == n])


def joint_reference(n: int, law: tuple[float, ...]) -> np.ndarray:
    """rho(a,t) over all count vectors."""
    listed = vectors(n, len(law))
    mass = [
        math.factorial(n) * math.prod(p**x / math.factorial(x) for p, x in zip(law, t, strict=True))
        for t in listed.tolist()
    ]
    return (listed / n * np.array(mass)[:, None]).T


def _channel(mechanism: dl.Mechanism, law: tuple[float, ...]) -> histograms.Noisy:
    reference = UNIFORM if len(set(law)) == 1 else Product((law,))
    return histograms.ask(histograms.rebuild(dict(mechanism.describe())), Secret((0,)), reference)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("knowledge", "cut"), [(0.02, False), (0.3, True)])
def test_bounds_hold_in_balls_and_no_prior_leaks_more(
    table: tuple[str, str, tuple[float, ...]], knowledge: float, cut: bool
) -> None:
    mechanism, query, law = table
    large, dense = both_histograms(mechanism, query)
    settings = CountedSearch(**{**vars(FEW), "few": 1, "rare": (0.1,), "rare_contracting": (0.01,)}) if cut else FEW
    found = solved(large, np.array(law), knowledge, Deadline(60), settings)
    rng, rho = np.random.default_rng(5), joint_reference(large.n, law)
    priors = [feasible(rho, knowledge, rng) for _ in range(30)]
    leaked = max(float(mutual_information(prior @ dense.rows)) for prior in priors)
    assert found.uppers
    for formula in found.uppers:
        check = counted.bound(_channel(large, law), arb(knowledge), formula.to_certificate(None), "it")
        assert float(check) == pytest.approx(formula.upper, rel=1e-9)
        assert max(leaked, found.lower) <= formula.upper + 1e-12


@pytest.mark.parametrize("table", TABLES[:4])
def test_the_prior_leaks_what_is_said_and_no_more_knowledge_than_is_allowed(
    table: tuple[str, str, tuple[float, ...]],
) -> None:
    mechanism, query, law = table
    large, dense = both_histograms(mechanism, query)
    found = solved(large, np.array(law), 0.2, Deadline(60), FEW)
    reference = dl.audit(dense, knowledge=0.2, reference=list(law), time_limit=0.05).reference
    prior = CountedPrior.of_tilts(large, 0, found.tilts, found.lower, reference)
    assert found.lower == pytest.approx(float(mutual_information(prior.masses @ dense.rows)), abs=1e-8)
    assert prior.divergence() <= 0.2
    assert prior.leakage() == found.lower
    assert not prior.complete
    refuses("too many values to list", prior.joint)


@pytest.mark.parametrize("law", [(1 / 3,) * 3, (0.6, 0.3, 0.1)])
@pytest.mark.parametrize("eta", [1.0, 0.8])
def test_count_vectors_above_the_tops_have_no_more_than_is_told(law: tuple[float, ...], eta: float) -> None:
    large, _ = both_histograms("geometric(epsilon=1)", "histogram(n=5, k=3)")
    table = table_of(large, np.array(law), CountedSearch(few=1, outputs=300, rare=(0.3,)), (0.3,))
    assert table is not None
    tops = np.array(table.tops * (3 if len(table.tops) == 1 else 1))
    rho = joint_reference(5, law)
    given = rho / rho.sum(axis=1, keepdims=True)
    outside = (vectors(5, 3) > tops).any(axis=1)
    assert outside.any()
    told, beyond = far(table, eta)
    assert (given[:, outside].max(axis=0) ** eta).sum() <= told + 1e-15
    assert (given[: beyond.size, outside].sum(axis=1) <= beyond + 1e-15).all()


@pytest.mark.slow
def test_what_is_above_the_tops_is_no_less_than_in_balls() -> None:
    """An honest proof was refused: of 5e-14 nothing was left in a difference of floats."""
    law = np.array([0.7, 0.2, 0.1])
    large = dl.mechanisms.geometric(dl.queries.histogram(n=60, k=3), epsilon=0.5).as_counts
    assert large is not None
    settings = CountedSearch(rounds=1, upper_rounds=0, slope_rounds=1)
    *_, slope = solved(large, law, 0.3, Deadline(60), settings).uppers
    assert slope.data["tops"] != [60] * 3
    with precision():
        check = counted.bound(_channel(large, tuple(law.tolist())), arb(0.3), slope.to_certificate(None), "it")
    assert check <= slope.upper + slope.doubt


def test_a_table_by_a_law_of_its_own_closes() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.histogram(n=30, k=3), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.05, reference=[0.7, 0.2, 0.1], relative=0.03)
    assert audit.upper_by == "counted"
    assert audit.closed
    assert isinstance(audit.prior, CountedPrior)
    assert dl.verify(audit)


@pytest.fixture(scope="module")
def sound() -> dict:
    data = golden("counted-slope")
    assert data["proofs"][0]["kind"] == data["witness"]["kind"] == "counted"
    assert "slope" in data["proofs"][0]
    assert verify_here(data)
    return data


@pytest.mark.parametrize(
    ("part", "key", "change", "reason"),
    [
        ("proof", "upper", lambda x: 0.95 * x, "exceeds claimed"),
        ("proof", "s", lambda s: 1.3 * s, "exceeds claimed"),
        ("proof", "s", lambda _: 0.1, "s must be above the contraction"),
        ("proof", "slope", lambda x: x + 0.1, "exceeds claimed"),
        ("proof", "slope", lambda _: "steep", "the slope"),
        ("proof", "tops", lambda _: [8], "exceeds claimed"),
        ("proof", "tops", lambda _: [1], "too much mass to be told"),
        ("proof", "tops", lambda x: x * 2, "the tops"),
        ("proof", "weights", lambda _: [0.0], "has no mass"),
        ("witness", "tops", lambda x: [x[0] - 1], "the tilts"),
        ("witness", "tilts", lambda x: [[[2 * y for y in tilt] for tilt in x[0]]], "has divergence"),
        ("witness", "tilts", lambda x: [[tilt[::-1] for tilt in x[0]]], ""),
        ("witness", "tilts", lambda x: x * 2, "the tilts"),
        ("witness", "weights", lambda _: [-1.0], "the weights"),
    ],
)
def test_a_forgery_is_refused(sound: dict, part: str, key: str, change: object, reason: str) -> None:
    data = copy.deepcopy(sound)
    place = data["witness"] if part == "witness" else data["proofs"][0]
    place[key] = change(place[key])
    refused(data, reason)


def test_other_channels_and_laws_are_refused(sound: dict) -> None:
    for key, value in (("mechanism", "geometric(epsilon=1.2)"), ("query", "histogram(n=14, k=5)")):
        refused(changed(sound, {f"problem.{key}": value}))
    data = copy.deepcopy(sound)
    data["adversary"]["knowledge"] = 0.06
    assert "exceeds claimed" in verify_here(data).reason
    data["adversary"]["reference"] = {"marginal": [0.4, 0.2, 0.2, 0.2]}
    assert "tops" in verify_here(data).reason


def test_outputs_of_noise_that_still_tells_counts_apart_are_not_put_together(sound: dict) -> None:
    data = copy.deepcopy(sound)
    data["witness"]["tops"] = [8]
    for mechanism in ("discrete_gaussian(sigma=40.0, clamp=True)", "gaussian(sigma=40.0)"):
        data["problem"]["mechanism"] = mechanism
        assert "tops below 14 are for geometric and Laplace noise" in verify_here(data).reason
    noise = dl.mechanisms.discrete_gaussian(dl.queries.histogram(n=14, k=4), sigma=1.0, clamp=True)
    few = CountedSearch(few=1, rare=(0.41,), outputs=5000)
    assert solved(noise, np.full(4, 0.25), 0.05, Deadline(60), few).uppers == ()


def test_noise_that_is_narrow_beside_the_counts_is_checked_to_its_last_tail() -> None:
    # P(Y = 60 | t = 0) is 1e-790: the difference of two numbers near one was a ball around 0.
    large, _ = both_histograms("gaussian(sigma=1)", "histogram(n=60, k=2)")
    found = solved(large, np.full(2, 0.5), 0.3, Deadline(60), CountedSearch(s=(1.3,), rounds=2)).uppers[0]
    check = counted.bound(_channel(large, (0.5, 0.5)), arb(0.3), found.to_certificate(None), "it")
    assert float(check) == pytest.approx(found.upper, rel=1e-9)
