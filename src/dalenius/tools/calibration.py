"""Calibration: the least noise of a named family whose certified leakage is within a budget."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import numpy as np

from dalenius.api.audits import solve
from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery.families import family_of
from dalenius.model.query import Query
from dalenius.results.audit import Audit
from dalenius.results.calibration import Calibration
from dalenius.results.options import Believes, Options, adversary_of
from dalenius.search.deadline import Deadline, Progress
from dalenius.search.progress import ProgressLine
from dalenius.settings import Settings

if TYPE_CHECKING:
    from dalenius.tools.account import Account


# Noise beyond this level is not tried: leakage falls with its exponential, squared.
LOUDEST = 20.0
# The first step to another level; steps double.
FIRST_STEP = 0.2
# Gaps of audits as shares of the budget: of a glance, and of an audit that stays clear of the budget.
GLANCE_GAP = 1.0
COARSE_GAP = 0.1
# The gap of an audit that comes near the budget, as a share of the accuracy and of the budget.
FINE_GAP = 0.25
# Shares of the time left for these three audits, and the seconds that each may always take.
GLANCE_SHARE = 0.03
COARSE_SHARE = 0.1
FINE_SHARE = 0.3
LEAST_SECONDS = 0.05
# A parameter is never known more coarsely than this, relatively.
COARSEST_ACCURACY = 0.5
# A level just past an end that seems right, in units of the accuracy, so that the bracket closes.
MARGIN = 0.4


def calibrate(
    family: str,
    query: Query,
    *,
    leakage: float,
    entropy: float | None = None,
    knowledge: float | None = None,
    unit: str = "nats",
    reference: object = None,
    adversary: Believes = "bounded",
    tolerance: float = 1e-6,
    accuracy: float = 1e-3,
    time_limit: float = 300.0,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    settings: Settings | None = None,
) -> Calibration:
    """Find the least noise of a named family whose certified leakage is at most a budget.

    Guarantee: the mechanism returned is certified to leak at most the budget. That less noise would leak more is proved
    at `too_little` only; the search assumes that more noise leaks less.

    Args:
        family: symmetric (its parameter is flip), geometric, laplace, exponential, randomized_response, unary_encoding,
            hadamard_response, shuffled_response, noisy_max (epsilon), gaussian, discrete_gaussian (sigma) or subsampled
            (rate).
        query: what is to be answered.
        leakage: the budget, in `unit`.
        entropy: as for `audit`.
        knowledge: as for `audit`.
        unit: "nats" or "bits".
        reference: what everybody knows, as for `audit`.
        adversary: as for `audit`.
        tolerance: least gap of an audit. Where it is more than `accuracy` of the budget, the accuracy is that coarse.
        accuracy: relative accuracy of the parameter (for a flip: also its distance from the uniform answer).
        time_limit: seconds after which the least noise certified so far is returned; Ctrl-C does the same.
        seed: seed of the random starts.
        progress: as for `audit`.
        settings: as for `audit`.

    Returns:
        A Calibration: the parameter, the mechanism and its audit.

    Raises:
        InputError: an argument is wrong, or no noise of the family keeps the budget.

    Example:
        >>> found = dl.calibrate("symmetric", dl.queries.modular_sum(n=4, modulus=2), leakage=0.05, knowledge=0.5)
        >>> found.leakage.upper <= 0.05
        True
    """
    options = Options.from_user(
        unit=unit, tolerance=tolerance, time_limit=time_limit, seed=seed, progress=progress, settings=settings
    )
    family_of(family)
    asked = _checked_query(query)
    against = adversary_of(
        asked, options, entropy=entropy, knowledge=knowledge, reference=reference, adversary=adversary
    )

    def judge(mechanism: Mechanism, options: Options) -> Audit:
        if not against.unlimited:
            against.reference.check(mechanism.statistic)
        return solve(options.audit(mechanism, against), options)

    search = NoiseSearch(family, query, judge, budget=leakage, accuracy=accuracy, options=options)
    return search.answer(search.run().found)


Judged = TypeVar("Judged", "Audit", "Account")


def _checked_query(query: object) -> Query:
    if not isinstance(query, Query):
        refuse(f"calibrate needs a Query, not {type(query).__name__}; see dl.queries")
    return query


@dataclass(frozen=True)
class Tried(Generic[Judged]):
    """A noise level, its mechanism, and the bracket on what it leaks, alone or beside other releases."""

    level: float
    value: float
    mechanism: Mechanism
    found: Judged

    def enough(self, budget: float) -> bool:
        """Whether it is certified to meet the budget."""
        return self.found.upper <= budget

    def excess(self, budget: float) -> float:
        """Return log(leakage / budget): by the upper bound, which is what has to fall, unless all of it is too much."""
        leakage = self.found.upper if self.found.lower <= budget else self.found.lower
        return math.log(max(leakage, 1e-300) / budget)


Stopped = Literal["accuracy", "time_limit", "interrupted"]


class NoiseSearch(Generic[Judged]):
    """Bracket the noise level by growing steps, then close in by secant steps, every third one a bisection.

    judge: the bracket on the leakage with a mechanism, by these options. context: words for what else is released.
    """

    def __init__(
        self,
        family: str,
        query: Query,
        judge: "Callable[[Mechanism, Options], Judged]",
        *,
        budget: float,
        accuracy: float,
        options: Options,
        context: str = "",
    ) -> None:
        """Check what was given."""
        self.family, self.query, self.options, self.context = family, query, options, context
        self.judge: Callable[[Mechanism, Options], Judged] = judge
        self.chosen, self.parameter = family_of(family)
        _checked_query(query)
        self.budget = float(checks.real("leakage", budget, 0.0, math.inf))
        checks.real("accuracy", accuracy, 1e-9, COARSEST_ACCURACY)
        if budget == 0:
            raise InputError(self._too_small)
        # Audits show no more of a budget as small as that.
        self.accuracy = max(accuracy, min(COARSEST_ACCURACY, options.tolerance / budget))
        self.tried: list[Tried[Judged]] = []
        self.audits, self.interrupted = 0, False

    def run(self) -> "Tried[Judged]":
        """Return the least noise found that is certified to be enough; refused where there is none."""
        level: float | None = 0.0
        with Deadline(self.options.time_limit) as self.deadline, np.errstate(all="ignore"):
            while level is not None:
                self._try(level)
                if self.interrupted or self.deadline.left <= 0:
                    break
                level = self._next()
        self.stopped: Stopped = "accuracy" if level is None else "interrupted" if self.interrupted else "time_limit"
        if (best := self.best) is not None:
            return best
        if self.interrupted:
            raise KeyboardInterrupt
        refuse(
            f"no {self.family} noise{self.context} was certified to leak at most {self.budget:g} {self.options.unit} "
            f"within {self.deadline.time_limit:g} s; allow more time (time_limit=) or a larger leakage"
        )

    @property
    def best(self) -> "Tried[Judged] | None":
        """The least noise that is certified to be enough."""
        return min((t for t in self.tried if t.enough(self.budget)), key=lambda t: t.level, default=None)

    def _below(self, best: "Tried[Judged]") -> "list[Tried[Judged]]":
        """What was tried with less noise, nearest first."""
        return sorted((t for t in self.tried if t.level < best.level), key=lambda t: -t.level)

    def _settled(self, best: "Tried[Judged]") -> bool:
        """Whether a level this close below the best could not be certified."""
        return any(best.level - t.level <= self.accuracy for t in self._below(best))

    def _value(self, level: float) -> float:
        """The parameter at a noise level, in no more digits than the accuracy asks for."""
        value, room = self.parameter.at(self.query, level)
        return round(value, math.ceil(-math.log10(0.05 * self.accuracy * room))) if room > 0 else value

    def _try(self, level: float) -> None:
        """Audit a noise level: a glance, which shows most of those that leak too much; then with more care."""
        value = self._value(level)
        mechanism = self.chosen.with_parameter(self.query, value)
        fine = FINE_GAP * self.accuracy
        # Audits without rows, or with very many outputs, give all they can at once.
        if not mechanism.has_rows or mechanism.n_outputs > self.options.settings.portfolio.most_outputs:
            self.tried.append(Tried(level, value, mechanism, self._audit(mechanism, fine, FINE_SHARE)))
            return
        audit = self._audit(mechanism, GLANCE_GAP, GLANCE_SHARE)
        if audit.lower <= (1 - COARSE_GAP) * self.budget and not self.interrupted:
            audit = self._audit(mechanism, COARSE_GAP, COARSE_SHARE)
        best = self.best
        # Below a settled best only the lower bound of a level is wanted.
        worth = best is None or not self._settled(best)
        if audit.lower <= self.budget < audit.upper and worth and not self.interrupted:
            audit = self._audit(mechanism, fine, FINE_SHARE)
        self.tried.append(Tried(level, value, mechanism, audit))

    def _audit(self, mechanism: Mechanism, relative: float, share: float) -> Judged:
        """Audit to a gap relative to the budget, in a share of the time left."""
        listener = self.options.report
        options = replace(
            self.options,
            tolerance=max(relative * self.budget, self.options.tolerance),
            time_limit=max(share * self.deadline.left, LEAST_SECONDS),
            # A line of progress names the parameter at hand.
            report=(lambda at: listener(replace(at, stage=str(mechanism.name))))
            if isinstance(listener, ProgressLine)
            else listener,
        )
        audit = self.judge(mechanism, options)
        self.audits += 1
        # Ctrl-C during an audit inside marks the deadline around it as well.
        self.interrupted = self.interrupted or self.deadline.interrupted
        return audit

    def _next(self) -> float | None:
        """The next noise level, or None when there is nothing left to gain."""
        quietest = self.parameter.quietest(self.query)
        step = FIRST_STEP * 2.0 ** (len(self.tried) - 1)
        best = self.best
        if best is None:
            last = self.tried[-1]
            if last.level >= LOUDEST or self._value(last.level) == 0:
                raise InputError(self._refusal(last))
            excess = math.log(last.found.upper / self.budget)
            return min(LOUDEST, last.level + max(step, 0.5 * excess + 0.1))
        below = self._below(best)
        if not below:
            if best.level <= quietest:
                return None
            return max(quietest, best.level - max(step, 0.1 - 0.5 * best.excess(self.budget)))
        if self._settled(best):
            return self._proof(best, below)
        margin = MARGIN * self.accuracy
        return min(max(self._secant(best, below[0]), below[0].level + margin), best.level - margin)

    def _refusal(self, loudest: "Tried[Judged]") -> str:
        """Why no noise will do: the loudest leaks too much, or there is no proof that it does not."""
        unit, audit = self.options.unit, loudest.found
        if audit.lower > self.budget:
            return self._too_small
        value = f"{self.parameter.name} = {loudest.value:g}"
        return (
            f"no {self.family} noise on {self.query}{self.context} could be certified to leak at most {self.budget:g} "
            f"{unit}: with {value} it leaks {audit.lower:.3g} to {audit.upper:.3g}, and no bound is closer; give a "
            "larger leakage or more time, or use dl.mechanisms.constant(query), which leaks nothing"
        )

    def _proof(self, best: "Tried[Judged]", below: "list[Tried[Judged]]") -> float | None:
        """Where to look, in doubling steps, for a level near the best that provably leaks too much."""
        proved = next((t for t in below if t.found.lower > self.budget), None)
        end = self.parameter.quietest(self.query) if proved is None else proved.level
        undecided = [t for t in below if t.level > end]
        level = best.level - max(self.accuracy, 2 * (best.level - undecided[-1].level)) if undecided else end
        return level if level > end else None

    def _secant(self, best: "Tried[Judged]", low: "Tried[Judged]") -> float:
        """Where the line through the two levels nearest to the budget meets it; or the middle."""
        near = sorted(self.tried, key=lambda t: abs(t.excess(self.budget)))[:2]
        (s, f), (t, g) = ((point.level, point.excess(self.budget)) for point in near)
        if len(self.tried) % 3 == 0 or not (f - g) * (s - t) < 0:
            return 0.5 * (best.level + low.level)
        return s - f * (t - s) / (g - f)

    def answer(self, leakage: Audit, together: tuple[float, float] | None = None) -> Calibration:
        """Return the calibration, with the audit of the best mechanism.

        together: the bracket of everything together, if that is what the budget is about.
        """
        best = self.best
        assert best is not None  # for the type checker: `run` has returned it
        proved = (t.value for t in self._below(best) if t.found.lower > self.budget)
        return Calibration(
            family=self.family,
            parameter=self.parameter.name,
            value=best.value,
            mechanism=best.mechanism,
            leakage=leakage,
            budget=self.budget,
            distortion=best.mechanism.expected_distortion(),
            too_little=next(proved, None),
            stopped=self.stopped,
            quietest=best.level <= self.parameter.quietest(self.query),
            accuracy=self.accuracy,
            audits=self.audits,
            seconds=self.deadline.seconds,
            together=together,
        )

    @property
    def _too_small(self) -> str:
        return (
            f"leakage = {self.budget:g} {self.options.unit} is too small for {self.family} noise on "
            f"{self.query}{self.context}: no such noise can be certified to leak that little; give a larger leakage, "
            "or use dl.mechanisms.constant(query), which leaks 0"
        )
