"""Releases of statistics offices: what becomes of each number that a mechanism releases, in exact fractions.

    rounding          y becomes the nearest multiple of base, halves up; with midpoint the middle of the base numbers up
                      to a multiple, and 0 stays
    random_rounding   y - r with chance 1 - r/base, y - r + base with chance r/base, where r = y mod base
    cell_key          y + change with the chances that a table has for y, those of its last answer for all larger ones
    suppressed        numbers from 1 (or 0) to below - 1 become one output

Of count vectors every count is processed by itself. New outputs ascend, what is suppressed first. Below
them rows of samples of the records, of shuffled responses and of the most frequent value.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from flint import arb, arb_poly

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, precision
from dalenius.verifier.kernel.limits import SLACK, largest, tick, ticking
from dalenius.verifier.kernel.reading import fits, number, refuse, sequence, show, whole

Rows = list[list[Ball]]
Law = dict[Any, Fraction]
Kernel = Callable[[int], Law]

SUPPRESSED = "suppressed"


def _flag(given: dict[str, Any], name: str) -> bool:
    if type(given[name]) is not bool:
        refuse(f"{name} is {show(given[name])}; it must be True or False")
    return bool(given[name])


def _rounding(given: dict[str, Any]) -> Kernel:
    base = whole(given["base"], "base", 2, largest().contribution)
    if _flag(given, "midpoint"):
        return lambda y: {-(-y // base) * base - (base // 2 if y else 0): Fraction(1)}
    return lambda y: {(2 * y + base) // (2 * base) * base: Fraction(1)}


def _random_rounding(given: dict[str, Any]) -> Kernel:
    base = whole(given["base"], "base", 2, largest().contribution)
    return lambda y: {y - y % base: Fraction(base - y % base, base), y - y % base + base: Fraction(y % base, base)}


def _suppressed(given: dict[str, Any]) -> Kernel:
    below, least = whole(given["below"], "below", 1, largest().contribution), int(_flag(given, "keep_zero"))
    return lambda y: {SUPPRESSED if least <= y < below else y: Fraction(1)}


def _cell_key(given: dict[str, Any]) -> Kernel:
    laws: dict[int, dict[int, Fraction]] = {}
    for row in sequence(given["table"], "the perturbation table"):
        answer, change, chance = sequence(row, "a row of the perturbation table", 3)
        most = largest().contribution
        law = laws.setdefault(whole(answer, "an answer of the perturbation table", -most, most), {})
        if whole(change, "a change of the perturbation table", -most, most) in law:
            refuse(f"the perturbation table has a change of the answer {answer} twice")
        law[change] = Fraction(number(chance, "a probability of the perturbation table", 0.0, 2.0))
    for answer, law in laws.items():
        if abs(sum(law.values(), Fraction(-1))) > SLACK.law_sum:
            refuse(f"the probabilities of the perturbation table for the answer {answer} do not sum to 1")
    last = max(laws, default=0)

    def kernel(y: int) -> Law:
        law = laws.get(min(y, last))
        if law is None:
            refuse(f"the perturbation table has no row for the answer {min(y, last)}")
        total = sum(law.values(), Fraction(0))
        return {y + change: p / total for change, p in law.items()}

    return kernel


KERNELS = {
    "rounding": _rounding,
    "random_rounding": _random_rounding,
    "cell_key": _cell_key,
    "suppressed": _suppressed,
}


def processed(outputs: Sequence[Any], rows: Rows, kernels: Sequence[Kernel]) -> tuple[list[Any], Rows]:
    """Return the outputs and rows after these kernels, one after the other.

    Their product is taken in fractions, and an entry is the same ball wherever it is made of the same balls and
    fractions: rows that are equal have the same entries, and are put together.
    """
    laws: list[Law] = []
    for y in outputs:
        tick()
        law: Law = {y: Fraction(1)}
        for kernel in kernels:
            law = _composed(law, kernel)
        laws.append(law)
    after = sorted({z for law in laws for z in law}, key=_place)
    fits(len(after) * len(rows), "the processed channel")
    shared: dict[tuple[tuple[int, Fraction], ...], Ball] = {}
    found = []
    for row in ticking(rows):
        parts: dict[Any, list[tuple[Ball, Fraction]]] = {}
        for q, law in zip(row, laws, strict=True):
            if q is not ZERO:
                for z, p in law.items():
                    parts.setdefault(z, []).append((q, p))
        # All the mass in one place is 1, whatever it was put together from.
        found.append(
            [_entry(parts.get(z, []), shared) if len(parts) > 1 else ONE if z in parts else ZERO for z in after]
        )
    return after, found


def _entry(parts: list[tuple[Ball, Fraction]], shared: dict[tuple[tuple[int, Fraction], ...], Ball]) -> Ball:
    if not parts:
        return ZERO
    key = tuple(sorted((id(q), p) for q, p in parts))
    if key not in shared:
        shared[key] = (
            parts[0][0]
            if len(parts) == 1 and parts[0][1] == 1
            else sum((q * p.numerator / p.denominator for q, p in parts), ZERO)
        )
    return shared[key]


def _composed(law: Law, kernel: Kernel) -> Law:
    found: Law = {}
    for y, p in law.items():
        for z, q in _through(y, kernel).items():
            found[z] = found.get(z, Fraction(0)) + p * q
    return {z: p for z, p in found.items() if p}


def _through(output: Any, kernel: Kernel) -> Law:
    if output == SUPPRESSED:
        return {output: Fraction(1)}
    if not isinstance(output, tuple):
        return kernel(output)
    laws = [[(z, p) for z, p in _through(y, kernel).items() if p] for y in output]
    fits(math.prod(map(len, laws)), "what a vector of counts is processed into")
    return {tuple(z for z, _ in parts): math.prod((p for _, p in parts), start=Fraction(1)) for parts in product(*laws)}


def _place(output: Any) -> tuple[Any, ...]:
    parts = output if isinstance(output, tuple) else (output,)
    return tuple((0, 0) if y == SUPPRESSED else (1, y) for y in parts)


def sampled(rows: Rows, rate: float) -> Rows:
    """The rows of a count of records that are each kept with chance `rate`: binomial mixtures of the rows of counts."""
    kept, left = arb(rate), 1 - arb(rate)
    powers = [(kept**s, left**s) for s in range(len(rows))]
    # Mixtures of equal rows are these rows, with the same entries.
    alike = next((t for t, row in enumerate(rows) if list(map(id, row)) != list(map(id, rows[0]))), len(rows))
    found = rows[:alike]
    for t in ticking(range(alike, len(rows))):
        law = [math.comb(t, s) * powers[s][0] * powers[t - s][1] for s in range(t + 1)]
        found.append([_mixed(law, column) for column in zip(*rows[: t + 1], strict=True)])
    return found


def _mixed(law: Sequence[Ball], column: Sequence[Ball]) -> Ball:
    parts = [p if q is ONE else p * q for p, q in zip(law, column, strict=True) if q is not ZERO]
    return sum(parts[1:], parts[0]) if parts else ZERO


def response(epsilon: Ball, k: int) -> tuple[Ball, Ball]:
    """The chances that randomised response keeps a value, and that it becomes any one of the k - 1 others."""
    ratio = (-epsilon).exp()
    kept = 1 / (1 + (k - 1) * ratio)
    return kept, ratio * kept


def shuffled(counts: Sequence[tuple[int, ...]], epsilon: Ball) -> Rows:
    """The law of the counts of outputs of randomised response, for the counts of values.

    Its generating function is prod_a ( sum_y W(y|a) x_y )^(t_a); x_y is a power x^((n+1)^y) of one variable, and 1 for
    the last y.
    """
    n, k = sum(counts[0]), len(counts[0])
    kept, other = response(epsilon, k)
    places = [sum(c * (n + 1) ** y for y, c in enumerate(z[:-1])) for z in counts]
    powers = []
    for a in range(k):
        form = linear([kept if y == a else other for y in range(k)], n)
        powers.append([arb_poly([1])])
        for _ in ticking(range(n)):
            powers[a].append(powers[a][-1] * form)
    found = []
    for values in ticking(counts):
        total = math.prod((powers[a][many] for a, many in enumerate(values)), start=arb_poly([1]))
        found.append([total[place].nonnegative_part() for place in places])
    return found


def linear(row: Sequence[Ball], n: int) -> Ball:
    """sum_y row(y) x_y as a polynomial of one variable, for powers up to n: x_y is x^((n+1)^y), and 1 for the last."""
    coefficients = [ZERO] * ((n + 1) ** max(len(row) - 2, 0) + 1)
    coefficients[0] = row[-1]
    for y, q in enumerate(row[:-1]):
        coefficients[(n + 1) ** y] += q
    return arb_poly(coefficients)


def gumbel(counts: Sequence[int], epsilon: Ball) -> list[Ball]:
    """P(y) proportional to exp(epsilon c_y / 2): the largest count after Gumbel noise of scale 2 / epsilon."""
    tick()
    weights = [(epsilon * (c - max(counts)) / 2).exp() for c in counts]
    total = sum(weights, ZERO)
    return [w / total for w in weights]


def permute_and_flip(counts: Sequence[int], epsilon: Ball) -> list[Ball]:
    """Values in random order, each taken with probability p_v = exp( epsilon (c_v - max c) / 2 ) until one is.

    A random order is that of uniform arrival times. Given that y arrives at t it is the one taken where no other value
    both arrives before t and is taken when it does:

        P(y) = p_y int_0^1 prod_{v != y} (1 - t p_v) dt,

    a polynomial. Its coefficients alternate in sign, and none exceeds 2^(k-1): that many bits are added.
    """
    tick()
    with precision(2 * len(counts) + 192):
        p = [(epsilon * (c - max(counts)) / 2).exp() for c in counts]
        chance: dict[int, Ball] = {}
        for y, c in enumerate(counts):
            if c not in chance:
                product = arb_poly([ONE])
                for v, q in ticking(enumerate(p), every=64):
                    if v != y:
                        product *= arb_poly([ONE, -q])
                area = sum((a / (j + 1) for j, a in enumerate(product.coeffs())), ZERO)
                chance[c] = p[y] * area
    return [(+chance[c]).nonnegative_part() for c in counts]


# Laws of noisy_max.
LAWS = {"gumbel": gumbel, "permute_and_flip": permute_and_flip}
