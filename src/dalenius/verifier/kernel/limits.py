"""What checking a certificate may take: the largest sizes, and a clock that is read on the way.

The limits are in force inside `within`, like the precision of balls. Beyond them `NotChecked` is raised: nothing was
found wrong, and nothing was shown. The system's own limits of memory and time stand behind them (child.py).
"""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import islice
from typing import NoReturn, TypeVar

# MiB that reading and checking may take by default: with the interpreter less than 512. Seconds by default.
MEMORY = 448
TIME_LIMIT = 60.0
# A longer limit, in seconds, is none, and clocks overflow beyond; the same of memory, in MiB.
LONGEST = 1e6
LARGEST = 2**60
# Bytes.
MIB = 2**20

T = TypeVar("T")


@dataclass(frozen=True)
class Sizes:
    """The largest certificate that is checked; a larger one is refused before anything large is built.

    A choice of what is worth waiting for: none of these numbers decides whether a proof holds. Work that grows with the
    certificate, in steps that read the clock, needs none.
    """

    # Characters of a call string; records; classes of a statistic; contribution of one record to a sum.
    call: int = 10_000
    records: int = 10**8
    classes: int = 2**22
    contribution: int = 2**40
    # Records and values of a histogram: beyond both it has over 2^64 count vectors.
    histogram_side: int = 64
    # Powers of polynomials: their degree, and the bits that their coefficients may occupy.
    degree: int = 2 * 10**5
    bits: int = 2**28
    # Records of a modular sum that is folded from the plain one; modulus of a modular sum of more records.
    folded: int = 10**4
    modulus: int = 5000

    # Rows x outputs of a channel, where entries are shared among rows, and where every row has its own.
    shared_entries: int = 2**25
    own_entries: int = 2**23
    # Datasets of randomized_response; values of the one record of an identity: more rows would not fit in any case.
    responses: int = 2**12
    identity_values: int = 2**14
    # Datasets of a weighted sum; terms of the tails of discrete Gaussian noise.
    weighted_datasets: int = 2**20
    noise_terms: int = 2**20
    # Outputs around the answers of one record, where the others do not matter.
    reach: int = 2**15
    # Entries of two matrices that are compared dataset by dataset; datasets on which two queries are compared.
    compared_entries: int = 2**20
    compared_datasets: int = 2**20
    # Real outputs: points of a quadrature, points of one piece of it, points x answers.
    points: int = 2**15
    piece_points: int = 2**9
    real_entries: int = 2**21

    # Datasets that a certificate may list; records of such datasets; datasets whose classes or probabilities are worked
    # out one by one.
    datasets: int = 2**24
    dataset_records: int = 2**20
    enumerated: int = 2**22
    # Pairs of a secret value and a class; probabilities of all cells of a secret.
    secret_pairs: int = 2**23
    secret_entries: int = 2**25

    # Grid rows: parts of the grid, and rows.
    grid: int = 2**12
    grid_rows: int = 2**14

    # Contraction: entries looked at, summed over pairs of rows.
    contraction_entries: int = 2**25
    # Trees: nodes that may wait at a time, and the numbers that they may hold together; secants that are remembered.
    waiting: int = 10_000
    waiting_numbers: int = 2**26
    secants: int = 2**16
    # Packed trees: ends of the boxes of a level; levels; nodes; bytes of the multipliers of all leaves.
    level_numbers: int = 2**23
    packed_levels: int = 2**16
    packed_nodes: int = 2**26
    packed_bytes: int = 2**27
    # Leaves from which on a tree is checked with NumPy, if that is installed: with fewer balls are faster.
    numpy_leaves: int = 16

    # Steps of the chains of monotone rows.
    chain_rounds: int = 10**6

    # Sums that are never written out: values of a secret; values x groups of outputs; chances of the noise that are
    # remembered.
    sum_values: int = 2**10
    sum_joint: int = 2**20
    sum_chances: int = 2**20
    # Histograms that are never written out: pairs of a value and a count.
    histogram_pairs: int = 2**26
    # Witnesses that tie values to their counts: largest weight; counts x values.
    tied_weight: int = 2**16
    tied_terms: int = 2**23
    # Tables of few people: outputs up to order.
    own_outputs: int = 2**21
    # Counts moved by a few people: records x values; counts x noise x moves.
    moved_room: int = 2**18
    moved_terms: int = 2**22

    # Local randomisers: entries of the channel of one record; values of the secret; pairs of a value and an output of
    # the part that a witness is on.
    local_entries: int = 2**16
    local_values: int = 2**10
    local_joint: int = 2**20
    # Real-valued records: cells of the range of a record; edges of a density.
    real_cells: int = 2**12
    density_edges: int = 2**7
    # Bits of the powers by which one coin for a sum of records is compared with a coin for each.
    power_bits: int = 2**29
    # Values of one record through a symmetric channel: a formula of two numbers.
    symmetric_values: int = 2**53

    # Designs: pairs of a class and an output.
    design_pairs: int = 2**20

    # Entries of a FLINT matrix that is held, 48 MiB; entries of a part of one that is not.
    held: int = 2**20
    part: int = 2**17


