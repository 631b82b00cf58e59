"""Reference priors: rho(a,t) against enumeration in fractions, certificates by hand, forgeries."""

import copy
import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from damage import changed
from flint import arb, fmpq
from kinds import Floats, Json
from verdicts import accepted, by_hand, refused

import dalenius as dl
from dalenius.numerics.information import mutual_information
from dalenius.verifier.forms import reference
from dalenius.verifier.forms.counting import Histogram, Statistic, Sum, Table
from dalenius.verifier.forms.reference import UNIFORM, Product, Reference, Weights
from dalenius.verifier.forms.secret import Secret, joint
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")


# rho(a,t) against all datasets, one by one, in fractions.


def datasets(statistic: Statistic) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(statistic.alphabet(i)) for i in range(statistic.n))))


def exact(law: Sequence[float]) -> list[Fraction]:
    total = sum(map(Fraction, law))
    return [Fraction(p) / total for p in law]


def probabilities(rho: Reference, statistic: Statistic) -> list[Fraction]:
    every = datasets(statistic)
    if rho.uniform:
        return [Fraction(1, len(every))] * len(every)
    if isinstance(rho, Weights):
        return exact(rho.weights)
    laws = [exact(rho.laws[i if len(rho.laws) > 1 else 0]) for i in range(statistic.n)]
    return [math.prod((laws[i][v] for i, v in enumerate(x)), start=Fraction(1)) for x in every]


def secret_values(secret: Secret, statistic: Statistic) -> list[int]:
    if not secret.records:
        return list(secret.labels)
    names = list(itertools.product(*(range(statistic.alphabet(i)) for i in secret.records)))
    return [names.index(tuple(x[i] for i in secret.records)) for x in datasets(statistic)]


def enumerated(statistic: Statistic, secret: Secret, rho: Reference) -> dict[tuple[int, int], Fraction]:
    result: dict[tuple[int, int], Fraction] = {}
    lists = zip(secret_values(secret, statistic), statistic.datasets(), probabilities(rho, statistic), strict=True)
    for a, t, p in lists:
        if p:
            result[a, t] = result.get((a, t), Fraction(0)) + p
    return result


def agree(shares: list[dict[int, Any]], expected: dict[tuple[int, int], Fraction]) -> None:
    found = {(a, t): ball for a, share in enumerate(shares) for t, ball in share.items()}
    assert found.keys() == expected.keys()
    for key, ball in found.items():
        truth = arb(fmpq(expected[key].numerator, expected[key].denominator))
        assert ball.overlaps(truth)
        assert ball.rad() <= 1e-30 * truth


STATISTICS = {
    "count": Sum(4, (0, 1)),
    "one bit": Sum(1, (0, 1)),
    "total": Sum(3, (0, 1, 3)),
    "steps": Sum(3, (-4, 2)),
    "sum mod 3": Sum(4, (0, 1), 3),
    "histogram": Histogram(3, 3),
    "table": Table((2, 3, 2), (0, 1, 1, 2, 0, 2, 1, 1, 0, 0, 2, 1), 3),
}
LAWS = {2: [(0.3, 0.7), (0.9, 0.1), (1 / 3, 2 / 3)], 3: [(0.2, 0.5, 0.3), (1e-9, 0.25, 0.75), (0.6, 0.0, 0.4)]}


