"""Audits of many mechanisms in one call: all are checked first, then several processes take parts of the list."""

import contextlib
import math
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, cast

from dalenius.api.audits import audit, options_of, solve
from dalenius.certificates import certificate as certificates
from dalenius.errors import InputError, refuse
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import AuditProblem
from dalenius.results import answers
from dalenius.results.audit import Audit
from dalenius.results.options import Options, adversary_of, audit_problem, check_named, checked_mechanism
from dalenius.search.deadline import Deadline
from dalenius.search.helper import Helper, NoAnswerError, cores

# What one audit came to; and some audits of a list, with how they are searched for and checked.
Answer = Audit | Exception
Part = tuple[list[AuditProblem], Options, answers.Verify]
# Audits that a process takes at a time.
PART = 16


def audit_many(
    mechanisms: Iterable[Mechanism],
    *bare: object,
    entropy: float | Iterable[float] | None = None,
    knowledge: float | Iterable[float] | None = None,
    jobs: int | None = None,
    **options: Any,
) -> list[Audit]:
    """Audit many mechanisms on all cores: each result is that of `audit`.

    Every mechanism and every limit is checked before the first audit.

    Args:
        mechanisms: what is released, one audit each.
        bare: not used; a second number without a name is refused.
        entropy: as for `audit`: one number for all, or a list with one for each mechanism; or
        knowledge: as for `audit`, likewise.
        jobs: processes that share the list, one per core by default; a short list stays in this process. Results do not
            depend on it.
        options: as for `audit`, the same for all: `tolerance`, `secret`, `reference`, `verify` and so on. `time_limit`
            and `nodes` are limits of each audit by itself. `progress` is told of every audit that has ended.

    Returns:
        A list of Audits in the order of the mechanisms. After Ctrl-C audits that were not finished have the best
        bracket so far, and `stopped` is "interrupted".

    Raises:
        InputError: as for `audit`; the message begins with the index of the mechanism at fault.

    Example:
        >>> query = dl.queries.count(n=4)
        >>> mechanisms = [dl.mechanisms.geometric(query, epsilon=epsilon) for epsilon in (0.5, 1)]
        >>> for audit in dl.audit_many(mechanisms, knowledge=0.5):
        ...     print(audit)
        <Audit 0.130276 <= L <= 0.130277 nats at knowledge <= 0.5: record 0, proved both, stopped by gap>
        <Audit 0.311312 <= L <= 0.311318 nats at knowledge <= 0.5: record 0, proved both, stopped by gap>
    """
    check_named(bare, "dl.audit_many(mechanisms")
    if unknown := options.keys() - (audit.__kwdefaults__ or {}).keys():
        message = f"audit_many() got an unexpected keyword argument {min(unknown)!r}"
        raise TypeError(message)
    wanted, question = options_of(options)
    reference, secret, verify = (question[name] for name in ("reference", "secret", "verify"))
    answers.check_option(verify)
    workers = cores() if jobs is None else checks.jobs(jobs)
    asked = _listed(mechanisms)
    limits = {"entropy": _each("entropy", entropy, len(asked)), "knowledge": _each("knowledge", knowledge, len(asked))}
    problems = []
    for k, mechanism in enumerate(asked):
        with _named(k):
            checked_mechanism(mechanism)
            limit = {name: values[k] for name, values in limits.items()}
            against = adversary_of(mechanism, wanted, reference=reference, adversary=question["adversary"], **limit)
            problems.append(audit_problem(mechanism, wanted, against, secret))
    return _Many(problems, wanted, verify).run(workers)


def _listed(mechanisms: Iterable[Mechanism]) -> list[Mechanism]:
    try:
        return list(mechanisms)
    except TypeError:
        refuse(
            f"audit_many needs a list of mechanisms, not {type(mechanisms).__name__}; for one mechanism, call dl.audit"
        )


