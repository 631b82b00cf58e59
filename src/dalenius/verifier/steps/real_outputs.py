"""Laplace and Gaussian noise with real outputs, through a finite channel that leaks almost as much.

A certificate names the mechanism and the points y_k of a quadrature rule with weights w_k. With p_t the density of Y
for the answer f_t, K answers, and c = 1 - slack, the finite channel is

    q(k|t) = c w_k p_t(y_k),      q(rest|t) = 1 - sum_k q(k|t) >= 0      (checked),

and the witness and the proofs of the certificate are about it. For every secret A and every prior

    (I(A;J) - rest log K)/c - error  <=  I(A;Y)  <=  I(A;J)/c + error + skipped log K.

The error, with C = log K + 2/e + log sec beta + 2 beta for an angle beta, is for Laplace noise of rate r the sum over
pieces of w (64/15) Z C rho^(-2m) / (1 - rho^-2), and for Gaussian noise 2 C factor / ( exp(2 pi v / h) - 1 )
([trefethen14], theorem 5.1). Proof, and these letters: docs/mathematics.md, 2.2.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from flint import arb

from dalenius.verifier import proofs
from dalenius.verifier.forms import named
from dalenius.verifier.forms.counting import Histogram, people
from dalenius.verifier.forms.written import Channel
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, float_above, float_below
from dalenius.verifier.kernel.limits import largest, tick, ticking
from dalenius.verifier.kernel.reading import field, fits, mapping, number, numbers, refuse, sequence, whole

# What a rule makes of every answer, w_k p_t(y_k); its error; and the chance of outputs that it skips.
Rule = tuple[dict[int, list[Ball]], Ball, Ball]


@dataclass(frozen=True)
class Margins:
    """How far the leakage of the real channel may be from that of the finite one."""

    scale: Ball  # c
    below: Ball  # rest log K / c + error
    above: Ball  # error + skipped log K

    def least(self, lower: float) -> float:
        """Guarantee: a prior that leaks the result to the finite channel leaks `lower` to the real one."""
        return float_above(self.scale * (lower + self.below)) if lower > 0 else 0.0

    def most(self, upper: float) -> float:
        """Guarantee: a prior that leaks no more than the result to the finite channel leaks at most `upper`."""
        return float_below(self.scale * (upper - self.above))


@dataclass(frozen=True, kw_only=True)
class Real(Channel):
    """The finite channel of a description, and the margins between it and the real one."""

    margins: Margins
    problem: dict[str, Any]


class Written(proofs.Written):
    """A question about the real channel, whose witness and proofs are about the finite one."""

    channel: Real

    def check_witness(self, witness: dict[str, Any], lower: float) -> None:
        """Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret; points of its own."""
        if "quadrature" in witness:
            finer = replace(self, channel=rebuild({**self.channel.problem, "quadrature": witness["quadrature"]}))
            return finer.check_witness({key: x for key, x in witness.items() if key != "quadrature"}, lower)
        return super().check_witness(witness, self.channel.margins.least(lower))

    def most(self, upper: float) -> float:
        """What proofs about the finite channel may claim; anything, where a secret, or an answer, holds no more."""
        values = len(self.shares)  # those without mass counted: as many for every record
        trivial = arb(min(values, len(self.channel.rows))).log()
        return math.inf if trivial <= upper else self.channel.margins.most(upper)


def rebuild(problem: dict[str, Any]) -> Real:
    """Return the finite channel of a description, and the margins between it and the real one."""
    if set(problem) != {"query", "mechanism", "quadrature"}:
        refuse("real outputs are described by 'query', 'mechanism' and 'quadrature'")
    asked = named.query(problem["query"])
    name, given = named.call(problem["mechanism"], named.MECHANISMS, "the mechanism")
    if given.get("output") != "real":
        refuse(f"{named.spelled(name, given)} is not a mechanism with real outputs")
    noise = named.added(problem["mechanism"], asked, rounded=True)
    if noise.parameter is None:
        refuse(f"{noise.text} of {asked.text} adds no noise at all")
    if isinstance(asked.statistic, Histogram):
        refuse(f"real outputs of {asked.text} are not known to this verifier")
    answers = sorted(set(asked.answers))
    if len(answers) == 1:
        refuse(f"{asked.text} has a single answer")
    points = mapping(problem["quadrature"], "the quadrature")
    slack = number(field(points, "slack", "the quadrature"), "the slack", 0.0, 0.5)
    masses, error, skipped = (_laplace if noise.family == "laplace" else _gaussian)(points, answers, noise.parameter)
    scale, rows, rest = ONE - arb(slack), [], ZERO
    for f in answers:
        tick()
        row = [scale * p for p in masses[f]]
        left = ONE - sum(row, ZERO)
        if not left >= 0:
            refuse(f"the points of the quadrature have more mass than there is for the answer {f}; give more slack")
        rest = rest.max(left)
        rows.append([*row, left])
    of = {f: t for t, f in enumerate(answers)}
    text = f"{people(asked.statistic)}; {asked.text}; {noise.text}"
    row_of = [of[f] for f in asked.answers]
    hidden = arb(len(answers)).log()
    margins = Margins(scale, rest * hidden / scale + error, error + skipped * hidden)
    return Real(statistic=asked.statistic, rows=rows, row_of=row_of, text=text, margins=margins, problem=problem)


def _laplace(points: dict[str, Any], answers: list[int], rate: Ball) -> Rule:
    """The rule of Gauss and Legendre on the pieces between edges, among which are all answers."""
    _keys(points, {"edges", "points", "angle", "slack"})
    listed = sequence(points["edges"], "edges of the quadrature")
    edges = numbers(listed, len(listed), "edges of the quadrature")
    m = whole(points["points"], "points of the quadrature", 2, largest().parts)
    fits(m * len(edges) * len(answers), "the quadrature")
    if any(not low < high for low, high in pairwise(edges)):
        refuse("edges of the quadrature do not ascend")
    if not set(answers) <= set(edges) or edges[0] != answers[0] or edges[-1] != answers[-1]:
        refuse("edges of the quadrature must reach from the least to the greatest answer and hold every answer")
    pairs = [arb.legendre_p_root(m, k, weight=True) for k in reversed(range(m))]
    places: list[tuple[Ball, Ball]] = []
    error = ZERO
    beta, constant = _angle(points, len(answers))
    for low, high in pairwise(edges):
        middle, half = (arb(low) + arb(high)) / 2, (arb(high) - arb(low)) / 2
        places += [(middle + half * x, half * w * rate / 2) for x, w in pairs]
        error += _piece(rate * half, beta, m)
    masses = {
        f: [
            (rate * (answers[0] - f)).exp() / 2,
            *(w * (-rate * abs(y - f)).exp() for y, w in ticking(places)),
            (rate * (f - answers[-1])).exp() / 2,
        ]
        for f in answers
    }
    return masses, error * constant * 64 / 15, ZERO


def _piece(x: Ball, beta: Ball, m: int) -> Ball:
    """w Z rho^(-2m) / (1 - rho^-2) of a piece with x = r w."""
    b = beta / x
    rho = b + (1 + b * b).sqrt()
    return x / 2 * ((x * x + beta * beta).sqrt() - x).exp() * rho ** (-2 * m) / (1 - rho**-2)


def _gaussian(points: dict[str, Any], answers: list[int], sigma: Ball) -> Rule:
    """The trapezoidal rule from a first point on, in equal steps."""
    _keys(points, {"first", "step", "count", "angle", "slack"})
    first = arb(number(points["first"], "the first point of the quadrature"))
    step = arb(number(points["step"], "the step of the quadrature"))
    if not step > 0:
        refuse("the step of the quadrature must be above 0")
    count = whole(points["count"], "the count of the quadrature", 2, largest().reach)
    fits(count * len(answers), "the quadrature")
    last = first + (count - 1) * step
    if not (first <= answers[0] and last >= answers[-1]):
        refuse("the points of the quadrature must begin below the least answer and end above the greatest")
    beta, constant = _angle(points, len(answers))
    v = 2 * sigma**2 * beta / (answers[-1] - answers[0])
    error = 2 * constant * (v**2 / (2 * sigma**2)).exp() / (2 * arb.pi() * v / step).expm1()
    root = sigma * arb(2).sqrt()
    skipped = (((last - answers[-1]) / root).erfc() + ((answers[0] - first) / root).erfc()) / 2
    places = [first + k * step for k in range(count)]
    factor = step / (sigma * (2 * arb.pi()).sqrt())
    masses = {f: [factor * (-(((y - f) / root) ** 2)).exp() for y in ticking(places)] for f in answers}
    return masses, error, skipped


def _angle(points: dict[str, Any], answers: int) -> tuple[Ball, Ball]:
    """Return beta, and C = log K + 2/e + log sec beta + 2 beta."""
    beta = arb(number(points["angle"], "the angle of the quadrature", 0.0, 1.57))  # below pi/2
    if not beta > 0:
        refuse("the angle of the quadrature must be above 0")
    return beta, arb(answers).log() + 2 * arb(-1).exp() - beta.cos().log() + 2 * beta


def _keys(points: dict[str, Any], expected: set[str]) -> None:
    if set(points) != expected:
        refuse(f"the quadrature must hold {', '.join(sorted(expected))}")
