"""What the verifier refuses of monotone rows, and that its recursions are the products they stand for."""

import copy

import numpy as np
import pytest
from damage import changed
from flint import arb
from fuzz import pool
from verdicts import refused

import dalenius as dl
from dalenius.settings import only
from dalenius.verifier.forms import named
from dalenius.verifier.forms.written import rebuild
from dalenius.verifier.kernel.balls import Rows, precision
from dalenius.verifier.kernel.cells import Recursions, products
from dalenius.verifier.kernel.chains import OneValue
from dalenius.verifier.verify import verify_here

Q, M = dl.queries, dl.mechanisms
ALONE = dl.Settings(portfolio=only("monotone"))


def certified(mechanism: dl.Mechanism) -> pool.Json:
    audit = dl.audit(mechanism, knowledge=0.3, tolerance=1e-3, settings=ALONE, verify=False)
    assert audit.upper_by == "monotone"
    return copy.deepcopy(audit.certificate.data)


# Of four rows: two parts, and what is added to outputs (0, 0) and (1, 1).
JOINT = [([1 - x, 1 - x, x, x], [1 - x, x, 1 - x, x], [1.0, 0.0, 0.0, 1.0]) for x in (0.2, 0.3, 0.6, 0.8)]


def table() -> dl.Mechanism:
    rng = np.random.default_rng(0)
    return dl.Mechanism.from_matrix(rng.dirichlet(np.ones(2), size=4), [2, 2])


@pytest.mark.parametrize(
    ("query", "mechanism"),
    [("modular_sum(n=4, modulus=3)", "geometric(epsilon=1)"), ("count(n=3)", "symmetric(flip=0.1)")],
)
def test_names_that_say_no_order(query: str, mechanism: str) -> None:
    assert named.falling(mechanism, named.query(query)) is None


def test_a_channel_in_no_order_is_refused() -> None:
    data = certified(M.geometric(Q.count(n=3), epsilon=1))
    data["problem"]["mechanism"] = "symmetric(flip=0.1)"
    assert "implies no order" in verify_here(data).reason


def test_ratios_that_fall_are_refused_with_the_place() -> None:
    data = certified(table())
    order = data["proofs"][0]["steps"][0]["rows"]
    order[0], order[1] = order[1], order[0]
    reason = verify_here(data).reason
    assert f"from row {order[0]} to row {order[1]} the likelihood ratio of ranks 1 and 0 falls" in reason


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("rows", [0, 0, 1, 2], "names a row twice"),
        ("rows", [0, 1, 2], "4 are needed"),
        ("rows", [0, 1, 2, 9], "a row of the order must be a whole number"),
        ("ranks", [], "of no part"),
        ("ranks", [[0, -1]], "has no rank, but it occurs"),
        ("ranks", [[0, 1], [0, 1]], "leave out a tuple"),
        ("ranks", [[0, 0, 0]], "2 are needed"),
        ("s", 0.0, "s must be above 0"),
        ("rounds", -1, "rounds must be a whole number"),
        ("rho", [0.0], "2 are needed"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(key: str, value: object, reason: str) -> None:
    data = certified(table())
    for proof in data["proofs"]:
        place = proof["steps"][0] if key in ("rows", "ranks") else proof
        place[key] = value
    assert reason in verify_here(data).reason


def test_too_small_a_claim_and_too_few_steps_are_refused() -> None:
    data = certified(M.geometric(Q.count(n=12), epsilon=0.5))
    assert verify_here(data).verified
    refused(changed(data, {"proofs.0.rounds": 1}), "exceeds claimed")
    data["upper"] = data["proofs"][0]["upper"] = data["lower"] + 1e-9
    assert "exceeds claimed" in verify_here(data).reason


def test_parts_that_are_not_independent_are_refused_or_cost() -> None:
    """A joint law of two outputs in a row, ranked as if they were two releases."""
    data = certified(table())
    rows = [[a * b / 2 + same / 4 for a, b, same in zip(*pair, strict=True)] for pair in JOINT]
    data["problem"]["rows"] = rows
    for proof in data["proofs"]:
        proof.update(rho=[0.0] * 4)
        proof["steps"][0].update(rows=[0, 1, 2, 3], ranks=[[0, 0, 1, 1], [0, 1, 0, 1]])
    reason = verify_here(data).reason
    assert "exceeds claimed" in reason or "leaks" in reason


def test_a_zero_is_refused() -> None:
    data = certified(table())
    data["problem"]["rows"][1] = [1.0, 0.0]
    assert "not above 0" in verify_here(data).reason


@pytest.mark.parametrize(
    ("mechanism", "n", "recursive"),
    [
        ("geometric(epsilon=0.5)", 40, True),
        ("laplace(epsilon=0.5)", 40, True),
        ("laplace(epsilon=1, clamp=False)", 40, True),
        ("geometric(epsilon=0.5)", 4, False),  # of few rows a matrix is faster
        ("laplace(epsilon=200)", 40, False),  # nearly everything would cancel
        ("gaussian(sigma=2)", 40, False),
    ],
)
def test_products_of_all_kinds_meet_those_of_the_rows(mechanism: str, n: int, recursive: bool) -> None:
    with precision():
        channel = rebuild({"query": f"count(n={n})", "mechanism": mechanism})
        found, rows = products(channel, range(n + 1)), Rows(channel.rows)
        assert isinstance(found, Recursions) == recursive
        vector, weights = ([arb(k + 1) / 7 for k in range(many)] for many in (channel.outputs, n + 1))
        for one, other in (
            (found.times(vector), rows.times(vector)),
            (found.combined(weights), rows.combined(weights)),
        ):
            assert all(x.overlaps(y) and x.rad() < 1e-30 for x, y in zip(one, other, strict=True))


def test_a_middle_that_is_rounded_out_of_the_chains_is_still_as_far_away_as_it_is() -> None:
    # Both chains say w = rho, and the middle is far above them.
    with precision():
        rho, up = [arb(1) - arb(2) ** -20, arb(2) ** -20], [arb(0)]
        middle = [(arb("0.49") / arb("0.51") * rho[0] / rho[1]).log().mid()]
        one = OneValue(None, rho, [], arb(1))
        away = sum(p * (p / q).log() for p, q in zip(rho, one.law(middle), strict=True))
        assert away > 0.6
        assert one._distance(up, middle, up, middle) >= away
