"""The question of the page as Python and as a command."""

import shlex
from dataclasses import dataclass
from typing import Any

from dalenius.explore.question import Question
from dalenius.report.again import as_flags, as_keywords

# Delimiters that a shell makes hard to type, as the command line names them.
DELIMITERS = {"\t": "tab", " ": "blank"}


@dataclass(frozen=True)
class Again:
    """The same as Python, and as a command."""

    python: str
    command: str


def again(asked: Question, file: str, kind: str, options: dict[str, Any], budget: float | None = None) -> Again:
    """Return how to ask the same. file, kind: the name of a dropped file, and what it holds; options: of the search.

    budget: the distortion of the release, where the question is which mechanism leaks least at that.
    """
    limit = {name: value for name, value in asked.against.items() if name != "reference"}
    wanted = {**limit, **({} if asked.unit == "nats" else {"unit": asked.unit}), **options}
    law = "" if asked.reference is None else f", reference={asked.reference!r}"
    flags, before = as_flags(wanted), ""
    if asked.reference is not None:
        before = f"printf '{','.join(map(repr, asked.reference))}\\n' > reference.csv\n"
        flags += " --reference reference.csv"
    if asked.view == "frontier":
        return _frontier(asked, f"{as_keywords(wanted)}{law}", before, flags, budget)
    mechanism = _mechanism(asked, file, kind)
    python = f"{mechanism}\naudit = dl.audit(mechanism, {as_keywords(wanted)}{law})\nprint(audit.summary())\n"
    return Again(python, f"{before}{_source(asked, file, kind)} {flags}")


def _mechanism(asked: Question, file: str, kind: str) -> str:
    begin = "import dalenius as dl\n\n"
    if asked.query is not None and asked.mechanism is not None:
        family, arguments = asked.mechanism.rstrip(")").split("(", 1)
        given = f", {arguments}" if arguments else ""
        return f"{begin}query = dl.queries.{asked.query}\nmechanism = dl.mechanisms.{family}(query{given})"
    if kind == "matrix":
        reading = "".join(f", {name}={value!r}" for name, value in asked.reading.items())
        return f"{begin}mechanism = dl.Mechanism.from_matrix({file!r}, records={list(asked.records)}{reading})"
    load = f"dl.Mechanism.load({file!r})" if kind == "mechanism" else f"dl.load({file!r}).mechanism"
    return f"{begin}mechanism = {load}"


def _source(asked: Question, file: str, kind: str) -> str:
    if asked.query is not None and asked.mechanism is not None:
        return f"dalenius audit --query {shlex.quote(asked.query)} --mechanism {shlex.quote(asked.mechanism)}"
    if kind == "matrix":
        flags = [_flag(name, value) for name, value in asked.reading.items()]
        records = ",".join(map(str, asked.records))
        return " ".join([f"dalenius audit --channel {shlex.quote(file)} --records {records}", *flags])
    if kind == "mechanism":
        return f"dalenius audit --load {shlex.quote(file)}"
    save = f"import dalenius as dl; dl.load({file!r}).mechanism.save('mechanism.json')"
    return f"python -c {shlex.quote(save)}\ndalenius audit --load mechanism.json"


def _flag(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {shlex.quote(DELIMITERS.get(str(value), str(value)))}"


def _frontier(asked: Question, keywords: str, before: str, flags: str, budget: float | None) -> Again:
    python = f"import dalenius as dl\n\nquery = dl.queries.{asked.query}\nfrontier = dl.frontier(query, {keywords})\n"
    command = f"{before}dalenius frontier --query {shlex.quote(str(asked.query))} {flags}"
    if budget is None:
        return Again(f"{python}print(frontier.summary())\n", command)
    plain = ", ".join(part for part in keywords.split(", ") if not part.startswith("points="))
    python += f"design = dl.design(query, distortion={budget!r}, {plain})\n"
    short = " ".join(f"--{part}" for part in flags.split("--")[1:] if not part.startswith("points ")).replace("  ", " ")
    design = f"dalenius design --query {shlex.quote(str(asked.query))} --distortion {budget!r} {short}"
    return Again(f"{python}print(frontier.summary())\nprint(design.summary())\n", f"{command}\n{design}")
