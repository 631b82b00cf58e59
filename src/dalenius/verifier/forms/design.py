"""Re-checking a design: what no mechanism can do better than, and what the one given does.

The mechanism of the audit inside has one row per class c of a domain whose classes are the orbits of maps of datasets
that permute records and rename their values, and leave the reference alone (counting.classes_are_orbits): so any
mechanism may be taken constant on classes. The distortion d(c,y) and the data distribution P0 are given per class. The
lower bound is kernel/closing.py; it may be averaged over the orbits of pairs (c,y) under maps that also leave P0 and d
alone. With "beside": M the audited channel is a joint release J(m,y|c) of M outputs m before, y fastest: its first part
q1(m|c) = sum_y J is what was released before, its second part the mechanism, J is their product up to SLACK.product,
and W(c,y) = sum_m q1(m|c) W(c,m,y). Proofs: docs/mathematics.md, 6.2 to 6.9.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, reduce
from itertools import accumulate, pairwise, permutations
from typing import Any, TypeAlias

from flint import arb, arb_mat

from dalenius.verifier.kernel import closing
from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, Matrix, exact, matrix, short
from dalenius.verifier.kernel.cells import held, law_of
from dalenius.verifier.kernel.limits import SLACK, tick, ticking
from dalenius.verifier.kernel.reading import field, fits, mapping, number, numbers, refuse, sequence, show, whole

from . import named
from .counting import Blocks, Statistic, Table, classes_are_orbits, images, rearranged, relabelled
from .independent import Independent, lines
from .reference import UNIFORM, Law, Reference, Weights, digest, normalised, stated
from .secret import Secret, of_record
from .written import Asked, Audited

Exact: TypeAlias = int | float | Fraction  # compared without rounding
Pairs: TypeAlias = list[Any]  # one entry for every (c,y), y fastest


ERRORS: dict[str, Callable[[Any], Exact]] = {
    "absolute": lambda e: e,
    "squared": lambda e: e * e,
    "zero-one": lambda e: int(e != 0),
}


@dataclass(frozen=True)
class Task:
    """The least leakage at expected distortion `budget`, or the least distortion at leakage `budget`.

    d(c,y) = distances[c][y]; P0(c) proportional to weights[c], or uniform over datasets.
    """

    audited: Audited
    weights: Law | None
    distances: list[list[Exact]]
    primal: bool
    budget: float
    text: str
    beside: int
    kept: "Kept"
    # P0(c) d(c,y) of a mechanism on blocks, about which no lower bound but 0 is stated.
    given: Pairs | None = None

    @property
    def width(self) -> int:
        return self.audited.channel.outputs // self.beside

    @cached_property
    def parts(self) -> list[tuple[list[Ball], list[Ball]]]:
        """The first and the second part of every row of the channel, q1(m) and q(y)."""
        found = []
        for row in self.audited.channel.rows:
            tick()
            blocks = [row[start : start + self.width] for start in range(0, len(row), self.width)]
            found.append(([sum(block, ZERO) for block in blocks], [sum(ys, ZERO) for ys in zip(*blocks, strict=True)]))
        return found

    @property
    def quantity(self) -> str:
        return "eps(D,b)" if self.primal else "D(L,b)"

    @property
    def unit(self) -> str:
        return "nats" if self.primal else ""

    def check(self, content: dict[str, Any], lower: float, upper: float) -> str:
        """Return what the certificate establishes, in one sentence.

        Guarantee: lower <= optimum, and the mechanism attains `upper` within the budget.
        """
        claimed = number(field(content, "distortion", "the certificate"), "'distortion'")
        self._attained(claimed, upper)
        self._check_kept()
        bound = self._lower_bound(content)
        if lower > 0 and not bound >= lower:
            refuse(f"the pool proves a lower bound of {short(bound)}, less than the claimed {lower!r}")
        mechanism = (
            f"every number was recomputed: the mechanism is a channel of expected distortion at most {claimed!r} "
            f"that leaks at most {self.audited.upper!r} nats of any record{self._together}"
        )
        if self.primal:
            return f"{mechanism}, and none of distortion at most {self.budget!r} leaks less than {lower!r} nats"
        limit = f"leaks at most {self.budget!r} nats{self._together}"
        return f"{mechanism}, and none that {limit} has a distortion below {lower!r}"

    @property
    def _together(self) -> str:
        return "" if self.beside == 1 else " together with what was released before"

    @cached_property
    def _neighbours(self) -> set[tuple[int, int]]:
        """Classes of datasets that differ in one record; none where no privacy is asked for."""
        statistic = self.audited.channel.statistic
        records = range(0 if self.kept.private is None else 1 if statistic.interchangeable else statistic.n)
        pairs = (permutations(line, 2) for i in records for line in lines(statistic, i))
        return {(c, d) for found in ticking(pairs) for c, d in found if c != d}

    def _check_kept(self) -> None:
        """Guarantee: the mechanism keeps every constraint (docs/mathematics.md, 6.12)."""
        channel, kept = self.audited.channel, self.kept
        most = arb(kept.private or 0.0).exp()
        for one, other in {(channel.row_of[c], channel.row_of[d]) for c, d in self._neighbours}:
            tick()
            if not all(p <= most * q for p, q in zip(channel.rows[one], channel.rows[other], strict=True)):
                refuse(f"the mechanism is not {kept.private!r}-differentially private")
        if kept.floor and not all(q >= kept.floor for row in channel.rows for q in ticking(row)):
            refuse(f"the mechanism has an output of probability below {kept.floor!r}")
        for c, row in enumerate(channel.row_of):
            tick()
            law, first = channel.rows[row], c * self.width
            if not all(q.is_zero() for y, q in enumerate(law) if first + y in kept.barred):
                refuse(f"the mechanism has an output that class {c} must not have")
            if kept.means:
                error = sum((q * exact(e) for q, e in zip(law, kept.errors[c], strict=True)), ZERO)
                if not abs(error) <= kept.bias:
                    refuse(f"the mechanism is biased by {short(error)} in class {c}")

    def _priced(self, terms: Pairs, prices: object) -> Ball:
        """Add m A(c,y) of limits sum q A <= 0, or = 0, to what is minimised; return what that costs (6.12).

        A price [c, c', y, m] is about q(y|c) - e^private q(y|c') <= 0, m >= 0. A price [c, m] is about the mean error
        of class c, which is at most the bias on either side.
        """
        most, size = arb(self.kept.private or 0.0).exp(), len(self.distances) - 1
        cost = ZERO
        for j, price in enumerate(sequence(prices, "the prices")):
            tick()
            mean = self.kept.means and len(sequence(price, f"price {j}")) == 2  # a class, a multiplier
            *about, weight = sequence(price, f"price {j}", 2 if mean else 4)
            if mean:
                c = whole(about[0], f"the class of price {j}", 0, size)
                m = arb(number(weight, f"the weight of price {j}"))
                for y, e in enumerate(self.kept.errors[c]):
                    terms[c * self.width + y] += m * exact(e)
                cost += abs(m) * self.kept.bias
                continue
            c, d = (whole(value, f"a class of price {j}", 0, size) for value in about[:2])
            y = whole(about[2], f"the output of price {j}", 0, self.width - 1)
            m = arb(number(weight, f"the weight of price {j}", low=0.0))
            if (c, d) not in self._neighbours:
                refuse(f"price {j} is about classes {c} and {d}, whose datasets are not neighbours")
            terms[c * self.width + y] += m
            terms[d * self.width + y] -= m * most
        return cost

    def _attained(self, claimed: float, upper: float) -> None:
        """Guarantee: distortion <= claimed, leakage <= audited.upper; the one is `upper`, the other within budget."""
        channel = self.audited.channel
        rows = channel.rows
        if self.beside > 1:
            # What is audited is the product of both parts, up to SLACK.product.
            for row, (first, second) in zip(rows, self.parts, strict=True):
                tick()
                both = (m * y for m in first for y in second)
                if not all(abs(q - p) <= SLACK.product for q, p in zip(row, both, strict=True)):
                    refuse("the joint release is not the product of what was released before and of a mechanism")
            rows = [second for _, second in self.parts]
        entries = (q for row in channel.row_of for q in rows[row])
        expected = sum((q * cost for q, cost in zip(entries, self.costs, strict=True)), ZERO)
        if not expected <= claimed:
            refuse(f"the mechanism has expected distortion {short(expected)}, more than the claimed {claimed!r}")
        leaked = self.audited.upper
        if self.primal:
            if not claimed <= self.budget * (1 + SLACK.distortion):
                refuse(f"the distortion {claimed!r} exceeds the budget {self.budget!r}")
            if not leaked <= upper:
                refuse(f"the mechanism is proved to leak at most {leaked!r}, more than the upper bound {upper!r}")
        else:
            if claimed != upper:
                refuse(f"the distortion {claimed!r} is not the upper bound {upper!r}")
            none = self.audited.knowledge is not None and self.audited.knowledge.none
            slack = SLACK.leakage if self.budget == 0 and none else 0.0
            # A constant leaks nothing, whatever is stated.
            constant = self.beside == 1 and len(self.audited.channel.rows) == 1
            if not (constant or leaked <= self.budget + slack):
                refuse(f"the mechanism is proved to leak at most {leaked!r}, more than the budget {self.budget!r}")

    @cached_property
    def costs(self) -> Pairs:
        """P0(c) d(c,y)."""
        if self.given is not None:
            return self.given
        if self.weights is not None:
            law = normalised(self.weights)
        else:  # the share of all datasets
            shares = self.audited.channel.statistic.shares(0)
            law = [sum((share[c] for share in shares if c in share), ZERO) for c in range(len(self.distances))]
        ball = cache(exact)
        return [p * ball(d) for p, row in zip(law, ticking(self.distances), strict=True) for d in row]

    def _lower_bound(self, content: dict[str, Any]) -> Ball:
        """Guarantee: result <= optimum (the two formulas of kernel/closing.py); 0 in any case."""
        if self.given is not None:
            return ZERO
        symmetries = sequence(content.get("symmetries", ()), "symmetries")
        if self.beside > 1 and symmetries:
            refuse("a design after earlier releases has no symmetries")
        maps = [self._map(value, f"symmetry {j}") for j, value in enumerate(symmetries)]
        pool = sequence(field(content, "pool", "the certificate"), "the pool")
        total, gains = self._gains(pool)
        if self.primal:
            price = arb(number(field(content, "multiplier", "the certificate"), "the multiplier", low=0.0))
            if not total > 0:
                return ZERO
            gains, spent = gains * (1 / total), price * self.budget
        else:
            price, spent = ONE, total * self.budget
        terms = [w + price * cost for w, cost in zip(gains.entries(), self.costs, strict=True)]
        spent += self._priced(terms, content.get("prices", ()))
        return closing.least(terms, self.width, maps, self.kept.floor, self.kept.barred) - spent

    def _gains(self, pool: Sequence[Any]) -> tuple[Ball, Matrix]:
        """Return sum_k lam_k and W(c,y). Against independent records every prior knows the others."""
        channel, knowledge, reference = self.audited.channel, self.audited.knowledge, self.audited.reference
        shape = channel.statistic.size, channel.outputs

        @cache
        def asked(about: Secret) -> Any:
            if knowledge is None:
                return Independent(channel, UNIFORM, follows=False, knowledge=None, about=about)
            return Asked(channel, about, knowledge, reference)

        total, gains, own = ZERO, arb_mat(channel.statistic.size, self.width), [[ZERO] * self.width] * shape[0]
        for j, value in enumerate(pool):
            tick()
            where = f"prior {j} of the pool"
            item = mapping(value, where)
            weight = arb(number(field(item, "weight", where), f"the weight of {where}", low=0.0))
            question = asked(of_record(item, channel.statistic, where))
            total += weight
            if knowledge is not None:
                prior = held(question.prior(field(item, "masses", where), where), question.shares, knowledge, where)
                gains += weight * self._before(closing.gains(prior, field(item, "ratios", where), shape, where))
                continue
            classes = question.known_classes(item)
            law = law_of(field(item, "law", where), len(classes), f"the law of {where}")
            prior = [{} if p.is_zero() else {c: p} for c, p in zip(classes, law, strict=True)]
            ratios = closing.legal(prior, field(item, "ratios", where), self.width, where)
            for c, p, row in zip(classes, law, ratios, strict=True):
                own[c] = [w + weight * p * r for w, r in zip(own[c], row, strict=True)]
        return total, matrix(own) if knowledge is None else gains

    def _before(self, gains: Matrix) -> Matrix:
        """W(c,y) of W(c,m,y): the mean over what was released before, sum_m q1(m|c) W(c,m,y)."""
        if self.beside == 1:
            return gains
        rows = []
        for row, given in zip(self.audited.channel.row_of, gains.tolist(), strict=True):
            tick()
            first = self.parts[row][0]
            blocks = [given[start : start + self.width] for start in range(0, len(given), self.width)]
            mean = [sum((q * w for q, w in zip(first, ws, strict=True)), ZERO) for ws in zip(*blocks, strict=True)]
            rows.append(mean)
        return matrix(rows)

    def _map(self, value: object, where: str) -> list[int]:
        """Return a symmetry as a permutation of the pairs (c,y).

        Guarantee: it takes records to records, relabelling values, and leaves d, P0 and the reference alone.
        """
        symmetry = mapping(value, where)
        statistic, width = self.audited.channel.statistic, self.width
        if set(symmetry) != {"values", "outputs"} | ({"records"} if isinstance(statistic, Table) else set()):
            refuse(f"{where} has the fields {show(', '.join(sorted(map(str, symmetry))))}, not those of its domain")
        outputs = _permutation(symmetry["outputs"], width, f"outputs of {where}")
        classes = _moved(statistic, self.audited.reference, symmetry, where)
        for c, image in enumerate(classes):
            tick()
            if self.weights is not None and self.weights[image] != self.weights[c]:
                refuse(f"{where} takes class {c} to class {image}, which has another probability")
            moved = self.distances[image]
            if [moved[y] for y in outputs] != self.distances[c]:
                refuse(f"{where} takes class {c} to class {image}, where the distortions are others")
        found = [image * width + y for image in classes for y in outputs]
        if not self.kept.symmetric(found):
            refuse(f"{where} does not leave the constraints alone")
        return found


def _in_blocks(problem: dict[str, Any], channel: Any) -> tuple[list[int], Pairs]:
    """Return the outputs of a mechanism on blocks of a count, and sum P0(t) |t - y|^k over the answers t of a block.

    k is 1 or 2; partial sums of P0 t^j give these sums. P0 is uniform over datasets.
    """
    error, blocks = problem.get("distortion"), channel.statistic
    if set(problem) != {"query", "outputs", "distribution", "distortion"} or error not in ("absolute", "squared"):
        refuse("a design in blocks has the absolute or the squared error, outputs of its own and no constraint")
    if problem["distribution"] != "uniform" or named.query(problem["query"]).text != blocks.query:
        refuse(f"a design in blocks of {blocks.query} is about that query and uniform data")
    listed = sequence(problem["outputs"], "outputs of the problem", channel.outputs)
    outputs = [whole(y, "an output of the problem", 0, blocks.n) for y in listed]
    near, squared = blocks.near(UNIFORM, ()), error == "squared"
    moments = [[ZERO, *accumulate(p * t**j for p, t in zip(near.masses, near.values, strict=True))] for j in range(3)]

    def part(low: int, high: int, y: int) -> Ball:
        """The sum over answers from low to below high, all on one side of y."""
        i, j = (min(max(t - near.values[0], 0), len(near.masses)) for t in (low, high))
        mass, mean, square = (sums[j] - sums[i] for sums in moments)
        return square - 2 * y * mean + y * y * mass if squared else abs(mean - y * mass)

    costs = []
    for low, high in pairwise((*blocks.starts, blocks.n + 1)):
        tick()
        # What is not listed lies in blocks at the ends, at most n from any output.
        far = near.left * blocks.n ** (2 if squared else 1) if low == 0 or high > blocks.n else ZERO
        for y in outputs:
            middle = min(max(y, low), high)
            costs.append(part(low, middle, y) + part(middle, high, y) + far)
    return outputs, costs


def read(content: dict[str, Any], audited: Audited) -> Task:
    """Return the task of a design certificate whose audit has been checked."""
    statistic, joint = audited.channel.statistic, audited.channel.outputs
    if field(content, "adversary", "the certificate") != content["audit"]["adversary"]:
        refuse("the audit is about another adversary than the design")
    fits(statistic.size * joint, "the design")
    beside = whole(content["beside"], "'beside'", 1, joint) if "beside" in content else 1
    if joint % beside:
        refuse(f"a joint release of {joint} outputs has no first part of {beside}")
    width = joint // beside
    blocks = isinstance(statistic, Blocks) and audited.reference.uniform and beside == 1
    if not (blocks or classes_are_orbits(statistic)):
        refuse("the mechanism needs one row per count vector, per dataset or per parity, or better ones are left out")
    if not (blocks or classes_are_orbits(statistic, audited.reference)):
        refuse("the reference treats datasets of one class differently; the mechanism needs one row per dataset")
    problem = mapping(field(content, "problem", "the certificate"), "the problem")
    if not set(problem) <= {"query", "outputs", "distribution", "distortion", *CONSTRAINTS}:
        refuse(f"the problem has the fields {show(', '.join(sorted(map(str, problem))))}, which describe no design")
    asked: Named = None, [], ""
    if isinstance(statistic, Blocks):
        outputs, costs = _in_blocks(problem, audited.channel)
        distances, words = (
            list[list[Exact]](),
            f"{problem['distortion']} error on {width} outputs (sha256 {digest(outputs)})",
        )
    else:
        asked, costs = _query(problem, content["audit"]["problem"], audited, width), None
        distances, words = _distances(problem, asked, statistic.size, width)
    given = field(problem, "distribution", "the problem")
    # None where it is uniform over datasets.
    weights = None if given == "uniform" else stated(given, statistic.size, "the distribution")
    words += ", data uniform" if weights is None else f", data as weighted (sha256 {digest(weights)})"
    kept = _kept(problem, asked, beside)
    words += kept.words
    budget = mapping(field(content, "budget", "the certificate"), "the budget")
    if set(budget) not in ({"distortion"}, {"leakage"}):
        refuse("the budget needs either 'distortion' or 'leakage'")
    ((kind, value),) = budget.items()
    most = number(value, f"the budget of {kind}", low=0.0)
    primal = kind == "distortion"
    if primal and beside > 1:
        refuse("a design after earlier releases has a budget of leakage")
    if primal:
        text = f"{audited.text}; the least leakage at an expected {words}, of at most {most!r}"
    else:
        text = f"{audited.text}; the least expected {words}, at a leakage of at most {most!r} nats"
        text += "" if beside == 1 else f" together with what was released before, its first part of {beside} outputs"
    return Task(audited, weights, distances, primal, most, text, beside, kept, costs)


@dataclass(frozen=True)
class Kept:
    """The constraints of a design: what every mechanism of its class keeps (docs/mathematics.md, 6.12)."""

    # q(y|x) <= e^private q(y|x') for datasets that differ in one record; None where that is not asked for.
    private: float | None = None
    floor: float = 0.0
    # y - f(c) without rounding; empty where no constraint asks for it.
    errors: Sequence[Sequence[Exact]] = ()
    means: bool = False
    # Pairs (c,y), y fastest, of probability 0.
    barred: frozenset[int] = frozenset()
    words: str = ""

    @cached_property
    def flat(self) -> list[Exact]:
        """All errors, y fastest."""
        return [e for row in self.errors for e in row]

    @cached_property
    def bias(self) -> Ball:
        """How far a mean may miss its answer."""
        return SLACK.mean * reduce(arb.max, (abs(exact(e)) for e in self.flat))

    def symmetric(self, moved: Sequence[int]) -> bool:
        """Whether a map of pairs leaves what is barred alone, and errors up to one sign."""
        images = [self.flat[j] for j in moved] if self.flat else []
        same = images in (self.flat, [-e for e in self.flat])
        return same and all((moved[j] in self.barred) == (j in self.barred) for j in range(len(moved)))


CONSTRAINTS = ("max_epsilon", "floor", "unbiased", "within", "keep_zero")
Named: TypeAlias = tuple[Sequence[Any] | None, list[Any], str]


def _kept(problem: dict[str, Any], asked: Named, beside: int) -> Kept:
    given = [name for name in CONSTRAINTS if name in problem]
    if given and beside > 1:
        refuse(f"a design after earlier releases has no {given[0]}")
    private, floor, within = (
        number(problem[name], name, low=0.0) if name in problem else None for name in ("max_epsilon", "floor", "within")
    )
    if any(problem.get(name, True) is not True for name in ("unbiased", "keep_zero")):
        refuse("unbiased and keep_zero are true where they are stated")
    words = f", of mechanisms with {', '.join(f'{name} = {problem[name]!r}' for name in given)}" if given else ""
    kept = Kept(private, floor or 0.0, words=words)
    if not {"unbiased", "keep_zero", "within"} & set(given):
        return kept
    answers, outputs, _ = asked
    if answers is None or isinstance(answers[0], (list, tuple)):
        refuse(f"{given[-1]} needs a query by name whose answers are numbers")
    means, most = "unbiased" in given, math.inf if within is None else within
    errors, barred = [[y - f for y in outputs] for f in answers], set[int]()
    for c, (f, row) in enumerate(zip(answers, errors, strict=True)):
        tick()
        out = {y for y, e in enumerate(row) if abs(e) > most or ("keep_zero" in given and f == 0 and e)}
        inside = [e for y, e in enumerate(row) if y not in out]
        if means and (max(inside, default=0) <= 0 or min(inside) >= 0):
            # No output lies beyond the answer on one side: the mean is the answer if nothing else is told.
            out |= {y for y, e in enumerate(row) if e}
        if len(out) == len(row):
            refuse(f"the constraints leave class {c} no output")
        barred |= {c * len(row) + y for y in out}
    return replace(kept, errors=errors, means=means, barred=frozenset(barred))


def _distances(problem: dict[str, Any], asked: Named, size: int, width: int) -> tuple[list[list[Exact]], str]:
    """Return d(c,y) without any rounding, and words for it."""
    wanted = field(problem, "distortion", "the problem")
    answers, outputs, words = asked
    if isinstance(wanted, str):
        if wanted not in ERRORS or answers is None:
            refuse(f"the distortion is {show(wanted)}; a named query has {', '.join(ERRORS)}, others need a table")
        error = ERRORS[wanted]
        return [[error(named.distance(f, y)) for y in ticking(outputs)] for f in answers], f"{wanted} error{words}"
    rows = sequence(wanted, "the table of distortions", size)
    table = [numbers(row, width, f"row {c} of the table of distortions", low=0.0) for c, row in enumerate(rows)]
    return [list(row) for row in table], f"distortion by a table (sha256 {digest(table)}){words}"


def _query(problem: dict[str, Any], described: dict[str, Any], audited: Audited, width: int) -> Named:
    """Return a named query's answers on the classes, the outputs that the columns stand for, and words for these."""
    if "query" not in problem:
        if "outputs" in problem:
            refuse("outputs have a meaning with a named query only")
        return None, [], ""
    asked = named.query(problem["query"])
    if "query" not in described or named.query(described["query"]).text != asked.text:
        refuse(f"the audit is about another query than {asked.text}")
    k = asked.statistic.alphabet(0)
    answers = asked.in_units(asked.answers_on(audited.channel.statistic))
    if "outputs" not in problem:
        if asked.width != width:
            refuse(f"the mechanism has {width} outputs where {asked.text} has {asked.width}")
        return answers, list(asked.in_units(asked.outputs)), ""
    if "mechanism" in described:
        refuse("a named mechanism has its own outputs")
    listed = sequence(problem["outputs"], "outputs of the problem", width)
    if not asked.vector:
        outputs = numbers(listed, width, "outputs of the problem")
        return answers, [_exact(y) for y in outputs], f" on {width} outputs (sha256 {digest(outputs)})"
    vectors = [numbers(y, k, f"output {j} of the problem") for j, y in enumerate(listed)]
    return answers, [[_exact(v) for v in y] for y in vectors], f" on {width} outputs (sha256 {digest(vectors)})"


