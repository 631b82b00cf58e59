"""Options of audits and designs as users give them: checked once, before any work, and turned into a problem."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal, cast, get_args

from numpy.typing import ArrayLike

from dalenius.errors import refuse, show
from dalenius.model import checks
from dalenius.model import secret as secrets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.real_records import RealQuery
from dalenius.model.distortion import Constraints, Distortion
from dalenius.model.problem import NATS_PER_UNIT, Adversary, AuditProblem, DesignProblem
from dalenius.model.query import Query
from dalenius.model.reference import Reference
from dalenius.model.secret import Secret
from dalenius.search.deadline import Progress
from dalenius.search.progress import ProgressLine
from dalenius.settings import DEFAULT, Settings

# Seconds.
MINUTE, DAY = 60.0, 86_400.0

Believes = Literal["bounded", "independent"]
BELIEFS = get_args(Believes)
Report = Callable[[Progress], None]


# Another way to answer than by certified bounds, as dalenius/paper/method.py has one: `chosen` is the method with the
# options of a call, `check` and `check_design` refuse what it does not answer, `audit` and `design` answer.
Method = Any
MethodName = Literal["certified", "paper"]
# Where other methods are: each module has a class Method, and is loaded when its name is given.
METHODS = {"paper": "dalenius.paper.method"}


def method_of(method: "MethodName | Method", **options: object) -> "Method | None":
    """Return the method that was asked for, None for the certified one; options: those that only some methods have."""
    stated = {name: value for name, value in options.items() if value is not None}
    if not isinstance(method, str) and hasattr(method, "chosen"):
        return method.chosen(**stated)
    checks.choice("method", method, ("certified", *METHODS))
    if method != "certified":
        default: Method = import_module(METHODS[str(method)]).Method()
        return default.chosen(**stated)
    if stated:
        names = " or ".join(f'"{name}"' for name in METHODS)
        refuse(f"{min(stated)} is an option of method={names}; give that as well, or leave it out")
    return None


@dataclass(frozen=True, eq=False)
class Options:
    """How an answer is wanted: by which method, in which unit, how close, and how long the search may take."""

    method: Method | None  # None for certified bounds
    unit: str
    tolerance: float  # in the unit, or in units of distortion
    time_limit: float
    seed: int
    report: Report | None
    settings: Settings
    # A gap of this share of the upper bound will do.
    relative: float = 0.0
    nodes: float = math.inf
    # Threads that bound nodes.
    jobs: int = 1

    @classmethod
    def from_user(
        cls,
        method: Method | None = None,
        *,
        unit: str,
        tolerance: float,
        time_limit: float | None,
        seed: int,
        progress: bool | Report,
        settings: Settings | None = None,
        relative: float = 0.0,
        nodes: int | None = None,
        jobs: object = 1,
        least_tolerance: float = 1e-300,
    ) -> "Options":
        """Check every option; a tolerance below `least_tolerance` would vanish in floats.

        time_limit: where there is none, a limit in nodes stands alone, so that no clock decides; a day is none.
        """
        if time_limit is None:
            time_limit = MINUTE if nodes is None else DAY
        if settings is not None and not isinstance(settings, Settings):
            refuse(f"settings = {show(settings)} is not a dl.Settings; write dl.Settings(...), or leave it out")
        report = progress if callable(progress) else ProgressLine() if checks.flag("progress", progress) else None
        return cls(
            method=method,
            unit=checks.choice("unit", unit, tuple(NATS_PER_UNIT)),
            tolerance=checks.real("tolerance", tolerance, least_tolerance, math.inf),
            time_limit=checks.real("time_limit", time_limit, 0.0, math.inf, open_low=True),
            seed=checks.whole("seed", seed, 0),
            report=report,
            settings=settings or DEFAULT,
            relative=checks.real("relative", relative, 0.0, 0.99),
            nodes=math.inf if nodes is None else checks.whole("nodes", nodes),
            jobs=checks.jobs(jobs),
        )

    @property
    def nats(self) -> float:
        """Nats in one unit of information."""
        return NATS_PER_UNIT[self.unit]

    @property
    def solver_tolerance(self) -> float:
        """The gap at which a search ends, as the user measures it: the rest of the tolerance is for rounding."""
        return self.settings.tolerance_share * self.tolerance

    def audit(self, mechanism: Mechanism, adversary: Adversary, secret: Secret | None = None) -> AuditProblem:
        """Return an audit to the tolerance of these options."""
        gap, share = self.solver_tolerance * self.nats, self.settings.relative_share * self.relative
        return AuditProblem(mechanism, adversary, secret, gap, self.settings, share)

    def within(self, seconds: float) -> "Options":
        """Return the same with another time limit."""
        return self if seconds == self.time_limit else replace(self, time_limit=seconds)


def audit_problem(mechanism: Mechanism, options: Options, adversary: Adversary, secret: object) -> AuditProblem:
    """Return what `audit` is asked, or refuse it."""
    if options.method is not None:
        options.method.check(mechanism, secret=secret)
    about: Secret | None = None
    if (reals := mechanism.as_real_records) is not None:
        about = reals.secret(secret)
    elif secret is not None:
        about = secrets.from_user(secret, mechanism.records, mechanism.query)
    if not adversary.unlimited:
        # Where the others follow the reference exactly, classes that it leaves out do no harm.
        alone = adversary.kind == "bounded" and adversary.knowledge == 0
        counted = mechanism.as_counts is not None and not mechanism.has_rows
        adversary.reference.check(mechanism.statistic, alone=alone and not counted)
    return options.audit(mechanism, adversary, about)


def checked_mechanism(mechanism: object) -> Mechanism:
    """Return what is to be audited, or refuse it."""
    if not isinstance(mechanism, Mechanism):
        refuse(
            f"audit needs a Mechanism, not {type(mechanism).__name__}; see dl.mechanisms or dl.Mechanism.from_matrix"
        )
    return mechanism


def adversary_of(
    asked: Mechanism | Query,
    options: Options,
    *,
    entropy: float | None = None,
    knowledge: float | None = None,
    reference: object = None,
    adversary: str = "bounded",
) -> Adversary:
    """Return the adversary of exactly one of knowledge and entropy, or with independent records, in the user's unit."""
    if options.method is not None:
        bounded = checks.choice("adversary", adversary, BELIEFS) == "bounded"
        options.method.check(reference=reference, adversary=None if bounded else adversary)
    records = asked.records
    real = asked if isinstance(asked, Query) else asked.query
    if isinstance(real, RealQuery):
        if entropy is not None:
            refuse(f"entropy = {entropy}: real-valued records have no entropy to count from; give knowledge=")
        kind = checks.choice("adversary", adversary, BELIEFS)
        return Adversary.of_reals(knowledge, options.unit, real.density(reference), cast("Believes", kind))
    rho = Reference.from_user(reference, records, names_of(asked))
    if checks.choice("adversary", adversary, BELIEFS) == "independent":
        if entropy is not None:
            refuse(
                f'entropy = {entropy} with adversary="independent"; give knowledge= to limit knowledge as well, '
                "or neither"
            )
        return Adversary.independent(records, knowledge, options.unit, rho)
    return Adversary.from_user(records, entropy=entropy, knowledge=knowledge, unit=options.unit, reference=rho)


