"""What `import dalenius as dl` offers: audit, curve, design, frontier, verify, load."""

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dalenius.auditing.all_records import audit_records
from dalenius.auditing.one_secret import WarmStart
from dalenius.designing import rate_distortion
from dalenius.designing.cutting_planes import Problem
from dalenius.designing.designer import Designer
from dalenius.designing.oracle import Attack
from dalenius.errors import InputError
from dalenius.gallery import mechanisms
from dalenius.model import checks
from dalenius.model import secret as secrets
from dalenius.model.adversary import Adversary
from dalenius.model.distortion import Distortion
from dalenius.model.mechanism import Mechanism
from dalenius.model.query import Query
from dalenius.model.real import Real
from dalenius.model.reference import Reference
from dalenius.model.secret import Secret
from dalenius.paper.answers import paper_audit_answer, paper_design_answer
from dalenius.paper.choices import Reading, reading_from, repairs_from
from dalenius.paper.method import check_designable, search_leakage, search_mechanism
from dalenius.reductions.symmetry import check_size, reduce
from dalenius.results import checking
from dalenius.results.answers import Run, audit_answer, design_answer
from dalenius.results.archive import load_any
from dalenius.results.audit import NATS_PER_UNIT, Audit, Curve
from dalenius.results.design import Design, Frontier, NamedPoint
from dalenius.results.real_answers import real_answer
from dalenius.search.deadline import Deadline, Progress
from dalenius.settings import DEFAULT

Method = Literal["certified", "paper"]

METHODS = get_args(Method)
MOST_POINTS = 10_000  # of a frontier
LEAST_TOLERANCE = 1e-300  # a share of less would vanish in floats
SOLVER_SHARE = 0.9  # the solver closes to this share of the tolerance; the rest is for rounding
LEAST_SLACK = 1e-12  # relative: a distortion budget this close below the least possible one means it
NAMED = {  # parameters at which a frontier shows the families of the gallery
    "symmetric": ("flip", (0.1, 0.25, 0.5, 0.75)),
    "geometric": ("epsilon", (0.5, 1.0, 2.0, 4.0)),
    "laplace": ("epsilon", (0.5, 1.0, 2.0, 4.0)),
    "exponential": ("epsilon", (1.0, 2.0, 4.0, 8.0)),
    "gaussian": ("sigma", (0.4, 0.7, 1.2, 2.0)),
}


def audit(  # noqa: PLR0913 - the public surface
    mechanism: Mechanism,
    entropy: float | None = None,
    knowledge: float | None = None,
    *,
    unit: str = "nats",
    secret: object = None,
    reference: object = None,
    method: Method = "certified",
    repairs: Iterable[str] | None = None,
    reading: Reading | None = None,
    tolerance: float = 1e-6,
    time_limit: float = 60.0,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    verify: checking.Verify = "auto",
) -> Audit:
    """Return a certified bracket on L(b) = max_i max { I(X_i;Y) : H(X) >= b }.

    Give exactly one of `entropy` (b) and `knowledge` (log|X| - b). `tolerance` is the gap to reach, in
    `unit`; after `time_limit` seconds, or Ctrl-C, the best bracket so far is returned. `progress` is a
    callable that is told the bracket on the way, or True for a line on standard error.

    verify: whether the certificate is checked at once, within the time limit. "auto" checks it where the estimate is at
    most 0.1 s or a fifth of the time that the audit took. `verified` of the answer says whether it was checked; its
    method `verify` checks it later. Where it is to be checked, a tenth of the time limit is kept for that.

    secret: what is to stay hidden, in place of every single record. The index of a record; a list of indices, whose
    records are one secret together; a function of the dataset (called with a tuple of the records' values), a Query on
    the same records, or a numpy array with one value per dataset.

    reference: what everybody knows beforehand, a prior rho in place of the uniform one: the adversary holds any p with
    D(p || rho) <= knowledge. One law for all (independent) records, one law per record, one weight per dataset, or
    pandas data: a column, whose values 0..k-1 (or category codes) make the law of every record, or a frame with one
    column per record. Give `knowledge` with it; log(1/rho_min) or more means no constraint.

    method="paper" is the paper's Algorithm 1 from 20 random starts on all datasets: a local search, so that only
    `lower` is proved, and `upper` is the trivial bound. repairs: which corrections of the paper's text are made by
    choice. None: those of wrong formulas, "gradient" and "entropy_share"; (): none, the text as it is printed wherever
    it can run; or names out of these and "escort", "hinge", "penalty_owner". reading: how Algorithms 9 and 10 of a
    design share their penalty, "proof" (default) or "strict".
    """
    question = _question(
        mechanism,
        unit=unit,
        secret=secret,
        reference=reference,
        method=method,
        repairs=repairs,
        reading=reading,
        tolerance=tolerance,
        time_limit=time_limit,
        seed=seed,
        progress=progress,
    )
    checking.check_option(verify)
    began = time.monotonic()
    searching = replace(question, time_limit=checking.searching(time_limit, verify))
    answer = searching.answer(entropy, knowledge)
    return checking.checked(answer, verify, time_limit - (time.monotonic() - began))


