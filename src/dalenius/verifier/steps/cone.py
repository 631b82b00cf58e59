"""Several releases of one answer with geometric or Laplace noise, bounded by one: the step "cone".

Let every column q(y|.) > 0 of a release be log-concave in the answer t = 0..R, with slopes of log q(y|.) of at most C
in absolute value. Then the release is a function, with chance, of t + geometric noise of the rate C. Proof:
docs/mathematics.md, 4.14.

Columns of geometric noise, and of Laplace noise, rounded, clamped or neither, are log-concave with slopes of at most
their rate: both laws are, and so are their sums over intervals. Columns of several releases are products, so that C is
the sum of the rates. Any larger C will do as well. A release that is chosen by the output of the first one is, whatever
that output, a function of geometric noise of the highest rate among the choices.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import arb

from dalenius.verifier.forms.named import Added
from dalenius.verifier.kernel.balls import ZERO, Ball, exact
from dalenius.verifier.kernel.reading import field, number, refuse


def strongest(parts: Sequence[Sequence[Added]], where: str) -> list[Added]:
    """Of every release the noise of the highest rate among those that may be chosen for it.

    Refused where one has columns that are not log-concave, or of any slope.
    """
    for j, choices in enumerate(parts):
        for part in choices:
            if not part.steady:
                refuse(
                    f"{where}: release {j}, {part.text}, has no columns that are log-concave with slopes of at most a "
                    "rate; geometric and Laplace noise has"
                )
    return [max(choices, key=_rate) for choices in parts]


def rate(parts: Sequence[Sequence[Added]], stated: dict[str, Any], where: str) -> Ball:
    """Guarantee: all releases together are a function, with chance, of geometric noise of this rate on the answer."""
    total = sum((exact(_rate(part)) for part in strongest(parts, where)), ZERO)
    claimed = arb(number(field(stated, "rate", where), f"the rate of {where}"))
    if not claimed >= total:
        refuse(f"{where}: its rate {float(claimed):.10g} is below {float(total):.10g}, the sum of the releases' rates")
    return claimed


def _rate(part: Added) -> Fraction:
    assert part.size is not None  # for the type checker: it was seen to be steady
    return part.size
