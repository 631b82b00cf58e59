"""What `import dalenius as dl` offers: audit, curve, design, frontier, verify, load."""

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalenius.auditing.evidence import by_records
from dalenius.auditing.one_record import one_record, tiny
from dalenius.auditing.one_secret import WarmStart
from dalenius.auditing.roads import find
from dalenius.designing import rate_distortion
from dalenius.designing.cutting_planes import Problem
from dalenius.designing.designer import Designer
from dalenius.designing.one_record import least_leakage
from dalenius.designing.oracle import Attack
from dalenius.designing.rate_distortion import RateSearch
from dalenius.errors import InputError, show
from dalenius.model import checks, storage
from dalenius.model.adversary import Adversary
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.distortion import Distortion
from dalenius.model.gallery.families import shown_on_frontiers
from dalenius.model.problem import AuditProblem, DesignProblem
from dalenius.model.query import Query
from dalenius.reductions.symmetry import Domain, beside, check_size, symmetrise
from dalenius.results import checking
from dalenius.results.answers import audit_answer, design_answer
from dalenius.results.archive import Saved, result_of
from dalenius.results.audit import Audit, Curve
from dalenius.results.design import Design, Frontier, NamedPoint
from dalenius.results.options import (
    Method,
    MethodName,
    Options,
    adversary_of,
    audit_problem,
    check_named,
    checked_mechanism,
    design_problem,
    distortion_of,
    entropies_of,
    method_of,
)
from dalenius.search.crew import Crew
from dalenius.search.deadline import Deadline, Progress
from dalenius.settings import DEFAULT, Settings

if TYPE_CHECKING:
    from dalenius.studies.study import Study
    from dalenius.tools.ledger import Ledger


