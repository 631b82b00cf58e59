"""One record of any number of values through a symmetric channel: "symmetric". The channel is never written out.

The value is kept with one probability, and every other comes with another one. The witness is the uniform prior, which
every adversary may hold where the reference is uniform. The kind is in kinds/symmetric.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from dalenius.verifier.balls import Ball, short
from dalenius.verifier.kinds import symmetric as kinds
from dalenius.verifier.limits import largest
from dalenius.verifier.proofs import compare
from dalenius.verifier.question import Knowledge
from dalenius.verifier.reading import field, mapping, number, refuse, whole
from dalenius.verifier.reference import Reference, Uniform
from dalenius.verifier.secret import Group, Secret

from . import named
from .products import Records


@dataclass(frozen=True)
class Channel:
    """q(x|x) = kept, q(y|x) = other for y != x."""

    statistic: Records
    kept: Ball
    other: Ball
    exact: tuple[str, Fraction]
    text: str

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


def check_witness(value: object, channel: Channel, _: Knowledge, lower: float) -> None:
    """Check the lower bound.

    Guarantee: the uniform prior, which is the reference, leaks at least `lower` of the record.
    """
    if field(mapping(value, "the witness"), "uniform", "the witness") is not True:
        refuse("'uniform' of the witness must be true")
    leaked = kinds.capacity(channel.statistic.k, channel.kept, channel.other)
    if lower > 0 and not leaked >= lower:
        refuse(f"the witness leaks {short(leaked)}, less than the claimed lower bound {lower!r}")


def check_proof(channel: Channel, _: Knowledge, proof: dict[str, Any], where: str) -> float:
    """Return the bound that a proof claims, or refuse it.

    Guarantee: I(X;Y) <= result for every prior.
    """
    upper = number(field(proof, "upper", where), f"'upper' of {where}")
    kind, k = field(proof, "kind", where), channel.statistic.k
    if kind == "trivial":
        bound = arb(k).log()
    elif kind == "symmetric":
        bound = kinds.capacity(k, channel.kept, channel.other)
    else:
        refuse(f"{where}: its kind is none of trivial, symmetric, which need no rows")
    compare(bound, upper, where)
    return upper
