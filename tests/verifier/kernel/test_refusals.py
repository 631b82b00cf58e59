"""Proofs of every kind with one thing wrong, and the rare turns of their checks."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
from damage import GONE, damaged, golden, reason
from flint import arb

from dalenius.verifier.forms.reference import UNIFORM, Product, Reference
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.forms.written import Asked, rebuild
from dalenius.verifier.kernel import chains, convex, cuts, order, posteriors
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.contraction import _log_odds
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.special import bellman, beside, moved, power, product
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")

INSIDE = "proofs.0"
TINY = "geometric(epsilon=1, sensitivity=5e-324)"  # no ball tells its noise from 0


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("rows", {"proofs.0.s": 0.0}, "s = 0.0 is not between"),
        ("groups", {"problem.mechanism": TINY, "lower": 0.0}, "too small to distinguish"),
        ("convex", {"proofs.0.eta": 0.0}, "needs groups of one output each"),
        ("convex", {"proofs.0.s": 0.0}, "s must be above 0"),
        ("convex", {"proofs.0.s": 1e-9}, "s must exceed eta"),
        ("convex", {"proofs.0.theta": 2.0}, "theta"),
        ("convex", {"proofs.0.lam": GONE}, "lam"),
        ("convex", {"proofs.0.lam.0": GONE}, "lam"),
        ("convex", {"proofs.0.theta": 0.0}, "exceeds"),
        ("convex", {"proofs.0.rho": [-9.0, 0.0, 0.0, 0.0]}, "exceeds"),
        ("posteriors", {"proofs.0.ratios": 1}, "is neither true nor false"),
        ("choices", {"proofs.0.tree.-1": 3}, "it must be an object, not 3"),
        ("choices", {"proofs.0.tree": [[0, 0, 0.5]] * 50_000}, "the tree is too deep"),
        ("choices", {"proofs.0.tree.-1": GONE}, "ends before its leaves cover everything"),
        ("choices", {"proofs.0.tree.0": [9, 0, 0.5]}, "node 0 of the tree: the secret value of a split"),
        ("choices", {"proofs.0.tree": [{"rho": [0.0] * 3}] * 2, "proofs.0.upper": 9.0}, "goes on after its last leaf"),
        ("simplices", {"proofs.0.eta": [0.1, 0.1]}, "is not shown to bound the contraction"),
        ("simplices", {"proofs.0.tree.0": [0, 1, 1, 0.5]}, "two different vertices"),
        ("moved", {"proofs.0.s": 1.0}, "s must be above 1"),
        ("moved", {"proofs.0.tilt": []}, "does not fit 60 records"),
        ("moved", {"proofs.0.own": [0.0]}, "the first of 'own' must be above 0"),
        ("moved", {"adversary.knowledge": 0.0}, "tilts counts where the reference is the only prior"),
        ("moved", {"adversary.knowledge": 0.1}, "has divergence"),
        ("moved", {"witness.window": [0, 0], "witness.tilt": [0.0]}, "leave the others more or fewer records"),
        ("mixture", {"proofs.0.parts.0.share": 0.5}, "do not sum to one exactly"),
        ("mixture", {"proofs.0.parts.0.share": -0.5}, "a share is -0.5"),
        ("mixture", {"proofs.0.parts.0.rows": []}, "where 3 are needed"),
        ("mixture", {"proofs.0.parts.1.rows": [[1.0]] * 3}, "part 1 has 1 outputs, not 3"),
        ("mixture", {"proofs.0.parts.0.rows.0": [0.0, 0.0, 1.0]}, "exceeds claimed"),
        ("mixture", {"proofs.0.parts.1.rows.0": [0.0, 0.0, 1.0]}, "part 1 lacks 'proof'"),
        ("mixture", {"proofs.0.parts.0.proof.kind": "mixture"}, "part 0 is a mixture itself"),
        ("mixture", {"proofs.0.parts.0.proof": GONE}, "part 0 lacks 'proof'"),
        ("mixture", {"proofs.0.parts.0.proof.upper": 0.09}, "part 0"),
        ("mixture", {"proofs.0.upper": 0.09}, "exceeds claimed"),
        ("mixture", {"proofs.0.steps": [{"step": "window"}]}, "a proof by mixture takes no steps"),
        ("beside", {"proofs.0.mu": 0.0}, "mu above 0 and at most 1 - sigma"),
        ("beside", {"proofs.0.mu": 1.0}, "mu above 0 and at most 1 - sigma"),
        ("beside", {"proofs.0.sigma": 1.0}, "sigma must be below 1"),
        ("beside", {"proofs.0.eta": 0.1}, "is not shown to contract divergence"),
        ("beside", {"proofs.0.sigma": 0.2}, "is not shown to keep sigma"),
        ("beside", {"proofs.0.first": 1}, "'first' must be true or false"),
        ("beside", {"proofs.0.first": False}, "exceeds"),
        ("beside", {"proofs.0.local.0": [1.0, 0.0]}, "every entry of a row of 'local' must be above 0"),
        ("beside", {"proofs.0.release": [[1.0], [1.0], [1.0]]}, "do not make the outputs of the channel"),
        ("beside", {"proofs.0.local": [[0.5, 0.5], [0.5, 0.5]], "proofs.0.sigma": 0.0}, "exceeds"),
        ("beside", {"problem.rows.0": [0.0, *[1 / 11] * 11], "lower": 0.0}, "are not what the channel is made of"),
        ("window", {"proofs.0.kind": "convex"}, "lacks 's'"),
        ("window", {"proofs.0.steps.0.rows": [9, 3]}, "end before they begin"),
        ("window", {"proofs.0.steps.0.rows": [0, 20], "proofs.0.upper": 0.514, "upper": 0.514}, "not shown to bound"),
        ("monotone", {"problem.mechanism": "symmetric(flip=0.4)", "lower": 0.0}, "implies no order of its rows"),
        ("plain", {"proofs.0.kind": "reference"}, "for an adversary without knowledge only"),
        ("grid", {f"{INSIDE}.kind": "convex"}, "lacks 's'"),
        ("local-values", {"proofs.0.sigma": 0.3, "proofs.0.law": [0.25] * 3}, "is not shown to keep sigma"),
        ("grid", {f"{INSIDE}.kind": "choices"}, "the tree must be a list"),
        ("beside", {"proofs.0.steps": [{"step": "order"}]}, "takes no steps"),
        ("local", {"proofs.0.steps": []}, "of this form takes no steps"),
        ("monotone_numbers", {"proofs.0.steps": []}, "implies no order of its rows"),
        ("monotone", {"proofs.0.steps": [{"step": "order"}]}, "the step lacks 'rows'"),
        ("grid", {f"{INSIDE}.groups": [0, 0, 0]}, "one output each"),
        ("local", {"proofs.0.eta": 1.0}, "exceeds claimed"),
        ("local-values", {"proofs.0.eta": 0.9}, "exceeds claimed"),
        ("local-values", {"proofs.0.sigma": 0.9, "proofs.0.law": [0.25] * 3}, "is not shown to keep sigma"),
        ("local-bellman", {"proofs.0.s": 0.0}, "s must be above 0"),
        ("local-bellman", {"proofs.0.lines.1": []}, "stage 1 has no line"),
        ("local-bellman", {"proofs.0.nodes.1": 0.0}, "must ascend from 0 to 1"),
        ("local-bellman", {"proofs.0.lines.0.3": [-9.0, -9.0]}, "line 3 of stage 0 is below"),
        ("local-bellman", {"proofs.0.lines.1": [[-9.0, -9.0]]}, "is above those that follow"),
        ("monotone", {"proofs.0.s": 0.0}, "s must be above 0"),
        ("monotone_numbers", {"proofs.0.steps.0.rows": [1, 1, 0, 3]}, "names a row twice"),
        ("monotone_numbers", {"proofs.0.steps.0.rows": [0, 1, 2, 3]}, "the likelihood ratio"),
        ("power", {"proofs.0.s1": 15.9}, "not shown to lie between its two variances"),
    ],
)  # fmt: skip
def test_a_damaged_proof_is_refused(name: str, changes: dict[str, object], words: str) -> None:
    assert words in reason(name, changes)


@pytest.mark.parametrize(
    ("name", "tree", "cut"),
    [
        ("choices", "proofs.0.tree", [0, 0, 5.0]),
    ],
)
def test_a_part_of_a_tree_that_holds_no_prior_needs_no_bound(name: str, tree: str, cut: list[float]) -> None:
    part: Any = golden(name)
    for key in tree.split("."):
        part = part[int(key) if key.isdigit() else key]
    # Beyond 5 there is nothing.
    assert verify_here(damaged(name, {tree: [cut, *part, {}], "upper": 0.7, "proofs.0.upper": 0.7})).verified


def test_a_tree_that_is_too_deep_is_refused() -> None:
    assert "the tree is too deep" in reason("simplices", {}, sizes={"waiting": 2})


def test_a_secant_of_one_point_is_the_tangent_there() -> None:
    slope, start = convex.secant(0.5, 0.5)
    assert (slope * arb("0.5") + start).overlaps(arb("0.5") * arb("0.5").log())
    low, high = convex.secant(0.0, 0.0)
    assert low == high == 0


def test_ratios_are_rounded_outward_where_floats_end() -> None:
    wide = arb("0.5", "0.25")
    assert cuts._end(wide, 0) <= 0.25
    assert cuts._end(wide, 1) >= 0.75
    assert cuts._end(arb("1e-320"), 0) == 0.0
    assert cuts._end(arb("1e-320"), 1) == cuts.LEAST
    assert cuts._quotient(0.0, 0.0, 7.0) == 7.0
    assert cuts._quotient(math.inf, math.inf, 7.0) == 7.0
    shared = arb(1) / 3
    assert list(map(list, cuts._columns([[shared, shared]], 0))) == [[1 / 3], [1 / 3]]


def test_a_row_without_a_leaf_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posteriors.Tree, "bounds", lambda *_: iter(()))
    assert "row 0 has no leaf that is not empty" in reason("rows", {})


def test_lines_that_are_no_numbers_are_below_nothing() -> None:
    lines = [(arb(2), arb(0)), (arb(0), arb(2))], [-2.0, 0.0]
    assert bellman._below(*lines, arb(1), arb("0.9"))
    for low, high in ((arb(1), arb("1.1")), (arb(3), arb(0)), (arb.nan(), arb(0))):
        assert not bellman._below(*lines, low, high)


def test_a_value_without_mass_adds_nothing_to_a_product() -> None:
    response = [[arb("0.7"), arb("0.3")], [arb("0.3"), arb("0.7")]]
    half = [arb(1) / 2] * 2
    bound = product.product_bound(response, [arb(1), arb(0)], half, knowledge=arb(0), sigma=arb(0), lam=arb(1))
    told = arb("0.7") * arb("1.4").log() + arb("0.3") * arb("0.6").log()
    assert bound.overlaps(told)


def test_a_least_value_that_few_bits_do_not_show_is_refused() -> None:
    half, beta = [arb(1) / 2, arb(1) / 2], (1 + arb(2) / 400).log()
    assert power._least(400, half, beta, arb(200), "it").is_finite()
    with precision(8), pytest.raises(Refused, match="is not found"):
        power._least(400, half, beta, arb(200), "it")


def test_rows_that_hardly_meet_have_a_least_point() -> None:
    assert abs(_log_odds([(0.9, 0.2), (0.1, 0.8)], steps=1)) < 700
    # A square that is not above 0 in floats.
    assert abs(_log_odds([(1e-200, 1e-200), (0.9, 0.2), (0.1, 0.8)])) < 700


def asked(
    mechanism: str, records: tuple[int, ...] = (0,), reference: Reference = UNIFORM, query: str = "count(n=12)"
) -> Asked:
    channel = rebuild({"query": query, "mechanism": mechanism})
    return Asked(channel, Secret(records), Knowledge(arb("0.2"), none=False, free=False), reference)


def test_values_of_a_group_with_the_same_sum_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    value = chains._value
    monkeypatch.setattr(chains, "_value", lambda *given: seen.append(1) or value(*given))
    question = asked("geometric(epsilon=1)", (0, 1), query="count(n=3)")
    (found,) = chains.bounds(question.question, golden("monotone")["proofs"][0], "it")
    assert found[1].is_finite()
    assert len(seen) == 3


def test_a_table_is_repaired_once_for_all_records() -> None:
    data = golden("monotone_numbers")
    channel, step = rebuild(data["problem"]), data["proofs"][0]["steps"][0]
    first = order.repaired(channel, step["rows"], step["ranks"])
    assert order.repaired(channel, step["rows"], step["ranks"]) is first


@pytest.mark.parametrize(
    ("masses", "parameter", "words"), [((1, 2), 1, "all equally likely"), ((1, 1), None, "any whole")]
)
def test_moved_counts_are_for_noise_and_for_values_that_are_equally_likely(
    masses: tuple[int, int], parameter: int | None, words: str
) -> None:
    channel = SimpleNamespace(masses=masses, noise=SimpleNamespace(parameter=parameter))
    with pytest.raises(Refused, match=words):
        moved.bound(channel, arb(1), {}, "it")


@pytest.mark.parametrize(
    ("records", "secret", "reference", "words"),
    [
        ([2, 2], Secret((0, 1)), UNIFORM, "about one record"),
        ([4], Secret((0,)), UNIFORM, "two records or more, all of them bits"),
        ([2, 2], Secret((0,)), Product(((0.5, 0.5), (0.4, 0.6))), "independent records of one law"),
        ([2, 2], Secret((0,)), Product(((1.0, 0.0),)), "a probability above 0"),
    ],
)
def test_a_release_beside_local_randomisers_is_about_one_bit_among_bits_of_one_law(
    records: list[int], secret: Secret, reference: Reference, words: str
) -> None:
    data = golden("beside")
    channel = rebuild({**data["problem"], "records": records})
    question = Asked(channel, secret, Knowledge(arb(0.3), none=False, free=False), reference)
    with pytest.raises(Refused, match=words):
        beside.bound(question, data["proofs"][0], "it")
