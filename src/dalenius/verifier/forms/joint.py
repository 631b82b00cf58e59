"""Several releases about the same people, bounded by what each tells about one of them.

Release j looks at some columns of all records; C_j bounds what it leaks of them under every prior with independent
records. Together they leak at most sum_j C_j under these priors, at most K + sum_j C_j under every prior within K of
one of them, and never more than the logarithm of how many values a record has. From below, with independent records, no
release tells less than alone, and those of different columns, with witnesses about one person, tell the sum. Proof:
docs/mathematics.md, 10.1. Each release comes with its audit; of one person alone, n = 1, against any prior.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from flint import arb

from dalenius.verifier.kernel.limits import tick
from dalenius.verifier.kernel.reading import AUDIT, field, mapping, number, refuse, sequence, show, whole

from . import named

MOST_COLUMNS = 2**16
Description = dict[str, object]  # of a channel, in plain data
# Checks an audit inside; returns its bounds.
Inner = Callable[[dict[str, Any]], tuple[float, float]]


@dataclass(frozen=True)
class Release:
    """A channel with its audit, and for every time that it was run the columns that it looked at."""

    where: str
    audit: dict[str, Any]
    runs: list[tuple[str, ...]]

    @property
    def channel(self) -> Description:
        """The channel as a mechanism describes itself."""
        return {key: x for key, x in self.audit["problem"].items() if key != "quadrature"}

    @property
    def text(self) -> str:
        """Words for the channel and the columns, once for every run."""
        name = "a channel by its rows"
        if "rows" not in self.channel:
            known = {"mechanism": named.MECHANISMS, "query": named.QUERIES}
            calls = (named.call(self.channel[key], known[key], f"the {key}") for key in known if key in self.channel)
            name = " of ".join(named.spelled(*call) for call in calls)
        return f"{name}, of {' and of '.join(', '.join(map(show, run)) for run in self.runs)}"


class Joint:
    """The people, the columns of their records, the releases, and what the adversary may know beyond independence."""

    def __init__(self, content: dict[str, Any]) -> None:
        """Read what a certificate is about."""
        self.people = whole(field(content, "people", "the certificate"), "the number of people", 1, 2**53)
        listed = mapping(field(content, "columns", "the certificate"), "the columns")
        if not 0 < len(listed) <= MOST_COLUMNS:
            refuse(f"there are {len(listed)} columns; there must be 1 to {MOST_COLUMNS}")
        self.columns = {name: whole(k, "the values of a column", 1, 2**53) for name, k in listed.items()}
        adversary = mapping(field(content, "adversary", "the certificate"), "the adversary")
        self.independent = adversary == {"independent": True} and adversary["independent"] is True
        if not self.independent and set(adversary) != {"knowledge"}:
            refuse("the adversary of several releases has 'independent' true, or 'knowledge'")
        known = 0.0 if self.independent else number(adversary["knowledge"], "the adversary's knowledge", low=0.0)
        self.knowledge = Fraction(known)
        parts = sequence(field(content, "releases", "the certificate"), "the releases")
        if not parts:
            refuse("there are no releases")
        self.releases = [self._release(item, f"release {j}") for j, item in enumerate(parts)]
        who = "an adversary under whose prior the records are independent"
        if not self.independent:
            who = f"an adversary that knows at most {known!r} nats beyond independent records"
        sizes = ", ".join(f"{show(name)} of {k} values" for name, k in self.columns.items())
        released = "; ".join(f"release {j + 1}: {release.text}" for j, release in enumerate(self.releases))
        self.text = f"{self.people} records with columns {sizes}; {released}; {who}"

    def check(self, lower: float, upper: float, inner: Inner, given: list[Description] | None) -> str:
        """Refuse bounds that the audits inside do not give, and other mechanisms than those given.

        Return what is established.
        """
        lows, high, seen, many = [Fraction(0)], self.knowledge, list[str](), 0
        worst = set[int]()
        if given is not None:
            self._check_given(given)
        for release in self.releases:
            low, most = inner(release.audit)
            if self.people > 1:
                witness = mapping(field(release.audit, "witness", release.where), f"the witness of {release.where}")
                of = f"the record of the witness of {release.where}"
                worst.add(whole(witness.get("record"), of, 0, self.people - 1))
            high += len(release.runs) * Fraction(most)
            lows += [Fraction(low)] * len(release.runs)
            many += len(release.runs)
            seen += [name for run in release.runs for name in run]
        # What releases tell adds up where they look at different columns of one and the same person.
        apart = len(set(seen)) == len(seen) and len(worst) <= 1
        least = (sum(lows) if apart else max(lows)) if self.independent else Fraction(0)
        if Fraction(lower) > least:
            refuse(f"the releases leak {float(least)!r} at least, less than the claimed lower bound {lower!r}")
        values = sum((arb(k).log() for k in self.columns.values()), arb(0))
        if not (high <= Fraction(upper) or values <= upper):
            refuse(f"the bounds of the releases add up to {float(high)!r}, above the claimed {upper!r}")
        return (
            f"every number was recomputed: {many} releases that together leak no more than {upper!r} nats of any "
            f"record, as each leaks no more than its audit proves, and at least {lower!r} nats of some record"
        )

    def _check_given(self, given: list[Description]) -> None:
        """Refuse mechanisms that are not the releases, one for every run, in any order."""
        runs = [release for release in self.releases for _ in release.runs]
        if len(given) != len(runs):
            refuse(f"the certificate is about {len(runs)} releases, and {len(given)} mechanisms were given")
        for k, mechanism in enumerate(given):
            tick()
            place = next((i for i, release in enumerate(runs) if named.same(release.channel, mechanism)), None)
            if place is None:
                refuse(f"the certificate is about another channel than mechanism {k + 1}, or less often about it")
            runs.pop(place)

    def _release(self, item: object, where: str) -> Release:
        """A release whose audit is of every record of these people, against independent records, about its columns."""
        part = mapping(item, where)
        runs, sizes = [], set[int]()
        for run in sequence(field(part, "columns", where), f"columns of {where}"):
            tick()
            names = tuple(sequence(run, f"columns of {where}"))
            if not names or any(not isinstance(name, str) or name not in self.columns for name in names):
                refuse(f"{where} looks at {show(list(names))}, and not at columns of the certificate")
            if len(set(names)) < len(names):
                refuse(f"{where} looks at a column twice")
            runs.append(names)
            sizes.add(prod(self.columns[name] for name in names))
        audit = mapping(field(part, "audit", where), f"the audit of {where}")
        if audit.get("format") != AUDIT:
            refuse(f"{where} has no audit certificate, but {show(audit.get('format'))}")
        if not runs:
            refuse(f"{where} looks at nothing")
        adversary = mapping(field(audit, "adversary", where), f"the adversary of {where}")
        any_prior = self.people == 1 and set(adversary) == {"entropy"} and adversary["entropy"] == 0
        independent = set(adversary) == {"independent"} and adversary["independent"] is True
        if not (any_prior or independent) or "secret" in audit:
            refuse(f"{where}: its audit must be of every record, against independent records and nothing else")
        people, values = _shape(mapping(field(audit, "problem", where), f"the problem of {where}"), where)
        if people != self.people:
            refuse(f"{where} is about {people} people, the certificate about {self.people}")
        if sizes != {values}:
            refuse(f"{where} is about {values} values, and its columns have {min(sizes - {values})}")
        return Release(where, audit, runs)


def _shape(problem: dict[str, Any], where: str) -> tuple[int, int]:
    """How many records a channel is about, and how many values each has."""
    if "query" in problem:
        statistic = named.query(problem["query"], listed=False).statistic
        return statistic.n, statistic.alphabet(0)
    records = sequence(field(problem, "records", f"the problem of {where}"), f"records of {where}")
    if not records or any(k != records[0] for k in records):
        refuse(f"{where}: its records must have the same values")
    return len(records), whole(records[0], f"values of {where}", 1, 2**53)
