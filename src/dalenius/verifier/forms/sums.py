"""Noise on a sum of very many records: witnesses on coarse classes, and proofs that need no rows.

The channel is Y = f(x) + noise, clamped to the range of f, with f never falling along the classes t and P(noise >= k)
known for k >= 1. Clamping moves nothing across a cut c inside the range, so P(Y < c | t) = P(noise <= c - 1 - f(t)).

The secret is a group of records, or a function of their values, their labels; all records are independent with one law.
The witness gives masses pi(a,B) to pairs of a secret value, or a label, and a block of neighbouring classes, and is as
the reference inside them: D(pi || rho) is that of the blocks, and with G the group of outputs between two cuts I(A;Y)
>= I(A;G), which is what is computed. Classes with hardly any mass, or that the noise hardly carries across a cut, are
enclosed. Of very many records those near the mean do (`Large.near_mean`): all others have at most `left`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate, pairwise, repeat, takewhile
from operator import mul
from typing import Any

from flint import arb, arb_poly

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, column, log_sum_exp, matrix, xlogx
from dalenius.verifier.kernel.cells import Channel, Knowledge, Question, Shares, attains, held, masses, mutual
from dalenius.verifier.kernel.closing import close
from dalenius.verifier.kernel.limits import largest, tick, ticking
from dalenius.verifier.kernel.proofs import KINDS as IN_CELLS
from dalenius.verifier.kernel.proofs import claimed, shown
from dalenius.verifier.kernel.reading import Refused, ascending, field, fits, mapping, number, numbers, refuse, sequence
from dalenius.verifier.special import power
from dalenius.verifier.steps import points, window

from . import named
from .counting import Near, Sum, people, polynomial, steps
from .reference import UNIFORM, Product, Reference, Weights
from .secret import Secret, by_label, merged

Proof = dict[str, Any]
# Tails of the noise and of the prior that are enclosed.
HIDDEN = arb(2) ** -64
# Steps that a proof may take: one of them.
STEPS = ("window", "points")
# Proofs that take classes near the mean first, and what all others have together.
QUICK = ("sibson", "monotone")
# A class this rare counts as the sum of its terms: no mean of any order could matter.
RARE = arb(2) ** -100
# Beyond this rate hardly anything is left one step away, and exp( rate f ) may be no number.
STEEPEST = 2**64


@dataclass(frozen=True)
class Large:
    """The channel of a noisy sum, one answer per class, in the range low..low+width-1; and what is asked about it."""

    statistic: Sum
    query: named.Query  # with the range of the outputs
    noise: named.Added
    text: str
    records: tuple[int, ...] = (0,)
    reference: Product = UNIFORM
    # Of every value of the records, where the secret is a function of them.
    labels: tuple[int, ...] = ()
    # The law of the sum of the others near its mean, where no more of it is looked at.
    near: Near | None = None

    @cached_property
    def answers(self) -> Sequence[int]:
        return self.query.answers

    @property
    def low(self) -> int:
        return self.query.low

    @property
    def width(self) -> int:
        return self.query.width

    @property
    def lost(self) -> Ball:
        """The chance at most of outputs that were put together: see named.lost."""
        return 2 * self.noise.tail(self.query.cut) if self.query.cut else ZERO

    @cached_property
    def values(self) -> list[tuple[int, Ball]]:
        """For every secret value a, what it contributes to the sum and rho(a)."""
        return self.statistic.group(self.records, self.reference)

    @cached_property
    def held(self) -> list[tuple[int, Ball]]:
        """The same of those with mass: others never occur."""
        return [(c, p) for c, p in self.values if not p.is_zero()]

    @property
    def log_values(self) -> Ball:
        """log|A|, A what the secret may be."""
        return arb(len(self.held)).log()

    @cached_property
    def laws(self) -> dict[int, list[Ball]]:
        """What `_law` has found."""
        return {}

    @cached_property
    def others(self) -> dict[int, Ball]:
        """The law of the sum of the records that are not asked about; near its mean, the rest is `left`."""
        if self.near is not None:
            return dict(zip(self.near.values, self.near.masses, strict=True))
        return self.statistic.law(self.reference, self.records)

    @property
    def left(self) -> Ball:
        """Guarantee: given any value of the secret, what `_law` does not list has at most this chance."""
        return ZERO if self.near is None else self.near.left

    @cached_property
    def seen(self) -> range:
        """The classes that are looked at; where only some are, a class is the sum itself."""
        if self.near is None:
            return range(len(self.answers))
        return range(self.near.values[0], self.near.values[-1] + max(c for c, _ in self.values) + 1)

    @cached_property
    def whole(self) -> range:
        """The classes of which all is seen, whatever the secret is: at both ends of `seen` that depends on it."""
        if self.near is None:
            return self.seen
        added, values, n = [c for c, _ in self.values], self.near.values, self.statistic.n
        # No sum is below 0 or above n.
        first = values[0] + max(added) if values[0] else 0
        return range(first, n + 1 if values[-1] == n - len(self.records) else values[-1] + min(added) + 1)

    @cached_property
    def seen_answers(self) -> Sequence[int]:
        return self.answers[self.seen.start : self.seen.stop]

    @cached_property
    def near_mean(self) -> "Large":
        """The same with classes near the mean only, of very many."""
        near = self.statistic.near(self.reference, self.records)
        return self if near is None else replace(self, near=near)

    def contraction(self) -> Ball:
        """The contraction of the noise where the answer is the sum itself, else 1."""
        if self.query.name == "pairs":
            return ONE
        spread = max(self.statistic.contributions) - min(self.statistic.contributions)
        return self.noise.contraction(self.statistic.n * spread**2, 1)

    def reach(self) -> int:
        """The least k >= 1 with P(noise > k) hidden, or the width if none is less."""
        low, high = 0, self.width
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.noise.tail(middle + 1) <= HIDDEN else (middle, high)
        return high


def rebuild(problem: dict[str, Any]) -> Large:
    """Return the channel of a description by names."""
    if set(problem) != {"query", "mechanism"}:
        refuse("a sum that is not written out is for a mechanism given by its name")
    asked = named.query(problem["query"], listed=False)
    statistic = asked.statistic
    if not isinstance(statistic, Sum) or statistic.modulus is not None:
        refuse(f"the form 'sum' is for noise on sums of records, not for {asked.text}")
    noise = named.added(problem["mechanism"], asked)
    return Large(statistic, noise.widened(asked), noise, f"{people(statistic)}; {asked.text}; {noise.text}")


def ask(channel: Large, secret: Secret, reference: Reference) -> Large:
    """Return the channel with the question about it; all records have one law, so any group is as good as any other."""
    if secret.labels:
        refuse("a witness on blocks of classes is for records, not for functions of them")
    if isinstance(reference, Weights) or not reference.common:
        refuse("a witness on blocks of classes is for the uniform prior or one marginal of all records")
    asked = replace(channel, records=secret.records, reference=reference)
    near = asked.near_mean
    fits((channel.statistic.n if near is asked else len(near.seen)) * secret.size(channel.statistic), channel.text)
    return asked


def check_witness(witness: dict[str, Any], channel: Large, knowledge: Knowledge, lower: float) -> None:
    """Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret."""
    last = channel.low + channel.width - 1
    cuts = ascending(field(witness, "cuts", "the witness"), "cuts of the witness", channel.low + 1, last)
    on_blocks(witness, channel, knowledge, lower, lambda one, shares, starts: _information(one, shares, starts, cuts))


def on_blocks(
    witness: dict[str, Any], channel: Large, knowledge: Knowledge, lower: float, information: Callable[..., Ball]
) -> None:
    """Check a prior by blocks of classes; information: of the channel, the prior's density, and the blocks."""
    starts = ascending(field(witness, "blocks", "the witness"), "blocks of the witness", 0, len(channel.answers) - 1)
    if not starts or starts[0] != 0:
        refuse("the blocks of the witness do not begin with class 0")
    given = field(witness, "masses", "the witness")
    channel = _near(channel, starts, given)
    attains(information(channel, density(channel, given, knowledge, starts), starts), lower)


