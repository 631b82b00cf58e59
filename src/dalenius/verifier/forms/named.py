"""The named queries and mechanisms, rebuilt in balls from their definitions (docs: the public surface).

Call strings such as `count(n=4)` are parsed as literals, never evaluated.
"""

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from flint import arb, ctx

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, precision
from dalenius.verifier.kernel.cells import Falling
from dalenius.verifier.kernel.limits import SLACK, largest, tick, ticking
from dalenius.verifier.kernel.reading import number, refuse, sequence, show, whole

from . import choosing, discrete, offices
from .counting import Histogram, Statistic, Sum, Table, histogram, unlisted
from .reference import digest

Rows = list[list[Ball]]


# Parameters in order; those that may be left out come with their default.
QUERIES: dict[str, dict[str, Any]] = {
    "modular_sum": {"n": ..., "modulus": ..., "names": None},
    "count": {"n": ..., "names": None},
    "pairs": {"n": ..., "names": None},
    "total": {"n": ..., "values": ..., "names": None},
    "mean": {"n": ..., "low": ..., "high": ..., "step": 1, "names": None},
    "weighted_sum": {"weights": ..., "names": None},
    "histogram": {"n": ..., "k": ..., "names": None},
    "table": {"n": ..., "shape": ..., "names": None},
    "identity": {"k": ..., "names": None},
}
MECHANISMS: dict[str, dict[str, Any]] = {
    "symmetric": {"flip": ...},
    "geometric": {"epsilon": None, "sensitivity": None, "scale": None, "clamp": True},
    "laplace": {"epsilon": None, "sensitivity": None, "output": "integer", "scale": None, "clamp": True},
    "gaussian": {"sigma": ..., "output": "integer"},
    "discrete_gaussian": {"sigma": ..., "clamp": False},
    "noisy_max": {"epsilon": ..., "noise": "gumbel"},
    "exponential": {"epsilon": ..., "sensitivity": None},
    "randomized_response": {"epsilon": ...},
    "unary_encoding": {"epsilon": ..., "optimised": False},
    "hadamard_response": {"epsilon": ...},
    "subset_selection": {"epsilon": ...},
    "constant": {},
    "exact": {},
    "rounding": {"base": ..., "midpoint": False, "mechanism": "exact()"},
    "random_rounding": {"base": ..., "mechanism": "exact()"},
    "cell_key": {"table": ..., "mechanism": "exact()"},
    "suppressed": {"below": ..., "keep_zero": True, "mechanism": "exact()"},
    "subsampled": {"rate": ..., "mechanism": "exact()"},
    "shuffled_response": {"epsilon": ...},
}
# Families that add integer noise to the answer.
ADDITIVE = ("geometric", "laplace", "gaussian", "discrete_gaussian")
# Channels of one record, all of whose outputs are released: forms/per_record.py.
OF_RECORDS = ("unary_encoding", "hadamard_response", "subset_selection")


