"""The quick ways through sums of many records hold what going through every class gives, and damage is refused."""

import copy
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from flint import arb
from kinds import Json
from verdicts import accepted, refused

import dalenius as dl
from dalenius.verifier.forms import counting, sums
from dalenius.verifier.forms.reference import UNIFORM, Product
from dalenius.verifier.forms.secret import Secret
from dalenius.verifier.forms.sums import Large
from dalenius.verifier.kernel.balls import ONE, ZERO
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.steps import points as points_step
from dalenius.verifier.verify import verify_here

pytestmark = pytest.mark.usefixtures("precise")

FREE = Knowledge(arb(100), none=False, free=True)
SKEWED = Product(((0.7, 0.3),))


def asked(mechanism: str, query: str, reference: Product = UNIFORM, records: tuple[int, ...] = (0,)) -> Large:
    channel = sums.rebuild({"query": query, "mechanism": mechanism})
    return sums.ask(channel, Secret(records), reference)


@pytest.mark.parametrize("reference", [UNIFORM, SKEWED, Product(((0.002, 0.998),)), Product(((1 - 1e-9, 1e-9),))])
def test_a_law_near_its_mean_is_a_part_of_the_whole_law(reference: Product) -> None:
    statistic = counting.Sum(5000, (0, 1))
    near, whole = statistic.near(reference, (0,)), statistic.law(reference, (0,))
    assert near is not None
    assert len(near.values) < 0.6 * len(whole)
    for k, x in zip(near.values, near.masses, strict=True):
        assert x.overlaps(whole[k])
        assert float(x.rad() / x.mid()) < 1e-30
    rest = sum((x for k, x in whole.items() if k not in near.values), ZERO)
    assert rest <= near.left < arb(2) ** -200


def test_all_classes_are_gone_through_where_those_near_the_mean_show_nothing() -> None:
    """With a small s what is not seen counts for more than all the rest, although it is some 2^-256."""
    count = dl.queries.count(n=4100)
    data = dl.audit(
        dl.mechanisms.laplace(count, epsilon=0.003), knowledge=2.0, relative=0.15, verify=False
    ).certificate.data
    accepted(data)
    with sized(numbers=4000):  # too many classes, but for those near the mean
        refused(data, "exceeds claimed")


def test_the_only_prior_there_is_has_all_blocks() -> None:
    """A witness of several releases has no groups for blocks of very many classes, but their mass."""
    one = dl.mechanisms.geometric(dl.queries.count(n=9000), epsilon=0.1)
    accepted(dl.audit(dl.compose(one, one), knowledge=0.0, tolerance=1e-4, verify=False).certificate.data)


def test_what_is_left_is_at_most_everything() -> None:
    """Where the law still rises at the border, no ratio bounds the rest."""
    short = counting.binomial(10, ONE / 2, ONE / 2, range(1, 3))
    assert short.left >= 1 - sum(short.masses, ZERO)


@pytest.mark.parametrize(
    ("statistic", "reference"),
    [
        (counting.Sum(counting.LONG, (0, 1)), UNIFORM),
        (counting.Sum(9000, (0, 1), modulus=7), UNIFORM),
        (counting.Sum(9000, (0, 2)), UNIFORM),
        (counting.Sum(9000, (0, 1)), Product(((0.0, 1.0),))),
    ],
)
def test_other_laws_are_had_as_a_whole(statistic: counting.Sum, reference: Product) -> None:
    assert statistic.near(reference, (0,)) is None


def test_a_window_as_wide_as_the_law_is_no_help() -> None:
    """4,200 bits have a standard deviation of 32; 19 of them to either side are less than half, 60 are not."""
    statistic = counting.Sum(4200, (0, 1))
    assert statistic.near(UNIFORM, (0,)) is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "SPREADS", 60)
        assert statistic.near(UNIFORM, (0,)) is None


CASES = [
    ("geometric(epsilon=0.02)", "count(n=5000)", UNIFORM, (0,)),
    ("laplace(epsilon=1)", "count(n=5000)", SKEWED, (0, 1)),
    ("gaussian(sigma=40)", "count(n=5000)", UNIFORM, (0,)),
]


