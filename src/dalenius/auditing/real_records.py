"""Audits of real-valued records: through whole numbers on grids, coarse before fine, and back."""

import functools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from dalenius.auditing.all_records import by_records
from dalenius.auditing.independent_records import independent_records
from dalenius.bounds.unwritten_rows import PointRows
from dalenius.certificates.audits import Found
from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model.channels.density import Density, decimal
from dalenius.model.channels.real_records import RealRecords
from dalenius.model.prior import Prior
from dalenius.model.problem import Adversary, AuditProblem
from dalenius.model.reference import Reference
from dalenius.model.secret import Attributes, Bins
from dalenius.reductions.real_records import ROUNDED, Whole, above, below, moving, rounded_together
from dalenius.search.deadline import Deadline
from dalenius.settings import Part, only

# Cells that the edges of a density may need; where they need more, cells are cut by edges.
MOST_STEPS = 200
# Grids from this many cells on are halved for the bound from below of a bin, which loses a quarter as much.
HALVED = 128
# Cells of the problem on a grid x its outputs: some seconds of an audit, and as much memory as a check may take.
MOST_ENTRIES = 2**22
# Sums that are never written out: cells of a record, so many over the number of records but within these two. With
# 50 records 64 and 96 cells are alike; 200 lose more between points with 48 cells than 32 hide.
UNWRITTEN_SUM = 3200
UNWRITTEN_CELLS = 80
LEAST_UNWRITTEN = 32
# Records up to which Gaussian noise is written out as well: it has no monotone rows on points.
MOST_WRITTEN = 50
# Answers of a sum at most, from below: 1,000 records in 96 cells take some seconds.
MOST_ANSWERS = 10**5
# Bits of the powers of generating functions by which sums of records that are rounded as one are compared with sums
# of rounded ones: a second at 200 records and 64 cells, 10 s at the limit.
MOST_BITS = 2**28


