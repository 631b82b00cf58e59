"""What a solver process does: it answers one question of the page after the other, and tells what it has on the way."""

import hashlib
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from dalenius.api import designs
from dalenius.api.audits import audit, solve
from dalenius.auditing.one_secret import WarmStart
from dalenius.errors import InputError, refuse
from dalenius.explore import pieces
from dalenius.explore.question import Question
from dalenius.explore.release import Job, Release, in_page_words, inspect, release_of
from dalenius.model.problem import in_unit
from dalenius.model.query import Query
from dalenius.report.call import IMPORT, Call, of_file, of_matrix, of_mechanism, of_query
from dalenius.report.document import write_document
from dalenius.report.text import problem
from dalenius.results.answers import checked
from dalenius.results.audit import Audit
from dalenius.results.design import Design, NamedPoint
from dalenius.results.options import Options, Report, adversary_of, audit_problem, distortion_of
from dalenius.search.deadline import Progress

# Seconds for the audit, for what stands beside it, for the curve, for the best mechanism and for the whole frontier.
AUDIT, BESIDE, CURVE, DESIGN, FRONTIER = 20.0, 5.0, 12.0, 15.0, 40.0
CURVE_POINTS, FRONTIER_POINTS = 9, 7
# Pictures need no more digits than this.
CURVE_TOLERANCE, FRONTIER_TOLERANCE = 2e-3, 3e-3


def answer(job: Job) -> None:
    """Answer the question of a page; whatever is wrong with it is said in a sentence."""
    try:
        release = release_of(job)
        (_frontier if release.asked.view == "frontier" else _audit)(job, release)
    except InputError as error:
        job.tell("error", sentence=in_page_words(str(error), job))
    except MemoryError:
        job.tell("error", sentence="There is not enough memory for this problem; take fewer records or outputs.")


def _options(unit: str, tolerance: float, seconds: float, report: Report) -> Options:
    return Options.from_user(unit=unit, tolerance=tolerance, time_limit=seconds, seed=0, progress=report)


def _described(job: Job, release: Release, options: dict[str, Any], budget: float | None = None) -> None:
    """Tell what is there before any search: the mechanism, the landmarks, the same as Python and as a command."""
    asked, mechanism = release.asked, release.mechanism
    epsilon, epsilon_means = pieces.epsilon_words(mechanism)
    error, error_means = pieces.error_words(mechanism)
    calls = _calls(asked, job.file, release.kind, options, budget)
    lines = [call.python for call in calls] + [f"print({call.verb}.summary())" for call in calls]
    job.tell(
        "release",
        words=problem(mechanism),
        file=job.file,
        what=release.kind,
        channel=pieces.channel(mechanism, narrow=job.narrow),
        epsilon=[epsilon, epsilon_means],
        error=[error, error_means],
        landmarks=pieces.landmarks(mechanism.records, release.reference, asked.unit),
        most=pieces.most_known(mechanism.records, release.reference, asked.unit),
        held=in_unit(math.log(max(mechanism.records)), asked.unit),
        python=IMPORT + calls[0].subject.python + "\n".join([*lines, ""]),
        command="\n".join(call.command for call in calls),
    )


def _calls(asked: Question, file: str, kind: str, options: dict[str, Any], budget: float | None) -> list[Call]:
    """How to ask the same. file, kind: the name of a dropped file, and what it holds; options: of the search.

    budget: the distortion of the release, where the question is which mechanism leaks least at that.
    """
    limit = {name: value for name, value in asked.against.items() if name != "reference"}
    wanted = {**limit, **({} if asked.unit == "nats" else {"unit": asked.unit}), **options}
    if asked.view == "frontier":
        query = of_query(asked.query)
        calls = [Call("frontier", query, wanted, law=asked.reference)]
        if budget is not None:
            one = {"distortion": budget, **{name: value for name, value in wanted.items() if name != "points"}}
            calls.append(Call("design", query, one, law=asked.reference))
        return calls
    if asked.query is not None and asked.mechanism is not None:
        subject = of_mechanism(asked.query, asked.mechanism)
    elif kind == "matrix":
        subject = of_matrix(file, list(asked.records), asked.reading)
    else:
        subject = of_file(file, result=kind != "mechanism")
    return [Call("audit", subject, wanted, law=asked.reference)]


