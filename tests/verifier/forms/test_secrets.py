"""Secrets beyond one record: groups and functions of the dataset, in certificates by hand, and their forgeries."""

import copy
import math
from typing import Any

import numpy as np
import pytest
from damage import Place, changed
from kinds import Floats, Json
from scipy.stats import binom
from verdicts import accepted, by_hand, refused

import dalenius as dl
from dalenius.numerics.information import mutual_information
from dalenius.verifier.forms import secret, sums
from dalenius.verifier.forms.counting import Sum, Table
from dalenius.verifier.forms.reference import UNIFORM, Product
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")


LN2 = math.log(2)
ROWS = np.random.default_rng(5).dirichlet(np.full(3, 0.6), size=8)
THREE = {"records": [2, 2, 2], "classes": None, "rows": ROWS.tolist()}
PARITY = {"kind": "function", "values": [x.bit_count() % 2 for x in range(8)]}


def certificate(asked: Json, knowledge: float, masses: Json, proof: Json, **more: Json) -> Json:
    """A certificate about three records; by default its lower bound claims nothing."""
    witness = {"kind": "masses", "masses": np.asarray(masses).tolist()}
    known = {"witness": witness, "proofs": [proof], "secret": asked, "problem": THREE, **more}
    return by_hand(known.pop("problem"), known.pop("adversary", {"knowledge": knowledge}), masses, proof, **known)


def uniform_cells(values: list[int]) -> Floats:
    """rho(a, dataset) of eight datasets."""
    return (np.arange(max(values) + 1)[:, None] == np.array(values)) / 8


def at_rest(asked: Json, values: list[int]) -> Json:
    """Without knowledge: both bounds 1e-12 from the truth."""
    cells = uniform_cells(values)
    truth = float(mutual_information(cells @ ROWS))
    return certificate(asked, 0.0, cells, {"kind": "reference", "upper": truth + 1e-12}, lower=truth - 1e-12)


CASES = {
    "one record": ({"kind": "records", "records": [1]}, [0, 0, 1, 1, 0, 0, 1, 1]),
    "the first two": ({"kind": "records", "records": [0, 1]}, [0, 0, 1, 1, 2, 2, 3, 3]),
    "first and last": ({"kind": "records", "records": [0, 2]}, [0, 1, 0, 1, 2, 3, 2, 3]),
    "all": ({"kind": "records", "records": [0, 1, 2]}, list(range(8))),
    "parity": (PARITY, PARITY["values"]),
    "a constant": ({"kind": "function", "values": [0] * 8}, [0] * 8),
}


@pytest.mark.parametrize("name", CASES)
def test_without_knowledge_a_secret_leaks_what_it_leaks(name: str) -> None:
    data = at_rest(*CASES[name])
    accepted(data)
    for key, shift in (("lower", 3e-12), ("upper", -3e-12)):
        forged = copy.deepcopy(data)
        forged[key] += shift
        if forged["upper"] > 1e-9 or key == "upper":
            assert not verify_here(forged)


@pytest.mark.parametrize("name", CASES)
def test_a_proof_is_about_its_own_secret(name: str) -> None:
    data = at_rest(*CASES[name])
    for other, (asked, _) in CASES.items():
        forged = {**data, "secret": asked}
        assert bool(verify_here(forged)) == (other == name)
    del data["secret"]
    assert not verify_here(data)


def test_a_group_is_one_record_of_tuples() -> None:
    """Records (2,2,2) seen as (4,2): the same channel, so every kind of proof carries over, and no forgery does."""
    mechanism = dl.Mechanism.from_matrix(ROWS, records=[4, 2])
    kinds = set()
    for knowledge in (0.0, 0.05, 0.3, 0.8, 3.0):
        audit = copy.deepcopy(dl.audit(mechanism, knowledge=knowledge, tolerance=1e-3, time_limit=10).certificate.data)
        (proof,) = (proof for proof in audit["proofs"] if proof["record"] == 0)
        del proof["record"]
        kinds.add(proof["kind"])
        data = certificate(
            {"kind": "records", "records": [0, 1]}, knowledge, uniform_cells([0, 0, 1, 1, 2, 2, 3, 3]), proof
        )
        if audit["witness"]["record"] == 0:
            data |= {"lower": audit["lower"], "witness": {"kind": "masses", "masses": audit["witness"]["masses"]}}
        accepted(data)
        for asked in ({"kind": "records", "records": [0, 1, 2]}, {"kind": "records", "records": [0]}):
            assert not verify_here({**data, "secret": asked})
        if 0 < knowledge < 1:
            forged = {**data, "adversary": {"knowledge": knowledge * 1.2 + 0.05}}
            assert "exceeds claimed" in verify_here(forged).reason
    assert len(kinds) > 2, kinds


