"""Both design problems with a bracket: cutting planes below, a certified audit above (MATH 6)."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from dalenius.auditing.all_records import Audited, audit_records
from dalenius.auditing.evidence import prior_of, with_rounding_margin
from dalenius.designing import rate_distortion
from dalenius.designing.cutting_planes import CuttingPlanes, Problem
from dalenius.designing.fewer_outputs import Fewer
from dalenius.designing.independence import no_leakage
from dalenius.designing.oracle import Attack
from dalenius.designing.weak_duality import LowerBound
from dalenius.model.channels.written import Written
from dalenius.model.problem import DesignProblem
from dalenius.numerics.information import TINY
from dalenius.numerics.types import Floats
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT, Part, Settings


@dataclass(frozen=True, kw_only=True)
class DesignSearch(Part):
    """When a design is audited, how finely, and what is left of a budget."""

    # Shares of the tolerance: the gap that local search may leave; the leakage that an audit may leave open, bought
    # with distortion (least distortion); what an audit need not go below (least leakage); the finest gap of an audit.
    search_share: float = 0.3
    slack_share: float = 0.3
    enough_share: float = 0.95
    audit_share: float = 0.05
    # The search and slack shares become this much smaller, once, where a design came out just too wide.
    finer: float = 0.3
    # At most this share of a leakage budget is left unused, so that the audit's gap fits in; where that does not
    # suffice, the slack grows by this factor, and to this multiple of the audit's gap: the next audit has less time,
    # and its gap is some five times as wide (count(4) in 5 s: distortion 0.284, 0.62 with 1.2).
    largest_slack: float = 0.5
    slack_growth: float = 2.0
    slack_per_gap: float = 5.0
    # Shares of the time left: cutting planes before an audit, and each audit of a mechanism mixed with a constant.
    time_share: float = 0.5
    repair_share: float = 0.4
    # Where no audit came within the budget: what is left unused of it by a mixture that its upper bound promises, and
    # the share of the time left for its audit. Count(6) beside a release in 20 s: distortion 0.73, 0.94 for a constant.
    mixing_room: float = 0.2
    mixing_share: float = 0.6
    # Least leakage with more outputs than any of these: the audit of all outputs has this share of the time left. Then
    # mechanisms on at most so many outputs are tried, each searched to this share of the open gap and audited in this
    # share of the time left. Count(24) at D = 1.2, b = 12: with all 25 outputs the audit left 15 % open after 40 s,
    # with seven 0.2 % after 12 s, and these leak 11 % more.
    fewer_outputs: tuple[int, ...] = (5, 7, 9)
    all_outputs_share: float = 0.6
    fewer_finer: float = 0.1
    fewer_share: float = 0.4
    # Room for rounding below a leakage budget, in nats and relative; and what a certificate may state of a mechanism
    # that leaks nothing, in nats.
    rounding_room: float = 1e-10
    no_leakage: float = 1e-9


# Probabilities of a mechanism are multiples of the inverse: sums of them are exact, and rows sum to one exactly.
GRID = 2.0**48


@dataclass(frozen=True, eq=False)
class Designed:
    """A mechanism with its certified leakage, its distortion, and the proof that little better exists."""

    mechanism: Written
    distortion: float  # never below the truth
    leakage: float  # never below the truth
    found: list[Audited]  # none where a formula gives the leakage
    lower: LowerBound
    rounds: int
    # What was audited: the mechanism, or the joint release of it and all before.
    together: Written

    @property
    def witnessed(self) -> float:
        """What the worst prior found leaks."""
        return max(item.audit.lower for item in self.found)

    def value(self, problem: Problem) -> float:
        """The upper bound on what is minimised."""
        return self.leakage if problem.goal == "leakage" else self.distortion


@dataclass
class Designer:
    """One design: its problem, its limits, and how mechanisms are made fit for use and audited."""

    problem: Problem
    asked: DesignProblem
    deadline: Deadline
    seed: int
    scale: float = 1.0  # what a distortion of 1 means to the user

    def allowed(self, lower: LowerBound) -> float:
        """The gap that will do above a lower bound, as the goal is measured."""
        return self.asked.allowed(lower.value)

    @property
    def chosen(self) -> DesignSearch:
        """The numbers of this search."""
        return self.problem.settings.of(DesignSearch)

    def solve(self, known: tuple[Attack, ...] = ()) -> tuple[Designed, tuple[Attack, ...]]:
        """Return the best design within the limits, and the priors of the pool, for a next design.

        Distortions are measured in a power of two near the constant's, so that solvers meet numbers near 1 and
        nothing is rounded on the way there and back.
        """
        typical = self.problem.distortion(self.problem.constant())
        scale = 2.0 ** round(math.log2(typical)) if typical > 0 else 1.0
        primal = self.problem.goal == "leakage"
        scaled = replace(
            self,
            problem=replace(
                self.problem,
                domain=replace(self.problem.domain, distance=self.problem.domain.distance / scale),
                budget=self.problem.budget / scale if primal else self.problem.budget,
            ),
            asked=replace(self.asked, tolerance=self.asked.tolerance / (1.0 if primal else scale)),
            scale=scale,
        )
        best, pool = scaled.solve_scaled(known)
        lower, factor = best.lower, 1.0 if primal else scale
        back = LowerBound(factor * lower.value, lower.evidence, factor * lower.weights, lower.multiplier / scale)
        return replace(best, distortion=scale * best.distortion, lower=back), pool

    def solve_scaled(self, known: tuple[Attack, ...]) -> tuple[Designed, tuple[Attack, ...]]:
        """Solve where distortions are near 1: cutting planes and certified audits in turn."""
        problem, rng = self.problem, np.random.default_rng(self.seed)
        if problem.goal == "distortion" and problem.budget == 0 and problem.domain.first is None:
            rows, lower = no_leakage(problem, rng)
            answer = self.audited(rows, lower, 0, 0.0)
            if answer.leakage > self.chosen.no_leakage:
                answer = self.audited(problem.constant(), lower, 0, 0.0)
            return answer, known
        if problem.domain.first is None and rate_distortion.applies(problem):
            direct = self._rate_distortion()
            if direct is not None:
                return direct, known
        planes = CuttingPlanes(problem, rng)
        for attack in known:
            planes.learn(attack)
        if problem.goal == "leakage" and problem.distortion(problem.constant()) <= problem.budget:
            planes.judge(problem.constant(), 0.0)
        else:
            planes.begin(self.deadline)
        answers = self._least_leakage(planes) if problem.goal == "leakage" else self._least_distortion(planes)
        best = min(answers, key=lambda answer: answer.value(problem))
        return replace(best, lower=planes.lower, rounds=planes.rounds), tuple(planes.attacks)

    def _rate_distortion(self) -> Designed | None:
        """The best mechanism against one prior; None where others keep it from the tolerance, and a search is possible.

        Mixing in a constant scales the leakage of every prior down: of a dual design as much as the audit asks for.
        """
        problem, room = self.problem, self.chosen.rounding_room
        rows, lower = rate_distortion.design(problem, self.asked.tolerance, self.deadline)
        answer = self.audited(rows, lower, 1, -math.inf)
        for _ in range(self.problem.settings.effort.design_tries):
            if problem.goal == "leakage" or answer.leakage <= problem.budget:
                break
            rows = problem.within_leakage(rows, answer.leakage * (1 + room) + room, problem.budget)
            answer = self.audited(rows, lower, 1, -math.inf)
        else:
            answer = self.audited(problem.constant(), lower, 1, -math.inf)
        good = answer.value(problem) <= lower.value + self.allowed(lower)
        return answer if good or rows.size > DEFAULT.limits.design_pairs else None

    def _least_leakage(self, planes: CuttingPlanes) -> list[Designed]:
        """Audit the best mechanism; where the audit knows a worse prior than local search did, go on with it."""
        answers: list[Designed] = []
        share = self.chosen.all_outputs_share if self._wide else 1.0
        for _ in range(self.problem.settings.effort.design_tries):
            self._search(planes, 1.0)
            allowed = self.allowed(planes.lower)
            enough = planes.lower.value + self.chosen.enough_share * allowed
            answers.append(self.audited(planes.rows, planes.lower, planes.rounds, enough, share))
            missed = self._missed(planes, answers[-1])
            if answers[-1].leakage <= planes.lower.value + allowed or not missed or self.deadline.expired():
                break
            # No better search helps where the audit is what stays open.
            if self._wide and answers[-1].leakage - answers[-1].witnessed > allowed:
                break
        return answers + self._on_fewer_outputs(planes, min(answer.leakage for answer in answers))

    @property
    def _wide(self) -> bool:
        """Whether fewer outputs are worth a try."""
        domain = self.problem.domain
        return domain.first is None and domain.orbit.shape[1] > max(self.chosen.fewer_outputs)

    def _on_fewer_outputs(self, planes: CuttingPlanes, best: float) -> list[Designed]:
        """Audit mechanisms on fewer outputs, where those on all stay open: what they leak more, their audits save."""
        answers: list[Designed] = []
        lower, allowed = planes.lower, self.allowed(planes.lower)
        for most in self.chosen.fewer_outputs if self._wide else ():
            fewer = Fewer.of(self.problem, planes.rows, most)
            if fewer is None or best <= lower.value + allowed or self.deadline.expired():
                continue
            narrow = CuttingPlanes(fewer.problem, np.random.default_rng(self.seed))
            for attack in planes.attacks:
                narrow.learn(attack)
            narrow.begin(self.deadline)
            self._search(narrow, self.chosen.fewer_finer * (best - lower.value) / allowed)
            if not narrow.leakage < best or self.deadline.expired():
                continue
            rows = fewer.widened(fewer.problem.within_distortion(narrow.rows, certain_budget(self.problem)))
            enough = lower.value + self.chosen.enough_share * allowed
            answers.append(self.audited(rows, lower, planes.rounds, enough, self.chosen.fewer_share))
            best = min(best, answers[-1].leakage)
        return answers

    def _least_distortion(self, planes: CuttingPlanes) -> list[Designed]:
        """Audit the best mechanism, mixed with a constant so that it leaks a little less than the budget.

        The room left for the audit's own gap is what a share of the tolerance buys; more where it does not
        suffice, and less, once, where it costs too much. Only mechanisms certified to keep the budget count; where
        there is none, as much of a constant is mixed in as the audit's own upper bound asks for.
        """
        chosen, budget, finer, slack = self.chosen, self.problem.budget, 1.0, 0.0
        room = budget - self.problem.spent
        accepted: list[Designed] = []
        too_much: tuple[Floats, float] | None = None
        for _ in range(self.problem.settings.effort.design_tries):
            self._search(planes, finer)
            allowed = self.allowed(planes.lower)
            affordable = finer * chosen.slack_share * allowed / self._price(planes.lower)
            slack = max(slack, min(affordable, chosen.largest_slack * room))
            if self.deadline.expired() or slack >= room:
                break
            rows = planes.rows if planes.leakage <= budget - slack else planes.repaired(budget - slack)
            answer = self.audited(rows, planes.lower, planes.rounds, budget, chosen.repair_share)
            missed = self._missed(planes, answer)
            if answer.leakage <= budget:
                accepted.append(answer)
                if answer.distortion <= planes.lower.value + allowed or (finer < 1 and not missed):
                    break
                slack, finer = 0.0, chosen.finer
                continue
            too_much = rows, answer.leakage
            if not missed:
                open_gap = chosen.slack_per_gap * (answer.leakage - answer.witnessed)
                slack = max(chosen.slack_growth * slack, open_gap, answer.leakage - budget)
                if slack >= room:
                    break
        accepted = accepted or self._mixed_in(planes, too_much)
        return accepted or [self.audited(self.problem.constant(), planes.lower, planes.rounds, budget)]

    def _mixed_in(self, planes: CuttingPlanes, too_much: tuple[Floats, float] | None) -> list[Designed]:
        """Mix a constant into a mechanism whose audit stays above the budget, until one is within it.

        Leakage is convex in the mechanism, so that its upper bound says how much will do; audits of mixtures, whose
        gaps are smaller, prove it.
        """
        problem, chosen = self.problem, self.chosen
        for _ in range(problem.settings.effort.design_tries if too_much is not None else 0):
            if too_much is None or self.deadline.expired():
                break
            target = problem.budget - chosen.mixing_room * (problem.budget - problem.spent)
            rows = problem.within_leakage(*too_much, target)
            answer = self.audited(rows, planes.lower, planes.rounds, problem.budget, chosen.mixing_share)
            if answer.leakage <= problem.budget:
                return [answer]
            too_much = rows, answer.leakage
        return []

    def _search(self, planes: CuttingPlanes, finer: float) -> None:
        part = self.deadline.part(self.chosen.time_share * self.deadline.left)
        share = finer * self.chosen.search_share
        planes.run(lambda lower: share * self.allowed(lower), part, self._report)

    def _report(self, planes: CuttingPlanes) -> None:
        scale = 1.0 if self.problem.goal == "leakage" else self.scale
        self.deadline.report_progress(0, 1, scale * planes.lower.value, scale * planes.value, f"round {planes.rounds}")

    def _missed(self, planes: CuttingPlanes, answer: Designed) -> bool:
        """Learn the audit's worst prior; whether it leaks more of the best mechanism than local search found."""
        worst = max(answer.found, key=lambda item: item.audit.lower)
        prior = prior_of(answer.together, worst, self.problem.domain.reference)
        leakage = self.problem.leaked(prior.masses, planes.rows)
        planes.learn(Attack(leakage, worst.record, prior.masses))
        if leakage <= planes.leakage + self._fine(planes.lower):
            return False
        planes.judge(planes.rows, leakage)
        return True

    def audited(  # noqa: PLR0917 - a mechanism, what is known, and how long it may take
        self,
        rows: Floats,
        lower: LowerBound,
        rounds: int,
        enough: float,
        share: float = 1.0,
        waited_for: float = 0.3,
    ) -> Designed:
        """Make a mechanism fit for use and audit it, in this share of the time left.

        `enough` is a leakage below which no finer bound is needed. `waited_for` is the share of the grace after the end
        that remains after Ctrl-C: somebody waits for the answer.
        """
        problem, domain = self.problem, self.problem.domain
        if problem.goal == "leakage" and not np.array_equal(rows, problem.constant()):
            rows = problem.within_distortion(rows, certain_budget(problem))
        rows = on_grid(rows)
        mechanism = together = Written(domain.statistic, rows, self.asked.distortion.labels, self.asked.query)
        if domain.first is not None:
            labels = tuple(product(range(domain.first.shape[1]), mechanism.labels))
            together = Written(domain.statistic, domain.joint(rows), labels, self.asked.query)
        expired = self.deadline.expired()
        grace = self.problem.settings.effort.design_grace * (waited_for if self.deadline.broken_off else 1.0)
        deadline = Deadline(grace) if expired else self.deadline.part(share * self.deadline.left)
        audit = replace(self.asked.audit(together, self._fine(lower)), settings=self._audit_settings)
        found = audit_records(audit, deadline, self.seed, enough=enough - self.chosen.rounding_room)
        self.deadline.nodes += deadline.nodes
        leakage = max(with_rounding_margin(together, item, domain.reference)[1] for item in found)
        distortion = problem.distortion(rows) * (1 + rounding(problem))
        return Designed(mechanism, distortion, leakage, found, lower, rounds, together)

    @property
    def _audit_settings(self) -> Settings:
        """Where nothing is known of one record, I is concave and flat, and its own dual closes the audit."""
        settings = self.asked.settings
        if rate_distortion.possible(len(self.problem.domain.statistic.records), self.problem.knowledge, settings):
            return _own_dual(settings)
        return settings

    def _price(self, lower: LowerBound) -> float:
        """What a nat of leakage costs in distortion when it is saved by mixing in a constant (dual)."""
        room = max(self.problem.budget - self.problem.spent, TINY)
        return max(self.problem.distortion(self.problem.constant()) - lower.value, TINY) / room

    def _fine(self, lower: LowerBound) -> float:
        """The finest gap, in nats, that is worth asking of an audit."""
        if self.problem.goal == "leakage":
            return self.chosen.audit_share * self.allowed(lower)
        return self.chosen.audit_share * (self.allowed(lower) / self._price(lower) if self.problem.budget > 0 else 1.0)


def certain_budget(problem: Problem) -> float:
    """A distortion that still keeps the budget after rounding to the grid, and by sums in floats."""
    distance = problem.domain.distance
    spare = 2 * distance.shape[1] * float(distance.max()) / GRID
    return float(problem.budget * (1 - 2 * rounding(problem)) - spare)


def rounding(problem: Problem) -> float:
    """How far, relatively, float sums over classes may be off."""
    return 1e-15 * (8 + problem.domain.statistic.log_universe)


@lru_cache(maxsize=8)
def _own_dual(settings: Settings) -> Settings:
    """The settings with no bound in the opening but the dual at the prior found; kept, since checking is slow."""
    dual = tuple(name for name in settings.portfolio.opening if name == "stationary")
    return replace(settings, portfolio=replace(settings.portfolio, opening=dual))


def on_grid(rows: Floats) -> Floats:
    """Round to multiples of 1 / GRID with rows that sum to one exactly; the largest entry takes the rest."""
    whole = np.floor(rows * GRID)
    k = np.arange(len(rows))
    whole[k, rows.argmax(axis=1)] += GRID - whole.sum(axis=1)
    return np.asarray(whole / GRID)
