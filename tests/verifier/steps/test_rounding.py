"""Certificates of real-valued records: what is damaged, or inside is about something else, is refused."""

import math
from fractions import Fraction
from typing import Any

import pytest
from damage import GONE, Described, damaged, reason
from flint import arb

from dalenius.verifier.forms.real_records import Believed, Density, Problem
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.steps import rounding
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")

INSIDE = "proofs.0.audit"
BELOW = "witness.audit"


@pytest.mark.parametrize("place", [INSIDE, BELOW])
def test_gaussian_noise_inside_is_not_clamped(place: str) -> None:
    # A clamped release tells less: its bound was taken for that of the release, .0703 where .0785 is the truth.
    data = damaged("real_records-gaussian", {})
    for key in place.split("."):
        data = data[int(key) if key.isdigit() else key]
    clamped = data["problem"]["mechanism"].replace(")", ", clamp=True)")
    changes = {f"{place}.problem.mechanism": clamped}
    assert "noise that is not clamped" in reason("real_records-gaussian", changes)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        # The problem and the adversary.
        ("", {"problem.rows": []}, "are described by 'query' and 'mechanism'"),
        ("", {"problem.query": "real_sum(n=2, low=1, high=0)"}, "low of the query must be below its high"),
        ("", {"problem.mechanism": "exponential(epsilon=1)"}, "is none of laplace, gaussian, geometric"),
        ("-stepped", {"problem.mechanism": "geometric(epsilon=1, clamp=False)"}, "must be True or left out"),
        ("", {"problem.mechanism": "laplace(epsilon=1, clamp=False)"}, "must be True or left out"),
        ("", {"problem.mechanism": "laplace(epsilon=1, output='integer')"}, "its output is 'real'"),
        ("-gaussian", {"problem.mechanism": "gaussian(sigma=0.7, output='other')"}, "its output is 'real'"),
        ("-stepped", {"problem.mechanism": "geometric(epsilon=1, step=0.3)"}, "must divide the range"),
        ("-stepped", {"problem.mechanism": "geometric(epsilon=1, step=-1)"}, "must divide the range"),
        ("-stepped", {"problem.mechanism": "geometric(epsilon=1)"}, "must have the 100 steps"),
        ("-stepped", {"problem.mechanism": "geometric(epsilon=1.1, step=0.5)"}, "its noise is more than"),
        ("-stepped", {"problem.mechanism": "geometric(epsilon=0.9, step=0.5)"}, "its noise is less than"),
        ("-stepped", {"lower": 0.1, "upper": 0.2}, "less than 0.1"),
        ("-stepped", {"proofs.0.kind": "rounded"}, "its kind is none of maximal, stepped, which"),
        ("-stepped", {f"{INSIDE}.proofs.0.kind": "trivial"}, "about records on a grid"),
        ("", {"problem.mechanism": "laplace(epsilon=1, scale=1)"}, "scale alone fixes how much noise"),
        ("", {"problem.mechanism": "laplace(epsilon=-1)"}, "epsilon is -1.0; it must be above 0"),
        ("", {"adversary": {"entropy": 1.0}}, "no entropy to count from"),
        ("", {"adversary": {}}, "the adversary needs 'knowledge'"),
        ("", {"adversary.independent": 1}, "must be true"),
        ("", {"adversary.reference.masses": GONE}, "needs 'edges' and 'masses'"),
        ("", {"adversary.reference.edges": [0.0]}, "has 1 edges; it needs 2 to"),
        ("", {"adversary.reference.edges": [0.0, 0.5, 0.9]}, "must ascend from low to high"),
        ("", {"adversary.reference.masses": [0.5, 0.4]}, "must be above 0 and sum to 1"),
        ("", {"lower": 0.3}, "exceeds upper"),
        ("", {"upper": 0.1}, "its bound 0.153"),
        ("", {"secret": {"kind": "function", "values": [0, 1]}}, "which is none of records, bin"),
        ("", {"secret": {"kind": "records", "records": [2]}}, "must be a whole number from 0 to 1"),
        ("-snapped", {"adversary": {"independent": True}}, "audited one by one"),
        ("-snapped", {"secret.edges": [0, 1]}, "the secret has 2 edges; it needs 3 to"),
        ("-snapped", {"secret.edges": [0, 0.7, 0.5, 1]}, "edges of the secret must ascend"),
        ("-snapped", {"secret.edges": [0, 0.3, 1]}, "an edge of the secret cuts a cell"),
        # What the witness shows.
        ("", {"lower": 0.05}, "less than 0.05"),
        ("", {f"{BELOW}.problem.mechanism": "laplace(epsilon=1.1, sensitivity=4)"}, "noise of the witness is less"),
        ("", {f"{BELOW}.adversary.knowledge": 0.2}, "does not make up for the rounding"),
        ("-gaussian", {"lower": 0.2}, "less than 0.2"),
        # What the proof shows.
        ("", {"proofs.0.upper": 0.1}, "exceeds claimed 0.1"),
        ("", {"proofs.0.kind": "snapped"}, "its kind is none of maximal, rounded, which"),
        ("-snapped", {"proofs.0.kind": "law"}, "maximal, rounded, trivial, snapped, which"),
        ("", {f"{INSIDE}.problem.mechanism": "geometric(epsilon=0.9, sensitivity=4)"}, "its noise is more than"),
        ("-snapped", {f"{INSIDE}.problem.mechanism": "geometric(epsilon=3, sensitivity=8)"}, "its noise is more than"),
        ("-gaussian", {"proofs.0.spread": 0}, "its spread must be above 0"),
        ("-gaussian", {"proofs.0.spread": 1.5}, "does not cover the steps of the grid"),
        ("-gaussian", {"proofs.0.spread": 1e-30}, "the noise on the grid is too little"),
        ("-independent", {"proofs.0.together": True}, "does not fit this question"),
        ("-together", {"proofs.0.together": 1}, "does not fit this question"),
        ("", {f"{INSIDE}.proofs.0.kind": "trivial"}, "about records on a grid"),
        # What the audits inside are about.
        ("", {f"{INSIDE}.format": "dalenius/audit"}, "must be about every record of whole numbers"),
        ("", {f"{INSIDE}.secret": {"kind": "records", "records": [0]}}, "must be about every record of whole numbers"),
        ("-snapped", {f"{INSIDE}.secret": GONE}, "must be about the bin of record 0"),
        ("", {f"{INSIDE}.problem.rows": []}, "must be about a mechanism given by its name"),
        ("", {f"{INSIDE}.problem.query": "total(n=3, values=[0, 1, 2, 3, 4])"}, "must be about total(n=2"),
        ("", {f"{INSIDE}.problem.mechanism": "laplace(epsilon=1)"}, "must be about geometric noise"),
        ("", {f"{INSIDE}.adversary.independent": True}, "is about another adversary"),
        ("", {f"{INSIDE}.adversary.reference": GONE}, "counts from another law"),
        ("", {f"{INSIDE}.lower": 0.07, f"{INSIDE}.upper": 0.08}, "the audit of 2 records of 5 values"),
    ],
)
def test_a_damaged_certificate_is_refused(name: str, changes: dict[str, object], words: str) -> None:
    assert words in reason(f"real_records{name}", changes)