def _near(channel: Large, starts: list[int], given: object) -> Large:
    """The channel with classes near its mean only, where every block with mass has some of these."""
    quick, size = channel.near_mean, len(starts)
    rows = [numbers(row, size, "masses of the witness", low=0.0) for row in sequence(given, "masses of the witness")]
    blocks = zip(_parts(quick, list(quick.seen), starts), zip(*rows, strict=True), strict=False)
    return quick if all(some or not any(masses) for some, masses in blocks) else channel


def density(channel: Large, given: object, knowledge: Knowledge, starts: list[int]) -> list[Shares]:
    """The prior of a witness over the reference on every block, for every value of the records."""
    reference = _reference(channel, starts)
    prior = held(masses(given, len(starts), reference, "the witness"), reference, knowledge, "the witness")
    if prior is reference:
        # It has mass also where that is not known to be above 0.
        return [dict.fromkeys(range(len(starts)), ONE) for _ in channel.values]
    density = [{b: p / rho[b] for b, p in law.items()} for law, rho in zip(prior, reference, strict=True)]
    return [density[a] for a in channel.labels] or density


def told(channel: Large) -> Ball:
    """Enclose I(A;Y) of the reference itself, every output by itself."""
    found = _information(channel, [{0: ONE} for _ in channel.values], [0], _every_cut(channel))
    return found + arb(0.5, 0.5) * channel.lost * channel.log_values


