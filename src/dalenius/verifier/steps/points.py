"""A "monotone" proof on points: the row bound for noise on a sum, or for several releases of one sum.

Points are x_j = first + j step, j = 0..m; geometric or Laplace noise has the rate c, and several releases the sum of
their rates. With b at least 1 - A - B for all answers f between points x and x', A = sinh(c (x'-f)) / sinh(c step), B =
sinh(c (f-x)) / sinh(c step), L <= (1 - b) L' + b S, where S bounds what the answer itself tells, and with N answers, or
secret values, told beyond the points and a share kappa,

    L' <= s log( sum_a rho(a, points) e^(g_a/s) (1-kappa)^(-1/s) + rho(beyond) (N/kappa)^(1/s) ) + s K,

g_a = max_w { D(wq || r) - s D(w || rho_a) } for geometric noise with the factor exp(-c step) on the points, by the
chains of kernel/chains.py. Proof: docs/proofs/points.md, steps 1 to 3; of several releases, and of other noise, 4 and
5.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, mul
from typing import Any

from flint import arb

from dalenius.verifier.forms import together
from dalenius.verifier.forms.counting import Sum
from dalenius.verifier.forms.named import Added
from dalenius.verifier.forms.reference import Reference
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, Rows, float_above, log_sum_exp
from dalenius.verifier.kernel.cells import Falling, Recursions
from dalenius.verifier.kernel.chains import OneValue
from dalenius.verifier.kernel.closing import close
from dalenius.verifier.kernel.doubles import Chain, U, numpy, ordinary
from dalenius.verifier.kernel.limits import largest, ticking
from dalenius.verifier.kernel.order import count
from dalenius.verifier.kernel.reading import above_zero, fits, mapping, number, numbers, refuse, sequence, show, whole
from dalenius.verifier.kernel.reading import field as entry


@dataclass(frozen=True)
class Noisy:
    """Answers from low to high with noise, and the reference.

    laws: of every secret value with mass rho(a), and the name of its law of answers. law: of a name and two answers,
    the answers f between them, which do not fall, their rho(f|a), and that of all that are not between them. told: a
    bound on I(A;T) by the order of Sibson's information. twins: of a name, the name of the law that mirror - f has
    where f has the law of the name. left: what answers that a law does not list have at most; they count as beyond the
    points.
    """

    # The rate of every release, and how often it is run; none where the noise is of another kind, `added`.
    rates: Sequence[tuple[Ball, int]]
    low: int
    high: int
    answers: Sequence[int]
    laws: Sequence[tuple[Ball, int]]
    law: Callable[[int, int, int], tuple[Sequence[int], Sequence[Ball], Ball]]
    told: Callable[[float], Ball]
    twins: Mapping[int, int]
    mirror: int | None = None
    left: Ball = field(default_factory=lambda: ZERO)
    added: Added | None = None


def mirror(statistic: Sum, answers: Sequence[int], reference: Reference) -> int | None:
    """m where answers f given a value that adds c have the law of m - f given the one that adds most + least - c.

    So it is where all values of a record are equally likely, and contributions and answers are symmetric. most and
    least are of what all values add, of one record or of a group.
    """
    added = sorted(statistic.contributions)
    sums = {x + y for x, y in zip(added, reversed(added), strict=True)}
    ends = {answers[0] + answers[-1]} if isinstance(answers, range) else set(map(add, answers, reversed(answers)))
    alike = reference.uniform and len(sums) == 1 and len(ends) == 1
    return ends.pop() if alike else None


def bound(given: Noisy, knowledge: Ball, proof: dict[str, Any], where: str) -> Ball:
    """Guarantee: I <= result for every prior with D(pi || rho) <= knowledge. What the points are, their step says."""
    stated = mapping(sequence(entry(proof, "steps", where), f"the steps of {where}", 1)[0], f"the step of {where}")
    if stated.get("step") != "points":
        refuse(f"{where}: its step is {show(stated.get('step'))}, not points")
    width = given.high - given.low + 1
    first = whole(entry(stated, "first", where), f"the first point of {where}", given.low - width, given.high)
    every = whole(entry(stated, "every", where), f"'every' of {where}", 1, width)
    listed = sequence(entry(proof, "rho", where), f"rho of {where}")
    weights = [arb(x) for x in numbers(listed, len(listed), f"rho of {where}")]
    s = arb(above_zero(proof, "s", where))
    rounds = whole(entry(proof, "rounds", where), f"rounds of {where}", 0, largest().chain_rounds)
    kappa = arb(number(entry(stated, "beyond", where), f"'beyond' of {where}", 0.0, 0.5))
    points = _placed(given, stated, len(weights), first, every, where)
    total = log_sum_exp([x + arb(k).log() for x, k in zip(weights, points.orders, strict=True)])
    log_r = [x - total for x in weights]

    # Where points and r are symmetric as well, a value and its twin have one row problem.
    even = given.mirror == first + points.last and all(listed[i] == listed[j] for i, j in points.mirrored)
    known: dict[int, tuple[Ball, Ball, Ball]] = {}
    exponents, far = [], ZERO
    for p, name in given.laws:
        if even and name not in known and given.twins.get(name) in known:
            known[name] = known[given.twins[name]]
        if name not in known:
            answers, law, beyond = given.law(name, first, points.last)
            inside, laws = points.cells(answers, law)
            rho = list(laws.values())
            chains = OneValue(points.rows(laws), rho, log_r, s, points.chain(laws, rho, log_r, s, rounds))
            g = chains.bound(rounds)
            known[name] = inside.log(), g, beyond
        log_inside, g, beyond = known[name]
        exponents.append(s * (p.log() + log_inside) + g - (1 - kappa).log())
        far += p * (beyond + given.left)
    low, end = bisect_left(given.answers, first), bisect_right(given.answers, points.last)
    beyond_points = given.answers[:low], given.answers[end:]
    # Answers of a range are all different, and may be very many.
    outside = sum(map(len, beyond_points if isinstance(given.answers, range) else map(set, beyond_points)))
    if outside or not given.left.is_zero():
        if not kappa > 0:
            refuse(f"{where}: {outside} answers are beyond the points, and 'beyond' leaves them nothing")
        told_there = _told_beyond(given, stated, outside, where)
        exponents.append(s * far.log() + (arb(told_there) / kappa).log())
    if "order" in stated:
        told = given.told(number(stated["order"], f"the order of {where}", 1.0))
    else:
        told = arb(len(given.laws)).log()
    between = points.between()
    lost = points.lost * arb(len(given.laws)).log()
    return (1 - between) * close(exponents, s, knowledge) + between * told + lost


def _told_beyond(given: Noisy, stated: dict[str, Any], outside: int, where: str) -> int:
    """How many things may be told beyond the points: the values of the secret, if the proof says so, or answers."""
    if "told" in stated:
        if stated["told"] != "secret":
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
    """Points on the answers, and geometric or Laplace noise between them."""

    # What outputs that were put together may tell beside their sum.
    lost = ZERO

    def __init__(self, rates: Sequence[tuple[Ball, int]], first: int, step: int, many: int) -> None:
        self.rates, self.first, self.step, self.many = rates, first, step, many
        self.last = first + (many - 1) * step
        self.rate = sum((rate * often for rate, often in rates), ZERO)
        sides = [(self.rate * k).sinh() for k in ticking(range(step + 1))]
        # A / (A + B) by the distance from the point below.
        self.left = [sides[step - k] / (sides[step - k] + sides[k]) for k in range(step)]
        self.right = [ZERO, *(1 - x for x in self.left[1:])]

    def between(self) -> Ball:
        """Guarantee: result >= 1 - A - B for every answer; integers come no nearer to the middle than that."""
        return _between(self.rate, 1, self.step)

    def chain(
        self, cells: Mapping[int, Ball], rho: Sequence[Ball], log_r: Sequence[Ball], s: Ball, rounds: int
    ) -> Chain | None:
        """Rounds in doubles; balls are quick enough."""
        return None

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
        if not masses or any(not x > 0 for x in masses.values()):
            refuse("the points leave a value of the secret without mass")
        inside = sum(masses.values(), ZERO)
        return inside, {j: masses[j] / inside for j in sorted(masses)}


class _One(_Points):
    """Geometric noise on the points, with the factor exp(-rate step)."""

    def __init__(self, rates: Sequence[tuple[Ball, int]], first: int, step: int, many: int) -> None:
        super().__init__(rates, first, step, many)
        a = (-self.rate * step).exp()
        self.noise = Falling(many, tuple(range(many)), a, (1 - a) / (1 + a), 1 / (1 + a))
        self.orders = [1] * many
        self.mirrored = [(j, many - 1 - j) for j in range(many)]

    def rows(self, cells: Mapping[int, Ball]) -> Recursions:
        """The noise around these points."""
        return Recursions(self.noise, list(cells))


class _Several(_Points):
    """Several releases: each has geometric noise on every few of the points, and points between are mixtures again."""

    def __init__(self, rates: Sequence[tuple[Ball, int]], first: int, step: int, many: int, outputs: int) -> None:
        super().__init__(rates, first, step, many)
        self.outputs = outputs
        self.sizes = [((many - 1) // outputs + 1, often) for _, often in rates]
        self.orders = [together.orders(y) for y in ticking(together.listed(self.sizes))]
        place = {y: i for i, y in enumerate(together.listed(self.sizes))}
        self.mirrored = [(i, place[self._turned(y)]) for y, i in place.items()]
        self.laws = [self._rows(rate) for rate, _ in rates]

    def _turned(self, outputs: together.Outputs) -> together.Outputs:
        sizes = (size - 1 for size, _ in self.sizes)
        return tuple(tuple(last - y for y in reversed(run)) for last, run in zip(sizes, outputs, strict=True))

    def _rows(self, rate: Ball) -> list[list[Ball]]:
        """The law of one run at every point."""
        single = _One([(rate, 1)], self.first, self.step * self.outputs, self.sizes[0][0])
        laws = [single.rows({j: ONE}).combined([ONE]) for j in range(single.many)]
        found = []
        for i in range(self.many):
            j, offset = divmod(i, self.outputs)
            share = single.left[offset * self.step]
            found.append(
                [share * x + (1 - share) * y for x, y in zip(laws[j], laws[j + 1], strict=True)] if offset else laws[j]
            )
        return found

    def between(self) -> Ball:
        """The chance that the answer is not a mixture of the points, or that a release of a point is not."""
        kept = 1 - super().between()
        for rate, often in self.rates:
            kept *= (1 - _between(rate, self.step, self.outputs)) ** often
        return 1 - kept

    def rows(self, cells: Mapping[int, Ball]) -> together.Together:
        """All releases of these points."""
        return together.Together(
            [([law[j] for j in cells], often) for law, (_, often) in zip(self.laws, self.rates, strict=True)]
        )

    def chain(
        self, cells: Mapping[int, Ball], rho: Sequence[Ball], log_r: Sequence[Ball], s: Ball, rounds: int
    ) -> Chain | None:
        """Rounds in doubles, by the rows of all releases together: within a share of what one run's rows are off."""
        entries = len(cells) * len(self.orders)
        np = numpy(rounds, entries)
        if np is None or entries > largest().numbers or not ordinary():
            return None
        law, error = np.array([self.orders], dtype=float), 0.0
        places = list(together.listed(self.sizes))
        for release, (rows, (_, often)) in enumerate(zip(self.laws, self.rates, strict=True)):
            near = np.array([[float(x) for x in rows[j]] for j in cells])
            off = max(float_above(abs(x / arb(float(x)) - 1)) for j in cells for x in rows[j])
            for run in range(often):
                law = law * near[:, [y[release][run] for y in places]]
            error += often * (1.1 * off + 2 * U)
        return Chain(np, law, np.array(self.orders, dtype=float), error, rho, log_r, float(s))


