"""A mechanism known only by samples: what it leaks at most, with a stated confidence.

Counts of outputs give lower limits of their probabilities, and these a channel of which the true one is a degraded
version: rows [limits, rest], where the rest of the probability reveals the class. See docs/mathematics.md 12.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Label, Written
from dalenius.model.datasets import commas
from dalenius.model.query import Query
from dalenius.model.statistic import Histogram, Statistic, Sum
from dalenius.numerics.binomial import lower_limits
from dalenius.numerics.rounding import float_above
from dalenius.numerics.types import Floats, Ints

# Share of the error probability for outputs that are listed before sampling; the rest is for those that turn up in the
# draws. It keeps the limits of listed outputs within 0.5 % of what they are where no others can turn up.
KNOWN_SHARE = 0.9
# Share of the draws in which outputs that are not listed are looked for.
LOOKED_AT = 0.1
MOST_OUTPUTS = 2**12
# Values of answers or outputs that a message lists.
SHOWN = 5

# How often each output was drawn at one dataset.
Draws = Counter[Label]


@dataclass(frozen=True, eq=False)
class Counted:
    """How often outputs that were listed before these draws were drawn: counts (sets, outputs).

    share: the part of the error probability for their limits. draws: how many draws each set has. outputs: what was
    counted, one a column.
    """

    share: float
    draws: tuple[int, ...]
    outputs: tuple[Label, ...]
    counts: Ints

    def limits(self, confidence: float) -> Floats:
        """Guarantee: the chance that any limit is above its probability is at most share (1 - confidence)."""
        cells = self.counts.size
        if not cells:
            return np.zeros(self.counts.shape)
        error = float(Fraction(self.share) * (1 - Fraction(confidence)) / cells)
        return lower_limits(np.array(self.draws)[:, None], self.counts, error)

    def describe(self) -> dict[str, object]:
        """Return the counts in plain data."""
        outputs = list(map(_plain, self.outputs))
        return {"share": self.share, "draws": list(self.draws), "outputs": outputs, "counts": self.counts.tolist()}


@dataclass(frozen=True, eq=False, repr=False)
class Sampled(Mechanism):
    """q(y|x) known by samples alone; its audits have an upper bound that holds with `confidence`, and no lower one.

    sets: which set of samples each class of the statistic has. rows: one per set; a column per listed output, then one
    per set, which tells it.
    """

    query: Query | None
    statistic: Statistic
    confidence: float = field()
    counted: tuple[Counted, ...]
    sets: Ints
    rows: Floats
    name: str | None = field(default=None, init=False)
    form = "samples"

    @property
    def as_samples(self) -> "Sampled":
        return self

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The outputs that were listed."""
        return tuple(y for part in self.counted for y in part.outputs)

    @property
    def n_outputs(self) -> float:
        return len(self.labels)

    @property
    def draws(self) -> int:
        """How many outputs were drawn in all."""
        return sum(max(part.draws[s] for part in self.counted) for s in range(len(self.rows)))

    @cached_property
    def above(self) -> Written:
        """The channel that leaks at least as much as this one, with the confidence stated."""
        revealing = tuple(f"other output {s}" for s in range(len(self.rows)))
        return Written(self.statistic, self.rows[self.sets], (*map(str, self.labels), *revealing), self.query)

    def describe(self) -> dict[str, object]:
        same = np.array_equal(self.sets, np.arange(len(self.rows)))
        samples = {
            "confidence": self.confidence,
            "sets": None if same else self.sets.tolist(),
            "counted": [part.describe() for part in self.counted],
            "rows": self.rows.tolist(),
        }
        if self.query is not None and self.query.named:
            return {"query": str(self.query), "samples": samples}
        return {"records": list(self.records), "classes": self.statistic.class_table().tolist(), "samples": samples}

    def written(self) -> NoReturn:
        refuse(
            "the channel, and with it epsilon, delta and the law of outputs, is not known for a mechanism that is "
            "known by samples only; audit it, run the sampler itself, or sample what you want to know of: the joint "
            "outputs of several releases, or outputs processed further. No number of samples bounds epsilon: an output "
            "that was never drawn may reveal everything"
        )

    def __repr__(self) -> str:
        of = f" of {self.query}" if self.query is not None else ""
        return (
            f"<Mechanism known by {self.draws} samples{of}: {self.n} records, {len(self.rows)} sets of samples x "
            f"{len(self.labels)} outputs, confidence {self.confidence:g}>"
        )