@pytest.mark.parametrize("knowledge", [0.05, 0.3])
def test_the_trivial_bound_of_a_group_is_that_of_its_cells(knowledge: float) -> None:
    problem = {"query": "count(n=5)", "mechanism": "geometric(epsilon=3)"}
    cells = np.zeros((4, 6))
    for a, ones in enumerate((0, 1, 1, 2)):
        cells[a, ones : ones + 4] = binom.pmf(np.arange(4), 3, 0.5) / 4
    for shift, fine in ((1e-12, True), (-1e-12, False)):
        proof = {"kind": "trivial", "upper": math.log(4) + shift}
        data = certificate({"kind": "records", "records": [1, 4]}, knowledge, cells, proof, problem=problem)
        assert bool(verify_here(data)) == fine, verify_here(data).reason


def test_a_named_and_a_written_channel_answer_alike_about_a_function() -> None:
    problem = {"query": "modular_sum(n=3, modulus=2)", "mechanism": "symmetric(flip=0.3)"}
    capacity = LN2 + 0.3 * math.log(0.3) + 0.7 * math.log(0.7)
    for parity, far in ((PARITY["values"], True), ([x >> 1 & 1 ^ x >> 2 for x in range(8)], False)):
        masses = [[0.5, 0], [0, 0.5]] if far else [[0.25, 0.25], [0.25, 0.25]]
        lower, upper = (capacity - 1e-12, capacity + 1e-12) if far else (0.0, 1e-12)
        kind = {"kind": "choices", "tree": [{"rho": [0, 0]}]} if far else {"kind": "reference"}
        data = certificate(
            {"kind": "function", "values": parity}, 0.0, masses, {"upper": upper, **kind}, lower=lower, problem=problem
        )
        accepted(data)
        dense = dl.mechanisms.symmetric(dl.queries.modular_sum(3, 2), flip=0.3)
        assert verify_here(data, mechanism=dense)
        data["secret"] = {"kind": "function", "values": [1 - v for v in parity]}
        assert bool(verify_here(data)) != far


# Words and refusals.


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"kind": "records", "records": [1]}, "the secret is record 1;"),
        ({"kind": "records", "records": [0, 1]}, "the secret is the records 0 and 1;"),
        ({"kind": "records", "records": [0, 1, 2]}, "the secret is the records 0, 1 and 2;"),
        (PARITY, "the secret is a function of the dataset with 2 values (sha256 "),
    ],
)
def test_the_problem_names_the_secret(asked: Json, words: str) -> None:
    (values,) = (values for known, values in CASES.values() if known == asked)
    answer = verify_here(at_rest(asked, values))
    assert words in answer.problem
    assert "nats of the secret, and 1 proof that no prior leaks more than" in answer.reason
    assert answer.reason.endswith("nats of it")


def test_functions_have_different_names() -> None:
    assert Secret((), (0, 1, 1, 0)).text != Secret((), (0, 1, 0, 1)).text
    assert Secret(tuple(range(30))).text != Secret(tuple(range(1, 31))).text


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"secret": None}, "the secret must be an object, not None"),
        ({"secret": {}}, "the secret lacks 'kind'"),
        (
            {"secret": {"kind": "attributes", "records": [0], "values": PARITY["values"]}},
            "values of the secret has",
        ),
        ({"secret": {"kind": "records", "records": []}}, "one or more"),
        ({"secret": {"kind": "records", "records": [0, 0]}}, "must ascend, one or more of them, each once"),
        ({"secret": {"kind": "records", "records": [1, 0]}}, "must ascend"),
        ({"secret": {"kind": "records", "records": [0, 3]}}, "a whole number from 0 to 2, not 3"),
        ({"secret": {"kind": "records", "records": [False, True]}}, "a whole number"),
        ({"secret": {"kind": "function", "values": [0, 1]}}, "has 2 entries where 8 are needed"),
        ({"secret": {"kind": "function", "values": [0, 2] * 4}}, "no dataset has the secret value 1"),
        ({"secret": {"kind": "function", "values": [1] * 8}}, "no dataset has the secret value 0"),
        ({"secret": {"kind": "function", "values": [0, -1] * 4}}, "a whole number from 0 to 7, not -1"),
        ({"witness.record": 0}, "the witness names a record"),
        ({"proofs.0.record": 0}, "proof of the secret: it names a record"),
        ({"proofs": []}, "proofs has 0 entries where 1 are needed"),
        ({"witness.masses": [[0.5] * 8, [0.5] * 8]}, "has 2 entries where 4 are needed"),
        ({"witness.masses.0.7": 0.1}, "mass on value 0, class 7, where there is no dataset"),
    ],
)
def test_bad_secrets_are_refused(changes: dict[str | Place, object], reason: str) -> None:
    refused(changed(at_rest(*CASES["the first two"]), changes), reason)