def rows(channel: Large) -> tuple[list[list[Ball]], Ball]:
    """Enclose P(Y = y | A = a) for every value a of the secret, all else as the reference.

    Of very many outputs those beyond what is likely are put together on either side; they are had at most with the
    chance that is returned as well, whatever a is.
    """
    near, far = channel.near_mean, ZERO
    if near is channel or len(channel.values) * channel.width <= largest().joint:
        near, cuts = channel, _every_cut(channel)
    else:
        reach = near.reach()
        ends = near.seen_answers[0] - reach, near.seen_answers[-1] + reach + 1
        between = range(max(channel.low + 1, ends[0]), min(channel.low + channel.width - 1, ends[1]) + 1)
        fits(len(channel.values) * len(between), "every likely output of the sum")
        cuts = list(between)
        far = near.left + 2 * near.noise.tail(reach + 1)
    chances, found = _Crossed(near, cuts), []
    unknown = near.left * arb(0.5, 0.5)
    for c, _ in near.values:
        tick()
        weights = _law(near, c)
        below = [ZERO, *chances.below(weights), sum(weights, ZERO)]
        found.append([(y - x).nonnegative_part() + unknown for x, y in pairwise(below)])
    return found, far


def _every_cut(channel: Large) -> list[int]:
    fits(len(channel.values) * channel.width, "every output of the sum")
    return list(range(channel.low + 1, channel.low + channel.width))


def check_proof(channel: Large, knowledge: Knowledge, proof: Proof, where: str) -> float:
    """Return the bound that a proof claims, or refuse it.

    Guarantee: I(A;Y) <= result for every prior the adversary may hold, as all records are interchangeable. What outputs
    that were put together may tell beside their sum is added: see named.lost.
    """
    lost = channel.lost * channel.log_values
    kinds = {kind: lambda *given, found=found: found(*given) + lost for kind, found in KINDS.items()}

    def check(channel: Large) -> float:
        if windowed:
            return _claimed_in_window(channel, knowledge, proof, where)
        return claimed(kinds, (channel, knowledge), proof, where)

    windowed = "steps" in proof and proof.get("kind") != "monotone"
    return near_first(channel, check) if windowed or proof.get("kind") in QUICK else check(channel)


def near_first(channel: Large, check: Callable[[Large], float]) -> float:
    """Check by classes near the mean; where these show nothing by all of them, unless they are too many."""
    near = channel.near_mean
    try:
        return check(near)
    except Refused:
        if near is channel or channel.statistic.n > largest().numbers:
            raise
        return check(channel)


def _trivial(channel: Large, *_: object) -> Ball:
    """log|A|, log|Y|, and the log of the number of classes."""
    return channel.log_values.min(arb(min(channel.width, len(channel.answers))).log())


def _claimed_in_window(channel: Large, knowledge: Knowledge, proof: Proof, where: str) -> float:
    """The same of a proof about rows and outputs that matter, by a kind that needs nothing but cells."""
    upper = number(field(proof, "upper", where), f"'upper' of {where}")
    stated = mapping(sequence(proof["steps"], f"the steps of {where}", 1)[0], f"the step of {where}")
    kind = field(proof, "kind", where)
    if stated.get("step") != "window" or not isinstance(kind, str) or kind not in IN_CELLS:
        known = ", ".join(IN_CELLS)
        refuse(f"{where}: a sum takes the step 'window' before one of {known}, or points before monotone rows")
    shown(in_window(channel, knowledge, stated), kind, proof, upper, where)
    return upper


