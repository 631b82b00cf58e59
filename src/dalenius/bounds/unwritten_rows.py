"""Monotone rows for noise on a sum, on points between which answers are mixtures (MATH 4.11).

With noise of rate c an answer f between the points x and x + step has the row

    q_f = A q_x + B q_(x+step) + (1 - A - B) (a law between the points),     A = sinh(c (x + step - f)) / sinh(c step),

B the same from the other side. With 1 - A - B made the same b for all f, L <= (1 - b) L' + b S. L' is about the points
alone, on which the noise is geometric with factor exp(-c step); S is what the answer itself tells at most. Where an
answer is beyond the outermost points, it or the secret is told in full: that is so rare that it costs nothing.

Several releases have the sum of their rates as c; each has noise of its own on every few of the points. With noise
other than geometric and Laplace, every answer between the outermost points is a point.

A verifier repeats every step of the chains at every point. Where a share of the bound is asked for, points are as few,
and the multiplier as large, as the share allows.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalenius.bounds.closed_forms import SumSearch, sibson
from dalenius.bounds.closing import MANY_TERMS, Formula
from dalenius.bounds.monotone import Monotone, MonotoneRows, Scan
from dalenius.bounds.on_points import OnPoints, Place
from dalenius.numerics.information import TINY, logsumexp
from dalenius.numerics.types import Bools, Floats, Ints
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import Lumped
from dalenius.reductions.order import Order
from dalenius.search.ascent import climb
from dalenius.search.deadline import Deadline
from dalenius.settings import Part, Settings


@dataclass(frozen=True, kw_only=True)
class PointRows(Part):
    """On which points of the answers chains of monotone rows are run, where sums are never written out."""

    # Points for each standard deviation of the answers, and how many of these the
    # points reach to either side, at first. With 16 points count(n=10^5) with rate .0045 loses 0.2 %.
    points_per_spread: float = 16.0
    spreads: float = 9.0
    # Whether the number of values of the secret may bound what an answer between points tells: not that of a
    # real-valued record, whose digits may be tied to the other records.
    counts_values: bool = True
    # The share of the bound that may be lost between points, or beyond them.
    lost: float = 1e-3
    # The share of the bound up to which a gap is what points lose, and finer points are tried before all else.
    mended: float = 5e-3
    # From which share on, where one is asked for, points are chosen for the verifier's sake; what part of it they may
    # use up. count(n=10^5): 109 points and 99 steps in place of 567 and 278; ages of 150: 69 and 30 in place of 162 and
    # 48.
    least_allowed: float = 0.04
    allowed_goal: float = 0.95
    # Pairs of a secret value and a point at most; points for each value at least.
    cells: int = 2**14
    least: int = 24
    # Rows of a written channel from which on points are tried before all rows: a verifier has less to repeat.
    rows: int = 200


# What a verifier's chains in doubles may lose, which it does not repeat in balls where steps take long: 3e-10 was seen.
IN_DOUBLES = 1e-8
# Log masses that differ by less, as a share, are the same but for rounding.
SAME = 1e-9


@dataclass(frozen=True)
class PointSearch:
    """Where points are put, and how far chains are run on them."""

    # Points that reach this far, as a share of what they should, will do.
    nearly_as_far: float = 1.02
    # How often points are refined, and to which number at most.
    refinements: int = 4
    most_points: int = 1200
    # The share of the bound to which the chains are run.
    near: float = 1e-3
    # The share of the output law that answers beyond the points have together; how many nats below the rest they are to
    # stay; and by which factor the points reach farther where they do not.
    beyond: float = 1e-5
    beyond_nats: float = 15.0
    farther: float = 1.4
    # Where a share of the upper bound is asked for, this part of it may be lost in each of these ways, and this part is
    # what the chains may leave.
    allowed_lost: float = 0.1
    allowed_near: float = 0.4
    # The same of the gap to reach, after a first look left the bracket open.
    fine_part: float = 0.1
    # Where points are chosen for the verifier's sake: what share of the best prior's leakage on points is found from
    # below, where that is not known yet; how many points there are for a standard deviation, and how far they reach, at
    # first; the share of the output law beyond them, as a part of what may be lost of a bound, and of which at most;
    # and how many nats such answers stay below.
    found_from_below: float = 0.98
    points_per_spread_quick: float = 5.0
    spreads_quick: float = 6.0
    beyond_share: float = 0.01
    beyond_of: float = 1.0
    beyond_nats_quick: float = 7.0
    # Several releases: how long chains are run, and how near; and how many times as many products they may take.
    rounds_dear: int = 250
    products_dear: int = 3
    near_dear: float = 0.1
    # Steps x points x values, which a verifier repeats in ten seconds; and where a share of the bound is asked for.
    # Ages of 200 people, 101 values, have a gap of 11 % with 37 steps and of 2 % with 123.
    chain_work: int = 6 * 10**5
    chain_work_quick: int = 2 * 10**6


SEARCH = PointSearch()


@dataclass(eq=False)
class Points:
    """The problem on points: where they are, and what the reference gives to pairs of a secret value and a point."""

    # The answer of every class, ascending, and the noise on them.
    answers: Ints
    noise: OnPoints
    # (A, classes) the reference, as logarithms.
    log_joint: Floats
    knowledge: float
    settings: Settings
    deadline: Deadline
    # The share of the bound that may be lost, where that is more than the settings allow.
    allowed: float = 0.0
    # The best lower bound, where it was found already; else 0.
    known: float = 0.0
    # The gap to reach, in nats, where what points lose is to be a small part of it; 0 for a first look.
    fine: float = 0.0

    def __post_init__(self) -> None:
        self.log_p = logsumexp(self.log_joint, axis=1)
        self.log_joint = self.log_joint[np.isfinite(self.log_p)]
        self.log_p = self.log_p[np.isfinite(self.log_p)]
        answers, weight = self.answers, np.exp(logsumexp(self.log_joint, axis=0))
        self.mean = float(weight @ answers)
        self.spread = math.sqrt(float(weight @ (answers - self.mean) ** 2))
        self.whole = int(answers[-1] - answers[0])
        self.most = min(SEARCH.most_points, self.settings.of(PointRows).cells // len(self.log_p))

    @cached_property
    def most_of_answer(self) -> tuple[float, float | None]:
        """What an answer tells at most, and the order of Sibson's information that says so; log|A| needs none."""
        trivial = math.log(len(self.log_p)) if self.settings.of(PointRows).counts_values else math.inf
        found = sibson(self.log_joint, self.knowledge)
        return (found.upper, found.data["order"]) if found.upper < trivial else (trivial, None)

    def best(self) -> Formula | None:
        """Refine the points while what they lose is more than a small share of the bound."""
        settings = self.settings.of(PointRows)
        found: Formula | None = None
        reach = settings.spreads * self.spread
        fine = max(1, int(self.spread / settings.points_per_spread), math.ceil(2 * reach / self.most))
        begin = Place(fine, reach)
        if self.coarse or self.noise.beyond:
            per_spread = min(settings.points_per_spread, SEARCH.points_per_spread_quick)
            begin = Place(max(1, int(self.spread / per_spread)), SEARCH.spreads_quick * self.spread)
        place: Place | None = self.noise.first(begin, self.answers)
        for _ in range(SEARCH.refinements):
            if place is None or self.deadline.expired():
                break
            tried, place = self._bound_at(place)
            found = tried if found is None or (tried is not None and tried.upper < found.upper) else found
        return found

    @cached_property
    def coarse(self) -> bool:
        """Whether points are chosen for the verifier's sake. Of a small share nothing is left when they lost theirs."""
        return self.fine == 0 and self.settings.of(PointRows).least_allowed <= self.allowed < 1

    def _share(self, first: float, allowed: float, value: float) -> float:
        """What may be lost in one way: a share of a bound, or a part of the gap to reach."""
        return SEARCH.fine_part * self.fine if self.fine else max(first, self.allowed * allowed) * value

    def _goal(self, value: float) -> float:
        """An upper bound that will do, where a prior on the points leaks so much: the share asked for from below."""
        settings = self.settings.of(PointRows)
        if not self.coarse:
            return math.inf
        lower = self.known if self.known > 0 else SEARCH.found_from_below * value
        return lower * (1 + settings.allowed_goal * self.allowed / (1 - self.allowed))

    @cached_property
    def beyond(self) -> float:
        """The share of the output law that answers beyond the points have; a bound grows by as much."""
        if self.noise.beyond:
            return max(SEARCH.beyond, self.noise.beyond * self.known)
        if self.fine:
            return min(SEARCH.beyond, SEARCH.beyond_share * self.fine)
        most = SEARCH.beyond_share * self.allowed * min(self.known, SEARCH.beyond_of)
        return max(SEARCH.beyond, most) if self.coarse else SEARCH.beyond

    def _bound_at(  # noqa: PLR0911 - points that will not do are seen early
        self, place: Place
    ) -> tuple[Formula | None, Place | None]:
        """The bound on these points, and points that would bring a better one; None where there are none."""
        settings = self.settings.of(MonotoneRows)
        if self.noise.too_many(self._between_ends(place)[1], place, self.most):
            return None, None
        cells, inside, first = self._cells(place)
        pi, s, value = self._climb(cells)
        if s <= settings.least_s:
            return None, None
        outside = int((~inside).sum())
        nats = SEARCH.beyond_nats_quick if self.coarse or self.noise.beyond else SEARCH.beyond_nats
        reach = self.spread * math.sqrt(2 * (self._price(outside) / s + nats)) if outside else 0.0
        if reach > SEARCH.nearly_as_far * place.reach and place.reach < self.whole:
            return None, self.noise.farther(place, min(reach, self.whole), self.most)
        between = self.noise.between(place)
        of_answer, by_order = self.most_of_answer if between > 0 else (0.0, None)
        # What the rows may come to, so that the whole bound is at the goal: more than that is not looked for.
        goal = self._goal(value)
        finer = self.noise.finer(place, len(cells.lumped.channel), self.most)
        if between >= 1:  # in floats
            return None, finer
        enough = (goal - between * of_answer) / (1 - between) - 2 * self.beyond
        if enough <= value and finer is not None:
            return None, finer
        quick, near = self.allowed > 0 and not self.fine, self._share(SEARCH.near, SEARCH.allowed_near, value)
        many = len(cells.lumped.channel)
        most = (SEARCH.chain_work_quick if quick else SEARCH.chain_work) // self.noise.work(cells.size, many, place)
        mirror = self.noise.mirror(many, place) if self.even else None
        scan = Scan(cells, Order(np.arange(many)), self.deadline, max(1, most), mirror, quick)
        scan.factors, scan.shares = self.noise.factors, self.noise.shares
        if self.noise.dear:
            scan.most, scan.quick, near = SEARCH.rounds_dear, False, SEARCH.near_dear * value
            scan.products *= SEARCH.products_dear
        rows = scan.run(pi, s, value, max(near, enough - value) if self.coarse else near)
        if rows is None:
            return None, None
        upper, rare = self._with_outside(rows, inside)
        beyond = self.beyond if outside else 0.0
        # A verifier is told the points, the output law on them, the share of answers beyond, s, and the steps of the
        # chains; whether the secret is told beyond, in place of the answer; and the order of Sibson's information.
        step = {
            "step": "points",
            "first": first,
            "every": place.step,
            **self.noise.stated(many, place),
            "beyond": beyond,
            **({"told": "secret"} if self._tells(outside) else {}),
            **({} if by_order is None else {"order": by_order}),
        }
        log_r = rows.log_r - self.noise.log_orders(many, place)
        data = {"steps": [step], "rho": log_r.tolist(), "s": rows.s, "rounds": rows.rounds}
        whole = (1 - between) * upper + between * of_answer + self.noise.lost(place) * math.log(len(self.log_p))
        tried = Formula("monotone", whole, data, rows.s, doubt=IN_DOUBLES if self.noise.dear else MANY_TERMS)
        share = self._share(self.settings.of(PointRows).lost, SEARCH.allowed_lost, tried.upper)
        # The reference becomes wider, too.
        blurred = between * (of_answer - upper) + upper * (place.step / self.spread) ** 2 / 6
        if rare > share and place.reach < self.whole:
            return tried, self.noise.farther(place, min(SEARCH.farther * place.reach, self.whole), self.most)
        return tried, finer if blurred > share and not tried.upper <= goal < math.inf else None

    @cached_property
    def even(self) -> bool:
        """Whether the mirror image of the reference is the reference."""
        ends = self.answers + self.answers[::-1]
        with np.errstate(invalid="ignore"):
            apart = self.log_joint - self.log_joint[::-1, ::-1]
        alike = (np.abs(apart) <= SAME * (1 + np.abs(self.log_joint))) | np.isnan(apart)
        return bool((ends == ends[0]).all() and alike.all())

    def _price(self, outside: int) -> float:
        """log(N / kappa), what an answer beyond the points may tell: itself, or the secret."""
        return math.log(len(self.log_p) if self._tells(outside) else outside) - math.log(self.beyond)

    def _tells(self, outside: int) -> bool:
        """Whether the values of the secret are fewer than the answers beyond, and are all that it has to tell."""
        return self.settings.of(PointRows).counts_values and len(self.log_p) < outside

    def _cells(self, place: Place) -> tuple[Cells, Bools, int]:
        """The problem on points, which classes have answers between them, and the first point."""
        answers, step = self.answers, place.step
        first, many = self._between_ends(place)
        inside = (answers >= first) & (answers <= first + (many - 1) * step)
        j, offset = np.divmod(answers[inside] - first, step)
        # A / (A + B) by the distance from the point below; sinh(x) = exp(x) (1 - exp(-2x)) / 2, without overflow
        rate = self.noise.rate
        far, near = -np.expm1(-2 * rate * (step - offset)), -np.expm1(-2 * rate * offset)
        left = far / (far + near * np.exp(rate * (2 * offset - step)))
        # In logarithms: masses far out underflow, and a large multiple of knowledge makes them count.
        points = np.full((len(self.log_p), many + 1), -np.inf)
        with np.errstate(divide="ignore"):
            sides = (j, np.log(left)), (j + 1, np.log1p(-left))
        for value, log_law in enumerate(self.log_joint[:, inside]):
            for place_of, log_share in sides:
                np.logaddexp.at(points[value], place_of, log_law + log_share)
        a, row = np.nonzero(np.isfinite(points[:, :many]))
        log_rho = points[a, row]
        channel = self.noise.channel(first, many, place)
        lumped = Lumped(a, channel, log_rho - logsumexp(log_rho), len(points), row)
        return Cells(lumped, self.knowledge, self.settings), inside, first

    def _between_ends(self, place: Place) -> tuple[int, int]:
        """The first point, and how many there are: the last one is among every `apart` of them."""
        wide, low, high = place.step * place.apart, int(self.answers[0]), int(self.answers[-1])
        first = max(low, math.floor(self.mean - place.reach))
        first -= (first - low) % wide if self.noise.on_answers else 0
        gaps = max(1, -(-(min(high, math.ceil(self.mean + place.reach)) - first) // wide))
        # A problem that is its own mirror image has points that are, too.
        unit = wide if self.noise.on_answers else 1
        gaps += self.even and (low + high - gaps * wide - 2 * low) // unit % 2
        if self.even and (low + high - gaps * wide - 2 * low) // unit % 2 == 0:
            first = (low + high - gaps * wide) // 2
        return first, gaps * place.apart + 1

    def _climb(self, cells: Cells) -> tuple[Floats, float, float]:
        """The best prior on the points that ascents from tilts of the reference find, its multiplier, what it leaks."""
        closed = self.settings.of(SumSearch)
        x = cells.lumped.row - float(cells.rho @ cells.lumped.row)
        lean = cells.secret - float(cells.rho @ cells.secret)
        both = x * lean / math.sqrt(max(float(cells.rho @ x**2) * float(cells.rho @ lean**2), TINY))
        tilts = np.array(closed.tilts)[:, None] * math.sqrt(2 * self.knowledge)
        log_pi = cells.log_rho + tilts * both
        starts = np.exp(log_pi - logsumexp(log_pi, axis=1, keepdims=True))
        pi, value, s = climb(cells, starts, self.deadline, closed.rounds, still=closed.still)
        k = int(np.argmax(value))
        return pi[k], float(s[k]), float(value[k])

    def _with_outside(self, rows: Monotone, inside: Bools) -> tuple[float, float]:
        """s LSE_a( log rho(a) + G_a / s ) + s K with answers beyond the points, and what they add."""
        s, outside = rows.s, int((~inside).sum())
        # The bound on points alone has the reference inside as a law of its own.
        near = rows.upper / s - self.knowledge + float(logsumexp(self.log_joint[:, inside]))
        if not outside:
            return s * (near + self.knowledge), 0.0
        near -= math.log1p(-self.beyond) / s
        both = float(np.logaddexp(near, float(logsumexp(self.log_joint[:, ~inside])) + self._price(outside) / s))
        return s * (both + self.knowledge), s * (both - near)
