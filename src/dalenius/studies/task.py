"""One question, as a table of TOML states it: which keys there are, and how it is answered."""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from dalenius.errors import InputError, refuse
from dalenius.model.files import read_bytes

if TYPE_CHECKING:
    from dalenius.designing.problem import Problem
    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.problem import Adversary, AuditProblem, DesignProblem
    from dalenius.model.query import Query
    from dalenius.model.secret import Secret
    from dalenius.results.audit import Audit
    from dalenius.results.calibration import Calibration
    from dalenius.results.design import Design
    from dalenius.results.options import Options

TaskName = Literal["audit", "design", "calibrate"]


def _no_bool(value: object) -> object:
    """Refuse true and false where a number is wanted: Python counts them among the whole numbers."""
    if isinstance(value, bool):
        message = f"{str(value).lower()} is not a number"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError into a mistake of the file
    return value


Number = Annotated[float, BeforeValidator(_no_bool), Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, BeforeValidator(_no_bool), Field(strict=True)]
Positive = Annotated[float, BeforeValidator(_no_bool), Field(strict=True, gt=0, allow_inf_nan=False)]
Text = Annotated[str, Field(strict=True, min_length=1)]
Flag = Annotated[bool, Field(strict=True, description="true or false")]
# Keys that may name a file; and how the file of a channel is read, as for Mechanism.from_matrix.
FILES = ("channel", "load", "reference")
READING = ("delimiter", "decimal", "header", "index", "normalize", "counts")
# What mechanisms of a design keep, beside its budget.
CONSTRAINTS = ("max_epsilon", "floor", "unbiased", "within", "keep_zero")


