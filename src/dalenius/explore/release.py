"""The release that a page asks about: by its names, or from a file that was dropped on the page."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.errors import InputError, refuse
from dalenius.explore.question import Question, as_sentence
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.files import read_json
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.problem import in_unit
from dalenius.model.query import Query
from dalenius.model.reference import Reference
from dalenius.model.storage import FORMAT, read_matrix
from dalenius.report.text import problem
from dalenius.studies.loading import load

Send = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Job:
    """A question, the file that it is about, and where results are kept.

    stop: raises once the answer is no longer wanted. file: the name of the upload on the page; path: where it is.
    """

    fields: dict[str, str]
    folder: Path
    send: Send
    stop: Callable[[], None]
    narrow: bool = False
    file: str = ""
    path: Path | None = None

    def tell(self, kind: str, **content: Any) -> None:
        """Send an event, unless nobody wants it."""
        self.stop()
        self.send({"kind": kind, **content})


@dataclass(frozen=True)
class Release:
    """The mechanism that a question is about, and what everybody knows."""

    asked: Question
    mechanism: Mechanism
    kind: str
    reference: Reference

    @property
    def query(self) -> Query | None:
        """Return the query of the release, where it has a name."""
        query = self.mechanism.query
        return query if query is not None and query.named else None


# How the library names its options, and where the page has them.
IN_PAGE_WORDS = {
    "delimiter=, decimal=, header= and index= change that (--delimiter and so on)": (
        "'How the file is read' can change that"
    ),
    "give these options (--delimiter, --decimal)": "choose one under 'How the file is read'",
    "give normalize=True (--normalize)": "let the page do it, under 'How the file is read'",
    "counts=True (--counts) takes": "the box 'rows are counts' takes",
}


def in_page_words(sentence: str, job: Job) -> str:
    """Name the dropped file instead of our copy of it, and controls of the page instead of options."""
    for words, here in IN_PAGE_WORDS.items():
        sentence = sentence.replace(words, here)
    if job.path is not None and str(job.path) in sentence:
        return sentence.replace(str(job.path), job.file)
    return as_sentence(sentence)


def release_of(job: Job) -> Release:
    """Build what is asked about, or refuse it."""
    asked = Question.from_fields(job.fields)
    if asked.query is not None and asked.mechanism is not None:
        mechanism, kind = parse_mechanism(asked.mechanism, parse_query(asked.query)), "named"
    elif job.path is None:
        refuse("the file of this address is no longer here; drop it on the page again")
    else:
        mechanism, kind = _read(job.path, asked)
    if mechanism.as_real_records is not None:
        refuse(f"{mechanism.query} has real-valued records, which this page does not draw; use dalenius audit")
    return Release(asked, mechanism, kind, Reference.from_user(asked.reference, mechanism.records))


def _saved(path: Path) -> tuple[str, Mechanism, Any] | None:
    """What a dropped file of JSON holds, in a word; its mechanism; the result, where it is one. None of a matrix."""
    content = read_json(path) if path.suffix == ".json" else None
    if not isinstance(content, dict):
        return None
    if content.get("format") == FORMAT:
        return "mechanism", Mechanism.load(path), None
    result = load(path)
    audits = getattr(result, "audits", None) or getattr(result, "designs", None)
    one = audits[0] if audits else result
    mechanism = getattr(one, "mechanism", None)
    if not isinstance(mechanism, Mechanism):
        refuse(f"{path} holds a {type(result).__name__}, which is not about one mechanism; drop an audit or a design")
    return "result", mechanism, one


def _read(path: Path, asked: Question) -> tuple[Mechanism, str]:
    """The mechanism of a dropped file: a matrix, a saved mechanism, or what a saved result is about."""
    if (saved := _saved(path)) is not None:
        return saved[1], saved[0]
    if not asked.records:
        reading = {name: asked.reading.get(name) for name in ("delimiter", "decimal", "header", "index")}
        rows = len(read_matrix(path, **reading)[0])
        refuse(
            f"give the number of values of each record, such as 2,2,2 for three bits: one row per dataset makes {rows}"
        )
    return Mechanism.from_matrix(path, asked.records, **asked.reading), "matrix"


def inspect(job: Job) -> None:
    """Report what a dropped file is, and which controls it sets."""
    try:
        what, words, fields = _looked_at(job.path or Path())
        job.tell("file", what=what, words=words, fields=fields)
    except InputError as error:
        job.tell("error", sentence=in_page_words(str(error), job))


def _looked_at(path: Path) -> tuple[str, str, dict[str, str]]:
    """What a file holds, in a word and in words, and the fields that follow from it."""
    if (saved := _saved(path)) is not None:
        return saved[0], problem(saved[1]), _adversary_fields(saved[2])
    try:
        shape = np.shape(read_matrix(path)[0])
    except InputError:
        # The question says why, beside the controls that say how to read it.
        return "matrix", "", {}
    if len(shape) != 2:  # rows and columns
        refuse(f"{path} has shape {shape}; a channel has rows and columns")
    return "matrix", f"{shape[0]} rows and {shape[1]} outputs", {"records": _alphabets(shape[0])}


def _alphabets(rows: int) -> str:
    """The likeliest reading of so many datasets: bits where that is possible, else one record."""
    many = rows.bit_length() - 1
    return ",".join(["2"] * many) if rows == 1 << many and many else str(rows)


def _adversary_fields(result: Any) -> dict[str, str]:
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