def in_window(channel: Large, knowledge: Knowledge, stated: dict[str, Any]) -> Question:
    """Guarantee: no prior the adversary may hold leaks more than some prior with D <= K over the result's cells.

    See steps/window.py. Classes that are not seen are far, and a mass above theirs serves for them.
    """
    rows, outputs = window.ranges(stated, len(channel.answers), channel.width)
    fits(len(channel.held) * len(rows) * (len(outputs) + len(channel.held)), "the window")
    low, end = channel.low + outputs.start, channel.low + outputs.stop
    first, last = channel.low, channel.low + channel.width - 1
    below = cache(channel.noise.below)
    ends = channel.answers[rows.start], channel.answers[rows.stop - 1]
    far = max(abs(f - y) for f in ends for y in (low, end - 1))
    inside, beyond = channel.noise.masses(1 + far) if first < last else ([ONE], [ONE])

    def entries(row: int) -> tuple[list[Ball], Ball]:
        # Clamping moves nothing across a cut inside the range of the outputs. Each mass is one ball with all its
        # digits: a group of outputs far from the answer has a law of its own. Noise is symmetric.
        f = channel.answers[row]
        law = [(beyond if y in (first, last) else inside)[abs(y - f)] for y in range(low, end)]
        before = ZERO if low == first else below(low - 1 - f)
        return law, before if end > last else before + below(f - end)

    kept, cells = window.revealing(_cells(channel), rows, entries)
    lost = channel.lost * channel.log_values
    return Question(Channel(rows=kept), cells, knowledge, lost, raised=not channel.left.is_zero())


def _at_reference(channel: Large, knowledge: Knowledge, _: Proof, where: str) -> Ball:
    """I(A;Y) of the reference, the only prior of an adversary without knowledge."""
    if not knowledge.none:
        refuse(f"{where}: the leakage of the reference bounds an adversary without knowledge only")
    return told(channel)


def _reference(channel: Large, starts: list[int]) -> list[Shares]:
    """rho(a, block), a being a label where there are labels; blocks that are not known to have mass left out."""
    rest = [ZERO if whole else channel.left * arb(0.5, 0.5) for whole in _inside(channel, starts)]
    sums = {}
    for c in {c for c, _ in channel.values}:
        parts = _parts(channel, _law(channel, c), starts)
        sums[c] = [sum(part, more) for part, more in zip(parts, rest, strict=True)]
    shares = merged([{b: x * p for b, x in enumerate(sums[c])} for c, p in channel.values], channel.labels)
    return [{b: x for b, x in share.items() if x > 0} for share in shares]


def _law(channel: Large, c: int) -> list[Ball]:
    """rho(t|a) of every class t that is seen, a contributing c: P(sum of the others = value - c); ZERO without mass."""
    if c not in channel.laws:
        tick()
        values = channel.statistic.values if channel.near is None else channel.seen
        places = map((-c).__add__, values)
        channel.laws[c] = list(map(channel.others.get, places, repeat(ZERO)))
    return channel.laws[c]


def _parts(channel: Large, law: list[Any], starts: list[int]) -> Iterator[list[Any]]:
    """The classes of each block, of those that are seen."""
    first = channel.seen.start
    ends = [max(0, i - first) for i in (*starts, len(channel.answers))]
    return (law[i:j] for i, j in pairwise(ends))


def _inside(channel: Large, starts: list[int]) -> list[bool]:
    """Whether all of each block is seen."""
    whole, ends = channel.whole, pairwise([*starts, len(channel.answers)])
    return [whole.start <= i and j <= whole.stop for i, j in ends]


def _given(channel: Large) -> Iterator[list[tuple[int, Ball]]]:
    """For every class of which all is seen, a and rho(t|a) of the secret values a that it can hold; never none."""
    others = channel.others
    for value in ticking(channel.statistic.values if channel.near is None else channel.whole):
        listed = [(a, others[value - c]) for a, (c, _) in enumerate(channel.held) if value - c in others]
        if not listed:
            refuse("the reference leaves a class without mass")
        yield listed


def _sibson(channel: Large, knowledge: Ball, order: float) -> Ball:
    """Guarantee: I <= result for every prior with D(pi || rho) <= knowledge.

    For T the class and r any law of classes
        I(A;Y) <= I(A;T) <= sum pi log( pi(t|a) / r(t) ) = sum_a p_a D(w_a || rho_a) + sum pi log( rho(t|a) / r(t) ),
    a majorant with eta = 1 (kernel/closing.py). The best r(t) for s = order / (order - 1) is proportional to
    m(t) = ( sum_a rho(a) rho(t|a)^order )^(1/order), and (C) is then at most s K + s log sum_t m(t), the second part
    of which is Sibson's information of that order [sibson69].

    Where rho(t|a) is tiny for all a, the sum stands for the mean of the order, which it bounds. So it does for what is
    not seen: (x + y)^(1/alpha) is at most the sum of the two powers, y being the part of classes that are not seen.
    """
    if order <= 1:
        refuse("the order must be above 1")
    alpha, others = arb(order), channel.others
    rare = {k for k, x in others.items() if x < RARE}
    # What no value gives often: its x together are at least their mean.
    total = (sum((others[k] for k in rare), ZERO) + channel.left) * len(channel.held)
    powers = {k: (x.log() * alpha).exp() for k, x in ticking(others.items()) if k not in rare}
    step = steps(channel.statistic.contributions)[1]
    # sum_a rho(a) rho(t|a)^alpha of every class t that occurs, as one product of polynomials.
    for x in ticking((polynomial(channel.held, step) * polynomial(powers.items(), step)).coeffs()):
        # What its rounding leaves of a class that does not occur counts with its upper end.
        powered = x if x > 0 else x.upper()
        # What is not a number is not left out, so that the bound is none either.
        if not powered <= 0:
            total += (powered.log() / alpha).exp()
    s = 1 + 1 / (alpha - 1)
    return close([s * total.log()], s, knowledge)


