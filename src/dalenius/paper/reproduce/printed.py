"""What the paper prints in its evaluation and appendix: numbers, with where they stand."""

import math
from typing import Any, Final

LN2 = math.log(2)

TABLE: Final = {  # the appendix's table: nats, parity of n = 4 bits, epsilon = 1; by family, then by b
    "laplace": {0.0: 0.079, 0.5: 0.062, 1.0: 0.041, 1.5: 0.022, 2.0: 0.009, 2.77: 0.0},
    "exponential": {0.0: 0.032, 0.5: 0.024, 1.0: 0.015, 1.5: 0.008, 2.0: 0.003, 2.77: 0.0},
}
# Not the paper's: a channel on records of 3 and 2 values, where Algorithm 1 stays short of the optimum at b = 0.
RATIONAL: Final = (
    (1 / 4, 1 / 2, 1 / 4),
    (0.0, 0.0, 1.0),
    (0.0, 2 / 3, 1 / 3),
    (2 / 9, 4 / 9, 3 / 9),
    (1 / 7, 4 / 7, 2 / 7),
    (0.0, 0.0, 1.0),
)
FORMULAS: Final = {"nats": "ln 2 - H_b(p)", "bits": "1 - H_b(p)/ln 2"}
CAPTION: Final = 0.0931  # nats, BSC(0.3), n = 4, b = 0


def binary_entropy(p: float) -> float:
    """H_b(p) = - p ln p - (1-p) ln(1-p), in nats."""
    return -sum(x * math.log(x) for x in (p, 1 - p) if x > 0)


def laplace_flip(epsilon: float) -> float:
    """p_L = exp(-epsilon/2) / 2: Laplace noise on one bit, thresholded at 1/2."""
    return math.exp(-epsilon / 2) / 2


def exponential_flip(epsilon: float) -> float:
    """p_E = 1 / (exp(epsilon/2) + 1)."""
    return 1 / (math.exp(epsilon / 2) + 1)


def capacity(flip: float, unit: str = "nats") -> float:
    """ln 2 - H_b(p): the most that a binary symmetric channel tells."""
    return (LN2 - binary_entropy(flip)) / (LN2 if unit == "bits" else 1.0)


def _values() -> dict[str, dict[str, Any]]:
    """By key: name, closed form, unit, printed, exact; and the mechanism of the parity of four bits that leaks so."""
    laplace, exponential = laplace_flip(1.0), exponential_flip(1.0)
    plain = (
        ("p_L", "flip probability of Laplace, epsilon = 1", "exp(-epsilon/2)/2", "", 0.3033, laplace),
        ("p_E", "flip probability of exponential, epsilon = 1", "1/(exp(epsilon/2) + 1)", "", 0.3775, exponential),
        ("H-p_L", "binary entropy of p_L", "H_b(p_L)", "nats", 0.614, binary_entropy(laplace)),
        ("H-p_E", "binary entropy of p_E", "H_b(p_E)", "nats", 0.661, binary_entropy(exponential)),
    )
    leakages = (
        ("BSC-0.1-nats", "capacity of BSC(0.1)", "nats", 0.368, 0.1, "symmetric(flip=0.1)"),
        ("BSC-0.1-bits", "capacity of BSC(0.1)", "bits", 0.531, 0.1, "symmetric(flip=0.1)"),
        ("BSC-0.3-nats", "capacity of BSC(0.3)", "nats", 0.0823, 0.3, "symmetric(flip=0.3)"),
        ("BSC-0.3-bits", "capacity of BSC(0.3)", "bits", 0.1187, 0.3, "symmetric(flip=0.3)"),
        ("L0-laplace", "L(0) of Laplace, epsilon = 1", "nats", 0.079, laplace, "laplace(epsilon=1.0)"),
        ("L0-exponential", "L(0) of exponential, epsilon = 1", "nats", 0.032, exponential, "exponential(epsilon=1.0)"),
        ("caption", "BSC(0.3) at b = 0, n = 4", "nats", CAPTION, 0.3, "symmetric(flip=0.3)"),
    )
    fields = ("name", "formula", "unit", "printed", "value", "mechanism")
    found = {key: dict(zip(fields, (*rest, None), strict=True)) for key, *rest in plain}
    for key, name, unit, printed, flip, mechanism in leakages:
        row = (name, FORMULAS[unit], unit, printed, capacity(flip, unit), mechanism)
        found[key] = dict(zip(fields, row, strict=True))
    return found


VALUES: Final = _values()
