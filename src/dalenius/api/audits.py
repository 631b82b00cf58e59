"""`audit` and `curve`: options checked, a road found, the answer with its certificate."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

from dalenius.auditing.one_secret import WarmStart
from dalenius.auditing.roads import find, one_record, tiny
from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.prior import Prior
from dalenius.model.problem import AuditProblem
from dalenius.results import answers
from dalenius.results.answers import audit_answer
from dalenius.results.audit import Audit, Curve
from dalenius.results.options import (
    Method,
    MethodName,
    Options,
    adversary_of,
    audit_problem,
    check_named,
    checked_mechanism,
    entropies_of,
    method_of,
)
from dalenius.search.deadline import Crew, Deadline, Progress
from dalenius.settings import Settings


def audit(
    mechanism: Mechanism,
    *bare: object,
    entropy: float | None = None,
    knowledge: float | None = None,
    adversary: Literal["bounded", "independent"] | list[Any] | tuple[Any, ...] = "bounded",
    unit: str = "nats",
    secret: object = None,
    reference: object = None,
    method: MethodName | Method = "certified",
    repairs: Iterable[str] | None = None,
    reading: Literal["proof", "strict"] | None = None,
    tolerance: float = 1e-6,
    relative: float = 1e-3,
    nodes: int | None = None,
    jobs: object = 1,
    time_limit: float | None = None,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    verify: answers.Verify = "auto",
    settings: Settings | None = None,
) -> Audit:
    """Bound the leakage of a mechanism from both sides, with a certificate.

    The leakage is max_i max { I(X_i;Y) : D(p || reference) <= knowledge }, the most that any adversary of limited
    knowledge learns about a record from the output. Give `knowledge` by its name, or adversary="independent"; or
    `entropy`, the paper's form of the same limit.

    Args:
        mechanism: what is released.
        bare: not used; a second number without a name raises InputError.
        entropy: least entropy b of the adversary's prior: b = log|X| - knowledge, where the reference is uniform.
        knowledge: most that the adversary knows, D(p || reference) <= knowledge; the reference is uniform by default.
        adversary: "bounded" for the above; "independent" for any prior under which the records are independent. With
            `reference` the other records then follow that product law exactly, and with `knowledge` the prior is also
            in the ball, where the bracket may stay open. Single records only. Or a list of priors, each as for
            `leakage`: the largest leakage among them, and nothing else is to be given.
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
        relative: the search also ends at a gap of this share of the upper bound, 0.1 % by default. 0 asks for the
            tolerance alone, which may take many times as long.
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
        <Audit 0.311312 <= L <= 0.311318 nats at knowledge <= 0.5: record 0, proved both, stopped by gap>
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
    answers.check_option(verify)
    check_named(bare, "dl.audit(mechanism")
    checked_mechanism(mechanism)
    if isinstance(adversary, (list, tuple)):
        limits = {"entropy": entropy, "knowledge": knowledge, "reference": reference}
        return answers.checked(_worst_of(adversary, mechanism, options, secret, limits), verify, options.time_limit)
    if hasattr(adversary, "__array__"):
        refuse(
            "adversary is an array, of which it is not clear where a prior ends; give a list of priors, such as "
            "list(array) for one in each row"
        )
    against = adversary_of(
        mechanism, options, entropy=entropy, knowledge=knowledge, reference=reference, adversary=cast("str", adversary)
    )
    problem = audit_problem(mechanism, options, against, secret)
    began = time.monotonic()
    answer = solve(problem, options.within(answers.searching(options.time_limit, verify)))
    return answers.checked(answer, verify, options.time_limit - (time.monotonic() - began))


def _worst_of(
    priors: Sequence[object], mechanism: Mechanism, options: Options, secret: object, limits: Mapping[str, object]
) -> Audit:
    """Audit every prior of a list, an adversary that knows nothing else, and return the one that may leak most.

    Its certificate has those of the others inside.
    """
    given = next((name for name, value in limits.items() if value is not None), None)
    if given is not None or options.method is not None:
        what = f"{given} = {show(limits[given])}" if given is not None else "method"
        refuse(f"{what} with a list of priors as adversary, which says all that is known; leave it out")
    if mechanism.as_real_records is not None:
        refuse(
            "a list of priors is for records of finitely many values; audit each density by itself, with knowledge=0"
        )
    if not priors:
        refuse("adversary = [] lists no prior; give one or more, such as [[0.9, 0.1], [0.5, 0.5]]")
    audits = []
    for k, prior in enumerate(priors):
        if isinstance(prior, (int, float, str)):
            refuse(f"entry {k} of adversary is {show(prior)}, not a prior; write a list of laws, as [[0.9, 0.1]]")
        given_law = prior.weights() if isinstance(prior, Prior) else prior
        try:
            against = adversary_of(mechanism, options, knowledge=0.0, reference=given_law)
            audits.append(solve(audit_problem(mechanism, options, against, secret), options))
        except InputError as error:
            refuse(f"prior {k} of adversary: {error}", error)
    worst = max(audits, key=lambda audit: audit.upper)
    data = {**worst.certificate.data, "priors": [audit.certificate.data for audit in audits if audit is not worst]}
    return replace(worst, certificate=Certificate.written(data), seconds=sum(audit.seconds for audit in audits))