def _cells(channel: Large) -> list[Shares]:
    """rho(a,t) of the values a with mass, at least; what is not seen of a value tells it, by a class of its own."""
    laws = [zip(channel.seen, _law(channel, c), strict=True) for c, _ in channel.held]
    cells = [{t: p * x for t, x in law if not x.is_zero()} for law, (_, p) in zip(laws, channel.held, strict=True)]
    for a, (_, p) in enumerate([] if channel.left.is_zero() else channel.held):
        cells[a][-1 - a] = p * channel.left
    return cells


def _blend(channel: Large, knowledge: Knowledge, proof: Proof, where: str) -> Ball:
    """Guarantee: I <= result for every prior with D(pi || rho) <= knowledge.

    For a share theta, an order nu > 1 and the contraction eta of the noise, 1 always being one,
        G_a = (nu-1) log sum_t rho(t|a) ( rho(t|a) / rho(t) )^(1/(nu-1)),
    and kernel/closing.py closes with theta' = 1 - theta, h = theta G_a and s = eta' = theta nu eta
    (docs/mathematics.md, 4.8, "Blends").
    """
    nu, theta = order_and_share(proof, where)
    power = 1 / (nu - 1)
    sums = _ratios(channel.near_mean, power) or _ratios(channel, power) or {}
    told = [(channel.held[a][1], x.log() / power) for a, x in sorted(sums.items())]
    return blended(told, knowledge.most, nu, theta, channel.contraction())


def _ratios(channel: Large, power: Ball) -> dict[int, Ball] | None:
    """sum_t rho(t|a) ( rho(t|a) / rho(t) )^power of every value a; None where what is not seen is not enclosed."""
    sums: dict[int, Ball] = {}
    ends: list[dict[int, Ball]] = []
    for listed in _given(channel):
        rho = sum((channel.held[a][1] * x for a, x in listed), ZERO)
        terms = {a: x * ((x / rho).log() * power).exp() for a, x in listed}
        ends = [*ends[:1], terms]
        for a, x in terms.items():
            sums[a] = sums.get(a, ZERO) + x
    if channel.near is None:
        return sums
    rests = _beyond_ends(channel, ends[0], ends[-1], power)
    return None if rests is None else {a: x + rests[a] for a, x in sums.items()}


def _beyond_ends(channel: Large, first: dict[int, Ball], last: dict[int, Ball], power: Ball) -> list[Ball] | None:
    """Guarantee: result >= the sum of a blend's terms over classes of a count that are not seen, for every value a.

    With g records in the secret that add c, N = n - g others and j = t - c, the terms are P(j) R(t)^power with

        P(j+1) / P(j) = (N-j) p / ((j+1) q),   R(t+1) / R(t) = (t+1) / (t+1-c) x (n-t-g+c) / (n-t) <= (t+1) / (t+1-c),

    both of which fall with t: beyond the last class the terms fall at least by their product there a step. Below the
    first one it is the same with zeros and ones exchanged. None where the product is not below 1.
    """
    n, g = channel.statistic.n, len(channel.records)
    q, p = channel.statistic.bits(channel.reference)
    low, high = channel.whole[0], channel.whole[-1]
    found = []
    for a, (c, _) in enumerate(channel.held):
        rest = ZERO
        for t, ones, odds, end in ((high, c, p / q, last), (n - low, g - c, q / p, first)):
            if t == n:
                continue
            j = t - ones
            fall = odds * (n - g - j) / (j + 1) * ((arb(t + 1) / (t + 1 - ones)).log() * power).exp()
            if not fall < 1:
                return None
            rest += end[a] * fall / (1 - fall)
        found.append(rest)
    return found


