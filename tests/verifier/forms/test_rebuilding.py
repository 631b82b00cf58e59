"""Descriptions of channels that are refused, and rare ones that are rebuilt, straight from the description."""

from fractions import Fraction
from itertools import permutations

import pytest
from flint import arb
from kinds import Json

from dalenius.verifier.forms import counting, named, offices
from dalenius.verifier.forms.real_records import Density
from dalenius.verifier.forms.written import rebuild
from dalenius.verifier.kernel.balls import precision
from dalenius.verifier.kernel.cells import Recursions
from dalenius.verifier.kernel.limits import sized
from dalenius.verifier.kernel.order import in_order, repaired
from dalenius.verifier.kernel.reading import Refused
from dalenius.verifier.steps import rounding

pytestmark = pytest.mark.usefixtures("precise")


def described(query: str, mechanism: str = "geometric(epsilon=1)") -> dict[str, object]:
    return {"query": query, "mechanism": mechanism}


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (described("count(n="), "is not a call such as"),
        (described("count(3, [], 4)"), "has too many arguments"),
        (described("count()"), "lacks n"),
        (described("count(n=-'3')"), "not a number, text or list"),
        (described(f"count(n=0x{'f' * 5000})"), "has a whole number of more than 1024 bits"),
        (described("count(n=3, m=4)"), "unknown or given twice"),
        (described("count(3, n=4)"), "unknown or given twice"),
        (described("sum(n=3)"), "is none of modular_sum"),
        (described("mean(n=2, low=4, high=0)"), "the mean of the query needs low < high"),
        (described("mean(n=2, low=0, high=4, step=3)"), "a step that divides the range"),
        (described("total(n=2, values=[])"), "must list one integer or more"),
        (described("table(n=1, shape=[4194304, 20])"), "the table of the query takes more"),
        (described("weighted_sum(weights=[])"), "must list one or more"),
        (described("count(n=2)", "unary_encoding(epsilon=1)"), "no table of the whole release"),
        (described("count(n=2)", "gaussian(sigma=1, output='real')"), "no table of finitely many outputs"),
        (described("count(n=2)", "noisy_max(epsilon=1)"), "noisy_max is for histograms"),
        (described("histogram(n=2, k=2)", "noisy_max(epsilon=1, noise='none')"), "noise is 'none'"),
        (described("count(n=2)", "geometric(epsilon=1, clamp=1)"), "clamp is 1; it must be True or False"),
        (described("histogram(n=2, k=2)", "geometric(epsilon=1, clamp=False)"), "for answers that are numbers"),
        (described("count(n=2)", "geometric(epsilon=1, scale=2)"), "scale alone fixes how much noise"),
        (described("count(n=2)", "geometric(epsilon=0)"), "it must be above 0"),
        ({"records": [2, 2], "classes": [0, 1, 1, 2], "statistic": "sum"}, "which describe no channel"),
        ({"records": [2, 2], "samples": {}}, "samples need a query, or records and classes"),
        (
            {"query": "histogram(n=65, k=65)", "mechanism": "constant()"},
            "a histogram of 65 records of 65 values takes more",
        ),
        ({"records": [2, 2], "statistic": "sum", "rows": []}, "only 'histogram' has a name"),
        ({"records": [2, 3], "statistic": "histogram", "rows": []}, "all with the same number of values"),
        ({"records": [2, 2], "statistic": "histogram", "rows": [[1.0]]}, "1 entries where 3 are needed"),
        ({"records": [], "classes": None, "rows": []}, "records of the problem are empty"),
        ({"records": [2], "classes": [0, 0], "rows": [[1.0], [1.0]]}, "belongs to no dataset"),
        ({"records": [2], "classes": None, "rows": [[], []]}, "the rows of the channel are empty"),
        ({"query": 5, "mechanism": "constant()"}, "must be a text of at most"),
        (described("total(n=2, values=[4])", "symmetric(flip=0.1)"), "the query has a single answer"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(problem: dict[str, object], words: str) -> None:
    with pytest.raises(Refused, match=words):
        rebuild(problem)


@pytest.mark.parametrize(
    ("problem", "sizes", "words"),
    [
        (described("histogram(n=2, k=3)"), {"numbers": 20}, "too many to check"),
        (
            described("count(n=3)", "discrete_gaussian(sigma=9)"),
            {"numbers": 10},
            "discrete Gaussian noise of sigma 9 takes more",
        ),
        (described("count(n=9)"), {"numbers": 50}, "too many to check"),
        (
            described("count(n=9)", "randomized_response(epsilon=1)"),
            {"numbers": 2**17},
            "randomized_response takes more",
        ),
        (described("total(n=9, values=[0, 1, 3])"), {"numbers": 20}, "too many to check"),
    ],
)
def test_what_is_too_large_is_refused(problem: dict[str, object], sizes: dict[str, int], words: str) -> None:
    with sized(**sizes), pytest.raises(Refused, match=words):
        rebuild(problem).statistic.shares(0)


def test_laws_of_too_many_records_are_refused() -> None:
    with sized(numbers=4), pytest.raises(Refused, match="the law of the sum takes more"):
        counting.Sum(6, (0, 1)).shares(0)


def test_what_is_too_large_to_list_or_to_recount_is_refused() -> None:
    with pytest.raises(Refused, match="a histogram of 3000000 records of 65 values takes more"):
        named.query("histogram(n=3000000, k=65)", listed=False)
    with sized(numbers=2), pytest.raises(Refused, match="the law of the sum takes more"):
        counting.Sum(9, (0, 1, 3)).law(counting.Product(((0.5, 0.25, 0.25),)), (0,))
    with pytest.raises(Refused, match="needs one row per class"):
        named.query("count(n=2)").answers_on(counting.Table((2, 2), range(4), 4))


def test_values_of_a_group_are_numbered_dataset_by_dataset() -> None:
    assert list(counting.numbered([2, 1, 2], [0])) == [0, 0, 1, 1]


def test_renaming_both_values_turns_the_parity_of_an_odd_number_of_bits() -> None:
    assert counting.relabelled(counting.Sum(3, (0, 1), 2), [1, 0]) == [1, 0]
    assert counting.relabelled(counting.Sum(2, (0, 1), 2), [1, 0]) == [0, 1]


@pytest.mark.parametrize("mechanism", ["geometric(epsilon=1)", "exponential(epsilon=1)"])
def test_a_single_answer_has_one_output(mechanism: str) -> None:
    assert rebuild(described("total(n=2, values=[4])", mechanism)).rows == [[1]]


def test_answers_that_repeat_share_a_row() -> None:
    pairs = rebuild(described("pairs(n=3)", "exponential(epsilon=1)"))
    assert list(pairs.row_of) == [0, 0, 1, 2]
    vectors = rebuild(described("histogram(n=2, k=2)", "symmetric(flip=0.2)"))
    assert [float(row[t]) for t, row in enumerate(vectors.rows)] == pytest.approx([0.8] * 3)


def test_a_law_that_lost_its_digits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = 4
    monkeypatch.setattr(counting, "precision", lambda _: precision(bits))
    law = counting.Product(((0.9, 0.099, 0.001),))
    with pytest.raises(Refused, match="lost its digits"):
        counting.Sum(9, (0, 1, 2)).law(law, ())
    bits = 300
    assert sum(counting.Sum(9, (0, 1, 2)).law(law, ()).values()).contains(1)


def test_a_mean_is_a_sum_of_steps_and_a_weighted_sum_a_table() -> None:
    mean = rebuild(described("mean(n=2, low=0, high=4, step=2)", "geometric(scale=1)"))
    # In steps of (4 - 0) / 2 records / 2: noise of scale 1 is noise of rate 1 in them.
    total = rebuild(described("total(n=2, values=[0, 1, 2])", "geometric(epsilon=1, sensitivity=1)"))
    assert all(x.overlaps(y) for x, y in zip(mean.rows[0], total.rows[0], strict=True))
    weighted = rebuild(described("weighted_sum(weights=[1, 3])"))
    assert [weighted.row_of[t] for t in weighted.statistic.datasets()] == [0, 2, 1, 3]
    assert weighted.outputs == 5


def test_noise_without_clamping_is_clamped_where_nothing_is_lost() -> None:
    free, held = (rebuild(described("count(n=3)", f"geometric(epsilon=1{clamp})")) for clamp in (", clamp=False", ""))
    assert all(x.overlaps(y) for x, y in zip(free.rows[0], held.rows[0], strict=True))
    laplace = rebuild(described("count(n=3)", "laplace(epsilon=1, clamp=False)"))
    assert laplace.outputs == 6  # one more on either side
    assert laplace.lost == 0


def test_rows_of_laplace_noise_are_two_recursions_less_what_is_missing_at_the_answer() -> None:
    channel = rebuild(described("count(n=3)", "laplace(epsilon=1)"))
    vector = [arb(v) for v in (1, -2, 4, 3)]
    found = Recursions(channel.falling, channel.falling.places).times(vector)
    exact = [sum((q * v for q, v in zip(row, vector, strict=True)), arb(0)) for row in channel.rows]
    assert all(x.overlaps(y) for x, y in zip(found, exact, strict=True))


@pytest.mark.parametrize("counts", [(3, 0, 0), (2, 1, 0), (1, 1, 1)])
def test_noisy_max_chooses_as_its_definition_says(counts: tuple[int, ...]) -> None:
    epsilon, best = arb("0.7"), max(counts)
    weights = [(epsilon * c / 2).exp() for c in counts]
    gumbel = offices.gumbel(counts, epsilon)
    assert all(p.overlaps(w / sum(weights)) for p, w in zip(gumbel, weights, strict=True))
    # Permute and flip: every order is as likely, and the first whose coin shows heads is taken.
    heads = [(epsilon * (c - best) / 2).exp() for c in counts]
    chance = [arb(0)] * 3
    for order in permutations(range(3)):
        left = arb(1) / 6
        for v in order:
            chance[v] += left * heads[v]
            left *= 1 - heads[v]
    found = offices.permute_and_flip(counts, epsilon)
    assert all(p.overlaps(q) for p, q in zip(found, chance, strict=True))
    channel = rebuild(described("histogram(n=3, k=3)", "noisy_max(epsilon=0.7, noise='permute_and_flip')"))
    assert channel.outputs == 3


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (described("count(n=2)", "geometric(epsilon=2, sensitivity=2)"), described("count(n=2)"), True),
        (described("count(n=2)", "laplace(scale=1)"), described("count(2)", "laplace(epsilon=1.0, clamp=True)"), True),
        (described("count(n=2)", "laplace(scale=1)"), described("count(n=2)", "laplace(scale=1, clamp=False)"), False),
        (described("count(n=2)", "laplace(scale=1)"), described("count(n=2)", "geometric(scale=1)"), False),
        (described("count(n=2)", "gaussian(sigma=1)"), described("count(n=2)", "gaussian(1, 'real')"), False),
        (described("count(n=2)", "gaussian(sigma=1)"), described("count(n=3)", "gaussian(sigma=1)"), False),
        (described("count(n=2)", "symmetric(flip=0.2)"), described("count(n=2)", "symmetric(0.20)"), True),
        (described("count(n=2)"), {"records": [2, 2], "classes": None, "rows": [[1.0]] * 4}, False),
        ({"query": "count(n=2)", "rows": [[1.0]] * 3}, {"query": "count(2)", "rows": [[1]] * 3}, True),
        ({"query": "count(n=2)", "rows": [[1.0]] * 3}, {"query": "count(2)", "rows": [[2.0]] * 3}, False),
        (described("count(n=2)"), described("count(n=2)", "geometric(epsilon=1"), False),
    ],
)
def test_two_descriptions_are_the_same_where_their_calls_mean_the_same(one: Json, other: Json, *, alike: bool) -> None:
    assert named.same(one, other) == alike
    assert named.same(other, one) == alike