def test_a_certificate_without_a_secret_needs_records() -> None:
    data = at_rest(*CASES["one record"])
    del data["secret"]
    assert "the witness lacks 'record'" in verify_here(data).reason
    data["witness"]["record"] = 1
    assert "proof 0 lacks 'record'" in verify_here(data).reason
    data["proofs"][0]["record"] = 1
    assert "record 0 has no proof" in verify_here(data).reason


def test_what_would_not_fit_is_refused_before_it_is_built() -> None:
    with pytest.raises(Refused, match="too many to check"):
        secret.read({"kind": "records", "records": list(range(60))}, Sum(100, (0, 1)))
    with pytest.raises(Refused, match="and 11 takes more"):
        secret.read({"kind": "records", "records": list(range(12))}, Sum(10**4, (0, 1)))
    with pytest.raises(Refused, match="a list of the datasets takes more"):
        secret.read({"kind": "function", "values": [0]}, Sum(10**8, (0, 1)))
    with pytest.raises(Refused, match="a list of the datasets takes more"):
        secret.read({"kind": "function", "values": [0]}, Sum(10**8, (0,)))
    many = 2**13
    with pytest.raises(Refused, match="too many to check"):
        secret.read({"kind": "function", "values": list(range(many))}, Table((many,), range(many), many))


# Groups of records and biased bits at sizes where rows do not fit.

BIASED = Product(((0.8, 0.2),))


def noisy_count(n: int) -> sums.Large:
    return sums.rebuild({"query": f"count(n={n})", "mechanism": "geometric(epsilon=0.5)"})


def dense_cells(n: int, group: int, p: float) -> Floats:
    """rho(a,t) of the group's 2^g values, (2^g, n+1)."""
    cells = np.zeros((2**group, n + 1))
    for a in range(2**group):
        ones = a.bit_count()
        law = binom.pmf(np.arange(n - group + 1), n - group, p)
        cells[a, ones : ones + n - group + 1] = law * p**ones * (1 - p) ** (group - ones)
    return cells


ASKED = [((0,), UNIFORM, 0.5), ((0,), BIASED, 0.2), ((2, 5), UNIFORM, 0.5), ((0, 1, 39), BIASED, 0.2)]


@pytest.mark.parametrize(("records", "rho", "p"), ASKED)
def test_a_witness_on_blocks_leaks_what_the_dense_channel_does(records: tuple[int, ...], rho: Any, p: float) -> None:
    channel = sums.ask(noisy_count(40), Secret(records), rho)
    cells = dense_cells(40, len(records), p)
    rng = np.random.default_rng(0)
    starts, cuts = [0, 5, 9, 20], [4, 8, 12, 25]
    blocks = np.add.reduceat(cells, starts, axis=1)
    masses = rng.dirichlet(np.ones(blocks.size)).reshape(blocks.shape)
    prior = np.repeat(masses / blocks, np.diff([*starts, 41]), axis=1) * cells
    expected = float(mutual_information(prior @ np.add.reduceat(_rows(40), [0, *cuts], axis=1)))
    witness = {"blocks": starts, "cuts": cuts, "masses": masses.tolist()}
    far = float((masses * np.log(masses / blocks)).sum())
    for most, shift, fine in ((far + 1e-9, -1e-11, True), (far + 1e-9, 1e-11, False), (far - 1e-9, -1e-11, False)):
        knowledge = Knowledge(sums.arb(most), none=False, free=False)
        try:
            sums.check_witness(witness, channel, knowledge, expected + shift)
        except Refused:
            assert not fine
        else:
            assert fine


