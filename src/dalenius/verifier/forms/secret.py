"""What the adversary is after, A = secret(X): a group of records, or any function of the dataset; and rho(a,t)."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from dalenius.verifier.kernel.balls import Ball
from dalenius.verifier.kernel.cells import Shares
from dalenius.verifier.kernel.limits import ticking
from dalenius.verifier.kernel.reading import field, fits, mapping, refuse, sequence, show, whole

from .counting import Blocks, Histogram, Statistic, Sum, numbered, tallied
from .reference import Reference, Weights, digest, universe


@dataclass(frozen=True)
class Secret:
    """The values of one record or more, numbered lexicographically, the last record fastest; or a function of them.

    labels[x] is the value of the function at every combination x of these values; without records at every dataset.
    """

    records: tuple[int, ...]
    labels: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        words = ", ".join(map(str, self.records[:-1]))
        if len(self.records) > 20:  # a line
            words = f"{len(self.records)} records (sha256 {digest(self.records)})"
        elif self.records:
            words = f"the records {words} and {self.records[-1]}" if words else f"record {self.records[0]}"
        if not self.labels:
            return words
        fingerprint = digest(array("q", self.labels))
        return f"a function of {words or 'the dataset'} with {max(self.labels) + 1} values (sha256 {fingerprint})"

    def size(self, statistic: Statistic) -> int:
        return max(self.labels) + 1 if self.labels else prod(map(statistic.alphabet, self.records))


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
    records = _records(given["records"], statistic) if "records" in given else ()
    many = Secret(records).size(statistic) if records else universe(statistic)
    labels: tuple[int, ...] = ()
    if "values" in given:
        listed = sequence(given["values"], "values of the secret", many)
        labels = tuple(whole(v, "a value of the secret", 0, many - 1) for v in listed)
        # From 0 on, none left out.
        if len(set(labels)) <= max(labels):
            missing = min(set(range(max(labels))) - set(labels))
            refuse(f"no dataset has the secret value {missing}, though others have up to {max(labels)}")
    secret = Secret(records, labels)
    fits((many if records else secret.size(statistic)) * statistic.size, secret.text)
    return secret


def of_record(value: dict[str, object], statistic: Statistic, where: str) -> Secret:
    """Return the single record that a witness or a prior says it is about."""
    return Secret((whole(field(value, "record", where), f"the record of {where}", 0, statistic.n - 1),))


def stated(value: object, *kinds: str) -> dict[str, Any]:
    """Return a secret as a certificate states it, of one of these kinds, with the fields that the kind has."""
    given = mapping(value, "the secret")
    kind = field(given, "kind", "the secret")
    if kind not in kinds:
        refuse(f"the secret is of the kind {show(kind)}, which is none of {', '.join(kinds)}")
    if set(given) != {"kind", *FIELDS[kind]}:
        refuse(f"the secret has the fields {show(', '.join(sorted(map(str, given))))}, not those of the kind {kind}")
    return given


def _records(value: object, statistic: Statistic) -> tuple[int, ...]:
    listed = sequence(value, "records of the secret")
    records = tuple(whole(i, "a record of the secret", 0, statistic.n - 1) for i in listed)
    if not records or any(i >= j for i, j in pairwise(records)):
        refuse("records of the secret must ascend, one or more of them, each once")
    many = 1
    for i in records:
        many *= statistic.alphabet(i)
        fits(many, "a secret of so many records")
    return records


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
    if secret.records and secret.labels:
        return merged(joint(statistic, Secret(secret.records), reference), secret.labels)
    if (
        secret.records
        and not isinstance(reference, Weights)
        and (isinstance(statistic, (Sum, Blocks)) or (isinstance(statistic, Histogram) and reference.common))
    ):
        return statistic.shares(*secret.records, reference=reference)
    universe(statistic)  # refuses
    alphabets = [statistic.alphabet(i) for i in range(statistic.n)]
    many, numbers = secret.size(statistic), secret.labels or numbered(alphabets, secret.records)
    if reference.uniform:
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
