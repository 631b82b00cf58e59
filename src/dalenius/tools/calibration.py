"""Calibration: the least noise of a named family whose certified leakage is within a budget."""

import difflib
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dalenius import api
from dalenius.auditing.one_secret import MOST_OUTPUTS
from dalenius.errors import InputError
from dalenius.gallery import mechanisms
from dalenius.model import checks
from dalenius.model.adversary import Adversary
from dalenius.model.mechanism import Mechanism
from dalenius.model.query import Query
from dalenius.results.audit import Audit
from dalenius.results.calibration import Calibration
from dalenius.search.deadline import Deadline, Progress

LOUDEST = 20.0  # of the noise level: leakage falls with its exponential, squared
FAINTEST = 40.0  # exp(-40) added to 1 is 1
COARSE = 0.1  # of the budget: the gap of an audit that stays clear of it
FINE = 0.25  # of the accuracy, and that of the budget: the gap of an audit that comes near
COARSEST = 0.5  # accuracy


@dataclass(frozen=True)
class Family:
    """Mechanisms of one parameter, on a scale of noise levels s on which more is noisier.

    epsilon = exp(-s), sigma = sensitivity exp(s), flip = top / (1 + exp(-s)): at flip = top = 1 - 1/|range|
    the answer is uniform, at `quietest` less noise would change nothing.
    """

    build: Callable[..., Mechanism]
    parameter: str
    faintest: float = FAINTEST  # epsilon / sensitivity beyond which the noise is nothing

    def quietest(self, query: Query) -> float:
        """Return the least noise level worth trying."""
        if self.parameter == "sigma":
            return math.log(0.05 / _positive(query.sensitivity))  # rounding hides ten standard deviations
        if self.parameter == "epsilon":
            scale = 1.0 if self.build is mechanisms.randomized_response else _positive(query.sensitivity)
            return -math.log(self.faintest * scale)
        return -FAINTEST

    def value(self, query: Query, level: float, accuracy: float) -> float:
        """Return the parameter at a noise level, in no more digits than the accuracy asks for."""
        if self.parameter == "epsilon":
            exact = room = math.exp(-level)
        elif self.parameter == "sigma":
            exact = room = _positive(query.sensitivity) * math.exp(level)
        else:
            top = 1 - 1 / len(query.outputs)
            if level <= -FAINTEST or top == 0:
                return 0.0
            exact = top / (1 + math.exp(-level))
            room = min(exact, top / (1 + math.exp(level)))
        return round(exact, math.ceil(-math.log10(0.05 * accuracy * room)))


FAMILIES = {
    "symmetric": Family(mechanisms.symmetric, "flip"),
    "geometric": Family(mechanisms.geometric, "epsilon"),
    "laplace": Family(mechanisms.laplace, "epsilon", 2 * FAINTEST),
    "exponential": Family(mechanisms.exponential, "epsilon", 2 * FAINTEST),
    "randomized_response": Family(mechanisms.randomized_response, "epsilon"),
    "gaussian": Family(mechanisms.gaussian, "sigma"),
}


def calibrate(  # noqa: PLR0913 - the public surface
    family: str,
    query: Query,
    *,
    leakage: float,
    entropy: float | None = None,
    knowledge: float | None = None,
    unit: str = "nats",
    tolerance: float = 1e-6,
    accuracy: float = 1e-3,
    time_limit: float = 300.0,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
) -> Calibration:
    """Return the least noise of a named family whose certified leakage is at most `leakage`.

    family: symmetric (flip), geometric, laplace, exponential, randomized_response (epsilon) or gaussian
    (sigma). Give exactly one of `entropy` and `knowledge`, as for `audit`; `leakage` and `tolerance` are
    in `unit`.

    Guarantee: the mechanism returned is certified to leak at most the budget. That less noise would leak
    more is proved at `too_little` only; the search takes it that more noise leaks less. It ends when the
    parameter is known to a relative `accuracy` (a flip: also its distance from the uniform answer), after
    `time_limit` seconds, or on Ctrl-C, always with the least noise certified so far. No audit is asked for
    a gap below `tolerance`: where that is more than `accuracy` of the budget, the accuracy is as coarse.
    """
    chosen = _family(family)
    if not isinstance(query, Query):
        message = f"calibrate needs a Query, not {type(query).__name__}; see dl.queries"
        raise InputError(message)
    Adversary.from_user(query.records, entropy=entropy, knowledge=knowledge, unit=unit)
    budget = checks.real("leakage", leakage, 0.0, math.inf)
    limit = checks.real("time_limit", time_limit, 0.0, math.inf, open_low=True)
    checks.real("tolerance", tolerance, 0.0, math.inf, open_low=True)
    checks.real("accuracy", accuracy, 1e-9, COARSEST)
    checks.whole("seed", seed, 0)
    if budget == 0:
        raise InputError(_too_small(family, query, budget, unit))
    accuracy = max(accuracy, min(COARSEST, tolerance / budget))  # audits show no more of a budget as small as that
    adversary = {"entropy": entropy, "knowledge": knowledge, "unit": unit, "seed": seed}
    with Deadline(limit) as deadline, np.errstate(all="ignore"):
        search = _Search(family, chosen, query, budget, tolerance, accuracy, adversary, progress, deadline)
        return search.run()


