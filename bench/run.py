"""make bench: dalenius beside its peers in one run, as ratios.

Every part is kept in out/bench/ when it is done, and all that are kept make bench/RESULTS.md (with --quick, parts of
their own and out/bench/quick/RESULTS.md). `--only capacity` runs one part, and renews it there. The lists of audits and
designs, with their verification, and measures beside qif go to out/bench/lists.md. Very large counts, how far counts of
10 to 50 close, and channels without structure have commands of their own: bench/large.py, bench/unstructured.py.
`--only releases` runs bench/releases.py, which takes up to an hour and is no part of a whole run.
"""

import argparse
import datetime as dt
import importlib.metadata
import json
import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import audits
import certified
import classical
import designs
import figure
import growth
import many
import peers
import processes
import releases
import small
import startup
from measure import RUNS, SHORT, Section

PARTS: dict[str, Callable[..., Section]] = {
    "certified": certified.section,
    "figure": figure.section,
    "capacity": classical.capacities,
    "rate": classical.rates,
    "small": small.section,
    "growth": growth.section,
    "startup": startup.section,
    "processes": processes.section,
    "many": many.section,
}
PACKAGES = ("dalenius", "numpy", "scipy", "clarabel", "pyscipopt", "qif", "dit", "cvxpy")
INTRODUCTION = """# Results of `make bench`

Every part is one run on one machine, which may have had other work besides. Ratios are the other's processor time
divided by ours, above 1 where we are faster; other machines, versions and problems give other ones. ">": the other was
ended at its limit, and that limit is counted.
"""


def machine() -> str:
    """Return what the run ran on, in a line."""
    model = platform.processor() or platform.machine()
    details = Path("/proc/cpuinfo")
    if details.exists():
        names = [line.split(":", 1)[1].strip() for line in details.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    system = f"{platform.system()}, {os.cpu_count()} cores ({model})"
    today = dt.datetime.now(dt.UTC).date()
    return f"{today}. {system}, one thread each; Python {platform.python_version()}; {versions}."


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """Markdown."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)) + "\n"


def page(parts: list[dict[str, Any]]) -> str:
    """All parts: first the ratios in short, then every table."""
    machines = list(dict.fromkeys(part["machine"] for part in parts))
    text = INTRODUCTION + "\n" + "\n\n".join(machines) + "\n\n## In short\n\n"
    text += table(SHORT, (line for part in parts for line in part["short"]))
    for part in parts:
        text += f"\n## {part['title']}\n\n{part['text']}\n\n" + table(part["head"], part["rows"])
    return text


def lists(*, quick: bool) -> str:
    """Audits and designs of fixed lists, and measures beside qif where it is installed."""
    text = f"## {audits.TITLE}\n\n" + table(audits.HEAD, audits.rows(quick=quick))
    text += f"\n## {peers.TITLE}\n\n" + (table(peers.HEAD, peers.rows()) if peers.installed() else peers.MISSING + "\n")
    if peers.installed():
        text += f"\n## {peers.FLOW_TITLE}\n\n" + table(peers.FLOW_HEAD, peers.flow_rows())
    for title, head, rows in designs.sections(quick=quick):
        text += f"\n## {title}\n\n" + table(head, rows)
    return text


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases, shorter limits")
    parser.add_argument(
        "--only", choices=[*PARTS, "lists", "releases"], action="append", help="run one part; may be repeated"
    )
    parser.add_argument("--runs", type=int, default=1, help="runs of every measurement; the least time counts")
    asked = parser.parse_args()
    os.environ[RUNS] = str(asked.runs)
    kept = Path("out/bench/quick" if asked.quick else "out/bench")
    kept.mkdir(parents=True, exist_ok=True)
    for name, part in PARTS.items():
        if asked.only is None or name in asked.only:
            done = {"machine": machine(), **asdict(part(quick=asked.quick))}
            (kept / f"{name}.json").write_text(json.dumps(done))
            print(
                f"## {done['title']}\n\n{table(done['head'], done['rows'])}\n{table(SHORT, done['short'])}", flush=True
            )
    there = [json.loads(path.read_text()) for name in PARTS if (path := kept / f"{name}.json").exists()]
    results = kept / "RESULTS.md" if asked.quick else Path("bench/RESULTS.md")
    if asked.only is None or set(asked.only) & set(PARTS):
        results.write_text(page(there))
        print(results)
    if "lists" in (asked.only or ([] if asked.quick else ["lists"])):
        (kept / "lists.md").write_text(lists(quick=asked.quick))
        print(kept / "lists.md")
    if "releases" in (asked.only or []):
        releases.main([])


if __name__ == "__main__":
    main()
