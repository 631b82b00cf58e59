"""Channels whose rows are in an order: for outputs y <= y', q(y'|t) / q(y|t) does not fall along the rows t.

Noise with a log-concave law of full support on a sum, rounded and clamped or not, is in the order of the answers by its
name; so is the exponential mechanism there. For numbers in a table the order is established entry by entry
(`repaired`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise
from math import comb, prod
from typing import Any

from flint import arb

from .balls import ZERO, Ball, log_sum_exp, precision
from .cells import Channel, Falling, Question
from .limits import tick, ticking
from .reading import field, refuse, sequence, whole

# A log ratio that falls by more than this is not rounding of one that does not.
FALLS = arb(-1e-6)

# The ranks of an output: for every part those of its runs, ascending.
Ranked = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Ordered:
    """Rows of a channel in order, over the outputs that occur. listed: which row of the channel each stands for.

    Guarantee: every row of the channel is (1 - lost) times the row here and lost times some law.
    """

    rows: list[list[Ball]]
    listed: list[int]
    lost: Ball


def in_order(channel: Channel) -> None:
    """Refuse a channel whose rows are not known to be in the order in which they stand, all entries above 0.

    After the name of the noise, or a repaired order, the first and the last row speak for the rows between them.
    """
    if channel.falling is None:
        refuse("the name of this channel implies no order of its rows; a proof by monotone rows needs the step 'order'")
    for t in (0, len(channel.rows) - 1):
        if any(not q > 0 for q in channel.rows[t]):
            refuse(f"row {t} has a probability that is not above 0; monotone rows need noise of full support")


def step(question: Question, stated: dict[str, Any]) -> Question:
    """Return the question about rows in the order stated, which are exactly monotone and next to the channel's.

    Who also sees whether the row here was used, by a coin that has nothing to do with the data, knows no less: what the
    channel leaks is at most what these rows do, and lost log|A|. Outputs that never occur are left out.
    """
    rows, ranks = (field(stated, key, "the step") for key in ("rows", "ranks"))
    found = repaired(question.channel, rows, ranks, stated.get("often"))
    place = {t: k for k, t in enumerate(found.listed)}
    cells = [{place[t]: rho for t, rho in cell.items()} for cell in question.cells]
    lost = question.lost + found.lost * arb(len(cells)).log()
    return replace(question, channel=Channel(rows=found.rows, falling=Falling()), cells=cells, lost=lost)


def repaired(channel: Channel, order: object, ranks: object, often: object = None) -> Ordered:
    """Return rows in the order stated that are exactly monotone and next to the channel's.

    Parts of a joint release have ranks of their own, and are independent given the row. A part that is several runs of
    one mechanism has a list of ranks for every run; `often` says how many runs each part has. Its outputs stand for all
    tuples of ranks that differ by their order. One run has the mean law of its runs. For every part log ratios of
    neighbouring ranks never fall, whatever the table holds (`never_falling`); the product of the parts is what is
    returned, and lost is such that the channel has (1 - lost) of it at every entry. The last order is remembered.
    """
    stated, found = channel.known.get("order", (None, None))
    if found is None or stated != (order, ranks, often):
        with precision():
            found = _repaired(channel, order, ranks, often)
        channel.known["order"] = (order, ranks, often), found
    assert isinstance(found, Ordered)  # for the type checker
    return found


def _repaired(channel: Channel, order: object, ranks: object, often: object) -> Ordered:
    size = len(channel.rows)
    listed = [whole(t, "a row of the order", 0, size - 1) for t in sequence(order, "the order of the rows", size)]
    if len(set(listed)) < size:
        refuse("the order of the rows names a row twice")
    runs = [
        [whole(k, "a rank", -1, channel.outputs - 1) for k in sequence(run, "ranks of a part", channel.outputs)]
        for run in sequence(ranks, "ranks")
    ]
    parts = _parts(runs, often)
    tuples = _tuples(channel, parts)
    occurring = [y for y, ranked in enumerate(tuples) if ranked]
    share = _shares(channel.rows[listed[0]], tuples, occurring)
    product = [list(share) for _ in listed]
    for p, part in enumerate(parts):
        laws = _part(channel, listed, part, f"part {p}")
        for run in ticking(part):
            for row, law in zip(product, laws, strict=True):
                row[:] = [x * law[run[y]] for x, y in zip(row, occurring, strict=True)]
    lost = ZERO
    for t, row in zip(listed, product, strict=True):
        tick()
        for x, y in zip(row, occurring, strict=True):
            lost = lost.max(1 - channel.rows[t][y] / x)
    if not lost < 1:
        refuse("the parts of the release are not independent given the row")
    return Ordered(product, listed, lost.upper())


def _parts(runs: list[list[int]], often: object) -> list[list[list[int]]]:
    """The runs of every part: one each, where nothing is stated."""
    if not runs:
        refuse("the ranks are of no part")
    if often is None:
        return [[run] for run in runs]
    many = [whole(k, "how often a part runs", 1, len(runs)) for k in sequence(often, "how often parts run")]
    if sum(many) != len(runs):
        refuse(f"the parts run {sum(many)} times together, but there are ranks of {len(runs)} runs")
    left = iter(runs)
    return [list(islice(left, k)) for k in many]


def _shares(law: list[Ball], tuples: list[Ranked], occurring: list[int]) -> list[Ball]:
    """What an output has of the chance of one tuple of ranks.

    Proportional columns are one output, of which each has its part; and that has the chances of all tuples that differ
    from its own by the order of runs.
    """
    together: dict[Ranked, Ball] = {}
    for y in occurring:
        together[tuples[y]] = together.get(tuples[y], ZERO) + law[y]
    return [law[y] / together[tuples[y]] * prod(map(orders, tuples[y])) for y in ticking(occurring)]


def orders(ranks: tuple[int, ...]) -> int:
    """How many tuples have these ranks in some order."""
    # Of many runs in one order no number is large on the way.
    often = Counter(ranks).values()
    return prod(map(comb, accumulate(often), often))


def count(sizes: Sequence[tuple[int, int]], most: int) -> int:
    """How many outputs there are of releases with this many outputs, each run so often; `most` + 1 where more."""
    total = 1
    for outputs, often in sizes:
        # At least so many: no number is large before it is known to be needed.
        if outputs > 1 and max(outputs, often + 1) * total > most:
            return most + 1
        total *= comb(outputs + often - 1, often)
    return min(total, most + 1)


def _tuples(channel: Channel, parts: list[list[list[int]]]) -> list[Ranked]:
    """The ranks of every output in every part, ascending; none where it never occurs. All that can be are there."""
    everything = count([(1 + max(map(max, part)), len(part)) for part in ticking(parts)], channel.outputs)
    found: list[Ranked] = []
    for y in range(channel.outputs):
        tick()
        ranked = tuple(tuple(sorted(run[y] for run in part)) for part in parts)
        if min(map(min, ranked)) < 0:
            if max(map(max, ranked)) >= 0 or any(not row[y].is_zero() for row in channel.rows):
                refuse(f"output {y} has no rank, but it occurs")
            ranked = ()
        found.append(ranked)
    if len(set(found) - {()}) != everything:
        refuse("the ranks leave out a tuple of the parts' ranks")
    return found


def _part(channel: Channel, listed: list[int], part: list[list[int]], where: str) -> list[list[Ball]]:
    """The laws of one run of a part, rows in order, with log ratios that never fall."""
    laws: list[list[Ball]] = []
    for t in listed:
        law = [ZERO] * (max(map(max, part)) + 1)
        for run in ticking(part):
            for k, q in zip(run, channel.rows[t], strict=True):
                if k >= 0:
                    law[k] = law[k] + q
        if any(not x > 0 for x in law):
            refuse(f"{where}, row {t}: a probability is not above 0, and monotone rows need all of them to be")
        laws.append(law)
    return never_falling(laws, listed, where)


def never_falling(laws: Sequence[Sequence[Ball]], listed: Sequence[int], where: str) -> list[list[Ball]]:
    """Laws next to these positive ones whose log ratios of neighbouring outputs never fall from one to the next.

    listed: their names. Log ratios are those of the first law, and grow as the given ones do, but for what is rounding.
    """
    result: list[list[Ball]] = []
    before: list[Ball] = []
    ratios: list[Ball] = []
    for i, (t, law) in enumerate(zip(listed, laws, strict=True)):
        logs = [x.log() for x in ticking(law)]
        steps = [b - a for a, b in pairwise(logs)]
        if i == 0:
            ratios = steps
        else:
            for k, (old, new) in enumerate(zip(before, steps, strict=True)):
                if new - old < FALLS:
                    refuse(
                        f"{where}: the rows are not monotone: from row {listed[i - 1]} to row {t} the likelihood ratio "
                        f"of ranks {k + 1} and {k} falls"
                    )
            ratios = [r + (new - old).max(ZERO) for r, old, new in zip(ratios, before, steps, strict=True)]
        before = steps
        total, exponents = ZERO, [ZERO]
        for r in ratios:
            total += r
            exponents.append(total)
        top = log_sum_exp(exponents)
        result.append([(x - top).exp() for x in exponents])
    return result