def of_samples(
    samples: Mapping[Any, Any] | Callable[..., Any],
    query: Query,
    *,
    confidence: float,
    draws: int,
    outputs: Sequence[Label] | None,
    seed: int,
) -> Sampled:
    """Return the mechanism of which these are samples; see `Mechanism.from_samples`."""
    if not isinstance(query, Query):
        refuse(f"from_samples needs a Query as its second argument, not {type(query).__name__}; see dl.queries")
    level = checks.real("confidence", confidence, 0.0, 1.0, open_low=True)
    if level == 1:
        refuse(f"confidence = {confidence} cannot be reached by samples; give one below 1, such as 0.999")
    if callable(samples):
        columns, sets = _drawn(samples, query, checks.size(draws, 1))
    elif isinstance(samples, Mapping):
        columns, sets = _given(samples, query)
    else:
        refuse(
            f"samples are a dict from every answer of the query to its outputs, or a function (dataset, size) that "
            f"draws outputs, not {type(samples).__name__}"
        )
    drawn = _tallied(columns)
    few = next((s for s, one in enumerate(drawn) if one.total() < max(2, len(drawn))), None)
    if few is not None:
        refuse(
            f"set {few} has {drawn[few].total()} samples where there are {len(drawn)} classes of datasets; draw "
            "many more for each, such as 100,000"
        )
    rng = np.random.default_rng(checks.whole("seed", seed, 0))
    return sampled(query, level, _counted(query, drawn, outputs, rng), sets)


def _tallied(columns: list[list[tuple[Label, int]]]) -> list[Draws]:
    """Refuse outputs that are equal and look different: whoever sees them can tell them apart, and counts would not."""
    spelled: dict[Label, str] = {}
    for y, _ in (pair for column in columns for pair in column):
        other = spelled.setdefault(y, repr(y))
        if other != repr(y):
            refuse(
                f"{other} and {y!r} are among the outputs: they are equal and look different, so that whoever sees "
                "them can tell them apart; write them alike, in the release too (float(y) + 0.0 makes both one)"
            )
    return [Counter(dict(column)) for column in columns]


def _counted(
    query: Query, drawn: list[Draws], outputs: Sequence[Label] | None, rng: np.random.Generator
) -> list[Counted]:
    """Count outputs that are listed in advance, or else the query's range, and what a part of the draws shows."""
    if outputs is not None:
        listed = checks.listed(outputs, f"outputs = {outputs!r} must list the outputs to be counted")
        known = list(dict.fromkeys(map(_label, listed)))
        _check_width(len(known), len(drawn))
        return [_part(1.0, drawn, known, _places(known))]
    known = list(query.labels)
    names = _places(query.outputs) | _places(known)
    rest: list[Draws] = []
    more: dict[Label, None] = {}
    for one in drawn:
        many = np.array(list(one.values()))
        looked_at = rng.multivariate_hypergeometric(many, max(1, int(LOOKED_AT * many.sum())), method="marginals")
        more |= {y: None for y, often in zip(one, looked_at.tolist(), strict=True) if often and y not in names}
        rest.append(one - Counter(dict(zip(one, looked_at.tolist(), strict=True))))
    real = [y for y in more if isinstance(y, float) and not y.is_integer()]
    if len(real) > len(known):
        refuse(
            f"outputs are real numbers, {len(real)} different ones in a tenth of the draws, such as {real[0]:g}; round "
            "them or put them into bins, or list those to be counted as outputs="
        )
    _check_width(len(known) + len(more), len(drawn))
    parts = [_part(KNOWN_SHARE, drawn, known, names)]
    return [*parts, _part(1 - KNOWN_SHARE, rest, list(more), _places(more))] if more else parts


def _check_width(outputs: int, sets: int) -> None:
    if not 0 < outputs <= MOST_OUTPUTS:
        refuse(
            f"there are {outputs} different outputs, where 1 to {MOST_OUTPUTS} can be counted; round real numbers "
            "or put them into bins before you count them"
        )
    checks.entries(sets, outputs + sets, "the table of counts")