def audit(  # noqa: PLR0913 - the public surface
    mechanism: Mechanism,
    *bare: object,
    entropy: float | None = None,
    knowledge: float | None = None,
    adversary: Literal["bounded", "independent"] = "bounded",
    unit: str = "nats",
    secret: object = None,
    reference: object = None,
    method: MethodName | Method = "certified",
    repairs: Iterable[str] | None = None,
    reading: Literal["proof", "strict"] | None = None,
    tolerance: float = 1e-6,
    relative: float = 0.0,
    nodes: int | None = None,
    jobs: object = 1,
    time_limit: float | None = None,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    verify: checking.Verify = "auto",
    settings: Settings | None = None,
) -> Audit:
    """Bound the leakage of a mechanism from both sides, with a certificate.

    The leakage is L(b) = max_i max { I(X_i;Y) : H(X) >= b }, the most that any adversary of limited knowledge learns
    about a record from the output. Give exactly one of `entropy` and `knowledge`, by its name, or
    adversary="independent".

    Args:
        mechanism: what is released.
        bare: not used; a second number without a name raises InputError.
        entropy: least entropy b of the adversary's prior.
        knowledge: most that the adversary knows, log|X| - b; with a reference, D(p || reference) <= knowledge.
        adversary: "bounded" for the above; "independent" for any prior under which the records are independent. With
            `reference` the other records then follow that product law exactly, and with `knowledge` the prior is also
            in the ball, where the bracket may stay open. Single records only.
        unit: "nats" or "bits", for every amount of information that goes in or comes out, including the tolerance.
        secret: what is to stay hidden, instead of every single record: the index of a record; a list of indices,
            whose records are one secret together; a function of the dataset (called with a tuple of the records'
            values); a Query on the same records; or a numpy array with one value per dataset.
        reference: what everybody knows, a prior instead of the uniform one: one law for all (independent) records, one
            law per record, one weight per dataset, or pandas data. Give `knowledge` with it.
        method: "certified", or "paper" for the paper's Algorithm 1 from 20 random starts on all datasets: a local
            search, so that only `lower` is proved and `upper` is the trivial bound. Or dl.paper.Method(starts=3), that
            method with other numbers.
        repairs: with method="paper", which optional corrections of the paper's text are made. None: those of wrong
            formulas, "gradient" and "entropy_share"; (): none; or names out of these and "escort", "hinge",
            "penalty_owner".
        reading: with method="paper", how Algorithms 9 and 10 of a design share their penalty, "proof" or "strict".
        tolerance: gap at which the search ends.
        relative: the search also ends at a gap of this share of the upper bound; 0.01 is one per cent.
        nodes: most nodes of trees, a limit that is the same on every machine.
        jobs: number of threads that bound the nodes of long trees. The certificate does not depend
            on it.
        time_limit: seconds after which the best bracket so far is returned; Ctrl-C does the same. 60 by default; with
            `nodes` and no time limit no clock decides.
        seed: seed of the random starts.
        progress: True for a line on standard error, or a function that receives the bracket on the way.
        verify: whether the certificate is checked at once, within the time limit: "auto" checks it where the estimate
            is at most 0.1 s or a fifth of the audit's own time; then a tenth of the time limit is kept for the check.
        settings: how hard, in which order and how finely to search. Settings change how narrow the bracket becomes,
            never what is proved.

    Returns:
        An Audit: `lower` and `upper`, the prior that attains `lower`, and the certificate.

    Raises:
        InputError: an argument is wrong, or the problem is too large. The message names what to change.

    Example:
        >>> mechanism = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
        >>> dl.audit(mechanism, knowledge=0.5)
        <Audit 0.311312 <= L <= 0.311313 nats at knowledge <= 0.5: record 0, proved both, stopped by gap>
        >>> dl.audit(mechanism, adversary="independent")
        <Audit 0.110944 <= L <= 0.110945 nats at independent records: record 0, proved both, stopped by gap>
    """
    options = Options.from_user(
        method_of(method, repairs=repairs, reading=reading),
        unit=unit,
        tolerance=tolerance,
        relative=relative,
        nodes=nodes,
        jobs=jobs,
        time_limit=time_limit,
        seed=seed,
        progress=progress,
        settings=settings,
    )
    checking.check_option(verify)
    check_named(bare, "dl.audit(mechanism")
    checked_mechanism(mechanism)
    against = adversary_of(
        mechanism, options, entropy=entropy, knowledge=knowledge, reference=reference, adversary=adversary
    )
    problem = audit_problem(mechanism, options, against, secret)
    began = time.monotonic()
    answer = solve(problem, options.within(checking.searching(options.time_limit, verify)))
    return checking.checked(answer, verify, options.time_limit - (time.monotonic() - began))


def solve(
    problem: AuditProblem,
    options: Options,
    known: dict[int, WarmStart] | None = None,
    *,
    interrupted: bool = False,
) -> Audit:
    """Answer an audit whose options are checked; its certificate is not.

    known: what was found against other adversaries of the same mechanism, secret and reference. interrupted: whether
    Ctrl-C came before the audit, which then has its first look.
    """
    if options.method is None and tiny(problem):
        # What takes no time needs no care for Ctrl-C, reports or other processes.
        deadline = Deadline(options.time_limit)
        quick = one_record(problem, deadline)
        if quick is not None:
            return audit_answer(problem, quick, options.run(deadline))
    crew = Crew(options.jobs)
    limits = Deadline(options.time_limit, options.report, most_nodes=options.nodes, crew=crew, interrupted=interrupted)
    with crew, limits as deadline, np.errstate(all="ignore"):
        run = options.run(deadline)
        if options.method is not None:
            return options.method.audit(problem, run)
        return audit_answer(problem, find(problem, deadline, options.seed, known), run)


def _curve_points(
    entropies: Iterable[float] | None, knowledges: Iterable[float] | None, options: dict[str, Any]
) -> tuple[str, Sequence[float]]:
    """Whether a curve is along entropies or knowledges, and its points; options that a curve has not are refused."""
    if "verify" in options:
        message = (
            "a curve does not check its points; call verify() on those you rely on, such as curve.audits[0].verify()"
        )
        raise InputError(message)
    checks.exactly_one(", the points of the curve", entropies=entropies, knowledges=knowledges)
    for name in ("entropy", "knowledge", "adversary"):
        if name in options:
            message = (
                f"a curve has its own {name}; leave {name} = {options[name]!r} out, and list knowledges or entropies"
            )
            raise InputError(message)
    if entropies is not None:
        return "entropy", entropies_of(entropies, "entropy")
    return "knowledge", entropies_of(() if knowledges is None else knowledges, "knowledge")


