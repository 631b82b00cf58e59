"""What a report shows of a study."""

import json
from typing import TYPE_CHECKING, Any

from dalenius.numerics.rounding import decimals, outward, round_up
from dalenius.report.audit_page import EACH, MOST_CARRIED, TECHNICAL, gzip
from dalenius.report.call import shell
from dalenius.report.charts import Axis, Series, line_chart, number, text
from dalenius.report.page import Download, Section, Table
from dalenius.report.plain import CHECKED, what_it_is_not
from dalenius.report.profile_text import BOUNDED, INDEPENDENT
from dalenius.results.units import NATS_PER_UNIT
from dalenius.studies import store as stores
from dalenius.studies.grid import place_words
from dalenius.studies.task import TaskName

if TYPE_CHECKING:
    from dalenius.studies.study import Study

# Rows of the table on a page, and lines of its chart.
MOST_SHOWN = 500
MOST_LINES = 8
# More bytes than this in a store are more than a page may carry, however well they are packed.
MOST_STORED = 8 * MOST_CARRIED

# The answer that leaks most, by what was asked.
WORST: dict[TaskName, str] = {
    "audit": "The one that leaks most leaks",
    "design": "Of the mechanisms found the one that leaks most leaks",
    "calibrate": "Every noise that was found keeps its budget; the one that leaks most leaks",
}

Row = dict[str, Any]


def sections(study: "Study") -> list[Section]:
    """Return the verdict, what was asked, brackets along the first varied number, the table, and the certificates."""
    rows = study.rows()
    done = [row for row in rows if row["status"] == "done"]
    names = list(study.points[0].varied)
    drawn, words = _chart(study, done, names)
    shown = [*names, "lower", "upper", "unit", "stopped", "status", "reason"]
    table = Table(tuple(shown), tuple(tuple(_cells(row, shown)) for row in rows[:MOST_SHOWN]))
    more = (f"{len(rows) - MOST_SHOWN} more rows are in the store.",) if len(rows) > MOST_SHOWN else ()
    return [
        Section("Verdict", (_checked(study), *_believed(study)), verdict=_verdict(study, done)),
        Section("What the numbers are not", what_it_is_not()),
        Section(f"{_brackets(study)}s", words, drawn=drawn),
        TECHNICAL,
        Section("Table", more, table=table),
        Section(
            "How to reproduce it",
            (f"Save these lines as {study.source.path.with_suffix('.toml').name}, where it is not at hand:",),
            lines=study.source.text.strip(),
            commands=_again(study),
        ),
        _certificates(study),
    ]


def _brackets(study: "Study") -> str:
    """What brackets are called: certified where every certificate was checked."""
    return "Certified bracket" if study.verified else "Stated bracket"


def _checked(study: "Study") -> str:
    words = study.check_words()
    how = CHECKED.format(what="them") if study.verified else "To check them first: dalenius report with --verify."
    return f"{words[0].upper()}{words[1:]}. {how}"


def _verdict(study: "Study", done: list[Row]) -> str:
    said = f"{text(study.name)}: {len(done)} of {len(study.points)} points are done, {study.failed} failed."
    tasks = {(point.work.task.task, point.work.task.dual) for point in study.points}
    if not done or len(tasks) > 1 or len({row["unit"] for row in done}) > 1:
        return said
    task, dual = tasks.pop()
    worst = max(done, key=lambda row: row["upper"])
    place = text(place_words({name: worst[name] for name in study.points[0].varied}))
    if dual:
        most = text(round_up(worst["upper"], decimals(worst["upper"])))
        return f"{said} Of the mechanisms found the least accurate has an expected error of at most {most}, at {place}."
    most, unit = number(worst["upper"], NATS_PER_UNIT[worst["unit"]], "up"), text(worst["unit"])
    sure = f" with confidence {worst['confidence']:.12g}" if worst.get("confidence") is not None else ""
    return f'{said} {WORST[task]} at most {most} <span class="unit">{unit}</span>{sure}, at {place}.'


def _believed(study: "Study") -> tuple[str, ...]:
    """What the adversaries of the study believe, one sentence each."""
    kinds = {point.work.task.adversary or "bounded" for point in study.points}
    words = {"bounded": BOUNDED, "independent": INDEPENDENT}
    return tuple(f"{kind.capitalize()}: {words[kind]}." for kind in sorted(kinds))


def _chart(study: "Study", done: list[Row], names: list[str]) -> tuple[str, tuple[str, ...]]:
    """Brackets along the first varied number, a line for each place of the others; and words about it."""
    along = next((name for name in names if all(_is_number(row[name]) for row in done)), None)
    if not done or along is None or len({row["unit"] for row in done}) > 1:
        return "", ("There is nothing to draw: no varied key is a number, or no point is done.",)
    lines = _lines(done, along, [name for name in names if name != along])
    series, left = lines[:MOST_LINES], len(lines) - MOST_LINES
    words = (f"{left} more lines are in the table.",) if left > 0 else ()
    # With a budget of leakage the bracket is of a distortion, which has no unit.
    dual = any(point.work.task.dual for point in study.points)
    up = Axis(_brackets(study).lower(), None if dual else done[0]["unit"])
    return line_chart(series, Axis(along), up, study.name), words


def _lines(done: list[Row], along: str, others: list[str]) -> list[Series]:
    """Brackets along one varied key, a line for each place of the others."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in done:
        groups.setdefault(tuple(str(row[name]) for name in others), []).append(row)
    found = []
    for chosen in groups.values():
        places, lows, highs = ([row[name] for row in chosen] for name in (along, "lower", "upper"))
        found.append(Series(place_words({name: chosen[0][name] for name in others}), places, lows, highs))
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cells(row: Row, shown: list[str]) -> list[str]:
    """A row as words; digits of bounds are rounded outward."""
    cells = {name: _cell(row[name]) for name in shown}
    if row["status"] == "done":
        cells |= zip(("lower", "upper"), outward(row["lower"], row["upper"]), strict=True)
    return [cells[name] for name in shown]


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


def _again(study: "Study") -> str:
    toml = study.source.path.with_suffix(".toml").name
    return f"dalenius sweep {shell(toml)} --verify\n\nimport dalenius as dl\n\ndl.Study.load({toml!r}).run().verify()"


def _certificates(study: "Study") -> Section:
    """All certificates in one compressed file, in the order of the points, where that is small enough to carry."""
    where = f"Every certificate is in the store, {study.store.name}: check all with dl.Study.load(FILE).verify()."
    if not study.store.exists() or study.store.stat().st_size > MOST_STORED:
        return Section("Certificates", (where,))
    with stores.reading(study.store) as open_store:
        found = dict(open_store.certificates())
    wanted = [found[point.key] for point in study.points if point.key in found]
    content = gzip("".join(f"{json.dumps(one, separators=(',', ':'))}\n" for one in wanted).encode())
    if not wanted or len(content) > MOST_CARRIED:
        return Section("Certificates", (where,))
    return Section("Certificates", (where,), downloads=(Download("certificates.jsonl.gz", content, EACH),))
