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
from dalenius.designing.cutting_planes import Problem
from dalenius.designing.designer import Designed, certain_budget, on_grid, rounding
from dalenius.designing.weak_duality import Evidence, LowerBound, best_distortion, least_within, legal
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
    classes: Ints
    # The classes whose rows these have, and the outputs that any of them may have.
    blocks: Ints
    outputs: Ints
    # All lines with the same blocks, this one among them: their places, and their classes.
    like: Ints
    members: Ints


def solve(problem: Problem, asked: DesignProblem, deadline: Deadline) -> Designed:
    """Return the best mechanism against independent records, audited, and the proof that little better exists."""
    programme = Programme(problem, problem.settings.of(KnownOthersSearch))
    solved = programme.solve(deadline)
    rows, lower = (problem.constant(), LowerBound(0.0)) if solved is None else solved
    if problem.limits is not None and problem.goal == "distortion":
        # Limits alone prove something, and all there is where they leave one mechanism.
        alone = best_distortion(problem.domain, (), problem.budget, problem.limits)
        lower = max(lower, alone, key=lambda bound: bound.value)
    if problem.limits is not None:
        rows = problem.limits.repaired(rows)
    if problem.goal == "leakage":
        constant = problem.has_constant and problem.distortion(problem.constant()) <= problem.budget
        rows = problem.constant() if constant else problem.within_distortion(rows, certain_budget(problem))
    for _ in range(programme.chosen.tries):
        rows = on_grid(rows) if problem.limits is None else rows
        mechanism = Written(problem.domain.statistic, rows, asked.distortion.labels, asked.query)
        leaks = independent_records(asked.audit(mechanism, 1e-3 * max(asked.tolerance, 1e-12)), Deadline(60.0))
        if problem.goal == "leakage" or leaks.upper <= problem.budget:
            break
        rows = problem.within_leakage(rows, leaks.upper * (1 + 1e-9) + 1e-10, problem.budget)
    else:
        rows = problem.constant()
        mechanism = Written(problem.domain.statistic, rows, asked.distortion.labels, asked.query)
        leaks = independent_records(asked.audit(mechanism, asked.tolerance), Deadline(60.0))
    distortion = problem.distortion(rows) * (1 + rounding(problem))
    return Designed(mechanism, distortion, leaks, lower, 1, mechanism)


