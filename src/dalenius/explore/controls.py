"""What the page has controls for: queries, mechanisms and their numbers, with ranges in which they make sense."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["whole", "number", "list", "names", "table"]


@dataclass(frozen=True)
class Control:
    """A number, or a list of them, that the page asks for.

    low, high: the ends of its slider; most: the largest number that may be typed. log: the slider is logarithmic.
    """

    name: str
    words: str
    kind: Kind
    default: str
    low: float = 0.0
    high: float = 1.0
    most: float = 1e6
    log: bool = False
    hint: str = ""


@dataclass(frozen=True)
class Choice:
    """A query or a mechanism of the gallery: what it is in words, and which controls it has.

    takes: the names of its controls; defaults: where they are not the control's own.
    """

    name: str
    words: str
    takes: tuple[str, ...]
    defaults: Mapping[str, str] = field(default_factory=dict)


CONTROLS = {
    one.name: one
    for one in (
        Control("n", "People (n)", "whole", "4", 1, 20, 1e6),
        Control("modulus", "Modulus", "whole", "2", 2, 12, 1000),
        Control("k", "Values of a record (k)", "whole", "3", 2, 8, 1000),
        Control("values", "What each value adds", "list", "0, 1, 2", hint="whole numbers, with commas between them"),
        Control("low", "Smallest value", "whole", "0", 0, 10, 1e6),
        Control("high", "Largest value", "whole", "3", 1, 20, 1e6),
        Control("weights", "Weight of each person", "list", "1, 1, 2", hint="whole numbers, with commas between them"),
        Control("shape", "Values of each attribute", "list", "2, 2", hint="how many values, with commas between them"),
        Control("names", "Names of the values", "names", "", hint="optional, with commas between them"),
        Control("epsilon", "epsilon (less is noisier)", "number", "1", 0.05, 10, 1000, log=True),
        Control("sigma", "sigma (more is noisier)", "number", "1", 0.1, 10, 1000, log=True),
        Control("flip", "flip (more is noisier)", "number", "0.3", 0, 1, 1),
        Control("base", "Multiples of", "whole", "3", 2, 10, 1000),
        Control("below", "Suppress counts from 1 to below", "whole", "3", 1, 12, 1000),
        Control(
            "table",
            "Perturbation table",
            "table",
            "0 0 1; 1 -1 .25; 1 0 .5; 1 1 .25",
            hint="answer, change and its chance, with semicolons between rows; the last answer serves all larger ones",
        ),
        Control("rate", "Share of the people in the sample", "number", "0.1", 0.01, 1, 1, log=True),
    )
}
BINARY = {"names": "no, yes"}
QUERIES = (
    Choice("count", "how many say yes", ("n", "names"), BINARY),
    Choice("modular_sum", "how many say yes, modulo m", ("n", "modulus", "names"), BINARY),
    Choice("pairs", "how many pairs both say yes", ("n", "names"), BINARY),
    Choice("weighted_sum", "a weighted count", ("weights", "names"), BINARY),
    Choice("total", "a sum of listed values", ("n", "values", "names"), {"n": "3"}),
    Choice("mean", "the mean of whole numbers", ("n", "low", "high"), {"n": "3"}),
    Choice("histogram", "how many of each value", ("n", "k", "names"), {"n": "3"}),
    Choice("table", "how many in each cell of a table", ("n", "shape"), {"n": "2"}),
    Choice("identity", "the value of one person", ("k", "names"), {"k": "4"}),
)
MECHANISMS = (
    Choice("geometric", "geometric noise", ("epsilon",)),
    Choice("laplace", "Laplace noise, rounded", ("epsilon",)),
    Choice("gaussian", "Gaussian noise, rounded", ("sigma",)),
    Choice("discrete_gaussian", "discrete Gaussian noise", ("sigma",)),
    Choice("exponential", "the exponential mechanism", ("epsilon",), {"epsilon": "2"}),
    Choice("symmetric", "the truth, or any other answer with equal chance", ("flip",)),
    Choice("randomized_response", "randomised response of every record", ("epsilon",)),
    Choice("unary_encoding", "noisy bits of every record", ("epsilon",)),
    Choice("noisy_max", "the most frequent value, with noise", ("epsilon",)),
    Choice("exact", "the answer itself", ()),
    Choice("random_rounding", "random rounding", ("base",)),
    Choice("rounding", "rounding", ("base",), {"base": "5"}),
    Choice("cell_key", "a perturbation table, as the cell-key method", ("table",)),
    Choice("suppressed", "small numbers suppressed", ("below",)),
    Choice("subsampled", "the exact count in a sample", ("rate",)),
    Choice("shuffled_response", "randomised response, shuffled", ("epsilon",)),
    Choice("hadamard_response", "Hadamard response of every record", ("epsilon",)),
    Choice("subset_selection", "a set of values for every record", ("epsilon",)),
    Choice("constant", "always the same answer", ()),
)
COUNTS = ("histogram", "table")


def fits(query: str, mechanism: str) -> bool:
    """Whether the gallery has this mechanism for this query."""
    if mechanism == "noisy_max":
        return query in COUNTS
    if mechanism == "shuffled_response":
        return query in ("count", *COUNTS)
    if mechanism == "subsampled":
        return query in ("count", "pairs")
    if mechanism in ("random_rounding", "rounding", "cell_key") and query == "mean":
        return False
    return not (mechanism == "discrete_gaussian" and query in COUNTS)
