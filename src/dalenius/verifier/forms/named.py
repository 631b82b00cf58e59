"""The named queries and mechanisms, rebuilt in balls from their definitions (docs: the public surface).

Call strings such as `count(n=4)` are parsed as literals, never evaluated.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

from flint import arb, ctx

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, exact, precision
from dalenius.verifier.kernel.cells import Falling
from dalenius.verifier.kernel.limits import SLACK, largest, tick, ticking
from dalenius.verifier.kernel.reading import Refused, fits, number, refuse, sequence, show, whole

from . import discrete, offices
from .counting import Histogram, Statistic, Sum, Table, histogram
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
# Bits of a whole number in a call string: beyond, it is no float.
LONGEST = 1024
# Families whose tails fall by one factor a step, those of a normal law, and all that add integer noise to the answer.
STEADY, NORMAL = ("geometric", "laplace"), ("gaussian", "discrete_gaussian")
ADDITIVE = (*STEADY, *NORMAL)
# Mechanisms with outputs that can be processed further.
NUMBERS = ("exact", "symmetric", "exponential", *ADDITIVE)
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
        # In hexadecimal it may be longer than what Python writes in decimal.
        if isinstance(node.value, int) and node.value.bit_length() > LONGEST:
            refuse(f"{where} has a whole number of more than {LONGEST} bits")
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _literal(node.operand, where)
        if type(value) in (int, float):
            return -value if isinstance(node.op, ast.USub) else value
    if not isinstance(node, (ast.List, ast.Tuple)):
        refuse(f"{where} has an argument that is not a number, text or list")
    return [_literal(item, where) for item in node.elts]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Guarantee: if true, both descriptions are of one channel: the same data, or calls that mean the same."""
    if one == other:
        return True
    try:
        return _meaning(one) == _meaning(other)
    except Refused:
        return False


def _meaning(problem: dict[str, Any]) -> dict[str, Any]:
    """A description with its calls read, and noise by its size; the points of a certificate have no part in it."""
    found = {key: x for key, x in problem.items() if key != "quadrature"}
    if "query" in found:
        name, given = call(found["query"], QUERIES, "the query")
        asked = query(found["query"], listed=False)
        found["query"] = name, given | {"names": None}
        if "mechanism" in found:
            found["mechanism"] = _law(found["mechanism"], asked)
        if "releases" in found:
            laws = [_law(text, asked) for text in sequence(found["releases"], "the releases")]
            found["releases"] = laws if "then" in found else sorted(laws, key=repr)
        if "then" in found:
            pairs = [sequence(pair, "a choice", 2) for pair in sequence(found["then"], "'then'")]
            found["then"] = [(many, _law(text, asked)) for many, text in pairs]
    return found


def _law(text: object, asked: "Query") -> tuple[object, ...]:
    """A mechanism by its name and arguments; noise by its parameter in steps of the answers."""
    name, given = call(text, MECHANISMS, "the mechanism")
    return (name, exact_size(given, asked), clamped(given), _output(given)) if name in ADDITIVE else (name, given)


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
    n = whole(given.get("n", 1), "n of the query", 1, largest().records)
    if name in ("histogram", "table"):
        k = _cells(given) if name == "table" else whole(given["k"], "k of the query", 1, largest().numbers)
        vectors = histogram(n, k, listed=listed)
        found = Query(name, vectors, vectors.size, 2 if k > 1 else 0)
    else:
        found = NUMERIC[name](n, given)
    return replace(found, text=spelled(name, given))


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


def _modular_sum(n: int, given: dict[str, Any]) -> Query:
    m = whole(given["modulus"], "modulus of the query", 1, largest().numbers)
    return Query("modular_sum", Sum(n, (0, 1), m), m, 1 if n < m else m - 1)


def _total(n: int, given: dict[str, Any]) -> Query:
    entries, most = sequence(given["values"], "values of the query"), largest().contribution
    values = tuple(whole(v, "a value of the query", -most, most) for v in entries)
    if not values:
        refuse("values of the query must list one integer or more")
    spread = max(values) - min(values)
    return Query("total", Sum(n, values), n * spread + 1, spread, n * min(values))


def _identity(_: int, given: dict[str, Any]) -> Query:
    k = whole(given["k"], "k of the query", 1, largest().reach)
    return Query("identity", Sum(1, tuple(range(k))), k, k - 1)


