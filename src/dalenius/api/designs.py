"""`design` and `frontier`: options checked, the best mechanism found, the answer with its certificate."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dalenius.auditing.roads import find
from dalenius.bounds.decoys.programme import DecoySearch
from dalenius.designing import known_others, rate_distortion
from dalenius.designing.blocks import in_blocks
from dalenius.designing.designer import Designed, Designer
from dalenius.designing.known_others import KnownOthersSearch
from dalenius.designing.master import Plane
from dalenius.designing.problem import Problem, check_possible, listed, with_fallback
from dalenius.errors import refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.distortion import Distortion
from dalenius.model.gallery.families import shown_on_frontiers
from dalenius.model.problem import Adversary, DesignProblem
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM
from dalenius.model.statistic import Blocks
from dalenius.reductions.symmetry import Domain, beside, check_size, symmetrise
from dalenius.results import answers
from dalenius.results.answers import audit_answer, design_answer
from dalenius.results.design import Design, Frontier, NamedPoint
from dalenius.results.options import (
    BELIEFS,
    Believes,
    Method,
    MethodName,
    Options,
    adversary_of,
    check_designed,
    check_named,
    design_problem,
    distortion_of,
    method_of,
)
from dalenius.search.deadline import Deadline, Progress
from dalenius.settings import DEFAULT, Settings

MOST_POINTS = 10_000  # of a frontier


def design(
    query: Query,
    *,
    distortion: float | None = None,
    leakage: float | None = None,
    entropy: float | None = None,
    knowledge: float | None = None,
    unit: str = "nats",
    reference: object = None,
    adversary: Believes = "bounded",
    p0: ArrayLike | None = None,
    measure: str | ArrayLike = "absolute",
    outputs: Sequence[object] | None = None,
    max_epsilon: float | None = None,
    floor: float | None = None,
    unbiased: bool = False,
    within: float | None = None,
    keep_zero: bool = False,
    method: MethodName | Method = "certified",
    repairs: Iterable[str] | None = None,
    reading: Literal["proof", "strict"] | None = None,
    tolerance: float = 1e-4,
    relative: float = 0.0,
    time_limit: float = 300.0,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    verify: answers.Verify = "auto",
    settings: Settings | None = None,
) -> Design:
    """Find the best mechanism for a query, with a certified bracket on the optimum.

    Give exactly one budget, and `knowledge` (or `entropy`), or adversary="independent". The mechanism returned is
    certified to keep its budget. Without `max_epsilon` it may have dp_epsilon() == inf.

    Args:
        query: what is to be answered.
        distortion: budget D; the answer is the least leakage eps(D,b) at an expected distortion of at most D. Or
        leakage: budget L, in `unit`; the answer is the least expected distortion D(L,b) at a leakage of at most L.
        entropy: as for `audit`.
        knowledge: as for `audit`.
        unit: "nats" or "bits".
        reference: what everybody knows, as for `audit`.
        adversary: "bounded" for a limit of knowledge; "independent" for any prior under which the records are
            independent, without a limit and without a reference: the bracket closes for sums of a thousand people.
        p0: how the data are distributed for the expected distortion: uniform by default, or one weight per dataset, or
            one per class of the query (uniform inside), or one list of probabilities per record (independent).
        measure: "absolute" |y - f(x)|, "squared", "zero-one", or a matrix with one row per class of the query and one
            column per output.
        outputs: what the mechanism may answer; default the query's range.
        max_epsilon: the mechanism is also differentially private: q(y|x) <= e^max_epsilon q(y|x') where datasets differ
            in one record; the bracket is about all mechanisms that keep this and the constraints that follow.
        floor: every output has at least this probability, whatever the data.
        unbiased: E[Y|x] = f(x), up to a share of 1e-9 of the largest error.
        within: |Y - f(x)| is at most this, always.
        keep_zero: where f(x) = 0 the output is 0.
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
    answers.check_option(verify)
    task = distortion_of(query, measure, outputs, p0)
    against = adversary_of(
        query, options, entropy=entropy, knowledge=knowledge, reference=reference, adversary=adversary
    )
    constraints = {
        "max_epsilon": max_epsilon, "floor": floor, "unbiased": unbiased, "within": within, "keep_zero": keep_zero,
    }  # fmt: skip
    asked = design_problem(task, against, options, distortion=distortion, leakage=leakage, **constraints)
    asked, problem = reduced(asked, certified=options.method is None)
    return _answered(asked, problem, options, float(asked.budget if leakage is None else leakage), verify)


def design_beside(
    task: Distortion,
    first: Written | None,
    adversary: Adversary,
    options: Options,
    *,
    budget: float,
    spent: float,
    verify: answers.Verify,
) -> Design:
    """Return the mechanism of least distortion that, together with an earlier release if any, leaks at most the budget.

    budget, spent: what may leak, and what the earlier release leaks at most, in the unit of the options.
    """
    answers.check_option(verify)
    asked = design_problem(task, adversary, options, distortion=None, leakage=budget)
    if first is None:
        return _answered(*reduced(asked, certified=True), options, budget, verify)
    domain = beside(task, first, adversary.reference)
    spent_nats = spent * options.nats
    problem = Problem(domain, adversary.knowledge, "distortion", asked.budget, asked.settings, spent=spent_nats)
    return _answered(asked, problem, options, budget, verify)


def _answered(
    asked: DesignProblem, problem: Problem, options: Options, budget: float, verify: answers.Verify
) -> Design:
    """Design within the time limit, and check the certificate where that is wanted; budget as the user gave it."""
    search_time = answers.searching(options.time_limit, verify)
    with Deadline(search_time, options.report) as deadline, np.errstate(all="ignore"):
        if options.method is not None:
            answer: Design = options.method.design(asked, problem, budget, options, deadline)
        else:
            designed, _ = _solved(asked, problem, deadline, options.seed)
            answer = design_answer(asked, problem, designed, budget, options, deadline)
    return answers.checked(answer, verify, options.time_limit - deadline.seconds)


def _solved(
    asked: DesignProblem, problem: Problem, deadline: Deadline, seed: int, known: tuple[Plane, ...] = ()
) -> tuple[Designed, tuple[Plane, ...]]:
    """Return the best design found, and the priors that serve the next one."""
    if asked.adversary.kind == "independent":
        problem, _ = with_fallback(problem, asked, lambda p, a: known_others.solve(p, a, deadline))
        return known_others.solve(problem, asked, deadline), ()
    problem, safest = with_fallback(
        problem, asked, lambda p, a: Designer(p, a, deadline.part(deadline.left / 3), seed).solve()[0]
    )
    bare = None if safest is None else safest.leaks
    return Designer(problem, asked, deadline, seed, bare=bare).solve(known)


def reduced(asked: DesignProblem, *, certified: bool, least_slack: float = 1e-12) -> tuple[DesignProblem, Problem]:
    """Return the design as solvers hold it; refused where it is too large, or no mechanism keeps its budget.

    A count of very many people is answered in blocks, by one output each: the question is then about these outputs.
    A distortion budget that is below the least possible one by no more than `least_slack`, relatively, means that one.
    """
    task, knowledge, reference = asked.distortion, asked.adversary.knowledge, asked.adversary.reference
    many = (asked.query.n + 1) ** 2 > asked.settings.limits.design_pairs
    if certified and many and (found := in_blocks(asked, asked.settings.of(DecoySearch))) is not None:
        _check_least(*found, least_slack)
        return found
    alone = certified and rate_distortion.possible(asked.query.n, knowledge) and not asked.constraints.given
    if alone:
        domain = symmetrise(task, reference, symmetric=False, most=rate_distortion.PAIRS)
    else:
        domain = _domain(asked, symmetric=certified)
    problem = Problem(domain, knowledge, asked.goal, asked.budget, asked.settings, constraints=asked.constraints)
    check_possible(problem, asked)
    _check_least(asked, problem, least_slack)
    if alone and domain.distance.size > DEFAULT.limits.design_pairs and not rate_distortion.applies(problem):
        check_size(domain.statistic.size, task)
    return asked, problem


def _check_least(asked: DesignProblem, problem: Problem, slack: float) -> None:
    """Refuse a distortion budget that no mechanism keeps."""
    if asked.goal == "leakage" and problem.budget < problem.least * (1 - slack):
        blocks = problem.domain.statistic
        words = f", which answers in {blocks.size} blocks," if isinstance(blocks, Blocks) else ""
        kept = f" that keeps {listed(asked)}" if problem.limits.given else ""
        refuse(
            f"distortion = {problem.budget:g} is below {problem.least:.9g}, the least that any mechanism for "
            f"{asked.query} with these outputs{words} can have{kept}; "
            "allow at least that much, or more outputs"
        )


def _domain(asked: DesignProblem, *, symmetric: bool = True) -> Domain:
    """Return the classes of a design; one against independent records may have very many."""
    settings = asked.settings
    alone = asked.adversary.kind == "independent"
    most = settings.of(KnownOthersSearch).pairs if alone else settings.limits.design_pairs
    return symmetrise(
        asked.distortion, asked.adversary.reference, symmetric=symmetric, most=most, constraints=asked.constraints
    )


def frontier(
    query: Query,
    *bare: object,
    entropy: float | None = None,
    knowledge: float | None = None,
    points: int = 20,
    unit: str = "nats",
    reference: object = None,
    adversary: Believes | Literal["both"] = "bounded",
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
        adversary: as for `design`; or "both": against limited knowledge, and beside it, in `independent`, designs of
            the same budgets against independent records.
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
    both = checks.choice("adversary", adversary, (*BELIEFS, "both")) == "both"
    against = adversary_of(
        query, options, entropy=entropy, knowledge=knowledge, reference=reference,
        adversary="bounded" if both else adversary,
    )  # fmt: skip
    check_designed(against)
    if checks.whole("points", points, 2) > MOST_POINTS:
        refuse(f"points = {show(points)} is above the limit of {MOST_POINTS}")
    return frontier_of(task, against, options, points, named=checks.flag("named", named), both=both)


def frontier_of(
    task: Distortion,
    adversary: Adversary,
    options: Options,
    many: int,
    *,
    named: bool,
    both: bool = False,
    each: Callable[[Design | NamedPoint], None] = lambda _: None,
) -> Frontier:
    """Answer a frontier whose options are checked. each: called with every point as soon as it is there.

    both: whether independent records are asked about as well, in a quarter of the time.
    """
    asked = DesignProblem(task, adversary, "leakage", 0.0, options.solver_tolerance * options.nats, options.settings)
    # Named mechanisms stand beside designs with the same outputs, the range of the query.
    comparable = named and task.outputs == task.query.outputs and len(task.outputs) > 1
    families = shown_on_frontiers(task.query) if comparable else []
    domain, independent = _domain(asked), None
    with Deadline(options.time_limit, options.report) as deadline, np.errstate(all="ignore"):
        if both:
            alone = replace(asked, adversary=Adversary.independent(task.query.records, None, options.unit, UNIFORM))
            part = Deadline(deadline.left / 4, parent=deadline)
            found = _designs(alone, _domain(alone), many, options, part, later=0.0, each=lambda _: None)
            independent = Frontier(task.query, found, (), many - len(found), deadline.interrupted)
        designs = _designs(asked, domain, many, options, deadline, later=len(families) / 4, each=each)
        audited = _named_points(asked, families, options, deadline, each)
    missing = many - len(designs) + len(families) - len(audited)
    return Frontier(task.query, designs, audited, missing, deadline.interrupted, independent)


def _designs(
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
    attacks: tuple[Plane, ...] = ()
    for k, budget in enumerate(np.linspace(first.least, first.distortion(first.constant), many).tolist()):
        part = Deadline(deadline.left / (many - k + later), parent=deadline)
        here, problem = replace(asked, budget=budget), replace(first, budget=budget)
        designed, attacks = _solved(here, problem, part, options.seed, attacks)
        designs.append(design_answer(here, problem, designed, budget, options, part))
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
        answer = audit_answer(here, find(here, part, options.seed), options, part)
        name = str(mechanism.name)
        points.append(NamedPoint(name, family, asked.distortion.expected(mechanism), answer, mechanism))
        each(points[-1])
        deadline.report_progress(k, len(families), answer.certificate.lower, answer.certificate.upper, name)
    return tuple(points)