def _part(share: float, drawn: list[Draws], outputs: Sequence[Label], place: Mapping[Label, int]) -> Counted:
    """Count these outputs; all others fall into the rest of the probability. place: their other spellings too."""
    counts = np.zeros((len(drawn), len(outputs)), dtype=np.int64)
    for s, one in enumerate(drawn):
        for y in one.keys() & place.keys():
            counts[s, place[y]] += one[y]
    return Counted(share, tuple(one.total() for one in drawn), tuple(outputs), counts)


def _places(outputs: Iterable[object]) -> dict[Label, int]:
    return {_label(y): j for j, y in enumerate(outputs)}


def sampled(query: Query, confidence: float, parts: Sequence[Counted], sets: Ints) -> Sampled:
    """Return the mechanism of these counts, with its rows: lower limits, and on the diagonal what is left."""
    limits = np.hstack([part.limits(confidence) for part in parts])
    # Limits from two parts of the draws may sum to more than one; smaller limits are limits too.
    limits /= np.maximum(1.0, limits.sum(axis=1, keepdims=True))
    # Rounded up, so that a row divided by its sum has no entry above its limit.
    left = [float_above(max(Fraction(0), 1 - sum(map(Fraction, row), Fraction(0)))) for row in limits.tolist()]
    return Sampled(query, query.statistic, confidence, tuple(parts), sets, np.hstack([limits, np.diag(left)]))


def restored(content: dict[str, Any], query: Query | None, statistic: Statistic) -> Sampled:
    """Return the mechanism of a file; refused where its rows do not follow from its counts."""
    parts = tuple(
        Counted(
            checks.real("share", part["share"], 0.0, 1.0),
            tuple(checks.whole("draws", n) for n in part["draws"]),
            tuple(map(_label, part["outputs"])),
            np.array([[checks.whole("a count", c, 0) for c in row] for row in part["counts"]], dtype=np.int64),
        )
        for part in content["counted"]
    )
    rows, many = np.array(content["rows"], dtype=float), len(content["rows"])
    sets = np.arange(many) if content["sets"] is None else np.array(content["sets"], dtype=np.int64)
    confidence = checks.real("confidence", content["confidence"], 0.0, 1.0, open_low=True)
    found = Sampled(query, statistic, confidence, parts, sets, rows)
    if problem := _wrong(found):
        refuse(f"{problem}; the file was altered")
    return found


def _wrong(found: Sampled) -> str:
    """Why counts, rows and outputs do not belong together, or nothing."""
    parts, many, width = found.counted, len(found.rows), len(found.labels)
    shapes = [(part.counts.shape, len(part.draws)) == ((many, len(part.outputs)), many) for part in parts]
    known = found.sets.shape == (found.statistic.size,) and set(found.sets.tolist()) == set(range(many))
    shares = sum(Fraction(part.share) for part in parts)
    if not (all(shapes) and found.rows.shape == (many, width + many) and known and shares <= 1):
        return "its counts, rows and outputs do not belong together"
    if len(set(found.labels)) < width:
        return "it counts an output twice"
    limits = np.hstack([part.limits(found.confidence) for part in parts])
    above, revealed = found.rows[:, :width] > limits * (1 + 1e-6), found.rows[:, width:] * (1 - np.eye(many))
    return "its rows do not follow from its counts" if above.any() or revealed.any() else ""


def _given(samples: Mapping[Any, Any], query: Query) -> tuple[list[list[tuple[Label, int]]], Ints]:
    """Outputs by answer, in the order in which answers first appear among the classes."""
    answers = [_label(a) for a in (query.answers.tolist() if isinstance(query.answers, np.ndarray) else query.answers)]
    order = {a: s for s, a in enumerate(dict.fromkeys(answers))}
    names = {name: value for value, name in enumerate(query.names)} if query.name == "identity" else {}
    found: dict[Label, Any] = {}
    for key, column in samples.items():
        answer = _label(tuple(key) if isinstance(key, list) else key)
        answer = names.get(answer, answer) if isinstance(answer, str) else answer
        if answer not in order:
            refuse(f"{key!r} is not an answer of {query}; its answers are {_some(order)}")
        found[answer] = column
    missing = [a for a in order if a not in found]
    if missing:
        refuse(
            f"there are no samples for {len(missing)} of the {len(order)} answers of {query}: {_some(missing)}; draw "
            "outputs at one dataset for each answer"
        )
    return [_outputs(found[a], f"answer {a}") for a in order], np.array([order[a] for a in answers])