class Task(BaseModel):
    """An audit, a design or a calibration. Files are named relative to the TOML file's folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: TaskName = Field("audit", description='"audit", "design" or "calibrate"')
    query: Text | None = Field(None, description='a call such as "count(n=4)"')
    mechanism: Text | None = Field(None, description='a call such as "geometric(epsilon=1)"')
    channel: Text | None = Field(None, description="the name of a file with a matrix")
    records: list[Whole] | None = Field(None, description="a list of alphabet sizes such as [2, 2, 2]")
    delimiter: Text | None = Field(None, description='what separates the numbers of the channel, such as ";"')
    decimal: Text | None = Field(None, description='"." or ","')
    header: Flag | None = None
    index: Flag | None = None
    normalize: Flag | None = None
    counts: Flag | None = None
    load: Text | None = Field(None, description="the name of a saved mechanism")
    entropy: Number | None = None
    knowledge: Number | None = None
    max_epsilon: Number | None = Field(None, description="of a design: also epsilon-differentially private")
    floor: Number | None = Field(None, description="of a design: the least probability of every output")
    unbiased: Flag | None = Field(None, description="of a design: the expected output is the answer")
    within: Number | None = Field(None, description="of a design: how far outputs may be from the answer")
    keep_zero: Flag | None = Field(None, description="of a design: an answer of 0 is released as 0")
    adversary: Literal["bounded", "independent"] | None = Field(None, description='"bounded" or "independent"')
    secret: Whole | Text | list[Whole] | list[Text] | None = Field(
        None, description='the number of a record, a list of them, or an attribute such as "0.1"'
    )
    reference: Text | list[Number] | list[list[Number]] | None = Field(
        None, description="the name of a file, one law, or a list of laws"
    )
    unit: Literal["nats", "bits"] = Field("nats", description='"nats" or "bits"')
    tolerance: Positive | None = None
    relative: Number | None = None
    time_limit: Positive | None = None
    nodes: Whole | None = Field(None, ge=1, description="a whole number of at least 1")
    seed: Whole | None = Field(None, ge=0, description="a whole number of at least 0")
    method: Literal["certified", "paper"] | None = Field(None, description='"certified" or "paper"')
    distortion: Number | None = None
    leakage: Number | None = None
    family: Text | None = Field(None, description='the name of a mechanism such as "geometric"')

    # Keys that belong to some tasks only; all others belong to every task.
    BELONGS: ClassVar[dict[str, tuple[TaskName, ...]]] = {
        "mechanism": ("audit",),
        "channel": ("audit",),
        "records": ("audit",),
        "load": ("audit",),
        **dict.fromkeys(READING, ("audit",)),
        "secret": ("audit",),
        "relative": ("audit", "design"),
        "nodes": ("audit",),
        "distortion": ("design",),
        **dict.fromkeys(CONSTRAINTS, ("design",)),
        "leakage": ("design", "calibrate"),
        "family": ("calibrate",),
    }

    @model_validator(mode="after")
    def _whole_question(self) -> "Task":
        """Refuse a question with a part missing, or with a part of another."""
        given = set(self.model_fields_set) & {
            name for name in type(self).model_fields if getattr(self, name) is not None
        }
        for name, tasks in self.BELONGS.items():
            if name in given and self.task not in tasks:
                message = f"{name} is a key of task = {' or '.join(map(repr, tasks))}; this is a task of {self.task!r}"
                raise ValueError(message)
        sources: tuple[set[str], ...] = ({"query"},)
        if self.task == "audit":
            sources = ({"query", "mechanism"}, {"channel", "records"}, {"load"})
        if given & {"query", "mechanism", "channel", "records", "load"} not in sources:
            ways = " or ".join(" with ".join(sorted(way, reverse=True)) for way in sources)
            message = f"name what the question is about in exactly one way: {ways}"
            raise ValueError(message)
        if "channel" not in given and given.intersection(READING):
            message = f"{min(given.intersection(READING))} is about how a channel is read; leave it out"
            raise ValueError(message)
        self._exactly_one(given, "knowledge", "entropy", free=self.adversary == "independent")
        if self.task == "design":
            self._exactly_one(given, "distortion", "leakage")
        if self.task == "calibrate" and not {"family", "leakage"} <= given:
            message = 'a calibration needs family, such as "geometric", and leakage, the budget'
            raise ValueError(message)
        return self

    @staticmethod
    def _exactly_one(given: set[str], one: str, other: str, *, free: bool = False) -> None:
        many = len(given & {one, other})
        if many == 2 or (many == 0 and not free):  # both
            message = f"give exactly one of {one} and {other}; {'both were' if many else 'neither was'} given"
            raise ValueError(message)

    @property
    def dual(self) -> bool:
        """Whether what is bracketed is a distortion: that of the best design within a budget of leakage."""
        return self.task == "design" and self.leakage is not None

    def options(self) -> dict[str, Any]:
        """Return what is passed on as it is."""
        names = (
            "entropy", "knowledge", "unit", "tolerance", "relative", "time_limit", "nodes", "seed", "method",
            "distortion", "leakage", "adversary", *CONSTRAINTS,
        )  # fmt: skip
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True)
class Work:
    """A task with the content of its files: what a process elsewhere needs, and nothing more."""

    task: Task
    folder: Path
    # Digests of the files it names, as they were when the question was read.
    digests: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, task: Task, folder: Path, earlier: dict[Path, str] | None = None) -> "Work":
        """Read the files that a task names. earlier: digests of files that were read for the same study."""
        digests = {} if earlier is None else earlier
        named = files_of(task)
        for name, file in named.items():
            path = folder / file
            if not path.is_file():
                refuse(f"{name} = {file!r}: there is no such file in {folder}")
            if path not in digests:
                digests[path] = digest(read_bytes(path))
        return cls(task, folder, tuple((name, digests[folder / file]) for name, file in named.items()))

    def key(self) -> str:
        """Return what the answer depends on, in one digest: every key, and the content of every file named."""
        stated = self.task.model_dump(exclude_defaults=True)
        stated |= {name: {"sha256": found} for name, found in self.digests}
        text = json.dumps(stated, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def content(self) -> dict[str, bytes]:
        """Return the content of its files; refused where it is no longer what the question was read with."""
        named = files_of(self.task)
        found = {name: read_bytes(self.folder / named[name]) for name, _ in self.digests}
        for name, before in self.digests:
            if digest(found[name]) != before:
                refuse(f"{named[name]} has changed since the question was read; ask again")
        return found

    def answer(self) -> "Answered":
        """Answer the question; the certificate is not checked here."""
        self.content()
        return _ANSWERS[self.task.task](self)


def files_of(task: Task) -> dict[str, str]:
    """Return the files that a task names: those of its keys, and the perturbation tables of its mechanism."""
    named = {name: value for name in FILES if isinstance(value := getattr(task, name), str)}
    renamed(task, named.setdefault)
    return named


def renamed(task: Task, change: Callable[[str, str], str]) -> str | None:
    """Return the mechanism of a task with other names of its perturbation tables: change("table 1", "sheet.csv")."""
    from dalenius.model.gallery.parse import with_tables

    numbers = itertools.count(1)
    try:
        return task.mechanism and with_tables(task.mechanism, lambda file: change(f"table {next(numbers)}", file))
    except InputError:  # it is no call, which is said where it is built
        return task.mechanism


def digest(content: bytes) -> str:
    """Return by what a file is told from another."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Answered:
    """Numbers of an answer that are the same in every run, its seconds, and its certificate (or several) as data."""

    numbers: dict[str, Any]
    seconds: float
    certificate: dict[str, Any]