@dataclass(frozen=True, eq=False)
class _Question:
    """An audit but for the adversary, checked, and what was found for other adversaries."""

    mechanism: Mechanism
    secret: Secret | None
    reference: Reference
    unit: str
    method: Method
    repairs: frozenset[str]
    tolerance: float
    time_limit: float
    seed: int
    report: Callable[[Progress], None] | None
    known: dict[int, WarmStart] = field(default_factory=dict)

    def answer(self, entropy: float | None, knowledge: float | None) -> Audit:
        mechanism, secret, rho, unit = self.mechanism, self.secret, self.reference, self.unit
        adversary = Adversary.from_user(
            mechanism.records, entropy=entropy, knowledge=knowledge, unit=unit, reference=rho
        )
        with Deadline(self.time_limit, self.report) as deadline, np.errstate(all="ignore"):
            run = Run(unit, self.tolerance, self.seed, deadline)
            if self.method == "paper":
                found = search_leakage(mechanism, adversary, deadline, self.seed, self.repairs)
                return paper_audit_answer(mechanism, adversary, found, run)

            def certified(channel: Mechanism, gap: float, deadline: Deadline) -> Audit:
                known = self.known if channel is mechanism else None
                found = audit_records(
                    channel, adversary.knowledge, gap, deadline, self.seed, secret=secret, reference=rho, known=known
                )
                return audit_answer(channel, adversary, found, run, secret)

            if isinstance(mechanism, Real):
                return real_answer(mechanism, certified, run)
            return certified(mechanism, SOLVER_SHARE * self.tolerance * NATS_PER_UNIT[unit], deadline)


def _question(  # noqa: PLR0913 - as audit
    mechanism: Mechanism,
    *,
    unit: str,
    secret: object,
    reference: object,
    method: Method,
    repairs: Iterable[str] | None,
    reading: str | None,
    tolerance: float,
    time_limit: float,
    seed: int,
    progress: bool | Callable[[Progress], None],
) -> _Question:
    """Check what `audit` and `curve` are asked."""
    _check_method(method)
    chosen, _ = _choices(method, repairs, reading)
    if not isinstance(mechanism, Mechanism):
        message = (
            f"audit needs a Mechanism, not {type(mechanism).__name__}; see dl.mechanisms or dl.Mechanism.from_matrix"
        )
        raise InputError(message)
    if method == "paper":
        _check_paper(secret=secret, reference=reference)
    about = None if secret is None else secrets.from_user(secret, mechanism.records)
    rho = Reference.from_user(reference, mechanism.records)
    rho.check(mechanism.statistic)
    _limits(tolerance, time_limit, seed)
    return _Question(mechanism, about, rho, unit, method, chosen, tolerance, time_limit, seed, _report(progress))


