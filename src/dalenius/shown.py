"""Small tables of HTML, as notebooks show objects: escaped, numbers below each other."""

import html
from collections.abc import Iterable, Sequence

LEFT = "text-align:left;white-space:pre-wrap"
RIGHT = "text-align:right;font-variant-numeric:tabular-nums"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table; numbers stand to the right, everything else to the left."""
    listed = [list(row) for row in rows]
    right = [all(_number(row[j]) for row in listed) for j in range(len(head))]
    styles = [RIGHT if number else LEFT for number in right]
    top = "".join(f'<th style="{style}">{html.escape(name)}</th>' for name, style in zip(head, styles, strict=True))
    body = "".join(
        "<tr>" + "".join(f'<td style="{s}">{_cell(x)}</td>' for x, s in zip(row, styles, strict=True)) + "</tr>"
        for row in listed
    )
    above = f"<p>{html.escape(caption)}</p>" if caption else ""
    return f"{above}<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def pairs(named: Iterable[tuple[str, object]], caption: str = "") -> str:
    """Return a table of names and what they are."""
    body = "".join(
        f'<tr><th style="{LEFT}">{html.escape(name)}</th><td style="{LEFT}">{_cell(value)}</td></tr>'
        for name, value in named
    )
    above = f"<p>{html.escape(caption)}</p>" if caption else ""
    return f"{above}<table>{body}</table>"


def _number(value: object) -> bool:
    """Whether this is a number, or one in digits."""
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def _cell(value: object) -> str:
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))
