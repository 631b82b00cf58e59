"""Units of information. Solvers and certificates count in nats; numbers become the user's here, and back."""

import math
from typing import Literal

Unit = Literal["nats", "bits"]

NATS_PER_UNIT = {"nats": 1.0, "bits": math.log(2)}


def in_unit(nats: float, unit: str) -> float:
    """Return nats in the unit; in bits to 15 digits, which gives back the decimal number that a user gave."""
    return nats if unit == "nats" else float(f"{nats / NATS_PER_UNIT[unit]:.15g}")


def down(nats: float, scale: float) -> float:
    """Guarantee: result <= nats / scale, and not below 0; scale is the number of nats in one unit."""
    return nats if scale == 1 else max(0.0, math.nextafter(nats / scale, -math.inf))


def up(nats: float, scale: float) -> float:
    """Guarantee: result >= nats / scale."""
    return nats if scale == 1 else math.nextafter(nats / scale, math.inf)