def _audit(job: Job, release: Release) -> None:
    asked, mechanism = release.asked, release.mechanism
    _described(job, release, {"tolerance": asked.tolerance, "time_limit": AUDIT})
    most = in_unit(math.log(max(mechanism.records)), asked.unit)

    def listen(state: Progress) -> None:
        lower, upper = in_unit(state.lower, asked.unit), min(most, in_unit(state.upper, asked.unit))
        job.tell("bracket", lower=min(lower, upper), upper=upper, stage=state.stage, seconds=state.seconds)

    job.tell("bracket", lower=0.0, upper=most, stage="before any search", seconds=0.0)
    found = audit(
        mechanism, **asked.against, unit=asked.unit, tolerance=asked.tolerance, time_limit=AUDIT, progress=listen
    )
    job.stop()
    _answered(job, found, [found])
    independent = found if asked.adversary == "independent" else _independent(job, release)
    try:
        _curve(job, release, found, independent)
    except InputError as error:
        # The answer stays; only this picture is missing.
        job.tell("curve", chart=pieces.instead(in_page_words(str(error), job)), left=0)


def _answered(job: Job, found: Audit, results: list[Any]) -> None:
    """Tell the answer, and keep what the buttons need."""
    name = _keep(job, results, found)
    job.tell(
        "answer",
        lower=found.lower,
        upper=found.upper,
        verdict=pieces.verdict(found),
        assumed=pieces.assumed(found),
        prior=pieces.worst_prior(found),
        closed=found.closed,
        seconds=found.seconds,
        result=name,
    )


def _keep(job: Job, results: list[Any], certified: Audit | Design) -> str:
    """Write results and the certificate into the folder of the server, by the name of the question."""
    name = hashlib.sha256(json.dumps(sorted(job.fields.items())).encode()).hexdigest()[:32]
    (job.folder / f"{name}.certificate").write_text(certified.certificate.text(), encoding="utf-8")
    (job.folder / f"{name}.results").write_bytes(pickle.dumps(results))
    return name


def report(job: Job) -> None:
    """Write the report of a kept result beside it."""
    name = job.fields["result"]
    results = pickle.loads((job.folder / f"{name}.results").read_bytes())  # noqa: S301 - written by ourselves, above
    unpickled: list[Any] = [result for result in results if isinstance(result, Audit | Design)]
    for result in unpickled:
        # It has yet to be checked in this process; it is where that is quick.
        checked(result, "auto", BESIDE)
    write_document(results, job.folder / f"{name}.html")
    job.tell("written")


def _independent(job: Job, release: Release) -> Audit | None:
    """Tell what the adversary with independent records learns; None where that is refused."""
    asked = release.asked
    options: dict[str, Any] = {"reference": asked.reference, "unit": asked.unit, "tolerance": asked.tolerance}
    try:
        found = audit(release.mechanism, adversary="independent", **options, time_limit=BESIDE)
    except InputError:
        job.tell("beside", words="not known for this release")
        return None
    job.tell("beside", words=pieces.bracket_words(found.lower, found.upper, asked.unit))
    return found


def _curve(job: Job, release: Release, found: Audit, independent: Audit | None) -> None:
    """Audit along knowledge, and draw what is there after every point."""
    asked, mechanism = release.asked, release.mechanism
    most = pieces.most_known(mechanism.records, release.reference, asked.unit)
    bounded = asked.adversary == "bounded"
    limit = min(asked.knowledge, most) if bounded else 0.0
    top = min(most, max(in_unit(3.0, asked.unit), 1.5 * limit))
    points = [top * (k / (CURVE_POINTS - 1)) ** 2 for k in range(CURVE_POINTS)]
    audits = [found] if bounded and limit <= top else []
    tolerance = in_unit(CURVE_TOLERANCE, asked.unit)
    warm_starts: dict[int, WarmStart] = {}
    spent = 0.0
    job.tell("curve", chart=pieces.curve(audits, found, independent, top, narrow=job.narrow), left=len(points))
    # The ends first, then between: the shape is there early, and may do where there is no time for more.
    for k, place in enumerate((0, 8, 4, 2, 6, 1, 3, 5, 7)):
        knowledge = points[place]
        if spent > CURVE:
            break
        options = _options(asked.unit, tolerance, max(0.05, (CURVE - spent) / (len(points) - k)), lambda _: job.stop())
        adversary = adversary_of(mechanism, options, knowledge=knowledge, reference=asked.reference)
        one = solve(audit_problem(mechanism, options, adversary, None), options, warm_starts)
        spent += one.seconds
        audits.append(one)
        chart = pieces.curve(audits, found, independent, top, narrow=job.narrow)
        job.tell("curve", chart=chart, left=len(points) - k - 1)
    job.tell("whole")