def references(statistic: Statistic) -> Iterator[Reference]:
    yield UNIFORM
    laws = tuple(LAWS[statistic.alphabet(i)][i % 3] for i in range(statistic.n))
    yield Product(laws)
    if statistic.interchangeable:
        yield Product((laws[0],))
        yield Product((laws[-1],))
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(len(datasets(statistic))))
    weights[:: max(2, weights.size // 3)] = 0
    yield Weights(tuple((weights / weights.sum()).tolist()))


def secrets(statistic: Statistic) -> Iterator[Secret]:
    for size in range(1, min(statistic.n, 3) + 1):
        yield from map(Secret, itertools.islice(itertools.combinations(range(statistic.n), size), 3))
    many = len(datasets(statistic))
    yield Secret((), tuple(x * x % min(many, 3) for x in range(many)))


@pytest.mark.parametrize("name", STATISTICS)
def test_shares_are_those_of_all_datasets(name: str) -> None:
    statistic = STATISTICS[name]
    for secret in secrets(statistic):
        for rho in references(statistic):
            agree(joint(statistic, secret, rho), enumerated(statistic, secret, rho))


@pytest.mark.parametrize("name", STATISTICS)
def test_no_prior_is_farther_than_the_rarest_dataset(name: str) -> None:
    statistic = STATISTICS[name]
    for rho in references(statistic):
        rarest = min(p for p in probabilities(rho, statistic) if p)
        assert float(rho.farthest(statistic)) == pytest.approx(-math.log(rarest), rel=1e-14)


def test_sums_of_many_records_keep_the_digits_of_their_tails() -> None:
    law = (0.999, 0.001 - 2e-9, 2e-9)
    found = Sum(60, (0, 1, 3)).law(Product((law,)), (0,))
    p = exact(law)
    expected = {0: Fraction(1)}
    for _ in range(59):
        step: dict[int, Fraction] = {}
        for (total, x), (value, q) in itertools.product(expected.items(), zip((0, 1, 3), p, strict=True)):
            step[total + value] = step.get(total + value, Fraction(0)) + x * q
        expected = step
    agree([found], {(0, v): x for v, x in expected.items()})


def test_bits_with_many_laws_are_convolved() -> None:
    rng = np.random.default_rng(3)
    laws = tuple((float(p), float(1 - p)) for p in rng.random(12))
    found = Sum(12, (0, 1)).law(Product(laws), (3, 7))
    expected = {0: Fraction(1)}
    for i, law in enumerate(laws):
        if i not in (3, 7):
            q, p = exact(law)
            expected = {
                j: expected.get(j, Fraction(0)) * q + expected.get(j - 1, Fraction(0)) * p
                for j in range(len(expected) + 1)
            }
    agree([found], {(0, v): x for v, x in expected.items()})


def test_values_that_no_record_takes_are_left_out_however_many_records() -> None:
    law = Sum(40, (0, 2, 5)).law(Product(((0.5, 0.0, 0.5),)), ())
    assert set(law) == {5 * j for j in range(41)}
    assert float(law[100]) == pytest.approx(math.comb(40, 20) / 2**40, rel=1e-14)


def test_a_million_biased_bits() -> None:
    n = 10**6
    law = Sum(n + 1, (0, 1)).law(Product(((0.9, 0.1),)), (0,))
    at = 100_000
    expected = (
        math.lgamma(n + 1)
        - math.lgamma(at + 1)
        - math.lgamma(n - at + 1)
        + at * math.log(0.1)
        + (n - at) * math.log(0.9)
    )
    assert float(law[at].log()) == pytest.approx(expected, abs=1e-6)
    assert abs(sum(law.values(), arb(0)) - 1) < 1e-25
    assert law[n] > 0


# Certificates by hand.

ROWS = [[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2]]
TABLE = {"records": [2, 2], "classes": None, "rows": ROWS}
BITS = {"marginal": [0.9, 0.1]}
PAIR = {"marginals": [[0.9, 0.1], [0.4, 0.6]]}
HEAVY = {"weights": [0.5, 0.25, 0.0, 0.25]}
FORMS = [BITS, PAIR, HEAVY]


def weights_of(rho: Json) -> Floats:
    """rho over the four datasets of two bits."""
    if "weights" in rho:
        return np.array(rho["weights"])
    first, second = rho["marginals"] if "marginals" in rho else [rho["marginal"]] * 2
    return np.outer(first, second).ravel()


def cells_of(weights: Floats, record: int) -> Floats:
    """rho(a, dataset), (2,4)."""
    bit = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])[record]
    return np.where(bit == np.arange(2)[:, None], weights, 0.0)