class _Added(_Points):
    """Other noise with a log-concave law: all answers between the first and the last point are points.

    Outputs farther than `reach` from the points are put together.
    """

    def __init__(self, added: Added, first: int, step: int, many: int, reach: int) -> None:
        self.added, self.first, self.step, self.many, self.reach = added, first, step, many, reach
        self.last = first + (many - 1) * step
        # Nothing is between points: see `cells`.
        self.left, self.right = [ONE], [ZERO]
        width = self.last - first + 1 + 2 * reach
        self.orders = [1] * width
        self.mirrored = [(j, width - 1 - j) for j in range(width)]
        self.lost = 2 * added.tail(reach)
        self.known = added.rows(range(first, self.last + 1, step), first - reach, self.last + reach)

    def between(self) -> Ball:
        """Nothing."""
        return ZERO

    def cells(self, answers: Sequence[int], law: Sequence[Ball]) -> tuple[Ball, dict[int, Ball]]:
        """The law of points, where every answer is one."""
        if any((f - self.first) % self.step for f in answers):
            refuse("an answer lies between the points, and is a mixture of them for geometric and Laplace noise only")
        return super().cells(answers, law)

    def rows(self, cells: Mapping[int, Ball]) -> Rows:
        """The noise around these points; the outermost speak for those between."""
        if any(not q > 0 for j in (min(cells), max(cells)) for q in self.known[j]):
            refuse("a probability at the ends of the points is not above 0; monotone rows need noise of full support")
        return Rows([self.known[j] for j in cells])


