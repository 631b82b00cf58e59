"""What the adversary is after, A = secret(X): a group of records, or any function of the dataset; and rho(a,t)."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from dalenius.verifier.kernel.balls import Ball
from dalenius.verifier.kernel.cells import Shares
from dalenius.verifier.kernel.limits import largest, ticking
from dalenius.verifier.kernel.reading import field, mapping, refuse, sequence, show, whole

from .counting import Histogram, Statistic, Sum, Table, numbered, tallied
from .reference import Reference, Uniform, Weights, digest, enumerable, universe


@dataclass(frozen=True)
class Group:
    """The values of one record or more, numbered lexicographically, the last record fastest."""

    records: tuple[int, ...]

    @property
    def text(self) -> str:
        if len(self.records) == 1:
            return f"record {self.records[0]}"
        if len(self.records) > 20:  # a line
            return f"{len(self.records)} records (sha256 {digest(self.records)})"
        return f"the records {', '.join(map(str, self.records[:-1]))} and {self.records[-1]}"

    def size(self, statistic: Statistic) -> int:
        """How many values it has."""
        many = 1
        for i in self.records:
            many *= statistic.alphabet(i)
        return many

    def numbers(self, statistic: Statistic) -> Sequence[int]:
        """The secret value of every dataset, in lexicographic order with the last record fastest."""
        return numbered([statistic.alphabet(i) for i in range(statistic.n)], self.records)


@dataclass(frozen=True)
class Function:
    """values[x] is the secret value of dataset x, in lexicographic order with the last record fastest."""

    values: tuple[int, ...]
    many: int

    @property
    def text(self) -> str:
        return f"a function of the dataset with {self.many} values (sha256 {digest(array('q', self.values))})"

    def size(self, statistic: Statistic) -> int:
        return self.many

    def numbers(self, statistic: Statistic) -> Sequence[int]:
        return self.values


@dataclass(frozen=True)
class Attributes:
    """A function of the values of a group: labels[x] for every combination x of them, the last record fastest."""

    group: Group
    labels: tuple[int, ...]
    many: int

    @property
    def text(self) -> str:
        return f"a function of {self.group.text} with {self.many} values (sha256 {digest(array('q', self.labels))})"


Secret: TypeAlias = Group | Function | Attributes
# Kinds of secrets, with the fields that each has; a bin is of a real-valued record.
FIELDS = {
    "records": ("records",),
    "function": ("values",),
    "attributes": ("records", "values"),
    "bin": ("record", "edges"),
}


def read(value: object, statistic: Statistic) -> Secret:
    """Return the secret of a certificate; refused before rho(a,t) would grow too large."""
    given = stated(value, "records", "function", "attributes")
    if given["kind"] == "function":
        secret: Secret = Function(*_labelled(given["values"], universe(statistic)))
    else:
        group = _group(given["records"], statistic)
        whole = given["kind"] == "records"
        secret = group if whole else Attributes(group, *_labelled(given["values"], group.size(statistic)))
    whole_group = secret.group if isinstance(secret, Attributes) else secret
    pairs = whole_group.size(statistic) * statistic.size
    if pairs > largest().own_entries:
        most = largest().own_entries
        refuse(f"the secret has too many values: {pairs} pairs with a class, at most {most} can be checked")
    return secret


def of_record(value: dict[str, object], statistic: Statistic, where: str) -> Group:
    """Return the single record that a witness or a prior says it is about."""
    return Group((whole(field(value, "record", where), f"the record of {where}", 0, statistic.n - 1),))


def stated(value: object, *kinds: str) -> dict[str, Any]:
    """Return a secret as a certificate states it, of one of these kinds, with the fields that the kind has."""
    given = mapping(value, "the secret")
    kind = field(given, "kind", "the secret")
    if kind not in kinds:
        refuse(f"the secret is of the kind {show(kind)}, which is none of {', '.join(kinds)}")
    if set(given) != {"kind", *FIELDS[kind]}:
        refuse(f"the secret has the fields {show(', '.join(sorted(map(str, given))))}, not those of the kind {kind}")
    return given


def grouped(secret: Secret) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The records whose values a secret is, or is a function of, and their labels then; none for other functions."""
    if isinstance(secret, Attributes):
        return secret.group.records, secret.labels
    return (secret.records if isinstance(secret, Group) else ()), ()


def _group(value: object, statistic: Statistic) -> Group:
    listed = sequence(value, "records of the secret")
    records = tuple(whole(i, "a record of the secret", 0, statistic.n - 1) for i in listed)
    if not records or any(i >= j for i, j in pairwise(records)):
        refuse("records of the secret must ascend, one or more of them, each once")
    many = 1
    for i in records:
        many *= statistic.alphabet(i)
        if many > (most := largest().own_entries):
            refuse(f"the records of the secret have more than {most} values together, too many to check")
    return Group(records)


def _labelled(value: object, datasets: int) -> tuple[tuple[int, ...], int]:
    """Values from 0 on, none left out, and how many there are."""
    listed = sequence(value, "values of the secret", datasets)
    values = tuple(whole(v, "a value of the secret", 0, datasets - 1) for v in listed)
    many = max(values) + 1
    if len(set(values)) < many:
        missing = min(set(range(many)) - set(values))
        refuse(f"no dataset has the secret value {missing}, though others have up to {many - 1}")
    return values, many


def by_label(labels: Sequence[int]) -> list[list[int]]:
    """The places of every label, by the label's first place."""
    found: dict[int, list[int]] = {}
    for a, label in enumerate(labels):
        found.setdefault(label, []).append(a)
    return list(found.values())


def joint(statistic: Statistic, secret: Secret, reference: Reference) -> list[Shares]:
    """rho(a,t) for every secret value a; classes without mass left out.

    In closed form for groups of records where a sum has independent records or a histogram's all have one law, else
    added up dataset by dataset. A function of a group has the sum of the masses of the group's values that it is.
    """
    if isinstance(secret, Attributes):
        return merged(joint(statistic, secret.group, reference), secret.labels)
    if isinstance(secret, Group) and not isinstance(reference, Weights):
        if isinstance(statistic, Sum) or (isinstance(statistic, Histogram) and reference.common):
            return statistic.shares(*secret.records, reference=reference)
        if isinstance(statistic, Table) and isinstance(reference, Uniform):
            return statistic.shares(*secret.records)
    if not isinstance(statistic, Table):
        enumerable(statistic)
    many, numbers = secret.size(statistic), secret.numbers(statistic)
    if isinstance(reference, Uniform):
        return tallied(numbers, statistic.datasets(), many)
    result: list[Shares] = [{} for _ in range(many)]
    probabilities = reference.probabilities(statistic)
    for a, t, p in ticking(zip(numbers, statistic.datasets(), probabilities, strict=True)):
        if not p.is_zero():
            share = result[a]
            known: Ball | None = share.get(t)
            share[t] = p if known is None else known + p
    return result


def merged(shares: list[Shares], labels: Sequence[int]) -> list[Shares]:
    """Add up the masses of the values that a function takes for one; as they are where there are no labels."""
    if not labels:
        return shares
    result: list[Shares] = [{} for _ in range(max(labels) + 1)]
    for a, share in ticking(zip(labels, shares, strict=True)):
        for t, p in share.items():
            known = result[a].get(t)
            result[a][t] = p if known is None else known + p
    return result