def test_answers_that_fall_along_the_classes_have_no_order_by_name() -> None:
    class Turned(named.Query):
        @property
        def answers(self) -> list[int]:
            return super().answers[::-1]

    count = named.query("count(n=3)")
    turned = Turned(count.name, count.statistic, count.width, count.sensitivity)
    assert named.falling("geometric(epsilon=1)", count) is not None
    assert named.falling("geometric(epsilon=1)", turned) is None


def test_discrete_gaussian_noise_contracts_hardly_less_than_rounded_noise_of_its_variance() -> None:
    asked = named.query("count(n=3)")
    assert named.added("discrete_gaussian(sigma=0.5)", asked).contraction(3, 1) == 1
    noise, rounded = (named.added(f"{family}(sigma=2)", asked) for family in ("discrete_gaussian", "gaussian"))
    for counts in (1, 3):
        kept, of_normal = noise.contraction(3, counts), rounded.contraction(3, counts)
        assert of_normal < kept < of_normal + 0.05
    assert sum((noise.tail(k) - noise.tail(k + 1) for k in range(1, 60)), arb(0)) < 0.5


def joint(rows: list[list[float]]) -> object:
    return rebuild({"records": [len(rows)], "classes": None, "rows": rows})


@pytest.mark.parametrize(
    ("rows", "ranks", "words"),
    [
        ([[0.5, 0.0, 0.0, 0.5], [0.25] * 4], [[0, 0, 1, 1], [0, 1, 0, 1]], "are not independent given the row"),
        ([[0.25] * 4] * 2, [[0, 1, 0, 1], [0, 1, 0, 1]], "leave out a tuple"),
        ([[0.5, 0.5]] * 2, [[0, 1], [0, 1]], "leave out a tuple"),
        ([[0.5, 0.5], [1.0, 0.0]], [[0, 1]], "a probability is not above 0"),
        ([[0.5, 0.5], [0.5, 0.5]], [], "of no part"),
        ([[0.5, 0.5], [0.25, 0.75]], [[0, -1]], "has no rank, but it occurs"),
    ],
)
def test_ranks_that_do_not_fit_are_refused(rows: list[list[float]], ranks: list[list[int]], words: str) -> None:
    channel = joint(rows)
    with pytest.raises(Refused, match=words):
        repaired(channel, list(range(len(channel.rows))), ranks)