def curve(
    mechanism: Mechanism,
    entropies: Iterable[float] | None = None,
    *,
    knowledges: Iterable[float] | None = None,
    **options: Any,  # noqa: ANN401 - as audit
) -> Curve:
    """Bound the leakage along what the adversary may know: one audit per point.

    Args:
        mechanism: what is released.
        entropies: least entropies b of the adversary's prior; or
        knowledges: most that the adversary knows at each point. Give one of the two; with `reference`, knowledges.
        options: as for `audit`. A `time_limit` is for all points together; without one every point has 60 s.

    Returns:
        A Curve. The certificates of its points are not checked: call `verify` of the audits that you rely on. After
        Ctrl-C it holds the points up to there, `stopped` is "interrupted" and `missing` says how many are not there.

    Raises:
        InputError: as for `audit`; neither or both of entropies and knowledges were given.

    Example:
        >>> mechanism = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
        >>> dl.curve(mechanism, knowledges=[0.1, 0.2], tolerance=1e-4)
        <Curve of 2 points, H(X) >= 2.573 to 2.673: L from 0.206578 to 0.154915 nats, widest gap 1.2e-06>
    """
    what, points = _curve_points(entropies, knowledges, options)
    given = {**(audit.__kwdefaults__ or {}), **options}
    names = ("reference", "secret", "verify", "entropy", "knowledge", "adversary")
    reference, secret, *_ = (given.pop(name) for name in names)
    method = method_of(**{name: given.pop(name) for name in ("method", "repairs", "reading")})
    wanted = Options.from_user(method, **given)
    checked_mechanism(mechanism)
    limits = [(b, None) if what == "entropy" else (None, b) for b in points]
    adversaries = [adversary_of(mechanism, wanted, entropy=b, knowledge=k, reference=reference) for b, k in limits]
    first = audit_problem(mechanism, wanted, adversaries[0], secret)
    known: dict[int, WarmStart] = {}
    audits: list[Audit] = []
    began = time.monotonic()
    with Deadline(math.inf) as whole:
        for k, adversary in enumerate(adversaries):
            left = wanted.time_limit
            if options.get("time_limit") is not None:
                left = (wanted.time_limit - (time.monotonic() - began)) / (len(adversaries) - k)
            here = replace(wanted, time_limit=max(left, 1e-3))
            audits.append(solve(replace(first, adversary=adversary), here, known, interrupted=whole.interrupted))
            if whole.interrupted:
                break
    along = tuple(points[: len(audits)]) if what == "entropy" else tuple(a.entropy for a in audits)
    return Curve(along, tuple(audits), len(points) - len(audits), whole.interrupted)


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
    method: MethodName | Method = "certified",
    repairs: Iterable[str] | None = None,
    reading: Literal["proof", "strict"] | None = None,
    tolerance: float = 1e-4,
    relative: float = 0.0,
    time_limit: float = 300.0,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    verify: checking.Verify = "auto",
    settings: Settings | None = None,
) -> Design:
    """Find the best mechanism for a query, with a certified bracket on the optimum.

    Give exactly one budget, and one of `entropy` and `knowledge`. The mechanism returned is certified to keep its
    budget.

    Args:
        query: what is to be answered.
        distortion: budget D; the answer is the least leakage eps(D,b) at an expected distortion of at most D. Or
        leakage: budget L, in `unit`; the answer is the least expected distortion D(L,b) at a leakage of at most L.
        entropy: as for `audit`.
        knowledge: as for `audit`.
        unit: "nats" or "bits".
        reference: what everybody knows, as for `audit`.
        p0: how the data are distributed for the expected distortion: uniform by default, or one weight per dataset, or
            one per class of the query (uniform inside), or one list of probabilities per record (independent).
        measure: "absolute" |y - f(x)|, "squared", "zero-one", or a matrix with one row per class of the query and one
            column per output.
        outputs: what the mechanism may answer; default the query's range.
        method: "certified", or "paper" for the paper's Algorithm 6 or 9 from 5 random starts. Then only the upper
            bound on the optimum is proved, and where `kept` is false the mechanism exceeds its leakage budget.
        repairs: as for `audit`.
        reading: as for `audit`.
        tolerance: gap to reach, in `unit` or in units of distortion.
        relative: the search also ends at a gap of this share of the upper bound.
        time_limit: seconds after which the best so far is returned; Ctrl-C does the same.
        seed: seed of the random starts.
        progress: as for `audit`.
        verify: as for `audit`.
        settings: as for `audit`.

    Returns:
        A Design: the mechanism, what it leaks and costs, and the bracket on the optimum with its certificate.

    Raises:
        InputError: an argument is wrong, the problem is too large, or no mechanism keeps the budget.

    Example:
        >>> dl.design(dl.queries.count(n=2), distortion=0.3, knowledge=0.5, tolerance=0.01).mechanism.n_outputs
        3
    """
    options = Options.from_user(
        method_of(method, repairs=repairs, reading=reading),
        unit=unit,
        tolerance=tolerance,
        relative=relative,
        time_limit=time_limit,
        seed=seed,
        progress=progress,
        settings=settings,
    )
    checking.check_option(verify)
    task = distortion_of(query, measure, outputs, p0)
    adversary = adversary_of(query, options, entropy=entropy, knowledge=knowledge, reference=reference)
    asked = design_problem(task, adversary, options, distortion=distortion, leakage=leakage)
    problem = reduced(asked, certified=options.method is None)
    return _answered(asked, problem, options, float(asked.budget if leakage is None else leakage), verify)


