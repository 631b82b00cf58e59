"""The reference prior rho: what everybody knows about the data. Uniform, independent records, or any weights.

An adversary holds any prior p with D(p || rho) <= knowledge. For a secret A and classes T of a mechanism all that
matters is rho(a,t) = P_rho(A = a, T = t): inside (a,t) the worst prior is rho(x | a,t). Sums of independent records
have it in closed form or by multiplying laws, count vectors of records with one law as a multinomial; everything else
is added up over the datasets.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model import secret as secrets
from dalenius.model.alike import tally
from dalenius.model.channels.parts import Everything, LogLaws, Part
from dalenius.model.counting import Law, Parts, log_law, log_multinomial, sum_law, unlisted
from dalenius.model.datasets import checked, combined, commas
from dalenius.model.laws import WAYS, checked_law, is_frame, listed_in, of_frame
from dalenius.model.query import set_state
from dalenius.model.secret import Attributes, Group, Secret
from dalenius.model.statistic import Blocks, Histogram, Statistic, Sum
from dalenius.model.storage import TABLES, read_matrix
from dalenius.numerics.information import xlogy
from dalenius.numerics.types import Floats, Ints

SMOOTH = "give every value a little mass, such as one count more (add-one smoothing)"


@dataclass(frozen=True, eq=False)
class Reference:
    """rho(x), uniform unless given: `laws` of independent records, one for all or one each; or `weights` of datasets.

    Numbers are kept as given; every law stands for itself divided by its exact sum.
    """

    laws: tuple[Law, ...] = ()
    weights: Floats | None = None

    __setstate__ = set_state

    @classmethod
    def from_user(
        cls, value: object, records: tuple[int, ...], names: Sequence[str] = (), what: str = "the reference"
    ) -> "Reference":
        """Return the reference of None, one law, one law per record, weights over datasets, or data of frames."""
        if value is None or isinstance(value, Reference):
            return UNIFORM if value is None else value
        if is_frame(value):
            return cls(_alike(of_frame(value, records, names)))
        listed = listed_in(value, what)
        if not listed:
            refuse(f"{what} is empty; {WAYS}")
        if not any(isinstance(part, (Iterable, str)) for part in listed):
            return cls._of_line(listed, records, what)
        if len(listed) != len(records):
            refuse(f"{what} has {len(listed)} laws for {len(records)} records; give one law per record")
        return cls(_alike([checked_law(part, f"the law of record {i}", records[i]) for i, part in enumerate(listed)]))

    @classmethod
    def from_file(cls, path: Path, records: tuple[int, ...]) -> "Reference":
        """Return the reference in a file: one line or column of numbers, one line per record, or weights."""
        if path.suffix not in TABLES:
            refuse(f"{path} has suffix {path.suffix!r}; a reference is read from {', '.join(TABLES)}")
        content = read_matrix(path)[0]
        if path.suffix != ".json" and content.ndim == 2 and 1 in content.shape:  # a line or a column
            content = content.ravel()
        try:
            return cls.from_user(content, records)
        except InputError as error:
            refuse(f"{path}: {error}", error)

    @classmethod
    def _of_line(cls, listed: list[object], records: tuple[int, ...], what: str) -> "Reference":
        """One list of numbers is the law of every record, or one weight per dataset."""
        alike = len(tally(records)) == 1
        if alike and len(listed) == records[0]:
            return cls((checked_law(listed, "the law of a record", records[0]),))
        if checks.log_universe(records) <= math.log(secrets.MOST_DATASETS) + 1e-9 and len(listed) == math.prod(records):
            weights = np.array(checked_law(listed, "the list of weights", len(listed)))
            weights.flags.writeable = False
            return cls((), weights)
        one = f"{records[0]} (the law of every record)" if alike else "one list per record, whose values differ"
        refuse(
            f"{what} lists {len(listed)} numbers; give {one} or {checks.size_text(records)} (one weight per dataset, "
            f"at most {secrets.MOST_DATASETS})"
        )

    @property
    def kind(self) -> str | None:
        """None (uniform), "marginal" (one law for all records), "marginals" (one each) or "weights"."""
        if self.weights is not None:
            return "weights"
        return ("marginal" if len(self.laws) == 1 else "marginals") if self.laws else None

    @property
    def uniform(self) -> bool:
        """Whether no reference was given."""
        return self.kind is None

    def describe(self) -> dict[str, Any]:
        """Return the reference in plain data, as certificates carry it; nothing for the uniform one."""
        if self.weights is not None:
            return {"weights": self.weights.tolist()}
        laws = [list(law) for law in self.laws]
        return {"marginal": laws[0]} if len(laws) == 1 else {"marginals": laws} if laws else {}

    def log_least(self, records: Sequence[int]) -> float:
        """Return log rho(x) of the least likely dataset that has any mass."""
        if self.weights is not None:
            return math.log(self.weights[self.weights > 0].min()) - math.log(math.fsum(self.weights))
        if self.uniform:
            return -checks.log_universe(records)
        least = {law: math.log(min(p for p in law if p > 0)) - math.log(math.fsum(law)) for law in set(self.laws)}
        return math.fsum(many * least[law] for law, many in self._parts((), len(records)))

    def entropy(self, n: int) -> float:
        """Return H(X) of n independent records."""
        return -math.fsum(many * float(xlogy(p := np.exp(log_law(law)), p).sum()) for law, many in self._parts((), n))

    def orbits(self, statistic: Statistic) -> tuple[range | tuple[int, ...], ...]:
        """Return groups of provably interchangeable records: those of the statistic that have one law."""
        if self.weights is not None:
            return tuple((i,) for i in range(len(statistic.records)))
        if len(self.laws) <= 1:
            return statistic.orbits
        found: dict[tuple[int, Law], list[int]] = {}
        for k, orbit in enumerate(statistic.orbits):
            for i in orbit:
                found.setdefault((k, self.laws[i]), []).append(i)
        return tuple(map(tuple, found.values()))

    def check(self, statistic: Statistic, *, alone: bool = False) -> None:
        """Refuse a reference under which a class of the mechanism never occurs.

        alone: whether it is the only prior there is, to which such classes do no harm where they can be listed.
        """
        if self.uniform:
            return
        if isinstance(statistic, Everything) or (isinstance(statistic, (Histogram, Sum)) and not statistic.listed):
            # Datasets with many records of a value without mass never occur.
            dead = next((f"value {v} of a record" for law in self.laws for v, p in enumerate(law) if p == 0), None)
        elif alone:
            return
        else:
            never = np.flatnonzero(~np.isfinite(self.log_classes(statistic)))
            more = f" and {never.size - 1} more classes of the mechanism" if never.size > 1 else ""
            dead = f"{statistic.class_name(int(never[0]))}{more}" if never.size else None
        if dead is not None:
            refuse(f"the reference gives no mass to {dead}; {SMOOTH}")

    def log_classes(self, statistic: Statistic) -> Floats:
        """Return log P_rho(T = t), (K,)."""
        if isinstance(statistic, Part):
            joint = self.log_joint(statistic, Group(statistic.members))
            return np.asarray(np.logaddexp.reduce(joint, axis=0), dtype=float)
        return np.asarray(self.log_joint(statistic, Group(()))[0])

    def log_joint(self, statistic: Statistic, secret: Secret) -> Floats:
        """Return log P_rho(secret = a, T = t) as (A, K); -inf where impossible."""
        if isinstance(secret, Attributes):
            return secret.merged(self.log_joint(statistic, secret.whole))
        group = secrets.members(secret)
        if isinstance(statistic, Part):
            if group != statistic.members:
                refuse(f"this partition is about the records {commas(statistic.members)}, not about {group}")
            return statistic.log_joint(self._log_law_in(statistic))
        if isinstance(statistic, Blocks):
            return np.asarray(np.logaddexp.reduceat(self.log_joint(statistic.of, secret), statistic.starts, axis=1))
        if isinstance(secret, int):
            checks.record_index(secret, len(statistic.records))
        if group != () and not (self.uniform and isinstance(secret, int)):
            _check_size(secrets.size(secret, statistic.records), statistic.size)
        found = None if group is None or self.weights is not None else self._of_group(statistic, group)
        return self._added_up(statistic, secret) if found is None else found

    def _of_group(self, statistic: Statistic, group: tuple[int, ...]) -> Floats | None:
        """The same of a group, where independent records need no list of datasets."""
        if isinstance(statistic, Sum):
            return self._of_sum(statistic, group)
        if isinstance(statistic, Histogram) and len(self.laws) <= 1:
            return self._of_counts(statistic, group)
        known = isinstance(statistic, Histogram) and self._known_outside(group)
        return self._beside_known(statistic, group) if known else None

    def log_table(self, records: tuple[int, ...]) -> Floats:
        """Return log rho(x) of every dataset, in lexicographic order; refused when too many."""
        checks.universe(records)
        if self.weights is not None:
            return log_law(tuple(self.weights.tolist()))
        return combined(self.log_law_of(i, k) for i, k in enumerate(records))

    def log_probability(self, dataset: ArrayLike, records: tuple[int, ...]) -> float:
        """Return log rho(x) of one dataset."""
        x = checked(dataset, records)
        if self.weights is not None:
            return float(self.log_table(records)[np.ravel_multi_index(tuple(x), records)])
        if self.uniform:
            return -checks.log_universe(records)
        return math.fsum(log_law(self._law_of(i))[v] for i, v in enumerate(x.tolist()))

    def _law_of(self, record: int) -> Law:
        return self.laws[0] if len(self.laws) == 1 else self.laws[record]

    def _log_law_in(self, part: Part) -> LogLaws:
        """The logarithms of the law of a record, by its index."""
        if self.weights is not None:
            refuse("weights over datasets need a channel that is written out; give laws of records instead")
        return lambda i: self.log_law_of(i, part.k)

    def free_at(self, record: int, records: tuple[int, ...]) -> "Reference":
        """Return the same prior with a uniform law of one record, where its own leaves out a value.

        What the others are given the value of that record is the same, and every value has it.
        """
        if not self.laws or min(self._law_of(record)) > 0:
            return self
        laws = [self._law_of(i) for i in range(len(records))]
        laws[record] = (1 / records[record],) * records[record]
        return Reference(tuple(laws))

    @property
    def zeros(self) -> bool:
        """Whether some value of a record has no mass, records independent."""
        return any(0 in law for law in tally(self.laws))

    def values(self, record: int, k: int) -> Ints:
        """Return the values of a record of k values that have mass, records independent."""
        return np.flatnonzero(self._law_of(record)) if self.laws else np.arange(k)

    def log_law_of(self, record: int, k: int) -> Floats:
        """Return the logarithms of the law of a record of k values, records independent."""
        return np.full(k, -math.log(k)) if self.uniform else log_law(self._law_of(record))

    def _parts(self, group: tuple[int, ...], n: int) -> Parts:
        """The different laws of the records outside a group, and how many have each."""
        if len(self.laws) <= 1:
            return ((self.laws[0] if self.laws else (), n - len(group)),)
        counted = Counter(tally(self.laws))
        counted.subtract(self.laws[i] for i in group)
        return tuple((law, many) for law, many in counted.items() if many)

    def _known_outside(self, group: tuple[int, ...]) -> bool:
        """Whether all records but those of a group are certain."""
        certain = {law: sum(p > 0 for p in law) == 1 for law in set(self.laws)}
        return all(certain[law] for i, law in enumerate(self.laws) if i not in group)

    def _beside_known(self, statistic: Statistic, group: tuple[int, ...]) -> Floats:
        """log P(X_group = a) at the class of a and the records outside, which are certain."""
        k = statistic.records[0]
        x = np.array([max(range(k), key=law.__getitem__) for law in self.laws])
        mass = self._log_values(group, k)
        result = np.full((mass.size, statistic.size), -np.inf)
        for row, values, log_p in zip(result, product(range(k), repeat=len(group)), mass.tolist(), strict=True):
            x[list(group)] = values
            row[int(statistic.class_of(x))] = log_p
        return result

    def _log_values(self, group: tuple[int, ...], k: int) -> Floats:
        """log P_rho(X_group = a), by the values of the group in lexicographic order."""
        return combined(self.log_law_of(i, k) for i in group)

    def _of_sum(self, statistic: Sum, group: tuple[int, ...]) -> Floats:
        """log( P(X_group = a) P(S' + c_a = value) ), S' the sum of the records outside the group."""
        contributions, parts = statistic.contributions, self._parts(group, statistic.n)
        if self.uniform and statistic.seen is None and not statistic.listed:
            refuse(unlisted(statistic.n, contributions) or "")  # before there is an array for them
        shift = combined([np.array(contributions)] * len(group))
        result = np.full((shift.size, statistic.size), -np.inf)
        for row, c, mass in zip(result, shift.tolist(), self._log_values(group, len(contributions)), strict=True):
            seen = statistic.without(c)
            others, log_p = sum_law(parts, contributions, statistic.modulus, seen)
            made = others + c
            kept = slice(None) if seen is None else (made >= statistic.values[0]) & (made <= statistic.values[-1])
            row[statistic.class_of_sum(made[kept])] = log_p[kept] + mass
        return result

    def _of_counts(self, statistic: Histogram, group: tuple[int, ...]) -> Floats:
        """log P(c), and the chance of drawing the group's values from these counts, one after the other."""
        n, k, counts = statistic.n, statistic.k, statistic.counts
        log_p = log_multinomial(counts) - (statistic.log_universe if self.uniform else 0.0)
        if self.laws:
            log_p += xlogy(counts, np.array(self.laws[0]) / math.fsum(self.laws[0])).sum(axis=1)
        chances = np.ones((k ** len(group), statistic.size))
        for row, values in enumerate(product(range(k), repeat=len(group))):
            for j, a in enumerate(values):
                chances[row] *= np.maximum(counts[:, a] - values[:j].count(a), 0) / (n - j)
        with np.errstate(divide="ignore"):
            return np.asarray(log_p + np.log(chances))

    def _added_up(self, statistic: Statistic, secret: Secret) -> Floats:
        """Log-sum-exp of log rho(x) over the datasets of every pair (a, t)."""
        classes, shape = statistic.class_table(), (secrets.size(secret, statistic.records), statistic.size)
        cell = secrets.table(secret, statistic.records) * statistic.size + classes
        if self.uniform:
            with np.errstate(divide="ignore"):
                return np.log(np.bincount(cell, minlength=math.prod(shape)) / cell.size).reshape(shape)
        log_rho = self.log_table(statistic.records)
        alive = np.isfinite(log_rho)
        cell, log_rho = cell[alive], log_rho[alive]
        peak = np.full(math.prod(shape), -np.inf)
        np.maximum.at(peak, cell, log_rho)
        total = np.bincount(cell, weights=np.exp(log_rho - peak[cell]), minlength=peak.size)
        with np.errstate(divide="ignore"):
            return np.asarray(peak + np.log(total)).reshape(shape)


UNIFORM = Reference()


def _check_size(values: int, classes: int) -> None:
    if values * classes > checks.MOST_ENTRIES:
        refuse(
            f"a secret of {values} values and {classes} classes of the mechanism make {values * classes} pairs, above "
            f"the limit of {checks.MOST_ENTRIES}; use a smaller group, a coarser secret or fewer records"
        )


def _alike(laws: list[Law]) -> tuple[Law, ...]:
    """One law where all are equal."""
    return (laws[0],) if len(set(laws)) == 1 else tuple(laws)