def leakage(masses: Floats, rows: Json = ROWS) -> float:
    return float(mutual_information(np.asarray(masses) @ np.asarray(rows)))


def certificate(adversary: Json, lower: float, masses: Json, *proofs: Json, problem: Json = TABLE) -> Json:
    return by_hand(problem, adversary, masses, *proofs, lower=lower)


def without_knowledge(rho: Json) -> Json:
    """Both bounds 1e-12 from the truth."""
    truth = [leakage(cells_of(weights_of(rho), i)) for i in (0, 1)]
    proofs = [{"kind": "reference", "upper": x + 1e-12} for x in truth]
    adversary = {"knowledge": 0, "reference": rho}
    return certificate(adversary, truth[0] - 1e-12, cells_of(weights_of(rho), 0), *proofs)


@pytest.mark.parametrize("rho", FORMS)
def test_without_knowledge_the_reference_is_the_prior(rho: Json) -> None:
    data = without_knowledge(rho)
    accepted(data)
    for path, shift in ((("lower",), 3e-12), (("upper",), -3e-12)):
        forged = copy.deepcopy(data)
        forged[path[0]] += shift
        assert not verify_here(forged)
    refused(changed(data, {"proofs.1.upper": lambda x: x - 3e-12}), "exceeds claimed")
    refused(changed(data, {"witness.masses.0.0": lambda x: x + 1e-6}), "not the reference prior")


@pytest.mark.parametrize("rho", FORMS)
def test_every_number_of_a_reference_matters(rho: Json) -> None:
    data = without_knowledge(rho)
    for other in FORMS:
        assert bool(verify_here(changed(data, {"adversary.reference": other}))) == (other == rho)
    del data["adversary"]["reference"]
    assert not verify_here(data)
    (kind, listed) = next(iter(rho.items()))
    laws = listed if kind == "marginals" else [listed]
    for i, law in enumerate(laws):
        moved = copy.deepcopy(laws)
        moved[i] = [law[0] + 1e-6, law[1] - 1e-6, *law[2:]]
        forged = without_knowledge(rho)
        forged["adversary"]["reference"] = {kind: moved if kind == "marginals" else moved[0]}
        assert not verify_here(forged)


def test_equal_marginals_are_one_marginal_and_weights_are_their_products() -> None:
    data = without_knowledge(BITS)
    for same in ({"marginals": [BITS["marginal"]] * 2}, {"weights": weights_of(BITS).tolist()}):
        accepted(changed(data, {"adversary.reference": same}))


def test_laws_are_divided_by_their_exact_sums() -> None:
    data = without_knowledge(BITS)
    data["adversary"]["reference"] = {"marginal": [0.9 * (1 + 5e-10), 0.1 * (1 + 5e-10)]}
    accepted(data)


def test_where_the_reference_has_no_mass_no_adversary_has_any() -> None:
    """Two bits that surely agree: their parity tells nothing, whatever else is known."""
    problem = {"query": "modular_sum(n=2, modulus=2)", "mechanism": "symmetric(flip=0.3)"}
    leaf = {"rho": [math.log(0.7), math.log(0.3)]}
    proof = {"kind": "choices", "tree": [leaf], "upper": 1e-15}
    adversary = {"knowledge": 9.0, "reference": {"weights": [0.5, 0.0, 0.0, 0.5]}}
    data = certificate(adversary, 0.0, [[0.5, 0], [0.5, 0]], proof, proof, problem=problem)
    accepted(data)
    refused(
        changed(data, {"witness.masses.0.0": 0.5, "witness.masses.1": [0, 0.5]}), "value 1, class 1, where there is no"
    )
    data["adversary"]["reference"] = {"weights": [0.5, 1e-300, 0.0, 0.5]}
    assert "exceeds claimed" in verify_here(data).reason