@dataclass(frozen=True)
class Slacks:
    """How far numbers that were rounded to floats may be off and still mean what they stand for.

    Where one is used, the check says what the number is then taken for.
    """

    # The sum of a law, or of a row, may miss 1 by this; it is normalised.
    law_sum: float = 1e-9
    # An entropy may exceed log|X| by this, relatively, and mean log|X|.
    entropy: float = 1e-9
    # Masses this near, relatively, pass for the reference prior; below the second number they may have lost digits.
    reference: float = 1e-9
    least_mass: float = 1e-290
    # A number of a saved result that is derived anew in another way.
    saved: float = 1e-9
    # Rounded rows of a design may exceed a distortion budget by this, relatively; a leakage budget of 0 by this, in
    # nats, against an adversary without knowledge only.
    distortion: float = 1e-12
    leakage: float = 1e-9
    # A mean of outputs may miss its answer by this share of the largest error and pass for unbiased; so may those of
    # all mechanisms that a lower bound is about.
    mean: float = 1e-9
    # Entries of a joint release may miss the product of its two parts by this; it is audited as it stands.
    product: float = 1e-12
    # Outputs whose expected distortions differ by less tie; only the mechanism `constant` asks.
    tie: float = 1e-12


SLACK = Slacks()

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)
_sizes: ContextVar[Sizes] = ContextVar("sizes", default=Sizes())  # noqa: B039 - frozen


class NotChecked(Exception):  # noqa: N818 - an answer, not an error
    """The certificate may be right or wrong: the limits ended the check first."""


@contextmanager
def within(time_limit: float) -> Iterator[None]:
    """Let `tick` end the work after this many seconds."""
    token = _deadline.set(min(_deadline.get(), time.monotonic() + time_limit))
    try:
        yield
    finally:
        _deadline.reset(token)


def largest() -> Sizes:
    """The sizes in force."""
    return _sizes.get()


@contextmanager
def sized(**sizes: int) -> Iterator[None]:
    """Put other sizes in force, such as smaller ones, which are reached sooner."""
    token = _sizes.set(replace(_sizes.get(), **sizes))
    try:
        yield
    finally:
        _sizes.reset(token)


def tick() -> None:
    """End the work if its time is over. Every loop of the verifier that may be long calls this."""
    if time.monotonic() > _deadline.get():
        out_of_time()


def ticking(items: Iterable[T], every: int = 1024) -> Iterator[T]:
    """Yield the items, and tick before every 1024th."""
    source = iter(items)
    while part := list(islice(source, every)):
        tick()
        yield from part


def out_of_time() -> NoReturn:
    """Say that the time limit ended the check."""
    message = "not checked: the time limit was reached; allow more with time_limit= (--time-limit)"
    raise NotChecked(message)


def too_large(mib: float, memory: int) -> NoReturn:
    """Say that reading would need more memory than allowed."""
    message = (
        f"not checked: it needs about {math.ceil(mib)} MiB of memory, and {memory} are allowed; "
        "allow more with memory= (--memory)"
    )
    raise NotChecked(message)
