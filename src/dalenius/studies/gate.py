"""Gates for pipelines: is a release within its leakage budget? Decided by certified bounds alone.

[[check]]
name = "survey"
query = "count(n=4)"
mechanism = "geometric(epsilon=0.2)"
knowledge = 0.5
budget = 0.05
certificate = "survey-certificate.json"
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from dalenius.errors import InputError, nearest, refuse
from dalenius.model.files import not_a_page, obstacle
from dalenius.numerics.rounding import decimals, round_down, round_up
from dalenius.studies.checking import mismatch
from dalenius.studies.task import Answered, Number, Task, Text, Work, check_question, wrong_calls
from dalenius.studies.words import MOST_MISTAKES, Place, Source, mistakes_of

Verdict = Literal["kept", "exceeded", "undecided"]

# What a pipeline sees; of several checks the worst, in this order.
EXIT: dict[Verdict, int] = {"exceeded": 1, "undecided": 3, "kept": 0}


class Check(Task):
    """An audit with a budget, in the unit of the audit."""

    name: Text = Field("", description='a text; default "check 1" and so on, by position')
    budget: Number = Field(ge=0, description="a number of at least 0")
    certificate: Text | None = Field(None, description="the name of a file to write")


@dataclass(frozen=True)
class Checked:
    """What one check came to. The certificate proves both bounds."""

    name: str
    verdict: Verdict
    lower: float
    upper: float
    budget: float
    unit: str
    stopped: str
    confidence: float | None
    certificate: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, check: Check, found: Answered) -> "Checked":
        """Decide: kept only where the upper bound is within the budget, exceeded only where the lower one is above."""
        numbers = {name: found.numbers[name] for name in ("lower", "upper", "unit", "stopped")}
        numbers["confidence"] = found.numbers.get("confidence")
        verdict = verdict_of(numbers["lower"], numbers["upper"], check.budget)
        return cls(check.name, verdict, budget=check.budget, certificate=found.certificate, **numbers)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of one check."""
        names = ("name", "verdict", "lower", "upper", "budget", "unit", "stopped")
        sure = {} if self.confidence is None else {"confidence": self.confidence}
        return {name: getattr(self, name) for name in names} | sure

    def __str__(self) -> str:
        said = words(self.lower, self.upper, self.budget, self.unit, self.stopped, self.confidence)
        return f"{self.verdict:9}  {self.name}: {said}"


def verdict_of(lower: float, upper: float, budget: float) -> Verdict:
    """Return whether a bracket lies within the budget, above it, or on both sides."""
    return "kept" if upper <= budget else "exceeded" if lower > budget else "undecided"


def words(  # noqa: PLR0917 - a bracket, its budget, and how it was found
    lower: float, upper: float, budget: float, unit: str, stopped: str, confidence: float | None = None
) -> str:
    """Return a bracket beside its budget, digits rounded outward, and what to do where it decides nothing."""
    digits = decimals(upper)
    low, high = round_down(lower, digits), round_up(upper, digits)
    sure = "" if confidence is None else f" with confidence {confidence:.12g}"
    # More work helps only where a limit ended it.
    more = {
        "gap": "the bracket is as narrow as its tolerance: give a smaller one",
        "nearly": "the bracket is nearly as narrow as it can be: give it more noise",
        "method": "every bound that applies was tried: give it more noise",
    }.get(stopped, f"not decided within the limits (stopped by {stopped}): give it more time or nodes, or more noise")
    if confidence is not None:
        more = "draw more samples, or give it more noise: samples never show that a budget is exceeded"
    sentences: dict[Verdict, str] = {
        "kept": f"leaks at most {high} {unit}{sure}, the budget is {budget:.9g}",
        "exceeded": f"leaks at least {low} {unit}, the budget is {budget:.9g}",
        "undecided": f"leaks between {low} and {high} {unit}{sure}, the budget is {budget:.9g}; {more}",
    }
    return sentences[verdict_of(lower, upper, budget)]


def read_checks(path: Path) -> list[tuple[Check, Work]]:
    """Read every check of a file; all mistakes are reported before any work starts."""
    source = Source.read(path)
    found = source.content.get("check")
    mistakes: list[tuple[Place, str]] = [
        ((name,), f"there is no table [{name}]; {nearest(name, ('check',))}")
        for name in list(source.content)[:MOST_MISTAKES]
        if name != "check"
    ]
    if not isinstance(found, list) or not found:
        mistakes.append((("check",), "there is no check; write [[check]] on a line, and its keys below"))
        raise source.refuse(mistakes)
    checks = []
    for number, table in enumerate(found):
        if len(mistakes) > MOST_MISTAKES:
            break
        place = ("check", number)
        try:
            check = Check.model_validate(table)
            check = check if "name" in table else check.model_copy(update={"name": f"check {number + 1}"})
            work = Work.read(check, path.parent)
            wrong = [((*place, key), sentence) for key, sentence in wrong_calls(check)]
            mistakes += wrong
            if check.task == "audit" and not wrong:
                check_question(work)
            _check_target(check, path.parent)
        except ValidationError as error:
            mistakes += mistakes_of(error, Check, place)
        except InputError as error:
            mistakes.append((place, str(error)))
        else:
            if check.task != "audit":
                mistakes.append(((*place, "task"), f"a check is an audit with a budget, not a {check.task}"))
            checks.append((check, work))
    names = [check.name for check, _ in checks]
    mistakes += [
        (("check", k, "name"), f"two checks are called {name!r}") for k, name in enumerate(names) if name in names[:k]
    ]
    if mistakes:
        raise source.refuse(mistakes)
    return checks


def _check_target(check: Check, folder: Path) -> None:
    """Refuse a certificate that could not be written, before any work."""
    if check.certificate is None:
        return
    target = folder / check.certificate
    if problem := obstacle(target) or not_a_page(target):
        refuse(f"certificate = {check.certificate!r}: {problem}")
    if not target.parent.is_dir():
        refuse(f"certificate = {check.certificate!r}: there is no directory {target.parent}; make it first")


def run_checks(checks: Sequence[tuple[Check, Work]]) -> Iterator[Checked]:
    """Answer check by check, until Ctrl-C. Each certificate is verified, and written where the check asks for it."""
    from dalenius.certificates.certificate import Certificate
    from dalenius.results.options import DAY, MINUTE
    from dalenius.verifier.verify import verify_here

    for check, work in checks:
        answer = work.answer()
        checked = Checked.of(check, answer)
        # As the search, its check is not to depend on how busy the machine is where the limit is in nodes.
        verdict = verify_here(checked.certificate, time_limit=DAY if check.nodes is not None else MINUTE)
        reason = mismatch(work, answer.numbers, answer.certificate) if verdict.verified else verdict.reason
        if reason:
            refuse(f"the certificate of {check.name!r} was not accepted: {reason}; nothing is decided by it")
        if check.certificate is not None:
            Certificate(checked.certificate).save(work.folder / check.certificate)
        yield checked
        if checked.stopped == "interrupted":
            return


def checked_budget(budget: float) -> float:
    """Refuse a budget that no leakage can be compared with."""
    if not budget >= 0 or math.isinf(budget):
        refuse(f"--at-most {budget:g}: a budget is a finite number of at least 0")
    return budget


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """Return 1 where some budget is exceeded, else 3 where some check is undecided, else 0."""
    return next((code for verdict, code in EXIT.items() if verdict in verdicts), 0)