def _cells(given: dict[str, Any]) -> int:
    """How many cells a contingency table has: the product of its attributes' numbers of values."""
    k = 1
    for size in sequence(given["shape"], "shape of the query"):
        k *= whole(size, "a number of values of an attribute", 1, largest().numbers)
        fits(k, "the table of the query")
    return k


def _mean(n: int, given: dict[str, Any]) -> Query:
    """The mean of n records low, low + step, ..., high: low + unit x (the sum of the records' numbers)."""
    most = largest().contribution
    low, high = (whole(given[key], f"{key} of the query", -most, most) for key in ("low", "high"))
    step = whole(given["step"], "step of the query", 1, 2 * most)
    if low >= high or (high - low) % step or (high - low) // step >= largest().reach:
        refuse("the mean of the query needs low < high, a step that divides the range, and not too many values")
    k = (high - low) // step + 1
    return Query("mean", Sum(n, tuple(range(k))), n * (k - 1) + 1, k - 1, unit=Fraction(step, n), start=low)


def _weighted_sum(_: int, given: dict[str, Any]) -> Query:
    """The weights of the bits that are one, added up; classes by ascending sum."""
    most = largest().contribution
    weights = [whole(w, "a weight of the query", -most, most) for w in sequence(given["weights"], "weights")]
    if not weights:
        refuse("weights of the query must list one or more")
    fits(2.0 ** min(len(weights), 64), "the datasets of the query")
    sums = [0]
    for w in ticking(weights):
        sums = [s for x in sums for s in (x, x + w)]
    answers = sorted(set(sums))
    place = {value: t for t, value in enumerate(answers)}
    table = Table((2,) * len(weights), tuple(place[s] for s in ticking(sums)), len(answers))
    width, spread = answers[-1] - answers[0] + 1, max(map(abs, weights))
    return Query("weighted_sum", table, width, spread, answers[0], given=tuple(answers))


