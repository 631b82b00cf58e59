"""Leakage as a guess: how often whoever guesses the secret may be right after the release, given how often before.

Let A be the secret, Y the output and g the chance of the best guess before the release, max P(A = a). A guess from Y is
right with chance p under the joint law and with chance at most g under the product of the marginals, where the output
tells nothing. By data processing, and as d(p || .) falls up to p,

    d(p || g) = p log(p/g) + (1-p) log((1-p)/(1-g)) <= I(A;Y) <= upper        whenever p >= g,

so p is at most the root above g of d(p || g) = upper, or 1 where log(1/g) <= upper. The root grows with g: it also
holds for whoever is right less often than g before. A property of the secret leaks no more than the secret does.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING

import numpy as np

from dalenius.errors import refuse, show
from dalenius.model import checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dalenius.model.reference import Reference
    from dalenius.numerics.types import Floats
    from dalenius.results.audit import Audit

EXACT = Context(prec=60)
# Who guesses: among equally likely values, and by public frequencies.
WHOEVER = ("whoever guesses", "whoever goes by the public frequencies and guesses")
# More than the rounding of a few operations with 60 digits.
ROUNDING = Decimal("1e-50")


def guess(upper: float, before: float = 0.5, unit: str = "nats") -> float:
    """Return the greatest chance of a right guess after a release that leaks at most `upper`.

    Guarantee: result >= the p in [before, 1] with d(p || before) = upper; by less than two steps of a float where
    before is above 1e-15, and below that by more if upper is next to nothing.

    before: chance of the best guess before the release, above 0 and below 1: the decimal number that it prints as.
    """
    chance = checks.real("before", before, 0.0, 1.0)
    if not 0 < chance < 1:
        refuse(f"before = {show(before)} is not a chance between 0 and 1; give that of a guess before the release")
    if not math.isfinite(upper):
        return 1.0
    scale = EXACT.ln(Decimal(2)) if unit == "bits" else Decimal(1)
    leaked = EXACT.add(EXACT.multiply(Decimal(upper), scale), ROUNDING)
    low, high, given = chance, 1.0, Decimal(repr(chance))
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if _divergence(Decimal(middle), given) >= leaked else (middle, high)
    return high


def _divergence(p: Decimal, g: Decimal) -> Decimal:
    """d(p || g), for 0 < g <= p < 1."""
    pairs = ((p, g), (EXACT.subtract(Decimal(1), p), EXACT.subtract(Decimal(1), g)))
    right, wrong = (EXACT.multiply(a, EXACT.ln(EXACT.divide(a, b))) for a, b in pairs)
    return EXACT.add(right, wrong)


def sentences(audit: "Audit", upper: float | None = None) -> list[str]:
    """Say what an audit means for a guess among equally likely values, and for one by public frequencies if there are.

    upper: another bound on what leaks about the same secret, as of several releases together. Nothing is said where the
    upper bound is the trivial one of the paper's method.
    """
    said = _said(_before(audit), audit.upper if upper is None else upper, audit.unit)
    return said if audit.confidence is None else [f"{one} with confidence {audit.confidence:.12g}" for one in said]


def at_point(audit: "Audit") -> str:
    """Return what stands behind the bracket of one adversary among several; nothing where nothing can be said."""
    chances = _before(audit)
    if not chances:
        return ""
    after = guess(audit.upper, chances[0], audit.unit)
    then = "may then be certain" if after >= 1 else f"is then right in at most {_percent(after, ROUND_CEILING)}"
    return f"; a guess right in {_percent(chances[0], ROUND_FLOOR)} {then}"


def about_record(upper: float, unit: str, records: tuple[int, ...], reference: "Reference") -> list[str]:
    """Say the same of a record with the most values, where there is no audit; real numbers have 0 values."""
    values = max(records)
    if values == 0 or reference.kind == "weights":
        return _said([1 / values if values else 0.5], upper, unit)
    law = reference.log_law_of(records.index(values), values)
    return _said(_chances(law, public=not reference.uniform), upper, unit)


def _said(chances: "Sequence[float]", upper: float, unit: str) -> list[str]:
    return [sentence(upper, before, unit, whoever) for before, whoever in zip(chances, WHOEVER, strict=False)]


def _before(audit: "Audit") -> list[float]:
    """The chances of a guess before the release: by equally likely values, and by public frequencies.

    No value of a real number is ever guessed right, but whether it lies above its median is, with chance 1/2.
    """
    if audit.proved == "lower":
        return []
    if audit.mechanism.as_real_records is not None and isinstance(audit.prior.secret, int):
        return [0.5]
    log_law = np.logaddexp.reduce(audit.prior.log_reference(), axis=1)
    return _chances(log_law, public=not audit.reference.uniform)


def _chances(log_law: "Floats", *, public: bool) -> list[float]:
    values = int(np.isfinite(log_law).sum())
    if values == 1:
        return []
    # Twelve digits, so that a frequency is shown as it was given.
    often = float(f"{math.exp(log_law.max() - np.logaddexp.reduce(log_law)):.12g}")
    return [1 / values, *([often] if public and 1 / values < often < 1 else [])]


def sentence(upper: float, before: float = 0.5, unit: str = "nats", whoever: str = WHOEVER[0]) -> str:
    """Say what a bound on the leakage means for a guess: digits of `before` rounded down, those after it up."""
    after = guess(upper, before, unit)
    start = f"{whoever} right with chance {_percent(before, ROUND_FLOOR)} before the release"
    if after >= 1:
        return f"{start} may be certain after it; this bound does not exclude that"
    return f"{start} guesses right with chance at most {_percent(after, ROUND_CEILING)} after it"


def _percent(chance: float, rounding: str) -> str:
    """A chance below 1 with three digits, and more where it would be rounded to 100 %.

    Rounded down it is what the float prints as, as `guess` takes it; rounded up the float itself, which may be more.
    """
    exact = Decimal(repr(chance)) if rounding == ROUND_FLOOR else Decimal(chance)
    for digits in range(3, 20):
        shown = Context(prec=digits, rounding=rounding).multiply(exact, Decimal(100))
        if shown < 100:  # per cent
            break
    return f"{shown.normalize():f} %"