@pytest.mark.parametrize(("mechanism", "query", "reference", "records"), CASES)
def test_the_quick_way_tells_what_all_classes_tell(
    mechanism: str, query: str, reference: Product, records: tuple[int, ...]
) -> None:
    channel = asked(mechanism, query, reference, records)
    assert channel.near_mean.near is not None
    rng = np.random.default_rng(0)
    middle = len(channel.answers) // 2 if reference is UNIFORM else int(0.3 * len(channel.answers))
    near = np.arange(max(1, middle - 60), min(len(channel.answers), middle + 60))
    starts = [0, *sorted(rng.choice(near, 4, replace=False).tolist())]
    places = np.arange(channel.answers[near[0]], channel.answers[near[-1]])
    cuts = sorted(rng.choice(places, 5, replace=False).tolist())
    quick, slow = (sums._reference(way, starts) for way in (channel.near_mean, channel))
    for a, b in zip(quick, slow, strict=True):
        assert all(a[block].overlaps(b[block]) for block in a)
        assert a.keys() == b.keys()
    density = [{b: arb(x) for b, x in enumerate(rng.random(len(starts)))} for _ in channel.values]
    told = [sums._information(way, density, starts, cuts) for way in (channel.near_mean, channel)]
    assert told[0].overlaps(told[1])
    assert abs(float(told[0] - told[1])) < 1e-18
    for order in (1.5, 20.0):
        bounds = [sums._sibson(way, arb(0.2), order) for way in (channel.near_mean, channel)]
        assert abs(float(bounds[0] - bounds[1])) < 1e-12


RARE, OFTEN = Product(((0.9999, 0.0001),)), Product(((0.0001, 0.9999),))


@pytest.mark.parametrize("records", [(0,), (0, 1)])
@pytest.mark.parametrize("reference", [UNIFORM, SKEWED, RARE, OFTEN])
@pytest.mark.parametrize("order", [1.04, 1.5, 20.0])
def test_blends_near_the_mean_hold_those_of_all_classes(
    order: float, reference: Product, records: tuple[int, ...]
) -> None:
    channel = asked("geometric(epsilon=1)", "count(n=5000)", reference, records)
    quick, whole = (sums._ratios(way, ONE / (arb(order) - 1)) for way in (channel.near_mean, channel))
    assert quick is not None
    assert whole is not None
    for a, x in whole.items():
        assert quick[a] > x * (1 - arb(2) ** -100)
        assert abs(float(quick[a] / x - 1)) < 1e-12


def test_a_sum_whose_answers_are_far_apart_needs_no_room_where_nothing_is_cut() -> None:
    """As many numbers as the range has would be 2^41 of them."""
    channel = asked("gaussian(sigma=3)", f"total(n=2, values=[0, {2**40}])")
    assert sums._information(channel, [{0: ONE}, {0: ONE}], [0], []).overlaps(ZERO)


def test_likely_outputs_that_are_very_many_are_refused_before_they_are_listed() -> None:
    channel = asked("gaussian(sigma=10000000)", "count(n=100000000)")
    with pytest.raises(Refused, match="every likely output of the sum takes more than"):
        sums.rows(channel)


def test_answers_beyond_points_are_counted_without_a_list_of_them() -> None:
    """A list of a hundred million answers would take gigabytes; for answers that repeat themselves it takes one."""
    channel = asked("geometric(epsilon=1)", "count(n=100000000)", Product(((1 - 1e-6, 1e-6),)))
    known = Knowledge(arb(0.2), none=False, free=False)
    steps = [{"step": "points", "first": 0, "every": 1, "beyond": 1e-9}]
    proof = {"kind": "monotone", "steps": steps, "rho": [0.0] * 400, "s": 1.0, "rounds": 0}
    many = points_step.bound(sums.noisy(channel.near_mean, known, "it"), known.most, proof, "it")
    told = {"kind": "monotone", "steps": [steps[0] | {"told": "secret"}], "rho": [0.0] * 400, "s": 1.0, "rounds": 0}
    few = points_step.bound(sums.noisy(channel.near_mean, known, "it"), known.most, told, "it")
    assert few.is_finite()
    assert many > few - arb(2) ** -60