@pytest.mark.parametrize(
    ("mechanism", "same"),
    [
        (damaged("real_records", {})["problem"], True),
        ({"query": "real_sum(n=2, low=0, high=1)", "mechanism": "laplace(scale=2)"}, False),
        ({"query": "real_mean(n=2, low=0, high=1)", "mechanism": "laplace(scale=0.5)"}, False),
    ],
)
def test_a_certificate_is_about_its_own_channel(mechanism: dict[str, object], *, same: bool) -> None:
    answer = verify_here(damaged("real_records", {}), Described(**mechanism))
    assert answer.verified == same
    assert same or "another channel than the mechanism given" in answer.reason


def test_a_record_alone_may_be_the_secret() -> None:
    alone = {"secret": {"kind": "records", "records": [1]}}
    assert "nats of record 1" in verify_here(damaged("real_records", alone)).reason


def test_a_single_answer_inside_has_no_noise() -> None:
    single = {"query": "total(n=2, values=[0])", "mechanism": "laplace(epsilon=1)"}
    assert "has a single answer" in reason("real_records", {f"{BELOW}.problem": single, "witness.cells": 1})


def test_a_density_that_an_edge_cuts_is_as_far_from_uniform_as_its_parts() -> None:
    density = Density((Fraction(0), Fraction(1, 3), Fraction(1)), (Fraction(1, 2), Fraction(1, 2)))
    masses, far = density.cells(2)
    # In [0, 1/2]: 1/2 on [0, 1/3] and 1/8 on the rest, 2/3 and 1/3 of the width.
    assert masses == [Fraction(5, 8), Fraction(3, 8)]
    assert far == Fraction(4, 5) - Fraction(2, 3)
    assert density.cells(3)[1] == 0


