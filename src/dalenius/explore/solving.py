"""What a solver process does: it answers one question of the page after the other, and tells what it has on the way."""

import hashlib
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalenius import api
from dalenius.auditing.one_secret import WarmStart
from dalenius.errors import InputError
from dalenius.explore import pieces
from dalenius.explore.again import again
from dalenius.explore.question import Question, as_sentence
from dalenius.gallery.parse import parse_mechanism, parse_query
from dalenius.model.channels.continuous import Continuous
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.files import read_json
from dalenius.model.query import Query
from dalenius.model.reference import Reference
from dalenius.model.storage import FORMAT, read_matrix
from dalenius.options import Options, Report, adversary_of, audit_problem, distortion_of
from dalenius.report.document import write_document
from dalenius.report.text import problem
from dalenius.results.audit import Audit
from dalenius.results.design import Design, NamedPoint
from dalenius.results.units import in_unit
from dalenius.search.deadline import Progress

Send = Callable[[dict[str, Any]], None]
# Seconds for the audit, for what stands beside it, for the curve, for the best mechanism and for the whole frontier.
AUDIT, BESIDE, CURVE, DESIGN, FRONTIER = 20.0, 5.0, 12.0, 15.0, 40.0
CURVE_POINTS, FRONTIER_POINTS = 9, 7
# Pictures need no more digits than this.
CURVE_TOLERANCE, FRONTIER_TOLERANCE = 2e-3, 3e-3


@dataclass(frozen=True)
class Job:
    """A question, the file that it is about, and where results are kept.

    stop: raises where the answer is no longer wanted. file: what the page calls the upload; path: where it is.
    """

    fields: dict[str, str]
    folder: Path
    send: Send
    stop: Callable[[], None]
    narrow: bool = False
    file: str = ""
    path: Path | None = None

    def tell(self, kind: str, **content: Any) -> None:  # noqa: ANN401 - plain data
        """Send an event, unless nobody wants it."""
        self.stop()
        self.send({"kind": kind, **content})


@dataclass(frozen=True)
class Release:
    """What is asked about, built: the mechanism, and what everybody knows."""

    asked: Question
    mechanism: Mechanism
    kind: str
    reference: Reference

    @property
    def query(self) -> Query | None:
        """Return the query of the release, where it has a name."""
        query = self.mechanism.query
        return query if query is not None and query.named else None


def answer(job: Job) -> None:
    """Answer the question of a page; whatever is wrong with it is said in a sentence."""
    try:
        release = _release(job)
        (_frontier if release.asked.view == "frontier" else _audit)(job, release)
    except InputError as error:
        job.tell("error", sentence=_in_page_words(str(error), job))
    except MemoryError:
        job.tell("error", sentence="There is not enough memory for this problem; take fewer records or outputs.")


# How the library names its options, and where the page has them.
IN_PAGE_WORDS = {
    "delimiter=, decimal=, header= and index= say otherwise (--delimiter and so on)": (
        "'How the file is read' can change that"
    ),
    "give these options (--delimiter, --decimal)": "choose one under 'How the file is read'",
    "normalize=True (--normalize)": "so under 'How the file is read'",
    "counts=True (--counts) takes": "the box 'rows are counts' takes",
}


def _in_page_words(sentence: str, job: Job) -> str:
    """The sentence with the name of the file that was dropped in place of ours, and with controls for options."""
    for words, here in IN_PAGE_WORDS.items():
        sentence = sentence.replace(words, here)
    if job.path is not None and str(job.path) in sentence:
        return sentence.replace(str(job.path), job.file)
    return as_sentence(sentence)


def _release(job: Job) -> Release:
    asked = Question.from_fields(job.fields)
    if asked.query is not None and asked.mechanism is not None:
        mechanism, kind = parse_mechanism(asked.mechanism, parse_query(asked.query)), "named"
    elif job.path is None:
        message = "the file of this address is no longer here; drop it on the page again"
        raise InputError(message)
    else:
        mechanism, kind = _read(job.path, asked)
    if isinstance(mechanism, Continuous):
        message = f"{mechanism.query} has real-valued records, which this page does not draw; use dalenius audit"
        raise InputError(message)
    return Release(asked, mechanism, kind, Reference.from_user(asked.reference, mechanism.records))


def _read(path: Path, asked: Question) -> tuple[Mechanism, str]:
    """The mechanism of a dropped file: a matrix, a saved mechanism, or what a saved result is about."""
    content = read_json(path) if path.suffix == ".json" else None
    if isinstance(content, dict):
        if content.get("format") == FORMAT:
            return Mechanism.load(path), "mechanism"
        return _of_result(path)[0], "result"
    if not asked.records:
        rows = len(
            read_matrix(
                path, **{name: asked.reading.get(name) for name in ("delimiter", "decimal", "header", "index")}
            )[0]
        )
        message = f"say how many values each record has, such as 2,2,2 for three bits: one row per dataset makes {rows}"
        raise InputError(message)
    return Mechanism.from_matrix(path, asked.records, **asked.reading), "matrix"