def _mechanism(work: Work) -> "Mechanism":
    from dalenius.model.channels.mechanism import Mechanism
    from dalenius.model.gallery.parse import parse_mechanism, parse_query

    task = work.task
    if task.query is not None and task.mechanism is not None:
        tables = renamed(task, lambda _, file: str(work.folder / file))
        return parse_mechanism(tables or task.mechanism, parse_query(task.query))
    if task.channel is not None and task.records is not None:
        reading = {name: getattr(task, name) for name in READING if getattr(task, name) is not None}
        return Mechanism.from_matrix(work.folder / task.channel, task.records, **reading)
    return Mechanism.load(work.folder / (task.load or ""))


def _reference(work: Work, records: tuple[int, ...]) -> dict[str, Any]:
    from dalenius.model.reference import Reference

    given = work.task.reference
    if given is None:
        return {}
    if isinstance(given, str):
        return {"reference": Reference.from_file(work.folder / given, records)}
    return {"reference": given}


def _answered(
    found: "Audit | Design | Calibration", bracket: "Audit | Design", leaks: "Audit", **more: float | None
) -> Answered:
    """What is kept of a result: the bracket that was asked for, the audit behind it, and more numbers."""
    ends = {name: getattr(bracket, name) for name in ("lower", "upper")}
    about = {"unit": leaks.unit, "gap": bracket.gap, "stopped": found.stopped, "proved": bracket.proved}
    numbers = {**ends, **about, "upper_by": leaks.upper_by, "nodes": leaks.nodes, **more}
    return Answered(numbers, found.seconds, bracket.certificate.data)


def _audit(work: Work) -> Answered:
    from dalenius.api.audits import audit

    mechanism = _mechanism(work)
    secret = {} if work.task.secret is None else {"secret": work.task.secret}
    options = {**work.task.options(), **secret, **_reference(work, mechanism.records)}
    found = audit(mechanism, **options, verify=False)
    return _answered(found, found, found, **({} if found.confidence is None else {"confidence": found.confidence}))


def _design(work: Work) -> Answered:
    from dalenius.api.designs import design
    from dalenius.model.gallery.parse import parse_query

    query = parse_query(work.task.query or "")
    found = design(query, **work.task.options(), **_reference(work, query.records), verify=False)
    leaks = found.leakage
    more = {"distortion": found.distortion, "leakage_lower": leaks.lower, "leakage_upper": leaks.upper}
    return _answered(found, found, leaks, **more)


