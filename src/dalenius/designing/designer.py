"""Both design problems with a bracket: cutting planes below, a certified audit above (MATH 6)."""

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from dalenius.auditing.all_records import audit_records, found_of
from dalenius.auditing.roads import at_reference
from dalenius.bounds.closing import Formula
from dalenius.bounds.decoys.programme import DecoySearch
from dalenius.certificates.audits import Found
from dalenius.designing import rate_distortion
from dalenius.designing.blocks import layout, truth_or_decoy
from dalenius.designing.cutting_planes import CuttingPlanes
from dalenius.designing.independence import no_leakage
from dalenius.designing.master import Plane
from dalenius.designing.mixture import PART_GRID, largest_share, mixed
from dalenius.designing.mixture import Part as Mixed
from dalenius.designing.problem import GRID, Fewer, LowerBound, Problem, on_grid
from dalenius.model.channels.written import Written
from dalenius.model.problem import DesignProblem
from dalenius.model.statistic import Blocks
from dalenius.numerics.information import TINY
from dalenius.numerics.types import Floats
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class DesignSearch(Part):
    """When a design is audited, how finely, and on how many outputs."""

    # Shares of the tolerance: the gap that local search may leave; what an audit need not go below; the finest gap of
    # an audit. An audit that proves more than a leakage budget costs distortion: as much as the second share is enough.
    search_share: float = 0.3
    enough_share: float = 0.95
    slack_share: float = 0.3
    audit_share: float = 0.05
    # Share of the time left for cutting planes before an audit.
    time_share: float = 0.5
    # With more outputs than any of these, the audit of all outputs has this share of the time left, and mechanisms on
    # at most so many outputs are tried, too; each has these shares of the time left for its search, to this share of
    # the open gap, and for its audit. Count(24), L = .05, K = .1: the audit on 25 outputs proves .079, on nine .054.
    fewer_outputs: tuple[int, ...] = (5, 7, 9)
    all_outputs_share: float = 0.8
    fewer_search: float = 0.25
    fewer_finer: float = 0.1
    fewer_share: float = 0.4
    # The share of a leakage budget for which they are searched where outputs are so many that their audits leave about
    # the rest open: a mechanism for less leakage costs less than a mixture with a constant. Count(24): 1.23 for 1.27.
    fewer_budget: float = 0.95
    # With more outputs than this few outputs come first, then more and more, for the lower bound alone. The last of the
    # numbers above is left out then: count(24) on nine outputs has .0706 audited where .05 is attained.
    audited_outputs: int = 16
    searched_outputs: tuple[int, ...] = (13, 19, 27)
    # Truth or decoy comes first of all then. With more outputs than the last number it has the second share of the time
    # left, no other mechanism is audited, and all other time goes into the lower bound; else it has the first.
    decoy_shares: tuple[float, float] = (0.08, 0.2)
    decoys_alone: int = 32
    # Pairs of a value and an output beyond which the classical answer for one record is not searched any further.
    searched_pairs: int = 2**13
    # Room for rounding below a leakage budget, in nats; and what a certificate may state of a mechanism that leaks
    # nothing, in nats.
    rounding_room: float = 1e-10
    no_leakage: float = 1e-9