def order_and_share(proof: dict[str, Any], where: str) -> tuple[Ball, Ball]:
    """Return nu and theta of a blend."""
    nu = arb(number(field(proof, "order", where), f"the order of {where}"))
    theta = arb(number(field(proof, "share", where), f"the share of {where}", 0.0, 1.0))
    if not nu > 1:
        refuse(f"{where}: the order must be above 1")
    return nu, theta


def blended(told: Sequence[tuple[Ball, Ball]], knowledge: Ball, nu: Ball, theta: Ball, contraction: Ball) -> Ball:
    """The bound from rho(a) and G_a of every value a with mass: the better of what the contraction gives and of 1."""

    def bound(eta: Ball) -> Ball:
        # Here eta' is s itself.
        lam, share = theta * nu * eta, theta * eta
        return close((lam * p.log() + share * g for p, g in told), lam, knowledge, theta=1 - theta)

    # Anything at least the contraction will do: a ball of a tiny one may reach below 0.
    wide, eta = bound(ONE), contraction.upper()
    narrow = bound(eta) if eta.is_finite() else wide
    return narrow.min(wide) if narrow.is_finite() else wide


def _output_law(channel: Large, knowledge: Knowledge, proof: Proof, where: str) -> Ball:
    """Guarantee: I <= result for every prior with D(pi || rho) <= knowledge.

    For any law r of outputs I(A;Y) <= sum pi D_t, D_t = D(q_t || r), which kernel/closing.py closes with any s >= 0.
    r is constant on the groups of outputs between cuts: r(y) = R_j / |group j|, the R_j being exp(log_r) divided by
    their sum, so that whatever the certificate says r is a law.
    """
    last = channel.low + channel.width - 1
    cuts = ascending(field(proof, "cuts", where), f"cuts of {where}", channel.low + 1, last)
    given = numbers(field(proof, "log_r", where), len(cuts) + 1, f"log_r of {where}")
    s = arb(number(field(proof, "s", where), f"s of {where}", 0.0))
    total = log_sum_exp(map(arb, given))
    sizes = [high - low for low, high in pairwise([channel.low, *cuts, last + 1])]
    density = [x - total - arb(size).log() for x, size in zip(given, sizes, strict=True)]
    divergences = [own - mean for own, mean in zip(_own(channel), _mean(channel, cuts, density), strict=True)]
    if s.is_zero():
        return close(divergences, s, knowledge.most)
    total = ZERO
    for divergence, listed in zip(divergences, _given(channel), strict=True):
        total += sum((channel.held[a][1] * x for a, x in listed), ZERO) * (divergence / s).exp()
    return close([s * total.log()], s, knowledge.most)


def noisy(channel: Large, knowledge: Knowledge, where: str) -> points.Noisy:
    """The answers and their laws, for noise with a log-concave law of full support."""
    if channel.noise.parameter is None:
        refuse(f"{where}: monotone rows on points are for answers with noise")
    ends = min(c for c, _ in channel.values) + max(c for c, _ in channel.values)

    return points.Noisy(
        [(channel.noise.parameter, 1)] if channel.noise.steady else (),
        channel.low,
        channel.low + channel.width - 1,
        channel.answers,
        [(p, c) for c, p in channel.held],
        lambda c, low, high: points.inside(channel.seen_answers, _law(channel, c), low, high),
        lambda order: _sibson(channel, knowledge.most, order),
        {c: ends - c for c, _ in channel.held},
        points.mirror(channel.statistic, channel.answers, channel.reference),
        channel.left,
        None if channel.noise.steady else channel.noise,
    )


def _power(channel: Large, knowledge: Knowledge, proof: Proof, where: str) -> Ball:
    """The bound of special/power.py, for Gaussian or discrete Gaussian noise on a count of bits."""
    statistic, normal = channel.statistic, channel.noise.normal
    count = statistic.contributions == (0, 1) and channel.answers == range(statistic.n + 1)
    if normal is None or not count or len(channel.records) > 1:
        refuse(f"{where}: entropy power is for one record of a count of bits with Gaussian noise")
    variance, chance = normal
    bound = power.power(statistic.n, channel.reference.law(0, 2), variance, knowledge.most, proof, where)
    return chance * bound + (1 - chance) * arb(2).log()


KINDS: dict[str, Callable[[Large, Knowledge, Proof, str], Ball]] = {
    "trivial": _trivial,
    "reference": _at_reference,
    "sibson": lambda channel, knowledge, proof, where: _sibson(
        channel, knowledge.most, number(field(proof, "order", where), "the order", 1.0)
    ),
    "blend": _blend,
    "law": _output_law,
    "monotone": lambda channel, knowledge, proof, where: points.bound(
        noisy(channel, knowledge, where), knowledge.most, proof, where
    ),
    "power": _power,
}


