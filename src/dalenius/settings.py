"""Settings: every number that a search depends on, in one frozen object that is passed down.

Nothing here changes what is proved: a setting decides which bound is tried, how long, and how finely. Each field says
what it is and what was measured to choose its default.
"""

from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any, NamedTuple, Self

from dalenius import shown
from dalenius.errors import InputError, show


@dataclass(frozen=True)
class _Checked:
    """A group of settings: every field is known, of the type of its default, finite and not negative."""

    def __new__(cls, *unnamed: object, **named: object) -> Self:
        """Raise InputError for names that are not fields, and suggest the nearest one."""
        known = [item.name for item in fields(cls)]
        if unnamed:
            message = f"{cls.__name__} takes its fields by name, such as {cls.__name__}({known[0]}=...)"
            raise InputError(message)
        for name in named:
            if name not in known:
                close = get_close_matches(name, known, n=1, cutoff=0.5)
                hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known) or 'none yet'}"
                message = f"{cls.__name__} has no field {name!r}; {hint}"
                raise InputError(message)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Refuse what no search can work with."""
        for item in fields(self):
            _check(type(self).__name__, item, getattr(self, item.name))


def _check(group: str, item: "Field[Any]", value: object) -> None:
    default = item.default if item.default_factory is MISSING else item.default_factory()
    given = f"{group}({item.name}={value!r})"
    if not _alike(value, default):
        message = f"{given}: it must be {_kind(default)}, as the default {default!r}"
        raise InputError(message)
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, (int, float)) and not 0 <= number < float("inf"):
            message = f"{given}: settings are finite and not negative; leave it out for the default"
            raise InputError(message)


def _alike(value: object, default: object) -> bool:
    """Whether a value can stand where the default does; a whole number can stand for any number."""
    if type(default) is tuple and isinstance(value, tuple) and default:
        return all(any(_alike(part, other) for other in default) for part in value)
    if isinstance(default, float):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is type(default) if isinstance(default, (bool, int)) else isinstance(value, type(default))


def _kind(default: object) -> str:
    if isinstance(default, tuple) and default:
        return f"a tuple, each entry {_kind(default[0])}"
    words = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}
    return words.get(type(default), f"dalenius.settings.{type(default).__name__}(...)")


@dataclass(frozen=True, kw_only=True)
class Limits(_Checked):
    """Sizes beyond which a bound or a search is not tried, because a step of it would cost too much."""

    # Cells beyond which passes over the channel in chunks take the place of arrays as large as it.
    many_cells: int = 2**14
    # Cells x outputs up to which simplices, and ascents, go through compiled kernels where the package has them. At
    # 8 x 4 these are 10 to 37 times as fast as NumPy; at 32 x 64 simplices are no faster, at 64 x 64 they are slower.
    # Ascents are faster by 1.2 to 18 times up to 2^14; larger ones would not look at the clock for too long.
    compiled_simplices: int = 2**11
    compiled_ascents: int = 2**14
    # Entries of the channel in a chunk: a chunk stays in the processor's cache.
    chunk_entries: int = 2**17
    # Cells x outputs x starts that an ascent holds at once.
    ascent_entries: int = 4_000_000
    # Seconds that lumping takes for each probability and record: 4 s for randomised response of 12 bits.
    lumping_seconds: float = 2e-8
    # Cells x pairs of groups of outputs up to which their ratios are looked at: a second or so of a verifier's time.
    ratio_entries: int = 2**24
    # Nodes x entries of a node that a batch of simplices or choices holds at once.
    batch_entries: int = 4_000_000
    # Candidate cells that opposite choices are made of; their pairs x outputs; entries of the choices' output laws.
    opposite_candidates: int = 512
    opposite_products: int = 2**26
    opposite_laws: int = 2**18
    # Pairs of a class and an output in a design.
    design_pairs: int = 2**13
    # Datasets x outputs of a joint release in which a local randomiser is looked for: all of them are compared.
    beside_entries: int = 2**22


@dataclass(frozen=True, kw_only=True)
class Ascent(_Checked):
    """Local search for the prior that leaks most: it gives `lower`, and the multiplier that bounds begin from."""

    # Random starts: at most this number, and this number for each cell; a Dirichlet law of one of these spreads each.
    starts: int = 128
    starts_per_cell: int = 4
    spreads: tuple[float, ...] = (0.1, 0.3, 1.0)
    # Share of the reference mixed into a start: a posterior of 0 would stay 0.
    mixed: float = 0.1
    # Rounds at most; rounds after which the worse half of the starts is dropped; starts that are never dropped.
    rounds: int = 400
    culls: tuple[int, ...] = (5, 15, 40)
    survivors: int = 4
    # Gain of a round, in nats, below which the ascent ends.
    still: float = 1e-12
    # Range of the multiplier s; relative accuracy of its equation D = K, in the first rounds and later; rounds for it.
    # `feasible` pays at the end for what the equation is off.
    s_range: tuple[float, float] = (1e-9, 1e12)
    rough_root: float = 1e-6
    root: float = 1e-10
    root_rounds: int = 60
    # Step of log s where Newton's method leaves the bracket, while that is wider than two of them.
    root_stride: float = 2.0
    # Relative slack of D <= K from which the constraint counts as not binding, so that s = 0.
    slack: float = 1e-6
    # Longest extrapolation, in plain steps.
    leap: float = 1e3
    # Knowledge below which the best prior is taken to first order, and the largest s there: beyond it rounding, which s
    # multiplies, costs more than it gains.
    small_knowledge: float = 1e-9
    largest_first_order_s: float = 1e7

    # Very many cells: random starts run on small samples of cells, the best of them on a larger one, then on all cells.
    sampled_cells: int = 2**11
    resampled_cells: int = 2**15
    samples: int = 2
    sample_starts: int = 12
    # Starts that go on to the larger sample, and to all cells.
    sample_survivors: int = 12
    finalists: int = 2
    # Share of the reference mixed into what a sample found; share of a random prior in the start next to the reference.
    sample_mixed: float = 0.02
    flat_start: float = 0.1
    # Rounds on a small sample, on the larger one, on all cells for every finalist, and for the best of them.
    sample_rounds: int = 25
    resample_rounds: int = 20
    finalist_rounds: int = 5
    chunked_rounds: int = 100
    # Gain of a round below which it counts as idle, and idle rounds in a row that are borne.
    chunked_still: float = 1e-10
    patience: int = 2
    # Values that differ by less, absolutely and relatively, belong to the same maximum.
    same_value: tuple[float, float] = (1e-9, 1e-6)
    # Steps that Anderson's extrapolation goes through.
    anderson_depth: int = 6
    # Longest step of log s; the step that may wait for the next posterior; passes over the channel for one s; flattest
    # slope of log D against log s that is believed.
    longest_log_s: float = 1.5
    near_log_s: float = 1e-2
    passes: int = 30
    # Passes for the s of the prior that is returned once the time is over. Rounds that the best start has then where
    # no start has had more than a few: a round that was cut short left a count of 10^5 with .00035 at a limit of 1 s,
    # and it leaks .111.
    late_passes: int = 3
    late_rounds: int = 4
    flattest: float = 0.1

    # The maximum of one row's own problem: random conditionals, and as many corners at most; their Dirichlet spread,
    # how far the other starts stand from the corners, and rounds; rounds after which only so many starts go on. Without
    # that four rows of 455 cells took 20 s, with it one second, for the same maxima.
    row_starts: int = 200
    row_spread: float = 0.2
    row_corner: float = 0.01
    row_rounds: int = 200
    row_first_rounds: int = 10
    row_survivors: int = 32
    # Shares of a choice's cells, by Blahut and Arimoto's iteration: pairs of cells that begin, and rounds.
    opposite_starts: int = 16
    opposite_rounds: int = 100


@dataclass(frozen=True, kw_only=True)
class Trees(_Checked):
    """Branch and bound: batches, splits, and when a tree has stalled."""

    # Nodes that are split in one batch, where memory allows.
    simplex_batch: int = 256
    choice_batch: int = 64
    # Nodes of the choices at most.
    choice_nodes: int = 4000
    # A split stays this share of an edge of a simplex away from its ends.
    simplex_edge: float = 0.25
    # Width below which a box is not split, and the weight of the width where excesses are equal.
    narrow: float = 1e-9
    tie: float = 1e-12
    # The same for edges that the relaxation hardly uses.
    unused_edge: float = 1e-9
    # The numbers of a leaf are rounded to this share of the tolerance.
    digits: float = 0.003
    # How far a child of a simplex starts towards its centre.
    simplex_recentred: float = 0.3
    # Mass from which the relaxation counts as using a cell.
    used: float = 1e-6
    # Accuracy of a node of the choices, as a share of the tolerance.
    choice_accuracy: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Newton(_Checked):
    """Interior-point and Newton steps inside a node."""

    # Share of the way to the boundary that a step may go; tries of a step, each shorter than the last.
    inside: float = 0.9
    tries: int = 6
    # Added to a Hessian everywhere on its diagonal, and along the constant that log r is free to move by.
    ridge: float = 1e-12
    ridge_constant: float = 1e-3

    # Simplices. Rounds; share of what contraction allows that is used on the way, so that the relaxation stays concave.
    simplex_rounds: int = 40
    simplex_share: float = 0.95
    # Starts of the multipliers of m, of s, and of the slack of D <= K.
    simplex_start_mu: float = 0.03
    simplex_start: float = 0.1
    # Complementarity aimed at, as a share of today's: at first; usually; after a step below `simplex_short`; after one
    # above `simplex_long` this times the last; never outside the range.
    simplex_first_centre: float = 0.1
    simplex_centre: float = 0.15
    simplex_short_centre: float = 0.5
    simplex_short: float = 0.3
    simplex_long: float = 0.8
    simplex_long_factor: float = 0.5
    simplex_centre_range: tuple[float, float] = (0.03, 0.5)
    # A relaxation is solved to this share of what is left to the target, but not below the second number.
    simplex_close: float = 0.3
    simplex_least_gap: float = 1e-12
    # A node whose s grows beyond this holds no prior within the knowledge.
    simplex_largest_s: float = 1e9

    # Choices. The maximum is smoothed to s LSE(. / s): s at first, its factor, how many s, Newton steps at each.
    choice_s: float = 0.5
    choice_s_factor: float = 0.3
    choice_smoothings: int = 400
    choice_steps: int = 6
    # Imbalance of r at which the steps at one s end, and the multiple of s by which it shrinks where that is below 1.
    choice_still: float = 1e-3
    choice_still_by_s: float = 100.0
    # Longest change of the scores, in units of s, and of log r.
    choice_longest_score: float = 4.0
    choice_longest_log_r: float = 3.0
    choice_ridge: float = 1e-10
    choice_ridge_constant: float = 1e-2
    # log r, as -x, of outputs that no candidate gives.
    unused_log_r: float = 60.0


@dataclass(frozen=True, kw_only=True)
class ClosedForms(_Checked):
    """Bounds by formula, and the coarse problem that sums of very many records are searched on."""

    # Classes this many nats below the likeliest one: which order they are taken with changes nothing that is printed.
    rare_nats: float = 80.0
    # A contraction above this is not worth a bound of its own.
    least_contraction_used: float = 0.999

    # Share of the time for upper bounds by formula of noise on sums that are never written out: of 10^6 records each
    # takes half a second or more, and 3 s ended without an ascent.
    formula_share: float = 0.4
    # Ascents on the coarse problem of a sum: rounds, and the gain of a round that is not worth another. They start from
    # the reference tilted by shares of the tilt that uses up the knowledge, and from a secret that follows the sum up
    # and down, once in every wave.
    sum_rounds: int = 400
    sum_still: float = 1e-9
    # The share by which further ascents must raise the lower bound, else some in a row end them.
    sum_gain: float = 1e-4
    # The part of a share that is asked for by which a prior stays inside its knowledge and below what it leaks, so that
    # a certificate can state its masses with few digits: 330 kB of ages of 150 become 163.
    digits_share: float = 1e-4
    sum_tilts: tuple[float, ...] = (0.1, 0.5, 1.0)
    sum_waves: tuple[int, ...] = (2, 5, 16, 64)
    steepest_wave: float = 3.0
    # Values of a record or a group of records, where a verifier takes no more; values x classes; and values that are
    # allowed whatever the number of classes. Ages of 200 people, 101 values and 20,001 classes, take a minute with
    # their check.
    sum_values: int = 2**10
    sum_pairs: int = 2**24
    sum_few_values: int = 128
    # Values of the secret x outputs of a sum that are added up one by one where nothing is known: 7 s of checking.
    told_entries: int = 2**18
    # Noisy counts of a histogram that are tried as witnesses; terms of the laws of different counts, which a verifier
    # adds up; pairs of a value and a count, on which a prior is written out.
    witness_counts: int = 2
    # Priors that tie every value to its own count. Turns of tilt and guess: on seven tables of 20 to 2,000 records
    # eight of them came within 1e-3 of what twelve found, four within 4e-3. Whole weights of the guess: around
    # tied_unit, where 128 gained at most 1e-3 more; at most tied_most_weight, as sums of k of them are gone through.
    tied_rounds: int = 8
    tied_unit: int = 24
    tied_most_weight: int = 4000
    # Counts that are added up: standard deviations to either side, and this many above in any case; outputs beyond
    # which the noise has no more than this; products of a count and an output. Rarer outputs take the weight of the
    # next one.
    tied_spreads: float = 12.0
    tied_least: int = 30
    tied_unseen: float = 1e-13
    tied_entries: int = 2**22
    tied_rare: float = 1e-13
    # log x as a sum of exponentials exp(-u x): step of log u, and u x at both ends; they cost 1e-5 together.
    tied_step: float = 0.8
    tied_left: float = 1e-5
    tied_right: float = 16.0
    # Multipliers between which the one that uses all knowledge is found, and the number of bisections; what rounding
    # may reach in the bound, and in a product of transforms, whose least total is the next number.
    tied_s_range: tuple[float, float] = (1e-3, 1e9)
    tied_bisections: int = 60
    # Shares of the others' tilt that are tried, and rounds at each.
    tied_shares: tuple[float, ...] = (1.0, 0.7, 0.4)
    tied_few_rounds: int = 4
    tied_margin: float = 1e-9
    tied_rounding: float = 2e-15
    tied_least_total: float = 1e-11
    # Tables of few people, from above, by a tilt of the own count: multipliers s that are tried, rounds of the tilt at
    # each. Outputs up to order up to which no count is far; else counts rarer than this are, the first that leaves few
    # enough outputs, where count vectors up to order are not too many. With 1e-4 a table of 16 people and 6 cells loses
    # 0.15 % and takes a quarter of the time.
    own_s: tuple[float, ...] = (1.6, 1.3, 1.15, 1.08, 1.04, 1.02, 1.01)
    own_rounds: int = 4
    own_few: int = 2**17
    own_rare: tuple[float, ...] = (1e-5, 1e-4, 1e-3)
    own_outputs: int = 2**20
    own_vectors: int = 2**17
    # Bounds of histograms are searched again with more effort while the gap falls below this share of itself.
    finer_gain: float = 0.99
    # Histograms of more people, from above, by counts moved through the noise: moves of the own count and of the others
    # (0 among them); steps of the search; noise that is not added up; records x values, and products of a count, an
    # output and a move.
    # 1,000 people of 10 values: 0.5738 with 3 own moves, 0.5718 with 8, 0.5702 with others' moves; 0.5699 with 1,500
    # steps.
    moved_own: int = 8
    moved_others: int = 3
    moved_steps: int = 420
    moved_unseen: float = 1e-7
    moved_room: int = 2**17
    moved_terms: int = 2**21
    count_terms: int = 2**22
    count_pairs: int = 2**26

    # The row bound: least s, below which the row problems are nearly free, and the bound is far off.
    row_least_s: float = 1e-3

    # The coarse problem of a sum of very many records: blocks of classes and cuts between outputs at most; products of
    # a class and a cut within the range of the noise, which a verifier adds up; classes at a time.
    coarse_blocks: int = 1024
    coarse_cuts: int = 2048
    coarse_terms: int = 2**23
    coarse_chunk: int = 4096
    # Nats below the likeliest class that are split finely, eight standard deviations; cuts within the reach of the
    # noise: finer ones add nothing.
    coarse_near: float = 32.0
    coarse_fineness: int = 128


@dataclass(frozen=True, kw_only=True)
class Locals(_Checked):
    """Local randomisers of any number of records: closed forms, and the few records that priors are searched on."""

    # Cells and entries of the part of the release that holds the values of a few records. Eight bits are 0.3 % below
    # what 200 counted records leak at most, at epsilon 1 and knowledge 0.5.
    part_cells: int = 256
    part_entries: int = 2**17
    # Records whose number alone is looked at, and entries of that part.
    counted_records: int = 200
    counted_entries: int = 2**18
    # Datasets from which on randomised response with a matrix is audited record by record too: below, trees close.
    least_datasets: int = 32
    # The same where a share of the upper bound is asked for: a formula is quicker than a tree.
    quick_datasets: int = 8
    # Values of a group of records that is the secret.
    group_values: int = 64

    # Bits one after the other: records at most, beyond which the formula is as good; nodes at last. With 120 nodes
    # eight bits at epsilon 1 and knowledge 0.5 are 1e-4 above what more would give, in 0.15 s, and take a verifier a
    # second or two.
    bellman_records: int = 32
    bellman_nodes: int = 120
    # Fewer nodes are taken where a share of the bound is asked for and they come within this part of it.
    bellman_goal: float = 0.95


@dataclass(frozen=True, kw_only=True)
class MonotoneRows(_Checked):
    """At which output laws and multipliers chains of monotone rows are run, and on which points."""

    # Multipliers as multiples of the best prior's; shares of a flat law in its output law. Counts of 10 to 50 close at
    # the first pair; wide noise wants a larger s, and much knowledge a share.
    factors: tuple[float, ...] = (1.0, 1.02, 1.05, 1.1, 1.2)
    shares: tuple[float, ...] = (0.0, 1e-4, 1e-3, 1e-2)
    # Least s. Wide noise has a small one, which costs nothing: count(n=400) with epsilon = .001 has 5e-4.
    least_s: float = 1e-12
    # Cells up to which pairs are left out that cannot close the bracket, as trees follow that are sure to.
    closing_cells: int = 9

    # Sums that are never written out: points for each standard deviation of the answers, and how many of these the
    # points reach to either side, at first. With 16 points count(n=10^5) with rate .0045 loses 0.2 %.
    points_per_spread: float = 16.0
    spreads: float = 9.0
    # Whether the number of values of the secret may bound what an answer between points tells: not that of a
    # real-valued record, whose digits may be tied to the other records.
    counts_values: bool = True
    # The share of the bound that may be lost between points, or beyond them.
    lost: float = 1e-3
    # From which share on, where one is asked for, points are chosen for the verifier's sake; what part of it they may
    # use up. count(n=10^5): 109 points and 99 steps in place of 567 and 278; ages of 150: 69 and 30 in place of 162 and
    # 48.
    least_allowed: float = 0.04
    allowed_goal: float = 0.95
    # Pairs of a secret value and a point at most; points for each value at least.
    point_cells: int = 2**14
    least_points: int = 24
    # Answers of a noisy sum from which on it is audited by its structure, whether or not its rows would fit.
    point_rows: int = 200


@dataclass(frozen=True, kw_only=True)
class Designing(_Checked):
    """Cutting planes, the master problem, and when a design has stalled."""

    # Shares of the tolerance: the gap that local search may leave; the leakage that an audit may leave open, bought
    # with distortion (least distortion); what an audit need not go below (least leakage); the finest gap of an audit.
    search_share: float = 0.3
    slack_share: float = 0.3
    enough_share: float = 0.95
    audit_share: float = 0.05
    # The search and slack shares become this much smaller, once, where a design came out just too wide.
    finer: float = 0.3
    # At most this share of a leakage budget is left unused, so that the audit's gap fits in; where that does not
    # suffice, the slack grows by this factor, and to this multiple of the audit's gap: the next audit has less time,
    # and its gap is some five times as wide (count(4) in 5 s: distortion 0.284, 0.62 with 1.2).
    largest_slack: float = 0.5
    slack_growth: float = 2.0
    slack_per_gap: float = 5.0
    # Shares of the time left: cutting planes before an audit, and each audit of a mechanism mixed with a constant.
    time_share: float = 0.5
    repair_share: float = 0.4
    # Where no audit came within the budget: what is left unused of it by a mixture that its upper bound promises, and
    # the share of the time left for its audit. Count(6) beside a release in 20 s: distortion 0.73, 0.94 for a constant.
    mixing_room: float = 0.2
    mixing_share: float = 0.6
    # Least leakage with more outputs than any of these: the audit of all outputs has this share of the time left. Then
    # mechanisms on at most so many outputs are tried, each searched to this share of the open gap and audited in this
    # share of the time left. Count(24) at D = 1.2, b = 12: with all 25 outputs the audit left 15 % open after 40 s,
    # with seven 0.2 % after 12 s, and these leak 11 % more.
    fewer_outputs: tuple[int, ...] = (5, 7, 9)
    all_outputs_share: float = 0.6
    fewer_finer: float = 0.1
    fewer_share: float = 0.4
    # Seconds for an audit when the time is up: a design without an audit would prove nothing.
    grace: float = 3.0
    # Searches and audits in turn, at most.
    tries: int = 8
    # Room for rounding below a leakage budget, in nats and relative; and what a certificate may state of a mechanism
    # that leaks nothing, in nats.
    rounding_room: float = 1e-10
    no_leakage: float = 1e-9

    # Cutting planes. Random priors from which the first attack begins, and each later one.
    first_starts: int = 64
    starts: int = 24
    # The level step aims at this share of the way from the lower to the upper bound.
    level: float = 0.4
    # Rounds at most; idle rounds in a row that end the search; each of them adds this multiple of `starts`.
    rounds: int = 400
    idle_rounds: int = 3
    idle_starts: int = 3
    # A round that leaves more than this share of the gap, and finds no new prior, is idle.
    progress: float = 0.9
    # Priors in the pool before it is pruned; priors no further apart than this, in sum, are the same one.
    pool: int = 48
    same_prior: float = 1e-7
    # Probabilities of a mechanism below this are set to zero.
    negligible: float = 1e-9
    # A distortion budget this close to the least possible one, relatively, means the least one.
    least_budget: float = 1e-12
    # Halvings of the share of a constant that is mixed in.
    halvings: int = 50

    # The adversary's answer: priors of one record taken in one round; earlier priors to start from.
    priors_taken: int = 6
    warm_starts: int = 40
    # Priors are taken that leak at most this share less than the worst, and differ by more than this, in sum.
    near_worst: float = 0.1
    different: float = 1e-3
    # Rounds of its ascent, and the relative gain below which a start is left.
    ascent_rounds: int = 60
    ascent_still: float = 1e-9
    # Knowledge, in nats, with which no prior leaks noticeably more than the reference: an entropy of log|X| but for
    # rounding.
    no_knowledge: float = 1e-14

    # The master problem: accuracy asked of Clarabel (the lower bound rests on ratios of probabilities, small ones too);
    # largest |log ratio| taken from its multipliers; how far rows of an accepted mechanism may be from summing to one.
    master_accuracy: float = 1e-10
    largest_log_ratio: float = 30.0
    largest_row_error: float = 1e-5
    # Parameters of a mechanism from which the master has an interior-point method of its own: it took 0.03 s where
    # Clarabel took 0.09 for count(10), with 61, and 0.2 where that took 3 for count(24), with 313. Most of its rounds;
    # accuracy; share of the way to the boundary; first slack; gradient, in units of the gap, above which mu waits.
    interior_parameters: int = 40
    interior_rounds: int = 150
    interior_accuracy: float = 1e-9
    interior_inside: float = 0.95
    interior_slack: float = 0.1
    interior_ratio: float = 20.0

    # One record about which nothing is known. Pairs of a value and an output at most: no search is needed, and this
    # many can be verified.
    rate_pairs: int = 2**20
    # Newton rounds; first slack; share of the way to the boundary; largest relative change of the slope in a step.
    rate_rounds: int = 200
    rate_first_slack: float = 0.1
    rate_inside: float = 0.95
    rate_fastest: float = 0.5
    # Slopes that are tried as long as all outputs are used: three or four are enough. Blahut's iteration, which was
    # first from 100 values on, was ahead of this and of Newton's method in one case of 33, by a tenth.
    rate_slopes: int = 10
    # Share of the tolerance that the equations may be off at the end.
    rate_settled: float = 0.01
    # Budgets nearer than this, relatively, to the least distortion ask for an infinite slope; slopes end here, in units
    # of the largest cost.
    rate_least_room: float = 1e-9
    rate_steepest: float = 1e12
    # The first slope is sought between exp(-x) and exp(x), in so many steps, until the budget is missed by this share:
    # from there Newton takes no more rounds than from a slope that is exact, and three steps in place of 16 are enough.
    rate_log_slope: float = 60.0
    rate_halvings: int = 16
    rate_first_miss: float = 1e-2

    # A leakage budget of 0: size of the ratios' logarithms that stand for the limit; priors beyond the number of
    # classes; knowledge, in nats, below which no tilted prior is tried; the first tilt, and how often it is halved.
    independence_step: float = 1e-11
    independence_extra: int = 2
    independence_knowledge: float = 1e-11
    independence_tilt: float = 1.0
    independence_halvings: int = 60


class Turn(NamedTuple):
    """A bound in a plan."""

    # Its name in auditing/portfolio.py.
    bound: str
    # Batches of its first turn, in general and where a batch is cheap.
    batches: int
    if_cheap: int | None = None
    # Whether its turns double.
    doubles: bool = False
    # Batches of a turn, where more, while no tree of the plan is below the bounds of the opening.
    if_none: int = 0


Plan = tuple[Turn, ...]

_CONVEX = Turn("convex", 2, doubles=True)
_ROWS = Turn("rows", 256, doubles=True)


@dataclass(frozen=True, kw_only=True)
class Portfolio(_Checked):
    """Which bounds are tried, in which order, and for how long: a table with a line for each class of problems.

    Trees that suit a class have turns that double; other routes keep a constant turn because they may overtake later.
    The route with the best bound doubles too. Every stage of the opening is tried where its condition holds.
    """

    # The opening, cheapest first, which a plan follows where the bracket is still open.
    opening: tuple[str, ...] = (
        "maximal",
        "choices",
        "stationary",
        "monotone",
        "beside",
        "sibson",
        "capacity",
        "formulas",
        "window",
    )
    # At most `few_cells` cells: simplices are small. Near the knowledge at which contraction closes the gap they bring
    # nothing: count(4) with epsilon = 2.65 at knowledge 0.2375 had no better bound after 435,000 nodes and 15 s.
    few: Plan = (
        Turn("simplices", 8, 32, doubles=True),
        _CONVEX,
        _ROWS,
        Turn("posteriors", 2, if_none=16),
    )
    # The same where a design made the mechanism. Its audit has a small s, where posteriors need fewer, shorter leaves:
    # the design of count(4) at D = 0.5, b = 2 to 1e-3 in 5,400 nodes, 1.7 s and 0.09 MB; by simplices in 40,000 nodes,
    # 6 s and 3.7 MB. Six batches of simplices first close what is small at once: count(2) at knowledge 0.3 in 28 nodes.
    designed: Plan = (
        Turn("simplices", 6),
        Turn("posteriors", 16, doubles=True),
        _CONVEX,
        _ROWS,
    )
    # Trees of posteriors close most brackets before the other bounds are found out to be of use.
    general: Plan = (_ROWS, Turn("posteriors", 64, doubles=True), _CONVEX)
    # Very many cells, and few outputs: the convex bound comes afterwards, unless it promises more.
    many: Plan = (Turn("grid", 8, doubles=True),)

    # Cells up to which simplices come before all else: 18 random 2x2x2 and 3x3 channels took 3.8 times less time.
    few_cells: int = 9
    # Cells up to which a batch of simplices is cheap, and beyond which a node, a matrix over cells, costs too much.
    few_vertices: int = 16
    most_vertices: int = 40
    # Outputs beyond which a Newton step over all of them is too dear.
    most_outputs: int = 400
    # The capacity of very many cells: the share of the time left that it may take, and entries of the channel for each
    # second of it above which it is not begun. Of 2^16 rows of 64 outputs a pass takes .2 s; a limit of 1 s ended with
    # the trivial bound, and without an ascent.
    capacity_share: float = 0.4
    capacity_entries: float = 6e6
    # Windows of a noisy sum: standard deviations of the reference to both sides, and what their outermost rows may have
    # beyond the outputs that are kept. What is far tells the secret: count(n=2800), epsilon .3, has 225 rows and 283
    # outputs in the first. Values of the secret, and cells x outputs.
    window_spreads: tuple[float, ...] = (4.2, 6.0, 9.0)
    window_rest: tuple[float, ...] = (1e-4, 1e-7, 1e-12)
    window_values: int = 4
    window_entries: int = 2**21
    # Boxes of posteriors beyond which there is no tree: its Newton steps would have a matrix of 8 MB.
    most_posteriors: int = 1024
    # Boxes up to which they are few, so that rows are brought to a grid.
    grid_posteriors: int = 256
    # Numbers of a tree of posteriors, leaves x numbers of a leaf, above which it does not grow: 1.6 GB.
    most_tree_numbers: int = 200_000_000

    # Trees of posteriors: outputs up to which they are not put in groups; the share of s that contraction within groups
    # may take; and the tangents, as shares of the tilt from the reference to the best prior. With the last one alone a
    # count of 100 stayed 30 % open, with all four it closes to 1 % in a fifth of the time that single outputs take.
    ungrouped_outputs: int = 12
    grouped_share: float = 0.3
    tangent_tilts: tuple[float, ...] = (1.0, 0.6, 0.3, 0.0)
    # Least s that a tree is planned for, and that it begins with.
    least_s: float = 1e-3
    least_hint: float = 1e-3
    # Outputs whose columns are proportional but for rounding contract at most this much.
    proportional: float = 1e-9
    # The share of the contraction coefficient from which on s lets the convex bound come before trees.
    convex_promise: float = 0.6
    # Share of the gap that a row bound must promise to leave at most, and its share of the tolerance.
    row_promise: float = 0.5
    row_tolerance: float = 0.5
    # Outputs up to which there are trees of rows, and values of the secret from which on: trees of posteriors have a
    # box for every value and output, those of rows for every output. 81 rows of 3 outputs, with three values, took a
    # third longer with rows.
    single_row_outputs: int = 6
    row_values: int = 4

    # Numbers of a tree, nodes x outputs, above which it does not grow: 8,764 nodes of 10,000 outputs each made 790 MB,
    # and took 482 s to check.
    most_numbers: int = 2**23

    # The share of its gap to which a search must come within these batches, else it is slow.
    progress: float = 0.8
    slow_batches: int = 100
    # An audit this close, in nats, may stop once progress is slow.
    nearly: float = 1e-5
    # Ascents from relaxed priors: how many priors, how many rounds, and after which batches.
    relaxed_priors: int = 16
    relaxed_rounds: int = 60
    ascents_every: int = 32
    few_cell_ascents: tuple[int, ...] = (4, 16, 64, 256)

    # Grid rows of the first grid and at most: a leaf of 3000 takes a verifier 25 ms. The share of what the grid adds to
    # which its tree is closed; a finer grid is at least this much finer.
    first_grid_rows: int = 500
    grid_rows: int = 3000
    grid_share: float = 0.25
    grid_step: float = 1.5
    # A grid that adds more than this share of the gap to reach leaves its tree little: the next one is to add no more.
    # Where that is finer by at most this factor, the first record leaves a tree of a few batches at once for it. Half
    # of the records of a 2^16 x 4 matrix were grown on two grids, the second far too fine, at 4 s each.
    grid_part: float = 0.3
    grid_skip: float = 2.0
    grid_doubt: int = 8
    # The row bound on grid rows: the share of the gap to reach that it must promise to leave at most. Votes of 50 for
    # 4, with 88,400 cells, take a second; 110,000 boxes of their posteriors left the bracket 53 % open.
    grid_row_promise: float = 0.5
    # Batches of trees on grid rows after which the convex bound is tried where it promises to be below them.
    grid_batches: int = 16

    # Choices: cells x outputs up to which a few cost less than an ascent, and beyond which they are not searched, in
    # general and where every secret value has one cell, so that there is nothing to choose.
    cheap_choices: int = 2**12
    most_choices: int = 200_000
    most_choices_alone: int = 2**24
    # One record, of which all may be known or nothing: values or outputs up to which one Newton run answers; values x
    # outputs up to which it does so before Ctrl-C is looked after, some 2 ms at most; outputs up to which two rows are
    # gone through in numbers, not in arrays.
    short_values: int = 2**12
    tiny_entries: int = 2**12
    scalar_outputs: int = 16
    # The largest multiplier s where next to nothing is known: it loses less than 1e-12 nats, and one without limit
    # would leave no digits to those who check it.
    short_largest_s: float = 1e12
    # The share of the least knowledge of any choice from which on L(b) may be near L(0), so that choices pay: 64 of
    # them took .2 s a record of 64 rows of 8 outputs, and a tree of posteriors no longer.
    flat_share: float = 0.5
    # Nodes of choices where L(b) is not known to be L(0), and where it may be.
    few_choices: int = 64
    all_choices: int = 4000
    # The tolerance of choices: a share of the audit's, but no finer than rounding lets them be.
    choices_tolerance: float = 0.3
    finest_choices: float = 1e-10
    # Rounds of an ascent from a new best choice.
    choices_rounds: int = 400
    # Ascents of a record over very many cells, each from a new sample.
    chunked_ascents: int = 3

    # Batches, at least, for the brackets of records that are not the worst.
    other_batches: int = 16
    # A formula without rows must be below this times the best bound so far to be worth a coarse audit.
    worth_coarse: float = 1.05

    @property
    def plans(self) -> dict[str, Plan]:
        """The table: a line for every class of problems, and what comes before them."""
        lines = ("few", "designed", "general", "many")
        return {line: getattr(self, line) for line in lines}

    def table(self) -> str:
        """Return the plans as a table of Markdown, as docs/extending.md shows them."""
        lines = ["| class | bounds, in order |", "|---|---|"]
        for line, plan in self.plans.items():
            turns = (
                f"{turn.bound}{'*' if turn.doubles else ''} {turn.batches}"
                + ("" if turn.if_cheap is None else f" ({turn.if_cheap})")
                for turn in plan
            )
            lines.append(f"| {line.replace('_', ' ')} | {', '.join(turns)} |")
        return "\n".join(lines) + "\n"

    @property
    def bounds(self) -> tuple[str, ...]:
        """The name of every bound that is tried."""
        turns = (turn.bound for plan in self.plans.values() for turn in plan)
        return tuple(dict.fromkeys((*self.opening, *turns)))


def only(*names: str) -> Portfolio:
    """Return the portfolio with no bounds but these and the trivial one: `Settings(portfolio=only("posteriors"))`."""
    whole = _with_bounds(names)
    # The lines of the table, each with these bounds alone.
    plans: dict[str, Any] = {
        line: tuple(turn for turn in plan if turn.bound in names) for line, plan in whole.plans.items()
    }
    return replace(whole, opening=tuple(name for name in whole.opening if name in names), **plans)


def without(*names: str) -> Portfolio:
    """Return the portfolio with all bounds but these: `Settings(portfolio=without("rows"))`."""
    return only(*(name for name in _with_bounds(names).bounds if name not in names))


def _with_bounds(names: tuple[str, ...]) -> Portfolio:
    """Return the whole portfolio; refuse names that it does not have."""
    whole = Portfolio()
    for name in names:
        if name not in whole.bounds:
            near = get_close_matches(str(name), whole.bounds, n=1)
            message = f"{name!r} is not a bound of the portfolio, which has {', '.join(whole.bounds)}" + (
                f"; did you mean {near[0]!r}?" if near else ""
            )
            raise InputError(message)
    return whole


@dataclass(frozen=True, kw_only=True)
class Quantising(_Checked):
    """Real outputs through finitely many points: coarse looks before fine ones."""

    # The share of the tolerance that may be lost between the real channel and the finite one.
    loss_share: float = 0.1
    # Losses below it are no help in floats.
    least_loss: float = 1e-10
    # Losses of the first two looks. The first is made where the tolerance asks for more outputs than `few_points`, the
    # second where it asks for more than `most_outputs` of the portfolio.
    first_losses: tuple[float, ...] = (1e-3, 1e-5)
    few_points: int = 64
    # A bracket no wider than this times the loss has been closed.
    closed: float = 1.2


@dataclass(frozen=True, kw_only=True)
class IndependentRecords(_Checked):
    """Audits against an adversary with independent records."""

    # Chance of noise beyond which outputs are put together, where that loses anything: far below every margin.
    hidden: float = 1e-14
    # Outputs around the values of one record, as many as the verifier rebuilds.
    most_outputs: int = 2**15
    # Entries of all channels from one record, one for everything that the others may be: some 5 s of checking.
    most_entries: int = 2**22
    # Rounds of alternating optimisation for all of these channels at once; what is still open is closed one by one.
    rounds: int = 60


@dataclass(frozen=True, kw_only=True)
class RealRecords(_Checked):
    """Real-valued records through whole numbers on grids, coarse before fine."""

    # Numbers of cells of the range of a record. What a grid hides falls with their square: one record with Laplace
    # noise of scale 1 has brackets of width 2e-3 with 32 cells, 2e-4 with 128 and 2e-5 with 512, checked in 2 s.
    cells: tuple[int, ...] = (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
    # Cells that the edges of a density may need; where they need more, cells are cut by edges.
    most_steps: int = 200
    # Grids from this many cells on are halved for the bound from below of a bin, which loses a quarter as much.
    halved: int = 128
    # Cells of the problem on a grid x its outputs: some seconds of an audit, and as much memory as a check may take.
    most_entries: int = 2**22
    # Sums that are never written out: cells of a record, so many over the number of records but within these two. With
    # 50 records 64 and 96 cells are alike; 200 lose more between points with 48 cells than 32 hide.
    unwritten_sum: int = 3200
    unwritten_cells: int = 80
    least_unwritten: int = 32
    # Records up to which Gaussian noise is written out as well: it has no monotone rows on points.
    most_written: int = 50
    # Answers of a sum at most, from below: 1,000 records in 96 cells take some seconds.
    most_answers: int = 10**5
    # Bits of the powers of generating functions by which sums of records that are rounded as one are compared with sums
    # of rounded ones: a second at 200 records and 64 cells, 10 s at the limit.
    most_bits: int = 2**28


@dataclass(frozen=True, kw_only=True)
class Settings(_Checked):
    """How hard, in which order and how finely to search. `Settings()` is what `dl.audit` uses.

    The page on settings lists every field with its default.

    Raises:
        InputError: a field does not exist, or its value is of another type than the default.

    Example:
        >>> dl.Settings(tolerance_share=0.5).tolerance_share
        0.5
    """

    # A search ends at this share of the tolerance that the user gave; the rest is for rounding and margins.
    tolerance_share: float = 0.9
    portfolio: Portfolio = field(default_factory=Portfolio)
    limits: Limits = field(default_factory=Limits)
    ascent: Ascent = field(default_factory=Ascent)
    trees: Trees = field(default_factory=Trees)
    newton: Newton = field(default_factory=Newton)
    closed_forms: ClosedForms = field(default_factory=ClosedForms)
    locals: Locals = field(default_factory=Locals)
    monotone: MonotoneRows = field(default_factory=MonotoneRows)
    designing: Designing = field(default_factory=Designing)
    quantising: Quantising = field(default_factory=Quantising)
    independent: IndependentRecords = field(default_factory=IndependentRecords)
    continuous: RealRecords = field(default_factory=RealRecords)

    def _repr_html_(self) -> str:
        """What differs from the default."""
        rows = [
            (f"{part.name}.{one.name}", str(x), str(usual))
            for part in fields(self)
            for one in (fields(getattr(self, part.name)) if is_dataclass(getattr(self, part.name)) else ())
            if (x := getattr(getattr(self, part.name), one.name))
            != (usual := getattr(getattr(DEFAULT, part.name), one.name))
        ]
        if self.tolerance_share != DEFAULT.tolerance_share:
            rows.append(("tolerance_share", str(self.tolerance_share), str(DEFAULT.tolerance_share)))
        return shown.table(("setting", "value", "default"), rows, "Settings" if rows else "Settings: all as by default")


DEFAULT = Settings()


def checked(settings: object) -> Settings:
    """Return what `settings=` means: None is the default."""
    if settings is None:
        return DEFAULT
    if not isinstance(settings, Settings):
        message = f"settings = {show(settings)} is not a dl.Settings; write dl.Settings(...), or leave it out"
        raise InputError(message)
    return settings