def test_a_record_of_one_possible_value_tells_nothing() -> None:
    adversary = {"knowledge": 3.0, "reference": {"marginals": [[0.0, 1.0], [0.5, 0.5]]}}
    proofs = [{"kind": "trivial", "upper": 0.0}, {"kind": "trivial", "upper": 0.6931471805599454}]
    data = certificate(adversary, 0.0, [[0, 0, 0, 0], [0, 0, 0.5, 0.5]], *proofs)
    accepted(data)
    data["proofs"][1]["upper"] = data["upper"] = 0.693147180559945
    assert not verify_here(data)
    data = certificate(adversary, 0.0, [[0, 0, 1e-30, 0], [0, 0, 0.5, 0.5]], *proofs)
    assert "no dataset" in verify_here(data).reason


@pytest.mark.parametrize("rho", [BITS, PAIR])
def test_all_knowledge_is_what_the_rarest_dataset_takes(rho: Json) -> None:
    rarest = weights_of(rho).argmin()
    masses = np.zeros((2, 4))
    masses[rarest // 2, rarest] = 1.0
    proofs = [{"kind": "trivial", "upper": 0.7}] * 2
    enough = math.nextafter(-math.log(weights_of(rho).min()), 9)
    for k, fine in ((enough, True), (50.0, True), (enough - 1e-14, False)):
        data = certificate({"knowledge": k, "reference": rho}, 0.0, masses, *proofs)
        assert bool(verify_here(data)) == fine, verify_here(data).reason


@pytest.mark.parametrize("rho", FORMS)
@pytest.mark.parametrize("knowledge", [0.05, 0.4])
def test_a_witness_may_be_as_far_from_the_reference_as_the_knowledge_allows(rho: Json, knowledge: float) -> None:
    base = cells_of(weights_of(rho), 0)
    rng = np.random.default_rng(0)
    target = rng.dirichlet(np.ones(8)).reshape(2, 4) * (base > 0)
    target /= target.sum()

    def far(mix: float) -> float:
        p = (1 - mix) * base + mix * target
        return float((p[p > 0] * np.log(p[p > 0] / base[p > 0])).sum())

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if far(middle) < knowledge else (low, middle)
    for mix, fine in ((low * 0.999, True), (min(1.0, low * 1.01), far(min(1.0, low * 1.01)) <= knowledge)):
        masses = (1 - mix) * base + mix * target
        truth = leakage(masses)
        proofs = [{"kind": "trivial", "upper": 0.7}] * 2
        data = certificate({"knowledge": knowledge, "reference": rho}, truth - 1e-12, masses, *proofs)
        assert bool(verify_here(data)) == fine, verify_here(data).reason
        data["lower"] = truth + 1e-12
        assert not verify_here(data)


# A weighted table is a uniform one of more datasets: every proof carries over, and no false one does.

MULTIPLICITY = np.array([[1, 3, 4], [4, 2, 2]])  # of row j among the datasets with x_0 = a, of 8 each
FARTHER = [1 / 16, 1 / 16, 6 / 16, 6 / 16, 1 / 16, 1 / 16]  # tells the two values of the record apart more easily
CHANNEL = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.05, 0.15, 0.8]]
PLAIN = {
    "records": [2, 8],
    "classes": [j for row in MULTIPLICITY for j, many in enumerate(row) for _ in range(many)],
    "rows": CHANNEL,
}
WEIGHTED = {"records": [2, 3], "classes": [0, 1, 2, 0, 1, 2], "rows": CHANNEL}


