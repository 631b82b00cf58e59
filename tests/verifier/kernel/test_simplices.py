"""Proofs by simplices: rebuilt in balls they are the float bound, and a spoilt one is refused or still true."""

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache

import brute_force
import numpy as np
import pytest
from cases import LN2, named, parity_leakage, random_channel
from flint import arb
from kinds import Json
from verdicts import accepted

import dalenius as dl
from dalenius.model.channels.mechanism import Mechanism
from dalenius.settings import only
from dalenius.verifier.kernel.contraction import bundled, contracts, pair_contracts
from dalenius.verifier.verify import verify_here


def split_outputs() -> Mechanism:
    """Proportional columns, one that never occurs, and equal rows."""
    rows = np.random.default_rng(3).dirichlet([0.5] * 2, size=4)
    rows[3] = rows[0]
    wide = np.column_stack([0.25 * rows[:, 0], np.zeros(4), rows[:, 1], 0.75 * rows[:, 0]])
    return Mechanism.from_matrix(wide, records=[2, 2])


SUBJECTS = {
    "parity": (lambda: named("modular_sum(n=2, modulus=2)", "symmetric(flip=0.1)"), 1.2 * LN2, 1e-4),
    "count": (lambda: named("count(n=3)", "geometric(epsilon=1)"), 1.7, 1e-4),
    "random": (lambda: random_channel([2, 2], 3, 7), 1.0, 1e-5),
    "split outputs": (split_outputs, 1.1, 1e-4),
}


@cache
def mechanism_of(name: str) -> Mechanism:
    return SUBJECTS[name][0]()  # type: ignore[no-any-return,no-untyped-call]


@cache
def _text(name: str) -> str:
    """An audit that has nothing but simplices to close its gap."""
    _, b, tolerance = SUBJECTS[name]
    alone = dl.Settings(portfolio=only("simplices"))
    audit = dl.audit(mechanism_of(name), entropy=b, tolerance=tolerance, relative=0, settings=alone)
    assert audit.gap <= max(tolerance, 1e-5)
    return audit.certificate.text()


def certificate_of(name: str) -> Json:
    return json.loads(_text(name))


def simplices_of(data: Json) -> Json:
    return next(proof for proof in data["proofs"] if proof["kind"] == "simplices")


@cache
def attained(name: str) -> float:
    mechanism, b = mechanism_of(name), SUBJECTS[name][1]
    return brute_force.attained(mechanism.matrix(), mechanism.records, b, starts=6)


@pytest.mark.parametrize("name", SUBJECTS)
def test_certificates_are_verified_and_true(name: str) -> None:
    data = certificate_of(name)
    proof = simplices_of(data)
    accepted(data, mechanism_of(name))
    assert data["lower"] - 1e-9 <= attained(name) <= data["upper"] + 1e-12
    assert any(isinstance(item, list) for item in proof["tree"])
    if name == "parity":
        truth = parity_leakage(2, 0.1, 1.2 * LN2)
        assert data["lower"] <= truth <= data["upper"]


Change = Callable[[Json], object]


def first_split(proof: Json) -> Json:
    return next(item for item in proof["tree"] if isinstance(item, list))


def leaves(proof: Json) -> list[Json]:
    return [item for item in proof["tree"] if isinstance(item, dict)]


def put(proof: Json, key: str, value: Json) -> None:
    for leaf in leaves(proof):
        leaf[key] = value


SPOILT: dict[str, Change] = {
    "share above one": lambda p: first_split(p).__setitem__(3, 1.5),
    "share below zero": lambda p: first_split(p).__setitem__(3, -0.1),
    "vertex equal to itself": lambda p: first_split(p).__setitem__(2, first_split(p)[1]),
    "no such vertex": lambda p: first_split(p).__setitem__(1, 99),
    "no such value": lambda p: first_split(p).__setitem__(0, 7),
    "split of boxes": lambda p: p["tree"].__setitem__(0, [0, 0, 0.5]),
    "last leaf dropped": lambda p: p["tree"].pop(),
    "a leaf too many": lambda p: p["tree"].append(copy.deepcopy(leaves(p)[0])),
    "s negative": lambda p: put(p, "s", -0.1),
    "r too short": lambda p: leaves(p)[0]["r"].pop(),
    "pi too short": lambda p: leaves(p)[0]["pi"][0].pop(),
    "pi of one value": lambda p: leaves(p)[0]["pi"].pop(),
    "eta too small": lambda p: p.__setitem__("eta", [0.9 * eta for eta in p["eta"]]),
    "eta zero": lambda p: p.__setitem__("eta", [0.0 for _ in p["eta"]]),
    "eta too short": lambda p: p["eta"].pop(),
}