def test_a_blend_whose_terms_do_not_fall_beyond_the_classes_is_left_to_all_of_them() -> None:
    channel = asked("geometric(epsilon=1)", "count(n=5000)", SKEWED)
    assert sums._ratios(channel.near_mean, arb(2000)) is None
    known = Knowledge(arb(0.2), none=False, free=False)
    assert sums._blend(channel, known, {"order": 1.0005, "share": 1.0}, "the proof").is_finite()
    anew = asked("geometric(epsilon=1)", "count(n=5000)", SKEWED)
    with sized(numbers=4998), pytest.raises(Refused, match="takes more than 4998"):
        sums._blend(anew, known, {"order": 1.0005, "share": 1.0}, "the proof")


@pytest.mark.parametrize("mechanism", ["geometric(epsilon=0.5)", "gaussian(sigma=40)"])
@pytest.mark.parametrize("reference", [UNIFORM, SKEWED, RARE])
def test_rows_with_far_outputs_put_together_are_sums_of_rows(mechanism: str, reference: Product) -> None:
    channel = asked(mechanism, "count(n=5000)", reference)
    whole, nothing = sums.rows(channel)
    with sized(joint=5000):
        near, far = sums.rows(channel)
    assert nothing.is_zero()
    assert 0 < far < arb(2) ** -60
    for row, short in zip(whole, near, strict=True):
        assert len(short) < len(row) == 5001
        assert all(p >= 0 or p.overlaps(ZERO) for p in short)
        assert abs(float(sum(short, ZERO) - 1)) < 1e-15
        heaviest = max(range(len(row)), key=lambda y: float(row[y]))
        place = max(range(len(short)), key=lambda y: float(short[y]))
        for step in range(-min(place, 20) + 1, 20):
            assert short[place + step].overlaps(row[heaviest + step])


def test_what_is_too_long_to_recount_is_asked_near_the_mean_alone() -> None:
    channel = sums.rebuild({"query": "count(n=5000)", "mechanism": "geometric(epsilon=1)"})
    with sized(numbers=4998):
        asked_near = sums.ask(channel, Secret((0,)), UNIFORM)
        witness = {"record": 0, "blocks": [0, 4990], "masses": [[0.5, 1e-9], [0.0, 0.5]], "cuts": [4000]}
        with pytest.raises(Refused, match="the law of the sum takes more than 4998"):
            sums.check_witness(witness, asked_near, FREE, 0.1)
        with pytest.raises(Refused, match="takes more than 4998"):
            sums.ask(channel, Secret((0,)), Product(((0.0, 1.0),)))


def test_a_prior_far_out_is_looked_at_with_all_classes() -> None:
    """Near the mean there is nothing of its block: the quick way refuses, the other does not."""
    channel = asked("geometric(epsilon=1)", "count(n=5000)")
    assert channel.near_mean.near is not None
    masses = [[0.5, 1e-9], [0.0, 0.5]]
    witness = {"record": 0, "blocks": [0, 4990], "masses": masses, "cuts": [4000]}
    starts = [0, 4990]
    with pytest.raises(Refused, match="no dataset of positive reference"):
        sums.masses(masses, 2, sums._reference(channel.near_mean, starts), "the witness")
    sums.check_witness(witness, channel, FREE, 0.69)
    with pytest.raises(Refused, match="the witness leaks"):
        sums.check_witness(witness, channel, FREE, math.log(2))


NONE = Knowledge(ZERO, none=True, free=False)
ENDS = [
    ("geometric(epsilon=8)", UNIFORM, (0,), ()),
    ("gaussian(sigma=0.3)", UNIFORM, (0,), ()),
    ("laplace(epsilon=8)", SKEWED, (0, 1), ()),
    ("geometric(epsilon=8)", UNIFORM, (0, 1), (0, 1, 1, 0)),
    # Where only the rarer of two values with one label is seen, the other has more.
    ("geometric(epsilon=8)", Product(((0.99, 0.01),)), (0, 1), (0, 1, 1, 0)),
]


