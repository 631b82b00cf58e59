"""Start-up: what loading each public function costs, and which packages it loads, by `python -X importtime`."""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter

from measure import THREADS, Section

NAMES = ("audit", "verify", "curve", "design", "frontier", "calibrate", "compose", "Ledger", "queries", "mechanisms")
AIMS = {"audit": 0.4, "verify": 0.2}  # processor seconds
PACKAGES = ("numpy", "scipy", "flint", "clarabel", "dalenius")
REPEATS = 3
# Processor time, since other work on the machine does not count there; start-up of the interpreter itself is left out.
TIMED = "import time; begin = time.process_time(); import dalenius; dalenius.{}; print(time.process_time() - begin)"
LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s*([\w.]+)")
TEXT = f"""Processor seconds until `dalenius.NAME` is there, in a new process with compiled files at hand, least of
{REPEATS} runs; and the milliseconds of each package's own modules in one of them, by `python -X importtime`, which
itself slows imports down. Parts of scipy are loaded when they are first needed; `dl.verify` of a file needs neither
them nor numpy."""
HEAD = ["function", "s", "aim", *(f"{package} ms" for package in PACKAGES), "standard library ms"]


def seconds(name: str, environment: dict[str, str]) -> float:
    """Least processor seconds of an import."""
    return min(float(_run(["-c", TIMED.format(name)], environment).stdout) for _ in range(REPEATS))


def shares(name: str, environment: dict[str, str]) -> Counter[str]:
    """Milliseconds of the modules of every package, without what they import."""
    listing = _run(["-X", "importtime", "-c", f"import dalenius; dalenius.{name}"], environment).stderr
    spent: Counter[str] = Counter()
    for own, module in LINE.findall(listing):
        package = module.split(".")[0]
        spent[package if package in PACKAGES else ""] += int(own)
    return Counter({package: microseconds // 1000 for package, microseconds in spent.items()})


def _run(arguments: list[str], environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


def section(*, quick: bool) -> Section:
    """Every public function, or the two that have an aim."""
    rows = []
    with tempfile.TemporaryDirectory() as compiled:
        # Compiled files are kept here, whatever the surroundings say; the first run makes them.
        environment = {**os.environ, **THREADS, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for name in AIMS if quick else NAMES:
            shares(name, environment)
            found = shares(name, environment)
            aim = f"{AIMS[name]:g}" if name in AIMS else ""
            parts = [str(found[package]) for package in (*PACKAGES, "")]
            rows.append([f"dl.{name}", f"{seconds(name, environment):.2f}", aim, *parts])
    return Section("Start-up", TEXT, [], HEAD, rows)