# Two runs of a mechanism with these three rows and three outputs, as counts: q(c|t) = 2! / prod c! prod q^c.
RUN = [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.125, 0.25, 0.625]]
PAIRS = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
TWICE = [[q[a] * q[b] * (1 + (a != b)) for a, b in PAIRS] for q in RUN]
RANKS = [list(run) for run in zip(*PAIRS, strict=True)]


def test_runs_of_one_mechanism_are_in_its_order() -> None:
    found = repaired(joint(TWICE), [0, 1, 2], RANKS, [2])
    assert found.lost < 1e-30
    for row, given in zip(found.rows, TWICE, strict=True):
        assert all(x.overlaps(arb(q)) or abs(x - q) < 1e-30 for x, q in zip(row, given, strict=True))


def test_runs_may_be_listed_in_any_order() -> None:
    other = [[b, a][::-1] if k % 2 else [b, a] for k, (a, b) in enumerate(PAIRS)]
    assert repaired(joint(TWICE), [0, 1, 2], [list(run) for run in zip(*other, strict=True)], [2]).lost < 1e-30


@pytest.mark.parametrize(
    ("rows", "ranks", "often", "words"),
    [
        ([TWICE[1], TWICE[0], TWICE[2]], RANKS, [2], "the rows are not monotone"),
        (TWICE, RANKS, None, "leave out a tuple"),  # as if the order of the runs were seen
        (TWICE, RANKS, [1, 1], "leave out a tuple"),
        (TWICE, RANKS, [3], "how often a part runs must be a whole number"),
        (TWICE, RANKS, [1], "the parts run 1 times together, but there are ranks of 2 runs"),
        (TWICE, [*RANKS, RANKS[0]], [3], "leave out a tuple"),
        (TWICE, [[0, 1, 0, 1, 0, 1], [1, 1, 1, 1, 1, 1]], [2], "leave out a tuple"),
    ],
)
def test_runs_that_are_not_those_of_one_mechanism_are_refused(
    rows: list[list[float]], ranks: list[list[int]], often: list[int] | None, words: str
) -> None:
    with pytest.raises(Refused, match=words):
        repaired(joint(rows), [0, 1, 2], ranks, often)