@dataclass(frozen=True, kw_only=True)
class RealRecordSearch(Part):
    """Real-valued records through whole numbers on grids, coarse before fine."""

    # Numbers of cells of the range of a record. What a grid hides falls with their square: one record with Laplace
    # noise of scale 1 has brackets of width 2e-3 with 32 cells, 2e-4 with 128 and 2e-5 with 512, checked in 2 s.
    cells: tuple[int, ...] = (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


# Bounds with one law r and one s for all values of a record: they hold for real-valued records, and others do not.
ONE_POINT = ("stationary", "monotone", "capacity", "formulas", "convex", "rows")
KINDS = ("sibson", "convex", "rows", "monotone", "law")
ONE_LEAF = ("choices",)


@dataclass(frozen=True, eq=False)
class _Question:
    """The question about real-valued records; n is the number of them that matter."""

    problem: AuditProblem
    seed: int
    mechanism: RealRecords
    density: Density
    n: int

    @property
    def bins(self) -> Bins | None:
        return self.problem.secret if isinstance(self.problem.secret, Bins) else None

    @property
    def places(self) -> list[Fraction]:
        """Where the edges of the bins are, as shares of their range."""
        edges = [decimal(e) for e in self.bins.edges] if self.bins is not None else []
        return [(e - edges[0]) / (edges[-1] - edges[0]) for e in edges]

    def about(self, whole: Whole) -> Attributes | None:
        """Return the bin as a function of the cells of a record; None where every record is the secret."""
        if self.bins is None:
            return None
        # Cells that the mechanism rounds to end half a step above their points.
        rounded = self.mechanism.steps is not None
        ends = [place * whole.cells + Fraction(rounded, 2) for place in self.places[1:]]
        labels = [sum(c >= end for end in ends[:-1]) for c in range(whole.cells + rounded)]
        return Attributes(np.array(labels), self.bins.names, (0,), (self.bins.words,))

    @property
    def exact(self) -> bool:
        """Whether the prior, or what the others follow, is the density itself."""
        adversary = self.problem.adversary
        follows = adversary.unlimited and not self.density.uniform
        return follows or adversary.knowledge == 0

    @property
    def points(self) -> bool:
        """Whether every prior with independent records is allowed, those on grid points too."""
        return self.problem.adversary.unlimited and self.density.uniform

    @property
    def step(self) -> int:
        """Cells that the edges of the density need, if they are not too many: grids have multiples of it."""
        if self.mechanism.steps is not None:
            self._check_bins(self.mechanism.steps)
            return self.mechanism.steps
        return math.lcm(self.density.steps(MOST_STEPS), self._bin_steps())

    def _bin_steps(self) -> int:
        """Number of cells that the bins need, so that none of their edges cuts a cell."""
        if self.bins is None:
            return 1
        needed = math.lcm(*(place.denominator for place in self.places))
        if needed > MOST_STEPS:
            refuse(
                f"the edges of {self.bins.words} need {needed} cells of equal width, above the limit of {MOST_STEPS}; "
                "use edges on a coarser grid"
            )
        return needed

    def _check_bins(self, steps: int) -> None:
        """Refuse bins that cut what a mechanism rounds to one point."""
        if self.bins is None:
            return
        edges = self.bins.edges
        for e, share in zip(edges[1:-1], self.places[1:-1], strict=True):
            place = share * steps * 2
            if place.denominator != 1 or place % 2 == 0:
                step = (edges[-1] - edges[0]) / steps
                near = edges[0] + step * (math.floor(place / 2) + 0.5)
                refuse(
                    f"edge {e:g} of the secret cuts the numbers that are rounded to one step of {step:g}; use edges "
                    f"half a step away from one, such as {near:g}"
                )

    @property
    def markov(self) -> bool:
        """Whether a record acts through its own grid point alone, so that every proof on the grid holds for it."""
        return self.n == 1 or self.problem.adversary.kind == "independent" or self.exact

    def adversary(self, whole: Whole, *, from_above: bool) -> Adversary:
        """Return the adversary on the grid: its knowledge makes up for the rounding of the law."""
        adversary, records = self.problem.adversary, whole.mechanism.records
        law = Reference((whole.stated,))
        if adversary.unlimited:
            return Adversary.independent(records, None, "nats", law if self.exact else Reference())
        low, high = whole.ratios
        known = adversary.knowledge
        more = whole.together or 0.0
        if not self.exact and (low < high or more):
            # The ratios may differ from one by less than a float can hold.
            extra = more + self.n * math.log1p(float((high if from_above else low) - 1))
            known = known + extra * (1 + ROUNDED) + (1e-18 + known * 1e-15) * (1 if from_above else -1)
            if known < 0:
                refuse("the density of the reference is too uneven for this little knowledge")
        if adversary.kind == "independent":
            return Adversary.independent(records, known, "nats", law)
        return Adversary.from_user(records, knowledge=known, reference=law)

    def above(self, m: int) -> Whole:
        """Return grid points; the sum of the other records is rounded as a whole where less gets lost that way."""
        each = functools.partial(above, self.mechanism, self.density, m, self.n)
        # For independent records of limited knowledge there is no such rounding.
        if self.problem.adversary.kind == "independent" and not self.problem.adversary.unlimited:
            return each()
        if self.mechanism.steps is not None:
            return each()
        together = rounded_together(self.density, m, self.n, MOST_BITS)
        if together is None:
            return each()
        one = each(together)
        try:
            apart = each()
        except InputError:
            return one
        return one if one.margin + together < apart.margin else apart

    def audit(
        self, whole: Whole, deadline: Deadline, *, from_above: bool, about: Attributes | None = None
    ) -> tuple[Found, dict[str, Any]]:
        """Audit whole numbers, from below without a search for upper bounds; and the certificate about them."""
        settings = self.problem.settings
        tolerance = max(0.25 * self.problem.tolerance, 0.1 * whole.margin)
        if not from_above:
            settings = replace(settings, portfolio=only())
        elif not (self.markov or about is not None):
            rows = replace(settings.of(PointRows), counts_values=False)
            settings = replace(settings.having(rows), portfolio=only(*ONE_POINT))
        adversary = self.adversary(whole, from_above=from_above)
        problem = AuditProblem(whole.mechanism, adversary, about, tolerance, settings)
        independent = adversary.kind == "independent"
        found = independent_records(problem, deadline) if independent else by_records(problem, deadline, self.seed)
        return found, found.certificate(problem)


@dataclass(frozen=True, eq=False)
class _Bound:
    """A bound for real-valued records, in nats, with its part of the certificate."""

    value: float
    data: dict[str, Any]
    # The prior of a lower bound that a grid gave.
    prior: Prior | None = None


def real_records(problem: AuditProblem, deadline: Deadline, seed: int) -> Found:
    """Return the bracket of the real-valued record.

    Grids are refined until what rounding to them hides is within the tolerance, or until they are as fine as the
    settings allow. The best lower and the best upper bound count, each with its own grid.
    """
    mechanism = cast("RealRecords", problem.mechanism)
    density = cast("Density", problem.reference)
    known = not problem.adversary.unlimited or not density.uniform
    question = _Question(problem, seed, mechanism, density, mechanism.n if known else 1)
    if question.bins is not None and problem.adversary.kind == "independent":
        refuse(f'adversary="independent" audits single records, not {question.bins.words}; give the index of a record')
    most = mechanism.log_maximal(question.n) + ROUNDED
    lower, upper = _Bound(0.0, {}), _Bound(most, {"kind": "maximal", "upper": most})
    if question.bins is not None:
        values = math.log(len(question.bins.names)) + ROUNDED
        upper = min(upper, _Bound(values, {"kind": "trivial", "upper": values}), key=lambda bound: bound.value)
    grids = _grids(question)
    for k, m in enumerate(grids):
        part = deadline.part(deadline.left / (len(grids) - k))
        if k == 0 or question.bins is not None:
            c = _cells_below(question, m if question.bins is not None else grids[-1])
            lower = max(lower, _from_below(question, c, part), key=lambda bound: (bound.value, bound.prior is not None))
        snaps = question.bins is not None and mechanism.steps is None
        tried = [_from_above(question, m, part), *([_snapped(question, m, part)] if snaps else [])]
        upper = min(upper, *tried, key=lambda bound: bound.value)
        deadline.nodes += part.nodes
        if problem.closed(lower.value, upper.value) or deadline.expired():
            break
    return _found(question, lower, upper)


def _grids(question: _Question) -> list[int]:
    """Return numbers of cells, coarse before fine: multiples of what the edges of the density need, if they fit."""
    cells, n = question.problem.settings.of(RealRecordSearch).cells, question.n
    step = question.step
    if question.mechanism.steps is not None:
        return [step]
    # Discrete Gaussian noise reaches 7.5 deviations beyond both ends.
    tails = 0 if question.mechanism.laplace else math.ceil(15 * float(question.mechanism.exact))
    found: list[int] = []
    for target in cells:
        m = step * math.ceil(target / step)
        if (m + 1) * ((n - 1) * m + 1) * (n * m + 1 + tails * m) > MOST_ENTRIES and found:
            break
        found.append(m)
        if _hidden(question, m) <= 0.5 * question.problem.tolerance:
            break
    # A first look, and the finest.
    listed = found if len(found) <= 1 else [found[0], found[-1]]
    # Sums that are never written out have finer grids; monotone rows on points are for Laplace noise.
    m = step * math.ceil(min(UNWRITTEN_CELLS, max(UNWRITTEN_SUM / n, LEAST_UNWRITTEN)) / step)
    if question.bins is not None or (n * m + 1) ** 2 <= checks.MOST_ENTRIES:
        return listed
    few = n <= MOST_WRITTEN and not question.mechanism.laplace
    return [listed[0], m] if few else [m]


def _cells_below(question: _Question, m: int) -> int:
    """Return how many cells the grid of the lower bound has, beside m of the upper: to hide a quarter as much."""
    cells, step, n = question.problem.settings.of(RealRecordSearch).cells, question.step, question.n
    if question.mechanism.steps is not None:
        return m
    if question.bins is not None or question.density.uneven(step):
        return max(step, m // 2 // step * step) if m >= HALVED else m
    try:
        hidden = question.above(m).margin / 4
    except InputError:
        return m
    if not question.mechanism.laplace:
        # Rounding hides as much of one record as before.
        return max(step, m // 2 // step * step) if m >= HALVED else m
    # n (rate/c)^2 / 24 <= hidden
    needed = float(question.mechanism.exact) * math.sqrt(n / 24 / hidden) if hidden > 0 else m
    most = min(cells[-1], MOST_ANSWERS // n)
    return step * max(1, math.floor(min(max(needed, cells[0]), most) / step))


def _hidden(question: _Question, m: int) -> float:
    """By how much a grid of m cells widens the bracket."""
    try:
        if question.bins is not None:
            return moving(question.mechanism, m, question.n)
        return 1.25 * question.above(m).margin
    except InputError:
        return math.inf


def _from_below(question: _Question, m: int, deadline: Deadline) -> _Bound:
    try:
        whole = below(question.mechanism, question.density, m, question.n, points=question.points)
        found, certificate = question.audit(whole, deadline, from_above=False, about=question.about(whole))
    except InputError:
        return _Bound(0.0, {})
    value = whole.lower(found.lower, question.n, exact=question.exact)
    return _Bound(value, {"cells": m, "audit": certificate}, found.prior)


def _from_above(question: _Question, m: int, deadline: Deadline) -> _Bound:
    nothing = _Bound(math.inf, {})
    try:
        whole = question.above(m)
        # Rounded to steps, a bin is a function of whole numbers; else a bound on the record is one on its bin.
        about = None if question.mechanism.steps is None else question.about(whole)
        found, certificate = question.audit(whole, deadline, from_above=True, about=about)
    except InputError:
        return nothing
    if not (question.markov or about is not None or all(_one_point(proof) for _, proof in found.proofs)):
        return nothing
    value = whole.upper(found.upper, question.n, exact=question.exact)
    how = {"spread": whole.spread, "together": None if whole.together is None else True}
    return _above("rounded" if question.mechanism.steps is None else "stepped", value, m, how, certificate)


def _snapped(question: _Question, m: int, deadline: Deadline) -> _Bound:
    """A bound on the leakage about a bin, by moving records to the middles of their cells."""
    try:
        whole = above(question.mechanism, question.density, m, question.n, middles=True)
        found, certificate = question.audit(whole, deadline, from_above=True, about=question.about(whole))
    except InputError:
        return _Bound(math.inf, {})
    value = whole.upper(found.upper, question.n, exact=question.exact) + moving(question.mechanism, m, question.n)
    return _above("snapped", value, m, {"spread": whole.spread}, certificate)


def _above(kind: str, upper: float, cells: int, how: dict[str, Any], certificate: dict[str, Any]) -> _Bound:
    """An upper bound with its proof: the step, and the audit on the grid that it leads to."""
    stated = {key: x for key, x in how.items() if x is not None}
    return _Bound(upper, {"kind": kind, "upper": upper, "cells": cells, **stated, "audit": certificate})


def _one_point(proof: dict[str, Any]) -> bool:
    """Whether a proof on the grid holds for real-valued records too."""
    # Repaired rows charge log|A| for a lost share; grids and windows are about the values of the grid.
    steps = {step["step"] for step in proof.get("steps", ())}
    return (proof["kind"] in KINDS and steps <= {"points"}) or (proof["kind"] in ONE_LEAF and len(proof["tree"]) == 1)


def _found(question: _Question, lower: _Bound, upper: _Bound) -> Found:
    problem, mechanism = question.problem, question.mechanism
    if lower.prior is None:
        refuse(
            f"{mechanism.name} of {mechanism.query} is too much for a grid: the noise is less than a cell of the "
            "finest one; use more noise or fewer records"
            if mechanism.steps is None
            else f"{mechanism.name} of {mechanism.query} has too many sums of {mechanism.steps} steps a record; use a "
            "larger step or fewer records"
        )
    record = problem.secret if isinstance(problem.secret, int) else None if question.bins is not None else 0
    low, high = min(lower.value, upper.value), upper.value
    members = range(mechanism.n) if problem.secret is None else (record,)
    witness = {"kind": "cells", **lower.data}
    return Found(
        low,
        high,
        lower.prior,
        record,
        witness,
        ((0, upper.data),),
        ((members, low, high),),
        upper.data["kind"],
    )
