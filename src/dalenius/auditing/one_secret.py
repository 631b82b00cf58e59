"""The audit of one secret: an opening, cheapest bounds first, and then the plan of its class (`portfolio.py`).

The best bracket is kept at every moment. The opening has a stage for each bound that needs no tree, and two for the
lower bound; a stage is tried where its condition holds and the bracket is open.

- reference: knowledge 0 leaves the adversary one prior, and the answer is I there;
- choices: L(0) bounds L(b), and is L(b) on the flat part of the curve (MATH 4.1): a few of them before the ascents, and
  all afterwards where L(b) may be L(0);
- ascents: the lower bound (MATH 3);
- stationary: the contraction certificate with eta = 1, which closes the gap where the multiplier s is above 1, at every
  size (MATH 4.3);
- monotone: the row bound without a tree, where likelihood ratios are monotone (MATH 4.11);
- decoy: one supremum for each output, where rows tell the truth or a decoy (MATH 4.15);
- beside: a release of a sum beside local randomisers of the same bits (MATH 4.12);
- capacity: of the whole channel, where choices were too many, and the constrained capacity (MATH 4.4).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from dalenius.bounds import output_law
from dalenius.bounds.bracket import Bracket
from dalenius.bounds.closing import Formula
from dalenius.bounds.convex import LEAST_S, Convex, Dual, SharedBounds
from dalenius.bounds.decoys.bound import Decoys
from dalenius.bounds.monotone import MonotoneRows, Scan
from dalenius.bounds.trees.choices import Choices, ChoiceSearch, obvious
from dalenius.bounds.unwritten_rows import PointRows
from dalenius.numerics.information import TINY
from dalenius.numerics.types import Floats
from dalenius.reductions.order import Order
from dalenius.search.ascent import SMALL_KNOWLEDGE, ascend, best_of, polish
from dalenius.search.deadline import Deadline

if TYPE_CHECKING:
    from dalenius.bounds.beside import SharedBeside


# The share of the time left that the capacity of very many cells may take.
CAPACITY_SHARE = 0.4
# Entries of the channel for each second of that above which it is not begun. A pass over 2^16 rows of 64 outputs takes
# .2 s; a limit of 1 s ended with the trivial bound, and without an ascent.
CAPACITY_ENTRIES = 6e6
ReportProgress = Callable[[], None]


@dataclass
class WarmStart:
    """What audits of one secret at other b have found: how far L(0) is searched, and the prior of the last."""

    choices: Choices | None = None
    prior: Floats | None = None


@dataclass
class SecretAudit(Bracket):
    """The bracket of one secret, and how far the audit has come."""

    # A bracket on L(0), what an adversary without limits learns.
    unconstrained: tuple[float, float] = field(init=False)
    # With other records of the same audit.
    common: SharedBounds = field(default_factory=SharedBounds)
    warm: WarmStart = field(default_factory=WarmStart)
    # The order of the channel's rows, where their likelihood ratios are monotone.
    order: Order | None = None
    # The channel as truth or decoy, and the b of `recognised`; None where it has no such form.
    decoys: tuple[Decoys, float] | None = None
    # A joint release of a sum and a local randomiser, of which one record is asked about.
    beside: "SharedBeside | None" = None
    # Whether every bound of the plan has done what it can.
    exhausted: bool = False
    # Over very many cells: how many ascents there were, and whether the convex bound is done.
    ascents: int = 0
    convex: bool = False
    choices: Choices | None = field(init=False, default=None)
    # The batches of the plan, still to be worked off.
    _batches: Iterator[None] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.unconstrained = (0.0, self.trivial)

    @property
    def worth_more(self) -> bool:
        return self.cells.knowledge > 0 and self.open

    def open_bracket(self, deadline: Deadline, rng: np.random.Generator) -> None:
        """What the reference leaks, and upper bounds before ascents take their time."""
        self.lower = self.cells.reference_leakage
        self.unconstrained = (self.lower, self.trivial)
        self._run(BEFORE_ASCENTS, deadline, rng)

    def climb(self, deadline: Deadline, rng: np.random.Generator) -> None:
        """Ascents, and upper bounds that begin from what they found."""
        self._run(FROM_ASCENTS_ON, deadline, rng)

    def _run(self, stages: tuple["Stage", ...], deadline: Deadline, rng: np.random.Generator) -> None:
        tried = self.cells.settings.portfolio.bounds
        for stage in stages:
            in_time = stage.in_any_case or not deadline.expired()
            if (stage.bound is None or stage.bound in tried) and in_time and stage.when(self):
                if stage.bound is not None:
                    self.tried[stage.bound] = ""
                stage.run(self, deadline, rng)

    def finish(
        self,
        deadline: Deadline,
        best: float,
        report_progress: ReportProgress,
        batches: float = np.inf,
        until: float = -np.inf,
    ) -> int:
        """Work off the plan until the bracket closes, or the record is proved not to be above `best`.

        Or until its upper bound is at `until`, or after so many batches; another call goes on from there. Returns how
        many batches there were. No clock decides before the time limit does, so that the same audit ends alike on a
        busy machine.
        """
        if self.best > max(best, self.lower):  # leaves were closed that are open now
            self._batches = None
        self.best = best
        if not self.cells.many:
            self.warm.prior = self.pi
        if self._batches is None:
            self.proofs = self.proofs if self.cells.many else [self.proof]
            self._batches = (self._many if self.cells.many else self._few)(deadline, report_progress)
        done = 0
        while done < batches and self.upper > until and not self._done(deadline):
            if next(self._batches, self) is self:
                self.exhausted = True
                break
            done += 1
        return done

    def _done(self, deadline: Deadline) -> bool:
        return not self.open or self.upper <= self.best + self.tolerance or deadline.expired()

    def _few(self, deadline: Deadline, report_progress: ReportProgress) -> Iterator[None]:
        """The plan of the problem's class; trees are loaded where the opening left the bracket open."""
        from dalenius.auditing import portfolio

        yield from portfolio.work(self, deadline, report_progress)

    def _many(self, deadline: Deadline, report_progress: ReportProgress) -> Iterator[None]:
        """Very many cells: grid rows, the convex bound, if there was no time for it, a few more ascents, and all rows.

        The convex bound comes first where it promises to close the bracket, and early where trees are still above it.
        """
        from dalenius.auditing import portfolio
        from dalenius.bounds.trees.grid_rows import GridSearch

        self.convex_of_many(deadline, np.random.default_rng(0), below=self.floor + self.tolerance)
        for batch, _ in enumerate(portfolio.work(self, deadline, report_progress, "many")):
            if batch == self.cells.settings.of(GridSearch).batches:
                self.convex_of_many(deadline, np.random.default_rng(0))
            yield
        self.convex_of_many(deadline, np.random.default_rng(0))
        while self.ascents < self.cells.settings.effort.chunked_ascents:
            yield
            self._ascend_many(deadline, np.random.default_rng(self.ascents))
            report_progress()
        if self.cells.size * self.cells.n_outputs <= self.cells.settings.limits.ascent_entries:
            yield from portfolio.work(self, deadline, report_progress, "many_by_rows")

    # Stages of the opening.

    def at_reference(self, _deadline: Deadline, _rng: np.random.Generator) -> None:
        self.proofs = [Formula("reference", self.lower)]

    def few_choices(self, deadline: Deadline, _rng: np.random.Generator) -> None:
        """The choices as far as they are known from audits at other b; where they are small and may pay, a few more."""
        cells, settings = self.cells, self.cells.settings.of(ChoiceSearch)
        if self.warm.choices is None:
            tolerance = max(settings.tolerance * self.tolerance, settings.finest)
            self.warm.choices = Choices(cells, tolerance)
        self.choices = self.warm.choices
        small = cells.size * cells.n_outputs <= settings.cheap and self.near_flat
        self.choices.run(deadline, self.cells.settings.effort.few_choices if small else 1)
        self.keep_upper(self.choices)
        self.keep_lower(best_of(cells, self.choices.prior[None]))

    @property
    def near_flat(self) -> bool:
        """Whether a good part of what a choice needs is known: D >= -log sum_a max_t rho(a,t) of every choice."""
        cells = self.cells
        heaviest = np.maximum.reduceat(cells.log_rho, cells.starts)
        least = -float(np.logaddexp.reduce(heaviest))
        return cells.knowledge >= cells.settings.of(ChoiceSearch).flat_share * least

    def choices_affordable(self) -> bool:
        """Whether choices are few enough to be searched; without any choice the limit is far higher."""
        cells, settings = self.cells, self.cells.settings
        alone = cells.alone and cells.knowledge >= SMALL_KNOWLEDGE
        most = settings.of(ChoiceSearch).most_alone if alone else settings.of(ChoiceSearch).most
        return cells.size * cells.n_outputs <= most

    def ascend(self, deadline: Deadline, rng: np.random.Generator) -> None:
        starts = (self.choices.prior if self.choices else None, self.warm.prior)
        self.keep_lower(ascend(self.cells, deadline, rng, [pi for pi in starts if pi is not None]))

    def stationary(self, deadline: Deadline, _rng: np.random.Generator) -> None:
        """The contraction certificate with eta = 1, at the best prior found or, where its s is below 1, near s = 1."""
        cells = self.cells
        if self.s > LEAST_S and cells.alone and cells.knowledge < SMALL_KNOWLEDGE:
            self._keep_convex(*output_law.near_reference(cells, self.pi, self.s))
        else:
            self.keep_upper(output_law.steep(cells, self.pi, self.s, deadline))

    def monotone(self, deadline: Deadline, _rng: np.random.Generator) -> None:
        """The row bound near the best prior's output law and multiplier."""
        assert self.order is not None  # for the type checker: the stage's condition
        if self.order.rate is None and self.cells.lumped.channel.min() <= TINY:
            # Chains begin from logarithms of the outermost rows. Where floats are too short for them, only noise that
            # falls by one factor a step leads to the same end: a Gaussian count of 1316 with sigma 5 ended below L.
            return
        closing = self.few_cells and self.cells.size <= self.cells.settings.of(MonotoneRows).closing_cells
        settings = self.cells.settings.of(PointRows)
        # Where a share of the bound is asked for, a verifier is to have as little to repeat as that allows.
        quick = settings.least_allowed <= self.relative < 1 and not closing
        allowed = settings.allowed_goal * self.relative / (1 - self.relative) * self.lower if quick else 0.0
        scan = Scan(self.cells, self.order, deadline, quick=quick, closing=closing)
        found = scan.run(self.pi, self.s, self.lower, max(self.tolerance, allowed))
        if found is not None:
            self.keep_upper(found)

    def truth_or_decoy(self, deadline: Deadline, _rng: np.random.Generator) -> None:
        """The best bound of truth or decoy; what the channel is more than that pays for every value of the secret."""
        from dalenius.bounds.decoys.programme import DecoySearch, best_bound

        assert self.decoys is not None  # for the type checker: the stage's condition
        (channel, missed), cells = self.decoys, self.cells
        rho = np.zeros((cells.n_secrets, channel.own.size))
        rho[cells.secret, cells.lumped.row] = cells.rho
        chosen = cells.settings.of(DecoySearch)
        found = best_bound(channel, rho, cells.knowledge, chosen, deadline.part(0.5 * deadline.left))
        if found is not None:
            self.keep_upper(replace(found, upper=found.upper + missed * float(np.log(cells.n_secrets))))

    def beside_records(self, deadline: Deadline, _rng: np.random.Generator) -> None:
        assert self.beside is not None  # for the type checker: the stage's condition
        found = self.beside.best(self.cells.knowledge, deadline)
        if found is not None:
            self.keep_upper(found)

    def all_choices(self, deadline: Deadline, _rng: np.random.Generator) -> None:
        """Search the choices, all where L(b) may be L(0), and ascend from a new best one."""
        settings, choices = self.cells.settings.effort, self.choices
        assert choices is not None  # for the type checker: the stage's condition
        before, may_be = choices.prior, choices.lower <= self.lower + self.tolerance
        if self.relative > 0 and not may_be:
            # A quick answer is asked for, and a tree will give it.
            return
        choices.run(deadline, settings.all_choices if may_be else settings.few_choices)
        self.keep_upper(choices)
        if self.open and choices.prior is not before:
            self.keep_lower(
                polish(self.cells, choices.prior[None], deadline, rounds=self.cells.settings.of(ChoiceSearch).rounds)
            )

    def note_unconstrained(self, _deadline: Deadline, _rng: np.random.Generator) -> None:
        choices = self.choices
        low, high = (choices.lower, choices.upper) if choices else (obvious(self.cells), self.trivial)
        self.unconstrained = (max(self.lower, low), min(high, self.trivial))

    def capacity(self, deadline: Deadline, _rng: np.random.Generator) -> None:
        """The capacity of the whole channel, where choices were too many; then the constrained one."""
        cells, settings = self.cells, self.cells.settings.of(ChoiceSearch)
        if self.choices is None:
            root = output_law.unconstrained(cells, settings.finest, self.upper, deadline)
            self.keep_upper(root)
            self.unconstrained = (self.unconstrained[0], min(root.upper, self.unconstrained[1]))
        self._keep_convex(*output_law.constrained(cells, deadline))

    def capacity_of_many(self, deadline: Deadline, rng: np.random.Generator) -> None:
        """Very many cells: the constrained capacity, shared by all records; ascents are to have time too."""
        deadline = deadline.part(CAPACITY_SHARE * deadline.left)
        if self.cells.size * self.cells.n_outputs > CAPACITY_ENTRIES * deadline.left:
            return
        if self.cells.n_outputs <= self.cells.settings.portfolio.most_outputs:
            self._keep_convex(*self.common.capacity(self.cells, deadline, rng))
        else:
            self._keep_convex(*output_law.constrained(self.cells, deadline))

    def convex_of_many(self, deadline: Deadline, rng: np.random.Generator, below: float = np.inf) -> None:
        """The convex bound over very many cells, once, where it promises to be below this number."""
        settings = self.cells.settings.portfolio
        if self.cells.n_outputs > settings.most_outputs or "convex" not in settings.bounds:
            return
        if not (self.convex or deadline.expired()):
            x, bound = self.common.convex(self.cells, min(self.upper, below), deadline, rng)
            self.convex = (bound < np.inf or below == np.inf) and not deadline.expired()
            if bound < np.inf:
                self._keep_convex(x, bound)

    def climb_many(self, deadline: Deadline, rng: np.random.Generator) -> None:
        """An ascent over very many cells; the first record of an audit has one, however short the time."""
        if not self.common.climbed or not deadline.expired():
            self.common.climbed = True
            self._ascend_many(deadline, rng)
        self.unconstrained = (self.lower, self.trivial)

    def _ascend_many(self, deadline: Deadline, rng: np.random.Generator) -> None:
        self.keep_lower(ascend(self.cells, deadline, rng, [self.pi] if self.ascents else []))
        self.ascents += 1

    def _keep_convex(self, x: Dual, bound: float) -> None:
        self.keep_upper(Convex(bound, x))