@dataclass(frozen=True, eq=False)
class Designed:
    """A mechanism with its certified leakage, its distortion, and the proof that little better exists."""

    mechanism: Written
    distortion: float  # never below the truth
    leaks: Found
    lower: LowerBound
    rounds: int
    # What was audited: the mechanism, or the joint release of it and all before.
    together: Written

    @property
    def leakage(self) -> float:
        """What the mechanism is proved to leak at most."""
        return self.leaks.upper

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
    bare: Found | None = None  # the audit of the fallback, where there is no constant

    def allowed(self, lower: LowerBound) -> float:
        """Gap at which the search may stop, given the lower bound, in units of the goal."""
        return self.asked.allowed(lower.value)

    @property
    def chosen(self) -> DesignSearch:
        """The numbers of this search."""
        return self.problem.settings.of(DesignSearch)

    def solve(self, known: tuple[Plane, ...] = ()) -> tuple[Designed, tuple[Plane, ...]]:
        """Return the best design within the limits, and the priors of the pool, for a next design.

        Distortions are measured in a power of two near the constant's, so that solvers meet numbers near 1 and
        nothing is rounded on the way there and back.
        """
        typical = self.problem.distortion(self.problem.constant)
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
        prices = tuple((*about, factor * weight) for *about, weight in lower.prices)
        back = LowerBound(
            factor * lower.value, lower.evidence, factor * lower.weights, lower.multiplier / scale, prices
        )
        return replace(best, distortion=scale * best.distortion, lower=back), pool

    def solve_scaled(self, known: tuple[Plane, ...]) -> tuple[Designed, tuple[Plane, ...]]:
        """Solve where distortions are near 1: cutting planes and certified audits in turn."""
        problem, rng = self.problem, np.random.default_rng(self.seed)
        if isinstance(problem.domain.statistic, Blocks):
            return self._in_blocks(), known
        if problem.goal == "distortion" and problem.budget == 0 and problem.domain.first is None:
            rows, lower = no_leakage(problem, rng)
            answer = self.audited(rows if not problem.limits.given else problem.constant, lower, 0, 0.0)
            if answer.leakage > self.chosen.no_leakage:
                answer = self.audited(problem.constant, lower, 0, 0.0)
            return answer, known
        if (direct := self._rate_distortion()) is not None:
            return direct, known
        planes = CuttingPlanes(problem, rng)
        for prior in known:
            planes.learn(prior)
        answers: list[Designed] = []
        constant = problem.goal == "leakage" and problem.distortion(problem.constant) <= problem.budget
        if constant and problem.has_constant:
            planes.judge(problem.constant, 0.0)
        elif self._very_wide:
            many = problem.domain.orbit.shape[1] > self.chosen.decoys_alone
            answers = self._truth_or_decoy(planes.lower, self.chosen.decoy_shares[many])
            answers += self._on_fewer_outputs(planes, min((a.value(problem) for a in answers), default=math.inf))
        else:
            planes.begin(self.deadline)
        if answers and problem.domain.orbit.shape[1] <= max(self.chosen.searched_outputs):
            # For the lower bound alone.
            planes.begin(self.deadline)
            self._search(planes, 1.0, 1.0)
        elif not answers:
            answers = self._searched(planes)
            best_value = min(answer.value(problem) for answer in answers)
            answers += self._on_fewer_outputs(planes, best_value) if self._wide else []
        best = min(answers, key=lambda answer: answer.value(problem))
        return replace(best, lower=planes.lower, rounds=planes.rounds), tuple(planes.pool)

    def _rate_distortion(self) -> Designed | None:
        """The best mechanism against one prior; None where others keep it from the tolerance, and a search is possible.

        A dual design has as much of a constant mixed in as its audit asks for. None where there are more priors.
        """
        problem = self.problem
        if not rate_distortion.applies(problem):
            return None
        rows, lower = rate_distortion.design(problem, self.asked.tolerance, self.deadline)
        answer = self.kept(self.audited(rows, lower, 1, -math.inf))
        good = answer.value(problem) <= lower.value + self.allowed(lower)
        return answer if good or rows.size > self.chosen.searched_pairs else None

    def _searched(self, planes: CuttingPlanes) -> list[Designed]:
        """Audit the best mechanism; where the audit knows a worse prior than local search did, go on with it."""
        answers: list[Designed] = []
        for _ in range(self.problem.settings.effort.design_tries):
            self._search(planes, 1.0, self.chosen.time_share)
            share = self.chosen.all_outputs_share if self._wide else 1.0
            audited = self.audited(planes.repaired(), planes.lower, planes.rounds, self._enough(planes.lower), share)
            answers.append(self.kept(audited))
            missed = self._missed(planes, audited)
            near = answers[-1].value(self.problem) <= planes.lower.value + self.allowed(planes.lower)
            if near or not missed or self.deadline.expired():
                break
            # No better search helps where the audit is what stays open.
            if self._wide and audited.leaks.gap > self._enough(planes.lower) - planes.leakage:
                break
        return answers

    @property
    def _wide(self) -> bool:
        """Whether fewer outputs are worth a try."""
        domain = self.problem.domain
        return domain.first is None and domain.orbit.shape[1] > max(self.chosen.fewer_outputs)

    @property
    def _very_wide(self) -> bool:
        """Whether no audit of a mechanism on all outputs comes to anything."""
        return self._wide and self.problem.domain.orbit.shape[1] > self.chosen.audited_outputs

    def _on_fewer_outputs(self, planes: CuttingPlanes, best: float) -> list[Designed]:
        """Audit mechanisms on fewer outputs: what they cost more, their audits save.

        Their pool and their lower bound serve the whole problem: an output that is left out has the ratios of the
        nearest one that is kept, which costs no more than if answers were clamped to those kept (MATH 6.4).
        """
        answers: list[Designed] = []
        chosen, rows = self.chosen, planes.rows if np.isfinite(planes.value) else self.problem.truthful()
        audited = chosen.fewer_outputs[:-1] if self._very_wide else chosen.fewer_outputs
        many = audited + (chosen.searched_outputs if self._very_wide else ())
        for most in many:
            fewer = Fewer.of(self.problem, rows, most)
            allowed = self.allowed(planes.lower)
            if fewer is None or best <= planes.lower.value + allowed or self.deadline.expired():
                continue
            if self._very_wide and most in audited and self.problem.goal == "distortion":
                less = replace(fewer.problem, budget=chosen.fewer_budget * self.problem.budget)
                fewer = replace(fewer, problem=less)
            narrow = CuttingPlanes(fewer.problem, np.random.default_rng(self.seed))
            for prior in planes.pool:
                narrow.learn(prior)
            narrow.begin(self.deadline)
            finer = max(1.0, chosen.fewer_finer * (min(best, narrow.value) - planes.lower.value) / allowed)
            self._search(narrow, finer, chosen.fewer_search)
            planes.rounds += narrow.rounds
            for prior in narrow.pool:
                planes.learn(prior)
            planes.bound(fewer.widened_evidence(narrow.lower))
            audits = most in audited and (math.isinf(best) or rows.shape[1] <= chosen.decoys_alone)
            if not audits or not narrow.value < best or self.deadline.expired():
                continue
            narrow_rows = narrow.repaired()
            if self.problem.goal == "leakage":
                narrow_rows = fewer.problem.within_distortion(narrow_rows, self.problem.certain_budget)
            wide = fewer.widened(narrow_rows)
            answer = self.audited(wide, planes.lower, planes.rounds, self._enough(planes.lower), chosen.fewer_share)
            answers.append(self.kept(answer))
            best = min(best, answers[-1].value(self.problem))
        return answers

    def _in_blocks(self) -> Designed:
        """The better of a constant and of truth or decoy, where no other mechanism is looked for."""
        problem, nothing, rows = self.problem, LowerBound(0.0), self.problem.constant
        fits = problem.goal == "distortion" or problem.distortion(rows) <= problem.budget
        answers = [] if fits and problem.goal == "leakage" else self._truth_or_decoy(nothing, 0.8)
        if fits or not answers:
            rows = rows if fits else problem.within_distortion(rows, problem.certain_budget)
            answers.append(self.audited(rows, nothing, 0, 0.0))
        return min(answers, key=lambda answer: answer.value(problem))

    def _truth_or_decoy(self, lower: LowerBound, share: float) -> list[Designed]:
        """The best mechanism that tells the truth or a decoy, in this share of the time left (MATH 6.14)."""
        problem, domain = self.problem, self.problem.domain
        orbits = domain.reference.orbits(domain.statistic)
        if domain.first is not None or problem.limits.given or len(orbits) > 1 or not problem.knowledge > 0:
            return []
        chosen = problem.settings.of(DecoySearch)
        made = layout(problem, chosen)
        part = self.deadline.part(share * self.deadline.left)
        found = None if made is None else truth_or_decoy(made.task, chosen, part)
        if made is None or found is None or not np.isfinite(found.worth):
            return []
        width = domain.distance.shape[1]
        mechanism, together = self._released(made.rows(found, width)[made.block])
        order = made.block[np.sort(np.unique(made.block, return_index=True)[1])]
        leaks = self._witnessed(together, lower, made.proof(found, width, order))
        answer = Designed(mechanism, self.problem.paid(mechanism.rows), leaks, lower, 0, together)
        return [self.kept(answer)]

    def _witnessed(self, together: Written, lower: LowerBound, proof: Formula) -> Found:
        """The audit of a mechanism that brings its upper bound: only a witness is looked for."""
        settings = replace(self.asked.settings, portfolio=replace(self.asked.settings.portfolio, opening=()))
        audit = replace(self.asked.audit(together, self._fine(lower)), settings=settings)
        audited = audit_records(audit, self.deadline.part(0.1 * self.deadline.left), self.seed, enough=math.inf)
        for item in audited:
            item.audit.keep_upper(proof)
        return found_of(audit, audited)

    def _enough(self, lower: LowerBound) -> float:
        """A leakage below which no finer bound of an audit is needed."""
        if self.problem.goal == "leakage":
            return lower.value + self.chosen.enough_share * self.allowed(lower)
        return self.problem.budget + self.chosen.slack_share * self.allowed(lower) / self._price(lower)

    def kept(self, answer: Designed) -> Designed:
        """The mechanism within its leakage budget: with as much of a constant, or the fallback, as its audit needs."""
        problem, budget = self.problem, self.problem.budget
        if problem.goal == "leakage" or answer.leakage <= budget:
            return answer
        constant, bare = self._released(problem.constant), self.bare
        if problem.domain.first is not None:
            bare = self._audit(constant[1], answer.lower, budget, 1.0)
        share = largest_share(answer.leakage, 0.0 if bare is None else bare.upper, budget - self.chosen.rounding_room)
        mechanism, together = self._released(share * answer.mechanism.rows + (1 - share) * constant[0].rows)
        parts = (
            Mixed(share, answer.together.rows, dict(answer.leaks.proofs)),
            Mixed(1 - share, constant[1].rows, {} if bare is None else dict(bare.proofs)),
        )
        distortion, leaks = self.problem.paid(mechanism.rows), mixed(answer.leaks, together, parts)
        return replace(answer, mechanism=mechanism, distortion=distortion, leaks=leaks, together=together)

    def _search(self, planes: CuttingPlanes, finer: float, time_share: float) -> None:
        part = self.deadline.part(time_share * self.deadline.left)
        share = finer * self.chosen.search_share
        planes.run(lambda lower: share * self.allowed(lower), part, self._report)

    def _report(self, planes: CuttingPlanes) -> None:
        scale = 1.0 if self.problem.goal == "leakage" else self.scale
        self.deadline.report_progress(0, 1, scale * planes.lower.value, scale * planes.value, f"round {planes.rounds}")

    def _missed(self, planes: CuttingPlanes, answer: Designed) -> bool:
        """Learn the audit's worst prior; whether it leaks more of the best mechanism than local search found."""
        prior = answer.leaks.prior
        leakage = self.problem.leaked(prior.masses, planes.rows)
        planes.learn(Plane(answer.leaks.record or 0, prior.masses))
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
        problem = self.problem
        if problem.limits.given:
            rows = problem.limits.repaired(rows)
        if problem.goal == "leakage" and not np.array_equal(rows, problem.constant):
            rows = problem.within_distortion(rows, problem.certain_budget)
        if not problem.limits.given:
            rows = on_grid(rows, GRID if problem.goal == "leakage" else PART_GRID)
        mechanism, together = self._released(rows)
        leaks = self._audit(together, lower, enough, share, waited_for)
        return Designed(mechanism, self.problem.paid(mechanism.rows), leaks, lower, rounds, together)

    def _released(self, rows: Floats) -> tuple[Written, Written]:
        """The mechanism of these rows, and its joint release with all before."""
        domain = self.problem.domain
        mechanism = Written(domain.statistic, rows, self.asked.distortion.labels, self.asked.query)
        if domain.first is None:
            return mechanism, mechanism
        labels = tuple(product(range(domain.first.shape[1]), mechanism.labels))
        return mechanism, Written(domain.statistic, domain.joint(rows), labels, self.asked.query)

    def _audit(
        self, together: Written, lower: LowerBound, enough: float, share: float, waited_for: float = 0.3
    ) -> Found:
        expired = self.deadline.expired()
        grace = self.problem.settings.effort.design_grace * (waited_for if self.deadline.broken_off else 1.0)
        deadline = Deadline(grace) if expired else self.deadline.part(share * self.deadline.left)
        audit = self.asked.audit(together, self._fine(lower))
        # Nothing is known of one record: its audit is one mutual information.
        if rate_distortion.one_prior(self.problem) and self.problem.domain.reference.uniform:
            direct = at_reference(audit, together.rows)
            if direct is not None:
                return direct
        audited = audit_records(audit, deadline, self.seed, enough=enough - self.chosen.rounding_room)
        self.deadline.nodes += deadline.nodes
        return found_of(audit, audited)

    def _price(self, lower: LowerBound) -> float:
        """What a nat of leakage costs in distortion when it is saved by mixing in a constant (dual)."""
        room = max(self.problem.budget - self.problem.spent, TINY)
        return max(self.problem.distortion(self.problem.constant) - lower.value, TINY) / room

    def _fine(self, lower: LowerBound) -> float:
        """The finest gap, in nats, that is worth asking of an audit."""
        if self.problem.goal == "leakage":
            return self.chosen.audit_share * self.allowed(lower)
        return self.chosen.audit_share * (self.allowed(lower) / self._price(lower) if self.problem.budget > 0 else 1.0)