# Queries whose answers are numbers, from how many records there are and the arguments.
NUMERIC: dict[str, Callable[[int, dict[str, Any]], Query]] = {
    "modular_sum": _modular_sum,
    "count": lambda n, _: Query("count", Sum(n, (0, 1)), n + 1, 1),
    "pairs": lambda n, _: Query("pairs", Sum(n, (0, 1)), n * (n - 1) // 2 + 1, n - 1),
    "total": _total,
    "mean": _mean,
    "weighted_sum": _weighted_sum,
    "identity": _identity,
}


def mechanism(text: object, asked: Query) -> tuple[Statistic, Rows, str]:
    """Return the statistic, the rows, one per class, and the words of a named mechanism of a query."""
    name, given = call(text, MECHANISMS, "the mechanism")
    words = spelled(name, given)
    if _output(given) != "integer":
        refuse(f"{words} has no table of finitely many outputs; its certificate needs a quadrature")
    if name in OF_RECORDS:
        refuse(f"{words} has no table of the whole release; its certificate needs a part of it")
    if name == "randomized_response":
        return *_randomized_response(asked.statistic, exact(_positive(given, "epsilon"))), words
    rows = ROWS[name](asked, given) if name in ROWS else _released(name, given, asked)[1]
    return asked.statistic, rows, words


def _released(name: str, given: dict[str, Any], asked: Query) -> tuple[Sequence[Any], Rows]:
    """The outputs of a mechanism, numbers or vectors of counts, and its rows, one per class."""
    kernels: list[offices.Kernel] = []
    inside = given
    while name in offices.KERNELS:
        kernels.insert(0, offices.KERNELS[name](inside))
        name, inside = call(inside["mechanism"], MECHANISMS, "the mechanism inside")
    if kernels:
        return offices.processed(*_processed_further(name, inside, asked), kernels)
    if name == "subsampled":
        return _subsampled(given, asked)
    rows = ROWS[name](asked, given)
    if name in ADDITIVE and isinstance(asked.statistic, Histogram):
        return list(product(range(asked.statistic.n + 1), repeat=asked.statistic.k)), rows
    return asked.outputs, rows


def _processed_further(name: str, given: dict[str, Any], asked: Query) -> tuple[Sequence[Any], Rows]:
    """The same of a mechanism whose outputs are numbers."""
    whole_numbers = _output(given) == "integer" and clamped(given) and asked.name != "mean"
    if name not in ("subsampled", "shuffled_response") and not (name in NUMBERS and whole_numbers):
        refuse(f"the outputs of {spelled(name, given)} of {asked.text} are not numbers that are processed further")
    return _released(name, given, asked)


def _subsampled(given: dict[str, Any], asked: Query) -> tuple[Sequence[Any], Rows]:
    """A count of records, each of which is kept with chance `rate`."""
    rate, of = number(given["rate"], "rate", 0.0, 1.0), asked.statistic
    if rate == 0:
        refuse("rate is 0; it must be above 0")
    if not isinstance(of, Sum) or of.modulus is not None or set(of.contributions) != {0, 1}:
        refuse(f"subsampled is for counts of records, not for {asked.text}")
    name, inside = call(given["mechanism"], MECHANISMS, "the mechanism")
    released = _released if name in offices.KERNELS else _processed_further
    outputs, rows = released(name, inside, asked)
    return outputs, rows if rate == 1 else offices.sampled(rows, rate)


def _shuffled(asked: Query, given: dict[str, Any]) -> Rows:
    epsilon = exact(_positive(given, "epsilon"))
    _fits(asked, asked.width)
    if isinstance(asked.statistic, Histogram):
        return offices.shuffled(asked.statistic.counts, epsilon)
    if asked.name != "count":
        refuse(f"shuffled_response is for counts and histograms, not for {asked.text}")
    n = asked.statistic.n
    return offices.shuffled([(n - t, t) for t in range(n + 1)], epsilon)


def _output(given: dict[str, Any]) -> object:
    return given.get("output", "integer")


def clamped(given: dict[str, Any]) -> bool:
    """Whether outputs are clamped to the range of the query."""
    clamp = given.get("clamp", True)
    if type(clamp) is not bool:
        refuse(f"clamp is {show(clamp)}; it must be True or False")
    return clamp


def lost(problem: dict[str, Any], asked: Query) -> Ball:
    """Return no less than the chance that an output of a named mechanism is among those that were put together.

    With Y' for Y after outputs beyond both ends were put together, I(A;Y) - I(A;Y') = I(A;Y|Y'), which is P(Y' is an
    end) I(A; Y | Y' is an end) at most: the chance times log|A|. An answer f is at least m away from either end, so
    that the chance is at most 2 P(noise >= m). Proportional columns tell nothing beside their sum: nothing is lost.
    """
    name, given = call(problem["mechanism"], MECHANISMS, "the mechanism")
    if name not in ADDITIVE:
        return ZERO
    noise = _added(name, given, asked)
    cut = noise.widened(asked).cut
    return 2 * noise.tail(cut) if cut else ZERO


def _noisy_max(asked: Query, given: dict[str, Any]) -> Rows:
    """The most frequent value, with noise: one output for each value of a record."""
    if not isinstance(asked.statistic, Histogram):
        refuse(f"noisy_max is for histograms and tables, not for {asked.text}")
    if given["noise"] not in offices.LAWS:
        refuse(f"noise is {show(given['noise'])}; noisy_max has {', '.join(offices.LAWS)}")
    _fits(asked, asked.statistic.k)
    law, epsilon = offices.LAWS[given["noise"]], exact(_positive(given, "epsilon"))
    return [law(counts, epsilon) for counts in asked.statistic.counts]


def _positive(given: dict[str, Any], name: str) -> Fraction:
    value = number(given[name], name)
    if value <= 0:
        refuse(f"{name} is {value}; it must be above 0")
    return Fraction(value)


def exact_size(given: dict[str, Any], asked: Query) -> Fraction | None:
    """Sigma, or the rate, epsilon / sensitivity or 1 / scale, in steps of the answers; None for a single answer."""
    if "sigma" in given:
        return _positive(given, "sigma") / asked.unit
    if given.get("scale") is not None:
        if given["epsilon"] is not None or given["sensitivity"] is not None:
            refuse("scale is given with epsilon or sensitivity; scale alone fixes how much noise there is")
        return asked.unit / _positive(given, "scale")
    epsilon = _positive(given, "epsilon")
    if given["sensitivity"] is not None:
        return epsilon / _positive(given, "sensitivity") * asked.unit
    return epsilon / asked.sensitivity if asked.sensitivity else None


def _rate(given: dict[str, Any], asked: Query) -> Ball | None:
    size = exact_size(given, asked)
    return None if size is None else exact(size)


def _fits(asked: Query, columns: int) -> None:
    """Refuse before anything large is built."""
    fits(columns, asked.text)
    fits(asked.statistic.size * columns, asked.text)


def distance(f: Any, y: Any) -> Any:
    """Return |y - f|, summed over the entries of vectors."""
    return abs(f - y) if isinstance(f, (int, Fraction)) else sum(abs(a - b) for a, b in zip(f, y, strict=True))


def _flipped(asked: Query, flip: float) -> Rows:
    """1 - flip on the answer, flip/(|range| - 1) on every other value."""
    _fits(asked, asked.width)
    if asked.width == 1 and flip > 0:
        refuse(f"flip is {flip}, but the query has a single answer")
    hit, miss = (ONE - arb(flip), arb(flip) / max(asked.width - 1, 1)) if flip else (ONE, ZERO)
    return [[hit if y == f else miss for y in asked.outputs] for f in asked.answers]


def _exponential(asked: Query, given: dict[str, Any]) -> Rows:
    """q proportional to exp(-epsilon d / (2 sensitivity)) over the range."""
    _fits(asked, asked.width)
    rate = _rate(given, asked)
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


def _constant(asked: Query, _: dict[str, Any]) -> Rows:
    """All mass on the value of least expected distortion, the lowest on ties."""
    _fits(asked, asked.width)
    shares = asked.statistic.shares(0)
    size = [sum((share[t] for share in shares if t in share), ZERO) for t in range(asked.statistic.size)]
    outputs, answers = asked.outputs, asked.answers
    expected = []
    for y in outputs:
        tick()
        expected.append(float(sum((p * distance(f, y) for p, f in zip(size, answers, strict=True)), ZERO)))
    least = min(expected)
    best = next(j for j, e in enumerate(expected) if e <= least + SLACK.tie * (1 + least))
    row = [ONE if j == best else ZERO for j in range(len(outputs))]
    return [row] * len(answers)


@dataclass(frozen=True)
class Added:
    """Noise that is added to the answer, symmetric around 0; what is said of real noise is about its nearest integers.

    tail(k) is P(noise >= k) for k >= 1.
    """

    family: str
    text: str
    size: Fraction | None  # sigma, or the rate, in steps of the answers; None where there is no noise at all
    parameter: Ball | None  # the same as a ball
    tail: Callable[[int], Ball]
    clamped: bool = True  # whether outputs are clamped to the range of the query
    output: object = "integer"

    @property
    def steady(self) -> bool:
        """Whether the tail falls by one factor a step."""
        return self.family in STEADY and self.parameter is not None

    @property
    def normal(self) -> tuple[Ball, Ball] | None:
        """Variance v and chance c: with chance c it is rounded normal noise of variance v; None of other noise."""
        if self.parameter is None or self.family not in NORMAL:
            return None
        gaussian = self.family == "gaussian"
        return (self.parameter**2, ONE) if gaussian else discrete.rounded_normal(self.parameter)

    def below(self, k: int) -> Ball:
        """P(noise <= k)."""
        return self.tail(-k) if k < 0 else 1 - self.tail(k + 1)

    def widened(self, asked: Query) -> Query:
        """Return the query with the range to which noise that is not clamped may be clamped all the same.

        Columns of geometric noise are proportional from the ends of the answers on outwards, q(y|f) = alpha^(y'-y)
        q(y'|f) for y < y' <= low; those of rounded Laplace noise, exp( -rate (f - y) ) sinh(rate/2), from one step
        beyond. Putting proportional columns together loses nothing, for any secret and prior. Discrete Gaussian noise
        is cut 1 + 7.5 sigma beyond, rounded up, and `lost` says what is lost.
        """
        if self.clamped:
            return asked
        if asked.vector:
            refuse(f"{self.text} of {asked.text}: clamp=False is for answers that are numbers")
        normal = self.family == "discrete_gaussian"
        m = discrete.margin(self.size) if normal and self.size is not None else int(self.family == "laplace")
        return replace(asked, low=asked.low - m, width=asked.width + 2 * m, cut=m if normal else 0)

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
        return ZERO if self.family in STEADY else 2 * self.tail(reach)

    def contraction(self, spread: int, counts: int) -> Ball:
        """Return eta of a release of this number of counts with this noise.

        Guarantee: D(p q || rho q) <= eta D(p || rho) for every prior p and every product rho of laws of records.
        spread is n d^2, d the most by which one of n records moves a count; of several counts it moves two, by 1.
        Formulas and proof: docs/mathematics.md, 4.8, "Noise that contracts".
        """
        if self.normal is not None:
            variance, chance = self.normal
            # Where the noise is not that of a normal law, all is left.
            return 1 - chance**counts * (-spread * min(counts, 2) / (4 * variance)).exp()
        if self.parameter is None or not self.steady:
            return ONE
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
    wide = _added(name, given, asked).widened(asked) if name in ADDITIVE else asked
    # Classes with one answer share a row, and rows stand in the order in which they first appear.
    places = tuple(dict.fromkeys(f - wide.low for f in asked.answers))
    normal = name in NORMAL
    rate = None if normal else _rate(given, asked)
    if list(places) != sorted(places) or (rate is None and not normal):
        return None
    if rate is None or name == "exponential":
        return Falling()
    alpha = (-rate).exp()
    if name == "geometric":
        inner, outer = -(-rate).expm1() / (1 + alpha), 1 / (1 + alpha)
        return Falling(wide.width, places, alpha, inner, outer, None, rate)
    x = rate / 2
    return Falling(wide.width, places, alpha, x.sinh(), x.exp() / 2, x.cosh() - 1, rate)


def added(text: object, asked: Query, *, rounded: bool = False) -> Added:
    """Return the noise that a named mechanism adds to the answer; rounded: real noise is rounded to integers."""
    name, given = call(text, MECHANISMS, "the mechanism")
    known = ("integer", "real") if rounded else ("integer",)
    if name not in ADDITIVE or _output(given) not in known:
        refuse(f"{spelled(name, given)} adds no integer noise to the answer")
    return _added(name, given, asked)


def _added(name: str, given: dict[str, Any], asked: Query) -> Added:
    size, words, kept, output = exact_size(given, asked), spelled(name, given), clamped(given), _output(given)
    if size is None:
        return Added(name, words, None, None, lambda _: ZERO, kept, output)
    x = exact(size)
    if name == "geometric":
        return replace(geometric(x, words), size=size, clamped=kept)
    tail: Callable[[int], Ball]
    if name == "discrete_gaussian":
        tail = discrete.tails(x, size)
    elif name == "gaussian":
        scale = x * arb(2).sqrt()
        tail = lambda k: ((k - arb(0.5)) / scale).erfc() / 2  # noqa: E731 - one formula
    else:
        tail = lambda k: (-x * (k - arb(0.5))).exp() / 2  # noqa: E731 - the same
    return Added(name, words, size, x, tail, kept, output)


def geometric(rate: Ball, words: str) -> Added:
    """Return geometric noise of this rate, in steps of the answers."""
    end = 1 / (1 + (-rate).exp())
    return Added("geometric", words, None, rate, lambda k: (-rate * k).exp() * end)


def _additive(name: str, asked: Query, given: dict[str, Any]) -> Rows:
    """Noise on the answer; on histograms on every count by itself, clamped to 0..n."""
    noise = _added(name, given, asked)
    asked = noise.widened(asked)
    if not isinstance(asked.statistic, Histogram):
        _fits(asked, asked.width)
        return noise.rows(asked.answers, asked.low, asked.low + asked.width - 1)
    n, k = asked.statistic.n, asked.statistic.k
    _fits(asked, (n + 1) ** min(k, 64))
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
    fits(k ** (2 * min(n, 64)) if k > 1 else n, "randomized_response")
    kept, other = offices.response(epsilon, k)
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


# The rows of every mechanism that has one per class of its query.
ROWS: dict[str, Callable[[Query, dict[str, Any]], Rows]] = {
    **{name: partial(_additive, name) for name in ADDITIVE},
    "symmetric": lambda asked, given: _flipped(asked, number(given["flip"], "flip", 0.0, 1.0)),
    "exact": lambda asked, _: _flipped(asked, 0.0),
    "exponential": _exponential,
    "noisy_max": _noisy_max,
    "constant": _constant,
    "shuffled_response": _shuffled,
}
