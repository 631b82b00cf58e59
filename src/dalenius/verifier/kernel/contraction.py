"""How much a channel contracts Kullback-Leibler divergence, certified from above.

eta is the least number with D(wP || w0P) <= eta D(w || w0) for all priors w, w0 on the rows P. Pairs of rows suffice
[ordentlich20], and eta(P,Q) = 1 - inf { h(lam) : 0 < lam < 1 }, h(lam) = sum_y P Q / (lam P + (1-lam) Q). Total
variation of a pair (Dobrushin [dobrushin56]) and the mass that all rows do not have in common (Doeblin) bound it too.

Many rows are bundled: the least entries m >= 0 of its rows stand for a bundle, as h rises with P and with Q, and two
rows of one bundle have h >= sum_y m. Any bundles will do. Rows over two outputs are mixtures of the two with the least
and the largest first entry, which stand for all. Proofs: docs/mathematics.md, 4.3.
"""

import math
from collections.abc import Sequence
from functools import reduce

from flint import arb

from .balls import ONE, ZERO, Ball
from .limits import tick, ticking

Row = Sequence[Ball]

# Rows up to which every pair is looked at.
FEW = 64


def common_mass(rows: Sequence[Row]) -> Ball:
    """Guarantee: sum_y min_c P_c(y) >= result."""
    total = ZERO
    for entries in zip(*rows, strict=True):
        tick()
        total += reduce(arb.min, (q.lower() for q in entries))  # not a number where one of them is not
    return total


def contracts(rows: Sequence[Row], eta: Ball) -> bool:
    """Guarantee: if true, D(wP || w0P) <= eta D(w || w0) for all w, w0 on these rows."""
    if eta >= 1 or len(rows) <= 1 or ONE - common_mass(rows) <= eta:
        return True
    if len(rows[0]) == 2:
        least, most = _ends([row[0] for row in rows])
        return pair_contracts(least, most, eta)
    if len(rows) > FEW:
        rows = bundled(rows)
        if not all(ONE - sum(row, ZERO) <= eta for row in rows):
            return False
    return all(pair_contracts(p, q, eta) for i, p in enumerate(rows) for q in rows[:i])


def _ends(first: Sequence[Ball]) -> tuple[Row, Row]:
    """Guarantee: every law over two outputs with one of these first entries is a mixture of the two laws returned."""
    least, most = ONE, ZERO
    for x in first:
        least, most = least.min(x.lower()), most.max(x.upper())
    least, most = least.nonnegative_part(), most.min(ONE)
    return [least, ONE - least], [most, ONE - most]


def bundled(rows: Sequence[Row]) -> list[Row]:
    """Guarantee: no row is anywhere below the one that stands for its bundle, rows that agree to ten decimals.

    Nor is that one below 0, although a ball of a small probability may reach there.
    """
    bundles: dict[tuple[float, ...], list[Ball]] = {}
    for row in ticking(rows):
        key = tuple(round(float(x), 10) for x in row)
        known = bundles.get(key)
        if known is None:
            bundles[key] = list(row)
        else:
            for y, (least, x) in enumerate(zip(known, row, strict=True)):
                if not x >= least:
                    known[y] = least.min(x).lower().nonnegative_part()
    return list(bundles.values())


def pair_contracts(p: Row, q: Row, eta: Ball, odds: float | None = None) -> bool:
    """Guarantee: if true, eta(P,Q) <= eta, whatever lam the tangent is taken at; log lam/(1-lam) is searched for.

    Rows of laws, or of least entries of laws: then it holds for all of them.
    """
    tick()
    shared = [(a, b) for a, b in zip(p, q, strict=True) if not (a.is_zero() or b.is_zero())]
    # Total variation is what two laws do not have in common.
    if ONE - sum((a.min(b) for a, b in shared), ZERO) <= eta:
        return True
    at = arb(_log_odds([(float(a), float(b)) for a, b in shared]) if odds is None else odds)
    lam, rest = 1 / (1 + (-at).exp()), 1 / (1 + at.exp())
    height, slope = ZERO, ZERO
    for a, b in shared:
        # h(lam) = sum a b / mix,  h'(lam) = sum a b (b - a) / mix^2
        mix = lam * a + rest * b
        term = a * b / mix
        height += term
        slope += term * (b - a) / mix
    # h is convex: it lies above its tangent, and that is least at one end of [0, 1].
    least = height - (slope * lam).max(-slope * rest)
    return bool(ONE - least <= eta)


def _log_odds(shared: list[tuple[float, float]], steps: int = 60) -> float:
    """Roughly where h is least, by Newton's method on h' in lam, halving where that leaves the bracket; any will do."""
    low, high, at = -700.0, 700.0, 0.0
    for _ in range(steps):
        odds = math.exp(at)
        slope = curve = 0.0
        for a, b in shared:
            if (mix := odds * a + b) > 0:
                term = (a / mix) * (b / mix) * (a - b)
                slope -= term
                curve += 2 * term * ((a - b) / mix)
        low, high = (low, at) if slope > 0 else (at, high)
        newton = at - (1 + odds) / odds * slope / curve if curve > 0 else low
        after = newton if low < newton < high else (low + high) / 2
        if abs(after - at) < 1e-12:  # noqa: PLR2004 - h hardly changes any more
            break
        at = after
    return at