def trusted(_: object) -> tuple[float, float]:
    """What an audit inside is said to show."""
    return 0.05, 0.05


EVEN = Density((Fraction(0), Fraction(1)), (Fraction(1),))
CUT = Density((Fraction(0), Fraction(1, 3), Fraction(1)), (Fraction(1, 2), Fraction(1, 2)))
BINS = (Fraction(0), Fraction(1, 2), Fraction(1))
GAUSSIAN = Problem(1, Fraction(0), Fraction(1), "gaussian", Fraction(7, 10), "gaussian(sigma=0.7)")
LAPLACE = Problem(4, Fraction(0), Fraction(1), "laplace", Fraction(1), "laplace(epsilon=1)")
STEEP = Problem(1, Fraction(0), Fraction(1), "laplace", Fraction(10**300), "laplace(epsilon=1e300)")


def believed(knowledge: float = 0.0, many: int = 1, reference: Density = EVEN, **more: object) -> Believed:
    return Believed(False, arb(knowledge), reference, many, exactly=False, **more)


def on_four_cells(noise: str, *, points: bool, many: int = 1, **more: object) -> dict[str, Any]:
    """A proof or a witness whose audit inside is taken on trust."""
    law = [1 / 8, 1 / 4, 1 / 4, 1 / 4, 1 / 8] if points else [1 / 4] * 4
    audit = {
        "format": "dalenius/audit-certificate",
        "problem": {"query": f"total(n={many}, values={list(range(4 + points))})", "mechanism": noise},
        "adversary": {"knowledge": 0.0, "reference": {"marginal": law}},
        "proofs": [{"kind": "sibson"}],
    }
    return {"upper": 1.0, "cells": 4, "audit": audit, **more}


def rounded(**more: object) -> dict[str, Any]:
    return on_four_cells("discrete_gaussian(sigma=2.5)", points=True, kind="rounded", spread=1.0, **more)


@pytest.mark.parametrize(
    ("adversary", "words"),
    [
        ({"knowledge": 0.1, "reference": {"marginal": [0.2] * 5}}, "but this one knows nothing"),
        ({"knowledge": 0.0, "reference": {"marginals": [[0.2] * 5]}}, "needs one law for all records"),
        ({"knowledge": 0.0, "reference": {"marginal": [0.0, 0.25, 0.25, 0.25, 0.25]}}, "must be positive"),
    ],
)
def test_an_audit_inside_counts_from_the_law_of_the_grid(adversary: dict[str, object], words: str) -> None:
    proof = rounded()
    proof["audit"]["adversary"] = adversary
    with pytest.raises(Refused, match=words):
        rounding.check_proof(proof, GAUSSIAN, believed(), trusted, "it")


def test_bins_behind_gaussian_noise_are_snapped() -> None:
    proof = on_four_cells("discrete_gaussian(sigma=2.5)", points=False, kind="snapped", spread=1.0)
    proof["audit"]["secret"] = {"kind": "attributes", "records": [0], "values": [0, 0, 1, 1]}
    # What is told by whole numbers, what they hide, and half a cell over the deviation.
    least = 0.05 + 1 / (2 * 0.7 * 4)
    assert rounding.check_proof({**proof, "upper": 0.5}, GAUSSIAN, believed(bins=BINS), trusted, "it") == 0.5
    with pytest.raises(Refused, match="exceeds claimed"):
        rounding.check_proof({**proof, "upper": least}, GAUSSIAN, believed(bins=BINS), trusted, "it")
    with pytest.raises(Refused, match="its noise is more than that of the mechanism"):
        rounding.check_proof({**proof, "spread": 2.0}, GAUSSIAN, believed(bins=BINS), trusted, "it")