def design_beside(  # noqa: PLR0913 - the question, and how it is answered
    task: Distortion,
    first: Written | None,
    adversary: Adversary,
    options: Options,
    *,
    budget: float,
    spent: float,
    verify: checking.Verify,
) -> Design:
    """Return the mechanism of least distortion that, together with an earlier release if any, leaks at most the budget.

    budget, spent: what may leak, and what the earlier release leaks at most, in the unit of the options.
    """
    checking.check_option(verify)
    asked = design_problem(task, adversary, options, distortion=None, leakage=budget)
    if first is None:
        return _answered(asked, reduced(asked, certified=True), options, budget, verify)
    domain = beside(task, first, adversary.reference)
    spent_nats = spent * options.nats
    problem = Problem(domain, adversary.knowledge, "distortion", asked.budget, asked.settings, spent=spent_nats)
    return _answered(asked, problem, options, budget, verify)


def _answered(
    asked: DesignProblem, problem: Problem, options: Options, budget: float, verify: checking.Verify
) -> Design:
    """Design within the time limit, and check the certificate where that is wanted."""
    search_time = checking.searching(options.time_limit, verify)
    with Deadline(search_time, options.report) as deadline, np.errstate(all="ignore"):
        answer = _designed(asked, problem, options, budget, deadline)
    return checking.checked(answer, verify, options.time_limit - deadline.seconds)


def _designed(asked: DesignProblem, problem: Problem, options: Options, budget: float, deadline: Deadline) -> Design:
    """Answer a design whose options are checked; its budget is as the user gave it."""
    run = options.run(deadline)
    if options.method is not None:
        return options.method.design(asked, problem, budget, run)
    quick = least_leakage(asked, problem, deadline)
    designed, leaks = quick or (Designer(problem, asked, deadline, options.seed).solve()[0], None)
    return design_answer(asked, problem, designed, leaks, budget=budget, run=run)


