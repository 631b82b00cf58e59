"""Noise on every count of a histogram of very many records: count vectors are never listed.

Y_v = t_v + noise for every value v of a record, independently, each clamped to 0..n; t is the count vector. The secret
is one record, or a function of its value; all records are independent with one law p. The witness is a prior by a
record's value and blocks of one count, t_v for the value v = `cell`, of which Y_v tells no more than all counts do:
sums.py checks it. Or it ties values to their counts: tied.py and counted.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import ONE, ZERO, Ball
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.limits import ticking
from dalenius.verifier.kernel.reading import field, refuse, whole
from dalenius.verifier.special import counted, moved, product_laws, tied

from . import named, sums
from .counting import Histogram, Records, Sum, binomial, likely, people
from .reference import UNIFORM, Product, Reference, Weights
from .secret import Secret, by_label


@dataclass(frozen=True)
class Noisy:
    """The channel of a histogram with noise on every count; and what is asked about it."""

    statistic: Records  # one count at a time
    noise: named.Added
    text: str
    records: tuple[int, ...] = (0,)
    reference: Product = UNIFORM
    # Of every value of the record, where the secret is a function of it.
    labels: tuple[int, ...] = ()

    def count(self, *values: int) -> sums.Large:
        """The channel of one noisy count, or of that of several values together."""
        n, k = self.statistic.n, self.statistic.k
        one = Sum(n, tuple(int(v in values) for v in range(k)))
        query = named.Query("count", one, n + 1, 1)
        return sums.Large(one, query, self.noise, self.text, self.records, self.reference, self.labels)

    @property
    def masses(self) -> tuple[float, ...]:
        """The law of a record as it was given, one weight for each value."""
        return self.reference.given(0, self.statistic.k)

    def contraction(self, records: list[tuple[int, list[Ball]]]) -> Ball:
        """Return eta with D(p q || W q) <= eta D(p || W), where under W so many records have each of these laws."""
        counts, noise = sum(mass > 0 for mass in self.masses), self.noise
        eta = noise.contraction(self.statistic.n, counts)
        # Rounded Laplace noise is geometric noise, and more of it on top.
        if not noise.steady:
            return eta
        alike = [(many, [x for x in law if not x.is_zero()]) for many, law in records]
        return eta.min(product_laws.contraction(noise.parameter, alike))


def rebuild(problem: dict[str, Any]) -> Noisy:
    """Return the channel of a description by names."""
    if set(problem) != {"query", "mechanism"}:
        refuse("a witness on blocks of one count is for a mechanism given by its name")
    asked = named.query(problem["query"], listed=False)
    noise = named.added(problem["mechanism"], asked)
    noise.widened(asked)  # what it refuses, it refuses here
    statistic = asked.statistic
    if not isinstance(statistic, Histogram) or statistic.k == 1:
        refuse(f"a witness on blocks of one count is for histograms of two values or more, not {asked.text}")
    return Noisy(Records(statistic.n, statistic.k), noise, f"{people(statistic)}; {asked.text}; {noise.text}")


def ask(channel: Noisy, secret: Secret, reference: Reference) -> Noisy:
    """Return the channel with the question about it; all records have one law, so any is as good as any other."""
    if len(secret.records) != 1:
        refuse("a witness on blocks of one count is for single records")
    if isinstance(reference, Weights) or not reference.common:
        refuse("a witness on blocks of one count is for the uniform prior or one marginal of all records")
    return replace(channel, records=secret.records, reference=reference, labels=secret.labels)


def check_witness(witness: dict[str, Any], channel: Noisy, knowledge: Knowledge, lower: float) -> None:
    """Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret."""
    if witness["kind"] in ("tied", "counted"):
        if channel.labels and witness["kind"] == "counted":
            refuse("a witness on all counts is about the whole record")
        (tied if witness["kind"] == "tied" else counted).check_witness(witness, channel, knowledge, lower)
        return
    cell = whole(field(witness, "cell", "the witness"), "the cell of the witness", 0, channel.statistic.k - 1)
    sums.check_witness(witness, channel.count(cell), knowledge, lower)


def _blend(channel: Noisy, knowledge: Ball, proof: dict[str, Any], where: str) -> Ball:
    """Guarantee: I <= result for every prior with D(pi || rho) <= knowledge.

    The bound is that of sums.py, with T the count vector: rho(t|a) / rho(t) = t_a / (n p_a), and given that one record
    is a, t_a = 1 + B with B ~ Binomial(n-1, p_a), so that G_a = (nu-1) log E( (1 + B) / (n p_a) )^(1/(nu-1)). Values
    that a function takes for one are one value (docs/mathematics.md, 4.8, "Histograms").
    """
    order, share = sums.order_and_share(proof, where)
    n, law = channel.statistic.n, channel.reference.law(0, channel.statistic.k)
    told: dict[tuple[float, ...], tuple[Ball, Ball]] = {}
    listed = []
    for values in _alike(channel):
        masses = tuple(sorted(channel.masses[v] for v in values))
        if masses not in told:
            p = sum((law[v] for v in values), ZERO)
            q = sum((x for v, x in enumerate(law) if v not in values), ZERO)
            told[masses] = p, _moment(n, p, q, 1 / (order - 1)).log() * (order - 1)
        listed.append(told[masses])
    return sums.blended(listed, knowledge, order, share, channel.contraction([(n, law)]))


def _alike(channel: Noisy) -> list[list[int]]:
    """The values of the record with mass, by the value of the secret that they have."""
    listed = by_label(channel.labels or range(channel.statistic.k))
    held = ([v for v in values if channel.masses[v] > 0] for values in listed)
    return [values for values in held if values]


def _moment(n: int, p: Ball, q: Ball, power: Ball) -> Ball:
    """E ( (1 + B) / (n p) )^power for B ~ Binomial(n-1, p), q = 1 - p.

    Guarantee: result >= the expectation. Its terms x_j have falling ratios
        x_{j+1} / x_j = (n-1-j) / (j+1) p/q ( (j+2) / (j+1) )^power,
    so that beyond the last one that is added up they are no more than a geometric series; and so before the first.
    """
    if q.is_zero():  # every record has this value
        return (ONE / p) ** power
    m, odds = n - 1, p / q

    def ratio(j: int) -> Ball:
        return odds * (m - j) / (j + 1) * (arb(j + 2) / (j + 1)) ** power

    law = binomial(m, q, p, likely(m, q, p))
    pairs = ticking(zip(law.values, law.masses, strict=True))
    terms = [x * (power * ((j + 1) / (n * p)).log()).exp() for j, x in pairs]
    first, last = law.values[0], law.values[-1]
    total = sum(terms, ZERO)
    for end, r in ((terms[0], 1 / ratio(first - 1) if first else ZERO), (terms[-1], ratio(last))):
        total += end * r / (1 - r) if r < 1 else arb.pos_inf()
    return total


# Of a function of the record every bound on the record holds too: it tells no more.
BOUNDS: dict[str, Callable[..., Ball]] = {
    "trivial": lambda channel, *_: arb(len(_alike(channel))).log(),
    "blend": _blend,
    "counted": counted.bound,
    "moved": moved.bound,
}
KINDS = {
    kind: lambda channel, knowledge, *proof, found=found: found(channel, knowledge.most, *proof)
    for kind, found in BOUNDS.items()
}
