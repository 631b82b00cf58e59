"""A "monotone" proof on points: the row bound for geometric or Laplace noise on a sum, written out or not.

Y = f(t) + noise of rate c, rounded and clamped. Rounded Laplace noise is a function of real Laplace noise, so take
that; let points be x_j = first + j step, j = 0..m.

1. Answers between points. For x = x_j <= f <= x_(j+1) = x' put A = sinh(c (x' - f)) / sinh(c step) and
   B = sinh(c (f - x)) / sinh(c step). Outside of (x, x') an output y has the chance const exp(-c |y - f|) under f, in
   f a mixture of exp(c f) and exp(-c f) that A, B interpolate exactly: q_f(y) = A q_x(y) + B q_x'(y). Inside, the
   difference of the two sides vanishes at f = x and x', is above 0 at f = y, and is a multiple of sinh on either side
   of y: it is not negative. So q_f is A q_x + B q_x' and 1 - A - B times some law, and
   A + B = cosh(c (f - (x+x')/2)) / cosh(c step / 2). With b at least 1 - A - B for all f,
   q_f = (1 - b) (A q_x + B q_x') / (A + B) + b times a law. Who also sees which of the two was used, by a coin that has
   nothing to do with the data, knows no less: L <= (1 - b) L' + b S. L' is of the first; the second is about the
   answer f, which tells no more than the class t does: S is log|A|, or, where the proof has an order, what Sibson's
   information of that order bounds I(A;T) by, and that alone: it also holds where A has more values than rows.
2. Outputs between points. Rows are now those of points, and as functions of the output y in [x, x'] all of them are
   mixtures, with the same weights, of what they are at x and at x'. So the output is a random function of one on the
   points, where row i has W_j exp(-c |x_i - x_j|) at x_j; as rows sum to 1, this is geometric noise with the factor
   exp(-c step), clamped to the points: L' is at most its leakage, with the reference mass rho(a, x_j) that answers give
   to points by A / (A + B) and B / (A + B).
3. Answers beyond. Who is told every answer below x_0 or above x_m, N of them, knows no less; nor does who is told the
   secret itself there, one of |A| values: N is that number where the proof says so ("told"). With the output law
   (1 - kappa) r on points and kappa / N on each of these, and m the chance of an answer beyond given a,
       D <= (1-m) ( D(w q || r) - log(1-kappa) ) + m log(N/kappa),
   and -s D(. || rho_a) is (1-m) and m times those inside, less s times the divergence of (1-m, m) from the
   reference's. So
       L' <= s log( sum_a rho(a, points) e^(g_a/s) (1-kappa)^(-1/s) + rho(beyond) (N/kappa)^(1/s) ) + s K,
   g_a = max_w { D(wq || r) - s D(w || rho_a) } on points, bounded by the chains of kinds/monotone.py.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import add, mul
from typing import Any

from flint import arb

from dalenius.verifier.balls import ZERO, Ball, log_sum_exp
from dalenius.verifier.limits import largest, ticking
from dalenius.verifier.reading import field, number, numbers, refuse, sequence, whole
from dalenius.verifier.reference import Reference, Uniform

from .counting import Sum
from .named import Falling
from .ordering import Recursions

# g_a of one secret value at most: its rows, its law of them, log r, s, the number of rounds.
Chains = Callable[[Recursions, list[Ball], list[Ball], Ball, Sequence[list[Ball]], int], Ball]


@dataclass(frozen=True)
class Noisy:
    """Answers from low to high with noise of this rate, and the reference.

    laws: of every secret value with mass rho(a), and the name of its law of answers. law: of a name and two answers,
    the answers f between them, which do not fall, their rho(f|a), and that of all that are not between them. told: a
    bound on I(A;T) by the order of Sibson's information. twins: of a name, the name of the law that mirror - f has
    where f has the law of the name. left: what answers that a law does not list have at most; they count as beyond the
    points.
    """

    rate: Ball
    low: int
    high: int
    answers: Sequence[int]
    laws: Sequence[tuple[Ball, int]]
    law: Callable[[int, int, int], tuple[Sequence[int], Sequence[Ball], Ball]]
    told: Callable[[float], Ball]
    twins: Mapping[int, int]
    mirror: int | None = None
    left: Ball = ZERO


def mirror(statistic: Sum, answers: Sequence[int], reference: Reference) -> int | None:
    """m where answers f given a value that adds c have the law of m - f given the one that adds most + least - c.

    So it is where all values of a record are equally likely, and contributions and answers are symmetric. most and
    least are of what all values add, of one record or of a group.
    """
    added = sorted(statistic.contributions)
    sums = {x + y for x, y in zip(added, reversed(added), strict=True)}
    ends = {answers[0] + answers[-1]} if isinstance(answers, range) else set(map(add, answers, reversed(answers)))
    alike = isinstance(reference, Uniform) and len(sums) == 1 and len(ends) == 1
    return ends.pop() if alike else None


def bound(given: Noisy, knowledge: Ball, proof: dict[str, Any], where: str, chains: Chains) -> Ball:
    """Guarantee: I <= result for every prior with D(pi || rho) <= knowledge."""
    width = given.high - given.low + 1
    first = whole(field(proof, "first", where), f"the first point of {where}", given.low - width, given.high)
    step = whole(field(proof, "step", where), f"the step of {where}", 1, width)
    listed = sequence(field(proof, "rho", where), f"rho of {where}")
    if len(listed) < 2:  # noqa: PLR2004 - chains go from point to point
        refuse(f"{where}: there are fewer than two points")
    stated = [arb(x) for x in numbers(listed, len(listed), f"rho of {where}")]
    s = arb(number(field(proof, "s", where), f"s of {where}"))
    if not s > 0:
        refuse(f"{where}: s must be above 0")
    rounds = whole(field(proof, "rounds", where), f"rounds of {where}", 0, largest().chain_rounds)
    kappa = arb(number(field(proof, "beyond", where), f"'beyond' of {where}", 0.0, 0.5))
    total = log_sum_exp(stated)
    log_r = [x - total for x in stated]

    points = _Points(given.rate, first, step, len(stated))
    # Where points and r are symmetric as well, a value and its twin have one row problem.
    even = given.mirror == first + points.last and listed == listed[::-1]
    known: dict[int, tuple[Ball, Ball, Ball]] = {}
    terms, far = [], ZERO
    for p, name in given.laws:
        if even and name not in known and given.twins.get(name) in known:
            known[name] = known[given.twins[name]]
        if name not in known:
            answers, law, beyond = given.law(name, first, points.last)
            inside, laws = points.cells(answers, law)
            g = chains(points.rows(laws), list(laws.values()), log_r, s, points.ends(laws), rounds)
            known[name] = inside.log(), g, beyond
        log_inside, g, beyond = known[name]
        terms.append(p.log() + log_inside + g / s)
        far += p * (beyond + given.left)
    near = log_sum_exp(terms) - (1 - kappa).log() / s
    low, end = bisect_left(given.answers, first), bisect_right(given.answers, points.last)
    outside = len({*given.answers[:low], *given.answers[end:]})
    if outside or not given.left.is_zero():
        if not kappa > 0:
            refuse(f"{where}: {outside} answers are beyond the points, and 'beyond' leaves them nothing")
        told_there = _told_beyond(given, proof, outside, where)
        near = log_sum_exp([near, far.log() + (arb(told_there) / kappa).log() / s])
    if "order" in proof:
        told = given.told(number(proof["order"], f"the order of {where}", 1.0))
    else:
        told = arb(len(given.laws)).log()
    between = points.between()
    return (1 - between) * s * (near + knowledge) + between * told


def _told_beyond(given: Noisy, proof: dict[str, Any], outside: int, where: str) -> int:
    """How many things may be told beyond the points: the values of the secret, if the proof says so, or answers."""
    if "told" in proof:
        if proof["told"] != "secret":
            refuse(f"{where}: 'told' must be \"secret\" if it is there")
        return len(given.laws)
    # Answers that a law does not list may be any.
    return outside if given.left.is_zero() else len(given.answers)


def inside(
    answers: Sequence[int], law: Sequence[Ball], low: int, high: int
) -> tuple[Sequence[int], Sequence[Ball], Ball]:
    """Ascending answers from low to high, their rho(f|a), and that of all others."""
    i, j = bisect_left(answers, low), bisect_right(answers, high)
    return answers[i:j], law[i:j], sum(law[:i], ZERO) + sum(law[j:], ZERO)


class _Points:
    """Points on the answers, and the noise between them."""

    def __init__(self, rate: Ball, first: int, step: int, many: int) -> None:
        self.rate, self.first, self.step, self.many = rate, first, step, many
        self.last = first + (many - 1) * step
        a = (-rate * step).exp()
        self.noise = Falling(many, tuple(range(many)), a, (1 - a) / (1 + a), 1 / (1 + a))
        sides = [(rate * k).sinh() for k in ticking(range(step + 1))]
        # A / (A + B) by the distance from the point below.
        self.left = [sides[step - k] / (sides[step - k] + sides[k]) for k in range(step)]
        self.right = [ZERO, *(1 - x for x in self.left[1:])]

    def between(self) -> Ball:
        """Guarantee: result >= 1 - A - B for every answer; integers come no nearer to the middle than that."""
        return 1 - (self.rate * (self.step % 2) / 2).cosh() / (self.rate * self.step / 2).cosh()

    def cells(self, answers: Sequence[int], law: Sequence[Ball]) -> tuple[Ball, dict[int, Ball]]:
        """rho(points | a), and the law of points given a and that, from that of ascending answers between the points.

        A law of few values leaves points without mass; they are no cells.
        """
        masses: dict[int, Ball] = {}
        low, end = 0, len(answers)
        for j in ticking(range(self.many)):
            point = self.first + j * self.step
            high = bisect_left(answers, point + self.step, low, end)
            part, places = law[low:high], [f - point for f in answers[low:high]]
            for at, weights in ((j, self.left), (j + 1, self.right)):
                mass = sum(map(mul, part, map(weights.__getitem__, places)), ZERO)
                if not mass.is_zero():
                    masses[at] = masses.get(at, ZERO) + mass
            low = high
        if len(masses) < 2 or any(not x > 0 for x in masses.values()):  # noqa: PLR2004 - chains go from point to point
            refuse("the points leave a value of the secret with fewer than two of them")
        inside = sum(masses.values(), ZERO)
        return inside, {j: masses[j] / inside for j in sorted(masses)}

    def rows(self, cells: Mapping[int, Ball]) -> Recursions:
        """The noise around these points."""
        return Recursions(self.noise, list(cells))

    def ends(self, cells: Mapping[int, Ball]) -> list[list[Ball]]:
        """Log probabilities under the first and the last of them."""
        return [self.log_row(min(cells)), self.log_row(max(cells))]

    def log_row(self, j: int) -> list[Ball]:
        """Log probabilities of the points under point j."""
        inner, outer = self.noise.inner.log(), self.noise.outer.log()
        ends = (0, self.many - 1)
        return [(outer if k in ends else inner) - self.rate * self.step * abs(k - j) for k in range(self.many)]