def _own(channel: Large) -> Iterator[Ball]:
    """sum_y q(y|t) log q(y|t) of every class t.

    With a answers below f(t) in the range and b above, and p_k = P(noise = k), the outputs inside the range on one side
    give sum_{k=1..b-1} p_k log p_k, its end x log x with x = P(noise >= b), and f(t) itself p_0 log p_0; where f(t) is
    an end, x = P(noise >= 0).
    """
    if channel.width == 1:
        yield from (ZERO for _ in channel.answers)
        return
    tails = [channel.noise.tail(k) for k in ticking(range(1, channel.width + 1))]
    inside = accumulate((xlogx(x - y) for x, y in pairwise(tails)), initial=ZERO)
    # sides[b] for b >= 1: what the outputs above f(t) give where there are b of them.
    sides = [ZERO, *(inner + xlogx(x) for inner, x in zip(inside, tails, strict=True))]
    middle, end = xlogx(1 - 2 * tails[0]), xlogx(1 - tails[0])
    for f in ticking(channel.answers):
        below, above = f - channel.low, channel.low + channel.width - 1 - f
        yield sides[below] + sides[above] + (middle if below and above else end)


def _mean(channel: Large, cuts: list[int], density: list[Ball]) -> Iterator[Ball]:
    """sum_y q(y|t) log r(y) of every class t: l_0 + sum_j P(Y >= c_j | t) (l_j - l_(j-1)), l the log densities.

    Clamping moves nothing across a cut inside the range, so P(Y >= c | t) = P(noise >= c - f(t)).
    """
    steps = [after - before for before, after in pairwise(density)]
    if not steps:
        yield from (density[0] for _ in channel.answers)
        return
    tails = [channel.noise.tail(k) for k in ticking(range(1, channel.width + 1))]
    # P(noise >= k) = 1 - P(noise >= 1 - k), as the noise is symmetric; k = 0 stands at the place `zero`.
    above = [1 - x for x in reversed(tails)] + tails
    zero = channel.width - 1
    rows = max(1, largest().part // len(cuts))
    for i in range(0, len(channel.answers), rows):
        tick()
        block = [[above[zero + c - f] for c in cuts] for f in channel.answers[i : i + rows]]
        yield from (density[0] + x for x in (matrix(block) * column(steps)).entries())


def _information(channel: Large, density: list[Shares], starts: list[int], cuts: list[int]) -> Ball:
    """Return I(A;G), G the group of the output between cuts, of the prior density(a,block) rho(a,t)."""
    chances = _Crossed(channel, cuts)
    joint, secret = [], []
    for a, ((c, share), ratios) in enumerate(zip(channel.values, density, strict=True)):
        tick()
        # What classes have that are not seen, somewhere between nothing and all of it on either side of a cut.
        rest = unseen(channel, a, ratios, starts)
        prior = weights(channel, c, share, ratios, starts)
        below = [x + rest for x in (*chances.below(prior), sum(prior, ZERO))]
        joint.append([(y - x).nonnegative_part() for x, y in pairwise([ZERO, *below])])
        secret.append(below[-1])
    if channel.labels:
        alike = by_label(channel.labels)
        joint = [[sum(column, ZERO) for column in zip(*(joint[a] for a in values), strict=True)] for values in alike]
        secret = [sum((secret[a] for a in values), ZERO) for values in alike]
    return mutual(joint, secret)


def weights(channel: Large, c: int, share: Ball, ratios: Shares, starts: list[int]) -> list[Ball]:
    """The prior of every class that is seen, for a value that adds c; ratios: its density over the reference."""
    found: list[Ball] = []
    for b, part in enumerate(_parts(channel, _law(channel, c), starts)):
        density = ratios.get(b, ZERO) * share
        found += [ZERO] * len(part) if density.is_zero() else [p * density for p in part]
    return found


def unseen(channel: Large, a: int, ratios: Shares, starts: list[int]) -> Ball:
    """What classes have of a value that are not seen: a ball from nothing to all of it."""
    inside = _inside(channel, starts)
    far = sum((x for b, x in ratios.items() if not inside[b]), ZERO)
    return far * channel.values[a][1] * channel.left * arb(0.5, 0.5)


class _Crossed:
    """The chance that the output is below a cut: sum_t w(t) P(noise <= c - 1 - f(t)) over the classes that are seen.

    P is enclosed where it is near 0 or 1. Where that takes few numbers it is one product of polynomials: the answer
    first + i, of weight w_i, meets the cut c at rising[c - 1 - first - i - low]. Where the tail falls by one factor a
    step, P(noise >= k) = tail(1) exp( -rate (k-1) ) for k >= 1, two recursions along the answers do:
        sum_{f<c} w - tail(1) ( sum_{f<c} w e^(-rate (c-1-f)) - sum_{f>=c} w e^(-rate (f-c)) ).
    """

    def __init__(self, channel: Large, cuts: list[int]) -> None:
        """Take the cuts in ascending order."""
        self.answers, self.cuts, self.reach = channel.seen_answers, cuts, channel.reach()
        beyond = channel.noise.tail(self.reach + 1)
        self.rare, self.sure = ZERO.union(beyond), ONE.union(1 - beyond)
        self.exactly = cache(channel.noise.below)
        rate = channel.noise.parameter if channel.noise.steady else None
        if rate is not None and rate < STEEPEST:
            start, tail = self.answers[0], channel.noise.tail(1)
            self.rises = [(rate * (f - start)).exp() for f in ticking(self.answers)]
            self.falls = [1 / x for x in self.rises]
            # Of every cut: the first answer that is not below it, and tail(1) times what either sum is multiplied by.
            rising = [(rate * (c - start)).exp() for c in ticking(cuts)]
            places = [bisect_left(self.answers, c) for c in cuts]
            self.factors = [(i, tail * rate.exp() / x, tail * x) for i, x in zip(places, rising, strict=True)]
            self.way = self._falling
            return
        first, last = self.answers[0], self.answers[-1]
        self.low, high = (cuts[0] - 1 - last, cuts[-1] - 1 - first) if cuts else (0, 0)
        few = rate is None and bool(cuts) and high - self.low < largest().joint
        self.rising: Any = arb_poly([self._chance(k) for k in ticking(range(self.low, high + 1))]) if few else None
        self.way = self._together if few else self._one_by_one

    def _chance(self, k: int) -> Ball:
        """P(noise <= k)."""
        return self.sure if k > self.reach else self.rare if k < -self.reach else self.exactly(k)

    def below(self, weights: list[Ball]) -> list[Ball]:
        """Return sum_t weights(t) P(Y < c | t) for every cut; classes at the ends of hardly any mass are enclosed."""
        tick()
        first, last = _held(weights)
        doubt = ZERO.union(sum(weights[:first], ZERO) + sum(weights[last:], ZERO))
        return [x + doubt for x in self.way(first, weights[first:last])]

    def _falling(self, first: int, weights: list[Ball]) -> Iterator[Ball]:
        part = slice(first, first + len(weights))
        totals = [ZERO, *accumulate(weights)]
        left = [ZERO, *accumulate(map(mul, weights, self.rises[part]))]
        right = [ZERO, *accumulate(map(mul, reversed(weights), reversed(self.falls[part])))][::-1]
        for place, down, up in self.factors:
            i = min(max(place - first, 0), len(weights))
            yield totals[i] - down * left[i] + up * right[i]

    def _together(self, first: int, weights: list[Ball]) -> Iterator[Ball]:
        answers = self.answers[first : first + len(weights)]
        placed = [ZERO] * (answers[-1] - answers[0] + 1)
        for f, w in zip(answers, weights, strict=True):
            placed[f - answers[0]] += w
        product = arb_poly(placed) * self.rising
        return (product[c - 1 - answers[0] - self.low] for c in self.cuts)

    def _one_by_one(self, first: int, weights: list[Ball]) -> Iterator[Ball]:
        answers = self.answers[first : first + len(weights)]
        before = list(accumulate(weights, initial=ZERO))
        for c in ticking(self.cuts, every=1):
            i, j = bisect_left(answers, c - 1 - self.reach), bisect_right(answers, c - 1 + self.reach)
            met = (self.exactly(c - 1 - f) for f in answers[i:j])
            rest = before[i] * self.sure + (before[-1] - before[j]) * self.rare
            yield sum(map(mul, weights[i:j], met), rest)


def _held(weights: list[Ball]) -> tuple[int, int]:
    """The classes first..last-1 outside of which hardly any mass is, on either side; floats, for any two will do."""
    sides = (accumulate(map(float, side)) for side in (weights, weights[::-1]))
    first, last = (sum(1 for _ in takewhile(lambda mass: mass <= 2.0**-64, side)) for side in sides)
    first = min(first, len(weights) - 1)
    return first, max(len(weights) - last, first + 1)