def _rows(n: int) -> Floats:
    """geometric(epsilon=0.5) on 0..n, clamped."""
    alpha = math.exp(-0.5)
    distance = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
    rows = alpha**distance * (1 - alpha) / (1 + alpha)
    rows[:, [0, n]] = alpha ** distance[:, [0, n]] / (1 + alpha)
    return rows


@pytest.mark.parametrize(("records", "rho", "p"), ASKED)
@pytest.mark.parametrize("knowledge", [0.0, 0.4])
def test_proofs_without_rows_are_those_of_the_dense_cells(
    records: tuple[int, ...],
    rho: Any,
    p: float,
    knowledge: float,
) -> None:
    channel = sums.ask(noisy_count(40), Secret(records), rho)
    cells = dense_cells(40, len(records), p)
    share = cells.sum(axis=1, keepdims=True)
    given = cells / share
    bounds = {
        "trivial": (len(records) * LN2, {}),
        "sibson": (1.5 * (knowledge + math.log(((share * given**3).sum(axis=0) ** (1 / 3)).sum())), {"order": 3.0}),
    }
    allowed = Knowledge(sums.arb(knowledge), none=knowledge == 0, free=False)
    for kind, (bound, more) in bounds.items():
        sums.check_proof(channel, allowed, {"kind": kind, "upper": bound + 1e-10, **more}, "it")
        # The verifier closes Sibson's information with the entropy of the secret, which is never more.
        less = 0.9 * bound if kind == "sibson" else bound - 1e-10
        with pytest.raises(Refused, match="exceeds claimed"):
            sums.check_proof(channel, allowed, {"kind": kind, "upper": less, **more}, "it")


def large_certificate(asked: Json, rho: Json) -> Json:
    cells = dense_cells(300, 2, 0.2 if rho else 0.5)
    starts = [0, 60, 150]
    masses = np.add.reduceat(cells, starts, axis=1).tolist()
    return certificate(
        asked, 0.2, masses, {"kind": "trivial", "upper": 1.5},
        problem={"query": "count(n=300)", "mechanism": "geometric(epsilon=0.5)"},
        adversary={"knowledge": 0.2, **({"reference": rho} if rho else {})},
        form="sum", witness={"kind": "blocks", "blocks": starts, "cuts": [60], "masses": masses},
    )  # fmt: skip


def test_groups_and_marginals_at_large_n() -> None:
    for rho in ({}, {"marginal": [0.8, 0.2]}, {"marginals": [[0.8, 0.2]] * 300}):
        answer = accepted(large_certificate({"kind": "records", "records": [7, 250]}, rho))
        assert "the secret is the records 7 and 250" in answer.problem
        assert bool(rho) == ("independent records with law [0.8, 0.2] each" in answer.problem)
    data = large_certificate({"kind": "records", "records": [7, 250]}, {"marginal": [0.8, 0.2]})
    data["adversary"]["knowledge"] = 0.0
    accepted(data)
    data["adversary"]["reference"]["marginal"] = [0.79, 0.21]
    assert "not the reference prior" in verify_here(data).reason
    data["adversary"] = {"knowledge": 0.2, "reference": {"marginal": [0.5, 0.5]}}
    assert "has divergence" in verify_here(data).reason


@pytest.mark.parametrize(
    ("asked", "rho", "reason"),
    [
        ({"kind": "records", "records": list(range(20))}, {}, "too many to check"),
        ({"kind": "function", "values": [0]}, {}, "a list of the datasets takes more"),
        ({"kind": "records", "records": [0, 1]}, {"weights": [1.0]}, "a list of the datasets takes more"),
        (
            {"kind": "records", "records": [0, 1]},
            {"marginals": [[0.5, 0.5], *([[0.8, 0.2]] * 299)]},
            "one marginal of all records",
        ),
        ({"kind": "records", "records": [0, 1]}, {"marginal": [0.5, 0.6]}, "sum to 1.1"),
        ({"kind": "records", "records": [0]}, {}, "has 4 entries where 2 are needed"),
    ],
)
def test_what_blocks_are_not_for(asked: Json, rho: Json, reason: str) -> None:
    refused(large_certificate(asked, rho), reason)
