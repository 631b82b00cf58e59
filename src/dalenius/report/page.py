"""One HTML page with its pictures inside: nothing is fetched from anywhere."""

import base64
import html
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from urllib.parse import quote

from dalenius.errors import printable
from dalenius.model.files import path_of, write

# A page that is opened from a disk loads nothing from elsewhere, and runs no script but ours.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
SWITCH = (
    '<form class="units" hidden><fieldset><legend>Numbers and charts in</legend>'
    '<label><input type="radio" name="unit" value="nats"{nats}> nats</label>'
    '<label><input type="radio" name="unit" value="bits"{bits}> bits</label></fieldset></form>\n'
    '<p id="said" class="soft" aria-live="polite"></p>\n'
)


# What stands before the headings of each of several results.
NUMBERED = re.compile(r"^\d+\. ")


@dataclass(frozen=True)
class Picture:
    """The content of an .svg or .png file, and what it shows."""

    content: bytes
    caption: str


@dataclass(frozen=True)
class Table:
    """Cells of plain words under their headings."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Download:
    """A file that the page carries."""

    name: str
    content: bytes
    words: str


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs of plain words, lines kept as they are, a table, pictures; files beside it, commands.

    verdict: the answer, a paragraph each, and drawn: charts; both are HTML that report/charts.py made safe. facts:
    pairs of a heading and lines. downloads: files inside the page.
    """

    heading: str
    paragraphs: tuple[str, ...] = ()
    lines: str = ""
    pictures: tuple[Picture, ...] = ()
    table: Table | None = None
    files: tuple[str, ...] = ()
    commands: str = ""
    verdict: tuple[str, ...] = ()
    drawn: str = ""
    facts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    downloads: tuple[Download, ...] = ()


def write_report(
    path: str | os.PathLike[str],
    title: str,
    sections: Iterable[Section],
    unit: str = "nats",
    details: Iterable[tuple[str, str]] = (),
) -> bytes:
    """Write the page and return its content; the file appears whole or not at all.

    unit: that of the numbers as they stand. details: what stands below the title, with names.
    """
    listed = list(sections)
    body = "".join(_section(section, k) for k, section in enumerate(listed))
    heading, switches = html.escape(printable(title)), 'class="info"' in body
    by = "".join(f"<p><b>{name}</b> {html.escape(printable(value))}</p>\n" for name, value in details)
    switch = (
        SWITCH.format(**{name: " checked" if name == unit else "" for name in ("nats", "bits")}) if switches else ""
    )
    drawn = switches or 'class="chart"' in body
    script = f"<script>{_own('page.js')}</script>\n" if drawn else ""
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{_own('page.css')}</style>\n</head>\n<body>\n<main>\n<h1>{heading}</h1>\n"
        f"{by}{_contents(listed)}{switch}{body}</main>\n{script}</body>\n</html>\n"
    )
    content = page.encode()
    write(path_of(path), content)
    return content


def _own(name: str) -> str:
    """A file of ours that stands beside this one."""
    return files("dalenius.report").joinpath(name).read_text(encoding="utf-8")


def _contents(sections: list[Section], least: int = 4) -> str:
    """Links to the sections, where there are enough to look for one; of several results to the verdicts alone."""
    if len(sections) < least:
        return ""
    chief = [k for k, one in enumerate(sections) if one.verdict]
    listed = [*chief, len(sections) - 1] if len(chief) > 1 else range(len(sections))
    # The list numbers results as their headings do.
    items = "".join(
        f'<li><a href="#s{k}">{html.escape(NUMBERED.sub("", sections[k].heading))}</a></li>' for k in listed
    )
    return f'<nav aria-label="Contents"><ol>{items}</ol></nav>\n'


def _section(section: Section, number: int) -> str:
    parts = [f'<section aria-labelledby="s{number}">\n<h2 id="s{number}">{html.escape(section.heading)}</h2>\n']
    verdict = "".join(f"<p>{sentence}</p>\n" for sentence in section.verdict)
    parts += [f'<div class="verdict">\n{verdict}</div>\n'] if verdict else []
    parts += [f"<p>{html.escape(words)}</p>\n" for words in section.paragraphs]
    parts += [f"<pre>{html.escape(section.lines)}</pre>\n"] if section.lines else []
    parts += [_facts(section.facts)] if section.facts else []
    parts += [f"<figure>{section.drawn}</figure>\n"] if section.drawn else []
    parts += [_table(section.table)] if section.table else []
    parts += [_picture(picture) for picture in section.pictures]
    links = " · ".join(f'<a href="{quote(name)}">{html.escape(name)}</a>' for name in section.files)
    parts += [f"<p>{links}</p>\n"] if links else []
    parts += [f'<pre class="command">{html.escape(section.commands)}</pre>\n'] if section.commands else []
    parts += [_download(download) for download in section.downloads]
    return "".join([*parts, "</section>\n"])


def _facts(named: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        f"<td>{'<br>'.join(html.escape(printable(line)) for line in lines)}</td></tr>\n"
        for name, lines in named
    )
    return f'<div class="table"><table class="facts">\n{rows}</table></div>\n'


def _download(download: Download) -> str:
    data = base64.b64encode(download.content).decode()
    name = html.escape(download.name, quote=True)
    link = f'<a download="{name}" href="data:application/octet-stream;base64,{data}">{name}</a>'
    return f"<p>{link}: {html.escape(download.words)}</p>\n"


def _table(table: Table) -> str:
    rows = [_row("th", table.heading), *(_row("td", row) for row in table.rows)]
    return f'<div class="table"><table>\n{"".join(rows)}</table></div>\n'


def _row(tag: str, cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>\n"


def _picture(picture: Picture) -> str:
    kind = "png" if picture.content.startswith(b"\x89PNG") else "svg+xml"
    data = base64.b64encode(picture.content).decode()
    caption = html.escape(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/{kind};base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>\n"
    )
