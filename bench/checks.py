"""How long checks take, of another version and of this one: the same certificates, in one run.

python bench/checks.py                     audits, writes certificates to out/bench/certificates, and times their checks
python bench/checks.py --before FOLDER     beside the sources of another version, such as `git archive`'s, in FOLDER/src
python bench/checks.py --only ages         releases whose id has these letters
python bench/checks.py --kept              checks the certificates that are there, and audits nothing

Seconds are of a processor, the least of three, versions taking turns, each check in a process of its own. With
--before every certificate that the other version's audit writes is there too: what both make of the same release.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OUT = Path("out/bench/certificates")
WORDS = ("81x3", "256x4", "64x8", "response of 8", "50, epsilon .3", "10^5", "10^6", "ages", "weighted", "nine of ten")
AUDIT = """
import json, sys, time
time.monotonic = time.process_time
sys.path.insert(0, sys.argv[1])
import numpy as np
import releases as r
import dalenius as dl
names = {"dl": dl, "np": np, "random_channel": r.random_channel, "votes": r.votes, "weighted": r.weighted}
asked = json.loads(sys.argv[2])
value = lambda x: eval(x[1:], names) if isinstance(x, str) and x[:1] == "=" else x
options = {name: value(x) for name, x in asked["audit"].items()}
mechanism = eval(asked["build"], names)
begin = time.process_time()
audit = dl.audit(mechanism, **options, relative=asked["within"], time_limit=float(sys.argv[4]), verify=False)
print(time.process_time() - begin)
json.dump(audit.certificate.data, open(sys.argv[3], "w"), separators=(",", ":"))
"""
CHECK = """
import json, sys, time
from dalenius.verifier.verify import verify
content = json.load(open(sys.argv[1]))
begin = time.process_time()
verdict = verify(content, time_limit=1e4, memory=4096)
assert verdict.verified, verdict.reason
print(time.process_time() - begin)
"""


def run(source: Path, script: str, *arguments: str) -> float:
    """Run a script with this version's sources, and return the seconds it prints."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", script, *arguments]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(found.stdout)


def line(asked: dict[str, object], sources: dict[str, Path], *, kept: bool, runs: int, limit: float) -> str:
    """One row of the table: every version's own certificate, and the check of the first one's by all."""
    cells = [str(asked["id"])]
    paths = {}
    for name, source in sources.items():
        paths[name] = OUT / name / ("".join(c if c.isalnum() else "_" for c in str(asked["id"])) + ".json")
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        if not (kept and paths[name].exists()):
            seconds = run(source, AUDIT, str(HERE), json.dumps(asked), str(paths[name]), str(limit))
            paths[name].with_suffix(".seconds").write_text(f"{seconds:.2f}")
        cells += [paths[name].with_suffix(".seconds").read_text(), f"{paths[name].stat().st_size / 1e6:.3f}"]
    first = next(iter(paths.values()))
    taken: dict[str, list[float]] = {name: [] for name in sources}
    for _ in range(runs):
        for name, source in sources.items():
            taken[name].append(run(source, CHECK, str(first)))
    best = {name: min(seconds) for name, seconds in taken.items()}
    cells += [f"{seconds:.2f}" for seconds in best.values()]
    if len(sources) > 1:
        old, new = best.values()
        own = min(run(sources["now"], CHECK, str(paths["now"])) for _ in range(runs))
        cells += [f"{old / new:.2f}", f"{own:.2f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="another version")
    parser.add_argument("--only", action="append", help="letters of ids")
    parser.add_argument("--kept", action="store_true", help="no new audits")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds for each audit")
    given = parser.parse_args()
    sources = {} if given.before is None else {"before": given.before / "src"}
    sources["now"] = HERE.parent / "src"
    head = ["release", *(f"{word}, {name}" for name in sources for word in ("audit s", "MB"))]
    head += [f"check s, {name}" for name in sources]
    head += ["ratio", "check s of its own, now"] if len(sources) > 1 else []
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    for asked in json.loads((HERE / "releases.json").read_text())["releases"]:
        if any(word in asked["id"] for word in given.only or WORDS):
            print(line(asked, sources, kept=given.kept, runs=given.runs, limit=given.limit), flush=True)


if __name__ == "__main__":
    main()
