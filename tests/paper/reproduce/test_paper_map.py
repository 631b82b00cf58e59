import copy
import importlib
import re

from paper.reproduce.sample_rows import results

from dalenius.paper.reproduce import paper_map
from dalenius.paper.reproduce.paper_map import map_text, whole_map
from dalenius.paper.reproduce.statements import RIGHT

RESULTS = results()
TEXT = map_text(RESULTS)


def test_everything_that_has_a_number_in_the_paper_has_a_row() -> None:
    places = {one.place for one in (one for chapter in whole_map().values() for one in chapter)}
    wanted = {f"Definition 2.{k}" for k in (1, 2, 3)} | {"Definition 3.1", "Lemma 1", "Assumption 1", "Assumption 2"}
    wanted |= {f"Theorem {k}" for k in range(1, 10)} | {f"Algorithm {k}" for k in range(1, 12)}
    wanted |= {f"Figure {k}" for k in range(1, 8)} | {f"Table {k}" for k in (1, 2, 3)}
    assert wanted <= places
    assert all(f"| {place} |" in TEXT for place in wanted)


def test_every_name_in_it_exists() -> None:
    for one in (one for chapter in whole_map().values() for one in chapter):
        for name in (part.strip() for part in one.code.split(",") if part.strip()):
            if name.endswith(".md"):
                continue
            module, _, last = name.rpartition(".")
            try:
                importlib.import_module(name)
            except ImportError:
                assert hasattr(importlib.import_module(module), last), name


def test_commands_name_experiments_that_exist() -> None:
    named = set(re.findall(r"--only (\S+)", TEXT))
    assert {"saddle", "entropy", "dual", "global", "text", "convergence"} <= named
    assert named <= set(paper_map.EXPERIMENTS)


def test_verdicts_follow_the_rows() -> None:
    line = next(line for line in TEXT.splitlines() if line.startswith("| Theorem 4 |"))
    assert "holds in part" in line
    rows = copy.deepcopy(RESULTS)
    for row in rows["global"]:
        row["paper_values"] = repr(row["upper"])
    kept = next(line for line in map_text(rows).splitlines() if line.startswith("| Theorem 4 |"))
    assert f"| {RIGHT} | 0 of 4 starts" in kept
    assert "rises in" in next(line for line in TEXT.splitlines() if line.startswith("| Theorem 6 |"))


def test_tables_are_rectangular() -> None:
    for table in (block.splitlines() for block in TEXT.split("\n\n") if block.startswith("|")):
        assert len({len(re.split(r"(?<!\\)\|", line)) for line in table}) == 1