def solve(
    problem: AuditProblem,
    options: Options,
    warm_starts: dict[int, WarmStart] | None = None,
    *,
    interrupted: bool = False,
) -> Audit:
    """Answer an audit whose options are checked; its certificate is not.

    warm_starts: from audits against other adversaries of the same mechanism, secret and reference. interrupted: whether
    Ctrl-C came before the audit, which then has its first look.
    """
    if options.method is None and tiny(problem):
        # What takes no time needs no care for Ctrl-C, reports or other processes.
        deadline = Deadline(options.time_limit)
        quick = one_record(problem, deadline)
        if quick is not None:
            return audit_answer(problem, quick, options, deadline)
    crew = Crew(options.jobs)
    limits = Deadline(options.time_limit, options.report, most_nodes=options.nodes, crew=crew, interrupted=interrupted)
    with crew, limits as deadline, np.errstate(all="ignore"):
        if options.method is not None:
            answer: Audit = options.method.audit(problem, options, deadline)
            return answer
        return audit_answer(problem, find(problem, deadline, options.seed, warm_starts), options, deadline)


def options_of(options: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Return options of `audit`, as several audits share them: how to search, checked; and parts of the question."""
    every = {**(audit.__kwdefaults__ or {}), **options}
    names = ("entropy", "knowledge", "adversary", "secret", "reference", "verify")
    question = {name: every.pop(name) for name in names}
    method = method_of(**{name: every.pop(name) for name in ("method", "repairs", "reading")})
    return Options.from_user(method, **every), question


def _curve_points(
    entropies: Iterable[float] | None, knowledges: Iterable[float] | None, options: dict[str, Any]
) -> tuple[str, Sequence[float]]:
    """Whether a curve is along knowledge or entropy, and its points; options that a curve lacks are refused."""
    if "verify" in options:
        refuse(
            "a curve does not check its points; call verify() on those you rely on, such as curve.audits[0].verify()"
        )
    checks.exactly_one(", the points of the curve", knowledges=knowledges, entropies=entropies)
    for name in ("entropy", "knowledge", "adversary"):
        if name in options:
            refuse(
                f"a curve has its own {name}; leave {name} = {options[name]!r} out, and list knowledges or entropies"
            )
    if entropies is not None:
        return "entropy", entropies_of(entropies, "entropy")
    return "knowledge", entropies_of(() if knowledges is None else knowledges, "knowledge")


def curve(
    mechanism: Mechanism,
    entropies: Iterable[float] | None = None,
    *,
    knowledges: Iterable[float] | None = None,
    **options: Any,
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
        <Curve of 2 points, knowledge <= 0.1 to 0.2: L from 0.206580 to 0.154915 nats, widest gap 2.8e-06>
    """
    what, points = _curve_points(entropies, knowledges, options)
    wanted, question = options_of(options)
    reference, secret = question["reference"], question["secret"]
    checked_mechanism(mechanism)
    limits = [(b, None) if what == "entropy" else (None, b) for b in points]
    adversaries = [adversary_of(mechanism, wanted, entropy=b, knowledge=k, reference=reference) for b, k in limits]
    first = audit_problem(mechanism, wanted, max(adversaries, key=lambda one: one.knowledge), secret)
    warm_starts: dict[int, WarmStart] = {}
    audits: list[Audit] = []
    began = time.monotonic()
    with Deadline(math.inf) as whole:
        for k, adversary in enumerate(adversaries):
            left = wanted.time_limit
            if options.get("time_limit") is not None:
                left = (wanted.time_limit - (time.monotonic() - began)) / (len(adversaries) - k)
            here = replace(wanted, time_limit=max(left, 1e-3))
            audits.append(solve(replace(first, adversary=adversary), here, warm_starts, interrupted=whole.interrupted))
            if whole.interrupted:
                break
    along = tuple(points[: len(audits)]) if what == "entropy" else tuple(a.entropy for a in audits)
    return Curve(along, tuple(audits), len(points) - len(audits), whole.interrupted)
