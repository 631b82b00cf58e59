"""Counts of 10 to a million records: brackets, seconds and memory; and the picture of leakage against knowledge.

python bench/large.py                   prints the table, each audit in a process of its own
python bench/large.py --picture FILE    draws L against knowledge for n = 10, 100, 10^4, 10^6
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

import dalenius as dl
from dalenius.report.plots import figure_of, image, tidy

SIZES = (10, 100, 1000, 3000, 10**4, 10**5, 10**6)
KNOWLEDGE = (0.1, 0.5, 1.0, 3.0)
DRAWN = (10, 100, 10**4, 10**6)
POINTS = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1, 1.5, 2, 3])
STYLES = (("o", ":"), ("s", "-."), ("^", "--"), ("", "-"))
LIMIT = 60.0


def count(n: int) -> "dl.Mechanism":
    """A count with geometric noise of epsilon 1."""
    return dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=1)


def measure(n: int, knowledge: float) -> dict[str, object]:
    """Audit and verify; memory is the largest that this process had, in MiB."""
    begin = time.perf_counter()
    audit = dl.audit(count(n), knowledge=knowledge, tolerance=1e-4, time_limit=LIMIT)
    seconds = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    verdict = dl.verify(audit.certificate)
    total = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {
        "n": n,
        "knowledge": knowledge,
        "bracket": f"{audit.lower:.6f} to {audit.upper:.6f}",
        "gap": f"{audit.gap:.1e}",
        "bound": audit.bounds,
        "audit s": f"{seconds:.1f}",
        "audit MiB": memory,
        "verify s": f"{verdict.seconds:.1f}",
        "both MiB": total,
        "verified": "yes" if verdict else "NO",
    }


def table() -> None:
    """Print a line for every size and knowledge."""
    for k, (n, knowledge) in enumerate((n, knowledge) for n in SIZES for knowledge in KNOWLEDGE):
        command = [sys.executable, __file__, "--one", str(n), str(knowledge)]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
        if k == 0:
            print("| " + " | ".join(answer) + " |\n|" + "---|" * len(answer))
        print("| " + " | ".join(map(str, answer.values())) + " |", flush=True)


def picture(path: str) -> None:
    """Draw the certified band of each size; a line where it is thinner than a line."""
    ax = figure_of(6.4, 4.0).subplots()
    ax.plot(POINTS, np.minimum(POINTS, np.log(2)), color="0.6", linewidth=4, label="knowledge itself, up to one bit")
    for n, (marker, line) in zip(DRAWN, STYLES, strict=True):
        found = [dl.audit(count(n), knowledge=float(k), tolerance=2e-3, time_limit=10) for k in POINTS]
        low, high = (np.array([getattr(audit, side) for audit in found]) for side in ("lower", "upper"))
        power = f"$10^{round(np.log10(n))}$" if n > 100 else str(n)  # noqa: PLR2004 - digits that read well
        ax.fill_between(POINTS, low, high, color="0.85", linewidth=0)
        ax.plot(POINTS, low, line, marker=marker, color="black", markersize=3.5, linewidth=1, label=f"n = {power}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("what the adversary knows beforehand about all records together (nats)")
    ax.set_ylabel("what the noisy count adds about one (nats)")
    ax.set_title("geometric(epsilon=1) of count(n)", fontsize=10)
    ax.legend(fontsize=8, frameon=False, loc="lower right")
    tidy(ax)
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(image(ax.figure, "png"))


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", help="draw to this file instead")
    parser.add_argument("--one", nargs=2, help="a number of records and a knowledge: print one line as JSON")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(int(asked.one[0]), float(asked.one[1]))))
    elif asked.picture:
        picture(asked.picture)
    else:
        table()


if __name__ == "__main__":
    main()
