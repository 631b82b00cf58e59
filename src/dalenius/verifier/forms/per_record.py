"""Local randomisers of any number of records: witnesses on a part of the release, and proofs that need no rows.

Every record goes through the same channel W by itself, and all outputs are released. Records are independent under the
reference; the secret is a record or a group, or a function of its values, their labels.

The witness gives masses pi(a,t) to the values a of the secret and t of the first few other records; or, where all
records have one law and the secret is one of them, to a and the number t of those others that equal a. Inside (a,t) it
is as the reference, and so are all further records, whose outputs tell nothing. Where others are counted, how often
each output came has given (a,t) the generating function U_a^t V_a^(M-t), U_a = sum_y W(y|a) x_y, V_a the same of W
under the law of a record that is not a. Proofs are those of special/product.py, special/bellman.py, and "symmetric",
with the witness "uniform", of one record of any number of values (docs/mathematics.md, 4.12).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

from flint import arb, arb_poly

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball, exact, xlogx
from dalenius.verifier.kernel.cells import Knowledge, Shares, attains, held, law_of, masses
from dalenius.verifier.kernel.limits import largest, tick, ticking
from dalenius.verifier.kernel.reading import field, fits, mapping, number, refuse, sequence, show, whole
from dalenius.verifier.special import product as local
from dalenius.verifier.special.bellman import bellman

from . import named, offices
from .counting import Records, people
from .reference import UNIFORM, Product, Reference, Weights
from .secret import Secret, by_label

Rows = list[list[Ball]]
# Channels of one record, and the name of their one parameter.
PARAMETERS = dict.fromkeys(("randomized_response", *named.OF_RECORDS), "epsilon") | {"symmetric": "flip"}


@dataclass(frozen=True)
class Local:
    """The channel W of every record; and what is asked about the release."""

    statistic: Records
    exact: tuple[str, Fraction]  # the name of the channel, and its one parameter
    text: str
    records: tuple[int, ...] = (0,)
    reference: Product = UNIFORM
    # Of every value of the records, where the secret is a function of them.
    labels: tuple[int, ...] = ()

    @property
    def response(self) -> bool:
        """Whether W = c I + (1-c) U."""
        name, parameter = self.exact
        return name in RESPONSES or (name == "subset_selection" and subset_size(parameter, self.statistic.k) == 1)

    @cached_property
    def rows(self) -> Rows:
        """W, one row for each value of a record."""
        return local_rows(*self.exact, self.statistic.k)

    def symmetric(self, where: str) -> Ball:
        """What one record tells at most, and at the uniform prior exactly: log k + c log c + (k-1) d log d."""
        one = self.statistic.n == 1 and self.response and not self.labels
        if not one or not self.reference.uniform:
            refuse(f"{where} is for one record through a symmetric channel, and for the uniform prior as the reference")
        return capacity(self.statistic.k, *response(*self.exact, self.statistic.k))

    def law(self, record: int) -> list[Ball]:
        return self.reference.law(record, self.statistic.k)

    @cached_property
    def secret(self) -> tuple[list[Ball], Rows]:
        """rho(a) and W_0(.|a) of every value a of the secret."""
        fits((self.statistic.k * len(self.rows[0])) ** min(len(self.records), 64), "a secret of so many records")
        rho, rows = [ONE], [[ONE]]
        for i in self.records:
            rho = [p * q for p in rho for q in self.law(i)]
            rows = [[p * q for p in row for q in own] for row in rows for own in self.rows]
        return rho, rows

    @cached_property
    def different(self) -> list[int]:
        """One record of every law among those that are not asked about."""
        if self.reference.common:
            return [0] if self.statistic.n > len(self.records) else []
        asked = set(self.records)
        return list({law: i for i, law in enumerate(self.reference.laws) if i not in asked}.values())


def rebuild(problem: dict[str, Any]) -> Local:
    """Return the channel of a description by names."""
    if set(problem) != {"query", "mechanism"}:
        refuse("a witness on some records is for a mechanism given by its name")
    name, given = named.call(problem["mechanism"], named.MECHANISMS, "the mechanism")
    call_of, (query, about) = name, named.call(problem["query"], named.QUERIES, "the query")
    if query == "identity":  # of very many values
        n, k = 1, whole(about["k"], "k of the query", 1, largest().symmetric_values)
        words = named.spelled(query, about)
    else:
        asked = named.query(problem["query"], listed=False)
        n, k, words = asked.statistic.n, asked.statistic.alphabet(0), asked.text
    parameter = PARAMETERS.get(name)
    # On the answer to another query `symmetric` does not treat records by themselves.
    if parameter is None or (name == "symmetric" and (k == 1 or not words.startswith("identity"))):
        refuse(f"a witness on some records is for mechanisms that treat each by itself, not for {name} of {words}")
    size = Fraction(number(given[parameter], parameter, 0.0, 1.0 if name == "symmetric" else math.inf))
    if name != "symmetric" and size <= 0:
        refuse(f"epsilon is {given['epsilon']}; it must be above 0")
    if given.get("optimised", False) is not False:
        if given["optimised"] is not True:
            refuse(f"optimised is {show(given['optimised'])}; it must be True or False")
        name = "optimised_unary_encoding"
    people_of = Records(n, k)
    return Local(people_of, (name, size), f"{people(people_of)}; {words}; {named.spelled(call_of, given)}")


def response(name: str, parameter: Fraction, k: int) -> tuple[Ball, Ball]:
    """The chances that a value is kept, and that it becomes any other of the k there are."""
    if name == "symmetric":
        flip = exact(parameter)
        return 1 - flip, flip / (k - 1)
    return offices.response(exact(parameter), k)


def capacity(k: int, kept: Ball, other: Ball) -> Ball:
    """log k + c log c + (k-1) d log d."""
    return arb(k).log() + xlogx(kept) + (k - 1) * xlogx(other)


RESPONSES = ("randomized_response", "symmetric")


def subset_size(epsilon: Fraction, k: int) -> int:
    """The whole number nearest to k / (1 + e^epsilon), at least 1."""
    near = (k / (1 + (exact(epsilon)).exp()) + arb(0.5)).floor().unique_fmpz()
    if near is None:
        refuse(f"k / (1 + e^epsilon) for k = {k} is too near to the middle of two whole numbers")
    return max(1, int(near))


def _responses(name: str, parameter: Fraction, k: int) -> Rows:
    kept, other = response(name, parameter, k)
    return [[kept if y == a else other for y in range(k)] for a in range(k)]


def _hadamard(_: str, epsilon: Fraction, k: int) -> Rows:
    """Column y of row a + 1 of Sylvester's matrix has a 1 where their numbers have an even number of bits in common."""
    outputs = 2 ** k.bit_length()
    kept, other = (2 * p / outputs for p in response("randomized_response", epsilon, 2))
    return [[other if (a + 1 & y).bit_count() % 2 else kept for y in range(outputs)] for a in range(k)]