def _print_progress(progress: Progress) -> None:
    bracket = f"[{progress.lower:.6f}, {progress.upper:.6f}]"
    sys.stderr.write(f"\r{progress.stage}: {bracket} {progress.nodes} nodes {progress.seconds:.1f} s ")
    sys.stderr.flush()


def curve(mechanism: Mechanism, entropies: Iterable[float], **options: Any) -> Curve:  # noqa: ANN401 - as audit
    """Return L(b) at each entropy b, each point a bracket; options as for `audit`, but for `verify`.

    The certificates of the points are not checked: call `verify` of the audits that you rely on.
    """
    if "verify" in options:
        message = (
            "a curve does not check its points; call verify() of those that you rely on, as curve.audits[0].verify()"
        )
        raise InputError(message)
    try:
        points = [checks.real("an entropy", b, -math.inf, math.inf) for b in entropies]
    except TypeError:
        message = f"entropies = {entropies!r} must list values of b, such as [0, 0.5, 1]"
        raise InputError(message) from None
    if not points:
        message = "entropies is empty; give at least one value of b"
        raise InputError(message)
    defaults = {name: value for name, value in (audit.__kwdefaults__ or {}).items() if name != "verify"}
    question = _question(mechanism, **{**defaults, **options})
    return Curve(tuple(points), tuple(question.answer(b, None) for b in points))


def design(  # noqa: PLR0913 - the public surface
    query: Query,
    *,
    distortion: float | None = None,
    leakage: float | None = None,
    entropy: float | None = None,
    knowledge: float | None = None,
    unit: str = "nats",
    reference: object = None,
    p0: ArrayLike | None = None,
    measure: str | ArrayLike = "absolute",
    outputs: Sequence[object] | None = None,
    method: Method = "certified",
    repairs: Iterable[str] | None = None,
    reading: Reading | None = None,
    tolerance: float = 1e-4,
    time_limit: float = 300.0,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    verify: checking.Verify = "auto",
) -> Design:
    """Return the best mechanism for a query with a certified bracket on the optimum.

    Give exactly one budget. `distortion` D: the least leakage eps(D,b) at an expected distortion of at most D.
    `leakage` L (in `unit`): the least expected distortion D(L,b) at a leakage of at most L. The mechanism
    returned is certified to keep its budget.

    p0: how the data are distributed for the expected distortion: uniform by default, or one weight per dataset,
    or one per class of the query (uniform inside), or one list of probabilities per record (independent).
    measure: "absolute" |y - f(x)|, "squared", "zero-one", or a matrix with one row per class of the query and one
    column per output. outputs: what the mechanism may answer; default the query's range. `tolerance` is the
    gap to reach, in `unit` or in units of distortion; after `time_limit` seconds, or Ctrl-C, the best so far is
    returned. reference: what everybody knows beforehand, as for `audit`; p0 stays what it is. verify: as for `audit`.

    method="paper" is the paper's Algorithm 6 or 9 from 5 random starts. Nothing is proved of the optimum but the
    upper bound. The mechanism has a certified audit, which shows what it leaks; that may be more than the leakage
    budget, and then `kept` is false. A mechanism that Algorithm 6 returns beyond its distortion budget is moved
    towards the noiseless one until it keeps it. repairs, reading: as for `audit`.
    """
    _check_method(method)
    chosen, read = _choices(method, repairs, reading)
    task = _task(query, measure, outputs, p0)
    if (distortion is None) == (leakage is None):
        how = "neither was given" if distortion is None else "both were given"
        message = f"give exactly one of distortion and leakage, the budget to keep; {how}"
        raise InputError(message)
    rho = Reference.from_user(reference, query.records)
    adversary = Adversary.from_user(query.records, entropy=entropy, knowledge=knowledge, unit=unit, reference=rho)
    gap, limit = _limits(tolerance, time_limit, seed)
    checking.check_option(verify)
    if method == "paper":
        _check_paper(reference=reference)
        check_designable(task)
    alone = method == "certified" and rate_distortion.possible(query.n, adversary.knowledge)
    if alone:
        domain = reduce(task, rho, symmetric=False, most=DEFAULT.designing.rate_pairs)
    else:
        domain = reduce(task, rho, symmetric=method == "certified")
    if leakage is not None:
        budget = checks.real("leakage", leakage, 0.0, math.inf)
        problem = Problem(domain, adversary.knowledge, "distortion", budget * NATS_PER_UNIT[unit])
    else:
        budget = checks.real("distortion", distortion, 0.0, math.inf)
        problem = Problem(domain, adversary.knowledge, "leakage", budget)
        _check_possible(problem, task)
        gap *= NATS_PER_UNIT[unit]
    if alone and not rate_distortion.applies(problem):
        check_size(domain.statistic.size, task)
    with Deadline(checking.searching(limit, verify), _report(progress)) as deadline, np.errstate(all="ignore"):
        run = Run(unit, tolerance, seed, deadline)
        if method == "paper":
            found = search_mechanism(
                problem,
                task,
                adversary,
                tolerance=SOLVER_SHARE * gap,
                deadline=deadline,
                seed=seed,
                repairs=chosen,
                reading=read,
            )
            answer = paper_design_answer(task, adversary, problem, found, budget=budget, run=run)
        else:
            designed, _ = Designer(problem, task, SOLVER_SHARE * gap, deadline, seed).solve()
            answer = design_answer(task, adversary, problem, designed, budget=budget, run=run)
    return checking.checked(answer, verify, limit - deadline.seconds)


