"""The grid of a study, read from TOML: which points there are, and what is asked at each.

    [study]
    name = "noise and knowledge"

    [fix]
    query = "count(n=4)"
    mechanism = "geometric(epsilon={epsilon})"

    [vary]
    epsilon = { from = 0.1, to = 2.0, steps = 5, log = true }
    knowledge = [0.1, 0.5, 1.0]

Keys of [vary] are crossed. A name in braces is filled in wherever a text of [fix] or [vary] has it. The answer of a
point depends on its own keys and on nothing else, so that a changed study finds what is unchanged in its store.
"""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dalenius.errors import InputError, nearest, refuse
from dalenius.studies.task import Number, Task, Text, Whole, Work, check_question, wrong_calls
from dalenius.studies.words import MOST_MISTAKES, Place, Source, mistakes_of

MOST_POINTS = 10**6
# Points of a study that are built before work starts, until one is possible.
TRIED = 20
# Columns of every table of results, after the varied keys; only seconds differ from run to run.
COLUMNS = ("lower", "upper", "unit", "gap", "stopped", "proved", "upper_by", "nodes")
STATUS = ("status", "reason", "seconds")
BRACES = re.compile(r"\{(\w+)\}")


class Head(BaseModel):
    """[study]: its name, which ties a store to it, and the seed of every point that states none."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: Text
    seed: Whole = Field(0, ge=0, description="a whole number of at least 0")


class Range(BaseModel):
    """A range of numbers: both ends are points."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    start: Number = Field(alias="from")
    to: Number
    steps: Whole = Field(ge=2)
    log: bool = False

    def values(self) -> list[float] | list[int]:
        """Return the points; both ends exactly as they were given, whole numbers where all of them are."""
        way, parts = self.to - self.start, self.steps - 1
        if not self.log and self.start.is_integer() and self.to.is_integer() and way % parts == 0:
            return [int(self.start) + k * (int(way) // parts) for k in range(self.steps)]
        shares = [k / (self.steps - 1) for k in range(1, self.steps - 1)]
        if self.log:
            low, high = math.log(self.start), math.log(self.to)
            between = [math.exp(low + share * (high - low)) for share in shares]
        else:
            between = [self.start + share * (self.to - self.start) for share in shares]
        return [self.start, *between, self.to]


@dataclass(frozen=True)
class Point:
    """A place of the grid and the question asked there."""

    varied: dict[str, Any]
    work: Work

    @cached_property
    def key(self) -> str:
        """What its answer is kept under."""
        return self.work.key()


def place_words(varied: Mapping[str, Any]) -> str:
    """Return a place of the grid as `epsilon = 0.5, knowledge = 1`."""
    return ", ".join(f"{name} = {value}" for name, value in varied.items())


def read_grid(source: Source) -> tuple[Head, tuple[Point, ...]]:
    """Check the whole file before any work; every mistake is reported, with its line."""
    tables, mistakes = _tables(source), list[tuple[Place, str]]()
    head = None
    try:
        head = Head.model_validate(tables["study"])
    except ValidationError as error:
        mistakes += mistakes_of(error, Head, ("study",))
    grid = _grid(source, tables["vary"], mistakes)
    mistakes += _unknown(tables["fix"], tables["vary"])
    if head is None or mistakes:
        raise source.refuse(mistakes)
    return head, _points(source, head, tables["fix"], grid)


def _tables(source: Source) -> dict[str, dict[str, Any]]:
    """Return the tables of a study by their names; refused where there are others, or one is something else."""
    names = ("study", "fix", "vary")
    mistakes: list[tuple[Place, str]] = [
        ((name,), f"there is no table [{name}]; {nearest(name, names)}")
        for name in sorted(set(source.content) - set(names))[:MOST_MISTAKES]
    ]
    tables = {name: source.content.get(name, {}) for name in names}
    for name, table in tables.items():
        if not isinstance(table, dict):
            mistakes.append(((name,), f"{name} is not a table; write [{name}] on a line of its own"))
    if mistakes:
        raise source.refuse(mistakes)
    return tables


def _grid(source: Source, vary: Mapping[str, Any], mistakes: list[tuple[Place, str]]) -> dict[str, list[Any]]:
    """Return the values of every varied key; what is wrong with one is added to the mistakes."""
    ranges: dict[str, Range | list[Any]] = {}
    for name, stated in vary.items():
        try:
            ranges[name] = _range(stated)
        except InputError as error:
            mistakes.append((("vary", name), str(error)))
    if not vary:
        example = "write [vary] on a line, and below it what changes, such as knowledge = [0.1, 0.5]"
        mistakes.append((("vary",), f"nothing is varied; {example}"))
    # Counted before they are listed: a range may be longer than the memory.
    many = math.prod(one.steps if isinstance(one, Range) else len(one) for one in ranges.values())
    if many > MOST_POINTS:
        refuse(f"{source.path}: the grid has {many} points; at most {MOST_POINTS} are taken")
    return {name: list(one.values()) if isinstance(one, Range) else one for name, one in ranges.items()}


def _range(given: object) -> Range | list[Any]:
    """Return the values of a varied key: a list, or a range."""
    if isinstance(given, dict):
        try:
            found = Range.model_validate(given)
        except ValidationError as error:
            found_wrong = [
                f"{'.'.join(map(str, place))}: {sentence}" for place, sentence in mistakes_of(error, Range, ())
            ]
            example = "{ from = 0.1, to = 2.0, steps = 5 }, with log = true for equal ratios"
            refuse(f"{', '.join(found_wrong)}; write {example}")
        if found.log and not (found.start > 0 and found.to > 0):
            refuse(f"with log = true both ends must be above 0, not {found.start:g} and {found.to:g}")
        return found
    if not isinstance(given, list) or not given:
        message = f"{given!r} is not a list of values, nor a range such as {{ from = 0.1, to = 2.0, steps = 5 }}"
        raise InputError("an empty list leaves the grid without points" if given == [] else message)
    return given


def _unknown(fix: Mapping[str, Any], vary: Mapping[str, Any]) -> list[tuple[Place, str]]:
    """Names that are neither keys nor in braces, keys that stand in both tables, and braces without a value."""
    texts = [value for value in fix.values() if isinstance(value, str)]
    texts += [
        value for values in vary.values() if isinstance(values, list) for value in values if isinstance(value, str)
    ]
    braced = {name for text in texts for name in BRACES.findall(text)}
    keys = set(Task.model_fields)
    found: list[tuple[Place, str]] = []
    for name in list(fix)[:MOST_MISTAKES]:
        if name not in keys:
            found.append((("fix", name), f"there is no key {name!r}; {nearest(name, keys)}"))
        if name in vary:
            found.append((("vary", name), f"{name} stands in [fix] too; leave it in one of them"))
    for name in vary:
        if name not in keys and name in (*COLUMNS, *STATUS):
            taken = f"{name} is a column of every table of results; choose another name for what is varied"
            found.append((("vary", name), taken))
        elif name not in keys | braced:
            hint = f"{nearest(name, keys)}; to fill it into a text, write {{{name}}} there"
            found.append((("vary", name), f"there is no key {name!r}; {hint}"))
    without = sorted(braced - set(vary))
    return found + [(("vary",), f"{{{name}}} is in a text, and [vary] has no {name}") for name in without]


def _points(source: Source, head: Head, fix: Mapping[str, Any], grid: Mapping[str, list[Any]]) -> tuple[Point, ...]:
    points, mistakes, digests = [], dict[Place, str](), dict[Path, str]()
    for values in itertools.product(*grid.values()):
        varied = dict(zip(grid, values, strict=True))
        stated = {**fix, **{name: value for name, value in varied.items() if name in Task.model_fields}}
        stated = {name: _filled(value, varied) for name, value in stated.items()}
        stated.setdefault("seed", head.seed)
        try:
            work = Work.read(Task.model_validate(stated), source.path.parent, digests)
        except ValidationError as error:
            for place, sentence in mistakes_of(error, Task, ()):
                table = "vary" if place and place[0] in grid else "fix"
                mistakes.setdefault((table, *place), sentence)
        except InputError as error:
            mistakes.setdefault(("fix",), str(error))
        else:
            points.append(Point(varied, work))
        if len(mistakes) > 10:  # enough to begin with
            break
    if mistakes:
        raise source.refuse(list(mistakes.items()))
    return tuple(points)


def check_points(source: Source, points: Sequence[Point]) -> None:
    """Refuse call strings that name nothing or have arguments of a wrong type, and a study without a possible point.

    A value that is impossible at some points is the mistake of these points alone, and the rest of the study goes on.
    """
    mistakes: dict[Place, str] = {}
    for point in points:
        for key, sentence in wrong_calls(point.work.task):
            mistakes.setdefault(("vary" if key in point.varied else "fix", key), sentence)
    if mistakes:
        raise source.refuse(list(mistakes.items()))
    reason = ""
    for point in points[:: max(1, len(points) // TRIED)]:
        try:
            check_question(point.work)
        except InputError as error:
            reason = reason or f"at {place_words(point.varied)}: {error}"
        else:
            return
    raise source.refuse([(("fix",), f"no point of this study can be answered; {reason}")])


def _filled(value: object, varied: Mapping[str, Any]) -> object:
    """A text with the varied values in place of their names in braces; a name alone becomes the value itself."""
    if not isinstance(value, str):
        return value
    if (alone := BRACES.fullmatch(value)) and alone[1] in varied:
        return varied[alone[1]]
    return BRACES.sub(lambda match: str(varied[match[1]]) if match[1] in varied else match[0], value)