def _calibrate(work: Work) -> Answered:
    from dalenius.model.gallery.parse import parse_query
    from dalenius.tools.calibration import calibrate

    query = parse_query(work.task.query or "")
    found = calibrate(work.task.family or "", query, **work.task.options(), **_reference(work, query.records))
    return _answered(found, found.leakage, found.leakage, value=found.value, distortion=found.distortion)


_ANSWERS: dict[TaskName, Callable[[Work], Answered]] = {"audit": _audit, "design": _design, "calibrate": _calibrate}


def check_question(work: Work) -> None:
    """Refuse a question whose query, mechanism, adversary, reference or secret cannot be, before any work starts."""
    from dalenius.model.gallery.parse import parse_query

    if work.task.task == "audit":
        audit_asked(work)
    elif any(getattr(work.task, name) is not None for name in CONSTRAINTS):
        design_asked(work)  # constraints may exclude each other, or the budget
    else:
        _reference(work, parse_query(work.task.query or "").records)


def audit_asked(work: Work, value: float | None = None) -> "AuditProblem":
    """Return what is asked about a mechanism, of a calibration the one with this value of its parameter."""
    from dalenius.model.gallery.families import family_of
    from dalenius.model.gallery.parse import parse_query
    from dalenius.results.options import audit_problem

    task = work.task
    if task.family is None or value is None:
        mechanism = _mechanism(work)
    else:
        mechanism = family_of(task.family)[0].with_parameter(parse_query(task.query or ""), value)
    options, against = _against(work, mechanism)
    return audit_problem(mechanism, options, against, task.secret)


def asked_of(work: Work, value: float | None = None) -> "tuple[Mechanism | Query, Adversary, Secret | None]":
    """Return what an answer is about: the mechanism, of a design the query; the adversary; the secret.

    value: of the parameter that a calibration found.
    """
    from dalenius.model.gallery.parse import parse_query

    if work.task.task != "design":
        asked = audit_asked(work, value)
        return asked.mechanism, asked.adversary, asked.secret
    query = parse_query(work.task.query or "")
    return query, _against(work, query)[1], None


def design_asked(work: Work) -> "tuple[DesignProblem, Problem]":
    """Return what a design is asked, and how solvers hold it."""
    from dalenius.api.designs import reduced
    from dalenius.model.gallery.parse import parse_query
    from dalenius.results.options import design_problem, distortion_of

    task, query = work.task, parse_query(work.task.query or "")
    options, against = _against(work, query)
    distortion = distortion_of(query, "absolute", None, None)
    constraints = {name: value for name in CONSTRAINTS if (value := getattr(task, name)) is not None}
    asked = design_problem(
        distortion, against, options, distortion=task.distortion, leakage=task.leakage, **constraints
    )
    return reduced(asked, certified=options.method is None)


def _against(work: Work, asked: "Mechanism | Query") -> "tuple[Options, Adversary]":
    """The options of a task, as far as its question depends on them, and its adversary."""
    from dalenius.results.options import Options, adversary_of, method_of

    task = work.task
    method = method_of(task.method or "certified")
    options = Options.from_user(method, unit=task.unit, tolerance=1e-6, time_limit=None, seed=0, progress=False)
    kind, reference = task.adversary or "bounded", _reference(work, asked.records)
    limits = {"entropy": task.entropy, "knowledge": task.knowledge}
    return options, adversary_of(asked, options, adversary=kind, **limits, **reference)


def wrong_calls(task: Task) -> Iterator[tuple[str, str]]:
    """Return the keys whose call strings have wrong names, arguments or types, and what is wrong; nothing is built."""
    for key in ("query", "mechanism", "family"):
        text = getattr(task, key)
        if text is not None and (wrong := _wrong_call(key, text)):
            yield key, wrong


@lru_cache(maxsize=10_000)
def _wrong_call(key: str, text: str) -> str:
    from dalenius.model.gallery.families import family_of
    from dalenius.model.gallery.parse import check_call

    try:
        if key == "family":
            family_of(text)
        else:
            check_call(text, key)
    except InputError as error:
        return str(error)
    return ""