@dataclass(frozen=True, eq=False)
class Programme:
    """The programme, over one parameter for each orbit of pairs of a class and an output that are allowed."""

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
        most = self.chosen.clamped * problem.distortion(problem.constant()) if problem.limits is None else -1.0
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
        if problem.goal == "distortion" and problem.limits is None and lines * width > self.chosen.all_outputs:
            many = min(width, 2 * math.ceil(self.chosen.widths / math.sqrt(8 * problem.budget)) + 5)
        order = np.argsort(np.where(outputs, domain.distance[inside], np.inf), axis=1, kind="stable")[:, :many]
        near[inside[:, None], order] = True
        near &= outputs
        if problem.limits is not None:
            near &= problem.limits.possible
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
            for number, (classes, blocks) in enumerate(zip(lines, self.block[lines], strict=True)):
                if (blocks == blocks[0]).all():
                    continue
                columns = orbit[blocks]
                key = min(_sorted(columns[list(order)]) for order in _orders(len(blocks)))
                if key not in found:
                    outputs = np.flatnonzero(self.allowed[blocks].any(axis=0))
                    like = np.flatnonzero((self.block[lines] == blocks).all(axis=1))
                    found[key] = Line(record, number, classes, blocks, outputs, like, lines[like])
        return list(found.values())

    def solve(self, deadline: Deadline) -> tuple[Floats, LowerBound] | None:
        """Return the mechanism and the lower bound that the solver's multipliers prove; None where it fails."""
        problem, domain, lines = self.problem, self.problem.domain, self.lines
        terms = sum(int(self.allowed[line.blocks].sum()) for line in lines)
        if terms > self.chosen.terms:
            refuse(
                f"a design for {len(lines)} kinds of neighbours has {terms} terms, above the limit of "
                f"{self.chosen.terms}; use fewer records, values or outputs (outputs=)"
            )
        program = _Programme(self)
        solved = program.solve(deadline.left)
        if solved is None:
            return None
        u, bounds, log_ratios, limits = solved
        rows = np.where(self.allowed, program.full(np.maximum(u, 0.0))[domain.orbit], 0.0)[self.block]
        rows /= rows.sum(axis=1, keepdims=True)
        multiplier = bounds[-1] if problem.goal == "leakage" else 0.0
        return rows, self._lower(bounds, log_ratios, float(max(multiplier, 0.0)), limits)

    def _lower(self, bounds: Floats, log_ratios: Floats, nu: float, limits: Floats) -> LowerBound:
        """The bound of 6.3 by priors that know the others: multipliers are their laws and weights."""
        problem, domain, chosen = self.problem, self.problem.domain, self.chosen
        primal = problem.goal == "leakage"
        inside, added = (nu if primal else 1.0) * domain.cost, np.zeros(domain.cost.shape)
        found, weights, at, term = list[Evidence](), list[float](), 0, 0
        mechanism = Written(domain.statistic, problem.constant(), tuple(range(domain.distance.shape[1])))
        total = float(np.maximum(bounds[: sum(len(line.classes) for line in self.lines)], 0.0).sum())
        for line in self.lines:
            many = len(line.classes)
            lam = np.maximum(bounds[at : at + many], 0.0)
            # Outputs that each row has, or must not have: a ratio next to 0 is true of these.
            r = np.full((many, domain.distance.shape[1]), -chosen.largest_log_ratio)
            for row, c in zip(r, line.blocks, strict=True):
                held = self.allowed[c]
                row[held] = log_ratios[term : term + held.sum()]
                term += held.sum()
            held = self.allowed[line.blocks]
            barred = False if problem.limits is None else problem.limits.barred[line.blocks]
            shared = np.flatnonzero((held | barred).all(axis=0) & held.any(axis=0))
            at += many
            if not lam.sum() > chosen.least_weight * total or not shared.size:
                continue
            p = lam / lam.sum()
            nearest = shared[np.abs(np.arange(domain.distance.shape[1])[:, None] - shared).argmin(axis=1)]
            r = legal(p, np.clip(r, -chosen.largest_log_ratio, chosen.largest_log_ratio)[:, nearest])
            # Lines with the same blocks share the weight, by the least likely of their datasets: a total of 0..3 for 20
            # people has 1.72 by it, 1.64 by the geometric mean and 1.51 by the sum.
            shares = domain.weights[line.members].min(axis=1)
            for number, classes, share in zip(line.like.tolist(), line.members, shares / shares.sum(), strict=True):
                weight = share * float(lam.sum()) / (total if primal else 1.0)
                added[classes] += weight * p[:, None] * r
                masses = np.zeros((many, domain.statistic.size))
                masses[np.arange(many), classes] = p
                found.append(Evidence(line.record, masses, r, others_of(mechanism, line.record, number)))
                weights.append(weight)
        if not found and primal:
            return LowerBound(0.0)
        priced = limits / (total if primal else 1.0)
        # Multipliers are of mechanisms that see the answer alone, where there are blocks: less of them may prove more.
        best = LowerBound(0.0)
        for scale in (1.0,) if primal or self.exact else SCALES:
            price = nu * problem.budget if primal else scale * problem.budget * math.fsum(weights)
            averaged = domain.averaged(inside + scale * added)
            value, prices = least_within(problem.limits, priced, averaged, price)
            if value > best.value:
                best = LowerBound(value, tuple(found), scale * np.array(weights), nu, prices)
        return best


