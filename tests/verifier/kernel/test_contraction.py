"""Rows in bundles contract at least as much as is said, and a certificate that says more is refused."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from flint import arb
from kinds import Json
from verdicts import refused

from dalenius.verifier.kernel import contraction
from dalenius.verifier.verify import verify_here

BUNDLES = json.loads((Path(__file__).parents[2] / "golden" / "count-bundles.json").read_text())


def test_random_rows_in_bundles_contract_no_less_than_pairs_of_priors_do(monkeypatch: pytest.MonkeyPatch) -> None:
    # Bundles of rows that agree to one decimal or two, so that they are wide.
    rng = np.random.default_rng(3)
    monkeypatch.setattr(contraction, "FEW", 1)
    for decimals in (0, 1, 1, 2, 2, 2):
        monkeypatch.setattr(contraction, "round", lambda x, _, d=decimals: np.round(x, d), raising=False)
        # Three outputs: over two, bundles are not needed.
        rows = np.column_stack([0.9 * rng.dirichlet(np.ones(2), size=12), np.full(12, 0.1)])
        balls = [[arb(float(q)) for q in row] for row in rows / rows.sum(axis=1, keepdims=True)]
        assert decimals == 2 or len(contraction.bundled(balls)) < len(rows)
        w, w0 = rng.dirichlet(np.full(12, 0.05), size=(2, 500)) + 1e-9
        w, w0 = w / w.sum(axis=1, keepdims=True), w0 / w0.sum(axis=1, keepdims=True)
        u, u0 = w @ rows, w0 @ rows
        kept = float(((u * np.log(u / u0)).sum(axis=1) / (w * np.log(w / w0)).sum(axis=1)).max())
        assert kept > 0.05
        assert not contraction.contracts(balls, arb(0.999 * kept))


def test_what_stands_for_a_bundle_is_not_below_zero() -> None:
    # The ball of a small probability may reach below 0, where a harmonic mean no longer rises.
    rows = [[arb(0.7), arb(0.3), arb(0, 1e-12)] for _ in range(2)]
    (least,) = contraction.bundled(rows)
    assert all(x >= 0 for x in least)
    assert all(not x > q for x, row in zip(least, zip(*rows, strict=True), strict=True) for q in row)


def test_of_two_outputs_the_outermost_rows_stand_for_all() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        first = rng.beta(0.5, 0.5, size=7)
        rows = [[arb(float(p)), 1 - arb(float(p))] for p in first]
        worst = [rows[int(first.argmin())], rows[int(first.argmax())]]
        # Bisection on what all pairs are shown to contract to, one after the other.
        low, high = 0.0, 1.0
        while high - low > 1e-6:
            eta = (low + high) / 2
            pairs = all(contraction.pair_contracts(p, q, arb(eta)) for i, p in enumerate(rows) for q in rows[:i])
            low, high = (low, eta) if pairs else (eta, high)
        assert contraction.contracts(rows, arb(high + 1e-9))
        assert not contraction.contracts(rows, arb(low - 1e-9))
        assert not contraction.pair_contracts(*worst, arb(low - 1e-9))
    # What is not known well may lie anywhere in its ball, but is a law.
    wide = [[arb(0.5, 0.6), 1 - arb(0.5, 0.6)], [arb(0.5), arb(0.5)]]
    assert not contraction.contracts(wide, arb(0.999))


def changed(**fields: Json) -> Json:
    data = copy.deepcopy(BUNDLES)
    data["proofs"] = [{**proof, **fields} for proof in data["proofs"]]
    return data


def test_a_certificate_whose_groups_need_bundles_may_not_claim_more_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    (proof,) = BUNDLES["proofs"]
    eta, groups = proof["eta"], proof["groups"]
    bundled, seen = contraction.bundled, []
    monkeypatch.setattr(contraction, "bundled", lambda rows: seen.append(len(rows)) or bundled(rows))
    assert verify_here(BUNDLES).verified
    assert min(seen) > contraction.FEW
    forged = [
        changed(eta=eta * 0.99),
        changed(eta=0.0),
        changed(eta=1e-300),
        changed(groups=[min(g, 1) for g in groups]),  # a group of nearly all outputs
        changed(groups=[0, *groups[1:-1], 0]),  # the ends together
    ]
    for data in forged:
        refused(data, "eta")