@pytest.mark.parametrize("change", SPOILT)
@pytest.mark.parametrize("name", ["parity", "count"])
def test_what_is_spoilt_is_refused(name: str, change: str) -> None:
    data = certificate_of(name)
    SPOILT[change](simplices_of(data))
    answer = verify_here(data)
    assert not answer.verified
    assert answer.reason
    assert "cannot be checked" not in answer.reason


def moved(proof: Json, seed: int) -> Iterator[Json]:
    """Splits and leaves changed to others that make sense, which may leave a proof or not."""
    rng = np.random.default_rng(seed)
    for _ in range(12):
        new = copy.deepcopy(proof)
        splits = [item for item in new["tree"] if isinstance(item, list)]
        listed = leaves(new)
        cut = splits[rng.integers(len(splits))]
        kind = rng.integers(6)
        if kind == 0:
            cut[1], cut[2] = cut[2], cut[1]
        elif kind == 1:
            cut[3] = float(rng.random())
        elif kind == 2:
            cut[3] = float(rng.choice([0.0, 1.0]))
        elif kind == 3:
            one, other = rng.integers(len(listed), size=2)
            listed[one].update(copy.deepcopy(listed[other]))
        elif kind == 4:
            listed[rng.integers(len(listed))]["s"] *= float(rng.choice([0.0, 0.9, 1.1]))
        else:
            new["eta"] = [min(1.0, 1.001 * eta) for eta in new["eta"]]
        yield new


@pytest.mark.parametrize("name", ["parity", "count", "split outputs"])
def test_what_is_changed_is_refused_or_true(name: str) -> None:
    data = certificate_of(name)
    place = data["proofs"].index(simplices_of(data))
    if not any(isinstance(item, list) for item in data["proofs"][place]["tree"]):
        pytest.fail("there is nothing to change")
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


@pytest.mark.parametrize("flip", [0.01, 0.1, 0.3, 0.49])
def test_the_contraction_of_a_binary_symmetric_channel(flip: float) -> None:
    # eta = (1 - 2 p)^2, in closed form
    rows = [[arb(1 - flip), arb(flip)], [arb(flip), arb(1 - flip)]]
    eta = (1 - 2 * flip) ** 2
    assert contracts(rows, arb(eta + 1e-9))
    assert not contracts(rows, arb(eta - 1e-9))


@pytest.mark.parametrize("erased", [0.1, 0.5, 0.9])
def test_the_contraction_of_an_erasure_channel(erased: float) -> None:
    # eta = 1 - e
    rows = [[arb(1 - erased), arb(0), arb(erased)], [arb(0), arb(1 - erased), arb(erased)]]
    assert pair_contracts(*rows, arb(1 - erased + 1e-9))
    assert not contracts(rows, arb(1 - erased - 1e-9))


def test_many_rows_are_bundled_without_loss_of_truth() -> None:
    # Rows that differ beyond the tenth decimal, around the two of a symmetric channel: eta = (1 - 2 p)^2.
    flip, rng = 0.2, np.random.default_rng(1)
    flips = [p + 1e-13 * float(rng.normal()) for p in (flip, 1 - flip) for _ in range(60)]
    rows = [[arb(1 - p), arb(p)] for p in flips]
    eta = (1 - 2 * flip) ** 2
    assert len(bundled(rows)) < 10
    assert all(any(m[0] <= q[0] and m[1] <= q[1] for m in bundled(rows)) for q in rows)
    assert contracts(rows, arb(eta + 1e-8))
    assert not contracts(rows, arb(eta - 1e-8))
    assert not contracts([*rows, [arb(0), arb(1)]], arb(eta + 1e-8))
