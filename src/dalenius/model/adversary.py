"""The adversary: how much entropy its prior must keep, or how much it may know."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Literal

from dalenius.errors import InputError
from dalenius.model import checks

DIGITS = 50
SLACK = Decimal("1e-9")
NOISE = Decimal("1e-40")  # differences below it are rounding of the DIGITS digits


@dataclass(frozen=True)
class Adversary:
    """All priors p with H(p) >= entropy, that is D(p || uniform) <= knowledge = log|X| - entropy.

    Nats. `value` is the number the user gave, as certificates state it. The difference is taken
    with 50 digits, because near knowledge 0 the leakage moves like sqrt(knowledge).
    """

    knowledge: float
    entropy: float
    given: Literal["entropy", "knowledge"]
    value: float

    @classmethod
    def from_user(
        cls,
        records: Sequence[int],
        entropy: float | None = None,
        knowledge: float | None = None,
        unit: str = "nats",
    ) -> "Adversary":
        """Return the adversary of exactly one of entropy and knowledge, in nats or bits."""
        if (entropy is None) == (knowledge is None):
            how = "neither was given" if entropy is None else "both were given"
            message = f"give exactly one of entropy and knowledge; {how}"
            raise InputError(message)
        if unit not in ("nats", "bits"):
            message = f"unit = {unit!r} is unknown; use 'nats' or 'bits'"
            raise InputError(message)
        with localcontext(Context(prec=DIGITS)):
            most = sum((many * Decimal(k).ln() for k, many in Counter(records).items()), Decimal(0))
            scale = Decimal(2).ln() if unit == "bits" else Decimal(1)
            if entropy is None:
                return cls._known(knowledge, scale, most)
            return cls._uncertain(entropy, scale, most, unit)

    @classmethod
    def _uncertain(cls, entropy: float, scale: Decimal, most: Decimal, unit: str) -> "Adversary":
        number = checks.real("entropy", entropy, -math.inf, math.inf)
        b = Decimal(number) * scale
        if b < 0 or b > most + SLACK * max(Decimal(1), most):
            message = (
                f"entropy = {entropy} {unit} is not between 0 and log|X| = {float(most / scale):.12g} {unit}, "
                "the entropy of the uniform prior"
            )
            raise InputError(message)
        knowledge = most - b
        if knowledge < NOISE:
            value = number if scale == 1 else max(float(b), _at_least(most))
            return cls(0.0, float(most), "entropy", value)
        return cls(float(knowledge), float(b), "entropy", float(b))

    @classmethod
    def _known(cls, knowledge: float | None, scale: Decimal, most: Decimal) -> "Adversary":
        if knowledge == math.inf:
            return cls(float(most), 0.0, "knowledge", _at_least(most))
        k = Decimal(checks.real("knowledge", knowledge, 0.0, math.inf)) * scale
        if k >= most:
            return cls(float(most), 0.0, "knowledge", max(float(k), _at_least(most)))
        return cls(float(k), float(most - k), "knowledge", float(k))


def _at_least(number: Decimal) -> float:
    """Return the smallest float that is not below number."""
    nearest = float(number)
    return nearest if Decimal(nearest) >= number else math.nextafter(nearest, math.inf)
