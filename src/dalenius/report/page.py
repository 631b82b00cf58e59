"""One HTML page with its pictures inside: nothing is fetched from anywhere."""

import base64
import html
import os
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from dalenius.model import storage

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
pre { background: #f5f5f5; padding: .8rem 1rem; overflow-x: auto; font-size: .82rem; line-height: 1.45; }
img { max-width: 100%; height: auto; } figure { margin: 1rem 0; } figcaption { font-size: .9rem; color: #555; }
div.table { overflow-x: auto; } table { border-collapse: collapse; font-size: .8rem; margin: 1rem 0; }
th, td { padding: .2rem .4rem; border-bottom: 1px solid #ddd; text-align: right; } th { vertical-align: bottom; }
td { white-space: nowrap; font-variant-numeric: tabular-nums; }
@media print { body { margin: 0; } pre { white-space: pre-wrap; } figure { break-inside: avoid; } }
"""


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
class Section:
    """A heading, paragraphs of plain words, lines kept as they are, a table, pictures; files beside it, commands."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    lines: str = ""
    pictures: tuple[Picture, ...] = ()
    table: Table | None = None
    files: tuple[str, ...] = ()
    commands: str = ""


def write_report(path: str | os.PathLike[str], title: str, sections: Iterable[Section]) -> None:
    """Write the page; the file appears whole or not at all."""
    body = "".join(map(_section, sections))
    heading = html.escape(title)
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{heading}</h1>\n{body}</body>\n</html>\n"
    )
    storage.write(storage.path_of(path), page.encode())


def _section(section: Section) -> str:
    parts = [f"<h2>{html.escape(section.heading)}</h2>\n"]
    parts += [f"<p>{html.escape(words)}</p>\n" for words in section.paragraphs]
    parts += [f"<pre>{html.escape(section.lines)}</pre>\n"] if section.lines else []
    parts += [_table(section.table)] if section.table else []
    parts += [_picture(picture) for picture in section.pictures]
    links = " · ".join(f'<a href="{quote(name)}">{html.escape(name)}</a>' for name in section.files)
    parts += [f"<p>{links}</p>\n"] if links else []
    parts += [f"<pre>{html.escape(section.commands)}</pre>\n"] if section.commands else []
    return "".join(parts)


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
