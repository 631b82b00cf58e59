"""What noise on every count of a histogram leaves of a divergence from independent records.

Geometric noise of rate c is on every count, or noise that is such noise and more. Under W records are independent, and
record i has the law p_i. Then D(p q || W q) <= eta D(p || W) for every law p of the records, with

    log(1/eta) = integral over beta >= 1 of 1 / ( beta (1 + beta Theta(beta)) ),     Theta = sum_i theta_i(beta),

and theta_i(beta) = sinh(c)^2 lambda for any lambda such that for all masses p of the law, all a with |log a| at most
delta, u = a^beta, and all m >= p u + (1-p) e^(-beta delta), with C = cosh(c)^2, phi(x) = x log x - x + 1, kappa = 2
phi(u) / ( beta (a-1) )^2, z = 2 / ( beta (a-1) )^2 and one zeta >= 0 for all a and p, which is 0 where m >= 1,

    kappa <= lambda ( a^(beta-2) + (m - p u) / (p C) ) + z ( phi(m) + zeta (m - u) log m ).

Here delta = min(c, 2 c mu / beta), where log mu is the integral up to beta: functions of the outputs that matter change
by at most 2 delta from one output to the next. For every law and beta theta_i = e^delta sinh(c)^2 (2 cosh c - e^-delta)
( delta / (1 - e^-delta) )^2 / 2 serves as well. What is put in place of a, u, z and m on a part of the range of u and a
step of beta, and the proof: docs/proofs/product-laws.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import floor, log

from flint import arb

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.limits import tick

# Parts of the range of log u to either side of 0; steps of beta, by a factor, up to the last, one of which ends here.
PARTS = 24
STEP, LAST, END = 1.1, 256.0, 2
# zeta is as large as top (1 - 1 / beta), where no |log u| is above top, and as this.
LEAN = 0.6
# lambda is a power of this, and does not fall from step to step.
LADDER = 1.005
# Rounds of Newton's method.
ROUNDS = 6
# Of a larger rate next to nothing is lost, and powers are no floats.
LARGE = 2


def contraction(rate: Ball, records: Sequence[tuple[int, Sequence[Ball]]]) -> Ball:
    """Guarantee: D(p q || W q) <= result x D(p || W) for every law p of the records, W their product law.

    records: how many have one law, and the masses of the values that they can have.
    """
    # A record of one value tells nothing; masses that are the same ball are one.
    listed = [(many, list({_exact(p): p for p in law}.values())) for many, law in records if len(law) > 1]
    people = sum(many for many, _ in listed)
    if not people or rate.is_zero():
        return ZERO
    square, most = rate.sinh() ** 2, _crude(rate, rate)
    rungs = [floor(log(max(map(float, law))) / log(LADDER)) for _, law in listed]

    def total() -> Ball:
        return sum(
            (many * most.min(square * arb(LADDER**rung)) for (many, _), rung in zip(listed, rungs, strict=True)), ZERO
        )

    kept, before = ZERO, 1.0
    while before < LAST and rate < LARGE:
        after = min(2.0 if before < END else LAST, before * STEP)
        # No less than log mu at the end of the step: lambda does not fall.
        later = kept + _gained(before, after, total())
        top = rate * arb(after).min(2 * later.exp())
        parts = [_part(j, top, arb(before), arb(after)) for j in range(-PARTS, PARTS)]
        zeta = (top * (1 - 1 / arb(after))).min(arb(LEAN))
        for i, (_, law) in enumerate(listed):
            tick()
            # All parts, with every mass.
            cases = [
                _Case(part, p, 1 / (p * rate.cosh() ** 2), (1 - p) * (-top).exp(), zeta) for p in law for part in parts
            ]
            rungs[i] = _rung(rungs[i], cases, most / square)
        kept += _gained(before, after, total())
        before = after
    beyond = before * people * _crude(rate, rate.min(2 * rate * kept.exp() / before))
    return (-kept).exp() * beyond / (1 + beyond)


def _gained(before: float, after: float, theta: Ball) -> Ball:
    """The integral over a step, on which Theta is constant."""
    return (after / (1 + after * theta) * (1 + before * theta) / before).log()


def _crude(c: Ball, delta: Ball) -> Ball:
    """What serves for every law and beta."""
    lean = delta / -(-delta).expm1()
    return delta.exp() * c.sinh() ** 2 * (2 * c.cosh() - (-delta).exp()) * lean**2 / 2


def _rung(rung: int, cases: "Sequence[_Case]", most: Ball) -> int:
    """Guarantee: LADDER to the power of the result serves in every case, or is above `most`; not below `rung`."""
    risen = True
    while risen:
        risen = False
        for case in cases:
            while (given := arb(LADDER**rung)) < most and not case.serves(given):
                rung, risen = rung + 1, True
    return rung


def _exact(p: Ball) -> tuple[object, object]:
    return p.mid().man_exp(), p.rad().man_exp()


@dataclass(frozen=True)
class _Part:
    """For all u of a part and beta of a step: bounds of kappa from above, of z and a^(beta-2) from below, and of u."""

    above: bool  # whether u >= 1
    kappa: Ball
    z: Ball
    own: Ball
    least: Ball
    most: Ball


def _part(j: int, top: Ball, first: Ball, last: Ball) -> _Part:
    """The bounds for log u between top j / PARTS and top (j+1) / PARTS, and beta between first and last."""
    above, low, high = j >= 0, top * j / PARTS, top * (j + 1) / PARTS
    late, early = (last, first) if above else (first, last)
    if last <= END:
        kappa = _kappa(ONE, low / late) ** (END - late) * _kappa(arb(END), high / late) ** (late - 1)
    else:
        kappa = _kappa(late, high / late)
    z = 2 / (early * ((high if above else low) / early).expm1()) ** 2
    own = reduce(arb.min, (y - 2 * y / b for b in (first, last) for y in (low, high))).exp()
    return _Part(above, kappa, z, own, low.exp(), high.exp())


def _kappa(b: Ball, log_x: Ball) -> Ball:
    if log_x.is_zero():
        return ONE
    power = (b * log_x).exp()
    return 2 * (b * power * log_x - power + 1) / (b * log_x.expm1()) ** 2


def _phi(x: Ball) -> Ball:
    return x * x.log() - x + 1


@dataclass(frozen=True)
class _Case:
    """A part, and the mass p of a value: price is 1 / (p C), rest the least that other values add to a mean."""

    part: _Part
    p: Ball
    price: Ball
    rest: Ball
    zeta: Ball

    def serves(self, given: Ball) -> bool:
        """Guarantee: if true, the inequality holds for every u, beta and m with this lambda."""
        part, gain = self.part, given * self.price
        enough = part.kappa - given * part.own
        # Means m from 1 on: the worst u is where p u + rest is 1, or as near to that as the part comes.
        w = (1 - self.rest).max(self.p * part.least).min(self.p * part.most)
        m = (w + self.rest).max(ONE)
        if not gain * (m - w) + part.z * _phi(m) >= enough:
            return False
        start = self.p * part.least + self.rest
        if part.above and start >= 1:
            return True
        found = self._above(gain, start) if part.above else self._below(gain)
        return all(x - gain * self.p * part.most >= enough for x in found)

    def _above(self, gain: Ball, start: Ball) -> Iterator[Ball]:
        """Means below 1: by the tangent at any one of them, as the function is convex."""
        part, zeta = self.part, self.zeta
        at = arb(self._mean(float(gain / part.z), float(start)))
        log = at.log()
        value = gain * at + part.z * (_phi(at) - zeta * (part.least - at) * log)
        slope = gain + part.z * ((1 + zeta) * log + zeta * (1 - part.least / at))
        yield value + (slope * (1 - at)).min(slope * (start - at))

    def _below(self, gain: Ball) -> Iterator[Ball]:
        """Means below u; and between u and 1, by their share t of the way."""
        part, zeta = self.part, self.zeta
        yield part.z * (1 - (-gain / part.z).exp())
        apart, square = 1 - part.least, 1 + 2 * zeta * part.least
        lost, ratio, turn = gain * apart, apart**2 * part.z / 2, (2 * zeta / square).min(ONE)
        t = ((2 * zeta + lost) / (2 * square)).min(turn)
        yield gain - t * lost + square * t**2 - 2 * zeta * t
        t = ((2 * zeta + lost / ratio) / (2 * square)).max(turn).min(ONE)
        yield gain - t * lost + ratio * (square * t**2 - 2 * zeta * t)

    def _mean(self, gain: float, start: float) -> float:
        """The worst mean, nearly: Newton's method from 1."""
        zeta, least, m = float(self.zeta), float(self.part.least), 1.0
        for _ in range(ROUNDS):
            step = gain + (1 + zeta) * log(m) + zeta * (1 - least / m)
            m = min(1.0, max(start, m - step * m / (1 + zeta + zeta * least / m)))
        return m