@pytest.fixture(params=ENDS)
def nearer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], list[Large]]:
    """A count of so many records with this many standard deviations of its law, and with all of it."""
    mechanism, reference, records, labels = request.param
    monkeypatch.setattr(counting, "LONG", 1)

    def both(n: int, spreads: int) -> list[Large]:
        monkeypatch.setattr(counting, "SPREADS", spreads)
        channel = replace(asked(mechanism, f"count(n={n})", reference, records), labels=labels)
        assert channel.near_mean.near is not None
        return [channel.near_mean, channel]

    return both


def test_what_is_not_seen_counts_wherever_it_is(nearer: Callable[[int, int], list[Large]]) -> None:
    """With one standard deviation a part of the law is not seen, and balls that leave it out do not hold the truth.

    Blocks begin where classes begin or end to be seen, which depends on the secret.
    """
    ways = nearer(200, 1)
    seen, rng = ways[0].seen, np.random.default_rng(0)
    assert ways[0].left > 1e-3
    places = [end + d for end in (seen.start, seen.stop) for d in (-2, -1, 0, 1, 2)]
    cuts = [seen.start, seen.stop - 1]
    for _ in range(20):
        starts = [0, *sorted(rng.choice(places, 4, replace=False).tolist())]
        known, truth = (sums._reference(way, starts) for way in ways)
        masses = [[rng.random() if b in law else 0.0 for b in range(len(starts))] for law in known]
        for some, whole in zip(known, truth, strict=True):
            assert all(some[b].overlaps(whole[b]) for b in some)
        told = [sums._information(way, sums.density(way, masses, FREE, starts), starts, cuts) for way in ways]
        assert told[0].overlaps(told[1])


def test_the_reference_is_not_what_is_seen_of_it(nearer: Callable[[int, int], list[Large]]) -> None:
    """Who knows nothing holds all of it: what is left of it would tell something by its mass alone."""
    ways = nearer(2000, 8)
    seen, told = ways[0].seen, []
    starts, cuts = [0, seen.start, seen.stop], [seen.start, seen.stop - 1]
    for way in ways:
        rho = sums._reference(way, starts)
        masses = [[float(law.get(b, ZERO)) for b in range(3)] for law in rho]
        told.append(sums._information(way, sums.density(way, masses, NONE, starts), starts, cuts))
    assert told[0].overlaps(told[1])
    assert told[0].rad() < 1e-8


@pytest.fixture(scope="module")
def points() -> Json:
    audit = dl.audit(
        dl.mechanisms.geometric(dl.queries.count(n=5000), epsilon=0.05), knowledge=0.3, relative=0.1, verify=False
    )
    assert audit.upper_by == "monotone"
    return audit.certificate.data


def test_points_on_a_law_near_its_mean_are_verified_and_less_is_refused(points: Json) -> None:
    assert verify_here(points).verified
    proof = points["proofs"][0]
    assert proof["steps"][0]["beyond"] > 0
    for key, value, words in (("upper", 0.99 * proof["upper"], "exceeds claimed"), ("beyond", 0.0, "leaves them")):
        forged = copy.deepcopy(points)
        place = forged["proofs"][0] if key == "upper" else forged["proofs"][0]["steps"][0]
        place[key] = value
        refused(forged, words)


def test_the_secret_told_costs_no_more_than_every_answer_told(points: Json) -> None:
    """Beyond the points the values of the secret count, where the proof says so; else all answers that may be there."""
    channel = asked("geometric(epsilon=0.05)", "count(n=5000)")
    proof, knowledge = points["proofs"][0], Knowledge(arb(0.3), none=False, free=False)
    given = sums.noisy(channel, knowledge, "it")
    more = replace(given, laws=[(p / 500, name) for p, name in given.laws for _ in range(500)])
    few, many = (points_step.bound(way, arb(0.3), proof, "it") for way in (given, more))
    assert few < many
    (step,) = proof["steps"]
    assert step["told"] == "secret"
    silent = {**proof, "steps": [{key: value for key, value in step.items() if key != "told"}]}
    assert few < points_step.bound(given, arb(0.3), silent, "it")
    with pytest.raises(Refused, match="'told' must be"):
        points_step.bound(given, arb(0.3), {**proof, "steps": [{**step, "told": "answer"}]}, "it")