def _of_result(path: Path) -> tuple[Mechanism, Any]:
    """What a saved result is about, and the result."""
    result = api.load(path)
    audits = getattr(result, "audits", None) or getattr(result, "designs", None)
    one = audits[0] if audits else result
    mechanism = getattr(one, "mechanism", None)
    if not isinstance(mechanism, Mechanism):
        message = f"{path} holds a {type(result).__name__}, which is not about one mechanism; drop an audit or a design"
        raise InputError(message)
    return mechanism, one


def inspect(job: Job) -> None:
    """Look at a dropped file: what it is, and which controls it sets."""
    try:
        what, words, fields = _looked_at(job)
        job.tell("file", what=what, words=words, fields=fields)
    except InputError as error:
        job.tell("error", sentence=_in_page_words(str(error), job))


def _looked_at(job: Job) -> tuple[str, str, dict[str, str]]:
    """What a file holds, in a word and in words, and the fields that follow from it."""
    path = job.path or Path()
    content = read_json(path) if path.suffix == ".json" else None
    if isinstance(content, dict) and content.get("format") == FORMAT:
        return "mechanism", problem(Mechanism.load(path)), {}
    if isinstance(content, dict):
        mechanism, result = _of_result(path)
        return "result", problem(mechanism), _adversary_fields(result)
    try:
        shape = np.shape(read_matrix(path)[0])
    except InputError:
        # The question says why, beside the controls that say how to read it.
        return "matrix", "", {}
    if len(shape) != 2:  # noqa: PLR2004 - rows and columns
        message = f"{path} has shape {shape}; a channel has rows and columns"
        raise InputError(message)
    return "matrix", f"{shape[0]} rows and {shape[1]} outputs", {"records": _alphabets(shape[0])}


def _alphabets(rows: int) -> str:
    """The likeliest reading of so many datasets: bits where that is possible, else one record."""
    many = rows.bit_length() - 1
    return ",".join(["2"] * many) if rows == 1 << many and many else str(rows)


def _adversary_fields(result: Any) -> dict[str, str]:  # noqa: ANN401 - any result
    """The adversary of a saved result, as fields of the page."""
    adversary, unit = getattr(result, "adversary", None), getattr(result, "unit", "nats")
    if adversary is None:
        return {}
    fields = {"unit": unit, "adversary": adversary.kind}
    if adversary.kind != "independent":
        fields["knowledge"] = repr(float(f"{in_unit(adversary.knowledge, unit):.12g}"))
    if adversary.reference.kind == "marginal":
        fields["reference"] = ", ".join(map(repr, adversary.reference.laws[0]))
    return fields


def _options(asked: Question, tolerance: float, seconds: float, report: Report) -> Options:
    return Options.from_user(unit=asked.unit, tolerance=tolerance, time_limit=seconds, seed=0, progress=report)


def _described(job: Job, release: Release, options: dict[str, Any], budget: float | None = None) -> None:
    """Tell what is there before any search: the mechanism, the landmarks, the same as Python and as a command."""
    asked, mechanism = release.asked, release.mechanism
    epsilon, epsilon_means = pieces.epsilon_words(mechanism)
    error, error_means = pieces.error_words(mechanism)
    same = again(asked, job.file, release.kind, options, budget)
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
        python=same.python,
        command=same.command,
    )


def _audit(job: Job, release: Release) -> None:
    asked, mechanism = release.asked, release.mechanism
    _described(job, release, {"tolerance": asked.tolerance, "time_limit": AUDIT})
    held = in_unit(math.log(max(mechanism.records)), asked.unit)

    def listen(state: Progress) -> None:
        lower, upper = in_unit(state.lower, asked.unit), min(held, in_unit(state.upper, asked.unit))
        job.tell("bracket", lower=min(lower, upper), upper=upper, stage=state.stage, seconds=state.seconds)

    job.tell("bracket", lower=0.0, upper=held, stage="before any search", seconds=0.0)
    found = api.audit(
        mechanism, **asked.against, unit=asked.unit, tolerance=asked.tolerance, time_limit=AUDIT, progress=listen
    )
    job.stop()
    _answered(job, found, [found])
    beside = _independent(release) if asked.adversary != "independent" else found
    job.stop()
    if beside is not None and beside is not found:
        words = pieces.bracket_words(beside.lower, beside.upper, asked.unit)
        job.tell("beside", words=words, lower=beside.lower, upper=beside.upper)
    _curve(job, release, found, beside)


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
    write_document(results, job.folder / f"{name}.html")
    job.tell("written")


def _independent(release: Release) -> Audit | None:
    """The audit against independent records; None where it is refused."""
    try:
        return api.audit(
            release.mechanism,
            adversary="independent",
            reference=release.asked.reference,
            unit=release.asked.unit,
            tolerance=release.asked.tolerance,
            time_limit=BESIDE,
        )
    except InputError:
        return None


