"""One record of any number of values through a symmetric channel: "symmetric". The channel is never written out.

The record has k values; q(x|x) = c and q(y|x) = d for each of the k - 1 others, c + (k-1) d = 1. For every prior

    I(X;Y) <= log k + c log c + (k-1) d log d,

with equality at the uniform prior, which every adversary may hold where the reference is uniform: it is the witness.
Proof: docs/mathematics.md, 4.12, "One record".
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import Ball, xlogx
from dalenius.verifier.kernel.cells import Knowledge
from dalenius.verifier.kernel.limits import largest
from dalenius.verifier.kernel.proofs import compare
from dalenius.verifier.kernel.reading import field, number, refuse, whole
from dalenius.verifier.kernel.witness import attains

from . import named
from .per_record import Records
from .reference import Reference, Uniform
from .secret import Group, Secret


@dataclass(frozen=True)
class Channel:
    """q(x|x) = kept, q(y|x) = other for y != x."""

    statistic: Records
    kept: Ball
    other: Ball
    exact: tuple[str, Fraction]
    text: str

    @property
    def capacity(self) -> Ball:
        """log k + c log c + (k-1) d log d."""
        k = self.statistic.k
        return arb(k).log() + xlogx(self.kept) + (k - 1) * xlogx(self.other)

    def difference(self, other: "Channel") -> str | None:
        """Return what tells two channels apart: the values, or the one parameter."""
        same = self.statistic == other.statistic and self.exact == other.exact
        return None if same else f"it is {other.text}"


def rebuild(problem: dict[str, Any]) -> Channel:
    """Return the channel of a description by names."""
    if set(problem) != {"query", "mechanism"}:
        refuse("a uniform witness is for a mechanism given by its name")
    asked, about = named.call(problem["query"], named.QUERIES, "the query")
    name, given = named.call(problem["mechanism"], named.MECHANISMS, "the mechanism")
    if asked != "identity" or name not in ("symmetric", "randomized_response"):
        refuse(f"a uniform witness is for symmetric or randomized_response of identity, not for {name} of {asked}")
    k = whole(about["k"], "k of the query", 2, largest().symmetric_values)
    if name == "symmetric":
        exact = Fraction(number(given["flip"], "flip", 0.0, 1.0))
        flip = arb(exact.numerator) / exact.denominator
        kept, other = 1 - flip, flip / (k - 1)
    else:
        exact = Fraction(number(given["epsilon"], "epsilon"))
        if exact <= 0:
            refuse(f"epsilon is {given['epsilon']}; it must be above 0")
        ratio = (-arb(exact.numerator) / exact.denominator).exp()
        kept = 1 / (1 + (k - 1) * ratio)
        other = ratio * kept
    text = f"1 record of {k} values; {named.spelled(asked, about)}; {named.spelled(name, given)}"
    return Channel(Records(1, k), kept, other, (name, exact), text)


def ask(channel: Channel, secret: Secret, reference: Reference) -> Channel:
    """Return the channel, if the question is about the record and knowledge counts from the uniform prior."""
    if not isinstance(secret, Group):
        refuse("a uniform witness is for the record as the secret")
    if not isinstance(reference, Uniform):
        refuse("a uniform witness is for knowledge that is counted from the uniform prior")
    return channel


def check_witness(_: object, channel: Channel, knowledge: Knowledge, lower: float) -> None:  # noqa: ARG001 - any
    """Check the lower bound.

    Guarantee: the uniform prior, which is the reference, leaks at least `lower` of the record.
    """
    attains(channel.capacity, lower)


def check_proof(channel: Channel, _: Knowledge, proof: dict[str, Any], where: str) -> float:
    """Return the bound that a proof claims, or refuse it.

    Guarantee: I(X;Y) <= result for every prior.
    """
    upper = number(field(proof, "upper", where), f"'upper' of {where}")
    kind, k = field(proof, "kind", where), channel.statistic.k
    if kind == "trivial":
        bound = arb(k).log()
    elif kind == "symmetric":
        bound = channel.capacity
    else:
        refuse(f"{where}: its kind is none of trivial, symmetric, which need no rows")
    compare(bound, upper, where)
    return upper