def _drawn(sampler: Callable[..., Any], query: Query, draws: int) -> tuple[list[list[tuple[Label, int]]], Ints]:
    """Outputs at one dataset of every class."""
    size = query.statistic.size
    checks.entries(size, draws, "the table of samples", 2**27)
    drawn = []
    for dataset in _datasets(query.statistic):
        where = f"the dataset {commas(dataset.tolist())}"
        try:
            outputs = checks.called(lambda x: sampler(x, draws), dataset, "the sampler")
        except InputError as error:
            refuse(f"{error}. A sampler takes a dataset and how many outputs to draw: sampler(dataset, size)", error)
        column = _outputs(outputs, where)
        many = sum(often for _, often in column)
        if many != draws:
            refuse(f"the sampler returned {many} outputs for {where} instead of {draws}")
        drawn.append(column)
    return drawn, np.arange(size)


def _datasets(statistic: Statistic) -> list[Ints]:
    """One dataset of every class."""
    if isinstance(statistic, Sum):
        return list(_of_sums(statistic))
    if isinstance(statistic, Histogram):
        return [np.repeat(np.arange(statistic.k), counts) for counts in statistic.counts]
    _, first = np.unique(statistic.class_table(), return_index=True)
    return list(np.stack(np.unravel_index(first, statistic.records), axis=1))


def _of_sums(statistic: Sum) -> Iterable[Ints]:
    """One dataset of every sum, in which as few records as can be have another value than the least."""
    n, low, modulus = statistic.n, min(statistic.contributions), statistic.modulus
    more = [(a, c - low) for a, c in enumerate(statistic.contributions)]
    last: dict[int, tuple[int, ...]] = {n * low if modulus is None else n * low % modulus: ()}
    found = dict(last)  # a sum, and the other values
    for _ in range(n):
        sums = ((t + c, (*values, a)) for t, values in last.items() for a, c in more)
        residues = ((t if modulus is None else t % modulus, values) for t, values in sums)
        last = {t: values for t, values in residues if t not in found}
        found.update(last)
    for total in statistic.values.tolist():
        values = found[total]
        yield np.array([*values, *[statistic.contributions.index(low)] * (n - len(values))], dtype=np.int64)


def _outputs(column: Any, where: str) -> list[tuple[Label, int]]:
    """Outputs as plain labels, and how often each was drawn; vectors become tuples."""
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    try:
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biufU":
            real = values.dtype.kind == "f"
            # By their bits, which tell 0.0 from -0.0.
            found, counts = np.unique(values.astype(float).view(np.uint64) if real else values, return_counts=True)
            labels = list(map(_label, (found.view(float) if real else found).tolist()))
            drawn = list(zip(labels, counts.tolist(), strict=True))
        else:
            values = values.tolist() if isinstance(values, np.ndarray) else values
            listed = checks.listed(values, f"samples of {where} must be a list of outputs, not {type(column).__name__}")
            # By their text, which tells 1 from 1.0 as well.
            labels = list(map(_label, listed))
            spelled = {repr(y): y for y in labels}
            drawn = [(spelled[text], often) for text, often in Counter(map(repr, labels)).items()]
    except InputError as error:
        refuse(f"samples of {where}: {error}", error)
    if not drawn:
        refuse(f"there are no samples for {where}; draw outputs at one dataset for each answer")
    return drawn


def _label(y: Any) -> Label:
    plain = y.item() if isinstance(y, np.generic) else y.tolist() if isinstance(y, np.ndarray) else y
    if isinstance(plain, (str, int)):
        return plain
    if isinstance(plain, (list, tuple)) and plain:
        return tuple(map(_label, plain))
    if not isinstance(plain, float) or math.isnan(plain):
        refuse(f"{y!r} is not an output; outputs are texts, numbers or tuples of them, and none may be missing")
    if math.isinf(plain):
        refuse(f"{y!r} is not an output; name it by a text")
    return plain


def _plain(label: Label) -> object:
    """An output as JSON has it: a list in place of a tuple."""
    return list(map(_plain, label)) if isinstance(label, tuple) else label


def _some(values: Iterable[Label]) -> str:
    listed = list(values)
    return ", ".join(map(repr, listed[:SHOWN])) + (", ..." if len(listed) > SHOWN else "")