def frontier(  # noqa: PLR0913 - the public surface
    query: Query,
    entropy: float | None = None,
    knowledge: float | None = None,
    *,
    points: int = 20,
    unit: str = "nats",
    reference: object = None,
    p0: ArrayLike | None = None,
    measure: str | ArrayLike = "absolute",
    outputs: Sequence[object] | None = None,
    tolerance: float = 1e-3,
    time_limit: float = 300.0,
    seed: int = 0,
    named: bool = True,
    progress: bool | Callable[[Progress], None] = False,
) -> Frontier:
    """Return the least leakage against the distortion budget, each point a design, with named mechanisms beside it.

    `points` budgets from the least possible distortion to that of the best constant, each design starting from
    the priors of the one before. With `named`, mechanisms of the gallery are audited and placed on the same axes
    (where outputs are the query's range). `time_limit` is for everything together: what it leaves no time for is left
    out; other options as for `design`.
    """
    task = _task(query, measure, outputs, p0)
    rho = Reference.from_user(reference, query.records)
    adversary = Adversary.from_user(query.records, entropy=entropy, knowledge=knowledge, unit=unit, reference=rho)
    gap, limit = _limits(tolerance, time_limit, seed)
    many = checks.whole("points", points, 2)
    if many > MOST_POINTS:
        message = f"points = {many} is above the limit of {MOST_POINTS}"
        raise InputError(message)
    checks.flag("named", named)
    domain = reduce(task, rho)
    first = Problem(domain, adversary.knowledge, "leakage", 0.0)
    budgets = np.linspace(first.least, first.distortion(first.constant()), many)
    families = _gallery(task) if named else []
    designs: list[Design] = []
    known: tuple[Attack, ...] = ()
    with Deadline(limit, _report(progress)) as deadline, np.errstate(all="ignore"):
        for k, budget in enumerate(budgets.tolist()):
            problem = Problem(domain, adversary.knowledge, "leakage", budget)
            part = Deadline(deadline.left / (many - k + len(families) / 4), parent=deadline)
            designer = Designer(problem, task, SOLVER_SHARE * gap * NATS_PER_UNIT[unit], part, seed)
            designed, known = designer.solve(known)
            run = Run(unit, tolerance, seed, part)
            designs.append(design_answer(task, adversary, problem, designed, budget=budget, run=run))
            deadline.report_progress(
                k, many, designs[-1].certificate.lower, designs[-1].certificate.upper, f"point {k + 1}"
            )
            if deadline.expired():
                break
        audited = []
        for k, (family, mechanism) in enumerate(families):
            if deadline.expired():
                break
            part = Deadline(deadline.left / (len(families) - k), parent=deadline)
            fine = 0.1 * gap * NATS_PER_UNIT[unit]
            found = audit_records(mechanism, adversary.knowledge, fine, part, seed, reference=rho)
            answer = audit_answer(mechanism, adversary, found, Run(unit, tolerance, seed, part))
            audited.append(NamedPoint(str(mechanism.name), family, task.expected(mechanism), answer, mechanism))
            deadline.report_progress(
                k, len(families), answer.certificate.lower, answer.certificate.upper, str(mechanism.name)
            )
    return Frontier(query, tuple(designs), tuple(audited))


