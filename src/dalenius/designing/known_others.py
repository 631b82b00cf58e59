"""Designs against independent records: one convex programme, exact up to the solver's accuracy (MATH 6.11).

The worst such prior knows the other records x' (MATH 10), so that the leakage is the largest capacity of the channels
q(.|.,x'), and a capacity is a minimum over laws r of outputs:

    D(L) = min { E d : for every x' a law r with D( q(.|a,x') || r ) <= L for every value a }.

Terms q log(q/r) are exponential cones, solved by Clarabel [goulart24]. Its multipliers of the bounds are the priors of
6.3, those of the cones the ratios. Only the mechanism and these are taken from it: the mechanism is audited, and the
lower bound is computed from priors and ratios.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from dalenius.auditing.independent import others_of
from dalenius.auditing.independent_records import independent_records
from dalenius.certificates.audits import Found
from dalenius.designing.designer import Designed
from dalenius.designing.problem import Evidence, LowerBound, Problem, best, least_within, legal, on_grid
from dalenius.errors import refuse
from dalenius.model.channels.written import Written
from dalenius.model.problem import DesignProblem
from dalenius.model.statistic import Sum
from dalenius.numerics.conic import Conic
from dalenius.numerics.information import TINY
from dalenius.numerics.types import Bools, Floats, Ints
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class KnownOthersSearch(Part):
    """Designs against independent records."""

    # Pairs of a class and an output at most; terms of the programme at most; accuracy asked of Clarabel, the second in
    # large programmes: count(1000) at .005 took 5.8 s to the first and 3.1 s to the second, for the same four digits.
    pairs: int = 2**20
    terms: int = 60_000
    accuracies: tuple[float, float] = (1e-9, 1e-8)
    large: int = 10_000
    # Sums are clamped where the expected distance of what is beyond is at most this share of the constant's distortion.
    clamped: float = 1e-6
    # With more rows of neighbours x outputs than this, mechanisms see the answer alone: the bracket then stays open.
    by_answer: int = 300_000
    # With more neighbours x outputs than this, outputs beyond so many standard widths of the noise are
    # left out; a width is 1/eps for the capacity eps^2/8.
    all_outputs: int = 10_000
    widths: float = 14.0
    # Largest |log ratio| taken from multipliers, and the least share of a line's weight that counts.
    largest_log_ratio: float = 30.0
    least_weight: float = 1e-12
    # Audits of a mechanism that is mixed with a constant until it keeps its budget.
    tries: int = 6


# Shares of the multipliers with which a lower bound is tried where blocks made them.
SCALES = tuple(np.linspace(0.1, 1.0, 19))


@dataclass(frozen=True, eq=False)
class Line:
    """The classes of the datasets that agree but for one record, by its value; number: its place among such lines."""

    record: int
    number: int
    # The classes whose rows these have.
    blocks: Ints
    # All lines with the same blocks, this one among them: their places, and their classes.
    like: Ints
    members: Ints


def solve(problem: Problem, asked: DesignProblem, deadline: Deadline) -> Designed:
    """Return the best mechanism against independent records, audited, and the proof that little better exists."""
    programme = Programme(problem, problem.settings.of(KnownOthersSearch))
    limits, constant = problem.limits, problem.constant
    # A tolerance of distortions is in their units, and says nothing in nats.
    tolerance = asked.tolerance if problem.goal == "leakage" else asked.tolerance / problem.unit

    def audited(rows: Floats, tolerance: float) -> tuple[Written, Found]:
        mechanism = Written(problem.domain.statistic, rows, asked.distortion.labels, asked.query)
        return mechanism, independent_records(asked.audit(mechanism, tolerance), Deadline(60.0))

    rows, lower = programme.solve(deadline) or (constant, LowerBound(0.0))
    # Limits alone prove something, and all there is where they leave one mechanism.
    lower = max(lower, best(problem, ()), key=lambda bound: bound.value)
    rows = limits.repaired(rows) if limits.given else rows
    if problem.goal == "leakage":
        suffices = problem.has_constant and problem.distortion(constant) <= problem.budget
        rows = constant if suffices else problem.within_distortion(rows, problem.certain_budget)
    for _ in range(programme.chosen.tries):
        mechanism, leaks = audited(rows if limits.given else on_grid(rows), 1e-3 * max(tolerance, 1e-12))
        if problem.goal == "leakage" or leaks.upper <= problem.budget:
            break
        rows = problem.within_leakage(mechanism.rows, leaks.upper * (1 + 1e-9) + 1e-10, problem.budget)
    else:
        mechanism, leaks = audited(constant, tolerance)
    return Designed(mechanism, problem.paid(mechanism.rows), leaks, lower, 1, mechanism)


@dataclass(frozen=True, eq=False)
class Programme:
    """The programme, over one parameter for each orbit of pairs of a class and an output that are allowed.

    Its variables are these, the laws r of lines, the terms e >= q log(q/r), and the leakage t.
    """

    problem: Problem
    chosen: KnownOthersSearch

    @cached_property
    def block(self) -> Ints:
        """(K,) the class whose row each class has: its own, or of a sum the nearest within a window."""
        problem, domain = self.problem, self.problem.domain
        classes = np.arange(domain.statistic.size)
        if not isinstance(domain.statistic, Sum) or domain.statistic.modulus is not None:
            many = sum(lines.size for lines in domain.statistic.neighbours()) * domain.distance.shape[1]
            return _by_answer(domain.distance) if many > self.chosen.by_answer else classes
        # Outputs beyond a window have no mass in any row, and limits ask for their ratios, too: all classes stay.
        most = -1.0 if problem.limits.given else self.chosen.clamped * problem.distortion(problem.constant)
        away = np.abs(classes - (classes.size - 1) / 2)
        for reach in range(1, classes.size // 2):
            beyond = np.maximum(away - reach, 0.0)
            if domain.weights @ beyond <= most:
                low = max(0, math.floor((classes.size - 1) / 2 - reach))
                return np.clip(classes, low, classes.size - 1 - low)
        return classes

    @property
    def exact(self) -> bool:
        """Whether every class has a row of its own, or that of the end of a window."""
        return all(len(line.like) == 1 for line in self.lines)

    @cached_property
    def allowed(self) -> Bools:
        """(K, Y) which outputs the row of a block may have: near ones, and all that symmetries take them to."""
        problem, domain = self.problem, self.problem.domain
        size, width = domain.distance.shape
        inside = np.unique(self.block)
        outputs = np.zeros(width, dtype=bool)
        outputs[np.unique(domain.distance[inside].argmin(axis=1))] = True
        if inside.size == size:
            outputs[:] = True
        near = np.zeros((size, width), dtype=bool)
        many, lines = width, sum(len(lines) for lines in domain.statistic.neighbours())
        # Neighbours have the same outputs where their ratios are limited.
        if problem.goal == "distortion" and not problem.limits.given and lines * width > self.chosen.all_outputs:
            many = min(width, 2 * math.ceil(self.chosen.widths / math.sqrt(8 * problem.budget)) + 5)
        order = np.argsort(np.where(outputs, domain.distance[inside], np.inf), axis=1, kind="stable")[:, :many]
        near[inside[:, None], order] = True
        near &= outputs & problem.limits.possible
        kept = np.zeros(int(domain.orbit.max()) + 1, dtype=bool)
        kept[domain.orbit[near]] = True
        here = np.zeros(size, dtype=bool)
        here[inside] = True
        return np.asarray(kept[domain.orbit] & here[:, None] & outputs)

    @cached_property
    def lines(self) -> list[Line]:
        """One line of each kind: those whose columns hold the same parameters are bounded alike."""
        found: dict[bytes, Line] = {}
        orbit = np.where(self.allowed, self.problem.domain.orbit, -1)
        for record, lines in enumerate(self.problem.domain.statistic.neighbours()):
            for number, blocks in enumerate(self.block[lines]):
                if (blocks == blocks[0]).all():
                    continue
                columns = orbit[blocks]
                key = min(_sorted(columns[list(order)]) for order in _orders(len(blocks)))
                if key not in found:
                    like = np.flatnonzero((self.block[lines] == blocks).all(axis=1))
                    found[key] = Line(record, number, blocks, like, lines[like])
        return list(found.values())

    @cached_property
    def terms(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The line, the row (counted through all lines), the class and the output of every term q log(q/r)."""
        rows = np.array([(k, c) for k, line in enumerate(self.lines) for c in line.blocks]).reshape(-1, 2)
        row, outputs = np.nonzero(self.allowed[rows[:, 1]])
        return rows[row, 0], row, rows[row, 1], outputs

    def solve(self, deadline: Deadline) -> tuple[Floats, LowerBound] | None:
        """Return the mechanism and the lower bound that the solver's multipliers prove; None where it fails."""
        problem, (line, row, classes, y) = self.problem, self.terms
        orbit, limits = problem.domain.orbit, problem.limits
        if y.size > self.chosen.terms:
            refuse(
                f"a design for {len(self.lines)} kinds of neighbours has {y.size} terms, above the limit of "
                f"{self.chosen.terms}; use fewer records, values or outputs (outputs=)"
            )
        primal, kept = problem.goal == "leakage", np.unique(orbit[self.allowed])
        place = np.full(int(orbit.max()) + 1, -1)
        place[kept] = np.arange(kept.size)
        unit = problem.unit
        paid = self._paid(place, kept.size) / unit
        pairs, law = np.unique(line * orbit.shape[1] + y, return_inverse=True)
        u, laws = np.arange(kept.size), kept.size + np.arange(pairs.size)
        terms, many = kept.size + pairs.size + np.arange(y.size), int(row.max(initial=-1)) + 1
        last = kept.size + pairs.size + y.size
        conic = Conic(last + 1)
        # Rows of the mechanism, each different one once, and laws r sum to one.
        blocks = np.unique(self.block)
        places = np.where(self.allowed[blocks], place[orbit[blocks]], -1)
        places = np.unique(np.sort(places, axis=1), axis=0)
        which, column = np.nonzero(places >= 0)
        conic.equal(np.ones(len(places)), (which, places[which, column], 1.0))
        conic.equal(np.ones(len(self.lines)), (pairs // orbit.shape[1], laws, 1.0))
        held = limits.add(conic, kept)
        # Parameters are not below their floor, nor is t below 0.
        conic.at_most(np.full(u.size, -limits.floor), (u, u, -1.0))
        conic.at_most(np.zeros(1), (0, np.array([last]), -1.0))
        # D(q||r) is at most the leakage, for every row of every line; and the distortion its budget, if any.
        objective = np.zeros(conic.width)
        if primal:
            objective[last] = 1.0
            bounds = conic.at_most(np.zeros(many), (row, terms, 1.0), (np.arange(many), np.full(many, last), -1.0))
            budget = conic.at_most(np.array([problem.budget / unit]), (0, u, paid))
        else:
            objective[u] = paid
            bounds = budget = conic.at_most(np.full(many, problem.budget), (row, terms, 1.0))
        # e >= q log(q/r).
        at, parameter = 3 * np.arange(y.size), place[orbit[classes, y]]
        cones = conic.entropies(
            np.zeros(3 * y.size), (at, terms, 1.0), (at + 1, parameter, -1.0), (at + 2, kept.size + law, -1.0)
        )
        accuracy = self.chosen.accuracies[y.size > self.chosen.large]
        solved = conic.solve(objective, accuracy, time_limit=max(deadline.left, 1.0))
        if solved is None:
            return None
        scale, priced = (1.0 if primal else unit), np.zeros(limits.equal.size)
        for of, here in held:
            priced[of] = scale * solved.z[here]
        of_cones = solved.z[cones].reshape(-1, 3)
        ratios = of_cones[:, 1] / np.minimum(of_cones[:, 0], -TINY) - 1
        nu = float(max(solved.z[budget][0] / unit, 0.0)) if primal else 1.0
        whole = np.zeros(place.size)
        whole[kept] = np.maximum(solved.x[u], 0.0)
        rows = np.where(self.allowed, whole[orbit], 0.0)[self.block]
        lower = self._lower(np.maximum(scale * solved.z[bounds], 0.0), ratios, nu, priced)
        return rows / rows.sum(axis=1, keepdims=True), lower

    def _paid(self, place: Ints, many: int) -> Floats:
        """Expected distortion per unit of each parameter: a class with the row of another pays there."""
        cost = np.zeros(self.allowed.shape)
        np.add.at(cost, self.block, self.problem.domain.cost)
        orbit = self.problem.domain.orbit[self.allowed]
        return np.asarray(np.bincount(place[orbit], weights=cost[self.allowed], minlength=many), dtype=float)

    def _lower(self, bounds: Floats, log_ratios: Floats, nu: float, limits: Floats) -> LowerBound:
        """The bound of 6.3 by priors that know the others: multipliers are their laws and weights."""
        problem, domain, most = self.problem, self.problem.domain, self.chosen.largest_log_ratio
        primal, width = problem.goal == "leakage", domain.distance.shape[1]
        inside, added = nu * domain.cost, np.zeros(domain.cost.shape)
        found, weights = list[Evidence](), list[float]()
        mechanism = Written(domain.statistic, problem.constant, tuple(range(width)))
        total, (_, row, _, y) = float(bounds.sum()), self.terms
        # Outputs that each row has, or must not have: a ratio next to 0 is true of these.
        every = np.full((bounds.size, width), -most)
        every[row, y] = np.clip(log_ratios, -most, most)
        ends = np.cumsum([line.blocks.size for line in self.lines])
        for line, end in zip(self.lines, ends, strict=True):
            here = slice(end - line.blocks.size, end)
            lam, held = bounds[here], self.allowed[line.blocks]
            shared = np.flatnonzero((held | problem.limits.barred[line.blocks]).all(axis=0) & held.any(axis=0))
            if not lam.sum() > self.chosen.least_weight * total or not shared.size:
                continue
            p = lam / lam.sum()
            nearest = shared[np.abs(np.arange(width)[:, None] - shared).argmin(axis=1)]
            r = legal(p, every[here][:, nearest])
            # Lines with the same blocks share the weight, by the least likely of their datasets: a total of 0..3 for 20
            # people has 1.72 by it, 1.64 by the geometric mean and 1.51 by the sum.
            shares = domain.weights[line.members].min(axis=1)
            for number, classes, share in zip(line.like.tolist(), line.members, shares / shares.sum(), strict=True):
                weight = share * float(lam.sum()) / (total if primal else 1.0)
                added[classes] += weight * p[:, None] * r
                masses = np.zeros((p.size, domain.statistic.size))
                masses[np.arange(p.size), classes] = p
                found.append(Evidence(line.record, masses, r, others_of(mechanism, line.record, number)))
                weights.append(weight)
        if not found and primal:
            return LowerBound(0.0)
        priced = limits / (total if primal else 1.0)
        # Multipliers are of mechanisms that see the answer alone, where there are blocks: less of them may prove more.
        proved = LowerBound(0.0)
        for scale in (1.0,) if primal or self.exact else SCALES:
            price = nu * problem.budget if primal else scale * problem.budget * math.fsum(weights)
            averaged = domain.averaged(inside + scale * added)
            value, prices = least_within(problem.limits, priced, averaged, price)
            if value > proved.value:
                proved = LowerBound(value, tuple(found), scale * np.array(weights), nu if primal else 0.0, prices)
        return proved


def _by_answer(distance: Floats) -> Ints:
    """The first class with the same distances to all outputs: mechanisms that are functions of the answer alone."""
    _, first, place = np.unique(distance, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[place.ravel()])


def _orders(many: int, most: int = 4) -> list[tuple[int, ...]]:
    """Orders of the values of a record: all of them, or the two plain ones where there are many."""
    ahead = tuple(range(many))
    return list(permutations(ahead)) if many <= most else [ahead, ahead[::-1]]


def _sorted(table: Ints) -> bytes:
    """The columns of a table whatever their order."""
    return np.ascontiguousarray(table[:, np.lexsort(table[::-1])]).tobytes()
