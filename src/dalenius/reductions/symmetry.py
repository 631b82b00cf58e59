"""Symmetry (MATH 6): design one row per orbit of datasets, where the problem is invariant.

Averaging a mechanism over a group that leaves d, p0 and the reference prior alone and maps records to
records changes no expected distortion and raises no leakage. So q may be taken

1. equal on datasets with the same counts of values, where permuting records changes neither f nor p0 nor the
   reference: the domain is then one class per count vector, and otherwise every dataset by itself. For the parity of
   bits it is the two parities, where p0 and the reference distinguish no more: flipping two bits changes nothing
   either;
2. equal on the orbits of pairs (class, output) under further maps: values renamed in all records alike on
   count vectors, and records swapped or values of one record renamed on single datasets, each together with
   the permutation of outputs that undoes its effect on d.

Every map is established on all classes and outputs before it is used.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dalenius.errors import refuse
from dalenius.model.channels.written import Written
from dalenius.model.distortion import Constraints, Distortion
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.statistic import Histogram, Statistic, Sum, Table, class_of_counts, classes_in
from dalenius.numerics.types import Floats, Ints
from dalenius.settings import DEFAULT

NO_CONSTRAINTS = Constraints()


@dataclass(frozen=True, eq=False)
class Domain:
    """A design problem on classes c that are orbits, as in 1 above: P0(c), d(c,y), and what 2 ties together."""

    statistic: Statistic
    # (K,), and whether these are the weights of the uniform distribution, exactly.
    weights: Floats
    uniform: bool
    # (K, Y)
    distance: Floats
    # (K, Y) the orbit of each pair of a class and an output, 0..P-1.
    orbit: Ints
    # The maps, as certificates state them.
    symmetries: tuple[dict[str, Any], ...]
    reference: Reference = UNIFORM
    # (K, M) what was released before, in a design beside it: the law of its M outputs in every class. Else None.
    first: Floats | None = None
    # Where constraints compare outputs with answers: (K, Y) y - f, and which outputs a class must not have.
    deviation: Floats | None = None
    barred: NDArray[np.bool_] | None = None

    @cached_property
    def cost(self) -> Floats:
        """P0(c) d(c, y), (K, Y)."""
        cost = self.weights[:, None] * self.distance
        cost.flags.writeable = False
        return cost

    @cached_property
    def masses(self) -> Floats:
        """P_rho(X_0 = a, c), (A, K): the reference about the first record."""
        masses = np.exp(self.reference.log_joint(self.statistic, 0))
        masses.flags.writeable = False
        return np.asarray(masses)

    def joint(self, rows: Floats) -> Floats:
        """The channel (K, M Y) of what was released before and a mechanism (K, Y), run independently; or the latter."""
        if self.first is None:
            return rows
        return np.asarray((self.first[:, :, None] * rows[:, None, :]).reshape(len(rows), -1))

    def averaged(self, table: Floats) -> Floats:
        """The average over each orbit, (K, Y)."""
        if not self.symmetries:
            return table
        flat = self.orbit.ravel()
        total = np.bincount(flat, weights=table.ravel())
        return np.asarray((total / np.bincount(flat))[self.orbit])


def symmetrise(
    distortion: Distortion,
    reference: Reference = UNIFORM,
    *,
    symmetric: bool = True,
    most: int = DEFAULT.limits.design_pairs,
    constraints: Constraints = NO_CONSTRAINTS,
) -> Domain:
    """Return the smallest domain that loses nothing; with symmetric=False every dataset by itself.

    Raises InputError: more than `most` pairs of a class and an output, or a reference that leaves a class without mass.
    """
    domain = next(_candidates(distortion, reference, most, constraints, symmetric=symmetric))
    reference.check(domain.statistic)
    return domain


def beside(
    distortion: Distortion, first: Written, reference: Reference = UNIFORM, most: int = DEFAULT.limits.design_pairs
) -> Domain:
    """Return a domain on whose classes an earlier release is constant, too; pairs are tied by no further map.

    Averaging over maps that leave the earlier release alone as well changes no distortion and raises no joint leakage.
    """
    for domain in _candidates(distortion, reference, most):
        classes = classes_in(first.statistic, domain.statistic)
        if classes is not None:
            rows = first.rows[classes]
            pairs = rows.shape[1] * domain.distance.size
            if pairs > most:
                refuse(
                    f"a design for {distortion.query} after releases of {rows.shape[1]} outputs needs {pairs} "
                    f"entries, above the limit of {most}; use ledger.calibrate, fewer records or fewer "
                    "outputs (outputs=)"
                )
            reference.check(domain.statistic)
            plain = np.arange(domain.distance.size).reshape(domain.distance.shape)
            return replace(domain, first=rows, orbit=plain, symmetries=())
    message = "no partition carries the query and the earlier releases"
    raise AssertionError(message)


def _candidates(
    distortion: Distortion,
    reference: Reference,
    most: int,
    constraints: Constraints = NO_CONSTRAINTS,
    *,
    symmetric: bool = True,
) -> Iterator[Domain]:
    """Partitions of the datasets, coarse before fine; every dataset by itself carries everything."""
    query = distortion.query
    if symmetric and reference.kind in (None, "marginal") and _interchangeable(distortion):
        fair = len(set(reference.laws[0])) == 1 if reference.laws else True
        if _parity(query.statistic) and distortion.data.law.uniform and fair:
            yield _domain(distortion, reference, constraints, query.statistic)
        n, k = query.n, query.records[0]
        check_size(math.comb(n + k - 1, k - 1), distortion, most)
        statistic: Statistic = Histogram(n, k)
        counts = Histogram(n, k).counts
        if isinstance(query.statistic, (Sum, Histogram)) and query.statistic.size == statistic.size:
            # Its classes are single count vectors already.
            statistic, counts = query.statistic, counts[np.argsort(class_of_counts(query.statistic, counts))]
        yield _tied(_domain(distortion, reference, constraints, statistic), _count_maps(counts))
    # exp(700) is near the largest float, and far above any limit.
    check_size(round(math.exp(min(query.log_universe, 700.0))), distortion, most)
    domain = _domain(distortion, reference, constraints, Table.everything(query.records))
    yield _tied(domain, _dataset_maps(query.records)) if symmetric else domain


def _interchangeable(distortion: Distortion) -> bool:
    """Whether permuting records changes neither the answer nor p0: by structure, or on all datasets."""
    query = distortion.query
    if len(set(query.records)) > 1:
        return False
    if isinstance(query.statistic, Table) and classes_in(query.statistic, Histogram(query.n, query.records[0])) is None:
        return False
    return distortion.data.exchangeable(query.records)


def _parity(statistic: Statistic) -> bool:
    return isinstance(statistic, Sum) and statistic.contributions == (0, 1) and statistic.modulus == 2


def _domain(distortion: Distortion, reference: Reference, constraints: Constraints, statistic: Statistic) -> Domain:
    """The problem on the classes of a statistic on which the query is constant, no pairs tied."""
    classes = classes_in(distortion.query.statistic, statistic)
    assert classes is not None  # for the type checker: it is constant
    distance, compared = distortion.table[classes], constraints.about_answers
    return Domain(
        statistic=statistic,
        weights=distortion.data.on(statistic, distortion.query),
        uniform=distortion.data.uniform,
        distance=distance,
        orbit=np.arange(distance.size).reshape(distance.shape),
        symmetries=(),
        reference=reference,
        deviation=constraints.deviations(distortion)[classes] if compared else None,
        barred=constraints.barred(distortion)[classes] if compared else None,
    )


def check_size(rows: int, distortion: Distortion, most: int = DEFAULT.limits.design_pairs) -> None:
    """Raise InputError for a design of more than `most` pairs of a class and an output."""
    outputs = len(distortion.outputs)
    if rows * outputs > most:
        fits = f"with so many rows {most // rows} outputs fit; " if rows < most else ""
        refuse(
            f"a mechanism for {distortion.query} needs {rows} rows of {outputs} outputs, above the limit of "
            f"{most} entries for a design; {fits}use fewer records, fewer values, or fewer outputs (outputs=)"
        )


# What a map is called in certificates, and where it takes each class.
Map = tuple[dict[str, Any], Ints]


def _count_maps(counts: Ints) -> Iterator[Map]:
    """Values renamed in all records alike: any two swapped, and their order reversed."""
    k = counts.shape[1]
    place = {tuple(c): t for t, c in enumerate(counts.tolist())}
    renamings = [_swapped(k, i, j) for i, j in combinations(range(k), 2)]
    if k > 2:  # for two values the reversal is the swap
        renamings.append(list(range(k))[::-1])
    for values in renamings:
        image = np.empty_like(counts)
        image[:, values] = counts
        yield {"values": values}, np.array([place[tuple(c)] for c in image.tolist()])


def _swapped(many: int, i: int, j: int) -> list[int]:
    order = list(range(many))
    order[i], order[j] = j, i
    return order


def _dataset_maps(records: tuple[int, ...]) -> Iterator[Map]:
    """Two records swapped; two neighbouring values of one record swapped; all values reversed."""
    datasets = np.stack(np.unravel_index(np.arange(math.prod(records)), records))
    same = [list(range(k)) for k in records]
    order = list(range(len(records)))

    def image(to: list[int], values: list[list[int]]) -> Map:
        moved = np.empty_like(datasets)
        for i, x in enumerate(datasets):
            moved[to[i]] = np.asarray(values[i])[x]
        return {"records": to, "values": values}, np.ravel_multi_index(tuple(moved), records)

    for i, j in combinations(order, 2):
        if records[i] == records[j]:
            yield image(_swapped(len(order), i, j), same)
    for i, k in enumerate(records):
        for v in range(k - 1):
            yield image(order, [*same[:i], _swapped(k, v, v + 1), *same[i + 1 :]])
    if len(records) > 1 or records[0] > 2:  # otherwise the reversal is a swap
        yield image(order, [row[::-1] for row in same])


def _tied(domain: Domain, maps: Iterator[Map]) -> Domain:
    """Keep the maps that leave the problem as it is, and join the pairs that they take to each other."""
    size, width = domain.distance.shape
    edges: list[tuple[Ints, Ints]] = []
    kept = []
    here = np.arange(size * width).reshape(size, width)
    for name, to in maps:
        if not domain.uniform and not np.array_equal(domain.weights[to], domain.weights):
            continue
        if not _keeps(domain.reference, name, to):
            continue
        outputs = _matching(domain.distance, domain.distance[to])
        if outputs is None:
            continue
        pairs = np.ix_(to, outputs)
        if not np.array_equal(here[pairs], here) and _keeps_constraints(domain, pairs):
            kept.append({**name, "outputs": outputs.tolist()})
            edges.append((here.ravel(), here[pairs].ravel()))
    if not kept:
        return domain
    start, end = (np.concatenate([edge[k] for edge in edges]) for k in (0, 1))
    graph = scipy.sparse.coo_matrix((np.ones(start.size), (start, end)), shape=(here.size, here.size))
    orbit = scipy.sparse.csgraph.connected_components(graph, directed=False)[1].reshape(size, width)
    return replace(domain, orbit=orbit, symmetries=tuple(kept))


def _keeps(reference: Reference, name: dict[str, Any], to: Ints) -> bool:
    """Whether a map leaves the reference alone: weights of datasets, or the laws of the records, number by number."""
    if reference.weights is not None:
        return bool(np.array_equal(reference.weights[to], reference.weights))
    if not reference.laws:
        return True
    if "records" not in name:
        law = reference.laws[0]
        return all(law[new] == law[v] for v, new in enumerate(name["values"]))
    laws = reference.laws * (len(name["records"]) if len(reference.laws) == 1 else 1)
    moved = zip(laws, name["records"], name["values"], strict=True)
    return all(laws[i][new] == law[v] for law, i, values in moved for v, new in enumerate(values))


def _keeps_constraints(domain: Domain, pairs: tuple[Ints, ...]) -> bool:
    """Whether a map of pairs leaves what is barred alone, and errors y - f up to their sign."""
    if domain.deviation is None or domain.barred is None:
        return True
    moved, away = domain.deviation[pairs], domain.deviation
    same = np.array_equal(moved, away) or np.array_equal(moved, -away)
    return same and np.array_equal(domain.barred[pairs], domain.barred)


def _matching(distance: Floats, moved: Floats) -> Ints | None:
    """The permutation with moved(c, outputs[y]) = distance(c, y) for all c, y; None if there is none."""
    free: dict[bytes, list[int]] = {}
    for y in range(moved.shape[1] - 1, -1, -1):
        free.setdefault((moved[:, y] + 0.0).tobytes(), []).append(y)
    outputs = []
    for column in distance.T:
        waiting = free.get((column + 0.0).tobytes())
        if not waiting:
            return None
        outputs.append(waiting.pop())
    return np.array(outputs)