def reduced(asked: DesignProblem, *, certified: bool, least_slack: float = 1e-12) -> Problem:
    """Return the design as solvers hold it; refused where it is too large, or no mechanism keeps its budget.

    A distortion budget that is below the least possible one by no more than `least_slack`, relatively, means that one.
    """
    task, knowledge, reference = asked.distortion, asked.adversary.knowledge, asked.adversary.reference
    alone = certified and rate_distortion.possible(asked.query.n, knowledge)
    if alone:
        domain = symmetrise(task, reference, symmetric=False, most=asked.settings.of(RateSearch).pairs)
    else:
        domain = symmetrise(task, reference, symmetric=certified)
    problem = Problem(domain, knowledge, asked.goal, asked.budget, asked.settings)
    if asked.goal == "leakage" and problem.budget < problem.least * (1 - least_slack):
        message = (
            f"distortion = {problem.budget:g} is below {problem.least:.9g}, the least that any mechanism for "
            f"{task.query} with these outputs can have; allow at least that much, or more outputs"
        )
        raise InputError(message)
    if alone and domain.distance.size > DEFAULT.limits.design_pairs and not rate_distortion.applies(problem):
        check_size(domain.statistic.size, task)
    return problem


def frontier(  # noqa: PLR0913 - the public surface
    query: Query,
    *bare: object,
    entropy: float | None = None,
    knowledge: float | None = None,
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
    settings: Settings | None = None,
) -> Frontier:
    """Find the least leakage against the distortion allowed, with named mechanisms for comparison.

    Args:
        query: what is to be answered.
        bare: not used; a second number without a name raises InputError.
        entropy: as for `audit`.
        knowledge: as for `audit`.
        points: number of distortion budgets, from the least possible distortion to that of the best constant answer.
        unit: "nats" or "bits".
        reference: what everybody knows, as for `audit`.
        p0: as for `design`.
        measure: as for `design`.
        outputs: as for `design`.
        tolerance: gap of each design; named mechanisms are audited to a tenth of it.
        time_limit: seconds for everything together; what it leaves no time for is left out.
        seed: seed of the random starts.
        named: whether mechanisms of the gallery are audited and placed on the same axes, where outputs are the range.
        progress: as for `audit`.
        settings: as for `audit`.

    Returns:
        A Frontier: one design per budget, and audits of named mechanisms. What the time limit or Ctrl-C left out is
        counted in `missing`, and `stopped` says which it was.

    Raises:
        InputError: as for `design`.

    Example:
        >>> dl.frontier(dl.queries.modular_sum(n=2, modulus=2), knowledge=0.5, points=3, named=False).distortions
        array([0.  , 0.25, 0.5 ])
    """
    options = Options.from_user(
        unit=unit, tolerance=tolerance, time_limit=time_limit, seed=seed, progress=progress, settings=settings
    )
    check_named(bare, "dl.frontier(query")
    task = distortion_of(query, measure, outputs, p0)
    adversary = adversary_of(query, options, entropy=entropy, knowledge=knowledge, reference=reference)
    return frontier_of(task, adversary, options, _number_of_points(points), named=checks.flag("named", named))


def frontier_of(  # noqa: PLR0913 - the question, and who listens
    task: Distortion,
    adversary: Adversary,
    options: Options,
    many: int,
    *,
    named: bool,
    each: Callable[[Design | NamedPoint], None] = lambda _: None,
) -> Frontier:
    """Answer a frontier whose options are checked. each: called with every point as soon as it is there."""
    asked = DesignProblem(task, adversary, "leakage", 0.0, options.solver_tolerance * options.nats, options.settings)
    # Named mechanisms stand beside designs with the same outputs, the range of the query.
    comparable = named and task.outputs == task.query.outputs and len(task.outputs) > 1
    families = shown_on_frontiers(task.query) if comparable else []
    domain = symmetrise(task, adversary.reference)
    with Deadline(options.time_limit, options.report) as deadline, np.errstate(all="ignore"):
        designs = _designs(asked, domain, many, options, deadline, later=len(families) / 4, each=each)
        audited = _named_points(asked, families, options, deadline, each)
    missing = many - len(designs) + len(families) - len(audited)
    return Frontier(task.query, designs, audited, missing, deadline.interrupted)