def moved(knowledge: float) -> Json:
    """The proof about record 0 of the plain table, told about the weighted one."""
    mechanism = dl.Mechanism.from_matrix([CHANNEL[j] for j in PLAIN["classes"]], records=[2, 8])
    audit = copy.deepcopy(dl.audit(mechanism, knowledge=knowledge, tolerance=1e-4, secret=0).certificate.data)
    (proof,) = audit["proofs"]
    return {
        **audit,
        "problem": WEIGHTED,
        "adversary": {"knowledge": knowledge, "reference": {"weights": (MULTIPLICITY / 16).ravel().tolist()}},
        "lower": 0.0,
        "upper": proof["upper"],
        "secret": {"kind": "records", "records": [0]},
        "witness": {"kind": "masses", "masses": (MULTIPLICITY / 16).tolist()},
        "proofs": [proof],
    }


@pytest.mark.parametrize("knowledge", [0.02, 0.1, 0.3, 0.6])
def test_weights_stand_for_datasets(knowledge: float) -> None:
    data = moved(knowledge)
    accepted(data)
    kind = data["proofs"][0]["kind"]
    assert kind not in ("trivial", "reference"), kind
    if kind == "choices":
        return
    for change in ({"knowledge": knowledge * 1.3}, {"reference": {"weights": FARTHER}}):
        forged = copy.deepcopy(data)
        forged["adversary"] |= change
        forged["witness"]["masses"] = (
            [FARTHER[:3], FARTHER[3:]] if "reference" in change else forged["witness"]["masses"]
        )
        reason = verify_here(forged).reason
        assert "exceeds claimed" in reason, reason


# Which records need a proof of their own.


