"""Settings: every number that a search depends on, in one frozen object that is passed down.

Nothing here changes what is proved: a setting decides which bound is tried, how long, and how finely. Each field says
what it is and what was measured to choose its default.
"""

from dataclasses import dataclass, field, fields

from dalenius.errors import InputError


@dataclass(frozen=True)
class _Checked:
    """Numbers of a group of settings are positive and finite, unless the group says otherwise."""

    def __post_init__(self) -> None:
        """Refuse what no search can work with."""
        for item in fields(self):
            _check(type(self).__name__, item.name, getattr(self, item.name))


def _check(group: str, name: str, value: object) -> None:
    if isinstance(value, (int, float)) and not 0 <= value < float("inf"):
        message = f"{group}({name}={value!r}): settings are finite and not negative; leave it out for the default"
        raise InputError(message)


@dataclass(frozen=True, kw_only=True)
class Limits(_Checked):
    """Sizes beyond which a bound or a search is not tried, because a step of it would cost too much."""


@dataclass(frozen=True, kw_only=True)
class Ascent(_Checked):
    """Local search for the prior that leaks most: it gives `lower`, and the multiplier that bounds begin from."""


@dataclass(frozen=True, kw_only=True)
class Trees(_Checked):
    """Branch and bound: batches, splits, and when a tree has stalled."""


@dataclass(frozen=True, kw_only=True)
class Newton(_Checked):
    """Interior-point and Newton steps inside a node."""


@dataclass(frozen=True, kw_only=True)
class ClosedForms(_Checked):
    """Bounds by formula, and the coarse problem that sums of very many records are searched on."""

    # Multipliers s, and orders 1 + s or 1 + 1/s, outside of which no bound was ever best.
    least_s: float = 1e-6
    most_s: float = 100.0
    # Classes this many nats below the likeliest one: which order they are taken with changes nothing that is printed.
    rare_nats: float = 80.0
    # Blocks of rare classes on either side: their largest ratios stand for single ones.
    rare_blocks: int = 200
    # The share of a blend lies between 1 / (1 + e^30) and its complement.
    most_share_log_odds: float = 30.0
    # Where the search for a blend begins: log odds of the share, log(order - 1). One start alone misses the best.
    blend_starts: tuple[tuple[float, float], ...] = ((-1.0, -3.0), (1.0, -3.0), (5.0, -6.0), (1.0, -1.0))
    # A contraction above this is not worth a bound of its own.
    least_contraction_used: float = 0.999
    # Groups of outputs of a law r that is given by steps. Without a limit on knowledge 32 come within 1e-3 of the best
    # law, at knowledge 1 and 10 it takes 128 to come within 2 % and 0.4 %.
    law_groups: int = 128
    # Products of a class and a group, which a verifier adds up in a second or two; fewer groups where they are more.
    law_terms: int = 2**24
    # Rows that stand for all when such an r is chosen; the bound itself is over all rows.
    law_rows: int = 257
    # How near to the best r of those rows is near enough: far below what the steps of r cost.
    law_accuracy: float = 1e-6


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
    # suffice, the slack grows by this factor, and to this multiple of the audit's gap.
    largest_slack: float = 0.5
    slack_growth: float = 2.0
    slack_per_gap: float = 1.2
    # Shares of the time left: cutting planes before an audit, and each audit of a mechanism mixed with a constant.
    time_share: float = 0.5
    repair_share: float = 0.4
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

    # One record about which nothing is known. Pairs of a value and an output at most: no search is needed, and this
    # many can be verified.
    rate_pairs: int = 2**20
    # Newton rounds; first slack; share of the way to the boundary; largest relative change of the slope in a step.
    rate_rounds: int = 200
    rate_first_slack: float = 0.1
    rate_inside: float = 0.95
    rate_fastest: float = 0.5
    # Share of the tolerance that the equations may be off at the end.
    rate_settled: float = 0.01
    # Budgets nearer than this, relatively, to the least distortion ask for an infinite slope; slopes end here.
    rate_least_room: float = 1e-9
    rate_steepest: float = 1e12
    # The first slope is sought between exp(-x) and exp(x), by this number of halvings.
    rate_log_slope: float = 60.0
    rate_halvings: int = 16

    # A leakage budget of 0: size of the ratios' logarithms that stand for the limit; priors beyond the number of
    # classes; knowledge, in nats, below which no tilted prior is tried; the first tilt, and how often it is halved.
    independence_step: float = 1e-11
    independence_extra: int = 2
    independence_knowledge: float = 1e-11
    independence_tilt: float = 1.0
    independence_halvings: int = 60


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How hard, in which order and how finely to search. `Settings()` is what `dl.audit` uses."""

    limits: Limits = field(default_factory=Limits)
    ascent: Ascent = field(default_factory=Ascent)
    trees: Trees = field(default_factory=Trees)
    newton: Newton = field(default_factory=Newton)
    closed_forms: ClosedForms = field(default_factory=ClosedForms)
    designing: Designing = field(default_factory=Designing)


DEFAULT = Settings()