def _number_of_points(points: int, most: int = 10_000) -> int:
    many = checks.whole("points", points, 2)
    if many > most:
        message = f"points = {show(many)} is above the limit of {most}"
        raise InputError(message)
    return many


def _designs(  # noqa: PLR0913 - what is asked, and within which limits
    asked: DesignProblem,
    domain: Domain,
    many: int,
    options: Options,
    deadline: Deadline,
    *,
    later: float,
    each: Callable[[Design | NamedPoint], None],
) -> tuple[Design, ...]:
    """Return designs at budgets from the least distortion to that of the best constant, as far as time allows.

    later: how many designs' time is kept for what comes after them.
    """
    first = Problem(domain, asked.adversary.knowledge, "leakage", 0.0, asked.settings)
    designs: list[Design] = []
    known: tuple[Attack, ...] = ()
    for k, budget in enumerate(np.linspace(first.least, first.distortion(first.constant()), many).tolist()):
        part = Deadline(deadline.left / (many - k + later), parent=deadline)
        here, problem = replace(asked, budget=budget), replace(first, budget=budget)
        designed, known = Designer(problem, here, part, options.seed).solve(known)
        designs.append(design_answer(here, problem, designed, budget=budget, run=options.run(part)))
        each(designs[-1])
        proved = designs[-1].certificate
        deadline.report_progress(k, many, proved.lower, proved.upper, f"point {k + 1}")
        if deadline.expired():
            break
    return tuple(designs)


def _named_points(
    asked: DesignProblem,
    families: list[tuple[str, Mechanism]],
    options: Options,
    deadline: Deadline,
    each: Callable[[Design | NamedPoint], None],
) -> tuple[NamedPoint, ...]:
    """Return audits of named mechanisms, a tenth of the tolerance wide, as far as time allows."""
    points: list[NamedPoint] = []
    fine = 0.1 * options.tolerance * options.nats
    for k, (family, mechanism) in enumerate(families):
        if deadline.expired():
            break
        part = Deadline(deadline.left / (len(families) - k), parent=deadline)
        here = asked.audit(mechanism, fine)
        answer = audit_answer(here, by_records(here, part, options.seed), options.run(part))
        name = str(mechanism.name)
        points.append(NamedPoint(name, family, asked.distortion.expected(mechanism), answer, mechanism))
        each(points[-1])
        deadline.report_progress(k, len(families), answer.certificate.lower, answer.certificate.upper, name)
    return tuple(points)


def load(path: str | os.PathLike[str], *, verify: bool = False) -> "Saved | Ledger | Study":
    """Read what `save` wrote: an audit, a design, a curve, a frontier, a calibration, a profile, a ledger or a study.

    What the certificate does not carry (extremes, brackets of other records, labels, history, seconds) comes from the
    file, and reports say so.

    Args:
        path: the file. One that ends in .db or .toml is a study.
        verify: whether certificates are re-checked as well. Then `verified` is True, and a file whose certificate
            proves nothing is refused; otherwise `verified` is None.

    Returns:
        The result, of the class that wrote it.

    Raises:
        InputError: the file cannot be read, or its bounds, mechanism, adversary, secret or budget are not those of the
            certificate inside it.

    Example:
        >>> mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=0.3)
        >>> dl.audit(mechanism, knowledge=0.5).save("audit.json")
        >>> dl.load("audit.json", verify=True).verified
        True
    """
    target = storage.path_of(path)
    if target.suffix in (".db", ".toml"):
        from dalenius.studies.study import load_study  # noqa: PLC0415 - of a later room, as ledgers are

        return load_study(target, verify=verify)
    content = storage.read_json(target)
    if isinstance(content, dict) and content.get("format") == "dalenius/ledger":
        from dalenius.tools.ledger import Ledger  # noqa: PLC0415

        return Ledger.load(target, verify=verify)
    found: Saved = result_of(path, content, verify=verify)
    return found
