"""Tables that are data: files of Markdown inside the package, one row a line, read when they are first needed."""

from functools import cache
from pkgutil import get_data


@cache
def tables(package: str, name: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the tables of a file by the headings above them, without their own first two lines."""
    found: dict[str, list[tuple[str, ...]]] = {}
    heading = ""
    for line in (get_data(package, name) or b"").decode("utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|"):
            cells = line.strip("|").split(" | ")
            found.setdefault(heading, []).append(tuple(cell.strip().replace("\\|", "|") for cell in cells))
    return {title: tuple(rows[2:]) for title, rows in found.items()}