def _each(name: str, given: float | Iterable[float] | None, many: int) -> list[Any]:
    """One value for each mechanism, from one for all or a list."""
    try:
        values: list[Any] = list(given)  # type: ignore[arg-type] # what is not a list is for all
    except TypeError:
        return [given] * many
    if len(values) != many:
        refuse(f"{name} lists {len(values)} values for {many} mechanisms; give one value for all, or one for each")
    return values


@contextlib.contextmanager
def _named(k: int) -> Iterator[None]:
    """Say which mechanism an error is about."""
    try:
        yield
    except InputError as error:
        refuse(f"mechanism {k}: {error}")


class _Many:
    """A list of audits on its way: parts of it wait, and whoever is free takes the next."""

    def __init__(self, problems: list[AuditProblem], options: Options, verify: answers.Verify) -> None:
        self.problems, self.options, self.verify = problems, options, verify
        self.answers: dict[int, Answer] = {}
        self.parts = deque(range(k, min(k + PART, len(problems))) for k in range(0, len(problems), PART))

    def run(self, jobs: int) -> list[Audit]:
        """Answer all; the first that is refused is raised, with its index."""
        helpers = [Helper() for _ in range(min(jobs, len(self.parts)) - 1)]
        lanes = [threading.Thread(target=self._lend, args=(helper,), daemon=True) for helper in helpers]
        with Deadline(math.inf, self.options.report) as self.whole:
            try:
                for lane in lanes:
                    lane.start()
                # A part whose process died is back among those that wait.
                while self.parts or any(lane.is_alive() for lane in lanes):
                    self._work()
                    for lane in lanes:
                        lane.join(0.02)
                    if self.whole.interrupted:
                        for helper in helpers:
                            helper.end()
            finally:
                for helper, lane in zip(helpers, lanes, strict=True):
                    helper.end()
                    lane.join()
                    helper.close()
        for k, answer in sorted(self.answers.items()):
            if isinstance(answer, Exception):
                with _named(k):
                    raise answer
        return [cast("Audit", self.answers[k]) for k in range(len(self.problems))]

    def _next(self) -> range | None:
        with contextlib.suppress(IndexError):
            return self.parts.popleft()
        return None

    def _given(self, part: range) -> Part:
        return [self.problems[k] for k in part], replace(self.options, report=None), self.verify

    def _work(self) -> None:
        """Take parts until none is left."""
        while (part := self._next()) is not None:
            for k, answer in zip(part, answered(self._given(part), self.whole), strict=True):
                self._keep(k, answer)

    def _lend(self, helper: Helper) -> None:
        """Let another process take parts until none is left; what it does not answer is done here."""
        while not self.whole.interrupted and (part := self._next()) is not None:
            try:
                found = helper.call(answered_there, self._given(part))
            except NoAnswerError:
                self.parts.appendleft(part)
                return
            for k, (answer, accepted) in zip(part, found, strict=True):
                if isinstance(answer, Audit):
                    # Our own process made it: it is ours as much as if it had been made here.
                    certificates.note(answer.certificate)
                    if accepted:
                        certificates.note_accepted(answer)
                self._keep(k, answer)

    def _keep(self, k: int, answer: Answer) -> None:
        self.answers[k] = answer
        if isinstance(answer, Audit):
            proved = answer.certificate
            self.whole.report_progress(k, len(self.problems), proved.lower, proved.upper, f"mechanism {k}")


def answered_there(part: Part) -> list[tuple[Answer, bool]]:
    """Answer a part in a process of its own, with whether the verifier has accepted each answer there."""
    with Deadline(math.inf) as whole:
        answers = list(answered(part, whole))
    return [(answer, isinstance(answer, Audit) and answer.verified is True) for answer in answers]


def answered(part: Part, whole: Deadline) -> Iterator[Answer]:
    """Answer the audits of a part, one after the other; once they are interrupted, each with what a moment finds."""
    problems, options, verify = part
    limited = replace(options, time_limit=answers.searching(options.time_limit, verify))
    for problem in problems:
        try:
            found = solve(problem, limited, interrupted=whole.interrupted)
            yield answers.checked(found, verify, options.time_limit - found.seconds)
        except InputError as error:
            yield error