def _gallery(task: Distortion) -> list[tuple[str, Mechanism]]:
    """Named mechanisms of a query; none where the outputs are not its range."""
    found: list[tuple[str, Mechanism]] = []
    if task.outputs != task.query.outputs or len(task.outputs) == 1:
        return found
    for family, (parameter, values) in NAMED.items():
        if not task.query.numeric and family not in ("symmetric", "exponential"):
            continue
        build = getattr(mechanisms, family)
        found += [(family, build(task.query, **{parameter: value})) for value in values]
    return found


def _task(query: Query, measure: str | ArrayLike, outputs: Sequence[object] | None, p0: ArrayLike | None) -> Distortion:
    if not isinstance(query, Query):
        message = f"design needs a Query, not {type(query).__name__}; see dl.queries"
        raise InputError(message)
    return Distortion.from_user(query, measure, outputs, p0)


def _check_possible(problem: Problem, task: Distortion) -> None:
    if problem.budget < problem.least * (1 - LEAST_SLACK):
        message = (
            f"distortion = {problem.budget:g} is below {problem.least:.9g}, the least that any mechanism for "
            f"{task.query} with these outputs can have; allow at least that much, or more outputs"
        )
        raise InputError(message)


def _check_method(method: str) -> None:
    checks.choice("method", method, METHODS)


def _choices(method: Method, repairs: Iterable[str] | None, reading: str | None) -> tuple[frozenset[str], Reading]:
    """Check how the paper's text is to be run; only method="paper" runs it."""
    if method != "paper" and (repairs is not None or reading is not None):
        name = "repairs" if repairs is not None else "reading"
        message = f'{name} says how the paper\'s text is run; give it with method="paper", or leave it out'
        raise InputError(message)
    names = repairs_from(repairs)
    return names, reading_from(reading, names)


def _check_paper(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            message = (
                f"the paper's method knows single records and the uniform prior only, no {name}=; "
                'use method="certified"'
            )
            raise InputError(message)


def _limits(tolerance: float, time_limit: float, seed: int) -> tuple[float, float]:
    checks.whole("seed", seed, 0)
    return (
        checks.real("tolerance", tolerance, LEAST_TOLERANCE, math.inf),
        checks.real("time_limit", time_limit, 0.0, math.inf, open_low=True),
    )


def _report(progress: bool | Callable[[Progress], None]) -> Callable[[Progress], None] | None:  # noqa: FBT001 - as given
    if callable(progress):
        return progress
    return _print_progress if checks.flag("progress", progress) else None


def load(path: str | os.PathLike[str], *, verify: bool = False) -> Audit | Design:
    """Read what `audit.save` or `design.save` wrote.

    A file whose bounds, mechanism, adversary, secret or budget are not those of the certificate inside it is refused.
    With verify=True the certificate is re-checked too: `verified` is then True, and a file whose certificate proves
    nothing is refused; else `verified` is None. What the certificate does not carry (extremes, brackets of other
    records, labels, history, seconds) is as the file says, and reports say so.
    """
    return load_any(path, verify=verify)