IN_WINDOW: Json = {"step": "window", "rows": [2450, 2550], "outputs": [2440, 2560]}


def test_a_window_near_the_mean_holds_no_less_than_one_of_all_classes() -> None:
    channel = asked("geometric(epsilon=1)", "count(n=5000)", UNIFORM, (0,))
    assert channel.near_mean.near is not None
    whole, quick = (sums.in_window(each, FREE, IN_WINDOW) for each in (channel, channel.near_mean))
    assert quick.raised and not whole.raised  # noqa: PT018 - one is the other's question with more mass
    for cells, others in zip(whole.cells, quick.cells, strict=True):
        assert list(cells) == list(others)
        *inside, far = cells
        assert all(cells[k].overlaps(others[k]) for k in inside)
        assert not others[far] < cells[far]
    assert all(sum(row, ZERO).overlaps(ONE) for row in whole.channel.rows)
    with sized(numbers=100), pytest.raises(Refused, match="the window takes more than 100 numbers"):
        sums.in_window(channel, FREE, IN_WINDOW)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"upper": 0.6}, "exceeds claimed"),
        ({"kind": "looks"}, "a sum takes the step 'window'"),
        ({"kind": ["trivial"]}, "a sum takes the step 'window'"),
        ({"steps": [{**IN_WINDOW, "step": "grid"}]}, "a sum takes the step 'window'"),
        ({"steps": [IN_WINDOW, IN_WINDOW]}, "where 1 are needed"),
        ({"steps": [{**IN_WINDOW, "rows": [0, 5001]}]}, "'rows' of a window"),
    ],
)
def test_a_proof_in_a_window_is_checked_by_its_kind(change: Json, words: str) -> None:
    channel = asked("geometric(epsilon=1)", "count(n=5000)", UNIFORM, (0,))
    proof = {"steps": [IN_WINDOW], "kind": "trivial", "upper": 0.7, **change}
    if not words:
        assert sums.check_proof(channel, FREE, proof, "it") == 0.7
        return
    with pytest.raises(Refused, match=words):
        sums.check_proof(channel, FREE, proof, "it")


def test_a_mass_that_may_be_below_zero_leaves_no_bound_by_an_order() -> None:
    """Its power is no number, which no comparison of a sum of positive terms may leave out."""
    near = counting.Near(range(2), [arb(0.5, 0.6), arb(2) ** -101], ZERO)
    one = replace(asked("geometric(epsilon=1)", "count(n=2)"), near=near)
    assert not sums._sibson(one, arb(0.1), 2.0).is_finite()


def test_laws_are_kept_only_where_all_records_have_one() -> None:
    """Of many records with laws of their own they would take more memory than the rest of a check."""
    statistic = counting.Sum(3, (0, 1, 2))
    for i in range(3):
        statistic.law(Product(((0.5, 0.25, 0.25), (0.25, 0.5, 0.25), (0.25, 0.25, 0.5))), (i,))
    assert not statistic.laws
    assert statistic.law(UNIFORM, (0,)) is statistic.law(UNIFORM, (1,))


@pytest.mark.parametrize("mechanism", [dl.mechanisms.geometric, dl.mechanisms.laplace])
@pytest.mark.parametrize("query", [dl.queries.count(n=400), dl.queries.total(n=60, values=[0, 1, 7, 1000])])
def test_noise_that_hardly_ever_occurs_is_noise(mechanism: Callable[..., dl.Mechanism], query: dl.Query) -> None:
    """Rates whose exponentials are no numbers, far from any answer's own output."""
    accepted(dl.audit(mechanism(query, epsilon=1e200), knowledge=0.4, time_limit=0.5, verify=False).certificate.data)
