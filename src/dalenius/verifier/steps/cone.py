"""Several releases of one answer with geometric or Laplace noise, bounded by one: the step "cone".

Let every column q(y|.) > 0 of a release be log-concave in the answer t = 0..R, with slopes of log q(y|.) of at most C
in absolute value. Then the release is a function, with chance, of t + geometric noise of the rate C. Proof:
docs/mathematics.md, 4.14.

Columns of geometric noise, and of Laplace noise, rounded, clamped or neither, are log-concave with slopes of at most
their rate: both laws are, and so are their sums over intervals. Columns of several releases are products, so that C is
the sum of the rates. Any larger C will do as well.
"""

from collections.abc import Sequence
from typing import Any

from flint import arb

from dalenius.verifier.forms.named import Added
from dalenius.verifier.kernel.balls import ZERO, Ball
from dalenius.verifier.kernel.reading import field, number, refuse


def rates(parts: Sequence[Added], where: str) -> list[Ball]:
    """The rate of every release; refused where one has columns that are not log-concave, or of any slope."""
    for j, part in enumerate(parts):
        if not part.steady:
            refuse(
                f"{where}: release {j}, {part.text}, has no columns that are log-concave with slopes of at most a "
                "rate; geometric and Laplace noise has"
            )
    return [part.parameter for part in parts]


def rate(parts: Sequence[Added], stated: dict[str, Any], where: str) -> Ball:
    """Guarantee: all releases together are a function, with chance, of geometric noise of this rate on the answer."""
    total = sum(rates(parts, where), ZERO)
    claimed = arb(number(field(stated, "rate", where), f"the rate of {where}"))
    if not claimed >= total:
        refuse(f"{where}: its rate {float(claimed):.10g} is below {float(total):.10g}, the sum of the releases' rates")
    return claimed
