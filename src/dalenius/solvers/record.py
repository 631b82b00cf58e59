"""One record's bracket: which bounds are tried, in which order, and when to stop.

Cheapest first; the best bracket is kept at every moment:

1. trivial: log|A|, log|Y|;
2. reference: knowledge 0 leaves the adversary one prior, and the answer is I there;
3. choices: L(0) bounds L(b), and is L(b) on the flat part of the curve (MATH 4.1);
4. the lower bound by many ascents (MATH 3);
5. the convex bound, a tree of one node, for every size (MATH 4.4; where s > eta it is the contraction
   certificate 4.3 and closes the gap by itself);
6. boxes: branch and bound, first with outputs as coarse as contraction allows at the multiplier s of the
   best prior, then finer where a search stalls (MATH 4.5, 4.6). Relaxed priors of bad nodes start new ascents.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dalenius.solvers.blahut_arimoto import ascend, polish
from dalenius.solvers.box_bound import Frame
from dalenius.solvers.branch_and_bound import Search
from dalenius.solvers.cells import Cells, Floats
from dalenius.solvers.choices import Choices
from dalenius.solvers.contraction import affordable, coarsen, coefficient
from dalenius.solvers.watch import Watch

Tell = Callable[[], None]
FINEST = 1e-10  # tolerance of choices: finer is lost in rounding
MOST_OUTPUTS = 400  # beyond it a Newton step over all outputs is too dear
LARGE = 200_000  # cells x outputs beyond which choices are not searched
NEARLY = 1e-5  # an audit this close may stop once progress is slow
SLOW_SECONDS = 10.0
STALL_BATCHES = 16  # batches in which a search must gain a fifth of its gap, where a finer frame follows
ROUNDED = 1e-9  # outputs whose columns are proportional but for rounding contract at most this much


@dataclass(frozen=True)
class Trivial:
    """min(log|A|, log|Y|)."""

    upper: float


@dataclass(frozen=True)
class Reference:
    """I(A;Y) at the only prior there is."""

    upper: float


Proof = Trivial | Reference | Choices | Search


@dataclass
class Record:
    """The state of one record's audit; numbers in nats."""

    cells: Cells
    trivial: float
    tolerance: float
    lower: float = 0.0
    pi: Floats = field(init=False)
    s: float = 0.0
    proofs: list[Proof] = field(init=False)  # the best of earlier stages, and a search that still grows
    unconstrained: tuple[float, float] = field(init=False)  # bracket on L(0)

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

    def begin(self, watch: Watch, rng: np.random.Generator) -> None:
        """Stages 1 to 4, and of 5 the constrained capacity of the whole channel: cheap at every size."""
        cells = self.cells
        at_reference = float(cells.leakage(cells.rho[None])[0])
        self.lower = at_reference
        if cells.knowledge <= 0:
            self.proofs = [Reference(at_reference)]
        if watch.expired():
            return
        small = cells.size * cells.y_size <= LARGE
        start = None
        if small:
            choices = Choices(cells, max(0.3 * self.tolerance, FINEST))
            choices.run(watch)
            self.unconstrained = (choices.lower, min(choices.upper, self.trivial))
            start = choices.prior[None]
            self._offer(choices)
        if cells.knowledge <= 0 or self.gap <= self.tolerance:
            return
        found = ascend(cells, watch, rng, start)
        if found.value > self.lower:
            self.lower, self.pi, self.s = found.value, found.pi, found.s
        self.unconstrained = (max(self.lower, self.unconstrained[0]), self.unconstrained[1])
        if self.gap > self.tolerance and cells.y_size <= MOST_OUTPUTS:
            capacity = self._search([[0] * cells.y_size] * cells.a_size, np.ones(cells.a_size), np.zeros(cells.a_size))
            capacity.open_root(watch)
            self._offer(capacity)

    def finish(self, watch: Watch, best: float, tell: Tell) -> None:
        """Stages 5 and 6, until the bracket closes, or the record is proved not to be above `best`."""
        if self._done(watch, best) or self.cells.y_size > MOST_OUTPUTS:
            return
        for search, finer in self._searches():
            search.lower = max(self.lower, best)
            search.open_root(watch)
            self._offer(search)
            self._run(search, watch, best, tell, finer=finer)
            if self._done(watch, best):
                return

    def _done(self, watch: Watch, best: float) -> bool:
        return self.gap <= self.tolerance or self.upper <= best + self.tolerance or watch.expired()

    def _searches(self) -> Iterator[tuple[Search, bool]]:
        """The frames to try, and whether a finer one follows: the convex bound, then boxes."""
        cells = self.cells
        s = max(self.s, 1e-3)
        pairs = affordable(cells)
        eta = np.array([coefficient(cells.q[part]) for part in cells.slices]) if pairs else np.ones(cells.a_size)
        together = [[0] * cells.y_size] * cells.a_size
        yield self._search(together, eta, np.minimum(1.0, 0.9 * s / eta)), True
        seen: list[list[list[int]]] = []
        for share in (0.9, 0.45, 0.0):
            groups, etas = coarsen(cells, max(share * s, ROUNDED))
            if groups not in seen and max(map(max, groups)) > 0:
                seen.append(groups)
                yield self._search(groups, etas, np.ones(cells.a_size)), bool((etas > ROUNDED).any())

    def _search(self, groups: list[list[int]], eta: Floats, theta: Floats) -> Search:
        spent = float((theta * eta).max())
        floor = spent + min(0.25 * spent, 0.3 * max(self.s - spent, 0.1 * spent))
        return Search(Frame(self.cells, groups, eta, theta, floor), self.lower, self.tolerance, max(self.s, 0.02))

    def _run(self, search: Search, watch: Watch, best: float, tell: Tell, *, finer: bool) -> None:
        """Branch until closed, expired, or stalled where a finer frame follows."""
        batches, mark, mark_batch, mark_time = 0, self.gap, 0, watch.seconds
        while search.frontier.heap and not watch.expired():
            if batches & (batches - 1) == 0 or batches % 32 == 0:  # 0, 1, 2, 4, 8, 16, 32, 64, 96 ...
                self._ascend_from(search, watch, best)
            search.step(watch)
            batches += 1
            tell()
            if search.upper - search.lower < 0.8 * mark:
                mark, mark_batch, mark_time = search.upper - search.lower, batches, watch.seconds
            if finer and batches - mark_batch > STALL_BATCHES:
                return  # contraction keeps s too large here: finer outputs let it fall
            if self.gap <= NEARLY and watch.seconds - mark_time > SLOW_SECONDS:
                return

    def _ascend_from(self, search: Search, watch: Watch, best: float) -> None:
        """Ascend from the relaxed priors of the worst nodes; they know where local search has not been."""
        found = polish(self.cells, search.priors(16), watch, rounds=60)
        if found.value > self.lower:
            self.lower, self.pi, self.s = found.value, found.pi, found.s
            search.lower = max(self.lower, best)

    def _offer(self, proof: Proof) -> None:
        """Keep the best proof so far beside a new one, whose bound may still fall, or rise on the way."""
        self.proofs = [self.proof, proof]