def test_one_coin_for_the_others_costs_what_it_hides_where_nothing_is_known() -> None:
    proof = on_four_cells("geometric(epsilon=1, sensitivity=4)", points=True, many=4, kind="rounded", together=True)
    single = rounding.one_coin(EVEN, 4, 4)
    assert single > 1
    with pytest.raises(Refused, match="exceeds claimed"):
        rounding.check_proof({**proof, "upper": 0.05}, LAPLACE, believed(many=4), trusted, "it")
    assert rounding.check_proof({**proof, "upper": 1.2}, LAPLACE, believed(many=4), trusted, "it") == 1.2


@pytest.mark.parametrize(
    ("sigma", "reference", "words"),
    [(2.8, EVEN, "leaks nothing"), (2.9, CUT, "less than 0.049")],
    ids=["noise too small for the places in cells", "an edge cuts a cell"],
)
def test_a_witness_of_gaussian_noise_covers_the_places_in_its_cells(
    sigma: float, reference: Density, words: str
) -> None:
    witness = on_four_cells(f"discrete_gaussian(sigma={sigma})", points=False)
    masses, _ = reference.cells(4)
    witness["audit"]["adversary"]["reference"]["marginal"] = list(map(float, masses))
    with pytest.raises(Refused, match=words):
        rounding.check_witness(witness, GAUSSIAN, believed(reference=reference), 0.049, trusted)


def test_a_grid_too_coarse_for_the_noise_proves_nothing() -> None:
    proof = on_four_cells("geometric(epsilon=1e300, sensitivity=4)", points=True, kind="rounded")
    with pytest.raises(Refused, match="the grid is too coarse"):
        rounding.check_proof(proof, STEEP, believed(), trusted, "it")


def test_others_that_follow_the_density_may_be_asked_about() -> None:
    adversary = {"independent": True, "reference": {"edges": [0.0, 0.5, 1.0], "masses": [0.25, 0.75]}}
    assert "another adversary" in reason("real_records", {"adversary": adversary})


# Ten records that are rounded to 0 or 1, hardly any noise, and three nats and a half of knowledge.
TEN, RATE, KNOWN = 10, 6.0, 3.5


def tied_to_digits() -> tuple[float, float]:
    """What a prior leaks whose first record says by its digits how many of the others are 1, and its divergence."""
    sums = [0.05 if f in (0, TEN) else 0.1 for f in range(TEN + 1)]
    divergence = sum(math.log(2 ** (TEN - 1) / math.comb(TEN - 1, s)) for s in range(TEN)) / TEN
    alpha = math.exp(-RATE)
    rows = []
    for f in range(TEN + 1):
        inner = [(1 - alpha) / (1 + alpha) * alpha ** abs(y - f) for y in range(TEN + 1)]
        rows.append([x / (1 - alpha) if y in (0, TEN) else x for y, x in enumerate(inner)])
    outputs = [sum(p * q for p, q in zip(sums, column, strict=True)) for column in zip(*rows, strict=True)]
    told = (
        p * sum(q * math.log(q / r) for q, r in zip(row, outputs, strict=True))
        for p, row in zip(sums, rows, strict=True)
    )
    return sum(told), divergence