def _between(rate: Ball, unit: int, steps: int) -> Ball:
    """Guarantee: result >= 1 - A - B at whole multiples of `unit` between two points that are so many of them apart."""
    return 1 - (rate * unit * (steps % 2) / 2).cosh() / (rate * unit * steps / 2).cosh()


def _placed(given: Noisy, stated: dict[str, Any], outputs: int, first: int, every: int, where: str) -> Any:  # noqa: PLR0917 - what a step states
    """The points of a proof whose output law has so many entries."""
    single = given.added is None and [often for _, often in given.rates] == [1]
    many = outputs if single else whole(entry(stated, "points", where), f"'points' of {where}", 2, largest().reach)
    if many < 2:  # chains go from point to point
        refuse(f"{where}: there are fewer than two points")
    if single:
        return _One(given.rates, first, every, many)
    if given.added is not None:
        reach = whole(entry(stated, "reach", where), f"'reach' of {where}", 1, largest().reach)
        width = (many - 1) * every + 1 + 2 * reach
        fits(width * many, where)
        if width != outputs:
            refuse(f"{where}: rho has {outputs} entries for {width} outputs of {many} points")
        return _Added(given.added, first, every, many, reach)
    apart = whole(stated.get("outputs", 1), f"'outputs' of {where}", 1, many - 1)
    if (many - 1) % apart:
        refuse(f"{where}: 'outputs' is {apart}, and the last of {many} points is not among every {apart} of them")
    sizes = [((many - 1) // apart + 1, often) for _, often in given.rates]
    most = largest().numbers // many
    if count(sizes, most) != outputs:
        refuse(f"{where}: rho has {outputs} entries, not one for every output of the releases, or too many to check")
    return _Several(given.rates, first, every, many, apart)