def _exact(x: float) -> int | Fraction:
    return int(x) if x.is_integer() else Fraction(x)


def _permutation(value: object, size: int, where: str) -> list[int]:
    listed = [whole(v, f"an entry of {where}", 0, size - 1) for v in sequence(value, where, size)]
    if len(set(listed)) < size:
        refuse(f"{where} are not a permutation")
    return listed


def _moved(statistic: Statistic, reference: Reference, symmetry: dict[str, Any], where: str) -> list[int]:
    """Return where every class goes.

    Guarantee: rho(gx) = rho(x) for every dataset x.
    """
    values = symmetry["values"]
    assert not isinstance(statistic, Blocks)  # for the type checker: their designs have no pool
    if not isinstance(statistic, Table):  # all records have one law: classes_are_orbits
        new = _permutation(values, statistic.alphabet(0), f"values of {where}")
        _same_laws(reference, [0], [new], where)
        return relabelled(statistic, new)
    records = _permutation(symmetry["records"], statistic.n, f"records of {where}")
    listed = sequence(values, f"values of {where}", statistic.n)
    renamed = [_permutation(v, k, f"values of {where}") for v, k in zip(listed, statistic.records, strict=True)]
    if any(statistic.records[i] != statistic.records[j] for i, j in enumerate(records)):
        refuse(f"{where} takes a record to one with another number of values")
    if isinstance(reference, Weights):
        moved = images(statistic, records, renamed)
        if any(reference.weights[x] != w for x, w in zip(moved, reference.weights, strict=True)):
            refuse(f"{where} takes a dataset to one of another weight in the reference")
    _same_laws(reference, records, renamed, where)
    return rearranged(statistic, records, renamed)


def _same_laws(reference: Reference, records: Sequence[int], values: Sequence[Sequence[int]], where: str) -> None:
    """Refuse a map that takes value v of record i to value values[i][v] of records[i], of another probability."""
    if isinstance(reference, Weights):
        return
    for i, (target, new) in enumerate(zip(records, values, strict=True)):
        law, image = (reference.given(j, len(new)) for j in (i, target))
        if any(law[v] != image[w] for v, w in enumerate(new)):
            refuse(f"{where} takes a value of record {i} to one of another probability in the reference")