def about_digits(proof: dict[str, Any], upper: float) -> dict[str, Any]:
    """A certificate of those ten records, with a proof about whole numbers inside."""
    problem = {"query": f"total(n={TEN}, values=[0, 1])", "mechanism": f"geometric(epsilon={RATE})"}
    adversary = {"knowledge": KNOWN + 1e-9, "reference": {"marginal": [0.5, 0.5]}}
    # The first record and a count: the reference itself.
    masses = [[math.comb(TEN - 1, t - a) / 2**TEN if 0 <= t - a < TEN else 0.0 for t in range(TEN + 1)] for a in (0, 1)]
    on_points = proof["steps"][0]["step"] == "points"
    blocks = {"kind": "blocks", "blocks": list(range(TEN + 1)), "cuts": [1]}
    inside = {
        "format": "dalenius/audit-certificate",
        "version": 2,
        "form": "sum" if on_points else "rows",
        "problem": problem,
        "adversary": adversary,
        "lower": 0.0,
        "upper": upper,
        "witness": {"record": 0, **(blocks if on_points else {"kind": "masses"}), "masses": masses},
        "proofs": [{"record": 0, "upper": upper, **proof}],
    }
    return {
        **inside,
        "problem": {"query": f"real_sum(n={TEN}, low=0, high=1)", "mechanism": f"geometric(epsilon={RATE}, step=1)"},
        "adversary": {"knowledge": KNOWN},
        "form": "real-records",
        "witness": {
            "record": 0,
            "kind": "cells",
            "cells": 1,
            "audit": {**inside, "adversary": {**adversary, "knowledge": KNOWN}},
        },
        "proofs": [{"record": 0, "kind": "stepped", "cells": 1, "upper": upper, "audit": inside}],
    }


STEP = {"step": "points", "first": 0, "every": 5, "beyond": 0.0}
POINTS = {"kind": "monotone", "steps": [STEP], "rho": [0.0, 0.0, 0.0], "s": 1.0, "rounds": 3}
BY_ORDER = {**POINTS, "steps": [{**STEP, "order": 50.0}]}
# All outputs have one rank, so that the repaired rows are all alike, and log|A| is told of what they leave out.
ORDER = {"step": "order", "rows": list(range(TEN + 1)), "ranks": [[0] * (TEN + 1)]}
RANKS = {"kind": "monotone", "steps": [ORDER], "s": 1e-3, "rounds": 3}
FLAT = [-RATE * y for y in range(TEN + 1)]


@pytest.mark.parametrize(
    "proof",
    [
        POINTS,
        {**POINTS, "steps": [{**STEP, "order": 1e9}]},
        # Outside of the step the key says nothing.
        {**POINTS, "order": 50.0},
        {**RANKS, "rho": FLAT},
        {"kind": "trivial", "steps": [{"step": "window", "rows": [0, TEN], "outputs": [0, TEN]}]},
    ],
)
def test_digits_of_a_record_that_are_tied_to_the_others_tell_more_than_its_steps(proof: dict[str, object]) -> None:
    # These were taken for proofs of log 2 and a little more.
    told, divergence = tied_to_digits()
    assert told > 2
    assert divergence < KNOWN
    verdict = verify_here(about_digits(proof, 0.8))
    assert not verdict.verified, verdict
    assert "log|A|" in verdict.reason or "exceeds claimed" in verdict.reason


def test_the_value_on_the_grid_is_not_the_record_and_may_not_be_told_in_its_place() -> None:
    rounding._one_point({"proofs": [BY_ORDER]}, "it")
    with pytest.raises(Refused, match="about records on a grid"):
        rounding._one_point({"proofs": [{**POINTS, "steps": [{**BY_ORDER["steps"][0], "told": "secret"}]}]}, "it")


def test_points_that_sibsons_order_serves_hold_for_real_valued_records_too() -> None:
    verdict = verify_here(about_digits(BY_ORDER, 4.0))
    assert verdict.verified, verdict
    each = {**POINTS, "steps": [{**STEP, "every": 1}], "rho": [0.0] * 11, "s": 5.0, "rounds": 200}
    assert verify_here(about_digits(each, 30.0)).verified


def test_outputs_that_were_put_together_tell_what_a_sum_of_real_valued_records_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proof = on_four_cells("discrete_gaussian(sigma=2.0)", points=True, many=2, kind="rounded", spread=1.0)
    proof["audit"]["adversary"]["knowledge"] = 0.06
    two = Problem(2, Fraction(0), Fraction(1), "gaussian", Fraction(7, 10), "gaussian(sigma=0.7)")
    tight = {**proof, "upper": 0.6}
    assert rounding.check_proof(tight, two, believed(0.05, many=2), trusted, "it") == 0.6
    # The chance of such outputs is some 1e-13; here it is a quarter, of what nine sums can tell.
    monkeypatch.setattr(rounding.named, "lost", lambda *_: arb(0.25))
    with pytest.raises(Refused, match="exceeds claimed"):
        rounding.check_proof(tight, two, believed(0.05, many=2), trusted, "it")
