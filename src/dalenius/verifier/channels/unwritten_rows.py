"""A "monotone" proof for geometric or Laplace noise on a sum that is never written out: the row bound on points.

Y = f(t) + noise of rate c, rounded and clamped. Rounded Laplace noise is a function of real Laplace noise, so take
that; let points be x_j = first + j step, j = 0..m.

1. Answers between points. For x = x_j <= f <= x_(j+1) = x' put A = sinh(c (x' - f)) / sinh(c step) and
   B = sinh(c (f - x)) / sinh(c step). Outside of (x, x') an output y has the chance const exp(-c |y - f|) under f, in
   f a mixture of exp(c f) and exp(-c f) that A, B interpolate exactly: q_f(y) = A q_x(y) + B q_x'(y). Inside, the
   difference of the two sides vanishes at f = x and x', is above 0 at f = y, and is a multiple of sinh on either side
   of y: it is not negative. So q_f is A q_x + B q_x' and 1 - A - B times some law, and
   A + B = cosh(c (f - (x+x')/2)) / cosh(c step / 2). With b at least 1 - A - B for all f,
   q_f = (1 - b) (A q_x + B q_x') / (A + B) + b times a law. Who also sees which of the two was used, by a coin that has
   nothing to do with the data, knows no less: L <= L' + b log|A|, L' of the first.
2. Outputs between points. Rows are now those of points, and as functions of the output y in [x, x'] all of them are
   mixtures, with the same weights, of what they are at x and at x'. So the output is a random function of one on the
   points, where row i has W_j exp(-c |x_i - x_j|) at x_j; as rows sum to 1, this is geometric noise with the factor
   exp(-c step), clamped to the points: L' is at most its leakage, with the reference mass rho(a, x_j) that answers give
   to points by A / (A + B) and B / (A + B).
3. Answers beyond. Who is told every answer below x_0 or above x_m, N of them, knows no less. With the output law
   (1 - kappa) r on points and kappa / N on each of these, and m the chance of an answer beyond given a,
       D <= (1-m) ( D(w q || r) - log(1-kappa) ) + m log(N/kappa),
   and -s D(. || rho_a) is (1-m) and m times those inside, less s times the divergence of (1-m, m) from the
   reference's. So
       L' <= s log( sum_a rho(a, points) e^(g_a/s) (1-kappa)^(-1/s) + rho(beyond) (N/kappa)^(1/s) ) + s K,
   g_a = max_w { D(wq || r) - s D(w || rho_a) } on points, bounded by the chains of kinds/monotone.py.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flint import arb

from dalenius.verifier.balls import ZERO, Ball, log_sum_exp
from dalenius.verifier.kinds.monotone import OneValue
from dalenius.verifier.limits import largest, ticking
from dalenius.verifier.reading import field, number, numbers, refuse, sequence, whole

from .named import Falling
from .ordering import Recursions

if TYPE_CHECKING:
    from .unwritten_sums import Large


def bound(channel: "Large", knowledge: Ball, proof: dict[str, Any], where: str) -> Ball:
    """Guarantee: I <= result for every prior with D(pi || rho) <= knowledge."""
    if channel.noise.family not in ("geometric", "laplace") or channel.noise.parameter is None:
        refuse(f"{where}: answers are mixtures of points for geometric and Laplace noise only")
    rate = channel.noise.parameter
    last = channel.low + channel.width - 1
    first = whole(field(proof, "first", where), f"the first point of {where}", channel.low, last)
    step = whole(field(proof, "step", where), f"the step of {where}", 1, channel.width)
    listed = sequence(field(proof, "rho", where), f"rho of {where}")
    if len(listed) < 2:  # noqa: PLR2004 - chains go from point to point
        refuse(f"{where}: there are fewer than two points")
    given = [arb(x) for x in numbers(listed, len(listed), f"rho of {where}")]
    s = arb(number(field(proof, "s", where), f"s of {where}"))
    if not s > 0:
        refuse(f"{where}: s must be above 0")
    rounds = whole(field(proof, "rounds", where), f"rounds of {where}", 0, largest().chain_rounds)
    kappa = arb(number(field(proof, "beyond", where), f"'beyond' of {where}", 0.0, 0.5))
    total = log_sum_exp(given)
    log_r = [x - total for x in given]

    points = _Points(rate, first, step, len(given))
    terms, far = _terms(channel, points, log_r, s, rounds)
    near = log_sum_exp(terms) - (1 - kappa).log() / s
    outside = sum(f < first or f > points.last for f in channel.answers)
    if outside:
        if not kappa > 0:
            refuse(f"{where}: {outside} answers are beyond the points, and 'beyond' leaves them nothing")
        near = log_sum_exp([near, far.log() + (arb(outside) / kappa).log() / s])
    many = sum(not p.is_zero() for _, p in channel.values)
    return s * (near + knowledge) + points.between() * arb(many).log()


def _terms(channel: "Large", points: "_Points", log_r: Sequence[Ball], s: Ball, rounds: int) -> tuple[list[Ball], Ball]:
    """log rho(a, points) + g_a / s of every value a with mass, or above; and rho(beyond)."""
    known: dict[int, tuple[Ball, Ball, Ball]] = {}
    terms, far = [], ZERO
    for c, p in channel.values:
        if p.is_zero():
            continue
        if c not in known:
            law, beyond = points.masses(channel, c)
            inside = sum(law, ZERO)
            # A law of few values leaves points without mass; they are no cells.
            cells = [j for j, x in enumerate(law) if not x.is_zero()]
            if len(cells) < 2 or any(not law[j] > 0 for j in cells):  # noqa: PLR2004 - chains go from point to point
                refuse("the points leave a value of the secret with fewer than two of them")
            one = OneValue(Recursions(points.noise, cells), [law[j] / inside for j in cells], log_r, s)
            rows = [points.log_row(j) for j in (cells[0], cells[-1])]
            known[c] = inside.log(), one.bound_from(rows[0], rows[1], rounds), beyond
        log_inside, g, beyond = known[c]
        terms.append(p.log() + log_inside + g / s)
        far += p * beyond
    return terms, far


class _Points:
    """Points on the answers, and the noise between them."""

    def __init__(self, rate: Ball, first: int, step: int, many: int) -> None:
        self.rate, self.first, self.step, self.many = rate, first, step, many
        self.last = first + (many - 1) * step
        a = (-rate * step).exp()
        self.noise = Falling(many, tuple(range(many)), a, (1 - a) / (1 + a), 1 / (1 + a))
        sides = [(rate * k).sinh() for k in ticking(range(step + 1))]
        # A / (A + B) by the distance from the point below.
        self.left = [sides[step - k] / (sides[step - k] + sides[k]) for k in range(step + 1)]

    def between(self) -> Ball:
        """Guarantee: result >= 1 - A - B for every answer; integers come no nearer to the middle than that."""
        return 1 - (self.rate * (self.step % 2) / 2).cosh() / (self.rate * self.step / 2).cosh()

    def masses(self, channel: "Large", c: int) -> tuple[list[Ball], Ball]:
        """rho(x_j | a) of every point and rho(beyond | a), a contributing c."""
        law, beyond = [ZERO] * self.many, ZERO
        others = channel.others
        for value, f in ticking(zip(channel.statistic.values, channel.answers, strict=True)):
            x = others.get(value - c)
            if x is None:
                continue
            if f < self.first or f > self.last:
                beyond += x
                continue
            j, k = divmod(f - self.first, self.step)
            law[j] += x * self.left[k]
            if k:
                law[j + 1] += x * (1 - self.left[k])
        return law, beyond

    def log_row(self, j: int) -> list[Ball]:
        """Log probabilities of the points under point j."""
        inner, outer = self.noise.inner.log(), self.noise.outer.log()
        ends = (0, self.many - 1)
        return [(outer if k in ends else inner) - self.rate * self.step * abs(k - j) for k in range(self.many)]