@dataclass(frozen=True)
class Stage:
    """A step of the opening: when it is tried, and by what name the portfolio knows its bound."""

    when: Callable[[SecretAudit], bool]
    run: Callable[[SecretAudit, Deadline, np.random.Generator], None]
    # None: no bound that a portfolio could leave out.
    bound: str | None = None
    # Even where the time is over: no answer is without it.
    in_any_case: bool = False


def _ordered(audit: SecretAudit) -> bool:
    least = audit.cells.settings.of(MonotoneRows).least_s
    return audit.worth_more and not audit.cells.many and audit.order is not None and audit.s > least


def _wide_and_many(audit: SecretAudit) -> bool:
    """Very many cells and no grid rows, which are the better bound and need the best prior first."""
    if not audit.cells.many:
        return False
    from dalenius.auditing import portfolio

    return audit.worth_more and not portfolio.has_grid(audit)


def _large(audit: SecretAudit) -> bool:
    return audit.worth_more and not audit.cells.many and not audit.few_cells


BEFORE_ASCENTS = (
    Stage(lambda audit: audit.cells.knowledge <= 0, SecretAudit.at_reference, in_any_case=True),
    Stage(
        lambda audit: audit.cells.many and audit.worth_more,
        SecretAudit.capacity_of_many,
        "capacity",
        in_any_case=True,
    ),
    Stage(_wide_and_many, SecretAudit.convex_of_many, "convex"),
    Stage(lambda audit: not audit.cells.many and audit.choices_affordable(), SecretAudit.few_choices, "choices"),
    # Ascents on so many rows take seconds, and this bound does not need them.
    Stage(lambda audit: audit.worth_more and audit.beside is not None, SecretAudit.beside_records, "beside"),
)
FROM_ASCENTS_ON = (
    Stage(lambda audit: audit.cells.many and audit.worth_more, SecretAudit.climb_many, in_any_case=True),
    Stage(lambda audit: not audit.cells.many and audit.worth_more, SecretAudit.ascend),
    Stage(lambda audit: not audit.cells.many and audit.worth_more, SecretAudit.stationary, "stationary"),
    Stage(_ordered, SecretAudit.monotone, "monotone"),
    Stage(lambda audit: audit.worth_more and audit.decoys is not None, SecretAudit.truth_or_decoy, "decoy"),
    Stage(lambda audit: audit.worth_more and audit.choices is not None, SecretAudit.all_choices, "choices"),
    Stage(lambda audit: not audit.cells.many, SecretAudit.note_unconstrained),
    Stage(_large, SecretAudit.capacity, "capacity"),
)
