"""Counts of 10 to a million records: brackets, seconds and memory; and pictures of them.

python bench/large.py                   prints the table, each audit in a process of its own
python bench/large.py --picture FILE    draws L against knowledge for n = 10, 100, 10^4, 10^6
python bench/large.py --growth FILE     draws time and memory of audit and verification against n
python bench/large.py --table [PAGE]    prints how far counts of 10, 20 and 50 close, for two noises and six values of
                                        b; with docs/performance.md the table there is renewed
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import renew

import dalenius as dl
from dalenius.report.plots import figure_of, image, tidy

SIZES = (10, 100, 1000, 3000, 10**4, 10**5, 10**6)
KNOWLEDGE = (0.1, 0.5, 1.0, 3.0)
DRAWN = (10, 100, 10**4, 10**6)
POINTS = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1, 1.5, 2, 3])
STYLES = (("o", ":"), ("s", "-."), ("^", "--"), ("", "-"))
LIMIT = 60.0
GROWING = (10, 30, 100, 300, 1000, 2800, 3000, 10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6)
GROWTH_LIMIT = 30.0
WRITTEN_OUT = 2895  # the largest count whose channel is a matrix
CLOSING = ((1.0, 0.3), (10, 20, 50), (0.3, 0.5, 0.7, 0.8, 0.9, 0.95))  # epsilon, n, b as a share of n ln 2
CLOSED = 0.01  # relative gap
CLOSING_LIMIT = 20.0
MARK = "counts of 10, 20 and 50: bench/large.py --table"


def count(n: int, epsilon: float = 1.0) -> "dl.Mechanism":
    """A count with geometric noise."""
    return dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=epsilon)


def measure(n: int, knowledge: float, limit: float) -> dict[str, Any]:
    """Audit and verify; processor seconds, and the largest memory that this process had, in MiB."""
    begin = time.process_time()
    audit = dl.audit(count(n), knowledge=knowledge, tolerance=1e-4, time_limit=limit, verify=False)
    seconds = time.process_time() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    begin = time.process_time()
    verdict = dl.verify(audit.certificate)
    checking = time.process_time() - begin
    total = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {
        "n": n,
        "knowledge": knowledge,
        "bracket": f"{audit.lower:.6f} to {audit.upper:.6f}",
        "gap": f"{audit.gap:.1e}",
        "bound": audit.upper_by,
        "audit s": round(seconds, 2),
        "audit MiB": memory,
        "verify s": round(checking, 2),
        "both MiB": total,
        "verified": "yes" if verdict else "NO",
    }


def alone(n: int, knowledge: float, limit: float) -> dict[str, Any]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--one", str(n), str(knowledge), str(limit)]
    answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
    return answer


def show(answers: Iterator[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """Print a table, each line when it is there; return what it holds, and its text."""
    found, text = [], ""
    for answer in answers:
        head = "" if found else "| " + " | ".join(answer) + " |\n|" + "---|" * len(answer) + "\n"
        line = head + "| " + " | ".join(map(str, answer.values())) + " |\n"
        print(line, end="", flush=True)
        found.append(answer)
        text += line
    return found, text


def closing(limit: float) -> Iterator[dict[str, Any]]:
    """Audit counts that are hard for their size: many outputs, and noise that is neither small nor large."""
    for epsilon in CLOSING[0]:
        for n in CLOSING[1]:
            for share in CLOSING[2]:
                begin = time.process_time()
                audit = dl.audit(count(n, epsilon), entropy=share * n * math.log(2), time_limit=limit, verify=False)
                seconds = time.process_time() - begin
                yield {
                    "epsilon": epsilon,
                    "n": n,
                    "b / (n ln 2)": share,
                    "knowledge": f"{audit.knowledge:.3f}",
                    "bracket (nats)": f"{audit.lower:.6f} to {audit.upper:.6f}",
                    "gap / upper": f"{audit.gap / audit.upper:.1e}",
                    "bound": audit.upper_by,
                    "s": f"{audit.seconds:.1f}",
                    "processor s": f"{seconds:.1f}",
                    "within 1 %": "yes" if audit.gap <= CLOSED * audit.upper else "no",
                }


def growth(path: str) -> None:
    """Draw seconds and memory against n."""
    found, _ = show(alone(n, 0.5, GROWTH_LIMIT) for n in GROWING)
    n = np.array(GROWING, dtype=float)
    axes = figure_of(9.0, 3.6).subplots(1, 2)
    for ax, unit, names in zip(axes, ("s", "MiB"), (("audit", "verify"), ("audit", "both")), strict=True):
        for name, marker, line in zip(names, "os", ("-", "--"), strict=True):
            values = np.array([answer[f"{name} {unit}"] for answer in found])
            label = "audit and verification" if name == "both" else {"verify": "verification"}.get(name, name)
            ax.plot(
                n, np.maximum(values, 0.01), line, marker=marker, color="black", markersize=4, linewidth=1, label=label
            )
        ax.set(xscale="log", yscale="log", xlabel="records n")
        ax.axvline(WRITTEN_OUT, color="0.6", linewidth=1, linestyle=":", label=f"no channel beyond {WRITTEN_OUT}")
        tidy(ax)
    time_axes, memory_axes = axes
    time_axes.axhline(GROWTH_LIMIT, color="0.6", linewidth=1, linestyle="-.", label="its limit, alone on a processor")
    guide, last = n[n >= 10**5], found[-1]["verify s"]
    time_axes.plot(guide, 0.5 * last * guide / n[-1], color="0.6", linewidth=3, label="proportional to n")
    time_axes.set_ylabel("processor seconds")
    memory_axes.set_ylabel("memory of the process (MiB)")
    memory_axes.set_ylim(50, 2048)
    for ax in axes:
        ax.legend(fontsize=8, frameon=False)
    axes[0].figure.suptitle("geometric(epsilon=1) of count(n), knowledge 0.5 nats", fontsize=10)
    save(axes[0].figure, path)


def picture(path: str) -> None:
    """Draw the certified band of each size; a line where it is thinner than a line."""
    ax = figure_of(6.4, 4.0).subplots()
    ax.plot(POINTS, np.minimum(POINTS, np.log(2)), color="0.6", linewidth=4, label="knowledge itself, up to one bit")
    for n, (marker, line) in zip(DRAWN, STYLES, strict=True):
        found = [dl.audit(count(n), knowledge=float(k), tolerance=2e-3, time_limit=10, verify=False) for k in POINTS]
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
    save(ax.figure, path)


def save(figure: Any, path: str) -> None:  # noqa: ANN401 - matplotlib ships no types
    """Write a .png."""
    Path(path).write_bytes(image(figure, "png"))


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw leakage against knowledge instead")
    parser.add_argument("--growth", metavar="FILE", help="draw time and memory against n instead")
    parser.add_argument("--table", nargs="?", const="", metavar="PAGE", help="show how far counts of 10, 20, 50 close")
    parser.add_argument("--limit", type=float, default=CLOSING_LIMIT, help="seconds for each point of --table")
    parser.add_argument("--one", nargs=3, metavar=("N", "K", "S"), help="one line as JSON: records, knowledge, limit")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(int(asked.one[0]), float(asked.one[1]), float(asked.one[2]))))
    elif asked.picture:
        picture(asked.picture)
    elif asked.growth:
        growth(asked.growth)
    elif asked.table is not None:
        found, text = show(closing(asked.limit))
        text += f"\n{sum(line['within 1 %'] == 'yes' for line in found)} of {len(found)} are within 1 %.\n"
        print(text.splitlines()[-1])
        if asked.table:
            renew(Path(asked.table), MARK, text)
    else:
        show(alone(n, knowledge, LIMIT) for n in SIZES for knowledge in KNOWLEDGE)


if __name__ == "__main__":
    main()