def _subsets(_: str, epsilon: Fraction, k: int) -> Rows:
    many = subset_size(epsilon, k)
    ratio = (-exact(epsilon)).exp()
    held = 1 / (math.comb(k - 1, many - 1) + math.comb(k - 1, many) * ratio)
    return [[held if a in chosen else ratio * held for chosen in combinations(range(k), many)] for a in range(k)]


def _unary(name: str, epsilon: Fraction, k: int) -> Rows:
    """Bits by themselves: that of the value says so with another chance than others, or says nothing if optimised."""
    best = name == "optimised_unary_encoding"
    kept, other = response("randomized_response", epsilon if best else epsilon / 2, 2)
    own = (ONE / 2, ONE / 2) if best else (other, kept)
    powers = [kept ** (k - 1 - d) * other**d for d in range(k)]
    bits = list(product((0, 1), repeat=k))
    return [[own[y[a]] * powers[sum(y) - y[a]] for y in bits] for a in range(k)]


# The channels of one record: how many outputs each has, from its parameter and k, and its rows.
CHANNELS: dict[str, tuple[Callable[[Fraction, int], int], Callable[[str, Fraction, int], Rows]]] = {
    **dict.fromkeys(RESPONSES, (lambda _, k: k, _responses)),
    "hadamard_response": (lambda _, k: 2 ** k.bit_length(), _hadamard),
    "subset_selection": (lambda epsilon, k: math.comb(k, subset_size(epsilon, k)), _subsets),
    **dict.fromkeys(("unary_encoding", "optimised_unary_encoding"), (lambda _, k: 2 ** min(k, 64), _unary)),
}


def local_rows(name: str, parameter: Fraction, k: int) -> Rows:
    """W of a local randomiser, one row for each of k values."""
    count, rows = CHANNELS[name]
    fits(k * count(parameter, k), "the channel of one record")
    return rows(name, parameter, k)