def _frontier(job: Job, release: Release) -> None:
    asked, query, mechanism = release.asked, release.query, release.mechanism
    if query is None:
        refuse("a frontier is about a query with a name; choose one under Release, or look at the release alone")
    if asked.adversary == "independent":
        refuse("mechanisms are designed against limited knowledge; choose that adversary to see the frontier")
    error = mechanism.expected_distortion()
    # As people write it: 0.3, and not the float next to it.
    error = None if error is None else float(f"{error:.9g}")
    tolerance = in_unit(FRONTIER_TOLERANCE, asked.unit)
    options = {"points": FRONTIER_POINTS, "tolerance": tolerance, "time_limit": FRONTIER}
    _described(job, replace(release, asked=replace(asked, query=str(query))), options, error)
    limits: dict[str, Any] = {
        "knowledge": asked.knowledge,
        "reference": asked.reference,
        "unit": asked.unit,
        "tolerance": tolerance,
        "progress": lambda _: job.stop(),
    }
    release_audit = audit(mechanism, **limits, time_limit=BESIDE)
    job.stop()
    _answered(job, release_audit, [release_audit])
    _independent(job, release)
    drawn = Drawn(job, release_audit if error is not None else None)
    try:
        _designed(drawn, query, error, limits)
    except InputError as refused:
        sentence = in_page_words(str(refused), job)
        job.tell("frontier", chart=pieces.instead(sentence), left="")


def _designed(drawn: "Drawn", query: Query, error: float | None, limits: dict[str, Any]) -> None:
    """Design for the error of the release, then along all errors, and draw every point."""
    job, release_audit = drawn.job, drawn.release
    if release_audit is not None and error is not None:
        drawn.draw("the best mechanism of the same expected error")
        drawn.best = designs.design(query, distortion=error, **limits, time_limit=DESIGN)
        words, channel = _saved(release_audit, drawn.best), pieces.channel(drawn.best.mechanism, narrow=job.narrow)
        job.tell("designed", words=words, channel=channel, result=_keep(job, [drawn.best], drawn.best))
        drawn.draw("the frontier")
    search = _options(limits["unit"], limits["tolerance"], FRONTIER, limits["progress"])
    task = distortion_of(query, "absolute", None, None)
    adversary = adversary_of(query, search, knowledge=limits["knowledge"], reference=limits["reference"])
    found = designs.frontier_of(task, adversary, search, FRONTIER_POINTS, named=True, each=drawn.each)
    designed = [] if drawn.best is None else [drawn.best]
    name = _keep(job, [found, *designed], drawn.best or found.designs[0])
    drawn.draw("", result=name)


@dataclass
class Drawn:
    """The frontier so far.

    release: the audit of the release, where its error is known. best: the mechanism designed for that error.
    """

    job: Job
    release: Audit | None
    best: Design | None = None
    designs: list[Design] = field(default_factory=list)
    named: list[NamedPoint] = field(default_factory=list)

    def each(self, point: Design | NamedPoint) -> None:
        """Draw one more point."""
        if isinstance(point, Design):
            self.designs.append(point)
        else:
            self.named.append(point)
        more = FRONTIER_POINTS - len(self.designs)
        self.draw(f"{more} more design{'s' * (more > 1)}, then named mechanisms" if more else "named mechanisms")

    def draw(self, left: str, **more: str) -> None:
        """Draw what is there; left: what is not."""
        found, best = [], self.best
        if self.release is not None:
            found.append(("this release", self.release.mechanism.expected_distortion() or 0.0, self.release))
        if best is not None:
            found.append(("designed for the same error", best.distortion, best.leakage))
        chart = pieces.frontier(self.designs, self.named, found, narrow=self.job.narrow)
        self.job.tell("frontier", chart=chart, left=left, **more)


def _saved(release_audit: Audit, best: Design) -> str:
    """What the best mechanism saves, in a sentence that the bounds prove."""
    unit = best.unit
    least = pieces.bracket_words(best.lower, best.upper, unit)
    now = pieces.bracket_words(release_audit.lower, release_audit.upper, unit)
    words = (
        f"This release leaks {now} at an expected error of {best.budget:.4g}. At the same error no mechanism leaks "
        f"less than {least.split(' to ', maxsplit=1)[0]} {unit}, and the one below leaks {least.split(' to ')[1]} at "
        "most."
    )
    if release_audit.lower > best.upper:
        share = 100 * (1 - best.upper / release_audit.lower)
        return f"{words} So at least {share:.0f}\u00a0% of the leakage can be saved."
    return f"{words} There is little to gain."


ANSWERS: dict[str, Callable[[Job], None]] = {"answer": answer, "inspect": inspect, "report": report}