def _curve(job: Job, release: Release, found: Audit, beside: Audit | None) -> None:
    """Audit along knowledge, and draw what is there after every point."""
    asked, mechanism = release.asked, release.mechanism
    most = pieces.most_known(mechanism.records, release.reference, asked.unit)
    bounded = asked.adversary == "bounded"
    own = min(asked.knowledge, most) if bounded else 0.0
    top = min(most, max(in_unit(3.0, asked.unit), 1.5 * own))
    points = [top * (k / (CURVE_POINTS - 1)) ** 2 for k in range(CURVE_POINTS)]
    audits = [found] if bounded and own <= top else []
    tolerance = in_unit(CURVE_TOLERANCE, asked.unit)
    known: dict[int, WarmStart] = {}
    spent = 0.0
    job.tell("curve", chart=pieces.curve_chart(audits, found, beside, top, narrow=job.narrow), left=len(points))
    for k, knowledge in enumerate(points):
        options = _options(asked, tolerance, max(0.05, (CURVE - spent) / (len(points) - k)), lambda _: job.stop())
        adversary = adversary_of(mechanism, options, knowledge=knowledge, reference=asked.reference)
        one = api.solve(audit_problem(mechanism, options, adversary, None), options, known)
        spent += one.seconds
        audits.append(one)
        chart = pieces.curve_chart(audits, found, beside, top, narrow=job.narrow)
        job.tell("curve", chart=chart, left=len(points) - k - 1)


def _frontier(job: Job, release: Release) -> None:
    asked, query, mechanism = release.asked, release.query, release.mechanism
    if query is None:
        message = "a frontier is about a query with a name; choose one under Release, or look at the release alone"
        raise InputError(message)
    if asked.adversary == "independent":
        message = "mechanisms are designed against limited knowledge; choose that adversary to see the frontier"
        raise InputError(message)
    error = mechanism.expected_distortion()
    options = {"points": FRONTIER_POINTS, "tolerance": FRONTIER_TOLERANCE, "time_limit": FRONTIER}
    _described(job, replace(release, asked=replace(asked, query=str(query))), options, error)
    tolerance = in_unit(FRONTIER_TOLERANCE, asked.unit)
    limits: dict[str, Any] = {
        "knowledge": asked.knowledge,
        "reference": asked.reference,
        "unit": asked.unit,
        "tolerance": tolerance,
        "progress": lambda _: job.stop(),
    }
    own = api.audit(mechanism, **limits, time_limit=BESIDE)
    job.stop()
    _answered(job, own, [own])
    drawn = Drawn(job, own if error is not None else None)
    if error is not None:
        drawn.draw("the best mechanism of the same expected error")
        drawn.best = api.design(query, distortion=error, **limits, time_limit=DESIGN)
        words, channel = _saved(own, drawn.best), pieces.channel(drawn.best.mechanism, narrow=job.narrow)
        job.tell("designed", words=words, channel=channel, result=_keep(job, [drawn.best], drawn.best))
        drawn.draw("the frontier")
    search = _options(asked, tolerance, FRONTIER, limits["progress"])
    task = distortion_of(query, "absolute", None, None)
    adversary = adversary_of(query, search, knowledge=asked.knowledge, reference=asked.reference)
    found = api.frontier_of(task, adversary, search, FRONTIER_POINTS, named=True, each=drawn.each)
    designed = [] if drawn.best is None else [drawn.best]
    name = _keep(job, [found, *designed], drawn.best or found.designs[0])
    drawn.draw("", result=name)


@dataclass
class Drawn:
    """The frontier so far. own: the release, where its error is known; best: the mechanism designed for that error."""

    job: Job
    own: Audit | None
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
        self.draw(f"{more} more designs, then named mechanisms" if more else "named mechanisms")

    def draw(self, left: str, **more: str) -> None:
        """Draw what is there; left: what is not."""
        chart = pieces.frontier_chart(self.designs, self.named, self.own, self.best, narrow=self.job.narrow)
        self.job.tell("frontier", chart=chart, left=left, **more)


def _saved(own: Audit, best: Design) -> str:
    """What the best mechanism saves, in a sentence that the bounds prove."""
    unit = best.unit
    least = pieces.bracket_words(best.lower, best.upper, unit)
    now = pieces.bracket_words(own.lower, own.upper, unit)
    words = (
        f"This release leaks {now} at an expected error of {best.budget:.4g}. At the same error no mechanism leaks "
        f"less than {least.split(' to ', maxsplit=1)[0]} {unit}, and the one below leaks {least.split(' to ')[1]} at "
        "most."
    )
    if own.lower > best.upper:
        return f"{words} So at least {100 * (1 - best.upper / own.lower):.0f} % of the leakage can be saved."
    return f"{words} There is little to gain."


ANSWERS: dict[str, Callable[[Job], None]] = {"answer": answer, "inspect": inspect, "report": report}
