"""What a report shows of a study."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dalenius.errors import InputError
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import NATS_PER_UNIT
from dalenius.model.secret import size
from dalenius.numerics.rounding import decimals, outward, round_up
from dalenius.report.call import shell
from dalenius.report.charts import Axis, Chart, Series, line_chart, number, text
from dalenius.report.document import digest
from dalenius.report.page import Download, Section, Table
from dalenius.report.plain import CHECKED, against, capital, guesses, question, released, secret_words, what_it_is_not
from dalenius.report.sections import EACH, MOST_CARRIED, TECHNICAL, gzip, verdict
from dalenius.report.text import Facts
from dalenius.results.guess import about_record, sentence
from dalenius.studies import store as stores
from dalenius.studies.grid import place_words
from dalenius.studies.task import Work, asked_of

if TYPE_CHECKING:
    from dalenius.studies.study import Study

# Rows of the table on a page, and lines of its chart.
MOST_SHOWN = 500
MOST_LINES = 8
# Reasons why points failed, in a summary.
MOST_REASONS = 5
# More bytes than this in a store are more than a page may carry, however well they are packed.
MOST_STORED = 8 * MOST_CARRIED

Row = dict[str, Any]


def subject(study: "Study") -> str:
    """Return what the title of a report calls it."""
    return study.name


def facts(study: "Study") -> Facts:
    """Return how far a study is, as pairs of a heading and lines of text."""
    ended = [(point, study.entries[point.key]) for point in study.points if point.key in study.entries]
    gaps = [entry.numbers["gap"] for _, entry in ended if entry.status == "done"]
    reasons = [f"{place_words(point.varied)}: {entry.reason}" for point, entry in ended if entry.status == "failed"]
    more = len(reasons) - MOST_REASONS
    named: Facts = [
        ("Study", [f"{study.name}: {len(study.points)} points over {', '.join(study.points[0].varied)}"]),
        ("Done", [f"{len(gaps)}{f', failed {len(reasons)}' if reasons else ''}"]),
        ("Widest gap", [f"{max(gaps):.2g}"] if gaps else []),
        ("Failed", reasons[:MOST_REASONS] + ([f"and {more} more; the table has every reason"] if more > 0 else [])),
        ("Store", [str(study.store)]),
        ("Check", [study.check_words()]),
    ]
    return [(name, lines) for name, lines in named if lines]


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
        _verdict(study, done),
        Section("What the numbers are not", what_it_is_not()),
        TECHNICAL,
        # Keys of the study name its points, which are words of code.
        Section(f"{'Certified' if study.verified else 'Stated'} brackets", words, drawn=drawn),
        Section("Table", more, table=table),
        Section(
            "How to reproduce it",
            (f"Save these lines as {study.source.path.with_suffix('.toml').name}, where it is not at hand:",),
            lines=study.source.text.strip(),
            commands=_again(study),
        ),
        _certificates(study),
    ]


def _checked(study: "Study") -> str:
    words = study.check_words()
    how = f" {CHECKED.format(what='them')}" if study.verified else ""
    if study.verified is None:
        how = " To check them first: dalenius report with --verify."
    return f"{capital(words)}.{how}"


def _verdict(study: "Study", done: list[Row]) -> Section:
    """What was asked, and of the point that leaks most, or errs most: the release, the adversary, the guess."""
    many, failed = len(study.points), f", {study.failed} failed" if study.failed else ""
    answered = f'The study "{study.name}" asks one question at {many} points; {len(done)} are answered{failed}.'
    tasks = {(point.work.task.task, point.work.task.dual) for point in study.points}
    if not done or len(tasks) > 1 or len({row["unit"] for row in done}) > 1:
        return verdict((), text(answered), _checked(study))
    worst = max(done, key=lambda row: row["upper"])
    ((_, dual),) = tasks
    end = f"The largest expected error is at most {text(round_up(worst['upper'], decimals(worst['upper'])))}"
    figure = f"{end if dual else _most(worst)}, at the worst point."
    work = next(point.work for point in study.points if all(worst[name] == x for name, x in point.varied.items()))
    return verdict((answered, *_plain(work, worst)), figure, _checked(study))


def _most(row: Row) -> str:
    most, unit = number(row["upper"], NATS_PER_UNIT[row["unit"]], "up"), text(row["unit"])
    sure = f" with confidence {row['confidence']:.12g}" if row.get("confidence") is not None else ""
    return f'At most {most} <span class="unit">{unit}</span> leak about any one person{sure}'


def _plain(work: Work, row: Row) -> tuple[str, ...]:
    """Of one point: what is released, against whom, and what a guess gains; nothing where its files have changed."""
    unit, leaks = row["unit"], row["leakage_upper" if "leakage_upper" in row else "upper"]
    try:
        release, adversary, secret = asked_of(work, row.get("value"))
    except InputError:
        return ()
    records = release.records
    words = released(release) if isinstance(release, Mechanism) else question(release)
    guessed = about_record(leaks, unit, records, adversary.reference)
    if secret is not None:
        guessed = [sentence(leaks, 1 / size(secret, records), unit)]
    if row["proved"] == "lower":
        guessed = []
    return (
        f"At the point that leaks or errs most, the release publishes {words}.",
        f"It is judged against {against([adversary], records, unit)}.",
        guesses(guessed, secret_words(secret)),
    )


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
    up = Axis("expected error" if dual else "leakage", None if dual else done[0]["unit"])
    across = Axis(along, done[0]["unit"] if along in ("knowledge", "entropy", "leakage") else None)
    return line_chart(Chart(study.name, across, up, series)), words


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


def evidence(study: "Study") -> list[dict[str, Any]]:
    """Return every point as data: what was asked, what was found, and the digest of its certificate."""
    digests = {} if not study.store.exists() else {key: digest(line) for key, line in _certificate_lines(study)}
    refused = [] if study.verified is None else [varied for varied, _ in study.verified.refused]
    found: list[dict[str, Any]] = [
        {"study": study.name, "toml": study.source.text, "limits": list(what_it_is_not()), "check": study.check_words()}
    ]
    for point, row in zip((one for one in study.points if one.key in study.entries), study.rows(), strict=True):
        done = row["status"] == "done"
        checked = done and study.verified is not None and point.varied not in refused
        found.append(
            {
                "point": point.varied,
                "question": point.work.task.model_dump(exclude_defaults=True),
                "bracket": {name: row[name] for name in ("lower", "upper", "unit", "proved")} if done else None,
                "certificate": {"sha256": digests.get(point.key), "verified": checked} if done else None,
                "reason": row["reason"],
            }
        )
    return found


def _certificate_lines(study: "Study") -> Iterator[tuple[str, bytes]]:
    """Every certificate as it stands in the file that the page carries."""
    with stores.reading(study.store) as open_store:
        for key, one in open_store.certificates():
            yield key, f"{json.dumps(one, separators=(',', ':'))}\n".encode()


def _again(study: "Study") -> str:
    toml = study.source.path.with_suffix(".toml").name
    return f"dalenius sweep {shell(toml)} --verify\n\nimport dalenius as dl\n\ndl.Study.load({toml!r}).run().verify()"


def _certificates(study: "Study") -> Section:
    """All certificates in one compressed file, in the order of the points, where that is small enough to carry."""
    where = f"Every certificate is in the store, {study.store.name}: check all with dl.Study.load(FILE).verify()."
    if not study.store.exists() or study.store.stat().st_size > MOST_STORED:
        return Section("Certificates", (where,))
    found = dict(_certificate_lines(study))
    wanted = [found[point.key] for point in study.points if point.key in found]
    content = gzip(b"".join(wanted))
    if not wanted or len(content) > MOST_CARRIED:
        return Section("Certificates", (where,))
    return Section("Certificates", (where,), downloads=(Download("certificates.jsonl.gz", content, EACH),))