def ask(channel: Local, secret: Secret, reference: Reference) -> Local:
    """Return the channel with the question about it."""
    if not secret.records:
        refuse("a local randomiser is asked about records, or a function of some")
    if isinstance(reference, Weights):
        refuse("a witness on some records is for independent records, not for weights of datasets")
    return replace(channel, records=secret.records, reference=reference, labels=secret.labels)


def check_witness(witness: dict[str, Any], channel: Local, knowledge: Knowledge, lower: float) -> None:
    """Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret."""
    if witness["kind"] == "uniform":
        attains(channel.symmetric("a uniform witness"), lower)
        return
    about = mapping(field(witness, "part", "the witness"), "the part of the witness")
    left = channel.statistic.n - len(channel.records)
    others = whole(field(about, "others", "the part of the witness"), "others of the witness", 0, left)
    counted = field(about, "counted", "the part of the witness")
    if type(counted) is not bool:
        refuse("'counted' of the part of the witness must be true or false")
    if counted and (len(channel.records) > 1 or not channel.reference.common):
        refuse("a witness that counts others is about one record, and all records have one law")
    outputs, values = len(channel.rows[0]), len(channel.secret[0])
    size = (others + 1) ** (outputs - 1) if counted else max(outputs, channel.statistic.k) ** min(others, 64)
    fits(values * len(channel.secret[1][0]) * size, f"a witness that looks at {others} others")
    first = [i for i in range(min(channel.statistic.n, others + len(channel.records))) if i not in channel.records]
    if counted:
        reference = _counted_reference(channel, others)
    else:  # t: the values of these others in lexicographic order
        inside = [ONE]
        for i in first[:others]:
            inside = [p * q for p in inside for q in channel.law(i)]
        reference = [{t: p * q for t, q in enumerate(inside)} for p in channel.secret[0]]
    given = masses(field(witness, "masses", "the witness"), len(reference[0]), reference, "the witness")
    prior = held(given, reference, knowledge, "the witness")
    told = [
        _counted_outputs(channel, a, law, others) if counted else _listed_outputs(channel, law, others)
        for a, law in enumerate(prior)
    ]
    leaked = _information(channel, [sum(law.values(), ZERO) for law in prior], told)
    attains(leaked, lower)


def _counted_reference(channel: Local, others: int) -> list[Shares]:
    """rho(a,t), t the number of others that equal a: a binomial law."""
    law, result = channel.law(channel.records[0]), []
    for a, p in enumerate(law):
        tick()
        missed = sum((*law[:a], *law[a + 1 :]), ZERO)
        result.append(
            {t: p * arb(math.comb(others, t)) * p**t * missed ** (others - t) for t in ticking(range(others + 1))}
        )
    return result


def _listed_outputs(channel: Local, law: Shares, others: int) -> list[Ball]:
    """sum_t pi(a,t) prod_i W(y_i|t_i) of every list of outputs, one record after the other."""
    k = channel.statistic.k
    table = [law.get(t, ZERO) for t in range(k**others)]
    for _ in range(others):
        tick()
        # The first record becomes an output, which stands last.
        size = len(table) // k
        table = [
            sum((table[v * size + rest] * channel.rows[v][y] for v in range(k)), ZERO)
            for rest in range(size)
            for y in range(len(channel.rows[0]))
        ]
    return table


def _counted_outputs(channel: Local, a: int, law: Shares, others: int) -> list[Ball]:
    """sum_t pi(a,t) U^t V^(M-t), its coefficients; x_y is a power x^((M+1)^y) of one variable, and 1 for the last y."""
    rho, outputs = channel.law(channel.records[0]), len(channel.rows[0])
    missed = sum((*rho[:a], *rho[a + 1 :]), ZERO)
    mixed = [
        sum((p * row[y] for b, (p, row) in enumerate(zip(rho, channel.rows, strict=True)) if b != a), ZERO) / missed
        for y in range(outputs)
    ]
    own, other = (offices.linear(row, others) for row in (channel.rows[a], mixed))
    # Horner: R_j = R_(j-1) V + pi(a,j) U^j.
    total, power = arb_poly([law.get(0, ZERO)]), arb_poly([1])
    for t in range(1, others + 1):
        tick()
        power *= own
        total = total * other + law.get(t, ZERO) * power
    places = (c for c in product(range(others + 1), repeat=outputs - 1) if sum(c) <= others)
    return [total[sum(x * (others + 1) ** y for y, x in enumerate(c))].nonnegative_part() for c in ticking(places)]


