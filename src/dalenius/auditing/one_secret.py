"""One record's bracket: which bounds are tried, in which order, and when to stop.

Cheapest first; the best bracket is kept at every moment:

1. trivial: log|A|, log|Y|;
2. maximal: knowledge plus what a row tells at most under the reference (MATH 4.8);
   reference: knowledge 0 leaves the adversary one prior, and the answer is I there;
3. choices: L(0) bounds L(b), and is L(b) on the flat part of the curve (MATH 4.1): a few of them, and after stage 4 all
   where L(b) may be L(0);
4. the lower bound by many ascents (MATH 3), and the contraction certificate with eta = 1 at a stationary prior,
   which closes the gap where the multiplier s is above 1, at every size (MATH 4.3);
5. Sibson's information of the best order (MATH 4.8); the capacity of the whole channel, where choices were too many;
   the convex bound, a tree of one node (MATH 4.4; where s > eta it is the contraction certificate 4.3 and closes the
   gap by itself), of many outputs the constrained capacity, which is the simplest of its kind;
6. branch and bound, several trees in turns of growing length: posteriors (MATH 4.10), best for binary secrets;
   simplices of conditionals (MATH 4.7), where rows have few cells; and boxes of output laws (MATH 4.5, 4.6). Outputs
   are first as coarse as contraction allows at the multiplier s of the best prior, then finer where a tree
   stalls. Where a record has a few cells only, simplices come before stage 5. Relaxed priors of bad nodes start new
   ascents.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dalenius.bounds import stationary, whole
from dalenius.bounds.box_bound import BoxProblem
from dalenius.bounds.box_tree import BoxTree
from dalenius.bounds.choices import MOST_NODES, Choices, obvious
from dalenius.bounds.closed_forms import AtReference, Maximal, Sibson, Trivial
from dalenius.bounds.contraction import affordable, coarsen, coarsen_together, coefficient
from dalenius.bounds.convex_bound import Dual, SharedBounds
from dalenius.bounds.posterior_bound import PosteriorProblem
from dalenius.bounds.posterior_tree import PosteriorTree
from dalenius.bounds.proof import Proof
from dalenius.bounds.rows import LEAST_S as LEAST_ROW_S
from dalenius.bounds.rows import Rows
from dalenius.bounds.simplex_bound import SimplexProblem
from dalenius.bounds.simplex_tree import SimplexTree
from dalenius.reductions.cells import Cells, Floats
from dalenius.search import ascent_chunked
from dalenius.search.ascent import SMALL_KNOWLEDGE, Ascent, ascend, best_of, polish
from dalenius.search.deadline import Deadline

ReportProgress = Callable[[], None]
FEW_NODES = 64  # of choices, where L(b) is not known to be L(0)
FINEST = 1e-10  # tolerance of choices: finer is lost in rounding
MOST_OUTPUTS = 400  # beyond it a Newton step over all outputs is too dear
SMALL = 2**12  # cells x outputs up to which a few choices cost less than an ascent
LARGE = 200_000  # cells x outputs beyond which choices are not searched
LARGE_ALONE = 2**24  # the same where every secret value has one cell, and there is nothing to choose
NEARLY = 1e-5  # an audit this close may stop once progress is slow
SLOW_BATCHES = 100  # in which the gap must shrink by a fifth, else progress is slow: some ten seconds
MOST_VERTICES = 40  # cells beyond which a node of simplices, a matrix over cells, is too dear
WORTHWHILE = 0.5  # of the gap that a row bound must promise to leave at most
TURN = 2  # batches of boxes in the first turn
FEW_OUTPUTS = 24  # up to so many outputs a batch of rows is cheap
SIMPLE = 9  # up to so many cells simplices come before all else
SELDOM = (4, 16, 64, 256)  # batches after which they are worth ascents from relaxed priors
FEW_VERTICES = 16  # up to so many cells a batch of simplices is cheap
MANY_BATCHES, SOME_BATCHES = 32, 8  # of simplices in the first turn, where they are cheap and where not
POSTERIOR_SHARES = (0.55, 0.3, 0.0)
MOST_POSTERIORS = 256  # beyond it a Newton step over all posteriors is too dear
NARROW = 0.8  # outputs for each dimension of the conditionals up to which posteriors are the better tree
STALL_BATCHES = 16  # batches in which a search must gain a fifth of its gap, where a finer problem follows
LEAST_S = 1e-3
MOST_ASCENTS = 3  # of a record, each from a new sample, where there are very many cells
ROUNDED = 1e-9  # outputs whose columns are proportional but for rounding contract at most this much


Tree = BoxTree | SimplexTree | PosteriorTree


@dataclass
class Route:
    """A way to a better bound, batch by batch, and how many batches its next turn has."""

    bounds: Iterator[float]
    batches: int
    favoured: bool = True
    upper: float = np.inf

    def advance(self) -> bool:
        """Work off one batch; whether there was any left."""
        bound = next(self.bounds, None)
        self.upper = self.upper if bound is None else bound
        return bound is not None


@dataclass
class WarmStart:
    """What audits of one secret at other b have found: how far L(0) is searched, and the prior of the last."""

    choices: Choices | None = None
    prior: Floats | None = None


@dataclass
class SecretAudit:
    """The state of one record's audit; numbers in nats."""

    cells: Cells
    trivial: float
    tolerance: float
    lower: float = 0.0
    pi: Floats = field(init=False)
    s: float = 0.0
    exact_cells: bool = True  # whether the verifier will find the same cells: simplices need them
    proofs: list[Proof] = field(init=False)  # the best of earlier stages, and trees that still grow
    unconstrained: tuple[float, float] = field(init=False)  # bracket on L(0)
    common: SharedBounds = field(default_factory=SharedBounds)  # with other records of the same audit
    known: WarmStart = field(default_factory=WarmStart)
    ascents: int = 0  # over very many cells
    convex: bool = False  # whether their convex bound is done
    best: float = field(init=False, default=-np.inf)  # what another record leaks: below it nothing need be closed
    _choices: Choices | None = field(init=False, default=None)
    _batches: Iterator[None] | None = field(init=False, default=None)  # of stages 5 and 6, still to be worked off

    def __post_init__(self) -> None:
        self.pi = self.cells.rho
        self.proofs = [Trivial(self.trivial)]
        self.unconstrained = (0.0, self.trivial)

    @property
    def proof(self) -> Proof:
        """The best proof so far."""
        return min(self.proofs, key=lambda proof: proof.upper)

    @property
    def upper(self) -> float:
        """The best upper bound so far."""
        return self.proof.upper

    @property
    def gap(self) -> float:
        """How far the bracket is open."""
        return self.upper - self.lower

    def begin(self, deadline: Deadline, rng: np.random.Generator) -> None:
        """Stages 1 to 4, and of 5 the constrained capacity of the whole channel: cheap at every size."""
        self.open(deadline, rng)
        self.climb(deadline, rng)

    def open(self, deadline: Deadline, rng: np.random.Generator) -> None:
        """Stages 1 to 3, of very many cells also the convex bound: an upper bound before ascents take their time."""
        cells = self.cells
        at_reference = float(cells.leakage(cells.rho[None])[0])
        self.lower = at_reference
        self.unconstrained = (self.lower, self.trivial)
        if not cells.many or cells.size > len(cells.lumped.channel):  # else no two cells share a row
            self.keep_upper(Maximal.of(cells))
        if cells.knowledge <= 0:
            self.proofs = [AtReference(at_reference)]
        if cells.many:
            self._open_many(deadline, rng)
            return
        if deadline.expired():
            return
        alone = cells.size == cells.n_secrets and cells.knowledge >= SMALL_KNOWLEDGE
        if cells.size * cells.n_outputs <= (LARGE_ALONE if alone else LARGE):
            self._choices = self._first_choices(deadline)
            self.keep_upper(self._choices)
            self.keep_lower(best_of(cells, self._choices.prior[None]))

    def climb(self, deadline: Deadline, rng: np.random.Generator) -> None:
        """Stage 4, all choices where L(b) may be L(0), and the constrained capacity."""
        cells, choices = self.cells, self._choices
        if cells.many:
            self._climb_many(deadline, rng)
            return
        if deadline.expired():
            return
        if cells.knowledge > 0 and self.gap > self.tolerance:
            starts = [pi for pi in (choices.prior if choices else None, self.known.prior) if pi is not None]
            self.keep_lower(ascend(cells, deadline, rng, starts))
            self.keep_upper(self._stationary(deadline))
            if choices and self.gap > self.tolerance:  # L(0) by itself is not worth a search
                self.search_choices(choices, deadline)
        if choices:
            self.unconstrained = (choices.lower, min(choices.upper, self.trivial))
        else:
            self.unconstrained = (obvious(cells), self.trivial)
        self.unconstrained = (max(self.lower, self.unconstrained[0]), self.unconstrained[1])
        if cells.knowledge <= 0 or self.gap <= self.tolerance or self._simple:
            return
        self.keep_upper(Sibson.of(cells))
        if choices is None:
            root = whole.unconstrained(cells, FINEST, self.upper, deadline)
            self.keep_upper(root)
            self.unconstrained = (self.unconstrained[0], min(root.upper, self.unconstrained[1]))
        if cells.n_outputs > MOST_OUTPUTS:
            self.keep_convex(*whole.constrained(cells, deadline))
        else:
            capacity = self._search(
                [[0] * cells.n_outputs] * cells.n_secrets, np.ones(cells.n_secrets), np.zeros(cells.n_secrets)
            )
            capacity.open_root(deadline)
            self.keep_upper(capacity)

    @property
    def _flat(self) -> bool:
        """Whether rows have more cells than there are outputs."""
        return bool(np.bincount(self.cells.secret).max() > self.cells.n_outputs)

    @property
    def _simple(self) -> bool:
        """Whether simplices are so small that they come before all else."""
        return self.exact_cells and self.cells.size <= SIMPLE

    def _open_many(self, deadline: Deadline, rng: np.random.Generator) -> None:
        """Very many cells: the constrained capacity, shared by all records, and the convex bound."""
        cells = self.cells
        if cells.knowledge <= 0 or self.gap <= self.tolerance:
            return
        if cells.n_outputs <= MOST_OUTPUTS:
            self.keep_convex(*self.common.capacity(cells, deadline, rng))
        else:
            self.keep_convex(*whole.constrained(cells, deadline))
        self._convex(deadline, rng)

    def _climb_many(self, deadline: Deadline, rng: np.random.Generator) -> None:
        """An ascent over very many cells; the first record of an audit has one, however short the time."""
        if self.cells.knowledge <= 0 or self.gap <= self.tolerance:
            return
        if not self.common.climbed or not deadline.expired():
            self.common.climbed = True
            self._ascend_many(deadline, rng)
        self.unconstrained = (self.lower, self.trivial)

    def _convex(self, deadline: Deadline, rng: np.random.Generator) -> None:
        """The convex bound over very many cells, once."""
        if not (self.convex or deadline.expired() or self.cells.n_outputs > MOST_OUTPUTS):
            self.keep_convex(*self.common.convex(self.cells, self.upper, deadline, rng))
            self.convex = not deadline.expired()

    def _ascend_many(self, deadline: Deadline, rng: np.random.Generator) -> None:
        if self.cells.knowledge < SMALL_KNOWLEDGE:
            self.keep_lower(ascend(self.cells, deadline, rng))
        else:
            known = Ascent(self.pi, self.lower, self.s) if self.ascents else None
            self.keep_lower(ascent_chunked.ascend(self.cells, deadline, rng, known))
        self.ascents += 1

    def keep_convex(self, x: Dual, bound: float) -> None:
        problem = x.problem(self.cells)
        search = BoxTree(problem, self.lower, self.tolerance, x.s)
        search.close_at(bound, x.point(problem))
        self.keep_upper(search)

    def _first_choices(self, deadline: Deadline) -> Choices:
        """The choices as far as they are known from audits at other b; where they are small, a few are searched."""
        if self.known.choices is None:
            self.known.choices = Choices(self.cells, max(0.3 * self.tolerance, FINEST))
        small = self.cells.size * self.cells.n_outputs <= SMALL
        self.known.choices.run(deadline, FEW_NODES if small else 1)
        return self.known.choices

    def search_choices(self, choices: Choices, deadline: Deadline) -> None:
        """Search the choices, all where L(b) may be L(0), and ascend from a new best one."""
        before = choices.prior
        choices.run(deadline, MOST_NODES if choices.lower <= self.lower + self.tolerance else FEW_NODES)
        self.keep_upper(choices)
        if self.gap > self.tolerance and choices.prior is not before:
            self.keep_lower(polish(self.cells, choices.prior[None], deadline, rounds=400))

    def keep_lower(self, found: Ascent) -> None:
        """Keep a better prior."""
        if found.value > self.lower:
            self.lower, self.pi, self.s = found.value, found.pi, found.s

    def finish(self, deadline: Deadline, best: float, report_progress: ReportProgress, batches: float = np.inf) -> int:
        """Stages 5 and 6, until the bracket closes, or the record is proved not to be above `best`.

        At most so many batches; another call goes on from there. Returns how many there were. No clock decides
        before the time limit does, so that the same audit ends alike on a busy machine.
        """
        if self.best > max(best, self.lower):  # leaves were closed that are open now
            self._batches = None
        self.best = best
        if not self.cells.many:
            self.known.prior = self.pi
        if self._batches is None:
            self._batches = (
                self._many(deadline, report_progress) if self.cells.many else self._stages(deadline, report_progress)
            )
        done = 0
        while done < batches and not self._done(deadline) and next(self._batches, self) is None:
            done += 1
        return done

    def _stages(self, deadline: Deadline, report_progress: ReportProgress) -> Iterator[None]:
        """Stages 5 and 6, batch by batch."""
        if self.cells.n_outputs > MOST_OUTPUTS:
            return
        self.proofs = [self.proof]
        pairs = affordable(self.cells)
        eta = np.array([coefficient(self.cells.q[part]) if pairs else 1.0 for part in self.cells.slices])
        convex = Route(self._whole(eta, deadline, report_progress), TURN)
        if not self._simple:
            yield from self._take_turns([convex])
        problems = [] if self._simple else list(self._posterior_frames())
        binary = self.cells.n_secrets == 2 and bool(problems)  # noqa: PLR2004 - one posterior per group
        narrow = binary and problems[0].n_groups <= NARROW * (self.cells.size - self.cells.n_secrets)
        few = self.cells.n_outputs <= FEW_OUTPUTS
        flat = self._flat and not self._simple
        rows = Route(self._rows(deadline, report_progress), MANY_BATCHES if few else TURN)
        posteriors = self._posteriors(problems or self._posterior_frames(), deadline, report_progress)
        boxes = self._boxes(deadline, report_progress)
        routes = [
            Route(posteriors, 2 * SOME_BATCHES if narrow else TURN, favoured=narrow),
            Route(boxes, SOME_BATCHES if flat else TURN, favoured=flat and not narrow),
        ]
        if self.exact_cells and self.cells.size <= MOST_VERTICES:
            search = SimplexTree(SimplexProblem(self.cells, eta), self.lower, self.tolerance)
            cheap = self.cells.size <= FEW_VERTICES and not (flat or narrow)
            batches = MANY_BATCHES if cheap else SOME_BATCHES
            routes.append(Route(self.run_tree(search, deadline, report_progress), batches, favoured=not flat))
        routes.sort(key=lambda route: not route.favoured)
        routes = [routes[0], convex, rows, *routes[1:]] if self._simple else [rows, *routes]
        yield from self._take_turns(routes)

    def _whole(self, eta: Floats, deadline: Deadline, report_progress: ReportProgress) -> Iterator[float]:
        """The convex bound: all outputs in one group."""
        together = [[0] * self.cells.n_outputs] * self.cells.n_secrets
        search = self._search(together, eta, np.minimum(1.0, 0.9 * max(self.s, LEAST_S) / eta))
        yield from self.run_tree(search, deadline, report_progress)

    def _many(self, deadline: Deadline, report_progress: ReportProgress) -> Iterator[None]:
        """Very many cells: the convex bound, if there was no time for it, and a few more ascents."""
        self._convex(deadline, np.random.default_rng(0))
        while self.ascents < MOST_ASCENTS:
            yield
            self._ascend_many(deadline, np.random.default_rng(self.ascents))
            report_progress()

    def _done(self, deadline: Deadline) -> bool:
        return self.gap <= self.tolerance or self.upper <= self.best + self.tolerance or deadline.expired()

    def _take_turns(self, routes: list[Route]) -> Iterator[None]:
        """Advance each route by batches in turn, until exhausted, or nearly closed and slow.

        The turns of favoured routes grow, and of the one whose bound is best; others keep theirs, for their time may
        come. Favoured are posteriors of a binary secret, if their dimensions are fewer than those of the conditionals;
        otherwise boxes where rows have more cells than outputs, and simplices where not.
        """
        mark, since = self.gap, 0
        while routes:
            for route in list(routes):
                for _ in range(route.batches):
                    yield
                    if self.gap < 0.8 * mark:
                        mark, since = self.gap, 0
                    if self.gap <= NEARLY and since > SLOW_BATCHES:
                        return
                    since += 1
                    if not route.advance():
                        routes.remove(route)
                        break
            best_route = min(routes, key=lambda route: route.upper, default=None)
            for route in routes:
                route.batches *= 2 if route.favoured or route is best_route else 1

    def _boxes(self, deadline: Deadline, report_progress: ReportProgress) -> Iterator[float]:
        """The problems of boxes, a finer one after each that stalls."""
        seen: list[list[list[int]]] = []
        for share in (0.9, 0.45, 0.0):
            groups, etas = coarsen(self.cells, max(share * max(self.s, LEAST_S), ROUNDED))
            if groups not in seen and max(map(max, groups)) > 0:
                seen.append(groups)
                search = self._search(groups, etas, np.ones(self.cells.n_secrets))
                yield from self.run_tree(search, deadline, report_progress, finer=bool((etas > ROUNDED).any()))

    def _posterior_frames(self) -> Iterator[PosteriorProblem]:
        """Outputs in groups, ever finer: contraction inside takes a share of the best prior's s, at last nothing."""
        seen: list[list[int]] = []
        for share in POSTERIOR_SHARES:
            groups, eta = coarsen_together(self.cells, max(share * max(self.s, LEAST_S), ROUNDED))
            if groups not in seen:
                seen.append(groups)
                single = len(set(groups)) == len(groups)
                if (self.cells.n_secrets - 1) * (max(groups) + 1) > MOST_POSTERIORS:
                    return
                yield PosteriorProblem(self.cells, np.array(groups), 0.0 if single else eta)

    def _posteriors(
        self, problems: Iterable[PosteriorProblem], deadline: Deadline, report_progress: ReportProgress
    ) -> Iterator[float]:
        """The problems of posteriors, a finer one after each that stalls."""
        problems = list(problems)
        for problem in problems:
            search = PosteriorTree(problem, self.lower, self.tolerance, max(self.s, 0.02))
            yield from self.run_tree(search, deadline, report_progress, finer=problem is not problems[-1])

    def _rows(self, deadline: Deadline, report_progress: ReportProgress) -> Iterator[float]:
        """The row bound at the best prior, where its rows promise to come near what it leaks."""
        if not (self.s > LEAST_ROW_S and affordable(self.cells)):
            return
        rows = Rows.at(self.cells, self.pi, self.s, 0.5 * self.tolerance, np.random.default_rng(0))
        floor = max(self.lower, self.best)
        if rows.goal > floor + WORTHWHILE * (self.upper - floor):
            return
        self.proofs.append(rows)
        while rows.step(deadline):
            report_progress()
            yield rows.upper
            if deadline.expired():
                return

    def _stationary(self, deadline: Deadline) -> BoxTree:
        """The contraction certificate with eta = 1, at the best prior found or, where its s is below 1, near s = 1."""
        steep = self.s > stationary.LEAST_S
        s = self.s if steep else stationary.LEAST_S
        pi = self.pi if steep else stationary.settle(self.cells, s, deadline)
        search = BoxTree(stationary.problem(self.cells), self.lower, self.tolerance, s)
        search.open_at(stationary.dual_point(self.cells, pi, s))
        return search

    def _search(self, groups: list[list[int]], eta: Floats, theta: Floats) -> BoxTree:
        spent = float((theta * eta).max())
        floor = spent + min(0.25 * spent, 0.3 * max(self.s - spent, 0.1 * spent))
        return BoxTree(BoxProblem(self.cells, groups, eta, theta, floor), self.lower, self.tolerance, max(self.s, 0.02))

    def run_tree(
        self, tree: Tree, deadline: Deadline, report_progress: ReportProgress, *, finer: bool = False
    ) -> Iterator[float]:
        """Branch batch by batch, telling the bound, until closed, or stalled where a finer problem follows."""
        tree.lower = max(self.lower, self.best)
        tree.open_root(deadline)
        self.proofs.append(tree)
        batches, mark, mark_batch = 0, tree.upper, 0
        while tree.nodes.heap and not (finer and batches - mark_batch > STALL_BATCHES):
            due = batches & (batches - 1) == 0 or batches % 32 == 0  # 0, 1, 2, 4, 8, 16, 32, 64, 96 ...
            self._ascend_from(tree, deadline, anyway=batches in SELDOM if self._simple else due)
            tree.lower = max(self.lower, self.best)
            tree.step(deadline)
            batches += 1
            report_progress()
            if tree.upper - tree.lower < 0.8 * (mark - tree.lower):
                mark, mark_batch = tree.upper, batches
            yield tree.upper
        if tree is not self.proof:
            self.proofs = [proof for proof in self.proofs if proof is not tree]

    def _ascend_from(self, tree: Tree, deadline: Deadline, *, anyway: bool) -> None:
        """Ascend from the relaxed priors of the worst nodes, if one is the best so far: they know where no one was."""
        priors, lower = tree.priors(16), self.lower
        self.keep_lower(best_of(self.cells, priors))
        if anyway or self.lower > lower:
            self.keep_lower(polish(self.cells, priors, deadline, rounds=60))

    def keep_upper(self, proof: Proof) -> None:
        """Keep the better of the best proof so far and a finished one."""
        self.proofs = [min(self.proof, proof, key=lambda p: p.upper)]