def call(text: object, known: dict[str, dict[str, Any]], where: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of a call string."""
    if not isinstance(text, str) or len(text) > largest().call:
        refuse(f"{where} must be a text of at most {largest().call} characters, not {show(text)}")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        refuse(f"{where} {show(text)} is not a call such as count(n=4)")
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in known:
        refuse(f"{where} {show(text)} is none of {', '.join(known)}")
    parameters = known[node.func.id]
    if len(node.args) > len(parameters):
        refuse(f"{where} {show(text)} has too many arguments")
    given = [*zip(parameters, node.args, strict=False), *((word.arg, word.value) for word in node.keywords)]
    names = [name for name, _ in given]
    if not set(names) <= set(parameters) or len(set(names)) < len(names):
        refuse(f"{where} {show(text)} has an argument that is unknown or given twice")
    arguments = parameters | {str(name): _literal(value, f"{where} {show(text)}") for name, value in given}
    missing = [name for name, value in arguments.items() if value is ...]
    if missing:
        refuse(f"{where} {show(text)} lacks {', '.join(missing)}")
    return node.func.id, arguments


def _literal(node: ast.expr, where: str) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _literal(node.operand, where)
        if type(value) in (int, float):
            return -value if isinstance(node.op, ast.USub) else value
    if not isinstance(node, (ast.List, ast.Tuple)):
        refuse(f"{where} has an argument that is not a number, text or list")
    return [_literal(item, where) for item in node.elts]


@dataclass(frozen=True)
class Query:
    """f(x) as one answer per class; the range is low..low+width-1, or the count vectors themselves.

    Of a mean the answers are whole numbers of steps, each of `unit`, counted from `start`; the noise is in the same
    steps. `in_units` turns steps into what is released.
    """

    name: str
    statistic: Sum | Histogram | Table
    width: int
    sensitivity: int
    low: int = 0
    text: str = ""
    unit: Fraction = Fraction(1)
    start: int = 0
    given: tuple[int, ...] = ()  # the answers, where the classes are listed
    cut: int = 0  # noise that is not clamped is put together from so far beyond the answers on, which loses something

    @property
    def vector(self) -> bool:
        return isinstance(self.statistic, Histogram)

    @property
    def answers(self) -> Sequence[Any]:
        if isinstance(self.statistic, Histogram):
            return self.statistic.counts
        if isinstance(self.statistic, Table):
            return self.given
        values = self.statistic.values
        return [self._answer(t) for t in values] if self.name == "pairs" else values

    def answers_on(self, domain: Statistic) -> Sequence[Any]:
        """f(x), which is constant on every class of its own statistic and of the count vectors."""
        if domain == self.statistic:
            return self.answers
        if not isinstance(domain, Histogram) or not isinstance(self.statistic, Sum):
            refuse(f"a mechanism for {self.text} needs one row per class of the query or per count vector")
        return [self._answer(self.statistic.total(c)) for c in domain.counts]

    def _answer(self, t: int) -> int:
        return t * (t - 1) // 2 if self.name == "pairs" else t

    def in_units(self, steps: Sequence[Any]) -> Sequence[Any]:
        """Return answers or outputs as numbers that are released."""
        return [self.start + self.unit * t for t in steps] if self.name == "mean" else steps

    @property
    def outputs(self) -> list[Any]:
        if isinstance(self.statistic, Histogram):
            return self.statistic.counts
        return list(range(self.low, self.low + self.width))


def query(text: object, *, listed: bool = True) -> Query:
    """Return the query that a call string names; listed: whether the count vectors of a histogram are needed."""
    name, given = call(text, QUERIES, "the query")
    return replace(_query(name, given, listed), text=spelled(name, given))


def spelled(name: str, arguments: dict[str, Any]) -> str:
    """Return a call in our own spelling, free of whatever else the string held."""

    def shown(key: str, value: object) -> str:
        if key == "table":
            return f"a table (sha256 {digest(value)})"
        if key == "mechanism":
            return spelled(*call(value, MECHANISMS, "the mechanism inside"))
        return repr(value)

    listed = (
        f"{key}={shown(key, value)}"
        for key, value in arguments.items()
        if value not in (None, "integer", "exact()") and key != "names" and (key, value) != ("clamp", True)
    )
    return f"{name}({', '.join(listed)})"


def _query(  # noqa: PLR0911 - one for each query
    name: str,
    given: dict[str, Any],
    listed: bool,  # noqa: FBT001 - an internal call
) -> Query:
    if name == "weighted_sum":
        return _weighted_sum(given)
    n = whole(given.get("n", 1), "n of the query", 1, largest().records)
    if name in ("histogram", "table"):
        k = _cells(given) if name == "table" else whole(given["k"], "k of the query", 1, largest().classes)
        vectors = histogram(n, k) if listed else unlisted(n, k)
        return Query(name, vectors, vectors.size, 2 if k > 1 else 0)
    if name == "mean":
        return _mean(n, given)
    if name == "modular_sum":
        m = whole(given["modulus"], "modulus of the query", 1, largest().classes)
        return Query(name, Sum(n, (0, 1), m), m, 1 if n < m else m - 1)
    if name == "count":
        return Query(name, Sum(n, (0, 1)), n + 1, 1)
    if name == "pairs":
        return Query(name, Sum(n, (0, 1)), n * (n - 1) // 2 + 1, n - 1)
    if name == "total":
        entries = sequence(given["values"], "values of the query")
        most = largest().contribution
        values = tuple(whole(v, "a value of the query", -most, most) for v in entries)
        if not values:
            refuse("values of the query must list one integer or more")
        spread = max(values) - min(values)
        return Query(name, Sum(n, values), n * spread + 1, spread, n * min(values))
    k = whole(given["k"], "k of the query", 1, largest().identity_values)
    return Query(name, Sum(1, tuple(range(k))), k, k - 1)


def _cells(given: dict[str, Any]) -> int:
    """How many cells a contingency table has: the product of its attributes' numbers of values."""
    k = 1
    for size in sequence(given["shape"], "shape of the query"):
        k *= whole(size, "a number of values of an attribute", 1, largest().classes)
        if k > largest().classes:
            refuse(f"the table of the query has more than {largest().classes} cells")
    return k


def _mean(n: int, given: dict[str, Any]) -> Query:
    """The mean of n records low, low + step, ..., high: low + unit x (the sum of the records' numbers)."""
    most = largest().contribution
    low, high = (whole(given[key], f"{key} of the query", -most, most) for key in ("low", "high"))
    step = whole(given["step"], "step of the query", 1, 2 * most)
    if low >= high or (high - low) % step or (high - low) // step >= largest().identity_values:
        refuse("the mean of the query needs low < high, a step that divides the range, and not too many values")
    k = (high - low) // step + 1
    return Query("mean", Sum(n, tuple(range(k))), n * (k - 1) + 1, k - 1, unit=Fraction(step, n), start=low)


def _weighted_sum(given: dict[str, Any]) -> Query:
    """The weights of the bits that are one, added up; classes by ascending sum."""
    most = largest().contribution
    weights = [whole(w, "a weight of the query", -most, most) for w in sequence(given["weights"], "weights")]
    if not weights or 2 ** min(len(weights), 64) > largest().weighted_datasets:
        refuse(f"weights of the query must list one or more, at most {largest().weighted_datasets} datasets in all")
    sums = [0]
    for w in ticking(weights):
        sums = [s for x in sums for s in (x, x + w)]
    answers = sorted(set(sums))
    place = {value: t for t, value in enumerate(answers)}
    table = Table((2,) * len(weights), tuple(place[s] for s in ticking(sums)), len(answers))
    width, spread = answers[-1] - answers[0] + 1, max(map(abs, weights))
    return Query("weighted_sum", table, width, spread, answers[0], given=tuple(answers))


def mechanism(text: object, asked: Query) -> tuple[Statistic, Rows, str]:
    """Return the statistic, the rows, one per class, and the words of a named mechanism of a query."""
    name, given = call(text, MECHANISMS, "the mechanism")
    if given.get("output", "integer") != "integer":
        refuse(f"{spelled(name, given)} has no table of finitely many outputs; its certificate needs a quadrature")
    if name in OF_RECORDS:
        refuse(f"{spelled(name, given)} has no table of the whole release; its certificate needs a part of it")
    if name == "randomized_response":
        table, rows = _randomized_response(asked.statistic, _positive(given, "epsilon"))
        return table, rows, spelled(name, given)
    rows = _released(text, asked)[1] if name in RELEASES else _rows(name, given, asked)
    return asked.statistic, rows, spelled(name, given)


RELEASES = (*offices.KERNELS, "subsampled", "shuffled_response")
# Mechanisms with outputs that can be processed further.
NUMBERS = ("exact", "symmetric", "exponential", *ADDITIVE)


def _released(text: object, asked: Query) -> tuple[Sequence[Any], Rows]:
    """The outputs of a mechanism, numbers or vectors of counts, and its rows, one per class."""
    name, given = call(text, MECHANISMS, "the mechanism")
    kernels: list[offices.Kernel] = []
    while name in offices.KERNELS:
        kernels.insert(0, offices.KERNELS[name](given))
        text = given["mechanism"]
        name, given = call(text, MECHANISMS, "the mechanism inside")
    if kernels:
        return offices.processed(*_released(text, asked), kernels)
    if name == "subsampled":
        return _subsampled(given, asked)
    if name == "shuffled_response":
        return asked.outputs, _shuffled(asked, _positive(given, "epsilon"))
    whole_numbers = given.get("output", "integer") == "integer" and clamped(given) and asked.name != "mean"
    if name not in NUMBERS or not whole_numbers:
        refuse(f"the outputs of {spelled(name, given)} of {asked.text} are not numbers that are processed further")
    rows = _rows(name, given, asked)
    if name in ADDITIVE and isinstance(asked.statistic, Histogram):
        return list(product(range(asked.statistic.n + 1), repeat=asked.statistic.k)), rows
    return asked.outputs, rows


def _subsampled(given: dict[str, Any], asked: Query) -> tuple[Sequence[Any], Rows]:
    """A count of records, each of which is kept with chance `rate`."""
    rate, of = number(given["rate"], "rate", 0.0, 1.0), asked.statistic
    if rate == 0:
        refuse("rate is 0; it must be above 0")
    if not isinstance(of, Sum) or of.modulus is not None or set(of.contributions) != {0, 1}:
        refuse(f"subsampled is for counts of records, not for {asked.text}")
    outputs, rows = _released(given["mechanism"], asked)
    return outputs, rows if rate == 1 else offices.sampled(rows, rate)


def _shuffled(asked: Query, epsilon: Ball) -> Rows:
    """The counts of outputs of randomised response."""
    _fits(asked, asked.width, largest().own_entries)
    if isinstance(asked.statistic, Histogram):
        return offices.shuffled(asked.statistic.counts, epsilon)
    if asked.name != "count":
        refuse(f"shuffled_response is for counts and histograms, not for {asked.text}")
    n = asked.statistic.n
    return offices.shuffled([(n - t, t) for t in range(n + 1)], epsilon)


def _rows(name: str, given: dict[str, Any], asked: Query) -> Rows:
    if name in ADDITIVE:
        wide = widened(name, given, asked)
        return _additive(wide, _added(name, given, asked))
    if name == "noisy_max":
        return _noisy_max(asked, given)
    _fits(asked, asked.width, largest().own_entries if name == "exponential" else largest().shared_entries)
    if name == "symmetric":
        return _symmetric(asked, number(given["flip"], "flip", 0.0, 1.0))
    if name == "exponential":
        return _exponential(asked, _rate(given, asked))
    if name == "exact":
        return [[ONE if y == f else ZERO for y in asked.outputs] for f in asked.answers]
    return _constant(asked)


def clamped(given: dict[str, Any]) -> bool:
    """Whether outputs are clamped to the range of the query."""
    clamp = given.get("clamp", True)
    if type(clamp) is not bool:
        refuse(f"clamp is {show(clamp)}; it must be True or False")
    return clamp


def widened(name: str, given: dict[str, Any], asked: Query) -> Query:
    """Return the query with the range to which noise that is not clamped may be clamped all the same.

    Answers are from `low` to `high`. Beyond them, for all y < y' <= low - m:

    geometric noise, m = 0: q(y|f) = alpha^(y'-y) q(y'|f). Columns from `low` on downwards are proportional, and so are
    those from `high` on upwards: putting proportional columns together loses nothing, for any secret and prior.
    rounded Laplace noise, m = 1: q(y|f) = exp( -rate (f - y) ) sinh(rate/2) where y < f: the same from low - 1 on.
    discrete Gaussian noise, m = 1 + 7.5 sigma, rounded up: they are not proportional, and `lost` says what is lost.
    """
    if clamped(given):
        return asked
    if asked.vector:
        refuse(f"{spelled(name, given)} of {asked.text}: clamp=False is for answers that are numbers")
    m = 0
    if name == "laplace":
        m = 1
    elif name == "discrete_gaussian":
        m = discrete.margin(_exact_sigma(given, asked))
    cut = m if name == "discrete_gaussian" else 0
    return replace(asked, low=asked.low - m, width=asked.width + 2 * m, cut=cut)


def wide(text: object, asked: Query) -> Query:
    """Return the same of a call string."""
    return widened(*call(text, MECHANISMS, "the mechanism"), asked)


def lost(problem: dict[str, Any], asked: Query) -> Ball:
    """Return no less than the chance that an output of a named mechanism is among those that were put together.

    With Y' for Y after outputs beyond both ends were put together, I(A;Y) - I(A;Y') = I(A;Y|Y'), which is P(Y' is an
    end) I(A; Y | Y' is an end) at most: the chance times log|A|. An answer f is at least m away from either end, so
    that the chance is at most 2 P(noise >= m). Proportional columns tell nothing beside their sum: nothing is lost.
    """
    name, given = call(problem["mechanism"], MECHANISMS, "the mechanism")
    cut = widened(name, given, asked).cut if name in ADDITIVE else 0
    return 2 * _added(name, given, asked).tail(cut) if cut else ZERO


def _noisy_max(asked: Query, given: dict[str, Any]) -> Rows:
    """The most frequent value, with noise: one output for each value of a record."""
    if not isinstance(asked.statistic, Histogram):
        refuse(f"noisy_max is for histograms and tables, not for {asked.text}")
    if given["noise"] not in choosing.LAWS:
        refuse(f"noise is {show(given['noise'])}; noisy_max has {', '.join(choosing.LAWS)}")
    _fits(asked, asked.statistic.k, largest().own_entries)
    law, epsilon = choosing.LAWS[given["noise"]], _positive(given, "epsilon")
    return [law(counts, epsilon) for counts in asked.statistic.counts]


def _positive(given: dict[str, Any], name: str) -> Ball:
    value = number(given[name], name)
    if value <= 0:
        refuse(f"{name} is {value}; it must be above 0")
    return arb(value)


def _ball(value: Fraction) -> Ball:
    return arb(value.numerator) / value.denominator


def _exact_sigma(given: dict[str, Any], asked: Query) -> Fraction:
    """sigma in steps of the answers."""
    _positive(given, "sigma")
    return Fraction(given["sigma"]) / asked.unit


def exact_rate(given: dict[str, Any], asked: Query) -> Fraction | None:
    """epsilon / sensitivity, or 1 / scale, in steps of the answers; None, no noise at all, for a single answer."""
    if given.get("scale") is not None:
        if given["epsilon"] is not None or given["sensitivity"] is not None:
            refuse("scale is given with epsilon or sensitivity; scale alone fixes how much noise there is")
        _positive(given, "scale")
        return asked.unit / Fraction(given["scale"])
    _positive(given, "epsilon")
    epsilon = Fraction(given["epsilon"])
    if given["sensitivity"] is not None:
        _positive(given, "sensitivity")
        return epsilon / Fraction(given["sensitivity"]) * asked.unit
    return epsilon / asked.sensitivity if asked.sensitivity else None


def _rate(given: dict[str, Any], asked: Query) -> Ball | None:
    """The same as a ball."""
    exact = exact_rate(given, asked)
    return None if exact is None else _ball(exact)


def _fits(asked: Query, columns: int, most: int) -> None:
    """Refuse before anything large is built."""
    if columns > most or asked.statistic.size * columns > most:
        refuse(f"the rows of {asked.name} with {columns} outputs are too many to rebuild; at most {most} entries")


def distance(f: Any, y: Any) -> Any:
    """Return |y - f|, summed over the entries of vectors."""
    return abs(f - y) if isinstance(f, (int, Fraction)) else sum(abs(a - b) for a, b in zip(f, y, strict=True))


def _symmetric(asked: Query, flip: float) -> Rows:
    """1 - flip on the answer, flip/(|range| - 1) on every other value."""
    if asked.width == 1 and flip > 0:
        refuse(f"flip is {flip}, but the query has a single answer")
    hit, miss = ONE - arb(flip), arb(flip) / max(asked.width - 1, 1)
    if asked.vector:
        return [[hit if j == t else miss for j in range(asked.width)] for t in range(asked.statistic.size)]
    return [[hit if j == f - asked.low else miss for j in range(asked.width)] for f in asked.answers]


def _exponential(asked: Query, rate: Ball | None) -> Rows:
    """q proportional to exp(-epsilon d / (2 sensitivity)) over the range."""
    weight: dict[int, Ball] = {}
    rows: dict[Any, list[Ball]] = {}
    for f in asked.answers:
        if f in rows:
            continue
        tick()
        row = []
        for y in asked.outputs:
            d = distance(f, y)
            if d not in weight:
                weight[d] = arb(not d) if rate is None else (-rate * d / 2).exp()
            row.append(weight[d])
        total = sum(row, ZERO)
        rows[f] = [w / total for w in row]
    return [rows[f] for f in asked.answers]


def _constant(asked: Query) -> Rows:
    """All mass on the value of least expected distortion, the lowest on ties."""
    size = [sum(column, ZERO) for column in zip(*_dense(asked.statistic), strict=True)]
    outputs, answers = asked.outputs, asked.answers
    expected = []
    for y in outputs:
        tick()
        expected.append(float(sum((p * distance(f, y) for p, f in zip(size, answers, strict=True)), ZERO)))
    least = min(expected)
    best = next(j for j, e in enumerate(expected) if e <= least + SLACK.tie * (1 + least))
    row = [ONE if j == best else ZERO for j in range(len(outputs))]
    return [row] * len(answers)


def _dense(statistic: Sum | Histogram | Table) -> list[list[Ball]]:
    return [[share.get(t, ZERO) for t in range(statistic.size)] for share in statistic.shares(0)]


@dataclass(frozen=True)
class Added:
    """Integer noise, symmetric around 0.

    tail(k) is P(noise >= k) for k >= 1. divergence(d) is at least D(f + noise || f' + noise) for |f - f'| = d: that of
    the real noise where it is rounded, as processing brings laws no farther apart.
    """

    tail: Callable[[int], Ball]
    divergence: Callable[[int], Ball]
    family: str
    text: str
    parameter: Ball | None  # the one that the family has; None where there is no noise at all
    exact: "Exact"

    def masses(self, many: int) -> tuple[list[Ball], list[Ball]]:
        """P(noise = d), and P(noise >= d), for d = 0, 1, ..., many - 1; each is made once, and shared."""
        with precision(max(512, 4 * ctx.prec)):  # differences of nearby tails
            tails = [self.tail(d) for d in ticking(range(1, many + 1))]
            inside = [1 - 2 * tails[0], *(x - y for x, y in pairwise(tails))]
            beyond = [1 - tails[0], *tails[:-1]]
        return [(+x).nonnegative_part() for x in inside], [+x for x in beyond]

    def rows(self, centres: Sequence[int], low: int, high: int) -> Rows:
        """The law of centre + noise, clamped to low..high, for every centre in between."""
        width = high - low + 1
        if width == 1:
            return [[ONE] for _ in centres]
        inside, beyond = self.masses(width)
        # inside[|y - f|] for y = low + 1..high - 1 is a part of this list.
        both = inside[:0:-1] + inside
        found = []
        for f in centres:
            tick()
            at = f - low
            found.append([beyond[at], *both[width - at : 2 * width - 2 - at], beyond[width - 1 - at]])
        return found

    def beyond(self, reach: int) -> Ball:
        """The chance of outputs that are put together this far beyond the answers; 0 where they are proportional."""
        return ZERO if self.family in ("geometric", "laplace") else 2 * self.tail(reach)

    def contraction(self, spread: int, counts: int) -> Ball:
        """Return eta of a release of this number of counts with this noise; spread is n d^2.

        d is the most by which one of n records moves a count; of several counts it moves two, by 1.
        Guarantee: D(p q || rho q) <= eta D(p || rho) for every prior p and every product rho of laws of records.

        Gaussian noise: 1 - exp( -n d^2 / (4 sigma^2) ), d^2 added up over the counts that move. Laplace noise of rate
        r: 1 - z K_1(z), z = 2 sqrt(n d^2 r^2 / 8); of k counts the two that move have at least the least of k
        exponentials. Geometric noise is rounded Laplace noise of the same rate with probability 1 / cosh(r/2), else 0.
        Proof: docs/mathematics.md, 4.8, "Noise that contracts".
        """
        # Discrete Gaussian noise is not a sum of independent parts of one kind.
        if self.parameter is None or self.family == "discrete_gaussian":
            return ONE
        if self.family == "gaussian":
            return 1 - (-spread * min(counts, 2) / (2 * self.parameter**2)).exp()  # the parameter is sigma sqrt(2)
        z = 2 * (arb(spread) / 8 * (2 * counts if counts > 1 else 1)).sqrt() * self.parameter
        left = z * z.bessel_k(1)
        return 1 - (left * (1 / (self.parameter / 2).cosh()) ** counts if self.family == "geometric" else left)


def falling(text: object, asked: Query) -> Falling | None:
    """Return what a named mechanism's noise says of its rows, or None where they are in no order.

    Log-concave noise of full support on a sum that is not a remainder, whose answers never fall along it, or the
    exponential mechanism there. With x = rate / 2 rounded Laplace noise has sinh(x) alpha^d at distance d > 0 and
    1 - exp(-x) = sinh(x) - (cosh(x) - 1) at 0; at an end exp(x)/2 alpha^d, and exp(x)/2 - (cosh(x) - 1) at 0.
    """
    name, given = call(text, MECHANISMS, "the mechanism")
    if name not in (*ADDITIVE, "exponential"):
        return None
    if not isinstance(asked.statistic, Sum) or asked.statistic.modulus is not None or asked.width == 1:
        return None
    wide = widened(name, given, asked) if name in ADDITIVE else asked
    # Classes with one answer share a row, and rows stand in the order in which they first appear.
    places = tuple(dict.fromkeys(f - wide.low for f in asked.answers))
    normal = name in ("gaussian", "discrete_gaussian")
    rate = None if normal else _rate(given, asked)
    if list(places) != sorted(places) or (rate is None and not normal):
        return None
    if rate is None or name == "exponential":
        return Falling()
    alpha = (-rate).exp()
    if name == "geometric":
        inner, outer = -(-rate).expm1() / (1 + alpha), 1 / (1 + alpha)
        return Falling(wide.width, places, alpha, inner, outer, None, wide.low, rate)
    x = rate / 2
    return Falling(wide.width, places, alpha, x.sinh(), x.exp() / 2, x.cosh() - 1, wide.low, rate)


Exact = tuple[str, Fraction | None]  # a family of noise, and its parameter; None where there is no noise at all


def exact_noise(text: object, asked: Query) -> Exact:
    """Return the family of a mechanism that adds noise and its one parameter, sigma or epsilon / sensitivity, exactly.

    Guarantee: where two of them are equal, so are the laws of the noise.
    """
    return exact_parameter(*call(text, MECHANISMS, "the mechanism"), asked)


def exact_parameter(name: str, given: dict[str, Any], asked: Query) -> Exact:
    """Return the same of a call that was read."""
    if name in ("gaussian", "discrete_gaussian"):
        return name, _exact_sigma(given, asked)
    return name, exact_rate(given, asked)


def same_answers(one: Query, other: Query) -> bool:
    """Guarantee: if true, both queries have the same records and the same answer to every dataset."""
    mine, theirs = one.statistic, other.statistic
    if mine.n != theirs.n or mine.alphabet(0) != theirs.alphabet(0):
        return False
    if mine == theirs:
        return bool(one.answers == other.answers)
    if mine.n * math.log2(mine.alphabet(0)) > math.log2(largest().compared_datasets):
        return False
    f, g = one.answers, other.answers
    return all(f[s] == g[t] for s, t in zip(mine.datasets(), theirs.datasets(), strict=True))


def added(text: object, asked: Query, *, rounded: bool = False) -> Added:
    """Return the noise that a named mechanism adds to the answer; rounded: real noise is rounded to integers."""
    name, given = call(text, MECHANISMS, "the mechanism")
    known = ("integer", "real") if rounded else ("integer",)
    if name not in ADDITIVE or given.get("output", "integer") not in known:
        refuse(f"{spelled(name, given)} adds no integer noise to the answer")
    return _added(name, given, asked)


def _added(name: str, given: dict[str, Any], asked: Query) -> Added:
    """The same of a call that was read.

    Laplace of scale 1/r: D = r d + exp(-r d) - 1. Gaussian: D = d^2 / (2 sigma^2). Geometric with alpha = exp(-r):
    D = r E( |noise + d| - |noise| ) = r ( d - 2 sum_{k=1..d} tail(k) ), a geometric series.
    """
    words, exact = spelled(name, given), exact_parameter(name, given, asked)
    if name == "discrete_gaussian":
        sigma = _exact_sigma(given, asked)
        ball = _ball(sigma)
        # D = E( (noise + d)^2 - noise^2 ) / (2 sigma^2), and the noise has mean 0.
        return Added(discrete.tails(ball, sigma), lambda d: (d / ball) ** 2 / 2, name, words, ball, exact)
    if name == "gaussian":
        scale = _ball(_exact_sigma(given, asked)) * arb(2).sqrt()
        return Added(
            lambda k: ((k - arb(0.5)) / scale).erfc() / 2, lambda d: (d / scale) ** 2, name, words, scale, exact
        )
    rate = _rate(given, asked)
    if rate is None:
        return Added(lambda _: ZERO, lambda d: arb.pos_inf() if d else ZERO, name, words, None, exact)
    if name == "laplace":

        def divergence(d: int) -> Ball:
            return rate * d + (-rate * d).expm1()

        return Added(lambda k: (-rate * (k - arb(0.5))).exp() / 2, divergence, name, words, rate, exact)
    return geometric(rate, words, exact)


def geometric(rate: Ball, words: str, exact: "Exact" = ("geometric", None)) -> Added:
    """Return geometric noise of this rate, in steps of the answers."""
    alpha = (-rate).exp()
    end = 1 / (1 + alpha)
    series = 2 * alpha * end / (-rate).expm1()
    divergence: Callable[[int], Ball] = lambda d: rate * (d - series * (-rate * d).expm1())  # noqa: E731 - one formula
    return Added(lambda k: (-rate * k).exp() * end, divergence, "geometric", words, rate, exact)


def kept_inside(text: object) -> bool:
    """Whether outputs of a mechanism that adds noise are clamped to the range of the answers."""
    _, given = call(text, MECHANISMS, "the mechanism")
    return clamped(given) and given.get("output", "integer") == "integer"


def output(text: object) -> object:
    """Return the kind of outputs that the call string of a mechanism asks for."""
    return call(text, MECHANISMS, "the mechanism")[1].get("output", "integer")


def real_noise(text: object, asked: Query) -> tuple[str, Ball, str]:
    """Return family, rate (Laplace) or sigma (Gaussian), and words of noise that is neither rounded nor clamped."""
    name, given = call(text, MECHANISMS, "the mechanism")
    if given.get("output") != "real":
        refuse(f"{spelled(name, given)} is not a mechanism with real outputs")
    parameter = _ball(_exact_sigma(given, asked)) if name == "gaussian" else _rate(given, asked)
    if parameter is None:
        refuse(f"{spelled(name, given)} of {asked.text} adds no noise at all")
    return name, parameter, spelled(name, given)


def _additive(asked: Query, noise: Added) -> Rows:
    """Noise on the answer; on histograms on every count by itself, clamped to 0..n."""
    if not isinstance(asked.statistic, Histogram):
        _fits(asked, asked.width, largest().shared_entries)
        return noise.rows(asked.answers, asked.low, asked.low + asked.width - 1)
    n, k = asked.statistic.n, asked.statistic.k
    if k * math.log2(n + 1) > math.log2(largest().own_entries):
        refuse(f"{n + 1}^{k} outputs are too many to rebuild")
    _fits(asked, (n + 1) ** k, largest().own_entries)
    cell = noise.rows(range(n + 1), 0, n)
    rows = []
    for counts in asked.statistic.counts:
        tick()
        row = [ONE]
        for c in counts:
            row = [p * q for p in row for q in cell[c]]
        rows.append(row)
    return rows


def _randomized_response(of: Sum | Histogram | Table, epsilon: Ball) -> tuple[Table, Rows]:
    """Every record kept with probability e^eps/(e^eps + k - 1), else another value, uniformly.

    Permuting the records of data and output alike leaves the channel as it is: they are interchangeable.
    """
    n, k = of.n, of.alphabet(0)
    if n > largest().responses or n * math.log2(k) > math.log2(largest().responses) + 1e-9:
        refuse(f"randomized_response of {n} records of {k} values has too many outputs to rebuild")
    kept = 1 / (1 + (k - 1) * (-epsilon).exp())
    other = (-epsilon).exp() * kept
    chance = [kept ** (n - d) * other**d for d in range(n + 1)]
    rows = []
    for x in product(range(k), repeat=n):
        tick()
        changes = [0]
        for value in x:
            step = [int(y != value) for y in range(k)]
            changes = [d + s for d in changes for s in step]
        rows.append([chance[d] for d in changes])
    return Table((k,) * n, range(k**n), k**n, interchangeable=True), rows