@dataclass(frozen=True)
class Tried:
    """A noise level, and what its audit showed."""

    level: float
    value: float
    audit: Audit

    def enough(self, budget: float) -> bool:
        """Whether it is certified to meet the budget."""
        return self.audit.upper <= budget

    def excess(self, budget: float) -> float:
        """Return log(leakage / budget): by the upper bound, which is what has to fall, unless all of it is too much."""
        leakage = self.audit.upper if self.audit.lower <= budget else self.audit.lower
        return math.log(max(leakage, 1e-300) / budget)


@dataclass
class _Search:
    """Bracket the noise level by growing steps, then close in by secant steps, every third one a bisection."""

    family: str
    chosen: Family
    query: Query
    budget: float
    tolerance: float
    accuracy: float
    adversary: dict[str, Any]
    progress: bool | Callable[[Progress], None]
    deadline: Deadline
    tried: list[Tried] = field(default_factory=list)
    audits: int = 0
    interrupted: bool = False

    def run(self) -> Calibration:
        level: float | None = 0.0
        while level is not None:
            self._try(level)
            if self.interrupted or self.deadline.left <= 0:
                break
            level = self._next()
        return self._result("accuracy" if level is None else "interrupted" if self.interrupted else "time_limit")

    @property
    def best(self) -> Tried | None:
        """The least noise that is certified to be enough."""
        return min((t for t in self.tried if t.enough(self.budget)), key=lambda t: t.level, default=None)

    def _below(self, best: Tried) -> list[Tried]:
        """What was tried with less noise, nearest first."""
        return sorted((t for t in self.tried if t.level < best.level), key=lambda t: -t.level)

    def _settled(self, best: Tried) -> bool:
        """Whether a level this close below the best could not be certified."""
        return any(best.level - t.level <= self.accuracy for t in self._below(best))

    def _try(self, level: float) -> None:
        """Audit a noise level: a glance, which shows most of those that leak too much; then with more care."""
        value = self.chosen.value(self.query, level, self.accuracy)
        mechanism = self.chosen.build(self.query, **{self.chosen.parameter: value})
        # Audits without rows, or with very many outputs, give all they can at once.
        if mechanism.route != "rows" or mechanism.n_outputs > MOST_OUTPUTS:
            self.tried.append(Tried(level, value, self._audit(mechanism, FINE * self.accuracy, 0.3)))
            return
        audit = self._audit(mechanism, 1.0, 0.03)
        if audit.lower <= (1 - COARSE) * self.budget and not self.interrupted:
            audit = self._audit(mechanism, COARSE, 0.1)
        best = self.best
        worth = best is None or not self._settled(best)  # else only its lower bound is wanted
        if audit.lower <= self.budget < audit.upper and worth and not self.interrupted:
            audit = self._audit(mechanism, FINE * self.accuracy, 0.3)
        self.tried.append(Tried(level, value, audit))

    def _audit(self, mechanism: Mechanism, relative: float, share: float) -> Audit:
        """Audit to a gap relative to the budget, in a share of the time left."""
        report = _printer(mechanism) if self.progress is True else self.progress
        tolerance = max(relative * self.budget, self.tolerance)
        seconds = max(share * self.deadline.left, 0.05)
        audit = api.audit(
            mechanism, tolerance=tolerance, time_limit=seconds, progress=report, verify=False, **self.adversary
        )
        self.audits += 1
        self.interrupted = self.interrupted or self.deadline.interrupted or audit.stopped == "interrupted"
        return audit

    def _next(self) -> float | None:
        """The next noise level, or None when there is nothing left to gain."""
        quietest = self.chosen.quietest(self.query)
        step = 0.2 * 2.0 ** (len(self.tried) - 1)
        best = self.best
        if best is None:
            last = self.tried[-1]
            if last.level >= LOUDEST or self.chosen.value(self.query, last.level, self.accuracy) == 0:
                raise InputError(self._refusal(last))
            excess = math.log(last.audit.upper / self.budget)
            return min(LOUDEST, last.level + max(step, 0.5 * excess + 0.1))
        below = self._below(best)
        if not below:
            if best.level <= quietest:
                return None
            return max(quietest, best.level - max(step, 0.1 - 0.5 * best.excess(self.budget)))
        if self._settled(best):
            return self._proof(best, below)
        margin = 0.4 * self.accuracy  # just past an end that seems right, so that the bracket closes
        return min(max(self._secant(best, below[0]), below[0].level + margin), best.level - margin)

    def _refusal(self, loudest: Tried) -> str:
        """Why no noise will do: the loudest leaks too much, or there is no proof that it does not."""
        unit, audit = self.adversary["unit"], loudest.audit
        if audit.lower > self.budget:
            return _too_small(self.family, self.query, self.budget, unit)
        value = f"{self.chosen.parameter} = {loudest.value:g}"
        return (
            f"no {self.family} noise on {self.query} could be certified to leak at most {self.budget:g} {unit}: with "
            f"{value} it leaks {audit.lower:.3g} to {audit.upper:.3g}, and no bound is closer; give a larger leakage "
            "or more time, or use dl.mechanisms.constant(query), which leaks nothing"
        )

    def _proof(self, best: Tried, below: list[Tried]) -> float | None:
        """Where to look, in doubling steps, for a level near the best that provably leaks too much."""
        proved = next((t for t in below if t.audit.lower > self.budget), None)
        end = self.chosen.quietest(self.query) if proved is None else proved.level
        undecided = [t for t in below if t.level > end]
        level = best.level - max(self.accuracy, 2 * (best.level - undecided[-1].level)) if undecided else end
        return level if level > end else None

    def _secant(self, best: Tried, low: Tried) -> float:
        """Where the line through the two levels nearest to the budget meets it; or the middle."""
        near = sorted(self.tried, key=lambda t: abs(t.excess(self.budget)))[:2]
        (s, f), (t, g) = ((point.level, point.excess(self.budget)) for point in near)
        if len(self.tried) % 3 == 0 or not (f - g) * (s - t) < 0:
            return 0.5 * (best.level + low.level)
        return s - f * (t - s) / (g - f)

    def _result(self, stopped: Literal["accuracy", "time_limit", "interrupted"]) -> Calibration:
        best = self.best
        if best is None and stopped == "interrupted":
            raise KeyboardInterrupt
        if best is None:
            message = (
                f"no {self.family} noise was certified to leak at most {self.budget:g} {self.adversary['unit']} within "
                f"{self.deadline.time_limit:g} s; allow more time (time_limit=) or a larger leakage"
            )
            raise InputError(message)
        proved = (t.value for t in self._below(best) if t.audit.lower > self.budget)
        mechanism = best.audit.mechanism
        return Calibration(
            family=self.family,
            parameter=self.chosen.parameter,
            value=best.value,
            mechanism=mechanism,
            leakage=best.audit,
            budget=self.budget,
            distortion=mechanism.expected_distortion(),
            too_little=next(proved, None),
            stopped=stopped,
            quietest=best.level <= self.chosen.quietest(self.query),
            accuracy=self.accuracy,
            audits=self.audits,
            seconds=self.deadline.seconds,
        )


def _family(name: str) -> Family:
    if str(name) in FAMILIES:
        return FAMILIES[str(name)]
    close = difflib.get_close_matches(str(name), FAMILIES, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    message = f"there is no family {name!r}; {hint}it must be one of {', '.join(FAMILIES)}"
    raise InputError(message)


def _too_small(family: str, query: Query, budget: float, unit: str) -> str:
    return (
        f"leakage = {budget:g} {unit} is too small for {family} noise on {query}: no such noise can be certified "
        "to leak so little; give a larger leakage, or use dl.mechanisms.constant(query), which leaks nothing"
    )


def _positive(sensitivity: float) -> float:
    """The scale of the noise; 1 for a query with a single answer."""
    return sensitivity if sensitivity > 0 else 1.0


def _printer(mechanism: Mechanism) -> Callable[[Progress], None]:
    """Return a line on standard error with the parameter at hand."""

    def report(at: Progress) -> None:
        sys.stderr.write(f"\r{mechanism.name}: [{at.lower:.6f}, {at.upper:.6f}] nats {at.seconds:.1f} s ")
        sys.stderr.flush()

    return report