def _information(channel: Local, masses: list[Ball], told: list[list[Ball]]) -> Ball:
    """I(A;Y) where P(a, y_0, y') = W_0(y_0|a) told(a, y'); of their labels where values have some."""
    alike = by_label(channel.labels or range(len(masses)))
    total = -sum((xlogx(sum((masses[a] for a in values), ZERO)) for values in alike), ZERO)
    for y in range(len(channel.secret[1][0])):
        tick()
        own = [row[y] for row in channel.secret[1]]
        for column in ticking(zip(*told, strict=True)):
            each = [p * q for p, q in zip(own, column, strict=True)]
            joint = [sum((each[a] for a in values), ZERO) for values in alike]
            total += sum(map(xlogx, joint), ZERO) - xlogx(sum(joint, ZERO))
    return total


def _trivial(channel: Local, *_: object) -> Ball:
    """log|A|; of values that are all equally likely nothing is listed, as there may be very many."""
    if channel.reference.uniform and not channel.labels:
        return arb(channel.statistic.k).log() * len(channel.records)
    rho, _rows = channel.secret
    labels = channel.labels or range(len(rho))
    return arb(len({a for a, p in zip(labels, rho, strict=True) if not p.is_zero()})).log()


def _at_reference(channel: Local, knowledge: Knowledge, _: dict[str, Any], where: str) -> Ball:
    if not knowledge.none:
        refuse(f"{where}: the leakage of the reference bounds an adversary without knowledge only")
    rho = channel.secret[0]
    return _information(channel, rho, [[p] for p in rho])


def _looks(channel: Local, _: Knowledge, _proof: dict[str, Any], where: str) -> Ball:
    rows = channel.secret[1]
    if len(channel.records) > 1 or not channel.response or len(rows) != 2:  # bits
        refuse(f"{where}: the capacity of looks is for one record, a bit through a symmetric channel")
    return local.looks(channel.statistic.n, rows[0][1])


def _bellman(channel: Local, knowledge: Knowledge, proof: dict[str, Any], where: str) -> Ball:
    """The bound of special/bellman.py, of one bit among others."""
    rho, rows = channel.secret
    if len(channel.records) > 1 or len(rows) != 2 or len(rows[0]) != 2:  # bits
        refuse(f"{where}: it is for one record, a bit, among bits with two outputs each")
    stages = sequence(field(proof, "lines", where), f"the lines of {where}", channel.statistic.n)
    others = [i for i in range(len(stages)) if i not in channel.records]
    return bellman(rows, rho, [channel.law(i) for i in others], knowledge.most, proof, where)


def _product(channel: Local, knowledge: Knowledge, proof: dict[str, Any], where: str) -> Ball:
    """The bound of special/product.py, once its coefficients are shown to hold."""
    rho, rows = channel.secret
    eta = arb(number(field(proof, "eta", where), f"eta of {where}", 0.0))
    sigma = arb(number(field(proof, "sigma", where), f"sigma of {where}", 0.0, 1.0))
    lam = arb(number(field(proof, "lambda", where), f"lambda of {where}", 0.0))
    given = field(proof, "law", where)
    law = law_of(given, len(rho), f"the law of {where}", positive=True)
    for i in channel.different:
        if not local.contracts(
            channel.rows,
            channel.law(i),
            eta,
            even=channel.reference.even(i, channel.statistic.k),
            response=channel.response,
        ):
            refuse(f"{where}: the channel of record {i} is not shown to contract divergence by eta = {float(eta)!r}")
    even = len(set(given)) == 1
    if sigma > 0 and len(channel.records) > 1:
        refuse(f"{where}: sigma must be 0 for a group of records")
    if not local.expands(rows, law, sigma, even=even, response=channel.response):
        refuse(f"{where}: the channel of the secret is not shown to keep sigma = {float(sigma)!r} of a divergence")
    # Any larger lambda serves; a rounded one may be a little less than it has to be.
    lam = lam.max((1 - sigma) * (eta if channel.different else ZERO))
    if not sigma + lam > 0:
        refuse(f"{where}: sigma + lambda must be above 0")
    return local.product_bound(rows, rho, law, knowledge=knowledge.most, sigma=sigma, lam=lam)


KINDS: dict[str, Callable[..., Ball]] = {
    "trivial": _trivial,
    "reference": _at_reference,
    "product": _product,
    "looks": _looks,
    "bellman": _bellman,
    "symmetric": lambda channel, _, __, where: channel.symmetric(f"{where}: it"),
}