def names_of(asked: Mechanism | Query) -> tuple[str, ...]:
    """Return what the values of a record are called; nothing where they are numbers."""
    query = asked if isinstance(asked, Query) else asked.query
    return () if query is None else query.names


def design_problem(
    task: Distortion,
    adversary: Adversary,
    options: Options,
    *,
    distortion: float | None,
    leakage: float | None,
    **constraints: Any,
) -> DesignProblem:
    """Return what `design` is asked, or refuse it."""
    checks.exactly_one(", the budget to keep", distortion=distortion, leakage=leakage)
    check_designed(adversary)
    if adversary.kind == "independent" and leakage == 0:
        refuse(
            'leakage = 0 with adversary="independent": only constant answers leak nothing; give a budget above 0, or '
            "a distortion budget"
        )
    if options.method is not None:
        options.method.check_design(task)
    kept = Constraints.from_user(task, **constraints)
    if kept.given and options.method is not None:
        refuse(f"{min(kept.given)} is an option of the certified method; leave it out, or leave method out")
    gap, settings = options.solver_tolerance, options.settings
    share = settings.relative_share * options.relative
    if leakage is not None:
        budget = checks.real("leakage", leakage, 0.0, math.inf) * options.nats
        return DesignProblem(task, adversary, "distortion", budget, gap, settings, share, kept)
    budget = checks.real("distortion", distortion, 0.0, math.inf)
    return DesignProblem(task, adversary, "leakage", budget, gap * options.nats, settings, share, kept)


def check_designed(adversary: Adversary) -> None:
    """Refuse independent records with a limit of knowledge or a reference: no programme is exact for these."""
    if adversary.kind == "independent" and not (adversary.unlimited and adversary.reference.uniform):
        refuse(
            'a design with adversary="independent" takes neither knowledge= nor reference=: leave them out, or leave '
            "adversary out"
        )


def distortion_of(
    query: Query, measure: str | ArrayLike, outputs: Sequence[object] | None, p0: ArrayLike | None
) -> Distortion:
    """Return the distortion of the answers to a query, as the user measures it."""
    if not isinstance(query, Query):
        refuse(f"design needs a Query, not {type(query).__name__}; see dl.queries")
    return Distortion.from_user(query, measure, outputs, p0)


def entropies_of(values: Iterable[float], what: str = "entropy") -> list[float]:
    """Return the values of b, or of knowledge, that a curve or a profile is asked for."""
    one, many, of = (
        ("an entropy", "entropies", "b") if what == "entropy" else ("a knowledge", "knowledges", "knowledge")
    )
    listed = checks.listed(values, f"{many} = {show(values)} must list values of {of}, such as [0, 0.5, 1]")
    points = [checks.real(one, b, -math.inf, math.inf) for b in listed]
    if not points:
        refuse(f"{many} is empty; give at least one value of {of}")
    return points


def check_named(bare: tuple[object, ...], call: str) -> None:
    """Refuse a number without a name: nobody knows whether it is an entropy or a knowledge."""
    if bare:
        shown = repr(bare[0])
        refuse(f"{call}, {shown}): name the number, as entropy={shown} or knowledge={shown}")
