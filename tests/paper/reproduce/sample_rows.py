"""The rows of a whole run as docs/reproduced keeps them, and the surface of the saddle, which the pages do not need."""

import ast
import csv
from functools import cache
from pathlib import Path
from typing import Any

from dalenius.paper.reproduce.experiments import EXPERIMENTS
from dalenius.paper.reproduce.points import Point, measure

Row = dict[str, Any]
DOCS = Path(__file__).parents[3] / "docs"
SURFACE = Point("saddle", "surface", "surface", {"flip": 0.1, "size": 21})


def value(cell: str) -> Any:
    """What stands in a cell; None where nothing does."""
    try:
        return ast.literal_eval(cell) if cell else None
    except (ValueError, SyntaxError):
        return cell


@cache
def kept(name: str) -> list[Row]:
    """The rows of an experiment beside the pages."""
    with (DOCS / "reproduced" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [{key: value(cell) for key, cell in row.items()} for row in csv.DictReader(file)]


@cache
def results() -> dict[str, list[Row]]:
    """Every experiment, in the order of the command."""
    found = {name: kept(name) for name in EXPERIMENTS}
    return {**found, "saddle": [*measure(SURFACE, 0).rows, *found["saddle"]]}