@pytest.mark.parametrize(
    ("rows", "ranks"),
    [
        # One pair's columns in place of another's.
        (TWICE, [[0, 0, 1, 1, 0, 2], [0, 2, 1, 2, 1, 2]]),
        # A pair has the chance of one of its two orders; the last has the rest.
        ([[x / 2 for x in row[:5]] + [1 - sum(row[:5]) / 2] for row in TWICE], RANKS),
    ],
)
def test_columns_merged_wrongly_cost_what_they_hide(rows: list[list[float]], ranks: list[list[int]]) -> None:
    assert repaired(joint(rows), [0, 1, 2], ranks, [2]).lost > 0.1


def test_an_output_that_never_occurs_needs_no_rank() -> None:
    found = repaired(joint([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]]), [0, 1], [[0, 1, -1]])
    assert len(found.rows[0]) == 2
    assert found.lost < 1e-30


def test_noise_too_small_for_full_support_has_no_order() -> None:
    with pytest.raises(Refused, match="monotone rows need noise of full support"):
        in_order(rebuild(described("count(n=2)", "geometric(epsilon=1, sensitivity=5e-324)")))


def test_one_coin_for_the_others_needs_cells_that_no_edge_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = Density((Fraction(0), Fraction(1, 3), Fraction(1)), (Fraction(1, 2), Fraction(1, 2)))
    even = Density((Fraction(0), Fraction(1)), (Fraction(1),))
    with pytest.raises(Refused, match="cells that no edge cuts"):
        rounding.one_coin(cut, 4, 3)
    with sized(numbers=1), pytest.raises(Refused, match="one coin for the other records takes more"):
        rounding.one_coin(even, 4, 9)
    assert 1 <= rounding.one_coin(even, 4, 3) < 2
    monkeypatch.setattr(rounding, "SPARE", -30)  # two bits
    with pytest.raises(Refused, match="cannot be compared"):
        rounding.one_coin(even, 4, 9)