@dataclass(eq=False)
class _Programme:
    """The programme over x = (u, laws r of lines, terms e, t), and what its multipliers are about."""

    programme: Programme

    def __post_init__(self) -> None:
        allowed, orbit, lines = self.programme.allowed, self.programme.problem.domain.orbit, self.programme.lines
        self.problem = self.programme.problem
        self.primal = self.problem.goal == "leakage"
        self.kept = np.unique(orbit[allowed])
        self.place = np.full(int(orbit.max()) + 1, -1)
        self.place[self.kept] = np.arange(self.kept.size)
        # Laws of lines begin at `laws`, terms of their rows at `starts`; t is last.
        outputs = [line.outputs for line in lines]
        self.laws = np.cumsum([self.kept.size] + [ys.size for ys in outputs])
        rows = [(k, c, np.flatnonzero(allowed[c])) for k, line in enumerate(lines) for c in line.blocks]
        self.starts = np.cumsum([self.laws[-1]] + [ys.size for _, _, ys in rows])
        # The row, the parameter and the place in its law of every term.
        self.row = np.repeat(np.arange(len(rows)), np.diff(self.starts))
        self.parameter = np.concatenate([self.place[orbit[c, ys]] for _, c, ys in rows])
        self.law = np.concatenate([self.laws[k] + np.searchsorted(outputs[k], ys) for k, _, ys in rows])
        # Solvers want numbers near 1: distortions are in units of the constant's.
        self.unit = self.problem.distortion(self.problem.constant()) or 1.0

    @property
    def last(self) -> int:
        """The place of t, the leakage."""
        return int(self.starts[-1])

    def full(self, u: Floats) -> Floats:
        """Parameters of all orbits."""
        whole = np.zeros(self.place.size)
        whole[self.kept] = u
        return whole

    def solve(self, time_limit: float) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Return u, multipliers of the bounds of lines (then of the distortion), log(q/r), multipliers of limits."""
        conic, paid, u = Conic(self.last + 1), self._paid(), np.arange(self.kept.size)
        objective, limits = np.zeros(conic.width), self.problem.limits
        if self.primal:
            objective[self.last] = 1.0
        else:
            objective[u] = paid
        self._sums(conic)
        of_limits, held = np.zeros(0 if limits is None else limits.equal.size), list[tuple[Bools, slice]]()
        if limits is not None:
            held = limits.add(conic, self.kept)
        # Parameters are not below their floor, nor is t below 0.
        conic.at_most(np.full(u.size, 0.0 if limits is None else -limits.floor), (u, u, -1.0))
        conic.at_most(np.zeros(1), (0, np.array([self.last]), -1.0))
        # D(q||r) is at most the leakage, for every row of every line; and the distortion its budget, if any.
        terms, many = np.arange(self.starts[0], self.last), self.starts.size - 1
        if self.primal:
            bounds = conic.at_most(
                np.zeros(many), (self.row, terms, 1.0), (np.arange(many), np.full(many, self.last), -1.0)
            )
            budget = conic.at_most(np.array([self.problem.budget / self.unit]), (0, u, paid))
        else:
            bounds = budget = conic.at_most(np.full(many, self.problem.budget), (self.row, terms, 1.0))
        # e >= q log(q/r).
        at = 3 * np.arange(terms.size)
        cones = conic.entropies(
            np.zeros(3 * terms.size), (at, terms, 1.0), (at + 1, self.parameter, -1.0), (at + 2, self.law, -1.0)
        )
        chosen = self.programme.chosen
        accuracy = chosen.accuracies[terms.size > chosen.large]
        solved = conic.solve(objective, accuracy, time_limit=max(time_limit, 1.0))
        if solved is None:
            return None
        unit = 1.0 if self.primal else self.unit
        for which, rows in held:
            of_limits[which] = unit * solved.z[rows]
        multipliers = unit * solved.z[bounds]
        if self.primal:
            multipliers = np.append(multipliers, solved.z[budget] / self.unit)
        of_cones = solved.z[cones].reshape(-1, 3)
        ratios = of_cones[:, 1] / np.minimum(of_cones[:, 0], -TINY) - 1
        return solved.x[u], multipliers, ratios, of_limits

    def _paid(self) -> Floats:
        """Expected distortion per unit of each parameter: a class with the row of another pays there."""
        allowed, domain = self.programme.allowed, self.problem.domain
        cost = np.zeros(allowed.shape)
        np.add.at(cost, self.programme.block, domain.cost)
        paid = np.bincount(self.place[domain.orbit[allowed]], weights=cost[allowed], minlength=self.kept.size)
        return np.asarray(paid / self.unit)

    def _sums(self, conic: Conic) -> None:
        """Rows of the mechanism, each different one once, and laws r sum to one."""
        blocks = np.unique(self.programme.block)
        places = np.where(self.programme.allowed[blocks], self.place[self.problem.domain.orbit[blocks]], -1)
        places = np.unique(np.sort(places, axis=1), axis=0)
        row, column = np.nonzero(places >= 0)
        conic.equal(np.ones(len(places)), (row, places[row, column], 1.0))
        sizes = np.diff(self.laws)
        conic.equal(np.ones(sizes.size), (np.repeat(np.arange(sizes.size), sizes), np.arange(*self.laws[[0, -1]]), 1.0))


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