def test_records_of_one_law_share_a_proof_and_others_do_not() -> None:
    problem = {"query": "count(n=4)", "mechanism": "geometric(epsilon=1)"}
    laws = [[0.5, 0.5], [0.9, 0.1], [0.5, 0.5], [0.9, 0.1]]
    masses = [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
    adversary = {"knowledge": 9.0, "reference": {"marginals": laws}}
    proofs = [{"kind": "trivial", "upper": 0.7}] * 2
    data = certificate(adversary, 0.0, masses, *proofs, problem=problem)
    accepted(data)
    alone = copy.deepcopy(data)
    del alone["proofs"][1]
    assert "record 1 has no proof" in verify_here(alone).reason
    alone["proofs"][0]["record"] = 3
    assert "record 0 has no proof" in verify_here(alone).reason
    alone["adversary"]["reference"] = {"marginal": [0.9, 0.1]}
    accepted(alone)
    refused(changed(data, {"adversary.reference.marginals.2": [math.nextafter(0.5, 1), 0.5]}), "record 2 has no proof")
    refused(changed(data, {"adversary.reference": {"weights": [1 / 16] * 16}}), "record 2 has no proof")


def test_responses_of_records_with_laws_of_their_own_need_proofs_each() -> None:
    problem = {"query": "count(n=2)", "mechanism": "randomized_response(epsilon=1)"}
    adversary = {"knowledge": 1.0, "reference": {"marginals": [[0.5, 0.5], [0.9, 0.1]]}}
    data = certificate(
        adversary, 0.0, [[0.5, 0, 0, 0], [0, 0, 0.5, 0]], {"kind": "trivial", "upper": 0.7}, problem=problem
    )
    assert "record 1 has no proof" in verify_here(data).reason
    data["adversary"]["reference"] = {"marginal": [0.5, 0.5]}
    accepted(data)


# Words, refusals, limits.


@pytest.mark.parametrize(
    ("rho", "words"),
    [
        (BITS, "counted from the reference: independent records with law [0.9, 0.1] each"),
        (PAIR, "counted from the reference: independent records with laws [[0.9, 0.1], [0.4, 0.6]]"),
        (HEAVY, "counted from the reference: weights of the datasets (sha256 "),
    ],
)
def test_the_problem_says_what_is_public(rho: Json, words: str) -> None:
    answer = verify_here(without_knowledge(rho))
    assert f"knows at most 0.0 nats, {words}" in answer.problem


def test_long_laws_are_named_by_their_fingerprint() -> None:
    texts = {Product((tuple([1 / 20 + x] + [1 / 20] * 19),)).text for x in (0.0, 1e-10)}
    assert len(texts) == 2
    assert all("one law (sha256 " in text for text in texts)
    texts = {Weights((0.5, x, 0.5 - x)).text for x in (0.1, 0.2)}
    assert len(texts) == 2


@pytest.mark.parametrize(
    ("rho", "reason"),
    [
        (None, "the reference must be an object, not None"),
        ({}, "it needs one of marginal, marginals, weights"),
        ({**BITS, **HEAVY}, "the fields 'marginal, weights'; it needs one of"),
        ({"marginal": [0.5, 0.25, 0.25]}, "has 3 entries where 2 are needed"),
        ({"marginal": [0.5, 0.6]}, "sum to 1.1, not to 1"),
        ({"marginals": [[0.5, 0.5]]}, "has 1 entries where 2 are needed"),
        ({"marginals": [[0.5, 0.5], [0.7, 0.7]]}, "marginal 1 of the reference sum to 1.4"),
        ({"weights": [0.5, 0.5]}, "has 2 entries where 4 are needed"),
        ({"weights": [0.5] * 4}, "weights of the reference sum to 2, not to 1"),
    ],
)
def test_bad_references_are_refused(rho: Json, reason: str) -> None:
    data = without_knowledge(BITS)
    data["adversary"]["reference"] = rho
    assert reason in verify_here(data).reason


def test_a_reference_goes_with_knowledge_alone() -> None:
    data = without_knowledge(BITS)
    data["adversary"] = {"entropy": 1.0, "reference": BITS}
    assert "needs 'knowledge'" in verify_here(data).reason
    data["adversary"] = {"entropy": 1.0, "knowledge": 1.0, "reference": BITS}
    assert "either 'entropy' or 'knowledge'" in verify_here(data).reason
    data["adversary"] = {"reference": BITS}
    assert "either 'entropy' or 'knowledge'" in verify_here(data).reason


def test_one_marginal_needs_equal_alphabets() -> None:
    problem = {"records": [2, 3], "classes": None, "rows": [[0.5, 0.5]] * 6}
    data = certificate(
        {"knowledge": 0.1, "reference": BITS}, 0.0, [[1, 0]], {"kind": "trivial", "upper": 0.7}, problem=problem
    )
    assert "the same number of values" in verify_here(data).reason


@pytest.mark.parametrize(
    ("problem", "rho", "reason"),
    [
        (
            {"query": "modular_sum(n=1000000, modulus=2)", "mechanism": "symmetric(flip=0.1)"},
            {"weights": [1.0]},
            "a list of the datasets takes more",
        ),
        (
            {"query": "histogram(n=26, k=2)", "mechanism": "symmetric(flip=0.1)"},
            {"marginals": [[0.5, 0.5], *([[0.4, 0.6]] * 25)]},
            "a list of the datasets takes more",
        ),
        (
            {"query": "total(n=1000, values=[0, 1, 2])", "mechanism": "geometric(epsilon=1)"},
            {"marginal": [1.0, 1e-300, 1e-300]},
            "the law of the sum takes more",
        ),
    ],
)
def test_what_would_not_fit_is_refused_before_it_is_built(problem: Json, rho: Json, reason: str) -> None:
    proof = {"kind": "trivial", "upper": 0.7}
    data = certificate({"knowledge": 0.1, "reference": rho}, 0.0, [[1]], proof, problem=problem)
    answer = verify_here(data, time_limit=1e6)  # what is too large is refused all the same
    assert reason in answer.reason


def test_a_reference_is_read_as_it_stands() -> None:
    statistic = Sum(2, (0, 1))
    assert reference.read(PAIR, statistic) == Product(((0.9, 0.1), (0.4, 0.6)))
    assert reference.read({"marginals": [[0.5, 0.5]] * 2}, statistic) == Product(((0.5, 0.5),))
    with pytest.raises(Refused):
        reference.read({"weights": [1.0]}, statistic)
